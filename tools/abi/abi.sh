#!/bin/sh
# The library's binary interface as text: exported symbols, and the sizes of
# public structs and enums.   usage: abi.sh [--diff FILE]
# BUILD= names the build directory, CC= the compiler.
#
# Fails, besides on a difference: if the library exports anything but tn_ names
# (or a tn_i_ one), defines other global names, or has mutable data of its own.
set -eu
export LC_ALL=C
build=${BUILD:-build}
cc=${CC:-gcc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

symbols() { nm -D --defined-only "$build/libtansy.so.0" | awk '{ print $NF }' | sort; }

complain() { # message, offenders on standard input
    offenders=$(cat)
    [ -z "$offenders" ] || { printf '%s:\n%s\n' "$1" "$offenders" >&2; exit 1; }
}
symbols | { grep -Ev '^tn_' || :; } | complain "exported, but not a tn_ name"
symbols | { grep -E '^tn_i_' || :; } | complain "exported, but internal"
nm -g --defined-only "$build/libtansy.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^tn_/ { print $3 }' |
    complain "global names in libtansy.a that do not begin with tn_"
# Constants that hold addresses stand in .data.rel.ro: read-only once loaded.
objdump -t "$build/libtansy.a" 2>/dev/null |
    awk '/[ \t](\.data|\.bss|\.tdata|\.tbss|\*COM\*)[.\t]/ && !/\.data\.rel\.ro/ && $(NF - 1) !~ /^0+$/ { print $NF }' |
    complain "mutable data in the library"

# Public structs: "} tn_name;" closes each definition.
names=$(cat include/*.h include/tansy/*.h 2>/dev/null | sed -n 's/^} *\(tn_[a-z0-9_]*\);.*/\1/p' | sort -u)
{
    echo '#include <stdio.h>'
    echo '#include <tansy.h>'
    for h in include/tansy/*.h; do [ -f "$h" ] && echo "#include <tansy/${h##*/}>"; done
    echo 'int main(void) {'
    for n in $names; do printf '    printf("sizeof %s %%zu\\n", sizeof(%s));\n' "$n" "$n"; done
    echo '    return 0; }'
} >"$tmp/sizes.c"
$cc -std=c11 -Iinclude -o "$tmp/sizes" "$tmp/sizes.c"
{
    symbols
    "$tmp/sizes"
} >"$tmp/abi.txt"

if [ "${1:-}" = --diff ]; then
    diff -u "$2" "$tmp/abi.txt" && exit 0
    echo "the interface changed: if that is meant, make abi-record" >&2
    exit 1
fi
cat "$tmp/abi.txt"
