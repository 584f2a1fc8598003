/* Which loops made what is read as entries: in which direction they ran, and with which schedule.  Internal to
 * fission. */
#ifndef TN_WAYS_H
#define TN_WAYS_H

#include "ir/ir.h"

enum { TN_FORWARD = 1, TN_BACKWARD = 2 };

/* Of the entries of a value. */
typedef struct tn_i_way {
    uint8_t ways; /* directions of the loops whose entries its maker wants, its own too; 0: no loop made it */
    uint8_t bad;  /* directions in which a loop cannot have it brought back: it is made against them, of what is made in
                     them */
} tn_i_way;

/* at[0] of the entries of a value, at[1] of those of its entries, which inner loops made, and so on. */
typedef struct tn_i_ways {
    tn_i_way at[TN_MAX_RANK];
    const char *schedule[TN_MAX_RANK]; /* NULL: none */
} tn_i_ways;

/* Is e one of the loops that make entries? */
bool tn_i_has_way(const tn_i_eqn *e);
/* way: of each value of f; those of e's entries are set. */
void tn_i_find_ways(const tn_fn *f, const tn_i_eqn *e, tn_i_way *way);

/* f, whose inputs have these entries, with sums of stacks as loops that have the schedule of what they add and run as
 * often as it has entries, where that is known: sums are made where an entry of a stack of stacks is an array like
 * others (prims/arrays/stacks.c).  Those that f puts out from output `first` on are entries of a loop's, too.  in NULL:
 * f is what it is planned as, so that sums are loops already.  Takes f over; NULL after an error. */
tn_fn *tn_i_sums_of_stacks(tn_fn *f, const tn_i_ways *in, uint32_t first);

/* Fission of f alone, whose inputs have these entries (NULL: none).  Takes f over; NULL after an error. */
tn_fn *tn_i_fission_in(tn_fn *f, const tn_i_ways *in);

#endif
