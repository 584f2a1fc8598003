/* Numbers near others, by the bits of floats: what texts of JAX have and no primitive is (near.c). */
#ifndef TN_NEAR_H
#define TN_NEAR_H

#include "prims/prim.h"

/* Floats of fewer bits. */
typedef struct tn_i_format {
    int exponent, mantissa;
} tn_i_format;

/* The f32 with the bits of such a float, u32; and back. */
tn_i_var tn_i_half_of_bits(tn_i_builder *b, tn_i_var bits, tn_i_format of);
tn_i_var tn_i_bits_of_half(tn_i_builder *b, tn_i_var x, tn_i_format of);

/* nextafter: beside x, towards y.  reduce_precision: to `exponent_bits` and `mantissa_bits`, subnormal ones 0.  The
 * derivative is that of operand 0. */
extern const tn_prim tn_i_nextafter_form, tn_i_reduce_precision_form;

#endif
