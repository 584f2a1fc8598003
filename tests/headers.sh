#!/bin/sh
# Every public header compiles alone, as C11 and as C++17, without a warning; those of C++ as C++17 and C++20, with and
# without exceptions.  make check has, in turns, one of the four pairs of a compiler and a language of each header, and
# two of the eight ways of a header of C++.
set -eu
clang=${CLANG:-clang-16}
passed=0 failed=0 n=0
# Whether case $1 is one of those that are looked at, one in $2.
chosen() { [ -n "${TN_TESTS_LONG:-}" ] || [ $((($1 + ${TURN:-0}) % $2)) = 0 ]; }
for header in include/*.h include/tansy/*.h doors/*/include/tansy/*.h; do
    [ -f "$header" ] || continue
    name=${header##*include/} dir=${header%%include/*}include more=
    if [ "$name" = tansy/mpi.h ]; then # names a type of MPI's
        more=$(${MPICC:-mpicc} -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-I/-isystem /p')
        [ -n "$more" ] || { echo "$name: no ${MPICC:-mpicc}" && continue; }
    fi
    for compiler in "${CC:-gcc} -x c -std=c11 -Wmissing-prototypes -Wconversion" "$clang -x c -std=c11 -Wmissing-prototypes -Wconversion" \
        "g++ -x c++ -std=c++17" "$(echo "$clang" | sed 's/clang/clang++/') -x c++ -std=c++17"; do
        n=$((n + 1))
        chosen $((n + (n - 1) / 4)) 4 || continue
        # shellcheck disable=SC2086 # a command and its flags
        if printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$name" "$name" |
            $compiler -Wall -Wextra -Wpedantic -Wshadow -Werror -Iinclude -I"$dir" $more -fsyntax-only -; then
            passed=$((passed + 1))
        else
            echo "$name: $compiler"
            failed=$((failed + 1))
        fi
    done
done
n=0
for header in include/*.hpp doors/*/include/tansy/*.hpp; do
    name=${header##*include/} dir=${header%%include/*}include
    for compiler in g++ "$(echo "$clang" | sed 's/clang/clang++/')"; do
        n=$((n + 1))
        for how in -std=c++17 -std=c++20 "-std=c++17 -fno-exceptions" "-std=c++17 -fno-rtti"; do
            n=$((n + 1))
            chosen $n 4 || continue
            # shellcheck disable=SC2086 # flags
            if printf '#include <%s>\n#include <%s>\nint main() { return 0; }\n' "$name" "$name" |
                $compiler -x c++ $how -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iinclude -I"$dir" -fsyntax-only -; then
                passed=$((passed + 1))
            else
                echo "$header: $compiler $how"
                failed=$((failed + 1))
            fi
        done
    done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
