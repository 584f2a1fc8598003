/* Schedules of loops that find their length when they run, as C (checkpoint/schedule.h): what is kept, and how steps
 * are brought back, is decided while the program runs.  The numbers of slots are those of the library. */
#include "emit/c99_group.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is called --------------------------------------------------------------------------- */

static const char types[] =
    "/* Which states or entries of a loop are kept, and how its steps are brought back, the last one first. */\n"
    "typedef struct tansy_schedule {\n"
    "int64_t slots, steps, target, at, ahead;\n"
    "int64_t count, filled, round, length, pause, saving, sorted;\n"
    "int64_t *step, *slot; /* of what is kept; slots that are free follow */\n"
    "} tansy_schedule;\n"
    "/* `what`: 0 nothing, 1 keep a state, 2 keep entries, 3 entries that are used at once, 4 to the state in a slot,\n"
    "5 advance, 6 use the entries in a slot, 7 the end. */\n"
    "typedef struct tansy_act {\nint what;\nint64_t slot, step, n;\n} tansy_act;\n";

static const char act[] = "static tansy_act tansy_do(int what, int64_t slot, int64_t step, int64_t n) {\n"
                          "tansy_act a;\na.what = what;\na.slot = slot;\na.step = step;\na.n = n;\nreturn a;\n}\n";

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
    "if (r->target < 0) return tansy_do(7, 0, 0, 0);\n"
    "if (r->at < 0) {\n"
    "while (r->step[r->count - 1] > r->target) r->count--;\n"
    "r->at = r->step[r->count - 1];\nr->ahead = 0;\nr->count -= r->at == r->target;\n"
    "return tansy_do(4, r->slot[r->count - (r->at < r->target)], r->at, 0);\n}\n"
    "if (n == 1) {\nr->at = -1;\nreturn tansy_do(3, -1, r->target--, 0);\n}\n"
    "if (!r->ahead) {\n"
    "const int64_t here = r->count > 0 && r->step[r->count - 1] == r->at;\n"
    "r->ahead = tansy_split(n, r->slots - r->count + here);\n"
    "if (!here) {\nr->step[r->count] = r->at;\nr->count++;\n"
    "return tansy_do(1, r->slot[r->count - 1], r->at, 0);\n}\n}\n"
    "r->at += r->ahead;\n"
    "{\nconst int64_t ahead = r->ahead;\nr->ahead = 0;\nreturn tansy_do(5, -1, from, ahead);\n}\n}\n";

/* ---- all_save, nothing, periodic ------------------------------------------------------------------ */

static const char forward_save[] = "static tansy_act tansy_forward_save(tansy_schedule *r, int64_t i) {\n"
                                   "(void)r;\nreturn tansy_do(2, i, i, 0);\n}\n";
static const char next_save[] = "static tansy_act tansy_next_save(tansy_schedule *r) {\n"
                                "if (r->target < 0) return tansy_do(7, 0, 0, 0);\n"
                                "r->target--;\nreturn tansy_do(6, r->target + 1, r->target + 1, 0);\n}\n";

static const char forward_nothing[] = "static tansy_act tansy_forward_nothing(tansy_schedule *r, int64_t i) {\n"
                                      "if (i) return tansy_do(0, -1, i, 0);\n"
                                      "r->count = 1;\nr->step[0] = 0;\nreturn tansy_do(1, 0, 0, 0);\n}\n";

static const char period[] =
    "/* Slot 0 is of the first state, those up to k - 2 of states in a block, the others of the first ones of blocks. "
    "*/\n"
    "static int64_t tansy_period(int64_t step, int64_t k) {\n"
    "if (step % k) return step % k;\nreturn step ? (k > 2 ? k - 2 : 0) + step / k : 0;\n}\n";
static const char forward_periodic[] = "static tansy_act tansy_forward_periodic(tansy_schedule *r, int64_t i) {\n"
                                       "r->count = -1; /* the block whose inner states are there */\n"
                                       "return i % r->slots ? tansy_do(0, -1, i, 0) : "
                                       "tansy_do(1, tansy_period(i, r->slots), i, 0);\n}\n";
static const char next_periodic[] =
    "static tansy_act tansy_next_periodic(tansy_schedule *r) {\n"
    "const int64_t k = r->slots, j = r->target, first = j - j % k;\n"
    "if (j < 0) return tansy_do(7, 0, 0, 0);\n"
    "if (r->at == j) {\nr->at = -1;\nr->target--;\nreturn tansy_do(3, -1, j, 0);\n}\n"
    "if (r->at < 0) {\n"
    "r->at = r->count == first ? j : first;\nr->ahead = 1;\nr->count = first;\n"
    "return tansy_do(4, tansy_period(r->at, k), r->at, 0);\n}\n"
    "if (!r->ahead) {\nr->ahead = 1;\nreturn tansy_do(1, tansy_period(r->at, k), r->at, 0);\n}\n"
    "r->at++;\nr->ahead = r->at == j;\nreturn tansy_do(5, -1, r->at - 1, 1);\n}\n";

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
    "tansy_act a = tansy_do(0, -1, i, 0);\n"
    "if (r->saving) {\n"
    "a = tansy_do(1, r->round, i, 0);\nr->step[r->round] = i;\n"
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
    "if (s == 1 || i - r->step[r->count - 1] < by) return tansy_do(0, -1, i, 0);\n"
    "for (int64_t k = 1; r->count == s && k < s; k++) {\n"
    "const int64_t between = (k + 1 < s ? r->step[k + 1] : i) - r->step[k - 1];\n"
    "if (between <= gap) {\nworst = k;\ngap = between;\n}\n}\n"
    "if (r->count == s) {\n"
    "for (int64_t k = worst + 1; k < s; k++) tansy_swap(r, k - 1, k);\nr->count--;\n}\n"
    "r->step[r->count] = i;\nr->count++;\nreturn tansy_do(1, r->slot[r->count - 1], i, 0);\n}\n";

static const char forward_online[] = "static tansy_act tansy_forward_online(tansy_schedule *r, int64_t i) {\n"
                                     "if (i < tansy_choose(r->slots + 2, 2) - 1) return tansy_round(r, i);\n"
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

static const tn_i_c_helper helpers[] = {{"tansy_schedule", types},
                                        {"tansy_do", act},
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

const tn_i_c99_family *tn_i_c99_family_of(const tn_i_schedule *s, int64_t *slots) {
    const char *text = tn_i_schedule_text(s), *colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    *slots = colon ? strtoll(colon + 1, NULL, 10) : 1;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i].name) == n && strncmp(families[i].name, text, n) == 0)
            return fits(s, &families[i], *slots) ? &families[i] : NULL;
    return NULL;
}

void tn_i_c99_schedule_helpers(tn_i_c99 *w, const char *text) {
    if (tn_i_c_names(text, "tansy_schedule")) tn_i_c_need(&w->g, helpers, "tansy_schedule");
    tn_i_c_need(&w->g, helpers, text);
}
