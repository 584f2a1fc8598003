#include "api/surgery.h"

#include "prims/shape.h"

#include <string.h>

tn_i_var tn_i_move_axis(tn_i_builder *b, tn_i_var x, int from, int to) {
    if (b->failed || x == TN_NOVAR || from == to) return x;
    int64_t perm[TN_MAX_RANK];
    int rank = tn_i_vtype(b, x)->rank, n = 0;
    for (int d = 0; d < rank; d++)
        if (d != from) perm[n++] = d;
    memmove(perm + to + 1, perm + to, (size_t)(rank - 1 - to) * sizeof *perm);
    perm[to] = from;
    return tn_i_permute(b, x, perm);
}

tn_i_var tn_i_basis(tn_i_builder *b, const tn_type *t, int64_t first, int64_t n) {
    const int64_t flat[2] = {n, tn_i_count(t)};
    int64_t shape[TN_MAX_RANK + 1] = {n};
    if (t->rank == TN_MAX_RANK) {
        tn_i_builder_fail(b, TN_ELIMIT, "a Jacobian's basis would have rank %d", TN_MAX_RANK + 1);
        return TN_NOVAR;
    }
    tn_i_var row = tn_i_iota(b, TN_I64, 2, flat, 0), column = tn_i_iota(b, TN_I64, 2, flat, 1);
    if (first && row != TN_NOVAR) row = tn_i_op2(b, TN_P_add, row, tn_i_whole_number(b, tn_i_vtype(b, row), first));
    tn_i_var e = tn_i_convert(b, tn_i_op2(b, TN_P_eq, row, column), t->dtype);
    memcpy(shape + 1, t->dim, (size_t)t->rank * sizeof *shape);
    return tn_i_reshape(b, e, t->rank + 1, shape);
}

tn_fn *tn_i_only_output(const tn_fn *f, uint32_t j) {
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    tn_i_var *args = tn_i_alloc_array(f->ctx, f->nin, sizeof *args),
             *outs = tn_i_alloc_array(f->ctx, f->nout, sizeof *outs);
    tn_fn *g = NULL;
    if (args && outs) {
        for (uint32_t i = 0; i < f->nin; i++) args[i] = tn_i_input(&b, f->val[i].type, i >= f->nin - f->nlin);
        tn_i_inline(&b, f, args, outs);
        g = tn_i_finish(&b, 1, &outs[j]);
    } else
        tn_i_builder_drop(&b);
    tn_i_free(f->ctx, args, f->nin * sizeof *args);
    tn_i_free(f->ctx, outs, f->nout * sizeof *outs);
    return g;
}
