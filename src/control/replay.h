/* Stacks with a schedule, brought to where they are read (docs/loops.md). */
#ifndef TN_REPLAY_H
#define TN_REPLAY_H

#include "ir/ir.h"

/* requires: an ordinary program;
 * ensures: the same results, bit for bit; a stack that has a schedule and that only loops read is made in the program
 * that reads it. A new reference; NULL after an error. */
tn_fn *tn_i_localize(const tn_fn *f);
/* f with calls of programs that hold loops put in place, at its own level; regions stay.  Takes f over; NULL after an
 * error (f NULL: NULL). */
tn_fn *tn_i_loops_in_place(tn_fn *f);
/* Loops of f, whose stacks have schedules, that go through the same states become one (control/merge.c).  Takes f over;
 * NULL after an error. */
tn_fn *tn_i_merge_replays(tn_fn *f);
/* Loops of f run by one number of steps where several are the same value (control/counts.c).  Takes f over; NULL after
 * an error. */
tn_fn *tn_i_counts_once(tn_fn *f);

#endif
