/* The right-hand sides of docs/rosetta/sundials.md: with SUNDIALS and libtansy-sundials. */
#include <cvodes/cvodes.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <tansy/sundials.h>

/* (t, y[2], mu) -> dy/dt: van der Pol's oscillator */
static tn_val rhs(const tn_val *in, void *user) {
    (void)user;
    tn_val a = tn_at(in[1], 0), b = tn_at(in[1], 1);
    return tn_stack(tn_vals(b, tn_sub(tn_mul(in[2], tn_mul(tn_sub(1, tn_square(a)), b)), a)), 0);
}

int main(void) {
    const double mu = 10;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_sundials_problem problem = {.size = sizeof problem,
                                   .f = tn_trace(c, rhs, NULL, TN_ARGS(tn_f64(), tn_f64(2), tn_f64()))};
    tn_sundials_options options = {.size = sizeof options, .with = TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_SENSITIVITIES};
    tn_sundials *s = tn_sundials_new(&problem, &options);
    SUNContext sun;
    if (SUNContext_Create(NULL, &sun) || tn_sundials_parameters(s, TN_INPUTS(&mu))) {
        fprintf(stderr, "%s\n", tn_sundials_error(s));
        return 1;
    }

    N_Vector y = N_VNew_Serial(2, sun), *yS = N_VCloneVectorArray(1, y);
    N_VGetArrayPointer(y)[0] = 2, N_VGetArrayPointer(y)[1] = 0, N_VConst(0, yS[0]);
    SUNMatrix A = tn_sundials_matrix(s, TN_SUNDIALS_DENSE, false, sun);
    SUNLinearSolver LS = SUNLinSol_Dense(y, A, sun);
    void *mem = CVodeCreate(CV_BDF, sun);
    double t;
    if (CVodeInit(mem, tn_sundials_rhs, 0, y) || CVodeSetUserData(mem, s) || CVodeSStolerances(mem, 1e-9, 1e-9) ||
        CVodeSetLinearSolver(mem, LS, A) || CVodeSetJacFn(mem, tn_sundials_jac) ||
        CVodeSensInit1(mem, 1, CV_SIMULTANEOUS, tn_sundials_sens, yS) || CVodeSensEEtolerances(mem) ||
        CVodeSetMaxNumSteps(mem, 10000) || CVode(mem, 5, y, &t, CV_NORMAL) < 0 || CVodeGetSens(mem, &t, yS)) {
        fprintf(stderr, "%s\n", tn_sundials_error(s));
        return 1;
    }
    printf("y(5) %.5f, dy(5)/dmu %.5f\n", N_VGetArrayPointer(y)[0], N_VGetArrayPointer(yS[0])[0]);

    CVodeFree(&mem);
    SUNLinSolFree(LS);
    SUNMatDestroy(A);
    N_VDestroyVectorArray(yS, 1);
    N_VDestroy(y);
    SUNContext_Free(&sun);
    tn_sundials_free(s);
    tn_ctx_free(c);
    return 0;
}
