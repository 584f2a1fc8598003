"""Ten programs of JAX, taken by tansy.from_jax: the gradient's time, Tansy / JAX, of the program that each compiles.

    build/python/venv/bin/python bench/peers/from_jax.py [--more] [NAME ...]

--more: the programs of jax_programs.py, in f64 and f32, by all their inputs.

Both take NumPy arrays and give them back, on one processor, and take turns; a sample lasts 20 ms or longer, and the
figure is the median of seven.  JAX's time has its dispatch in it, Tansy's its call from Python.  Results are compared
before the clock starts: 1e-8 of the largest number in f64, 1e-3 in f32."""

import json
import statistics
import sys
import time

import common

common.pin()
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tansy

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(7)
PROGRAMS = {}


def program(*args, wrt=(0,)):
    def add(f):
        PROGRAMS[f.__name__] = (f, args, wrt)
        return f

    return add


def n(*shape, dtype=np.float64, scale=1.0):
    return (scale * rng.normal(size=shape)).astype(dtype)


def f32(*shape, scale=0.05):
    return n(*shape, dtype=np.float32, scale=scale)


WIDTH, HEADS, LENGTH = 128, 4, 128


@program(
    tuple(f32(*s) for s in ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))),
    f32(4, LENGTH, WIDTH, scale=1.0),
)
def transformer_block(w, x):
    qkv, out, up, down = w
    norm = lambda v: (v - v.mean(-1, keepdims=True)) * lax.rsqrt(v.var(-1, keepdims=True) + 1e-5)
    q, k, v = jnp.split(norm(x) @ qkv, 3, -1)
    split = lambda t: t.reshape(*t.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)
    a = jax.nn.softmax(split(q) @ split(k).swapaxes(-1, -2) / np.float32(np.sqrt(WIDTH // HEADS)))
    x = x + (a @ split(v)).transpose(0, 2, 1, 3).reshape(x.shape) @ out
    return jnp.mean((x + jax.nn.gelu(norm(x) @ up) @ down) ** 2)


@program(
    (f32(3, 3, 1, 16, scale=0.3), f32(3, 3, 16, 32), f32(32 * 49, 10)),
    f32(16, 28, 28, 1, scale=1.0),
    np.arange(16) % 10,
)
def convolutions(w, x, label):
    for kernel in w[:2]:
        x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = lax.reduce_window(jax.nn.relu(x), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    z = jax.nn.log_softmax(x.reshape(x.shape[0], -1) @ w[2])
    return -jnp.mean(jnp.take_along_axis(z, label[:, None], 1))


@program((n(64, 192, scale=0.1), n(16, 192, scale=0.1), n(192)), n(32, 100, 16))
def gated_recurrent_unit(w, xs):
    r, i, b = w

    def step(h, x):
        zh, zx = jnp.split(h @ r, 3, -1), jnp.split(x @ i + b, 3, -1)
        u, reset = jax.nn.sigmoid(zh[0] + zx[0]), jax.nn.sigmoid(zh[1] + zx[1])
        h = u * h + (1 - u) * jnp.tanh(reset * zh[2] + zx[2])
        return h, None

    h, _ = lax.scan(step, jnp.zeros((32, 64)), xs.transpose(1, 0, 2))
    return jnp.mean(h**2)


@program((n(6, 6, scale=0.3), n(2, 6), np.array([0.1, 0.2])), n(300, 2))
def kalman_filter(w, ys):
    a, h, noise = w

    def step(carry, y):
        s, p = carry
        s, p = a @ s, a @ p @ a.T + jnp.exp(noise[0]) * jnp.eye(6)
        S = h @ p @ h.T + jnp.exp(noise[1]) * jnp.eye(2)
        r = y - h @ s
        gain = jnp.linalg.solve(S, h @ p).T
        ll = -0.5 * (r @ jnp.linalg.solve(S, r) + jnp.linalg.slogdet(S)[1])
        return (s + gain @ r, p - gain @ h @ p), ll

    return lax.scan(step, (jnp.zeros(6), jnp.eye(6)), ys)[1].sum()


@program(np.array([0.1, 0.3, -1.0]), n(200, 3), n(200))
def gaussian_process(theta, x, y):
    d = jnp.sum((x[:, None] - x[None]) ** 2, -1)
    k = jnp.exp(theta[0]) * jnp.exp(-d * jnp.exp(theta[1])) + jnp.exp(theta[2]) * jnp.eye(200)
    low = jnp.linalg.cholesky(k)
    v = lax.linalg.triangular_solve(low, y[:, None], left_side=True, lower=True)
    return 0.5 * jnp.sum(v**2) + jnp.sum(jnp.log(jnp.diagonal(low)))


@program((n(2, 32, scale=0.5), n(32), n(32, 2, scale=0.3)), n(64, 2))
def neural_ode(w, y0):
    f = lambda y: jnp.tanh(y @ w[0] + w[1]) @ w[2]

    def step(y, _):
        h = 0.05
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    y, _ = lax.scan(step, y0, None, length=40)
    return jnp.mean(y**2)


@program((n(2, 32), n(32), n(32, 32, scale=0.3), n(32), n(32)), n(256, 2))
def physics_informed(w, points):
    def u(p):
        h = jnp.tanh(p @ w[0] + w[1])
        return jnp.tanh(h @ w[2] + w[3]) @ w[4]

    def residual(p):
        g, h = jax.grad(u), jax.hessian(u)
        return g(p)[1] + u(p) * g(p)[0] - 0.01 * h(p)[0, 0]

    return jnp.mean(jax.vmap(residual)(points) ** 2)


@program(n(50), np.array([0.0, 0.1, 0.0, 0.0]))
def model_predictive_control(forces, state):
    def step(s, u):
        x, angle, v, w = s
        sin, cos = jnp.sin(angle), jnp.cos(angle)
        temp = (u + 0.05 * w**2 * sin) / 1.1
        alpha = (9.8 * sin - cos * temp) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        a = temp - 0.05 * alpha * cos / 1.1
        s = jnp.stack([x + 0.02 * v, angle + 0.02 * w, v + 0.02 * a, w + 0.02 * alpha])
        return s, s @ (np.array([1.0, 10.0, 0.1, 0.1]) * s) + 1e-3 * u**2

    return lax.scan(step, state, forces)[1].sum()


@program((f32(64, 128), f32(128, 16), f32(8, 128), f32(128, 64)), f32(64, 64, scale=1.0), np.uint32(3))
def variational_autoencoder(w, x, seed):
    mean, log = jnp.split(jnp.tanh(x @ w[0]) @ w[1], 2, -1)
    z = mean + jnp.exp(log / 2) * jax.random.normal(jax.random.key(seed), mean.shape, jnp.float32)
    y = jnp.tanh(z @ w[2]) @ w[3]
    return jnp.mean((x - y) ** 2) + 0.5 * jnp.mean(jnp.exp(log) + mean**2 - 1 - log)


@program(n(64, 64, scale=0.1), np.float64(0.01))
def spectral_solver(vorticity, nu):
    kx, ky = np.fft.fftfreq(64, 1 / 64)[:, None], np.fft.rfftfreq(64, 1 / 64)[None]
    k2 = kx**2 + ky**2
    inverse = np.where(k2 == 0, 0, 1 / np.where(k2 == 0, 1, k2))

    def rate(hat):
        psi = hat * inverse
        back = lambda h: jnp.fft.irfft2(h, s=(64, 64))
        advection = back(1j * ky * psi) * back(1j * kx * hat) - back(1j * kx * psi) * back(1j * ky * hat)
        return -jnp.fft.rfft2(advection) - nu * k2 * hat

    def step(hat, _):
        half = hat + 0.005 * rate(hat)
        return hat + 0.01 * rate(half), None

    hat, _ = lax.scan(step, jnp.fft.rfft2(vorticity), None, length=20)
    return jnp.sum(jnp.fft.irfft2(hat, s=(64, 64)) ** 2)


def seconds(f):
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            f()
        taken = time.perf_counter() - start
        if taken >= 0.02:
            return taken / count
        count = max(2 * count, int(count * 0.025 / max(taken, 1e-9)))


def paired(ours, theirs):
    """Medians of seven samples of each, by turns."""
    samples = [(seconds(ours), seconds(theirs)) for _ in range(7)]
    return (statistics.median(s[k] for s in samples) for k in range(2))


def agree(ours, theirs, name):
    for got, want in zip(jax.tree_util.tree_leaves(ours), jax.tree_util.tree_leaves(theirs), strict=True):
        want = np.asarray(want)
        limit = 1e-3 if want.dtype == np.float32 else 1e-8
        assert np.abs(got - want).max(initial=0) <= limit * max(np.abs(want).max(initial=0), 1e-30), name


def processor():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return "an unknown processor"


def narrow(x):
    return np.asarray(x, np.float32) if np.asarray(x).dtype == np.float64 else x


def more():
    from jax_programs import PROGRAMS as others

    for name, (f, args, f32) in others.items():
        wrt = [i for i, x in enumerate(args) if x.dtype.kind == "f"]
        PROGRAMS[name] = (f, args, wrt)
        if f32:
            PROGRAMS[f"{name}, f32"] = (f, [narrow(x) for x in args], wrt)


def compare(name):
    f, args, wrt = PROGRAMS[name]
    leaves, tree = jax.tree_util.tree_flatten(args)
    ends = np.cumsum([len(jax.tree_util.tree_leaves(a)) for a in args])
    which = [i for i in range(len(leaves)) if any(ends[w - 1] * (w > 0) <= i < ends[w] for w in wrt)]
    flat = lambda *xs: f(*jax.tree_util.tree_unflatten(tree, xs))
    theirs = jax.jit(jax.grad(flat, argnums=tuple(which)))
    ours = tansy.from_jax(flat, *leaves).grad(which).compile()
    agree(ours(*leaves), theirs(*leaves), name)
    device = [jax.device_put(x) for x in leaves]
    a, b = paired(lambda: ours(*leaves), lambda: jax.block_until_ready(theirs(*device)))
    row = {"program": name, "tansy_us": round(a * 1e6, 2), "jax_us": round(b * 1e6, 2), "ratio": round(a / b, 3)}
    print(json.dumps(row), flush=True)
    return row


if __name__ == "__main__":
    names = [a for a in sys.argv[1:] if a != "--more"]
    if "--more" in sys.argv:
        PROGRAMS.clear()
        more()
    rows = [compare(name) for name in PROGRAMS if not names or name.split(",")[0] in names]
    print(f"\njax {jax.__version__}, {processor()}\n\n| program | Tansy | JAX | ratio | |\n|---|---|---|---|---|")
    for r in rows:
        print(
            f"| {r['program']} | {r['tansy_us']:g} us | {r['jax_us']:g} us | {r['ratio']:.2f} | {'met' if r['ratio'] <= 1 else 'missed'} |"
        )
