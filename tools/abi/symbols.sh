#!/bin/sh
# debian/libtansy0.symbols: each symbol of tests/abi.txt under the version of mk/tansy.map, and since which version of
# the library it is there: what the file says already, or this one.   usage: symbols.sh
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
old=debian/libtansy0.symbols
[ -f "$old" ] || old=/dev/null
node=$(sed -n 's/^\([A-Z_0-9]*\) {$/\1/p' mk/tansy.map)
version=$(sed -n 's/^.define TN_VERSION *"\(.*\)".*/\1/p' include/tansy.h)
echo "libtansy.so.0 libtansy0 #MINVER#"
{ echo "$node"; grep '^tn_[a-z0-9_]*$' tests/abi.txt; } | sort | awk -v node="$node" -v version="$version" -v old="$old" '
    BEGIN { while ((getline line <old) > 0) if (split(line, w, " ") == 2) since[w[1]] = w[2] }
    { s = $1 "@" node; print " " s, (s in since ? since[s] : version) }'
