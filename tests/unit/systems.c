/* Systems with triangular matrices and vectors, and logarithms of determinants. */
#include <tansy.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static void assert_made(tn_ctx *c, const void *p) {
    if (!p) fail_msg("%s", tn_error(c));
}

static const double at[2][3][3] = {{{2, 0.3, -0.5}, {0.7, 1.5, 0.2}, {-0.4, 0.9, 3}},
                                   {{-1, 0.2, 0.4}, {0.1, 2.5, -0.6}, {0.8, -0.3, 1.2}}};

/* Element i, j of the matrix that `how` says. */
static double element(const double (*a)[3], int how, int i, int j) {
    if (how & TN_SOLVE_TRANSPOSED) {
        const int k = i;
        i = j, j = k;
    }
    if (i == j && (how & TN_SOLVE_UNIT_DIAGONAL)) return 1;
    return (how & TN_SOLVE_UPPER ? i <= j : i >= j) ? a[i][j] : 0;
}

static tn_val solved(const tn_val *in, void *user) { return tn_triangular_solve(in[0], in[1], *(const int *)user); }

/* Every way to stand, with a vector for each matrix: a x = b, or x a = b. */
static void vectors(void **state) {
    (void)state;
    const double b[2][3] = {{1, -2, 0.5}, {0.3, 4, -1}};
    double x[2][3];
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    for (int how = 0; how < 16; how++) {
        tn_fn *f = tn_trace(c, solved, &how, TN_ARGS(tn_f64(2, 3, 3), tn_f64(2, 3)));
        assert_made(c, f);
        const tn_type t = tn_fn_output_type(f, 0), want = tn_f64(2, 3);
        assert_true(tn_type_equal(&t, &want));
        tn_exec *e = tn_compile(f, NULL);
        assert_made(c, e);
        assert_int_equal(tn_call(e, TN_INPUTS(at, b), TN_OUTPUTS(x)), TN_OK);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 3; i++) {
                double sum = 0;
                for (int j = 0; j < 3; j++)
                    sum += how & TN_SOLVE_RIGHT ? x[k][j] * element(at[k], how, j, i)
                                                : element(at[k], how, i, j) * x[k][j];
                assert_true(fabs(sum - b[k][i]) < 1e-13);
            }
        if (tn_check_grads(f, (const void *[]){at, b}, NULL, NULL)) fail_msg("how %d: %s", how, tn_error(c));
    }
    int how = 16;
    assert_null(tn_trace(c, solved, &how, TN_ARGS(tn_f64(2, 3, 3), tn_f64(2, 3))));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "how is 16"));
    how = 0;
    assert_null(tn_trace(c, solved, &how, TN_ARGS(tn_f64(3, 3), tn_f64(2)))); /* another length */
    assert_null(tn_trace(c, solved, &how, TN_ARGS(tn_f64(3, 3), tn_f64())));
    tn_ctx_free(c);
}

/* a -> log |det a|, x of a' a x = the first row of a by Cholesky, as a vector and as a matrix of one column */
static void both(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val a = in[0], l = tn_cholesky(tn_matmul(tn_t(a), a)), b = tn_at(a, 0);
    out[0] = tn_logdet(a);
    out[1] = tn_cholesky_solve(l, b);
    out[2] = tn_squeeze(tn_cholesky_solve(l, tn_expand_dims(b, 1)), 1);
}
static tn_val batch(const tn_val *in, void *user) {
    (void)user;
    return tn_logdet(in[0]);
}

static double determinant(const double (*a)[3]) {
    return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

static void determinants(void **state) {
    (void)state;
    double value, x[3], y[3], two[2];
    const double singular[2][2] = {{1, 2}, {2, 4}};
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    tn_fn *f = tn_trace_many(c, both, NULL, TN_ARGS(tn_f64(3, 3)), 3),
          *g = tn_trace(c, batch, NULL, TN_ARGS(tn_f64(2, 3, 3)));
    tn_exec *e = tn_compile(f, NULL);
    assert_made(c, e);
    for (int k = 0; k < 2; k++) { /* the second one's determinant is negative */
        assert_int_equal(tn_call(e, TN_INPUTS(at[k]), TN_OUTPUTS(&value, x, y)), TN_OK);
        assert_true(fabs(value - log(fabs(determinant(at[k])))) < 1e-13);
        assert_memory_equal(x, y, sizeof x);
        for (int i = 0; i < 3; i++) {
            double sum = 0;
            for (int j = 0; j < 3; j++)
                for (int m = 0; m < 3; m++) sum += at[k][m][i] * at[k][m][j] * x[j];
            assert_true(fabs(sum - at[k][0][i]) < 1e-12);
        }
        if (tn_check_grads(f, (const void *[]){at[k]}, NULL, NULL)) fail_msg("%s", tn_error(c));
    }
    e = tn_compile(g, NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, TN_INPUTS(at), TN_OUTPUTS(two)), TN_OK);
    for (int k = 0; k < 2; k++) assert_true(fabs(two[k] - log(fabs(determinant(at[k])))) < 1e-13);
    if (tn_check_grads(g, (const void *[]){at}, NULL, NULL)) fail_msg("%s", tn_error(c));
    e = tn_compile(tn_trace(c, batch, NULL, TN_ARGS(tn_f64(2, 2))), NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, TN_INPUTS(singular), TN_OUTPUTS(&value)), TN_OK);
    assert_true(isinf(value) && value < 0);
    e = tn_compile(tn_trace(c, batch, NULL, TN_ARGS(tn_f64(0, 0))), NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, (const void *[]){at}, TN_OUTPUTS(&value)), TN_OK);
    assert_true(value >= 0 && value <= 0); /* of nothing it is 1 */
    assert_null(tn_trace(c, batch, NULL, TN_ARGS(tn_f64(3))));
    assert_null(tn_trace(c, batch, NULL, TN_ARGS(tn_f64(2, 3))));
    assert_null(tn_trace(c, batch, NULL, TN_ARGS(tn_i32(2, 2))));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(determinants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
