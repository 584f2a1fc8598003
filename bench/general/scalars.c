/* Straight-line programs of scalars: n[0] rounds of five operations. */
#include "general.h"

static tn_val straight(const tn_val *in, void *user) {
    tn_val x = in[0], y = in[1];
    for (int64_t i = 0; i < *(const int64_t *)user; i++) {
        x = tn_add(tn_mul(x, 0.7), tn_mul(0.2, y));
        y = tn_sub(tn_mul(y, x), 0.3);
    }
    return tn_add(x, y);
}

static tn_fn *make_straight(tn_ctx *c, tn_dtype d, const int64_t *n) {
    return general_trace(c, straight, n, d, TN_ARGS(tn_f64(), tn_f64()));
}
static tn_fn *make_straight_grad(tn_ctx *c, tn_dtype d, const int64_t *n) {
    tn_fn *f = make_straight(c, d, n);
    return f ? tn_grad(f, tn_wrt(0, 1), NULL) : NULL;
}

BY_HAND(straight);
BY_HAND(straight_grad);

static const program list[] = {
    {GENERAL("straight", straight), make_straight, .size = {{10}, {200}, {2000}}, 0.1, 0.5},
    {GENERAL("straight_grad", straight_grad), make_straight_grad, .size = {{10}, {200}, {2000}}, 0.1, 0.5},
};
const programs general_scalars = {sizeof list / sizeof *list, list};
