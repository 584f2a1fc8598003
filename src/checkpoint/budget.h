/* memory_budget: of all plans of a whole program that keep its peak within a budget, the one with
 * the least work.
 *
 * Peaks are no sums over values: only the executor's planner knows them.  So plans are tried, one
 * after another: small programs under every save set there is, large ones under a list of
 * candidates.  The list does not depend on the budget; hence a lower budget never has a higher peak.
 *
 * Loops whose schedule is `auto` get one with the plan: rungs.c. */
#ifndef TN_BUDGET_H
#define TN_BUDGET_H

#include "linearize/linearize.h"

#define TN_I_BUDGET "memory_budget"

/* Whether a policy's text is a budget, with or without its argument; its bytes, false when there are none. */
bool tn_i_is_budget(const char *text);
bool tn_i_budget_bytes(const char *text, size_t *bytes);

typedef struct tn_i_trial {
    double work;     /* modelled ns of the whole, in 64ths: the order of a sum shall not decide */
    size_t peak;     /* bytes */
    size_t per_step; /* bytes besides, for each step of loops that find out how many there are */
    size_t spill;    /* and in a file */
} tn_i_trial;

/* A loop whose schedule is to be chosen. */
typedef struct tn_i_auto_loop {
    int64_t steps; /* -1: a run tells */
    size_t limit;  /* bytes that its slots may have; 0: no limit of its own */
    const char *schedule; /* that it has; NULL: none */
    bool outermost;       /* an equation of the program itself */
} tn_i_auto_loop;

typedef struct tn_i_auto_loops_of {
    tn_i_auto_loop *loop;
    size_t n, capacity;
} tn_i_auto_loops_of;

/* Makes the whole program under a plan and measures it; false after an error, or where the plan said so. */
typedef struct tn_i_trier {
    tn_ctx *ctx;
    bool (*attempt)(void *user, const tn_i_plan_by *how, tn_i_trial *out);
    /* Gives the loops these schedules, in all attempts that follow; NULL where there are no loops. */
    bool (*schedule)(void *user, const char *const *text);
    /* Of each value of a jvp whether, saved, it surely is in the arena, together with all others of which it is said;
     * false after an error.  NULL: nobody knows, and nothing bounds the work. */
    bool (*residents)(const tn_fn *f, const uint8_t *known, uint8_t *resident);
    void *user;
    tn_i_auto_loops_of loops;
    struct tn_i_trials *known; /* where there are loops: what plans by name came to before (trials.h); or NULL */
    bool large;             /* for tests: candidates alone, as if there were too many save sets */
} tn_i_trier;

/* What a plan saved, boundary by boundary, in the order in which it was asked. */
typedef struct tn_i_saves {
    struct tn_i_saved *of;
    size_t n, capacity;
} tn_i_saves;

typedef struct tn_i_budget {
    tn_ctx *ctx;
    tn_i_saves plan;
    size_t next;             /* boundary of a plan that is being applied */
    tn_i_trial chosen, full; /* full: everything saved, so that nothing is done again */
    size_t least;            /* the least peak of all that was tried */
    double bound;            /* no plan within the budget does less than that again, in ns */
    bool feasible, exact;    /* exact: every save set was tried, with every schedule */
    uint32_t trials;
    const char **schedule; /* of each of nloop loops, interned; where feasible */
    size_t nloop;
} tn_i_budget;

/* Values that are decided on exactly, and candidates for programs that have more; plans that are tried so that every
 * schedule is, too. */
enum { TN_I_EXACT_VALUES = 12, TN_I_MOST_CANDIDATES = 64, TN_I_EXACT_PLANS = 2048 };

/* false after an error.  That no plan fits is none: `feasible` tells; `least` is the same for every budget. */
bool tn_i_budget_find(const tn_i_trier *t, size_t bytes, tn_i_budget *out);
/* The chosen plan, for one use, of the very program that was tried; it refers to x. */
tn_i_plan_by tn_i_budget_plan(tn_i_budget *x);
void tn_i_budget_free(tn_i_budget *x);

#endif
