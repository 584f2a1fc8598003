/* triangular_solve and cholesky: residuals for every parameter, size and layout; what is not
 * read; matrices that are not positive definite; and what the type rules refuse. */
#include "prims/ids.h"
#include "prims/arrays/layout.h"
#include "prims/linear/product.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_i_rng rng = {7};
static int pick(int lo, int hi) { return (int)tn_i_pick(&rng, lo, hi); }

enum { BATCH = 2, MOST = 200 };

static void put(int dtype, void *data, int64_t at, double x) {
    if (dtype == TN_F64)
        ((double *)data)[at] = x;
    else
        ((float *)data)[at] = (float)x;
}

static double get(int dtype, const void *data, int64_t at) {
    return dtype == TN_F64 ? ((const double *)data)[at] : (double)((const float *)data)[at];
}

/* A layout of BATCH matrices n x m: by rows or columns, with gaps, or backwards. */
static tn_i_arr lay_out(const tn_type *t, void *memory, int layout) {
    const int64_t n = t->dim[1], m = t->dim[2];
    tn_i_arr x = {.type = t, .data = memory, .stride = {n * m + 3, m, 1}};
    if (layout & 1) x.stride[1] = 1, x.stride[2] = n;
    if (layout & 2)
        for (int i = 0; i < 3; i++) x.stride[i] *= 2;
    if (layout == 4) {
        x.data = (char *)memory + ((n - 1) * m + m - 1) * (int64_t)tn_i_dtype_size(t->dtype);
        x.stride[1] = -m, x.stride[2] = -1;
    }
    return x;
}

static int64_t at(const tn_i_arr *x, int64_t k, int64_t i, int64_t j) {
    return k * x->stride[0] + i * x->stride[1] + j * x->stride[2];
}

static void run(const tn_prim *prim, const tn_i_param *p, uint32_t nin, const tn_i_arr *in, const tn_type *t, void *out,
                int threads) {
    tn_i_arr y = {.type = t, .data = out};
    tn_i_dense_strides(t, y.stride);
    const tn_i_kernel k = {.prim = prim, .p = p, .nin = nin, .nout = 1, .in = in, .out = &y, .threads = threads};
    assert_int_equal(prim->kernel(&k), TN_OK);
}

/* ---- triangular_solve -------------------------------------------------------------------- */

typedef struct flags {
    bool left, lower, transposed, unit;
} flags;

static double element(const tn_i_arr *a, flags f, int64_t k, int64_t i, int64_t j) {
    if (f.transposed) {
        const int64_t t = i;
        i = j;
        j = t;
    }
    if (i == j && f.unit) return 1;
    if (i != j && f.lower != (j < i)) return 0;
    return get(a->type->dtype, a->data, at(a, k, i, j));
}

static void check_solve(int dtype, flags f, int64_t n, int64_t m, int layout_a, int layout_b, int threads) {
    const tn_type ta = tn_type_of((tn_dtype)dtype, 3, (const int64_t[]){BATCH, n, n});
    const tn_type tb = tn_type_of((tn_dtype)dtype, 3, (const int64_t[]){BATCH, f.left ? n : m, f.left ? m : n});
    const size_t room = (size_t)(2 * BATCH * (n * n + n * m + 4) + 16);
    void *a = calloc(room, 8), *b = calloc(room, 8), *x = calloc(room, 8);
    const tn_i_arr in[2] = {lay_out(&ta, a, layout_a), lay_out(&tb, b, layout_b)};
    for (int64_t k = 0; k < BATCH; k++) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const bool read = i == j ? !f.unit : f.lower == (j < i);
                const double v = i == j ? 2 + pick(0, 9) / 10.0 : pick(-9, 9) / (10.0 * (double)n);
                put(dtype, in[0].data, at(&in[0], k, i, j), read ? v : NAN);
            }
        for (int64_t i = 0; i < tb.dim[1]; i++)
            for (int64_t j = 0; j < tb.dim[2]; j++) put(dtype, in[1].data, at(&in[1], k, i, j), pick(-9, 9) / 4.0);
    }
    tn_i_param p[5];
    const bool v[5] = {f.left, f.lower, f.transposed, false, f.unit};
    for (int i = 0; i < 5; i++) p[i] = (tn_i_param){.kind = TN_K_BOOL, .u.i = v[i]};
    run(&tn_prim_triangular_solve, p, 2, in, &tb, x, threads);
    const double tolerance = dtype == TN_F64 ? 1e-12 : 1e-4;
    for (int64_t k = 0; k < BATCH; k++)
        for (int64_t i = 0; i < tb.dim[1]; i++)
            for (int64_t j = 0; j < tb.dim[2]; j++) {
                double sum = 0;
                for (int64_t q = 0; q < n; q++) {
                    const int64_t row = f.left ? q : i, column = f.left ? j : q;
                    sum += element(&in[0], f, k, f.left ? i : q, f.left ? q : j) *
                           get(dtype, x, (k * tb.dim[1] + row) * tb.dim[2] + column);
                }
                const double want = get(dtype, in[1].data, at(&in[1], k, i, j));
                if (!(fabs(sum - want) <= tolerance * fmax(1, fabs(want))))
                    fail_msg("%s n %d m %d left %d lower %d transposed %d unit %d layouts %d %d: %g, not %g",
                             tn_i_dtype_name(dtype), (int)n, (int)m, f.left, f.lower, f.transposed, f.unit, layout_a,
                             layout_b, sum, want);
            }
    free(a), free(b), free(x);
}

static void solves(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1}, {2, 3}, {5, 1}, {7, 4}, {30, 9}, {90, 1}, {65, 40}, {3, 150}, {120, 70}};
    for (int bits = 0; bits < 16; bits++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int dtype = TN_F32; dtype <= TN_F64; dtype++)
                check_solve(dtype, (flags){bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1}, sizes[s][0],
                            sizes[s][1], pick(0, 4), pick(0, 4), pick(1, 2));
}

/* ---- cholesky ------------------------------------------------------------------------------- */

/* Symmetric and dominated by its diagonal; the strict upper triangle holds NaN. */
static void symmetric(const tn_i_arr *a, int64_t n) {
    for (int64_t k = 0; k < BATCH; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                put(a->type->dtype, a->data, at(a, k, i, j),
                    j > i    ? NAN
                    : i == j ? 2 + (double)n / 4
                             : sin((double)(i * 7 + j * 3 + k)) / 4);
}

static void check_factor(int dtype, int64_t n, int layout, int threads) {
    const tn_type t = tn_type_of((tn_dtype)dtype, 3, (const int64_t[]){BATCH, n, n});
    const size_t room = (size_t)(2 * BATCH * (n * n + 4) + 16);
    void *memory = calloc(room, 8), *l = calloc(room, 8);
    const tn_i_arr a = lay_out(&t, memory, layout);
    symmetric(&a, n);
    run(&tn_prim_cholesky, NULL, 1, &a, &t, l, threads);
    const double tolerance = dtype == TN_F64 ? 1e-12 : 1e-4;
    for (int64_t k = 0; k < BATCH; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                if (j > i) {
                    assert_true(get(dtype, l, (k * n + i) * n + j) == 0);
                    continue;
                }
                for (int64_t q = 0; q <= j; q++)
                    sum += get(dtype, l, (k * n + i) * n + q) * get(dtype, l, (k * n + j) * n + q);
                const double want = get(dtype, a.data, at(&a, k, i, j));
                if (!(fabs(sum - want) <= tolerance * (double)n))
                    fail_msg("%d: (%d, %d) is %g, not %g", (int)n, (int)i, (int)j, sum, want);
            }
    free(memory), free(l);
}

static void factors(void **state) {
    (void)state;
    static const int sizes[] = {1, 2, 5, 63, 64, 65, 130, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int layout = 0; layout < 5; layout++)
            for (int dtype = TN_F32; dtype <= TN_F64; dtype++) check_factor(dtype, sizes[s], layout, 1 + layout % 2);
}

static void not_positive_definite(void **state) {
    (void)state;
    static double a[BATCH * MOST * MOST], l[BATCH * MOST * MOST];
    static const double bad[] = {-1, 0, NAN};
    for (size_t b = 0; b < 3; b++)
        for (int where = 0; where < MOST; where += 66) {
            const tn_type t = tn_type_of(TN_F64, 3, (const int64_t[]){BATCH, MOST, MOST});
            const tn_i_arr x = {.type = &t, .data = a, .stride = {MOST * MOST, MOST, 1}};
            memset(a, 0, sizeof a);
            for (int k = 0; k < BATCH; k++)
                for (int i = 0; i < MOST; i++) a[(k * MOST + i) * MOST + i] = 4;
            a[where * MOST + where] = bad[b];
            run(&tn_prim_cholesky, NULL, 1, &x, &t, l, 1);
            for (int i = 0; i < MOST; i++)
                for (int j = 0; j < MOST; j++) {
                    assert_true(j > i ? l[i * MOST + j] == 0 : isnan(l[i * MOST + j]));
                    assert_true(l[(MOST + i) * MOST + j] == (i == j ? 2 : 0)); /* the other matrix */
                }
        }
}

/* ---- rules ------------------------------------------------------------------------------------- */

static tn_fn *parse(tn_ctx *ctx, const char *text) {
    tn_fn *f = tn_fn_parse(ctx, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(ctx));
    return f;
}

static void run_fn(const tn_fn *f, const void *const *in, void *const *out) {
    assert_non_null(f);
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
}

/* The determinant of s is the squared product of l's diagonal; its gradient is det s times
 * s^-1, all of it in the lower triangle: off-diagonal elements count twice, upper ones not. */
static void gradient_of_determinant(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const tn_fn *f =
        parse(ctx, "{ lambda a:f64[2,2] . let l:f64[2,2] = cholesky a "
                   "u:f64[1,1] = slice[start_indices=(0,0) limit_indices=(1,1)] l "
                   "v:f64[1,1] = slice[start_indices=(1,1) limit_indices=(2,2)] l "
                   "w:f64[1,1] = mul u v q:f64[1,1] = mul w w s:f64[] = reduce_sum[axes=(0,1)] q in (s,) }");
    const double a[] = {3, NAN, 1, 2}, want[] = {2, 0, -2, 3};
    double g[4], h[16];
    run_fn(tn_grad(f, NULL, NULL), (const void *const[]){a}, (void *const[]){g});
    for (int i = 0; i < 4; i++) assert_true(fabs(g[i] - want[i]) < 1e-12);
    /* det = a00 a11 - a10^2 */
    const double second[16] = {[3] = 1, [10] = -2, [12] = 1};
    run_fn(tn_hessian(f, NULL, NULL, 0), (const void *const[]){a}, (void *const[]){h});
    for (int i = 0; i < 16; i++) assert_true(fabs(h[i] - second[i]) < 1e-11);
    tn_ctx_free(ctx);
}

/* Many right-hand sides against one matrix are one solve. */
static void batch_becomes_columns(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const tn_fn *f =
        parse(ctx, "{ lambda a:f64[4,4] b:f64[4,1] . let x:f64[4,1] = triangular_solve[left_side=True lower=True "
                   "transpose_a=False conjugate_a=False unit_diagonal=False] a b in (x,) }");
    const tn_fn *g = tn_vmap(f, 9, (const int[]){TN_NOT_MAPPED, 0}, NULL);
    char *text = g ? tn_fn_print(g, NULL) : NULL;
    if (!text || !strstr(text, "f64[4,9] = triangular_solve")) fail_msg("%s", text ? text : tn_error(ctx));
    tn_text_free(ctx, text);
    tn_ctx_free(ctx);
}

static void bad_programs(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{ lambda a:f64[2,3] . let l:f64[2,3] = cholesky a in (l,) }", "square"},
        {"{ lambda a:f64[3] . let l:f64[3] = cholesky a in (l,) }", "square"},
        {"{ lambda a:i32[2,2] . let l:i32[2,2] = cholesky a in (l,) }", "not defined for i32"},
        {"{ lambda a:f64[2,3] b:f64[2,1] . let x:f64[2,1] = triangular_solve[left_side=True lower=True "
         "transpose_a=False "
         "conjugate_a=False unit_diagonal=False] a b in (x,) }",
         "square"},
        {"{ lambda a:f64[2,2] b:f64[2] . let x:f64[2] = triangular_solve[left_side=True lower=True transpose_a=False "
         "conjugate_a=False unit_diagonal=False] a b in (x,) }",
         "rank"},
        {"{ lambda a:f64[2,2] b:f64[3,2] . let x:f64[3,2] = triangular_solve[left_side=True lower=True "
         "transpose_a=False "
         "conjugate_a=False unit_diagonal=False] a b in (x,) }",
         "rows"},
        {"{ lambda a:f64[2,2] b:f64[2,3] . let x:f64[2,3] = triangular_solve[left_side=False lower=True "
         "transpose_a=False "
         "conjugate_a=False unit_diagonal=False] a b in (x,) }",
         "columns"},
        {"{ lambda a:f64[5,2,2] b:f64[4,2,2] . let x:f64[4,2,2] = triangular_solve[left_side=False lower=True "
         "transpose_a=False "
         "conjugate_a=False unit_diagonal=False] a b in (x,) }",
         "batch dimension 0"},
        {"{ lambda a:f64[2,2] b:f32[2,2] . let x:f64[2,2] = triangular_solve[left_side=False lower=True "
         "transpose_a=False "
         "conjugate_a=False unit_diagonal=False] a b in (x,) }",
         "dtype"},
    };
    tn_ctx *ctx = tn_ctx_new(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(tn_fn_parse(ctx, cases[i].text, strlen(cases[i].text), "test.tn"));
        if (!strstr(tn_error(ctx), cases[i].why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(ctx), cases[i].why);
    }
    tn_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves),
        cmocka_unit_test(factors),
        cmocka_unit_test(not_positive_definite),
        cmocka_unit_test(gradient_of_determinant),
        cmocka_unit_test(batch_becomes_columns),
        cmocka_unit_test(bad_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
