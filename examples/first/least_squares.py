# least_squares.cpp with JAX.
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
x = jnp.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
               378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])
y = jnp.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
               44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])


def residuals(b):
    return b[0] * (1 - jnp.exp(-b[1] * x)) - y


@jax.jit
def fit(start):
    def step(_, b):
        r, J = residuals(b), jax.jacfwd(residuals)(b)
        return b - jnp.linalg.solve(J.T @ J, J.T @ r)

    b = jax.lax.fori_loop(0, 10, step, start)
    r, J = residuals(b), jax.jacfwd(residuals)(b)
    return b, jnp.sqrt(jnp.diag(jnp.linalg.inv(J.T @ J) * (r @ r) / 12))


b, error = fit(jnp.array([250, 5e-4]))
for i in range(2):
    print(f"{b[i]:.9e} +- {error[i]:.5e}")
