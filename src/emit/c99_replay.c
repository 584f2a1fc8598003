/* Loops that find their length when they run, with schedules: as run/replay_run.c runs them. */
#include "emit/c99_group.h"
#include "plan/stack.h"

#include <inttypes.h>

typedef tn_i_group_text writer;

/* ---- slots ------------------------------------------------------------------------------------- */

static void put_run(writer *k, const tn_i_group *g) {
    tn_i_text_put(k->t, "(tansy_schedule *)(void *)(w + %" PRId64 ")", g->memory + (int64_t)g->run);
}

/* Declares `slot`, where the slot of `act` is. */
static void write_slot(writer *k, const tn_i_group *g) {
    const int64_t slots = g->memory + (int64_t)g->slots;
    if (!g->growing) {
        tn_i_text_put(k->t, "unsigned char *const slot = w + %" PRId64 " + act.slot * %zu;\n", slots, g->slot_bytes);
        return;
    }
    tn_i_text_put(k->t,
                  "tansy_stack *const kept = (tansy_stack *)(void *)(w + %" PRId64 ");\nunsigned char *slot;\n"
                  "if (act.slot >= kept->count) {\nstatus = tansy_extend(stacks, kept, act.slot + 1 - kept->count);\n"
                  "if (status) return status;\n}\nslot = (unsigned char *)tansy_entry(kept, act.slot);\n",
                  slots);
}

static void write_state(writer *k, const tn_i_group *g, int what, bool save) {
    tn_i_text_put(k->t, "if (act.what == %d) { /* the state %s a slot */\n", what, save ? "into" : "from");
    write_slot(k, g);
    tn_i_c99_group_state(k, g, save);
    tn_i_text_put(k->t, "(void)slot;\n}\n");
}

static void write_record(writer *k, const tn_i_group *g, bool save) {
    tn_i_text_put(k->t, "{ /* the entries of a step %s a slot */\n", save ? "into" : "from");
    write_slot(k, g);
    tn_i_c99_group_record(k, g, save);
    tn_i_text_put(k->t, "(void)slot;\n}\n");
}

static const tn_i_c99_family *family(writer *k, const tn_i_group *g, int64_t *slots) {
    const tn_i_c99_family *f = tn_i_c99_family_of(g->schedule, slots);
    if (!f) tn_i_c99_group_refuse(k, "its schedule wants to know the number of steps");
    return f;
}

static void begin(writer *k, const tn_i_group *g) {
    int64_t slots;
    const tn_i_c99_family *f = family(k, g, &slots);
    if (!f) return;
    tn_i_text_put(k->t, "tansy_begin(");
    put_run(k, g);
    tn_i_text_put(k->t, ", %" PRId64 ", %" PRId64 ");\n", slots, f->arrays ? slots : 0);
    if (!g->growing) return;
    tn_i_text at = {.ctx = k->w->ctx};
    tn_i_text_put(&at, "(tansy_stack *)(void *)(w + %" PRId64 ")", g->memory + (int64_t)g->slots);
    if (at.at) tn_i_c99_stack_new(k->w, g->growing, at.at, 1, false);
    k->w->failed |= at.failed;
    tn_i_text_free(&at);
}

static void turn(writer *k, const tn_i_group *g, const char *steps) {
    int64_t slots;
    const tn_i_c99_family *f = family(k, g, &slots);
    if (!f) return;
    tn_i_text_put(k->t, "*(int64_t *)(void *)(w + %" PRId64 ") = %s;\n%s(", g->memory, steps, f->turn);
    put_run(k, g);
    tn_i_text_put(k->t, ", %s);\n", steps);
}

/* ---- steps forward ------------------------------------------------------------------------------- */

/* `step`, the `nth` in time, while snapshots of g are taken. */
static void write_forward(writer *k, const tn_i_group *g, const char *nth, bool against) {
    int64_t slots;
    const tn_i_c99_family *f = family(k, g, &slots);
    if (!f) return;
    tn_i_text_put(k->t, "{\nconst tansy_act act = %s(", f->forward);
    put_run(k, g);
    tn_i_text_put(k->t, ", %s);\n", nth);
    if (!f->records) write_state(k, g, 1, true);
    tn_i_c99_group_steps(k, against, f->records ? TN_RECORDED : TN_PLAIN);
    if (f->records) write_record(k, g, true);
    tn_i_text_put(k->t, "(void)act;\n}\n");
}

static void write_own(writer *k, const char *nth) {
    if (k->led)
        write_forward(k, k->led, nth, false);
    else
        tn_i_c99_group_steps(k, false, TN_PLAIN);
}

/* The number of the step that is the nth in time. */
static void put_number(writer *k, const char *nth, bool against) {
    tn_i_text_put(k->t, k->self->shape.reverse != against ? "steps - 1 - %s" : "%s", nth);
}

/* ---- steps back ------------------------------------------------------------------------------------- */

static void take_snapshots(writer *k) {
    begin(k, k->g);
    tn_i_text_put(k->t, "for (int64_t nth = 0; nth < steps; nth++) {\nconst int64_t step = ");
    put_number(k, "nth", true);
    tn_i_text_put(k->t, ";\n");
    write_forward(k, k->g, "nth", true);
    tn_i_text_put(k->t, "(void)step;\n}\n");
    turn(k, k->g, "steps");
}

static void write_advance(writer *k) {
    tn_i_text_put(k->t, "if (act.what == 5) {\nfor (int64_t nth = act.step; nth < act.step + act.n; nth++) {\n"
                        "const int64_t step = ");
    put_number(k, "nth", true);
    tn_i_text_put(k->t, ";\n");
    tn_i_c99_group_steps(k, true, TN_PLAIN);
    tn_i_text_put(k->t, "(void)step;\n}\n}\n");
}

static void write_back(writer *k) {
    int64_t slots;
    const tn_i_c99_family *f = family(k, k->g, &slots);
    if (!f) return;
    if (!k->g->taken) take_snapshots(k);
    tn_i_text_put(k->t,
                  "if (*(int64_t *)(void *)(w + %" PRId64 ") != steps) return 4;\n"
                  "for (int64_t done = 0; done < steps;) {\nconst tansy_act act = %s(",
                  k->g->memory, f->next);
    put_run(k, k->g);
    tn_i_text_put(k->t, ");\n");
    if (!f->records) {
        write_state(k, k->g, 1, true);
        write_state(k, k->g, 4, false);
        write_advance(k);
    }
    tn_i_text_put(k->t, "if (act.what == %d) {\nconst int64_t step = ", f->records ? 6 : 3);
    put_number(k, "act.step", true);
    tn_i_text_put(k->t, ";\n");
    if (f->records)
        write_record(k, k->g, false);
    else
        tn_i_c99_group_steps(k, true, TN_RECORDED);
    write_own(k, "done");
    tn_i_text_put(k->t, "(void)step;\ndone++;\n}\n}\n");
    if (k->g->growing)
        tn_i_text_put(k->t, "tansy_drop(stacks, (tansy_stack *)(void *)(w + %" PRId64 "), 1);\n",
                      k->g->memory + (int64_t)k->g->slots);
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static void write_while(writer *k) {
    tn_i_text_put(k->t, "int64_t step;\nfor (step = 0;; step++) {\n");
    tn_i_c99_group_condition(k);
    tn_i_text_put(k->t, "if (!more) break;\n");
    tn_i_c99_group_extend(k, "1");
    write_own(k, "step");
    tn_i_text_put(k->t, "}\n");
    tn_i_c99_group_steps_out(k, "step");
    if (k->led) turn(k, k->led, "step");
}

static void write_scan(writer *k) {
    tn_i_c99_group_length(k);
    if (k->g->schedule)
        write_back(k);
    else {
        tn_i_text_put(k->t, "for (int64_t nth = 0; nth < steps; nth++) {\nconst int64_t step = ");
        put_number(k, "nth", false);
        tn_i_text_put(k->t, ";\n");
        write_own(k, "nth");
        tn_i_text_put(k->t, "(void)step;\n}\n");
    }
    if (k->led) turn(k, k->led, "steps");
}

void tn_i_c99_replay(writer *k) {
    if (k->led) begin(k, k->led);
    if (k->self->shape.cond)
        write_while(k);
    else
        write_scan(k);
}
