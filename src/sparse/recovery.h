/* Which element of the compressed derivatives each entry is.
 *
 * The compressed derivatives are one array: by output [colours of columns, its rows], then by input [colours of rows,
 * its columns]. */
#ifndef TN_SPARSE_RECOVERY_H
#define TN_SPARSE_RECOVERY_H

#include "sparse/coloring.h"
#include "sparse/sides.h"

/* at[nnz], entries by row.  symmetric: entries (i,j) and (j,i) are one value, and read where that above the diagonal
 * is.  false after an error. */
bool tn_i_recover(const tn_coloring *k, const tn_i_sides *sides, bool symmetric, int64_t *at);

#endif
