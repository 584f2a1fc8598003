"""Primitives of Equinox and Lineax, which Diffrax and Optimistix are written with: checks of errors are asserts, and a
linear solve is custom_linear_solve of the operator, so that its derivatives are solves again and not those of an iteration.
"""

import functools

# Equal to their operands, where nothing is mapped, differentiated or traced any more.
SAME = {"nonbatchable", "nondifferentiable_backward", "nontraceable"}
_RAISES, _ON_TPU = "_error.<locals>.raises", "_error.<locals>.tpu_msg"
_ALL = {"unvmap_any": "reduce_or", "unvmap_all": "reduce_and", "unvmap_max": "reduce_max"}


def name_of(eqn):
    callback = eqn.params["callback"]
    return getattr(getattr(callback, "callback_func", callback), "__qualname__", "")


def unchecked(eqn):
    """Which operand each output of a cond is where error_if has nothing to say; None: it is no check."""
    branches = [b.jaxpr for b in eqn.params["branches"]] if eqn.primitive.name == "cond" else []
    raising = [
        b for b in branches if any(e.primitive.name == "pure_callback" and name_of(e) == _RAISES for e in b.eqns)
    ]
    passing = [b for b in branches if not b.eqns and all(v in b.invars for v in b.outvars if not hasattr(v, "val"))]
    if (
        len(branches) != 2
        or len(raising) != 1
        or len(passing) != 1
        or any(hasattr(v, "val") for v in passing[0].outvars)
    ):
        return None
    return [1 + list(passing[0].invars).index(v) for v in passing[0].outvars]


def checks(jaxpr):
    """Whether a program is one of error_if."""
    return any(unchecked(e) is not None for e in jaxpr.eqns)


class Equinox:
    """What _Body writes of these."""

    def _unvmapped(self, eqn):
        axes = tuple(range(len(eqn.invars[0].aval.shape)))
        if not axes:
            self.names[eqn.outvars[0]] = self.atom(eqn.invars[0])
        else:
            self.emit(eqn, _ALL[eqn.primitive.name], [("axes", self.value(axes))], self.atoms(eqn.invars))

    do_unvmap_any = do_unvmap_all = do_unvmap_max = _unvmapped

    def _as_is(self, eqn):
        """Whose rules are about mapping and transposition alone."""
        import jax

        avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars]
        jaxpr = jax.make_jaxpr(functools.partial(eqn.primitive.impl, **eqn.params))(*avals)
        self.emit(
            eqn,
            "call",
            [("name", f'"{eqn.primitive.name}"'), ("program", self.walk.nested(jaxpr))],
            self.atoms(eqn.invars),
        )

    do_select_if_vmap = do_maybe_set = _as_is

    def do_pure_callback(self, eqn):
        """Of error_if: an assert that fails, and zeros, which nobody sees."""
        callback, name = getattr(eqn.params["callback"], "callback_func", None), name_of(eqn)
        if name == _ON_TPU and len(eqn.outvars) <= len(eqn.invars):
            for v, x in zip(eqn.outvars, eqn.invars):
                self.names[v] = self.atom(x)
        elif name == _RAISES:
            held = dict(zip(callback.__code__.co_freevars, (c.cell_contents for c in callback.__closure__)))
            message = " | ".join(map(str, held.get("msgs", ()))) or "an error of Equinox"
            self.lines.append((f"  () = assert[message={self.string(message)}] False:bool[]", self.place))
            for v in eqn.outvars:
                self.names[v] = self.zeros(v.aval)
        else:
            self.callback(eqn, effect=False)

    def do_linear_solve(self, eqn):
        import jax

        solve = _as_custom(eqn, within_rule=self.walk.rules > 0)
        if not solve:
            return self.lack(eqn, "linear_solve")
        jaxpr = jax.make_jaxpr(solve)(*[jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars])
        self.emit(
            eqn, "call", [("name", '"linear_solve"'), ("program", self.walk.nested(jaxpr))], self.atoms(eqn.invars)
        )


def _as_custom(eqn, within_rule):
    """Lineax's equation as a function of its arrays, by JAX's custom_linear_solve; None: it is another's.  Within rules of
    derivatives, which are linear, nothing can be checked."""
    try:
        import jax
        import lineax
    except ImportError:
        return None
    if not {"treedef", "static", "flatten"} <= eqn.params.keys():
        return None
    treedef, static, flatten = (eqn.params[k] for k in ("treedef", "static", "flatten"))
    wanted = [type(v).__name__ != "DropVar" for v in eqn.outvars]
    missing = _missing(static, len(eqn.invars))

    def solved(*arrays):
        arrays = iter(arrays)
        operator, state, vector, options, solver, throw = jax.tree_util.tree_unflatten(
            treedef, [next(arrays) if x is missing else x for x in static]
        )
        solve = _Solve(operator, state, vector, options, solver)
        by = solve.square if solve.is_square() else solve.least
        asked = any(wanted[len(jax.tree_util.tree_leaves(vector)) :])
        if within_rule or not (throw or asked):
            return flatten((by(), lineax.RESULTS.successful, solve.no_stats()))
        value, result, stats = by(said=True)
        if throw:  # behind the solve, in which nothing is checked
            value, result, stats = result.error_if((value, result, stats), result != lineax.RESULTS.successful)
        return flatten((value, result, stats))

    return solved


class _Solve:
    """One solve, of arrays that are traced.  `said`: with its result and statistics, which need not be linear."""

    def __init__(self, operator, state, vector, options, solver):
        import jax

        hold = lambda x: jax.lax.stop_gradient(x) if hasattr(x, "dtype") else x
        self.operator, self.vector, self.options, self.solver = operator, vector, options, solver
        self.state = jax.tree_util.tree_map(hold, state)

    def is_square(self):
        import jax

        shapes = lambda tree: [x.shape for x in jax.tree_util.tree_leaves(tree)]
        inputs, outputs = self.operator.in_structure(), self.operator.out_structure()
        return type(self.solver).__name__ != "QR" and shapes(inputs) == shapes(outputs)

    def inverse(self, b):
        return _compute(self.operator, self.state, b, self.options, self.solver)

    def inverse_transposed(self, b):
        state, options = self.solver.transpose(self.state, self.options)
        return _compute(self.operator.T, state, b, options, self.solver)[0]

    def no_stats(self):
        import jax

        made = jax.eval_shape(lambda: self.inverse(self.vector)[2])
        return jax.tree_util.tree_map(lambda x: jax.numpy.zeros(x.shape, x.dtype), made)

    def square(self, said=False):
        import jax
        import lineax

        def forwards(_, b):
            x, *more = self.inverse(b)
            return (x, tuple(more)) if said else x

        def backwards(_, b):
            x = self.inverse_transposed(b)
            return (x, tuple(self.inverse(b)[1:])) if said else x

        symmetric = lineax.is_symmetric(self.operator)
        made = jax.lax.custom_linear_solve(
            self.operator.mv, self.vector, forwards, backwards, symmetric=symmetric, has_aux=said
        )
        return (made[0], *made[1]) if said else made

    def pseudoinverses(self, a, as_output, as_input):
        """b -> a^+ b and c -> (a^H)^+ c, of flat vectors: by Lineax's solver, but of QR, whose factors are made here."""
        import jax
        from jax.flatten_util import ravel_pytree

        if type(self.solver).__name__ != "QR":
            forwards = lambda b: ravel_pytree(self.inverse(as_output(b))[0])[0]
            return forwards, lambda c: ravel_pytree(self.inverse_transposed(as_input(c.conj())))[0].conj()
        tall = a.shape[0] >= a.shape[1]
        q, r = jax.numpy.linalg.qr(a if tall else a.conj().T)
        least = lambda b: jax.scipy.linalg.solve_triangular(r, q.conj().T @ b)
        shortest = lambda c: q @ jax.scipy.linalg.solve_triangular(r, c, trans="C")
        return (least, shortest) if tall else (shortest, least)

    def least(self, said=False):
        """Least squares, r + a x = b and a^H r = 0, and least norms, x + a^H y = 0 and a x = b: square systems.  Real ones are
        symmetric, and the transposes of complex ones their conjugates."""
        import jax
        import lineax
        from jax.flatten_util import ravel_pytree

        zeros = jax.tree_util.tree_map(lambda s: jax.numpy.zeros(s.shape, s.dtype), self.operator.in_structure())
        (zero, as_input), (flat, as_output) = ravel_pytree(zeros), ravel_pytree(self.vector)
        a = self.operator.as_matrix()
        fixed = jax.lax.stop_gradient(a)
        inverse, inverse_transposed = self.pseudoinverses(fixed, as_output, as_input)
        tall = a.shape[0] >= a.shape[1]
        conj = lambda tree: jax.tree_util.tree_map(lambda x: x.conj(), tree)

        def system(z):
            return (z[0] + a @ z[1], a.conj().T @ z[0]) if tall else (z[0] + a.conj().T @ z[1], a @ z[0])

        def solve(_, rhs):
            b, c = rhs
            if tall:
                x = inverse(b) - inverse(inverse_transposed(c))
                return b - fixed @ x, x
            x = inverse(c) + b - inverse(fixed @ b)
            return x, inverse_transposed(b - x)

        rhs = (flat, zero) if tall else (zero, flat)
        backwards, symmetric = None, True
        if jax.numpy.iscomplexobj(a):
            backwards, symmetric = lambda _, rhs: conj(solve(None, conj(rhs))), False
        x = as_input(jax.lax.custom_linear_solve(system, rhs, solve, backwards, symmetric=symmetric)[tall])
        if not said:
            return x
        held = type(self.solver).__name__ == "QR"
        return (
            (x, lineax.RESULTS.successful, {}) if held else (x, *self.inverse(jax.lax.stop_gradient(self.vector))[1:])
        )


def _compute(operator, state, b, options, solver):
    from lineax._solve import _linear_solve_impl

    return _linear_solve_impl(operator, state, b, options, solver, False, check_closure=False)


def _missing(static, n):
    """What stands among the static leaves where an array is an operand: the one object that is there n times."""
    for x in static:
        if type(x) is object and sum(y is x for y in static) == n:
            return x
    return object()
