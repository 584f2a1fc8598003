/* Emitting dot_general. */
#ifndef TN_DOT_H
#define TN_DOT_H

#include "prims/prim.h"

/* The dimensions of an operand pair that are contracted, and the batch dimensions. */
typedef struct tn_i_dots {
    uint32_t ncontract, nbatch;
    int64_t contract[2][TN_MAX_RANK], batch[2][TN_MAX_RANK]; /* of lhs and rhs, paired */
} tn_i_dots;

tn_i_var tn_i_dot_general(tn_i_builder *b, tn_i_var lhs, tn_i_var rhs, const tn_i_dots *d);

#endif
