/* Three programs whose plans are known (tests/unit/workloads.c, bench/policies.c), in f32: six layers of 512
 * on 256 rows; thirty elementwise operations around two products of 512 x 512; a transformer block of width 128
 * with 4 heads on 4 sequences of 128. */
#ifndef TN_WORKLOADS_H
#define TN_WORKLOADS_H

#include <tansy.h>

#include <math.h>

enum { WORKLOADS = 3, WORKLOAD_INPUTS = 13 };

typedef struct workload {
    const char *name;
    tn_val (*f)(const tn_val *in, void *user);
    size_t nin, nwrt;
    int wrt[WORKLOAD_INPUTS];
    tn_type in[WORKLOAD_INPUTS];
    double scale[WORKLOAD_INPUTS]; /* inputs are sampled from [-scale, scale] */
    double bytes;                  /* residuals, inputs not counted, that do without another transcendental */
} workload;

enum { MLP_LAYERS = 6, HEADS = 4 };

/* in: weights and biases, then the data. */
static inline tn_val workload_mlp(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[2 * MLP_LAYERS];
    for (int k = 0; k < MLP_LAYERS; k++) {
        x = tn_add(tn_matmul(x, in[k]), in[MLP_LAYERS + k]);
        if (k + 1 < MLP_LAYERS) x = tn_tanh(x);
    }
    return tn_sum(tn_mul(x, x));
}

static inline tn_val workload_ten(tn_val x) {
    for (int i = 0; i < 3; i++) x = tn_exp(tn_sin(tn_tanh(x)));
    return tn_tanh(x);
}

/* in: two weights, then the data. */
static inline tn_val workload_chain(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = workload_ten(tn_matmul(workload_ten(in[2]), in[0]));
    return tn_sum(workload_ten(tn_matmul(x, in[1])));
}

static inline tn_val workload_norm(tn_val x, tn_val gain, tn_val bias) {
    const tn_val d = tn_sub(x, tn_mean_axis(x, 2, TN_KEEPDIMS));
    const tn_val r = tn_rsqrt(tn_add(tn_mean_axis(tn_square(d), 2, TN_KEEPDIMS), 1e-5));
    return tn_add(tn_mul(tn_mul(d, r), gain), bias);
}

static inline tn_val workload_attention(tn_val x, tn_val wq, tn_val wk, tn_val wv, tn_val wo) {
    const int64_t b = tn_dim(x, 0), s = tn_dim(x, 1), d = tn_dim(x, 2), h = d / HEADS;
    const tn_val q = tn_permute(tn_reshape(tn_matmul(x, wq), b, s, HEADS, h), 0, 2, 1, 3);
    const tn_val k = tn_permute(tn_reshape(tn_matmul(x, wk), b, s, HEADS, h), 0, 2, 3, 1);
    const tn_val v = tn_permute(tn_reshape(tn_matmul(x, wv), b, s, HEADS, h), 0, 2, 1, 3);
    const tn_val p = tn_softmax(tn_mul(tn_matmul(q, k), 1 / sqrt((double)h)), 3);
    const tn_val y = tn_reshape(tn_permute(tn_matmul(p, v), 0, 2, 1, 3), b, s, d);
    return tn_matmul(y, wo);
}

/* in: x; gain and bias; queries, keys, values, output; gain and bias; two layers with biases. */
static inline tn_val workload_transformer(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_add(in[0], workload_attention(workload_norm(in[0], in[1], in[2]), in[3], in[4], in[5], in[6]));
    const tn_val h = tn_gelu_tanh(tn_add(tn_matmul(workload_norm(x, in[7], in[8]), in[9]), in[10]));
    return tn_sum_squares(tn_add(x, tn_add(tn_matmul(h, in[11]), in[12])));
}

static inline void workload_input(workload *w, bool active, double scale, tn_type type) {
    if (active) w->wrt[w->nwrt++] = (int)w->nin;
    w->scale[w->nin] = scale;
    w->in[w->nin++] = type;
}

static inline workload workload_of(int which) {
    workload w = {.name = "mlp", .f = workload_mlp, .bytes = 3145728};
    const int64_t d = which == 2 ? 128 : 512, wide = 4 * d;
    const double scale = sqrt(3 / (double)d);
    if (which == 0) {
        for (int k = 0; k < MLP_LAYERS; k++) workload_input(&w, true, scale, tn_f32(d, d));
        for (int k = 0; k < MLP_LAYERS; k++) workload_input(&w, true, 0.1, tn_f32(d));
        workload_input(&w, false, 1.7, tn_f32(256, d));
        return w;
    }
    if (which == 1) {
        w = (workload){.name = "chain", .f = workload_chain, .bytes = 22020096};
        for (int k = 0; k < 2; k++) workload_input(&w, true, scale, tn_f32(d, d));
        workload_input(&w, false, 1.7, tn_f32(d, d));
        return w;
    }
    w = (workload){.name = "transformer", .f = workload_transformer, .bytes = 4737024};
    workload_input(&w, true, 1.7, tn_f32(4, 128, d));
    for (int k = 0; k < 2; k++) {
        workload_input(&w, true, 1, tn_f32(d));
        workload_input(&w, true, 0.1, tn_f32(d));
        for (int i = 0; k == 0 && i < 4; i++) workload_input(&w, true, scale, tn_f32(d, d));
    }
    workload_input(&w, true, scale, tn_f32(d, wide));
    workload_input(&w, true, 0.1, tn_f32(wide));
    workload_input(&w, true, scale / 2, tn_f32(wide, d));
    workload_input(&w, true, 0.1, tn_f32(d));
    return w;
}

#endif
