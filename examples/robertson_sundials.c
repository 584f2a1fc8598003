/* Three substances that react, one of them a billion times faster than another (Robertson's problem), by CVODES: what
 * becomes of them in 11 decades of time, and how that depends on the three rates.
 *
 *     robertson_sundials [FILE.svg]     draws the solution and its sensitivities
 *
 * The right-hand side is written once.  Its sparse Jacobian, its derivative along a sensitivity, and the backward
 * problem and quadrature of the adjoint are made of it.
 *
 * The exit status is 0 when the gradient of the end, backwards, is what the sensitivities end with. */
#include "progress.h"
#include "picture.h"

#include <cvodes/cvodes.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <tansy/sundials.h>

enum { N = 3, POINTS = 111 };
static const double rates[N] = {0.04, 1e4, 3e7}, from = -5, decades = 11; /* of time, to 10^6 */

/* (t, y [3], rates [3]) -> dy/dt */
static tn_val react(const tn_val *in, void *user) {
    (void)user;
    tn_val a = tn_at(in[1], 0), b = tn_at(in[1], 1), c = tn_at(in[1], 2);
    tn_val slow = tn_mul(tn_at(in[2], 0), a), back = tn_mul(tn_at(in[2], 1), tn_mul(b, c));
    tn_val fast = tn_mul(tn_at(in[2], 2), tn_square(b));
    return tn_stack(tn_vals(tn_sub(back, slow), tn_sub(tn_sub(slow, back), fast), fast), 0);
}

/* ---- the solver ---------------------------------------------------------------------------------- */

typedef struct solver {
    tn_sundials *system;
    SUNContext sun;
    void *mem;
    N_Vector y, atol, *s, lambda, q;
    SUNMatrix a, ab;
    SUNLinearSolver klu, klub;
} solver;

static bool solver_new(solver *v, tn_ctx *c) {
    const tn_fn *f = tn_trace(c, react, NULL, TN_ARGS(tn_f64(), tn_f64(N), tn_f64(N)));
    const tn_sundials_problem problem = {.size = sizeof problem, .f = f};
    v->system =
        tn_sundials_new(&problem, &(tn_sundials_options){.size = sizeof(tn_sundials_options),
                                                         .with = TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_SENSITIVITIES |
                                                                 TN_SUNDIALS_ADJOINT});
    if (tn_sundials_parameters(v->system, TN_RAW_INPUTS(rates)) || SUNContext_Create(NULL, &v->sun)) return false;
    v->y = N_VNew_Serial(N, v->sun), v->atol = N_VNew_Serial(N, v->sun), v->lambda = N_VNew_Serial(N, v->sun);
    v->q = N_VNew_Serial(N, v->sun);
    v->s = v->y ? N_VCloneVectorArray(N, v->y) : NULL;
    v->a = tn_sundials_matrix(v->system, TN_SUNDIALS_SPARSE, false, v->sun);
    v->ab = tn_sundials_matrix(v->system, TN_SUNDIALS_SPARSE, true, v->sun);
    v->klu = v->y && v->a ? SUNLinSol_KLU(v->y, v->a, v->sun) : NULL;
    v->klub = v->y && v->ab ? SUNLinSol_KLU(v->y, v->ab, v->sun) : NULL;
    return v->klu && v->klub && v->atol && v->lambda && v->q && v->s;
}

static void solver_free(solver *v) {
    CVodeFree(&v->mem);
    if (v->klu) SUNLinSolFree(v->klu);
    if (v->klub) SUNLinSolFree(v->klub);
    if (v->a) SUNMatDestroy(v->a);
    if (v->ab) SUNMatDestroy(v->ab);
    if (v->s) N_VDestroyVectorArray(v->s, N);
    if (v->y) N_VDestroy(v->y);
    if (v->atol) N_VDestroy(v->atol);
    if (v->lambda) N_VDestroy(v->lambda);
    if (v->q) N_VDestroy(v->q);
    if (v->sun) SUNContext_Free(&v->sun);
    tn_sundials_free(v->system);
}

/* At t = 0, with nothing but the first substance. */
static bool begin(solver *v) {
    double *y = N_VGetArrayPointer(v->y), *atol = N_VGetArrayPointer(v->atol);
    for (int i = 0; i < N; i++) y[i] = i == 0, atol[i] = i == 1 ? 1e-14 : 1e-10;
    CVodeFree(&v->mem);
    v->mem = CVodeCreate(CV_BDF, v->sun);
    return v->mem && !CVodeInit(v->mem, tn_sundials_rhs, 0, v->y) && !CVodeSVtolerances(v->mem, 1e-7, v->atol) &&
           !CVodeSetUserData(v->mem, v->system) && !CVodeSetLinearSolver(v->mem, v->klu, v->a) &&
           !CVodeSetJacFn(v->mem, tn_sundials_jac) && !CVodeSetMaxNumSteps(v->mem, 100000);
}

typedef struct point {
    double when, y[N], s[N]; /* log10 t; the substances; rate i times d y3 / d rate i */
} point;

static bool forward(solver *v, point *p) {
    double scale[N] = {0.04, 1e4, 3e7};
    for (int i = 0; i < N; i++) N_VConst(0, v->s[i]);
    if (!begin(v) || CVodeSensInit1(v->mem, N, CV_STAGGERED, tn_sundials_sens, v->s)) return false;
    if (CVodeSetSensParams(v->mem, NULL, scale, NULL) || CVodeSensEEtolerances(v->mem)) return false;
    if (CVodeSetSensErrCon(v->mem, SUNTRUE)) return false;
    for (int k = 0; k < POINTS; k++) {
        char text[96];
        double t;
        p[k].when = from + decades * k / (POINTS - 1);
        if (CVode(v->mem, pow(10, p[k].when), v->y, &t, CV_NORMAL) < 0 || CVodeGetSens(v->mem, &t, v->s)) return false;
        for (int i = 0; i < N; i++) {
            p[k].y[i] = N_VGetArrayPointer(v->y)[i];
            p[k].s[i] = rates[i] * N_VGetArrayPointer(v->s[i])[2];
        }
        (void)snprintf(text, sizeof text, "time %.1e: %.4f, %.1e, %.4f", t, p[k].y[0], p[k].y[1], p[k].y[2]);
        progress((k + 1.0) / POINTS, text);
    }
    return true;
}

/* The gradient of the last y3 in all rates: rate i times d y3 / d rate i. */
static bool backward(solver *v, double *gradient) {
    const double end = pow(10, from + decades);
    double t;
    int checkpoints, b;
    if (!begin(v) || CVodeAdjInit(v->mem, 200, CV_HERMITE)) return false;
    if (CVodeF(v->mem, end, v->y, &t, CV_NORMAL, &checkpoints) < 0 || CVodeCreateB(v->mem, CV_BDF, &b)) return false;
    for (int i = 0; i < N; i++) N_VGetArrayPointer(v->lambda)[i] = i == 2;
    N_VConst(0, v->q);
    if (CVodeInitB(v->mem, b, tn_sundials_rhs_b, end, v->lambda) || CVodeSStolerancesB(v->mem, b, 1e-7, 1e-12) ||
        CVodeSetUserDataB(v->mem, b, v->system) || CVodeSetLinearSolverB(v->mem, b, v->klub, v->ab) ||
        CVodeSetJacFnB(v->mem, b, tn_sundials_jac_b) || CVodeSetMaxNumStepsB(v->mem, b, 100000) ||
        CVodeQuadInitB(v->mem, b, tn_sundials_quad_b, v->q) || CVodeQuadSStolerancesB(v->mem, b, 1e-7, 1e-16) ||
        CVodeSetQuadErrConB(v->mem, b, SUNTRUE) || CVodeB(v->mem, 0, CV_NORMAL) < 0 ||
        CVodeGetQuadB(v->mem, b, &t, v->q))
        return false;
    for (int i = 0; i < N; i++) gradient[i] = rates[i] * N_VGetArrayPointer(v->q)[i];
    return true;
}

/* ---- the picture ----------------------------------------------------------------------------------- */

static bool draw(const char *path, point *p) {
    static const char *const colours[N] = {BLUE, ORANGE, GREY};
    static const char *const substances[N] = {"y1", "10^4 y2", "y3"}, *const names[N] = {"rate 1", "rate 2", "rate 3"};
    picture page;
    const double time[] = {from, from + decades}, part[] = {0, 1};
    double range[2] = {DBL_MAX, -DBL_MAX}, scaled[POINTS];
    if (!picture_open(&page, path, 760, 620, "Robertson's reactions, and what they depend on")) return false;
    picture_panel(&page, 70, 76, 650, 210, time, part, "the substances", "log10 of time");
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < POINTS; k++) scaled[k] = p[k].y[i] * (i == 1 ? 1e4 : 1);
        picture_line(&page, POINTS, &p->when, sizeof *p / sizeof(double), scaled, 1, colours[i], "none");
        picture_legend(&page, colours[i], "none", substances[i]);
        picture_range(range, POINTS, p->s + i, sizeof *p / sizeof(double));
    }
    picture_panel(&page, 70, 370, 650, 190, time, range, "rate d y3 / d rate", "log10 of time");
    for (int i = 0; i < N; i++) {
        picture_line(&page, POINTS, &p->when, sizeof *p / sizeof(double), p->s + i, sizeof *p / sizeof(double),
                     colours[i], "none");
        picture_legend(&page, colours[i], "none", names[i]);
    }
    return picture_close(&page, path);
}

int main(int argc, char **argv) {
    static point p[POINTS];
    double gradient[N];
    tn_ctx *c = tn_ctx_new(NULL);
    solver v = {0};
    bool ok = c && solver_new(&v, c) && forward(&v, p) && backward(&v, gradient);
    if (ok) {
        const double *s = p[POINTS - 1].s;
        printf("rate d y3 / d rate at the end, forwards:  %9.6f %9.6f %9.6f\n", s[0], s[1], s[2]);
        printf("                               backwards: %9.6f %9.6f %9.6f\n", gradient[0], gradient[1], gradient[2]);
        for (int i = 0; i < N; i++) ok = ok && fabs(gradient[i] - s[i]) < 1e-4 * fabs(s[i]);
        if (argc > 1) ok = draw(argv[1], p) && ok;
    } else {
        fprintf(stderr, "%s\n", v.system ? tn_sundials_error(v.system) : "out of memory");
    }
    solver_free(&v);
    tn_ctx_free(c);
    return !ok;
}
