/* Schedules: which states and records of a loop are kept while it runs, and how they bring its steps back, last first.
 *
 * A loop has steps 0..N-1; step i takes the state that enters it to the next one's.  A reverse pass wants the *record*
 * of each step (what the linear program reads of it), N-1 first.  Records come from recorded steps; a schedule keeps
 * either records or entering states in numbered slots, and says where to restart.  Three phases, nothing allocated:
 *
 *     run = tn_i_schedule_begin(s, memory);
 *     for (i = 0; the loop goes on; i++) act on tn_i_schedule_forward(run, i), then do step i
 *     tn_i_schedule_turn(run, i);
 *     while ((a = tn_i_schedule_next(run)).kind != TN_I_DONE) act on a
 *
 * Whoever drives it has one working state, one working record, and the slots. */
#ifndef TN_SCHEDULE_H
#define TN_SCHEDULE_H

#include "base/base.h"

#define TN_I_UNKNOWN ((int64_t)-1) /* steps of a loop that ends by a condition */
#define TN_I_WORKING ((int64_t)-1) /* not a slot: the working record */

typedef enum tn_i_act_kind {
    TN_I_NONE,    /* forward: do the step, keep nothing */
    TN_I_STORE,   /* the working state, which enters step `step`, into `slot`; forward: then do the step */
    TN_I_KEEP,    /* do step `step` recorded: its record into `slot`, the next state into the working one */
    TN_I_RECORD,  /* do step `step` recorded: its record into the working one; reverse: and use it */
    TN_I_RESTORE, /* `slot`, which holds the state that enters step `step`, into the working state */
    TN_I_ADVANCE, /* do `n` steps plainly, from `step` on */
    TN_I_USE,     /* use the record of step `step`, which is in `slot` */
    TN_I_DONE
} tn_i_act_kind;

typedef enum tn_i_medium { TN_I_MEMORY, TN_I_DISK } tn_i_medium;

typedef struct tn_i_act {
    tn_i_act_kind kind;
    tn_i_medium place;  /* of the slot: each place numbers its own, from 0 */
    int64_t slot, step; /* STORE and RESTORE of step 0, in memory or on disk, are of the loop's operand, which is alive
                           anyway: they need neither copy nor file.  They count all the same */
    int64_t n;
    bool last; /* RESTORE, USE: nothing reads what the slot holds again */
} tn_i_act;

typedef struct tn_i_schedule tn_i_schedule;
typedef struct tn_i_schedule_run tn_i_schedule_run;

/* The schedule of a text, for a loop of `steps` steps or TN_I_UNKNOWN: immutable, one for any number of runs and
 * threads. `sizes` (NULL: nothing is known) is what `auto` decides by.  Released with tn_i_schedule_free, before its
 * context. NULL after TN_EINVAL (the text; a schedule that wants the number of steps and is not told), TN_ELIMIT
 * (slots, or the planning of disk_revolve: see include/tansy.h), TN_ENOMEM. */
tn_i_schedule *tn_i_schedule_new(tn_ctx *c, const char *text, int64_t steps, const tn_schedule_options *sizes);
void tn_i_schedule_free(tn_i_schedule *s); /* NULL is fine */
/* TN_OK where the text is a schedule that a loop may have, without making it. */
tn_status tn_i_schedule_check(tn_ctx *c, const char *text, bool unknown);
/* The canonical text, which lives as long as the context; of `auto`, that of what it became. */
const char *tn_i_schedule_text(const tn_i_schedule *s);
tn_ctx *tn_i_schedule_context(const tn_i_schedule *s);
/* Row i of the table as an example's text, NULL behind the last; *known: whether it wants the number of steps. */
const char *tn_i_schedule_example(size_t i, bool *known);

/* What slots there must be.  A count is TN_I_UNKNOWN where it grows with the steps of a loop of unknown length: slots
 * are then taken in the order of their numbers, and given back by no one. */
typedef struct tn_i_schedule_slots {
    int64_t memory, disk;
    int64_t every;        /* memory is TN_I_UNKNOWN: so many steps take one more */
    bool states, records; /* what memory slots hold; both: either, at different times.  Disk slots hold states */
} tn_i_schedule_slots;
tn_i_schedule_slots tn_i_schedule_slots_of(const tn_i_schedule *s);

/* Counted while a run goes on; snapshots and on_disk are the most slots in use at once. */
typedef struct tn_i_schedule_tally {
    int64_t advances, recorded, snapshots, on_disk, writes, reads;
    uint64_t work; /* what deciding took: numbers looked at */
} tn_i_schedule_tally;

/* A run in the caller's memory: tn_i_schedule_bytes(s) bytes, 16-aligned, which begin may be called on again. */
size_t tn_i_schedule_bytes(const tn_i_schedule *s);
tn_i_schedule_run *tn_i_schedule_begin(const tn_i_schedule *s, void *memory);
/* Before step i, for i = 0, 1, 2 ... : NONE, STORE, KEEP or RECORD.  Where the steps are known the last is recorded. */
tn_i_act tn_i_schedule_forward(tn_i_schedule_run *run, int64_t i);
/* The loop did `steps` steps (those told before, where they were known). */
void tn_i_schedule_turn(tn_i_schedule_run *run, int64_t steps);
/* RESTORE, STORE, ADVANCE, KEEP, RECORD or USE; RECORD and USE bring steps N-1, N-2 .. 0.  DONE at the end, and ever
 * after. */
tn_i_act tn_i_schedule_next(tn_i_schedule_run *run);
/* The same actions, those that are alike and in slots in memory side by side as one, n of them, for who does many steps
 * at once.  Forward, before step i: of n steps at most, NONE, STORE, KEEP, which each is followed by its step.  Back:
 *     STORE    the state into the slot, then its step plainly; step and slot go up
 *     RESTORE  the state from the slot, then its step RECORD; step and slot go down
 *     KEEP     step and slot go up
 *     USE      step and slot go down
 * n is 0 for a STORE or RESTORE that nothing of this follows. */
tn_i_act tn_i_schedule_forward_many(tn_i_schedule_run *run, int64_t i, int64_t n);
tn_i_act tn_i_schedule_next_many(tn_i_schedule_run *run);
tn_i_schedule_tally tn_i_schedule_tally_of(const tn_i_schedule_run *run);
/* What a run of `steps` steps will have counted, by arithmetic; advances INT64_MAX where a count does not fit. */
tn_status tn_i_schedule_count(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out);

#endif
