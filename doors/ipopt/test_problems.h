/* The problems of the tests, traced, with their bounds and starts: HS071; COPS's hanging chain and Goddard rocket, by
 * the trapezoidal rule; the swing-up of a cart-pole by multiple shooting.  (Dolan, More, Munson, "Benchmarking
 * optimization software with COPS 3.0", Argonne ANL/MCS-TM-273, 2004.) */
#ifndef TANSY_IPOPT_TEST_PROBLEMS_H
#define TANSY_IPOPT_TEST_PROBLEMS_H

#include <tansy/ipopt.h>
#include <tansy/sparse.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    tn_ctx *c;
    tn_nlp nlp;
    int64_t n, m;
    double *x0;
} problem;

/* A context that checks, and arrays that no bound holds. */
static inline problem problem_of(int64_t n, int64_t m, tn_trace_fn f, tn_trace_fn g, void *user) {
    const tn_ctx_options opt = {.size = sizeof opt, .check = -1};
    problem p = {.c = tn_ctx_new(&opt), .n = n, .m = m};
    assert_non_null(p.c);
    double *xl = malloc((size_t)n * sizeof *xl), *xu = malloc((size_t)n * sizeof *xu);
    p.x0 = calloc((size_t)n, sizeof *p.x0);
    assert_true(xl && xu && p.x0);
    for (int64_t i = 0; i < n; i++) {
        xl[i] = -INFINITY;
        xu[i] = INFINITY;
    }
    p.nlp = (tn_nlp){.size = sizeof p.nlp, .xl = xl, .xu = xu};
    p.nlp.f = tn_trace(p.c, f, user, TN_ARGS(tn_f64(n)));
    p.nlp.g = g ? tn_trace(p.c, g, user, TN_ARGS(tn_f64(n))) : NULL;
    if (!p.nlp.f || (g && !p.nlp.g)) fail_msg("%s", tn_error(p.c));
    return p;
}

static inline void problem_free(problem *p) {
    tn_ctx_free(p->c);
    free((void *)(uintptr_t)p->nlp.xl);
    free((void *)(uintptr_t)p->nlp.xu);
    free(p->x0);
}

static inline void bound(problem *p, int64_t from, int64_t to, double low, double high) {
    double *xl = (double *)(uintptr_t)p->nlp.xl, *xu = (double *)(uintptr_t)p->nlp.xu;
    for (int64_t i = from; i < to; i++) {
        xl[i] = low;
        xu[i] = high;
    }
}

static inline void pin(problem *p, int64_t i, double value) { bound(p, i, i + 1, value, value); }

/* ---- HS071 --------------------------------------------------------------------------------- */

static inline tn_val hs071_f(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_at(in[0], 0), b = tn_at(in[0], 1), c = tn_at(in[0], 2), d = tn_at(in[0], 3);
    return tn_add(tn_mul(tn_mul(a, d), tn_add(tn_add(a, b), c)), c);
}

static inline tn_val hs071_g(const tn_val *in, void *user) {
    (void)user;
    return tn_stack(tn_vals(tn_prod(in[0]), tn_sum_squares(in[0])), 0);
}

static const double hs071_low[] = {25, 40}, hs071_high[] = {INFINITY, 40};

static inline problem hs071(void) {
    problem p = problem_of(4, 2, hs071_f, hs071_g, NULL);
    const double x0[] = {1, 5, 5, 1};
    bound(&p, 0, 4, 1, 5);
    memcpy(p.x0, x0, sizeof x0);
    p.nlp.gl = hs071_low;
    p.nlp.gu = hs071_high;
    return p;
}

/* ---- trapezoids ------------------------------------------------------------------------------ */

/* Part k of `parts` of nh + 1 numbers each. */
static inline tn_val part(tn_val x, int k, int nh) {
    return tn_slice_axis(x, (int64_t)k * (nh + 1), (int64_t)(k + 1) * (nh + 1), 1, 0);
}
static inline tn_val upper(tn_val x, int nh) { return tn_slice_axis(x, 1, nh + 1, 1, 0); }
static inline tn_val lower(tn_val x, int nh) { return tn_slice_axis(x, 0, nh, 1, 0); }
/* x' = r: what the step from each point to the next leaves. */
static inline tn_val trapezoid(tn_val x, tn_val r, tn_val step, int nh) {
    const tn_val mean = tn_mul(step, tn_mul(0.5, tn_add(upper(r, nh), lower(r, nh))));
    return tn_sub(tn_sub(upper(x, nh), lower(x, nh)), mean);
}

/* ---- hanging chain: the least energy of a chain of length 4 between heights 1 and 3 -------------------------------
 */

static inline tn_val chain_f(const tn_val *in, void *user) {
    const int nh = *(const int *)user;
    return tn_at(in[0], 2 * (int64_t)nh + 1);
}

static inline tn_val chain_g(const tn_val *in, void *user) {
    const int nh = *(const int *)user;
    const tn_val x = part(in[0], 0, nh), energy = part(in[0], 1, nh), length = part(in[0], 2, nh);
    const tn_val u = part(in[0], 3, nh), q = tn_sqrt(tn_add(1.0, tn_square(u))), h = TN_VAL(1.0 / nh);
    return tn_concatenate(
        tn_vals(trapezoid(x, u, h, nh), trapezoid(energy, tn_mul(x, q), h, nh), trapezoid(length, q, h, nh)), 0);
}

static inline problem chain(int nh) {
    problem p = problem_of(4 * (int64_t)nh + 4, 3 * (int64_t)nh, chain_f, chain_g, &nh);
    const double a = 1, b = 3, middle = 0.25;
    for (int i = 0; i <= nh; i++) {
        const double t = (double)i / nh;
        const double x = 4 * (b - a) * t * (0.5 * t - middle) + a, u = 4 * (b - a) * (t - middle);
        p.x0[i] = x;
        p.x0[nh + 1 + i] = x * u * t;
        p.x0[2 * nh + 2 + i] = u * t;
        p.x0[3 * nh + 3 + i] = u;
    }
    pin(&p, 0, a);
    pin(&p, nh, b);
    pin(&p, nh + 1, 0);
    pin(&p, 2 * (int64_t)nh + 2, 0);
    pin(&p, 3 * (int64_t)nh + 2, 4);
    return p;
}

/* ---- Goddard rocket: the greatest height --------------------------------------------------------------------------
 */

static inline tn_val rocket_f(const tn_val *in, void *user) { return tn_neg(tn_at(in[0], *(const int *)user)); }

static inline tn_val rocket_g(const tn_val *in, void *user) {
    const int nh = *(const int *)user;
    const double drag_0 = 0.5 * 620, c = 0.5;
    const tn_val h = part(in[0], 0, nh), v = part(in[0], 1, nh), m = part(in[0], 2, nh), thrust = part(in[0], 3, nh);
    const tn_val step = tn_at(in[0], 4 * ((int64_t)nh + 1));
    const tn_val drag = tn_mul(tn_mul(drag_0, tn_square(v)), tn_exp(tn_mul(-500.0, tn_sub(h, 1.0))));
    const tn_val gravity = tn_square(tn_div(1.0, h));
    const tn_val force = tn_sub(tn_sub(thrust, drag), tn_mul(m, gravity));
    return tn_concatenate(tn_vals(trapezoid(h, v, step, nh), trapezoid(v, tn_div(force, m), step, nh),
                                  trapezoid(m, tn_mul(-1 / c, thrust), step, nh)),
                          0);
}

static inline problem rocket(int nh) {
    problem p = problem_of(4 * (int64_t)nh + 5, 3 * (int64_t)nh, rocket_f, rocket_g, &nh);
    const int64_t k = nh + 1;
    const double last = 0.6, most = 3.5;
    for (int i = 0; i <= nh; i++) {
        const double t = (double)i / nh;
        p.x0[i] = 1;
        p.x0[k + i] = t * (1 - t);
        p.x0[2 * k + i] = (last - 1) * t + 1;
        p.x0[3 * k + i] = most / 2;
    }
    p.x0[4 * k] = 1.0 / nh;
    bound(&p, 0, k, 1, INFINITY);
    bound(&p, k, 2 * k, 0, INFINITY);
    bound(&p, 2 * k, 3 * k, last, 1);
    bound(&p, 3 * k, 4 * k, 0, most);
    bound(&p, 4 * k, 4 * k + 1, 0, INFINITY);
    pin(&p, 0, 1);
    pin(&p, k, 0);
    pin(&p, 2 * k, 1);
    pin(&p, 3 * k - 1, last);
    return p;
}

/* ---- cart-pole: swung up in 2 s, with the least squares of the force ----------------------------------------------
 */

enum { CART_N = 30, CART_STATE = 4, CART_Z = CART_N * 5 + CART_STATE };

/* Rows of position, angle, their velocities -> their derivatives. */
static inline tn_val cart_field(tn_val x, tn_val u) {
    const double m1 = 1, m2 = 0.3, l = 0.5, g = 9.81;
    const tn_val th = tn_at(x, 1), w = tn_at(x, 3), s = tn_sin(th), co = tn_cos(th);
    const tn_val w2s = tn_mul(tn_square(w), s), den = tn_add(m1, tn_mul(m2, tn_square(s)));
    const tn_val a = tn_add(tn_add(tn_mul(l * m2, w2s), u), tn_mul(m2 * g, tn_mul(s, co)));
    const tn_val b = tn_add(tn_mul(tn_add(tn_mul(l * m2, w2s), u), co), tn_mul((m1 + m2) * g, s));
    return tn_stack(tn_vals(tn_at(x, 2), w, tn_div(a, den), tn_neg(tn_div(b, tn_mul(l, den)))), 0);
}

/* Four steps of the classical Runge-Kutta method on each of the intervals, a column each: [4, N], [N] -> [4, N]. */
static inline tn_val cart_flow(tn_val x, tn_val u) {
    const double h = 2.0 / CART_N / 4;
    for (int i = 0; i < 4; i++) {
        const tn_val k1 = cart_field(x, u), k2 = cart_field(tn_add(x, tn_mul(h / 2, k1)), u);
        const tn_val k3 = cart_field(tn_add(x, tn_mul(h / 2, k2)), u), k4 = cart_field(tn_add(x, tn_mul(h, k3)), u);
        x = tn_add(x, tn_mul(h / 6, tn_add(tn_add(k1, tn_mul(2.0, tn_add(k2, k3))), k4)));
    }
    return x;
}

/* [N, 5]: state and force of each interval. */
static inline tn_val cart_rows(tn_val z) {
    return tn_reshape(tn_slice_axis(z, 0, (int64_t)CART_N * 5, 1, 0), CART_N, 5);
}

static inline tn_val cart_f(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(2.0 / CART_N, tn_sum_squares(tn_slice_axis(cart_rows(in[0]), 4, 5, 1, 1)));
}

/* 120 defects of the states, then the state at both ends. */
static inline tn_val cart_g(const tn_val *in, void *user) {
    (void)user;
    static const double up[CART_STATE] = {1, 3.14159265358979323846, 0, 0};
    const tn_val rows = cart_rows(in[0]), x = tn_slice_axis(rows, 0, CART_STATE, 1, 1);
    const tn_val u = tn_ravel(tn_slice_axis(rows, 4, 5, 1, 1));
    const tn_val last = tn_slice_axis(in[0], (int64_t)CART_N * 5, CART_Z, 1, 0);
    const tn_val next = tn_matrix_transpose(cart_flow(tn_matrix_transpose(x), u));
    const tn_val all = tn_concatenate(tn_vals(x, tn_expand_dims(last, 0)), 0);
    const tn_val defects = tn_sub(next, tn_slice_axis(all, 1, CART_N + 1, 1, 0));
    const tn_val goal = tn_constant(tn_val_ctx(last), tn_f64(CART_STATE), up);
    return tn_concatenate(tn_vals(tn_ravel(defects), tn_at(all, 0), tn_sub(last, goal)), 0);
}

/* From a straight line between the ends, without a force. */
static inline problem cart_pole(void) {
    problem p = problem_of(CART_Z, 4 * (int64_t)CART_N + 8, cart_f, cart_g, NULL);
    for (int i = 0; i <= CART_N; i++) {
        p.x0[5 * i] = (double)i / CART_N;
        p.x0[5 * i + 1] = 3.14159265358979323846 * i / CART_N;
    }
    return p;
}

#endif
