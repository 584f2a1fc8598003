/* tn_tridiagonal_solve: residuals over sizes and dtypes, pivots, ends that are not read, derivatives, what it refuses.
 */
#include "tansy/decompositions.h"
#include "unit/tracing.h"

#include <math.h>
#include <stdlib.h>

static tn_val solve(const tn_val *in, void *user) {
    (void)user;
    return tn_tridiagonal_solve(in[0], in[1], in[2], in[3]);
}

static tn_fn *program(tn_ctx *c, tn_dtype dtype, int64_t n, int64_t k) {
    const int64_t shape[2] = {n, k};
    const tn_type v = tn_type_of(dtype, 1, shape), b = tn_type_of(dtype, k ? 2 : 1, shape), in[] = {v, v, v, b};
    tn_fn *f = tn_trace(c, solve, NULL, 4, in);
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static double at(const void *x, tn_dtype dtype, int64_t i) {
    return dtype == TN_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}
static void set(void *x, tn_dtype dtype, int64_t i, double y) {
    if (dtype == TN_F32)
        ((float *)x)[i] = (float)y;
    else
        ((double *)x)[i] = y;
}

/* |a x - b| beside |a| |x|.  `zero`: without a diagonal of its own, which elimination has to exchange rows for. */
static void solves(tn_dtype dtype, int64_t n, int64_t k, bool zero) {
    tn_ctx *c = checked();
    const int64_t columns = k ? k : 1;
    void *in[4], *x = calloc((size_t)(n * columns) + 1, 8);
    for (int j = 0; j < 4; j++) {
        const int64_t m = j < 3 ? n : n * columns;
        in[j] = calloc((size_t)m + 1, 8);
        for (int64_t i = 0; i < m; i++)
            set(in[j], dtype, i, sin(1.0 + 3.7 * (double)i + j) + (j == 1 && !zero ? 2.5 : 0));
        if (j == 1 && zero)
            for (int64_t i = 0; i < n; i++) set(in[j], dtype, i, 0);
    }
    if (n > 1) { /* not read */
        set(in[0], dtype, 0, (double)NAN);
        set(in[2], dtype, n - 1, (double)NAN);
    }
    tn_exec *e = tn_compile(program(c, dtype, n, k), NULL);
    assert_non_null(e);
    assert_int_equal(tn_call(e, (const void *const *)in, &x), TN_OK);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < columns; j++) {
            const double own = at(in[1], dtype, i) * at(x, dtype, i * columns + j);
            const double before = i ? at(in[0], dtype, i) * at(x, dtype, (i - 1) * columns + j) : 0;
            const double behind = i + 1 < n ? at(in[2], dtype, i) * at(x, dtype, (i + 1) * columns + j) : 0;
            const double b = at(in[3], dtype, i * columns + j), unit = dtype == TN_F32 ? 1.2e-7 : 2.3e-16;
            const double size = fabs(own) + fabs(before) + fabs(behind) + fabs(b);
            if (!(fabs(own + before + behind - b) <= 20 * unit * size))
                fail_msg("n %d, k %d, %s%s, row %d: %g of %g", (int)n, (int)k, dtype == TN_F32 ? "f32" : "f64",
                         zero ? ", no diagonal" : "", (int)i, own + before + behind - b, size);
        }
    tn_exec_free(e);
    for (int j = 0; j < 4; j++) free(in[j]);
    free(x);
    tn_ctx_free(c);
}

static void residuals(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 7, 65, 5000};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (int k = 0; k < 4; k += 3)
            for (int wide = 0; wide < 2; wide++) {
                solves(wide ? TN_F64 : TN_F32, sizes[i], k, false);
                if (sizes[i] % 2 == 0 && sizes[i] < 10) solves(wide ? TN_F64 : TN_F32, sizes[i], k, true);
            }
}

/* To second order, in all four, against differences; and no loop is differentiated. */
static void derivatives(void **state) {
    (void)state;
    for (int64_t n = 1; n < 6; n += 2)
        for (int64_t k = 0; k < 3; k += 2) {
            tn_ctx *c = checked();
            double in[4][10];
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 10; i++) in[j][i] = sin(0.3 + 2.1 * i + 5 * j) + (j == 1 ? 2.5 : 0);
            const void *const x[] = {in[0], in[1], in[2], in[3]};
            tn_fn *f = program(c, TN_F64, n, k);
            const tn_check_options o = {.size = sizeof o, .order = 2};
            if (tn_check_grads(f, x, NULL, &o) != TN_OK) fail_msg("%s", tn_error(c));
            tn_ctx_free(c);
        }
}

static void mapped(void **state) {
    (void)state;
    enum { LANES = 3, N = 4 };
    tn_ctx *c = checked();
    tn_fn *f = program(c, TN_F64, N, 0), *g = tn_vmap(f, LANES, NULL, NULL);
    double in[4][LANES * N], all[LANES * N], one[N];
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < LANES * N; i++) in[j][i] = cos(0.7 * i + j) + (j == 1 ? 3 : 0);
    tn_exec *e = tn_compile(f, NULL), *m = g ? tn_compile(g, NULL) : NULL;
    if (!e || !m) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_call(m, (const void *[]){in[0], in[1], in[2], in[3]}, (void *[]){all}), TN_OK);
    for (int lane = 0; lane < LANES; lane++) {
        const int at0 = lane * N;
        assert_int_equal(
            tn_call(e, (const void *[]){in[0] + at0, in[1] + at0, in[2] + at0, in[3] + at0}, (void *[]){one}), TN_OK);
        for (int i = 0; i < N; i++) assert_true(fabs(all[at0 + i] - one[i]) <= 1e-14);
    }
    tn_exec_free(e);
    tn_exec_free(m);
    tn_ctx_free(c);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        tn_dtype dtype[4];
        size_t rank[4];
        int64_t n[4];
        const char *why;
    } wrong[] = {
        {{TN_F64, TN_F64, TN_F64, TN_F64}, {1, 1, 1, 1}, {3, 4, 4, 4}, "as many entries"},
        {{TN_F64, TN_F64, TN_F64, TN_F64}, {1, 2, 1, 1}, {4, 4, 4, 4}, "as many entries"},
        {{TN_F64, TN_F32, TN_F64, TN_F64}, {1, 1, 1, 1}, {4, 4, 4, 4}, "dtypes"},
        {{TN_I64, TN_I64, TN_I64, TN_I64}, {1, 1, 1, 1}, {4, 4, 4, 4}, "floats"},
        {{TN_F64, TN_F64, TN_F64, TN_F64}, {1, 1, 1, 0}, {4, 4, 4, 4}, "vector nor a matrix"},
        {{TN_F64, TN_F64, TN_F64, TN_F64}, {1, 1, 1, 3}, {4, 4, 4, 4}, "vector nor a matrix"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_type in[4];
        for (size_t j = 0; j < 4; j++)
            in[j] = tn_type_of(wrong[i].dtype[j], wrong[i].rank[j], (const int64_t[]){wrong[i].n[j], 2, 2});
        assert_null(tn_trace(c, solve, NULL, 4, in));
        if (!strstr(tn_error(c), wrong[i].why) || !strstr(tn_error(c), "tridiagonal.c"))
            fail_msg("expected '%s', got '%s'", wrong[i].why, tn_error(c));
        tn_ctx_free(c);
    }
    tn_ctx *c = checked();
    assert_non_null(program(c, TN_F64, 0, 0));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(residuals), cmocka_unit_test(derivatives),
                                       cmocka_unit_test(mapped), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
