/* The arena of a derivative as it is planned under a policy, and how it is told: as JSON, and as a page. */
#ifndef TN_CLI_MEMORY_PLAN_H
#define TN_CLI_MEMORY_PLAN_H

#include "exec/memory_profile.h"

#include <stdio.h>

/* Steps there is something to see of: the one that copies results is left out where it has nothing in the arena. */
size_t tn_i_memory_steps(const tn_i_memory_plan *a);

/* Who makes a value: of one that a fused equation makes, the equation that was fused.  NULL: an input or a literal. */
const tn_i_eqn *tn_i_memory_maker(const tn_i_memory_plan *a, tn_i_var v);

/* An object with the title and `policies`, each with its numbers, its steps and the ranges of the arena that are in
 * use, with the values in them (docs/memory-report.md).  False when the stream failed or there was no memory. */
bool tn_i_memory_json(FILE *out, const char *title, size_t n, const tn_i_memory_plan *a);

/* One page of HTML that needs nothing else: a drawing of each arena, address by step, and the same data.  False when
 * the stream failed or there was no memory. */
bool tn_i_memory_page(FILE *out, const char *title, size_t n, const tn_i_memory_plan *a);

#endif
