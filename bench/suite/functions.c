/* Functions of optimization: Rosenbrock's, a polynomial of which one coefficient is sought, a scalar function of ten
 * numbers, and dense derivatives of one of fifty. */
#include "suite.h"

#include <string.h>

typedef struct problem {
    long n;
    const double *w, *x, *v;
    double *out, *work;
} problem;

/* ---- Rosenbrock ---------------------------------------------------------------------------------------------------
 */

static tn_val rosenbrock(const tn_val *in, void *user) {
    (void)user;
    const int64_t n = tn_dim(in[0], 0);
    const tn_val x = tn_slice_axis(in[0], 0, n - 1, 1, 0), y = tn_slice_axis(in[0], 1, n, 1, 0);
    return tn_sum(tn_add(tn_mul(100, tn_square(tn_sub(y, tn_square(x)))), tn_square(tn_sub(1, x))));
}

static void rosenbrock_f(void *data) {
    const problem *p = data;
    c_rosenbrock_f(p->n, p->x, p->out);
}
static void rosenbrock_grad(void *data) {
    const problem *p = data;
    c_rosenbrock_grad(p->n, p->x, p->out);
}
static void rosenbrock_hvp(void *data) {
    const problem *p = data;
    c_rosenbrock_hvp(p->n, p->x, p->v, p->out);
}

static void rosenbrock_of(bench *b, long n) {
    double *x = bench_memory(b, (size_t)n * 8), *v = bench_memory(b, (size_t)n * 8);
    problem p = {.n = n, .x = x, .v = v, .out = bench_memory(b, (size_t)n * 8)};
    tn_fn *f = tn_trace(bench_ctx(b), rosenbrock, NULL, TN_ARGS(tn_f64(n)));
    bench_case c = {.workload = "rosenbrock", .n = n, .dtype = TN_F64, .data = &p, .bar = 1.2, .default_bar = 2.5};
    bench_fill_f64(x, (size_t)n, 0, 1, 1);
    bench_fill_f64(v, (size_t)n, -1, 1, 2);
    c.in = TN_RAW_INPUTS(x, v);
    c.want = TN_RAW_OUTPUTS(p.out);
    c.tolerance = 1e-13;
    c.variant = "f", c.fn = f, c.c = rosenbrock_f;
    bench_run(b, &c);
    c.variant = "grad", c.fn = tn_grad(f, NULL, NULL), c.c = rosenbrock_grad;
    bench_run(b, &c);
    c.variant = "hvp", c.fn = tn_hvp(f, NULL, NULL), c.c = rosenbrock_hvp;
    bench_run(b, &c);
}

void suite_rosenbrock(bench *b) {
    if (!bench_wants(b, "rosenbrock")) return;
    rosenbrock_of(b, 1000);
    if (!bench_quick(b)) rosenbrock_of(b, 1000000);
}

/* ---- a polynomial, with respect to c2
 * -------------------------------------------------------------------------------- */

static const double COEFFICIENT[10] = {0.3, -0.7, 0.5, 1.1, -0.4, 0.9, -1.2, 0.6, 0.8, -0.2};

/* in: c2, x */
static tn_val poly9(const tn_val *in, void *user) {
    (void)user;
    tn_val y = tn_full_like(in[1], COEFFICIENT[9]);
    for (int k = 8; k >= 0; k--) y = tn_add(tn_mul(y, in[1]), k == 2 ? in[0] : tn_number_f64(COEFFICIENT[k]));
    return tn_sum(y);
}

static void poly9_both(void *data) {
    const problem *p = data;
    c_poly9(p->n, COEFFICIENT, p->x, p->out, p->out + 1);
}

void suite_poly9(bench *b) {
    if (!bench_wants(b, "poly9")) return;
    for (long n = 1000; n <= (bench_quick(b) ? 1000 : 1000000); n *= 1000) {
        double *x = bench_memory(b, (size_t)n * 8), out[2];
        problem p = {.n = n, .x = x, .out = out};
        tn_fn *f = tn_trace(bench_ctx(b), poly9, NULL, TN_ARGS(tn_f64(), tn_f64(n)));
        bench_case c = {.workload = "poly9", .variant = "value_and_grad", .n = n, .dtype = TN_F64, .data = &p};
        bench_fill_f64(x, (size_t)n, 0, 1, 1);
        c.fn = tn_value_and_grad(f, tn_wrt(0), NULL);
        c.in = TN_RAW_INPUTS(&COEFFICIENT[2], x);
        c.want = TN_RAW_OUTPUTS(&out[0], &out[1]);
        c.tolerance = 1e-13;
        c.c = poly9_both;
        c.bar = 1.2;
        c.default_bar = 2.5;
        if (n == 1000) c.limit = 0.6e-6;
        bench_run(b, &c);
    }
}

/* ---- ten numbers
 * ------------------------------------------------------------------------------------------------------- */

/* in: ten scalars */
static tn_val scalar(const tn_val *in, void *user) {
    (void)user;
    tn_val s = TN_VAL(0.0);
    for (int i = 0; i < 10; i++) {
        const tn_val x = in[i], y = in[(i + 1) % 10], z = in[(i + 2) % 10];
        s = tn_add(s, tn_add(tn_mul(tn_sin(x), y), tn_div(tn_exp(tn_neg(tn_square(x))), tn_add(1, tn_square(z)))));
    }
    return s;
}

/* in: an array of ten */
static tn_val scalar_array(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = in[0], y = tn_roll(x, -1, 0), z = tn_roll(x, -2, 0);
    return tn_sum(tn_add(tn_mul(tn_sin(x), y), tn_div(tn_exp(tn_neg(tn_square(x))), tn_add(1, tn_square(z)))));
}

static void scalar_loops(void *data) {
    const problem *p = data;
    c_scalar_grad(p->x, p->out);
}
static void scalar_vectors(void *data) {
    const problem *p = data;
    c_scalar_grad_vectors(p->x, p->out);
}

void suite_scalar(bench *b) {
    double x[10], g[10];
    if (!bench_wants(b, "scalar")) return;
    problem p = {.n = 10, .x = x, .out = g};
    const tn_type s = tn_f64();
    tn_fn *f = tn_trace(bench_ctx(b), scalar, NULL, 10, (const tn_type[]){s, s, s, s, s, s, s, s, s, s});
    tn_fn *fa = tn_trace(bench_ctx(b), scalar_array, NULL, TN_ARGS(tn_f64(10)));
    bench_case c = {.workload = "scalar", .n = 10, .dtype = TN_F64, .data = &p, .tolerance = 1e-13};
    const void *in[10];
    void *want[10];
    for (int i = 0; i < 10; i++) {
        x[i] = 0.1 * (i + 1);
        in[i] = &x[i];
        want[i] = &g[i];
    }
    c.in = in, c.want = want;
    c.variant = "grad", c.fn = tn_grad(f, NULL, NULL);
    c.c = scalar_loops, c.other = scalar_vectors, c.other_name = "vectors";
    c.bar = 1.1, c.default_limit = 0.6e-6;
    bench_run(b, &c);
    c.in = TN_RAW_INPUTS(x), c.want = TN_RAW_OUTPUTS(g);
    c.variant = "grad, of an array", c.fn = tn_grad(fa, NULL, NULL);
    c.c = scalar_vectors, c.other = scalar_loops, c.other_name = "loops";
    bench_run(b, &c);
}

/* ---- fifty numbers: tanh(W x) sin(roll(x, 1))
 * ----------------------------------------------------------------------------- */

/* in: W, x */
static tn_val fifty(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_tanh(tn_matmul(in[0], in[1])), tn_sin(tn_roll(in[1], 1, 0)));
}

static tn_val fifty_squares(const tn_val *in, void *user) { return tn_sum_squares(fifty(in, user)); }

static void fifty_jacobian(void *data) {
    const problem *p = data;
    c_jacobian(p->w, p->x, p->out);
}
static void fifty_hessian(void *data) {
    const problem *p = data;
    c_hessian(p->w, p->x, p->work, p->out);
}

void suite_jacobian(bench *b) {
    enum { N = JACOBIAN_N };
    if (!bench_wants(b, "jacobian")) return;
    double *w = bench_memory(b, N * N * 8), *x = bench_memory(b, N * 8), *out = bench_memory(b, N * N * 8);
    problem p = {.n = N, .w = w, .x = x, .out = out, .work = bench_memory(b, JACOBIAN_WORK * 8)};
    tn_fn *f = tn_trace(bench_ctx(b), fifty, NULL, TN_ARGS(tn_f64(N, N), tn_f64(N)));
    tn_fn *s = tn_trace(bench_ctx(b), fifty_squares, NULL, TN_ARGS(tn_f64(N, N), tn_f64(N)));
    bench_case c = {.workload = "jacobian", .n = N, .dtype = TN_F64, .data = &p, .bar = 1.2, .tolerance = 1e-13};
    bench_fill_f64(w, N * N, -0.25, 0.25, 1);
    for (int i = 0; i < N; i++) x[i] = i / (N - 1.0);
    c.in = TN_RAW_INPUTS(w, x), c.want = TN_RAW_OUTPUTS(out);
    c.variant = "jacfwd", c.fn = tn_jacfwd(f, tn_wrt(1), 0), c.c = fifty_jacobian;
    bench_run(b, &c);
    c.variant = "jacrev", c.fn = tn_jacrev(f, tn_wrt(1), NULL, 0);
    bench_run(b, &c);
    c.variant = "hessian", c.fn = tn_hessian(s, tn_wrt(1), NULL, 0), c.c = fifty_hessian;
    bench_run(b, &c);
}
