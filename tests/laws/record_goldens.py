"""Records tests/laws/goldens_*.c: what every primitive computes, row by row.

Expected numbers come from JAX where a row gives a function, and from this file where it gives
them (what JAX leaves to the machine, or the library defines otherwise); where both are given
they must agree.  Needs JAX; the tests don't.  From the root:  python3 tests/laws/record_goldens.py
"""
import os

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.scipy import special as jsp

jax.config.update("jax_enable_x64", True)
HERE = os.path.dirname(os.path.abspath(__file__))
DTYPE = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u32": np.uint32, "bool": np.bool_}
FLOATS, INTS, NUMBERS = ("f32", "f64"), ("i32", "i64"), ("f32", "f64", "i32", "i64", "u32")
ANY = NUMBERS + ("bool",)
inf, nan = float("inf"), float("nan")
MIN = {"i32": -(2**31), "i64": -(2**63), "u32": 0}
MAX = {"i32": 2**31 - 1, "i64": 2**63 - 1, "u32": 2**32 - 1}
tables, current = {}, None
# Floats of 16 bits: derivatives alone, as values have a law of their own.  What JAX computes in f64 of numbers that they
# have, rounded to them; not of primitives that have no such floats.
HALVES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
WIDE = set(
    """cholesky custom_linear_solve custom_root eig eigh external_call fft linear_solve lu lu_solve pinv qr random_normal
    random_uniform schur svd triangular_solve""".split()
)


def table(name):
    global current
    current = tables.setdefault(name, [])


def parse_type(t):
    dtype, dims = t[:-1].split("[")
    return dtype, tuple(int(d) for d in dims.split(",") if d)


def literal(x, dtype):
    if dtype == "bool":
        return "1" if x else "0"
    if dtype not in FLOATS:
        return str(int(x))
    x = float(x)
    if np.isnan(x):
        return "nan"
    text = repr(float(np.float32(x))) if dtype == "f32" else repr(x)
    return text[:-2] if text.endswith(".0") else text


def numbers(v, dtype):
    """An array; u32 counts modulo 2^32."""
    return np.array(v, np.int64).astype(np.uint32) if dtype == "u32" else np.array(v, DTYPE[dtype])


def flat(a, dtype):
    return " ".join(literal(x, dtype) for x in np.asarray(a).reshape(-1))


def widen(arrays):
    return [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]


def evaluate(fn, how, arrays, nin):
    def several(*a):
        y = fn(*a)
        return tuple(y) if isinstance(y, (list, tuple)) else (y,)

    x, more = arrays[:nin], arrays[nin:]
    real = [k for k in range(nin) if x[k].dtype.kind == "f"]

    def of_real(*r):
        full = list(x)
        for k, v in zip(real, r):
            full[k] = v
        return several(*full)

    if not how:
        return several(*x)
    r = [jnp.asarray(x[k]) for k in real]
    if how == "jvp":
        y, dy = jax.jvp(of_real, r, [jnp.asarray(m) for m in more])
        return y + tuple(d for d in dy if np.asarray(d).dtype.kind == "f")
    if how == "grad":
        return jax.grad(lambda *a: of_real(*a)[0], argnums=tuple(range(len(r))))(*r)
    y, back = jax.vjp(of_real, *r)
    cts, at = [], 0
    for v in y:
        if np.asarray(v).dtype.kind == "f":
            cts.append(jnp.asarray(more[at]))
            at += 1
        else:
            cts.append(np.zeros(v.shape, jax.dtypes.float0))
    return y + tuple(back(tuple(cts)))


def row(op, types, ins, fn=None, out=None, how="", nout=1, native=False, outs=None):
    """One row: `op` over inputs of `types`; `outs` are the output types (found by running fn)."""
    types = types.split()
    nin = len(types)
    full = [parse_type(t) for t in types]
    more = list(full)
    if how == "jvp":
        more += [t for t in full if t[0] in FLOATS]
    if how == "vjp":
        more += [parse_type(t) for t in outs.split()][: len(ins) - nin]
    arrays = [numbers(v, d).reshape(s) for v, (d, s) in zip(ins, more)]
    assert len(arrays) == len(more), (op, types, how)
    want = None
    if fn is not None:
        narrow = not native and any(a.dtype == np.float32 for a in arrays)
        got = evaluate(fn, how, widen(arrays) if narrow else arrays, nin)
        got = [np.asarray(g) for g in got]
        got = [g.astype(np.float32) if narrow and g.dtype == np.float64 else g for g in got]
        names = {np.dtype(v): k for k, v in DTYPE.items()}
        want = "; ".join(flat(g, names[g.dtype]) for g in got)
    if out is not None:
        dtypes = [parse_type(t)[0] for t in outs.split()] if outs else []
        dtypes += [full[0][0]] * (len(out) - len(dtypes))
        hand = "; ".join(flat(numbers(v, d), d) for v, d in zip(out, dtypes))
        assert want is None or want == hand, (op, types, ins, want, hand)
        want = hand
    put(op, how, types, nout, flat_all(arrays, more), want)
    if how in ("jvp", "vjp", "grad") and fn is not None and out is None and not native:
        halves(op, how, types, nout, arrays, more, fn)


def flat_all(arrays, types):
    return "; ".join(flat(a, d) for a, (d, _) in zip(arrays, types))


def halves(op, how, types, nout, arrays, more, fn):
    """The row in floats of 16 bits; none where a result leaves them, or the operator's text has a dtype."""
    if "f32" not in [d for d, _ in more] or "f32" in op or op.split("[")[0] in WIDE:
        return
    for name, half in HALVES.items():
        ins = [a.astype(half).astype(np.float64) if d == "f32" else a for a, (d, _) in zip(arrays, more)]
        got = [np.asarray(g) for g in evaluate(fn, how, ins, len(types))]
        rounded = [g.astype(half).astype(np.float64) if g.dtype == np.float64 else g for g in got]
        if any(g.dtype.kind == "f" and not np.isfinite(g).all() for g in rounded):
            continue
        if name == "bf16" and op == "bessel_i1e":  # whose derivative's terms cancel
            continue
        names = {np.dtype(v): k for k, v in DTYPE.items()}
        want = "; ".join(flat(g, names[g.dtype]) for g in rounded)
        given = "; ".join(flat(a, "f64" if d == "f32" else d) for a, (d, _) in zip(ins, more))
        put(op, how, [t.replace("f32", name) for t in types], nout, given, want)


def put(op, how, types, nout, given, want):
    nin = len(types)
    letters = [chr(ord("a") + k) for k in range(nin)]
    binders = " ".join(f"{n}:{t}" for n, t in zip(letters, types))
    left = " ".join(f"z{k}" for k in range(nout))
    right = ", ".join(f"z{k}" for k in range(nout)) + ("," if nout == 1 else "")
    text = f"{{ lambda {binders} . let {left} = {op} {' '.join(letters)} in ({right}) }}"
    current.append((op.split("[")[0], how, text, given, want))


def over(dtypes, op, shapes, ins, fn=None, out=None, **k):
    """The same row for several dtypes; shapes as "[3] i32[2]": a bare shape has the dtype."""
    for d in dtypes:
        types = " ".join(d + s if s.startswith("[") else s for s in shapes.split())
        kk = dict(k)
        if "outs" in kk and kk["outs"]:
            kk["outs"] = " ".join(d + s if s.startswith("[") else s for s in kk["outs"].split())
        row(op.replace("DT", d), types, ins, fn, out, **kk)


def unary(op, fn, points, slopes=(), dtypes=FLOATS):
    """Values at `points` from fn, derivatives at `slopes` from its jvp."""
    over(dtypes, op, f"[{len(points)}]", [points], fn)
    if slopes:
        over(dtypes, op, f"[{len(slopes)}]", [slopes, [1.0] * len(slopes)], fn, how="jvp")


def kink(op, shapes, ins, out, fn=None, **k):
    """A derivative that is a convention, spelled out here."""
    for d in FLOATS:
        types = " ".join(d + s if s.startswith("[") else s for s in shapes.split())
        kk = dict(k)
        outs = " ".join(d + s if s.startswith("[") else s for s in kk.pop("outs").split())
        row(op, types, ins, fn, out, outs=outs, **kk)


# ---- elementwise ----------------------------------------------------------------------------
table("elementwise")
wrap = lambda x, d: int(x) % 2**32 if d == "u32" else int((int(x) + 2 ** (8 * DTYPE[d]().nbytes - 1)) % 2 ** (8 * DTYPE[d]().nbytes) - 2 ** (8 * DTYPE[d]().nbytes - 1))

unary("neg", lax.neg, [0.0, -0.0, 1.5, -2.25, inf, -inf, nan], [0.5, -3.0])
unary("abs", lax.abs, [0.0, -0.0, 1.5, -2.25, inf, -inf, nan], [0.5, -3.0])
unary("sign", lax.sign, [0.0, -0.0, 1.5, -2.25, inf, -inf, nan])
unary("sqrt", lax.sqrt, [0.0, -0.0, 4.0, 2.0, inf, -1.0, nan], [0.5, 3.0])
unary("rsqrt", lax.rsqrt, [0.0, 4.0, 2.0, inf, -1.0, nan], [0.5, 3.0])
unary("cbrt", lax.cbrt, [0.0, -0.0, 8.0, -27.0, 2.0, inf, -inf, nan], [0.5, -3.0])
unary("square", lax.square, [0.0, -0.0, 1.5, -3.0, inf, -inf, nan], [0.5, -3.0])
unary("exp", lax.exp, [0.0, -0.0, 1.0, -2.5, 800.0, -800.0, inf, -inf, nan], [0.5, -3.0])
unary("exp2", lax.exp2, [0.0, 1.0, -2.5, 10.0, 2000.0, inf, -inf, nan], [0.5, -3.0])
unary("expm1", lax.expm1, [0.0, -0.0, 1.0, -2.5, 1e-10, inf, -inf, nan], [0.5, -3.0])
unary("log", lax.log, [0.0, -0.0, 1.0, 2.5, 1e-3, inf, -1.0, nan], [0.5, 3.0])
unary("log1p", lax.log1p, [0.0, -0.0, 1.0, -0.5, 1e-10, -1.0, -2.0, inf, nan], [0.5, 3.0])
unary("sin", lax.sin, [0.0, -0.0, 1.0, -2.5, 100.0, inf, nan], [0.5, -3.0])
unary("cos", lax.cos, [0.0, 1.0, -2.5, 100.0, -inf, nan], [0.5, -3.0])
unary("tan", lax.tan, [0.0, -0.0, 1.0, -2.5, inf, nan], [0.5, -3.0])
unary("asin", lax.asin, [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, nan], [0.5, -0.75])
unary("acos", lax.acos, [0.0, 1.0, -1.0, 0.5, 1.5, nan], [0.5, -0.75])
unary("atan", lax.atan, [0.0, -0.0, 1.0, -2.5, inf, -inf, nan], [0.5, -3.0])
unary("sinh", lax.sinh, [0.0, -0.0, 1.0, -2.5, inf, -inf, nan], [0.5, -3.0])
unary("cosh", lax.cosh, [0.0, 1.0, -2.5, inf, -inf, nan], [0.5, -3.0])
unary("tanh", lax.tanh, [0.0, -0.0, 1.0, -2.5, 50.0, inf, -inf, nan], [0.5, -1.0])
unary("asinh", lax.asinh, [0.0, -0.0, 1.0, -2.5, inf, -inf, nan], [0.5, -3.0])
unary("acosh", lax.acosh, [1.0, 1.5, 10.0, inf, 0.5, nan], [1.5, 3.0])
unary("atanh", lax.atanh, [0.0, -0.0, 0.5, -0.75, 1.0, -1.0, 1.5, nan], [0.5, -0.75])
unary("logistic", lax.logistic, [0.0, 1.0, -2.5, 50.0, -50.0, inf, -inf, nan], [0.5, -3.0])
unary("erf", lax.erf, [0.0, -0.0, 0.5, -1.5, 3.0, inf, -inf, nan], [0.5, -1.25])
unary("erfc", lax.erfc, [0.0, 0.5, -1.5, 3.0, 5.0, inf, -inf, nan], [0.5, -1.25])
unary("erf_inv", lax.erf_inv, [0.0, -0.0, 0.5, -0.75, 0.984375, 1.0, -1.0, 1.5, nan], [0.5, -0.75])
unary("lgamma", lax.lgamma, [1.0, 2.0, 0.5, 3.5, 10.0, -0.5, -2.25, 0.0, -1.0, inf, nan], [0.5, 3.5, -1.25])
unary("digamma", lax.digamma, [1.0, 0.5, 3.5, 10.0, -0.5, -2.25, -1.0, nan], [0.5, 3.5, -1.25])
unary("bessel_i0e", lax.bessel_i0e, [0.0, 0.5, -1.25, 3.0, 10.0, 100.0, nan], [0.5, -1.25])
unary("bessel_i1e", lax.bessel_i1e, [0.0, 0.5, -1.25, 3.0, 10.0, 100.0, nan], [0.5, -1.25, 0.0])
unary("floor", lax.floor, [0.0, -0.0, 1.5, -1.5, 2.0, -0.25, inf, nan])
unary("ceil", lax.ceil, [0.0, -0.0, 1.5, -1.5, 2.0, 0.25, -inf, nan])
AWAY, EVEN = lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN
unary("round[rounding_method=AWAY_FROM_ZERO]", lambda x: lax.round(x, AWAY), [0.5, -0.5, 1.5, 2.5, -2.5, 0.25, inf, nan])
unary("round[rounding_method=TO_NEAREST_EVEN]", lambda x: lax.round(x, EVEN), [0.5, -0.5, 1.5, 2.5, -2.5, 0.75, inf, nan])
over(FLOATS, "is_finite", "[6]", [[0.0, -1.5, inf, -inf, nan, 1e30]], lax.is_finite, native=True)
over(FLOATS, "stop_gradient", "[4]", [[0.5, -0.0, inf, nan]], out=[[0.5, -0.0, inf, nan]])
over(FLOATS, "stop_gradient", "[2]", [[0.5, -3.0], [1.0, 1.0]], out=[[0.5, -3.0], [0, 0]], how="jvp")
over(INTS + ("u32",), "stop_gradient", "[2]", [[7, -8]], out=[[7, -8]])
row("stop_gradient", "bool[2]", [[1, 0]], out=[[1, 0]])
for k in (3, -2, 0, 1, 2, 5):
    unary(f"integer_pow[y={k}]", lambda x, k=k: lax.integer_pow(x, k), [1.5, -2.0, 0.5, -0.0, inf, nan], [1.5, -2.0, 0.5])
for d in INTS + ("u32",):
    for k in (0, 1, 2, 3, 7):
        x = [3, -2, 0, 100000]
        over((d,), f"integer_pow[y={k}]", "[4]", [x], out=[[wrap(v**k, d) for v in x]])

# Whole numbers wrap; the least has no negative; division by zero gives -1.
for d in INTS:
    lo, hi = MIN[d], MAX[d]
    x, y = [5, -7, hi, lo, lo, 0, 12345], [3, 2, 1, -1, lo, -4, 678]
    n = f"[{len(x)}]"
    div = lambda a, b: -1 if b == 0 else wrap(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1), d)
    rem = lambda a, b: a if b == 0 else a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
    for op, f in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b), ("max", max), ("min", min),
                  ("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        over((d,), op, f"{n} {n}", [x, y], out=[[wrap(f(a, b), d) for a, b in zip(x, y)]])
    x, y = [7, -7, 7, -7, 5, 0, lo, lo, hi, -5], [2, 2, -2, -2, 0, 0, -1, 0, -1, 0]
    over((d,), "div", "[10] [10]", [x, y], out=[[div(a, b) for a, b in zip(x, y)]])
    over((d,), "rem", "[10] [10]", [x, y], out=[[rem(a, b) for a, b in zip(x, y)]])
    x = [3, -4, 0, lo, hi]
    over((d,), "neg", "[5]", [x], out=[[wrap(-a, d) for a in x]])
    over((d,), "abs", "[5]", [x], out=[[wrap(abs(a), d) for a in x]])
    over((d,), "sign", "[5]", [x], out=[[1, -1, 0, -1, 1]])
    over((d,), "square", "[5]", [x], out=[[wrap(a * a, d) for a in x]])
    over((d,), "not", "[5]", [x], out=[[~a for a in x]])
    over((d,), "clamp", "[4] [4] [4]", [[-2, -2, -2, 3], [-5, 0, 5, 4], [2, 2, 2, 1]], out=[[-2, 0, 2, 1]])

    # Bits as XLA has them: by the width or more, or less than 0, nothing is left, but the sign.
    w = 32 if d == "i32" else 64
    x, y = [1, -1, -1, lo, hi, 5, -7, -7, 1, -1, -8, 0], [0, 1, w - 1, w - 1, 3, w, w, -1, w - 1, 4, 2, hi]
    n = f"[{len(x)}]"
    over((d,), "shift_left", f"{n} {n}", [x, y], lax.shift_left)
    over((d,), "shift_right_logical", f"{n} {n}", [x, y], lax.shift_right_logical)
    over((d,), "shift_right_arithmetic", f"{n} {n}", [x, y], lax.shift_right_arithmetic)
    x = [0, 1, -1, lo, hi, 5, 255, 256, 1 << 20, -12345]
    over((d,), "population_count", f"[{len(x)}]", [x], lax.population_count)
    over((d,), "clz", f"[{len(x)}]", [x], lax.clz)
for op in ("max", "min"):
    row(op, "bool[4] bool[4]", [[0, 0, 1, 1], [0, 1, 0, 1]], getattr(lax, op))
# Unsigned numbers: modulo 2^32, in the order of what they count; division by zero gives all ones.
x, y = [5, 7, 2**32 - 1, 2**31, 0, 12345, 2**32 - 7, 3], [3, 2**32 - 2, 1, 2**31, 9, 678, 2, 0]
for op in ("add", "sub", "mul", "div", "rem", "max", "min"):
    row(op, "u32[8] u32[8]", [x, y], getattr(lax, op))
for op in ("eq", "ne", "lt", "le", "gt", "ge"):
    row(op, "u32[8] u32[8]", [x, y], getattr(lax, op))
for op in ("and", "or", "xor"):
    row(op, "u32[8] u32[8]", [x, y], getattr(lax, "bitwise_" + op))
row("abs", "u32[8]", [x], jnp.abs)
for op in ("neg", "sign", "square"):
    row(op, "u32[8]", [x], getattr(lax, op))
row("not", "u32[8]", [x], lax.bitwise_not)
row("clamp", "u32[4] u32[4] u32[4]", [[1, 2**31, 4, 3], [0, 5, 2**32 - 1, 4], [2, 2**32 - 1, 2**31, 1]], lax.clamp)
x, y = [1, 2**32 - 1, 2**31, 5, 2**32 - 7, 2**31 + 1, 1, 0], [0, 1, 31, 3, 32, 2**32 - 1, 31, 40]
for op in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
    row(op, "u32[8] u32[8]", [x, y], getattr(lax, op))
for op in ("population_count", "clz"):
    row(op, "u32[8]", [x], getattr(lax, op))
row("and", "bool[4] bool[4]", [[0, 0, 1, 1], [0, 1, 0, 1]], out=[[0, 0, 0, 1]])
row("or", "bool[4] bool[4]", [[0, 0, 1, 1], [0, 1, 0, 1]], out=[[0, 1, 1, 1]])
row("xor", "bool[4] bool[4]", [[0, 0, 1, 1], [0, 1, 0, 1]], out=[[0, 1, 1, 0]])
row("not", "bool[2]", [[0, 1]], out=[[1, 0]])

x, y = [1.5, -2.5, 0.0, -0.0, inf, inf, nan, 3.0, 1.0], [2.0, 0.5, -0.0, -0.0, -inf, 1.0, 1.0, nan, 0.0]
for op, fn in (("add", lax.add), ("sub", lax.sub), ("mul", lax.mul), ("div", lax.div)):
    over(FLOATS, op, "[9] [9]", [x, y], fn)
    over(FLOATS, op, "[2] [2]", [[1.5, -2.5], [0.75, 2.0], [1.0, 0.5], [0.25, -3.0]], fn, how="jvp")
    over(FLOATS, op, "[2] [2]", [[1.5, -2.5], [0.75, 2.0], [1.0, 0.5]], fn, how="vjp", outs="[2]")
# 0 where a 0 meets an infinity or a NaN; else the bits of mul and div.
sx, sy = [1.5, 0.0, inf, -0.0, nan, 0.0, inf, nan, -2.5, -0.0, 0.0], [2.0, inf, 0.0, nan, -0.0, 0.0, -inf, 1.0, 0.0, 3.0, -inf]
over(FLOATS, "strict_mul", "[11] [11]", [sx, sy], out=[[3.0, 0.0, 0.0, 0.0, 0.0, 0.0, -inf, nan, -0.0, -0.0, 0.0]])
over(FLOATS, "strict_div", "[11] [11]", [sx, sy], out=[[0.75, 0.0, inf, 0.0, nan, 0.0, nan, nan, -inf, -0.0, -0.0]])
for op, fn in (("strict_mul", lax.mul), ("strict_div", lax.div)):
    over(FLOATS, op, "[2] [2]", [[1.5, -2.5], [0.75, 2.0], [1.0, 0.5], [0.25, -3.0]], fn, how="jvp")
    over(FLOATS, op, "[2] [2]", [[1.5, -2.5], [0.75, 2.0], [1.0, 0.5]], fn, how="vjp", outs="[2]")
# One rounding: (1 + e)^2 - (1 + 2e) is e^2, where e^2 is lost in a product that is rounded.
for form, fn, same, out in (("add", lambda x, y, z: x * y + z, -1.0, 1.0), ("sub", lambda x, y, z: x * y - z, 1.0, 1.0),
                            ("rsub", lambda x, y, z: z - x * y, 1.0, -1.0)):
    op = f"fma[form={form}]"
    for d, e in (("f32", 2.0**-12), ("f64", 2.0**-30)):
        over((d,), op, "[1] [1] [1]", [[1 + e], [1 + e], [same * (1 + 2 * e)]], out=[[out * e * e]])
        over((d,), "strict_" + op, "[1] [1] [1]", [[1 + e], [1 + e], [same * (1 + 2 * e)]], out=[[out * e * e]])
    xyz = [[1.5, -2.5, inf, 0.0, nan, 3.0, 0.0], [2.0, 0.5, 1.0, inf, 1.0, 2.0, -0.0], [0.25, -1.0, -1.0, 1.0, 1.0, -inf, 2.0]]
    over(FLOATS, op, "[7] [7] [7]", xyz, fn)
    over(FLOATS, "strict_" + op, "[7] [7] [7]", xyz, fn=None,
         out=[[fn(*v) if v[:2] != (0.0, inf) else fn(0.0, 0.0, v[2]) for v in zip(*xyz)]])
    at = [[1.5, -2.5], [0.75, 2.0], [-3.0, 0.5]]
    for prim in (op, "strict_" + op):
        over(FLOATS, prim, "[2] [2] [2]", at + [[1.0, 0.5], [0.25, -3.0], [2.0, 1.0]], fn, how="jvp")
        over(FLOATS, prim, "[2] [2] [2]", at + [[1.0, 0.5]], fn, how="vjp", outs="[2]")
over(FLOATS, "rem", "[8] [8]", [[5.5, -5.5, 5.5, -5.5, 1.0, inf, 2.0, nan], [2.0, 2.0, -2.0, -2.0, 0.0, 2.0, inf, 1.0]], lax.rem)
over(FLOATS, "rem", "[3] [3]", [[5.5, -5.5, 0.5], [2.0, 2.0, 3.0], [1.0] * 3, [0.5] * 3], lax.rem, how="jvp")
over(FLOATS, "pow", "[9] [9]", [[2.0, 0.5, -2.0, 0.0, 0.0, -8.0, nan, 1.0, inf], [3.0, -1.5, 3.0, 0.0, -1.0, 0.5, 0.0, nan, -1.0]], lax.pow)
over(FLOATS, "pow", "[2] [2]", [[2.0, 0.5], [3.0, -1.5], [1.0, 0.5], [0.25, 2.0]], lax.pow, how="jvp")
for d in INTS:
    over(FLOATS, "pow", f"[6] {d}[6]", [[2.0, -2.0, 0.0, -0.5, 1.5, 0.0], [3, 3, 0, -3, 5, -1]], lax.pow)
    over(FLOATS, "pow", f"[3] {d}[3]", [[2.0, -2.0, 0.5], [3, 4, -2], [1.0, 0.5, 2.0]], lax.pow, how="jvp")
over(FLOATS, "atan2", "[8] [8]", [[1.0, -1.0, 1.0, 0.0, -0.0, 0.0, inf, nan], [2.0, 2.0, -2.0, -1.0, -1.0, 0.0, inf, 1.0]], lax.atan2)
over(FLOATS, "atan2", "[2] [2]", [[1.0, -1.5], [2.0, -2.0], [1.0, 0.5], [0.25, 2.0]], lax.atan2, how="jvp")
over(FLOATS, "polygamma", "[5] [5]", [[1.0, 2.0, 3.0, 1.0, 4.0], [0.5, 1.5, 2.5, 10.0, 3.0]], lax.polygamma)
gamma = [[0.5, 1.0, 2.5, 10.0, 3.0, 2.0, -1.0], [0.25, 2.0, 2.5, 4.0, 0.0, inf, 1.0]]
over(FLOATS, "igamma", "[7] [7]", gamma, lax.igamma)
over(FLOATS, "igammac", "[7] [7]", gamma, lax.igammac)
over(FLOATS, "igamma_grad_a", "[5] [5]", [v[:5] for v in gamma], lax.igamma_grad_a)
over(FLOATS, "random_gamma_grad", "[5] [5]", [v[:5] for v in gamma], lambda a, x: lax.random_gamma_grad(a, x))
for op, fn in (("igamma", lax.igamma), ("igammac", lax.igammac)):
    over(FLOATS, op, "[3] [3]", [v[:3] for v in gamma] + [[1.0, 0.5, -2.0], [0.5, -1.0, 1.0]], fn, how="jvp")
beta = [[0.5, 1.0, 2.5, 4.0, 2.0, 2.0, -1.0], [0.5, 3.0, 2.0, 0.75, 3.0, 3.0, 1.0], [0.25, 0.5, 0.75, 0.9375, 0.0, 1.0, 0.5]]
over(FLOATS, "regularized_incomplete_beta", "[7] [7] [7]", beta, lax.betainc)
over(FLOATS, "zeta", "[5] [5]", [[2.0, 1.5, 3.0, 8.0, 1.0], [1.0, 2.5, 0.25, 3.0, 2.0]], lax.zeta)
over(FLOATS, "max", "[7] [7]", [[1.0, -1.0, 2.5, nan, 1.0, inf, -inf], [2.0, -2.0, 2.5, 1.0, nan, 1.0, -1.0]], lax.max)
over(FLOATS, "min", "[7] [7]", [[1.0, -1.0, 2.5, nan, 1.0, inf, -inf], [2.0, -2.0, 2.5, 1.0, nan, 1.0, -1.0]], lax.min)
over(FLOATS, "clamp", "[5] [5] [5]", [[-1.0, -1.0, -1.0, nan, 0.0], [-2.0, 0.5, 3.0, 1.0, nan], [1.0, 1.0, 1.0, 2.0, 1.0]], lax.clamp)
over(FLOATS, "clamp", "[] [4] []", [[-1.0], [-2.0, 0.5, 3.0, 1.0], [1.0]], lax.clamp)
over(FLOATS, "clamp", "[3] [3] [3]", [[-1.0] * 3, [-2.0, 0.5, 3.0], [1.0] * 3, [2.0] * 3, [1.0] * 3, [4.0] * 3], lax.clamp, how="jvp")

for op, fn in (("eq", lax.eq), ("ne", lax.ne), ("lt", lax.lt), ("le", lax.le), ("gt", lax.gt), ("ge", lax.ge)):
    over(FLOATS, op, "[8] [8]", [[1.0, 2.0, 3.0, 0.0, nan, 1.0, nan, inf], [2.0, 2.0, 2.0, -0.0, 1.0, nan, nan, inf]], fn, native=True)
    over(("i32",), op, "[5] [5]", [[1, 2, 3, MIN["i32"], -1], [2, 2, 2, MAX["i32"], 0]], fn)
    over(("i64",), op, "[5] [5]", [[1, 2, 3, MIN["i64"], 2**53 + 1], [2, 2, 2, MAX["i64"], 2**53]], fn)
    row(op, "bool[4] bool[4]", [[0, 0, 1, 1], [0, 1, 0, 1]], fn)
for d in ANY:
    x, y = ([1, 1, 1, 1], [0, 0, 0, 0]) if d == "bool" else ([1, 2, 3, 4], [-5, -6, -7, -8])
    over((d,), "select", "bool[4] [4] [4]", [[1, 0, 0, 1], x, y], lambda p, a, b: lax.select(p, a, b))
    over((d,), "select", "bool[] [4] [4]", [[1], x, y], lambda p, a, b: lax.select(p, a, b))
    over((d,), "select", "bool[] [4] [4]", [[0], x, y], lambda p, a, b: lax.select(p, a, b))
over(FLOATS, "select", "bool[3] [3] [3]", [[1, 0, 1], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [0.5, 0.25, nan]], lax.select, how="vjp", outs="[3]")

# Conversions: towards zero and saturating, NaN to 0; whole numbers wrap; bool is x != 0.
over(FLOATS, "convert_element_type[new_dtype=i32]", "[9]", [[1.75, -1.75, 0.5, -0.0, 3e9, -3e9, inf, -inf, nan]],
     out=[[1, -1, 0, 0, MAX["i32"], MIN["i32"], MAX["i32"], MIN["i32"], 0]], outs="i32[9]")
over(FLOATS, "convert_element_type[new_dtype=i64]", "[9]", [[1.75, -1.75, 3e9, -0.0, 1e19, -1e19, inf, -inf, nan]],
     out=[[1, -1, 3000000000, 0, MAX["i64"], MIN["i64"], MAX["i64"], MIN["i64"], 0]], outs="i64[9]")
over(FLOATS, "convert_element_type[new_dtype=bool]", "[5]", [[0.0, -0.0, 0.5, nan, -inf]], out=[[0, 0, 1, 1, 1]], outs="bool[5]")
to = lambda d: lambda a: lax.convert_element_type(a, DTYPE[d])
over(FLOATS, "convert_element_type[new_dtype=u32]", "[8]", [[1.75, 0.5, -0.0, 3e9, 5e9, inf, 2**31, 0]], to("u32"), outs="u32[8]")
over(FLOATS, "convert_element_type[new_dtype=u32]", "[4]", [[-1.75, -3e9, -inf, nan]], out=[[0, 0, 0, 0]], outs="u32[4]")
for d in ("i32", "i64", "bool"):
    over((d,), "convert_element_type[new_dtype=u32]", "[4]", [[0, 1, 1, 0] if d == "bool" else [5, -6, MIN[d], MAX[d]]], to("u32"), outs="u32[4]")
for d in ("i32", "i64", "f32", "f64", "bool"):
    row(f"convert_element_type[new_dtype={d}]", "u32[5]", [[5, 0, 2**31, 2**32 - 1, 2**24 + 1]], to(d), outs=f"{d}[5]")
for d, to_d, x in (("f32", "i32", [1.5, -0.0, inf, -2.25]), ("f32", "u32", [1.5, -0.0, inf, -2.25]), ("f64", "i64", [1.5, -0.0, inf, -2.25]),
                   ("i32", "f32", [0, 1, MIN["i32"], 1069547520]), ("i64", "f64", [0, 1, MIN["i64"], 4609434218613702656]),
                   ("u32", "f32", [0, 1, 2**31, 1069547520]), ("u32", "i32", [5, 2**31, 2**32 - 1, 0])):
    row(f"bitcast_convert_type[new_dtype={to_d}]", f"{d}[4]", [x], lambda a, t=to_d: lax.bitcast_convert_type(a, DTYPE[t]), native=True)
row("convert_element_type[new_dtype=i32]", "i64[5]", [[5, -6, 2**31, -(2**31) - 1, 2**40 + 7]], out=[[5, -6, -(2**31), 2**31 - 1, 7]], outs="i32[5]")
row("convert_element_type[new_dtype=i64]", "i32[3]", [[5, -6, MIN["i32"]]], out=[[5, -6, MIN["i32"]]], outs="i64[3]")
row("convert_element_type[new_dtype=f64]", "i64[4]", [[5, -6, 2**53 + 1, MIN["i64"]]], out=[[5, -6, 2.0**53, -(2.0**63)]], outs="f64[4]")
row("convert_element_type[new_dtype=f32]", "i32[3]", [[5, -6, 2**24 + 1]], out=[[5, -6, 2.0**24]], outs="f32[3]")
row("convert_element_type[new_dtype=f32]", "f64[6]", [[0.1, 1e300, -1e300, nan, -0.0, 1 + 2.0**-24]], out=[[0.1, inf, -inf, nan, -0.0, 1]], outs="f32[6]")
row("convert_element_type[new_dtype=f64]", "f32[4]", [[0.5, inf, nan, -0.0]], out=[[0.5, inf, nan, -0.0]], outs="f64[4]")
for d in INTS:
    over((d,), "convert_element_type[new_dtype=bool]", "[4]", [[0, 1, -1, 256]], out=[[0, 1, 1, 1]], outs="bool[4]")
for d in NUMBERS:
    row(f"convert_element_type[new_dtype={d}]", "bool[2]", [[0, 1]], out=[[0, 1]], outs=f"{d}[2]")
row("convert_element_type[new_dtype=f32]", "f64[2]", [[0.5, 2.0], [1.0, -0.25]], lambda x: x.astype(jnp.float32), how="vjp", outs="f32[2]", native=True)

# Kinks.
kink("abs", "[4]", [[0.0, -0.0, 2.0, -2.0], [3.0] * 4], [[0.0, 0.0, 2.0, 2.0], [3.0, 3.0, 3.0, -3.0]], how="jvp", outs="[4] [4]")
kink("max", "[2] [2]", [[1.0, 2.0], [1.0, 2.0], [1.0, 4.0]], [[1.0, 2.0], [0.5, 2.0], [0.5, 2.0]], lax.max, how="vjp", outs="[2]")
kink("min", "[2] [2]", [[1.0, 2.0], [1.0, 2.0], [1.0, 4.0]], [[1.0, 2.0], [0.5, 2.0], [0.5, 2.0]], lax.min, how="vjp", outs="[2]")
kink("clamp", "[2] [2] [2]", [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]],
     [[-1.0, 1.0], [0.0, 0.0]], lax.clamp, how="jvp", outs="[2] [2]")
kink("pow", "[3] [3]", [[0.0, 0.0, 0.0], [0.0, 2.0, 0.5], [1.0] * 3], [[1.0, 0.0, 0.0], [nan, 0.0, inf], [0.0] * 3], lax.pow, how="vjp", outs="[3]")
kink("pow", "[2] i32[2]", [[0.0, -2.0], [0, 0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]], lax.pow, how="jvp", outs="[2] [2]")
kink("sign", "[3]", [[0.0, 2.0, -2.0], [1.0] * 3], [[0.0, 1.0, -1.0], [0.0] * 3], lax.sign, how="jvp", outs="[3] [3]")
kink("floor", "[2]", [[1.0, 2.5], [1.0] * 2], [[1.0, 2.0], [0.0] * 2], lax.floor, how="jvp", outs="[2] [2]")
kink("atan2", "[] []", [[0.0], [0.0], [1.0], [0.0]], [[0.0], [nan]], lax.atan2, how="jvp", outs="[] []")
kink("atan2", "[] []", [[0.0], [0.0], [1.0]], [[0.0], [nan], [nan]], lax.atan2, how="vjp", outs="[]")
kink("sqrt", "[]", [[0.0], [1.0]], [[0.0], [inf]], lax.sqrt, how="jvp", outs="[] []")
kink("square", "[]", [[3.0]], [[6.0]], lax.square, how="grad", outs="[]")

# ---- along axes ------------------------------------------------------------------------------
table("axes")
A = [1.5, -2.0, 3.25, 0.5, 4.0, -1.0]
for d in NUMBERS:
    x = A if d in FLOATS else [3, -2, 7, 1, 5, -4]
    real = d in FLOATS
    for axes in ((0,), (1,), (0, 1), ()):
        text = f"axes=({''.join(f'{a},' for a in axes)})"
        over((d,), f"reduce_sum[{text}]", "[2,3]", [x], lambda v, axes=axes: jnp.sum(v, axis=axes, dtype=v.dtype))
        over((d,), f"reduce_prod[{text}]", "[2,3]", [x], lambda v, axes=axes: jnp.prod(v, axis=axes, dtype=v.dtype))
        over((d,), f"reduce_max[{text}]", "[2,3]", [x], lambda v, axes=axes: jnp.max(v, axis=axes) if axes else v)
        over((d,), f"reduce_min[{text}]", "[2,3]", [x], lambda v, axes=axes: jnp.min(v, axis=axes) if axes else v)
    for axis in (0, 1):
        over((d,), f"argmax[axes=({axis},) index_dtype=i32]", "[2,3]", [x], lambda v, a=axis: lax.argmax(v, a, jnp.int32), native=True)
        over((d,), f"argmin[axes=({axis},) index_dtype=i64]", "[2,3]", [x], lambda v, a=axis: lax.argmin(v, a, jnp.int64), native=True)
    for reverse in (False, True):
        for op, fn in (("cumsum", lax.cumsum), ("cumprod", lax.cumprod), ("cummax", lax.cummax), ("cummin", lax.cummin)):
            over((d,), f"{op}[axis=1 reverse={reverse}]", "[2,3]", [x], lambda v, fn=fn, r=reverse: fn(v, axis=1, reverse=r))
        over((d,) if real else (), f"cumlogsumexp[axis=1 reverse={reverse}]", "[2,3]", [x], lambda v, r=reverse: lax.cumlogsumexp(v, axis=1, reverse=r))
    over((d,), "reduce_sum[axes=(0,)]", "[0,2]", [[]], out=[[0, 0]])
    over((d,), "reduce_prod[axes=(0,)]", "[0,2]", [[]], out=[[1, 1]])
    over((d,), "reduce_max[axes=(0,)]", "[0]", [[]], out=[[-inf if real else MIN[d]]])
    over((d,), "reduce_min[axes=(0,)]", "[0]", [[]], out=[[inf if real else MAX[d]]])
for d in INTS:
    over((d,), "reduce_sum[axes=(0,)]", "[2]", [[MAX[d], 2]], out=[[MIN[d] + 1]])
    over((d,), "reduce_prod[axes=(0,)]", "[2]", [[MAX[d], 2]], out=[[-2]])
    over((d,), "cumsum[axis=0 reverse=False]", "[3]", [[MAX[d], 1, 1]], out=[[MAX[d], MIN[d], MIN[d] + 1]])
row("reduce_max[axes=(1,)]", "bool[3,2]", [[0, 1, 0, 0, 1, 1]], out=[[1, 0, 1]])
row("reduce_min[axes=(1,)]", "bool[3,2]", [[0, 1, 0, 0, 1, 1]], out=[[0, 0, 1]])
row("argmax[axes=(0,) index_dtype=i32]", "bool[3]", [[0, 1, 1]], out=[[1]], outs="i32[]")
row("argmin[axes=(0,) index_dtype=i32]", "bool[3]", [[1, 1, 0]], out=[[2]], outs="i32[]")

# NaN wins; the first of equals; sort puts NaN last and knows one zero.
over(FLOATS, "reduce_max[axes=(0,)]", "[3]", [[1.0, nan, 2.0]], out=[[nan]])
over(FLOATS, "reduce_min[axes=(0,)]", "[3]", [[1.0, nan, 2.0]], out=[[nan]])
over(FLOATS, "cummax[axis=0 reverse=False]", "[4]", [[1.0, nan, 2.0, 3.0]], out=[[1.0, nan, nan, nan]])
over(FLOATS, "cummin[axis=0 reverse=True]", "[4]", [[3.0, 2.0, nan, 1.0]], out=[[nan, nan, nan, 1.0]])
over(FLOATS, "argmax[axes=(0,) index_dtype=i32]", "[4]", [[1.0, nan, 2.0, nan]], out=[[1]], outs="i32[]")
over(FLOATS, "argmin[axes=(0,) index_dtype=i32]", "[4]", [[1.0, nan, -2.0, nan]], out=[[1]], outs="i32[]")
over(FLOATS, "argmax[axes=(0,) index_dtype=i32]", "[4]", [[1.0, 3.0, 3.0, 2.0]], out=[[1]], outs="i32[]")
over(FLOATS, "argmin[axes=(0,) index_dtype=i32]", "[4]", [[5.0, 3.0, 3.0, 4.0]], out=[[1]], outs="i32[]")
over(FLOATS, "cumlogsumexp[axis=0 reverse=False]", "[4]", [[-inf, 0.0, 1000.0, 1.0]], lambda v: lax.cumlogsumexp(v, axis=0), native=True)
SORT = "sort[dimension=0 is_stable=True num_keys=1]"
over(FLOATS, SORT, "[8]", [[3.0, nan, -inf, 0.0, -0.0, inf, -1.0, nan]], out=[[-inf, -1.0, 0.0, -0.0, 3.0, inf, nan, nan]])
for d in ANY:
    x, y, z = ([1, 0, 1], [0, 1, 1], [1, 1, 0]) if d == "bool" else ([3, -1, 2], [10, 20, 30], [5, 6, 7])
    over((d,), SORT, "[3] [3] [3]", [x, y, z], lambda *v: lax.sort(v, num_keys=1), nout=3)
over(FLOATS, SORT, "[4]", [[3.0, -1.0, 2.0, 0.5], [1.0, 2.0, 3.0, 4.0]], lambda v: lax.sort(v), how="vjp", outs="[4]")
over(INTS, SORT, "[5]", [[3, -1, 2, 3, -7]], lambda v: lax.sort(v))
row(SORT, "bool[4]", [[1, 0, 1, 0]], out=[[0, 0, 1, 1]])
row("sort[dimension=1 is_stable=True num_keys=1]", "f64[2,3]", [[3.0, 1.0, 2.0, -1.0, 5.0, 0.0]], lambda v: lax.sort(v, dimension=1))
row("sort[dimension=0 is_stable=True num_keys=2]", "i32[4] f64[4] i64[4]", [[2, 1, 2, 1], [0.5, 3.0, 0.25, 2.0], [10, 20, 30, 40]],
    lambda a, b, c: lax.sort((a, b, c), num_keys=2), nout=3)
row("sort[dimension=0 is_stable=True num_keys=1]", "i32[4] f32[4]", [[2, 1, 2, 1], [1.0, 2.0, 3.0, 4.0]],
    lambda a, b: lax.sort((a, b), num_keys=1, is_stable=True), nout=2)
TOP = "top_k[k=3 axis=0]"
over(FLOATS, "top_k[k=5 axis=0]", "[8]", [[3.0, nan, -inf, 0.0, -0.0, inf, -1.0, nan]], out=[[nan, nan, inf, 3.0, 0.0], [1, 7, 5, 0, 3]], outs="[5] i32[5]", nout=2)
for d in NUMBERS:
    over((d,), TOP, "[4]", [[3, 10, 3, -7]], lambda v: lax.top_k(v, 3), nout=2, native=True)
row(TOP, "bool[4]", [[1, 0, 1, 0]], out=[[1, 1, 0], [0, 2, 1]], outs="bool[3] i32[3]", nout=2)
over(FLOATS, TOP, "[4]", [[3.0, -1.0, 2.0, 0.5], [1.0, 2.0, 3.0]], lambda v: lax.top_k(v, 3), how="vjp", outs="[3]", nout=2)

over(FLOATS, "reduce_sum[axes=(1,)]", "[2,3]", [A, [2.0, -1.0]], lambda v: jnp.sum(v, 1), how="vjp", outs="[2]")
over(FLOATS, "reduce_max[axes=(1,)]", "[2,3]", [A, [2.0, -1.0]], lambda v: jnp.max(v, 1), how="vjp", outs="[2]")
over(FLOATS, "reduce_prod[axes=(1,)]", "[2,3]", [A, [2.0, -1.0]], lambda v: jnp.prod(v, 1), how="vjp", outs="[2]")
def recurrence(a, x, axis, reverse):
    def step(y, ax):
        y = ax[0] * y + ax[1]
        return y, y
    a, x = jnp.moveaxis(a, axis, 0), jnp.moveaxis(x, axis, 0)
    return jnp.moveaxis(lax.scan(step, jnp.zeros_like(x[0]), (a, x), reverse=reverse)[1], 0, axis)


B = [0.5, -2.0, 1.25, 3.0, -0.75, 1.5]
# cotangents of cumlogsumexp of one sign: its gradients would cancel
for reverse in (False, True):
    over(FLOATS, f"cumsum[axis=1 reverse={reverse}]", "[2,3]", [A, A], lambda v, r=reverse: lax.cumsum(v, 1, r), how="vjp", outs="[2,3]")
    over(FLOATS, f"cumprod[axis=1 reverse={reverse}]", "[2,3]", [A, A], lambda v, r=reverse: lax.cumprod(v, 1, r), how="vjp", outs="[2,3]")
    over(FLOATS, f"cummax[axis=1 reverse={reverse}]", "[2,3]", [A, A], lambda v, r=reverse: lax.cummax(v, 1, r), how="vjp", outs="[2,3]")
    over(FLOATS, f"cummin[axis=1 reverse={reverse}]", "[2,3]", [A, A], lambda v, r=reverse: lax.cummin(v, 1, r), how="vjp", outs="[2,3]")
    over(FLOATS, f"cumlogsumexp[axis=1 reverse={reverse}]", "[2,3]", [A, [abs(v) for v in A]], lambda v, r=reverse: lax.cumlogsumexp(v, 1, r), how="vjp", outs="[2,3]")
    for axis in (0, 1):
        over(FLOATS, f"linear_recurrence[axis={axis} reverse={reverse}]", "[2,3] [2,3]", [A, B], lambda a, x, i=axis, r=reverse: recurrence(a, x, i, r))
        over(FLOATS, f"linear_recurrence[axis={axis} reverse={reverse}]", "[2,3] [2,3]", [A, B, A], lambda a, x, i=axis, r=reverse: recurrence(a, x, i, r),
             how="vjp", outs="[2,3]")
over(FLOATS, "linear_recurrence[axis=0 reverse=False]", "[3] [3]", [[nan, 0.0, 2.0], [-0.0, 1.0, inf]], out=[[-0.0, 1.0, inf]])

# fft: parts of complex arrays; lengths whose factors are small, one that is large (19), of 1 and of 2
parts = lambda z: (jnp.real(z), jnp.imag(z))
WAVE = [round(float(np.sin(3.0 * k + 0.5 * k * k)), 6) for k in range(64)]
for n in (1, 2, 6, 8, 19):
    for axis, shape in ((1, f"[2,{n}]"), (0, f"[{n},2]")):
        half = f"[2,{n // 2 + 1}]" if axis else f"[{n // 2 + 1},2]"
        x, y, m = WAVE[: 2 * n], WAVE[20 : 20 + 2 * n], 2 * (n // 2 + 1)
        param = lambda kind: f"fft[fft_type={kind} axis={axis} length={n}]"
        for kind, fn in (("FFT", jnp.fft.fft), ("IFFT", jnp.fft.ifft)):
            go = lambda a, b, f=fn, i=axis: parts(f(a + 1j * b, axis=i))
            over(FLOATS, param(kind), f"{shape} {shape}", [x, y], go, nout=2)
            if n in (6, 19):
                over(FLOATS, param(kind), f"{shape} {shape}", [x, y, y, x], go, how="vjp", nout=2, outs=f"{shape} {shape}")
        go = lambda a, i=axis: parts(jnp.fft.rfft(a, axis=i))
        over(FLOATS, param("RFFT"), shape, [x], go, nout=2)
        back = lambda a, b, i=axis, k=n: jnp.fft.irfft(a + 1j * b, n=k, axis=i)
        over(FLOATS, param("IRFFT"), f"{half} {half}", [x[:m] if n > 1 else WAVE[:2], y[:m] if n > 1 else WAVE[5:7]], back)
        if n in (6, 19):
            over(FLOATS, param("RFFT"), shape, [x, x[:m], y[:m]], go, how="vjp", nout=2, outs=f"{half} {half}")
            over(FLOATS, param("IRFFT"), f"{half} {half}", [x[:m], y[:m], y], back, how="vjp", outs=shape)
over(FLOATS, "fft[fft_type=FFT axis=0 length=4]", "[4,0] [4,0]", [[], []], lambda a, b: parts(jnp.fft.fft(a + 1j * b, axis=0)), nout=2)
kink("reduce_max[axes=(0,)]", "[4]", [[2.0, 1.0, 2.0, 2.0]], [[1 / 3, 0.0, 1 / 3, 1 / 3]], how="grad", outs="[4]")
kink("reduce_min[axes=(0,)]", "[4]", [[2.0, 5.0, 2.0, 3.0]], [[0.5, 0.0, 0.5, 0.0]], how="grad", outs="[4]")
kink("reduce_prod[axes=(0,)]", "[3]", [[0.0, 2.0, 3.0]], [[6.0, 0.0, 0.0]], lambda v: jnp.prod(v), how="grad", outs="[3]")
kink("reduce_prod[axes=(0,)]", "[3]", [[0.0, 2.0, 0.0]], [[0.0, 0.0, 0.0]], lambda v: jnp.prod(v), how="grad", outs="[3]")
kink("cumprod[axis=0 reverse=False]", "[3]", [[0.0, 2.0, 3.0], [1.0, 1.0, 1.0]], [[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]],
     lambda v: lax.cumprod(v), how="vjp", outs="[3]")

# ---- shapes and indices ------------------------------------------------------------------------
table("shapes")
for d in ANY:
    b = d == "bool"
    x = [1, 0, 1, 1, 0, 0] if b else [1, -2, 3, 4, 5, -6]
    s, t = ([1, 0], [1]) if b else ([7, -8], [9])
    x, s = ([[int(v) for v in numbers(w, d)] for w in (x, s)]) if d == "u32" else (x, s)
    value = "[" + ", ".join(("True" if v else "False") if b else str(v) + (".0" if d in FLOATS else "") for v in x[:3]) + "]"
    current.append(("constant", "", f"{{ lambda . let z0:{d}[3] = constant[value={value}] in (z0,) }}", "", flat(np.array(x[:3], DTYPE[d]), d)))
    over((d,), "broadcast_in_dim[shape=(2,3) broadcast_dimensions=(0,)]", "[2]", [s], lambda v: lax.broadcast_in_dim(v, (2, 3), (0,)))
    over((d,), "broadcast_in_dim[shape=(2,2) broadcast_dimensions=(0,1)]", "[1,2]", [s], lambda v: lax.broadcast_in_dim(v, (2, 2), (0, 1)))
    over((d,), "reshape[new_sizes=(3,2)]", "[2,3]", [x], lambda v: lax.reshape(v, (3, 2)))
    over((d,), "transpose[permutation=(1,0)]", "[2,3]", [x], lambda v: lax.transpose(v, (1, 0)))
    over((d,), "rev[dimensions=(1,)]", "[2,3]", [x], lambda v: lax.rev(v, (1,)))
    over((d,), "slice[start_indices=(0,1) limit_indices=(2,3)]", "[2,3]", [x], lambda v: lax.slice(v, (0, 1), (2, 3)))
    over((d,), "slice[start_indices=(1,) limit_indices=(6,) strides=(2,)]", "[6]", [x], lambda v: lax.slice(v, (1,), (6,), (2,)))
    windows = "dimensions={} sizes={} strides={} dilation={}".format
    w = windows("(1,)", "(2,)", "(1,)", "(2,)")
    over((d,), f"sliding_windows[{w}]", "[2,3]", [x], lambda v: jnp.stack([v[:, :1], v[:, 2:]], 2))
    w = windows("(1,0)", "(2,1)", "(1,2)", "(1,1)")
    over((d,), f"sliding_windows[{w}]", "[2,3]", [x], lambda v: jnp.stack([v[:1, :2], v[:1, 1:]], 2)[..., None])
    w = windows("(0,)", "(2,)", "(2,)", "(1,)")
    over((d,), f"sliding_windows[{w}]", "[6]", [x], lambda v: v.reshape(3, 2))
    over((d,), f"sliding_windows[{windows('(0,)', '(3,)', '(1,)', '(9,)')}]", "[6]", [x], out=[[]])
    if not b:
        at = [[0, 1, 2], [2, 3, 4]]
        w = windows("(0,)", "(3,)", "(2,)", "(1,)")
        over((d,), f"overlap_add[{w}]", "[6] [2,3]", [x, x[::-1]], lambda v, u: jnp.asarray(v).at[np.array(at)].add(u))
        w = windows("(0,)", "(2,)", "(2,)", "(1,)")
        over((d,), f"overlap_add[{w}]", "[5] [2,2]", [x[:5], x[2:]], lambda v, u: jnp.asarray(v).at[:4].add(u.reshape(-1)))
    over((d,), "pad[padding_config=((1,2,0),(0,1,1))]", "[2,3] []", [x, t], lambda v, p: lax.pad(v, p, ((1, 2, 0), (0, 1, 1))))
    over((d,), "pad[padding_config=((-1,1,1),)]", "[4] []", [x[:4], t], lambda v, p: lax.pad(v, p, ((-1, 1, 1),)))
    over((d,), "pad[padding_config=((-1,-2,0),)]", "[6] []", [x, t], lambda v, p: lax.pad(v, p, ((-1, -2, 0),)))
    over((d,), "concatenate[dimension=0]", "[2] [6] [0]", [s, x, []], lambda *v: lax.concatenate(v, 0))
    over((d,), "concatenate[dimension=1]", "[2,3] [2,1]", [x, s], lambda *v: lax.concatenate(v, 1))
    over((d,), "split[sizes=(1,2) axis=1]", "[2,3]", [x], lambda v: lax.split(v, (1, 2), 1), nout=2)
    over((d,), "split[sizes=(1,2,1,1,1,0) axis=0]", "[6]", [x], lambda v: lax.split(v, (1, 2, 1, 1, 1, 0), 0), nout=6)
    if not b:
        row(f"iota[dtype={d} shape=(2,3) dimension=1]", "", [], lambda d=d: lax.broadcasted_iota(DTYPE[d], (2, 3), 1))
        row(f"iota[dtype={d} shape=(3,) dimension=0]", "", [], lambda d=d: lax.iota(DTYPE[d], 3))
    for start in (1, -1, 5, MIN["i32"], MAX["i32"]):
        at = min(max(start, 0), 4)  # JAX counts negative starts from the end before it comes to the primitive
        over((d,), "dynamic_slice[slice_sizes=(2,)]", "[6] i32[]", [x, [start]], out=[x[at : at + 2]])
        over((d,), "dynamic_update_slice", "[6] [2] i32[]", [x, s, [start]], out=[x[:at] + s + x[at + 2 :]])
    over((d,), "dynamic_slice[slice_sizes=(1,2)]", "[2,3] i64[] i64[]", [x, [1], [9]], lambda v, i, j: lax.dynamic_slice(v, (i, j), (1, 2)))
    over((d,), 'name[name="tag"]', "[6]", [x], lambda v: v)
    over((d,), "offload", "[6]", [x], lambda v: v)
    over((d,), "either[replayed=True]", "[6] [6]", [x[::-1], x], lambda made, kept: kept)

G = "dimension_numbers=GatherDimensionNumbers(offset_dims={}, collapsed_slice_dims={}, start_index_map={}, operand_batching_dims={}, start_indices_batching_dims={})"
S = "dimension_numbers=ScatterDimensionNumbers(update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, operand_batching_dims={}, scatter_indices_batching_dims={})"
CLIP, FILL = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP


def gather(d, x, shape, idx, ishape, fields, sizes, mode, extra="", itype="i32", fill=None, out=None, **k):
    dn = lax.GatherDimensionNumbers(offset_dims=fields[0], collapsed_slice_dims=fields[1], start_index_map=fields[2],
                                    operand_batching_dims=fields[3], start_indices_batching_dims=fields[4])
    text = f"gather[{G.format(*fields)} slice_sizes={sizes} mode={mode}{extra}]"
    row(text, f"{d}{shape} {itype}{ishape}", [x, idx] + k.pop("more", []),
        None if out else lambda v, i: lax.gather(v, i, dn, sizes, mode=CLIP if mode == "clip" else FILL, fill_value=fill), out, **k)


ROWS = ((1,), (0,), (0,), (), ())   # rows of a matrix
WINDOW = ((1,), (), (0,), (), ())   # windows of a vector
for d in ANY:
    b = d == "bool"
    x = [1, 0, 1, 1, 0, 0] if b else [1, -2, 3, 4, 5, -6]
    fill = {"f32": nan, "f64": nan, "i32": MIN["i32"], "i64": MIN["i64"], "u32": MAX["u32"], "bool": 1}[d]
    gather(d, x, "[3,2]", [2, 0, 2], "[3,1]", ROWS, (1, 2), "clip")
    gather(d, x, "[3,2]", [2, -1, 7], "[3,1]", ROWS, (1, 2), "clip")
    gather(d, x, "[3,2]", [2, -1, 7], "[3,1]", ROWS, (1, 2), "fill", out=[x[4:] + [fill] * 4])
    gather(d, x, "[6]", [0, 4, 5, -1], "[4,1]", WINDOW, (2,), "fill", extra=f" fill_value={1 if b else 77}", fill=1 if b else 77, itype="i64")
    gather(d, x, "[6]", [0, 4, 5, -1], "[4,1]", WINDOW, (2,), "clip", itype="i64")
    gather(d, x, "[2,3]", [2, 0, 1, 1], "[2,2,1]", ((), (1,), (1,), (0,), (0,)), (1, 1), "clip")
for d in FLOATS:
    row(f"gather[{G.format(*ROWS)} slice_sizes=(1, 2) mode=fill]", f"{d}[3,2] i32[3,1]",
        [A, [2, -1, 2], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], lambda v, i: lax.gather(
            v, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 2), mode=FILL, fill_value=None), how="vjp", outs=f"{d}[3,2]", native=True)
    row(f"gather[{G.format(*ROWS)} slice_sizes=(1, 2) mode=clip]", f"{d}[3,2] i32[3,1]",
        [A, [2, -1, 9], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], lambda v, i: lax.gather(
            v, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 2), mode=CLIP), how="vjp", outs=f"{d}[3,2]")


def scatter(d, x, shape, idx, ishape, u, ushape, fields, itype="i32", clip=False, **k):
    dn = lax.ScatterDimensionNumbers(update_window_dims=fields[0], inserted_window_dims=fields[1], scatter_dims_to_operand_dims=fields[2],
                                     operand_batching_dims=fields[3], scatter_indices_batching_dims=fields[4])
    row(f"scatter_add[{S.format(*fields)}{' mode=clip' if clip else ''}]", f"{d}{shape} {itype}{ishape} {d}{ushape}", [x, idx, u] + k.pop("more", []),
        lambda v, i, w: lax.scatter_add(v, i, w, dn, mode=CLIP if clip else FILL), **k)


for d in NUMBERS:
    x, u = [1, -2, 3, 4, 5, -6], [10, 20, 30, 40, 50, 60]
    scatter(d, x, "[3,2]", [2, 0, 2], "[3,1]", u, "[3,2]", ((1,), (0,), (0,), (), ()))
    scatter(d, x, "[3,2]", [2, -1, 3], "[3,1]", u, "[3,2]", ((1,), (0,), (0,), (), ()), itype="i64")
    scatter(d, x, "[6]", [0, 5, -1], "[3,1]", u, "[3,2]", ((1,), (), (0,), (), ()))
    scatter(d, x, "[6]", [0, 5, -1], "[3,1]", u, "[3,2]", ((1,), (), (0,), (), ()), clip=True)
    scatter(d, x, "[6]", [0, 7, -1], "[3,1]", u[:3], "[3]", ((), (0,), (0,), (), ()), clip=True, itype="i64")
    scatter(d, x, "[2,3]", [2, 0, 1, 1], "[2,2,1]", u[:4], "[2,2]", ((), (1,), (1,), (0,), (0,)))

def write(d, x, shape, idx, ishape, u, ushape, fields, extra="", mode=FILL, itype="i32", name="scatter", **k):
    dn = lax.ScatterDimensionNumbers(update_window_dims=fields[0], inserted_window_dims=fields[1], scatter_dims_to_operand_dims=fields[2],
                                     operand_batching_dims=fields[3], scatter_indices_batching_dims=fields[4])
    row(f"{name}[{S.format(*fields)}{extra}]", f"{d}{shape} {itype}{ishape} {d}{ushape}", [x, idx, u] + k.pop("more", []),
        lambda v, i, w: getattr(lax, name)(v, i, w, dn, mode=mode, unique_indices="unique" in extra), **k)


for d in ANY:
    b = d == "bool"
    x = [1, 0, 1, 1, 0, 0] if b else [1, -2, 3, 4, 5, -6]
    u = [0, 1, 0, 0, 1, 1] if b else [10, 20, 30, 40, 50, 60]
    if d == "u32":
        x = [1, 2, 3, 4, 5, 6]
    write(d, x, "[3,2]", [2, 0, 2], "[3,1]", u, "[3,2]", ((1,), (0,), (0,), (), ()))
    write(d, x, "[3,2]", [2, -1, 3], "[3,1]", u, "[3,2]", ((1,), (0,), (0,), (), ()), itype="i64")
    write(d, x, "[3,2]", [2, -1, 3], "[3,1]", u, "[3,2]", ((1,), (0,), (0,), (), ()), " mode=clip", CLIP)
    write(d, x, "[6]", [0, 4, 5, 1], "[4,1]", u + u[:2], "[4,2]", ((1,), (), (0,), (), ()), " mode=drop")
    write(d, x, "[6]", [0, 5, -1], "[3,1]", u, "[3,2]", ((1,), (), (0,), (), ()), " mode=clip", CLIP)
    write(d, x, "[2,3]", [2, 0, 1, 1], "[2,2,1]", u[:4], "[2,2]", ((), (1,), (1,), (0,), (0,)))
for d in FLOATS:
    write(d, [1.0, 2.0, 3.0], "[3]", [2, 7, 1], "[3,1]", [1.5, 2.5, 3.5], "[3]", ((), (0,), (0,), (), ()), " unique_indices=True",
          more=[[4.0, 5.0, 6.0]], how="vjp", outs=f"{d}[3]")
    write(d, [1.0, 2.0, 3.0], "[3]", [2, 7, 2, 0], "[4,1]", [1.5, 2.5, 3.5, 4.5], "[4]", ((), (0,), (0,), (), ()),
          more=[[4.0, 5.0, 6.0]], how="vjp", outs=f"{d}[3]")
for name in ("scatter_mul", "scatter_min", "scatter_max"):
    for d in NUMBERS if name == "scatter_mul" else ANY:
        b = d == "bool"
        x = [1, 0, 1, 1, 0, 0] if b else [1, 2, 3, 4, 5, 6] if d == "u32" else [1, -2, 3, 4, 5, -6]
        u = [0, 1, 0, 0, 1, 1] if b else [10, 3, 2, 1, 7, 4] if d == "u32" else [10, -3, 2, -1, 7, 4]
        write(d, x, "[3,2]", [2, 0, 2], "[3,1]", u, "[3,2]", ((1,), (0,), (0,), (), ()), name=name)
        write(d, x, "[3,2]", [2, -1, 3], "[3,1]", u, "[3,2]", ((1,), (0,), (0,), (), ()), itype="i64", name=name)
        write(d, x, "[3,2]", [2, -1, 3], "[3,1]", u, "[3,2]", ((1,), (0,), (0,), (), ()), " mode=clip", CLIP, name=name)
        write(d, x, "[6]", [0, 5, -1], "[3,1]", u, "[3,2]", ((1,), (), (0,), (), ()), " mode=clip", CLIP, name=name)
        write(d, x, "[2,3]", [2, 0, 1, 1], "[2,2,1]", u[:4], "[2,2]", ((), (1,), (1,), (0,), (0,)), name=name)
    for d in INTS:
        write(d, [MAX[d], MIN[d]], "[2]", [0, 1], "[2,1]", [3, 3], "[2]", ((), (0,), (0,), (), ()), name=name)
POINTS = ((), (0,), (0,), (), ())
for d in FLOATS:
    for name in ("scatter_min", "scatter_max"):
        write(d, [1.0, nan, 0.0, -0.0, 5.0], "[5]", [0, 1, 2, 3, 4, 4], "[6,1]", [nan, 1.0, -0.0, 0.0, inf, -inf], "[6]", POINTS, name=name,
              out=[[nan, nan, -0.0 if "min" in name else 0.0, -0.0 if "min" in name else 0.0, -inf if "min" in name else inf]])
        x, i, u = [1.0, 2.0, 3.0, 4.0], [2, 7, 2, 0, 1, 1], [3.0, 2.5, 3.0, 4.5, -1.0, 6.0]
        write(d, x, "[4]", i, "[6,1]", u, "[6]", POINTS, more=[[4.0, 5.0, 6.0, 7.0]], how="vjp", outs=f"{d}[4]", name=name)
        # JAX gives an operand below a clamped update its cotangent although that is not the minimum
        least = [[1.0, -1.0, 3.0, 2.5], [4.0, 0.0, 2.0, 0.0], [2.0, 7.0, 2.0, 0.0, 5.0, 0.0]]
        most = [[4.5, 6.0, 3.0, 4.0], [0.0, 0.0, 2.0, 7.0], [2.0, 0.0, 2.0, 4.0, 0.0, 5.0]]
        row(f"{name}[{S.format(*POINTS)} mode=clip]", f"{d}[4] i32[6,1] {d}[6]", [x, i, u, [4.0, 5.0, 6.0, 7.0]], None,
            least if "min" in name else most, how="vjp", outs=f"{d}[4]")
    write(d, [1.0, 2.0, 3.0], "[3]", [2, 7, 1], "[3,1]", [1.5, 2.5, 3.5], "[3]", POINTS, " unique_indices=True",
          more=[[4.0, 5.0, 6.0]], how="vjp", outs=f"{d}[3]", name="scatter_mul")
    # JAX has no derivative where indices may meet: those of 2 * 0 * 3, of 3 * 2 and, of no effect, of one outside
    row(f"scatter_mul[{S.format(*POINTS)}]", f"{d}[3] i32[4,1] {d}[4]", [[1.0, 2.0, 3.0], [1, 2, 1, 7], [0.0, 2.0, 3.0, 5.0], [4.0, 5.0, 7.0]],
        None, [[1.0, 0.0, 6.0], [4.0, 0.0, 14.0], [30.0, 21.0, 0.0, 0.0]], how="vjp", outs=f"{d}[3]")
for d in INTS:
    scatter(d, [MAX[d]], "[1]", [0], "[1,1]", [2], "[1]", ((), (0,), (0,), (), ()))
for d in NUMBERS:
    x, u = [1, -2, 3, 4, 5, -6], [10, 20, 30]
    over((d,), "slice_add[start_indices=(1,) limit_indices=(6,) strides=(2,)]", "[6] [3]", [x, u], lambda v, w: jnp.asarray(v).at[1:6:2].add(w))
    over((d,), "slice_add[start_indices=(0,1) limit_indices=(2,2)]", "[2,3] [2,1]", [x, u[:2]], lambda v, w: jnp.asarray(v).at[0:2, 1:2].add(w))
for d in INTS:
    over((d,), "slice_add[start_indices=(1,) limit_indices=(2,)]", "[2] [1]", [[1, MAX[d]], [2]], lambda v, w: jnp.asarray(v).at[1:2].add(w))
over(FLOATS, "slice_add[start_indices=(0,) limit_indices=(3,) strides=(2,)]", "[4] [2]", [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0], [1.5, 2.5, 3.5, 4.5]],
     lambda v, w: jnp.asarray(v).at[0:3:2].add(w), how="vjp", outs="[4]")
for d in FLOATS:
    scatter(d, [1.0, 2.0, 3.0], "[3]", [2, 7, 2], "[3,1]", [1.5, 2.5, 3.5], "[3]", ((), (0,), (0,), (), ()),
            more=[[4.0, 5.0, 6.0]], how="vjp", outs=f"{d}[3]")
over(FLOATS, "pad[padding_config=((-1,1,1),)]", "[4] []", [[1.0, 2.0, 3.0, 4.0], [9.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]],
     lambda v, p: lax.pad(v, p, ((-1, 1, 1),)), how="vjp", outs="[7]")
over(FLOATS, "dynamic_slice[slice_sizes=(2,)]", "[4] i32[]", [[1.0, 2.0, 3.0, 4.0], [9], [5.0, 6.0]],
     lambda v, i: lax.dynamic_slice(v, (i,), (2,)), how="vjp", outs="[2]")
over(FLOATS, "dynamic_update_slice", "[4] [2] i32[]", [[1.0, 2.0, 3.0, 4.0], [7.0, 8.0], [9], [1.0, 2.0, 3.0, 4.0]],
     lambda v, u, i: lax.dynamic_update_slice(v, u, (i,)), how="vjp", outs="[4]")

# ---- products, linear algebra ----------------------------------------------------------------------
table("products")
DOT = "dot_general[dimension_numbers=((({}), ({})), (({}), ({})))]"


def dot(d, sa, sb, ca, cb, ba=(), bb=(), **k):
    n, m = int(np.prod(sa)), int(np.prod(sb))
    a = [(7 * i % 11) - 4 for i in range(n)]
    b = [(5 * i % 13) - 6 for i in range(m)]
    if d in FLOATS:
        a, b = [v / 4 for v in a], [v / 8 for v in b]
    tup = lambda v: "".join(f"{x}, " for x in v)
    text = lambda s: str(list(s)).replace(" ", "")
    row(DOT.format(tup(ca), tup(cb), tup(ba), tup(bb)), f"{d}{text(sa)} {d}{text(sb)}", [a, b] + k.pop("more", []),
        lambda x, y: lax.dot_general(x, y, ((ca, cb), (ba, bb))), **k)


for d in NUMBERS:
    dot(d, (2, 3), (3, 4), (1,), (0,))
    dot(d, (3, 2), (4, 3), (0,), (1,))
    dot(d, (5,), (5,), (0,), (0,))
    dot(d, (2,), (3,), (), ())
    dot(d, (2, 3, 2), (2, 2, 4), (2,), (1,), (0,), (0,))
    dot(d, (3, 2, 2), (2, 3, 4), (0, 2), (1, 0))
    dot(d, (2, 0), (0, 3), (1,), (0,))
for d in INTS:
    row(DOT.format("0,", "0,", "", ""), f"{d}[2] {d}[2]", [[MAX[d], 1], [2, 3]], out=[[wrap(MAX[d] * 2 + 3, d)]])
for d in FLOATS:
    dot(d, (2, 3), (3, 2), (1,), (0,), how="vjp", outs=f"{d}[2,2]", more=[[1.0, -2.0, 0.5, 3.0]])
    dot(d, (3, 2, 2), (2, 3, 1), (0, 2), (1, 0), how="vjp", outs=f"{d}[2,1]", more=[[1.0, -2.0]])
L3 = [2.0, 8.0, -8.0, 0.5, 4.0, 16.0, -1.0, 0.25, 1.5]
R3 = [1.0, 2.0, -3.0, 0.5, 4.0, -1.0]
for d in FLOATS:
    for left in (True, False):
        for lower in (True, False):
            for trans in (True, False):
                for unit in (True, False):
                    text = f"triangular_solve[left_side={left} lower={lower} transpose_a={trans} conjugate_a=False unit_diagonal={unit}]"
                    fn = lambda a, b, k=(left, lower, trans, unit): lax.linalg.triangular_solve(
                        a, b, left_side=k[0], lower=k[1], transpose_a=k[2], unit_diagonal=k[3])
                    shape = "[3,2]" if left else "[2,3]"
                    over((d,), text, f"[3,3] {shape}", [L3, R3], fn)
                    if unit == trans:
                        over((d,), text, f"[3,3] {shape}", [L3, R3, [1.0, -0.5, 2.0, 0.25, -1.0, 3.0]], fn, how="vjp", outs=shape)
    text = "triangular_solve[left_side=True lower=True transpose_a=False conjugate_a=False unit_diagonal=False]"
    over((d,), text, "[2,2,2] [2,2,1]", [[2.0, 9.0, 1.0, 4.0, 0.5, 9.0, -1.0, 2.0], [1.0, 2.0, 3.0, 4.0]],
         lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True))
# Only the lower triangle counts, and only it is given a cotangent.
spd = [4.0, 99.0, 99.0, 2.0, 5.0, 99.0, -1.0, 0.5, 3.0]
whole = np.array([4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0]).reshape(3, 3)
chol = np.linalg.cholesky(whole)
over(FLOATS, "cholesky", "[3,3]", [spd], out=[chol], outs="[3,3]")
over(FLOATS, "cholesky", "[2,2]", [[1.0, 2.0, 2.0, 1.0]], out=[[nan, 0.0, nan, nan]], outs="[2,2]")


def mirror(v):
    upper = jnp.triu(v)
    return upper + jnp.swapaxes(jnp.triu(v, 1), -1, -2)


over(NUMBERS, "mirror", "[2,3,3]", [list(range(18))], mirror)
over(("bool",), "mirror", "[2,2]", [[True, False, True, False]], out=[[True, False, False, False]])
over(FLOATS, "mirror", "[2,2]", [[1.0, inf, nan, 2.0]], out=[[1.0, inf, inf, 2.0]])
over(FLOATS, "mirror", "[3,3]", [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], [1.0, -2.0, 3.0, 0.5, 5.0, 6.0, 7.0, 0.25, 9.0]],
     mirror, how="vjp", outs="[3,3]")


def lower_cholesky(v):
    low = jnp.tril(v)
    return jnp.linalg.cholesky(low + jnp.tril(low, -1).T, symmetrize_input=False)


over(FLOATS, "cholesky", "[3,3]", [spd, [1.0, 7.0, 7.0, -2.0, 0.5, 7.0, 3.0, 1.5, -1.0]], lower_cholesky, how="vjp", outs="[3,3]")

# Pivots lie off the diagonal, tangents cancel little; the second matrix of the batch is singular.
A3 = [0.5, 2.0, -1.0, 4.0, -1.0, 0.25, -2.0, 3.5, 8.0]
B3 = [1.0, 2.0, -3.0, 0.5, 4.0, -1.0]
D3 = [1.0, -0.5, 2.0, 0.25, -1.0, 3.0, 0.5, 1.5, -2.0]
packed, pivots, order = (np.array(v) for v in lax.linalg.lu(jnp.array(A3).reshape(3, 3)))


def lu_solve(transposed):
    """By the permutation, where JAX's public function wants the pivots."""
    def solve(lu, p, b):
        low, up = jnp.tril(lu, -1) + jnp.eye(len(lu)), jnp.triu(lu)
        if not transposed:
            return jnp.linalg.solve(up, jnp.linalg.solve(low, b[p]))
        return jnp.zeros(b.shape, b.dtype).at[p].set(jnp.linalg.solve(low.T, jnp.linalg.solve(up.T, b)))
    want = jax.scipy.linalg.lu_solve((packed, pivots), np.array(B3).reshape(3, 2), trans=int(transposed))
    assert np.allclose(solve(packed, order, jnp.array(B3).reshape(3, 2)), want, rtol=1e-14)
    return solve


for d in FLOATS:
    row("lu", f"{d}[3,3]", [A3], lax.linalg.lu, nout=3, outs=f"{d}[3,3] i32[3] i32[3]")
    row("lu", f"{d}[2,2,2]", [[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, -2.0, -4.0]], lax.linalg.lu, nout=3, outs=f"{d}[2,2,2] i32[2,2] i32[2,2]")
    for how in ("jvp", "vjp"):
        row("lu", f"{d}[3,3]", [A3, D3], lax.linalg.lu, how=how, nout=3, outs=f"{d}[3,3] i32[3] i32[3]")
    for transposed in (False, True):
        types, text, fn = f"{d}[3,3] i32[3] {d}[3,2]", f"lu_solve[transposed={transposed}]", lu_solve(transposed)
        row(text, types, [packed, order, B3], fn)
        row(text, types, [packed, order, B3, D3, B3[::-1]], fn, how="jvp")
        row(text, types, [packed, order, B3, D3[:6]], fn, how="vjp", outs=f"{d}[3,2]")
    row("lu_solve[transposed=False]", f"{d}[2,2] i32[2] {d}[2,1]", [[2.0, 1.0, 0.5, 4.0], [1, 1], [1.0, 2.0]], out=[[nan, nan]])
over(FLOATS, "linear_solve", "[3,3] [3,2]", [A3, B3], jnp.linalg.solve)
over(FLOATS, "linear_solve", "[3,3] [3,2]", [A3, B3, D3, [2.5, 3.0, 2.0, 0.5, -4.0, -2.5]], jnp.linalg.solve, how="jvp")
over(FLOATS, "linear_solve", "[3,3] [3,2]", [A3, B3, [1.0, 0.5, 2.0, 0.25, 1.0, 3.0]], jnp.linalg.solve, how="vjp", outs="[3,2]")
over(FLOATS, "linear_solve", "[2,2,2] [2,2,1]", [[1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 0.0], [1.0, 2.0, 3.0, 4.0]], jnp.linalg.solve)
# Singular: what remains is divided by a zero pivot.
over(FLOATS, "linear_solve", "[2,2] [2,2]", [[1.0, 2.0, -2.0, -4.0], [1.0, 1.0, 2.0, -2.0]], jnp.linalg.solve)

# ---- eigenvalues and their kin, by LAPACK ---------------------------------------------------------------
table("lapack")


def signs(v):
    """What makes the first element of each column that is at least half its largest positive, and real."""
    if not v.size:
        return v
    size = jnp.abs(lax.stop_gradient(v))
    first = jnp.argmax(size >= size.max(-2, keepdims=True) * (0.5 - 1e-9), -2, keepdims=True)
    x = jnp.take_along_axis(v, first, -2)
    return jnp.sign(lax.stop_gradient(x)) if v.dtype.kind == "f" else jnp.conj(x) / jnp.abs(x)


def of_parts(fn):
    """fn of a complex matrix, by parts."""
    def split(re, im):
        outs = fn(re + 1j * im)
        parts = [p for z in outs for p in ((z.real, z.imag) if z.dtype.kind == "c" else (z,))]
        return [jnp.where(jnp.abs(p) < 1e-15, 0, p) if p.dtype.kind == "f" else p for p in parts]  # what is 0, and turned
    return split


def eigh(lower):
    def fn(a):
        half = jnp.tril(a) if lower else jnp.triu(a)
        strict = jnp.tril(half, -1) if lower else jnp.triu(half, 1)
        diagonal = jnp.where(jnp.eye(a.shape[-1], dtype=bool), a.real, 0)
        v, w = lax.linalg.eigh(strict + diagonal + jnp.conj(jnp.swapaxes(strict, -1, -2)), lower=lower, symmetrize_input=False)
        return v * signs(v), w
    return fn


# The other triangle is not read.
S3 = [2.0, 7.0, -7.0, 1.0, 3.0, nan, 0.5, -1.0, 1.0]
E3 = [1.0, 0.5, 0.25, 0.5, -1.0, 2.0, 0.25, 2.0, 0.5]
S3_UP = [2.0, 1.0, 0.5, inf, 3.0, -1.0, 7.0, 7.0, 1.0]
for d in FLOATS:
    for lower, given in ((True, S3), (False, S3_UP)):
        op, fn = f"eigh[lower={lower}]", eigh(lower)
        row(op, f"{d}[3,3]", [given], fn, nout=2)
        clean = [7.0 if not np.isfinite(x) else x for x in given]
        row(op, f"{d}[3,3]", [clean, E3], fn, how="jvp", nout=2)
        row(op, f"{d}[3,3]", [clean, D3, [1.0, -0.5, 2.0]], fn, how="vjp", nout=2, outs=f"{d}[3,3] {d}[3]")
    row("eigh", f"{d}[2,2,2]", [[2.0, 1.0, 1.0, 2.0, 3.0, 0.0, 4.0, -3.0]], eigh(True), nout=2)
    row("eigh", f"{d}[2,2]", [[1.0, 2.0, nan, 1.0]], out=[[nan] * 4, [nan] * 2], nout=2)
    row("eigh", f"{d}[2,2]", [[1.0, 2.0, inf, 1.0]], out=[[nan] * 4, [nan] * 2], nout=2)
    row("eigh", f"{d}[0,0]", [[]], eigh(True), nout=2)
    # Equal eigenvalues: what JAX divides by 0 adds nothing here, and the sum's derivative is the trace's.
    row("eigh", f"{d}[2,2]", [[2.0, 0.0, 0.0, 2.0], [0.0] * 4, [1.0, 1.0]],
        out=[[1.0, 0.0, 0.0, 1.0], [2.0, 2.0], [1.0, 0.0, 0.0, 1.0]], how="vjp", nout=2, outs=f"{d}[2,2] {d}[2]")
    row("eigh", f"{d}[2,2]", [[2.0, 0.0, 0.0, 2.0], [1.0, 0.0, 3.0, 4.0]],
        out=[[1.0, 0.0, 0.0, 1.0], [2.0, 2.0], [0.0] * 4, [1.0, 4.0]], how="jvp", nout=2, outs=f"{d}[2,2] {d}[2]")



def eig(vectors):
    """Sorted by real parts; columns with a first large element that is positive."""
    def fn(a):
        if not vectors:
            (w,) = lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
        else:
            w, v = lax.linalg.eig(a, compute_left_eigenvectors=False)
        order = jnp.lexsort((-w.imag, w.real))
        w = jnp.take_along_axis(w, order, -1)
        if not vectors:
            return w.real, w.imag
        v = jnp.take_along_axis(v, order[..., None, :], -1)
        v = v * signs(v)
        return w.real, w.imag, v.real, v.imag
    return fn


# A real eigenvalue and a pair.
G3 = [1.0, 2.0, 0.0, -0.75, 1.5, 0.25, 0.5, 0.125, -2.0]
for d in FLOATS:
    for vectors in (True, False):
        op, fn, nout = f"eig[compute_vectors={vectors}]", eig(vectors), 4 if vectors else 2
        row(op, f"{d}[3,3]", [G3], fn, nout=nout)
        row(op, f"{d}[2,2,2]", [[2.0, 1.0, 0.5, 1.0, 3.0, 2.0, -1.0, 3.5]], fn, nout=nout)
        row(op, f"{d}[0,0]", [[]], fn, nout=nout)
        bad = [[nan] * 2] * 2 + [[nan] * 4] * 2
        row(op, f"{d}[2,2]", [[1.0, 2.0, nan, 1.0]], out=bad[:nout], nout=nout)
    row("eig[compute_vectors=False]", f"{d}[2,2]", [[0.0, 2.0, -2.0, 0.0], [1.0, 0.0, 0.0, 3.0]],
        out=[[0.0] * 2, [2.0, -2.0], [2.0] * 2, [0.0] * 2], how="jvp", nout=2, outs=" ".join([f"{d}[2]"] * 4))
    # By hand: of a diagonal matrix v moves by da / gaps.
    row("eig", f"{d}[2,2]", [[1.0, 0.0, 0.0, 3.0], [5.0, 4.0, 6.0, 7.0]],
        out=[[1.0, 3.0], [0.0] * 2, [1.0, 0.0, 0.0, 1.0], [0.0] * 4, [5.0, 7.0], [0.0] * 2, [0.0, 2.0, -3.0, 0.0], [0.0] * 4],
        how="jvp", nout=4, outs=" ".join([f"{d}[2]", f"{d}[2]", f"{d}[2,2]", f"{d}[2,2]"] * 2))
    # Equal eigenvalues add nothing to the vectors' derivative.
    row("eig", f"{d}[2,2]", [[2.0, 0.0, 0.0, 2.0], [1.0, 3.0, 0.0, 4.0]],
        out=[[2.0, 2.0], [0.0] * 2, [1.0, 0.0, 0.0, 1.0], [0.0] * 4, [1.0, 4.0], [0.0] * 2, [0.0] * 4, [0.0] * 4],
        how="jvp", nout=4, outs=" ".join([f"{d}[2]", f"{d}[2]", f"{d}[2,2]", f"{d}[2,2]"] * 2))


def svd(full):
    def fn(a):
        u, v, vt = jnp.linalg.svd(a, full_matrices=full)
        sign, k = signs(u), v.shape[-1]
        if full:
            by_row = jnp.concatenate([sign[..., :k], signs(jnp.conj(jnp.swapaxes(vt, -1, -2)))[..., k:]], -1)
        else:
            by_row = sign
        return v, u * sign, vt * jnp.conj(jnp.swapaxes(by_row, -1, -2))
    return fn


T32 = [2.0, -0.5, 0.25, 1.0, 3.0, -1.0]
DT32 = [1.0, 0.5, -2.0, 0.25, 0.75, 3.0]
for d in FLOATS:
    for shape in ("[3,2]", "[2,3]"):
        row("qr[full_matrices=False]", d + shape, [T32], lambda a: jnp.linalg.qr(a), nout=2)
        row("qr[full_matrices=True]", d + shape, [T32], lambda a: jnp.linalg.qr(a, mode="complete"), nout=2)
        for full in (False, True):
            row(f"svd[full_matrices={full} compute_uv=True]", d + shape, [T32], svd(full), nout=3)
        row("svd[full_matrices=True compute_uv=False]", d + shape, [T32], lambda a: svd(False)(a)[0])
        row("pinv", d + shape, [T32], jnp.linalg.pinv)
        row("pinv", d + shape, [T32, DT32], jnp.linalg.pinv, how="jvp")
        back = f"{d}[{shape[3]},{shape[1]}]"
        if (d, shape) != ("f32", "[2,3]"):  # an element cancels
            row("pinv", d + shape, [T32, DT32], jnp.linalg.pinv, how="vjp", outs=back)
        row("svd[full_matrices=False compute_uv=True]", d + shape, [T32, DT32], svd(False), how="jvp", nout=3)
        row("svd[full_matrices=True compute_uv=False]", d + shape, [T32, [1.0, 2.0]], lambda a: svd(False)(a)[0], how="vjp",
            outs=f"{d}[2]")
    row("qr[full_matrices=False]", f"{d}[3,2]", [T32, DT32], lambda a: jnp.linalg.qr(a), how="jvp", nout=2)
    row("qr[full_matrices=False]", f"{d}[2,2]", [[1.0, nan, 2.0, 3.0]], out=[[nan] * 4, [nan] * 4], nout=2)
    row("svd[full_matrices=False compute_uv=True]", f"{d}[2,2]", [[1.0, nan, 2.0, 3.0]], out=[[nan] * 2, [nan] * 4, [nan] * 4],
        nout=3)
    row("pinv", f"{d}[2,2]", [[1.0, 2.0, inf, 3.0]], out=[[nan] * 4])
    row("pinv", f"{d}[2,2]", [[0.0, 2.0, 0.0, 0.0]], out=[[0.0, 0.0, 0.5, 0.0]])
    row("qr[full_matrices=True]", f"{d}[2,0]", [[]], out=[[1.0, 0.0, 0.0, 1.0], []], nout=2)
    row("svd[full_matrices=True compute_uv=True]", f"{d}[0,2]", [[]], out=[[], [], [1.0, 0.0, 0.0, 1.0]], nout=3)
    # Equal singular values: u vt turns by the skew part alone.
    row("svd[full_matrices=False compute_uv=True]", f"{d}[2,2]", [[0.0, -2.0, 2.0, 0.0], [0.0] * 4],
        out=[[2.0, 2.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, -1.0], [0.0] * 2, [0.0] * 4, [0.0] * 4], how="jvp", nout=3,
        outs=f"{d}[2] {d}[2,2] {d}[2,2]")

# Complex matrices, by parts; of eig's vectors JAX has no derivative.
I3 = [0.5, -1.0, 0.75, 1.5, -0.5, 0.25, -2.0, 1.0, 0.125]
J3 = [0.25, 2.0, -1.0, 0.5, 1.0, -0.75, 1.5, -0.25, 3.0]
Z32 = [0.5, 1.5, -1.0, 0.25, -0.75, 2.0]
for d in FLOATS:
    square = f"{d}[3,3] {d}[3,3]"
    for lower in (True, False):
        row(f"eigh[lower={lower}]", square, [G3, I3], of_parts(eigh(lower)), nout=3)
    row("eigh", square, [G3, I3, D3, J3, [1.0, -0.5, 2.0]], of_parts(eigh(True)), how="vjp", nout=3, outs=f"{square} {d}[3]")
    # A diagonal matrix, whose own imaginary part is not read.
    row("eigh", f"{d}[2,2] {d}[2,2]", [[3.0, 0.0, 0.0, 1.0], [7.0, 0.0, 0.0, -7.0]], of_parts(eigh(True)), nout=3)
    row("eigh", f"{d}[2,2] {d}[2,2]", [[1.0] * 4, [0.0, 0.0, nan, 0.0]], out=[[nan] * 4, [nan] * 4, [nan] * 2], nout=3)
    for vectors in (True, False):
        row(f"eig[compute_vectors={vectors}]", square, [G3, I3], of_parts(eig(vectors)), nout=4 if vectors else 2)
    row("eig[compute_vectors=False]", square, [G3, I3, E3, J3], of_parts(eig(False)), how="jvp", nout=2)
    row("lu", square, [A3, I3], of_parts(lax.linalg.lu), nout=4, outs=f"{square} i32[3] i32[3]")
    for how in ("jvp", "vjp") if d == "f64" else ("jvp",):  # an element cancels
        row("lu", square, [A3, I3, D3, J3], of_parts(lax.linalg.lu), how=how, nout=4, outs=f"{square} i32[3] i32[3]")
    for shape in ("[3,2]", "[2,3]"):
        two, op = f"{d}{shape} {d}{shape}", "svd[full_matrices=False compute_uv=True]"
        row("lu", two, [T32, Z32], of_parts(lax.linalg.lu), nout=4, outs=f"{two} i32[2] i32[{shape[1]}]")
        row("qr[full_matrices=False]", two, [T32, Z32], of_parts(jnp.linalg.qr), nout=4)
        if d == "f64":  # an element cancels
            row("qr[full_matrices=False]", two, [T32, Z32, DT32, Z32[::-1]], of_parts(jnp.linalg.qr), how="jvp", nout=4)
        row("qr[full_matrices=True]", two, [T32, Z32], of_parts(lambda a: jnp.linalg.qr(a, mode="complete")), nout=4)
        row(op, two, [T32, Z32], of_parts(svd(False)), nout=5)
        if d == "f64":  # an element cancels
            sides = [f"{d}[{shape[1]},2]", f"{d}[2,{shape[3]}]"]
            cts = [[1.0, -2.0], T32[: 2 * int(shape[1])], Z32[::-1][: 2 * int(shape[1])], DT32[: 2 * int(shape[3])], Z32[: 2 * int(shape[3])]]
            row(op, two, [T32, Z32, *cts], of_parts(svd(False)), how="vjp", nout=5,
                outs=f"{d}[2] {sides[0]} {sides[0]} {sides[1]} {sides[1]}")
        row("svd[full_matrices=True compute_uv=True]", two, [T32, Z32], of_parts(svd(True)), nout=5)
        row("svd[full_matrices=True compute_uv=False]", two, [T32, Z32, [1.0, 2.0]], of_parts(lambda a: svd(False)(a)[:1]), how="vjp",
            outs=f"{d}[2]")

def schur(a):
    """Phases as of the vectors of eigh."""
    t, q = lax.linalg.schur(a)
    s = signs(q)
    by = jnp.conj(jnp.swapaxes(s, -1, -2)) * s if q.size else q
    return jnp.where(jnp.eye(a.shape[-1], dtype=bool), t, t * by), q * s


for d in FLOATS:
    two = f"{d}[3,3] {d}[3,3]"
    row("schur", f"{d}[3,3]", [G3], schur, nout=2)
    row("schur[compute_schur_vectors=False]", f"{d}[3,3]", [A3], lambda a: schur(a)[0])
    row("schur", f"{d}[2,2,2]", [[2.0, 1.0, 0.5, 1.0, 3.0, 2.0, -1.0, 3.5]], schur, nout=2)
    row("schur", f"{d}[0,0]", [[]], schur, nout=2)
    row("schur", f"{d}[2,2]", [[1.0, 2.0, nan, 1.0]], out=[[nan] * 4] * 2, nout=2)
    row("schur", two, [G3, I3], of_parts(schur), nout=4)
    row("schur[compute_schur_vectors=False]", two, [A3, J3], of_parts(lambda a: schur(a)[:1]), nout=2)

# ---- programs in programs -----------------------------------------------------------------------------
table("nested")
for d in FLOATS:
    body = f"{{ lambda x:{d}[2] y:{d}[2] . let p = mul x y q = neg x in (p, q) }}"
    for run in ("call", "fused"):
        over((d,), f'{run}[name="f" program={body}]', "[2] [2]", [[1.5, -2.0], [3.0, 0.5]], out=[[4.5, -1.0], [-1.5, 2.0]], nout=2, outs="[2] [2]")
        over((d,), f'{run}[name="f" program={body}]', "[2] [2]", [[1.5, -2.0], [3.0, 0.5], [1.0, 2.0], [-1.0, 0.25]],
             lambda x, y: (x * y, -x), how="vjp", nout=2, outs="[2] [2]")
    region = f'checkpoint[name="f" program={body} policy="nothing_saveable"]'
    over((d,), region, "[2] [2]", [[1.5, -2.0], [3.0, 0.5]], out=[[4.5, -1.0], [-1.5, 2.0]], nout=2, outs="[2] [2]")
    for how in ("jvp", "vjp"):
        over((d,), region, "[2] [2]", [[1.5, -2.0], [3.0, 0.5], [1.0, 2.0], [-1.0, 0.25]],
             jax.checkpoint(lambda x, y: (x * y, -x)), how=how, nout=2, outs="[2] [2]")
    square = f"{{ lambda x:{d}[2] . let y = mul x x in (y,) }}"
    # The user's rule is what counts: these say 3 x dx and 5 x ct.
    rule = f"{{ lambda x:{d}[2] | dx:{d}[2] . let t = mul 3.0 x u = mul t dx in (u,) }}"
    over((d,), f"custom_jvp[call={square} jvp={rule}]", "[2]", [[1.5, -2.0]], out=[[2.25, 4.0]])
    over((d,), f"custom_jvp[call={square} jvp={rule}]", "[2]", [[1.5, -2.0], [1.0, 0.5]], out=[[2.25, 4.0], [4.5, -3.0]], how="jvp", outs="[2] [2]")
    over((d,), f"custom_jvp[call={square} jvp={rule}]", "[2]", [[1.5, -2.0], [1.0, 0.5]], out=[[2.25, 4.0], [4.5, -3.0]], how="vjp", outs="[2] [2]")
    fwd = f"{{ lambda x:{d}[2] . let y = mul x x in (y, x) }}"
    bwd = f"{{ lambda x:{d}[2] | ct:{d}[2] . let t = mul 5.0 x u = mul t ct in (u,) }}"
    over((d,), f"custom_vjp[call={square} fwd={fwd} bwd={bwd}]", "[2]", [[1.5, -2.0]], out=[[2.25, 4.0]])
    over((d,), f"custom_vjp[call={square} fwd={fwd} bwd={bwd}]", "[2]", [[1.5, -2.0], [1.0, 0.5]], out=[[2.25, 4.0], [7.5, -5.0]], how="vjp", outs="[2] [2]")
    over((d,), f"custom_vjp[call={square} fwd={fwd} bwd={bwd}]", "[2]", [[1.5, -2.0], [1.0, 0.5]], out=[[2.25, 4.0], [7.5, -5.0]], how="jvp", outs="[2] [2]")
    f = f"{{ lambda r:{d}[2] | x:{d}[2] . let y = mul r x in (y,) }}"
    over((d,), f"linear_call[f={f} ft={f}]", "[2] [2]", [[1.5, -2.0], [3.0, 0.5]], out=[[4.5, -1.0]])
    over((d,), f"linear_call[f={f} ft={f}]", "[2] [2]", [[1.5, -2.0], [3.0, 0.5], [1.0, 2.0]], out=[[4.5, -1.0], [3.0, 1.0], [1.5, -4.0]], how="vjp", outs="[2] [2] [2]")
    two = lambda f, g, t, n=1: f'cond[branches=({{ lambda {t} . let {f} }}, {{ lambda {t} . let {g} }})]'
    branches = two("y = mul a b in (y, a)", "y = sin b in (y, b)", f"a:{d}[2] b:{d}[2]")
    jbranches = [lambda a, b: (a * b, a), lambda a, b: (jnp.sin(b), b)]
    for p in (0, 1):
        over((d,), branches, "bool[] [2] [2]", [p, [1.5, -2.0], [0.5, 0.25]], lambda p, a, b: lax.cond(p, jbranches[1], jbranches[0], a, b), nout=2)
        over((d,), branches, "bool[] [2] [2]", [p, [1.5, -2.0], [0.5, 0.25], [1.0, 2.0], [-1.0, 0.25]],
             lambda p, a, b: lax.cond(p, jbranches[1], jbranches[0], a, b), how="vjp", nout=2, outs="[2] [2]")
    for i in (MIN["i32"], -1, 0, 1, 2, 3, MAX["i32"]):
        three = f"cond[branches=({{ lambda a:{d}[2] . let y = exp a in (y,) }}, {{ lambda a:{d}[2] . let in (a,) }}, {{ lambda a:{d}[2] . let y = mul a a in (y,) }})]"
        jthree = lambda i, a: lax.switch(i, [jnp.exp, lambda a: a, lambda a: a * a], a)
        over((d,), three, "i32[] [2]", [i, [1.5, -2.0]], jthree)
        over((d,), three, "i32[] [2]", [i, [1.5, -2.0], [1.0, -0.5]], jthree, how="jvp", outs="[2] [2]")
        over((d,), three, "i32[] [2]", [i, [1.5, -2.0], [1.0, -0.5]], jthree, how="vjp", outs="[2] [2]")
    # x^2 = p, whatever the first guess; the derivative asks linear_solve, right or wrong.
    res = f"{{ lambda x:{d}[2] p:{d}[2] . let s = mul x x r = sub s p in (r,) }}"
    root = f"{{ lambda x:{d}[2] p:{d}[2] . let r = sqrt p in (r,) }}"
    by = f"{{ lambda x:{d}[2] p:{d}[2] | r:{d}[2] . let t = mul 2.0 x u = div r t in (u,) }}"
    wrong = f"{{ lambda x:{d}[2] p:{d}[2] | r:{d}[2] . let u = mul 3.0 r in (u,) }}"
    for text in (f"custom_root[f={res} solve={root} batch=0]", f"custom_root[f={res} solve={root} batch=1]",
                 f"custom_root[f={res} solve={root} linear_solve={by} batch=0]"):
        over((d,), text, "[2] [2]", [[9.0, -1.0], [4.0, 0.25]], out=[[2.0, 0.5]])
        over((d,), text, "[2] [2]", [[9.0, -1.0], [4.0, 0.25], [1.0, 2.0], [3.0, 5.0]], out=[[2.0, 0.5], [0.75, 5.0]], how="jvp", outs="[2] [2]")
        over((d,), text, "[2] [2]", [[9.0, -1.0], [4.0, 0.25], [3.0, 5.0]], out=[[2.0, 0.5], [0.0, 0.0], [0.75, 5.0]], how="vjp", outs="[2] [2] [2]")
    over((d,), f"custom_root[f={res} solve={root} linear_solve={wrong} batch=0]", "[2] [2]", [[9.0, -1.0], [4.0, 0.25], [3.0, 5.0]],
         out=[[2.0, 0.5], [0.0, 0.0], [9.0, 15.0]], how="vjp", outs="[2] [2] [2]")
    # a x = b; what transposes asks transpose_solve, right or wrong, or of a symmetric system solve.
    times = f"{{ lambda a:{d}[2] | x:{d}[2] . let y = mul a x in (y,) }}"
    over_a = f"{{ lambda a:{d}[2] b:{d}[2] . let x = div b a in (x,) }}"
    also = f"{{ lambda a:{d}[2] b:{d}[2] . let x = div b a n = floor b in (x, n) }}"
    thrice = f"{{ lambda a:{d}[2] ct:{d}[2] . let u = mul 3.0 ct in (u,) }}"
    divided = lambda a, b: lax.custom_linear_solve(lambda x: a * x, b, lambda _, b: b / a, lambda _, b: b / a)
    for text in (f"custom_linear_solve[matvec={times} solve={over_a} transpose_solve={over_a}]",
                 f"custom_linear_solve[matvec={times} solve={over_a} symmetric=True]"):
        over((d,), text, "[2] [2]", [[2.0, -4.0], [3.0, 1.0]], divided)
        for how in ("jvp", "vjp"):
            over((d,), text, "[2] [2]", [[2.0, -4.0], [3.0, 1.0], [1.0, 0.5]] + [[0.5, -1.0]] * (how == "jvp"), divided, how=how, outs="[2] [2]" + " [2]" * (how == "vjp"))
    over((d,), f"custom_linear_solve[matvec={times} solve={over_a} transpose_solve={thrice}]", "[2] [2]", [[2.0, -4.0], [3.0, 1.0], [1.0, 0.5]],
         out=[[1.5, -0.25], [-4.5, 0.375], [3.0, 1.5]], how="vjp", outs="[2] [2] [2]")
    over((d,), f"custom_linear_solve[matvec={times} solve={also}]", "[2] [2]", [[2.0, -4.0], [3.5, 1.0]], out=[[1.75, -0.25], [3.0, 1.0]], nout=2, outs="[2] [2]")
    over((d,), f"custom_linear_solve[matvec={times} solve={also}]", "[2] [2]", [[2.0, -4.0], [3.5, 1.0], [1.0, 2.0], [3.0, 0.5]],
         out=[[1.75, -0.25], [3.0, 1.0], [0.625, -0.25], [0.0, 0.0]], nout=2, how="jvp", outs="[2] [2] [2] [2]")
    ext = f'external_call[name="golden_{d}" mode=fn out=({d}[3],) batch=() effect=False linear=False]'
    over((d,), ext, "[3]", [[1.5, -2.0, 3.0]], out=[[2.25, 4.0, 9.0]])
    over((d,), ext, "[3]", [[1.5, -2.0, 3.0], [1.0, 0.5, -1.0]], out=[[2.25, 4.0, 9.0], [3.0, -2.0, -6.0]], how="jvp", outs="[3] [3]")
    over((d,), ext, "[3]", [[1.5, -2.0, 3.0], [1.0, 0.5, -1.0]], out=[[2.25, 4.0, 9.0], [3.0, -2.0, -6.0]], how="vjp", outs="[3] [3]")
    # A linear function may have a vjp callback only; the user's word on it counts: 3 x forth, 7 ct back.
    lin = f'external_call[name="golden_linear_{d}" mode=fn out=({d}[3],) batch=() effect=False linear=True]'
    over((d,), lin, "[3]", [[1.5, -2.0, 3.0], [1.0, 0.5, -1.0]], out=[[4.5, -6.0, 9.0], [7.0, 3.5, -7.0]], how="vjp", outs="[3] [3]")
    over((d,), f'checkpoint[name="f" program={body} policy="nothing_saveable"]', "[2] [2]", [[1.5, -2.0], [3.0, 0.5]], out=[[4.5, -1.0], [-1.5, 2.0]], nout=2, outs="[2] [2]")
    for how, policy in (("jvp", "nothing_saveable"), ("vjp", "nothing_saveable"), ("vjp", "everything_saveable")):
        over((d,), f'checkpoint[name="f" program={body} policy="{policy}"]', "[2] [2]", [[1.5, -2.0], [3.0, 0.5], [1.0, 2.0], [-1.0, 0.25]],
             lambda x, y: (x * y, -x), how=how, nout=2, outs="[2] [2]")

# ---- loops ----------------------------------------------------------------------------------------------
table("loops")


def step_of(f):
    """A step over (consts, carry, x) as JAX's scan has it."""
    return lambda w, init, xs, length=None, reverse=False: lax.scan(lambda c, x: f(w, c, x), init, xs, length=length, reverse=reverse)


def stepped(times, body, carry):
    """What JAX has no reverse mode of: the same steps one after the other."""
    for i in range(times):
        carry = body(i, carry)
    return carry


for d in FLOATS:
    # c <- c x + w, y = c w of the new c
    affine = f"{{ lambda w:{d}[2] c:{d}[2] x:{d}[2] . let p = mul c x q = add p w y = mul q w in (q, y) }}"
    def affine_step(w, c, x):
        c = c * x + w
        return c, c * w
    data = [[0.5, -1.0], [2.0, 0.25], [1.5, -2.0, 0.5, 3.0, -1.0, 0.75]]
    tangents, cotangents = [[1.0, 2.0], [-0.5, 0.25], [1.0, -1.0, 0.5, 2.0, 0.0, -3.0]], [[1.0, -2.0], [0.5, 1.0, -1.0, 2.0, 3.0, 0.25]]
    for reverse in (False, True):
        op = f"scan[program={affine} length=3 num_consts=1 num_carry=1 reverse={reverse}]"
        fn = lambda w, c, xs, r=reverse: step_of(affine_step)(w, c, xs, reverse=r)
        for how, more in (("", []), ("jvp", tangents), ("vjp", cotangents)):
            over((d,), op, "[2] [2] [3,2]", data + more, fn, how=how, nout=2, outs="[2] [3,2]")
    # without steps: the carry as it came
    over((d,), f"scan[program={affine} length=0 num_consts=1 num_carry=1]", "[2] [2] [0,2]", [[0.5, -1.0], [2.0, 0.25], [], [1.0, -2.0], []],
         step_of(affine_step), how="vjp", nout=2, outs="[2] [0,2]")
    # the number of the step, which is that of the entry: c <- c + x i, from both ends
    counted = f"{{ lambda i:i64[] c:{d}[] x:{d}[] . let j:{d}[] = convert_element_type i p = mul j x q = add c p r = mul q q in (q, r) }}"
    for reverse in (False, True):
        def fn(c, xs, r=reverse):
            def step(c, ix):
                c = c + ix[0] * ix[1]
                return c, c * c
            return lax.scan(step, c, (jnp.arange(4), xs), reverse=r)
        for how, more in (("", []), ("jvp", [1.0, [0.5, -1.0, 2.0, 0.25]]), ("vjp", [1.0, [-1.0, 0.5, 2.0, 1.0]])):
            over((d,), f"scan[program={counted} length=4 num_consts=0 num_carry=1 reverse={reverse} index=True]", "[] [4]",
                 [0.5, [1.0, -2.0, 3.0, 0.5]] + more, fn, how=how, nout=2, outs="[] [4]")
    # entries alone
    square = f"{{ lambda x:{d}[] . let y = mul x x in (y,) }}"
    over((d,), f"scan[program={square} length=3 num_consts=0 num_carry=0]", "[3]", [[1.5, -2.0, 0.0], [1.0, 2.0, 3.0]],
         lambda xs: lax.map(lambda x: x * x, xs), how="vjp", outs="[3]")
    # a number of steps found when it runs; none when it is negative
    power = f"{{ lambda w:{d}[] c:{d}[] . let p = mul c w q = add p c in (q,) }}"
    def powers(n, w, c):
        return lax.fori_loop(0, n, lambda i, c: c * w + c, c)
    for n in (3, 0, -2):
        for how, more in (("", []), ("jvp", [2.0, -0.5])):
            row(f"scan[program={power} num_consts=1 num_carry=1]", f"i64[] {d}[] {d}[]", [n, 0.5, 1.5] + more, powers, how=how, outs=f"{d}[]")
        row(f"scan[program={power} num_consts=1 num_carry=1]", f"i64[] {d}[] {d}[]", [n, 0.5, 1.5, 2.0],
            lambda n, w, c, k=n: stepped(k, lambda i, c: c * w + c, c), how="vjp", outs=f"{d}[]")
    # a loop in a loop: each entry to a power that is the inner loop's length
    inner = f"{{ lambda w:{d}[] c:{d}[] . let p = mul c w in (p, c) }}"
    nested = (f"{{ lambda c:{d}[] x:{d}[] . let p ps = scan[program={inner} length=3 num_consts=1 num_carry=1] x c"
              f" s = reduce_sum[axes=(0,)] ps q = add p s in (q, s) }}")
    def nested_step(c, x):
        p, ps = lax.scan(lambda c, _: (c * x, c), c, None, length=3)
        s = jnp.sum(ps)
        return p + s, s
    for how, more in (("", []), ("jvp", [0.5, [1.0, -1.0]]), ("vjp", [1.0, [0.5, -2.0]])):
        over((d,), f"scan[program={nested} length=2 num_consts=0 num_carry=1]", "[] [2]", [1.5, [0.5, -0.25]] + more,
             lambda c, xs: lax.scan(nested_step, c, xs), how=how, nout=2, outs="[] [2]")
    # Newton's iteration for a square root, as long as it is not there
    far = f"{{ lambda e:{d}[] x:{d}[] a:{d}[] . let s = mul x x t = sub s a u = abs t v = gt u e in (v,) }}"
    newton = f"{{ lambda x:{d}[] a:{d}[] . let q = div a x s = add x q h = mul s 0.5 in (h, a) }}"
    root = f"while[cond={far} body={newton} cond_nconsts=1 body_nconsts=0]"
    half = lambda x, a: ((x + a / x) * 0.5, a)
    def newton_loop(e, x, a):
        return lax.while_loop(lambda c: jnp.abs(c[0] * c[0] - c[1]) > e, lambda c: half(*c), (x, a))
    for x, steps in ((1.0, 3), (2.0, 0)):
        for how, more in (("", []), ("jvp", [1.0, 0.5, -2.0])):
            over((d,), root, "[] [] []", [0.125, x, 4.0] + more, newton_loop, how=how, nout=2, outs="[] []")
        over((d,), root, "[] [] []", [0.125, x, 4.0, 1.0, 0.5], lambda e, x, a, n=steps: stepped(n, lambda i, c: half(*c), (x, a)),
             how="vjp", nout=2, outs="[] []")
    # the number of steps is a result, and read in the step; the condition and the step have consts
    below = "{ lambda n:i64[] c:DT[2] k:i64[] . let v = lt k n in (v,) }".replace("DT", d)
    turned = f"{{ lambda i:i64[] w:{d}[2] c:{d}[2] k:i64[] . let j:{d}[] = convert_element_type i p = mul c w q = mul p j r = add q w l = add k 2:i64[] in (r, l) }}"
    def turns(n, w, c, k):
        def body(s):
            i, c, k = s
            return i + 1, c * w * i + w, k + 2
        i, c, k = lax.while_loop(lambda s: s[2] < n, body, (0, c, k))
        return c, k, jnp.asarray(i, jnp.int64)
    def turns_stepped(n, w, c, k):
        c = stepped(4, lambda i, c: c * w * i + w, c)
        return c, jnp.asarray(8, jnp.int64), jnp.asarray(4, jnp.int64)
    for how, more, fn in (("", [], turns), ("jvp", [[1.0, 2.0], [0.5, -1.0]], turns), ("vjp", [[1.0, -2.0]], turns_stepped)):
        row(f"while[cond={below} body={turned} cond_nconsts=1 body_nconsts=1 index=True count=True]", f"i64[] {d}[2] {d}[2] i64[]",
            [7, [0.5, -1.5], [2.0, 1.0], 0] + more, fn, how=how, nout=3, outs=f"{d}[2] i64[] i64[]")
for d in INTS + ("u32",):
    # carries change places; integers wrap
    fibonacci = f"{{ lambda a:{d}[] b:{d}[] . let c = add a b in (b, c, a) }}"
    row(f"scan[program={fibonacci} length=6 num_consts=0 num_carry=2]", f"{d}[] {d}[]", [0, 1], out=[8, 13, [0, 1, 1, 2, 3, 5]], nout=3)
    row(f"scan[program={fibonacci} length=1 num_consts=0 num_carry=2]", f"{d}[] {d}[]", [1, MAX[d]], out=[MAX[d], MIN[d], [1]], nout=3)
    collatz = (f"{{ lambda x:{d}[] n:{d}[] . let h = div x 2 t = mul x 3 u = add t 1 r = rem x 2 o = eq r 1 y = select o u h"
               f" m = add n 1 in (y, m) }}")
    row(f"while[cond={{ lambda x:{d}[] n:{d}[] . let v = gt x 1 in (v,) }} body={collatz} cond_nconsts=0 body_nconsts=0 count=True]",
        f"{d}[] {d}[]", [27, 0], out=[1, 111, 111], nout=3, outs=f"{d}[] {d}[] i64[]")
# of bools: the parity so far, from the last to the first
row("scan[program={ lambda c:bool[] x:bool[] . let p = xor c x in (p, p) } length=4 num_consts=0 num_carry=1 reverse=True]", "bool[] bool[4]",
    [0, [1, 0, 1, 1]], out=[1, [1, 0, 0, 1]], nout=2)
row("while[cond={ lambda c:bool[] d:bool[] . let in (c,) } body={ lambda c:bool[] d:bool[] . let e = not d in (d, e) } cond_nconsts=0 body_nconsts=0"
    " count=True]", "bool[] bool[]", [1, 1], out=[0, 1, 2], nout=3, outs="bool[] bool[] i64[]")

# ---- random numbers -------------------------------------------------------------------------------------
table("random")
KEYS = [0, 0, 0, 42, -1, -7, 256, 5, MIN["i32"], MAX["i32"]]
UNSIGNED = [k % 2**32 for k in KEYS]


def of_keys(draw):
    """jax.random's function over keys i32[..,2] taken as bits; unsigned results are taken as signed ones."""
    def one(key, *more):
        return draw(lax.bitcast_convert_type(key, jnp.uint32), *more)

    def many(keys, *more):
        f = one
        for _ in range(keys.ndim - 1):
            f = jax.vmap(f)
        y = f(keys, *more)
        signed = {"uint32": jnp.int32, "uint64": jnp.int64}.get(str(y.dtype))
        return lax.bitcast_convert_type(y, signed) if signed else y

    return many


def random(name, d, draw):
    """Scalars and arrays of one key, of many, of none."""
    for keys, at, shape in (("[2]", 2, ()), ("[2]", 4, (2, 3)), ("[5,2]", 0, (2,)), ("[2,2,2]", 2, ()), ("[2]", 6, (0,)), ("[0,2]", 10, (3,))):
        n = int(np.prod(parse_type("i32" + keys)[1]))
        row(f"{name}[dtype={d} shape={str(shape).replace(' ', '')}]", "i32" + keys, [KEYS[at : at + n]], of_keys(lambda k: draw(k, shape)), native=True)


for keys, at, shape in (("[2]", 2, (2, 3)), ("[5,2]", 0, (2,))):
    n = int(np.prod(parse_type("u32" + keys)[1]))
    many = lambda f: f if keys == "[2]" else jax.vmap(f)
    size = str(shape).replace(" ", "")
    for d, draw in (("u32", lambda k, s: jax.random.bits(k, s, jnp.uint32)), ("f32", lambda k, s: jax.random.uniform(k, s, np.float32))):
        op = "random_bits" if d == "u32" else "random_uniform"
        row(f"{op}[dtype={d} shape={size}]", "u32" + keys, [UNSIGNED[at : at + n]], many(lambda k: draw(k, shape)), native=True)
for d in FLOATS:
    for keys, at, shape in (("[2]", 4, (2, 3)), ("[5,2]", 0, (2,))):
        n = int(np.prod(parse_type("u32" + keys)[1]))
        draw = lambda k: jax.random.normal(k, shape, DTYPE[d])
        row(f"random_normal[dtype={d} shape={str(shape).replace(' ', '')}]", "u32" + keys, [UNSIGNED[at : at + n]],
            draw if keys == "[2]" else jax.vmap(draw), native=True)
row("random_split[shape=(3,)]", "u32[2]", [UNSIGNED[2:4]], lambda k: jax.random.split(k, 3))
row("random_fold_in", "u32[2] u32[]", [UNSIGNED[2:4], 2**32 - 3], jax.random.fold_in)
WORD = {"i32": jnp.uint32, "i64": jnp.uint64}
for d in INTS:
    random("random_bits", d, lambda k, s: jax.random.bits(k, s, WORD[d]))
for d in FLOATS:
    random("random_uniform", d, lambda k, s: jax.random.uniform(k, s, DTYPE[d]))
    random("random_normal", d, lambda k, s: jax.random.normal(k, s, DTYPE[d]))
for keys, at, shape in (("[2]", 2, (3,)), ("[2]", 4, ()), ("[2]", 6, (2, 2)), ("[2,2]", 6, (2,)), ("[2]", 0, (0,))):
    n = int(np.prod(parse_type("i32" + keys)[1]))
    row(f"random_split[shape={str(shape).replace(' ', '')}]", "i32" + keys, [KEYS[at : at + n]], of_keys(lambda k: jax.random.split(k, shape)))
fold_in = of_keys(lambda k, n: jax.random.fold_in(k, lax.bitcast_convert_type(n, jnp.uint32)))
for number in (0, 1, -3, MIN["i32"], MAX["i32"]):
    row("random_fold_in", "i32[2] i32[]", [[0, 42], number], fold_in)
row("random_fold_in", "i32[5,2] i32[5]", [KEYS, [0, 1, 2, -1, 9]], fold_in)
row("random_fold_in", "i32[2,2,2] i32[2,2]", [KEYS[:8], [4, 3, 2, 1]], fold_in)


# ---- equations without outputs --------------------------------------------------------------------------
table("effects")


def effect(op, types, ins, said=True, holds=True):
    """What it says is its operands; its program gives them back, unless an assert fails."""
    types = [parse_type(t) for t in types.split()]
    given = "; ".join(flat(np.array(v, DTYPE[d]), d) for v, (d, _) in zip(ins, types))
    letters = [chr(ord("a") + k) for k in range(len(types))]
    binders = " ".join(f"{n}:{d}[{','.join(map(str, s))}]" for n, (d, s) in zip(letters, types))
    text = f"{{ lambda {binders} . let () = {op} {' '.join(letters)} in ({', '.join(letters)},) }}"
    for how in ([""] if holds else []) + (["says"] if said else []):
        current.append((op.split("[")[0], how, text, given, given))


for d in ANY:
    effect('print[message="values"]', f"{d}[2,2] {d}[]", [[[1, 0], [0, 1]], 1])
    effect('print[message="none"]', f"{d}[0]", [[]])
    effect('print[message="with others"]', f"{d}[3] f64[] bool[2]", [[1, 0, 1], 0.5, [0, 1]])
effect('print[message="edges"]', "f64[4]", [[-0.0, inf, -inf, nan]])
for d in ANY:
    effect('progress[message="step" every=3]', f"i64[] {d}[2] f64[]", [6, [1, 0], 0.5])
effect('progress[message="step" every=3]', "i64[] f64[]", [7, 0.5], said=False)
effect('progress[message="lanes" every=4]', "i64[3] f64[3]", [[7, -8, 9], [0.5, 0, 1]])
effect('progress[message="lanes" every=5]', "i64[3]", [[7, 8, 9]], said=False)
effect('progress[message="lanes" every=1]', "i64[0]", [[]], said=False)
effect('assert[message="holds"]', "bool[2,2]", [[[1, 1], [1, 1]]], said=False)
effect('assert[message="holds"]', "bool[]", [1], said=False)
effect('assert[message="of nothing"]', "bool[0]", [[]], said=False)
effect('assert[message="fails"]', "bool[]", [0], holds=False)
effect('assert[message="last"]', "bool[2,2]", [[[1, 1], [1, 0]]], holds=False)
effect('assert[message="first"]', "bool[3]", [[0, 1, 1]], holds=False)


def quoted(s):
    s = s.replace("\\", "\\\\").replace('"', '\\"')
    parts = []
    while len(s) > 300:
        at = s.rfind(" ", 0, 300) + 1 or 300
        parts.append(s[:at])
        s = s[at:]
    parts.append(s)
    return "\n     ".join(f'"{p}"' for p in parts)


for name, rows in tables.items():
    with open(os.path.join(HERE, f"goldens_{name}.c"), "w") as f:
        f.write("/* Recorded by record_goldens.py; goldens.h says what a row is. */\n")
        f.write('#include "laws/goldens.h"\n\n/* clang-format off */\n')
        f.write(f"const laws_golden laws_goldens_{name}[] = {{\n")
        for prim, how, text, given, want in rows:
            f.write(f'    {{"{prim}", "{how}", {quoted(text)},\n     {quoted(given)}, {quoted(want)}}},\n')
        f.write("    {NULL, NULL, NULL, NULL, NULL},\n};\n")
    print(name, len(rows))
