/* Gathers and scatters of single elements along a short dimension, in rows of their own: permutations by a pivot, one
 * entry of each row.  Columns choose among few. */
#include "opt/columns_fit.h"

#include "prims/ids.h"
#include "prims/arrays/windows.h"

enum { DNUMS, SIZES, MODE };

static bool known(const tn_i_eqn *e) {
    return e->prim->id == TN_P_gather || e->prim->id == TN_P_scatter_add || e->prim->id == TN_P_scatter;
}

/* Each dimension of x but one is walked by one of the indices, as long as it. */
static bool walks(const tn_type *x, const tn_type *indices, const tn_i_dnums *d, tn_i_long l, tn_i_row_places *p) {
    if (d->n[TN_MAP] != 1 || d->n[TN_WINDOW] || d->n[TN_COLLAPSED] != 1 ||
        d->n[TN_OPERAND_BATCH] + 1 != (uint32_t)x->rank)
        return false;
    p->along = (int)d->v[TN_MAP][0];
    if (d->v[TN_COLLAPSED][0] != p->along || tn_i_is_long(l, x, p->along)) return false;
    for (uint32_t j = 0; j < d->n[TN_OPERAND_BATCH]; j++) {
        const int64_t there = d->v[TN_OPERAND_BATCH][j], here = d->v[TN_INDEX_BATCH][j];
        if (tn_i_is_long(l, x, there) != tn_i_is_long(l, indices, here)) return false;
        p->walk[there] = (int8_t)here;
    }
    return true;
}

bool tn_i_columns_places(const tn_fn *f, const tn_i_eqn *e, tn_i_long l, tn_i_row_places *p) {
    *p = (tn_i_row_places){.along = -1};
    if (!known(e)) return false;
    const tn_i_var *in = tn_i_in(f, e);
    const bool gathers = e->prim->id == TN_P_gather;
    const tn_type *x = f->val[in[0]].type, *indices = f->val[in[1]].type,
                  *windows = f->val[gathers ? e->out : in[2]].type;
    tn_i_dnums d;
    tn_i_dnums_read(&d, &tn_i_p(e)[DNUMS]);
    if (!walks(x, indices, &d, l, p)) return false;
    for (int i = 0; i < windows->rank; i++) {
        bool walked = false;
        for (int k = 0; k < x->rank; k++) walked |= k != p->along && p->walk[k] == i;
        if (tn_i_is_long(l, windows, i) != (walked && tn_i_is_long(l, indices, i))) return false;
        if (!walked && tn_i_is_long(l, indices, i)) return false;
    }
    p->fills = gathers && tn_i_p(e)[MODE].u.i == TN_FILL;
    p->bits = p->fills ? tn_i_gather_fill(tn_i_p(e), x->dtype) : 0;
    p->clips = gathers ? !p->fills : tn_i_scatter_clips(tn_i_p(e));
    return !tn_i_is_long(l, indices, indices->rank - 1);
}
