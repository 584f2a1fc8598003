/* A pole on a cart swings up in two seconds, with the least squares of the force: direct multiple shooting, by Ipopt.
 *
 *     cart_pole_ipopt [FILE.svg]     draws the motion and the force
 *
 * The time is cut into N intervals, each with a state (place, angle, their speeds) at its beginning and one force.  An
 * interval is four steps of the classical Runge-Kutta method, all N at once; where it ends, the next has to begin.
 * Ipopt's Jacobian and Hessian come of the two functions below, sparse and exact.
 *
 * The exit status is 0 when the optimum is the known one. */
#include "progress.h"
#include "picture.h"

#include <stdlib.h>
#include <tansy/ipopt.h>

/* ---- the problem: all there is to write -------------------------------------------------------- */

enum { N = 30, STATE = 4, Z = N * (STATE + 1) + STATE, ROWS = (N + 2) * STATE };
static const double T = 2, goal[STATE] = {1, 3.14159265358979323846, 0, 0};

/* Of states [4, N] and forces [N]. */
static tn_val derivative(tn_val x, tn_val u) {
    const double cart = 1, pole = 0.3, l = 0.5, g = 9.81;
    tn_val w = tn_at(x, 3), s = tn_sin(tn_at(x, 1)), c = tn_cos(tn_at(x, 1));
    tn_val push = tn_add(tn_mul(l * pole, tn_mul(tn_square(w), s)), u);
    tn_val mass = tn_add(cart, tn_mul(pole, tn_square(s)));
    tn_val a = tn_div(tn_add(push, tn_mul(pole * g, tn_mul(s, c))), mass);
    tn_val b = tn_div(tn_add(tn_mul(push, c), tn_mul((cart + pole) * g, s)), tn_mul(-l, mass));
    return tn_stack(tn_vals(tn_at(x, 2), w, a, b), 0);
}

static tn_val interval(tn_val x, tn_val u) {
    const double h = T / N / 4;
    for (int i = 0; i < 4; i++) {
        tn_val k1 = derivative(x, u), k2 = derivative(tn_add(x, tn_mul(h / 2, k1)), u);
        tn_val k3 = derivative(tn_add(x, tn_mul(h / 2, k2)), u), k4 = derivative(tn_add(x, tn_mul(h, k3)), u);
        x = tn_add(x, tn_mul(h / 6, tn_add(tn_add(k1, k4), tn_mul(2.0, tn_add(k2, k3)))));
    }
    return x;
}

/* z: for each interval its state and force, then the last state.  [5, N] of it, a row each. */
static tn_val rows(tn_val z) {
    return tn_matrix_transpose(tn_reshape(tn_slice_axis(z, 0, N * (STATE + 1), 1, 0), N, STATE + 1));
}

static tn_val effort(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(T / N, tn_sum_squares(tn_at(rows(in[0]), STATE)));
}

/* All 0: where intervals end less where the next begin, the first state, the last less the goal. */
static tn_val gaps(const tn_val *in, void *user) {
    (void)user;
    tn_val x = tn_slice_axis(rows(in[0]), 0, STATE, 1, 0), last = tn_slice_axis(in[0], Z - STATE, Z, 1, 0);
    tn_val all = tn_concatenate(tn_vals(x, tn_expand_dims(last, 1)), 1);
    tn_val gap = tn_sub(interval(x, tn_at(rows(in[0]), STATE)), tn_slice_axis(all, 1, N + 1, 1, 1));
    tn_val target = tn_constant(tn_val_ctx(last), tn_f64(STATE), goal);
    return tn_concatenate(tn_vals(tn_ravel(gap), tn_slice_axis(in[0], 0, STATE, 1, 0), tn_sub(last, target)), 0);
}

static tn_ipopt *swing_up(tn_ctx *c, tn_ipopt_progress report, tn_ipopt_result *r) {
    double start[Z] = {0}; /* a straight line to the goal */
    for (int i = 0; i < Z; i++) start[i] = i % 5 < 2 ? goal[i % 5] * (i / 5) / N : 0;
    tn_nlp problem = {.size = sizeof problem};
    problem.f = tn_trace(c, effort, NULL, TN_ARGS(tn_f64(Z)));
    problem.g = problem.f ? tn_trace(c, gaps, NULL, TN_ARGS(tn_f64(Z))) : NULL;
    if (!problem.g) return NULL;
    tn_ipopt *s = tn_ipopt_new(&problem, &(tn_ipopt_options){.size = sizeof(tn_ipopt_options), .progress = report});
    tn_ipopt_solve(s, &(tn_ipopt_start){.size = sizeof(tn_ipopt_start), .x = start}, r);
    return s;
}

/* ---- progress and the picture ------------------------------------------------------------------- */

static int report(void *user, const tn_ipopt_iteration *it) {
    char text[128];
    (void)user;
    const double error = fmax(it->infeasibility, it->dual_infeasibility);
    (void)snprintf(text, sizeof text, "iteration %d: effort %.4f, error %.1e", it->number, it->objective, error);
    progress(error < 1e-8 ? 1 : fmin(0.95, fmax(0.05, 0.1 * (2 - log10(error)))), text);
    return 0;
}

/* The cart and the pole at each interval's beginning, the later the darker; the path of the pole's end. */
static void motion(picture *p, const double *z) {
    double tip[2 * (N + 1)];
    for (int i = 0; i <= N; i++) {
        const double *x = z + 5 * i, l = 0.5;
        tip[2 * i] = x[0] + l * sin(x[1]), tip[2 * i + 1] = -l * cos(x[1]);
        const double a = picture_x(p, x[0]), b = picture_y(p, 0);
        const bool ends = i == 0 || i == N;
        fprintf(p->file, "<g stroke='%s' fill='%s' opacity='%.2f'>", BLUE, BLUE, ends ? 1 : 0.15 + 0.4 * i / N);
        svg_rect(p->file, a - 18, b - 7, 36, 14, " rx='3' fill-opacity='0.25'");
        svg_line(p->file, a, b, picture_x(p, tip[2 * i]), picture_y(p, tip[2 * i + 1]), " stroke-width='3'");
        svg_circle(p->file, picture_x(p, tip[2 * i]), picture_y(p, tip[2 * i + 1]), 5, "");
        fputs("</g>\n", p->file);
    }
    picture_line(p, N + 1, tip, 2, tip + 1, 2, ORANGE, "4 3");
}

static bool draw(const char *path, const double *z) {
    picture p;
    double time[2 * N], force[2 * N], range[2] = {DBL_MAX, -DBL_MAX}, places[2] = {DBL_MAX, -DBL_MAX};
    for (int i = 0; i < 2 * N; i++) {
        time[i] = T / N * ((i + 1) / 2);
        force[i] = z[5 * (i / 2) + 4];
    }
    picture_range(range, 2 * N, force, 1);
    range[0] -= 1, range[1] += 1;
    picture_range(places, N + 1, z, 5);
    const double middle = 0.5 * (places[0] + places[1]);
    if (!picture_open(&p, path, 760, 640, "A cart swings its pole up")) return false;
    picture_panel(&p, 70, 76, 650, 325, (const double[]){middle - 1.4, middle + 1.4}, (const double[]){-0.7, 0.7},
                  "the motion, from hanging to standing", "place in m");
    motion(&p, z);
    picture_panel(&p, 70, 464, 650, 120, (const double[]){0, T}, range, "force in N", "time in s");
    picture_line(&p, 2 * N, time, 1, force, 1, BLUE, "none");
    return picture_close(&p, path);
}

int main(int argc, char **argv) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_ipopt_result r = {.size = sizeof r};
    tn_ipopt_sizes n = {.size = sizeof n};
    tn_ipopt *s = c ? swing_up(c, report, &r) : NULL;
    bool ok = s && tn_ipopt_status(s) == TN_OK && tn_ipopt_size(s, &n) == TN_OK;
    if (ok) {
        printf("%s after %d iterations; effort %.8f\n", r.text, r.iterations, r.objective);
        printf("%d variables, %d constraints; %d entries in the Jacobian, %d in the Hessian's triangle\n", (int)n.n,
               (int)n.m, (int)n.jacobian, (int)n.hessian);
        ok = fabs(r.objective - 59.70170197) < 1e-6 && n.m == ROWS;
        if (argc > 1) ok = draw(argv[1], r.x) && ok;
    } else {
        fprintf(stderr, "%s\n", s ? tn_ipopt_error(s) : c ? tn_error(c) : "out of memory");
    }
    tn_ipopt_free(s);
    tn_ctx_free(c);
    return !ok;
}
