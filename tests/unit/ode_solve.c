/* tn_ode_solve: orders, adaptive steps, what is saved, statuses, both directions, errors in arguments. */
#include "tansy/ode.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>

/* y' = y cos t, y = e^(sin t); z' = z (a - z), logistic. */
static void field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)user;
    dy[0] = tn_mul(y[0], tn_cos(t));
    dy[1] = tn_mul(y[1], tn_sub(p[0], y[1]));
}

static double logistic(double z0, double a, double t) { return a * z0 * exp(a * t) / (a + z0 * (exp(a * t) - 1)); }

/* What a solve is asked for, and all that it gives. */
typedef struct question {
    tn_ode_options o;
    double t0, t1;
    size_t times;
    const double *ts;
    double at; /* tn_ode_evaluate, with o.dense */
} question;

enum { ROWS = 400 };
typedef struct answer {
    double y, z[3], t;
    int32_t status;
    int64_t steps, accepted, rejected;
    double ts_y[ROWS], ts_z[ROWS][3], steps_t[ROWS], steps_y[ROWS], steps_z[ROWS][3], at_y, at_z[3];
} answer;

static const double z0[3] = {0.1, 0.3, 0.9}, rate = 1.25;

/* in: y [], z [3], a [], ts [m] -> y, z, t, status, steps, accepted, rejected, then what is saved */
static void solve(const tn_val *in, tn_val *out, void *user) {
    const question *q = user;
    tn_val dense[4], at[2], y[2], ts_y[2], steps_y[2];
    tn_ode_problem p = {.size = sizeof p, .field = field, .nstate = 2, .y0 = in, .nparams = 1, .params = in + 2};
    p.t0 = tn_number_f64(q->t0);
    p.t1 = tn_number_f64(q->t1);
    tn_ode_options o = q->o;
    o.size = sizeof o;
    if (q->times) o.ts = in[3];
    tn_ode_solution s = {.size = sizeof s, .y = y, .ts_y = ts_y, .steps_y = steps_y, .dense_y = dense};
    tn_ode_solve(&p, &o, &s);
    const tn_val all[] = {y[0], y[1], s.t, s.status, s.steps, s.accepted, s.rejected};
    memcpy(out, all, sizeof all);
    out += COUNT(all);
    if (q->times) *out++ = ts_y[0], *out++ = ts_y[1];
    if (o.save_steps) *out++ = s.steps_t, *out++ = steps_y[0], *out++ = steps_y[1];
    if (!o.dense) return;
    tn_ode_evaluate(&s, 2, q->at, at);
    *out++ = at[0], *out++ = at[1];
}

static tn_fn *traced(tn_ctx *c, const question *q) {
    const size_t n = 7 + (q->times ? 2U : 0) + (q->o.save_steps ? 3U : 0) + (q->o.dense ? 2U : 0);
    question copy = *q;
    return tn_trace_many(c, solve, &copy, 4, (tn_type[]){tn_f64(), tn_f64(3), tn_f64(), tn_f64((int64_t)q->times)}, n);
}

static void ask(const question *q, answer *a) {
    tn_ctx *c = checked();
    tn_fn *f = traced(c, q);
    if (!f) fail_msg("%s", tn_error(c));
    const double y0 = exp(sin(q->t0));
    void *out[16] = {&a->y, a->z, &a->t, &a->status, &a->steps, &a->accepted, &a->rejected}, **o = out + 7;
    if (q->times) *o++ = a->ts_y, *o++ = a->ts_z;
    if (q->o.save_steps) *o++ = a->steps_t, *o++ = a->steps_y, *o++ = a->steps_z;
    if (q->o.dense) *o++ = &a->at_y, *o++ = a->at_z;
    run(f, (const void *[]){&y0, z0, &rate, q->ts}, out);
    tn_ctx_free(c);
}

/* The largest error of a state at t. */
static double error_at(const question *q, double t, double y, const double *z) {
    double e = fabs(y - exp(sin(t)));
    for (int i = 0; i < 3; i++) e = fmax(e, fabs(z[i] - logistic(z0[i], rate, t - q->t0)));
    return e;
}

/* ---- constant steps ------------------------------------------------------------------------------ */

static const struct {
    const char *solver;
    int order, dense_order;
} method[] = {{"Euler", 1, 1},  {"Heun", 2, 2},  {"Midpoint", 2, 2}, {"RK4", 4, 3},      {"Bosh3", 3, 3},
              {"Dopri5", 5, 4}, {"Tsit5", 5, 4}, {"Kvaerno3", 3, 3}, {"Kvaerno5", 5, 3}, {"Dopri8", 8, 5}};

/* Least squares of log error over log h. */
static double slope(size_t n, const double *h, const double *e) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = log(h[i]), y = log(e[i]);
        sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    const double m = (double)n;
    return (m * sxy - sx * sy) / (m * sxx - sx * sx);
}

static void errors_shrink_with_the_order(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT(method); k++) {
        double h[6], e[6], d[6];
        size_t n = 0;
        for (int i = 0; i < 6; i++) {
            const int64_t steps = (int64_t)((method[k].order == 8 ? 4 * pow(1.25, i) : 16 * pow(1.4, i)));
            question q = {.o = {.solver = method[k].solver, .steps = steps}, .t0 = 0.2, .t1 = 2.9};
            q.o.dense = steps;
            q.at = 0.2 + 2.7 * (floor(0.6 * (double)steps) + 0.43) / (double)steps; /* at one place in a step */
            answer a;
            ask(&q, &a);
            assert_int_equal(a.status, TN_ODE_SUCCESS);
            assert_int_equal(a.steps, steps);
            h[n] = 1.0 / (double)steps;
            e[n] = error_at(&q, 2.9, a.y, a.z);
            d[n] = error_at(&q, q.at, a.at_y, a.at_z);
            if (e[n] > 1e-12 && d[n] > 1e-12) n++;
        }
        if (n < 4) fail_msg("%s: %zu errors: %g, %g", method[k].solver, n, e[0], d[0]);
        const double s = slope(n, h, e), b = slope(n, h, d);
        if (!(s >= method[k].order - 0.3)) fail_msg("%s: slope %g", method[k].solver, s);
        /* The error in between is that of the solution and that of one step's polynomial, of one order more. */
        const int order = method[k].dense_order + 1 < method[k].order ? method[k].dense_order + 1 : method[k].order;
        if (!(b >= order - 0.3)) fail_msg("%s: slope %g of the dense output", method[k].solver, b);
    }
}

static void constant_steps_are_saved(void **state) {
    (void)state;
    const double ts[5] = {0, 0.37, 0.5, 0.99, 2};
    static answer a;
    const question q = {.o = {.steps = 20, .save_steps = 1}, .t1 = 2, .times = 5, .ts = ts};
    ask(&q, &a);
    assert_int_equal(a.status, TN_ODE_SUCCESS);
    assert_true(a.t == 2 && a.accepted == 20 && a.rejected == 0);
    for (int i = 0; i < 20; i++) {
        assert_true(fabs(a.steps_t[i] - 0.1 * (i + 1)) < 1e-15 * (i + 1));
        assert_true(error_at(&q, a.steps_t[i], a.steps_y[i], a.steps_z[i]) < 2e-7);
    }
    assert_true(a.steps_y[19] == a.y && a.steps_z[19][1] == a.z[1]);
    for (int i = 0; i < 5; i++) assert_true(error_at(&q, ts[i], a.ts_y[i], a.ts_z[i]) < 1e-5);
    assert_true(a.ts_y[0] == 1 && fabs(a.ts_y[4] - a.y) < 1e-14);
}

/* ---- adaptive steps --------------------------------------------------------------------------------- */

static void tolerances_are_kept(void **state) {
    (void)state;
    static const char *const solver[] = {"Bosh3", "Dopri5", "Tsit5", "Dopri8"};
    for (size_t k = 0; k < COUNT(solver); k++)
        for (int p = 3; p <= (k ? 9 : 5); p += 2) {
            const double tol = pow(10, -p);
            const question q = {.o = {.solver = solver[k], .rtol = tol, .atol = tol}, .t0 = 0.2, .t1 = 3};
            answer a;
            ask(&q, &a);
            assert_int_equal(a.status, TN_ODE_SUCCESS);
            assert_true(a.t == 3 && a.steps == a.accepted + a.rejected);
            const double e = error_at(&q, 3, a.y, a.z);
            if (!(e < 20 * tol && e > 1e-6 * tol)) fail_msg("%s at %g: error %g", solver[k], tol, e);
        }
}

static void backwards_undoes_forwards(void **state) {
    (void)state;
    question q = {.o = {.rtol = 1e-8, .atol = 1e-8}, .t0 = 1.5, .t1 = 0.2};
    answer a;
    ask(&q, &a);
    assert_int_equal(a.status, TN_ODE_SUCCESS);
    assert_true(a.t == 0.2 && error_at(&q, 0.2, a.y, a.z) < 1e-6);
    q.o = (tn_ode_options){.steps = 40};
    ask(&q, &a);
    assert_true(error_at(&q, 0.2, a.y, a.z) < 1e-6);
    q.o = (tn_ode_options){.rtol = 1e-8, .atol = 1e-8};
    q.t1 = 1.5;
    ask(&q, &a);
    assert_true(a.status == TN_ODE_SUCCESS && a.steps == 0 && a.t == 1.5 && a.z[1] == z0[1]);
}

static void adaptive_steps_are_saved(void **state) {
    (void)state;
    static answer a;
    for (int back = 0; back < 2; back++) {
        const double t0 = back ? 2 : 0, t1 = back ? 0 : 2, forth[6] = {0, 0.1, 0.11, 0.12, 1.1, 2};
        double ts[6];
        for (int i = 0; i < 6; i++) ts[i] = back ? forth[5 - i] : forth[i];
        question q = {.o = {.rtol = 1e-7, .atol = 1e-7, .save_steps = 100, .dense = 100}, .t0 = t0, .t1 = t1};
        q.times = 6;
        q.ts = ts;
        q.at = 1.3;
        ask(&q, &a);
        assert_int_equal(a.status, TN_ODE_SUCCESS);
        assert_true(a.accepted > 5 && a.accepted < 100);
        for (int i = 0; i < 6; i++) assert_true(error_at(&q, ts[i], a.ts_y[i], a.ts_z[i]) < 2e-5);
        for (int i = 0; i < 100; i++) {
            if (i >= a.accepted) {
                assert_true(isinf(a.steps_t[i]) && isinf(a.steps_y[i]) && isinf(a.steps_z[i][2]));
                continue;
            }
            if (i) assert_true((a.steps_t[i] > a.steps_t[i - 1]) == !back);
            assert_true(error_at(&q, a.steps_t[i], a.steps_y[i], a.steps_z[i]) < 1e-6);
        }
        assert_true(a.steps_t[a.accepted - 1] == t1 && a.steps_y[a.accepted - 1] == a.y);
        assert_true(error_at(&q, 1.3, a.at_y, a.at_z) < 2e-5);
    }
}

static void what_ends_a_solve_is_told(void **state) {
    (void)state;
    static answer a;
    question q = {.o = {.rtol = 1e-7, .atol = 1e-7, .max_steps = 5}, .t1 = 3};
    ask(&q, &a);
    assert_true(a.status == TN_ODE_MAX_STEPS && a.steps == 5 && a.t < 3 && error_at(&q, a.t, a.y, a.z) < 1e-6);
    q.o.max_steps = 0;
    q.o.save_steps = 4;
    ask(&q, &a);
    assert_true(a.status == TN_ODE_CAPACITY && a.accepted == 4 && a.t == a.steps_t[3] && a.y == a.steps_y[3]);
    q.o.save_steps = 0;
    q.o.dense = 3;
    q.at = 0;
    ask(&q, &a);
    assert_true(a.status == TN_ODE_CAPACITY && a.accepted == 3);
    q.o.dense = 0;
    q.times = 2;
    q.ts = P(0.5, 3.5);
    ask(&q, &a);
    assert_true(a.status == TN_ODE_TIMES && a.steps == 0 && a.t == 0 && isinf(a.ts_y[0]));
    q.ts = P(0.5, 0.4);
    ask(&q, &a);
    assert_int_equal(a.status, TN_ODE_TIMES);
    q.o = (tn_ode_options){.steps = 30};
    ask(&q, &a);
    assert_int_equal(a.status, TN_ODE_TIMES);
}

/* dt0, dtmin and dtmax hold; a PI controller solves as well. */
static void lengths_are_held(void **state) {
    (void)state;
    static answer a;
    question q = {.o = {.rtol = 1e-6, .atol = 1e-6, .dt0 = 0.01, .dtmax = 0.125, .save_steps = 60}, .t1 = 3};
    ask(&q, &a);
    assert_int_equal(a.status, TN_ODE_SUCCESS);
    assert_true(fabs(a.steps_t[0] - 0.01) < 1e-15);
    for (int i = 1; i < a.accepted; i++) assert_true(a.steps_t[i] - a.steps_t[i - 1] < 0.125 + 1e-12);
    q.o = (tn_ode_options){.rtol = 1e-12, .atol = 1e-12, .dtmin = 0.25, .save_steps = 30};
    ask(&q, &a);
    assert_int_equal(a.status, TN_ODE_SUCCESS);
    assert_int_equal(a.accepted, 12);
    q.o = (tn_ode_options){.rtol = 1e-7, .atol = 1e-7, .pcoeff = 0.3, .icoeff = 0.4};
    ask(&q, &a);
    assert_int_equal(a.status, TN_ODE_SUCCESS);
    assert_true(error_at(&q, 3, a.y, a.z) < 1e-6);
}

/* y' = y^2 leaves every bound at t = 1. */
static void explosion(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)p, (void)user;
    dy[0] = tn_mul(y[0], y[0]);
}

static void exploding(const tn_val *in, tn_val *out, void *user) {
    tn_ode_problem p = {.size = sizeof p, .field = explosion, .nstate = 1, .y0 = in};
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_i64(2);
    tn_ode_solution s = {.size = sizeof s, .y = &out[0]};
    tn_ode_solve(&p, user, &s);
    out[1] = s.status;
    out[2] = s.t;
}

static int32_t explode(const tn_ode_options *o, double *t) {
    tn_ctx *c = checked();
    const double one = 1;
    double y;
    int32_t status;
    run(tn_trace_many(c, exploding, (void *)(uintptr_t)o, 1, TN_TYPES(tn_f64()), 3), TN_INPUTS(&one),
        TN_OUTPUTS(&y, &status, t));
    tn_ctx_free(c);
    return status;
}

/* Whatever the tolerances: just before t = 1 a shorter step may be the same step, rounded. */
static void infinity_is_told(void **state) {
    (void)state;
    static const char *const solver[] = {"Heun", "Bosh3", "Dopri5", "Tsit5", "Dopri8"};
    double t;
    for (size_t i = 0; i < COUNT(solver); i++)
        for (int k = 3; k <= (i ? 8 : 4); k++) {
            const tn_ode_options o = {
                .size = sizeof o, .solver = solver[i], .rtol = pow(10, -k), .atol = k % 2 ? 0 : 1e-6};
            const int32_t status = explode(&o, &t);
            assert_true((status == TN_ODE_SMALL_STEP || status == TN_ODE_NONFINITE) && t < 1.1);
        }
    const tn_ode_options constant = {.size = sizeof constant, .solver = "RK4", .steps = 50};
    assert_int_equal(explode(&constant, &t), TN_ODE_NONFINITE);
}

/* ---- events --------------------------------------------------------------------------------------------- */

/* A ball thrown up: height, speed; p: gravity, the height of the ceiling or floor. */
static void ball(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = y[1];
    dy[1] = tn_neg(p[0]);
}

static tn_val above(tn_val t, const tn_val *y, const tn_val *p, void *user) {
    (void)t, (void)user;
    return tn_sub(y[0], p[1]);
}

/* in: height, speed, gravity, limit -> height, speed, time, status, accepted, ts_y, steps_t */
static void throw_ball(const tn_val *in, tn_val *out, void *user) {
    tn_ode_problem p = {.size = sizeof p, .field = ball, .nstate = 2, .y0 = in, .nparams = 2, .params = in + 2};
    tn_ode_options o = {.size = sizeof o, .rtol = 1e-9, .atol = 1e-9, .dtmax = 0.3, .save_steps = 20};
    tn_val ts_y[2], steps_y[2];
    p.t0 = tn_number_f64(0);
    p.t1 = tn_number_f64(4);
    o.event = above;
    o.event_direction = *(const int *)user;
    o.ts = tn_constant(tn_val_ctx(in[0]), tn_f64(3), P(0.5, 0.55, 3.9));
    tn_ode_solution s = {.size = sizeof s, .y = out, .ts_y = ts_y, .steps_y = steps_y};
    tn_ode_solve(&p, &o, &s);
    const tn_val rest[] = {s.t, s.status, s.accepted, ts_y[0], s.steps_t};
    memcpy(out + 2, rest, sizeof rest);
}

static void events_are_found(void **state) {
    (void)state;
    for (int way = -1; way <= 1; way++) {
        tn_ctx *c = checked();
        const double x = 1, v = 8, g = 10, limit = way > 0 ? 3 : 1.5, d = sqrt(v * v - 2 * g * (limit - x));
        const double want = (v + (way < 0 ? d : -d)) / g;
        double y, dy, t, ts_y[3], steps_t[20];
        int32_t status;
        int64_t accepted;
        tn_fn *f = tn_trace_many(c, throw_ball, &way, 4, TN_TYPES(tn_f64(), tn_f64(), tn_f64(), tn_f64()), 7);
        if (!f) fail_msg("%s", tn_error(c));
        run(f, TN_INPUTS(&x, &v, &g, &limit), TN_OUTPUTS(&y, &dy, &t, &status, &accepted, ts_y, steps_t));
        assert_int_equal(status, TN_ODE_EVENT);
        close_to(P(t, y, dy), P(want, limit, v - g * want), 3, 1e-13);
        assert_true(steps_t[accepted - 1] == t && isinf(steps_t[accepted]));
        if (want > 0.55)
            close_to(ts_y, P(x + v * 0.5 - g * 0.125, x + v * 0.55 - g * 0.55 * 0.275, INFINITY), 3, 1e-13);
        if (want < 0.5) assert_true(isinf(ts_y[0]));
        tn_ctx_free(c);
    }
}

static tn_val fall_time(const tn_val *in, void *user) {
    tn_val out[7];
    throw_ball(in, out, user);
    return tn_add(out[2], tn_mul(out[1], 0.25));
}

/* t = (v + sqrt(v^2 - 2 g (l - x))) / g and the speed there, v - g t, in closed form; gradient and Hessian. */
static void events_are_differentiated(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int way = -1;
    const double x = 1, v = 8, g = 10, l = 0.7, d = sqrt(v * v - 2 * g * (l - x));
    const double dx = 1 / d, dv = 1 / g + v / (g * d), dg = -(v + d) / (g * g) - (l - x) / (g * d);
    double got[4], h[16], e[4];
    tn_fn *f = tn_trace(c, fall_time, &way, 4, TN_TYPES(tn_f64(), tn_f64(), tn_f64(), tn_f64()));
    if (!f) fail_msg("%s", tn_error(c));
    run(tn_grad(f, NULL, NULL), TN_INPUTS(&x, &v, &g, &l), TN_OUTPUTS(&got[0], &got[1], &got[2], &got[3]));
    /* the speed there is -d */
    const double want[4] = {dx - 0.25 * g / d, dv - 0.25 * v / d, dg + 0.25 * (l - x) / d, -dx + 0.25 * g / d};
    close_to(got, want, 4, 1e-11);
    tn_fn *hess = tn_hessian(f, tn_wrt(0, 1), NULL, 0);
    if (!hess) fail_msg("%s", tn_error(c));
    run(hess, TN_INPUTS(&x, &v, &g, &l), TN_OUTPUTS(&h[0], &h[1], &h[2], &h[3]));
    const double d3 = d * d * d; /* d' = (g/d, v/d) */
    e[0] = -g / d3 + 0.25 * g * g / d3;
    e[1] = e[2] = -v / d3 + 0.25 * g * v / d3;
    e[3] = 1 / (g * d) - v * v / (g * d3) - 0.25 * (1 / d - v * v / d3);
    close_to(h, e, 4, 1e-10);
    tn_ctx_free(c);
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

static void refused(const tn_ode_options *o, const char *why) {
    tn_ctx *c = checked();
    const question q = {.o = *o, .t1 = 1};
    assert_null(traced(c, &q));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    if (!strstr(tn_error(c), why) || !strstr(tn_error(c), "ode_solve.c")) fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    static const struct {
        tn_ode_options o;
        const char *why;
    } wrong[] = {
        {{.solver = "tsit5", .steps = 1}, "no solver is called 'tsit5'"},
        {{.steps = 1, .adjoint = "Allsave"}, "no adjoint is called 'Allsave'"},
        {{.steps = 1, .adjoint = "RecursiveCheckpoint:0"}, "no adjoint"},
        {{.steps = 1, .adjoint = "RecursiveCheckpoint:5x"}, "no adjoint"},
        {{.steps = 1, .adjoint = "AllSave:5"}, "no adjoint"},
        {{.steps = -1}, "negative"},
        {{.steps = 10, .rtol = 1e-3}, "constant"},
        {{.steps = 10, .dense = 9}, "dense"},
        {{.solver = "RK4", .rtol = 1e-3}, "estimate"},
        {{.atol = 0}, "rtol or atol"},
        {{.rtol = -1}, "negative"},
        {{.rtol = NAN}, "negative or not finite"},
        {{.rtol = 1, .dtmin = 2, .dtmax = 1}, "dtmin"},
        {{.rtol = 1, .pcoeff = -1}, "pcoeff"},
        {{.rtol = 1, .safety = 2}, "safety"},
        {{.rtol = 1, .factormin = 2}, "factormin"},
        {{.steps = 10, .dtmax = 1}, "dtmax"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) refused(&wrong[i].o, wrong[i].why);
}

/* The ways in which a problem can be wrong. */
static void bad_field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)p;
    if (*(int *)user == 0) dy[0] = t;
    if (*(int *)user == 1) dy[0] = tn_convert(y[0], TN_F32);
    if (*(int *)user >= 8) dy[0] = y[0];
}

static tn_val whole_state(tn_val t, const tn_val *y, const tn_val *p, void *user) {
    (void)t, (void)p, (void)user;
    return y[0];
}

static tn_val nothing(tn_val t, const tn_val *y, const tn_val *p, void *user) {
    (void)t, (void)y, (void)p, (void)user;
    return (tn_val){0};
}

static tn_val bad_problem(const tn_val *in, void *user) {
    const int which = *(int *)user;
    tn_ode_problem p = {.size = sizeof p, .field = bad_field, .user = user, .nstate = 1, .y0 = in};
    p.t0 = tn_number_f64(0);
    p.t1 = which == 3 ? in[0] : tn_number_f64(1);
    if (which == 4) p.y0 = in + 1;
    if (which == 5) p.field = NULL;
    if (which == 6) p.size = 0;
    if (which == 7) p.t1 = (tn_val){0};
    tn_ode_options o = {.size = sizeof o, .steps = 2};
    if (which == 8) o.ts = in[1];
    const tn_val two[2] = {in[0], TN_VAL(1.0)};
    if (which == 10) p.nstate = 2, p.y0 = two;
    if (which == 11 || which == 12) o.steps = 0, o.rtol = 1, o.event = which == 11 ? whole_state : nothing;
    if (which == 13) p.nparams = 1;
    if (which == 17) p.y0 = NULL, p.t0 = tn_zeros(tn_val_ctx(in[0]), tn_f64());
    if (which == 19) p.y0 = two + 1, p.nparams = 1, p.params = in;
    tn_val y[2] = {in[0]};
    if (which == 20) p.y0 = y;
    tn_ode_solution s = {.size = which == 14 ? 0 : sizeof s, .y = which == 15 ? NULL : y};
    if (which != 8) s.ts_y = y;
    tn_ode_solve(&p, which == 18 ? NULL : &o, which == 16 ? NULL : &s);
    if (which == 9) tn_ode_evaluate(&s, 1, 0.5, y);
    return which >= 14 && which <= 17 ? in[0] : y[0];
}

static void wrong_problems_are_refused(void **state) {
    (void)state;
    static const char *const why[] = {"dy[0] is f64[], but y[0] is f64[2]",
                                      "dy[0] is f32[2]",
                                      "did not set dy[0]",
                                      "t1 is f64[2], not f64[]",
                                      "y0[0] is i32[2], not of floats",
                                      "field is NULL",
                                      "sizeof(tn_ode_problem)",
                                      "never set",
                                      "ts is i32[2]",
                                      "no dense output",
                                      "y0[1] is a number",
                                      "the event is f64[2]",
                                      "the event returned no array",
                                      "nparams",
                                      "sizeof(tn_ode_solution)",
                                      "the solution's y is NULL",
                                      "the solution is NULL",
                                      "y0 is NULL",
                                      "options is NULL",
                                      "y0[0] is a number",
                                      "an array of its own"};
    for (int i = 0; i < (int)COUNT(why); i++) {
        tn_ctx *c = checked();
        assert_null(tn_trace(c, bad_problem, &i, 2, TN_TYPES(tn_f64(2), tn_i32(2))));
        if (!strstr(tn_error(c), why[i])) fail_msg("%d: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_shrink_with_the_order),
        cmocka_unit_test(constant_steps_are_saved),
        cmocka_unit_test(tolerances_are_kept),
        cmocka_unit_test(backwards_undoes_forwards),
        cmocka_unit_test(adaptive_steps_are_saved),
        cmocka_unit_test(what_ends_a_solve_is_told),
        cmocka_unit_test(lengths_are_held),
        cmocka_unit_test(infinity_is_told),
        cmocka_unit_test(events_are_found),
        cmocka_unit_test(events_are_differentiated),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(wrong_problems_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
