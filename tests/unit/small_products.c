/* Products of few numbers: nests compute them where they are small, kernels elsewhere, and the bits are the same, in
 * any layout and at all sizes around the limits. */
#include "tansy/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape {
    int64_t m, n, k;  /* m, n 0: there is no such dimension */
    bool left, right; /* the inner dimension comes first on the left, last on the right */
} shape;

static tn_val product(const tn_val *in, void *user) {
    const shape *s = user;
    const tn_int_list left = tn_ints(s->m && !s->left), right = tn_ints(s->n && s->right);
    const tn_val p = tn_dot_general(in[0], in[1], left, right, (tn_int_list){0}, (tn_int_list){0});
    return tn_add(p, 0.5); /* what reads it is in the same nest */
}

static size_t fill(tn_type t, void *to, uint64_t *seed) {
    const size_t n = tn_type_bytes(&t) / (t.dtype == TN_F64 ? 8 : 4);
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const double x = *seed >> 60 == 0 ? -0.0 : (double)(int64_t)(*seed >> 11) * 0x1p-52 - 1;
        if (t.dtype == TN_F64)
            ((double *)to)[i] = x;
        else
            ((float *)to)[i] = (float)x;
    }
    return n;
}

static tn_type side(tn_dtype dtype, int64_t free, int64_t k, bool inner_first) {
    tn_type t = {.dtype = (int32_t)dtype, .rank = free ? 2 : 1, .dim = {k}};
    if (free) t.dim[inner_first ? 0 : 1] = k, t.dim[inner_first ? 1 : 0] = free;
    return t;
}

static void check(tn_ctx *c, tn_dtype dtype, const shape *s, uint64_t seed) {
    static const int backend[] = {0, TN_BACKEND_REFERENCE};
    static double x[2][60 * 60], y[2][60 * 60];
    const tn_type in[2] = {side(dtype, s->m, s->k, s->left), side(dtype, s->n, s->k, !s->right)};
    tn_fn *f = tn_trace(c, product, (void *)(uintptr_t)s, 2, in);
    if (!f) fail_msg("%s", tn_error(c));
    (void)fill(in[0], x[0], &seed);
    (void)fill(in[1], x[1], &seed);
    for (int b = 0; b < 2; b++) {
        const tn_compile_options o = {.size = sizeof o, .backend = backend[b]};
        tn_exec *e = tn_compile(f, &o);
        assert_non_null(e);
        memset(y[b], 0, sizeof y[b]);
        if (tn_call(e, (const void *[]){x[0], x[1]}, (void *[]){y[b]}) != TN_OK) fail_msg("%s", tn_error(c));
        tn_exec_free(e);
    }
    const tn_type out = tn_fn_output_type(f, 0);
    if (memcmp(y[0], y[1], tn_type_bytes(&out)) != 0)
        fail_msg("%s, %lld x %lld x %lld, %d %d: bits differ", dtype == TN_F64 ? "f64" : "f32", (long long)s->m,
                 (long long)s->n, (long long)s->k, s->left, s->right);
    tn_fn_free(f);
}

static void all_sizes(void **state) {
    static const int64_t free[] = {0, 1, 2, 3, 8, 16, 17, 49},
                         inner[] = {0, 1, 2, 3, 7, 8, 13, 15, 16, 17, 18, 33, 34, 49};
    tn_ctx *c = tn_ctx_new(NULL);
    (void)state;
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof free / sizeof *free; i++)
        for (size_t j = 0; j < sizeof free / sizeof *free; j++)
            for (size_t p = 0; p < sizeof inner / sizeof *inner; p++) {
                const shape s = {free[i], free[j], inner[p], (i + p) % 2, (j + p / 2) % 2};
                check(c, (i + j) % 2 ? TN_F32 : TN_F64, &s, seed++);
                check(c, (i + j) % 2 ? TN_F64 : TN_F32, &s, seed++);
            }
    tn_ctx_free(c);
}

/* Programs of many are not made long. */
static tn_val many(const tn_val *in, void *user) {
    tn_val x = in[0];
    for (int i = 0; i < *(const int *)user; i++) x = tn_add(tn_matmul(in[1], x), in[2]);
    return x;
}

static void count_products(void *user, const tn_step *s) { *(int *)user += !strcmp(s->kind, "product"); }

static void few_or_many(void **state) {
    static const int n[] = {10, 1365, 1366, 2000}, want[] = {0, 0, 1366, 2000};
    (void)state;
    for (int i = 0; i < 4; i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = tn_trace(c, many, (void *)(uintptr_t)&n[i], 3, TN_TYPES(tn_f64(3, 3), tn_f64(3, 3), tn_f64(3, 3)));
        tn_exec *e = tn_compile(f, NULL);
        int products = 0, has = 0;
        assert_non_null(e);
        assert_int_equal(tn_exec_steps(e, count_products, &products), TN_OK);
        tn_exec_free(e);
        f = tn_trace(c, many, (void *)(uintptr_t)&n[0], 3, TN_TYPES(tn_f64(3, 3), tn_f64(3, 3), tn_f64(3, 3)));
        assert_non_null(e = tn_compile(f, NULL));
        assert_int_equal(tn_exec_steps(e, count_products, &has), TN_OK);
        if (has == 0) assert_int_equal(products, want[i]); /* the machine has kernels of our own */
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_sizes), cmocka_unit_test(few_or_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
