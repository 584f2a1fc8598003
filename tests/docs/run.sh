#!/bin/sh
# What the documents say is true:
#   - a block behind <!-- file: PATH --> is that file; behind <!-- in: PATH -->, a piece of it;
#   - a block behind <!-- prints: PROGRAM.c .. --> is what these programs print;
#   - the table behind <!-- lengths: FOLDER --> says how long the programs there are, NAME.cpp at most 1.6 times NAME.py, in lines and in characters;
#   - in a table behind <!-- rosetta: PATH .. -->, the last column is in these files;
#   - a ```console block shows what its commands print (TANSY is the tool's path);
#   - links to files and headings, and files named in src/README.md, exist;
#   - structs of the public headers that have a size are tried without it;
#   - every function has a manual page, and no page is malformed;
#   - symbols and version of the Debian packages are those of the library;
#   - folders of src include what the table in src/README.md lets them.
set -eu
cd "$(dirname "$0")/../.."
TANSY=${TANSY:-$PWD/build/tansy}
export TANSY
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir "$temp/bin" "$temp/block"
printf '#!/bin/sh\nexec "$TANSY" "$@"\n' >"$temp/bin/tansy"
chmod +x "$temp/bin/tansy"
PATH=$temp/bin:$PATH
passed=0 failed=0
ok() { passed=$((passed + 1)); }
wrong() { failed=$((failed + 1)); echo "FAIL: $1"; }

documents=$(find README.md CHANGELOG.md BENCHMARKS.md src docs examples -name '*.md' | LC_ALL=C sort)

# ---- quoted code -----------------------------------------------------------

# block/N: the text; block/N.of: where it stands, "file" or "in", the file's path.
# shellcheck disable=SC2086 # a list
awk -v dir="$temp/block" '
    FNR == 1 { inside = 0; mark = "" }
    /^<!-- (file|in): .* -->$/ { mark = $2; path = $3; next }
    /^```/ && !inside && mark { inside = 1; n++; print FILENAME ":" FNR, mark, path >(dir "/" n ".of"); printf "" >(dir "/" n); next }
    /^```/ && inside { inside = 0; mark = ""; next }
    inside { print >(dir "/" n) }
' $documents

blocks=0
for of in "$temp"/block/*.of; do
    [ -f "$of" ] || break
    read -r where mark path <"$of"
    text=${of%.of}
    blocks=$((blocks + 1))
    if [ ! -f "$path" ]; then
        wrong "$where quotes $path, which does not exist"
    elif [ "$mark" = file: ]; then
        if diff -u "$path" "$text"; then ok; else wrong "$where is not $path"; fi
    elif [ -s "$text" ] && awk 'NR == FNR { b = b $0 "\n"; next } { f = f $0 "\n" } END { exit !index("\n" f, "\n" b) }' \
        "$text" "$path"; then
        ok
    else
        wrong "$where quotes what is not in $path:"
        cat "$text"
    fi
done
[ $blocks -ge 10 ] || wrong "only $blocks quoted blocks were found"

# ---- programs of the documents --------------------------------------------------

# prints/N: what is shown; prints/N.of: where, the programs, and "door NAME LIBRARIES.." where they are a door's.
mkdir "$temp/prints" "$temp/rows"
# shellcheck disable=SC2086 # a list
awk -v dir="$temp/prints" '
    FNR == 1 { inside = 0; mark = "" }
    /^<!-- prints: .* -->$/ { mark = $0; sub(/^<!-- prints: /, "", mark); sub(/ -->$/, "", mark); next }
    /^```/ && !inside && mark { inside = 1; n++; print FILENAME " " mark >(dir "/" n ".of"); printf "" >(dir "/" n); next }
    /^```/ && inside { inside = 0; mark = ""; next }
    inside { print >(dir "/" n) }
' $documents
build=${BUILD:-build} turn=${TURN:-0}
case ${CC:-gcc} in *clang*) own_cxx=${CC##* } own_cxx=${own_cxx%%clang*}clang++${own_cxx#*clang} ;; *) own_cxx=g++ ;; esac
for of in "$temp"/prints/*.of; do
    read -r document programs <"$of"
    door='' libraries='' dir=$of.run
    case $programs in *' door '*) libraries=${programs##* door } door=${libraries%% *} programs=${programs%% door *} libraries=${libraries#* } ;; esac
    if [ -n "$door" ] && [ ! -f "$build/libtansy-$door.so.0" ]; then
        echo "$programs is not tried: no libtansy-$door"
        continue
    fi
    # make check compiles every other one, the others the next time.
    turn=$((turn + 1))
    [ -n "${TN_TESTS_LONG:-}" ] || [ $((turn % 2)) = 0 ] || continue
    mkdir "$dir"
    good=1
    for program in $programs; do
        # What an earlier program of the block has written is compiled with it.
        more=$(find "$dir" -name '*.c')
        case $program in *.cpp) compiler="${CXX:-$own_cxx} -std=c++20 -Wno-missing-field-initializers" ;; *) compiler="${CC:-gcc} -std=c11" ;; esac
        # shellcheck disable=SC2086 # commands and lists
        if $compiler -O1 -Wall -Wextra -Werror ${SAN:+-fsanitize=$SAN} -Iinclude ${door:+-Idoors/$door/include} -I"$dir" \
            "$program" $more ${door:+"$build/libtansy-$door.so.0"} "$build/libtansy.so.0" -Wl,-rpath,"$(cd "$build" && pwd)" $libraries -lm -o "$dir/program"; then
            (cd "$dir" && ./program 2>&1) || good=0
        else
            good=0
        fi >>"$of.printed"
    done
    if [ $good = 1 ] && diff -u "${of%.of}" "$of.printed"; then ok; else wrong "$document: $programs prints something else"; fi
done
for program in docs/tutorial/*.c docs/rosetta/*.c examples/first/*.cpp; do
    # shellcheck disable=SC2086 # a list
    if grep -q "^<!-- prints: .*\<$program\>" $documents; then ok; else wrong "$program is in no document"; fi
done

# How long programs are, beside theirs.
lengths() {
    for ours in "$1"/*.cpp; do
        theirs=${ours%.cpp}.py
        [ -f "$theirs" ] || { echo "$theirs does not exist"; continue; }
        awk '
            FNR == 1 { file++; comment = 0 }
            { if (length($0) > 120) long = FILENAME ":" FNR }
            file == 1 {
                gsub(/\/\*[^*]*\*\//, "")
                if (comment) { if (!sub(/^.*\*\//, "")) next; comment = 0 }
                if (sub(/\/\*.*$/, "")) comment = 1
            }
            file == 2 && /^ *#/ { next }
            NF { lines[file]++; gsub(/[ \t]/, ""); characters[file] += length($0) }
            END {
                name = FILENAME; sub(/^.*\//, "", name); sub(/\.py$/, "", name)
                if (lines[1] > 1.6 * lines[2] || characters[1] > 1.6 * characters[2]) print name ": more than 1.6 times theirs"
                if (long) print long ": more than 120 characters"
                printf "| %s | %d | %d | %.2f | %d | %d | %.2f |\n", name, lines[1], lines[2], lines[1] / lines[2],
                    characters[1], characters[2], characters[1] / characters[2]
            }' "$ours" "$theirs"
    done
}
for document in $(grep -l '^<!-- lengths: .* -->$' $documents); do
    lengths "$(sed -n 's/^<!-- lengths: \(.*\) -->$/\1/p' "$document")" >"$temp/lengths"
    sed -n '/^<!-- lengths: /,/^$/p' "$document" | sed '1,3d;/^$/d' >"$temp/said"
    if [ -s "$temp/lengths" ] && diff -u "$temp/said" "$temp/lengths"; then ok; else wrong "$document: programs have other lengths, or are too long"; fi
done

# Of a table behind <!-- rosetta: FILES --> the last column is in these files, whatever the spaces.
# shellcheck disable=SC2086 # a list
awk -v dir="$temp/rows" '
    /^<!-- rosetta: .* -->$/ { n++; files = $0; sub(/^<!-- rosetta: /, "", files); sub(/ -->$/, "", files); print files >(dir "/" n ".of"); inside = 1; next }
    inside && /^\|/ { if (++row > 2) { cells = split($0, cell, /\|/); s = cell[cells - 1]; gsub(/^ *`|` *$/, "", s); print s >(dir "/" n) } next }
    inside { inside = row = 0 }
' $documents
rows=0
for of in "$temp"/rows/*.of; do
    # shellcheck disable=SC2046 # a list
    cat $(cat "$of") | tr -s '[:space:]' ' ' >"$temp/squeezed"
    while IFS= read -r row; do
        rows=$((rows + 1))
        if grep -qF -- "$row" "$temp/squeezed"; then ok; else wrong "$(cat "$of") does not have: $row"; fi
    done <"${of%.of}"
done
[ $rows -ge 50 ] || wrong "only $rows rows beside other libraries were found"

# ---- what commands print ------------------------------------------------------

sed -n '/^```console$/,/^```$/p' README.md docs/memory-report.md | sed '/^```/d' >"$temp/shown"
while IFS= read -r line; do
    case $line in
    '$ '*)
        printf '%s\n' "$line"
        sh -c "${line#'$ '}" 2>&1 </dev/null || :
        ;;
    esac
done <"$temp/shown" >"$temp/printed"
if [ -s "$temp/shown" ] && diff -u "$temp/shown" "$temp/printed"; then ok; else wrong "README.md, docs/memory-report.md: the tool prints something else"; fi

# ---- every stage can be printed ------------------------------------------------------

sed -n '/^## A gradient at every stage$/,/^## Where/s/^    tansy /tansy /p' src/README.md >"$temp/stages"
while IFS= read -r line; do
    if (tansy() { "$TANSY" "$@"; }; eval "$line") </dev/null >"$temp/stage" 2>&1 && [ -s "$temp/stage" ]; then ok; else wrong "src/README.md: $line"; fi
done <"$temp/stages"
if [ "$(wc -l <"$temp/stages")" -ge 10 ]; then ok; else wrong "src/README.md: stages are missing"; fi

# ---- what may be left out of a text -----------------------------------------------

"$TANSY" prims | awk '{
    for (line = $0; match(line, /[a-z_]+=\([^)]*\)/); line = substr(line, RSTART + RLENGTH)) {
        given = substr(line, RSTART, RLENGTH); at = index(given, "=")
        print "| `" $1 "` | `" substr(given, 1, at - 1) "` | " substr(given, at + 2, length(given) - at - 2) " |"
    }
}' >"$temp/optional"
sed -n '/^| primitive | parameter | when it is not there |$/,/^$/p' docs/ir.md | sed '1,2d;/^$/d' >"$temp/listed"
if [ -s "$temp/optional" ] && diff -u "$temp/optional" "$temp/listed"; then ok; else wrong "docs/ir.md: optional parameters are not those of tansy prims"; fi

# ---- links and names ------------------------------------------------------------

# shellcheck disable=SC2086 # a list
if tools/docs/links.sh $documents; then ok; else wrong "dead links"; fi
for name in $(grep -o '`[a-z_]*/[a-z_0-9/]*\.[a-z]*`' src/README.md | tr -d '`' | sort -u); do
    if [ -f "src/$name" ] || [ -f "$name" ]; then ok; else wrong "src/README.md: $name does not exist"; fi
done

# ---- manual pages ---------------------------------------------------------------

tools/docs/man.sh "$temp/man" include/tansy.h include/tansy/*.h
for name in $(grep '^tn_[a-z_0-9]*$' tests/abi.txt | grep -v '^tn_described$'); do
    if [ -f "$temp/man/$name.3" ] || [ -f "$temp/man/${name%_at}.3" ]; then ok; else wrong "$name has no manual page"; fi
done
for page in "$temp"/man/*.3; do
    so=$(sed -n 's|^\.so man3/||p' "$page") name=$(basename "$page" .3)
    if [ -z "$so" ]; then
        if grep -q "^\.BR $(echo "$name" | sed 's/-/.-/g') (3)" docs/man/tansy.3; then ok; else wrong "docs/man/tansy.3 does not name $name"; fi
        # groff warns of what it cannot lay out, long lines of code among it
        if ! command -v groff >/dev/null || [ -z "$(groff -man -Tascii -ww -rLL=160n "$page" 2>&1 >/dev/null | grep -v break)" ]; then ok; else wrong "$name.3 is malformed"; fi
    elif grep -q ", $name[ ,]" "$temp/man/$so" && grep -q "^.fB.*$name(" "$temp/man/$so"; then
        ok
    else
        wrong "$name.3 leads to $so, which does not have it"
    fi
done
if [ "$(tools/docs/man.sh --list include/tansy.h include/tansy/*.h | LC_ALL=C sort)" = "$(cd "$temp/man" && ls | LC_ALL=C sort)" ]; then ok; else wrong "tools/docs/man.sh --list prints other files"; fi
if grep -q '^x\.\. -> gradient in each of wrt\.\. ; f has exactly one output' "$temp/man/tansy-transformations.3"; then ok; else wrong "tn_grad(3) does not say what it is"; fi

# ---- Debian packages ------------------------------------------------------------

if [ "$(tools/abi/symbols.sh)" = "$(cat debian/libtansy0.symbols)" ]; then ok; else wrong "debian/libtansy0.symbols is not that of tests/abi.txt (make abi-record)"; fi
if grep -q "^tansy ($(sed -n 's/^.define TN_VERSION *"\(.*\)".*/\1/p' include/tansy.h)) " debian/changelog; then ok; else wrong "debian/changelog has another version than tansy.h"; fi

# ---- options without a size ---------------------------------------------------------

# Every struct that a caller gives a size is refused without one: tests/unit/options.c tries each.
for header in include/tansy.h include/tansy/*.h; do
    for struct in $(grep 'size_t size;' "$header" | grep -v 'of the library' | grep -o 'sizeof([a-z_]*)' | tr -d '()' | sed 's/^sizeof//'); do
        if grep -q "\<$struct [a-z_]* = {" tests/unit/options.c; then ok; else wrong "tests/unit/options.c does not try $struct of $header"; fi
    done
done
if [ "$(grep -c 'size_t size;' include/tansy.h)" = "$(grep -c 'size_t size;.*sizeof(' include/tansy.h)" ]; then ok; else wrong "include/tansy.h: a size of nothing"; fi

# ---- the machine table: every row is somebody's ---------------------------------------

for row in $(sed -n 's/^TN_MACHINE(\([A-Z0-9_]*\),.*/\1/p' src/base/machine.def); do
    if grep -rqw "TN_M_$row" src; then ok; else wrong "src/base/machine.def: nothing uses $row"; fi
done

# ---- who includes whom --------------------------------------------------------------

for folder in src/*/; do
    folder=$(basename "$folder")
    row=$(grep "^| \`$folder\` |" src/README.md || :)
    if [ -z "$row" ]; then
        wrong "src/README.md: no row for the folder $folder"
        continue
    fi
    good=1
    for other in $(find "src/$folder" -name "*.[ch]" -exec cat {} + | sed -n 's|^#include "\([a-z]*\)/.*|\1|p' | sort -u); do
        case "$row" in
        *"\`$other\`"*) ;;
        *)
            [ "$other" = tansy ] && [ -d include/tansy ] && continue
            good=0
            wrong "src/$folder includes $other"
            ;;
        esac
    done
    [ $good = 0 ] || ok
done

echo "$passed passed, $failed failed"
[ $failed = 0 ]
