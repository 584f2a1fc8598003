/* Exponentials and logarithms: exp exp2 expm1 log log1p logistic. */
#include "prims/c_text.h"
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/scalar/special.h"
#include "prims/strips.h"

#include <math.h>

/* ---- exp, exp2, expm1: derivatives by their results ---- */
TN_STRIP1(exp, f32, float, float, expf(x))
TN_STRIP1(exp, f64, double, double, exp(x))

static tn_i_var partial_exp(tn_i_rule *r, tn_i_var dx) { return tn_i_mul_by(r, dx, r->out[0]); }

const tn_prim tn_prim_exp = {
    .id = TN_P_exp,
    .name = "exp",
    .doc = "e^x",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_exp},
    TN_FLOAT_STRIPS(exp),
    TN_VECTOR(exp),
    .weight = 16,
    .ns = 0.22,
    .jvp_bound = 1.2,
    .image = {0, INFINITY},
    .complex = tn_i_complex_of_exp,
};

TN_STRIP1(exp2, f32, float, float, exp2f(x))
TN_STRIP1(exp2, f64, double, double, exp2(x))

static tn_i_var partial_exp2(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_times(r->b, r->out[0], 0.693147180559945309417));
}

const tn_prim tn_prim_exp2 = {
    .id = TN_P_exp2,
    .name = "exp2",
    .doc = "2^x",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_exp2},
    TN_FLOAT_STRIPS(exp2),
    TN_VECTOR(exp2),
    .weight = 16,
    .ns = 0.22,
    .jvp_bound = 1.5,
    .image = {0, INFINITY},
    .complex = tn_i_complex_of_exp2,
};

TN_STRIP1(expm1, f32, float, float, expm1f(x))
TN_STRIP1(expm1, f64, double, double, expm1(x))

/* e^x once more: from the result, below 0, most digits are gone. */
static tn_i_var partial_expm1(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_exp, r->in[0]));
}

const tn_prim tn_prim_expm1 = {
    .id = TN_P_expm1,
    .name = "expm1",
    .doc = "e^x - 1, exact near 0",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_expm1},
    TN_FLOAT_STRIPS(expm1),
    TN_VECTOR(expm1),
    .weight = 16,
    .ns = 0.25,
    .jvp_bound = 2.2,
    .image = {-1, INFINITY},
    .complex = tn_i_complex_of_expm1,
};

/* ---- log, log1p ---- */
TN_STRIP1(log, f32, float, float, logf(x))
TN_STRIP1(log, f64, double, double, log(x))

static tn_i_var partial_log(tn_i_rule *r, tn_i_var dx) { return tn_i_op2(r->b, TN_P_div, dx, r->in[0]); }

const tn_prim tn_prim_log = {
    .id = TN_P_log,
    .name = "log",
    .doc = "natural logarithm; -inf at 0, NaN below",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_log},
    TN_FLOAT_STRIPS(log),
    TN_VECTOR(log),
    .weight = 16,
    .ns = 0.25,
    .jvp_bound = 1.25,
    .domain = {{0.4, 4, 0, 0}},
    .pole = TN_POLE_AT(0, 0),
    .complex = tn_i_complex_of_log,
};

TN_STRIP1(log1p, f32, float, float, log1pf(x))
TN_STRIP1(log1p, f64, double, double, log1p(x))

static tn_i_var partial_log1p(tn_i_rule *r, tn_i_var dx) {
    return tn_i_op2(r->b, TN_P_div, dx, tn_i_plus(r->b, r->in[0], 1.0));
}

const tn_prim tn_prim_log1p = {
    .id = TN_P_log1p,
    .name = "log1p",
    .doc = "log(1 + x), exact near 0; -inf at -1, NaN below",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_log1p},
    TN_FLOAT_STRIPS(log1p),
    TN_VECTOR(log1p),
    .weight = 16,
    .ns = 0.48,
    .jvp_bound = 1.6,
    .domain = {{-0.6, 3, 0, 0}},
    .pole = TN_POLE_AT(0, -1),
    .complex = tn_i_complex_of_log1p,
};

/* ---- logistic ---- */
TN_STRIP1(logistic, f32, float, float, tn_i_logistic_f32(x))
TN_STRIP1(logistic, f64, double, double, tn_i_logistic(x))

/* y - y^2: by the result alone, which is all that a network keeps, so exact to ulps of 1 where y is near 1. */
static tn_i_var partial_logistic(tn_i_rule *r, tn_i_var dx) {
    const tn_i_var y = r->out[0];
    return tn_i_mul_by(r, dx, tn_i_fma(r->b, TN_FMA_RSUB, y, y, y));
}

const tn_prim tn_prim_logistic = {
    .id = TN_P_logistic,
    .name = "logistic",
    .c_helpers = tn_i_special_helpers,
    .doc = "1 / (1 + e^-x), no overflow",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_logistic},
    TN_FLOAT_STRIPS(logistic),
    TN_VECTOR(logistic),
    .weight = 16,
    .ns = 0.36,
    .jvp_bound = 1.7,
    .image = {0, 1},
    .complex = tn_i_complex_of_logistic,
};
