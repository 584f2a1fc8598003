/* What is left of an integer that is divided as well, as in x // y and divmod: x - (x / y) y, one division for both. Of
 * whatever y, 0 and -1 too: x / 0 is -1 and x rem 0 is x; the least number by -1 is itself, of which 0 is left. */
#include "opt/fuse.h"
#include "prims/ids.h"
#include "prims/rules.h"

enum { NEAR = 64 /* equations in front of it that are looked at */ };

/* The equation that divides what e has the rest of; NULL: none does, near it. */
static const tn_i_eqn *divided(const tn_fn *f, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(f, e);
    if (e->prim->id != TN_P_rem || !tn_i_is_int(f->val[e->out].type->dtype)) return NULL;
    for (const tn_i_eqn *d = e; d-- > f->eqn && e - d <= NEAR;)
        if (d->prim->id == TN_P_div && tn_i_in(f, d)[0] == in[0] && tn_i_in(f, d)[1] == in[1]) return d;
    return NULL;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const tn_i_eqn *d = divided(f, e);
    (void)with;
    if (!d) return false;
    const tn_i_var *in = tn_i_in(f, e), x = tn_i_mapped(b, f, map, in[0]), y = tn_i_mapped(b, f, map, in[1]);
    map[e->out] = tn_i_op2(b, TN_P_sub, x, tn_i_op2(b, TN_P_mul, tn_i_mapped(b, f, map, d->out), y));
    return true;
}

tn_fn *tn_i_remainders(const tn_fn *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->neqn && !any; i++) any = divided(f, &f->eqn[i]) != NULL;
    return any ? tn_i_rewritten(f, NULL, f->neqn, put, NULL) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
