/* Minima, what fails on the way and what each says, memory. */
#include "../failing.h"

#include <tansy/lbfgs.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { N = 100 };

static tn_lbfgs *solver(tn_ctx *c, const tn_fn *f, size_t variables, const tn_lbfgs_options *o) {
    if (!f) fail_msg("%s", tn_error(c));
    const tn_lbfgs_problem q = {.size = sizeof q, .f = f, .variables = variables};
    tn_lbfgs *s = tn_lbfgs_new(&q, o);
    if (tn_lbfgs_status(s)) fail_msg("%s", tn_lbfgs_error(s));
    return s;
}

static void says(const tn_lbfgs *s, tn_status status, const char *text) {
    if (tn_lbfgs_status(s) != status || !strstr(tn_lbfgs_error(s), text))
        fail_msg("%s: \"%s\", where %s: \"%s\" was to be", tn_status_text(tn_lbfgs_status(s)), tn_lbfgs_error(s),
                 tn_status_text(status), text);
}

/* ---- minima ------------------------------------------------------------------------------------ */

static tn_val rosenbrock(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_slice_axis(in[0], 0, N - 1, 1, 0), b = tn_slice_axis(in[0], 1, N, 1, 0);
    return tn_add(tn_mul(100.0, tn_sum_squares(tn_sub(b, tn_square(a)))), tn_sum_squares(tn_sub(1.0, a)));
}

static int counted_iterations(void *user, const tn_lbfgs_iteration *i) {
    int64_t *n = user;
    assert_int_equal(i->number, ++*n);
    assert_true(isfinite(i->objective) && i->step > 0 && i->evaluations > 0 && i->x);
    return 0;
}

static void minima(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, rosenbrock, NULL, TN_ARGS(tn_f64(N)));
    for (int search = TN_LBFGS_STRONG_WOLFE; search <= TN_LBFGS_MORE_THUENTE; search++) {
        int64_t told = 0;
        const tn_lbfgs_options o = {.size = sizeof o,
                                    .search = search,
                                    .gradient_tol = 1e-10,
                                    .progress = counted_iterations,
                                    .progress_user = &told};
        tn_lbfgs *s = solver(c, f, 0, &o);
        tn_lbfgs_result r = {.size = sizeof r};
        double first = NAN;
        for (int again = 0; again < 2; again++, told = 0) {
            if (tn_lbfgs_solve(s, NULL, &r)) fail_msg("%s", tn_lbfgs_error(s));
            for (int i = 0; i < N; i++) assert_true(fabs(r.x[i] - 1) < 1e-8);
            assert_true(r.objective < 1e-18 && r.gradient_norm < 1e-8);
            assert_int_equal(r.iterations, told);
            assert_true(r.evaluations >= r.iterations && r.not_finite == 0);
            assert_string_equal(r.text, "CONVERGENCE");
            if (again) assert_memory_equal(&first, &r.objective, sizeof first);
            first = r.objective;
        }
        const tn_lbfgs_start there = {.size = sizeof there, .x = r.x}; /* where it ended: nothing to be done */
        assert_int_equal(tn_lbfgs_solve(s, &there, &r), TN_OK);
        assert_string_equal(r.text, "ALREADY_MINIMIZED");
        assert_int_equal(r.evaluations, 1);
        assert_true(r.objective < 1e-18);
        tn_lbfgs_free(s);
    }
    tn_ctx_free(c);
}

/* (x [3], y [2, 1], a [5]) -> 1/2 |(x, y) - a|^2 */
static tn_val distance(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_concatenate(tn_vals(in[0], tn_ravel(in[1])), 0);
    return tn_mul(0.5, tn_sum_squares(tn_sub(x, in[2])));
}

static void sparse(void **state) {
    (void)state;
    const double a[5] = {3, -0.5, 0.2, -4, 0.9}, all[5] = {2, 0, 0, -3, 0}, some[5] = {3, 0, 0, -4, 0.9};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, distance, NULL, TN_ARGS(tn_f64(3), tn_f64(2, 1), tn_f64(5)));
    const tn_lbfgs_options none = {.size = sizeof none}, l1 = {.size = sizeof l1, .l1 = 1},
                           part = {.size = sizeof part, .l1 = 1, .l1_first = 1, .l1_end = 3};
    const struct {
        const tn_lbfgs_options *o;
        const double *x;
    } list[] = {{&none, a}, {&l1, all}, {&part, some}};
    for (int k = 0; k < 3; k++) {
        tn_lbfgs *s = solver(c, f, 2, list[k].o);
        tn_lbfgs_result r = {.size = sizeof r};
        const tn_lbfgs_start start = {.size = sizeof start, .p = (const void *[]){a}};
        if (tn_lbfgs_solve(s, &start, &r)) fail_msg("%s", tn_lbfgs_error(s));
        for (int i = 0; i < 5; i++) assert_true(fabs(r.x[i] - list[k].x[i]) < 1e-6);
        assert_true(k != 1 || (r.x[1] == 0 && r.x[4] == 0)); /* exactly */
        tn_lbfgs_free(s);
    }
    tn_ctx_free(c);
}

/* ---- what is not finite ---------------------------------------------------------------------------- */

/* 100 x - log x - log(1 - x): a full first step leads beyond 0 */
static tn_val barrier(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = in[0];
    return tn_sub(tn_sub(tn_mul(100.0, x), tn_log(x)), tn_log(tn_sub(1.0, x)));
}

static void not_finite(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, barrier, NULL, TN_ARGS(tn_f64()));
    const double in = 0.9, out = 2;
    tn_lbfgs *s = solver(c, f, 0, &(tn_lbfgs_options){.size = sizeof(tn_lbfgs_options), .gradient_tol = 1e-7});
    tn_lbfgs_result r = {.size = sizeof r};
    if (tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .x = &in}, &r))
        fail_msg("%s", tn_lbfgs_error(s));
    assert_true(r.not_finite > 0 && fabs(100 - 1 / r.x[0] + 1 / (1 - r.x[0])) < 1e-5);
    assert_int_equal(tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .x = &out}, &r), TN_ECALLBACK);
    says(s, TN_ECALLBACK, "at the start: f is not a number");
    assert_true(r.x[0] == out && isnan(r.objective) && r.iterations == 0);
    tn_lbfgs_free(s);
    s = solver(c, f, 0, &(tn_lbfgs_options){.size = sizeof(tn_lbfgs_options), .search = TN_LBFGS_MORE_THUENTE});
    assert_int_equal(tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .x = &in}, &r), TN_ECALLBACK);
    says(s, TN_ECALLBACK, "f is not a number");
    assert_true(r.x[0] == in && isfinite(r.objective)); /* where it was before */
    tn_lbfgs_free(s);
    tn_ctx_free(c);
}

/* x on the way down from 3 must not fall below 1 */
static tn_val asserting(const tn_val *in, void *user) {
    (void)user;
    tn_assert(tn_gt(in[0], 1.0), "below one");
    return tn_square(in[0]);
}

static int stopped(void *user, const tn_lbfgs_iteration *i) { return i->number == *(int *)user; }

static void ends_early(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const double three = 3;
    const tn_lbfgs_start start = {.size = sizeof start, .x = &three};
    tn_lbfgs_result r = {.size = sizeof r};
    for (int search = TN_LBFGS_STRONG_WOLFE; search <= TN_LBFGS_MORE_THUENTE; search++) {
        const tn_lbfgs_options o = {.size = sizeof o, .search = search};
        tn_lbfgs *s = solver(c, tn_trace(c, asserting, NULL, TN_ARGS(tn_f64())), 0, &o);
        assert_int_equal(tn_lbfgs_solve(s, &start, &r), TN_EASSERT);
        says(s, TN_EASSERT, "below one");
        assert_true(r.x[0] > 1 && isfinite(r.objective));
        tn_lbfgs_free(s);
    }
    int at = 5;
    tn_fn *f = tn_trace(c, rosenbrock, NULL, TN_ARGS(tn_f64(N)));
    tn_lbfgs *s = solver(
        c, f, 0, &(tn_lbfgs_options){.size = sizeof(tn_lbfgs_options), .progress = stopped, .progress_user = &at});
    assert_int_equal(tn_lbfgs_solve(s, NULL, &r), TN_ECANCELLED);
    says(s, TN_ECANCELLED, "stopped by the caller after 5 iterations");
    const double then = r.objective;
    assert_true(r.iterations == 5 && then < N - 1);
    at = 7; /* goes on from there */
    assert_int_equal(tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .x = r.x}, &r), TN_ECANCELLED);
    assert_true(r.objective < then);
    tn_lbfgs_free(s);
    s = solver(c, f, 0, &(tn_lbfgs_options){.size = sizeof(tn_lbfgs_options), .max_iterations = 3});
    assert_int_equal(tn_lbfgs_solve(s, NULL, &r), TN_ELIMIT);
    says(s, TN_ELIMIT, "iterations are used up (MAXIMUMITERATION, after 3 iterations)");
    tn_lbfgs_free(s);
    s = solver(c, f, 0, &(tn_lbfgs_options){.size = sizeof(tn_lbfgs_options), .ftol = 0.5, .past = 2});
    assert_int_equal(tn_lbfgs_solve(s, NULL, &r), TN_OK);
    assert_string_equal(r.text, "STOP");
    tn_lbfgs_free(s);
    tn_ctx_free(c);
}

/* ---- what is refused -------------------------------------------------------------------------------- */

static tn_val same(const tn_val *in, void *user) {
    (void)user;
    return in[0];
}

static void refuse(const tn_lbfgs_problem *q, const tn_lbfgs_options *o, tn_status status, const char *text) {
    tn_lbfgs *s = tn_lbfgs_new(q, o);
    says(s, status, text);
    assert_int_equal(tn_lbfgs_solve(s, NULL, NULL), status); /* and keeps saying so */
    says(s, status, text);
    tn_lbfgs_free(s);
}

static void refused(void **state) {
    (void)state;
    tn_lbfgs_free(NULL);
    assert_string_equal(tn_lbfgs_error(NULL), "out of memory");
    assert_int_equal(tn_lbfgs_solve(NULL, NULL, NULL), TN_ENOMEM);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_lbfgs_problem q = {.size = sizeof q, .f = tn_trace(c, same, NULL, TN_ARGS(tn_f64(), tn_i32()))};
    const tn_compile_options alias = {.size = sizeof alias, .alias = (const int[]){-1}};
    const struct {
        tn_lbfgs_options o;
        const char *text;
    } list[] = {
        {{.memory = 3}, "the options' size"},
        {{.size = sizeof(tn_lbfgs_options), .gradient_tol = NAN}, "gradient_tol or ftol"},
        {{.size = sizeof(tn_lbfgs_options), .memory = -1}, "memory or past"},
        {{.size = sizeof(tn_lbfgs_options), .max_iterations = -1}, "max_iterations or"},
        {{.size = sizeof(tn_lbfgs_options), .search = 4}, "search is none"},
        {{.size = sizeof(tn_lbfgs_options), .l1 = -1}, "l1 is negative"},
        {{.size = sizeof(tn_lbfgs_options), .l1 = 1, .l1_end = 2}, "not within x"},
        {{.size = sizeof(tn_lbfgs_options), .compile = &alias}, "aliases"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) refuse(&q, &list[i].o, TN_EINVAL, list[i].text);
    refuse(NULL, NULL, TN_EINVAL, "the problem's size");
    q.variables = 3;
    refuse(&q, NULL, TN_EINVAL, "3 variables, but f has 2 inputs");
    q.variables = 2;
    refuse(&q, NULL, TN_ETYPE, "variable 1 is i32[]");
    q = (tn_lbfgs_problem){.size = sizeof q, .f = tn_trace(c, same, NULL, TN_ARGS(tn_f64(2)))};
    refuse(&q, NULL, TN_EINVAL, "f has to have one output, a scalar");
    q.f = tn_trace(c, same, NULL, TN_ARGS(tn_f32()));
    refuse(&q, NULL, TN_ETYPE, "not f64");
    q.f = NULL;
    refuse(&q, NULL, TN_EINVAL, "there is no f");
    const double infinite = INFINITY;
    tn_lbfgs *s = solver(c, tn_trace(c, barrier, NULL, TN_ARGS(tn_f64(), tn_f64())), 0, NULL);
    assert_int_equal(tn_lbfgs_solve(s, NULL, NULL), TN_EINVAL);
    says(s, TN_EINVAL, "there are 1 parameters");
    assert_int_equal(
        tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .p = TN_INPUTS(&(float){2})}, NULL),
        TN_EINVAL);
    says(s, TN_EINVAL, "parameters: argument 0 (f64[]) is given a buffer of f32");
    const void *p[] = {NULL};
    assert_int_equal(tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .p = p}, NULL), TN_EINVAL);
    p[0] = &infinite;
    assert_int_equal(tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .x = &infinite, .p = p}, NULL),
                     TN_EINVAL);
    says(s, TN_EINVAL, "variable 0 begins at inf");
    assert_int_equal(tn_lbfgs_solve(s, NULL, &(tn_lbfgs_result){.size = 1}), TN_EINVAL);
    tn_lbfgs_free(s);
    tn_ctx_free(c);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static tn_lbfgs *in_context(tn_ctx *c) {
    tn_fn *f = tn_trace(c, distance, NULL, TN_ARGS(tn_f64(3), tn_f64(2, 1), tn_f64(5)));
    return f ? tn_lbfgs_new(&(tn_lbfgs_problem){.size = sizeof(tn_lbfgs_problem), .f = f, .variables = 2}, NULL) : NULL;
}

static void memory(void **state) {
    (void)state;
    counter k = {0};
    tn_ctx *c = counting(&k);
    tn_lbfgs *s = in_context(c);
    const double a[5] = {1, 2, 3, 4, 5};
    const long before = k.calls;
    assert_int_equal(
        tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .p = (const void *[]){a}}, NULL), TN_OK);
    assert_int_equal(k.calls, before); /* a solve allocates nothing from the context */
    tn_lbfgs_free(s);
    tn_ctx_free(c);
    for (long at = 1; at <= before; at += 1 + at / 40) {
        counter failing = {.fail_at = at};
        c = counting(&failing);
        s = c ? in_context(c) : NULL;
        if (s && tn_lbfgs_status(s)) says(s, TN_ENOMEM, "memory");
        tn_lbfgs_free(s);
        tn_ctx_free(c);
    }
    int failures = 0;
    for (long at = 1;; at++) {
        c = tn_ctx_new(NULL);
        tn_fn *f = tn_trace(c, distance, NULL, TN_ARGS(tn_f64(3), tn_f64(2, 1), tn_f64(5)));
        assert_non_null(f);
        own = 0, fail_own = at;
        s = tn_lbfgs_new(&(tn_lbfgs_problem){.size = sizeof(tn_lbfgs_problem), .f = f, .variables = 2}, NULL);
        const bool reached = own >= at;
        own = fail_own = 0;
        if (reached) assert_int_equal(tn_lbfgs_status(s), TN_ENOMEM);
        failures += reached;
        tn_lbfgs_free(s);
        tn_ctx_free(c);
        if (!reached) break;
    }
    assert_true(failures > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minima),     cmocka_unit_test(sparse),  cmocka_unit_test(not_finite),
        cmocka_unit_test(ends_early), cmocka_unit_test(refused), cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
