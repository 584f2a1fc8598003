/* Loops that run beside each other, with or without schedules, as C: for c99_group.c, c99_table.c, c99_replay.c and
 * c99_schedule.c alone. */
#ifndef TN_C99_GROUP_H
#define TN_C99_GROUP_H

#include "emit/c99.h"
#include "plan/replay.h"

typedef struct tn_i_group_text {
    tn_i_c99 *w;
    tn_i_text *t;
    const tn_i_plan *p;
    const tn_i_step *s;
    const tn_i_group *g, *led;
    const tn_i_actor *self;
    int64_t steps; /* TN_I_STEPS: found when it runs */
} tn_i_group_text;

void tn_i_c99_group_refuse(tn_i_group_text *k, const char *why);
/* A step of the loops that are brought back, or of the others; the number of it is `step`. */
void tn_i_c99_group_steps(tn_i_group_text *k, bool against, int kind);
/* Copies states, or entries, of g from or to the memory at `slot`. */
void tn_i_c99_group_state(tn_i_group_text *k, const tn_i_group *g, bool save);
void tn_i_c99_group_record(tn_i_group_text *k, const tn_i_group *g, bool save);
/* Declares `steps`, where the loop is told it, and makes room for their entries. */
void tn_i_c99_group_length(tn_i_group_text *k);
/* The output that is the number of steps. */
void tn_i_c99_group_steps_out(tn_i_group_text *k, const char *steps);
/* while: sets `more`. */
void tn_i_c99_group_condition(tn_i_group_text *k);
/* Room for so many more entries of each array that the loop makes. */
void tn_i_c99_group_extend(tn_i_group_text *k, const char *n);

/* c99_table.c: the schedules of loops whose length is known are run here, and become a table. */
void tn_i_c99_table(tn_i_group_text *k);
/* c99_replay.c: those of others are run by what is written. */
void tn_i_c99_replay(tn_i_group_text *k);

/* c99_schedule.c: the functions that run a schedule. */
typedef struct tn_i_c99_family {
    const char *name, *forward, *turn, *next;
    bool records, arrays; /* slots hold entries and not states; it has arrays of as many numbers as slots */
} tn_i_c99_family;
/* NULL: it is none of those for any number of steps. */
const tn_i_c99_family *tn_i_c99_family_of(const tn_i_schedule *s, int64_t *slots);
void tn_i_c99_schedule_helpers(tn_i_c99 *w, const char *text);

#endif
