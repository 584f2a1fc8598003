/* Models: reacting and flowing fields, lattices, path searches, neurons, bodies, kernels and losses. */
#include "general.h"

#define PROGRAM(NAME) static tn_fn *NAME(tn_ctx *c, tn_dtype d, const int64_t *n)
#define VALUE(NAME)   static tn_val NAME(const tn_val *in, void *user)
#define F(...)        tn_f64(__VA_ARGS__)

static tn_val first(tn_val x, int64_t i) { return tn_at(x, i); }
static tn_val column(tn_val x, int64_t j) { return tn_squeeze(tn_slice_axis(x, j, j + 1, 1, -1), -1); }

/* ---- fields ---- */

static tn_val around(tn_val u) {
    const tn_val x = tn_add(tn_roll(u, 1, 0), tn_roll(u, -1, 0)), y = tn_add(tn_roll(u, 1, 1), tn_roll(u, -1, 1));
    return tn_sub(tn_add(x, y), tn_mul(4.0, u));
}
static void gray_scott_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val u = carry[0], v = carry[1], r = tn_mul(u, tn_mul(v, v));
    const tn_val du = tn_add(tn_sub(tn_mul(0.16, around(u)), r), tn_mul(0.035, tn_sub(1.0, u)));
    const tn_val dv = tn_sub(tn_add(tn_mul(0.08, around(v)), r), tn_mul(0.095, v));
    next[0] = tn_add(u, du);
    next[1] = tn_add(v, dv);
}
VALUE(gray_scott) {
    tn_val y[2] = {in[0], in[1]};
    tn_fori(tn_val_ctx(in[0]), 0, ((const int64_t *)user)[2], gray_scott_step, NULL, 2, y, y, NULL);
    return y[1];
}
PROGRAM(make_gray_scott) { return general_trace(c, gray_scott, n, d, TN_ARGS(F(n[0], n[1]), F(n[0], n[1]))); }

/* Euler's equations of a gas, q = density, momentum, energy; fluxes as Rusanov has them, the ends joined */
static void euler_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val q = carry[0], r = first(q, 0), m = first(q, 1), e = first(q, 2), u = tn_div(m, r);
    const tn_val p = tn_mul(0.4, tn_sub(e, tn_mul(0.5, tn_mul(m, u))));
    const tn_val speed = tn_add(tn_abs(u), tn_sqrt(tn_div(tn_mul(1.4, p), r)));
    const tn_val f = tn_stack(tn_vals(m, tn_add(tn_mul(m, u), p), tn_mul(u, tn_add(e, p))), 0);
    const tn_val s = tn_maximum(speed, tn_roll(speed, -1, 0));
    const tn_val flux =
        tn_sub(tn_mul(0.5, tn_add(f, tn_roll(f, -1, 1))), tn_mul(0.5, tn_mul(s, tn_sub(tn_roll(q, -1, 1), q))));
    next[0] = tn_sub(q, tn_mul(0.1, tn_sub(flux, tn_roll(flux, 1, 1))));
}
VALUE(euler) {
    tn_val q = in[0];
    tn_fori(tn_val_ctx(q), 0, ((const int64_t *)user)[1], euler_step, NULL, 1, &q, &q, NULL);
    return q;
}
PROGRAM(make_euler) { return general_trace(c, euler, n, d, TN_ARGS(F(3, n[0]))); }

/* advection of second order with a limiter */
static tn_val minmod(tn_val a, tn_val b) {
    const tn_val same = tn_gt(tn_mul(a, b), 0.0);
    return tn_where(same, tn_where(tn_lt(tn_abs(a), tn_abs(b)), a, b), 0.0);
}
static void limited_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val u = carry[0], slope = minmod(tn_sub(u, tn_roll(u, 1, 0)), tn_sub(tn_roll(u, -1, 0), u));
    const tn_val flux = tn_add(u, tn_mul(0.35, slope));
    next[0] = tn_sub(u, tn_mul(0.3, tn_sub(flux, tn_roll(flux, 1, 0))));
}
VALUE(limited) {
    tn_val u = in[0];
    tn_fori(tn_val_ctx(u), 0, ((const int64_t *)user)[1], limited_step, NULL, 1, &u, &u, NULL);
    return u;
}
PROGRAM(make_limited) { return general_trace(c, limited, n, d, TN_ARGS(F(n[0]))); }

/* a wave in three dimensions, at rest in the beginning */
static void wave_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val u = carry[0];
    tn_val l = tn_mul(-6.0, u);
    for (int axis = 0; axis < 3; axis++) l = tn_add(l, tn_add(tn_roll(u, 1, axis), tn_roll(u, -1, axis)));
    next[0] = tn_add(tn_sub(tn_mul(2.0, u), carry[1]), tn_mul(0.1, l));
    next[1] = u;
}
VALUE(wave) {
    tn_val u[2] = {in[0], in[0]};
    tn_fori(tn_val_ctx(in[0]), 0, ((const int64_t *)user)[1], wave_step, NULL, 2, u, u, NULL);
    return u[0];
}
PROGRAM(make_wave) { return general_trace(c, wave, n, d, TN_ARGS(F(n[0], n[0], n[0]))); }

/* a fluid on a lattice of nine velocities */
static const int LX[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, LY[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static void lattice_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val f = carry[0];
    tn_val rho = first(f, 0), x = {0}, y = {0}, moved[9];
    for (int k = 1; k < 9; k++) {
        const tn_val g = first(f, k);
        rho = tn_add(rho, g);
        if (LX[k]) x = x.id ? tn_add(x, tn_mul((double)LX[k], g)) : tn_mul((double)LX[k], g);
        if (LY[k]) y = y.id ? tn_add(y, tn_mul((double)LY[k], g)) : tn_mul((double)LY[k], g);
    }
    x = tn_div(x, rho), y = tn_div(y, rho);
    const tn_val square = tn_mul(1.5, tn_add(tn_mul(x, x), tn_mul(y, y)));
    for (int k = 0; k < 9; k++) {
        const double w = k == 0 ? 4.0 / 9 : k < 5 ? 1.0 / 9 : 1.0 / 36;
        const tn_val along = tn_mul(3.0, tn_add(tn_mul((double)LX[k], x), tn_mul((double)LY[k], y)));
        const tn_val even = tn_add(tn_sub(tn_add(1.0, along), square), tn_mul(0.5, tn_mul(along, along)));
        const tn_val g = first(f, k), next_g = tn_add(g, tn_mul(0.8, tn_sub(tn_mul(tn_mul(w, rho), even), g)));
        moved[k] = tn_roll(tn_roll(next_g, LX[k], 0), LY[k], 1);
    }
    next[0] = tn_stack(tn_vals_of(9, moved), 0);
}
VALUE(lattice) {
    tn_val f = in[0];
    tn_fori(tn_val_ctx(f), 0, ((const int64_t *)user)[2], lattice_step, NULL, 1, &f, &f, NULL);
    return f;
}
PROGRAM(make_lattice) { return general_trace(c, lattice, n, d, TN_ARGS(F(9, n[0], n[1]))); }

/* heat between the nodes of triangles: x, y, u of the nodes, corners [m, 3] */
VALUE(triangles) {
    (void)user;
    tn_val x[3], y[3], u[3], at[3], r = tn_zeros_like(in[2]);
    for (int k = 0; k < 3; k++) {
        at[k] = column(in[3], k);
        x[k] = tn_take(in[0], at[k], 0, TN_CLIP_INDICES), y[k] = tn_take(in[1], at[k], 0, TN_CLIP_INDICES);
        u[k] = tn_take(in[2], at[k], 0, TN_CLIP_INDICES);
    }
    const tn_val twice = tn_add(1.0, tn_abs(tn_sub(tn_mul(tn_sub(x[1], x[0]), tn_sub(y[2], y[0])),
                                                   tn_mul(tn_sub(x[2], x[0]), tn_sub(y[1], y[0])))));
    tn_val b[3], a[3], gx = {0}, gy = {0};
    for (int k = 0; k < 3; k++) {
        b[k] = tn_sub(y[(k + 1) % 3], y[(k + 2) % 3]), a[k] = tn_sub(x[(k + 2) % 3], x[(k + 1) % 3]);
        gx = k ? tn_add(gx, tn_mul(b[k], u[k])) : tn_mul(b[k], u[k]);
        gy = k ? tn_add(gy, tn_mul(a[k], u[k])) : tn_mul(a[k], u[k]);
    }
    for (int k = 0; k < 3; k++)
        r = tn_index_add(r, at[k], tn_div(tn_add(tn_mul(b[k], gx), tn_mul(a[k], gy)), tn_mul(2.0, twice)), 0);
    return r;
}
PROGRAM(make_triangles) {
    return general_trace(c, triangles, NULL, d, TN_ARGS(F(n[1]), F(n[1]), F(n[1]), tn_i32(n[0], 3)));
}

/* ---- sequences ---- */

/* the best path through n[0] states: where each step came from */
static void viterbi_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const tn_val s = tn_add(tn_expand_dims(carry[0], 1), *(const tn_val *)user);
    next[0] = tn_add(tn_max_axis(s, 0), x[0]);
    y[0] = tn_argmax(s, 0);
}
VALUE(viterbi) {
    (void)user;
    tn_val carry = in[0], a = in[1], y;
    tn_scan(tn_val_ctx(carry), viterbi_step, &a, .ncarry = 1, .init = &carry, .nx = 1, .xs = &in[2], .carry = &carry,
            .ny = 1, .ys = &y);
    return y;
}
PROGRAM(make_viterbi) { return general_trace(c, viterbi, NULL, d, TN_ARGS(F(n[0]), F(n[0], n[0]), F(n[1], n[0]))); }

/* n[1] tridiagonal systems of n[0] rows, side by side */
static void eliminate(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    const tn_val m = tn_sub(tn_add(3.0, x[1]), tn_mul(x[0], carry[0]));
    y[0] = next[0] = tn_div(x[2], m);
    y[1] = next[1] = tn_div(tn_sub(x[3], tn_mul(x[0], carry[1])), m);
}
static void substitute(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    y[0] = next[0] = tn_sub(x[1], tn_mul(x[0], carry[0]));
}
VALUE(thomas) {
    (void)user;
    const tn_val zero = tn_zeros_like(first(in[0], 0));
    tn_val carry[2] = {zero, zero}, y[2], x, last = zero;
    tn_scan(tn_val_ctx(zero), eliminate, NULL, .ncarry = 2, .init = carry, .nx = 4, .xs = in, .carry = carry, .ny = 2,
            .ys = y);
    tn_scan(tn_val_ctx(zero), substitute, NULL, .ncarry = 1, .init = &last, .nx = 2, .xs = y, .carry = &last, .ny = 1,
            .ys = &x, .reverse = true);
    return x;
}
PROGRAM(make_thomas) {
    return general_trace(c, thomas, NULL, d, TN_ARGS(F(n[0], n[1]), F(n[0], n[1]), F(n[0], n[1]), F(n[0], n[1])));
}

/* gated recurrent units: n[0] of them, n[1] steps, n[2] sequences side by side */
static void gru_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const tn_val *w = user, h = carry[0], a = tn_matmul(x[0], w[0]), b = tn_matmul(h, w[1]);
    const int64_t k = tn_val_type(h).dim[1];
    const tn_val z = tn_sigmoid(tn_add(tn_slice_axis(a, 0, k, 1, 1), tn_slice_axis(b, 0, k, 1, 1))),
                 r = tn_sigmoid(tn_add(tn_slice_axis(a, k, 2 * k, 1, 1), tn_slice_axis(b, k, 2 * k, 1, 1)));
    const tn_val g =
        tn_tanh(tn_add(tn_slice_axis(a, 2 * k, 3 * k, 1, 1), tn_mul(r, tn_slice_axis(b, 2 * k, 3 * k, 1, 1))));
    (void)y;
    next[0] = tn_add(g, tn_mul(z, tn_sub(h, g)));
}
VALUE(gru) {
    (void)user;
    tn_val w[2] = {in[0], in[1]}, h = in[2];
    tn_scan(tn_val_ctx(h), gru_step, w, .ncarry = 1, .init = &h, .nx = 1, .xs = &in[3], .carry = &h);
    return h;
}
PROGRAM(make_gru) {
    return general_trace(c, gru, NULL, d,
                         TN_ARGS(F(n[0], 3 * n[0]), F(n[0], 3 * n[0]), F(n[2], n[0]), F(n[1], n[2], n[0])));
}

/* the mean price of n[1] options on the mean of n[0] days */
static void day(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)y, (void)user;
    next[0] = tn_mul(carry[0], tn_exp(tn_add(0.0001, tn_mul(0.01, x[0]))));
    next[1] = tn_add(carry[1], next[0]);
}
VALUE(asian) {
    const double days = (double)((const int64_t *)user)[0];
    const tn_val one = tn_ones_like(first(in[0], 0));
    tn_val carry[2] = {one, tn_zeros_like(one)};
    tn_scan(tn_val_ctx(one), day, NULL, .ncarry = 2, .init = carry, .nx = 1, .xs = in, .carry = carry);
    return tn_mean(tn_maximum(tn_sub(tn_mul(1 / days, carry[1]), 1.0), 0.0));
}
PROGRAM(make_asian) { return general_trace(c, asian, n, d, TN_ARGS(F(n[0], n[1]))); }

static tn_val lorenz96_field(tn_val x) {
    const tn_val ahead = tn_sub(tn_roll(x, -1, 0), tn_roll(x, 2, 0));
    return tn_add(tn_sub(tn_mul(ahead, tn_roll(x, 1, 0)), x), 8.0);
}
static void lorenz96_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val x = carry[0], k1 = lorenz96_field(x), k2 = lorenz96_field(tn_add(x, tn_mul(0.005, k1))),
                 k3 = lorenz96_field(tn_add(x, tn_mul(0.005, k2))), k4 = lorenz96_field(tn_add(x, tn_mul(0.01, k3)));
    next[0] = tn_add(x, tn_mul(0.01 / 6, tn_add(tn_add(k1, tn_mul(2.0, tn_add(k2, k3))), k4)));
}
VALUE(lorenz96) {
    tn_val x = in[0];
    tn_fori(tn_val_ctx(x), 0, ((const int64_t *)user)[1], lorenz96_step, NULL, 1, &x, &x, NULL);
    return x;
}
PROGRAM(make_lorenz96) { return general_trace(c, lorenz96, n, d, TN_ARGS(F(n[0]))); }

/* n[0] neurons after Hodgkin and Huxley, n[1] steps */
static tn_val opening(tn_val v, double at, double over, double rate) {
    const tn_val x = tn_div(tn_add(v, at), over);
    return tn_div(tn_mul(rate, x), tn_sub(1.0, tn_exp(tn_neg(x))));
}
static tn_val gate(tn_val g, tn_val open, tn_val shut) {
    return tn_add(g, tn_mul(0.01, tn_sub(tn_mul(open, tn_sub(1.0, g)), tn_mul(shut, g))));
}
static void neuron_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const tn_val v = carry[0], m = carry[1], h = carry[2], n = carry[3], n2 = tn_mul(n, n);
    (void)i;
    next[1] = gate(m, opening(v, 40.3, 10, 1.0), tn_mul(4.0, tn_exp(tn_div(tn_add(v, 65.0), -18.0))));
    next[2] = gate(h, tn_mul(0.07, tn_exp(tn_div(tn_add(v, 65.0), -20.0))), tn_sigmoid(tn_div(tn_add(v, 35.0), 10.0)));
    next[3] = gate(n, opening(v, 55.3, 10, 0.1), tn_mul(0.125, tn_exp(tn_div(tn_add(v, 65.0), -80.0))));
    const tn_val sodium = tn_mul(tn_mul(120.0, tn_mul(tn_mul(m, m), tn_mul(m, h))), tn_sub(v, 50.0));
    const tn_val potassium = tn_mul(tn_mul(36.0, tn_mul(n2, n2)), tn_add(v, 77.0));
    const tn_val leak = tn_mul(0.3, tn_add(v, 54.4));
    const tn_val current = tn_sub(*(const tn_val *)user, tn_add(tn_add(sodium, potassium), leak));
    next[0] = tn_add(v, tn_mul(0.01, current));
}
VALUE(neuron) {
    tn_val current = tn_mul(10.0, in[0]);
    tn_val s[4] = {tn_full_like(current, -65.0), tn_full_like(current, 0.05), tn_full_like(current, 0.6),
                   tn_full_like(current, 0.32)};
    tn_fori(tn_val_ctx(current), 0, ((const int64_t *)user)[1], neuron_step, &current, 4, s, s, NULL);
    return s[0];
}
PROGRAM(make_neuron) { return general_trace(c, neuron, n, d, TN_ARGS(F(n[0]))); }

/* ---- bodies ---- */

/* n[0] bodies that turn: a quaternion [4] and a rate of turning [3] each, n[1] steps */
static void turn(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    const tn_val *w = user, q = carry[0], a = column(q, 0), b = column(q, 1), c = column(q, 2), d = column(q, 3);
    const tn_val da = tn_neg(tn_add(tn_add(tn_mul(b, w[0]), tn_mul(c, w[1])), tn_mul(d, w[2]))),
                 db = tn_sub(tn_add(tn_mul(a, w[0]), tn_mul(c, w[2])), tn_mul(d, w[1])),
                 dc = tn_add(tn_sub(tn_mul(a, w[1]), tn_mul(b, w[2])), tn_mul(d, w[0])),
                 dd = tn_sub(tn_add(tn_mul(a, w[2]), tn_mul(b, w[1])), tn_mul(c, w[0]));
    const tn_val p = tn_add(q, tn_mul(0.005, tn_stack(tn_vals(da, db, dc, dd), 1)));
    next[0] = tn_div(p, tn_expand_dims(tn_sqrt(tn_sum_axis(tn_mul(p, p), 1)), 1));
}
VALUE(quaternions) {
    tn_val q = in[0], w[3] = {column(in[1], 0), column(in[1], 1), column(in[1], 2)};
    tn_fori(tn_val_ctx(q), 0, ((const int64_t *)user)[1], turn, w, 1, &q, &q, NULL);
    return q;
}
PROGRAM(make_quaternions) { return general_trace(c, quaternions, n, d, TN_ARGS(F(n[0], 4), F(n[0], 3))); }

/* how far the hand of a flat arm of n[0] joints is from (1, 2), and the gradient by the joints */
VALUE(arm) {
    (void)user;
    const tn_val a = tn_cumsum(in[0], 0), x = tn_sub(tn_sum(tn_cos(a)), 1.0), y = tn_sub(tn_sum(tn_sin(a)), 2.0);
    return tn_add(tn_mul(x, x), tn_mul(y, y));
}
PROGRAM(make_arm) {
    tn_fn *f = general_trace(c, arm, NULL, d, TN_ARGS(F(n[0])));
    return f ? tn_grad(f, tn_wrt(0), NULL) : NULL;
}

/* ---- points, kernels, losses ---- */

/* the centres of n[1] groups of n[0] points of n[2] numbers, after one step */
VALUE(k_means) {
    const int64_t k = ((const int64_t *)user)[1];
    const tn_val apart = tn_sub(tn_expand_dims(in[0], 1), tn_expand_dims(in[1], 0));
    const tn_val group = tn_argmin(tn_sum_axis(tn_mul(apart, apart), 2), 1);
    const tn_val many = tn_segment_sum(tn_ones_like(column(in[0], 0)), group, k);
    return tn_div(tn_segment_sum(in[0], group, k), tn_expand_dims(tn_maximum(many, 1.0), 1));
}
PROGRAM(make_k_means) { return general_trace(c, k_means, n, d, TN_ARGS(F(n[0], n[2]), F(n[1], n[2]))); }

/* a sparse matrix of n[0] entries times a vector: values, rows, columns */
VALUE(sparse_product) {
    const int64_t rows = ((const int64_t *)user)[1];
    return tn_segment_sum(tn_mul(in[0], tn_take(in[3], in[2], 0, TN_CLIP_INDICES)), in[1], rows);
}
PROGRAM(make_sparse_product) {
    return general_trace(c, sparse_product, n, d, TN_ARGS(F(n[0]), tn_i32(n[0]), tn_i32(n[0]), F(n[1])));
}

/* the density of n[0] points at n[1] places */
VALUE(density) {
    (void)user;
    const tn_val z = tn_mul(10.0, tn_sub(tn_expand_dims(in[1], 1), in[0]));
    return tn_mean_axis(tn_exp(tn_mul(-0.5, tn_mul(z, z))), 1);
}
PROGRAM(make_density) { return general_trace(c, density, NULL, d, TN_ARGS(F(n[0]), F(n[1]))); }

/* Gaussian kernels of n[0] points of n[1] numbers, times weights */
VALUE(kernel) {
    (void)user;
    const tn_val x = in[0], s = tn_sum_axis(tn_mul(x, x), 1);
    const tn_val d2 = tn_sub(tn_add(tn_expand_dims(s, 1), s), tn_mul(2.0, tn_matmul(x, tn_t(x))));
    return tn_matmul(tn_exp(tn_mul(-0.5, d2)), in[1]);
}
PROGRAM(make_kernel) { return general_trace(c, kernel, NULL, d, TN_ARGS(F(n[0], n[1]), F(n[0]))); }

/* attention of n[0] positions of n[1] numbers to those before them */
VALUE(attention) {
    const int64_t *n = user;
    const tn_val s = tn_mul(1 / 8.0, tn_matmul(in[0], tn_t(in[1])));
    tn_ctx *c = tn_val_ctx(s);
    const tn_val i = tn_arange(c, TN_I32, n[0]), before = tn_ge(tn_expand_dims(i, 1), i);
    return tn_matmul(tn_softmax(tn_where(before, s, -1e9), 1), in[2]);
}
PROGRAM(make_attention) {
    return general_trace(c, attention, n, d, TN_ARGS(F(n[0], n[1]), F(n[0], n[1]), F(n[0], n[1])));
}

/* n[0] numbers through a filter of 31 */
VALUE(filtered) {
    const int64_t n = *(const int64_t *)user;
    tn_val y = tn_mul(first(in[1], 0), tn_slice_axis(in[0], 0, n - 30, 1, 0));
    for (int k = 1; k < 31; k++) y = tn_add(y, tn_mul(first(in[1], k), tn_slice_axis(in[0], k, n - 30 + k, 1, 0)));
    return y;
}
PROGRAM(make_filtered) { return general_trace(c, filtered, n, d, TN_ARGS(F(n[0]), F(31))); }

/* the gradient of the cross entropy of n[0] rows of n[1] classes by their scores */
VALUE(cross_entropy) {
    const int64_t *n = user;
    const int dtype = tn_val_type(in[0]).dtype;
    const tn_val right = tn_sum_axis(tn_mul(tn_one_hot(in[1], n[1], (tn_dtype)dtype), in[0]), 1);
    return tn_mean(tn_sub(tn_logsumexp(in[0], 1), right));
}
PROGRAM(make_cross_entropy) {
    tn_fn *f = general_trace(c, cross_entropy, n, d, TN_ARGS(F(n[0], n[1]), tn_i32(n[0])));
    return f ? tn_grad(f, tn_wrt(0), NULL) : NULL;
}

/* the gradient of logistic regression: n[0] rows of n[1] numbers */
VALUE(likelihood) {
    (void)user;
    return tn_mean(tn_softplus(tn_neg(tn_mul(tn_sub(tn_mul(2.0, in[2]), 1.0), tn_matmul(in[0], in[1])))));
}
PROGRAM(make_likelihood) {
    tn_fn *f = general_trace(c, likelihood, NULL, d, TN_ARGS(F(n[0], n[1]), F(n[1]), F(n[0])));
    return f ? tn_grad(f, tn_wrt(1), NULL) : NULL;
}

BY_HAND(gray_scott);
BY_HAND(euler);
BY_HAND(limited);
BY_HAND(wave);
BY_HAND(lattice);
BY_HAND(triangles);
BY_HAND(viterbi);
BY_HAND(thomas);
BY_HAND(gru);
BY_HAND(asian);
BY_HAND(lorenz96);
BY_HAND(neuron);
BY_HAND(quaternions);
BY_HAND(arm);
BY_HAND(k_means);
BY_HAND(sparse_product);
BY_HAND(density);
BY_HAND(kernel);
BY_HAND(attention);
BY_HAND(filtered);
BY_HAND(cross_entropy);
BY_HAND(likelihood);

static const program list[] = {
    {GENERAL("gray_scott", gray_scott), make_gray_scott, .size = {{300, 300, 20}, {65, 33, 50}, {7, 7, 100}}, 0, 1},
    {GENERAL("euler", euler), make_euler, .size = {{5000, 100}, {65, 100}, {7, 100}}, 0.9, 1.1},
    {GENERAL("limited", limited), make_limited, .size = {{5000, 100}, {65, 100}, {7, 100}}, 0, 1},
    {GENERAL("wave", wave), make_wave, .size = {{100, 10}, {17, 50}}, 0, 1},
    {GENERAL("lattice", lattice), make_lattice, .size = {{200, 100, 10}, {17, 33, 20}}, 0.9, 1.1},
    {GENERAL("triangles", triangles), make_triangles, .size = {{100000, 50000}, {1000, 500}}, 0, 1, .below = 500},
    {GENERAL("viterbi", viterbi), make_viterbi, .size = {{64, 200}, {7, 1000}, {300, 20}}, 0, 1},
    {GENERAL("thomas", thomas), make_thomas, .size = {{100, 1000}, {1000, 7}, {65, 65}}, 0, 1},
    {GENERAL("gru", gru), make_gru, .size = {{32, 50, 16}, {7, 100, 1}, {128, 10, 65}}, -0.3, 0.3},
    {GENERAL("asian", asian), make_asian, .size = {{250, 10000}, {12, 65}}, -1, 1},
    {GENERAL("lorenz96", lorenz96), make_lorenz96, .size = {{40, 100}, {5000, 10}, {7, 300}}, 0, 1},
    {GENERAL("neuron", neuron), make_neuron, .size = {{1000, 100}, {7, 1000}}, 0, 1},
    {GENERAL("quaternions", quaternions), make_quaternions, .size = {{1000, 100}, {7, 1000}}, 0.1, 1},
    {GENERAL("arm", arm), make_arm, .size = {{7}, {65}, {5000}}, -0.5, 0.5},
    {GENERAL("k_means", k_means), make_k_means, .size = {{10000, 16, 8}, {1000, 7, 3}}, 0, 1},
    {GENERAL("sparse_product", sparse_product), make_sparse_product, .size = {{500000, 100000}, {5000, 500}}, 0, 1,
     .below = 500},
    {GENERAL("density", density), make_density, .size = {{5000, 200}, {65, 1000}}, 0, 1},
    {GENERAL("kernel", kernel), make_kernel, .size = {{500, 8}, {65, 3}}, 0, 1},
    {GENERAL("attention", attention), make_attention, .size = {{256, 64}, {65, 16}}, -1, 1},
    {GENERAL("filtered", filtered), make_filtered, .size = {{100000}, {1000}}, -1, 1},
    {GENERAL("cross_entropy", cross_entropy), make_cross_entropy, .size = {{1000, 100}, {65, 7}, {100, 5000}}, -1, 1,
     .below = 7},
    {GENERAL("likelihood", likelihood), make_likelihood, .size = {{10000, 20}, {65, 7}, {500, 1000}}, 0, 1},
};
const programs general_models = {sizeof list / sizeof *list, list};
