#!/bin/sh
# Where BLIS is.   usage: blis.sh --cflags | --libs | --static
# BLIS_DIR=PREFIX names an installation; otherwise the usual places are tried,
# Debian's OpenMP flavour first (its directory is named, because the plain
# libblis.so there is whichever flavour the machine's alternatives point to).
# Exit status 1: not found.
set -u

include=''
lib=''
try() { # include directory, library directory
    [ -z "$include" ] && [ -f "$1/blis.h" ] && [ -n "$(ls "$2"/libblis.* 2>/dev/null)" ] && include=$1 lib=$2
}

if [ -n "${BLIS_DIR:-}" ]; then
    for l in lib lib64; do
        try "$BLIS_DIR/include/blis" "$BLIS_DIR/$l"
        try "$BLIS_DIR/include" "$BLIS_DIR/$l"
    done
else
    arch=$(${CC:-cc} -print-multiarch 2>/dev/null)
    [ -n "$arch" ] || arch=$(uname -m)-linux-gnu
    for flavour in blis-openmp blis-pthread; do
        try "/usr/include/$arch/$flavour" "/usr/lib/$arch/$flavour"
    done
    for prefix in /usr/local /usr /opt/homebrew /opt/local; do
        for l in lib lib64; do try "$prefix/include/blis" "$prefix/$l"; done
    done
fi
[ -n "$include" ] || exit 1

libs="-L$lib -lblis"
[ "$lib" = /usr/lib ] && libs=-lblis
case ${1:-} in
--cflags) echo "-isystem $include -idirafter $(dirname "$0")/omp" ;;
--libs) echo "$libs" ;;
--static) # what libblis.a itself needs
    case $lib in *openmp*) libs="$libs -lgomp" ;; esac
    echo "$libs -lpthread" ;;
*) echo "usage: blis.sh --cflags | --libs | --static" >&2; exit 2 ;;
esac
