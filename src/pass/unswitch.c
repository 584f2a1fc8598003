/* Loops all of whose iterations load or store where the same bool says (unswitching): outside of two copies of the loop
 * it is asked once, and neither has a mask.  A copy in which nothing would be stored is left out.
 *
 *     for i { x[i + 33 clamp(j, 9)] = y[i] where inside }     if inside { for i { x[i + 33 clamp(j, 9)] = y[i] } }
 */
#include "base/machine.h"
#include "loop/inside.h"
#include "pass/inside.h"

typedef struct unswitch {
    tn_i_l_copy c;
    uint32_t loop, n, mask[TN_M_UNSWITCH_BOOLS];
    bool is[TN_M_UNSWITCH_BOOLS]; /* in the copy at hand */
} unswitch;

static bool touches(const tn_i_l_op *o) { return o->kind == TN_L_LOAD || o->kind == TN_L_STORE; }

/* Of access k of the loop, which of the bools it asks; n: none. */
static uint32_t which(const unswitch *z, uint32_t k) {
    const tn_i_l_op *o = &z->c.p->op[k];
    uint32_t i = touches(o) && o->in[1] != TN_L_NONE ? 0 : z->n;
    while (i < z->n && z->mask[i] != o->in[1]) i++;
    return i;
}

static bool find_masks(unswitch *z) {
    const tn_i_loops *p = z->c.p;
    for (uint32_t k = z->loop + 1; k < p->op[z->loop].to; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (!touches(o) || o->in[1] == TN_L_NONE || o->in[1] > z->loop || z->n == TN_M_UNSWITCH_BOOLS ||
            which(z, k) < z->n)
            continue;
        z->mask[z->n++] = o->in[1];
    }
    return z->n > 0;
}

/* An innermost loop that nothing reads from. */
static bool fits(const tn_i_loops *p, uint32_t k) {
    const tn_i_l_op *o = &p->op[k];
    const uint8_t behind = o->kind == TN_L_FOR && o->to + 1 < p->nop ? p->op[o->to + 1].kind : TN_L_END;
    return o->kind == TN_L_FOR && !o->vector && !o->parallel && behind != TN_L_LAST && behind != TN_L_HALVES &&
           tn_i_l_straight(p, k + 1, o->to);
}

static bool stores(const unswitch *z) {
    for (uint32_t k = z->loop + 1; k < z->c.p->op[z->loop].to; k++) {
        const uint32_t m = which(z, k);
        if (z->c.p->op[k].kind == TN_L_STORE && (m == z->n || z->is[m])) return true;
    }
    return false;
}

static void copy_access(unswitch *z, uint32_t k) {
    const uint32_t m = which(z, k);
    tn_i_l_op o = z->c.p->op[k];
    if (m == z->n)
        tn_i_l_copy_op(&z->c, k);
    else if (z->is[m]) {
        const tn_i_affine e = tn_i_l_copy_affine(&z->c, &o.at);
        if (o.in[0] != TN_L_NONE) o.in[0] = z->c.value[o.in[0]];
        if (o.kind == TN_L_STORE) o.in[2] = z->c.value[o.in[2]];
        if (o.kind == TN_L_LOAD) o.in[2] = TN_L_NONE;
        o.in[1] = TN_L_NONE;
        z->c.value[k] = tn_i_l_emit(z->c.b, o, &e);
    } else if (o.kind == TN_L_LOAD)
        z->c.value[k] = z->c.value[o.in[2]];
}

static void copy_loop(unswitch *z) {
    const uint32_t last = z->c.p->op[z->loop].to;
    tn_i_l_copy_op(&z->c, z->loop);
    for (uint32_t k = z->loop + 1; k < last && !z->c.b->failed; k++) copy_access(z, k);
    tn_i_l_copy_op(&z->c, last);
}

/* Bools at and behind `at` are still to be asked. */
static void copies(unswitch *z, uint32_t at) {
    if (at == z->n || at == TN_M_UNSWITCH_BOOLS) {
        if (stores(z)) copy_loop(z);
        return;
    }
    tn_i_l_if(z->c.b, z->c.value[z->mask[at]]);
    z->is[at] = true;
    copies(z, at + 1);
    z->is[at] = false;
    if (at + 1 < z->n || stores(z)) {
        tn_i_l_else(z->c.b);
        copies(z, at + 1);
    }
    tn_i_l_close(z->c.b);
}

tn_i_loops *tn_i_pass_unswitch(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    unswitch z;
    uint32_t vector = 0; /* the operation behind the vector loop that is open */
    tn_i_l_begin(&b, p->ctx);
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) {
            z.loop = k;
            z.n = 0;
            if (p->op[k].kind == TN_L_FOR && p->op[k].vector) vector = p->op[k].to;
            if (m->strips || k < vector || !fits(p, k) || !find_masks(&z))
                tn_i_l_copy_op(&z.c, k);
            else {
                copies(&z, 0);
                k = p->op[k].to;
            }
        }
    tn_i_l_copy_end(&z.c);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
