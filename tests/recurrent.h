/* Programs with loops whose residuals are known (tests/unit/entering.c, bench/lstm.c, bench/stencil.c): an LSTM over 64
 * steps in f32, batch 32 and width 128, and Burgers' equation on a ring in f64. */
#ifndef TN_RECURRENT_H
#define TN_RECURRENT_H

#include <tansy.h>
#include <tansy/loops.h>

enum { LSTM_STEPS = 64, LSTM_BATCH = 32, LSTM_WIDTH = 128 };

typedef struct lstm {
    const tn_val *in;
    const char *schedule; /* or NULL */
    int64_t steps, batch, width;
} lstm;

/* carry: h, c; x: [batch, width] */
static inline void lstm_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const lstm *m = user;
    const int64_t n = m->width;
    tn_val gate[4];
    (void)y;
    const tn_val z = tn_add(tn_add(tn_matmul(carry[0], m->in[0]), tn_matmul(x[0], m->in[1])), m->in[2]);
    for (int64_t k = 0; k < 4; k++) gate[k] = tn_slice_axis(z, k * n, (k + 1) * n, 1, 1);
    const tn_val i = tn_logistic(gate[0]), f = tn_logistic(gate[1]), o = tn_logistic(gate[2]), u = tn_tanh(gate[3]);
    next[1] = tn_add(tn_mul(f, carry[1]), tn_mul(i, u));
    next[0] = tn_mul(o, tn_tanh(next[1]));
}

/* in: weights of h and of x, [width, 4 width] each, biases [4 width], x [steps, batch, width], h and c [batch, width]
 */
static inline tn_val lstm_loss(const tn_val *in, void *user) {
    lstm m = *(const lstm *)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m.schedule};
    tn_val out[2];
    m.in = in;
    tn_scan(NULL, lstm_step, &m, .ncarry = 2, .init = in + 4, .nx = 1, .xs = in + 3, .carry = out,
            .schedule = o.schedule);
    return tn_sum_squares(out[0]);
}

static inline tn_fn *lstm_traced(tn_ctx *c, const lstm *m) {
    const int64_t t = m->steps, b = m->batch, n = m->width;
    return tn_trace(
        c, lstm_loss, (void *)(uintptr_t)m, 6,
        TN_TYPES(tn_f32(n, 4 * n), tn_f32(n, 4 * n), tn_f32(4 * n), tn_f32(t, b, n), tn_f32(b, n), tn_f32(b, n)));
}

/* u <- u - a u (u[+1] - u[-1]) + b (u[+1] - 2 u + u[-1]), explicit, on a ring. */
static inline void burgers_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_val u = carry[0], right = tn_roll(u, -1, 0), left = tn_roll(u, 1, 0);
    const tn_val moved = tn_mul(0.1, tn_mul(u, tn_sub(right, left)));
    next[0] = tn_add(tn_sub(u, moved), tn_mul(0.2, tn_add(tn_sub(right, tn_mul(2, u)), left)));
}

typedef struct burgers {
    const char *schedule;
    int64_t steps;
} burgers;

/* in: u0; the sum of u^2 after all steps */
static inline tn_val burgers_loss(const tn_val *in, void *user) {
    const burgers *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    tn_val u;
    tn_fori(NULL, 0, m->steps, burgers_step, NULL, 1, in, &u, &o);
    return tn_sum_squares(u);
}

#endif
