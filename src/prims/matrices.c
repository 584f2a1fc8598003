#include "prims/matrices.h"

#include "prims/dims.h"
#include "prims/dot.h"
#include "prims/sample.h"
#include "prims/shape.h"

bool tn_i_square_matrices(tn_i_query *q) {
    const tn_type *t = q->in[0];
    if (!tn_i_admits(q)) return false;
    if (t->rank < 2 || t->dim[t->rank - 1] != t->dim[t->rank - 2])
        return tn_i_type_fail(q, 0, "needs square matrices in the last two dimensions");
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
