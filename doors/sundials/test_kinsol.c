/* KINSOL: Ferraris and Tronconi's system with the roots that SUNDIALS ships with its example kinFerTron_klu; Bratu's
 * problem on a grid, where dense, band, sparse and products have to agree. */
#include "test_systems.h"

#include <kinsol/kinsol.h>

/* ---- Ferraris and Tronconi -------------------------------------------------------------------- */

/* (u [6], bounds [2, 2]): u = (x, x1 - low, x1 - high, x2 - low, x2 - high). */
static tn_val ferraris(const tn_val *in, void *user) {
    (void)user;
    const double pi = 3.1415926, e = 2.7182818; /* those of the example */
    const tn_val x = tn_at(in[0], 0), y = tn_at(in[0], 1);
    const tn_val wave = tn_sub(tn_mul(0.5, tn_sub(tn_sin(tn_mul(x, y)), x)), tn_mul(0.25 / pi, y));
    const tn_val growth = tn_mul(1 - 0.25 / pi, tn_sub(tn_exp(tn_mul(2.0, x)), e));
    const tn_val line = tn_sub(tn_mul(e / pi, y), tn_mul(2 * e, x));
    const tn_val both = tn_reshape(tn_broadcast_to(tn_expand_dims(tn_slice_axis(in[0], 0, 2, 1, 0), 1), 2, 2), 4);
    const tn_val slack = tn_add(tn_sub(tn_slice_axis(in[0], 2, 6, 1, 0), both), tn_ravel(in[1]));
    return tn_concatenate(tn_vals(tn_stack(tn_vals(wave, tn_add(growth, line)), 0), slack), 0);
}

static const double ferraris_bounds[2][2] = {{0.25, 1}, {1.5, 2 * 3.1415926}};

static tn_sundials *roots_of(tn_ctx *c, tn_fn *f, unsigned with) {
    if (!f) fail_msg("%s", tn_error(c));
    const tn_sundials_problem q = {.size = sizeof q, .kind = TN_SUNDIALS_ROOTS, .f = f};
    return system_of(&q, with);
}

typedef struct solve {
    SUNContext sun;
    N_Vector u, one;
    linear linear;
    void *mem;
} solve;

static solve solve_of(tn_sundials *s, int format, int64_t n, const double *u0, double ftol) {
    solve v = {.sun = sun_new()};
    v.u = vector_of(v.sun, n, u0);
    v.one = vector_of(v.sun, n, NULL);
    N_VConst(1, v.one);
    v.mem = KINCreate(v.sun);
    v.linear = linear_of(s, format, false, v.u, v.sun);
    assert_int_equal(KINSetErrHandlerFn(v.mem, silent, NULL), 0);
    assert_int_equal(KINSetUserData(v.mem, s), 0);
    assert_int_equal(KINSetFuncNormTol(v.mem, ftol), 0);
    assert_int_equal(KINInit(v.mem, tn_sundials_roots, v.u), 0);
    assert_int_equal(KINSetLinearSolver(v.mem, v.linear.solver, v.linear.matrix), 0);
    if (v.linear.matrix)
        assert_int_equal(KINSetJacFn(v.mem, tn_sundials_roots_jac), 0);
    else
        assert_int_equal(KINSetJacTimesVecFn(v.mem, tn_sundials_roots_jtimes), 0);
    return v;
}

static void solve_free(solve *v) {
    KINFree(&v->mem);
    linear_free(&v->linear);
    N_VDestroy(v->u), N_VDestroy(v->one);
    (void)SUNContext_Free(&v->sun);
}

/* From the lower bounds to the first root, from the middle to the second. */
static void shipped(void **state) {
    (void)state;
    static const double root[2][2] = {{0.299449, 2.83693}, {0.5, 3.14159}}, sides[] = {0, 1, -1, 1, -1, 0};
    tn_ctx *c = context();
    tn_sundials *s = roots_of(c, tn_trace(c, ferraris, NULL, TN_ARGS(tn_f64(6), tn_f64(2, 2))), TN_SUNDIALS_JACOBIAN);
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(ferraris_bounds)), TN_OK);
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_int_equal(z.nnz, 12);
    for (int format = TN_SUNDIALS_DENSE; format <= CSR; format++)
        for (int start = 0; start < 2; start++)
            for (int strategy = KIN_NONE; strategy <= KIN_LINESEARCH; strategy++) {
                double u0[6];
                for (int i = 0; i < 2; i++) {
                    const double *b = ferraris_bounds[i];
                    u0[i] = start ? 0.5 * (b[0] + b[1]) : b[0];
                    u0[2 + 2 * i] = u0[i] - b[0];
                    u0[3 + 2 * i] = u0[i] - b[1];
                }
                solve v = solve_of(s, format, 6, u0, 1e-5);
                N_Vector constraints = vector_of(v.sun, 6, NULL);
                for (int i = 2; i < 6; i++) NV_Ith_S(constraints, i) = sides[i - 1];
                assert_int_equal(KINSetConstraints(v.mem, constraints), 0);
                assert_int_equal(KINSetScaledStepTol(v.mem, 1e-5), 0);
                assert_int_equal(KINSetMaxSetupCalls(v.mem, 1), 0);
                assert_int_equal(KINSol(v.mem, v.u, strategy, v.one, v.one), KIN_SUCCESS);
                for (int i = 0; i < 2; i++)
                    as_printed(NV_Ith_S(v.u, i), root[start][i], 6, 1e-5, 0, format_names[format]);
                N_VDestroy(constraints);
                solve_free(&v);
            }
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* ---- Bratu ----------------------------------------------------------------------------------------- */

/* -laplace u = lambda exp(u) on n x n inner points of the unit square, u 0 around it. */
static tn_val bratu(const tn_val *in, void *user) {
    (void)user;
    const int64_t n = tn_dim(in[0], 0);
    const double h = 1.0 / (double)(n + 1);
    tn_ctx *c = tn_val_ctx(in[0]);
    const tn_val row = tn_zeros(c, tn_f64(1, n)), column = tn_zeros(c, tn_f64(n, 1));
    const tn_val up = tn_concatenate(tn_vals(row, tn_slice_axis(in[0], 0, n - 1, 1, 0)), 0);
    const tn_val down = tn_concatenate(tn_vals(tn_slice_axis(in[0], 1, n, 1, 0), row), 0);
    const tn_val left = tn_concatenate(tn_vals(column, tn_slice_axis(in[0], 0, n - 1, 1, 1)), 1);
    const tn_val right = tn_concatenate(tn_vals(tn_slice_axis(in[0], 1, n, 1, 1), column), 1);
    const tn_val around = tn_add(tn_add(up, down), tn_add(left, right));
    return tn_sub(tn_sub(tn_mul(4.0, in[0]), around), tn_mul(h * h, tn_mul(in[1], tn_exp(in[0]))));
}

static void formats(void **state) {
    (void)state;
    enum { N = 15, ALL = N * N };
    tn_ctx *c = context();
    tn_sundials *s = roots_of(c, tn_trace(c, bratu, NULL, TN_ARGS(tn_f64(N, N), tn_f64())),
                              TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES);
    const double lambda = 6;
    tn_sundials_sizes z = {.size = sizeof z};
    double first[ALL] = {0};
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(&lambda)), TN_OK);
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_int_equal(z.nnz, 5 * ALL - 4 * N);
    assert_true(z.lower == N && z.upper == N);
    for (int format = TN_SUNDIALS_DENSE; format <= PRODUCTS; format++) {
        solve v = solve_of(s, format, ALL, NULL, 1e-13);
        assert_int_equal(KINSetMaxSetupCalls(v.mem, 1), 0);
        assert_int_equal(KINSetMaxNewtonStep(v.mem, 1e3), 0); /* from 0 it would be 1 */
        const int flag = KINSol(v.mem, v.u, KIN_LINESEARCH, v.one, v.one);
        if (flag < KIN_SUCCESS) fail_msg("%s: KINSol returns %d", format_names[format], flag);
        for (int i = 0; i < ALL; i++) {
            if (format == TN_SUNDIALS_DENSE) first[i] = NV_Ith_S(v.u, i);
            near_to(NV_Ith_S(v.u, i), first[i], 1e-9, format_names[format]);
        }
        /* Symmetric to both diagonals, largest in the middle. */
        near_to(first[N + 2], first[2 * N + 1], 1e-10, "symmetry");
        for (int i = 0; i < ALL; i++) assert_true(first[i] > 0 && first[i] <= first[ALL / 2]);
        solve_free(&v);
    }
    tn_sundials_free(s);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),
        cmocka_unit_test(formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
