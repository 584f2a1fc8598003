/* Shifts, running products and recurrences as equations. */
#include "prims/recur.h"
#include "prims/shape.h"

static tn_i_var pad(tn_i_builder *b, tn_i_var x, int axis, int64_t low, int64_t high, int64_t interior, double fill) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    int64_t config[3 * TN_MAX_RANK] = {0};
    config[3 * axis] = low;
    config[3 * axis + 1] = high;
    config[3 * axis + 2] = interior;
    return tn_i_pad(b, x, tn_i_literal_f64(b, tn_i_vtype(b, x)->dtype, fill), config);
}

tn_i_var tn_i_shift(tn_i_builder *b, tn_i_var x, int axis, int by, double fill) {
    return pad(b, x, axis, by, -by, 0, fill);
}

tn_i_var tn_i_cumulate(tn_i_builder *b, int id, tn_i_var x, int axis, bool reverse) {
    const tn_i_param p[2] = {{.kind = TN_K_INT, .u.i = axis}, {.kind = TN_K_BOOL, .u.i = reverse}};
    return tn_i_emit(b, tn_i_prim(b, id), p, 1, &x);
}

/* The elements first, first + step, ... before limit. */
static tn_i_var every(tn_i_builder *b, tn_i_var x, int axis, int64_t first, int64_t limit, int64_t step) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, x);
    int64_t start[TN_MAX_RANK] = {0}, end[TN_MAX_RANK], steps[TN_MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        end[i] = t->dim[i];
        steps[i] = 1;
    }
    start[axis] = first;
    end[axis] = limit;
    steps[axis] = step;
    return tn_i_slice(b, x, start, end, step == 1 ? NULL : steps);
}

static tn_i_var affine(tn_i_builder *b, tn_i_var a, tn_i_var y, tn_i_var c) {
    return tn_i_op2(b, TN_P_add, tn_i_op2(b, TN_P_mul, a, y), c);
}

/* Neighbours are composed, the half-length recurrence gives the odd places, and one more step
 * from each of those the even ones. */
static tn_i_var forward(tn_i_builder *b, tn_i_var a, tn_i_var c, int axis) {
    if (b->failed || c == TN_NOVAR) return TN_NOVAR;
    const int64_t n = tn_i_vtype(b, c)->dim[axis], pairs = n / 2, evens = n - pairs;
    if (n <= 1) return c;
    const tn_i_var a1 = every(b, a, axis, 1, n, 2);
    const tn_i_var c0 = every(b, c, axis, 0, 2 * pairs, 2), c1 = every(b, c, axis, 1, n, 2);
    const tn_i_var a2 = pairs == 1 ? a1 : tn_i_op2(b, TN_P_mul, a1, every(b, a, axis, 0, 2 * pairs, 2));
    const tn_i_var odd = forward(b, a2, affine(b, a1, c0, c1), axis);
    tn_i_var even = every(b, c, axis, 0, 1, 1);
    if (evens > 1) {
        const tn_i_var a0 = every(b, a, axis, 2, n, 2), before = every(b, odd, axis, 0, evens - 1, 1);
        const tn_i_var next = affine(b, a0, before, every(b, c, axis, 2, n, 2));
        const tn_i_var both[2] = {even, next};
        even = tn_i_concatenate(b, 2, both, axis);
    }
    even = pad(b, even, axis, 0, evens == pairs, 1, 0.0);
    return tn_i_op2(b, TN_P_add, even, pad(b, odd, axis, 1, evens != pairs, 1, 0.0));
}

tn_i_var tn_i_recurrence(tn_i_builder *b, tn_i_var a, tn_i_var c, int axis, bool reverse) {
    if (!reverse) return forward(b, a, c, axis);
    const int64_t dim = axis;
    a = tn_i_rev(b, a, 1, &dim);
    c = tn_i_rev(b, c, 1, &dim);
    return tn_i_rev(b, forward(b, a, c, axis), 1, &dim);
}
