/* Reductions, scans and sorts: values, order of summation, NaN, ties, empty axes,
 * derivatives at zeros and ties, and what the type rules refuse. */
#include "prims/dims.h"
#include "prims/ids.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
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

static tn_fn *parse(const char *text) {
    tn_fn *f = tn_fn_parse(ctx, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(ctx));
    return f;
}

static void run_fn(const tn_fn *f, const void *const *in, void *const *out) {
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(ctx));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

#define RUN(text, in, ...) run_fn(parse(text), (const void *const[]){in}, (void *const[]){__VA_ARGS__})

static void refused(const char *text, const char *why) {
    assert_null(tn_fn_parse(ctx, text, strlen(text), "test.tn"));
    if (!strstr(tn_error(ctx), why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(ctx), why);
}

static void expect(size_t n, const double *got, const double *want) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-13 * fmax(1, fabs(want[i])) || got[i] == want[i] ||
              (isnan(got[i]) && isnan(want[i]))))
            fail_msg("element %zu: %.17g, not %.17g", i, got[i], want[i]);
}

/* ---- sums ------------------------------------------------------------------------ */

static void sums_are_accurate(void **state) {
    (void)state;
    enum { N = 1000000 };
    float *x = malloc(N * sizeof *x), sum = 0;
    double *y = malloc(N * sizeof *y), total = 0;
    assert_true(x && y);
    for (int i = 0; i < N; i++) {
        x[i] = 0.1f;
        y[i] = 0.1;
    }
    RUN("{ lambda x:f32[1000000] . let s:f32[] = reduce_sum[axes=(0,)] x in (s,) }", x, &sum);
    RUN("{ lambda x:f64[1000000] . let s:f64[] = reduce_sum[axes=(0,)] x in (s,) }", y, &total);
    assert_true(fabs((double)sum - N * (double)0.1f) <= 0.04); /* 4e-7 of it; one after another 958 */
    assert_true(fabs(total - 100000.0) <= 1e-10);              /* one after another they are 1.3e-6 off */
    float *c = malloc(N * sizeof *c);
    RUN("{ lambda x:f32[1000000] . let s:f32[1000000] = cumsum[axis=0 reverse=False] x in (s,) }", x, c);
    assert_true(c[N - 1] == (float)(N * (double)0.1f));
    free(x), free(y), free(c);
}

/* Reduces x of the given type and strides over axis 0 by the kernel itself. */
static void reduce_first(const tn_prim *prim, const tn_type *t, void *data, const int64_t *stride, void *out) {
    const int64_t axis = 0;
    tn_type rest = *t;
    rest.rank--;
    memmove(rest.dim, t->dim + 1, (TN_MAX_RANK - 1) * sizeof *rest.dim);
    const tn_i_param p[2] = {{.kind = TN_K_INTS, .n = 1, .u.ints = &axis}};
    tn_i_arr x = {.type = t, .data = data}, y = {.type = &rest, .data = out};
    memcpy(x.stride, stride, (size_t)t->rank * sizeof *stride);
    for (int i = rest.rank - 1, s = 1; i >= 0; s *= (int)rest.dim[i], i--) y.stride[i] = s;
    const tn_i_kernel k = {.prim = prim, .p = p, .nin = 1, .nout = 1, .in = &x, .out = &y, .threads = 1};
    assert_int_equal(prim->kernel(&k), TN_OK);
}

static void order_ignores_layout(void **state) {
    (void)state;
    enum { N = 777, M = 70 };
    static double rows[N * M], columns[M * N], spread[N * M * 2];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            const double x = sin(i * 1.7 + j) * exp2(i % 40);
            rows[i * M + j] = columns[j * N + i] = spread[2 * (i * M + j)] = x;
        }
    const tn_type t = tn_type_of(TN_F64, 2, (const int64_t[]){N, M}), one = tn_type_of(TN_F64, 1, (const int64_t[]){N});
    const tn_prim *prims[] = {&tn_prim_reduce_sum, &tn_prim_reduce_prod};
    for (size_t k = 0; k < 2; k++) {
        double a[M], b[M], c[M], alone;
        reduce_first(prims[k], &t, rows, (const int64_t[]){M, 1}, a);
        reduce_first(prims[k], &t, columns, (const int64_t[]){1, N}, b);
        reduce_first(prims[k], &t, spread, (const int64_t[]){2 * M, 2}, c);
        assert_memory_equal(a, b, sizeof a);
        assert_memory_equal(a, c, sizeof a);
        for (int j = 0; j < M; j++) {
            reduce_first(prims[k], &one, columns + j * N, (const int64_t[]){1}, &alone);
            assert_memory_equal(&alone, &a[j], sizeof alone);
        }
    }
}

static void extremes(void **state) {
    (void)state;
    const double x[] = {1, NAN, 3, 2, 5, 5};
    double most[2], least[2];
    int32_t at[2];
    int64_t low[2];
    RUN("{ lambda x:f64[2,3] . let a:f64[2] = reduce_max[axes=(1,)] x b:f64[2] = reduce_min[axes=(1,)] x "
        "c:i32[2] = argmax[axes=(1,) index_dtype=i32] x d:i64[2] = argmin[axes=(1,) index_dtype=i64] x in (a, b, c, d) "
        "}",
        x, most, least, at, low);
    expect(2, most, (const double[]){NAN, 5});
    expect(2, least, (const double[]){NAN, 2});
    assert_true(at[0] == 1 && at[1] == 1 && low[0] == 1 && low[1] == 0);
}

static void integers_wrap_and_empty_axes(void **state) {
    (void)state;
    const int32_t x[] = {INT32_MAX, 1, 65536, 65536};
    int32_t sum, prod[2];
    RUN("{ lambda x:i32[2,2] . let s:i32[] = reduce_sum[axes=(0,1)] x p:i32[2] = reduce_prod[axes=(1,)] x in (s, p) }",
        x, &sum, prod);
    assert_true(sum == INT32_MIN + 131072 && prod[0] == INT32_MAX && prod[1] == 0);
    double s[2], p[2], most[2], least[2];
    RUN("{ lambda x:f64[2,0] . let s:f64[2] = reduce_sum[axes=(1,)] x p:f64[2] = reduce_prod[axes=(1,)] x "
        "m:f64[2] = reduce_max[axes=(1,)] x l:f64[2] = reduce_min[axes=(1,)] x in (s, p, m, l) }",
        NULL, s, p, most, least);
    expect(2, s, (const double[]){0, 0});
    expect(2, p, (const double[]){1, 1});
    expect(2, most, (const double[]){-INFINITY, -INFINITY});
    expect(2, least, (const double[]){INFINITY, INFINITY});
    int32_t low;
    bool all;
    RUN("{ lambda x:i32[0] . let m:i32[] = reduce_max[axes=(0,)] x in (m,) }", NULL, &low);
    RUN("{ lambda x:bool[0] . let m:bool[] = reduce_min[axes=(0,)] x in (m,) }", NULL, &all);
    assert_true(low == INT32_MIN && all);
}

/* ---- derivatives ---------------------------------------------------------------------- */

static void grad(const char *text, const void *x, double *g) {
    run_fn(tn_grad(parse(text), NULL, NULL), (const void *const[]){x}, (void *const[]){g});
}

static void product_through_zeros(void **state) {
    (void)state;
    const char *prod = "{ lambda x:f64[3] . let y:f64[] = reduce_prod[axes=(0,)] x in (y,) }";
    double g[3], h[9];
    grad(prod, (const double[]){0, 2, 3}, g);
    expect(3, g, (const double[]){6, 0, 0});
    grad(prod, (const double[]){0, 0, 3}, g);
    expect(3, g, (const double[]){0, 0, 0});
    run_fn(tn_hessian(parse(prod), NULL, NULL, 0), (const void *const[]){(const double[]){0, 0, 3}},
           (void *const[]){h});
    expect(9, h, (const double[]){0, 3, 0, 3, 0, 0, 0, 0, 0});
    const char *square = "{ lambda x:f64[2,2] . let y:f64[] = reduce_prod[axes=(0,1)] x in (y,) }";
    double q[4];
    grad(square, (const double[]){2, 0, 3, 5}, q);
    expect(4, q, (const double[]){0, 30, 0, 0});
}

static void scans_through_zeros(void **state) {
    (void)state;
    /* the sum of the running products of [a, b, c, d, e] */
    const char *text = "{ lambda x:f64[5] . let y:f64[5] = cumprod[axis=0 reverse=False] x s:f64[] = "
                       "reduce_sum[axes=(0,)] y in (s,) }";
    double g[5], h[25];
    grad(text, (const double[]){2, 0, 3, 0, 5}, g);
    expect(5, g, (const double[]){1, 2 + 6, 0, 0, 0});
    run_fn(tn_hessian(parse(text), NULL, NULL, 0), (const void *const[]){(const double[]){2, 0, 3, 0, 5}},
           (void *const[]){h});
    expect(25, h, (const double[]){0, 4, 0, 0, 0, 4, 0, 2, 36, 0, 0, 2, 0, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0});
}

static void ties_share(void **state) {
    (void)state;
    double g[4];
    grad("{ lambda x:f64[4] . let y:f64[] = reduce_max[axes=(0,)] x in (y,) }", (const double[]){3, 1, 3, 3}, g);
    expect(4, g, (const double[]){1 / 3.0, 0, 1 / 3.0, 1 / 3.0});
    grad("{ lambda x:f64[4] . let y:f64[] = reduce_min[axes=(0,)] x in (y,) }", (const double[]){1, 1, 3, 3}, g);
    expect(4, g, (const double[]){0.5, 0.5, 0, 0});
    grad(
        "{ lambda x:f64[4] . let y:f64[4] = cummax[axis=0 reverse=False] x s:f64[] = reduce_sum[axes=(0,)] y in (s,) }",
        (const double[]){1, 2, 2, 0}, g);
    expect(4, g, (const double[]){1, 2, 1, 0});
    grad("{ lambda x:f64[4] . let y:f64[4] = cummax[axis=0 reverse=True] x s:f64[] = reduce_sum[axes=(0,)] y in (s,) }",
         (const double[]){-INFINITY, 2, 1, 3}, g);
    expect(4, g, (const double[]){0, 0, 0, 4});
}

static size_t count_of(const char *text, const char *name) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, name)); at += strlen(name)) n++;
    return n;
}

/* Scans and their gradients: an equation each, of whatever length; the gradient is one scan the other way. */
static void scans_are_single_equations(void **state) {
    (void)state;
    static const char *const name[] = {"cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "linear_recurrence"};
    for (int long_axis = 0; long_axis < 2; long_axis++)
        for (int k = 0; k < 6; k++) {
            char text[256];
            const int n = long_axis ? 100000 : 7, two = k == 5;
            (void)snprintf(text, sizeof text,
                           "{ lambda x:f64[%d,2] a:f64[%d,2] . let y:f64[%d,2] = %s[axis=0 reverse=False] %s s:f64[] = "
                           "reduce_sum[axes=(0, 1)] y in (s,) }",
                           n, n, n, name[k], two ? "a x" : "x");
            tn_fn *g = tn_grad(parse(text), tn_wrt(0, 1), NULL);
            assert_non_null(g);
            char *printed = tn_fn_print(g, NULL);
            assert_int_equal(count_of(printed, "reverse=True"), 1);
            assert_true(count_of(printed, "reverse=False") <= 1);
            assert_int_equal(count_of(printed, "strides"), 0);
            assert_true(tn_fn_equations(g) <= 20);
            tn_text_free(tn_fn_ctx(g), printed);
        }
}

static void recurrences(void **state) {
    (void)state;
    enum { ROWS = 70, N = 9, COLUMNS = 5 };
    static double a[ROWS * N * COLUMNS], x[ROWS * N * COLUMNS], y[ROWS * N * COLUMNS];
    for (int i = 0; i < ROWS * N * COLUMNS; i++) {
        a[i] = 0.3 + 0.01 * (i % 37);
        x[i] = 1 - 0.02 * (i % 53);
    }
    for (int reverse = 0; reverse < 2; reverse++)
        for (int axis = 0; axis < 3; axis++) { /* of [70,9,5]: many lanes, lanes of a row, one after another */
            char text[256];
            (void)snprintf(text, sizeof text,
                           "{ lambda a:f64[70,9,5] x:f64[70,9,5] . let y:f64[70,9,5] = linear_recurrence[axis=%d "
                           "reverse=%s] a x in (y,) }",
                           axis, reverse ? "True" : "False");
            run_fn(parse(text), (const void *const[]){a, x}, (void *const[]){y});
            const int size[] = {ROWS, N, COLUMNS}, step[] = {N * COLUMNS, COLUMNS, 1};
            for (int i = 0; i < ROWS * N * COLUMNS; i++) {
                const int at = i / step[axis] % size[axis], by = reverse ? step[axis] : -step[axis];
                const bool first = at == (reverse ? size[axis] - 1 : 0);
                assert_true(y[i] == (first ? x[i] : fma(a[i], y[i + by], x[i])));
            }
        }
}

static tn_val filtered(const tn_val *in, void *user) {
    (void)user;
    const tn_val y = tn_linear_recurrence(in[1], tn_cummin(in[0], -1), 1);
    return tn_linear_recurrence(in[1], y, -1, TN_REVERSE); /* [3], repeated for each row */
}

static void recurrences_traced(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, filtered, NULL, 2, TN_TYPES(tn_f64(2, 3), tn_f64(3)));
    if (!f) fail_msg("%s", tn_error(c));
    const double x[] = {3, 1, 2, -1, 5, -2}, a[] = {NAN, 0.5, 2};
    double y[6];
    tn_exec *e = tn_compile(f, NULL);
    assert_int_equal(tn_call(e, (const void *const[]){x, a}, (void *const[]){y}), TN_OK);
    assert_true(isnan(y[0]) && isnan(y[3]));
    expect(2, y + 1, (const double[]){2.5 + 0.5 * 6, 6});
    expect(2, y + 4, (const double[]){-1.5 + 0.5 * -5, -5});
    assert_null(tn_trace(c, filtered, NULL, 2, TN_TYPES(tn_i64(2, 3), tn_i64(3))));
    assert_non_null(strstr(tn_error(c), "linear_recurrence"));
    tn_ctx_free(c);
}

static void wide_ranges(void **state) {
    (void)state;
    const char *text = "{ lambda x:f64[4] . let y:f64[4] = cumlogsumexp[axis=0 reverse=False] x in (y,) }";
    const char *last =
        "{ lambda x:f64[4] . let y:f64[4] = cumlogsumexp[axis=0 reverse=False] x "
        "t:f64[1] = slice[start_indices=(3,) limit_indices=(4,)] y s:f64[] = reduce_sum[axes=(0,)] t in (s,) }";
    double y[4], g[4];
    const double far[] = {1000, -1000, 1000, 2000}, none[] = {-INFINITY, -INFINITY, 0, -INFINITY},
                 inf[] = {0, INFINITY, 1, NAN};
    RUN(text, far, y);
    expect(4, y, (const double[]){1000, 1000, 1000 + log(2), 2000});
    RUN(text, none, y);
    expect(4, y, (const double[]){-INFINITY, -INFINITY, 0, 0});
    RUN(text, inf, y);
    expect(4, y, (const double[]){0, INFINITY, INFINITY, NAN});
    grad(last, far, g);
    expect(4, g, (const double[]){0, 0, 0, 1});
    grad(last, none, g);
    expect(4, g, (const double[]){0, 0, 1, 0});
    grad(last, (const double[]){800, 800, 800, 800}, g);
    expect(4, g, (const double[]){0.25, 0.25, 0.25, 0.25});
}

/* ---- sort --------------------------------------------------------------------------------- */

static void sorting(void **state) {
    (void)state;
    const double x[] = {0, NAN, -0.0, 2, -INFINITY, -NAN, -1};
    double y[7];
    int32_t at[7];
    RUN("{ lambda x:f64[7] . let i:i32[7] = iota[dtype=i32 shape=(7,) dimension=0] "
        "y:f64[7] j:i32[7] = sort[dimension=0 is_stable=True num_keys=1] x i in (y, j) }",
        x, y, at);
    assert_memory_equal(at, ((const int32_t[]){4, 6, 0, 2, 3, 1, 5}), sizeof at);
    assert_true(!signbit(y[2]) && signbit(y[3]) && isnan(y[5]) && isnan(y[6]));
    double g[6];
    grad("{ lambda x:f64[2,3] . let y:f64[2,3] = sort[dimension=1 is_stable=True num_keys=1] x "
         "w:f64[2,3] = constant[value=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]] z:f64[2,3] = mul w y s:f64[] = "
         "reduce_sum[axes=(0,1)] z in (s,) }",
         (const double[]){3, 1, 2, 0, 0, -1}, g);
    expect(6, g, (const double[]){3, 1, 2, 5, 6, 4});
}

static void long_sorts_by_two_keys(void **state) {
    (void)state;
    enum { N = 1000 };
    static int32_t key[N], minor[N], k[N], m[N];
    static double v[N], w[N];
    for (int i = 0; i < N; i++) {
        key[i] = (i * 7919) % 13;
        minor[i] = (i * 104729) % 7 - 3;
        v[i] = i;
    }
    tn_fn *f = parse("{ lambda k:i32[1000] m:i32[1000] v:f64[1000] . let a:i32[1000] b:i32[1000] c:f64[1000] = "
                     "sort[dimension=0 is_stable=True num_keys=2] k m v in (a, b, c) }");
    run_fn(f, (const void *const[]){key, minor, v}, (void *const[]){k, m, w});
    for (int i = 0; i < N; i++) {
        const int from = (int)w[i];
        assert_true(key[from] == k[i] && minor[from] == m[i]);
        if (i == 0) continue;
        assert_true(k[i - 1] < k[i] ||
                    (k[i - 1] == k[i] && (m[i - 1] < m[i] || (m[i - 1] == m[i] && w[i - 1] < w[i]))));
    }
}

/* The permutation of a rank-8 sort's tangents has no room for an index dimension of its own. */
static void rank_eight(void **state) {
    (void)state;
    const char *text = "{ lambda x:f64[1,2,1,3,1,1,1,2] . let y:f64[1,2,1,3,1,1,1,2] = sort[dimension=3 is_stable=True "
                       "num_keys=1] x in (y,) }";
    double x[12], dx[12], y[12], dy[12];
    for (int i = 0; i < 12; i++) {
        x[i] = (i * 5) % 12;
        dx[i] = 100 * x[i];
    }
    run_fn(tn_jvp(parse(text), NULL), (const void *const[]){x, dx}, (void *const[]){y, dy});
    for (int i = 0; i < 12; i++) assert_true(dy[i] == 100 * y[i]);
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void bad_programs(void **state) {
    (void)state;
    refused("{ lambda x:f64[3] . let y:f64[] = reduce_sum[axes=(1,)] x in (y,) }", "1 is no dimension");
    refused("{ lambda x:f64[3] . let y:f64[] = reduce_sum[axes=(-1,)] x in (y,) }", "-1 is no dimension");
    refused("{ lambda x:f64[3] . let y:f64[] = reduce_sum[axes=(0,0)] x in (y,) }", "repeated");
    refused("{ lambda x:bool[3] . let y:bool[] = reduce_sum[axes=(0,)] x in (y,) }", "not defined for bool");
    refused("{ lambda x:f64[3,0] . let y:i32[3] = argmax[axes=(1,) index_dtype=i32] x in (y,) }", "empty");
    refused("{ lambda x:f64[3,2] . let y:i32[] = argmax[axes=(0,1) index_dtype=i32] x in (y,) }", "exactly one");
    refused("{ lambda x:f64[3] . let y:f64[] = argmax[axes=(0,) index_dtype=f64] x in (y,) }", "i32 or i64");
    refused("{ lambda x:f64[] . let y:f64[] = cumsum[axis=0 reverse=False] x in (y,) }", "no dimension");
    refused("{ lambda x:i32[3] . let y:i32[3] = cumlogsumexp[axis=0 reverse=False] x in (y,) }", "not defined for i32");
    refused("{ lambda x:f64[3] . let y:f64[3] = sort[dimension=0 is_stable=True num_keys=2] x in (y,) }", "num_keys 2");
    refused("{ lambda x:f64[3] z:f64[2] . let y:f64[3] w:f64[2] = sort[dimension=0 is_stable=True num_keys=1] x z in "
            "(y,) }",
            "shape differs");
    refused("{ lambda . let y:f64[3] = sort[dimension=0 is_stable=True num_keys=1] in (y,) }", "needs an operand");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_are_accurate, setup, teardown),
        cmocka_unit_test_setup_teardown(order_ignores_layout, setup, teardown),
        cmocka_unit_test_setup_teardown(extremes, setup, teardown),
        cmocka_unit_test_setup_teardown(integers_wrap_and_empty_axes, setup, teardown),
        cmocka_unit_test_setup_teardown(product_through_zeros, setup, teardown),
        cmocka_unit_test_setup_teardown(scans_through_zeros, setup, teardown),
        cmocka_unit_test_setup_teardown(ties_share, setup, teardown),
        cmocka_unit_test_setup_teardown(scans_are_single_equations, setup, teardown),
        cmocka_unit_test_setup_teardown(recurrences, setup, teardown),
        cmocka_unit_test_setup_teardown(recurrences_traced, setup, teardown),
        cmocka_unit_test_setup_teardown(wide_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(sorting, setup, teardown),
        cmocka_unit_test_setup_teardown(long_sorts_by_two_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(rank_eight, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_programs, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
