"""jit, grad and value_and_grad of functions written with jax.numpy: programs that are made at the first call with
arguments of these shapes and dtypes, compiled, and kept."""

import functools

import numpy as np

from ._jax import from_jax


def _key(leaf):
    return getattr(leaf, "shape", ()), str(getattr(leaf, "dtype", type(leaf).__name__))


def _argument(leaf):
    """An array for an executable: keys are their words, numbers and wide arrays have the dtype that JAX makes of them."""
    import jax

    if str(getattr(leaf, "dtype", "")).startswith("key<"):
        return np.asarray(jax.random.key_data(leaf))
    if isinstance(leaf, np.ndarray) and (jax.config.jax_enable_x64 or leaf.itemsize < 8):
        return leaf
    return np.asarray(jax.numpy.asarray(leaf))


class _Traced:
    """A program, the dtypes of its outputs as JAX has them, and what makes a result of these arrays.  Of outputs from
    `slopes` on, which are derivatives, JAX has the conjugates."""

    def __init__(self, program, dtypes, whole, slopes, follows=True):
        self.program, self.dtypes, self.whole, self.slopes = program, dtypes, whole, slopes
        self.follows = follows  # whether the result's leaves are the outputs in their order
        self.run = None

    def result(self, arrays):
        return self.whole([self._complex(j, a) if self.dtypes[j].kind == "c" else a for j, a in enumerate(arrays)])

    def _complex(self, j, array):
        z = np.ascontiguousarray(array).view(self.dtypes[j])[..., 0]
        return z.conj() if j >= self.slopes else z


class Function:
    """A function of JAX's or a derivative of one.  Called, it gives NumPy arrays in the trees of JAX's result;
    program(*args) is the program for arguments of these shapes and dtypes, whose inputs are the leaves of args."""

    def __init__(self, f, make, options):
        functools.update_wrapper(self, f, updated=())
        self._make, self._options, self._kept = make, options, {}

    def traced(self, args):
        import jax

        leaves, tree = jax.tree_util.tree_flatten(args)
        key = tree, tuple(map(_key, leaves)), bool(jax.config.jax_enable_x64)
        if key not in self._kept:
            self._kept[key] = self._make(args)
        return self._kept[key], leaves

    def program(self, *args):
        return self.traced(args)[0].program

    def __call__(self, *args):
        traced, leaves = self.traced(args)
        if traced.run is None:
            traced.run = traced.program.compile(**self._options)
        arrays = traced.run(*map(_argument, leaves))
        return traced.result(arrays if isinstance(arrays, tuple) else [arrays])


def _traced(f, args):
    """f at the types of args, which is JAX's or one of ours."""
    import jax

    if isinstance(f, Function):
        return f.traced(args)[0]
    leaves, tree = jax.tree_util.tree_flatten(jax.eval_shape(f, *args))
    dtypes = [np.dtype(x.dtype) for x in leaves]
    return _Traced(from_jax(f, *args), dtypes, functools.partial(jax.tree_util.tree_unflatten, tree), len(leaves))


def jit(f, **options):
    """f, run by Tansy: f(*args) is computed by the executable of its program.  `options` are those of Program.compile
    (backend, threads, ..).  f may be a function of jax.numpy, or what grad or value_and_grad gave."""

    def make(args):
        t = _traced(f, args)
        return _Traced(t.program, t.dtypes, t.whole, t.slopes, t.follows)

    return Function(f, make, options)


def _chosen(argnums, args):
    """The leaves of args that are differentiated by, and what makes a result of theirs."""
    import jax

    trees = [jax.tree_util.tree_structure(a) for a in args]
    first = [0]
    for t in trees:
        first.append(first[-1] + t.num_leaves)
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    if not all(-len(args) <= i < len(args) for i in numbers):
        raise ValueError(f"argnums is {argnums}, and there are {len(args)} arguments")
    numbers = [i % len(args) for i in numbers]
    wrt = [leaf for i in numbers for leaf in range(first[i], first[i + 1])]
    tree = trees[numbers[0]] if isinstance(argnums, int) else jax.tree_util.treedef_tuple([trees[i] for i in numbers])
    return wrt, functools.partial(jax.tree_util.tree_unflatten, tree)


def _derivative(f, argnums, has_aux, value, policy, options):
    def make(args):
        import jax

        t = _traced(f, args)
        if not t.follows or t.dtypes[0].kind not in "fV" or t.program.outputs[0].shape:
            raise TypeError("gradients are of functions whose result, or the first of a pair, is a real number")
        if len(t.dtypes) > 1 and not has_aux:
            raise TypeError("the function has several results: with has_aux=True those behind the first are only given back")
        wrt, slopes = _chosen(argnums, args)
        n, leaves = len(t.dtypes), jax.tree_util.tree_leaves(args)
        dtypes = [np.dtype(jax.numpy.result_type(leaves[i])) for i in wrt]
        if not value and not has_aux:
            return _Traced(t.program.grad(wrt, policy), dtypes, slopes, 0)
        both = lambda all: (t.whole(all[:n]), slopes(all[n:]))
        aux = lambda all: (slopes(all[n:]), t.whole(all[:n])[1])
        return _Traced(t.program.value_and_grad(wrt, policy), [*t.dtypes, *dtypes], both if value else aux, n, value)

    return Function(f, make, options)


def grad(f, argnums=0, has_aux=False, policy=None, **options):
    """The gradient of f, whose result is a real number, as jax.grad's: in the arguments `argnums`, of any trees of float
    arrays.  With has_aux f gives (number, anything) and the gradient (slopes, anything).  `policy` is what reverse mode
    keeps (Program), options those of Program.compile.  Derivatives nest: tansy.grad(tansy.grad(f)).  Of complex
    arguments it is JAX's, the conjugate of Program.grad's."""
    return _derivative(f, argnums, has_aux, False, policy, options)


def value_and_grad(f, argnums=0, has_aux=False, policy=None, **options):
    """As grad, and the value before it: (f's result, slopes)."""
    return _derivative(f, argnums, has_aux, True, policy, options)
