/* A range of one loop's indices of a nest, as a nest of its own (nest_part.c). */
#ifndef TN_NEST_PART_H
#define TN_NEST_PART_H

#include "plan/nest.h"

typedef struct tn_i_nest_shift {
    uint32_t array; /* of the whole */
    int64_t bytes;  /* from its index 0 to that of the part */
} tn_i_nest_shift;

typedef struct tn_i_nest_part {
    tn_i_nest nest;
    tn_i_nest_shift *move; /* of each array */
    size_t cop, carray;    /* how many there is room for */
} tn_i_nest_part;

/* Whether parts along the loop are what the whole is: no sum is over it, and nothing is stored twice. */
bool tn_i_nest_divisible(const tn_i_nest *n, uint32_t loop);
/* Indices first..last-1 of a loop along which n is divisible, without code; false, with an error, after which there is
 * something to drop as well.  A part has fewer operations: what is outside of a box throughout is not loaded, and loads
 * that differ elsewhere only are one.  A loop of one index is none. */
bool tn_i_nest_part_make(tn_ctx *c, const tn_i_nest *n, uint32_t loop, int64_t first, int64_t last,
                         tn_i_nest_part *part);
void tn_i_nest_part_drop(tn_ctx *c, tn_i_nest_part *part);

#endif
