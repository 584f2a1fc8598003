/* Row blocks (strip-mining).  A program over a long first dimension, as of data points, goes through its arrays once
 * for each step:
 *
 *     z = A w        A is read
 *     s = f(z, y)    z, y are read, s is written
 *     g = A' s       A is read again
 *
 * Where such arrays are larger than the cache, the same is done for a block of rows after the other, all steps of it
 * while the block is in the cache: a scan over blocks, which carries the sums, and the rows that are left as equations
 * behind it.  Values of the rows that only rows read are then never in memory as a whole.
 *
 * Bits stay: rows are computed as they are alone, products that sum over rows add parts of TN_DOT_PART rows in order,
 * wherever they run (prims/linear/dot.h), and reductions over rows get their leaves of TN_LEAF from the blocks, which
 * are put together as plan/nest.h says. */
#ifndef TN_ROW_BLOCK_H
#define TN_ROW_BLOCK_H

#include "base/machine.h"
#include "prims/prim.h"

/* requires: a program as it is planned, fused; ensures: the same results, bit for bit, effects and all, in which at
 * most one scan runs over blocks, or f itself where that would not pay.  Programs with effects, loops of unknown length
 * or offloaded values stay.  What is not in blocks is fused again.  A new reference, NULL after an error.  Cost:
 * linear.
 */
const tn_fn *tn_i_row_blocks(const tn_fn *f);

/* ---- what row_blocks.c finds, for row_blocks_emit.c ------------------------------------------------ */

/* What an equation is to the blocks. */
typedef enum tn_i_row_block_role {
    TN_ROW_BLOCK_NOT,
    TN_ROW_BLOCK_FREE,    /* repeats something along the rows: made in each block, and outside where that is wanted */
    TN_ROW_BLOCK_ROWS,    /* row i of its result needs row i of its row operands, and the whole of others */
    TN_ROW_BLOCK_PRODUCT, /* a product over rows, in parts */
    TN_ROW_BLOCK_SUM      /* a reduction over rows */
} tn_i_row_block_role;

typedef struct tn_i_row_block {
    const tn_fn *f;          /* nothing is fused */
    int64_t n, rows, least;  /* of all; of a block; of what is left, with some of the last block if they are fewer */
    int64_t part;            /* rows that a product sums before it adds to what is there */
    uint8_t *role;           /* of each equation */
    uint8_t *before;         /* of each equation: the blocks need it */
    uint8_t *leaves;         /* of each value: of the rows, and read outside */
    uint8_t *by_row, *whole; /* of each value made outside: how the blocks read it */
} tn_i_row_block;

/* Which operands of e, whose role is this, are taken row by row: a mask. */
unsigned tn_i_row_block_rowwise(const tn_i_row_block *z, const tn_i_eqn *e, tn_i_row_block_role role);
/* The program with its blocks; nothing fused.  NULL after an error. */
tn_fn *tn_i_row_blocks_emit(const tn_i_row_block *z);

#endif
