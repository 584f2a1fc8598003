/* What does an equation cost in a loop whose body is small?  Explicit steps of a Lorenz system as three scalars (RK4)
 * and of a chain of oscillators as one array of 4 and of 16 numbers (leapfrog), and their gradients, by default
 * and in native code.  One JSON line each: nanoseconds of a step, the equations that it runs, and what each takes (the
 * bar of the default: 4 ns). */
#include "measure.h"

#include <tansy.h>
#include <tansy/loops.h>

enum { STEPS = 20000, SAMPLES = 9, MOST = 16 };

typedef struct body {
    const char *name;
    tn_fori_fn step;
    size_t carries;
    int64_t width; /* 0: scalars */
} body;

static tn_val scaled(double h, tn_val d, tn_val y) { return tn_add(y, tn_mul(h, d)); }

static void lorenz_field(const tn_val y[3], tn_val d[3]) {
    d[0] = tn_mul(10.0, tn_sub(y[1], y[0]));
    d[1] = tn_sub(tn_mul(y[0], tn_sub(28.0, y[2])), y[1]);
    d[2] = tn_sub(tn_mul(y[0], y[1]), tn_mul(8.0 / 3, y[2]));
}

static void lorenz(tn_val i, const tn_val *y, tn_val *next, void *user) {
    (void)i, (void)user;
    const double h = 1e-5;
    tn_val k[4][3], at[3];
    lorenz_field(y, k[0]);
    for (int s = 1; s < 4; s++) {
        for (int j = 0; j < 3; j++) at[j] = scaled(s == 3 ? h : h / 2, k[s - 1][j], y[j]);
        lorenz_field(at, k[s]);
    }
    for (int j = 0; j < 3; j++)
        next[j] = scaled(h / 6, tn_add(tn_add(k[0][j], k[3][j]), tn_mul(2.0, tn_add(k[1][j], k[2][j]))), y[j]);
}

/* Duffing's oscillators: p' = -x - x^3 / 10, x' = p. */
static void leapfrog(tn_val i, const tn_val *y, tn_val *next, void *user) {
    (void)i, (void)user;
    const double h = 1e-3;
    const tn_val x = scaled(h / 2, y[1], y[0]), force = tn_mul(x, tn_add(1.0, tn_mul(0.1, tn_square(x))));
    const tn_val p = scaled(-h, force, y[1]);
    next[0] = scaled(h / 2, p, x);
    next[1] = p;
}

static const body BODY[] = {{"lorenz", lorenz, 3, 0},
                            {"leapfrog", leapfrog, 2, 0},
                            {"leapfrog", leapfrog, 2, 4},
                            {"leapfrog", leapfrog, 2, 16}};

static tn_val loss(const tn_val *in, void *user) {
    const body *b = user;
    tn_val y[3];
    tn_fori(NULL, 0, STEPS, b->step, NULL, b->carries, in, y, NULL);
    return tn_sum(tn_square(y[0]));
}

static double seconds_of(const tn_fn *f, int backend, double y[3][MOST], size_t outputs) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    double out[4][MOST], t[SAMPLES];
    void *to[4];
    for (size_t i = 0; i < outputs; i++) to[i] = out[i];
    for (int i = 0; i < SAMPLES; i++) {
        const double start = now();
        if (!e || tn_call(e, (const void *const[]){y[0], y[1], y[2]}, to) != TN_OK) return -1;
        t[i] = now() - start;
    }
    tn_exec_free(e);
    return median(t, SAMPLES);
}

static bool run(const body *b, const char *stage, const tn_fn *f, double y[3][MOST], size_t outputs, const char *cpu) {
    static const struct {
        const char *name;
        int backend;
    } on[] = {{"default", 0}, {"native", TN_BACKEND_NATIVE}};
    tn_cost_report cost = {.size = sizeof cost};
    bool ok = f && tn_cost(f, &cost) == TN_OK;
    for (size_t k = 0; ok && k < sizeof on / sizeof *on; k++) {
        const double s = seconds_of(f, on[k].backend, y, outputs), ns = 1e9 * s / cost.equations;
        if ((ok = s > 0))
            printf("{\"workload\": \"bodies\", \"body\": \"%s\", \"width\": %lld, \"stage\": \"%s\", \"backend\": "
                   "\"%s\", \"ns_per_step\": %.1f, \"equations\": %.1f, \"ns_per_equation\": %.2f, \"cpu\": \"%s\"}\n",
                   b->name, (long long)b->width, stage, on[k].name, 1e9 * s / STEPS, cost.equations / STEPS, ns, cpu);
    }
    return ok;
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    char cpu[128];
    bool ok = c != NULL;
    cpu_model(cpu, sizeof cpu);
    for (size_t k = 0; c && k < sizeof BODY / sizeof *BODY; k++) {
        const tn_type t = BODY[k].width ? tn_f64(BODY[k].width) : tn_f64();
        double y[3][MOST];
        for (int i = 0; i < 3 * MOST; i++) y[i / MOST][i % MOST] = 1 + 0.1 * (i % 7);
        tn_fn *f = tn_trace(c, loss, (void *)(uintptr_t)&BODY[k], BODY[k].carries, ((const tn_type[]){t, t, t}));
        tn_fn *g = f ? tn_value_and_grad(f, NULL, NULL) : NULL;
        ok = ok && run(&BODY[k], "f", f, y, 1, cpu);
        ok = ok && run(&BODY[k], "value_and_grad", g, y, 1 + BODY[k].carries, cpu);
        tn_fn_free(g);
        tn_fn_free(f);
    }
    if (c && *tn_error(c)) fprintf(stderr, "bodies: %s\n", tn_error(c));
    tn_ctx_free(c);
    return !ok;
}
