/* Chains of several lengths hang between two nails: the least height of their middle, by Ipopt.
 *
 *     hanging_chain_ipopt [FILE.svg]     draws them, and the catenaries that they come near
 *
 * A chain is N links; their ends are the variables, and no link may be longer than length / N.  The length is a
 * parameter: the problem is compiled once, and each chain starts where the one before it hangs.
 *
 * The exit status is 0 when each chain hangs as high as its catenary does, to a part in a thousand. */
#include "progress.h"
#include "picture.h"

#include <stdlib.h>
#include <tansy/ipopt.h>

/* ---- the problem: all there is to write -------------------------------------------------------- */

enum { N = 80, POINTS = N + 1, Z = 2 * POINTS, CHAINS = 4 };
static const double from[2] = {0, 1}, to[2] = {1, 3}, lengths[CHAINS] = {2.3, 3, 4, 5};

/* Of z [2, N + 1], the places across and the heights: what lies behind each link less what lies before it. */
static tn_val steps(tn_val z) { return tn_sub(tn_slice_axis(z, 1, POINTS, 1, 1), tn_slice_axis(z, 0, N, 1, 1)); }

/* The mean height of links, times the length: the energy. */
static tn_val energy(const tn_val *in, void *user) {
    (void)user;
    tn_val height = tn_at(in[0], 1);
    tn_val sum = tn_add(tn_sum(tn_slice_axis(height, 0, N, 1, 0)), tn_sum(tn_slice_axis(height, 1, POINTS, 1, 0)));
    return tn_mul(in[1], tn_mul(0.5 / N, sum));
}

/* How much longer each link is than it may be, as squares: <= 0. */
static tn_val stretch(const tn_val *in, void *user) {
    (void)user;
    tn_val most = tn_square(tn_div(in[1], (double)N));
    return tn_sub(tn_sum_axis(tn_square(steps(in[0])), 0), most);
}

static tn_ipopt *chains(tn_ctx *c, tn_ipopt_progress report, double start[Z]) {
    static double low[Z], high[Z], none[N], far[N];
    for (int i = 0; i < Z; i++) {
        const int axis = i / POINTS, k = i % POINTS;
        start[i] = from[axis] + (to[axis] - from[axis]) * k / N; /* a straight line */
        const bool nail = k == 0 || k == N;
        low[i] = nail ? start[i] : -INFINITY, high[i] = nail ? start[i] : INFINITY;
    }
    for (int i = 0; i < N; i++) none[i] = 0, far[i] = -INFINITY;
    tn_nlp problem = {.size = sizeof problem, .xl = low, .xu = high, .gl = far, .gu = none};
    problem.f = tn_trace(c, energy, NULL, TN_ARGS(tn_f64(2, POINTS), tn_f64()));
    problem.g = problem.f ? tn_trace(c, stretch, NULL, TN_ARGS(tn_f64(2, POINTS), tn_f64())) : NULL;
    const tn_ipopt_options options = {.size = sizeof options, .tol = 1e-10, .progress = report};
    return problem.g ? tn_ipopt_new(&problem, &options) : NULL;
}

/* ---- progress ------------------------------------------------------------------------------------ */

static int report(void *user, const tn_ipopt_iteration *it) {
    char text[128];
    (void)user;
    const double error = fmax(it->infeasibility, it->dual_infeasibility);
    (void)snprintf(text, sizeof text, "iteration %d: energy %.6f, error %.1e", it->number, it->objective, error);
    progress(fmin(0.95, fmax(0.05, 0.1 * (2 - log10(error)))), text);
    return 0;
}

/* ---- the catenary: y = a cosh((x - middle) / a) + base ------------------------------------------------ */

typedef struct catenary {
    double a, middle, base;
} catenary;

/* 2 a sinh(w / 2a) = sqrt(length^2 - h^2), by bisection. */
static catenary hanging(double length) {
    const double w = to[0] - from[0], h = to[1] - from[1], chord = sqrt(length * length - h * h);
    double low = 1e-3, high = 1e3;
    for (int i = 0; i < 200; i++) {
        const double a = 0.5 * (low + high);
        if (w / (2 * a) > 300 || 2 * a * sinh(w / (2 * a)) > chord)
            low = a;
        else
            high = a;
    }
    catenary c = {.a = low};
    c.middle = 0.5 * (from[0] + to[0]) - c.a * atanh(h / length);
    c.base = from[1] - c.a * cosh((from[0] - c.middle) / c.a);
    return c;
}

/* The integral of y along the curve. */
static double energy_of(catenary c, double length) {
    const double p = (from[0] - c.middle) / c.a, q = (to[0] - c.middle) / c.a;
    return c.a * c.a * (0.5 * (q - p) + 0.25 * (sinh(2 * q) - sinh(2 * p))) + c.base * length;
}

/* ---- the picture ------------------------------------------------------------------------------------------ */

static bool draw(const char *path, double all[CHAINS][Z]) {
    enum { FINE = 200 };
    picture p;
    double lowest[2] = {DBL_MAX, 3.2};
    for (int k = 0; k < CHAINS; k++) picture_range(lowest, POINTS, all[k] + POINTS, 1);
    if (!picture_open(&p, path, 620, 620, "Chains of 80 links, hung up by Ipopt")) return false;
    picture_panel(&p, 60, 76, 520, 480, (const double[]){-0.1, 1.1}, (const double[]){lowest[0] - 0.3, 3.2},
                  "height in m", "place in m");
    for (int k = 0; k < CHAINS; k++) {
        const catenary c = hanging(lengths[k]);
        double x[FINE + 1], y[FINE + 1];
        for (int i = 0; i <= FINE; i++) {
            x[i] = from[0] + (to[0] - from[0]) * i / FINE;
            y[i] = c.a * cosh((x[i] - c.middle) / c.a) + c.base;
        }
        picture_line(&p, FINE + 1, x, 1, y, 1, ORANGE, "none");
        picture_dots(&p, POINTS, all[k], 1, all[k] + POINTS, 1, BLUE);
        int bottom = 0;
        for (int i = 0; i < POINTS; i++) bottom = all[k][POINTS + i] < all[k][POINTS + bottom] ? i : bottom;
        char name[32];
        (void)snprintf(name, sizeof name, "%g m", lengths[k]);
        svg_label(p.file, picture_x(&p, all[k][bottom] + (k ? 0 : 0.1)) - 12,
                  picture_y(&p, all[k][POINTS + bottom]) + (k ? 20 : -20), "", name);
    }
    picture_legend(&p, BLUE, NULL, "links");
    picture_legend(&p, ORANGE, "none", "catenary");
    return picture_close(&p, path);
}

int main(int argc, char **argv) {
    tn_ctx *c = tn_ctx_new(NULL);
    double start[Z], all[CHAINS][Z];
    tn_ipopt *s = c ? chains(c, report, start) : NULL;
    bool ok = s && tn_ipopt_status(s) == TN_OK;
    for (int k = 0; ok && k < CHAINS; k++) {
        char text[128];
        const void *p[] = {&lengths[k]};
        tn_ipopt_result r = {.size = sizeof r};
        const tn_ipopt_start here = {.size = sizeof here, .x = k ? all[k - 1] : start, .p = p};
        if (tn_ipopt_solve(s, &here, &r)) break;
        memcpy(all[k], r.x, sizeof all[k]);
        const double exact = energy_of(hanging(lengths[k]), lengths[k]);
        (void)snprintf(text, sizeof text, "%g m: energy %.6f after %d iterations; the catenary's is %.6f", lengths[k],
                       r.objective, r.iterations, exact);
        progress(1, text);
        ok = fabs(r.objective - exact) < 1e-3 * fabs(exact);
    }
    if (!s || tn_ipopt_status(s)) {
        fprintf(stderr, "%s\n", s ? tn_ipopt_error(s) : c ? tn_error(c) : "out of memory");
        ok = false;
    }
    if (ok && argc > 1) ok = draw(argv[1], all);
    tn_ipopt_free(s);
    tn_ctx_free(c);
    return !ok;
}
