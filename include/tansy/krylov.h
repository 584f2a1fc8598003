/* tansy/krylov.h - linear systems known by their products, solved by Krylov's methods, with derivatives of the
 * solution.
 *
 * SPDX-License-Identifier: MIT
 *
 *     static tn_val product(const tn_val *in, void *user) { .. }    // in: x -> a x
 *     ...
 *     tn_krylov_info info = {.size = sizeof info};
 *     tn_val x = tn_cg(product, user, b, &(tn_krylov_options){.size = sizeof(tn_krylov_options), .tol = 1e-10}, &info);
 *
 * (C++: tn::cg([&](tn::val x) { return matmul(a, x); }, b, {1e-10}).x, tn::gmres, in <tansy.hpp>.)
 *
 * matvec returns a x of x's type and must be linear in x (TN_ELINEAR, with file:line, where the checker does not see
 * it).  Values of the enclosing trace that it uses are parameters: derivatives go through them.
 *
 * Derivatives, of every order and in both modes, are those of x = a^-1 b (tn_custom_linear_solve): each is a solve with
 * the same options, in reverse mode with the transpose of matvec, which is derived.  Nothing of the iteration is kept
 * or differentiated.  Under tn_vmap each batch element iterates until all have converged, and keeps what it has.
 *
 * Convergence.  It is reached where |b - a x| <= max(tol |b|, atol), in the norm over all elements.  Where it is not
 * within maxiter products, all of x is NaN, and so are derivatives whose solves do not converge; info says so, too.
 * With `inexact` x is what was found, also in derivatives, of which nothing tells how far they got.
 *
 * Errors: those of <tansy/ops.h>: TN_EINVAL for a NULL matvec, a struct whose size is not set, and options out of
 * range; TN_ETYPE for a b that is not of floats, and for a matvec or preconditioner of another type.  Threads and
 * ownership: as there.  Cost: a product, a preconditioner and some 5 (cg) or 4 restart (gmres) numbers an element in
 * each iteration. */
#ifndef TANSY_KRYLOV_H
#define TANSY_KRYLOV_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL and zeros mean the default everywhere. */
typedef struct tn_krylov_options {
    size_t size;     /* sizeof(tn_krylov_options) */
    double tol;      /* of the residual, relative to b (0: 1e-5) */
    double atol;     /* absolute */
    int64_t maxiter; /* products with a at most (0: 10 times the number of elements) */
    int64_t restart; /* gmres: directions that are kept, 2 arrays each (0: 20; at most the number of elements) */
    /* x -> nearly a^-1 x, of x's type, with the same user pointer, linear; of cg symmetric and positive definite */
    tn_trace_fn preconditioner;
    bool inexact; /* what has not converged is not NaN */
} tn_krylov_options;

/* What a solve tells; rank 0, without derivatives. */
typedef struct tn_krylov_info {
    size_t size;       /* sizeof(tn_krylov_info) */
    tn_val iterations; /* i64: products with a, but those that check the residual */
    tn_val residual;   /* |b - a x|, of b's dtype */
    tn_val converged;  /* bool */
} tn_krylov_info;

/* x of a x = b for symmetric positive definite a: conjugate gradients, preconditioned.  The residual is the one that
 * the method carries along.  A preconditioner or a that is not such may not converge. */
TN_API tn_val tn_cg_at(tn_trace_fn matvec, void *user, tn_val b, const tn_krylov_options *options, tn_krylov_info *info,
                       const char *file, int line);
#define tn_cg(...) tn_cg_at(__VA_ARGS__, __FILE__, __LINE__)

/* x of a x = b for any invertible a: GMRES with restarts, preconditioned from the right, in the form that keeps
 * directions and their images, which are orthogonalized twice.  The residual is b - a x, computed before each restart.
 */
TN_API tn_val tn_gmres_at(tn_trace_fn matvec, void *user, tn_val b, const tn_krylov_options *options,
                          tn_krylov_info *info, const char *file, int line);
#define tn_gmres(...) tn_gmres_at(__VA_ARGS__, __FILE__, __LINE__)

/* The transpose of f, which is linear in its one input of type x (TN_ELINEAR, where the checker does not see it), at
 * ct, of the type of f's result: jax.linear_transpose.  Values of the enclosing trace that f uses are parameters. */
TN_API tn_val tn_linear_transpose_at(tn_trace_fn f, void *user, tn_type x, tn_val ct, const char *file, int line);
#define tn_linear_transpose(...) tn_linear_transpose_at(__VA_ARGS__, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
