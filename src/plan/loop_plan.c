/* Planning loops: the body once for the strides of what it is given, and what changes from step to step. */
#include "plan/planner.h"
#include "plan/strides.h"

#include "control/loops/loop.h"
#include "prims/ids.h"

#include <string.h>

bool tn_i_loop_read(const tn_i_eqn *e, tn_i_loop_shape *s) {
    tn_i_scan scan;
    tn_i_while w;
    if (e->prim->id == TN_P_scan && tn_i_scan_read(tn_i_p(e), e->nin, &scan)) {
        *s = (tn_i_loop_shape){.body = scan.body,
                               .length = scan.length,
                               .reverse = scan.reverse,
                               .index = scan.index,
                               .nconst = scan.nconst,
                               .ncarry = scan.ncarry,
                               .nx = scan.nx,
                               .ny = scan.ny,
                               .const0 = scan.const0,
                               .carry0 = scan.carry0,
                               .x0 = scan.x0,
                               .y0 = scan.ncarry,
                               .steps = TN_NOVAR,
                               .schedule = scan.schedule};
        return true;
    }
    if (e->prim->id != TN_P_while || !tn_i_while_read(tn_i_p(e), e->nin, &w)) return false;
    *s = (tn_i_loop_shape){.body = w.body,
                           .cond = w.cond,
                           .length = TN_I_STEPS,
                           .index = w.index,
                           .ncond = w.ncond,
                           .nconst = w.nconst,
                           .ncarry = w.ncarry,
                           .ny = w.ny,
                           .const0 = w.const0,
                           .carry0 = w.carry0,
                           .x0 = w.carry0 + w.ncarry,
                           .y0 = w.y0,
                           .steps = w.count ? w.n_out : TN_NOVAR,
                           .schedule = w.schedule};
    return true;
}

void tn_i_loop_drop(tn_ctx *c, tn_i_loop *l) {
    tn_i_free(c, l->mover, l->room * sizeof *l->mover);
    tn_i_free(c, l->pair, l->room * sizeof *l->pair);
}

/* ---- operands -------------------------------------------------------------------- */

typedef struct args {
    const tn_i_eqn *e;
    tn_i_loop_shape s;
    tn_i_place *place; /* of the operands */
    int64_t *key;
    uint32_t *copy; /* blocks of operands that had to be copied, or TN_NOBLOCK */
    size_t nkey;
} args;

static const tn_type *type_of(const tn_i_planner *z, const args *a, uint32_t i) {
    return z->f->val[tn_i_in(z->f, a->e)[i]].type;
}

static void strides_of(const tn_i_planner *z, const tn_type *t, const tn_i_place *k, int64_t *stride) {
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(t, stride);
    else
        memcpy(stride, z->p->number + k->stride, (size_t)t->rank * sizeof *stride);
}

size_t tn_i_loop_key(const tn_i_planner *z, const tn_type *t, const tn_i_place *k, bool entries, int64_t *key) {
    int64_t stride[TN_MAX_RANK];
    const size_t rank = tn_i_place_key(z, t, k, stride) - entries;
    memcpy(key, stride + entries, rank * sizeof *stride);
    return rank;
}

/* Appends the strides of operands to the key; of arrays that are scanned over, those of an entry. */
static void key_add(const tn_i_planner *z, args *a, uint32_t first, uint32_t n) {
    for (uint32_t i = first; i < first + n; i++)
        a->nkey += tn_i_loop_key(z, type_of(z, a, i), &a->place[i], i >= a->s.x0, a->key + a->nkey);
}

static void key_of_body(const tn_i_planner *z, args *a) {
    const tn_i_loop_shape *s = &a->s;
    a->nkey = 0;
    key_add(z, a, s->const0, s->nconst + s->ncarry + s->nx);
    a->key[a->nkey++] = s->index + s->nconst;
    a->key[a->nkey++] = s->ncarry;
}

static void key_of_cond(const tn_i_planner *z, args *a) {
    a->nkey = 0;
    key_add(z, a, 0, a->s.ncond);
    key_add(z, a, a->s.carry0, a->s.ncarry);
}

/* What is carried begins where the outputs are, so that a step may write over it. */
static bool carry_in(tn_i_planner *z, args *a, uint32_t eqn) {
    for (uint32_t j = 0; j < a->s.ncarry; j++) {
        const uint32_t i = a->s.carry0 + j;
        const tn_i_var v = tn_i_in(z->f, a->e)[i];
        const tn_i_place from = a->place[i];
        a->place[i] = z->p->place[a->e->out + j];
        if (tn_i_empty(type_of(z, a, i)) || (from.base == a->place[i].base && from.offset == a->place[i].offset))
            continue;
        if (!tn_i_step_move(z, eqn, v, &from, &a->place[i])) return false;
    }
    return true;
}

/* Row-major copies of operands, for programs that have been planned for many layouts. */
static bool copy_operands(tn_i_planner *z, args *a, uint32_t eqn) {
    for (uint32_t i = 0; i < a->e->nin; i++) {
        const tn_i_var v = tn_i_in(z->f, a->e)[i];
        if (a->place[i].stride == TN_DENSE || tn_i_empty(type_of(z, a, i)) || tn_i_has_steps(type_of(z, a, i)))
            continue;
        if (!tn_i_block_new(z, tn_type_bytes(type_of(z, a, i)), 0, &a->copy[i])) return false;
        const tn_i_place to = {
            .offset = (int64_t)z->block[a->copy[i]].slot.offset, .base = TN_BASE_ARENA, .stride = TN_DENSE};
        if (!tn_i_step_move(z, eqn, v, &a->place[i], &to)) return false;
        a->place[i] = to;
    }
    return true;
}

static bool programs(tn_i_planner *z, args *a, uint32_t eqn, tn_i_loop *l) {
    const tn_i_loop_shape *s = &a->s;
    key_of_body(z, a);
    tn_i_variant w = tn_i_variant_find(z->root, s->body, a->key, a->nkey);
    if (!w.plan && w.full) {
        if (!copy_operands(z, a, eqn)) return false;
        key_of_body(z, a);
        w = tn_i_variant_find(z->root, s->body, a->key, a->nkey);
    }
    l->body = w.plan;
    if (!l->body && !(l->body = tn_i_variant_new(z->root, s->body, a->key, a->nkey, s->index + s->nconst, s->ncarry)))
        return false;
    if (l->body->spill > z->nested_spill) z->nested_spill = l->body->spill;
    if (!s->cond) return true;
    key_of_cond(z, a);
    w = tn_i_variant_find(z->root, s->cond, a->key, a->nkey);
    l->cond = w.plan ? w.plan : tn_i_variant_new(z->root, s->cond, a->key, a->nkey, 0, 0);
    if (!l->cond) return false;
    if (l->cond->spill > z->nested_spill) z->nested_spill = l->cond->spill;
    return true;
}

/* ---- what moves --------------------------------------------------------------------- */

bool tn_i_loop_walk(const tn_i_planner *z, const tn_type *t, const tn_i_place *k, int64_t *by) {
    const bool handles = k->stride == TN_DENSE && tn_i_handles(t) > 0;
    int64_t stride[TN_MAX_RANK];
    tn_type entry;
    *by = 0;
    (void)tn_i_entry_type(t, &entry);
    if (t->dim[0] == TN_I_STEPS) return handles;
    strides_of(z, t, k, stride);
    *by =
        handles ? tn_i_handles(&entry) * (int64_t)sizeof(tn_i_handle) : stride[0] * (int64_t)tn_i_dtype_size(t->dtype);
    return false;
}

int64_t tn_i_loop_entry(const tn_type *t) {
    const size_t bytes = tn_i_entry_bytes(t);
    tn_type entry;
    (void)tn_i_entry_type(t, &entry);
    return tn_i_has_steps(&entry) || bytes > INT64_MAX ? -1 : (int64_t)bytes;
}

static void walk_entries(const tn_i_planner *z, tn_i_loop *l, const tn_type *t, const tn_i_place *k, tn_i_mover m) {
    m.stack = tn_i_loop_walk(z, t, k, &m.by);
    m.entry = m.stack ? tn_i_loop_entry(t) : m.by;
    l->ncursor += m.stack;
    l->mover[l->nmover++] = m;
}

static void add_movers(const tn_i_planner *z, const args *a, tn_i_loop *l) {
    const tn_i_loop_shape *s = &a->s;
    for (uint32_t k = 0; k < s->nx; k++)
        walk_entries(z, l, type_of(z, a, s->x0 + k), &a->place[s->x0 + k],
                     (tn_i_mover){.at = TN_BASE_ARGUMENTS + s->index + s->nconst + s->ncarry + k,
                                  .arg = s->x0 + k,
                                  .out = TN_NOVAR});
    for (uint32_t k = 0; k < s->ny; k++) {
        const tn_i_var v = a->e->out + s->y0 + k;
        const tn_i_place *at = &z->p->place[v];
        l->stacks |= at->base == TN_BASE_ARENA && tn_i_handles(z->f->val[v].type) > 0;
        walk_entries(
            z, l, z->f->val[v].type, at,
            (tn_i_mover){.at = TN_BASE_ARGUMENTS + s->body->nin + s->ncarry + k, .arg = TN_NOVAR, .out = s->y0 + k});
    }
}

static bool take(size_t *end, size_t bytes, size_t *at) {
    const size_t unit = bytes <= 8 ? 8 : TN_ARENA_ALIGN;
    if (!tn_i_add(*end, unit - 1, at)) return false;
    *at &= ~(unit - 1);
    return tn_i_add(*at, bytes, end);
}

/* The array in memory that is made of carry j as it enters the steps, if they leave it as it is. */
static uint32_t stacked(const tn_i_loop *l, uint32_t j, size_t bytes) {
    const tn_i_loop_shape *s = &l->shape;
    const uint32_t in = s->index + s->nconst + j;
    if (tn_i_plan_writes(l->body, in)) return TN_NOVAR;
    for (uint32_t k = s->nx; k < l->nmover; k++) {
        const tn_i_mover *m = &l->mover[k];
        if (!m->stack && m->by >= (int64_t)bytes && s->body->out[s->ncarry + m->out - s->y0] == in) return k;
    }
    return TN_NOVAR;
}

/* ---- as one loop program ------------------------------------------------------------------ */

/* Steps at once: as many as addresses of entries are told in 32 bits of. */
enum { MOST_STEPS = 1 << 16, MOST_FAR = 1 << 29 };
int64_t tn_i_loop_most(int64_t most, int64_t entry) {
    if (most > MOST_STEPS) most = MOST_STEPS;
    while (most > 1 && entry > MOST_FAR / most) most /= 2;
    return most;
}

static int64_t most_steps(const tn_i_loop *l) {
    int64_t most = MOST_STEPS;
    for (uint32_t i = 0; i < l->nmover; i++) most = tn_i_loop_most(most, l->mover[i].entry);
    return most;
}

/* Whether all of it may be part of a step around, and how much of it may be a loop program of its own: in C that is
 * emitted all of it or nothing. */
static void find_whole(tn_i_loop *l, bool emitted) {
    const tn_i_loop_shape *s = &l->shape;
    bool walks = true;
    for (uint32_t i = 0; i < l->nmover; i++) walks &= l->mover[i].entry >= 0;
    if (!walks || !tn_i_part_steps(l->body, &l->size) || (l->cond && !tn_i_part_steps(l->cond, &l->size))) return;
    l->inner = l->cond ? s->ny == 0 : s->length != TN_I_STEPS && !l->ncursor && !l->stacks;
    if (!tn_i_part_is_one(&l->size)) return;
    if (l->cond)
        l->whole = !s->ny ? TN_WHILE_ALL : l->most > 1 && !s->index ? TN_WHILE_SOME : TN_WHOLE_NOT;
    else if (s->length == TN_I_STEPS || l->ncursor)
        l->whole = l->most > 1 ? TN_WHOLE_SOME : TN_WHOLE_NOT;
    else
        l->whole = s->length < 2 || l->stacks ? TN_WHOLE_NOT : TN_WHOLE_ALL;
    if (emitted && (l->whole == TN_WHOLE_SOME || l->whole == TN_WHILE_SOME)) l->whole = TN_WHOLE_NOT;
}

/* The entry of the table of addresses, and what it is the address of. */
static bool take_counts(size_t *end, const tn_i_loop *l, size_t *at) {
    size_t more;
    bool ok = take(end, sizeof(uintptr_t), at);
    for (uint32_t i = 0; ok && i < 2 + l->size.counters; i++) ok = take(end, sizeof(int64_t), &more);
    return ok;
}

static bool lay_out(const tn_i_planner *z, const args *a, tn_i_loop *l) {
    size_t end = l->body->frame, arena = l->body->bytes;
    if (l->cond) {
        if (!take(&end, l->cond->frame, &l->cond_frame) || !take(&end, sizeof(bool), &l->answer)) return false;
        if (l->cond->bytes > arena) arena = l->cond->bytes;
    }
    if (!take(&end, sizeof(int64_t), &l->number) || !take(&end, l->ncursor * sizeof(tn_i_cursor), &l->cursor))
        return false;
    l->most = most_steps(l);
    find_whole(l, z->root->emitted);
    if (l->whole && !tn_i_add(l->size.keeps, l->size.registers, &l->nscratch)) return false;
    if (l->whole && !take(&end, l->nscratch, &l->scratch)) return false;
    if (l->whole && (l->whole > TN_WHOLE_ALL || l->size.counters) && !take_counts(&end, l, &l->counts)) return false;
    for (uint32_t j = 0; j < a->s.ncarry; j++) {
        const size_t bytes = tn_type_bytes(type_of(z, a, a->s.carry0 + j));
        size_t at;
        if (l->body->kept[j]) continue;
        if (!take(&end, bytes, &at)) return false;
        l->pair[l->npair++] = (tn_i_pair){.leaf = j, .stacked = stacked(l, j, bytes), .second = at, .bytes = bytes};
    }
    return take(&end, arena < TN_ARENA_ALIGN ? TN_ARENA_ALIGN : arena, &l->arena) && (l->bytes = end, true);
}

/* ---- the step --------------------------------------------------------------------------- */

static bool new_loop(tn_i_planner *z, const args *a, tn_i_loop **l) {
    tn_i_plan *p = z->p;
    if (!tn_i_grow(z->ctx, (void **)&p->loop, &p->cloop, p->nloop + 1, sizeof *p->loop)) return false;
    *l = &p->loop[p->nloop++];
    **l = (tn_i_loop){.shape = a->s, .room = a->s.nx + a->s.ny + a->s.ncarry, .arg = (uint32_t)p->narg};
    (*l)->mover = tn_i_alloc_array(z->ctx, (*l)->room, sizeof *(*l)->mover);
    (*l)->pair = tn_i_alloc_array(z->ctx, (*l)->room, sizeof *(*l)->pair);
    return (*l)->mover && (*l)->pair;
}

static bool add_loop(tn_i_planner *z, args *a, tn_i_step *s) {
    tn_i_plan *p = z->p;
    tn_i_loop *l;
    const uint32_t nin = a->e->nin;
    for (uint32_t i = 0; i < nin; i++) {
        a->place[i] = p->place[tn_i_in(z->f, a->e)[i]];
        a->copy[i] = TN_NOBLOCK;
    }
    if (!carry_in(z, a, s->eqn) || !new_loop(z, a, &l) || !programs(z, a, s->eqn, l)) return false;
    s->kind = TN_STEP_LOOP;
    s->loop = (uint32_t)(p->nloop - 1);
    add_movers(z, a, l);
    tn_i_plan_prefetch((tn_i_plan *)(uintptr_t)l->body, l);
    tn_i_count_steps(z, l->body->per_step);
    if (!lay_out(z, a, l)) l->bytes = SIZE_MAX;
    if (!tn_i_step_scratch(z, l->bytes, s) ||
        !tn_i_grow(z->ctx, (void **)&p->arg, &p->carg, p->narg + nin, sizeof *p->arg))
        return false;
    if (nin) memcpy(p->arg + p->narg, a->place, nin * sizeof *a->place);
    p->narg += nin;
    for (uint32_t i = 0; i < nin; i++)
        if (a->copy[i] != TN_NOBLOCK) tn_i_block_release(z, a->copy[i]);
    return tn_i_step_add(z, s);
}

bool tn_i_step_loop(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s) {
    args a = {.e = e};
    if (!tn_i_loop_read(e, &a.s)) return tn_i_cannot_run(z, e, "has no kernel");
    for (uint32_t j = 0; j < a.s.ncarry; j++)
        if (tn_i_has_steps(z->f->val[e->out + j].type))
            return tn_i_cannot_run(z, e, "carries an array whose length a loop finds when it runs");
    const size_t nkey = (size_t)e->nin * TN_MAX_RANK + 2;
    a.place = tn_i_alloc_array(z->ctx, e->nin, sizeof *a.place);
    a.key = tn_i_alloc_array(z->ctx, nkey, sizeof *a.key);
    a.copy = tn_i_alloc_array(z->ctx, e->nin, sizeof *a.copy);
    const bool ok = a.place && a.key && a.copy && add_loop(z, &a, s);
    tn_i_free(z->ctx, a.place, e->nin * sizeof *a.place);
    tn_i_free(z->ctx, a.key, nkey * sizeof *a.key);
    tn_i_free(z->ctx, a.copy, e->nin * sizeof *a.copy);
    return ok;
}
