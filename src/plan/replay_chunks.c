/* Which consecutive steps of a group are one loop program, as those of a loop without a schedule are (loop_plan.c), and
 * the table of addresses of these programs. */
#include "plan/planner.h"

int tn_i_chunk_step(tn_i_chunk_kind kind, bool against) {
    static const int8_t step[TN_CHUNKS][2] = {
        [TN_CHUNK_FORWARD] = {TN_PLAIN, -1},         [TN_CHUNK_FORWARD_STORE] = {TN_PLAIN, -1},
        [TN_CHUNK_FORWARD_KEEP] = {TN_RECORDED, -1}, [TN_CHUNK_ADVANCE] = {-1, TN_PLAIN},
        [TN_CHUNK_STORE] = {-1, TN_PLAIN},           [TN_CHUNK_KEEP] = {-1, TN_RECORDED},
        [TN_CHUNK_BACK] = {TN_PLAIN, TN_RECORDED},   [TN_CHUNK_USE] = {TN_PLAIN, -1}};
    return step[kind][against];
}

static const tn_i_actor *self_of(const tn_i_group *g) { return &g->actor[g->nactor - 1]; }

/* Whether the group does such steps at all. */
static bool happens(const tn_i_plan *p, const tn_i_group *g, tn_i_chunk_kind kind) {
    const tn_i_group *slots = tn_i_chunk_slots(p, g, kind);
    if (tn_i_chunk_forward(kind) ? g->schedule || self_of(g)->cond : !g->schedule) return false;
    const tn_i_schedule_slots n = slots ? tn_i_schedule_slots_of(slots->schedule) : (tn_i_schedule_slots){.memory = 0};
    switch (kind) {
    case TN_CHUNK_FORWARD: return true;
    case TN_CHUNK_ADVANCE: return n.states;
    case TN_CHUNK_FORWARD_STORE:
    case TN_CHUNK_STORE: return n.states && !n.records;
    case TN_CHUNK_FORWARD_KEEP:
    case TN_CHUNK_KEEP: return n.records;
    case TN_CHUNK_BACK: return g->leads == TN_NOVAR;
    case TN_CHUNK_USE: return n.records && g->leads == TN_NOVAR;
    default: return false;
    }
}

/* Whether all that walks is told by bytes from one step to the next; *most: of how many steps at most. */
static bool walks(const tn_i_actor *a, int64_t *most) {
    for (uint32_t k = 0; k < a->shape.nx; k++) {
        if (a->source[k].actor == TN_NOVAR && a->source[k].entry < 0) return false;
        *most = tn_i_loop_most(*most, a->source[k].entry);
    }
    for (uint32_t k = 0; k < a->nentry; k++) {
        if (a->entry[k].inner || a->entry[k].entry < 0) return false;
        *most = tn_i_loop_most(*most, a->entry[k].entry);
    }
    return true;
}

static bool is_chunk(const tn_i_group *g, tn_i_chunk_kind kind, tn_i_part_size *all) {
    *all = (tn_i_part_size){.work = 0};
    for (uint32_t k = 0; k < g->nactor; k++) {
        const int step = tn_i_chunk_step(kind, g->actor[k].against);
        if (step >= 0 && !tn_i_part_steps(g->actor[k].plan[step], all)) return false;
    }
    return tn_i_part_is_one(all);
}

static void number_cells(tn_i_group *g) {
    g->ncell = TN_CELL_ACTORS;
    for (uint32_t k = 0; k < g->nactor; k++) {
        tn_i_actor *a = &g->actor[k];
        a->cell = g->ncell;
        g->ncell = tn_i_cell_entry(a, a->nentry);
    }
}

/* All or none: snapshots that others take are where chunks find them. */
void tn_i_find_chunks(const tn_i_plan *p, tn_i_group *g) {
    g->most = tn_i_loop_most(INT64_MAX, (int64_t)g->slot_bytes);
    if (g->leads != TN_NOVAR) g->most = tn_i_loop_most(g->most, (int64_t)p->group[g->leads].slot_bytes);
    for (uint32_t k = 0; k < g->nactor; k++)
        if (!walks(&g->actor[k], &g->most)) return;
    if (g->most < 2) return;
    bool all = true;
    for (tn_i_chunk_kind kind = 0; kind < TN_CHUNKS; kind++) {
        tn_i_part_size one;
        if (!happens(p, g, kind)) continue;
        g->chunk[kind] = (tn_i_chunk){
            .is = is_chunk(g, kind, &one), .first = one.first, .counters = one.counters, .calls = one.calls};
        all &= g->chunk[kind].is;
        if (one.keeps + one.registers > g->nchunk_scratch) g->nchunk_scratch = one.keeps + one.registers;
        if (one.counters > g->ncounter) g->ncounter = one.counters;
    }
    for (tn_i_chunk_kind kind = 0; kind < TN_CHUNKS; kind++) {
        g->chunk[kind].is &= all;
        g->chunks |= g->chunk[kind].is;
    }
    if (g->chunks) number_cells(g);
}
