"""Steps of loops over four numbers: what a thousand of each take, forwards and with a gradient, beside JAX.

usage: jax_steps.py [NAME ...]"""

import sys
import warnings

from from_jax import seconds

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tansy

jax.config.update("jax_enable_x64", True)
R = np.random.default_rng(0)
A, v, V3 = R.normal(size=(4, 4)), R.normal(size=4), R.normal(size=3)
STEPS = dict(
    matvec=lambda x: A @ x,
    matmul=lambda x: (A @ (x[:, None] * x[None]))[0],
    outer=lambda x: jnp.outer(x, x).sum(0),
    dot=lambda x: x * (x @ v),
    solve=lambda x: jnp.linalg.solve(A + 9 * jnp.eye(4) + jnp.diag(x), x),
    chol=lambda x: jnp.linalg.cholesky(jnp.eye(4) * 9 + jnp.outer(x, x) * 0.01) @ x,
    inv=lambda x: jnp.linalg.inv(9 * jnp.eye(4) + jnp.diag(x)) @ x,
    det=lambda x: x * jnp.linalg.det(jnp.eye(4) + jnp.diag(x) * 0.1),
    tri=lambda x: jax.scipy.linalg.solve_triangular(jnp.tril(A) + 9 * jnp.eye(4), x, lower=True),
    sort=lambda x: jnp.sort(x),
    argmax=lambda x: x.at[jnp.argmax(x)].add(-0.1),
    cumsum=lambda x: jnp.cumsum(x) * 0.1,
    cumprod=lambda x: jnp.cumprod(x),
    norm=lambda x: x / jnp.linalg.norm(x),
    roll=lambda x: jnp.roll(x, 1),
    stack=lambda x: jnp.stack([x[0] * x[1], x[1], x[2], x[3]]),
    arr=lambda x: jnp.array([x[1], x[0] * 2, x[3], x[2]]),
    flip=lambda x: x[::-1],
    stride=lambda x: jnp.repeat(x[::2], 2),
    atset=lambda x: x.at[1].set(x[0] * 2),
    atadd=lambda x: x.at[1:3].add(x[0:2]),
    gather=lambda x: x[jnp.array([1, 3, 0, 2])],
    dyn=lambda x: x * lax.dynamic_index_in_dim(x, jnp.argmax(x), keepdims=False),
    take=lambda x: x * jnp.take(jnp.arange(10.0), (x[0] > 0).astype(int)),
    interp=lambda x: jnp.interp(x, jnp.arange(4.0), v),
    max=lambda x: x - jnp.max(x),
    min0=lambda x: jnp.where(x > jnp.min(x), x, 0.0),
    softmax=lambda x: jax.nn.softmax(x),
    lse=lambda x: x - jax.nn.logsumexp(x),
    mean=lambda x: x - x.mean(),
    std=lambda x: x / (x.std() + 1),
    prod=lambda x: x * jnp.prod(x),
    cond=lambda x: lax.cond(x[0] > 0, lambda x: x * 2, lambda x: x - 1, x),
    switch=lambda x: lax.switch(jnp.argmax(x), [lambda x: x + 1, lambda x: x * 2, lambda x: x - 3], x),
    whil=lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 0.5), (0, x))[1],
    fori=lambda x: lax.fori_loop(0, 3, lambda i, x: x * 0.9, x),
    scan=lambda x: lax.scan(lambda c, u: (c * 0.9 + u, None), x, jnp.ones((3, 4)))[0],
    einsum=lambda x: jnp.einsum("i,j,ij->i", x, x, A),
    cross=lambda x: jnp.concatenate([jnp.cross(x[:3], V3), x[3:]]),
    mod=lambda x: jnp.mod(x, 1.0),
    pow=lambda x: jnp.abs(x) ** 1.5,
    atan2=lambda x: jnp.arctan2(x, x[::-1]),
    erf=lambda x: lax.erf(x),
    round=lambda x: jnp.round(x * 4) / 4,
    clip=lambda x: jnp.clip(x, -1, 1),
    argsort=lambda x: x[jnp.argsort(x)],
    search=lambda x: x * jnp.searchsorted(jnp.arange(4.0), x),
    any=lambda x: jnp.where(jnp.any(x > 1), x, -x),
    bitc=lambda x: x * (lax.bitcast_convert_type(x, jnp.int64) > 0),
    rng=lambda x: x + jax.random.normal(jax.random.key(3), (4,)),
    rngk=lambda x: x * jax.random.uniform(jax.random.fold_in(jax.random.key(3), jnp.int32(x[0])), (4,)),
    conv=lambda x: jnp.convolve(x, jnp.array([1.0, 2.0, 1.0]), mode="same"),
    diff=lambda x: jnp.concatenate([x[:1], jnp.diff(x)]),
    pad=lambda x: jnp.pad(x[1:3], 1),
    trace=lambda x: x * jnp.trace(jnp.outer(x, x)),
    diag=lambda x: jnp.diag(jnp.diag(x) @ A),
    vmap=lambda x: jax.vmap(lambda a: a * x.sum())(x),
    poly=lambda x: jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x),
    triu=lambda x: (jnp.triu(A) * x).sum(1),
    lu=lambda x: jax.scipy.linalg.lu_factor(A + jnp.diag(x))[0][0],
    qr=lambda x: jnp.linalg.qr(A + jnp.diag(x))[1][0],
    eigh=lambda x: jnp.linalg.eigh(A @ A.T + jnp.diag(x))[0],
    expm=lambda x: jax.scipy.linalg.expm(A * 0.01 + jnp.diag(x) * 0.1) @ x,
    svd=lambda x: jnp.linalg.svd(A + jnp.diag(x))[1],
    fft=lambda x: jnp.abs(jnp.fft.fft(x)),
)


def least(f):
    return min(seconds(f) for _ in range(3))


def loop(step, n):
    return lambda x: (lax.scan(lambda c, _: (step(c), None), x, None, length=n)[0] ** 2).sum()


def main(names):
    warnings.simplefilter("ignore")
    n = 1000
    print(f"{'ns a step':10} {'forward':>8} {'JAX':>8} {'gradient':>8} {'JAX':>8}")
    for name, step in STEPS.items():
        if names and name not in names:
            continue
        f, cells = loop(step, n), []
        for program, own in ((lambda p: p, jax.jit(f)), (lambda p: p.grad(), jax.jit(jax.grad(f)))):
            e = program(tansy.from_jax(f, v)).compile()
            cells.append(least(lambda: e(v)) / n * 1e9)
            try:
                cells.append(least(lambda: jax.block_until_ready(own(v))) / n * 1e9)
            except ValueError:  # JAX has no reverse mode of while
                cells.append(float("nan"))
        print(f"{name:10} " + " ".join(f"{c:8.0f}" for c in cells), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
