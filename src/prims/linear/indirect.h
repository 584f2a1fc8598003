/* Products of arrays of any dimensions, whose elements are read where they are (src/run/indirect_gemm.c). */
#ifndef TN_INDIRECT_H
#define TN_INDIRECT_H

#include "prims/dims.h"

/* The dimensions of a product of any arrays: rows and columns of the result, which is m x n with contiguous rows, and
 * those that are contracted, each with the strides of an operand. */
typedef struct tn_i_indirect {
    int dtype, threads;
    int64_t m, n, k;
    tn_i_dims rows, columns, inner[2];
    const void *a, *b;
    void *c, *scratch; /* of tn_i_gemm_indirect_scratch(m, n, k) bytes */
} tn_i_indirect;

/* c = a b by the kernels of tn_i_gemm_own, elements of one operand read where they are: sums of no more than
 * TN_M_GEMM_IN_ORDER products in the order of the inner dimensions, longer ones of such parts.  Where one side has few
 * elements; false, and nothing is done: others, or no such kernels. */
bool tn_i_gemm_indirect(const tn_i_indirect *w);
/* 0: it does not do these.  The same on all machines, whatever their kernels. */
size_t tn_i_gemm_indirect_scratch(int dtype, int64_t m, int64_t n, int64_t k);
/* Whether there are such kernels. */
bool tn_i_gemm_has_indirect(int dtype);

#endif
