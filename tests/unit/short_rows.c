/* Rows of few elements: what folds them has the order of loop/loop.h, and nests of such rows compute the same by every
 * backend and any number of threads. */
#include "amount.h"
#include "tracing.h"

#include "cache_dir.h"

#include "exec/exec.h"
#include "loop/loop.h"
#include "vec/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t state = 1;
static double next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53 * 2 - 1;
}

/* ---- folds ------------------------------------------------------------------------------ */

static const double odd[] = {-0.0, 0.0, INFINITY, -INFINITY, NAN, 0x1p-1070, 1e300};

/* Numbers of a dtype; of every fourth row zeros with signs, of every fifth whatever is odd. */
static void put(int dtype, char *x, int64_t i, int64_t row) {
    double v = next() * 100;
    if (row % 4 == 3) v = v < 0 ? -0.0 : 0.0;
    if (row % 8 == 7) v = -0.0;
    if (row % 5 == 4) v = odd[state >> 40 & 3 ? 0 : (size_t)(state >> 42) % COUNT(odd)];
    const float f = (float)v;
    const int64_t l = isfinite(v) && fabs(v) < 1e9 ? (int64_t)v : INT64_MIN;
    const int32_t s = l == INT64_MIN ? INT32_MIN : (int32_t)l;
    const uint8_t b = v > 0;
    switch (dtype) {
    case TN_F64: memcpy(x + i * 8, &v, 8); break;
    case TN_F32: memcpy(x + i * 4, &f, 4); break;
    case TN_I64: memcpy(x + i * 8, &l, 8); break;
    case TN_I32: memcpy(x + i * 4, &s, 4); break;
    default: memcpy(x + i, &b, 1); break;
    }
}

/* One row as loop/loop.h says, by kernels for two elements. */
static void fold_row(const tn_i_vec_fold *k, int fold, int dtype, size_t size, const char *x, int64_t n, char *out) {
    char lane[TN_LANES * 8];
    const uint64_t identity = tn_i_l_identity(fold, dtype);
    for (size_t l = 0; l < TN_LANES; l++) memcpy(lane + l * size, &identity, size);
    for (int64_t i = 0; i < n; i++) k->into(lane + (size_t)(i % TN_LANES) * size, x + (size_t)i * size, 1);
    for (size_t half = TN_LANES / 2; half; half /= 2)
        for (size_t l = 0; l < half; l++) k->into(lane + l * size, lane + (l + half) * size, 1);
    memcpy(out, lane, size);
}

static bool same_number(int dtype, const char *a, const char *b, size_t size) {
    double x, y;
    float f, g;
    if (memcmp(a, b, size) == 0) return true;
    if (dtype == TN_F64) return memcpy(&x, a, 8), memcpy(&y, b, 8), isnan(x) && isnan(y);
    if (dtype == TN_F32) return memcpy(&f, a, 4), memcpy(&g, b, 4), isnan(f) && isnan(g);
    return false;
}

/* Of exactly as much memory as there is to be read and written. */
static void check_fold(int fold, int dtype, tn_i_isa isa, int64_t rows, int64_t row) {
    const tn_i_vec_fold *k = tn_i_vec_fold_of(fold, dtype, isa), *plain = tn_i_vec_fold_of(fold, dtype, TN_ISA_PLAIN);
    const size_t size = tn_i_dtype_size(dtype);
    char *x = malloc((size_t)(rows * row) * size), *out = malloc((size_t)rows * size), want[8];
    assert_true(x && out && plain);
    for (int64_t i = 0; i < rows * row; i++) put(dtype, x, i, i / row);
    for (int64_t r = 0; r < rows; r++) {
        _Alignas(64) char lane[TN_LANES * 8];
        k->begin(lane);
        k->lanes(lane, x + (size_t)(r * row) * size, row);
        k->halve(lane);
        memcpy(out + (size_t)r * size, lane, size);
        fold_row(plain, fold, dtype, size, x + (size_t)(r * row) * size, row, want);
        if (!same_number(dtype, out + (size_t)r * size, want, size))
            fail_msg("fold %d of dtype %d, isa %d: row %d of %d of %d elements", fold, dtype, (int)isa, (int)r,
                     (int)rows, (int)row);
    }
    free(x);
    free(out);
}

static void test_folds(void **unused) {
    (void)unused;
    static const int64_t row[] = {1, 2, 3, 5, 7, 8, 9, 10, 15, 16, 17, 24, 25, 31, 32, 33, 64, 100, 511, 512};
    static const int64_t rows[] = {1, 2, 7, 8, 9, 15, 16, 17, 23, 32, 50};
    for (int isa = TN_ISA_PLAIN; isa <= (int)tn_i_isa_best(); isa++)
        for (int fold = TN_FOLD_SUM; fold <= TN_FOLD_MIN; fold++)
            for (int dtype = TN_BOOL; dtype < TN_I_OWN_DTYPES; dtype++)
                for (size_t i = 0; i < COUNT(row); i++)
                    for (size_t j = 0; j < COUNT(rows); j++)
                        if (tn_i_vec_fold_of(fold, dtype, (tn_i_isa)isa))
                            check_fold(fold, dtype, (tn_i_isa)isa, rows[j], row[i]);
}

/* ---- programs ------------------------------------------------------------------------------- */

/* A mixture: [n, k, d] less [k, d], squares summed by rows of d, and these in rows of k; sums over n of both. */
static tn_val mixture(const tn_val *in, void *user) {
    (void)user;
    const tn_val r = tn_sub(in[0], in[1]), s = tn_sum_axis(tn_square(r), 2);
    return tn_add(tn_sum(tn_logsumexp(tn_neg(s), 1)), tn_sum(tn_mul(r, tn_max_axis(r, 2, TN_KEEPDIMS))));
}

/* Numbers of rows over their elements, in place of these; and what columns come to. */
static tn_val scaled(const tn_val *in, void *user) {
    (void)user;
    const tn_val r = tn_mul(in[0], tn_sum_axis(in[0], 2, TN_KEEPDIMS));
    return tn_add(tn_sub(r, tn_mul(in[1], 2)), tn_sum_axis(tn_mul(r, r), 0, TN_KEEPDIMS));
}

/* Blocks of whole rounds of the second operand. */
static tn_val shifted(const tn_val *in, void *user) {
    (void)user;
    return tn_sum_axis(tn_square(tn_sub(in[0], in[1])), 2);
}

static const struct {
    tn_val (*f)(const tn_val *in, void *user);
    bool gradient;
} program[] = {{mixture, false}, {mixture, true}, {scaled, false}, {shifted, false}};

static const int64_t shape[][3] = {{0, 25, 10}, {1, 1, 1},   {600, 25, 10}, {601, 5, 3},  {77, 3, 33},
                                   {40, 7, 8},  {300, 2, 2}, {35, 40, 16},  {129, 50, 1}, {513, 1, 12}};

static char cache[] = "/tmp/tansy-rows-XXXXXX"; /* of native code */

/* By a backend; the default and native code have bits. */
static void run_by(const tn_fn *f, int backend, int threads, const void *const *in, double *out, size_t bytes) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .threads = threads, .cache_dir = cache};
    void *to[8] = {out}; /* of others nobody wants a copy */
    tn_exec *e = tn_compile(f, &o);
    assert_true(tn_fn_outputs(f) <= 8);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    memset(out, 0x55, bytes);
    assert_int_equal(tn_call(e, in, to), TN_OK);
    tn_exec_free(e);
}

static double number(int dtype, const double *x, size_t i) { return dtype == TN_F64 ? x[i] : ((const float *)x)[i]; }

static void check_program(size_t which, int dtype, const int64_t *d) {
    tn_ctx *c = checked();
    const tn_type t[2] = {tn_type_of((tn_dtype)dtype, 3, d), tn_type_of((tn_dtype)dtype, 2, d + 1)};
    tn_fn *f = tn_trace(c, program[which].f, NULL, 2, t);
    if (f && program[which].gradient) f = tn_grad(f, NULL, NULL);
    if (!f) fail_msg("%s", tn_error(c));
    const size_t n = (size_t)(d[0] * d[1] * d[2]) + 1, m = (size_t)(d[1] * d[2]);
    double *x = malloc(n * 8), *y = malloc(m * 8), *out[4];
    assert_true(x && y);
    for (size_t i = 0; i < n; i++) put(dtype, (char *)x, (int64_t)i, 0);
    for (size_t i = 0; i < m; i++) put(dtype, (char *)y, (int64_t)i, 0);
    const int backend[] = {TN_BACKEND_DEFAULT, TN_BACKEND_NATIVE, TN_BACKEND_DEFAULT, TN_BACKEND_REFERENCE};
    for (size_t k = 0; k < 4; k++) {
        assert_non_null(out[k] = malloc(n * 8));
        run_by(f, backend[k], k == 2 ? 3 : 1, TN_INPUTS((void *)x, (void *)y), out[k], n * 8);
        if (k && k < 3 && memcmp(out[0], out[k], n * 8) != 0)
            fail_msg("program %zu of %dx%dx%d, dtype %d: other bits", which, (int)d[0], (int)d[1], (int)d[2], dtype);
    }
    const size_t results = which == 0 ? 1 : which == 3 ? (size_t)(d[0] * d[1]) : n - 1;
    for (size_t i = 0; i < results; i++) {
        const double got = number(dtype, out[0], i), want = number(dtype, out[3], i);
        if (fabs(got - want) > (dtype == TN_F64 ? 1e-11 : 1e-3) * fmax(1, fabs(want)))
            fail_msg("program %zu of %dx%dx%d: %g, expected %g", which, (int)d[0], (int)d[1], (int)d[2], got, want);
    }
    for (size_t k = 0; k < 4; k++) free(out[k]);
    free(x);
    free(y);
    tn_ctx_free(c);
}

static void test_programs(void **unused) {
    (void)unused;
    assert_non_null(mkdtemp(cache));
    for (size_t which = 0; which < COUNT(program); which++)
        for (size_t i = 0; i < COUNT(shape); i++)
            for (int dtype = TN_F32; dtype <= TN_F64; dtype++)
                if (in_share(which + i + (size_t)dtype, 3)) check_program(which, dtype, shape[i]);
    cache_dir_remove(cache);
}

/* ---- what runs ------------------------------------------------------------------------------- */

static tn_val twice_reduced(const tn_val *in, void *user) {
    (void)user;
    return tn_logsumexp(tn_sum_axis(tn_square(in[0]), 2), 1);
}

/* Rows of 10, then rows of what these come to: two nests, the second of which goes on to the end. */
static void test_nests(void **unused) {
    (void)unused;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, twice_reduced, NULL, 1, TN_TYPES(tn_f64(100, 25, 10)));
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    assert_int_equal(e->plan->nnest, 2);
    assert_int_equal(e->plan->nest[0]->row, 10);
    assert_int_equal(e->plan->nest[1]->row, 25);
    tn_exec_free(e);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_folds), cmocka_unit_test(test_programs),
                                       cmocka_unit_test(test_nests)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
