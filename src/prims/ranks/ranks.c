/* What the primitives of programs over many ranks share. */
#include "prims/ranks/ranks.h"

#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <stdio.h>
#include <string.h>

const tn_i_spec tn_i_ranks_specs[] = {TN_RANKS_AXES, {.name = NULL}};

tn_i_var tn_i_ranks_emit(tn_i_builder *b, int id, const tn_i_param *p, tn_i_var x) {
    return tn_i_emit(b, tn_i_prim(b, id), p, 1, &x);
}

/* ---- type rules ------------------------------------------------------------------------ */

bool tn_i_ranks_given(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    if (tn_i_rank_axes(q->p) >> q->ctx->grid.naxes) return tn_i_type_fail(q, -1, "axes are none of the context's grid");
    return q->nin == 0 || tn_i_admits(q);
}

static bool replicated_over(const tn_i_query *q, uint32_t *axes) {
    *axes = tn_i_rank_axes(q->p) & ~tn_i_over(q->in[0]);
    return *axes != 0;
}

bool tn_i_ranks_vary(tn_i_query *q) {
    uint32_t lacks;
    if (!replicated_over(q, &lacks)) return true;
    return tn_i_type_fail(q, -1, "operand 0 is replicated over %s; tn_vary it first", tn_i_axes_text(q->ctx, lacks));
}

bool tn_i_ranks_alike(tn_i_query *q) {
    const uint32_t have = tn_i_rank_axes(q->p) & tn_i_over(q->in[0]);
    if (!have) return true;
    return tn_i_type_fail(q, -1, "operand 0 varies over %s already; it is to be what all ranks hold",
                          tn_i_axes_text(q->ctx, have));
}

bool tn_i_ranks_line(tn_i_query *q) {
    const uint32_t axes = tn_i_rank_axes(q->p);
    if (axes && (axes & (axes - 1)) == 0) return true;
    return tn_i_type_fail(q, -1, "is along one axis, not %s", axes ? tn_i_axes_text(q->ctx, axes) : "none");
}

/* "axis w of the grid has 3 ranks" */
static const char *ranks_text(const tn_i_query *q, char text[256]) {
    const uint32_t axes = tn_i_rank_axes(q->p);
    const bool several = (axes & (axes - 1)) != 0;
    const long long n = tn_i_ranks(q->ctx, axes);
    (void)snprintf(text, 256, "%s %s of the grid %s %lld rank%s", several ? "axes" : "axis",
                   tn_i_axes_text(q->ctx, axes), several ? "have" : "has", n, n == 1 ? "" : "s");
    return text;
}

bool tn_i_ranks_root(tn_i_query *q, uint32_t k) {
    char text[256];
    const int64_t root = q->p[k].u.i;
    if (root >= 0 && root < tn_i_ranks(q->ctx, tn_i_rank_axes(q->p))) return true;
    return tn_i_type_fail(q, -1, "root=%lld, but %s, from 0 on", (long long)root, ranks_text(q, text));
}

bool tn_i_ranks_size(tn_i_query *q, uint32_t k) {
    char text[256];
    if (q->p[k].kind == TN_K_NONE || q->p[k].u.i == tn_i_ranks(q->ctx, tn_i_rank_axes(q->p))) return true;
    return tn_i_type_fail(q, -1, "size=%lld, but %s", (long long)q->p[k].u.i, ranks_text(q, text));
}

bool tn_i_ranks_pieces(tn_i_query *q) {
    char text[256];
    const tn_type *t = q->in[0];
    if (t->rank == 0) return tn_i_type_fail(q, 0, "has no first dimension, one entry for each rank");
    if (t->dim[0] == tn_i_ranks(q->ctx, tn_i_rank_axes(q->p))) return true;
    return tn_i_type_fail(q, 0, "has %lld entries, one for each rank, but %s", (long long)t->dim[0],
                          ranks_text(q, text));
}

static bool varying(tn_i_query *q, uint32_t over) { return tn_i_axes_of(q->ctx, over, &q->out[0].varying); }

bool tn_i_ranks_same(tn_i_query *q, uint32_t over) { return tn_i_output_type(q, q->in[0]) && varying(q, over); }

bool tn_i_ranks_piece(tn_i_query *q, uint32_t over) {
    const tn_type *t = q->in[0];
    return tn_i_output(q, t->dtype, t->rank - 1, t->dim + 1) && varying(q, over);
}

bool tn_i_ranks_stack(tn_i_query *q, uint32_t over) {
    const tn_type *t = q->in[0];
    int64_t dim[TN_MAX_RANK + 1] = {tn_i_ranks(q->ctx, tn_i_rank_axes(q->p))};
    memcpy(dim + 1, t->dim, sizeof t->dim);
    if (t->rank == TN_MAX_RANK)
        return tn_i_type_fail(q, 0, "of rank %d has no room for a dimension of ranks", TN_MAX_RANK);
    return tn_i_output(q, t->dtype, t->rank + 1, dim) && varying(q, over);
}

/* ---- batching: the batch is at dimension 0 --------------------------------------------- */

void tn_i_ranks_batch(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    out[0] = tn_i_emit_like(r->b, r->e, r->in);
    out_batched[0] = true;
}

/* Dimensions 0 and 1 exchanged. */
static tn_i_var exchanged(tn_i_builder *b, tn_i_var x) {
    int64_t perm[TN_MAX_RANK] = {1, 0, 2, 3, 4, 5, 6, 7};
    return tn_i_permute(b, x, perm);
}

void tn_i_ranks_batch_pieces(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    const int in = r->in_type[0]->rank, have = r->out_type[0]->rank;
    tn_i_var x = have <= in ? exchanged(r->b, r->in[0]) : r->in[0];
    x = tn_i_emit_like(r->b, r->e, &x);
    out[0] = have >= in ? exchanged(r->b, x) : x;
    out_batched[0] = true;
}

/* ---- costs, identities ------------------------------------------------------------------ */

void tn_i_ranks_cost(const tn_i_query *q, tn_i_cost *cost) { tn_i_cost_copy(q, cost); }

void tn_i_ranks_cost_sum(const tn_i_query *q, tn_i_cost *cost) {
    tn_i_cost_copy(q, cost);
    cost->flops += (double)tn_i_count(q->in[0]);
}

tn_i_var tn_i_ranks_zeros(tn_i_builder *b, tn_i_var in, const tn_type *t) {
    uint64_t bits;
    const tn_type copy = *t;
    return tn_i_known_scalar(b, in, &bits) && bits == 0 ? tn_i_zeros(b, &copy) : TN_NOVAR;
}

const tn_i_eqn *tn_i_ranks_made_by(const tn_i_builder *b, tn_i_var v, int id, const tn_i_param *p) {
    const tn_i_eqn *e = tn_i_def(b, v);
    return e && e->prim->id == id && tn_i_rank_axes(tn_i_p(e)) == tn_i_rank_axes(p) ? e : NULL;
}

/* ---- in the program that one rank runs ----------------------------------------------------- */

void tn_i_collective_begin(tn_i_param p[TN_I_COLLECTIVE_PARAMS], int kind, uint32_t axes) {
    memset(p, 0, TN_I_COLLECTIVE_PARAMS * sizeof *p);
    p[TN_I_COLLECTIVE_KIND] = (tn_i_param){.kind = TN_K_SYM, .u.i = kind};
    p[TN_I_COLLECTIVE_AXES] = (tn_i_param){.kind = TN_K_AXES, .u.i = axes};
}

tn_i_var tn_i_collective(tn_i_builder *b, const tn_i_param p[TN_I_COLLECTIVE_PARAMS], tn_i_var x) {
    return tn_i_ranks_emit(b, TN_P_collective, p, x);
}

tn_i_var tn_i_rank_index(tn_i_builder *b, uint32_t axes) {
    const tn_i_param p = {.kind = TN_K_AXES, .u.i = axes};
    if (tn_i_ranks(b->ctx, axes) == 1) return tn_i_literal_i64(b, TN_I64, 0);
    return tn_i_emit(b, tn_i_prim(b, TN_P_rank_index), &p, 0, NULL);
}

tn_i_var tn_i_ranks_as_stack(tn_i_builder *b, tn_i_var x) {
    int64_t shape[TN_MAX_RANK + 1] = {1};
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, x);
    memcpy(shape + 1, t->dim, sizeof t->dim);
    return tn_i_reshape(b, x, t->rank + 1, shape);
}

tn_i_var tn_i_ranks_as_piece(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    return tn_i_reshape(b, x, t.rank - 1, t.dim + 1);
}

bool tn_i_ranks_alone(const tn_i_builder *b, const tn_i_eqn *e) {
    return tn_i_ranks(b->ctx, tn_i_rank_axes(tn_i_p(e))) == 1;
}
