#include "run/pages.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE ((size_t)2 << 20)

/* A wish: a system without large pages, or with none left, goes on with small ones. */
static void ask_for_large(unsigned char *p, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const size_t lost = (LARGE - (uintptr_t)p % LARGE) % LARGE;
    if (bytes < lost + LARGE) return;
    (void)madvise(p + lost, (bytes - lost) / LARGE * LARGE, MADV_HUGEPAGE);
#else
    (void)p, (void)bytes;
#endif
}

void *tn_i_workspace_alloc(tn_ctx *c, size_t bytes) {
    const size_t n = bytes ? bytes : 1;
    void *p = tn_i_alloc_raw(c, n);
    if (!p) return NULL;
    if (n >= 2 * LARGE) ask_for_large(p, n);
    return memset(p, 0, n);
}
