/* Determinants and inverses, made of factors a[permutation] = l u and solves. */
#include "trace/trace.h"

typedef struct place {
    const char *file;
    int line;
} place;

/* lives for one statement */
#define LAST_TWO tn_ints_of(2, (const int64_t[]){-2, -1})

/* The factors of a matrix, or of a batch of them. */
typedef struct factors {
    tn_ctx *c; /* NULL: there are none, and the trace has an error */
    int64_t n;
    tn_val lu, pivots, permutation, on; /* on: the diagonal, bool[n, n] */
    place at;
} factors;

static factors factors_of(tn_val a, place at) {
    const tn_type t = tn_val_type(a);
    factors f = {.at = at};
    tn_lu_at(a, &f.lu, &f.pivots, &f.permutation, at.file, at.line);
    f.c = t.rank < 2 ? NULL : tn_val_ctx(f.lu);
    if (!f.c) return f;
    f.n = t.dim[t.rank - 1];
    f.on = tn_eye_at(f.c, TN_BOOL, f.n, f.n, at.file, at.line);
    return f;
}

/* What is beside the diagonal counts as ones: a logarithm of 0 there would have an infinite derivative. */
static tn_val diagonal(const factors *f) { return tn_where_at(f->on, f->lu, tn_number_f64(1), f->at.file, f->at.line); }

/* -1 where an odd number of rows were exchanged, else 1: of a's dtype, [..]. */
static tn_val parity(const factors *f) {
    const place p = f->at;
    const tn_val row = tn_arange_at(f->c, TN_I32, f->n, p.file, p.line);
    const tn_val exchanged =
        tn_convert_at(tn_ne_at(f->pivots, row, p.file, p.line), (tn_dtype)tn_val_type(f->lu).dtype, p.file, p.line);
    const tn_val signs =
        tn_sub_at(tn_number_f64(1), tn_mul_at(tn_number_f64(2), exchanged, p.file, p.line), p.file, p.line);
    return tn_prod_axis_at(signs, -1, false, p.file, p.line);
}

/* ---- logarithms ------------------------------------------------------------------------------ */

static tn_val logarithm(const factors *f) {
    const place p = f->at;
    const tn_val logs = tn_log_at(tn_abs_at(diagonal(f), p.file, p.line), p.file, p.line);
    return tn_sum_axes_at(logs, LAST_TWO, false, p.file, p.line);
}

tn_val tn_logdet_at(tn_val a, const char *file, int line) {
    const factors f = factors_of(a, (place){file, line});
    return f.c ? logarithm(&f) : f.lu;
}

void tn_slogdet_at(tn_val a, tn_val *sign, tn_val *logabs, const char *file, int line) {
    const factors f = factors_of(a, (place){file, line});
    if (logabs) *logabs = f.c ? logarithm(&f) : f.lu;
    if (!sign) return;
    *sign = f.lu;
    if (!f.c) return;
    const tn_val signs = tn_prod_axes_at(tn_sign_at(diagonal(&f), file, line), LAST_TWO, false, file, line);
    *sign = tn_mul_at(signs, parity(&f), file, line);
}

/* ---- the determinant ---------------------------------------------------------------------------- */

/* The product of the first n - 1 of the diagonal, or of all of it, with the sign. */
static tn_val product(const factors *f, bool all) {
    const place p = f->at;
    const tn_val row = tn_arange_at(f->c, TN_I32, f->n, p.file, p.line);
    const tn_val before = tn_lt_at(row, tn_number_i64(all ? f->n : f->n - 1), p.file, p.line);
    const tn_val counted = tn_where_at(before, diagonal(f), tn_number_f64(1), p.file, p.line);
    return tn_mul_at(tn_prod_axes_at(counted, LAST_TWO, false, p.file, p.line), parity(f), p.file, p.line);
}

static tn_val as_matrices(tn_val x, place p) {
    return tn_expand_dims_at(tn_expand_dims_at(x, -1, p.file, p.line), -1, p.file, p.line);
}

static tn_val primal(const tn_val *in, void *user) {
    const factors f = factors_of(in[0], *(const place *)user);
    return f.c ? product(&f, true) : f.lu;
}

/* tr(adj(a) da).  With y of l y = da[permutation], x = det(a) a^-1 da solves u' x = y', where u' is u with a 1 for its
 * last pivot d, and y' is y times det(a), but its last row times det(a) / d: nothing is divided by d, which may be 0.
 */
static tn_val tangent(const tn_val *in, void *user) {
    const place p = *(const place *)user;
    const factors f = factors_of(in[0], p);
    if (!f.c) return f.lu;
    const tn_val rows = tn_expand_dims_at(f.permutation, -1, p.file, p.line);
    const tn_val y = tn_triangular_solve_at(f.lu, tn_take_along_at(in[1], rows, -2, false, p.file, p.line),
                                            TN_SOLVE_LOWER | TN_SOLVE_UNIT_DIAGONAL, p.file, p.line);
    const tn_val row = tn_iota_at(f.c, tn_type_of(TN_I32, 2, (const int64_t[]){f.n, f.n}), 0, p.file, p.line);
    const tn_val last = tn_eq_at(row, tn_number_i64(f.n - 1), p.file, p.line);
    const tn_val by =
        tn_where_at(last, as_matrices(product(&f, false), p), as_matrices(product(&f, true), p), p.file, p.line);
    const tn_val u = tn_where_at(tn_and_at(last, f.on, p.file, p.line), tn_number_f64(1), f.lu, p.file, p.line);
    const tn_val x = tn_triangular_solve_at(u, tn_mul_at(y, by, p.file, p.line), TN_SOLVE_UPPER, p.file, p.line);
    return tn_sum_axes_at(tn_where_at(f.on, x, tn_number_f64(0), p.file, p.line), LAST_TWO, false, p.file, p.line);
}

tn_val tn_det_at(tn_val a, const char *file, int line) {
    place at = {file, line};
    return tn_custom_jvp_at(primal, tangent, &at, 1, &a, file, line);
}

/* ---- the inverse ---------------------------------------------------------------------------------- */

tn_val tn_inverse_at(tn_val a, const char *file, int line) {
    const tn_type t = tn_val_type(a);
    tn_ctx *c = tn_val_ctx(a);
    if (!c || t.rank < 2) return tn_solve_at(a, a, file, line); /* which says what is wrong */
    const int64_t n = t.dim[t.rank - 1];
    const tn_val one = tn_eye_at(c, (tn_dtype)t.dtype, n, n, file, line);
    return tn_solve_at(a, tn_broadcast_to_at(one, tn_ints_of((size_t)t.rank, t.dim), file, line), file, line);
}
