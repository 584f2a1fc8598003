"""Scatters and gathers of random dimension numbers, modes and dtypes, exported and compared with JAX: value, gradient,
jvp and Hessian-vector product."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from compare import results

MODES = [lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP]
pick = lambda rng, *a: int(rng.integers(*a))


def numbers(rng, shape, dtype):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    x = rng.normal(size=shape) * 2
    return np.abs(x).astype(dtype) if dtype[0] == "u" else x.astype(dtype)


def layout(rng):
    """Roles of an operand's dimensions: shape, window sizes, and the lists of dimension numbers; shape of indices."""
    shape = [pick(rng, 1, 5) for _ in range(pick(rng, 1, 4))]
    batch, collapsed, sizes = [], [], []
    for i, n in enumerate(shape):
        role = rng.random()
        if role < 0.2:
            batch.append(i)
        elif role < 0.6:
            collapsed.append(i)
        sizes.append(1 if role < 0.6 else pick(rng, 1, n + 1))
    mapped = [i for i in range(len(shape)) if i not in batch and rng.random() < 0.9]
    mapped = [int(i) for i in rng.permutation(mapped)]
    rows = [pick(rng, 1, 4) for _ in range(pick(rng, 0, 3))]
    paired = [int(i) for i in rng.permutation(len(rows) + len(batch))[: len(batch)]]
    dims, rest = [], list(rows)
    for j in range(len(rows) + len(batch)):
        dims.append(shape[batch[paired.index(j)]] if j in paired else rest.pop())
    window = [s for i, s in enumerate(sizes) if i not in batch and i not in collapsed]
    rank = len(dims) + len(window)
    offset = sorted(int(i) for i in rng.permutation(rank)[: len(window)])
    left, inside = list(dims), list(window)
    whole = [inside.pop(0) if i in offset else left.pop(0) for i in range(rank)]
    index = rng.integers(-1, 6, size=(*dims, len(mapped)))
    return shape, sizes, (offset, collapsed, mapped, batch, paired), index, whole


def scatter(rng):
    """A function of operand and updates, these, what it is, and how JAX differentiates it."""
    shape, sizes, (offset, collapsed, mapped, batch, paired), index, whole = layout(rng)
    name = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"][pick(rng, 0, 6)]
    dtype = ["float64", "float64", "float32", "int32", "int64", "uint32", "bool"][pick(rng, 0, 7)]
    if dtype == "bool" and name not in ("scatter", "scatter_min", "scatter_max"):
        dtype = "float64"
    if not hasattr(lax, name):
        name = "scatter_add"
    mode = MODES[pick(rng, 0, 2)]
    numbers_of = lax.ScatterDimensionNumbers(*map(tuple, (offset, collapsed, mapped, batch, paired)))
    # Of equal indices JAX leaves open which one is written, and has no derivative of products; of extremes that are
    # clamped it has a wrong one.
    windows = int(np.prod([n for j, n in enumerate(index.shape[:-1]) if j not in paired]))
    if name == "scatter" and windows > 1:
        name = "scatter_add" if dtype != "bool" else "scatter_max"
    if dtype == "bool" and not mapped:  # of windows that all meet XLA takes the last one
        dtype = "float64"
        name = "scatter_max"
    smooth = not (name == "scatter_mul" and windows > 1) and not (name[-3:] in ("min", "max") and mode == MODES[0])
    unique = windows == 1
    index = index.astype(["int32", "int64"][pick(rng, 0, 2)])
    f = lambda x, u: getattr(lax, name)(x, index, u, numbers_of, mode=mode, unique_indices=unique)
    args = numbers(rng, shape, dtype), numbers(rng, whole, dtype)
    return f, args, f"{name} {dtype} {shape} {index.shape} {whole} {numbers_of} {mode}", smooth


def gather(rng):
    shape, sizes, (offset, collapsed, mapped, batch, paired), index, _ = layout(rng)
    dtype = ["float64", "float64", "float32", "int32", "int64", "uint32", "bool"][pick(rng, 0, 7)]
    mode = MODES[pick(rng, 0, 2)]
    fill = None
    if dtype == "bool":
        fill = [None, True, False][pick(rng, 0, 3)]
    elif mode == MODES[1]:
        fill = [None, 7, 0][pick(rng, 0, 3)] if "float" not in dtype else [0.0, -2.5, 77.0][pick(rng, 0, 3)]
    numbers_of = lax.GatherDimensionNumbers(*map(tuple, (offset, collapsed, mapped, batch, paired)))
    f = lambda x: lax.gather(x, index, numbers_of, tuple(sizes), mode=mode, fill_value=fill)
    what = f"gather {dtype} {shape} {index.shape} {sizes} {numbers_of} {mode} {fill}"
    return f, (numbers(rng, shape, dtype),), what, True


def main(n=60, seed=1):
    rng, failed = np.random.default_rng(seed), 0
    for i in range(n):
        f, args, what, smooth = (scatter, scatter, gather)[i % 3](rng)
        try:
            jax.eval_shape(f, *args)
        except (TypeError, ValueError):  # dimension numbers that JAX has not
            continue
        g = lambda *xs: (lambda y: y * xs[0].mean() if y.dtype.kind == "f" else y)(f(*map(jnp.asarray, xs)))
        try:
            if args[0].dtype.kind == "f" and smooth:
                wrong = [k for k, right in results(g, args, {}) if not right]
            else:
                wrong = [k for k, right in [next(results(f, args, {}))] if not right]
        except Exception as e:
            wrong = [f"{type(e).__name__}: {str(e)[:200]}"]
        if wrong:
            failed += 1
            print(f"  FAIL  {what}: {', '.join(wrong)}")
    print(f"  ok    {n} random scatters and gathers" if not failed else f"{failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) != 0)
