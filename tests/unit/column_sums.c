/* Reductions over leading loops in native code: the bits of the reference kernels for each fold, dtype, number of rows
 * and length of rows; and no step is left to strips but where rows of
 * several folds are longer than what waits for them (pass/fission.c). */
#include "amount.h"
#include "compiled.h"

#include "vec/vec.h"

#include "cache_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 700000, FOLDS = 4, WAITING = 4096 };

static char cache[] = "/tmp/tansy-columns-XXXXXX"; /* of native code */

typedef struct kind {
    int dtype;
    int64_t rows, n;
    int threads;
} kind;

static void folds(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val x = tn_add(in[0], in[0]);
    out[0] = tn_sum_axis(x, 0);
    out[1] = tn_prod_axis(x, 0);
    out[2] = tn_max_axis(x, 0);
    out[3] = tn_min_axis(tn_mul(x, in[0]), 0);
}

/* Of rows and of columns, of what is computed once: neither waits for the other one. */
static void both(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val x = tn_mul(in[0], tn_add(in[0], in[0]));
    out[0] = tn_sum_axis(x, 0);
    out[1] = tn_sum_axis(x, 1);
    out[2] = tn_max_axis(x, 0);
    out[3] = tn_min_axis(tn_sub(x, in[0]), 1);
}

static void fill(const kind *k, void *x) {
    for (int64_t i = 0; i < k->rows * k->n; i++) switch (k->dtype) {
        case TN_F32: ((float *)x)[i] = (float)sin((double)i) / 2 + 0.01F; break;
        case TN_F64: ((double *)x)[i] = sin((double)i) / 2 + 0.01; break;
        case TN_I32: ((int32_t *)x)[i] = (int32_t)(i * i % 1009) - 500; break;
        default: ((int64_t *)x)[i] = i * i % 1009 - 500;
        }
    if (k->dtype == TN_F64) ((double *)x)[k->rows * k->n / 2] = NAN;
}

static void check_kind_of(const kind *k, void (*program)(const tn_val *, tn_val *, void *)) {
    static double x[MOST];
    static char want[MOST], out[MOST];
    tn_ctx *c = checked();
    const tn_type t = tn_type_of((tn_dtype)k->dtype, 2, (const int64_t[]){k->rows, k->n});
    const tn_fn *f = tn_trace_many(c, program, NULL, 1, &t, FOLDS);
    if (!f) fail_msg("%s", tn_error(c));
    tn_compile_options o = {
        .size = sizeof o, .cache_dir = cache, .threads = k->threads, .backend = TN_BACKEND_REFERENCE};
    assert_true(k->rows * k->n <= MOST && (k->n + k->rows + 64) * 8 * FOLDS <= MOST);
    fill(k, x);
    memset(want, 0x55, sizeof want);
    memset(out, 0x55, sizeof out);
    tn_exec_free(call_compiled(f, &o, (const void *[]){x}, want));
    o.backend = TN_BACKEND_NATIVE;
    tn_exec *e = call_compiled(f, &o, (const void *[]){x}, out);
    if (memcmp(want, out, sizeof want) != 0)
        fail_msg("%d x %d, dtype %d, %d threads: other bits", (int)k->rows, (int)k->n, k->dtype, k->threads);
    const char *why = k->n <= WAITING ? compiled_left_out(e) : NULL;
    if (why)
        fail_msg("%d x %d, dtype %d, %d threads: left to strips: %s", (int)k->rows, (int)k->n, k->dtype, k->threads,
                 why);
    tn_exec_free(e);
    tn_ctx_free(c);
}

static void check_kind(const kind *k) { check_kind_of(k, folds); }

/* Some lanes or all of them; one leaf, two, three; rows of less than a vector, of some and on the stack, and of more.
 */
static void test_shapes(void **state) {
    static const int64_t rows[] = {2, 3, 16, 21, 512, 513, 1100}, n[] = {2, 5, 16, 100, 600};
    (void)state;
    assert_non_null(mkdtemp(cache));
    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t i = 0; i < COUNT(n); i++)
            if (in_share(r + i, 7)) check_kind(&(kind){r % 2 ? TN_F64 : TN_F32, rows[r], n[i], 1});
}

static void test_kinds(void **state) {
    static const kind kinds[] = {
        {TN_I32, 20, 700, 1},  {TN_I64, 600, 33, 1},   {TN_F32, 50, 6000, 1}, {TN_F32, 3, 20000, 1},
        {TN_F64, 50, 6000, 4}, {TN_F32, 1500, 400, 3}, {TN_I32, 513, 900, 2}, {TN_F32, 20, 20000, 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) check_kind(&kinds[i]);
}

static void test_both(void **state) {
    static const int64_t rows[] = {2, 16, 21, 513}, n[] = {2, 7, 16, 100, 600};
    (void)state;
    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t i = 0; i < COUNT(n); i++)
            if (in_share(r + i, 3)) check_kind_of(&(kind){r % 2 ? TN_F64 : TN_F32, rows[r], n[i], 1}, both);
    cache_dir_remove(cache);
}

/* As many rows and as long ones as one likes: compiled, not run. */
static void check_scratch(int dtype, int threads, int64_t rows, int64_t n) {
    tn_ctx *c = checked();
    const tn_type t = tn_type_of((tn_dtype)dtype, 2, (const int64_t[]){rows, n});
    const tn_fn *f = tn_trace_many(c, folds, NULL, 1, &t, FOLDS);
    const tn_compile_options o = {.size = sizeof o, .threads = threads};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(c));
    const char *why = tn_exec_backend(e, NULL) == TN_BACKEND_ASSEMBLER && n <= WAITING ? compiled_left_out(e) : NULL;
    if (why)
        fail_msg("%lld x %lld, dtype %d, %d threads: left to strips: %s", (long long)rows, (long long)n, dtype, threads,
                 why);
    tn_exec_free(e);
    tn_ctx_free(c);
}

static void test_scratch(void **state) {
    (void)state;
    for (int dtype = TN_F32; dtype <= TN_F64; dtype++)
        for (int threads = 1; threads <= 4; threads += 3)
            for (int64_t rows = 2; rows < 500000; rows *= 7)
                for (int64_t n = 3; n < 30000; n *= 5) check_scratch(dtype, threads, rows, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_both), cmocka_unit_test(test_scratch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
