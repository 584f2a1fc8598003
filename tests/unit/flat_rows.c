/* Rows that follow one another in memory: the same bits from all back ends, wherever arrays begin, and nothing is
 * written beside them. */
#include "amount.h"
#include "compiled.h"

#include "cache_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 4, GUARD = 64 };

/* ---- programs: of x [b, n, m], a number of each row r [n, 1], a row c [m], and one number ---------------- */

static tn_val scaled(const tn_val *in, void *user) { /* as a Jacobian's rows */
    (void)user;
    return tn_mul(tn_mul(in[0], in[1]), in[3]);
}

static tn_val crossed(const tn_val *in, void *user) { /* no dense operand but x */
    (void)user;
    return tn_add(tn_mul(in[1], in[2]), tn_sub(in[0], in[2]));
}

static tn_val chosen(const tn_val *in, void *user) {
    (void)user;
    return tn_where(tn_gt(in[0], in[1]), tn_sub(in[0], in[2]), tn_mul(in[2], in[1]));
}

static tn_val whole(const tn_val *in, void *user) { /* a part of x with a row between its rows */
    (void)user;
    return tn_add(in[0], tn_mul(in[0], in[2]));
}

static tn_val (*const program[])(const tn_val *in, void *user) = {scaled, crossed, chosen, whole};

static const int64_t shape[][3] = {{0, 50, 50},  {0, 51, 25},  {0, 9, 24},   {0, 64, 27}, {0, 35, 33},
                                   {0, 33, 121}, {0, 16, 250}, {0, 18, 129}, {3, 20, 50}, {5, 21, 27},
                                   {2, 32, 33},  {0, 40, 48},  {0, 7, 0}};

/* ---- running ------------------------------------------------------------------------------ */

static char cache[] = "/tmp/tansy-flat-XXXXXX"; /* of native code */

/* Memory in which an array begins `off` bytes behind a line of the cache. */
static char *memory(size_t bytes, size_t off) {
    char *p = aligned_alloc(64, (off + bytes + 2 * GUARD + 63) / 64 * 64);
    assert_non_null(p);
    memset(p, 0x5a, off + bytes + 2 * GUARD);
    return p;
}

static void fill(int dtype, char *x, size_t n) {
    static uint64_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double v = (double)(state >> 11) * 0x1p-53 * 200 - 100;
        switch (dtype) {
        case TN_F64: ((double *)(void *)x)[i] = v; break;
        case TN_F32: ((float *)(void *)x)[i] = (float)v; break;
        case TN_I64: ((int64_t *)(void *)x)[i] = (int64_t)v; break;
        default: ((int32_t *)(void *)x)[i] = (int32_t)v; break;
        }
    }
}

static void run_by(const tn_fn *f, int backend, const void *const *in, const size_t *off, char *const *out,
                   const size_t *bytes) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .cache_dir = cache};
    tn_exec *e = tn_compile(f, &o);
    void *to[2] = {NULL, NULL};
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_true(tn_fn_outputs(f) <= 2);
    for (size_t j = 0; j < tn_fn_outputs(f); j++)
        if (out[j]) to[j] = out[j] + GUARD + off[j];
    assert_int_equal(tn_call(e, in, to), TN_OK);
    tn_exec_free(e);
    for (size_t j = 0; j < tn_fn_outputs(f); j++) {
        if (!out[j]) continue;
        const char *behind = (const char *)to[j] + bytes[j];
        for (size_t i = 0; i < GUARD; i++) assert_true(out[j][off[j] + i] == 0x5a && behind[i] == 0x5a);
    }
}

static tn_fn *traced(tn_ctx *c, tn_val (*f)(const tn_val *in, void *user), int dtype, const int64_t *d) {
    const int64_t column[2] = {d[1], 1};
    const tn_type t[MOST] = {d[0] ? tn_type_of((tn_dtype)dtype, 3, d) : tn_type_of((tn_dtype)dtype, 2, d + 1),
                             tn_type_of((tn_dtype)dtype, 2, column), tn_type_of((tn_dtype)dtype, 1, d + 2),
                             tn_type_of((tn_dtype)dtype, 0, NULL)};
    tn_fn *g = tn_trace(c, f, NULL, MOST, t);
    if (!g) fail_msg("%s", tn_error(c));
    return g;
}

/* All of it in the places that `round` says: whether inputs and output are aligned. */
static void check_program(size_t which, int dtype, const int64_t *d, size_t round) {
    tn_ctx *c = checked();
    tn_fn *f = traced(c, program[which], dtype, d);
    const size_t size = tn_i_dtype_size(dtype), n = (size_t)((d[0] ? d[0] : 1) * d[1] * d[2]);
    const size_t count[MOST] = {n, (size_t)d[1], (size_t)d[2], 1}, off = (round & 1) * size,
                 out_off = (round >> 1) * 16;
    char *at[MOST], *out[3];
    const void *in[MOST];
    for (size_t i = 0; i < MOST; i++) {
        at[i] = memory(count[i] * size, off);
        in[i] = at[i] + GUARD + off;
        fill(dtype, at[i] + GUARD + off, count[i]);
    }
    const int backend[] = {TN_BACKEND_NATIVE, TN_BACKEND_DEFAULT, TN_BACKEND_REFERENCE};
    for (size_t k = 0; k < 3; k++) {
        out[k] = memory(n * size, out_off);
        run_by(f, backend[k], in, &out_off, &out[k], &(size_t){n * size});
        if (memcmp(out[0], out[k], out_off + n * size + 2 * GUARD) != 0)
            fail_msg("program %zu of %dx%dx%d, dtype %d, round %zu: backend %d has other bits", which, (int)d[0],
                     (int)d[1], (int)d[2], dtype, round, backend[k]);
    }
    for (size_t i = 0; i < MOST; i++) free(at[i]);
    for (size_t k = 0; k < 3; k++) free(out[k]);
    tn_ctx_free(c);
}

static void test_programs(void **unused) {
    (void)unused;
    assert_non_null(mkdtemp(cache));
    for (size_t which = 0; which < COUNT(program); which++)
        for (size_t i = 0; i < COUNT(shape); i++)
            for (int dtype = TN_I32; dtype < TN_I_OWN_DTYPES; dtype++) {
                const size_t every = dtype == TN_F32 || dtype == TN_F64
                                         ? (size_t)amount(2, 4)
                                         : (size_t)amount(4, 9); /* compiling takes its time */
                for (size_t round = 0; round < 4 && (i == 0 || (which + i + (size_t)dtype) % every == 0); round++)
                    check_program(which, dtype, shape[i], round);
            }
    cache_dir_remove(cache);
}

/* ---- several outputs, one of them left out; numbers of another dtype ------------------------- */

static void two(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val r = tn_convert(in[1], TN_F64);
    out[0] = tn_mul(in[0], r);
    out[1] = tn_add(out[0], in[2]);
}

static void test_two(void **unused) {
    (void)unused;
    enum { N = 21, M = 50 };
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, two, NULL, 3, TN_TYPES(tn_f64(N, M), tn_f32(N, 1), tn_f64(M)), 2);
    if (!f) fail_msg("%s", tn_error(c));
    double x[N * M], row[M];
    float r[N];
    fill(TN_F64, (char *)x, N * M);
    fill(TN_F64, (char *)row, M);
    fill(TN_F32, (char *)r, N);
    (void)strcpy(cache, "/tmp/tansy-flat-XXXXXX");
    assert_non_null(mkdtemp(cache));
    const size_t bytes[2] = {sizeof x, sizeof x};
    for (int left_out = 0; left_out < 3; left_out++)
        for (size_t k = 0; k < 4; k++) {
            const size_t off[2] = {(k & 1) * 8, (k >> 1) * 32};
            char *out[2] = {left_out == 1 ? NULL : memory(sizeof x, off[0]),
                            left_out == 2 ? NULL : memory(sizeof x, off[1])};
            run_by(f, TN_BACKEND_NATIVE, TN_INPUTS(x, r, row), off, out, bytes);
            for (size_t j = 0; j < 2; j++) {
                const double *got = out[j] ? (const double *)(const void *)(out[j] + GUARD + off[j]) : NULL;
                for (int i = 0; got && i < N * M; i++) {
                    const double p = x[i] * (double)r[i / M], s = p + row[i % M],
                                 t = fma(x[i], (double)r[i / M], row[i % M]);
                    assert_true(j ? got[i] == s || got[i] == t : got[i] == p);
                }
                free(out[j]);
            }
        }
    cache_dir_remove(cache);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
