"""What programs and executables do, without JAX."""

import tempfile
import threading
import unittest
import xml.dom.minidom
from pathlib import Path

import numpy as np

import tansy

SIN = "{ lambda x:f64[3] . let s:f64[3] = sin x\n y:f64[] = reduce_sum[axes=(0,)] s in (y,) }"
PAIR = "{ lambda x:f64[3] y:f32[2] k:i32[] . let\n a:f64[3] = mul x x\n b:f32[2] = exp y in (a, b, k,) }"
X = np.array([0.1, 0.2, 0.3])


class Programs(unittest.TestCase):
    def setUp(self):
        self.f = tansy.parse(SIN)

    def run_(self, program, *args):
        return program.compile()(*args)

    def test_text_and_types(self):
        self.assertEqual(str(tansy.parse(str(self.f))), str(self.f))
        self.assertEqual(self.f.inputs, (("float64", (3,)),))
        self.assertEqual(str(self.f.outputs[0]), "f64[]")
        self.assertIs(self.f.check(), self.f)
        self.assertIn("(f64[3]) -> (f64[])", repr(self.f))

    def test_derivatives(self):
        c, s, v = np.cos(X), np.sin(X), np.array([1.0, -2.0, 0.5])
        close = np.testing.assert_allclose
        close(self.run_(self.f.grad(), X), c, rtol=1e-14)
        close(self.run_(self.f.value_and_grad(0), X)[0], s.sum(), rtol=1e-14)
        close(self.run_(self.f.jvp(wrt=[0]), X, v)[1], c @ v, rtol=1e-14)
        close(self.run_(self.f.vjp(), X, 2.0)[1], 2 * c, rtol=1e-14)
        close(self.run_(self.f.hvp(), X, v), -s * v, rtol=1e-14)
        close(self.run_(self.f.hessian(), X), np.diag(-s), rtol=1e-14)
        close(self.run_(self.f.jacfwd(), X), c, rtol=1e-14)
        close(self.run_(self.f.jacrev(), X), c, rtol=1e-14)
        close(self.run_(self.f.grad().jacfwd(block=2), X), np.diag(-s), rtol=1e-14)
        primal, linear = self.f.linearize(policy="everything_saveable")
        y, *residuals = self.run_(primal, X)
        self.assertEqual(linear.linear_inputs, 1)
        close(self.run_(linear, *residuals, v), c @ v, rtol=1e-14)
        close(self.run_(linear.transpose(), *residuals, 3.0), 3 * c, rtol=1e-14)

    def test_complex_arrays(self):
        f = tansy.parse(
            "{ lambda a:c128[3] . let b:c128[3] = mul a a\n c:f64[3] = abs b\n d:f64[] = reduce_sum[axes=(0,)] c in (b, d,) }"
        )
        z = np.array([1 + 2j, -3j, 0.5])
        y, size = self.run_(f, z)
        np.testing.assert_allclose(y.view(complex)[..., 0], z * z, rtol=1e-15)
        np.testing.assert_allclose(size, (abs(z) ** 2).sum(), rtol=1e-15)
        pairs = z[:, None].view(float)
        np.testing.assert_array_equal(self.run_(f, pairs)[0], y)
        for wrong in (z[:2], z.astype(np.complex64), np.stack([z, z], 1)):
            with self.assertRaises(TypeError):
                self.run_(f, wrong)
        with self.assertRaises(TypeError):
            self.run_(self.f, z)

    def test_vmap(self):
        xs = np.stack([X, 2 * X])
        np.testing.assert_allclose(self.run_(self.f.grad().vmap(2), xs), np.cos(xs), rtol=1e-14)
        both = tansy.parse("{ lambda x:f64[3] y:f64[3] . let z:f64[3] = mul x y in (z,) }")
        np.testing.assert_array_equal(self.run_(both.vmap(2, (0, None), 1), xs, X), (xs * X).T)
        with self.assertRaises(ValueError):
            both.vmap(2, (0,))

    def test_residuals_and_cost(self):
        r = self.f.residuals(policy="everything_saveable")
        self.assertEqual([e.verdict for e in r.entries], ["saved"])
        self.assertEqual((r.bytes, r.policy), (24, "everything_saveable"))
        self.assertIn("24 bytes saved", str(r))
        self.assertEqual(self.f.cost().equations, 2)

    def test_memory(self):
        p = self.f.memory_profile(policy="everything_saveable")
        self.assertEqual(p.policy, "everything_saveable")
        self.assertTrue(0 <= p.backward < len(p.bytes) and max(p.bytes) <= p.peak)
        self.assertEqual(p.peak, self.f.vjp(policy="everything_saveable").compile().bytes)
        for policy, lines in (("min_cut", 1), (None, 1), (["nothing_saveable", "save_only_these_names:a<b"], 2)):
            drawing = xml.dom.minidom.parseString(self.f.memory(policy=policy, title="a & b"))
            self.assertEqual(len(drawing.getElementsByTagName("path")), lines)
        with self.assertRaisesRegex(tansy.Error, "no_such"):
            self.f.memory(policy="no_such")

    def test_errors_have_kind_and_place(self):
        for make, status, words in [
            (lambda: tansy.parse("{ lambda"), "TN_EPARSE", "<text>:1"),
            (lambda: tansy.parse(SIN.replace("f64[] =", "f64[2] ="), "mine.tn"), "TN_EPARSE", "mine.tn:2"),
            (lambda: tansy.parse("{ lambda x:i32[] . let y = sin x in (y,) }"), "TN_ETYPE", "sin"),
            (lambda: tansy.parse("{ lambda | x:f64[] . let y:f64[] = sin x in (y,) }"), "TN_ELINEAR", "sin"),
            (lambda: self.f.grad(wrt=3), "TN_EINVAL", "wrt"),
            (lambda: self.f.grad(policy="no_such"), "TN_EINVAL", "no_such"),
            (lambda: self.f.transpose(), "TN_ELINEAR", "sin"),
            (lambda: self.f.emit_c("/tmp/void.c", name="for"), "TN_EINVAL", "for"),
        ]:
            with self.assertRaises(tansy.Error) as e:
                make()
            self.assertEqual(e.exception.status, status, str(e.exception))
            self.assertIn(words, str(e.exception))
        with self.assertRaises(ValueError):
            self.f.compile("fast")

    def test_emit_c(self):
        with tempfile.TemporaryDirectory() as folder:
            source, header = self.f.grad().emit_c(Path(folder) / "slope.c")
            self.assertIn("int slope(const double *in0, double *out0, void *work)", source.read_text())
            self.assertIn("SLOPE_WORK_BYTES", header.read_text())


class Executables(unittest.TestCase):
    def setUp(self):
        self.run_ = tansy.parse(PAIR).compile()
        self.args = X, np.float32([1, 2]), np.int32(7)

    def test_outputs_are_new_or_given(self):
        a, b, k = self.run_(*self.args)
        np.testing.assert_array_equal(a, X * X)
        self.assertEqual((b.dtype, k.dtype, k.shape, int(k)), (np.float32, np.int32, (), 7))
        mine = np.empty(3)
        out = self.run_(*self.args, out=(mine, None, None))
        self.assertIs(out[0], mine)
        np.testing.assert_array_equal(mine, X * X)

    def test_inputs_are_read_where_they_are(self):
        again = np.frombuffer(bytearray(X.tobytes()))
        for x in (X, again, memoryview(X), list(X), np.repeat(X, 2)[::2], X.astype(">f8")):
            np.testing.assert_array_equal(self.run_(x, *self.args[1:])[0], X * X)
        shifted = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64)
        np.testing.assert_array_equal(self.run_(shifted, *self.args[1:])[0], X * X)
        X.flags.writeable = False
        np.testing.assert_array_equal(self.run_(X, *self.args[1:])[0], X * X)

    def test_bad_arguments(self):
        x, y, k = self.args
        for args, more, words in [
            ((x, y), {}, "3 inputs, and 2"),
            ((x[:2], y, k), {}, "input 0 has the shape (2,)"),
            ((x, y.astype(float), k), {}, "input 1 is float64"),
            ((x, y, 0.5), {}, "input 2 is float64"),
            ((x + 1j, y, k), {}, "input 0 is complex128"),
            ((x, y, k), {"out": (x,)}, "3 outputs"),
            ((x, y, k), {"out": (np.empty(3, "f4"), None, None)}, "out[0]"),
            ((x, y, k), {"into": 1}, "keyword"),
        ]:
            with self.assertRaises(TypeError) as e:
                self.run_(*args, **more)
            self.assertIn(words, str(e.exception))
        same = X.copy()
        with self.assertRaisesRegex(tansy.Error, "shares memory"):
            self.run_(same, y, k, out=(same, None, None))
        with self.assertRaises((BufferError, ValueError)):
            fixed = np.empty(3)
            fixed.flags.writeable = False
            self.run_(x, y, k, out=(fixed, None, None))
        self.run_(*self.args)  # and goes on

    def test_many_arguments_and_empty_arrays(self):
        names = [f"x{i}" for i in range(40)]
        f = tansy.parse(
            "{ lambda " + " ".join(f"{n}:f64[0,2]" for n in names) + " . let in (" + ", ".join(names) + ") }"
        )
        out = f.compile()(*[np.empty((0, 2))] * 40)
        self.assertEqual((len(out), out[7].shape), (40, (0, 2)))
        self.assertEqual(tansy.parse("{ lambda . let in (1.5:f64[],) }").compile()(), 1.5)

    def test_backends(self):
        default = tansy.parse(SIN).compile()
        self.assertTrue(default.backend == "assembler" or (default.backend == "strips" and default.why))
        for backend in ("default", "strips", "reference", "native", "assembler"):
            if backend == "assembler" and default.backend != backend:
                with self.assertRaisesRegex(tansy.Error, "TN_BACKEND_ASSEMBLER: "):
                    tansy.parse(SIN).compile(backend)
                continue
            run = tansy.parse(SIN).grad().compile(backend, threads=2)
            expected = default.backend if backend == "default" else backend
            self.assertTrue(run.backend == expected or (backend == "native" and run.why))
            np.testing.assert_allclose(run(X), np.cos(X), rtol=1e-14)
        self.assertEqual(self.run_.inputs[1], ("float32", (2,)))
        self.assertGreaterEqual(self.run_.bytes, 0)

    def test_threads(self):
        text = "{ lambda x:f64[2000] . let s:f64[2000] = sin x\n y:f64[] = reduce_sum[axes=(0,)] s in (y,) }"
        f = tansy.parse(text)
        run, wrong = f.compile(), []

        def work(seed):
            x = np.random.default_rng(seed).normal(size=2000)
            for _ in range(100):
                if abs(run(x) - np.sin(x).sum()) > 1e-9:
                    wrong.append(seed)
            f.grad().compile()(x)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_what_is_used_stays(self):
        run = tansy.parse(SIN).grad().compile()  # of programs that are gone
        for _ in range(100):
            tansy.parse(SIN).grad()
        np.testing.assert_allclose(run(X), np.cos(X), rtol=1e-14)

    def test_short_dtypes(self):
        for name, low, high in (("i8", -128, 127), ("u8", 0, 255), ("i16", -32768, 32767), ("u16", 0, 65535), ("u64", 0, 2**64 - 1)):
            run = tansy.parse(f"{{ lambda x:{name}[3] . let y:{name}[3] = add x 1:{name}[] in (y, x) }}").compile()
            x = np.array([low, 1, high], run.inputs[0][0])
            y, same = run(x)
            self.assertEqual(y.dtype, x.dtype)
            self.assertEqual([int(i) for i in y], [low + 1, 2, low])
            np.testing.assert_array_equal(x, same)
            out = np.empty(3, x.dtype)
            run(x, out=(out, None))
            np.testing.assert_array_equal(out, y)
            with self.assertRaisesRegex(TypeError, "input 0 is float64"):
                run(np.ones(3))
        half = tansy.parse("{ lambda x:f16[2] . let y:f16[2] = mul x x in (y) }").compile()
        np.testing.assert_array_equal(half(np.array([0.1, 300], np.float16)), np.array([0.1, np.inf], np.float16) ** 2)
        self.assertEqual(half([0.5, 2]).dtype, np.float16)

    def test_bfloat16(self):
        run = tansy.parse("{ lambda x:bf16[3] . let y:bf16[3] = neg x in (y) }").compile()
        bits = np.array([0x3F80, 0xC000, 0x3DCD], np.uint16)  # 1, -2, 0.1
        self.assertEqual(run.inputs[0][0], "bfloat16")
        for x in (bits, [1, -2, 0.1]):  # or of ml_dtypes: compare.py
            y = run(x)
            np.testing.assert_array_equal(y.view(np.uint16), bits ^ 0x8000)
        out = np.empty(3, np.uint16)
        run(bits, out=out)
        np.testing.assert_array_equal(out, bits ^ 0x8000)
        with self.assertRaisesRegex(TypeError, "input 0 is float32, and the program's is bfloat16"):
            run(np.ones(3, np.float32))

    def test_asserts_stop(self):
        f = tansy.parse('{ lambda x:f64[] . let\n c:bool[] = gt x 0.0\n () = assert[message="positive"] c in (x,) }')
        with self.assertRaisesRegex(tansy.Error, "positive") as e:
            f.compile()(-1.0)
        self.assertEqual(e.exception.status, "TN_EASSERT")


if __name__ == "__main__":
    unittest.main()
