#!/bin/sh
# The library's binary interface as text: exported symbols, the types of functions, the members and sizes of public
# structs, the values of enumerators, the soname.   usage: abi.sh [--diff FILE]
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

# Versions are objects of their own (mk/tansy.map); all symbols have the first.
symbols() { nm -D --defined-only "$build/libtansy.so.0" | awk '$2 != "A" { sub(/@@TANSY_0$/, "", $NF); print $NF }' | sort; }

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

# Headers as the compiler has them: each struct and enum on a line of its own.
{
    echo '#include <tansy.h>'
    for h in include/tansy/*.h; do [ "$h" = include/tansy/cxx.h ] || echo "#include <tansy/${h##*/}>"; done
} >"$tmp/all.h"
$cc -std=c11 -Iinclude -E -P -x c "$tmp/all.h" | tr '\n' ' ' | sed 's/  */ /g; s/\(typedef \)\{0,1\}\(struct\|enum\) tn_/\n\2 tn_/g' >"$tmp/types"
awk '/^(struct|enum) tn_[a-z0-9_]* \{/ { # up to the brace that closes it
    depth = 0; out = ""
    for (i = 1; i <= length($0); i++) {
        c = substr($0, i, 1); out = out c
        if (c == "{") depth++
        if (c == "}" && --depth == 0) break
    }
    print out
}' "$tmp/types" | grep -v "^[a-z]* tn_i_" | sort -u >"$tmp/bodies"
names=$(sed -n 's/^[a-z]* \(tn_[a-z0-9_]*\) {.*/\1/p' "$tmp/bodies")
values=$(sed -n 's/^enum [a-z0-9_]* {\(.*\)}$/\1/p' "$tmp/bodies" | tr ',' '\n' | sed -n 's/^ *\(TN_[A-Z0-9_]*\).*/\1/p')
{
    echo '#include <stdio.h>'
    cat "$tmp/all.h"
    echo 'int main(void) {'
    for n in $names; do printf '    printf("sizeof %s %%zu\\n", sizeof(%s));\n' "$n" "$n"; done
    for n in $values; do printf '    printf("value %s %%d\\n", (int)%s);\n' "$n" "$n"; done
    echo '    return 0; }'
} >"$tmp/sizes.c"
$cc -std=c11 -Iinclude -o "$tmp/sizes" "$tmp/sizes.c"
# gcc alone writes this.
gcc -std=c11 -Iinclude -aux-info "$tmp/prototypes" -fsyntax-only -x c "$tmp/all.h"
{
    symbols
    "$tmp/sizes"
    sed -n 's/^struct tn_/&/p' "$tmp/bodies"
    sed -n 's|^/\* include/.* \*/ extern \(.*tn_[a-z0-9_]* (.*);\)$|function \1|p' "$tmp/prototypes" | sort -u
    readelf -d "$build/libtansy.so.0" | sed -n 's/.*(SONAME).*\[\(.*\)\]$/soname \1/p'
} >"$tmp/abi.txt"

if [ "${1:-}" = --diff ]; then
    diff -u "$2" "$tmp/abi.txt" && exit 0
    echo "the interface changed: if that is meant, make abi-record" >&2
    exit 1
fi
cat "$tmp/abi.txt"
