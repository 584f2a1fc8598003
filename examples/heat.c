/* What did the plate look like before the heat spread?
 *
 * A plate of 64 x 64 points, insulated at its edges, conducts heat the better the hotter it is.  Its temperature is
 * measured after 120 steps, with noise; the temperature at the beginning is found by minimizing
 *
 *     1/2 |plate after 120 steps - measured|^2 + penalty * (total variation of the beginning)
 *
 * with L-BFGS.  The steps are one loop (tn_fori) with the schedule `revolve:8`: its gradient keeps 8 plates instead of
 * 120, and runs steps again.
 *
 *     heat [--short] [FILE.svg]     writes a picture of the beginning, what was measured, and what was found
 *
 * The exit status is 0 when the gradient agrees with finite differences and what was found is much nearer to the
 * truth than what was measured. */
#include "plates.h"

#include <tansy.h>
#include <tansy/loops.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, POINTS = N * N, STEPS = 120, MEMORY = 8 };

/* ---- the program ------------------------------------------------------------------------------- */

/* Differences of neighbours along one axis. */
static tn_val differences(tn_val u, int axis) {
    return tn_sub(tn_slice_axis(u, 1, N, 1, axis), tn_slice_axis(u, 0, N - 1, 1, axis));
}

/* What flows in less what flows out; nothing crosses the edges. */
static tn_val divergence(tn_val flux, int axis) {
    const bool rows = axis == 0;
    const tn_val in = tn_pad(flux, 0.0, tn_ints(0, 0), tn_ints(rows, !rows), tn_ints(0, 0));
    const tn_val out = tn_pad(flux, 0.0, tn_ints(rows, !rows), tn_ints(0, 0), tn_ints(0, 0));
    return tn_sub(in, out);
}

/* u <- u + r div((1 + u) grad u), as the flux of u + u^2/2. */
static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val u = carry[0], w = tn_add(u, tn_mul(0.5, tn_square(u)));
    const tn_val rows = divergence(differences(w, 0), 0), columns = divergence(differences(w, 1), 1);
    next[0] = tn_add(u, tn_mul(0.05, tn_add(rows, columns)));
}

static tn_val after_steps(tn_val u) {
    const tn_loop_options o = {.size = sizeof o, .schedule = "revolve:8"};
    tn_fori(NULL, 0, STEPS, step, NULL, 1, &u, &u, &o);
    return u;
}

static tn_val plate_later(const tn_val *in, void *user) {
    (void)user;
    return after_steps(in[0]);
}

/* in: the beginning, what was measured, penalty */
static tn_val objective(const tn_val *in, void *user) {
    (void)user;
    const tn_val misfit = tn_sub(after_steps(in[0]), in[1]);
    const tn_val rows = tn_square(tn_slice_axis(differences(in[0], 0), 0, N - 1, 1, 1));
    const tn_val columns = tn_square(tn_slice_axis(differences(in[0], 1), 0, N - 1, 1, 0));
    const tn_val variation = tn_sum(tn_sqrt(tn_add(tn_add(rows, columns), 1e-4)));
    return tn_add(tn_mul(0.5, tn_sum_squares(misfit)), tn_mul(in[2], variation));
}

/* ---- the plate ----------------------------------------------------------------------------------- */

static double random_number(void *state) {
    uint64_t *s = state;
    double sum = -6; /* of twelve in 0..1: nearly normal */
    for (int i = 0; i < 12; i++) {
        *s ^= *s << 13;
        *s ^= *s >> 7;
        *s ^= *s << 17;
        sum += (double)(*s >> 11) * 0x1p-53;
    }
    return sum;
}

/* A ring, a bar and a cross. */
static double hot(int i, int j) {
    const double ring = hypot(i - 20, j - 20);
    const bool bar = i > 8 && i < 28 && j > 42 && j < 52;
    const bool cross = (abs(i - 46) < 4 && abs(j - 34) < 18) || (abs(j - 34) < 4 && abs(i - 46) < 14);
    return (ring > 6 && ring < 13 ? 1 : 0) + (bar ? 0.7 : 0) + (cross ? 0.85 : 0);
}

static double rms(const double *a, const double *b) {
    double s = 0;
    for (int k = 0; k < POINTS; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(s / POINTS);
}

/* ---- L-BFGS ---------------------------------------------------------------------------------------- */

typedef struct problem {
    tn_exec *exec; /* the objective and its gradient */
    const double *measured;
    double penalty;
    int calls;
} problem;

static double dot(const double *a, const double *b) {
    double s = 0;
    for (int k = 0; k < POINTS; k++) s += a[k] * b[k];
    return s;
}

/* NAN after an error. */
static double value_and_gradient(problem *p, const double *u, double *g) {
    double f;
    p->calls++;
    if (tn_call(p->exec, TN_INPUTS(u, p->measured, &p->penalty), TN_OUTPUTS(&f, g)) != TN_OK) return NAN;
    return f;
}

/* The latest steps and what they did to the gradient. */
typedef struct history {
    double s[MEMORY][POINTS], y[MEMORY][POINTS], rho[MEMORY];
    int n;
} history;

static void direction(const history *h, const double *g, double *d) {
    double alpha[MEMORY] = {0};
    const int from = h->n > MEMORY ? h->n - MEMORY : 0;
    for (int k = 0; k < POINTS; k++) d[k] = -g[k];
    for (int i = h->n; i-- > from;) {
        const int m = i % MEMORY;
        alpha[m] = h->rho[m] * dot(h->s[m], d);
        for (int k = 0; k < POINTS; k++) d[k] -= alpha[m] * h->y[m][k];
    }
    if (h->n) {
        const int m = (h->n - 1) % MEMORY;
        const double scale = 1 / (h->rho[m] * dot(h->y[m], h->y[m]));
        for (int k = 0; k < POINTS; k++) d[k] *= scale;
    }
    for (int i = from; i < h->n; i++) {
        const int m = i % MEMORY;
        const double beta = h->rho[m] * dot(h->y[m], d);
        for (int k = 0; k < POINTS; k++) d[k] += (alpha[m] - beta) * h->s[m][k];
    }
}

static void remember(history *h, const double *u, const double *v, const double *g, const double *w) {
    const int m = h->n % MEMORY;
    for (int k = 0; k < POINTS; k++) {
        h->s[m][k] = v[k] - u[k];
        h->y[m][k] = w[k] - g[k];
    }
    const double sy = dot(h->s[m], h->y[m]);
    if (sy <= 1e-12 * dot(h->y[m], h->y[m])) return;
    h->rho[m] = 1 / sy;
    h->n++;
}

static void bar(int done, int all, double f) {
    fprintf(stderr, "\r  [");
    for (int i = 0; i < 40; i++) fputc(40 * done >= (i + 1) * all ? '#' : '.', stderr);
    fprintf(stderr, "] %3d of %d, objective %.4f%s", done, all, f, done == all ? "\n" : "");
    (void)fflush(stderr);
}

/* From u, into u; the objective, or NAN after an error. */
static double minimize(problem *p, double *u, int iterations) {
    static history h;
    static double g[POINTS], d[POINTS], v[POINTS], w[POINTS];
    double f = value_and_gradient(p, u, g);
    for (int i = 0; i < iterations && isfinite(f); i++) {
        double t = h.n ? 1 : 0.1 / sqrt(dot(g, g)), f_new = NAN;
        direction(&h, g, d);
        const double slope = dot(g, d);
        for (int tries = 0; tries < 20; tries++, t /= 2) {
            for (int k = 0; k < POINTS; k++) v[k] = u[k] + t * d[k];
            f_new = value_and_gradient(p, v, w);
            if (f_new <= f + 1e-4 * t * slope) break; /* never so for NaN */
        }
        if (!(f_new < f)) return f;
        remember(&h, u, v, g, w);
        memcpy(u, v, sizeof v);
        memcpy(g, w, sizeof w);
        f = f_new;
        bar(i + 1, iterations, f);
    }
    return f;
}

/* The directional derivative less its finite difference, of the derivative. */
static double gradient_error(problem *p, const double *u) {
    static double g[POINTS], d[POINTS], v[POINTS], w[POINTS];
    uint64_t seed = 5;
    const double h = 1e-5;
    (void)value_and_gradient(p, u, g);
    for (int k = 0; k < POINTS; k++) d[k] = random_number(&seed);
    for (int k = 0; k < POINTS; k++) v[k] = u[k] + h * d[k];
    const double up = value_and_gradient(p, v, w);
    for (int k = 0; k < POINTS; k++) v[k] = u[k] - h * d[k];
    const double down = value_and_gradient(p, v, w), slope = dot(g, d);
    return fabs((up - down) / (2 * h) - slope) / fabs(slope);
}

/* ---- all together ------------------------------------------------------------------------------------- */

static bool programs(tn_ctx *c, tn_exec **later, problem *p) {
    tn_fn *f = tn_trace(c, plate_later, NULL, TN_ARGS(tn_f64(N, N)));
    tn_fn *j = f ? tn_trace(c, objective, NULL, TN_ARGS(tn_f64(N, N), tn_f64(N, N), tn_f64())) : NULL;
    tn_fn *g = j ? tn_value_and_grad(j, tn_wrt(0), NULL) : NULL;
    *later = g ? tn_compile(f, NULL) : NULL;
    p->exec = *later ? tn_compile(g, NULL) : NULL;
    return p->exec != NULL;
}

int main(int argc, char **argv) {
    static double before[POINTS], measured[POINTS], found[POINTS];
    const bool brief = argc > 1 && strcmp(argv[1], "--short") == 0;
    const char *path = argc > 1 + brief ? argv[1 + brief] : NULL;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *later;
    problem p = {.measured = measured, .penalty = 5e-4};
    uint64_t seed = 88172645463325252u;
    for (int k = 0; k < POINTS; k++) before[k] = hot(k / N, k % N);
    if (!c || !programs(c, &later, &p) || tn_call(later, TN_INPUTS(before), TN_OUTPUTS(measured)) != TN_OK) {
        fprintf(stderr, "%s\n", c ? tn_error(c) : "out of memory");
        tn_ctx_free(c);
        return 1;
    }
    for (int k = 0; k < POINTS; k++) measured[k] += 0.005 * random_number(&seed);
    memcpy(found, measured, sizeof found);

    printf("plate of %d x %d, %d steps; gradient in %.0f KiB, %.0f KiB of them for 8 states of %.0f KiB\n", N, N, STEPS,
           (double)tn_exec_bytes(p.exec) / 1024, 8.0 * POINTS * sizeof(double) / 1024,
           (double)POINTS * sizeof(double) / 1024);
    const double wrong = gradient_error(&p, found);
    const double f = minimize(&p, found, brief ? 30 : 300);
    const double start = rms(measured, before), end = rms(found, before);
    printf("gradient against finite differences: %.1e\n", wrong);
    printf("objective %.4f after %d gradients; distance to the truth %.4f measured, %.4f recovered\n", f, p.calls,
           start, end);
    static const char *const title[] = {"the beginning", "measured after 120 steps", "the beginning, recovered"};
    const bool drawn = !path || plates_draw(path, N, title, (const double *const[]){before, measured, found});
    if (!drawn) fprintf(stderr, "%s cannot be written\n", path);
    if (path && drawn) printf("picture: %s\n", path);
    tn_ctx_free(c); /* and everything made in it */
    return !(wrong < 1e-6 && end < (brief ? 0.7 : 0.5) * start && drawn);
}
