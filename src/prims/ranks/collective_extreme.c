/* What ranks find together and is not linear: pmax pmin pprod. */
#include "prims/ranks/ranks.h"

#include "prims/ids.h"
#include "prims/folds/recur.h"
#include "prims/rules.h"
#include "prims/strips.h"

static bool type_found(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_vary(q)) return false;
    return tn_i_ranks_same(q, tn_i_over(q->in[0]) & ~tn_i_rank_axes(q->p));
}

static tn_i_var sum_over_ranks(tn_i_rule *r, tn_i_var x) {
    const tn_i_param p[2] = {r->p[0], {.kind = TN_K_NONE}};
    return tn_i_ranks_emit(r->b, TN_P_psum, p, x);
}

/* The mean of the tangents of those ranks that hold the extreme value, element by element. */
static void jvp_extreme(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_var found = tn_i_vary(b, r->out[0], tn_i_rank_axes(r->p));
    const tn_i_var here = tn_i_op2(b, TN_P_eq, r->in[0], found), zero = tn_i_zeros(b, r->in_type[0]);
    const tn_i_var count = sum_over_ranks(r, tn_i_convert(b, here, r->in_type[0]->dtype));
    const tn_i_var taken = sum_over_ranks(r, tn_i_op3(b, TN_P_select, here, din[0], zero));
    dout[0] = tn_i_op2(b, TN_P_div, taken, count);
}

/* Each rank's tangent times the other ranks' product, which is the product before it times the product after: exact
 * at zeros.  All ranks compute the products of all, so that one message of tangents is enough. */
static void jvp_product(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_type *t = r->in_type[0];
    const int64_t n = tn_i_count(t);
    const tn_i_param p[2] = {r->p[0], {.kind = TN_K_NONE}};
    const tn_i_var all = tn_i_ranks_emit(b, TN_P_all_gather, p, tn_i_reshape(b, r->in[0], 1, &n));
    const tn_i_var before = tn_i_cumulate(b, TN_P_cumprod, tn_i_shift(b, all, 0, 1, 1.0), 0, false);
    const tn_i_var after = tn_i_cumulate(b, TN_P_cumprod, tn_i_shift(b, all, 0, -1, 1.0), 0, true);
    const tn_i_var others = tn_i_ranks_emit(b, TN_P_own, p, tn_i_op2(b, TN_P_mul, before, after));
    dout[0] = sum_over_ranks(r, tn_i_mul_by(r, din[0], tn_i_reshape(b, others, t->rank, t->dim)));
}

static tn_i_var simplify_found(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                               const tn_type *out) {
    (void)b, (void)nin, (void)out;
    return tn_i_rank_axes(p) ? TN_NOVAR : in[0];
}

static tn_i_var reduce(tn_i_builder *b, int op, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    if (tn_i_ranks_alone(b, e)) return in[0];
    tn_i_collective_begin(p, TN_COMM_ALLREDUCE, tn_i_rank_axes(tn_i_p(e)));
    p[TN_I_COLLECTIVE_OP] = (tn_i_param){.kind = TN_K_SYM, .u.i = op};
    return tn_i_collective(b, p, in[0]);
}

static tn_i_var local_max(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    return reduce(b, TN_COMM_MAX, e, in);
}
static tn_i_var local_min(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    return reduce(b, TN_COMM_MIN, e, in);
}
static tn_i_var local_prod(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    return reduce(b, TN_COMM_PROD, e, in);
}

const tn_prim tn_prim_pmax = {
    .id = TN_P_pmax,
    .name = "pmax",
    .doc = "the largest of what the ranks along axes hold, for all of them; NaN wins; derivative: ties share equally",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = tn_i_ranks_specs,
    .type = type_found,
    .simplify = simplify_found,
    .jvp = jvp_extreme,
    .batch = tn_i_ranks_batch,
    .local = local_max,
    .cost = tn_i_ranks_cost_sum,
    .jvp_bound = 16,
};

const tn_prim tn_prim_pmin = {
    .id = TN_P_pmin,
    .name = "pmin",
    .doc = "the smallest of what the ranks along axes hold, for all of them; NaN wins; derivative: ties share equally",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = tn_i_ranks_specs,
    .type = type_found,
    .simplify = simplify_found,
    .jvp = jvp_extreme,
    .batch = tn_i_ranks_batch,
    .local = local_min,
    .cost = tn_i_ranks_cost_sum,
    .jvp_bound = 16,
};

const tn_prim tn_prim_pprod = {
    .id = TN_P_pprod,
    .name = "pprod",
    .doc = "the product of what the ranks along axes hold, for all of them; the derivative is exact at zeros",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_NUMBERS,
    .params = tn_i_ranks_specs,
    .type = type_found,
    .simplify = simplify_found,
    .jvp = jvp_product,
    .batch = tn_i_ranks_batch,
    .local = local_prod,
    .cost = tn_i_ranks_cost_sum,
    .jvp_bound = 24,
};
