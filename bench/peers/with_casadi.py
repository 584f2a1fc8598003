"""Scalar programs in CasADi: differentiated symbolically, written as C, compiled by gcc and called from C in a loop, so
that Python is not in the figure."""
import ctypes
import os
import subprocess
import tempfile

from common import emit, pin, samples, skip, wanted

pin()
try:
    import casadi as ca
    import numpy as np
except ImportError as e:
    skip("casadi", e)

LOOP = """
void many(long n, const double **a, double **r, long long *iw, double *w) {
    for (long i = 0; i < n; i++) %s(a, r, iw, w, 0);
}
"""


def put(workload, variant, n, f, values, flags="-O2 -march=native", repeat=1000):
    folder = tempfile.mkdtemp() + "/"
    generator = ca.CodeGenerator("k.c")
    generator.add(f)
    generator.generate(folder)
    with open(folder + "k.c", "a") as out:
        out.write(LOOP % f.name())
    command = ["gcc", *flags.split(), "-shared", "-fPIC", folder + "k.c", "-o", folder + "k.so", "-lm"]
    subprocess.run(command, check=True)
    many = ctypes.CDLL(folder + "k.so").many
    outs = [np.empty(max(1, f.nnz_out(i))) for i in range(f.n_out())]
    point = lambda arrays, room: (ctypes.c_void_p * max(len(arrays), room))(*[x.ctypes.data for x in arrays])
    a, r = point(values, f.sz_arg()), point(outs, f.sz_res())
    iw, w = (ctypes.c_longlong * max(1, f.sz_iw()))(), (ctypes.c_double * max(1, f.sz_w()))()
    times = samples(lambda: many(ctypes.c_long(repeat), a, r, iw, w))
    emit("casadi", workload, variant, n, "f64", [t / repeat for t in times])
    subprocess.run(["rm", "-r", folder], check=True)


def rosenbrock():
    n = 1000
    x, v = ca.SX.sym("x", n), ca.SX.sym("v", n)
    f = ca.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    g, at, to = ca.gradient(f, x), np.random.rand(n), np.random.rand(n)
    put("rosenbrock", "f", n, ca.Function("f", [x], [f]), [at], "-O1 -march=native", 100)
    put("rosenbrock", "grad", n, ca.Function("g", [x], [g]), [at], "-O1 -march=native", 100)
    put("rosenbrock", "hvp", n, ca.Function("h", [x, v], [ca.jtimes(g, x, v)]), [at, to], "-O1 -march=native", 100)


def scalar():
    x = ca.SX.sym("x", 10)
    f = sum(ca.sin(x[i]) * x[(i + 1) % 10] + ca.exp(-x[i] ** 2) / (1 + x[(i + 2) % 10] ** 2) for i in range(10))
    put("scalar", "grad", 10, ca.Function("g", [x], [ca.gradient(f, x)]), [np.linspace(0.1, 1, 10)])


def jacobian():
    n, x = 50, ca.SX.sym("x", 50)
    f = ca.tanh(ca.mtimes(ca.DM(np.random.uniform(-0.25, 0.25, (n, n))), x)) * ca.sin(ca.vertcat(x[-1], x[:-1]))
    j = ca.Function("j", [x], [ca.jacobian(f, x)])
    put("jacobian", "jacfwd", n, j, [np.linspace(0, 1, n)], "-O1 -march=native")


for name, run in dict(rosenbrock=rosenbrock, scalar=scalar, jacobian=jacobian).items():
    if wanted(name):
        run()
