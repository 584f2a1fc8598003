/* ARKODE: the Brusselator and the one that diffuses, with the values that SUNDIALS ships with its examples
 * ark_brusselator and ark_brusselator1D_klu; a right-hand side in two parts. */
#include "test_systems.h"

#include <arkode/arkode_arkstep.h>

typedef struct solve {
    SUNContext sun;
    N_Vector y;
    linear linear;
    void *mem;
} solve;

static solve solve_of(tn_sundials *s, bool split, int format, int64_t n, const double *y0, double rtol, double atol) {
    solve v = {.sun = sun_new()};
    v.y = vector_of(v.sun, n, y0);
    v.mem = ARKStepCreate(split ? tn_sundials_rhs_explicit : NULL, tn_sundials_rhs, 0, v.y, v.sun);
    v.linear = linear_of(s, format, false, v.y, v.sun);
    assert_non_null(v.mem);
    assert_int_equal(ARKStepSetErrHandlerFn(v.mem, silent, NULL), 0);
    assert_int_equal(ARKStepSetUserData(v.mem, s), 0);
    assert_int_equal(ARKStepSStolerances(v.mem, rtol, atol), 0);
    assert_int_equal(ARKStepSetMaxNumSteps(v.mem, 20000), 0);
    assert_int_equal(ARKStepSetLinearSolver(v.mem, v.linear.solver, v.linear.matrix), 0);
    if (v.linear.matrix)
        assert_int_equal(ARKStepSetJacFn(v.mem, tn_sundials_jac), 0);
    else
        assert_int_equal(ARKStepSetJacTimes(v.mem, NULL, tn_sundials_jtimes), 0);
    return v;
}

static void solve_free(solve *v) {
    ARKStepFree(&v->mem);
    linear_free(&v->linear);
    N_VDestroy(v->y);
    (void)SUNContext_Free(&v->sun);
}

static void to(solve *v, double t1) {
    double t = 0;
    assert_int_equal(ARKStepEvolve(v->mem, t1, v->y, &t, ARK_NORMAL), ARK_SUCCESS);
}

/* ---- the Brusselator ---------------------------------------------------------------------------- */

/* (t, (u, v, w), (a, b, ep)); the stiff part is the last term of w'. */
static tn_val reactions(const tn_val *in, void *user) {
    const bool *stiff = user; /* NULL: both parts, else that one */
    const tn_val u = tn_at(in[1], 0), v = tn_at(in[1], 1), w = tn_at(in[1], 2), a = tn_at(in[2], 0);
    const tn_val relax = tn_div(tn_sub(tn_at(in[2], 1), w), tn_at(in[2], 2)), zero = tn_zeros_like(u);
    const tn_val uuv = tn_mul(v, tn_square(u)), wu = tn_mul(w, u);
    if (stiff && *stiff) return tn_stack(tn_vals(zero, zero, relax), 0);
    return tn_stack(tn_vals(tn_add(tn_sub(a, tn_mul(tn_add(w, 1.0), u)), uuv), tn_sub(wu, uuv),
                            stiff ? tn_neg(wu) : tn_sub(relax, wu)),
                    0);
}

static const double y0[] = {1.2, 3.1, 3}, values[] = {1, 3.5, 5e-6};

static tn_fn *reactions_of(tn_ctx *c, bool *stiff) {
    return tn_trace(c, reactions, stiff, TN_ARGS(tn_f64(), tn_f64(3), tn_f64(3)));
}

static void shipped(void **state) {
    (void)state;
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q, .f = reactions_of(c, NULL)};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(values)), TN_OK);
    for (int format = TN_SUNDIALS_DENSE; format <= PRODUCTS; format++) {
        solve v = solve_of(s, false, format, 3, y0, 1e-6, 1e-10);
        to(&v, 10);
        as_printed(NV_Ith_S(v.y, 0), 0.305600, 6, 1e-6, 1e-10, format_names[format]);
        solve_free(&v);
    }
    tn_sundials_free(s);
    tn_ctx_free(c);
}

static void in_parts(void **state) {
    (void)state;
    tn_ctx *c = context();
    bool yes = true, no = false;
    const tn_sundials_problem q = {.size = sizeof q, .f = reactions_of(c, &yes), .explicit_part = reactions_of(c, &no)};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN);
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(values)), TN_OK);
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_int_equal(z.nnz, 3); /* one entry, and the diagonal, of which it is part */
    assert_true(z.lower == 0 && z.upper == 0);
    for (int format = TN_SUNDIALS_DENSE; format <= CSR; format++) {
        solve v = solve_of(s, true, format, 3, y0, 1e-8, 1e-12);
        to(&v, 10);
        as_printed(NV_Ith_S(v.y, 0), 0.305600, 6, 1e-6, 1e-10, format_names[format]);
        solve_free(&v);
    }
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* ---- and diffusion ---------------------------------------------------------------------------------- */

/* 201 points of (u, v, w), the ends at rest; diffusion 0.025, a 0.6, b 2, ep 1e-5. */
enum { N = 201 };

static tn_val diffusing(const tn_val *in, void *user) {
    (void)user;
    const double k = 0.025 * (N - 1.0) * (N - 1.0);
    const tn_val y = tn_slice_axis(in[1], 1, N - 1, 1, 0);
    const tn_val left = tn_slice_axis(in[1], 0, N - 2, 1, 0), right = tn_slice_axis(in[1], 2, N, 1, 0);
    const tn_val u = tn_slice_axis(y, 0, 1, 1, 1), v = tn_slice_axis(y, 1, 2, 1, 1), w = tn_slice_axis(y, 2, 3, 1, 1);
    const tn_val uuv = tn_mul(v, tn_square(u)), wu = tn_mul(w, u);
    const tn_val f = tn_concatenate(tn_vals(tn_add(tn_sub(0.6, tn_mul(tn_add(w, 1.0), u)), uuv), tn_sub(wu, uuv),
                                            tn_sub(tn_mul(1e5, tn_sub(2.0, w)), wu)),
                                    1);
    const tn_val spread = tn_mul(k, tn_add(tn_sub(left, tn_mul(2.0, y)), right));
    const tn_val rest = tn_zeros(tn_val_ctx(y), tn_f64(1, 3));
    return tn_concatenate(tn_vals(rest, tn_add(spread, f), rest), 0);
}

static void shipped_diffusing(void **state) {
    (void)state;
    static const double when[] = {1, 5, 10}, rms[] = {0.791135, 0.506326, 0.530857};
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q,
                                   .f = tn_trace(c, diffusing, NULL, TN_ARGS(tn_f64(), tn_f64(N, 3)))};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN);
    tn_sundials_sizes z = {.size = sizeof z};
    double start[3 * N];
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    /* Each inner point: its neighbours' three, and the reactions; the ends have the diagonal alone. */
    assert_int_equal(z.nnz, (N - 2) * (3 * 2 + 3 + 3 + 2) + 2 * 3);
    assert_true(z.lower == 3 && z.upper == 3);
    for (int i = 0; i < N; i++) {
        const double hill = 0.1 * sin(3.14159265358979323846 * i / (N - 1));
        start[3 * i] = 0.6 + hill;
        start[3 * i + 1] = 2 / 0.6 + hill;
        start[3 * i + 2] = 2 + hill;
    }
    for (int format = TN_SUNDIALS_BAND; format <= CSR; format++) {
        solve v = solve_of(s, false, format, 3 * N, start, 1e-6, 1e-10);
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            to(&v, when[k]);
            for (int i = 0; i < N; i++) sum += NV_Ith_S(v.y, 3 * i) * NV_Ith_S(v.y, 3 * i);
            as_printed(sqrt(sum / N), rms[k], 6, 1e-6, 1e-10, format_names[format]);
        }
        solve_free(&v);
    }
    assert_int_equal(tn_sundials_status(s), TN_OK);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),
        cmocka_unit_test(in_parts),
        cmocka_unit_test(shipped_diffusing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
