/* What is left of an integer that is divided as well, as in x // y and divmod: x - (x / y) y, one division for both. Of
 * whatever y, 0 and -1 too: x / 0 is -1 and x rem 0 is x; the least number by -1 is itself, of which 0 is left. */
#include "opt/fuse.h"
#include "prims/ids.h"
#include "prims/rules.h"

/* Of each value the last equation so far that divides it: 1 + its number, or 0. */
static const tn_i_eqn *divided(const tn_fn *f, const tn_i_eqn *e, uint32_t *by) {
    const tn_i_var *in = tn_i_in(f, e);
    if ((e->prim->id != TN_P_rem && e->prim->id != TN_P_div) || !tn_i_is_int(f->val[e->out].type->dtype)) return NULL;
    if (e->prim->id == TN_P_div) by[in[0]] = (uint32_t)(e - f->eqn) + 1;
    const tn_i_eqn *d = e->prim->id == TN_P_rem && by[in[0]] ? &f->eqn[by[in[0]] - 1] : NULL;
    return d && tn_i_in(f, d)[1] == in[1] ? d : NULL;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const tn_i_eqn *d = divided(f, e, (uint32_t *)(uintptr_t)with);
    if (!d) return false;
    const tn_i_var *in = tn_i_in(f, e), x = tn_i_mapped(b, f, map, in[0]), y = tn_i_mapped(b, f, map, in[1]);
    map[e->out] = tn_i_op2(b, TN_P_sub, x, tn_i_op2(b, TN_P_mul, tn_i_mapped(b, f, map, d->out), y));
    return true;
}

tn_fn *tn_i_remainders(const tn_fn *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->neqn && !any; i++) any = f->eqn[i].prim->id == TN_P_rem;
    if (!any) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    uint32_t *by = tn_i_alloc_array(f->ctx, f->nval, sizeof *by);
    if (!by) return NULL;
    tn_fn *g = tn_i_rewritten(f, NULL, f->neqn, put, by);
    tn_i_free(f->ctx, by, f->nval * sizeof *by);
    return g;
}
