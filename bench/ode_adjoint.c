/* What does the gradient of a long solve cost?  y' = -0.1 y + 0.1 sin(0.2 t), and the same with y^3 instead of y, 2250
 * numbers of f32, Tsit5 with steps of 0.1 to T; the gradient of sum y(T) with respect to y(0) under every adjoint
 * (ForwardMode: one tangent).  One JSON line each: processor time of the solve and of the gradient, peak memory of a
 * process that did nothing else, the executable's workspace, the residuals of all steps, whether kept or made
 * again, and the steps that the gradient runs of the solve: plain ones, and ones that make their residuals.
 *
 * Before, up to T = 10, each gradient is compared with the closed form or a solve of the tangent equation in f64; the
 * exit status is 1 where it is off by more than 1e-5.  At T = 8000 the gradient is below what f32 can hold: numbers
 * that are not normal are flushed to zero while this is measured, where the processor can (some are many times slower
 * with them; JAX flushes them too).
 *
 * Arguments: T (800), runs (1), then adjoints as ADJOINT or ADJOINT,POLICY (all). */
#include "measure.h"
#include "tansy/ode.h"

#include <math.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __x86_64__ || defined __aarch64__
#define FLUSHES true
#else
#define FLUSHES false
#endif

enum { SIZE = 2250, MOST_RUNS = 20 };

typedef struct variant {
    const char *adjoint, *policy; /* policy NULL: the default */
    const char *schedule;         /* the loop's, for tn_schedule_cost; NULL: none */
} variant;

static const variant VARIANT[] = {
    {"AllSave", NULL, "all_save"},
    {"AllSave", "everything_saveable", "all_save"},
    {"RecursiveCheckpoint", NULL, "revolve:100"},
    {"RecursiveCheckpoint:446", NULL, "revolve:446"},
    {"Direct", NULL, "all_save"},
    {"Backsolve", NULL, NULL},
    {"ForwardMode", NULL, NULL},
};

typedef struct problem {
    bool cubic;
    const char *adjoint;
    double end;
} problem;

typedef struct result {
    bool ok, flushed;
    double seconds, forward, residual_bytes;
    size_t exec_bytes;
    long rss;
    long long advances, recorded;
    float g;
} result;

static void field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)p;
    const tn_val push = tn_mul(tn_sin(tn_mul(t, 0.2)), 0.1);
    dy[0] = tn_add(tn_mul(((const problem *)user)->cubic ? tn_pow(y[0], 3) : y[0], -0.1), tn_convert(push, TN_F32));
}

static tn_val loss(const tn_val *in, void *user) {
    const problem *q = user;
    tn_ode_problem p = {.size = sizeof p, .field = field, .user = user, .nstate = 1, .y0 = in};
    const tn_ode_options o = {.size = sizeof o, .adjoint = q->adjoint, .steps = llround(q->end * 10)};
    tn_val y;
    tn_ode_solution s = {.size = sizeof s, .y = &y};
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_f64(q->end);
    tn_ode_solve(&p, &o, &s);
    return tn_sum(y);
}

/* ---- what is right ------------------------------------------------------------------------------------------- */

/* dy(end)/dy(0) from y(0) = 1: the tangent equation by the classical method, in f64. */
static double tangent(bool cubic, double end) {
    if (!cubic) return exp(-0.1 * end);
    const int n = 20000;
    const double h = end / n;
    double y = 1, v = 1;
    for (int i = 0; i < n; i++) {
        double k[4], l[4];
        for (int j = 0; j < 4; j++) {
            const double c = j == 0 ? 0 : j < 3 ? 0.5 : 1, t = h * (i + c);
            const double u = j ? y + c * h * k[j - 1] : y, w = j ? v + c * h * l[j - 1] : v;
            k[j] = -0.1 * u * u * u + 0.1 * sin(0.2 * t);
            l[j] = -0.3 * u * u * w;
        }
        y += h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3]);
        v += h / 6 * (l[0] + 2 * l[1] + 2 * l[2] + l[3]);
    }
    return v;
}

/* ---- one variant ------------------------------------------------------------------------------------------------ */

static bool timed(const tn_fn *f, int runs, float *const *in, void *const *out, double *seconds, size_t *bytes) {
    const tn_compile_options o = {.size = sizeof o, .flush_subnormals = FLUSHES};
    tn_exec *e = tn_compile(f, &o);
    double s[MOST_RUNS];
    bool ok = e != NULL;
    for (int i = 0; ok && i < runs; i++) {
        const double start = now();
        ok = tn_call(e, (const void *const *)in, out) == TN_OK;
        s[i] = now() - start;
    }
    if (e && !ok) fprintf(stderr, "%s\n", tn_exec_error(e));
    if (ok) {
        *seconds = median(s, (size_t)runs);
        *bytes = tn_exec_bytes(e);
    }
    tn_exec_free(e);
    return ok;
}

static double residuals(const tn_fn *f, const tn_policy *policy) {
    tn_residual_totals t = {.size = sizeof t, .residual_bytes = 0};
    tn_residuals *r = tn_saved_residuals(f, NULL, policy);
    if (r) (void)tn_residuals_total(r, &t);
    tn_residuals_free(r);
    return t.residual_bytes;
}

static void measure(const variant *v, bool cubic, double end, int runs, result *r) {
    static float y0[SIZE], dy0[SIZE], d[SIZE], y;
    const problem q = {.cubic = cubic, .adjoint = v->adjoint, .end = end};
    const tn_policy *policy = v->policy ? tn_policy_by_name(v->policy) : NULL;
    const bool forward = !strcmp(v->adjoint, "ForwardMode"), back = !strcmp(v->adjoint, "Backsolve");
    tn_schedule_counts counts = {.size = sizeof counts};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = c ? tn_trace(c, loss, (void *)(uintptr_t)&q, TN_ARGS(tn_f32(SIZE))) : NULL;
    tn_fn *g = !f ? NULL : forward ? tn_jvp(f, NULL) : tn_grad(f, NULL, policy);
    float *const in[] = {y0, dy0};
    void *const value[] = {&y}, *const tangents[] = {&y, d}, *const gradient[] = {d};
    size_t bytes;
    r->flushed = FLUSHES;
    for (int i = 0; i < SIZE; i++) y0[i] = 1;
    dy0[SIZE - 1] = 1;
    r->ok = g && timed(f, runs, in, value, &r->forward, &bytes) &&
            timed(g, runs, in, forward ? tangents : gradient, &r->seconds, &r->exec_bytes);
    if (r->ok && v->schedule) r->ok = tn_schedule_cost(c, v->schedule, llround(end * 10), NULL, &counts) == TN_OK;
    if (!r->ok) fprintf(stderr, "ode_adjoint: %s: %s\n", v->adjoint, c ? tn_error(c) : "out of memory");
    r->g = forward ? d[0] : d[SIZE - 1]; /* the tangent's first number is sum dy */
    r->rss = peak_rss();
    if (r->ok && v->schedule) r->residual_bytes = residuals(f, policy);
    /* Without residuals no step of the solve is needed. */
    r->advances = !v->schedule ? llround(end * 10) * (back ? 2 : 1) : r->residual_bytes > 0 ? counts.advances : 0;
    r->recorded = r->residual_bytes > 0 ? counts.recorded : 0;
    tn_ctx_free(c);
}

/* In a process of its own. */
static bool measure_alone(const variant *v, bool cubic, double end, int runs, result *r) {
    int ends[2];
    memset(r, 0, sizeof *r);
    if (pipe(ends)) return false;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        measure(v, cubic, end, runs, r);
        _exit(write(ends[1], r, sizeof *r) == (ssize_t)sizeof *r ? 0 : 1);
    }
    (void)close(ends[1]);
    const bool got = child > 0 && read(ends[0], r, sizeof *r) == (ssize_t)sizeof *r;
    (void)close(ends[0]);
    return child > 0 && waitpid(child, NULL, 0) == child && got && r->ok;
}

/* "AllSave,everything_saveable" or "AllSave" is among the arguments, or there are none. */
static bool wanted(const variant *v, int n, char *const *name) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s%s%s", v->adjoint, v->policy ? "," : "", v->policy ? v->policy : "");
    for (int i = 0; i < n; i++)
        if (!strcmp(name[i], text)) return true;
    return n == 0;
}

int main(int argc, char **argv) {
    const double end = argc > 1 ? strtod(argv[1], NULL) : 800;
    const int runs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    char cpu[128];
    int status = 0;
    if (!(end >= 0.1 && end <= 1e6) || runs < 1 || runs > MOST_RUNS) return 2;
    cpu_model(cpu, sizeof cpu);
    for (int cubic = 0; cubic < 2; cubic++)
        for (size_t k = 0; k < sizeof VARIANT / sizeof *VARIANT; k++) {
            const variant *v = &VARIANT[k];
            const double near = end < 10 ? end : 10, want = tangent(cubic, near);
            result small, r;
            if (!wanted(v, argc > 3 ? argc - 3 : 0, argv + 3)) continue;
            if (!measure_alone(v, cubic, near, 1, &small) || !measure_alone(v, cubic, end, runs, &r)) {
                status = 1;
                continue;
            }
            char number[32] = "null"; /* JSON has no NaN */
            if (isfinite(r.g)) (void)snprintf(number, sizeof number, "%.9g", (double)r.g);
            const double error = fabs((double)small.g / want - 1);
            if (!(error <= 1e-5)) status = 1;
            printf(
                "{\"workload\": \"ode_adjoint\", \"field\": \"%s\", \"adjoint\": \"%s\", \"policy\": \"%s\", \"T\": "
                "%g, "
                "\"n\": %d, \"seconds\": %.5f, \"forward_seconds\": %.5f, \"peak_rss_kib\": %ld, \"exec_bytes\": %zu, "
                "\"residual_bytes\": %.0f, \"steps\": %lld, \"advances\": %lld, \"recorded\": %lld, \"gradient\": %s, "
                "\"error_at_10\": %.1e, \"flush_to_zero\": %s, \"cpu\": \"%s\"}\n",
                cubic ? "cubic" : "linear", v->adjoint, v->policy ? v->policy : "min_cut", end, SIZE, r.seconds,
                r.forward, r.rss, r.exec_bytes, r.residual_bytes, llround(end * 10), r.advances, r.recorded, number,
                error, r.flushed ? "true" : "false", cpu);
        }
    return status;
}
