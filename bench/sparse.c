/* What do sparse derivatives cost?  Jacobian and Hessian of a cart-pole by multiple shooting, the Jacobian of Bratu's
 * problem on a grid of 100 x 100, and that of bundle adjustment with 8,000 observations (tests/sparse_problems.h),
 * native and by the default back end, beside C by hand: blocks derived one by one and batched for the cart-pole,
 * bench/c/bratu.c and bench/c/bundle.c for the others (the latter has 30 numbers an observation, ours 24).  One JSON
 * line each: entries, colours, microseconds, the ratio to C, and what making and compiling took.
 *
 * The least of many repeats in one process; other work on the machine makes all of them longer.  Arguments: the cases,
 * all without any. */
#include "c/by_hand.h"
#include "measure.h"
#include "sparse_problems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 3, REPEATS = 41 };

static double wall(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *room(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) {
        fprintf(stderr, "sparse: out of memory\n");
        exit(1);
    }
    return p;
}

/* ---- one case ------------------------------------------------------------------------------------- */

typedef struct measured {
    const char *name;
    tn_ctx *c;
    tn_fn *f; /* what is differentiated in its first input */
    bool hessian;
    const void *in[MOST_INPUTS];
    void (*by_hand)(void *data); /* once */
    void *data;
} measured;

static void fail(const measured *m) {
    fprintf(stderr, "sparse: %s: %s\n", m->name, tn_error(m->c));
    exit(1);
}

/* The least time of one call, in microseconds: of as many in a row as take a millisecond. */
static double least(void (*call)(void *data), void *data) {
    double best = HUGE_VAL;
    long times = 1;
    for (int r = 0; r < REPEATS; r++) {
        const double start = wall();
        for (long k = 0; k < times; k++) call(data);
        const double t = wall() - start;
        if (r == 0)
            times = t < 1e-3 ? (long)(1e-3 / (t + 1e-9)) + 1 : 1;
        else if (t / (double)times < best)
            best = t / (double)times;
    }
    return 1e6 * best;
}

/* A program called on a caller's arrays. */
typedef struct calls {
    tn_exec *exec;
    const void *in[MOST_INPUTS];
    void *out[1];
} calls;

static void call_program(void *data) {
    calls *b = data;
    (void)tn_call(b->exec, b->in, b->out);
}

/* Of the entries that vary: the others are not computed. */
static int64_t colors_of(const measured *m) {
    const tn_sparse_options o = {.size = sizeof o, .varying_only = true};
    const tn_coloring_options how = {.size = sizeof how, .reverse_cost = 2};
    tn_sparsity *s = NULL;
    tn_fn *j = (m->hessian ? tn_sparse_hessian : tn_sparse_jacobian)(m->f, tn_wrt(0), &o, &s);
    tn_coloring *k = j ? tn_color(s, &how) : NULL;
    tn_coloring_arrays a = {.size = sizeof a};
    const int64_t n = k && tn_coloring_view(k, &a) == TN_OK ? a.forward + a.reverse : -1;
    if (n < 0) fail(m);
    tn_coloring_free(k);
    tn_sparsity_free(s);
    tn_fn_free(j);
    return n;
}

static void backend(const measured *m, const tn_fn *j, int which, int64_t nnz, int64_t colors, double made,
                    double hand) {
    const tn_compile_options o = {.size = sizeof o, .backend = which};
    const double start = wall();
    tn_exec *e = tn_compile(j, &o);
    const double compiled = wall() - start;
    calls k = {.exec = e, .out = {room((size_t)nnz, sizeof(double))}};
    memcpy(k.in, m->in, sizeof k.in);
    if (!e || tn_call(e, k.in, k.out) != TN_OK) fail(m);
    const double us = least(call_program, &k);
    printf("{\"case\": \"%s\", \"backend\": \"%s\", \"nnz\": %lld, \"colors_of_varying\": %lld, \"us\": %.2f, "
           "\"hand_us\": %.2f, "
           "\"ratio\": %.2f, \"made_ms\": %.2f, \"compiled_ms\": %.1f}\n",
           m->name, which == TN_BACKEND_NATIVE ? "native" : "default", (long long)nnz, (long long)colors, us, hand,
           us / hand, 1e3 * made, 1e3 * compiled);
    (void)fflush(stdout);
    free(k.out[0]);
    tn_exec_free(e);
}

static void run(const measured *m) {
    const tn_sparse_options o = {.size = sizeof o, .triangle = m->hessian ? TN_LOWER : TN_FULL};
    const double start = wall();
    if (!m->f) fail(m);
    tn_fn *j = (m->hessian ? tn_sparse_hessian : tn_sparse_jacobian)(m->f, tn_wrt(0), &o, NULL);
    const double made = wall() - start;
    if (!j) fail(m);
    const double hand = least(m->by_hand, m->data);
    for (int which = 0; which < 2; which++)
        backend(m, j, which ? TN_BACKEND_NATIVE : 0, tn_fn_output_type(j, 0).dim[0], colors_of(m), made, hand);
    tn_fn_free(j);
}

static double *numbers(int64_t n) {
    double *x = room((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = sin(1.0 + 3.0 * (double)i);
    return x;
}

/* ---- the cart-pole ------------------------------------------------------------------------------------ */

/* sigma x' cost, and the multipliers of one interval: its Lagrangian. */
static tn_val interval(const tn_val *in, void *user) {
    const tn_val cost = tn_mul(2.0 / OCP_STEPS, tn_square(tn_at(in[0], OCP_STATE)));
    return tn_add(tn_mul(in[1], cost), tn_dot(in[2], tn_apply(user, 1, in)));
}

static tn_exec *native(const measured *m, tn_fn *f) {
    const tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_NATIVE};
    tn_exec *e = f ? tn_compile(f, &o) : NULL;
    if (!e) fail(m);
    return e;
}

static void ocp(const char *name, bool hessian, bool loop) {
    measured m = {.name = name, .c = tn_ctx_new(NULL), .hessian = hessian};
    tn_fn *g = (loop ? ocp_g_by_scan : ocp_g)(m.c),
          *flow = tn_trace(m.c, ocp_flow, NULL, 1, TN_TYPES(tn_f64(OCP_STEP))), *f = ocp_f(m.c);
    double *x = numbers(OCP_X), sigma = 1, *lambda = numbers(OCP_G), *out = numbers(OCP_STEPS * 25);
    calls b = {.in = {x, &sigma, lambda}, .out = {out}};
    if (hessian) {
        m.f = tn_lagrangian(f, g);
        tn_fn *one = tn_trace(m.c, interval, flow, 3, TN_TYPES(tn_f64(OCP_STEP), tn_f64(), tn_f64(OCP_STATE)));
        tn_fn *h = tn_hessian(one, tn_wrt(0), NULL, 0);
        b.exec = native(&m, tn_vmap(h, OCP_STEPS, (const int[]){0, TN_NOT_MAPPED, 0}, NULL));
    } else {
        m.f = g;
        b.exec = native(&m, tn_vmap(tn_jacfwd(flow, NULL, 0), OCP_STEPS, NULL, NULL));
    }
    m.in[0] = x;
    m.in[1] = &sigma;
    m.in[2] = lambda;
    m.by_hand = call_program;
    m.data = &b;
    run(&m);
    free(x);
    free(lambda);
    free(out);
    tn_ctx_free(m.c);
}

static void ocp_jacobian(void) { ocp("ocp_jacobian", false, false); }
static void ocp_hessian(void) { ocp("ocp_hessian", true, false); }
static void ocp_loop_jacobian(void) { ocp("ocp_loop", false, true); }

/* ---- Bratu -------------------------------------------------------------------------------------------------- */

static void hand_bratu(void *data) { c_bratu_jacobian(data); }

static void bratu_jacobian(void) {
    enum { SIDE = 100, N = SIDE * SIDE };
    measured m = {.name = "bratu_jacobian", .c = tn_ctx_new(NULL), .by_hand = hand_bratu};
    double *x = numbers(N), *work = numbers(N), *values = numbers(5 * N);
    for (int i = 0; i < N; i++) x[i] = 0.5 + 0.4 * x[i];
    c_bratu b = {SIDE, 6.8, x, work, values};
    m.f = bratu_f(m.c, SIDE, TN_F64);
    m.in[0] = x;
    m.data = &b;
    run(&m);
    free(x);
    free(work);
    free(values);
    tn_ctx_free(m.c);
}

/* ---- bundle adjustment ----------------------------------------------------------------------------------------- */

static double *rows, *weights;
static void hand_bundle(void *data) { c_bundle_jacobian(data, rows, weights); }

/* How the program is written: over arrays of observations, over one that is mapped, or as a loop over them. */
typedef enum written { OBSERVATIONS, MAPPED, LOOP } written;

static void bundle_by(written as) {
    static const char *const name[] = {"bundle_jacobian", "bundle_blocks", "bundle_loop"};
    enum { CAMERAS = 50, POINTS = 2000, N = 9 * CAMERAS + 3 * POINTS, P = 4 * POINTS };
    measured m = {.name = name[as], .c = tn_ctx_new(NULL), .by_hand = hand_bundle};
    double *x = numbers(N), *camera = numbers(11 * CAMERAS), *point = numbers(3 * POINTS), *weight = numbers(P),
           *feature = numbers(2 * P);
    int32_t *index = room(2 * P, sizeof *index);
    for (int k = 0; k < P; k++) index[P + k] = k / 4, index[k] = (7 * (k / 4) + 3 * (k % 4)) % CAMERAS;
    c_bundle b = {P, camera, point, weight, feature, index};
    rows = numbers(30 * P);
    weights = numbers(P);
    m.f = as == OBSERVATIONS ? bundle_f(m.c, CAMERAS, POINTS) : bundle_f_by_blocks(m.c, CAMERAS, POINTS, as == LOOP);
    m.in[0] = x;
    m.data = &b;
    run(&m);
    double *const all[] = {x, camera, point, weight, feature, rows, weights};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    free(index);
    tn_ctx_free(m.c);
}

/* ---- dense by nature ------------------------------------------------------------------------------------------------
 */

enum { WIDE = 200 };

/* Two layers, in which everything depends on everything; few outputs or many. */
static tn_val dense_layers(const tn_val *in, void *user) {
    const int64_t outputs = *(const int64_t *)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    double *w = numbers(WIDE * WIDE), *v = numbers(outputs * WIDE);
    const tn_val a = tn_constant(c, tn_f64(WIDE, WIDE), w), b = tn_constant(c, tn_f64(outputs, WIDE), v);
    free(w);
    free(v);
    return tn_tanh(tn_matmul(b, tn_tanh(tn_matmul(a, in[0]))));
}

/* The sparse derivative beside the dense one of the mode that is better. */
static void dense_of(const char *name, int64_t outputs) {
    measured m = {.name = name, .c = tn_ctx_new(NULL)};
    double *x = numbers(WIDE);
    m.f = tn_trace(m.c, dense_layers, &outputs, 1, TN_TYPES(tn_f64(WIDE)));
    m.in[0] = x;
    m.data = &(calls){.in = {x}, .out = {room((size_t)(outputs * WIDE), sizeof(double))}};
    m.by_hand = call_program;
    calls *by = m.data;
    tn_fn *j = !m.f ? NULL : outputs < WIDE ? tn_jacrev(m.f, NULL, NULL, 0) : tn_jacfwd(m.f, NULL, 0);
    by->exec = j ? tn_compile(j, NULL) : NULL;
    if (!by->exec) fail(&m);
    run(&m);
    free(by->out[0]);
    free(x);
    tn_ctx_free(m.c);
}

static void dense_jacobian(void) { dense_of("dense_jacobian", WIDE); }
static void dense_few_rows(void) { dense_of("dense_few_rows", 20); }

/* ---- patterns and colours ---------------------------------------------------------------------------------------- */

static tn_sparsity *pattern_of(const measured *m) {
    tn_sparsity *s = tn_jacobian_sparsity(m->f, tn_wrt(0), NULL);
    if (!s) fail(m);
    return s;
}

static void only_pattern(void *data) { tn_sparsity_free(pattern_of(data)); }

static void pattern_and_colors(void *data) {
    const measured *m = data;
    tn_sparsity *s = pattern_of(m);
    tn_coloring *k = tn_color(s, NULL);
    if (!k) fail(m);
    tn_coloring_free(k);
    tn_sparsity_free(s);
}

static void pattern(const char *name, tn_fn *(*make)(tn_ctx *)) {
    measured m = {.name = name, .c = tn_ctx_new(NULL)};
    m.f = make(m.c);
    if (!m.f) fail(&m);
    tn_sparsity *s = pattern_of(&m);
    tn_coloring *k = tn_color(s, NULL);
    tn_coloring_arrays a = {.size = sizeof a};
    tn_sparsity_arrays p = {.size = sizeof p};
    if (!k || tn_coloring_view(k, &a) != TN_OK || tn_sparsity_view(s, TN_CSR, TN_FULL, &p) != TN_OK) fail(&m);
    printf("{\"case\": \"%s\", \"nnz\": %lld, \"colors\": %lld, \"pattern_ms\": %.2f, \"with_colors_ms\": %.2f, "
           "\"peak_MiB\": %ld}\n",
           name, (long long)p.nnz, (long long)(a.forward + a.reverse), 1e-3 * least(only_pattern, &m),
           1e-3 * least(pattern_and_colors, &m), peak_rss() / 1024);
    (void)fflush(stdout);
    tn_ctx_free(m.c);
}

static tn_fn *bratu_100(tn_ctx *c) { return bratu_f(c, 100, TN_F64); }
static tn_fn *bratu_1000(tn_ctx *c) { return bratu_f(c, 1000, TN_F64); }
static tn_fn *bundle_8000(tn_ctx *c) { return bundle_f(c, 50, 2000); }
static void pattern_bratu(void) { pattern("pattern_bratu", bratu_100); }
static void pattern_million(void) { pattern("pattern_million", bratu_1000); }
static void pattern_bundle(void) { pattern("pattern_bundle", bundle_8000); }

static void bundle_jacobian(void) { bundle_by(OBSERVATIONS); }
static void bundle_blocks(void) { bundle_by(MAPPED); }
static void bundle_loop(void) { bundle_by(LOOP); }

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"ocp_jacobian", ocp_jacobian},     {"ocp_hessian", ocp_hessian},         {"ocp_loop", ocp_loop_jacobian},
        {"bratu_jacobian", bratu_jacobian}, {"bundle_jacobian", bundle_jacobian}, {"bundle_blocks", bundle_blocks},
        {"bundle_loop", bundle_loop},       {"dense_jacobian", dense_jacobian},   {"dense_few_rows", dense_few_rows},
        {"pattern_bratu", pattern_bratu},   {"pattern_bundle", pattern_bundle},   {"pattern_million", pattern_million}};
    char cpu[128];
    cpu_model(cpu, sizeof cpu);
    printf("{\"cpu\": \"%s\"}\n", cpu);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++) wanted |= !strcmp(argv[i], cases[k].name);
        if (wanted) cases[k].run();
    }
    return 0;
}
