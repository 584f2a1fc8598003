#!/bin/sh
# Each wrong use of a macro of uses.txt does not compile, whatever the warnings; the right ones beside them do, with all
# warnings as errors.  make check has one of the two compilers look at each wrong use, the next time the other one.
set -eu
cd "$(dirname "$0")"
clang=${CLANG:-clang-16}
passed=0 failed=0
turn=${TURN:-0}
chosen() { [ -n "${TN_TESTS_LONG:-}" ] || [ $(((turn + $1) % 2)) = 0 ]; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

in_c="${CC:-gcc},$clang"
in_cxx="g++,$(echo "$clang" | sed 's/clang/clang++/')"
languages() { case $1 in both* | warned*) echo c c++ ;; *) echo "${1%% *}" ;; esac; }
compilers() { case $1 in c) echo "$in_c" ;; hpp) echo g++ ;; *) echo "$in_cxx" ;; esac | tr ' ,' '@ '; } # spaces within one as @
standard() { case $1 in c) echo -std=c11 ;; *) echo -std=c++17 ;; esac; }
plain() { echo "$1" | sed 's/hpp/c++/'; } # the language as compilers call it
frame() { [ "$1" != hpp ] || echo '#include <tansy.hpp>' && echo '#include "frame.h"'; }
dir_of() { echo "$work/$2-$(echo "$1" | tr '/@' '__')"; } # compiler, language
check() { # compiler, language, file, flags
    # The headers are compiled once for all uses without flags of their own.
    # shellcheck disable=SC2046,SC2086 # a command, flags
    $(echo "$1" | tr @ ' ') -x "$(plain "$2")" "$(standard "$2")" $4 -I../../include -I. \
        $([ -n "$4" ] || echo -include "$(dir_of "$1" "$2")/all.h") -fsyntax-only "$3" 2>"$work/log"
}
result() { # 0 when it is as it should be
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else
        shift
        echo "$@"
        failed=$((failed + 1))
    fi
}

for language in c c++ hpp; do
    frame $language >"$work/right.$language"
    for compiler in $(compilers $language); do
        dir=$(dir_of "$compiler" $language)
        mkdir "$dir" && frame $language >"$dir/all.h"
        # shellcheck disable=SC2046 # a command
        $(echo "$compiler" | tr @ ' ') -x "$(plain $language)-header" "$(standard $language)" -I../../include -I. \
            -o "$dir/all.h.gch" "$dir/all.h"
        # What is refused below is refused for what it says.
        echo 'FRAME(right, TN_VAL(1))' >"$work/right"
        if check "$compiler" $language "$work/right" ''; then result 0; else result 1 "$compiler refuses a number" && cat "$work/log"; fi
    done
done
n=0
while IFS=';' read -r which rest; do
    case $which in '#'* | '') continue ;; esac
    n=$((n + 1))
    wrong=${rest%% ; *} right=${rest#* ; }
    flags=$(case $which in warned*) echo -Werror ;; esac)
    for language in $(languages "$which"); do
        printf 'FRAME(right_%d, %s)\n' $n "$right" >>"$work/right.$language"
        { [ -z "$flags" ] || frame "$language"; printf 'FRAME(wrong, %s)\n' "$wrong"; } >"$work/wrong"
        k=$n
        for compiler in $(compilers "$language"); do
            k=$((k + 1))
            chosen $k || continue
            if check "$compiler" "$language" "$work/wrong" "$flags"; then
                result 1 "$compiler compiles:$wrong"
            else
                result 0
            fi
        done
    done
done <uses.txt
for language in c c++ hpp; do
    for compiler in $(compilers "$language"); do
        if check "$compiler" "$language" "$work/right.$language" "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"; then
            result 0
        else
            result 1 "$compiler refuses a right use:"
            head -n 20 "$work/log"
        fi
    done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
