/* What a call costs: of a scalar function, and of a pullback beside a constant that is not differentiated. */
#include "suite.h"

typedef struct operands {
    const double *c;
    double ct, out;
} operands;

static tn_val cube(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_square(in[0]), in[0]);
}

static tn_val first_times(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_at(in[1], 0), in[0]);
}

static void cube_by_hand(void *data) {
    operands *o = data;
    o->out = o->ct * o->ct * o->ct;
}
static void pullback_by_hand(void *data) {
    operands *o = data;
    o->out = o->c[0] * o->ct;
}

void suite_calls(bench *b) {
    operands o = {.ct = 1.5};
    bench_case c = {.n = 1, .dtype = TN_F64, .data = &o, .want = TN_RAW_OUTPUTS(&o.out)};
    if (bench_wants(b, "call")) {
        c.workload = "call", c.variant = "scalar";
        c.fn = tn_trace(bench_ctx(b), cube, NULL, TN_ARGS(tn_f64()));
        c.in = TN_RAW_INPUTS(&o.ct), c.c = cube_by_hand, c.limit = 60e-9;
        bench_run(b, &c);
    }
    if (!bench_wants(b, "pullback")) return;
    for (long n = 1; n <= 1000000; n *= 10) {
        double *x = bench_memory(b, (size_t)n * 8);
        bench_fill_f64(x, (size_t)n, 1, 2, 1);
        tn_fn *f = tn_trace(bench_ctx(b), first_times, NULL, TN_ARGS(tn_f64(), tn_f64(n)));
        c.workload = "pullback", c.variant = "p -> c[0] p", c.n = n;
        c.fn = tn_transpose(tn_linearize(f, tn_wrt(0), NULL).linear);
        /* the residual is c[0], or c itself where the policy reads it again: its first number either way */
        o.c = x;
        c.in = TN_RAW_INPUTS(x, &o.ct), c.c = pullback_by_hand, c.limit = 150e-9;
        bench_run(b, &c);
    }
}
