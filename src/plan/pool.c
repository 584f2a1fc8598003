#include "plan/pool.h"

#include <string.h>

#define NONE UINT32_MAX
#define SCAN 32 /* entries of a class looked at for a better fit: keeps taking near constant */

void tn_i_pool_init(tn_i_pool *p, tn_ctx *c) {
    *p = (tn_i_pool){.ctx = c, .last = NONE, .spare = NONE, .shared = NONE};
    memset(p->head, 0xFF, sizeof p->head);
}

void tn_i_pool_drop(tn_i_pool *p) {
    tn_i_free(p->ctx, p->node, p->cnode * sizeof *p->node);
    tn_i_pool_log_drop(p->ctx, &p->log);
}

size_t tn_i_pool_bytes(const tn_i_pool *p) { return (size_t)p->top * TN_ARENA_ALIGN; }

/* ---- classes of sizes: exact below 16 units, then sixteen to each power of two ---- */

static uint32_t log2_of(uint64_t x) {
    uint32_t n = 0;
    for (uint32_t step = 32; step; step /= 2)
        if (x >> step) {
            x >>= step;
            n += step;
        }
    return n;
}

static uint32_t class_of(uint64_t size) {
    if (size < 16) return (uint32_t)size;
    uint32_t log = log2_of(size);
    return 16 + (log - 4) * 16 + (uint32_t)(size >> (log - 4) & 15);
}

static uint32_t next_class(const tn_i_pool *p, uint32_t from) {
    for (uint32_t w = from / 64; w < TN_POOL_CLASSES / 64; w++) {
        uint64_t bits = p->bits[w];
        if (w == from / 64) bits &= UINT64_MAX << from % 64;
        if (bits) return w * 64 + log2_of(bits & (~bits + 1));
    }
    return NONE;
}

static void push(tn_i_pool *p, uint32_t *head, uint32_t n) {
    p->node[n].prev = NONE;
    p->node[n].next = *head;
    if (*head != NONE) p->node[*head].prev = n;
    *head = n;
}

static void unlist(tn_i_pool *p, uint32_t *head, uint32_t n) {
    const tn_i_pool_node *k = &p->node[n];
    if (k->prev == NONE)
        *head = k->next;
    else
        p->node[k->prev].next = k->next;
    if (k->next != NONE) p->node[k->next].prev = k->prev;
}

static void set_free(tn_i_pool *p, uint32_t n) {
    uint32_t c = class_of(p->node[n].size);
    p->node[n].free = 1;
    push(p, &p->head[c], n);
    p->bits[c / 64] |= (uint64_t)1 << c % 64;
}

static void set_used(tn_i_pool *p, uint32_t n) {
    uint32_t c = class_of(p->node[n].size);
    p->node[n].free = 0;
    unlist(p, &p->head[c], n);
    if (p->head[c] == NONE) p->bits[c / 64] &= ~((uint64_t)1 << c % 64);
}

/* ---- nodes -------------------------------------------------------------------- */

static uint32_t node_after(tn_i_pool *p, uint32_t before, uint64_t at, uint64_t size) {
    uint32_t n = p->spare;
    if (n != NONE) {
        p->spare = p->node[n].next;
    } else {
        if (p->nnode >= NONE || !tn_i_grow(p->ctx, (void **)&p->node, &p->cnode, p->nnode + 1, sizeof *p->node))
            return NONE;
        n = (uint32_t)p->nnode++;
    }
    uint32_t after = before == NONE ? NONE : p->node[before].after;
    p->node[n] = (tn_i_pool_node){.at = at, .size = size, .before = before, .after = after, .prev = NONE, .next = NONE};
    if (before != NONE) p->node[before].after = n;
    if (after != NONE)
        p->node[after].before = n;
    else
        p->last = n;
    return n;
}

/* Joins free b to its neighbour a before it. */
static void join(tn_i_pool *p, uint32_t a, uint32_t b) {
    p->node[a].size += p->node[b].size;
    p->node[a].after = p->node[b].after;
    if (p->node[b].after != NONE)
        p->node[p->node[b].after].before = a;
    else
        p->last = a;
    p->node[b].next = p->spare;
    p->spare = b;
}

static uint32_t best_in(const tn_i_pool *p, uint32_t c, uint64_t size) {
    uint32_t best = NONE, seen = 0;
    for (uint32_t n = p->head[c]; n != NONE && seen < SCAN; n = p->node[n].next, seen++) {
        uint64_t s = p->node[n].size;
        if (s >= size && (best == NONE || s < p->node[best].size)) best = n;
        if (s == size) break;
    }
    return best;
}

static bool raise_top(tn_i_pool *p, uint64_t by) {
    if (by > (uint64_t)INT64_MAX / TN_ARENA_ALIGN - p->top || by > SIZE_MAX / TN_ARENA_ALIGN - p->top) {
        (void)tn_i_fail(p->ctx, TN_EOVERFLOW, NULL, "the workspace of the program overflows the address space");
        return false;
    }
    p->top += by;
    return true;
}

/* A free end is stretched before anything is put behind it. */
static uint32_t at_the_end(tn_i_pool *p, uint64_t size) {
    uint32_t n = p->last;
    if (n != NONE && p->node[n].free) {
        if (!raise_top(p, size - p->node[n].size)) return NONE;
        set_used(p, n);
        p->node[n].size = size;
        return n;
    }
    uint64_t at = p->top;
    if (!raise_top(p, size)) return NONE;
    return node_after(p, n, at, size);
}

static uint32_t find_units(tn_i_pool *p, uint64_t size) {
    uint32_t c = class_of(size), n = best_in(p, c, size);
    if (n == NONE) {
        c = next_class(p, c + 1);
        if (c != NONE) n = best_in(p, c, size);
    }
    if (n == NONE) return at_the_end(p, size);
    set_used(p, n);
    uint64_t rest = p->node[n].size - size;
    if (rest) {
        uint32_t r = node_after(p, n, p->node[n].at + size, rest);
        if (r == NONE) return NONE;
        p->node[n].size = size;
        set_free(p, r);
    }
    return n;
}

/* Where the plan before this one, which asked for the same blocks, has put it. */
static uint32_t given_units(tn_i_pool *p, uint64_t size) {
    const tn_i_pool_entry *e = p->log.n < p->given->n ? &p->given->entry[p->log.n] : NULL;
    if (!e || e->size != size) return at_the_end(p, size); /* another block: the plan will not be taken */
    const uint64_t end = e->at + size;
    if (end > p->top && !raise_top(p, end - p->top)) return NONE;
    return node_after(p, p->last, e->at, size);
}

static uint32_t take_units(tn_i_pool *p, uint64_t size) {
    tn_i_pool_log *k = &p->log;
    if (k->n >= NONE / 2 || !tn_i_grow(p->ctx, (void **)&k->entry, &k->capacity, k->n + 1, sizeof *k->entry))
        return NONE;
    const uint32_t n = p->given ? given_units(p, size) : find_units(p, size);
    if (n == NONE) return NONE;
    k->entry[k->n] = (tn_i_pool_entry){.at = p->node[n].at, .size = size, .from = k->now++, .to = NONE};
    p->node[n].entry = k->n++;
    return n;
}

static void give_units(tn_i_pool *p, uint32_t n) {
    p->log.entry[p->node[n].entry].to = p->log.now++;
    if (p->given) return;
    uint32_t after = p->node[n].after, before = p->node[n].before;
    if (after != NONE && p->node[after].free) {
        set_used(p, after);
        join(p, n, after);
    }
    if (before != NONE && p->node[before].free) {
        set_used(p, before);
        join(p, before, n);
        n = before;
    }
    set_free(p, n);
}

/* ---- shared blocks of scalars ----------------------------------------------------- */

static bool take_part(tn_i_pool *p, tn_i_slot *slot) {
    uint32_t n = p->shared;
    if (n == NONE) {
        n = take_units(p, 1);
        if (n == NONE) return false;
        p->node[n].parts = 0;
        push(p, &p->shared, n);
    }
    tn_i_pool_node *k = &p->node[n];
    uint32_t part = log2_of(~(uint64_t)k->parts & (uint64_t)(k->parts + 1)); /* lowest that is not in use */
    k->parts = (uint8_t)(k->parts | 1u << part);
    if (k->parts == 0xFF) unlist(p, &p->shared, n);
    *slot = (tn_i_slot){.offset = (size_t)k->at * TN_ARENA_ALIGN + part * 8, .node = n, .part = (uint8_t)(part + 1)};
    return true;
}

static void give_part(tn_i_pool *p, const tn_i_slot *slot) {
    tn_i_pool_node *k = &p->node[slot->node];
    if (k->parts == 0xFF) push(p, &p->shared, slot->node);
    k->parts = (uint8_t)(k->parts & ~(1u << (slot->part - 1)));
    if (k->parts) return;
    unlist(p, &p->shared, slot->node);
    give_units(p, slot->node);
}

bool tn_i_pool_take(tn_i_pool *p, size_t bytes, tn_i_slot *slot) {
    if (bytes <= 8) return take_part(p, slot);
    uint32_t n = take_units(p, (uint64_t)(bytes / TN_ARENA_ALIGN) + (bytes % TN_ARENA_ALIGN != 0));
    if (n == NONE) return false;
    *slot = (tn_i_slot){.offset = (size_t)p->node[n].at * TN_ARENA_ALIGN, .node = n};
    return true;
}

void tn_i_pool_give(tn_i_pool *p, const tn_i_slot *slot) {
    if (slot->part)
        give_part(p, slot);
    else
        give_units(p, slot->node);
}
