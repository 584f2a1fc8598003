/* Programs written as C compute what the interpreter does: every primitive with its derivatives, generated programs,
 * and the examples.
 *
 * Many programs go into one file, which is compiled once, as strictly as a compiler can be told to, and loaded.
 * usage: emit [--n N] [--seed S] [--prim NAME] [--keep DIR] */
#include "laws/copy64.h"
#include "laws/derive.h"
#include "laws/trial.h"

#include "checkpoint/schedule.h"
#include "recurrent.h"
#include "tansy/emit.h"

#include <tansy/ops.h>

#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 4000, EACH = 200 };

/* A program that was written, where it came from, and what it should compute. */
typedef struct record {
    char what[160];
    uint32_t nin, nout;
    laws_array *x, *y; /* y: as the interpreter computes it */
    double tolerance;
    double work; /* flops and multiply-adds */
    char *text;
} record;

typedef struct session {
    laws_memory memory; /* of the records */
    record at[MOST];
    size_t n;
    long passed, failed, refused, skipped;
    bool written[TN_NPRIMS], tried[TN_NPRIMS];
    const char *dir, *cc;
    uint64_t seed;
    bool verbose;
    double tolerance; /* 0: what rounding does in a few equations */
} session;

static void wrong(session *s, const char *what, const char *why) {
    s->failed++;
    (void)printf("FAILED %s: %s\n", what, why);
}

/* ---- what is written ----------------------------------------------------------------------- */

/* Reasons that docs/emit-c.md lists. */
static bool may_refuse(const char *why) {
    static const char *const reason[] = {"there is no observer", "cannot be written as C yet", "in files (offload)",
                                         "has a length that a loop finds"};
    for (size_t i = 0; i < sizeof reason / sizeof *reason; i++)
        if (strstr(why, reason[i])) return true;
    return false;
}

static laws_array *kept(session *s, const laws_array *a, size_t n) {
    laws_array *to = laws_alloc(&s->memory, n + 1, sizeof *to);
    for (size_t i = 0; i < n; i++) to[i] = laws_copy(&s->memory, &a[i]);
    return to;
}

/* A call by a list of addresses; the header stands in front, the source's #include finds an empty file. */
static void add_caller(record *r, const char *source, const char *header, size_t number) {
    size_t bytes;
    FILE *t = open_memstream(&r->text, &bytes);
    (void)fprintf(t, "%s%sint call_%zu(const void *const *in, void *const *out, void *work);\n", header, source,
                  number);
    (void)fprintf(t,
                  "int call_%zu(const void *const *in, void *const *out, void *work) {\n(void)in, (void)out;\n"
                  "return case_%zu(",
                  number, number);
    for (uint32_t i = 0; i < r->nin; i++) (void)fprintf(t, "in[%u], ", (unsigned)i);
    for (uint32_t j = 0; j < r->nout; j++) (void)fprintf(t, "out[%u], ", (unsigned)j);
    (void)fprintf(t, "work);\n}\nextern const long bytes_%zu;\nconst long bytes_%zu = CASE_%zu_WORK_BYTES;\n", number,
                  number, number);
    (void)fclose(t);
}

static bool write_case(session *s, const tn_fn *f, record *r) {
    char name[32], *source, *header;
    (void)snprintf(name, sizeof name, "case_%zu", s->n);
    const tn_emit_c_options o = {.size = sizeof o, .name = name, .header = "empty.h"};
    const tn_status status = tn_emit_c(f, &o, &source, &header);
    if (status != TN_OK) {
        if (status == TN_ERULE && may_refuse(tn_error(f->ctx))) {
            s->refused++;
            if (s->verbose) (void)printf("refused %s: %s\n", r->what, tn_error(f->ctx));
        } else
            wrong(s, r->what, tn_error(f->ctx));
        return false;
    }
    add_caller(r, source, header, s->n);
    tn_text_free(f->ctx, source);
    tn_text_free(f->ctx, header);
    return true;
}

static bool has_unknown(const tn_fn *f) {
    bool some = false;
    for (uint32_t i = 0; i < f->nin; i++) some |= tn_i_has_steps(f->val[i].type);
    for (uint32_t j = 0; j < f->nout; j++) some |= tn_i_has_steps(f->val[f->out[j]].type);
    return some;
}

static bool interpreted(const tn_fn *f, const laws_array *x, laws_memory *m, laws_array *y, const char **why) {
    const void *in[512];
    void *out[512];
    const tn_compile_options o = {.size = sizeof o, .spill_dir = "/tmp"};
    tn_exec *e = f->nin < 512 && f->nout < 512 ? tn_compile(f, &o) : NULL;
    *why = e ? "" : tn_error(f->ctx);
    for (uint32_t i = 0; e && i < f->nin; i++) in[i] = x[i].data;
    for (uint32_t j = 0; e && j < f->nout; j++) {
        y[j] = laws_new(m, f->val[f->out[j]].type);
        out[j] = y[j].data;
    }
    const bool ok = e && tn_call(e, in, out) == TN_OK;
    if (e && !ok) *why = "the interpreter fails";
    tn_exec_free(e);
    return ok;
}

/* A program that stops, or cannot run, is none for this test. */
static bool add(session *s, const char *what, const tn_fn *f, const laws_array *x) {
    const char *why;
    if (!f || s->n == MOST || has_unknown(f) || f->nout > 500) return false;
    record *r = &s->at[s->n];
    *r = (record){.nin = f->nin, .nout = f->nout, .tolerance = s->tolerance > 0 ? s->tolerance : laws_rounding(f)};
    (void)snprintf(r->what, sizeof r->what, "case_%zu: %s", s->n, what);
    r->y = laws_alloc(&s->memory, f->nout + 1u, sizeof *r->y);
    tn_cost_report cost = {.size = sizeof cost};
    if (tn_cost(f, &cost) == TN_OK) r->work = cost.flops + cost.products;
    if (!interpreted(f, x, &s->memory, r->y, &why)) {
        s->skipped++;
        return false;
    }
    if (!write_case(s, f, r)) return false;
    r->x = kept(s, x, f->nin);
    s->n++;
    return true;
}

/* What is derived from f. */
static void add_derived(session *s, laws_trial *t, const char *what, bool second) {
    char text[200];
    laws_wrt w;
    if (laws_wrt_all(t->f, &w)->n == 0 || laws_float_outputs(t->f) == 0) return;
    uint32_t n;
    const laws_array *v = laws_tangents(t, t->x, &w.list), *ct = laws_cotangents(t, t->f, &n);
    const tn_fn *g = tn_jvp(t->f, &w.list), *h = tn_vjp(t->f, &w.list, NULL);
    (void)snprintf(text, sizeof text, "jvp of %s", what);
    if (g) (void)add(s, text, g, laws_joined(t, t->x, t->f->nin, v, w.list.n));
    (void)snprintf(text, sizeof text, "vjp of %s", what);
    const laws_array *x = laws_joined(t, t->x, t->f->nin, ct, n);
    if (h) (void)add(s, text, h, x);
    if (!h || !second) return;
    laws_wrt all;
    if (laws_wrt_all(h, &all)->n == 0 || laws_float_outputs(h) == 0) return;
    const tn_fn *hvp = tn_jvp(h, &all.list);
    (void)snprintf(text, sizeof text, "hvp of %s", what);
    if (hvp) (void)add(s, text, hvp, laws_joined(t, x, h->nin, laws_tangents(t, x, &all.list), all.list.n));
}

static void add_trials(session *s, const tn_prim *prim, int dtype, long n) {
    const laws_options o = {.n = n, .seed = s->seed, .registry = tn_i_registry};
    laws_memory memory = {NULL, 0};
    char what[120];
    for (long k = 0; k < n; k++) {
        laws_trial t = {.memory = &memory};
        if (laws_trial_init(&t, &o, prim, dtype, s->seed + (uint64_t)k, 0)) {
            t.rng = (tn_i_rng){s->seed + (uint64_t)k};
            (void)snprintf(what, sizeof what, "%s %s seed %lld", prim ? prim->name : "generated",
                           tn_i_dtype_name(dtype), (long long)s->seed + k);
            const bool written = add(s, what, t.f, t.x);
            if (prim) s->written[prim->id] |= written;
            if (!prim || (k % 2 == 0 && dtype == TN_F64)) add_derived(s, &t, what, !prim && k % 3 == 0);
        }
        laws_trial_free(&t);
    }
    laws_memory_drop(&memory);
}

/* ---- compiling ---------------------------------------------------------------------------------- */

/* The external functions of the sampler: squares, 2 x d as jvp and vjp, and the derivatives of those. */
#define SQUARE(T, name)                                         \
    "int " name "(const void *const *in, void *const *out);\n"  \
    "int " name "(const void *const *in, void *const *out) {\n" \
    "    const " T " *x = in[0];\n    " T " *y = out[0];\n"     \
    "    for (int i = 0; i < 3; i++) y[i] = x[i] * x[i];\n    return 0;\n}\n"
#define SLOPE(T, name)                                                  \
    "int " name "(const void *const *in, void *const *out);\n"          \
    "int " name "(const void *const *in, void *const *out) {\n"         \
    "    const " T " *x = in[0], *d = in[1];\n    " T " *y = out[0];\n" \
    "    for (int i = 0; i < 3; i++) y[i] = 2 * x[i] * d[i];\n    return 0;\n}\n"
#define SLOPE_JVP(T, name)                                                              \
    "int " name "(const void *const *in, void *const *out);\n"                          \
    "int " name "(const void *const *in, void *const *out) {\n"                         \
    "    const " T " *x = in[0], *d = in[1], *dx = in[2], *dd = in[3];\n    " T         \
    " *y = out[0];\n    for (int i = 0; i < 3; i++) y[i] = 2 * (dx[i] * d[i] + x[i] * " \
    "dd[i]);\n    return 0;\n}\n"
#define SLOPE_VJP(T, name)                                                                     \
    "int " name "(const void *const *in, void *const *out);\n"                                 \
    "int " name "(const void *const *in, void *const *out) {\n"                                \
    "    const " T " *x = in[0], *d = in[1], *ct = in[2];\n    " T                             \
    " *cx = out[0], *cd = out[1];\n    for (int i = 0; i < 3; i++) cx[i] = 2 * ct[i] * d[i], " \
    "cd[i] = 2 * ct[i] * x[i];\n    return 0;\n}\n"
#define SAMPLE(T, name)           \
    SQUARE(T, name)               \
    SLOPE(T, name "_jvp")         \
    SLOPE(T, name "_vjp")         \
    SLOPE_JVP(T, name "_jvp_jvp") \
    SLOPE_JVP(T, name "_vjp_jvp") SLOPE_VJP(T, name "_jvp_vjp") SLOPE_VJP(T, name "_vjp_vjp")
static const char externals[] = SAMPLE("float", "sample_f32") SAMPLE("double", "sample_f64");

static bool write_files(const session *s, size_t first, size_t end, const char *path) {
    char empty[512];
    (void)snprintf(empty, sizeof empty, "%s/empty.h", s->dir);
    FILE *none = fopen(empty, "w"), *file = fopen(path, "w");
    if (none) (void)fclose(none);
    if (!file) return false;
    (void)fputs(externals, file);
    for (size_t i = first; i < end; i++) (void)fputs(s->at[i].text, file);
    return fclose(file) == 0;
}

/* The first ones, and those that compute much, as users would; the others fast. */
static bool compiled(const session *s, size_t first, size_t end, const char *from, const char *to) {
    char command[2048];
    double work = 0;
    for (size_t i = first; i < end; i++) work += s->at[i].work;
    (void)snprintf(command, sizeof command,
                   "%s -std=c99 -pedantic -Wall -Wextra -Werror -O%d -ffp-contract=off -fPIC -shared -I%s -o %s %s -lm",
                   s->cc, work > 1e8 ? 2 : first == 0, s->dir, to, from);
    return system(command) == 0;
}

typedef int caller(const void *const *in, void *const *out, void *work);

static void compare(session *s, const record *r, laws_array *y) {
    char why[200];
    for (uint32_t j = 0; j < r->nout; j++) {
        const double largest = laws_is_float(&y[j]) ? laws_largest(&r->y[j]) : 0;
        const int64_t i = laws_values_differ(&r->y[j], &y[j], r->tolerance, fmax(1e-3, 1e-3 * largest));
        if (i < 0) continue;
        (void)snprintf(why, sizeof why, "output %u, element %lld: %.17g and not %.17g", (unsigned)j, (long long)i,
                       laws_get(&y[j], i), laws_get(&r->y[j], i));
        wrong(s, r->what, why);
        return;
    }
    s->passed++;
}

/* Twice, in a workspace that is full of ones at first, with a guard behind it. */
static void run(session *s, const record *r, size_t number, void *library) {
    char name[32];
    (void)snprintf(name, sizeof name, "call_%zu", number);
    caller *call;
    *(void **)(void *)&call = dlsym(library, name);
    (void)snprintf(name, sizeof name, "bytes_%zu", number);
    const long *bytes = dlsym(library, name);
    if (!call || !bytes) {
        wrong(s, r->what, "is not in the library");
        return;
    }
    laws_memory m = {NULL, 0};
    laws_array *y = laws_alloc(&m, r->nout + 1u, sizeof *y);
    const void **in = laws_alloc(&m, r->nin + 1u, sizeof *in);
    void **out = laws_alloc(&m, r->nout + 1u, sizeof *out);
    const size_t room = ((size_t)*bytes + 63) / 64 * 64;
    unsigned char *work = aligned_alloc(64, room + 64);
    if (work) memset(work, 0xFF, room + 64);
    for (uint32_t i = 0; i < r->nin; i++) in[i] = r->x[i].data;
    for (uint32_t j = 0; j < r->nout; j++) {
        y[j] = laws_new(&m, &r->y[j].type);
        memset(y[j].data, 0xA5, laws_bytes(&y[j]));
        out[j] = y[j].data;
    }
    int status = work ? call(in, out, work) : -1;
    if (status == 0) status = call(in, out, work);
    for (size_t k = (size_t)*bytes; work && k < room + 64; k++) status |= work[k] != 0xFF;
    if (status)
        wrong(s, r->what, "returns a status, or writes behind the workspace");
    else
        compare(s, r, y);
    free(work);
    laws_memory_drop(&m);
}

static void check_part(session *s, size_t first, size_t end) {
    char from[512], to[512];
    (void)snprintf(from, sizeof from, "%s/part%zu.c", s->dir, first);
    (void)snprintf(to, sizeof to, "%s/part%zu.so", s->dir, first);
    if (!write_files(s, first, end, from) || !compiled(s, first, end, from, to)) {
        wrong(s, from, "does not compile");
        return;
    }
    void *library = dlopen(to, RTLD_NOW);
    if (!library) {
        wrong(s, to, dlerror());
        return;
    }
    for (size_t i = first; i < end; i++) run(s, &s->at[i], i, library);
    (void)dlclose(library);
}

static void check_all(session *s) {
    for (size_t i = 0; i < s->n; i += EACH) check_part(s, i, i + EACH < s->n ? i + EACH : s->n);
}

/* ---- the registry ------------------------------------------------------------------------------------ */

/* What is never written: it has nobody to tell, or exists between transformations only. */
static bool never(int id) { return id == TN_P_print || id == TN_P_progress || id == TN_P_steps; }

static void check_registry(session *s) {
    for (int id = 0; id < TN_NPRIMS; id++)
        if (s->tried[id] && !s->written[id] && !never(id)) wrong(s, tn_i_registry[id]->name, "has no text in C");
}

static void primitives(session *s, const char *only, long n) {
    for (int id = 0; id < TN_NPRIMS; id++) {
        const tn_prim *prim = tn_i_registry[id];
        if (only && strcmp(only, prim->name) != 0) continue;
        for (int d = 0; d < TN_NDTYPES; d++) {
            if (!(prim->dtypes >> d & 1)) continue;
            s->tried[id] = true;
            add_trials(s, prim, d, n);
        }
    }
}

/* ---- examples -------------------------------------------------------------------------------------------- */

static char *contents(laws_memory *m, const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    enum { LONGEST = 1 << 20 };
    char *text = laws_alloc(m, LONGEST, 1);
    *n = file ? fread(text, 1, LONGEST, file) : 0;
    if (file) (void)fclose(file);
    return text;
}

/* As it is, and, in f64, where sums of many products round to nothing, what is derived from it. */
static void add_example(session *s, const char *path) {
    laws_memory m = {NULL, 0};
    size_t n;
    const char *text = contents(&m, path, &n);
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    laws_trial t = {.memory = &m, .ctx = tn_ctx_new(&opt), .rng = {s->seed}};
    t.f = tn_fn_parse(t.ctx, text, n, path);
    if (t.f) {
        laws_array *x = laws_alloc(&m, t.f->nin + 1u, sizeof *x);
        for (uint32_t i = 0; i < t.f->nin; i++) {
            x[i] = laws_new(&m, t.f->val[i].type);
            laws_random(&t.rng, &x[i]);
        }
        t.x = x;
        (void)add(s, path, t.f, t.x);
        const tn_fn *wide = laws_copy_f64(t.f);
        if (wide && !t.f->nlin) {
            t.f = wide;
            t.x = laws_widened_all(&t, x, t.f->nin);
            s->tolerance = 1e-8; /* thousands of products, in another order, through exponentials */
            add_derived(s, &t, path, true);
            s->tolerance = 0;
        }
    }
    tn_ctx_free(t.ctx);
    laws_memory_drop(&m);
}

static void examples(session *s) {
    static const char *const where[] = {"examples/*.tn", "tests/costs/*.tn", "tests/golden/jax/*.tn",
                                        "tests/golden/tool/*.tn"};
    for (size_t k = 0; k < sizeof where / sizeof *where; k++) {
        glob_t found;
        if (glob(where[k], 0, NULL, &found) != 0) {
            wrong(s, where[k], "is not there: the test runs in the project's folder");
            continue;
        }
        for (size_t i = 0; i < found.gl_pathc; i++) add_example(s, found.gl_pathv[i]);
        globfree(&found);
    }
}

/* ---- loops with schedules ----------------------------------------------------------------------------------- */

/* A scan in a scan, both with the schedule. */
typedef struct nested {
    const char *schedule;
    tn_val w;
} nested;

static void inner_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const nested *m = user;
    next[0] = tn_add(tn_mul(0.9, tn_sin(tn_mul(m->w, carry[0]))), tn_mul(0.1, x[0]));
    y[0] = tn_mul(next[0], next[0]);
}

static void outer_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const nested *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    tn_val ys;
    tn_scan(NULL, inner_step, user, 1, carry, 1, x, TN_LENGTH_OF_XS, next, 1, &ys, &o);
    y[0] = tn_sum(ys);
}

/* in: w, y0 [3], xs [7, 5, 3] */
static tn_val nested_loss(const tn_val *in, void *user) {
    nested m = *(const nested *)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m.schedule};
    tn_val y, ys;
    m.w = in[0];
    tn_scan(NULL, outer_step, &m, 1, &in[1], 1, &in[2], TN_LENGTH_OF_XS, &y, 1, &ys, &o);
    return tn_add(tn_sum(ys), tn_sum_squares(y));
}

static void add_loop(session *s, const char *what, const char *schedule, tn_ctx *c, tn_fn *f) {
    char text[160];
    laws_memory m = {NULL, 0};
    laws_trial t = {.memory = &m, .ctx = c, .f = f, .rng = {s->seed}};
    if (f) {
        laws_array *x = laws_alloc(&m, f->nin + 1u, sizeof *x);
        for (uint32_t i = 0; i < f->nin; i++) {
            x[i] = laws_new(&m, f->val[i].type);
            laws_random(&t.rng, &x[i]);
        }
        t.x = x;
        (void)snprintf(text, sizeof text, "%s, %s", what, schedule);
        (void)add(s, text, f, x);
        add_derived(s, &t, text, true);
    } else
        wrong(s, what, tn_error(c));
    laws_memory_drop(&m);
}

static void loops(session *s) {
    bool known;
    const char *schedule;
    for (size_t i = 0; (schedule = tn_i_schedule_example(i, &known)); i++) {
        const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
        tn_ctx *c = tn_ctx_new(&opt);
        burgers ring = {schedule, 13};
        nested inner = {.schedule = schedule};
        lstm cells = {.schedule = schedule, .steps = 6, .batch = 2, .width = 3};
        add_loop(s, "burgers", schedule, c, tn_trace(c, burgers_loss, &ring, 1, TN_TYPES(tn_f64(16))));
        add_loop(s, "nested scans", schedule, c,
                 tn_trace(c, nested_loss, &inner, 3, TN_TYPES(tn_f64(), tn_f64(3), tn_f64(7, 5, 3))));
        add_loop(s, "lstm", schedule, c, lstm_traced(c, &cells));
        tn_ctx_free(c);
    }
}

int main(int argc, char **argv) {
    session *s = calloc(1, sizeof *s);
    char dir[] = "/tmp/tansy-emit-XXXXXX";
    const char *only = NULL, *keep = NULL;
    long n = 1, generated = 24;
    if (!s) return 1;
    s->seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--n") == 0)
            n = strtol(argv[i + 1], NULL, 10), generated = 60 * n;
        else if (strcmp(argv[i], "--seed") == 0)
            s->seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--prim") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--keep") == 0)
            keep = argv[i + 1];
    }
    s->cc = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
    s->verbose = keep != NULL;
    s->dir = keep ? keep : mkdtemp(dir);
    if (!s->dir) return 1;
    if (!only || strcmp(only, "generated") != 0) primitives(s, only, n);
    if (!only) check_registry(s);
    if (!only) examples(s);
    if (!only || strcmp(only, "loops") == 0) loops(s);
    if (!only || strcmp(only, "generated") == 0)
        for (int d = TN_F32; d <= TN_F64; d++) add_trials(s, NULL, d, generated / 2);
    (void)printf("%zu programs, %ld refused, %ld do not run\n", s->n, s->refused, s->skipped);
    check_all(s);
    if (!keep) {
        char command[64];
        (void)snprintf(command, sizeof command, "rm -rf %s", dir);
        (void)system(command);
    }
    for (size_t i = 0; i < s->n; i++) free(s->at[i].text);
    laws_memory_drop(&s->memory);
    (void)printf("%ld passed, %ld failed\n", s->passed, s->failed);
    const int status = s->failed ? 1 : 0;
    free(s);
    return status;
}
