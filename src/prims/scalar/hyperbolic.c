/* Hyperbolic functions: sinh cosh tanh asinh acosh atanh. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/strips.h"

#include <math.h>

/* ---- sinh, cosh, tanh ---- */
TN_STRIP1(sinh, f32, float, float, sinhf(x))
TN_STRIP1(sinh, f64, double, double, sinh(x))

static tn_i_var partial_sinh(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_cosh, r->in[0]));
}

const tn_prim tn_prim_sinh = {
    .id = TN_P_sinh,
    .name = "sinh",
    .doc = "(e^x - e^-x) / 2",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_sinh},
    TN_FLOAT_STRIPS(sinh),
    TN_VECTOR(sinh),
    .weight = 16,
    .ns = 0.38,
    .jvp_bound = 2.2,
    .complex = tn_i_complex_of_sinh,
};

TN_STRIP1(cosh, f32, float, float, coshf(x))
TN_STRIP1(cosh, f64, double, double, cosh(x))

static tn_i_var partial_cosh(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_sinh, r->in[0]));
}

const tn_prim tn_prim_cosh = {
    .id = TN_P_cosh,
    .name = "cosh",
    .doc = "(e^x + e^-x) / 2",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_cosh},
    TN_FLOAT_STRIPS(cosh),
    TN_VECTOR(cosh),
    .weight = 16,
    .ns = 0.32,
    .jvp_bound = 2.2,
    .image = {1, INFINITY},
    .complex = tn_i_complex_of_cosh,
};

TN_STRIP1(tanh, f32, float, float, tanhf(x))
TN_STRIP1(tanh, f64, double, double, tanh(x))

/* 1 - y^2: by the result alone, which is all that a network keeps, so exact to ulps of 1 and not of itself. */
static tn_i_var partial_tanh(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_one_minus_square(r->b, r->out[0]));
}

const tn_prim tn_prim_tanh = {
    .id = TN_P_tanh,
    .name = "tanh",
    .doc = "sinh(x) / cosh(x)",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_tanh},
    TN_FLOAT_STRIPS(tanh),
    TN_VECTOR(tanh),
    .weight = 16,
    .ns = 0.35,
    .jvp_bound = 1.75,
    .image = {-1, 1},
    .complex = tn_i_complex_of_tanh,
};

/* ---- asinh, acosh, atanh ---- */
TN_STRIP1(asinh, f32, float, float, asinhf(x))
TN_STRIP1(asinh, f64, double, double, asinh(x))

static tn_i_var partial_asinh(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_rsqrt_one_plus_square(r->b, r->in[0]));
}

const tn_prim tn_prim_asinh = {
    .id = TN_P_asinh,
    .name = "asinh",
    .doc = "inverse of sinh",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_asinh},
    TN_FLOAT_STRIPS(asinh),
    TN_VECTOR(asinh),
    .weight = 16,
    .ns = 0.92,
    .jvp_bound = 3.15,
    .complex = tn_i_complex_of_asinh,
};

TN_STRIP1(acosh, f32, float, float, acoshf(x))
TN_STRIP1(acosh, f64, double, double, acosh(x))

/* 1 / sqrt(x - 1) / sqrt(x + 1): x^2 - 1 would lose digits near 1, and overflow. */
static tn_i_var partial_acosh(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const tn_i_var minus = tn_i_op2(b, TN_P_sub, r->in[0], tn_i_number_like(b, r->in[0], 1.0));
    const tn_i_var below = tn_i_op1(b, TN_P_rsqrt, minus);
    const tn_i_var above = tn_i_op1(b, TN_P_rsqrt, tn_i_plus(b, r->in[0], 1.0));
    return tn_i_mul_by(r, dx, tn_i_op2(b, TN_P_mul, below, above));
}

const tn_prim tn_prim_acosh = {
    .id = TN_P_acosh,
    .name = "acosh",
    .doc = "inverse of cosh, >= 0; NaN below 1, derivative inf at 1",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_acosh},
    TN_FLOAT_STRIPS(acosh),
    TN_VECTOR(acosh),
    .weight = 16,
    .ns = 0.87,
    .jvp_bound = 2.95,
    .domain = {{1.5, 4, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, 1, INFINITY),
    .complex = tn_i_complex_of_acosh,
};

TN_STRIP1(atanh, f32, float, float, atanhf(x))
TN_STRIP1(atanh, f64, double, double, atanh(x))

static tn_i_var partial_atanh(tn_i_rule *r, tn_i_var dx) {
    return tn_i_op2(r->b, TN_P_div, dx, tn_i_one_minus_square(r->b, r->in[0]));
}

const tn_prim tn_prim_atanh = {
    .id = TN_P_atanh,
    .name = "atanh",
    .doc = "inverse of tanh; -inf and inf at -1 and 1, NaN outside",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_atanh},
    TN_FLOAT_STRIPS(atanh),
    TN_VECTOR(atanh),
    .weight = 16,
    .ns = 0.57,
    .jvp_bound = 1.95,
    .domain = {{-0.6, 0.6, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, -1, 1),
    .complex = tn_i_complex_of_atanh,
};
