/* Which arrays of a loop program share memory with one: by place, so that a program of many is not compared pair by
 * pair. */
#ifndef TN_LOOP_OVERLAPS_H
#define TN_LOOP_OVERLAPS_H

#include "loop/loop.h"

/* An array that has elements and a base; `far`: the furthest end of those of the base that begin no later. */
typedef struct tn_i_l_span {
    uint32_t base, array;
    int64_t at, end, far;
} tn_i_l_span;
typedef struct tn_i_l_overlaps {
    tn_i_l_span *span; /* by base, then by where they begin */
    size_t n, room;
} tn_i_l_overlaps;

/* False after TN_ENOMEM.  Cost: n log n. */
bool tn_i_l_overlaps_find(tn_i_l_overlaps *z, const tn_i_loops *p);
void tn_i_l_overlaps_drop(tn_ctx *c, tn_i_l_overlaps *z);
/* Spans [*first, last) that can share memory with `array`, of which tn_i_l_overlap says whether they do; returns last.
 */
size_t tn_i_l_overlaps_of(const tn_i_l_overlaps *z, const tn_i_loops *p, uint32_t array, size_t *first);

#endif
