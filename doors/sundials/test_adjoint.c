/* CVODES backwards: dG/dp of Robertson's kinetics, G the integral of y3, with the values that SUNDIALS ships with its
 * example cvsRoberts_ASAi_klu, for all formats of the backward Jacobian; and what a backward problem is without an
 * integral, against forward sensitivities. */
#include "test_systems.h"

#include <cvodes/cvodes.h>

typedef struct both {
    SUNContext sun;
    N_Vector y, atol, lambda, mu, q;
    linear forward, backward;
    void *mem;
    int which;
} both;

/* Forward to t1, checkpoints kept. */
static both forward_to(tn_sundials *s, int format, double rtol, const double *atol, double t1) {
    both b = {.sun = sun_new()};
    double t = 0;
    int checkpoints = 0;
    b.y = vector_of(b.sun, 3, robertson_y0);
    b.atol = vector_of(b.sun, 3, atol);
    b.lambda = vector_of(b.sun, 3, NULL);
    b.mu = vector_of(b.sun, 3, NULL);
    b.mem = CVodeCreate(CV_BDF, b.sun);
    b.forward = linear_of(s, TN_SUNDIALS_SPARSE, false, b.y, b.sun);
    b.backward = linear_of(s, format, true, b.y, b.sun);
    assert_int_equal(CVodeInit(b.mem, tn_sundials_rhs, 0, b.y), 0);
    assert_int_equal(CVodeSVtolerances(b.mem, rtol, b.atol), 0);
    assert_int_equal(CVodeSetMaxNumSteps(b.mem, 20000), 0);
    assert_int_equal(CVodeSetUserData(b.mem, s), 0);
    assert_int_equal(CVodeSetLinearSolver(b.mem, b.forward.solver, b.forward.matrix), 0);
    assert_int_equal(CVodeSetJacFn(b.mem, tn_sundials_jac), 0);
    b.q = vector_of(b.sun, 1, NULL);
    assert_int_equal(CVodeQuadInit(b.mem, tn_sundials_quad, b.q), 0);
    assert_int_equal(CVodeQuadSStolerances(b.mem, rtol, 1e-6), 0);
    assert_int_equal(CVodeSetQuadErrCon(b.mem, SUNTRUE), 0);
    assert_int_equal(CVodeAdjInit(b.mem, 150, CV_HERMITE), 0);
    assert_int_equal(CVodeF(b.mem, t1, b.y, &t, CV_NORMAL, &checkpoints), CV_SUCCESS);
    assert_int_equal(CVodeGetQuad(b.mem, &t, b.q), 0);
    return b;
}

/* Back to 0 from lambda at t1. */
static void back(both *b, tn_sundials *s, int format, double rtol, double atol, double qtol, double t1) {
    double t = 0;
    assert_int_equal(CVodeCreateB(b->mem, CV_BDF, &b->which), 0);
    assert_int_equal(CVodeInitB(b->mem, b->which, tn_sundials_rhs_b, t1, b->lambda), 0);
    assert_int_equal(CVodeSStolerancesB(b->mem, b->which, rtol, atol), 0);
    assert_int_equal(CVodeSetMaxNumStepsB(b->mem, b->which, 20000), 0);
    assert_int_equal(CVodeSetUserDataB(b->mem, b->which, s), 0);
    assert_int_equal(CVodeSetLinearSolverB(b->mem, b->which, b->backward.solver, b->backward.matrix), 0);
    if (format == PRODUCTS)
        assert_int_equal(CVodeSetJacTimesB(b->mem, b->which, NULL, tn_sundials_jtimes_b), 0);
    else
        assert_int_equal(CVodeSetJacFnB(b->mem, b->which, tn_sundials_jac_b), 0);
    assert_int_equal(CVodeQuadInitB(b->mem, b->which, tn_sundials_quad_b, b->mu), 0);
    assert_int_equal(CVodeQuadSStolerancesB(b->mem, b->which, rtol, qtol), 0);
    assert_int_equal(CVodeSetQuadErrConB(b->mem, b->which, SUNTRUE), 0);
    assert_int_equal(CVodeB(b->mem, 0, CV_NORMAL), CV_SUCCESS);
    assert_int_equal(CVodeGetB(b->mem, b->which, &t, b->lambda), 0);
    assert_int_equal(CVodeGetQuadB(b->mem, b->which, &t, b->mu), 0);
}

static void both_free(both *b) {
    CVodeFree(&b->mem);
    linear_free(&b->forward);
    linear_free(&b->backward);
    N_VDestroy(b->y), N_VDestroy(b->atol), N_VDestroy(b->lambda), N_VDestroy(b->mu), N_VDestroy(b->q);
    (void)SUNContext_Free(&b->sun);
}

static tn_sundials *integral_of_y3(tn_ctx *c, unsigned with) {
    const tn_sundials_problem q = {.size = sizeof q, .f = robertson_of(c, robertson), .g = robertson_of(c, third)};
    tn_sundials *s = system_of(&q, with);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    return s;
}

/* The shipped gradient from 4e7 is 95 rtol from what tighter tolerances converge to (768377.4, below), as errors add up
 * over hundreds of steps; two such gradients are within 100 rtol of each other. */
static void shipped(void **state) {
    (void)state;
    static const double gradient[] = {7.6845e+05, -3.0692, 5.1154e-04};
    tn_ctx *c = context();
    tn_sundials *s = integral_of_y3(c, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_ADJOINT);
    for (int format = TN_SUNDIALS_DENSE; format <= CSR; format++) {
        both b = forward_to(s, format, 1e-6, robertson_atol, 4e7);
        back(&b, s, format, 1e-6, 1e-8, 1e-6, 4e7);
        as_printed(NV_Ith_S(b.q, 0), 3.9983e+07, 5, 1e-6, 1e-6, "G");
        for (int i = 0; i < 3; i++) as_printed(NV_Ith_S(b.mu, i), gradient[i], 5, 1e-5, 1e-6, format_names[format]);
        as_printed(NV_Ith_S(b.lambda, 0), 3.9967e+07, 5, 1e-6, 1e-8, "dG/dy0");
        both_free(&b);
    }
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_true(z.backward > 1000 && z.not_finite == 0);
    assert_int_equal(tn_sundials_status(s), TN_OK);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* From 50, with the quadratures' absolute tolerance below what they are. */
static void shipped_from_50(void **state) {
    (void)state;
    static const double gradient[] = {1.7341e+02, -5.0591e-04, 8.4322e-08}, lambda[] = {8.4191, 16.097, 16.097};
    static const double atol[] = {1e-11, 1e-17, 1e-11};
    tn_ctx *c = context();
    tn_sundials *s = integral_of_y3(c, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_ADJOINT);
    for (int format = TN_SUNDIALS_DENSE; format <= PRODUCTS; format++) {
        both b = forward_to(s, format, 1e-8, atol, 50);
        back(&b, s, format, 1e-8, 1e-8, 1e-14, 50);
        for (int i = 0; i < 3; i++) {
            /* The last one was shipped with an absolute tolerance ten times its size: three digits are the same. */
            as_printed(NV_Ith_S(b.mu, i), gradient[i], i < 2 ? 5 : 3, 1e-6, 0, format_names[format]);
            as_printed(NV_Ith_S(b.lambda, i), lambda[i], 5, 1e-6, 0, "lambda");
        }
        both_free(&b);
    }
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* G of rates, by forward runs alone. */
static double integral(tn_sundials *s, double first_rate) {
    static const double atol[] = {1e-15, 1e-19, 1e-14};
    const double rates[] = {first_rate, robertson_rates[1], robertson_rates[2]};
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(rates)), TN_OK);
    both b = forward_to(s, TN_SUNDIALS_DENSE, 1e-12, atol, 4e7);
    const double g = NV_Ith_S(b.q, 0);
    both_free(&b);
    return g;
}

static void converged(void **state) {
    (void)state;
    static const double atol[] = {1e-13, 1e-17, 1e-11};
    tn_ctx *c = context();
    tn_sundials *s = integral_of_y3(c, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_ADJOINT);
    const double h = 1e-3 * robertson_rates[0], up = integral(s, robertson_rates[0] + h);
    const double by_difference = (up - integral(s, robertson_rates[0] - h)) / (2 * h);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    double first[3] = {0};
    for (int format = TN_SUNDIALS_DENSE; format <= CSR; format++) {
        both b = forward_to(s, format, 1e-9, atol, 4e7);
        back(&b, s, format, 1e-9, 1e-11, 1e-10, 4e7);
        near_to(NV_Ith_S(b.mu, 0), by_difference, 1e-5, "by differences");
        for (int i = 0; i < 3; i++) {
            if (format == TN_SUNDIALS_DENSE) first[i] = NV_Ith_S(b.mu, i);
            near_to(NV_Ith_S(b.mu, i), first[i], 1e-6, format_names[format]);
        }
        both_free(&b);
    }
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* Without g the start of lambda decides: of y3(0.4) it is (0, 0, 1), and the quadrature is that sensitivity. */
static void of_the_end(void **state) {
    (void)state;
    static const double sensitivity[] = {3.5556e-01, -9.5218e-08, 1.6362e-11}, start[] = {0, 0, 1};
    static const double atol[] = {1e-12, 1e-16, 1e-12};
    tn_ctx *c = context();
    tn_sundials_problem q = {.size = sizeof q, .f = robertson_of(c, robertson)};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_ADJOINT);
    q.g = robertson_of(c, third);
    tn_sundials *with_g = system_of(&q, TN_SUNDIALS_JACOBIAN);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    assert_int_equal(tn_sundials_parameters(with_g, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    for (int format = TN_SUNDIALS_DENSE; format <= PRODUCTS; format++) {
        both b = forward_to(with_g, TN_SUNDIALS_DENSE, 1e-8, atol, 0.4);
        linear_free(&b.backward);
        b.backward = linear_of(s, format, true, b.y, b.sun);
        for (int i = 0; i < 3; i++) NV_Ith_S(b.lambda, i) = start[i];
        back(&b, s, format, 1e-8, 1e-10, 1e-18, 0.4);
        for (int i = 0; i < 3; i++) near_to(NV_Ith_S(b.mu, i), sensitivity[i], 1e-4, format_names[format]);
        both_free(&b);
    }
    tn_sundials_free(s);
    tn_sundials_free(with_g);
    tn_ctx_free(c);
}

/* One backward step at a time: each callback against f's own dense derivatives, of several parameters. */
static tn_val mixed(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_mul(tn_sin(in[1]), tn_broadcast_to(tn_sum(tn_square(in[2])), 2, 2)),
                  tn_mul(in[3], tn_mul(in[0], tn_matmul(in[1], in[1]))));
}
static tn_val weight(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[3], tn_sum(tn_mul(in[1], tn_at(in[2], 1))));
}

static void by_hand(void **state) {
    (void)state;
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q,
                                   .f = tn_trace(c, mixed, NULL, TN_ARGS(tn_f64(), tn_f64(2, 2), tn_f64(3), tn_f64())),
                                   .g =
                                       tn_trace(c, weight, NULL, TN_ARGS(tn_f64(), tn_f64(2, 2), tn_f64(3), tn_f64()))};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_ADJOINT);
    const double t = 0.7, y[] = {0.3, -1, 2, 0.5}, p[] = {1, -2, 0.5}, r = 1.5, l[] = {1, -0.5, 2, 3};
    double jy[16], jp[12], jr[4], gy[4], gp[3], gr;
    const tn_wrt_list *wrt = tn_wrt(1, 2, 3);
    tn_exec *j = tn_compile(tn_jacfwd(q.f, wrt, 0), NULL), *g = tn_compile(tn_grad(q.g, wrt, NULL), NULL);
    assert_true(j && g);
    assert_int_equal(tn_call(j, TN_RAW_INPUTS(&t, y, p, &r), TN_RAW_OUTPUTS(jy, jp, jr)), TN_OK);
    assert_int_equal(tn_call(g, TN_RAW_INPUTS(&t, y, p, &r), TN_RAW_OUTPUTS(gy, gp, &gr)), TN_OK);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(p, &r)), TN_OK);
    SUNContext sun = sun_new();
    N_Vector at = vector_of(sun, 4, y), lambda = vector_of(sun, 4, l), d = vector_of(sun, 4, NULL);
    assert_int_equal(tn_sundials_rhs_b(t, at, lambda, d, s), 0);
    for (int k = 0; k < 4; k++) {
        double sum = -gy[k];
        for (int i = 0; i < 4; i++) sum -= l[i] * jy[4 * i + k];
        near_to(NV_Ith_S(d, k), sum, 1e-14, "lambda'");
    }
    assert_int_equal(tn_sundials_jtimes_b(lambda, d, t, at, lambda, NULL, s, NULL), 0);
    for (int k = 0; k < 4; k++) {
        double sum = 0;
        for (int i = 0; i < 4; i++) sum -= l[i] * jy[4 * i + k];
        near_to(NV_Ith_S(d, k), sum, 1e-14, "-J' v");
    }
    assert_int_equal(tn_sundials_quad_b(t, at, lambda, d, s), 0);
    for (int k = 0; k < 4; k++) {
        double sum = k < 3 ? -gp[k] : -gr;
        for (int i = 0; i < 4; i++) sum -= l[i] * (k < 3 ? jp[3 * i + k] : jr[i]);
        near_to(NV_Ith_S(d, k), sum, 1e-14, "the quadrature");
    }
    N_VDestroy(at), N_VDestroy(lambda), N_VDestroy(d);
    (void)SUNContext_Free(&sun);
    tn_exec_free(j);
    tn_exec_free(g);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),    cmocka_unit_test(shipped_from_50), cmocka_unit_test(converged),
        cmocka_unit_test(of_the_end), cmocka_unit_test(by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
