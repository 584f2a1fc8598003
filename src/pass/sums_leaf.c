/* Leaves whose lanes are a vector, and the counter that they enter. */
#include "base/machine.h"
#include "pass/sums.h"

#include <string.h>

/* ---- one leaf ---- */

/* Element `at` on is folded into the lanes, where the mask is true: into what each has so far, or the best of it. */
static void fold_all(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, tn_i_summing_body *body,
                     uint32_t mask, tn_i_best *l) {
    tn_i_l_builder *b = z->c.b;
    uint32_t x[TN_SUMMING_TOGETHER];
    body(z, r, n, at, mask, x);
    for (uint32_t i = 0; i < n; i++) {
        const bool arg = tn_i_summing_arg(r[i]);
        tn_i_best next = {arg ? x[i] : tn_i_summing_fold(z, r[i], l[i].x, x[i]), TN_L_NONE};
        if (arg) next.at = tn_i_l_index(b, tn_i_summing_where(r[i]->n, r[i]->dtype), at);
        if (arg) next = tn_i_summing_best(b, r[i]->fold, r[i]->dtype, l[i], next);
        if (mask != TN_L_NONE) next.x = tn_i_l_map(b, TN_L_select, mask, next.x, l[i].x);
        if (mask != TN_L_NONE && arg) next.at = tn_i_l_map(b, TN_L_select, mask, next.at, l[i].at);
        l[i] = next;
    }
}

/* `rounds` elements of each of the lanes, as far apart as there are lanes. */
static void rounds_of(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, int64_t lanes,
                      int64_t rounds, tn_i_summing_body *body, tn_i_best *l) {
    tn_i_l_builder *b = z->c.b;
    tn_i_best carry[TN_SUMMING_TOGETHER];
    if (rounds == 1) {
        fold_all(z, r, n, at, body, TN_L_NONE, l);
        return;
    }
    const uint32_t loop = tn_i_l_for_n(b, rounds);
    for (uint32_t i = 0; i < n; i++) {
        carry[i].x = tn_i_l_carry(b, l[i].x);
        if (tn_i_summing_arg(r[i])) carry[i].at = tn_i_l_carry(b, l[i].at);
    }
    memcpy(l, carry, n * sizeof *l);
    fold_all(z, r, n, tn_i_affine_term(b, at, loop, lanes), body, TN_L_NONE, l);
    for (uint32_t i = 0; i < n; i++) {
        tn_i_l_next(b, carry[i].x, l[i].x);
        if (tn_i_summing_arg(r[i])) tn_i_l_next(b, carry[i].at, l[i].at);
    }
    tn_i_l_close(b);
    for (uint32_t i = 0; i < n; i++) {
        l[i].x = tn_i_l_last(b, carry[i].x);
        if (tn_i_summing_arg(r[i])) l[i].at = tn_i_l_last(b, carry[i].at);
    }
}

/* The best goes from leaf to leaf in memory, but that of a short row. */
static void begin_lanes(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, tn_i_best *l) {
    for (uint32_t i = 0; i < n; i++) {
        if (!tn_i_summing_arg(r[i])) continue;
        if (tn_i_summing_alone(r[i])) {
            l[i].x = tn_i_summing_identity(z, r[i]);
            l[i].at = tn_i_l_number(z->c.b, tn_i_summing_where(r[i]->n, r[i]->dtype), 0);
            continue;
        }
        l[i].x = tn_i_l_load_at(z->c.b, r[i]->lane, at);
        l[i].at = tn_i_l_load_at(z->c.b, r[i]->stack, at);
    }
}

static void end_lanes(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, const tn_i_best *l) {
    for (uint32_t i = 0; i < n; i++) {
        if (!tn_i_summing_arg(r[i])) continue;
        if (tn_i_summing_alone(r[i])) {
            r[i]->total = l[i].at;
            continue;
        }
        tn_i_l_store_at(z->c.b, r[i]->lane, at, l[i].x);
        tn_i_l_store_at(z->c.b, r[i]->stack, at, l[i].at);
    }
}

void tn_i_summing_leaf(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, int64_t count,
                       tn_i_summing_body *body, uint32_t *x) {
    tn_i_l_builder *b = z->c.b;
    tn_i_best l[TN_SUMMING_TOGETHER];
    int64_t lanes = 1;
    while (lanes < count && lanes < TN_LANES && r[0]->lanes > 1) lanes *= 2;
    const int64_t rounds = count / lanes, rest = count % lanes;
    const bool loops = lanes > 1;
    uint32_t loop = TN_L_NONE;
    for (uint32_t i = 0; i < n; i++) l[i].x = tn_i_summing_arg(r[i]) ? TN_L_NONE : tn_i_summing_identity(z, r[i]);
    tn_i_affine first = tn_i_affine_number(0);
    if (loops) {
        loop = tn_i_l_for_n(b, lanes);
        tn_i_l_set_vector(b, loop, (int)lanes);
        first = tn_i_affine_loop(loop, 1, 0);
        at = tn_i_affine_term(b, at, loop, 1);
    }
    begin_lanes(z, r, n, first, l);
    if (rounds) rounds_of(z, r, n, at, lanes, rounds, body, l);
    if (rest) {
        const uint32_t mask = tn_i_l_within(b, INT64_MIN, first, rest);
        fold_all(z, r, n, tn_i_affine_add(b, at, 1, tn_i_affine_number(rounds * lanes)), body, mask, l);
    }
    end_lanes(z, r, n, first, l);
    if (loops) tn_i_l_close(b);
    for (uint32_t i = 0; i < n; i++)
        x[i] = tn_i_summing_arg(r[i]) ? TN_L_NONE : loops ? tn_i_l_halves(b, r[i]->fold, l[i].x) : l[i].x;
}

/* ---- the counter ---- */

void tn_i_summing_enter(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine at, uint32_t next, uint32_t x) {
    tn_i_l_builder *b = z->c.b;
    const int64_t levels = tn_i_summing_levels(r->before + 1);
    const uint32_t level = tn_i_l_map(b, TN_L_ctz, next, TN_L_NONE, TN_L_NONE);
    const uint32_t loop = tn_i_l_for_up_to(b, levels - 1, tn_i_affine_number(0), level);
    const uint32_t carry = tn_i_l_carry(b, x);
    const uint32_t entry = tn_i_l_load_at(b, r->stack, tn_i_affine_term(b, at, loop, r->count));
    tn_i_l_next(b, carry, tn_i_summing_fold(z, r, entry, carry));
    tn_i_l_close(b);
    x = tn_i_l_last(b, carry);
    tn_i_l_store(b,
                 &(tn_i_l_where){
                     .array = r->stack, .e = at, .indexed = true, .index = level, .by = r->count, .last = levels - 1},
                 x);
}

uint32_t tn_i_summing_join(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine at, int64_t leaves, uint32_t x) {
    for (int64_t level = 0; leaves >> level; level++) {
        if (!(leaves >> level & 1)) continue;
        const tn_i_affine e = tn_i_affine_add(z->c.b, at, r->count, tn_i_affine_number(level));
        const uint32_t entry = tn_i_l_load_at(z->c.b, r->stack, e);
        x = x == TN_L_NONE ? entry : tn_i_summing_fold(z, r, entry, x);
    }
    return x;
}

/* ---- rows ---- */

/* The operation's memory access, where the mask is true too. */
static void copy_masked(tn_i_summing *z, uint32_t k, uint32_t mask) {
    const tn_i_l_op *o = &z->p->op[k];
    tn_i_l_builder *b = z->c.b;
    uint32_t *value = z->c.value;
    tn_i_l_where at = {.array = o->which, .e = tn_i_l_copy_affine(&z->c, &o->at), .masked = true, .mask = mask};
    at.indexed = o->in[0] != TN_L_NONE;
    if (at.indexed) at.index = value[o->in[0]], at.by = o->lo, at.last = o->hi;
    if (o->in[1] != TN_L_NONE) at.mask = tn_i_l_map(b, TN_L_and, value[o->in[1]], mask, TN_L_NONE);
    if (o->kind == TN_L_STORE) {
        tn_i_l_store_like(b, o, &at, value[o->in[2]]);
        return;
    }
    at.otherwise = o->in[1] != TN_L_NONE ? value[o->in[2]] : tn_i_l_number(b, o->dtype, 0);
    value[k] = tn_i_l_load(b, &at);
}

/* The body of the loop that r[0] is of. */
static void row_body(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, uint32_t mask,
                     uint32_t *x) {
    const uint32_t loop = r[0]->loop[0];
    tn_i_l_copy_loop(&z->c, loop, at);
    for (uint32_t k = loop + 1; k < z->p->op[loop].to && !z->c.b->failed; k++) {
        const tn_i_l_op *o = &z->p->op[k];
        if (o->kind == TN_L_INTO) {
            const tn_i_reduction *into = &z->of[z->which[k] - 1];
            for (uint32_t i = 0; i < n; i++)
                if (r[i] == into) x[i] = z->c.value[o->in[1]];
            if (into->split) tn_i_summing_into_split(z, into, mask);
        } else if (mask != TN_L_NONE && (o->kind == TN_L_LOAD || o->kind == TN_L_STORE))
            copy_masked(z, k, mask);
        else
            tn_i_l_copy_op(&z->c, k);
    }
}

static void leaves_before(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n) {
    tn_i_l_builder *b = z->c.b;
    uint32_t x[TN_SUMMING_TOGETHER];
    const uint32_t loop = tn_i_l_for_n(b, r[0]->before);
    tn_i_summing_leaf(z, r, n, tn_i_affine_loop(loop, TN_LEAF, 0), TN_LEAF, row_body, x);
    const uint32_t next = tn_i_l_index(b, TN_I64, tn_i_affine_loop(loop, 1, 1));
    for (uint32_t i = 0; i < n; i++)
        if (!tn_i_summing_arg(r[i])) tn_i_summing_enter(z, r[i], tn_i_affine_number(0), next, x[i]);
    tn_i_l_close(b);
}

void tn_i_summing_row(tn_i_summing *z, uint32_t k) {
    tn_i_reduction *r[TN_SUMMING_TOGETHER];
    uint32_t n = 0, first[TN_M_LEAVES_WRITTEN_OUT][TN_SUMMING_TOGETHER], x[TN_SUMMING_TOGETHER];
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].kind == TN_SUMMING_ROW && z->of[i].loop[0] == k) r[n++] = &z->of[i];
    const int64_t before = r[0]->before;
    if (before > TN_M_LEAVES_WRITTEN_OUT)
        leaves_before(z, r, n);
    else
        for (int64_t i = 0; i < before; i++)
            tn_i_summing_leaf(z, r, n, tn_i_affine_number(i * TN_LEAF), TN_LEAF, row_body, first[i]);
    tn_i_summing_leaf(z, r, n, tn_i_affine_number(before * TN_LEAF), r[0]->n - before * TN_LEAF, row_body, x);
    for (uint32_t i = 0; i < n; i++) {
        if (tn_i_summing_arg(r[i])) continue;
        uint32_t v = before == 2 ? tn_i_summing_fold(z, r[i], first[0][i], first[1][i]) : before == 1 ? first[0][i] : 0;
        if (before > TN_M_LEAVES_WRITTEN_OUT)
            r[i]->total = tn_i_summing_join(z, r[i], tn_i_affine_number(0), before, x[i]);
        else
            r[i]->total = before ? tn_i_summing_fold(z, r[i], v, x[i]) : x[i];
    }
}
