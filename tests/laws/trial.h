/* Making trials and telling what failed in one. */
#ifndef LAWS_TRIAL_H
#define LAWS_TRIAL_H

#include "laws/laws.h"

/* A trial of `prim` (NULL: of a generated program).  attempt > 0: another point for the same
 * seed.  false when no case can be made: `why` says so. */
bool laws_trial_init(laws_trial *t, const laws_options *o, const tn_prim *prim, int dtype, uint64_t seed, int attempt);
void laws_trial_free(laws_trial *t);
/* Runs one law on it, from a state that depends on seed and law alone. */
void laws_trial_run(laws_trial *t, const laws_law *law);
/* "law NAME prim DTYPE seed S: why"; then, when asked for, the program and its inputs. */
void laws_trial_print(const laws_trial *t, const laws_law *law, bool program);

#endif
