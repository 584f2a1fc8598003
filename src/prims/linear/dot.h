/* Emitting dot_general. */
#ifndef TN_DOT_H
#define TN_DOT_H

#include "prims/linear/gemm.h"
#include "prims/prim.h"

/* The dimensions of an operand pair that are contracted, and the batch dimensions. */
typedef struct tn_i_dots {
    uint32_t ncontract, nbatch;
    int64_t contract[2][TN_MAX_RANK], batch[2][TN_MAX_RANK]; /* of lhs and rhs, paired */
} tn_i_dots;

/* Sums of floats over a long first dimension, for a result of few elements, as of X'Y for tall X and Y: parts of
 * TN_DOT_PART products are summed each as a product of its own, and added in order.  So a sum over rows has the same
 * bits however the rows are cut into blocks that are multiples of a part (plan/row_blocks.h).  Which products: one
 * dimension of more than TN_DOT_WHOLE elements is contracted, which in each operand comes before those of the result;
 * there are some of these, of at most TN_DOT_SINK elements. */
enum { TN_DOT_PART = 128, TN_DOT_WHOLE = 512, TN_DOT_SINK = 1 << 15 };
bool tn_i_dot_in_parts(const tn_i_param *p, const tn_type *lhs, const tn_type *rhs);
tn_i_dots tn_i_dots_read(const tn_i_param *p); /* of one whose type rule has passed */

/* Bit i: dimension i of operand `side` is contracted, a batch dimension, or one of both. */
unsigned tn_i_dots_contracted(const tn_i_dots *d, int side);
unsigned tn_i_dots_batches(const tn_i_dots *d, int side);
unsigned tn_i_dots_taken(const tn_i_dots *d, int side);

/* dot_run.c */
tn_status tn_i_dot_kernel(const tn_i_kernel *k);
size_t tn_i_dot_scratch(const tn_i_query *q);

/* Whether the kernel is tn_i_multiply_all of products that begin where operands and result do, and these, without the
 * addresses: of k only types, strides and parameters are read. */
bool tn_i_dot_at_once(const tn_i_kernel *k, tn_i_products *all);

tn_i_var tn_i_dot_general(tn_i_builder *b, tn_i_var lhs, tn_i_var rhs, const tn_i_dots *d);

#endif
