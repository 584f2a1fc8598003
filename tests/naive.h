/* The reference that compiled programs are compared with: every value has a dense
 * buffer of its own, every equation runs, in order, by itself. */
#ifndef TN_NAIVE_H
#define TN_NAIVE_H

#include "prims/prim.h"

/* in and out: dense row-major, none NULL unless it has no elements. */
tn_status tn_naive_run(const tn_fn *f, const void *const *in, void *const *out);
/* Whether every value of f (of nested programs: every output) is finite. */
bool tn_naive_finite(const tn_fn *f, const void *const *in);

#endif
