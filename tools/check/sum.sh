#!/bin/sh
# Adds up what run.sh recorded.   usage: sum.sh DIR...
# DIR/expected names the tests; one without a result was not built or not run,
# and counts as failed.  First come the tests that took most of the processors'
# time, in seconds, and the share of each that was run (DIR/share).  The last
# line is "N passed, N failed".
set -u
passed=0 failed=0 bad=''
# "SECONDS NAME" of every test, longest first.
seconds() {
    for dir; do
        for f in "$dir"/*.sec; do
            [ -f "$f" ] && awk -v n="${f%.sec}" 'NF == 2 { print $1 + $2, n }' "$f"
        done
    done | sort -rn
}
seconds "$@" | awk '
    { all += $1; if (NR <= 15) line[NR] = sprintf("  %6.1f s  %s", $1, $2) }
    END {
        if (!NR) exit
        printf "processor seconds: %.0f, most of them:\n", all
        for (i = 1; i in line; i++) print line[i]
    }'
for dir; do
    [ ! -f "$dir/share" ] || sed "s|^|$dir: |" "$dir/share"
done
for dir; do
    [ -f "$dir/expected" ] || { bad="$bad $dir(nothing_ran)"; failed=$((failed + 1)); continue; }
    while read -r name; do
        [ -n "$name" ] || continue
        p=0 f=1
        if [ -f "$dir/$name.res" ]; then read -r p f <"$dir/$name.res"; else name="$name(not_built)"; fi
        passed=$((passed + p)) failed=$((failed + f))
        [ "$f" = 0 ] || bad="$bad $name"
    done <"$dir/expected"
done
[ -z "$bad" ] || echo "failed:$bad"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
