/* What is refused, and what each refusal says; nothing is lost in any of them. */
#include "test_systems.h"

#include <nvector/nvector_manyvector.h>
#include <nvector/nvector_openmp.h>

static void refused(const tn_sundials_problem *q, const tn_sundials_options *o, tn_status status, const char *text) {
    tn_sundials *s = tn_sundials_new(q, o);
    tn_sundials_sizes z = {.size = sizeof z};
    assert_non_null(s);
    says(s, status, text);
    assert_null(tn_sundials_matrix(s, TN_SUNDIALS_DENSE, false, NULL));
    assert_int_equal(tn_sundials_rhs(0, NULL, NULL, s), -1);
    assert_int_equal(tn_sundials_parameters(s, NULL), status);
    assert_int_equal(tn_sundials_size(s, &z), status);
    says(s, status, text); /* and keeps saying so */
    tn_sundials_free(s);
}

static void nothing(void **state) {
    (void)state;
    tn_sundials_free(NULL);
    assert_string_equal(tn_sundials_error(NULL), "out of memory");
    assert_int_equal(tn_sundials_status(NULL), TN_ENOMEM);
    assert_int_equal(tn_sundials_parameters(NULL, NULL), TN_ENOMEM);
    assert_int_equal(tn_sundials_size(NULL, NULL), TN_EINVAL);
    assert_null(tn_sundials_matrix(NULL, TN_SUNDIALS_DENSE, false, NULL));
    assert_null(tn_sundials_pattern(NULL));
    refused(NULL, NULL, TN_EINVAL, "the problem's size");
    refused(&(tn_sundials_problem){.size = sizeof(tn_sundials_problem)}, NULL, TN_EINVAL, "no f");
    assert_int_equal(tn_sundials_rhs(0, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_jac(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_jtimes(NULL, NULL, 0, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_quad(0, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_rhs_explicit(0, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_sens(0, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_sens_all(0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_rhs_b(0, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_jac_b(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_jtimes_b(NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_quad_b(0, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_residual(0, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_residual_jac(0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_residual_jtimes(0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_roots(NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_roots_jac(NULL, NULL, NULL, NULL, NULL, NULL), -1);
    assert_int_equal(tn_sundials_roots_jtimes(NULL, NULL, NULL, NULL, NULL), -1);
}

static tn_val state_itself(const tn_val *in, void *user) {
    (void)user;
    return in[1];
}
static tn_val first(const tn_val *in, void *user) {
    (void)user;
    return in[0];
}
static tn_val sum(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(in[1]);
}
static void two(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = out[1] = in[1];
}

static void functions(void **state) {
    (void)state;
    tn_ctx *c = context(), *other = context();
    tn_sundials_problem q = {.size = sizeof q};
    q.f = tn_trace(c, first, NULL, TN_ARGS(tn_f64()));
    refused(&q, NULL, TN_EINVAL, "f has 1 inputs, where at least 2 are needed");
    q.f = tn_trace(c, state_itself, NULL, TN_ARGS(tn_f32(), tn_f64(3)));
    refused(&q, NULL, TN_ETYPE, "f's input t is f32[], where f64[] is needed");
    q.f = tn_trace(c, state_itself, NULL, TN_ARGS(tn_f64(), tn_f32(3)));
    refused(&q, NULL, TN_ETYPE, "f's state is f32[3]: SUNDIALS computes in f64");
    q.f = tn_trace(c, state_itself, NULL, TN_ARGS(tn_f64(), tn_f64(0)));
    refused(&q, NULL, TN_EINVAL, "f's state is f64[0]: it is empty");
    q.f = tn_trace(c, sum, NULL, TN_ARGS(tn_f64(), tn_f64(3)));
    refused(&q, NULL, TN_ETYPE, "f's output is f64[], where f64[3] is needed");
    q.f = tn_trace_many(c, two, NULL, TN_ARGS(tn_f64(), tn_f64(3)), 2);
    refused(&q, NULL, TN_EINVAL, "f has 2 outputs, where one is needed");
    q.kind = TN_SUNDIALS_DAE;
    q.f = tn_trace(c, state_itself, NULL, TN_ARGS(tn_f64(), tn_f64(3)));
    refused(&q, NULL, TN_EINVAL, "f has 2 inputs, where at least 3 are needed");
    q.f = tn_trace(c, state_itself, NULL, TN_ARGS(tn_f64(), tn_f64(3), tn_f64(2)));
    refused(&q, NULL, TN_ETYPE, "f's input y' is f64[2], where f64[3] is needed");
    q.kind = TN_SUNDIALS_ROOTS;
    q.f = tn_trace(c, state_itself, NULL, TN_ARGS(tn_f64(3), tn_f64(4)));
    refused(&q, NULL, TN_ETYPE, "f's output is f64[4], where 3 elements are needed");
    q.kind = (tn_sundials_kind)3;
    refused(&q, NULL, TN_EINVAL, "a problem of kind 3");
    q = (tn_sundials_problem){.size = sizeof q, .f = robertson_of(c, robertson)};
    q.g = robertson_of(c, robertson);
    refused(&q, NULL, TN_ETYPE, "g's output is f64[3], where f64[] is needed");
    q.g = robertson_of(other, third);
    refused(&q, NULL, TN_EINVAL, "f and g are of different contexts");
    q.g = tn_trace(c, sum, NULL, TN_ARGS(tn_f64(), tn_f64(3)));
    refused(&q, NULL, TN_EINVAL, "f has 3 inputs, g 2");
    q.g = tn_trace(c, sum, NULL, TN_ARGS(tn_f64(), tn_f64(3), tn_f64(4)));
    refused(&q, NULL, TN_ETYPE, "g's input 2 is f64[4], where f64[3] is needed");
    q.g = NULL;
    q.explicit_part = robertson_of(c, third);
    refused(&q, NULL, TN_ETYPE, "the explicit part's output is f64[], where f64[3] is needed");
    tn_ctx_free(other);
    tn_ctx_free(c);
}

static void options(void **state) {
    (void)state;
    tn_ctx *c = context();
    tn_sundials_problem q = {.size = sizeof q, .f = robertson_of(c, robertson)};
    tn_sundials_options o = {.size = 0};
    refused(&q, &o, TN_EINVAL, "the options' size");
    o = (tn_sundials_options){.size = sizeof o, .with = 16};
    refused(&q, &o, TN_EINVAL, "derivatives 16");
    const int alias = -1;
    const tn_compile_options with_alias = {.size = sizeof with_alias, .alias = &alias}, sizeless = {.size = 0};
    o = (tn_sundials_options){.size = sizeof o, .compile = &with_alias};
    refused(&q, &o, TN_EINVAL, "strides, aliases and observers");
    o.compile = &sizeless;
    refused(&q, &o, TN_EINVAL, "f: ");
    const double y[3] = {0};
    o = (tn_sundials_options){.size = sizeof o, .known = TN_INPUTS(NULL, y, NULL)};
    refused(&q, &o, TN_EINVAL, "known: input 1 is the solver's");
    o = (tn_sundials_options){.size = sizeof o, .known = TN_INPUTS(NULL, NULL)};
    refused(&q, &o, TN_EINVAL, "known: 2 arguments are given");
    o = (tn_sundials_options){.size = sizeof o, .known = (const void *[]){NULL, y, NULL}};
    refused(&q, &o, TN_EINVAL, "known: input 1 is the solver's");
    o = (tn_sundials_options){.size = sizeof o, .with = TN_SUNDIALS_SENSITIVITIES};
    q.wrt = tn_wrt(1);
    refused(&q, &o, TN_EINVAL, "wrt 1 is no parameter: those are inputs 2 to 2");
    q.wrt = tn_wrt(2, 2);
    refused(&q, &o, TN_EINVAL, "the Jacobian's product: ");
    q.wrt = NULL;
    q.f = tn_trace(c, state_itself, NULL, TN_ARGS(tn_f64(), tn_f64(3), tn_f32(2)));
    refused(&q, &o, TN_ETYPE, "wrt 2 is f32[2]: SUNDIALS computes in f64");
    q = (tn_sundials_problem){.size = sizeof q, .kind = TN_SUNDIALS_ROOTS};
    q.f = tn_trace(c, first, NULL, TN_ARGS(tn_f64(3)));
    refused(&q, &o, TN_EINVAL, "those of an ODE");
    tn_ctx_free(c);
}

/* The library has no derivative of this one. */
static int opaque(void *user, const void *const *in, void *const *out) {
    (void)user;
    memcpy(out[0], in[0], 3 * sizeof(double));
    return 0;
}
static int broken(void *user, const void *const *in, void *const *out) {
    (void)user, (void)in, (void)out;
    return 1;
}
static tn_val external(const tn_val *in, void *user) { return tn_external(tn_val_ctx(in[1]), user, 1, &in[1]); }

static void externals(void **state) {
    (void)state;
    tn_ctx *c = context();
    const tn_type three = tn_f64(3);
    tn_external_spec e = {.size = sizeof e, .name = "opaque", .nin = 1, .nout = 1, .in = &three, .out = &three};
    e.fn = opaque;
    assert_int_equal(tn_external_register(c, &e), TN_OK);
    e.name = "broken";
    e.fn = broken;
    assert_int_equal(tn_external_register(c, &e), TN_OK);
    char opaque_name[] = "opaque", broken_name[] = "broken";
    tn_sundials_problem q = {.size = sizeof q};
    q.f = tn_trace(c, external, opaque_name, TN_ARGS(tn_f64(), tn_f64(3)));
    for (unsigned with = 1; with < 16; with *= 2)
        refused(&q, &(tn_sundials_options){.size = sizeof(tn_sundials_options), .with = with}, TN_ERULE, "opaque");
    q.f = tn_trace(c, external, broken_name, TN_ARGS(tn_f64(), tn_f64(3)));
    tn_sundials *s = system_of(&q, 0);
    SUNContext sun = sun_new();
    N_Vector y = vector_of(sun, 3, NULL), d = vector_of(sun, 3, NULL);
    assert_int_equal(tn_sundials_rhs(0, y, d, s), -1);
    says(s, TN_ECALLBACK, "broken");
    N_VDestroy(y), N_VDestroy(d);
    (void)SUNContext_Free(&sun);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* Parameters, and vectors that do not fit. */
static void vectors(void **state) {
    (void)state;
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q, .f = robertson_of(c, robertson)};
    tn_sundials *s = system_of(&q, 0);
    SUNContext sun = sun_new();
    N_Vector y = vector_of(sun, 3, NULL), d = vector_of(sun, 3, NULL), four = vector_of(sun, 4, NULL);
    N_Vector empty = N_VNewEmpty_Serial(3, sun), many = N_VNew_ManyVector(1, &y, sun);
    N_Vector threads = N_VNew_OpenMP(3, 2, sun), other = N_VNew_OpenMP(3, 2, sun);
    assert_int_equal(tn_sundials_parameters(s, NULL), TN_EINVAL);
    says(s, TN_EINVAL, "there are 1 parameters, and no values");
    assert_int_equal(tn_sundials_parameters(s, (const void *[]){NULL}), TN_EINVAL);
    says(s, TN_EINVAL, "parameter 0 is NULL");
    assert_int_equal(tn_sundials_parameters(s, TN_INPUTS(&(float){2})), TN_EINVAL);
    says(s, TN_EINVAL, "parameters: argument 0 (f64[3]) is given a buffer of f32");
    assert_int_equal(tn_sundials_parameters(s, TN_INPUTS(robertson_rates, robertson_rates)), TN_EINVAL);
    says(s, TN_EINVAL, "parameters: 2 arguments are given, the program has 1");
    assert_int_equal(tn_sundials_parameters(s, TN_INPUTS(robertson_rates)), TN_OK);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    assert_int_equal(tn_sundials_rhs(0, y, d, s), 0);
    assert_int_equal(tn_sundials_rhs(0, four, d, s), -1);
    says(s, TN_ETYPE, "the state: a vector of 4 elements, where there are 3");
    assert_int_equal(tn_sundials_rhs(0, y, four, s), -1);
    says(s, TN_ETYPE, "the result: a vector of 4 elements");
    assert_int_equal(tn_sundials_rhs(0, y, empty, s), -1);
    says(s, TN_EINVAL, "the result: a vector that is not serial");
    assert_int_equal(tn_sundials_rhs(0, NULL, d, s), -1);
    says(s, TN_EINVAL, "the state: there is no vector");
    assert_int_equal(tn_sundials_rhs(0, many, d, s), -1);
    says(s, TN_EINVAL, "the state: a vector that is not serial");
    N_VConst(0.5, y);
    N_VConst(0.5, threads);
    assert_int_equal(tn_sundials_rhs(0, y, d, s), 0);
    assert_int_equal(tn_sundials_rhs(0, threads, other, s), 0);
    for (int i = 0; i < 3; i++) assert_true(NV_Ith_OMP(other, i) == NV_Ith_S(d, i));
    tn_sundials_free(s);
    N_VDestroy(many);
    N_VDestroy(y), N_VDestroy(d), N_VDestroy(four), N_VDestroy(empty), N_VDestroy(threads), N_VDestroy(other);
    (void)SUNContext_Free(&sun);
    tn_ctx_free(c);
}

/* What was not asked for, or is of another kind. */
static void calls(void **state) {
    (void)state;
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q, .f = robertson_of(c, robertson)};
    tn_sundials *s = system_of(&q, 0);
    SUNContext sun = sun_new();
    N_Vector y = vector_of(sun, 3, NULL), d = vector_of(sun, 3, NULL);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    assert_int_equal(tn_sundials_jac(0, y, NULL, NULL, s, NULL, NULL, NULL), -1);
    says(s, TN_EINVAL, "without an ODE's Jacobian: TN_SUNDIALS_JACOBIAN");
    assert_null(tn_sundials_matrix(s, TN_SUNDIALS_DENSE, false, sun));
    says(s, TN_EINVAL, "a matrix: the system has no TN_SUNDIALS_JACOBIAN");
    assert_int_equal(tn_sundials_jtimes(y, d, 0, y, NULL, s, NULL), -1);
    says(s, TN_EINVAL, "TN_SUNDIALS_TIMES");
    assert_int_equal(tn_sundials_sens(1, 0, y, NULL, 0, y, d, s, NULL, NULL), -1);
    says(s, TN_EINVAL, "TN_SUNDIALS_SENSITIVITIES");
    assert_int_equal(tn_sundials_rhs_b(0, y, y, d, s), -1);
    says(s, TN_EINVAL, "TN_SUNDIALS_ADJOINT");
    assert_int_equal(tn_sundials_quad(0, y, d, s), -1);
    says(s, TN_EINVAL, "without g");
    assert_int_equal(tn_sundials_rhs_explicit(0, y, d, s), -1);
    says(s, TN_EINVAL, "without an explicit part");
    assert_int_equal(tn_sundials_residual(0, y, y, d, s), -1);
    says(s, TN_EINVAL, "without a DAE");
    assert_int_equal(tn_sundials_roots(y, d, s), -1);
    says(s, TN_EINVAL, "without roots");
    tn_sundials_free(s);
    s = system_of(&q, TN_SUNDIALS_JACOBIAN);
    assert_null(tn_sundials_matrix(s, TN_SUNDIALS_DENSE, false, NULL));
    says(s, TN_EINVAL, "a matrix: there is no SUNContext");
    assert_null(tn_sundials_matrix(s, (tn_sundials_format)3, false, sun));
    says(s, TN_EINVAL, "a matrix: the format is none");
    assert_int_equal(tn_sundials_size(s, &(tn_sundials_sizes){.size = 0}), TN_EINVAL);
    tn_sundials_free(s);
    N_VDestroy(y), N_VDestroy(d);
    (void)SUNContext_Free(&sun);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),   cmocka_unit_test(functions), cmocka_unit_test(options),
        cmocka_unit_test(externals), cmocka_unit_test(vectors),   cmocka_unit_test(calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
