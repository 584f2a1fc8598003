/* Cumulative operations over a few elements as what nests compute: each element made of the one before, all put
 * together in the end.  As the kernels do (prims/folds/cumulative.c, prims/folds/linear_recurrence.c), one after the
 * other, sums and products of floats in f64. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/folds/lanes.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

typedef struct scanned {
    int id, axis, dtype; /* dtype: of what goes on from element to element */
    tn_i_var x, a;       /* a: factors, or TN_NOVAR */
} scanned;

static bool is_small(const tn_fn *f, const tn_i_eqn *e) {
    switch (e->prim->id) {
    case TN_P_cumsum:
    case TN_P_cumprod:
    case TN_P_cummax:
    case TN_P_cummin:
    case TN_P_linear_recurrence: break;
    default: return false;
    }
    if (!tn_i_space_admits(f, e)) return false;
    const tn_type *t = f->val[e->out].type;
    return !t->varying && tn_i_count(t) > 0 && t->dim[tn_i_p(e)[TN_SCAN_AXIS].u.i] <= TN_M_SCAN_STEPS;
}

static tn_i_var element(tn_i_builder *b, const scanned *s, tn_i_var v, int64_t i) {
    return tn_i_convert(b, tn_i_slice_dimension(b, v, s->axis, i, 1, 1), s->dtype);
}

/* x where it is beyond y, or no number. */
static tn_i_var farther(tn_i_builder *b, int beyond, tn_i_var x, tn_i_var y) {
    if (!tn_i_is_float(tn_i_vtype(b, x)->dtype)) return tn_i_op2(b, beyond == TN_P_gt ? TN_P_max : TN_P_min, x, y);
    const tn_i_var takes = tn_i_op2(b, TN_P_or, tn_i_op2(b, beyond, x, y), tn_i_op2(b, TN_P_ne, x, x));
    return tn_i_op3(b, TN_P_select, takes, x, y);
}

static tn_i_var step(tn_i_builder *b, const scanned *s, int64_t i, tn_i_var y) {
    const tn_i_var x = element(b, s, s->x, i);
    if (y == TN_NOVAR) return s->id == TN_P_cumsum ? tn_i_op2(b, TN_P_add, tn_i_number_like(b, x, 0), x) : x;
    switch (s->id) {
    case TN_P_cumsum: return tn_i_op2(b, TN_P_add, y, x);
    case TN_P_cumprod: return tn_i_op2(b, TN_P_mul, y, x);
    case TN_P_cummax: return farther(b, TN_P_gt, x, y);
    case TN_P_cummin: return farther(b, TN_P_lt, x, y);
    default: return tn_i_fma(b, TN_FMA_ADD, element(b, s, s->a, i), y, x);
    }
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    (void)with;
    if (!is_small(f, e)) return false;
    const tn_type *t = f->val[e->out].type;
    const bool recurs = e->nin == 2, adds = recurs || e->prim->id == TN_P_cumsum || e->prim->id == TN_P_cumprod;
    const scanned s = {.id = e->prim->id,
                       .axis = (int)tn_i_p(e)[TN_SCAN_AXIS].u.i,
                       .dtype = adds && t->dtype == TN_F32 ? TN_F64 : t->dtype,
                       .x = tn_i_mapped(b, f, map, tn_i_in(f, e)[recurs]),
                       .a = recurs ? tn_i_mapped(b, f, map, tn_i_in(f, e)[0]) : TN_NOVAR};
    const int64_t n = t->dim[s.axis];
    tn_i_var out[TN_M_SCAN_STEPS], y = TN_NOVAR;
    b->linear = e->linear;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = tn_i_p(e)[TN_SCAN_REVERSE].u.i ? n - 1 - k : k;
        y = step(b, &s, i, y);
        out[i] = tn_i_convert(b, y, t->dtype);
    }
    b->linear = false;
    map[e->out] = n == 1 ? out[0] : tn_i_concatenate(b, (uint32_t)n, out, s.axis);
    return true;
}

tn_fn *tn_i_small_scans(const tn_fn *f) {
    bool some = false;
    for (uint32_t i = 0; i < f->neqn; i++) some |= is_small(f, &f->eqn[i]);
    return some ? tn_i_rewritten(f, NULL, f->neqn, put, NULL) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
