/* An allocator that fails when asked to, and trusts nobody: it knows each block's size, moves every block that
 * grows, and fills what is fresh or released with garbage. */
#ifndef TN_FAULT_MEMORY_H
#define TN_FAULT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef enum fault_mode {
    FAULT_ONE, /* the k-th allocation fails, later ones succeed */
    FAULT_ALL  /* the k-th and all later ones fail */
} fault_mode;

typedef struct memory {
    struct block *blocks; /* those outstanding, doubly linked */
    size_t bytes;         /* outstanding */
    size_t calls;         /* allocations asked for since arm or disarm */
    size_t fail_at;       /* counted from 1; 0: none fails */
    fault_mode mode;
    size_t failed;   /* allocations that failed since arm */
    char wrong[256]; /* the first wrong use: a size that is not the block's, a block that is none, .. */
} memory;

/* As tn_ctx_options.realloc wants it; `user` is the memory. */
void *memory_realloc(void *user, void *p, size_t old_size, size_t new_size);

void memory_arm(memory *m, size_t fail_at, fault_mode mode);
void memory_disarm(memory *m);

/* Gives back what was leaked, so that one leak is reported once. */
void memory_release(memory *m);

#endif
