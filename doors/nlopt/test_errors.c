/* What is refused, what fails on the way, and what each says; nothing is lost in any of them. */
#include "test_problems.h"

static void says(const tn_nlopt *s, tn_status status, const char *text) {
    if (tn_nlopt_status(s) != status || !strstr(tn_nlopt_error(s), text))
        fail_msg("%s: \"%s\", where %s: \"%s\" was to be", tn_status_text(tn_nlopt_status(s)), tn_nlopt_error(s),
                 tn_status_text(status), text);
}

static void refused(const tn_nlopt_problem *q, const tn_nlopt_options *o, tn_status status, const char *text) {
    tn_nlopt *s = tn_nlopt_new(q, o);
    assert_non_null(s);
    says(s, status, text);
    assert_null(tn_nlopt_handle(s));
    assert_int_equal(tn_nlopt_solve(s, NULL, NULL), status); /* and keeps saying so */
    says(s, status, text);
    tn_nlopt_free(s);
}

static void nothing(void **state) {
    (void)state;
    tn_nlopt_free(NULL);
    assert_string_equal(tn_nlopt_error(NULL), "out of memory");
    assert_int_equal(tn_nlopt_status(NULL), TN_ENOMEM);
    assert_null(tn_nlopt_handle(NULL));
    assert_int_equal(tn_nlopt_solve(NULL, NULL, NULL), TN_ENOMEM);
    refused(NULL, NULL, TN_EINVAL, "the problem's size");
    refused(&(tn_nlopt_problem){.size = sizeof(tn_nlopt_problem)}, NULL, TN_EINVAL, "no f");
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
    problem p;
    hs071(&p);
    tn_ctx *other = tn_ctx_new(NULL);
    tn_nlopt_problem q = p.nlp;
    q.f = tn_trace(p.c, same, NULL, TN_ARGS(tn_f64(4)));
    refused(&q, NULL, TN_EINVAL, "f has to have one output, a scalar");
    q.f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f32(4)));
    refused(&q, NULL, TN_ETYPE, "f's output 0 is f32[]");
    q.f = tn_trace(p.c, sum_f64, NULL, TN_ARGS(tn_f32(4)));
    refused(&q, NULL, TN_ETYPE, "variable 0 is f32[4]");
    q.f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f64(5)));
    refused(&q, NULL, TN_EINVAL, "input 0 of f is f64[5], of g f64[4]");
    q.g = NULL;
    refused(&q, NULL, TN_EINVAL, "input 0 of f is f64[5], of h f64[4]");
    q.f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f64(4), tn_f64()));
    refused(&q, NULL, TN_EINVAL, "f has 2 inputs, h 1");
    q = p.nlp;
    q.h = tn_trace(other, sum, NULL, TN_ARGS(tn_f64(4)));
    refused(&q, NULL, TN_EINVAL, "different contexts");
    q.h = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f64(4)));
    q.g = tn_trace(p.c, same, NULL, TN_ARGS(tn_f64(4)));
    q.variables = 2;
    refused(&q, NULL, TN_EINVAL, "2 variables, but f has 1 inputs");
    q = (tn_nlopt_problem){.size = sizeof q, .f = tn_trace(p.c, sum, NULL, TN_ARGS(tn_f64(0)))};
    refused(&q, NULL, TN_EINVAL, "there are no variables");
    tn_ctx_free(other);
    problem_free(&p);
}

static void sizes(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_nlopt_problem q = {.size = sizeof q, .f = tn_trace(c, sum, NULL, TN_ARGS(tn_f64(INT64_C(1) << 31)))};
    const tn_nlopt_options lbfgs = {.size = sizeof lbfgs, .algorithm = "LD_LBFGS"};
    refused(&q, &lbfgs, TN_ELIMIT, "32-bit");
    q.f = tn_trace(c, sum, NULL, TN_ARGS(tn_f64(20000)));
    refused(&q, NULL, TN_ELIMIT, "20000 variables and 0 rows of constraints are more than LD_SLSQP's arrays");
    refused(&q, NULL, TN_ELIMIT, "libtansy-ipopt");
    tn_nlopt *s = tn_nlopt_new(&q, &lbfgs);
    says(s, TN_OK, "");
    tn_nlopt_free(s);
    q.f = tn_trace(c, sum, NULL, TN_ARGS(tn_f64(1)));
    const tn_nlopt_options praxis = {.size = sizeof praxis, .algorithm = "LN_PRAXIS"};
    refused(&q, &praxis, TN_EINVAL, "does not end with one variable");
    tn_ctx_free(c);
}

static void algorithms(void **state) {
    (void)state;
    problem p;
    hs071(&p);
    static const struct {
        const char *name, *local, *text;
    } list[] = {
        {"SLSQP", NULL, "NLopt has no algorithm \"SLSQP\"; the nearest name is \"LD_SLSQP\""},
        {"ld_mma", NULL, "nearest name is \"LD_MMA\""},
        {"LN_COBILA", NULL, "nearest name is \"LN_COBYLA\""},
        {"", NULL, "nearest name is"},
        {"a name of more letters than any algorithm of NLopt's has, or ever will, one should think", NULL, "nearest"},
        {"AUGLAG", NULL, "AUGLAG needs a local algorithm"},
        {"AUGLAG", "LBFGS", "NLopt has no local algorithm \"LBFGS\"; the nearest name is \"LD_LBFGS\""},
        {"AUGLAG", "GN_DIRECT", "GN_DIRECT is no local algorithm for AUGLAG"},
        {"LD_SLSQP", "LD_LBFGS", "LD_SLSQP leaves nothing to a local algorithm"},
        {"GN_ISRES", NULL, "nothing ends GN_ISRES"},
        {"LD_LBFGS", NULL, "NLopt refuses inequalities for LD_LBFGS: invalid algorithm for constraints"},
        {"LD_MMA", NULL, "NLopt refuses equations for LD_MMA: invalid algorithm for constraints"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const tn_nlopt_options o = {.size = sizeof o, .algorithm = list[i].name, .local = list[i].local};
        refused(&p.nlp, &o, TN_EINVAL, list[i].text);
    }
    problem_free(&p);
}

static void bounds_and_options(void **state) {
    (void)state;
    problem p;
    hs071(&p);
    const tn_nlopt_problem q = p.nlp;
    p.xl[2] = NAN;
    refused(&q, NULL, TN_EINVAL, "the bounds of variable 2 are nan and 5");
    p.xl[2] = 6;
    refused(&q, NULL, TN_EINVAL, "the bounds of variable 2 are 6 and 5");
    p.xl[2] = p.xu[2] = INFINITY;
    refused(&q, NULL, TN_EINVAL, "variable 2 is bounded by inf");
    p.xl[2] = 1, p.xu[2] = 5;
    const double nan = NAN;
    const tn_compile_options alias = {.size = sizeof alias, .alias = (const int[]){-1}}, sizeless = {.size = 0};
    const struct {
        tn_nlopt_options o;
        const char *text;
    } list[] = {
        {{.algorithm = "LD_SLSQP"}, "the options' size"},
        {{.size = sizeof(tn_nlopt_options), .ftol_rel = NAN}, "ftol_rel is nan"},
        {{.size = sizeof(tn_nlopt_options), .xtol_abs = -1}, "xtol_abs is -1"},
        {{.size = sizeof(tn_nlopt_options), .constraint_tol = INFINITY}, "constraint_tol is inf"},
        {{.size = sizeof(tn_nlopt_options), .max_seconds = -1}, "max_seconds is -1"},
        {{.size = sizeof(tn_nlopt_options), .max_evaluations = -1}, "max_evaluations is -1"},
        {{.size = sizeof(tn_nlopt_options), .stop_value = &nan}, "the stop value"},
        {{.size = sizeof(tn_nlopt_options), .compile = &alias}, "aliases"},
        {{.size = sizeof(tn_nlopt_options), .compile = &sizeless}, "f: "},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) refused(&q, &list[i].o, TN_EINVAL, list[i].text);
    problem_free(&p);
}

static tn_val scaled(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[1], tn_sum_squares(in[0]));
}

static void bad(tn_nlopt *s, const tn_nlopt_start *start, tn_nlopt_result *r, const char *text) {
    assert_int_equal(tn_nlopt_solve(s, start, r), TN_EINVAL);
    says(s, TN_EINVAL, text);
}

static void starts(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const double low[] = {-1, 1, -1};
    const tn_nlopt_problem q = {
        .size = sizeof q, .xl = low, .f = tn_trace(c, scaled, NULL, TN_ARGS(tn_f64(3), tn_f64()))};
    tn_nlopt *s = tn_nlopt_new(&q, NULL);
    says(s, TN_OK, "");
    double two = 2, x[] = {1, NAN, 1};
    tn_nlopt_start start = {.size = sizeof start, .p = (const void *[]){&two}};
    tn_nlopt_result r = {.size = 0};
    bad(s, &start, &r, "the result's size");
    r.size = sizeof r;
    bad(s, NULL, &r, "there are 1 parameters, and the start has none");
    bad(s, &(tn_nlopt_start){.x = x}, &r, "the start's size");
    start.x = x;
    bad(s, &start, &r, "variable 1 begins at nan");
    x[1] = 0.5;
    bad(s, &start, &r, "variable 1 begins at 0.5, with bounds of 1 and inf");
    start.x = NULL, start.p = (const void *[]){NULL};
    bad(s, &start, &r, "parameter 0 is NULL");
    start.p = TN_INPUTS(&(float){2});
    bad(s, &start, &r, "parameters: argument 0 (f64[]) is given a buffer of f32");
    start.p = TN_INPUTS(&two, &two);
    bad(s, &start, &r, "parameters: 2 arguments are given, the program has 1");
    start.p = TN_INPUTS(&two);
    assert_int_equal(tn_nlopt_solve(s, &start, &r), TN_OK);
    start.p = (const void *[]){&two}; /* what was refused before does not matter now */
    assert_int_equal(tn_nlopt_solve(s, &start, &r), TN_OK);
    says(s, TN_OK, "");
    assert_true(fabs(r.objective - 2) < 1e-8);
    assert_true(r.infeasibility <= 0);
    tn_nlopt_free(s);
    tn_ctx_free(c);
}

/* ---- what ends early -------------------------------------------------------------------- */

static tn_val square(const tn_val *in, void *user) {
    (void)user;
    return tn_sum_squares(in[0]);
}
static tn_val two_and_three(const tn_val *in, void *user) {
    (void)user;
    return tn_stack(tn_vals(tn_sub(tn_at(in[0], 0), 2.0), tn_sub(tn_at(in[0], 0), 3.0)), 0);
}
static tn_val two_to_one(const tn_val *in, void *user) {
    (void)user;
    return tn_stack(tn_vals(tn_sub(2.0, tn_at(in[0], 0)), tn_sub(tn_at(in[0], 0), 1.0)), 0);
}

static void infeasible(void **state) {
    (void)state;
    static const char *const names[] = {"LD_SLSQP", "LN_COBYLA"};
    for (int i = 0; i < 4; i++) {
        problem p;
        const bool equations = i % 2;
        problem_make(&p, 2, square, equations ? NULL : two_to_one, equations ? two_and_three : NULL);
        const tn_nlopt_options o = {.size = sizeof o, .algorithm = names[i / 2], .max_evaluations = 2000};
        tn_nlopt_result r = {.size = sizeof r};
        tn_nlopt *s = tn_nlopt_new(&p.nlp, &o);
        assert_int_equal(tn_nlopt_solve(s, NULL, &r), TN_ELIMIT);
        assert_true(r.infeasibility > 0.4);
        if (r.code > 0 && strcmp(r.text, "MAXEVAL_REACHED") != 0)
            says(s, TN_ELIMIT, equations ? "of h is" : "of g is");
        else
            says(s, TN_ELIMIT, r.text);
        print_message("%s\n", tn_nlopt_error(s));
        tn_nlopt_free(s);
        problem_free(&p);
    }
}

static void used_up(void **state) {
    (void)state;
    problem p;
    rosenbrock(&p, 10);
    const tn_nlopt_options few = {.size = sizeof few, .algorithm = "LD_LBFGS", .max_evaluations = 7};
    const tn_nlopt_options soon = {.size = sizeof soon, .algorithm = "LN_NELDERMEAD", .max_seconds = 1e-9};
    const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
    tn_nlopt_result r = {.size = sizeof r};
    tn_nlopt *s = tn_nlopt_new(&p.nlp, &few);
    assert_int_equal(tn_nlopt_solve(s, &start, &r), TN_ELIMIT);
    says(s, TN_ELIMIT, "the evaluations are used up (MAXEVAL_REACHED, after ");
    assert_true(r.evaluations >= 7 && r.evaluations < 12); /* it looks between its steps */
    assert_true(isfinite(r.objective));
    tn_nlopt_free(s);
    s = tn_nlopt_new(&p.nlp, &soon);
    assert_int_equal(tn_nlopt_solve(s, &start, &r), TN_ELIMIT);
    says(s, TN_ELIMIT, "the time is used up (MAXTIME_REACHED");
    tn_nlopt_free(s);
    problem_free(&p);
}

static int stop_at_5(void *user, const tn_nlopt_evaluation *e) {
    int *seen = user;
    assert_int_equal(e->size, sizeof *e);
    if (++*seen > 5) return 0;
    assert_int_equal(e->number, *seen);
    assert_true(isfinite(e->objective) && isfinite(e->x[0]));
    return *seen == 5;
}

static void cancelled(void **state) {
    (void)state;
    problem p;
    hs071(&p);
    int seen = 0;
    const tn_nlopt_options o = {.size = sizeof o, .progress = stop_at_5, .progress_user = &seen};
    const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
    tn_nlopt_result r = {.size = sizeof r};
    tn_nlopt *s = tn_nlopt_new(&p.nlp, &o);
    assert_int_equal(tn_nlopt_solve(s, &start, &r), TN_ECANCELLED);
    says(s, TN_ECANCELLED, "stopped by the caller (FORCED_STOP, after 5 evaluations)");
    assert_int_equal(seen, 5);
    assert_true(isfinite(r.objective) && isfinite(r.g[0]) && isfinite(r.infeasibility));
    seen = 5; /* once more, to the end */
    assert_int_equal(tn_nlopt_solve(s, &start, &r), TN_OK);
    tn_nlopt_free(s);
    problem_free(&p);
}

typedef struct stopper {
    tn_nlopt *s;
    int seen;
} stopper;
static int stop_handle(void *user, const tn_nlopt_evaluation *e) {
    stopper *stop = user;
    stop->seen++;
    if (e->number == 3) assert_true(nlopt_force_stop(tn_nlopt_handle(stop->s)) > 0);
    return 0;
}

/* By NLopt's own means; and where NLopt takes a variable out, so that it solves another problem than it was given. */
static void stopped(void **state) {
    (void)state;
    static const char *const names[] = {"LD_LBFGS", "LN_COBYLA", "LD_SLSQP", "LN_NELDERMEAD"};
    for (int k = 0; k < 8; k++) {
        problem p;
        rosenbrock(&p, 4);
        if (k % 2) p.xl[2] = p.xu[2] = p.x0[2];
        stopper stop = {0};
        const tn_nlopt_options o = {
            .size = sizeof o, .algorithm = names[k / 2], .progress = stop_handle, .progress_user = &stop};
        const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
        stop.s = tn_nlopt_new(&p.nlp, &o);
        assert_int_equal(tn_nlopt_solve(stop.s, &start, NULL), TN_ECANCELLED);
        says(stop.s, TN_ECANCELLED, "stopped by the caller ("); /* some of NLopt end with FAILURE then */
        if (stop.seen != 3) fail_msg("%s: %d evaluations", names[k / 2], stop.seen);
        tn_nlopt_free(stop.s);
        problem_free(&p);
    }
}

/* Whatever the algorithm: what it is given is not exceeded, and nothing runs once it is stopped. */
static void every_algorithm(void **state) {
    (void)state;
    for (int a = 0; a < NLOPT_NUM_ALGORITHMS; a++) {
        const char *name = nlopt_algorithm_to_string((nlopt_algorithm)a);
        const bool local = strncmp(name, "AUGLAG", 6) == 0 || strncmp(name, "G_MLSL", 6) == 0;
        int seen = 0;
        tn_nlopt_options o = {
            .size = sizeof o, .algorithm = name, .local = local ? "LD_LBFGS" : NULL, .max_evaluations = 60};
        problem p;
        rosenbrock(&p, 2);
        bound(&p, -2, 2);
        const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
        tn_nlopt_result r = {.size = sizeof r};
        if (strstr(nlopt_algorithm_name((nlopt_algorithm)a), "NOT COMPILED")) {
            refused(&p.nlp, &o, TN_EINVAL, "has no algorithm");
            problem_free(&p);
            continue;
        }
        tn_nlopt *s = tn_nlopt_new(&p.nlp, &o);
        says(s, TN_OK, "");
        const tn_status ended = tn_nlopt_solve(s, &start, &r);
        if (ended != TN_OK && ended != TN_ELIMIT) fail_msg("%s: %s", name, tn_nlopt_error(s));
        print_message("%-34s %5d %s %g\n", name, (int)r.evaluations, r.text, r.objective);
        tn_nlopt_free(s);
        o.progress = stop_at_5, o.progress_user = &seen;
        s = tn_nlopt_new(&p.nlp, &o);
        if (tn_nlopt_solve(s, &start, &r) != TN_ECANCELLED || seen != 5 || r.evaluations != 5)
            fail_msg("%s: %d evaluations, %s", name, (int)r.evaluations, tn_nlopt_error(s));
        tn_nlopt_free(s);
        problem_free(&p);
    }
}

/* ---- what is not finite ----------------------------------------------------------------------- */

static tn_val minus_log(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_at(in[0], 0), tn_log(tn_at(in[0], 0)));
}
static tn_val root(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_sqrt(in[0]));
}
static tn_val inverses(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_div(1.0, in[0]), 1.0);
}
static tn_val roots(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_sqrt(in[0]), 1.0);
}

static void ends(tn_trace_fn f, tn_trace_fn g, tn_trace_fn h, const double *x0, const char *name, const char *text) {
    problem p;
    problem_make(&p, 2, f, g, h);
    const tn_nlopt_options o = {.size = sizeof o, .algorithm = name};
    tn_nlopt_result r = {.size = sizeof r};
    tn_nlopt *s = tn_nlopt_new(&p.nlp, &o);
    assert_int_equal(tn_nlopt_solve(s, &(tn_nlopt_start){.size = sizeof(tn_nlopt_start), .x = x0}, &r), TN_ECALLBACK);
    says(s, TN_ECALLBACK, text);
    assert_string_equal(r.text, "FORCED_STOP");
    assert_true(!(g || h) || isnan(r.infeasibility));
    tn_nlopt_free(s);
    problem_free(&p);
}

static void not_finite(void **state) {
    (void)state;
    const double outside[] = {-1, 1}, edge[] = {4, 0};
    ends(minus_log, NULL, NULL, outside, "LD_LBFGS", "f is not a number");
    ends(minus_log, NULL, NULL, outside, "LN_NELDERMEAD", "f is not a number");
    ends(root, NULL, NULL, edge, "LD_LBFGS", "the gradient of f: its element 1 is infinite");
    ends(square, inverses, NULL, edge, "LD_MMA", "g: its element 1 is infinite");
    ends(square, NULL, inverses, edge, "LD_SLSQP", "h: its element 1 is infinite");
    ends(square, NULL, inverses, edge, "LN_COBYLA", "h: its element 1 is infinite");
    ends(square, roots, NULL, edge, "LD_SLSQP", "the Jacobian of g: its entry in row 1, column ");
}

/* ---- a callback that fails ----------------------------------------------------------------- */

static int left; /* calls that go well */
static int fourth(void *user, const void *const *in, void *const *out) {
    (void)user;
    const double x = *(const double *)in[0];
    *(double *)out[0] = x * x * x * x;
    return left-- <= 0;
}
static int fourth_vjp(void *user, const void *const *in, void *const *out) {
    (void)user;
    const double x = *(const double *)in[0];
    *(double *)out[0] = 4 * x * x * x * *(const double *)in[1];
    return left-- <= 0;
}
static tn_val opaque(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_at(in[0], 0);
    return tn_external(tn_val_ctx(x), "fourth", 1, &x);
}

static void callback(void **state) {
    (void)state;
    static const char *const names[] = {"LD_LBFGS", "LN_COBYLA", "LD_SLSQP"};
    const tn_type t = tn_f64();
    for (int k = 0; k < 9; k++) {
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_external_spec spec = {.size = sizeof spec,
                                       .name = "fourth",
                                       .nin = 1,
                                       .nout = 1,
                                       .in = &t,
                                       .out = &t,
                                       .fn = fourth,
                                       .vjp = fourth_vjp};
        assert_int_equal(tn_external_register(c, &spec), TN_OK);
        const tn_nlopt_problem q = {.size = sizeof q, .f = tn_trace(c, opaque, NULL, TN_ARGS(tn_f64(1)))};
        const tn_nlopt_options o = {.size = sizeof o, .algorithm = names[k / 3]};
        const double x0 = 2;
        left = k % 3;
        tn_nlopt *s = tn_nlopt_new(&q, &o);
        says(s, TN_OK, "");
        const tn_nlopt_start start = {.size = sizeof start, .x = &x0};
        assert_int_equal(tn_nlopt_solve(s, &start, NULL), TN_ECALLBACK);
        says(s, TN_ECALLBACK, "f: ");
        assert_non_null(strstr(tn_nlopt_error(s), "fourth"));
        left = 100000; /* it recovers */
        const tn_status status = tn_nlopt_solve(s, &start, NULL);
        if (status != TN_OK && status != TN_ELIMIT)
            fail_msg("%s, %d: %s, %d left", names[k / 3], k % 3, tn_nlopt_error(s), left);
        tn_nlopt_free(s);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),         cmocka_unit_test(programs),   cmocka_unit_test(sizes),
        cmocka_unit_test(algorithms),      cmocka_unit_test(starts),     cmocka_unit_test(bounds_and_options),
        cmocka_unit_test(infeasible),      cmocka_unit_test(used_up),    cmocka_unit_test(cancelled),
        cmocka_unit_test(every_algorithm), cmocka_unit_test(not_finite), cmocka_unit_test(callback),
        cmocka_unit_test(stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
