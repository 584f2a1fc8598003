/* Solutions of well-known problems against references of 24 digits.
 *
 * Those that are not in closed form were made by Taylor series of order 36 in quadruple precision (113 bits), by
 * the recurrences of each polynomial field, with steps chosen so that the last two terms are below 1e-30 of the state;
 * a second run at 1e-27 gives the same 24 digits. */
#include "tansy/ode.h"
#include "tracing.h"

#include <stdio.h>

/* Lotka-Volterra, x' = 3/2 x - x y, y' = x y - 3 y, from (1, 1) to t = 10. */
static void lotka_volterra(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)p, (void)user;
    const tn_val a = tn_at(y[0], 0), b = tn_at(y[0], 1), ab = tn_mul(a, b);
    dy[0] = tn_stack(tn_vals(tn_sub(tn_mul(a, 1.5), ab), tn_sub(ab, tn_mul(b, 3))), 0);
}
static const double lotka_volterra_end[] = {1.02634476757508931913869, 0.909691078136041617548246};

/* Van der Pol, x' = y, y' = mu (1 - x^2) y - x, from (2, 0); mu = 1 to t = 20, mu = 1000 to t = 2000. */
static void van_der_pol(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    const tn_val a = tn_at(y[0], 0), b = tn_at(y[0], 1);
    dy[0] = tn_stack(tn_vals(b, tn_sub(tn_mul(p[0], tn_mul(tn_sub(1, tn_mul(a, a)), b)), a)), 0);
}
static const double van_der_pol_1[] = {2.00814976217494859201449, -0.0425088752732021469859251};
static const double van_der_pol_1000[] = {1.70616773217046500847819, -0.000892809701024816547778603};

/* Robertson's reactions from (1, 0, 0) to t = 40. */
static void robertson(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)p, (void)user;
    const tn_val a = tn_at(y[0], 0), b = tn_at(y[0], 1), c = tn_at(y[0], 2);
    const tn_val slow = tn_mul(a, 0.04), back = tn_mul(tn_mul(b, c), 1e4), fast = tn_mul(tn_mul(b, b), 3e7);
    dy[0] = tn_stack(tn_vals(tn_sub(back, slow), tn_sub(slow, tn_add(back, fast)), fast), 0);
}
static const double robertson_end[] = {0.715827068719405090474474, 9.18553476455776390389921e-06,
                                       0.284163745745830351761622};

/* Kepler's ellipse, eccentricity e = 0.6, from the pericentre; two state arrays. */
static void kepler(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)p, (void)user;
    const tn_val r2 = tn_sum_squares(y[0]);
    dy[0] = y[1];
    dy[1] = tn_neg(tn_div(y[0], tn_mul(r2, tn_sqrt(r2))));
}

/* The position at time t, by Kepler's equation u - e sin u = t. */
static void kepler_at(double e, double t, double *x) {
    double u = t;
    for (int i = 0; i < 50; i++) u -= (u - e * sin(u) - t) / (1 - e * cos(u));
    x[0] = cos(u) - e;
    x[1] = sqrt(1 - e * e) * sin(u);
}

typedef struct problem {
    tn_ode_field field;
    size_t nstate;
    double t1, mu;
    tn_ode_options o;
} problem;

/* in: y.. -> y.., status, steps */
static void solve(const tn_val *in, tn_val *out, void *user) {
    const problem *q = user;
    const tn_val mu = tn_full(tn_val_ctx(in[0]), tn_f64(), q->mu);
    tn_ode_problem p = {
        .size = sizeof p, .field = q->field, .nstate = q->nstate, .y0 = in, .nparams = 1, .params = &mu};
    p.t0 = tn_number_f64(0);
    p.t1 = tn_number_f64(q->t1);
    tn_ode_options o = q->o;
    o.size = sizeof o;
    tn_ode_solution s = {.size = sizeof s, .y = out};
    tn_ode_solve(&p, &o, &s);
    out[q->nstate] = s.status;
    out[q->nstate + 1] = s.steps;
}

static void reaches(problem q, const char *solver, double rtol, double atol, int64_t n, const double *y0,
                    const double *want, double tolerance) {
    tn_ctx *c = checked();
    double y[3];
    int32_t status;
    int64_t steps;
    q.nstate = 1;
    q.o = (tn_ode_options){.solver = solver, .rtol = rtol, .atol = atol};
    tn_fn *f = tn_trace_many(c, solve, &q, 1, TN_TYPES(tn_f64(n)), 3);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, TN_INPUTS(y0), TN_OUTPUTS(y, &status, &steps));
    for (int64_t i = 0; i < n; i++)
        if (status != TN_ODE_SUCCESS || !(fabs(y[i] / want[i] - 1) < tolerance))
            fail_msg("%s: status %d after %lld steps, y[%d] = %.17g (%.2g off)", solver, status, (long long)steps,
                     (int)i, y[i], y[i] / want[i] - 1);
    tn_ctx_free(c);
}

static void explicit_solvers(void **state) {
    (void)state;
    const problem lv = {.field = lotka_volterra, .t1 = 10}, vdp = {.field = van_der_pol, .t1 = 20, .mu = 1};
    reaches(lv, "Dopri8", 1e-13, 1e-13, 2, P(1, 1), lotka_volterra_end, 2e-11);
    reaches(lv, "Tsit5", 1e-11, 1e-11, 2, P(1, 1), lotka_volterra_end, 1e-9);
    reaches(lv, "Dopri5", 1e-11, 1e-11, 2, P(1, 1), lotka_volterra_end, 1e-9);
    reaches(lv, "Bosh3", 1e-8, 1e-8, 2, P(1, 1), lotka_volterra_end, 1e-6);
    reaches(vdp, "Dopri8", 1e-13, 1e-13, 2, P(2, 0), van_der_pol_1, 1e-11);
    reaches(vdp, "Tsit5", 1e-11, 1e-11, 2, P(2, 0), van_der_pol_1, 1e-9);
}

static void implicit_solvers(void **state) {
    (void)state;
    const problem lv = {.field = lotka_volterra, .t1 = 10}, rob = {.field = robertson, .t1 = 40};
    const problem vdp = {.field = van_der_pol, .t1 = 2000, .mu = 1000};
    reaches(lv, "Kvaerno5", 1e-10, 1e-10, 2, P(1, 1), lotka_volterra_end, 1e-7);
    reaches(rob, "Kvaerno5", 1e-8, 1e-12, 3, P(1, 0, 0), robertson_end, 1e-6);
    reaches(rob, "Kvaerno3", 1e-6, 1e-10, 3, P(1, 0, 0), robertson_end, 1e-4);
    reaches(vdp, "Kvaerno5", 1e-8, 1e-8, 2, P(2, 0), van_der_pol_1000, 1e-6);
}

static void an_orbit_closes(void **state) {
    (void)state;
    const double e = 0.6, x[2] = {1 - e, 0}, v[2] = {0, sqrt((1 + e) / (1 - e))};
    for (int half = 0; half < 2; half++) {
        tn_ctx *c = checked();
        problem q = {.field = kepler, .nstate = 2, .t1 = half ? 3.5 : 8 * atan(1)};
        double y[2], w[2], want[2];
        int32_t status;
        int64_t steps;
        q.o = (tn_ode_options){.solver = "Dopri8", .rtol = 1e-13, .atol = 1e-13};
        tn_fn *f = tn_trace_many(c, solve, &q, 2, TN_TYPES(tn_f64(2), tn_f64(2)), 4);
        if (!f) fail_msg("%s", tn_error(c));
        run(f, TN_INPUTS(x, v), TN_OUTPUTS(y, w, &status, &steps));
        kepler_at(e, q.t1, want);
        assert_int_equal(status, TN_ODE_SUCCESS);
        close_to(y, want, 2, 1e-11);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explicit_solvers),
        cmocka_unit_test(implicit_solvers),
        cmocka_unit_test(an_orbit_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
