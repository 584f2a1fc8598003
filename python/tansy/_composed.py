"""Primitives of JAX that are programs of others here: each is written with jax.numpy, traced, and called."""

import functools


def pivots_to_permutation(pivots, *, permutation_size):
    """As rows i and pivots[i] are exchanged, one i after the other."""
    import jax.numpy as jnp
    from jax import lax

    def exchange(rows, i_and_j):
        i, j = i_and_j
        return rows.at[i].set(rows[j]).at[j].set(rows[i]), None

    steps = jnp.arange(pivots.shape[0], dtype=pivots.dtype), pivots
    return lax.scan(exchange, jnp.arange(permutation_size, dtype=pivots.dtype), steps)[0]


def _reflection(x, at, k):
    """Householder's (1 - conj(tau) v v^H) x is beta at k, a real number, and 0 below it: v, tau, and what LAPACK stores in
    place of x."""
    import jax.numpy as jnp

    square = lambda z: jnp.real(z) ** 2 + jnp.imag(z) ** 2 if jnp.iscomplexobj(z) else z * z
    below = jnp.where(at > k, x, 0)
    alpha, rest = x[k], square(below).sum()
    plain = (rest == 0) & (jnp.imag(alpha) == 0)
    beta = -jnp.where(jnp.real(alpha) < 0, -1, 1) * jnp.sqrt(jnp.where(plain, 1, square(alpha) + rest))
    tau = jnp.where(plain, 0, (beta - alpha) / beta)
    v = jnp.where(at == k, 1, below / jnp.where(plain, 1, alpha - beta))
    stored = jnp.where(at > k, jnp.where(plain, 0, v), jnp.where(at == k, jnp.where(plain, alpha, beta), x))
    return v, tau, stored


def hessenberg(a):
    """a = q h q' with nothing below h's first subdiagonal; q's reflections are stored there (LAPACK's gehrd)."""
    import jax.numpy as jnp
    from jax import lax

    at = jnp.arange(a.shape[0])

    def reflect(a, k):
        v, tau, column = _reflection(a[:, k], at, k + 1)
        left = a - tau.conj() * jnp.outer(v, v.conj() @ a)
        turned = left - tau * jnp.outer(left @ v, v.conj())
        return jnp.where(at < k, a, jnp.where(at == k, column[:, None], turned)), tau

    return lax.scan(reflect, a, jnp.arange(max(a.shape[0] - 1, 0)))


def geqrf(a):
    """Householder's reflections 1 - tau v v^H, v below the diagonal (its first element, 1, is not stored), r above it
    (LAPACK's convention)."""
    import jax.numpy as jnp
    from jax import lax

    rows, columns = a.shape
    at = jnp.arange(rows)

    def reflect(a, k):
        v, tau, column = _reflection(a[:, k], at, k)
        turned = a - tau.conj() * jnp.outer(v, v.conj() @ a)
        done = jnp.arange(columns) < k
        return jnp.where(done, a, jnp.where(jnp.arange(columns) == k, column[:, None], turned)), tau

    return lax.scan(reflect, a, jnp.arange(min(rows, columns)))


def householder_product(a, taus):
    """The first columns of the product of the reflections."""
    import jax.numpy as jnp
    from jax import lax

    rows, columns = a.shape
    at = jnp.arange(rows)

    def reflect(q, k_and_tau):
        k, tau = k_and_tau
        v = jnp.where(at == k, 1, jnp.where(at > k, a[:, k], 0))
        return q - tau * jnp.outer(v, v.conj() @ q), None

    return lax.scan(reflect, jnp.eye(rows, columns, dtype=a.dtype), (jnp.arange(taus.shape[0]), taus), reverse=True)[0]


def ormqr(a, taus, c, *, left, transpose):
    """q c, or q^H c, of the whole product q of the reflections; from the right: c q, c q^H."""
    import jax.numpy as jnp
    from jax import lax

    at = jnp.arange(a.shape[0])
    x = c if left else c.conj().T
    taus = taus.conj() if transpose == left else taus

    def reflect(x, k_and_tau):
        k, tau = k_and_tau
        v = jnp.where(at == k, 1, jnp.where(at > k, a[:, k], 0))
        return x - tau * jnp.outer(v, v.conj() @ x), None

    last_first = transpose != left
    x = lax.scan(reflect, x, (jnp.arange(taus.shape[0]), taus), reverse=last_first)[0]
    return x if left else x.conj().T


def tridiagonal_solve(dl, d, du, b):
    """By elimination with partial pivoting, as LAPACK's gtsv; dl[0] and du[-1] are not read."""
    import jax.numpy as jnp
    from jax import lax

    def eliminate(row, below):
        (d, u, b), (l, dd, uu, bb) = row, below
        stays = jnp.abs(d) >= jnp.abs(l)
        pivot = jnp.where(stays, d, l)
        f = jnp.where(stays, l, d) / pivot
        upper = jnp.where(stays, u, dd), jnp.where(stays, 0, uu), jnp.where(stays, b, bb)
        next_row = (
            jnp.where(stays, dd, u) - f * upper[0],
            jnp.where(stays, uu, 0) - f * upper[1],
            jnp.where(stays, bb, b) - f * upper[2],
        )
        return next_row, (pivot, *upper)

    def back(after, row):
        (x1, x2), (d, u, w, b) = after, row
        x = (b - u * x1 - w * x2) / d
        return (x, x1), x

    zero = jnp.zeros_like(b[0])
    below = dl[1:], d[1:], jnp.concatenate([du[1:-1], jnp.zeros_like(du[:1])]) if d.shape[0] > 1 else du[:0], b[1:]
    first = du[0] if d.shape[0] > 1 else jnp.zeros_like(d[0])
    (dn, _, bn), rows = lax.scan(eliminate, (d[0], first, b[0]), below)
    last = bn / dn
    _, x = lax.scan(back, (last, zero), rows, reverse=True)
    return jnp.concatenate([x, last[None]])


def left_eigenvectors(v):
    """u with u^H a = w u^H, of right ones v: columns of the inverse's adjoint, of unit length and with the phases of
    eigenvectors (the first element of at least half the largest magnitude is real and positive)."""
    import jax.numpy as jnp
    from jax import lax

    u = jnp.swapaxes(jnp.linalg.inv(v), -1, -2).conj()
    u = u / jnp.sqrt((jnp.real(u) ** 2 + jnp.imag(u) ** 2).sum(-2, keepdims=True))
    size = lax.stop_gradient(jnp.abs(u))
    first = jnp.argmax(size >= 0.4999 * size.max(-2, keepdims=True), axis=-2)[..., None, :]
    turn = jnp.take_along_axis(u, first, axis=-2)
    return u * (turn.conj() / jnp.abs(turn))


# Of one matrix each: the ranks of the operands then.
FUNCTIONS = {
    "lu_pivots_to_permutation": (pivots_to_permutation, (1,), ("permutation_size",)),
    "geqrf": (geqrf, (2,), ()),
    "hessenberg": (hessenberg, (2,), ()),
    "householder_product": (householder_product, (2, 1), ()),
    "ormqr": (ormqr, (2, 1, 2), ("left", "transpose")),
    "tridiagonal_solve": (tridiagonal_solve, (1, 1, 1, 2), ()),
}


def jaxpr_of(eqn):
    """The equation's program, mapped over the dimensions in front."""
    import jax

    f, ranks, named = FUNCTIONS[eqn.primitive.name]
    f = functools.partial(f, **{k: eqn.params[k] for k in named})
    for _ in range(len(eqn.invars[0].aval.shape) - ranks[0]):
        f = jax.vmap(f)
    return jax.make_jaxpr(f)(*[jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars])
