/* What a family of schedules answers: one row of the table in schedule.c. */
#ifndef TN_FAMILY_H
#define TN_FAMILY_H

#include "checkpoint/schedule.h"

enum { TN_I_SCHEDULE_ARGUMENTS = 2 };
#define TN_I_MOST_SLOTS ((int64_t)1 << 24) /* of schedules with a stack */

/* What to do at a place where n >= 2 steps are still to be brought back from. */
typedef struct tn_i_choice {
    bool keep;         /* make and keep the step's record; else */
    tn_i_medium place; /* keep the state in memory or on disk, unless the latest kept state is this one, there */
    int64_t ahead;     /* and advance so many of the n steps, 1..n-1 */
} tn_i_choice;

typedef struct tn_i_family {
    const char *name,
        *usage; /* "disk_revolve:CHECKPOINTS,DISK": the name, then those of its arguments, if it has any */
    const char *example;
    bool known, disk_costs;
    bool optional;                                            /* the argument may be left out: 0 */
    tn_i_choice (*decide)(tn_i_schedule_run *run, int64_t n); /* run by walk.c; NULL: by the three below */
    /* Any of these may be NULL: the ones of walk.c. */
    tn_i_act (*forward)(tn_i_schedule_run *run, int64_t i);
    void (*turn)(tn_i_schedule_run *run);
    tn_i_act (*next)(tn_i_schedule_run *run), (*next_many)(tn_i_schedule_run *run); /* both, or neither */
    bool skips; /* `forward` keeps nothing before step run->next */
    /* Makes tables, released with the schedule. */
    tn_status (*prepare)(tn_i_schedule *s);
    void (*release)(tn_i_schedule *s);
    /* Bytes of its own that a run has, false on overflow; and what they begin with. */
    bool (*own_bytes)(const tn_i_schedule *s, size_t *bytes);
    void (*begin)(tn_i_schedule_run *run);
    tn_i_schedule_slots (*slots)(const tn_i_schedule *s); /* for known steps, or TN_I_UNKNOWN */
    /* What a run of `steps` would count, without doing a step; INT64_MAX where a number does not fit. */
    tn_status (*count)(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out);
} tn_i_family;

struct tn_i_schedule {
    tn_ctx *ctx;
    const tn_i_family *family;
    const char *text;                          /* interned */
    int64_t argument[TN_I_SCHEDULE_ARGUMENTS]; /* slots in memory or a period; slots on disk */
    int64_t write_cost, read_cost;             /* of a slot on disk, in thousandths of a step */
    int64_t steps;
    void *table; /* disk.c */
    size_t levels, table_capacity;
    int64_t kept; /* how many entries the stack of a run has */
    size_t own_bytes, run_bytes;
};

/* Something kept, in the order of steps. */
typedef struct tn_i_kept {
    int64_t step, slot;
    tn_i_medium place;
    bool record;
} tn_i_kept;

struct tn_i_schedule_run {
    const tn_i_schedule *s;
    tn_i_schedule_tally tally;
    int64_t steps;  /* TN_I_UNKNOWN until they are known */
    int64_t target; /* reverse: the step wanted next */
    int64_t at;     /* the step that the working state enters; TN_I_UNKNOWN: it enters none of use */
    int64_t ahead;  /* so many steps are to be advanced before the next decision */
    int64_t next;   /* forward: the step before which something is kept next */
    tn_i_act told;  /* forward: of the step behind those that were told, where `is_told` */
    bool is_told;
    bool recorded; /* the last step's record is the working one */
    /* walk.c: a stack of what is kept, and the slots of each place: the first `used` hold what is kept, in that order.
     */
    tn_i_kept *kept;
    int64_t count, used[2], *id;
    void *own;
};

/* walk.c: schedules that decide where they are by what is kept below. */
tn_i_act tn_i_walk_forward(tn_i_schedule_run *run, int64_t i);
tn_i_act tn_i_walk_next(tn_i_schedule_run *run);
tn_i_act tn_i_walk_next_many(tn_i_schedule_run *run);
void tn_i_walk_push(tn_i_schedule_run *run, int64_t step, tn_i_medium place, bool record);
/* Adds what an action does to the tally, and returns the action. */
tn_i_act tn_i_tallied(tn_i_schedule_run *run, tn_i_act a);
void tn_i_tally_peak(tn_i_schedule_run *run, int64_t memory, int64_t disk);

/* One row each. */
extern const tn_i_family tn_i_all_save, tn_i_revolve, tn_i_nothing, tn_i_online, tn_i_mixed, tn_i_disk_revolve,
    tn_i_periodic;

/* Known steps: of the states before the last, no more than that can be kept. */
static inline int64_t tn_i_at_most(int64_t slots, int64_t steps) {
    return steps < 1 ? 0 : slots < steps - 1 ? slots : steps - 1;
}

#endif
