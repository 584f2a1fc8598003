"""Programs of many kinds, as a user of JAX would write them: what from_jax.py --more compares besides its own."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
R = np.random.default_rng(0)
PROGRAMS = {}  # of each name the function, its arguments and whether these may be f32


def r(*shape):
    return R.normal(size=shape)


def rk4(f, h):
    """A step of the classical Runge-Kutta method, for scan."""

    def step(x, _):
        k1 = f(x)
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        k4 = f(x + h * k3)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return step


def program(*args, f32=True):
    def add(f):
        PROGRAMS[f.__name__] = (f, args, f32)
        return f

    return add


@program(r(200, 3), r(200, 3))
def rbf_gp_kernel(x, y):
    d = ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)
    return jnp.exp(-0.5 * d).sum()


@program(r(1000, 20), r(20), R.integers(0, 2, 1000).astype(float))
def logistic_reg(X, w, y):
    z = X @ w
    return jnp.mean(jnp.logaddexp(0, z) - y * z) + 0.1 * (w**2).sum()


@program(r(64, 64, 1), r(3, 3, 1, 8), r(3, 3, 8, 8))
def cnn_small(img, k1, k2):
    h = lax.conv_general_dilated(img[None], k1, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = jax.nn.relu(h)
    h = lax.conv_general_dilated(h, k2, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.tanh(h).sum()


@program(
    r(12),
)
def lorenz96(x):
    x = jnp.tile(x, 10)
    f = lambda x: (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + 8.0

    return (lax.scan(rk4(f, 0.01), x, None, length=300)[0] ** 2).sum()


@program(
    r(100, 100),
)
def heat_adi(u):
    def step(u, _):
        lap = jnp.pad(u[2:] - 2 * u[1:-1] + u[:-2], ((1, 1), (0, 0))) + jnp.pad(
            u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2], ((0, 0), (1, 1))
        )
        return u + 0.1 * lap - 0.01 * u**3, None

    return (lax.scan(step, u, None, length=100)[0] ** 2).sum()


@program(
    r(5000),
)
def garch(x):
    def step(s, xt):
        s = 0.05 + 0.1 * xt**2 + 0.85 * s
        return s, -0.5 * (jnp.log(s) + xt**2 / s)

    return lax.scan(step, 1.0, x)[1].sum()


@program(np.abs(r(10, 10)) + 0.1, np.abs(r(10, 50)) + 0.1, R.integers(0, 50, 400))
def hmm_forward(A, B, obs):
    A = jnp.log(A / A.sum(1, keepdims=True))
    B = jnp.log(B / B.sum(1, keepdims=True))

    def step(a, o):
        return jax.nn.logsumexp(a[:, None] + A, axis=0) + B[:, o], None

    a, _ = lax.scan(step, B[:, obs[0]], obs[1:])
    return jax.nn.logsumexp(a)


@program(r(32, 16), r(16, 48), r(48, 16))
def attention_block(x, wqkv, wo):
    q, k, v = jnp.split(x @ wqkv, 3, axis=-1)
    h = lambda t: t.reshape(32, 4, 4).transpose(1, 0, 2)
    q, k, v = h(q), h(k), h(v)
    s = jnp.einsum("hqd,hkd->hqk", q, k) / 2.0
    s = jnp.where(jnp.tril(jnp.ones((32, 32), bool)), s, -1e9)
    o = jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(s, -1), v).transpose(1, 0, 2).reshape(32, 16)
    return ((o @ wo.T[:, :].T.reshape(48, 16)[:16]) ** 2).sum()


@program(r(500, 10), r(8, 10), np.abs(r(8, 10)) + 0.2, r(8))
def gmm_diag(X, mu, s, la):
    d = (X[:, None, :] - mu) / s
    ll = -0.5 * (d**2).sum(-1) - jnp.log(s).sum(-1) + jax.nn.log_softmax(la)
    return jax.nn.logsumexp(ll, axis=1).sum()


@program(
    r(100, 6),
)
def rigid_chain(q):
    def rot(a):
        c, s = jnp.cos(a), jnp.sin(a)
        return jnp.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])

    def step(T, a):
        T = T @ rot(a[0]) @ jnp.eye(3).at[0, 2].set(a[1])
        return T, T[:2, 2]

    T, p = lax.scan(step, jnp.eye(3), q)
    return (p**2).sum()


@program(r(50, 50), r(50), f32=False)
def chol_loglik(A, y):
    S = A @ A.T + 50 * jnp.eye(50)
    L = jnp.linalg.cholesky(S)
    z = lax.linalg.triangular_solve(L, y[:, None], left_side=True, lower=True)
    return -0.5 * (z**2).sum() - jnp.log(jnp.diag(L)).sum()


@program(r(4000), r(4000))
def fir(x, y):
    k = jnp.hanning(65)
    return (jnp.convolve(x, k, mode="same") * y).sum()


@program(r(300, 300))
def median_filter_like(x):
    s = jnp.stack([jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    return jnp.sort(s, axis=0)[4].sum()


@program(r(2000, 3), R.integers(0, 2000, (6000, 2)))
def springs(x, e):
    d = x[e[:, 0]] - x[e[:, 1]]
    l = jnp.sqrt((d**2).sum(1) + 1e-9)
    return ((l - 1) ** 2).sum()


@program(r(256, 30), r(30, 100), r(100), r(100, 1))
def pinn_hess(x, w1, b, w2):
    u = lambda z: (jnp.tanh(z @ w1 + b) @ w2)[0]
    lap = lambda z: jnp.trace(jax.hessian(u)(z[:]))
    return (jax.vmap(lap)(x[:16]) ** 2).mean()


@program(r(20), r(20, 20), f32=False)
def newton_fixed(x, A):
    f = lambda y: y - 0.1 * jnp.tanh(A @ y) - x

    def step(y, _):
        J = jnp.eye(20) - 0.1 * (1 - jnp.tanh(A @ y) ** 2)[:, None] * A
        return y - jnp.linalg.solve(J, f(y)), None

    return (lax.scan(step, x, None, length=8)[0] ** 2).sum()


@program(r(128, 32), r(32, 128), r(128, 32), r(32), f32=False)
def gru_seq(xs, w, u, h0):
    W = w[:, :96]
    U = u[:96].T

    def step(h, x):
        gx = x @ W
        gh = h @ U
        z = jax.nn.sigmoid(gx[:32] + gh[:32])
        rr = jax.nn.sigmoid(gx[32:64] + gh[32:64])
        n = jnp.tanh(gx[64:] + rr * gh[64:])
        h = (1 - z) * n + z * h
        return h, h

    return (lax.scan(step, h0, xs)[1] ** 2).sum()


@program(
    r(30),
)
def rosen(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@program(r(1000, 50))
def corr_matrix(X):
    Z = (X - X.mean(0)) / X.std(0)
    C = Z.T @ Z / 1000
    return (jnp.triu(C, 1) ** 2).sum()


@program(r(64, 64), r(64, 64))
def sinkhorn(C, _):
    K = -jnp.abs(C) / 0.1

    def it(fg, _):
        f, g = fg
        f = -jax.nn.logsumexp(K + g[None, :], axis=1)
        g = -jax.nn.logsumexp(K + f[:, None], axis=0)
        return (f, g), None

    (f, g), _ = lax.scan(it, (jnp.zeros(64), jnp.zeros(64)), None, length=50)
    return (jnp.exp(K + f[:, None] + g) * jnp.abs(C)).sum()


@program(r(3, 64, 64), f32=False)
def lbm_like(f):
    w = jnp.array([0.5, 0.25, 0.25])[:, None, None]

    def step(f, _):
        rho = f.sum(0)
        u = (f[1] - f[2]) / (jnp.abs(rho) + 1)
        feq = w * rho * (1 + u + u * u)
        f = f + 0.3 * (feq - f)
        return jnp.stack([f[0], jnp.roll(f[1], 1, 0), jnp.roll(f[2], -1, 0)]), None

    return (lax.scan(step, f, None, length=50)[0] ** 2).sum()


@program(np.sort(R.uniform(size=50)), r(50), R.uniform(size=5000))
def interp1(xp, fp, x):
    return (jnp.interp(x, xp, fp) ** 2).sum()


@program(r(40, 6), r(6, 6), r(6, 3), r(120).reshape(40, 3))
def lqr_rollout(xr, A, B, us):
    A = A * 0.1

    def step(x, ux):
        u, xt = ux
        x = A @ x + B @ u
        return x, ((x - xt) ** 2).sum() + 0.1 * (u**2).sum()

    return lax.scan(step, jnp.ones(6), (us, xr))[1].sum()


@program(r(20, 4), r(20, 2), r(4, 4), r(2, 4))
def kalman(_, ys, F, H):
    F = F * 0.3
    Q = jnp.eye(4) * 0.1
    Rr = jnp.eye(2) * 0.5

    def step(c, y):
        m, P = c
        m = F @ m
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + Rr
        K = jnp.linalg.solve(S, H @ P).T
        v = y - H @ m
        m = m + K @ v
        P = P - K @ H @ P
        return (m, P), -0.5 * (v @ jnp.linalg.solve(S, v) + jnp.linalg.slogdet(S)[1])

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), ys)[1].sum()


@program(r(200, 200))
def layernorm_gelu(x):
    m = x.mean(-1, keepdims=True)
    v = x.var(-1, keepdims=True)
    return (jax.nn.gelu((x - m) / jnp.sqrt(v + 1e-5)) ** 2).sum()


@program(r(8, 100, 100))
def max_pool_stack(x):
    y = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")
    y = lax.reduce_window(y, 0.0, lax.add, (1, 3, 3), (1, 1, 1), "SAME")
    return (y**2).sum()


@program(
    r(10000),
)
def black_scholes(s):
    S = jnp.exp(0.1 * s) * 100
    d1 = (jnp.log(S / 100) + 0.05) / 0.2
    d2 = d1 - 0.2
    N = lambda z: 0.5 * (1 + lax.erf(z / jnp.sqrt(2.0)))
    return (S * N(d1) - 100 * jnp.exp(-0.03) * N(d2)).sum()


@program(
    r(
        500,
    ),
    r(100),
)
def asian_option(z, w):
    def step(s, z):
        s = s * jnp.exp(0.01 * z * w.mean() + 0.001)
        return s, s

    _, p = lax.scan(step, jnp.ones(100) + 0.01 * w, z)
    return jax.nn.softplus(p.mean(0) - 1).sum()


@program(r(64), r(64, 64))
def fft_conv(x, k):
    return (jnp.abs(jnp.fft.fft2(k * x)) ** 2).sum()


@program(r(100, 2), r(2))
def nbody_leapfrog(x, v):
    def acc(x):
        d = x[None] - x[:, None]
        r2 = (d**2).sum(-1) + 0.01
        return (d / r2[..., None] ** 1.5).sum(1)

    def step(c, _):
        x, v = c
        v = v + 1e-3 * acc(x)
        return (x + 1e-3 * v, v), None

    (x, v), _ = lax.scan(step, (x, jnp.zeros_like(x)), None, length=20)
    return (x**2).sum()


@program(r(300, 8), r(300))
def poly_features(X, y):
    F = jnp.concatenate([X, X**2, (X[:, :, None] * X[:, None, :]).reshape(300, 64)], 1)
    w = jnp.linalg.solve(F.T @ F + 1e-1 * jnp.eye(80), F.T @ y)
    return ((F @ w - y) ** 2).sum()


@program(
    r(100000),
)
def huber_seg(x):
    i = jnp.arange(100000) // 100
    s = jax.ops.segment_sum(jnp.where(jnp.abs(x) < 1, 0.5 * x * x, jnp.abs(x) - 0.5), i, 1000)
    return jnp.log1p(s).sum()


@program(r(64, 128), r(64, 128))
def dtw_like(a, b):
    D = jnp.abs(a[:, :64] - b[:, :64])

    def row(prev, d):
        def cell(left, pd):
            up, diag, dd = pd
            v = dd - jnp.log(jnp.exp(-left) + jnp.exp(-up) + jnp.exp(-diag))
            return v, v

        _, r = lax.scan(cell, 1.0, (prev, jnp.concatenate([jnp.ones(1), prev[:-1]]), d))
        return r, None

    return lax.scan(row, jnp.ones(64), D)[0][-1]


@program(r(300, 64), r(64, 128), r(128, 128), r(128, 10), R.integers(0, 10, 300))
def mlp_ce(x, w1, w2, w3, y):
    h = jax.nn.relu(x @ w1 * 0.1)
    h = jax.nn.relu(h @ w2 * 0.1)
    l = h @ w3 * 0.1
    return -jnp.take_along_axis(jax.nn.log_softmax(l), y[:, None], 1).mean()


@program(r(1000, 50), R.integers(0, 1000, (64, 20)), r(50, 5))
def embedding_bag(E, idx, w):
    return jnp.tanh(E[idx].mean(1) @ w).sum()


@program(np.abs(r(2000)) + 0.5, np.abs(r(2000)) + 0.5, np.abs(r(3)) + 1)
def gamma_lik(x, y, p):
    a, b, c = p
    return (jsp.stats.gamma.logpdf(x, a, scale=1 / b) + jsp.stats.beta.logpdf(y / (1 + y), a, c)).sum()


@program(R.poisson(3, 5000).astype(float), r(5000, 5), r(5))
def negbin(y, X, w):
    mu = jnp.exp(X @ w * 0.1)
    k = 2.5
    return (
        jax.lax.lgamma(y + k)
        - jax.lax.lgamma(y + 1.0)
        - jax.lax.lgamma(jnp.full_like(y, k))
        + y * jnp.log(mu / (mu + k))
        + k * jnp.log(k / (mu + k))
    ).sum()


@program(r(256, 256))
def bilateral(x):
    out = 0.0
    wsum = 0.0
    for i in range(-2, 3):
        for j in range(-2, 3):
            s = jnp.roll(x, (i, j), (0, 1))
            w = jnp.exp(-(i * i + j * j) / 4 - (s - x) ** 2)
            out = out + w * s
            wsum = wsum + w
    return ((out / wsum) ** 2).sum()


@program(r(64, 64), r(64, 64))
def maxwell2d(ez, hx):
    def step(c, _):
        e, hx, hy = c
        hx = hx.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))
        hy = hy.at[:-1, :].add(0.5 * (e[1:, :] - e[:-1, :]))
        e = e.at[1:-1, 1:-1].add(0.5 * ((hy[1:-1, 1:-1] - hy[:-2, 1:-1]) - (hx[1:-1, 1:-1] - hx[1:-1, :-2])))
        return (e, hx, hy), (e[32, 32])

    (e, a, b), s = lax.scan(step, (ez, hx, jnp.zeros((64, 64))), None, length=100)
    return (e**2).sum() + (s**2).sum()


@program(r(128, 128))
def shallow_upwind(u):
    def step(u, _):
        f = jnp.where(u > 0, u - jnp.roll(u, 1, 0), jnp.roll(u, -1, 0) - u)
        g = jnp.minimum(jnp.abs(f), jnp.abs(jnp.roll(u, 1, 1))) * jnp.sign(f)
        return u - 0.1 * u * f - 0.05 * g, None

    return (lax.scan(step, jnp.tanh(u), None, length=50)[0] ** 2).sum()


@program(r(50), r(50, 50), f32=False)
def power_iter(x, A):
    S = A @ A.T

    def step(v, _):
        v = S @ v
        return v / jnp.linalg.norm(v), None

    v, _ = lax.scan(step, x, None, length=100)
    return v @ S @ v


@program(r(8), r(8))
def pendulum_rk4(th, om):
    f = lambda s: jnp.stack([s[1], -jnp.sin(s[0]) - 0.1 * s[1]])

    return (lax.scan(rk4(f, 0.02), jnp.stack([th, om]), None, length=1000)[0] ** 2).sum()


@program(r(3), r(3), f32=False)
def lorenz_small(x, y):
    def f(s, p):
        return jnp.array([p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]])

    p = jnp.array([10.0, 28.0, 8 / 3]) + 0.1 * y

    def step(s, _):
        k1 = f(s, p)
        k2 = f(s + 0.005 * k1, p)
        return s + 0.005 * (k1 + k2), None

    return (lax.scan(step, x, None, length=500)[0] ** 2).sum()


@program(r(40, 40), r(40), f32=False)
def cg_solve(A, b):
    S = A @ A.T + 40 * jnp.eye(40)
    x, _ = jax.scipy.sparse.linalg.cg(lambda v: S @ v, b, tol=1e-10, maxiter=100)
    return (x**2).sum()


@program(r(500), r(500))
def earth_movers(a, b):
    return jnp.abs(jnp.cumsum(jax.nn.softmax(a)) - jnp.cumsum(jax.nn.softmax(b))).sum()


@program(r(2000))
def quantile_loss(x):
    s = jnp.sort(x)
    return (s[500] - s[1500]) ** 2 + jnp.sum(s[:100] ** 2)


@program(r(100, 30), r(100, 30))
def contrastive(a, b):
    a = a / jnp.linalg.norm(a, axis=1, keepdims=True)
    b = b / jnp.linalg.norm(b, axis=1, keepdims=True)
    l = a @ b.T / 0.1
    return -jnp.diag(jax.nn.log_softmax(l, 1)).mean() - jnp.diag(jax.nn.log_softmax(l, 0)).mean()


@program(r(32, 10, 16), r(3, 16, 16), r(16, 2))
def tcn(x, k, w):
    h = x
    for d in (1, 2, 4):
        p = jnp.pad(h, ((0, 0), (2 * d, 0), (0, 0)))
        h = (
            jnp.tanh(
                lax.conv_general_dilated(
                    p, k, (1,), "VALID", rhs_dilation=(d,), dimension_numbers=("NWC", "WIO", "NWC")
                )
            )
            + h
        )
    return ((h[:, -1] @ w) ** 2).sum()


@program(r(20, 8, 8, 16), r(3, 3, 1, 16))
def depthwise(x, k):
    return (
        lax.conv_general_dilated(
            x, k, (1, 1), "SAME", feature_group_count=16, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        ** 2
    ).sum()


@program(
    r(60),
)
def triu_fill(x):
    i = jnp.triu_indices(10)
    L = jnp.zeros((10, 10)).at[i].set(x[:55])
    S = L @ L.T + jnp.eye(10)
    return jnp.linalg.slogdet(S)[1]


@program(r(200, 5))
def mvn_lik(X):
    mu = X.mean(0)
    S = jnp.cov(X.T) + 0.1 * jnp.eye(5)
    return jsp.stats.multivariate_normal.logpdf(X, mu, S).sum()


@program(r(1000), f32=False)
def ar_filter(x):
    def step(c, x):
        y = x + 0.5 * c[0] - 0.25 * c[1] + 0.1 * c[2]
        return (y, c[0], c[1]), y

    _, y = lax.scan(step, (0.0, 0.0, 0.0), x)
    return (y**2).sum()


@program(r(16, 12, 12), r(16, 12))
def batch_solve(A, b):
    return (jnp.linalg.solve(A + 12 * jnp.eye(12), b[..., None]) ** 2).sum()


@program(r(30, 30))
def expm_t(A):
    return (jsp.linalg.expm(A * 0.1) ** 2).sum()


@program(r(10, 10, 10), r(10, 10))
def tensor_net(T, M):
    return (jnp.einsum("abc,ad,be,cf->def", T, M, M, M) ** 2).sum()


@program(r(100, 100))
def game_of_smooth(x):
    k = jnp.ones((3, 3))
    y = jax.scipy.signal.convolve2d(jax.nn.sigmoid(x), k, mode="same")
    return (jnp.exp(-((y - 3) ** 2))).sum()


@program(r(4, 64, 32), r(32, 32), r(32, 32), r(32, 32))
def linear_attention(x, q, k, v):
    q, k, v = jax.nn.elu(x @ q) + 1, jax.nn.elu(x @ k) + 1, x @ v
    kv = jnp.cumsum(k[:, :, :, None] * v[:, :, None, :], 1)
    return (jnp.einsum("btd,btde->bte", q, kv) ** 2).sum()


@program(r(1000, 3))
def quaternion(v):
    q = jnp.array([0.5, 0.5, 0.5, 0.5])
    w, u = q[0], q[1:]
    t = 2 * jnp.cross(jnp.broadcast_to(u, v.shape), v)
    return ((v + w * t + jnp.cross(jnp.broadcast_to(u, v.shape), t)) ** 4).sum()


@program(r(50, 2), r(50))
def rational_basis(x, y):
    d = jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1e-12)
    K = jnp.where(d > 0, d**2 * jnp.log(d + 1e-12), 0.0) + jnp.eye(50) * 1e-1
    c = jnp.linalg.solve(K, y)
    return (c**2).sum()


@program(r(400, 400))
def svd_like_norm(X):
    return jnp.sqrt((X**2).sum(0)).sum() + jnp.abs(X).max(1).sum()


@program(
    r(
        5000,
    )
)
def moving_stats(x):
    c = jnp.cumsum(jnp.concatenate([jnp.zeros(1), x]))
    m = (c[50:] - c[:-50]) / 50
    c2 = jnp.cumsum(jnp.concatenate([jnp.zeros(1), x**2]))
    v = (c2[50:] - c2[:-50]) / 50 - m**2
    return jnp.log(v + 1).sum()


@program(
    r(64, 3, 32, 32),
)
def batchnorm_nchw(x):
    m = x.mean((0, 2, 3), keepdims=True)
    v = x.var((0, 2, 3), keepdims=True)
    return jnp.tanh((x - m) / jnp.sqrt(v + 1e-5)).sum() ** 2


@program(r(100), r(100))
def angle_wrap(a, b):
    d = jnp.mod(a - b + jnp.pi, 2 * jnp.pi) - jnp.pi
    return (d**2).sum() + jnp.arctan2(jnp.sin(a), jnp.cos(b)).sum()


@program(r(500), r(500) + 9, r(500), r(500))
def thomas(a, b, c, d):
    def fw(cd, abcd):
        cp, dp = cd
        a, b, c, d = abcd
        m = b - a * cp
        return (c / m, (d - a * dp) / m), (c / m, (d - a * dp) / m)

    _, (cp, dp) = lax.scan(fw, (a[0] * 0, a[0] * 0), (a, b, c, d))
    _, x = lax.scan(lambda x, u: (u[1] - u[0] * x, u[1] - u[0] * x), a[0] * 0, (cp, dp), reverse=True)
    return (x**2).sum()


@program(r(60, 60), r(60))
def gauss_seidel(A, b):
    A = A / 60 + jnp.eye(60)

    def sweep(x, _):
        def one(x, i):
            return x.at[i].set((b[i] - A[i] @ x + A[i, i] * x[i]) / A[i, i]), None

        return lax.scan(one, x, jnp.arange(60))[0], None

    return (lax.scan(sweep, jnp.zeros_like(b), None, length=5)[0] ** 2).sum()


@program(np.abs(r(60, 60)))
def floyd_soft(D):
    def step(D, k):
        return jnp.minimum(D, D[:, k][:, None] + D[k][None]), None

    return lax.scan(step, D, jnp.arange(60))[0].sum()


@program(r(40), r(50))
def dtw(a, b):
    C = (a[:, None] - b[None]) ** 2

    def row(prev, c):
        def cell(l, u):
            up, dg, cc = u
            v = cc + jnp.minimum(jnp.minimum(l, up), dg)
            return v, v

        _, rr = lax.scan(cell, jnp.asarray(1e3, a.dtype), (prev[1:], prev[:-1], c))
        rr = jnp.concatenate([jnp.full((1,), 1e3, a.dtype), rr])
        return rr, None

    return lax.scan(row, jnp.concatenate([jnp.zeros((1,), a.dtype), jnp.full((50,), 1e3, a.dtype)]), C)[0][-1]


@program(r(20000), r(64))
def histogram_soft(x, w):
    i = jnp.clip(((x + 3) * 10).astype(int), 0, 63)
    h = jnp.zeros(64, x.dtype).at[i].add(jnp.exp(-x * x))
    return (h * w).sum()


@program(r(2000, 4), r(8, 4))
def kmeans(X, c):
    d = ((X[:, None] - c[None]) ** 2).sum(-1)
    return d.min(1).sum() + jax.nn.softmax(-d, 1).max()


@program(r(3000), R.integers(0, 3000, 12000), R.integers(0, 3000, 12000))
def pagerank(x, i, j):
    def step(x, _):
        return 0.15 + 0.85 * jnp.zeros_like(x).at[i].add(x[j] * 0.25), None

    return (lax.scan(step, x, None, length=10)[0] ** 2).sum()


@program(r(21), r(10000))
def horner20(c, x):
    y = jnp.zeros_like(x)
    for k in range(21):
        y = y * x * 0.3 + c[k]
    return (y**2).sum()


@program(
    r(5000),
)
def legendre(x):
    x = jnp.tanh(x)
    p0, p1 = jnp.ones_like(x), x
    s = p0 + p1
    for n in range(1, 15):
        p0, p1 = p1, ((2 * n + 1) * x * p1 - n * p0) / (n + 1)
        s = s + p1
    return (s**2).sum()


@program(np.sort(R.uniform(size=30)), r(30), R.uniform(size=3000))
def spline_eval(t, c, x):
    i = jnp.clip(jnp.searchsorted(t, x) - 1, 0, 28)
    u = (x - t[i]) / (t[i + 1] - t[i] + 1e-9)
    return (((1 - u) * c[i] + u * c[i + 1] + u * (1 - u) * (c[i + 1] - c[i])) ** 2).sum()


@program(r(100), r(100, 100))
def ode50(x, A):
    A = A * 0.05

    def f(x):
        return jnp.tanh(A @ x) - x

    return (lax.scan(rk4(f, 0.1), x, None, length=100)[0] ** 2).sum()


@program(r(6), r(1000, 3))
def icp_rigid(p, X):
    a, t = p[:3], p[3:]
    th = jnp.sqrt((a**2).sum() + 1e-12)
    k = a / th
    K = jnp.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    Rm = jnp.eye(3) + jnp.sin(th) * K + (1 - jnp.cos(th)) * (K @ K)
    return jnp.log1p(((X @ Rm.T + t - X[::-1]) ** 2).sum(1)).sum()


@program(r(7), r(7))
def robot_arm(q, qd):
    T = jnp.eye(4)
    s = 0.0
    for i in range(7):
        c, si = jnp.cos(q[i]), jnp.sin(q[i])
        A = jnp.array([[c, -si * 0.3, si * 0.9, 0.1], [si, c * 0.3, -c * 0.9, 0.2], [0, 0.9, 0.3, 0.3], [0, 0, 0, 1.0]])
        T = T @ A
        s = s + T[0, 3] * qd[i]
    return (T[:3, 3] ** 2).sum() + s


@program(r(30, 3), r(30, 2))
def bundle_small(pts, obs):
    def proj(p):
        z = p[2] + 5
        return jnp.array([p[0] / z, p[1] / z])

    e = jax.vmap(proj)(pts) - obs
    return jnp.sqrt(1 + (e**2).sum(1)).sum()


@program(r(200, 64), r(64, 64))
def quad_batch(X, A):
    return jnp.exp(-jnp.einsum("ni,ij,nj->n", X, A @ A.T / 64, X) * 0.01).sum()


@program(r(16, 64, 64), r(64))
def batched_matvec(A, x):
    return jnp.tanh(jnp.einsum("bij,j->bi", A, x)).sum()


@program(r(128, 257))
def odd_softmax(x):
    return (jax.nn.log_softmax(x, 0) * jax.nn.softmax(x, 1)).sum()


@program(r(33, 33, 33))
def lap3d(u):
    l = -6 * u
    for ax in range(3):
        l = l + jnp.roll(u, 1, ax) + jnp.roll(u, -1, ax)
    return (l**2).sum() + (u**4).sum()


@program(r(65, 65))
def poisson_jacobi(f):
    def it(u, _):
        v = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - f[1:-1, 1:-1])
        return u.at[1:-1, 1:-1].set(v), None

    return (lax.scan(it, jnp.zeros_like(f), None, length=100)[0] ** 2).sum()


@program(r(1000), r(3))
def arma_lik(y, p):
    def step(c, y):
        yp, ep = c
        e = y - p[0] * yp - p[1] * ep
        return (y, e), e * e

    _, s = lax.scan(step, (y[0] * 0, y[0] * 0), y)
    return -0.5 * (s * jnp.exp(-p[2])).sum()


@program(r(300, 6), f32=False)
def ekf_like(ys):
    def step(c, y):
        x, Pm = c
        F = jnp.eye(6) + 0.1 * jnp.diag(jnp.cos(x))
        x = x + 0.1 * jnp.sin(x)
        Pm = F @ Pm @ F.T + 0.1 * jnp.eye(6)
        S = Pm + jnp.eye(6)
        K = jnp.linalg.solve(S, Pm).T
        v = y - x
        return (x + K @ v, Pm - K @ Pm), v @ v

    return lax.scan(step, (ys[0] * 0, jnp.eye(6, dtype=ys.dtype)), ys)[1].sum()


@program(r(50, 4), r(4))
def mpc_shooting(u, x0):
    def dyn(x, u):
        return x + 0.05 * jnp.array([x[2], x[3], u[0] - jnp.sin(x[0]) - 0.1 * x[2], u[1] - jnp.sin(x[1]) + 0.1 * x[3]])

    def step(x, u):
        x = dyn(x, u)
        return x, (x**2).sum() + 0.1 * (u**2).sum()

    return lax.scan(step, x0, u)[1].sum()


@program(r(64, 3), r(64))
def coulomb_upper(x, q):
    i, j = np.triu_indices(64, 1)
    d = jnp.sqrt(((x[i] - x[j]) ** 2).sum(-1) + 0.01)
    return (q[i] * q[j] / d).sum()


@program(r(4000))
def total_variation(x):
    return jnp.sqrt(jnp.diff(x) ** 2 + 1e-3).sum() + ((jnp.cumsum(x) * 1e-2) ** 2).sum()


@program(r(40, 40, 40))
def mean_var3(x):
    return (x.mean((0, 1)) ** 2).sum() + x.var((1, 2)).sum() + jnp.abs(x.sum(1)).max()


@program(r(12, 30, 30))
def batch_chol(A):
    S = jnp.einsum("bij,bkj->bik", A, A) + 30 * jnp.eye(30)
    L = jnp.linalg.cholesky(S)
    return jnp.log(jnp.diagonal(L, axis1=1, axis2=2)).sum()


@program(R.integers(0, 5, (200, 20)), r(5, 8), r(8))
def onehot_seq(idx, E, w):
    h = jax.nn.one_hot(idx, 5, dtype=E.dtype) @ E
    return jnp.tanh(h @ w).sum()


@program(r(60), r(60))
def soft_edit_distance(a, b):
    cost = (a[:, None] - b[None]) ** 2

    def row(above, c):
        def column(left, x):
            up, corner, c = x
            v = -jnp.logaddexp(jnp.logaddexp(-left, -up), -corner) + c
            return v, v

        _, now = lax.scan(column, 1e3 + 0 * c[0], (above[1:], above[:-1], c))
        return jnp.concatenate([1e3 + 0 * c[:1], now]), None

    first = jnp.full(61, 1e3, a.dtype).at[0].set(0)
    return lax.scan(row, first, cost)[0][-1]


@program(r(12, 12), r(12))
def gauss_seidel(A, b):
    M = 0.1 * A + 4 * jnp.eye(12, dtype=A.dtype)

    def one(x, i):
        return x.at[i].set((b[i] - M[i] @ x + M[i, i] * x[i]) / M[i, i]), None

    sweep = lambda x, _: (lax.scan(one, x, jnp.arange(12))[0], None)
    return (lax.scan(sweep, jnp.zeros_like(b), None, length=30)[0] ** 2).sum()


@program(r(4, 4), r(4))
def inner_steps(A, x):
    inner = lambda c, _: (c + 0.01 * jnp.tanh(A @ c), None)
    outer = lambda c, _: (lax.scan(inner, c, None, length=10)[0], c[0])
    c, ys = lax.scan(outer, x, None, length=100)
    return (ys**2).sum() + c.sum()


@program(np.array([1.0, 0.0]), np.array([0.9, 0.8]))
def bouncing_ball(x, e):
    def step(s, _):
        bounce = lambda s: jnp.stack([-s[0] * e[0], -s[1] * e[1]])
        fall = lambda s: jnp.stack([s[0] + 0.01 * s[1], s[1] - 0.0981])
        return lax.cond(s[0] < 0, bounce, fall, s), s[0]

    return (lax.scan(step, x, None, length=1000)[1] ** 2).sum()


@program(r(3), r(500))
def switched_regimes(x, u):
    branches = [lambda s: s + 0.01 * jnp.sin(s), lambda s: s * 0.99, lambda s: s - 0.02 * s**2]

    def step(s, u):
        s = lax.switch((s[0] * 3).astype(int), branches, s) + 0.01 * u
        return s, s

    return (lax.scan(step, x, u)[1] ** 2).sum()


@program(r(8), r(5))
def newton_horner(coefficients, z):
    def step(z, _):
        horner = lambda i, c: (c[0] * z + coefficients[i], c[1] * z + c[0])
        p, d = lax.fori_loop(0, 8, horner, (jnp.zeros_like(z), jnp.zeros_like(z)))
        return z - 0.1 * p * d / (d * d + 1), None

    return (lax.scan(step, z, None, length=100)[0] ** 2).sum()


@program(r(3, 8, 8), r(100, 8))
def stacked_rnn(w, xs):
    def step(h, x):
        def layer(x, of):
            w, h = of
            y = jnp.tanh(w @ x + h)
            return y, y

        y, h = lax.scan(layer, x, (w, h))
        return 0.5 * h, y.sum()

    return (lax.scan(step, jnp.zeros((3, 8), xs.dtype), xs)[1] ** 2).sum()


@program(r(64), np.array([0.2]))
def heat_with_reports(u, nu):
    inner = lambda u, _: (u.at[1:-1].add(nu * (u[2:] - 2 * u[1:-1] + u[:-2])), None)
    outer = lambda u, _: (lax.scan(inner, u, None, length=20)[0], u.max())
    u, top = lax.scan(outer, u, None, length=20)
    return (u**2).sum() + top.sum()


# ---- lookups, pairs, mapped solves ----


def u(*shape):
    return R.random(size=shape)


@program(u(128, 128), 3 * u(2, 128, 128))
def bilinear_warp(image, offset):
    at = jnp.stack(jnp.meshgrid(jnp.arange(128.0), jnp.arange(128.0), indexing="ij")).astype(image.dtype) + offset
    return (jsp.ndimage.map_coordinates(image, list(at), order=1, mode="nearest") ** 2).sum()


@program(u(500, 10), u(500, 10))
def mean_discrepancy(x, y):
    kernel = lambda a, b: jnp.exp(-((a[:, None] - b[None]) ** 2).sum(-1)).mean()
    return kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)


@program(u(2000, 8), u(20, 8))
def soft_kmeans(x, centres):
    d = ((x[:, None] - centres[None]) ** 2).sum(-1)
    return -jax.nn.logsumexp(-d, axis=1).sum()


@program(u(1000, 8), u(100, 8))
def nearest_five(x, queries):
    d = ((queries[:, None] - x[None]) ** 2).sum(-1)
    near, _ = lax.top_k(-d, 5)
    return (near * jax.nn.softmax(near, -1)).sum()


@program(np.sort(u(50)), u(50), 0.8 * u(20000) + 0.1)
def interpolated_often(grid, values, x):
    return (jnp.interp(x, grid, values) ** 2).sum()


@program(u(100, 100))
def sinkhorn_of_logs(cost):
    def step(fg, _):
        f, g = fg
        f = -0.1 * jax.nn.logsumexp((g[None] - cost) / 0.1, axis=1)
        g = -0.1 * jax.nn.logsumexp((f[:, None] - cost) / 0.1, axis=0)
        return (f, g), None

    zero = jnp.zeros(100, cost.dtype)
    f, g = lax.scan(step, (zero, zero), None, length=50)[0]
    return f.sum() + g.sum()


@program(0.2 * u(4, 4), u(2, 4), u(100, 100, 2))
def kalman_batch(A, H, ys):
    eye = jnp.eye(4, dtype=A.dtype)

    def one(y):
        def step(s, y):
            m, P, ll = s
            m, P = A @ m, A @ P @ A.T + 0.1 * eye
            S, e = H @ P @ H.T + jnp.eye(2, dtype=A.dtype), y - H @ m
            K = jnp.linalg.solve(S, H @ P).T
            ll = ll - 0.5 * (e @ jnp.linalg.solve(S, e) + jnp.linalg.slogdet(S)[1])
            return (m + K @ e, P - K @ H @ P, ll), None

        return lax.scan(step, (jnp.zeros(4, A.dtype), eye, jnp.zeros((), A.dtype)), y)[0][2]

    return jax.vmap(one)(ys).sum()


BARS = np.stack([np.arange(300), np.arange(300) + 1], 1)


@program(u(300) + 0.5, u(301))
def bars_dense(stiffness, load):
    element = jnp.array([[1.0, -1.0], [-1.0, 1.0]], stiffness.dtype)
    K = jnp.eye(301, dtype=stiffness.dtype)
    K = K.at[BARS[:, :, None], BARS[:, None, :]].add(stiffness[:, None, None] * element)
    return load @ jnp.linalg.solve(K, load)


SOURCE, TARGET = R.integers(0, 1000, 5000), R.integers(0, 1000, 5000)


@program(u(1000, 16), u(16, 16), u(16, 16))
def message_passing(h, W1, W2):
    for W in (W1, W2):
        h = h + jax.ops.segment_sum(jax.nn.relu(h[SOURCE] @ W), TARGET, 1000)
        h = h / jnp.sqrt(1e-6 + (h * h).mean(1, keepdims=True))
    return (h**3).sum()


@program(u(1024))
def haar_wavelet(x):
    t = jnp.zeros((), x.dtype)
    while x.shape[0] > 1:
        a, d = (x[0::2] + x[1::2]) / np.sqrt(2), (x[0::2] - x[1::2]) / np.sqrt(2)
        t = t + jnp.abs(d).sum() + (d**4).sum()
        x = a
    return t + x[0]


@program(u(5000), u(5000))
def quantiles(x, w):
    d = jnp.sort(x) - jnp.cumsum(w) / w.sum()
    return (d**2).sum() + jnp.abs(d).max()


@program(u(100000))
def polynomial_of_many(x):
    return jnp.polyval(jnp.arange(12.0).astype(x.dtype), x).sum()


@program(5 * u(2000) + 1)
def cube_roots(a):
    return jax.vmap(lambda a: lax.fori_loop(0, 20, lambda i, x: x - (x * x * x - a) / (3 * x * x), a))(a).sum()


@program(0.3 * u(5, 5), u(5))
def implicit_euler(A, y):
    def step(y, _):
        def newton(i, z):
            t = jnp.tanh(A @ z)
            J = 1.1 * jnp.eye(5, dtype=A.dtype) - 0.1 * (1 - t**2)[:, None] * A
            return z - jnp.linalg.solve(J, z - y - 0.1 * (t - z))

        return lax.fori_loop(0, 3, newton, y), None

    return (lax.scan(step, y, None, length=50)[0] ** 2).sum()


@program(u(5000, 3), u(3), u(20, 4))
def rays_and_spheres(d, origin, spheres):
    d = d / jnp.linalg.norm(d, axis=1, keepdims=True)
    oc = origin - spheres[:, :3]
    b = d @ oc.T
    disc = b * b - ((oc**2).sum(1) - 0.05 * spheres[:, 3] ** 2)
    return jnp.where(disc > 0, -b - jnp.sqrt(jnp.where(disc > 0, disc, 1.0)), 1e3).min(1).sum()


@program(u(400, 2))
def student_neighbours(y):
    d = ((y[:, None] - y[None]) ** 2).sum(-1)
    q = (1 - jnp.eye(400, dtype=y.dtype)) / (1 + d)
    return jnp.log(q.sum()) + jnp.log1p(d.sum(1)).sum()


@program(u(64, 64), u(64, 64))
def filtered_image(u, v):
    k = jnp.fft.fftfreq(64).astype(u.dtype)
    w = jnp.exp(-20 * (k[:, None] ** 2 + k[None] ** 2))
    return (jnp.fft.ifft2(jnp.fft.fft2(u) * w).real * v).sum() ** 2


@program(u(10000))
def smooth_histogram(x):
    centres = jnp.linspace(0, 1, 51).astype(x.dtype)
    return (jnp.exp(-(((x[:, None] - centres[None]) * 40) ** 2)).sum(0) ** 2).sum()
