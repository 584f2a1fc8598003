# ode_fit.cpp with JAX.
import jax
import jax.numpy as jnp
from jax.experimental.ode import odeint

jax.config.update("jax_enable_x64", True)


def growth(y, t, p):
    return p[0] * y * (1 - y / p[1])


def residuals(p, times, seen):
    return odeint(growth, jnp.ones(()), times, p, rtol=1e-9, atol=1e-9) - seen


@jax.jit
def fit(start, times, seen):
    def both(p):
        return residuals(p, times, seen), jax.jacrev(residuals)(p, times, seen)

    def step(_, p):
        r, J = both(p)
        return p - jnp.linalg.solve(J.T @ J, J.T @ r)

    p = jax.lax.fori_loop(0, 10, step, start)
    r, J = both(p)
    return p, jnp.sqrt(jnp.diag(jnp.linalg.inv(J.T @ J) * (r @ r) / 4))


times, seen = jnp.array([0.0, 2, 4, 6, 8, 10]), jnp.array([1.0, 2.5, 5.0, 7.4, 8.9, 9.6])
p, error = fit(jnp.array([0.5, 8]), times, seen)
for i in range(2):
    print(f"{p[i]:.5f} +- {error[i]:.5f}")
