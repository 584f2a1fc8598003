/* Running a group: the loop that it is for, those beside it, and those that a schedule brings back. */
#include "run/profile.h"
#include "run/replay_i.h"

#include <string.h>

/* After a failure, of a rank that goes on with what it has to say, no memory is what it should be. */
static bool given_up(const group_run *w) { return w->axes && tn_i_run_failed(&w->inner); }
static tn_status heard(const group_run *w, tn_status status) { return tn_i_run_heard(&w->inner, w->axes, status); }

/* ---- a step of one loop ------------------------------------------------------------------ */

static uintptr_t entry_at(const group_run *w, uintptr_t array, bool stack, int64_t by) {
    if (stack) return (uintptr_t)tn_i_stack_entry((const tn_i_handle *)array, *w->number);
    return array + (uintptr_t)(*w->number * by);
}

/* An entry that has no memory, once it is made. */
static uintptr_t made_at(const group_run *w, const tn_i_actor *a, const tn_i_entry *y) {
    return y->entering == TN_NOVAR ? w->scratch + y->buffer : leaves(w, a)[y->entering].was;
}

static uintptr_t x_at(const group_run *w, const tn_i_actor *a, uint32_t k) {
    const tn_i_source *s = &a->source[k];
    if (s->actor != TN_NOVAR) return made_at(w, &w->g->actor[s->actor], &w->g->actor[s->actor].entry[s->y]);
    if (!a->self && !a->reads[a->shape.x0 + k]) return w->scratch;
    return entry_at(w, operand(w, a, a->shape.x0 + k), s->stack, s->by);
}

static uintptr_t y_at(const group_run *w, const tn_i_actor *a, const tn_i_entry *y) {
    if (y->entering != TN_NOVAR) return leaves(w, a)[y->entering].now;
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

/* Where a step leaves what it takes from at->now. */
static uintptr_t goes_to(const tn_i_leaf_at *at, bool kept) {
    return kept ? at->now : at->into ? at->into : at->home[at->now == at->home[0]];
}

static tn_status step(group_run *w, const tn_i_actor *a, int kind) {
    const tn_i_loop_shape *s = &a->shape;
    const uint8_t *kept = a->plan[kind]->kept;
    uintptr_t *frame = (uintptr_t *)(w->scratch + w->g->frame), *at = frame + TN_BASE_ARGUMENTS;
    tn_i_leaf_at *leaf = leaves(w, a);
    if (given_up(w)) return tn_i_drain(w->inner.talk, a->plan[kind], 0);
    frame[TN_BASE_ABSOLUTE] = 0;
    frame[TN_BASE_ARENA] = w->scratch + w->g->arena;
    if (s->index) *at++ = (uintptr_t)w->number;
    for (uint32_t i = s->const0; i < s->carry0; i++) *at++ = operand(w, a, i);
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = leaf[k].now;
    for (uint32_t k = 0; k < s->nx; k++) *at++ = x_at(w, a, k);
    uintptr_t *next = at;
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = goes_to(&leaf[k], kept[k]);
    for (uint32_t k = 0; k < a->nentry; k++)
        if (a->entry[k].made[kind]) *at++ = y_at(w, a, &a->entry[k]);
    if (!begin_inner(w, a, kind)) {
        const tn_status status = heard(w, tn_i_run_no_memory(&w->inner, &w->p->f->eqn[a->eqn]));
        return status == TN_OK ? tn_i_drain(w->inner.talk, a->plan[kind], 0) : status;
    }
    for (uint32_t k = 0; k < a->nleaf; k++) {
        leaf[k].was = leaf[k].now;
        leaf[k].now = next[k];
        leaf[k].into = 0;
    }
    tn_i_run inner = w->inner;
    inner.quiet |= !a->self;
    return heard(w, tn_i_run_plan(a->plan[kind], &inner, frame));
}

/* A step of the loops that run with the group's own, or of those that are brought back. */
static tn_status step_all(group_run *w, bool against, int kind) {
    tn_status status = TN_OK;
    for (uint32_t k = 0; k < w->g->nactor && status == TN_OK; k++)
        if (w->g->actor[k].against == against) status = step(w, &w->g->actor[k], kind);
    return status;
}

/* One that a schedule counts. */
static tn_status again(group_run *w, bool against, int kind) {
    tn_i_profile_replay(w->inner.profile, kind == TN_RECORDED ? TN_I_RECORDED : TN_I_ADVANCED, 1, 0);
    return step_all(w, against, kind);
}

/* ---- slots ------------------------------------------------------------------------------------ */

static unsigned char *kept_memory(const group_run *w, const tn_i_group *g) {
    return (unsigned char *)(w->base[TN_BASE_ARENA] + (uintptr_t)g->memory);
}

static tn_status no_memory(const group_run *w) { return tn_i_run_no_memory(&w->inner, &w->p->f->eqn[w->g->eqn]); }

const tn_i_handle *tn_i_growing_of(const group_run *w, const tn_i_group *g) {
    return (const tn_i_handle *)(const void *)(kept_memory(w, g) + g->slots);
}

unsigned char *tn_i_slot_at(const group_run *w, const tn_i_group *g, int64_t slot) {
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

static tn_i_leaf_at *leaf_of(const group_run *w, const tn_i_actor *a, uint32_t leaf) {
    uint32_t k = 0;
    while (a->leaf[k].leaf != leaf) k++;
    return &leaves(w, a)[k];
}

static bool is_loose(const tn_i_actor *a, uint32_t leaf) {
    uint32_t k = 0;
    while (a->leaf[k].leaf != leaf) k++;
    return a->leaf[k].loose;
}

/* ---- states in memory ----------------------------------------------------------------------- */

/* A leaf of a snapshot. */
typedef struct saved {
    const tn_i_actor *actor; /* whose it is in this run */
    tn_i_leaf_at *at;
    uintptr_t *place; /* backwards: the entry of g->place_of; else NULL */
    uintptr_t slot;
    size_t bytes;
    bool loose;
} saved;

typedef void each_saved(saved *k);

/* Does `act` with every leaf of a slot. */
static void each_leaf(const group_run *w, const tn_i_group *g, unsigned char *slot, int64_t number, each_saved *act) {
    uintptr_t *place =
        w->bound && g == w->g ? (uintptr_t *)(w->scratch + g->place_of) + (size_t)number * g->nstate : NULL;
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *m = &g->actor[k];
        for (uint32_t j = 0; m->against && j < m->nleaf; j++) {
            const tn_i_actor *a = stand_in(w, g, k);
            saved s = {.actor = a,
                       .at = leaf_of(w, a, m->leaf[j].leaf),
                       .place = place,
                       .slot = (uintptr_t)slot,
                       .bytes = m->leaf[j].bytes,
                       .loose = is_loose(a, m->leaf[j].leaf)};
            if (s.bytes) act(&s);
            slot += tn_i_slot_padded(s.bytes);
            if (place) place++;
        }
    }
}

static void bind_leaf(saved *k) { *k->place = k->slot; }

/* The next step may leave a leaf in its slot. */
static void aim_leaf(saved *k) {
    if (k->loose && k->at->now != k->slot) k->at->into = k->slot;
}

static void load_leaf(saved *k) {
    const uintptr_t from = k->place ? *k->place : k->slot;
    if (k->loose)
        k->at->now = from;
    else
        memcpy((void *)k->at->now, (const void *)from, k->bytes);
}

/* A slot takes the memory that a leaf is in, if that is no other slot's, and gives its own for it. */
static void store_leaf(saved *k) {
    const uintptr_t now = k->at->now, to = k->place ? *k->place : k->slot;
    if (now == to) return;
    if (k->place && k->loose && (now == k->at->home[0] || now == k->at->home[1])) {
        k->at->home[now == k->at->home[1]] = to;
        *k->place = now;
    } else
        memcpy((void *)to, (const void *)now, k->bytes);
}

/* Memory of a leaf that is no slot's. */
static void go_home(saved *k) {
    if (k->at->now != k->at->home[1]) k->at->now = k->at->home[0];
}

static tn_status with_slot(const group_run *w, const tn_i_group *g, int64_t number, each_saved *act) {
    unsigned char *slot = tn_i_slot_at(w, g, number);
    if (!slot) return no_memory(w);
    each_leaf(w, g, slot, number, act);
    return TN_OK;
}

/* ---- records -------------------------------------------------------------------------------- */

/* A record is used once: the stacks in it move, and what entered the step is read in the slot. */
static void copy_record(const group_run *w, const tn_i_group *g, unsigned char *slot, bool save) {
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *m = &g->actor[k];
        for (uint32_t y = 0; y < m->nentry; y++) {
            if (!m->entry[y].recorded) continue;
            const tn_i_actor *a = stand_in(w, g, k);
            const tn_i_entry *live = &a->entry[y];
            const size_t bytes = m->entry[y].bytes;
            if (live->inner && !save) drop_handles(w, live);
            if (live->entering != TN_NOVAR && !save)
                leaves(w, a)[live->entering].was = (uintptr_t)slot;
            else if (bytes) {
                void *at = (void *)made_at(w, a, live);
                memcpy(save ? slot : at, save ? at : slot, bytes);
            }
            if (live->inner && save) handles_of(w, live)->chain = NULL;
            slot += tn_i_slot_padded(bytes);
        }
    }
}

/* ---- states on disk ------------------------------------------------------------------------- */

/* Leaf by leaf, each with its checksum. */
static tn_status copy_to_disk(const group_run *w, const tn_i_group *g, int64_t slot, bool save) {
    char why[TN_I_SPILL_TEXT];
    uint64_t *sum = (uint64_t *)(void *)(kept_memory(w, g) + g->sums) + (size_t)slot * g->nstate;
    uint64_t at = w->file_at + w->p->slots_at + g->file + (uint64_t)slot * g->slot_bytes;
    if (!save) each_leaf(w, g, kept_memory(w, g), 0, go_home);
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *m = &g->actor[k];
        for (uint32_t j = 0; m->against && j < m->nleaf; j++, sum++) {
            void *data = (void *)leaf_of(w, stand_in(w, g, k), m->leaf[j].leaf)->now;
            const size_t bytes = m->leaf[j].bytes;
            if (bytes == 0) continue;
            if (!(save ? tn_i_spill_write(w->inner.file, at, data, bytes, sum, why)
                       : tn_i_spill_read(w->inner.file, at, data, bytes, *sum, why)))
                return tn_i_run_fail(&w->inner, &w->p->f->eqn[g->eqn], TN_EIO, why);
            at += tn_i_slot_padded(bytes);
        }
    }
    return TN_OK;
}

static void note_copy(const group_run *w, const tn_i_act *act, bool save) {
    static const tn_i_replay_act what[2][2] = {{TN_I_LOADED, TN_I_SAVED}, {TN_I_FROM_DISK, TN_I_TO_DISK}};
    tn_i_profile_replay(w->inner.profile, what[act->place == TN_I_DISK][save], 1, act->slot);
}

static tn_status copy_slot(const group_run *w, const tn_i_group *g, const tn_i_act *act, bool save) {
    if (given_up(w)) return TN_OK;
    note_copy(w, act, save);
    if (act->place == TN_I_DISK) return heard(w, copy_to_disk(w, g, act->slot, save));
    return heard(w, with_slot(w, g, act->slot, save ? store_leaf : load_leaf));
}

/* Records are kept in memory: in slots, or the one that is worked with. */
static tn_status copy_recorded(const group_run *w, const tn_i_group *g, const tn_i_act *act, bool save) {
    const bool working = act->kind == TN_I_RECORD || act->slot == TN_I_WORKING;
    if (given_up(w)) return TN_OK;
    unsigned char *slot = working ? kept_memory(w, g) + g->record : tn_i_slot_at(w, g, act->slot);
    if (!slot) return heard(w, no_memory(w));
    if (!working) note_copy(w, act, save);
    copy_record(w, g, slot, save);
    return TN_OK;
}

static tn_i_schedule_run *schedule_of(const group_run *w, const tn_i_group *g) {
    return (tn_i_schedule_run *)(void *)(kept_memory(w, g) + g->run);
}

static int64_t *steps_of(const group_run *w, const tn_i_group *g) { return (int64_t *)(void *)kept_memory(w, g); }

static tn_status begin_snapshots(group_run *w, const tn_i_group *g) {
    tn_i_handle *h = (tn_i_handle *)(void *)(kept_memory(w, g) + g->slots);
    if (g->script)
        w->forward[g == w->g] = (tn_i_reading){.line = g->script->line};
    else
        (void)tn_i_schedule_begin(g->schedule, kept_memory(w, g) + g->run);
    if (!g->growing || given_up(w) || tn_i_stack_new(w->inner.stacks, g->growing, h)) return TN_OK;
    return no_memory(w);
}

/* ---- steps forward, while snapshots of group g are taken ---------------------------------------- */

/* The last of steps that keep nothing may leave the state where it is wanted next. */
static tn_status look_ahead(const group_run *w, const tn_i_group *g) {
    const tn_i_reading *at = &w->forward[g == w->g];
    const tn_i_line *next = at->line + 1;
    if (at->done + 1 < at->line->n || next == g->script->line + g->script->back || next->kind != TN_I_STORE ||
        next->place != TN_I_MEMORY || given_up(w))
        return TN_OK;
    return heard(w, with_slot(w, g, next->slot, aim_leaf));
}

static tn_i_act act_of(const tn_i_line *k) {
    return (tn_i_act){.kind = k->kind, .place = k->place, .slot = k->slot, .step = k->step, .n = k->n};
}

/* What the schedule says of step i, or of as many of n steps as are alike where chunks do them; from the script where
 * there is one. */
static tn_i_act forward_of(group_run *w, const tn_i_group *g, int64_t i, int64_t n) {
    tn_i_reading *at = &w->forward[g == w->g];
    if (!g->script) return tn_i_schedule_forward_many(schedule_of(w, g), i, n);
    if (g->chunks) return tn_i_script_forward_many(g->script, at, n);
    tn_i_act act = act_of(at->line);
    if (act.kind == TN_I_ADVANCE) act.kind = TN_I_NONE;
    act.n = 1;
    return act;
}

static tn_status forward(group_run *w, const tn_i_group *g, const tn_i_act *act, bool against) {
    tn_i_reading *at = &w->forward[g == w->g];
    const bool recorded = act->kind == TN_I_KEEP || act->kind == TN_I_RECORD, script = g->script && !g->chunks;
    tn_status status = TN_OK;
    if (act->kind == TN_I_STORE) {
        status = copy_slot(w, g, act, true);
        if (script) at->line++;
    }
    if (script && !recorded && status == TN_OK) status = look_ahead(w, g);
    if (status == TN_OK) status = again(w, against, recorded ? TN_RECORDED : TN_PLAIN);
    if (script && ++at->done == at->line->n) *at = (tn_i_reading){.line = at->line + 1};
    return status == TN_OK && recorded ? copy_recorded(w, g, act, true) : status;
}

static void turn(const group_run *w, const tn_i_group *g, int64_t n) {
    *steps_of(w, g) = n;
    if (!g->script) tn_i_schedule_turn(schedule_of(w, g), n);
}

static tn_status own_step(group_run *w, int64_t k) {
    if (!w->led) return step_all(w, false, TN_PLAIN);
    const tn_i_act act = forward_of(w, w->led, k, 1);
    return forward(w, w->led, &act, false);
}

/* ---- many of them --------------------------------------------------------------------------------------- */

static void note_many(const group_run *w, tn_i_replay_act act, int64_t n, int64_t slot) {
    tn_i_profile_replay(w->inner.profile, act, n, slot);
}

static unsigned char *working_record(const group_run *w, const tn_i_group *g) { return kept_memory(w, g) + g->record; }

/* The chunk that does the steps of an act. */
static tn_i_chunk_kind forward_chunk(const tn_i_act *act, bool against) {
    if (act->kind == TN_I_STORE && act->place == TN_I_MEMORY) return against ? TN_CHUNK_STORE : TN_CHUNK_FORWARD_STORE;
    if (act->kind == TN_I_KEEP || act->kind == TN_I_RECORD) return against ? TN_CHUNK_KEEP : TN_CHUNK_FORWARD_KEEP;
    return against ? TN_CHUNK_ADVANCE : TN_CHUNK_FORWARD;
}

static tn_status forward_made(group_run *w, const tn_i_group *g, const tn_i_act *act, tn_i_chunk_kind kind) {
    const bool recorded = act->kind == TN_I_KEEP || act->kind == TN_I_RECORD;
    note_many(w, recorded ? TN_I_RECORDED : TN_I_ADVANCED, act->n, 0);
    if (act->kind == TN_I_KEEP || tn_i_chunk_stores(kind)) note_many(w, TN_I_SAVED, act->n, act->slot + act->n - 1);
    return tn_i_run_chunk(w, &(tn_i_chunk_run){.kind = kind,
                                               .number = *w->number,
                                               .n = act->n,
                                               .slot = act->slot,
                                               .at = act->kind == TN_I_RECORD ? working_record(w, g) : NULL});
}

/* Steps from step i on, of n, as many as the schedule says: *done. */
static tn_status forward_many(group_run *w, const tn_i_group *g, int64_t i, int64_t n, bool against, int64_t *done) {
    tn_i_act act = forward_of(w, g, i, n - i);
    const tn_i_chunk_kind kind = forward_chunk(&act, against);
    const int64_t last = i + act.n, by = self_of(w)->shape.reverse == against ? 1 : -1;
    tn_status status = TN_OK;
    *done = act.n;
    if ((g->chunks || !g->script) && tn_i_chunk_made(w, kind)) {
        if (act.kind == TN_I_STORE && !tn_i_chunk_stores(kind)) status = copy_slot(w, g, &act, true);
        return status == TN_OK ? forward_made(w, g, &act, kind) : status;
    }
    for (; i < last && status == TN_OK; i++, act.slot++, act.step++) {
        status = forward(w, g, &act, against);
        *w->number += by;
    }
    return status;
}

/* One of the group's own or more. */
static tn_status own_steps(group_run *w, int64_t i, int64_t n, int64_t *done) {
    if (w->led) return forward_many(w, w->led, i, n, false, done);
    const bool made = tn_i_chunk_made(w, TN_CHUNK_FORWARD);
    *done = made ? n - i : 1;
    return made ? tn_i_run_chunk(w, &(tn_i_chunk_run){.kind = TN_CHUNK_FORWARD, .number = *w->number, .n = *done})
                : own_step(w, i);
}

/* ---- backwards ---------------------------------------------------------------------------------- */

static tn_status other_length(const group_run *w) {
    return tn_i_run_fail(&w->inner, &w->p->f->eqn[w->g->eqn], TN_EINVAL,
                         "runs for another number of steps than the loop whose entries it reads");
}

/* Snapshots of the group's own, in a run for them alone. */
static tn_status take_snapshots(group_run *w, int64_t n) {
    const bool reverse = !self_of(w)->shape.reverse;
    if (w->g->script && w->g->script->steps != n) return other_length(w);
    tn_status status = heard(w, begin_snapshots(w, w->g));
    for (int64_t k = 0, done; k < n && status == TN_OK; k += done) {
        *w->number = number_of(reverse, k, n);
        status = forward_many(w, w->g, k, n, true, &done);
    }
    if (status == TN_OK) turn(w, w->g, n);
    return status;
}

static tn_status advance(group_run *w, const tn_i_act *act, int64_t n) {
    tn_status status = TN_OK;
    for (int64_t k = act->step; k < act->step + act->n && status == TN_OK; k++) {
        *w->number = number_of(!self_of(w)->shape.reverse, k, n);
        status = again(w, true, TN_PLAIN);
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
        status = again(w, true, TN_RECORDED);
        return status == TN_OK ? copy_recorded(w, w->g, act, true) : status;
    case TN_I_RECORD: status = again(w, true, TN_RECORDED); break;
    case TN_I_USE: status = copy_recorded(w, w->g, act, false); break;
    default: break;
    }
    return status == TN_OK && use ? own_step(w, (*done)++) : status;
}

/* What the schedule says next. */
static tn_i_act next_of(group_run *w) {
    const tn_i_script *k = w->g->script;
    if (!k) return tn_i_schedule_next_many(schedule_of(w, w->g));
    if (w->g->chunks) return tn_i_script_next_many(k, &w->back);
    return w->back.line == k->line + k->nline ? (tn_i_act){.kind = TN_I_DONE} : act_of(w->back.line++);
}

/* The chunk that does an act's steps, if one does. */
static tn_i_chunk_kind back_chunk(const group_run *w, const tn_i_act *act) {
    tn_i_chunk_kind kind = TN_CHUNKS;
    if (act->kind == TN_I_ADVANCE) kind = TN_CHUNK_ADVANCE;
    if (act->kind == TN_I_STORE && act->n) kind = TN_CHUNK_STORE;
    if (act->kind == TN_I_KEEP) kind = TN_CHUNK_KEEP;
    if (act->kind == TN_I_RECORD || (act->kind == TN_I_RESTORE && act->n)) kind = TN_CHUNK_BACK;
    if (act->kind == TN_I_USE) kind = TN_CHUNK_USE;
    return kind != TN_CHUNKS && tn_i_chunk_made(w, kind) ? kind : TN_CHUNKS;
}

/* As if it were done step by step. */
static void note_act(const group_run *w, const tn_i_act *a) {
    const bool recorded = a->kind == TN_I_RESTORE || a->kind == TN_I_RECORD || a->kind == TN_I_KEEP;
    if (recorded) note_many(w, TN_I_RECORDED, a->n, 0);
    if (a->kind == TN_I_ADVANCE || a->kind == TN_I_STORE) note_many(w, TN_I_ADVANCED, a->n, 0);
    if (a->kind == TN_I_STORE || a->kind == TN_I_KEEP) note_many(w, TN_I_SAVED, a->n, a->slot + a->n - 1);
    if (a->kind == TN_I_RESTORE || (a->kind == TN_I_USE && a->slot != TN_I_WORKING))
        note_many(w, TN_I_LOADED, a->n, a->slot);
}

/* One act of those that an act of many stands for: what comes with it is done too. */
static tn_status act_on_one(group_run *w, const tn_i_act *act, int64_t n, int64_t *done) {
    const tn_i_act then = {
        .kind = act->kind == TN_I_STORE ? TN_I_ADVANCE : TN_I_RECORD, .slot = TN_I_WORKING, .step = act->step, .n = 1};
    const bool two = act->n && (act->kind == TN_I_STORE || act->kind == TN_I_RESTORE);
    const tn_status status = act_on(w, act, n, done);
    return status == TN_OK && two ? act_on(w, &then, n, done) : status;
}

static tn_status act_on_many(group_run *w, tn_i_act act, int64_t n, int64_t *done) {
    const tn_i_chunk_kind kind = back_chunk(w, &act);
    const bool down = act.kind == TN_I_RESTORE || act.kind == TN_I_USE;
    tn_status status = TN_OK;
    if (act.kind == TN_I_RECORD) act.n = 1;
    if (kind != TN_CHUNKS) {
        *w->number = number_of(!self_of(w)->shape.reverse, act.step, n);
        note_act(w, &act);
        if (tn_i_chunk_back(kind)) *done += act.n;
        return tn_i_run_chunk(
            w,
            &(tn_i_chunk_run){.kind = kind,
                              .number = *w->number,
                              .n = act.n,
                              .slot = act.slot,
                              .at = act.kind == TN_I_USE && act.slot == TN_I_WORKING ? working_record(w, w->g) : NULL,
                              .here = act.kind == TN_I_RECORD});
    }
    if (act.kind == TN_I_ADVANCE) return act_on(w, &act, n, done);
    for (int64_t left = act.n > 1 ? act.n : 1; left > 0 && status == TN_OK; left--) {
        status = act_on_one(w, &act, n, done);
        act.slot += down ? -1 : 1;
        act.step += down ? -1 : 1;
    }
    return status;
}

static void bind_slots(group_run *w) {
    if (given_up(w)) return;
    w->bound = w->g->bound && !w->chunks;
    for (int64_t k = 0; w->bound && k < w->g->nslot; k++) (void)with_slot(w, w->g, k, bind_leaf);
}

static void release_slots(const group_run *w) {
    tn_i_stack_release(w->inner.stacks, w->g->growing, (tn_i_handle *)(void *)(kept_memory(w, w->g) + w->g->slots));
}

static tn_status run_back(group_run *w, int64_t n) {
    tn_status status = w->g->taken ? TN_OK : take_snapshots(w, n);
    int64_t done = 0;
    if (status == TN_OK && *steps_of(w, w->g) != n) status = other_length(w);
    bind_slots(w);
    if (w->g->script) w->back = (tn_i_reading){.line = w->g->script->line + w->g->script->back};
    while (status == TN_OK) {
        const tn_i_act act = next_of(w);
        if (act.kind == TN_I_DONE) break;
        status = act_on_many(w, act, n, &done);
    }
    if (status == TN_OK && w->g->growing && !given_up(w)) release_slots(w);
    return status;
}

/* ---- the loop that the group is for ------------------------------------------------------------- */

/* n entries more of the stack that entry k is, if it is one. */
static bool push(const group_run *w, uint32_t k, int64_t n) {
    const tn_i_actor *a = self_of(w);
    return !a->entry[k].stack || a->entry[k].again ||
           tn_i_stack_extend(w->inner.stacks, (tn_i_handle *)output(w, a, a->shape.y0 + k), n);
}

static tn_status extend(const group_run *w, int64_t n) {
    for (uint32_t k = 0; k < self_of(w)->nentry; k++)
        if (!push(w, k, n)) return no_memory(w);
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

static tn_status claim(const group_run *w, int64_t n) {
    const tn_status status = check_lengths(w, n);
    return status == TN_OK && n ? extend(w, n) : status;
}

/* How many steps, where a run finds that out: the same on all ranks.  false: a rank has failed. */
static bool agreed(const group_run *w, int64_t *n, tn_status *status) {
    if (self_of(w)->shape.length == TN_I_STEPS) return tn_i_run_agreed(&w->inner, w->axes, n, status);
    *status = TN_OK;
    return true;
}

static tn_status run_scan(group_run *w, int64_t *n) {
    const tn_i_loop_shape *s = &self_of(w)->shape;
    *n = s->length;
    if (*n == TN_I_STEPS) memcpy(n, (const void *)operand(w, self_of(w), 0), sizeof *n);
    if (*n < 0) *n = 0;
    tn_status status;
    if (!agreed(w, n, &status)) return status;
    status = heard(w, claim(w, *n));
    if (status != TN_OK || w->g->schedule) return status == TN_OK ? run_back(w, *n) : status;
    for (int64_t k = 0, done; k < *n && status == TN_OK; k += done) {
        *w->number = number_of(s->reverse, k, *n);
        status = own_steps(w, k, *n, &done);
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
    for (uint32_t k = 0; k < a->nleaf; k++) *at++ = leaves(w, a)[k].now;
    *at = (uintptr_t)&answer;
    tn_status status = heard(w, tn_i_run_plan(a->cond, &w->inner, frame));
    int64_t on = *(const unsigned char *)&answer != 0;
    *more = status == TN_OK && tn_i_run_agreed(&w->inner, w->axes, &on, &status) && on;
    return status;
}

static tn_status run_while(group_run *w, int64_t *n) {
    bool more;
    for (*n = 0;; ++*n) {
        tn_status status = go_on(w, &more);
        if (status != TN_OK || !more) return status;
        *w->number = *n;
        status = heard(w, extend(w, 1));
        if (status == TN_OK) status = own_step(w, *n);
        if (status != TN_OK) return status;
    }
}

static void each_inner(const group_run *w, bool enter) {
    for (uint32_t k = 0; k < w->g->nactor; k++)
        for (uint32_t y = 0; y < w->g->actor[k].nentry; y++) {
            const tn_i_entry *e = &w->g->actor[k].entry[y];
            if (!e->inner || !e->made[TN_RECORDED]) continue;
            if (enter) handles_of(w, e)->chain = NULL;
            drop_handles(w, e);
        }
}

static tn_status enter(group_run *w) {
    const tn_i_actor *self = self_of(w);
    each_inner(w, true);
    for (uint32_t k = 0; k < w->g->nactor; k++) {
        const tn_i_actor *a = &w->g->actor[k];
        tn_i_leaf_at *at = leaves(w, a);
        for (uint32_t j = 0; j < a->nleaf; j++) {
            const uintptr_t first = a->self ? output(w, a, a->leaf[j].leaf) : w->scratch + a->leaf[j].first;
            at[j] = (tn_i_leaf_at){.now = first, .was = first, .home = {first, w->scratch + a->leaf[j].second}};
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
        const uintptr_t at = leaves(w, a)[k].now, to = output(w, a, a->leaf[k].leaf);
        if (at != to && a->leaf[k].bytes) memcpy((void *)to, (const void *)at, a->leaf[k].bytes);
    }
}

static group_run begin(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    const tn_i_group *g = &p->group[s->loop];
    const uintptr_t scratch = base[TN_BASE_ARENA] + (uintptr_t)s->scratch;
    return (group_run){.p = p,
                       .g = g,
                       .led = g->leads == TN_NOVAR ? NULL : &p->group[g->leads],
                       .axes = s->axes,
                       .base = base,
                       .scratch = scratch,
                       .inner = tn_i_run_within(p, r),
                       .file_at = r->file_at,
                       .number = (int64_t *)(scratch + g->number)};
}

tn_status tn_i_run_group(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    group_run w = begin(p, s, r, base);
    const tn_i_loop_shape *shape = &self_of(&w)->shape;
    int64_t n = 0;
    tn_status status = heard(&w, enter(&w));
    if (status != TN_OK || !tn_i_run_agreed(r, s->axes, &n, &status)) return status;
    w.chunks = tn_i_chunks_enter(&w);
    status = shape->cond ? run_while(&w, &n) : run_scan(&w, &n);
    if (status != TN_OK || given_up(&w)) return status;
    if (shape->steps != TN_NOVAR) memcpy((void *)output(&w, self_of(&w), shape->steps), &n, sizeof n);
    if (w.led) turn(&w, w.led, n);
    each_inner(&w, false);
    leave(&w);
    return TN_OK;
}
