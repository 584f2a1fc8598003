/* Joins of arrays whose first dimensions were merged before: [n, 2] seen as [2 n, 1], several of which are joined to
 * [2 n, k], are joined as [n, 2, 1] to [n, 2, k], which is merged.  Then they are columns of a batch of n. */
#include "opt/columns.h"
#include "opt/fuse.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

static const tn_type *type_of(const tn_fn *f, tn_i_var v) { return f->val[v].type; }

/* What v is a view in another shape of; TN_NOVAR: nothing. */
static tn_i_var reshaped(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    return def < f->neqn && f->eqn[def].prim->id == TN_P_reshape ? tn_i_in(f, &f->eqn[def])[0] : TN_NOVAR;
}

/* How many dimensions of `from`, which has n rows, are merged to the first one of `to`; 0: those are not all. */
static int merged(const tn_type *from, const tn_type *to, int64_t n) {
    if (from->rank < 2 || to->rank < 2 || from->dim[0] != n || tn_i_count(from) == 0) return 0;
    int64_t rows = 1;
    for (int d = 0; d < from->rank; d++) {
        if (d > 1 && rows == to->dim[0]) return d;
        rows *= from->dim[d];
    }
    return rows == to->dim[0] ? from->rank : 0;
}

/* The same number for all operands, of the same dimensions. */
static int merged_in_all(const tn_fn *f, const tn_i_eqn *e, int64_t n) {
    if (e->prim->id != TN_P_concatenate || tn_i_p(e)[0].u.i == 0) return 0;
    const tn_i_var *in = tn_i_in(f, e), first = reshaped(f, in[0]);
    int q = 0;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = reshaped(f, in[k]);
        const int mine = v == TN_NOVAR ? 0 : merged(type_of(f, v), type_of(f, in[k]), n);
        if (!mine || (k && mine != q)) return 0;
        q = mine;
        for (int d = 0; d < q; d++)
            if (type_of(f, v)->dim[d] != type_of(f, first)->dim[d]) return 0;
    }
    return type_of(f, e->out)->rank + q - 1 <= TN_MAX_RANK ? q : 0;
}

static tn_i_var one(tn_i_builder *b, const tn_fn *f, tn_i_var *map, tn_i_var v, int q) {
    const tn_i_var from = reshaped(f, v);
    const tn_type *t = type_of(f, from), *to = type_of(f, v);
    int64_t dim[TN_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < q; d++) dim[rank++] = t->dim[d];
    for (int d = 1; d < to->rank; d++) dim[rank++] = to->dim[d];
    return tn_i_reshape(b, tn_i_mapped(b, f, map, from), rank, dim);
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const int q = merged_in_all(f, e, *(const int64_t *)with);
    if (!q) return false;
    tn_i_var *part = tn_i_alloc_array(f->ctx, e->nin, sizeof *part);
    if (!part) b->failed = true;
    for (uint32_t k = 0; k < e->nin && !b->failed; k++) part[k] = one(b, f, map, tn_i_in(f, e)[k], q);
    const tn_type *t = type_of(f, e->out);
    if (!b->failed)
        map[e->out] =
            tn_i_reshape(b, tn_i_concatenate(b, e->nin, part, (int)tn_i_p(e)[0].u.i + q - 1), t->rank, t->dim);
    tn_i_free(f->ctx, part, e->nin * sizeof *part);
    return true;
}

tn_fn *tn_i_unmerged(const tn_fn *f, int64_t n) {
    bool some = false;
    for (uint32_t i = 0; i < f->neqn && !some; i++) some = merged_in_all(f, &f->eqn[i], n) > 0;
    return some ? tn_i_rewritten(f, NULL, f->neqn, put, &n) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
