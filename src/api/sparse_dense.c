/* Dense by nature: the whole matrix, as tn_jacfwd and tn_jacrev make it, in the order of the values. */
#include "linearize/prune.h"
#include "prims/arrays/shape.h"
#include "api/sparse.h"

typedef struct dense {
    const tn_i_derivative *q;
    tn_ctx *ctx;
    tn_i_builder b;
    tn_i_var *x, *y, *block, *row;
    size_t nblock;
} dense;

static tn_fn *whole(const tn_i_derivative *q, bool reverse) {
    if (q->hessian) return tn_hessian(q->given, q->wrt, q->o.policy, 0);
    return reverse ? tn_jacrev(q->given, q->wrt, q->o.policy, 0) : tn_jacfwd(q->given, q->wrt, 0);
}

/* The blocks, by output and input, as one matrix. */
static tn_i_var matrix(dense *d) {
    const tn_i_sides *s = &d->q->sides;
    tn_i_builder *b = &d->b;
    for (uint32_t j = 0; j < s->nout; j++) {
        for (uint32_t k = 0; k < s->nwrt; k++) {
            const int64_t flat[2] = {s->row[j + 1] - s->row[j], s->col[k + 1] - s->col[k]};
            tn_i_var *at = &d->block[(size_t)j * s->nwrt + k];
            *at = tn_i_reshape(b, *at, 2, flat);
        }
        tn_i_var *blocks = d->block + (size_t)j * s->nwrt;
        d->row[j] = s->nwrt == 1 ? blocks[0] : tn_i_concatenate(b, s->nwrt, blocks, 1);
    }
    return s->nout == 1 ? d->row[0] : tn_i_concatenate(b, s->nout, d->row, 0);
}

/* All entries by row or by column are the matrix as it is or turned; of others it is positions. */
static tn_i_var ordered(dense *d, tn_i_var m, const tn_sparsity *s, const int64_t *entry, int64_t n) {
    static const int64_t turn[2] = {1, 0};
    tn_i_builder *b = &d->b;
    if (n == s->nnz) return tn_i_reshape(b, d->q->o.format == TN_CSC ? tn_i_permute(b, m, turn) : m, 1, &n);
    const tn_i_var flat = tn_i_reshape(b, m, 1, &s->nnz);
    const tn_type t = {.dtype = TN_I64, .rank = 2, .dim = {n, 1}};
    const tn_i_dnums dnums = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};
    const int64_t one = 1;
    if (b->failed) return TN_NOVAR;
    return tn_i_gather(b, flat, tn_i_constant(b, &t, entry), &dnums, &one, TN_CLIP, NULL);
}

static tn_fn *build(dense *d, const tn_fn *j, const tn_sparsity *s, const int64_t *entry, int64_t n) {
    const tn_fn *f = d->q->f;
    tn_i_builder *b = &d->b;
    tn_i_builder_init(b, d->ctx);
    b->named_after = d->q->given;
    for (uint32_t i = 0; i < f->nin && !b->failed; i++) d->x[i] = tn_i_input(b, f->val[i].type, false);
    const uint32_t first = d->q->o.with_value ? f->nout : 0;
    if (first && !b->failed) tn_i_inline(b, f, d->x, d->y);
    if (!b->failed) tn_i_inline(b, j, d->x, d->block);
    d->y[first] = b->failed ? TN_NOVAR : ordered(d, matrix(d), s, entry, n);
    return tn_i_finish(b, first + 1, d->y);
}

tn_fn *tn_i_dense_program(const tn_i_derivative *q, bool reverse, const tn_sparsity *s, const int64_t *entry,
                          int64_t nvalue) {
    tn_ctx *c = q->given->ctx;
    dense d = {.q = q, .ctx = c, .nblock = (size_t)q->sides.nout * q->sides.nwrt};
    tn_fn *j = whole(q, reverse), *g = NULL;
    d.x = tn_i_alloc_array(c, q->f->nin, sizeof *d.x);
    d.y = tn_i_alloc_array(c, (size_t)q->f->nout + 1, sizeof *d.y);
    d.block = tn_i_alloc_array(c, d.nblock, sizeof *d.block);
    d.row = tn_i_alloc_array(c, q->sides.nout, sizeof *d.row);
    if (j && d.x && d.y && d.block && d.row) g = build(&d, j, s, entry, nvalue);
    tn_i_free(c, d.x, q->f->nin * sizeof *d.x);
    tn_i_free(c, d.y, ((size_t)q->f->nout + 1) * sizeof *d.y);
    tn_i_free(c, d.block, d.nblock * sizeof *d.block);
    tn_i_free(c, d.row, q->sides.nout * sizeof *d.row);
    tn_i_fn_unref(j);
    return g;
}
