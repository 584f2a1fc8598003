/* What does a schedule cost?  Burgers' equation on a ring (1024 points, 1000 explicit steps, f64): the gradient of sum
 * u^2 at the end with respect to the initial state, under every schedule.  One JSON line each: the median time and that
 * of the loop by itself, peak memory of a process that did nothing else, the executable's workspace, and the steps that
 * tn_schedule_cost predicts.  Gradients must be those of an adjoint written by hand to 1e-12, and the same bits under
 * every schedule, or the exit status is 1.
 *
 * A first argument is another number of steps; the schedule `nothing`, which is quadratic, is left out above 300. */
#include "measure.h"
#include "recurrent.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POINTS = 1024, RUNS = 5 };

static const char *const SCHEDULE[] = {"all_save",    "revolve:10",         "revolve:32",  "online:32", "mixed:32",
                                       "periodic:32", "disk_revolve:10,32", "auto:262144", "nothing"};

/* ---- by hand ----------------------------------------------------------------------------------- */

static void hand_step(const double *u, double *v) {
    for (int i = 0; i < POINTS; i++) {
        const double right = u[(i + 1) % POINTS], left = u[(i + POINTS - 1) % POINTS];
        v[i] = u[i] - 0.1 * u[i] * (right - left) + 0.2 * (right - 2 * u[i] + left);
    }
}

static void hand_adjoint(const double *u, const double *w, double *g) {
    for (int i = 0; i < POINTS; i++) {
        const int r = (i + 1) % POINTS, l = (i + POINTS - 1) % POINTS;
        g[i] = w[i] * (1 - 0.1 * (u[r] - u[l]) - 0.4) + w[l] * (0.2 - 0.1 * u[l]) + w[r] * (0.2 + 0.1 * u[r]);
    }
}

/* The gradient in g; false without memory. */
static bool hand_gradient(long steps, const double *u0, double *g) {
    double *u = malloc(((size_t)steps + 1) * POINTS * sizeof *u), z[POINTS];
    if (!u) return false;
    memcpy(u, u0, sizeof z);
    for (long k = 0; k < steps; k++) hand_step(u + k * POINTS, u + (k + 1) * POINTS);
    for (int i = 0; i < POINTS; i++) g[i] = 2 * u[steps * POINTS + i];
    for (long k = steps; k-- > 0;) {
        hand_adjoint(u + k * POINTS, g, z);
        memcpy(g, z, sizeof z);
    }
    free(u);
    return true;
}

static double distance(const double *a, const double *b) {
    double worst = 0, scale = 0;
    for (int i = 0; i < POINTS; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        scale = fmax(scale, fabs(b[i]));
    }
    return worst / scale;
}

/* ---- one schedule -------------------------------------------------------------------------------- */

typedef struct result {
    bool ok;
    double seconds, forward;
    size_t exec_bytes, bytes_per_step;
    long rss;
    tn_schedule_counts counts;
    char schedule[64];
    double g[POINTS];
} result;

/* For the slots of disk_revolve. */
static const char *spill_dir(void) {
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

static bool timed(const tn_fn *f, const double *u0, double *y, double *g, double *seconds, result *r) {
    const tn_compile_options here = {.size = sizeof here, .spill_dir = spill_dir()};
    tn_exec *e = tn_compile(f, &here);
    double s[RUNS];
    bool ok = e != NULL;
    for (int i = -1; ok && i < RUNS; i++) {
        const double start = now();
        ok = tn_call(e, TN_INPUTS(u0), g ? TN_OUTPUTS(y, g) : TN_OUTPUTS(y)) == TN_OK;
        if (i >= 0) s[i] = now() - start;
    }
    if (ok) {
        *seconds = median(s, RUNS);
        r->exec_bytes = tn_exec_bytes(e);
        r->bytes_per_step = tn_exec_bytes_per_step(e);
    }
    if (e && !ok) fprintf(stderr, "stencil: %s\n", tn_exec_error(e));
    tn_exec_free(e);
    return ok;
}

static void measure(const char *schedule, long steps, const double *u0, result *r) {
    const burgers m = {.schedule = schedule, .steps = steps};
    const tn_schedule_options sizes = {
        .size = sizeof sizes, .state_bytes = sizeof r->g, .record_bytes = 2 * sizeof r->g};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = c ? tn_trace(c, burgers_loss, (void *)(uintptr_t)&m, TN_ARGS(tn_f64(POINTS))) : NULL;
    tn_fn *g = f ? tn_value_and_grad(f, NULL, NULL) : NULL;
    double loss;
    r->counts.size = sizeof r->counts;
    r->ok = g && timed(f, u0, &loss, NULL, &r->forward, r) && timed(g, u0, &loss, r->g, &r->seconds, r) &&
            tn_schedule_cost(c, schedule, steps, &sizes, &r->counts) == TN_OK;
    if (!r->ok) fprintf(stderr, "stencil: %s: %s\n", schedule, c ? tn_error(c) : "out of memory");
    if (r->ok) (void)snprintf(r->schedule, sizeof r->schedule, "%s", r->counts.schedule);
    r->counts.schedule = NULL; /* the context's */
    r->rss = peak_rss();
    tn_ctx_free(c);
}

/* In a process of its own. */
static bool measure_alone(const char *schedule, long steps, const double *u0, result *r) {
    int end[2];
    memset(r, 0, sizeof *r);
    if (pipe(end)) return false;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        measure(schedule, steps, u0, r);
        const char *at = (const char *)r;
        size_t left = sizeof *r;
        for (ssize_t n; left && (n = write(end[1], at, left)) > 0; left -= (size_t)n) at += n;
        _exit(0);
    }
    (void)close(end[1]);
    size_t got = 0;
    for (ssize_t n; child > 0 && (n = read(end[0], (char *)r + got, sizeof *r - got)) > 0;) got += (size_t)n;
    (void)close(end[0]);
    return child > 0 && waitpid(child, NULL, 0) == child && got == sizeof *r && r->ok;
}

static void print(const char *schedule, long steps, const result *r, double error, const char *cpu) {
    printf(
        "{\"workload\": \"stencil\", \"schedule\": \"%s\", \"became\": \"%s\", \"steps\": %ld, \"checkpoints\": %lld, "
        "\"seconds\": %.5f, \"forward_seconds\": %.5f, \"peak_rss_kib\": %ld, \"exec_bytes\": %zu, "
        "\"exec_bytes_per_step\": %zu, \"advances\": %lld, \"recorded\": %lld, \"error\": %.1e, \"cpu\": \"%s\"}\n",
        schedule, r->schedule, steps, (long long)r->counts.snapshots, r->seconds, r->forward, r->rss, r->exec_bytes,
        r->bytes_per_step, (long long)r->counts.advances, (long long)r->counts.recorded, error, cpu);
}

int main(int argc, char **argv) {
    static result first, r;
    static double u0[POINTS], g[POINTS];
    const long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    char cpu[128];
    if (steps < 1) return 2;
    cpu_model(cpu, sizeof cpu);
    for (int i = 0; i < POINTS; i++) u0[i] = 1 + 0.5 * sin(8 * atan(1.0) * i / POINTS);
    if (!hand_gradient(steps, u0, g)) return 1;
    int wrong = 0;
    for (size_t k = 0; k < sizeof SCHEDULE / sizeof *SCHEDULE; k++) {
        if (strcmp(SCHEDULE[k], "nothing") == 0 && steps > 300) continue;
        if (!measure_alone(SCHEDULE[k], steps, u0, &r)) return 1;
        if (k == 0) first = r;
        const double error = distance(r.g, g);
        if (!(error <= 1e-12) || memcmp(r.g, first.g, sizeof r.g) != 0) {
            fprintf(stderr, "stencil: %s: the gradient is wrong\n", SCHEDULE[k]);
            wrong++;
        }
        print(SCHEDULE[k], steps, &r, error, cpu);
    }
    return wrong != 0;
}
