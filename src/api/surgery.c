#include "api/surgery.h"

#include "api/args.h"
#include "linearize/prune.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

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

tn_fn *tn_i_select_outputs(const tn_fn *f, size_t n, const uint32_t *index) {
    tn_ctx *c = f->ctx;
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    b.named_after = f;
    tn_i_var *args = tn_i_alloc_array(c, f->nin, sizeof *args), *outs = tn_i_alloc_array(c, f->nout, sizeof *outs),
             *chosen = tn_i_alloc_array(c, n, sizeof *chosen);
    tn_fn *g = NULL;
    if (args && outs && chosen) {
        for (uint32_t i = 0; i < f->nin; i++) args[i] = tn_i_input(&b, f->val[i].type, i >= f->nin - f->nlin);
        tn_i_inline(&b, f, args, outs);
        for (size_t j = 0; j < n; j++) chosen[j] = outs[index[j]];
        g = tn_i_finish(&b, (uint32_t)n, chosen);
    } else
        tn_i_builder_drop(&b);
    tn_i_free(c, args, f->nin * sizeof *args);
    tn_i_free(c, outs, f->nout * sizeof *outs);
    tn_i_free(c, chosen, n * sizeof *chosen);
    return g;
}

tn_fn *tn_select_outputs(const tn_fn *f, tn_int_list outputs) {
    if (!tn_i_living(f)) return NULL;
    if (outputs.n && !outputs.v) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "select_outputs: the list of outputs is NULL");
        return NULL;
    }
    uint32_t *index = tn_i_alloc_array(f->ctx, outputs.n, sizeof *index);
    tn_fn *g = NULL;
    bool ok = index != NULL;
    for (size_t j = 0; ok && j < outputs.n; j++) {
        ok = outputs.v[j] >= 0 && outputs.v[j] < f->nout;
        if (ok)
            index[j] = (uint32_t)outputs.v[j];
        else
            (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "select_outputs: there is no output %lld: the program has %u",
                            (long long)outputs.v[j], (unsigned)f->nout);
    }
    if (ok) g = tn_i_prune(tn_i_select_outputs(f, outputs.n, index));
    tn_i_free(f->ctx, index, outputs.n * sizeof *index);
    return tn_i_runnable(g);
}
