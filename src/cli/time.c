/* time: what a call of a program takes here, the median and the least of many. */
#include "cli/json.h"
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Without --runs: until so many seconds have passed, but at least and at most so many runs.  A run is as many calls as
 * take longer than the clock's own error. */
static const double SECONDS = 1, RUN = 20e-6;
enum { LEAST = 3, MOST = 1000, CPU = 128 };

typedef struct timing {
    double compile, *run; /* seconds; of a call each */
    size_t runs, calls;   /* calls of each run */
} timing;

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Where the system tells (Linux). */
static void name_cpu(char name[CPU]) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    (void)snprintf(name, CPU, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!value) continue;
        value += 1 + strspn(value + 1, " \t");
        (void)snprintf(name, CPU, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (f) (void)fclose(f);
}

/* Seconds of n calls; the first that fails ends it. */
static double seconds_of(tn_i_cli_rank *r, size_t n) {
    const double from = now();
    for (size_t i = 0; i < n && r->status == TN_OK; i++) r->status = tn_call(r->e, (const void *const *)r->in, r->out);
    return now() - from;
}

static void measure(tn_i_cli_rank *r, timing *t) {
    const size_t asked = (size_t)r->o->runs, most = asked ? asked : MOST;
    for (t->calls = 1; r->status == TN_OK && seconds_of(r, t->calls) < RUN; t->calls *= 2) {
    }
    const double from = now();
    while (t->runs < most && r->status == TN_OK) {
        t->run[t->runs++] = seconds_of(r, t->calls) / (double)t->calls;
        if (!asked && t->runs >= LEAST && now() - from > SECONDS) break;
    }
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const timing *t) {
    const size_t k = t->runs / 2;
    return t->runs % 2 ? t->run[k] : (t->run[k - 1] + t->run[k]) / 2;
}

static void print(const tn_i_cli *o, const tn_exec *e, timing *t) {
    const char *why, *ran = tn_i_cli_backend(tn_exec_backend(e, &why));
    char cpu[CPU];
    name_cpu(cpu);
    qsort(t->run, t->runs, sizeof *t->run, by_size);
    const struct {
        const char *name;
        double value;
    } row[] = {{"median_ns", median(t) * 1e9}, {"min_ns", t->run[0] * 1e9}, {"compile_ns", t->compile * 1e9}};
    if (o->json) {
        (void)printf("{\"runs\": %zu, \"calls_per_run\": %zu", t->runs, t->calls);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) (void)printf(", \"%s\": %.1f", row[i].name, row[i].value);
        (void)printf(", \"backend\": \"%s\", \"cpu\": ", ran);
        tn_i_json_text(stdout, cpu);
        if (*why) (void)printf(", \"why\": "), tn_i_json_text(stdout, why);
        (void)printf("}\n");
        return;
    }
    (void)printf("%-16s %zu\n%-16s %zu\n", "runs", t->runs, "calls_per_run", t->calls);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) (void)printf("%-16s %.1f\n", row[i].name, row[i].value);
    (void)printf("%-16s %s\n%-16s %s\n", "backend", ran, "cpu", cpu);
    if (*why) (void)printf("%-16s %s\n", "why", why);
}

/* The first call, which is not measured, warms what has to be warm. */
static int run(tn_i_cli_rank *r, timing *t) {
    const tn_compile_options options = {.size = sizeof options,
                                        .spill_dir = r->o->spill_dir,
                                        .strict_zero = r->o->strict_zero,
                                        .flush_subnormals = r->o->flush,
                                        .backend = r->o->backend};
    const double from = now();
    if (!(r->e = tn_compile(r->f, &options))) return tn_i_cli_bad(r->o, tn_fn_ctx(r->f));
    t->compile = now() - from;
    (void)seconds_of(r, 1);
    measure(r, t);
    if (r->status != TN_OK) return tn_i_cli_say(r->o, tn_exec_error(r->e));
    print(r->o, r->e, t);
    return TN_CLI_OK;
}

int tn_i_cli_time(const tn_i_cli *o, tn_fn *f) {
    tn_i_cli_rank r = {.o = o, .number = -1, .f = f};
    timing t = {0};
    int status = TN_CLI_BAD;
    if (tn_i_cli_arguments(o, f) != TN_CLI_OK) return TN_CLI_USAGE;
    if (tn_i_cli_alone(o, f) != TN_CLI_OK) return TN_CLI_BAD;
    t.run = calloc(o->runs ? (size_t)o->runs : MOST, sizeof *t.run);
    if (!t.run)
        (void)fprintf(stderr, "time: out of memory\n");
    else if (tn_i_cli_prepare(&r))
        status = run(&r, &t);
    tn_i_cli_release(&r);
    free(t.run);
    return status;
}
