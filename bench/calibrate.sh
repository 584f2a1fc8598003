#!/bin/sh
# Writes what bench/calibrate measures into the machine table (src/base/machine.def: rows that say "calibrate") and into
# the blocks of primitives (`.ns`).   usage: calibrate.sh build/bench/calibrate
set -eu
cd "$(dirname "$0")/.."
table=src/base/machine.def
measured=$(mktemp)
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1 | tr -d '",()&\\')
trap 'rm -f "$measured" "$measured.new"' EXIT
"$1" >"$measured"

# In file $1, the number of the row that begins with the string $2 becomes $3.
row() {
    awk -v begin="$2" -v number="$3" -v how="\"calibrate${cpu:+; $cpu}\")" '
        index($0, begin) == 1 {
            row = $0
            while (row !~ /\)$/ && (getline more) > 0) row = row "\n" more
            if (row ~ /"calibrate/) {
                rest = substr(row, length(begin) + 1)
                sub(/^[^,]*/, number, rest)
                sub(/"calibrate[^"]*"\)$/, how, rest)
                row = begin rest
            }
            print row
            next
        }
        { print }' "$1" >"$measured.new"
    cat "$measured.new" >"$1"
}
# The price in the block of primitive $1 becomes $2.
block() {
    file=$(grep -rl "\.name = \"$1\"," src/prims | head -n 1)
    [ -n "$file" ] || return 0
    awk -v name="    .name = \"$1\"," -v number="$2" '
        $0 == name { here = 1 }
        here && $0 ~ /^    \.ns = / { $0 = "    .ns = " number ","; here = 0 }
        /^};/ { here = 0 }
        { print }' "$file" >"$measured.new"
    cmp -s "$measured.new" "$file" || cat "$measured.new" >"$file"
}
while read -r name number; do
    case $name in
    capacity.l1) row $table 'TN_MACHINE(FIRST_CACHE, ' "$number" ;;
    capacity.l2) row $table 'TN_MACHINE(SECOND_CACHE, ' "$number" ;;
    read.* | write.*)
        level=$(echo "${name#*.}" | tr a-z A-Z)
        row $table "TN_PRICE(${name%.*}[TN_I_$level], \"$name\", " "$number"
        ;;
    element.*) block "${name#element.}" "$number" ;;
    *) row $table "TN_PRICE($name, \"$name\", " "$number" ;;
    esac
done <"$measured"
git diff --stat -- $table src/prims 2>/dev/null || :
