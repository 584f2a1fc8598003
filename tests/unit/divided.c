/* Integers divided by numbers that are known, powers of two and others, as x / n and what is left of it: the
 * reference's bits for each dtype, at the ends of what it holds, for many elements and one. */
#include "amount.h"
#include "prims/prim.h"
#include "tracing.h"

#include <stdio.h>

enum { N = 64 };

static const char *const dtypes[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
static const int numbers[] = {TN_I8, TN_I16, TN_I32, TN_I64, TN_U8, TN_U16, TN_U32, TN_U64};

static void fill(int dtype, void *x) {
    static const int64_t ends[] = {INT8_MIN,  INT8_MAX,  INT16_MIN,     INT16_MAX, INT32_MIN,
                                   INT32_MAX, INT64_MIN, INT64_MIN + 1, INT64_MAX, UINT32_MAX};
    const size_t size = tn_i_dtype_size(dtype);
    for (int i = 0; i < N; i++) {
        const int64_t v = i < (int)COUNT(ends) ? ends[i] : (i - 32) * (i % 3 ? 1 : 1 + i * i);
        memcpy((char *)x + (size_t)i * size, &v, size);
    }
}

/* y: a literal, converted to the dtype where it is divided by; many: it is repeated. */
static void compare(tn_ctx *c, int which, const char *by, long long y, bool many) {
    char text[512], shape[16] = "";
    uint64_t x[N], out[2][2 * N];
    const char *t = dtypes[which];
    if (many) (void)snprintf(shape, sizeof shape, "%d", N);
    (void)snprintf(text, sizeof text,
                   "{ lambda x:%s[%s] . let n:%s[] = convert_element_type[new_dtype=%s] %lld:i64[] m:%s[%s] = "
                   "broadcast_in_dim[shape=(%s%s) broadcast_dimensions=()] n y:%s[%s] = %s x m z:%s[%s] = rem x m "
                   "in (y, z) }",
                   t, shape, t, t, y, t, shape, shape, many ? "," : "", t, shape, by, t, shape);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s\n%s", text, tn_error(c));
    memset(out, 0, sizeof out);
    fill(numbers[which], x);
    for (int k = 0; k < (many ? 1 : N); k++) {
        for (int b = 0; b < 2; b++) {
            const tn_compile_options o = {.size = sizeof o, .backend = b ? TN_BACKEND_REFERENCE : TN_BACKEND_DEFAULT};
            tn_exec *e = tn_compile(f, &o);
            if (!e) fail_msg("%s\n%s", text, tn_error(c));
            const void *from = (const char *)x + (size_t)k * tn_i_dtype_size(numbers[which]);
            assert_int_equal(tn_call(e, (const void *[]){from}, (void *[]){out[b], out[b] + N}), TN_OK);
            tn_exec_free(e);
        }
        if (memcmp(out[0], out[1], sizeof out[0]) != 0) fail_msg("element %d of\n%s", k, text);
    }
    tn_fn_free(f);
}

static void test_all(void **state) {
    static const long long by[] = {1, 2, 4, 64, 128, 1 << 15, 1LL << 31, 1LL << 62, 3, 7, 100, 0, -1, -2, INT64_MIN};
    (void)state;
    tn_ctx *c = checked();
    for (int which = 0; which < (int)COUNT(dtypes); which++)
        for (size_t y = 0; y < COUNT(by); y++)
            for (int many = 0; many < 2; many++) {
                if (!in_share((size_t)which + y + (size_t)many, 1)) continue;
                compare(c, which, "div", by[y], many);
                compare(c, which, "rem", by[y], many);
            }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
