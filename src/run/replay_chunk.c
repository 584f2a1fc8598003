/* Running consecutive steps of a group as one loop program (lower/chunk.c): only what is another address for these
 * steps than for those before is written into its table of addresses. */
#include "run/profile.h"
#include "run/replay_i.h"

#include <string.h>

static uintptr_t *table_of(const group_run *w) { return (uintptr_t *)(w->scratch + w->g->table); }
static int64_t *counts_of(const group_run *w) { return (int64_t *)(w->scratch + w->g->counts); }

/* ---- once ------------------------------------------------------------------------------------------------ */

static bool walks(uintptr_t array, int64_t entry) {
    const tn_i_chain *c = ((const tn_i_handle *)array)->chain;
    return c && !c->repeat && c->entry == (size_t)entry;
}

/* Whether entries are where the programs take them to be: one that stands for all is not. */
static bool entries_walk(const group_run *w, const tn_i_actor *a) {
    bool all = true;
    for (uint32_t k = 0; k < a->shape.nx; k++)
        if (a->source[k].actor == TN_NOVAR && a->source[k].stack)
            all &= walks(operand(w, a, a->shape.x0 + k), a->source[k].entry);
    for (uint32_t k = 0; k < a->nentry; k++)
        if (!a->entry[k].again && a->entry[k].stack) all &= walks(output(w, a, a->shape.y0 + k), a->entry[k].entry);
    return all;
}

static void enter_actor(const group_run *w, const tn_i_actor *a, uintptr_t *table) {
    const tn_i_loop_shape *s = &a->shape;
    if (s->index) table[tn_i_cell_in(a, 0)] = (uintptr_t)w->number;
    for (uint32_t i = 0; i < s->nconst; i++) table[tn_i_cell_in(a, s->index + i)] = operand(w, a, s->const0 + i);
    for (uint32_t k = 0; k < s->nx; k++) table[tn_i_cell_x(a, k)] = w->scratch; /* of those that nobody reads */
    for (uint32_t k = 0; k < a->nleaf; k++) table[tn_i_cell_slot(a, k)] = w->scratch;
    for (uint32_t y = 0; y < a->nentry; y++) {
        table[tn_i_cell_record(a, y)] = w->scratch;
        table[tn_i_cell_entry(a, y)] = a->entry[y].again ? w->scratch + a->entry[y].buffer
                                       : a->self         ? output(w, a, s->y0 + y)
                                                         : w->scratch;
    }
}

bool tn_i_chunks_enter(const group_run *w) {
    const tn_i_group *g = w->g;
    uintptr_t *table = table_of(w);
    bool any = false;
    for (tn_i_chunk_kind kind = 0; kind < TN_CHUNKS; kind++) any |= g->chunk[kind].made.code != NULL;
    if (!any || w->axes) return false;
    for (uint32_t k = 0; k < g->nactor; k++)
        if (!entries_walk(w, &g->actor[k])) return false;
    table[TN_BASE_ABSOLUTE] = 0;
    table[TN_BASE_ARENA] = w->scratch + g->arena;
    table[TN_CELL_COUNTS] = (uintptr_t)counts_of(w);
    for (uint32_t k = 0; k < g->nactor; k++) enter_actor(w, &g->actor[k], table);
    return true;
}

bool tn_i_chunk_made(const group_run *w, tn_i_chunk_kind kind) {
    const tn_i_chunk *k = &w->g->chunk[kind];
    return w->chunks && tn_i_made_for(&k->made, table_of(w)) && !(w->inner.profile && k->calls);
}

/* ---- for some steps ---------------------------------------------------------------------------------------- */

typedef struct chunk {
    const group_run *w;
    tn_i_chunk_run r; /* what is left of it */
    uintptr_t *table;
    int64_t by, slot_by; /* 1 or -1: how numbers of steps go, and slots */
    int64_t n;           /* steps at once, as entries and slots are side by side */
} chunk;

static void at_most(chunk *c, int64_t n) {
    if (n < c->n) c->n = n;
}

/* Backwards, entries are told from the first one in memory on that there would be of as many steps as can be. */
static uintptr_t first_of(const chunk *c, uintptr_t at, int64_t by, int64_t entry) {
    return by < 0 ? at - (uintptr_t)((c->w->g->most - 1) * entry) : at;
}

static int64_t in_page(const tn_i_handle *h, int64_t i, int64_t by) {
    const int64_t at = (h->start + i) % h->chain->per_page;
    return by > 0 ? h->chain->per_page - at : at + 1;
}

static void set_entries(chunk *c, uint32_t cell, uintptr_t array, bool stack, int64_t entry) {
    if (stack) {
        const tn_i_handle *h = (const tn_i_handle *)array;
        at_most(c, in_page(h, c->r.number, c->by));
        array = (uintptr_t)tn_i_stack_entry(h, c->r.number);
    } else if (array)
        array += (uintptr_t)(c->r.number * entry);
    c->table[cell] = array ? first_of(c, array, c->by, entry) : 0;
}

static void set_actor(chunk *c, const tn_i_actor *a) {
    const group_run *w = c->w;
    for (uint32_t k = 0; k < a->shape.nx; k++) {
        const tn_i_source *s = &a->source[k];
        if (s->actor == TN_NOVAR && (a->self || a->reads[a->shape.x0 + k]))
            set_entries(c, tn_i_cell_x(a, k), operand(w, a, a->shape.x0 + k), s->stack, s->entry);
    }
    for (uint32_t y = 0; a->self && y < a->nentry; y++)
        if (!a->entry[y].again)
            set_entries(c, tn_i_cell_entry(a, y), output(w, a, a->shape.y0 + y), a->entry[y].stack, a->entry[y].entry);
}

/* A step goes from one home to the other, and a chunk begins and ends in one. */
static void set_leaves(const chunk *c, const tn_i_actor *a) {
    const bool back = c->r.kind == TN_CHUNK_BACK && a->against;
    tn_i_leaf_at *at = leaves(c->w, a);
    for (uint32_t k = 0; k < a->nleaf; k++) {
        const uintptr_t now = at[k].now;
        if (back && c->r.here) c->table[tn_i_cell_slot(a, k)] = first_of(c, now, -1, (int64_t)c->w->g->slot_bytes);
        if (now != at[k].home[0] && now != at[k].home[1]) {
            at[k].now = at[k].home[0];
            if (!back && a->leaf[k].bytes) memcpy((void *)at[k].now, (const void *)now, a->leaf[k].bytes);
        }
        at[k].into = 0;
        c->table[tn_i_cell_leaf(a, k)] = at[k].now;
        c->table[tn_i_cell_out(a, k)] = at[k].home[at[k].now == at[k].home[0]];
    }
}

/* What is in a slot, as copy_record and each_leaf have it (replay_run.c). */
static void set_slots(const chunk *c, const tn_i_group *g, uintptr_t slot) {
    const tn_i_chunk_kind kind = c->r.kind;
    const bool records = tn_i_chunk_keeps(kind) || kind == TN_CHUNK_USE;
    slot = first_of(c, slot, tn_i_chunk_back(kind) ? -1 : 1, (int64_t)g->slot_bytes);
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *m = &g->actor[k];
        if (!m->against) continue;
        const tn_i_actor *a = tn_i_stand_in(c->w->g, g, k);
        for (uint32_t j = 0; !records && j < m->nleaf; j++) {
            c->table[tn_i_cell_slot(a, tn_i_leaf_number(a, m->leaf[j].leaf))] = slot;
            slot += tn_i_slot_padded(m->leaf[j].bytes);
        }
        for (uint32_t y = 0; records && y < m->nentry; y++) {
            if (!m->entry[y].recorded) continue;
            c->table[tn_i_cell_record(a, y)] = slot;
            slot += tn_i_slot_padded(m->entry[y].bytes);
        }
    }
}

/* false: there is no memory for them. */
static bool find_slots(chunk *c, const tn_i_group *g) {
    unsigned char *at = c->r.at;
    if (!at) {
        const int64_t last = c->r.slot + c->slot_by * (c->n - 1);
        if (!tn_i_slot_at(c->w, g, last > c->r.slot ? last : c->r.slot)) return false;
        at = tn_i_slot_at(c->w, g, c->r.slot);
        if (g->growing) at_most(c, in_page(tn_i_growing_of(c->w, g), c->r.slot, c->slot_by));
    }
    set_slots(c, g, (uintptr_t)at);
    return true;
}

/* As many of the steps that are left as can be done at once. */
static bool find_some(chunk *c) {
    const tn_i_chunk_kind kind = c->r.kind;
    const tn_i_group *g = c->w->g;
    const bool in_slots = kind != TN_CHUNK_FORWARD && kind != TN_CHUNK_ADVANCE && !c->r.here;
    c->n = c->r.n;
    at_most(c, g->most);
    if (in_slots && !find_slots(c, tn_i_chunk_slots(c->w->p, g, kind))) return false;
    for (uint32_t k = 0; k < g->nactor; k++)
        if (tn_i_chunk_step(kind, g->actor[k].against) >= 0) set_actor(c, &g->actor[k]);
    return true;
}

/* As step after step would have. */
static void note(const chunk *c) {
    const int64_t *counter = counts_of(c->w) + 2;
    for (uint32_t k = 0; c->w->inner.profile && k < c->w->g->nactor; k++) {
        const tn_i_actor *a = &c->w->g->actor[k];
        const int step = tn_i_chunk_step(c->r.kind, a->against);
        if (step >= 0) counter = tn_i_profile_steps(&c->w->inner, a->plan[step], c->n, counter);
    }
}

tn_status tn_i_run_chunk(const group_run *w, const tn_i_chunk_run *r) {
    const tn_i_group *g = w->g;
    const bool own = tn_i_chunk_forward(r->kind) || tn_i_chunk_back(r->kind);
    chunk c = {.w = w,
               .r = *r,
               .table = table_of(w),
               .by = self_of(w)->shape.reverse == own ? -1 : 1,
               .slot_by = tn_i_chunk_back(r->kind) ? -1 : 1};
    for (uint32_t k = 0; k < g->nactor; k++)
        if (tn_i_chunk_step(r->kind, g->actor[k].against) >= 0) set_leaves(&c, &g->actor[k]);
    while (c.r.n > 0) {
        if (!find_some(&c)) return tn_i_run_no_memory(&w->inner, &w->p->f->eqn[g->eqn]);
        counts_of(w)[0] = c.n;
        counts_of(w)[1] = c.r.number;
        memset(counts_of(w) + 2, 0, g->chunk[r->kind].counters * sizeof(int64_t));
        const tn_status status =
            tn_i_run_made(&g->chunk[r->kind].made, &w->inner, c.table, w->scratch + g->chunk_scratch);
        note(&c);
        if (status != TN_OK) return status;
        c.r.n -= c.n;
        c.r.number += c.by * c.n;
        c.r.slot += c.slot_by * c.n;
    }
    return TN_OK;
}
