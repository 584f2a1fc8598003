/* Running a group: the loop that it is for, those beside it, and those that a schedule brings back. */
#include "exec/replay.h"
#include "exec/run.h"

#include <string.h>

typedef struct group_run {
    const tn_i_plan *p;
    const tn_i_group *g;
    const tn_i_group *led; /* the group that snapshots are taken for now, or NULL */
    const uintptr_t *base;
    uintptr_t scratch;
    tn_i_run inner;
    uint64_t file_at; /* where the part of the spill file of this plan begins */
    int64_t *number;  /* of the step */
} group_run;

static uintptr_t operand(const group_run *w, const tn_i_actor *a, uint32_t i) {
    return (uintptr_t)tn_i_address(w->base, &w->p->arg[a->arg + i]);
}

static uintptr_t output(const group_run *w, const tn_i_actor *a, uint32_t j) {
    return (uintptr_t)tn_i_address(w->base, &w->p->place[w->p->f->eqn[a->eqn].out + j]);
}

static const tn_i_actor *self_of(const group_run *w) { return &w->g->actor[w->g->nactor - 1]; }

/* Two addresses per leaf: where it is, and where it may go. */
static uintptr_t *leaves(const group_run *w, const tn_i_actor *a) {
    uintptr_t *at = (uintptr_t *)(w->scratch + w->g->pointers);
    for (const tn_i_actor *b = w->g->actor; b < a; b++) at += 2 * (size_t)b->nleaf;
    return at;
}

/* ---- a step of one loop ------------------------------------------------------------------ */

static uintptr_t entry_at(const group_run *w, uintptr_t array, bool stack, int64_t by) {
    if (stack) return (uintptr_t)tn_i_stack_entry((const tn_i_handle *)array, *w->number);
    return array + (uintptr_t)(*w->number * by);
}

static uintptr_t x_at(const group_run *w, const tn_i_actor *a, uint32_t k) {
    const tn_i_source *s = &a->source[k];
    if (s->actor != TN_NOVAR) return w->scratch + w->g->actor[s->actor].entry[s->y].buffer;
    if (!a->self && !a->reads[a->shape.x0 + k]) return w->scratch;
    return entry_at(w, operand(w, a, a->shape.x0 + k), s->stack, s->by);
}

static uintptr_t y_at(const group_run *w, const tn_i_actor *a, const tn_i_entry *y) {
    if (y->again) return w->scratch + y->buffer;
    return entry_at(w, output(w, a, a->shape.y0 + y->y), y->stack, y->by);
}

static tn_i_handle *handles_of(const group_run *w, const tn_i_entry *y) {
    return (tn_i_handle *)(w->scratch + y->buffer);
}

/* A buffer of handles has none while chain is NULL. */
static void drop_handles(const group_run *w, const tn_i_entry *y) {
    tn_i_handle *h = handles_of(w, y);
    if (h->chain) tn_i_stack_release(w->inner.stacks, y->inner, h);
    h->chain = NULL;
}

/* Stacks that a step makes begin empty. */
static bool begin_inner(const group_run *w, const tn_i_actor *a, int kind) {
    for (uint32_t k = 0; k < a->nentry; k++) {
        const tn_i_entry *y = &a->entry[k];
        if (!y->inner || !y->made[kind]) continue;
        drop_handles(w, y);
        if (!tn_i_stack_new(w->inner.stacks, y->inner, handles_of(w, y))) return false;
    }
    return true;
}

static tn_status step(group_run *w, const tn_i_actor *a, int kind) {
    const tn_i_loop_shape *s = &a->shape;
    uintptr_t *frame = (uintptr_t *)(w->scratch + w->g->frame), *at = frame + TN_BASE_ARGUMENTS, *leaf = leaves(w, a);
    frame[TN_BASE_ABSOLUTE] = 0;
    frame[TN_BASE_ARENA] = w->scratch + w->g->arena;
    if (s->index) *at++ = (uintptr_t)w->number;
    for (uint32_t i = s->const0; i < s->carry0; i++) *at++ = operand(w, a, i);
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = leaf[2 * k];
    for (uint32_t k = 0; k < s->nx; k++) *at++ = x_at(w, a, k);
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = leaf[2 * k + !a->plan[kind]->kept[k]];
    for (uint32_t k = 0; k < a->nentry; k++)
        if (a->entry[k].made[kind]) *at++ = y_at(w, a, &a->entry[k]);
    if (!begin_inner(w, a, kind)) return tn_i_run_no_memory(&w->inner, &w->p->f->eqn[a->eqn]);
    tn_i_run inner = w->inner;
    inner.quiet |= !a->self;
    const tn_status status = tn_i_run_plan(a->plan[kind], &inner, frame);
    for (uint32_t k = 0; k < a->nleaf; k++) {
        if (a->plan[kind]->kept[k]) continue;
        const uintptr_t was = leaf[2 * k];
        leaf[2 * k] = leaf[2 * k + 1];
        leaf[2 * k + 1] = was;
    }
    return status;
}

/* A step of the loops that run with the group's own, or of those that are brought back. */
static tn_status step_all(group_run *w, bool against, int kind) {
    tn_status status = TN_OK;
    for (uint32_t k = 0; k < w->g->nactor && status == TN_OK; k++)
        if (w->g->actor[k].against == against) status = step(w, &w->g->actor[k], kind);
    return status;
}

/* ---- snapshots and records ------------------------------------------------------------------ */

static unsigned char *kept_memory(const group_run *w, const tn_i_group *g) {
    return (unsigned char *)(w->base[TN_BASE_ARENA] + (uintptr_t)g->memory);
}

static tn_status no_memory(const group_run *w) { return tn_i_run_no_memory(&w->inner, &w->p->f->eqn[w->g->eqn]); }

/* The address of a slot in memory, NULL when there is no memory for it. */
static unsigned char *slot_at(const group_run *w, const tn_i_group *g, int64_t slot) {
    unsigned char *slots = kept_memory(w, g) + g->slots;
    if (!g->growing) return slots + (size_t)slot * g->slot_bytes;
    tn_i_handle *h = (tn_i_handle *)(void *)slots;
    if (slot >= h->count && !tn_i_stack_extend(w->inner.stacks, h, slot + 1 - h->count)) return NULL;
    return tn_i_stack_entry(h, slot);
}

/* The loop of this run that stands for one of the group that snapshots are for. */
static const tn_i_actor *stand_in(const group_run *w, const tn_i_group *g, uint32_t k) {
    return g == w->g ? &g->actor[k] : &w->g->actor[w->g->stand_in[k]];
}

static uintptr_t leaf_of(const group_run *w, const tn_i_actor *a, uint32_t leaf) {
    uint32_t k = 0;
    while (a->leaf[k].leaf != leaf) k++;
    return leaves(w, a)[2 * k];
}

static size_t padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static void copy(void *slot, uintptr_t live, size_t bytes, bool save) {
    if (bytes) memcpy(save ? slot : (void *)live, save ? (const void *)live : slot, bytes);
}

static void copy_state(const group_run *w, const tn_i_group *g, unsigned char *slot, bool save) {
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *m = &g->actor[k];
        if (!m->against) continue;
        for (uint32_t j = 0; j < m->nleaf; j++) {
            copy(slot, leaf_of(w, stand_in(w, g, k), m->leaf[j].leaf), m->leaf[j].bytes, save);
            slot += padded(m->leaf[j].bytes);
        }
    }
}

/* A record is used once: the stacks in it move. */
static void copy_record(const group_run *w, const tn_i_group *g, unsigned char *slot, bool save) {
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *m = &g->actor[k];
        for (uint32_t y = 0; y < m->nentry; y++) {
            if (!m->entry[y].recorded) continue;
            const tn_i_entry *live = &stand_in(w, g, k)->entry[y];
            if (live->inner && !save) drop_handles(w, live);
            copy(slot, w->scratch + live->buffer, m->entry[y].bytes, save);
            if (live->inner && save) handles_of(w, live)->chain = NULL;
            slot += padded(m->entry[y].bytes);
        }
    }
}

/* Leaf by leaf, each with its checksum. */
static tn_status copy_to_disk(const group_run *w, const tn_i_group *g, int64_t slot, bool save) {
    char why[TN_I_SPILL_TEXT];
    uint64_t *sum = (uint64_t *)(void *)(kept_memory(w, g) + g->sums) + (size_t)slot * g->nstate;
    uint64_t at = w->file_at + w->p->slots_at + g->file + (uint64_t)slot * g->slot_bytes;
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *m = &g->actor[k];
        for (uint32_t j = 0; m->against && j < m->nleaf; j++, sum++) {
            void *data = (void *)leaf_of(w, stand_in(w, g, k), m->leaf[j].leaf);
            const size_t bytes = m->leaf[j].bytes;
            if (bytes == 0) continue;
            if (!(save ? tn_i_spill_write(w->inner.file, at, data, bytes, sum, why)
                       : tn_i_spill_read(w->inner.file, at, data, bytes, *sum, why)))
                return tn_i_run_fail(&w->inner, &w->p->f->eqn[g->eqn], TN_EIO, why);
            at += padded(bytes);
        }
    }
    return TN_OK;
}

static tn_status copy_slot(const group_run *w, const tn_i_group *g, const tn_i_act *act, bool save) {
    if (act->place == TN_I_DISK) return copy_to_disk(w, g, act->slot, save);
    unsigned char *slot = slot_at(w, g, act->slot);
    if (!slot) return no_memory(w);
    copy_state(w, g, slot, save);
    return TN_OK;
}

/* Records are kept in memory: in slots, or the one that is worked with. */
static tn_status copy_taped(const group_run *w, const tn_i_group *g, const tn_i_act *act, bool save) {
    const bool working = act->kind == TN_I_RECORD || act->slot == TN_I_WORKING;
    unsigned char *slot = working ? kept_memory(w, g) + g->record : slot_at(w, g, act->slot);
    if (!slot) return no_memory(w);
    copy_record(w, g, slot, save);
    return TN_OK;
}

static tn_i_schedule_run *schedule_of(const group_run *w, const tn_i_group *g) {
    return (tn_i_schedule_run *)(void *)(kept_memory(w, g) + g->run);
}

static int64_t *steps_of(const group_run *w, const tn_i_group *g) { return (int64_t *)(void *)kept_memory(w, g); }

static tn_status begin_snapshots(const group_run *w, const tn_i_group *g) {
    tn_i_handle *h = (tn_i_handle *)(void *)(kept_memory(w, g) + g->slots);
    (void)tn_i_schedule_begin(g->schedule, kept_memory(w, g) + g->run);
    return !g->growing || tn_i_stack_new(w->inner.stacks, g->growing, h) ? TN_OK : no_memory(w);
}

/* ---- steps forward, while snapshots of group g are taken ---------------------------------------- */

static tn_status forward(group_run *w, const tn_i_group *g, int64_t i, bool against) {
    const tn_i_act act = tn_i_schedule_forward(schedule_of(w, g), i);
    const bool taped = act.kind == TN_I_KEEP || act.kind == TN_I_RECORD;
    tn_status status = act.kind == TN_I_STORE ? copy_slot(w, g, &act, true) : TN_OK;
    if (status == TN_OK) status = step_all(w, against, taped ? TN_TAPED : TN_PLAIN);
    return status == TN_OK && taped ? copy_taped(w, g, &act, true) : status;
}

static void turn(const group_run *w, const tn_i_group *g, int64_t n) {
    *steps_of(w, g) = n;
    tn_i_schedule_turn(schedule_of(w, g), n);
}

/* The number of a step of loops in one direction or the other, the k-th in time. */
static int64_t number_of(bool reverse, int64_t k, int64_t n) { return reverse ? n - 1 - k : k; }

static tn_status own_step(group_run *w, int64_t k) {
    return w->led ? forward(w, w->led, k, false) : step_all(w, false, TN_PLAIN);
}

/* ---- backwards ---------------------------------------------------------------------------------- */

/* Snapshots of the group's own, in a run for them alone. */
static tn_status take_snapshots(group_run *w, int64_t n) {
    const bool reverse = !self_of(w)->shape.reverse;
    tn_status status = begin_snapshots(w, w->g);
    for (int64_t k = 0; k < n && status == TN_OK; k++) {
        *w->number = number_of(reverse, k, n);
        status = forward(w, w->g, k, true);
    }
    if (status == TN_OK) turn(w, w->g, n);
    return status;
}

static tn_status advance(group_run *w, const tn_i_act *act, int64_t n) {
    tn_status status = TN_OK;
    for (int64_t k = act->step; k < act->step + act->n && status == TN_OK; k++) {
        *w->number = number_of(!self_of(w)->shape.reverse, k, n);
        status = step_all(w, true, TN_PLAIN);
    }
    return status;
}

static tn_status act_on(group_run *w, const tn_i_act *act, int64_t n, int64_t *done) {
    const bool use = act->kind == TN_I_USE || act->kind == TN_I_RECORD;
    tn_status status = TN_OK;
    *w->number = number_of(!self_of(w)->shape.reverse, act->step, n);
    switch (act->kind) {
    case TN_I_STORE: return copy_slot(w, w->g, act, true);
    case TN_I_RESTORE: return copy_slot(w, w->g, act, false);
    case TN_I_ADVANCE: return advance(w, act, n);
    case TN_I_KEEP:
        status = step_all(w, true, TN_TAPED);
        return status == TN_OK ? copy_taped(w, w->g, act, true) : status;
    case TN_I_RECORD: status = step_all(w, true, TN_TAPED); break;
    case TN_I_USE: status = copy_taped(w, w->g, act, false); break;
    default: break;
    }
    return status == TN_OK && use ? own_step(w, (*done)++) : status;
}

static tn_status run_back(group_run *w, int64_t n) {
    tn_status status = w->g->taken ? TN_OK : take_snapshots(w, n);
    int64_t done = 0;
    if (status == TN_OK && *steps_of(w, w->g) != n)
        status = tn_i_run_fail(&w->inner, &w->p->f->eqn[w->g->eqn], TN_EINVAL,
                               "runs for another number of steps than the loop whose entries it reads");
    while (status == TN_OK) {
        const tn_i_act act = tn_i_schedule_next(schedule_of(w, w->g));
        if (act.kind == TN_I_DONE) break;
        status = act_on(w, &act, n, &done);
    }
    if (status == TN_OK && w->g->growing)
        tn_i_stack_release(w->inner.stacks, w->g->growing, (tn_i_handle *)(void *)(kept_memory(w, w->g) + w->g->slots));
    return status;
}

/* ---- the loop that the group is for ------------------------------------------------------------- */

static tn_status extend(const group_run *w, int64_t n) {
    const tn_i_actor *a = self_of(w);
    for (uint32_t k = 0; k < a->nentry; k++)
        if (a->entry[k].stack && !a->entry[k].again &&
            !tn_i_stack_extend(w->inner.stacks, (tn_i_handle *)output(w, a, a->shape.y0 + k), n))
            return no_memory(w);
    return TN_OK;
}

/* No loop of the group reads beyond the end of a stack. */
static tn_status check_lengths(const group_run *w, int64_t n) {
    for (uint32_t k = 0; k < w->g->nactor; k++) {
        const tn_i_actor *a = &w->g->actor[k];
        for (uint32_t x = 0; x < a->shape.nx; x++)
            if (a->source[x].stack && ((const tn_i_handle *)operand(w, a, a->shape.x0 + x))->count < n)
                return tn_i_run_fail(&w->inner, &w->p->f->eqn[a->eqn], TN_EINVAL,
                                     "runs for more steps than a stack that it reads is long");
    }
    return TN_OK;
}

static tn_status run_scan(group_run *w, int64_t *n) {
    const tn_i_loop_shape *s = &self_of(w)->shape;
    *n = s->length;
    if (*n == TN_I_STEPS) memcpy(n, (const void *)operand(w, self_of(w), 0), sizeof *n);
    if (*n < 0) *n = 0;
    tn_status status = check_lengths(w, *n);
    if (status == TN_OK && *n) status = extend(w, *n);
    if (status != TN_OK || w->g->schedule) return status == TN_OK ? run_back(w, *n) : status;
    for (int64_t k = 0; k < *n && status == TN_OK; k++) {
        *w->number = number_of(s->reverse, k, *n);
        status = own_step(w, k);
    }
    return status;
}

static tn_status go_on(const group_run *w, bool *more) {
    const tn_i_actor *a = self_of(w);
    uintptr_t *frame = (uintptr_t *)(w->scratch + w->g->cond_frame), *at = frame + TN_BASE_ARGUMENTS;
    uintptr_t answer = 0;
    frame[TN_BASE_ABSOLUTE] = 0;
    frame[TN_BASE_ARENA] = w->scratch + w->g->arena;
    for (uint32_t i = 0; i < a->shape.ncond; i++) *at++ = operand(w, a, i);
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = leaves(w, a)[2 * k];
    *at = (uintptr_t)&answer;
    const tn_status status = tn_i_run_plan(a->cond, &w->inner, frame);
    *more = *(const unsigned char *)&answer != 0;
    return status;
}

static tn_status run_while(group_run *w, int64_t *n) {
    bool more;
    for (*n = 0;; ++*n) {
        tn_status status = go_on(w, &more);
        if (status != TN_OK || !more) return status;
        *w->number = *n;
        status = extend(w, 1);
        if (status == TN_OK) status = own_step(w, *n);
        if (status != TN_OK) return status;
    }
}

static void each_inner(const group_run *w, bool enter) {
    for (uint32_t k = 0; k < w->g->nactor; k++)
        for (uint32_t y = 0; y < w->g->actor[k].nentry; y++) {
            const tn_i_entry *e = &w->g->actor[k].entry[y];
            if (!e->inner || !e->made[TN_TAPED]) continue;
            if (enter) handles_of(w, e)->chain = NULL;
            drop_handles(w, e);
        }
}

static tn_status enter(const group_run *w) {
    const tn_i_actor *self = self_of(w);
    each_inner(w, true);
    for (uint32_t k = 0; k < w->g->nactor; k++) {
        const tn_i_actor *a = &w->g->actor[k];
        uintptr_t *at = leaves(w, a);
        for (uint32_t j = 0; j < a->nleaf; j++) {
            at[2 * j] = a->self ? output(w, a, a->leaf[j].leaf) : w->scratch + a->leaf[j].first;
            at[2 * j + 1] = w->scratch + a->leaf[j].second;
        }
        for (uint32_t m = 0; m < a->moves; m++) {
            const tn_status status = tn_i_run_move(w->p, &w->p->move[a->first_move + m], &w->inner, w->base);
            if (status != TN_OK) return status;
        }
    }
    for (uint32_t k = 0; k < self->nentry; k++) {
        const tn_i_var v = w->p->f->eqn[self->eqn].out + self->shape.y0 + k;
        const tn_type *t = w->p->f->val[v].type;
        if (self->entry[k].again || w->p->place[v].base != TN_BASE_ARENA || tn_i_handles(t) == 0) continue;
        if (!tn_i_stack_new(w->inner.stacks, t, (tn_i_handle *)output(w, self, self->shape.y0 + k)))
            return no_memory(w);
    }
    return w->led ? begin_snapshots(w, w->led) : TN_OK;
}

static void leave(const group_run *w) {
    const tn_i_actor *a = self_of(w);
    for (uint32_t k = 0; k < a->nleaf; k++) {
        const uintptr_t at = leaves(w, a)[2 * k], to = output(w, a, a->leaf[k].leaf);
        if (at != to && a->leaf[k].bytes) memcpy((void *)to, (const void *)at, a->leaf[k].bytes);
    }
}

tn_status tn_i_run_group(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    const tn_i_group *g = &p->group[s->loop];
    const uintptr_t scratch = base[TN_BASE_ARENA] + (uintptr_t)s->scratch;
    group_run w = {.p = p,
                   .g = g,
                   .led = g->leads == TN_NOVAR ? NULL : &p->group[g->leads],
                   .base = base,
                   .scratch = scratch,
                   .inner = tn_i_run_within(p, r),
                   .file_at = r->file_at,
                   .number = (int64_t *)(scratch + g->number)};
    const tn_i_loop_shape *shape = &self_of(&w)->shape;
    int64_t n = 0;
    tn_status status = enter(&w);
    if (status != TN_OK) return status;
    status = shape->cond ? run_while(&w, &n) : run_scan(&w, &n);
    if (status != TN_OK) return status;
    if (shape->steps != TN_NOVAR) memcpy((void *)output(&w, self_of(&w), shape->steps), &n, sizeof n);
    if (w.led) turn(&w, w.led, n);
    each_inner(&w, false);
    leave(&w);
    return TN_OK;
}
