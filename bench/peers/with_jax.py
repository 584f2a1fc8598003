"""The workloads of bench/suite in JAX: jit, one thread."""
import time

from common import emit, pin, samples, skip, wanted

pin()
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError as e:
    skip("jax", e)
jax.config.update("jax_enable_x64", True)
RNG = np.random.default_rng(0)


def put(workload, variant, n, dtype, fn, *args):
    """Compiles fn for args and measures it."""
    call = jax.jit(fn).lower(*args).compile()
    memory = call.memory_analysis()
    emit("jax", workload, variant, n, dtype, samples(lambda: jax.block_until_ready(call(*args))),
         bytes=getattr(memory, "temp_size_in_bytes", None))


def both():
    return (("f32", np.float32), ("f64", np.float64))


def chain():
    def f(x):
        return jnp.sum(jnp.tanh(jnp.sin(x) * jnp.exp(-x * x) + x))

    for n in (10**3, 10**5, 10**7):
        for name, dtype in both():
            x = jnp.asarray(RNG.uniform(-1, 2, n).astype(dtype))
            put("chain", "f", n, name, f, x)
            put("chain", "grad", n, name, jax.grad(f), x)


def cheap():
    def f(x, y):
        v = x
        for _ in range(4):
            v = v * x + y
            v = v * y - x
        return jnp.sum(v)

    for n in (10**3, 10**5, 10**7):
        for name, dtype in both():
            x, y = (jnp.asarray(RNG.uniform(0.2, 0.9, n).astype(dtype)) for _ in range(2))
            put("cheap", "f", n, name, f, x, y)
            put("cheap", "grad", n, name, jax.grad(f, (0, 1)), x, y)


def hvp(f):
    return lambda x, v, *rest: jax.jvp(lambda x: jax.grad(f)(x, *rest), (x,), (v,))[1]


def rosenbrock():
    def f(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    for n in (10**3, 10**6):
        x, v = jnp.asarray(RNG.uniform(0, 1, n)), jnp.asarray(RNG.uniform(-1, 1, n))
        put("rosenbrock", "f", n, "f64", f, x)
        put("rosenbrock", "grad", n, "f64", jax.grad(f), x)
        put("rosenbrock", "hvp", n, "f64", hvp(f), x, v)


def poly9():
    c = [0.3, -0.7, 0.5, 1.1, -0.4, 0.9, -1.2, 0.6, 0.8, -0.2]

    def f(c2, x):
        y = jnp.full_like(x, c[9])
        for k in range(8, -1, -1):
            y = y * x + (c2 if k == 2 else c[k])
        return jnp.sum(y)

    for n in (10**3, 10**6):
        x = jnp.asarray(RNG.uniform(0, 1, n))
        put("poly9", "value_and_grad", n, "f64", jax.value_and_grad(f), jnp.asarray(0.5), x)


def scalar():
    def scalars(*x):
        s = 0.0
        for i in range(10):
            s = s + jnp.sin(x[i]) * x[(i + 1) % 10] + jnp.exp(-x[i] ** 2) / (1 + x[(i + 2) % 10] ** 2)
        return s

    def array(x):
        return jnp.sum(jnp.sin(x) * jnp.roll(x, -1) + jnp.exp(-x * x) / (1 + jnp.roll(x, -2) ** 2))

    x = jnp.linspace(0.1, 1, 10)
    put("scalar", "grad", 10, "f64", jax.grad(scalars, tuple(range(10))), *[x[i] for i in range(10)])
    put("scalar", "grad, of an array", 10, "f64", jax.grad(array), x)
    # Without the call from Python: ten thousand steps of x + 1e-9 grad f(x) in one compiled loop.
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 10000, lambda i, x: x + 1e-9 * jax.grad(array)(x), x))
    emit("jax", "scalar", "grad, of an array, in a loop", 10, "f64",
         [t / 10000 for t in samples(lambda: jax.block_until_ready(loop(x)))])


def jacobian():
    w, x = jnp.asarray(RNG.uniform(-0.25, 0.25, (50, 50))), jnp.linspace(0, 1, 50)

    def f(x, w):
        return jnp.tanh(w @ x) * jnp.sin(jnp.roll(x, 1))

    put("jacobian", "jacfwd", 50, "f64", jax.jacfwd(f), x, w)
    put("jacobian", "jacrev", 50, "f64", jax.jacrev(f), x, w)
    put("jacobian", "hessian", 50, "f64", jax.hessian(lambda x, w: jnp.sum(f(x, w) ** 2)), x, w)


def burgers():
    def step(u, _=None):
        r, l = jnp.roll(u, -1), jnp.roll(u, 1)
        return u - 0.1 * u * (r - l) + 0.2 * (r - 2 * u + l), None

    def scan(f, u, k):
        return jax.lax.scan(f, u, None, length=k)[0]

    def blocks(u, _=None):
        return scan(step, u, 25), None

    u0 = jnp.asarray(1 + 0.5 * np.sin(2 * np.pi * np.arange(1024) / 1024))
    save_all = lambda u: jnp.sum(scan(step, u, 1000) ** 2)
    put("burgers", "f", 1000, "f64", save_all, u0)
    put("burgers", "grad all_save", 1000, "f64", jax.grad(save_all), u0)
    put("burgers", "grad checkpoint of 40 blocks", 1000, "f64",
        jax.grad(lambda u: jnp.sum(scan(jax.checkpoint(blocks), u, 40) ** 2)), u0)


def mlp():
    size = [784, 512, 512, 10]
    params = [(RNG.standard_normal((i, o)).astype(np.float32) / np.float32(i**0.5), np.zeros(o, np.float32))
              for i, o in zip(size, size[1:])]
    x, y = RNG.standard_normal((256, 784)).astype(np.float32), RNG.integers(0, 10, 256)

    def loss(params, x, y):
        for w, b in params[:-1]:
            x = jnp.tanh(x @ w + b)
        z = jax.nn.log_softmax(x @ params[-1][0] + params[-1][1])
        return -jnp.mean(jnp.take_along_axis(z, y[:, None], 1))

    def step(params, x, y):
        return jax.tree.map(lambda p, g: p - np.float32(0.01) * g, params, jax.grad(loss)(params, x, y))

    put("mlp", "step", 256, "f32", step, *jax.tree.map(jnp.asarray, (params, x, y)))


def logreg():
    a, y = jnp.asarray(RNG.standard_normal((2000, 500))), jnp.asarray(np.sign(RNG.standard_normal(2000)))
    w, v = jnp.asarray(RNG.standard_normal(500) * 0.1), jnp.asarray(RNG.standard_normal(500))

    def f(w, a, y):
        return jnp.mean(jax.nn.softplus(-y * (a @ w)))

    put("logreg", "f", 500, "f64", f, w, a, y)
    put("logreg", "grad", 500, "f64", jax.grad(f), w, a, y)
    put("logreg", "hvp", 500, "f64", hvp(f), w, v, a, y)


def transformer():
    d, heads = 128, 4
    r = lambda *s: jnp.asarray(RNG.uniform(-1, 1, s).astype(np.float32) * np.float32((3 / d) ** 0.5))

    def norm(x, gain, bias):
        c = x - jnp.mean(x, 2, keepdims=True)
        return c * jax.lax.rsqrt(jnp.mean(c * c, 2, keepdims=True) + np.float32(1e-5)) * gain + bias

    def attention(x, wq, wk, wv, wo):
        b, s, _ = x.shape
        q, k, v = ((x @ w).reshape(b, s, heads, d // heads) for w in (wq, wk, wv))
        p = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32((d / heads) ** 0.5), 3)
        return jnp.einsum("bhqk,bkhd->bqhd", p, v).reshape(b, s, d) @ wo

    def loss(x, p):
        x = x + attention(norm(x, p[0], p[1]), *p[2:6])
        h = jax.nn.gelu(norm(x, p[6], p[7]) @ p[8] + p[9], approximate=True)
        return jnp.sum((x + h @ p[10] + p[11]) ** 2)

    p = [r(d), r(d), r(d, d), r(d, d), r(d, d), r(d, d), r(d), r(d), r(d, 4 * d), r(4 * d), r(4 * d, d), r(d)]
    put("transformer", "grad", 128, "f32", jax.grad(loss, (0, 1)), r(4, 128, d) * np.float32(10), p)


def cnn():
    r = lambda scale, *s: jnp.asarray(RNG.uniform(-scale, scale, s).astype(np.float32))
    p = [r(0.5, 3, 3, 1, 32), r(0.1, 32), r(0.1, 3, 3, 32, 64), r(0.1, 64), r(0.03, 3136, 10), r(0.1, 10)]

    def loss(p, x):
        for w, b in ((p[0], p[1]), (p[2], p[3])):
            x = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.lax.reduce_window(jax.nn.relu(x + b), -np.float32(np.inf), jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return -jnp.mean(jax.nn.log_softmax(x.reshape(32, -1) @ p[4] + p[5])[:, 3])

    put("cnn", "grad", 32, "f32", jax.grad(loss), p, r(1, 32, 28, 28, 1))


def gmm():
    import gmm_data
    for name, variant, times in (("gmm_1k_d10_K25", "d10 K25", 1), ("gmm_1k_d64_K5", "d64 K5", 1),
                                 ("gmm_1k_d10_K25", "d10 K25", 10)):
        p = gmm_data.read(name, times)
        d, packed, at = p["d"], p["icf"].shape[1], gmm_data.positions(p["d"])

        def objective(alpha, mean, icf, x):
            q, below = icf[:, :d], icf[:, d:packed]
            e = jnp.exp(q)
            row = jnp.concatenate([e, below, jnp.zeros((icf.shape[0], 1))], 1)
            l = row[:, at].reshape(-1, d, d)
            lmu = jnp.einsum("kij,kj->ki", l, mean)
            lx = (x @ l.reshape(-1, d).T).reshape(x.shape[0], -1, d)
            t = alpha + jnp.sum(q, 1) - 0.5 * jnp.sum((lx - lmu) ** 2, 2)
            fit = jnp.sum(jax.nn.logsumexp(t, 1)) - x.shape[0] * jax.nn.logsumexp(alpha)
            prior = 0.5 * p["gamma"] ** 2 * (jnp.sum(e * e) + jnp.sum(below**2)) - p["m"] * jnp.sum(q)
            return fit + prior

        args = [jnp.asarray(p[k]) for k in ("alpha", "mean", "icf", "x")]
        put("gmm", variant, args[3].shape[0], "f64", jax.value_and_grad(objective, (0, 1, 2)), *args)


def ba():
    p, like = 31843, np.array([-0.758453, -1.109613, -0.845551, 34.556073, 39.676747, 53.881673,
                               419.194514, 5.864426, -8.518870, 0.087812, 0.002739])
    camera, point = RNG.uniform(0.9, 1.1, (49, 11)) * like, RNG.uniform(0, 8, (7776, 3))
    weight, feature, i = RNG.uniform(0.1, 1, p), RNG.uniform(-900, 900, (p, 2)), np.arange(p)

    def rotate(r, x):
        square = jnp.sum(r * r)
        th = jnp.sqrt(jnp.where(square == 0, 1.0, square))
        w = r / th
        turned = x * jnp.cos(th) + jnp.cross(w, x) * jnp.sin(th) + w * jnp.sum(w * x) * (1 - jnp.cos(th))
        return jnp.where(square == 0, x + jnp.cross(r, x), turned)

    def error(c, x, w, f):
        x = rotate(c[:3], x - c[3:6])
        uv = x[:2] / x[2]
        rho = jnp.sum(uv * uv)
        return w * (uv * (c[6] * (1 + rho * (c[9] + c[10] * rho))) + c[7:9] - f)

    def sparse(jac):
        def f(camera, point, weight, feature, ci, pi):
            a, b, c = jax.vmap(jac(error, (0, 1, 2)))(camera[ci], point[pi], weight, feature)
            return jnp.concatenate([a, b, c[:, :, None]], 2), -2 * weight
        return f

    args = [jnp.asarray(v) for v in (camera, point, weight, feature, i * 17 % 49, i * 7919 % 7776)]
    put("ba", "jacfwd", p, "f64", sparse(jax.jacfwd), *args)
    put("ba", "jacrev", p, "f64", sparse(jax.jacrev), *args)


def compiling():
    """Straight-line scalar programs: trace, lower and compile the gradient, per operation (four a round)."""
    for n in (100, 1000):
        def f(x, y):
            for _ in range(n // 4):
                a = x * y
                x = jnp.tanh(jnp.sin(a) + a)
            return x

        start = time.process_time()
        jax.jit(jax.grad(f)).lower(jnp.asarray(0.5), jnp.asarray(0.9)).compile()
        s = time.process_time() - start
        emit("jax", "compile", "trace, grad and compile", n, "f64", [s], equations=n, us_per_equation=1e6 * s / n)


def calls():
    f = jax.jit(lambda x: x * x * x)
    x = jnp.asarray(1.5)
    emit("jax", "call", "scalar", 1, "f64", samples(lambda: jax.block_until_ready(f(x))))
    for n in (1, 1000, 10**6):
        c = jnp.ones(n)
        _, linear = jax.linearize(lambda p: c[0] * p, x)
        back = jax.jit(jax.linear_transpose(linear, x))
        emit("jax", "pullback", "p -> c[0] p", n, "f64", samples(lambda: jax.block_until_ready(back(x))))


WORKLOADS = dict(chain=chain, cheap=cheap, rosenbrock=rosenbrock, poly9=poly9, scalar=scalar, jacobian=jacobian,
                 burgers=burgers, mlp=mlp, logreg=logreg, transformer=transformer, cnn=cnn, gmm=gmm, ba=ba, compile=compiling,
                 call=calls)
for name, run in WORKLOADS.items():
    if wanted(name):
        run()
