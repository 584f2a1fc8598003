/* Programs written as C compute what compiled ones do: every primitive with its derivatives, generated programs,
 * and the examples.
 *
 * Many programs go into one file, which is compiled once, as strictly as a compiler can be told to, and loaded.
 * usage: emit [--n N] [--seed S] [--share K] [--firsts F] [--turn T] [--part K/N] [--prim NAME] [--keep DIR]
 * With --share all of them are written, and one in K is compiled, besides one in F of the first of each primitive
 * (all of these): others with another T.  --part 2/8: of the primitives, the examples and the other kinds the second,
 * tenth .. */
#include "emit/written.h"
#include "prims/ids.h"

#include "laws/copy64.h"
#include "laws/derive.h"

#include <tansy/emit.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void emit_wrong(emit_session *s, const char *what, const char *why) {
    s->failed++;
    (void)printf("FAILED %s: %s\n", what, why);
}

/* ---- what is written ----------------------------------------------------------------------- */

/* Reasons that docs/emit-c.md lists. */
static bool may_refuse(const char *why) {
    static const char *const reason[] = {"in files (offload) cannot be written as C",
                                         "its schedule takes too many lines to be written as C yet"};
    for (size_t i = 0; i < sizeof reason / sizeof *reason; i++)
        if (strstr(why, reason[i])) return true;
    return false;
}

laws_array *emit_kept(emit_session *s, const laws_array *a, size_t n) {
    laws_array *to = laws_alloc(&s->memory, n + 1, sizeof *to);
    for (size_t i = 0; i < n; i++) to[i] = laws_copy(&s->memory, &a[i]);
    return to;
}

/* A call by a list of addresses; the header stands in front, the source's #include finds an empty file. */
static void add_caller(emit_record *r, const char *source, const char *header, size_t number) {
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

static bool refused(emit_session *s, const tn_fn *f, const emit_record *r) {
    if (f->ctx->status != TN_ERULE || !may_refuse(tn_error(f->ctx))) {
        emit_wrong(s, r->what, tn_error(f->ctx));
        return true;
    }
    /* Those that are generated may hold an `offload` of their own, and samples of it are such. */
    s->refused += !s->generated && !strstr(r->what, ": offload ");
    if (s->verbose) (void)printf("refused %s: %s\n", r->what, tn_error(f->ctx));
    return true;
}

static bool write_case(emit_session *s, const tn_fn *f, emit_record *r) {
    char name[32], *source, *header;
    (void)snprintf(name, sizeof name, "case_%zu", s->n);
    const tn_emit_c_options o = {
        .size = sizeof o, .name = name, .header = "empty.h", .cblas = r->cblas, .capacity = s->capacity};
    if (tn_emit_c(f, &o, &source, &header) != TN_OK) return !refused(s, f, r);
    const bool wanted = !r->cblas || strstr(source, "cblas_");
    s->effects += strstr(header, "tansy_p") != NULL;
    if (wanted) add_caller(r, source, header, s->n);
    tn_text_free(f->ctx, source);
    tn_text_free(f->ctx, header);
    return wanted;
}

static bool has_unknown(const tn_fn *f) {
    bool some = false;
    for (uint32_t i = 0; i < f->nin; i++) some |= tn_i_has_steps(f->val[i].type);
    for (uint32_t j = 0; j < f->nout; j++) some |= tn_i_has_steps(f->val[f->out[j]].type);
    return some;
}

static bool interpreted(const tn_fn *f, const laws_array *x, laws_memory *m, laws_array *y, emit_told *told,
                        const char **why) {
    const void *in[512];
    void *out[512];
    const tn_compile_options o = {.size = sizeof o, .spill_dir = "/tmp", .observer = emit_hear, .observer_user = told};
    tn_exec *e = f->nin < 512 && f->nout < 512 ? tn_compile(f, &o) : NULL;
    *why = e ? "" : tn_error(f->ctx);
    for (uint32_t i = 0; e && i < f->nin; i++) in[i] = x[i].data;
    for (uint32_t j = 0; e && j < f->nout; j++) {
        y[j] = laws_new(m, f->val[f->out[j]].type);
        out[j] = y[j].data;
    }
    const bool ok = e && tn_call(e, in, out) == TN_OK;
    if (e && !ok) *why = "the call fails";
    tn_exec_free(e);
    return ok;
}

/* Its arrays would be those of another program's loops: it is only compiled. */
static bool add_unknown(emit_session *s, const char *what, const tn_fn *f) {
    char name[32], *source, *header;
    emit_record *r = &s->at[s->n];
    *r = (emit_record){.unrun = true};
    (void)snprintf(r->what, sizeof r->what, "case_%zu: %s", s->n, what);
    (void)snprintf(name, sizeof name, "case_%zu", s->n);
    const tn_emit_c_options o = {.size = sizeof o, .name = name, .header = "empty.h", .capacity = s->capacity};
    if (tn_emit_c(f, &o, &source, &header) != TN_OK) return !refused(s, f, r);
    r->text = malloc(strlen(source) + strlen(header) + 1);
    if (!r->text) abort();
    (void)strcat(strcpy(r->text, header), source);
    tn_text_free(f->ctx, source);
    tn_text_free(f->ctx, header);
    s->unknown++;
    s->n++;
    return true;
}

/* Again with calls of BLAS, if it has products that are. */
static void add_products(emit_session *s, const tn_fn *f) {
    const emit_record plain = s->at[s->n - 1];
    emit_record *r = &s->at[s->n];
    if (s->n == EMIT_MOST) return;
    *r = plain;
    r->text = NULL;
    r->cblas = true;
    (void)snprintf(r->what, sizeof r->what, "case_%zu: with BLAS, %.120s", s->n, plain.what);
    if (!write_case(s, f, r)) return;
    s->products++;
    s->n++;
}

bool emit_runs(emit_session *s, const tn_fn *f, const laws_array *x, emit_record *r) {
    const char *why;
    tn_cost_report cost = {.size = sizeof cost};
    r->y = laws_alloc(&s->memory, f->nout + 1u, sizeof *r->y);
    if (tn_cost(f, &cost) == TN_OK) r->work = cost.flops + cost.products;
    if (interpreted(f, x, &s->memory, r->y, &r->told, &why)) return true;
    s->skipped++;
    if (s->verbose) (void)printf("does not run: %s: %s\n", r->what, why);
    return false;
}

/* The library's functions of vectors are at most 4 ulp off, and C's no more. */
static double by_functions(const tn_fn *f, const tn_i_eqn *e) {
    const int dtype = e->nout ? f->val[e->out].type->dtype : TN_BOOL;
    return e->prim->vector[dtype] ? 4 : 0;
}

/* Of floats of few digits, where functions are near their bounds and their derivatives 1 - tanh(x) or alike. */
static void look_at_errors(emit_session *s, const tn_fn *f, const laws_array *x, emit_record *r) {
    if (!s->generated || f->effect || !laws_holds_f32(f)) return;
    laws_trial t = {.memory = &s->memory, .ctx = f->ctx};
    r->slack = laws_amounts(&t, f, x, by_functions);
}

bool emit_add(emit_session *s, const char *what, const tn_fn *f, const laws_array *x) {
    if (!f || s->n == EMIT_MOST || f->nout > 500) return false;
    if (has_unknown(f)) return add_unknown(s, what, f);
    emit_record *r = &s->at[s->n];
    *r = (emit_record){.nin = f->nin,
                       .nout = f->nout,
                       .tolerance = s->tolerance > 0 ? s->tolerance : laws_rounding(f),
                       .status = s->status};
    (void)snprintf(r->what, sizeof r->what, "case_%zu: %s", s->n, what);
    if (!emit_runs(s, f, x, r) || !write_case(s, f, r)) {
        emit_told_free(&r->told);
        return false;
    }
    r->x = emit_kept(s, x, f->nin);
    look_at_errors(s, f, x, r);
    s->n++;
    if (!s->status) add_products(s, f);
    return true;
}

void emit_add_derived(emit_session *s, laws_trial *t, const char *what, bool second) {
    char text[200];
    laws_wrt w;
    if (laws_wrt_all(t->f, &w)->n == 0 || laws_float_outputs(t->f) == 0) return;
    uint32_t n;
    const laws_array *v = laws_tangents(t, t->x, &w.list), *ct = laws_cotangents(t, t->f, &n);
    const tn_fn *g = tn_jvp(t->f, &w.list), *h = tn_vjp(t->f, &w.list, NULL);
    (void)snprintf(text, sizeof text, "jvp of %s", what);
    if (g) (void)emit_add(s, text, g, laws_joined(t, t->x, t->f->nin, v, w.list.n));
    (void)snprintf(text, sizeof text, "vjp of %s", what);
    const laws_array *x = laws_joined(t, t->x, t->f->nin, ct, n);
    if (h) (void)emit_add(s, text, h, x);
    if (!h || !second) return;
    laws_wrt all;
    if (laws_wrt_all(h, &all)->n == 0 || laws_float_outputs(h) == 0) return;
    const tn_fn *hvp = tn_jvp(h, &all.list);
    (void)snprintf(text, sizeof text, "hvp of %s", what);
    if (hvp) (void)emit_add(s, text, hvp, laws_joined(t, x, h->nin, laws_tangents(t, x, &all.list), all.list.n));
}

static void add_trials(emit_session *s, const tn_prim *prim, int dtype, long n) {
    const laws_options o = {.n = n, .seed = s->seed, .registry = tn_i_registry};
    laws_memory memory = {NULL, 0};
    char what[120];
    for (long k = 0; k < n; k++) {
        laws_trial t = {.memory = &memory};
        if (laws_trial_init(&t, &o, prim, dtype, s->seed + (uint64_t)k, 0)) {
            t.rng = (tn_i_rng){s->seed + (uint64_t)k};
            (void)snprintf(what, sizeof what, "%s %s seed %lld", prim ? prim->name : "generated",
                           tn_i_dtype_name(dtype), (long long)s->seed + k);
            const size_t at = s->n;
            const bool written = emit_add(s, what, t.f, t.x);
            if (prim && written && !s->written[prim->id]) s->at[at].first = true;
            if (prim) s->written[prim->id] |= written;
            if (!prim || (k % 2 == 0 && dtype == TN_F64)) {
                emit_add_derived(s, &t, what, !prim && k % 3 == 0);
                emit_add_halves(s, &t, what, false);
            }
        }
        laws_trial_free(&t);
    }
    laws_memory_drop(&memory);
}

/* ---- the registry ------------------------------------------------------------------------------------ */

/* Its operand is an array that only loops make: it has no case. */
static bool never(int id) { return id == TN_P_steps; }

static void check_registry(emit_session *s) {
    for (int id = 0; id < TN_NPRIMS; id++)
        if (s->tried[id] && !s->written[id] && !never(id)) emit_wrong(s, tn_i_registry[id]->name, "has no text in C");
}

static void primitives(emit_session *s, const char *only, long n) {
    for (int id = 0; id < TN_NPRIMS; id++) {
        const tn_prim *prim = tn_i_registry[id];
        if (!emit_in_part(s, (size_t)id)) continue;
        if ((only && strcmp(only, prim->name) != 0) || laws_of_ranks(prim) || laws_by_lapack(prim)) continue;
        for (int d = 0; d < TN_NDTYPES; d++) {
            if (!(prim->dtypes >> d & 1)) continue;
            s->tried[id] = true;
            add_trials(s, prim, d, prim->effect ? 3 * n : n);
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
static void add_example(emit_session *s, const char *path) {
    laws_memory m = {NULL, 0};
    size_t n;
    const char *text = contents(&m, path, &n);
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    laws_trial t = {.memory = &m, .ctx = tn_ctx_new(&opt), .rng = {s->seed}};
    t.f = tn_fn_parse(t.ctx, text, n, path);
    if (t.f && t.ctx->grid.naxes) { /* refused by name: unit/communications */
        char *source = NULL, *header = NULL;
        if (tn_emit_c(t.f, NULL, &source, &header) != TN_ERULE)
            emit_wrong(s, path, "is of many ranks, and not refused");
        s->passed++;
        tn_text_free(t.ctx, source);
        tn_text_free(t.ctx, header);
    } else if (t.f) {
        laws_array *x = laws_alloc(&m, t.f->nin + 1u, sizeof *x);
        for (uint32_t i = 0; i < t.f->nin; i++) {
            x[i] = laws_new(&m, t.f->val[i].type);
            laws_random(&t.rng, &x[i]);
        }
        t.x = x;
        (void)emit_add(s, path, t.f, t.x);
        const tn_fn *wide = laws_copy_f64(t.f);
        if (wide && !t.f->nlin) {
            t.f = wide;
            t.x = laws_widened_all(&t, x, t.f->nin);
            s->tolerance = 1e-8; /* thousands of products, in another order, through exponentials */
            emit_add_derived(s, &t, path, true);
            s->tolerance = 0;
        }
    }
    tn_ctx_free(t.ctx);
    laws_memory_drop(&m);
}

static void examples(emit_session *s) {
    static const char *const where[] = {"examples/*.tn", "tests/costs/*.tn", "tests/golden/jax/*.tn",
                                        "tests/golden/tool/*.tn"};
    for (size_t k = 0; k < sizeof where / sizeof *where; k++) {
        glob_t found;
        if (glob(where[k], 0, NULL, &found) != 0) {
            emit_wrong(s, where[k], "is not there: the test runs in the project's folder");
            continue;
        }
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (emit_in_part(s, i)) add_example(s, found.gl_pathv[i]);
        globfree(&found);
    }
}

/* ---- the examples that are programs of C ---------------------------------------------------------------- */

/* Program `path`, NUMBER.tn, with the operands that it was called with, in NUMBER.in. */
static bool add_recorded(emit_session *s, const char *name, const char *path) {
    laws_memory m = {NULL, 0};
    char operands[600], what[160];
    size_t n;
    const char *text = contents(&m, path, &n), *base = strrchr(path, '/');
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    tn_ctx *c = tn_ctx_new(&opt);
    tn_fn *f = tn_fn_parse(c, text, n, path);
    (void)snprintf(operands, sizeof operands, "%.*s.in", (int)strlen(path) - 3, path);
    (void)snprintf(what, sizeof what, "%.100s%.40s", name, base);
    FILE *file = fopen(operands, "rb");
    bool ok = f && file;
    laws_array *x = laws_alloc(&m, f ? f->nin + 1u : 1, sizeof *x);
    for (uint32_t i = 0; ok && i < f->nin; i++) {
        x[i] = laws_new(&m, f->val[i].type);
        ok = fread(x[i].data, 1, laws_bytes(&x[i]), file) == laws_bytes(&x[i]);
    }
    if (file) (void)fclose(file);
    s->tolerance = 1e-6; /* thousands of steps, whose size depends on rounding */
    if (ok)
        (void)emit_add(s, what, f, x);
    else
        emit_wrong(s, what, "is not read");
    s->tolerance = 0;
    tn_ctx_free(c);
    laws_memory_drop(&m);
    return ok;
}

/* Runs an example, and adds what it compiled and called. */
static size_t add_program(emit_session *s, const char *path) {
    const char *name = strrchr(path, '/') + 1;
    char dir[600], command[1600];
    size_t n = 0;
    glob_t found;
    (void)snprintf(dir, sizeof dir, "%s/%s", s->dir, name);
    /* The demo would go through all its epochs with calls that do nothing. */
    (void)snprintf(command, sizeof command, "mkdir -p %s && TANSY_RECORD=%s timeout 60 %s%s >/dev/null 2>&1", dir, dir,
                   path, strcmp(name, "demo") == 0 ? " --epochs 1" : "");
    (void)system(command); /* fails: most of its calls do nothing */
    (void)snprintf(command, sizeof command, "%s/*.tn", dir);
    if (glob(command, 0, NULL, &found) != 0) {
        emit_wrong(s, name, "compiles no program, or calls none");
        return 0;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) n += add_recorded(s, name, found.gl_pathv[i]);
    globfree(&found);
    return n;
}

/* Beside this program are those that tests/record_calls.c is linked into. */
static void recorded(emit_session *s, const char *self) {
    const char *base = strrchr(self, '/');
    char pattern[600];
    size_t n = 0;
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%.*srecorded/*", base ? (int)(base + 1 - self) : 0, self);
    if (glob(pattern, 0, NULL, &found) != 0) {
        emit_wrong(s, pattern, "is not there");
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) { /* beside them is what they write */
        struct stat is;
        if (stat(found.gl_pathv[i], &is) != 0 || !S_ISREG(is.st_mode) || !emit_in_part(s, i)) continue;
        n += add_program(s, found.gl_pathv[i]);
    }
    globfree(&found);
    (void)printf("%zu programs of examples\n", n);
    if (n < 15 && s->parts < 2) emit_wrong(s, pattern, "has fewer programs than there were");
}

/* What is known to be refused, and how many programs there are at least: none is left out unseen. */
static void check_counts(emit_session *s) {
    if (s->refused != 3) emit_wrong(s, "refused", "other programs than the derivatives of one with slots on disk");
    if (s->skipped) emit_wrong(s, "do not run", "some programs");
    if (s->n < 1000 || s->products < 60 || s->effects < 100 || s->halves < 180)
        emit_wrong(s, "programs", "are fewer than there were");
}

/* Whether kind `at` of programs is asked for, by name or all of them, and is in the part. */
static bool asked(const emit_session *s, const char *only, const char *name, size_t at) {
    return (!only || strcmp(only, name) == 0) && emit_in_part(s, at);
}

int main(int argc, char **argv) {
    emit_session *s = calloc(1, sizeof *s);
    char dir[] = "/tmp/tansy-emit-XXXXXX";
    const char *only = NULL, *keep = NULL;
    long n = 1, generated = 24;
    if (!s) return 1;
    s->seed = s->firsts = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--n") == 0)
            n = strtol(argv[i + 1], NULL, 10), generated = 60 * n;
        else if (strcmp(argv[i], "--seed") == 0)
            s->seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--share") == 0)
            s->share = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--firsts") == 0)
            s->firsts = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--turn") == 0)
            s->turn = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--part") == 0) {
            char *over;
            s->part = strtoul(argv[i + 1], &over, 10);
            s->parts = *over == '/' ? strtoul(over + 1, NULL, 10) : 0;
        } else if (strcmp(argv[i], "--prim") == 0)
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
    if (!only || strcmp(only, "examples") == 0) recorded(s, argv[0]);
    if (asked(s, only, "loops", 0)) emit_loops(s);
    if (asked(s, only, "halves", 1)) emit_halves(s);
    if (asked(s, only, "lengths", 2)) emit_lengths(s);
    if (asked(s, only, "row_blocks", 3)) emit_row_blocks(s);
    if (asked(s, only, "sizes", 4)) emit_sizes(s);
    if (asked(s, only, "schedules", 5)) emit_schedules(s);
    s->generated = true;
    if (asked(s, only, "generated", 6))
        for (int d = TN_F32; d <= TN_F64; d++) add_trials(s, NULL, d, generated / 2);
    (void)printf("%zu programs, %ld refused, %ld do not run\n", s->n, s->refused, s->skipped);
    if (s->share > 1)
        (void)printf("one in %zu is compiled and run, and one in %zu of the first of each primitive: turn %zu\n",
                     s->share, s->firsts, s->turn);
    (void)printf("%ld with BLAS, %ld print, %ld are halves of derivatives, %ld have other arrays of unknown length\n",
                 s->products, s->effects, s->halves, s->unknown);
    if (!only && n == 1 && s->seed == 1 && s->parts < 2) check_counts(s);
    if (s->n) s->passed++; /* all of them are written, also where no one's turn has come to be compiled */
    emit_check(s);
    if (!keep) {
        char command[64];
        (void)snprintf(command, sizeof command, "rm -rf %s", dir);
        (void)system(command);
    }
    for (size_t i = 0; i < s->n; i++) {
        free(s->at[i].text);
        if (!s->at[i].cblas) emit_told_free(&s->at[i].told);
    }
    laws_memory_drop(&s->memory);
    (void)printf("%ld passed, %ld failed\n", s->passed, s->failed);
    const int status = s->failed ? 1 : 0;
    free(s);
    return status;
}
