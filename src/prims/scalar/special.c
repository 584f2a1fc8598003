/* lgamma() writes the global signgam and lgamma_r() does not, but only the
 * latter's declaration needs this.  It must precede every include. */
#define _DEFAULT_SOURCE 1

#include "prims/scalar/special.h"
#include "prims/c_text.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

TN_C_TEXT(pi_text, static const double pi = 3.14159265358979323846;)

double tn_i_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* ---- gamma ---- */

/* From 10 on by Stirling's series (DLMF 5.11.1). */
TN_C_TEXT(
    tn_i_gamma_over_stirling_text, long double tn_i_gamma_over_stirling(long double a) {
        static const long double two_pi = 6.28318530717958647692528676655900577L;
        static const long double c[] = {1.0L / 12,         -1.0L / 360,        1.0L / 1260, -1.0L / 1680,
                                        1.0L / 1188,       -691.0L / 360360,   1.0L / 156,  -3617.0L / 122400,
                                        43867.0L / 244188, -174611.0L / 125400};
        if (a < 10) return tgammal(a) * expl(a) * powl(a, 0.5L - a) / sqrtl(two_pi);
        const long double inverse = 1 / a, square = inverse * inverse;
        long double sum = 0;
        for (int i = sizeof c / sizeof c[0]; i-- > 0;) sum = sum * square + c[i];
        return expl(sum * inverse);
    })

/* ---- digamma ---- */

TN_C_TEXT(
    is_pole_text, static int is_pole(double x) { return x <= 0 && x == floor(x); })

/* At x + low, x in [1, 2]: (x - root) times a polynomial, so that the relative error stays
 * small at the root.  The polynomial interpolates digamma(x) / (x - root) at
 * Chebyshev points; its error is 3e-18. */
TN_C_TEXT(
    digamma_near_root_text, static double digamma_near_root(double x, double low) {
        static const double root = 0x1.762d86356be3fp+0, root_low = 0x1.b86a722197829p-54;
        static const double c[] = {
            0x1.e6f0cbb873616p-1,  -0x1.b1cb63005ee98p-2,  0x1.eca189b8e6f6dp-3,  -0x1.2feeeb98a78eap-3,
            0x1.8512e5903903ep-4,  -0x1.fb44202a2306bp-5,  0x1.4de9aa1779d23p-5,  -0x1.b9f8b11bfd3d0p-6,
            0x1.2564717896ec6p-6,  -0x1.863563f44f303p-7,  0x1.03c0adafa529cp-7,  -0x1.5a06a5d662cb4p-8,
            0x1.cd2011454fd05p-9,  -0x1.336dbe66757c8p-9,  0x1.99d3f5c0cad5ep-10, -0x1.0fb38d217b800p-10,
            0x1.6a3e76070c135p-11, -0x1.fd8e50abf2196p-12, 0x1.53b23429da21bp-12, -0x1.2fae5cb379bf2p-13,
            0x1.94e73cc9821e1p-14, -0x1.75c084e78a4cdp-13, 0x1.f255c4568ac4dp-14,
        };
        const double t = x - 1.5;
        double sum = 0;
        for (int i = sizeof c / sizeof c[0]; i-- > 0;) sum = sum * t + c[i];
        return ((x - root) + (low - root_low)) * sum;
    })

TN_C_TEXT(
    digamma_asymptotic_text,
    static double digamma_asymptotic(double x) { /* x >= 10 */
                                                 static const double c[] = {1.0 / 12,   -1.0 / 120,    1.0 / 252,
                                                                            -1.0 / 240, 1.0 / 132,     -691.0 / 32760,
                                                                            1.0 / 12,   -3617.0 / 8160};
                                                 const double inverse = 1 / x, square = inverse * inverse;
                                                 double sum = 0;
                                                 for (int i = sizeof c / sizeof c[0]; i-- > 0;)
                                                     sum = sum * square + c[i];
                                                 return log(x) - 0.5 * inverse - sum * square;
    })

TN_C_TEXT(
    digamma_above_1_text, static double digamma_above_1(double x) {
        if (x >= 10) return digamma_asymptotic(x);
        double sum = 0;
        const int steps = (int)x - 1;
        for (int i = 1; i <= steps; i++) sum += 1 / (x - i);
        return digamma_near_root(x - steps, 0) + sum;
    })

/* digamma(1 + x) for x > 0, without the rounding error of 1 + x. */
TN_C_TEXT(
    digamma_1p_text, static double digamma_1p(double x) {
        if (x >= 1) return digamma_above_1(x) + 1 / x;
        const double sum = 1 + x;
        return digamma_near_root(sum, x - (sum - 1));
    })

TN_C_TEXT(
    pi_cot_pi_text, static double pi_cot_pi(double x) { /* |x| <= 1/2; relative error small at the zeros too */
                                                        if (fabs(x) < 0.25) return pi / tan(pi * x);
                                                        return pi * tan(pi * (copysign(0.5, x) - x));
    })

TN_C_TEXT(
    tn_i_digamma_text, double tn_i_digamma(double x) {
        if (isnan(x) || is_pole(x)) return NAN;
        if (x >= 1) return digamma_above_1(x);
        if (x > 0) return digamma_1p(x) - 1 / x;
        return digamma_1p(-x) - pi_cot_pi(x - rint(x));
    })

/* ---- polygamma: (-1)^(n+1) n! zeta(n+1, x), zeta being Hurwitz's ---- */

/* m * 2^e with |m| in [1/2, 1) or zero: n! and x^-n leave the range of double
 * long before their product does. */
TN_C_TEXT(
    scaled_text, typedef struct scaled { double m, e; } scaled;)

TN_C_TEXT(
    scaled_of_text, static scaled scaled_of(double m, double e) {
        int k;
        m = frexp(m, &k);
        return (scaled){m, m == 0 ? 0 : e + k};
    })

TN_C_TEXT(
    unscaled_text, static double unscaled(scaled s) { return ldexp(s.m, (int)fmax(-4000, fmin(4000, s.e))); })

TN_C_TEXT(
    scaled_negate_text, static scaled scaled_negate(scaled a) {
        return (scaled){-a.m, a.e};
    })

TN_C_TEXT(
    scaled_add_text, static scaled scaled_add(scaled a, scaled b) {
        if (a.m == 0) return b;
        if (b.m == 0) return a;
        const scaled big = a.e >= b.e ? a : b, small = a.e >= b.e ? b : a;
        if (big.e - small.e > 128) return big;
        return scaled_of(big.m + ldexp(small.m, (int)(small.e - big.e)), big.e);
    })

/* Euler and Maclaurin's estimate of sum over k >= 0 of (a/(a+k))^s, for a >= s+10. */
TN_C_TEXT(
    zeta_tail_text, static double zeta_tail(double s, double a) {
        static const double c[] = {/* B(2j) / (2j)! */
                                   1.0 / 12,
                                   -1.0 / 720,
                                   1.0 / 30240,
                                   -1.0 / 1209600,
                                   1.0 / 47900160,
                                   -5.2841901386874931848e-10,
                                   1.3382536530684678833e-11,
                                   -3.3896802963225828668e-13,
                                   8.5860620562778445641e-15,
                                   -2.1748686985580618730e-16,
                                   5.5090028283602295153e-18,
                                   -1.3954464685812523341e-19,
                                   3.5347070396294674717e-21,
                                   -8.9535174270375468504e-23};
        double sum = 0, power = s / a;
        for (int j = 0; j < (int)(sizeof c / sizeof c[0]); j++) {
            sum += c[j] * power;
            power *= ((s + 2 * j + 1) / a) * ((s + 2 * j + 2) / a);
        }
        return a / (s - 1) + (0.5 + sum);
    })

/* x^s zeta(s, x): a sum of terms that begins with 1, so that each of the others would be rounded to its digits. */
TN_C_TEXT(
    zeta_over_first_text, static long double zeta_over_first(double s, double x) {
        long double sum = 0;
        double ratio = 1, a = x;
        for (double k = 1; a < s + 10; k++) {
            sum += ratio;
            if (ratio * (1 + a / (s - 1)) < DBL_EPSILON / 16) return sum;
            a = x + k;
            ratio = exp(-s * log1p(k / x));
        }
        return sum + ratio * zeta_tail(s, a);
    })

/* n! for 0 <= n <= 1000, to the last bit but one: the product carries its
 * rounding error along. */
TN_C_TEXT(
    factorial_text, static scaled factorial(int n) {
        static const double split = 134217729; /* 2^27 + 1 */
        double high = 1, low = 0, e = 0;
        for (int i = 2; i <= n; i++) {
            const double c = split * high, upper = c - (c - high), product = high * i;
            low = low * i + ((upper * i - product) + (high - upper) * i);
            high = product + low;
            low -= high - product;
            if (high > 0x1p500) {
                high *= 0x1p-500;
                low *= 0x1p-500;
                e += 500;
            }
        }
        return scaled_of(high, e);
    })

TN_C_TEXT(
    scaled_power_text, static scaled scaled_power(double x, double s) { /* x^-s for 0 < x, s <= 1001 */
                                                                        int k;
                                                                        double m = frexp(x, &k);
                                                                        if (m < 0.70710678118654752) {
                                                                            m *= 2;
                                                                            k--;
                                                                        }
                                                                        return scaled_of(pow(m, -s), -s * k);
    })

/* log(n! / x^(n+1)) for n > 1000 by Stirling.  The first term decides: near
 * n = e x, where the result is neither too large nor too small, the difference
 * n - e x is formed without losing digits. */
TN_C_TEXT(
    log_large_order_text, static double log_large_order(double n, double x) {
        static const double e_high = 2.71828182845904523536, e_low = 1.4456468917292502e-16;
        const double unit = x > 1 ? 0.25 : 1; /* e x may be too large where x is not */
        const double difference = fma(-x * unit, e_high, n * unit) - x * unit * e_low;
        return n * log1p(difference / (x * unit * e_high)) + 0.5 * (log(n) + log(2 * pi)) +
               (1 - 1 / (30 * n * n)) / (12 * n) - log(x);
    })

TN_C_TEXT(
    scaled_exp_text, static scaled scaled_exp(double x) {
        const double e = rint(x / 0.69314718055994530942);
        if (fabs(e) > 8000) return (scaled){0.5, fmax(-DBL_MAX / 4, fmin(DBL_MAX / 4, e))};
        return scaled_of(exp(fma(-e, 0x1.62e42fefa39efp-1, x) - e * 0x1.abc9e3b39803fp-56), e);
    })

TN_C_TEXT(
    factorial_zeta_text,
    static scaled factorial_zeta(double n, double x) { /* n! zeta(n+1, x), n >= 1, x > 0 and finite */
                                                       const double sum = (double)zeta_over_first(n + 1, x);
                                                       if (n > 1000)
                                                           return scaled_exp(log_large_order(n, x) + log(sum));
                                                       const scaled f = factorial((int)n), p = scaled_power(x, n + 1);
                                                       return scaled_of(f.m * p.m * sum, f.e + p.e);
    })

/* For x < 0 the terms of the sum over all x+k are those above zero and those
 * below; the latter are the beginning of a second sum, all of it less its end.
 * Whole sums come first: at -1/2 they may cancel and leave just that end. */
TN_C_TEXT(
    factorial_zeta_negative_text, static scaled factorial_zeta_negative(double n, bool odd, double x) {
        const scaled above = factorial_zeta(n, x - floor(x)), below = factorial_zeta(n, ceil(x) - x);
        const scaled end = factorial_zeta(n, 1 - x), whole = scaled_add(above, odd ? below : scaled_negate(below));
        return scaled_add(whole, odd ? scaled_negate(end) : end);
    })

TN_C_TEXT(
    tn_i_polygamma_text, double tn_i_polygamma(double n, double x) {
        if (isnan(x) || isnan(n) || n < 0 || isinf(n) || n != floor(n)) return NAN;
        if (n == 0) return tn_i_digamma(x);
        const bool odd = fmod(n, 2) != 0;
        if (is_pole(x)) return odd && !isinf(x) ? INFINITY : NAN;
        const double sign = odd ? 1 : -1;
        if (isinf(x)) return sign * 0.0;
        return sign * unscaled(x > 0 ? factorial_zeta(n, x) : factorial_zeta_negative(n, odd, x));
    })

/* ---- zeta ---- */

TN_C_TEXT(
    zeta_above_text, static long double zeta_above(double s, double q) {
        return powl((long double)q, -(long double)s) * zeta_over_first(s, q);
    })

/* Where q + k is below 0 only s a whole number makes real terms, which are the beginning of a second sum. */
TN_C_TEXT(
    tn_i_zeta_text, double tn_i_zeta(double s, double q) {
        if (isnan(q) || !(s >= 1)) return NAN;
        if (s == 1) return INFINITY;
        if (is_pole(q)) return !isinf(q) && fmod(s, 2) == 0 ? INFINITY : NAN;
        if (q < 0 && s != floor(s)) return NAN;
        if (isinf(s)) return q > 1 ? 0 : q == 1 ? 1 : INFINITY;
        if (isinf(q)) return 0;
        if (q > 0) return (double)zeta_above(s, q);
        const long double below = zeta_above(s, ceil(q) - q) - zeta_above(s, 1 - q);
        return (double)(zeta_above(s, q - floor(q)) + (fmod(s, 2) == 0 ? below : -below));
    })

/* ---- erf_inv ---- */

/* Minimax fits in 60 digits: up to 3/4 erf_inv(x) = x + x P/Q(x^2 - 9/16), relative error 3e-18; above, with r =
 * sqrt(-log(1 - x)), r + P/Q(r - 1.17), 4e-17.  What is added is small, and so is its rounding.  vec/special_set.h has
 * the same of vectors. */
TN_C_TEXT(tn_i_erf_inv_p_text,
          const double tn_i_erf_inv_p[7] = {0x1.5a5b5f9cc7c0bp-4, 0x1.5914a41388e60p-9, -0x1.a56c72e2e57a6p+0,
                                            0x1.1093ccb2564d0p+2, -0x1.0154626b0e2dcp+2, 0x1.789d19cebc81fp+0,
                                            -0x1.407a7a169658fp-3};)
TN_C_TEXT(tn_i_erf_inv_q_text,
          const double tn_i_erf_inv_q[8] = {1, -0x1.a7d3cdd045c51p+2, 0x1.0a643c291d136p+4, -0x1.3d29b80470bb9p+4,
                                            0x1.6b1102308ec7cp+3, -0x1.6467d66124c6ep+1, 0x1.9ff83a41c36fcp-3,
                                            0x1.8435ff4b9a266p-11};)
TN_C_TEXT(tn_i_erf_inv_tail_p_text, const double tn_i_erf_inv_tail_p[9] = {
                                        -0x1.74ce61a09ee0dp-2, -0x1.03e0876f39400p+0, -0x1.29f7b00c922a9p+0,
                                        -0x1.65b4f937d2071p-1, -0x1.cfeedc302b11dp-3, -0x1.314de76675a23p-5,
                                        -0x1.567aa9902d72fp-9, -0x1.c125073772a6bp-15, -0x1.d5949e5f24dccp-25};)
TN_C_TEXT(tn_i_erf_inv_tail_q_text,
          const double tn_i_erf_inv_tail_q[9] = {1, 0x1.68702e16bfd84p+1, 0x1.bc82962eb7870p+1, 0x1.2f62bd11193b5p+1,
                                                 0x1.e4a59d6f54cd6p-1, 0x1.ba20298fb9aedp-3, 0x1.a42861a8d8a34p-6,
                                                 0x1.565ca7dc11614p-10, 0x1.37f70680cf610p-16};)

TN_C_TEXT(
    power_series_text, static double power_series(double x, const double *c, int n) {
        double y = c[n - 1];
        while (--n > 0) y = y * x + c[n - 1];
        return y;
    })

TN_C_TEXT(
    tn_i_erf_inv_text, double tn_i_erf_inv(double x) {
        const double a = fabs(x), t = x * x - 0.5625;
        if (!(a < 1)) return a == 1 ? copysign(INFINITY, x) : NAN;
        if (a <= 0.75) /* -0 for -0 */
            return copysign(a + a * (power_series(t, tn_i_erf_inv_p, 7) / power_series(t, tn_i_erf_inv_q, 8)), x);
        const double r = sqrt(-log(1 - a)), s = r - 1.17;
        return copysign(r + power_series(s, tn_i_erf_inv_tail_p, 9) / power_series(s, tn_i_erf_inv_tail_q, 9), x);
    })

/* ---- logistic ---- */

TN_C_TEXT(
    tn_i_logistic_text, double tn_i_logistic(double x) {
        const double e = exp(-fabs(x));
        return (x < 0 ? e : 1) / (1 + e);
    })

/* ---- f32 ---- */

TN_C_TEXT(
    tn_i_lgamma_f32_text, float tn_i_lgamma_f32(float x) { return (float)tn_i_lgamma((double)x); })
TN_C_TEXT(
    tn_i_digamma_f32_text, float tn_i_digamma_f32(float x) { return (float)tn_i_digamma((double)x); })
TN_C_TEXT(
    tn_i_polygamma_f32_text,
    float tn_i_polygamma_f32(float n, float x) { return (float)tn_i_polygamma((double)n, (double)x); })
TN_C_TEXT(
    tn_i_zeta_f32_text, float tn_i_zeta_f32(float s, float q) { return (float)tn_i_zeta((double)s, (double)q); })
TN_C_TEXT(
    tn_i_erf_inv_f32_text, float tn_i_erf_inv_f32(float x) { return (float)tn_i_erf_inv((double)x); })
TN_C_TEXT(
    tn_i_logistic_f32_text, float tn_i_logistic_f32(float x) { return (float)tn_i_logistic((double)x); })

/* ---- as C text ---- */

/* C99 knows no lgamma_r; its lgamma has the same values. */
TN_C_ONLY(
    tn_i_lgamma_text, double tn_i_lgamma(double x) { return lgamma(x); })

const tn_i_c_helper tn_i_special_helpers[] = {
    {"pi", pi_text},
    {"tn_i_gamma_over_stirling", tn_i_gamma_over_stirling_text},
    {"is_pole", is_pole_text},
    {"scaled", scaled_text},
    {"unscaled", unscaled_text},
    {"scaled_negate", scaled_negate_text},
    {"digamma_near_root", digamma_near_root_text},
    {"digamma_asymptotic", digamma_asymptotic_text},
    {"digamma_above_1", digamma_above_1_text},
    {"digamma_1p", digamma_1p_text},
    {"pi_cot_pi", pi_cot_pi_text},
    {"tn_i_digamma", tn_i_digamma_text},
    {"scaled_of", scaled_of_text},
    {"scaled_add", scaled_add_text},
    {"zeta_tail", zeta_tail_text},
    {"zeta_over_first", zeta_over_first_text},
    {"factorial", factorial_text},
    {"scaled_power", scaled_power_text},
    {"log_large_order", log_large_order_text},
    {"scaled_exp", scaled_exp_text},
    {"factorial_zeta", factorial_zeta_text},
    {"factorial_zeta_negative", factorial_zeta_negative_text},
    {"tn_i_polygamma", tn_i_polygamma_text},
    {"zeta_above", zeta_above_text},
    {"tn_i_zeta", tn_i_zeta_text},
    {"tn_i_erf_inv_p", tn_i_erf_inv_p_text},
    {"tn_i_erf_inv_q", tn_i_erf_inv_q_text},
    {"tn_i_erf_inv_tail_p", tn_i_erf_inv_tail_p_text},
    {"tn_i_erf_inv_tail_q", tn_i_erf_inv_tail_q_text},
    {"power_series", power_series_text},
    {"tn_i_erf_inv", tn_i_erf_inv_text},
    {"tn_i_logistic", tn_i_logistic_text},
    {"tn_i_lgamma_f32", tn_i_lgamma_f32_text},
    {"tn_i_digamma_f32", tn_i_digamma_f32_text},
    {"tn_i_polygamma_f32", tn_i_polygamma_f32_text},
    {"tn_i_zeta_f32", tn_i_zeta_f32_text},
    {"tn_i_erf_inv_f32", tn_i_erf_inv_f32_text},
    {"tn_i_logistic_f32", tn_i_logistic_f32_text},
    {"tn_i_lgamma", tn_i_lgamma_text},
    {NULL, NULL},
};
