/* Policies: plans of what the linear program's values are saved and what is recomputed. */
#ifndef TN_POLICIES_H
#define TN_POLICIES_H

#include "linearize/linearize.h"

/* The plan a public policy stands for (NULL: the default); false after TN_EINVAL. */
bool tn_i_plan_of(tn_ctx *c, const tn_policy *policy, tn_i_plan_by *out);

#endif
