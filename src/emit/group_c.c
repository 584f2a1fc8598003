/* Loops with schedules (exec/replay.h) as C: a function that follows a script, or the acts of a schedule that decides
 * as it goes (group_acts.c), with the steps that it tells and the snapshots in memory in its text.
 *
 * Leaves are where exec/replay_run.c has them, so that what stays with the library can look for them: how a group
 * begins, and slots on disk. */
#include "emit/group_emit.h"
#include "emit/structs.h"

#include <inttypes.h>

enum { MOST_FRAMES = 16 << 10 }; /* bytes on the stack */

/* clang-format off */
#define SCRIPT struct line { uint8_t kind, place; int32_t slot, step, n; }
#define LEAF struct leaf { uintptr_t now, was, home[2], into; }
/* clang-format on */
SCRIPT;
LEAF;
TN_SAME(tn_i_line, line, kind);
TN_SAME(tn_i_line, line, place);
TN_SAME(tn_i_line, line, slot);
TN_SAME(tn_i_line, line, step);
TN_SAME(tn_i_line, line, n);
TN_SAME(tn_i_leaf_at, leaf, now);
TN_SAME(tn_i_leaf_at, leaf, was);
TN_SAME(tn_i_leaf_at, leaf, home);
TN_SAME(tn_i_leaf_at, leaf, into);
_Static_assert(sizeof(struct line) == sizeof(tn_i_line) && sizeof(struct leaf) == sizeof(tn_i_leaf_at), "sizes");

/* clang-format off */
static const char beginning[] =
    TN_LINE(SCRIPT)
    TN_LINE(LEAF)
    "typedef int enter_fn(const struct plan *, const struct run *, uintptr_t *, size_t);\n"
    "typedef int disk_fn(const struct plan *, const struct run *, uintptr_t *, size_t, int, int64_t, int);\n"
    "INLINE uintptr_t goes_to(const struct leaf *l) {\n"
    "    return l->into ? l->into : l->home[l->now == l->home[0]];\n"
    "}\n"
    "INLINE void moved(struct leaf *l, uintptr_t now) {\n"
    "    l->was = l->now;\n"
    "    l->now = now;\n"
    "    l->into = 0;\n"
    "}\n"
    "INLINE void aim(struct leaf *l, uintptr_t slot) {\n"
    "    if (l->now != slot) l->into = slot;\n"
    "}\n"
    "INLINE void save(const struct leaf *l, uintptr_t slot, size_t bytes) {\n"
    "    if (l->now != slot) memcpy((void *)slot, (const void *)l->now, bytes);\n"
    "}\n"
    "INLINE void exchange(struct leaf *l, uintptr_t *place, size_t bytes) {\n"
    "    const uintptr_t now = l->now, to = *place;\n"
    "    if (now == l->home[0] || now == l->home[1]) {\n"
    "        l->home[now == l->home[1]] = to;\n"
    "        *place = now;\n"
    "    } else\n"
    "        save(l, to, bytes);\n"
    "}\n";
/* clang-format on */

typedef tn_i_group_writer writer;

/* ---- which groups ------------------------------------------------------------------------- */

/* Entries that are arrays of unknown length are made again by the library. */
static bool is_plain(const tn_i_actor *a) {
    for (uint32_t y = 0; y < a->nentry; y++)
        if (a->entry[y].inner) return false;
    return true;
}

static size_t frames(const writer *k) {
    size_t bytes = k->self->cond ? k->self->cond->frame : 0;
    for (uint32_t i = 0; i < k->g->nactor; i++)
        for (int kind = 0; kind < TN_STEPS_OF; kind++) bytes += k->g->actor[i].plan[kind]->frame;
    return bytes;
}

/* A script is followed line by line: not by a loop that follows another one.  One of another length is an error, which
 * the library tells. */
static bool fits(const writer *k) {
    const int64_t n = k->self->shape.length;
    const tn_i_script *own = k->g->schedule ? k->g->script : NULL, *led = k->led ? k->led->script : NULL;
    if (k->g->schedule && led) return false;
    for (uint32_t i = 0; i < k->g->nactor; i++)
        if (!is_plain(&k->g->actor[i])) return false;
    return (!own || own->steps == n) && (!led || led->steps == n) && frames(k) <= MOST_FRAMES;
}

/* ---- leaves and entries ------------------------------------------------------------------- */

unsigned tn_i_group_leaf(const writer *k, const tn_i_actor *a, uint32_t leaf) {
    unsigned n = leaf;
    for (const tn_i_actor *b = k->g->actor; b < a; b++) n += b->nleaf;
    return n;
}

static const tn_i_actor *stand_in(const writer *k, const tn_i_group *g, uint32_t i) {
    return g == k->g ? &g->actor[i] : &k->g->actor[k->g->stand_in[i]];
}

static size_t padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

/* An entry that has no memory, once it is made. */
static void put_made(writer *k, const tn_i_actor *a, const tn_i_entry *y) {
    if (y->entering == TN_NOVAR)
        tn_i_text_put(k->t, "(S + %zuu)", y->buffer);
    else
        tn_i_text_put(k->t, "L[%u].was", tn_i_group_leaf(k, a, y->entering));
}

/* ---- frames --------------------------------------------------------------------------------- */

static const char *const kinds[] = {[TN_PLAIN] = "plain", [TN_RECORDED] = "recorded"};

static void put_slot(writer *k, const tn_i_actor *a, int kind, uint32_t at) {
    tn_i_text_put(k->t, "%s%u[%u] = ", kinds[kind], (unsigned)(a - k->g->actor), (unsigned)at);
}

static void put_walk(writer *k, int64_t by) {
    if (by) tn_i_text_put(k->t, " + (uintptr_t)(*number * INT64_C(%" PRId64 "))", by);
    tn_i_text_put(k->t, ";\n");
}

void tn_i_put_group_operand(writer *k, const tn_i_actor *a, uint32_t i) {
    tn_i_emit_address(k->m, &k->p->arg[a->arg + i]);
}

void tn_i_put_group_check(writer *k) { tn_i_text_put(k->t, "if (status) return status;\n"); }

/* The x-th array: before all steps what never changes, before each what does. */
static void put_x(writer *k, const tn_i_actor *a, int kind, uint32_t x, uint32_t at, bool each) {
    const tn_i_source *s = &a->source[x];
    const bool unread = s->actor == TN_NOVAR && !a->self && !a->reads[a->shape.x0 + x];
    const bool changes = s->actor != TN_NOVAR ? true : !unread && (s->by || s->stack);
    if (changes != each) return;
    put_slot(k, a, kind, at);
    if (s->actor != TN_NOVAR)
        put_made(k, &k->g->actor[s->actor], &k->g->actor[s->actor].entry[s->y]);
    else if (unread)
        tn_i_text_put(k->t, "S");
    else if (s->stack)
        tn_i_put_stack_x(k, a, x);
    else
        tn_i_put_group_operand(k, a, a->shape.x0 + x);
    put_walk(k, s->actor == TN_NOVAR && each && !s->stack ? s->by : 0);
}

static void put_y(writer *k, const tn_i_actor *a, int kind, const tn_i_entry *y, uint32_t at, bool each) {
    const bool changes = y->entering != TN_NOVAR || (!y->again && (y->by || y->stack));
    if (changes != each) return;
    put_slot(k, a, kind, at);
    if (y->entering != TN_NOVAR)
        tn_i_text_put(k->t, "L[%u].now;\n", tn_i_group_leaf(k, a, y->entering));
    else if (y->again)
        tn_i_text_put(k->t, "S + %zuu;\n", y->buffer);
    else if (y->stack) {
        tn_i_put_stack_y(k, a, y);
        put_walk(k, 0);
    } else {
        tn_i_emit_address(k->m, &k->p->place[k->p->f->eqn[a->eqn].out + a->shape.y0 + y->y]);
        put_walk(k, each ? y->by : 0);
    }
}

static uint32_t first_leaf(const tn_i_actor *a) { return TN_BASE_ARGUMENTS + a->shape.index + a->shape.nconst; }

/* What is in a frame besides leaves. */
static void put_arrays(writer *k, const tn_i_actor *a, int kind, bool each) {
    uint32_t at = first_leaf(a) + a->nleaf;
    for (uint32_t x = 0; x < a->shape.nx; x++) put_x(k, a, kind, x, at++, each);
    at += a->nleaf;
    for (uint32_t y = 0; y < a->nentry; y++)
        if (a->entry[y].made[kind]) put_y(k, a, kind, &a->entry[y], at++, each);
}

static void declare_frame(writer *k, const tn_i_actor *a, int kind) {
    uint32_t at = TN_BASE_ARGUMENTS;
    tn_i_text_put(k->t, "uintptr_t %s%u[%zu] __attribute__((aligned(64)));\n", kinds[kind], (unsigned)(a - k->g->actor),
                  (a->plan[kind]->frame + sizeof(uintptr_t) - 1) / sizeof(uintptr_t));
    put_slot(k, a, kind, TN_BASE_ABSOLUTE);
    tn_i_text_put(k->t, "0;\n");
    put_slot(k, a, kind, TN_BASE_ARENA);
    tn_i_text_put(k->t, "S + %zuu;\n", k->g->arena);
    if (a->shape.index) {
        put_slot(k, a, kind, at++);
        tn_i_text_put(k->t, "(uintptr_t)number;\n");
    }
    for (uint32_t i = a->shape.const0; i < a->shape.carry0; i++) {
        put_slot(k, a, kind, at++);
        tn_i_put_group_operand(k, a, i);
        tn_i_text_put(k->t, ";\n");
    }
    put_arrays(k, a, kind, false);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void put_step(writer *k, const tn_i_actor *a, int kind) {
    const uint32_t in = first_leaf(a), out = in + a->nleaf + a->shape.nx;
    const unsigned number = (unsigned)(a - k->g->actor);
    put_arrays(k, a, kind, true);
    for (uint32_t j = 0; j < a->nleaf; j++) {
        const unsigned leaf = tn_i_group_leaf(k, a, j);
        put_slot(k, a, kind, in + j);
        tn_i_text_put(k->t, "L[%u].now;\n", leaf);
        put_slot(k, a, kind, out + j);
        tn_i_text_put(k->t, a->plan[kind]->kept[j] ? "L[%u].now;\n" : "goes_to(&L[%u]);\n", leaf);
        tn_i_text_put(k->t, "moved(&L[%u], %s%u[%u]);\n", leaf, kinds[kind], number, (unsigned)(out + j));
    }
    tn_i_text_put(k->t, "status = ");
    tn_i_emit_call(k->m, a->plan[kind], a->self ? "&inner" : "&quiet");
    tn_i_text_put(k->t, ", %s%u);\n", kinds[kind], number);
    tn_i_put_group_check(k);
}

/* Entries that are a leaf as it enters are told before the leaf moves: put_arrays comes first in put_step. */
static void put_steps(writer *k, bool against, int kind) {
    for (uint32_t i = 0; i < k->g->nactor; i++)
        if (k->g->actor[i].against == against) put_step(k, &k->g->actor[i], kind);
}

/* ---- snapshots ---------------------------------------------------------------------------------- */

typedef enum deed { SAVE, LOAD, AIM, EXCHANGE, FETCH } deed; /* the last two by the places of a bound group */

static void put_leaf_deed(writer *k, const tn_i_actor *a, uint32_t j, deed what, size_t at, uint32_t number) {
    const unsigned leaf = tn_i_group_leaf(k, a, j);
    const size_t bytes = a->leaf[j].bytes;
    const bool loose = a->leaf[j].loose, places = what == EXCHANGE || what == FETCH;
    if (bytes == 0 || (what == AIM && !loose)) return;
    if (places && loose) {
        tn_i_text_put(k->t,
                      what == EXCHANGE ? "if (L[%u].now != place[%u]) exchange(&L[%u], &place[%u], %zuu);\n"
                                       : "L[%u].now = place[%u];\n",
                      leaf, (unsigned)number, leaf, (unsigned)number, bytes);
        return;
    }
    if (what == AIM)
        tn_i_text_put(k->t, "aim(&L[%u], slot + %zuu);\n", leaf, at);
    else if (what == SAVE || what == EXCHANGE)
        tn_i_text_put(k->t, "save(&L[%u], slot + %zuu, %zuu);\n", leaf, at, bytes);
    else if (loose)
        tn_i_text_put(k->t, "L[%u].now = slot + %zuu;\n", leaf, at);
    else
        tn_i_text_put(k->t, "memcpy((void *)L[%u].now, (const void *)(slot + %zuu), %zuu);\n", leaf, at, bytes);
}

/* In a block that has `slot`, and where a group is bound `place`. */
static void put_state(writer *k, const tn_i_group *g, deed what) {
    size_t at = 0;
    uint32_t number = 0;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *m = &g->actor[i];
        for (uint32_t j = 0; m->against && j < m->nleaf; j++, number++) {
            const tn_i_actor *a = stand_in(k, g, i);
            uint32_t leaf = 0;
            while (a->leaf[leaf].leaf != m->leaf[j].leaf) leaf++;
            put_leaf_deed(k, a, leaf, what, at, number);
            at += padded(m->leaf[j].bytes);
        }
    }
}

static void put_record(writer *k, const tn_i_group *g, bool save) {
    size_t at = 0;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *m = &g->actor[i];
        for (uint32_t y = 0; y < m->nentry; y++) {
            if (!m->entry[y].recorded) continue;
            const tn_i_actor *a = stand_in(k, g, i);
            const tn_i_entry *live = &a->entry[y];
            if (!save && live->entering != TN_NOVAR)
                tn_i_text_put(k->t, "L[%u].was = record + %zuu;\n", tn_i_group_leaf(k, a, live->entering), at);
            else if (m->entry[y].bytes) {
                tn_i_text_put(k->t, save ? "memcpy((void *)(record + %zuu), (const void *)" : "memcpy((void *)", at);
                put_made(k, a, live);
                if (!save) tn_i_text_put(k->t, ", (const void *)(record + %zuu)", at);
                tn_i_text_put(k->t, ", %zuu);\n", m->entry[y].bytes);
            }
            at += padded(m->entry[y].bytes);
        }
    }
}

static void put_slots(writer *k, const tn_i_group *g, const char *line) {
    tn_i_text_put(k->t, "F[1] + (uintptr_t)(INT64_C(%" PRId64 ") + (int64_t)%s->slot * %zu);\n",
                  g->memory + (int64_t)g->slots, line, g->slot_bytes);
}

static void declare_slot(writer *k, const tn_i_group *g, const char *line) {
    tn_i_text_put(k->t, g->growing ? "uintptr_t slot;\n" : "const uintptr_t slot = ");
    if (g->growing)
        tn_i_put_growing_slot(k, g, "slot");
    else
        put_slots(k, g, line);
    tn_i_text_put(k->t, "(void)slot;\n");
}

/* The record of a line: in a slot, or the one that is worked with. */
static void declare_record(writer *k, const tn_i_group *g) {
    tn_i_text_put(k->t, "uintptr_t record = F[1] + (uintptr_t)INT64_C(%" PRId64 ");\n", g->memory + (int64_t)g->record);
    tn_i_text_put(k->t, "if (line->kind != %d && line->slot >= 0) {\n", (int)TN_I_RECORD);
    if (g->growing)
        tn_i_put_growing_slot(k, g, "record");
    else {
        tn_i_text_put(k->t, "record = ");
        put_slots(k, g, "line");
    }
    tn_i_text_put(k->t, "}\n(void)record;\n");
}

/* A slot on disk is the library's. */
static void put_disk(writer *k, const tn_i_group *g, bool save) {
    if (g->ndisk == 0) return;
    tn_i_text_put(k->t, "if (line->place == %d) {\nstatus = ((disk_fn *)T[%d])(P, R, F, %zu, %d, line->slot, %d);\n",
                  (int)TN_I_DISK, TN_TABLE_GROUP_DISK, (size_t)(k->s - k->p->step), g == k->g, save);
    tn_i_put_group_check(k);
    tn_i_text_put(k->t, "} else");
}

static void put_snapshot(writer *k, const tn_i_group *g, bool save, bool back) {
    const bool bound = back && g->bound;
    put_disk(k, g, save);
    tn_i_text_put(k->t, "{\n");
    declare_slot(k, g, "line");
    if (bound)
        tn_i_text_put(k->t, "uintptr_t *const place = (uintptr_t *)(S + %zuu) + (int64_t)line->slot * %u;\n",
                      g->place_of, (unsigned)g->nstate);
    put_state(k, g, save ? (bound ? EXCHANGE : SAVE) : bound ? FETCH : LOAD);
    tn_i_text_put(k->t, "}\n");
}

static void put_snapshot_case(writer *k, const tn_i_group *g, bool save, bool back) {
    tn_i_text_put(k->t, "case %d:\n", (int)(save ? TN_I_STORE : TN_I_RESTORE));
    put_snapshot(k, g, save, back);
    tn_i_text_put(k->t, "continue;\n");
}

/* ---- following a script ---------------------------------------------------------------------------- */

/* `reverse`: the k-th step in time has the number n - 1 - k. */
static void put_number(writer *k, bool reverse, const char *step) {
    if (reverse)
        tn_i_text_put(k->t, "*number = n - 1 - %s;\n", step);
    else
        tn_i_text_put(k->t, "*number = %s;\n", step);
}

static void open_script(writer *k, const tn_i_script *z, size_t from, size_t to) {
    tn_i_text_put(k->t,
                  "for (const struct line *line = (const struct line *)T[%u] + %zu, *const end = line + %zu; "
                  "line < end; line++) switch (line->kind) {\n",
                  (unsigned)tn_i_module_address(k->m, z->line), from, to - from);
}

/* Steps in which snapshots of g are taken, by the loop itself or by those that are brought back. */
static void put_forward(writer *k, const tn_i_group *g) {
    const bool against = g == k->g, reverse = k->self->shape.reverse != against;
    if (g->script->nline == 0) return;
    open_script(k, g->script, 0, g->script->back);
    put_snapshot_case(k, g, true, false);
    tn_i_text_put(k->t, "case %d:\nfor (int64_t done = 0; done < line->n; done++) {\n", (int)TN_I_ADVANCE);
    put_number(k, reverse, "(line->step + done)");
    tn_i_text_put(k->t, "if (done + 1 == line->n && line + 1 < end && line[1].kind == %d && line[1].place == %d) {\n",
                  (int)TN_I_STORE, (int)TN_I_MEMORY);
    declare_slot(k, g, "(line + 1)");
    put_state(k, g, AIM);
    tn_i_text_put(k->t, "}\n");
    put_steps(k, against, TN_PLAIN);
    tn_i_text_put(k->t, "}\ncontinue;\ndefault: {\n");
    put_number(k, reverse, "(int64_t)line->step");
    put_steps(k, against, TN_RECORDED);
    declare_record(k, g);
    put_record(k, g, true);
    tn_i_text_put(k->t, "}\n}\n");
}

/* ---- acts as they come ----------------------------------------------------------------------------- */

/* The step that is the `nth` in time, whose number is told, with what is kept of it for g. */
static void put_forward_step(writer *k, const tn_i_group *g, const char *nth) {
    const bool against = g == k->g;
    tn_i_text_put(k->t, "{\n");
    tn_i_put_forward_act(k, g, nth);
    tn_i_text_put(k->t, "if (line->kind == %d) {\n", (int)TN_I_STORE);
    put_snapshot(k, g, true, false);
    tn_i_text_put(k->t, "}\nif (line->kind == %d || line->kind == %d) {\n", (int)TN_I_KEEP, (int)TN_I_RECORD);
    put_steps(k, against, TN_RECORDED);
    declare_record(k, g);
    put_record(k, g, true);
    tn_i_text_put(k->t, "} else {\n");
    put_steps(k, against, TN_PLAIN);
    tn_i_text_put(k->t, "}\n}\n");
}

static void put_own_step(writer *k, const char *nth) {
    if (k->led)
        put_forward_step(k, k->led, nth);
    else
        put_steps(k, false, TN_PLAIN);
}

/* Snapshots of the group's own, in a run for them alone. */
static void put_snapshots(writer *k) {
    if (k->g->script) {
        put_forward(k, k->g);
        return;
    }
    tn_i_put_group_begin(k);
    tn_i_text_put(k->t, "for (int64_t done = 0; done < n; done++) {\n");
    put_number(k, !k->self->shape.reverse, "done");
    put_forward_step(k, k->g, "done");
    tn_i_text_put(k->t, "}\n");
    tn_i_put_group_turn(k, k->g);
}

static void open_acts(writer *k) {
    tn_i_text_put(k->t, "for (;;) {\n");
    tn_i_put_next_act(k);
    tn_i_text_put(k->t, "if (line->kind == %d) break;\nswitch (line->kind) {\n", (int)TN_I_DONE);
}

/* ---- the loop ---------------------------------------------------------------------------------------- */

static void put_back(writer *k) {
    const tn_i_script *z = k->g->script;
    const bool reverse = !k->self->shape.reverse;
    if (z && z->nline == 0) return;
    if (k->led) tn_i_text_put(k->t, "int64_t back = 0;\n");
    if (z)
        open_script(k, z, z->back, z->nline);
    else
        open_acts(k);
    put_snapshot_case(k, k->g, true, true);
    put_snapshot_case(k, k->g, false, true);
    tn_i_text_put(k->t, "case %d:\nfor (int64_t done = 0; done < line->n; done++) {\n", (int)TN_I_ADVANCE);
    put_number(k, reverse, "(line->step + done)");
    put_steps(k, true, TN_PLAIN);
    tn_i_text_put(k->t, "}\ncontinue;\ndefault: {\n");
    put_number(k, reverse, "(int64_t)line->step");
    declare_record(k, k->g);
    tn_i_text_put(k->t, "if (line->kind == %d) {\n", (int)TN_I_USE);
    put_record(k, k->g, false);
    tn_i_text_put(k->t, "} else {\n");
    put_steps(k, true, TN_RECORDED);
    tn_i_text_put(k->t, "}\nif (line->kind == %d) {\n", (int)TN_I_KEEP);
    put_record(k, k->g, true);
    tn_i_text_put(k->t, "continue;\n}\n");
    put_own_step(k, "back++");
    tn_i_text_put(k->t, z ? "}\n}\n" : "}\n}\n}\n");
    tn_i_put_group_release(k);
}

static void put_alone(writer *k) {
    tn_i_text_put(k->t, "for (int64_t done = 0; done < n; done++) {\n");
    put_number(k, k->self->shape.reverse, "done");
    put_own_step(k, "done");
    tn_i_text_put(k->t, "}\n");
}

static void put_while(writer *k) {
    tn_i_text_put(k->t, "for (;; n++) {\n");
    tn_i_put_group_condition(k);
    tn_i_text_put(k->t, "*number = n;\n");
    tn_i_put_group_push(k);
    put_own_step(k, "n");
    tn_i_text_put(k->t, "}\n");
    if (k->self->shape.steps == TN_NOVAR) return;
    tn_i_text_put(k->t, "*(int64_t *)");
    tn_i_emit_address(k->m, &k->p->place[k->p->f->eqn[k->self->eqn].out + k->self->shape.steps]);
    tn_i_text_put(k->t, " = n;\n");
}

/* ---- a group ------------------------------------------------------------------------------------------ */

/* n, which a condition tells at the end. */
static void put_length(writer *k) {
    const int64_t n = k->self->shape.length;
    tn_i_text_put(k->t, "int64_t n = ");
    if (k->self->shape.cond)
        tn_i_text_put(k->t, "0;\n");
    else if (n == TN_I_STEPS) {
        tn_i_text_put(k->t, "*(const int64_t *)");
        tn_i_put_group_operand(k, k->self, 0);
        tn_i_text_put(k->t, ";\nif (n < 0) n = 0;\n");
    } else
        tn_i_text_put(k->t, "INT64_C(%" PRId64 ");\n", n < 0 ? 0 : n);
    if (!k->self->shape.cond) tn_i_put_group_claim(k);
    tn_i_text_put(k->t, "(void)n;\n");
}

static void enter(writer *k) {
    tn_i_emit_inner(k->m, k->p);
    tn_i_text_put(k->t, "struct run quiet = inner; quiet.quiet = 1;\n");
    tn_i_text_put(k->t,
                  "status = ((enter_fn *)T[%d])(P, R, F, %zu);\nif (status) return status;\n"
                  "const uintptr_t S = F[1] + %" PRId64 "ll;\nint64_t *const number = (int64_t *)(S + %zuu);\n"
                  "struct leaf *const L = (struct leaf *)(S + %zuu); (void)L;\n",
                  TN_TABLE_GROUP_ENTER, (size_t)(k->s - k->p->step), k->s->scratch, k->g->number, k->g->pointers);
    put_length(k);
    tn_i_declare_group_cursors(k);
    tn_i_declare_group_condition(k);
    for (uint32_t i = 0; i < k->g->nactor; i++)
        for (int kind = 0; kind < TN_STEPS_OF; kind++) declare_frame(k, &k->g->actor[i], kind);
}

static void leave(writer *k) {
    const tn_i_actor *a = k->self;
    if (k->led && k->led->script)
        tn_i_text_put(k->t, "*(int64_t *)(F[1] + (uintptr_t)INT64_C(%" PRId64 ")) = n;\n", k->led->memory);
    else if (k->led)
        tn_i_put_group_turn(k, k->led);
    for (uint32_t j = 0; j < a->nleaf; j++) {
        if (!a->leaf[j].bytes) continue;
        tn_i_text_put(k->t, "{ const uintptr_t at = L[%u].now, to = ", tn_i_group_leaf(k, a, j));
        tn_i_emit_address(k->m, &k->p->place[k->p->f->eqn[a->eqn].out + a->leaf[j].leaf]);
        tn_i_text_put(k->t, "; if (at != to) memcpy((void *)to, (const void *)at, %zuu); }\n", a->leaf[j].bytes);
    }
    tn_i_text_put(k->t, "return status;\n}\n");
}

bool tn_i_emit_group(tn_i_module *m, uint32_t id, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_group *g = &p->group[s->loop];
    writer k = {.m = m, .t = &m->text, .p = p, .s = s, .g = g, .self = &g->actor[g->nactor - 1]};
    k.led = g->leads == TN_NOVAR ? NULL : &p->group[g->leads];
    if (!fits(&k)) return tn_i_module_refuse(m, frames(&k) > MOST_FRAMES ? TN_I_FRAMES : TN_I_SCHEDULES);
    if (!m->groups) tn_i_text_put(k.t, "%s%s", beginning, tn_i_group_acts_text);
    m->groups = true;
    tn_i_text_put(k.t, "static int step%u(const struct plan *P, const struct run *R, uintptr_t *F) {\n", (unsigned)id);
    tn_i_text_put(k.t, "const void *const *const T = P->table; int status = 0;\n");
    enter(&k);
    if (k.self->shape.cond)
        put_while(&k);
    else if (g->schedule) {
        if (!g->taken) put_snapshots(&k);
        put_back(&k);
    } else if (k.led && k.led->script)
        put_forward(&k, k.led);
    else
        put_alone(&k);
    leave(&k);
    return true;
}
