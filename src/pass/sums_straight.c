/* Reductions of few elements, all of which are in the block of their REDUCE, as short loops written out leave them
 * (unroll.c), are operations: lanes and halves of one leaf, in the one order that loop/loop.h lays down, and of argmax
 * and argmin comparisons, one after another. */
#include "pass/sums.h"

typedef struct straight {
    const tn_i_loops *p;
    tn_i_l_copy c;
    uint32_t *around;
    uint32_t *first, *last, *next; /* of each REDUCE, its INTOs, or TN_L_NONE: it stays; of an INTO, the one behind */
    uint32_t *count;               /* of each REDUCE its INTOs */
} straight;

static uint32_t *new_list(const tn_i_loops *p) {
    uint32_t *list = tn_i_alloc_array(p->ctx, p->nop, sizeof *list);
    for (uint32_t k = 0; list && k < p->nop; k++) list[k] = TN_L_NONE;
    return list;
}

static void drop_list(const tn_i_loops *p, uint32_t *list) {
    if (list) tn_i_free(p->ctx, list, p->nop * sizeof *list);
}

/* Operation k, an INTO or TOTAL, is in the block of its REDUCE, of one result, and of no more elements than one leaf
 * has. */
static bool fits(const straight *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    return z->around[k] == z->around[o->in[0]] && o->at.n == 0 && z->count[o->in[0]] <= TN_LEAF;
}

static void note(straight *z, uint32_t k) {
    const uint32_t reduce = z->p->op[k].in[0];
    if (z->first[reduce] == TN_L_NONE)
        z->first[reduce] = k;
    else
        z->next[z->last[reduce]] = k;
    z->last[reduce] = k;
}

/* Those that stay have no `first`. */
static void find(straight *z) {
    const tn_i_loops *p = z->p;
    for (uint32_t k = 0; k < p->nop; k++)
        if (p->op[k].kind == TN_L_REDUCE) z->count[k] = 0;
    for (uint32_t k = 0; k < p->nop; k++)
        if (p->op[k].kind == TN_L_INTO) z->count[p->op[k].in[0]]++, note(z, k);
    for (uint32_t k = 0; k < p->nop; k++)
        if ((p->op[k].kind == TN_L_INTO || p->op[k].kind == TN_L_TOTAL) && !fits(z, k))
            z->first[p->op[k].in[0]] = TN_L_NONE;
    for (uint32_t k = 0; k < p->nop; k++) /* asked before all is there: rare */
        if (p->op[k].kind == TN_L_TOTAL && z->last[p->op[k].in[0]] > k) z->first[p->op[k].in[0]] = TN_L_NONE;
}

/* What the elements of one result come to. */
static uint32_t total(straight *z, const tn_i_l_op *o) {
    const tn_i_loops *p = z->p;
    const tn_i_l_op *r = &p->op[o->in[0]];
    tn_i_l_builder *b = z->c.b;
    const tn_i_l_code fold = tn_i_l_fold_code(r->code, r->dtype);
    uint32_t lane[TN_LANES], n = 0;
    for (uint32_t k = z->first[o->in[0]]; k != TN_L_NONE; k = z->next[k]) {
        if (p->op[k].at.at != o->at.at) continue;
        const uint32_t x = z->c.value[p->op[k].in[1]], l = n++ % TN_LANES;
        lane[l] =
            n <= TN_LANES ? tn_i_l_fold_first(b, r->code, r->dtype, x) : tn_i_l_map(b, fold, lane[l], x, TN_L_NONE);
    }
    for (uint32_t half = TN_LANES / 2; half > 0; half /= 2)
        for (uint32_t l = 0; l < half && l + half < n; l++)
            lane[l] = tn_i_l_map(b, fold, lane[l], lane[l + half], TN_L_NONE);
    return n ? lane[0] : tn_i_l_number(b, r->dtype, tn_i_l_identity(r->code, r->dtype));
}

/* Where the best of the elements of one result is. */
static uint32_t place(straight *z, const tn_i_l_op *o) {
    const tn_i_loops *p = z->p;
    const tn_i_l_op *r = &p->op[o->in[0]];
    tn_i_l_builder *b = z->c.b;
    const int as = tn_i_summing_where(TN_LEAF, r->dtype);
    tn_i_best best = {TN_L_NONE, tn_i_l_number(b, as, 0)};
    uint32_t n = 0;
    for (uint32_t k = z->first[o->in[0]]; k != TN_L_NONE; k = z->next[k]) {
        if (p->op[k].at.at != o->at.at) continue;
        const tn_i_best next = {z->c.value[p->op[k].in[1]], n ? tn_i_l_number(b, as, n) : best.at};
        best = n++ ? tn_i_summing_best(b, r->code, r->dtype, best, next) : next;
    }
    return as == o->dtype ? best.at : tn_i_l_convert(b, o->dtype, best.at);
}

static void copy(straight *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    const bool asks = o->kind == TN_L_TOTAL || o->kind == TN_L_INTO;
    if ((asks ? z->first[o->in[0]] : o->kind == TN_L_REDUCE ? z->first[k] : TN_L_NONE) == TN_L_NONE)
        tn_i_l_copy_op(&z->c, k);
    else if (o->kind == TN_L_TOTAL)
        z->c.value[k] = z->p->op[o->in[0]].code <= TN_FOLD_MIN ? total(z, o) : place(z, o);
}

tn_i_loops *tn_i_pass_sums_straight(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    straight z = {.p = p};
    uint32_t n = 0;
    (void)m;
    for (uint32_t k = 0; k < p->nop; k++) n += p->op[k].kind == TN_L_REDUCE;
    if (n == 0) return p;
    tn_i_l_begin(&b, p->ctx);
    z.around = tn_i_l_around(p);
    z.first = new_list(p);
    z.last = new_list(p);
    z.next = new_list(p);
    z.count = new_list(p);
    if (!z.around || !z.first || !z.last || !z.next || !z.count)
        b.failed = true;
    else
        find(&z);
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) copy(&z, k);
    tn_i_l_copy_end(&z.c);
    drop_list(p, z.first);
    drop_list(p, z.last);
    drop_list(p, z.next);
    drop_list(p, z.count);
    tn_i_l_around_drop(p, z.around);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
