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

typedef struct tn_i_pool_node {
    uint64_t at, size;      /* in units of TN_ARENA_ALIGN */
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
} tn_i_pool;

void tn_i_pool_init(tn_i_pool *p, tn_ctx *c);
void tn_i_pool_drop(tn_i_pool *p);
/* Room for bytes > 0; false after TN_ENOMEM or TN_EOVERFLOW. */
bool tn_i_pool_take(tn_i_pool *p, size_t bytes, tn_i_slot *slot);
void tn_i_pool_give(tn_i_pool *p, const tn_i_slot *slot);
/* Bytes of the arena so far. */
size_t tn_i_pool_bytes(const tn_i_pool *p);

#endif
