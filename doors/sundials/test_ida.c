/* IDA: Robertson's kinetics with a conservation law, and heat on a square, with the values that SUNDIALS ships with its
 * examples idaRoberts_klu and idaHeat2D_klu, for all formats of dF/dy + c dF/dy'. */
#include "test_systems.h"

#include <idas/idas.h>

typedef struct solve {
    SUNContext sun;
    N_Vector y, yp, atol;
    linear linear;
    void *mem;
} solve;

static solve solve_of(tn_sundials *s, int format, int64_t n, const double *y0, const double *yp0, double rtol,
                      const double *atol) {
    solve v = {.sun = sun_new()};
    v.y = vector_of(v.sun, n, y0);
    v.yp = vector_of(v.sun, n, yp0);
    v.atol = vector_of(v.sun, n, atol);
    v.mem = IDACreate(v.sun);
    v.linear = linear_of(s, format, false, v.y, v.sun);
    assert_int_equal(IDASetErrHandlerFn(v.mem, silent, NULL), 0);
    assert_int_equal(IDAInit(v.mem, tn_sundials_residual, 0, v.y, v.yp), 0);
    assert_int_equal(IDASVtolerances(v.mem, rtol, v.atol), 0);
    assert_int_equal(IDASetUserData(v.mem, s), 0);
    assert_int_equal(IDASetMaxNumSteps(v.mem, 20000), 0);
    assert_int_equal(IDASetLinearSolver(v.mem, v.linear.solver, v.linear.matrix), 0);
    if (v.linear.matrix)
        assert_int_equal(IDASetJacFn(v.mem, tn_sundials_residual_jac), 0);
    else
        assert_int_equal(IDASetJacTimes(v.mem, NULL, tn_sundials_residual_jtimes), 0);
    return v;
}

static void solve_free(solve *v) {
    IDAFree(&v->mem);
    linear_free(&v->linear);
    N_VDestroy(v->y), N_VDestroy(v->yp), N_VDestroy(v->atol);
    (void)SUNContext_Free(&v->sun);
}

static void to(solve *v, double t1) {
    double t = 0;
    assert_int_equal(IDASolve(v->mem, t1, &t, v->y, v->yp, IDA_NORMAL), IDA_SUCCESS);
}

static tn_sundials *dae_of(tn_fn *f, unsigned with) {
    const tn_sundials_problem q = {.size = sizeof q, .kind = TN_SUNDIALS_DAE, .f = f};
    assert_non_null(f);
    return system_of(&q, with);
}

/* ---- Robertson ------------------------------------------------------------------------------------ */

static tn_val conserved(const tn_val *in, void *user) {
    const tn_val x[] = {in[0], in[1], in[3]}, f = robertson(x, user);
    const tn_val two = tn_sub(tn_slice_axis(f, 0, 2, 1, 0), tn_slice_axis(in[2], 0, 2, 1, 0));
    return tn_concatenate(tn_vals(two, tn_expand_dims(tn_sub(tn_sum(in[1]), 1.0), 0)), 0);
}

static void shipped(void **state) {
    (void)state;
    static const double yp0[] = {-0.04, 0.04, 0}, atol[] = {1e-8, 1e-6, 1e-6};
    tn_ctx *c = context();
    tn_sundials *s = dae_of(tn_trace(c, conserved, NULL, TN_ARGS(tn_f64(), tn_f64(3), tn_f64(3), tn_f64(3))),
                            TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES);
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_int_equal(z.nnz, 9);
    for (int format = TN_SUNDIALS_DENSE; format <= PRODUCTS; format++) {
        solve v = solve_of(s, format, 3, robertson_y0, yp0, 1e-4, atol);
        double first = 0;
        to(&v, 0.4);
        as_printed(NV_Ith_S(v.y, 0), 9.8517e-01, 5, 1e-4, 1e-8, format_names[format]);
        to(&v, 40);
        if (format == TN_SUNDIALS_DENSE) first = NV_Ith_S(v.y, 0);
        as_printed(NV_Ith_S(v.y, 0), 7.158017e-01, 7, 1e-4, 1e-8, format_names[format]);
        if (first > 0) near_to(NV_Ith_S(v.y, 0), first, 1e-5, format_names[format]);
        solve_free(&v);
    }
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* ---- heat ------------------------------------------------------------------------------------------- */

enum { M = 10, ALL = M * M };

/* Inner points: u' - laplace u; around them u. */
static tn_val heat(const tn_val *in, void *user) {
    (void)user;
    const double k = (M - 1.0) * (M - 1.0);
    const tn_val u = in[1];
    const tn_val rows = tn_slice_axis(u, 1, M - 1, 1, 0), columns = tn_slice_axis(u, 1, M - 1, 1, 1);
    const tn_val up = tn_slice_axis(columns, 0, M - 2, 1, 0), down = tn_slice_axis(columns, 2, M, 1, 0);
    const tn_val left = tn_slice_axis(rows, 0, M - 2, 1, 1), right = tn_slice_axis(rows, 2, M, 1, 1);
    const tn_val middle = tn_slice_axis(rows, 1, M - 1, 1, 1);
    const tn_val speed = tn_slice_axis(tn_slice_axis(in[2], 1, M - 1, 1, 0), 1, M - 1, 1, 1);
    const tn_val around = tn_sub(tn_add(tn_add(up, down), tn_add(left, right)), tn_mul(4.0, middle));
    const tn_val inner = tn_sub(speed, tn_mul(k, around));
    const tn_val first = tn_slice_axis(rows, 0, 1, 1, 1), last = tn_slice_axis(rows, M - 1, M, 1, 1);
    const tn_val band = tn_concatenate(tn_vals(first, inner, last), 1);
    return tn_concatenate(tn_vals(tn_slice_axis(u, 0, 1, 1, 0), band, tn_slice_axis(u, M - 1, M, 1, 0)), 0);
}

static void shipped_heat(void **state) {
    (void)state;
    tn_ctx *c = context();
    tn_sundials *s =
        dae_of(tn_trace(c, heat, NULL, TN_ARGS(tn_f64(), tn_f64(M, M), tn_f64(M, M))), TN_SUNDIALS_JACOBIAN);
    tn_sundials_sizes z = {.size = sizeof z};
    double u[ALL], up[ALL] = {0}, r[ALL], atol[ALL];
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_int_equal(z.nnz, 5 * (M - 2) * (M - 2) + 4 * (M - 1));
    for (int i = 0; i < ALL; i++) {
        const double x = (i % M) / (M - 1.0), y = (double)(i / M) / (M - 1);
        const bool edge = i % M == 0 || i % M == M - 1 || i / M == 0 || i / M == M - 1;
        u[i] = edge ? 0 : 16 * x * (1 - x) * y * (1 - y);
        atol[i] = 1e-8;
    }
    for (int format = TN_SUNDIALS_DENSE; format <= CSR; format++) {
        solve v = solve_of(s, format, ALL, u, NULL, 0, atol);
        N_Vector residual = vector_of(v.sun, ALL, NULL);
        assert_int_equal(tn_sundials_residual(0, v.y, v.yp, residual, s), 0);
        for (int i = 0; i < ALL; i++) {
            r[i] = NV_Ith_S(residual, i); /* with u' 0: less the laplacian inside, 0 around */
            up[i] = NV_Ith_S(v.yp, i) = -r[i];
        }
        assert_int_equal(IDAReInit(v.mem, 0, v.y, v.yp), 0);
        to(&v, 0.01);
        as_printed(N_VMaxNorm(v.y), 8.24056e-01, 6, 0, 1e-8, format_names[format]);
        to(&v, 0.16);
        as_printed(N_VMaxNorm(v.y), 4.53210e-02, 6, 0, 1e-8, format_names[format]);
        N_VDestroy(residual);
        solve_free(&v);
    }
    assert_true(up[ALL / 2 + M / 2] < 0);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),
        cmocka_unit_test(shipped_heat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
