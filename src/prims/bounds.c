#include "prims/bounds.h"

enum { MOST = 4 /* operands */ };

tn_i_range tn_i_literal_bounds(const tn_i_val *v) {
    unsigned char at[8];
    tn_i_put_bits(v->type->dtype, at, v->bits);
    const double d = tn_i_element(v->type->dtype, at);
    return d == d ? (tn_i_range){d, d} : tn_i_everything;
}

tn_i_range tn_i_eqn_bounds(const tn_fn *f, const tn_i_eqn *e, const tn_i_range *of) {
    const tn_i_var *in = tn_i_in(f, e);
    tn_i_range few[MOST], r = tn_i_everything;
    if (e->nin == 0) return r;
    if (e->prim->flags & TN_F_VIEW) return of[in[0]];
    if (e->prim->image.lo != 0 || e->prim->image.hi != 0) return e->prim->image;
    if (!e->prim->range || e->nin > MOST) return r;
    bool same = true;
    for (uint32_t i = 0; i < e->nin; i++) {
        few[i] = of[in[i]];
        same &= in[i] == in[0];
    }
    e->prim->range(tn_i_p(e), e->nin, few, same, &r);
    if (!(r.lo == r.lo)) r.lo = -INFINITY; /* inf - inf: nothing is known */
    if (!(r.hi == r.hi)) r.hi = INFINITY;
    return r;
}
