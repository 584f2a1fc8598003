/* What the plan of one rank says to others, in order: all ranks must say the same (docs/mpi.md).  Ranks may have other
 * shapes, constants, backends and threads; what counts is which collectives run, and the loops and choices around
 * them. */
#ifndef TN_SKELETON_H
#define TN_SKELETON_H

#include "base/text.h"
#include "run/talk.h"

typedef struct tn_i_line_of {
    size_t text;     /* where its text begins */
    uint64_t hash;   /* of this line and those before it; places in the source do not count */
    uint32_t number; /* of collectives up to it */
} tn_i_line_of;

typedef struct tn_i_skeleton {
    tn_ctx *ctx;
    tn_i_text text; /* a line each */
    tn_i_line_of *line;
    size_t n, room;
} tn_i_skeleton;

/* begin: what else must be equal.  false after TN_ENOMEM; to be dropped in any case. */
bool tn_i_skeleton_of(const tn_i_plan *p, uint64_t begin, tn_i_skeleton *k);
void tn_i_skeleton_drop(tn_i_skeleton *k);

/* Whether all ranks of the grid have such a skeleton, k NULL: this one has failed with the context's error; then, and
 * where they differ, all have the same error.  Allocates nothing. */
bool tn_i_skeletons_agree(tn_ctx *c, const tn_comm_ops *ops, const tn_i_skeleton *k);

#endif
