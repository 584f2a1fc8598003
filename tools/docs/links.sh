#!/bin/sh
# Looks for dead links: files that do not exist, and places that a file does not have.  Addresses with a scheme are not
# looked at.   usage: links.sh FILE.md .. | links.sh --html DIR
set -eu
export LC_ALL=C
if [ "$1" = --html ]; then
    cd "$2"
    find . -type f | sed 's|^\./||' >.files
    # shellcheck disable=SC2046 # names without spaces
    awk '
        FILENAME == ".files" { there[$0] = 1; next }
        {
            line = $0
            while (match(line, /(id|name)="[^"]*"/)) {
                s = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
                sub(/^[^"]*"/, "", s); sub(/"$/, "", s); place[FILENAME "#" s] = 1
            }
            line = $0
            while (match(line, /(href|src|data)="[^"]*"/)) {
                s = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
                sub(/^[^"]*"/, "", s); sub(/"$/, "", s)
                if (s ~ /^file:/) s = "no_" s # what was meant for text
                if (s ~ /^[a-z]+:/ || s ~ /[$]/ || s == "" || s == "#") continue
                link[FILENAME " " s] = 1
            }
        }
        END {
            for (l in link) {
                count++
                split(l, part, " ")
                to = part[2]; where = ""
                if (at = index(to, "#")) { where = substr(to, at + 1); to = substr(to, 1, at - 1) }
                if (to == "") to = part[1]
                else if (part[1] ~ /\//) { folder = part[1]; sub(/\/[^\/]*$/, "/", folder); to = folder to }
                while (sub(/[^\/]+\/\.\.\//, "", to)) ;
                sub(/^(\.\/)+/, "", to)
                if (!(to in there)) { print part[1] ": " part[2] " does not exist"; dead++ }
                else if (where != "" && !(to "#" where in place)) { print part[1] ": " part[2] " is no place there"; dead++ }
            }
            printf "%d links, %d dead\n", count, dead
            exit dead > 0 || !count
        }' .files $(grep '\.html$' .files)
    exit
fi

count=0 dead=0
for document in "$@"; do
    # Code is no link, whatever it looks like.
    links=$(awk '/^```/ { code = !code } !code { gsub(/`[^`]*`/, "`"); print }' "$document" | grep -o ']([^) ]*)' | sed 's/^](//; s/)$//' |
        grep -v '^[a-z]*:' || :)
    for link in $links; do
        count=$((count + 1))
        file=${link%%#*} place=
        case $link in *'#'*) place=${link#*#} ;; esac
        if [ -n "$file" ]; then file=$(dirname "$document")/$file; else file=$document; fi
        if [ ! -e "$file" ]; then
            echo "$document: $link does not exist"
            dead=$((dead + 1))
        elif [ -n "$place" ] && ! grep '^#' "$file" | sed 's/^#* *//' | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' | grep -qx "$place"; then
            echo "$document: $link is no heading there"
            dead=$((dead + 1))
        fi
    done
done
echo "$count links, $dead dead"
[ $dead = 0 ] && [ $count -gt 0 ]
