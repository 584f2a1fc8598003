"""The gradient of a long solve by Diffrax: y' = -0.1 y + 0.1 sin(0.2 t), or y^3 instead of y; Tsit5, constant steps of
0.1, 2250 numbers of f32, the gradient of sum y(T) in y(0).  Arguments: linear|cubic STEPS ADJOINT."""
import resource
import sys

from common import emit, pin, samples, skip

pin()
try:
    import diffrax
    import jax
    import jax.numpy as jnp
except ImportError as e:
    skip("diffrax", e)

field, steps, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
make = {"RecursiveCheckpoint": diffrax.RecursiveCheckpointAdjoint, "Direct": diffrax.DirectAdjoint,
        "Backsolve": diffrax.BacksolveAdjoint}[name]
term = diffrax.ODETerm(lambda t, y, a: -0.1 * (y if field == "linear" else y**3) + 0.1 * jnp.sin(0.2 * t))


def loss(y0):
    solution = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 0.1 * steps, dt0=0.1, y0=y0,
                                   max_steps=steps + steps // 4, adjoint=make())
    return jnp.sum(solution.ys[-1])


y0 = jnp.asarray([0.5 + i / 4500 for i in range(2250)], jnp.float32)
for variant, fn in (("f", loss), ("grad", jax.grad(loss)), ("value_and_grad", jax.value_and_grad(loss))):
    call = jax.jit(fn).lower(y0).compile()
    seconds = samples(lambda: jax.block_until_ready(call(y0)), 10)
    emit("diffrax", "tsit5_" + field, f"{variant} {name}", steps, "f32", seconds,
         peak_rss_kib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
