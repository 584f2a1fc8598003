"""Builds tansy._core against the library of this tree, or against an installed one.

TANSY_BUILD names the folder with libtansy.a (default: ../build; made by `make` where it is missing), TANSY_TREE the
tree where this folder is a copy.  TANSY_LINK=static, in the tree, links in what the library needs (make wheel).  Away from the tree, as from an sdist, pkg-config finds an installed library."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
STATIC = os.environ.get("TANSY_LINK") == "static"
SHARED = ("-lgomp", "-lgfortran", "-lquadmath", "-lpthread", "-ldl", "-lm")  # also in wheels
TREE = Path(os.environ.get("TANSY_TREE", HERE.parent))


def run(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def of_the_tree():
    """Flags for the static library of the tree, so that the package needs nothing of Tansy beside it."""
    build = Path(os.environ.get("TANSY_BUILD", TREE / "build")).resolve()
    library = build / "libtansy.a"
    if not library.exists():
        subprocess.run(
            ["make", "-C", str(TREE), f"BUILD={build}", "DEPS=no", str(library)], check=True, stdout=sys.stderr
        )
    # How the tree links: BLIS, OpenMP and what it was configured with.
    what = "print-static-libs" if STATIC else "print-libs"
    libs = shlex.split(run("make", "-s", "-C", str(TREE), f"BUILD={build}", "DEPS_SEEN=1", "--no-print-directory", what))
    if STATIC:
        # BLIS and LAPACK from their archives; what compilers bring is copied into the package (tools/python/wheel.sh)
        shared = [lib for lib in libs if lib in SHARED]
        archives = [lib for lib in libs if lib not in shared]
        rpath = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/libs"
        libs = ["-Wl,-Bstatic", *archives, "-Wl,-Bdynamic", *dict.fromkeys(shared), "-static-libgcc", rpath]
    return [str(TREE / "include")], [str(library), *libs]


def of_an_installation():
    flags = shlex.split(run("pkg-config", "--cflags", "tansy"))
    libs = shlex.split(run("pkg-config", "--libs", "tansy"))
    return [f[2:] for f in flags if f.startswith("-I")], libs


def version(include):
    for folder in [*include, "/usr/local/include", "/usr/include"]:
        header = Path(folder) / "tansy.h"
        if header.exists():
            return re.search(r'#define TN_VERSION +"(.*)"', header.read_text()).group(1)
    raise SystemExit("tansy.h is not to be found: build in Tansy's tree, or install the library first")


include, link = of_the_tree() if (TREE / "include" / "tansy.h").exists() else of_an_installation()
setup(
    version=version(include),
    ext_modules=[
        Extension(
            "tansy._core",
            ["tansy/_core.c"],
            include_dirs=include,
            extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra"],
            extra_link_args=[*link, "-Wl,--exclude-libs,ALL", "-Wl,-S"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
