/* tansy/complex.h - complex arrays, and discrete Fourier transforms.
 *
 * SPDX-License-Identifier: MIT
 *
 *     static tn_val energy(const tn_val *in, void *user) { // in: psi, f64[n,2]: n numbers of C's double complex
 *         tn_complex psi = tn_complex_from(in[0]), hat = tn_fft(psi, tn_ints(-1));
 *         ..
 *
 * A complex array is two real ones of one type: z.re and z.im, which every other operator takes, makes and
 * differentiates.  tn_complex_of(x, y) is x + i y, of values or, beside others, plain numbers.  Programs have no
 * complex dtype: an array of C's double complex, or of float complex, that enters or leaves one is f64 (f32) with a
 * last dimension of 2, real part first, which is how C has it in memory.
 *
 * Derivatives are those of real and imaginary parts: the gradient of a real f by z has the parts df/dx and df/dy.  That
 * is the direction in which f grows, and PyTorch's convention; jax.grad has its conjugate (docs/jax.md).  Functions
 * with a branch cut have it where C's have, and the side that the sign of a zero says; derivatives are those of the
 * side.
 *
 * Operands broadcast as those of <tansy/ops.h>, whose rules for numbers (of either part), errors, ownership, threads
 * and cost hold here: TN_ETYPE for parts of different types and for other dtypes than f32 and f64.  An operator makes
 * some 2 (tn_cadd) to 60 (tn_cacos) equations of real arrays.  Errors of values are at most 16 epsilon of |f|, of
 * tn_cpow some more with |w log z|; a part that is much smaller than the other has fewer digits of its own.  Nothing
 * overflows where the result does not, but products (tn_cmul, tn_cpowi). */
#ifndef TANSY_COMPLEX_H
#define TANSY_COMPLEX_H

#include "../tansy.h"
#include "decompositions.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_complex {
    tn_val re, im;
} tn_complex;

#ifndef __cplusplus
#define tn_complex_of(x, y) ((tn_complex){TN_VAL(x), TN_VAL(y)})
#endif

/* The array whose parts stand in the last dimension of `pairs`, [.., 2]; and the way back. */
TN_API tn_complex tn_complex_from_at(tn_val pairs, const char *file, int line);
TN_API tn_val tn_complex_pairs_at(tn_complex z, const char *file, int line);
#define tn_complex_from(...)  tn_complex_from_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_complex_pairs(...) tn_complex_pairs_at(__VA_ARGS__, __FILE__, __LINE__)

/* ---- arithmetic ------------------------------------------------------------------------------- */

/* z + w, z - w, z w, z / w (Smith's), -z, x - i y, z z, 1 / z */
TN_API tn_complex tn_cadd_at(tn_complex z, tn_complex w, const char *file, int line);
TN_API tn_complex tn_csub_at(tn_complex z, tn_complex w, const char *file, int line);
TN_API tn_complex tn_cmul_at(tn_complex z, tn_complex w, const char *file, int line);
TN_API tn_complex tn_cdiv_at(tn_complex z, tn_complex w, const char *file, int line);
TN_API tn_complex tn_cneg_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_conj_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_csquare_at(tn_complex z, const char *file, int line);
#define tn_cadd(...)    tn_cadd_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_csub(...)    tn_csub_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_cmul(...)    tn_cmul_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_cdiv(...)    tn_cdiv_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_cneg(...)    tn_cneg_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_conj(...)    tn_conj_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_csquare(...) tn_csquare_at(__VA_ARGS__, __FILE__, __LINE__)

/* |z|, whose derivative at 0 is 0; the angle, in (-pi, pi]; z / |z|, 0 of 0. */
TN_API tn_val tn_cabs_at(tn_complex z, const char *file, int line);
TN_API tn_val tn_carg_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_csign_at(tn_complex z, const char *file, int line);
#define tn_cabs(...)  tn_cabs_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_carg(...)  tn_carg_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_csign(...) tn_csign_at(__VA_ARGS__, __FILE__, __LINE__)

/* ---- functions ----------------------------------------------------------------------------------- */

/* Those of <complex.h>, with its branch cuts. */

TN_API tn_complex tn_csqrt_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_cexp_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_clog_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_csin_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_ccos_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_ctan_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_csinh_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_ccosh_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_ctanh_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_casin_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_cacos_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_catan_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_casinh_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_cacosh_at(tn_complex z, const char *file, int line);
TN_API tn_complex tn_catanh_at(tn_complex z, const char *file, int line);
#define tn_csqrt(...)  tn_csqrt_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_cexp(...)   tn_cexp_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_clog(...)   tn_clog_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_csin(...)   tn_csin_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_ccos(...)   tn_ccos_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_ctan(...)   tn_ctan_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_csinh(...)  tn_csinh_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_ccosh(...)  tn_ccosh_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_ctanh(...)  tn_ctanh_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_casin(...)  tn_casin_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_cacos(...)  tn_cacos_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_catan(...)  tn_catan_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_casinh(...) tn_casinh_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_cacosh(...) tn_cacosh_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_catanh(...) tn_catanh_at(__VA_ARGS__, __FILE__, __LINE__)

/* z^w = exp(w log z); of z = 0 it is 0, of w = 0 it is 1.  And z^n, by products. */
TN_API tn_complex tn_cpow_at(tn_complex z, tn_complex w, const char *file, int line);
TN_API tn_complex tn_cpowi_at(tn_complex z, int64_t n, const char *file, int line);
#define tn_cpow(...)  tn_cpow_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_cpowi(...) tn_cpowi_at(__VA_ARGS__, __FILE__, __LINE__)

/* The product of matrices z [.., m, k] and w [.., k, n], by four of their parts (tn_matmul: its rules for vectors and
 * batches); and x with z x = w for matrices [.., n, n] and right-hand sides as tn_solve has them, by a real system of
 * 2 n equations. */
TN_API tn_complex tn_cmatmul_at(tn_complex z, tn_complex w, const char *file, int line);
TN_API tn_complex tn_csolve_at(tn_complex z, tn_complex w, const char *file, int line);
#define tn_cmatmul(...) tn_cmatmul_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_csolve(...)  tn_csolve_at(__VA_ARGS__, __FILE__, __LINE__)

/* ---- Fourier transforms ------------------------------------------------------------------ */

/* NumPy's conventions (numpy.fft.fftn), along each of 1 to 3 distinct axes, negative ones from the end:
 *
 *     tn_fft    X[k] = sum over j of x[j] exp(-2 pi i j k / n)
 *     tn_ifft   x[j] = 1/n times the sum over k of X[k] exp(2 pi i j k / n)
 *     tn_rfft   of a real array: the last axis of the list has the first n/2 + 1 of X, which say all
 *     tn_irfft  the real array of that, with n elements along the last axis of the list (2 m - 2 or 2 m - 1 where X has
 *               m); imaginary parts of its first element and, of even n, of its last are not read
 *
 * The length of an axis may be any from 1 to 2^31 - 1: 5 n log2 n operations where its prime factors are at most 13,
 * and four to eight times as many where one is larger (Bluestein's).  A transform is linear: nothing is kept for its
 * derivative, which is the transform the other way.  It is one equation, fft, of each axis; what it is when it runs are
 * equations of parts of the array, vectorized along other axes or along a factor of n, in f32 or f64.
 *
 * Errors: TN_EINVAL for no axis, more than 3, one twice, an axis that is none; TN_ETYPE for a length of 0 and for an n
 * that does not fit. */
TN_API tn_complex tn_fft_at(tn_complex z, tn_int_list axes, const char *file, int line);
TN_API tn_complex tn_ifft_at(tn_complex z, tn_int_list axes, const char *file, int line);
TN_API tn_complex tn_rfft_at(tn_val x, tn_int_list axes, const char *file, int line);
TN_API tn_val tn_irfft_at(tn_complex z, tn_int_list axes, int64_t n, const char *file, int line);
#define tn_fft(...)   tn_fft_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_ifft(...)  tn_ifft_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_rfft(...)  tn_rfft_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_irfft(...) tn_irfft_at(__VA_ARGS__, __FILE__, __LINE__)

/* The frequencies of the elements of tn_fft and tn_rfft along an axis of length n whose elements are d apart: k / (n d)
 * for k = 0, 1, .., (n - 1) / 2, -(n / 2), .., -1; and for k = 0, 1, .., n / 2.  TN_ETYPE for no float dtype, TN_EINVAL
 * for n < 1 and for a d that is 0 or not finite. */
TN_API tn_val tn_fftfreq_at(tn_ctx *c, tn_dtype dtype, int64_t n, double d, const char *file, int line);
TN_API tn_val tn_rfftfreq_at(tn_ctx *c, tn_dtype dtype, int64_t n, double d, const char *file, int line);
#define tn_fftfreq(...)  tn_fftfreq_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_rfftfreq(...) tn_rfftfreq_at(__VA_ARGS__, __FILE__, __LINE__)

/* ---- eigenvalues ------------------------------------------------------------------------------- */

/* By LAPACK, as tansy/decompositions.h says of its operators: a v = v diag(w) for any square a [.., n, n]: w [.., n] by
 * their real parts, of a pair of conjugates the one with the positive imaginary part first; the columns of v [.., n, n]
 * have unit length, and their first element of at least half the largest magnitude is real and positive
 * (numpy.linalg.eig, but for order and phase, which are LAPACK's there).  Derivatives: dw = diag(v^-1 da v), dv = v
 * (v^-1 da v / (w[j] - w[i])), normalized as v is; not finite where a has not n independent eigenvectors, and pairs of
 * equal w add nothing to dv.  Cost: some 13 n^3 multiply-adds, of w alone 5 n^3; the first derivative a factorization
 * of 2 n rows. */
TN_API void tn_eig_at(tn_val a, tn_complex *w, tn_complex *v, const char *file, int line);
#define tn_eig(a, w, v) tn_eig_at(a, w, v, __FILE__, __LINE__)
/* The w of tn_eig alone. */
TN_API tn_complex tn_eigvals_at(tn_val a, const char *file, int line);
#define tn_eigvals(a) tn_eigvals_at(a, __FILE__, __LINE__)

/* ---- systems of matrices -------------------------------------------------------------------------- */

/* The namesakes of the operators of <tansy/ops.h> without the c, by the same algorithms (Golub and Van Loan, "Matrix
 * Computations", 3.1, 3.4, 4.2), of complex matrices in the last two dimensions; leading axes are batches, and alike
 * for all operands.  a' is the conjugate transpose here, and `how` a sum of tn_solve_how with TN_SOLVE_CONJUGATED.
 * Parts are of one shape and dtype, f32 or f64, or a number (of a real matrix: tn_complex_of(a, 0)); vectors [.., n]
 * may stand for matrices [.., n, m] on the right, by their rank.  Results that are not wanted may be NULL.
 *
 * TN_ETYPE: other dtypes, ranks or sizes, a matrix that is not square where that is wanted; TN_EINVAL: another `how`.
 * Singular matrices make no error, but infinities and NaN. */

/* Lower l with l l' = a, its diagonal real and positive, for Hermitian positive definite a given by its lower triangle
 * (alone read; imaginary parts of the diagonal are not); NaN where a is not positive definite.  Derivative: dl = l phi
 * (l^-1 da l'^-1), phi halving the diagonal of the lower triangle that it keeps.  Cost: as a real one of 2 n rows, 8/6
 * n^3 multiply-adds. */
TN_API tn_complex tn_ccholesky_at(tn_complex a, const char *file, int line);
#define tn_ccholesky(a) tn_ccholesky_at(a, __FILE__, __LINE__)
/* x of l l' x = b, for l lower triangular. */
TN_API tn_complex tn_ccholesky_solve_at(tn_complex l, tn_complex b, const char *file, int line);
#define tn_ccholesky_solve(l, b) tn_ccholesky_solve_at(l, b, __FILE__, __LINE__)
/* x of a x = b for triangular a as `how` says: of x a = b, of a transposed, conjugated or both; only the triangle is
 * read.  Rows are turned so that the diagonal is real, and then divided by it: no reciprocal is formed, so that any
 * finite diagonal but 0 is right, subnormal numbers as well.  Derivative: dx = a^-1 (db - da x).  Cost: 2 n^2 m
 * multiply-adds for m columns, as a real system of 2 n rows. */
TN_API tn_complex tn_ctriangular_solve_at(tn_complex a, tn_complex b, int how, const char *file, int line);
#define tn_ctriangular_solve(a, b, how) tn_ctriangular_solve_at(a, b, how, __FILE__, __LINE__)
/* a[permutation] = l u for any a [.., m, n], packed as tn_lu has it; pivots are chosen by the largest |re| + |im|
 * (LAPACK's izamax), and l's diagonal of ones is left out.  Derivatives (of lu alone) go through the factors, and are
 * not finite where a is singular.  Cost: 4/3 n^3 multiply-adds.  tn_clu_solve: x of a x = b; of a transposed,
 * conjugated or both with such a `how`. */
TN_API void tn_clu_at(tn_complex a, tn_complex *lu, tn_val *pivots, tn_val *permutation, const char *file, int line);
TN_API tn_complex tn_clu_solve_at(tn_complex lu, tn_val permutation, tn_complex b, int how, const char *file, int line);
#define tn_clu(a, lu, pivots, permutation)    tn_clu_at(a, lu, pivots, permutation, __FILE__, __LINE__)
#define tn_clu_solve(lu, permutation, b, how) tn_clu_solve_at(lu, permutation, b, how, __FILE__, __LINE__)
/* The inverse of a [.., n, n]: tn_csolve with ones on the diagonal.  Cost: 32/3 n^3 multiply-adds. */
TN_API tn_complex tn_cinverse_at(tn_complex a, const char *file, int line);
#define tn_cinverse(a) tn_cinverse_at(a, __FILE__, __LINE__)
/* det a [..] of a [.., n, n], the product of u's diagonal, with the sign of the exchanges; of 0 x 0 it is 1.  And it as
 * *sign times exp(*logabs), with |sign| = 1 and real logabs (jax.numpy.linalg.slogdet): where a is singular sign is 0
 * and logabs -infinity.  Derivatives go through tn_clu: d log det a = tr(a^-1 da), not finite where a is singular.
 * Cost: that of tn_clu. */
TN_API tn_complex tn_cdet_at(tn_complex a, const char *file, int line);
TN_API void tn_cslogdet_at(tn_complex a, tn_complex *sign, tn_val *logabs, const char *file, int line);
#define tn_cdet(a)                   tn_cdet_at(a, __FILE__, __LINE__)
#define tn_cslogdet(a, sign, logabs) tn_cslogdet_at(a, sign, logabs, __FILE__, __LINE__)
/* The exponential of a [.., n, n]: tn_expm's method and rules, with |z| in the norm; of n = 1 it is tn_cexp.  Cost:
 * four times a real one's products, and a tn_csolve. */
TN_API tn_complex tn_cexpm_at(tn_complex a, const char *file, int line);
#define tn_cexpm(a) tn_cexpm_at(a, __FILE__, __LINE__)

/* ---- decompositions of matrices --------------------------------------------------------------------- */

/* By LAPACK, as <tansy/decompositions.h> says of its operators, also of f32, NaN, LAPACK=0 (TN_ERULE) and what lacks in
 * derivatives where eigenvalues or singular values are equal.  Vectors are found up to a phase: here the first element
 * of at least half the largest magnitude is real and positive, in eigenvectors, in u of the svd and in q of Schur's;
 * LAPACK and JAX have other phases.  Derivatives keep it, so that those of v alone are right too.  Operands as above;
 * a' is the conjugate transpose.  Costs are four times those of a real matrix. */

/* a v = v diag(w) for Hermitian a [.., n, n], given by its lower triangle (alone read; the diagonal's imaginary parts
 * are not): real w [.., n] ascends, columns of v are orthonormal.  Derivatives: dw = re diag(v' da v), dv = v (v' da v
 * / (w[j] - w[i])), turned back to v's phases. */
TN_API void tn_ceigh_at(tn_complex a, tn_val *w, tn_complex *v, const char *file, int line);
#define tn_ceigh(a, w, v) tn_ceigh_at(a, w, v, __FILE__, __LINE__)
/* The w of tn_ceigh alone. */
TN_API tn_val tn_ceigvalsh_at(tn_complex a, const char *file, int line);
#define tn_ceigvalsh(a) tn_ceigvalsh_at(a, __FILE__, __LINE__)
/* The same as tn_eig and tn_eigvals of complex a: values by their real parts, then the larger imaginary one. */
TN_API void tn_ceig_at(tn_complex a, tn_complex *w, tn_complex *v, const char *file, int line);
TN_API tn_complex tn_ceigvals_at(tn_complex a, const char *file, int line);
#define tn_ceig(a, w, v) tn_ceig_at(a, w, v, __FILE__, __LINE__)
#define tn_ceigvals(a)   tn_ceigvals_at(a, __FILE__, __LINE__)
/* a = q r, q' q = 1, r upper triangular with a real diagonal, whose signs are LAPACK's: as they come.  Shapes, `how`
 * (TN_EINVAL: no tn_factors) and where there is a derivative are tn_qr's (Roberts and Roberts, "QR and LQ decomposition
 * matrix backpropagation", 2020). */
TN_API void tn_cqr_at(tn_complex a, tn_factors how, tn_complex *q, tn_complex *r, const char *file, int line);
#define tn_cqr(a, how, q, r) tn_cqr_at(a, how, q, r, __FILE__, __LINE__)
/* a = u diag(s) vt, real s descends; vt is v'.  Shapes, `how` and where there is a derivative are tn_svd's. */
TN_API void tn_csvd_at(tn_complex a, tn_factors how, tn_complex *u, tn_val *s, tn_complex *vt, const char *file,
                       int line);
#define tn_csvd(a, how, u, s, vt) tn_csvd_at(a, how, u, s, vt, __FILE__, __LINE__)
/* The Moore-Penrose inverse, by a real matrix of twice the size, and what solves a x = b in least squares with the
 * least norm: tn_pinv's and tn_lstsq's rules. */
TN_API tn_complex tn_cpinv_at(tn_complex a, const char *file, int line);
TN_API tn_complex tn_clstsq_at(tn_complex a, tn_complex b, const char *file, int line);
#define tn_cpinv(a)     tn_cpinv_at(a, __FILE__, __LINE__)
#define tn_clstsq(a, b) tn_clstsq_at(a, b, __FILE__, __LINE__)
/* Schur's form a = q t q', q' q = 1, t upper triangular: eigenvalues on its diagonal, in LAPACK's order.  No derivative
 * (TN_ERULE). */
TN_API void tn_cschur_at(tn_complex a, tn_complex *t, tn_complex *q, const char *file, int line);
#define tn_cschur(a, t, q) tn_cschur_at(a, t, q, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
