/* What did the plate look like before the heat spread?
 *
 * A plate of 64 x 64 points, insulated at its edges, conducts heat the better the hotter it is.  Its temperature is
 * measured after 120 steps, with noise; the temperature at the beginning is found by minimizing
 *
 *     1/2 |plate after 120 steps - measured|^2 + penalty * (total variation of the beginning)
 *
 * with L-BFGS (libtansy-lbfgs).  The steps are one loop (tn_fori) with the schedule `revolve:8`: its gradient keeps 8
 * plates instead of 120, and runs steps again.
 *
 *     heat_lbfgs [--short] [FILE.svg]     writes a picture of the beginning, what was measured, and what was found
 *
 * The exit status is 0 when the gradient agrees with finite differences and what was found is much nearer to the
 * truth than what was measured. */
#include "plates.h"

#include <tansy/lbfgs.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, POINTS = N * N, STEPS = 120 };

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

/* ---- the search -------------------------------------------------------------------------------------- */

static double dot(const double *a, const double *b) {
    double s = 0;
    for (int k = 0; k < POINTS; k++) s += a[k] * b[k];
    return s;
}

static int bar(void *user, const tn_lbfgs_iteration *i) {
    plates_bar((int)i->number, *(const int *)user, i->objective);
    return 0;
}

/* From what was measured; what is found belongs to the solver. */
static tn_lbfgs *minimize(const tn_fn *f, const double *measured, double penalty, int iterations, tn_lbfgs_result *r) {
    const tn_lbfgs_problem problem = {.size = sizeof problem, .f = f};
    const tn_lbfgs_options options = {
        .size = sizeof options, .max_iterations = iterations, .progress = bar, .progress_user = &iterations};
    const tn_lbfgs_start start = {.size = sizeof start, .x = measured, .p = (const void *[]){measured, &penalty}};
    tn_lbfgs *s = tn_lbfgs_new(&problem, &options);
    const tn_status status = tn_lbfgs_solve(s, &start, r);
    fputc('\n', stderr);
    if (status == TN_OK || status == TN_ELIMIT) return s; /* iterations are used up */
    fprintf(stderr, "%s\n", tn_lbfgs_error(s));
    tn_lbfgs_free(s);
    return NULL;
}

typedef struct programs {
    tn_fn *objective;
    tn_exec *later, *gradient;
} programs;

/* The directional derivative less its finite difference, of the derivative. */
static double gradient_error(const programs *p, const double *u, const double *measured, double penalty) {
    static double g[POINTS], d[POINTS], v[POINTS];
    uint64_t seed = 5;
    const double h = 1e-5;
    double f[2];
    if (tn_call(p->gradient, TN_INPUTS(u, measured, &penalty), TN_OUTPUTS(NULL, g)) != TN_OK) return NAN;
    for (int k = 0; k < POINTS; k++) d[k] = random_number(&seed);
    for (int way = 0; way < 2; way++) {
        for (int k = 0; k < POINTS; k++) v[k] = u[k] + (way ? -h : h) * d[k];
        if (tn_call(p->gradient, TN_INPUTS(v, measured, &penalty), TN_OUTPUTS(&f[way], NULL)) != TN_OK) return NAN;
    }
    return fabs((f[0] - f[1]) / (2 * h) - dot(g, d)) / fabs(dot(g, d));
}

/* ---- all together ------------------------------------------------------------------------------------- */

static bool make(tn_ctx *c, programs *p) {
    tn_fn *later = tn_trace(c, plate_later, NULL, TN_ARGS(tn_f64(N, N)));
    p->objective = tn_trace(c, objective, NULL, TN_ARGS(tn_f64(N, N), tn_f64(N, N), tn_f64()));
    p->later = tn_compile(later, NULL);
    p->gradient = tn_compile(tn_value_and_grad(p->objective, tn_wrt(0), NULL), NULL);
    return p->later && p->gradient;
}

int main(int argc, char **argv) {
    static double before[POINTS], measured[POINTS];
    const bool brief = argc > 1 && strcmp(argv[1], "--short") == 0;
    const char *path = argc > 1 + brief ? argv[1 + brief] : NULL;
    const double penalty = 5e-4;
    tn_ctx *c = tn_ctx_new(NULL);
    programs p;
    uint64_t seed = 88172645463325252u;
    for (int k = 0; k < POINTS; k++) before[k] = hot(k / N, k % N);
    if (!c || !make(c, &p) || tn_call(p.later, TN_INPUTS(before), TN_OUTPUTS(measured)) != TN_OK) {
        fprintf(stderr, "%s\n", c ? tn_error(c) : "out of memory");
        tn_ctx_free(c);
        return 1;
    }
    for (int k = 0; k < POINTS; k++) measured[k] += 0.005 * random_number(&seed);

    printf("plate of %d x %d, %d steps; gradient in %.0f KiB, %.0f KiB of them for 8 states of %.0f KiB\n", N, N, STEPS,
           (double)tn_exec_bytes(p.gradient) / 1024, 8.0 * POINTS * sizeof(double) / 1024,
           (double)POINTS * sizeof(double) / 1024);
    const double wrong = gradient_error(&p, measured, measured, penalty);
    tn_lbfgs_result r = {.size = sizeof r};
    tn_lbfgs *s = minimize(p.objective, measured, penalty, brief ? 30 : 300, &r);
    bool good = s != NULL;
    if (s) {
        const double start = rms(measured, before), end = rms(r.x, before);
        printf("gradient against finite differences: %.1e\n", wrong);
        printf("objective %.4f after %d gradients; distance to the truth %.4f measured, %.4f recovered\n", r.objective,
               (int)r.evaluations, start, end);
        static const char *const title[] = {"the beginning", "measured after 120 steps", "the beginning, recovered"};
        const bool drawn = !path || plates_draw(path, "The temperature of a plate", N, title,
                                                (const double *const[]){before, measured, r.x});
        if (!drawn) fprintf(stderr, "%s cannot be written\n", path);
        if (path && drawn) printf("picture: %s\n", path);
        good = wrong < 1e-6 && end < (brief ? 0.7 : 0.5) * start && drawn;
    }
    tn_lbfgs_free(s);
    tn_ctx_free(c); /* and everything else made in it */
    return !good;
}
