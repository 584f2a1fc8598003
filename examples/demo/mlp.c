/* The model: 64 pixels, 128 hidden units, 10 classes.  tanh is smooth, so that
 * finite differences can judge the gradient everywhere. */
#include "demo.h"

#include <tansy/optim.h>

#include <math.h>

enum { X = mlp_arrays, Y }; /* behind the parameters */

/* Glorot's uniform weights, zero biases. */
static void init_weights(rng *r, double *w, int in, int out) {
    const double bound = sqrt(6.0 / (in + out));
    for (int i = 0; i < in * out; i++) w[i] = bound * (2 * rng_uniform(r) - 1);
}

void mlp_init(rng *r, mlp *p) {
    *p = (mlp){0};
    init_weights(r, p->w1[0], PIXELS, HIDDEN);
    init_weights(r, p->w2[0], HIDDEN, CLASSES);
}

void digit(const table *digits, size_t i, double x[PIXELS], int32_t *y) {
    const double *row = &digits->cell[i * digits->cols];
    for (int j = 0; j < PIXELS; j++) x[j] = row[j] / 16;
    *y = (int32_t)row[PIXELS];
}

/* One score per class for each row of x. */
static tn_val scores(const tn_val *in) {
    tn_ctx *c = tn_val_ctx(in[X]);
    const mlp_vals *p = TN_STRUCT_VALS(mlp, in);
    tn_val h = in[X], z = h;
    tn_scope(c, "hidden") h = tn_tanh(tn_add(tn_matmul(in[X], p->w1), p->b1));
    tn_scope(c, "scores") z = tn_add(tn_matmul(h, p->w2), p->b2);
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
    return tn_trace(c, loss, NULL, TN_STRUCT_ARGS(mlp, tn_f64(rows, PIXELS), tn_i32(rows)));
}

tn_fn *mlp_evaluate(tn_ctx *c, int64_t rows) {
    return tn_trace_many(c, evaluate, NULL, TN_STRUCT_ARGS(mlp, tn_f64(rows, PIXELS), tn_i32(rows)), 2);
}

/* A step of Adam (Kingma and Ba, 2015) on all parameters, whose rate falls to zero along a cosine over all steps: in
 * mlp, x, y, adam; out loss, mlp, adam. */
tn_fn *mlp_step(tn_ctx *c, int64_t rows, int64_t steps) {
    const tn_optim rule = {
        .size = sizeof rule, .rule = TN_ADAM, .rate = {.kind = TN_RATE_COSINE, .value = 2e-3, .steps = steps}};
    tn_fn *f = mlp_loss(c, rows), *s = tn_optim_step(f, TN_STRUCT_WRT(mlp, 0), &rule, NULL);
    tn_fn_free(f);
    return s;
}
