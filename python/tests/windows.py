"""Convolutions and reductions of windows at random shapes, exported and compared with JAX: value, gradient, jvp and
Hessian-vector product, also of programs that are gradients already."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from compare import results

pick = lambda rng, *a: int(rng.integers(*a))


def convolution(rng):
    """A function of operand and kernel, these, and what it is."""
    n, groups, batches = pick(rng, 1, 4), 1, 1
    if rng.random() < 0.3:
        groups = pick(rng, 2, 4)
    elif rng.random() < 0.3:
        batches = 2
    each, out = pick(rng, 1, 4), pick(rng, 1, 3)
    if groups > 1 and rng.random() < 0.5:
        each = out = 1  # depthwise
    if n == 3:
        groups = 1  # arrays have eight dimensions
        batches = 1
    sizes = [pick(rng, 1, 4) for _ in range(n)]
    strides = [pick(rng, 1, 4) for _ in range(n)]
    base = [pick(rng, 1, 3) for _ in range(n)]
    dilation = [pick(rng, 1, 3) for _ in range(n)]
    low = [pick(rng, -1, 3) for _ in range(n)]
    high = [pick(rng, -1, 3) for _ in range(n)]
    space = [pick(rng, 3, 7 - n) if n < 3 else pick(rng, 3, 5) for _ in range(n)]
    lhs_spec, rhs_spec, out_spec = (tuple(map(int, rng.permutation(n + 2))) for _ in range(3))
    if rng.random() < 0.5:
        lhs_spec = out_spec = (0, n + 1, *range(1, n + 1))
        rhs_spec = (n + 1, n, *range(n))
    put = lambda spec, values: [v for _, v in sorted(zip(spec, values))]
    x = rng.normal(size=put(lhs_spec, [batches * pick(rng, 1, 3), groups * each, *space]))
    w = rng.normal(size=put(rhs_spec, [groups * batches * out, each, *sizes]))
    numbers = lax.ConvDimensionNumbers(lhs_spec, rhs_spec, out_spec)

    def f(x, w):
        return lax.conv_general_dilated(
            x, w, strides, list(zip(low, high)), base, dilation, numbers, groups, batch_group_count=batches
        )

    return f, (x, w), f"{x.shape} {w.shape} {strides} {low} {high} {base} {dilation} {numbers} {groups} {batches}"


def window(rng):
    """The same of a reduction of one operand."""
    n = pick(rng, 1, 4)
    shape = [pick(rng, 3, 7) if n < 3 else pick(rng, 2, 5) for _ in range(n)]
    long = rng.random() < 0.25
    if long:
        shape[-1] = pick(rng, 14, 24)
    sizes = [pick(rng, 1, 4) for _ in range(n)]
    if long:
        sizes[-1] = pick(rng, 9, 14)
    strides = [pick(rng, 1, 4) for _ in range(n)]
    base = [pick(rng, 1, 3) for _ in range(n)]
    dilation = [1 if long else pick(rng, 1, 3) for _ in range(n)]
    x = rng.normal(size=shape)
    if rng.random() < 0.3:  # equal numbers; over two dimensions, JAX's jvp and vjp choose different ones of them
        x = np.round(x) + 0.0
        sizes[:-1] = [1] * (n - 1)
    padding = [(pick(rng, 0, min(k, 2)), pick(rng, 0, min(k, 2))) for k in sizes]  # no window is padding alone
    kind = pick(rng, 0, 3)
    start, join = [(0.0, lax.add), (-np.inf, lax.max), (np.inf, lax.min)][kind]
    if kind:  # JAX has no derivatives of dilated maxima
        base = dilation = [1] * n

    def f(x):
        return lax.reduce_window(x, start, join, sizes, strides, padding, base, dilation)

    return f, (x,), f"{join.__name__} {x.shape} {sizes} {strides} {padding} {base} {dilation}"


def of_gradient(f):
    """The gradient as a program of its own."""

    def loss(*xs):
        y = f(*xs)
        return (jnp.sin(y) * jnp.cos(jnp.arange(y.size) + 1.0).reshape(y.shape)).sum()

    return lambda *xs: jax.grad(loss, tuple(range(len(xs))))(*xs)


def main(n=24, seed=1):
    rng, failed = np.random.default_rng(seed), 0
    for i in range(n):
        f, args, what = (convolution, window)[i % 2](rng)
        try:
            if not jax.eval_shape(f, *args).size:
                continue
        except (TypeError, ValueError):  # negative padding of more than there is
            continue
        for name, g in (("", f), ("gradient of ", of_gradient(f))):
            try:
                wrong = [k for k, right in results(g, args, {"hvp": not name}) if not right]
            except Exception as e:
                wrong = [f"{type(e).__name__}: {str(e)[:200]}"]
            if wrong:
                failed += 1
                print(f"  FAIL  {name}{what}: {', '.join(wrong)}")
    print(f"  ok    {n} random convolutions and windows" if not failed else f"{failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) != 0)
