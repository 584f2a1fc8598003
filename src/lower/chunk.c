/* Consecutive steps of a group (plan/replay.h) as one loop program: a FOR over as many as are found when it runs, in
 * which the steps of all its loops follow each other, with what is stored in slots or read there.
 *
 * All chunks of a group have one table of addresses.  What one loop makes and another reads has one entry of it, so
 * that passes see that it is the same memory; a state in a slot is read there where a step leaves it as it is. */
#include "lower/nest_i.h"

#include "plan/replay.h"

typedef struct chunk {
    tn_i_l_builder *b;
    const tn_i_plan *p;
    const tn_i_group *g, *slots; /* slots: whose they are, or NULL */
    tn_i_chunk_kind kind;
    uint32_t counts;
    tn_i_lower_counters counters;
    tn_i_lower_place *table; /* each entry of the table, in a step */
    tn_i_lower_place *now;   /* each entry that a step's plan knows */
    tn_i_lower_steps s;
} chunk;

static int step_of(const chunk *w, const tn_i_actor *a) { return tn_i_chunk_step(w->kind, a->against); }

/* ---- where things are ------------------------------------------------------------------------------------ */

/* What enters a step of a. */
static uint32_t leaf_cell(const chunk *w, const tn_i_actor *a, uint32_t k) {
    const bool there = w->kind == TN_CHUNK_BACK && a->against && a->leaf[k].loose;
    return there ? tn_i_cell_slot(a, k) : tn_i_cell_leaf(a, k);
}

static bool goes_to_record(const chunk *w, const tn_i_actor *a, uint32_t y) {
    for (uint32_t k = 0; tn_i_chunk_keeps(w->kind) && k < w->slots->nactor; k++) {
        const tn_i_actor *m = &w->slots->actor[k]; /* of the same loop, if it is */
        if (m->against && tn_i_stand_in(w->g, w->slots, k) == a) return m->entry[y].recorded;
    }
    return false;
}

static uint32_t entry_cell(const chunk *w, const tn_i_actor *a, uint32_t y) {
    if (w->kind == TN_CHUNK_USE && a->against) return tn_i_cell_record(a, y);
    if (a->entry[y].entering != TN_NOVAR) return leaf_cell(w, a, a->entry[y].entering);
    return goes_to_record(w, a, y) ? tn_i_cell_record(a, y) : tn_i_cell_entry(a, y);
}

static void walk(chunk *w, uint32_t cell, int64_t by) { tn_i_lower_walk(&w->table[cell], &w->s, by); }

static void enter_table(chunk *w) {
    const tn_i_group *g = w->g;
    const int64_t sign = w->s.reverse ? -1 : 1, size = w->slots ? (int64_t)w->slots->slot_bytes : 0,
                  slot = tn_i_chunk_back(w->kind) ? -size : size;
    for (uint32_t i = 0; i < g->ncell; i++) w->table[i] = (tn_i_lower_place){.base = i};
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *a = &g->actor[i];
        for (uint32_t k = 0; k < a->shape.nx; k++) walk(w, tn_i_cell_x(a, k), sign * a->source[k].entry);
        for (uint32_t k = 0; k < a->nentry; k++) {
            walk(w, tn_i_cell_entry(a, k), sign * a->entry[k].entry);
            walk(w, tn_i_cell_record(a, k), slot);
        }
        for (uint32_t k = 0; k < a->nleaf; k++) walk(w, tn_i_cell_slot(a, k), slot);
    }
}

/* ---- copies ------------------------------------------------------------------------------------------------ */

static void copy(const chunk *w, const tn_i_actor *a, uint32_t leaf, uint32_t from, uint32_t to) {
    const tn_i_lower_part z = {.b = w->b, .p = w->p, .frame = w->table};
    tn_i_lower_copy(&z, w->p->f->val[w->p->f->eqn[a->eqn].out + a->leaf[leaf].leaf].type,
                    &(tn_i_place){.base = from, .stride = TN_DENSE}, &(tn_i_place){.base = to, .stride = TN_DENSE});
}

/* The states that enter a step, to its slot. */
static void store(const chunk *w) {
    for (uint32_t k = 0; k < w->slots->nactor; k++) {
        const tn_i_actor *m = &w->slots->actor[k];
        for (uint32_t j = 0; m->against && j < m->nleaf; j++) {
            const tn_i_actor *a = tn_i_stand_in(w->g, w->slots, k);
            const uint32_t leaf = tn_i_leaf_number(a, m->leaf[j].leaf);
            copy(w, a, leaf, tn_i_cell_leaf(a, leaf), tn_i_cell_slot(a, leaf));
        }
    }
}

/* What of a record has no memory but that of the state that enters the step. */
static void keep_entering(const chunk *w, const tn_i_actor *a) {
    for (uint32_t y = 0; y < a->nentry; y++)
        if (a->entry[y].entering != TN_NOVAR && goes_to_record(w, a, y))
            copy(w, a, a->entry[y].entering, tn_i_cell_leaf(a, a->entry[y].entering), tn_i_cell_record(a, y));
}

static void load(const chunk *w, const tn_i_actor *a) {
    for (uint32_t k = 0; a->against && k < a->nleaf; k++)
        if (!a->leaf[k].loose) copy(w, a, k, tn_i_cell_slot(a, k), tn_i_cell_leaf(a, k));
}

static void carry_on(const chunk *w, const tn_i_actor *a) {
    const int step = step_of(w, a);
    if (step < 0 || (w->kind == TN_CHUNK_BACK && a->against)) return;
    for (uint32_t k = 0; k < a->nleaf; k++)
        if (!a->plan[step]->kept[k]) copy(w, a, k, tn_i_cell_out(a, k), tn_i_cell_leaf(a, k));
}

/* ---- steps -------------------------------------------------------------------------------------------------- */

/* Which entry of the table each is that the plan of a's step knows. */
static void enter_step(const chunk *w, const tn_i_actor *a, int step) {
    tn_i_lower_place *at = w->now;
    *at++ = w->table[TN_BASE_ABSOLUTE];
    *at++ = w->table[TN_BASE_ARENA];
    for (uint32_t i = 0; i < a->shape.index + a->shape.nconst; i++) *at++ = w->table[tn_i_cell_in(a, i)];
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = w->table[leaf_cell(w, a, k)];
    for (uint32_t k = 0; k < a->shape.nx; k++) {
        const tn_i_source *s = &a->source[k];
        *at++ = w->table[s->actor == TN_NOVAR ? tn_i_cell_x(a, k) : entry_cell(w, &w->g->actor[s->actor], s->y)];
    }
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = w->table[tn_i_cell_out(a, k)];
    for (uint32_t y = 0; y < a->nentry; y++)
        if (a->entry[y].made[step]) *at++ = w->table[entry_cell(w, a, y)];
}

static void part(chunk *w, const tn_i_actor *a) {
    const int step = step_of(w, a);
    if (step < 0) return;
    const tn_i_lower_part z = {.b = w->b, .p = a->plan[step], .frame = w->now, .counters = &w->counters};
    enter_step(w, a, step);
    if (a->shape.index) tn_i_lower_number(&z, &w->s, w->counts);
    tn_i_lower_plan(&z);
}

static void each(chunk *w, bool against, void (*what)(chunk *, const tn_i_actor *)) {
    for (uint32_t k = 0; k < w->g->nactor && !w->b->failed; k++)
        if (w->g->actor[k].against == against) what(w, &w->g->actor[k]);
}

static void steps(chunk *w) {
    tn_i_l_builder *b = w->b;
    const uint32_t counted = w->g->chunk[w->kind].counters;
    w->counts = tn_i_l_array_new(b, "counts", TN_I64, counted ? TN_L_OUT : TN_L_IN, 2 + counted, TN_CELL_COUNTS, 0, 0);
    w->counters = (tn_i_lower_counters){.array = counted ? w->counts : TN_L_NONE, .next = 2};
    w->s.loop = tn_i_l_for_up_to(b, w->s.n, tn_i_affine_number(0), tn_i_l_load_at(b, w->counts, tn_i_affine_number(0)));
    enter_table(w);
    if (tn_i_chunk_stores(w->kind)) store(w);
    for (uint32_t k = 0; k < w->g->nactor && !b->failed; k++) {
        if (tn_i_chunk_keeps(w->kind)) keep_entering(w, &w->g->actor[k]);
        if (w->kind == TN_CHUNK_BACK) load(w, &w->g->actor[k]);
    }
    each(w, true, part);
    each(w, false, part);
    for (uint32_t k = 0; k < w->g->nactor && !b->failed; k++) carry_on(w, &w->g->actor[k]);
    tn_i_l_close(b);
}

tn_i_loops *tn_i_lower_chunk(tn_ctx *c, const tn_i_plan *p, const tn_i_group *g, tn_i_chunk_kind kind) {
    tn_i_l_builder b;
    chunk w = {.b = &b, .p = p, .g = g, .slots = tn_i_chunk_slots(p, g, kind), .kind = kind};
    const bool own = tn_i_chunk_forward(kind) || tn_i_chunk_back(kind);
    tn_i_l_begin(&b, c);
    tn_i_l_arena(&b, TN_LOWER_SCRATCH, 0);
    w.table = tn_i_alloc_array(c, 2 * (size_t)g->ncell, sizeof *w.table);
    if (!w.table) b.failed = true;
    if (!b.failed) {
        w.now = w.table + g->ncell;
        w.s = (tn_i_lower_steps){.every = 1, .n = g->most, .reverse = g->actor[g->nactor - 1].shape.reverse == own};
        steps(&w);
    }
    tn_i_free(c, w.table, 2 * (size_t)g->ncell * sizeof *w.table);
    return tn_i_l_end(&b);
}
