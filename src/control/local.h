/* The program that one rank runs (docs/mpi.md). */
#ifndef TN_LOCAL_H
#define TN_LOCAL_H

#include "ir/ir.h"

/* ensures: the same program, in which no type says what it varies over, and every primitive that ranks speak in has
 * become what its descriptor says: `collective`, `rank_index` and what is local.  Collectives keep their order; those
 * whose results nobody wants are gone.  f itself where nothing varies and nobody speaks.  A new reference, NULL after
 * an error. */
tn_fn *tn_i_local(const tn_fn *f);

#endif
