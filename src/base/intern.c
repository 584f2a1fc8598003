#include "base/base.h"

#include <string.h>

uint64_t tn_i_hash_u64(uint64_t seed, uint64_t x) {
    uint64_t h = (seed ^ x) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    return h ^ (h >> 29);
}

uint64_t tn_i_hash(uint64_t seed, const void *p, size_t n) {
    const unsigned char *s = p;
    uint64_t h = tn_i_hash_u64(seed, n);
    for (; n >= 8; s += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = tn_i_hash_u64(h, w);
    }
    uint64_t w = 0;
    if (n) memcpy(&w, s, n);
    return tn_i_hash_u64(h, w);
}

/* An entry: its bytes follow the header, so one table serves every kind. */
typedef struct entry {
    uint64_t hash, size;
} entry;

static bool rehash(tn_ctx *c, tn_i_intern *t) {
    uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
    void **slot = tn_i_alloc_array(c, capacity, sizeof *slot);
    if (!slot) return false;
    for (uint32_t i = 0; i < t->capacity; i++) {
        entry *e = t->slot[i];
        if (!e) continue;
        uint32_t at = (uint32_t)e->hash & (capacity - 1);
        while (slot[at]) at = (at + 1) & (capacity - 1);
        slot[at] = e;
    }
    tn_i_free(c, t->slot, t->capacity * sizeof *slot);
    t->slot = slot;
    t->capacity = capacity;
    return true;
}

/* The slot that has the bytes, or would have. */
static uint32_t place(const tn_i_intern *t, uint64_t h, const void *p, size_t n) {
    uint32_t at = (uint32_t)h & (t->capacity - 1);
    for (const entry *e; (e = t->slot[at]) != NULL; at = (at + 1) & (t->capacity - 1))
        if (e->hash == h && e->size == n && memcmp(e + 1, p, n) == 0) break;
    return at;
}

/* What is there already needs no memory. */
static const void *intern(tn_ctx *c, tn_i_intern *t, const void *p, size_t n) {
    uint64_t h = tn_i_hash(0, p, n);
    uint32_t at = t->capacity ? place(t, h, p, n) : 0;
    if (t->capacity && t->slot[at]) return (entry *)t->slot[at] + 1;
    if (2 * (t->count + 1) > t->capacity) {
        if (!rehash(c, t)) return NULL;
        at = place(t, h, p, n);
    }
    entry *e = tn_i_arena_alloc(&c->arena, sizeof *e + n + 1);
    if (!e) return NULL;
    *e = (entry){.hash = h, .size = n};
    if (n) memcpy(e + 1, p, n);
    t->slot[at] = e;
    t->count++;
    return e + 1;
}

const char *tn_i_string(tn_ctx *c, const char *s, size_t n) { return intern(c, &c->strings, s, n); }

const tn_type *tn_i_type(tn_ctx *c, const tn_type *t) {
    tn_type k;
    memset(&k, 0, sizeof k);
    k.dtype = t->dtype;
    k.rank = t->rank;
    for (int i = 0; i < t->rank; i++) k.dim[i] = t->dim[i];
    k.varying = t->varying;
    return intern(c, &c->types, &k, sizeof k);
}

const tn_i_loc *tn_i_loc_of(tn_ctx *c, const char *file, uint32_t line, uint32_t col, const char *scope) {
    tn_i_loc k;
    memset(&k, 0, sizeof k);
    k.file = tn_i_string(c, file ? file : "", file ? strlen(file) : 0);
    k.scope = tn_i_string(c, scope ? scope : "", scope ? strlen(scope) : 0);
    if (!k.file || !k.scope) return NULL;
    k.line = line;
    k.col = col;
    return intern(c, &c->locs, &k, sizeof k);
}
