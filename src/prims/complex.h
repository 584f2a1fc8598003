/* Complex arrays: two real arrays of one type.
 *
 * Programs have no complex dtype.  What is complex in a user's call or in a text of JAX becomes equations of real and
 * imaginary parts where it is written, so that every transformation, back end and price sees real arrays alone.  In
 * memory, and between programs, a complex array has its parts in a last dimension of 2, as C's double complex has. */
#ifndef TN_COMPLEX_H
#define TN_COMPLEX_H

#include "prims/prim.h"

/* A dtype as a parameter names it where it is a complex one: no tn_dtype, and of no value. */
enum { TN_I_C64 = TN_NDTYPES + 1, TN_I_C128 };
/* The dtype of the parts, -1 of what is not complex. */
static inline int tn_i_complex_dtype(int dtype) {
    return dtype == TN_I_C64 ? TN_F32 : dtype == TN_I_C128 ? TN_F64 : -1;
}

static inline tn_i_complex tn_i_not_complex(tn_i_var x) { return (tn_i_complex){x, TN_NOVAR}; }
static inline bool tn_i_is_complex(tn_i_complex z) { return z.im != TN_NOVAR; }

/* The parts beside each other, [.., 2], and back. */
tn_i_var tn_i_complex_join(tn_i_builder *b, tn_i_complex z);
tn_i_complex tn_i_complex_parts(tn_i_builder *b, tn_i_var pairs);

/* ---- arithmetic (complex.c): operands of one type ------------------------------------------------ */

tn_i_complex tn_i_complex_number(tn_i_builder *b, const tn_type *t, double re, double im);
tn_i_complex tn_i_complex_conj(tn_i_builder *b, tn_i_complex z);
tn_i_complex tn_i_complex_add(tn_i_builder *b, tn_i_complex z, tn_i_complex w);
tn_i_complex tn_i_complex_sub(tn_i_builder *b, tn_i_complex z, tn_i_complex w);
tn_i_complex tn_i_complex_mul(tn_i_builder *b, tn_i_complex z, tn_i_complex w);
tn_i_complex tn_i_complex_scale(tn_i_builder *b, tn_i_complex z, double k);
tn_i_complex tn_i_complex_by_i(tn_i_builder *b, tn_i_complex z, int sign); /* times i, or -i */

/* Matrices [.., n, n] as the real ones [.., 2 n, 2 n] that do the same to real parts over imaginary ones: arrays
 * [.., n, m] as [.., 2 n, m], and back. */
tn_i_var tn_i_complex_as_real(tn_i_builder *b, tn_i_complex a);
tn_i_var tn_i_complex_stacked(tn_i_builder *b, tn_i_complex x);
tn_i_complex tn_i_complex_unstacked(tn_i_builder *b, tn_i_var x);

/* A primitive with `complex`, or one that is linear in all its complex operands, and so in their parts, applied to
 * complex operands; out has room for `most` results.  How many there are; 0 after an error. */
uint32_t tn_i_complex_emit(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                           const tn_i_complex *in, uint32_t most, tn_i_complex *out);

/* What texts of JAX, and calls, have besides: no primitives (complex_emit.c). */
extern const tn_prim tn_i_complex_form, tn_i_conj_form, tn_i_real_form, tn_i_imag_form, tn_i_fft_form;

/* `complex` of primitives: the parts of the result.  `prim` is the one asked. */
typedef tn_i_complex tn_i_complex_rule(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                       const tn_i_complex *in);
tn_i_complex_rule tn_i_complex_of_mul, tn_i_complex_of_product, tn_i_complex_of_div, tn_i_complex_of_square,
    tn_i_complex_of_abs, tn_i_complex_of_sign, tn_i_complex_of_sqrt, tn_i_complex_of_rsqrt, tn_i_complex_of_exp,
    tn_i_complex_of_exp2, tn_i_complex_of_expm1, tn_i_complex_of_log, tn_i_complex_of_log1p, tn_i_complex_of_sin,
    tn_i_complex_of_cos, tn_i_complex_of_tan, tn_i_complex_of_sinh, tn_i_complex_of_cosh, tn_i_complex_of_tanh,
    tn_i_complex_of_asin, tn_i_complex_of_acos, tn_i_complex_of_atan, tn_i_complex_of_asinh, tn_i_complex_of_acosh,
    tn_i_complex_of_atanh, tn_i_complex_of_logistic, tn_i_complex_of_pow, tn_i_complex_of_integer_pow,
    tn_i_complex_of_eq, tn_i_complex_of_ne, tn_i_complex_of_is_finite, tn_i_complex_of_parts, tn_i_complex_of_convert,
    tn_i_complex_of_reduce_prod, tn_i_complex_of_real, tn_i_complex_of_linear_solve;

/* ---- discrete Fourier transforms (fft.c) ---------------------------------------------------------- */

typedef enum tn_i_fft_kind {
    TN_FFT,   /* X[k] = sum over j of x[j] exp(-2 pi i j k / n) */
    TN_IFFT,  /* x[j] = 1/n times the sum over k of X[k] exp(2 pi i j k / n) */
    TN_RFFT,  /* the first n/2 + 1 of a real x's */
    TN_IRFFT, /* the n real numbers of those; what cannot be, imaginary parts of the first and of n/2, is not read */
} tn_i_fft_kind;

/* Along the last dimensions, as many as there are lengths.  Lengths are those of the real array of RFFT and IRFFT, and
 * of the others those of the array.  A real operand or result has no imaginary part. */
tn_i_complex tn_i_fft(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, uint32_t nlengths, const int64_t *lengths);

/* Along one axis; n: the length of the transform, of a real array that of this. */
tn_i_complex tn_i_fft_along(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, int64_t axis, int64_t n);

#endif
