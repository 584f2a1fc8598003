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
 *   erf_inv    2
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

double tn_i_erf_inv(double x); /* +-inf at +-1, NaN outside */
float tn_i_erf_inv_f32(float x);

double tn_i_logistic(double x); /* 1 / (1 + exp(-x)) */
float tn_i_logistic_f32(float x);

#endif
