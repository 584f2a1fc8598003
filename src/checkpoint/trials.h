/* What plans of a program came to that a budget has tried before, by the policy's name and the schedules of the loops:
 * kept with the program, so that a search under another budget, or for another derivative, need not make them again. */
#ifndef TN_TRIALS_H
#define TN_TRIALS_H

#include "checkpoint/budget.h"

typedef struct tn_i_trials tn_i_trials;

/* That of f for derivatives in these inputs, emptied if it was of others; NULL after TN_ENOMEM. */
tn_i_trials *tn_i_trials_of(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, size_t nloop);
/* After a failure nothing is kept. */
void tn_i_trials_forget(const tn_fn *f);
/* `schedule`: interned texts, one a loop. */
bool tn_i_trials_find(const tn_i_trials *m, const char *policy, const char *const *schedule, tn_i_trial *out);
/* false after TN_ENOMEM. */
bool tn_i_trials_add(tn_i_trials *m, const char *policy, const char *const *schedule, const tn_i_trial *t);

#endif
