/* Dead outputs of nested programs. */
#ifndef TN_PRUNE_H
#define TN_PRUNE_H

#include "ir/ir.h"

/* Ensures: the same program, in which no nested program computes an output that
 * nobody reads, or one value twice.  Takes f over; NULL after an error (f NULL: NULL). */
tn_fn *tn_i_prune(tn_fn *f);

#endif
