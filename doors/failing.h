/* Allocations that are counted and fail, for the tests of doors: the context's, and a door's own. */
#ifndef DOORS_FAILING_H
#define DOORS_FAILING_H

#include <tansy.h>

#include <stdlib.h>

/* ---- a context's ------------------------------------------------------------------------ */

typedef struct counter {
    long calls, fail_at; /* 0: never */
} counter;

static inline void *counted(void *user, void *p, size_t old_size, size_t new_size) {
    counter *k = user;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    if (++k->calls == k->fail_at) return NULL;
    return realloc(p, new_size);
}

static inline tn_ctx *counting(counter *k) {
    return tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .realloc = counted, .user = k, .check = -1});
}

/* ---- a door's ---------------------------------------------------------------------------- */

/* Linked with --wrap (mk/doors.mk): of the library's own allocations the one numbered fail_own fails. */
static long own, fail_own;
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) { return ++own == fail_own ? NULL : __real_calloc(n, size); }
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) { return ++own == fail_own ? NULL : __real_malloc(size); }

#endif
