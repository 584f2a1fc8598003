/* Does anything grow faster than it must?  A small step (64 numbers, y <- y + h sin y) is differentiated over 100 to
 * 100,000 steps under schedules with few slots and with many.  One JSON line each: seconds, those of a step, the
 * workspace, and the steps that tn_schedule_cost predicts.  A step that takes three times as long in the longest loop
 * as in that of 1,000 steps makes the exit status 1: time is to be linear in the steps that a schedule takes.
 *
 * A first argument is another greatest number of steps. */
#include "measure.h"

#include <tansy.h>
#include <tansy/loops.h>

#include <math.h>

enum { WIDTH = 64 };

static const char *const SCHEDULE[] = {"all_save",  "revolve:5", "revolve:50", "online:5",
                                       "online:50", "mixed:50",  "periodic:50"};

typedef struct loop {
    const char *schedule;
    int64_t steps;
} loop;

static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = tn_add(carry[0], tn_mul(1e-4, tn_sin(carry[0])));
}

static tn_val loss(const tn_val *in, void *user) {
    const loop *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    tn_val y;
    tn_fori(NULL, 0, m->steps, step, NULL, 1, in, &y, &o);
    return tn_sum(y);
}

/* The least time of a few calls, of which the first has the pages of the workspace made, and the gradient. */
static bool run(tn_exec *e, double *y, double *g, int64_t steps, double *seconds) {
    *seconds = HUGE_VAL;
    for (int i = 0; i < (steps > 10000 ? 2 : 4); i++) {
        const double start = now();
        double f;
        if (tn_call(e, TN_INPUTS(y), TN_OUTPUTS(&f, g)) != TN_OK) return false;
        *seconds = fmin(*seconds, now() - start);
    }
    return true;
}

/* Nanoseconds of a step of any kind, negative after an error; the workspace beyond the slots in *besides. */
static double measure(tn_ctx *c, const char *schedule, int64_t steps, const char *cpu, size_t *besides) {
    const loop m = {.schedule = schedule, .steps = steps};
    double y[WIDTH], g[WIDTH], seconds;
    const tn_schedule_options sizes = {.size = sizeof sizes, .state_bytes = sizeof y, .record_bytes = sizeof y};
    tn_schedule_counts counts = {.size = sizeof counts};
    for (int i = 0; i < WIDTH; i++) y[i] = 0.02 * i - 0.6;
    tn_fn *f = tn_trace(c, loss, (void *)(uintptr_t)&m, TN_ARGS(tn_f64(WIDTH)));
    tn_fn *d = f ? tn_value_and_grad(f, NULL, NULL) : NULL;
    tn_exec *e = d ? tn_compile(d, NULL) : NULL;
    const bool ok =
        e && tn_schedule_cost(c, schedule, steps, &sizes, &counts) == TN_OK && run(e, y, g, steps, &seconds);
    const double all = (double)counts.advances + 2 * (double)counts.recorded, ns = ok ? 1e9 * seconds / all : -1;
    if (ok) {
        *besides = tn_exec_bytes(e) - counts.bytes;
        printf(
            "{\"workload\": \"schedules\", \"schedule\": \"%s\", \"steps\": %lld, \"seconds\": %.6f, "
            "\"ns_per_step\": %.1f, "
            "\"exec_bytes\": %zu, \"exec_bytes_per_step\": %zu, \"advances\": %lld, \"recorded\": %lld, \"snapshots\": "
            "%lld, "
            "\"snapshot_bytes\": %zu, \"cpu\": \"%s\"}\n",
            schedule, (long long)steps, seconds, ns, tn_exec_bytes(e), tn_exec_bytes_per_step(e),
            (long long)counts.advances, (long long)counts.recorded, (long long)counts.snapshots, counts.bytes, cpu);
    }
    tn_exec_free(e);
    tn_fn_free(d);
    tn_fn_free(f);
    return ns;
}

int main(int argc, char **argv) {
    const long most = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    char cpu[128];
    int grows = 0;
    cpu_model(cpu, sizeof cpu);
    tn_ctx *c = tn_ctx_new(NULL);
    for (size_t k = 0; c && k < sizeof SCHEDULE / sizeof *SCHEDULE; k++) {
        double at_1000 = 0, ns = 0;
        size_t at_100 = 0, besides = 0;
        for (int64_t steps = 100; steps <= most; steps *= 10) {
            if ((ns = measure(c, SCHEDULE[k], steps, cpu, &besides)) < 0) {
                fprintf(stderr, "schedules: %s: %s\n", SCHEDULE[k], tn_error(c));
                tn_ctx_free(c);
                return 1;
            }
            if (steps == 100) at_100 = besides;
            if (steps == 1000) at_1000 = ns;
        }
        if (at_1000 > 0 && ns > 3 * at_1000) {
            fprintf(stderr, "schedules: %s: a step takes longer in longer loops\n", SCHEDULE[k]);
            grows++;
        }
        if (besides > at_100 + 4096) {
            fprintf(stderr, "schedules: %s: more memory than its slots in longer loops\n", SCHEDULE[k]);
            grows++;
        }
    }
    tn_ctx_free(c);
    return grows != 0 || !c;
}
