/* What do the policies cost?  Three programs (tests/workloads.h) under each: the bytes of the residuals, which no
 * argument is among, of the executable's workspace, the modelled time of value and gradient, and the measured one.
 * One JSON line per program and policy.
 *
 * The order of modelled and of measured times must agree, or the exit status is 1: two policies contradict when the
 * model says that one is slower by more than TIE and the clock says that it is faster by more than TIE.  Smaller
 * differences are ties: the model charges no cache misses but those of the residuals, and clocks differ by as much
 * from one run to the next.  Each time is the least of several runs, the policies taking turns. */
#include "checkpoint/cost_model.h"

#include "workloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIE 0.05

static const char *const POLICY[] = {
    "everything_saveable", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable", "balanced",
    "min_bytes",           "min_cut"};
enum { POLICIES = sizeof POLICY / sizeof *POLICY, RUNS = 5 };

typedef struct result {
    tn_exec *exec;
    double residual_bytes, transcendentals, modelled_ms, ms;
} result;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "" where the system does not tell. */
static void cpu_model(char *out, size_t room) {
    char line[256];
    *out = '\0';
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !*out && fgets(line, sizeof line, f)) {
        const char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (value) (void)snprintf(out, room, "%.*s", (int)strcspn(value + 2, "\"\\\n"), value + 2);
    }
    if (f) fclose(f);
}

/* Everything but the measured time. */
static bool planned(const tn_fn *f, const tn_wrt_list *wrt, const char *name, result *r) {
    const tn_policy *policy = tn_policy_by_name(name);
    const tn_linearized l = tn_linearize(f, wrt, policy);
    tn_fn *back = l.linear ? tn_transpose(l.linear) : NULL, *g = tn_value_and_grad(f, wrt, policy);
    tn_cost_report forward = {.size = sizeof forward}, backward = {.size = sizeof backward};
    const tn_i_cost_model *m = &tn_i_shipped_costs;
    double ns;
    *r = (result){.ms = HUGE_VAL};
    bool ok = back && g && tn_cost(l.primal, &forward) == TN_OK && tn_cost(back, &backward) == TN_OK &&
              tn_i_modelled_ns(m, g, &ns);
    if (ok) {
        r->transcendentals = forward.transcendentals + backward.transcendentals;
        (void)tn_i_residuals_ns(m, l.primal, l.linear, &r->residual_bytes);
        r->modelled_ms = 1e-6 * ns;
        r->exec = tn_compile(g, NULL);
        ok = r->exec != NULL;
    }
    tn_fn_free(l.primal);
    tn_fn_free(l.linear);
    tn_fn_free(back);
    tn_fn_free(g);
    return ok;
}

/* ---- data --------------------------------------------------------------------------------------- */

typedef struct data {
    float *in[WORKLOAD_INPUTS], *out[1 + WORKLOAD_INPUTS];
} data;

static bool data_new(data *d, const workload *w) {
    uint64_t state = 88172645463325252u;
    bool ok = (d->out[0] = calloc(1, sizeof(float))) != NULL;
    for (size_t i = 0; ok && i < w->nin; i++) {
        const size_t n = tn_type_elements(&w->in[i]);
        ok = (d->in[i] = calloc(n, sizeof(float))) != NULL;
        for (size_t k = 0; ok && k < n; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            d->in[i][k] = (float)(((double)(state >> 11) * 0x1p-52 - 1) * w->scale[i]);
        }
    }
    for (size_t i = 0; ok && i < w->nwrt; i++)
        ok = (d->out[1 + i] = calloc(tn_type_elements(&w->in[w->wrt[i]]), sizeof(float))) != NULL;
    return ok;
}

static void data_free(data *d) {
    for (size_t i = 0; i < WORKLOAD_INPUTS; i++) free(d->in[i]);
    for (size_t i = 0; i < 1 + WORKLOAD_INPUTS; i++) free(d->out[i]);
}

/* ---- one program --------------------------------------------------------------------------------- */

static bool timed(result *r, const data *d) {
    const void *in[WORKLOAD_INPUTS];
    void *out[1 + WORKLOAD_INPUTS];
    memcpy(in, d->in, sizeof in);
    memcpy(out, d->out, sizeof out);
    const double start = now();
    if (tn_call(r->exec, in, out) != TN_OK) return false;
    r->ms = fmin(r->ms, 1e3 * (now() - start));
    return true;
}

/* Pairs of policies on whose order the model and the clock contradict each other. */
static int contradictions(const char *name, const result *r) {
    int n = 0;
    for (size_t a = 0; a < POLICIES; a++)
        for (size_t b = 0; b < POLICIES; b++) {
            if (r[a].modelled_ms <= r[b].modelled_ms * (1 + TIE) || r[b].ms <= r[a].ms * (1 + TIE)) continue;
            fprintf(stderr, "policies: %s: %s is modelled slower than %s, and measured faster\n", name, POLICY[a],
                    POLICY[b]);
            n++;
        }
    return n;
}

static void print(const workload *w, const result *r, const char *cpu) {
    for (size_t k = 0; k < POLICIES; k++)
        printf("{\"workload\": \"%s\", \"policy\": \"%s\", \"residual_bytes\": %.0f, \"peak_bytes\": %zu, "
               "\"modelled_ms\": %.3f, \"ms\": %.3f, \"transcendentals_recomputed\": %.0f, \"cpu\": \"%s\"}\n",
               w->name, POLICY[k], r[k].residual_bytes, tn_exec_bytes(r[k].exec), r[k].modelled_ms, r[k].ms,
               r[k].transcendentals - r[0].transcendentals, cpu);
}

static bool measure(tn_ctx *c, const workload *w, const char *cpu, int *disagree) {
    const tn_wrt_list wrt = {w->nwrt, w->wrt};
    result r[POLICIES] = {{0}};
    data d = {{0}, {0}};
    tn_fn *f = tn_trace(c, w->f, NULL, w->nin, w->in);
    bool ok = f && data_new(&d, w);
    for (size_t k = 0; ok && k < POLICIES; k++) ok = planned(f, &wrt, POLICY[k], &r[k]);
    for (int i = 0; ok && i < RUNS; i++)
        for (size_t k = 0; ok && k < POLICIES; k++) ok = timed(&r[k], &d);
    if (ok) {
        print(w, r, cpu);
        *disagree += contradictions(w->name, r);
    }
    for (size_t k = 0; k < POLICIES; k++) tn_exec_free(r[k].exec);
    tn_fn_free(f);
    data_free(&d);
    return ok;
}

int main(void) {
    char cpu[128];
    int disagree = 0;
    cpu_model(cpu, sizeof cpu);
    tn_ctx *c = tn_ctx_new(NULL);
    bool ok = c != NULL;
    for (int k = 0; ok && k < WORKLOADS; k++) {
        const workload w = workload_of(k);
        ok = measure(c, &w, cpu, &disagree);
    }
    if (!ok) fprintf(stderr, "policies: %s\n", c ? tn_error(c) : "out of memory");
    tn_ctx_free(c);
    return !ok || disagree;
}
