/* Circular functions: sin cos tan asin acos atan atan2. */
#include "prims/rules.h"
#include "prims/strips.h"

#include <math.h>

/* ---- sin, cos, tan ---- */
TN_STRIP1(sin, f32, float, float, sinf(x))
TN_STRIP1(sin, f64, double, double, sin(x))

static tn_i_var partial_sin(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_cos, r->in[0]));
}

const tn_prim tn_prim_sin = {
    .id = TN_P_sin,
    .name = "sin",
    .doc = "sine of x radians; NaN at infinities",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_sin},
    TN_FLOAT_STRIPS(sin),
    TN_VECTOR(sin),
    .weight = 16,
    .jvp_bound = 2.2,
    .domain = {{-4, 4, 0, 0}},
    .image = {-1, 1},
};

TN_STRIP1(cos, f32, float, float, cosf(x))
TN_STRIP1(cos, f64, double, double, cos(x))

static tn_i_var partial_cos(tn_i_rule *r, tn_i_var dx) {
    tn_i_var sine = tn_i_op1(r->b, TN_P_sin, r->in[0]);
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_neg, sine));
}

const tn_prim tn_prim_cos = {
    .id = TN_P_cos,
    .name = "cos",
    .doc = "cosine of x radians; NaN at infinities",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_cos},
    TN_FLOAT_STRIPS(cos),
    TN_VECTOR(cos),
    .weight = 16,
    .jvp_bound = 2.35,
    .domain = {{-4, 4, 0, 0}},
    .image = {-1, 1},
};

TN_STRIP1(tan, f32, float, float, tanf(x))
TN_STRIP1(tan, f64, double, double, tan(x))

static tn_i_var partial_tan(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_plus(r->b, tn_i_op1(r->b, TN_P_square, r->out[0]), 1.0));
}

const tn_prim tn_prim_tan = {
    .id = TN_P_tan,
    .name = "tan",
    .doc = "tangent of x radians; NaN at infinities",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_tan},
    TN_FLOAT_STRIPS(tan),
    TN_VECTOR(tan),
    .weight = 16,
    .jvp_bound = 1.65,
    .domain = {{-0.9, 0.9, 0, 0}},
};

/* ---- asin, acos, atan ---- */
static tn_i_var rsqrt_one_minus_square(tn_i_rule *r) {
    return tn_i_op1(r->b, TN_P_rsqrt, tn_i_one_minus_square(r->b, r->in[0]));
}

TN_STRIP1(asin, f32, float, float, asinf(x))
TN_STRIP1(asin, f64, double, double, asin(x))

static tn_i_var partial_asin(tn_i_rule *r, tn_i_var dx) { return tn_i_mul_by(r, dx, rsqrt_one_minus_square(r)); }

const tn_prim tn_prim_asin = {
    .id = TN_P_asin,
    .name = "asin",
    .doc = "arc sine, NaN outside [-1, 1]; derivative inf at -1 and 1",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_asin},
    TN_FLOAT_STRIPS(asin),
    TN_VECTOR(asin),
    .weight = 16,
    .jvp_bound = 2.4,
    .domain = {{-0.6, 0.6, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, -1, 1),
};

TN_STRIP1(acos, f32, float, float, acosf(x))
TN_STRIP1(acos, f64, double, double, acos(x))

static tn_i_var partial_acos(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_neg, rsqrt_one_minus_square(r)));
}

const tn_prim tn_prim_acos = {
    .id = TN_P_acos,
    .name = "acos",
    .doc = "arc cosine, NaN outside [-1, 1]; derivative -inf at -1 and 1",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_acos},
    TN_FLOAT_STRIPS(acos),
    TN_VECTOR(acos),
    .weight = 16,
    .jvp_bound = 2.5,
    .domain = {{-0.6, 0.6, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, -1, 1),
};

TN_STRIP1(atan, f32, float, float, atanf(x))
TN_STRIP1(atan, f64, double, double, atan(x))

static tn_i_var partial_atan(tn_i_rule *r, tn_i_var dx) {
    return tn_i_op2(r->b, TN_P_div, dx, tn_i_plus(r->b, tn_i_op1(r->b, TN_P_square, r->in[0]), 1.0));
}

const tn_prim tn_prim_atan = {
    .id = TN_P_atan,
    .name = "atan",
    .doc = "arc tangent, in [-pi/2, pi/2]",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_atan},
    TN_FLOAT_STRIPS(atan),
    TN_VECTOR(atan),
    .weight = 16,
    .jvp_bound = 1.7,
};

/* ---- atan2 ---- */
TN_STRIP2(atan2, f32, float, float, atan2f(x, y))
TN_STRIP2(atan2, f64, double, double, atan2(x, y))

/* z / (x^2 + y^2), NaN at the origin. */
static tn_i_var over_radius_square(tn_i_rule *r, tn_i_var z) {
    tn_i_builder *b = r->b;
    const tn_i_var xx = tn_i_op1(b, TN_P_square, r->in[0]), yy = tn_i_op1(b, TN_P_square, r->in[1]);
    return tn_i_op2(b, TN_P_div, z, tn_i_op2(b, TN_P_add, xx, yy));
}

static tn_i_var partial_opposite(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, over_radius_square(r, r->in[1]));
}
static tn_i_var partial_adjacent(tn_i_rule *r, tn_i_var dy) {
    return tn_i_mul_by(r, dy, over_radius_square(r, tn_i_op1(r->b, TN_P_neg, r->in[0])));
}

const tn_prim tn_prim_atan2 = {
    .id = TN_P_atan2,
    .name = "atan2",
    .doc = "angle of the point (y, x): atan(x / y) in its quadrant; derivatives at (0, 0) are NaN",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_opposite, partial_adjacent},
    TN_FLOAT_STRIPS(atan2),
    TN_VECTOR(atan2),
    .weight = 16,
    .jvp_bound = 2.65,
    .domain = {{-2, 2, 0.5, TN_AT_ZERO}, {-2, 2, 0.5, TN_AT_ZERO}},
    .pole = {TN_OPERAND(0) | TN_OPERAND(1), false, 0, 0},
};
