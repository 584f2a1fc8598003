#include "ir/names.h"

#include <string.h>

void tn_i_names_init(tn_i_names *t, tn_ctx *c) { *t = (tn_i_names){.ctx = c}; }

void tn_i_names_free(tn_i_names *t) {
    tn_i_free(t->ctx, t->slot, t->slots * sizeof *t->slot);
    tn_i_names_init(t, t->ctx);
}

static size_t place(const tn_i_named *slot, size_t slots, const char *at, size_t n) {
    size_t k = (size_t)tn_i_hash(0, at, n) & (slots - 1);
    while (slot[k].at && (slot[k].n != n || memcmp(slot[k].at, at, n) != 0)) k = (k + 1) & (slots - 1);
    return k;
}

uint32_t tn_i_names_find(const tn_i_names *t, const char *at, size_t n) {
    if (!t->slots) return UINT32_MAX;
    const tn_i_named *e = &t->slot[place(t->slot, t->slots, at, n)];
    return e->at ? e->value : UINT32_MAX;
}

static bool grow(tn_i_names *t) {
    if (3 * (t->n + 1) <= 2 * t->slots) return true;
    const size_t slots = t->slots ? 2 * t->slots : 16;
    tn_i_named *slot = tn_i_alloc_array(t->ctx, slots, sizeof *slot);
    if (!slot) return false;
    for (size_t i = 0; i < t->slots; i++)
        if (t->slot[i].at) slot[place(slot, slots, t->slot[i].at, t->slot[i].n)] = t->slot[i];
    tn_i_free(t->ctx, t->slot, t->slots * sizeof *t->slot);
    t->slot = slot;
    t->slots = slots;
    return true;
}

bool tn_i_names_add(tn_i_names *t, const char *at, size_t n, uint32_t value) {
    if (n > UINT32_MAX) {
        (void)tn_i_fail(t->ctx, TN_ELIMIT, NULL, "a name of %zu bytes", n);
        return false;
    }
    if (!grow(t)) return false;
    t->slot[place(t->slot, t->slots, at, n)] = (tn_i_named){.at = at, .n = (uint32_t)n, .value = value};
    t->n++;
    return true;
}
