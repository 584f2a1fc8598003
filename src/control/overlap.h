/* Messages beside what is computed meanwhile (docs/mpi.md). */
#ifndef TN_OVERLAP_H
#define TN_OVERLAP_H

#include "ir/ir.h"

/* requires: f of one rank (control/local.h); ensures: the same results, with collectives that start as early and are
 * waited for as late as may be, in the same order, small sums joined.  Programs within f stay as they are.  Takes f
 * over, which may be NULL; NULL after an error. */
tn_fn *tn_i_overlapped(tn_fn *f);

#endif
