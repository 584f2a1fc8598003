/* Dtypes that are computed with as another one: integers of 8 and 16 bits, u64, floats of 16 bits.  What they are to
 * be is C's own arithmetic, or, of halves, the nearest of all there are. */
#include "base/base.h"
#include "tansy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(x) (sizeof(x) / sizeof *(x))

static const int backends[] = {TN_BACKEND_DEFAULT, TN_BACKEND_REFERENCE};

static void run(const char *text, const void *const *in, void *const *out) {
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = tn_fn_parse(c, text, strlen(text), "jax.txt");
    if (!f) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s: %s", text, tn_error(c));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* By every back end; `n` bytes of one result. */
static void computes(const char *text, const void *const *in, const void *want, size_t n) {
    for (size_t k = 0; k < COUNT(backends); k++) {
        unsigned char *got = calloc(n + 1, 1);
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_fn *f = tn_fn_parse(c, text, strlen(text), "jax.txt");
        if (!f) fail_msg("%s: %s", text, tn_error(c));
        const tn_compile_options o = {.size = sizeof o, .backend = backends[k]};
        tn_exec *e = tn_compile(f, &o);
        if (!e) fail_msg("%s: %s", text, tn_error(c));
        assert_int_equal(tn_call(e, in, (void *[]){got}), TN_OK);
        size_t at = 0;
        while (at < n && got[at] == ((const unsigned char *)want)[at]) at++;
        if (at < n)
            fail_msg("%s: back end %d, byte %zu: %d and %d", text, backends[k], at, got[at],
                     ((const unsigned char *)want)[at]);
        tn_exec_free(e);
        tn_ctx_free(c);
        free(got);
    }
}

/* ---- integers: all pairs of 8 bits ---- */

enum { PAIRS = 1 << 16 };

#define OPS(ROW)                                                           \
    ROW("add", x + y)                                                      \
    ROW("sub", x - y)                                                      \
    ROW("mul", x *y)                                                       \
    ROW("div", y ? x / y : -1)                                             \
    ROW("rem", y ? x % y : x)                                              \
    ROW("max", x > y ? x : y)                                              \
    ROW("min", x < y ? x : y)                                              \
    ROW("and", x &y)                                                       \
    ROW("or", x | y)                                                       \
    ROW("xor", x ^ y)                                                      \
    ROW("shift_left", (y & 255) < 8 ? x * (1 << (y & 255)) : 0)            \
    ROW("shift_right_logical", (y & 255) < 8 ? (x & 255) >> (y & 255) : 0) \
    ROW("shift_right_arithmetic", (int8_t)(uint8_t)(x & 255) >> ((y & 255) < 8 ? (y & 255) : 7))

static void test_bytes(void **state) {
    (void)state;
    static int8_t a[PAIRS], b[PAIRS], want[PAIRS];
    static uint8_t ua[PAIRS], ub[PAIRS], uwant[PAIRS];
    char text[256];
    for (int i = 0; i < PAIRS; i++) {
        ua[i] = (uint8_t)(i & 255), ub[i] = (uint8_t)(i >> 8);
        a[i] = (int8_t)ua[i], b[i] = (int8_t)ub[i];
    }
#define TRY(name, expression)                                                                                          \
    for (int i = 0; i < PAIRS; i++) {                                                                                  \
        int x = a[i], y = b[i];                                                                                        \
        want[i] = (int8_t)(uint8_t)(expression);                                                                       \
        x = ua[i], y = ub[i];                                                                                          \
        uwant[i] = (uint8_t)(expression);                                                                              \
    }                                                                                                                  \
    (void)snprintf(text, sizeof text, "{ lambda ; a:i8[65536] b:i8[65536]. let c:i8[65536] = %s a b in (c,) }", name); \
    computes(text, (const void *[]){a, b}, want, sizeof want);                                                         \
    (void)snprintf(text, sizeof text, "{ lambda ; a:u8[65536] b:u8[65536]. let c:u8[65536] = %s a b in (c,) }", name); \
    computes(text, (const void *[]){ua, ub}, uwant, sizeof uwant);
    OPS(TRY)
#undef TRY
}

static int ones(unsigned x) {
    int n = 0;
    for (; x; x >>= 1) n += (int)(x & 1);
    return n;
}

static int zeros(unsigned x, int width) {
    int n = width;
    for (; x; x >>= 1) n--;
    return n;
}

/* All of 16 bits. */
static void test_words(void **state) {
    (void)state;
    static int16_t a[PAIRS], want[PAIRS];
    static uint16_t ua[PAIRS], uwant[PAIRS];
    char text[256];
    for (int i = 0; i < PAIRS; i++) ua[i] = (uint16_t)i, a[i] = (int16_t)ua[i];
#define TRY(equation, expression)                                                                            \
    for (int i = 0; i < PAIRS; i++) {                                                                        \
        int x = a[i];                                                                                        \
        want[i] = (int16_t)(uint16_t)(expression);                                                           \
        x = ua[i];                                                                                           \
        uwant[i] = (uint16_t)(expression);                                                                   \
    }                                                                                                        \
    (void)snprintf(text, sizeof text, "{ lambda ; a:i16[65536]. let c:i16[65536] = %s in (c,) }", equation); \
    computes(text, (const void *[]){a}, want, sizeof want);                                                  \
    (void)snprintf(text, sizeof text, "{ lambda ; a:u16[65536]. let c:u16[65536] = %s in (c,) }", equation); \
    computes(text, (const void *[]){ua}, uwant, sizeof uwant);
    TRY("neg a", -x)
    TRY("not a", ~x)
    TRY("abs a", x < 0 ? -x : x)
    TRY("sign a", (x > 0) - (x < 0))
    TRY("integer_pow[y=3] a", (unsigned)x * (unsigned)x * (unsigned)x)
    TRY("population_count a", ones((unsigned)x & 0xffff))
    TRY("clz a", zeros((unsigned)x & 0xffff, 16))
#undef TRY
}

/* ---- u64 ---- */

static void test_u64(void **state) {
    (void)state;
    static const uint64_t some[] = {0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    10,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0x8000000000000001,
                                    0xfffffffffffffffe,
                                    0xffffffffffffffff,
                                    0x123456789abcdef0,
                                    4294967296,
                                    5000000000};
    enum { N = 14 * 14 };
    uint64_t a[N], b[N], want[N];
    uint8_t truth[N];
    char text[256];
    for (int i = 0; i < N; i++) a[i] = some[i % 14], b[i] = some[i / 14];
#define TRY(name, expression)                                                                                   \
    for (int i = 0; i < N; i++) {                                                                               \
        const uint64_t x = a[i], y = b[i];                                                                      \
        (void)y;                                                                                                \
        want[i] = (expression);                                                                                 \
    }                                                                                                           \
    (void)snprintf(text, sizeof text, "{ lambda ; a:u64[196] b:u64[196]. let c:u64[196] = %s in (c,) }", name); \
    computes(text, (const void *[]){a, b}, want, sizeof want);
    TRY("add a b", x + y)
    TRY("sub a b", x - y)
    TRY("mul a b", x * y)
    TRY("div a b", y ? x / y : UINT64_MAX)
    TRY("rem a b", y ? x % y : x)
    TRY("max a b", x > y ? x : y)
    TRY("min a b", x < y ? x : y)
    TRY("sign a", x != 0)
    TRY("abs a", x)
    TRY("clamp 3:u64[] a 9223372036854775809:u64[]", x < 3                               ? 3
                                                     : x > UINT64_C(9223372036854775809) ? UINT64_C(9223372036854775809)
                                                                                         : x)
    TRY("shift_right_logical a b", y < 64 ? x >> y : 0)
    TRY("shift_left a b", y < 64 ? x << y : 0)
    TRY("cummax[axis=0 reverse=False] a", i && want[i - 1] > x ? want[i - 1] : x)
#undef TRY
#define TRY(name, expression)                                                                                      \
    for (int i = 0; i < N; i++) {                                                                                  \
        const uint64_t x = a[i], y = b[i];                                                                         \
        (void)y;                                                                                                   \
        truth[i] = (expression);                                                                                   \
    }                                                                                                              \
    computes("{ lambda ; a:u64[196] b:u64[196]. let c:bool[196] = " name " a b in (c,) }", (const void *[]){a, b}, \
             truth, sizeof truth);
    TRY("lt", x < y)
    TRY("le", x <= y)
    TRY("gt", x > y)
    TRY("ge", x >= y)
    TRY("eq", x == y)
    TRY("ne", x != y)
#undef TRY
    const uint64_t most = UINT64_MAX, none = 0;
    const int64_t at = 10;
    computes("{ lambda ; a:u64[196]. let c:u64[] = reduce_max[axes=(0,)] a in (c,) }", (const void *[]){a}, &most, 8);
    computes("{ lambda ; a:u64[0]. let c:u64[] = reduce_max[axes=(0,)] a in (c,) }", (const void *[]){a}, &none, 8);
    computes("{ lambda ; a:u64[0]. let c:u64[] = reduce_min[axes=(0,)] a in (c,) }", (const void *[]){a}, &most, 8);
    computes("{ lambda ; a:u64[14]. let c:i64[] = argmax[axes=(0,) index_dtype=i64] a in (c,) }",
             (const void *[]){some}, &at, 8);
    const uint64_t sorted[5] = {3, 5, 0x7fffffffffffffff, 0x8000000000000000, UINT64_MAX},
                   mixed[5] = {UINT64_MAX, 3, 0x8000000000000000, 5, 0x7fffffffffffffff};
    computes("{ lambda ; a:u64[5]. let c:u64[5] = sort[dimension=0 is_stable=True num_keys=1] a in (c,) }",
             (const void *[]){mixed}, sorted, sizeof sorted);
}

/* ---- conversions ---- */

static void test_whole_of_floats(void **state) {
    (void)state;
    static const double x[] = {
        300.75, -5.5,   -200, (double)NAN, (double)INFINITY, -(double)INFINITY, 127.9, 255.9, 1e20, -1e20, 70000,
        1.9e19, 9.3e18, -0.5, 32768,       4294967296.0};
    enum { N = COUNT(x) };
#define SATURATED(least, most) (x[i] != x[i] ? 0 : x[i] <= least ? least : x[i] >= most ? most : x[i])
#define TRY(name, type, least, most)                                                                                \
    do {                                                                                                            \
        type want[N];                                                                                               \
        for (size_t i = 0; i < N; i++) {                                                                            \
            const double y = SATURATED((double)least, (double)most);                                                \
            want[i] = y >= (double)most ? most : y <= (double)least ? least : (type)y;                              \
        }                                                                                                           \
        computes("{ lambda ; a:f64[16]. let b:" name "[16] = convert_element_type[new_dtype=" name "] a in (b,) }", \
                 (const void *[]){x}, want, sizeof want);                                                           \
    } while (0)
    TRY("i8", int8_t, INT8_MIN, INT8_MAX);
    TRY("u8", uint8_t, 0, UINT8_MAX);
    TRY("i16", int16_t, INT16_MIN, INT16_MAX);
    TRY("u16", uint16_t, 0, UINT16_MAX);
    TRY("u64", uint64_t, 0, UINT64_MAX);
#undef TRY
    const uint64_t big[6] = {0, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1025, 5, (UINT64_C(1) << 53) + 1};
    double wide[6];
    float single[6];
    int8_t low[6];
    for (int i = 0; i < 6; i++) wide[i] = (double)big[i], single[i] = (float)big[i], low[i] = (int8_t)(uint8_t)big[i];
    computes("{ lambda ; a:u64[6]. let b:f64[6] = convert_element_type[new_dtype=f64] a in (b,) }",
             (const void *[]){big}, wide, sizeof wide);
    computes("{ lambda ; a:u64[6]. let b:f32[6] = convert_element_type[new_dtype=f32] a in (b,) }",
             (const void *[]){big}, single, sizeof single);
    computes("{ lambda ; a:u64[6]. let b:i8[6] = convert_element_type[new_dtype=i8] a in (b,) }", (const void *[]){big},
             low, sizeof low);
}

/* ---- halves ---- */

/* The number of the bits, by powers of 2. */
static double number_of(bool bf16, unsigned bits) {
    const int mantissa = bf16 ? 7 : 10, bias = bf16 ? 127 : 15, exponent = (int)(bits & 0x7fff) >> mantissa;
    const int m = (int)bits & ((1 << mantissa) - 1);
    double x = exponent ? ldexp((double)m + (1 << mantissa), exponent - bias - mantissa)
                        : ldexp((double)m, 1 - bias - mantissa);
    if (exponent == 2 * bias + 1) x = m ? (double)NAN : (double)INFINITY;
    return bits & 0x8000 ? -x : x;
}

/* The nearest of all there are, by halving; infinite from where a number of one bit more would be rounded to it. */
static uint16_t nearest(bool bf16, double x) {
    const unsigned sign = signbit(x) ? 0x8000 : 0, infinite = bf16 ? 0x7f80 : 0x7c00;
    unsigned low = 0, high = infinite;
    if (x != x) return (uint16_t)(sign | infinite | (bf16 ? 0x40 : 0x200));
    x = fabs(x);
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (number_of(bf16, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    const double below = number_of(bf16, low),
                 above = high == infinite ? 2 * below - number_of(bf16, low - 1) : number_of(bf16, high);
    if (isinf(x)) return (uint16_t)(sign | infinite);
    const bool up = x - below > above - x || (x - below == above - x && low % 2);
    return (uint16_t)(sign | (up ? high : low));
}

static void test_halves_of_floats(void **state) {
    (void)state;
    static float x[PAIRS], back[PAIRS];
    static uint16_t want[PAIRS], bits[PAIRS];
    for (int bf16 = 0; bf16 < 2; bf16++) {
        const char *to =
            bf16 ? "{ lambda ; a:f32[65536]. let b:bf16[65536] = convert_element_type[new_dtype=bf16] a in (b,) }"
                 : "{ lambda ; a:f32[65536]. let b:f16[65536] = convert_element_type[new_dtype=f16] a in (b,) }";
        const char *from =
            bf16 ? "{ lambda ; a:bf16[65536]. let b:f32[65536] = convert_element_type[new_dtype=f32] a in (b,) }"
                 : "{ lambda ; a:f16[65536]. let b:f32[65536] = convert_element_type[new_dtype=f32] a in (b,) }";
        for (unsigned i = 0; i < PAIRS; i++) {
            bits[i] = (uint16_t)i;
            back[i] = (float)number_of(bf16, i);
        }
        static float all[PAIRS];
        run(from, (const void *[]){bits}, (void *[]){all});
        for (unsigned i = 0; i < PAIRS; i++)
            if (memcmp(&all[i], &back[i], sizeof(float)) != 0 && !(isnan(all[i]) && isnan(back[i])))
                fail_msg("bits %x", i);
        /* numbers, what lies halfway between neighbours, and beside that */
        for (unsigned i = 0; i < PAIRS; i++) {
            const unsigned k = (i * 2654435761u >> 8) & 0xffff, next = k + ((k & 0x7fff) < (bf16 ? 0x7f80u : 0x7c00u));
            const double one = number_of(bf16, k), other = number_of(bf16, next);
            x[i] = (float)(i % 4 == 0 ? one : one + (other - one) / 2);
            if (i % 4 == 2) x[i] = nextafterf(x[i], INFINITY);
            if (i % 4 == 3) x[i] = nextafterf(x[i], -INFINITY);
            want[i] = nearest(bf16, (double)x[i]);
        }
        static uint16_t y[PAIRS];
        run(to, (const void *[]){x}, (void *[]){y});
        for (unsigned i = 0; i < PAIRS; i++)
            if (y[i] != want[i] && !isnan(number_of(bf16, want[i])))
                fail_msg("%s: %a is %x, not %x", to, (double)x[i], y[i], want[i]);
    }
}

/* An operation of two halves is that of f32, rounded; subnormal numbers and infinities too. */
static void test_half_arithmetic(void **state) {
    (void)state;
    static uint16_t a[PAIRS], b[PAIRS], got[PAIRS];
    static const char *const name[] = {"add", "sub", "mul", "div", "max"};
    char text[256];
    for (int bf16 = 0; bf16 < 2; bf16++)
        for (size_t op = 0; op < COUNT(name); op++) {
            const char *d = bf16 ? "bf16" : "f16";
            for (unsigned i = 0; i < PAIRS; i++) {
                a[i] = (uint16_t)(i * 40503u >> 3);
                b[i] = i % 3 ? (uint16_t)(a[i] + i % 7 * 300) : (uint16_t)(i * 2654435761u >> 9);
            }
            (void)snprintf(text, sizeof text, "{ lambda ; a:%s[65536] b:%s[65536]. let c:%s[65536] = %s a b in (c,) }",
                           d, d, d, name[op]);
            run(text, (const void *[]){a, b}, (void *[]){got});
            for (unsigned i = 0; i < PAIRS; i++) {
                const float x = (float)number_of(bf16, a[i]), y = (float)number_of(bf16, b[i]);
                if (isnan(x) || isnan(y)) continue;
                const float z = op == 0 ? x + y : op == 1 ? x - y : op == 2 ? x * y : op == 3 ? x / y : x > y ? x : y;
                const uint16_t want = nearest(bf16, (double)z);
                const bool zeros = (want & 0x7fff) == 0 && (got[i] & 0x7fff) == 0 && op == 4; /* of max: +0 above -0 */
                if (got[i] != want && !zeros && !isnan(z))
                    fail_msg("%s: %x and %x: %x, not %x", text, a[i], b[i], got[i], want);
            }
        }
}

#define OF(dtype, n, equations) "{ lambda ; a:" dtype "[" #n "] b:" dtype "[" #n "]. let " equations " in (c,) }"

static void test_bits(void **state) {
    (void)state;
    const uint16_t x[4] = {0x3e00, 0x8001, 0x7c00, 0x7bff}, flipped[4] = {0xbe00, 0x0001, 0xfc00, 0xfbff};
    computes(OF("f16", 4,
                "d:u16[4] = bitcast_convert_type[new_dtype=uint16] a; e:u16[4] = xor d 32768:u16[]; "
                "c:f16[4] = bitcast_convert_type[new_dtype=float16] e"),
             (const void *[]){x, x}, flipped, sizeof flipped);
    computes(OF("f16", 4, "c:i16[4] = bitcast_convert_type[new_dtype=int16] a"), (const void *[]){x, x}, x, sizeof x);
    const double one = 1, *d = &one;
    uint64_t bits;
    memcpy(&bits, d, sizeof bits);
    computes(OF("f64", 1, "c:u64[1] = bitcast_convert_type[new_dtype=u64] a"), (const void *[]){d, d}, &bits, 8);
}

/* Derivatives are of the dtype: those of a square, in f16 and bf16, rounded once. */
static void test_derivatives(void **state) {
    (void)state;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        tn_ctx *c = tn_ctx_new(NULL);
        const char *text = bf16 ? "{ lambda ; a:bf16[]. let b:bf16[] = mul a a in (b,) }"
                                : "{ lambda ; a:f16[]. let b:f16[] = mul a a in (b,) }";
        const tn_fn *f = tn_fn_parse(c, text, strlen(text), "jax.txt"), *g = tn_grad(f, NULL, NULL);
        if (!g) fail_msg("%s", tn_error(c));
        assert_int_equal(tn_fn_output_type(g, 0).dtype, bf16 ? TN_BF16 : TN_F16);
        const uint16_t x = nearest(bf16, 1.5);
        uint16_t dx;
        tn_exec *e = tn_compile(g, NULL);
        assert_int_equal(tn_call(e, (const void *[]){&x}, (void *[]){&dx}), TN_OK);
        assert_int_equal(dx, nearest(bf16, 3));
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

/* Where squares leave f16: 1 / (1 + x x) and 1 / sqrt(1 + x x). */
static void test_far_derivatives(void **state) {
    (void)state;
    static const double at[] = {0, -3, 100, 300, -4000, 60000};
    for (int area = 0; area < 2; area++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            tn_ctx *c = tn_ctx_new(NULL);
            const char *text = area ? "{ lambda ; a:f16[]. let b:f16[] = asinh a in (b,) }"
                                    : "{ lambda ; a:f16[]. let b:f16[] = atan a in (b,) }";
            const tn_fn *g = tn_grad(tn_fn_parse(c, text, strlen(text), "jax.txt"), NULL, NULL);
            if (!g) fail_msg("%s", tn_error(c));
            const uint16_t x = nearest(0, at[i]);
            const double size = sqrt(1 + at[i] * at[i]), want = area ? 1 / size : 1 / (size * size);
            uint16_t dx;
            tn_exec *e = tn_compile(g, NULL);
            assert_int_equal(tn_call(e, (const void *[]){&x}, (void *[]){&dx}), TN_OK);
            if (!(fabs(tn_i_of_half(TN_F16, dx) - want) <= 3e-3 * want + 1e-7))
                fail_msg("%d at %g: %g, not %g", area, at[i], tn_i_of_half(TN_F16, dx), want);
            tn_exec_free(e);
            tn_ctx_free(c);
        }
}

/* In loops, conditions and calls. */
static void test_nested(void **state) {
    (void)state;
    const uint8_t start = 250, steps[4] = {1, 2, 3, 4}, want[4] = {251, 253, 0, 4};
    uint8_t last, each[4];
    run("{ lambda ; a:u8[] x:u8[4]. let b:u8[] c:u8[4] = scan[length=4 reverse=False linear=(False, False) unroll=1 "
        "num_consts=0 num_carry=1 jaxpr={ lambda ; a:u8[] b:u8[]. let c:u8[] = add a b in (c, c) }] a x in (b, c) }",
        (const void *[]){&start, steps}, (void *[]){&last, each});
    assert_int_equal(last, 4);
    assert_memory_equal(each, want, sizeof want);
    run("{ lambda ; a:u8[] x:u8[4]. let i:bool[] = gt a 100:u8[]; b:u8[4] = cond[branches=("
        "{ lambda ; a:u8[4]. let in (a,) } { lambda ; a:u8[4]. let b:u8[4] = mul a 100:u8[] in (b,) })] i x in (a, b) "
        "}",
        (const void *[]){&start, steps}, (void *[]){&last, each});
    assert_int_equal(each[3], 400 & 255);
}

/* ---- where C meets them ---- */

static void traced(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_add(in[0], 200);
    out[1] = tn_mul(in[1], 0.1);
    out[2] = tn_sub(in[2], 1);
}

static void test_tracing(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = tn_trace_many(c, traced, NULL, 3, TN_TYPES(tn_u8(3), tn_f16(2), tn_u64()), 3);
    if (!f) fail_msg("%s", tn_error(c));
    const uint8_t a[3] = {1, 100, 255};
    const uint16_t b[2] = {nearest(false, 3), nearest(false, 65504)};
    const uint64_t k = 0;
    uint8_t ra[3];
    uint16_t rb[2];
    uint64_t rk;
    tn_exec *e = tn_compile(f, NULL);
    assert_int_equal(tn_call(e, TN_INPUTS(a, b, &k), TN_OUTPUTS(ra, rb, &rk)), TN_OK);
    assert_int_equal(ra[0], 201);
    assert_int_equal(ra[1], 44);
    assert_int_equal(ra[2], 199);
    const double tenth = number_of(false, nearest(false, 0.1));
    assert_int_equal(rb[0], nearest(false, 3 * tenth));
    assert_int_equal(rb[1], nearest(false, 65504 * tenth));
    assert_true(rk == UINT64_MAX);
    tn_exec_free(e);
    tn_type t;
    assert_int_equal(tn_type_parse(c, "bfloat16[2, 3]", &t), TN_OK);
    assert_int_equal(t.dtype, TN_BF16);
    assert_int_equal(tn_type_bytes(&t), 12);
    tn_ctx_free(c);
}

/* Conversions are those of loads and stores: no array of a wider dtype is made. */
static void test_as_they_are(void **state) {
    (void)state;
    static const char *const text[] = {
        "{ lambda ; a:u8[65536]. let b:f32[65536] = convert_element_type[new_dtype=f32] a; c:f32[65536] = mul b b in "
        "(c,) "
        "}",
        "{ lambda ; a:f16[256,256] b:f16[256]. let c:f16[256,256] = broadcast_in_dim[shape=(256, 256) "
        "broadcast_dimensions=(1,)] b; d:f16[256,256] = mul a c; e:f16[256,256] = add d a; f:f16[256] = "
        "reduce_sum[axes=(1,)] e in (e, f) }",
        "{ lambda ; a:f32[64] b:i8[100,64]. let c:f32[64] = scan[length=100 reverse=False num_consts=0 num_carry=1 "
        "linear=(False,False) unroll=1 jaxpr={ lambda ; a:f32[64] b:i8[64]. let c:f32[64] = "
        "convert_element_type[new_dtype=f32] b; d:f32[64] = add a c in (d,) }] a b in (c,) }",
        "{ lambda ; a:bf16[5000,8] i:i32[100,1]. let b:bf16[100,8] = "
        "gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), "
        "start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=()) fill_value=None "
        "indices_are_sorted=False mode=GatherScatterMode.CLIP slice_sizes=(1, 8) unique_indices=False] a i; "
        "c:bf16[100,8] = mul b b in (c,) }"};
    for (size_t i = 0; i < COUNT(text); i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_fn *f = tn_fn_parse(c, text[i], strlen(text[i]), "jax.txt");
        if (!f) fail_msg("%s", tn_error(c));
        tn_exec *e = tn_compile(f, NULL);
        if (!e) fail_msg("%s", tn_error(c));
        if (tn_exec_bytes(e) > 16384) fail_msg("%s: %zu bytes", text[i], tn_exec_bytes(e));
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {OF("i16", 2, "c:f32[2] = bitcast_convert_type[new_dtype=f32] a"), "as many bits as i16"},
        {OF("f16", 2, "c:f16[2] = nextafter a b"), "nextafter of f16"},
        {OF("u8", 2, "c:u8[2] = add a 256:u8[]"), "'256' is no value of dtype u8"},
        {OF("i8", 2, "c:i8[2] = add a 128:i8[]"), "'128' is no value of dtype i8"},
        {OF("u8", 2, "c:u8[2] = add a 1.5:u8[]"), "is no value of dtype u8"},
        {OF("u64", 2, "c:u64[2] = add a 18446744073709551616:u64[]"), "is no value of dtype u64"},
        {OF("u64", 2, "c:u64[2] = add a -1:u64[]"), "is no value of dtype u64"},
        {OF("bf16", 2, "c:bf16[2] = add a 1x:bf16[]"), "'1x' is no value of dtype bf16"},
        {OF("f16", 2, "c:f32[2] = add a b"), "is declared f32[2], but is f16[2]"},
        {OF("f16", 2, "d:f32[2] = convert_element_type[new_dtype=f32] a; c:f32[2] = add d b"),
         "dtype f16 differs from f32"},
        {"{ lambda ; a:f16[2,2]. let b:f16[2,2] = cholesky a in (b,) }", "cholesky is not defined for f16"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        if (tn_fn_parse(c, bad[i].text, strlen(bad[i].text), "jax.txt")) fail_msg("accepted: %s", bad[i].text);
        if (!strstr(tn_error(c), bad[i].says)) fail_msg("row %zu: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes),
                                       cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_u64),
                                       cmocka_unit_test(test_whole_of_floats),
                                       cmocka_unit_test(test_halves_of_floats),
                                       cmocka_unit_test(test_half_arithmetic),
                                       cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_derivatives),
                                       cmocka_unit_test(test_far_derivatives),
                                       cmocka_unit_test(test_nested),
                                       cmocka_unit_test(test_tracing),
                                       cmocka_unit_test(test_as_they_are),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
