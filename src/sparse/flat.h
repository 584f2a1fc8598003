/* Programs in place of the equations that hold them. */
#ifndef TN_SPARSE_FLAT_H
#define TN_SPARSE_FLAT_H

#include "ir/ir.h"

/* f with the programs of calls in their places, if it then has at most so many equations; else, and where there is no
 * call, f.  A new reference; NULL after an error. */
tn_fn *tn_i_flattened(const tn_fn *f, size_t most);

#endif
