/* Products whose operands need no packing, described once: running one is an address for each operand and a call. */
#include "exec/planner.h"
#include "exec/strides.h"
#include "prims/dot.h"

#include <string.h>

static tn_i_arr described(const tn_i_planner *z, tn_i_var v) {
    tn_i_arr a = {.type = z->f->val[v].type};
    tn_i_place_strides(z, v, a.stride);
    return a;
}

/* requires: places are settled, and products that run two at a time found. */
bool tn_i_find_products(tn_i_planner *z) {
    tn_i_plan *p = z->p;
    for (size_t i = 0; !z->root->plain && i < p->nstep; i++) {
        tn_i_step *s = &p->step[i];
        const tn_i_eqn *e = &z->f->eqn[s->eqn];
        if (s->kind != TN_STEP_KERNEL || e->prim->id != TN_P_dot_general || s->leads || s->follows) continue;
        const tn_i_var *in = tn_i_in(z->f, e);
        tn_i_arr operand[2] = {described(z, in[0]), described(z, in[1])}, out = described(z, e->out);
        const tn_i_kernel k = {
            .prim = e->prim, .p = tn_i_p(e), .nin = 2, .nout = 1, .in = operand, .out = &out, .triangle = s->triangle};
        tn_i_products w;
        if (!tn_i_dot_at_once(&k, &w)) continue;
        if (!tn_i_grow(z->ctx, (void **)&p->product, &p->cproduct, p->nproduct + 1, sizeof *p->product)) return false;
        w.bare = s->bare;
        s->at_once = true;
        s->loop = (uint32_t)p->nproduct;
        p->product[p->nproduct++] = w;
    }
    return true;
}
