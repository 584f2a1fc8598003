/* Sorts along short dimensions, and the first few of some more, are loops with the kernel's results, to the bit:
 * values, what moves along, the order of equal ones, of -0 and 0, and of NaNs; longer ones are the kernel. */
#include "amount.h"
#include "unit/tracing.h"

#include "tansy/ops.h"

#include <stdlib.h>

enum { ROWS = 37, LONGEST = 40, MOST = ROWS * LONGEST };

typedef struct sorted {
    int axis, how;
} sorted;

static void program(const tn_val *in, tn_val *out, void *user) {
    const sorted *s = user;
    tn_val both[2];
    if (s->how > 1) { /* the first few */
        const int64_t n = tn_dim(in[0], s->axis);
        tn_top_k(in[0], n < s->how - 1 ? n : s->how - 1, s->axis, &out[0], &out[1]);
        out[0] = tn_neg(out[0]);
    } else if (s->how == 0) {
        out[0] = tn_sort(in[0], s->axis);
        out[1] = tn_argsort(in[0], s->axis);
    } else {
        tn_sort_many(tn_vals(in[0], in[1]), s->axis, 1, both);
        out[0] = tn_neg(both[0]);
        out[1] = both[1];
    }
}

/* Few values, so that many are equal. */
static void fill(int dtype, void *x, int64_t n, unsigned seed) {
    static const double some[] = {1, -0.0, 0, NAN, -3.5, INFINITY, -INFINITY, 2, -0.0, 7, 1e-310, 0};
    for (int64_t i = 0; i < n; i++) {
        const double v = some[(seed = seed * 1103515245u + 12345u) >> 16 & 0xFF ? (seed >> 18) % 12 : 3];
        const int64_t k = isfinite(v) ? (int64_t)v : (int64_t)(seed >> 20) - 2048;
        if (dtype == TN_F64) ((double *)x)[i] = v;
        if (dtype == TN_F32) ((float *)x)[i] = (float)v;
        if (dtype == TN_I32) ((int32_t *)x)[i] = (int32_t)k;
        if (dtype == TN_I64) ((int64_t *)x)[i] = k * INT64_C(1000000007);
        if (dtype == TN_U32) ((uint32_t *)x)[i] = (uint32_t)k;
    }
}

static void called(const tn_fn *f, int backend, const void *const *in, char out[2][8 * MOST]) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    memset(out, 0x55, 2 * sizeof *out);
    assert_int_equal(tn_call(e, in, (void *const[]){out[0], out[1]}), TN_OK);
    tn_exec_free(e);
}

static void one(tn_dtype dtype, int64_t n, sorted s) {
    static char x[8 * MOST], y[8 * MOST], want[2][8 * MOST], got[2][8 * MOST];
    static const int backends[] = {TN_BACKEND_DEFAULT, TN_BACKEND_STRIPS};
    const int64_t dim[2] = {s.axis ? ROWS : n, s.axis ? n : ROWS};
    tn_ctx *c = checked();
    const tn_type in[] = {tn_type_of(dtype, 2, dim), tn_i32(dim[0], dim[1])};
    fill((int)dtype, x, MOST, (unsigned)n), fill(TN_I32, y, MOST, 99);
    tn_fn *f = tn_trace_many(c, program, &s, 2, in, 2);
    if (!f) fail_msg("%s", tn_error(c));
    called(f, TN_BACKEND_REFERENCE, (const void *const[]){x, y}, want);
    for (size_t i = 0; i < COUNT(backends); i++) {
        called(f, backends[i], (const void *const[]){x, y}, got);
        if (memcmp(got, want, sizeof got) != 0)
            fail_msg("dtype %d, %d elements along %d, %d: not the kernel's bits", (int)dtype, (int)n, s.axis, s.how);
    }
    tn_ctx_free(c);
}

static void same_bits(void **state) {
    static const tn_dtype dtypes[] = {TN_F64, TN_F32, TN_I32, TN_I64, TN_U32};
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 17, 31, 32, 33, 40};
    (void)state;
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t l = 0; l < COUNT(lengths); l++)
            for (int axis = 0; axis < 2; axis++)
                for (int how = 0; how < 5; how++)
                    if (in_share(d + l + (size_t)axis + (size_t)how, 2))
                        one(dtypes[d], lengths[l], (sorted){axis, how});
}

/* What nobody's result needs goes: of 9 elements the median takes fewer exchanges than all. */
static tn_val median(const tn_val *in, void *user) {
    (void)user;
    return tn_slice_axis(tn_sort(in[0], 1), 4, 5, 1, 1);
}
static tn_val all(const tn_val *in, void *user) {
    (void)user;
    return tn_sort(in[0], 1);
}
typedef struct seen {
    size_t operations;
    bool kernel;
} seen;
static void see(void *user, const tn_step *s) {
    seen *z = user;
    z->operations += s->operations;
    z->kernel |= strcmp(s->kind, "loops") != 0;
}
static seen steps_of(tn_val (*f)(const tn_val *, void *)) {
    seen z = {0};
    tn_ctx *c = checked();
    tn_exec *e = tn_compile(tn_trace(c, f, NULL, 1, TN_TYPES(tn_f64(50, 9))), NULL);
    if (!e) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_exec_steps(e, see, &z), TN_OK);
    tn_exec_free(e);
    tn_ctx_free(c);
    return z;
}

static void no_kernel(void **state) {
    (void)state;
    const seen m = steps_of(median), a = steps_of(all);
    assert_false(m.kernel || a.kernel);
    assert_true(m.operations < a.operations);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(no_kernel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
