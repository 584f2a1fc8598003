/* Roots: sqrt rsqrt cbrt.  Their derivatives are functions of their results. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/strips.h"

#include <math.h>

TN_STRIP1(sqrt, f32, float, float, sqrtf(x))
TN_STRIP1(sqrt, f64, double, double, sqrt(x))

static tn_i_var partial_sqrt(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op2(r->b, TN_P_div, tn_i_number_like(r->b, dx, 0.5), r->out[0]));
}

const tn_prim tn_prim_sqrt = {
    .id = TN_P_sqrt,
    .name = "sqrt",
    .doc = "square root; NaN below 0, sqrt'(0) = inf",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_sqrt},
    TN_FLOAT_STRIPS(sqrt),
    .weight = 4,
    .jvp_bound = 3.25,
    .domain = {{0.6, 4, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, 0, INFINITY),
    .image = {0, INFINITY},
    .complex = tn_i_complex_of_sqrt,
};

TN_STRIP1(rsqrt, f32, float, float, 1.0f / sqrtf(x))
TN_STRIP1(rsqrt, f64, double, double, 1.0 / sqrt(x))

/* A power of the result. */
static tn_i_var power(tn_i_rule *r, int64_t n) {
    const tn_i_param y = {.kind = TN_K_INT, .u.i = n};
    return tn_i_emit(r->b, tn_i_prim(r->b, TN_P_integer_pow), &y, 1, r->out);
}

/* -out^3 / 2: no division, and of x nothing is kept. */
static tn_i_var partial_rsqrt(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_times(r->b, power(r, 3), -0.5));
}

static void range_rsqrt(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    *out = (tn_i_range){1 / sqrt(fmax(in[0].hi, 0)), INFINITY};
}

const tn_prim tn_prim_rsqrt = {
    .id = TN_P_rsqrt,
    .name = "rsqrt",
    .doc = "1 / sqrt(x); inf at 0, NaN below",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_rsqrt},
    TN_FLOAT_STRIPS(rsqrt),
    .weight = 8,
    .jvp_bound = 2.5,
    .domain = {{0.6, 4, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, 0, INFINITY),
    .range = range_rsqrt,
    .complex = tn_i_complex_of_rsqrt,
};

/* wider, and rounded: the C library's are up to 3.2 ulp from exact */
TN_STRIP1(cbrt, f32, float, float, (float)cbrt((double)x))
TN_STRIP1(cbrt, f64, double, double, (double)cbrtl((long double)x))

/* out^-2 / 3: a power of one step, so that the second derivative at 0 is infinite and not NaN. */
static tn_i_var partial_cbrt(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_times(r->b, power(r, -2), 1.0 / 3.0));
}

const tn_prim tn_prim_cbrt = {
    .id = TN_P_cbrt,
    .name = "cbrt",
    .doc = "cube root, of negative numbers too; cbrt'(0) = inf",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_cbrt},
    TN_FLOAT_STRIPS(cbrt),
    TN_VECTOR(cbrt),
    .weight = 16,
    .ns = 0.34,
    .jvp_bound = 1.85,
    .domain = {{-3, 3, 0.6, TN_AT_ZERO}},
    .pole = TN_POLE_AT(0, 0),
};
