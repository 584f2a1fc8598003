/* What moves: transposes, gathers and scatter-adds, cumulative sums, stencils, sparse and dense Jacobians. */
#include "general.h"

#define PROGRAM(NAME) static tn_fn *NAME(tn_ctx *c, tn_dtype d, const int64_t *n)
#define F(...)        tn_f64(__VA_ARGS__)

static tn_val transposed(const tn_val *in, void *user) {
    (void)user;
    return tn_t(in[0]);
}
PROGRAM(make_transposed) { return general_trace(c, transposed, NULL, d, TN_ARGS(F(n[0], n[1]))); }

static tn_val permuted(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(2.0, tn_permute(in[0], 2, 0, 1));
}
PROGRAM(make_permuted) { return general_trace(c, permuted, NULL, d, TN_ARGS(F(n[0], n[1], n[2]))); }

static tn_val gather(const tn_val *in, void *user) {
    (void)user;
    return tn_take(in[0], in[1], 0, TN_CLIP_INDICES);
}
PROGRAM(make_gather) { return general_trace(c, gather, NULL, d, TN_ARGS(F(n[1]), tn_i32(n[0]))); }

static tn_val scattered(const tn_val *in, void *user) {
    (void)user;
    return tn_index_add(in[0], in[1], in[2], 0);
}
PROGRAM(make_scattered) { return general_trace(c, scattered, NULL, d, TN_ARGS(F(n[1]), tn_i32(n[0]), F(n[0]))); }

/* linear interpolation in a table */
static tn_val interpolated(const tn_val *in, void *user) {
    const int64_t last = *(const int64_t *)user - 1;
    const tn_val at = tn_clip(tn_mul((double)last, in[1]), 0.0, (double)last - 1), low = tn_floor(at);
    const tn_val i = tn_convert(low, TN_I32), w = tn_sub(at, low);
    const tn_val y = tn_take(in[0], i, 0, TN_CLIP_INDICES), z = tn_take(in[0], tn_add(i, 1), 0, TN_CLIP_INDICES);
    return tn_add(y, tn_mul(w, tn_sub(z, y)));
}
PROGRAM(make_interpolated) { return general_trace(c, interpolated, &n[1], d, TN_ARGS(F(n[1]), F(n[0]))); }

static tn_val cumsum(const tn_val *in, void *user) {
    (void)user;
    return tn_cumsum(in[0], 0);
}
static tn_val cumprod(const tn_val *in, void *user) {
    (void)user;
    return tn_cumprod(in[0], 0);
}
static tn_val cummax(const tn_val *in, void *user) {
    (void)user;
    return tn_cummax(in[0], 0);
}
static tn_val weighed_cumprod(const tn_val *in, void *user) {
    (void)user;
    return tn_dot(in[1], tn_cumprod(in[0], 0));
}
PROGRAM(make_cumsum) { return general_trace(c, cumsum, NULL, d, TN_ARGS(F(n[0]))); }
PROGRAM(make_cumprod) { return general_trace(c, cumprod, NULL, d, TN_ARGS(F(n[0]))); }
PROGRAM(make_cummax) { return general_trace(c, cummax, NULL, d, TN_ARGS(F(n[0]))); }
PROGRAM(make_cumprod_grad) {
    tn_fn *f = general_trace(c, weighed_cumprod, NULL, d, TN_ARGS(F(n[0]), F(n[0])));
    return f ? tn_grad(f, tn_wrt(0), NULL) : NULL;
}
PROGRAM(make_cumsum_rows) { return general_trace(c, cumsum, NULL, d, TN_ARGS(F(n[0], n[1]))); }

static tn_val smoothed(const tn_val *in, void *user) {
    static const double w[] = {0.1, 0.25, 0.3, 0.25, 0.1};
    const int64_t n = *(const int64_t *)user;
    tn_val y = tn_mul(w[0], tn_slice_axis(in[0], 0, n - 4, 1, 0));
    for (int k = 1; k < 5; k++) y = tn_add(y, tn_mul(w[k], tn_slice_axis(in[0], k, n - 4 + k, 1, 0)));
    return y;
}
PROGRAM(make_smoothed) { return general_trace(c, smoothed, n, d, TN_ARGS(F(n[0]))); }

/* 7 points of a grid of three axes */
static tn_val laplacian(const tn_val *in, void *user) {
    (void)user;
    tn_val y = tn_mul(-6.0, in[0]);
    for (int axis = 0; axis < 3; axis++) y = tn_add(y, tn_add(tn_roll(in[0], 1, axis), tn_roll(in[0], -1, axis)));
    return y;
}
PROGRAM(make_laplacian) { return general_trace(c, laplacian, NULL, d, TN_ARGS(F(n[0], n[1], n[2]))); }

/* steps of heat flow on a plate whose edge is cold */
static void heat_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    const int64_t *n = user;
    const tn_val u = carry[0], p = tn_pad(u, 0.0, tn_ints(1, 1), tn_ints(1, 1), tn_ints(0, 0));
    const tn_val up = tn_slice(p, tn_ints(0, 1), tn_ints(n[0], n[1] + 1), tn_ints(1, 1)),
                 down = tn_slice(p, tn_ints(2, 1), tn_ints(n[0] + 2, n[1] + 1), tn_ints(1, 1)),
                 left = tn_slice(p, tn_ints(1, 0), tn_ints(n[0] + 1, n[1]), tn_ints(1, 1)),
                 right = tn_slice(p, tn_ints(1, 2), tn_ints(n[0] + 1, n[1] + 2), tn_ints(1, 1));
    const tn_val around = tn_add(tn_add(up, down), tn_add(left, right));
    next[0] = tn_add(u, tn_mul(0.2, tn_sub(around, tn_mul(4.0, u))));
}
static tn_val heat(const tn_val *in, void *user) {
    const int64_t *n = user;
    tn_val u = in[0];
    tn_fori(tn_val_ctx(u), 0, n[2], heat_step, user, 1, &u, &u, NULL);
    return u;
}
PROGRAM(make_heat) { return general_trace(c, heat, n, d, TN_ARGS(F(n[0], n[1]))); }

/* the dense Jacobian of what is banded */
static tn_val banded(const tn_val *in, void *user) {
    const int64_t n = *(const int64_t *)user;
    const tn_val x = in[0], p = tn_pad(x, 1.0, tn_ints(1), tn_ints(1), tn_ints(0));
    return tn_sub(tn_mul(tn_slice_axis(p, 0, n, 1, 0), tn_slice_axis(p, 2, n + 2, 1, 0)), tn_sin(x));
}
PROGRAM(make_banded) {
    tn_fn *f = general_trace(c, banded, n, d, TN_ARGS(F(n[0])));
    return f ? tn_jacfwd(f, NULL, 0) : NULL;
}

static tn_val outer_sum(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_expand_dims(in[0], 1), in[1]);
}
PROGRAM(make_outer_sum) { return general_trace(c, outer_sum, NULL, d, TN_ARGS(F(n[0]), F(n[1]))); }

BY_HAND(transposed);
BY_HAND(permuted);
BY_HAND(gather);
BY_HAND(scattered);
BY_HAND(interpolated);
BY_HAND(cumsum);
BY_HAND(cumprod);
BY_HAND(cummax);
BY_HAND(cumprod_grad);
BY_HAND(cumsum_rows);
BY_HAND(smoothed);
BY_HAND(laplacian);
BY_HAND(heat);
BY_HAND(banded);
BY_HAND(outer_sum);

static const program list[] = {
    {GENERAL("transposed", transposed), make_transposed, .size = {{2000, 2000}, {65, 33}, {5000, 7}}, 0, 1},
    {GENERAL("permuted", permuted), make_permuted, .size = {{100, 50, 200}, {7, 65, 33}}, 0, 1},
    {GENERAL("gather", gather), make_gather, .size = {{1000000, 100000}, {1000, 500}}, 0, 1, .below = 500},
    {GENERAL("scattered", scattered), make_scattered, .size = {{1000000, 100000}, {1000, 500}}, 0, 1, .below = 500},
    {GENERAL("interpolated", interpolated), make_interpolated, .size = {{100000, 1000}, {1000, 65}}, 0, 1,
     .tolerance32 = 1e-2},
    {GENERAL("cumsum", cumsum), make_cumsum, .size = {{1000000}, {5000}, {65}}, 0, 1},
    {GENERAL("cumprod", cumprod), make_cumprod, .size = {{1000000}, {5000}, {65}}, 0.999999, 1.000001,
     .tolerance32 = 1e-1},
    {GENERAL("cummax", cummax), make_cummax, .size = {{1000000}, {5000}}, 0, 1},
    {GENERAL("cumprod_grad", cumprod_grad), make_cumprod_grad, .size = {{100000}, {1000}}, 0.9999, 1.0001},
    {GENERAL("cumsum_rows", cumsum_rows), make_cumsum_rows, .size = {{1000, 1000}, {65, 33}}, 0, 1},
    {GENERAL("smoothed", smoothed), make_smoothed, .size = {{1000000}, {5000}, {65}}, 0, 1},
    {GENERAL("laplacian", laplacian), make_laplacian, .size = {{100, 100, 100}, {17, 33, 65}}, 0, 1},
    {GENERAL("heat", heat), make_heat, .size = {{512, 512, 50}, {65, 33, 100}, {7, 7, 1000}}, 0, 1},
    {GENERAL("banded", banded), make_banded, .size = {{1000}, {65}}, 0, 1},
    {GENERAL("outer_sum", outer_sum), make_outer_sum, .size = {{1000, 1000}, {5000, 7}}, 0, 1},
};
const programs general_moves = {sizeof list / sizeof *list, list};
