/* Bits do not depend on the mode that the caller's processor is in: rounding, flushed subnormals, traps; the mode is
 * the caller's again when a call returns, and callbacks of a trace run in it. */
#include <tansy.h>

#include <fenv.h>
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include <cmocka.h>

enum { N = 67 };

/* ---- modes ------------------------------------------------------------------------------- */

enum { UPWARD, DOWNWARD, TOWARDZERO, FLUSHING, SHORT, MODES };
static const char *const names[] = {"upward", "downward", "toward zero", "subnormals flushed",
                                    "long double of 24 bits"};

#ifdef __x86_64__
/* The x87's, which computes what is long double. */
static uint16_t control_word(void) {
    uint16_t word;
    __asm__ __volatile__("fnstcw %0" : "=m"(word));
    return word;
}
#endif

static bool set_mode(int mode) {
    static const int round[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    if (mode < FLUSHING) return fesetround(round[mode]) == 0;
#ifdef __x86_64__
    const uint16_t word = control_word() & 0xFCFF;
    if (mode == FLUSHING) _mm_setcsr(_mm_getcsr() | 0x8040);
    if (mode == SHORT) __asm__ __volatile__("fldcw %0" : : "m"(word));
    return true;
#else
    return false;
#endif
}

/* Of other processors the direction alone. */
static bool settable(int mode) {
#ifdef __x86_64__
    return mode < MODES;
#else
    return mode < FLUSHING;
#endif
}

static void set_default(void) { assert_int_equal(fesetenv(FE_DFL_ENV), 0); }

static bool mode_is(int mode) {
    static const int round[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    if (mode < FLUSHING) return fegetround() == round[mode];
#ifdef __x86_64__
    return mode == FLUSHING ? (_mm_getcsr() & 0x8040) == 0x8040 : !(control_word() & 0x0300);
#else
    return false;
#endif
}

/* ---- programs -------------------------------------------------------------------------------- */

static const char *const ops[] = {"neg",
                                  "sqrt",
                                  "rsqrt",
                                  "cbrt",
                                  "square",
                                  "exp",
                                  "exp2",
                                  "expm1",
                                  "log",
                                  "log1p",
                                  "sin",
                                  "cos",
                                  "tan",
                                  "asin",
                                  "acos",
                                  "atan",
                                  "sinh",
                                  "cosh",
                                  "tanh",
                                  "asinh",
                                  "acosh",
                                  "atanh",
                                  "logistic",
                                  "erf",
                                  "erfc",
                                  "erf_inv",
                                  "lgamma",
                                  "digamma",
                                  "polygamma",
                                  "zeta",
                                  "igamma",
                                  "igammac",
                                  "igamma_grad_a",
                                  "random_gamma_grad",
                                  "regularized_incomplete_beta a",
                                  "bessel_i0e",
                                  "bessel_i1e",
                                  "floor",
                                  "ceil",
                                  "abs",
                                  "add",
                                  "sub",
                                  "mul",
                                  "div",
                                  "pow",
                                  "atan2",
                                  "rem",
                                  "reduce_sum[axes=(0,)]",
                                  "cumsum[axis=0 reverse=False]",
                                  "cumprod[axis=0 reverse=False]",
                                  "cumlogsumexp[axis=0 reverse=False]",
                                  "reduce_prod[axes=(0,)]",
                                  "convert_element_type[new_dtype=f32]",
                                  "dot_general[dimension_numbers=(((0,), (0,)), ((), ()))]",
                                  "integer_pow[y=5]",
                                  "integer_pow[y=-3]"};

static bool binary(const char *op) {
    static const char *const two[] = {"add",
                                      "sub",
                                      "mul",
                                      "div",
                                      "pow",
                                      "atan2",
                                      "rem",
                                      "dot_general",
                                      "polygamma",
                                      "zeta",
                                      "igamma",
                                      "igammac",
                                      "igamma_grad_a",
                                      "random_gamma_grad",
                                      "regularized_incomplete_beta"};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strncmp(op, two[i], strlen(two[i])) == 0 && (op[strlen(two[i])] == 0 || strchr("[ ", op[strlen(two[i])])))
            return true;
    return false;
}

static tn_fn *program(tn_ctx *c, const char *op, const char *dtype) {
    char text[512];
    (void)snprintf(text, sizeof text, "{ lambda a:%s[%d] b:%s[%d] . let c = %s a%s in (c) }", dtype, N, dtype, N, op,
                   binary(op) ? " b" : "");
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    if (!f) fail_msg("%s: %s", text, tn_error(c));
    return f;
}

/* Within (0, 1) mostly, where all are defined; with subnormals and large ones. */
static double sample(int i, bool wide) {
    static const double odd[] = {1e-310, 4.9e-324, 0, -0.75, 3.5, 1e5};
    static const double odd32[] = {1e-40, 1.4e-45, 0, -0.75, 3.5, 1e5};
    if (i < 6) return (wide ? odd : odd32)[i];
    return 0.5 + 0.4999 * ((i * 37 % 64) / 32.0 - 1) / 1.01;
}

static void run(const char *op, bool wide, int backend, int threads, double out[N], int mode) {
    double a[N], b[N];
    float a32[N], b32[N];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = program(c, op, wide ? "f64" : "f32");
    tn_exec *e = tn_compile(
        f, &(tn_compile_options){.size = sizeof(tn_compile_options), .backend = backend, .threads = threads});
    if (!e) fail_msg("%s: %s", op, tn_error(c));
    for (int i = 0; i < N; i++) {
        a[i] = sample(i, wide);
        b[i] = sample(N - 1 - i, wide);
        a32[i] = (float)a[i];
        b32[i] = (float)b[i];
    }
    const void *const in[] = {wide ? (const void *)a : a32, wide ? (const void *)b : b32};
    void *const to[] = {out};
    memset(out, 0, N * sizeof *out);
    if (mode < MODES && !set_mode(mode)) skip();
    const tn_status status = tn_call(e, in, to);
    const bool kept = mode == MODES || mode_is(mode);
    set_default();
    assert_int_equal(status, TN_OK);
    if (!kept) fail_msg("%s: the mode '%s' is gone", op, names[mode]);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void compare(int backend, int threads) {
    static double expected[N], found[N];
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (int wide = 0; wide < 2; wide++) {
            run(ops[k], wide, backend, threads, expected, MODES);
            for (int mode = 0; settable(mode); mode++) {
                run(ops[k], wide, backend, threads, found, mode);
                if (memcmp(expected, found, sizeof found))
                    fail_msg("%s of %s, %s: other bits", ops[k], wide ? "f64" : "f32", names[mode]);
            }
        }
}

static void test_interpreted(void **state) {
    (void)state;
    compare(TN_BACKEND_DEFAULT, 1);
}

static void test_threads(void **state) {
    (void)state;
    compare(TN_BACKEND_DEFAULT, 2);
}

/* One program for all, as each is compiled for itself. */
static void test_native(void **state) {
    static const char text[] = "{ lambda a:f64[67] b:f32[67] . let c = sin a d = exp c e = mul d 0.1 f = add e a g = "
                               "cumsum[axis=0 reverse=False] f "
                               "h = sin b i = mul h 0.1 j = reduce_sum[axes=(0,)] i in (g, j) }";
    (void)state;
    double a[N], expected[N + 1], found[N + 1];
    float b[N];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    if (!f) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .backend = TN_BACKEND_NATIVE});
    assert_non_null(e);
    memset(expected, 0, sizeof expected);
    memset(found, 0, sizeof found);
    for (int i = 0; i < N; i++) {
        a[i] = sample(i, true);
        b[i] = (float)sample(i, false);
    }
    assert_int_equal(tn_call(e, (const void *[]){a, b}, (void *[]){expected, expected + N}), TN_OK);
    for (int mode = 0; mode < MODES && set_mode(mode); mode++) {
        const tn_status status = tn_call(e, (const void *[]){a, b}, (void *[]){found, found + N});
        const bool kept = mode_is(mode);
        set_default();
        assert_int_equal(status, TN_OK);
        assert_true(kept);
        assert_memory_equal(expected, found, sizeof found);
    }
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
}

/* ---- literals and folding ------------------------------------------------------------------------ */

static int seen;

/* 0.1 as an f32, and the sine of 1/3 as an f32: what the trace itself computes. */
static tn_val folded(const tn_val *in, void *user) {
    seen = fegetround();
    const tn_val third = tn_div(tn_full(user, tn_f32(), 1), tn_full(user, tn_f32(), 3));
    return tn_add(tn_mul(in[0], 0.1), tn_sin(third));
}

static char *traced(int mode) {
    tn_ctx *c = tn_ctx_new(NULL);
    if (mode < MODES) (void)set_mode(mode);
    tn_fn *f = tn_trace(c, folded, c, 1, (tn_type[]){tn_f32(3)});
    char *text = f ? tn_fn_print(f, NULL) : NULL;
    set_default();
    if (!text) fail_msg("%s", tn_error(c));
    char *copy = strdup(text);
    tn_text_free(c, text);
    tn_fn_free(f);
    tn_ctx_free(c);
    return copy;
}

static void test_traced(void **state) {
    (void)state;
    char *expected = traced(MODES);
    for (int mode = 0; mode < FLUSHING; mode++) {
        char *found = traced(mode);
        static const int round[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
        assert_int_equal(seen, round[mode]); /* a user's own arithmetic is in the user's mode */
        assert_string_equal(found, expected);
        free(found);
    }
    free(expected);
}

/* ---- traps ---------------------------------------------------------------------------------------- */

/* A NaN is a value: what the caller would be stopped at raises no signal, and is told by fetestexcept behind the call.
 */
static void test_traps(void **state) {
    (void)state;
#ifdef __x86_64__
    static const char text[] = "{ lambda a:f64[67] . let b = log a in (b) }";
    double a[N] = {-1, 0, 1}, out[N];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    _mm_setcsr(0x1F80 & ~(0x80u | 0x200u)); /* traps at invalid operations and divisions by zero */
    const tn_status status = tn_call(e, (const void *[]){a}, (void *[]){out});
    const bool kept = (_mm_getcsr() & (0x80u | 0x200u)) == 0;
    set_default();
    assert_int_equal(status, TN_OK);
    assert_true(kept);
    assert_true(out[0] != out[0] && out[2] == 0);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
#else
    skip();
#endif
}

/* As asked, in the caller's default mode and in others, which stay; what was compiled without keeps them. */
static void flushes(const char *text, int n, int backend, int threads) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    if (!f) fail_msg("%s", tn_error(c));
    const size_t count = (size_t)n * (size_t)n;
    double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b), *out = malloc(count * sizeof *out);
    assert_true(a && b && out);
    for (size_t i = 0; i < count; i++) a[i] = i % 2 ? 0x1p-540 : 0x1p-1060, b[i] = i % 2 ? 0x1p-500 : 1;
    for (int round = 0; round < 2 * (MODES + 1); round++) {
        const bool flush = round % 2 == 0;
        const int mode = round / 2;
        const tn_compile_options o = {
            .size = sizeof o, .backend = backend, .threads = threads, .flush_subnormals = flush};
        tn_exec *e = tn_compile(f, &o);
        assert_non_null(e);
        if (mode < MODES && !set_mode(mode)) skip();
        const tn_status status = tn_call(e, (const void *[]){a, b}, (void *[]){out});
        const bool kept = mode == MODES ? !mode_is(FLUSHING) && fegetround() == FE_TONEAREST : mode_is(mode);
        set_default();
        assert_int_equal(status, TN_OK);
        assert_true(kept);
        for (size_t i = 0; i < count; i++)
            if ((out[i] == 0) != flush)
                fail_msg("backend %d, %d threads, round %d: element %zu is %g", backend, threads, round, i, out[i]);
        tn_exec_free(e);
    }
    free(a);
    free(b);
    free(out);
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void test_flushed(void **state) {
    (void)state;
#if defined __x86_64__ || defined __aarch64__
    static const int backends[] = {TN_BACKEND_DEFAULT, TN_BACKEND_NATIVE, TN_BACKEND_REFERENCE};
    for (size_t k = 0; k < sizeof backends / sizeof *backends; k++)
        for (int threads = 1; threads <= 2; threads++) {
            flushes("{ lambda a:f64[8,8] b:f64[8,8] . let c = mul a b in (c,) }", 8, backends[k], threads);
            flushes("{ lambda a:f64[200,200] b:f64[200,200] . let c = mul a b in (c,) }", 200, backends[k], threads);
            flushes(
                "{ lambda a:f64[200,200] b:f64[200,200] . let c = mul a b d = dot_general[dimension_numbers=(((1,), "
                "(0,)), ((), ()))] a a e = mul d 0.0:f64[] g = add e c in (g,) }",
                200, backends[k], threads);
        }
#else
    const tn_compile_options o = {.size = sizeof o, .flush_subnormals = true};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, "{ lambda a:f64[] . let in (a,) }", 32, "f.tn");
    assert_null(tn_compile(f, &o));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    tn_fn_free(f);
    tn_ctx_free(c);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpreted), cmocka_unit_test(test_threads), cmocka_unit_test(test_native),
        cmocka_unit_test(test_traced),      cmocka_unit_test(test_traps),   cmocka_unit_test(test_flushed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
