/* Does the pullback pay for what is not differentiated?  p -> c[0] * p and p -> dot(c, e1) * p for growing c: the
 * time of one call of the pullback must stay level.  One JSON line per program and length; the shortest of several
 * repetitions. */
#include <tansy.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 2000, REPETITIONS = 20 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tn_val getindex(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_at(in[1], 0), in[0]);
}

static tn_val dot(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_dot(in[1], in[2]), in[0]);
}

/* The shortest time of a call, or a negative number. */
static double measure(tn_exec *e, const void *const *in, void *const *out) {
    double best = -1;
    for (int r = 0; r < REPETITIONS; r++) {
        const double start = now();
        for (int i = 0; i < CALLS; i++)
            if (tn_call(e, in, out) != TN_OK) return -1;
        const double t = (now() - start) / CALLS;
        if (best < 0 || t < best) best = t;
    }
    return best;
}

static bool run(const char *name, tn_trace_fn f, size_t nin, int64_t n, double *c) {
    tn_ctx *ctx = tn_ctx_new(NULL);
    tn_fn *p = tn_trace(ctx, f, NULL, nin, TN_TYPES(tn_f64(), tn_f64(n), tn_f64(n)));
    const tn_linearized l = tn_linearize(p, tn_wrt(0), NULL);
    tn_fn *back = tn_transpose(l.linear);
    tn_exec *e = tn_compile(back, NULL);
    double ct = 1, dp = 0, seconds = -1;
    tn_cost_report cost = {.size = sizeof cost};
    /* the residual is c[0], or c itself where the policy reads it again; its first element either way */
    if (e && tn_fn_inputs(back) == 2 && tn_cost(back, &cost) == TN_OK)
        seconds = measure(e, TN_INPUTS(c, &ct), TN_OUTPUTS(&dp));
    if (seconds < 0)
        fprintf(stderr, "constants: %s\n", ctx ? tn_error(ctx) : "out of memory");
    else
        printf("{\"bench\": \"constants\", \"program\": \"%s\", \"n\": %lld, \"equations\": %zu, \"bytes\": %.0f, "
               "\"arena_bytes\": %zu, \"ns\": %.1f}\n",
               name, (long long)n, tn_fn_equations(back), cost.bytes, tn_exec_bytes(e), 1e9 * seconds);
    tn_ctx_free(ctx);
    return seconds >= 0;
}

int main(void) {
    bool ok = true;
    for (int64_t n = 1000; n <= 1000000 && ok; n *= 10) {
        double *c = malloc((size_t)n * sizeof *c);
        if (!c) return 1;
        for (int64_t i = 0; i < n; i++) c[i] = 1;
        ok = run("getindex", getindex, 2, n, c) && run("dot", dot, 3, n, c);
        free(c);
    }
    return ok ? 0 : 1;
}
