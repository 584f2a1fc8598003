/* Programs with values of dtypes that are computed with as another one (prims/held.h), in the form that runs. */
#ifndef TN_WIDEN_H
#define TN_WIDEN_H

#include "ir/ir.h"

/* ensures: the same results, by equations of the dtypes' holders, nested programs too: arrays of such a dtype are what
 * is moved, and what a program takes, returns or runs another one with, as they are in memory; in front of what
 * computes they are converted, and what that results in is converted back.  No input is linear then.  A new reference,
 * f itself where it has none; NULL after an error. */
tn_fn *tn_i_widened(const tn_fn *f);

#endif
