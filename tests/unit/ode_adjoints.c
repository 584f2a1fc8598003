/* Adjoints that are no schedules: Backsolve, ForwardMode, and Implicit for steady states. */
#include "amount.h"
#include "tansy/ode.h"
#include "unit/tracing.h"

/* ---- Backsolve: against the gradient of an accurate solve ------------------------------------------------- */

/* Two arrays, parameters of three types; p[2] is an integer. */
static void prey(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)user;
    const tn_val a = tn_at(p[0], 0), b = tn_at(p[0], 1), season = tn_add(tn_mul(tn_sin(t), 0.1), 1);
    const tn_val other = tn_convert(p[1], TN_F64), both = tn_mul(tn_at(y[0], 0), tn_at(y[0], 1));
    dy[0] = tn_stack(tn_vals(tn_mul(tn_sub(tn_mul(a, tn_at(y[0], 0)), tn_mul(b, both)), season),
                             tn_sub(tn_mul(other, both), tn_mul(tn_convert(p[2], TN_F64), tn_at(y[0], 1)))),
                     0);
    dy[1] = tn_sub(tn_at(y[0], 0), y[1]);
}

typedef struct point {
    double y[2], z, p[2], t0, t1, ts[3];
    float q;
} point;
static const point here = {{1, 1.2}, 0.3, {1.5, 1}, 0.1, 1.7, {0.4, 0.4, 1.3}, 0.9F};
static const int32_t whole = 3;
enum { INPUTS = 8 };
#define TYPES tn_f64(2), tn_f64(), tn_f64(2), tn_f32(), tn_i32(), tn_f64(), tn_f64(), tn_f64(3)
#define IN    here.y, &here.z, here.p, &here.q, &whole, &here.t0, &here.t1, here.ts

/* Where the loss looks: the end, and with ts the rows, weighted unevenly; `in` as TYPES. */
static tn_val loss(const tn_val *in, void *user) {
    tn_ode_options o = *(const tn_ode_options *)user;
    tn_ode_problem p = {.size = sizeof p, .field = prey, .nstate = 2, .y0 = in, .nparams = 3, .params = in + 2};
    tn_val y[2], ts_y[2];
    tn_ode_solution s = {.size = sizeof s, .y = y, .ts_y = ts_y};
    const bool times = o.dense != 0; /* stands for ts here */
    o.dense = 0;
    if (times) o.ts = in[7];
    p.t0 = in[5];
    p.t1 = in[6];
    tn_ode_solve(&p, &o, &s);
    tn_val sum = tn_add(tn_add(tn_at(y[0], 0), tn_mul(tn_at(y[0], 1), 0.5)), tn_square(y[1]));
    sum = tn_add(sum, tn_mul(s.t, 0.25));
    if (!times) return sum;
    const tn_val w = tn_constant(tn_val_ctx(in[0]), tn_f64(3), P(1, -2, 0.5));
    return tn_add(sum, tn_add(tn_sum(tn_mul(ts_y[1], w)), tn_sum(tn_square(ts_y[0]))));
}

static tn_fn *traced(tn_ctx *c, const tn_ode_options *o) {
    tn_ode_options copy = *o;
    copy.size = sizeof copy;
    tn_fn *f = tn_trace(c, loss, &copy, INPUTS, TN_TYPES(TYPES));
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static void gradient(const tn_ode_options *o, double *value, point *g) {
    tn_ctx *c = checked();
    tn_fn *f = tn_value_and_grad(traced(c, o), NULL, NULL);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, TN_INPUTS(IN), TN_OUTPUTS(value, g->y, &g->z, g->p, &g->q, &g->t0, &g->t1, g->ts));
    tn_ctx_free(c);
}

static void compare(const point *got, const point *want, double tolerance) {
    close_to((const double *)got, (const double *)want, offsetof(point, q) / sizeof(double), tolerance);
    close_to(P((double)got->q), P((double)want->q), 1, fmax(tolerance, 1e-6));
}

static void backsolve_agrees_with_an_accurate_solve(void **state) {
    (void)state;
    for (int times = 0; times < 2; times++) {
        point want = {.z = 0}, got = {.z = 0};
        double value, same;
        tn_ode_options o = {.solver = "Dopri8", .adjoint = "AllSave", .rtol = 1e-13, .atol = 1e-13, .dense = times};
        /* The saved rows are dense output, of a lower order than the steps. */
        o.dtmax = times ? 0.02 : 0;
        gradient(&o, &value, &want);
        if (!times) memset(want.ts, 0, sizeof want.ts);
        static const char *const solver[] = {"Tsit5", "Dopri8"};
        for (size_t k = 0; k < COUNT(solver); k++)
            for (int p = 4; p <= 10; p += 3) {
                if (SANITIZED && !in_turn(k + (size_t)p, 4)) continue;
                const double tol = pow(10, -p);
                o = (tn_ode_options){.solver = solver[k], .rtol = tol, .atol = tol, .dense = times};
                o.dtmax = times ? 0.05 : 0;
                gradient(&o, &same, &got);
                o.adjoint = "Backsolve";
                gradient(&o, &value, &got);
                assert_true(value == same);
                compare(&got, &want, 300 * tol);
            }
        o = (tn_ode_options){.adjoint = "Backsolve", .steps = 100};
        if (times) continue;
        gradient(&o, &value, &got);
        compare(&got, &want, 1e-7);
    }
}

/* y' = -p y in one array of a dtype: y(t1) = y0 e^(-p (t1 - t0)). */
static void decay(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(tn_neg(p[0]), y[0]);
}

/* in: y0 [n], p [] -> y(2) */
static void decayed(const tn_val *in, tn_val *out, void *user) {
    tn_ode_problem p = {.size = sizeof p, .field = decay, .nstate = 1, .y0 = in, .nparams = 1, .params = in + 1};
    tn_ode_solution s = {.size = sizeof s, .y = out};
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_i64(2);
    tn_ode_solve(&p, user, &s);
    out[1] = s.status;
}

static tn_val decayed_sum(const tn_val *in, void *user) {
    tn_val out[2];
    decayed(in, out, user);
    return tn_sum(out[0]);
}

static void solvers_and_dtypes_have_the_closed_form(void **state) {
    (void)state;
    static const char *const solver[] = {"Bosh3", "Dopri5", "Tsit5", "Dopri8", "Kvaerno3", "Kvaerno5"};
    const double y0[3] = {1, 2, -0.5}, p = 0.7, e = exp(-2 * p), want[4] = {e, e, e, -2 * 2.5 * e};
    const float y0f[3] = {1, 2, -0.5F}, pf = 0.7F;
    for (size_t k = 0; k < COUNT(solver); k++) {
        double got[4];
        float single[4];
        tn_ode_options o = {.size = sizeof o, .solver = solver[k], .adjoint = "Backsolve", .rtol = 1e-7, .atol = 1e-7};
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, decayed_sum, &o, 2, TN_TYPES(tn_f64(3), tn_f64()));
        if (!f) fail_msg("%s: %s", solver[k], tn_error(c));
        run(tn_grad(f, NULL, NULL), TN_INPUTS(y0, &p), TN_OUTPUTS(got, got + 3));
        close_to(got, want, 4, 3e-6);
        o.rtol = o.atol = 1e-4;
        run(tn_grad(tn_trace(c, decayed_sum, &o, 2, TN_TYPES(tn_f32(3), tn_f32())), NULL, NULL), TN_INPUTS(y0f, &pf),
            TN_OUTPUTS(single, single + 3));
        close_to(P((double)single[0], (double)single[1], (double)single[2], (double)single[3]), want, 4, 3e-3);
        o = (tn_ode_options){.size = sizeof o, .solver = solver[k], .adjoint = "Backsolve", .steps = 50};
        run(tn_grad(tn_trace(c, decayed_sum, &o, 2, TN_TYPES(tn_f64(3), tn_f64())), NULL, NULL), TN_INPUTS(y0, &p),
            TN_OUTPUTS(got, got + 3));
        close_to(got, want, 4, 1e-5);
        tn_ctx_free(c);
    }
}

/* Forty times the steps: the same memory, no stacks. */
static void memory_does_not_grow_with_the_steps(void **state) {
    (void)state;
    size_t bytes[2];
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        const tn_ode_options o = {.size = sizeof o, .adjoint = "Backsolve", .steps = k ? 4000 : 100};
        tn_fn *g =
            tn_grad(tn_trace(c, decayed_sum, (void *)(uintptr_t)&o, 2, TN_TYPES(tn_f64(1000), tn_f64())), NULL, NULL);
        tn_exec *e = tn_compile(g, NULL);
        assert_non_null(e);
        bytes[k] = tn_exec_bytes(e);
        assert_int_equal(tn_exec_bytes_per_step(e), 0);
        tn_ctx_free(c);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_true(bytes[1] < 60 * 8000);
    tn_ctx *c = checked();
    const tn_ode_options o = {.size = sizeof o, .adjoint = "Backsolve", .rtol = 1e-5};
    tn_fn *f = tn_trace(c, decayed_sum, (void *)(uintptr_t)&o, 2, TN_TYPES(tn_f64(10), tn_f64()));
    tn_exec *e = tn_compile(tn_grad(f, NULL, NULL), NULL);
    assert_non_null(e);
    assert_int_equal(tn_exec_bytes_per_step(e), 0);
    tn_ctx_free(c);
}

/* Backwards y would be e^800; a linear field's cotangent does not read it. */
static void what_explodes_backwards_and_is_not_read_does_no_harm(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_ode_options o = {.size = sizeof o, .adjoint = "Backsolve", .steps = 4000};
    const double y0[2] = {1, 2}, p = 400;
    double d[3];
    tn_fn *f = tn_trace(c, decayed_sum, (void *)(uintptr_t)&o, 2, TN_TYPES(tn_f64(2), tn_f64()));
    run(tn_grad(f, tn_wrt(0), NULL), TN_INPUTS(y0, &p), TN_OUTPUTS(d));
    assert_true(fabs(d[0]) < 1e-300 && isfinite(d[1]));
    tn_ctx_free(c);
}

static void lanes_are_solved_backwards_each(void **state) {
    (void)state;
    const tn_ode_options o = {.size = sizeof o, .adjoint = "Backsolve", .rtol = 1e-8, .atol = 1e-8};
    const double y0[4] = {1, 2, 3, 4}, p[2] = {0.2, 1.5};
    double ct[4], ct_p[2];
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, decayed_sum, (void *)(uintptr_t)&o, 2, TN_TYPES(tn_f64(2), tn_f64()));
    run(tn_vmap(tn_grad(f, NULL, NULL), 2, NULL, NULL), TN_INPUTS(y0, p), TN_OUTPUTS(ct, ct_p));
    const double e[2] = {exp(-0.4), exp(-3)};
    close_to(ct, P(e[0], e[0], e[1], e[1]), 4, 1e-6);
    close_to(ct_p, P(-6 * e[0], -14 * e[1]), 2, 1e-6);
    tn_ctx_free(c);
}

/* ---- what is refused ------------------------------------------------------------------------------------------ */

static void refused(tn_ctx *c, const tn_fn *f, tn_status status, const char *text) {
    assert_null(f);
    assert_int_equal(tn_last_status(c), status);
    if (!strstr(tn_error(c), text) || !strstr(tn_error(c), "ode_adjoints.c:")) fail_msg("%s", tn_error(c));
    tn_error_clear(c);
}

static void backsolve_goes_one_way(void **state) {
    (void)state;
    static const char why[] = "the Backsolve adjoint has reverse mode only, and no second order";
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        const tn_ode_options o = {.size = sizeof o, .adjoint = "Backsolve", .steps = k ? 10 : 0, .rtol = k ? 0 : 1e-3};
        tn_fn *f = tn_trace(c, decayed_sum, (void *)(uintptr_t)&o, 2, TN_TYPES(tn_f64(2), tn_f64()));
        refused(c, tn_jvp(f, NULL), TN_ERULE, why);
        refused(c, tn_jacfwd(f, NULL, 0), TN_ERULE, why);
        refused(c, tn_hvp(f, NULL, NULL), TN_ERULE, why);
        refused(c, tn_hessian(f, NULL, NULL, 0), TN_ERULE, why);
        refused(c, tn_jvp(tn_grad(f, tn_wrt(1), NULL), NULL), TN_ERULE, why);
        tn_fn *y = tn_grad(f, tn_wrt(1), NULL);
        refused(c, tn_grad(y, NULL, NULL), TN_ERULE, why);
        tn_ctx_free(c);
    }
}

static void forward_mode_goes_the_other(void **state) {
    (void)state;
    static const char why[] = "the ForwardMode adjoint has no reverse mode";
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        tn_ode_options o = {.size = sizeof o, .adjoint = "ForwardMode", .steps = k ? 10 : 0, .rtol = k ? 0 : 1e-3};
        const tn_type types[2] = {tn_f64(2), tn_f64()};
        const double y0[2] = {1, 2}, p = 0.5, dy0[2] = {0.5, -1}, dp = 2;
        double y[2], d[2][2];
        tn_fn *f = tn_trace(c, decayed_sum, &o, 2, types);
        refused(c, tn_grad(f, NULL, NULL), TN_ERULE, why);
        refused(c, tn_vjp(f, NULL, NULL), TN_ERULE, why);
        refused(c, tn_hvp(f, NULL, NULL), TN_ERULE, why);
        refused(c, tn_jacrev(f, NULL, NULL, 0), TN_ERULE, why);
        run(tn_jvp(f, NULL), TN_INPUTS(y0, &p, dy0, &dp), TN_OUTPUTS(y, d[0]));
        o.adjoint = "Direct";
        run(tn_jvp(tn_trace(c, decayed_sum, &o, 2, types), NULL), TN_INPUTS(y0, &p, dy0, &dp), TN_OUTPUTS(y, d[1]));
        assert_true(d[0][0] == d[1][0] && y[0] != 0);
        tn_ctx_free(c);
    }
}

/* All that ForwardMode's solution has is of one direction: rows, steps and dense output as well. */
static tn_val saved(const tn_val *in, void *user) {
    const int which = *(const int *)user;
    tn_ode_problem p = {.size = sizeof p, .field = decay, .nstate = 1, .y0 = in, .nparams = 1, .params = in + 1};
    tn_ode_options o = {.size = sizeof o, .adjoint = "ForwardMode", .rtol = 1e-3, .save_steps = 50, .dense = 50};
    tn_val y, ts_y, steps_y, dense_y[2];
    tn_ode_solution s = {.size = sizeof s, .y = &y, .ts_y = &ts_y, .steps_y = &steps_y, .dense_y = dense_y};
    o.ts = tn_constant(tn_val_ctx(in[0]), tn_f64(2), P(0.5, 1));
    p.t0 = tn_number_i64(0);
    p.t1 = in[2];
    tn_ode_solve(&p, &o, &s);
    const tn_val each[] = {y, ts_y, steps_y, dense_y[0], dense_y[1], s.t, s.dense_h};
    return tn_sum(each[which]);
}

static void nothing_escapes_forward_mode(void **state) {
    (void)state;
    for (int which = 0; which < 7; which++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, saved, &which, 3, TN_TYPES(tn_f64(2), tn_f64(), tn_f64()));
        if (!f) fail_msg("%s", tn_error(c));
        assert_non_null(tn_jvp(f, NULL));
        refused(c, tn_grad(f, NULL, NULL), TN_ERULE, "no reverse mode");
        tn_ctx_free(c);
    }
}

static tn_val number_parameter(const tn_val *in, void *user) {
    const tn_val p[2] = {in[0], tn_number_f64(0.5)};
    return decayed_sum(p, user);
}

static void capturing(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)p;
    dy[0] = tn_mul(y[0], *(const tn_val *)user);
}
static tn_val captured(const tn_val *in, void *user) {
    tn_val rate = in[1], y;
    tn_ode_problem p = {.size = sizeof p, .field = capturing, .user = &rate, .nstate = 1, .y0 = in};
    tn_ode_solution s = {.size = sizeof s, .y = &y};
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_i64(2);
    tn_ode_solve(&p, user, &s);
    return tn_sum(y);
}

static void what_backsolve_cannot_do_is_refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_type *types = TN_TYPES(tn_f64(2), tn_f64());
    tn_ode_options o = {.size = sizeof o, .adjoint = "Backsolve", .rtol = 1e-3, .save_steps = 4};
    refused(c, tn_trace(c, decayed_sum, &o, 2, types), TN_EINVAL, "Backsolve has no derivative of save_steps");
    o = (tn_ode_options){.size = sizeof o, .adjoint = "Backsolve", .rtol = 1e-3, .dense = 4};
    refused(c, tn_trace(c, decayed_sum, &o, 2, types), TN_EINVAL, "Backsolve has no derivative of save_steps");
    o.dense = 0;
    refused(c, tn_trace(c, number_parameter, &o, 2, types), TN_EINVAL, "params[0] is a number");
    refused(c, tn_trace(c, captured, &o, 2, types), TN_EINVAL, "in the field's vjp");
    o.adjoint = "Backsolve:3";
    refused(c, tn_trace(c, decayed_sum, &o, 2, types), TN_EINVAL, "no adjoint is called");
    o.adjoint = "Implicit";
    refused(c, tn_trace(c, decayed_sum, &o, 2, types), TN_EINVAL, "belongs to tn_ode_steady");
    o = (tn_ode_options){.size = sizeof o, .steps = 4, .progress = -1};
    refused(c, tn_trace(c, decayed_sum, &o, 2, types), TN_EINVAL, "negative");
    o = (tn_ode_options){.size = sizeof o, .adjoint = "Backsolve", .steps = 10, .dense = 1};
    refused(c, tn_trace(c, loss, &o, INPUTS, TN_TYPES(TYPES)), TN_EINVAL, "Backsolve needs adaptive steps for ts");
    tn_ctx_free(c);
}

/* A solve that does not come to its end has no gradient, and says so. */
static void unfinished_solves_have_no_gradient(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_ode_options o = {.size = sizeof o, .adjoint = "Backsolve", .rtol = 1e-8, .max_steps = 3};
    const double y0[2] = {1, 2}, p = 0.5;
    double y[2], ct[2], ct_p;
    int32_t status;
    run(tn_trace_many(c, decayed, (void *)(uintptr_t)&o, 2, TN_TYPES(tn_f64(2), tn_f64()), 2), TN_INPUTS(y0, &p),
        TN_OUTPUTS(y, &status));
    assert_int_equal(status, TN_ODE_MAX_STEPS);
    tn_fn *f = tn_trace(c, decayed_sum, (void *)(uintptr_t)&o, 2, TN_TYPES(tn_f64(2), tn_f64()));
    run(tn_grad(f, NULL, NULL), TN_INPUTS(y0, &p), TN_OUTPUTS(ct, &ct_p));
    assert_true(isfinite(y[0]) && isnan(ct[0]) && isnan(ct[1]) && isnan(ct_p));
    tn_ctx_free(c);
}

/* ---- steady states --------------------------------------------------------------------------------------------- */

/* x' = p - sinh x, z' = q x - z: at rest x = arsinh p, z = q x. */
static void settling(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_sub(p[0], tn_sinh(y[0]));
    dy[1] = tn_sub(tn_mul(p[1], tn_sum(y[0])), y[1]);
}

/* in: x0 [2], z0 [], p [2], q [] -> x, z, status, residual, t, steps */
static void settle(const tn_val *in, tn_val *out, void *user) {
    tn_ode_problem p = {.size = sizeof p, .field = settling, .nstate = 2, .y0 = in, .nparams = 2, .params = in + 2};
    tn_ode_solution s = {.size = sizeof s, .y = out};
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_i64(100);
    tn_ode_steady(&p, user, &s, &out[3]);
    out[2] = s.status;
    out[4] = s.t;
    out[5] = s.steps;
}
static tn_val settled(const tn_val *in, void *user) {
    tn_val out[6];
    settle(in, out, user);
    return tn_add(out[1], tn_mul(tn_at(out[0], 1), 0.5)); /* q (arsinh p0 + arsinh p1) + arsinh p1 / 2 */
}

static void steady_states_are_implicit_functions(void **state) {
    (void)state;
    static const char *const solver[] = {NULL, "Bosh3", "Kvaerno5"};
    const tn_type *types = TN_TYPES(tn_f64(2), tn_f64(), tn_f64(2), tn_f64());
    const double x0[2] = {0.3, 0.2}, z0 = 4, p[2] = {2, -0.7}, q = 1.5;
    const double s = asinh(p[0]) + asinh(p[1]), d0 = 1 / hypot(1, p[0]), d1 = 1 / hypot(1, p[1]);
    for (size_t k = 0; k < COUNT(solver); k++) {
        tn_ctx *c = checked();
        const tn_ode_options o = {.size = sizeof o,
                                  .solver = solver[k],
                                  .adjoint = k ? "Implicit" : NULL,
                                  .rtol = 1e-6,
                                  .atol = 1e-6,
                                  .progress = 1};
        void *user = (void *)(uintptr_t)&o;
        double x[2], z, residual, t, gx[2], gz, gp[2], gq, h[9], v;
        int32_t status;
        int64_t steps;
        tn_fn *f = tn_trace(c, settled, user, 4, types);
        if (!f) fail_msg("%s", tn_error(c));
        run(tn_trace_many(c, settle, user, 4, types, 6), TN_INPUTS(x0, &z0, p, &q),
            TN_OUTPUTS(x, &z, &status, &residual, &t, &steps));
        assert_true(status == TN_ODE_SUCCESS && t > 5 && t < 60 && steps > 5);
        close_to(P(x[0], x[1], z, residual), P(asinh(p[0]), asinh(p[1]), q * s, 0), 4, 1e-13);
        run(tn_value_and_grad(f, NULL, NULL), TN_INPUTS(x0, &z0, p, &q), TN_OUTPUTS(&v, gx, &gz, gp, &gq));
        close_to(P(v, gx[0], gx[1], gz, gp[0], gp[1], gq),
                 P(q * s + asinh(p[1]) / 2, 0, 0, 0, q * d0, (q + 0.5) * d1, s), 7, 1e-12);
        run(tn_hessian(f, tn_wrt(2), NULL, 0), TN_INPUTS(x0, &z0, p, &q), TN_OUTPUTS(h));
        close_to(h, P(-q * p[0] * d0 * d0 * d0, 0, 0, -(q + 0.5) * p[1] * d1 * d1 * d1), 4, 1e-11);
        run(tn_jvp(f, tn_wrt(3)), TN_INPUTS(x0, &z0, p, &q, P(2)), TN_OUTPUTS(&v, &gq));
        close_to(&gq, P(2 * s), 1, 1e-12);
        tn_ctx_free(c);
    }
}

static void single_precision_settles(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_ode_options o = {.size = sizeof o, .rtol = 1e-5, .atol = 1e-5};
    const float x0[2] = {0.3F, 0.2F}, z0 = 4, p[2] = {2, -0.7F}, q = 1.5F;
    float x[2], z, residual;
    double t;
    int32_t status;
    int64_t steps;
    run(tn_trace_many(c, settle, (void *)(uintptr_t)&o, 4, TN_TYPES(tn_f32(2), tn_f32(), tn_f32(2), tn_f32()), 6),
        TN_INPUTS(x0, &z0, p, &q), TN_OUTPUTS(x, &z, &status, &residual, &t, &steps));
    assert_int_equal(status, TN_ODE_SUCCESS);
    close_to(P((double)x[0], (double)x[1], (double)residual), P(asinh(2), asinh(-0.7), 0), 3, 1e-6);
    tn_ctx_free(c);
}

/* y' = p y (1 - y): 1 attracts from 0.1, 0 does not; from below 0 there is no rest; a time too short; no room. */
static void logistic(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(tn_mul(p[0], y[0]), tn_sub(1, y[0]));
}
typedef struct rest {
    double y0, end;
    int64_t max_steps;
    int32_t status;
} rest;
static void grow(const tn_val *in, tn_val *out, void *user) {
    const rest *r = user;
    tn_ode_problem p = {.size = sizeof p, .field = logistic, .nstate = 1, .y0 = in, .nparams = 1, .params = in + 1};
    const tn_ode_options o = {.size = sizeof o, .rtol = 1e-6, .atol = 1e-6, .max_steps = r->max_steps};
    tn_ode_solution s = {.size = sizeof s, .y = out};
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_f64(r->end);
    tn_ode_steady(&p, &o, &s, &out[2]);
    out[1] = s.status;
}
static tn_val grown(const tn_val *in, void *user) {
    tn_val out[3];
    grow(in, out, user);
    return out[0];
}

static void unconverged_states_are_refused(void **state) {
    (void)state;
    static const rest each[] = {{0.1, 100, 0, TN_ODE_SUCCESS},   {1, 100, 0, TN_ODE_SUCCESS},
                                {0.1, 1, 0, TN_ODE_UNCONVERGED}, {0.01, 0.5, 0, TN_ODE_UNCONVERGED},
                                {0.1, 100, 5, TN_ODE_MAX_STEPS}, {-0.5, 100, 0, TN_ODE_SMALL_STEP}};
    for (size_t i = 0; i < COUNT(each); i++) {
        tn_ctx *c = checked();
        void *user = (void *)(uintptr_t)&each[i];
        const double p = 2;
        double y, residual, ct;
        int32_t status;
        run(tn_trace_many(c, grow, user, 2, TN_TYPES(tn_f64(), tn_f64()), 3), TN_INPUTS(&each[i].y0, &p),
            TN_OUTPUTS(&y, &status, &residual));
        if (status != each[i].status && !(each[i].status == TN_ODE_SMALL_STEP && status == TN_ODE_NONFINITE))
            fail_msg("case %zu: status %d", i, (int)status);
        run(tn_grad(tn_trace(c, grown, user, 2, TN_TYPES(tn_f64(), tn_f64())), tn_wrt(1), NULL),
            TN_INPUTS(&each[i].y0, &p), TN_OUTPUTS(&ct));
        if (each[i].status == TN_ODE_SUCCESS)
            close_to(P(y, residual, ct), P(1, 0, 0), 3, 1e-13);
        else
            assert_true(isnan(y) && isnan(ct));
        tn_ctx_free(c);
    }
}

static void wrong_steady_options_are_refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_type *types = TN_TYPES(tn_f64(2), tn_f64(), tn_f64(2), tn_f64());
    tn_ode_options o = {.size = sizeof o, .adjoint = "Direct", .rtol = 1e-3};
    refused(c, tn_trace(c, settled, &o, 4, types), TN_EINVAL, "ode_steady: the adjoint of a steady state is Implicit");
    o = (tn_ode_options){.size = sizeof o, .steps = 5};
    refused(c, tn_trace(c, settled, &o, 4, types), TN_EINVAL, "ode_steady: a steady state has no steps");
    o = (tn_ode_options){.size = sizeof o, .rtol = 1e-3, .save_steps = 5};
    refused(c, tn_trace(c, settled, &o, 4, types), TN_EINVAL, "ode_steady:");
    o = (tn_ode_options){.size = sizeof o};
    refused(c, tn_trace(c, settled, &o, 4, types), TN_EINVAL, "ode_steady: neither steps");
    o.rtol = 1e-3;
    refused(c, tn_trace(c, settled, &o, 4, TN_TYPES(tn_f64(2), tn_f32(), tn_f64(2), tn_f32())), TN_ETYPE, "dtype");
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(backsolve_agrees_with_an_accurate_solve),
                                       cmocka_unit_test(solvers_and_dtypes_have_the_closed_form),
                                       cmocka_unit_test(memory_does_not_grow_with_the_steps),
                                       cmocka_unit_test(what_explodes_backwards_and_is_not_read_does_no_harm),
                                       cmocka_unit_test(lanes_are_solved_backwards_each),
                                       cmocka_unit_test(backsolve_goes_one_way),
                                       cmocka_unit_test(forward_mode_goes_the_other),
                                       cmocka_unit_test(nothing_escapes_forward_mode),
                                       cmocka_unit_test(what_backsolve_cannot_do_is_refused),
                                       cmocka_unit_test(unfinished_solves_have_no_gradient),
                                       cmocka_unit_test(steady_states_are_implicit_functions),
                                       cmocka_unit_test(single_precision_settles),
                                       cmocka_unit_test(unconverged_states_are_refused),
                                       cmocka_unit_test(wrong_steady_options_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
