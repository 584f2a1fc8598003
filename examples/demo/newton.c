/* Job 3: logistic regression by Newton's method.  The Hessian is never built:
 * conjugate gradients ask for its products with vectors, which are forward mode
 * over reverse mode. */
#include "demo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 30, N = FEATURES + 1, MAX_ITERATIONS = 15, MAX_CG = 4 * N, MAX_HALVINGS = 40 };
static const double PENALTY = 1e-3;

/* Mean of ln(1 + e^z) - y z, z = x w + b, and a penalty on w but not on b; in: (w.., b), x, y. */
static tn_val loss(const tn_val *in, void *user) {
    const double *penalty = user;
    tn_val w = tn_slice_axis(in[0], 0, FEATURES, 1, 0), b = tn_at(in[0], FEATURES);
    tn_val z = tn_add(tn_matmul(in[1], w), b);
    tn_val fit = tn_mean(tn_sub(tn_softplus(z), tn_mul(in[2], z)));
    return tn_add(fit, tn_mul(0.5 * *penalty, tn_sum_squares(w)));
}

typedef struct problem {
    demo *d;
    tn_exec *value, *value_and_grad, *hvp;
    double *x, *y; /* standardised features; 1: benign */
    double value_at, g[N], w[N], p[N], r[N], z[N];
} problem;

static double dot(const double *a, const double *b) {
    double s = 0;
    for (int i = 0; i < N; i++) s += a[i] * b[i];
    return s;
}

/* ---- data ---- */

static bool standardise(problem *q, const table *t) {
    q->x = calloc(t->rows * FEATURES, sizeof *q->x);
    q->y = calloc(t->rows, sizeof *q->y);
    if (!q->x || !q->y) {
        fprintf(stderr, "out of memory\n");
        return false;
    }
    const double n = (double)t->rows;
    for (size_t j = 0; j < FEATURES; j++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < t->rows; i++) mean += t->cell[i * t->cols + j] / n;
        for (size_t i = 0; i < t->rows; i++) square += pow(t->cell[i * t->cols + j] - mean, 2) / n;
        const double deviation = square > 0 ? sqrt(square) : 1;
        for (size_t i = 0; i < t->rows; i++) q->x[i * FEATURES + j] = (t->cell[i * t->cols + j] - mean) / deviation;
    }
    for (size_t i = 0; i < t->rows; i++) q->y[i] = t->cell[i * t->cols + FEATURES];
    return true;
}

/* ---- programs ---- */

static bool compile(problem *q, int64_t rows) {
    double penalty = PENALTY;
    tn_fn *f = tn_trace(q->d->ctx, loss, &penalty, TN_ARGS(tn_f64(N), tn_f64(rows, FEATURES), tn_f64(rows)));
    tn_fn *vg = tn_value_and_grad(f, tn_wrt(0), NULL), *g = tn_grad(f, tn_wrt(0), NULL);
    tn_fn *h = tn_jvp(g, tn_wrt(0)); /* (w, x, y, v) -> (gradient, H v) */
    q->value = tn_compile(f, NULL);
    q->value_and_grad = tn_compile(vg, NULL);
    q->hvp = tn_compile(h, NULL);
    if (h)
        printf("   equations: loss %zu, with its gradient %zu, with Hessian-vector products %zu\n\n",
               tn_fn_equations(f), tn_fn_equations(vg), tn_fn_equations(h));
    tn_fn_free(f);
    tn_fn_free(vg);
    tn_fn_free(g);
    tn_fn_free(h);
    return q->value && q->value_and_grad && q->hvp;
}

static bool value_and_grad(problem *q) {
    return tn_call(q->value_and_grad, TN_INPUTS(q->w, q->x, q->y), TN_OUTPUTS(&q->value_at, q->g)) == TN_OK;
}

static bool value_along(problem *q, double step, double *value) {
    double w[N];
    for (int i = 0; i < N; i++) w[i] = q->w[i] + step * q->p[i];
    return tn_call(q->value, TN_INPUTS(w, q->x, q->y), TN_OUTPUTS(value)) == TN_OK;
}

/* The gradient that comes along is not asked for, so it is not written. */
static bool hessian_times(problem *q, const double *v, double *hv) {
    return tn_call(q->hvp, TN_INPUTS(q->w, q->x, q->y, v), TN_OUTPUTS(NULL, hv)) == TN_OK;
}

/* ---- the method ---- */

/* Solves H p = -g until |H p + g| <= tolerance; -1 after a failed call.  H is
 * positive definite here, because of the penalty. */
static int conjugate_gradients(problem *q, double tolerance) {
    double v[N], hv[N];
    memset(q->p, 0, sizeof q->p);
    for (int i = 0; i < N; i++) v[i] = q->r[i] = -q->g[i];
    double rr = dot(q->r, q->r);
    int k = 0;
    for (; k < MAX_CG && sqrt(rr) > tolerance; k++) {
        if (!hessian_times(q, v, hv)) return -1;
        const double alpha = rr / dot(v, hv), before = rr;
        for (int i = 0; i < N; i++) {
            q->p[i] += alpha * v[i];
            q->r[i] -= alpha * hv[i];
        }
        rr = dot(q->r, q->r);
        for (int i = 0; i < N; i++) v[i] = q->r[i] + rr / before * v[i];
    }
    return k;
}

/* Halves the step until the loss falls by a ten-thousandth of what its slope
 * promises (Armijo); close to the minimum rounding is allowed for.  0: in vain, -1: a failed call. */
static double line_search(problem *q) {
    const double slope = dot(q->g, q->p), rounding = 1e-15 * fabs(q->value_at);
    double step = 1, value;
    for (int i = 0; i < MAX_HALVINGS; i++, step /= 2) {
        if (!value_along(q, step, &value)) return -1;
        if (value <= q->value_at + 1e-4 * step * slope + rounding) return step;
    }
    return 0;
}

/* The number of Newton steps taken, until |g| is small, there were too many, or
 * no step lowers the loss; -1 after a failed call. */
static int minimise(problem *q, double *norm) {
    printf("   %9s  %14s  %9s  %8s  %6s\n", "iteration", "loss", "|g|", "CG steps", "step");
    for (int k = 0;; k++) {
        if (!value_and_grad(q)) return -1;
        *norm = sqrt(dot(q->g, q->g));
        printf("   %9d  %14.12f  %9.2e", k, q->value_at, *norm);
        const int cg = *norm < 1e-8 || k == MAX_ITERATIONS ? 0 : conjugate_gradients(q, fmin(0.1, *norm) * *norm);
        if (cg < 0) return -1;
        const double step = cg > 0 ? line_search(q) : 0;
        if (step < 0) return -1;
        if (step == 0) {
            putchar('\n');
            return k;
        }
        printf("  %8d  %6g\n", cg, step);
        for (int i = 0; i < N; i++) q->w[i] += step * q->p[i];
    }
}

static double accuracy(const problem *q, size_t rows) {
    size_t right = 0;
    for (size_t i = 0; i < rows; i++) {
        double z = q->w[FEATURES];
        for (int j = 0; j < FEATURES; j++) z += q->x[i * FEATURES + (size_t)j] * q->w[j];
        right += (z > 0) == (q->y[i] > 0.5);
    }
    return 100.0 * (double)right / (double)rows;
}

bool newton(demo *d, const table *breast_cancer) {
    heading(d, 3, "Newton-CG with Hessian-vector products");
    printf("   logistic regression, %zu rows of %d standardised features, L2 penalty %g\n", breast_cancer->rows,
           FEATURES, PENALTY);
    problem q = {.d = d};
    double norm = 0;
    const double start = seconds();
    bool ok = standardise(&q, breast_cancer);
    if (ok && !compile(&q, (int64_t)breast_cancer->rows)) ok = failed(d, "compiling the regression");
    const int steps = ok ? minimise(&q, &norm) : -1;
    if (ok && steps < 0) (void)failed(d, "minimising the regression's loss");
    if (steps >= 0) {
        printf("\n   %.2f %% of the rows it was fitted to are classified right; %.0f ms in all\n",
               accuracy(&q, breast_cancer->rows), 1e3 * (seconds() - start));
        aim(d, norm < 1e-8 && steps <= MAX_ITERATIONS, "|gradient| is %.1e (< 1e-8) after %d Newton steps (<= %d)",
            norm, steps, MAX_ITERATIONS);
    }
    tn_exec_free(q.value);
    tn_exec_free(q.value_and_grad);
    tn_exec_free(q.hvp);
    free(q.x);
    free(q.y);
    return steps >= 0;
}
