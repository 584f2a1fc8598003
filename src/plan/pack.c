/* Blocks of an arena whose lives are all known: the largest first, each in the smallest gap that those above it leave
 * while it lives. */
#include "plan/pool.h"

#include <stdlib.h>

enum { MOST_BLOCKS = 1000, LEAST_PART = 32 };

void tn_i_pool_log_drop(tn_ctx *c, tn_i_pool_log *log) {
    tn_i_free(c, log->entry, log->capacity * sizeof *log->entry);
    *log = (tn_i_pool_log){0};
}

bool tn_i_pool_same(const tn_i_pool_log *a, const tn_i_pool_log *b) {
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = a->entry[i].size == b->entry[i].size && a->entry[i].from == b->entry[i].from &&
               a->entry[i].to == b->entry[i].to;
    return same;
}

static int larger(const void *a, const void *b) {
    const tn_i_pool_entry *x = *(tn_i_pool_entry *const *)a, *y = *(tn_i_pool_entry *const *)b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* The most that is alive at one time: no places need less. */
static uint64_t most_alive(const tn_i_pool_log *log) {
    uint64_t change[2 * MOST_BLOCKS] = {0}, now = 0, most = 0; /* times are all different; differences wrap around */
    for (size_t i = 0; i < log->n; i++) {
        const tn_i_pool_entry *e = &log->entry[i];
        change[e->from] += e->size;
        if (e->to < log->now) change[e->to] -= e->size;
    }
    for (uint32_t t = 0; t < log->now; t++) {
        now += change[t];
        if (now > most) most = now;
    }
    return most;
}

/* Puts e into the smallest gap between the n blocks, in the order of their places, that live with it; its place among
 * all is returned. */
static size_t put(tn_i_pool_entry *e, tn_i_pool_entry *const *placed, size_t n) {
    uint64_t end = 0, best = UINT64_MAX, at = 0;
    for (size_t i = 0; i < n; i++) {
        const tn_i_pool_entry *k = placed[i];
        if (k->to <= e->from || e->to <= k->from) continue;
        if (k->at > end && k->at - end >= e->size && k->at - end < best) {
            best = k->at - end;
            at = end;
        }
        if (k->at + k->size > end) end = k->at + k->size;
    }
    e->at = best == UINT64_MAX ? end : at;
    while (n > 0 && placed[n - 1]->at > e->at) n--;
    return n;
}

bool tn_i_pool_pack(tn_i_pool_log *log, uint64_t top) {
    tn_i_pool_entry *order[MOST_BLOCKS], *placed[MOST_BLOCKS];
    uint64_t end = 0;
    if (log->n > MOST_BLOCKS || top - most_alive(log) <= top / LEAST_PART) return false;
    for (size_t i = 0; i < log->n; i++) order[i] = &log->entry[i];
    qsort(order, log->n, sizeof *order, larger);
    for (size_t i = 0; i < log->n; i++) {
        const size_t where = put(order[i], placed, i);
        for (size_t k = i; k > where; k--) placed[k] = placed[k - 1];
        placed[where] = order[i];
        if (order[i]->at + order[i]->size > end) end = order[i]->at + order[i]->size;
    }
    return end < top && top - end > top / LEAST_PART;
}
