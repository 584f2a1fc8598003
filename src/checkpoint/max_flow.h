/* A smallest cut of a network with sources and sinks, exact. */
#ifndef TN_MAX_FLOW_H
#define TN_MAX_FLOW_H

#include "base/base.h"

/* Capacity of an arc that no cut may take. */
#define TN_I_UNBOUNDED (INT64_C(1) << 62)

typedef struct tn_i_arc {
    uint32_t from, to;
    int64_t capacity;
} tn_i_arc;

/* Node v may receive supply[v] from the source and give demand[v] to the sink.
 * Supplies, demands and bounded capacities add up to less than 2^61. */
typedef struct tn_i_network {
    uint32_t nnodes, narcs;
    const int64_t *supply, *demand;
    const tn_i_arc *arc;
} tn_i_network;

/* Sets sink_side[v] of every node behind the cut and *value; of all smallest cuts the one that
 * leaves the fewest nodes there.  false after TN_ENOMEM or TN_ELIMIT.  Linear memory. */
bool tn_i_smallest_cut(tn_ctx *c, const tn_i_network *net, uint8_t *sink_side, int64_t *value);

#endif
