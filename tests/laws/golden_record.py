#!/usr/bin/env python3
"""Records golden_table.c: for every primitive and dtype, inputs and the outputs that JAX gives.

    python3 tests/laws/golden_record.py >tests/laws/golden_table.c

Needed only to record anew; the tests read the table.  Special functions are computed in f64 (SciPy)
from the inputs as rounded to the dtype, so that the values do not hang on one compiler's
approximations; everything else is what jax.lax does.
"""
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
import scipy.special as sp
from jax import lax

NAMES = {np.dtype(np.bool_): "bool", np.dtype(np.int32): "i32", np.dtype(np.int64): "i64",
         np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
F = [np.float32, np.float64]
I = [np.int32, np.int64]
B = [np.bool_]
EXACT, CLOSE = 0, 1
nan, inf = np.nan, np.inf
rng = np.random.default_rng(7)
rows = []


def text(t):
    return f"{NAMES[t.dtype]}[{','.join(map(str, t.shape))}]"


def number(x, dtype):
    if dtype.kind == "b":
        return str(int(x))
    if dtype.kind == "i":
        return str(int(x))
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "inf" if x > 0 else "-inf"
    return np.format_float_scientific(x, unique=True, trim="-") if abs(x) >= 1e7 or 0 < abs(x) < 1e-4 else \
        ("-0" if x == 0 and np.signbit(x) else np.format_float_positional(x, unique=True, trim="-"))


def data(arrays):
    return "; ".join(" ".join(number(x, a.dtype) for x in a.ravel()) for a in arrays)


def row(name, params, ins, outs, how, program=None):
    ins = [np.asarray(a) for a in ins]
    outs = [np.asarray(a) for a in outs]
    a = [f"{'abcdefgh'[i]}:{text(t)}" for i, t in enumerate(ins)]
    o = [f"{'pqrstuvw'[i]}:{text(t)}" for i, t in enumerate(outs)]
    operands = " ".join("abcdefgh"[i] for i in range(len(ins)))
    results = ", ".join("pqrstuvw"[i] for i in range(len(outs)))
    head = f"{name}[{params}]" if params else name
    program = program or f"{{ lambda {' '.join(a)} . let {' '.join(o)} = {head} {operands} in ({results},) }}"
    first = (ins[0] if ins else outs[0]).dtype
    rows.append((name, NAMES[first], program.replace("  ", " "), data(ins), data(outs), how))


def unary(name, f, values, dtypes, how=EXACT, params="", wide=False):
    for d in dtypes:
        x = np.array(values, d)
        y = f(x.astype(np.float64)) if wide else f(jnp.asarray(x))
        out = np.asarray(y)
        row(name, params, [x], [out.astype(d) if wide else out], how)


def binary(name, f, xs, ys, dtypes, how=EXACT, wide=False):
    for d in dtypes:
        x, y = np.array(xs, d), np.array(ys, d)
        with np.errstate(all="ignore"):
            z = np.asarray(f(x.astype(np.float64), y.astype(np.float64)) if wide else f(jnp.asarray(x), jnp.asarray(y)))
        row(name, "", [x, y], [z.astype(d) if wide else z], how)


def edges(d):
    info = np.iinfo(d)
    return [info.min, info.max, -1, 0, 1, 7, -7]


np.seterr(all="ignore")
plain = [1.5, -2.25, 0.0, -0.0, inf, nan]

# arithmetic
unary("neg", lambda x: -x, plain, F)
unary("square", lax.square, [1.5, -2.25, 0.0, inf, nan], F)
for d in I:
    for name, f in (("neg", lax.neg), ("square", lax.square), ("abs", lax.abs), ("sign", lax.sign)):
        row(name, "", [np.array(edges(d), d)], [f(jnp.array(edges(d), d))], EXACT)
    xs = np.array([7, -7, 7, -7, 5, np.iinfo(d).min, np.iinfo(d).max, 0], d)
    ys = np.array([2, 2, -2, -2, 0, -1, 2, 3], d)
    for name, f in (("add", lax.add), ("sub", lax.sub), ("mul", lax.mul), ("div", lax.div), ("rem", lax.rem),
                    ("max", lax.max), ("min", lax.min), ("eq", lax.eq), ("ne", lax.ne), ("lt", lax.lt), ("le", lax.le),
                    ("gt", lax.gt), ("ge", lax.ge), ("and", lax.bitwise_and), ("or", lax.bitwise_or), ("xor", lax.bitwise_xor)):
        row(name, "", [xs, ys], [f(jnp.asarray(xs), jnp.asarray(ys))], EXACT)
    row("not", "", [np.array(edges(d), d)], [lax.bitwise_not(jnp.array(edges(d), d))], EXACT)
    for y in (0, 1, 3):
        row("integer_pow", f"y={y}", [np.array(edges(d), d)], [lax.integer_pow(jnp.array(edges(d), d), y)], EXACT)
xs, ys = [5.5, -5.5, 2.0, 1.0, inf, nan, 0.0, 3.0], [2.0, 2.0, -0.5, inf, 2.0, 1.0, -0.0, 3.0]
for name, f in (("add", lax.add), ("sub", lax.sub), ("mul", lax.mul), ("div", lax.div), ("max", lax.max), ("min", lax.min),
                ("eq", lax.eq), ("ne", lax.ne), ("lt", lax.lt), ("le", lax.le), ("gt", lax.gt), ("ge", lax.ge)):
    binary(name, f, xs, ys, F)
binary("rem", np.fmod, [5.5, -5.5, 2.0, 1.0, nan], [2.0, 2.0, -0.75, 3.0, 1.0], F, wide=True)
for name, f in (("eq", lax.eq), ("ne", lax.ne), ("lt", lax.lt), ("le", lax.le), ("gt", lax.gt), ("ge", lax.ge),
                ("and", lax.bitwise_and), ("or", lax.bitwise_or), ("xor", lax.bitwise_xor)):
    binary(name, f, [0, 0, 1, 1], [0, 1, 0, 1], B)
unary("not", lax.bitwise_not, [0, 1], B)
unary("abs", lax.abs, plain, F)
unary("sign", lax.sign, [1.5, -2.25, 0.0, nan], F)

# powers, roots, elementary and special functions
pos, mid, small = [0.3, 1.0, 2.7, 40.0], [-2.7, -0.4, 0.0, 0.3, 1.9], [-0.9, -0.3, 0.2, 0.7]
for name, f, values in (
        ("sqrt", np.sqrt, pos + [-1.0, 0.0]), ("rsqrt", lambda x: 1 / np.sqrt(x), pos), ("cbrt", np.cbrt, pos + [-8.0]),
        ("exp", np.exp, mid), ("exp2", np.exp2, mid), ("expm1", np.expm1, mid + [1e-5]), ("log", np.log, pos),
        ("log1p", np.log1p, [-0.5, 1e-5, 0.3, 7.0]), ("sin", np.sin, mid), ("cos", np.cos, mid), ("tan", np.tan, mid),
        ("asin", np.arcsin, small), ("acos", np.arccos, small), ("atan", np.arctan, mid), ("sinh", np.sinh, mid),
        ("cosh", np.cosh, mid), ("tanh", np.tanh, mid), ("asinh", np.arcsinh, mid), ("acosh", np.arccosh, [1.2, 2.0, 30.0]),
        ("atanh", np.arctanh, small), ("logistic", sp.expit, mid + [800.0, -90.0]), ("erf", sp.erf, mid), ("erfc", sp.erfc, mid + [5.0]),
        ("erf_inv", sp.erfinv, small), ("lgamma", sp.gammaln, [-2.5, 0.3, 1.5, 7.2, 50.0]),
        ("digamma", sp.digamma, [-2.5, 0.3, 1.0, 7.2, 50.0])):
    unary(name, f, values, F, CLOSE, wide=True)
binary("pow", np.power, [2.0, 0.3, 0.0, 3.0, -2.0], [0.5, -2.5, 0.0, 2.0, 3.0], F, CLOSE, wide=True)
binary("atan2", np.arctan2, [1.0, -1.0, 0.5, -0.5], [2.0, 2.0, -2.0, -2.0], F, CLOSE, wide=True)
binary("polygamma", lambda n, x: np.where(n == 0, sp.digamma(x), sp.polygamma(n.astype(int), x)), [0.0, 1.0, 2.0, 3.0],
       [1.3, 0.4, 2.5, 7.0], F, CLOSE, wide=True)
for y in (-2, 0, 1, 3, 4):
    unary("integer_pow", lambda x, y=y: x ** float(y), [1.5, -2.0, 0.25], F, CLOSE, f"y={y}", wide=True)
halves = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6]
unary("floor", np.floor, halves, F, wide=True)
unary("ceil", np.ceil, halves, F, wide=True)
unary("round", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), halves, F, EXACT, "rounding_method=AWAY_FROM_ZERO")
unary("round", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), halves, F, EXACT, "rounding_method=TO_NEAREST_EVEN")
unary("is_finite", lax.is_finite, plain, F)

# choices
for d in F + I:
    lo, x, hi = np.array([-1, -1, 0, 2], d), np.array([-3, 0, 9, 9], d), np.array([1, 1, 5, 1], d)
    row("clamp", "", [lo, x, hi], [lax.clamp(*map(jnp.asarray, (lo, x, hi)))], EXACT)
    row("clamp", "", [d(-1), x, d(5)], [lax.clamp(d(-1), jnp.asarray(x), d(5))], EXACT)
for d in F + I + B:
    p, x, y = np.array([1, 0, 0, 1], bool), np.array([1, 0, 1, 0], d), np.array([0, 1, 1, 0], d)
    row("select", "", [p, x, y], [lax.select(*map(jnp.asarray, (p, x, y)))], EXACT)
    row("select", "", [np.bool_(False), x, y], [jnp.asarray(y)], EXACT)
    row("stop_gradient", "", [x], [x], EXACT)
    row("name", 'name=\\"tag\\"', [x], [x], EXACT)
casts = {np.float32: [1.7, -1.7, 3e9, -3e9, 0.0, nan, inf], np.float64: [1.7, -1.7, 3e9, 1e30, 0.0, nan, -inf],
         np.int32: [0, -3, 2**31 - 1], np.int64: [0, -3, 2**40 + 5], np.bool_: [0, 1]}
for d, values in casts.items():
    for to in F + I + B:
        x = np.array(values, d)
        row("convert_element_type", f"new_dtype={NAMES[np.dtype(to)]}", [x], [lax.convert_element_type(jnp.asarray(x), to)], EXACT)


def ints(d, *shape):
    return rng.integers(0, 2, shape).astype(d) if d == np.bool_ else rng.integers(-5, 6, shape).astype(d)


# reductions and scans
for d in F + I:
    x = ints(d, 2, 3)
    row("reduce_sum", "axes=(1,)", [x], [jnp.sum(x, 1, dtype=d)], EXACT)
    row("reduce_sum", "axes=(0, 1)", [x], [jnp.sum(x, dtype=d)], EXACT)
    row("reduce_prod", "axes=(0,)", [x], [jnp.prod(x, 0, dtype=d)], EXACT)
    for reverse in (False, True):
        p = f"axis=1 reverse={reverse}"
        row("cumsum", p, [x], [lax.cumsum(jnp.asarray(x), 1, reverse)], EXACT)
        row("cumprod", p, [x], [lax.cumprod(jnp.asarray(x), 1, reverse)], EXACT)
        row("cummax", p, [x], [lax.cummax(jnp.asarray(x), 1, reverse)], EXACT)
    k, v = ints(d, 5), np.arange(5, dtype=np.int32)
    row("sort", "dimension=0 is_stable=True num_keys=1", [k, v], lax.sort((jnp.asarray(k), jnp.asarray(v)), num_keys=1), EXACT)
for d in F:
    x = rng.uniform(-3, 3, (2, 3)).astype(d)
    for reverse in (False, True):
        wide = np.logaddexp.accumulate(x[:, ::-1].astype(np.float64), 1)[:, ::-1] if reverse else \
            np.logaddexp.accumulate(x.astype(np.float64), 1)
        row("cumlogsumexp", f"axis=1 reverse={reverse}", [x], [wide.astype(d)], CLOSE)
    x = np.array([[1.0, nan, 2.0], [3.0, 3.0, -1.0]], d)
    row("reduce_max", "axes=(1,)", [x], [jnp.max(x, 1)], EXACT)
    row("argmax", "axes=(1,) index_dtype=i32", [x], [lax.argmax(jnp.asarray(x), 1, np.int32)], EXACT)
    row("sort", "dimension=0 is_stable=True num_keys=1", [np.array([2, nan, -1, inf, 0], d)],
        [jnp.sort(np.array([2, nan, -1, inf, 0], d))], EXACT)
for d in F + I + B:
    x = ints(d, 2, 3)
    row("reduce_max", "axes=(1,)", [x], [jnp.max(x, 1)], EXACT)
    row("reduce_min", "axes=(0,)", [x], [jnp.min(x, 0)], EXACT)
    row("argmax", "axes=(1,) index_dtype=i32", [x], [lax.argmax(jnp.asarray(x), 1, np.int32)], EXACT)
    row("argmin", "axes=(0,) index_dtype=i64", [x], [lax.argmin(jnp.asarray(x), 0, np.int64)], EXACT)
row("sort", "dimension=0 is_stable=True num_keys=1", [np.array([1, 0, 1, 0], bool)], [np.array([0, 0, 1, 1], bool)], EXACT)

# shape
for d in F + I + B:
    x = ints(d, 2, 3)
    X = jnp.asarray(x)
    literal = ", ".join("[" + ", ".join(("True" if v else "False") if d == np.bool_ else str(v) for v in r) + "]" for r in x.tolist())
    row("constant", f"value=[{literal}]", [], [x], EXACT)
    row("broadcast_in_dim", "shape=(2, 4, 3) broadcast_dimensions=(0, 2)", [x], [lax.broadcast_in_dim(X, (2, 4, 3), (0, 2))], EXACT)
    row("reshape", "new_sizes=(3, 2)", [x], [x.reshape(3, 2)], EXACT)
    row("transpose", "permutation=(1, 0)", [x], [x.T], EXACT)
    row("rev", "dimensions=(1,)", [x], [x[:, ::-1]], EXACT)
    row("slice", "start_indices=(0, 0) limit_indices=(2, 3) strides=(1, 2)", [x], [x[:, ::2]], EXACT)
    v = ints(d)
    row("pad", "padding_config=((1, 0, 0), (-1, 2, 1))", [x, v], [lax.pad(X, jnp.asarray(v), ((1, 0, 0), (-1, 2, 1)))], EXACT)
    y = ints(d, 1, 3)
    row("concatenate", "dimension=0", [x, y], [np.concatenate([x, y])], EXACT)
    row("split", "sizes=(1, 2) axis=1", [x], [x[:, :1], x[:, 1:]], EXACT)
    s = [np.int32(1), np.int32(5)]
    row("dynamic_slice", "slice_sizes=(1, 2)", [x] + s, [lax.dynamic_slice(X, s, (1, 2))], EXACT)
    u = ints(d, 1, 2)
    row("dynamic_update_slice", "", [x, u] + s, [lax.dynamic_update_slice(X, jnp.asarray(u), s)], EXACT)
    i = np.array([[1], [-1], [7]], np.int32)
    dn = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    spelt = "dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), " \
            "operand_batching_dims=(), start_indices_batching_dims=()) slice_sizes=(1, 3)"
    row("gather", spelt + " mode=clip", [x, i], [lax.gather(X, jnp.asarray(i), dn, (1, 3), mode="clip")], EXACT)
    fill = {"b": 1, "i": 7, "f": None}[np.dtype(d).kind]
    row("gather", spelt + " mode=fill" + (f" fill_value={fill}" if fill else ""), [x, i],
        [lax.gather(X, jnp.asarray(i), dn, (1, 3), mode="fill", fill_value=fill)], EXACT)
for d in F + I:
    for k, n in ((0, 2), (1, 3)):
        out = lax.broadcasted_iota(d, (2, 3), k)
        row("iota", f"dtype={NAMES[np.dtype(d)]} shape=(2, 3) dimension={k}", [], [out], EXACT)
    x, u, i = ints(d, 3, 2), ints(d, 3, 2), np.array([[2], [2], [9]], np.int32)
    dn = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    row("scatter_add", "dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), "
        "scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())", [x, i, u],
        [lax.scatter_add(*map(jnp.asarray, (x, i, u)), dn, mode="drop")], EXACT)

# products
for d in F + I:
    x, y = ints(d, 2, 3), ints(d, 3, 2)
    row("dot_general", "dimension_numbers=(((1,), (0,)), ((), ()))", [x, y], [x @ y], EXACT)
    x, y = ints(d, 2, 2, 3), ints(d, 2, 3)
    row("dot_general", "dimension_numbers=(((2,), (1,)), ((0,), (0,)))", [x, y], [np.einsum("bij,bj->bi", x, y)], EXACT)
for d in F:
    a, b = np.array([[2, 9, 9], [1, 4, 9], [-1, 2, 8]], d), np.array([[1, 2], [3, -1], [0.5, 4]], d)
    low = np.tril(a).astype(np.float64)
    row("triangular_solve", "left_side=True lower=True transpose_a=False conjugate_a=False unit_diagonal=False", [a, b],
        [np.linalg.solve(low, b).astype(d)], CLOSE)
    up = np.triu(a, 1).astype(np.float64) + np.eye(3)
    row("triangular_solve", "left_side=False lower=False transpose_a=True conjugate_a=False unit_diagonal=True", [a, b.T.copy()],
        [np.linalg.solve(up, b).T.astype(d)], CLOSE)
    m = np.array([[4, 99, 99], [2, 5, 99], [-1, 0.5, 6]], d)
    full = np.tril(m) + np.tril(m, -1).T
    row("cholesky", "", [m], [np.linalg.cholesky(full.astype(np.float64)).astype(d)], CLOSE)

# programs in programs: the value of the outer equation
for d in F:
    n = NAMES[np.dtype(d)]
    x = np.array([1.5, -2.0], d)
    square = f"{{ lambda x:{n}[2] . let y:{n}[2] = mul x x in (y,) }}"
    head = f"{{ lambda a:{n}[2] . let p:{n}[2] = "
    tail = " a in (p,) }"
    row("call", "", [x], [x * x], EXACT, head + f'call[name=\\"f\\" program={square}]' + tail)
    row("custom_jvp", "", [x], [x * x], EXACT,
        head + f"custom_jvp[call={square} jvp={{ lambda x:{n}[2] | t:{n}[2] . let y:{n}[2] = mul t x in (y,) }}]" + tail)
    row("custom_vjp", "", [x], [x * x], EXACT,
        head + f"custom_vjp[call={square} fwd={{ lambda x:{n}[2] . let y:{n}[2] = mul x x in (y, x) }} "
        f"bwd={{ lambda x:{n}[2] | t:{n}[2] . let y:{n}[2] = mul t x in (y,) }}]" + tail)
    double = f"{{ lambda | t:{n}[2] . let y:{n}[2] = add t t in (y,) }}"
    row("linear_call", "", [x], [x + x], EXACT, head + f"linear_call[f={double} ft={double}]" + tail)

print("/* Recorded by golden_record.py. */\n#include \"laws/golden.h\"\n\nconst laws_golden laws_golden_table[] = {")
for name, dtype, program, ins, outs, how in sorted(dict.fromkeys(rows), key=lambda r: r[0]):
    print(f'    {{"{name}", "{dtype}", "{program}", "{ins}", "{outs}", {"true" if how == CLOSE else "false"}}},')
print("    {NULL, NULL, NULL, NULL, NULL, false},\n};")
