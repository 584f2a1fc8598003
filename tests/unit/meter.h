/* Contexts whose allocations are counted, and of which one fails. */
#ifndef TN_METER_H
#define TN_METER_H

#include <stddef.h>
#include <stdlib.h>

typedef struct meter {
    size_t calls, fail_at, living; /* fail_at: the number of the call that fails; 0: none */
} meter;

/* tn_ctx_options.realloc with a meter as `user`.  What no machine has is refused before it is asked for. */
static inline void *metered_realloc(void *user, void *p, size_t old_size, size_t new_size) {
    meter *m = user;
    (void)old_size;
    if (new_size == 0) {
        if (p) m->living--;
        free(p);
        return NULL;
    }
    if (++m->calls == m->fail_at || new_size > (size_t)1 << 40) return NULL;
    void *q = realloc(p, new_size);
    if (q && !p) m->living++;
    return q;
}

#endif
