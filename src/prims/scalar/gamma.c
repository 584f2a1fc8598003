/* The error function's and the gamma function's families (values: special.h). */
#include "prims/c_text.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/scalar/special.h"
#include "prims/strips.h"

#include <math.h>

static const double two_over_sqrt_pi = 1.12837916709551257390, half_sqrt_pi = 0.886226925452758013649;

/* ---- erf, erfc, erf_inv ---- */
TN_STRIP1(erf, f32, float, float, erff(x))
TN_STRIP1(erf, f64, double, double, erf(x))
/* wider, and rounded: the C library's are up to 3.3 ulp from exact */
TN_STRIP1(erfc, f32, float, float, (float)erfc((double)x))
TN_STRIP1(erfc, f64, double, double, (double)erfcl((long double)x))
TN_STRIP1(erf_inv, f32, float, float, tn_i_erf_inv_f32(x))
TN_STRIP1(erf_inv, f64, double, double, tn_i_erf_inv(x))

/* k e^(-x^2), where x^2 is a square and what it was rounded by.  Where |x| > 30 it is 0 in every dtype. */
static tn_i_var bell(tn_i_builder *b, tn_i_var x, double k) {
    const int dtype = b->failed || x == TN_NOVAR ? TN_F64 : tn_i_vtype(b, x)->dtype;
    const tn_i_var least = tn_i_literal_f64(b, dtype, -30), most = tn_i_literal_f64(b, dtype, 30);
    const tn_i_var near = tn_i_op3(b, TN_P_clamp, least, x, most), square = tn_i_op1(b, TN_P_square, near);
    const tn_i_var rest = tn_i_op1(b, TN_P_stop_gradient, tn_i_fma(b, TN_FMA_SUB, near, near, square));
    const tn_i_var power = tn_i_op1(b, TN_P_exp, tn_i_op1(b, TN_P_neg, square));
    return tn_i_times(b, tn_i_fma(b, TN_FMA_RSUB, power, rest, power), k);
}

static tn_i_var partial_erf(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, bell(r->b, r->in[0], two_over_sqrt_pi));
}
static tn_i_var partial_erfc(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, bell(r->b, r->in[0], -two_over_sqrt_pi));
}

/* e^(y^2) / (2/sqrt pi), times what it changes by what y^2 was rounded by, and by how far the result y is from exact:
 * erfc(y) misses 1 - |x|, and that by the same derivative is a step of y.  Where that is not finite y is infinite. */
static tn_i_var partial_erf_inv(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const tn_i_var y = tn_i_op1(b, TN_P_abs, r->out[0]), square = tn_i_op1(b, TN_P_square, y);
    const tn_i_var slope = tn_i_times(b, tn_i_op1(b, TN_P_exp, square), half_sqrt_pi);
    const tn_i_var rest = tn_i_fma(b, TN_FMA_SUB, y, y, square), erfc = tn_i_op1(b, TN_P_erfc, y);
    const tn_i_var tail = tn_i_minus_from(b, 1.0, tn_i_op1(b, TN_P_abs, r->in[0]));
    const tn_i_var step = tn_i_op2(b, TN_P_mul, tn_i_op2(b, TN_P_sub, erfc, tail), slope);
    const tn_i_var more = tn_i_fma(b, TN_FMA_ADD, tn_i_op2(b, TN_P_add, y, y), step, rest);
    const tn_i_var finite = tn_i_op1(b, TN_P_is_finite, more), none = tn_i_number_like(b, more, 0.0);
    const tn_i_var by = tn_i_op1(b, TN_P_stop_gradient, tn_i_op3(b, TN_P_select, finite, more, none));
    return tn_i_mul_by(r, dx, tn_i_fma(b, TN_FMA_ADD, slope, by, slope));
}

const tn_prim tn_prim_erf = {
    .id = TN_P_erf,
    .name = "erf",
    .doc = "error function",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_erf},
    TN_FLOAT_STRIPS(erf),
    TN_VECTOR(erf),
    .weight = 16,
    .ns = 0.67,
    .jvp_bound = 3.65,
    .image = {-1, 1},
};

const tn_prim tn_prim_erfc = {
    .id = TN_P_erfc,
    .name = "erfc",
    .doc = "1 - erf(x), exact for large x",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_erfc},
    TN_FLOAT_STRIPS(erfc),
    TN_VECTOR(erfc),
    .weight = 16,
    .ns = 0.56,
    .jvp_bound = 3.65,
    .image = {0, 2},
};

const tn_prim tn_prim_erf_inv = {
    .id = TN_P_erf_inv,
    .name = "erf_inv",
    .c_helpers = tn_i_special_helpers,
    .doc = "inverse of erf; -inf and inf at -1 and 1, NaN outside",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_erf_inv},
    TN_FLOAT_STRIPS(erf_inv),
    TN_VECTOR(erf_inv),
    .weight = 16,
    .ns = 0.9,
    .jvp_bound = 5.95,
    .domain = {{-0.6, 0.6, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, -1, 1),
};

/* ---- lgamma, digamma, polygamma, zeta ---- */
TN_STRIP1(lgamma, f32, float, float, tn_i_lgamma_f32(x))
TN_STRIP1(lgamma, f64, double, double, tn_i_lgamma(x))
TN_STRIP1(digamma, f32, float, float, tn_i_digamma_f32(x))
TN_STRIP1(digamma, f64, double, double, tn_i_digamma(x))
TN_STRIP2(polygamma, f32, float, float, tn_i_polygamma_f32(x, y))
TN_STRIP2(polygamma, f64, double, double, tn_i_polygamma(x, y))

TN_STRIP2(zeta, f32, float, float, tn_i_zeta_f32(x, y))
TN_STRIP2(zeta, f64, double, double, tn_i_zeta(x, y))

static tn_i_var partial_lgamma(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_digamma, r->in[0]));
}
static tn_i_var partial_digamma(tn_i_rule *r, tn_i_var dx) {
    tn_i_var one = tn_i_number_like(r->b, r->in[0], 1.0);
    return tn_i_mul_by(r, dx, tn_i_op2(r->b, TN_P_polygamma, one, r->in[0]));
}
static tn_i_var partial_polygamma(tn_i_rule *r, tn_i_var dx) {
    tn_i_var next = tn_i_plus(r->b, r->in[0], 1.0);
    return tn_i_mul_by(r, dx, tn_i_op2(r->b, TN_P_polygamma, next, r->in[1]));
}

/* -s zeta(s + 1, q) */
static tn_i_var partial_zeta(tn_i_rule *r, tn_i_var dq) {
    const tn_i_var next = tn_i_plus(r->b, r->in[0], 1.0), zeta = tn_i_op2(r->b, TN_P_zeta, next, r->in[1]);
    return tn_i_mul_by(r, dq, tn_i_op1(r->b, TN_P_neg, tn_i_op2(r->b, TN_P_mul, r->in[0], zeta)));
}

static void fill_polygamma(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < n; k++)
        tn_i_put(c->in[i].dtype, data, k, i == 0 ? (double)tn_i_pick(r, 0, 3) : tn_i_uniform(r, 1, 4));
}

static bool sample_polygamma(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    c->fill = fill_polygamma;
    return true;
}

static bool sample_zeta(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    c->domain[0] = (tn_i_domain){.lo = 1.5, .hi = 4};
    c->domain[1] = (tn_i_domain){.lo = 1, .hi = 4};
    return true;
}

const tn_prim tn_prim_lgamma = {
    .id = TN_P_lgamma,
    .name = "lgamma",
    .c_helpers = tn_i_special_helpers,
    .doc = "log |gamma(x)|; inf at 0, -1, -2, ...",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_lgamma},
    TN_FLOAT_STRIPS(lgamma),
    .vector = {[TN_F32] = "lgammaf", [TN_F64] = "lgamma"},
    .weight = 16,
    .ns = 5,
    .jvp_bound = 2.2,
    .domain = {{0.8, 4, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, 0, INFINITY),
};

const tn_prim tn_prim_digamma = {
    .id = TN_P_digamma,
    .name = "digamma",
    .c_helpers = tn_i_special_helpers,
    .doc = "derivative of lgamma; NaN at 0, -1, -2, ...",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_digamma},
    TN_FLOAT_STRIPS(digamma),
    TN_VECTOR(digamma),
    .weight = 16,
    .ns = 4.6,
    .jvp_bound = 2.35,
    .domain = {{0.8, 4, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, 0, INFINITY),
};

const tn_prim tn_prim_polygamma = {
    .id = TN_P_polygamma,
    .name = "polygamma",
    .c_helpers = tn_i_special_helpers,
    .doc = "polygamma(m, x): m-th derivative of digamma at x; m is a whole number and has no derivative",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {NULL, partial_polygamma},
    TN_FLOAT_STRIPS(polygamma),
    TN_VECTOR(polygamma),
    .weight = 16,
    .ns = 2,
    .jvp_bound = 2.5,
    .sample = sample_polygamma,
    .pole = TN_POLE_OUTSIDE(1, 0, INFINITY),
};

const tn_prim tn_prim_zeta = {
    .id = TN_P_zeta,
    .name = "zeta",
    .c_helpers = tn_i_special_helpers,
    .doc = "zeta(s, q): Hurwitz's, the sum of (q + k)^-s over k >= 0; no derivative in s, as in JAX",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {NULL, partial_zeta},
    TN_FLOAT_STRIPS(zeta),
    TN_VECTOR(zeta),
    .weight = 16,
    .jvp_bound = 2.9,
    .sample = sample_zeta,
    .pole = TN_POLE_OUTSIDE(1, 0, INFINITY),
};
