/* Systems, factors and decompositions of complex matrices: one equation of parts each, or a few. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/linear/matrices.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"
#include "tansy/complex.h"
#include "tansy/ops.h"
#include "trace/trace.h"

typedef tn_i_complex Z;
typedef tn_i_var V;

/* ---- sites ------------------------------------------------------------------------------------------- */

enum { MOST = 2, RESULTS = 3 };
typedef struct site {
    tn_i_site s;
    tn_val x[2 * MOST];
    V v[2 * MOST + 1]; /* behind complex operands one that is not */
} site;

static const Z none = {TN_NOVAR, TN_NOVAR};

/* Opens one of n complex matrices, and of what is in *more; false when it is dead.  A part may be a number. */
static bool open_with(site *k, const char *name, size_t n, const tn_complex *z, const tn_val *more, const char *file,
                      int line) {
    for (size_t i = 0; i < n; i++) {
        k->x[2 * i] = z[i].re;
        k->x[2 * i + 1] = z[i].im;
    }
    tn_i_site_open(&k->s, name, NULL, 2 * n, k->x, k->v, (1u << 2 * n) - 1, file, line);
    if (!tn_i_do_numbers(&k->s) || !tn_i_need_float(&k->s, 2 * n)) return false;
    if (more) k->v[2 * n] = tn_i_site_resolve(&k->s, more, (int)(2 * n));
    if (k->s.b->failed) return false;
    for (size_t i = 0; i < n; i++) {
        if (!tn_i_do_broadcast(&k->s, 2, k->v + 2 * i)) return false;
        const tn_type *t = tn_i_site_type(&k->s, k->v[2 * i]), *first = tn_i_site_type(&k->s, k->v[0]);
        if (t->dtype == first->dtype) continue;
        (void)tn_i_site_fail(&k->s, TN_ETYPE, (int)(2 * i), "has another dtype than operand 0");
        return false;
    }
    return true;
}

static bool open(site *k, const char *name, size_t n, const tn_complex *z, const char *file, int line) {
    return open_with(k, name, n, z, NULL, file, line);
}

static Z operand(const site *k, size_t i) { return (Z){k->v[2 * i], k->v[2 * i + 1]}; }

static const tn_type *type_of(site *k, size_t i) { return tn_i_site_type(&k->s, k->v[2 * i]); }

/* n results; of those that are not complex `re` is the value. */
static void close_many(site *k, const Z *z, uint32_t n, tn_complex *y) {
    const tn_val first = tn_i_site_close(&k->s, z[0].re);
    for (uint32_t j = 0; j < n; j++) {
        const bool live = k->s.t && !k->s.b->failed;
        y[j].re = y[j].im = first;
        if (live && j) y[j].re = tn_i_value(k->s.b->ctx, k->s.t->serial, z[j].re);
        if (live && tn_i_is_complex(z[j])) y[j].im = tn_i_value(k->s.b->ctx, k->s.t->serial, z[j].im);
    }
}

static tn_complex close_one(site *k, Z z) {
    tn_complex y;
    close_many(k, &z, 1, &y);
    return y;
}

/* Primitive id of the first operand; false after an error, with results that are none. */
static bool emit(site *k, int id, const tn_i_param *p, Z z, uint32_t n, Z *out) {
    for (uint32_t j = 0; j < RESULTS; j++) out[j] = none;
    return !k->s.b->failed && tn_i_complex_emit(k->s.b, tn_i_prim(k->s.b, id), p, 1, &z, RESULTS, out) == n;
}

static Z emit_one(site *k, int id, const tn_i_param *p, Z z) {
    Z out[RESULTS];
    (void)emit(k, id, p, z, 1, out);
    return k->s.b->failed ? none : out[0];
}

static tn_i_param yes(bool is) { return (tn_i_param){.kind = TN_K_BOOL, .u.i = is}; }

static bool square(site *k) {
    const tn_type *t = type_of(k, 0);
    if (t->rank >= 2 && t->dim[t->rank - 1] == t->dim[t->rank - 2]) return true;
    (void)tn_i_site_fail(&k->s, TN_ETYPE, 0, "needs square matrices in the last two dimensions");
    return false;
}

static bool matrices(site *k) {
    if (type_of(k, 0)->rank >= 2) return true;
    (void)tn_i_site_fail(&k->s, TN_ETYPE, 0, "needs matrices in the last two dimensions");
    return false;
}

/* Right-hand sides, operand 1, as matrices with operand 0's batch and as many rows (right: columns) as it has columns
 * of `across`: vectors are one column, or one row. */
static bool columns(site *k, bool right, int64_t across, Z *b, bool *vectors) {
    const tn_type ta = *type_of(k, 0), tb = *type_of(k, 1);
    int64_t shape[TN_MAX_RANK];
    *vectors = tb.rank + 1 == ta.rank;
    if (!*vectors && tb.rank != ta.rank) {
        (void)tn_i_site_fail(&k->s, TN_ETYPE, 2, "has rank %d: vectors have %d, matrices %d", (int)tb.rank, ta.rank - 1,
                             (int)ta.rank);
        return false;
    }
    for (int d = 0; d < ta.rank - 1; d++) {
        const bool rows = d == ta.rank - 2;
        const int64_t want = rows ? across : ta.dim[d], at = tb.dim[rows && right && !*vectors ? d + 1 : d];
        if (at == want) continue;
        (void)tn_i_site_fail(&k->s, TN_ETYPE, 2, "has %lld %s where operand 0 has %lld", (long long)at,
                             rows ? "equations" : "matrices", (long long)want);
        return false;
    }
    *b = operand(k, 1);
    if (!*vectors) return true;
    for (int d = 0; d < tb.rank; d++) shape[d] = tb.dim[d];
    shape[tb.rank] = right ? tb.dim[tb.rank - 1] : 1;
    if (right) shape[tb.rank - 1] = 1;
    b->re = tn_i_do_reshape(&k->s, b->re, tb.rank + 1, shape);
    b->im = tn_i_do_reshape(&k->s, b->im, tb.rank + 1, shape);
    return !k->s.b->failed;
}

/* Solutions [.., n, 1] or [.., 1, n] as vectors [.., n] again. */
static Z as_given(site *k, Z x, bool vectors, int64_t n) {
    if (!vectors || k->s.b->failed) return x;
    tn_type t = *tn_i_site_type(&k->s, x.re);
    t.dim[t.rank - 2] = n;
    x.re = tn_i_do_reshape(&k->s, x.re, t.rank - 1, t.dim);
    x.im = tn_i_do_reshape(&k->s, x.im, t.rank - 1, t.dim);
    return x;
}

/* ---- systems ------------------------------------------------------------------------------------------- */

static unsigned bits(int how) {
    unsigned set = how & TN_SOLVE_RIGHT ? 0 : 1u << TN_LEFT_SIDE;
    if (!(how & TN_SOLVE_UPPER)) set |= 1u << TN_LOWER;
    if (how & TN_SOLVE_TRANSPOSED) set |= 1u << TN_TRANSPOSE_A;
    if (how & TN_SOLVE_CONJUGATED) set |= 1u << TN_CONJUGATE_A;
    if (how & TN_SOLVE_UNIT_DIAGONAL) set |= 1u << TN_UNIT_DIAGONAL;
    return set;
}

static Z triangular(site *k, int how, Z a, Z x) {
    return k->s.b->failed ? none : tn_i_complex_triangular_solve(k->s.b, bits(how), false, a, x);
}

static bool allowed(site *k, int how, int all) {
    if (!(how & ~all)) return true;
    (void)tn_i_site_fail(&k->s, TN_EINVAL, -1, "how is %d, which is no sum of those of tn_solve_how that it takes",
                         how);
    return false;
}

tn_complex tn_ctriangular_solve_at(tn_complex a, tn_complex b, int how, const char *file, int line) {
    const tn_complex in[2] = {a, b};
    const int all =
        TN_SOLVE_UPPER | TN_SOLVE_RIGHT | TN_SOLVE_TRANSPOSED | TN_SOLVE_UNIT_DIAGONAL | TN_SOLVE_CONJUGATED;
    site k;
    Z x = none;
    bool vectors;
    if (!open(&k, "ctriangular_solve", 2, in, file, line) || !square(&k) || !allowed(&k, how, all))
        return close_one(&k, none);
    const tn_type *t = type_of(&k, 0);
    const int64_t n = t->dim[t->rank - 1];
    if (columns(&k, how & TN_SOLVE_RIGHT, n, &x, &vectors))
        x = as_given(&k, triangular(&k, how, operand(&k, 0), x), vectors, n);
    return close_one(&k, x);
}

tn_complex tn_ccholesky_at(tn_complex a, const char *file, int line) {
    site k;
    const bool ok = open(&k, "ccholesky", 1, &a, file, line) && square(&k);
    return close_one(&k, ok ? emit_one(&k, TN_P_cholesky, NULL, operand(&k, 0)) : none);
}

tn_complex tn_ccholesky_solve_at(tn_complex l, tn_complex b, const char *file, int line) {
    const tn_complex in[2] = {l, b};
    site k;
    Z x = none;
    bool vectors;
    if (!open(&k, "ccholesky_solve", 2, in, file, line) || !square(&k)) return close_one(&k, none);
    const tn_type *t = type_of(&k, 0);
    const int64_t n = t->dim[t->rank - 1];
    if (columns(&k, false, n, &x, &vectors)) {
        const Z y = triangular(&k, TN_SOLVE_LOWER, operand(&k, 0), x);
        x = triangular(&k, TN_SOLVE_LOWER | TN_SOLVE_TRANSPOSED | TN_SOLVE_CONJUGATED, operand(&k, 0), y);
        x = as_given(&k, x, vectors, n);
    }
    return close_one(&k, x);
}

/* ---- lu ---- */

static bool factors(site *k, const char *name, tn_complex a, Z *out, const char *file, int line) {
    out[0] = out[1] = out[2] = none;
    return open(k, name, 1, &a, file, line) && matrices(k) && emit(k, TN_P_lu, NULL, operand(k, 0), 3, out);
}

void tn_clu_at(tn_complex a, tn_complex *lu, tn_val *pivots, tn_val *permutation, const char *file, int line) {
    site k;
    Z out[RESULTS];
    tn_complex y[3];
    (void)factors(&k, "clu", a, out, file, line);
    close_many(&k, out, 3, y);
    if (lu) *lu = y[0];
    if (pivots) *pivots = y[1].re;
    if (permutation) *permutation = y[2].re;
}

/* Rows `at` [.., n] of matrices x. */
static tn_complex rows_of(tn_complex x, tn_val at, const char *file, int line) {
    const tn_val index = tn_expand_dims_at(at, -1, file, line);
    tn_complex y;
    y.re = tn_take_along_at(x.re, index, -2, false, file, line);
    y.im = tn_take_along_at(x.im, index, -2, false, file, line);
    return y;
}

/* The right-hand sides as matrices, where lu, permutation and b fit each other. */
static bool system_of(tn_complex lu, tn_val permutation, tn_complex b, int how, tn_complex *x, bool *vectors,
                      int64_t *n, const char *file, int line) {
    const tn_complex in[2] = {lu, b};
    site k;
    Z z = none;
    bool ok = open_with(&k, "clu_solve", 2, in, &permutation, file, line) && square(&k) &&
              allowed(&k, how, TN_SOLVE_TRANSPOSED | TN_SOLVE_CONJUGATED);
    if (ok) {
        const tn_type *t = type_of(&k, 0), want = tn_type_of(TN_I32, (size_t)t->rank - 1, t->dim);
        *n = t->dim[t->rank - 1];
        if (!tn_type_equal(tn_i_site_type(&k.s, k.v[4]), &want))
            (void)tn_i_site_fail(&k.s, TN_ETYPE, 4, "should be the permutation of tn_clu, i32[.., n]");
        ok = !k.s.b->failed && columns(&k, false, *n, &z, vectors);
    }
    *x = close_one(&k, ok ? z : none);
    return ok;
}

/* a = p' l u, where p takes rows in the order of the permutation; a' = u' l' p. */
tn_complex tn_clu_solve_at(tn_complex lu, tn_val permutation, tn_complex b, int how, const char *file, int line) {
    const int unit = TN_SOLVE_LOWER | TN_SOLVE_UNIT_DIAGONAL, turned = how & TN_SOLVE_TRANSPOSED,
              conjugated = how & TN_SOLVE_CONJUGATED;
    tn_complex x;
    bool vectors = false;
    int64_t n = 0;
    if (!system_of(lu, permutation, b, how, &x, &vectors, &n, file, line)) return x;
    if (turned) {
        x = tn_ctriangular_solve_at(lu, x, TN_SOLVE_UPPER | how, file, line);
        x = tn_ctriangular_solve_at(lu, x, unit | how, file, line);
        x = rows_of(x, tn_argsort_at(permutation, -1, file, line), file, line);
    } else {
        x = rows_of(x, permutation, file, line);
        x = tn_ctriangular_solve_at(lu, x, unit | conjugated, file, line);
        x = tn_ctriangular_solve_at(lu, x, TN_SOLVE_UPPER | conjugated, file, line);
    }
    if (!vectors) return x;
    x.re = tn_squeeze_at(x.re, -1, file, line);
    x.im = tn_squeeze_at(x.im, -1, file, line);
    return x;
}

tn_complex tn_cinverse_at(tn_complex a, const char *file, int line) {
    site k;
    const bool ok = open(&k, "cinverse", 1, &a, file, line) && square(&k);
    const tn_type t = ok ? *type_of(&k, 0) : (tn_type){0};
    const tn_complex z = close_one(&k, ok ? operand(&k, 0) : none);
    tn_complex one;
    if (!ok) return z;
    const tn_val eye = tn_eye_at(tn_val_ctx(z.re), (tn_dtype)t.dtype, t.dim[t.rank - 1], t.dim[t.rank - 1], file, line);
    one.re = tn_broadcast_to_at(eye, tn_ints_of((size_t)t.rank, t.dim), file, line);
    one.im = tn_sub_at(one.re, one.re, file, line);
    return tn_csolve_at(z, one, file, line);
}

/* ---- determinants: the product of u's diagonal, with the sign of the exchanges ---- */

static V reduced(tn_i_builder *b, int id, V x, tn_i_param *p, int64_t *axis) {
    if (b->failed) return TN_NOVAR;
    *axis = tn_i_vtype(b, x)->rank - 1;
    *p = (tn_i_param){.kind = TN_K_INTS, .n = 1, .u.ints = axis};
    return id < 0 ? TN_NOVAR : tn_i_emit(b, tn_i_prim(b, id), p, 1, &x);
}

/* -1 where an odd number of rows were exchanged, else 1. */
static V parity(site *k, V pivots, int dtype) {
    tn_i_builder *b = k->s.b;
    tn_i_param p;
    int64_t axis;
    if (b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, pivots);
    const V row = tn_i_iota(b, TN_I32, t.rank, t.dim, t.rank - 1), moved = tn_i_op2(b, TN_P_ne, pivots, row);
    const V one = tn_i_convert(b, moved, dtype), sign = tn_i_minus_from(b, 1, tn_i_times(b, one, 2));
    return reduced(b, TN_P_reduce_prod, sign, &p, &axis);
}

static Z product(site *k, Z z) {
    tn_i_param p;
    int64_t axis;
    (void)reduced(k->s.b, -1, z.re, &p, &axis);
    return emit_one(k, TN_P_reduce_prod, &p, z);
}

/* u's diagonal, and the sign. */
static bool diagonal(site *k, const char *name, tn_complex a, Z *d, V *sign, const char *file, int line) {
    Z out[RESULTS];
    out[0] = out[1] = none;
    if (!open(k, name, 1, &a, file, line) || !square(k) || !emit(k, TN_P_lu, NULL, operand(k, 0), 3, out)) return false;
    d->re = tn_i_matrix_diagonal(k->s.b, out[0].re);
    d->im = tn_i_matrix_diagonal(k->s.b, out[0].im);
    *sign = parity(k, out[1].re, type_of(k, 0)->dtype);
    return !k->s.b->failed;
}

tn_complex tn_cdet_at(tn_complex a, const char *file, int line) {
    site k;
    Z d = none;
    V sign;
    const bool ok = diagonal(&k, "cdet", a, &d, &sign, file, line);
    const Z y = ok ? product(&k, d) : none;
    return close_one(&k, k.s.b->failed || !ok ? none : tn_i_complex_times(k.s.b, y, sign));
}

void tn_cslogdet_at(tn_complex a, tn_complex *sign, tn_val *logabs, const char *file, int line) {
    site k;
    Z d = none, out[2] = {none, none};
    V odd;
    tn_complex y[2];
    if (diagonal(&k, "cslogdet", a, &d, &odd, file, line)) {
        tn_i_param p;
        int64_t axis;
        const Z logs = emit_one(&k, TN_P_log, NULL, d), phases = product(&k, emit_one(&k, TN_P_sign, NULL, d));
        out[0] = k.s.b->failed ? none : tn_i_complex_times(k.s.b, phases, odd);
        out[1].re = reduced(k.s.b, TN_P_reduce_sum, logs.re, &p, &axis);
    }
    close_many(&k, out, 2, y);
    if (sign) *sign = y[0];
    if (logabs) *logabs = y[1].re;
}

/* ---- decompositions ------------------------------------------------------------------------------------- */

static bool known(site *k, tn_factors how) {
    if (how == TN_FACTORS_REDUCED || how == TN_FACTORS_FULL) return true;
    (void)tn_i_site_fail(&k->s, TN_EINVAL, -1, "how is %d: TN_FACTORS_REDUCED or TN_FACTORS_FULL", (int)how);
    return false;
}

void tn_cqr_at(tn_complex a, tn_factors how, tn_complex *q, tn_complex *r, const char *file, int line) {
    site k;
    Z out[RESULTS];
    tn_complex y[2];
    out[0] = out[1] = none;
    const tn_i_param p = yes(how == TN_FACTORS_FULL);
    if (open(&k, "cqr", 1, &a, file, line) && known(&k, how) && matrices(&k))
        (void)emit(&k, TN_P_qr, &p, operand(&k, 0), 2, out);
    close_many(&k, out, 2, y);
    if (q) *q = y[0];
    if (r) *r = y[1];
}

void tn_csvd_at(tn_complex a, tn_factors how, tn_complex *u, tn_val *s, tn_complex *vt, const char *file, int line) {
    site k;
    Z out[RESULTS];
    tn_complex y[3];
    out[0] = out[1] = out[2] = none;
    const bool vectors = u || vt;
    const tn_i_param p[2] = {yes(how == TN_FACTORS_FULL), yes(vectors)};
    if (open(&k, "csvd", 1, &a, file, line) && known(&k, how) && matrices(&k))
        (void)emit(&k, TN_P_svd, p, operand(&k, 0), vectors ? 3 : 1, out);
    close_many(&k, out, vectors ? 3 : 1, y);
    if (s) *s = y[0].re;
    if (u) *u = y[1];
    if (vt) *vt = y[2];
}

/* Eigenvectors, then eigenvalues. */
static void hermitian(const char *name, tn_complex a, tn_complex *y, const char *file, int line) {
    site k;
    Z out[RESULTS];
    out[0] = out[1] = none;
    const tn_i_param p = yes(true);
    if (open(&k, name, 1, &a, file, line) && square(&k)) (void)emit(&k, TN_P_eigh, &p, operand(&k, 0), 2, out);
    close_many(&k, out, 2, y);
}

void tn_ceigh_at(tn_complex a, tn_val *w, tn_complex *v, const char *file, int line) {
    tn_complex y[2];
    hermitian("ceigh", a, y, file, line);
    if (v) *v = y[0];
    if (w) *w = y[1].re;
}

tn_val tn_ceigvalsh_at(tn_complex a, const char *file, int line) {
    tn_complex y[2];
    hermitian("ceigvalsh", a, y, file, line);
    return y[1].re;
}

static void one_or_two(const char *name, int id, tn_complex a, bool vectors, tn_complex *y, const char *file,
                       int line) {
    site k;
    Z out[RESULTS];
    out[0] = out[1] = none;
    const tn_i_param p = yes(vectors);
    if (open(&k, name, 1, &a, file, line) && square(&k)) (void)emit(&k, id, &p, operand(&k, 0), vectors ? 2 : 1, out);
    close_many(&k, out, vectors ? 2 : 1, y);
}

void tn_ceig_at(tn_complex a, tn_complex *w, tn_complex *v, const char *file, int line) {
    tn_complex y[2];
    one_or_two("ceig", TN_P_eig, a, v != NULL, y, file, line);
    if (w) *w = y[0];
    if (v) *v = y[1];
}

tn_complex tn_ceigvals_at(tn_complex a, const char *file, int line) {
    tn_complex w;
    one_or_two("ceigvals", TN_P_eig, a, false, &w, file, line);
    return w;
}

void tn_cschur_at(tn_complex a, tn_complex *t, tn_complex *q, const char *file, int line) {
    tn_complex y[2];
    one_or_two("cschur", TN_P_schur, a, q != NULL, y, file, line);
    if (t) *t = y[0];
    if (q) *q = y[1];
}

tn_complex tn_cpinv_at(tn_complex a, const char *file, int line) {
    site k;
    const bool ok = open(&k, "cpinv", 1, &a, file, line) && matrices(&k);
    return close_one(&k, ok ? emit_one(&k, TN_P_pinv, NULL, operand(&k, 0)) : none);
}

tn_complex tn_clstsq_at(tn_complex a, tn_complex b, const char *file, int line) {
    const tn_complex in[2] = {a, b};
    site k;
    Z x = none;
    bool vectors;
    if (!open(&k, "clstsq", 2, in, file, line) || !matrices(&k)) return close_one(&k, none);
    const tn_type t = *type_of(&k, 0);
    if (columns(&k, false, t.dim[t.rank - 2], &x, &vectors)) {
        const Z inverse = emit_one(&k, TN_P_pinv, NULL, operand(&k, 0));
        x = k.s.b->failed ? none : tn_i_complex_matmul(k.s.b, inverse, false, x, false);
        x = as_given(&k, x, vectors, t.dim[t.rank - 1]);
    }
    return close_one(&k, x);
}
