/* Runs and memory: one run a point, nothing allocated by a solve, every allocation fails once. */
#include "../failing.h"
#include "test_problems.h"

static void once_a_point(void **state) {
    (void)state;
    problem p;
    hs071(&p);
    const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
    tn_nlopt *s = tn_nlopt_new(&p.nlp, NULL);
    tn_nlopt_result r = {.size = sizeof r};
    if (tn_nlopt_solve(s, &start, &r)) fail_msg("%s", tn_nlopt_error(s));
    assert_true(r.evaluations > 0 && r.f_runs + r.gradient_runs <= r.evaluations);
    assert_true(r.g_runs <= r.evaluations + 1 && r.h_runs <= r.evaluations + 1); /* one where it ends */
    assert_true(r.g_jacobian_runs <= r.gradient_runs && r.h_jacobian_runs <= r.gradient_runs);
    const double objective = r.objective;
    const int64_t evaluations = r.evaluations;
    if (tn_nlopt_solve(s, &start, &r)) fail_msg("%s", tn_nlopt_error(s));
    assert_true(r.objective == objective && r.evaluations == evaluations); /* the same again, to the bit */
    tn_nlopt_free(s);
    problem_free(&p);
}

static void handle(void **state) {
    (void)state;
    problem p;
    rosenbrock(&p, 2);
    const tn_nlopt_options o = {.size = sizeof o, .algorithm = "LN_NELDERMEAD"};
    const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
    tn_nlopt *s = tn_nlopt_new(&p.nlp, &o);
    tn_nlopt_result r = {.size = sizeof r};
    assert_non_null(tn_nlopt_handle(s));
    assert_true(nlopt_set_initial_step1(tn_nlopt_handle(s), 1e-3) > 0);
    if (tn_nlopt_solve(s, &start, &r)) fail_msg("%s", tn_nlopt_error(s));
    const int64_t small = r.evaluations;
    assert_true(nlopt_set_initial_step1(tn_nlopt_handle(s), 0.5) > 0);
    if (tn_nlopt_solve(s, &start, &r)) fail_msg("%s", tn_nlopt_error(s));
    assert_true(r.evaluations != small);
    tn_nlopt_free(s);
    problem_free(&p);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const tn_nlopt_options augmented = {
    .size = sizeof augmented, .algorithm = "AUGLAG", .local = "LD_LBFGS", .xtol_rel = 1e-9};

/* HS071 of two variables, so that Jacobians have blocks. */
static tn_val joined(const tn_val *in) { return tn_concatenate(tn_vals(tn_ravel(in[0]), in[1]), 0); }
static tn_val split_f(const tn_val *in, void *user) {
    const tn_val x = joined(in);
    return hs071_f(&x, user);
}
static tn_val split_g(const tn_val *in, void *user) {
    const tn_val x = joined(in);
    return hs071_g(&x, user);
}
static tn_val split_h(const tn_val *in, void *user) {
    const tn_val x = joined(in);
    return hs071_h(&x, user);
}

static tn_nlopt *in_context(tn_ctx *c) {
    const tn_nlopt_problem q = {.size = sizeof q,
                                .variables = 2,
                                .f = tn_trace(c, split_f, NULL, TN_ARGS(tn_f64(2, 1), tn_f64(2))),
                                .g = tn_trace(c, split_g, NULL, TN_ARGS(tn_f64(2, 1), tn_f64(2))),
                                .h = tn_trace(c, split_h, NULL, TN_ARGS(tn_f64(2, 1), tn_f64(2)))};
    return q.f && q.g && q.h ? tn_nlopt_new(&q, &augmented) : NULL;
}

static void no_allocation(void **state) {
    (void)state;
    counter k = {0};
    const double x0[] = {1, 5, 5, 1};
    tn_ctx *c = counting(&k);
    tn_nlopt *s = in_context(c);
    tn_nlopt_result r = {.size = sizeof r};
    const long before = k.calls;
    (void)tn_nlopt_solve(s, &(tn_nlopt_start){.size = sizeof(tn_nlopt_start), .x = x0}, &r);
    assert_true(r.evaluations > 5);
    assert_int_equal(k.calls, before);
    tn_nlopt_free(s);
    tn_ctx_free(c);
}

/* Every allocation of the context fails once: an error with a message, or none was needed. */
static void failing_context(void **state) {
    (void)state;
    long last = 1;
    for (long at = 1; at <= last; at += 1 + at / 40) {
        counter k = {.fail_at = at};
        tn_ctx *c = counting(&k);
        tn_nlopt *s = c ? in_context(c) : NULL;
        if (s && tn_nlopt_status(s)) {
            assert_int_equal(tn_nlopt_status(s), TN_ENOMEM);
            assert_true(tn_nlopt_error(s)[0]);
        }
        if (k.calls >= at) last = at + 1 + at / 40;
        tn_nlopt_free(s);
        tn_ctx_free(c);
    }
    assert_true(last > 500);
}

static void failing_solver(void **state) {
    (void)state;
    int failures = 0;
    for (long at = 1;; at++) {
        tn_ctx *c = tn_ctx_new(NULL);
        own = fail_own = 0;
        const tn_nlopt_problem q = {.size = sizeof q,
                                    .variables = 2,
                                    .f = tn_trace(c, split_f, NULL, TN_ARGS(tn_f64(2, 1), tn_f64(2))),
                                    .g = tn_trace(c, split_g, NULL, TN_ARGS(tn_f64(2, 1), tn_f64(2))),
                                    .h = tn_trace(c, split_h, NULL, TN_ARGS(tn_f64(2, 1), tn_f64(2)))};
        assert_true(q.f && q.g && q.h);
        own = 0;
        fail_own = at;
        tn_nlopt *s = tn_nlopt_new(&q, &augmented);
        const bool reached = own >= at;
        own = fail_own = 0;
        if (reached) {
            failures++;
            assert_int_equal(tn_nlopt_status(s), TN_ENOMEM);
            assert_true(tn_nlopt_error(s)[0]);
        }
        tn_nlopt_free(s);
        tn_ctx_free(c);
        if (!reached) break;
    }
    assert_true(failures > 25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_a_point),    cmocka_unit_test(handle),         cmocka_unit_test(no_allocation),
        cmocka_unit_test(failing_context), cmocka_unit_test(failing_solver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
