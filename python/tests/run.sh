#!/bin/sh
# The Python package: built by pip in a virtual environment under $BUILD, its tests, JAX's where JAX can be had, and the
# example.   usage: run.sh [libraries]: the programs of JAX's libraries, too, those that can be had.
# BUILD is the folder of the library; PYTHON and JAX= choose the interpreter and the version ("jax==0.4.30").
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
venv=$BUILD/python/venv
skip() {
    echo "  skip  python: $1"
    exit 0
}
mkdir -p "$BUILD/python"
"${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11"
[ -x "$venv/bin/pip" ] || "${PYTHON:-python3}" -m venv "$venv" >/dev/null 2>&1 || skip "no venv (python3-venv)"
"$venv/bin/pip" install -q --disable-pip-version-check setuptools wheel "numpy>=1.24" >"$BUILD/python/pip.log" 2>&1 ||
    skip "pip has no setuptools, wheel and NumPy"
# From a copy, so that nothing is made in the source tree.
rm -rf "$BUILD/python/source"
cp -R python "$BUILD/python/source"
TANSY_TREE=$PWD TANSY_BUILD=$BUILD "$venv/bin/pip" install -q --disable-pip-version-check --no-build-isolation \
    --no-deps --force-reinstall "$BUILD/python/source"

"$venv/bin/python" python/tests/test_api.py
"$venv/bin/pip" install -q --disable-pip-version-check "${JAX:-jax}" >>"$BUILD/python/pip.log" 2>&1 ||
    skip "pip has no ${JAX:-jax}; the rest passed"
if [ "${1:-}" = libraries ]; then
    for library in optax flax equinox diffrax lineax optimistix jaxopt; do
        "$venv/bin/pip" install -q --disable-pip-version-check "${JAX:-jax}" $library >>"$BUILD/python/pip.log" 2>&1 || echo "  skip  pip has no $library for ${JAX:-jax}"
    done
    cd python/tests && "$venv/bin/python" -W ignore compare.py --libraries && "$venv/bin/python" -W ignore texts.py --libraries && exec "$venv/bin/python" -W ignore primitives.py 4
fi
(cd python/tests && "$venv/bin/python" -W ignore test_jax.py && "$venv/bin/python" compare.py && "$venv/bin/python" windows.py &&
    "$venv/bin/python" scatters.py && "$venv/bin/python" selections.py && "$venv/bin/python" -W ignore texts.py)

# The wheel, away from everything, by its own copies of what it needs.
BUILD=$BUILD CC=${CC:-cc} tools/python/wheel.sh "$BUILD/python/wheels"
rm -rf "$BUILD/python/alone"
"$venv/bin/pip" install -q --disable-pip-version-check --no-index --no-deps --target "$BUILD/python/alone" "$BUILD"/python/wheels/*.whl
PYTHONPATH="$BUILD/python/alone" "$venv/bin/python" python/tests/test_api.py

# shellcheck disable=SC2086 # CC may have arguments
example=$BUILD/python/example
mkdir -p "$example"
"$venv/bin/python" python/examples/mpc.py "$example" >/dev/null
${CC:-cc} -O2 -Wall -Wextra -Werror -I"$example" python/examples/main.c "$example/plan.c" -lm -o "$example/mpc"
"$example/mpc"
