#!/bin/sh
# Adds up what run.sh recorded.   usage: sum.sh DIR...
# DIR/expected names the tests; one without a result was not built or not run,
# and counts as failed.  The last line is "N passed, N failed".
set -u
passed=0 failed=0 bad=''
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
