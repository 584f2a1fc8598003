/* Loops in each other that walk all addresses as one loop would are one loop. */
#include "pass/inside.h"

/* Loop k, of a known count, with nothing that says how it is to run. */
static bool plain(const tn_i_loops *p, uint32_t k, int64_t *n) {
    const tn_i_l_op *o = &p->op[k];
    const uint8_t behind = o->to + 1 < p->nop ? p->op[o->to + 1].kind : TN_L_END;
    return o->kind == TN_L_FOR && !o->vector && !o->parallel && !o->unroll && tn_i_l_known_count(p, k, n) && *n > 0 &&
           p->op[k + 1].kind != TN_L_CARRY && behind != TN_L_LAST && behind != TN_L_HALVES;
}

/* What is in loop `inner` counts it and `outer` as one loop would. */
static bool walks_on(const tn_i_loops *p, uint32_t outer, uint32_t inner, int64_t n) {
    for (uint32_t k = inner + 1; k < p->op[inner].to; k++) {
        const tn_i_l_op *o = &p->op[k];
        int64_t by;
        if (o->kind == TN_L_WHILE || o->kind == TN_L_CALL) return false;
        if (!tn_i_mul_i64(tn_i_l_by(p, &o->at, inner), n, &by) || by != tn_i_l_by(p, &o->at, outer)) return false;
    }
    return true;
}

/* The loop that is all there is in k, and that can be one with it; TN_L_NONE: there is none. */
static uint32_t joined(const tn_i_loops *p, uint32_t k, int64_t *n, int64_t *m) {
    const uint32_t inner = k + 1;
    if (!plain(p, k, n) || !plain(p, inner, m) || p->op[inner].to + 1 != p->op[k].to) return TN_L_NONE;
    return walks_on(p, k, inner, *m) ? inner : TN_L_NONE;
}

/* Copies loop k, which `inner` may be one with, and returns what is behind it. */
static uint32_t copy_loops(tn_i_l_copy *c, uint32_t k);

static void copy_range(tn_i_l_copy *c, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last && !c->b->failed;) {
        if (c->p->op[k].kind == TN_L_FOR)
            k = copy_loops(c, k);
        else
            tn_i_l_copy_op(c, k++);
    }
}

static uint32_t copy_loops(tn_i_l_copy *c, uint32_t k) {
    const uint32_t behind = c->p->op[k].to + 1;
    int64_t n, m, all = 1;
    uint32_t loop = k, inner;
    while ((inner = joined(c->p, loop, &n, &m)) != TN_L_NONE && tn_i_mul_i64(all, n, &n) && tn_i_mul_i64(n, m, &m)) {
        tn_i_l_copy_loop(c, loop, tn_i_affine_number(0)); /* what it counts is counted by the inner one */
        all = n;
        loop = inner;
    }
    if (loop == k)
        tn_i_l_copy_op(c, k);
    else {
        (void)tn_i_l_known_count(c->p, loop, &m);
        c->value[loop] = tn_i_l_for_n(c->b, all * m);
    }
    copy_range(c, loop + 1, c->p->op[loop].to);
    tn_i_l_close(c->b);
    return behind;
}

tn_i_loops *tn_i_pass_collapse(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    tn_i_l_copy c;
    (void)m;
    tn_i_l_begin(&b, p->ctx);
    if (tn_i_l_copy_begin(&c, &b, p)) copy_range(&c, 0, p->nop);
    tn_i_l_copy_end(&c);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
