/* Special functions of one number that the C library lacks, or has in a form
 * the library may not use.  Values at poles are those of jax.lax; elsewhere they
 * are the exact ones, also where JAX loses them (polygamma at infinity, of large
 * order, or far below zero).
 *
 * Errors in ulp of the result, measured against 50-digit values on some
 * thousand points a range (tests/unit/special.c holds a sample):
 *
 *   lgamma     x > 0: 3;  x < 0: 5
 *   digamma    x > 0: 3;  x < 0: 5 ulp of max(|digamma(1-x)|, |pi cot(pi x)|), which
 *              near the zeros between the poles is more than ulps of the result
 *   polygamma  x > 0: 8 for n <= 1000, else 5e-13 relative; x < 0: the same, of the
 *              largest of three Hurwitz zeta terms (their sum cancels for even n)
 *   zeta       q > 0: 3;  q < 0: the same, of the largest of the terms below 0 and the rest
 *   igamma, igammac and the first derivative   1 where they are not below 1e-5 and less than 1 by that much, and a <=
 *              1e300; else 1e-20 absolute
 *   betainc    3 where a, b >= 1e-4; else 1e-19 absolute
 *   bessel     1
 *   erf_inv    3
 *   logistic   2
 *
 * The f32 functions compute in double and round once: 1 ulp, except where the
 * double result cancels as said above.  Every function takes every argument,
 * infinities and NaN included, and touches no global state. */
#ifndef TN_SPECIAL_H
#define TN_SPECIAL_H

double tn_i_lgamma(double x); /* log |gamma(x)|; +inf at the poles and at both infinities */
float tn_i_lgamma_f32(float x);

double tn_i_digamma(double x); /* NaN at the poles 0, -1, -2, ... and at -inf */
float tn_i_digamma_f32(float x);

/* The n-th derivative of digamma.  NaN unless n is a non-negative integer; at
 * the poles +inf for odd n (both sides agree), NaN for even n. */
double tn_i_polygamma(double n, double x);
float tn_i_polygamma_f32(float n, float x);

/* Hurwitz's zeta(s, q), the sum over k of (q+k)^-s.  NaN where s < 1, and where q < 0 unless s is a whole number; at
 * the poles q = 0, -1, -2, ... +inf for even s, else NaN. */
double tn_i_zeta(double s, double q);
float tn_i_zeta_f32(float s, float q);

/* P(a, x) and Q(a, x) = 1 - P(a, x): 0 <= a, 0 <= x, not both 0; else NaN. */
double tn_i_igamma(double a, double x);
float tn_i_igamma_f32(float a, float x);
double tn_i_igammac(double a, double x);
float tn_i_igammac_f32(float a, float x);
/* The n-th derivative of P in a, 1 <= n <= 5; and that over minus dP/dx.  NaN where a <= 0 or x < 0. */
double tn_i_igamma_grad_a(int n, double a, double x);
float tn_i_igamma_grad_a_f32(int n, float a, float x);
double tn_i_random_gamma_grad(int n, double a, double x);
float tn_i_random_gamma_grad_f32(int n, float a, float x);

/* I_x(a, b): 0 <= a, 0 <= b, 0 <= x <= 1; else NaN. */
double tn_i_betainc(double a, double b, double x);
float tn_i_betainc_f32(float a, float b, float x);

double tn_i_bessel_i0e(double x); /* e^-|x| I0(x) */
float tn_i_bessel_i0e_f32(float x);
double tn_i_bessel_i1e(double x); /* e^-|x| I1(x) */
float tn_i_bessel_i1e_f32(float x);

/* Gamma(a) over Stirling's sqrt(2 pi / a) (a/e)^a, a > 0. */
long double tn_i_gamma_over_stirling(long double a);

extern const double tn_i_erf_inv_p[7], tn_i_erf_inv_q[8], tn_i_erf_inv_tail_p[9], tn_i_erf_inv_tail_q[9];
double tn_i_erf_inv(double x); /* +-inf at +-1, NaN outside */
float tn_i_erf_inv_f32(float x);

double tn_i_logistic(double x); /* 1 / (1 + exp(-x)) */
float tn_i_logistic_f32(float x);

#endif
