/* Sorting along a dimension of a few elements as what nests compute: neighbours are exchanged where they stand wrong,
 * as often as insertion needs in the worst case, for all rows at once.  Only neighbours: so equal ones keep their
 * order, as in the kernel (prims/arrays/sort.c), of which -0 and 0 are such.  The first few of some more (top_k) are a
 * list in which each element is inserted, where it is better than some.  A slice of the result is put together of what
 * it has, and exchanges that nobody's result needs go, as of all but the median. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/arrays/order.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { MOST_OPERANDS = 4 };

static int axis_of(const tn_fn *f, const tn_i_eqn *e) {
    const tn_i_param *p = tn_i_p(e);
    return e->prim->id == TN_P_sort ? (int)p[TN_SORT_DIMENSION].u.i : tn_i_top_axis(p, f->val[tn_i_in(f, e)[0]].type);
}

static bool is_short_list(const tn_fn *f, const tn_i_eqn *e) {
    if (e->prim->id != TN_P_top_k) return false;
    const tn_type *t = f->val[tn_i_in(f, e)[0]].type;
    const int64_t k = tn_i_p(e)[TN_TOP_K].u.i, n = t->dim[axis_of(f, e)];
    if (t->varying || tn_i_has_steps(t) || tn_i_is_held(t->dtype) || t->dtype == TN_BOOL || tn_i_count(t) == 0)
        return false;
    return k > 0 && k <= TN_M_SORT_STEPS && n <= TN_M_TOP_INSERTIONS / k;
}

static bool is_small_sort(const tn_fn *f, const tn_i_eqn *e) {
    if (e->prim->id != TN_P_sort || e->nin > MOST_OPERANDS || tn_i_p(e)[TN_SORT_KEYS].u.i != 1) return false;
    const tn_type *t = f->val[tn_i_in(f, e)[0]].type;
    if (t->dim[tn_i_p(e)[TN_SORT_DIMENSION].u.i] > TN_M_SORT_STEPS || tn_i_count(t) == 0) return false;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_type *x = f->val[tn_i_in(f, e)[k]].type;
        if (x->varying || tn_i_has_steps(x) || tn_i_is_held(x->dtype)) return false;
    }
    return t->dtype != TN_BOOL;
}

/* x may stand in front of y: NaNs come last. */
static tn_i_var stands_right(tn_i_builder *b, int dtype, tn_i_var x, tn_i_var y) {
    const tn_i_var right = tn_i_op2(b, TN_P_le, x, y);
    return tn_i_is_float(dtype) ? tn_i_op2(b, TN_P_or, right, tn_i_op2(b, TN_P_ne, y, y)) : right;
}

static bool is_small(const tn_fn *f, const tn_i_eqn *e) { return is_small_sort(f, e) || is_short_list(f, e); }

typedef tn_i_var row[TN_M_SORT_STEPS]; /* the elements of an operand */

static void exchange(tn_i_builder *b, int dtype, uint32_t n, row *x, int64_t i) {
    const tn_i_var right = stands_right(b, dtype, x[0][i], x[0][i + 1]);
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_var first = x[k][i], second = x[k][i + 1];
        x[k][i] = tn_i_op3(b, TN_P_select, right, first, second);
        x[k][i + 1] = tn_i_op3(b, TN_P_select, right, second, first);
    }
}

typedef struct sorts {
    uint32_t *at; /* of each value: 1 + its row, if it is the result of one */
    row *of;
    uint32_t n;
} sorts;

static tn_i_var joined(tn_i_builder *b, const tn_i_var *x, int64_t n, int axis) {
    return n == 1 ? x[0] : tn_i_concatenate(b, (uint32_t)n, x, axis);
}

/* A part of what is sorted, and of other dimensions. */
static bool put_slice(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const sorts *s) {
    const tn_i_var v = e->prim->id == TN_P_slice ? tn_i_in(f, e)[0] : TN_NOVAR;
    if (v == TN_NOVAR || !s->at[v] || tn_i_count(f->val[e->out].type) == 0) return false;
    const tn_i_param *p = tn_i_p(e);
    const int axis = axis_of(f, &f->eqn[f->val[v].def]);
    const tn_type *t = f->val[v].type;
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], stride[TN_MAX_RANK], n = 0;
    row x;
    for (int d = 0; d < t->rank; d++) {
        start[d] = p[0].u.ints[d];
        limit[d] = p[1].u.ints[d];
        stride[d] = p[2].kind == TN_K_NONE ? 1 : p[2].u.ints[d];
    }
    for (int64_t i = start[axis]; i < limit[axis]; i += stride[axis]) x[n++] = s->of[s->at[v] - 1][i];
    start[axis] = 0;
    limit[axis] = n;
    stride[axis] = 1;
    map[e->out] = tn_i_slice(b, joined(b, x, n, axis), start, limit, stride);
    return true;
}

static void sort(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, row *x) {
    const tn_type *t = f->val[tn_i_in(f, e)[0]].type;
    const int axis = axis_of(f, e);
    const int64_t n = t->dim[axis];
    for (uint32_t k = 0; k < e->nin; k++)
        for (int64_t i = 0; i < n; i++)
            x[k][i] = tn_i_slice_dimension(b, tn_i_mapped(b, f, map, tn_i_in(f, e)[k]), axis, i, 1, 1);
    for (int64_t end = 1; end < n; end++)
        for (int64_t i = end; i-- > 0;) exchange(b, t->dtype, e->nin, x, i);
}

/* v, of number `at`, into the list x of n that holds `have`, behind all that are as good: those that are not move on.
 */
static void insert(tn_i_builder *b, int dtype, row *x, int64_t n, int64_t have, tn_i_var v, tn_i_var at) {
    row behind, was[2];
    memcpy(was, x, sizeof was);
    for (int64_t i = 0; i < have; i++) behind[i] = stands_right(b, dtype, v, was[0][i]);
    for (int64_t i = 0; i <= have && i < n; i++)
        for (int k = 0; k < 2; k++) {
            const tn_i_var mine = k ? at : v,
                           moved = i ? tn_i_op3(b, TN_P_select, behind[i - 1], mine, was[k][i - 1]) : mine;
            x[k][i] = i < have ? tn_i_op3(b, TN_P_select, behind[i], was[k][i], moved) : moved;
        }
}

static void list(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, row *x) {
    const tn_type *t = f->val[tn_i_in(f, e)[0]].type;
    const int axis = axis_of(f, e);
    const int64_t n = tn_i_p(e)[TN_TOP_K].u.i;
    for (int64_t i = 0; i < t->dim[axis]; i++) {
        const tn_i_var v = tn_i_slice_dimension(b, tn_i_mapped(b, f, map, tn_i_in(f, e)[0]), axis, i, 1, 1);
        const tn_i_var at = tn_i_broadcast(b, tn_i_literal_i64(b, TN_I32, i), t->rank, tn_i_vtype(b, v)->dim, NULL);
        insert(b, t->dtype, x, n, i < n ? i : n, v, at);
    }
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const sorts *s = with;
    if (!is_small(f, e)) return put_slice(b, f, e, map, s);
    row x[MOST_OPERANDS];
    if (e->prim->id == TN_P_sort)
        sort(b, f, e, map, x);
    else
        list(b, f, e, map, x);
    for (uint32_t k = 0; k < e->nout; k++) {
        map[e->out + k] = joined(b, x[k], f->val[e->out + k].type->dim[axis_of(f, e)], axis_of(f, e));
        memcpy(s->of[s->at[e->out + k] - 1], x[k], sizeof(row));
    }
    return true;
}

tn_fn *tn_i_small_sorts(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    sorts s = {.n = 0};
    tn_fn *g = NULL;
    for (uint32_t i = 0; i < f->neqn; i++) s.n += is_small(f, &f->eqn[i]) ? f->eqn[i].nout : 0;
    if (s.n == 0) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    s.at = tn_i_alloc_array(c, f->nval, sizeof *s.at);
    s.of = tn_i_alloc_array(c, s.n, sizeof *s.of);
    for (uint32_t i = 0, n = 0; s.at && i < f->neqn; i++)
        for (uint32_t k = 0; k < f->eqn[i].nout && is_small(f, &f->eqn[i]); k++) s.at[f->eqn[i].out + k] = ++n;
    if (s.at && s.of) g = tn_i_rewritten(f, NULL, f->neqn, put, &s);
    tn_i_free(c, s.at, f->nval * sizeof *s.at);
    tn_i_free(c, s.of, s.n * sizeof *s.of);
    return g;
}
