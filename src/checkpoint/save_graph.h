/* Which values to save, as a problem by itself: operations with costs, without a program. */
#ifndef TN_SAVE_GRAPH_H
#define TN_SAVE_GRAPH_H

#include "base/base.h"

/* Makes the values out .. out+nout-1 of the values pool[in .. in+nin-1], which earlier operations make. */
typedef struct tn_i_save_op {
    double cost; /* of doing it again; INFINITY: that may not be */
    uint32_t in, nin, out, nout;
} tn_i_save_op;

typedef struct tn_i_save_graph {
    uint32_t nval, nop;
    const tn_i_save_op *op;
    const uint32_t *pool;
    const double *save;    /* per value: finite cost of saving it */
    const uint8_t *needed; /* per value: must be had behind the boundary */
} tn_i_save_graph;

/* The set of values to save, and with it of operations to do again, whose costs add up to least;
 * values that no operation makes are at hand.  Among sets of equal cost, one with the least done again.
 * *cost (may be NULL) is that sum.  false after an error. */
bool tn_i_cheapest_saves(tn_ctx *c, const tn_i_save_graph *g, uint8_t *save, double *cost);

#endif
