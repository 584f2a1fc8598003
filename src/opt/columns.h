/* Columns: programs over many short rows as programs over few long columns. */
#ifndef TN_COLUMNS_H
#define TN_COLUMNS_H

#include "prims/prim.h"

/* requires: a program as it is planned; ensures: the same outputs, but where docs/execution.md ("Columns") says.  A new
 * reference, NULL after an error. */
tn_fn *tn_i_columns(const tn_fn *f);

/* requires: a program without effects; ensures: the same outputs, computed so that few values wait for their readers.
 * A new reference, NULL after an error. */
tn_fn *tn_i_depth_first(const tn_fn *f);
/* requires: any program; ensures: the same outputs, where what is joined along other dimensions than the first has n
 * rows if it can.  A new reference, NULL after an error. */
tn_fn *tn_i_unmerged(const tn_fn *f, int64_t n);

#endif
