"""The corpus as JAX prints it, pasted: what parses is compared with JAX (values) and with from_jax (gradients).

usage: texts.py [--libraries] [NAME ...]"""

import sys

import jax
import numpy as np

import tansy
from compare import call, close, ROUNDED, scalar
from corpus import CASES

jax.config.update("jax_enable_x64", True)
# What a text cannot say, or says only in JAX's Python objects.
REFUSED = {
    "custom_vjp": "custom_vjp_call",
    "custom_vjp_that_clips": "custom_vjp_call",
    "gradient_descent": "custom_vjp_call",  # of JAXopt's implicit derivatives
    "gamma_samples": "random_gamma",
    "beta_and_dirichlet_samples": "random_gamma",
    "by_jacobian": "of Lineax's operators",
    "complex_custom_vjp": "custom_vjp_call",
    "complex_reflections": "hessenberg",
    "left_eigenvectors": "compute_left_eigenvectors",
    "complex_by_qr": "geqrf",
    "complex_by_qr_of_a_wide_one": "geqrf",
}
# Of jax_threefry_partitionable=False, which a text does not tell.
OTHER_NUMBERS = {"older_keys"}
# Whose derivative is a rule of the user's, which a text does not hold.
OWN_RULE = {"custom_jvp_of_another_value", "complex_custom_jvp", "bisected", "kvaerno3"}
SHARE = 0.95  # of the programs, with all libraries


def constants(closed):
    """Those of a program and of programs within, each once, in the order in which a text has them as inputs."""
    found = {id(v): x for v, x in zip(closed.jaxpr.constvars, closed.consts)} if hasattr(closed, "consts") else {}
    for eqn in getattr(closed, "jaxpr", closed).eqns:
        for inner in [x for v in eqn.params.values() for x in (v if isinstance(v, (tuple, list)) else [v])]:
            if hasattr(inner, "eqns") or hasattr(inner, "consts"):
                for v, x in constants(inner).items():
                    found.setdefault(v, x)
    return found


def constants_of(closed):
    return [np.asarray(x) for x in constants(closed).values()]


def results(name, f, args, more):
    """(what, whether it is right) of the text; the first is whether it parses."""
    leaves, tree = jax.tree_util.tree_flatten(args)
    leaves = [np.asarray(x) for x in leaves]
    flat = lambda *leaves: jax.tree_util.tree_leaves(f(*jax.tree_util.tree_unflatten(tree, leaves)))
    closed = jax.make_jaxpr(flat)(*leaves)
    program = tansy.parse(str(closed))
    yield "parse", True
    consts = constants_of(closed)
    rounded = max([ROUNDED.get(more.get("within", str(x.dtype)), 0) for x in leaves])
    if name in OTHER_NUMBERS:
        return
    want = jax.jit(flat)(*leaves)
    got = call(program, *consts, *leaves)
    yield "value", len(got) == len(want) and all(map(lambda a, b: close(a, b, rounded, 1e-8), got, want))
    if name in OWN_RULE or not any(np.issubdtype(x.dtype, np.floating) for x in leaves):
        return
    loss = jax.make_jaxpr(scalar(flat))(*leaves)
    consts = constants_of(loss)
    wrt = [len(consts) + i for i, x in enumerate(leaves) if str(x.dtype) in ("float32", "float64", "float16", "bfloat16")]
    got = call(tansy.parse(str(loss)).grad(wrt=wrt), *consts, *leaves)
    want = call(tansy.from_jax(scalar(flat), *leaves).grad(wrt=[i - len(consts) for i in wrt]), *leaves)
    yield "grad", all(map(lambda a, b: close(a, b, rounded, 1e-8), got, want))


def main(arguments):
    parsed = failed = 0
    only = [a for a in arguments if a != "--libraries"]
    cases = list(CASES)
    if "--libraries" in arguments:
        from libraries import CASES as libraries

        cases += libraries
    for name, f, args, more in cases:
        if only and name not in only:
            continue
        row, why = {}, ""
        try:
            for what, ok in results(name, f, args, more):
                row[what] = ok
        except Exception as e:
            why = f"{type(e).__name__}: {e}"
        parsed += bool(row)
        refused = REFUSED.get(name)
        ok = not row and refused in why if refused else bool(row) and all(row.values()) and not why
        failed += not ok
        marks = " ".join(w if row.get(w) else "-" if w not in row else "WRONG" for w in ("parse", "value", "grad"))
        print(f"{'ok  ' if ok else 'FAIL'} {name:<28} {marks} {why[:300]}", flush=True)
    print(f"{parsed} of {len(cases)} texts parse; {failed} failed")
    return failed != 0 or (not only and "--libraries" in arguments and parsed < SHARE * len(cases))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
