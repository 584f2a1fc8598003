#!/bin/sh
# The site of all documents and headers, by Doxygen, without a network.   usage: site.sh DIR DOXYGEN
# Exit status: 0, or 1 where Doxygen has something to say or a link is dead.
set -eu
export LC_ALL=C
here=$(dirname "$0")
site=$1 doxygen=$2 in=$1.in
rm -rf "$site" "$in"
mkdir -p "$site" "$in/pages" "$in/include/tansy"
pages=$(find README.md CHANGELOG.md BENCHMARKS.md docs src doors examples -name '*.md' | sort)
headers=$(ls include/tansy.h include/tansy/*.h doors/*/include/tansy/*.h | grep -v '/lists.h$\|/cxx.h$')
# shellcheck disable=SC2086 # a list
names=$("$here/man.sh" --list $headers | sed -n 's/^\(tn_.*\)\.3$/\1/p' | tr '\n' ' ')
: >"$in/files"
for header in $headers; do
    awk -v names="$names" -f "$here/header.awk" -f "$here/doxygen.awk" "$header" >"$in/include/${header##*include/}"
done
for page in $pages; do
    awk -v path="$page" -v pages="$(echo $pages)" -v files="$in/links" -f "$here/page.awk" "$page" >"$in/pages/$(echo "$page" | tr / _)"
    [ ! -f "$in/links" ] || cat "$in/links" >>"$in/files"
    rm -f "$in/links"
done
# Files that pages link to, as text that any browser shows; pictures as they are.
sort -u "$in/files" | while read -r file; do
    mkdir -p "$site/files/$(dirname "$file")"
    case $file in *.svg | *.png) cp "$file" "$site/files/$file" ;; *) cp "$file" "$site/files/$file.txt" ;; esac
done
{
    cat "$here/Doxyfile"
    echo "PROJECT_NUMBER = $(sed -n 's/^.define TN_VERSION *"\(.*\)".*/\1/p' include/tansy.h)"
    echo "INPUT = $in"
    echo "STRIP_FROM_PATH = $in"
    echo "OUTPUT_DIRECTORY = $site"
    echo "HTML_OUTPUT = ."
} >"$in/Doxyfile"
"$doxygen" "$in/Doxyfile" 2>"$in/warnings" || { cat "$in/warnings"; exit 1; }
if [ -s "$in/warnings" ]; then
    cat "$in/warnings"
    exit 1
fi
"$here/links.sh" --html "$site"
rm -rf "$in"
