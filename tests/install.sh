#!/bin/sh
# What make install puts in place is enough: a program is built and run from
# nothing but pkg-config, against the shared library and statically.
set -eu
build=${BUILD:-build}
cc=${CC:-gcc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0
ok() { passed=$((passed + 1)); echo "ok: $1"; }
fail() { echo "FAIL: $1"; echo "$passed passed, 1 failed"; exit 1; }

prefix=$tmp/prefix
make -s install BUILD="$build" CC="$cc" PREFIX="$prefix"
for f in include/tansy.h lib/libtansy.a lib/libtansy.so.0 lib/libtansy.so lib/pkgconfig/tansy.pc bin/tansy \
    share/man/man1/tansy.1 share/man/man3/tansy.3 share/man/man3/tn_grad.3; do
    [ -e "$prefix/$f" ] || fail "$f is not installed"
done
for h in include/*.h include/*.hpp include/tansy/*.h; do
    [ ! -f "$h" ] || cmp -s "$h" "$prefix/$h" || fail "$h is not installed"
done
for d in $(grep -oh 'docs/[a-z-]*\.md' include/*.h include/*.hpp include/tansy/*.h | sort -u); do
    cmp -s "$d" "$prefix/share/doc/tansy/$d" || fail "$d, which a header names, is not installed"
done
ok "everything is in place"

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
version=$(sed -n 's/^.define TN_VERSION *"\(.*\)".*/\1/p' include/tansy.h)
[ -n "$version" ] && [ "$(pkg-config --modversion tansy)" = "$version" ] || fail "tansy.pc has another version than tansy.h"
cp examples/quickstart.c "$tmp"
cd "$tmp"

# shellcheck disable=SC2046 # flags
$cc -std=c11 quickstart.c $(pkg-config --cflags --libs tansy) -o shared || fail "shared: does not link"
LD_LIBRARY_PATH="$prefix/lib:${LD_LIBRARY_PATH:-}" ./shared >shared.out || fail "shared: does not run"
readelf -d shared | grep -q 'NEEDED.*\[libtansy\.so\.0\]' || fail "shared: does not need libtansy.so.0"
ok "a program that uses libtansy.so.0"

cp "$OLDPWD/examples/quickstart_operators.cpp" .
# shellcheck disable=SC2046 # flags
g++ -std=c++17 quickstart_operators.cpp $(pkg-config --cflags --libs tansy) -o operators || fail "tansy.hpp: does not link"
LD_LIBRARY_PATH="$prefix/lib:${LD_LIBRARY_PATH:-}" ./operators | cmp -s - shared.out || fail "tansy.hpp: prints something else"
ok "a program in C++"

# Without the shared library beside it, the linker takes libtansy.a.
mkdir static
cp "$prefix/lib/libtansy.a" static
# shellcheck disable=SC2046 # flags
$cc -std=c11 quickstart.c -Lstatic $(pkg-config --cflags --libs --static tansy | sed "s|-L$prefix/lib||") -o partly ||
    fail "libtansy.a: does not link"
./partly | cmp -s - shared.out || fail "libtansy.a: prints something else"
ok "a program that uses libtansy.a"

# shellcheck disable=SC2046 # flags
$cc -static -std=c11 quickstart.c $(pkg-config --cflags --libs --static tansy) -o fully || fail "-static: does not link"
./fully | cmp -s - shared.out || fail "-static: prints something else"
ok "a program without shared libraries"

mv "$prefix" "$tmp/moved"
# shellcheck disable=SC2046 # flags
PKG_CONFIG_PATH="$tmp/moved/lib/pkgconfig" $cc -std=c11 quickstart.c \
    $(PKG_CONFIG_PATH="$tmp/moved/lib/pkgconfig" pkg-config --define-prefix --cflags --libs tansy) -o movable ||
    fail "moved elsewhere: does not link"
LD_LIBRARY_PATH="$tmp/moved/lib:${LD_LIBRARY_PATH:-}" ./movable | cmp -s - shared.out || fail "moved: prints something else"
ok "an installation that was moved"

cd "$OLDPWD"
for so in "$build"/libtansy-*.so.0; do # doors: those that were built
    [ -f "$so" ] || continue
    door=${so##*/libtansy-} door=${door%.so.0}
    for f in "include/tansy/$door.h" "lib/libtansy-$door.a" "lib/libtansy-$door.so" "lib/pkgconfig/tansy-$door.pc"; do
        [ -e "$tmp/moved/$f" ] || fail "$f is not installed"
    done
    [ ! -e "doors/$door/include/tansy/$door.hpp" ] || [ -e "$tmp/moved/include/tansy/$door.hpp" ] || fail "tansy/$door.hpp is not installed"
    for example in examples/*_"$door".c; do
        [ -f "$example" ] || continue
        # shellcheck disable=SC2046 # flags
        PKG_CONFIG_PATH="$tmp/moved/lib/pkgconfig" $cc -std=c11 "$example" \
            $(PKG_CONFIG_PATH="$tmp/moved/lib/pkgconfig" pkg-config --define-prefix --cflags --libs "tansy-$door") \
            $(PKG_CONFIG_PATH="$tmp/moved/lib/pkgconfig" pkg-config --variable=solver "tansy-$door") -lm -o "$tmp/door" ||
            fail "$example: does not link"
        LD_LIBRARY_PATH="$tmp/moved/lib:${LD_LIBRARY_PATH:-}" "$tmp/door" >/dev/null || fail "$example: does not run"
    done
    if [ "$door" = mpi ]; then
        variable() { PKG_CONFIG_PATH="$tmp/moved/lib/pkgconfig" pkg-config --variable="$1" tansy-mpi; }
        # shellcheck disable=SC2046 # flags
        $(variable mpicc) -std=c11 tests/install/mpi.c \
            $(PKG_CONFIG_PATH="$tmp/moved/lib/pkgconfig" pkg-config --define-prefix --cflags --libs tansy-mpi) -o "$tmp/door" ||
            fail "tests/install/mpi.c: does not link"
        LD_LIBRARY_PATH="$tmp/moved/lib:${LD_LIBRARY_PATH:-}" TN_MPI_NP=2 doors/mpi/run.sh "$(variable mpirun)" "$tmp/door" ||
            fail "tests/install/mpi.c: does not run"
    fi
    ok "the door to $door"
done

make -s install BUILD="$build" CC="$cc" PREFIX=/opt/tansy DESTDIR="$tmp/stage"
grep -q '^prefix=/opt/tansy$' "$tmp/stage/opt/tansy/lib/pkgconfig/tansy.pc" || fail "DESTDIR: wrong prefix in tansy.pc"
! grep -q "$tmp" "$tmp/stage/opt/tansy/lib/pkgconfig/tansy.pc" || fail "DESTDIR: tansy.pc names it"
make -s uninstall PREFIX=/opt/tansy DESTDIR="$tmp/stage"
left=$(find "$tmp/stage" ! -type d)
[ -z "$left" ] || fail "make uninstall leaves: $left"
ok "staged installation, and its removal"
echo "$passed passed, 0 failed"
