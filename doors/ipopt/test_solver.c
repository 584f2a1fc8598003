/* What a solver does besides finding optima: parameters, several variables and constraints, warm starts, one run of a
 * program for a point, no allocation while it solves, no word on stdout, no options file, failing allocations. */
#define _POSIX_C_SOURCE 200809L
#include "../failing.h"
#include "test_problems.h"

#include <unistd.h>

static void solve(tn_ipopt *s, const tn_ipopt_start *start, tn_ipopt_result *r) {
    *r = (tn_ipopt_result){.size = sizeof *r};
    if (tn_ipopt_solve(s, start, r)) fail_msg("%s", tn_ipopt_error(s));
}

/* ---- parameters, variables, constraints --------------------------------------------------------- */

/* HS071 of two variables, [2, 1] and [2], a parameter for the sum of squares, and one that nothing depends on. */
static tn_val split_f(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_concatenate(tn_vals(tn_ravel(in[0]), in[1]), 0);
    return hs071_f(&x, NULL);
}
static void split_g(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val x = tn_concatenate(tn_vals(tn_ravel(in[0]), in[1]), 0);
    out[0] = tn_expand_dims(tn_sub(tn_sum_squares(x), in[2]), 0);
    out[1] = tn_prod(x);
}

static void several(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const double low[] = {1, 1, 1, 1}, high[] = {5, 5, 5, 5}, gl[] = {0, 25}, gu[] = {0, INFINITY};
    const double x0[] = {1, 5, 5, 1};
    const tn_nlp q = {.size = sizeof q,
                      .variables = 2,
                      .xl = low,
                      .xu = high,
                      .gl = gl,
                      .gu = gu,
                      .f = tn_trace(c, split_f, NULL, TN_ARGS(tn_f64(2, 1), tn_f64(2), tn_f64(), tn_i32(3))),
                      .g = tn_trace_many(c, split_g, NULL, TN_ARGS(tn_f64(2, 1), tn_f64(2), tn_f64(), tn_i32(3)), 2)};
    const tn_ipopt_options o = {.size = sizeof o, .tol = 1e-10};
    tn_ipopt *s = tn_ipopt_new(&q, &o);
    double squares = 40;
    const int32_t unused[3] = {0};
    tn_ipopt_start start = {.size = sizeof start, .x = x0, .p = (const void *[]){&squares, unused}};
    tn_ipopt_result r;
    solve(s, &start, &r);
    assert_true(fabs(r.objective - 17.01401714) < 1e-7);
    assert_true(fabs(r.x[1] - 4.742999637) < 1e-6 && fabs(r.x[3] - 1.379408293) < 1e-6);
    assert_true(fabs(r.g[0]) < 1e-7 && fabs(r.g[1] - 25) < 1e-6);
    assert_true(fabs(r.lambda[0]) > 0.1 && fabs(r.lambda[1]) > 0.1);
    /* lambda is what the optimum changes by, as the bound of its row does. */
    const double before = r.objective, slope = r.lambda[0];
    squares = 40.001;
    solve(s, &start, &r);
    assert_true(fabs((r.objective - before) / 0.001 - slope) < 1e-3 ||
                fabs((r.objective - before) / 0.001 + slope) < 1e-3);
    tn_ipopt_free(s);
    tn_ctx_free(c);
}

static tn_val first(const tn_val *in, void *user) {
    (void)user;
    return tn_at(in[0], 0);
}
static tn_val ones(const tn_val *in, void *user) {
    (void)user;
    return tn_ones(tn_val_ctx(in[0]), tn_f64(1));
}

/* No entries in the Hessian, and none in the Jacobian of a constraint that holds whatever the variables are. */
static void linear(void **state) {
    (void)state;
    problem p = problem_of(2, 1, first, ones, NULL);
    const double gl = 0, gu = 2;
    bound(&p, 0, 2, -3, 4);
    p.nlp.gl = &gl, p.nlp.gu = &gu;
    tn_ipopt *s = tn_ipopt_new(&p.nlp, NULL);
    tn_ipopt_sizes z = {.size = sizeof z};
    tn_ipopt_result r;
    assert_int_equal(tn_ipopt_size(s, &z), TN_OK);
    assert_int_equal(z.jacobian + z.hessian, 0);
    solve(s, NULL, &r);
    assert_true(fabs(r.x[0] + 3) < 1e-6);
    assert_int_equal(tn_ipopt_size(s, &(tn_ipopt_sizes){.size = 0}), TN_EINVAL);
    tn_ipopt_free(s);
    problem_free(&p);
}

static void limited_memory(void **state) {
    (void)state;
    problem p = cart_pole();
    const tn_ipopt_options o = {.size = sizeof o, .limited_memory = true};
    const tn_ipopt_start start = {.size = sizeof start, .x = p.x0};
    tn_ipopt *s = tn_ipopt_new(&p.nlp, &o);
    tn_ipopt_result r;
    solve(s, &start, &r);
    assert_true(fabs(r.objective - 59.7017019719) < 1e-4);
    assert_int_equal(r.hessian_runs, 0);
    assert_true(r.iterations > 13);
    tn_ipopt_free(s);
    problem_free(&p);
}

/* ---- warm starts ------------------------------------------------------------------------------------ */

static void warm(void **state) {
    (void)state;
    problem p = rocket(100);
    const tn_ipopt_options o = {.size = sizeof o, .tol = 1e-10};
    const tn_ipopt_start cold = {.size = sizeof cold, .x = p.x0};
    tn_ipopt *s = tn_ipopt_new(&p.nlp, &o);
    tn_ipopt_result r;
    solve(s, &cold, &r);
    const int from_afar = r.iterations;
    const tn_ipopt_start start = {.size = sizeof start, .x = r.x, .lambda = r.lambda, .zl = r.zl, .zu = r.zu};
    solve(s, &start, &r); /* what it starts from is its own memory */
    if (r.iterations > 3) fail_msg("%d iterations, %d from afar", r.iterations, from_afar);
    assert_true(fabs(r.objective + 1.012832024) < 1e-8);
    solve(s, &cold, &r); /* a cold one is as cold as before */
    assert_int_equal(r.iterations, from_afar);
    tn_ipopt_free(s);
    problem_free(&p);
}

/* ---- runs and memory ----------------------------------------------------------------------------------- */

static void once_a_point(void **state) {
    (void)state;
    problem p = cart_pole();
    const tn_ipopt_start start = {.size = sizeof start, .x = p.x0};
    tn_ipopt *s = tn_ipopt_new(&p.nlp, NULL);
    tn_ipopt_result r;
    solve(s, &start, &r);
    assert_int_equal(r.hessian_runs, r.iterations); /* each step has one, the solution none */
    assert_int_equal(r.jacobian_runs, r.iterations + 1);
    assert_int_equal(r.gradient_runs, r.iterations + 1);
    assert_true(r.f_runs >= r.iterations + 1 && r.g_runs >= r.iterations + 1);
    assert_true(r.questions > r.f_runs + r.g_runs + r.gradient_runs + r.jacobian_runs + r.hessian_runs);
    tn_ipopt_free(s);
    problem_free(&p);
}

static tn_ipopt *in_context(tn_ctx *c) {
    const tn_nlp q = {.size = sizeof q,
                      .f = tn_trace(c, hs071_f, NULL, TN_ARGS(tn_f64(4))),
                      .g = tn_trace(c, hs071_g, NULL, TN_ARGS(tn_f64(4))),
                      .gl = hs071_low,
                      .gu = hs071_high};
    return q.f && q.g ? tn_ipopt_new(&q, NULL) : NULL;
}

static void no_allocation(void **state) {
    (void)state;
    counter k = {0};
    const double x0[] = {1, 5, 5, 1};
    tn_ctx *c = counting(&k);
    tn_ipopt *s = in_context(c);
    tn_ipopt_result r;
    const long before = k.calls;
    solve(s, &(tn_ipopt_start){.size = sizeof(tn_ipopt_start), .x = x0}, &r);
    assert_int_equal(k.calls, before);
    tn_ipopt_free(s);
    tn_ctx_free(c);
}

/* Every allocation of the context fails once: an error with a message, or none was needed. */
static void failing_context(void **state) {
    (void)state;
    long last = 1;
    for (long at = 1; at <= last; at += 1 + at / 40) {
        counter k = {.fail_at = at};
        tn_ctx *c = counting(&k);
        tn_ipopt *s = c ? in_context(c) : NULL;
        if (s && tn_ipopt_status(s)) {
            assert_int_equal(tn_ipopt_status(s), TN_ENOMEM);
            assert_true(tn_ipopt_error(s)[0]);
        }
        if (k.calls >= at) last = at + 1 + at / 40;
        tn_ipopt_free(s);
        tn_ctx_free(c);
    }
    assert_true(last > 500);
}

static void failing_solver(void **state) {
    (void)state;
    int failures = 0;
    for (long at = 1;; at++) {
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_nlp q = {.size = sizeof q,
                          .f = tn_trace(c, hs071_f, NULL, TN_ARGS(tn_f64(4))),
                          .g = tn_trace(c, hs071_g, NULL, TN_ARGS(tn_f64(4))),
                          .gl = hs071_low,
                          .gu = hs071_high};
        own = 0;
        fail_own = at;
        tn_ipopt *s = tn_ipopt_new(&q, NULL);
        const bool reached = own >= at;
        own = fail_own = 0;
        if (reached) {
            failures++;
            assert_int_equal(tn_ipopt_status(s), TN_ENOMEM);
            assert_true(tn_ipopt_error(s)[0]);
        }
        tn_ipopt_free(s);
        tn_ctx_free(c);
        if (!reached) break;
    }
    assert_true(failures > 25);
}

/* ---- what a process sees of it ------------------------------------------------------------------------- */

/* Bytes that a solve writes to stdout. */
static long printed(int level) {
    problem p = hs071();
    const tn_ipopt_options o = {.size = sizeof o, .print_level = level};
    const tn_ipopt_start start = {.size = sizeof start, .x = p.x0};
    FILE *log = tmpfile();
    assert_non_null(log);
    (void)fflush(stdout);
    const int out = dup(STDOUT_FILENO);
    assert_true(out >= 0 && dup2(fileno(log), STDOUT_FILENO) >= 0);
    tn_ipopt *s = tn_ipopt_new(&p.nlp, &o);
    const tn_status status = tn_ipopt_solve(s, &start, NULL);
    (void)fflush(stdout);
    assert_true(dup2(out, STDOUT_FILENO) >= 0);
    (void)close(out);
    assert_int_equal(status, TN_OK);
    const long bytes = lseek(fileno(log), 0, SEEK_END);
    (void)fclose(log);
    tn_ipopt_free(s);
    problem_free(&p);
    return bytes;
}

static void silent(void **state) {
    (void)state;
    assert_int_equal(printed(0), 0);
    assert_true(printed(5) > 1000);
}

static void no_options_file(void **state) {
    (void)state;
    char there[4096], folder[] = "/tmp/tansy-ipopt-XXXXXX";
    assert_non_null(getcwd(there, sizeof there));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    FILE *file = fopen("ipopt.opt", "w");
    assert_non_null(file);
    (void)fputs("max_iter 1\n", file);
    (void)fclose(file);
    assert_int_equal(printed(0), 0);
    assert_int_equal(remove("ipopt.opt"), 0);
    assert_int_equal(chdir(there), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several),         cmocka_unit_test(linear),
        cmocka_unit_test(limited_memory),  cmocka_unit_test(warm),
        cmocka_unit_test(once_a_point),    cmocka_unit_test(no_allocation),
        cmocka_unit_test(failing_context), cmocka_unit_test(failing_solver),
        cmocka_unit_test(silent),          cmocka_unit_test(no_options_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
