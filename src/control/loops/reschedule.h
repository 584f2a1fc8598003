/* Loops whose schedule is `auto`, or all loops, and programs in which they have others. */
#ifndef TN_RESCHEDULE_H
#define TN_RESCHEDULE_H

#include "checkpoint/budget.h"
#include "ir/ir.h"

/* requires: any program;
 * ensures: the loops of f with `auto` or `auto:BYTES`, in the order of the program, each before those of its step; one
 * of a program that is run at several places is one.  Free with tn_i_auto_loops_free; false after an error, with
 * nothing to free. */
bool tn_i_auto_loops(const tn_fn *f, tn_i_auto_loops_of *out);
void tn_i_auto_loops_free(tn_ctx *c, tn_i_auto_loops_of *l);

/* requires: schedules that these loops may have, in that order;
 * ensures: f with them, and nothing else changed.  A new reference; NULL after an error. */
tn_fn *tn_i_rescheduled(const tn_fn *f, const char *const *schedule);

/* The same of all loops, whatever schedules they have, or none. */
bool tn_i_all_loops(const tn_fn *f, tn_i_auto_loops_of *out);
tn_fn *tn_i_all_rescheduled(const tn_fn *f, const char *const *schedule);

#endif
