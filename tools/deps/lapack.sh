#!/bin/sh
# What LAPACK is linked with.   usage: lapack.sh --libs | --static
# Exit status 1: not found.  --static: LAPACK's archive wants Fortran's; where that is not, programs can be linked with
# libtansy.a, but not without any shared library.
set -u

echo '#include <lapacke.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1 || exit 1
case ${1:-} in
--libs) echo "-llapacke" ;;
--static)
    case $(${CC:-cc} -print-file-name=libgfortran.a) in
    /*) echo "-llapacke -llapack -lgfortran -lquadmath" ;;
    *) echo "-llapacke" ;;
    esac ;;
*) echo "usage: lapack.sh --libs | --static" >&2; exit 2 ;;
esac
