"""Functions of JAX by tansy.jit, grad and value_and_grad, and those that call Python while they run."""

import tempfile
import unittest
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

import tansy

jax.config.update("jax_enable_x64", True)
X = np.array([0.1, 0.2, 0.3])
W = {"a": np.full((3, 2), 0.3), "b": np.array([0.5, -1.0])}
BACKENDS = ("default", "strips", "native", "reference")


def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w["a"] + w["b"]) ** 2)


def close(got, want):
    jax.tree_util.tree_map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), got, want)


class Functions(unittest.TestCase):
    def test_values_and_gradients_are_in_trees(self):
        close(tansy.jit(loss)(W, X), loss(W, X))
        close(tansy.grad(loss)(W, X), jax.grad(loss)(W, X))
        for argnums in (0, 1, -1, (1, 0), [0]):
            close(tansy.grad(loss, argnums)(W, X), jax.grad(loss, argnums)(W, X))
        close(tansy.value_and_grad(loss, policy="nothing_saveable")(W, X), jax.value_and_grad(loss)(W, X))
        pair = lambda w, x: (loss(w, x), {"sum": x.sum(), "z": x * 1j})
        close(tansy.jit(pair)(W, X), pair(W, X))
        close(tansy.grad(pair, has_aux=True)(W, X), jax.grad(pair, has_aux=True)(W, X))
        close(tansy.value_and_grad(pair, has_aux=True)(W, X), jax.value_and_grad(pair, has_aux=True)(W, X))

    def test_derivatives_nest(self):
        f = lambda t: jnp.sin(t) * t**2
        close(tansy.grad(tansy.grad(tansy.grad(f)))(1.5), jax.grad(jax.grad(jax.grad(f)))(1.5))
        close(tansy.jit(tansy.grad(f), backend="strips")(1.5), jax.grad(f)(1.5))
        both = tansy.value_and_grad(f)
        close(tansy.grad(both, has_aux=True)(1.5)[0], jax.grad(f)(1.5))
        with self.assertRaises(TypeError):
            tansy.grad(tansy.grad(lambda x: (f(x), x), has_aux=True), has_aux=True)(1.5)

    def test_programs_are_kept(self):
        seen = []
        f = tansy.grad(lambda x: seen.append(x.shape) or jnp.sum(x**2))
        for x in (X, X + 1, X[:2], X.astype("f4"), X):
            close(f(x), 2 * x)
        self.assertEqual(len(set(seen)), 2)
        n = len(seen)
        f(X)
        self.assertEqual(len(seen), n)
        self.assertEqual(str(f.program(X).outputs[0]), "f64[3]")

    def test_keys_complex_numbers_and_scalars(self):
        f = lambda key, x: jnp.sum(jax.random.normal(key, (3,)) * x)
        close(tansy.grad(f, 1)(jax.random.key(3), X), jax.grad(f, 1)(jax.random.key(3), X))
        g = lambda z: jnp.sum(jnp.abs(z) ** 2 * X) + jnp.real(z[0] ** 2)
        z = X + 1j * X[::-1]
        close(tansy.grad(g)(z), jax.grad(g)(z))
        close(tansy.jit(lambda z: z * z)(z), z * z)
        close(tansy.jit(lambda a, b: a * b)(2, 0.5), 1.0)
        self.assertEqual(tansy.jit(lambda a: a + 1)(np.int32(2)).dtype, np.int32)

    def test_without_wide_numbers(self):
        jax.config.update("jax_enable_x64", False)
        try:
            with self.assertWarns(UserWarning):
                slope = tansy.grad(loss, 1)(W, X)
            self.assertEqual(slope.dtype, np.float32)
        finally:
            jax.config.update("jax_enable_x64", True)

    def test_refused(self):
        for make, kind in [
            (lambda: tansy.grad(lambda x: x)(X), TypeError),
            (lambda: tansy.grad(lambda x: x.sum() * 1j)(X), TypeError),
            (lambda: tansy.grad(lambda x: (x.sum(), x))(X), TypeError),
            (lambda: tansy.grad(jnp.sum, 1)(X), ValueError),
            (lambda: tansy.grad(lambda i: 1.0 * i)(3), tansy.Error),
            (lambda: tansy.jit(jnp.sum, backend="fast")(X), ValueError),
        ]:
            with self.assertRaises(kind):
                make()


def sine(x):
    return np.sin(np.asarray(x))


@jax.custom_jvp
def by_callback(x):
    return jax.pure_callback(sine, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@by_callback.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    return by_callback(x), dx * jax.pure_callback(lambda x: np.cos(np.asarray(x)), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


class Callbacks(unittest.TestCase):
    def test_results(self):
        f = lambda x: jnp.sum(by_callback(x) ** 2)
        program = tansy.from_jax(f, X)
        for backend in BACKENDS:
            close(program.compile(backend)(X), f(X))
            close(program.grad().compile(backend)(X), jax.grad(f)(X))
        many = lambda x, n: jax.pure_callback(
            lambda x, n: {"n": np.int64(n + len(x)), "x": np.outer(x, x), "none": np.zeros((0, 2)), "any": np.any(x > 0.25)},
            {"n": jax.ShapeDtypeStruct((), np.int64), "x": jax.ShapeDtypeStruct((3, 3), np.float32),
             "none": jax.ShapeDtypeStruct((0, 2), float), "any": jax.ShapeDtypeStruct((), bool)}, x, n)  # fmt: skip
        close(tansy.jit(many)(X.astype("f4"), 4), many(X.astype("f4"), 4))

    def test_effects_happen_once_in_order(self):
        seen = []

        def f(x):
            jax.debug.callback(lambda v: seen.append(float(v)), x.sum())
            io_callback(lambda: seen.append("begin"), None, ordered=True)

            def step(i, c):
                io_callback(lambda i: seen.append(int(i)), None, i, ordered=True)
                return jnp.sin(c)

            y = jax.lax.fori_loop(0, 3, step, x)
            io_callback(lambda: seen.append("end"), None, ordered=True)
            return y.sum()

        program = tansy.from_jax(f, X)
        for made in (program, program.grad(policy="nothing_saveable"), program.vjp()):
            for backend in BACKENDS:
                seen.clear()
                made.compile(backend)(*[X, 1.0][: len(made.inputs)])
                self.assertEqual(seen, [X.sum(), "begin", 0, 1, 2, "end"], backend)

    def test_exceptions_come_through(self):
        def fails(x):
            raise KeyError("mine")

        run = tansy.from_jax(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct((3,), float), x), X).compile()
        for _ in range(3):
            with self.assertRaisesRegex(KeyError, "mine"):
                run(X)
        wrong = lambda y: tansy.from_jax(lambda x: jax.pure_callback(lambda x: y, jax.ShapeDtypeStruct((3,), float), x), X)
        for y in (np.ones(2), np.ones(3, "f4"), (np.ones(3), np.ones(3))):
            with self.assertRaisesRegex(TypeError, "callback"):
                wrong(y).compile()(X)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(tansy.Unsupported, "pure_callback of float16"):
            half = X.astype(np.float16)
            tansy.from_jax(lambda x: jax.pure_callback(sine, jax.ShapeDtypeStruct((3,), np.float16), x), half)
        with self.assertRaisesRegex(tansy.Error, "neither a jvp nor a vjp"):
            tansy.from_jax(lambda x: jax.pure_callback(sine, jax.ShapeDtypeStruct((3,), float), x).sum(), X).grad()

    def test_programs_within_programs(self):
        inner = tansy.jit(loss)
        f = lambda x: jax.pure_callback(lambda x: inner(W, np.asarray(x)), jax.ShapeDtypeStruct((), float), x)
        close(tansy.jit(f)(X), loss(W, X))

    def test_emitted_c_calls_a_function_of_the_name(self):
        program = tansy.from_jax(lambda x: jax.pure_callback(sine, jax.ShapeDtypeStruct((3,), float), x), X)
        with tempfile.TemporaryDirectory() as folder:
            source, _ = program.emit_c(Path(folder) / "calls.c")
            self.assertIn("sine(", source.read_text())


if __name__ == "__main__":
    unittest.main()
