/* The regularized incomplete beta function I_x(a, b): x^a (1-x)^b / (a B(a, b)) times a continued fraction
 * (DLMF 8.17.22) where x is below the mean, else 1 - I_(1-x)(b, a).  In long double, as in igamma.c. */
#include "prims/c_text.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/scalar/special.h"
#include "prims/strips.h"

#include <math.h>

/* ---- values ---- */

/* x^a y^b / B(a, b), y = 1 - x.  With the mean m = a/(a+b), and what x misses it by, it is Stirling's sqrt(ab / (2 pi
 * (a+b))) (x/m)^a (y/(1-m))^b times what he misses. */
TN_C_TEXT(
    beta_front_text, static long double beta_front(long double a, long double b, long double x, long double y) {
        static const long double two_pi = 6.28318530717958647692528676655900577L;
        const long double miss = x * b - y * a, sum = a + b;
        const long double log_x = miss / a < -0.5L ? logl(x / a * sum) : log1pl(miss / a);
        const long double log_y = -miss / b < -0.5L ? logl(y / b * sum) : log1pl(-miss / b);
        const long double rest =
            tn_i_gamma_over_stirling(sum) / (tn_i_gamma_over_stirling(a) * tn_i_gamma_over_stirling(b));
        return sqrtl(a / sum) * sqrtl(b) / sqrtl(two_pi) * expl(a * log_x + b * log_y) * rest;
    })

/* 1/(1 + d1/(1 + d2/(1 + ..))) by Lentz's method */
TN_C_TEXT(
    beta_fraction_text, static long double beta_fraction(long double a, long double b, long double x) {
        long double c = 1, d = 1 / (1 - (a + b) / (a + 1) * x), f = d;
        for (int m = 1; m < 1000000; m++) {
            const long double even = m * (b - m) / (a + 2 * m - 1) * (x / (a + 2 * m));
            d = 1 / (1 + even * d);
            c = 1 + even / c;
            f *= c * d;
            const long double odd = -(a + m) / (a + 2 * m) * ((a + b + m) / (a + 2 * m + 1)) * x;
            d = 1 / (1 + odd * d);
            c = 1 + odd / c;
            f *= c * d;
            if (fabsl(c * d - 1) <= 0x1p-62L) break;
        }
        return f;
    })

TN_C_TEXT(
    tn_i_betainc_text, double tn_i_betainc(double a, double b, double x) {
        if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1)) return NAN;
        const int none = a == 0 || isinf(b), all = b == 0 || isinf(a);
        if (none && all) return NAN;
        if (none) return x > 0;
        if (all) return x == 1;
        if (x == 0 || x == 1) return x;
        const long double y = 1 - (long double)x;
        if (x < (a + 1.0L) / (a + 2.0L + b)) return (double)(beta_front(a, b, x, y) / a * beta_fraction(a, b, x));
        return (double)(1 - beta_front(b, a, y, x) / b * beta_fraction(b, a, y));
    })

TN_C_TEXT(
    tn_i_betainc_f32_text,
    float tn_i_betainc_f32(float a, float b, float x) { return (float)tn_i_betainc((double)a, (double)b, (double)x); })

static const tn_i_c_helper helpers[] = {
    {"beta_front", beta_front_text},
    {"beta_fraction", beta_fraction_text},
    {"tn_i_betainc", tn_i_betainc_text},
    {"tn_i_betainc_f32", tn_i_betainc_f32_text},
    {NULL, NULL},
};

/* ---- the primitive ---- */

TN_STRIP3(regularized_incomplete_beta, f32, float, float, float, float, tn_i_betainc_f32(x, y, z))
TN_STRIP3(regularized_incomplete_beta, f64, double, double, double, double, tn_i_betainc(x, y, z))

/* x^(a-1) (1-x)^(b-1) / B(a, b), as JAX has it. */
static tn_i_var partial_x(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const tn_i_var l = tn_i_op1(b, TN_P_log, r->in[2]), below = tn_i_plus(b, r->in[0], -1.0);
    const tn_i_var rest = tn_i_op1(b, TN_P_log1p, tn_i_op1(b, TN_P_neg, r->in[2]));
    const tn_i_var beyond = tn_i_plus(b, r->in[1], -1.0), first = tn_i_op2(b, TN_P_mul, below, l);
    const tn_i_var power = tn_i_op2(b, TN_P_add, first, tn_i_op2(b, TN_P_mul, beyond, rest));
    const tn_i_var sum = tn_i_op2(b, TN_P_add, r->in[0], r->in[1]), whole = tn_i_op1(b, TN_P_lgamma, sum);
    const tn_i_var one = tn_i_op1(b, TN_P_lgamma, r->in[0]), other = tn_i_op1(b, TN_P_lgamma, r->in[1]);
    const tn_i_var log_beta = tn_i_op2(b, TN_P_sub, tn_i_op2(b, TN_P_add, one, other), whole);
    return tn_i_mul_by(r, dx, tn_i_op1(b, TN_P_exp, tn_i_op2(b, TN_P_sub, power, log_beta)));
}

static bool sample(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    tn_i_case_alike(c, 2, 0, dtype);
    c->domain[0] = c->domain[1] = (tn_i_domain){.lo = 0.8, .hi = 4};
    c->domain[2] = (tn_i_domain){.lo = 0.2, .hi = 0.8};
    return true;
}

const tn_prim tn_prim_regularized_incomplete_beta = {
    .id = TN_P_regularized_incomplete_beta,
    .name = "regularized_incomplete_beta",
    .c_helpers = helpers,
    .doc = "regularized_incomplete_beta(a, b, x): I_x(a, b); no derivative in a and b, as in JAX",
    .nin = 3,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {NULL, NULL, partial_x},
    TN_FLOAT_STRIPS(regularized_incomplete_beta),
    TN_VECTOR(regularized_incomplete_beta),
    .weight = 16,
    .jvp_bound = 9.3,
    .sample = sample,
    .pole = TN_POLE_OUTSIDE(2, 0, 1),
    .image = {0, 1},
};
