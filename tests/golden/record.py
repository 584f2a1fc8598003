"""Records tests/golden/jax/*.tn: programs as JAX prints them, with JAX's values and derivatives.

Needs JAX; the tests don't.  Run from the repository's root:  python3 tests/golden/record.py
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
OUT = os.path.join(os.path.dirname(__file__), "jax")
rng = np.random.default_rng(20240607)


def arr(*shape, lo=-1.0, hi=1.0):
    return jnp.asarray(rng.uniform(lo, hi, shape))


def mlp(w1, b1, w2, b2, x, y):
    h = jnp.tanh(x @ w1 + b1)
    z = h @ w2 + b2
    m = lax.stop_gradient(jnp.max(z, axis=1, keepdims=True))
    lse = jnp.log(jnp.sum(jnp.exp(z - m), axis=1)) + m[:, 0]
    return jnp.mean(lse - jnp.sum(z * y, axis=1))


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def logistic_regression(w, x, y):
    z = x @ w
    return jnp.sum(jnp.logaddexp(0.0, z) - y * z) + 0.5e-3 * jnp.dot(w, w)


def gaussian_nll(l, x):
    s = l @ l.T + jnp.eye(4)
    c = lax.linalg.cholesky(s, symmetrize_input=False)
    r = lax.linalg.triangular_solve(c, x[:, None], left_side=True, lower=True)
    return 0.5 * jnp.sum(r * r) + jnp.sum(jnp.log(c[jnp.arange(4), jnp.arange(4)]))


def stencil(u, nu):
    for _ in range(3):
        up = jnp.concatenate([u[1:], u[:1]])
        dn = jnp.concatenate([u[-1:], u[:-1]])
        u = u - 0.1 * u * (up - dn) + nu * (up - 2 * u + dn)
    return jnp.sum(u * u)


def gather_scatter(x, i):
    y = x[i] * 2.0
    z = jnp.zeros(5).at[i].add(jnp.sin(y))
    return jnp.sum(z ** 3)


def reductions(x):
    a = jnp.max(x, axis=0) * jnp.min(x, axis=0)
    b = jnp.prod(x, axis=1)
    c = jnp.cumsum(x, axis=1)[:, -1] + lax.cumprod(x, axis=0)[-1, 0]
    d = lax.cumlogsumexp(x, axis=1)[:, 1]
    return jnp.sum(a) + jnp.sum(b) + jnp.sum(c * d)


def special(x):
    g = lax.lgamma(x) + lax.digamma(x) * lax.erf(x)
    h = lax.erf_inv(x / 4) * lax.erfc(x) + jnp.arctan2(x, 1 + x) + lax.cbrt(x)
    return jnp.sum(g * h + lax.logistic(x) * lax.expm1(-x) + lax.rsqrt(x) + x ** 2.5)


def padding(x):
    y = lax.pad(x, 0.5, ((1, -1, 1), (0, 2, 0)))
    z = lax.rev(y, (0,))[::2, 1:]
    return jnp.sum(jnp.sin(z) * z)


def sorting(x):
    return jnp.dot(jnp.sort(x), jnp.arange(6.0)) + jnp.sum(jnp.where(x > 0, x ** 3, jnp.exp(x)))


def dynamic(x, i):
    y = lax.dynamic_slice(x, (i, 1), (2, 2))
    z = lax.dynamic_update_slice(x, y * y, (0, i))
    return jnp.sum(z * x)


def batched(a, b):
    return jnp.sum(jnp.sin(jnp.einsum("bij,bkj->bik", a, b)))


def branches(x, i):
    def inner(v):
        return lax.cond(jnp.sum(v) > 0, lambda u: u * jnp.exp(u), lambda u: u * x, v)

    y = lax.switch(i, (jnp.sin, inner, lambda v: v * v * x[0]), x)
    z = lax.cond(x[1] > 5, lambda v: v ** 3, inner, jnp.cos(x))
    return jnp.sum(y * z)


def rnn(w, u, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + u @ x)
        return h, jnp.sum(h * h)

    h, ys = lax.scan(step, jnp.zeros(w.shape[0]), xs)
    back, _ = lax.scan(lambda c, y: (c * 0.5 + jnp.sin(y), None), 0.0, ys, reverse=True)
    return jnp.sum(h) + back


def heat(u, nu):
    def inner(i, v):
        return v + nu * (jnp.roll(v, 1) - 2 * v + jnp.roll(v, -1)) / (1.0 + i)

    def outer(v, k):
        v = lax.fori_loop(0, 3, inner, v)
        return v * k, v[0]

    v, first = lax.scan(outer, u, jnp.arange(1.0, 4.0))
    return jnp.sum(v**2) + jnp.sum(first)


def newton(a, loop=lax.while_loop):
    def step(s):
        x, k = s
        return 0.5 * (x + a / x), k + 1

    x, k = loop(lambda s: jnp.max(jnp.abs(s[0] * s[0] - a)) > 1e-3, step, (jnp.ones(3), 0))
    return jnp.sum(jnp.sin(x)) * k


def fori(x, n, loop=lax.while_loop):
    def step(s):
        i, y = s
        return i + 1, jnp.cos(y * x) + i

    return jnp.sum(loop(lambda s: s[0] < n, step, (0, x))[1])


def by_hand(cond, step, s):
    """A while loop that JAX can differentiate: its steps one after the other."""
    while cond(jax.tree.map(lax.stop_gradient, s)):
        s = step(s)
    return s


# What JAX has no reverse mode of, as a program that it has one of: with concrete numbers, not traced.
BY_HAND = {newton: lambda *a: newton(*a, loop=by_hand), fori: lambda *a: fori(*a, loop=by_hand)}
loop_rng = np.random.default_rng(20240608)


def loop_arr(*shape, lo=-1.0, hi=1.0):
    return jnp.asarray(loop_rng.uniform(lo, hi, shape))


NHWC = ("NHWC", "HWIO", "NHWC")


def cnn(x, w, v, dense):
    y = jnp.tanh(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=NHWC))
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    y = jnp.sin(lax.conv_general_dilated(y, v, (1, 1), "VALID", dimension_numbers=NHWC, feature_group_count=4))
    y = lax.reduce_window(y, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID") / 4
    return jnp.sum((y.reshape(2, -1) @ dense) ** 2)


def convolutions(x, w, g):
    a = lax.conv_general_dilated(x, w, (2,), [(1, 2)], lhs_dilation=(3,), rhs_dilation=(2,), dimension_numbers=("NCW", "WIO", "WNC"))
    b = lax.conv_general_dilated(x, g, (1,), [(-1, 2)], dimension_numbers=("NCW", "IOW", "NWC"), feature_group_count=2)
    c = lax.conv_general_dilated(x, w[:, :, :2], (1,), [(0, 1)], dimension_numbers=("NCW", "WIO", "CWN"), batch_group_count=2)
    return jnp.sum(jnp.sin(a) * a) + jnp.sum(b ** 3) + jnp.sum(jnp.cos(c) * c)


def windows(x):
    largest = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (1, 2), [(1, 0), (0, 1)])
    least = lax.reduce_window(x, jnp.inf, lax.min, (1, 9), (1, 1), "VALID")
    total = lax.reduce_window(x, 0.0, lax.add, (1, 9), (2, 1), "SAME", window_dilation=(1, 1))
    back = jax.grad(lambda x: jnp.sum(jnp.sin(largest(x))))(x)
    there = jax.jvp(largest, (x,), (jnp.sin(x),))[1]
    return jnp.sum(least**3) + jnp.sum(jnp.sin(total)) + jnp.sum(back * x**2) + jnp.sum(there**2)


window_rng = np.random.default_rng(20261127)


def linear_systems(d, l, a, b, down):
    """Of a bidiagonal matrix, by steps; a symmetric one; and a dense one."""
    d = 2 + d

    def solve(matvec, b):
        return lax.scan(lambda y, k: ((k[2] - k[1] * y) / k[0],) * 2, 0.0, (d, l, b))[1], jnp.sum(b * b)

    def transpose_solve(vecmat, b):
        above = jnp.concatenate([l[1:], jnp.zeros(1)])
        return lax.scan(lambda y, k: ((k[2] - k[1] * y) / k[0],) * 2, 0.0, (d, above, b), reverse=True)[1], 0.0

    x, size = lax.custom_linear_solve(lambda x: d * x + l * (down @ x), b, solve, transpose_solve, has_aux=True)
    y = lax.custom_linear_solve(lambda x: d * d * x, x, lambda _, b: b / (d * d), symmetric=True)
    z = jnp.linalg.solve(a + 4 * jnp.eye(4), y)
    return jnp.sum(jnp.sin(x) * y) + size + jnp.sum(z * z * z)


def complex_systems(d, l, b, c):
    """Of a complex bidiagonal matrix, by steps, and of one that is symmetric without conjugation, beside a real unknown."""
    d, l, b = 2 + d + 1j * c, l - 0.5j * d, b + 1j * c
    steps = lambda below, b, up: lax.scan(lambda y, k: ((k[2] - k[1] * y) / k[0],) * 2, 0j, (d, below, b), reverse=up)[1]
    shifted = lambda x: jnp.concatenate([jnp.zeros(1), x[:-1]])
    x = lax.custom_linear_solve(
        lambda x: d * x + l * shifted(x),
        b,
        lambda _, b: steps(l, b, False),
        lambda _, b: steps(jnp.concatenate([l[1:], jnp.zeros(1)]), b, True),
    )
    y, z = lax.custom_linear_solve(
        lambda v: (d * v[0], (1 + c * c) * v[1]), (x, c), lambda _, b: (b[0] / d, b[1] / (1 + c * c)), symmetric=True
    )
    return jnp.sum(jnp.abs(x * y) ** 2 + jnp.real(y * y) * z)


def window_arr(*shape):
    return jnp.asarray(window_rng.uniform(-1, 1, shape))


CASES = {
    "mlp": (mlp, (arr(5, 4), arr(4), arr(4, 3), arr(3), arr(6, 5), jnp.eye(3)[jnp.array([0, 1, 2, 0, 1, 2])]), (0, 1, 2, 3)),
    "rosenbrock": (rosenbrock, (arr(7),), (0,)),
    "logistic_regression": (logistic_regression, (arr(4), arr(9, 4), (arr(9) > 0) * 1.0), (0,)),
    "gaussian_nll": (gaussian_nll, (arr(4, 4), arr(4)), (0, 1)),
    "stencil": (stencil, (arr(8), jnp.asarray(0.05)), (0, 1)),
    "gather_scatter": (gather_scatter, (arr(5), jnp.array([0, 3, 3, 1, 4, 0])), (0,)),
    "reductions": (reductions, (arr(3, 4),), (0,)),
    "special": (special, (arr(5, lo=0.5, hi=2.5),), (0,)),
    "padding": (padding, (arr(4, 3),), (0,)),
    "sorting": (sorting, (arr(6),), (0,)),
    "dynamic": (dynamic, (arr(4, 4), jnp.asarray(1)), (0,)),
    "batched": (batched, (arr(2, 3, 4), arr(2, 5, 4)), (0, 1)),
    "branches": (branches, (jnp.linspace(-0.5, 1.25, 4), jnp.asarray(1)), (0,)),
    "rnn": (rnn, (loop_arr(3, 3), loop_arr(3, 2), loop_arr(6, 2)), (0, 1, 2)),
    "heat": (heat, (loop_arr(8), jnp.asarray(0.1)), (0, 1)),
    "newton": (newton, (loop_arr(3, lo=1.0, hi=3.0),), (0,)),
    "fori": (fori, (loop_arr(3), jnp.asarray(4)), (0,)),
    "cnn": (cnn, (window_arr(2, 6, 6, 2), window_arr(3, 3, 2, 4), window_arr(2, 2, 1, 8), window_arr(8, 3)), (0, 1, 2, 3)),
    "convolutions": (convolutions, (window_arr(2, 4, 6), window_arr(3, 4, 4), window_arr(2, 6, 3)), (0, 1, 2)),
    "windows": (windows, (window_arr(3, 12),), (0,)),
    "linear_systems": (linear_systems, (window_arr(4), window_arr(4), window_arr(4, 4), window_arr(4), jnp.eye(4, k=-1)), (0, 1, 2, 3)),
    "complex_systems": (complex_systems, (window_arr(4), window_arr(4), window_arr(4), window_arr(4)), (0, 1, 2, 3)),
}


def line(tag, v):
    v = np.asarray(v)
    text = [repr(x.item()) if v.dtype.kind == "f" else str(int(x)) for x in v.ravel()]
    return f"#= {tag} " + " ".join(text) + "\n"


for name, (f, args, wrt) in CASES.items():
    g = jax.grad(BY_HAND.get(f, f), argnums=wrt)
    tangents = [jnp.asarray(rng.uniform(-1, 1, args[k].shape)) for k in wrt]
    full = lambda *a: g(*[a[wrt.index(k)] if k in wrt else args[k] for k in range(len(args))])
    _, hv = jax.jvp(full, tuple(args[k] for k in wrt), tuple(tangents))
    with open(os.path.join(OUT, name + ".tn"), "w") as out:
        out.write(f"# {name}: as JAX prints it; values, gradients and Hessian-vector products by JAX {jax.__version__}\n")
        out.write("#= wrt " + " ".join(map(str, wrt)) + "\n")
        for a in args:
            out.write(line("in", a))
        out.write(line("value", f(*args)))
        for d in g(*args):
            out.write(line("grad", d))
        for t in tangents:
            out.write(line("tangent", t))
        for d in hv:
            out.write(line("hvp", d))
        out.write(str(jax.make_jaxpr(f)(*args)) + "\n")
    print(name)
