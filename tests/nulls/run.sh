#!/bin/sh
# Calls every function that the library exports with nothing where something is wanted (frame.h).
set -eu
export LC_ALL=C
build=${TANSY%/tansy}
here=tests/nulls
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    for h in include/tansy.h include/tansy/*.h; do [ "$h" = include/tansy/cxx.h ] || echo "#include <${h#include/}>"; done
} >"$work/all.c"
# Declarations as the compiler sees them, one a line.
${CC:-gcc} -std=c11 -E -P -Iinclude "$work/all.c" | tr '\n' ' ' | sed 's/__attribute__((visibility("default")))/\n@ /g' |
    sed -n '/^@ *extern/d; s/^@ *\([^;]*\);.*/\1/p' >"$work/prototypes"
awk -f $here/calls.awk "$work/prototypes" >"$work/calls.h"
sed -n 's/^    {"\(tn_[a-z0-9_]*\)", call_.*/\1/p' "$work/calls.h" | sort >"$work/called"
grep '^tn_' tests/abi.txt | grep -vx tn_described | sort | diff -u - "$work/called" || {
    echo "what is called here is not what tests/abi.txt lists"
    exit 1
}
${CC:-gcc} -std=c11 -g ${SAN:+-fsanitize=$SAN} -Iinclude -I$here -I"$work" -o "$work/nulls" $here/main.c \
    -L"$build" -l:libtansy.so.0 -Wl,-rpath,"$build"
"$work/nulls" "$@" 2>"$work/said" || {
    sort "$work/said" | uniq -c | head -n 20
    exit 1
}
tail -n 1 "$work/said"
