/* Text that grows, for what writes programs as C. */
#ifndef TN_TEXT_H
#define TN_TEXT_H

#include "base/base.h"

/* Starts as {.ctx = c}.  After TN_ENOMEM (`failed`) nothing is added any more. */
typedef struct tn_i_text {
    tn_ctx *ctx;
    char *at; /* n characters and a 0, once something was written */
    size_t n, room;
    bool failed;
} tn_i_text;

void tn_i_text_add(tn_i_text *t, const char *s, size_t n);
void tn_i_text_put(tn_i_text *t, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void tn_i_text_free(tn_i_text *t);

#endif
