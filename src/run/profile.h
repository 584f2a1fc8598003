/* What the steps of calls take, as they run (tansy.h, "Profiles").
 *
 * A profile is a tree that is laid out before anything runs: a node for each program where it is run from, with an
 * entry for each of its steps.  While a call runs, the steps that have begun are a stack, and a step is looked up among
 * the programs that the step above it runs.  So who runs steps (run.c) only says when one
 * begins and when it ends, and says nothing where there is no profile. */
#ifndef TN_EXEC_PROFILE_H
#define TN_EXEC_PROFILE_H

#include "plan/replay.h"

#include <stdatomic.h>

/* Entries of all nodes: programs that are called in so many ways that there would be more are left out, those deepest
 * first, and are part of the step that runs them. */
enum { TN_PROFILE_ENTRIES = 1 << 16 };

/* What a group does with snapshots. */
typedef enum tn_i_replay_act {
    TN_I_ADVANCED, /* a step that keeps nothing */
    TN_I_RECORDED, /* one that makes its record */
    TN_I_SAVED,
    TN_I_LOADED,
    TN_I_TO_DISK,
    TN_I_FROM_DISK,
    TN_I_REPLAY_ACTS
} tn_i_replay_act;

typedef struct tn_i_replayed {
    uint64_t count[TN_I_REPLAY_ACTS];
    int64_t slots, disk_slots; /* as many as the highest that was written */
} tn_i_replayed;

typedef struct tn_i_profile_entry {
    uint64_t calls, ns, within; /* within: of ns, what the programs' steps took */
    uint32_t child;             /* the first node of what it runs, or TN_NOVAR */
    uint32_t replay;            /* or TN_NOVAR */
} tn_i_profile_entry;

typedef struct tn_i_profile_node {
    const tn_i_plan *plan; /* NULL: a loop without a condition */
    uint32_t entry;        /* its first one */
    uint32_t depth;
} tn_i_profile_node;

typedef struct tn_i_profile_open {
    uint32_t node, entry;
    uint64_t since;
} tn_i_profile_open;

struct tn_profile {
    const tn_exec *exec;
    tn_profile *prev, *next; /* the executable's list */
    tn_i_profile_node *node;
    tn_i_profile_entry *entry;
    tn_i_replayed *replay;
    size_t nnode, nentry, nreplay, cnode, centry, creplay;
    tn_i_profile_open *open; /* the steps that have begun, outermost first */
    size_t depth, room;
    size_t beyond; /* and behind them those that are left out */
    uint64_t calls, ns, since;
    atomic_bool busy; /* in a call */
};

/* A call begins; false: the profile is in another one. */
bool tn_i_profile_begin(tn_profile *q);
void tn_i_profile_end(tn_profile *q);
/* A step of p begins and ends; r->profile may be NULL. */
void tn_i_profile_enter(const tn_i_plan *p, const struct tn_i_run *r, size_t step);
void tn_i_profile_leave(const struct tn_i_run *r);
/* A program that the latest step runs has run n times, each step of it, in what is timed as a whole, and programs in it
 * as often as their counters say (tn_i_part_size): one for each of several, one for the steps of a `while`, in front of
 * those of the programs themselves.  Returns the next counter. */
const int64_t *tn_i_profile_steps(const struct tn_i_run *r, const tn_i_plan *p, int64_t n, const int64_t *counter);
/* The latest step, a group, has done this n times, with that slot, the greatest. */
void tn_i_profile_replay(tn_profile *q, tn_i_replay_act act, int64_t n, int64_t slot);
void tn_i_profiles_drop(tn_profile *all);

#endif
