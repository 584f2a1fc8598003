/* What a system does besides answering: no allocation while a solver runs, one run for a question, failing
 * allocations. */
#include "../failing.h"
#include "test_systems.h"

#include <cvodes/cvodes.h>

enum { ALL = TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES | TN_SUNDIALS_SENSITIVITIES | TN_SUNDIALS_ADJOINT };

/* Everything there is, of an ODE; NULL: a trace failed. */
static tn_sundials *in_context(tn_ctx *c) {
    tn_fn *f = tn_trace(c, robertson, NULL, TN_ARGS(tn_f64(), tn_f64(3), tn_f64(3)));
    tn_fn *g = tn_trace(c, third, NULL, TN_ARGS(tn_f64(), tn_f64(3), tn_f64(3)));
    const tn_sundials_problem q = {.size = sizeof q, .f = f, .g = g, .explicit_part = f};
    const tn_sundials_options o = {.size = sizeof o, .with = ALL, .at_once = 2};
    return f && g ? tn_sundials_new(&q, &o) : NULL;
}

static tn_val implicit(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_mul(in[2], in[3]), tn_sin(in[1]));
}
static tn_sundials *dae_in_context(tn_ctx *c) {
    tn_fn *f = tn_trace(c, implicit, NULL, TN_ARGS(tn_f64(), tn_f64(4), tn_f64(4), tn_f64()));
    const tn_sundials_problem q = {.size = sizeof q, .kind = TN_SUNDIALS_DAE, .f = f};
    const tn_sundials_options o = {.size = sizeof o, .with = TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES};
    return f ? tn_sundials_new(&q, &o) : NULL;
}

/* Every callback once, into vectors and a matrix. */
static void ask(tn_sundials *s, SUNMatrix m, N_Vector y, N_Vector v, N_Vector r, N_Vector q) {
    assert_int_equal(tn_sundials_rhs(0, y, r, s), 0);
    assert_int_equal(tn_sundials_rhs_explicit(0, y, r, s), 0);
    assert_int_equal(tn_sundials_quad(0, y, q, s), 0);
    assert_int_equal(tn_sundials_jac(0, y, NULL, m, s, NULL, NULL, NULL), 0);
    assert_int_equal(tn_sundials_jac_b(0, y, v, NULL, m, s, NULL, NULL, NULL), 0);
    assert_int_equal(tn_sundials_jtimes(v, r, 0, y, NULL, s, NULL), 0);
    assert_int_equal(tn_sundials_sens(1, 0, y, NULL, 0, v, r, s, NULL, NULL), 0);
    assert_int_equal(tn_sundials_sens_all(2, 0, y, NULL, (N_Vector[]){v, v}, (N_Vector[]){r, r}, s, NULL, NULL), 0);
    assert_int_equal(tn_sundials_rhs_b(0, y, v, r, s), 0);
    assert_int_equal(tn_sundials_jtimes_b(v, r, 0, y, NULL, NULL, s, NULL), 0);
    assert_int_equal(tn_sundials_quad_b(0, y, v, r, s), 0);
}

static void no_allocation(void **state) {
    (void)state;
    counter k = {0};
    tn_ctx *c = counting(&k);
    tn_sundials *s = in_context(c);
    assert_int_equal(tn_sundials_status(s), TN_OK);
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(robertson_rates)), TN_OK);
    SUNContext sun = sun_new();
    const double y0[] = {0.9, 1e-5, 0.1};
    N_Vector y = vector_of(sun, 3, y0), v = vector_of(sun, 3, y0), r = vector_of(sun, 3, NULL);
    N_Vector q = vector_of(sun, 1, NULL);
    SUNMatrix m = tn_sundials_matrix(s, TN_SUNDIALS_SPARSE, false, sun);
    const long before = k.calls, own_before = own;
    for (int i = 0; i < 3; i++) ask(s, m, y, v, r, q);
    assert_int_equal(k.calls, before);
    assert_int_equal(own, own_before);
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_true(z.f == 9 && z.jacobian == 6 && z.products == 3 && z.sensitivities == 6 && z.backward == 9);
    SUNMatDestroy(m);
    N_VDestroy(y), N_VDestroy(v), N_VDestroy(r), N_VDestroy(q);
    (void)SUNContext_Free(&sun);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

typedef tn_sundials *(*maker)(tn_ctx *c);
static const maker makers[] = {in_context, dae_in_context};

/* Every allocation of the context fails once: an error with a message, or none was needed. */
static void failing_context(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        long last = 1;
        for (long at = 1; at <= last; at += 1 + at / 40) {
            counter k = {.fail_at = at};
            tn_ctx *c = counting(&k);
            tn_sundials *s = c ? makers[i](c) : NULL;
            if (s && tn_sundials_status(s)) {
                assert_int_equal(tn_sundials_status(s), TN_ENOMEM);
                assert_true(tn_sundials_error(s)[0]);
            }
            if (k.calls >= at) last = at + 1 + at / 40;
            tn_sundials_free(s);
            tn_ctx_free(c);
        }
        assert_true(last > 500);
    }
}

static void failing_system(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        int failures = 0;
        for (long at = 1;; at++) {
            tn_ctx *c = context();
            own = 0;
            fail_own = at;
            tn_sundials *s = makers[i](c);
            const bool reached = own >= at;
            own = fail_own = 0;
            if (reached) {
                failures++;
                assert_int_equal(tn_sundials_status(s), TN_ENOMEM);
                assert_true(tn_sundials_error(s)[0]);
            }
            tn_sundials_free(s);
            tn_ctx_free(c);
            if (!reached) break;
        }
        assert_true(failures > (i ? 15 : 30));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_allocation),
        cmocka_unit_test(failing_context),
        cmocka_unit_test(failing_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
