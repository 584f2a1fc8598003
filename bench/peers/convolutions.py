"""Convolutions by tansy.from_jax beside JAX: value, and value with the gradient in both operands, one processor.

usage: convolutions.py [PART OF A NAME ...]

Layouts with features last and first, in one to three dimensions, with strides, dilation and groups; both take turns, and
results are compared before the clock starts."""

import json
import sys

from from_jax import agree, paired

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tansy

# features: in, out; size of the image; kernel; more
SHAPES = {
    "3x3 1-8": (1, 8, (32, 32), (3, 3), {}),
    "3x3 16-32": (16, 32, (32, 32), (3, 3), {}),
    "3x3 16-32 stride 2": (16, 32, (32, 32), (3, 3), dict(strides=(2, 2))),
    "3x3 64-64": (64, 64, (32, 32), (3, 3), {}),
    "5x5 64-64": (64, 64, (32, 32), (5, 5), {}),
    "7x7 3-64 stride 2": (3, 64, (112, 112), (7, 7), dict(strides=(2, 2), batch=1)),
    "3x3 128-128": (128, 128, (16, 16), (3, 3), {}),
    "3x3 256-256": (256, 256, (8, 8), (3, 3), {}),
    "3x3 512-512": (512, 512, (4, 4), (3, 3), {}),
    "1x1 64-128": (64, 128, (32, 32), (1, 1), {}),
    "3x3 32-32 dilation 2": (32, 32, (32, 32), (3, 3), dict(dilation=(2, 2))),
    "3x3 64-64 groups 4": (64, 64, (32, 32), (3, 3), dict(groups=4)),
    "3x3 depthwise 32": (32, 32, (32, 32), (3, 3), dict(groups=32)),
    "3x3 32-32 f64": (32, 32, (32, 32), (3, 3), dict(dtype=np.float64)),
    "9 32-32": (32, 32, (1024,), (9,), {}),
    "3x3x3 8-16": (8, 16, (12, 12, 12), (3, 3, 3), {}),
}


def operands(layout, shape):
    inside, out, image, kernel, more = shape
    groups, dtype, batch = more.get("groups", 1), more.get("dtype", np.float32), more.get("batch", 4)
    space = "DHW"[-len(image) :]
    last = layout == "last"
    sizes = dict(zip("NC" + space, (batch, inside, *image)))
    weights = dict(zip("OI" + space, (out, inside // groups, *kernel)))
    x, w = ("N" + space + "C", space + "IO") if last else ("NC" + space, "OI" + space)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=[sizes[c] for c in x]), 0.1 * rng.normal(size=[weights[c] for c in w])]
    return (x, w, x), [a.astype(dtype) for a in arrays]


def functions(numbers, shape):
    more = shape[4]
    strides = more.get("strides", (1,) * len(shape[2]))

    def value(x, w):
        return lax.conv_general_dilated(
            x, w, strides, "SAME", None, more.get("dilation"), numbers, more.get("groups", 1)
        )

    def gradient(x, w):
        return jax.value_and_grad(lambda x, w: jnp.sin(value(x, w)).sum(), argnums=(0, 1))(x, w)

    return value, gradient


def measure(f, arrays, name):
    theirs = jax.jit(f)
    ours = tansy.from_jax(f, *arrays).compile()
    agree(ours(*arrays), theirs(*arrays), name)
    device = [jax.device_put(x) for x in arrays]
    return paired(lambda: ours(*arrays), lambda: jax.block_until_ready(theirs(*device)))


def main():
    for name, shape in SHAPES.items():
        for layout in "last", "first":
            full = f"{name}, features {layout}"
            if sys.argv[1:] and not any(part in full for part in sys.argv[1:]):
                continue
            numbers, arrays = operands(layout, shape)
            row = {"program": full}
            for what, f in zip(("value", "gradient"), functions(numbers, shape)):
                ours, theirs = measure(f, arrays, full)
                row |= {f"{what}_us": round(ours * 1e6, 1), f"{what}_ratio": round(ours / theirs, 2)}
            print(json.dumps(row), flush=True)


main()
