/* Loads of what is at hand: that the block has loaded or stored itself a short while ago. */
#include "pass/cse_memory.h"

#include "loop/places.h"
#include "pass/inside.h"

/* Neither touches what the other does, in one iteration of the loops around both. */
static bool disjoint(const tn_i_loops *p, const tn_i_l_op *a, const tn_i_l_op *b) {
    tn_i_l_place x, y;
    if (!tn_i_l_overlap(p, a->which, b->which)) return true;
    if (!tn_i_l_place_of(p, a, &x) || !tn_i_l_place_of(p, b, &y)) return false;
    if (x.index != TN_L_NONE || y.index != TN_L_NONE || !tn_i_l_same_terms(&x.e, &y.e, TN_L_NONE)) return false;
    return x.e.at <= y.e.at ? y.e.at - x.e.at >= x.size : x.e.at - y.e.at >= y.size;
}

static void stored(tn_i_l_recent *r, const tn_i_loops *p, const tn_i_l_op *o) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->op[i] != TN_L_NONE && !disjoint(p, &p->op[r->op[i]], o)) r->op[i] = TN_L_NONE;
}

static uint32_t value_of(tn_i_l_builder *b, uint32_t access) {
    const tn_i_l_op *o = &b->p->op[access];
    return o->kind == TN_L_LOAD ? access : tn_i_l_in_memory(b, b->p->array[o->which].dtype, o->in[2]);
}

uint32_t tn_i_l_recall(tn_i_l_recent *r, tn_i_l_builder *b, uint32_t access) {
    const tn_i_loops *p = b->p;
    const tn_i_l_op *o = &p->op[access];
    if (o->kind == TN_L_STORE) stored(r, p, o);
    if (o->in[1] != TN_L_NONE || o->update) return TN_L_NONE;
    for (uint32_t i = 0; i < r->n && o->kind == TN_L_LOAD; i++)
        if (r->op[i] != TN_L_NONE && tn_i_l_same_place(p, &p->op[r->op[i]], o)) return value_of(b, r->op[i]);
    r->op[r->next] = access;
    r->next = (r->next + 1) % TN_RECENT;
    if (r->n < TN_RECENT) r->n++;
    return TN_L_NONE;
}
