# cnn.cpp with JAX.
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
N, S, F = 64, 12, 4


# Pictures [N,S,S,1] -> how much rather vertical than horizontal [N]
def network(p, x):
    kernel, bias, w = p
    y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.mean(jax.nn.relu(y + bias), (1, 2)) @ w


def loss(p, x, y):
    return jnp.mean(jax.nn.softplus(-y * network(p, x)))


i = jnp.arange(N * S * S)
y = jnp.where(jnp.arange(N) % 2 == 1, 1.0, -1.0)
place = jnp.where(i // (S * S) % 2 == 1, i % S, i // S % S)
x = (jnp.sin(2.0 * place + i // (S * S)) + jnp.sin(78.233 * i * i)).reshape(N, S, S, 1)
kernel = (0.5 * jnp.sin(3.0 * jnp.arange(9 * F) ** 2)).reshape(3, 3, 1, F)
w = jnp.sin(5.0 * jnp.arange(F) ** 2 + 1)


@jax.jit
def train(p, x, y):
    def update(_, state):
        p, m = state
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, jax.grad(loss)(p, x, y))
        return jax.tree.map(lambda p, m: p - 0.1 * m, p, m), m

    p, _ = jax.lax.fori_loop(0, 300, update, (p, jax.tree.map(jnp.zeros_like, p)))
    return loss(p, x, y), jnp.mean(y * network(p, x) > 0)


error, right = train((kernel, jnp.zeros(F), w), x, y)
print(f"loss {error:.4f}, {100 * right:.1f} % are right")
