/* Consecutive steps of a group (exec/replay.h) as one loop program: a FOR over as many as are found when it runs, in
 * which the steps of all its loops follow each other, with what is stored in slots or read there.
 *
 * All chunks of a group have one table of addresses.  What one loop makes and another reads has one entry of it, so
 * that passes see that it is the same memory; a state in a slot is read there where a step leaves it as it is. */
#include "lower/nest_i.h"

#include "exec/replay.h"

typedef struct chunk {
    tn_i_l_builder *b;
    const tn_i_plan *p;
    const tn_i_group *g, *slots; /* slots: whose they are, or NULL */
    tn_i_chunk_kind kind;
    uint32_t counts;
    int64_t *by;        /* of each entry of the table */
    uint32_t *at;       /* of each entry that a step's plan knows: which it is of the table */
    int64_t *part_by;   /* likewise: its by */
    tn_i_lower_steps s; /* of the table */
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

static void find_movers(chunk *w) {
    const tn_i_group *g = w->g;
    const int64_t sign = w->s.reverse ? -1 : 1, slot = w->slots ? (int64_t)w->slots->slot_bytes : 0;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *a = &g->actor[i];
        for (uint32_t k = 0; k < a->shape.nx; k++) w->by[tn_i_cell_x(a, k)] = sign * a->source[k].entry;
        for (uint32_t k = 0; k < a->nentry; k++) {
            w->by[tn_i_cell_entry(a, k)] = sign * a->entry[k].entry;
            w->by[tn_i_cell_record(a, k)] = tn_i_chunk_back(w->kind) ? -slot : slot;
        }
        for (uint32_t k = 0; k < a->nleaf; k++) w->by[tn_i_cell_slot(a, k)] = tn_i_chunk_back(w->kind) ? -slot : slot;
    }
}

/* ---- copies ------------------------------------------------------------------------------------------------ */

static void copy(const chunk *w, const tn_i_actor *a, uint32_t leaf, uint32_t from, uint32_t to) {
    const tn_i_lower_part z = {.b = w->b, .p = w->p, .s = w->s};
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
static void find_entries(chunk *w, const tn_i_actor *a, int step) {
    uint32_t *at = w->at;
    *at++ = TN_BASE_ABSOLUTE;
    *at++ = TN_BASE_ARENA;
    for (uint32_t i = 0; i < a->shape.index + a->shape.nconst; i++) *at++ = tn_i_cell_in(a, i);
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = leaf_cell(w, a, k);
    for (uint32_t k = 0; k < a->shape.nx; k++) {
        const tn_i_source *s = &a->source[k];
        *at++ = s->actor == TN_NOVAR ? tn_i_cell_x(a, k) : entry_cell(w, &w->g->actor[s->actor], s->y);
    }
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = tn_i_cell_out(a, k);
    for (uint32_t y = 0; y < a->nentry; y++)
        if (a->entry[y].made[step]) *at++ = entry_cell(w, a, y);
    for (uint32_t i = 0; i < (uint32_t)(at - w->at); i++) w->part_by[i] = w->by[w->at[i]];
}

static void part(chunk *w, const tn_i_actor *a) {
    const int step = step_of(w, a);
    if (step < 0) return;
    tn_i_lower_part z = {.b = w->b, .p = a->plan[step], .s = w->s};
    z.s.at = w->at;
    z.s.by = w->part_by;
    find_entries(w, a, step);
    if (a->shape.index) tn_i_lower_number(&z, w->counts);
    tn_i_lower_plan(&z);
}

static void each(chunk *w, bool against, void (*what)(chunk *, const tn_i_actor *)) {
    for (uint32_t k = 0; k < w->g->nactor && !w->b->failed; k++)
        if (w->g->actor[k].against == against) what(w, &w->g->actor[k]);
}

static void steps(chunk *w) {
    tn_i_l_builder *b = w->b;
    w->counts = tn_i_l_array_new(b, "counts", TN_I64, TN_L_IN, 2, TN_CELL_COUNTS, 0, 0);
    w->s.loop = tn_i_l_for_up_to(b, w->s.n, tn_i_affine_number(0), tn_i_l_load_at(b, w->counts, tn_i_affine_number(0)));
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

bool tn_i_lower_admits_chunk(const tn_i_group *g, tn_i_chunk_kind kind) {
    for (uint32_t k = 0; k < g->nactor; k++) {
        const int step = tn_i_chunk_step(kind, g->actor[k].against);
        if (step >= 0 && !tn_i_lower_admits_plan(g->actor[k].plan[step])) return false;
    }
    return true;
}

const tn_i_nest *tn_i_lower_chunk_nest(const tn_i_group *g, tn_i_chunk_kind kind) {
    for (uint32_t k = 0; k < g->nactor; k++) {
        const int step = tn_i_chunk_step(kind, g->actor[k].against);
        if (step >= 0 && g->actor[k].plan[step]->nstep) return g->actor[k].plan[step]->step[0].u.nest;
    }
    return NULL;
}

tn_i_loops *tn_i_lower_chunk(tn_ctx *c, const tn_i_plan *p, const tn_i_group *g, tn_i_chunk_kind kind) {
    tn_i_l_builder b;
    chunk w = {.b = &b, .p = p, .g = g, .slots = tn_i_chunk_slots(p, g, kind), .kind = kind};
    const bool own = tn_i_chunk_forward(kind) || tn_i_chunk_back(kind);
    tn_i_l_begin(&b, c);
    tn_i_l_arena(&b, TN_LOWER_SCRATCH, 0);
    w.by = tn_i_alloc_array(c, g->ncell, sizeof *w.by);
    w.part_by = tn_i_alloc_array(c, g->ncell, sizeof *w.part_by);
    w.at = tn_i_alloc_array(c, g->ncell, sizeof *w.at);
    if (!w.by || !w.part_by || !w.at) b.failed = true;
    if (!b.failed) {
        w.s = (tn_i_lower_steps){
            .every = 1, .n = g->most, .reverse = g->actor[g->nactor - 1].shape.reverse == own, .by = w.by};
        find_movers(&w);
        steps(&w);
    }
    tn_i_free(c, w.at, g->ncell * sizeof *w.at);
    tn_i_free(c, w.part_by, g->ncell * sizeof *w.part_by);
    tn_i_free(c, w.by, g->ncell * sizeof *w.by);
    return tn_i_l_end(&b);
}
