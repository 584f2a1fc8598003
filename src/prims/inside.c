/* Where a value that an equation with nested programs hands out comes from. */
#include "prims/prim.h"

const tn_fn *tn_i_made_inside(const tn_i_eqn *e, uint32_t output, tn_i_var *v) {
    if (e->prim->inside) return e->prim->inside(e, output, v);
    if (!e->prim->split || !e->prim->body) return NULL;
    const tn_fn *f = tn_i_p(e)[e->prim->body - 1].u.fn;
    *v = f->out[output];
    return f;
}

uint32_t tn_i_from_outside(const tn_i_eqn *e, uint32_t i) { return e->prim->outside ? e->prim->outside(e, i) : i; }
