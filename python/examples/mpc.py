"""Model predictive control of a pole on a cart, from JAX to C: the cost of a plan of forces, and its gradient.

python mpc.py DIR      writes DIR/plan.c and DIR/plan.h; main.c is the controller
"""

import sys

import jax
import jax.numpy as jnp

import tansy

jax.config.update("jax_enable_x64", True)
STEPS, H = 30, 0.04


def field(x, force):
    """Position, angle (0: upright) and their speeds; masses of 1 and 0.1, a pole of 0.5."""
    _, angle, v, w = x
    s, c = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.05 * w**2 * s) / 1.1
    turn = (9.81 * s - c * push) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
    return jnp.stack([v, w, push - 0.05 * turn * c / 1.1, turn])


def step(x, force):
    k1 = field(x, force)
    k2 = field(x + H / 2 * k1, force)
    k3 = field(x + H / 2 * k2, force)
    k4 = field(x + H * k3, force)
    return x + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def cost(forces, x):
    """What it costs to be away from rest, and to push, over the plan; and the state after its first force."""
    weights = jnp.array([1.0, 10.0, 0.1, 0.1])

    def one(x, force):
        x = step(x, force)
        return x, (weights * x**2).sum() + 0.001 * force**2

    end, costs = jax.lax.scan(jax.checkpoint(one), x, forces)
    return costs.sum() + 10 * (weights * end**2).sum(), step(x, forces[0])


if __name__ == "__main__":
    program = tansy.from_jax(cost, jnp.zeros(STEPS), jnp.zeros(4))
    plan = program.value_and_grad(wrt=0)  # forces, x -> cost, next x, gradient
    for path in plan.emit_c(f"{sys.argv[1]}/plan.c"):
        print(path)
