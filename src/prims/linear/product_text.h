/* Products of matrices of floats, as C that is written with a program (prims/c_text.h). */
#ifndef TN_PRODUCT_TEXT_H
#define TN_PRODUCT_TEXT_H

#include "prims/c_text.h"

/* product_T(m, n, k, a, row and column stride, b, .., c, .., more, room). */
extern const tn_i_c_helper tn_i_product_helpers[];
/* Bytes of its last argument, for elements of `size` bytes. */
size_t tn_i_c_product_room(size_t size, int64_t m, int64_t n, int64_t k);

#endif
