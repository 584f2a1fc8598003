#include "ir/seen.h"

void tn_i_seen_init(tn_i_seen *s, tn_ctx *c) { *s = (tn_i_seen){.ctx = c}; }

void tn_i_seen_free(tn_i_seen *s) {
    tn_i_free(s->ctx, (void *)s->fn, s->capacity * sizeof *s->fn);
    tn_i_free(s->ctx, s->slot, s->slots * sizeof *s->slot);
    tn_i_seen_init(s, s->ctx);
}

static size_t place(const uint32_t *slot, size_t slots, const tn_fn *const *fn, const tn_fn *f) {
    size_t at = (size_t)tn_i_hash_u64(0, (uint64_t)(uintptr_t)f) & (slots - 1);
    while (slot[at] && fn[slot[at] - 1] != f) at = (at + 1) & (slots - 1);
    return at;
}

static bool grow(tn_i_seen *s) {
    size_t slots = s->slots ? 2 * s->slots : 16;
    if (2 * (s->n + 1) <= s->slots) return true;
    uint32_t *slot = tn_i_alloc_array(s->ctx, slots, sizeof *slot);
    if (!slot) return false;
    for (uint32_t i = 0; i < s->n; i++) slot[place(slot, slots, s->fn, s->fn[i])] = i + 1;
    tn_i_free(s->ctx, s->slot, s->slots * sizeof *s->slot);
    s->slot = slot;
    s->slots = slots;
    return true;
}

bool tn_i_seen_add(tn_i_seen *s, const tn_fn *f, uint32_t *number, bool *fresh) {
    if (!grow(s)) return false;
    size_t at = place(s->slot, s->slots, s->fn, f);
    *fresh = s->slot[at] == 0;
    if (*fresh) {
        if (!tn_i_grow(s->ctx, (void **)(void *)&s->fn, &s->capacity, s->n + 1, sizeof *s->fn)) return false;
        s->fn[s->n++] = f;
        s->slot[at] = (uint32_t)s->n;
    }
    *number = s->slot[at] - 1;
    return true;
}

static bool look(const tn_fn *f, bool (*is)(const tn_i_eqn *e), tn_i_seen *seen, bool *found) {
    for (uint32_t i = 0; i < f->neqn && !*found; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        *found = is(e);
        for (uint32_t k = 0; e->params && k < e->params->n && !*found; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n && !*found; j++) {
                uint32_t number;
                bool fresh;
                if (!tn_i_seen_add(seen, g[j], &number, &fresh) || (fresh && !look(g[j], is, seen, found)))
                    return false;
            }
        }
    }
    return true;
}

bool tn_i_any_equation(const tn_fn *f, bool (*is)(const tn_i_eqn *e), bool *found) {
    tn_i_seen seen;
    *found = false;
    tn_i_seen_init(&seen, f->ctx);
    const bool ok = look(f, is, &seen, found);
    tn_i_seen_free(&seen);
    return ok;
}
