#!/bin/sh
# What Debian has for arm64 and the build needs, below DIR: include and lib, of packages that are fetched and unpacked,
# not installed.   usage: arm64.sh DIR
# Exit status 77, and a line that says why, where that cannot be done here.
set -eu
skip() { echo "  skip  check-arm64: $1"; exit 77; }
for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg-deb; do
    command -v $tool >/dev/null || skip "no $tool (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user)"
done
[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] || skip "no C library for arm64 (Debian: libc6-dev-arm64-cross)"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ ! -e "$dir/complete" ] || exit 0
mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/root" "$dir/include" "$dir/lib"
: >"$dir/apt/status"
cat >"$dir/apt/conf" <<EOF
APT::Architecture "arm64";
APT::Architectures "arm64";
Dir::State "$dir/apt";
Dir::State::status "$dir/apt/status";
Dir::Cache "$dir/apt";
APT::Sandbox::User "";
EOF
apt() { APT_CONFIG=$dir/apt/conf apt-get -qq -y -o APT::Update::Error-Mode=any -o Acquire::Retries=1 "$@" </dev/null >"$dir/log" 2>&1; }
apt update || skip "apt has no lists for arm64 ($dir/log)"
apt install --no-install-recommends --download-only libblis-openmp-dev liblapacke-dev libcmocka-dev || skip "no packages for arm64 ($dir/log)"
for package in "$dir"/apt/archives/*.deb; do
    case ${package##*/} in libc6_* | libgcc-s1_*) ;; *) dpkg-deb -x "$package" "$dir/root" ;; esac
done
# One folder of each, as a BLIS of the user's own has it.
root=$dir/root/usr arch=aarch64-linux-gnu
cp "$root"/include/lapack*.h "$root"/include/cmocka*.h "$dir/include"
ln -sfn "$root/include/$arch/blis-openmp" "$dir/include/blis"
for library in "$root/lib/$arch"/*.so* "$root/lib/$arch"/*/*.so*; do ln -sf "$library" "$dir/lib"; done
mkdir -p "$dir/bin"
ln -sf "$(command -v aarch64-linux-gnu-gcc)" "$dir/bin/cc"
: >"$dir/complete"
