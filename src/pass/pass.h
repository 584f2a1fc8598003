/* Passes: loop program to loop program (loop/loop.h), each of which computes the same bits.
 *
 * None needs another to have run before: what a pass finds decides how fast the result is, and nothing else.  Each
 * takes its argument, also after an error: what it returns is a new program, or the same one where there is nothing to
 * do. */
#ifndef TN_PASS_H
#define TN_PASS_H

#include "loop/loop.h"

/* What is known of the processor. */
typedef struct tn_i_machine {
    int vector;    /* bytes of a vector: 16, 32, 64 */
    int threads;   /* that share a loop; 0, 1: none does */
    int64_t worth; /* operations from which they are worth waking */
    bool strips;   /* it has reductions of vectors (strips/strips.h): these stay, and vector loops may feed them */
} tn_i_machine;

typedef tn_i_loops *tn_i_pass_fn(tn_i_loops *p, const tn_i_machine *m);
typedef struct tn_i_pass {
    const char *name;
    tn_i_pass_fn *run;
} tn_i_pass;

extern const tn_i_pass tn_i_pipeline[]; /* in order; a NULL name behind the last */

/* All of them, or those up to pass `last` (NULL: all).  NULL after an error. */
tn_i_loops *tn_i_passes(tn_i_loops *p, const tn_i_machine *m, const char *last);

tn_i_pass_fn tn_i_pass_collapse, tn_i_pass_diagonals, tn_i_pass_partition, tn_i_pass_unroll, tn_i_pass_promote,
    tn_i_pass_fission, tn_i_pass_sums, tn_i_pass_hoist, tn_i_pass_parallelize, tn_i_pass_vectorize_outer,
    tn_i_pass_vectorize, tn_i_pass_dead, tn_i_pass_pack, tn_i_pass_rows, tn_i_pass_fuse, tn_i_pass_share,
    tn_i_pass_conditions, tn_i_pass_unswitch, tn_i_pass_cse, tn_i_pass_sums_straight, tn_i_pass_interchange;

#endif
