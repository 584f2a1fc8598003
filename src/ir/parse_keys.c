/* Keys of random numbers: a text has arrays of them (JAX's key<fry>), programs have their words, u32[.., 2].  What
 * moves them says so of one dimension less. */
#include "ir/parse.h"
#include "prims/ids.h"

#include <string.h>

/* The list with one number more; not where it was left out. */
static bool extend(tn_i_parser *p, tn_i_reading *r, const char *name, int64_t more) {
    uint32_t k = 0;
    while (k < r->nparam && strcmp(r->prim->params[k].name, name) != 0) k++;
    if (k == r->nparam || r->p[k].kind != TN_K_INTS) return true;
    const size_t from = r->at[k], n = r->p[k].n;
    r->at[k] = p->nints;
    for (size_t i = 0; i < n; i++)
        if (!tn_i_parse_push_int(p, p->ints[from + i])) return false;
    r->p[k].n++;
    return tn_i_parse_push_int(p, more);
}

/* One place more, 0, of the dtype of those that there are from operand `first` on. */
static bool extend_places(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r, size_t first) {
    if (p->noperand <= r->operand0 + first) return true;
    tn_i_operand o = p->operand[p->noperand - 1];
    if (o.var == TN_NOVAR || !tn_i_grow(p->ctx, (void **)&p->operand, &p->coperand, p->noperand + 1, sizeof o))
        return false;
    o.var = tn_i_literal_i64(&s->b, tn_i_vtype(&s->b, o.var)->dtype, 0);
    p->operand[p->noperand++] = o;
    return o.var != TN_NOVAR;
}

bool tn_i_parse_key_params(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    const tn_i_binder *left = r->nbinder ? &p->binder[r->binder0] : NULL;
    if (!left || !left->key || !r->prim) return true;
    const int last = left->type->rank - 1;
    switch (r->prim->id) {
    case TN_P_reshape: return extend(p, r, "new_sizes", 2);
    case TN_P_broadcast_in_dim: return extend(p, r, "shape", 2) && extend(p, r, "broadcast_dimensions", last);
    case TN_P_transpose: return extend(p, r, "permutation", last);
    case TN_P_dynamic_slice: return extend(p, r, "slice_sizes", 2) && extend_places(p, s, r, 1);
    case TN_P_dynamic_update_slice: return extend_places(p, s, r, 2);
    case TN_P_slice:
        return extend(p, r, "start_indices", 0) && extend(p, r, "limit_indices", 2) && extend(p, r, "strides", 1);
    default: return true;
    }
}
