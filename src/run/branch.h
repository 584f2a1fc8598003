/* Choosing among programs while running. */
#ifndef TN_BRANCH_H
#define TN_BRANCH_H

#include "base/base.h"

#include <string.h>

/* The branch that an index (i32, clamped, or bool) names, of n. */
static inline uint32_t tn_i_chosen(const tn_type *t, const void *index, uint32_t n) {
    int32_t i;
    if (t->dtype == TN_BOOL) return *(const uint8_t *)index != 0;
    memcpy(&i, index, sizeof i);
    return i < 0 ? 0 : (uint32_t)i < n ? (uint32_t)i : n - 1;
}

#endif
