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

/* The parameter of a form that says which of its operands are complex, counted from the last, 0, where these are pairs.
 * Texts do not have it: the parser writes it. */
#define TN_I_COMPLEX_OPERANDS "complex_operands"

static inline tn_i_complex tn_i_not_complex(tn_i_var x) { return (tn_i_complex){x, TN_NOVAR}; }
static inline bool tn_i_is_complex(tn_i_complex z) { return z.im != TN_NOVAR; }

/* The parts beside each other, [.., 2], and back. */
tn_i_var tn_i_complex_join(tn_i_builder *b, tn_i_complex z);
tn_i_complex tn_i_complex_parts(tn_i_builder *b, tn_i_var pairs);

/* ---- arithmetic (complex.c): operands of one type; sums and real multiples of real ones too
 * ------------------------------------------------ */

tn_i_complex tn_i_complex_number(tn_i_builder *b, const tn_type *t, double re, double im);
tn_i_complex tn_i_complex_conj(tn_i_builder *b, tn_i_complex z);
tn_i_complex tn_i_complex_add(tn_i_builder *b, tn_i_complex z, tn_i_complex w);
tn_i_complex tn_i_complex_sub(tn_i_builder *b, tn_i_complex z, tn_i_complex w);
tn_i_complex tn_i_complex_mul(tn_i_builder *b, tn_i_complex z, tn_i_complex w);
tn_i_complex tn_i_complex_scale(tn_i_builder *b, tn_i_complex z, double k);
tn_i_complex tn_i_complex_by_i(tn_i_builder *b, tn_i_complex z, int sign); /* times i, or -i */

tn_i_complex tn_i_complex_div(tn_i_builder *b, tn_i_complex z, tn_i_complex w);
tn_i_complex tn_i_complex_times(tn_i_builder *b, tn_i_complex z, tn_i_var x); /* by a real array */

/* Matrices [.., n, n] as the real ones [.., 2 n, 2 n] that do the same to real parts over imaginary ones: arrays
 * [.., n, m] as [.., 2 n, m], and back. */
tn_i_var tn_i_complex_as_real(tn_i_builder *b, tn_i_complex a);
tn_i_var tn_i_complex_stacked(tn_i_builder *b, tn_i_complex x);
tn_i_complex tn_i_complex_unstacked(tn_i_builder *b, tn_i_var x);

/* A primitive with `complex`, or one that is linear in all its complex operands, and so in their parts, applied to
 * complex operands; out has room for `most` results.  How many there are; 0 after an error. */
uint32_t tn_i_complex_emit(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                           const tn_i_complex *in, uint32_t most, tn_i_complex *out);

/* ---- matrices (complex_matrices.c): complex, or real ones, without imaginary parts --------------------- */

/* A primitive of one matrix, whose imaginary part is a second operand: that, and its tangent, where one is not zero. */
tn_i_complex tn_i_complex_operand(const tn_i_rule *r);
tn_i_complex tn_i_complex_tangent(tn_i_rule *r, const tn_i_var *din);
/* `batch` of these. */
void tn_i_batch_parts(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);

/* x y, each conjugate and transposed where it is said to be; what is conjugate and transposed. */
tn_i_complex tn_i_complex_matmul(tn_i_builder *b, tn_i_complex x, bool x_adjoint, tn_i_complex y, bool y_adjoint);
tn_i_complex tn_i_complex_adjoint(tn_i_builder *b, tn_i_complex z);
/* The namesakes of prims/linear/matrices.h; what a triangle says is Hermitian. */
tn_i_complex tn_i_complex_where(tn_i_builder *b, tn_i_complex z, int how);
tn_i_complex tn_i_complex_part(tn_i_builder *b, tn_i_complex z, int64_t rows, int64_t columns);
tn_i_complex tn_i_complex_of_triangle(tn_i_builder *b, tn_i_complex z, bool lower);
/* By a real system of twice the size, whose rows are turned so that a's diagonal is real, unless it is. */
tn_i_complex tn_i_complex_triangular_solve(tn_i_builder *b, unsigned how, bool real_diagonal, tn_i_complex a,
                                           tn_i_complex x);

/* [.., 2 n, 2 m] with [re, -im; im, re] in place of each element of [.., n, m]: what does the same to parts in turn. */
tn_i_var tn_i_complex_of_elements(tn_i_builder *b, tn_i_complex z);

/* The sums of x's columns. */
tn_i_var tn_i_column_sums(tn_i_builder *b, tn_i_var x);
/* Columns of v are turned so that the first element of at least half the largest magnitude is real and positive
 * (prims/linear/lapack.h): by how much dv would turn each, TN_NOVAR of real ones; and dv without that, of these columns
 * or others that turn with them. */
tn_i_var tn_i_complex_turning(tn_i_builder *b, tn_i_complex v, tn_i_complex dv);
tn_i_complex tn_i_complex_turned_back(tn_i_builder *b, tn_i_complex dv, tn_i_complex v, tn_i_var turning);

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
    tn_i_complex_of_reduce_prod, tn_i_complex_of_real, tn_i_complex_of_linear_solve, tn_i_complex_of_cholesky,
    tn_i_complex_of_triangular_solve, tn_i_complex_of_pinv, tn_i_complex_of_cumprod;

/* `complex_many`: the same of several results, in out as far as it has room for `most`; how many there are, 0 after an
 * error.  Decompositions take a complex matrix as two operands. */
typedef uint32_t tn_i_complex_many_rule(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                        const tn_i_complex *in, uint32_t most, tn_i_complex *out);
tn_i_complex_many_rule tn_i_complex_of_lu, tn_i_complex_of_qr, tn_i_complex_of_eigh, tn_i_complex_of_svd,
    tn_i_complex_of_eig, tn_i_complex_of_schur, tn_i_complex_of_sort;

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
