/* What ranks give each other: gather_to scatter_from all_to_all shift ppermute pscan.  All take what varies and give
 * what varies. */
#include "prims/ranks/ranks.h"

#include "prims/ids.h"
#include "prims/strips.h"

#include <stdlib.h>
#include <string.h>

/* One of these over axes with one rank is local; over several it is `collective` of the kind. */
static tn_i_var exchange(tn_i_builder *b, int kind, const tn_i_eqn *e, tn_i_var x) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    tn_i_collective_begin(p, kind, tn_i_rank_axes(tn_i_p(e)));
    return tn_i_collective(b, p, x);
}

static tn_i_var simplify_zeros(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                               const tn_type *out) {
    (void)p, (void)nin;
    return tn_i_ranks_zeros(b, in[0], out);
}

/* ---- gather_to, scatter_from ----------------------------------------------------------- */

static const tn_i_spec root_specs[] = {TN_RANKS_AXES, TN_RANKS_ROOT, TN_RANKS_SIZE, {.name = NULL}};

static bool rooted(tn_i_query *q) {
    return tn_i_ranks_given(q) && tn_i_ranks_root(q, 1) && tn_i_ranks_size(q, 2) && tn_i_ranks_vary(q);
}

static bool type_gather(tn_i_query *q) { return rooted(q) && tn_i_ranks_stack(q, tn_i_over(q->in[0])); }

static bool type_scatter(tn_i_query *q) {
    return rooted(q) && tn_i_ranks_pieces(q) && tn_i_ranks_piece(q, tn_i_over(q->in[0]));
}

static void transpose_gather(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_scatter_from, r->p, ct[0]);
}

static void transpose_scatter(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_gather_to, r->p, ct[0]);
}

/* What was gathered comes back. */
static tn_i_var simplify_scatter(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                 const tn_type *out) {
    (void)nin;
    const tn_i_eqn *e = tn_i_ranks_made_by(b, in[0], TN_P_gather_to, p);
    return e && tn_i_p(e)[1].u.i == p[1].u.i ? b->pool[e->in] : tn_i_ranks_zeros(b, in[0], out);
}

static tn_i_var exchange_rooted(tn_i_builder *b, int kind, const tn_i_eqn *e, tn_i_var x) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    tn_i_collective_begin(p, kind, tn_i_rank_axes(tn_i_p(e)));
    p[TN_I_COLLECTIVE_ROOT] = tn_i_p(e)[1];
    return tn_i_collective(b, p, x);
}

static tn_i_var local_gather(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    return tn_i_ranks_alone(b, e) ? tn_i_ranks_as_stack(b, in[0]) : exchange_rooted(b, TN_COMM_GATHER, e, in[0]);
}

static tn_i_var local_scatter(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    return tn_i_ranks_alone(b, e) ? tn_i_ranks_as_piece(b, in[0]) : exchange_rooted(b, TN_COMM_SCATTER, e, in[0]);
}

const tn_prim tn_prim_gather_to = {
    .id = TN_P_gather_to,
    .name = "gather_to",
    .doc =
        "what the ranks along axes hold, one behind the other in a new first dimension, on rank `root`; zeros on the "
        "others",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_ANY,
    .params = root_specs,
    .type = type_gather,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_zeros,
    .transpose = transpose_gather,
    .batch = tn_i_ranks_batch_pieces,
    .local = local_gather,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

const tn_prim tn_prim_scatter_from = {
    .id = TN_P_scatter_from,
    .name = "scatter_from",
    .doc = "of the array of rank `root` along axes, with an entry for each of them, each rank its own",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_ANY,
    .params = root_specs,
    .type = type_scatter,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_scatter,
    .transpose = transpose_scatter,
    .batch = tn_i_ranks_batch_pieces,
    .local = local_scatter,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

/* ---- all_to_all -------------------------------------------------------------------------- */

static const tn_i_spec size_specs[] = {TN_RANKS_AXES, TN_RANKS_SIZE, {.name = NULL}};

static bool type_all_to_all(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_size(q, 1) || !tn_i_ranks_vary(q) || !tn_i_ranks_pieces(q)) return false;
    return tn_i_ranks_same(q, tn_i_over(q->in[0]));
}

static void transpose_all_to_all(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_all_to_all, r->p, ct[0]);
}

static tn_i_var simplify_all_to_all(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                    const tn_type *out) {
    (void)nin;
    const tn_i_eqn *e = tn_i_ranks_made_by(b, in[0], TN_P_all_to_all, p);
    return e ? b->pool[e->in] : tn_i_ranks_zeros(b, in[0], out);
}

static tn_i_var local_all_to_all(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    return tn_i_ranks_alone(b, e) ? in[0] : exchange(b, TN_COMM_ALLTOALL, e, in[0]);
}

const tn_prim tn_prim_all_to_all = {
    .id = TN_P_all_to_all,
    .name = "all_to_all",
    .doc = "of arrays with an entry for each rank along axes: entry s on rank k is entry k of rank s",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_ANY,
    .params = size_specs,
    .type = type_all_to_all,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_all_to_all,
    .transpose = transpose_all_to_all,
    .batch = tn_i_ranks_batch_pieces,
    .local = local_all_to_all,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

/* ---- shift ------------------------------------------------------------------------------ */

enum { SHIFT_BY = 1, SHIFT_WRAP };
static const tn_i_spec shift_specs[] = {TN_RANKS_AXES,
                                        {.name = "by", .kind = TN_K_INT},
                                        {.name = "wrap", .kind = TN_K_BOOL, .otherwise = "False"},
                                        {.name = NULL}};

static bool type_shift(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_line(q) || !tn_i_ranks_vary(q)) return false;
    const int64_t by = q->p[SHIFT_BY].u.i;
    if (by > INT32_MAX || by < -INT32_MAX)
        return tn_i_type_fail(q, -1, "by=%lld is further than there may be ranks", (long long)by);
    return tn_i_ranks_same(q, tn_i_over(q->in[0]));
}

static void transpose_shift(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_param p[3] = {
        r->p[0], {.kind = TN_K_INT, .u.i = -r->p[SHIFT_BY].u.i}, {r->p[SHIFT_WRAP].kind, 0, {r->p[SHIFT_WRAP].u.i}}};
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_shift, p, ct[0]);
}

/* Where every rank reads itself, or none of them any. */
static tn_i_var shift_alone(tn_i_builder *b, const tn_i_param *p, tn_i_var x) {
    const int64_t ranks = tn_i_ranks(b->ctx, tn_i_rank_axes(p)), by = p[SHIFT_BY].u.i;
    const bool wrap = tn_i_rank_bool(&p[SHIFT_WRAP]);
    if (by == 0 || (wrap && by % ranks == 0)) return x;
    return !wrap && (by >= ranks || by <= -ranks) ? tn_i_zeros(b, tn_i_vtype(b, x)) : TN_NOVAR;
}

static tn_i_var simplify_shift(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                               const tn_type *out) {
    (void)nin;
    if (p[SHIFT_BY].u.i == 0) return in[0];
    return tn_i_ranks_zeros(b, in[0], out);
}

static tn_i_var local_shift(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    if (b->failed) return TN_NOVAR;
    const tn_i_var alone = shift_alone(b, tn_i_p(e), in[0]);
    if (alone != TN_NOVAR || b->failed) return alone;
    tn_i_collective_begin(p, TN_COMM_SHIFT, tn_i_rank_axes(tn_i_p(e)));
    p[TN_I_COLLECTIVE_BY] = tn_i_p(e)[SHIFT_BY];
    p[TN_I_COLLECTIVE_WRAP] = tn_i_p(e)[SHIFT_WRAP];
    return tn_i_collective(b, p, in[0]);
}

const tn_prim tn_prim_shift = {
    .id = TN_P_shift,
    .name = "shift",
    .doc = "what rank k - by along an axis holds, on rank k; zeros where there is none, unless wrap",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_ANY,
    .params = shift_specs,
    .type = type_shift,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_shift,
    .transpose = transpose_shift,
    .batch = tn_i_ranks_batch,
    .local = local_shift,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

/* ---- ppermute ----------------------------------------------------------------------------- */

static const tn_i_spec permute_specs[] = {
    TN_RANKS_AXES, {.name = "pairs", .kind = TN_K_INTS, .lists = 2}, {.name = NULL}};

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* No rank stands twice among the sources (first 0) or the targets (first 1). */
static bool distinct(tn_i_query *q, uint32_t first) {
    const tn_i_param *p = &q->p[1];
    const uint32_t n = p->n / 2;
    int64_t *v = tn_i_alloc_array(q->ctx, n, sizeof *v), twice = -1;
    if (!v) return false;
    for (uint32_t i = 0; i < n; i++) v[i] = p->u.ints[2 * i + first];
    if (n) qsort(v, n, sizeof *v, ascending);
    for (uint32_t i = 1; i < n; i++)
        if (v[i] == v[i - 1]) twice = v[i];
    tn_i_free(q->ctx, v, n * sizeof *v);
    return twice < 0 ||
           tn_i_type_fail(q, -1, "pairs: rank %lld is a %s twice", (long long)twice, first ? "target" : "source");
}

static bool type_permute(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_line(q) || !tn_i_ranks_vary(q)) return false;
    const tn_i_param *p = &q->p[1];
    const int64_t ranks = tn_i_ranks(q->ctx, tn_i_rank_axes(q->p));
    if (p->n % 2) return tn_i_type_fail(q, -1, "pairs: %u numbers are no pairs", (unsigned)p->n);
    for (uint32_t i = 0; i < p->n; i++)
        if (p->u.ints[i] < 0 || p->u.ints[i] >= ranks)
            return tn_i_type_fail(q, -1, "pairs: there is no rank %lld, axis %s of the grid has %lld",
                                  (long long)p->u.ints[i], tn_i_axes_text(q->ctx, tn_i_rank_axes(q->p)),
                                  (long long)ranks);
    return distinct(q, 0) && distinct(q, 1) && tn_i_ranks_same(q, tn_i_over(q->in[0]));
}

static void transpose_permute(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_param *q = &r->p[1];
    int64_t *v = tn_i_alloc_array(r->b->ctx, q->n, sizeof *v);
    if (!v) {
        r->b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < q->n; i++) v[i] = q->u.ints[i ^ 1];
    const tn_i_param p[2] = {r->p[0], {.kind = TN_K_INTS, .n = q->n, .u.ints = v}};
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_ppermute, p, ct[0]);
    tn_i_free(r->b->ctx, v, q->n * sizeof *v);
}

static tn_i_var local_permute(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    if (b->failed) return TN_NOVAR;
    if (tn_i_p(e)[1].n == 0) return tn_i_zeros(b, tn_i_vtype(b, in[0]));
    if (tn_i_ranks_alone(b, e)) return in[0];
    tn_i_collective_begin(p, TN_COMM_PERMUTE, tn_i_rank_axes(tn_i_p(e)));
    p[TN_I_COLLECTIVE_PAIRS] = tn_i_p(e)[1];
    return tn_i_collective(b, p, in[0]);
}

const tn_prim tn_prim_ppermute = {
    .id = TN_P_ppermute,
    .name = "ppermute",
    .doc = "what the source of each target in pairs (source, target) of ranks along an axis holds; zeros without one",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_ANY,
    .params = permute_specs,
    .type = type_permute,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_zeros,
    .transpose = transpose_permute,
    .batch = tn_i_ranks_batch,
    .local = local_permute,
    .cost = tn_i_ranks_cost,
    .jvp_bound = 2,
    .transpose_bound = 1,
};

/* ---- pscan --------------------------------------------------------------------------------- */

enum { SCAN_EXCLUSIVE = 1, SCAN_REVERSE };
static const tn_i_spec scan_specs[] = {TN_RANKS_AXES,
                                       {.name = "exclusive", .kind = TN_K_BOOL, .otherwise = "False"},
                                       {.name = "reverse", .kind = TN_K_BOOL, .otherwise = "False"},
                                       {.name = NULL}};

static bool type_scan(tn_i_query *q) {
    if (!tn_i_ranks_given(q) || !tn_i_ranks_line(q) || !tn_i_ranks_vary(q)) return false;
    return tn_i_ranks_same(q, tn_i_over(q->in[0]));
}

static void transpose_scan(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_param p[3] = {r->p[0], r->p[SCAN_EXCLUSIVE], {.kind = TN_K_NONE}};
    if (!tn_i_rank_bool(&r->p[SCAN_REVERSE])) p[SCAN_REVERSE] = (tn_i_param){.kind = TN_K_BOOL, .u.i = 1};
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_pscan, p, ct[0]);
}

static tn_i_var local_scan(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in) {
    tn_i_param p[TN_I_COLLECTIVE_PARAMS];
    if (b->failed) return TN_NOVAR;
    if (tn_i_ranks_alone(b, e))
        return tn_i_rank_bool(&tn_i_p(e)[SCAN_EXCLUSIVE]) ? tn_i_zeros(b, tn_i_vtype(b, in[0])) : in[0];
    tn_i_collective_begin(p, TN_COMM_SCAN, tn_i_rank_axes(tn_i_p(e)));
    p[TN_I_COLLECTIVE_EXCLUSIVE] = tn_i_p(e)[SCAN_EXCLUSIVE];
    p[TN_I_COLLECTIVE_REVERSE] = tn_i_p(e)[SCAN_REVERSE];
    return tn_i_collective(b, p, in[0]);
}

const tn_prim tn_prim_pscan = {
    .id = TN_P_pscan,
    .name = "pscan",
    .doc =
        "the sum over the ranks along an axis up to each; exclusive: before it, zeros on the first; reverse: from the "
        "last rank down",
    .nin = 1,
    .flags = TN_F_OVER | TN_F_COMM,
    .dtypes = TN_NUMBERS,
    .params = scan_specs,
    .type = type_scan,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_zeros,
    .transpose = transpose_scan,
    .batch = tn_i_ranks_batch,
    .local = local_scan,
    .cost = tn_i_ranks_cost_sum,
    .jvp_bound = 2,
    .transpose_bound = 1,
};
