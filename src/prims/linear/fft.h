/* Discrete Fourier transforms: between fft.c, which says what one is, and fft_stages.c, which computes it. */
#ifndef TN_FFT_H
#define TN_FFT_H

#include "prims/scalar/complex.h"

/* An array seen as [batch, n, inner]; n is the length of the transform, of a real array that of this. */
typedef struct tn_i_fft_shape {
    int64_t v[3];
} tn_i_fft_shape;

/* Along the middle dimension, of operands in this shape ([batch, n/2 + 1, inner] before IRFFT). */
tn_i_complex tn_i_fft_expanded(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, tn_i_fft_shape s);

#endif
