/* Job 1: the loss as a program, its two halves and the transpose; and whether
 * the gradient is right. */
#include "demo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A row of the table, and the text to a file. */
static bool show(const demo *d, const char *name, const tn_fn *f) {
    char file[32];
    tn_cost_report cost = {.size = sizeof cost};
    size_t n;
    char *text = tn_fn_print(f, &n);
    bool ok = text && tn_cost(f, &cost) == TN_OK ? true : failed(d, name);
    if (ok)
        printf("   %-12s %8zu %8zu %8zu %10zu %10.0f %10.0f\n", name, tn_fn_inputs(f), tn_fn_linear_inputs(f),
               tn_fn_outputs(f), tn_fn_equations(f), cost.flops / 1e3, cost.peak_bytes / 1024);
    (void)snprintf(file, sizeof file, "%s.tn", name);
    ok = ok && file_write(d, file, text, n);
    tn_text_free(d->ctx, text);
    return ok;
}

/* Lines from..to of a program's text (negative: from the end), cut at the right. */
static bool excerpt(const demo *d, const char *what, const tn_fn *f, int from, int to) {
    enum { COLUMNS = 96 };
    char *text = tn_fn_print(f, NULL);
    if (!text) return failed(d, "printing");
    int lines = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    from += from < 0 ? lines : 0;
    to += to < 0 ? lines : 0;
    printf("\n   %s\n\n", what);
    const char *at = text;
    for (int i = 0; i <= to && *at; i++) {
        const int n = (int)strcspn(at, "\n");
        if (i >= from) printf(n > COLUMNS ? "      %.*s ..\n" : "      %.*s\n", n > COLUMNS ? COLUMNS : n, at);
        at += n + (at[n] == '\n');
    }
    tn_text_free(d->ctx, text);
    return true;
}

/* The programs of each stage, as tn_vjp goes through them. */
static bool stages(const demo *d, const tn_fn *f) {
    tn_linearized l = tn_linearize(f, TN_STRUCT_WRT(mlp, 0), NULL);
    tn_fn *t = tn_transpose(l.linear), *g = tn_grad(f, TN_STRUCT_WRT(mlp, 0), NULL);
    bool ok = t && g ? true : failed(d, "transforming the loss");
    if (ok) {
        printf("   %-12s %8s %8s %8s %10s %10s %10s\n", "program", "inputs", "linear", "outputs", "equations",
               "kiloflop", "arena KiB");
        ok = show(d, "loss", f) && show(d, "primal", l.primal) && show(d, "linear", l.linear) &&
             show(d, "transposed", t) && show(d, "gradient", g);
    }
    if (ok) {
        printf("\n   The text of each is in %s/NAME.tn.\n", d->out);
        ok = excerpt(d, "The loss begins:", f, 0, 7) &&
             excerpt(d, "The transposed program ends with the gradients of w2, b1 and w1:", t, -6, -1);
    }
    tn_fn_free(l.primal);
    tn_fn_free(l.linear);
    tn_fn_free(t);
    tn_fn_free(g);
    return ok;
}

typedef struct point {
    mlp p, u, shifted, gradient; /* u: a direction */
    double x[BATCH * PIXELS];
    int32_t y[BATCH];
} point;

/* All parameters as one array. */
static double *flat(mlp *p) { return tn_struct_flat(&mlp_struct, p, TN_F64); }

static bool loss_at(tn_exec *e, point *at, double h, double *value) {
    double *to = flat(&at->shifted);
    const double *p = flat(&at->p), *u = flat(&at->u);
    for (size_t i = 0; i < tn_struct_floats(&mlp_struct); i++) to[i] = p[i] + h * u[i];
    return tn_call(e, TN_INPUTS(TN_STRUCT_IN(mlp, &at->shifted), at->x, at->y), TN_OUTPUTS(value)) == TN_OK;
}

/* The derivative along u: by the gradient, and by central differences of h and h/2, extrapolated. */
static bool along(tn_exec *f, tn_exec *g, point *at, double *exact, double *difference) {
    double v[4];
    const double h = 1e-3, *gradient = flat(&at->gradient), *u = flat(&at->u);
    if (tn_call(g, TN_INPUTS(TN_STRUCT_IN(mlp, &at->p), at->x, at->y), TN_OUTPUTS(TN_STRUCT_OUT(mlp, &at->gradient))) !=
        TN_OK)
        return false;
    *exact = 0;
    for (size_t i = 0; i < tn_struct_floats(&mlp_struct); i++) *exact += gradient[i] * u[i];
    if (!loss_at(f, at, h, &v[0]) || !loss_at(f, at, -h, &v[1]) || !loss_at(f, at, h / 2, &v[2]) ||
        !loss_at(f, at, -h / 2, &v[3]))
        return false;
    *difference = (4 * (v[2] - v[3]) / h - (v[0] - v[1]) / (2 * h)) / 3;
    return true;
}

static bool compare(demo *d, const tn_fn *f, point *at) {
    tn_fn *gradient = tn_grad(f, TN_STRUCT_WRT(mlp, 0), NULL);
    tn_exec *e = tn_compile(f, NULL), *g = tn_compile(gradient, NULL);
    double exact = 0, difference = 0;
    const bool ok =
        e && g && along(e, g, at, &exact, &difference) ? true : failed(d, "the derivative along a direction");
    if (ok) {
        const double error = fabs(exact - difference);
        printf("\n   along a random direction: %.12f by the gradient\n"
               "                             %.12f by finite differences (%.0e apart)\n",
               exact, difference, error);
        aim(d, error <= 1e-8 * fmax(fabs(exact), 1), "gradient and finite differences are %.0e apart (<= 1e-8)", error);
    }
    tn_exec_free(e);
    tn_exec_free(g);
    tn_fn_free(gradient);
    return ok;
}

/* The library's own check: more directions, the transpose, and second derivatives. */
static void check(demo *d, const tn_fn *f, const point *at) {
    const tn_check_options opt = {.size = sizeof opt, .seed = d->seed, .order = 2};
    const tn_status s =
        tn_check_grads(f, TN_INPUTS(TN_STRUCT_IN(mlp, &at->p), at->x, at->y), TN_STRUCT_WRT(mlp, 0), &opt);
    if (s != TN_OK) printf("   tn_check_grads: %s\n", tn_error(d->ctx));
    aim(d, s == TN_OK, "tn_check_grads finds first and second derivatives right");
}

bool programs(demo *d, const table *digits) {
    heading(d, 1, "A loss in C, traced and differentiated");
    printf("   64-128-10, tanh, softmax cross-entropy, f64, %d rows at a time\n\n", BATCH);
    static point at;
    rng r = {d->seed};
    mlp_init(&r, &at.p);
    mlp_init(&r, &at.u);
    for (size_t i = 0; i < BATCH && i < digits->rows; i++) digit(digits, i, &at.x[i * PIXELS], &at.y[i]);
    tn_fn *f = mlp_loss(d->ctx, BATCH);
    const bool ok = f ? stages(d, f) && compare(d, f, &at) : failed(d, "tracing the loss");
    if (ok) check(d, f, &at);
    tn_fn_free(f);
    return ok;
}
