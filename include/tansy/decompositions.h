/* tansy/decompositions.h - eigenvalues, singular values and their kin in traced functions.
 *
 * SPDX-License-Identifier: MIT
 *
 * By LAPACK, for matrices in the last two dimensions of floats; leading axes are batches.  A library that was built
 * with LAPACK=0 traces them, and refuses to derive or compile such programs (TN_ERULE); tn_emit_c always does.  f32 is
 * computed in f64 and rounded.  A matrix that is not finite, and one for which LAPACK finds nothing, makes NaN and
 * no error.  Matrices have at most 20,000 rows and columns (TN_ETYPE).
 *
 * Vectors are found up to a sign: here the first element of at least half the largest magnitude is positive, in the
 * eigenvectors and in u.  Where eigenvalues or singular values are equal, but for rounding, vectors have no derivative,
 * and pairs of equal values add nothing to it here, so that all derivatives are finite.  First derivatives are then
 * right of sums of f(w), of projections on all vectors of equal values, and of u vt; those of v diag(f(w)) v', and
 * higher ones, lack what f does between equal values.  tn_pinv and tn_lstsq are right in all orders.
 *
 * Eigenvalues of other than symmetric matrices are complex, and complex matrices have operators of their own:
 * tansy/complex.h.
 *
 * Operators as those of tansy/ops.h, which includes this: the same rules for operands, errors, ownership, threads and
 * cost.  Results that are not wanted may be NULL. */
#ifndef TANSY_DECOMPOSITIONS_H
#define TANSY_DECOMPOSITIONS_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which factors are wanted. */
typedef enum tn_factors {
    TN_FACTORS_REDUCED = 0, /* of as many vectors as a has rows or columns, whichever are fewer */
    TN_FACTORS_FULL = 1,    /* square: the vectors are a basis */
} tn_factors;

/* a v = v diag(w) for symmetric a [.., n, n], given by its lower triangle (alone read): w [.., n] ascends, the columns
 * of v [.., n, n] are orthonormal (jax.numpy.linalg.eigh, whose input is (a + a') / 2).  Derivatives: dw = diag(v' da
 * v), dv = v (v' da v / (w[j] - w[i])).  Cost: some 4 n^3 multiply-adds. */
TN_API void tn_eigh_at(tn_val a, tn_val *w, tn_val *v, const char *file, int line);
#define tn_eigh(a, w, v) tn_eigh_at(a, w, v, __FILE__, __LINE__)
/* The w of tn_eigh alone. */
TN_API tn_val tn_eigvalsh_at(tn_val a, const char *file, int line);
#define tn_eigvalsh(a) tn_eigvalsh_at(a, __FILE__, __LINE__)
/* a = q r for a [.., m, n], with q' q = 1 and r upper triangular: q [.., m, k] and r [.., k, n] with k = min(m, n), or
 * k = m with TN_FACTORS_FULL (TN_EINVAL: no tn_factors).  The signs are LAPACK's: those of r's diagonal as they come.
 * Derivatives want the first k columns of a independent, else they are not finite; full factors of more rows than
 * columns have none (TN_ERULE).  Cost: m n k multiply-adds, and as many for q. */
TN_API void tn_qr_at(tn_val a, tn_factors how, tn_val *q, tn_val *r, const char *file, int line);
#define tn_qr(a, how, q, r) tn_qr_at(a, how, q, r, __FILE__, __LINE__)
/* a = u diag(s) vt for a [.., m, n]: s [.., k] descends, k = min(m, n), u [.., m, k] and vt [.., k, n], or square ones
 * with TN_FACTORS_FULL (TN_EINVAL: no tn_factors).  Full factors of other than square matrices have no derivative
 * (TN_ERULE). Cost: some 5 m n k multiply-adds and more. */
TN_API void tn_svd_at(tn_val a, tn_factors how, tn_val *u, tn_val *s, tn_val *vt, const char *file, int line);
#define tn_svd(a, how, u, s, vt) tn_svd_at(a, how, u, s, vt, __FILE__, __LINE__)
/* Schur's real form a = q t q' for any a [.., n, n], q' q = 1: t is upper triangular but for blocks of 2 x 2 on its
 * diagonal, one for each pair of complex eigenvalues, with equal diagonal elements (LAPACK's gees; its order).  Columns
 * of q have the sign of eigenvectors here, and t those that belong to it.  No derivative (TN_ERULE).  Cost: some 13 n^3
 * multiply-adds. */
TN_API void tn_schur_at(tn_val a, tn_val *t, tn_val *q, const char *file, int line);
#define tn_schur(a, t, q) tn_schur_at(a, t, q, __FILE__, __LINE__)
/* The Moore-Penrose inverse [.., n, m] of a [.., m, n]: v diag(1 / s) u', where singular values up to 10 max(m, n)
 * epsilon times the largest count as 0 (jax.numpy.linalg.pinv).  Derivatives are those of matrices whose rank stays
 * (Golub and Pereyra), of any order, also where singular values are equal. */
TN_API tn_val tn_pinv_at(tn_val a, const char *file, int line);
#define tn_pinv(a) tn_pinv_at(a, __FILE__, __LINE__)
/* The x of least norm among those with the least |a x - b|: tn_pinv of a [.., m, n] times b, vectors [.., m] or
 * matrices
 * [.., m, c], by the rank: one less than a's, or equal. */
TN_API tn_val tn_lstsq_at(tn_val a, tn_val b, const char *file, int line);
#define tn_lstsq(a, b) tn_lstsq_at(a, b, __FILE__, __LINE__)
/* x with a x = b for tridiagonal a: row i is dl[i] x[i - 1] + d[i] x[i] + du[i] x[i + 1], of vectors dl, d and du of n
 * entries; dl[0] and du[n - 1] are not read (jax.lax.linalg.tridiagonal_solve, LAPACK's gtsv: elimination with partial
 * pivoting).  b and x are [n], or [n, k] with a system a column.  Not finite where a is singular.  Derivatives in all
 * four are solves with a and a' (tn_custom_linear_solve); under vmap each batch element is a system.  TN_ETYPE: other
 * shapes or dtypes. Cost: some 10 n operations and 3 n k multiply-adds, and so for each derivative; memory linear in n
 * k.  Needs no LAPACK. */
TN_API tn_val tn_tridiagonal_solve_at(tn_val dl, tn_val d, tn_val du, tn_val b, const char *file, int line);
#define tn_tridiagonal_solve(dl, d, du, b) tn_tridiagonal_solve_at(dl, d, du, b, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
