/* Groups as C, as run/replay_run.c runs them: the loop that one is for, the loops beside it, and those that a schedule
 * brings back.  What a schedule does is told act by act (checkpoint/schedule.h): `forward` tells before steps what is
 * kept of them, `next` how steps are brought back (c99_schedule.c).  `nth` counts the loop's steps in time. */
#include "emit/c99_group.h"

#include <inttypes.h>

typedef tn_i_group_text writer;
typedef tn_i_c99_acts acts;

static bool has(unsigned kinds, tn_i_act_kind kind) { return kinds >> kind & 1; }

/* A block, behind `when`, in which `step` is the number of the step that is the nth in time. */
static void open_step(writer *k, const char *when, const char *nth, bool against) {
    tn_i_text_put(k->t, "%s{\nconst int64_t step = ", when);
    tn_i_text_put(k->t, k->self->shape.reverse != against ? "steps - 1 - %s;\n" : "%s;\n", nth);
}

static void close_step(writer *k) { tn_i_text_put(k->t, "(void)step;\n}\n"); }

/* ---- slots ------------------------------------------------------------------------------------- */

/* Declares `slot`, where the slot of `act` is: of a number, or the working record. */
static void write_slot(writer *k, const acts *a, bool record) {
    const int64_t slots = a->g->memory + (int64_t)a->g->slots;
    if (a->g->growing) {
        tn_i_text_put(
            k->t,
            "tansy_stack *const kept = (tansy_stack *)(void *)(w + %" PRId64 ");\nunsigned char *slot;\n"
            "if (act.slot >= kept->count) {\n"
            "status = tansy_extend(stacks, kept, act.slot + 1 - kept->count);\nif (status) return status;\n}\n"
            "slot = (unsigned char *)tansy_entry(kept, act.slot);\n",
            slots);
        return;
    }
    tn_i_text_put(k->t, "unsigned char *const slot = ");
    if (record && a->working)
        tn_i_text_put(k->t, a->keeps ? "act.slot < 0 ? w + %" PRId64 " : " : "w + %" PRId64,
                      a->g->memory + (int64_t)a->g->record);
    if (!record || !a->working || a->keeps)
        tn_i_text_put(k->t, "w + %" PRId64 " + act.slot * %zu", slots, a->g->slot_bytes);
    tn_i_text_put(k->t, ";\n");
}

static void copy_slot(writer *k, const acts *a, bool save) {
    tn_i_text_put(k->t, "if (act.what == TANSY_%s) {\n", save ? "STORE" : "RESTORE");
    write_slot(k, a, false);
    tn_i_c99_group_state(k, a->g, save);
    tn_i_text_put(k->t, "(void)slot;\n}\n");
}

static void copy_recorded(writer *k, const acts *a, const char *when, bool save) {
    tn_i_text_put(k->t, "%s{\n", when);
    write_slot(k, a, true);
    tn_i_c99_group_record(k, a->g, save);
    tn_i_text_put(k->t, "(void)slot;\n}\n");
}

/* ---- steps forward, while snapshots are taken ---------------------------------------------------- */

static void begin(writer *k, const acts *a) {
    if (a->script) return;
    tn_i_text_put(k->t, "tansy_begin(%s, %" PRId64 ", %" PRId64 ");\n", a->name, a->slots, a->f->arrays ? a->slots : 0);
    if (a->g->growing) tn_i_c99_stack_new(k->w, a->g->growing, a->g->memory + (int64_t)a->g->slots, 1, false);
}

static void turn(writer *k, const acts *a, const char *steps) {
    if (a->script) return;
    tn_i_text_put(k->t, "*(int64_t *)(void *)(w + %" PRId64 ") = %s;\n%s(%s, %s);\n", a->g->memory, steps, a->f->turn,
                  a->name, steps);
}

/* The steps of an act, `most` of them. */
static void forward(writer *k, const acts *a, const char *most, bool against) {
    const unsigned recorded = a->forward & (1u << TN_I_KEEP | 1u << TN_I_RECORD), plain = a->forward & ~recorded;
    tn_i_text_put(k->t, "{\nconst tansy_act act = %s(%s, nth, %s);\n", a->f->forward, a->name, most);
    if (has(plain, TN_I_STORE)) copy_slot(k, a, true);
    if (recorded) {
        open_step(k, plain ? "if (act.what == TANSY_KEEP || act.what == TANSY_RECORD) " : "", "nth++", against);
        tn_i_c99_group_steps(k, against, TN_RECORDED);
        copy_recorded(k, a, "", true);
        close_step(k);
    }
    if (plain) {
        open_step(k, recorded ? "else for (int64_t n = act.n; n > 0; n--) " : "for (int64_t n = act.n; n > 0; n--) ",
                  "nth++", against);
        tn_i_c99_group_steps(k, against, TN_PLAIN);
        close_step(k);
    }
    tn_i_text_put(k->t, "(void)act;\n}\n");
}

static void own_steps(writer *k, const char *most) {
    if (k->led) {
        forward(k, &k->to_lead, most, false);
        return;
    }
    open_step(k, "", "nth++", false);
    tn_i_c99_group_steps(k, false, TN_PLAIN);
    close_step(k);
}

/* Snapshots of the group's own, in a run for them alone. */
static void take_snapshots(writer *k) {
    begin(k, &k->own);
    tn_i_text_put(k->t, "for (int64_t nth = 0; nth < steps;) ");
    forward(k, &k->own, "steps - nth", true);
    turn(k, &k->own, "steps");
}

/* ---- steps back ------------------------------------------------------------------------------------- */

static void advance(writer *k) {
    tn_i_text_put(k->t, "if (act.what == TANSY_ADVANCE) {\n");
    open_step(k, "for (int64_t n = 0; n < act.n; n++) ", "(act.step + n)", true);
    tn_i_c99_group_steps(k, true, TN_PLAIN);
    close_step(k);
    tn_i_text_put(k->t, "}\n");
}

static void record(writer *k, const char *when, bool keep) {
    open_step(k, when, "act.step", true);
    tn_i_c99_group_steps(k, true, TN_RECORDED);
    if (keep) copy_recorded(k, &k->own, "", true);
    close_step(k);
}

static void act_on(writer *k) {
    const acts *a = &k->own;
    if (has(a->back, TN_I_STORE)) copy_slot(k, a, true);
    if (has(a->back, TN_I_RESTORE)) copy_slot(k, a, false);
    if (has(a->back, TN_I_ADVANCE)) advance(k);
    if (has(a->back, TN_I_KEEP)) record(k, "if (act.what == TANSY_KEEP) ", true);
    if (has(a->back, TN_I_RECORD)) record(k, "if (act.what == TANSY_RECORD) ", false);
    if (has(a->back, TN_I_USE)) copy_recorded(k, a, "if (act.what == TANSY_USE) ", false);
    tn_i_text_put(k->t, "if (act.what == TANSY_RECORD || act.what == TANSY_USE) ");
    own_steps(k, "1");
}

static void run_back(writer *k) {
    const acts *a = &k->own;
    if (!k->g->taken) take_snapshots(k);
    if (!a->script)
        tn_i_text_put(k->t, "if (*(int64_t *)(void *)(w + %" PRId64 ") != steps) return 4;\n", k->g->memory);
    tn_i_text_put(k->t, "for (int64_t nth = 0; nth < steps;) {\nconst tansy_act act = %s(%s);\n", a->f->next, a->name);
    act_on(k);
    tn_i_text_put(k->t, "}\n");
    if (k->g->growing)
        tn_i_text_put(k->t, "tansy_drop(stacks, (tansy_stack *)(void *)(w + %" PRId64 "), 1);\n",
                      k->g->memory + (int64_t)k->g->slots);
}

/* ---- the loop that the group is for ------------------------------------------------------------------ */

static void run_while(writer *k) {
    tn_i_text_put(k->t, "int64_t nth = 0;\nfor (;;) {\n");
    tn_i_c99_group_condition(k);
    tn_i_text_put(k->t, "if (!more) break;\n");
    tn_i_c99_group_extend(k, "1");
    own_steps(k, "1");
    tn_i_text_put(k->t, "}\n");
    tn_i_c99_group_steps_out(k, "nth");
    if (k->led) turn(k, &k->to_lead, "nth");
}

static void run_scan(writer *k) {
    tn_i_c99_group_length(k);
    if (k->g->schedule)
        run_back(k);
    else {
        tn_i_text_put(k->t, "for (int64_t nth = 0; nth < steps;) ");
        own_steps(k, "steps - nth");
    }
    if (k->led) turn(k, &k->to_lead, "steps");
}

/* Declares what `forward` and `next` know of where they are. */
static void declare(writer *k, const acts *a, bool forward, bool back) {
    if (!a->f) return;
    if (a->script)
        tn_i_c99_write_script(k, a, forward ? 0 : a->script->back, back ? a->script->nline : a->script->back);
    else
        tn_i_text_put(k->t, "tansy_schedule *const %s = (tansy_schedule *)(void *)(w + %" PRId64 ");\n", a->name,
                      a->g->memory + (int64_t)a->g->run);
}

void tn_i_c99_replay(writer *k) {
    if (k->self->shape.length == 0) return;
    if (tn_i_c99_acts_of(k, k->g, "own", &k->own) && tn_i_c99_acts_of(k, k->led, "led", &k->to_lead)) {
        declare(k, &k->own, !k->g->taken, true);
        declare(k, &k->to_lead, true, false);
        if (k->led) begin(k, &k->to_lead);
        (k->self->shape.cond ? run_while : run_scan)(k);
    }
    tn_i_script_free(k->own.script);
    tn_i_script_free(k->to_lead.script);
}
