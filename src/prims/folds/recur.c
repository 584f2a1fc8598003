/* Shifts, running products and recurrences as equations. */
#include "prims/ids.h"
#include "prims/folds/recur.h"
#include "prims/arrays/shape.h"

tn_i_var tn_i_shift(tn_i_builder *b, tn_i_var x, int axis, int by, double fill) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    int64_t config[3 * TN_MAX_RANK] = {0};
    config[3 * axis] = by;
    config[3 * axis + 1] = -by;
    return tn_i_pad(b, x, tn_i_literal_f64(b, tn_i_vtype(b, x)->dtype, fill), config);
}

tn_i_var tn_i_cumulate(tn_i_builder *b, int id, tn_i_var x, int axis, bool reverse) {
    const tn_i_param p[2] = {{.kind = TN_K_INT, .u.i = axis}, {.kind = TN_K_BOOL, .u.i = reverse}};
    return tn_i_emit(b, tn_i_prim(b, id), p, 1, &x);
}

tn_i_var tn_i_recurrence(tn_i_builder *b, tn_i_var a, tn_i_var x, int axis, bool reverse) {
    const tn_i_param p[2] = {{.kind = TN_K_INT, .u.i = axis}, {.kind = TN_K_BOOL, .u.i = reverse}};
    const tn_i_var in[2] = {a, x};
    return tn_i_emit(b, tn_i_prim(b, TN_P_linear_recurrence), p, 2, in);
}
