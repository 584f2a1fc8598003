/* tansy/ops.h - the operators of traced functions.
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 * Operators are used inside the callback given to tn_trace: they compute
 * nothing, they append equations to the program being traced.  Names and
 * meanings are those of NumPy and JAX with the prefix tn_.  Each operator is a
 * macro; behind tn_NAME(..) stands the function tn_NAME_at(.., file, line),
 * which a binding calls with the place it wants errors to speak of.  (A macro
 * with fixed extra arguments says so.)
 *
 * ## Rules shared by all
 *
 * Operands.  `tn_val` parameters are arrays.  Where an operator's macro shows
 * TN_VAL, a plain C number may stand instead: it takes the dtype of the first
 * array operand, and must be representable there (2.5 beside an i32 array is
 * an error, 0.1 beside an f32 array is rounded).  Operands of different dtypes
 * are an error: convert one (tn_convert).
 *
 * Broadcasting.  Elementwise operators with several operands follow NumPy:
 * shapes are aligned at the last dimension, and a dimension of 1 or a missing
 * one is repeated.
 *
 * Axes count from 0; negative ones from the end (-1 is the last).  An axis
 * list without elements, tn_ints(), means no axis.
 *
 * dtypes.  "float" means f64, f32, f16 and bf16; "integer" i64, i32, i16, i8, u64,
 * u32, u16 and u8; "number" both.  Decompositions, solves and transforms are of f64 and f32 alone.  The
 * result has the operands' dtype unless said otherwise.
 *
 * Errors.  An operator never fails by itself: a wrong type, shape or axis
 * makes the result poison, later operators do nothing, and tn_trace returns
 * NULL with the first error: operator, operand (counted from 0), operand
 * types, file:line.  Only the exceptions to this are mentioned below.
 *
 * Ownership, threads, cost.  Values own nothing and need no release; arrays
 * given by pointer are copied at once.  One context is used by one thread at a
 * time.  An operator costs time proportional to the equations it appends: a
 * constant number unless said otherwise, whatever the array sizes.
 *
 * Derivatives at kinks are JAX's; they stand with the primitives (`tansy
 * prims`) and here where a composition has its own.
 *
 * Nesting.  In C, TN_VAL mentions its argument twice, so the text of n nested
 * two-operand macros grows like 2^n: beyond some ten levels name a part. */
#ifndef TANSY_OPS_H
#define TANSY_OPS_H

#include "../tansy.h"
#include "decompositions.h"
#include "effects.h"
#include "flags.h"
#include "random.h"
#include "rules.h"
#include "windows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values ----------------------------------------------------------------- */

/* Type, rank, size of dimension `axis`, number of elements of a value that is
 * being traced.  Of a number, of poison or of a finished trace: a type that
 * every use refuses, and -1. */
TN_API tn_type tn_val_type(tn_val x);
TN_API int tn_rank(tn_val x);
TN_API int64_t tn_dim(tn_val x, int axis);
TN_API int64_t tn_size(tn_val x);
/* The context of a value; NULL for numbers and some poison. */
TN_API tn_ctx *tn_val_ctx(tn_val x);

/* Equations made in the block carry the scope's name, "outer/inner" when
 * nested; errors and reports speak of it:
 *
 *     tn_scope(c, "layer1") { h = tn_relu(tn_matmul(x, w)); }
 *
 * A block may be left by return: at the end of each trace the scope is again
 * what it was at its beginning.  A '/' in a name becomes '.'.  tn_scope_push
 * returns 1, tn_scope_pop 0. */
TN_API int tn_scope_push(tn_ctx *c, const char *name);
TN_API int tn_scope_pop(tn_ctx *c);
#define TN_I_PASTE2(a, b) a##b
#define TN_I_PASTE(a, b)  TN_I_PASTE2(a, b)
#define tn_scope(c, name)                                                                                 \
    for (int TN_I_PASTE(tn_i_once_, __LINE__) = tn_scope_push(c, name); TN_I_PASTE(tn_i_once_, __LINE__); \
         TN_I_PASTE(tn_i_once_, __LINE__) = tn_scope_pop(c))

/* ---- constants -------------------------------------------------------------- */

/* An array of the given type, row-major data copied from memory. */
TN_API tn_val tn_constant_at(tn_ctx *c, tn_type type, const void *data, const char *file, int line);
#define tn_constant(...) tn_constant_at(__VA_ARGS__, __FILE__, __LINE__)
/* Every element the number x; zeros; ones.  tn_full also repeats an array of
 * rank 0 that has the type's dtype. */
TN_API tn_val tn_full_at(tn_ctx *c, tn_type type, tn_val x, const char *file, int line);
TN_API tn_val tn_zeros_at(tn_ctx *c, tn_type type, const char *file, int line);
TN_API tn_val tn_ones_at(tn_ctx *c, tn_type type, const char *file, int line);
#define tn_full(c, type, x) tn_full_at(c, type, TN_VAL(x), __FILE__, __LINE__)
#define tn_zeros(...)       tn_zeros_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_ones(...)        tn_ones_at(__VA_ARGS__, __FILE__, __LINE__)
/* The same with the type of x. */
TN_API tn_val tn_full_like_at(tn_val x, tn_val number, const char *file, int line);
TN_API tn_val tn_zeros_like_at(tn_val x, const char *file, int line);
TN_API tn_val tn_ones_like_at(tn_val x, const char *file, int line);
#define tn_full_like(x, number) tn_full_like_at(x, TN_VAL(number), __FILE__, __LINE__)
#define tn_zeros_like(x)        tn_zeros_like_at(x, __FILE__, __LINE__)
#define tn_ones_like(x)         tn_ones_like_at(x, __FILE__, __LINE__)
/* Index along `axis`: element [.., i, ..] is i.  Number types. */
TN_API tn_val tn_iota_at(tn_ctx *c, tn_type type, int axis, const char *file, int line);
#define tn_iota(...) tn_iota_at(__VA_ARGS__, __FILE__, __LINE__)
/* 0, 1, .., n-1. */
TN_API tn_val tn_arange_at(tn_ctx *c, tn_dtype dtype, int64_t n, const char *file, int line);
#define tn_arange(...) tn_arange_at(__VA_ARGS__, __FILE__, __LINE__)
/* n points from lo to hi, both included (n = 1: lo), computed in double.  Floats. */
TN_API tn_val tn_linspace_at(tn_ctx *c, tn_dtype dtype, double lo, double hi, int64_t n, const char *file, int line);
#define tn_linspace(...) tn_linspace_at(__VA_ARGS__, __FILE__, __LINE__)
/* [n, m] with ones on the diagonal. */
TN_API tn_val tn_eye_at(tn_ctx *c, tn_dtype dtype, int64_t n, int64_t m, const char *file, int line);
#define tn_eye(...) tn_eye_at(__VA_ARGS__, __FILE__, __LINE__)

/* ---- elementwise, one operand ------------------------------------------------ */

/* -x, |x|, sign (-1, 0, 1), x*x.  Numbers; integers wrap. */
TN_API tn_val tn_neg_at(tn_val x, const char *file, int line);
TN_API tn_val tn_abs_at(tn_val x, const char *file, int line);
TN_API tn_val tn_sign_at(tn_val x, const char *file, int line);
TN_API tn_val tn_square_at(tn_val x, const char *file, int line);
#define tn_neg(x)    tn_neg_at(x, __FILE__, __LINE__)
#define tn_abs(x)    tn_abs_at(x, __FILE__, __LINE__)
#define tn_sign(x)   tn_sign_at(x, __FILE__, __LINE__)
#define tn_square(x) tn_square_at(x, __FILE__, __LINE__)
/* Roots: x^(1/2), x^(-1/2), x^(1/3); 1/x.  Floats. */
TN_API tn_val tn_sqrt_at(tn_val x, const char *file, int line);
TN_API tn_val tn_rsqrt_at(tn_val x, const char *file, int line);
TN_API tn_val tn_cbrt_at(tn_val x, const char *file, int line);
TN_API tn_val tn_reciprocal_at(tn_val x, const char *file, int line);
#define tn_sqrt(x)       tn_sqrt_at(x, __FILE__, __LINE__)
#define tn_rsqrt(x)      tn_rsqrt_at(x, __FILE__, __LINE__)
#define tn_cbrt(x)       tn_cbrt_at(x, __FILE__, __LINE__)
#define tn_reciprocal(x) tn_reciprocal_at(x, __FILE__, __LINE__)
/* e^x, 2^x, e^x - 1, ln x, ln(1 + x), log2 x = ln x / ln 2, log10 x = ln x / ln 10.  Floats. */
TN_API tn_val tn_exp_at(tn_val x, const char *file, int line);
TN_API tn_val tn_exp2_at(tn_val x, const char *file, int line);
TN_API tn_val tn_expm1_at(tn_val x, const char *file, int line);
TN_API tn_val tn_log_at(tn_val x, const char *file, int line);
TN_API tn_val tn_log1p_at(tn_val x, const char *file, int line);
TN_API tn_val tn_log2_at(tn_val x, const char *file, int line);
TN_API tn_val tn_log10_at(tn_val x, const char *file, int line);
#define tn_exp(x)   tn_exp_at(x, __FILE__, __LINE__)
#define tn_exp2(x)  tn_exp2_at(x, __FILE__, __LINE__)
#define tn_expm1(x) tn_expm1_at(x, __FILE__, __LINE__)
#define tn_log(x)   tn_log_at(x, __FILE__, __LINE__)
#define tn_log1p(x) tn_log1p_at(x, __FILE__, __LINE__)
#define tn_log2(x)  tn_log2_at(x, __FILE__, __LINE__)
#define tn_log10(x) tn_log10_at(x, __FILE__, __LINE__)
/* Trigonometric functions (radians) and their inverses.  Floats. */
TN_API tn_val tn_sin_at(tn_val x, const char *file, int line);
TN_API tn_val tn_cos_at(tn_val x, const char *file, int line);
TN_API tn_val tn_tan_at(tn_val x, const char *file, int line);
TN_API tn_val tn_asin_at(tn_val x, const char *file, int line);
TN_API tn_val tn_acos_at(tn_val x, const char *file, int line);
TN_API tn_val tn_atan_at(tn_val x, const char *file, int line);
#define tn_sin(x)  tn_sin_at(x, __FILE__, __LINE__)
#define tn_cos(x)  tn_cos_at(x, __FILE__, __LINE__)
#define tn_tan(x)  tn_tan_at(x, __FILE__, __LINE__)
#define tn_asin(x) tn_asin_at(x, __FILE__, __LINE__)
#define tn_acos(x) tn_acos_at(x, __FILE__, __LINE__)
#define tn_atan(x) tn_atan_at(x, __FILE__, __LINE__)
/* Hyperbolic functions and their inverses.  Floats. */
TN_API tn_val tn_sinh_at(tn_val x, const char *file, int line);
TN_API tn_val tn_cosh_at(tn_val x, const char *file, int line);
TN_API tn_val tn_tanh_at(tn_val x, const char *file, int line);
TN_API tn_val tn_asinh_at(tn_val x, const char *file, int line);
TN_API tn_val tn_acosh_at(tn_val x, const char *file, int line);
TN_API tn_val tn_atanh_at(tn_val x, const char *file, int line);
#define tn_sinh(x)  tn_sinh_at(x, __FILE__, __LINE__)
#define tn_cosh(x)  tn_cosh_at(x, __FILE__, __LINE__)
#define tn_tanh(x)  tn_tanh_at(x, __FILE__, __LINE__)
#define tn_asinh(x) tn_asinh_at(x, __FILE__, __LINE__)
#define tn_acosh(x) tn_acosh_at(x, __FILE__, __LINE__)
#define tn_atanh(x) tn_atanh_at(x, __FILE__, __LINE__)
/* Error function, 1 - erf(x) computed directly, inverse of erf on (-1, 1).  Floats. */
TN_API tn_val tn_erf_at(tn_val x, const char *file, int line);
TN_API tn_val tn_erfc_at(tn_val x, const char *file, int line);
TN_API tn_val tn_erf_inv_at(tn_val x, const char *file, int line);
#define tn_erf(x)     tn_erf_at(x, __FILE__, __LINE__)
#define tn_erfc(x)    tn_erfc_at(x, __FILE__, __LINE__)
#define tn_erf_inv(x) tn_erf_inv_at(x, __FILE__, __LINE__)
/* ln|Gamma(x)| and its derivative.  Floats.  (tn_polygamma is below.) */
TN_API tn_val tn_lgamma_at(tn_val x, const char *file, int line);
TN_API tn_val tn_digamma_at(tn_val x, const char *file, int line);
#define tn_lgamma(x)  tn_lgamma_at(x, __FILE__, __LINE__)
#define tn_digamma(x) tn_digamma_at(x, __FILE__, __LINE__)
/* Modified Bessel functions of orders 0 and 1, times e^-|x|, within 1 ulp.  Floats.  The derivative is a difference of
 * the two, which loses digits as x grows: relative error |x| times that of the dtype. */
TN_API tn_val tn_bessel_i0e_at(tn_val x, const char *file, int line);
TN_API tn_val tn_bessel_i1e_at(tn_val x, const char *file, int line);
#define tn_bessel_i0e(x) tn_bessel_i0e_at(x, __FILE__, __LINE__)
#define tn_bessel_i1e(x) tn_bessel_i1e_at(x, __FILE__, __LINE__)
/* Rounding down, up, to nearest (halves to even).  Floats; derivative 0. */
TN_API tn_val tn_floor_at(tn_val x, const char *file, int line);
TN_API tn_val tn_ceil_at(tn_val x, const char *file, int line);
TN_API tn_val tn_round_at(tn_val x, const char *file, int line);
#define tn_floor(x) tn_floor_at(x, __FILE__, __LINE__)
#define tn_ceil(x)  tn_ceil_at(x, __FILE__, __LINE__)
#define tn_round(x) tn_round_at(x, __FILE__, __LINE__)
/* Tests of floats; the result is bool. */
TN_API tn_val tn_is_finite_at(tn_val x, const char *file, int line);
TN_API tn_val tn_is_nan_at(tn_val x, const char *file, int line);
TN_API tn_val tn_is_inf_at(tn_val x, const char *file, int line);
#define tn_is_finite(x) tn_is_finite_at(x, __FILE__, __LINE__)
#define tn_is_nan(x)    tn_is_nan_at(x, __FILE__, __LINE__)
#define tn_is_inf(x)    tn_is_inf_at(x, __FILE__, __LINE__)
/* Logical (bool) or bitwise (integer) complement. */
TN_API tn_val tn_not_at(tn_val x, const char *file, int line);
#define tn_not(x) tn_not_at(x, __FILE__, __LINE__)
/* How many bits of x are 1; how many are 0 above the highest 1 (the width where
 * x = 0).  Integers; the result has x's dtype. */
TN_API tn_val tn_population_count_at(tn_val x, const char *file, int line);
TN_API tn_val tn_clz_at(tn_val x, const char *file, int line);
#define tn_population_count(x) tn_population_count_at(x, __FILE__, __LINE__)
#define tn_clz(x)              tn_clz_at(x, __FILE__, __LINE__)
/* x as another dtype.  Float to integer truncates and saturates (unsigned: below 0 becomes 0), NaN becomes 0;
 * to bool: x != 0.  Between floats it is differentiable. */
TN_API tn_val tn_convert_at(tn_val x, tn_dtype dtype, const char *file, int line);
#define tn_convert(x, dtype) tn_convert_at(x, dtype, __FILE__, __LINE__)
/* The bits of x as another dtype of the same width: f32, i32 and u32, or f64 and
 * i64; derivative 0. */
TN_API tn_val tn_bitcast_at(tn_val x, tn_dtype dtype, const char *file, int line);
#define tn_bitcast(x, dtype) tn_bitcast_at(x, dtype, __FILE__, __LINE__)
/* x, whose derivative is taken to be 0. */
TN_API tn_val tn_stop_gradient_at(tn_val x, const char *file, int line);
#define tn_stop_gradient(x) tn_stop_gradient_at(x, __FILE__, __LINE__)
/* x, under a name that checkpointing policies can ask for. */
TN_API tn_val tn_checkpoint_name_at(tn_val x, const char *name, const char *file, int line);
#define tn_checkpoint_name(x, name) tn_checkpoint_name_at(x, name, __FILE__, __LINE__)

/* ---- elementwise, several operands (broadcasting, plain numbers) ------------- */

/* Arithmetic.  Numbers; integers wrap, x/0 = -1 (all bits 1), the remainder has the sign of x. */
TN_API tn_val tn_add_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_sub_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_mul_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_div_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_rem_at(tn_val x, tn_val y, const char *file, int line);
#define tn_add(x, y) tn_add_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_sub(x, y) tn_sub_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_mul(x, y) tn_mul_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_div(x, y) tn_div_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_rem(x, y) tn_rem_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
/* x^y.  An exponent that is a plain C integer makes tn_integer_pow, which is
 * cheaper and defined for x < 0; else floats. */
TN_API tn_val tn_pow_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_integer_pow_at(tn_val x, int y, const char *file, int line);
#define tn_pow(x, y)         tn_pow_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_integer_pow(x, y) tn_integer_pow_at(x, y, __FILE__, __LINE__)
/* Larger and smaller of two (a NaN wins); ties share the derivative.  Numbers. */
TN_API tn_val tn_maximum_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_minimum_at(tn_val x, tn_val y, const char *file, int line);
#define tn_maximum(x, y) tn_maximum_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_minimum(x, y) tn_minimum_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
/* Angle of the point (x, y), C's atan2(y, x); NaN derivative at (0, 0).  Floats. */
TN_API tn_val tn_atan2_at(tn_val y, tn_val x, const char *file, int line);
/* m-th derivative of digamma at x; m holds whole numbers >= 0.  Floats. */
TN_API tn_val tn_polygamma_at(tn_val m, tn_val x, const char *file, int line);
/* Regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), 0 <= a, 0 <= x, not both 0; else NaN.
 * Floats.  Relative error below 1e-15 (f32: half an ulp more than its rounding); of a Q below 1e-5 that is 1 - P with
 * x < 1, 1e-20 absolute.  Time: up to some sqrt(a) steps, a few beyond a = 10^4.  Derivatives in both arguments; in a
 * at most five times, the sixth is refused by name. */
TN_API tn_val tn_igamma_at(tn_val a, tn_val x, const char *file, int line);
TN_API tn_val tn_igammac_at(tn_val a, tn_val x, const char *file, int line);
/* The derivative of tn_igamma in a; and that over minus its derivative in x, which is the derivative in a of a sample x
 * of Gamma(a, 1).  0 < a, 0 <= x; else NaN.  Floats.  Derivatives in a: four more. */
TN_API tn_val tn_igamma_grad_a_at(tn_val a, tn_val x, const char *file, int line);
TN_API tn_val tn_random_gamma_grad_at(tn_val a, tn_val x, const char *file, int line);
/* Regularized incomplete beta function I_x(a, b), 0 <= a, 0 <= b, 0 <= x <= 1; else NaN.  Floats.  Relative error below
 * 1e-15 where a, b >= 1e-4, else 1e-19 absolute.  Time: up to some sqrt(max(a, b)) steps.  Derivative in x; those in
 * a and b are refused by name, as in JAX. */
TN_API tn_val tn_betainc_at(tn_val a, tn_val b, tn_val x, const char *file, int line);
/* Hurwitz's zeta function, the sum over k >= 0 of (q + k)^-s, for s > 1; inf where s = 1, NaN below and where q < 0
 * unless s is a whole number; at q = 0, -1, -2, ... inf for even s, else NaN.  Floats.  Derivative in q; that in s is
 * refused by name, as in JAX. */
TN_API tn_val tn_zeta_at(tn_val s, tn_val q, const char *file, int line);
/* sqrt(x^2 + y^2) without overflow; derivative at (0, 0) finite.  Floats. */
TN_API tn_val tn_hypot_at(tn_val x, tn_val y, const char *file, int line);
/* ln(e^x + e^y) without overflow; derivative 1/2 each where x = y.  Floats. */
TN_API tn_val tn_logaddexp_at(tn_val x, tn_val y, const char *file, int line);
/* x ln y and x ln(1 + y); 0, with derivative 0, where x = 0 and the logarithm is
 * not finite.  Floats. */
TN_API tn_val tn_xlogy_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_xlog1py_at(tn_val x, tn_val y, const char *file, int line);
#define tn_atan2(y, x)             tn_atan2_at(TN_VAL(y), TN_VAL(x), __FILE__, __LINE__)
#define tn_polygamma(m, x)         tn_polygamma_at(TN_VAL(m), TN_VAL(x), __FILE__, __LINE__)
#define tn_igamma(a, x)            tn_igamma_at(TN_VAL(a), TN_VAL(x), __FILE__, __LINE__)
#define tn_igammac(a, x)           tn_igammac_at(TN_VAL(a), TN_VAL(x), __FILE__, __LINE__)
#define tn_igamma_grad_a(a, x)     tn_igamma_grad_a_at(TN_VAL(a), TN_VAL(x), __FILE__, __LINE__)
#define tn_random_gamma_grad(a, x) tn_random_gamma_grad_at(TN_VAL(a), TN_VAL(x), __FILE__, __LINE__)
#define tn_betainc(a, b, x)        tn_betainc_at(TN_VAL(a), TN_VAL(b), TN_VAL(x), __FILE__, __LINE__)
#define tn_zeta(s, q)              tn_zeta_at(TN_VAL(s), TN_VAL(q), __FILE__, __LINE__)
#define tn_hypot(x, y)             tn_hypot_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_logaddexp(x, y)         tn_logaddexp_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_xlogy(x, y)             tn_xlogy_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_xlog1py(x, y)           tn_xlog1py_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
/* x*y + z, rounded once, as C's fma.  Sums and differences of products become it by themselves
 * (tn_ctx_options.contract).  Floats. */
TN_API tn_val tn_fma_at(tn_val x, tn_val y, tn_val z, const char *file, int line);
#define tn_fma(x, y, z) tn_fma_at(TN_VAL(x), TN_VAL(y), TN_VAL(z), __FILE__, __LINE__)
/* Comparisons; the result is bool.  Order comparisons: numbers. */
TN_API tn_val tn_eq_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_ne_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_lt_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_le_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_gt_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_ge_at(tn_val x, tn_val y, const char *file, int line);
#define tn_eq(x, y) tn_eq_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_ne(x, y) tn_ne_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_lt(x, y) tn_lt_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_le(x, y) tn_le_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_gt(x, y) tn_gt_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_ge(x, y) tn_ge_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
/* Logical (bool) or bitwise (integer) operations. */
TN_API tn_val tn_and_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_or_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_xor_at(tn_val x, tn_val y, const char *file, int line);
#define tn_and(x, y) tn_and_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_or(x, y)  tn_or_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_xor(x, y) tn_xor_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
/* The bits of x moved up (left) or down (right) by y.  Zeros come in, and the
 * sign in tn_shift_right_arithmetic.  Where y is negative, or the width or more,
 * nothing else is left, as XLA has it.  Integers; derivative 0. */
TN_API tn_val tn_shift_left_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_shift_right_logical_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_shift_right_arithmetic_at(tn_val x, tn_val y, const char *file, int line);
#define tn_shift_left(x, y)             tn_shift_left_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_shift_right_logical(x, y)    tn_shift_right_logical_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_shift_right_arithmetic(x, y) tn_shift_right_arithmetic_at(TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
/* x where cond (bool) holds, else y.  Both are computed; a NaN in the
 * derivative of the one not chosen comes through, as in JAX.  tn_select is the
 * primitive's name for it. */
TN_API tn_val tn_where_at(tn_val cond, tn_val x, tn_val y, const char *file, int line);
#define tn_where(cond, x, y)  tn_where_at(cond, TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
#define tn_select(cond, x, y) tn_where_at(cond, TN_VAL(x), TN_VAL(y), __FILE__, __LINE__)
/* x held between lo and hi; derivative 0 at and beyond the bounds.  Numbers. */
TN_API tn_val tn_clip_at(tn_val x, tn_val lo, tn_val hi, const char *file, int line);
#define tn_clip(x, lo, hi)  tn_clip_at(x, TN_VAL(lo), TN_VAL(hi), __FILE__, __LINE__)
#define tn_clamp(lo, x, hi) tn_clip_at(x, TN_VAL(lo), TN_VAL(hi), __FILE__, __LINE__)

/* ---- activations (floats, elementwise) -------------------------------------- */

/* max(x, 0), derivative 0 at 0; x where x >= 0, else slope*x. */
TN_API tn_val tn_relu_at(tn_val x, const char *file, int line);
TN_API tn_val tn_leaky_relu_at(tn_val x, double slope, const char *file, int line);
/* x where x > 0, else alpha*(e^x - 1). */
TN_API tn_val tn_elu_at(tn_val x, double alpha, const char *file, int line);
/* x Phi(x), Phi the normal distribution; tanh form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
TN_API tn_val tn_gelu_at(tn_val x, const char *file, int line);
TN_API tn_val tn_gelu_tanh_at(tn_val x, const char *file, int line);
/* 1/(1 + e^-x); ln of that; x times that; ln(1 + e^x).  No overflow for any x. */
TN_API tn_val tn_sigmoid_at(tn_val x, const char *file, int line);
TN_API tn_val tn_log_sigmoid_at(tn_val x, const char *file, int line);
TN_API tn_val tn_silu_at(tn_val x, const char *file, int line);
TN_API tn_val tn_softplus_at(tn_val x, const char *file, int line);
/* ln(1 - e^-x) for x > 0, accurate for small and large x. */
TN_API tn_val tn_log1mexp_at(tn_val x, const char *file, int line);
#define tn_relu(x)              tn_relu_at(x, __FILE__, __LINE__)
#define tn_leaky_relu(x, slope) tn_leaky_relu_at(x, slope, __FILE__, __LINE__)
#define tn_elu(x, alpha)        tn_elu_at(x, alpha, __FILE__, __LINE__)
#define tn_gelu(x)              tn_gelu_at(x, __FILE__, __LINE__)
#define tn_gelu_tanh(x)         tn_gelu_tanh_at(x, __FILE__, __LINE__)
#define tn_sigmoid(x)           tn_sigmoid_at(x, __FILE__, __LINE__)
#define tn_logistic(x)          tn_sigmoid_at(x, __FILE__, __LINE__)
#define tn_log_sigmoid(x)       tn_log_sigmoid_at(x, __FILE__, __LINE__)
#define tn_silu(x)              tn_silu_at(x, __FILE__, __LINE__)
#define tn_softplus(x)          tn_softplus_at(x, __FILE__, __LINE__)
#define tn_log1mexp(x)          tn_log1mexp_at(x, __FILE__, __LINE__)

/* ---- reductions --------------------------------------------------------------
 *
 * tn_NAME(x) reduces over all axes to rank 0; tn_NAME_axis(x, axis)
 * over one; tn_NAME_axes(x, axes) over those of a tn_int_list; with
 * TN_KEEPDIMS the reduced axes stay, with size 1.  Over no elements: sum 0, prod 1,
 * max and min the smallest and largest value of the dtype (infinities for
 * floats), mean and var NaN. */

/* Sum, product, largest, smallest.  Numbers; max and min propagate NaN, their
 * derivative is shared equally by ties. */
TN_API tn_val tn_sum_at(tn_val x, const char *file, int line);
TN_API tn_val tn_sum_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_sum_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line);
TN_API tn_val tn_prod_at(tn_val x, const char *file, int line);
TN_API tn_val tn_prod_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_prod_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line);
TN_API tn_val tn_max_at(tn_val x, const char *file, int line);
TN_API tn_val tn_max_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_max_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line);
TN_API tn_val tn_min_at(tn_val x, const char *file, int line);
TN_API tn_val tn_min_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_min_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line);
#define tn_sum(x)         tn_sum_at(x, __FILE__, __LINE__)
#define tn_sum_axis(...)  tn_sum_axis_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_sum_axes(...)  tn_sum_axes_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_prod(x)        tn_prod_at(x, __FILE__, __LINE__)
#define tn_prod_axis(...) tn_prod_axis_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_prod_axes(...) tn_prod_axes_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_max(x)         tn_max_at(x, __FILE__, __LINE__)
#define tn_max_axis(...)  tn_max_axis_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_max_axes(...)  tn_max_axes_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_min(x)         tn_min_at(x, __FILE__, __LINE__)
#define tn_min_axis(...)  tn_min_axis_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_min_axes(...)  tn_min_axes_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
/* Mean; variance mean((x - mean(x))^2), in two passes; its square root, whose
 * derivative is not finite where the variance is 0.  Floats. */
TN_API tn_val tn_mean_at(tn_val x, const char *file, int line);
TN_API tn_val tn_mean_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_mean_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line);
TN_API tn_val tn_var_at(tn_val x, const char *file, int line);
TN_API tn_val tn_var_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_var_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line);
TN_API tn_val tn_std_at(tn_val x, const char *file, int line);
TN_API tn_val tn_std_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_std_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line);
#define tn_mean(x)        tn_mean_at(x, __FILE__, __LINE__)
#define tn_mean_axis(...) tn_mean_axis_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_mean_axes(...) tn_mean_axes_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_var(x)         tn_var_at(x, __FILE__, __LINE__)
#define tn_var_axis(...)  tn_var_axis_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_var_axes(...)  tn_var_axes_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_std(x)         tn_std_at(x, __FILE__, __LINE__)
#define tn_std_axis(...)  tn_std_axis_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_std_axes(...)  tn_std_axes_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
/* sqrt(sum x^2); sum x^2.  Floats.  The norm's derivative at 0 is NaN, as in JAX. */
TN_API tn_val tn_norm_at(tn_val x, const char *file, int line);
TN_API tn_val tn_norm_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_sum_squares_at(tn_val x, const char *file, int line);
#define tn_norm(x)        tn_norm_at(x, __FILE__, __LINE__)
#define tn_norm_axis(...) tn_norm_axis_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_sum_squares(x) tn_sum_squares_at(x, __FILE__, __LINE__)
/* Whether any, whether all elements hold (bool), over all axes. */
TN_API tn_val tn_any_at(tn_val x, const char *file, int line);
TN_API tn_val tn_all_at(tn_val x, const char *file, int line);
#define tn_any(x) tn_any_at(x, __FILE__, __LINE__)
#define tn_all(x) tn_all_at(x, __FILE__, __LINE__)
/* ln sum e^x along an axis, which is dropped; shifted by the maximum: -inf
 * where all are -inf, inf where one is.  Floats. */
TN_API tn_val tn_logsumexp_at(tn_val x, int axis, const char *file, int line);
#define tn_logsumexp(x, axis) tn_logsumexp_at(x, axis, __FILE__, __LINE__)
/* e^x / sum e^x along an axis, and its logarithm, both shifted by the maximum.  Floats. */
TN_API tn_val tn_softmax_at(tn_val x, int axis, const char *file, int line);
TN_API tn_val tn_log_softmax_at(tn_val x, int axis, const char *file, int line);
#define tn_softmax(x, axis)     tn_softmax_at(x, axis, __FILE__, __LINE__)
#define tn_log_softmax(x, axis) tn_log_softmax_at(x, axis, __FILE__, __LINE__)
/* Index (i32) of the first largest or smallest element along an axis, which is
 * dropped and may not be empty; a NaN wins. */
TN_API tn_val tn_argmax_at(tn_val x, int axis, const char *file, int line);
TN_API tn_val tn_argmin_at(tn_val x, int axis, const char *file, int line);
#define tn_argmax(x, axis) tn_argmax_at(x, axis, __FILE__, __LINE__)
#define tn_argmin(x, axis) tn_argmin_at(x, axis, __FILE__, __LINE__)
/* Running sum, product, maximum, minimum, ln sum e^x along an axis; with TN_REVERSE from the end. */
TN_API tn_val tn_cumsum_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_cumprod_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_cummax_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_cummin_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
TN_API tn_val tn_cumlogsumexp_at(tn_val x, int axis, tn_flags flags, const char *file, int line);
#define tn_cumsum(...)       tn_cumsum_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_cumprod(...)      tn_cumprod_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_cummax(...)       tn_cummax_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_cummin(...)       tn_cummin_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
#define tn_cumlogsumexp(...) tn_cumlogsumexp_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)
/* y[i] = a[i] y[i-1] + x[i] along an axis, y[0] = x[0]: running sums with factors, filters of first order, and what a
 * scan of x' = a x + b would be, as one pass.  a[0] is not used; TN_REVERSE: from the end.  A start y0 other than 0
 * is added to x[0] as a[0] y0. */
TN_API tn_val tn_linear_recurrence_at(tn_val a, tn_val x, int axis, tn_flags flags, const char *file, int line);
#define tn_linear_recurrence(...) tn_linear_recurrence_at(TN_I_FLAGS(3, __VA_ARGS__), __FILE__, __LINE__)
/* Ascending, stable sort along an axis (NaN last); the indices (i32) that sort. */
TN_API tn_val tn_sort_at(tn_val x, int axis, const char *file, int line);
TN_API tn_val tn_argsort_at(tn_val x, int axis, const char *file, int line);
#define tn_sort(x, axis)    tn_sort_at(x, axis, __FILE__, __LINE__)
#define tn_argsort(x, axis) tn_argsort_at(x, axis, __FILE__, __LINE__)
/* The k largest along an axis, from the largest on, and where they are (i32), as jax.lax.top_k: of equals the first
 * stands first, NaN before all numbers.  NULL: not wanted.  The axis has k elements at least.  Cost: a sort. */
TN_API void tn_top_k_at(tn_val x, int64_t k, int axis, tn_val *values, tn_val *indices, const char *file, int line);
#define tn_top_k(x, k, axis, values, indices) tn_top_k_at(x, k, axis, values, indices, __FILE__, __LINE__)
/* Sorts several arrays of one shape jointly along an axis by the first `keys`
 * of them; writes x.n results to out. */
TN_API void tn_sort_many_at(tn_val_list x, int axis, int keys, tn_val *out, const char *file, int line);
#define tn_sort_many(...) tn_sort_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* ---- shape ------------------------------------------------------------------- */

/* The same elements, row-major, in another shape: tn_reshape(x, 3, 4).  One
 * dimension may be -1: what is left.  To rank 0: tn_reshape_at(x, tn_ints(), ..)
 * or tn_squeeze_all(x).  tn_ravel: rank 1. */
TN_API tn_val tn_reshape_at(tn_val x, tn_int_list shape, const char *file, int line);
TN_API tn_val tn_ravel_at(tn_val x, const char *file, int line);
#define tn_reshape(x, ...) tn_reshape_at(x, tn_ints(__VA_ARGS__), __FILE__, __LINE__)
#define tn_ravel(x)        tn_ravel_at(x, __FILE__, __LINE__)
/* A new axis of size 1 at `axis` of the result; without axis `axis`, or without
 * any axis, of size 1. */
TN_API tn_val tn_expand_dims_at(tn_val x, int axis, const char *file, int line);
TN_API tn_val tn_squeeze_at(tn_val x, int axis, const char *file, int line);
TN_API tn_val tn_squeeze_all_at(tn_val x, const char *file, int line);
#define tn_expand_dims(x, axis) tn_expand_dims_at(x, axis, __FILE__, __LINE__)
#define tn_squeeze(x, axis)     tn_squeeze_at(x, axis, __FILE__, __LINE__)
#define tn_squeeze_all(x)       tn_squeeze_all_at(x, __FILE__, __LINE__)
/* x repeated to a shape by the rules of broadcasting: tn_broadcast_to(x, 3, 4).
 * tn_broadcast_in_dim: dimension i of x becomes dimension dims[i] of the shape. */
TN_API tn_val tn_broadcast_to_at(tn_val x, tn_int_list shape, const char *file, int line);
TN_API tn_val tn_broadcast_in_dim_at(tn_val x, tn_int_list shape, tn_int_list dims, const char *file, int line);
#define tn_broadcast_to(x, ...)  tn_broadcast_to_at(x, tn_ints(__VA_ARGS__), __FILE__, __LINE__)
#define tn_broadcast_in_dim(...) tn_broadcast_in_dim_at(__VA_ARGS__, __FILE__, __LINE__)
/* Axes reordered: axis i of the result is axis axes[i] of x, tn_permute(x, 1, 0);
 * all reversed (the matrix transpose); the last two, or any two, exchanged; one moved.
 * (tn_transpose is the transformation of programs.) */
TN_API tn_val tn_permute_at(tn_val x, tn_int_list axes, const char *file, int line);
TN_API tn_val tn_t_at(tn_val x, const char *file, int line);
TN_API tn_val tn_swapaxes_at(tn_val x, int a, int b, const char *file, int line);
TN_API tn_val tn_moveaxis_at(tn_val x, int from, int to, const char *file, int line);
#define tn_permute(x, ...)       tn_permute_at(x, tn_ints(__VA_ARGS__), __FILE__, __LINE__)
#define tn_t(x)                  tn_t_at(x, __FILE__, __LINE__)
#define tn_matrix_transpose(x)   tn_swapaxes_at(x, -2, -1, __FILE__, __LINE__)
#define tn_swapaxes(x, a, b)     tn_swapaxes_at(x, a, b, __FILE__, __LINE__)
#define tn_moveaxis(x, from, to) tn_moveaxis_at(x, from, to, __FILE__, __LINE__)
/* Reversed along an axis; rotated by `shift` towards larger indices. */
TN_API tn_val tn_flip_at(tn_val x, int axis, const char *file, int line);
TN_API tn_val tn_roll_at(tn_val x, int64_t shift, int axis, const char *file, int line);
#define tn_flip(x, axis)        tn_flip_at(x, axis, __FILE__, __LINE__)
#define tn_roll(x, shift, axis) tn_roll_at(x, shift, axis, __FILE__, __LINE__)
/* Arrays joined along an axis; stacked along a new one: tn_stack(tn_vals(x, y), 0). */
TN_API tn_val tn_concatenate_at(tn_val_list x, int axis, const char *file, int line);
TN_API tn_val tn_stack_at(tn_val_list x, int axis, const char *file, int line);
#define tn_concatenate(...) tn_concatenate_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_stack(...)       tn_stack_at(__VA_ARGS__, __FILE__, __LINE__)
/* Cut along an axis into parts of the given sizes, which add up to it; writes
 * sizes.n results to out. */
TN_API void tn_split_at(tn_val x, tn_int_list sizes, int axis, tn_val *out, const char *file, int line);
#define tn_split(...) tn_split_at(__VA_ARGS__, __FILE__, __LINE__)
/* The whole array repeated along each of the last axes: tn_tile(x, 2, 3). */
TN_API tn_val tn_tile_at(tn_val x, tn_int_list repeats, const char *file, int line);
#define tn_tile(x, ...) tn_tile_at(x, tn_ints(__VA_ARGS__), __FILE__, __LINE__)
/* x surrounded by `value` (a number or rank 0): lo[i] elements before, hi[i]
 * behind, interior[i] between neighbours in dimension i.  Negative lo and hi
 * cut; an empty list counts as zeros. */
TN_API tn_val tn_pad_at(tn_val x, tn_val value, tn_int_list lo, tn_int_list hi, tn_int_list interior, const char *file,
                        int line);
#define tn_pad(x, value, lo, hi, interior) tn_pad_at(x, TN_VAL(value), lo, hi, interior, __FILE__, __LINE__)

/* ---- indexing ---------------------------------------------------------------- */

/* x[i, j, ..] for plain C integers: tn_at(x, i, j).  Fewer indices than axes
 * give a sub-array; negative ones count from the end; one out of range is an
 * error.  n such reads of an n-vector cost O(n) in all, also transposed. */
TN_API tn_val tn_at_at(tn_val x, tn_int_list index, const char *file, int line);
#define tn_at(x, ...) tn_at_at(x, tn_ints(__VA_ARGS__), __FILE__, __LINE__)
/* x[start:limit:stride] in every dimension, 0 <= start <= limit <= size (an
 * empty `strides` means ones); and along one axis, where negative start and
 * limit count from the end and both are held inside, as in Python. */
TN_API tn_val tn_slice_at(tn_val x, tn_int_list starts, tn_int_list limits, tn_int_list strides, const char *file,
                          int line);
TN_API tn_val tn_slice_axis_at(tn_val x, int64_t start, int64_t limit, int64_t stride, int axis, const char *file,
                               int line);
#define tn_slice(...)      tn_slice_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_slice_axis(...) tn_slice_axis_at(__VA_ARGS__, __FILE__, __LINE__)
/* A block of shape `sizes`, or u in its place, at the integer scalars `starts`
 * (one per dimension; TN_VAL(0) for a number), which are clamped so that the
 * block lies inside. */
TN_API tn_val tn_dynamic_slice_at(tn_val x, tn_val_list starts, tn_int_list sizes, const char *file, int line);
TN_API tn_val tn_dynamic_update_slice_at(tn_val x, tn_val u, tn_val_list starts, const char *file, int line);
#define tn_dynamic_slice(...)        tn_dynamic_slice_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_dynamic_update_slice(...) tn_dynamic_update_slice_at(__VA_ARGS__, __FILE__, __LINE__)
/* x[.., i, ..] for an integer scalar i that is a value or a number, clamped
 * into the axis, which is dropped. */
TN_API tn_val tn_dynamic_index_at(tn_val x, tn_val i, int axis, const char *file, int line);
#define tn_dynamic_index(x, i, axis) tn_dynamic_index_at(x, TN_VAL(i), axis, __FILE__, __LINE__)
/* Elements of `axis` at integer indices of any shape, which replaces the axis:
 * x [.., n, ..], indices S -> [.., S, ..].  Negative indices count from the
 * end.  Outside: NaN for floats, the smallest value of integers, true; 0 where
 * x is a tangent or cotangent in a rule of your own.  With TN_CLIP_INDICES the
 * last or first element instead, which alone is linear in x for tn_transpose. */
TN_API tn_val tn_take_at(tn_val x, tn_val indices, int axis, tn_flags flags, const char *file, int line);
#define tn_take(...) tn_take_at(TN_I_FLAGS(3, __VA_ARGS__), __FILE__, __LINE__) /* (x, indices, axis) */
/* out[.., j, ..] = x[.., indices[.., j, ..], ..]: indices of x's rank, whose
 * shape outside `axis` broadcasts with x's; or without that axis: one element
 * for each position (z [n, 10], y [n]: tn_take_along(z, y, 1) is [n]).  Indices outside, and TN_CLIP_INDICES, as above.
 */
TN_API tn_val tn_take_along_at(tn_val x, tn_val indices, int axis, tn_flags flags, const char *file, int line);
#define tn_take_along(...) tn_take_along_at(TN_I_FLAGS(3, __VA_ARGS__), __FILE__, __LINE__) /* (x, indices, axis) */
/* x with u added at `indices` of the axis: the transpose of tn_take.  u has
 * the shape of tn_take(x, indices, axis); what lies outside is dropped. */
TN_API tn_val tn_index_add_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line);
#define tn_index_add(...) tn_index_add_at(__VA_ARGS__, __FILE__, __LINE__)
/* x with u written, or added, at `indices` of the axis, as JAX's
 * x.at[indices].set(u) and .add(u) along that axis: u is a number or broadcasts
 * to the shape of tn_take(x, indices, axis), negative indices count from the
 * end, what lies outside is dropped.  Of equal indices all are added; the last
 * one is written, and has the derivative. */
TN_API tn_val tn_at_set_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line);
TN_API tn_val tn_at_add_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line);
#define tn_at_set(x, indices, u, axis) tn_at_set_at(x, indices, TN_VAL(u), axis, __FILE__, __LINE__)
#define tn_at_add(x, indices, u, axis) tn_at_add_at(x, indices, TN_VAL(u), axis, __FILE__, __LINE__)
/* Likewise x times u, and the smaller or larger of both: x.at[indices].multiply(u),
 * .min(u), .max(u).  Of equal indices all take part.  Products are of numbers, and
 * their derivative is exact at zeros, by a sort of the updates; extremes are of
 * bools too, and those that tie share the derivative evenly. */
TN_API tn_val tn_at_mul_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line);
TN_API tn_val tn_at_min_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line);
TN_API tn_val tn_at_max_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line);
#define tn_at_mul(x, indices, u, axis) tn_at_mul_at(x, indices, TN_VAL(u), axis, __FILE__, __LINE__)
#define tn_at_min(x, indices, u, axis) tn_at_min_at(x, indices, TN_VAL(u), axis, __FILE__, __LINE__)
#define tn_at_max(x, indices, u, axis) tn_at_max_at(x, indices, TN_VAL(u), axis, __FILE__, __LINE__)
/* out[s] = sum of x[i] where segment[i] = s, others dropped; x [n, ..], segment [n], out [segments, ..]. */
TN_API tn_val tn_segment_sum_at(tn_val x, tn_val segment, int64_t segments, const char *file, int line);
#define tn_segment_sum(...) tn_segment_sum_at(__VA_ARGS__, __FILE__, __LINE__)
/* The primitives beneath, with JAX's dimension numbers (indices [.., k]: k
 * index components last).  gather: NaN (see tn_take) outside, with TN_CLIP_INDICES
 * indices are clamped.  scatter_add drops updates that lie outside. */
typedef struct tn_gather_dims {
    tn_int_list offset_dims, collapsed_slice_dims, start_index_map;
    tn_int_list operand_batching_dims, start_indices_batching_dims;
} tn_gather_dims;
typedef struct tn_scatter_dims {
    tn_int_list update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
    tn_int_list operand_batching_dims, scatter_indices_batching_dims;
} tn_scatter_dims;
TN_API tn_val tn_gather_at(tn_val x, tn_val indices, const tn_gather_dims *dims, tn_int_list slice_sizes,
                           tn_flags flags, const char *file, int line);
TN_API tn_val tn_scatter_add_at(tn_val x, tn_val indices, tn_val u, const tn_scatter_dims *dims, const char *file,
                                int line);
#define tn_gather(...)      tn_gather_at(TN_I_FLAGS(4, __VA_ARGS__), __FILE__, __LINE__)
#define tn_scatter_add(...) tn_scatter_add_at(__VA_ARGS__, __FILE__, __LINE__)
/* Integers as unit vectors along a new last axis of size n, in the given dtype;
 * an integer outside 0..n-1 gives zeros. */
TN_API tn_val tn_one_hot_at(tn_val i, int64_t n, tn_dtype dtype, const char *file, int line);
#define tn_one_hot(i, n, dtype) tn_one_hot_at(i, n, dtype, __FILE__, __LINE__)
/* Rank 1: the matrix with that diagonal.  Rank 2: the diagonal; trace: its sum. */
TN_API tn_val tn_diag_at(tn_val x, const char *file, int line);
TN_API tn_val tn_trace_of_at(tn_val x, const char *file, int line);
#define tn_diag(x)     tn_diag_at(x, __FILE__, __LINE__)
#define tn_trace_of(x) tn_trace_of_at(x, __FILE__, __LINE__)
/* The last two axes' lower (column <= row + k) or upper (column >= row + k)
 * triangle, zeros elsewhere. */
TN_API tn_val tn_tril_at(tn_val x, int64_t k, const char *file, int line);
TN_API tn_val tn_triu_at(tn_val x, int64_t k, const char *file, int line);
#define tn_tril(x, k) tn_tril_at(x, k, __FILE__, __LINE__)
#define tn_triu(x, k) tn_triu_at(x, k, __FILE__, __LINE__)

/* ---- products ----------------------------------------------------------------- */

/* NumPy's matmul: [n,k] [k,m] -> [n,m]; a vector on the left is a row, on the
 * right a column, and its axis is dropped; further leading axes are batches and
 * broadcast.  No operand of rank 0. */
TN_API tn_val tn_matmul_at(tn_val x, tn_val y, const char *file, int line);
#define tn_matmul(x, y) tn_matmul_at(x, y, __FILE__, __LINE__)
/* NumPy's dot: the last axis of x with the second last (or only) one of y; a
 * product with a rank 0.  vdot: all elements of two arrays of one shape. */
TN_API tn_val tn_dot_at(tn_val x, tn_val y, const char *file, int line);
TN_API tn_val tn_vdot_at(tn_val x, tn_val y, const char *file, int line);
#define tn_dot(x, y)  tn_dot_at(x, y, __FILE__, __LINE__)
#define tn_vdot(x, y) tn_vdot_at(x, y, __FILE__, __LINE__)
/* [n] [m] -> [n,m] (operands are flattened). */
TN_API tn_val tn_outer_at(tn_val x, tn_val y, const char *file, int line);
#define tn_outer(x, y) tn_outer_at(x, y, __FILE__, __LINE__)
/* Sum over axes xa of x with ya of y; the result has the other axes of x, then
 * of y.  tn_tensordot: the last n of x with the first n of y. */
TN_API tn_val tn_tensordot_at(tn_val x, tn_val y, int n, const char *file, int line);
TN_API tn_val tn_tensordot_axes_at(tn_val x, tn_val y, tn_int_list xa, tn_int_list ya, const char *file, int line);
#define tn_tensordot(x, y, n)  tn_tensordot_at(x, y, n, __FILE__, __LINE__)
#define tn_tensordot_axes(...) tn_tensordot_axes_at(__VA_ARGS__, __FILE__, __LINE__)
/* Einstein sum of any number of operands: tn_einsum("bij,bjk->bik", tn_vals(x, y)).
 * A letter names an axis; repeated within an operand it takes the diagonal;
 * absent from the result it is summed.  Without "->" the result has the letters
 * that occur once, in alphabetical order.  "..." stands for leading axes that
 * broadcast.  Pairs are contracted in the order that keeps the next intermediate
 * smallest.  Cost: equations linear in the number of operands. */
TN_API tn_val tn_einsum_at(const char *spec, tn_val_list x, const char *file, int line);
#define tn_einsum(...) tn_einsum_at(__VA_ARGS__, __FILE__, __LINE__)
/* The primitive beneath: contracting dimensions xc, yc, batch dimensions xb,
 * yb; the result has the batch dimensions, then the others of x, then of y. */
TN_API tn_val tn_dot_general_at(tn_val x, tn_val y, tn_int_list xc, tn_int_list yc, tn_int_list xb, tn_int_list yb,
                                const char *file, int line);
#define tn_dot_general(...) tn_dot_general_at(__VA_ARGS__, __FILE__, __LINE__)

/* ---- linear algebra (floats; leading axes are batches) ------------------------ */

/* Lower L with L L' = x for symmetric positive definite x [.., n, n]; reads the
 * lower triangle, NaN where x is not positive definite. */
TN_API tn_val tn_cholesky_at(tn_val x, const char *file, int line);
#define tn_cholesky(x) tn_cholesky_at(x, __FILE__, __LINE__)
/* How a matrix stands in a system, to be joined by |. */
typedef enum tn_solve_how {
    TN_SOLVE_LOWER = 0,         /* triangular: its lower triangle is read, */
    TN_SOLVE_UPPER = 1,         /* or its upper one */
    TN_SOLVE_RIGHT = 2,         /* x a = b, not a x = b */
    TN_SOLVE_TRANSPOSED = 4,    /* a' stands for a */
    TN_SOLVE_UNIT_DIAGONAL = 8, /* triangular: the diagonal counts as ones */
    TN_SOLVE_CONJUGATED = 16,   /* complex matrices alone (tansy/complex.h): conj(a) stands for a */
} tn_solve_how;
/* x of a x = b, a triangular [.., n, n], with `how` it stands (tn_solve_how); b matrices [.., n, m] (right side:
 * [.., m, n]) or vectors [.., n], by the rank: one less than a's.  TN_EINVAL: another `how`. */
TN_API tn_val tn_triangular_solve_at(tn_val a, tn_val b, int how, const char *file, int line);
#define tn_triangular_solve(a, b, how) tn_triangular_solve_at(a, b, how, __FILE__, __LINE__)
/* x of L L' x = b for L lower triangular, b as in tn_triangular_solve. */
TN_API tn_val tn_cholesky_solve_at(tn_val l, tn_val b, const char *file, int line);
#define tn_cholesky_solve(l, b) tn_cholesky_solve_at(l, b, __FILE__, __LINE__)
/* log |det a| [..] of a [.., n, n], by tn_lu: -infinity where a is singular.  (2 sum log of the diagonal of tn_cholesky
 * is cheaper where a is positive definite.) */
TN_API tn_val tn_logdet_at(tn_val a, const char *file, int line);
#define tn_logdet(a) tn_logdet_at(a, __FILE__, __LINE__)
/* The same, with the sign of the determinant in *sign: 1, -1, or 0 where a is singular, which has no derivative.  NULL:
 * not wanted (jax.numpy.linalg.slogdet). */
TN_API void tn_slogdet_at(tn_val a, tn_val *sign, tn_val *logabs, const char *file, int line);
#define tn_slogdet(a, sign, logabs) tn_slogdet_at(a, sign, logabs, __FILE__, __LINE__)
/* det a [..] of a [.., n, n], by tn_lu; of 0 x 0 it is 1.  Derivative: tr(adj(a) da) without a division by the last
 * pivot, so that it is right where a is singular too, if elimination meets no other pivot that is 0; NaN or infinite
 * then.  Higher derivatives want a regular a.  Cost: n^3 / 3 multiply-adds, the derivative n^3 more. */
TN_API tn_val tn_det_at(tn_val a, const char *file, int line);
#define tn_det(a) tn_det_at(a, __FILE__, __LINE__)
/* The inverse of a [.., n, n]: tn_solve with ones on the diagonal, which is what to call where the inverse is but a
 * factor.  A singular a makes no error, as there.  Cost: 4/3 n^3 multiply-adds. */
TN_API tn_val tn_inverse_at(tn_val a, const char *file, int line);
#define tn_inverse(a) tn_inverse_at(a, __FILE__, __LINE__)
/* x of a x = b, a [.., n, n] and b vectors [.., n] or matrices [.., n, m] (by the rank: one less than a's, or
 * equal), leading axes and dtypes alike; x has b's shape.  LU with partial pivoting.  A singular a makes no
 * error: elements of x are infinite or NaN, as in JAX.  Derivatives: dx = a^-1 (db - da x); programs that
 * are differentiated keep the factors of the primal, and no derivative factors again.  Cost: n^3/3 + n^2 m
 * multiply-adds, workspace n^2 + n m elements. */
TN_API tn_val tn_solve_at(tn_val a, tn_val b, const char *file, int line);
#define tn_solve(a, b) tn_solve_at(a, b, __FILE__, __LINE__)
/* Its two halves, for several systems with one matrix.  tn_lu: a[permutation] = l u for any a [.., m, n], with l
 * ([.., m, k], its diagonal of ones left out) and u ([.., k, n]) packed into lu; permutation i32 [.., m]; pivots i32
 * [.., k]: row i was exchanged with row pivots[i] >= i at step i < k = min(m, n) (an odd number of true exchanges is a
 * sign of the determinant).  Results that are not wanted may be NULL.  tn_lu_solve: x of a x = b, or a' x = b where
 * `how` is TN_SOLVE_TRANSPOSED; b as in tn_solve.  A permutation that is none gives NaN.  Derivatives go through the
 * factors: exact where no two candidates for a pivot are equally large, and n^3 multiply-adds where tn_solve's take
 * n^2. */
TN_API void tn_lu_at(tn_val a, tn_val *lu, tn_val *pivots, tn_val *permutation, const char *file, int line);
TN_API tn_val tn_lu_solve_at(tn_val lu, tn_val permutation, tn_val b, int how, const char *file, int line);
#define tn_lu(a, lu, pivots, permutation)    tn_lu_at(a, lu, pivots, permutation, __FILE__, __LINE__)
#define tn_lu_solve(lu, permutation, b, how) tn_lu_solve_at(lu, permutation, b, how, __FILE__, __LINE__)
/* The exponential of a [.., n, n], 1 + a + a a / 2 + a a a / 6 ..: Pade approximants of degree 13 (f32: 7) of a / 2^s,
 * squared s times (Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal.
 * Appl. 26, 2005; jax.scipy.linalg.expm).  s, each matrix's own, is the least that brings its 1-norm to 5.37 (f32:
 * 3.93), and is found when the program runs; it has no limit (JAX: NaN beyond 16), and errors may grow as the norm
 * does.  Where elements overflow they are infinite or NaN, and others may be NaN with them; a matrix whose 1-norm is
 * not finite makes NaN throughout.  Of n = 1 it is tn_exp.  TN_ETYPE: other dtypes than f32 and f64, no square
 * matrices.
 * Derivatives: those of the approximant and the squarings, s being constant (Al-Mohy and Higham, SIAM J. Matrix Anal.
 * Appl. 30, 2009), of any order; at a = 0 exactly da.  The squarings are a loop of unknown length, of which reverse
 * mode keeps a matrix a step.  Where the exponential stands in another loop of unknown length and is the same in all
 * its steps, reverse mode over reverse mode is refused (docs/loops.md): compute it in front of that loop.
 * Cost: 6 + s (f32: 4 + s) products of matrices and a tn_solve, (7 1/3 + s) n^3 multiply-adds (5 1/3 + s); all
 * matrices of a batch take as long as the one of the largest s. */
TN_API tn_val tn_expm_at(tn_val a, const char *file, int line);
#define tn_expm(a) tn_expm_at(a, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
