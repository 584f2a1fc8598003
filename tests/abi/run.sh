#!/bin/sh
# Programs that were built with the last release still run (docs/abi.md): tests/abi.txt is compared with
# tests/abi_last.txt; and what compares them notices what it should.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
expect() { # status, what was done to the interface, text that is said; the newer one is $work/new
    status=0
    tools/abi/compare.sh "$work/old" "$work/new" >"$work/said" || status=$?
    if [ "$status" = "$1" ] && grep -qF -- "$3" "$work/said"; then passed=$((passed + 1)); else
        failed=$((failed + 1)) && echo "FAIL: $2: exit status $status, and" && cat "$work/said"
    fi
}
change() { # sed script: the newer interface
    sed "$1" tests/abi.txt >"$work/new"
    ! cmp -s tests/abi.txt "$work/new" || echo "FAIL: $1 changes nothing"
}

cp tests/abi_last.txt "$work/old" && cp tests/abi.txt "$work/new"
expect 0 "since the last release" ""
cat "$work/said"

cp tests/abi.txt "$work/old"
expect 0 "nothing" "entries of the older interface hold"
change '/^tn_vmap$/d'
expect 1 "a symbol taken away" "symbol tn_vmap is gone"
change 's/^\(function tn_fn \*tn_vmap (const tn_fn \*, \)int64_t/\1int/'
expect 1 "another type of an argument" "function tn_vmap: was"
change 's/^\(value TN_F64\) .*/\1 9/'
expect 1 "another value" "value TN_F64: was"
change 's/^\(value TN_NDTYPES\) .*/\1 9/'
expect 0 "one more dtype" "hold"
change 's/^\(struct tn_compile_options .*\) }$/\1 int more; }/; s/^\(sizeof tn_compile_options\) .*/\1 400/'
expect 0 "options with one more member" "hold"
change 's/^\(struct tn_compile_options { size_t size;\)/\1 int more;/'
expect 1 "a member in between" "struct tn_compile_options: was"
change 's/^\(struct tn_type .*\) }$/\1 int more; }/'
expect 1 "a struct without a size that grows" "struct tn_type: was"
change 's/^\(sizeof tn_compile_options\) .*/\1 8/'
expect 1 "options that shrink" "sizeof tn_compile_options: was"
printf 'tn_new_at\nvalue TN_NEW 1\nfunction int tn_new_at (int)\n' | cat tests/abi.txt - >"$work/new"
expect 0 "a new function" "hold"
change '/^tn_vmap$/d; s/^soname .*/soname libtansy.so.1/'
expect 0 "another soname" "the soname has changed"
: >"$work/old"
expect 0 "no release" "nothing to compare with"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
