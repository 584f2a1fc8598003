/* Dtypes that texts of JAX have and programs have not: integers of 8 and 16 bits, floats of 16 bits, u64. */
#include "tansy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(x) (sizeof(x) / sizeof *(x))

static const tn_fn *parse(tn_ctx *c, const char *text) { return tn_fn_parse(c, text, strlen(text), "jax.txt"); }

static void computes(const char *text, const void *const *in, const void *want, size_t n) {
    unsigned char got[256];
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = parse(c, text);
    if (!f) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    assert_int_equal(tn_call(e, in, (void *[]){got}), TN_OK);
    if (memcmp(got, want, n) != 0) fail_msg("%s", text);
    tn_exec_free(e);
    tn_ctx_free(c);
}

#define OF(dtype, n, equations) "{ lambda ; a:" dtype "[" #n "] b:" dtype "[" #n "]. let " equations " in (c,) }"

static void test_integers(void **state) {
    (void)state;
    const uint32_t u[4] = {200, 255, 3, 0}, v[4] = {100, 2, 7, 9};
    const int32_t a[4] = {127, -128, -7, 100}, b[4] = {1, -1, 2, 3};
    computes(OF("u8", 4, "c:u8[4] = add a b"), (const void *[]){u, v}, ((uint32_t[]){44, 1, 10, 9}), 16);
    computes(OF("u16", 4, "c:u16[4] = sub a b"), (const void *[]){u, v}, ((uint32_t[]){100, 253, 65532, 65527}), 16);
    computes(OF("u8", 4, "c:u8[4] = max a b"), (const void *[]){u, v}, ((uint32_t[]){200, 255, 7, 9}), 16);
    computes(OF("u8", 4, "d:u8[4] = shift_left a 1:u8[]; c:u8[4] = shift_right_logical d 1:u8[]"),
             (const void *[]){u, v}, ((uint32_t[]){72, 127, 3, 0}), 16);
    computes(OF("i8", 4, "c:i8[4] = add a b"), (const void *[]){a, b}, ((int32_t[]){-128, 127, -5, 103}), 16);
    computes(OF("i8", 4, "d:i8[4] = mul a 3:i8[]; c:i8[4] = div d b"), (const void *[]){a, b},
             ((int32_t[]){125, -128, -10, 14}), 16);
    computes(OF("i16", 4, "c:i8[4] = convert_element_type[new_dtype=int8 weak_type=False] a"),
             (const void *[]){((int32_t[]){300, -200, 5, -1}), b}, ((int32_t[]){44, 56, 5, -1}), 16);
}

static void test_u64(void **state) {
    (void)state;
    const int64_t most = INT64_MIN, x[4] = {-1, most, 9, 7}, y[4] = {3, -1, 3, most};
    computes(
        OF("i64", 4,
           "d:u64[4] = convert_element_type[new_dtype=uint64] a; e:u64[4] = convert_element_type[new_dtype=uint64] b;"
           "f:u64[4] = div d e; c:i64[4] = convert_element_type[new_dtype=int64] f"),
        (const void *[]){x, y}, ((int64_t[]){(int64_t)(UINT64_MAX / 3), 0, 3, 0}), 32);
    computes(
        OF("i64", 4,
           "d:u64[4] = convert_element_type[new_dtype=uint64] a; e:u64[4] = convert_element_type[new_dtype=uint64] b;"
           "f:u64[4] = rem d e; c:i64[4] = convert_element_type[new_dtype=int64] f"),
        (const void *[]){x, y}, ((int64_t[]){0, most, 0, 7}), 32);
    computes(
        OF("i64", 4, "d:u64[4] = convert_element_type[new_dtype=uint64] a; c:bool[4] = lt d 9223372036854775808:u64[]"),
        (const void *[]){x, y}, ((uint8_t[]){0, 0, 1, 1}), 4);
}

/* The sum is rounded, ties to even; derivatives are those of f32. */
static void test_halves(void **state) {
    (void)state;
    const float a[4] = {256, 1, 0.1f, 65504}, b[4] = {1, 0x1p-8f, 0x1p-24f, 16};
    computes(OF("bf16", 4, "c:bf16[4] = add a b"), (const void *[]){a, b}, ((float[]){256, 1, 0x1.9ap-4f, 65536}), 16);
    computes(OF("f16", 4, "d:f16[4] = mul b 0.1:f16[]; c:f16[4] = add d 0.0:f16[]"), (const void *[]){a, b},
             ((float[]){0x1.998p-4f, 0x1.998p-12f, 0, 0x1.998p0f}), 16);
    computes(OF("f16", 4,
                "d:u16[4] = bitcast_convert_type[new_dtype=uint16] a; e:u16[4] = xor d 32768:u16[]; "
                "c:f16[4] = bitcast_convert_type[new_dtype=float16] e"),
             (const void *[]){((float[]){1.5f, -0x1p-24f, INFINITY, 65504}), b},
             ((float[]){-1.5f, 0x1p-24f, -INFINITY, -65504}), 16);
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = parse(c, "{ lambda ; a:bf16[]. let b:bf16[] = mul a a in (b,) }"), *g = tn_grad(f, NULL, NULL);
    if (!g) fail_msg("%s", tn_error(c));
    float x = 1.0f + 0x1p-7f, dx;
    tn_exec *e = tn_compile(g, NULL);
    assert_int_equal(tn_call(e, (const void *[]){&x}, (void *[]){&dx}), TN_OK);
    assert_true(dx == 2 * x);
    tn_exec_free(e);
    tn_ctx_free(c);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"{ lambda ; a:u64[2]. let in (a,) }", "an input of the main program may not be of uint64"},
        {OF("i64", 2, "c:u64[2] = convert_element_type[new_dtype=uint64] a"), "an output of the main program"},
        {OF("f64", 2, "c:u64[2] = convert_element_type[new_dtype=uint64] a"), "'convert_element_type' of uint64"},
        {OF("i64", 2, "d:u64[2] = convert_element_type[new_dtype=uint64] a; c:u64[2] = clz d"), "'clz' of uint64"},
        {OF("u8", 2, "c:u8[2] = clz a"), "'clz' of uint8"},
        {OF("u8", 2, "c:u8[2] = shift_right_arithmetic a b"), "'shift_right_arithmetic' of uint8"},
        {OF("i8", 2, "c:i8[2] = shift_right_logical a b"), "'shift_right_logical' of int8"},
        {OF("i8", 0, "c:i8[] = reduce_max[axes=(0,)] a"), "'reduce_max' of int8"},
        {OF("i16", 2, "c:f16[2] = bitcast_convert_type[new_dtype=float16] a"), "'bitcast_convert_type' of"},
        {OF("f16", 2, "c:f16[2] = nextafter a b"), "'nextafter' of float16"},
        {OF("u8", 2, "c:u8[2] = add a 1.5:u8[]"), "is no value of dtype uint8"},
        {OF("bf16", 2, "c:bf16[2] = add a 1x:bf16[]"), "'1x' is no value of dtype bfloat16"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        if (parse(c, bad[i].text)) fail_msg("accepted: %s", bad[i].text);
        if (!strstr(tn_error(c), bad[i].says)) fail_msg("row %zu: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers), cmocka_unit_test(test_u64),
                                       cmocka_unit_test(test_halves), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
