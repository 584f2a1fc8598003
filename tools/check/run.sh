#!/bin/bash
# Runs one test.   usage: run.sh DIR/NAME.res SECONDS COMMAND [ARGUMENT...]
# Its output goes to DIR/NAME.log, its counts ("passed failed") to DIR/NAME.res, the seconds of processors that it took
# to DIR/NAME.sec.
# One line is printed, and the log of a test that failed.
#
# What is counted: the last line "N passed, N failed" if the test prints one,
# else cmocka's own counts, else the test as a whole.  Exit status 77 skips.
set -u
export LC_ALL=C
result=$1 limit=$2
shift 2
name=${result##*/check/}
name=${name%.res}
log=${result%.res}.log
mkdir -p "$(dirname "$result")"
rm -f "$result"

export TANSY="$PWD/$BUILD/tansy"
[ "${BUILD#/}" = "$BUILD" ] || TANSY=$BUILD/tansy
# A locale with a decimal comma, for the tests that must not be led astray by one.
locale=${TANSY%/tansy}/locale
[ ! -f "$locale/de_DE.UTF-8/LC_NUMERIC" ] || export LOCPATH="$locale"

# Programs for another processor.
emulator=
[ "${1#"$BUILD/"}" = "$1" ] || emulator=${EMULATOR:-}

# Tests run beside others: threads that wait leave the processor to them.
export OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0

start=$EPOCHREALTIME
TIMEFORMAT='%U %S'
# shellcheck disable=SC2086 # a command and its arguments
{ time timeout -k 10 "$limit" "$(dirname "$0")/sanitized.sh" $emulator "$@" >"$log" 2>&1 </dev/null; } 2>"${result%.res}.sec"
status=$?
seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')

if [ $status = 77 ]; then
    echo "0 0" >"$result"
    printf '  %-5s %-28s %s\n' skip "$name" "$(tail -n 1 "$log")"
    exit 0
fi

read -r passed failed < <(awk '
    /^[0-9]+ passed, [0-9]+ failed/ { own = 1; p = $1; f = $3 }
    /^\[  PASSED  \] [0-9]+ test/ && !own { mocka = 1; mp += $4 }
    /^\[  FAILED  \] [0-9]+ test/ && !own { mocka = 1; mf += $4 }
    END { if (own) print p, f; else if (mocka) print mp + 0, mf + 0; else print "none none" }' "$log")

if [ "$passed" = none ]; then # one test as a whole
    passed=$((status == 0)) failed=$((status != 0))
elif [ $status != 0 ] && [ "$failed" = 0 ] || [ $((passed + failed)) = 0 ]; then
    failed=$((failed + 1)) # it died after its tests, or ran none
fi
case $name in
example-* | demo)
    if grep -q "$(printf '\r')" "$log"; then
        echo "lines are written over, as on a terminal, which this is not" >>"$log"
        failed=$((failed + 1))
    fi
    ;;
esac
echo "$passed $failed" >"$result"

if [ "$failed" = 0 ]; then
    printf '  %-5s %-28s %5d passed %19s s\n' ok "$name" "$passed" "$seconds"
    exit 0
fi
why="exit status $status"
[ $status != 124 ] || why="over $limit s"
printf '  %-5s %-28s %5d passed, %d failed %8s s (%s)\n' FAIL "$name" "$passed" "$failed" "$seconds" "$why"
lines=$(wc -l <"$log")
[ "$lines" -le 200 ] || echo "        ($((lines - 200)) lines left out: all of it is in $log)"
tail -n 200 "$log" | sed 's/^/        | /'
exit 0 # so that make keeps the counts: sum.sh decides
