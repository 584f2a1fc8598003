/* What every table of functions behind collectives (tn_comm_ops) must do, checked from inside: each rank calls these
 * with its own table, in the same order, and gets the number of what was wrong on it, which is written to `log` (NULL:
 * nowhere).  What is exchanged and what comes out are formulas of (rank, index), so that nothing but the table connects
 * the ranks. */
#ifndef TN_COMM_TABLE_H
#define TN_COMM_TABLE_H

#include <stdio.h>
#include <tansy/comm.h>

/* All kinds, dtypes, ops, roots, distances and sets of axes with counts up to 1000, and `most`; sums and
 * extrema of what rounds or is NaN; many at once, which are waited for in other orders. */
int comm_table_check(const tn_comm_ops *t, int64_t most, FILE *log);
/* Collectives that no table takes; each rank is refused by itself, and may go on. */
int comm_table_refused(const tn_comm_ops *t, FILE *log);

#endif
