/* CVODES: Robertson's kinetics, with the values that SUNDIALS ships with its example cvRoberts_klu, for all formats of
 * the Jacobian; products; sensitivities. */
#include "test_systems.h"

#include <cvodes/cvodes.h>

/* ---- Robertson ---------------------------------------------------------------------------- */

static int roots(double t, N_Vector y, double *g, void *user) {
    (void)t, (void)user;
    g[0] = NV_Ith_S(y, 0) - 1e-4;
    g[1] = NV_Ith_S(y, 2) - 0.01;
    return 0;
}

typedef struct solve {
    SUNContext sun;
    N_Vector y, atol;
    linear linear;
    void *mem;
} solve;

static solve solve_of(tn_sundials *s, int format, int64_t n, const double *y0, double rtol, const double *atol) {
    solve v = {.sun = sun_new()};
    v.y = vector_of(v.sun, n, y0);
    v.atol = vector_of(v.sun, n, NULL);
    for (int64_t i = 0; i < n; i++) NV_Ith_S(v.atol, i) = atol[n == 3 ? i : 0];
    v.mem = CVodeCreate(CV_BDF, v.sun);
    v.linear = linear_of(s, format, false, v.y, v.sun);
    assert_int_equal(CVodeSetErrHandlerFn(v.mem, silent, NULL), 0);
    assert_int_equal(CVodeInit(v.mem, tn_sundials_rhs, 0, v.y), 0);
    assert_int_equal(CVodeSVtolerances(v.mem, rtol, v.atol), 0);
    assert_int_equal(CVodeSetUserData(v.mem, s), 0);
    assert_int_equal(CVodeSetMaxNumSteps(v.mem, 20000), 0);
    assert_int_equal(CVodeSetLinearSolver(v.mem, v.linear.solver, v.linear.matrix), 0);
    if (v.linear.matrix)
        assert_int_equal(CVodeSetJacFn(v.mem, tn_sundials_jac), 0);
    else
        assert_int_equal(CVodeSetJacTimes(v.mem, NULL, tn_sundials_jtimes), 0);
    return v;
}

static void solve_free(solve *v) {
    CVodeFree(&v->mem);
    linear_free(&v->linear);
    N_VDestroy(v->y);
    N_VDestroy(v->atol);
    (void)SUNContext_Free(&v->sun);
}

static void to(solve *v, double t1) {
    double t = 0;
    int flag = CV_ROOT_RETURN;
    while (flag == CV_ROOT_RETURN) flag = CVode(v->mem, t1, v->y, &t, CV_NORMAL);
    assert_int_equal(flag, CV_SUCCESS);
}

static tn_sundials *robertson_system(tn_ctx *c, unsigned with) {
    const tn_sundials_problem q = {.size = sizeof q, .f = robertson_of(c, robertson), .g = robertson_of(c, third)};
    tn_sundials *s =
        tn_sundials_new(&q, &(tn_sundials_options){.size = sizeof(tn_sundials_options), .with = with, .at_once = 4});
    if (tn_sundials_status(s)) fail_msg("%s", tn_sundials_error(s));
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    return s;
}

static void shipped(void **state) {
    (void)state;
    static const double when[] = {0.4, 40, 4e4}, y1[] = {9.851641e-01, 7.158017e-01, 3.898902e-02};
    tn_ctx *c = context();
    tn_sundials *s = robertson_system(c, TN_SUNDIALS_JACOBIAN);
    double first[3][3] = {{0}};
    for (int format = TN_SUNDIALS_DENSE; format <= CSR; format++) {
        solve v = solve_of(s, format, 3, robertson_y0, 1e-4, robertson_atol);
        assert_int_equal(CVodeRootInit(v.mem, 2, roots), 0);
        double t1 = 0.4;
        int seen = 0;
        for (int i = 0; i < 12; i++, t1 *= 10) {
            to(&v, t1);
            if (seen == 3 || fabs(t1 - when[seen]) > 1e-6 * t1) continue;
            as_printed(NV_Ith_S(v.y, 0), y1[seen], 7, 1e-4, 1e-8, format_names[format]);
            for (int k = 0; k < 3; k++) {
                if (format == TN_SUNDIALS_DENSE) first[seen][k] = NV_Ith_S(v.y, k);
                near_to(NV_Ith_S(v.y, k), first[seen][k], 1e-5, format_names[format]); /* a tenth of rtol */
            }
            seen++;
        }
        assert_int_equal(seen, 3);
        long jacobians = 0;
        assert_int_equal(CVodeGetNumJacEvals(v.mem, &jacobians), 0);
        /* CSR is solved transposed: other roundings, and once a step more that fails. */
        assert_int_equal(jacobians - (format == CSR && jacobians == 12), 11);
        solve_free(&v);
    }
    assert_int_equal(tn_sundials_status(s), TN_OK);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* ---- a banded problem ------------------------------------------------------------------------ */

/* All formats and products give one solution, and it is that of the dense one. */
static void formats(void **state) {
    (void)state;
    enum { N = 60 };
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q,
                                   .f = tn_trace(c, carried, NULL, TN_ARGS(tn_f64(), tn_f64(N), tn_f64(3)))};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES);
    tn_sundials_sizes z = {.size = sizeof z};
    double y0[N], first[N] = {0}, atol = 1e-10;
    for (int i = 0; i < N; i++) y0[i] = sin(3.0 * (i + 1) / (N + 1));
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(carried_values)), TN_OK);
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_int_equal(z.nnz, 3 * N - 2);
    assert_true(z.n == N && z.lower == 1 && z.upper == 1 && z.f == 0);
    for (int format = TN_SUNDIALS_DENSE; format <= PRODUCTS; format++) {
        solve v = solve_of(s, format, N, y0, 1e-8, &atol);
        to(&v, 1);
        for (int i = 0; i < N; i++) {
            if (format == TN_SUNDIALS_DENSE) first[i] = NV_Ith_S(v.y, i);
            near_to(NV_Ith_S(v.y, i), first[i], format == PRODUCTS ? 1e-5 : 1e-9, format_names[format]);
        }
        solve_free(&v);
    }
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_true(z.f > 100 && z.jacobian > 4 && z.products > 100 && z.not_finite == 0);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* Programs are compiled as the options say: every equation by a kernel of its own. */
static void compiled(void **state) {
    (void)state;
    enum { N = 20 };
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q,
                                   .f = tn_trace(c, carried, NULL, TN_ARGS(tn_f64(), tn_f64(N), tn_f64(3)))};
    const tn_compile_options plain = {.size = sizeof plain, .backend = TN_BACKEND_REFERENCE};
    const tn_sundials_options o = {.size = sizeof o, .with = TN_SUNDIALS_JACOBIAN, .compile = &plain};
    tn_sundials *s[2] = {tn_sundials_new(&q, &o), system_of(&q, TN_SUNDIALS_JACOBIAN)};
    double y0[N], y[2], atol = 1e-10;
    for (int i = 0; i < N; i++) y0[i] = sin(3.0 * (i + 1) / (N + 1));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(tn_sundials_parameters(s[k], TN_RAW_INPUTS(carried_values)), TN_OK);
        solve v = solve_of(s[k], TN_SUNDIALS_BAND, N, y0, 1e-8, &atol);
        to(&v, 1);
        y[k] = NV_Ith_S(v.y, N / 2);
        solve_free(&v);
        tn_sundials_free(s[k]);
    }
    near_to(y[0], y[1], 1e-7, "the reference");
    tn_ctx_free(c);
}

/* ---- sensitivities ------------------------------------------------------------------------------ */

/* y at 0.4, of rates, by tight tolerances. */
static void solution(tn_sundials *s, const double *rates, const double *y0, double t1, double *y) {
    static const double atol[] = {1e-14, 1e-18, 1e-14};
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(rates)), TN_OK);
    solve v = solve_of(s, TN_SUNDIALS_SPARSE, 3, y0, 1e-12, atol);
    to(&v, t1);
    for (int k = 0; k < 3; k++) y[k] = NV_Ith_S(v.y, k);
    solve_free(&v);
}

/* What SUNDIALS ships with cvsRoberts_FSA_dns, at 0.4; then differences, which the initial state has as well. */
static const double shipped_sensitivities[3][3] = {
    {-3.5595e-01, 3.9025e-04, 3.5556e-01},
    {9.5431e-08, -2.1309e-10, -9.5218e-08},
    {-1.5833e-11, -5.2900e-13, 1.6362e-11},
};

static void difference(tn_sundials *s, int i, double t1, double *d) {
    double rates[3], y0[3], up[3], down[3];
    double *x = i < 3 ? &rates[i] : &y0[i - 3];
    memcpy(rates, robertson_rates, sizeof rates);
    memcpy(y0, robertson_y0, sizeof y0);
    const double h = i < 3 ? 1e-3 * rates[i] : 1e-4, middle = *x;
    *x = middle + h;
    solution(s, rates, y0, t1, up);
    *x = middle - h;
    solution(s, rates, y0, t1, down);
    for (int k = 0; k < 3; k++) d[k] = (up[k] - down[k]) / (2 * h);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
}

static void sensitivities_by(tn_sundials *s, int method, bool all, double d[4][3]) {
    enum { NS = 4 }; /* the rates, and the first substance at the start */
    solve v = solve_of(s, TN_SUNDIALS_SPARSE, 3, robertson_y0, 1e-8, robertson_atol);
    N_Vector *ys = N_VCloneVectorArray(NS, v.y);
    double scale[NS] = {0.04, 1e4, 3e7, 1}, t = 0;
    for (int i = 0; i < NS; i++) N_VConst(0, ys[i]);
    NV_Ith_S(ys[3], 0) = 1;
    assert_int_equal(all ? CVodeSensInit(v.mem, NS, method, tn_sundials_sens_all, ys)
                         : CVodeSensInit1(v.mem, NS, method, tn_sundials_sens, ys),
                     0);
    assert_int_equal(CVodeSetSensParams(v.mem, NULL, scale, NULL), 0);
    assert_int_equal(CVodeSensEEtolerances(v.mem), 0);
    assert_int_equal(CVodeSetSensErrCon(v.mem, SUNTRUE), 0);
    to(&v, 0.4);
    assert_int_equal(CVodeGetSens(v.mem, &t, ys), 0);
    for (int i = 0; i < NS; i++)
        for (int k = 0; k < 3; k++) d[i][k] = NV_Ith_S(ys[i], k);
    N_VDestroyVectorArray(ys, NS);
    solve_free(&v);
}

static void sensitivities(void **state) {
    (void)state;
    tn_ctx *c = context();
    tn_sundials *s = robertson_system(c, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_SENSITIVITIES);
    double by_difference[4][3];
    for (int i = 0; i < 4; i++) difference(s, i, 0.4, by_difference[i]);
    for (int method = CV_SIMULTANEOUS; method <= CV_STAGGERED1; method++) {
        double d[4][3], at_once[4][3];
        sensitivities_by(s, method, false, d);
        if (method < CV_STAGGERED1) sensitivities_by(s, method, true, at_once);
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) {
                if (method < CV_STAGGERED1) near_to(at_once[i][k], d[i][k], 1e-5, "at once");
                if (i < 3) near_to(d[i][k], shipped_sensitivities[i][k], 1e-3, "as shipped");
                near_to(d[i][k], by_difference[i][k], 1e-3, "by differences");
            }
    }
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_true(z.np == 3 && z.sensitivities > 100);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* Of the third rate alone, and of what a parameter of other types stands beside. */
static tn_val with_switch(const tn_val *in, void *user) {
    const tn_val x[] = {in[0], in[1], tn_concatenate(tn_vals(in[3], tn_expand_dims(in[4], 0)), 0)};
    return tn_where(tn_gt(in[2], 0), robertson(x, user), tn_zeros_like(in[1]));
}

static void chosen(void **state) {
    (void)state;
    tn_ctx *c = context();
    const tn_sundials_problem q = {
        .size = sizeof q,
        .f = tn_trace(c, with_switch, NULL, TN_ARGS(tn_f64(), tn_f64(3), tn_i32(), tn_f64(2), tn_f64())),
        .wrt = tn_wrt(4)};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_SENSITIVITIES);
    const int32_t on = 1;
    const double y[] = {0.9, 1e-5, 0.1};
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(&on, robertson_rates, robertson_rates + 2)), TN_OK);
    SUNContext sun = sun_new();
    N_Vector at = vector_of(sun, 3, y), zero = vector_of(sun, 3, NULL), d = vector_of(sun, 3, NULL);
    assert_int_equal(tn_sundials_sens(1, 0, at, NULL, 0, zero, d, s, NULL, NULL), 0);
    assert_true(NV_Ith_S(d, 0) == 0);
    near_to(NV_Ith_S(d, 2), 1e-10, 1e-14, "df/dp");
    assert_int_equal(tn_sundials_sens(1, 0, at, NULL, 1, zero, d, s, NULL, NULL), 0); /* beyond np */
    assert_true(NV_Ith_S(d, 0) == 0 && NV_Ith_S(d, 2) == 0);
    N_VDestroy(at), N_VDestroy(zero), N_VDestroy(d);
    (void)SUNContext_Free(&sun);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* Of parameters of several shapes, more and fewer at once than there are elements: what one at a time gives. */
static tn_val of_shapes(const tn_val *in, void *user) {
    (void)user;
    const tn_val turned = tn_matmul(in[2], in[1]), scaled = tn_mul(in[4], tn_sin(in[1]));
    return tn_add(tn_add(turned, scaled), tn_mul(in[0], tn_mul(tn_at(in[3], 0), tn_exp(tn_mul(0.1, in[1])))));
}

static void at_once(void **state) {
    (void)state;
    enum { NP = 4 + 2 + 1 };
    const double y0[] = {0.3, -1}, a[] = {1, 2, -3, 0.5}, b[] = {0.25, 9}, r = 1.5;
    tn_ctx *c = context();
    SUNContext sun = sun_new();
    N_Vector y = vector_of(sun, 2, y0), s1 = vector_of(sun, 2, NULL), v[NP + 2], d[NP + 2];
    for (int i = 0; i < NP + 2; i++)
        v[i] = vector_of(sun, 2, (double[]){i, 1 - 0.5 * i}), d[i] = vector_of(sun, 2, NULL);
    const tn_sundials_problem q = {
        .size = sizeof q,
        .f = tn_trace(c, of_shapes, NULL, TN_ARGS(tn_f64(), tn_f64(2), tn_f64(2, 2), tn_f64(2), tn_f64()))};
    for (int ns = 1; ns <= NP + 2; ns += 4) {
        tn_sundials *s = tn_sundials_new(&q, &(tn_sundials_options){.size = sizeof(tn_sundials_options),
                                                                    .with = TN_SUNDIALS_SENSITIVITIES,
                                                                    .at_once = (size_t)ns});
        if (tn_sundials_status(s)) fail_msg("%s", tn_sundials_error(s));
        assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(a, b, &r)), TN_OK);
        assert_int_equal(tn_sundials_sens_all(ns, 0.7, y, NULL, v, d, s, NULL, NULL), 0);
        for (int i = 0; i < ns; i++) {
            assert_int_equal(tn_sundials_sens(ns, 0.7, y, NULL, i, v[i], s1, s, NULL, NULL), 0);
            for (int k = 0; k < 2; k++) near_to(NV_Ith_S(d[i], k), NV_Ith_S(s1, k), 1e-14, "one at a time");
        }
        assert_int_equal(tn_sundials_sens_all(ns + 1, 0.7, y, NULL, v, d, s, NULL, NULL), -1);
        says(s, TN_EINVAL, "sensitivities, where at_once is");
        tn_sundials_free(s);
    }
    tn_sundials *s = tn_sundials_new(&q, &(tn_sundials_options){.size = sizeof(tn_sundials_options),
                                                                .with = TN_SUNDIALS_SENSITIVITIES,
                                                                .at_once = SIZE_MAX / 4});
    says(s, TN_ENOMEM, "sensitivities at once do not fit");
    tn_sundials_free(s);
    for (int i = 0; i < NP + 2; i++) N_VDestroy(v[i]), N_VDestroy(d[i]);
    N_VDestroy(y), N_VDestroy(s1);
    (void)SUNContext_Free(&sun);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),       cmocka_unit_test(formats), cmocka_unit_test(compiled),
        cmocka_unit_test(sensitivities), cmocka_unit_test(chosen),  cmocka_unit_test(at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
