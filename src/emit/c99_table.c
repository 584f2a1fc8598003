/* Schedules of loops whose length is known: what they do is known too.  They are run here, and what comes out is a
 * table of what to do, which a few lines of C follow. */
#include "emit/c99_group.h"

#include <inttypes.h>

/* What a line of the table says; `slot` is an offset in bytes from w, `step` the number of the (first) step. */
enum {
    OWN_PLAIN,
    OWN_RECORDED,
    BACK_PLAIN,
    BACK_RECORDED,
    SAVE,
    LOAD,
    SAVE_RECORD,
    LOAD_RECORD,
    SAVE_LED,
    SAVE_LED_RECORD
};
enum { MOST_ROWS = 1 << 20 };

typedef struct row {
    int op;
    int64_t at, n; /* at: a step, or an offset */
} row;

typedef struct writer {
    tn_i_group_text *k;
    tn_i_c99 *w;
    tn_i_text *t;
    const tn_i_group *g, *led;
    const tn_i_actor *self;
    tn_i_schedule_run *led_run;
    int64_t steps;
    row *row;
    size_t nrow, crow;
    bool used[SAVE_LED_RECORD + 1];
} writer;

static void refuse(writer *k, const char *why) { tn_i_c99_group_refuse(k->k, why); }

/* ---- the table ------------------------------------------------------------------------------------ */

static int64_t direction(const writer *k, int op) {
    const bool back = op == BACK_PLAIN || op == BACK_RECORDED;
    return k->self->shape.reverse == back ? 1 : -1;
}

static void add_row(writer *k, int op, int64_t at) {
    row *last = k->nrow ? &k->row[k->nrow - 1] : NULL;
    k->used[op] = true;
    if (last && last->op == op && op <= BACK_RECORDED && last->at + last->n * direction(k, op) == at) {
        last->n++;
        return;
    }
    if (k->nrow == MOST_ROWS)
        refuse(k, "its schedule takes too many lines to be written as C yet: all_save and periodic:K take few");
    if (k->w->failed) return;
    if (!tn_i_grow(k->w->ctx, (void **)(void *)&k->row, &k->crow, k->nrow + 1, sizeof *k->row)) {
        k->w->failed = true;
        return;
    }
    k->row[k->nrow++] = (row){.op = op, .at = at, .n = 1};
}

static void add_step(writer *k, int op, int64_t i) {
    const bool back = op == BACK_PLAIN || op == BACK_RECORDED, down = k->self->shape.reverse != back;
    add_row(k, op, down ? k->steps - 1 - i : i);
}

static int64_t slot_at(writer *k, const tn_i_group *g, const tn_i_act *act, bool record) {
    if (act->place == TN_I_DISK)
        refuse(k, "snapshots in files (offload) cannot be written as C: another schedule keeps them in memory");
    if (record && (act->kind == TN_I_RECORD || act->slot == TN_I_WORKING)) return g->memory + (int64_t)g->record;
    return g->memory + (int64_t)g->slots + act->slot * (int64_t)g->slot_bytes;
}

/* The next of the loops' own steps; snapshots are taken of those that a later loop brings back. */
static void add_own(writer *k, int64_t i) {
    tn_i_act act = {.kind = TN_I_NONE};
    if (k->led) act = tn_i_schedule_forward(k->led_run, i);
    const bool recorded = act.kind == TN_I_KEEP || act.kind == TN_I_RECORD;
    if (act.kind == TN_I_STORE) add_row(k, SAVE_LED, slot_at(k, k->led, &act, false));
    add_step(k, recorded ? OWN_RECORDED : OWN_PLAIN, i);
    if (recorded) add_row(k, SAVE_LED_RECORD, slot_at(k, k->led, &act, true));
}

/* Steps forward, in which snapshots are taken of those that are brought back; `taken`: they were by an earlier loop. */
static void add_forward(writer *k, tn_i_schedule_run *run) {
    for (int64_t i = 0; i < k->steps && !k->w->failed; i++) {
        const tn_i_act act = tn_i_schedule_forward(run, i);
        const bool recorded = act.kind == TN_I_KEEP || act.kind == TN_I_RECORD;
        if (k->g->taken) continue;
        if (act.kind == TN_I_STORE) add_row(k, SAVE, slot_at(k, k->g, &act, false));
        add_step(k, recorded ? BACK_RECORDED : BACK_PLAIN, i);
        if (recorded) add_row(k, SAVE_RECORD, slot_at(k, k->g, &act, true));
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
        add_step(k, BACK_RECORDED, act->step);
        add_row(k, SAVE_RECORD, slot_at(k, k->g, act, true));
        return;
    case TN_I_RECORD: add_step(k, BACK_RECORDED, act->step); break;
    case TN_I_USE: add_row(k, LOAD_RECORD, slot_at(k, k->g, act, true)); break;
    default: return;
    }
    add_own(k, (*done)++);
}

static tn_i_schedule_run *begin(writer *k, const tn_i_group *g, void **memory, size_t *bytes) {
    *bytes = tn_i_schedule_bytes(g->schedule);
    *memory = tn_i_alloc(k->w->ctx, *bytes ? *bytes : 1);
    if (*memory) return tn_i_schedule_begin(g->schedule, *memory);
    k->w->failed = true;
    return NULL;
}

static void add_back(writer *k) {
    int64_t done = 0;
    void *memory;
    size_t bytes;
    tn_i_schedule_run *run = begin(k, k->g, &memory, &bytes);
    if (!run) return;
    add_forward(k, run);
    while (!k->w->failed) {
        const tn_i_act act = tn_i_schedule_next(run);
        if (act.kind == TN_I_DONE) break;
        add_act(k, &act, &done);
    }
    tn_i_free(k->w->ctx, memory, bytes ? bytes : 1);
}

static void make_table(writer *k) {
    void *memory = NULL;
    size_t bytes = 0;
    if (k->led && !(k->led_run = begin(k, k->led, &memory, &bytes))) return;
    if (k->g->schedule)
        add_back(k);
    else
        for (int64_t i = 0; i < k->steps && !k->w->failed; i++) add_own(k, i);
    if (memory) tn_i_free(k->w->ctx, memory, bytes ? bytes : 1);
}

/* ---- the text ----------------------------------------------------------------------------------- */

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
    if (op <= BACK_RECORDED) {
        tn_i_text_put(k->t, "int64_t step = table[line].at;\nfor (int64_t n = table[line].n; n > 0; n--) {\n");
        tn_i_c99_group_steps(k->k, op == BACK_PLAIN || op == BACK_RECORDED,
                             op == OWN_RECORDED || op == BACK_RECORDED ? TN_RECORDED : TN_PLAIN);
        tn_i_text_put(k->t, "step += %d;\n}\n(void)step;\n}\n", (int)direction(k, op));
        return;
    }
    tn_i_text_put(k->t, "unsigned char *const slot = w + table[line].at;\n");
    const tn_i_group *g = op >= SAVE_LED ? k->led : k->g;
    if (op == SAVE || op == LOAD || op == SAVE_LED)
        tn_i_c99_group_state(k->k, g, op != LOAD);
    else
        tn_i_c99_group_record(k->k, g, op != LOAD_RECORD);
    tn_i_text_put(k->t, "(void)slot;\n}\n");
}

void tn_i_c99_table(tn_i_group_text *k) {
    writer x = {.k = k, .w = k->w, .t = k->t, .g = k->g, .led = k->led, .self = k->self, .steps = k->steps};
    make_table(&x);
    if (!x.w->failed && x.nrow) {
        write_table(&x);
        tn_i_text_put(x.t, "for (int64_t line = 0; line < %zu; line++) {\n", x.nrow);
        for (int op = 0; op <= SAVE_LED_RECORD; op++)
            if (x.used[op]) write_op(&x, op);
        tn_i_text_put(x.t, "}\n");
    }
    tn_i_free(k->w->ctx, x.row, x.crow * sizeof *x.row);
}
