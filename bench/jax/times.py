"""Times of programs.py: value and gradient by the default back end, beside JAX on one thread.

usage: times.py [NAME ...]; pin it to a processor."""

import os
import sys
import time
import warnings

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import numpy as np

import tansy


def best(f, samples=7, least=0.02):
    """The median of some samples of at least so many seconds, of one call."""
    f()
    begin = time.perf_counter()
    f()
    n = max(1, int(least / max(time.perf_counter() - begin, 1e-7)))
    times = []
    for _ in range(samples):
        begin = time.perf_counter()
        for _ in range(n):
            f()
        times.append((time.perf_counter() - begin) / n)
    return sorted(times)[samples // 2]


def narrow(x, dtype):
    x = np.asarray(x)
    return x.astype(np.float32) if dtype == "f32" and x.dtype == np.float64 else x


def apart(got, want):
    """The largest difference, of the largest number."""
    largest = [
        np.abs(np.asarray(a) - np.asarray(b)).max() / max(1e-30, np.abs(np.asarray(b)).max()) for a, b in zip(got, want)
    ]
    return max(largest)


def main(names):
    from programs import PROGRAMS

    warnings.simplefilter("ignore")
    slower = total = 0
    for name, (f, args) in PROGRAMS.items():
        for dtype in ("f64", "f32"):
            if names and name not in names:
                continue
            leaves = [narrow(x, dtype) for x in args]
            wrt = [i for i, x in enumerate(leaves) if x.dtype.kind == "f"]
            own = jax.jit(jax.value_and_grad(f, wrt))
            try:
                want = own(*leaves)
            except TypeError:  # a program of one dtype
                continue
            run = tansy.from_jax(f, *leaves).value_and_grad().compile()
            error = apart(run(*leaves)[1:], want[1])
            theirs = best(lambda: jax.block_until_ready(own(*leaves)))
            ours = best(lambda: run(*leaves))
            slower, total = slower + (ours > theirs), total + 1
            print(
                f"{name:20} {dtype} {ours * 1e6:10.1f} us, JAX {theirs * 1e6:10.1f} us: {ours / theirs:5.2f}, apart by {error:.0e}",
                flush=True,
            )
    print(f"{total} programs, {slower} slower than JAX")


if __name__ == "__main__":
    main(sys.argv[1:])
