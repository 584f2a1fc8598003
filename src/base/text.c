#include "base/text.h"

#include <stdio.h>
#include <string.h>

static bool reserve(tn_i_text *t, size_t more) {
    size_t want;
    if (t->failed) return false;
    if (tn_i_add(t->n, more, &want) && tn_i_add(want, 1, &want) &&
        tn_i_grow(t->ctx, (void **)(void *)&t->at, &t->room, want, 1))
        return true;
    t->failed = true;
    return false;
}

void tn_i_text_add(tn_i_text *t, const char *s, size_t n) {
    if (!reserve(t, n)) return;
    memcpy(t->at + t->n, s, n);
    t->n += n;
    t->at[t->n] = 0;
}

void tn_i_text_put(tn_i_text *t, const char *fmt, ...) {
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n < 0) return;
    if ((size_t)n < sizeof line) {
        tn_i_text_add(t, line, (size_t)n);
        return;
    }
    if (!reserve(t, (size_t)n)) return;
    va_start(ap, fmt);
    (void)vsnprintf(t->at + t->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    t->n += (size_t)n;
}

void tn_i_text_free(tn_i_text *t) {
    tn_i_free(t->ctx, t->at, t->room);
    *t = (tn_i_text){.ctx = t->ctx};
}
