/* A policy as a plan for one program: a memory budget looks at the whole of it first. */
#ifndef TN_CHOOSE_H
#define TN_CHOOSE_H

#include "api/args.h"
#include "checkpoint/budget.h"

typedef struct tn_i_choice {
    const tn_fn *f; /* what is linearized (tn_i_to_derive): with the schedules that a budget chose, or its own; held */
    tn_i_plan_by how;
    tn_i_budget budget; /* where the policy is one */
} tn_i_choice;

/* How f is linearized with respect to w, for one linearization; `out` may not be moved.  false after an error, with
 * nothing to free. */
bool tn_i_choose(const tn_fn *f, const tn_i_wrt *w, const tn_policy *policy, tn_i_choice *out);
void tn_i_choice_free(tn_i_choice *x);
/* The schedules that a budget chose, separated by spaces, interned; "" where there are none.  NULL after an error. */
const char *tn_i_chosen_schedules(tn_ctx *c, const tn_i_budget *x);
/* Whether the policy is a budget. */
bool tn_i_budgets(const tn_policy *policy);

/* Work and peak of reverse mode under a plan, given f's jvp (tn_i_jvp_for_split): derivatives.c. */
bool tn_i_measure_reverse(const tn_fn *f, const tn_fn *jvp, const tn_i_plan_by *how, tn_i_trial *out);

#endif
