/* Loops that read entries of loops in both directions, taken apart and put together otherwise. */
#ifndef TN_FISSION_H
#define TN_FISSION_H

#include "ir/ir.h"

/* Requires: nothing of f.  Ensures: the same function, whatever the schedules of its loops, those in loops too.
 *
 * The transpose of a transposed loop carries its state against the loop whose entries its sums and its own entries
 * want, while that loop read entries of loops that run with it: no snapshots bring both back together.  Such a loop is
 * split into the state, whose entries are kept, and what is computed from it, which runs in the other direction and
 * becomes part of the loop that reads it.  Sums are then taken in the other order.  A loop that carries sums alone, or
 * nothing, runs in the direction in which its entries come.  Takes f over; NULL after an error. */
tn_fn *tn_i_fission(tn_fn *f);

/* The second half of it, of loops that have been split: a loop whose entries a later loop in its direction reads
 * becomes part of that, if that goes on with its sums, or sums are all that it carries.  Takes f over; NULL after an
 * error. */
tn_fn *tn_i_fusion(tn_fn *f);

/* Output `out` of a body is input `in` with something added, and that is all the input and the sums are used for. */
bool tn_i_is_sum(const tn_fn *f, uint32_t in, uint32_t out);

#endif
