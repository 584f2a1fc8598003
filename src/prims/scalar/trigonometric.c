/* Circular functions: sin cos tan asin acos atan atan2. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
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
    .ns = 0.29,
    .jvp_bound = 2.2,
    .domain = {{-4, 4, 0, 0}},
    .image = {-1, 1},
    .complex = tn_i_complex_of_sin,
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
    .ns = 0.27,
    .jvp_bound = 2.35,
    .domain = {{-4, 4, 0, 0}},
    .image = {-1, 1},
    .complex = tn_i_complex_of_cos,
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
    .ns = 0.44,
    .jvp_bound = 1.65,
    .domain = {{-0.9, 0.9, 0, 0}},
    .complex = tn_i_complex_of_tan,
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
    .ns = 0.38,
    .jvp_bound = 2.4,
    .domain = {{-0.6, 0.6, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, -1, 1),
    .complex = tn_i_complex_of_asin,
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
    .ns = 0.41,
    .jvp_bound = 2.5,
    .domain = {{-0.6, 0.6, 0, 0}},
    .pole = TN_POLE_OUTSIDE(0, -1, 1),
    .complex = tn_i_complex_of_acos,
};

TN_STRIP1(atan, f32, float, float, atanf(x))
TN_STRIP1(atan, f64, double, double, atan(x))

/* 1 / (1 + x^2), as a square: 1 + x^2 itself, and its own square in the second derivative, overflow earlier. */
static tn_i_var partial_atan(tn_i_rule *r, tn_i_var dx) {
    const tn_i_var root = tn_i_rsqrt_one_plus_square(r->b, r->in[0]);
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_square, root));
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
    .ns = 0.44,
    .jvp_bound = 3.3,
    .complex = tn_i_complex_of_atan,
};

/* ---- atan2 ---- */
TN_STRIP2(atan2, f32, float, float, atan2f(x, y))
TN_STRIP2(atan2, f64, double, double, atan2(x, y))

/* One of the operands over x^2 + y^2, NaN at the origin.  Squares are of the ratio of the smaller to the larger, which
 * neither overflow nor vanish unseen: 1 / (larger (1 + ratio^2)) belongs to the larger, ratio times that to the other.
 */
static tn_i_var over_radius_square(tn_i_rule *r, uint32_t operand) {
    tn_i_builder *b = r->b;
    const tn_i_var x = r->in[0], y = r->in[1], size = tn_i_op1(b, TN_P_abs, x);
    const tn_i_var steep = tn_i_op2(b, TN_P_gt, size, tn_i_op1(b, TN_P_abs, y));
    const tn_i_var larger = tn_i_op3(b, TN_P_select, steep, x, y), smaller = tn_i_op3(b, TN_P_select, steep, y, x);
    const tn_i_var ratio = tn_i_op2(b, TN_P_div, smaller, larger), one = tn_i_number_like(b, x, 1.0);
    const tn_i_var inverse = tn_i_op2(b, TN_P_div, one, larger);
    const tn_i_var of_larger = tn_i_op2(b, TN_P_div, inverse, tn_i_one_plus_square(b, ratio));
    const tn_i_var of_smaller = tn_i_op2(b, TN_P_mul, ratio, of_larger);
    return operand == 0 ? tn_i_op3(b, TN_P_select, steep, of_larger, of_smaller)
                        : tn_i_op3(b, TN_P_select, steep, of_smaller, of_larger);
}

static tn_i_var partial_opposite(tn_i_rule *r, tn_i_var dx) { return tn_i_mul_by(r, dx, over_radius_square(r, 1)); }
static tn_i_var partial_adjacent(tn_i_rule *r, tn_i_var dy) {
    return tn_i_mul_by(r, dy, tn_i_op1(r->b, TN_P_neg, over_radius_square(r, 0)));
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
    .ns = 0.7,
    .jvp_bound = 4.25,
    .domain = {{-2, 2, 0.5, TN_AT_ZERO}, {-2, 2, 0.5, TN_AT_ZERO}},
    .pole = {TN_OPERAND(0) | TN_OPERAND(1), false, 0, 0},
};
