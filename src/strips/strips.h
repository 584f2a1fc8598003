/* Strips: the portable back end, which runs loop programs (loop/loop.h).
 *
 * A vector loop goes in strips of as many iterations as there is room for, operation by operation, each a call of the
 * primitive's strip (prims/strips.h) or of a function of vectors (vec/vec.h); everything else is done one number at a
 * time.  Passes are told so (tn_i_machine.strips): reductions are left as they are, for vector loops may feed them.
 *
 * Files: inside.h, the instructions; live_ranges.c, live ranges of values; make.c, instructions of a loop program;
 * registers.c, where values are; run.c, running them, with memory.c, reduce.c and bodies.c. */
#ifndef TN_STRIPS_BACK_END_H
#define TN_STRIPS_BACK_END_H

#include "base/machine.h"
#include "loop/loop.h"
#include "vec/vec.h"

typedef struct tn_i_strips tn_i_strips;

/* Of a loop around loops that are shorter than this, strips have at most so many iterations (pass/vectorize_outer.c);
 * fewer where each has `bytes` of its own. */
int64_t tn_i_strips_lanes(int64_t bytes);

/* The most iterations of a strip; bytes that registers of strips may take, so that they stay in the first cache. */
enum { TN_STRIPS_MOST = TN_LEAF };

/* p: checked, and lives as long.  room: bytes that there are for what runs it (tn_i_strips_bytes), which decide how
 * long strips are.  NULL after an error; with *fits false and no error where even strips of one do not fit. */
tn_i_strips *tn_i_strips_new(const tn_i_loops *p, tn_i_isa isa, bool accurate, size_t room, bool *fits);
void tn_i_strips_free(tn_i_strips *s);
/* Of one thread, a multiple of 64; parts of a parallel loop have as much each, behind that. */
size_t tn_i_strips_bytes(const tn_i_strips *s);
/* What a REDUCE of `count` results of at most n elements each takes of it. */
bool tn_i_strips_sum_bytes(int64_t count, int64_t n, int fold, int dtype, size_t *bytes);

int64_t tn_i_strips_levels(int64_t n); /* entries of the counter of n elements' leaves */

/* A tn_i_l_compiled, but for its memory: room is a multiple of 64.  Where an entry of the table of addresses is NULL,
 * nothing is stored to its arrays. */
tn_status tn_i_strips_run(const tn_i_strips *s, const tn_i_l_run *run, char *const *base, char *room);

#endif
