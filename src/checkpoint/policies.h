/* Policies: plans of which of the linear program's values are saved and which are recomputed. */
#ifndef TN_POLICIES_H
#define TN_POLICIES_H

#include "linearize/linearize.h"

/* The plan a public policy stands for (NULL: the default); false after TN_EINVAL. */
bool tn_i_plan_of(tn_ctx *c, const tn_policy *policy, tn_i_plan_by *out);
/* The plan of a policy's text, "name" or "name:arguments"; the text must outlive the plan. */
bool tn_i_plan_of_text(tn_ctx *c, const char *text, tn_i_plan_by *out);
/* Row i of the table as a policy's text, with arguments for an example where it wants some; NULL behind the last. */
const char *tn_i_policy_text(size_t i);

#endif
