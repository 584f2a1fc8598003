/* Loops in groups (plan/replay.h): a step of each beside the others, and snapshots of their states. */
#include "emit/c99_group.h"
#include "plan/stack.h"

#include <inttypes.h>

typedef tn_i_group_text writer;

void tn_i_c99_group_refuse(writer *k, const char *why) { tn_i_c99_refuse(k->w, &k->p->f->eqn[k->s->eqn], why); }

/* ---- a step of one loop -------------------------------------------------------------------------------- */

static const tn_i_eqn *equation(const writer *k, const tn_i_actor *a) { return &k->p->f->eqn[a->eqn]; }

static void put_scratch(writer *k, const tn_type *t, size_t at) {
    tn_i_text_put(k->t, "(%s *)(void *)(w + %" PRId64 ")", tn_i_c_name(t->dtype), k->s->scratch + (int64_t)at);
}

static void put_operand(writer *k, const tn_i_actor *a, uint32_t i) {
    const tn_i_place *place = &k->p->arg[a->arg + i];
    const tn_i_var v = tn_i_in(k->p->f, equation(k, a))[i];
    if (place->base == TN_BASE_ABSOLUTE && place->offset == 0) /* nothing reads it */
        put_scratch(k, k->p->f->val[v].type, 0);
    else
        tn_i_c99_pointer(k->w, k->t, k->p, v, place, false);
}

static void put_output(writer *k, const tn_i_actor *a, uint32_t j) {
    const tn_i_var v = equation(k, a)->out + j;
    tn_i_c99_pointer(k->w, k->t, k->p, v, &k->p->place[v], true);
}

static const tn_type *operand_type(const writer *k, const tn_i_actor *a, uint32_t i) {
    return k->p->f->val[tn_i_in(k->p->f, equation(k, a))[i]].type;
}

/* The entry of this step, of an array that is written by `put`. */
static void put_entry(writer *k, const tn_i_actor *a, uint32_t at, bool output, bool stack, int64_t by) {
    const tn_i_var v = output ? equation(k, a)->out + at : tn_i_in(k->p->f, equation(k, a))[at];
    const tn_i_place *place = output ? &k->p->place[v] : &k->p->arg[a->arg + at];
    if (stack) tn_i_text_put(k->t, "tansy_entry(");
    if (output)
        put_output(k, a, at);
    else
        put_operand(k, a, at);
    if (stack) tn_i_text_put(k->t, ", step)");
    if (by) tn_i_text_put(k->t, " + step * (%" PRId64 ")", by / tn_i_c99_unit(k->p, v, place));
}

static void put_x(writer *k, const tn_i_actor *a, uint32_t x) {
    const tn_i_source *s = &a->source[x];
    const tn_type *t = operand_type(k, a, a->shape.x0 + x);
    if (s->actor != TN_NOVAR)
        put_scratch(k, t, k->g->actor[s->actor].entry[s->y].buffer);
    else if (!a->self && !a->reads[a->shape.x0 + x])
        put_scratch(k, t, 0);
    else
        put_entry(k, a, a->shape.x0 + x, false, s->stack, s->by);
}

static void put_y(writer *k, const tn_i_actor *a, const tn_i_entry *y) {
    if (y->again)
        put_scratch(k, k->p->f->val[equation(k, a)->out + a->shape.y0 + y->y].type, y->buffer);
    else
        put_entry(k, a, a->shape.y0 + y->y, true, y->stack, y->by);
}

static void put_leaf(writer *k, const tn_i_actor *a, uint32_t j, bool next) {
    tn_i_text_put(k->t, "%s%u_%u", next ? "next" : "state", (unsigned)(a - k->g->actor), (unsigned)j);
}

static const tn_type *leaf_type(const writer *k, const tn_i_actor *a, uint32_t j) {
    return operand_type(k, a, a->shape.carry0 + a->leaf[j].leaf);
}

static void comma(writer *k) { tn_i_text_put(k->t, ", "); }

/* ---- entries that are arrays of unknown length themselves -------------------------------------------- */

static void put_inner(writer *k, const tn_i_entry *y) {
    tn_i_text_put(k->t, "(tansy_stack *)(void *)(w + %" PRId64 ")", k->s->scratch + (int64_t)y->buffer);
}

/* A buffer holds none while its first `chain` is NULL. */
static void drop_inner(writer *k, const tn_i_entry *y) {
    tn_i_text_put(k->t, "if ((");
    put_inner(k, y);
    tn_i_text_put(k->t, ")->chain) tansy_drop(stacks, ");
    put_inner(k, y);
    tn_i_text_put(k->t, ", %" PRId64 ");\n", tn_i_handles(y->inner));
}

static void forget_inner(writer *k, const tn_i_entry *y) {
    tn_i_text_put(k->t, "(");
    put_inner(k, y);
    tn_i_text_put(k->t, ")->chain = NULL;\n");
}

static void each_inner(writer *k, void (*put)(writer *k, const tn_i_entry *y)) {
    for (uint32_t i = 0; i < k->g->nactor; i++)
        for (uint32_t y = 0; y < k->g->actor[i].nentry; y++) {
            const tn_i_entry *e = &k->g->actor[i].entry[y];
            if (e->inner && e->made[TN_RECORDED]) put(k, e);
        }
}

/* How many slots may hold entries of a step; TN_I_UNKNOWN: as many as there are steps. */
static int64_t records_of(const tn_i_group *g) {
    return g && g->schedule && tn_i_schedule_slots_of(g->schedule).records ? g->nslot : 0;
}

/* What a step makes begins empty. */
static void begin_inner(writer *k, const tn_i_actor *a, int kind) {
    const int64_t own = records_of(k->g), led = records_of(k->led);
    const bool many = own == TN_I_UNKNOWN || led == TN_I_UNKNOWN;
    for (uint32_t y = 0; y < a->nentry; y++) {
        const tn_i_entry *e = &a->entry[y];
        if (!e->inner || !e->made[kind]) continue;
        drop_inner(k, e);
        tn_i_c99_stack_new(k->w, e->inner, k->s->scratch + (int64_t)e->buffer, many ? 1 : (size_t)(1 + own + led),
                           many);
    }
}

/* ---- a step of all loops ------------------------------------------------------------------------------- */

/* The leaf as it left the step is what enters the next one. */
static void exchange(writer *k, const tn_i_actor *a, uint32_t j) {
    const unsigned i = (unsigned)(a - k->g->actor), leaf = (unsigned)j;
    tn_i_text_put(k->t, "{\n%s *const was = state%u_%u;\nstate%u_%u = next%u_%u;\nnext%u_%u = was;\n}\n",
                  tn_i_c_name(leaf_type(k, a, j)->dtype), i, leaf, i, leaf, i, leaf, i, leaf);
}

static void write_step(writer *k, const tn_i_actor *a, int kind) {
    const tn_i_loop_shape *s = &a->shape;
    const tn_i_plan *plan = a->plan[kind];
    begin_inner(k, a, kind);
    tn_i_c99_call(k->w, plan);
    if (s->index) tn_i_text_put(k->t, "&step, ");
    for (uint32_t i = s->const0; i < s->carry0; i++) put_operand(k, a, i), comma(k);
    for (uint32_t j = 0; j < a->nleaf; j++) put_leaf(k, a, j, false), comma(k);
    for (uint32_t x = 0; x < s->nx; x++) put_x(k, a, x), comma(k);
    for (uint32_t j = 0; j < a->nleaf; j++) put_leaf(k, a, j, !plan->kept[j]), comma(k);
    for (uint32_t y = 0; y < a->nentry; y++)
        if (a->entry[y].made[kind]) put_y(k, a, &a->entry[y]), comma(k);
    tn_i_c99_end_call(k->w, k->s->scratch + (int64_t)k->g->arena, !a->self);
    for (uint32_t j = 0; j < a->nleaf; j++)
        if (!plan->kept[j]) exchange(k, a, j);
}

void tn_i_c99_group_steps(writer *k, bool against, int kind) {
    for (uint32_t i = 0; i < k->g->nactor; i++)
        if (k->g->actor[i].against == against) write_step(k, &k->g->actor[i], kind);
}

/* ---- snapshots --------------------------------------------------------------------------------------------- */

void tn_i_c99_group_state(writer *k, const tn_i_group *g, bool save) {
    size_t at = 0;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *m = &g->actor[i];
        for (uint32_t j = 0; m->against && j < m->nleaf; j++) {
            const tn_i_actor *live = tn_i_stand_in(k->g, g, i);
            const uint32_t leaf = tn_i_leaf_number(live, m->leaf[j].leaf);
            if (m->leaf[j].bytes) {
                tn_i_text_put(k->t, "memcpy(");
                if (save) tn_i_text_put(k->t, "slot + %zu, ", at);
                put_leaf(k, live, leaf, false);
                if (!save) tn_i_text_put(k->t, ", slot + %zu", at);
                tn_i_text_put(k->t, ", %zu);\n", m->leaf[j].bytes);
            }
            at += tn_i_slot_padded(m->leaf[j].bytes);
        }
    }
}

void tn_i_c99_group_record(writer *k, const tn_i_group *g, bool save) {
    size_t at = 0;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *m = &g->actor[i];
        for (uint32_t y = 0; y < m->nentry; y++) {
            if (!m->entry[y].recorded) continue;
            const tn_i_entry *e = &tn_i_stand_in(k->g, g, i)->entry[y];
            const int64_t live = k->s->scratch + (int64_t)e->buffer;
            if (e->inner && !save) drop_inner(k, e);
            if (m->entry[y].bytes && save)
                tn_i_text_put(k->t, "memcpy(slot + %zu, w + %" PRId64 ", %zu);\n", at, live, m->entry[y].bytes);
            else if (m->entry[y].bytes)
                tn_i_text_put(k->t, "memcpy(w + %" PRId64 ", slot + %zu, %zu);\n", live, at, m->entry[y].bytes);
            if (e->inner && save) forget_inner(k, e); /* a record is used once: what is in it moves */
            at += tn_i_slot_padded(m->entry[y].bytes);
        }
    }
}

/* ---- the loop ------------------------------------------------------------------------------------------------ */

void tn_i_c99_group_condition(writer *k) {
    const tn_i_loop_shape *s = &k->self->shape;
    tn_i_text_put(k->t, "uint8_t more = 0;\n");
    tn_i_c99_call(k->w, k->self->cond);
    for (uint32_t i = 0; i < s->ncond; i++) put_operand(k, k->self, i), comma(k);
    for (uint32_t j = 0; j < k->self->nleaf; j++) put_leaf(k, k->self, j, false), comma(k);
    tn_i_text_put(k->t, "&more, ");
    tn_i_c99_end_call(k->w, k->s->scratch + (int64_t)k->g->arena, false);
}

/* No loop of the group reads beyond the end of an array. */
static void check_lengths(writer *k) {
    for (uint32_t i = 0; i < k->g->nactor; i++) {
        const tn_i_actor *a = &k->g->actor[i];
        for (uint32_t x = 0; x < a->shape.nx; x++) {
            if (a->source[x].actor != TN_NOVAR || !a->source[x].stack) continue;
            tn_i_text_put(k->t, "if ((");
            put_operand(k, a, a->shape.x0 + x);
            tn_i_text_put(k->t, ")->count < steps) return 4;\n");
        }
    }
}

void tn_i_c99_group_extend(writer *k, const char *n) {
    const tn_i_actor *a = k->self;
    for (uint32_t y = 0; y < a->nentry; y++) {
        if (!a->entry[y].stack || a->entry[y].again) continue;
        tn_i_text_put(k->t, "status = tansy_extend(stacks, ");
        put_output(k, a, a->shape.y0 + a->entry[y].y);
        tn_i_text_put(k->t, ", %s);\nif (status) return status;\n", n);
    }
}

void tn_i_c99_group_length(writer *k) {
    tn_i_text_put(k->t, "const int64_t steps = ");
    if (k->self->shape.length == TN_I_STEPS) {
        tn_i_text_put(k->t, "*");
        put_operand(k, k->self, 0);
    } else
        tn_i_text_put(k->t, "%" PRId64, k->self->shape.length);
    tn_i_text_put(k->t, ";\n");
    check_lengths(k);
    tn_i_c99_group_extend(k, "steps");
}

/* No step leaves it in other memory than it was in. */
static bool stays(const tn_i_actor *a, uint32_t j) {
    return a->plan[TN_PLAIN]->kept[j] && a->plan[TN_RECORDED]->kept[j];
}

static void declare_leaf(writer *k, const tn_i_actor *a, uint32_t j, bool next) {
    const tn_type *t = leaf_type(k, a, j);
    tn_i_text_put(k->t, "%s *", tn_i_c_name(t->dtype));
    put_leaf(k, a, j, next);
    tn_i_text_put(k->t, " = ");
    if (a->self && !next)
        put_output(k, a, a->leaf[j].leaf);
    else
        put_scratch(k, t, next ? a->leaf[j].second : a->leaf[j].first);
    tn_i_text_put(k->t, ";\n(void)");
    put_leaf(k, a, j, next);
    tn_i_text_put(k->t, ";\n");
}

static void write_states(writer *k) {
    for (uint32_t i = 0; i < k->g->nactor; i++) {
        const tn_i_actor *a = &k->g->actor[i];
        for (uint32_t j = 0; j < a->nleaf; j++) {
            declare_leaf(k, a, j, false);
            if (!stays(a, j)) declare_leaf(k, a, j, true);
        }
    }
    for (uint32_t i = 0; i < k->g->nactor; i++)
        for (uint32_t m = 0; m < k->g->actor[i].moves; m++)
            tn_i_c99_move(k->w, k->p, &k->p->move[k->g->actor[i].first_move + m]);
}

static void leave(writer *k) {
    const tn_i_actor *a = k->self;
    for (uint32_t j = 0; j < a->nleaf; j++) {
        if (!a->leaf[j].bytes || stays(a, j)) continue;
        tn_i_text_put(k->t, "if (");
        put_leaf(k, a, j, false);
        tn_i_text_put(k->t, " != ");
        put_output(k, a, a->leaf[j].leaf);
        tn_i_text_put(k->t, ") memcpy(");
        put_output(k, a, a->leaf[j].leaf);
        comma(k);
        put_leaf(k, a, j, false);
        tn_i_text_put(k->t, ", %zu);\n", a->leaf[j].bytes);
    }
}

void tn_i_c99_group_steps_out(writer *k, const char *steps) {
    if (k->self->shape.steps == TN_NOVAR) return;
    tn_i_text_put(k->t, "*");
    put_output(k, k->self, k->self->shape.steps);
    tn_i_text_put(k->t, " = %s;\n", steps);
}

static void begin_outputs(writer *k) {
    for (uint32_t y = 0; y < k->self->nentry; y++)
        if (!k->self->entry[y].again)
            tn_i_c99_stack_output(k->w, k->p, equation(k, k->self)->out + k->self->shape.y0 + k->self->entry[y].y);
}

void tn_i_c99_group(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_group *g = &p->group[s->loop];
    writer k = {.w = w, .t = &w->t, .p = p, .s = s, .g = g, .self = &g->actor[g->nactor - 1]};
    k.led = g->leads == TN_NOVAR ? NULL : &p->group[g->leads];
    tn_i_text_put(k.t, "{\n");
    each_inner(&k, forget_inner);
    write_states(&k);
    begin_outputs(&k);
    tn_i_c99_replay(&k);
    each_inner(&k, drop_inner);
    leave(&k);
    tn_i_text_put(k.t, "}\n");
}
