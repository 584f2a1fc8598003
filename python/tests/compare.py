"""The corpus exported and compared with JAX: value, gradient, jvp and Hessian-vector product.  Prints a table.

usage: compare.py [--libraries] [NAME or LIBRARY ...]"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import tansy
from corpus import CASES, REFUSED

jax.config.update("jax_enable_x64", True)
FIRST, SECOND = 1e-8, 1e-6


# Of bfloat16, derivatives that JAX itself is off by 2e-2 in: it rounds each tangent, as programs do.
ROUNDED = {"float32": 2e-3, "float16": 8e-3, "bfloat16": 6e-2}


def close(got, want, rounded, tolerance):
    """rounded: the tolerance of narrow numbers that it is made of, or 0."""
    tolerance = rounded or tolerance
    got, want = np.asarray(got), np.asarray(want)
    if str(want.dtype) in ROUNDED:
        want = want.astype(np.float64)
    if got.dtype == bool and want.dtype == bool:
        return np.array_equal(got, want)
    return got.shape == want.shape and bool(
        np.all(np.abs(got - want) <= tolerance * np.maximum(1, np.abs(want).max(initial=0)))
    )


def call(program, *args):
    out = program.compile()(*args)
    return out if isinstance(out, tuple) else (out,)


def scalar(f):
    """A weighted sum of the float outputs, with weights that tell them apart."""

    def g(*leaves):
        total = 0.0
        for y in f(*leaves):
            if jnp.issubdtype(y.dtype, jnp.floating):
                total = total + (y * jnp.cos(jnp.arange(y.size, dtype=y.dtype) + 1).reshape(y.shape)).sum()
        return total

    return g


def results(f, args, more):
    """(what, whether it is right) for each that JAX can compute."""
    leaves, tree = jax.tree_util.tree_flatten(args)
    leaves = [np.asarray(x) for x in leaves]
    wrt = [i for i, x in enumerate(leaves) if jnp.issubdtype(x.dtype, jnp.floating)]
    f32 = max([ROUNDED.get(more.get("within", str(x.dtype)), 0) for x in leaves])
    flat = lambda *leaves: jax.tree_util.tree_leaves(f(*jax.tree_util.tree_unflatten(tree, leaves)))
    part = lambda g: lambda *xs: g(*[xs[wrt.index(i)] if i in wrt else x for i, x in enumerate(leaves)])
    xs = [leaves[i] for i in wrt]
    ts = [np.cos(np.arange(x.size) + 0.3).reshape(x.shape).astype(x.dtype) for x in xs]
    program = tansy.from_jax(flat, *leaves)
    assert str(tansy.parse(str(program))) == str(program), "the text does not read back"

    want = jax.jit(flat)(*leaves)
    yield "value", all(map(lambda a, b: close(a, b, f32, FIRST), call(program, *leaves), want))
    if more.get("jvp", True):
        dy = jax.jit(lambda xs, ts: jax.jvp(part(flat), xs, ts)[1])(xs, ts)
        got = call(program.jvp(), *leaves, *ts)[len(want) :]
        dy = [d for d, y in zip(dy, want) if jnp.issubdtype(y.dtype, jnp.floating)]
        yield "jvp", len(got) == len(dy) and all(map(lambda a, b: close(a, b, f32, FIRST), got, dy))

    loss = tansy.from_jax(scalar(flat), *leaves)
    n = tuple(range(len(xs)))
    grad = jax.grad(part(scalar(flat)), n)
    try:
        want = jax.jit(grad)(*xs)
    except ValueError:  # JAX has no reverse mode of while
        grad = jax.jacfwd(part(scalar(flat)), n)
        want = jax.jit(grad)(*xs)
    yield "grad", all(map(lambda a, b: close(a, b, f32, FIRST), call(loss.grad(), *leaves), want))
    if more.get("hvp", True):
        want = jax.jit(lambda xs, ts: jax.jvp(grad, xs, ts)[1])(xs, ts)
        yield "hvp", all(map(lambda a, b: close(a, b, f32, SECOND), call(loss.hvp(), *leaves, *ts), want))


def share(cells):
    """A line for each library: how many of its programs are exported, and how many are right in all."""
    for library in dict.fromkeys(library for library, *_ in cells):
        mine = [(exported, right) for of, exported, right in cells if of == library]
        print(
            f"  {library:<12} {len(mine):>3} programs, {sum(e for e, _ in mine):>3} exported, {sum(r for _, r in mine):>3} right"
        )


def main(arguments):
    passed = failed = 0
    cells, only = [], [a for a in arguments if a != "--libraries"]
    libraries, missing = [], []
    if "--libraries" in arguments:
        from libraries import CASES as libraries
        from libraries import MISSING as missing
    print(f"jax {jax.__version__}, tansy {tansy.__version__}")
    for name in missing:
        print(f"  skip  {name} is not installed")
    for name, f, args, more in CASES + libraries:
        if only and name not in only and more.get("library") not in only:
            continue
        row, why = {}, ""
        try:
            for what, ok in results(f, args, more):
                row[what] = ok
        except Exception as e:
            if only and len(only) == 1:
                raise
            why = f"{type(e).__name__}: {e}"
        ok = bool(row) and all(row.values()) and not why
        cells.append((more.get("library", "jax.numpy"), bool(row), ok))
        passed, failed = passed + ok, failed + (not ok)
        marks = " ".join(
            f"{w if row.get(w) else '-' if w not in row else 'WRONG':<6}" for w in ("value", "grad", "jvp", "hvp")
        )
        print(f"{'ok  ' if ok else 'FAIL'} {name:<28} {marks} {why[:300]}", flush=True)
    for f, args, names in [] if only else REFUSED:
        try:
            tansy.from_jax(f, *args)
            why = "it was not refused"
        except tansy.Unsupported as e:
            why = "" if all(n in str(e) for n in names) else str(e)
        passed, failed = passed + (not why), failed + bool(why)
        print(f"{'FAIL' if why else 'ok  '} refused: {', '.join(names)} {why}")
    share(cells)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
