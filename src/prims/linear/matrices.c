#include "prims/linear/matrices.h"

#include "prims/dims.h"
#include "prims/linear/dot.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Of primitives that take real matrices, or real and imaginary parts, as many operands as there are come here. */
static bool are_there(tn_i_query *q) { return q->nin > 0 || tn_i_type_fail(q, -1, "needs a matrix"); }

bool tn_i_square_matrices(tn_i_query *q) {
    if (!are_there(q) || !tn_i_admits(q)) return false;
    const tn_type *t = q->in[0];
    if (t->rank < 2 || t->dim[t->rank - 1] != t->dim[t->rank - 2])
        return tn_i_type_fail(q, 0, "needs square matrices in the last two dimensions");
    return true;
}

bool tn_i_matrices(tn_i_query *q) {
    if (!are_there(q) || !tn_i_admits(q)) return false;
    if (q->in[0]->rank < 2) return tn_i_type_fail(q, 0, "needs matrices in the last two dimensions");
    return true;
}

bool tn_i_parts_alike(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    if (q->nin < 1 || q->nin > 2)
        return tn_i_type_fail(q, -1, "takes 1 operand, or 2: real and imaginary part; not %u", (unsigned)q->nin);
    if (q->nin == 2 && !tn_type_equal(q->in[0], q->in[1]))
        return tn_i_type_fail(q, 1, "should be an imaginary part, %s", tn_i_type_text(text, q->in[0]));
    return true;
}

bool tn_i_same_batch(tn_i_query *q, uint32_t i) {
    const tn_type *a = q->in[0], *b = q->in[i];
    if (a->rank != b->rank)
        return tn_i_type_fail(q, (int)i, "has rank %d, but operand 0 has %d", (int)b->rank, (int)a->rank);
    for (int k = 0; k < tn_i_batch_rank(a); k++)
        if (a->dim[k] != b->dim[k]) return tn_i_type_fail(q, (int)i, "batch dimension %d differs from operand 0's", k);
    return true;
}

bool tn_i_reserve(size_t *at, size_t n, size_t size) {
    size_t bytes;
    return tn_i_mul(n, size, &bytes) && tn_i_add(*at, bytes, &bytes) && tn_i_add(bytes, 63, &bytes) &&
           (*at = bytes / 64 * 64, true);
}

void tn_i_fill_nan(int dtype, int64_t n, void *x) {
    const tn_i_wide nan = {.d = NAN};
    for (int64_t i = 0; i < n; i++) tn_i_store(dtype, x, i, 1, 1, &nan);
}

tn_i_var tn_i_matrix_product(tn_i_builder *b, tn_i_var x, int xd, tn_i_var y, int yd) {
    if (b->failed || x == TN_NOVAR || y == TN_NOVAR) return TN_NOVAR;
    const int n = tn_i_batch_rank(tn_i_vtype(b, x));
    tn_i_dots d = {.ncontract = 1, .nbatch = (uint32_t)n, .contract = {{n + xd}, {n + yd}}};
    for (int i = 0; i < n; i++) d.batch[0][i] = d.batch[1][i] = i;
    return tn_i_dot_general(b, x, y, &d);
}

tn_i_var tn_i_compare_indices(tn_i_builder *b, const tn_type *t, int how) {
    const int64_t *shape = t->dim + tn_i_batch_rank(t);
    const tn_i_var row = tn_i_iota(b, TN_I32, 2, shape, 0), column = tn_i_iota(b, TN_I32, 2, shape, 1);
    return tn_i_op2(b, how, row, column);
}

tn_i_var tn_i_halved_triangle(tn_i_builder *b, const tn_type *t, bool lower) {
    const tn_type matrix = tn_type_of((tn_dtype)t->dtype, 2, t->dim + tn_i_batch_rank(t));
    const tn_i_var inside = tn_i_convert(b, tn_i_compare_indices(b, t, lower ? TN_P_gt : TN_P_lt), t->dtype);
    const tn_i_var diagonal = tn_i_compare_indices(b, t, TN_P_eq), half = tn_i_number(b, &matrix, 0.5);
    return tn_i_over_batch(b, tn_i_op3(b, TN_P_select, diagonal, half, inside), t);
}

tn_i_var tn_i_matrix_transpose(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int rank = tn_i_vtype(b, x)->rank;
    int64_t swap[TN_MAX_RANK];
    for (int i = 0; i < rank; i++) swap[i] = i;
    swap[rank - 2] = rank - 1;
    swap[rank - 1] = rank - 2;
    return tn_i_permute(b, x, swap);
}

tn_i_var tn_i_matrix_where(tn_i_builder *b, tn_i_var x, int how) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    const tn_i_var mask = tn_i_over_batch(b, tn_i_compare_indices(b, &t, how), &t), zeros = tn_i_zeros(b, &t);
    return tn_i_op3(b, TN_P_select, mask, x, zeros);
}

tn_i_var tn_i_matrix_diagonal(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int64_t axis = tn_i_vtype(b, x)->rank - 2;
    return tn_i_reduce_sum(b, tn_i_matrix_where(b, x, TN_P_eq), 1, &axis);
}

tn_i_var tn_i_matrix_part(tn_i_builder *b, tn_i_var x, int64_t rows, int64_t columns) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    const int64_t zero[TN_MAX_RANK] = {0};
    int64_t limit[TN_MAX_RANK];
    memcpy(limit, t.dim, sizeof limit);
    limit[t.rank - 2] = rows;
    limit[t.rank - 1] = columns;
    return rows == t.dim[t.rank - 2] && columns == t.dim[t.rank - 1] ? x : tn_i_slice(b, x, zero, limit, NULL);
}

tn_i_var tn_i_of_triangle(tn_i_builder *b, tn_i_var x, bool lower) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    const tn_i_var half = tn_i_op2(b, TN_P_mul, x, tn_i_halved_triangle(b, &t, lower));
    return tn_i_op2(b, TN_P_add, half, tn_i_matrix_transpose(b, half));
}

tn_i_var tn_i_over_batch(tn_i_builder *b, tn_i_var x, const tn_type *t) {
    const int64_t dims[2] = {t->rank - 2, t->rank - 1};
    return t->rank == 2 ? x : tn_i_broadcast(b, x, t->rank, t->dim, dims);
}

tn_i_var tn_i_triangular_solve(tn_i_builder *b, unsigned how, tn_i_var a, tn_i_var x) {
    const tn_i_var in[2] = {a, x};
    tn_i_param p[TN_NTRIANGULAR];
    for (int k = 0; k < TN_NTRIANGULAR; k++) p[k] = (tn_i_param){.kind = TN_K_BOOL, .u.i = how >> k & 1};
    return tn_i_emit(b, tn_i_prim(b, TN_P_triangular_solve), p, 2, in);
}

void tn_i_fold_batch(tn_i_rule *r, uint32_t operand, bool columns, tn_i_folding *to) {
    tn_i_builder *b = r->b;
    to->x = TN_NOVAR;
    if (b->failed) return;
    const tn_type t = *tn_i_vtype(b, r->in[operand]); /* batch, leading.., rows, columns */
    const int n = t.rank - 3, at = n + columns;       /* where the batch goes: in front of columns, or of rows */
    int64_t there[TN_MAX_RANK], folded[TN_MAX_RANK];
    for (int i = 0; i < at; i++) there[i] = i + 1;
    there[at] = 0;
    for (int i = at + 1; i < t.rank; i++) there[i] = i;
    to->rank = t.rank;
    for (int i = 0; i < t.rank; i++) {
        to->back[there[i]] = i;
        to->shape[i] = folded[i] = t.dim[there[i]];
    }
    if (!tn_i_mul_i64(to->shape[at], to->shape[at + 1], &folded[at])) {
        tn_i_rule_fail(r, TN_EOVERFLOW, (int)operand, "the batch and its matrices overflow");
        return;
    }
    if (!columns) folded[n + 1] = to->shape[n + 2];
    to->x = tn_i_reshape(b, tn_i_permute(b, r->in[operand], there), t.rank - 1, folded);
}

tn_i_var tn_i_unfold_batch(tn_i_builder *b, tn_i_var y, const tn_i_folding *from) {
    if (b->failed || y == TN_NOVAR) return TN_NOVAR;
    return tn_i_permute(b, tn_i_reshape(b, y, from->rank, from->shape), from->back);
}

void tn_i_sample_square(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 1);
    tn_type *t = &c->in[0];
    const int64_t n = tn_i_pick(r, 0, 5);
    t->dim[t->rank] = t->dim[t->rank + 1] = n;
    t->rank += 2;
}

/* A dominating diagonal of numbers that are apart, with either sign. */
static void fill_matrices(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = c->in[i].dim[c->in[i].rank - 1], m = c->in[i].dim[c->in[i].rank - 2];
    const int64_t count = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < count; k++) {
        const int64_t row = k / n % m;
        double x = tn_i_uniform(r, -0.3, 0.3);
        if (k % n == row) x = 1.5 + 1.25 * (double)row + tn_i_uniform(r, -0.2, 0.2);
        if (k % n == row && tn_i_pick(r, 0, 1)) x = -x;
        tn_i_put(c->in[i].dtype, data, k, x);
    }
}

void tn_i_sample_matrices(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    c->in[0].dim[c->in[0].rank - 1] = tn_i_pick(r, 0, 5);
    c->fill = fill_matrices;
}

void tn_i_sums_solve(const tn_i_query *q, int axis, int running, tn_i_sums *s) {
    const tn_type *t = q->out;
    int64_t stride[TN_MAX_RANK];
    tn_i_dense_strides(t, stride);
    for (int d = 0; d < t->rank; d++)
        if (d != axis) tn_i_sums_loop(s, false, t->dim[d], stride[d], stride[d], 0);
    tn_i_sums_loop(s, false, t->dim[axis], stride[axis], 0, 0);
    tn_i_sums_loop(s, true, t->dim[axis], 0, stride[axis], 0);
    s->factor = -2;
    s->running = running;
}

tn_i_var tn_i_along_many(tn_i_builder *b, tn_i_var w, int axis, int64_t times) {
    if (b->failed || w == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, w);
    int64_t shape[TN_MAX_RANK], dims[TN_MAX_RANK];
    for (int i = 0; i < t.rank; i++) {
        shape[i] = t.dim[i];
        dims[i] = i;
    }
    shape[t.rank] = shape[t.rank - 1] = times;
    shape[t.rank - 1 + axis] = t.dim[t.rank - 1];
    dims[t.rank - 1] = t.rank - 1 + axis;
    return tn_i_broadcast(b, w, t.rank + 1, shape, dims);
}

tn_i_var tn_i_along(tn_i_builder *b, tn_i_var w, int axis) {
    if (b->failed || w == TN_NOVAR) return TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, w);
    return tn_i_along_many(b, w, axis, t->dim[t->rank - 1]);
}

static tn_i_var largest(tn_i_builder *b, tn_i_var w) {
    const int64_t last = tn_i_vtype(b, w)->rank - 1;
    const tn_i_param axes = {.kind = TN_K_INTS, .n = 1, .u.ints = &last};
    const tn_i_var size = tn_i_op1(b, TN_P_abs, w);
    return tn_i_emit(b, tn_i_prim(b, TN_P_reduce_max), &axes, 1, &size);
}

tn_i_var tn_i_inverse_unless_tiny(tn_i_builder *b, tn_i_var x, tn_i_var w) {
    if (b->failed || x == TN_NOVAR || w == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x), tw = *tn_i_vtype(b, w);
    const double epsilon = (t.dtype == TN_F64 ? DBL_EPSILON : (double)FLT_EPSILON) * (double)tw.dim[tw.rank - 1];
    int64_t dims[TN_MAX_RANK];
    for (int i = 0; i < tw.rank - 1; i++) dims[i] = i;
    const tn_i_var limit = tn_i_times(b, largest(b, w), epsilon);
    const tn_i_var limits = tn_i_broadcast(b, limit, t.rank, t.dim, dims);
    const tn_i_var tiny = tn_i_op2(b, TN_P_le, tn_i_op1(b, TN_P_abs, x), limits);
    const tn_i_var ones = tn_i_number(b, &t, 1), zeros = tn_i_zeros(b, &t);
    const tn_i_var divisor = tn_i_op3(b, TN_P_select, tiny, ones, x);
    const tn_i_var inverse = tn_i_op2(b, TN_P_div, ones, divisor);
    return tn_i_op3(b, TN_P_select, tiny, zeros, inverse);
}
