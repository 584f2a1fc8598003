/* The incomplete gamma functions, as jax.lax has them: P(a, x) = igamma, Q = 1 - P = igammac, and derivatives in a.
 *
 * P is x^a e^-x / Gamma(a+1) times a series of positive terms (DLMF 8.11.4), Q where x > a, x >= 1 the same times a
 * continued fraction (DLMF 8.9.2), by Lentz's method; both take some sqrt(a) steps where x is near a, so that for large
 * a Temme's uniform expansion takes their place there (DLMF 8.12.3 and on).  Derivatives in a are exact: a + h goes
 * through the series and the fraction, with all numbers polynomials in h (`jet`) of as many terms as are wanted.
 * Computed in long double: where a number of 64 bits has an exponent of 700 it is right to 1e-16. */
#include "prims/scalar/special.h"
#include "prims/c_text.h"

#include <math.h>
#include <stdbool.h>

/* ---- x^a e^-x / Gamma(a+1) ---- */

/* mu - log(1 + mu), mu > -1: by atanh's series where mu is small. */
TN_C_TEXT(
    less_log1p_text, static long double less_log1p(long double mu) {
        if (mu < -0.5L || mu > 0.5L) return mu - log1pl(mu);
        const long double s = mu / (2 + mu), square = s * s;
        long double sum = 0;
        for (int k = 41; k >= 3; k -= 2) sum = sum * square + 1.0L / k;
        return s * mu - 2 * s * square * sum;
    })

TN_C_TEXT(
    gamma_front_text, static long double gamma_front(long double a, long double x) {
        static const long double two_pi = 6.28318530717958647692528676655900577L;
        if (a < 10) return powl(x, a) * expl(-x) / tgammal(a + 1);
        const long double mu = (x - a) / a;
        const long double power = mu < -0.5L ? logl(x / a) - mu : -less_log1p(mu);
        return expl(a * power) / (sqrtl(two_pi * a) * tn_i_gamma_over_stirling(a));
    })

/* ---- polynomials in h ---- */

TN_C_TEXT(
    jet_text, typedef struct jet { long double c[6]; } jet;)

TN_C_TEXT(
    jet_number_text, static void jet_number(int order, jet *y, long double c0, long double c1) {
        for (int k = 0; k <= order; k++) y->c[k] = k == 0 ? c0 : k == 1 ? c1 : 0;
    })

/* y may be neither a nor b. */
TN_C_TEXT(
    jet_times_text, static void jet_times(int order, jet *y, const jet *a, const jet *b) {
        for (int k = 0; k <= order; k++) {
            y->c[k] = 0;
            for (int i = 0; i <= k; i++) y->c[k] += a->c[i] * b->c[k - i];
        }
    })

/* y may be a, but not b. */
TN_C_TEXT(
    jet_over_text, static void jet_over(int order, jet *y, const jet *a, const jet *b) {
        for (int k = 0; k <= order; k++) {
            long double rest = a->c[k];
            for (int i = 0; i < k; i++) rest -= y->c[i] * b->c[k - i];
            y->c[k] = rest / b->c[0];
        }
    })

/* ---- the series and the fraction, of a + h ---- */

/* sum over n of x^n / ((a+1+h) ... (a+n+h)) */
TN_C_TEXT(
    gamma_series_text, static void gamma_series(int order, jet *sum, long double a, long double x) {
        jet term = {{0}};
        jet_number(order, &term, 1, 0);
        jet_number(order, sum, 1, 0);
        int settled = 0;
        for (int n = 1; n < 1000000 && !settled; n++) {
            const long double by = 1 / (a + n);
            settled = 1;
            for (int k = order; k >= 0; k--) term.c[k] *= x * by;
            for (int k = 0; k <= order; k++) {
                if (k > 0) term.c[k] -= term.c[k - 1] * by;
                sum->c[k] += term.c[k];
                settled &= fabsl(term.c[k]) <= 0x1p-60L * fabsl(sum->c[k]);
            }
        }
    })

/* Gamma(a+h, x) e^x x^-(a+h) = 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ..))), a being a + h */
TN_C_TEXT(
    gamma_fraction_text, static void gamma_fraction(int order, jet *f, long double a, long double x) {
        jet one = {{0}}, b = {{0}}, by = {{0}}, c = {{0}}, d = {{0}}, next = {{0}};
        jet_number(order, &one, 1, 0);
        jet_number(order, &b, x + 1 - a, -1);
        jet_over(order, &d, &one, &b);
        for (int k = 0; k <= order; k++) f->c[k] = d.c[k];
        int settled = 0;
        for (int n = 1; n < 1000000 && !settled; n++) {
            b.c[0] += 2;
            jet_number(order, &by, n * (a - n), n);
            jet_times(order, &next, &by, &d);
            for (int k = 0; k <= order; k++) next.c[k] += b.c[k];
            jet_over(order, &d, &one, &next);
            if (n == 1)
                jet_over(order, &c, &b, &one);
            else {
                jet_over(order, &next, &by, &c);
                for (int k = 0; k <= order; k++) c.c[k] = b.c[k] + next.c[k];
            }
            jet_times(order, &next, &c, &d);
            jet_times(order, &by, f, &next);
            settled = 1;
            for (int k = 0; k <= order; k++) {
                settled &= fabsl(by.c[k] - f->c[k]) <= 0x1p-60L * fabsl(by.c[k]);
                f->c[k] = by.c[k];
            }
        }
    })

/* ---- large a, x near a ---- */

TN_C_TEXT(
    temme_near_text, static int temme_near(double a, double x) { return a > 1e4 && fabs(x - a) < 0.2 * a; })

/* eta, of the sign of mu, and the sum of C_k(eta) a^-k, and in *slope its derivative in a where x stays.  C_k as series
 * in eta, from C_0 = 1/mu - 1/eta and C_k = C_k-1' / eta + (-1)^k g_k / mu in 120 digits. */
TN_C_TEXT(
    temme_sum_text, static long double temme_sum(long double a, long double mu, long double *eta, long double *slope) {
        enum { ORDERS = 4, TERMS = 16 };
        static const double c[ORDERS][TERMS] = {
            {-0x1.5555555555555p-2, 0x1.5555555555555p-4, -0x1.e573ac901e574p-7, 0x1.2f684bda12f68p-10,
             0x1.71de3a556c734p-12, -0x1.76e06fec7273bp-13, 0x1.48c5892f7cd83p-15, -0x1.255370652afc1p-19,
             -0x1.f1b22f594c6b5p-20, 0x1.bd6d21e4b4109p-21, -0x1.7b5f9a2d0465cp-23, 0x1.ccf5ceb7f0d9fp-28,
             0x1.6097d55c37c1cp-27, -0x1.2d2197c7a2faap-28, 0x1.f6e66d24d5c8ap-31, -0x1.c0d9b6edf2b0bp-36},
            {-0x1.e573ac901e574p-10, -0x1.c71c71c71c71cp-9, 0x1.5ac056b015ac0p-9, -0x1.0394f6f09e723p-10,
             0x1.af83440e53dbcp-13, -0x1.af83440e53dbcp-22, -0x1.2fa4ae89e5af0p-16, 0x1.00a9cabd6b83ep-17,
             -0x1.b0bdfcc629cbap-20, 0x1.3f59230a8357cp-28, 0x1.280f2cde3f847p-23, -0x1.ee23d0cba8aeep-25},
            {0x1.0ee643b990ee6p-8, -0x1.5f7268edab4c8p-9, 0x1.948b0fcd6e9e0p-11, 0x1.0db20a88f4696p-19,
             -0x1.c253efaa1a932p-14, 0x1.bbf43daf4fe53p-15, -0x1.ac2d05890f2c3p-17, 0x1.26154ae39151dp-25,
             0x1.7058929663937p-20},
            {0x1.547d93b34e2b6p-11, 0x1.e13ce465fa859p-13, -0x1.ebfb188b7ca00p-12, 0x1.18b9b5bf2d984p-12,
             -0x1.3d2a3a29b5d9dp-14}};
        const long double y = copysignl(sqrtl(2 * less_log1p(mu)), mu), by = mu == 0 ? -1 : -mu / y;
        long double sum = 0;
        *slope = 0;
        for (int k = ORDERS; k-- > 0;) {
            long double value = 0, change = 0;
            for (int i = TERMS; i-- > 0;) {
                change = change * y + value;
                value = value * y + c[k][i];
            }
            sum = sum / a + value;
            *slope = *slope / a + (change * by - k * value) / a;
        }
        *eta = y;
        return sum;
    })

/* P where x < a, else Q. */
TN_C_TEXT(
    temme_tail_text, static long double temme_tail(long double a, long double x) {
        static const long double two_pi = 6.28318530717958647692528676655900577L;
        const long double mu = (x - a) / a;
        long double eta, slope;
        const long double sum = temme_sum(a, mu, &eta, &slope);
        const long double rest = expl(-a * less_log1p(mu)) / sqrtl(two_pi * a) * sum;
        return 0.5L * erfcl(fabsl(eta) * sqrtl(a / 2)) + (mu < 0 ? -rest : rest);
    })

/* dQ/da over dP/dx, from the derivative of the expansion in a, where that of eta is -mu / (a eta). */
TN_C_TEXT(
    temme_ratio_text, static long double temme_ratio(long double a, long double x) {
        const long double mu = (x - a) / a, l = log1pl(mu);
        long double eta, slope;
        const long double sum = temme_sum(a, mu, &eta, &slope);
        return x / a * tn_i_gamma_over_stirling(a) * ((mu == 0 ? 1 : l / eta) + (l - 0.5L / a) * sum + slope);
    })

/* ---- P and Q ---- */

TN_C_TEXT(
    gamma_part_text, static double gamma_part(double a, double x, int upper) {
        int is_upper;
        long double y;
        if (temme_near(a, x)) {
            is_upper = x >= a;
            y = temme_tail(a, x);
        } else {
            jet f;
            is_upper = x >= 1 && x > a;
            if (is_upper)
                gamma_fraction(0, &f, a, x);
            else
                gamma_series(0, &f, a, x);
            y = gamma_front(a, x) * (is_upper ? a : 1) * f.c[0];
        }
        return (double)(is_upper == upper ? y : 1 - y);
    })

TN_C_TEXT(
    tn_i_igamma_text, double tn_i_igamma(double a, double x) {
        if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
        if (x == 0 || isinf(a)) return 0;
        return a == 0 || isinf(x) ? 1 : gamma_part(a, x, 0);
    })

TN_C_TEXT(
    tn_i_igammac_text, double tn_i_igammac(double a, double x) {
        if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
        if (x == 0 || isinf(a)) return 1;
        return a == 0 || isinf(x) ? 0 : gamma_part(a, x, 1);
    })

/* ---- derivatives in a ---- */

/* log x - digamma(a), for large a without the digits that the two have in common: DLMF 5.11.2. */
TN_C_TEXT(
    log_less_digamma_text, static long double log_less_digamma(long double a, long double x) {
        static const long double c[] = {1.0L / 12,        -1.0L / 120,      1.0L / 252, -1.0L / 240,
                                        1.0L / 132,       -691.0L / 32760,  1.0L / 12,  -3617.0L / 8160,
                                        43867.0L / 14364, -174611.0L / 6600};
        if (a < 10) return logl(x) - tn_i_digamma((double)a);
        const long double mu = (x - a) / a, inverse = 1 / a, square = inverse * inverse;
        long double sum = 0;
        for (int i = sizeof c / sizeof c[0]; i-- > 0;) sum = sum * square + c[i];
        return (mu < -0.5L ? logl(x / a) : log1pl(mu)) + 0.5L * inverse + sum * square;
    })

/* x^(a+h) / Gamma(a+h), over what it is at h = 0: the power of e of a polynomial. */
TN_C_TEXT(
    gamma_power_text, static void gamma_power(int order, jet *y, long double a, long double x) {
        jet l;
        double factorial = 1;
        for (int k = 1; k <= order; k++) {
            factorial *= k;
            l.c[k] = k == 1 ? log_less_digamma(a, x) : -tn_i_polygamma(k - 1, (double)a) / factorial;
        }
        y->c[0] = 1;
        for (int k = 1; k <= order; k++) {
            y->c[k] = 0;
            for (int i = 1; i <= k; i++) y->c[k] += i * l.c[i] * y->c[k - i] / k;
        }
    })

/* The n-th derivative of Q in a, over that of P in x; 0 < a, 0 < x. */
TN_C_TEXT(
    gamma_ratio_text, static long double gamma_ratio(int n, double a, double x) {
        if (n == 1 && temme_near(a, x)) return temme_ratio(a, x);
        const int upper = x >= 1 && x > a;
        jet f, power, y;
        if (upper)
            gamma_fraction(n, &f, a, x);
        else
            gamma_series(n, &f, a, x);
        gamma_power(n, &power, upper ? a : a + 1.0L, x);
        jet_times(n, &y, &power, &f);
        long double factor = upper ? x : -(long double)x / a;
        for (int k = 2; k <= n; k++) factor *= k;
        return factor * y.c[n];
    })

/* The derivative in a of P, of order n, 1 to 5. */
TN_C_TEXT(
    tn_i_igamma_grad_a_text, double tn_i_igamma_grad_a(int n, double a, double x) {
        if (!(a > 0 && x >= 0) || (isinf(a) && isinf(x))) return NAN;
        if (x == 0 || isinf(x) || isinf(a)) return 0;
        return -(double)(gamma_front(a, x) * a / x * gamma_ratio(n, a, x));
    })

/* That, over minus the derivative in x: with n = 1 of a sample x of Gamma(a, 1). */
TN_C_TEXT(
    tn_i_random_gamma_grad_text, double tn_i_random_gamma_grad(int n, double a, double x) {
        if (!(a > 0 && x >= 0) || isinf(a)) return NAN;
        if (x == 0) return 0;
        return isinf(x) ? (n == 1 ? x : NAN) : (double)gamma_ratio(n, a, x);
    })

/* ---- f32 ---- */

TN_C_TEXT(
    tn_i_igamma_f32_text, float tn_i_igamma_f32(float a, float x) { return (float)tn_i_igamma((double)a, (double)x); })
TN_C_TEXT(
    tn_i_igammac_f32_text,
    float tn_i_igammac_f32(float a, float x) { return (float)tn_i_igammac((double)a, (double)x); })
TN_C_TEXT(
    tn_i_igamma_grad_a_f32_text, float tn_i_igamma_grad_a_f32(int n, float a, float x) {
        return (float)tn_i_igamma_grad_a(n, (double)a, (double)x);
    })
TN_C_TEXT(
    tn_i_random_gamma_grad_f32_text, float tn_i_random_gamma_grad_f32(int n, float a, float x) {
        return (float)tn_i_random_gamma_grad(n, (double)a, (double)x);
    })

/* ---- as C text ---- */

const tn_i_c_helper tn_i_igamma_helpers[] = {
    {"less_log1p", less_log1p_text},
    {"gamma_front", gamma_front_text},
    {"jet", jet_text},
    {"jet_number", jet_number_text},
    {"jet_times", jet_times_text},
    {"jet_over", jet_over_text},
    {"gamma_series", gamma_series_text},
    {"gamma_fraction", gamma_fraction_text},
    {"temme_near", temme_near_text},
    {"temme_sum", temme_sum_text},
    {"temme_tail", temme_tail_text},
    {"temme_ratio", temme_ratio_text},
    {"gamma_part", gamma_part_text},
    {"log_less_digamma", log_less_digamma_text},
    {"gamma_power", gamma_power_text},
    {"gamma_ratio", gamma_ratio_text},
    {"tn_i_igamma", tn_i_igamma_text},
    {"tn_i_igammac", tn_i_igammac_text},
    {"tn_i_igamma_grad_a", tn_i_igamma_grad_a_text},
    {"tn_i_random_gamma_grad", tn_i_random_gamma_grad_text},
    {"tn_i_igamma_f32", tn_i_igamma_f32_text},
    {"tn_i_igammac_f32", tn_i_igammac_f32_text},
    {"tn_i_igamma_grad_a_f32", tn_i_igamma_grad_a_f32_text},
    {"tn_i_random_gamma_grad_f32", tn_i_random_gamma_grad_f32_text},
    {NULL, NULL},
};
