/* Known optima, by algorithms of every kind: with and without derivatives, with bounds, inequalities and equations. */
#include "test_problems.h"

static void near(double got, double wanted, double by) {
    if (!(fabs(got - wanted) <= by)) fail_msg("%.12g, not %.12g", got, wanted);
}

/* The solver, to be freed, of a problem that is solved. */
static tn_nlopt *solved(const tn_nlopt_problem *q, const tn_nlopt_options *o, const tn_nlopt_start *start,
                        tn_nlopt_result *r) {
    tn_nlopt *s = tn_nlopt_new(q, o);
    r->size = sizeof *r;
    if (tn_nlopt_solve(s, start, r)) fail_msg("%s: %s", o ? o->algorithm : "by default", tn_nlopt_error(s));
    assert_true(r->infeasibility <= (o && o->constraint_tol > 0 ? o->constraint_tol : 1e-8));
    assert_true(r->code > 0);
    print_message("%s: %.10g after %d evaluations, %s\n", o ? o->algorithm : "LD_SLSQP", r->objective,
                  (int)r->evaluations, r->text);
    return s;
}

/* As Hock and Schittkowski have it.  Ipopt's 17.0140171402 is that of bounds which it relaxes by 1e-8. */
static const double HS071 = 17.0140172891563;

static void known_hs071(void **state) {
    (void)state;
    problem p;
    hs071(&p);
    const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
    const tn_nlopt_options o = {.size = sizeof o, .algorithm = "LD_SLSQP", .xtol_rel = 1e-12, .constraint_tol = 1e-10};
    tn_nlopt_result r;
    tn_nlopt *s = solved(&p.nlp, &o, &start, &r);
    near(r.objective, HS071, 1e-9);
    near(r.x[1], 4.7429996, 1e-6);
    near(r.x[3], 1.3794083, 1e-6);
    near(r.g[0], 0, 1e-8);
    near(r.h[0], 0, 1e-8);
    assert_true(r.evaluations < 40 && r.gradient_runs > 0 && r.g_jacobian_runs > 0 && r.h_jacobian_runs > 0);
    tn_nlopt_free(s);
    s = solved(&p.nlp, NULL, &start, &r); /* SLSQP is what there is without options */
    near(r.objective, HS071, 1e-6);
    tn_nlopt_free(s);
    const tn_nlopt_options cobyla = {.size = sizeof cobyla, .algorithm = "LN_COBYLA", .xtol_rel = 1e-10};
    s = solved(&p.nlp, &cobyla, &start, &r);
    near(r.objective, HS071, 1e-6);
    assert_int_equal(r.gradient_runs + r.g_jacobian_runs + r.h_jacobian_runs, 0);
    tn_nlopt_free(s);
    problem_free(&p);
}

/* ---- no constraints, bounds ------------------------------------------------------------------- */

static void unconstrained(void **state) {
    (void)state;
    static const char *const names[] = {"LD_LBFGS", "NLOPT_LD_LBFGS", "LD_VAR2", "LD_TNEWTON_PRECOND_RESTART",
                                        "LD_SLSQP"};
    problem p;
    rosenbrock(&p, 10);
    const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const tn_nlopt_options o = {.size = sizeof o, .algorithm = names[i], .ftol_rel = 1e-14, .xtol_rel = 1e-9};
        tn_nlopt_result r;
        tn_nlopt *s = solved(&p.nlp, &o, &start, &r);
        if (r.objective < 1) /* there is another minimum, of 3.98 */
            for (int k = 0; k < 10; k++) near(r.x[k], 1, 1e-6);
        else
            fail_msg("%s: %g", names[i], r.objective);
        tn_nlopt_free(s);
    }
    problem_free(&p);
}

static void bounds(void **state) {
    (void)state;
    static const char *const names[] = {"LD_LBFGS", "LD_SLSQP", "LD_MMA", "LN_BOBYQA", "LN_SBPLX"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        problem p;
        rosenbrock(&p, 2);
        p.xu[0] = 0.5;
        const double tol = names[i][1] == 'D' ? 1e-10 : 1e-7;
        const tn_nlopt_options o = {.size = sizeof o, .algorithm = names[i], .xtol_rel = tol, .ftol_rel = 1e-14};
        const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
        tn_nlopt_result r;
        tn_nlopt *s = solved(&p.nlp, &o, &start, &r);
        near(r.objective, 0.25, 1e-8);
        near(r.x[0], 0.5, 1e-6);
        near(r.x[1], 0.25, 1e-5);
        assert_int_equal(r.gradient_runs > 0, names[i][1] == 'D');
        tn_nlopt_free(s);
        p.xl[1] = p.xu[1] = p.x0[1] = 0.04; /* a variable that is held: NLopt takes it out */
        s = solved(&p.nlp, &o, &start, &r);
        near(r.x[1], 0.04, 0);
        assert_true(r.objective < 0.65);
        tn_nlopt_free(s);
        problem_free(&p);
    }
}

/* ---- several rows, several variables, parameters ---------------------------------------------------- */

/* The nearest to t of a [2, 2], b [3]: rows of a on the simplex, b within -2..2, b's last given. */
static tn_val distance(const tn_val *in, void *user) {
    (void)user;
    return tn_sum_squares(tn_sub(tn_concatenate(tn_vals(tn_ravel(in[0]), in[1]), 0), in[2]));
}
static void equations(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_sub(tn_sum_axis(in[0], 1), 1.0);
    out[1] = tn_sub(tn_at(in[1], 2), in[3]);
}
static void inequalities(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_neg(in[0]);
    out[1] = tn_sub(tn_square(in[1]), 4.0);
}

static void several(void **state) {
    (void)state;
    static const tn_nlopt_options list[] = {
        {.size = sizeof list[0], .algorithm = "LD_SLSQP", .xtol_rel = 1e-12},
        {.size = sizeof list[0], .algorithm = "AUGLAG", .local = "LD_CCSAQ", .xtol_rel = 1e-9, .constraint_tol = 1e-6},
        {.size = sizeof list[0], .algorithm = "LN_COBYLA", .xtol_rel = 1e-10, .constraint_tol = 1e-6}};
    const tn_ctx_options opt = {.size = sizeof opt, .check = -1};
    tn_ctx *c = tn_ctx_new(&opt);
    const double target[] = {0.9, 0.7, 2, -1, 3, -5, 1}, nearest[] = {0.6, 0.4, 1, 0, 2, -2, 1.5};
    const double x0[] = {0.3, 0.3, 0.3, 0.3, 0.5, -0.5, 1};
    double last = 1.5;
    const tn_type *inputs = TN_TYPES(tn_f64(2, 2), tn_f64(3), tn_f64(7), tn_f64());
    const tn_nlopt_problem q = {.size = sizeof q,
                                .variables = 2,
                                .f = tn_trace(c, distance, NULL, 4, inputs),
                                .g = tn_trace_many(c, inequalities, NULL, 4, inputs, 2),
                                .h = tn_trace_many(c, equations, NULL, 4, inputs, 2)};
    if (!q.f || !q.g || !q.h) fail_msg("%s", tn_error(c));
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const tn_nlopt_start start = {.size = sizeof start, .x = x0, .p = (const void *[]){target, &last}};
        tn_nlopt_result r;
        last = 1.5;
        tn_nlopt *s = solved(&q, &list[i], &start, &r);
        near(r.objective, 12.43, 1e-5);
        for (int k = 0; k < 7; k++) near(r.x[k], nearest[k], 1e-4);
        near(r.h[1] + r.h[2], 0, 1e-5);
        near(r.g[6], 1.5 * 1.5 - 4, 1e-4);
        last = 0.5; /* the next of the family, from where this one ended */
        if (tn_nlopt_solve(s, &(tn_nlopt_start){start.size, r.x, start.p}, &r)) fail_msg("%s", tn_nlopt_error(s));
        near(r.objective, 12.43, 1e-5); /* as far on the other side of 1 */
        near(r.x[6], 0.5, 1e-5);
        tn_nlopt_free(s);
    }
    tn_ctx_free(c);
}

/* ---- global algorithms --------------------------------------------------------------------------------- */

/* Two minima of -1.0316284535, four that are worse. */
static tn_val camel(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_at(in[0], 0), y = tn_at(in[0], 1), a = tn_square(x), b = tn_square(y);
    return tn_add(tn_add(tn_mul(a, tn_add(4.0, tn_mul(a, tn_add(-2.1, tn_div(a, 3.0))))), tn_mul(x, y)),
                  tn_mul(b, tn_sub(tn_mul(4.0, b), 4.0)));
}

static void global(void **state) {
    (void)state;
    static const tn_nlopt_options list[] = {
        {.size = sizeof list[0], .algorithm = "GN_DIRECT_L", .max_evaluations = 1000},
        {.size = sizeof list[0], .algorithm = "GN_CRS2_LM", .max_evaluations = 5000},
        {.size = sizeof list[0], .algorithm = "G_MLSL_LDS", .local = "LD_LBFGS", .max_evaluations = 500}};
    problem p;
    problem_make(&p, 2, camel, NULL, NULL);
    bound(&p, -2, 3);
    p.x0[0] = 1.8, p.x0[1] = 0.9;
    const tn_nlopt_start start = {.size = sizeof start, .x = p.x0};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        tn_nlopt_result r;
        nlopt_srand(1);
        tn_nlopt *s = solved(&p.nlp, &list[i], &start, &r);
        near(r.objective, -1.0316284535, 1e-5);
        tn_nlopt_free(s);
    }
    const double enough = -1;
    const tn_nlopt_options o = {.size = sizeof o, .algorithm = "GN_DIRECT", .stop_value = &enough};
    tn_nlopt_result r;
    tn_nlopt *s = solved(&p.nlp, &o, NULL, &r);
    assert_string_equal(r.text, "STOPVAL_REACHED");
    assert_true(r.objective <= enough);
    tn_nlopt_free(s);
    problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_hs071), cmocka_unit_test(unconstrained), cmocka_unit_test(bounds),
        cmocka_unit_test(several),     cmocka_unit_test(global),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
