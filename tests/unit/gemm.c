/* Products, triangles and solves with every set of kernels that this machine can run: BLIS picks one when it is first
 * called, so each has a process of its own.  Values are small multiples of powers of two, so that sums are exact in any
 * order and every element is compared exactly; solves are compared with what was multiplied. */
#include "run/gemm_context.h"
#include "prims/linear/gemm.h"
#include "prims/linear/product.h"
#include "prims/sample.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static tn_i_rng rng = {7};
static int64_t pick(int64_t lo, int64_t hi) { return tn_i_pick(&rng, lo, hi); }

/* ---- matrices ---------------------------------------------------------------------- */

/* A matrix in the middle of memory of its own. */
typedef struct matrix {
    tn_i_matrix at;
    int dtype;
    int64_t rows, columns;
    void *memory;
} matrix;

enum { BY_ROWS, BY_COLUMNS, SPREAD, BACKWARDS, REPEATED, LAYOUTS };

static double get(const matrix *x, int64_t i, int64_t j) {
    const int64_t p = i * x->at.rs + j * x->at.cs;
    return x->dtype == TN_F64 ? ((double *)x->at.data)[p] : (double)((float *)x->at.data)[p];
}

static void set(const matrix *x, int64_t i, int64_t j, double v) {
    const int64_t p = i * x->at.rs + j * x->at.cs;
    if (x->dtype == TN_F64)
        ((double *)x->at.data)[p] = v;
    else
        ((float *)x->at.data)[p] = (float)v;
}

static matrix make(int dtype, int64_t rows, int64_t columns, int layout, bool fill) {
    matrix x = {.dtype = dtype, .rows = rows, .columns = columns};
    const int64_t gap = layout == SPREAD ? 3 : 1, turn = layout == BY_COLUMNS ? 1 : layout == BY_ROWS ? 0 : pick(0, 1);
    x.at.cs = turn ? (rows + 1) * gap : gap;
    x.at.rs = turn ? gap : (columns + 2) * gap;
    const size_t size = tn_i_dtype_size(dtype), bytes = (size_t)((rows + 2) * (columns + 2) * gap) * size;
    x.memory = malloc(bytes);
    assert_non_null(x.memory);
    memset(x.memory, 0xFF, bytes); /* NaN */
    x.at.data = x.memory;
    if (layout == REPEATED) *(pick(0, 1) ? &x.at.rs : &x.at.cs) = 0;
    if (layout == BACKWARDS) {
        x.at.data = (char *)x.memory + ((rows - 1) * x.at.rs + (columns - 1) * x.at.cs) * (int64_t)size;
        x.at.rs = -x.at.rs;
        x.at.cs = -x.at.cs;
    }
    for (int64_t i = 0; i < rows && fill; i++)
        for (int64_t j = 0; j < columns; j++) set(&x, i, j, (double)pick(-4, 4) / 4);
    return x;
}

/* By rows, or by columns, so that what is summed lies in a row. */
static double *dense(const matrix *x, bool by_columns) {
    double *out = malloc((size_t)(x->rows * x->columns) * sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++) out[by_columns ? j * x->rows + i : i * x->columns + j] = get(x, i, j);
    return out;
}

/* Sums that are exact in any order, or need not be. */
static double dot(const double *x, const double *y, int64_t n) {
    double sum[4] = {0, 0, 0, 0};
    int64_t p = 0;
    for (; p + 4 <= n; p += 4)
        for (int l = 0; l < 4; l++) sum[l] += x[p + l] * y[p + l];
    for (; p < n; p++) sum[0] += x[p] * y[p];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* ---- products ---------------------------------------------------------------------- */

/* x, y: a by rows, b by columns. */
static void check_product(const double *x, const double *y, int64_t k, const matrix *c, const double *was) {
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->columns; j++) {
            const double sum = (was ? was[i * c->columns + j] : 0) + dot(x + i * k, y + j * k, k);
            if (get(c, i, j) != sum)
                fail_msg("%lld x %lld x %lld at %lld %lld: %g, not %g", (long long)c->rows, (long long)c->columns,
                         (long long)k, (long long)i, (long long)j, get(c, i, j), sum);
        }
}

typedef void product(int dtype, int threads, int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b,
                     bool accumulate, tn_i_matrix c);

static void one_product(product *f, int dtype, int threads, int64_t m, int64_t n, int64_t k, int la, int lb) {
    const matrix a = make(dtype, m, k, la, true), b = make(dtype, k, n, lb, true);
    const matrix c = make(dtype, m, n, (int)pick(BY_ROWS, SPREAD), false);
    double *const x = dense(&a, false), *const y = dense(&b, true);
    f(dtype, threads, m, n, k, a.at, b.at, false, c.at);
    check_product(x, y, k, &c, NULL);
    double *const was = dense(&c, false);
    f(dtype, threads, m, n, k, a.at, b.at, true, c.at);
    check_product(x, y, k, &c, was);
    free(was), free(x), free(y);
    free(a.memory);
    free(b.memory);
    free(c.memory);
}

static void products(void **state) {
    (void)state;
    for (int round = 0; round < 100; round++) {
        const int64_t most = round % 8 ? 30 : 110;
        one_product(round % 3 ? tn_i_multiply : tn_i_gemm, round % 2 ? TN_F64 : TN_F32, (int)pick(1, 2), pick(1, most),
                    pick(1, most), pick(1, most), (int)pick(0, LAYOUTS - 1), (int)pick(0, LAYOUTS - 1));
    }
    static const int64_t shapes[][3] = {{1, 1, 3000}, {1, 700, 300}, {700, 1, 300},  {300, 500, 1}, {5, 6, 3000},
                                        {3, 3, 1025}, {48, 48, 48},  {49, 51, 1030}, {24, 8, 320},  {100, 70, 600},
                                        {2, 2, 4096}, {57, 16, 64},  {79, 131, 33}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int layout = 0; layout < 8; layout += 1 + (int)(s % 2))
            one_product(layout & 4 ? tn_i_gemm : tn_i_multiply, s % 2 ? TN_F64 : TN_F32, 1 + (layout & 1), shapes[s][0],
                        shapes[s][1], shapes[s][2], layout & 1, layout >> 1 & 1);
}

/* Bits of a random product, which no order of additions gets exactly. */
static void irrational(const matrix *x) {
    enum { SINES = 1 << 16 };
    static double sine[SINES];
    for (int i = 0; i < SINES && sine[1] == 0; i++) sine[SINES - 1 - i] = sin(SINES - 1 - i);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++) set(x, i, j, sine[(i * 37 + j * 11 + 1) % SINES]);
}

static bool same_bits(const matrix *x, const matrix *y) {
    const size_t size = tn_i_dtype_size(x->dtype);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++)
            if (memcmp((char *)x->at.data + (i * x->at.rs + j * x->at.cs) * (int64_t)size,
                       (char *)y->at.data + (i * y->at.rs + j * y->at.cs) * (int64_t)size, size) != 0)
                return false;
    return true;
}

static void threads_change_no_bits(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {
        {200, 200, 200}, {161, 333, 517}, {64, 1000, 300}, {700, 30, 700}, {300, 1, 900}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int layout = 0; layout < 8; layout++) {
            const int dtype = layout & 4 ? TN_F64 : TN_F32;
            const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
            const matrix a = make(dtype, m, k, layout & 1, false), b = make(dtype, k, n, layout >> 1 & 1, false);
            const matrix c = make(dtype, m, n, BY_ROWS, false), d = make(dtype, m, n, BY_ROWS, false);
            irrational(&a);
            irrational(&b);
            tn_i_multiply(dtype, 1, m, n, k, a.at, b.at, false, c.at);
            tn_i_multiply(dtype, 2, m, n, k, a.at, b.at, false, d.at);
            if (!same_bits(&c, &d)) fail_msg("%lld %lld %lld %d", (long long)m, (long long)n, (long long)k, layout);
            free(a.memory), free(b.memory), free(c.memory), free(d.memory);
        }
}

/* A product with itself, which may be done by half, against one with a copy. */
static void symmetric_products(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{10, 300}, {159, 40}, {160, 160}, {233, 70}, {300, 1}, {217, 333}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int layout = 0; layout < 8; layout++) {
            const int dtype = layout & 1 ? TN_F64 : TN_F32;
            const int64_t n = shapes[s][0], k = shapes[s][1];
            const matrix a = make(dtype, n, k, layout >> 1 & 1, false), b = make(dtype, n, k, layout >> 1 & 1, false);
            const matrix c = make(dtype, n, n, layout >> 2, false), d = make(dtype, n, n, layout >> 2, false);
            irrational(&a);
            irrational(&b);
            const int threads = 1 + (layout >> 1 & 1);
            tn_i_multiply(dtype, threads, n, n, k, a.at, tn_i_matrix_transposed(a.at), false, c.at);
            tn_i_multiply(dtype, threads, n, n, k, a.at, tn_i_matrix_transposed(b.at), false, d.at);
            matrix turned = c;
            turned.at = tn_i_matrix_transposed(c.at);
            assert_true(same_bits(&c, &turned));
            if (!same_bits(&c, &d)) fail_msg("%lld %lld %d", (long long)n, (long long)k, layout);
            free(a.memory), free(b.memory), free(c.memory), free(d.memory);
        }
}

/* Each of many small products has the bits it has alone, in order of the inner index, and in f32 those of f32. */
static void many_products(void **state) {
    (void)state;
    enum { MOST = 17, COUNT = 9 };
    static double a[COUNT * MOST * MOST], b[COUNT * MOST * MOST], c[COUNT * MOST * MOST], one[MOST * MOST];
    for (int round = 0; round < 150; round++) {
        const int64_t m = pick(1, MOST), n = pick(1, MOST), k = pick(2, MOST);
        const int dtype = round % 2 ? TN_F64 : TN_F32;
        const size_t size = tn_i_dtype_size(dtype);
        const matrix x = {.dtype = dtype, .at = {a, 1, 1}, .rows = COUNT * MOST * MOST, .columns = 1};
        const matrix y = {.dtype = dtype, .at = {b, 1, 1}, .rows = COUNT * MOST * MOST, .columns = 1};
        irrational(&x);
        irrational(&y);
        const bool ta = pick(0, 1), tb = pick(0, 1), shared = pick(0, 3) == 0;
        tn_i_products w = {.dtype = dtype,
                           .m = m,
                           .n = n,
                           .k = k,
                           .count = COUNT,
                           .a = {a, ta ? 1 : k, ta ? m : 1},
                           .b = {b, tb ? 1 : n, tb ? k : 1},
                           .c = {c, n, 1},
                           .anext = m * k,
                           .bnext = shared ? 0 : k * n,
                           .cnext = m * n};
        tn_i_multiply_all(1, &w);
        for (int64_t i = 0; i < COUNT; i++) {
            const tn_i_matrix p = {(char *)a + (size_t)(i * w.anext) * size, w.a.rs, w.a.cs};
            const tn_i_matrix q = {(char *)b + (size_t)(i * w.bnext) * size, w.b.rs, w.b.cs};
            tn_i_multiply(dtype, 2, m, n, k, p, q, false, (tn_i_matrix){one, n, 1});
            assert_memory_equal((char *)c + (size_t)(i * w.cnext) * size, one, (size_t)(m * n) * size);
            if (dtype == TN_F32) {
                const float *s = p.data, *t = q.data;
                float fused = 0, plain = 0;
                for (int64_t j = 0; j < k; j++) {
                    fused = fmaf(s[j * p.cs], t[j * q.rs], fused);
                    plain += s[j * p.cs] * t[j * q.rs];
                }
                const matrix z = {.dtype = dtype, .at = {one, n, 1}};
                assert_true((float)get(&z, 0, 0) == fused || (float)get(&z, 0, 0) == plain);
            }
        }
    }
}

/* What blocks of rows rely on (plan/row_blocks.c): a row of a product has the same bits in 64 rows, which our own
 * kernels take, and in as many as go to BLIS, up to an inner size of 192 for f64 and 256 for f32. */
static void rows_are_alike(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{192, 100}, {191, 40}, {10, 250}, {65, 90}, {2, 800}, {64, 130}, {256, 70}};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const int dtype = i % 2 ? TN_F64 : TN_F32;
        const int64_t most = dtype == TN_F64 ? 192 : 256, k = sizes[i / 2][0] < most ? sizes[i / 2][0] : most;
        const int64_t n = sizes[i / 2][1], m = 20000000 / (n * k), some = 64;
        matrix a = make(dtype, m, k, BY_ROWS, false), b = make(dtype, k, n, (int)pick(0, 1), false);
        matrix all_rows = make(dtype, m, n, BY_ROWS, false), few = make(dtype, some, n, BY_ROWS, false);
        irrational(&a);
        irrational(&b);
        tn_i_multiply(dtype, 1, m, n, k, a.at, b.at, false, all_rows.at);
        for (int64_t first = 0; first + some <= m; first += m / 3 - some) {
            tn_i_multiply(dtype, 1, some, n, k, tn_i_matrix_at(dtype, a.at, first, 0), b.at, false, few.at);
            for (int64_t r = 0; r < some; r++)
                for (int64_t j = 0; j < n; j++)
                    if (get(&few, r, j) != get(&all_rows, first + r, j))
                        fail_msg("%lld x %lld: element %lld, %lld", (long long)k, (long long)n, (long long)(first + r),
                                 (long long)j);
        }
        free(a.memory);
        free(b.memory);
        free(all_rows.memory);
        free(few.memory);
    }
}

/* Tall products, which BLIS gets panel by panel: each element has the bits that it has in a product of fewer rows. */
static void panels(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1511, 90, 300}, {2017, 130, 192}, {3100, 40, 257}, {1513, 33, 400}};
    for (size_t i = 0; i < 8 * sizeof sizes / sizeof *sizes; i++) {
        const int dtype = i & 1 ? TN_F64 : TN_F32;
        const int64_t m = sizes[i / 8][0], n = sizes[i / 8][1], k = sizes[i / 8][2], some = 18000000 / (n * k);
        const bool add = i & 4;
        matrix a = make(dtype, m, k, i & 2 ? 0 : BY_ROWS, false), b = make(dtype, k, n, BY_ROWS, false);
        matrix whole = make(dtype, m, n, BY_ROWS, false), few = make(dtype, some, n, BY_ROWS, false);
        irrational(&a);
        irrational(&b);
        for (int64_t first = 0; first + some <= m; first += (m - some) / 3) {
            irrational(&whole);
            for (int64_t r = 0; r < some; r++)
                for (int64_t j = 0; j < n; j++) set(&few, r, j, get(&whole, first + r, j));
            tn_i_multiply(dtype, 1 + (int)(i >> 1 & 1), m, n, k, a.at, b.at, add, whole.at);
            tn_i_multiply(dtype, 1, some, n, k, tn_i_matrix_at(dtype, a.at, first, 0), b.at, add, few.at);
            for (int64_t r = 0; r < some; r++)
                for (int64_t j = 0; j < n; j++)
                    if (get(&few, r, j) != get(&whole, first + r, j))
                        fail_msg("%lld x %lld x %lld: element %lld, %lld", (long long)m, (long long)n, (long long)k,
                                 (long long)(first + r), (long long)j);
        }
        free(a.memory), free(b.memory), free(whole.memory), free(few.memory);
    }
}

/* One matrix times two vectors at once, with the bits of one, whichever operand is the matrix. */
static void two_vectors(void **state) {
    (void)state;
    int done = 0;
    for (int round = 0; round < 200; round++) {
        const int dtype = round % 2 ? TN_F64 : TN_F32;
        const bool turned = round & 2;
        const int64_t n = pick(2, 200), k = pick(2, 300);
        const matrix a = make(dtype, n, k, BY_ROWS, false);
        matrix x[2], y[2], z[2];
        tn_i_products w[2];
        irrational(&a);
        for (int q = 0; q < 2; q++) {
            x[q] = make(dtype, 1, k, BY_ROWS, false);
            irrational(&x[q]);
            y[q] = make(dtype, 1, n, BY_ROWS, false);
            z[q] = make(dtype, 1, n, BY_ROWS, false);
            const tn_i_matrix column = tn_i_matrix_transposed(x[q].at), row = tn_i_matrix_transposed(y[q].at);
            w[q] = (tn_i_products){.dtype = dtype, .m = 1, .n = n, .k = k, .count = 1};
            w[q].a = x[q].at, w[q].b = tn_i_matrix_transposed(a.at), w[q].c = y[q].at;
            if (turned) w[q].m = n, w[q].n = 1, w[q].a = a.at, w[q].b = column, w[q].c = row;
            tn_i_multiply_all(1, &w[q]);
        }
        const void *const in[2] = {x[0].at.data, x[1].at.data};
        void *const out[2] = {z[0].at.data, z[1].at.data};
        tn_i_by_dots d;
        const bool two = tn_i_gemm_two(&w[0], &w[1], &d);
        if (two) d.two(d.k, d.n, in, a.at.data, d.bcs, out);
        for (int q = 0; q < 2; q++) {
            for (int64_t j = 0; two && j < n; j++) assert_true(get(&y[q], 0, j) == get(&z[q], 0, j));
            free(x[q].memory);
            free(y[q].memory);
            free(z[q].memory);
        }
        done += two;
        free(a.memory);
    }
    tn_i_by_dots d;
    const tn_i_products w = {.dtype = TN_F64, .m = 1, .n = 100, .k = 100, .count = 1, .b = {NULL, 1, 100}};
    tn_i_products any = w;
    any.a.cs = any.c.cs = 1;
    if (tn_i_gemm_by_dots(&any, &d)) assert_true(done > 100); /* there are such kernels here */
}

static void call_dots(const tn_i_products *w, const tn_i_by_dots *s, void *to) {
    const void *const in[2] = {w->a.data, w->b.data};
    s->kernel(s->k, s->n, in[s->turned], in[!s->turned], s->bcs, false, to, s->ys);
}

/* What is one call of a kernel, called: with the bits of the product, whichever operand is the vector. */
static void one_kernel(void **state) {
    (void)state;
    int found = 0;
    for (int round = 0; round < 800; round++) {
        const int dtype = round % 2 ? TN_F64 : TN_F32, layout = (int)pick(0, 15);
        const int64_t size = pick(1, 130), one = pick(0, 9) ? 1 : 2;
        const int64_t k = round % 8 > 5 ? 8 : pick(1, round % 4 ? 130 : 60);
        const int64_t m = layout & 1 ? one : size, n = layout & 1 ? size : one;
        matrix a = make(dtype, m, k, layout >> 1 & 1, false), b = make(dtype, k, n, layout >> 2 & 1, false);
        const matrix c = make(dtype, m, n, layout >> 3, true), d = make(dtype, m, n, layout >> 3, true);
        irrational(&a);
        irrational(&b);
        tn_i_products w = {dtype, false, m, n, k, 1, a.at, b.at, c.at, .anext = 0};
        tn_i_by_dots s;
        const bool own = tn_i_gemm_own(1, &w), dots = tn_i_gemm_by_dots(&w, &s);
        assert_true(own || !dots);
        if (dots) call_dots(&w, &s, d.at.data);
        if (dots && !same_bits(&c, &d)) fail_msg("%lld %lld %lld %d", (long long)m, (long long)n, (long long)k, layout);
        found += dots;
        free(a.memory), free(b.memory), free(c.memory), free(d.memory);
    }
    if (tn_i_gemm_in_eights(TN_F64, 100)) assert_true(found > 50);
    /* A matrix times a vector is one, with kernels of our own; many or small ones, and what is added to, are none. */
    tn_i_products w = {.dtype = TN_F64, .m = 50, .n = 1, .k = 50, .count = 1, .a = {NULL, 50, 1}, .b = {NULL, 1, 1}};
    tn_i_by_dots s;
    w.c = (tn_i_matrix){NULL, 1, 1};
    const bool has = tn_i_gemm_by_dots(&w, &s);
    assert_true(!has || (s.turned && s.k == 50 && s.n == 50 && s.bcs == 50 && s.ys == 1));
    w.count = 2;
    assert_false(tn_i_gemm_by_dots(&w, &s));
    w.count = 1, w.accumulate = true;
    assert_false(tn_i_gemm_by_dots(&w, &s));
    w.accumulate = false, w.m = 2, w.k = 17; /* so are few rows, and sums of 17 numbers */
    assert_true(tn_i_gemm_by_dots(&w, &s) == has);
    w.m = 48, w.k = 16;
    assert_false(tn_i_gemm_by_dots(&w, &s));
    w.dtype = TN_F32;
    assert_false(tn_i_gemm_by_dots(&w, &s));
    w.k = 17;
    assert_true(tn_i_gemm_by_dots(&w, &s) == has);
    w.m = 50, w.k = 50, w.dtype = TN_I32;
    assert_false(tn_i_gemm_by_dots(&w, &s));
}

/* ---- triangles ------------------------------------------------------------------------ */

static void triangles(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        const int dtype = round % 2 ? TN_F64 : TN_F32;
        const int64_t n = pick(1, round % 5 ? 40 : 200), k = pick(1, 100);
        const matrix a = make(dtype, n, k, round % 3, true), c = make(dtype, n, n, (round / 3) % 3, true);
        double *was = malloc((size_t)(n * n) * sizeof *was);
        assert_non_null(was);
        for (int64_t i = 0; i < n * n; i++) was[i] = get(&c, i / n, i % n);
        tn_i_syrk(dtype, (int)pick(1, 2), n, k, a.at, c.at);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = was[i * n + j];
                for (int64_t p = 0; p < k && j <= i; p++) sum -= get(&a, i, p) * get(&a, j, p);
                assert_true(get(&c, i, j) == sum);
            }
        free(was);
        free(a.memory);
        free(c.memory);
    }
}

/* All eight: lower or upper, unit or not, by rows or by columns. */
static void solves(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{1, 7}, {24, 8}, {25, 9}, {50, 33}, {130, 40}, {201, 9}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int which = 0; which < 32; which++) {
            const int dtype = which & 8 ? TN_F64 : TN_F32;
            const bool lower = which & 1, unit = which & 2;
            const int64_t m = sizes[s][0], n = sizes[s][1];
            const matrix a = make(dtype, m, m, which >> 2 & 1, false), x = make(dtype, m, n, which >> 4, true);
            double *const was = dense(&x, false);
            for (int64_t i = 0; i < m; i++) /* what is not to be read stays NaN */
                for (int64_t j = 0; j < m; j++)
                    if (i == j ? !unit : (j < i) == lower)
                        set(&a, i, j, i == j ? 2 + 0.25 * (double)pick(0, 4) : (double)pick(-4, 4) / (double)(4 * m));
            tn_i_trsm(dtype, 1 + (which >> 2 & 1), lower, unit, m, n, a.at, x.at);
            const double most = dtype == TN_F64 ? 1e-13 : 1e-5;
            double *const rows = dense(&a, false), *const columns = dense(&x, true);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    const int64_t from = lower ? 0 : i + 1, to = lower ? i : m;
                    const double sum = (unit ? 1 : get(&a, i, i)) * get(&x, i, j) +
                                       dot(rows + i * m + from, columns + j * m + from, to - from);
                    if (!(fabs(sum - was[i * n + j]) <= most))
                        fail_msg("%lld x %lld, %d: %g, not %g", (long long)m, (long long)n, which, sum, was[i * n + j]);
                }
            free(was), free(rows), free(columns);
            free(a.memory);
            free(x.memory);
        }
}

/* ---- every set of kernels ------------------------------------------------------------ */

static const struct CMUnitTest all[] = {
    cmocka_unit_test(products),           cmocka_unit_test(threads_change_no_bits),
    cmocka_unit_test(symmetric_products), cmocka_unit_test(many_products),
    cmocka_unit_test(rows_are_alike),     cmocka_unit_test(panels),
    cmocka_unit_test(two_vectors),        cmocka_unit_test(one_kernel),
    cmocka_unit_test(triangles),          cmocka_unit_test(solves),
};

static char *self;

/* The same tests in another process, with BLIS's kernels of this name and number. */
static void with_kernels(const char *number, const char *name) {
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv("BLIS_ARCH_TYPE", number, 1);
        (void)execl("/proc/self/exe", self, name, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) fail_msg("with %s: status %d", name, status);
}

static void every_context(void **state) {
    (void)state;
#ifdef __x86_64__
    if (strncmp(tn_i_gemm_version(), "0.9.", 4) != 0) skip(); /* the numbers are of this version */
    with_kernels("25", "generic");
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
    with_kernels("3", "haswell");
    with_kernels("6", "zen3");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        with_kernels("0", "skx");
#else
    skip();
#endif
}

/* ---- tn_blis_select ------------------------------------------------------------------- */

static void selection(void **state) {
    (void)state;
    (void)unsetenv("BLIS_ARCH_TYPE");
    const tn_blis_choice choice = tn_blis_select();
    const char *set = getenv("BLIS_ARCH_TYPE");
    assert_true(choice == TN_BLIS_SELECTED ? set && (strcmp(set, "0") == 0 || strcmp(set, "3") == 0)
                                           : choice == TN_BLIS_KEPT && !set);
    assert_int_equal(setenv("BLIS_ARCH_TYPE", "25", 1), 0);
    assert_int_equal(tn_blis_select(), TN_BLIS_USER);
    assert_string_equal(getenv("BLIS_ARCH_TYPE"), "25");
    (void)unsetenv("BLIS_ARCH_TYPE");
}

static void processors(void **state) {
    (void)state;
#ifdef __x86_64__
    static const struct {
        const char *name;
        bool amd, avx512, known;
        unsigned family;
    } row[] = {
        {"AMD Ryzen 9 9950X", true, true, false, 0x1A},
        {"AMD EPYC 9354", true, true, true, 0x19},
        {"AMD EPYC 7742", true, false, true, 0x17},
        {"Intel(R) Xeon(R) Processor", false, true, false, 6},
        {"Intel(R) Xeon(R) Platinum 8480+", false, true, true, 6},
        {"Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", false, true, true, 6},
        {"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", false, true, false, 6},
        {"Intel(R) Xeon(R) Silver 4210 CPU @ 2.20GHz", false, true, true, 6},
        {"Intel(R) Xeon(R) W-2195 CPU @ 2.30GHz", false, true, true, 6},
        {"Intel(R) Xeon(R) W-3335 CPU @ 3.40GHz", false, true, false, 6},
        {"Intel(R) Xeon(R) E-2288G CPU @ 3.70GHz", false, false, true, 6},
        {"Intel(R) Core(TM) i9-10980XE CPU", false, true, true, 6},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (tn_i_blis_knows(!row[i].amd, row[i].amd, row[i].family, row[i].name, row[i].avx512) != row[i].known)
            fail_msg("%s", row[i].name);
    assert_false(tn_i_blis_knows(false, false, 6, "ZHAOXIN KaiXian KX-7000", false));
#endif
}

/* Kernels for Xeons, which tn_blis_select has BLIS take where it knows no better, keep products from none that are
 * faster. */
static void best_tiles(void **state) {
    (void)state;
    static const struct {
        const char *arch;
        bool avx2, avx512, later_amd;
        tn_i_tiles best;
    } row[] = {
        {"generic", false, false, false, TN_I_BLIS_TILES}, {"generic", true, false, false, TN_I_AVX2_TILES},
        {"generic", true, true, false, TN_I_AVX512_TILES}, {"generic", true, true, true, TN_I_AVX512_TILES},
        {"haswell", true, false, false, TN_I_BLIS_TILES},  {"haswell", true, true, false, TN_I_AVX512_TILES},
        {"skx", true, true, false, TN_I_BLIS_TILES},       {"skx", true, true, true, TN_I_AVX512_TILES},
        {"zen3", true, true, false, TN_I_BLIS_TILES},      {"zen3", true, false, false, TN_I_BLIS_TILES},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_int_equal(tn_i_best_tiles(row[i].arch, row[i].avx2, row[i].avx512, row[i].later_amd), row[i].best);
}

/* With what was selected BLIS must run: it aborts when it has no such kernels. */
static void selected_kernels_run(void **state) {
    (void)state;
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)unsetenv("BLIS_ARCH_TYPE");
        (void)execl("/proc/self/exe", self, "selected", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv) {
    self = argv[0];
    if (argc > 1 && strcmp(argv[1], "selected") == 0) {
        const struct CMUnitTest few[] = {cmocka_unit_test(products)};
        const tn_blis_choice choice = tn_blis_select();
        const char *kernels = tn_i_gemm_kernels();
        if (choice == TN_BLIS_SELECTED && strcmp(kernels, "skx") != 0 && strcmp(kernels, "haswell") != 0) return 3;
        return cmocka_run_group_tests_name(argv[1], few, NULL, NULL) ? 1 : 0;
    }
    if (argc > 1) {
        if (strcmp(tn_i_gemm_kernels(), argv[1]) != 0) return 3;
        return cmocka_run_group_tests_name(argv[1], all, NULL, NULL) ? 1 : 0;
    }
    const struct CMUnitTest others[] = {cmocka_unit_test(selection), cmocka_unit_test(processors),
                                        cmocka_unit_test(selected_kernels_run), cmocka_unit_test(every_context),
                                        cmocka_unit_test(best_tiles)};
    return cmocka_run_group_tests_name("kernels", others, NULL, NULL) +
           cmocka_run_group_tests_name("own choice", all, NULL, NULL);
}
