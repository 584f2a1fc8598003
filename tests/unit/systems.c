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

/* ---- det, slogdet, inverse ------------------------------------------------------------------------------- */

static void of_matrices(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_det(in[0]);
    tn_slogdet(in[0], &out[1], &out[2]);
    out[3] = tn_inverse(in[0]);
}
static tn_val det_of(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_det(in[0]));
}
static tn_val sign_of(const tn_val *in, void *user) {
    tn_val sign;
    (void)user;
    tn_slogdet(in[0], &sign, NULL);
    return sign;
}
static tn_val inverse_of(const tn_val *in, void *user) {
    (void)user;
    return tn_inverse(in[0]);
}

/* Leibniz' formula along the first row; a [n][n], n <= 5. */
static double leibniz(const double *a, int n) {
    double part[16], sum = n == 0;
    for (int j = 0; j < n; j++) {
        for (int r = 1; r < n; r++)
            for (int k = 0, to = 0; k < n; k++)
                if (k != j) part[(r - 1) * (n - 1) + to++] = a[r * n + k];
        sum += (j % 2 ? -1 : 1) * a[j] * leibniz(part, n - 1);
    }
    return sum;
}

/* d det / d a[i][j], from the determinant's being linear in it. */
static double cofactor(const double *a, int n, int entry) {
    double b[25];
    memcpy(b, a, sizeof *b * (size_t)(n * n));
    b[entry] = 1;
    const double with = leibniz(b, n);
    b[entry] = 0;
    return with - leibniz(b, n);
}

static void gradient_of_det(tn_ctx *c, const double *a, int n) {
    double g[25], want;
    tn_fn *f = tn_trace(c, det_of, NULL, TN_ARGS(tn_f64(n, n)));
    tn_exec *e = tn_compile(tn_grad(f, NULL, NULL), NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, TN_INPUTS(a), TN_OUTPUTS(g)), TN_OK);
    for (int k = 0; k < n * n; k++)
        if (fabs(g[k] - (want = cofactor(a, n, k))) > 1e-12) fail_msg("%d: entry %d: %g, not %g", n, k, g[k], want);
}

static void all_of_matrices(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    double a[50], det[2], sign[2], logs[2], inverse[50];
    for (int n = 0; n <= 5; n++) {
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < n * n; i++) a[k * n * n + i] = sin(3.0 * (i + 1) + k) + (i % (n + 1) == 0 ? 0.4 : 0);
        tn_fn *f = tn_trace_many(c, of_matrices, NULL, TN_ARGS(tn_f64(2, n, n)), 4),
              *g = tn_trace(c, det_of, NULL, TN_ARGS(tn_f64(2, n, n)));
        tn_exec *e = tn_compile(f, NULL);
        assert_made(c, e);
        if (tn_call(e, TN_INPUTS(a), TN_OUTPUTS(det, sign, logs, inverse))) fail_msg("%d: %s", n, tn_exec_error(e));
        for (int k = 0; k < 2; k++) {
            const double *m = a + k * n * n, *x = inverse + k * n * n, want = leibniz(m, n);
            assert_true(fabs(det[k] - want) < 1e-13 * (1 + fabs(want)));
            assert_true(sign[k] == (want > 0 ? 1 : -1) && fabs(logs[k] - log(fabs(want))) < 1e-12);
            for (int i = 0; i < n * n; i++) {
                double sum = 0;
                for (int j = 0; j < n; j++) sum += m[i / n * n + j] * x[j * n + i % n];
                assert_true(fabs(sum - (i / n == i % n)) < 1e-12);
            }
            gradient_of_det(c, m, n);
        }
        const tn_check_options twice = {.size = sizeof twice, .order = 2};
        if (n && tn_check_grads(g, (const void *[]){a}, NULL, &twice)) fail_msg("%d: %s", n, tn_error(c));
        tn_fn *h = tn_trace(c, inverse_of, NULL, TN_ARGS(tn_f64(2, n, n)));
        if (n && tn_check_grads(h, (const void *[]){a}, NULL, NULL)) fail_msg("%d: %s", n, tn_error(c));
    }
    tn_ctx_free(c);
}

/* Matrices of rank n - 1: the determinant is 0, its derivative is not. */
static void singular(void **state) {
    static const double two[4] = {1, 2, 2, 4}, three[9] = {2, 1, 1, 4, -6, 0, 6, -5, 1}, one[1] = {0};
    (void)state;
    double sign;
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    gradient_of_det(c, one, 1);
    gradient_of_det(c, two, 2);
    gradient_of_det(c, three, 3);
    tn_exec *e = tn_compile(tn_trace(c, sign_of, NULL, TN_ARGS(tn_f64(2, 2))), NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, TN_INPUTS(two), TN_OUTPUTS(&sign)), TN_OK);
    assert_true(sign >= 0 && sign <= 0);
    tn_exec *f = tn_compile(tn_trace(c, det_of, NULL, TN_ARGS(tn_f32(2, 2))), NULL);
    assert_made(c, f);
    float value;
    assert_int_equal(tn_call(f, TN_INPUTS(((const float[]){0, 1, 1, 0})), TN_OUTPUTS(&value)), TN_OK);
    assert_true(value < -0.999F && value > -1.001F); /* one exchange */
    tn_trace_fn const refusing[] = {det_of, sign_of, inverse_of};
    for (int k = 0; k < 3; k++) {
        assert_null(tn_trace(c, refusing[k], NULL, TN_ARGS(tn_f64(3))));
        assert_null(tn_trace(c, refusing[k], NULL, TN_ARGS(tn_f64(2, 3))));
        assert_null(tn_trace(c, refusing[k], NULL, TN_ARGS(tn_i32(2, 2))));
        assert_non_null(strstr(tn_error(c), "systems.c:"));
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(determinants),
        cmocka_unit_test(all_of_matrices),
        cmocka_unit_test(singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
