/* What ranks know together: psum pvary pick place all_gather own reduce_scatter.
 *
 * A value that varies over axes is one array a rank, an element of a product of spaces; one that all ranks hold is one
 * element of one.  Transposes are adjoints in the inner product that sums what varies over the ranks and counts what is
 * replicated once: psum and pvary are each other's, pick and place, all_gather and own. */
#include "prims/ranks/ranks.h"

#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* ---- psum --------------------------------------------------------------------------- */

static const tn_i_spec sum_specs[] = {
    TN_RANKS_AXES, {.name = "ordered", .kind = TN_K_BOOL, .otherwise = "False"}, {.name = NULL}};

static bool type_sum(tn_i_query *q) {
    if (!tn_i_ranks_given(q)) return false;
    const uint32_t axes = tn_i_rank_axes(q->p), have = tn_i_over(q->in[0]), lacks = axes & ~have;
    if (lacks)
        return tn_i_type_fail(
            q, -1, "operand 0 is replicated over %s: the sum would be %lld times it (write %lld*x, or tn_vary it)",
            tn_i_axes_text(q->ctx, lacks), (long long)tn_i_ranks(q->ctx, lacks), (long long)tn_i_ranks(q->ctx, lacks));
    return tn_i_ranks_same(q, have & ~axes);
}

static void transpose_sum(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_vary(r->b, ct[0], tn_i_rank_axes(r->p));
}

/* Where one rank places something and the others zeros, the sum is that: but for the sign of a zero, which a linear
 * value does not have. */
static tn_i_var simplify_sum(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)nin;
    if (!tn_i_rank_axes(p)) return in[0];
    const tn_i_eqn *e = tn_i_ranks_made_by(b, in[0], TN_P_place, p);
    if (e && (b->val[in[0]].linear || !tn_i_is_float(out->dtype))) return b->pool[e->in];
    return tn_i_ranks_zeros(b, in[0], out);
}

static tn_i_var local_sum(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    if (tn_i_ranks_alone(b, e)) return in[0];
    tn_i_collective_begin(p, TN_COMM_ALLREDUCE, tn_i_rank_axes(tn_i_p(e)));
    p[TN_I_COLLECTIVE_OP] = (tn_i_param){.kind = TN_K_SYM, .u.i = TN_COMM_SUM};
    p[TN_I_COLLECTIVE_ORDERED] = tn_i_p(e)[1];
    return tn_i_collective(b, p, in[0]);
}

const tn_prim tn_prim_psum = {
    .id = TN_P_psum,
    .name = "psum",
    .doc = "the sum of what the ranks along axes hold, for all of them; ordered: in the order of ranks",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_NUMBERS,
    .params = sum_specs,
    .type = type_sum,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_sum,
    .transpose = transpose_sum,
    .batch = tn_i_ranks_batch,
    .local = local_sum,
    .cost = tn_i_ranks_cost_sum,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

/* ---- pvary --------------------------------------------------------------------------- */

static bool type_vary(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_alike(q)) return false;
    return tn_i_ranks_same(q, tn_i_over(q->in[0]) | tn_i_rank_axes(q->p));
}

static void transpose_vary(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_param p[2] = {r->p[0], {.kind = TN_K_NONE}};
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_psum, p, ct[0]);
}

static tn_i_var simplify_vary(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                              const tn_type *out) {
    (void)nin;
    const uint32_t over = tn_i_over(out);
    if (!tn_i_rank_axes(p)) return in[0];
    const tn_i_eqn *e = tn_i_made_by(b, in[0], TN_P_pvary);
    return e ? tn_i_vary(b, b->pool[e->in], over) : TN_NOVAR;
}

static bool view_vary(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    (void)q;
    memcpy(out->stride, in->stride, sizeof in->stride);
    *offset = 0;
    return true;
}

static tn_i_var local_vary(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    (void)b, (void)e;
    return in[0];
}

const tn_prim tn_prim_pvary = {
    .id = TN_P_pvary,
    .name = "pvary",
    .doc = "x, which all ranks along axes hold, as what each holds for itself",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_STEPS | TN_F_VIEW,
    .dtypes = TN_ANY,
    .params = tn_i_ranks_specs,
    .type = type_vary,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_vary,
    .transpose = transpose_vary,
    .batch = tn_i_ranks_batch,
    .view = view_vary,
    .local = local_vary,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 2,
    .spread = TN_SPREAD_MOVES,
};

/* ---- pick, place ---------------------------------------------------------------------- */

static const tn_i_spec root_specs[] = {TN_RANKS_AXES, TN_RANKS_ROOT, {.name = NULL}};

static bool type_pick(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_root(q, 1) || !tn_i_ranks_vary(q)) return false;
    return tn_i_ranks_same(q, tn_i_over(q->in[0]) & ~tn_i_rank_axes(q->p));
}

static bool type_place(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_root(q, 1) || !tn_i_ranks_alike(q)) return false;
    return tn_i_ranks_same(q, tn_i_over(q->in[0]) | tn_i_rank_axes(q->p));
}

static void transpose_pick(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_place, r->p, ct[0]);
}

static void transpose_place(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_pick, r->p, ct[0]);
}

/* What all ranks held before they were said to vary, or what its root placed, needs no message. */
static tn_i_var simplify_pick(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                              const tn_type *out) {
    (void)nin;
    const uint32_t axes = tn_i_rank_axes(p), over = tn_i_over(out);
    if (!axes) return in[0];
    const tn_i_eqn *vary = tn_i_made_by(b, in[0], TN_P_pvary);
    if (vary && !(axes & ~tn_i_rank_axes(tn_i_p(vary)))) return tn_i_vary(b, b->pool[vary->in], over);
    const tn_i_eqn *place = tn_i_ranks_made_by(b, in[0], TN_P_place, p);
    return place && tn_i_p(place)[1].u.i == p[1].u.i ? b->pool[place->in] : TN_NOVAR;
}

static tn_i_var simplify_place(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                               const tn_type *out) {
    (void)nin;
    return tn_i_rank_axes(p) ? tn_i_ranks_zeros(b, in[0], out) : in[0];
}

static tn_i_var local_pick(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    if (tn_i_ranks_alone(b, e)) return in[0];
    tn_i_collective_begin(p, TN_COMM_BCAST, tn_i_rank_axes(tn_i_p(e)));
    p[TN_I_COLLECTIVE_ROOT] = tn_i_p(e)[1];
    return tn_i_collective(b, p, in[0]);
}

static tn_i_var local_place(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    const tn_i_var root = tn_i_literal_i64(b, TN_I64, tn_i_p(e)[1].u.i);
    if (b->failed || tn_i_ranks_alone(b, e)) return in[0];
    const tn_i_var here = tn_i_op2(b, TN_P_eq, tn_i_rank_index(b, tn_i_rank_axes(tn_i_p(e))), root);
    const tn_i_var zeros = tn_i_zeros(b, tn_i_vtype(b, in[0]));
    return tn_i_op3(b, TN_P_select, here, in[0], zeros);
}

const tn_prim tn_prim_pick = {
    .id = TN_P_pick,
    .name = "pick",
    .doc = "what rank `root` along axes holds, for all of them",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_ANY,
    .params = root_specs,
    .type = type_pick,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_pick,
    .transpose = transpose_pick,
    .batch = tn_i_ranks_batch,
    .local = local_pick,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

const tn_prim tn_prim_place = {
    .id = TN_P_place,
    .name = "place",
    .doc = "x, which all ranks along axes hold, on rank `root`, zeros on the others",
    .nin = 1,
    .flags = TN_F_OVER,
    .dtypes = TN_ANY,
    .params = root_specs,
    .type = type_place,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_place,
    .transpose = transpose_place,
    .batch = tn_i_ranks_batch,
    .local = local_place,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

/* ---- all_gather, own --------------------------------------------------------------------- */

static const tn_i_spec size_specs[] = {TN_RANKS_AXES, TN_RANKS_SIZE, {.name = NULL}};

static bool type_all_gather(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_size(q, 1) || !tn_i_ranks_vary(q)) return false;
    return tn_i_ranks_stack(q, tn_i_over(q->in[0]) & ~tn_i_rank_axes(q->p));
}

static bool type_own(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_size(q, 1) || !tn_i_ranks_alike(q) || !tn_i_ranks_pieces(q)) return false;
    return tn_i_ranks_piece(q, tn_i_over(q->in[0]) | tn_i_rank_axes(q->p));
}

static void transpose_all_gather(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_own, r->p, ct[0]);
}

static void transpose_own(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_all_gather, r->p, ct[0]);
}

static tn_i_var simplify_all_gather(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                    const tn_type *out) {
    (void)nin;
    const tn_i_eqn *e = tn_i_ranks_made_by(b, in[0], TN_P_own, p);
    return e ? b->pool[e->in] : tn_i_ranks_zeros(b, in[0], out);
}

/* A sum of which each rank reads its own entry is the transpose of gathering for all: a reduce_scatter.  In linear
 * programs alone, as it adds in an order of its own. */
static tn_i_var simplify_own(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)nin;
    const tn_i_eqn *e = tn_i_ranks_made_by(b, in[0], TN_P_all_gather, p);
    if (e) return b->pool[e->in];
    e = tn_i_ranks_made_by(b, in[0], TN_P_psum, p);
    if (e && b->val[in[0]].linear && !tn_i_rank_bool(&tn_i_p(e)[1]))
        return tn_i_ranks_emit(b, TN_P_reduce_scatter, p, b->pool[e->in]);
    return tn_i_ranks_zeros(b, in[0], out);
}

static tn_i_var local_all_gather(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    if (tn_i_ranks_alone(b, e)) return tn_i_ranks_as_stack(b, in[0]);
    tn_i_collective_begin(p, TN_COMM_ALLGATHER, tn_i_rank_axes(tn_i_p(e)));
    return tn_i_collective(b, p, in[0]);
}

static tn_i_var local_own(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    if (b->failed || tn_i_ranks_alone(b, e)) return tn_i_ranks_as_piece(b, in[0]);
    const tn_type *t = tn_i_vtype(b, in[0]);
    int64_t sizes[TN_MAX_RANK];
    tn_i_var at[TN_MAX_RANK];
    memcpy(sizes, t->dim, sizeof sizes);
    sizes[0] = 1;
    const int rank = t->rank;
    for (int d = 0; d < rank; d++)
        at[d] = d ? tn_i_literal_i64(b, TN_I64, 0) : tn_i_rank_index(b, tn_i_rank_axes(tn_i_p(e)));
    return tn_i_ranks_as_piece(b, tn_i_dynamic_slice(b, in[0], at, sizes));
}

const tn_prim tn_prim_all_gather = {
    .id = TN_P_all_gather,
    .name = "all_gather",
    .doc = "what the ranks along axes hold, one behind the other in a new first dimension, for all of them",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_ANY,
    .params = size_specs,
    .type = type_all_gather,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_all_gather,
    .transpose = transpose_all_gather,
    .batch = tn_i_ranks_batch_pieces,
    .local = local_all_gather,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

const tn_prim tn_prim_own = {
    .id = TN_P_own,
    .name = "own",
    .doc = "of an array that all ranks along axes hold, with an entry for each of them, each rank's own",
    .nin = 1,
    .flags = TN_F_OVER,
    .dtypes = TN_ANY,
    .params = size_specs,
    .type = type_own,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_own,
    .transpose = transpose_own,
    .batch = tn_i_ranks_batch_pieces,
    .local = local_own,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

/* ---- reduce_scatter ---------------------------------------------------------------------- */

static bool type_reduce_scatter(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_size(q, 1) || !tn_i_ranks_vary(q) || !tn_i_ranks_pieces(q)) return false;
    return tn_i_ranks_piece(q, tn_i_over(q->in[0]));
}

static void transpose_reduce_scatter(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_var all = tn_i_ranks_emit(r->b, TN_P_all_gather, r->p, ct[0]);
    ct_in[0] = tn_i_vary(r->b, all, tn_i_rank_axes(r->p));
}

static tn_i_var simplify_reduce_scatter(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                        const tn_type *out) {
    (void)p, (void)nin;
    return tn_i_ranks_zeros(b, in[0], out);
}

static tn_i_var local_reduce_scatter(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    if (tn_i_ranks_alone(b, e)) return tn_i_ranks_as_piece(b, in[0]);
    tn_i_collective_begin(p, TN_COMM_REDUCE_SCATTER, tn_i_rank_axes(tn_i_p(e)));
    return tn_i_collective(b, p, in[0]);
}

const tn_prim tn_prim_reduce_scatter = {
    .id = TN_P_reduce_scatter,
    .name = "reduce_scatter",
    .doc = "of arrays with an entry for each rank along axes, the sum over the ranks; each rank its own entry",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_NUMBERS,
    .params = size_specs,
    .type = type_reduce_scatter,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_reduce_scatter,
    .transpose = transpose_reduce_scatter,
    .batch = tn_i_ranks_batch_pieces,
    .local = local_reduce_scatter,
    .cost = tn_i_ranks_cost_sum,
    .jvp_bound = 2,
    .transpose_bound = 2,
};
