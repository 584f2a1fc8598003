#!/bin/sh
# Other people's builds: the small projects in tests/projects are configured, built, linked and run, with Tansy installed
# (CMake's find_package, Meson, pkg-config) and in a folder of theirs (add_subdirectory, a Meson subproject), and all say
# the same.  Files are compiled with the flags of the Makefile.  What is not on this machine is passed over, and told.
set -eu
here=$(cd "$(dirname "$0")/projects" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
cc=${CC:-gcc}
plain=${cc##* } # without ccache
arch=$($cc -print-multiarch 2>/dev/null) || arch=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL PKG_CONFIG_PATH LD_LIBRARY_PATH
cd "$top"
passed=0 failed=0
ok() { passed=$((passed + 1)) && echo "ok: $1"; }
wrong() { # what, its log
    failed=$((failed + 1)) && echo "FAIL: $1"
    [ ! -f "${2:-}" ] || tail -n 40 "$2"
}
skip() { echo "skip: $1"; }
log=$work/log
try() { # command..: its output goes to $log
    "$@" >"$log" 2>&1
}
has() { command -v "$1" >/dev/null 2>&1; }
says() { # program, what it is: it prints what the first one printed
    if "$1" >"$work/said" 2>&1 && cmp -s "$work/said" "$work/expected"; then ok "$2"; else wrong "$2: it prints" "$work/said"; fi
}
alone() { # program, what it is: it needs no libtansy
    if readelf -d "$1" | grep -q 'NEEDED.*libtansy'; then wrong "$2 needs libtansy.so"; else says "$1" "$2"; fi
}
needs() { # program, what it is
    if readelf -d "$1" | grep -q 'NEEDED.*\[libtansy.so.0\]'; then says "$1" "$2"; else wrong "$2 does not need libtansy.so.0"; fi
}

# ---- installed, and moved ------------------------------------------------------------

make -s install DEPS=no DEPS_SEEN=1 BUILD="$build" CC="$cc" PREFIX="$work/made" LIBDIR="$work/made/lib/$arch"
mv "$work/made" "$work/prefix"
unset CFLAGS # what the Makefile's build has is not for theirs
lib=$work/prefix/lib/$arch
$cc -std=c11 -I"$work/prefix/include" "$here/main.c" -o "$work/first" "$lib/libtansy.so.0" -Wl,-rpath,"$lib"
"$work/first" >"$work/expected"
doors=$(for d in "$lib"/libtansy-*.so.0; do d=${d##*/libtansy-} && [ "$d" = '*.so.0' ] || printf '%s;' "${d%.so.0}"; done)

find_package() {
    try cmake -S "$here/cmake" -B "$work/found" -DCMAKE_C_COMPILER="$plain" -DCMAKE_PREFIX_PATH="$work/prefix" \
        -DCMAKE_BUILD_TYPE=Debug -DDOORS="${doors%;}" || { wrong "find_package does not configure" "$log"; return; }
    try cmake --build "$work/found" || { wrong "find_package does not build" "$log"; return; }
    needs "$work/found/shared" "find_package, tansy::tansy"
    alone "$work/found/static" "find_package, tansy::tansy_static"
    for door in $(echo "$doors" | tr ';' ' '); do
        for kind in "" _static; do
            run=
            [ "$door" != mpi ] || run="env TN_MPI_NP=2 doors/mpi/run.sh ${MPIRUN:-mpirun}"
            # shellcheck disable=SC2086 # a command
            if try $run "$work/found/door_$door$kind"; then ok "find_package, tansy::$door$kind"; else
                wrong "tansy::$door$kind" "$log"
            fi
        done
    done
}

by_pkg_config() {
    cp -r "$here/main.c" "$here/pkgconfig" "$work"
    sed -i "s|^prefix=.*|prefix=$work/prefix|" "$lib/pkgconfig/tansy.pc"
    PKG_CONFIG_PATH=$lib/pkgconfig try make -C "$work/pkgconfig" CC="$cc" ||
        { wrong "a Makefile with pkg-config" "$log" && return; }
    LD_LIBRARY_PATH=$lib needs "$work/pkgconfig/shared" "pkg-config"
    says "$work/pkgconfig/static" "pkg-config --static, no shared library at all"
}

meson_installed() {
    mkdir "$work/plain" && cp "$here/main.c" "$here/meson/meson.build" "$work/plain"
    CC=$plain PKG_CONFIG_PATH=$lib/pkgconfig try meson setup --wrap-mode=nofallback "$work/plain/b" "$work/plain" &&
        try ninja -C "$work/plain/b" || { wrong "Meson with pkg-config" "$log" && return; }
    LD_LIBRARY_PATH=$lib needs "$work/plain/b/shared" "Meson, dependency('tansy')"
    alone "$work/plain/b/static" "Meson, dependency('tansy', static: true)"
}

# ---- in a folder of theirs ------------------------------------------------------------

# Both are configured and their flags compared; what takes a minute, to compile the library by them, of four commits
# CMake does with one and Meson with another (.ci/run has ThreadSanitizer's build with those between them), with
# PROJECTS=all both.
builds() { # 0 or 2
    [ "${PROJECTS:-}" = all ] || [ $((($(git rev-list --count HEAD 2>/dev/null || date +%-j) + $1) % 4)) = 0 ]
}


# Lines of commands -> a line for each file of the library, with the flags on which bits depend, sorted.
flags() {
    awk '{
        file = ""; n = 0
        for (i = 1; i <= NF; i++) {
            word = $i
            gsub(/^"|"$/, "", word)
            if (word ~ /(^|\/)src\/[a-z0-9_\/]*\.c$/) { sub(/.*\/src\//, "src/", word); file = word; continue }
            if (word !~ /^-(f|m|D|std|tail)/ || word ~ /^-(fdiagnostics|D_FILE_OFFSET_BITS)/) continue
            for (j = n++; j > 0 && flag[j - 1] > word; j--) flag[j] = flag[j - 1]
            flag[j] = word
        }
        line = file
        for (i = 0; i < n; i++) if (!i || flag[i] != flag[i - 1]) line = line " " flag[i]
        if (file != "" && file !~ /src\/cli/) print line
    }' | sort
}
same_flags() { # compile_commands.json, what it is
    [ -f "$work/flags" ] || make -s print-flags DEPS=no BUILD="$build" CC="$cc" | flags >"$work/flags"
    sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$1" | flags >"$work/theirs"
    if [ -s "$work/flags" ] && diff "$work/flags" "$work/theirs" >"$work/flags.log"; then
        ok "$2 compiles $(wc -l <"$work/flags") files with the Makefile's flags"
    else
        wrong "$2: other flags than the Makefile's" "$work/flags.log"
    fi
}

add_subdirectory() {
    try cmake -G "$generator" -S "$here/cmake" -B "$work/added" -DTANSY="$top" -DTANSY_OPTIMIZE=-O0 -DCMAKE_C_COMPILER="$plain" \
        -DBLIS_DIR="${BLIS_DIR:-}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON || { wrong "add_subdirectory does not configure" "$log"; return; }
    same_flags "$work/added/compile_commands.json" "CMake"
    builds 0 || return 0
    try cmake --build "$work/added" -j2 || { wrong "add_subdirectory does not build" "$log"; return; }
    needs "$work/added/shared" "add_subdirectory, tansy::tansy"
    alone "$work/added/static" "add_subdirectory, tansy::tansy_static"
    exports "$(find "$work/added" -name 'libtansy.so.0')" "add_subdirectory"
}

meson_subproject() {
    mkdir -p "$work/sub/subprojects" && cp "$here/main.c" "$here/meson/meson.build" "$work/sub"
    ln -s "$top" "$work/sub/subprojects/tansy"
    CC=$plain try meson setup --buildtype=plain --wrap-mode=forcefallback -Dtansy:optimize=0 -Dtansy:blis_dir="${BLIS_DIR:-}" "$work/sub/b" "$work/sub" ||
        { wrong "the subproject does not configure" "$log"; return; }
    same_flags "$work/sub/b/compile_commands.json" "Meson"
    builds 2 || return 0
    try ninja -C "$work/sub/b" -j2 shared static || { wrong "the subproject does not build" "$log"; return; }
    needs "$work/sub/b/shared" "a Meson subproject, dependency('tansy')"
    alone "$work/sub/b/static" "a Meson subproject, tansy_static_dep"
    exports "$(find "$work/sub/b" -name 'libtansy.so.0')" "a Meson subproject"
}

exports() { # library, whose: the symbols of tests/abi.txt, with their version
    nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort >"$work/exported"
    sed -n 's/^tn_[a-z0-9_]*$/&@@TANSY_0/p' tests/abi.txt | LC_ALL=C sort >"$work/listed"
    if cmp -s "$work/exported" "$work/listed"; then ok "$2 exports what tests/abi.txt lists"; else
        diff "$work/listed" "$work/exported" >"$work/exports.log" || wrong "$2 exports other symbols" "$work/exports.log"
    fi
}

exports "$lib/libtansy.so.0" "make"
generator="Unix Makefiles"
! has ninja || generator=Ninja
if has cmake; then find_package && add_subdirectory; else skip "CMake: there is no cmake"; fi
if has pkg-config; then by_pkg_config; else skip "pkg-config: there is none"; fi
if has meson && has ninja; then meson_installed && meson_subproject; else skip "Meson: there is no meson, or no ninja"; fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
