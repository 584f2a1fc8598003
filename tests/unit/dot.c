/* dot_general: every dimension-number pattern against plain sums, in every layout and dtype;
 * what is overwritten, what may not be skipped, and what the type rule refuses. */
#include "prims/dims.h"
#include "prims/linear/gemm.h"
#include "prims/ids.h"
#include "prims/arrays/layout.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_i_rng rng = {1};
static int pick(int lo, int hi) { return (int)tn_i_pick(&rng, lo, hi); }

/* ---- a case: batch, contracting and free dimensions in any order ----------------------------- */

typedef struct operand {
    tn_type type;
    tn_i_arr arr;
    void *memory;        /* not freed: tests are short */
    int64_t place[4][2]; /* dimension of kind (batch, contracting, free) and number */
} operand;

static const tn_prim *const prim = &tn_prim_dot_general;

static double value(const tn_i_arr *x, int64_t at) {
    tn_i_wide v;
    tn_i_load(x->type->dtype, x->data, at, 1, 1, &v);
    return tn_i_is_float(x->type->dtype) ? v.d : (double)v.i;
}

/* Strides of some layout: dimensions in any order, with gaps, backwards or repeated. */
static void lay_out(operand *x, bool strange) {
    int64_t order[TN_MAX_RANK], step = strange ? pick(1, 2) : 1, first = 0;
    const int rank = x->type.rank;
    for (int i = 0; i < rank; i++) order[i] = i;
    for (int i = rank - 1; i > 0 && strange; i--) {
        const int j = pick(0, i);
        const int64_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    x->arr.type = &x->type;
    for (int i = rank - 1; i >= 0; i--) {
        int64_t size = x->type.dim[order[i]] > 0 ? x->type.dim[order[i]] : 1;
        x->arr.stride[order[i]] = step;
        const int kind = strange ? pick(0, 7) : 2;
        if (kind == 0) x->arr.stride[order[i]] = 0;
        if (kind == 1) {
            first += (size - 1) * step;
            x->arr.stride[order[i]] = -step;
        }
        step *= size + (strange && pick(0, 3) == 0);
    }
    const size_t elements = (size_t)step, size = tn_i_dtype_size(x->type.dtype);
    x->memory = calloc(elements ? elements : 1, size);
    assert_non_null(x->memory);
    for (size_t i = 0; i < elements; i++) {
        tn_i_wide v = {.i = pick(-4, 4)};
        if (tn_i_is_float(x->type.dtype)) v.d = (double)v.i / 4;
        tn_i_store(x->type.dtype, x->memory, (int64_t)i, 1, 1, &v);
    }
    x->arr.data = (char *)x->memory + first * (int64_t)size;
}

typedef struct sizes {
    int64_t v[3][2];
} sizes;

static void make_operand(operand *x, int dtype, const int *count, const sizes *size, bool strange) {
    memset(x, 0, sizeof *x);
    int64_t order[TN_MAX_RANK];
    int rank = 0;
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < count[kind]; i++) {
            const int j = pick(0, rank);
            order[rank] = order[j];
            order[j] = rank++;
        }
    x->type = (tn_type){.dtype = dtype, .rank = rank};
    int at = 0;
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < count[kind]; i++) {
            x->place[kind][i] = order[at++];
            x->type.dim[x->place[kind][i]] = size->v[kind][i];
        }
    lay_out(x, strange);
}

/* Positions of the free dimensions in order of the operand. */
static void sort_free(operand *x, int n) {
    if (n == 2 && x->place[2][0] > x->place[2][1]) {
        const int64_t t = x->place[2][0];
        x->place[2][0] = x->place[2][1];
        x->place[2][1] = t;
    }
}

static int64_t offset_of(const operand *x, int kind, int n, int64_t position) {
    int64_t at = 0;
    for (int i = n - 1; i >= 0; i--) {
        const int64_t size = x->type.dim[x->place[kind][i]];
        at += position % size * x->arr.stride[x->place[kind][i]];
        position /= size;
    }
    return at;
}

static int64_t total(const operand *x, int kind, int n) {
    int64_t p = 1;
    for (int i = 0; i < n; i++) p *= x->type.dim[x->place[kind][i]];
    return p;
}

static uint32_t numbers(const operand *x, const int *count, int64_t *v) {
    uint32_t n = 4;
    v[0] = v[1] = count[1];
    v[2] = v[3] = count[0];
    for (int kind = 1; kind >= 0; kind--)
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < count[kind]; i++) v[n++] = x[side].place[kind][i];
    return n;
}

static void check_product(const operand *x, const int *count, const int *right, int threads) {
    int64_t v[64];
    const tn_i_param p[2] = {{.kind = TN_K_LISTS, .n = numbers(x, count, v), .u.ints = v}};
    const tn_type *in[2] = {&x[0].type, &x[1].type};
    tn_type out;
    tn_i_query q = {.prim = prim, .p = p, .nin = 2, .nout = 1, .in = in, .out = &out};
    assert_true(prim->type(&q));
    const size_t elements = tn_type_elements(&out), size = tn_i_dtype_size(out.dtype), scratch = prim->scratch(&q);
    char *data = malloc(elements * size + 1);
    memset(data, 0xFF, elements * size + 1); /* NaN */
    tn_i_arr arrays[2] = {x[0].arr, x[1].arr}, y = {.type = &out, .data = data};
    tn_i_dense_strides(&out, y.stride);
    void *room = scratch ? aligned_alloc(64, (scratch + 63) / 64 * 64) : NULL;
    const tn_i_kernel k = {
        .prim = prim, .p = p, .nin = 2, .nout = 1, .in = arrays, .out = &y, .scratch = room, .threads = threads};
    assert_int_equal(prim->kernel(&k), TN_OK);
    assert_int_equal((unsigned char)data[elements * size], 0xFF);
    free(room);
    const int64_t nb = total(x, 0, count[0]), nk = total(x, 1, count[1]), m = total(x, 2, count[2]),
                  n = total(x + 1, 2, right[2]);
    assert_int_equal(nb * m * n, (int64_t)elements);
    for (int64_t at = 0; at < nb * m * n; at++) {
        double sum = 0;
        const int64_t l = offset_of(x, 0, count[0], at / (m * n)) + offset_of(x, 2, count[2], at / n % m);
        const int64_t r = offset_of(x + 1, 0, count[0], at / (m * n)) + offset_of(x + 1, 2, right[2], at % n);
        for (int64_t i = 0; i < nk; i++)
            sum += value(&x[0].arr, l + offset_of(x, 1, count[1], i)) *
                   value(&x[1].arr, r + offset_of(x + 1, 1, count[1], i));
        /* sums of small multiples of 1/16 are exact in every order */
        if (value(&y, at) != sum) fail_msg("element %lld: %g, not %g", (long long)at, value(&y, at), sum);
    }
    free(data);
    free(x[0].memory);
    free(x[1].memory);
}

static void random_products(void **state) {
    (void)state;
    static const int dtypes[] = {TN_F64, TN_F32, TN_I32, TN_I64};
    for (int round = 0; round < 3000; round++) {
        const bool large = round % 10 == 0;
        const int count[3] = {pick(0, 2), pick(0, 2), pick(0, 2)}, right[3] = {count[0], count[1], pick(0, 2)};
        sizes left_size, right_size;
        for (int kind = 0; kind < 3; kind++)
            for (int i = 0; i < 2; i++) {
                left_size.v[kind][i] = pick(0, 30) == 0 ? 0 : pick(1, large ? kind == 0 ? 2 : 25 : 4);
                right_size.v[kind][i] = kind < 2 ? left_size.v[kind][i] : pick(1, large ? 25 : 4);
            }
        operand x[2];
        const int dtype = dtypes[round % 4];
        make_operand(&x[0], dtype, count, &left_size, pick(0, 3) > 0);
        make_operand(&x[1], dtype, right, &right_size, pick(0, 3) > 0);
        sort_free(&x[0], count[2]);
        sort_free(&x[1], right[2]);
        check_product(x, count, right, pick(1, 2));
    }
}

/* Large matrices in all layouts, plain ones and those no pair of strides describes. */
static void large_products(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{150, 170, 260}, {300, 2, 40}, {1, 400, 300},  {400, 1, 300},
                                        {1, 1, 5000},    {90, 80, 1},  {210, 20, 1100}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int round = 0; round < 12; round++) {
            const sizes l = {{{0}, {shapes[s][2]}, {shapes[s][0]}}}, r = {{{0}, {shapes[s][2]}, {shapes[s][1]}}};
            const int count[3] = {0, 1, 1};
            operand x[2];
            make_operand(&x[0], round % 2 ? TN_F64 : TN_F32, count, &l, round > 1);
            make_operand(&x[1], round % 2 ? TN_F64 : TN_F32, count, &r, round > 1);
            check_product(x, count, count, 1 + round % 2);
        }
}

/* Sums so long that they are cut, over dimensions that no pair of strides describes, and few rows, or columns. */
static void long_sums(void **state) {
    (void)state;
    for (int round = 0; round < 24; round++) {
        const int64_t inner[2] = {pick(30, 45), pick(30, 45)};
        const bool wide = round % 4 > 1;
        const sizes l = {{{0}, {inner[0], inner[1]}, {pick(1, wide ? 4 : 14), pick(1, wide ? 4 : 9)}}};
        const sizes r = {{{0}, {inner[0], inner[1]}, {pick(1, wide ? 14 : 4), pick(1, wide ? 9 : 4)}}};
        const int count[3] = {0, 2, 2};
        operand x[2];
        make_operand(&x[0], round % 2 ? TN_F64 : TN_F32, count, &l, round > 3);
        make_operand(&x[1], round % 2 ? TN_F64 : TN_F32, count, &r, round > 3);
        sort_free(&x[0], 2);
        sort_free(&x[1], 2);
        check_product(x, count, count, 1 + round % 3 / 2);
    }
}

/* ---- NaN ---------------------------------------------------------------------------------------- */

/* Fills an m x n matrix of the layout (by rows or columns) and gives its strides. */
static tn_i_matrix ones(double *to, int m, int n, bool by_columns) {
    for (int i = 0; i < m * n; i++) to[i] = 1;
    return (tn_i_matrix){to, by_columns ? 1 : n, by_columns ? m : 1};
}

static void product_of(tn_i_matrix a, tn_i_matrix b, int m, int n, int k, double *c) {
    const tn_type t[3] = {tn_type_of(TN_F64, 2, (const int64_t[]){m, k}),
                          tn_type_of(TN_F64, 2, (const int64_t[]){k, n}),
                          tn_type_of(TN_F64, 2, (const int64_t[]){m, n})};
    const tn_i_arr in[2] = {{.type = &t[0], .data = a.data, .stride = {a.rs, a.cs}},
                            {.type = &t[1], .data = b.data, .stride = {b.rs, b.cs}}};
    tn_i_arr out = {.type = &t[2], .data = c, .stride = {n, 1}};
    const int64_t v[] = {1, 1, 0, 0, 1, 0};
    const tn_i_param params[2] = {{.kind = TN_K_LISTS, .n = 6, .u.ints = v}};
    const tn_i_kernel kernel = {.prim = prim, .p = params, .nin = 2, .nout = 1, .in = in, .out = &out, .threads = 1};
    for (int i = 0; i < m * n; i++) c[i] = NAN;
    assert_int_equal(prim->kernel(&kernel), TN_OK);
}

/* A NaN in one operand meets only zeros of the other: it must come through all the same. */
static void zero_times_nan(void **state) {
    (void)state;
    enum { MOST = 70 };
    static double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST];
    static const int shapes[][3] = {{5, 1, 70},  {1, 5, 70},   {70, 1, 70}, {1, 70, 70}, {1, 1, 70},
                                    {70, 70, 1}, {33, 35, 70}, {3, 3, 3},   {12, 9, 33}, {31, 12, 40},
                                    {2, 5, 70},  {7, 2, 64},   {64, 64, 64}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int layout = 0; layout < 4; layout++)
            for (int p = 0; p < shapes[s][2]; p++) {
                const int m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
                const tn_i_matrix x = ones(a, m, k, layout & 1), y = ones(b, k, n, layout & 2);
                for (int j = 0; j < n; j++) b[p * y.rs + j * y.cs] = 0;
                for (int i = 0; i < m; i++) a[i * x.rs + p * x.cs] = i % 2 ? 1 : NAN;
                product_of(x, y, m, n, k, c);
                for (int i = 0; i < m * n; i++)
                    if (i / n % 2 ? c[i] != k - 1 : !isnan(c[i]))
                        fail_msg("%d %d %d layout %d: %g", m, n, k, layout, c[i]);
                for (int j = 0; j < n; j++) b[p * y.rs + j * y.cs] = j % 2 ? 1 : INFINITY;
                for (int i = 0; i < m; i++) a[i * x.rs + p * x.cs] = 0;
                product_of(x, y, m, n, k, c);
                for (int i = 0; i < m * n; i++)
                    if (i % n % 2 ? c[i] != k - 1 : !isnan(c[i]))
                        fail_msg("%d %d %d layout %d: %g", m, n, k, layout, c[i]);
            }
}

/* ---- the environment ------------------------------------------------------------------------------ */

static void environment_changes_nothing(void **state) {
    (void)state;
    enum { N = 200 };
    static double a[N * N], one[N * N], other[N * N];
    for (int i = 0; i < N * N; i++) a[i] = sin(i);
    const tn_i_matrix x = {a, N, 1};
    tn_i_gemm(TN_F64, 1, N, N, N, x, x, false, (tn_i_matrix){one, N, 1});
    assert_int_equal(setenv("BLIS_NUM_THREADS", "3", 1), 0);
    assert_int_equal(setenv("BLIS_JC_NT", "2", 1), 0);
    assert_int_equal(setenv("OMP_NUM_THREADS", "2", 1), 0);
    tn_i_gemm(TN_F64, 1, N, N, N, x, x, false, (tn_i_matrix){other, N, 1});
    assert_memory_equal(one, other, sizeof one);
    assert_true(strlen(tn_i_gemm_version()) > 0 && strlen(tn_i_gemm_kernels()) > 0);
}

static void warming(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const size_t before = tn_ctx_bytes(ctx);
    assert_true(tn_i_gemm_warm(ctx, TN_F64, 2, 1000000000, 3, 700));
    assert_true(tn_i_gemm_warm(ctx, TN_F32, 1, 1, 1, 1));
    assert_true(tn_i_gemm_warm(ctx, TN_I32, 1, 10, 10, 10));
    assert_true(tn_i_gemm_warm(ctx, TN_F64, 1, 0, 10, 10));
    assert_int_equal(tn_ctx_bytes(ctx), before);
    tn_ctx_free(ctx);
}

/* ---- rules -------------------------------------------------------------------------------------------- */

static tn_fn *parse(tn_ctx *ctx, const char *text) {
    tn_fn *f = tn_fn_parse(ctx, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(ctx));
    return f;
}

static void check_text(const tn_fn *f, const char *has, const char *has_not) {
    if (!f) fail_msg("no program");
    char *text = tn_fn_print(f, NULL);
    assert_non_null(text);
    if (has && !strstr(text, has)) fail_msg("no %s in %s", has, text);
    if (has_not && strstr(text, has_not)) fail_msg("%s in %s", has_not, text);
    tn_text_free(tn_fn_ctx(f), text);
}

static void gradients_need_no_permutation(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const char *text = "{ lambda x:f64[5,3] w:f64[3,4] . let "
                       "y:f64[5,4] = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] x w in (y,) }";
    check_text(tn_vjp(parse(ctx, text), NULL, NULL), "dot_general", "transpose");
    /* one vector, many: products of a matrix with a vector become one of two matrices */
    const char *vector = "{ lambda a:f64[5,3] x:f64[3] . let y:f64[5] = dot_general[dimension_numbers=(((1,), (0,)), "
                         "((), ()))] a x in (y,) }";
    check_text(tn_vmap(parse(ctx, vector), 7, (const int[]){TN_NOT_MAPPED, 0}, NULL), "f64[5,7]", NULL);
    tn_ctx_free(ctx);
}

static void bad_programs(void **state) {
    (void)state;
    static const struct {
        const char *numbers, *why;
    } cases[] = {
        {"(((1,), (0,)), ((), ()))", "has size"},       {"(((2,), (0,)), ((), ()))", "no dimension"},
        {"(((-1,), (0,)), ((), ()))", "no dimension"},  {"(((0, 0), (0, 0)), ((), ()))", "repeated"},
        {"(((0,), (0,)), ((0,), (0,)))", "repeated"},   {"(((0,), ()), ((), ()))", "contracting dimensions"},
        {"(((), ()), ((0,), ()))", "batch dimensions"},
    };
    tn_ctx *ctx = tn_ctx_new(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "{ lambda a:f64[3,5] b:f64[3,4] . let y:f64[] = dot_general[dimension_numbers=%s] a b in (y,) }",
                       cases[i].numbers);
        assert_null(tn_fn_parse(ctx, text, strlen(text), "test.tn"));
        if (!strstr(tn_error(ctx), cases[i].why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(ctx), cases[i].why);
    }
    const char *others[] = {
        "{ lambda a:f64[3] b:f32[3] . let y:f64[] = dot_general[dimension_numbers=(((0,), (0,)), ((), ()))] a b in "
        "(y,) }",
        "{ lambda a:bool[3] b:bool[3] . let y:bool[] = dot_general[dimension_numbers=(((0,), (0,)), ((), ()))] a b in "
        "(y,) }",
        "{ lambda a:f64[3] b:f64[3] . let y:f32[] = dot_general[dimension_numbers=(((0,), (0,)), ((), ())) "
        "preferred_element_type=f32] a b in (y,) }",
        "{ lambda a:f64[1,1,1,1,1] b:f64[1,1,1,1] . let y:f64[] = dot_general[dimension_numbers=(((), ()), ((), ()))] "
        "a b in (y,) }",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(tn_fn_parse(ctx, others[i], strlen(others[i]), "test.tn"));
    tn_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_products),
        cmocka_unit_test(large_products),
        cmocka_unit_test(long_sums),
        cmocka_unit_test(zero_times_nan),
        cmocka_unit_test(environment_changes_nothing),
        cmocka_unit_test(warming),
        cmocka_unit_test(gradients_need_no_permutation),
        cmocka_unit_test(bad_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
