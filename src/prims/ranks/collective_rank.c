/* Which rank this is, and a place that all of them come to: axis_index barrier. */
#include "prims/ranks/ranks.h"

#include "prims/ids.h"
#include "prims/strips.h"

/* ---- axis_index ---------------------------------------------------------------------- */

static bool type_index(tn_i_query *q) {
    return tn_i_ranks_given(q) && tn_i_output(q, TN_I64, 0, NULL) &&
           tn_i_axes_of(q->ctx, tn_i_rank_axes(q->p), &q->out[0].varying);
}

static tn_i_var local_index(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    (void)in;
    return tn_i_rank_index(b, tn_i_rank_axes(tn_i_p(e)));
}

const tn_prim tn_prim_axis_index = {
    .id = TN_P_axis_index,
    .name = "axis_index",
    .doc = "where each rank stands along axes, i64[]; of several the last one counts fastest",
    .nin = 0,
    .flags = TN_F_OVER | TN_F_NODIFF,
    .dtypes = 1u << TN_I64,
    .params = tn_i_ranks_specs,
    .type = type_index,
    .local = local_index,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 1,
    .transpose_bound = 1,
};

/* ---- barrier -------------------------------------------------------------------------- */

static bool type_barrier(tn_i_query *q) { return tn_i_ranks_given(q) && tn_i_outputs(q, 0); }

static bool always(const tn_i_param *p) {
    (void)p;
    return true;
}

static tn_i_var local_barrier(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    (void)in;
    if (tn_i_ranks_alone(b, e)) return 0;
    tn_i_collective_begin(p, TN_COMM_BARRIER, tn_i_rank_axes(tn_i_p(e)));
    return tn_i_emit(b, tn_i_prim(b, TN_P_collective), p, 0, NULL);
}

const tn_prim tn_prim_barrier = {
    .id = TN_P_barrier,
    .name = "barrier",
    .doc = "goes on when all ranks along axes have come there",
    .nin = 0,
    .flags = TN_F_OVER | TN_F_COMM,
    .params = tn_i_ranks_specs,
    .type = type_barrier,
    .local = local_barrier,
    .effect = always,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 1,
    .transpose_bound = 1,
};
