/* Offsets in an arena that does not exist yet: what the planner takes and gives
 * back in program order.  Good fit with coalescing, in constant time and
 * deterministic.  Blocks are 64-aligned and multiples of 64 bytes, except that
 * values of at most 8 bytes share a block, 8-aligned, eight at a time. */
#ifndef TN_POOL_H
#define TN_POOL_H

#include "base/base.h"

#define TN_ARENA_ALIGN  64
#define TN_POOL_CLASSES 960

typedef struct tn_i_slot {
    size_t offset;
    uint32_t node;
    uint8_t part; /* 1 + index of an 8-byte part of the block; 0: the whole block */
} tn_i_slot;

/* A block as it was taken and given back: times count both, in turn. */
typedef struct tn_i_pool_entry {
    uint64_t at, size; /* in units of TN_ARENA_ALIGN */
    uint32_t from, to;
} tn_i_pool_entry;

/* All blocks of a plan, in the order in which they were taken (pack.c). */
typedef struct tn_i_pool_log {
    tn_i_pool_entry *entry;
    size_t n, capacity;
    uint32_t now;
} tn_i_pool_log;

typedef struct tn_i_pool_node {
    uint64_t at, size;      /* in units of TN_ARENA_ALIGN */
    size_t entry;           /* in the log */
    uint32_t before, after; /* neighbours in the arena */
    uint32_t prev, next;    /* in the list of its class, or of shared blocks with room */
    uint8_t free, parts;    /* parts: those in use of a shared block */
} tn_i_pool_node;

typedef struct tn_i_pool {
    tn_ctx *ctx;
    tn_i_pool_node *node;
    size_t nnode, cnode;
    uint64_t top; /* units; never sinks: the high-water mark */
    uint32_t last, spare, shared;
    uint32_t head[TN_POOL_CLASSES];
    uint64_t bits[TN_POOL_CLASSES / 64]; /* classes that are not empty */
    tn_i_pool_log log;
    const tn_i_pool_log *given; /* where blocks are put, one after another; NULL: where the pool finds room */
} tn_i_pool;

void tn_i_pool_init(tn_i_pool *p, tn_ctx *c);
void tn_i_pool_drop(tn_i_pool *p);
/* Room for bytes > 0; false after TN_ENOMEM or TN_EOVERFLOW. */
bool tn_i_pool_take(tn_i_pool *p, size_t bytes, tn_i_slot *slot);
void tn_i_pool_give(tn_i_pool *p, const tn_i_slot *slot);
/* Bytes of the arena so far. */
size_t tn_i_pool_bytes(const tn_i_pool *p);

/* Places for the blocks of a plan, all of whose lives are known, in less memory than the pool found, which saw them one
 * by one; for a plan that takes and gives the same blocks in the same order again (tn_i_pool_same).  false: no much
 * better ones are found, or the blocks are too many.  Deterministic; quadratic in blocks, of which there are few. */
bool tn_i_pool_pack(tn_i_pool_log *log, uint64_t top);
bool tn_i_pool_same(const tn_i_pool_log *a, const tn_i_pool_log *b);
void tn_i_pool_log_drop(tn_ctx *c, tn_i_pool_log *log);

#endif
