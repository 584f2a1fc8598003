#!/bin/sh
# A wheel of the Python package that needs nothing beside it but glibc: the library, BLIS and LAPACK are linked in, the
# run-time libraries of the compilers (OpenMP's, Fortran's) lie in the package.
# usage: wheel.sh DIRECTORY
# Nothing is fetched: Python's setuptools and wheel are those that it has, or Debian's.  The tag of the platform is that
# of the newest version of glibc whose symbols are used, and the wheel is refused where it needs a library that PEP 600
# does not promise.  BUILD is the folder of the library, PYTHON the interpreter.
set -eu
cd "$(dirname "$0")/../.."
out=${1:-build/wheels}
BUILD=${BUILD:-build}
python=${PYTHON:-python3}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
fail() {
    echo "make wheel: $1" >&2
    exit 1
}
"$python" -c 'import setuptools, wheel' 2>/dev/null || python=/usr/bin/python3
"$python" -c 'import setuptools, wheel, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "no Python 3.11 with setuptools and wheel (Debian: python3-dev python3-pip python3-wheel)"

made=$BUILD/wheel
rm -rf "$made"
mkdir -p "$made" "$out"
cp -R python "$made/source" # nothing is made in the source tree
TANSY_TREE=$PWD TANSY_BUILD=$BUILD TANSY_LINK=static "$python" -m pip wheel -q --disable-pip-version-check --no-index \
    --no-build-isolation --no-deps -w "$made" "$made/source"
wheel=$(ls "$made"/*.whl)
"$python" -m zipfile -e "$wheel" "$made/inside"
core=$(ls "$made"/inside/tansy/_core*.so)

# What PEP 600 (and libmvec, which is glibc's) promises of every machine is left where it is; what compilers bring is
# taken along.
needs() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
mkdir "$made/inside/tansy/libs"
left=$(needs "$core")
brought=
while [ -n "$left" ]; do
    next=
    for library in $left; do
        case $library in
        libc.so.6 | libm.so.6 | libmvec.so.1 | libpthread.so.0 | libdl.so.2 | librt.so.1 | libgcc_s.so.1 | ld-linux-*) ;;
        libgomp.so.* | libgfortran.so.* | libquadmath.so.*)
            [ -f "$made/inside/tansy/libs/$library" ] && continue
            cp "$(readlink -f "$(${CC:-cc} -print-file-name="$library")")" "$made/inside/tansy/libs/$library"
            brought="$brought $library"
            next="$next $(needs "$made/inside/tansy/libs/$library")"
            ;;
        *) fail "$library is not linked in: its archive is missing" ;;
        esac
    done
    left=$next
done
glibc=$(for f in "$core" "$made"/inside/tansy/libs/*; do [ -f "$f" ] && readelf -V "$f"; done |
    grep -o 'GLIBC_2\.[0-9]*' | sort -u -t. -k2 -n | tail -n 1)
tag=manylinux_2_${glibc#GLIBC_2.}_$(uname -m)
"$python" - "$made/inside" "$wheel" "$tag" <<'PYTHON'
# `wheel pack` and `wheel tags` in one, of which older versions have but the first.
import base64, hashlib, pathlib, sys, zipfile

inside, old, tag = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
name, version, python, abi, _ = old.stem.split("-")
new, rows = old.with_name(f"{name}-{version}-{python}-{abi}-{tag}.whl"), []
old.unlink()
with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as wheel:

    def put(item, data, mode):
        info = zipfile.ZipInfo(item)
        info.external_attr = (0o100000 | mode) << 16
        wheel.writestr(info, data, zipfile.ZIP_DEFLATED)

    for path in sorted(p for p in inside.rglob("*") if p.is_file() and p.suffix != ".pyc"):
        item, data = path.relative_to(inside).as_posix(), path.read_bytes()
        if item.endswith(".dist-info/RECORD"):
            record = item
            continue
        if item.endswith(".dist-info/WHEEL"):
            lines = [line for line in data.decode().splitlines() if line and not line.startswith("Tag:")]
            data = "\n".join([*lines, f"Tag: {python}-{abi}-{tag}", ""]).encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{item},sha256={digest},{len(data)}")
        put(item, data, 0o755 if ".so" in path.name else 0o644)
    put(record, "\n".join([*rows, f"{record},,", ""]), 0o644)
PYTHON
wheel=$(ls "$made"/*.whl)
rm -f "$out"/tansy-*.whl
cp "$wheel" "$out/"

echo "$out/$(basename "$wheel"): $(($(wc -c <"$wheel") / 1024)) KiB, for Python 3.11 and later"
"$BUILD/tansy" version | sed 's/^/linked in: /'
echo "taken along:${brought:- nothing}"
