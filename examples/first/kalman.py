# kalman.cpp with JAX.
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
N = 400
i = jnp.arange(N)
z = 0.1 * i + jnp.sin(0.1 * i) + 0.2 * jnp.sin(78.233 * i * i)


# Minus the logarithm of the likelihood of the places z, which are 0.1 s apart.
def surprise(theta):
    F = jnp.array([[1, 0.1], [0, 1]])
    noise = jnp.exp(2 * theta)
    Q = noise[0] * jnp.array([[0, 0], [0, 0.1]])

    def measure(carry, seen):
        x, P, total = carry
        x = F @ x
        P = F @ P @ F.T + Q
        off = seen - x[0]
        S = P[0, 0] + noise[1]
        K = P[:, 0] / S
        return (x + K * off, P - jnp.outer(K, P[0]), total + 0.5 * (jnp.log(S) + off * off / S)), None

    return jax.lax.scan(measure, (jnp.array([0.0, 1.0]), 0.01 * jnp.eye(2), 0.0), z)[0][2]


@jax.jit
def fit(start):
    def newton(_, theta):
        return theta - jnp.linalg.solve(jax.hessian(surprise)(theta), jax.grad(surprise)(theta))

    theta = jax.lax.fori_loop(0, 20, newton, start)
    return theta, jnp.sqrt(jnp.diag(jnp.linalg.inv(jax.hessian(surprise)(theta))))


theta, error = fit(jnp.array([-1.0, -2.0]))
for i in range(2):
    print(f"log noise {theta[i]:.6f} +- {error[i]:.6f}")
