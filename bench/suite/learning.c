/* Learning: a step of gradient descent, logistic regression, a transformer block, a convolutional network. */
#include "suite.h"

#include "workloads.h"

/* ---- 784-512-512-10, batch 256 ----------------------------------------------------------------------------------- */

static const long LAYER[MLP_DEPTH + 1] = {784, 512, 512, 10};

/* in: weights, biases, x, labels */
static tn_val mlp_loss(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[2 * MLP_DEPTH];
    for (int k = 0; k < MLP_DEPTH; k++) {
        x = tn_add(tn_matmul(x, in[k]), in[MLP_DEPTH + k]);
        if (k + 1 < MLP_DEPTH) x = tn_tanh(x);
    }
    return tn_neg(tn_mean(tn_take_along(tn_log_softmax(x, 1), in[2 * MLP_DEPTH + 1], 1)));
}

/* user: the gradient */
static void mlp_step(const tn_val *in, tn_val *out, void *user) {
    tn_val g[2 * MLP_DEPTH];
    tn_apply_many(user, 2 * MLP_DEPTH + 2, in, 2 * MLP_DEPTH, g);
    for (int k = 0; k < 2 * MLP_DEPTH; k++) out[k] = tn_sub(in[k], tn_mul(g[k], 0.01));
}

typedef struct mlp {
    const float *w[MLP_DEPTH], *b[MLP_DEPTH], *x;
    const int32_t *label;
    float *work, *new_w[MLP_DEPTH], *new_b[MLP_DEPTH];
} mlp;

static void mlp_by_hand(void *data) {
    const mlp *m = data;
    c_mlp_step(m->w, m->b, m->x, m->label, m->work, m->new_w, m->new_b);
}

void suite_mlp(bench *b) {
    if (!bench_wants(b, "mlp")) return;
    tn_type type[2 * MLP_DEPTH + 2];
    const void *in[2 * MLP_DEPTH + 2];
    void *want[2 * MLP_DEPTH];
    mlp m = {.work = bench_memory(b, MLP_WORK * 4)};
    for (int k = 0; k < MLP_DEPTH; k++) {
        const size_t n = (size_t)(LAYER[k] * LAYER[k + 1]), width = (size_t)LAYER[k + 1];
        float *w = bench_memory(b, n * 4), *bias = bench_memory(b, width * 4);
        const double scale = sqrt(3 / (double)LAYER[k]);
        bench_fill_f32(w, n, -scale, scale, (uint64_t)k);
        bench_fill_f32(bias, width, -0.1, 0.1, (uint64_t)k + 10);
        in[k] = m.w[k] = w;
        in[MLP_DEPTH + k] = m.b[k] = bias;
        want[k] = m.new_w[k] = bench_memory(b, n * 4);
        want[MLP_DEPTH + k] = m.new_b[k] = bench_memory(b, width * 4);
        type[k] = tn_f32(LAYER[k], LAYER[k + 1]);
        type[MLP_DEPTH + k] = tn_f32(LAYER[k + 1]);
    }
    float *x = bench_memory(b, MLP_BATCH * 784 * 4);
    int32_t *label = bench_memory(b, MLP_BATCH * 4);
    bench_fill_f32(x, MLP_BATCH * 784, -1.7, 1.7, 99);
    for (int i = 0; i < MLP_BATCH; i++) label[i] = 7 * i % 10;
    in[2 * MLP_DEPTH] = m.x = x;
    in[2 * MLP_DEPTH + 1] = m.label = label;
    type[2 * MLP_DEPTH] = tn_f32(MLP_BATCH, 784);
    type[2 * MLP_DEPTH + 1] = tn_i32(MLP_BATCH);
    tn_fn *f = tn_trace(bench_ctx(b), mlp_loss, NULL, 2 * MLP_DEPTH + 2, type);
    tn_fn *g = tn_grad(f, tn_wrt(0, 1, 2, 3, 4, 5), NULL);
    bench_run(b, &(bench_case){
                     .workload = "mlp",
                     .variant = "step",
                     .n = MLP_BATCH,
                     .dtype = TN_F32,
                     .fn = g ? tn_trace_many(bench_ctx(b), mlp_step, g, 2 * MLP_DEPTH + 2, type, 2 * MLP_DEPTH) : NULL,
                     .in = in,
                     .c = mlp_by_hand,
                     .data = &m,
                     .want = want,
                     .tolerance = 1e-5,
                     .bar = 1.05});
}

/* ---- logistic regression
 * --------------------------------------------------------------------------------------------- */

enum { ROWS = 2000, COLUMNS = 500 };

/* in: A, y, w */
static tn_val logreg(const tn_val *in, void *user) {
    (void)user;
    return tn_mean(tn_softplus(tn_mul(tn_neg(in[1]), tn_matmul(in[0], in[2]))));
}

typedef struct regression {
    const double *a, *y, *w, *v;
    double *out, *work;
} regression;

static void logreg_f(void *data) {
    const regression *r = data;
    c_logreg_f(ROWS, COLUMNS, r->a, r->y, r->w, r->out);
}
static void logreg_grad(void *data) {
    const regression *r = data;
    c_logreg_grad(ROWS, COLUMNS, r->a, r->y, r->w, r->out);
}
static void logreg_hvp(void *data) {
    const regression *r = data;
    c_logreg_hvp(ROWS, COLUMNS, r->a, r->y, r->w, r->v, r->out);
}
static void logreg_grad_products(void *data) {
    const regression *r = data;
    c_logreg_grad_products(ROWS, COLUMNS, r->a, r->y, r->w, r->work, r->out);
}
static void logreg_hvp_products(void *data) {
    const regression *r = data;
    c_logreg_hvp_products(ROWS, COLUMNS, r->a, r->y, r->w, r->v, r->work, r->out);
}

void suite_logreg(bench *b) {
    if (!bench_wants(b, "logreg")) return;
    double *a = bench_memory(b, ROWS * COLUMNS * 8), *y = bench_memory(b, ROWS * 8), *w = bench_memory(b, COLUMNS * 8);
    double *v = bench_memory(b, COLUMNS * 8);
    regression r = {.a = a, .y = y, .w = w, .v = v};
    r.out = bench_memory(b, COLUMNS * 8);
    r.work = bench_memory(b, 2 * ROWS * 8);
    bench_fill_f64(a, ROWS * COLUMNS, -1.7, 1.7, 1);
    bench_fill_f64(w, COLUMNS, -0.17, 0.17, 2);
    bench_fill_f64(v, COLUMNS, -1, 1, 3);
    for (int i = 0; i < ROWS; i++) y[i] = i * 37 % 11 < 5 ? -1 : 1;
    tn_fn *f = tn_trace(bench_ctx(b), logreg, NULL, TN_ARGS(tn_f64(ROWS, COLUMNS), tn_f64(ROWS), tn_f64(COLUMNS)));
    bench_case c = {.workload = "logreg", .n = COLUMNS, .dtype = TN_F64, .data = &r, .bar = 1.1, .tolerance = 1e-12};
    c.in = TN_RAW_INPUTS(a, y, w, v), c.want = TN_RAW_OUTPUTS(r.out);
    c.variant = "f", c.fn = f, c.c = logreg_f;
    bench_run(b, &c);
    c.other_name = "products";
    c.variant = "grad", c.fn = tn_grad(f, tn_wrt(2), NULL), c.c = logreg_grad, c.other = logreg_grad_products;
    bench_run(b, &c);
    c.variant = "hvp", c.fn = tn_hvp(f, tn_wrt(2), NULL), c.c = logreg_hvp, c.other = logreg_hvp_products;
    bench_run(b, &c);
}

/* ---- a transformer block: beside JAX only
 * ------------------------------------------------------------------------------ */

void suite_transformer(bench *b) {
    if (!bench_wants(b, "transformer")) return;
    const workload w = workload_of(2);
    const void *in[WORKLOAD_INPUTS];
    tn_fn *f = tn_trace(bench_ctx(b), w.f, NULL, w.nin, w.in);
    for (size_t i = 0; i < w.nin; i++) {
        float *x = bench_memory(b, tn_type_bytes(&w.in[i]));
        bench_fill_f32(x, tn_type_elements(&w.in[i]), -w.scale[i], w.scale[i], i);
        in[i] = x;
    }
    bench_run(b, &(bench_case){.workload = "transformer",
                               .variant = "grad",
                               .n = 128,
                               .dtype = TN_F32,
                               .fn = tn_grad(f, &(const tn_wrt_list){w.nwrt, w.wrt}, NULL),
                               .in = in});
}

/* ---- two convolutions with pooling, and a dense layer: beside JAX only
 * ----------------------------------------------- */

/* in: x, and a kernel and a bias for each layer */
static tn_val cnn_loss(const tn_val *in, void *user) {
    (void)user;
    const tn_conv_how same = {.same = true};
    const tn_window two = {.sizes = tn_ints(1, 2, 2, 1), .strides = tn_ints(1, 2, 2, 1)};
    tn_val x = in[0];
    for (int k = 0; k < 2; k++) {
        x = tn_relu(tn_add(tn_conv(x, in[1 + 2 * k], "NHWC,HWIO->NHWC", &same), in[2 + 2 * k]));
        x = tn_max_pool(x, &two);
    }
    const tn_val z = tn_add(tn_matmul(tn_reshape(x, 32, -1), in[5]), in[6]);
    return tn_neg(tn_mean(tn_slice_axis(tn_log_softmax(z, 1), 3, 4, 1, 1)));
}

void suite_cnn(bench *b) {
    if (!bench_wants(b, "cnn")) return;
    const tn_type type[7] = {tn_f32(32, 28, 28, 1), tn_f32(3, 3, 1, 32), tn_f32(32), tn_f32(3, 3, 32, 64), tn_f32(64),
                             tn_f32(3136, 10),      tn_f32(10)};
    const double scale[7] = {1, 0.5, 0.1, 0.1, 0.1, 0.03, 0.1};
    const void *in[7];
    tn_fn *f = tn_trace(bench_ctx(b), cnn_loss, NULL, 7, type);
    for (size_t i = 0; i < 7; i++) {
        float *x = bench_memory(b, tn_type_bytes(&type[i]));
        bench_fill_f32(x, tn_type_elements(&type[i]), -scale[i], scale[i], i);
        in[i] = x;
    }
    bench_run(b, &(bench_case){.workload = "cnn",
                               .variant = "grad",
                               .n = 32,
                               .dtype = TN_F32,
                               .fn = tn_grad(f, tn_wrt(1, 2, 3, 4, 5, 6), NULL),
                               .in = in});
}
