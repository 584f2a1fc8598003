#!/bin/sh
# What tests have run of src, by folder: lines, and branches that were taken.   usage: coverage.sh OBJECTS
# OBJECTS is the folder of objects that were compiled with --coverage; GCOV is the gcov of that compiler.  Functions in
# headers are not counted.
set -eu
cd "$(dirname "$0")/../.."
objects=$1
find "$objects/src" -name '*.gcno' | sort | while read -r notes; do
    ${GCOV:-gcov} -b -n -o "$(dirname "$notes")" "$notes" 2>/dev/null
done | awk '
    /^File / { file = $2; gsub(/\x27/, "", file); wanted = file ~ /^src\/.*\.c$/; next }
    !wanted { next }
    /^Lines executed:/ {
        split($2, p, /[:%]/); n = $NF; split(file, d, "/")
        lines[d[2]] += n; ran[d[2]] += p[2] * n / 100
    }
    /^Taken at least once:/ { split($4, p, /[:%]/); n = $NF; branches[d[2]] += n; taken[d[2]] += p[2] * n / 100 }
    function row(name, l, r, b, t) {
        return sprintf("| %-11s | %7d | %5.1f %% | %8d | %5.1f %% |", name, l, l ? 100 * r / l : 0, b, b ? 100 * t / b : 0)
    }
    END {
        print "| folder      |   lines |     run | branches |   taken |"
        print "|-------------|---------|---------|----------|---------|"
        fflush()
        for (f in lines) {
            print row(f, lines[f], ran[f], branches[f], taken[f]) | "sort"
            l += lines[f]; r += ran[f]; b += branches[f]; t += taken[f]
        }
        close("sort")
        print row("all of src", l, r, b, t)
    }'
