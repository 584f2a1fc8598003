#!/bin/sh
# The tool on programs that carry what it should say: behind the program of tests/golden/tool/*.tn stand lines
#     # $ tansy grad FILE | tansy run - 3
# each followed by what that prints (standard output and error) and its status unless 0, as lines "#| ...".
# `run.sh --record` writes those lines anew.  TANSY is the tool's path.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
TANSY=${TANSY:-$here/../../build/tansy}
export TANSY
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir "$temp/bin"
printf '#!/bin/sh\nexec "$TANSY" "$@"\n' >"$temp/bin/tansy"
chmod +x "$temp/bin/tansy"
PATH=$temp/bin:$PATH
cd "$here/tool"

# One file with every expectation replaced by what happens now.
renew() {
    while IFS= read -r line; do
        case $line in
        '#|'*) continue ;;
        esac
        printf '%s\n' "$line"
        case $line in
        '# $ '*) ;;
        *) continue ;;
        esac
        status=0
        (FILE=$1 OUT=$temp/out sh -c "$(printf '%s\n' "${line#'# $ '}" | sed 's/\<FILE\>/"$FILE"/g; s/\<OUT\>/"$OUT"/g')") \
            >"$temp/said" 2>&1 </dev/null || status=$?
        sed 's/^/#| /; s/ *$//' "$temp/said"
        [ $status = 0 ] || printf '#| exit %d\n' $status
    done <"$1"
}

passed=0 failed=0
for file in *.tn; do
    renew "$file" >"$temp/new"
    if [ "${1-}" = --record ]; then
        cmp -s "$file" "$temp/new" || { cp "$temp/new" "$file" && echo "recorded $file"; }
    elif diff -u "$file" "$temp/new"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
[ "${1-}" = --record ] && exit 0
echo "$passed passed, $failed failed"
[ $failed = 0 ]
