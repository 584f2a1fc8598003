"""Workloads of bench/suite in PyTorch, eager, one thread."""
from common import emit, pin, samples, skip, wanted

pin()
try:
    import numpy as np
    import torch
except ImportError as e:
    skip("torch", e)
torch.set_num_threads(1)
RNG = np.random.default_rng(0)
DTYPES = (("f32", torch.float32), ("f64", torch.float64))


def pair(workload, n, dtype, f, x):
    """The value without a graph, and the gradient."""
    def value():
        with torch.no_grad():
            f(x)
    emit("torch", workload, "f", n, dtype, samples(value))
    x.requires_grad_()
    emit("torch", workload, "grad", n, dtype, samples(lambda: torch.autograd.grad(f(x), x)))


def hvp(workload, n, f, x):
    v = torch.ones_like(x)

    def run():
        g, = torch.autograd.grad(f(x), x, create_graph=True)
        return torch.autograd.grad(g, x, v)
    emit("torch", workload, "hvp", n, "f64", samples(run))


def chain():
    for n in (10**3, 10**5, 10**7):
        for name, dtype in DTYPES:
            x = torch.from_numpy(RNG.uniform(-1, 2, n)).to(dtype)
            pair("chain", n, name, lambda x: torch.tanh(torch.sin(x) * torch.exp(-x * x) + x).sum(), x)


def rosenbrock():
    for n in (10**3, 10**6):
        x = torch.from_numpy(RNG.uniform(0, 1, n))
        f = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        pair("rosenbrock", n, "f64", f, x)
        hvp("rosenbrock", n, f, x)


def poly9():
    c = [0.3, -0.7, 0.5, 1.1, -0.4, 0.9, -1.2, 0.6, 0.8, -0.2]
    c2 = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    for n in (10**3, 10**6):
        x = torch.from_numpy(RNG.uniform(0, 1, n))

        def both():
            y = c[9]
            for k in range(8, -1, -1):
                y = y * x + (c2 if k == 2 else c[k])
            return torch.autograd.grad(y.sum(), c2)
        emit("torch", "poly9", "value_and_grad", n, "f64", samples(both))


def scalar():
    x = torch.linspace(0.1, 1, 10, dtype=torch.float64, requires_grad=True)

    def array(x):
        return (torch.sin(x) * x.roll(-1) + torch.exp(-x * x) / (1 + x.roll(-2) ** 2)).sum()
    emit("torch", "scalar", "grad, of an array", 10, "f64", samples(lambda: torch.autograd.grad(array(x), x)))


def mlp():
    size = [784, 512, 512, 10]
    w = [torch.from_numpy(RNG.standard_normal((i, o)).astype(np.float32) / np.float32(i**0.5)).requires_grad_()
         for i, o in zip(size, size[1:])]
    b = [torch.zeros(o).requires_grad_() for o in size[1:]]
    x = torch.from_numpy(RNG.standard_normal((256, 784)).astype(np.float32))
    y = torch.from_numpy(RNG.integers(0, 10, 256))

    def step():
        h = x
        for k in range(2):
            h = torch.tanh(torch.addmm(b[k], h, w[k]))
        loss = torch.nn.functional.cross_entropy(torch.addmm(b[2], h, w[2]), y)
        for p, g in zip(w + b, torch.autograd.grad(loss, w + b)):
            p.data -= 1e-9 * g  # a rate that leaves the problem as it is
    emit("torch", "mlp", "step", 256, "f32", samples(step))


def logreg():
    a, y = torch.from_numpy(RNG.standard_normal((2000, 500))), torch.from_numpy(np.sign(RNG.standard_normal(2000)))
    w, f = torch.from_numpy(RNG.standard_normal(500) * 0.1), lambda w: torch.nn.functional.softplus(-y * (a @ w)).mean()
    pair("logreg", 500, "f64", f, w)
    hvp("logreg", 500, f, w)


for name, run in dict(chain=chain, rosenbrock=rosenbrock, poly9=poly9, scalar=scalar, mlp=mlp, logreg=logreg).items():
    if wanted(name):
        run()
