/* Planning a group: the programs of its loops, the buffers between them, and the memory of snapshots. */
#include "plan/planner.h"

#include "control/loops/loop.h"

#include <string.h>

static const tn_i_eqn *equation(const tn_i_planner *z, const tn_i_actor *a) { return &z->f->eqn[a->eqn]; }

static const tn_type *operand_type(const tn_i_planner *z, const tn_i_actor *a, uint32_t i) {
    return z->f->val[tn_i_in(z->f, equation(z, a))[i]].type;
}

static bool take(size_t *end, size_t bytes, size_t *at) {
    const size_t unit = bytes <= 8 ? 8 : TN_ARENA_ALIGN;
    if (!tn_i_add(*end, unit - 1, at)) return false;
    *at &= ~(unit - 1);
    return tn_i_add(*at, bytes, end);
}

/* ---- operands ------------------------------------------------------------------------ */

/* Where a loop's operands are; what the loop that the group is for carries begins where its outputs are. */
static bool place_operands(tn_i_planner *z, tn_i_actor *a) {
    tn_i_plan *p = z->p;
    const tn_i_eqn *e = equation(z, a);
    if (!tn_i_grow(z->ctx, (void **)&p->arg, &p->carg, p->narg + e->nin, sizeof *p->arg)) return false;
    a->arg = (uint32_t)p->narg;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(z->f, e)[i];
        const bool known = (a->self || a->reads[i]) && !tn_i_again(z, v);
        p->arg[p->narg++] = known ? p->place[v] : (tn_i_place){.stride = TN_DENSE};
    }
    for (uint32_t j = 0; a->self && j < a->shape.ncarry; j++) {
        const uint32_t i = a->shape.carry0 + j;
        const tn_i_place from = p->arg[a->arg + i], to = p->place[e->out + j];
        p->arg[a->arg + i] = to;
        if (tn_i_empty(operand_type(z, a, i)) || (from.base == to.base && from.offset == to.offset)) continue;
        if (!tn_i_step_move(z, a->eqn, tn_i_in(z->f, e)[i], &from, &to)) return false;
    }
    for (uint32_t k = 0; k < a->shape.nx; k++) {
        tn_i_source *s = &a->source[k];
        const uint32_t i = a->shape.x0 + k;
        if (s->actor == TN_NOVAR && (a->self || a->reads[i]))
            s->stack = tn_i_loop_walk(z, operand_type(z, a, i), &p->arg[a->arg + i], &s->by);
        s->entry = s->stack ? tn_i_loop_entry(operand_type(z, a, i)) : s->by;
    }
    for (uint32_t k = 0; a->self && k < a->nentry; k++) {
        const tn_i_var v = e->out + a->shape.y0 + k;
        tn_i_entry *y = &a->entry[k];
        if (y->again) continue;
        y->stack = tn_i_loop_walk(z, z->f->val[v].type, &p->place[v], &y->by);
        y->entry = y->stack ? tn_i_loop_entry(z->f->val[v].type) : y->by;
    }
    return true;
}

/* ---- programs --------------------------------------------------------------------------- */

static size_t key_of(const tn_i_planner *z, const tn_i_actor *a, int64_t *key) {
    const tn_i_loop_shape *s = &a->shape;
    const tn_i_place *arg = z->p->arg + a->arg, dense = {.stride = TN_DENSE};
    size_t n = 0;
    for (uint32_t i = s->const0; i < s->carry0; i++)
        n += tn_i_loop_key(z, operand_type(z, a, i), &arg[i], false, key + n);
    for (uint32_t k = 0; k < a->nleaf; k++)
        n += tn_i_loop_key(z, operand_type(z, a, s->carry0 + a->leaf[k].leaf), &dense, false, key + n);
    for (uint32_t i = s->x0; i < s->x0 + s->nx; i++)
        n += tn_i_loop_key(z, operand_type(z, a, i), &arg[i], true, key + n);
    key[n++] = s->index + s->nconst;
    key[n++] = a->nleaf;
    return n;
}

static const tn_i_plan *variant(tn_i_planner *z, const tn_fn *f, const int64_t *key, size_t n, uint32_t carry0,
                                uint32_t ncarry) {
    const tn_i_variant w = tn_i_variant_find(z->root, f, key, n);
    const tn_i_plan *p = w.plan ? w.plan : tn_i_variant_new(z->root, f, key, n, carry0, ncarry);
    if (p && p->spill > z->nested_spill) z->nested_spill = p->spill;
    if (p) tn_i_count_steps(z, p->per_step);
    return p;
}

static bool plan_cond(tn_i_planner *z, tn_i_actor *a, int64_t *key) {
    const tn_i_loop_shape *s = &a->shape;
    const tn_i_place *arg = z->p->arg + a->arg;
    size_t n = 0;
    for (uint32_t i = 0; i < s->ncond; i++) n += tn_i_loop_key(z, operand_type(z, a, i), &arg[i], false, key + n);
    for (uint32_t i = s->carry0; i < s->carry0 + s->ncarry; i++)
        n += tn_i_loop_key(z, operand_type(z, a, i), &arg[i], false, key + n);
    return (a->cond = variant(z, s->cond, key, n, 0, 0)) != NULL;
}

/* ---- memory that may change ----------------------------------------------------------------- */

/* Whether entry y, the k-th output behind the leaves, is leaf `leaf` as it enters, and that stays where it is. */
static bool enters(const tn_i_actor *a, int step, uint32_t k, uint32_t leaf) {
    const tn_fn *f = a->fn[step];
    const uint32_t in = a->shape.index + a->shape.nconst + leaf;
    return f->out[a->nleaf + k] == in && !a->plan[step]->kept[leaf] && !tn_i_plan_writes(a->plan[step], in);
}

/* The leaf that entry y is in all steps that make it. */
static uint32_t entering(const tn_i_actor *a, uint32_t y) {
    for (uint32_t leaf = 0; leaf < a->nleaf && a->entry[y].again && !a->entry[y].inner; leaf++) {
        bool all = true, some = false;
        for (int step = 0; step < TN_STEPS_OF; step++) {
            uint32_t k = 0;
            if (!a->fn[step] || !a->entry[y].made[step]) continue;
            for (uint32_t b = 0; b < y; b++) k += a->entry[b].made[step];
            all &= enters(a, step, k, leaf);
            some = true;
        }
        if (all && some) return leaf;
    }
    return TN_NOVAR;
}

static bool leaves_alone(const tn_i_actor *a, uint32_t leaf) {
    for (int step = 0; step < TN_STEPS_OF; step++)
        if (a->plan[step]->kept[leaf] || tn_i_plan_writes(a->plan[step], a->shape.index + a->shape.nconst + leaf))
            return false;
    return true;
}

/* A slot that holds records at other times has a place of its own for each. */
static void find_loose(const tn_i_group *g, tn_i_actor *a) {
    const bool records = a->against && tn_i_schedule_slots_of(g->schedule).records;
    for (uint32_t k = 0; k < a->nleaf; k++) a->leaf[k].loose = !records && leaves_alone(a, k);
    for (uint32_t y = 0; y < a->nentry; y++) a->entry[y].entering = entering(a, y);
}

static bool plan_programs(tn_i_planner *z, tn_i_actor *a) {
    const size_t most = (size_t)equation(z, a)->nin * TN_MAX_RANK + 2;
    int64_t *key = tn_i_alloc_array(z->ctx, most, sizeof *key);
    if (!key) return false;
    const size_t n = key_of(z, a, key);
    bool ok = true;
    for (int step = 0; ok && step < TN_STEPS_OF; step++) {
        if (!a->fn[step]) continue;
        a->plan[step] = variant(z, a->fn[step], key, n, a->shape.index + a->shape.nconst, a->nleaf);
        ok = a->plan[step] != NULL;
    }
    if (!a->plan[TN_RECORDED]) a->plan[TN_RECORDED] = a->plan[TN_PLAIN];
    ok = ok && (!a->self || !a->shape.cond || plan_cond(z, a, key));
    tn_i_free(z->ctx, key, most * sizeof *key);
    return ok;
}

/* ---- scratch ------------------------------------------------------------------------------- */

static bool actor_scratch(tn_i_actor *a, size_t *end) {
    for (uint32_t k = 0; k < a->nleaf; k++) {
        tn_i_leaf *l = &a->leaf[k];
        const bool kept = a->plan[TN_PLAIN]->kept[k] && a->plan[TN_RECORDED]->kept[k];
        if (!a->self && !take(end, l->bytes, &l->first)) return false;
        if (!kept && !take(end, l->bytes, &l->second)) return false;
    }
    for (uint32_t k = 0; k < a->nentry; k++)
        if (a->entry[k].again && a->entry[k].made[TN_RECORDED] && !take(end, a->entry[k].bytes, &a->entry[k].buffer))
            return false;
    return true;
}

static bool slot_places(tn_i_group *g, size_t *end) {
    size_t n = 0;
    if (g->schedule && g->nslot != TN_I_UNKNOWN && tn_i_schedule_slots_of(g->schedule).states) {
        for (uint32_t k = 0; k < g->nactor; k++)
            for (uint32_t j = 0; j < g->actor[k].nleaf; j++)
                g->bound |= g->actor[k].leaf[j].loose && g->actor[k].against;
        if (g->bound && !tn_i_mul((size_t)g->nslot, g->nstate * sizeof(uintptr_t), &n)) return false;
    }
    return take(end, n, &g->place_of);
}

/* The two counts, and behind them the counters. */
static bool take_counts(const tn_i_group *g, size_t *end, size_t *at) {
    size_t more;
    bool ok = take(end, sizeof(int64_t), at);
    for (uint32_t i = 0; ok && i < 1 + g->ncounter; i++) ok = take(end, sizeof(int64_t), &more);
    return ok;
}

static bool lay_out(tn_i_group *g) {
    size_t end = 0, arena = TN_ARENA_ALIGN, frame = 0, pointers = 0;
    const tn_i_actor *self = &g->actor[g->nactor - 1];
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *a = &g->actor[k];
        for (int step = 0; step < TN_STEPS_OF; step++) {
            if (a->plan[step]->frame > frame) frame = a->plan[step]->frame;
            if (a->plan[step]->bytes > arena) arena = a->plan[step]->bytes;
        }
        pointers += a->nleaf;
    }
    if (!take(&end, frame, &g->frame)) return false;
    if (self->cond) {
        if (!take(&end, self->cond->frame, &g->cond_frame)) return false;
        if (self->cond->bytes > arena) arena = self->cond->bytes;
    }
    if (!take(&end, sizeof(int64_t), &g->number) || !take(&end, pointers * sizeof(tn_i_leaf_at), &g->pointers))
        return false;
    for (uint32_t k = 0; k < g->nactor; k++)
        if (!actor_scratch(&g->actor[k], &end)) return false;
    if (g->chunks && (!take(&end, g->ncell * sizeof(uintptr_t), &g->table) || !take_counts(g, &end, &g->counts) ||
                      !take(&end, g->nchunk_scratch, &g->chunk_scratch)))
        return false;
    return take(&end, arena, &g->arena) && slot_places(g, &end) && (g->bytes = end, true);
}

/* The states that loops begin with, for those that run beside. */
static bool first_states(tn_i_planner *z, const tn_i_group *g, tn_i_actor *a, int64_t scratch) {
    a->first_move = z->p->nmove;
    for (uint32_t k = 0; k < a->nleaf && !a->self && !(a->against && g->taken); k++) {
        const uint32_t i = a->shape.carry0 + a->leaf[k].leaf;
        const tn_i_place to = {
            .offset = scratch + (int64_t)a->leaf[k].first, .base = TN_BASE_ARENA, .stride = TN_DENSE};
        if (tn_i_empty(operand_type(z, a, i))) continue;
        if (!tn_i_move_add(z, tn_i_in(z->f, equation(z, a))[i], &z->p->arg[a->arg + i], &to, TN_NOVAR)) return false;
    }
    a->moves = (uint32_t)(z->p->nmove - a->first_move);
    return true;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* States without elements take no memory, however many there are. */
static bool slots_of(tn_i_planner *z, tn_i_group *g, size_t *end) {
    size_t bytes = g->slot_bytes ? sizeof(tn_i_handle) : 0;
    if (bytes && g->nslot == TN_I_UNKNOWN) {
        const tn_type t = tn_type_of(TN_BOOL, 2, (const int64_t[]){TN_I_STEPS, (int64_t)g->slot_bytes});
        if (!(g->growing = tn_i_type(z->ctx, &t))) return false;
    } else if (bytes && !tn_i_mul((size_t)g->nslot, g->slot_bytes, &bytes))
        bytes = SIZE_MAX;
    return take(end, bytes, &g->slots);
}

/* Bytes of slots for each step. */
static size_t growing_by(const tn_i_group *g) {
    const size_t every = (size_t)g->growing_every;
    return g->slot_bytes / every + (g->slot_bytes % every != 0);
}

static bool snapshot_memory(tn_i_planner *z, tn_i_group *g) {
    const tn_i_eqn *e = &z->f->eqn[g->eqn];
    size_t end = sizeof(int64_t), disk;
    if (g->ndisk == TN_I_UNKNOWN) return tn_i_cannot_run(z, e, "its schedule wants any number of slots on disk");
    if (!take(&end, tn_i_schedule_bytes(g->schedule), &g->run) || !take(&end, g->record_bytes, &g->record) ||
        !take(&end, (size_t)g->ndisk * g->nstate * sizeof(uint64_t), &g->sums) || !slots_of(z, g, &end) ||
        !tn_i_mul((size_t)g->ndisk, g->slot_bytes, &disk) || !tn_i_add(z->p->slots, disk, &disk)) {
        (void)tn_i_fail(z->ctx, TN_EOVERFLOW, e->loc, "the snapshots of a loop overflow the address space");
        return false;
    }
    g->file = z->p->slots;
    z->p->slots = disk;
    g->memory_bytes = end < TN_ARENA_ALIGN ? TN_ARENA_ALIGN : end;
    if (!tn_i_block_new(z, g->memory_bytes, 1, &g->block)) return false;
    g->memory = (int64_t)z->block[g->block].slot.offset;
    if (g->growing) z->steps_now += growing_by(g);
    tn_i_count_steps(z, 0);
    return true;
}

/* Stacks in entries that are made again: one at a time, and those in slots. */
static void count_inner(tn_i_planner *z, const tn_i_group *g) {
    const bool kept = g->schedule && tn_i_schedule_slots_of(g->schedule).records && g->nslot > 0;
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->nactor; k++)
        for (uint32_t y = 0; y < g->actor[k].nentry; y++) {
            const tn_i_entry *e = &g->actor[k].entry[y];
            const size_t alive = kept && e->recorded ? 1 + (size_t)g->nslot : 1;
            size_t more = 0;
            if (e->inner && !tn_i_mul(tn_i_per_step(e->inner), alive, &more)) more = SIZE_MAX;
            if (!tn_i_add(bytes, more, &bytes)) bytes = SIZE_MAX;
        }
    tn_i_count_steps(z, bytes);
}

/* ---- the step ---------------------------------------------------------------------------------- */

bool tn_i_step_group(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s, tn_i_group *g) {
    if (!g->runs) return true;
    for (uint32_t j = 0; j < g->actor[g->nactor - 1].shape.ncarry; j++)
        if (tn_i_has_steps(z->f->val[e->out + j].type))
            return tn_i_cannot_run(z, e, "carries an array whose length a loop finds when it runs");
    for (uint32_t k = 0; k < g->nactor; k++)
        if (!place_operands(z, &g->actor[k]) || !plan_programs(z, &g->actor[k])) return false;
    for (uint32_t k = 0; k < g->nactor; k++) find_loose(g, &g->actor[k]);
    tn_i_find_chunks(z->p, g);
    if (!lay_out(g)) g->bytes = SIZE_MAX;
    if (g->schedule && !g->taken && !snapshot_memory(z, g)) return false;
    if (g->leads != TN_NOVAR && !snapshot_memory(z, &z->p->group[g->leads])) return false;
    count_inner(z, g);
    if (!tn_i_step_scratch(z, g->bytes, s)) return false;
    for (uint32_t k = 0; k < g->nactor; k++)
        if (!first_states(z, g, &g->actor[k], s->scratch)) return false;
    s->kind = TN_STEP_GROUP;
    s->loop = z->group_of[s->eqn];
    if (g->schedule) {
        tn_i_block_release(z, g->block);
        if (g->growing) z->steps_now -= growing_by(g);
    }
    return tn_i_step_add(z, s);
}
