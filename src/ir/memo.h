/* Nested programs already transformed in one walk, so that a shared program is
 * transformed once however often and however deep it is called. */
#ifndef TN_MEMO_H
#define TN_MEMO_H

#include "ir/ir.h"

typedef struct tn_i_memo {
    tn_ctx *ctx;
    struct tn_i_memo_entry **slot;
    size_t count, capacity;
} tn_i_memo;

typedef struct tn_i_memo_entry {
    uint64_t hash;
    const void *kind;     /* address that tells transformations apart */
    const tn_fn *f;       /* held */
    size_t nkey, nflags;  /* bytes */
    unsigned char *key;   /* what else the result depends on, e.g. the active mask */
    tn_fn *result[2];     /* held by the memo; [1] may be NULL */
    unsigned char *flags; /* facts about the result, e.g. which outputs are active */
} tn_i_memo_entry;

void tn_i_memo_init(tn_i_memo *m, tn_ctx *c);
void tn_i_memo_free(tn_i_memo *m);
const tn_i_memo_entry *tn_i_memo_find(const tn_i_memo *m, const void *kind, const tn_fn *f, const void *key,
                                      size_t nkey);
/* Takes the results over (also on failure); NULL after TN_ENOMEM. */
const tn_i_memo_entry *tn_i_memo_add(tn_i_memo *m, const void *kind, const tn_fn *f, const void *key, size_t nkey,
                                     tn_fn *r0, tn_fn *r1, const void *flags, size_t nflags);

#endif
