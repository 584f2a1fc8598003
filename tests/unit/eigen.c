/* eigh, qr, svd, pinv and lstsq: what they say of matrices of every shape, dtype and batch; derivatives, also where
 * values are equal; what is refused.  Linked with what LAPACK=0 makes, the same program tests that they are refused. */
#include "prims/linear/lapack.h"
#include "tansy/complex.h"
#include "unit/tracing.h"

enum { ROWS = 24, BATCH = 2, MOST = BATCH * ROWS * ROWS };

static double number(uint64_t *seed) { /* in [-1, 1) */
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*seed >> 11) / 4503599627370496.0 - 1;
}

/* Runs f, of floats of one dtype, on doubles. */
static void run_on(const tn_fn *f, const double *in, double *const *out) {
    static double from[MOST], to[4][MOST];
    const tn_type t = tn_fn_input_type(f, 0);
    const bool narrow = t.dtype == TN_F32;
    for (int64_t k = 0; k < tn_i_count(&t); k++)
        if (narrow)
            ((float *)(void *)from)[k] = (float)in[k];
        else
            from[k] = in[k];
    run(f, (const void *[]){from}, (void *[]){to[0], to[1], to[2], to[3]});
    for (size_t j = 0; j < tn_fn_outputs(f); j++) {
        const tn_type o = tn_fn_output_type(f, j);
        for (int64_t k = 0; k < tn_i_count(&o); k++)
            out[j][k] = narrow ? (double)((const float *)(const void *)to[j])[k] : to[j][k];
    }
}

/* x (m x k) times y (k x n, or n x k) against z; the largest difference. */
static double apart(int64_t m, int64_t n, int64_t k, const double *x, const double *y, bool turned, const double *z) {
    double most = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = z ? -z[i * n + j] : i == j ? -1 : 0;
            for (int64_t p = 0; p < k; p++) sum += x[i * k + p] * y[turned ? j * k + p : p * n + j];
            most = fmax(most, fabs(sum));
        }
    return most;
}

static void turn(int64_t m, int64_t n, const double *x, double *to) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) to[j * m + i] = x[i * n + j];
}

static double a[MOST], out[3][MOST], t[MOST], p[MOST];
static double *const outs[3] = {out[0], out[1], out[2]};

static void fill(int64_t count) {
    uint64_t seed = (uint64_t)count;
    for (int64_t k = 0; k < count; k++) a[k] = (float)number(&seed);
}

static void of_eigh(const tn_val *in, tn_val *to, void *user) {
    (void)user;
    tn_eigh(in[0], &to[0], &to[1]);
}
static void of_qr(const tn_val *in, tn_val *to, void *user) { tn_qr(in[0], *(tn_factors *)user, &to[0], &to[1]); }
static void of_svd(const tn_val *in, tn_val *to, void *user) {
    tn_svd(in[0], *(tn_factors *)user, &to[0], &to[1], &to[2]);
}
static tn_val of_pinv(const tn_val *in, void *user) { return (void)user, tn_pinv(in[0]); }

static tn_type matrices(bool narrow, int64_t m, int64_t n) {
    return narrow ? tn_f32(BATCH, m, n) : tn_f64(BATCH, m, n);
}

static void eigenvalues(void **state) {
    (void)state;
    const int64_t sizes[] = {0, 1, 2, 3, 8, ROWS};
    for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
        tn_ctx *c = checked();
        const int64_t n = sizes[i / 2];
        const double epsilon = i % 2 ? 4e-6 : 1e-13;
        fill(BATCH * n * n);
        run_on(tn_trace_many(c, of_eigh, NULL, TN_ARGS(matrices(i % 2, n, n)), 2), a, outs);
        for (int64_t k = 0; k < BATCH; k++) {
            const double *w = out[0] + k * n, *v = out[1] + k * n * n;
            for (int64_t r = 0; r < n; r++)
                for (int64_t j = 0; j < n; j++) p[r * n + j] = v[r * n + j] * w[j];
            for (int64_t r = 0; r < n; r++) /* the lower triangle is read */
                for (int64_t j = r + 1; j < n; j++) a[(k * n + r) * n + j] = a[(k * n + j) * n + r];
            assert_true(apart(n, n, n, p, v, true, a + k * n * n) < epsilon);
            turn(n, n, v, t);
            assert_true(apart(n, n, n, t, t, true, NULL) < epsilon);
            for (int64_t j = 1; j < n; j++) assert_true(w[j] >= w[j - 1]);
        }
        tn_ctx_free(c);
    }
}

static void of_eig(const tn_val *in, tn_val *to, void *user) {
    tn_complex w, v;
    (void)user;
    tn_eig(in[0], &w, &v);
    to[0] = w.re, to[1] = w.im, to[2] = v.re, to[3] = v.im;
}
static void of_eigvals(const tn_val *in, tn_val *to, void *user) {
    const tn_complex w = tn_eigvals(in[0]);
    (void)user;
    to[0] = w.re, to[1] = w.im;
}

/* a v = v diag(w), columns of unit length with a first large element that is positive, w by their real parts; w alone
 * is the same.
 */
static void complex_eigenvalues(void **state) {
    (void)state;
    static double re[BATCH * ROWS], im[BATCH * ROWS], x[MOST], y[MOST];
    double *const all[4] = {re, im, x, y};
    const int64_t sizes[] = {0, 1, 2, 3, 8, ROWS};
    for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
        tn_ctx *c = checked();
        const int64_t n = sizes[i / 2];
        const double epsilon = i % 2 ? 2e-5 : 1e-12;
        fill(BATCH * n * n);
        run_on(tn_trace_many(c, of_eigvals, NULL, TN_ARGS(matrices(i % 2, n, n)), 2), a, outs);
        run_on(tn_trace_many(c, of_eig, NULL, TN_ARGS(matrices(i % 2, n, n)), 4), a, all);
        for (int64_t k = 0; k < BATCH; k++)
            for (int64_t j = 0; j < n; j++) {
                const double *m = a + k * n * n, *p_re = x + k * n * n + j, *p_im = y + k * n * n + j;
                const double wr = re[k * n + j], wi = im[k * n + j];
                double length = 0, most = 0, first = 0;
                for (int64_t r = 0; r < n; r++) {
                    double sr = 0, si = 0;
                    for (int64_t q = 0; q < n; q++) sr += m[r * n + q] * p_re[q * n], si += m[r * n + q] * p_im[q * n];
                    const double vr = p_re[r * n], vi = p_im[r * n], size = vr * vr + vi * vi;
                    assert_true(fabs(sr - wr * vr + wi * vi) < epsilon && fabs(si - wr * vi - wi * vr) < epsilon);
                    length += size;
                    most = fmax(most, size);
                }
                for (int64_t r = n - 1; r >= 0; r--)
                    if (p_re[r * n] * p_re[r * n] + p_im[r * n] * p_im[r * n] >= most / 4)
                        first = p_im[r * n] == 0 ? p_re[r * n] : -1;
                assert_true(fabs(length - 1) < epsilon && first > 0);
                assert_true(j == 0 || re[k * n + j - 1] <= wr);
                assert_true(fabs(out[0][k * n + j] - wr) < epsilon && fabs(out[1][k * n + j] - wi) < epsilon);
            }
        tn_ctx_free(c);
    }
}

static const int64_t shapes[][2] = {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 4}, {4, 1}, {3, 3}, {7, 4}, {4, 7}, {ROWS, 9}};

static void triangles(void **state) {
    (void)state;
    for (size_t i = 0; i < 4 * COUNT(shapes); i++) {
        tn_ctx *c = checked();
        const int64_t m = shapes[i / 4][0], n = shapes[i / 4][1];
        tn_factors how = i / 2 % 2 ? TN_FACTORS_FULL : TN_FACTORS_REDUCED;
        const int64_t k = how == TN_FACTORS_FULL || m < n ? m : n;
        const double epsilon = i % 2 ? 4e-6 : 1e-13;
        fill(BATCH * m * n);
        run_on(tn_trace_many(c, of_qr, &how, TN_ARGS(matrices(i % 2, m, n)), 2), a, outs);
        for (int64_t b = 0; b < BATCH; b++) {
            const double *q = out[0] + b * m * k, *r = out[1] + b * k * n;
            assert_true(apart(m, n, k, q, r, false, a + b * m * n) < epsilon);
            turn(m, k, q, t);
            assert_true(apart(k, k, m, t, t, true, NULL) < epsilon);
            for (int64_t x = 0; x < k; x++)
                for (int64_t y = 0; y < x && y < n; y++) assert_true(r[x * n + y] == 0);
        }
        tn_ctx_free(c);
    }
}

static void singular_values(void **state) {
    (void)state;
    for (size_t i = 0; i < 4 * COUNT(shapes); i++) {
        tn_ctx *c = checked();
        const int64_t m = shapes[i / 4][0], n = shapes[i / 4][1], least = m < n ? m : n;
        tn_factors how = i / 2 % 2 ? TN_FACTORS_FULL : TN_FACTORS_REDUCED;
        const bool full = how == TN_FACTORS_FULL;
        const int64_t left = full ? m : least, right = full ? n : least;
        const double epsilon = i % 2 ? 6e-6 : 1e-13;
        fill(BATCH * m * n);
        run_on(tn_trace_many(c, of_svd, &how, TN_ARGS(matrices(i % 2, m, n)), 3), a, outs);
        for (int64_t b = 0; b < BATCH; b++) {
            const double *u = out[0] + b * m * left, *s = out[1] + b * least, *vt = out[2] + b * right * n;
            for (int64_t r = 0; r < m; r++)
                for (int64_t j = 0; j < least; j++) p[r * least + j] = u[r * left + j] * s[j];
            assert_true(apart(m, n, least, p, vt, false, a + b * m * n) < epsilon);
            turn(m, left, u, t);
            assert_true(apart(left, left, m, t, t, true, NULL) < epsilon);
            assert_true(apart(right, right, n, vt, vt, true, NULL) < epsilon);
            for (int64_t j = 0; j < least; j++) assert_true(s[j] >= 0 && (j == 0 || s[j] <= s[j - 1]));
        }
        tn_ctx_free(c);
    }
}

/* Of the four equations of Moore and Penrose these two, and that a p and p a are symmetric. */
static void inverses(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        tn_ctx *c = checked();
        const int64_t m = shapes[i][0], n = shapes[i][1];
        fill(BATCH * m * n);
        for (int64_t k = 0; k < n && m > 1; k++) a[(m - 1) * n + k] = a[k]; /* of less than full rank */
        run_on(tn_trace(c, of_pinv, NULL, TN_ARGS(matrices(false, m, n))), a, outs);
        for (int64_t b = 0; b < BATCH; b++) {
            const double *x = a + b * m * n, *y = out[0] + b * m * n;
            for (int64_t r = 0; r < m; r++)
                for (int64_t j = 0; j < m; j++) {
                    t[r * m + j] = 0;
                    for (int64_t k = 0; k < n; k++) t[r * m + j] += x[r * n + k] * y[k * m + j];
                }
            assert_true(apart(m, n, m, t, x, false, x) < 1e-12);
            assert_true(apart(n, m, m, y, t, false, y) < 1e-11);
            for (int64_t r = 0; r < m; r++)
                for (int64_t j = 0; j < r; j++) assert_true(fabs(t[r * m + j] - t[j * m + r]) < 1e-12);
        }
        tn_ctx_free(c);
    }
}

/* ---- derivatives ------------------------------------------------------------------------------------------ */

static tn_val fit(const tn_val *in, void *user) { return (void)user, tn_lstsq(in[0], in[1]); }

static void least_squares(void **state) {
    (void)state;
    const double x[5][2] = {{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}, y[5] = {1, 3, 5, 7, 9};
    double line[2];
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, fit, NULL, TN_ARGS(tn_f64(5, 2), tn_f64(5)));
    run(f, (const void *[]){x, y}, (void *[]){line});
    close_to(line, P(1, 2), 2, 1e-13);
    if (tn_check_grads(f, (const void *[]){x, y}, NULL, NULL)) fail_msg("%s", tn_error(c));
    tn_fn *wide = tn_trace(c, fit, NULL, TN_ARGS(tn_f64(2, 2, 5), tn_f64(2, 2, 3)));
    assert_non_null(wide);
    const tn_type is = tn_fn_output_type(wide, 0), want = tn_f64(2, 5, 3);
    assert_true(tn_type_equal(&is, &want));
    assert_null(tn_trace(c, fit, NULL, TN_ARGS(tn_f64(5, 2), tn_f64(4))));
    assert_non_null(strstr(tn_error(c), "lstsq: operand 1: dimension 0 is 4, but operand 0's is 5"));
    tn_ctx_free(c);
}

/* What is defined where values are equal. */
static tn_val sum_of_logs(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_log(tn_eigvalsh(tn_mul(tn_add(in[0], tn_t(in[0])), 0.5))));
}
static tn_val polar(const tn_val *in, void *user) {
    tn_val u, vt;
    (void)user;
    tn_svd(in[0], TN_FACTORS_REDUCED, &u, NULL, &vt);
    return tn_matmul(u, vt);
}
static tn_val upper_space(const tn_val *in, void *user) { /* the projection on the two largest of three */
    tn_val v;
    (void)user;
    tn_eigh(tn_mul(tn_add(in[0], tn_t(in[0])), 0.5), NULL, &v);
    v = tn_slice_axis(v, 1, 3, 1, 1);
    return tn_matmul(v, tn_t(v));
}
static tn_val nuclear(const tn_val *in, void *user) {
    tn_val s;
    (void)user;
    tn_svd(in[0], TN_FACTORS_REDUCED, NULL, &s, NULL);
    return tn_sum(s);
}

/* The jvp of f in a direction, and central differences of f. */
static void first_derivative(tn_fn *f, const double *at) {
    double dx[9], more[9], less[9], y[2][9], dy[9];
    const tn_type made = tn_fn_output_type(f, 0);
    const double h = 1e-5;
    for (int k = 0; k < 9; k++) {
        dx[k] = sin(k + 1.0);
        more[k] = at[k] + h * dx[k];
        less[k] = at[k] - h * dx[k];
    }
    run(f, (const void *[]){more}, (void *[]){y[0]});
    run(f, (const void *[]){less}, (void *[]){y[1]});
    for (int k = 0; k < 9; k++) y[0][k] = (y[0][k] - y[1][k]) / (2 * h);
    run(tn_jvp(f, NULL), (const void *[]){at, dx}, (void *[]){y[1], dy});
    close_to(dy, y[0], (size_t)tn_i_count(&made), 1e-8);
}

static void equal_values(void **state) {
    (void)state;
    const double one[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2}, two[9] = {0.5, 0, 0, 0, 3, 0, 0, 0, 3};
    const double turned[9] = {0, -2, 0, 2, 0, 0, 0, 0, 2};
    const struct {
        tn_trace_fn f;
        const double *at;
        bool all_orders;
    } cases[] = {{sum_of_logs, one, false}, {sum_of_logs, two, false}, {polar, one, false},     {polar, turned, false},
                 {polar, two, false},       {upper_space, two, false}, {nuclear, one, false},   {nuclear, two, false},
                 {nuclear, turned, false},  {of_pinv, one, true},      {of_pinv, turned, true}, {of_pinv, two, true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, cases[i].f, NULL, TN_ARGS(tn_f64(3, 3)));
        assert_non_null(f);
        first_derivative(f, cases[i].at);
        if (cases[i].all_orders && tn_check_grads(f, (const void *[]){cases[i].at}, NULL, NULL))
            fail_msg("case %zu: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
}

/* Full factors of what they have derivatives of, by rows of a batch too. */
static tn_val weighed(tn_val x, double by) { return tn_sum(tn_mul(tn_sin(tn_add(x, by)), x)); }
static tn_val full_qr(const tn_val *in, void *user) {
    tn_val q, r;
    (void)user;
    tn_qr(in[0], TN_FACTORS_FULL, &q, &r);
    return tn_add(weighed(q, 0.3), weighed(r, -0.2));
}
static tn_val full_svd(const tn_val *in, void *user) {
    tn_val u, s, vt;
    (void)user;
    tn_svd(in[0], TN_FACTORS_FULL, &u, &s, &vt);
    return tn_add(weighed(u, 0.3), tn_add(weighed(s, 0.1), weighed(vt, -0.2)));
}

static void full_factors(void **state) {
    (void)state;
    const double wide[2][3] = {{2, 0.3, -0.5}, {0.7, 1.5, 0.2}}, square[2][2] = {{2, 0.3}, {0.7, 0.6}};
    tn_ctx *c = checked();
    tn_fn *q = tn_trace(c, full_qr, NULL, TN_ARGS(tn_f64(2, 3))),
          *s = tn_trace(c, full_svd, NULL, TN_ARGS(tn_f64(2, 2)));
    if (tn_check_grads(q, (const void *[]){wide}, NULL, NULL)) fail_msg("qr: %s", tn_error(c));
    if (tn_check_grads(s, (const void *[]){square}, NULL, NULL)) fail_msg("svd: %s", tn_error(c));
    tn_fn *many = tn_vmap(q, 2, NULL, NULL);
    assert_non_null(many);
    const double two[2][2][3] = {{{2, 0.3, -0.5}, {0.7, 1.5, 0.2}}, {{1, 0.2, 0.4}, {0.1, 2.5, -0.6}}};
    double y[2], one[2];
    run(many, (const void *[]){two}, (void *[]){y});
    for (int k = 0; k < 2; k++) run(q, (const void *[]){two[k]}, (void *[]){&one[k]});
    close_to(y, one, 2, 1e-15);
    tn_ctx_free(c);
}

/* ---- what is refused ----------------------------------------------------------------------------------------- */

static void refusals(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_factors full = TN_FACTORS_FULL, other = (tn_factors)2;
    assert_null(tn_trace_many(c, of_qr, &other, TN_ARGS(tn_f64(2, 2)), 2));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "qr: how is 2"));
    assert_null(tn_trace_many(c, of_eigh, NULL, TN_ARGS(tn_f64(2, 3)), 2));
    assert_non_null(strstr(tn_error(c), "eigh: operand 0: needs square matrices"));
    assert_null(tn_trace_many(c, of_eig, NULL, TN_ARGS(tn_f64(2, 3)), 4));
    assert_non_null(strstr(tn_error(c), "eig: operand 0: needs square matrices"));
    assert_null(tn_trace_many(c, of_eigvals, NULL, TN_ARGS(tn_i32(2, 2)), 2));
    assert_non_null(strstr(tn_error(c), "eigvals"));
    assert_null(tn_trace_many(c, of_svd, &full, TN_ARGS(tn_i32(2, 3)), 3));
    assert_non_null(strstr(tn_error(c), "not defined for i32"));
    assert_null(tn_trace(c, of_pinv, NULL, TN_ARGS(tn_f64(3))));
    assert_non_null(strstr(tn_error(c), "pinv: operand 0: needs matrices"));
    assert_null(tn_trace(c, of_pinv, NULL, TN_ARGS(tn_f64(1, 20001))));
    assert_non_null(strstr(tn_error(c), "has 20001 columns: LAPACK's 32-bit integers allow 20000"));
    assert_null(tn_jvp(tn_trace_many(c, of_qr, &full, TN_ARGS(tn_f64(3, 2)), 2), NULL));
    assert_int_equal(tn_last_status(c), TN_ERULE);
    assert_non_null(strstr(tn_error(c), "qr: with full_matrices=True"));
    assert_null(tn_jvp(tn_trace_many(c, of_svd, &full, TN_ARGS(tn_f64(3, 2)), 3), NULL));
    assert_non_null(strstr(tn_error(c), "svd: with full_matrices=True"));
    tn_ctx_free(c);
}

/* As JAX prints them. */
static void pasted(void **state) {
    (void)state;
    static const char *const text[] = {
        "{ lambda ; a:f64[3,3]. let b:f64[3,3] c:f64[3] = eigh[ algorithm=None lower=True sort_eigenvalues=True "
        "subset_by_index=None ] a in (b, c) }",
        "{ lambda ; a:f64[4,3]. let b:f64[4,3] c:f64[3,3] = qr[ full_matrices=False pivoting=False use_magma=None ] a "
        "in (b, c) }",
        "{ lambda ; a:f32[2,3]. let b:f32[2] c:f32[2,2] d:f32[2,3] = svd[ algorithm=None compute_uv=True "
        "full_matrices=False subset_by_index=None ] a in (b, c, d) }",
        "{ lambda ; a:f64[2,3]. let b:f64[2] = svd[ algorithm=None compute_uv=False full_matrices=True "
        "subset_by_index=None ] a in (b,) }"};
    tn_ctx *c = checked();
    for (size_t i = 0; i < COUNT(text); i++)
        if (!tn_fn_parse(c, text[i], strlen(text[i]), "jax")) fail_msg("%s", tn_error(c));
    const char *pivots = "{ lambda ; a:f64[4,3]. let b c = qr[ full_matrices=False pivoting=True ] a in (b, c) }";
    assert_null(tn_fn_parse(c, pivots, strlen(pivots), "jax"));
    assert_non_null(strstr(tn_error(c), "pivoting"));
    tn_ctx_free(c);
}

static void without_lapack(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, nuclear, NULL, TN_ARGS(tn_f64(3, 2)));
    assert_non_null(f);
    assert_null(tn_compile(f, NULL));
    assert_int_equal(tn_last_status(c), TN_ERULE);
    if (!strstr(tn_error(c), "svd: is computed by LAPACK, which this library was built without (LAPACK=0)"))
        fail_msg("%s", tn_error(c));
    assert_null(tn_grad(f, NULL, NULL));
    assert_int_equal(tn_last_status(c), TN_ERULE);
    if (!strstr(tn_error(c), "svd: is computed by LAPACK, which this library was built without (LAPACK=0)"))
        fail_msg("%s", tn_error(c));
    assert_null(tn_compile(tn_trace(c, of_pinv, NULL, TN_ARGS(tn_f64(3, 2))), NULL));
    assert_non_null(strstr(tn_error(c), "pinv: is computed by LAPACK"));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest with[] = {cmocka_unit_test(eigenvalues),  cmocka_unit_test(complex_eigenvalues),
                                      cmocka_unit_test(triangles),    cmocka_unit_test(singular_values),
                                      cmocka_unit_test(inverses),     cmocka_unit_test(least_squares),
                                      cmocka_unit_test(equal_values), cmocka_unit_test(full_factors),
                                      cmocka_unit_test(pasted),       cmocka_unit_test(refusals)};
    const struct CMUnitTest none[] = {cmocka_unit_test(refusals), cmocka_unit_test(pasted),
                                      cmocka_unit_test(without_lapack)};
    return tn_i_lapack_linked() ? cmocka_run_group_tests(with, NULL, NULL) : cmocka_run_group_tests(none, NULL, NULL);
}
