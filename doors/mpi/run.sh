#!/bin/sh
# Runs a program on 1 to 4 ranks, whatever the number of processors, and adds up what they say.
#   usage: run.sh MPIRUN PROGRAM [ARGUMENT ..]
# TN_MPI_NP="1 2": on so many.
set -u
here=$(dirname "$0")
mpirun=$1
shift
mpich=
if $mpirun --version 2>&1 | grep -qi hydra; then mpich=1; fi

passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for ranks in ${TN_MPI_NP:-1 2 3 4}; do
    unset TN_MPI_FEW
    # MPICH's ranks do not give way to each other: with fewer processors each message takes a slice of time.
    if [ -n "$mpich" ] && [ "$ranks" -gt "$(nproc)" ]; then export TN_MPI_FEW=1; fi
    echo "== $ranks ranks: $*"
    TN_MPI_RANKS=$ranks "$here/mpirun.sh" "$mpirun" -n "$ranks" "$@" >"$log" 2>&1
    status=$?
    cat "$log"
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
    ok=${counts% *} bad=${counts#* }
    if [ -z "$counts" ]; then ok=$((status == 0)) bad=0; fi # one that counts nothing
    if [ $status != 0 ] && [ "$bad" = 0 ]; then
        echo "FAIL: $ranks ranks: exit status $status"
        bad=1
    fi
    passed=$((passed + ok)) failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
