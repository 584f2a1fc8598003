/* Programs of numbers: many at once, as vectors of equations, have the bits that each has alone. */
#include "exec/exec.h"
#include "tansy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { MOST = 40 };

/* Functions of vectors, arithmetic, comparisons, choices and conversions. */
static tn_val each(tn_val x) {
    const tn_val s = tn_sin(x), e = tn_exp(tn_neg(tn_square(x))), whole = tn_convert(tn_mul(x, 10), TN_I64);
    const tn_val odd = tn_convert(tn_add(tn_mul(whole, whole), 3), TN_F32);
    const tn_val y = tn_where(tn_gt(s, e), tn_div(s, tn_add(1, tn_square(x))), tn_atan2(e, tn_add(x, 2)));
    return tn_add(tn_convert(y, TN_F64), tn_convert(tn_div(odd, 7), TN_F64));
}

static tn_val one(const tn_val *in, void *user) {
    (void)user;
    return each(in[0]);
}

static void many(const tn_val *in, tn_val *out, void *user) {
    const int n = *(int *)user;
    for (int i = 0; i < n; i++) out[i] = each(in[i]);
}

static void run(const tn_fn *f, int n, int backend, const void *const *in, void *const *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    assert_non_null(e);
    if (n <= 20 && backend == TN_BACKEND_DEFAULT) assert_int_equal(e->plan->nnest, 1);
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static void check(tn_ctx *c, int dtype, int n) {
    double d[MOST], want[MOST], got[MOST];
    float s[MOST];
    tn_type type[MOST];
    const void *in[MOST];
    void *out[MOST];
    for (int i = 0; i < n; i++) {
        d[i] = i % 9 == 8 ? (double)NAN : 0.37 * i - 2;
        s[i] = (float)d[i];
        in[i] = dtype == TN_F64 ? (const void *)&d[i] : &s[i];
        out[i] = &got[i];
        type[i] = tn_type_of((tn_dtype)dtype, 0, NULL);
    }
    tn_fn *f = tn_trace(c, one, NULL, 1, type), *g = tn_trace_many(c, many, &n, (size_t)n, type, (size_t)n);
    assert_true(f && g);
    for (int i = 0; i < n; i++) run(f, 1, TN_BACKEND_DEFAULT, &in[i], TN_OUTPUTS(&want[i]));
    run(g, n, TN_BACKEND_DEFAULT, in, out);
    assert_memory_equal(want, got, (size_t)n * sizeof *got);
    memset(got, 0, sizeof got);
    run(g, n, TN_BACKEND_NATIVE, in, out);
    assert_memory_equal(want, got, (size_t)n * sizeof *got);
}

static void test_many(void **state) {
    static const int n[] = {2, 3, 4, 7, 8, 9, 15, 16, 17, 40};
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        check(c, TN_F64, n[i]);
        check(c, TN_F32, n[i]);
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
