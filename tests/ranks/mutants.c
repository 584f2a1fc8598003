/* Rules that are wrong and pass for right: programs that are made with them have types that hold, and derivatives that
 * do not.  The law must notice each. */
#include "ranks_i.h"

#include "prims/ids.h"
#include "prims/ranks/ranks.h"

#include <string.h>

static const tn_prim *broken; /* the primitive in its own words */

/* The rule of its parameters, of which k is x. */
static void with(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in, int k, tn_i_kind kind, int64_t x) {
    tn_i_param p[TN_MAX_PARAMS];
    tn_i_rule other = *r;
    memcpy(p, r->p, r->e->params->n * sizeof *p);
    p[k] = (tn_i_param){.kind = kind, .u.i = x};
    other.p = p;
    broken->transpose(&other, ct, ct_in);
}

static void doubled(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    broken->transpose(r, ct, ct_in);
    ct_in[0] = tn_i_op2(r->b, TN_P_add, ct_in[0], ct_in[0]);
}

static void next_root(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const int64_t ranks = tn_i_ranks(r->b->ctx, tn_i_rank_axes(r->p));
    with(r, ct, ct_in, 1, TN_K_INT, (r->p[1].u.i + 1) % ranks);
}

static void same_way(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    with(r, ct, ct_in, 1, TN_K_INT, -r->p[1].u.i);
}

static void pairs_as_they_are(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_ppermute, r->p, ct[0]);
}

static void not_turned(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_pscan, r->p, ct[0]);
}

static void other_end(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    with(r, ct, ct_in, 1, TN_K_BOOL, !tn_i_rank_bool(&r->p[1]));
}

/* "The transpose of an allreduce is an allreduce." */
static void allreduce(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const uint32_t axes = tn_i_rank_axes(r->p);
    const tn_i_param p[2] = {r->p[0], {.kind = TN_K_NONE}};
    ct_in[0] = tn_i_vary(r->b, tn_i_ranks_emit(r->b, TN_P_psum, p, tn_i_vary(r->b, ct[0], axes)), axes);
}

/* "It is the identity": each rank keeps its own part; here the first one's is everybody's. */
static void own_part(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_param p[2] = {r->p[0], {.kind = TN_K_INT, .u.i = 0}};
    ct_in[0] = tn_i_ranks_emit(r->b, TN_P_pick, p, ct[0]);
}

/* Entries in another order. */
static void turned(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    static const int64_t first = 0;
    const tn_i_param p = {.kind = TN_K_INTS, .n = 1, .u.ints = &first};
    const tn_i_var other = tn_i_emit(r->b, tn_i_prim(r->b, TN_P_rev), &p, 1, ct);
    broken->transpose(r, &other, ct_in);
}

static const struct wrong {
    int prim;
    const char *what;
    void (*transpose)(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in);
} list[] = {
    {TN_P_psum, "psum: an allreduce", allreduce},
    {TN_P_psum, "psum: twice", doubled},
    {TN_P_pvary, "pvary: the first rank's part", own_part},
    {TN_P_pvary, "pvary: twice", doubled},
    {TN_P_pick, "pick: placed on the next rank", next_root},
    {TN_P_place, "place: picked from the next rank", next_root},
    {TN_P_all_gather, "all_gather: entries turned round", turned},
    {TN_P_all_gather, "all_gather: twice", doubled},
    {TN_P_own, "own: twice", doubled},
    {TN_P_reduce_scatter, "reduce_scatter: twice", doubled},
    {TN_P_gather_to, "gather_to: from the next rank", next_root},
    {TN_P_gather_to, "gather_to: entries turned round", turned},
    {TN_P_scatter_from, "scatter_from: to the next rank", next_root},
    {TN_P_all_to_all, "all_to_all: entries turned round", turned},
    {TN_P_shift, "shift: the same way", same_way},
    {TN_P_ppermute, "ppermute: the same way", pairs_as_they_are},
    {TN_P_pscan, "pscan: the same way", not_turned},
    {TN_P_pscan, "pscan: exclusive where it is not", other_end},
};

size_t ranks_mutants(void) { return sizeof list / sizeof *list; }

const char *ranks_mutant(size_t i, const tn_prim *registry[TN_NPRIMS]) {
    static tn_prim wrong;
    memcpy(registry, tn_i_registry, sizeof(tn_prim *) * TN_NPRIMS);
    broken = registry[list[i].prim];
    wrong = *broken;
    wrong.transpose = list[i].transpose;
    registry[list[i].prim] = &wrong;
    return list[i].what;
}
