/* What is refused, what fails on the way, and what each says; nothing is lost in any of them. */
#include "test_problems.h"

static void says(const tn_ipopt *s, tn_status status, const char *text) {
    if (tn_ipopt_status(s) != status || !strstr(tn_ipopt_error(s), text))
        fail_msg("%s: \"%s\", where %s: \"%s\" was to be", tn_status_text(tn_ipopt_status(s)), tn_ipopt_error(s),
                 tn_status_text(status), text);
}

static void refused(const tn_nlp *q, const tn_ipopt_options *o, tn_status status, const char *text) {
    tn_ipopt *s = tn_ipopt_new(q, o);
    assert_non_null(s);
    says(s, status, text);
    assert_null(tn_ipopt_problem(s));
    assert_int_equal(tn_ipopt_solve(s, NULL, NULL), status); /* and keeps saying so */
    says(s, status, text);
    tn_ipopt_free(s);
}

static void nothing(void **state) {
    (void)state;
    tn_ipopt_free(NULL);
    assert_string_equal(tn_ipopt_error(NULL), "out of memory");
    assert_int_equal(tn_ipopt_status(NULL), TN_ENOMEM);
    assert_null(tn_ipopt_problem(NULL));
    assert_int_equal(tn_ipopt_size(NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_ipopt_solve(NULL, NULL, NULL), TN_ENOMEM);
    refused(NULL, NULL, TN_EINVAL, "the problem's size");
    refused(&(tn_nlp){.size = sizeof(tn_nlp)}, NULL, TN_EINVAL, "no f");
}

static tn_val sum(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(in[0]);
}
static tn_val same(const tn_val *in, void *user) {
    (void)user;
    return in[0];
}
static tn_val sum_f64(const tn_val *in, void *user) {
    (void)user;
    return tn_convert(tn_sum(in[0]), TN_F64);
}

static void programs(void **state) {
    (void)state;
    problem p = hs071();
    tn_ctx *other = tn_ctx_new(NULL);
    tn_nlp q = p.nlp;
    q.f = tn_trace(p.c, same, NULL, TN_ARGS(tn_f64(4)));
    refused(&q, NULL, TN_EINVAL, "f has to have one output, a scalar");
    q.f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f32(4)));
    refused(&q, NULL, TN_ETYPE, "f's output 0 is f32[]");
    q.f = tn_trace(p.c, sum_f64, NULL, TN_ARGS(tn_f32(4)));
    refused(&q, NULL, TN_ETYPE, "variable 0 is f32[4]");
    q.f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f64(5)));
    refused(&q, NULL, TN_EINVAL, "input 0 of f is f64[5], of g f64[4]");
    q.f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f64(4), tn_f64()));
    refused(&q, NULL, TN_EINVAL, "f has 2 inputs, g 1");
    q.f = tn_trace(other, sum, NULL, TN_ARGS(tn_f64(4)));
    refused(&q, NULL, TN_EINVAL, "different contexts");
    q = p.nlp;
    q.variables = 2;
    refused(&q, NULL, TN_EINVAL, "2 variables, but f has 1 inputs");
    q = (tn_nlp){.size = sizeof q, .f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f64(0)))};
    refused(&q, NULL, TN_EINVAL, "there are no variables");
    q.f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f64(INT64_C(1) << 31)));
    refused(&q, NULL, TN_ELIMIT, "32-bit");
    tn_ctx_free(other);
    problem_free(&p);
}

static void bounds_and_options(void **state) {
    (void)state;
    problem p = hs071();
    const tn_nlp q = p.nlp;
    pin(&p, 2, NAN);
    refused(&q, NULL, TN_EINVAL, "the bounds of variable 2 are nan and nan");
    bound(&p, 2, 3, 3, 1);
    refused(&q, NULL, TN_EINVAL, "the bounds of variable 2 are 3 and 1");
    bound(&p, 2, 3, INFINITY, INFINITY);
    refused(&q, NULL, TN_EINVAL, "variable 2 is bounded by inf");
    bound(&p, 2, 3, 1, 5);
    tn_nlp crossed = q;
    crossed.gl = hs071_high, crossed.gu = hs071_low;
    refused(&crossed, NULL, TN_EINVAL, "the bounds of constraint 0");
    refused(&q, &(tn_ipopt_options){.tol = 1e-8}, TN_EINVAL, "the options' size");
    refused(&q, &(tn_ipopt_options){.size = sizeof(tn_ipopt_options), .tol = NAN}, TN_EINVAL, "a tolerance of nan");
    refused(&q, &(tn_ipopt_options){.size = sizeof(tn_ipopt_options), .tol = -1}, TN_EINVAL, "a tolerance of -1");
    refused(&q, &(tn_ipopt_options){.size = sizeof(tn_ipopt_options), .print_level = 13}, TN_EINVAL, "print level");
    refused(&q, &(tn_ipopt_options){.size = sizeof(tn_ipopt_options), .warm_start_mu = -1}, TN_EINVAL, "barrier");
    const tn_compile_options strides = {.size = sizeof strides, .alias = (const int[]){-1}};
    refused(&q, &(tn_ipopt_options){.size = sizeof(tn_ipopt_options), .compile = &strides}, TN_EINVAL, "aliases");
    const tn_compile_options sizeless = {.size = 0};
    refused(&q, &(tn_ipopt_options){.size = sizeof(tn_ipopt_options), .compile = &sizeless}, TN_EINVAL, "f: ");
    problem_free(&p);
}

static tn_val scaled(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[1], tn_sum_squares(in[0]));
}

static void starts(void **state) {
    (void)state;
    problem p = hs071();
    const tn_nlp q = {.size = sizeof q, .f = tn_trace(p.c, scaled, NULL, TN_ARGS(tn_f64(3), tn_f64()))};
    tn_ipopt *s = tn_ipopt_new(&q, NULL);
    says(s, TN_OK, "");
    const double two = 2, x[] = {1, NAN, 1}, z[3] = {0};
    tn_ipopt_start start = {.size = sizeof start, .p = (const void *[]){&two}};
    tn_ipopt_result r = {.size = 0};
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_EINVAL);
    says(s, TN_EINVAL, "the result's size");
    r.size = sizeof r;
    assert_int_equal(tn_ipopt_solve(s, NULL, &r), TN_EINVAL);
    says(s, TN_EINVAL, "there are 1 parameters, and the start has none");
    assert_int_equal(tn_ipopt_solve(s, &(tn_ipopt_start){.x = x}, &r), TN_EINVAL);
    says(s, TN_EINVAL, "the start's size");
    start.x = x;
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_EINVAL);
    says(s, TN_EINVAL, "the start is not finite");
    start.x = NULL, start.zl = z;
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_EINVAL);
    says(s, TN_EINVAL, "a warm start has all of");
    start.zl = NULL, start.p = (const void *[]){NULL};
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_EINVAL);
    says(s, TN_EINVAL, "parameter 0 is NULL");
    start.p = TN_INPUTS(&(float){2});
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_EINVAL);
    says(s, TN_EINVAL, "parameters: argument 0 (f64[]) is given a buffer of f32");
    start.p = TN_INPUTS(&two, &two);
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_EINVAL);
    says(s, TN_EINVAL, "parameters: 2 arguments are given, the program has 1");
    start.p = TN_INPUTS(&two);
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_OK);
    start.p = (const void *[]){&two}; /* what was refused before does not matter now */
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_OK);
    says(s, TN_OK, "");
    tn_ipopt_free(s);
    problem_free(&p);
}

/* ---- what fails on the way ------------------------------------------------------------ */

/* One variable from x0; the solver, to be freed, and what it says. */
static tn_ipopt *one(problem *p, tn_trace_fn f, tn_trace_fn g, double x0, const tn_ipopt_options *o,
                     tn_ipopt_result *r) {
    *p = problem_of(1, g ? 1 : 0, f, g, NULL);
    tn_ipopt *s = tn_ipopt_new(&p->nlp, o);
    r->size = sizeof *r;
    (void)tn_ipopt_solve(s, &(tn_ipopt_start){.size = sizeof(tn_ipopt_start), .x = &x0}, r);
    return s;
}

static void done(tn_ipopt *s, problem *p) {
    tn_ipopt_free(s);
    problem_free(p);
}

static tn_val minus_log(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_at(in[0], 0), tn_log(tn_at(in[0], 0)));
}

static void not_a_number(void **state) {
    (void)state;
    problem p;
    tn_ipopt_result r;
    tn_ipopt *s = one(&p, minus_log, NULL, -1, NULL, &r);
    says(s, TN_ECALLBACK, "f is not a number");
    assert_string_equal(r.text, "Invalid_Number_Detected");
    done(s, &p);
    s = one(&p, minus_log, NULL, 3, NULL, &r); /* Newton's step leads to -3 */
    says(s, TN_OK, "");
    assert_true(r.not_finite > 0);
    assert_true(fabs(r.x[0] - 1) < 1e-6);
    done(s, &p);
}

static tn_val above_one(const tn_val *in, void *user) {
    (void)user;
    return tn_add(1.0, tn_square(in[0]));
}
static tn_val square(const tn_val *in, void *user) {
    (void)user;
    return tn_sum_squares(in[0]);
}
static tn_val falling(const tn_val *in, void *user) {
    (void)user;
    return tn_neg(tn_sum_squares(in[0]));
}
static tn_val twice(const tn_val *in, void *user) {
    (void)user;
    return tn_concatenate(tn_vals(tn_square(in[0]), tn_exp(in[0])), 0);
}

static void no_solution(void **state) {
    (void)state;
    problem p;
    tn_ipopt_result r;
    tn_ipopt *s = one(&p, square, above_one, 1, NULL, &r);
    says(s, TN_EINVAL, "contradict");
    assert_string_equal(r.text, "Infeasible_Problem_Detected");
    done(s, &p);
    s = one(&p, falling, NULL, 1, NULL, &r);
    says(s, TN_ELIMIT, "diverge");
    done(s, &p);
    s = one(&p, square, twice, 1, NULL, &r);
    says(s, TN_EINVAL, "more equations than free variables");
    done(s, &p);
}

static void iterations(void **state) {
    (void)state;
    problem p = rocket(50);
    const tn_ipopt_options few = {.size = sizeof few, .max_iter = 3}, none = {.size = sizeof none, .max_iter = -1};
    tn_ipopt_result r = {.size = sizeof r};
    const tn_ipopt_start start = {.size = sizeof start, .x = p.x0};
    tn_ipopt *s = tn_ipopt_new(&p.nlp, &few);
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_ELIMIT);
    says(s, TN_ELIMIT, "the iterations are used up (Maximum_Iterations_Exceeded, after 3 iterations)");
    assert_int_equal(r.iterations, 3);
    assert_true(isfinite(r.objective));
    tn_ipopt_free(s);
    s = tn_ipopt_new(&p.nlp, &none);
    assert_int_equal(tn_ipopt_solve(s, &start, &r), TN_ELIMIT);
    assert_int_equal(r.iterations, 0);
    done(s, &p);
}

static int stop_at(void *user, const tn_ipopt_iteration *it) {
    int *seen = user;
    assert_int_equal(it->size, sizeof *it);
    assert_int_equal(it->number, *seen);
    assert_true(isfinite(it->objective) && it->infeasibility >= 0);
    return ++*seen == 5;
}

static void cancelled(void **state) {
    (void)state;
    problem p = rocket(50);
    int seen = 0;
    const tn_ipopt_options o = {.size = sizeof o, .progress = stop_at, .progress_user = &seen};
    const tn_ipopt_start start = {.size = sizeof start, .x = p.x0};
    tn_ipopt *s = tn_ipopt_new(&p.nlp, &o);
    assert_int_equal(tn_ipopt_solve(s, &start, NULL), TN_ECANCELLED);
    says(s, TN_ECANCELLED, "after 4 iterations");
    assert_int_equal(seen, 5);
    done(s, &p);
}

/* ---- a callback that fails ----------------------------------------------------------------- */

static int left; /* calls that go well */
static int cube(void *user, const void *const *in, void *const *out) {
    (void)user;
    const double x = *(const double *)in[0];
    *(double *)out[0] = x * x * x * x;
    return left-- <= 0;
}
static int cube_vjp(void *user, const void *const *in, void *const *out) {
    (void)user;
    const double x = *(const double *)in[0];
    *(double *)out[0] = 4 * x * x * x * *(const double *)in[1];
    return 0;
}
static tn_val opaque(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_at(in[0], 0);
    return tn_external(tn_val_ctx(x), "fourth", 1, &x);
}

static void callback(void **state) {
    (void)state;
    const tn_type t = tn_f64();
    for (left = 0; left < 4; left += 3) {
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_external_spec spec = {.size = sizeof spec,
                                       .name = "fourth",
                                       .nin = 1,
                                       .nout = 1,
                                       .in = &t,
                                       .out = &t,
                                       .fn = cube,
                                       .vjp = cube_vjp};
        assert_int_equal(tn_external_register(c, &spec), TN_OK);
        const tn_nlp q = {.size = sizeof q, .f = tn_trace(c, opaque, NULL, TN_ARGS(tn_f64(1)))};
        const tn_ipopt_options o = {.size = sizeof o, .limited_memory = true};
        const double x0 = 2;
        const int calls = left;
        tn_ipopt *s = tn_ipopt_new(&q, &o);
        says(s, TN_OK, "");
        const tn_ipopt_start start = {.size = sizeof start, .x = &x0};
        assert_int_equal(tn_ipopt_solve(s, &start, NULL), TN_ECALLBACK);
        says(s, TN_ECALLBACK, "f: ");
        assert_non_null(strstr(tn_ipopt_error(s), "fourth"));
        left = 1000; /* it recovers */
        assert_int_equal(tn_ipopt_solve(s, &start, NULL), TN_OK);
        left = calls;
        tn_ipopt_free(s);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),    cmocka_unit_test(programs),     cmocka_unit_test(bounds_and_options),
        cmocka_unit_test(starts),     cmocka_unit_test(not_a_number), cmocka_unit_test(no_solution),
        cmocka_unit_test(iterations), cmocka_unit_test(cancelled),    cmocka_unit_test(callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
