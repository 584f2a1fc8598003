/* Convolutions and pooling: values against plain loops, derivatives, the first of equals, what is emitted and refused.
 */
#include <tansy.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_ctx *ctx;

static int setup(void **state) {
    (void)state;
    ctx = tn_ctx_new(NULL);
    return ctx ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    tn_ctx_free(ctx);
    return 0;
}

static uint64_t seed = 1;
static int64_t pick(int64_t lo, int64_t hi) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((seed >> 33) % (uint64_t)(hi - lo + 1));
}

/* ---- convolutions at random ---------------------------------------------------------- */

enum { SPACE = 3, MOST = 1 << 14 };

typedef struct conv_case {
    int n;                                        /* spatial axes */
    int64_t batch, groups, batch_groups, in, out; /* in and out: features of a group */
    int64_t size[SPACE], kernel[SPACE], stride[SPACE], lo[SPACE], hi[SPACE], x_dilation[SPACE], dilation[SPACE];
    char layout[32];
    char letters[3][SPACE + 3]; /* of x, kernel, result */
} conv_case;

static void shuffle(char *s, int n) {
    for (int i = n; i-- > 1;) {
        const int j = (int)pick(0, i);
        const char c = s[i];
        s[i] = s[j];
        s[j] = c;
    }
}

static int64_t windows(int64_t n, int64_t x_dilation, int64_t lo, int64_t hi, int64_t k, int64_t dilation,
                       int64_t stride) {
    const int64_t all = (n - 1) * x_dilation + 1 + lo + hi, span = (k - 1) * dilation + 1;
    return all < span ? 0 : (all - span) / stride + 1;
}

static conv_case random_conv(int n) {
    static const char *const spatial[] = {"", "W", "HW", "DHW"};
    conv_case c = {.n = n, .batch = pick(1, 3), .groups = 1, .batch_groups = 1, .in = pick(1, 3), .out = pick(1, 3)};
    const int64_t how = n < 3 ? pick(0, 4) : 4;
    if (how < 2) c.groups = pick(2, 3);
    if (how == 1) c.in = c.out = 1;
    if (how == 2) c.batch_groups = 2;
    c.batch *= c.batch_groups;
    for (int i = 0; i < n; i++) {
        c.kernel[i] = pick(1, 3);
        c.size[i] = pick(3, 6);
        c.stride[i] = pick(1, 3);
        c.lo[i] = pick(-1, 2);
        c.hi[i] = pick(-1, 2);
        c.x_dilation[i] = pick(1, 2);
        c.dilation[i] = pick(1, 2);
    }
    (void)snprintf(c.letters[0], sizeof c.letters[0], "NC%s", spatial[n]);
    (void)snprintf(c.letters[1], sizeof c.letters[1], "OI%s", spatial[n]);
    (void)snprintf(c.letters[2], sizeof c.letters[2], "NC%s", spatial[n]);
    for (int k = 0; k < 3; k++) shuffle(c.letters[k], n + 2);
    if (pick(0, 1)) { /* the kernel's order is that of the lists */
        (void)snprintf(c.letters[0], sizeof c.letters[0], "N%sC", spatial[n]);
        (void)snprintf(c.letters[1], sizeof c.letters[1], "%sIO", spatial[n]);
        (void)snprintf(c.letters[2], sizeof c.letters[2], "N%sC", spatial[n]);
    }
    (void)snprintf(c.layout, sizeof c.layout, "%s,%s->%s", c.letters[0], c.letters[1], c.letters[2]);
    return c;
}

/* The number of the spatial axis that a letter stands for, in the kernel's order. */
static int spatial_of(const conv_case *c, char letter) {
    int at = 0;
    for (const char *s = c->letters[1]; *s != letter; s++) at += *s != 'O' && *s != 'I';
    return at;
}

/* The size of each axis, and where an element is, by what each letter counts. */
static int64_t place(const conv_case *c, int which, const int64_t size[2 + SPACE], const int64_t at[2 + SPACE]) {
    int64_t to = 0;
    for (const char *s = c->letters[which]; *s; s++) {
        const int k = strchr("NO", *s) && *s != 'C' ? 0 : *s == 'C' || *s == 'I' ? 1 : 2 + spatial_of(c, *s);
        to = to * size[k] + at[k];
    }
    return to;
}

static tn_type type_of(const conv_case *c, int which, const int64_t size[2 + SPACE]) {
    int64_t dim[2 + SPACE];
    int n = 0;
    for (const char *s = c->letters[which]; *s; s++)
        dim[n++] = size[*s == 'N' || *s == 'O' ? 0 : *s == 'C' || *s == 'I' ? 1 : 2 + spatial_of(c, *s)];
    return tn_type_of(TN_F64, (size_t)n, dim);
}

static void sizes_of(const conv_case *c, int64_t x[2 + SPACE], int64_t w[2 + SPACE], int64_t y[2 + SPACE]) {
    const int64_t out = c->out * c->groups * c->batch_groups;
    x[0] = c->batch;
    x[1] = c->in * c->groups;
    w[0] = out;
    w[1] = c->in;
    y[0] = c->batch / c->batch_groups;
    y[1] = out;
    for (int i = 0; i < c->n; i++) {
        x[2 + i] = c->size[i];
        w[2 + i] = c->kernel[i];
        y[2 + i] =
            windows(c->size[i], c->x_dilation[i], c->lo[i], c->hi[i], c->kernel[i], c->dilation[i], c->stride[i]);
    }
}

static bool next(int n, const int64_t *size, int64_t *at) {
    for (int i = n; i-- > 0;) {
        if (++at[i] < size[i]) return true;
        at[i] = 0;
    }
    return false;
}

/* One element of the result: the sum over the kernel. */
static double one(const conv_case *c, const double *x, const double *w, const int64_t y_at[2 + SPACE]) {
    int64_t xs[2 + SPACE], ws[2 + SPACE], ys[2 + SPACE], in[2 + SPACE], k[2 + SPACE] = {y_at[1]};
    double sum = 0;
    sizes_of(c, xs, ws, ys);
    const int64_t group = y_at[1] / c->out;
    do {
        bool inside = true;
        in[0] = c->batch_groups > 1 ? group * ys[0] + y_at[0] : y_at[0];
        in[1] = c->groups > 1 ? group * c->in + k[1] : k[1];
        for (int i = 0; i < c->n; i++) {
            const int64_t at = y_at[2 + i] * c->stride[i] + k[2 + i] * c->dilation[i] - c->lo[i];
            inside = inside && at >= 0 && at % c->x_dilation[i] == 0 && at / c->x_dilation[i] < xs[2 + i];
            in[2 + i] = at / c->x_dilation[i];
        }
        if (inside) sum += x[place(c, 0, xs, in)] * w[place(c, 1, ws, k)];
    } while (next(c->n + 1, ws + 1, k + 1));
    return sum;
}

static tn_val conv(const tn_val *x, void *user) {
    const conv_case *k = user;
    const size_t n = (size_t)k->n;
    return tn_conv(x[0], x[1], k->layout,
                   &(tn_conv_how){.strides = {n, k->stride},
                                  .lo = {n, k->lo},
                                  .hi = {n, k->hi},
                                  .x_dilation = {n, k->x_dilation},
                                  .dilation = {n, k->dilation},
                                  .groups = k->groups,
                                  .batch_groups = k->batch_groups});
}

static double *numbers(int64_t n) {
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = (double)pick(-8, 8) / 4;
    return x;
}

static void run(const tn_fn *f, const void *const *in, void *const *out) {
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(ctx));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static void compare_conv(const conv_case *c, bool derivatives) {
    int64_t xs[2 + SPACE], ws[2 + SPACE], ys[2 + SPACE], at[2 + SPACE] = {0}, some = 1;
    sizes_of(c, xs, ws, ys);
    const tn_type t[2] = {type_of(c, 0, xs), type_of(c, 1, ws)};
    for (int i = 0; i < c->n + 2; i++) some *= ys[i];
    tn_fn *f = tn_trace(ctx, conv, (void *)(uintptr_t)c, 2, t);
    if (!f) fail_msg("%s: %s", c->layout, tn_error(ctx));
    const tn_type want = type_of(c, 2, ys), got = tn_fn_output_type(f, 0);
    assert_true(tn_type_equal(&got, &want));
    double *x = numbers((int64_t)(tn_type_bytes(&t[0]) / 8)), *w = numbers((int64_t)(tn_type_bytes(&t[1]) / 8)),
           *y = numbers(some);
    run(f, (const void *const[]){x, w}, (void *const[]){y});
    do { /* quarters: the sums are exact */
        if (some && y[place(c, 2, ys, at)] != one(c, x, w, at)) fail_msg("%s: a wrong number", c->layout);
    } while (some && next(c->n + 2, ys, at));
    if (derivatives && some) {
        const tn_check_options how = {.size = sizeof how, .order = 2, .directions = 1};
        if (tn_check_grads(f, (const void *const[]){x, w}, NULL, &how) != TN_OK)
            fail_msg("%s: %s", c->layout, tn_error(ctx));
    }
    free(x);
    free(w);
    free(y);
    tn_fn_free(f);
}

static void test_conv(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        const conv_case c = random_conv((int)pick(0, 3));
        compare_conv(&c, i % 10 == 0);
    }
}

/* Many features, between whose elements there are zeros: windows of the result overlap. */
static void test_spread_conv(void **state) {
    (void)state;
    for (int i = 0; i < 60; i++) {
        conv_case c = random_conv((int)pick(1, 3));
        if (c.in > 1 || c.groups == 1) c.in = pick(5, 50);
        for (int k = 0; k < c.n; k++) {
            c.stride[k] = 1;
            c.x_dilation[k] = pick(1, 3);
        }
        compare_conv(&c, i % 10 == 0);
    }
    conv_case c = random_conv(2);
    c.groups = c.batch_groups = 1;
    c.in = 50;
    int64_t xs[2 + SPACE], ws[2 + SPACE], ys[2 + SPACE];
    sizes_of(&c, xs, ws, ys);
    const tn_type t[2] = {type_of(&c, 0, xs), type_of(&c, 1, ws)};
    c.stride[0] = c.stride[1] = 1;
    c.x_dilation[0] = INT64_MAX / 2;
    assert_null(tn_trace(ctx, conv, &c, 2, t));
    tn_error_clear(ctx);
}

/* ---- what convolutions are ---------------------------------------------------------------- */

static size_t count(const tn_fn *f, const char *what) {
    size_t n = 0, length;
    char *const text = tn_fn_print(f, &length);
    assert_non_null(text);
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
    tn_text_free(ctx, text);
    return n;
}

static tn_val same_conv(const tn_val *x, void *user) { return tn_conv(x[0], x[1], user, &(tn_conv_how){.same = true}); }

static tn_val depthwise(const tn_val *x, void *user) { return tn_conv(x[0], x[1], user, &(tn_conv_how){.groups = 5}); }

static void test_conv_equations(void **state) {
    (void)state;
    tn_fn *f = tn_trace(ctx, same_conv, "NHWC,HWIO->NHWC", TN_ARGS(tn_f32(2, 16, 16, 5), tn_f32(3, 3, 5, 7)));
    if (!f) fail_msg("%s", tn_error(ctx));
    const tn_type y = tn_fn_output_type(f, 0), want = tn_f32(2, 16, 16, 7);
    assert_true(tn_type_equal(&y, &want));
    assert_int_equal(count(f, "dot_general"), 1);
    assert_int_equal(count(f, "sliding_windows"), 1);
    tn_exec *e = tn_compile(f, NULL); /* the padded operand, and blocks: nothing as large as all windows */
    assert_non_null(e);
    assert_true(tn_exec_bytes(e) < 9 * 2 * 16 * 16 * 5 * sizeof(float) + 300000);
    tn_exec_free(e);
    tn_fn *g = tn_vjp(f, NULL, NULL); /* each of the three products once */
    assert_non_null(g);
    assert_int_equal(count(g, "dot_general"), 3);
    assert_int_equal(count(g, "overlap_add"), 1);
    assert_int_equal(count(g, "gather"), 0);
    tn_fn *d = tn_trace(ctx, depthwise, "NHWC,HWIO->NHWC", TN_ARGS(tn_f32(2, 6, 6, 5), tn_f32(3, 3, 1, 5)));
    if (!d) fail_msg("%s", tn_error(ctx));
    assert_int_equal(count(d, "dot_general"), 0);
    assert_int_equal(count(d, " mul "), 9);
    tn_fn *p = tn_trace(ctx, same_conv, "NHWC,HWIO->NHWC", TN_ARGS(tn_f32(2, 6, 6, 5), tn_f32(1, 1, 5, 7)));
    assert_int_equal(count(p, "sliding_windows"), 0); /* a product */
    assert_int_equal(count(p, "dot_general"), 1);
}

static tn_val biased(const tn_val *x, void *user) {
    (void)user;
    return tn_sum(tn_square(tn_add(x[0], tn_broadcast_in_dim(x[1], tn_ints(4, 3, 8, 8), tn_ints(1)))));
}

/* Rows of 64 first, then the batch. */
static void test_bias(void **state) {
    (void)state;
    tn_fn *f = tn_trace(ctx, biased, NULL, TN_ARGS(tn_f64(4, 3, 8, 8), tn_f64(3)));
    tn_fn *g = tn_grad(f, tn_wrt(1), NULL);
    assert_non_null(g);
    assert_int_equal(count(g, "reduce_sum[axes=(2, 3)]"), 1);
    assert_int_equal(count(g, "reduce_sum[axes=(0,)]"), 1);
    double *x = numbers(768), b[3] = {1, -2, 3}, got[3];
    run(g, (const void *const[]){x, b}, (void *const[]){got});
    for (int c = 0; c < 3; c++) {
        double want = 0;
        for (int i = 0; i < 256; i++) want += 2 * (x[(i / 64 * 3 + c) * 64 + i % 64] + b[c]);
        assert_true(got[c] == want); /* quarters: exact */
    }
    free(x);
}

static tn_val channel_sums(const tn_val *x, void *user) {
    (void)user;
    return tn_sum_axes(x[0], tn_ints(0, 2, 3));
}

/* So do sums of a user's; not of rows of a few, nor where nothing stands between. */
static void test_rows_first(void **state) {
    (void)state;
    tn_fn *f = tn_trace(ctx, channel_sums, NULL, TN_ARGS(tn_f64(4, 3, 8, 8)));
    assert_int_equal(count(f, "reduce_sum[axes=(2, 3)]"), 1);
    assert_int_equal(count(f, "reduce_sum[axes=(0,)]"), 1);
    double *x = numbers(768), got[3];
    run(f, (const void *const[]){x}, (void *const[]){got});
    for (int c = 0; c < 3; c++) {
        double want = 0;
        for (int i = 0; i < 256; i++) want += x[(i / 64 * 3 + c) * 64 + i % 64];
        assert_true(got[c] == want); /* quarters: exact */
    }
    free(x);
    f = tn_trace(ctx, channel_sums, NULL, TN_ARGS(tn_f64(4, 3, 2, 4)));
    assert_int_equal(count(f, "reduce_sum[axes=(0, 2, 3)]"), 1);
    f = tn_trace(ctx, channel_sums, NULL, TN_ARGS(tn_f64(4, 1, 8, 8)));
    assert_int_equal(count(f, "reduce_sum[axes=(0, 2, 3)]"), 1);
}

/* Rows without a whole window, arrays without elements. */
static void test_conv_empty(void **state) {
    (void)state;
    double y[64];
    tn_fn *f = tn_trace(ctx, same_conv, "NWC,WIO->NWC", TN_ARGS(tn_f64(2, 4, 0), tn_f64(3, 0, 2)));
    if (!f) fail_msg("%s", tn_error(ctx));
    for (int i = 0; i < 16; i++) y[i] = 7;
    run(f, (const void *const[]){y, y}, (void *const[]){y});
    for (int i = 0; i < 16; i++) assert_true(y[i] == 0);
    conv_case c = {.n = 1,
                   .batch = 2,
                   .groups = 1,
                   .batch_groups = 1,
                   .in = 2,
                   .out = 3,
                   .size = {4},
                   .kernel = {3},
                   .stride = {1},
                   .x_dilation = {1},
                   .dilation = {2},
                   .layout = "NWC,WIO->NWC",
                   .letters = {"NWC", "WIO", "NWC"}};
    compare_conv(&c, false);
}

/* ---- batches ------------------------------------------------------------------------------- */

static void batch_is_each(const conv_case *c, bool kernels) {
    enum { LANES = 3 };
    int64_t xs[2 + SPACE], ws[2 + SPACE], ys[2 + SPACE];
    sizes_of(c, xs, ws, ys);
    const tn_type t[2] = {type_of(c, 0, xs), type_of(c, 1, ws)}, out = type_of(c, 2, ys);
    const size_t nx = tn_type_bytes(&t[0]) / 8, nw = tn_type_bytes(&t[1]) / 8, ny = tn_type_bytes(&out) / 8;
    tn_fn *f = tn_trace(ctx, conv, (void *)(uintptr_t)c, 2, t);
    tn_fn *g = tn_vmap(f, LANES, (const int[]){0, kernels ? 0 : TN_NOT_MAPPED}, NULL);
    if (!g) fail_msg("%s: %s", c->layout, tn_error(ctx));
    double *x = numbers((int64_t)(LANES * nx)), *w = numbers((int64_t)(LANES * nw)),
           *y = numbers((int64_t)(LANES * ny)), *z = numbers((int64_t)ny);
    run(g, (const void *const[]){x, w}, (void *const[]){y});
    for (size_t i = 0; i < LANES; i++) {
        run(f, (const void *const[]){x + i * nx, w + (kernels ? i * nw : 0)}, (void *const[]){z});
        for (size_t j = 0; j < ny; j++) assert_true(z[j] == y[i * ny + j]); /* quarters: exact, but for a zero's sign */
    }
    free(x);
    free(w);
    free(y);
    free(z);
    tn_fn_free(f);
    tn_fn_free(g);
}

static void test_vmap(void **state) {
    (void)state;
    for (int i = 0; i < 60; i++) {
        const conv_case c = random_conv((int)pick(1, 3));
        batch_is_each(&c, i % 2);
    }
}

static void test_rank_limit(void **state) {
    (void)state;
    tn_fn *f = tn_trace(ctx, same_conv, "NDHWC,DHWIO->NDHWC", TN_ARGS(tn_f64(1, 4, 4, 4, 2), tn_f64(3, 3, 3, 2, 2)));
    assert_non_null(f);
    tn_fn *g = tn_vmap(f, 2, NULL, NULL);
    assert_non_null(g);
    assert_null(tn_vmap(g, 2, NULL, NULL));
    assert_non_null(strstr(tn_error(ctx), "sliding_windows"));
    assert_non_null(strstr(tn_error(ctx), "rank 9 (at most 8)"));
}

/* ---- pooling at random --------------------------------------------------------------------- */

enum { SUM, PROD, MAX, MIN };

typedef struct pool_case {
    int op, rank;
    int64_t dim[4], size[4], stride[4], lo[4], hi[4], x_dilation[4], dilation[4], out[4];
} pool_case;

static tn_val pool(const tn_val *x, void *user) {
    const pool_case *p = user;
    const size_t n = (size_t)p->rank;
    const tn_window w = {.sizes = {n, p->size},
                         .strides = {n, p->stride},
                         .lo = {n, p->lo},
                         .hi = {n, p->hi},
                         .x_dilation = {n, p->x_dilation},
                         .dilation = {n, p->dilation}};
    switch (p->op) {
    case SUM: return tn_sum_pool(x[0], &w);
    case PROD: return tn_prod_pool(x[0], &w);
    case MAX: return tn_max_pool(x[0], &w);
    default: return tn_min_pool(x[0], &w);
    }
}

static pool_case random_pool(void) {
    pool_case p = {.op = (int)pick(0, 3), .rank = (int)pick(1, 3)};
    const int large = pick(0, 2) == 0 ? (int)pick(0, p.rank - 1) : -1;
    for (int i = 0; i < p.rank; i++) {
        p.dim[i] = pick(1, 5);
        p.size[i] = pick(1, 3);
        if (i == large) {
            p.dim[i] = pick(9, 40);
            p.size[i] = pick(9, 34);
        }
        p.stride[i] = pick(1, 3) == 3 ? p.size[i] : pick(1, 3);
        p.x_dilation[i] = pick(1, 2);
        p.dilation[i] = pick(0, 4) ? 1 : 2;
        p.lo[i] = pick(-1, 2);
        p.hi[i] = pick(0, 2);
        p.out[i] = windows(p.dim[i], p.x_dilation[i], p.lo[i], p.hi[i], p.size[i], p.dilation[i], p.stride[i]);
    }
    return p;
}

/* One element of the result, and where the first of the largest or smallest is, or -1. */
static double pooled(const pool_case *p, const double *x, const int64_t *y_at, int64_t *first) {
    static const double start[] = {0, 1, -(double)INFINITY, (double)INFINITY};
    int64_t k[4] = {0};
    double all = start[p->op];
    *first = -1;
    do {
        bool inside = true;
        int64_t from = 0;
        for (int i = 0; i < p->rank; i++) {
            const int64_t at = y_at[i] * p->stride[i] + k[i] * p->dilation[i] - p->lo[i];
            inside = inside && at >= 0 && at % p->x_dilation[i] == 0 && at / p->x_dilation[i] < p->dim[i];
            from = from * p->dim[i] + at / p->x_dilation[i];
        }
        if (!inside) continue;
        const double v = x[from];
        if ((p->op == MAX && v > all) || (p->op == MIN && v < all)) *first = from;
        all = p->op == SUM ? all + v : p->op == PROD ? all * v : p->op == MAX ? fmax(all, v) : fmin(all, v);
    } while (next(p->rank, p->size, k));
    return all;
}

static void compare_pool(const pool_case *p) {
    int64_t n = 1, some = 1, at[4] = {0}, first;
    for (int i = 0; i < p->rank; i++) {
        n *= p->dim[i];
        some *= p->out[i];
    }
    const tn_type t = tn_type_of(TN_F64, (size_t)p->rank, p->dim);
    tn_fn *f = tn_trace(ctx, pool, (void *)(uintptr_t)p, 1, &t), *g = f ? tn_vjp(f, NULL, NULL) : NULL;
    if (!g) fail_msg("%s", tn_error(ctx));
    double *x = numbers(n), *y = numbers(some), *ct = numbers(some), *grad = numbers(n),
           *want = calloc((size_t)n + 1, 8);
    assert_non_null(want);
    for (int64_t i = 0; p->op == PROD && i < n; i++) x[i] = pick(0, 1) ? -1 : 2;
    run(g, (const void *const[]){x, ct}, (void *const[]){y, grad});
    const tn_type out = tn_fn_output_type(f, 0);
    for (int i = 0; i < p->rank; i++) assert_int_equal(out.dim[i], p->out[i]);
    for (int64_t j = 0; j < some; j++, (void)next(p->rank, p->out, at)) {
        assert_true(y[j] == pooled(p, x, at, &first));
        if (first >= 0) want[first] += ct[j];
    }
    for (int64_t i = 0; p->op >= MAX && i < n; i++) assert_true(grad[i] == want[i]);
    const tn_check_options how = {.size = sizeof how, .directions = 1};
    if (p->op < MAX && tn_check_grads(f, (const void *const[]){x}, NULL, &how) != TN_OK) fail_msg("%s", tn_error(ctx));
    free(x);
    free(y);
    free(ct);
    free(grad);
    free(want);
    tn_fn_free(f);
    tn_fn_free(g);
}

static void test_pools(void **state) {
    (void)state;
    for (int i = 0; i < 400; i++) {
        const pool_case p = random_pool();
        compare_pool(&p);
    }
}

/* ---- other dtypes, averages -------------------------------------------------------------------- */

static tn_val pool_twos(const tn_val *x, void *user) {
    const tn_window w = {.sizes = tn_ints(2), .lo = tn_ints(1), .hi = tn_ints(1)};
    return *(int *)user == MAX   ? tn_max_pool(x[0], &w)
           : *(int *)user == MIN ? tn_min_pool(x[0], &w)
                                 : tn_sum_pool(x[0], &w);
}

static void test_pool_dtypes(void **state) {
    (void)state;
    const int32_t x[3] = {INT32_MIN, 5, INT32_MAX};
    const bool b[3] = {false, true, true};
    const double nan[3] = {1, (double)NAN, 2};
    int32_t y[4];
    bool z[4];
    double v[4];
    int op = MAX;
    run(tn_trace(ctx, pool_twos, &op, TN_ARGS(tn_i32(3))), (const void *const[]){x}, (void *const[]){y});
    assert_memory_equal(y, ((int32_t[]){INT32_MIN, 5, INT32_MAX, INT32_MAX}), sizeof y);
    run(tn_trace(ctx, pool_twos, &op, TN_ARGS(tn_bool(3))), (const void *const[]){b}, (void *const[]){z});
    assert_memory_equal(z, ((bool[]){false, true, true, true}), sizeof z);
    run(tn_trace(ctx, pool_twos, &op, TN_ARGS(tn_f64(3))), (const void *const[]){nan}, (void *const[]){v});
    assert_true(v[0] == 1 && isnan(v[1]) && isnan(v[2]) && v[3] == 2);
    op = MIN;
    run(tn_trace(ctx, pool_twos, &op, TN_ARGS(tn_i32(3))), (const void *const[]){x}, (void *const[]){y});
    assert_memory_equal(y, ((int32_t[]){INT32_MIN, INT32_MIN, 5, INT32_MAX}), sizeof y);
    run(tn_trace(ctx, pool_twos, &op, TN_ARGS(tn_bool(3))), (const void *const[]){b}, (void *const[]){z});
    assert_memory_equal(z, ((bool[]){false, false, true, true}), sizeof z);
    op = SUM;
    run(tn_trace(ctx, pool_twos, &op, TN_ARGS(tn_i32(3))), (const void *const[]){x}, (void *const[]){y});
    assert_memory_equal(y, ((int32_t[]){INT32_MIN, INT32_MIN + 5, INT32_MIN + 4, INT32_MAX}), sizeof y);
}

static tn_val average(const tn_val *x, void *user) {
    const tn_window w = {.sizes = tn_ints(3), .strides = tn_ints(2), .same = true};
    return *(bool *)user ? tn_avg_pool(x[0], &w) : tn_avg_pool(x[0], &w, TN_EXCLUDE_PADDING);
}

static void test_average(void **state) {
    (void)state;
    const double x[5] = {3, 6, 9, 12, 18};
    double y[3];
    bool all = true;
    run(tn_trace(ctx, average, &all, TN_ARGS(tn_f64(5))), (const void *const[]){x}, (void *const[]){y});
    assert_true(y[0] == 3 && y[1] == 9 && y[2] == 10);
    all = false;
    run(tn_trace(ctx, average, &all, TN_ARGS(tn_f64(5))), (const void *const[]){x}, (void *const[]){y});
    assert_true(y[0] == 4.5 && y[1] == 9 && y[2] == 15);
}

/* ---- the primitives as operators ------------------------------------------------------------------ */

static tn_val slid(const tn_val *x, void *user) {
    (void)user;
    return tn_sliding_windows(x[0], tn_ints(-1), tn_ints(2), tn_ints(2), tn_ints(2));
}

static tn_val added(const tn_val *x, void *user) {
    (void)user;
    return tn_overlap_add(x[0], x[1], tn_ints(0), tn_ints(2), tn_ints(), tn_ints());
}

static void test_operators(void **state) {
    (void)state;
    const double x[5] = {0, 1, 2, 3, 4}, u[8] = {10, 20, 30, 40, 50, 60, 70, 80};
    double y[5];
    run(tn_trace(ctx, slid, NULL, TN_ARGS(tn_f64(1, 5))), (const void *const[]){x}, (void *const[]){y});
    assert_memory_equal(y, ((double[]){0, 2, 2, 4}), 4 * sizeof *y);
    run(tn_trace(ctx, added, NULL, TN_ARGS(tn_f64(5), tn_f64(4, 2))), (const void *const[]){x, u}, (void *const[]){y});
    assert_memory_equal(y, ((double[]){10, 51, 92, 133, 84}), sizeof y);
}

/* ---- refusals ---------------------------------------------------------------------------------------- */

typedef struct wrong {
    const char *layout, *why;
    tn_conv_how how;
} wrong;

static tn_val wrong_conv(const tn_val *x, void *user) {
    const wrong *w = user;
    return tn_conv(x[0], x[1], w->layout, &w->how);
}

static void test_conv_refusals(void **state) {
    (void)state;
    const wrong table[] = {
        {NULL, "the layout is not as", {.groups = 1}},
        {"NHWC", "the layout is not as", {.groups = 1}},
        {"NHWC,HWIO->NHW", "the layout is not as", {.groups = 1}},
        {"NHHC,HWIO->NHWC", "'H' is there twice", {.groups = 1}},
        {"NHXC,HWIO->NHWC", "'X' is no letter of the kernel", {.groups = 1}},
        {"NHWC,HIIO->NHWC", "the kernel has the letters I, O", {.groups = 1}},
        {"NHHC,HHIO->NHHC", "'H' is there twice", {.groups = 1}},
        {"NHWC,HNIO->NHWC", "the kernel has the letters I, O", {.groups = 1}},
        {"NHWC,HWAB->NHWC", "the kernel has the letters I, O", {.groups = 1}},
        {"NWC,WIO->NWC", "operands of ranks 4 and 4, not 3", {.groups = 1}},
        {"NHWC,HWIO->NHWC", "strides has 1 numbers, not 2", {.strides = tn_ints(1)}},
        {"NHWC,HWIO->NHWC", "window_strides: 0 is not positive", {.strides = tn_ints(1, 0)}},
        {"NHWC,HWIO->NHWC", "rhs_dilation: -1 is not positive", {.dilation = tn_ints(-1, 1)}},
        {"NHWC,HWIO->NHWC", "padding of your own", {.same = true, .lo = tn_ints(1, 1)}},
        {"NHWC,HWIO->NHWC", "does not divide", {.groups = 4}},
        {"NHWC,HWIO->NHWC", "has 6 input features, not 3", {.groups = 2}},
        {"NHWC,HWIO->NHWC", "is not positive", {.groups = -1}},
        {"NHWC,HWIO->NHWC", "at once", {.groups = 2, .batch_groups = 2}},
        {"NHWC,HWIO->NHWC", "negative padding removes more", {.lo = tn_ints(-9, 0)}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_null(
            tn_trace(ctx, wrong_conv, (void *)(uintptr_t)&table[i], TN_ARGS(tn_f32(2, 5, 5, 6), tn_f32(3, 3, 6, 4))));
        if (!strstr(tn_error(ctx), table[i].why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(ctx), table[i].why);
        assert_non_null(strstr(tn_error(ctx), "windows.c:"));
    }
    wrong w = {.layout = "NHWC,HWIO->NHWC"};
    assert_null(tn_trace(ctx, wrong_conv, &w, TN_ARGS(tn_f32(2, 5, 5, 6), tn_f64(3, 3, 6, 4))));
    assert_non_null(strstr(tn_error(ctx), "differ in dtype"));
    assert_null(tn_trace(ctx, wrong_conv, &w, TN_ARGS(tn_bool(2, 5, 5, 6), tn_bool(3, 3, 6, 4))));
    assert_non_null(strstr(tn_error(ctx), "not defined for bool"));
    assert_null(tn_trace(ctx, wrong_conv, &w, TN_ARGS(tn_f32(2, 5, 5, 6), tn_f32(0, 3, 6, 4))));
    assert_non_null(strstr(tn_error(ctx), "spatial dimension of size 0"));
}

static tn_val wrong_pool(const tn_val *x, void *user) { return tn_max_pool(x[0], user); }

static void test_pool_refusals(void **state) {
    (void)state;
    const struct {
        tn_window w;
        const char *why;
    } table[] = {
        {{.sizes = tn_ints(1)}, "sizes has 1 numbers, not 2"},
        {{.sizes = tn_ints(1, 0)}, "window_dimensions: 0 is not positive"},
        {{.strides = tn_ints(0, 1)}, "window_strides: 0 is not positive"},
        {{.x_dilation = tn_ints(1, -2)}, "base_dilation: -2 is not positive"},
        {{.same = true, .hi = tn_ints(1, 1)}, "padding of your own"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_null(tn_trace(ctx, wrong_pool, (void *)(uintptr_t)&table[i].w, TN_ARGS(tn_f32(4, 5))));
        if (!strstr(tn_error(ctx), table[i].why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(ctx), table[i].why);
    }
    assert_null(tn_trace(ctx, wrong_pool, NULL, TN_ARGS(tn_f32(4, 5))));
    assert_non_null(strstr(tn_error(ctx), "the window is NULL"));
}

/* ---- as JAX prints them -------------------------------------------------------------------------------- */

#define CONV                                                                                                       \
    "padding=((1, 1), (0, 0)) lhs_dilation=(1, 1) rhs_dilation=(1, 1) "                                            \
    "dimension_numbers=ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)) " \
    "feature_group_count=1 batch_group_count=1 precision=None preferred_element_type=None"
#define WINDOW "window_dimensions=(2,) window_strides=(1,) padding=((0, 1),)"

static void refused(const char *text, const char *why) {
    assert_null(tn_fn_parse(ctx, text, strlen(text), "test.tn"));
    if (!strstr(tn_error(ctx), why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(ctx), why);
}

static void test_texts(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{ lambda x:f32[1,4,4,2] w:f32[3,3,2,5] . let y:f32[1,2,1,5] = conv_general_dilated[window_strides=(2, 2) " CONV
        "] x w in (y,) }",
        "{ lambda x:f64[4] . let y:f64[4] = reduce_window_max[" WINDOW
        " base_dilation=(1,) window_dilation=(1,)] x in (y,) }",
        "{ lambda x:f64[4] . let y:f64[4] = reduce_window_min[" WINDOW "] x in (y,) }",
        "{ lambda x:f64[4] . let y:f64[4] = reduce_window_sum[" WINDOW "] x in (y,) }",
        "{ lambda x:i32[4] . let y:i32[4] = reduce_window_prod[" WINDOW "] x in (y,) }",
        "{ lambda t:f64[4] x:f64[4] . let y:f64[4] = select_and_gather_add[select_prim=le " WINDOW "] t x in (y,) }",
        "{ lambda u:f64[4] x:f64[4] . let y:f64[4] = select_and_scatter_add[select_prim=ge " WINDOW "] u x in (y,) }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tn_fn *f = tn_fn_parse(ctx, texts[i], strlen(texts[i]), "test.tn");
        if (!f) fail_msg("%s\n%s", tn_error(ctx), texts[i]);
        assert_int_equal(count(f, "reduce_window") + count(f, "select_and"), 0);
    }
    const double t[4] = {1, 2, 3, 4}, x[4] = {5, 5, 7, 6};
    double y[4];
    run(tn_fn_parse(ctx, texts[5], strlen(texts[5]), "t"), (const void *const[]){t, x}, (void *const[]){y});
    assert_memory_equal(y, ((double[]){1, 2, 4, 4}), sizeof y);
    run(tn_fn_parse(ctx, texts[6], strlen(texts[6]), "t"), (const void *const[]){t, x}, (void *const[]){y});
    assert_memory_equal(y, ((double[]){1, 0, 5, 4}), sizeof y);
    refused("{ lambda x:f32[4] . let y:f32[4] = conv_general_dilated[window_strides=(2, 2) " CONV "] x in (y,) }",
            "needs two operands");
    refused("{ lambda x:f32[4] . let y:f32[4] = conv_general_dilated[window_strides=(2,) " CONV "] x x in (y,) }",
            "differ in length");
    refused("{ lambda x:f64[4] . let y:f64[4] = reduce_window_max[" WINDOW "] x x in (y,) }", "2 operands, not 1");
    refused("{ lambda x:f64[4,4] . let y:f64[4] = reduce_window_max[" WINDOW "] x in (y,) }", "windows of rank 1");
    refused("{ lambda x:bool[4] . let y:bool[4] = reduce_window_sum[" WINDOW "] x in (y,) }", "not defined for bool");
    refused("{ lambda x:f64[4] . let y:f64[4] = reduce_window_sum[window_dimensions=(2,) window_strides=() "
            "padding=()] x in (y,) }",
            "differ in length");
    refused("{ lambda x:f64[4] . let y:f64[3] = reduce_window_sum[" WINDOW "] x in (y,) }",
            "is declared f64[3], but is f64[4]");
    refused("{ lambda t:f64[3] x:f64[4] . let y:f64[4] = select_and_gather_add[select_prim=le " WINDOW
            "] t x in (y,) }",
            "operands of different types");
    refused("{ lambda t:f64[3] x:f64[4] . let y:f64[4] = select_and_scatter_add[select_prim=le " WINDOW
            "] t x in (y,) }",
            "not the shape of the windows");
    refused("{ lambda x:i32[4] . let y:i32[4] = select_and_gather_add[select_prim=le " WINDOW "] x x in (y,) }",
            "not defined for integers");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_conv, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spread_conv, setup, teardown),
        cmocka_unit_test_setup_teardown(test_conv_equations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bias, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_conv_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vmap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rank_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pools, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pool_dtypes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_average, setup, teardown),
        cmocka_unit_test_setup_teardown(test_operators, setup, teardown),
        cmocka_unit_test_setup_teardown(test_conv_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pool_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_texts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
