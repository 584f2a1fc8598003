#include "ir/memo.h"

#include <string.h>

void tn_i_memo_init(tn_i_memo *m, tn_ctx *c) { *m = (tn_i_memo){.ctx = c}; }

static void entry_free(tn_ctx *c, tn_i_memo_entry *e) {
    if (!e) return;
    tn_i_fn_unref(e->f);
    tn_i_fn_unref(e->result[0]);
    tn_i_fn_unref(e->result[1]);
    tn_i_free(c, e->key, e->nkey);
    tn_i_free(c, e->flags, e->nflags);
    tn_i_free(c, e, sizeof *e);
}

void tn_i_memo_free(tn_i_memo *m) {
    for (size_t i = 0; i < m->capacity; i++) entry_free(m->ctx, m->slot[i]);
    tn_i_free(m->ctx, m->slot, m->capacity * sizeof *m->slot);
    *m = (tn_i_memo){.ctx = m->ctx};
}

static uint64_t hash_key(const void *kind, const tn_fn *f, const void *key, size_t nkey) {
    uint64_t h = tn_i_hash_u64((uint64_t)(uintptr_t)kind, (uint64_t)(uintptr_t)f);
    return tn_i_hash(h, key, nkey);
}

const tn_i_memo_entry *tn_i_memo_find(const tn_i_memo *m, const void *kind, const tn_fn *f, const void *key,
                                      size_t nkey) {
    if (!m->capacity) return NULL;
    uint64_t h = hash_key(kind, f, key, nkey);
    for (size_t at = h & (m->capacity - 1); m->slot[at]; at = (at + 1) & (m->capacity - 1)) {
        const tn_i_memo_entry *e = m->slot[at];
        if (e->hash == h && e->kind == kind && e->f == f && e->nkey == nkey &&
            (nkey == 0 || memcmp(e->key, key, nkey) == 0))
            return e;
    }
    return NULL;
}

static bool grow(tn_i_memo *m) {
    if (2 * (m->count + 1) <= m->capacity) return true;
    size_t capacity = m->capacity ? 2 * m->capacity : 16;
    tn_i_memo_entry **slot = tn_i_alloc_array(m->ctx, capacity, sizeof *slot);
    if (!slot) return false;
    for (size_t i = 0; i < m->capacity; i++) {
        if (!m->slot[i]) continue;
        size_t at = m->slot[i]->hash & (capacity - 1);
        while (slot[at]) at = (at + 1) & (capacity - 1);
        slot[at] = m->slot[i];
    }
    tn_i_free(m->ctx, m->slot, m->capacity * sizeof *slot);
    m->slot = slot;
    m->capacity = capacity;
    return true;
}

const tn_i_memo_entry *tn_i_memo_add(tn_i_memo *m, const void *kind, const tn_fn *f, const void *key, size_t nkey,
                                     tn_fn *r0, tn_fn *r1, const void *flags, size_t nflags) {
    tn_ctx *c = m->ctx;
    tn_i_memo_entry *e = tn_i_alloc(c, sizeof *e);
    unsigned char *k = tn_i_alloc(c, nkey), *g = tn_i_alloc(c, nflags);
    if (!e || !k || !g || !grow(m)) {
        tn_i_free(c, e, sizeof *e);
        tn_i_free(c, k, nkey);
        tn_i_free(c, g, nflags);
        tn_i_fn_unref(r0);
        tn_i_fn_unref(r1);
        return NULL;
    }
    if (nkey) memcpy(k, key, nkey);
    if (nflags) memcpy(g, flags, nflags);
    *e = (tn_i_memo_entry){.hash = hash_key(kind, f, key, nkey),
                           .kind = kind,
                           .f = tn_i_fn_ref(f),
                           .nkey = nkey,
                           .nflags = nflags,
                           .key = k,
                           .result = {r0, r1},
                           .flags = g};
    size_t at = e->hash & (m->capacity - 1);
    while (m->slot[at]) at = (at + 1) & (m->capacity - 1);
    m->slot[at] = e;
    m->count++;
    return e;
}
