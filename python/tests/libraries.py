"""Programs of JAX's libraries, (library, name, f, arguments, more), exported and compared with JAX by compare.py as the
small ones of corpus.py are.  A library that is not installed is left out, and said so."""

import importlib
import warnings

import jax
import jax.numpy as jnp
import jax.scipy.optimize
import numpy as np

_rng = np.random.default_rng(23)
CASES, MISSING = [], []


def r(*shape):
    return _rng.normal(size=shape)


def positive(*shape):
    return _rng.uniform(0.5, 2.0, size=shape)


def case(library, *args, **more):
    def add(f):
        CASES.append((f.__name__.strip("_"), f, tuple(args), {"library": library, **more}))
        return f

    return add


def have(name):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        MISSING.append(name)
        return None


def with_leaves(tree):
    """What is array in a tree as arguments, and how the tree comes from these."""
    leaves, treedef = jax.tree_util.tree_flatten(tree)
    return [np.asarray(x, np.float64) for x in leaves], lambda xs: jax.tree_util.tree_unflatten(treedef, xs)


# ---- jax.scipy, jax.nn, jax.example_libraries -------------------------------------------------


@case("jax.scipy", r(5), positive(5))
def densities(x, s):
    st = jax.scipy.stats
    return (
        st.t.logpdf(x, 3.0, 0, s)
        + st.laplace.logpdf(x, 0, s)
        + st.cauchy.logpdf(x, 0, s)
        + st.logistic.logpdf(x, 0, s)
        + st.expon.logpdf(s)
        + st.gamma.logpdf(s, 2.0)
        + st.pareto.logpdf(s + 1, 2.0)
        + st.uniform.logpdf(s, 0, 3)
    )


@case("jax.scipy", positive(5), positive(5))
def more_densities(a, b):
    st = jax.scipy.stats
    p = a / (1 + a)
    return (
        st.beta.logpdf(p, a, b)
        + st.poisson.logpmf(3, a)
        + st.bernoulli.logpmf(1, p)
        + st.binom.logpmf(2, 5, p)
        + st.geom.logpmf(3, p)
        + st.nbinom.logpmf(2, 4, p)
        + st.gennorm.logpdf(a, b)
    )


@case("jax.scipy", r(6), positive(6))
def distribution_functions(x, s):
    st = jax.scipy.stats
    return st.norm.cdf(x, 0, s) + st.norm.logcdf(x) + st.norm.ppf(s / 2.5) + st.logistic.cdf(x) + st.cauchy.cdf(x, 0, s)


@case("jax.scipy", r(7))
def entropies(x):
    sp = jax.scipy.special
    p = jax.nn.softmax(x)
    return (
        sp.entr(p) + sp.rel_entr(p, 1.0 / 7) + sp.kl_div(p, 1.0 / 7) + sp.xlogy(p, p) + sp.xlog1py(p, p) + sp.logit(p)
    )


@case("jax.scipy", r(3, 6))
def splines(y):
    return jax.vmap(lambda y: jnp.interp(jnp.linspace(0.1, 4.9, 8), jnp.arange(6.0), y))(y)


@case("jax.scipy", r(6, 7), _rng.uniform(0.5, 4.5, (2, 5)))
def resampled(image, at):
    return jax.scipy.ndimage.map_coordinates(image, [at[0], at[1]], order=1, mode="nearest")


@case("jax.scipy", r(4, 4))
def exponential_of_a_matrix(a):
    return jax.scipy.linalg.expm(a / 3) @ a


@case("jax.scipy", r(3, 3) + 3 * np.eye(3), r(2, 2))
def block_matrices(a, b):
    return jax.scipy.linalg.block_diag(a, b) @ jax.scipy.linalg.block_diag(b, a)


@case("jax.scipy", r(2), hvp=False, jvp=False)
def quasi_newton(x):
    """The minimum of a shifted Rosenbrock function does not depend on where it is looked for."""
    f = lambda z: ((1 - z[0]) ** 2 + 10 * (z[1] - z[0] ** 2) ** 2).sum()
    return jax.scipy.optimize.minimize(f, jax.lax.stop_gradient(x), method="BFGS").x + 0 * x


@case("jax.scipy", r(5))
def trapezoids(y):
    return jax.scipy.integrate.trapezoid(y * y, dx=0.3) + jnp.gradient(y).sum() + jnp.diff(y, 2).sum()


@case("jax.nn", r(4, 8), r(8, 6), r(6))
def gated(x, w, b):
    y = x @ w + b
    return (
        jax.nn.glu(y) * jax.nn.swish(y[:, :3])
        + jax.nn.mish(y[:, 3:])
        + jax.nn.squareplus(y[:, :3])
        + jax.nn.standardize(y)[:, :3]
    )


if hasattr(jax.nn, "dot_product_attention"):

    @case("jax.nn", *[r(2, 5, 2, 4).astype(np.float32) for _ in range(3)])
    def attention(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)


@case("jax.nn", r(4, 6), np.array([1, 0, 5, 3]))
def cross_entropy(x, label):
    return (
        -jnp.take_along_axis(jax.nn.log_softmax(x), label[:, None], axis=1).mean() + jax.nn.logsumexp(x, axis=1).sum()
    )


# ---- optax ----------------------------------------------------------------------------------

optax = have("optax")
if optax:
    _w = r(4, 3)

    def steps(rule, n=3):
        def f(w, x):
            loss = lambda w: jnp.mean((jnp.tanh(x @ w) - 0.3) ** 2)
            state = rule.init(w)
            for _ in range(n):
                update, state = rule.update(jax.grad(loss)(w), state, w)
                w = optax.apply_updates(w, update)
            return w

        return f

    for _name, _rule in {
        "sgd": optax.sgd(0.1, momentum=0.9, nesterov=True),
        "adam": optax.adam(0.01),
        "adamw": optax.adamw(optax.cosine_decay_schedule(0.01, 10)),
        "rmsprop": optax.rmsprop(0.01),
        "adagrad": optax.adagrad(0.1),
        "adabelief": optax.adabelief(0.01),
        "novograd": optax.novograd(0.01),
        "yogi": optax.yogi(0.01),
        "adamax": optax.adamax(0.01),
        "lamb": optax.lamb(0.01),
        "lars": optax.lars(0.1),
        "clipped": optax.chain(optax.clip_by_global_norm(0.05), optax.sgd(0.1)),
        "warmed_up": optax.adam(optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 10)),
    }.items():
        _f = steps(_rule)
        _f.__name__ = _name
        case("optax", _w, r(5, 4))(_f)

    @case("optax", r(6), r(6))
    def losses(x, y):
        p = jax.nn.sigmoid(y)
        return (
            optax.huber_loss(x, y)
            + optax.l2_loss(x, y)
            + optax.log_cosh(x, y)
            + optax.sigmoid_binary_cross_entropy(x, p)
            + optax.hinge_loss(x, jnp.sign(y))
            + optax.sigmoid_focal_loss(x, p)
        )

    @case("optax", r(4, 5), np.array([1, 0, 4, 2]))
    def losses_of_labels(x, k):
        one = jax.nn.one_hot(k, 5)
        return (
            optax.softmax_cross_entropy_with_integer_labels(x, k)
            + optax.softmax_cross_entropy(x, optax.smooth_labels(one, 0.1))
            + optax.cosine_distance(x, one)
            + optax.kl_divergence(jax.nn.log_softmax(x), one * 0.9 + 0.02)
        )

    @case("optax", r(2, 6, 4), hvp=False)
    def temporal_classification(x):
        labels, none = jnp.array([[1, 2, 2], [3, 1, 0]]), jnp.zeros((2, 6))
        return optax.ctc_loss(x, none, labels, jnp.array([[0.0, 0, 0], [0, 0, 1]]))


# ---- equinox ----------------------------------------------------------------------------------

eqx = have("equinox")
if eqx:
    _key = jax.random.key(0)

    def module(make, *shape, call=None):
        """The module's arrays and its input as arguments."""
        arrays, rest = eqx.partition(make, eqx.is_inexact_array)
        leaves, tree = with_leaves(arrays)

        def f(x, *leaves):
            m = eqx.combine(tree(leaves), rest)
            return call(m, x) if call else m(x)

        return f, (r(*shape), *leaves)

    def equinox(name, make, *shape, call=None, **more):
        f, args = module(make, *shape, call=call)
        f.__name__ = name
        case("equinox", *args, **more)(f)

    equinox("perceptron", eqx.nn.MLP(3, 2, 8, 2, activation=jnp.tanh, key=_key), 3)
    equinox("gelu_perceptron", eqx.nn.MLP(3, "scalar", 8, 2, activation=jax.nn.gelu, key=_key), 3)
    equinox("gru_cell", eqx.nn.GRUCell(3, 4, key=_key), 3, call=lambda m, x: m(x, jnp.full(4, 0.3)))
    equinox("lstm_cell", eqx.nn.LSTMCell(3, 4, key=_key), 3, call=lambda m, x: m(x, (jnp.full(4, 0.3), jnp.ones(4))))
    equinox(
        "recurrent",
        eqx.nn.GRUCell(3, 4, key=_key),
        7,
        3,
        call=lambda m, x: jax.lax.scan(lambda h, x: (m(x, h), m(x, h)[:2]), jnp.zeros(4), x),
    )
    equinox("convolution", eqx.nn.Conv2d(2, 3, 3, stride=2, padding=1, key=_key), 2, 7, 6)
    equinox("transposed_convolution", eqx.nn.ConvTranspose2d(2, 3, 3, stride=2, key=_key), 2, 4, 5)
    equinox("depthwise", eqx.nn.Conv1d(4, 4, 3, groups=4, key=_key), 4, 9)
    equinox("layer_norm", eqx.nn.LayerNorm(6), 6)
    equinox("group_norm", eqx.nn.GroupNorm(2, 4), 4, 3, 3)
    equinox("rms_norm", eqx.nn.RMSNorm(6), 6)
    equinox("multihead", eqx.nn.MultiheadAttention(2, 4, key=_key), 5, 4, call=lambda m, x: m(x, x, x))
    equinox("pooled", eqx.nn.AvgPool2d(2, 2), 2, 6, 6, call=lambda m, x: m(x) + eqx.nn.MaxPool2d(2, 2)(x))
    equinox("embedding", eqx.nn.Embedding(7, 4, key=_key), 4, call=lambda m, x: m(jnp.int32(3)) * x)
    equinox(
        "spectral",
        eqx.nn.Linear(4, 3, key=_key),
        5,
        4,
        call=lambda m, x: jax.vmap(m)(x) @ jnp.linalg.qr(m.weight.T)[0].T,
    )


# ---- flax ------------------------------------------------------------------------------------

linen = have("flax.linen")
if linen:

    def flax(name, make, *shape, **more):
        x = r(*shape)
        variables = make.init(jax.random.key(1), jnp.asarray(x, jnp.float32))
        leaves, tree = with_leaves(variables)
        f = lambda x, *leaves: make.apply(tree(leaves), x)
        f.__name__ = "linen_" + name
        case("flax", x, *leaves, **more)(f)

    flax("dense", linen.Sequential([linen.Dense(8), linen.tanh, linen.Dense(3), linen.softmax]), 4, 5)
    flax(
        "convolution",
        linen.Sequential([linen.Conv(4, (3, 3)), linen.relu, linen.Conv(2, (3, 3), strides=2)]),
        2,
        6,
        6,
        3,
    )
    flax("attention", linen.MultiHeadDotProductAttention(num_heads=2, qkv_features=8), 2, 5, 8)
    flax("normalized", linen.Sequential([linen.LayerNorm(), linen.Dense(4), linen.GroupNorm(2), linen.RMSNorm()]), 3, 6)
    flax("batch_norm", linen.BatchNorm(use_running_average=True), 4, 3)
    flax("lstm", linen.RNN(linen.OptimizedLSTMCell(4, param_dtype=jnp.float64)), 2, 5, 3)
    flax("gru", linen.RNN(linen.GRUCell(4, param_dtype=jnp.float64)), 2, 5, 3)
    flax("einsum", linen.Einsum((4, 6), "abc,cd->abd"), 2, 3, 4)


# ---- diffrax, lineax, optimistix, jaxopt ---------------------------------------------------------

diffrax, optimistix = have("diffrax"), have("optimistix")
if diffrax:

    def solved(name, solver, rhs, y0, *args, controller=None, dt=0.1, adjoint=None, **more):
        def f(y0, *args):
            kw = {} if controller is None else {"stepsize_controller": controller}
            sol = diffrax.diffeqsolve(
                diffrax.ODETerm(rhs),
                solver,
                0.0,
                1.0,
                dt,
                y0,
                args,
                saveat=diffrax.SaveAt(ts=jnp.linspace(0, 1, 4)),
                adjoint=adjoint or diffrax.DirectAdjoint(),
                max_steps=64,
                **kw,
            )
            return sol.ys

        f.__name__ = name
        case("diffrax", y0, *args, **more)(f)

    _lotka = lambda t, y, a: jnp.stack([y[0] * (a[0][0] - a[0][1] * y[1]), y[1] * (a[0][2] * y[0] - a[0][3])])
    _linear = lambda t, y, a: a[0] @ y - jnp.sin(t) * y**3
    _pid = diffrax.PIDController(rtol=1e-4, atol=1e-6)
    solved("euler", diffrax.Euler(), _linear, r(3), r(3, 3))
    solved("heun", diffrax.Heun(), _linear, r(3), r(3, 3))
    solved("tsit5_fixed", diffrax.Tsit5(), _lotka, positive(2), positive(4))
    solved("tsit5_adaptive", diffrax.Tsit5(), _lotka, positive(2), positive(4), controller=_pid)
    solved("dopri5", diffrax.Dopri5(), _lotka, positive(2), positive(4), controller=_pid)
    solved("dopri8", diffrax.Dopri8(), _linear, r(3), r(3, 3), hvp=False)
    solved("bosh3", diffrax.Bosh3(), _linear, r(3), r(3, 3), controller=_pid)
    solved("kvaerno3", diffrax.Kvaerno3(), _linear, r(3), r(3, 3), controller=_pid, hvp=False)
    solved(
        "implicit_euler",
        diffrax.ImplicitEuler(root_finder=optimistix.Newton(rtol=1e-10, atol=1e-10)),
        _linear,
        r(3) / 4,
        r(3, 3) / 4,
        hvp=False,
    )

lineax = have("lineax")
if lineax:

    def linear(name, solver, a, b, tags=(), **more):
        def f(a, b):
            return lineax.linear_solve(lineax.MatrixLinearOperator(a, tags), b, solver).value

        f.__name__ = name
        case("lineax", a, b, **more)(f)

    _a = r(4, 4) + 4 * np.eye(4)
    linear("by_lu", lineax.LU(), _a, r(4))
    linear("by_qr", lineax.QR(), r(6, 4), r(6))
    linear("by_svd", lineax.SVD(), r(6, 4), r(6), hvp=False)
    linear("by_qr_of_a_wide_one", lineax.QR(), r(3, 5), r(3))
    linear("by_svd_of_a_wide_one", lineax.SVD(), r(3, 5), r(3), hvp=False)
    linear("by_auto", lineax.AutoLinearSolver(well_posed=True), _a, r(4))
    linear("by_gmres", lineax.GMRES(rtol=1e-12, atol=1e-12), _a, r(4))

    @case("lineax", positive(5) + 3, r(4), r(4), r(5))
    def by_tridiagonal(d, l, u, b):
        return lineax.linear_solve(lineax.TridiagonalLinearOperator(d, l, u), b, lineax.Tridiagonal()).value

    @case("lineax", r(4, 4), r(4))
    def by_cg(a, b):
        s = lineax.MatrixLinearOperator(a @ a.T + 4 * jnp.eye(4), lineax.positive_semidefinite_tag)
        return lineax.linear_solve(s, b, lineax.CG(rtol=1e-12, atol=1e-12)).value

    @case("lineax", r(4, 4), r(4))
    def by_cholesky(a, b):
        s = lineax.MatrixLinearOperator(a @ a.T + 4 * jnp.eye(4), lineax.positive_semidefinite_tag)
        return lineax.linear_solve(s, b, lineax.Cholesky()).value

    @case("lineax", r(3), r(3))
    def by_jacobian(x, b):
        op = lineax.JacobianLinearOperator(lambda z, _: z**3 + 2 * z + jnp.roll(z, 1), x)
        return lineax.linear_solve(op, b).value


if optimistix:

    @case("optimistix", positive(3), r(3))
    def newton_root(a, y0):
        f = lambda y, a: a * y + jnp.tanh(y) + jnp.roll(y, 1) ** 3 - 1
        return optimistix.root_find(f, optimistix.Newton(rtol=1e-11, atol=1e-11), y0 * 0.1, a).value

    @case("optimistix", positive(3))
    def chord_root(a):
        f = lambda y, a: a * y + 0.1 * jnp.sin(y) - 1
        return optimistix.root_find(f, optimistix.Chord(rtol=1e-11, atol=1e-11), jnp.ones(3), a, max_steps=400).value

    @case("optimistix", positive(4))
    def bisected(a):
        f = lambda y, a: y**3 + a.sum() * y - 1
        return optimistix.root_find(
            f, optimistix.Bisection(rtol=1e-12, atol=1e-12), jnp.array(0.5), a, options={"lower": 0.0, "upper": 1.0}
        ).value

    @case("optimistix", positive(3))
    def fixed_point(a):
        f = lambda y, a: jnp.cos(y * a) / 2
        return optimistix.fixed_point(
            f, optimistix.FixedPointIteration(rtol=1e-12, atol=1e-12), jnp.ones(3), a, max_steps=400
        ).value

    _t = np.linspace(0, 1, 9)

    @case("optimistix", 1.3 * np.exp(-2 * _t) + 0.01 * r(9), hvp=False)
    def levenberg_marquardt(y):
        f = lambda p, y: p[0] * jnp.exp(-p[1] * _t) - y
        return optimistix.least_squares(f, optimistix.LevenbergMarquardt(rtol=1e-12, atol=1e-12), jnp.ones(2), y).value

    @case("optimistix", 1.3 * np.exp(-2 * _t) + 0.01 * r(9), hvp=False)
    def gauss_newton(y):
        f = lambda p, y: p[0] * jnp.exp(-p[1] * _t) - y
        return optimistix.least_squares(
            f, optimistix.GaussNewton(rtol=1e-12, atol=1e-12), jnp.array([1.2, 1.8]), y
        ).value

    @case("optimistix", positive(3), hvp=False)
    def bfgs(a):
        f = lambda y, a: jnp.sum(a * (y - a) ** 2) + 0.1 * jnp.sum(y**4)
        return optimistix.minimise(f, optimistix.BFGS(rtol=1e-10, atol=1e-10), jnp.ones(3), a, max_steps=200).value


jaxopt = have("jaxopt")
if jaxopt:

    @case("jaxopt", positive(3), jvp=False, hvp=False)
    def gradient_descent(a):
        f = lambda y, a: jnp.sum(a * (y - a) ** 2)
        return (
            jaxopt.GradientDescent(f, maxiter=50, tol=1e-12, stepsize=0.2, acceleration=False)
            .run(jnp.zeros(3), a)
            .params
        )

    @case("jaxopt", positive(3), hvp=False)
    def ridge(a):
        x = jnp.outer(jnp.arange(5.0), a) + jnp.eye(5, 3)
        f = lambda w, l: jnp.sum((x @ w - jnp.arange(5.0)) ** 2) + l * jnp.sum(w * w)
        return (
            jaxopt.GradientDescent(f, maxiter=20, stepsize=1e-3, acceleration=False, implicit_diff=False)
            .run(jnp.zeros(3), 0.3)
            .params
        )

    @case("jaxopt", r(4), r(4))
    def projections(x, y):
        p = jaxopt.projection
        return (
            p.projection_simplex(x)
            + p.projection_l2_ball(y, 1.0)
            + p.projection_non_negative(x * y)
            + p.projection_box(x, (-0.5, 0.5))
        )

    @case("jaxopt", r(5))
    def proximal(x):
        return (
            jaxopt.prox.prox_lasso(x, 0.3)
            + jaxopt.prox.prox_elastic_net(x, (0.2, 0.5))
            + jaxopt.prox.prox_group_lasso(x, 0.1)
        )


# ---- jax.numpy.fft, complex numbers -----------------------------------------------------------


def _waves(n):
    return np.fft.rfftfreq(n, 1 / n)


@case("jax.numpy.fft", r(32))
def spectral_derivative(u):
    hat = jnp.fft.rfft(jnp.tanh(u))
    return jnp.sum(jnp.fft.irfft(1j * _waves(32) * hat, n=32) ** 2) * 1e-3


@case("jax.numpy.fft", r(24))
def power_spectrum(u):
    return jnp.sum(jnp.log1p(jnp.abs(jnp.fft.fft(u)) ** 2))


@case("jax.numpy.fft", r(16), positive())
def spectral_burgers(u, nu):
    k = _waves(16)

    def step(hat, _):
        v = jnp.fft.irfft(hat, n=16)
        rate = -0.5j * k * jnp.fft.rfft(v * v) - nu * k**2 * hat
        return hat + 1e-3 * rate, jnp.sum(v * v)

    hat, energy = jax.lax.scan(step, jnp.fft.rfft(u), None, length=12)
    return jnp.sum(energy) + jnp.sum(jnp.fft.irfft(hat, n=16) ** 3)


@case("jax.numpy.fft", r(16), r(16))
def split_step_schroedinger(x, v):
    k2 = np.fft.fftfreq(16, 1 / 16) ** 2
    psi = jnp.exp(-(x**2)) * jnp.exp(1j * x)

    def step(psi, _):
        psi = jnp.fft.ifft(jnp.exp(-0.01j * k2) * jnp.fft.fft(psi))
        return psi * jnp.exp(-0.02j * v), None

    psi, _ = jax.lax.scan(step, psi, None, length=7)
    return jnp.sum(jnp.real(psi * jnp.conj(psi)) * x)


@case("jax.numpy.fft", r(8, 12))
def poisson_on_a_torus(f):
    kx, ky = np.fft.fftfreq(8, 1 / 8)[:, None], _waves(12)[None, :]
    k2 = kx**2 + ky**2
    hat = jnp.fft.rfft2(f) / np.where(k2 == 0, 1, k2) * (k2 > 0)
    return jnp.sum(jnp.fft.irfft2(hat, s=(8, 12)) * f)


@case("jax.numpy.fft", r(4, 5, 6))
def three_dimensions(x):
    z = jnp.fft.ifftn(jnp.fft.fftn(x) * jnp.exp(0.3j * x))
    return jnp.sum(jnp.real(z) ** 2) + jnp.sum(jnp.imag(z))


@case("jax.numpy.fft", r(3, 17))
def prime_length_by_axis(x):
    z = jnp.fft.fft(x, axis=0) + jnp.fft.ifft(x, axis=1)
    return jnp.sum(jnp.abs(z) ** 2 * x)


@case("jax.scipy", r(40), r(9))
def fft_convolution(x, w):
    return jnp.sum(jnp.tanh(jax.scipy.signal.fftconvolve(x, w, mode="same")))


@case("jax.scipy", r(64))
def spectrogram(x):
    _, _, z = jax.scipy.signal.stft(x, nperseg=16)
    return jnp.sum(jnp.log1p(jnp.abs(z) ** 2))


@case("jax.scipy", r(6, 8))
def cosine_transform(x):
    return jnp.sum(jax.scipy.fft.dctn(x) * jax.scipy.fft.idct(x, axis=0) * x) * 1e-2


@case("jax.numpy complex", r(6), r(6))
def elementary_functions(x, y):
    z = x + 1j * (2 + y**2)
    w = jnp.sqrt(z) * jnp.log(z) + jnp.exp(1j * z) / z + jnp.tanh(z) + jnp.sin(z / 4) - jnp.cosh(z / 4) + z**2.5 + z**3
    return jnp.sum(jnp.real(w) ** 2 + jnp.imag(w) * y) * 1e-2


@case("jax.numpy complex", r(6), r(6))
def inverse_functions(x, y):
    z = x + 1j * (0.5 + y**2)
    w = jnp.arcsin(z) + jnp.arccos(z) * z + jnp.arctan(z) + jnp.arcsinh(z)
    right = x**2 + 1j * y  # of arccosh JAX's derivative has the other sign to the left of the imaginary axis
    w = w + jnp.arccosh(right) * jnp.arctanh(z)
    return jnp.sum(jnp.real(w) + jnp.imag(w) ** 2) + jnp.sum(jnp.angle(z))


@case("jax.numpy complex", r(20), positive(3))
def transfer_function(w, c):
    s = 1j * w
    h = (c[0] + c[1] * s) / (1 + c[2] * s + s**2 + 0.3)
    return jnp.sum(20 * jnp.log10(jnp.abs(h)) + jnp.unwrap(jnp.angle(h)))


@case("jax.numpy complex", r(5, 5), r(5, 5), r(5))
def complex_system(a, b, c):
    z = jnp.linalg.solve(a + 1j * b + 4 * jnp.eye(5), c + 1j * c**2)
    return jnp.sum(jnp.abs(z) ** 2)


# Of matrices with fixed numbers; vectors where their phases do not count.
_re, _im = np.random.default_rng(21).normal(size=(2, 5, 3))
_parts = lambda *zs: [p for z in zs for p in (z.real, z.imag)]


@case("jax.numpy complex", _re, _im)
def complex_cholesky(a, b):
    z = a + 1j * b
    h = z.conj().T @ z + jnp.eye(3)
    l = jnp.linalg.cholesky(h)
    x = jax.scipy.linalg.cho_solve((l, True), z.T) + jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(h), z.T[::-1])
    more = jax.scipy.linalg.solve_triangular(h, z.T, trans=2) * jax.scipy.linalg.solve_triangular(h, z.T, trans="T", lower=True)
    return _parts(l, x, more, jnp.linalg.cholesky(jnp.stack([h, 2 * h]), upper=True))


@case("jax.numpy complex", _re, _im)
def complex_determinants(a, b):
    z = a + 1j * b
    s = z[:3] + 2 * jnp.eye(3)
    sign, log = jnp.linalg.slogdet(s)
    p, l, u = jax.scipy.linalg.lu(z)
    q, m, w = jax.scipy.linalg.lu(z.T)
    x = jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(s), z.T[:, :2]) + jnp.linalg.inv(s) @ z[2:4].T
    return _parts(jnp.linalg.det(s), sign, jnp.sin(l) @ u, m @ jnp.cos(w), x, jnp.linalg.solve(s, z[0])) + [log]


@case("jax.numpy complex", _re, _im)
def complex_orthogonal(a, b):
    z = a + 1j * b
    q, u = jnp.linalg.qr(z)
    v, w = jnp.linalg.qr(z.T[:, :3])
    return _parts(q, u, v, w) + [jnp.abs(jnp.linalg.qr(z, mode="r"))]


@case("jax.numpy complex", _re, _im)
def complex_hermitian(a, b):
    z = (a + 1j * b)[:3]
    w, v = jnp.linalg.eigh(z)
    up = jnp.linalg.eigh(z @ z.conj().T, UPLO="U")[0]
    return _parts(v @ (jnp.sin(w)[:, None] * v.conj().T)) + [jnp.abs(v), w, up, jnp.linalg.eigvalsh(z @ z.conj().T)]


@case("jax.numpy complex", _re, _im)
def complex_singular(a, b):
    z = a + 1j * b
    u, s, vt = jnp.linalg.svd(z, full_matrices=False)
    norms = jnp.linalg.norm(z, 2), jnp.linalg.norm(z, "nuc"), jnp.linalg.cond(z), jnp.linalg.matrix_rank(z)
    least = jnp.linalg.lstsq(z, z[:, 0] ** 2)[0]
    return _parts((u * jnp.cos(s)) @ vt, jnp.linalg.pinv(z), least, jnp.linalg.pinv(z.T)) + [s, *norms]


# JAX has no second derivatives.
@case("jax.numpy complex", _re, _im, hvp=False)
def complex_eigenvalues(a, b):
    w = jnp.linalg.eigvals((a + 1j * b)[:3])
    real = jnp.linalg.eigvals(a[1:4])
    return _parts((w**3).sum(), jnp.exp(w).sum(), jnp.prod(real + 2)) + [jnp.abs(w).sum()]


# Of which JAX has no derivative.
@case("jax.scipy", _re[:3] + 3 * np.eye(3), _im[1:4])
def schur_and_functions(a, b):
    x, y = map(jax.lax.stop_gradient, (a, b))
    t, q = jax.scipy.linalg.schur(x)
    u, v = jax.scipy.linalg.schur(x + 1j * y)
    w, z = jax.scipy.linalg.rsf2csf(*jax.scipy.linalg.schur(y))
    roots = jax.scipy.linalg.sqrtm(x), jax.scipy.linalg.sqrtm(x @ x.T + 1j * (y - y.T))
    back = [q @ t @ q.T, v @ u @ v.conj().T, z @ w @ z.conj().T, *roots, jax.scipy.linalg.funm(x + 1j * y, jnp.exp)]
    return [p * a for p in _parts(*[m.astype(complex) for m in back])]


@case("jax.numpy complex", r(6), r(6), hvp=False)
def complex_order(x, y):
    z = jnp.round(x) + 1j * y
    k = jnp.argsort(z)
    return [*_parts(jnp.sort(z), jnp.cumprod(z + 1), jax.lax.cumprod(z.reshape(2, 3), axis=1, reverse=True)), k]


@case("jax.numpy complex", r(3))
def quantum_circuit(angle):
    x, z = np.array([[0, 1], [1, 0]], complex), np.array([[1, 0], [0, -1]], complex)
    eye = np.eye(2)
    state = jnp.zeros(8, complex).at[0].set(1)

    def turn(gate, where, by):
        u = jnp.cos(by / 2) * np.eye(8) - 1j * jnp.sin(by / 2) * np.kron(np.kron(*where(gate)[:2]), where(gate)[2])
        return u

    places = [lambda g: (g, eye, eye), lambda g: (eye, g, eye), lambda g: (eye, eye, g)]
    for k, (gate, place) in enumerate([(x, places[0]), (z, places[1]), (x, places[2])]):
        state = turn(gate, place, angle[k]) @ state
        state = turn(x, places[1], angle[k] ** 2) @ state
    return jnp.real(jnp.vdot(state, np.kron(np.kron(z, z), x + z) @ state))


@case("jax.numpy complex", r(4), r(4))
def mandelbrot(x, y):
    c = 0.3 * (x + 1j * y)

    def body(carry):
        z, n = carry
        return z * z + c, n + 1

    z, _ = jax.lax.fori_loop(0, 6, lambda i, s: body(s), (jnp.zeros(4, complex), 0))
    return jnp.sum(jnp.real(z * jnp.conj(z)))


@case("jax.numpy complex", r(6))
def products_and_choices(x):
    z = jnp.where(x > 0, x + 2j, jnp.exp(1j * x))
    w = jnp.concatenate([z[::-1], jnp.cumsum(z)]).reshape(3, 4)
    return jnp.real(jnp.prod(z)) + jnp.sum(jnp.abs(w.T @ w.conj()) ** 2) * 1e-3 + jnp.sum(jnp.imag(jnp.sort(x) * z))


@case("jax.numpy complex", r(5), r(5))
def windows_and_gathers(x, y):
    z = jax.lax.complex(x, y)
    w = jnp.convolve(z, z[:3]) + jnp.pad(z, (1, 1))
    return jnp.sum(jnp.abs(w[jnp.array([0, 3, 5])] * z[:3].at[1].add(2j)) ** 2)


# ---- complex systems by iteration, rules of complex functions ------------------------------------------

_system_re, _system_im = np.random.default_rng(31).normal(size=(2, 4, 4))
_right = np.random.default_rng(32).normal(size=(2, 4))


@case("jax.numpy complex", _system_re, _system_im, *_right)
def complex_gmres(a, b, c, d):
    m = a + 1j * b + 5 * jnp.eye(4)
    x = jax.scipy.sparse.linalg.gmres(lambda x: m @ x, c + 1j * d, tol=1e-14, M=lambda x: x / jnp.diag(m))[0]
    return _parts(x * x, jnp.exp(0.1 * x))


@case("jax.numpy complex", _system_re, _system_im, *_right)
def complex_conjugate_gradients(a, b, c, d):
    m = a + 1j * b
    m = m @ m.conj().T + 2 * jnp.eye(4)
    x, y = jax.scipy.sparse.linalg.cg(lambda x: (m @ x[0], m.conj() @ x[1]), (c + 1j * d, d - 1j * c), tol=1e-14)[0]
    return _parts(x, y * x)


@case("jax.numpy complex", _system_re, _system_im, *_right)
def complex_bicgstab(a, b, c, d):
    m = a + 1j * b + 5 * jnp.eye(4)
    x = jax.scipy.sparse.linalg.bicgstab(lambda x: m @ x, c + 1j * d, tol=1e-14)[0]
    return _parts(jnp.sin(x)) + [jnp.abs(x)]


# Symmetric without conjugation, and a real unknown beside a complex one.
@case("jax.numpy complex", _system_re, _system_im, *_right)
def complex_symmetric_solve(a, b, c, d):
    m = a + a.T + 1j * (b + b.T) + 6 * jnp.eye(4)
    solved = jax.lax.custom_linear_solve(
        lambda x: m @ x, c + 1j * d, lambda _, b: jnp.linalg.inv(jax.lax.stop_gradient(m)) @ b, symmetric=True
    )
    twice = lambda z: (m @ z[0] + (1 + 2j) * z[1], 3 * z[1] + jnp.real(a @ z[0]))

    def by_blocks(_, rhs):
        real = lambda z: jnp.concatenate([z[0].real, z[0].imag, z[1]])
        back = lambda v: (v[:4] + 1j * v[4:8], v[8:])
        columns = jax.vmap(lambda e: real(_(back(e))))(jnp.eye(12)).T
        return back(jnp.linalg.solve(columns, real(rhs)))

    x, y = jax.lax.custom_linear_solve(twice, (c + 1j * d, c * d), by_blocks, by_blocks)
    return _parts(solved * solved, x * y)


# Of which JAX has no derivative; sums that tell neither order nor phases.
@case("jax.numpy complex", _system_re, _system_im)
def left_eigenvectors(a, b):
    parts = []
    for z in map(jax.lax.stop_gradient, (a + 1j * b, a, jnp.stack([b, a @ b]))):
        w, u, v = jax.lax.linalg.eig(z, compute_left_eigenvectors=True, compute_right_eigenvectors=True)
        only = jax.lax.linalg.eig(z, compute_left_eigenvectors=True, compute_right_eigenvectors=False)[1]
        both = jnp.einsum("...ij,...j,...kj", u, jnp.exp(w), u.conj()), jnp.einsum("...ij,...j,...kj", only, w, v.conj() * 0 + only.conj())
        overlap = jnp.abs(jnp.einsum("...ij,...ij->...j", u.conj(), v)).sum(-1)
        parts += _parts(*both) + [overlap]
    return [p * a[0, 0] for p in parts]


# JAX has no derivatives of these, and Tansy those of what they are made of: by numbers that are fixed.
@case("jax.numpy complex", _system_re, _system_im)
def complex_reflections(a, b):
    z = jax.lax.stop_gradient(a + 1j * b)
    h, q = jax.scipy.linalg.hessenberg(z, calc_q=True)
    raw, taus = jnp.linalg.qr(z[:, :3], mode="raw")
    more = [f(raw.mT, taus, z[:4], left=left, transpose=t) for f in [jax.lax.linalg.ormqr] for left in (True, False) for t in (True, False)]
    bands = jnp.concatenate([jnp.zeros(1), z[0, 1:]]), z[1] + 3, jnp.concatenate([z[2, 1:], jnp.zeros(1)])
    line = jax.lax.linalg.tridiagonal_solve(*[x.astype(complex) for x in bands], z[:, :2])
    return [p * a[0, 0] for p in _parts(h, q, raw, taus, *more, line)]


# Of a rule that is not the derivative, so that whoever differentiates the program is found out.
@case("jax.numpy complex", *_right, jvp=False)
def complex_custom_vjp(c, d):
    value = lambda z, s, n: (jnp.sin(z) * s, jnp.abs(z) ** 2 * n, jnp.real(z * z))
    f = jax.custom_vjp(value)

    def fwd(z, s, n):
        return value(z, s, n), (z, s, n)

    def bwd(kept, cts):
        z, s, n = kept
        u, v, w = cts
        dz = u * s * jnp.cos(z) * (1 + 0.5j) + 2 * (v * n) * z.conj() + w * z * 3
        return dz, jnp.real(u * jnp.sin(z)) * 2, None

    f.defvjp(fwd, bwd)
    x, y, w = f(c + 1j * d, c * d, 3)
    return _parts(x * x) + [y * w, w]


@case("jax.numpy complex", *_right)
def complex_custom_jvp(c, d):
    @jax.custom_jvp
    def f(z, s):
        return jnp.exp(z) * s, jnp.abs(z)

    @f.defjvp
    def rule(primals, tangents):
        (z, s), (dz, ds) = primals, tangents
        y, size = f(z, s)
        return (y, size), (y * dz * (2 - 1j) + jnp.exp(z) * ds, jnp.real(z.conj() * dz) / size * 3)

    x, y = f(0.3 * (c + 1j * d), c)
    return _parts(x * x, f(x, y)[0])


if lineax:
    _solvers = {"lu": lineax.LU(), "gmres": lineax.GMRES(rtol=1e-12, atol=1e-12), "qr": lineax.QR(), "svd": lineax.SVD()}
    for name, rows, columns in [("lu", 4, 4), ("gmres", 4, 4), ("qr", 4, 2), ("qr", 3, 4), ("svd", 4, 2), ("svd", 3, 4)]:

        def solved(a, b, c, d, solver=_solvers[name], rows=rows, columns=columns):
            m = (a + 1j * b + 5 * jnp.eye(4))[:rows, :columns]
            x = lineax.linear_solve(lineax.MatrixLinearOperator(m), (c + 1j * d)[:rows], solver).value
            return _parts(x * x)

        solved.__name__ = f"complex_by_{name}" + "_of_a_wide_one" * (rows < columns)
        case("lineax", _system_re, _system_im, *_right, hvp=name != "svd")(solved)
