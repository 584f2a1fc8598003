#!/bin/sh
# What the build needs beside musl, below DIR: include and lib, of Debian's packages, unpacked and not installed: the BLIS
# without threads (its archive is compiled for glibc, whose types of threads musl shares; the names of glibc that it wants
# are compiled here) and cmocka, from its source.   usage: musl.sh DIR [COMPILER]
# Exit status 77, and a line that says why, where that cannot be done here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cc=${2:-musl-gcc}
skip() { echo "  skip  check-musl: $1"; exit 77; }
for tool in "$cc" apt-get dpkg-deb tar ar; do
    command -v "$tool" >/dev/null || skip "no $tool (Debian: musl-tools)"
done
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ ! -e "$dir/complete" ] || exit 0
mkdir -p "$dir/apt/lists/partial" "$dir/root" "$dir/include" "$dir/lib"
cd "$dir"
apt-get -qq download libblis-serial-dev >log 2>&1 || skip "no package of BLIS ($dir/log)"
dpkg-deb -x libblis-serial-dev_*.deb root
for folder in include lib; do set -- root/usr/$folder/*/blis-serial; ln -sfn "../$1" "$folder/blis"; done
cp lib/blis/libblis.a lib/libblis.a

"$cc" -O1 -fPIC -fno-builtin -c "$here/glibc_names.c" -o glibc_names.o
ar r lib/libblis.a glibc_names.o 2>>log

# cmocka is one file of C.
echo 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' >apt/sources
cat >apt/conf <<EOF
Dir::State "$dir/apt";
Dir::Cache "$dir/apt";
Dir::Etc::sourcelist "$dir/apt/sources";
Dir::Etc::sourceparts "$dir/apt/none";
APT::Sandbox::User "";
EOF
source_of() { APT_CONFIG=$dir/apt/conf apt-get -qq -o APT::Update::Error-Mode=any "$@" </dev/null >>"$dir/log" 2>&1; }
if source_of update && source_of source --download-only cmocka; then
    tar -xf cmocka_*.orig.tar.xz
    mv cmocka-*/ source
    : >cmocka.h
    for have in ASSERT_H INTTYPES_H SETJMP_H SIGNAL_H STDARG_H STDDEF_H STDINT_H STDIO_H STDLIB_H STRING_H STRINGS_H SYS_TYPES_H \
        TIME_H UNISTD_H STRUCT_TIMESPEC CLOCK_REALTIME STRSIGNAL GCC_THREAD_LOCAL_STORAGE; do
        echo "#define HAVE_$have 1" >>cmocka.h
    done
    mv cmocka.h config.h
    "$cc" -O1 -fPIC -DHAVE_CONFIG_H -I. -Isource/include -c source/src/cmocka.c -o cmocka.o || skip "cmocka is not compiled"
    ar rc lib/libcmocka.a cmocka.o
    cp source/include/cmocka*.h include
else
    skip "no source of cmocka ($dir/log)"
fi
: >complete
