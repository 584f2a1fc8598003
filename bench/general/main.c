/* What do programs cost that no table was made for?  A line of JSON for each: time by the default back end, as C of the
 * system's compiler, and as the C that tn_emit_c writes, beside C by hand; then the ratios.  Arguments: --check [TURN]
 * compares results with the C, on all back ends and without a clock, and asks who runs each loop (with TURN one program
 * in TURNS, other ones each turn, is compiled by the system's compiler as well); --print NAME [K] prints a program, of
 * its size K, for `tansy plan` and `tansy lower`; else names of programs, all without any. */
#include "general.h"

#include "../measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, RUNS = 9, BACKENDS = 3, TURNS = 8 };
static const double SLICE = 4e-3;                                                  /* seconds of one measurement */
static const int BACKEND[BACKENDS] = {0, TN_BACKEND_NATIVE, TN_BACKEND_REFERENCE}; /* the last one is not measured */
static const char *const BACKEND_NAME[BACKENDS] = {"default", "native", "reference"};

typedef struct bench {
    tn_ctx *c;
    const program *p;
    const int64_t *n;
    tn_dtype dtype;
    tn_fn *f;
    void *in[MOST], *out[MOST], *want[MOST];
    general_by_hand *by_hand;
} bench;

static int failures, failed, over;
static bool compiles = true; /* the program at hand by the system's compiler as well */

static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) {
        fprintf(stderr, "general: out of memory\n");
        exit(1);
    }
    memset(p, 0, (bytes + 127) / 64 * 64);
    return p;
}

static int64_t count(tn_type t) {
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++) n *= t.dim[i];
    return n;
}

static double uniform(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

static void *filled(const program *p, tn_type t, uint64_t seed) {
    const int64_t n = count(t);
    void *x = room(tn_type_bytes(&t));
    uint64_t s = 88172645463325252u + seed;
    for (int64_t i = 0; i < n; i++) {
        const double u = uniform(&s), v = p->lo + u * (p->hi - p->lo);
        if (t.dtype == TN_F64) ((double *)x)[i] = v;
        if (t.dtype == TN_F32) ((float *)x)[i] = (float)v;
        if (t.dtype == TN_I32) ((int32_t *)x)[i] = (int32_t)(u * (double)p->below);
        if (t.dtype == TN_I64) ((int64_t *)x)[i] = (int64_t)(u * (double)p->below);
    }
    return x;
}

static double number(int dtype, const void *x, int64_t i) {
    switch (dtype) {
    case TN_F64: return ((const double *)x)[i];
    case TN_F32: return (double)((const float *)x)[i];
    case TN_I64: return (double)((const int64_t *)x)[i];
    case TN_I32: return (double)((const int32_t *)x)[i];
    default: return ((const uint8_t *)x)[i];
    }
}

/* The largest difference, in parts of the largest entry; integers and bools are the same or not. */
static double distance(tn_type t, const void *x, const void *y) {
    const bool exact = t.dtype != TN_F64 && t.dtype != TN_F32;
    double most = 0, far = 0;
    for (int64_t i = 0; i < count(t); i++) {
        const double a = number(t.dtype, x, i), b = number(t.dtype, y, i);
        if (!(fabs(a - b) <= far)) far = isnan(a - b) ? HUGE_VAL : fabs(a - b);
        if (fabs(b) > most) most = fabs(b);
    }
    return exact ? (far > 0 ? HUGE_VAL : 0) : most > 0 ? far / most : far;
}

static bool close_enough(const bench *b, const char *backend) {
    const program *p = b->p;
    const double tolerance = b->dtype == TN_F64 ? (p->tolerance64 > 0 ? p->tolerance64 : 1e-9)
                                                : (p->tolerance32 > 0 ? p->tolerance32 : 1e-3);
    bool ok = true;
    for (size_t j = 0; j < tn_fn_outputs(b->f); j++) {
        const double far = distance(tn_fn_output_type(b->f, j), b->out[j], b->want[j]);
        if (far <= tolerance) continue;
        printf("%s, %s: output %zu is %.3g from that of the C\n", p->name, backend, j, far);
        ok = false;
    }
    return ok;
}

/* ---- time ----------------------------------------------------------------------------------------------------------
 */

typedef struct side {
    const char *name;
    tn_exec *e;
    emitted *emitted; /* neither: the C by hand */
    double seconds[RUNS];
    long times;
} side;

static void once(const bench *b, const side *s) {
    if (s->emitted) {
        failures += s->emitted->run((const void *const *)b->in, b->out, s->emitted->work) != 0;
    } else if (!s->e)
        b->by_hand(b->n, (const void *const *)b->in, b->want);
    else if (tn_call(s->e, (const void *const *)b->in, b->out) != TN_OK) {
        printf("%s, %s: %s\n", b->p->name, s->name, tn_error(b->c));
        failures++;
    }
}

static double clocked(const bench *b, const side *s) {
    const double start = now();
    for (long k = 0; k < s->times; k++) once(b, s);
    return (now() - start) / (double)s->times;
}

static void measure(const bench *b, side *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        s[i].times = 1;
        const double t = clocked(b, &s[i]);
        s[i].times = t < SLICE ? (long)(SLICE / (t + 1e-9)) + 1 : 1;
    }
    for (int r = 0; r < RUNS; r++)
        for (size_t i = 0; i < n; i++) s[i].seconds[r] = clocked(b, &s[i]);
}

static void report(const bench *b, side *s, size_t n) {
    const double c = median(s[0].seconds, RUNS);
    printf("{\"program\": \"%s\", \"dtype\": \"%s\", \"n\": [%lld, %lld, %lld], \"c_us\": %.3f", b->p->name,
           b->dtype == TN_F64 ? "f64" : "f32", (long long)b->n[0], (long long)b->n[1], (long long)b->n[2], 1e6 * c);
    for (size_t i = 1; i < n; i++) {
        const double t = median(s[i].seconds, RUNS);
        printf(", \"%s_us\": %.3f, \"%s_ratio\": %.2f", s[i].name, 1e6 * t, s[i].name, t / c);
        if (i == 1 && t > 1.5 * c) over++;
    }
    printf("}\n");
    (void)fflush(stdout);
}

/* ---- one program
 * ----------------------------------------------------------------------------------------------------- */

static void clear(const bench *b) {
    for (size_t j = 0; j < tn_fn_outputs(b->f); j++) {
        const tn_type t = tn_fn_output_type(b->f, j);
        memset(b->out[j], 0xFF, tn_type_bytes(&t));
    }
}

/* False: it is left out. */
static bool add_emitted(bench *b, side *s, emitted *e) {
    *s = (side){.name = "emitted", .emitted = e};
    if (general_emit(b->f, e)) {
        clear(b);
        once(b, s);
        failures += !close_enough(b, s->name);
        return true;
    }
    printf("%s, emitted: %s\n", b->p->name, e->library ? "it has no function" : tn_error(b->c));
    failures++;
    return false;
}

static void run_sides(bench *b, bool check) {
    side s[2 + BACKENDS] = {{.name = "c"}};
    emitted e = {.library = NULL};
    size_t n = 1;
    once(b, &s[0]);
    for (int k = 0; k < BACKENDS - !check; k++) {
        const tn_compile_options o = {.size = sizeof o, .backend = BACKEND[k]};
        if (BACKEND[k] == TN_BACKEND_NATIVE && !compiles) continue;
        s[n] = (side){.name = BACKEND_NAME[k], .e = tn_compile(b->f, &o)};
        if (!s[n].e) {
            printf("%s, %s: %s\n", b->p->name, s[n].name, tn_error(b->c));
            failures++;
            continue;
        }
        clear(b);
        once(b, &s[n]);
        failures += !close_enough(b, s[n].name);
        n++;
    }
    if (!check) n += add_emitted(b, &s[n], &e); /* tests/emit compares */
    if (!check) {
        measure(b, s, n);
        report(b, s, n);
    }
    for (size_t i = 1; i < n; i++) tn_exec_free(s[i].e);
    general_emit_free(&e);
}

static void say_why(void *user, const tn_step *step) {
    const bench *b = user;
    if (!*step->why) return;
    printf("%s of %lld, %s: line %d runs by %s: %s\n", b->p->name, (long long)b->n[0],
           b->dtype == TN_F64 ? "f64" : "f32", step->line, step->runner, step->why);
    failures++;
}

/* Where there is machine code it runs all loops, of every size. */
static void without_exception(const program *p, const int64_t *n, tn_dtype dtype) {
    bench b = {.c = tn_ctx_new(NULL), .p = p, .n = n, .dtype = dtype};
    tn_exec *e = (b.f = p->make(b.c, dtype, n)) ? tn_compile(b.f, NULL) : NULL;
    if (!e || tn_exec_steps(e, say_why, &b) != TN_OK) {
        printf("%s: %s\n", p->name, tn_error(b.c));
        failures++;
    }
    tn_exec_free(e);
    tn_ctx_free(b.c);
}

static void run(const program *p, const int64_t *n, tn_dtype dtype, bool check) {
    bench b = {.c = tn_ctx_new(NULL), .p = p, .n = n, .dtype = dtype, .by_hand = dtype == TN_F64 ? p->c64 : p->c32};
    b.f = b.by_hand ? p->make(b.c, dtype, n) : NULL;
    if (!b.f && b.by_hand) {
        printf("%s: %s\n", p->name, tn_error(b.c));
        failures++;
    }
    if (b.f) {
        const size_t nin = tn_fn_inputs(b.f), nout = tn_fn_outputs(b.f);
        for (size_t i = 0; i < nin; i++) b.in[i] = filled(p, tn_fn_input_type(b.f, i), i);
        for (size_t j = 0; j < nout; j++) {
            const tn_type t = tn_fn_output_type(b.f, j);
            b.out[j] = room(tn_type_bytes(&t));
            b.want[j] = room(tn_type_bytes(&t));
        }
        run_sides(&b, check);
    }
    for (int i = 0; i < MOST; i++) free(b.in[i]), free(b.out[i]), free(b.want[i]);
    tn_ctx_free(b.c);
}

/* Without a clock the smallest size will do, but for who runs it. */
static void run_all(const program *p, bool check) {
    const int before = failures;
    int smallest = 0;
    for (int k = 1; k < 4 && p->size[k][0]; k++)
        if (p->size[k][0] < p->size[smallest][0]) smallest = k;
    for (int k = 0; k < 4 && p->size[k][0]; k++)
        for (int i = 0; i < 2; i++) {
            const tn_dtype dtype = i ? TN_F32 : TN_F64;
            if (!(dtype == TN_F64 ? p->c64 : p->c32)) continue;
            if (!check || k == smallest) run(p, p->size[k], dtype, check);
            if (check) without_exception(p, p->size[k], dtype);
        }
    failed += failures > before;
}

tn_fn *general_trace(tn_ctx *c, tn_trace_fn f, const void *user, tn_dtype dtype, size_t n, const tn_type *t) {
    tn_type in[MOST];
    for (size_t i = 0; i < n; i++) {
        in[i] = t[i];
        if (t[i].dtype == TN_F64) in[i].dtype = (int32_t)dtype;
    }
    return tn_trace(c, f, (void *)(uintptr_t)user, n, in);
}

static void print(const program *p, int k) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = p->make(c, TN_F64, p->size[k]);
    char *text = f ? tn_fn_print(f, NULL) : NULL;
    printf("%s\n", text ? text : tn_error(c));
    tn_text_free(c, text);
    tn_ctx_free(c);
}

int main(int argc, char **argv) {
    static const programs *const all[] = {&general_arrays, &general_moves, &general_loops, &general_scalars,
                                          &general_models};
    const bool check = argc > 1 && !strcmp(argv[1], "--check"), prints = argc > 2 && !strcmp(argv[1], "--print");
    const int size = prints && argc > 3 ? atoi(argv[3]) & 3 : 0;
    const unsigned long turn = check && argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    char cpu[128];
    cpu_model(cpu, sizeof cpu);
    if (!check && !prints) printf("{\"cpu\": \"%s\"}\n", cpu);
    size_t run_in_all = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (size_t i = 0; i < all[k]->n; i++) {
            bool wanted = check || argc < 2;
            for (int a = 1; a < argc; a++) wanted |= !strcmp(argv[a], all[k]->program[i].name);
            if (wanted && prints)
                print(&all[k]->program[i], size);
            else if (wanted) {
                compiles = !(check && argc > 2) || (run_in_all + turn) % TURNS == 0;
                run_all(&all[k]->program[i], check);
            }
            run_in_all += wanted;
        }
    if (check)
        printf("%zu passed, %d failed\n", run_in_all - (size_t)failed, failed);
    else if (!prints)
        printf("{\"over_1.5_of_c\": %d, \"failures\": %d}\n", over, failures);
    return failures != 0;
}
