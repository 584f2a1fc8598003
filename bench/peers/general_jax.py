"""The table `general` (bench/general) beside JAX: reads its JSON lines, times the same programs, as a user of jax.numpy
would write them, and prints the table as Markdown: time / C, and time / JAX, of the default back end.

    build/bench/general-table >general.json; build/peers/bin/python bench/peers/general_jax.py general.json"""
import json
import sys

import common

common.pin()
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)


def scan(step, carry, xs):
    return lax.scan(step, carry, xs)


def lstm(w, r, b, h, c, xs):
    u = h.shape[0]

    def step(carry, x):
        h, c = carry
        z = w @ x + r @ h + b
        i, f, g, o = (jax.nn.sigmoid(z[:u]), jax.nn.sigmoid(z[u : 2 * u]), jnp.tanh(z[2 * u : 3 * u]), jax.nn.sigmoid(z[3 * u :]))
        c = f * c + i * g
        h = o * jnp.tanh(c)
        return (h, c), h

    return scan(step, (h, c), xs)[1]


def kalman(a, h, s, p, xs):
    noise = 0.1 * jnp.eye(h.shape[0], dtype=h.dtype)

    def step(carry, x):
        s, p = carry
        s, p = a @ s, a @ p @ a.T + noise
        ph = p @ h
        gain = ph / (h @ ph + 0.5)
        r = x - h @ s
        return (s + gain * r, p - jnp.outer(gain, ph)), r

    return scan(step, (s, p), xs)[1]


def field(s):
    x, y, z = s[0], s[1], s[2]
    return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3 * z])


def lorenz(n):
    def step(_, s):
        h = 0.001
        k1 = field(s)
        k2 = field(s + h / 2 * k1)
        k3 = field(s + h / 2 * k2)
        k4 = field(s + h * k3)
        return s + h / 6 * (k1 + 2 * (k2 + k3) + k4)

    return lambda s: lax.fori_loop(0, n, step, s)


def tridiagonal(a, b, c, d):
    def down(carry, x):
        u, y = carry
        m = 1 / (x[1] - x[0] * u)
        out = (m * x[2], m * (x[3] - x[0] * y))
        return out, out

    def up(x, row):
        x = row[1] - row[0] * x
        return x, x

    zero = jnp.zeros((), a.dtype)
    rows = scan(down, (zero, zero), (a, 3 + b, c, d))[1]
    return lax.scan(up, zero, rows, reverse=True)[1]


def average(x):
    def step(s, x):
        s = 0.9 * s + 0.1 * x
        return s, s

    return scan(step, jnp.zeros((), x.dtype), x)[1]


def julia(n):
    def step(_, carry):
        x, y, count = carry
        inside = x * x + y * y < 4
        return (jnp.where(inside, x * x - 0.4 - y * y, x), jnp.where(inside, 2 * x * y + 0.6, y), count + inside)

    return lambda x, y: lax.fori_loop(0, n, step, (x, y, jnp.zeros_like(x)))[2]


def newton(a):
    return lax.while_loop(lambda s: jnp.abs(s[0] * s[0] - s[1]) > 1e-6, lambda s: (0.5 * (s[0] + s[1] / s[0]), s[1]), (jnp.ones_like(a), a))[0]


def heat(n):
    def step(_, u):
        p = jnp.pad(u, 1)
        return u + 0.2 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)

    return lambda u: lax.fori_loop(0, n, step, u)


def pairs(x):
    d = x[None] - x[:, None]
    r2 = (d * d).sum(-1, keepdims=True) + 0.01
    return (d * (1 / (r2 * jnp.sqrt(r2)))).sum(1)


def energy(x):
    d = x[None] - x[:, None]
    return 0.5 * lax.rsqrt((d * d).sum(-1) + 0.01).sum()


def black_scholes(s, k, t):
    vol = 0.3 * jnp.sqrt(t)
    d1 = (jnp.log(s / k) + 0.065 * t) / vol
    d2 = d1 - vol
    n = lambda d: 0.5 * lax.erfc(-0.70710678118654752 * d)
    return s * n(d1) - k * jnp.exp(-0.02 * t) * n(d2)


def huber(x, y):
    r = x - y
    a = jnp.abs(r)
    return jnp.where(a < 0.3, 0.5 * r * r, 0.3 * a - 0.045).mean()


def layer_norm(x, w, b):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w + b


def standardize(x):
    x = x - x.mean(0)
    return x / jnp.sqrt((x * x).mean(0) + 1e-5)


def interpolated(table, x):
    last = table.shape[0] - 1
    at = jnp.clip(last * x, 0, last - 1)
    low = jnp.floor(at)
    i = low.astype(jnp.int32)
    return table[i] + (at - low) * (table[i + 1] - table[i])


def smoothed(x):
    w = (0.1, 0.25, 0.3, 0.25, 0.1)
    return sum(w[k] * x[k : x.shape[0] - 4 + k] for k in range(5))


def laplacian(x):
    return sum(jnp.roll(x, 1, a) + jnp.roll(x, -1, a) for a in range(3)) - 6 * x


def banded(x):
    p = jnp.pad(x, 1, constant_values=1)
    return p[:-2] * p[2:] - jnp.sin(x)


def polynomial(x):
    y = 0.3
    for a in (-1.1, 0.7, 0.25, -0.6, 0.9, -0.2, 0.05):
        y = y * x + a
    return y


def integers(a, b):
    x = a * 1103515 + b
    return jnp.where(x > 70000, x - 3 * b, jnp.maximum(x, a))


def straight(n):
    def f(x, y):
        for _ in range(n):
            x = 0.7 * x + 0.2 * y
            y = y * x - 0.3
        return x + y

    return f


def products(c, xs):
    k = c.shape[0]
    return scan(lambda c, x: ((1 / k) * (c @ x) + 0.5 * x, None), c, xs)[0]


def power(n):
    def step(a, x):
        y = a @ x
        return y / jnp.sqrt(y @ y)

    return lambda a, x: lax.fori_loop(0, n, lambda _, x: step(a, x), x)


# name: (function of sizes, shapes of sizes); "i" in a shape: integers below 500 or 1000
PROGRAMS = {
    "softmax_last": (lambda n: lambda x: jax.nn.softmax(x, -1), lambda n: [n[:2]]),
    "softmax_first": (lambda n: lambda x: jax.nn.softmax(x, 0), lambda n: [n[:2]]),
    "logsumexp_grad": (lambda n: jax.grad(lambda x, w: (w * jax.nn.logsumexp(x, -1)).sum()), lambda n: [n[:2], n[:1]]),
    "layer_norm": (lambda n: layer_norm, lambda n: [n[:2], n[1:2], n[1:2]]),
    "standardize": (lambda n: standardize, lambda n: [n[:2]]),
    "sums": (lambda n: lambda x: (x.sum(0), x.sum(1), x.sum(2)), lambda n: [n]),
    "extremes": (lambda n: lambda x: (x.max(0), x.min(1)), lambda n: [n[:2]]),
    "pairs": (lambda n: pairs, lambda n: [[n[0], 3]]),
    "pairs_grad": (lambda n: jax.grad(energy), lambda n: [[n[0], 3]]),
    "distances": (lambda n: lambda x, y: jnp.abs(x[:, None] - y[None]).sum(-1), lambda n: [[n[0], n[2]], [n[1], n[2]]]),
    "black_scholes": (lambda n: black_scholes, lambda n: [n[:1]] * 3),
    "huber": (lambda n: jax.value_and_grad(huber), lambda n: [n[:1]] * 2),
    "polynomial": (lambda n: polynomial, lambda n: [n[:1]]),
    "counting": (lambda n: lambda x, y: ((x > 0.2) & (x * x + y * y < 1)).sum(), lambda n: [n[:1]] * 2),
    "integers": (lambda n: integers, lambda n: [n[:1] + ["i"]] * 2),
    "matvec": (lambda n: lambda a, x, y: a @ x + a.T @ y, lambda n: [n[:2], n[1:2], n[:1]]),
    "transposed": (lambda n: lambda x: x.T, lambda n: [n[:2]]),
    "permuted": (lambda n: lambda x: 2.0 * x.transpose(2, 0, 1), lambda n: [n]),
    "gather": (lambda n: lambda x, i: x[i], lambda n: [n[1:2], n[:1] + ["i"]]),
    "scattered": (lambda n: lambda x, i, u: x.at[i].add(u), lambda n: [n[1:2], n[:1] + ["i"], n[:1]]),
    "interpolated": (lambda n: interpolated, lambda n: [n[1:2], n[:1]]),
    "cumsum": (lambda n: jnp.cumsum, lambda n: [n[:1]]),
    "cumprod": (lambda n: jnp.cumprod, lambda n: [n[:1]]),
    "cummax": (lambda n: lax.cummax, lambda n: [n[:1]]),
    "cumprod_grad": (lambda n: jax.grad(lambda x, w: w @ jnp.cumprod(x)), lambda n: [n[:1]] * 2),
    "cumsum_rows": (lambda n: lambda x: jnp.cumsum(x, 0), lambda n: [n[:2]]),
    "smoothed": (lambda n: smoothed, lambda n: [n[:1]]),
    "laplacian": (lambda n: laplacian, lambda n: [n]),
    "heat": (lambda n: heat(n[2]), lambda n: [n[:2]]),
    "banded": (lambda n: jax.jacfwd(banded), lambda n: [n[:1]]),
    "outer_sum": (lambda n: lambda x, y: x[:, None] + y, lambda n: [n[:1], n[1:2]]),
    "lstm": (lambda n: lstm, lambda n: [[4 * n[0], n[0]]] * 2 + [[4 * n[0]]] + [[n[0]]] * 2 + [[n[1], n[0]]]),
    "kalman": (lambda n: kalman, lambda n: [[n[0], n[0]], [n[0]], [n[0]], [n[0], n[0]], [n[1]]]),
    "products": (lambda n: products, lambda n: [[n[0], n[0]], [n[1], n[0], n[0]]]),
    "power": (lambda n: power(n[1]), lambda n: [[n[0], n[0]], [n[0]]]),
    "logistic": (lambda n: lambda x: lax.fori_loop(0, n[0], lambda _, x: 3.2 * x * (1 - x), x), lambda n: [[]]),
    "lorenz": (lambda n: lorenz(n[0]), lambda n: [[3, n[1]] if n[1] > 1 else [3]]),
    "tridiagonal": (lambda n: tridiagonal, lambda n: [n[:1]] * 4),
    "average": (lambda n: average, lambda n: [n[:1]]),
    "average_grad": (lambda n: jax.grad(lambda x: (average(x) ** 2).sum()), lambda n: [n[:1]]),
    "julia": (lambda n: julia(n[1]), lambda n: [n[:1]] * 2),
    "newton": (lambda n: jax.vmap(newton), lambda n: [n[:1]]),
    "straight": (lambda n: straight(n[0]), lambda n: [[], []]),
    "straight_grad": (lambda n: jax.grad(straight(n[0]), (0, 1)), lambda n: [[], []]),
}


def inputs(shapes, dtype):
    rng = np.random.default_rng(1)
    for s in shapes:
        if s and s[-1] == "i":
            yield jnp.asarray(rng.integers(0, 500, s[:-1]), jnp.int32)
        else:
            yield jnp.asarray(rng.uniform(0.3, 1, s), dtype)


def timed(row):
    of, shapes = PROGRAMS[row["program"]]
    if row["program"].startswith("straight") and row["n"][0] > 200:
        return None  # minutes of compilation
    f = jax.jit(of(row["n"]))
    args = list(inputs(shapes(row["n"]), jnp.float64 if row["dtype"] == "f64" else jnp.float32))
    return common.statistics.median(common.samples(lambda: jax.block_until_ready(f(*args)), 2.0))


def main():
    rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8") if line.startswith('{"program"')]
    for row in rows:
        t = timed(row)
        row["jax"] = t and 1e6 * t
        print(json.dumps(row), file=sys.stderr, flush=True)
    print("| program | sizes | f64: / C | f32: / C | f64: / JAX | f32: / JAX |\n|---|---|---|---|---|---|")
    for name in PROGRAMS:
        mine = [r for r in rows if r["program"] == name]
        sizes = list(dict.fromkeys(tuple(r["n"]) for r in mine))
        cell = {}
        for r in mine:
            cell[tuple(r["n"]), r["dtype"], "c"] = f'{r["default_ratio"]:.2f}'
            cell[tuple(r["n"]), r["dtype"], "jax"] = f'{r["default_us"] / r["jax"]:.2f}' if r["jax"] else "-"
        text = lambda *of: ", ".join(cell.get((n, *of), "-") for n in sizes)
        print(f'| {name} | {"; ".join(" x ".join(str(d) for d in n if d) for n in sizes)} | {text("f64", "c")} | {text("f32", "c")} '
              f'| {text("f64", "jax")} | {text("f32", "jax")} |')


if __name__ == "__main__":
    main()
