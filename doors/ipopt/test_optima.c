/* Known optima: objective to 1e-8, and iterations within 2 of what CasADi 3.8.2 takes with the same starts, bounds and
 * tolerance; sizes of the derivatives; that the multipliers found satisfy the optimality conditions. */
#include "test_problems.h"

typedef struct known {
    const char *name;
    double optimum;
    int iterations;
    int64_t n, m, jacobian, hessian;
} known;

/* xl, xu and g of the solution, and of multipliers: grad f + J' lambda - zl + zu = 0. */
static void optimality(const problem *p, const tn_ipopt_result *r) {
    tn_fn *l = tn_lagrangian(p->nlp.f, p->nlp.g), *gradient = tn_grad(l, tn_wrt(0), NULL);
    tn_exec *e = tn_compile(gradient, NULL);
    if (!e) fail_msg("%s", tn_error(p->c));
    const double one = 1;
    double *d = malloc((size_t)p->n * sizeof *d);
    assert_non_null(d);
    assert_int_equal(tn_call(e, (const void *[]){r->x, &one, r->lambda}, (void *[]){d}), TN_OK);
    for (int64_t i = 0; i < p->n; i++) {
        const double low = p->nlp.xl[i], high = p->nlp.xu[i];
        assert_true(r->x[i] >= low - 1e-7 && r->x[i] <= high + 1e-7);
        if (low == high) continue; /* left out of the problem: Ipopt has no multiplier there */
        const double rest = d[i] - r->zl[i] + r->zu[i];
        if (!(fabs(rest) < 1e-6)) fail_msg("the Lagrangian's derivative by variable %d is %g", (int)i, rest);
    }
    free(d);
}

static void solved(problem p, const known *k) {
    const tn_ipopt_options o = {.size = sizeof o, .tol = 1e-10};
    tn_ipopt *s = tn_ipopt_new(&p.nlp, &o);
    tn_ipopt_result r = {.size = sizeof r};
    tn_ipopt_sizes z = {.size = sizeof z};
    const tn_ipopt_start start = {.size = sizeof start, .x = p.x0};
    if (tn_ipopt_solve(s, &start, &r)) fail_msg("%s: %s", k->name, tn_ipopt_error(s));
    assert_int_equal(tn_ipopt_size(s, &z), TN_OK);
    assert_int_equal(z.n, k->n);
    assert_int_equal(z.m, k->m);
    assert_int_equal(z.jacobian, k->jacobian);
    assert_int_equal(z.hessian, k->hessian);
    if (!(fabs(r.objective - k->optimum) <= 1e-8 * fabs(k->optimum)))
        fail_msg("%s: %.12g, not %.12g", k->name, r.objective, k->optimum);
    if (abs(r.iterations - k->iterations) > 2)
        fail_msg("%s: %d iterations, not %d", k->name, r.iterations, k->iterations);
    print_message("%s: %.10g after %d iterations\n", k->name, r.objective, r.iterations);
    assert_string_equal(r.text, "Solve_Succeeded");
    assert_int_equal(r.not_finite, 0);
    optimality(&p, &r);
    tn_ipopt_free(s);
    problem_free(&p);
}

static void known_hs071(void **state) {
    (void)state;
    solved(hs071(), &(known){"HS071", 17.014017140, 9, 4, 2, 8, 10});
}

static void known_chains(void **state) {
    (void)state;
    static const double optima[] = {5.072261494, 5.069784611, 5.068917342, 5.068621695};
    static const int iterations[] = {7, 7, 8, 8};
    for (int i = 0, nh = 50; i < 4; i++, nh *= 2) {
        char name[32];
        (void)snprintf(name, sizeof name, "chain of %d", nh);
        solved(chain(nh), &(known){name, optima[i], iterations[i], 4 * nh + 4, 3 * nh, 14 * nh, 2 * (nh + 1)});
    }
}

static void known_rockets(void **state) {
    (void)state;
    static const double optima[] = {-1.012817107, -1.012832024, -1.012836608};
    static const int iterations[] = {29, 31, 34}, sizes[] = {50, 100, 400};
    for (int i = 0; i < 3; i++) {
        const int nh = sizes[i];
        char name[32];
        (void)snprintf(name, sizeof name, "rocket of %d", nh);
        solved(rocket(nh), &(known){name, optima[i], iterations[i], 4 * nh + 5, 3 * nh, 19 * nh, 11 * (nh + 1)});
    }
}

static void known_cart_pole(void **state) {
    (void)state;
    solved(cart_pole(), &(known){"cart-pole", 59.7017019719, 13, CART_Z, 128, 578, 180});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_hs071),
        cmocka_unit_test(known_chains),
        cmocka_unit_test(known_rockets),
        cmocka_unit_test(known_cart_pole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
