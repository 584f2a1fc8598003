/* Recurrences: cells, filters, small matrices, systems of equations, maps of numbers. */
#include "general.h"

#define PROGRAM(NAME) static tn_fn *NAME(tn_ctx *c, tn_dtype d, const int64_t *n)
#define F(...)        tn_f64(__VA_ARGS__)

static void scan(tn_scan_fn f, void *user, size_t ncarry, tn_val *carry, size_t nx, const tn_val *xs, size_t ny,
                 tn_val *ys) {
    tn_scan(tn_val_ctx(carry[0]), f, user, .ncarry = ncarry, .init = carry, .nx = nx, .xs = xs, .carry = carry,
            .ny = ny, .ys = ys);
}
static void steps(tn_fori_fn f, void *user, int64_t n, size_t ncarry, tn_val *carry) {
    tn_fori(tn_val_ctx(carry[0]), 0, n, f, user, ncarry, carry, carry, NULL);
}

/* a cell of n[0] units over n[1] inputs of as many numbers: W [4u, u], R [4u, u], b [4u] */
static void lstm_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const tn_val *w = user;
    const int64_t u = tn_val_type(carry[0]).dim[0];
    const tn_val z = tn_add(tn_add(tn_matmul(w[0], x[0]), tn_matmul(w[1], carry[0])), w[2]);
    const tn_val i = tn_sigmoid(tn_slice_axis(z, 0, u, 1, 0)), f = tn_sigmoid(tn_slice_axis(z, u, 2 * u, 1, 0)),
                 g = tn_tanh(tn_slice_axis(z, 2 * u, 3 * u, 1, 0)),
                 o = tn_sigmoid(tn_slice_axis(z, 3 * u, 4 * u, 1, 0));
    next[1] = tn_add(tn_mul(f, carry[1]), tn_mul(i, g));
    y[0] = next[0] = tn_mul(o, tn_tanh(next[1]));
}
static tn_val lstm(const tn_val *in, void *user) {
    (void)user;
    tn_val w[3] = {in[0], in[1], in[2]}, carry[2] = {in[3], in[4]}, y;
    scan(lstm_step, w, 2, carry, 1, &in[5], 1, &y);
    return y;
}
PROGRAM(make_lstm) {
    const int64_t u = n[0];
    return general_trace(c, lstm, NULL, d, TN_ARGS(F(4 * u, u), F(4 * u, u), F(4 * u), F(u), F(u), F(n[1], u)));
}

/* a filter of n[0] states and one observation a step */
static void kalman_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const tn_val *m = user, a = m[0], h = m[1]; /* [k, k], [k] */
    const int64_t k = tn_val_type(h).dim[0];
    const tn_val s = tn_matmul(a, carry[0]);
    const tn_val p = tn_add(tn_matmul(tn_matmul(a, carry[1]), tn_t(a)),
                            tn_mul(0.1, tn_eye(tn_val_ctx(s), (tn_dtype)tn_val_type(s).dtype, k, k)));
    const tn_val ph = tn_matmul(p, h), gain = tn_div(ph, tn_add(tn_dot(h, ph), 0.5));
    const tn_val r = tn_sub(x[0], tn_dot(h, s));
    next[0] = tn_add(s, tn_mul(gain, r));
    next[1] = tn_sub(p, tn_outer(gain, ph));
    y[0] = r;
}
static tn_val kalman(const tn_val *in, void *user) {
    (void)user;
    tn_val m[2] = {in[0], in[1]}, carry[2] = {in[2], in[3]}, y;
    scan(kalman_step, m, 2, carry, 1, &in[4], 1, &y);
    return y;
}
PROGRAM(make_kalman) {
    const int64_t k = n[0];
    return general_trace(c, kalman, NULL, d, TN_ARGS(F(k, k), F(k), F(k), F(k, k), F(n[1])));
}

/* products of many small matrices, scaled */
static void product_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)y, (void)user;
    const int64_t k = tn_val_type(carry[0]).dim[0];
    next[0] = tn_add(tn_mul(1.0 / (double)k, tn_matmul(carry[0], x[0])), tn_mul(0.5, x[0]));
}
static tn_val products(const tn_val *in, void *user) {
    (void)user;
    tn_val carry = in[0];
    scan(product_step, NULL, 1, &carry, 1, &in[1], 0, NULL);
    return carry;
}
PROGRAM(make_products) { return general_trace(c, products, NULL, d, TN_ARGS(F(n[0], n[0]), F(n[1], n[0], n[0]))); }

static void power_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    const tn_val y = tn_matmul(*(const tn_val *)user, carry[0]);
    next[0] = tn_div(y, tn_norm(y));
}
static tn_val power(const tn_val *in, void *user) {
    tn_val a = in[0], x = in[1];
    steps(power_step, &a, ((const int64_t *)user)[1], 1, &x);
    return x;
}
PROGRAM(make_power) { return general_trace(c, power, n, d, TN_ARGS(F(n[0], n[0]), F(n[0]))); }

static void logistic_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = tn_mul(tn_mul(3.2, carry[0]), tn_sub(1.0, carry[0]));
}
static tn_val logistic(const tn_val *in, void *user) {
    tn_val x = in[0];
    steps(logistic_step, NULL, *(const int64_t *)user, 1, &x);
    return x;
}
PROGRAM(make_logistic) { return general_trace(c, logistic, n, d, TN_ARGS(F())); }

/* Lorenz' equations, by Runge and Kutta; of one system, or of n[1] side by side */
static tn_val lorenz_field(tn_val s) {
    const tn_val x = tn_at(s, 0), y = tn_at(s, 1), z = tn_at(s, 2);
    return tn_stack(tn_vals(tn_mul(10.0, tn_sub(y, x)), tn_sub(tn_mul(x, tn_sub(28.0, z)), y),
                            tn_sub(tn_mul(x, y), tn_mul(8.0 / 3, z))),
                    0);
}
static void lorenz_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const double h = 0.001;
    const tn_val s = carry[0], k1 = lorenz_field(s), k2 = lorenz_field(tn_add(s, tn_mul(h / 2, k1))),
                 k3 = lorenz_field(tn_add(s, tn_mul(h / 2, k2))), k4 = lorenz_field(tn_add(s, tn_mul(h, k3)));
    next[0] = tn_add(s, tn_mul(h / 6, tn_add(tn_add(k1, tn_mul(2.0, tn_add(k2, k3))), k4)));
}
static tn_val lorenz(const tn_val *in, void *user) {
    tn_val s = in[0];
    steps(lorenz_step, NULL, *(const int64_t *)user, 1, &s);
    return s;
}
PROGRAM(make_lorenz) {
    return n[1] > 1 ? general_trace(c, lorenz, n, d, TN_ARGS(F(3, n[1])))
                    : general_trace(c, lorenz, n, d, TN_ARGS(F(3)));
}

/* a tridiagonal system: down, then up */
static void down(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user; /* x: below, diagonal, above, right-hand side; carry: above', right-hand side' of the row before */
    const tn_val m = tn_reciprocal(tn_sub(x[1], tn_mul(x[0], carry[0])));
    y[0] = next[0] = tn_mul(m, x[2]);
    y[1] = next[1] = tn_mul(m, tn_sub(x[3], tn_mul(x[0], carry[1])));
}
static void up(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    y[0] = next[0] = tn_sub(x[1], tn_mul(x[0], carry[0]));
}
static tn_val tridiagonal(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    const int dtype = tn_val_type(in[0]).dtype;
    const tn_val zero = tn_zeros(c, (tn_type){.dtype = dtype});
    tn_val carry[2] = {zero, zero}, ys[2], x, last = zero;
    const tn_val xs[4] = {in[0], tn_add(3.0, in[1]), in[2], in[3]};
    scan(down, NULL, 2, carry, 4, xs, 2, ys);
    const tn_loop_options o = {.size = sizeof o, .reverse = true};
    tn_scan(c, up, NULL, .ncarry = 1, .init = &last, .nx = 2, .xs = ys, .ny = 1, .ys = &x, .reverse = o.reverse);
    return x;
}
PROGRAM(make_tridiagonal) {
    return general_trace(c, tridiagonal, NULL, d, TN_ARGS(F(n[0]), F(n[0]), F(n[0]), F(n[0])));
}

static void average_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    y[0] = next[0] = tn_add(tn_mul(0.9, carry[0]), tn_mul(0.1, x[0]));
}
static tn_val average(const tn_val *in, void *user) {
    (void)user;
    tn_val carry = tn_zeros(tn_val_ctx(in[0]), (tn_type){.dtype = tn_val_type(in[0]).dtype}), y;
    scan(average_step, NULL, 1, &carry, 1, in, 1, &y);
    return y;
}
static tn_val average_loss(const tn_val *in, void *user) { return tn_sum_squares(average(in, user)); }
PROGRAM(make_average) { return general_trace(c, average, NULL, d, TN_ARGS(F(n[0]))); }
PROGRAM(make_average_grad) {
    tn_fn *f = general_trace(c, average_loss, NULL, d, TN_ARGS(F(n[0])));
    return f ? tn_grad(f, NULL, NULL) : NULL;
}

/* points of a plane that stay small: n[1] steps of an array */
static void julia_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val x = carry[0], y = carry[1], in_side = tn_lt(tn_add(tn_square(x), tn_square(y)), 4.0);
    next[0] = tn_where(in_side, tn_sub(tn_add(tn_square(x), -0.4), tn_square(y)), x);
    next[1] = tn_where(in_side, tn_add(tn_mul(2.0, tn_mul(x, y)), 0.6), y);
    next[2] = tn_add(carry[2], tn_convert(in_side, (tn_dtype)tn_val_type(x).dtype));
}
static tn_val julia(const tn_val *in, void *user) {
    tn_val carry[3] = {in[0], in[1], tn_zeros_like(in[0])};
    steps(julia_step, NULL, ((const int64_t *)user)[1], 3, carry);
    return carry[2];
}
PROGRAM(make_julia) { return general_trace(c, julia, n, d, TN_ARGS(F(n[0]), F(n[0]))); }

/* Newton's method until it has settled: a while loop of scalars for each of a few equations, mapped */
static tn_val unsettled(const tn_val *in, void *user) {
    (void)user;
    return tn_gt(tn_abs(tn_sub(tn_square(in[0]), in[1])), 1e-6);
}
static void newton_step(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(0.5, tn_add(in[0], tn_div(in[1], in[0])));
    out[1] = in[1];
}
static tn_val newton(const tn_val *in, void *user) {
    (void)user;
    tn_val x[2] = {tn_full_like(in[0], 1.0), in[0]};
    tn_while_loop(tn_val_ctx(in[0]), unsettled, newton_step, NULL, 2, x, x, NULL);
    return x[0];
}
PROGRAM(make_newton) {
    tn_fn *f = general_trace(c, newton, NULL, d, TN_ARGS(F()));
    return f ? tn_vmap(f, n[0], NULL, NULL) : NULL;
}

/* n[0] midpoint steps of a point around a mass, its state one array; and what the last one owes to the first */
static tn_val orbit_slope(tn_val s) {
    const tn_val x = tn_at(s, 0), y = tn_at(s, 1), r2 = tn_add(tn_square(x), tn_square(y));
    const tn_val q = tn_div(-1.0, tn_mul(r2, tn_sqrt(r2)));
    return tn_stack(tn_vals(tn_at(s, 2), tn_at(s, 3), tn_mul(q, x), tn_mul(q, y)), 0);
}
static void orbit_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val middle = tn_add(carry[0], tn_mul(0.005, orbit_slope(carry[0])));
    next[0] = tn_add(carry[0], tn_mul(0.01, orbit_slope(middle)));
}
static tn_val orbit(const tn_val *in, void *user) {
    tn_val carry = in[0];
    steps(orbit_step, NULL, ((const int64_t *)user)[0], 1, &carry);
    return tn_sum_squares(carry);
}
PROGRAM(make_orbit_grad) {
    tn_fn *f = general_trace(c, orbit, n, d, TN_ARGS(F(4)));
    return f ? tn_grad(f, NULL, NULL) : NULL;
}

BY_HAND(lstm);
BY_HAND(kalman);
BY_HAND(products);
BY_HAND(power);
BY_HAND(logistic);
BY_HAND(lorenz);
BY_HAND(tridiagonal);
BY_HAND(average);
BY_HAND(average_grad);
BY_HAND(julia);
BY_HAND(newton);
BY_HAND(orbit_grad);

static const program list[] = {
    {GENERAL("lstm", lstm), make_lstm, .size = {{8, 1000}, {17, 500}, {64, 200}}, -0.3, 0.3},
    {GENERAL("kalman", kalman), make_kalman, .size = {{4, 1000}, {7, 300}, {16, 100}}, -0.4, 0.4},
    {GENERAL("products", products), make_products, .size = {{3, 10000}, {4, 1000}, {16, 300}}, -1, 1},
    {GENERAL("power", power), make_power, .size = {{16, 1000}, {65, 200}}, 0.1, 1},
    {GENERAL("logistic", logistic), make_logistic, .size = {{100000}}, 0.3, 0.4},
    {GENERAL("lorenz", lorenz), make_lorenz, .size = {{1000, 1}, {1000, 65}}, 0.5, 1.5},
    {GENERAL("tridiagonal", tridiagonal), make_tridiagonal, .size = {{100000}, {1000}}, 0.1, 1},
    {GENERAL("average", average), make_average, .size = {{100000}, {1000}}, 0, 1},
    {GENERAL("average_grad", average_grad), make_average_grad, .size = {{100000}, {1000}}, 0, 1},
    {GENERAL("julia", julia), make_julia, .size = {{10000, 100}, {65, 100}}, -1.5, 1.5, .tolerance64 = 1,
     .tolerance32 = 1},
    {GENERAL("newton", newton), make_newton, .size = {{10000}, {65}}, 0.5, 2, .tolerance64 = 1e-3, .tolerance32 = 1e-3},
    {GENERAL("orbit_grad", orbit_grad), make_orbit_grad, .size = {{1000}}, 0.7, 1.1},
};
const programs general_loops = {sizeof list / sizeof *list, list};
