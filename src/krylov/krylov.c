/* Krylov's methods as programs of operators; what a custom_linear_solve calls, forth and transposed. */
#include "tansy/krylov.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>

enum { RESTART = 20, TEXT = 256 };

typedef struct krylov {
    tn_trace_fn matvec, preconditioner;
    void *user;
    tn_krylov_options o;
    tn_type type; /* of x and b */
    int64_t n;    /* elements */
    bool gmres, transposed;
    const char *file;
    int line;
    tn_val b, target; /* of the solve that is being traced: the residual that it wants, squared */
} krylov;

static tn_val applied(const krylov *k, tn_trace_fn f, tn_val x) {
    return k->transposed ? tn_linear_transpose_at(f, k->user, k->type, x, k->file, k->line) : f(&x, k->user);
}
static tn_val product(const krylov *k, tn_val x) { return applied(k, k->matvec, x); }
static tn_val preconditioned(const krylov *k, tn_val x) {
    return k->preconditioner ? applied(k, k->preconditioner, x) : x;
}

static tn_val dot(tn_val x, tn_val y) { return tn_sum(tn_mul(x, y)); }
static tn_val whole(const krylov *k, int64_t i) { return tn_full(tn_val_ctx(k->b), tn_i64(), i); }

/* ---- cg ---------------------------------------------------------------------------------------------------- */

enum { X, R, P, GAMMA, ITERATIONS, CARRIES };

static tn_val cg_goes_on(const tn_val *in, void *user) {
    const krylov *k = user;
    return tn_and(tn_gt(dot(in[R], in[R]), k->target), tn_lt(in[ITERATIONS], k->o.maxiter));
}

static void cg_step(const tn_val *in, tn_val *out, void *user) {
    const krylov *k = user;
    const tn_val q = product(k, in[P]), alpha = tn_div(in[GAMMA], dot(in[P], q));
    out[X] = tn_add(in[X], tn_mul(alpha, in[P]));
    out[R] = tn_sub(in[R], tn_mul(alpha, q));
    const tn_val z = preconditioned(k, out[R]);
    out[GAMMA] = dot(out[R], z);
    out[P] = tn_add(z, tn_mul(tn_div(out[GAMMA], in[GAMMA]), in[P]));
    out[ITERATIONS] = tn_add(in[ITERATIONS], 1);
}

/* x, the residual's square, iterations */
static void cg(krylov *k, tn_val *out) {
    const tn_val z = preconditioned(k, k->b);
    const tn_val in[CARRIES] = {tn_zeros_like(k->b), k->b, z, dot(k->b, z), whole(k, 0)};
    tn_val last[CARRIES];
    tn_while_loop_at(tn_val_ctx(k->b), cg_goes_on, cg_step, k, CARRIES, in, last, NULL, k->file, k->line);
    out[0] = last[X];
    out[1] = dot(last[R], last[R]);
    out[2] = last[ITERATIONS];
}

/* ---- gmres --------------------------------------------------------------------------------------------------
 *
 * Of right preconditioned directions p = m s the images q = a p are kept orthonormal, and the residual is made
 * orthogonal to each: x is the minimum over the space of all p (Walker and Zhou's simpler GMRES).  The next s is the
 * residual where that has become smaller, else q, which spans Krylov's space and never stands still. */

enum { DIRECTIONS = 2, IMAGES, SOURCE, TOTAL, STEP, STEP_CARRIES }; /* behind X and R; all but X are flat */
enum { CYCLES = 2, CYCLE_CARRIES };
static const double smaller = 0.9; /* of a residual and the one before */

static tn_val shaped(const krylov *k, tn_val x) {
    return tn_reshape_at(x, (tn_int_list){(size_t)k->type.rank, k->type.dim}, k->file, k->line);
}
static tn_val flat(const krylov *k, tn_val x) { return tn_reshape(x, k->n); }

static tn_val step_goes_on(const tn_val *in, void *user) {
    const krylov *k = user;
    const tn_val room = tn_and(tn_lt(in[STEP], k->o.restart), tn_lt(in[TOTAL], k->o.maxiter));
    return tn_and(tn_gt(dot(in[R], in[R]), k->target), room);
}

/* p and q less their parts along the images, as p is along the directions that these are of. */
static void orthogonalize(const tn_val *in, tn_val *p, tn_val *q) {
    for (int twice = 0; twice < 2; twice++) {
        const tn_val h = tn_matmul(in[IMAGES], *q);
        *q = tn_sub(*q, tn_matmul(h, in[IMAGES]));
        *p = tn_sub(*p, tn_matmul(h, in[DIRECTIONS]));
    }
}

static void gmres_step(const tn_val *in, tn_val *out, void *user) {
    const krylov *k = user;
    tn_val p = preconditioned(k, shaped(k, in[SOURCE])), q = flat(k, product(k, p));
    p = flat(k, p);
    orthogonalize(in, &p, &q);
    const tn_val size = tn_sqrt(dot(q, q)), some = tn_gt(size, 0.0);
    p = tn_where(some, tn_div(p, size), 0.0);
    q = tn_where(some, tn_div(q, size), 0.0);
    const tn_val alpha = dot(q, in[R]), rest = tn_sub(in[R], tn_mul(alpha, q));
    const tn_val row = tn_expand_dims(tn_eq(tn_iota(tn_val_ctx(rest), tn_i64(k->o.restart), 0), in[STEP]), 1);
    const tn_val less = tn_lt(dot(rest, rest), tn_mul(dot(in[R], in[R]), smaller * smaller));
    out[X] = tn_add(in[X], shaped(k, tn_mul(alpha, p)));
    out[R] = rest;
    out[DIRECTIONS] = tn_where(row, p, in[DIRECTIONS]);
    out[IMAGES] = tn_where(row, q, in[IMAGES]);
    out[SOURCE] = tn_where(less, rest, q);
    out[TOTAL] = tn_add(in[TOTAL], 1);
    out[STEP] = tn_add(in[STEP], 1);
}

static tn_val cycle_goes_on(const tn_val *in, void *user) {
    const krylov *k = user;
    return tn_and(tn_gt(dot(in[R], in[R]), k->target), tn_lt(in[CYCLES], k->o.maxiter));
}

static void gmres_cycle(const tn_val *in, tn_val *out, void *user) {
    const krylov *k = user;
    tn_ctx *c = tn_val_ctx(in[X]);
    const tn_val none = tn_full(c, tn_type_of((tn_dtype)k->type.dtype, 2, (const int64_t[]){k->o.restart, k->n}), 0.0);
    const tn_val first[STEP_CARRIES] = {in[X], in[R], none, none, in[R], in[CYCLES], tn_full(c, tn_i64(), 0)};
    tn_val last[STEP_CARRIES];
    tn_while_loop_at(c, step_goes_on, gmres_step, user, STEP_CARRIES, first, last, NULL, k->file, k->line);
    out[X] = last[X];
    out[R] = flat(k, tn_sub(k->b, product(k, last[X])));
    out[CYCLES] = last[TOTAL];
}

static void gmres(krylov *k, tn_val *out) {
    const tn_val in[CYCLE_CARRIES] = {tn_zeros_like(k->b), flat(k, k->b), whole(k, 0)};
    tn_val last[CYCLE_CARRIES];
    tn_while_loop_at(tn_val_ctx(k->b), cycle_goes_on, gmres_cycle, k, CYCLE_CARRIES, in, last, NULL, k->file, k->line);
    out[0] = last[X];
    out[1] = dot(last[R], last[R]);
    out[2] = last[CYCLES];
}

/* ---- the operators -------------------------------------------------------------------------------------------- */

static void multiply(const tn_val *in, tn_val *out, void *user) {
    const krylov *k = user;
    out[0] = k->matvec(in, k->user);
}

/* x, iterations, |b - a x|, whether it converged */
static void solved(krylov *k, tn_val b, tn_val *out) {
    const tn_val size = dot(b, b);
    tn_val found[3];
    k->b = b;
    k->target = tn_maximum(tn_mul(size, k->o.tol * k->o.tol), k->o.atol * k->o.atol);
    (k->gmres ? gmres : cg)(k, found);
    out[3] = tn_le(found[1], k->target);
    out[0] = k->o.inexact ? found[0] : tn_where(out[3], found[0], (double)NAN);
    out[1] = found[2];
    out[2] = tn_sqrt(found[1]);
}

static void solve(const tn_val *in, tn_val *out, void *user) {
    krylov k = *(const krylov *)user;
    solved(&k, in[0], out);
}

static void transpose_solve(const tn_val *in, tn_val *out, void *user) {
    krylov k = *(const krylov *)user;
    tn_val all[4];
    k.transposed = true;
    solved(&k, in[0], all);
    out[0] = all[0];
}

/* What is wrong with what is asked, NULL: nothing; `text` has room for it.  Sets what was left out. */
static const char *wrong_options(krylov *k, tn_ctx *c, const tn_krylov_options *o, const tn_krylov_info *info,
                                 char *text) {
    tn_krylov_info told;
    if (!k->matvec) return "matvec is NULL";
    if (!tn_i_options(c, "tn_krylov_options", o, &k->o, sizeof k->o) ||
        !tn_i_options(c, "tn_krylov_info", info, &told, sizeof told)) {
        (void)snprintf(text, TEXT, "%s", tn_error(c));
        return text;
    }
    if (!(k->o.tol >= 0 && k->o.tol < INFINITY && k->o.atol >= 0 && k->o.atol < INFINITY))
        return "tol and atol are finite, and not negative";
    if (k->o.maxiter < 0 || k->o.restart < 0) return "maxiter and restart are not negative";
    if (k->o.tol == 0 && k->o.atol == 0) k->o.tol = 1e-5;
    if (k->o.restart == 0) k->o.restart = RESTART;
    if (k->o.restart > k->n) k->o.restart = k->n > 0 ? k->n : 1;
    if (k->o.maxiter == 0) k->o.maxiter = k->n < INT64_MAX / 10 ? 10 * k->n : INT64_MAX;
    k->preconditioner = k->o.preconditioner;
    return NULL;
}

static tn_val run(krylov *k, const char *name, tn_val b, const tn_krylov_options *options, tn_krylov_info *info) {
    tn_ctx *c = tn_val_ctx(b);
    tn_val out[4];
    char text[TEXT];
    k->type = tn_val_type(b);
    k->n = 1;
    for (int d = 0; d < k->type.rank; d++) k->n *= k->type.dim[d];
    const bool floats = k->type.dtype == TN_F32 || k->type.dtype == TN_F64;
    const char *wrong = c ? wrong_options(k, c, options, info, text) : NULL;
    if (wrong || !floats)
        out[0] = out[1] = out[2] = out[3] =
            tn_fail_at(c, wrong ? TN_EINVAL : TN_ETYPE, name, wrong ? wrong : "b is not of floats", k->file, k->line);
    else
        tn_custom_linear_solve_many_at(multiply, solve, k->gmres ? transpose_solve : solve, k, 0, NULL, 1, &b, 3, out,
                                       k->file, k->line);
    if (info && info->size >= sizeof *info) {
        info->iterations = out[1];
        info->residual = out[2];
        info->converged = out[3];
    }
    return out[0];
}

tn_val tn_cg_at(tn_trace_fn matvec, void *user, tn_val b, const tn_krylov_options *options, tn_krylov_info *info,
                const char *file, int line) {
    krylov k = {.matvec = matvec, .user = user, .file = file, .line = line};
    return run(&k, "cg", b, options, info);
}

tn_val tn_gmres_at(tn_trace_fn matvec, void *user, tn_val b, const tn_krylov_options *options, tn_krylov_info *info,
                   const char *file, int line) {
    krylov k = {.matvec = matvec, .user = user, .gmres = true, .file = file, .line = line};
    return run(&k, "gmres", b, options, info);
}
