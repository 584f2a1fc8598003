/* Loops with schedules (exec/replay.h).  What a schedule of known length does is known too: it is run here, and what
 * comes out is a table of what to do, which a few lines of C follow. */
#include "emit/c99.h"
#include "exec/replay.h"

#include <inttypes.h>

/* What a line of the table says; `slot` is an offset in bytes from w, `step` the number of the (first) step. */
enum { OWN_PLAIN, OWN_TAPED, BACK_PLAIN, BACK_TAPED, SAVE, LOAD, SAVE_RECORD, LOAD_RECORD, SAVE_LED, SAVE_LED_RECORD };
enum { MOST_ROWS = 1 << 20 };

typedef struct row {
    int op;
    int64_t at, n; /* at: a step, or an offset */
} row;

typedef struct writer {
    tn_i_c99 *w;
    tn_i_text *t;
    const tn_i_plan *p;
    const tn_i_step *s;
    const tn_i_group *g, *led;
    const tn_i_actor *self;
    int64_t steps; /* TN_I_STEPS: found when it runs */
    row *row;
    size_t nrow, crow;
    bool used[SAVE_LED_RECORD + 1];
} writer;

static void refuse(writer *k, const char *why) { tn_i_c99_refuse(k->w, &k->p->f->eqn[k->s->eqn], why); }

/* ---- the table ------------------------------------------------------------------------------------ */

static int64_t direction(const writer *k, int op) {
    const bool back = op == BACK_PLAIN || op == BACK_TAPED;
    return k->self->shape.reverse == back ? 1 : -1;
}

static void add_row(writer *k, int op, int64_t at) {
    row *last = k->nrow ? &k->row[k->nrow - 1] : NULL;
    k->used[op] = true;
    if (last && last->op == op && op <= BACK_TAPED && last->at + last->n * direction(k, op) == at) {
        last->n++;
        return;
    }
    if (k->nrow == MOST_ROWS) refuse(k, "its schedule takes too many lines to be written as C yet");
    if (k->w->failed) return;
    if (!tn_i_grow(k->w->ctx, (void **)(void *)&k->row, &k->crow, k->nrow + 1, sizeof *k->row)) {
        k->w->failed = true;
        return;
    }
    k->row[k->nrow++] = (row){.op = op, .at = at, .n = 1};
}

static void add_step(writer *k, int op, int64_t i) {
    const bool back = op == BACK_PLAIN || op == BACK_TAPED, down = k->self->shape.reverse != back;
    add_row(k, op, down ? k->steps - 1 - i : i);
}

static int64_t slot_at(writer *k, const tn_i_group *g, const tn_i_act *act, bool record) {
    if (act->place == TN_I_DISK) refuse(k, "snapshots in files (offload) cannot be written as C");
    if (record && (act->kind == TN_I_RECORD || act->slot == TN_I_WORKING)) return g->memory + (int64_t)g->record;
    return g->memory + (int64_t)g->slots + act->slot * (int64_t)g->slot_bytes;
}

/* Steps forward, in which snapshots of g are taken, by the loop itself or by those that are brought back. */
static void add_forward(writer *k, const tn_i_group *g, tn_i_schedule_run *run, bool write) {
    const bool own = g == k->led;
    for (int64_t i = 0; i < k->steps && !k->w->failed; i++) {
        const tn_i_act act = tn_i_schedule_forward(run, i);
        const bool taped = act.kind == TN_I_KEEP || act.kind == TN_I_RECORD;
        if (!write) continue;
        if (act.kind == TN_I_STORE) add_row(k, own ? SAVE_LED : SAVE, slot_at(k, g, &act, false));
        add_step(k, own ? (taped ? OWN_TAPED : OWN_PLAIN) : taped ? BACK_TAPED : BACK_PLAIN, i);
        if (taped) add_row(k, own ? SAVE_LED_RECORD : SAVE_RECORD, slot_at(k, g, &act, true));
    }
    tn_i_schedule_turn(run, k->steps);
}

static void add_act(writer *k, const tn_i_act *act, int64_t *done) {
    switch (act->kind) {
    case TN_I_STORE: add_row(k, SAVE, slot_at(k, k->g, act, false)); return;
    case TN_I_RESTORE: add_row(k, LOAD, slot_at(k, k->g, act, false)); return;
    case TN_I_ADVANCE:
        for (int64_t i = act->step; i < act->step + act->n; i++) add_step(k, BACK_PLAIN, i);
        return;
    case TN_I_KEEP:
        add_step(k, BACK_TAPED, act->step);
        add_row(k, SAVE_RECORD, slot_at(k, k->g, act, true));
        return;
    case TN_I_RECORD: add_step(k, BACK_TAPED, act->step); break;
    case TN_I_USE: add_row(k, LOAD_RECORD, slot_at(k, k->g, act, true)); break;
    default: return;
    }
    add_step(k, OWN_PLAIN, (*done)++);
}

static tn_i_schedule_run *begin(writer *k, const tn_i_group *g, void **memory, size_t *bytes) {
    *bytes = tn_i_schedule_bytes(g->schedule);
    *memory = tn_i_alloc(k->w->ctx, *bytes ? *bytes : 1);
    if (*memory) return tn_i_schedule_begin(g->schedule, *memory);
    k->w->failed = true;
    return NULL;
}

static void make_table(writer *k) {
    const tn_i_group *g = k->led ? k->led : k->g;
    void *memory;
    size_t bytes;
    int64_t done = 0;
    tn_i_schedule_run *run = begin(k, g, &memory, &bytes);
    if (!run) return;
    add_forward(k, g, run, k->led || !k->g->taken);
    while (!k->led && !k->w->failed) {
        const tn_i_act act = tn_i_schedule_next(run);
        if (act.kind == TN_I_DONE) break;
        add_act(k, &act, &done);
    }
    tn_i_free(k->w->ctx, memory, bytes ? bytes : 1);
}

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

static void put_walk(writer *k, int64_t by, const tn_type *t) {
    if (by) tn_i_text_put(k->t, " + step * (%" PRId64 ")", by / (int64_t)tn_i_dtype_size(t->dtype));
}

static void put_x(writer *k, const tn_i_actor *a, uint32_t x) {
    const tn_i_source *s = &a->source[x];
    const tn_type *t = operand_type(k, a, a->shape.x0 + x);
    if (s->actor != TN_NOVAR)
        put_scratch(k, t, k->g->actor[s->actor].entry[s->y].buffer);
    else if (!a->self && !a->reads[a->shape.x0 + x])
        put_scratch(k, t, 0);
    else {
        put_operand(k, a, a->shape.x0 + x);
        put_walk(k, s->by, t);
    }
}

static void put_y(writer *k, const tn_i_actor *a, const tn_i_entry *y) {
    const tn_type *t = k->p->f->val[equation(k, a)->out + a->shape.y0 + y->y].type;
    if (y->again) {
        put_scratch(k, t, y->buffer);
        return;
    }
    put_output(k, a, a->shape.y0 + y->y);
    put_walk(k, y->by, t);
}

static void put_leaf(writer *k, const tn_i_actor *a, uint32_t j, bool next) {
    tn_i_text_put(k->t, "%s%u_%u", next ? "next" : "state", (unsigned)(a - k->g->actor), (unsigned)j);
}

static const tn_type *leaf_type(const writer *k, const tn_i_actor *a, uint32_t j) {
    return operand_type(k, a, a->shape.carry0 + a->leaf[j].leaf);
}

static void comma(writer *k) { tn_i_text_put(k->t, ", "); }

static void write_step(writer *k, const tn_i_actor *a, int kind) {
    const tn_i_loop_shape *s = &a->shape;
    const tn_i_plan *plan = a->plan[kind];
    tn_i_c99_call(k->w, plan);
    if (s->index) tn_i_text_put(k->t, "&step, ");
    for (uint32_t i = s->const0; i < s->carry0; i++) put_operand(k, a, i), comma(k);
    for (uint32_t j = 0; j < a->nleaf; j++) put_leaf(k, a, j, false), comma(k);
    for (uint32_t x = 0; x < s->nx; x++) put_x(k, a, x), comma(k);
    for (uint32_t j = 0; j < a->nleaf; j++) put_leaf(k, a, j, !plan->kept[j]), comma(k);
    for (uint32_t y = 0; y < a->nentry; y++)
        if (a->entry[y].made[kind]) put_y(k, a, &a->entry[y]), comma(k);
    tn_i_c99_end_call(k->w, k->s->scratch + (int64_t)k->g->arena);
    for (uint32_t j = 0; j < a->nleaf; j++) {
        if (plan->kept[j]) continue;
        tn_i_text_put(k->t, "{\n%s *const was = ", tn_i_c_name(leaf_type(k, a, j)->dtype));
        put_leaf(k, a, j, false);
        tn_i_text_put(k->t, ";\n");
        put_leaf(k, a, j, false);
        tn_i_text_put(k->t, " = ");
        put_leaf(k, a, j, true);
        tn_i_text_put(k->t, ";\n");
        put_leaf(k, a, j, true);
        tn_i_text_put(k->t, " = was;\n}\n");
    }
}

static void write_steps(writer *k, int op) {
    const bool against = op == BACK_PLAIN || op == BACK_TAPED;
    const int kind = op == OWN_TAPED || op == BACK_TAPED ? TN_TAPED : TN_PLAIN;
    for (uint32_t i = 0; i < k->g->nactor; i++)
        if (k->g->actor[i].against == against) write_step(k, &k->g->actor[i], kind);
}

/* ---- snapshots --------------------------------------------------------------------------------------------- */

static const tn_i_actor *stand_in(const writer *k, const tn_i_group *g, uint32_t i) {
    return g == k->g ? &g->actor[i] : &k->g->actor[k->g->stand_in[i]];
}

static size_t padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static void write_state(writer *k, const tn_i_group *g, bool save) {
    size_t at = 0;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *m = &g->actor[i];
        for (uint32_t j = 0; m->against && j < m->nleaf; j++) {
            const tn_i_actor *live = stand_in(k, g, i);
            uint32_t leaf = 0;
            while (live->leaf[leaf].leaf != m->leaf[j].leaf) leaf++;
            if (m->leaf[j].bytes) {
                tn_i_text_put(k->t, "memcpy(");
                if (save) tn_i_text_put(k->t, "w + at + %zu, ", at);
                put_leaf(k, live, leaf, false);
                if (!save) tn_i_text_put(k->t, ", w + at + %zu", at);
                tn_i_text_put(k->t, ", %zu);\n", m->leaf[j].bytes);
            }
            at += padded(m->leaf[j].bytes);
        }
    }
}

static void write_record(writer *k, const tn_i_group *g, bool save) {
    size_t at = 0;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *m = &g->actor[i];
        for (uint32_t y = 0; y < m->nentry; y++) {
            if (!m->entry[y].recorded) continue;
            const int64_t live = k->s->scratch + (int64_t)stand_in(k, g, i)->entry[y].buffer;
            if (m->entry[y].bytes && save)
                tn_i_text_put(k->t, "memcpy(w + at + %zu, w + %" PRId64 ", %zu);\n", at, live, m->entry[y].bytes);
            else if (m->entry[y].bytes)
                tn_i_text_put(k->t, "memcpy(w + %" PRId64 ", w + at + %zu, %zu);\n", live, at, m->entry[y].bytes);
            at += padded(m->entry[y].bytes);
        }
    }
}

/* ---- the loop ------------------------------------------------------------------------------------------------ */

static void write_table(writer *k) {
    tn_i_text_put(k->t, "/* What to do, at which step or offset, and how often. */\n"
                        "static const struct {\nint what;\nint64_t at, n;\n} table[] = {");
    for (size_t i = 0; i < k->nrow; i++)
        tn_i_text_put(k->t, "%s{%d, %" PRId64 ", %" PRId64 "}", i ? ", " : "", k->row[i].op, k->row[i].at, k->row[i].n);
    tn_i_text_put(k->t, "};\n");
}

static const char *const says[] = {"steps of the loop",
                                   "its steps, whose entries are kept",
                                   "steps that are done again",
                                   "such steps, whose entries are wanted",
                                   "the state into a slot",
                                   "a slot into the state",
                                   "the entries of a step into a slot",
                                   "a slot into the entries of a step",
                                   "the state into a slot, for a later loop",
                                   "the entries of a step into a slot, for a later loop"};

static void write_op(writer *k, int op) {
    tn_i_text_put(k->t, "if (table[line].what == %d) { /* %s */\n", op, says[op]);
    if (op <= BACK_TAPED) {
        tn_i_text_put(k->t, "int64_t step = table[line].at;\nfor (int64_t n = table[line].n; n > 0; n--) {\n");
        write_steps(k, op);
        tn_i_text_put(k->t, "step += %d;\n}\n(void)step;\n}\n", (int)direction(k, op));
        return;
    }
    tn_i_text_put(k->t, "const int64_t at = table[line].at;\n");
    const tn_i_group *g = op >= SAVE_LED ? k->led : k->g;
    if (op == SAVE || op == LOAD || op == SAVE_LED)
        write_state(k, g, op != LOAD);
    else
        write_record(k, g, op != LOAD_RECORD);
    tn_i_text_put(k->t, "(void)at;\n}\n");
}

static void write_scheduled(writer *k) {
    make_table(k);
    if (k->w->failed || k->nrow == 0) return;
    write_table(k);
    tn_i_text_put(k->t, "for (int64_t line = 0; line < %zu; line++) {\n", k->nrow);
    for (int op = 0; op <= SAVE_LED_RECORD; op++)
        if (k->used[op]) write_op(k, op);
    tn_i_text_put(k->t, "}\n");
}

/* Nothing is brought back: the loops run beside each other. */
static void write_plain(writer *k) {
    const tn_i_loop_shape *s = &k->self->shape;
    if (s->cond) {
        tn_i_text_put(k->t, "int64_t step;\nfor (step = 0;; step++) {\nuint8_t more = 0;\n");
        tn_i_c99_call(k->w, k->self->cond);
        for (uint32_t i = 0; i < s->ncond; i++) put_operand(k, k->self, i), comma(k);
        for (uint32_t j = 0; j < k->self->nleaf; j++) put_leaf(k, k->self, j, false), comma(k);
        tn_i_text_put(k->t, "&more, ");
        tn_i_c99_end_call(k->w, k->s->scratch + (int64_t)k->g->arena);
        tn_i_text_put(k->t, "if (!more) break;\n");
    } else {
        tn_i_text_put(k->t, "const int64_t steps = ");
        if (s->length == TN_I_STEPS) {
            tn_i_text_put(k->t, "*");
            put_operand(k, k->self, 0);
        } else
            tn_i_text_put(k->t, "%" PRId64, s->length);
        tn_i_text_put(k->t, s->reverse ? ";\nfor (int64_t step = steps - 1; step >= 0; step--) {\n"
                                       : ";\nfor (int64_t step = 0; step < steps; step++) {\n");
    }
    write_steps(k, OWN_PLAIN);
    tn_i_text_put(k->t, s->cond ? "}\n(void)step;\n" : "}\n");
    if (!s->cond || s->steps == TN_NOVAR) return;
    tn_i_text_put(k->t, "*");
    put_output(k, k->self, s->steps);
    tn_i_text_put(k->t, " = step;\n");
}

static void write_states(writer *k) {
    for (uint32_t i = 0; i < k->g->nactor; i++) {
        const tn_i_actor *a = &k->g->actor[i];
        for (uint32_t j = 0; j < a->nleaf; j++) {
            const tn_type *t = leaf_type(k, a, j);
            const bool kept = a->plan[TN_PLAIN]->kept[j] && a->plan[TN_TAPED]->kept[j];
            tn_i_text_put(k->t, "%s *", tn_i_c_name(t->dtype));
            put_leaf(k, a, j, false);
            tn_i_text_put(k->t, " = ");
            if (a->self)
                put_output(k, a, a->leaf[j].leaf);
            else
                put_scratch(k, t, a->leaf[j].first);
            tn_i_text_put(k->t, ";\n");
            if (!kept) {
                tn_i_text_put(k->t, "%s *", tn_i_c_name(t->dtype));
                put_leaf(k, a, j, true);
                tn_i_text_put(k->t, " = ");
                put_scratch(k, t, a->leaf[j].second);
                tn_i_text_put(k->t, ";\n");
            }
            tn_i_text_put(k->t, "(void)");
            put_leaf(k, a, j, false);
            tn_i_text_put(k->t, ";\n");
            if (kept) continue;
            tn_i_text_put(k->t, "(void)");
            put_leaf(k, a, j, true);
            tn_i_text_put(k->t, ";\n");
        }
    }
    for (uint32_t i = 0; i < k->g->nactor; i++)
        for (uint32_t m = 0; m < k->g->actor[i].moves; m++)
            tn_i_c99_move(k->w, k->p, &k->p->move[k->g->actor[i].first_move + m]);
}

static void leave(writer *k) {
    const tn_i_actor *a = k->self;
    for (uint32_t j = 0; j < a->nleaf; j++) {
        if (!a->leaf[j].bytes || (a->plan[TN_PLAIN]->kept[j] && a->plan[TN_TAPED]->kept[j])) continue;
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

/* Arrays whose length is found when the loop runs. */
static bool of_unknown_length(const writer *k) {
    for (uint32_t i = 0; i < k->g->nactor; i++) {
        const tn_i_actor *a = &k->g->actor[i];
        for (uint32_t x = 0; x < a->shape.nx; x++)
            if (a->source[x].actor == TN_NOVAR && a->source[x].stack) return true;
        for (uint32_t y = 0; y < a->nentry; y++)
            if ((a->entry[y].stack && !a->entry[y].again) || a->entry[y].inner) return true;
    }
    return false;
}

void tn_i_c99_group(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_group *g = &p->group[s->loop];
    writer k = {.w = w, .t = &w->t, .p = p, .s = s, .g = g, .self = &g->actor[g->nactor - 1]};
    k.led = g->leads == TN_NOVAR ? NULL : &p->group[g->leads];
    k.steps = k.self->shape.cond ? TN_I_STEPS : k.self->shape.length;
    const bool scheduled = g->schedule || k.led;
    if (of_unknown_length(&k))
        refuse(&k, "arrays whose length the loop finds when it runs cannot be written as C yet");
    else if (scheduled && (k.steps == TN_I_STEPS || g->growing || (k.led && k.led->growing)))
        refuse(&k, "a schedule for a loop that finds its length when it runs cannot be written as C yet");
    else if (g->schedule && k.led)
        refuse(&k, "a loop that is brought back and brings others back cannot be written as C yet");
    if (w->failed) return;
    tn_i_text_put(k.t, "{\n");
    write_states(&k);
    if (scheduled)
        write_scheduled(&k);
    else
        write_plain(&k);
    leave(&k);
    tn_i_text_put(k.t, "}\n");
    tn_i_free(w->ctx, k.row, k.crow * sizeof *k.row);
}
