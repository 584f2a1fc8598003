/* Loops that run beside each other, with or without schedules, as C: for c99_group.c, c99_replay.c and c99_schedule.c
 * alone. */
#ifndef TN_C99_GROUP_H
#define TN_C99_GROUP_H

#include "emit/c99.h"
#include "plan/replay.h"

/* c99_schedule.c: what tells the acts of a schedule, in functions of the text. */
typedef struct tn_i_c99_family {
    const char *name, *forward, *turn, *next;
    bool records, arrays; /* slots hold entries and not states; it has arrays of as many numbers as slots */
} tn_i_c99_family;

typedef struct tn_i_c99_acts {
    const tn_i_group *g; /* whose slots they are; NULL: there are no acts */
    const char *name;    /* of the variable that the functions are called with */
    const tn_i_c99_family *f;
    int64_t slots;          /* that the functions of a family are told */
    tn_i_script *script;    /* NULL: the number of steps is found when it runs */
    unsigned forward, back; /* kinds of acts that occur: bits */
    bool keeps, working;    /* records are in slots; one is in the memory of the working one */
} tn_i_c99_acts;

typedef struct tn_i_group_text {
    tn_i_c99 *w;
    tn_i_text *t;
    const tn_i_plan *p;
    const tn_i_step *s;
    const tn_i_group *g, *led;
    const tn_i_actor *self;
    tn_i_c99_acts own, to_lead; /* of g and of led */
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

/* c99_replay.c: the loop and its schedules. */
void tn_i_c99_replay(tn_i_group_text *k);

/* What tells the acts of g, which may be NULL or have no schedule.  false: it cannot be written, or memory ran out. */
bool tn_i_c99_acts_of(tn_i_group_text *k, const tn_i_group *g, const char *name, tn_i_c99_acts *a);
/* Declares lines of the script, and the variable that says which of them is next. */
void tn_i_c99_write_script(tn_i_group_text *k, const tn_i_c99_acts *a, size_t first, size_t end);
void tn_i_c99_schedule_helpers(tn_i_c99 *w, const char *text);

#endif
