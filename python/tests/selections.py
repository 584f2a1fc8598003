"""Reductions by bits, the largest of rows and the order of all floats, of random arrays, exported, also as JAX prints
them, and compared with JAX bit by bit."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lax import lax as internal

import tansy

jax.config.update("jax_enable_x64", True)


def numbers(rng, shape, dtype):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype[0] != "f":
        return rng.integers(-9 if dtype[0] == "i" else 0, 9, size=shape).astype(dtype)
    x = np.round(rng.normal(size=shape) * 2) / 2  # with ties
    return np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf], size=shape), x).astype(dtype)


def bits(rng, shape):
    x = numbers(rng, shape, ["bool", "int32", "int64", "uint32"][rng.integers(4)])
    axes = tuple(int(i) for i in rng.permutation(len(shape))[: rng.integers(len(shape) + 1)])
    op = [lax.bitwise_or, lax.bitwise_and, lax.bitwise_xor][rng.integers(3)]
    start = np.array(0, x.dtype)
    return lambda x: lax.reduce(x, ~start if op is lax.bitwise_and else start, op, axes), (x,)


def largest(rng, shape):
    x = numbers(rng, shape, ["float64", "float32", "int32", "uint32"][rng.integers(4)]) + 0  # no -0
    k = int(rng.integers(shape[-1] + 1))
    return lambda x: lax.top_k(x, k), (x,)


def order(rng, shape):
    x, y = (numbers(rng, shape, ["float64", "float32"][len(shape) % 2]) for _ in range(2))
    z = np.where(rng.random(shape) < 0.3, -0.0, x).astype(x.dtype)
    f = lambda x, y, z: [p.bind(a, b) for p in (internal.lt_to_p, internal.le_to_p) for a, b in ((x, y), (z, x + 0))]
    return f, (x, y, z)


def neighbours(rng, shape):
    """Not as JAX prints them: Tansy's text has no rules for them."""
    dtype = ["float64", "float32"][len(shape) % 2]
    x, y = (numbers(rng, shape, dtype) for _ in range(2))
    z = (rng.normal(size=shape) * np.exp(rng.normal(size=shape) * 20)).astype(dtype)
    exponents, mantissas = int(rng.integers(2, 12)), int(rng.integers(1, 53))
    f = lambda x, y, z: (lax.nextafter(x, y), lax.nextafter(z, x), lax.reduce_precision(z, exponents, mantissas),
                         lax.reduce_precision(x, exponents, mantissas))  # fmt: skip
    return f, (x, y, z)


def extremes(rng, shape):
    x, y = (numbers(rng, shape, "bool") for _ in range(2))
    return lambda x, y: (lax.max(x, y), lax.min(x, y)), (x, y)


def keys(rng, shape):
    """In f32, as JAX's users have it: no words of 64 bits."""
    seed, k = np.int32(rng.integers(2**31)), int(rng.integers(1, 4))

    def f(seed):
        key = jax.random.key(seed)
        a, b = jax.random.split(key)
        more = jax.random.split(b, (k, 2))
        turned = more.T[0]
        chosen = jax.random.fold_in(turned.reshape(1, k)[0, 0], 7)
        numbers = jax.random.uniform(a, shape, "float32"), jax.random.uniform(chosen, shape, "float32", -1)
        return *numbers, jax.random.bits(b, shape, "uint32"), jax.random.key_data(jnp.broadcast_to(more[:, 1], (2, k)))

    return f, (seed,)


def main(n=60, seed=1):
    rng, failed = np.random.default_rng(seed), 0
    for i in range(n):
        shape = tuple(int(k) for k in rng.integers(1, 7, size=rng.integers(1, 4)))
        f, args = (bits, largest, order, extremes, keys, neighbours)[i % 6](rng, shape)
        want = jax.tree_util.tree_leaves(f(*args))
        closed = jax.make_jaxpr(f)(*args)
        text = [] if i % 6 == 5 else [tansy.parse(str(closed))]
        for program in [tansy.from_jaxpr(closed), *text]:
            got = program.compile()(*args)
            got = got if isinstance(got, tuple) else (got,)
            same = lambda a, b: np.array_equal(a, b, equal_nan=b.dtype.kind == "f")
            if not all(map(same, got, map(np.asarray, want))):
                failed += 1
                print(f"  FAIL  {closed}\n  of {args}: {got}, not {want}")
    print(f"  ok    {n} random reductions, selections, comparisons and numbers" if not failed else f"{failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) != 0)
