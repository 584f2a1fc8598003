/* Sorts along a dimension, short and long (prims/arrays/sort.c merges, or goes by digits): rising, NaN last, -0 like 0;
 * equal keys keep their order, which the numbers of elements that are sorted along tell. */
#include "prims/prim.h"
#include "tracing.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const dtypes[] = {"f64", "f32", "i64", "i32", "u32", "f16", "bf16", "i8", "u8", "i16", "u16", "u64"};
static const int numbers[] = {TN_F64,  TN_F32, TN_I64, TN_I32, TN_U32, TN_F16,
                              TN_BF16, TN_I8,  TN_U8,  TN_I16, TN_U16, TN_U64};

/* Of few values, of many, of extreme ones. */
static double value(int kind, int dtype, int i) {
    static const double ends[] = {0, -0.0, INFINITY, -INFINITY, NAN, DBL_MIN, -DBL_MIN, 5e-324, 1, -1, 65504, -3e38};
    static const double whole[] = {0, 127, -128, 255, 32767, -32768, 2147483647.0, -2147483648.0, 1, -1};
    const uint32_t mixed = (uint32_t)i * 2654435761u;
    if (kind == 0) return mixed >> 8 & 3;
    if (kind == 1) return tn_i_is_float(dtype) ? ((double)mixed - 2147483648.0) * 1e-7 : (double)(mixed % 200);
    const size_t k = (mixed >> 5) % (tn_i_is_float(dtype) ? COUNT(ends) : COUNT(whole));
    return tn_i_is_float(dtype) ? ends[k] : dtype == TN_U64 ? fabs(whole[k]) : whole[k];
}

static bool after(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && !isnan(b);
    return a > b;
}

static double at(int dtype, const void *x, int64_t i) {
    return tn_i_element(dtype, (const char *)x + (size_t)i * tn_i_dtype_size(dtype));
}

static void check_row(int dtype, const void *x, const void *y, const int32_t *from, int64_t n, int64_t step,
                      int64_t first, char *seen) {
    memset(seen, 0, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = first + i * step, q = from[k];
        assert_in_range(q, 0, n - 1);
        assert_false(seen[q]);
        seen[q] = 1;
        const size_t size = tn_i_dtype_size(dtype);
        assert_memory_equal((const char *)y + (size_t)k * size, (const char *)x + (size_t)(first + q * step) * size,
                            size);
        if (i == 0) continue;
        const double a = at(dtype, y, k - step), b = at(dtype, y, k);
        assert_false(after(a, b));
        if (!after(b, a) && from[k - step] >= q)
            fail_msg("dtype %d, %lld of %lld: %d before %d, %g %g", dtype, (long long)i, (long long)n,
                     (int)from[k - step], (int)q, a, b);
    }
}

/* axis 0: columns of [n, 3]; axis 1: rows of [3, n]. */
static void check(tn_ctx *c, int which, int64_t n, int axis, int kind) {
    char text[400];
    const char *t = dtypes[which];
    const int dtype = numbers[which];
    const int64_t dim[2] = {axis ? 3 : n, axis ? n : 3}, step = axis ? 1 : 3, next = axis ? n : 1;
    const int length =
        snprintf(text, sizeof text,
                 "{ lambda x:%s[%d,%d] . let k:i32[%d,%d] = iota[dtype=i32 shape=(%d, %d) dimension=%d] "
                 "y:%s[%d,%d] z:i32[%d,%d] = sort[dimension=%d is_stable=True num_keys=1] x k in (y, z) }",
                 t, (int)dim[0], (int)dim[1], (int)dim[0], (int)dim[1], (int)dim[0], (int)dim[1], axis, t, (int)dim[0],
                 (int)dim[1], (int)dim[0], (int)dim[1], axis);
    tn_fn *f = tn_fn_parse(c, text, (size_t)length, "test.tn");
    if (!f) fail_msg("%s\n%s", text, tn_error(c));
    char *x = malloc((size_t)n * 24), *y = malloc((size_t)n * 24), *seen = malloc((size_t)n);
    int32_t *from = malloc((size_t)n * 12);
    assert_true(x && y && seen && from);
    for (int i = 0; i < (int)(3 * n); i++)
        tn_i_element_set(dtype, x + (size_t)i * tn_i_dtype_size(dtype), value(kind, dtype, i));
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_call(e, (const void *[]){x}, (void *[]){y, from}), TN_OK);
    for (int r = 0; r < 3; r++) check_row(dtype, x, y, from, n, step, r * next, seen);
    tn_exec_free(e);
    tn_fn_free(f);
    free(x), free(y), free(seen), free(from);
}

static void test_all(void **state) {
    static const int64_t n[] = {1, 2, 17, 191, 192, 193, 1000, 5003};
    (void)state;
    tn_ctx *c = checked();
    for (int which = 0; which < (int)COUNT(dtypes); which++)
        for (size_t k = 0; k < COUNT(n); k++)
            for (int kind = 0; kind < 3; kind++) check(c, which, n[k], (int)k % 2 ^ (kind & 1), kind);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
