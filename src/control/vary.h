/* What ranks that decide for themselves may do: programs within equations, and what varies over the grid. */
#ifndef TN_VARY_H
#define TN_VARY_H

#include "prims/prim.h"

/* A program that runs, or runs again, as something decides that varies over the grid. */
typedef struct tn_i_decided {
    const tn_fn *f;
    uint32_t from;       /* its first input that is an operand or a carry */
    const char *decides; /* "the condition" */
    const char *runs;    /* "body" */
    const char *else_;   /* what ranks would do that spoke in it: "stop at different steps" */
} tn_i_decided;

/* Where what decides varies over `axes`: inputs and outputs do too, and the program does not speak over them: ranks
 * that decide otherwise would not answer.  false after a message. */
bool tn_i_decided_over(tn_i_query *q, const tn_i_decided *d, uint32_t axes);
/* f with outputs that vary over over[j] as well; takes f over, NULL after an error. */
tn_fn *tn_i_outputs_over(tn_fn *f, const uint32_t *over);

#endif
