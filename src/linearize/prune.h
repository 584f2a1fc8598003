/* Dead outputs of nested programs. */
#ifndef TN_PRUNE_H
#define TN_PRUNE_H

#include "ir/memo.h"
#include "prims/prim.h"

/* Ensures: the same program, in which no nested program computes an output that
 * nobody reads, or one value twice.  Takes f over; NULL after an error (f NULL: NULL). */
tn_fn *tn_i_prune(tn_fn *f);

/* For prune rules: f with the used outputs only, each value once; flags: per output of f its
 * new number (uint32_t) or TN_NOVAR. */
const tn_i_memo_entry *tn_i_nested_prune(tn_i_rule *r, const tn_fn *f, const bool *used);

#endif
