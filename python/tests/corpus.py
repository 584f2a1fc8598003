"""Small JAX programs: (name, f, arguments), each exported and compared with JAX by compare.py."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special as jsp

_rng = np.random.default_rng(7)
CASES = []


def case(*args, **more):
    def add(f):
        CASES.append((f.__name__.strip("_"), f, tuple(args), more))
        return f

    return add


def r(*shape):
    return _rng.normal(size=shape)


def positive(*shape):
    return _rng.uniform(0.5, 2.0, size=shape)


def spd(n):
    a = r(n, n)
    return a @ a.T + n * np.eye(n)


# ---- elementwise, reductions ----------------------------------------------------


@case(r(5), r(5))
def arithmetic(x, y):
    return (x * y - x / (2 + y**2)) ** 3 + 1.5 - jnp.abs(x) * jnp.sign(y)


@case(positive(6))
def transcendental(x):
    return (
        jnp.exp(x) + jnp.log(x) * jnp.sqrt(x) + jnp.cbrt(x) + jnp.log1p(x) + jnp.expm1(x) + jnp.exp2(x) + lax.rsqrt(x)
    )


@case(_rng.uniform(-0.9, 0.9, 6))
def trigonometric(x):
    return jnp.sin(x) * jnp.cos(x) + jnp.tan(x) + jnp.arcsin(x) + jnp.arccos(x) + jnp.arctan(x) + jnp.arctan2(x, 2 + x)


@case(_rng.uniform(-0.9, 0.9, 6))
def hyperbolic(x):
    return jnp.sinh(x) + jnp.cosh(x) * jnp.tanh(x) + jnp.arcsinh(x) + jnp.arccosh(x + 3) + jnp.arctanh(x)


@case(positive(5))
def special(x):
    return lax.erf(x) + lax.erfc(x) + lax.lgamma(x) + lax.digamma(x) + lax.erf_inv(x / 3) + jax.nn.sigmoid(x)


@case(positive(6), positive(6), hvp=False)
def incomplete_gamma(a, x):
    return jsp.gammainc(a, 2 * x) + 3 * jsp.gammaincc(2 * a, x)


@case(positive(6))
def incomplete_gamma_of_x(x):
    return jsp.gammainc(1.7, 2 * x) + jsp.gammaincc(0.6, x) + jax.scipy.stats.gamma.cdf(x, 2.5) + jax.scipy.stats.chi2.sf(x, 3)


@case(positive(6) / 3)
def incomplete_beta(x):
    return jsp.betainc(1.5, 0.7, x) + jax.scipy.stats.beta.cdf(x, 2.0, 3.0)


@case(r(6))
def bessel(x):
    return jsp.i0(x) + jsp.i0e(x) * jsp.i1(x) + jsp.i1e(x)


@case(positive(6))
def zetas(x):
    return jsp.zeta(3.0, x) + jsp.polygamma(1, x) + jsp.polygamma(2, x)


@case(r(3, 4), r(4))
def broadcasting(a, b):
    return a + b[None, :] * 2 - a.mean(axis=1, keepdims=True)


@case(r(3, 4))
def reductions(x):
    return x.sum(0).prod() + x.max(axis=1).sum() + x.min() + jnp.var(x) + jnp.std(x, axis=0).sum()


@case(r(7))
def comparisons(x):
    return jnp.where((x > 0) & ~(x > 1), x * x, jnp.where(x < -1, -x, 3 * x))


@case(r(7))
def clipping(x):
    return jnp.clip(x, -0.5, 0.7) + jnp.maximum(x, 0.1) * jnp.minimum(x, 0.3)


@case(r(6))
def powers(x):
    return x**2 + x**3 + x**-1 + jnp.abs(x) ** 1.7 + jnp.power(2.0, x)


@case(r(6))
def rounding(x):
    return jnp.floor(x) * x + jnp.ceil(x) + jnp.round(x) * x + x % 0.7 + jnp.fmod(x, 0.6)


@case(r(6))
def safe_sqrt(x):
    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)


@case(r(5), np.array([3, 1, 0, 2, 4]))
def integers(x, k):
    return x * (k // 2) + (k % 3) * x**2 + jnp.where(k > 2, x, 0.0) + (k * k - 1).astype(x.dtype)


@case(r(3, 5))
def cumulative(x):
    return (
        jnp.cumsum(x, axis=1)
        + jnp.cumprod(x, axis=0)
        + lax.cummax(x, axis=1)
        + lax.cumlogsumexp(x, axis=1, reverse=True)
    )


@case(r(3, 5))
def softmaxes(x):
    return (
        jax.nn.softmax(x, axis=-1)
        + jax.nn.log_softmax(x, axis=0)
        + jax.scipy.special.logsumexp(x, axis=1, keepdims=True)
    )


@case(r(8))
def activations(x):
    return jax.nn.relu(x) + jax.nn.gelu(x) + jax.nn.silu(x) + jax.nn.elu(x) + jax.nn.softplus(x) + jax.nn.leaky_relu(x)


@case(r(8))
def more_activations(x):
    return (
        jax.nn.relu6(x)
        + jax.nn.selu(x)
        + jax.nn.celu(x)
        + jax.nn.hard_tanh(x)
        + jax.nn.soft_sign(x)
        + jax.nn.log_sigmoid(x)
    )


@case(r(6).astype(np.float32))
def single_precision(x):
    return jnp.sin(x) * jnp.exp(x) + x**2


@case(r(6))
def mixed_precision(x):
    return (x.astype(jnp.float32) * 2).astype(jnp.float64) + x


@case(r(6))
def stopped(x):
    return lax.stop_gradient(x**2) * x


# ---- moving elements -------------------------------------------------------------


@case(r(4, 6))
def slices(x):
    return x[1:3, ::2] + x[:2, 1::2] - x[-1, 0] + x[::-1][:2, :3]


@case(r(4, 6), np.int64(2))
def dynamic(x, i):
    return (
        lax.dynamic_slice(x, (i, 1), (2, 3)).sum(0)
        + lax.dynamic_update_slice(x, x[:1, :3] * 2, (i, 0))[2, :3]
        + x[i, 2]
    )


@case(r(6, 3), np.array([0, 4, 4, -1]))
def gathered(x, i):
    return x[i] * x[i, 1:2] + jnp.take(x, i, axis=0)


@case(r(6), np.array([0, 4, 4, 1]), r(4))
def scatter_added(x, i, v):
    return x.at[i].add(v) * x


@case(r(6), np.array([0, 4, 4, 1]), r(4))
def scatter_set(x, i, v):
    x = jnp.asarray(x)
    return x.at[2].set(v[0] * 2).at[i].set(v) * x


@case(r(6), np.array([0, 4, 4, 1, -9, 7]), r(6))
def scatter_extremes(x, i, v):
    """Indices that meet, some outside; truth values."""
    x = jnp.asarray(x)
    return x.at[i].max(v) * x.at[i].min(2 * v), x.at[i].add(v, mode="clip"), (x > 0).at[i].max(v > 0)


@case(r(6), np.array([0, 4, 4, 1, -9, 7]), r(6, 3), r(9))
def scatter_set_windows(x, i, v, y):
    """Indices that meet, some outside; windows, held inside; elements of each of a batch; truth values."""
    x, v = jnp.asarray(x), jnp.asarray(v)
    a = x.at[i].set(v[:, 0]) * x
    b = x.at[i].set(v[:, 1], mode="clip") * a
    rows = lax.ScatterDimensionNumbers((1,), (), (0,))
    c = lax.scatter(jnp.asarray(y), i[:, None], v, rows, mode="clip")
    d = jax.vmap(lambda x, i, v: x.at[i].set(v))(v, i[:, None] % 3, v[:, :1] * 2)
    e = (x > 0).at[i].set(v[:, 2] > 0, unique_indices=False)
    return b, c * y, d * v, e


@case(r(6), r(6))
def scatter_multiplied(x, y):
    x = jnp.asarray(x).at[1].multiply(y[0]).at[2:4].multiply(y[:2]).at[0].max(y[1])
    return x.at[jnp.array([4, 5])].min(y[:2], unique_indices=True)


@case(r(4, 3), r(3))
def row_set(x, v):
    return jnp.asarray(x).at[1].set(v).at[2:, 0].set(v[1])


@case(r(3, 4), r(3, 4))
def joined(x, y):
    return jnp.concatenate([x, y * 2], axis=1) @ jnp.stack([x, y], axis=0).reshape(8, 3) + jnp.hstack(
        [x[:, :1], y[:, :2]]
    )


@case(r(2, 3, 4))
def shapes(x):
    return (
        jnp.transpose(x, (2, 0, 1)).reshape(4, 6).T + jnp.swapaxes(x, 0, 1).reshape(6, 4) + jnp.expand_dims(x[0, 0], 0)
    )


@case(r(3, 4))
def padded(x):
    return jnp.pad(x, ((1, 2), (0, 1))) + jnp.roll(jnp.pad(x, ((0, 3), (1, 0)), constant_values=2.0), 2, axis=0)


@case(r(4, 5))
def triangles(x):
    return jnp.tril(x) + 2 * jnp.triu(x, 1) + jnp.diag(x[:4, 1]) @ x + jnp.trace(x[:, :4])


@case(r(7))
def ordered(x):
    return jnp.sort(x) * jnp.arange(7) + x[jnp.argsort(x)] + jnp.median(x)


@case(r(4, 5))
def argmaxes(x):
    return x[jnp.arange(4), jnp.argmax(x, axis=1)] + jnp.argmin(x, axis=1)


@case(r(6))
def one_hot(x):
    return jax.nn.one_hot(jnp.array([1, 0, 3]), 6) @ x + jnp.tile(x, 2)[:3] + jnp.repeat(x, 2)[:3]


@case(r(5))
def interpolated(x):
    return jnp.interp(x, jnp.linspace(-2, 2, 9), jnp.linspace(-2, 2, 9) ** 2)


@case(r(5), np.array([-7, 2, 5, 8, 11]))
def unsigned(x, k):
    u = k.astype(jnp.uint32) * jnp.uint32(2654435761) - jnp.uint32(3)
    return x * (~u // 7 % 5).astype(x.dtype) + (u > 5) + u.astype(jnp.int32)


@case(r(4), r(4))
def exponentials(x, y):
    return jax.scipy.linalg.expm(jnp.outer(x, y)) + jnp.logaddexp(x, y)


@case(r(5))
def truths(x):
    return jnp.any(x > 0), jnp.all(x > 0), jnp.sum(x > 0), jnp.logical_xor(x > 0, x < 1), x


@case(r(12))
def split_up(x):
    a, b, c = jnp.split(x, 3)
    return a * b - c


# ---- products, linear algebra ------------------------------------------------------


@case(r(3, 4), r(4, 5), r(5))
def matmuls(a, b, c):
    return a @ b @ c + jnp.dot(a[:, 0], a).sum() + jnp.outer(a[:, 0], c).sum(1)


@case(r(2, 3, 4), r(2, 4, 5))
def einsums(a, b):
    return jnp.einsum("bij,bjk->bik", a, b), jnp.einsum("bij,bij->b", a, a), jnp.einsum("bij->ji", a)


@case(r(3, 4), r(3, 4))
def contractions(a, b):
    return jnp.tensordot(a, b, axes=((1,), (1,))) + jnp.inner(a, b) + jnp.vdot(a, b) + jnp.kron(a[:1, :3], b[:3, :1])


@case(r(4, 4) + 4 * np.eye(4), r(4))
def solve(a, b):
    return jnp.linalg.solve(a, b)


@case(r(4, 4) + 4 * np.eye(4), r(4, 2))
def solve_many(a, b):
    return jnp.linalg.solve(a, b) + jnp.linalg.inv(a)[:, :2]


@case(r(3, 3, 3) + 4 * np.eye(3), r(3, 3, 1))
def solve_batch(a, b):
    return jnp.linalg.solve(a, b)


@case(r(5, 3), r(3), r(7))
def scans_unrolled(xs, c, x):
    step = lambda c, x: ((c[0] * x + jnp.sin(c[1]), c[1] + 1), (c[0], x.sum()))
    one = jax.lax.scan(step, (c, c[0]), xs, unroll=16)
    two = jax.lax.scan(step, (c, c[0]), xs, unroll=True, reverse=True)
    three = jax.lax.scan(step, (c, c[0]), xs[:1], unroll=True)
    four = jax.lax.scan(lambda a, _: (a * jnp.cos(a), None), c, None, length=4, unroll=4)[0]
    return one, two, three, four, jnp.polyval(xs[:, 0], x), jax.lax.scan(step, (c, c[0]), xs, unroll=2)


# As many right-hand sides as rows: shapes do not tell one from the other.
@case(r(3, 3) + 4 * np.eye(3), r(3, 3, 3) + 4 * np.eye(3), r(3), r(3, 3), r(3, 3, 2))
def solves_mapped(a, many_a, b, many_b, matrices):
    solve = jnp.linalg.solve
    over = lambda *axes, out=0: jax.vmap(solve, axes, out)
    y = over(None, 0)(a, many_b) + over(None, 1)(a, many_b) + over(None, 0, out=1)(a, many_b) + solve(a, many_b)
    y += over(0, None)(many_a, b) + over(0, 0)(many_a, many_b) + over(2, 1)(many_a, many_b)
    z = over(None, 0)(a, matrices) + over(None, 1)(a, matrices) + over(0, 0)(many_a, matrices)
    return y, z, jax.vmap(over(None, 0), (None, 2))(a, matrices), jax.vmap(over(0, None), (None, 0))(many_a, many_b)


@case(spd(4), r(4))
def cholesky(a, b):
    l = jnp.linalg.cholesky(a)
    return jax.scipy.linalg.cho_solve((l, True), b) + jnp.log(jnp.diag(l)).sum()


@case(spd(4), r(4))
def triangular(a, b):
    return jax.scipy.linalg.solve_triangular(a, b, lower=True) + jax.scipy.linalg.solve_triangular(a, b, trans=1)


@case(r(4, 4) + 4 * np.eye(4))
def determinants(a):
    return jnp.linalg.det(a) + jnp.linalg.slogdet(a)[1] + jnp.linalg.det(a[:2, :2])


# Vectors are compared where their signs do not count; _apart has other random numbers, so that those of what follows stay.
_apart = np.random.default_rng(11).normal(size=(5, 3))


@case(_apart[:3] + np.diag([1.0, 4.0, 9.0]))
def symmetric(a):
    w, v = jnp.linalg.eigh(a)
    return v @ (jnp.sin(w)[:, None] * v.T) + w + jnp.linalg.eigvalsh(a @ a.T)


@case(_apart[:3] + np.diag([1.0, 4.0, 9.0]))
def rectangular_factors(a):
    _, l, u = jax.scipy.linalg.lu(a[:, :2])
    _, m, w = jax.scipy.linalg.lu(a[:2])
    return jnp.sum(l @ jnp.sin(u)) + jnp.sum(jnp.cos(m) @ w)


@case(_apart @ _apart.T + np.arange(25.0).reshape(5, 5))
def hessenberg(a):
    """Of which JAX has no derivative."""
    x = lax.stop_gradient(a)
    h, q = jax.scipy.linalg.hessenberg(x, calc_q=True)
    more = jax.scipy.linalg.hessenberg(x[:2, :2])[0, 0] + jax.scipy.linalg.hessenberg(x[:1, :1])[0, 0]
    return (h + jnp.cos(q) + more) * a


@case(_apart, _apart.T)
def orthogonal(a, b):
    q, s = jnp.linalg.qr(a)
    u, v = jnp.linalg.qr(b[:, :3])
    return q @ jnp.cos(s) + (u @ v)[:1] * 2 + jnp.sin(s)[0]


@case(_apart, _apart[:, 0])
def singular(a, b):
    u, s, vt = jnp.linalg.svd(a, full_matrices=False)
    return (u * jnp.cos(s)) @ vt + jnp.linalg.svd(a.T, compute_uv=False) + jnp.linalg.norm(a, 2) + jnp.linalg.norm(a, "nuc")


@case(_apart, _apart[:, 0])
def least_squares(a, b):
    return jnp.linalg.lstsq(a, b)[0] + jnp.linalg.pinv(a) @ b


@case(r(3))
def norms(x):
    return jnp.linalg.norm(x) * x / (1 + jnp.linalg.norm(x, ord=1)) + jnp.cross(x, x[::-1])


@case(spd(4), r(4))
def conjugate_gradients(a, b):
    return jax.scipy.sparse.linalg.cg(lambda x: (a + a.T) @ x, b, tol=1e-14)[0]


@case(r(4, 4) + 4 * np.eye(4), r(4))
def generalized_minimal_residuals(a, b):
    return jax.scipy.sparse.linalg.gmres(lambda x: a @ x, b, tol=1e-14, M=lambda x: x / jnp.diag(a))[0]


@case(r(4, 4) + 4 * np.eye(4), r(4))
def linear_systems(a, b):
    def solve(matvec, b):
        return jnp.linalg.solve(a, b), jnp.linalg.norm(b)

    def transpose_solve(vecmat, b):
        return jnp.linalg.solve(a.T, b), jnp.linalg.norm(b)

    x, size = jax.lax.custom_linear_solve(lambda x: a @ x, b, solve, transpose_solve, has_aux=True)
    s = a + a.T
    y = jax.lax.custom_linear_solve(lambda x: s @ x, x, lambda _, b: jnp.linalg.inv(s) @ b, symmetric=True)
    return x * y + size


@case(spd(4), r(4))
def gaussian(a, x):
    return jax.scipy.stats.multivariate_normal.logpdf(x, jnp.zeros(4), a) + jax.scipy.stats.norm.logpdf(x).sum()


# ---- control flow ---------------------------------------------------------------------


@case(r(3), r(5))
def scan(c, xs):
    step = lambda c, x: (jnp.tanh(c * x) + c, c.sum() * x)
    return lax.scan(step, c, xs)


@case(r(3), r(5, 3))
def scan_reverse(c, xs):
    return lax.scan(lambda c, x: (c * x + jnp.sin(c), c), c, xs, reverse=True, unroll=2)


@case(r(3))
def fori(x):
    return lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) + i * x, x)


@case(r(3))
def while_loop(x):
    return lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, jnp.cos(c[1]) * x), (0, x))[1]


@case(positive(1)[0])
def newton_while(a):
    return lax.while_loop(
        lambda c: jnp.abs(c[0] ** 2 - a) > 1e-12, lambda c: (0.5 * (c[0] + a / c[0]), c[1] + 1), (a, 0)
    )[0]


@case(r(3), np.float64(0.4))
def cond(x, p):
    return lax.cond(p > 0.3, lambda x: jnp.sin(x) * p, lambda x: x**2, x)


@case(r(3), np.int64(2))
def switch(x, i):
    return lax.switch(i, [jnp.sin, lambda x: x * 2, lambda x: jnp.exp(x) * x], x)


@case(r(4, 3))
def vmap_of_cond(x):
    return jax.vmap(lambda x: lax.cond(x.sum() > 0, jnp.sin, lambda x: x**2, x))(x)


@case(positive(4))
def vmap_of_while(x):
    return jax.vmap(lambda a: lax.while_loop(lambda c: c < 10.0, lambda c: c * (1 + a), a))(x)


@case(r(6))
def associative_scan(x):
    return lax.associative_scan(lambda a, b: a * b + a, x)


@case(r(4, 3))
def lax_map(x):
    return lax.map(lambda x: jnp.sin(x) @ x, x)


# ---- transformations inside --------------------------------------------------------------


@case(r(4))
def grad_inside(x):
    return jax.grad(lambda x: (jnp.sin(x) * x**2).sum())(x) * x


@case(r(4), r(4))
def jvp_inside(x, v):
    return jax.jvp(lambda x: jnp.tanh(x) * x.sum(), (x,), (v,))[1]


@case(r(3))
def hessian_inside(x):
    return jax.hessian(lambda x: (jnp.exp(x) * x[::-1]).prod())(x).sum(0)


@case(r(5, 3), r(3))
def vmap_inside(xs, w):
    return jax.vmap(lambda x: jnp.tanh(x @ w) * x)(xs)


@case(r(3))
def jit_inside(x):
    f = jax.jit(lambda x: jnp.sin(x) * x)
    return f(x) + jax.jit(f)(x * 2)


@jax.custom_jvp
def _log1pexp(x):
    return jnp.log1p(jnp.exp(x))


@_log1pexp.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return _log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t


@case(r(5))
def custom_jvp(x):
    return _log1pexp(x) * jax.vmap(_log1pexp)(x[::-1])


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _scaled(x, k):
    return x * k


@_scaled.defjvp
def _(k, primals, tangents):
    return _scaled(primals[0], k), tangents[0] * k * 3  # three times too much, which must be seen


@case(r(5))
def custom_jvp_of_another_value(x):
    return _scaled(x, 2.0) + x


@jax.custom_vjp
def _clipped(x):
    return jnp.sin(x)


_clipped.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda c, g: (2 * c * g,))


@case(r(5), jvp=False)
def custom_vjp(x):
    return _clipped(x) * x


@jax.custom_vjp
def _limited(x, n):
    return x * n


_limited.defvjp(lambda x, n: (x * n, None), lambda _, g: (jnp.clip(g, -0.1, 0.1), None))


@case(r(5), jvp=False, hvp=False)
def custom_vjp_that_clips(x):
    return _limited(x, 3).sum() ** 2


@case(r(4))
def checkpoint(x):
    return jax.checkpoint(lambda x: jnp.sin(jnp.sin(x) * x))(x)


@case(r(4, 4))
def checkpoint_policy(x):
    from jax.ad_checkpoint import checkpoint_name

    g = lambda x: jnp.tanh(checkpoint_name(jnp.sin(x @ x), "inner") @ x)
    p = jax.checkpoint_policies
    policies = [
        p.save_only_these_names("inner"),
        p.dots_saveable,
        p.dots_with_no_batch_dims_saveable,
        p.everything_saveable,
    ]
    return sum(jax.checkpoint(g, policy=policy)(x) for policy in policies)


@case(r(3), r(4, 3))
def checkpointed_scan(c, xs):
    return lax.scan(jax.checkpoint(lambda c, x: (jnp.tanh(c + x), c * x)), c, xs)


# ---- models ---------------------------------------------------------------------------------


@case({"w1": r(3, 5), "b1": r(5), "w2": r(5, 2)}, r(6, 3), _rng.integers(0, 2, 6))
def mlp(p, x, labels):
    z = jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"]
    return -jnp.take_along_axis(jax.nn.log_softmax(z), labels[:, None], axis=1).mean()


@case(r(4, 4), r(4, 3), r(6, 3))
def rnn(w, u, xs):
    return lax.scan(lambda h, x: (jnp.tanh(w @ h + u @ x),) * 2, jnp.zeros(4), xs)


@case(r(3, 8), r(8), r(4, 2, 3))
def lstm(w, b, xs):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ w + b + jnp.tile(h, (1, 4)), 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), c.sum()

    return lax.scan(step, (jnp.zeros((2, 2)), jnp.zeros((2, 2))), xs)


@case(r(5, 8), r(8, 8), r(8, 8), r(8, 8))
def attention(x, q, k, v):
    heads = lambda w: (x @ w).reshape(5, 2, 4)
    s = jnp.einsum("qhd,khd->hqk", heads(q), heads(k)) / 2
    s = jnp.where(jnp.tril(jnp.ones((5, 5), bool)), s, -1e30)
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(s), heads(v)).reshape(5, 8)


@case(r(4, 6), positive(6), r(6))
def layer_norm(x, scale, bias):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - m) * lax.rsqrt(v + 1e-6) * scale + bias


@case(r(2), np.float64(0.05), positive(4))
def runge_kutta(y, h, p):
    def field(y):
        return jnp.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def step(y, _):
        k1 = field(y)
        k2 = field(y + h / 2 * k1)
        k3 = field(y + h / 2 * k2)
        k4 = field(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return lax.scan(step, y, None, length=10)


@case(r(4), r(8, 1))
def control(x0, us):
    def step(x, u):
        p, t, v, w = x
        s, c = jnp.sin(t), jnp.cos(t)
        a = (u[0] + 0.2 * s * (0.5 * w**2 + 9.81 * c)) / (1 + 0.2 * s**2)
        x = x + 0.05 * jnp.stack([v, w, a, -a * c - 9.81 * s])
        return x, (x**2).sum() + 0.1 * u[0] ** 2

    return lax.scan(step, x0, us)[1].sum()


@case(r(6, 3))
def potential(x):
    d = x[:, None] - x[None]
    r2 = (d**2).sum(-1) + jnp.eye(6)
    return (1 / r2**6 - 1 / r2**3).sum() / 2


@case(r(20, 3), r(20), positive(3))
def gaussian_process(x, y, p):
    d = ((x[:, None] - x[None]) ** 2).sum(-1)
    l = jnp.linalg.cholesky(p[0] * jnp.exp(-d / p[1]) + (p[2] + 1) * jnp.eye(20))
    a = jax.scipy.linalg.solve_triangular(l, y, lower=True)
    return a @ a / 2 + jnp.log(jnp.diag(l)).sum()


@case(r(8, 8))
def heat(u):
    def step(u, _):
        lap = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u
        return u + 0.1 * lap, None

    return lax.scan(step, u, None, length=6)[0]


# ---- random numbers: JAX's, of its keys ----------------------------------------------------------


@case(r(5), np.int32(7))
def dropout(x, seed):
    key = jax.random.key(seed)
    kept = jax.random.bernoulli(key, 0.6, x.shape)
    return jnp.where(kept, jnp.tanh(x) / 0.6, 0.0)


@case(r(4), np.array([0, 42], np.uint32))
def reparametrized(mean, key):
    keys = jax.random.split(key, 3)
    draws = jax.vmap(lambda k: jax.random.normal(k, mean.shape))(keys)
    return mean**2 + jnp.exp(0.1 * mean) * draws


@case(r(3), np.array([[0, 42], [1, 7]], np.uint32))
def random_walk(x, keys):
    def step(carry, _):
        x, key = carry
        key, used = jax.random.split(key)
        x = x + 0.1 * jnp.sin(x) * jax.random.uniform(used, x.shape, minval=-1, maxval=2)
        return (x, key), x.sum()

    one = lambda key: lax.scan(step, (x, jax.random.wrap_key_data(key)), None, length=5)
    (end, last), sums = jax.vmap(one)(keys)
    return end, sums, jax.random.key_data(last)


@case(r(6).astype(np.float32), np.array([3, 4], np.uint32), np.int32(2))
def drawn_f32(x, key, i):
    keys = jax.random.split(jax.random.fold_in(jax.random.wrap_key_data(key), i), (2, 2))
    a = jax.random.uniform(keys[0, i - 1], x.shape, jnp.float32)
    b = jax.random.gumbel(jnp.where(i > 1, keys[1, 0], keys[1, 1]), x.shape, jnp.float32)
    return x * a + jnp.sin(x) * b


@case(r(8), np.array([3, 4], np.uint32))
def shuffled(x, key):
    order = jax.random.permutation(key, 8)
    rolled = jax.random.randint(jax.random.fold_in(key, 1), (3,), -5, 90)
    chosen = jax.random.categorical(jax.random.fold_in(key, 2), x, shape=(4,))
    return x[order] * jnp.arange(8), rolled, x[chosen] ** 2


@case(r(4), np.array([3, 2**32 - 4], np.uint32))
def older_keys(x, key):
    with jax.threefry_partitionable(False):
        a, b = jax.random.split(key)
        y = x * jax.random.normal(a, x.shape) + jax.random.uniform(b, x.shape, jnp.float32)
        return y, jax.random.bits(b, (5,), jnp.uint32)


@case(r(4), np.array([5, 2**32 - 4, 9, 2**31], np.uint32))
def words(x, k):
    bits = lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32) ^ (k << 3) ^ (k >> 7)
    y = x * lax.population_count(bits).astype(x.dtype) + lax.clz(k)
    return y, lax.shift_right_arithmetic(k, jnp.uint32(4)), ~bits


# ---- convolutions and windows ---------------------------------------------------


_NHWC = ("NHWC", "HWIO", "NHWC")


@case(r(2, 8, 8, 2), r(3, 3, 2, 4), r(4), r(3, 3, 4, 6), r(24, 5))
def cnn(x, w, b, v, dense):
    x = jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=_NHWC) + b)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.gelu(lax.conv_general_dilated(x, v, (1, 1), "SAME", dimension_numbers=_NHWC))
    x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    return jax.nn.log_softmax(x.reshape(2, -1) @ dense)


@case(r(2, 4, 7, 6), r(4, 1, 3, 3), r(6, 4, 1, 1))
def depthwise_separable(x, depth, point):
    x = lax.conv_general_dilated(x, depth, (2, 1), "SAME", feature_group_count=4)
    return lax.conv_general_dilated(jnp.tanh(x), point, (1, 1), "VALID")


@case(r(2, 4, 5, 3), r(3, 2, 3, 4))
def transposed_convolution(x, w):
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=_NHWC)


@case(r(3, 16, 2), r(2, 2, 3), r(2, 3, 3))
def dilated_causal(x, w, v):
    def layer(x, w, d):
        return lax.conv_general_dilated(x, w, (1,), [(d, 0)], rhs_dilation=(d,), dimension_numbers=("NWC", "WIO", "NWC"))

    return layer(jnp.tanh(layer(x, w, 2)), v, 4)


@case(r(12), r(5))
def convolve(x, k):
    return jnp.convolve(x, k, "same") + jnp.convolve(x, k, "full")[2:-2] + jnp.correlate(x, k, "same")


@case(r(6, 7), r(3, 2))
def convolve2d(x, k):
    return jax.scipy.signal.convolve2d(x, k, mode="same")


@case(r(3, 2, 5, 6), r(3, 3, 2, 4))
def batched_kernels(x, w):
    return jax.vmap(lambda x: lax.conv_general_dilated(x[None], w, (1, 1), "SAME", dimension_numbers=("NCHW", "HWIO", "NCHW")))(x)


@case(r(2, 6, 5), r(2, 3, 3))
def kernel_for_each(x, w):
    return jax.vmap(lambda x, w: lax.conv(x[None, None], w[None, None], (1, 1), "SAME")[0, 0])(x, w)


@case(r(2, 4, 5, 4, 2), r(2, 3, 2, 2, 3))
def volume(x, w):
    return lax.conv_general_dilated(x, w, (1, 2, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))


@case(r(3, 20))
def moving(x):
    largest = lax.reduce_window(x, -jnp.inf, lax.max, (1, 11), (1, 1), "SAME")
    return largest * lax.reduce_window(x, 0.0, lax.add, (1, 12), (1, 1), "SAME")


@case(r(3, 7))
def smallest(x):
    return lax.reduce_window(jnp.exp(x), jnp.inf, lax.min, (2, 3), (1, 2), "VALID") * x[:2, :3]


@case(r(4, 6), np.array([[3, 1, 4], [1, 5, 9]]))
def largest(x, n):
    """With the first of equals first; bits; the larger of truth values."""
    values, places = lax.top_k(x, 4)
    ties, first = lax.top_k(jnp.round(jnp.abs(x)), 2)
    a, b = jnp.asarray(x) > 0, jnp.asarray(x) < 0.5
    by = ((0, lax.bitwise_or), (-1, lax.bitwise_and), (0, lax.bitwise_xor))
    bits = [lax.reduce(n, start, join, (1,)) for start, join in by]
    odd = lax.reduce(a, False, lax.bitwise_xor, (0,))
    return values * x[:, :1], places, ties, first, lax.max(a, b), lax.min(a, b), odd, *bits, lax.argmax(x, 1, np.uint32)


@case(np.array([0, 3], np.uint32), r(4, 3))
def truncated_normal(key, x):
    """By nextafter; rounded to what 16 bits have, of which the derivative is that of the identity."""
    drawn = jax.random.truncated_normal(jax.random.wrap_key_data(key), x - 2, x + 2)
    return drawn * x, lax.reduce_precision(lax.stop_gradient(x), 5, 10) * x


# ---- what is refused: (f, arguments, what the message names) ------------------------------------

@case(positive(4), jvp=True, hvp=False)
def gamma_samples(a):
    return jax.random.gamma(jax.random.key(3), a, dtype=jnp.float64) + jax.random.loggamma(jax.random.key(4), a / 2)


@case(positive(4), positive(4), hvp=False)
def beta_and_dirichlet_samples(a, b):
    return jax.random.beta(jax.random.key(5), a, b), jax.random.dirichlet(jax.random.key(6), a + b)


@case(r(6), np.arange(6, dtype=np.uint8) * 50, np.arange(6, dtype=np.int8) * 25 - 70)
def narrow_integers(x, u, i):
    a = u + jnp.uint8(200)
    b = i * jnp.int8(3) - jnp.int8(100)
    c = (a ^ u) << 1 | a >> 2
    d = jnp.where(b > i, b // jnp.int8(7), -b)
    e = jnp.cumsum(u, dtype=jnp.uint8)[::-1] @ jnp.ones(6, jnp.uint8)
    shifted = i >> jnp.int8(2), i.astype(jnp.int16) * jnp.int16(300) >> jnp.int16(3)
    return x * (u / 255) + c.astype(float) * jnp.take(x, u % 6) + d, a, b, c, d, e, (u.astype(jnp.uint16) * u).max(), *shifted


@case(r(5), np.array([0, 250, 3, 128, 77], np.uint8))
def an_image(w, pixels):
    def step(carry, p):
        seen, total = carry
        return (seen + p, total + p.astype(float) * w.sum()), seen

    (seen, total), ys = lax.scan(step, (jnp.uint8(7), 0.0), pixels)
    return total + jnp.sum(jnp.tanh(pixels.astype(float) / 255 * w)), seen, ys


def half(dtype, *shape):
    return np.asarray(jnp.asarray(r(*shape), dtype))


# Second derivatives are as far from exact as JAX's (mean of the largest errors of six draws: 2.9e-2, JAX 3.3e-2), in other directions.
@case(half(jnp.bfloat16, 8, 5), half(jnp.bfloat16, 5, 6), half(jnp.bfloat16, 6, 3), hvp=False)
def bfloat16_layers(x, w, v):
    return jax.nn.softmax(jax.nn.gelu(x @ w) @ v).astype(jnp.float32).sum(0), x @ w


@case(half(jnp.float16, 4, 8), half(jnp.float16, 4, 8), half(jnp.float16, 4, 8))
def float16_attention(q, k, v):
    scores = q @ k.T / jnp.asarray(8, q.dtype) ** 0.5
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((4, 4), bool)), scores, -jnp.inf)) @ v


@case(r(7, 4).astype(np.float32), r(4, 3).astype(np.float32), within="bfloat16")
def half_products(x, w):
    h = lax.dot(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
    scaled = (h * 8).astype(jnp.float16)
    return jnp.tanh(h) + (scaled * jnp.sin(scaled)).astype(jnp.float32)


@case(half(jnp.bfloat16, 6, 3))
def bfloat16_scan(xs):
    step = lambda c, x: (c * jnp.bfloat16(0.5) + jnp.tanh(x), c.astype(jnp.float32).sum())
    last, sums = lax.scan(step, jnp.zeros(3, jnp.bfloat16), xs)
    return last, sums, jnp.cumsum(xs, 0)[-1]


@case(half(jnp.bfloat16, 16))
def half_random_numbers(x):
    a, b, c = jax.random.split(jax.random.key(7), 3)
    noise = jax.random.normal(a, (16,), jnp.bfloat16) + jax.random.uniform(b, (16,), jnp.float16).astype(jnp.bfloat16)
    return x * noise, jax.random.bits(c, (5,), jnp.uint8), jax.random.bits(c, (5,), jnp.uint16)


@case(r(5), np.array([0, 1, 2**63, 2**64 - 1, 5000000000], np.uint64), np.array([250, 3, 128, 0, 77], np.uint8))
def unsigned_words(x, u, b):
    """Arguments and results of their own dtypes."""
    order = jnp.sort(u), jnp.argmax(u), u.max(), u > jnp.uint64(7), jnp.cumsum(b), lax.clz(b), lax.population_count(u)
    parts = u // jnp.uint64(3), u % jnp.uint64(10), u >> jnp.uint64(3), b * b, b // jnp.uint8(7), ~b, -u
    casts = u.astype(jnp.float32), u.astype(jnp.int16), b.astype(jnp.int8), lax.bitcast_convert_type(b, jnp.int8), u[b % 5]
    return x * b, *order, *parts, *casts, (u.astype(float) / 3).astype(jnp.uint64)


@case(np.array([300.5, -200.25, np.nan, 1e20, -1e20, 127.9, 65519.0]), jvp=False, hvp=False)
def saturated(x):
    kinds = jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.uint32, jnp.uint64
    return jnp.sum(jnp.where(x < 100, x, 0.0) * 0), *[x.astype(k) for k in kinds], x.astype(jnp.float16).astype(jnp.int8)


REFUSED = [
    (lambda x: lax.linalg.schur(jnp.outer(x, x), sort_eig_vals=True, select_callable=lambda w: w > 0)[0][0] + jnp.asarray(x).at[jnp.array([0, 0])].apply(jnp.sin), (r(3),), ["sorted eigenvalues", "scatter_apply"]),
    (lambda x: jnp.asarray(x).at[jnp.array([0, 0])].apply(jnp.sin), (r(3),), ["scatter_apply"]),
    (lambda x: x.astype(jnp.float8_e5m2), (r(3),), ["dtype float8_e5m2"]),
    (lambda x: jnp.nextafter(x.astype(jnp.bfloat16), jnp.bfloat16(1)), (r(3),), ["nextafter of bfloat16"]),
    (lambda x: lax.reduce_window(x, 1.0, lax.add, (2,), (1,), "SAME"), (r(3),), ["reduce_window by add from a start"]),
    (lambda x: lax.reduce_window(x, 0.0, jnp.hypot, (2,), (1,), "SAME"), (r(3),), ["reduce_window by a function"]),
    (
        lambda x: jax.checkpoint(jnp.sin, policy=lambda prim, *_, **__: prim.name == "sin")(x),
        (r(3),),
        ["checkpoint with the policy"],
    ),
    (lambda x: lax.scan(lambda c, x: (c + lax.approx_max_k(x, 2)[0].sum(), None), 0.0, x)[0], (r(2, 3),), ["approx_top_k"]),
]
