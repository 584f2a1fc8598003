/* Live ranges of values.  An operation in a loop runs as long as the loop does, so what is from outside of it lives to
 * the loop's END.
 *
 * A carry and the value that it has next are often in one place: where nothing reads the carry behind that value, and
 * nothing leaves the loop there, the value is computed over the carry. */
#include "strips/inside.h"

#include <string.h>

typedef struct living {
    const tn_i_loops *p;
    tn_i_s_range *range;
    uint32_t open[TN_L_DEPTH], depth; /* FORs */
} living;

/* Value v is read at k; by a block's first operations (`around` loops of those that are open). */
static void used(living *z, uint32_t v, uint32_t k, uint32_t around) {
    for (uint32_t i = 0; i < around; i++)
        if (z->open[i] > v) {
            k = z->p->op[z->open[i]].to;
            break;
        }
    if (z->range[v].last < k) z->range[v].last = k;
}

static void find_blocks(living *z) {
    const tn_i_loops *p = z->p;
    uint32_t block = TN_L_NONE, loop = TN_L_NONE;
    for (uint32_t k = 0; k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind == TN_L_END || o->kind == TN_L_ELSE) {
            if (o->kind == TN_L_END && p->op[o->to].kind == TN_L_FOR) loop = z->range[o->to].loop;
            block = z->range[block].block;
        }
        z->range[k] = (tn_i_s_range){.last = k, .block = block, .loop = loop, .in = TN_L_NONE};
        if (o->kind == TN_L_FOR) loop = k;
        if (o->kind == TN_L_FOR || o->kind == TN_L_IF || o->kind == TN_L_ELSE) block = k;
    }
}

static void find_uses(living *z) {
    const tn_i_loops *p = z->p;
    for (uint32_t k = 0; k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        const bool first = o->kind == TN_L_CARRY; /* what it enters with is read in front of the loop */
        const uint32_t at = first                  ? z->range[k].loop
                            : o->kind == TN_L_NEXT ? p->op[z->range[k].loop].to /* all at once */
                                                   : k;
        for (int i = 0; i < 3; i++)
            if (o->in[i] != TN_L_NONE && !(o->kind == TN_L_NEXT && i == 0) && o->kind != TN_L_LAST)
                used(z, o->in[i], at, z->depth - first);
        if (o->kind == TN_L_FOR) z->open[z->depth++] = k;
        if (o->kind == TN_L_END && p->op[o->to].kind == TN_L_FOR) z->depth--;
    }
}

static void keep_until(tn_i_s_range *l, uint32_t k) {
    if (l->last < k) l->last = k;
}

/* x may be computed where carry c is.  `last` is what reads c so far. */
static bool over(const living *z, uint32_t c, uint32_t x, uint32_t next) {
    const tn_i_loops *p = z->p;
    const uint32_t loop = z->range[c].loop;
    if (x < c || p->op[x].kind != TN_L_MAP || z->range[x].block != loop || z->range[x].in != TN_L_NONE) return false;
    if (z->range[c].last > x || p->op[x].dtype != p->op[c].dtype) return false;
    for (uint32_t k = x; k < next; k++)
        if (p->op[k].kind == TN_L_WHILE && z->range[k].block == loop) return false;
    return true;
}

static void find_carries(living *z) {
    const tn_i_loops *p = z->p;
    for (uint32_t k = 0; k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind != TN_L_NEXT || !over(z, o->in[0], o->in[1], k)) continue;
        z->range[o->in[0]].in = o->in[1];
        z->range[o->in[1]].in = o->in[0];
    }
    for (uint32_t k = p->nop; k-- > 0;) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind == TN_L_CARRY) keep_until(&z->range[k], p->op[z->range[k].loop].to);
        if (o->kind == TN_L_LAST) keep_until(&z->range[o->in[0]], z->range[k].last);
    }
}

void tn_i_s_find_ranges(const tn_i_loops *p, tn_i_s_range *range) {
    living z = {.p = p, .range = range};
    find_blocks(&z);
    find_uses(&z);
    find_carries(&z);
}
