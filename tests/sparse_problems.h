/* Programs with sparse derivatives whose numbers of entries are known (tests/unit/sparse.c, bench/sparse.c): a
 * cart-pole swing-up by multiple shooting, Bratu's problem on a grid, bundle adjustment. */
#ifndef TN_SPARSE_PROBLEMS_H
#define TN_SPARSE_PROBLEMS_H

#include <tansy.h>
#include <tansy/sparse.h>

#include <stdlib.h>

/* ---- cart-pole: 30 intervals of 4 Runge-Kutta steps, (x, theta, v, omega, force) each, and the last state ------- */

enum { OCP_STEPS = 30, OCP_STATE = 4, OCP_STEP = 5, OCP_X = OCP_STEPS * OCP_STEP + OCP_STATE, OCP_G = 128 };

static inline tn_val ocp_field(tn_val x, tn_val u) {
    const double m1 = 1, m2 = 0.3, l = 0.5, g = 9.81;
    const tn_val th = tn_at(x, 1), v = tn_at(x, 2), w = tn_at(x, 3), s = tn_sin(th), co = tn_cos(th);
    const tn_val w2s = tn_mul(tn_square(w), s), den = tn_add(m1, tn_mul(m2, tn_square(s))), gs = tn_mul(g, s);
    tn_val a = tn_add(tn_add(tn_mul(l * m2, w2s), u), tn_mul(m2, tn_mul(gs, co)));
    tn_val b = tn_add(tn_mul(l * m2, tn_mul(w2s, co)), tn_mul(u, co));
    b = tn_add(b, tn_mul(m1 + m2, gs));
    return tn_stack(tn_vals(v, w, tn_div(a, den), tn_neg(tn_div(b, tn_mul(l, den)))), 0);
}

static inline tn_val ocp_flow(const tn_val *in, void *user) {
    (void)user;
    const double h = 2.0 / OCP_STEPS / 4;
    tn_val x = tn_slice_axis(in[0], 0, OCP_STATE, 1, 0);
    const tn_val u = tn_at(in[0], OCP_STATE);
    for (int i = 0; i < 4; i++) {
        const tn_val k1 = ocp_field(x, u), k2 = ocp_field(tn_add(x, tn_mul(h / 2, k1)), u),
                     k3 = ocp_field(tn_add(x, tn_mul(h / 2, k2)), u), k4 = ocp_field(tn_add(x, tn_mul(h, k3)), u);
        const tn_val mid = tn_mul(2.0, tn_add(k2, k3));
        x = tn_add(x, tn_mul(h / 6, tn_add(tn_add(k1, mid), k4)));
    }
    return x;
}

/* user: the flow over all intervals. */
static inline tn_val ocp_constraints(const tn_val *in, void *user) {
    static const double goal[OCP_STATE] = {1, 3.14159265358979323846, 0, 0};
    const tn_val s = tn_reshape(tn_slice_axis(in[0], 0, OCP_STEPS * OCP_STEP, 1, 0), OCP_STEPS, OCP_STEP),
                 next = tn_apply((const tn_fn *)user, 1, &s);
    const tn_val last = tn_slice_axis(in[0], OCP_STEPS * OCP_STEP, OCP_X, 1, 0);
    const tn_val states = tn_slice_axis(s, 0, OCP_STATE, 1, 1);
    const tn_val xs = tn_concatenate(tn_vals(states, tn_expand_dims(last, 0)), 0);
    const tn_val defects = tn_sub(next, tn_slice_axis(xs, 1, OCP_STEPS + 1, 1, 0));
    const tn_val target = tn_constant(tn_val_ctx(s), tn_f64(OCP_STATE), goal);
    return tn_concatenate(tn_vals(tn_ravel(defects), tn_at(xs, 0), tn_sub(last, target)), 0);
}

static inline tn_val ocp_cost(const tn_val *in, void *user) {
    (void)user;
    const tn_val s = tn_reshape(tn_slice_axis(in[0], 0, OCP_STEPS * OCP_STEP, 1, 0), OCP_STEPS, OCP_STEP);
    return tn_mul(2.0 / OCP_STEPS, tn_sum_squares(tn_slice_axis(s, OCP_STATE, OCP_STEP, 1, 1)));
}

/* The constraints; NULL after an error. */
static inline tn_fn *ocp_g(tn_ctx *c) {
    tn_fn *flow = tn_trace(c, ocp_flow, NULL, 1, TN_TYPES(tn_f64(OCP_STEP)));
    tn_fn *all = tn_vmap(flow, OCP_STEPS, NULL, NULL);
    tn_fn *g = tn_trace(c, ocp_constraints, all, 1, TN_TYPES(tn_f64(OCP_X)));
    tn_fn_free(flow);
    tn_fn_free(all);
    return g;
}

/* The same with a loop over the intervals. */
static inline void ocp_interval(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)carry, (void)next;
    y[0] = ocp_flow(x, user);
}

static inline tn_val ocp_over_loop(const tn_val *in, void *user) {
    tn_val y;
    tn_scan(tn_val_ctx(in[0]), ocp_interval, user, .nx = 1, .xs = in, .ny = 1, .ys = &y);
    return y;
}

static inline tn_fn *ocp_g_by_scan(tn_ctx *c) {
    tn_fn *all = tn_trace(c, ocp_over_loop, NULL, 1, TN_TYPES(tn_f64(OCP_STEPS, OCP_STEP)));
    tn_fn *g = tn_trace(c, ocp_constraints, all, 1, TN_TYPES(tn_f64(OCP_X)));
    tn_fn_free(all);
    return g;
}

static inline tn_fn *ocp_f(tn_ctx *c) { return tn_trace(c, ocp_cost, NULL, 1, TN_TYPES(tn_f64(OCP_X))); }

/* ---- Bratu's problem on a grid of side^2 points: 5-point Laplacian and an exponential --------------------------- */

static inline tn_val bratu_residual(const tn_val *in, void *user) {
    const int n = *(const int *)user;
    const double h = 1.0 / (n + 1);
    const tn_val u = tn_reshape(in[0], n, n), p = tn_pad(u, 0.0, tn_ints(1, 1), tn_ints(1, 1), tn_ints(0, 0));
    const tn_val up = tn_slice(p, tn_ints(0, 1), tn_ints(n, n + 1), tn_ints(1, 1)),
                 down = tn_slice(p, tn_ints(2, 1), tn_ints(n + 2, n + 1), tn_ints(1, 1)),
                 left = tn_slice(p, tn_ints(1, 0), tn_ints(n + 1, n), tn_ints(1, 1)),
                 right = tn_slice(p, tn_ints(1, 2), tn_ints(n + 1, n + 2), tn_ints(1, 1));
    const tn_val around = tn_add(tn_add(up, down), tn_add(left, right));
    const tn_val r = tn_sub(tn_sub(tn_mul(4.0, u), around), tn_mul(h * h * 6.8, tn_exp(u)));
    return tn_ravel(r);
}

static inline tn_fn *bratu_f(tn_ctx *c, int side, int dtype) {
    const tn_type t = {.dtype = dtype, .rank = 1, .dim = {(int64_t)side * side}};
    return tn_trace(c, bratu_residual, &side, 1, &t);
}

/* ---- bundle adjustment: each point seen by 4 of the cameras, 9 numbers a camera, 3 a point ------------------------
 */

typedef struct bundle {
    int cameras, points;
} bundle;

static inline tn_val bundle_residuals(const tn_val *in, void *user) {
    const bundle *d = user;
    const int64_t nc = d->cameras, np = d->points, n = 4 * np;
    tn_ctx *c = tn_val_ctx(in[0]);
    const tn_val cameras = tn_reshape(tn_slice_axis(in[0], 0, 9 * nc, 1, 0), nc, 9),
                 points = tn_reshape(tn_slice_axis(in[0], 9 * nc, 9 * nc + 3 * np, 1, 0), np, 3);
    int64_t *ci = malloc((size_t)n * sizeof *ci), *pi = malloc((size_t)n * sizeof *pi);
    for (int64_t k = 0; ci && pi && k < n; k++) pi[k] = k / 4, ci[k] = (7 * (k / 4) + 3 * (k % 4)) % nc;
    const tn_val a = tn_t(tn_take(cameras, tn_constant(c, tn_i64(n), ci), 0, TN_CLIP_INDICES)),
                 b = tn_t(tn_take(points, tn_constant(c, tn_i64(n), pi), 0, TN_CLIP_INDICES));
    free(ci);
    free(pi);
    tn_val r[3], t[3], x[3], p[3];
    for (int i = 0; i < 3; i++) r[i] = tn_at(a, i), t[i] = tn_at(a, 3 + i), x[i] = tn_at(b, i);
    const tn_val f = tn_at(a, 6), k1 = tn_at(a, 7), k2 = tn_at(a, 8);
    const tn_val q0 = tn_square(r[0]), q1 = tn_square(r[1]), q2 = tn_square(r[2]);
    const tn_val th2 = tn_add(tn_add(q0, q1), tn_add(q2, 1e-12)), th = tn_sqrt(th2), co = tn_cos(th),
                 si = tn_div(tn_sin(th), th);
    const tn_val m0 = tn_mul(r[0], x[0]), m1 = tn_mul(r[1], x[1]), m2 = tn_mul(r[2], x[2]);
    const tn_val w = tn_div(tn_mul(tn_add(tn_add(m0, m1), m2), tn_sub(1.0, co)), th2);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, l = (i + 2) % 3;
        const tn_val turn = tn_sub(tn_mul(r[j], x[l]), tn_mul(r[l], x[j]));
        const tn_val s = tn_add(tn_mul(x[i], co), tn_mul(si, turn));
        p[i] = tn_add(tn_add(s, tn_mul(w, r[i])), t[i]);
    }
    const tn_val u = tn_neg(tn_div(p[0], p[2])), v = tn_neg(tn_div(p[1], p[2]));
    const tn_val rr = tn_add(tn_square(u), tn_square(v)),
                 g = tn_mul(f, tn_add(1.0, tn_mul(rr, tn_add(k1, tn_mul(k2, rr)))));
    return tn_ravel(tn_stack(tn_vals(tn_mul(g, u), tn_mul(g, v)), 1));
}

/* One observation by the same formulas: camera [9], point [3] -> [2]; and all of them, mapped. */
static inline tn_val bundle_one(const tn_val *in, void *user) {
    (void)user;
    tn_val p[3];
    const tn_val r = tn_slice_axis(in[0], 0, 3, 1, 0), f = tn_at(in[0], 6), k1 = tn_at(in[0], 7), k2 = tn_at(in[0], 8);
    const tn_val th2 = tn_add(tn_sum_squares(r), 1e-12), th = tn_sqrt(th2), co = tn_cos(th),
                 si = tn_div(tn_sin(th), th);
    const tn_val w = tn_div(tn_mul(tn_dot(r, in[1]), tn_sub(1.0, co)), th2);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, l = (i + 2) % 3;
        const tn_val a = tn_mul(tn_at(in[0], j), tn_at(in[1], l)), b = tn_mul(tn_at(in[0], l), tn_at(in[1], j));
        const tn_val s = tn_add(tn_mul(tn_at(in[1], i), co), tn_mul(si, tn_sub(a, b)));
        p[i] = tn_add(tn_add(s, tn_mul(w, tn_at(in[0], i))), tn_at(in[0], 3 + i));
    }
    const tn_val u = tn_neg(tn_div(p[0], p[2])), v = tn_neg(tn_div(p[1], p[2]));
    const tn_val rr = tn_add(tn_square(u), tn_square(v)),
                 g = tn_mul(f, tn_add(1.0, tn_mul(rr, tn_add(k1, tn_mul(k2, rr)))));
    return tn_stack(tn_vals(tn_mul(g, u), tn_mul(g, v)), 0);
}

typedef struct bundle_mapped {
    bundle size;
    const tn_fn *all; /* of [n, 9], [n, 3] */
} bundle_mapped;

static inline tn_val bundle_by_blocks(const tn_val *in, void *user) {
    const bundle_mapped *d = user;
    const int64_t nc = d->size.cameras, np = d->size.points, n = 4 * np;
    int64_t *ci = malloc((size_t)n * sizeof *ci), *pi = malloc((size_t)n * sizeof *pi);
    for (int64_t k = 0; ci && pi && k < n; k++) pi[k] = k / 4, ci[k] = (7 * (k / 4) + 3 * (k % 4)) % nc;
    const tn_val cameras = tn_reshape(tn_slice_axis(in[0], 0, 9 * nc, 1, 0), nc, 9),
                 points = tn_reshape(tn_slice_axis(in[0], 9 * nc, 9 * nc + 3 * np, 1, 0), np, 3);
    tn_ctx *c = tn_val_ctx(in[0]);
    const tn_val x[2] = {tn_take(cameras, tn_constant(c, tn_i64(n), ci), 0, TN_CLIP_INDICES),
                         tn_take(points, tn_constant(c, tn_i64(n), pi), 0, TN_CLIP_INDICES)};
    free(ci);
    free(pi);
    return tn_ravel(tn_apply(d->all, 2, x));
}

static inline void bundle_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)carry, (void)next;
    y[0] = bundle_one(x, user);
}

static inline tn_val bundle_over_loop(const tn_val *in, void *user) {
    tn_val y;
    tn_scan(tn_val_ctx(in[0]), bundle_step, user, .nx = 2, .xs = in, .ny = 1, .ys = &y);
    return y;
}

/* Over observations: a loop, or mapped. */
static inline tn_fn *bundle_f_by_blocks(tn_ctx *c, int cameras, int points, bool scan) {
    const int64_t n = 4 * (int64_t)points;
    tn_fn *one = scan ? NULL : tn_trace(c, bundle_one, NULL, 2, TN_TYPES(tn_f64(9), tn_f64(3)));
    bundle_mapped d = {{cameras, points}, NULL};
    d.all = scan ? tn_trace(c, bundle_over_loop, NULL, 2, TN_TYPES(tn_f64(n, 9), tn_f64(n, 3)))
                 : tn_vmap(one, n, NULL, NULL);
    return tn_trace(c, bundle_by_blocks, &d, 1, TN_TYPES(tn_f64(9 * (int64_t)cameras + 3 * (int64_t)points)));
}

static inline tn_fn *bundle_f(tn_ctx *c, int cameras, int points) {
    bundle d = {cameras, points};
    return tn_trace(c, bundle_residuals, &d, 1, TN_TYPES(tn_f64(9 * (int64_t)cameras + 3 * (int64_t)points)));
}

#endif
