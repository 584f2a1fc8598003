/* The arena of a derivative as it is planned under a policy. */
#ifndef TN_EXEC_MEMORY_PROFILE_H
#define TN_EXEC_MEMORY_PROFILE_H

#include "plan/live.h"

typedef struct tn_i_memory_plan {
    const char *policy; /* whose name, for who tells */
    tn_fn *made, *g;    /* the derivative, and what tn_compile makes of it */
    tn_i_plan *plan;
    tn_i_live live;
    uint32_t backward; /* the first step of the backward part */
} tn_i_memory_plan;

/* That of tn_vjp(f, wrt, policy), as tn_compile plans it: equations that are fused are one; nothing runs.  False after
 * an error; a->made .. are to be dropped all the same. */
bool tn_i_memory_planned(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, tn_i_memory_plan *a);
void tn_i_memory_drop(tn_ctx *c, tn_i_memory_plan *a);

#endif
