/* What a block has loaded or stored lately, and nothing has stored over since (pass/cse.c). */
#ifndef TN_PASS_CSE_MEMORY_H
#define TN_PASS_CSE_MEMORY_H

#include "loop/loop.h"

enum { TN_RECENT = 64 };

typedef struct tn_i_l_recent {
    uint32_t op[TN_RECENT]; /* a LOAD or STORE without a mask, no update; TN_L_NONE: another one has stored there */
    uint32_t n, next;
} tn_i_l_recent;

/* A block begins, or ends, or somebody else may have stored. */
static inline void tn_i_l_forget(tn_i_l_recent *r) { r->n = r->next = 0; }
/* The access at the end of b's program is noted, what it stores over forgotten.  Of a LOAD the value, if that is at hand
 * already, else TN_L_NONE. */
uint32_t tn_i_l_recall(tn_i_l_recent *r, tn_i_l_builder *b, uint32_t access);

#endif
