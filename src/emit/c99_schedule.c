/* Schedules as C (checkpoint/schedule.h).  Of loops of known length all acts are written down as a table, which two
 * functions read (checkpoint/script.h); of others, what is kept and how steps are brought back is decided by functions
 * of the schedule's family while the program runs.  The numbers of slots are those of the library. */
#include "emit/c99_group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is called --------------------------------------------------------------------------- */

static const char act[] =
    "/* STORE and RESTORE: the state into a slot, or from it; KEEP: a step whose entries go into a slot;\nRECORD: one "
    "whose entries are used at once; USE: entries in a slot; ADVANCE, and forward\nNONE and STORE: n steps. */\n"
    "enum { TANSY_NONE, TANSY_STORE, TANSY_KEEP, TANSY_RECORD, TANSY_RESTORE, TANSY_ADVANCE, TANSY_USE, TANSY_DONE };\n"
    "typedef struct tansy_act {\nint what;\nint64_t slot, step, n;\n} tansy_act;\n";

static const char make[] = "static tansy_act tansy_do(int what, int64_t slot, int64_t step, int64_t n) {\n"
                           "tansy_act a;\na.what = what;\na.slot = slot;\na.step = step;\na.n = n;\nreturn a;\n}\n";

/* ---- acts that are written down ------------------------------------------------------------------ */

static const char script[] =
    "/* Acts of a loop, forward and then back, and which one is next. */\n"
    "typedef struct tansy_line {\nint32_t what, slot, step, n;\n} tansy_line;\n"
    "typedef struct tansy_script {\nconst tansy_line *line;\nint64_t plain; /* forward: steps before it, of the line "
    "that was read */\n} tansy_script;\n";

static const char forward_script[] = "/* Before step i: what is stored has a line in front of that of the steps. */\n"
                                     "static tansy_act tansy_forward_script(tansy_script *s, int64_t i, int64_t n) {\n"
                                     "tansy_act a = tansy_do(TANSY_NONE, -1, i, 0);\n"
                                     "if (!s->plain) {\n"
                                     "a.what = s->line->what;\na.slot = s->line->slot;\n"
                                     "if (a.what == TANSY_STORE) s->line++;\n"
                                     "s->plain = s->line->n;\ns->line++;\n}\n"
                                     "a.n = s->plain < n ? s->plain : n;\ns->plain -= a.n;\nreturn a;\n}\n";

static const char next_script[] = "static tansy_act tansy_next_script(tansy_script *s) {\n"
                                  "const tansy_line *l = s->line++;\n"
                                  "return tansy_do(l->what, l->slot, l->step, l->n);\n}\n";

/* ---- acts that are decided ----------------------------------------------------------------------- */

static const char types[] =
    "/* Which states or entries of a loop are kept, and how its steps are brought back, the last one first. */\n"
    "typedef struct tansy_schedule {\n"
    "int64_t slots, steps, target, at, ahead;\n"
    "int64_t count, filled, round, length, pause, saving, sorted;\n"
    "int64_t *step, *slot; /* of what is kept; slots that are free follow */\n"
    "} tansy_schedule;\n";

static const char begin[] = "static void tansy_begin(tansy_schedule *r, int64_t slots, int64_t arrays) {\n"
                            "memset(r, 0, sizeof *r);\n"
                            "r->slots = r->length = r->pause = slots;\nr->saving = 1;\nr->target = r->at = -1;\n"
                            "r->step = (int64_t *)(void *)(r + 1);\nr->slot = r->step + arrays;\n"
                            "for (int64_t i = 0; i < arrays; i++) r->slot[i] = i;\n}\n";

static const char saturated[] = "/* Of numbers that are not negative. */\n"
                                "static int64_t tansy_times(int64_t a, int64_t b) {\n"
                                "return a && b > INT64_MAX / a ? INT64_MAX : a * b;\n}\n";

static const char choose[] = "/* C(n, k), or more where it does not fit. */\n"
                             "static int64_t tansy_choose(int64_t n, int64_t k) {\n"
                             "int64_t c = 1, few = k < n - k ? k : n - k;\n"
                             "if (k < 0 || k > n) return 0;\n"
                             "for (int64_t i = 1; i <= few && c < INT64_MAX; i++) {\n"
                             "c = tansy_times(c, n - few + i);\nif (c < INT64_MAX) c /= i;\n}\nreturn c;\n}\n";

static const char repeats[] =
    "/* How often no step is advanced more when s slots bring n steps back. */\n"
    "static int64_t tansy_repeats(int64_t n, int64_t s) {\n"
    "int64_t low = 0, high = 1;\nif (n <= 1) return 0;\nif (s <= 1) return n - 1;\nif (s >= n) return 1;\n"
    "while (tansy_choose(s + high, s) < n) {\nlow = high;\nhigh *= 2;\n}\n"
    "while (high - low > 1) {\n"
    "const int64_t middle = low + (high - low) / 2;\n"
    "if (tansy_choose(s + middle, s) < n) low = middle;\nelse high = middle;\n}\nreturn high;\n}\n";

static const char advances[] = "/* The fewest advances for n steps and s slots. */\n"
                               "static int64_t tansy_advances(int64_t n, int64_t s) {\n"
                               "if (n <= 1) return 0;\nif (s > n - 1) s = n - 1;\n"
                               "{\nconst int64_t r = tansy_repeats(n, s), all = tansy_times(r, n);\n"
                               "return all == INT64_MAX ? all : all - tansy_choose(s + r, s + 1);\n}\n}\n";

static const char split[] = "/* After how many of n >= 2 steps the next state is kept. */\n"
                            "static int64_t tansy_split(int64_t n, int64_t s) {\n"
                            "if (s <= 1) return n - 1;\nif (s >= n - 1) return 1;\n"
                            "{\nconst int64_t r = tansy_repeats(n, s), rest = tansy_choose(s + r - 2, s - 1);\n"
                            "int64_t most = tansy_choose(s + r - 1, s);\nif (most > n - 1) most = n - 1;\n"
                            "return n - rest >= 1 && n - rest < most ? n - rest : most;\n}\n}\n";

static const char turn[] = "/* The loop has done so many steps. */\n"
                           "static void tansy_turn(tansy_schedule *r, int64_t steps) {\n"
                           "r->steps = steps;\nr->target = steps - 1;\nr->at = -1;\nr->ahead = 0;\n}\n";

static const char walk[] =
    "/* From the latest state that is kept, with states on the way kept in the slots that are free. */\n"
    "static tansy_act tansy_next_walk(tansy_schedule *r) {\n"
    "const int64_t from = r->at, n = r->target + 1 - r->at;\n"
    "if (r->target < 0) return tansy_do(TANSY_DONE, 0, 0, 0);\n"
    "if (r->at < 0) {\n"
    "while (r->step[r->count - 1] > r->target) r->count--;\n"
    "r->at = r->step[r->count - 1];\nr->ahead = 0;\nr->count -= r->at == r->target;\n"
    "return tansy_do(TANSY_RESTORE, r->slot[r->count - (r->at < r->target)], r->at, 0);\n}\n"
    "if (n == 1) {\nr->at = -1;\nreturn tansy_do(TANSY_RECORD, -1, r->target--, 0);\n}\n"
    "if (!r->ahead) {\n"
    "const int64_t here = r->count > 0 && r->step[r->count - 1] == r->at;\n"
    "r->ahead = tansy_split(n, r->slots - r->count + here);\n"
    "if (!here) {\nr->step[r->count] = r->at;\nr->count++;\n"
    "return tansy_do(TANSY_STORE, r->slot[r->count - 1], r->at, 0);\n}\n}\n"
    "r->at += r->ahead;\n"
    "{\nconst int64_t ahead = r->ahead;\nr->ahead = 0;\nreturn tansy_do(TANSY_ADVANCE, -1, from, ahead);\n}\n}\n";

/* ---- all_save, nothing, periodic ------------------------------------------------------------------ */

static const char forward_save[] = "static tansy_act tansy_forward_save(tansy_schedule *r, int64_t i, int64_t n) {\n"
                                   "(void)r;\n(void)n;\nreturn tansy_do(TANSY_KEEP, i, i, 1);\n}\n";
static const char next_save[] = "static tansy_act tansy_next_save(tansy_schedule *r) {\n"
                                "if (r->target < 0) return tansy_do(TANSY_DONE, 0, 0, 0);\n"
                                "r->target--;\nreturn tansy_do(TANSY_USE, r->target + 1, r->target + 1, 0);\n}\n";

static const char forward_nothing[] =
    "static tansy_act tansy_forward_nothing(tansy_schedule *r, int64_t i, int64_t n) {\n"
    "if (i) return tansy_do(TANSY_NONE, -1, i, n);\n"
    "r->count = 1;\nr->step[0] = 0;\nreturn tansy_do(TANSY_STORE, 0, 0, n);\n}\n";

static const char period[] =
    "/* Slot 0 is of the first state, those up to k - 2 of states in a block, the others of the first ones of blocks. "
    "*/\n"
    "static int64_t tansy_period(int64_t step, int64_t k) {\n"
    "if (step % k) return step % k;\nreturn step ? (k > 2 ? k - 2 : 0) + step / k : 0;\n}\n";
static const char forward_periodic[] =
    "static tansy_act tansy_forward_periodic(tansy_schedule *r, int64_t i, int64_t n) {\n"
    "const int64_t in = i % r->slots, left = r->slots - in;\n"
    "r->count = -1; /* the block whose inner states are there */\nif (left < n) n = left;\n"
    "if (in) return tansy_do(TANSY_NONE, -1, i, n);\n"
    "return tansy_do(TANSY_STORE, tansy_period(i, r->slots), i, n);\n}\n";
static const char next_periodic[] =
    "static tansy_act tansy_next_periodic(tansy_schedule *r) {\n"
    "const int64_t k = r->slots, j = r->target, first = j - j % k;\n"
    "if (j < 0) return tansy_do(TANSY_DONE, 0, 0, 0);\n"
    "if (r->at == j) {\nr->at = -1;\nr->target--;\nreturn tansy_do(TANSY_RECORD, -1, j, 0);\n}\n"
    "if (r->at < 0) {\n"
    "r->at = r->count == first ? j : first;\nr->ahead = 1;\nr->count = first;\n"
    "return tansy_do(TANSY_RESTORE, tansy_period(r->at, k), r->at, 0);\n}\n"
    "if (!r->ahead) {\nr->ahead = 1;\nreturn tansy_do(TANSY_STORE, tansy_period(r->at, k), r->at, 0);\n}\n"
    "r->at++;\nr->ahead = r->at == j;\nreturn tansy_do(TANSY_ADVANCE, -1, r->at - 1, 1);\n}\n";

/* ---- online ------------------------------------------------------------------------------------------- */

static const char swap[] = "static void tansy_swap(tansy_schedule *r, int64_t a, int64_t b) {\n"
                           "const int64_t step = r->step[a], slot = r->slot[a];\n"
                           "r->step[a] = r->step[b];\nr->slot[a] = r->slot[b];\n"
                           "r->step[b] = step;\nr->slot[b] = slot;\n}\n";
static const char sift[] = "static void tansy_sift(tansy_schedule *r, int64_t at, int64_t n) {\n"
                           "int64_t child;\n"
                           "for (; (child = 2 * at + 1) < n; at = child) {\n"
                           "if (child + 1 < n && r->step[child + 1] > r->step[child]) child++;\n"
                           "if (r->step[at] >= r->step[child]) return;\n"
                           "tansy_swap(r, at, child);\n}\n}\n";
static const char order[] = "/* What is kept, by its steps. */\n"
                            "static void tansy_order(tansy_schedule *r) {\n"
                            "if (r->sorted) return;\n"
                            "r->sorted = 1;\nr->count = r->filled;\n"
                            "for (int64_t i = r->count / 2; i-- > 0;) tansy_sift(r, i, r->count);\n"
                            "for (int64_t end = r->count; end-- > 1;) {\n"
                            "tansy_swap(r, 0, end);\ntansy_sift(r, 0, end);\n}\n}\n";

static const char round_slot[] =
    "/* As Stumm and Walther: rounds, each with a slot less. */\n"
    "static tansy_act tansy_round(tansy_schedule *r, int64_t i) {\n"
    "tansy_act a = tansy_do(TANSY_NONE, -1, i, 1);\n"
    "if (r->saving) {\n"
    "a = tansy_do(TANSY_STORE, r->round, i, 1);\nr->step[r->round] = i;\n"
    "if (r->round == r->filled) r->filled++;\n"
    "r->round++;\nif (r->round > r->length) r->round = 1;\n}\n"
    "if (i + 1 == r->pause) r->saving = 0;\n"
    "if (i == r->pause) {\n"
    "r->pause += r->length;\nr->length--;\nr->round = r->length;\nr->saving = r->length > 0;\n}\n"
    "return a;\n}\n";

static const char stride[] =
    "/* Then at every stride, a part of the steps so far, in place of the state whose neighbours are closest. */\n"
    "static tansy_act tansy_stride(tansy_schedule *r, int64_t i) {\n"
    "const int64_t s = r->slots, by = i / s > 1 ? i / s : 1;\nint64_t worst = 1, gap = INT64_MAX;\n"
    "if (s == 1 || i - r->step[r->count - 1] < by) return tansy_do(TANSY_NONE, -1, i, 1);\n"
    "for (int64_t k = 1; r->count == s && k < s; k++) {\n"
    "const int64_t between = (k + 1 < s ? r->step[k + 1] : i) - r->step[k - 1];\n"
    "if (between <= gap) {\nworst = k;\ngap = between;\n}\n}\n"
    "if (r->count == s) {\n"
    "for (int64_t k = worst + 1; k < s; k++) tansy_swap(r, k - 1, k);\nr->count--;\n}\n"
    "r->step[r->count] = i;\nr->count++;\nreturn tansy_do(TANSY_STORE, r->slot[r->count - 1], i, 1);\n}\n";

static const char forward_online[] =
    "static tansy_act tansy_forward_online(tansy_schedule *r, int64_t i, int64_t n) {\n"
    "(void)n;\nif (i < tansy_choose(r->slots + 2, 2) - 1) return tansy_round(r, i);\n"
    "tansy_order(r);\nreturn tansy_stride(r, i);\n}\n";

static const char turn_online[] =
    "/* All states that are kept but the first are given up where that makes fewer advances. */\n"
    "static void tansy_turn_online(tansy_schedule *r, int64_t steps) {\n"
    "int64_t sum = 0;\ntansy_order(r);\ntansy_turn(r, steps);\n"
    "if (r->count <= 1 || steps <= tansy_choose(r->slots + 2, 2) - 1) return;\n"
    "for (int64_t k = 0; k < r->count; k++) {\n"
    "const int64_t end = k + 1 < r->count ? r->step[k + 1] : steps;\n"
    "const int64_t more = tansy_advances(end - r->step[k], r->slots - k);\n"
    "sum = more > INT64_MAX - sum ? INT64_MAX : sum + more;\n}\n"
    "if (sum > tansy_advances(steps, r->slots)) r->count = 1;\n}\n";

static const tn_i_c_helper helpers[] = {{"tansy_act", act},
                                        {"tansy_do", make},
                                        {"tansy_script", script},
                                        {"tansy_forward_script", forward_script},
                                        {"tansy_next_script", next_script},
                                        {"tansy_schedule", types},
                                        {"tansy_begin", begin},
                                        {"tansy_times", saturated},
                                        {"tansy_choose", choose},
                                        {"tansy_repeats", repeats},
                                        {"tansy_advances", advances},
                                        {"tansy_split", split},
                                        {"tansy_turn", turn},
                                        {"tansy_next_walk", walk},
                                        {"tansy_forward_save", forward_save},
                                        {"tansy_next_save", next_save},
                                        {"tansy_forward_nothing", forward_nothing},
                                        {"tansy_period", period},
                                        {"tansy_forward_periodic", forward_periodic},
                                        {"tansy_next_periodic", next_periodic},
                                        {"tansy_swap", swap},
                                        {"tansy_sift", sift},
                                        {"tansy_order", order},
                                        {"tansy_round", round_slot},
                                        {"tansy_stride", stride},
                                        {"tansy_forward_online", forward_online},
                                        {"tansy_turn_online", turn_online},
                                        {NULL, NULL}};

/* ---- which one ------------------------------------------------------------------------------------------- */

static const tn_i_c99_family families[] = {
    {"all_save", "tansy_forward_save", "tansy_turn", "tansy_next_save", true, false},
    {"nothing", "tansy_forward_nothing", "tansy_turn", "tansy_next_walk", false, true},
    {"periodic", "tansy_forward_periodic", "tansy_turn", "tansy_next_periodic", false, false},
    {"online", "tansy_forward_online", "tansy_turn_online", "tansy_next_walk", false, true},
};

/* Memory that plans set aside for a run in the library, where this one's is. */
static bool fits(const tn_i_schedule *s, const tn_i_c99_family *f, int64_t slots) {
    const size_t arrays = f->arrays ? (size_t)slots : 0;
    return tn_i_schedule_bytes(s) >= 14 * sizeof(int64_t) + 2 * arrays * sizeof(int64_t);
}

/* NULL: it is none of those for any number of steps. */
static const tn_i_c99_family *family_of(const tn_i_schedule *s, int64_t *slots) {
    const char *text = tn_i_schedule_text(s), *colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    *slots = colon ? strtoll(colon + 1, NULL, 10) : 1;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i].name) == n && strncmp(families[i].name, text, n) == 0)
            return fits(s, &families[i], *slots) ? &families[i] : NULL;
    return NULL;
}

static bool decided(tn_i_group_text *k, tn_i_c99_acts *a) {
    a->f = family_of(a->g->schedule, &a->slots);
    if (!a->f) {
        tn_i_c99_group_refuse(k, "its schedule wants to know the number of steps");
        return false;
    }
    a->keeps = a->f->records;
    a->forward = a->keeps ? 1u << TN_I_KEEP : 1u << TN_I_NONE | 1u << TN_I_STORE;
    a->back =
        a->keeps ? 1u << TN_I_USE : 1u << TN_I_STORE | 1u << TN_I_RESTORE | 1u << TN_I_ADVANCE | 1u << TN_I_RECORD;
    return true;
}

/* ---- scripts --------------------------------------------------------------------------------------------- */

enum { MOST_LINES = 1 << 21 }; /* forward and back: some 40 MB of text */

static const tn_i_c99_family reader = {.forward = "tansy_forward_script", .next = "tansy_next_script"};

static bool look_at_lines(tn_i_group_text *k, tn_i_c99_acts *a) {
    for (size_t i = 0; i < a->script->nline; i++) {
        const tn_i_line *l = &a->script->line[i];
        const bool back = i >= a->script->back;
        if (l->place == TN_I_DISK) {
            tn_i_c99_group_refuse(
                k, "snapshots in files (offload) cannot be written as C: another schedule keeps them in memory");
            return false;
        }
        *(back ? &a->back : &a->forward) |= 1u << l->kind;
        a->keeps |= l->kind == TN_I_KEEP;
        a->working |= l->slot == TN_I_WORKING && l->kind == (back ? TN_I_USE : TN_I_RECORD);
    }
    return true;
}

static bool written(tn_i_group_text *k, tn_i_c99_acts *a) {
    a->f = &reader;
    if (!tn_i_script_new(a->g->schedule, k->self->shape.length, MOST_LINES, &a->script))
        k->w->failed = true;
    else if (!a->script)
        tn_i_c99_group_refuse(k, "its schedule takes too many lines to be written as C yet: all_save takes none");
    return a->script && look_at_lines(k, a);
}

void tn_i_c99_write_script(tn_i_group_text *k, const tn_i_c99_acts *a, size_t first, size_t end) {
    tn_i_text_put(k->t, "/* What %s schedule does: act, slot, step, steps. */\nstatic const tansy_line %s_line[] = {",
                  a->g == k->g ? "its" : "a later loop's", a->name);
    for (size_t i = first; i < end; i++) {
        const tn_i_line *l = &a->script->line[i];
        tn_i_text_put(k->t, "%s{%d, %" PRId32 ", %" PRId32 ", %" PRId32 "}", i > first ? ", " : "", l->kind, l->slot,
                      l->step, l->n);
    }
    tn_i_text_put(k->t, "};\ntansy_script %s_script = {%s_line, 0}, *const %s = &%s_script;\n", a->name, a->name,
                  a->name, a->name);
}

/* ---- whatever tells them ------------------------------------------------------------------------------ */

bool tn_i_c99_acts_of(tn_i_group_text *k, const tn_i_group *g, const char *name, tn_i_c99_acts *a) {
    *a = (tn_i_c99_acts){.g = g, .name = name};
    if (!g || !g->schedule) return true;
    return k->self->shape.length == TN_I_STEPS ? decided(k, a) : written(k, a);
}

void tn_i_c99_schedule_helpers(tn_i_c99 *w, const char *text) { tn_i_c_need(&w->g, helpers, text); }
