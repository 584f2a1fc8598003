#!/bin/sh
# Every public header compiles alone, as C11 and as C++17, without a warning; those of C++ as C++17 and C++20, with and
# without exceptions.
set -eu
clang=${CLANG:-clang-16}
passed=0 failed=0
for header in include/*.h include/tansy/*.h doors/*/include/tansy/*.h; do
    [ -f "$header" ] || continue
    name=${header##*include/} dir=${header%%include/*}include more=
    if [ "$name" = tansy/mpi.h ]; then # names a type of MPI's
        more=$(${MPICC:-mpicc} -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-I/-isystem /p')
        [ -n "$more" ] || { echo "$name: no ${MPICC:-mpicc}" && continue; }
    fi
    for compiler in "${CC:-gcc} -x c -std=c11 -Wmissing-prototypes -Wconversion" "$clang -x c -std=c11 -Wmissing-prototypes -Wconversion" \
        "g++ -x c++ -std=c++17" "$(echo "$clang" | sed 's/clang/clang++/') -x c++ -std=c++17"; do
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
for header in include/*.hpp doors/*/include/tansy/*.hpp; do
    name=${header##*include/} dir=${header%%include/*}include
    for compiler in g++ "$(echo "$clang" | sed 's/clang/clang++/')"; do
        for how in -std=c++17 -std=c++20 "-std=c++17 -fno-exceptions" "-std=c++17 -fno-rtti"; do
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
