/* The model: 64 pixels, 128 hidden units, 10 classes.  tanh is smooth, so that
 * finite differences can judge the gradient everywhere. */
#include "demo.h"

#include <tansy/optim.h>

#include <math.h>

enum { W1, B1, W2, B2, X, Y };

static tn_type parameter(int i) {
    switch (i) {
    case W1: return tn_f64(PIXELS, HIDDEN);
    case B1: return tn_f64(HIDDEN);
    case W2: return tn_f64(HIDDEN, CLASSES);
    default: return tn_f64(CLASSES);
    }
}

/* Glorot's uniform weights, zero biases. */
static void init_weights(rng *r, double *w, int in, int out) {
    const double bound = sqrt(6.0 / (in + out));
    for (int i = 0; i < in * out; i++) w[i] = bound * (2 * rng_uniform(r) - 1);
}

void mlp_init(rng *r, mlp_parameters *p) {
    *p = (mlp_parameters){0};
    init_weights(r, p->part.w1, PIXELS, HIDDEN);
    init_weights(r, p->part.w2, HIDDEN, CLASSES);
}

void mlp_inputs(const mlp_parameters *p, const void *in[PARAMETERS]) {
    in[W1] = p->part.w1;
    in[B1] = p->part.b1;
    in[W2] = p->part.w2;
    in[B2] = p->part.b2;
}

void mlp_outputs(mlp_parameters *p, void *out[PARAMETERS]) {
    out[W1] = p->part.w1;
    out[B1] = p->part.b1;
    out[W2] = p->part.w2;
    out[B2] = p->part.b2;
}

void digit(const table *digits, size_t i, double x[PIXELS], int32_t *y) {
    const double *row = &digits->cell[i * digits->cols];
    for (int j = 0; j < PIXELS; j++) x[j] = row[j] / 16;
    *y = (int32_t)row[PIXELS];
}

/* One score per class for each row of x. */
static tn_val scores(const tn_val *in) {
    tn_ctx *c = tn_val_ctx(in[X]);
    tn_val h = in[X], z = h;
    tn_scope(c, "hidden") h = tn_tanh(tn_add(tn_matmul(in[X], in[W1]), in[B1]));
    tn_scope(c, "scores") z = tn_add(tn_matmul(h, in[W2]), in[B2]);
    return z;
}

/* The mean of -ln softmax(z)[y]. */
static tn_val cross_entropy(tn_val z, tn_val y) { return tn_mean(tn_sub(tn_logsumexp(z, 1), tn_take_along(z, y, 1))); }

static tn_val loss(const tn_val *in, void *user) {
    (void)user;
    return cross_entropy(scores(in), in[Y]);
}

static void evaluate(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    tn_val z = scores(in);
    out[0] = cross_entropy(z, in[Y]);
    out[1] = tn_mul(100, tn_mean(tn_convert(tn_eq(tn_argmax(z, 1), in[Y]), TN_F64)));
}

tn_fn *mlp_loss(tn_ctx *c, int64_t rows) {
    return tn_trace(
        c, loss, NULL,
        TN_ARGS(parameter(W1), parameter(B1), parameter(W2), parameter(B2), tn_f64(rows, PIXELS), tn_i32(rows)));
}

tn_fn *mlp_evaluate(tn_ctx *c, int64_t rows) {
    return tn_trace_many(
        c, evaluate, NULL,
        TN_ARGS(parameter(W1), parameter(B1), parameter(W2), parameter(B2), tn_f64(rows, PIXELS), tn_i32(rows)), 2);
}

/* A step of Adam (Kingma and Ba, 2015) on all parameters, whose rate falls to zero along a cosine over all steps: in
 * p.., x, y, count, m.., v..; out loss, p.., count, m.., v.. */
tn_fn *mlp_step(tn_ctx *c, int64_t rows, int64_t steps) {
    const tn_optim adam = {
        .size = sizeof adam, .rule = TN_ADAM, .rate = {.kind = TN_RATE_COSINE, .value = 2e-3, .steps = steps}};
    tn_fn *f = mlp_loss(c, rows), *s = tn_optim_step(f, tn_wrt(W1, B1, W2, B2), &adam, NULL);
    tn_fn_free(f);
    return s;
}
