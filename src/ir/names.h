/* A table of names in a text, which must outlive it. */
#ifndef TN_NAMES_H
#define TN_NAMES_H

#include "base/base.h"

typedef struct tn_i_named {
    const char *at;
    uint32_t n, value; /* at NULL: free */
} tn_i_named;

typedef struct tn_i_names {
    tn_ctx *ctx;
    tn_i_named *slot;
    size_t n, slots;
} tn_i_names;

void tn_i_names_init(tn_i_names *t, tn_ctx *c);
void tn_i_names_free(tn_i_names *t);
/* The name's value, or UINT32_MAX. */
uint32_t tn_i_names_find(const tn_i_names *t, const char *at, size_t n);
/* Adds a name that is not there yet; false after TN_ENOMEM. */
bool tn_i_names_add(tn_i_names *t, const char *at, size_t n, uint32_t value);

#endif
