/* Long chains over arrays: transcendental functions, and operations that cost next to nothing. */
#include "suite.h"

typedef struct arrays {
    long n;
    void *x, *y, *out, *out2;
} arrays;

static const long SIZE[] = {1000, 100000, 10000000};
enum { SIZES = sizeof SIZE / sizeof *SIZE };

/* Of n numbers. */
static tn_type array_of(tn_dtype dtype, long n) { return tn_type_of(dtype, 1, &(int64_t){n}); }

static void fill(tn_dtype dtype, void *x, long n, double lo, double hi, uint64_t seed) {
    if (dtype == TN_F32)
        bench_fill_f32(x, (size_t)n, lo, hi, seed);
    else
        bench_fill_f64(x, (size_t)n, lo, hi, seed);
}

/* ---- sum(tanh(sin(x) exp(-x^2) + x)) --------------------------------------------------------------------------- */

static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = in[0];
    return tn_sum(tn_tanh(tn_add(tn_mul(tn_sin(x), tn_exp(tn_neg(tn_square(x)))), x)));
}

static void chain_f_f32(void *data) {
    const arrays *a = data;
    c_chain_f_f32(a->n, a->x, a->out);
}
static void chain_f_f64(void *data) {
    const arrays *a = data;
    c_chain_f_f64(a->n, a->x, a->out);
}
static void chain_grad_f32(void *data) {
    const arrays *a = data;
    c_chain_grad_f32(a->n, a->x, a->out);
}
static void chain_grad_f64(void *data) {
    const arrays *a = data;
    c_chain_grad_f64(a->n, a->x, a->out);
}

static void chain_of(bench *b, tn_dtype dtype, long n) {
    const size_t bytes = (size_t)n * (dtype == TN_F32 ? 4 : 8);
    arrays a = {.n = n, .x = bench_memory(b, bytes), .out = bench_memory(b, bytes)};
    const tn_type type = array_of(dtype, n);
    tn_fn *f = tn_trace(bench_ctx(b), chain, NULL, 1, &type);
    bench_case c = {.workload = "chain", .n = n, .dtype = dtype, .data = &a, .bar = 1.2, .default_bar = 1.5};
    fill(dtype, a.x, n, -1, 2, 1);
    c.in = TN_RAW_INPUTS(a.x);
    c.want = TN_RAW_OUTPUTS(a.out);
    c.tolerance = dtype == TN_F32 ? 2e-6 : 1e-14;
    c.variant = "f";
    c.fn = f;
    c.c = dtype == TN_F32 ? chain_f_f32 : chain_f_f64;
    bench_run(b, &c);
    c.variant = "grad";
    c.fn = tn_grad(f, NULL, NULL);
    c.c = dtype == TN_F32 ? chain_grad_f32 : chain_grad_f64;
    bench_run(b, &c);
}

void suite_chain(bench *b) {
    if (!bench_wants(b, "chain")) return;
    for (int k = 0; k < (bench_quick(b) ? 1 : SIZES); k++) {
        chain_of(b, TN_F32, SIZE[k]);
        chain_of(b, TN_F64, SIZE[k]);
    }
}

/* ---- v = v x + y, v = v y - x, four times ------------------------------------------------------------------------ */

static tn_val cheap(const tn_val *in, void *user) {
    (void)user;
    tn_val v = in[0];
    for (int r = 0; r < 4; r++) {
        v = tn_add(tn_mul(v, in[0]), in[1]);
        v = tn_sub(tn_mul(v, in[1]), in[0]);
    }
    return tn_sum(v);
}

static void cheap_f_f32(void *data) {
    const arrays *a = data;
    c_cheap_f_f32(a->n, a->x, a->y, a->out);
}
static void cheap_f_f64(void *data) {
    const arrays *a = data;
    c_cheap_f_f64(a->n, a->x, a->y, a->out);
}
static void cheap_grad_f32(void *data) {
    const arrays *a = data;
    c_cheap_grad_f32(a->n, a->x, a->y, a->out, a->out2);
}
static void cheap_grad_f64(void *data) {
    const arrays *a = data;
    c_cheap_grad_f64(a->n, a->x, a->y, a->out, a->out2);
}

static void cheap_of(bench *b, tn_dtype dtype, long n) {
    const size_t bytes = (size_t)n * (dtype == TN_F32 ? 4 : 8);
    arrays a = {.n = n,
                .x = bench_memory(b, bytes),
                .y = bench_memory(b, bytes),
                .out = bench_memory(b, bytes),
                .out2 = bench_memory(b, bytes)};
    const tn_type type[2] = {array_of(dtype, n), array_of(dtype, n)};
    tn_fn *f = tn_trace(bench_ctx(b), cheap, NULL, 2, type);
    bench_case c = {.workload = "cheap", .n = n, .dtype = dtype, .data = &a, .bar = 1.2, .default_bar = 2.5};
    fill(dtype, a.x, n, 0.2, 0.9, 1);
    fill(dtype, a.y, n, 0.2, 0.9, 2);
    c.in = TN_RAW_INPUTS(a.x, a.y);
    c.want = TN_RAW_OUTPUTS(a.out, a.out2);
    c.tolerance = dtype == TN_F32 ? 2e-5 : 1e-13; /* sums of numbers of both signs */
    c.variant = "f";
    c.fn = f;
    c.c = dtype == TN_F32 ? cheap_f_f32 : cheap_f_f64;
    bench_run(b, &c);
    c.variant = "grad";
    c.tolerance = dtype == TN_F32 ? 2e-6 : 1e-14;
    c.fn = tn_grad(f, NULL, NULL);
    c.c = dtype == TN_F32 ? cheap_grad_f32 : cheap_grad_f64;
    bench_run(b, &c);
}

void suite_cheap(bench *b) {
    if (!bench_wants(b, "cheap")) return;
    for (int k = 0; k < (bench_quick(b) ? 1 : SIZES); k++) {
        cheap_of(b, TN_F32, SIZE[k]);
        cheap_of(b, TN_F64, SIZE[k]);
    }
}
