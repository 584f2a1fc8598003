/* Stacks with a schedule, brought to where they are read (docs/loops.md). */
#ifndef TN_REPLAY_H
#define TN_REPLAY_H

#include "prims/prim.h"

/* requires: an ordinary program;
 * ensures: the same results, bit for bit; a stack that has a schedule and that only loops read is made in the program
 * that reads it. A new reference; NULL after an error. */
tn_fn *tn_i_localize(const tn_fn *f);
/* f with calls of programs that hold loops put in place, at its own level; regions stay.  Takes f over; NULL after an
 * error (f NULL: NULL). */
tn_fn *tn_i_loops_in_place(tn_fn *f);
/* Of an f with loops: its calls of such programs in place until there is none, unless that is too many equations; with
 * `regions` these as well, or they keep their policies.  A new reference; NULL after an error. */
tn_fn *tn_i_calls_in_place(const tn_fn *f, bool regions);
/* Whether f or a program that it runs, or a program that e runs, has a loop; false after TN_ENOMEM. */
bool tn_i_holds_loops(const tn_fn *f, bool *found);
bool tn_i_runs_loops(const tn_i_eqn *e, bool *found);

/* A program again, equation by equation.  `enter` comes before each, `end` at last, also after a failure (ok false). */
typedef struct tn_i_copying {
    tn_i_builder b;
    tn_i_rule r;
    tn_i_var *map;
} tn_i_copying;
bool tn_i_copying_begin(tn_i_copying *k, const tn_fn *f);
void tn_i_copying_enter(tn_i_copying *k, const tn_i_eqn *e);
tn_fn *tn_i_copying_end(tn_i_copying *k, const tn_fn *f, bool ok);

/* Loops of f, whose stacks have schedules, that go through the same states become one (control/loops/merge.c).  Takes f
 * over; NULL after an error. */
tn_fn *tn_i_merge_replays(tn_fn *f);
/* Loops of f run by one number of steps where several are the same value (control/loops/counts.c).  Takes f over; NULL
 * after an error. */
tn_fn *tn_i_counts_once(tn_fn *f);

#endif
