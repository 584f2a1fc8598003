/* Reductions over any axis, normalization, pairs, integers and bools. */
#include "general.h"

#define PROGRAM(NAME) static tn_fn *NAME(tn_ctx *c, tn_dtype d, const int64_t *n)
#define F(...)        tn_f64(__VA_ARGS__)

/* softmax over the last axis, and over the first */
static tn_val softmax_last(const tn_val *in, void *user) {
    (void)user;
    return tn_softmax(in[0], -1);
}
static tn_val softmax_first(const tn_val *in, void *user) {
    (void)user;
    return tn_softmax(in[0], 0);
}
PROGRAM(make_softmax_last) { return general_trace(c, softmax_last, NULL, d, TN_ARGS(F(n[0], n[1]))); }
PROGRAM(make_softmax_first) { return general_trace(c, softmax_first, NULL, d, TN_ARGS(F(n[0], n[1]))); }

/* the gradient of sum of log-sum-exps times weights */
static tn_val logsumexp(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(in[1], tn_logsumexp(in[0], -1)));
}
PROGRAM(make_logsumexp_grad) {
    tn_fn *f = general_trace(c, logsumexp, NULL, d, TN_ARGS(F(n[0], n[1]), F(n[0])));
    return f ? tn_grad(f, tn_wrt(0), NULL) : NULL;
}

static tn_val layer_norm(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_sub(in[0], tn_mean_axis(in[0], -1, TN_KEEPDIMS));
    const tn_val var = tn_mean_axis(tn_square(x), -1, TN_KEEPDIMS);
    return tn_add(tn_mul(tn_mul(x, tn_rsqrt(tn_add(var, 1e-5))), in[1]), in[2]);
}
PROGRAM(make_layer_norm) { return general_trace(c, layer_norm, NULL, d, TN_ARGS(F(n[0], n[1]), F(n[1]), F(n[1]))); }

static tn_val standardize(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_sub(in[0], tn_mean_axis(in[0], 0));
    return tn_div(x, tn_sqrt(tn_add(tn_mean_axis(tn_square(x), 0), 1e-5)));
}
PROGRAM(make_standardize) { return general_trace(c, standardize, NULL, d, TN_ARGS(F(n[0], n[1]))); }

static void sums(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    for (int axis = 0; axis < 3; axis++) out[axis] = tn_sum_axis(in[0], axis);
}
PROGRAM(make_sums) {
    const tn_type t = {.dtype = (int32_t)d, .rank = 3, .dim = {n[0], n[1], n[2]}};
    return tn_trace_many(c, sums, NULL, 1, &t, 3);
}

static void extremes(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_max_axis(in[0], 0);
    out[1] = tn_min_axis(in[0], 1);
}
PROGRAM(make_extremes) {
    const tn_type t = {.dtype = (int32_t)d, .rank = 2, .dim = {n[0], n[1]}};
    return tn_trace_many(c, extremes, NULL, 1, &t, 2);
}

/* forces between all pairs */
static tn_val pairs(const tn_val *in, void *user) {
    (void)user;
    const tn_val d = tn_sub(tn_expand_dims(in[0], 0), tn_expand_dims(in[0], 1));
    const tn_val r2 = tn_add(tn_sum_axis(tn_square(d), -1, TN_KEEPDIMS), 0.01);
    return tn_sum_axis(tn_mul(d, tn_reciprocal(tn_mul(r2, tn_sqrt(r2)))), 1);
}
PROGRAM(make_pairs) { return general_trace(c, pairs, NULL, d, TN_ARGS(F(n[0], 3))); }

static tn_val energy(const tn_val *in, void *user) {
    (void)user;
    const tn_val d = tn_sub(tn_expand_dims(in[0], 0), tn_expand_dims(in[0], 1));
    return tn_mul(0.5, tn_sum(tn_rsqrt(tn_add(tn_sum_axis(tn_square(d), -1), 0.01))));
}
PROGRAM(make_pairs_grad) {
    tn_fn *f = general_trace(c, energy, NULL, d, TN_ARGS(F(n[0], 3)));
    return f ? tn_grad(f, NULL, NULL) : NULL;
}

static tn_val distances(const tn_val *in, void *user) {
    (void)user;
    return tn_sum_axis(tn_abs(tn_sub(tn_expand_dims(in[0], 1), tn_expand_dims(in[1], 0))), -1);
}
PROGRAM(make_distances) { return general_trace(c, distances, NULL, d, TN_ARGS(F(n[0], n[2]), F(n[1], n[2]))); }

static tn_val black_scholes(const tn_val *in, void *user) {
    (void)user;
    const tn_val s = in[0], k = in[1], t = in[2], vol = tn_mul(0.3, tn_sqrt(t));
    const tn_val d1 = tn_div(tn_add(tn_log(tn_div(s, k)), tn_mul(0.02 + 0.045, t)), vol), d2 = tn_sub(d1, vol);
    const tn_val n1 = tn_mul(0.5, tn_erfc(tn_mul(-0.70710678118654752, d1))),
                 n2 = tn_mul(0.5, tn_erfc(tn_mul(-0.70710678118654752, d2)));
    return tn_sub(tn_mul(s, n1), tn_mul(tn_mul(k, tn_exp(tn_mul(-0.02, t))), n2));
}
PROGRAM(make_black_scholes) { return general_trace(c, black_scholes, NULL, d, TN_ARGS(F(n[0]), F(n[0]), F(n[0]))); }

static tn_val huber(const tn_val *in, void *user) {
    (void)user;
    const tn_val r = tn_sub(in[0], in[1]), a = tn_abs(r);
    return tn_mean(tn_where(tn_lt(a, 0.3), tn_mul(0.5, tn_square(r)), tn_sub(tn_mul(0.3, a), 0.045)));
}
PROGRAM(make_huber) {
    tn_fn *f = general_trace(c, huber, NULL, d, TN_ARGS(F(n[0]), F(n[0])));
    return f ? tn_value_and_grad(f, tn_wrt(0), NULL) : NULL;
}

static tn_val polynomial(const tn_val *in, void *user) {
    (void)user;
    static const double a[] = {0.3, -1.1, 0.7, 0.25, -0.6, 0.9, -0.2, 0.05};
    tn_val y = tn_full_like(in[0], a[0]);
    for (int i = 1; i < 8; i++) y = tn_add(tn_mul(y, in[0]), a[i]);
    return y;
}
PROGRAM(make_polynomial) { return general_trace(c, polynomial, NULL, d, TN_ARGS(F(n[0]))); }

/* how many points are in both sets */
static tn_val counting(const tn_val *in, void *user) {
    (void)user;
    const tn_val in_both = tn_and(tn_gt(in[0], 0.2), tn_lt(tn_add(tn_square(in[0]), tn_square(in[1])), 1.0));
    return tn_sum(tn_where(in_both, tn_full_like(tn_convert(in[0], TN_I64), 1), 0));
}
PROGRAM(make_counting) { return general_trace(c, counting, NULL, d, TN_ARGS(F(n[0]), F(n[0]))); }

static tn_val integers(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_add(tn_mul(in[0], 1103515), in[1]);
    return tn_where(tn_gt(x, 70000), tn_sub(x, tn_mul(3, in[1])), tn_maximum(x, in[0]));
}
PROGRAM(make_integers) {
    (void)d;
    return tn_trace(c, integers, NULL, TN_ARGS(tn_i32(n[0]), tn_i32(n[0])));
}

static tn_val matvec(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_matmul(in[0], in[1]), tn_matmul(tn_t(in[0]), in[2]));
}
PROGRAM(make_matvec) { return general_trace(c, matvec, NULL, d, TN_ARGS(F(n[0], n[1]), F(n[1]), F(n[0]))); }

BY_HAND(softmax_last);
BY_HAND(softmax_first);
BY_HAND(logsumexp_grad);
BY_HAND(layer_norm);
BY_HAND(standardize);
BY_HAND(sums);
BY_HAND(extremes);
BY_HAND(pairs);
BY_HAND(distances);
BY_HAND(black_scholes);
BY_HAND(huber);
BY_HAND(polynomial);
BY_HAND(counting);
BY_HAND(integers);
BY_HAND(matvec);

static const program list[] = {
    {GENERAL("softmax_last", softmax_last), make_softmax_last, .size = {{1000, 1000}, {20000, 7}, {300, 65}}, -3, 3},
    {GENERAL("softmax_first", softmax_first), make_softmax_first, .size = {{1000, 1000}, {7, 5000}, {65, 300}}, -3, 3},
    {GENERAL("logsumexp_grad", logsumexp_grad), make_logsumexp_grad, .size = {{1000, 100}, {5000, 17}}, -3, 3},
    {GENERAL("layer_norm", layer_norm), make_layer_norm, .size = {{1000, 256}, {1000, 65}, {100, 5000}}, -3, 3},
    {GENERAL("standardize", standardize), make_standardize, .size = {{1000, 65}, {65, 1000}, {20000, 7}}, -3, 3},
    {GENERAL("sums", sums), make_sums, .size = {{200, 65, 100}, {30, 17, 7}}, 0, 1},
    {GENERAL("extremes", extremes), make_extremes, .size = {{500, 700}, {65, 33}}, 0, 1},
    {GENERAL("pairs", pairs), make_pairs, .size = {{512}, {100}, {65}}, -1, 1},
    {GENERAL("pairs_grad", pairs), make_pairs_grad, .size = {{512}, {100}}, -1, 1},
    {GENERAL("distances", distances), make_distances, .size = {{500, 400, 3}, {100, 65, 17}}, -1, 1},
    {GENERAL("black_scholes", black_scholes), make_black_scholes, .size = {{100000}, {1000}}, 0.5, 1.5},
    {GENERAL("huber", huber), make_huber, .size = {{100000}, {1000}}, -1, 1},
    {GENERAL("polynomial", polynomial), make_polynomial, .size = {{1000000}, {5000}, {65}}, -1, 1},
    {GENERAL("counting", counting), make_counting, .size = {{100000}, {1000}}, -1, 1},
    {GENERAL("integers", integers), make_integers, .size = {{100000}, {1000}}, 0, 1, .below = 1000},
    {GENERAL("matvec", matvec), make_matvec, .size = {{1000, 1000}, {65, 65}, {7, 7}}, -1, 1},
};
const programs general_arrays = {sizeof list / sizeof *list, list};
