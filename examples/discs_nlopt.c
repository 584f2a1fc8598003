/* Ten equal discs in a square, as large as they can be: dense inequalities and many starts, by NLopt's SLSQP.
 *
 *     discs_nlopt [FILE.svg]     draws the best packing, and the radii that all starts lead to
 *
 * The variables are the centres and the radius; each pair keeps apart, each disc within the walls.  One problem is
 * compiled and solved from forty starts.
 *
 * The exit status is 0 when the radius is the best that is known. */
#include "progress.h"
#include "picture.h"

#include <stdlib.h>
#include <tansy/nlopt.h>

/* ---- the problem: all there is to write -------------------------------------------------------- */

enum { N = 10, PAIRS = N * (N - 1) / 2, Z = 2 * N + 1, STARTS = 40 };

static tn_val radius(tn_val z) { return tn_at(z, 2 * N); }

static tn_val smallness(const tn_val *in, void *user) {
    (void)user;
    return tn_neg(radius(in[0]));
}

/* All <= 0: (2r)^2 less the squared distance of each pair, and what sticks out of the four walls. */
static tn_val overlaps(const tn_val *in, void *user) {
    (void)user;
    int32_t first[PAIRS], second[PAIRS], k = 0;
    for (int32_t i = 0; i < N; i++)
        for (int32_t j = 0; j < i; j++, k++) first[k] = i, second[k] = j;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val at = tn_slice_axis(in[0], 0, 2 * N, 1, 0), r = radius(in[0]), centre = tn_reshape(at, N, 2);
    tn_val a = tn_take(centre, tn_constant(c, tn_i32(PAIRS), first), 0);
    tn_val b = tn_take(centre, tn_constant(c, tn_i32(PAIRS), second), 0);
    tn_val pairs = tn_sub(tn_mul(4.0, tn_square(r)), tn_sum_axis(tn_square(tn_sub(a, b)), 1));
    return tn_concatenate(tn_vals(pairs, tn_sub(r, at), tn_add(at, tn_sub(r, 1.0))), 0);
}

static tn_nlopt *packing(tn_ctx *c) {
    static const double low[Z] = {0};
    tn_nlopt_problem problem = {.size = sizeof problem, .xl = low};
    problem.f = tn_trace(c, smallness, NULL, TN_ARGS(tn_f64(Z)));
    problem.g = problem.f ? tn_trace(c, overlaps, NULL, TN_ARGS(tn_f64(Z))) : NULL;
    const tn_nlopt_options options = {
        .size = sizeof options, .algorithm = "LD_SLSQP", .xtol_rel = 1e-10, .max_evaluations = 500};
    return problem.g ? tn_nlopt_new(&problem, &options) : NULL;
}

/* ---- starts, progress and the picture ------------------------------------------------------------ */

static double random_number(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 16777216.0;
}

/* The best of all starts, and the radius of each; false: none was solved. */
static bool best_of_all(tn_nlopt *s, double best[Z], double radii[STARTS]) {
    unsigned state = 1;
    for (int k = 0; k < STARTS; k++) {
        char text[96];
        double x[Z];
        tn_nlopt_result r = {.size = sizeof r};
        for (int i = 0; i < Z; i++) x[i] = i < Z - 1 ? random_number(&state) : 0.01;
        const tn_status status = tn_nlopt_solve(s, &(tn_nlopt_start){.size = sizeof(tn_nlopt_start), .x = x}, &r);
        radii[k] = r.x && r.infeasibility < 1e-7 ? -r.objective : 0;
        if (radii[k] > best[Z - 1]) memcpy(best, r.x, Z * sizeof *best);
        if (status && status != TN_ELIMIT) return false;
        (void)snprintf(text, sizeof text, "start %d of %d: %s, radius %.9f, best %.9f", k + 1, STARTS, r.text, radii[k],
                       best[Z - 1]);
        progress((k + 1.0) / STARTS, text);
    }
    return best[Z - 1] > 0;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool draw(const char *path, const double *z, double radii[STARTS]) {
    picture p;
    const double unit[2] = {0, 1}, r = z[Z - 1];
    double number[STARTS], range[2] = {r, r};
    if (!picture_open(&p, path, 860, 460, "Ten discs in a square")) return false;
    picture_panel(&p, 60, 76, 320, 320, unit, unit, "the best packing; what touches is joined", "x");
    svg_rect(p.file, 60, 76, 320, 320, " fill='none' stroke='#555'");
    for (int i = 0; i < N; i++)
        picture_dot(&p, z[2 * i], z[2 * i + 1], 320 * r, BLUE, " fill-opacity='0.25' stroke='" BLUE "'");
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            if (hypot(z[2 * i] - z[2 * j], z[2 * i + 1] - z[2 * j + 1]) < 2 * r + 1e-6)
                svg_line(p.file, picture_x(&p, z[2 * i]), picture_y(&p, z[2 * i + 1]), picture_x(&p, z[2 * j]),
                         picture_y(&p, z[2 * j + 1]), " stroke='" ORANGE "' stroke-width='2'");
    qsort(radii, STARTS, sizeof *radii, ascending);
    for (int k = 0; k < STARTS; k++) {
        number[k] = k + 1;
        if (radii[k] > 0) range[0] = fmin(range[0], radii[k]);
    }
    range[0] -= 0.002, range[1] += 0.002;
    picture_panel(&p, 480, 76, 340, 320, (const double[]){1, STARTS}, range, "radii, sorted", "start");
    for (int k = 0; k < STARTS; k++)
        if (radii[k] > 0) picture_dot(&p, number[k], radii[k], 3.5, radii[k] > r - 1e-7 ? ORANGE : BLUE, "");
    return picture_close(&p, path);
}

int main(int argc, char **argv) {
    tn_ctx *c = tn_ctx_new(NULL);
    double best[Z] = {0}, radii[STARTS] = {0};
    tn_nlopt *s = c ? packing(c) : NULL;
    bool ok = s && best_of_all(s, best, radii);
    if (ok) {
        printf("radius %.9f\n", best[Z - 1]);
        ok = fabs(best[Z - 1] - 0.148204323) < 1e-8;
        if (argc > 1) ok = draw(argv[1], best, radii) && ok;
    } else {
        fprintf(stderr, "%s\n", s ? tn_nlopt_error(s) : c ? tn_error(c) : "out of memory");
    }
    tn_nlopt_free(s);
    tn_ctx_free(c);
    return !ok;
}
