#!/bin/sh
# The Debian packages can be built, lintian has nothing to say of them, and what they install is enough to build and
# run a program.  They are unpacked into a folder, not installed.   usage: debian.sh DIR
set -eu
for tool in dpkg-buildpackage dh; do
    command -v $tool >/dev/null || { echo "  skip  deb: no $tool"; exit 0; }
done
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD CC CFLAGS LDFLAGS
passed=0
ok() { passed=$((passed + 1)); echo "ok: $1"; }
fail() { echo "FAIL: $1"; echo "$passed passed, 1 failed"; exit 1; }

cd "$(dirname "$0")/.."
source=$PWD
version=$(sed -n 's/^.define TN_VERSION *"\(.*\)".*/\1/p' include/tansy.h)
grep -q "^tansy ($version) " debian/changelog || fail "debian/changelog does not begin with $version"
tools/abi/symbols.sh | cmp -s - debian/libtansy0.symbols || fail "debian/libtansy0.symbols is not that of tests/abi.txt (make abi-record)"
mkdir -p "$1"
out=$(cd "$1" && pwd)
rm -rf "${out:?}"/*
mkdir "$out/tansy"
tar cf - --exclude=./build --exclude='./build-*' --exclude=./.git . | tar xf - -C "$out/tansy"
cd "$out/tansy"
DEB_BUILD_OPTIONS="noautodbgsym parallel=${JOBS:-$(nproc)}" dpkg-buildpackage -b -us -uc >"$out/log" 2>&1 || { tail -n 40 "$out/log"; fail "dpkg-buildpackage"; }
cd "$out"
rm -rf tansy
for package in libtansy0 libtansy-dev tansy-tools; do
    [ -f "$(echo ${package}_*.deb)" ] || fail "no $package"
    dpkg-deb -x ${package}_*.deb root
done
ok "three packages"

if command -v lintian >/dev/null; then
    lintian --fail-on error,warning --allow-root tansy_*.changes >"$out/lintian" 2>&1 || { cat "$out/lintian"; fail "lintian"; }
    ok "lintian"
else
    echo "  skip  lintian is not there"
fi

lib=$(dirname "$(find "$out/root" -name libtansy.so.0)")
for f in bin/tansy include/tansy.h include/tansy/ops.h share/man/man1/tansy.1.gz share/man/man3/tansy.3.gz share/man/man3/tn_grad.3.gz \
    share/doc/libtansy-dev/docs/ir.md share/doc/libtansy0/copyright; do
    [ -e "$out/root/usr/$f" ] || fail "usr/$f is in no package"
done
! readelf -d "$out/root/usr/bin/tansy" | grep -q 'R.*PATH' || fail "the tool has a run path"
dpkg-deb -f libtansy0_*.deb Depends | grep -q libblis || fail "libtansy0 does not depend on BLIS"
dpkg-deb -f libtansy-dev_*.deb Depends | grep -qF "libtansy0 (= $version)" || fail "libtansy-dev does not depend on its library"
ok "what is in them"

export PKG_CONFIG_SYSROOT_DIR="$out/root" PKG_CONFIG_LIBDIR="$lib/pkgconfig"
# shellcheck disable=SC2046 # flags
gcc -std=c11 "$source/examples/quickstart.c" $(pkg-config --cflags --libs tansy) -o quickstart || fail "a program does not link"
LD_LIBRARY_PATH=$lib ./quickstart | grep -q '^loss 1.589962$' || fail "a program does not run"
[ "$("$out/root/usr/bin/tansy" run --digits 3 "$source/examples/wave.tn" '[1,2,3]' '[0,0.5,1]')" = 3.48 ] || fail "the tool does not run"
ok "a program and the tool"
rm -rf root quickstart
echo "$passed passed, 0 failed"
