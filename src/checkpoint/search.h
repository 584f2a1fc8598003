/* A search among plans: what is on trial, and what was best so far. */
#ifndef TN_SEARCH_H
#define TN_SEARCH_H

#include "checkpoint/budget.h"

typedef struct tn_i_search {
    const tn_i_trier *t;
    size_t bytes; /* the budget */
    tn_i_budget *x;
    tn_i_plan_by inner; /* on trial */
    tn_i_saves saves;   /* what it saved */
    tn_i_trial last;
    bool took; /* the last trial is the best so far */
    /* Among candidates: what came of save sets of the one boundary of a program without nested ones, and the entry
     * whose set the plan on trial has chosen again; or NULL. */
    bool recall;
    struct tn_i_tried *tried;
    size_t ntried, ctried;
    const struct tn_i_tried *same;
    /* The schedules on trial, one a loop, and all trials' results, when there are loops. */
    const char **now;
    bool untold;    /* `now` is not what the programs have that are made */
    bool unbounded; /* loops whose steps only a run tells may keep everything: it is nothing, step by step */
    tn_i_trial *seen;
    size_t nseen, cseen;
    /* Between the trials that are made for every budget: `next` is the one with the least peak that is better than
     * the best that fits (rungs.c). */
    bool between;
    tn_i_trial next;
} tn_i_search;

/* A total order, whatever the budget: so that what is chosen under one stays chosen while it fits. */
bool tn_i_better(const tn_i_trial *a, const tn_i_trial *b);
/* Tries a plan under the schedules `now`.  false after an error, or where the plan said so. */
bool tn_i_attempt(tn_i_search *s, const tn_i_plan_by *inner);
bool tn_i_attempt_named(tn_i_search *s, const char *name);
/* The next plan is tried under `now`, once it is made. */
void tn_i_reschedule(tn_i_search *s);
/* Makes the programs under `now`, unless they are; what tries a plan asks for it. */
bool tn_i_tell(tn_i_search *s);

/* ---- rungs.c: schedules of loops ---------------------------------------------------------- */

/* `now` for the trials that look at save sets: what each loop has when memory is no matter. */
bool tn_i_fastest_schedules(tn_i_search *s);
/* How many ways there are to give each loop any of its schedules, `most` + 1 where they are more, or more than can be
 * listed (a limit, steps that only a run tells). */
size_t tn_i_count_schedules(const tn_i_search *s, size_t most);
/* Way `at` in `now`. */
bool tn_i_nth_schedules(tn_i_search *s, size_t at);
/* Tries loops at a few numbers of slots, under a few policies; then, for this budget, at those between. */
bool tn_i_try_rungs(tn_i_search *s);

#endif
