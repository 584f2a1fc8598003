/* Derivatives of solves: closed forms, finite differences of the same steps, every adjoint, second order, batches. */
#include "ode/tableaux.h"
#include "tansy/ode.h"
#include "tracing.h"

/* ---- Lotka-Volterra ----------------------------------------------------------------------------------- */

static void prey(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)user;
    const tn_val xy = tn_mul(y[0], y[1]), season = tn_add(tn_mul(tn_sin(t), 0.1), 1);
    dy[0] = tn_mul(tn_sub(tn_mul(tn_at(p[0], 0), y[0]), tn_mul(tn_at(p[0], 1), xy)), season);
    dy[1] = tn_sub(tn_mul(tn_at(p[0], 3), xy), tn_mul(tn_at(p[0], 2), y[1]));
}

static void prey_in_c(double t, const double *y, const double *p, double *dy) {
    dy[0] = (p[0] * y[0] - p[1] * y[0] * y[1]) * (1 + 0.1 * sin(t));
    dy[1] = p[3] * y[0] * y[1] - p[2] * y[1];
}

enum { STEPS = 200 };
typedef struct point {
    double y[2], p[4], t0, t1;
} point;
static const point here = {{1, 1.2}, {1.5, 1, 3, 0.9}, 0.1, 1.7};

/* in: x [], y [], p [4], t0 [], t1 [] -> x + y / 2, and, with save_steps, the times of the steps and their number */
static void solved(const tn_val *in, tn_val *out, void *user) {
    tn_val y[2], steps_y[2];
    tn_ode_problem p = {.size = sizeof p, .field = prey, .nstate = 2, .y0 = in, .nparams = 1, .params = in + 2};
    const tn_ode_options *o = user;
    p.t0 = in[3];
    p.t1 = in[4];
    tn_ode_solution s = {.size = sizeof s, .y = y, .steps_y = steps_y};
    tn_ode_solve(&p, o, &s);
    out[0] = tn_where(tn_eq(s.status, TN_ODE_SUCCESS), tn_add(y[0], tn_mul(y[1], 0.5)), NAN);
    if (!o->save_steps) return;
    out[1] = s.steps_t;
    out[2] = s.accepted;
}

static tn_val loss(const tn_val *in, void *user) {
    tn_val out[3];
    solved(in, out, user);
    return out[0];
}

#define POINT_TYPES      TN_TYPES(tn_f64(), tn_f64(), tn_f64(4), tn_f64(), tn_f64())
#define POINT_INPUTS(a)  TN_INPUTS(&(a)->y[0], &(a)->y[1], (a)->p, &(a)->t0, &(a)->t1)
#define POINT_OUTPUTS(a) TN_OUTPUTS(&(a)->y[0], &(a)->y[1], (a)->p, &(a)->t0, &(a)->t1)

static tn_fn *traced(tn_ctx *c, const tn_ode_options *o) {
    tn_ode_options copy = *o;
    copy.size = sizeof copy;
    tn_fn *f = tn_trace(c, loss, &copy, 5, POINT_TYPES);
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static void gradient(const tn_ode_options *o, point *g) {
    tn_ctx *c = checked();
    tn_fn *f = tn_grad(traced(c, o), NULL, NULL);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, POINT_INPUTS(&here), POINT_OUTPUTS(g));
    tn_ctx_free(c);
}

/* ---- the same steps in C --------------------------------------------------------------------------------- */

/* The loss after steps that begin at t[0..n-1] and end at t[n]. */
static double stepped(const tn_i_tableau *m, const double *y0, const double *p, size_t n, const double *t) {
    double y[2] = {y0[0], y0[1]}, k[16][2];
    for (size_t s = 0; s < n; s++) {
        const double h = t[s + 1] - t[s];
        for (size_t i = 0; i < m->stages; i++) {
            double u[2] = {y[0], y[1]};
            for (size_t j = 0; j < i; j++)
                for (int d = 0; d < 2; d++) u[d] += h * tn_i_tableau_a(m, i, j) * k[j][d];
            prey_in_c(t[s] + m->c[i] * h, u, p, k[i]);
        }
        for (size_t i = 0; i < m->stages; i++)
            for (int d = 0; d < 2; d++) y[d] += h * m->b[i] * k[i][d];
    }
    return y[0] + 0.5 * y[1];
}

/* A step sequence as it depends on the point: t0 moves all times but the last, which is t1. */
static double at_point(const tn_i_tableau *m, const point *a, size_t n, const double *t, bool constant) {
    double moved[STEPS + 1];
    for (size_t i = 0; i <= n; i++) {
        const double along = constant ? (double)i / (double)n : i == n;
        moved[i] = t[i] + (a->t0 - here.t0) * (1 - along) + (a->t1 - here.t1) * along;
    }
    return stepped(m, a->y, a->p, n, moved);
}

/* Central differences with h and h/2, extrapolated, in each of the eight numbers. */
static void differences(const tn_i_tableau *m, size_t n, const double *t, bool constant, point *g) {
    for (size_t i = 0; i < sizeof(point) / sizeof(double); i++) {
        double d[2];
        for (int half = 0; half < 2; half++) {
            const double h = half ? 5e-4 : 1e-3;
            point up = here, down = here;
            ((double *)&up)[i] += h;
            ((double *)&down)[i] -= h;
            d[half] = (at_point(m, &up, n, t, constant) - at_point(m, &down, n, t, constant)) / (2 * h);
        }
        ((double *)g)[i] = (4 * d[1] - d[0]) / 3;
    }
}

static void constant_steps_agree_with_differences(void **state) {
    (void)state;
    for (size_t k = 0; k < 8; k++) {
        const tn_i_tableau *m = tn_i_tableau_at(k);
        const tn_ode_options o = {.solver = m->name, .steps = 12};
        double t[13];
        point got, want;
        for (int i = 0; i <= 12; i++) t[i] = here.t0 + (here.t1 - here.t0) * i / 12;
        gradient(&o, &got);
        differences(m, 12, t, true, &want);
        close_to((double *)&got, (double *)&want, 8, 1e-9);
    }
}

/* The steps that the controller chose, recorded, are those that are differentiated. */
static void adaptive_steps_agree_with_differences(void **state) {
    (void)state;
    static const char *const solver[] = {"Heun", "Bosh3", "Dopri5", "Tsit5", "Dopri8"};
    for (size_t k = 0; k < COUNT(solver); k++) {
        tn_ode_options o = {.size = sizeof o, .solver = solver[k], .rtol = k ? 1e-5 : 1e-3, .atol = k ? 1e-5 : 1e-3};
        double t[1 + STEPS] = {here.t0}, value;
        int64_t n;
        point got, want;
        gradient(&o, &got);
        tn_ctx *c = checked();
        o.save_steps = STEPS;
        run(tn_trace_many(c, solved, &o, 5, POINT_TYPES, 3), POINT_INPUTS(&here), TN_OUTPUTS(&value, t + 1, &n));
        tn_ctx_free(c);
        assert_true(n > 2 && n < STEPS && t[n] == here.t1);
        const tn_i_tableau *m = tn_i_tableau_find(solver[k]);
        close_to(&value, P(stepped(m, here.y, here.p, (size_t)n, t)), 1, 1e-13);
        differences(m, (size_t)n, t, false, &want);
        close_to((double *)&got, (double *)&want, 8, 1e-9);
    }
}

static void adjoints_give_the_same_bits(void **state) {
    (void)state;
    static const char *const adjoint[] = {NULL, "RecursiveCheckpoint:3", "RecursiveCheckpoint:1", "AllSave", "Direct"};
    for (int constant = 0; constant < 2; constant++) {
        point first, other;
        for (size_t i = 0; i < COUNT(adjoint); i++) {
            tn_ode_options o = {.adjoint = adjoint[i]};
            if (constant)
                o.steps = 12;
            else
                o.rtol = o.atol = 1e-5;
            gradient(&o, i ? &other : &first);
            if (i && memcmp(&first, &other, sizeof first)) fail_msg("%s differs", adjoint[i]);
        }
    }
}

/* ---- second order ------------------------------------------------------------------------------------------ */

static void second_derivatives_agree(void **state) {
    (void)state;
    for (int constant = 0; constant < 2; constant++) {
        tn_ctx *c = checked();
        tn_ode_options o = {.adjoint = "RecursiveCheckpoint:4"};
        if (constant)
            o.steps = 10;
        else
            o.rtol = o.atol = 1e-4;
        tn_fn *f = traced(c, &o), *g = tn_grad(f, tn_wrt(2), NULL);
        tn_fn *forward = tn_jacfwd(g, tn_wrt(2), 0), *reverse = tn_jacrev(g, tn_wrt(2), NULL, 0);
        double a[16], b[16];
        if (!forward || !reverse) fail_msg("%s", tn_error(c));
        run(forward, POINT_INPUTS(&here), TN_OUTPUTS(a));
        run(reverse, POINT_INPUTS(&here), TN_OUTPUTS(b));
        close_to(a, b, 16, 1e-11);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < i; j++)
                assert_true(fabs(a[4 * i + j] - a[4 * j + i]) < 1e-11 * fmax(1, fabs(a[4 * i + j])));
        assert_true(fabs(a[0]) > 1e-2);
        tn_check_options how = {.size = sizeof how, .order = 2, .directions = 2};
        if (constant && tn_check_grads(f, POINT_INPUTS(&here), NULL, &how) != TN_OK) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
}

/* ---- closed form --------------------------------------------------------------------------------------------- */

static void linear(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(y[0], p[0]);
}

static tn_val grown(const tn_val *in, void *user) {
    tn_ode_problem p = {.size = sizeof p, .field = linear, .nstate = 1, .y0 = in, .nparams = 1, .params = in + 1};
    p.t0 = tn_number_f64(0);
    p.t1 = tn_number_f64(2);
    tn_val y;
    tn_ode_solution s = {.size = sizeof s, .y = &y};
    tn_ode_solve(&p, user, &s);
    return tn_sum(y);
}

/* y_N = R(z)^N y0, z = h a: R and R'. */
static void stability(const tn_i_tableau *m, double z, double *r, double *slope) {
    double k[16], dk[16];
    *r = 1, *slope = 0;
    for (size_t i = 0; i < m->stages; i++) {
        double u = 1, du = 0;
        for (size_t j = 0; j < i; j++) u += tn_i_tableau_a(m, i, j) * k[j], du += tn_i_tableau_a(m, i, j) * dk[j];
        k[i] = z * u;
        dk[i] = u + z * du;
        *r += m->b[i] * k[i];
        *slope += m->b[i] * dk[i];
    }
}

static void linear_problems_have_their_closed_form(void **state) {
    (void)state;
    for (size_t k = 0; k < 8; k++) {
        const tn_i_tableau *m = tn_i_tableau_at(k);
        tn_ode_options o = {.size = sizeof o, .solver = m->name, .steps = 9};
        for (int single = 0; single < 2; single++) {
            const tn_type y = single ? tn_f32(3) : tn_f64(3), a = single ? tn_f32() : tn_f64();
            tn_ctx *c = checked();
            double y0[3] = {1, -0.5, 2}, rate = -0.6, dy[3], da, r, slope;
            float y0f[3] = {1, -0.5F, 2}, ratef = -0.6F, dyf[3], daf;
            tn_fn *f = tn_grad(tn_trace(c, grown, &o, 2, TN_TYPES(y, a)), NULL, NULL);
            if (!f) fail_msg("%s", tn_error(c));
            if (single) {
                run(f, TN_INPUTS(y0f, &ratef), TN_OUTPUTS(dyf, &daf));
                for (int i = 0; i < 3; i++) dy[i] = (double)dyf[i];
                da = (double)daf;
            } else {
                run(f, TN_INPUTS(y0, &rate), TN_OUTPUTS(dy, &da));
            }
            stability(m, rate * 2 / 9, &r, &slope);
            const double g = pow(r, 9), tolerance = single ? 2e-6 : 1e-13;
            close_to(dy, P(g, g, g), 3, tolerance);
            close_to(&da, P(9 * pow(r, 8) * slope * 2 / 9 * 2.5), 1, tolerance);
            tn_ctx_free(c);
        }
    }
}

/* ---- implicit methods ----------------------------------------------------------------------------------- */

/* Newton's iteration is not differentiated; the roots are, at second order too. */
static void implicit_steps_are_differentiated(void **state) {
    (void)state;
    static const char *const solver[] = {"Kvaerno3", "Kvaerno5"};
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        const tn_ode_options o = {.solver = solver[k], .steps = 8};
        tn_fn *f = traced(c, &o);
        /* Differences see the stages' tolerance. */
        tn_check_options how = {.size = sizeof how, .order = 2, .directions = 2, .tolerance = 1e-6};
        if (tn_check_grads(f, POINT_INPUTS(&here), NULL, &how) != TN_OK) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
}

/* y1 = R(z)^N y0 for an implicit method too. */
static void implicit_stability(const tn_i_tableau *m, double z, double *r, double *slope) {
    double k[16], dk[16];
    *r = 1, *slope = 0;
    for (size_t i = 0; i < m->stages; i++) {
        const double g = i ? m->diagonal : 0;
        double u = 1, du = 0;
        for (size_t j = 0; j < i; j++) u += tn_i_tableau_a(m, i, j) * k[j], du += tn_i_tableau_a(m, i, j) * dk[j];
        k[i] = z * u / (1 - g * z);
        dk[i] = (u + z * du) / (1 - g * z) + g * z * u / ((1 - g * z) * (1 - g * z));
        *r += m->b[i] * k[i];
        *slope += m->b[i] * dk[i];
    }
}

static void implicit_steps_have_their_closed_form(void **state) {
    (void)state;
    for (size_t k = 8; k < 10; k++) {
        const tn_i_tableau *m = tn_i_tableau_at(k);
        tn_ode_options o = {.size = sizeof o, .solver = m->name, .steps = 5};
        const double y0[3] = {1, -0.5, 2}, rate = -7;
        double dy[3], da, r, slope;
        tn_ctx *c = checked();
        tn_fn *f = tn_grad(tn_trace(c, grown, &o, 2, TN_TYPES(tn_f64(3), tn_f64())), NULL, NULL);
        if (!f) fail_msg("%s", tn_error(c));
        run(f, TN_INPUTS(y0, &rate), TN_OUTPUTS(dy, &da));
        implicit_stability(m, rate * 2 / 5, &r, &slope);
        const double g = pow(r, 5);
        close_to(dy, P(g, g, g), 3, 1e-12);
        close_to(&da, P(5 * pow(r, 4) * slope * 2 / 5 * 2.5), 1, 1e-12);
        tn_ctx_free(c);
    }
}

/* ---- what is saved, and batches --------------------------------------------------------------------------------- */

static tn_val saved_loss(const tn_val *in, void *user) {
    tn_val y[2], ts_y[2], dense[4], mid[2];
    tn_ode_problem p = {.size = sizeof p, .field = prey, .nstate = 2, .y0 = in, .nparams = 1, .params = in + 2};
    tn_ode_options o = {.size = sizeof o, .steps = 10, .dense = 10};
    (void)user;
    p.t0 = in[3];
    p.t1 = in[4];
    o.ts = tn_constant(tn_val_ctx(in[0]), tn_f64(3), P(0.3, 0.35, 1.2));
    tn_ode_solution s = {.size = sizeof s, .y = y, .ts_y = ts_y, .dense_y = dense};
    tn_ode_solve(&p, &o, &s);
    tn_ode_evaluate(&s, 2, 0.9, mid);
    return tn_add(tn_sum_squares(ts_y[0]), tn_add(tn_sum(ts_y[1]), tn_mul(mid[0], mid[1])));
}

static void what_is_saved_is_differentiated(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, saved_loss, NULL, 5, POINT_TYPES);
    if (!f) fail_msg("%s", tn_error(c));
    tn_check_options how = {.size = sizeof how, .order = 2, .directions = 2};
    if (tn_check_grads(f, POINT_INPUTS(&here), tn_wrt(0, 1, 2), &how) != TN_OK) fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

static void lanes_are_solved_each(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_ode_options o = {.rtol = 1e-6, .atol = 1e-6};
    tn_fn *f = tn_value_and_grad(traced(c, &o), tn_wrt(0), NULL);
    tn_fn *v = tn_vmap(f, 3, (const int[]){0, -1, -1, -1, 0}, NULL);
    double x[3] = {1, 0.3, 2}, t1[3] = {1.7, 0.2, 3}, y[3], dy[3];
    if (!v) fail_msg("%s", tn_error(c));
    run(v, TN_INPUTS(x, &here.y[1], here.p, &here.t0, t1), TN_OUTPUTS(y, dy));
    for (int i = 0; i < 3; i++) {
        double one, done;
        run(f, TN_INPUTS(&x[i], &here.y[1], here.p, &here.t0, &t1[i]), TN_OUTPUTS(&one, &done));
        close_to(P(y[i], dy[i]), P(one, done), 2, 1e-12);
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_steps_agree_with_differences),
        cmocka_unit_test(adaptive_steps_agree_with_differences),
        cmocka_unit_test(adjoints_give_the_same_bits),
        cmocka_unit_test(second_derivatives_agree),
        cmocka_unit_test(linear_problems_have_their_closed_form),
        cmocka_unit_test(implicit_steps_are_differentiated),
        cmocka_unit_test(implicit_steps_have_their_closed_form),
        cmocka_unit_test(what_is_saved_is_differentiated),
        cmocka_unit_test(lanes_are_solved_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
