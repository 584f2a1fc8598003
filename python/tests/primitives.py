"""Every primitive of jax.lax that docs/jax.md names, of every dtype that it takes, on random arrays with the edges of
the dtype among them (NaN, infinities, zeros of both signs, the largest and the smallest numbers), exported and compared
with JAX: integers, bools and what only moves numbers bit by bit, floats within a few units in the last place.

usage: primitives.py [SAMPLES [SEED [NAME]]]"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tansy

jax.config.update("jax_enable_x64", True)

FLOATS, SIGNED, UNSIGNED = ("float64", "float32"), ("int64", "int32", "int16", "int8"), ("uint32", "uint16", "uint8")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS, ALL = (*FLOATS, *INTEGERS), (*FLOATS, *INTEGERS, "bool")
WORDS = ("int64", "int32", "uint32")
CASES = []


class Draw:
    """Random arguments of one case."""

    def __init__(self, rng, dtype):
        self.rng, self.dtype = rng, dtype

    def pick(self, *of):
        return of[self.rng.integers(len(of))]

    def number(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=3, most=5):
        return tuple(self.number(0 if self.number(0, 9) == 0 else 1, most) for _ in range(self.number(low, high)))

    def array(self, shape, dtype=None, edges=True):
        dtype, rng = dtype or self.dtype, self.rng
        if dtype == "bool":
            return rng.random(shape) < 0.5
        if dtype[0] != "f":
            info = np.iinfo(dtype)
            x = rng.integers(max(info.min, -20), 21, size=shape)
            odd = rng.choice([info.min, info.max, info.max - 1, 0, 1], size=shape)
        else:
            info = np.finfo(dtype)
            x = rng.normal(size=shape) * np.exp(rng.normal(size=shape))
            odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, info.max, info.tiny, 0.5, -1.0], size=shape)
        return np.where(rng.random(shape) < 0.2, odd, x).astype(dtype) if edges else np.asarray(x, dtype)

    def axes(self, rank):
        return tuple(sorted(int(i) for i in self.rng.permutation(rank)[: self.number(0, rank)]))


def case(dtypes, ulps=0, name=None):
    """Registers make(draw), which gives a function and its arguments."""

    def add(make):
        CASES.append((name or make.__name__, dtypes, ulps, make))
        return make

    return add


# ---- elementwise ------------------------------------------------------------------------------------------------


def unary(dtypes, names, ulps=0, only=None):
    for name in names.split():
        f = getattr(lax, name)

        def make(d, f=f):
            x = d.array(d.shape(most=6))
            if only is not None:
                with np.errstate(invalid="ignore"):
                    x = np.where(only(x), x, np.asarray(1, x.dtype))
            return f, (x,)

        CASES.append((name, dtypes, ulps, make))


def binary(dtypes, names, ulps=0, only=None, second=None):
    for name in names.split():
        f = getattr(lax, name)

        def make(d, f=f):
            shape = d.shape(most=6)
            x, y = d.array(shape), d.array(shape)
            if second is not None:
                y = second(y)
            if only is not None:
                with np.errstate(all="ignore"):
                    keep = only(x, y)
                x, y = (np.where(keep, a, np.asarray(1, a.dtype)) for a in (x, y))
            return f, (x, y)

        CASES.append((name, dtypes, ulps, make))


unary(FLOATS, "neg abs sign sqrt floor ceil is_finite square")
unary(FLOATS, "rsqrt cbrt exp exp2 expm1 log tanh logistic erf asinh acosh atan asin acos", 8)
unary(FLOATS, "log1p erfc atanh", 64)  # JAX's are off by so many
unary(FLOATS, "sinh cosh", 16)
unary(FLOATS, "sin cos tan", 16, lambda x: np.abs(x) < 1e4)
unary(FLOATS, "erf_inv lgamma digamma bessel_i0e bessel_i1e", 2000, lambda x: np.abs(x) < 30)
unary(INTEGERS, "sign bitwise_not square")
unary(SIGNED, "neg abs")
unary(WORDS, "population_count clz")
unary(("bool",), "bitwise_not")
binary(FLOATS, "add sub mul div max min eq ne lt le gt ge nextafter")
binary(FLOATS, "rem")
binary(FLOATS, "pow atan2", 16)
binary(INTEGERS, "add sub mul max min eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor")
binary(
    INTEGERS,
    "div rem",
    only=lambda x, y: (
        (y != 0) & ~((x == np.iinfo(x.dtype).min) & (y == x.dtype.type(-1))) if x.dtype.kind == "i" else y != 0
    ),
)
binary(("bool",), "bitwise_and bitwise_or bitwise_xor eq ne max min")
binary(WORDS, "shift_left shift_right_logical shift_right_arithmetic")
binary(INTEGERS, "shift_left", second=lambda y: (y % 8).astype(y.dtype))
binary(UNSIGNED, "shift_right_logical", second=lambda y: (y % 8).astype(y.dtype))
binary(SIGNED, "shift_right_arithmetic", second=lambda y: (np.abs(y.astype(np.int64)) % 8).astype(y.dtype))


@case(NUMBERS)
def integer_pow(d):
    y = d.number(-3 if d.dtype[0] == "f" else 0, 4)
    return lambda x: lax.integer_pow(x, y), (d.array(d.shape()),)


@case(FLOATS)
def round(d):
    how = d.pick(lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN)
    x = d.array(d.shape())
    halves = np.where(d.rng.random(x.shape) < 0.4, np.floor(d.rng.normal(size=x.shape) * 4) + 0.5, x)
    return lambda x: lax.round(x, how), (halves.astype(d.dtype),)


@case(FLOATS)
def reduce_precision(d):
    exponent, mantissa = d.number(2, 8), d.number(1, 23)
    return lambda x: lax.reduce_precision(x, exponent, mantissa), (d.array(d.shape()),)


@case(NUMBERS)
def clamp(d):
    x = d.array(d.shape())
    shape = d.pick((), x.shape)
    low, high = d.array(shape, edges=False), d.array(shape, edges=False)
    return lax.clamp, (np.minimum(low, high), x, np.maximum(low, high))


@case(ALL)
def select_n(d):
    shape = d.shape()
    n = d.number(1, 4)
    which = d.array(d.pick((), shape), "bool") if n <= 2 else np.asarray(d.rng.integers(0, n, size=shape), np.int32)
    return lax.select_n, (which if n > 1 else np.zeros(shape, bool), *[d.array(shape) for _ in range(max(n, 2))])


@case(ALL)
def convert_element_type(d):
    """Where the number is one of the other dtype: XLA leaves open what else becomes of it."""
    to = d.pick(*ALL)
    x = d.array(d.shape(), edges=False)
    if to in UNSIGNED and d.dtype != "bool":
        x = np.abs(x).astype(d.dtype)
    return lambda x: lax.convert_element_type(x, to), (x,)


@case(("float64", "float32", "int64", "int32", "uint32"))
def bitcast_convert_type(d):
    wide = d.dtype in ("float64", "int64")
    to = d.pick("float64", "int64") if wide else d.pick("float32", "int32", "uint32")
    return lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, to), d.dtype), (d.array(d.shape()),)


# ---- shapes -------------------------------------------------------------------------------------------------------


@case(ALL)
def broadcast_in_dim(d):
    shape = d.shape(0, 4)
    dims = d.axes(len(shape))
    own = tuple(d.pick(1, shape[i]) for i in dims)
    return lambda x: lax.broadcast_in_dim(x, shape, dims), (d.array(own),)


@case(ALL)
def transpose(d):
    x = d.array(d.shape())
    order = tuple(int(i) for i in d.rng.permutation(x.ndim))
    return lambda x: lax.transpose(x, order), (x,)


@case(ALL)
def reshape(d):
    x = d.array(d.shape())
    return lambda x: (
        lax.reshape(x, (x.size,)),
        lax.expand_dims(x, (0,)),
        lax.squeeze(lax.expand_dims(x, (x.ndim,)), (x.ndim,)),
    ), (x,)


@case(ALL)
def rev(d):
    x = d.array(d.shape())
    axes = d.axes(x.ndim)
    return lambda x: lax.rev(x, axes), (x,)


@case(ALL)
def slice(d):
    x = d.array(d.shape())
    start = [d.number(0, n) for n in x.shape]
    stop = [d.number(a, n) for a, n in zip(start, x.shape)]
    stride = [d.number(1, 3) for _ in x.shape]
    return lambda x: lax.slice(x, start, stop, stride), (x,)


@case(ALL)
def pad(d):
    x = d.array(d.shape())
    config = [(d.number(-2, 3), d.number(-2, 3), d.number(0, 2)) for _ in x.shape]
    size = lambda n, c: c[0] + c[1] + n + max(n - 1, 0) * c[2]
    config = [c if size(n, c) >= 0 else (0, 0, 0) for n, c in zip(x.shape, config)]
    return lambda x, y: lax.pad(x, y, config), (x, d.array(()))


@case(ALL)
def concatenate(d):
    shape = list(d.shape(1))
    axis = d.number(0, len(shape) - 1)
    parts = []
    for _ in range(d.number(1, 4)):
        shape[axis] = d.number(0, 4)
        parts.append(d.array(tuple(shape)))
    return lambda *xs: lax.concatenate(xs, axis), tuple(parts)


@case(ALL)
def split(d):
    x = d.array(d.shape(1))
    axis = d.number(0, x.ndim - 1)
    first = d.number(0, x.shape[axis])
    return lambda x: lax.split(x, (first, x.shape[axis] - first), axis), (x,)


@case(NUMBERS)
def iota(d):
    shape = d.shape(1)
    axis = d.number(0, len(shape) - 1)
    return lambda x: x + lax.broadcasted_iota(d.dtype, shape, axis), (d.array(shape, edges=False),)


@case(ALL)
def dynamic_slice(d):
    x = d.array(d.shape())
    sizes = tuple(d.number(0, n) for n in x.shape)
    at = tuple(np.int32(d.number(-7, 7)) for _ in sizes)
    return lambda x, *at: lax.dynamic_slice(x, at, sizes), (x, *at)


@case(ALL)
def dynamic_update_slice(d):
    x = d.array(d.shape())
    y = d.array(tuple(d.number(0, n) for n in x.shape))
    return lambda x, y, *at: lax.dynamic_update_slice(x, y, at), (x, y, *[np.int64(d.number(-7, 7)) for _ in x.shape])


@case(ALL)
def gather_of_rows(d):
    x = d.array((d.number(1, 6), *d.shape(0, 2)))
    at = np.asarray(d.rng.integers(-9, 9, size=d.shape()), d.pick("int32", "int64"))
    mode = d.pick("clip", "fill")
    return lambda x, i: jnp.take(x, i, axis=0, mode=mode), (x, at)


# ---- reductions and orders ------------------------------------------------------------------------------------------


def reduction(dtypes, names, ulps=0, empty=True):
    for name in names.split():

        def make(d, name=name):
            x = d.array(tuple(n if empty else max(n, 1) for n in d.shape()), edges=ulps == 0)
            axes = d.axes(x.ndim)
            return lambda x: getattr(lax, name)(x, axes), (x,)

        CASES.append((name, dtypes, ulps, make))


reduction(WORDS, "reduce_sum reduce_prod")
reduction(FLOATS, "reduce_sum reduce_prod", 400)
reduction(NUMBERS, "reduce_max reduce_min", empty=False)
reduction(("bool",), "reduce_and reduce_or")
reduction(INTEGERS, "reduce_and reduce_or reduce_xor")


@case(NUMBERS)
def argmax(d):
    shape = tuple(max(n, 1) for n in d.shape(1))
    axis, to = d.number(0, len(shape) - 1), d.pick("int32", "int64")
    return lambda x: (lax.argmax(x, axis, to), lax.argmin(x, axis, to)), (d.array(shape),)


@case(NUMBERS)
def sort(d):
    x = d.array(d.shape(1)) + 0
    axis = d.number(0, x.ndim - 1)
    return lambda x, y: lax.sort((x, y), dimension=axis, num_keys=1, is_stable=True), (x, d.array(x.shape))


@case(WORDS)
def cumulative(d):
    x = d.array(d.shape(1))
    axis, back = d.number(0, x.ndim - 1), bool(d.number(0, 1))
    return lambda x: [f(x, axis, back) for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin)], (x,)


@case(FLOATS, 400)
def cumulative_of_floats(d):
    x = d.array(d.shape(1), edges=False)
    axis, back = d.number(0, x.ndim - 1), bool(d.number(0, 1))
    return lambda x: [f(x, axis, back) for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp)], (
        x,
    )


# ---- products ---------------------------------------------------------------------------------------------------------


@case((*FLOATS, *WORDS), 400)
def dot_general(d):
    batch, free, inner = d.shape(0, 1), [d.shape(0, 2, 4), d.shape(0, 2, 4)], d.shape(0, 2, 4)
    dims, arrays = [], []
    for mine in free:
        sizes = (
            [("b", i, n) for i, n in enumerate(batch)]
            + [("k", i, n) for i, n in enumerate(inner)]
            + [("f", i, n) for i, n in enumerate(mine)]
        )
        order = [sizes[i] for i in d.rng.permutation(len(sizes))]
        dims.append(
            [tuple(order.index((kind, i, n)) for i, n in enumerate(of)) for kind, of in (("k", inner), ("b", batch))]
        )
        arrays.append(d.array(tuple(n for _, _, n in order), edges=False))
    numbers = ((dims[0][0], dims[1][0]), (dims[0][1], dims[1][1]))
    return lambda x, y: lax.dot_general(x, y, numbers), tuple(arrays)


# ---- comparison -------------------------------------------------------------------------------------------------------


def flushed(x):
    """XLA's subnormal numbers are zeros."""
    return (
        np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(np.zeros_like(x), x), x) if x.dtype.kind == "f" else x
    )


def same(got, want, ulps):
    got, want = flushed(np.asarray(got)), flushed(np.asarray(want))
    if got.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return np.array_equal(got, want)
    if not ulps:
        return np.array_equal(got, want, equal_nan=True) and np.array_equal(
            np.signbit(got[want == 0]), np.signbit(want[want == 0])
        )
    info = np.finfo(want.dtype)
    if not np.array_equal(np.isfinite(got), np.isfinite(want)) or not np.array_equal(np.isnan(got), np.isnan(want)):
        return False
    finite = np.isfinite(want)
    off = np.abs(got[finite].astype(np.float64) - want[finite].astype(np.float64))
    size = np.abs(want[finite].astype(np.float64))
    if ulps >= 400:  # sums, and functions with zeros that JAX misses
        size = np.maximum(size, 1)
    return bool(np.all(off <= ulps * (info.eps * size + float(info.tiny))))


def main(samples=12, seed=1, only=None):
    failed, tried = 0, 0
    for number, (name, dtypes, ulps, make) in enumerate(CASES):
        if only and name != only:
            continue
        for dtype in dtypes:
            rng = np.random.default_rng([seed, number, ALL.index(dtype)])
            for _ in range(samples):
                f, args = make(Draw(rng, dtype))
                tried += 1
                try:
                    want = jax.tree_util.tree_leaves(jax.jit(f)(*args))
                    got = tansy.from_jax(lambda *xs: jax.tree_util.tree_leaves(f(*xs)), *args).compile()(*args)
                    why = (
                        ""
                        if all(map(lambda a, b: same(a, b, ulps), got if isinstance(got, tuple) else (got,), want))
                        else "is another number"
                    )
                except Exception as e:
                    want, got, why = None, None, f"{type(e).__name__}: {e}"
                if why:
                    failed += 1
                    print(f"  FAIL  {name} of {dtype}: {why}\n        {args}\n        {got}\n        {want}"[:1500])
                    break
    print(f"  ok    {tried} random cases of {len(CASES)} primitives" if not failed else f"{failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3]), *sys.argv[3:]) != 0)
