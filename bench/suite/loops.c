/* Loops: an explicit stencil under every schedule, and a long solve with constant steps. */
#include "suite.h"

#include "recurrent.h"
#include "tansy/ode.h"

#include <math.h>
#include <stdlib.h>

/* ---- Burgers' equation ------------------------------------------------------------------------------------------- */

enum { POINTS = 1024 };

typedef struct ring {
    long steps, extra;
    const double *u0;
    double *states, *work, *out;
} ring;

static void ring_f(void *data) {
    const ring *r = data;
    c_burgers_f(POINTS, r->steps, r->u0, r->work, r->out);
}
static void ring_grad(void *data) {
    const ring *r = data;
    c_burgers_grad(POINTS, r->steps, r->extra, r->u0, r->states, r->work, r->out);
}

static const char *temporary(void) {
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

/* C runs the bodies of the same plan: what the schedule runs again as steps whose result is dropped, then the gradient
 * that keeps every state.  It copies no snapshots. */
static void ring_schedule(bench *b, ring *r, const char *schedule) {
    const burgers m = {.schedule = schedule, .steps = r->steps};
    const tn_schedule_options sizes = {.size = sizeof sizes, .state_bytes = POINTS * 8, .record_bytes = 2 * POINTS * 8};
    tn_schedule_counts counts = {.size = sizeof counts};
    char variant[40];
    if (tn_schedule_cost(bench_ctx(b), schedule, r->steps, &sizes, &counts) != TN_OK) {
        bench_failed(b, "burgers", tn_error(bench_ctx(b)));
        return;
    }
    tn_fn *f = tn_trace(bench_ctx(b), burgers_loss, (void *)(uintptr_t)&m, TN_ARGS(tn_f64(POINTS)));
    (void)snprintf(variant, sizeof variant, "grad %s", schedule);
    r->extra = (long)counts.advances;
    bench_run(b, &(bench_case){.workload = "burgers",
                               .variant = variant,
                               .n = r->steps,
                               .dtype = TN_F64,
                               .fn = tn_grad(f, NULL, NULL),
                               .in = TN_RAW_INPUTS(r->u0),
                               .c = ring_grad,
                               .data = r,
                               .want = TN_RAW_OUTPUTS(r->out),
                               .tolerance = 1e-12,
                               .bar = 1.2,
                               .default_bar = 4,
                               .bodies = (long)(counts.advances + 2 * counts.recorded),
                               .spill_dir = temporary()});
}

void suite_burgers(bench *b) {
    static const char *const SCHEDULE[] = {"all_save",    "revolve:10",         "revolve:32",  "online:32", "mixed:32",
                                           "periodic:32", "disk_revolve:10,32", "auto:262144", "nothing"};
    if (!bench_wants(b, "burgers")) return;
    double *u0 = bench_memory(b, POINTS * 8);
    ring r = {.steps = bench_quick(b) ? 50 : 1000, .u0 = u0, .work = bench_memory(b, 2 * (POINTS + BURGERS_EDGES) * 8)};
    const burgers m = {.steps = r.steps};
    r.states = bench_memory(b, (size_t)(r.steps + 1) * (POINTS + BURGERS_EDGES) * 8);
    r.out = bench_memory(b, POINTS * 8);
    for (int i = 0; i < POINTS; i++) u0[i] = 1 + 0.5 * sin(2 * 3.14159265358979323846 * i / POINTS);
    bench_run(b,
              &(bench_case){.workload = "burgers",
                            .variant = "f",
                            .n = r.steps,
                            .dtype = TN_F64,
                            .fn = tn_trace(bench_ctx(b), burgers_loss, (void *)(uintptr_t)&m, TN_ARGS(tn_f64(POINTS))),
                            .in = TN_RAW_INPUTS(u0),
                            .c = ring_f,
                            .data = &r,
                            .want = TN_RAW_OUTPUTS(r.out),
                            .tolerance = 1e-12,
                            .bar = 1.2,
                            .default_bar = 4,
                            .bodies = r.steps});
    for (size_t k = 0; k < sizeof SCHEDULE / sizeof *SCHEDULE; k++) ring_schedule(b, &r, SCHEDULE[k]);
}

/* ---- Tsit5
 * ------------------------------------------------------------------------------------------------------------ */

enum { NUMBERS = 2250 };

typedef struct solve {
    bool cubic;
    long steps;
    const char *adjoint;
    const float *y0;
    float *states, *work, *value, *grad;
} solve;

static void field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)p;
    const tn_val push = tn_mul(tn_sin(tn_mul(t, 0.2)), 0.1);
    dy[0] = tn_add(tn_mul(((const solve *)user)->cubic ? tn_pow(y[0], 3) : y[0], -0.1), tn_convert(push, TN_F32));
}

static tn_val solve_loss(const tn_val *in, void *user) {
    const solve *q = user;
    tn_ode_problem p = {.size = sizeof p, .field = field, .user = user, .nstate = 1, .y0 = in};
    const tn_ode_options o = {.size = sizeof o, .adjoint = q->adjoint, .steps = q->steps};
    tn_val y;
    tn_ode_solution s = {.size = sizeof s, .y = &y};
    p.t0 = tn_number_f64(0);
    p.t1 = tn_number_f64(0.1 * (double)q->steps);
    tn_ode_solve(&p, &o, &s);
    return tn_sum(y);
}

static void linear_grad(void *data) {
    const solve *s = data;
    c_tsit5_linear(NUMBERS, s->steps, s->y0, s->work, NULL, s->grad);
}
static void linear_both(void *data) {
    const solve *s = data;
    c_tsit5_linear(NUMBERS, s->steps, s->y0, s->work, s->value, s->grad);
}
static void cubic_grad(void *data) {
    const solve *s = data;
    c_tsit5_cubic(NUMBERS, s->steps, s->y0, s->states, s->work, s->grad);
}

/* After 80,000 steps a linear gradient is below what f32 holds: it is compared after 4,000. */
static void solve_of(bench *b, solve *s, bool only_compared) {
    const bool lost = !s->cubic && s->steps > 4000;
    tn_fn *f = tn_trace(bench_ctx(b), solve_loss, s, TN_ARGS(tn_f32(NUMBERS)));
    bench_case c = {.workload = s->cubic ? "tsit5_cubic" : "tsit5_linear", .n = s->steps, .dtype = TN_F32, .data = s};
    c.in = TN_RAW_INPUTS(s->y0);
    c.tolerance = s->steps <= 100 ? 1e-5 : 1e-3; /* relative errors of the steps add up */
    c.flush = true;
    c.only_compared = only_compared;
    c.bar = 1.2;
    c.default_bar = 2.5;
    c.bodies = 2 * s->steps;
    if (!s->cubic) {
        c.variant = "grad", c.fn = tn_grad(f, NULL, NULL), c.c = linear_grad,
        c.want = TN_RAW_OUTPUTS(lost ? NULL : s->grad);
        c.bodies = s->steps;
        bench_run(b, &c);
    }
    c.variant = s->cubic ? "grad" : "value_and_grad", c.c = s->cubic ? cubic_grad : linear_both;
    c.fn = s->cubic ? tn_grad(f, NULL, NULL) : tn_value_and_grad(f, NULL, NULL);
    c.want = s->cubic ? TN_RAW_OUTPUTS(s->grad) : TN_RAW_OUTPUTS(s->value, lost ? NULL : s->grad);
    c.bodies = 2 * s->steps;
    bench_run(b, &c);
}

void suite_tsit5(bench *b) {
    static const char *const NAME[] = {"tsit5_linear", "tsit5_cubic"};
    float value;
    for (int cubic = 0; cubic < 2; cubic++) {
        if (!bench_wants(b, NAME[cubic])) continue;
        const long steps = cubic ? 8000 : 80000;
        float *y0 = bench_memory(b, NUMBERS * 4);
        solve s = {.cubic = cubic, .adjoint = "AllSave", .y0 = y0, .value = &value};
        s.work = bench_memory(b, NUMBERS * 4);
        s.grad = bench_memory(b, NUMBERS * 4);
        s.states = cubic ? bench_memory(b, (size_t)steps * NUMBERS * 4) : NULL;
        for (int i = 0; i < NUMBERS; i++) y0[i] = (float)(0.5 + i / (2.0 * NUMBERS));
        s.steps = 100;
        solve_of(b, &s, true);
        if (bench_quick(b)) continue;
        s.steps = 4000;
        if (!cubic) solve_of(b, &s, true);
        s.steps = steps;
        solve_of(b, &s, false);
    }
}
