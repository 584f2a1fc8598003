/* Products of any dtype and layout, and solves of any layout: plain loops where
 * calls would cost more than the work, the BLAS of gemm.h otherwise. */
#ifndef TN_PRODUCT_H
#define TN_PRODUCT_H

#include "prims/dims.h"
#include "prims/linear/gemm.h"

/* c = a b or c += a b, for any dtype but bool; sizes may be 0, strides of a and b anything. */
void tn_i_multiply(int dtype, int threads, int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b,
                   bool accumulate, tn_i_matrix c);
/* The same for many, each with the bits it has alone. */
void tn_i_multiply_all(int threads, const tn_i_products *w);
/* x = a^-1 x, a triangular m x m with any strides. */
void tn_i_solve(int dtype, int threads, bool lower, bool unit, int64_t m, int64_t n, tn_i_matrix a, tn_i_matrix x);

static inline tn_i_matrix tn_i_matrix_at(int dtype, tn_i_matrix a, int64_t row, int64_t column) {
    a.data = (char *)a.data + (row * a.rs + column * a.cs) * (int64_t)tn_i_dtype_size(dtype);
    return a;
}

#endif
