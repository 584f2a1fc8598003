/* strict_mul, strict_div: products and quotients of the linear program under strict_zero.
 *
 * Where an ordinary one is NaN because a 0 meets an infinity or a NaN, these are 0; everywhere else the bits
 * are the same.  A zero tangent or cotangent then stays zero whatever partial it meets, as that of the branch
 * a select does not take.  Nothing emits them but ir/strict.c, and their own rules. */
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/strips.h"

TN_STRIP2(strict_mul, f32, float, float, (x != 0 && y != 0) || x * y == x * y ? x * y : 0)
TN_STRIP2(strict_mul, f64, double, double, (x != 0 && y != 0) || x * y == x * y ? x * y : 0)
TN_STRIP2(strict_div, f32, float, float, x != 0 || x / y == x / y ? x / y : 0)
TN_STRIP2(strict_div, f64, double, double, x != 0 || x / y == x / y ? x / y : 0)

static void transpose_strict_mul(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    for (int i = 0; i < 2; i++)
        if (r->in[i] == TN_NOVAR) ct_in[i] = tn_i_op2(r->b, TN_P_strict_mul, ct[0], r->in[1 - i]);
}

const tn_prim tn_prim_strict_mul = {
    .id = TN_P_strict_mul,
    .name = "strict_mul",
    .doc = "x * y, and 0 where a 0 meets an infinity or a NaN",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_COMMUTES,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .linear = {TN_OPERAND(0), TN_OPERAND(1)},
    .transpose = transpose_strict_mul,
    TN_FLOAT_STRIPS(strict_mul),
    .weight = 1,
    .jvp_bound = 4,
    .transpose_bound = 1,
};

static tn_i_var partial_strict_divisor(tn_i_rule *r, tn_i_var dy) {
    tn_i_var ratio = tn_i_op2(r->b, TN_P_strict_div, r->out[0], r->in[1]);
    return tn_i_op2(r->b, TN_P_strict_mul, dy, tn_i_op1(r->b, TN_P_neg, ratio));
}

static void transpose_strict_div(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_op2(r->b, TN_P_strict_div, ct[0], r->in[1]);
}

const tn_prim tn_prim_strict_div = {
    .id = TN_P_strict_div,
    .name = "strict_div",
    .doc = "x / y, and 0 where x is 0 and y is 0 or NaN",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .linear = {TN_OPERAND(0)},
    .partial = {NULL, partial_strict_divisor},
    .transpose = transpose_strict_div,
    TN_FLOAT_STRIPS(strict_div),
    .weight = 4,
    .jvp_bound = 5,
    .transpose_bound = 1,
    .domain = {{-2, 2, 0, 0}, {-2, 2, 0.7, TN_AT_ZERO}},
    .pole = TN_POLE_AT(1, 0),
};
