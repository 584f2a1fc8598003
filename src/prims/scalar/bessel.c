/* Modified Bessel functions of orders 0 and 1, scaled: e^-|x| I(x). */
#include "prims/c_text.h"
#include "prims/rules.h"
#include "prims/scalar/special.h"
#include "prims/strips.h"

#include <math.h>

/* ---- values ---- */

/* Where x is small by the series of x^2/4, all of whose terms are positive (DLMF 10.25.2); else by Hankel's expansion,
 * whose smallest term is e^-2x of the first (DLMF 10.40.1).  y = |x|. */
TN_C_TEXT(
    bessel_scaled_text, static double bessel_scaled(int order, double y) {
        static const long double two_pi = 6.28318530717958647692528676655900577L;
        long double term = 1, sum = 1;
        if (y < 22) {
            const long double square = (long double)y * y / 4;
            for (int k = 1; k < 100 && term > 0x1p-66L * sum; k++) {
                term *= square / (k * (k + order));
                sum += term;
            }
            return (double)(sum * expl(-y) * (order ? y / 2 : 1));
        }
        for (int k = 1; k < 40 && fabsl(term) > 0x1p-66L; k++) {
            const int odd = 2 * k - 1;
            term *= (odd * odd - 4 * order) / (8 * k * (long double)y);
            sum += term;
        }
        return (double)(sum / sqrtl(two_pi * y));
    })

TN_C_TEXT(
    tn_i_bessel_i0e_text, double tn_i_bessel_i0e(double x) { return bessel_scaled(0, fabs(x)); })
TN_C_TEXT(
    tn_i_bessel_i1e_text, double tn_i_bessel_i1e(double x) { return copysign(bessel_scaled(1, fabs(x)), x); })
TN_C_TEXT(
    tn_i_bessel_i0e_f32_text, float tn_i_bessel_i0e_f32(float x) { return (float)tn_i_bessel_i0e((double)x); })
TN_C_TEXT(
    tn_i_bessel_i1e_f32_text, float tn_i_bessel_i1e_f32(float x) { return (float)tn_i_bessel_i1e((double)x); })

static const tn_i_c_helper helpers[] = {
    {"bessel_scaled", bessel_scaled_text},
    {"tn_i_bessel_i0e", tn_i_bessel_i0e_text},
    {"tn_i_bessel_i1e", tn_i_bessel_i1e_text},
    {"tn_i_bessel_i0e_f32", tn_i_bessel_i0e_f32_text},
    {"tn_i_bessel_i1e_f32", tn_i_bessel_i1e_f32_text},
    {NULL, NULL},
};

/* ---- primitives ---- */

TN_STRIP1(bessel_i0e, f32, float, float, tn_i_bessel_i0e_f32(x))
TN_STRIP1(bessel_i0e, f64, double, double, tn_i_bessel_i0e(x))
TN_STRIP1(bessel_i1e, f32, float, float, tn_i_bessel_i1e_f32(x))
TN_STRIP1(bessel_i1e, f64, double, double, tn_i_bessel_i1e(x))

/* i1e - sign(x) i0e */
static tn_i_var partial_bessel_i0e(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const tn_i_var i1e = tn_i_op1(b, TN_P_bessel_i1e, r->in[0]), sign = tn_i_op1(b, TN_P_sign, r->in[0]);
    return tn_i_mul_by(r, dx, tn_i_fma(b, TN_FMA_RSUB, sign, r->out[0], i1e));
}

/* i0e - sign(x) i1e - i1e/x, where the last is 1/2 at 0. */
static tn_i_var partial_bessel_i1e(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const tn_i_var x = r->in[0], zero = tn_i_number_like(b, x, 0.0), one = tn_i_number_like(b, x, 1.0);
    const tn_i_var is_zero = tn_i_op2(b, TN_P_eq, x, zero), half = tn_i_number_like(b, x, 0.5);
    const tn_i_var away = tn_i_op3(b, TN_P_select, is_zero, one, x);
    const tn_i_var ratio = tn_i_op3(b, TN_P_select, is_zero, half, tn_i_op2(b, TN_P_div, r->out[0], away));
    const tn_i_var i0e = tn_i_op1(b, TN_P_bessel_i0e, x), sign = tn_i_op1(b, TN_P_sign, x);
    const tn_i_var rest = tn_i_fma(b, TN_FMA_RSUB, sign, r->out[0], i0e);
    return tn_i_mul_by(r, dx, tn_i_op2(b, TN_P_sub, rest, ratio));
}

const tn_prim tn_prim_bessel_i0e = {
    .id = TN_P_bessel_i0e,
    .name = "bessel_i0e",
    .c_helpers = helpers,
    .doc = "e^-|x| I0(x), I0 being the modified Bessel function; derivative at 0: 0",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_bessel_i0e},
    TN_FLOAT_STRIPS(bessel_i0e),
    TN_VECTOR(bessel_i0e),
    .weight = 16,
    .jvp_bound = 2.65,
    .domain = {{-3, 3, 0.6, TN_AT_ZERO}},
    .image = {0, 1},
};

const tn_prim tn_prim_bessel_i1e = {
    .id = TN_P_bessel_i1e,
    .name = "bessel_i1e",
    .c_helpers = helpers,
    .doc = "e^-|x| I1(x), I1 being the modified Bessel function",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_bessel_i1e},
    TN_FLOAT_STRIPS(bessel_i1e),
    TN_VECTOR(bessel_i1e),
    .weight = 16,
    .jvp_bound = 3.9,
    .domain = {{-3, 3, 0.6, TN_AT_ZERO}},
    .image = {-1, 1},
};
