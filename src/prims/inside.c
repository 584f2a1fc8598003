/* Where a value comes from: inside of nested programs; rows. */
#include "prims/prim.h"

const tn_fn *tn_i_made_inside(const tn_i_eqn *e, uint32_t output, tn_i_var *v) {
    if (e->prim->inside) return e->prim->inside(e, output, v);
    if (!e->prim->split || !e->prim->body) return NULL;
    const tn_fn *f = tn_i_p(e)[e->prim->body - 1].u.fn;
    *v = f->out[output];
    return f;
}

uint32_t tn_i_from_outside(const tn_i_eqn *e, uint32_t i) { return e->prim->outside ? e->prim->outside(e, i) : i; }

tn_i_rows tn_i_rows_of(const tn_fn *f, const tn_i_eqn *e) {
    const tn_type *in[1] = {e->nin ? f->val[tn_i_in(f, e)[0]].type : NULL};
    tn_type out = *f->val[e->out].type;
    const tn_i_query q = {
        .ctx = f->ctx, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin > 0, .nout = 1, .in = in, .out = &out};
    return e->prim->rows && e->nout == 1 && out.rank > 0 ? e->prim->rows(&q) : TN_ROWS_MIXED;
}
