/* Loops that schedules bring back, bit for bit: of known length and not, in both directions, with snapshots that the
 * loop takes itself, for the first that reads it, and in a run for them alone, for the second. */
#include "emit/written.h"

#include "checkpoint/schedule.h"

#include <tansy/emit.h>

#include <stdio.h>
#include <string.h>

/* Nothing but products and sums, which have the bits of the library. */
#define STEP    "b:f64[3] = mul w a c:f64[3] = mul b a d:f64[3] = sub a c"
#define READER1 "program={ lambda p:f64[3] a:f64[3] b:f64[3] . let q:f64[3] = mul p b r:f64[3] = add q a in (r) }"
#define READER2 "program={ lambda p:f64[3] a:f64[3] b:f64[3] . let q:f64[3] = mul p a r:f64[3] = sub q b in (r) }"
#define SCAN    "program={ lambda w:f64[3] a:f64[3] . let " STEP " in (d, a, b) } num_consts=1 num_carry=1"
#define CARRIES "num_consts=0 num_carry=1"

/* Entries that are arrays as long as a loop was. */
#define INNER                                                                                                     \
    "program={ lambda w:f64[3] a:f64[3] . let s:f64[] = reduce_sum[axes=(0,)] a c:f64[] k:i64[] zs:f64[?] = "     \
    "while[cond={ lambda z:f64[] . let p:bool[] = lt z 9.0:f64[] in (p) } body={ lambda z:f64[] . let y:f64[] = " \
    "mul z 1.5:f64[] in (y, z) } cond_nconsts=0 body_nconsts=0 count=True] s u:f64[] = mul c 0.1:f64[] "          \
    "d:f64[3] = mul w u in (d, k, a, zs) } num_consts=1 num_carry=1"
#define INNER_READER                                                                                               \
    "program={ lambda e:f64[3] k:i64[] x:f64[3] zs:f64[?] . let f:f64[3] = mul e x g:f64[3] = "                    \
    "scan[program={ lambda g:f64[3] z:f64[] . let h:f64[3] = mul g 0.5:f64[] i:f64[3] = add h z in (i) } " CARRIES \
    " reverse=True] k f zs in (g) } " CARRIES

/* in: n, w, y.  %1$s: the schedule, %2$d: the number of steps that is known. */
typedef struct kind {
    const char *what;
    bool found; /* n is the number of steps */
    const char *text;
} kind;

#define KNOWN(forth, back)                                                                                \
    "h:f64[3] as:f64[%2$d,3] bs:f64[%2$d,3] = scan[" SCAN " length=%2$d " forth "schedule=\"%1$s\"] w y " \
    "p:f64[3] = scan[" READER1 " length=%2$d " CARRIES " " back "] y as bs "                              \
    "q:f64[3] = scan[" READER2 " length=%2$d " CARRIES " " back "] y as bs in (h, p, q) }"
#define COUNTED(forth, back)                                                              \
    "h:f64[3] as:f64[?,3] bs:f64[?,3] = scan[" SCAN " " forth "schedule=\"%1$s\"] n w y " \
    "p:f64[3] = scan[" READER1 " " CARRIES " " back "] n y as bs "                        \
    "q:f64[3] = scan[" READER2 " " CARRIES " " back "] n y as bs in (h, p, q) }"

static const kind kinds[] = {
    {"scan", false, KNOWN("", "reverse=True")},
    {"scan in reverse", false, KNOWN("reverse=True ", "")},
    {"scan of a number of steps", true, COUNTED("", "reverse=True")},
    {"scan of a number of steps in reverse", true, COUNTED("reverse=True ", "")},
    {"while", true,
     "h:f64[3] k:i64[] m:i64[] as:f64[?,3] bs:f64[?,3] = while[cond={ lambda n:i64[] a:f64[3] k:i64[] . let "
     "g:bool[] = lt k n in (g) } body={ lambda w:f64[3] a:f64[3] k:i64[] . let " STEP " l:i64[] = add k 1:i64[] in "
     "(d, l, a, b) } cond_nconsts=1 body_nconsts=1 count=True schedule=\"%1$s\"] n w y 0:i64[] "
     "p:f64[3] = scan[" READER1 " " CARRIES " reverse=True] m y as bs "
     "q:f64[3] = scan[" READER2 " " CARRIES " reverse=True] m y as bs in (h, p, q) }"},
    {"entries that are arrays", false,
     "h:f64[3] ks:i64[%2$d] xs:f64[%2$d,3] zss:f64[%2$d,?] = scan[" INNER " length=%2$d schedule=\"%1$s\"] w y "
     "e:f64[3] = scan[" INNER_READER " length=%2$d reverse=True] y ks xs zss in (h, e) }"},
    {"entries that are arrays, in a scan of a number of steps", true,
     "h:f64[3] ks:i64[?] xs:f64[?,3] zss:f64[?,?] = scan[" INNER " schedule=\"%1$s\"] n w y "
     "e:f64[3] = scan[" INNER_READER " reverse=True] n y ks xs zss in (h, e) }"},
};

static tn_fn *parsed(tn_ctx *c, const kind *k, const char *schedule, int steps) {
    char text[4000];
    int n = snprintf(text, sizeof text, "{ lambda n:i64[] w:f64[3] y:f64[3] . let ");
    n += snprintf(text + n, sizeof text - (size_t)n, k->text, schedule, steps);
    return tn_fn_parse(c, text, (size_t)n, "schedules");
}

static void add_kind(emit_session *s, tn_ctx *c, const kind *k, const char *schedule, int64_t steps) {
    double w[3] = {0.25, -0.5, 0.75}, y[3] = {0.875, -0.3, 1.1};
    char what[160];
    tn_fn *f = parsed(c, k, schedule, (int)steps);
    (void)snprintf(what, sizeof what, "%s, %lld steps, %s", k->what, (long long)steps, schedule);
    if (!f) {
        emit_wrong(s, what, tn_error(c));
        return;
    }
    laws_memory m = {NULL, 0};
    laws_array *x = laws_alloc(&m, 3, sizeof *x);
    for (uint32_t i = 0; i < 3; i++) x[i] = laws_new(&m, f->val[i].type);
    memcpy(x[0].data, &steps, sizeof steps);
    memcpy(x[1].data, w, sizeof w);
    memcpy(x[2].data, y, sizeof y);
    s->capacity = 200;
    s->tolerance = 1e-300;
    if (!emit_add(s, what, f, x)) emit_wrong(s, what, "is not written");
    s->capacity = 0;
    s->tolerance = 0;
    laws_memory_drop(&m);
}

/* A table of some hundred thousand lines is written, one of millions is not. */
static void check_lines(emit_session *s, tn_ctx *c) {
    for (int steps = 100000; steps <= 3000000; steps *= 30) {
        char *source = NULL, *header = NULL;
        const tn_fn *f = parsed(c, &kinds[0], "revolve:10", steps);
        const tn_status status = f ? tn_emit_c(f, NULL, &source, &header) : TN_EINVAL;
        const bool refused = status == TN_ERULE && strstr(tn_error(c), "its schedule takes too many lines");
        if (steps == 100000 ? status != TN_OK : !refused) emit_wrong(s, "revolve:10 of many steps", tn_error(c));
        tn_text_free(c, source);
        tn_text_free(c, header);
    }
    s->passed++;
}

void emit_schedules(emit_session *s) {
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1, .contract = -1};
    tn_ctx *c = tn_ctx_new(&opt);
    const char *schedule;
    bool known;
    for (size_t i = 0; (schedule = tn_i_schedule_example(i, &known)); i++) {
        if (strncmp(schedule, "disk", 4) == 0) continue; /* refused */
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            if (kinds[k].found && known) continue;
            add_kind(s, c, &kinds[k], schedule, !kinds[k].found);
            add_kind(s, c, &kinds[k], schedule, 13);
        }
    }
    check_lines(s, c);
    tn_ctx_free(c);
}
