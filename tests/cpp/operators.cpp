/* Each operator of tansy.hpp makes the program of its C function. */
#include "check.hpp"

static tn::context c;

/* One expression with operators, one without, as functions of one type each: so all are traced by the same code. */
using with_operators = tn::val (*)(tn::val, tn::val, tn::val);
using in_c = tn_val (*)(const tn_val *);
static tn_val by_c(const tn_val *in, void *user) { return (*static_cast<in_c *>(user))(in); }
static void same(const char *what, with_operators f, in_c g, const std::vector<tn_type> &types, int line) {
    const std::string text = tn::trace(c, f, types[0], types[1], types[2]).text(),
                      expected = tn::program(c, tn_trace(c.get(), by_c, &g, types.size(), types.data())).text();
    check_at(!text.empty() && text == expected, what, text + expected, __FILE__, line);
}

/* The names of the inputs are a, b and d. */
#define ONLY(...) __VA_ARGS__
#define SAME(cxx, by_c, types, a, b, d)                                                                       \
    same(                                                                                                     \
        #cxx, [](tn::val a, tn::val b, tn::val d) -> tn::val { return (void)a, (void)b, (void)d, ONLY cxx; }, \
        [](const tn_val *in) -> tn_val {                                                                      \
            tn_val a = in[0], b = in[1], d = in[2];                                                           \
            return (void)a, (void)b, (void)d, ONLY by_c;                                                      \
        },                                                                                                    \
        {ONLY types}, __LINE__)
#define FLOATS(cxx, by_c)   SAME(cxx, by_c, (tn_f64(2, 3), tn_f64(3), tn_f64()), x, y, z)
#define INTEGERS(cxx, by_c) SAME(cxx, by_c, (tn_f64(2, 3), tn_i64(), tn_i64(2)), x, i, j)
#define SQUARES(cxx, by_c)  SAME(cxx, by_c, (tn_f64(3, 3), tn_f64(3), tn_f64()), x, y, z)

static tn::complex z_of(tn::val x) { return {x, x + 1.0}; }
static tn::complex w_of(tn::val x) { return {x - 2.0, 3}; }
static tn_complex by_c_z(tn_val x) {
    tn_complex z = {x, tn_add(x, 1.0)};
    return z;
}
static tn_complex by_c_w(tn_val x) {
    tn_complex w = {tn_sub(x, 2.0), TN_VAL(3)};
    return w;
}
static tn_complex by_c_square(tn_val x) {
    tn_complex z = {x, x};
    return z;
}
static tn_val by_c_logabs(tn_val x) {
    tn_val sign, logabs;
    tn_slogdet(x, &sign, &logabs);
    return logabs;
}
static tn_val by_c_singular_values(tn_val x) {
    tn_val s;
    tn_svd(x, TN_FACTORS_REDUCED, nullptr, &s, nullptr);
    return s;
}
static tn_val by_c_eigh(tn_val x) {
    tn_val w, v;
    tn_eigh(x, &w, &v);
    return tn_add(v, w);
}
static tn_val by_c_qr(tn_val x) {
    tn_val q, r;
    tn_qr(x, TN_FACTORS_REDUCED, &q, &r);
    return tn_sub(q, r);
}
static tn_val by_c_svd(tn_val x) {
    tn_val u, s, vt;
    tn_svd(x, TN_FACTORS_FULL, &u, &s, &vt);
    return tn_sub(tn_add(u, s), vt);
}

static tn_val by_c_schur(tn_val x) {
    tn_val t, q;
    tn_schur(x, &t, &q);
    return tn_add(t, q);
}
static tn_val pairs_sum(tn_complex z, tn_complex w) { return tn_complex_pairs(tn_cadd(z, w)); }
static tn_val by_c_ceig(tn_val x) {
    tn_complex w, v;
    tn_ceig(by_c_z(x), &w, &v);
    return pairs_sum(w, v);
}
static tn_val by_c_ceigh(tn_val x) {
    tn_val w;
    tn_complex v;
    tn_ceigh(by_c_z(x), &w, &v);
    return tn_add(v.im, w);
}
static tn_val by_c_cqr(tn_val x) {
    tn_complex q, r;
    tn_cqr(by_c_z(x), TN_FACTORS_REDUCED, &q, &r);
    return pairs_sum(q, r);
}
static tn_val by_c_csvd(tn_val x) {
    tn_complex u, vt;
    tn_val s;
    tn_csvd(by_c_z(x), TN_FACTORS_FULL, &u, &s, &vt);
    return tn_add(pairs_sum(u, vt), tn_sum(s));
}
static tn_val by_c_csingular_values(tn_val x) {
    tn_val s;
    tn_csvd(by_c_z(x), TN_FACTORS_REDUCED, nullptr, &s, nullptr);
    return s;
}
static tn_val by_c_cschur(tn_val x) {
    tn_complex t, q;
    tn_cschur(by_c_z(x), &t, &q);
    return pairs_sum(t, q);
}
static tn_val by_c_clu(tn_val x) {
    tn_complex lu;
    tn_val permutation;
    tn_clu(by_c_z(x), &lu, nullptr, &permutation);
    return tn_complex_pairs(tn_clu_solve(lu, permutation, by_c_square(x), TN_SOLVE_TRANSPOSED));
}
static tn_val by_c_clogabs(tn_val x) {
    tn_complex sign;
    tn_val logabs;
    tn_cslogdet(by_c_z(x), &sign, &logabs);
    return tn_add(logabs, sign.re);
}

static tn_val largest(tn_val x) {
    tn_val values;
    tn_top_k(x, 2, 1, &values, nullptr);
    return values;
}

int main() {
    FLOATS((neg(x)), (tn_neg(x)));
    FLOATS((abs(x)), (tn_abs(x)));
    FLOATS((sign(x)), (tn_sign(x)));
    FLOATS((square(x)), (tn_square(x)));
    FLOATS((sqrt(x)), (tn_sqrt(x)));
    FLOATS((rsqrt(x)), (tn_rsqrt(x)));
    FLOATS((cbrt(x)), (tn_cbrt(x)));
    FLOATS((reciprocal(x)), (tn_reciprocal(x)));
    FLOATS((exp(x)), (tn_exp(x)));
    FLOATS((exp2(x)), (tn_exp2(x)));
    FLOATS((expm1(x)), (tn_expm1(x)));
    FLOATS((log(x)), (tn_log(x)));
    FLOATS((log1p(x)), (tn_log1p(x)));
    FLOATS((log2(x)), (tn_log2(x)));
    FLOATS((log10(x)), (tn_log10(x)));
    FLOATS((sin(x)), (tn_sin(x)));
    FLOATS((cos(x)), (tn_cos(x)));
    FLOATS((tan(x)), (tn_tan(x)));
    FLOATS((asin(x)), (tn_asin(x)));
    FLOATS((acos(x)), (tn_acos(x)));
    FLOATS((atan(x)), (tn_atan(x)));
    FLOATS((sinh(x)), (tn_sinh(x)));
    FLOATS((cosh(x)), (tn_cosh(x)));
    FLOATS((tanh(x)), (tn_tanh(x)));
    FLOATS((asinh(x)), (tn_asinh(x)));
    FLOATS((acosh(x)), (tn_acosh(x)));
    FLOATS((atanh(x)), (tn_atanh(x)));
    FLOATS((erf(x)), (tn_erf(x)));
    FLOATS((erfc(x)), (tn_erfc(x)));
    FLOATS((erf_inv(x)), (tn_erf_inv(x)));
    FLOATS((lgamma(x)), (tn_lgamma(x)));
    FLOATS((digamma(x)), (tn_digamma(x)));
    FLOATS((bessel_i0e(x)), (tn_bessel_i0e(x)));
    FLOATS((bessel_i1e(x)), (tn_bessel_i1e(x)));
    FLOATS((floor(x)), (tn_floor(x)));
    FLOATS((ceil(x)), (tn_ceil(x)));
    FLOATS((round(x)), (tn_round(x)));
    FLOATS((is_finite(x)), (tn_is_finite(x)));
    FLOATS((is_nan(x)), (tn_is_nan(x)));
    FLOATS((is_inf(x)), (tn_is_inf(x)));
    FLOATS((stop_gradient(x)), (tn_stop_gradient(x)));
    FLOATS((relu(x)), (tn_relu(x)));
    FLOATS((gelu(x)), (tn_gelu(x)));
    FLOATS((gelu_tanh(x)), (tn_gelu_tanh(x)));
    FLOATS((sigmoid(x)), (tn_sigmoid(x)));
    FLOATS((log_sigmoid(x)), (tn_log_sigmoid(x)));
    FLOATS((silu(x)), (tn_silu(x)));
    FLOATS((softplus(x)), (tn_softplus(x)));
    FLOATS((log1mexp(x)), (tn_log1mexp(x)));
    FLOATS((zeros_like(x)), (tn_zeros_like(x)));
    FLOATS((ones_like(x)), (tn_ones_like(x)));
    FLOATS((ravel(x)), (tn_ravel(x)));
    FLOATS((norm(x)), (tn_norm(x)));
    FLOATS((sum_squares(x)), (tn_sum_squares(x)));
    FLOATS((t(x)), (tn_t(x)));
    FLOATS((sum(x)), (tn_sum(x)));
    FLOATS((sum(x, -1)), (tn_sum_axis(x, -1)));
    FLOATS((sum(x, 0, TN_KEEPDIMS)), (tn_sum_axis(x, 0, TN_KEEPDIMS)));
    FLOATS((sum(x, {0, 1}, TN_KEEPDIMS)), (tn_sum_axes(x, tn_ints(0, 1), TN_KEEPDIMS)));
    FLOATS((prod(x)), (tn_prod(x)));
    FLOATS((prod(x, -1)), (tn_prod_axis(x, -1)));
    FLOATS((prod(x, 0, TN_KEEPDIMS)), (tn_prod_axis(x, 0, TN_KEEPDIMS)));
    FLOATS((prod(x, {0, 1}, TN_KEEPDIMS)), (tn_prod_axes(x, tn_ints(0, 1), TN_KEEPDIMS)));
    FLOATS((max(x)), (tn_max(x)));
    FLOATS((max(x, -1)), (tn_max_axis(x, -1)));
    FLOATS((max(x, 0, TN_KEEPDIMS)), (tn_max_axis(x, 0, TN_KEEPDIMS)));
    FLOATS((max(x, {0, 1}, TN_KEEPDIMS)), (tn_max_axes(x, tn_ints(0, 1), TN_KEEPDIMS)));
    FLOATS((min(x)), (tn_min(x)));
    FLOATS((min(x, -1)), (tn_min_axis(x, -1)));
    FLOATS((min(x, 0, TN_KEEPDIMS)), (tn_min_axis(x, 0, TN_KEEPDIMS)));
    FLOATS((min(x, {0, 1}, TN_KEEPDIMS)), (tn_min_axes(x, tn_ints(0, 1), TN_KEEPDIMS)));
    FLOATS((mean(x)), (tn_mean(x)));
    FLOATS((mean(x, -1)), (tn_mean_axis(x, -1)));
    FLOATS((mean(x, 0, TN_KEEPDIMS)), (tn_mean_axis(x, 0, TN_KEEPDIMS)));
    FLOATS((mean(x, {0, 1}, TN_KEEPDIMS)), (tn_mean_axes(x, tn_ints(0, 1), TN_KEEPDIMS)));
    FLOATS((var(x)), (tn_var(x)));
    FLOATS((var(x, -1)), (tn_var_axis(x, -1)));
    FLOATS((var(x, 0, TN_KEEPDIMS)), (tn_var_axis(x, 0, TN_KEEPDIMS)));
    FLOATS((var(x, {0, 1}, TN_KEEPDIMS)), (tn_var_axes(x, tn_ints(0, 1), TN_KEEPDIMS)));
    FLOATS((tn::std(x)), (tn_std(x)));
    FLOATS((tn::std(x, -1)), (tn_std_axis(x, -1)));
    FLOATS((tn::std(x, 0, TN_KEEPDIMS)), (tn_std_axis(x, 0, TN_KEEPDIMS)));
    FLOATS((tn::std(x, {0, 1}, TN_KEEPDIMS)), (tn_std_axes(x, tn_ints(0, 1), TN_KEEPDIMS)));
    FLOATS((rem(x, y)), (tn_rem(x, y)));
    FLOATS((rem(x, 2.0)), (tn_rem(x, 2.0)));
    FLOATS((rem(2.0, x)), (tn_rem(2.0, x)));
    FLOATS((pow(x, y)), (tn_pow(x, y)));
    FLOATS((pow(x, 2.0)), (tn_pow(x, 2.0)));
    FLOATS((pow(2.0, x)), (tn_pow(2.0, x)));
    FLOATS((maximum(x, y)), (tn_maximum(x, y)));
    FLOATS((maximum(x, 2.0)), (tn_maximum(x, 2.0)));
    FLOATS((maximum(2.0, x)), (tn_maximum(2.0, x)));
    FLOATS((minimum(x, y)), (tn_minimum(x, y)));
    FLOATS((minimum(x, 2.0)), (tn_minimum(x, 2.0)));
    FLOATS((minimum(2.0, x)), (tn_minimum(2.0, x)));
    FLOATS((hypot(x, y)), (tn_hypot(x, y)));
    FLOATS((hypot(x, 2.0)), (tn_hypot(x, 2.0)));
    FLOATS((hypot(2.0, x)), (tn_hypot(2.0, x)));
    FLOATS((logaddexp(x, y)), (tn_logaddexp(x, y)));
    FLOATS((logaddexp(x, 2.0)), (tn_logaddexp(x, 2.0)));
    FLOATS((logaddexp(2.0, x)), (tn_logaddexp(2.0, x)));
    FLOATS((xlogy(x, y)), (tn_xlogy(x, y)));
    FLOATS((xlogy(x, 2.0)), (tn_xlogy(x, 2.0)));
    FLOATS((xlogy(2.0, x)), (tn_xlogy(2.0, x)));
    FLOATS((xlog1py(x, y)), (tn_xlog1py(x, y)));
    FLOATS((xlog1py(x, 2.0)), (tn_xlog1py(x, 2.0)));
    FLOATS((xlog1py(2.0, x)), (tn_xlog1py(2.0, x)));
    FLOATS((atan2(x, y)), (tn_atan2(x, y)));
    FLOATS((atan2(x, 2.0)), (tn_atan2(x, 2.0)));
    FLOATS((atan2(2.0, x)), (tn_atan2(2.0, x)));
    FLOATS((polygamma(x, y)), (tn_polygamma(x, y)));
    FLOATS((polygamma(x, 2.0)), (tn_polygamma(x, 2.0)));
    FLOATS((polygamma(2.0, x)), (tn_polygamma(2.0, x)));
    FLOATS((zeta(x, y)), (tn_zeta(x, y)));
    FLOATS((zeta(x, 2.0)), (tn_zeta(x, 2.0)));
    FLOATS((zeta(2.0, x)), (tn_zeta(2.0, x)));
    FLOATS((igamma(x, y)), (tn_igamma(x, y)));
    FLOATS((igamma(x, 2.0)), (tn_igamma(x, 2.0)));
    FLOATS((igamma(2.0, x)), (tn_igamma(2.0, x)));
    FLOATS((igammac(x, y)), (tn_igammac(x, y)));
    FLOATS((igammac(x, 2.0)), (tn_igammac(x, 2.0)));
    FLOATS((igammac(2.0, x)), (tn_igammac(2.0, x)));
    FLOATS((igamma_grad_a(x, y)), (tn_igamma_grad_a(x, y)));
    FLOATS((igamma_grad_a(x, 2.0)), (tn_igamma_grad_a(x, 2.0)));
    FLOATS((igamma_grad_a(2.0, x)), (tn_igamma_grad_a(2.0, x)));
    FLOATS((random_gamma_grad(x, y)), (tn_random_gamma_grad(x, y)));
    FLOATS((random_gamma_grad(x, 2.0)), (tn_random_gamma_grad(x, 2.0)));
    FLOATS((random_gamma_grad(2.0, x)), (tn_random_gamma_grad(2.0, x)));
    FLOATS((betainc(x, 2.0, y)), (tn_betainc(x, 2.0, y)));
    FLOATS((eq(x, y)), (tn_eq(x, y)));
    FLOATS((eq(x, 2.0)), (tn_eq(x, 2.0)));
    FLOATS((eq(2.0, x)), (tn_eq(2.0, x)));
    FLOATS((ne(x, y)), (tn_ne(x, y)));
    FLOATS((ne(x, 2.0)), (tn_ne(x, 2.0)));
    FLOATS((ne(2.0, x)), (tn_ne(2.0, x)));
    FLOATS((lt(x, y)), (tn_lt(x, y)));
    FLOATS((lt(x, 2.0)), (tn_lt(x, 2.0)));
    FLOATS((lt(2.0, x)), (tn_lt(2.0, x)));
    FLOATS((le(x, y)), (tn_le(x, y)));
    FLOATS((le(x, 2.0)), (tn_le(x, 2.0)));
    FLOATS((le(2.0, x)), (tn_le(2.0, x)));
    FLOATS((gt(x, y)), (tn_gt(x, y)));
    FLOATS((gt(x, 2.0)), (tn_gt(x, 2.0)));
    FLOATS((gt(2.0, x)), (tn_gt(2.0, x)));
    FLOATS((ge(x, y)), (tn_ge(x, y)));
    FLOATS((ge(x, 2.0)), (tn_ge(x, 2.0)));
    FLOATS((ge(2.0, x)), (tn_ge(2.0, x)));
    FLOATS((pow(x, 3)), (tn_pow(x, 3)));
    FLOATS((x + y), (tn_add(x, y)));
    FLOATS((2.0 + x), (tn_add(2.0, x)));
    FLOATS((x + 2.0f), (tn_add(x, 2.0f)));
    FLOATS((x + 3), (tn_add(x, 3)));
    FLOATS((3 + x), (tn_add(3, x)));
    FLOATS((x + 3u), (tn_add(x, 3u)));
    FLOATS((x - y), (tn_sub(x, y)));
    FLOATS((2.0 - x), (tn_sub(2.0, x)));
    FLOATS((x - 2.0f), (tn_sub(x, 2.0f)));
    FLOATS((x - 3), (tn_sub(x, 3)));
    FLOATS((3 - x), (tn_sub(3, x)));
    FLOATS((x - 3u), (tn_sub(x, 3u)));
    FLOATS((x * y), (tn_mul(x, y)));
    FLOATS((2.0 * x), (tn_mul(2.0, x)));
    FLOATS((x * 2.0f), (tn_mul(x, 2.0f)));
    FLOATS((x * 3), (tn_mul(x, 3)));
    FLOATS((3 * x), (tn_mul(3, x)));
    FLOATS((x * 3u), (tn_mul(x, 3u)));
    FLOATS((x / y), (tn_div(x, y)));
    FLOATS((2.0 / x), (tn_div(2.0, x)));
    FLOATS((x / 2.0f), (tn_div(x, 2.0f)));
    FLOATS((x / 3), (tn_div(x, 3)));
    FLOATS((3 / x), (tn_div(3, x)));
    FLOATS((x / 3u), (tn_div(x, 3u)));
    FLOATS((x % y), (tn_rem(x, y)));
    FLOATS((2.0 % x), (tn_rem(2.0, x)));
    FLOATS((x % 2.0f), (tn_rem(x, 2.0f)));
    FLOATS((x % 3), (tn_rem(x, 3)));
    FLOATS((3 % x), (tn_rem(3, x)));
    FLOATS((x % 3u), (tn_rem(x, 3u)));
    FLOATS((x - 2.0L), (tn_sub(x, 2.0)));
    FLOATS((x * tn_sin(y)), (tn_mul(x, tn_sin(y))));
    FLOATS((-x), (tn_neg(x)));
    FLOATS((+x), (x));
    FLOATS((x += y), (tn_add(x, y)));
    FLOATS((x += 0.5), (tn_add(x, 0.5)));
    FLOATS((x -= y), (tn_sub(x, y)));
    FLOATS((x -= 0.5), (tn_sub(x, 0.5)));
    FLOATS((x *= y), (tn_mul(x, y)));
    FLOATS((x *= 0.5), (tn_mul(x, 0.5)));
    FLOATS((x /= y), (tn_div(x, y)));
    FLOATS((x /= 0.5), (tn_div(x, 0.5)));
    FLOATS((logsumexp(x, 1)), (tn_logsumexp(x, 1)));
    FLOATS((softmax(x, 1)), (tn_softmax(x, 1)));
    FLOATS((log_softmax(x, 1)), (tn_log_softmax(x, 1)));
    FLOATS((argmax(x, 1)), (tn_argmax(x, 1)));
    FLOATS((argmin(x, 1)), (tn_argmin(x, 1)));
    FLOATS((sort(x, 1)), (tn_sort(x, 1)));
    FLOATS((argsort(x, 1)), (tn_argsort(x, 1)));
    FLOATS((top_k(x, 2, 1)[0]), (largest(x)));
    FLOATS((cumsum(x, 1)), (tn_cumsum(x, 1)));
    FLOATS((cumsum(x, 0, TN_REVERSE)), (tn_cumsum(x, 0, TN_REVERSE)));
    FLOATS((cumprod(x, 1)), (tn_cumprod(x, 1)));
    FLOATS((cumprod(x, 0, TN_REVERSE)), (tn_cumprod(x, 0, TN_REVERSE)));
    FLOATS((cummax(x, 1)), (tn_cummax(x, 1)));
    FLOATS((cummax(x, 0, TN_REVERSE)), (tn_cummax(x, 0, TN_REVERSE)));
    FLOATS((cummin(x, 1)), (tn_cummin(x, 1)));
    FLOATS((cummin(x, 0, TN_REVERSE)), (tn_cummin(x, 0, TN_REVERSE)));
    FLOATS((cumlogsumexp(x, 1)), (tn_cumlogsumexp(x, 1)));
    FLOATS((cumlogsumexp(x, 0, TN_REVERSE)), (tn_cumlogsumexp(x, 0, TN_REVERSE)));
    FLOATS((norm(x, 1, TN_KEEPDIMS)), (tn_norm_axis(x, 1, TN_KEEPDIMS)));
    FLOATS((linear_recurrence(x, x, 1)), (tn_linear_recurrence(x, x, 1)));
    FLOATS((fma(x, 2.0, y)), (tn_fma(x, 2.0, y)));
    FLOATS((where(gt(x, 0.0), x, 0)), (tn_where(tn_gt(x, 0.0), x, 0)));
    FLOATS((clip(x, -1.0, y)), (tn_clip(x, -1.0, y)));
    FLOATS((convert(x, TN_F32)), (tn_convert(x, TN_F32)));
    FLOATS((bitcast(x, TN_I64)), (tn_bitcast(x, TN_I64)));
    FLOATS((checkpoint_name(x, "h")), (tn_checkpoint_name(x, "h")));
    FLOATS((leaky_relu(x, 0.1)), (tn_leaky_relu(x, 0.1)));
    FLOATS((elu(x, 1.5)), (tn_elu(x, 1.5)));
    FLOATS((tn::zeros(c, tn::f64(2, 3))), (tn_zeros(c.get(), tn_f64(2, 3))));
    FLOATS((tn::ones(c, tn::f32(2))), (tn_ones(c.get(), tn_f32(2))));
    FLOATS((tn::full(c, tn::i64(2), 7)), (tn_full(c.get(), tn_i64(2), 7)));
    FLOATS((full_like(x, 0.5)), (tn_full_like(x, 0.5)));
    FLOATS((tn::iota(c, tn::i32(2, 3), 1)), (tn_iota(c.get(), tn_i32(2, 3), 1)));
    FLOATS((tn::arange(c, TN_F64, 4)), (tn_arange(c.get(), TN_F64, 4)));
    FLOATS((tn::linspace(c, TN_F64, 0, 1, 5)), (tn_linspace(c.get(), TN_F64, 0, 1, 5)));
    FLOATS((tn::eye(c, TN_F64, 2)), (tn_eye(c.get(), TN_F64, 2, 2)));
    FLOATS((tn::eye(c, TN_F64, 2, 3)), (tn_eye(c.get(), TN_F64, 2, 3)));
    FLOATS((reshape(x, {3, -1})), (tn_reshape(x, 3, -1)));
    FLOATS((reshape(sum(x), {})), (tn_reshape_at(tn_sum(x), tn_ints(), __FILE__, __LINE__)));
    FLOATS((expand_dims(x, 1)), (tn_expand_dims(x, 1)));
    FLOATS((squeeze(expand_dims(x, 1), 1)), (tn_squeeze(tn_expand_dims(x, 1), 1)));
    FLOATS((squeeze(expand_dims(x, 0))), (tn_squeeze_all(tn_expand_dims(x, 0))));
    FLOATS((broadcast_to(y, {size_t{4}, size_t{3}})), (tn_broadcast_to(y, 4, 3)));
    FLOATS((permute(x, {1, 0})), (tn_permute(x, 1, 0)));
    FLOATS((swapaxes(x, 0, 1)), (tn_swapaxes(x, 0, 1)));
    FLOATS((moveaxis(x, 0, 1)), (tn_moveaxis(x, 0, 1)));
    FLOATS((flip(x, 1)), (tn_flip(x, 1)));
    FLOATS((roll(x, 1, 0)), (tn_roll(x, 1, 0)));
    FLOATS((tile(x, {2, 1})), (tn_tile(x, 2, 1)));
    FLOATS((tn::concatenate({x, x}, 1)), (tn_concatenate(tn_vals(x, x), 1)));
    FLOATS((tn::stack({y, y})), (tn_stack(tn_vals(y, y), 0)));
    FLOATS((tn::stack(std::vector<tn::val>(3, y), 1)), (tn_stack(tn_vals(y, y, y), 1)));
    INTEGERS((take(x, i, 1)), (tn_take(x, i, 1)));
    INTEGERS((take(x, i, 1, TN_CLIP_INDICES)), (tn_take(x, i, 1, TN_CLIP_INDICES)));
    INTEGERS((take_along(x, j, 1)), (tn_take_along(x, j, 1)));
    INTEGERS((index_add(x, j, x, 0)), (tn_index_add(x, j, x, 0)));
    INTEGERS((at_set(x, j, x, 0)), (tn_at_set(x, j, x, 0)));
    INTEGERS((at_add(x, j, x, 0)), (tn_at_add(x, j, x, 0)));
    INTEGERS((at_mul(x, j, x, 0)), (tn_at_mul(x, j, x, 0)));
    INTEGERS((at_min(x, j, x, 0)), (tn_at_min(x, j, x, 0)));
    INTEGERS((at_max(x, j, x, 0)), (tn_at_max(x, j, x, 0)));
    INTEGERS((segment_sum(x, j, 4)), (tn_segment_sum(x, j, 4)));
    INTEGERS((dynamic_slice(x, {i, 0}, {1, 2})), (tn_dynamic_slice(x, tn_vals(i, TN_VAL(0)), tn_ints(1, 2))));
    INTEGERS((dynamic_update_slice(x, x, {i, i})), (tn_dynamic_update_slice(x, x, tn_vals(i, i))));
    INTEGERS((one_hot(j, 4, TN_F64)), (tn_one_hot(j, 4, TN_F64)));
    INTEGERS((i & 3), (tn_and(i, 3)));
    INTEGERS((i | i), (tn_or(i, i)));
    INTEGERS((1 ^ i), (tn_xor(1, i)));
    INTEGERS((~i), (tn_not(i)));
    INTEGERS((i << 3), (tn_shift_left(i, 3)));
    INTEGERS((i >> 1), (tn_shift_right_arithmetic(i, 1)));
    INTEGERS((shift_right_logical(i, 1)), (tn_shift_right_logical(i, 1)));
    INTEGERS((population_count(i)), (tn_population_count(i)));
    INTEGERS((clz(i)), (tn_clz(i)));
    INTEGERS((!eq(i, 1)), (tn_not(tn_eq(i, 1))));
    INTEGERS((i % 2), (tn_rem(i, 2)));
    FLOATS((diag(y)), (tn_diag(y)));
    SQUARES((trace_of(x)), (tn_trace_of(x)));
    SQUARES((tril(x)), (tn_tril(x, 0)));
    SQUARES((triu(x, 1)), (tn_triu(x, 1)));
    FLOATS((matmul(x, y)), (tn_matmul(x, y)));
    FLOATS((dot(x, y)), (tn_dot(x, y)));
    FLOATS((vdot(y, y)), (tn_vdot(y, y)));
    FLOATS((outer(x, y)), (tn_outer(x, y)));
    FLOATS((tensordot(x, y, 1)), (tn_tensordot(x, y, 1)));
    FLOATS((tn::einsum("ij,j->i", {x, y})), (tn_einsum("ij,j->i", tn_vals(x, y))));
    static const int64_t twos[2] = {2, 2};
    static const tn_window pools = {{2, twos}, {}, {}, {}, {}, {}, true};
    FLOATS((conv(x, x, "NC,OI->NC")), (tn_conv(x, x, "NC,OI->NC", NULL)));
    FLOATS((sum_pool(x, pools)), (tn_sum_pool(x, &pools)));
    FLOATS((prod_pool(x, pools)), (tn_prod_pool(x, &pools)));
    FLOATS((max_pool(x, pools)), (tn_max_pool(x, &pools)));
    FLOATS((min_pool(x, pools)), (tn_min_pool(x, &pools)));
    FLOATS((avg_pool(x, pools, TN_EXCLUDE_PADDING)), (tn_avg_pool(x, &pools, TN_EXCLUDE_PADDING)));
    FLOATS((sliding_windows(x, {1}, {2})), (tn_sliding_windows(x, tn_ints(1), tn_ints(2), tn_ints(), tn_ints())));
    FLOATS((overlap_add(x, sliding_windows(x, {1}, {2}), {1}, {2})),
           (tn_overlap_add(x, tn_sliding_windows(x, tn_ints(1), tn_ints(2), tn_ints(), tn_ints()), tn_ints(1),
                           tn_ints(2), tn_ints(), tn_ints())));
    SQUARES((eigvalsh(x)), (tn_eigvalsh(x)));
    SQUARES((singular_values(x)), (by_c_singular_values(x)));
    SQUARES((eigh(x).v + eigh(x).w), (by_c_eigh(x)));
    SQUARES((qr(x).q - qr(x).r), (by_c_qr(x)));
    SQUARES((svd(x, TN_FACTORS_FULL).u + svd(x, TN_FACTORS_FULL).s - svd(x, TN_FACTORS_FULL).vt), (by_c_svd(x)));
    SQUARES((pinv(x)), (tn_pinv(x)));
    SQUARES((lstsq(x, y)), (tn_lstsq(x, y)));
    SQUARES((tridiagonal_solve(y, y + 3.0, y, x)), (tn_tridiagonal_solve(y, tn_add(y, 3.0), y, x)));
    FLOATS((complex_pairs(z_of(x) + w_of(x))), (tn_complex_pairs(tn_cadd(by_c_z(x), by_c_w(x)))));
    FLOATS((complex_pairs(z_of(x) - w_of(x))), (tn_complex_pairs(tn_csub(by_c_z(x), by_c_w(x)))));
    FLOATS((complex_pairs(z_of(x) * w_of(x))), (tn_complex_pairs(tn_cmul(by_c_z(x), by_c_w(x)))));
    FLOATS((complex_pairs(z_of(x) / w_of(x))), (tn_complex_pairs(tn_cdiv(by_c_z(x), by_c_w(x)))));
    FLOATS((complex_pairs(-z_of(x))), (tn_complex_pairs(tn_cneg(by_c_z(x)))));
    FLOATS((complex_pairs(pow(z_of(x), w_of(x)))), (tn_complex_pairs(tn_cpow(by_c_z(x), by_c_w(x)))));
    FLOATS((complex_pairs(powi(z_of(x), 3))), (tn_complex_pairs(tn_cpowi(by_c_z(x), 3))));
    FLOATS((complex_pairs(square(z_of(x)))), (tn_complex_pairs(tn_csquare(by_c_z(x)))));
    FLOATS((complex_pairs(conj(z_of(x)))), (tn_complex_pairs(tn_conj(by_c_z(x)))));
    FLOATS((complex_pairs(tn::sign(z_of(x)))), (tn_complex_pairs(tn_csign(by_c_z(x)))));
    FLOATS((abs(z_of(x))), (tn_cabs(by_c_z(x))));
    FLOATS((arg(z_of(x))), (tn_carg(by_c_z(x))));
    FLOATS((complex_pairs(sqrt(z_of(x)))), (tn_complex_pairs(tn_csqrt(by_c_z(x)))));
    FLOATS((complex_pairs(exp(z_of(x)))), (tn_complex_pairs(tn_cexp(by_c_z(x)))));
    FLOATS((complex_pairs(log(z_of(x)))), (tn_complex_pairs(tn_clog(by_c_z(x)))));
    FLOATS((complex_pairs(sin(z_of(x)))), (tn_complex_pairs(tn_csin(by_c_z(x)))));
    FLOATS((complex_pairs(cos(z_of(x)))), (tn_complex_pairs(tn_ccos(by_c_z(x)))));
    FLOATS((complex_pairs(tan(z_of(x)))), (tn_complex_pairs(tn_ctan(by_c_z(x)))));
    FLOATS((complex_pairs(sinh(z_of(x)))), (tn_complex_pairs(tn_csinh(by_c_z(x)))));
    FLOATS((complex_pairs(cosh(z_of(x)))), (tn_complex_pairs(tn_ccosh(by_c_z(x)))));
    FLOATS((complex_pairs(tanh(z_of(x)))), (tn_complex_pairs(tn_ctanh(by_c_z(x)))));
    FLOATS((complex_pairs(asin(z_of(x)))), (tn_complex_pairs(tn_casin(by_c_z(x)))));
    FLOATS((complex_pairs(acos(z_of(x)))), (tn_complex_pairs(tn_cacos(by_c_z(x)))));
    FLOATS((complex_pairs(atan(z_of(x)))), (tn_complex_pairs(tn_catan(by_c_z(x)))));
    FLOATS((complex_pairs(asinh(z_of(x)))), (tn_complex_pairs(tn_casinh(by_c_z(x)))));
    FLOATS((complex_pairs(acosh(z_of(x)))), (tn_complex_pairs(tn_cacosh(by_c_z(x)))));
    FLOATS((complex_pairs(atanh(z_of(x)))), (tn_complex_pairs(tn_catanh(by_c_z(x)))));
    SQUARES((complex_pairs(matmul(z_of(x), tn::complex(x, x)))),
            (tn_complex_pairs(tn_cmatmul(by_c_z(x), by_c_square(x)))));
    SQUARES((complex_pairs(solve(z_of(x), tn::complex(x, x)))),
            (tn_complex_pairs(tn_csolve(by_c_z(x), by_c_square(x)))));
    SQUARES((schur(x).t + schur(x).q), (by_c_schur(x)));
    SQUARES((complex_pairs(eig(z_of(x)).w + eig(z_of(x)).v)), (by_c_ceig(x)));
    SQUARES((complex_pairs(eigvals(z_of(x)))), (tn_complex_pairs(tn_ceigvals(by_c_z(x)))));
    SQUARES((eigh(z_of(x)).v.im + eigh(z_of(x)).w), (by_c_ceigh(x)));
    SQUARES((eigvalsh(z_of(x))), (tn_ceigvalsh(by_c_z(x))));
    SQUARES((complex_pairs(qr(z_of(x)).q + qr(z_of(x)).r)), (by_c_cqr(x)));
    SQUARES((complex_pairs(svd(z_of(x), TN_FACTORS_FULL).u + svd(z_of(x), TN_FACTORS_FULL).vt) +
             sum(svd(z_of(x), TN_FACTORS_FULL).s)),
            (by_c_csvd(x)));
    SQUARES((singular_values(z_of(x))), (by_c_csingular_values(x)));
    SQUARES((complex_pairs(schur(z_of(x)).t + schur(z_of(x)).q)), (by_c_cschur(x)));
    SQUARES((complex_pairs(pinv(z_of(x)))), (tn_complex_pairs(tn_cpinv(by_c_z(x)))));
    SQUARES((complex_pairs(lstsq(z_of(x), tn::complex(x, x)))),
            (tn_complex_pairs(tn_clstsq(by_c_z(x), by_c_square(x)))));
    SQUARES((complex_pairs(cholesky(z_of(x)))), (tn_complex_pairs(tn_ccholesky(by_c_z(x)))));
    SQUARES((complex_pairs(cholesky_solve(z_of(x), tn::complex(x, x)))),
            (tn_complex_pairs(tn_ccholesky_solve(by_c_z(x), by_c_square(x)))));
    SQUARES((complex_pairs(triangular_solve(z_of(x), tn::complex(x, x), TN_SOLVE_CONJUGATED))),
            (tn_complex_pairs(tn_ctriangular_solve(by_c_z(x), by_c_square(x), TN_SOLVE_CONJUGATED))));
    SQUARES((complex_pairs(lu_solve(lu(z_of(x)), tn::complex(x, x), TN_SOLVE_TRANSPOSED))), (by_c_clu(x)));
    SQUARES((complex_pairs(inverse(z_of(x)))), (tn_complex_pairs(tn_cinverse(by_c_z(x)))));
    SQUARES((complex_pairs(expm(z_of(x)))), (tn_complex_pairs(tn_cexpm(by_c_z(x)))));
    SQUARES((complex_pairs(det(z_of(x)))), (tn_complex_pairs(tn_cdet(by_c_z(x)))));
    SQUARES((slogdet(z_of(x)).logabs + slogdet(z_of(x)).sign.re), (by_c_clogabs(x)));
    FLOATS((complex_pairs(fft(z_of(x)))), (tn_complex_pairs(tn_fft(by_c_z(x), tn_ints(-1)))));
    FLOATS((complex_pairs(ifft(z_of(x), {0}))), (tn_complex_pairs(tn_ifft(by_c_z(x), tn_ints(0)))));
    FLOATS((complex_pairs(rfft(x))), (tn_complex_pairs(tn_rfft(x, tn_ints(-1)))));
    FLOATS((irfft(z_of(x), 4)), (tn_irfft(by_c_z(x), tn_ints(-1), 4)));
    FLOATS((complex_pairs(complex_from(complex_pairs(z_of(x))))), (tn_complex_pairs(by_c_z(x))));
    FLOATS((tn::fftfreq(c, TN_F64, 4, 0.5)), (tn_fftfreq(c.get(), TN_F64, 4, 0.5)));
    FLOATS((tn::rfftfreq(c, TN_F64, 4)), (tn_rfftfreq(c.get(), TN_F64, 4, 1)));
    SQUARES((cholesky(x)), (tn_cholesky(x)));
    SQUARES((triangular_solve(x, y, TN_SOLVE_UPPER)), (tn_triangular_solve(x, y, TN_SOLVE_UPPER)));
    SQUARES((cholesky_solve(x, y)), (tn_cholesky_solve(x, y)));
    SQUARES((logdet(x)), (tn_logdet(x)));
    SQUARES((det(x)), (tn_det(x)));
    SQUARES((slogdet(x).logabs), (by_c_logabs(x)));
    SQUARES((inverse(x)), (tn_inverse(x)));
    SQUARES((expm(x)), (tn_expm(x)));
    SQUARES((solve(x, y)), (tn_solve(x, y)));
    FLOATS((x[1]), (tn_at(x, 1)));
    FLOATS((x[-1]), (tn_at(x, -1)));
    FLOATS((x(1, -1)), (tn_at(x, 1, -1)));
    FLOATS((x[0][size_t{2}]), (tn_at(tn_at(x, 0), 2)));
    FLOATS((x[tn::slice(0, 1)]), (tn_slice_axis(x, 0, 1, 1, 0)));
    FLOATS((x[tn::slice(-1, tn::slice::end)]), (tn_slice_axis(x, -1, INT64_MAX, 1, 0)));
    FLOATS((x(tn::slice(), tn::slice(0, 3, 2))), (tn_slice_axis(tn_slice_axis(x, 0, INT64_MAX, 1, 0), 0, 3, 2, 1)));
    FLOATS((x(tn::slice(0, 1), -1)), (tn_squeeze(tn_slice_axis(tn_slice_axis(x, 0, 1, 1, 0), 2, 3, 1, 1), 1)));
    INTEGERS((x[i]), (tn_dynamic_index(x, i, 0)));
    INTEGERS((x(0, i)), (tn_dynamic_index(tn_squeeze(tn_slice_axis(x, 0, 1, 1, 0), 0), i, 0)));
    INTEGERS((x[j]), (tn_take(x, j, 0)));
    INTEGERS((x(j, i)), (tn_dynamic_index(tn_take(x, j, 0), i, 1)));
    INTEGERS((x(tn::slice(), j)), (tn_take(tn_slice_axis(x, 0, INT64_MAX, 1, 0), j, 1)));
    INTEGERS((x[tn_at(j, 0)]), (tn_dynamic_index(x, tn_at(j, 0), 0)));
    const std::vector<float> v = {1, 2, 3};
    static const float *w = v.data();
    static const std::vector<float> &u = v;
    FLOATS((tn::constant(c, tn_f32(3, 1), w)), (tn_constant(c.get(), tn_f32(3, 1), w)));
    FLOATS((tn::constant(c, u)), (tn_constant(c.get(), tn_f32(3), w)));
    return report();
}
