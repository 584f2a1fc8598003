#include "opt/lookup.h"

#include "base/machine.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/windows.h"

#include <string.h>

enum { DNUMS, SIZES, MODE, FILL };

/* One index for each window, into dimension 0, of which a window has one element. */
static bool by_first(const tn_fn *f, const tn_i_eqn *e, tn_i_dnums *d) {
    if (e->prim->id != TN_P_gather || !tn_i_space_admits(f, e)) return false;
    tn_i_dnums_read(d, &tn_i_p(e)[DNUMS]);
    return d->n[TN_MAP] == 1 && d->v[TN_MAP][0] == 0 && d->n[TN_COLLAPSED] == 1 && d->v[TN_COLLAPSED][0] == 0 &&
           d->n[TN_OPERAND_BATCH] == 0;
}

/* Not what nests make for themselves. */
static bool in_memory(const tn_fn *f, tn_i_var v) {
    int8_t map[TN_MAX_RANK];
    for (;;) {
        if (tn_i_is_literal(f, v)) return false;
        if (v < f->nin) return true;
        const tn_i_eqn *e = &f->eqn[f->val[v].def];
        if (e->prim->id == TN_P_iota || e->prim->id == TN_P_pad || tn_i_space_joins(f, e)) return false;
        if (!tn_i_walks(f, e, map)) return true;
        v = tn_i_in(f, e)[0];
    }
}

bool tn_i_may_look_up(const tn_i_eqn *e) { return e->prim->id == TN_P_gather || e->prim->id == TN_P_dynamic_slice; }

static bool of_gather(const tn_fn *f, const tn_i_eqn *e, tn_i_lookup *k) {
    const tn_type *x = f->val[tn_i_in(f, e)[0]].type, *t = f->val[e->out].type;
    const int64_t *sizes = tn_i_p(e)[SIZES].u.ints;
    tn_i_dnums d;
    uint32_t window = 0;
    int batch = 0;
    tn_i_dnums_read(&d, &tn_i_p(e)[DNUMS]);
    if (d.n[TN_MAP] != 1 || d.n[TN_OPERAND_BATCH]) return false;
    k->index = 1;
    k->along = (int)d.v[TN_MAP][0];
    k->last = x->dim[k->along] - sizes[k->along];
    for (int i = 0; i < x->rank; i++)
        if (!tn_i_dnums_has(&d, TN_COLLAPSED, i)) k->walk[i] = (int8_t)d.v[TN_WINDOW][window++];
    for (int i = 0; i < t->rank; i++)
        if (!tn_i_dnums_has(&d, TN_WINDOW, i)) k->batch[batch++] = (int8_t)i;
    k->fills = tn_i_p(e)[MODE].u.i == TN_FILL;
    k->bits = k->fills ? tn_i_gather_fill(tn_i_p(e), x->dtype) : 0;
    return true;
}

/* Starts at windows as large as the array are 0. */
static bool of_slice(const tn_fn *f, const tn_i_eqn *e, tn_i_lookup *k) {
    const tn_i_var *in = tn_i_in(f, e);
    const tn_type *x = f->val[in[0]].type, *t = f->val[e->out].type;
    for (int i = 0; i < x->rank; i++) {
        const int64_t last = x->dim[i] - t->dim[i];
        k->walk[i] = (int8_t)i;
        if (last == 0) continue;
        if (tn_i_is_literal(f, in[1 + i])) {
            const uint64_t bits = f->val[in[1 + i]].bits;
            const int64_t at = f->val[in[1 + i]].type->dtype == TN_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
            k->start[i] = at < 0 ? 0 : at > last ? last : at;
            continue;
        }
        if (k->index) return false;
        k->index = 1 + (uint32_t)i;
        k->along = i;
        k->last = last;
    }
    return k->index != 0;
}

bool tn_i_lookup_of(const tn_fn *f, const tn_i_eqn *e, tn_i_lookup *k) {
    *k = (tn_i_lookup){.index = 0};
    memset(k->walk, -1, sizeof k->walk);
    memset(k->batch, -1, sizeof k->batch);
    if (!tn_i_may_look_up(e) || !tn_i_space_admits(f, e) || tn_i_count(f->val[e->out].type) < 2) return false;
    return (e->prim->id == TN_P_gather ? of_gather : of_slice)(f, e, k) && in_memory(f, tn_i_in(f, e)[0]);
}

bool tn_i_looks_up_rows(const tn_fn *f, const tn_i_eqn *e) {
    tn_i_dnums d;
    if (!by_first(f, e, &d)) return false;
    const tn_type *t = f->val[tn_i_in(f, e)[0]].type;
    if (f->val[tn_i_in(f, e)[1]].type->rank != 2) return false;
    for (int i = 1; i < t->rank; i++)
        if (d.v[TN_WINDOW][i - 1] != i || tn_i_p(e)[SIZES].u.ints[i] != t->dim[i]) return false;
    return true;
}

tn_i_var tn_i_lookup_column(tn_i_builder *b, const tn_i_eqn *e, tn_i_var table, tn_i_var indices, int64_t k) {
    if (b->failed) return TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, table);
    const tn_i_dnums d = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};
    const int64_t one = 1, rows = t->dim[0];
    int64_t start[TN_MAX_RANK] = {0}, limit[TN_MAX_RANK] = {rows};
    for (int i = t->rank; i-- > 1; k /= t->dim[i]) {
        start[i] = k % t->dim[i];
        limit[i] = start[i] + 1;
    }
    const tn_i_var column = tn_i_reshape(b, tn_i_slice(b, table, start, limit, NULL), 1, &rows);
    const tn_i_param *p = tn_i_p(e);
    return tn_i_gather(b, column, indices, &d, &one, (int)p[MODE].u.i, &p[FILL]);
}

/* ---- indices ---- */

/* x held between 0 and `last`. */
static tn_i_var clamped(tn_i_builder *b, tn_i_var x, int64_t last) {
    const tn_type t = *tn_i_vtype(b, x);
    const int64_t most = t.dtype == TN_I32 && last > INT32_MAX ? INT32_MAX : last;
    return tn_i_op3(b, TN_P_clamp, tn_i_literal_i64(b, t.dtype, 0), x, tn_i_literal_i64(b, t.dtype, most));
}

/* Column c of index vectors, of their batch's shape. */
static tn_i_var column(tn_i_builder *b, tn_i_var indices, int64_t c) {
    const tn_type t = *tn_i_vtype(b, indices);
    int64_t from[TN_MAX_RANK] = {0}, to[TN_MAX_RANK];
    memcpy(to, t.dim, sizeof to);
    from[t.rank - 1] = c;
    to[t.rank - 1] = c + 1;
    return tn_i_reshape(b, tn_i_slice(b, indices, from, to, NULL), t.rank - 1, t.dim);
}

tn_i_var tn_i_flat_index(tn_i_builder *b, const tn_type *x, const int64_t *sizes, const int64_t *stride,
                         const tn_i_dnums *d, tn_i_var indices, bool clips) {
    tn_i_var index = TN_NOVAR, inside = TN_NOVAR;
    for (uint32_t c = 0; c < d->n[TN_MAP]; c++) {
        const int64_t i = d->v[TN_MAP][c];
        const tn_i_var at = column(b, indices, c), held = clamped(b, at, x->dim[i] - sizes[i]);
        const tn_type like = *tn_i_vtype(b, at);
        const tn_i_var far =
            stride[i] == 1 ? held : tn_i_op2(b, TN_P_mul, held, tn_i_whole_number(b, &like, stride[i]));
        index = index == TN_NOVAR ? far : tn_i_op2(b, TN_P_add, index, far);
        if (clips) continue;
        const tn_i_var is = tn_i_op2(b, TN_P_eq, at, held);
        inside = inside == TN_NOVAR ? is : tn_i_op2(b, TN_P_and, inside, is);
    }
    return clips ? index : tn_i_op3(b, TN_P_select, inside, index, tn_i_whole_number(b, tn_i_vtype(b, index), -1));
}

bool tn_i_in_a_row(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    if (tn_i_count(f->val[v].type) <= TN_M_MOVE_ELEMENTS || def >= f->neqn) return true;
    return f->eqn[def].prim->id == TN_P_reshape ? tn_i_in_a_row(f, tn_i_in(f, &f->eqn[def])[0])
                                                : !(f->eqn[def].prim->flags & TN_F_VIEW);
}
