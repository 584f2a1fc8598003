/* Heat that makes itself: -laplace u = lambda exp(u) on a square with u = 0 around it (Bratu's problem), by KINSOL and
 * KLU.  Up to lambda = 6.808 there are two solutions, beyond none.
 *
 *     bratu_sundials [FILE.svg]     draws the solution where they meet, the Jacobian's pattern, and both branches
 *
 * The branches are one curve by the height of u in the middle, so that height is given and lambda is an unknown more:
 * the Jacobian has five diagonals, a full column and a row.  The height is a parameter: one program, compiled once, has
 * all solutions.
 *
 * The exit status is 0 when the turning point is the known one. */
#include "progress.h"
#include "picture.h"

#include <kinsol/kinsol.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <tansy/sparse.h>
#include <tansy/sundials.h>

enum { N = 63, ALL = N * N + 1, HEIGHTS = 56, SPY = 8 };
static const double known = 6.808124423, step = 0.1; /* of lambda; from one height to the next */

/* ---- the system ---------------------------------------------------------------------------------- */

/* Of z = (u [n, n], lambda) and a height: what is 0. */
static tn_val bratu(const tn_val *in, void *user) {
    const int64_t n = *(const int *)user;
    const double h = 1.0 / (double)(n + 1);
    tn_val u = tn_reshape(tn_slice_axis(in[0], 0, n * n, 1, 0), n, n), lambda = tn_at(in[0], n * n);
    tn_val zero = tn_zeros(tn_val_ctx(u), tn_f64(1, n)), rows = tn_concatenate(tn_vals(zero, u, zero), 0);
    tn_val wall = tn_zeros(tn_val_ctx(u), tn_f64(n, 1)), columns = tn_concatenate(tn_vals(wall, u, wall), 1);
    tn_val up = tn_slice_axis(rows, 0, n, 1, 0), down = tn_slice_axis(rows, 2, n + 2, 1, 0);
    tn_val left = tn_slice_axis(columns, 0, n, 1, 1), right = tn_slice_axis(columns, 2, n + 2, 1, 1);
    tn_val bend = tn_sub(tn_mul(4.0, u), tn_add(tn_add(up, down), tn_add(left, right)));
    tn_val heat = tn_sub(bend, tn_mul(tn_mul(h * h, lambda), tn_exp(u)));
    tn_val middle = tn_sub(tn_at(in[0], n * n / 2), in[1]);
    return tn_concatenate(tn_vals(tn_ravel(heat), tn_expand_dims(middle, 0)), 0);
}

static tn_fn *system_of(tn_ctx *c, int n) { return tn_trace(c, bratu, &n, TN_ARGS(tn_f64(n * n + 1), tn_f64())); }

/* ---- the solver ------------------------------------------------------------------------------------ */

typedef struct solver {
    tn_sundials *system;
    SUNContext sun;
    N_Vector z, one;
    SUNMatrix a;
    SUNLinearSolver klu;
    void *mem;
    double height;
} solver;

static bool solver_new(solver *v, tn_ctx *c) {
    const tn_sundials_problem problem = {.size = sizeof problem, .kind = TN_SUNDIALS_ROOTS, .f = system_of(c, N)};
    const tn_sundials_options options = {.size = sizeof options, .with = TN_SUNDIALS_JACOBIAN};
    v->system = tn_sundials_new(&problem, &options);
    if (tn_sundials_parameters(v->system, TN_RAW_INPUTS(&v->height)) || SUNContext_Create(NULL, &v->sun)) return false;
    v->z = N_VNew_Serial(ALL, v->sun);
    v->one = N_VNew_Serial(ALL, v->sun);
    v->a = tn_sundials_matrix(v->system, TN_SUNDIALS_SPARSE, false, v->sun);
    v->klu = v->z && v->a ? SUNLinSol_KLU(v->z, v->a, v->sun) : NULL;
    v->mem = KINCreate(v->sun);
    if (!v->klu || !v->one || !v->mem) return false;
    N_VConst(0, v->z);
    N_VConst(1, v->one);
    return !KINSetUserData(v->mem, v->system) && !KINInit(v->mem, tn_sundials_roots, v->z) &&
           !KINSetLinearSolver(v->mem, v->klu, v->a) && !KINSetJacFn(v->mem, tn_sundials_roots_jac) &&
           !KINSetMaxSetupCalls(v->mem, 1) && !KINSetMaxNewtonStep(v->mem, 1e4) && !KINSetFuncNormTol(v->mem, 1e-11);
}

static void solver_free(solver *v) {
    KINFree(&v->mem);
    if (v->klu) SUNLinSolFree(v->klu);
    if (v->a) SUNMatDestroy(v->a);
    if (v->z) N_VDestroy(v->z);
    if (v->one) N_VDestroy(v->one);
    if (v->sun) SUNContext_Free(&v->sun);
    tn_sundials_free(v->system);
}

/* From one height to the next, each from the solution before; z0 becomes the one with the largest lambda. */
static bool follow(solver *v, double *height, double *lambda, double *z0) {
    double *z = N_VGetArrayPointer(v->z), most = 0;
    for (int i = 0; i < HEIGHTS; i++) {
        char text[96];
        v->height = height[i] = step * i;
        if (KINSol(v->mem, v->z, KIN_NONE, v->one, v->one) < 0) return false;
        lambda[i] = z[N * N];
        if (lambda[i] > most) memcpy(z0, z, ALL * sizeof *z0);
        most = fmax(most, lambda[i]);
        (void)snprintf(text, sizeof text, "height %.1f: lambda %.4f", height[i], lambda[i]);
        progress((i + 1.0) / HEIGHTS, text);
    }
    return true;
}

/* The top of the parabola through the largest lambda and its neighbours. */
static double turning_point(const double *lambda) {
    int i = 1;
    while (i < HEIGHTS - 2 && lambda[i + 1] > lambda[i]) i++;
    const double a = lambda[i - 1], b = lambda[i], c = lambda[i + 1], slope = 0.5 * (c - a), bend = a - 2 * b + c;
    return b - 0.5 * slope * slope / bend;
}

/* ---- the picture -------------------------------------------------------------------------------------- */

/* u at a point of the grid with its walls, every second one. */
static double at(const double *u, int i, int j) {
    i = 2 * i - 1, j = 2 * j - 1;
    return i < 0 || j < 0 || i >= N || j >= N ? 0 : u[i * N + j];
}

/* Where the level crosses the sides of a cell: none, two or, by pairs, four points. */
static void cell(picture *p, const double *u, int i, int j, double level) {
    static const int di[] = {0, 0, 1, 1, 0}, dj[] = {0, 1, 1, 0, 0};
    const double h = 2.0 / (N + 1);
    int found = 0;
    for (int k = 0; k < 4; k++) {
        const double a = at(u, i + di[k], j + dj[k]), b = at(u, i + di[k + 1], j + dj[k + 1]);
        if ((a < level) == (b < level)) continue;
        const double t = (level - a) / (b - a), y = i + di[k] + t * (di[k + 1] - di[k]);
        const double x = j + dj[k] + t * (dj[k + 1] - dj[k]);
        svg_point(p->file, found++ % 2 ? 'L' : 'M', picture_x(p, x * h), picture_y(p, y * h));
    }
}

static void contours(picture *p, const double *u) {
    for (int k = 1; k <= 13; k++) {
        fprintf(p->file, "<path fill='none' stroke='rgb(%d,%d,%d)' stroke-width='1.5' d='", 20 + 14 * k, 120 - 3 * k,
                180 - 12 * k);
        for (int i = 0; i < (N + 1) / 2; i++)
            for (int j = 0; j < (N + 1) / 2; j++) cell(p, u, i, j, 0.1 * k);
        fprintf(p->file, "'/>\n");
    }
}

/* Rows go down. */
static void spy_frame(picture *p, double left, double top, double side) {
    const int all = SPY * SPY + 1;
    *p = (picture){
        .file = p->file, .left = left, .top = top, .width = side, .height = side, .x = {0, all}, .y = {0, all}};
    svg_rect(p->file, left, top, side, side, " fill='none' stroke='#555'");
    svg_label(p->file, left, top - 12, " font-weight='bold'", "the Jacobian for 8 x 8 points");
    for (int k = 0; k < all; k += 16) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", k);
        svg_label(p->file, picture_x(p, k + 0.5), top + side + 20, " text-anchor='middle'", number);
        svg_label(p->file, left - 8, picture_y(p, all - k - 0.5) + 4, " text-anchor='end'", number);
    }
    svg_label(p->file, left + side / 2, top + side + 40, " text-anchor='middle'", "unknown (hollow: constant)");
}

/* The pattern for a small grid; entries that are the same in every Jacobian are hollow. */
static bool spy(picture *p, tn_ctx *c) {
    tn_fn *f = system_of(c, SPY);
    tn_sparsity *s = tn_jacobian_sparsity(f, tn_wrt(0), NULL);
    tn_sparsity_arrays a = {.size = sizeof a};
    const bool ok = tn_sparsity_view(s, TN_COO, TN_FULL, &a) == TN_OK;
    for (int64_t k = 0; ok && k < a.nnz; k++)
        picture_dot(p, (double)a.ind[k] + 0.5, SPY * SPY + 0.5 - (double)a.row[k], 1.7,
                    a.constant && a.constant[k] ? "none" : BLUE, " stroke='" BLUE "'");
    tn_sparsity_free(s);
    tn_fn_free(f);
    return ok;
}

static bool draw(const char *path, tn_ctx *c, const double *u, const double *height, const double *lambda) {
    picture p;
    const double one[] = {0, 1}, lambdas[] = {0, 7}, heights[] = {0, step * HEIGHTS};
    if (!picture_open(&p, path, 760, 720, "Heat that makes itself, and where there is too much of it")) return false;
    picture_panel(&p, 70, 76, 280, 280, one, one, "u where both solutions meet, in steps of 0.1", "x");
    contours(&p, u);
    spy_frame(&p, 440, 76, 280);
    const bool ok = spy(&p, c);
    picture_panel(&p, 70, 450, 650, 210, lambdas, heights, "u in the middle: two solutions, one, none", "lambda");
    picture_line(&p, HEIGHTS, lambda, 1, height, 1, ORANGE, "none");
    picture_line(&p, 2, (const double[]){known, known}, 1, heights, 1, GREY, "4 3");
    return picture_close(&p, path) && ok;
}

int main(int argc, char **argv) {
    static double height[HEIGHTS], lambda[HEIGHTS], z[ALL];
    tn_ctx *c = tn_ctx_new(NULL);
    solver v = {0};
    bool ok = c && solver_new(&v, c) && follow(&v, height, lambda, z);
    if (ok) {
        tn_sundials_sizes n = {.size = sizeof n};
        const double most = turning_point(lambda);
        ok = tn_sundials_size(v.system, &n) == TN_OK && fabs(most - known) < 0.005;
        printf("%d unknowns, %d entries, %d Jacobians; two solutions up to lambda = %.4f, as h goes to 0 %.4f\n",
               (int)n.n, (int)n.nnz, (int)n.jacobian, most, known);
        if (argc > 1) ok = draw(argv[1], c, z, height, lambda) && ok;
    } else {
        fprintf(stderr, "%s\n", v.system ? tn_sundials_error(v.system) : "out of memory");
    }
    solver_free(&v);
    tn_ctx_free(c);
    return !ok;
}
