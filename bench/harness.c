#define _GNU_SOURCE
#include "harness.h"
#include "c/by_hand.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

enum { SAMPLES = 7, MOST_CASES = 512, MOST_ARRAYS = 32, MOST_BLOCKS = 256, SIDES = 5 };
static const double SAMPLE_SECONDS = 0.02;
static const size_t HUGE_PAGE = (size_t)2 << 20, HUGE_FROM = (size_t)4 << 20;

/* What takes turns: the two C functions, then the backends. */
enum { BY_HAND, OTHER, FIRST_BACKEND };
static const char *const BACKEND[] = {"default", "native", "reference"};

typedef struct row {
    char workload[32], variant[40], other[16];
    long n;
    tn_dtype dtype;
    double median[SIDES]; /* NaN: not measured */
    double error;
    size_t bytes;
    double bar, default_bar, limit, default_limit;
} row;

struct bench {
    tn_ctx *ctx;
    const char *only, *data;
    bool quick, reference;
    int passed, failures;
    size_t rows, blocks;
    row row[MOST_CASES];
    void *block[MOST_BLOCKS];
};

/* ---- what workloads ask ------------------------------------------------------------------------------------- */

bool bench_wants(const bench *b, const char *workload) {
    const size_t n = strlen(workload);
    for (const char *at = b->only; at;) {
        if (strncmp(at, workload, n) == 0 && (at[n] == '\0' || at[n] == ',')) return true;
        at = strchr(at, ',');
        if (at) at++;
    }
    return !b->only;
}

bool bench_quick(const bench *b) { return b->quick; }

tn_ctx *bench_ctx(const bench *b) { return b->ctx; }

const char *bench_data(const bench *b) { return b->data; }

/* Large blocks in huge pages, as the peers' arrays are (NumPy asks for them). */
void *bench_memory(bench *b, size_t bytes) {
    const size_t align = bytes >= HUGE_FROM ? HUGE_PAGE : 64, room = (bytes + align) / align * align;
    void *p = b->blocks < MOST_BLOCKS ? aligned_alloc(align, room) : NULL;
    if (!p) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
#ifdef MADV_HUGEPAGE
    if (align == HUGE_PAGE) (void)madvise(p, room, MADV_HUGEPAGE);
#endif
    memset(p, 0, room);
    b->block[b->blocks++] = p;
    return p;
}

/* Steele, Lea and Flood's splitmix64. */
static double next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

void bench_fill_f64(double *x, size_t n, double lo, double hi, uint64_t seed) {
    for (size_t i = 0; i < n; i++) x[i] = lo + (hi - lo) * next(&seed);
}

void bench_fill_f32(float *x, size_t n, double lo, double hi, uint64_t seed) {
    for (size_t i = 0; i < n; i++) x[i] = (float)(lo + (hi - lo) * next(&seed));
}

void bench_failed(bench *b, const char *workload, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", workload, why);
    b->failures++;
}

/* ---- one side ------------------------------------------------------------------------------------------------- */

typedef struct side {
    const char *name; /* NULL: there is none */
    void (*c)(void *data);
    tn_exec *exec;
    void *out[MOST_ARRAYS];
    long repeat;
    double sample[SAMPLES];
} side;

static const char *const DTYPE[] = {"bool", "i32", "i64", "f32", "f64"};

/* Processor time: other work on the machine is not in it. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool run(const side *s, const bench_case *c, long times) {
    if (s->c)
        for (long i = 0; i < times; i++) s->c(c->data);
    else
        for (long i = 0; i < times; i++)
            if (tn_call(s->exec, c->in, s->out) != TN_OK) return false;
    return true;
}

static double timed(const side *s, const bench_case *c, long times) {
    const double start = now();
    return run(s, c, times) ? (now() - start) / (double)times : NAN;
}

/* NULL: that backend is not there. */
static tn_exec *compile(const bench_case *c, int backend) {
    tn_compile_options o = {.size = sizeof o, .spill_dir = c->spill_dir, .flush_subnormals = c->flush};
#ifdef BENCH_BACKENDS
    static const int KIND[] = {0, TN_BACKEND_NATIVE, TN_BACKEND_REFERENCE}; /* 0: the default, whatever its name */
    o.backend = KIND[backend];
#else
    if (backend) return NULL;
#endif
    tn_exec *e = tn_compile(c->fn, &o);
#ifdef BENCH_NATIVE
    if (backend == 1 && e && tn_exec_backend(e, NULL) != TN_BACKEND_NATIVE) {
        tn_exec_free(e);
        e = NULL;
    }
#elif defined(BENCH_BACKENDS)
    if (backend == 1) {
        tn_exec_free(e);
        e = NULL;
    }
#endif
    return e;
}

/* The sides that there are; false when the first backend is not among them. */
static bool open_sides(bench *b, const bench_case *c, side *s) {
    memset(s, 0, SIDES * sizeof *s);
    if (c->c) s[BY_HAND] = (side){.name = "c", .c = c->c};
    if (c->other) s[OTHER] = (side){.name = c->other_name, .c = c->other};
    for (int k = 0; k < SIDES - FIRST_BACKEND; k++) {
        side *t = &s[FIRST_BACKEND + k];
        if (k == 2 && !b->reference) continue;
        if (!(t->exec = compile(c, k))) continue;
        t->name = BACKEND[k];
        for (size_t j = 0; j < tn_fn_outputs(c->fn); j++) {
            const tn_type type = tn_fn_output_type(c->fn, j);
            t->out[j] = bench_memory(b, tn_type_bytes(&type));
        }
    }
    return s[FIRST_BACKEND].name != NULL;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static double at(const void *p, tn_dtype dtype, size_t i) {
    return dtype == TN_F64   ? ((const double *)p)[i]
           : dtype == TN_F32 ? (double)((const float *)p)[i]
           : dtype == TN_I64 ? (double)((const int64_t *)p)[i]
           : dtype == TN_I32 ? (double)((const int32_t *)p)[i]
                             : (double)((const uint8_t *)p)[i];
}

/* The largest difference over the largest entry; infinite where one is not a number. */
static double distance(const void *a, const void *b, tn_type t) {
    double worst = 0, scale = 0;
    const size_t n = tn_type_elements(&t);
    for (size_t i = 0; i < n; i++) {
        const double x = at(a, (tn_dtype)t.dtype, i), y = at(b, (tn_dtype)t.dtype, i);
        if (!(fabs(x - y) <= worst)) worst = isfinite(x - y) ? fabs(x - y) : HUGE_VAL;
        scale = fmax(scale, fabs(y));
    }
    return worst == 0 ? 0 : worst / scale;
}

/* Every backend's outputs with what C has just written to want. */
static bool agree(bench *b, const bench_case *c, const side *s, double *error) {
    char why[160];
    if (!c->want) return true;
    for (int k = FIRST_BACKEND; k < SIDES; k++)
        for (size_t j = 0; s[k].name && j < tn_fn_outputs(c->fn); j++) {
            if (!c->want[j]) continue;
            const double d = distance(s[k].out[j], c->want[j], tn_fn_output_type(c->fn, j));
            *error = fmax(*error, d);
            if (d <= c->tolerance) continue;
            (void)snprintf(why, sizeof why, "%s n=%ld %s, output %zu: %s and C differ by %.2e, more than %.0e",
                           c->variant, c->n, DTYPE[c->dtype], j, s[k].name, d, c->tolerance);
            bench_failed(b, c->workload, why);
            return false;
        }
    return true;
}

static bool check(bench *b, const bench_case *c, const side *s, double *error) {
    for (int k = FIRST_BACKEND; k < SIDES; k++)
        if (s[k].name && !run(&s[k], c, 1)) {
            bench_failed(b, c->workload, tn_exec_error(s[k].exec));
            return false;
        }
    for (int k = BY_HAND; k <= OTHER; k++) {
        if (!s[k].name) continue;
        if (!run(&s[k], c, 1) || !agree(b, c, s, error)) return false;
    }
    return true;
}

/* ---- measuring ----------------------------------------------------------------------------------------------------
 */

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x) {
    qsort(x, SAMPLES, sizeof *x, rising);
    return x[SAMPLES / 2];
}

/* Each sample lasts SAMPLE_SECONDS or more; the sides take turns. */
static void measure(const bench_case *c, side *s, double *medians) {
    for (int k = 0; k < SIDES; k++) {
        medians[k] = NAN;
        if (!s[k].name) continue;
        double t = timed(&s[k], c, 1);
        for (s[k].repeat = 1; t * (double)s[k].repeat < SAMPLE_SECONDS;) {
            s[k].repeat = (long)(SAMPLE_SECONDS / fmax(t, 1e-9)) + 1;
            t = timed(&s[k], c, s[k].repeat);
        }
    }
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < SIDES; k++)
            if (s[k].name) s[k].sample[i] = timed(&s[k], c, s[k].repeat);
    for (int k = 0; k < SIDES; k++)
        if (s[k].name) medians[k] = median(s[k].sample);
}

static void print_lines(const bench_case *c, const side *s, const row *r) {
    for (int k = 0; k < SIDES; k++) {
        if (!s[k].name) continue;
        printf("{\"workload\": \"%s\", \"variant\": \"%s\", \"n\": %ld, \"dtype\": \"%s\", \"backend\": \"%s%s\", "
               "\"median_s\": %.4g, \"ratio_to_c\": ",
               c->workload, c->variant, c->n, DTYPE[c->dtype], k == OTHER ? "c:" : "", s[k].name, r->median[k]);
        if (s[BY_HAND].name)
            printf("%.3f", r->median[k] / r->median[BY_HAND]);
        else
            printf("null");
        printf(", \"bytes\": %zu, \"samples\": %d, \"repeat\": %ld", k < FIRST_BACKEND ? 0 : tn_exec_bytes(s[k].exec),
               SAMPLES, s[k].repeat);
        if (c->bodies) printf(", \"bodies\": %ld, \"s_per_body\": %.4g", c->bodies, r->median[k] / (double)c->bodies);
        if (k >= FIRST_BACKEND && c->want) printf(", \"error\": %.1e", r->error);
        printf("}\n");
    }
    (void)fflush(stdout);
}

static void remember(bench *b, const bench_case *c, const row *r) {
    if (b->rows == MOST_CASES) return;
    row *q = &b->row[b->rows++];
    *q = *r;
    (void)snprintf(q->workload, sizeof q->workload, "%s", c->workload);
    (void)snprintf(q->variant, sizeof q->variant, "%s", c->variant);
    (void)snprintf(q->other, sizeof q->other, "%s", c->other ? c->other_name : "");
    q->n = c->n;
    q->dtype = c->dtype;
    q->bar = c->bar;
    q->default_bar = c->default_bar;
    q->limit = c->limit;
    q->default_limit = c->default_limit;
}

static unsigned flush_numbers(void) {
#ifdef __SSE__
    const unsigned old = _mm_getcsr();
    _mm_setcsr(old | 0x8040U);
    return old;
#else
    return 0;
#endif
}

static void flush_as_before(unsigned old) {
#ifdef __SSE__
    _mm_setcsr(old);
#else
    (void)old;
#endif
}

void bench_run(bench *b, const bench_case *c) {
    side s[SIDES];
    row r = {.error = 0};
    const size_t before = b->blocks;
    if (!c->fn || !open_sides(b, c, s)) {
        bench_failed(b, c->workload, tn_error(b->ctx));
        return;
    }
    const unsigned old = c->flush ? flush_numbers() : 0; /* C's; the execs have the option */
    if (check(b, c, s, &r.error)) {
        r.bytes = tn_exec_bytes(s[FIRST_BACKEND].exec);
        if (b->quick || c->only_compared) {
            printf("{\"workload\": \"%s\", \"variant\": \"%s\", \"n\": %ld, \"dtype\": \"%s\", \"error\": %.1e}\n",
                   c->workload, c->variant, c->n, DTYPE[c->dtype], r.error);
            b->passed++;
        } else {
            measure(c, s, r.median);
            print_lines(c, s, &r);
            remember(b, c, &r);
        }
    }
    if (c->flush) flush_as_before(old);
    for (int k = FIRST_BACKEND; k < SIDES; k++) tn_exec_free(s[k].exec);
    while (b->blocks > before) free(b->block[--b->blocks]);
}

/* ---- the table ------------------------------------------------------------------------------------------------------
 */

static void print_seconds(double s) {
    if (!(s >= 0))
        printf(" - |");
    else if (s < 1e-6)
        printf(" %.1f ns |", 1e9 * s);
    else if (s < 1e-3)
        printf(" %.4g us |", 1e6 * s);
    else if (s < 1)
        printf(" %.4g ms |", 1e3 * s);
    else
        printf(" %.4g s |", s);
}

static void print_ratio(double t, double c) {
    if (t >= 0 && c > 0)
        printf(" %.2f |", t / c);
    else
        printf(" - |");
}

/* "met", "missed" or "": of the faster backend, and of the default. */
static const char *verdict(const row *r) {
    const double c = r->median[BY_HAND], in = r->median[FIRST_BACKEND], best = fmin(in, r->median[FIRST_BACKEND + 1]);
    const bool any = r->bar > 0 || r->default_bar > 0 || r->limit > 0 || r->default_limit > 0;
    const bool missed = (r->bar > 0 && !(best <= r->bar * c)) || (r->limit > 0 && !(best <= r->limit)) ||
                        (r->default_bar > 0 && !(in <= r->default_bar * c)) ||
                        (r->default_limit > 0 && !(in <= r->default_limit));
    return !any ? "" : missed ? "missed" : "met";
}

static void print_bars(const row *r) {
    const char *comma = "";
    printf(" ");
    if (r->bar > 0) printf("%.4g", r->bar), comma = ", ";
    if (r->limit > 0) printf("%s%.3g us", comma, 1e6 * r->limit), comma = ", ";
    if (r->default_bar > 0) printf("%sdefault %.4g", comma, r->default_bar), comma = ", ";
    if (r->default_limit > 0) printf("%sdefault %.3g us", comma, 1e6 * r->default_limit);
    printf(" | %s |\n", verdict(r));
}

static void print_table(const bench *b) {
    printf("\n| workload | variant | n | dtype | C | default | ratio | native | ratio | bytes | bar | |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < b->rows; i++) {
        const row *r = &b->row[i];
        printf("| %s | %s | %ld | %s |", r->workload, r->variant, r->n, DTYPE[r->dtype]);
        print_seconds(r->median[BY_HAND]);
        for (int k = FIRST_BACKEND; k < FIRST_BACKEND + 2; k++) {
            print_seconds(r->median[k]);
            print_ratio(r->median[k], r->median[BY_HAND]);
        }
        printf(" %zu |", r->bytes);
        print_bars(r);
        if (!*r->other) continue;
        printf("| | | | | %s:", r->other);
        print_seconds(r->median[OTHER]);
        for (int k = FIRST_BACKEND; k < FIRST_BACKEND + 2; k++) {
            printf(" |");
            print_ratio(r->median[k], r->median[OTHER]);
        }
        printf(" | | |\n");
    }
}

/* ---- the whole
 * ------------------------------------------------------------------------------------------------------- */

/* One processor: the first allowed one, or the one asked for. */
static int pin(int cpu) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return -1;
    for (int i = 0; cpu < 0 && i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &allowed)) cpu = i;
    if (cpu < 0) return -1;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) ? -1 : cpu;
}

/* The value of a line of /proc/cpuinfo; "" where the system does not tell. */
static const char *cpu_info(const char *key, char *out, size_t room) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    *out = '\0';
    while (f && !*out && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        const size_t n = strlen(key);
        if (strncmp(line, key, n) || !colon || line[n + strspn(line + n, "\t ")] != ':') continue;
        (void)snprintf(out, room, "%.*s", (int)strcspn(colon + 2, "\"\\\n"), colon + 2);
    }
    if (f) fclose(f);
    return out;
}

static void print_machine(int cpu) {
    char model[128], family[16], number[16];
    printf("{\"cpu\": \"%s\", \"family\": %s, \"model\": %s, \"pinned\": %d, \"compiler\": \"%s\", \"tansy\": \"%s\", "
           "\"blis\": \"%s\"}\n",
           cpu_info("model name", model, sizeof model), *cpu_info("cpu family", family, sizeof family) ? family : "0",
           *cpu_info("model", number, sizeof number) ? number : "0", cpu, __VERSION__, tn_version(), c_products());
    (void)fflush(stdout);
}

/* Bytes per second of z = x + y / 2, n numbers each, best of some. */
static double triad(bench *b, long n) {
    double *x = bench_memory(b, (size_t)n * 8), *y = bench_memory(b, (size_t)n * 8),
           *z = bench_memory(b, (size_t)n * 8);
    double best = HUGE_VAL;
    const long repeat = 4000000 / n + 1;
    for (int k = 0; k < SAMPLES; k++) {
        const double start = now();
        for (long i = 0; i < repeat; i++) {
            c_machine_triad(n, x, y, z);
            __asm__ volatile("" : : "r"(z) : "memory");
        }
        best = fmin(best, (now() - start) / (double)repeat);
    }
    return 24.0 * (double)n / best;
}

/* The limits that figures of another processor are scaled by. */
static void print_limits(bench *b) {
    double flops = 0;
    for (int k = 0; k < SAMPLES; k++) {
        const double start = now(), done = c_machine_fma(500000);
        flops = fmax(flops, done / (now() - start));
    }
    printf("{\"fma_f64_gflops\": %.1f", 1e-9 * flops);
    printf(", \"triad_24KB_gb_s\": %.0f", 1e-9 * triad(b, 1000));
    printf(", \"triad_750KB_gb_s\": %.0f", 1e-9 * triad(b, 31250));
    printf(", \"triad_12MB_gb_s\": %.1f", 1e-9 * triad(b, 500000));
    printf(", \"triad_240MB_gb_s\": %.1f}\n", 1e-9 * triad(b, 10000000));
    while (b->blocks) free(b->block[--b->blocks]);
    (void)fflush(stdout);
}

static bool arguments(bench *b, int argc, char **argv, int *cpu) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick"))
            b->quick = true;
        else if (!strcmp(argv[i], "--reference"))
            b->reference = true;
        else if (value && !strcmp(argv[i], "--only"))
            b->only = *value ? value : NULL, i++;
        else if (value && !strcmp(argv[i], "--data"))
            b->data = value, i++;
        else if (value && !strcmp(argv[i], "--cpu"))
            *cpu = (int)strtol(value, NULL, 10), i++;
        else
            return false;
    }
    return true;
}

int bench_main(int argc, char **argv, size_t n, bench_workload *const *workload) {
    static bench b = {.data = "bench/data"};
    int cpu = -1;
    if (!arguments(&b, argc, argv, &cpu)) {
        fprintf(stderr, "usage: suite [--quick] [--reference] [--only NAME,..] [--data DIR] [--cpu N]\n");
        return 2;
    }
    cpu = pin(cpu);
#ifdef BENCH_BLIS_SELECT
    (void)tn_blis_select();
#endif
    print_machine(cpu);
    if (!b.quick) print_limits(&b);
    for (size_t i = 0; i < n; i++) {
        if (!(b.ctx = tn_ctx_new(NULL))) return 1;
        workload[i](&b);
        tn_ctx_free(b.ctx);
        while (b.blocks) free(b.block[--b.blocks]);
    }
    if (!b.quick)
        print_table(&b);
    else
        printf("%d passed, %d failed\n", b.passed, b.failures);
    return b.failures != 0;
}
