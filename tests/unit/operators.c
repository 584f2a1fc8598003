/* Operators: values and derivatives where conventions decide, and two ways to say the same. */
#include "unit/tracing.h"

/* Value and derivative of an elementwise f at n points (forward and reverse agree). */
static void at_points(tn_trace_fn f, size_t n, const double *x, const double *y, const double *dy) {
    tn_ctx *c = checked();
    double got[16], slope[16], back[16], ones[16];
    for (size_t i = 0; i < n; i++) ones[i] = 1;
    tn_fn *p = tn_trace(c, f, c, 1, TN_TYPES(tn_f64((int64_t)n)));
    if (!p) fail_msg("%s", tn_error(c));
    run(tn_jvp(p, NULL), TN_INPUTS(x, ones), TN_OUTPUTS(got, slope));
    close_to(got, y, n, 1e-14);
    close_to(slope, dy, n, 1e-14);
    run(tn_vjp(p, NULL, NULL), TN_INPUTS(x, ones), TN_OUTPUTS(NULL, back));
    close_to(back, dy, n, 1e-14);
    tn_ctx_free(c);
}

#define POINTWISE(name, expression)                    \
    static tn_val name(const tn_val *in, void *user) { \
        (void)user;                                    \
        return expression;                             \
    }
POINTWISE(p_relu, tn_relu(in[0]))
POINTWISE(p_softplus, tn_softplus(in[0]))
POINTWISE(p_log_sigmoid, tn_log_sigmoid(in[0]))
POINTWISE(p_logaddexp, tn_logaddexp(in[0], 0.0))
POINTWISE(p_hypot, tn_hypot(in[0], 3.0))
POINTWISE(p_hypot_nan, tn_hypot(in[0], NAN))
POINTWISE(p_hypot_of_nan, tn_hypot(NAN, in[0]))
POINTWISE(p_hypot_inf, tn_hypot(in[0], HUGE_VAL))
POINTWISE(p_logaddexp_nan, tn_logaddexp(in[0], NAN))
POINTWISE(p_xlogy, tn_xlogy(in[0], 2.0))
POINTWISE(p_xlogy0, tn_xlogy(in[0], 0.0))
POINTWISE(p_log1mexp, tn_log1mexp(in[0]))
POINTWISE(p_clip, tn_clip(in[0], -1, 1))
POINTWISE(p_elu, tn_elu(in[0], 2.0))

static void test_kinks(void **state) {
    (void)state;
    const double inf = HUGE_VAL, ln2 = 0.693147180559945309417;
    at_points(p_relu, 4, P(-1, 0, 2, -inf), P(0, 0, 2, 0), P(0, 0, 1, 0));
    at_points(p_softplus, 6, P(0, 800, -800, -50, inf, -inf), P(ln2, 800, 0, exp(-50), inf, 0),
              P(.5, 1, 0, exp(-50), 1, 0));
    at_points(p_log_sigmoid, 4, P(0, 800, -800, 50), P(-ln2, 0, -800, -exp(-50)), P(.5, 0, 1, exp(-50)));
    at_points(p_logaddexp, 4, P(0, 800, -800, inf), P(ln2, 800, 0, inf), P(.5, 1, 0, 1));
    at_points(p_hypot_nan, 4, P(inf, -inf, 1, NAN), P(inf, inf, NAN, NAN), P(1, -1, NAN, NAN));
    at_points(p_hypot_of_nan, 4, P(inf, -inf, 1, NAN), P(inf, inf, NAN, NAN), P(1, -1, NAN, NAN));
    at_points(p_hypot_inf, 3, P(NAN, 1, inf), P(inf, inf, inf), P(0, 0, 1));
    at_points(p_logaddexp, 2, P(NAN, -inf), P(NAN, 0), P(NAN, 0));
    at_points(p_logaddexp_nan, 3, P(0, inf, NAN), P(NAN, NAN, NAN), P(NAN, NAN, NAN));
    at_points(p_hypot, 4, P(4, -4, 3, 1e200), P(5, 5, 3 * sqrt(2), 1e200), P(.8, -.8, sqrt(.5), 1));
    at_points(p_xlogy, 2, P(0, 3), P(0, 3 * ln2), P(ln2, ln2));
    at_points(p_xlogy0, 1, P(0), P(0), P(0));
    at_points(p_log1mexp, 2, P(1e-20, 50), P(log(1e-20), -exp(-50)), P(1e20, exp(-50)));
    at_points(p_clip, 3, P(-1, 0.5, 1), P(-1, 0.5, 1), P(0, 1, 0));
    at_points(p_elu, 3, P(1, 0, -800), P(1, 0, -2), P(1, 2, 0));
}

/* Twice differentiable where two branches meet: softplus''(0) = 1/4. */
static void test_smooth_at_ties(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, p_softplus, NULL, 1, TN_TYPES(tn_f64()));
    double x = 0, h = 0;
    run(tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&h));
    close_to(&h, P(0.25), 1, 1e-15);
    tn_ctx_free(c);
}

/* One program, one result: the sum of |difference| of two ways to say the same. */
static double difference(tn_trace_fn f, size_t nin, const tn_type *in, const void *const *data) {
    tn_ctx *c = checked();
    double d = -1;
    tn_fn *p = tn_trace(c, f, c, nin, in);
    if (!p) fail_msg("%s", tn_error(c));
    run(p, data, TN_OUTPUTS(&d));
    tn_ctx_free(c);
    return d;
}

static tn_val apart(tn_val x, tn_val y) {
    for (int i = 0; i < tn_rank(x) || i < tn_rank(y); i++) assert_int_equal(tn_dim(x, i), tn_dim(y, i));
    return tn_sum(tn_abs(tn_sub(x, y)));
}

static tn_val same_products(const tn_val *in, void *user) { /* a [2,3,4], b [2,4,5], m [3,4], v [4] */
    (void)user;
    tn_val a = in[0], b = in[1], m = in[2], v = in[3];
    tn_val d = apart(tn_matmul(a, b), tn_einsum("bij,bjk->bik", tn_vals(a, b)));
    d = tn_add(d, apart(tn_matmul(a, v), tn_sum_axis(tn_mul(a, v), -1)));
    d = tn_add(d, apart(tn_matmul(m, b), tn_einsum("ij,...jk", tn_vals(m, b))));
    d = tn_add(d, apart(tn_tensordot(m, v, 1), tn_dot(m, v)));
    d = tn_add(d, apart(tn_einsum("ij,kj->ki", tn_vals(m, m)), tn_t(tn_matmul(m, tn_t(m)))));
    d = tn_add(d, apart(tn_outer(v, v), tn_einsum("i,j", tn_vals(v, v))));
    d = tn_add(d, apart(tn_einsum("ii->i", tn_vals(tn_outer(v, v))), tn_diag(tn_outer(v, v))));
    d = tn_add(d, apart(tn_trace_of(tn_outer(v, v)), tn_vdot(v, v)));
    d = tn_add(d, apart(tn_matmul(m, tn_diag(v)), tn_mul(m, v)));
    d = tn_add(d, apart(tn_einsum("ij,jk,k->i", tn_vals(m, tn_outer(v, v), v)), tn_mul(tn_dot(m, v), tn_vdot(v, v))));
    return d;
}

static tn_val same_shapes(const tn_val *in, void *user) {
    (void)user;
    tn_val a = in[0], m = in[2], v = in[3];
    tn_val rows[3] = {tn_at(m, 0), tn_at(m, 1), tn_at(m, -1)}, parts[2];
    tn_split(m, tn_ints(1, 2), 0, parts);
    tn_val d = apart(tn_stack(tn_vals_of(3, rows), 0), m);
    d = tn_add(d, apart(tn_concatenate(tn_vals_of(2, parts), 0), m));
    d = tn_add(d, apart(tn_moveaxis(a, 0, -1), tn_permute(a, 1, 2, 0)));
    d = tn_add(d, apart(tn_roll(v, 1, 0),
                        tn_concatenate(tn_vals(tn_slice_axis(v, -1, 4, 1, 0), tn_slice_axis(v, 0, -1, 1, 0)), 0)));
    d = tn_add(d, apart(tn_flip(tn_flip(m, 0), 1), tn_reshape(tn_flip(tn_ravel(m), 0), 3, 4)));
    d = tn_add(d, apart(tn_add(tn_tril(m, 0), tn_triu(m, 1)), m));
    d = tn_add(d, apart(tn_tile(v, 3, 1), tn_broadcast_to(v, 3, 4)));
    d = tn_add(d, apart(tn_sum_axes(a, tn_ints(-1, 0), TN_KEEPDIMS),
                        tn_expand_dims(tn_expand_dims(tn_sum_axis(tn_sum_axis(a, 0), 1), 0), -1)));
    d = tn_add(d, apart(tn_std(m), tn_sqrt(tn_sub(tn_mean(tn_square(m)), tn_square(tn_mean(m))))));
    d = tn_add(d, apart(tn_log_softmax(m, 1), tn_log(tn_softmax(m, -1))));
    d = tn_add(d, apart(tn_pad(v, 0, tn_ints(1), tn_ints(-1), tn_ints()),
                        tn_mul(tn_roll(v, 1, 0), tn_convert(tn_ge(tn_arange(v.ctx, TN_I32, 4), 1), TN_F64))));
    return d;
}

static tn_val same_indices(const tn_val *in, void *user) { /* .., i i32[2] = {1, -1} */
    tn_ctx *c = user;
    tn_val m = in[2], v = in[3], i = in[4];
    tn_val d = apart(tn_take(m, i, 1), tn_stack(tn_vals(tn_at_at(tn_t(m), tn_ints(1), "", 0), tn_at(tn_t(m), 3)), 1));
    d = tn_add(d, apart(tn_take_along(tn_slice_axis(m, 0, 2, 1, 0), i, 1),
                        tn_stack(tn_vals(tn_at(m, 0, 1), tn_at(m, 1, -1)), 0)));
    d = tn_add(d, apart(tn_matmul(tn_one_hot(tn_rem(tn_add(i, 4), 4), 4, TN_F64), v), tn_take(v, i, 0)));
    d = tn_add(d, apart(tn_index_add(tn_zeros(c, tn_f64(4)), i, tn_take(v, i, 0), 0),
                        tn_mul(v, tn_constant(c, tn_f64(4), (double[]){0, 1, 0, 1}))));
    d = tn_add(d, apart(tn_at_add(v, i, tn_take(v, i, 0), 0), tn_index_add(v, i, tn_take(v, i, 0), 0)));
    /* columns 1 and 3; of the equal indices the last is written, and what is outside is not */
    d = tn_add(d, apart(tn_at_set(m, i, 2.0, 1), tn_stack(tn_vals(tn_at(tn_t(m), 0), tn_full(c, tn_f64(3), 2.0),
                                                                  tn_at(tn_t(m), 2), tn_full(c, tn_f64(3), 2.0)),
                                                          1)));
    const tn_val equal = tn_constant(c, tn_i32(3), (int32_t[]){-1, 9, 3});
    d = tn_add(d, apart(tn_at_set(v, equal, tn_slice_axis(v, 0, 3, 1, 0), 0),
                        tn_concatenate(tn_vals(tn_slice_axis(v, 0, 3, 1, 0), tn_slice_axis(v, 2, 3, 1, 0)), 0)));
    /* all updates of element 3 take part, of element 1 none */
    const tn_val last = tn_slice_axis(v, 3, 4, 1, 0), front = tn_slice_axis(v, 0, 3, 1, 0);
    d = tn_add(d, apart(tn_at_mul(v, equal, -2.0, 0), tn_concatenate(tn_vals(front, tn_mul(last, 4.0)), 0)));
    d = tn_add(d, apart(tn_at_min(v, equal, -9.0, 0), tn_concatenate(tn_vals(front, tn_minimum(last, -9.0)), 0)));
    d = tn_add(d, apart(tn_at_max(v, equal, 9.0, 0), tn_concatenate(tn_vals(front, tn_maximum(last, 9.0)), 0)));
    d = tn_add(d, apart(tn_dynamic_index(m, tn_at(i, 0), 0), tn_at(m, 1)));
    d = tn_add(d, apart(tn_dynamic_slice(m, tn_vals(tn_at(i, 0), TN_VAL(9)), tn_ints(2, 2)),
                        tn_slice(m, tn_ints(1, 2), tn_ints(3, 4), tn_ints())));
    d = tn_add(d, apart(tn_take(tn_sort(v, 0), tn_argmax(tn_sort(v, 0), 0), 0), tn_max(v)));
    d = tn_add(d, apart(tn_take(v, tn_argsort(v, 0), 0), tn_sort(v, 0)));
    d = tn_add(d, apart(tn_segment_sum(v, tn_constant(c, tn_i32(4), (int32_t[]){1, 0, 1, 7}), 2),
                        tn_stack(tn_vals(tn_at(v, 1), tn_add(tn_at(v, 0), tn_at(v, 2))), 0)));
    return d;
}

static void test_identities(void **state) {
    (void)state;
    double a[24], b[40], m[12], v[4] = {0.5, -1.25, 2, 0.75};
    const int32_t i[2] = {1, -1};
    for (int k = 0; k < 24; k++) a[k] = sin(1 + 3 * k);
    for (int k = 0; k < 40; k++) b[k] = cos(2 + 5 * k);
    for (int k = 0; k < 12; k++) m[k] = sin(7 * k) - 0.3;
    static const tn_trace_fn f[] = {same_products, same_shapes, same_indices};
    for (size_t k = 0; k < COUNT(f); k++) {
        double d = difference(f[k], 5, TN_TYPES(tn_f64(2, 3, 4), tn_f64(2, 4, 5), tn_f64(3, 4), tn_f64(4), tn_i32(2)),
                              TN_INPUTS(a, b, m, v, i));
        if (!(d >= 0 && d < 1e-12)) fail_msg("identities %zu differ by %g", k, d);
    }
}

static void everything_empty(const tn_val *in, tn_val *out, void *user) { /* e f64[0,3], s f64[], i i32[0] */
    (void)user;
    tn_val e = in[0], s = in[1], i = in[2];
    out[0] = tn_sum(e);
    out[1] = tn_max(e);
    out[2] = tn_mean(e);
    out[3] = tn_sum(tn_matmul(tn_t(e), e));
    out[4] = tn_sum(tn_einsum("ij,ik->jk", tn_vals(e, e)));
    out[5] = tn_prod(tn_take(tn_reshape(s, 1), i, 0));
    out[6] = tn_logsumexp(tn_reshape(e, 0), 0);
    out[7] = tn_add(tn_softmax(tn_reshape(s, 1), 0), tn_var_at(s, __FILE__, __LINE__));
    out[7] = tn_squeeze(out[7], 0);
    out[8] = tn_sum(tn_diag(tn_reshape(e, 0)));
    out[9] = tn_einsum(",->", tn_vals(s, s));
    out[10] = tn_at_at(s, tn_ints(), "", 0);
    out[11] = tn_sum(tn_tile(e, 2, 2));
}

static void test_empty(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double s = 3, got[12];
    void *out[12];
    for (int k = 0; k < 12; k++) out[k] = &got[k];
    tn_fn *f = tn_trace_many(c, everything_empty, NULL, 3, TN_TYPES(tn_f64(0, 3), tn_f64(), tn_i32(0)), 12);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, TN_INPUTS(&s, &s, (void *)&s), out);
    close_to(got, P(0, -HUGE_VAL, NAN, 0, 0, 1, -HUGE_VAL, 1, 0, 9, 3, 0), 12, 0);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinks),
        cmocka_unit_test(test_smooth_at_ties),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
