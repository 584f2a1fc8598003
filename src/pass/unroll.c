/* Short loops inside a loop whose iterations follow one another are written out: what they keep in memory from one
 * iteration to the next then has addresses that are numbers, and can be in registers (promote.c). */
#include "base/machine.h"
#include "pass/inside.h"

static bool is_short(const tn_i_loops *p, uint32_t k, int64_t *n);

/* Straight operations, and loops that are short. */
static bool is_plain(const tn_i_loops *p, uint32_t first, uint32_t last) {
    int64_t n;
    for (uint32_t i = first; i < last; i++) {
        if (p->op[i].kind == TN_L_FOR) {
            if (!is_short(p, i, &n)) return false;
            i = p->op[i].to;
        } else if (!tn_i_l_straight(p, i, i + 1))
            return false;
    }
    return true;
}

/* A loop of few iterations that nothing reads from.  What calls functions calls them for all iterations at once. */
static bool is_short(const tn_i_loops *p, uint32_t k, int64_t *n) {
    const tn_i_l_op *o = &p->op[k];
    const uint8_t behind = o->to + 1 < p->nop ? p->op[o->to + 1].kind : TN_L_END;
    return o->kind == TN_L_FOR && !o->vector && !o->parallel && tn_i_l_known_count(p, k, n) &&
           *n <= TN_M_UNROLL_ITERATIONS && behind != TN_L_LAST && behind != TN_L_HALVES && is_plain(p, k + 1, o->to) &&
           (*n < 2 || !tn_i_l_calls(p, k + 1, o->to));
}

/* An iteration of loop k touches what another one stores, or may, but for memory that is each iteration's own. */
static bool follows(const tn_i_loops *p, uint32_t k, bool *own) {
    const tn_i_l_op *o = &p->op[k];
    int64_t n = o->hi;
    if (o->kind != TN_L_FOR || o->vector || o->parallel) return false;
    return (!tn_i_l_known_count(p, k, &n) && n == INT64_MAX) ||
           (n > 1 && !tn_i_l_apart(p, k, n, tn_i_l_find_own(p, k, own) ? own : NULL));
}

/* Loop k has more iterations than are written out, none of which another one waits for: in what is inside of it
 * addresses are no numbers. */
static bool is_wide(const tn_i_loops *p, uint32_t k, bool *own) {
    int64_t n = p->op[k].hi;
    return p->op[k].kind == TN_L_FOR && tn_i_l_known_count(p, k, &n) && n > TN_M_UNROLL_ITERATIONS &&
           !follows(p, k, own);
}

/* Copies operations first .. last - 1, which stand in a loop in which iterations follow one another. */
static void copy_steps(tn_i_l_copy *c, uint32_t first, uint32_t last, bool *own) {
    const tn_i_loops *p = c->p;
    for (uint32_t i = first; i < last && !c->b->failed; i++) {
        int64_t n;
        if (is_wide(p, i, own)) {
            tn_i_l_copy_ops(c, i, p->op[i].to + 1);
            i = p->op[i].to;
            continue;
        }
        if (!is_short(p, i, &n) || c->b->p->nop > TN_M_UNROLL_OPERATIONS) {
            tn_i_l_copy_op(c, i);
            continue;
        }
        for (int64_t j = 0; j < n; j++) {
            tn_i_l_copy_loop(c, i, tn_i_affine_number(j));
            copy_steps(c, i + 1, p->op[i].to, own);
        }
        i = p->op[i].to;
    }
}

tn_i_loops *tn_i_pass_unroll(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    tn_i_l_copy c;
    const size_t n = p->narray + 1u;
    bool *own = tn_i_alloc_array(p->ctx, n, sizeof *own);
    (void)m;
    tn_i_l_begin(&b, p->ctx);
    if (!own) b.failed = true;
    if (tn_i_l_copy_begin(&c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) {
            if (!follows(p, k, own)) {
                const uint32_t last = p->op[k].kind == TN_L_FOR ? p->op[k].to : k;
                tn_i_l_copy_ops(&c, k, last + 1);
                k = last;
                continue;
            }
            copy_steps(&c, k, p->op[k].to + 1, own);
            k = p->op[k].to;
        }
    tn_i_l_copy_end(&c);
    if (own) tn_i_free(p->ctx, own, n * sizeof *own);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
