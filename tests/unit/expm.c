/* tn_expm and tn_cexpm: closed forms, a Taylor series in long double, inverses, batches and tn_vmap, derivatives, what
 * is not finite, what they refuse. */
#include "tansy/complex.h"
#include "tansy/loops.h"
#include "unit/tracing.h"

#include <complex.h>

enum { N = 12, MOST = N * N, BATCH = 5 };

static tn_val exponential(const tn_val *in, void *user) {
    (void)user;
    return tn_expm(in[0]);
}

/* Pairs in, pairs out. */
static tn_val complex_exponential(const tn_val *in, void *user) {
    (void)user;
    return tn_complex_pairs(tn_cexpm(tn_complex_from(in[0])));
}

static tn_fn *program(tn_ctx *c, bool of_complex, tn_type t) {
    tn_fn *f = tn_trace(c, of_complex ? complex_exponential : exponential, NULL, 1, &t);
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_type square(tn_dtype dtype, int64_t n) { return tn_type_of(dtype, 2, (const int64_t[]){n, n}); }

/* Of one n x n matrix of doubles, as the dtype has it. */
static void compute(tn_dtype dtype, int64_t n, const double *a, double *y) {
    tn_ctx *c = checked();
    float from[MOST], to[MOST];
    const bool narrow = dtype == TN_F32;
    for (int64_t k = 0; k < n * n; k++) from[k] = (float)a[k];
    run(program(c, false, square(dtype, n)), (const void *[]){narrow ? (const void *)from : a},
        (void *[]){narrow ? (void *)to : y});
    for (int64_t k = 0; narrow && k < n * n; k++) y[k] = (double)to[k];
    tn_ctx_free(c);
}

static double epsilon_of(tn_dtype dtype) { return dtype == TN_F32 ? 0x1p-23 : 0x1p-52; }

static const tn_dtype dtypes[] = {TN_F64, TN_F32};

/* ---- references --------------------------------------------------------------------------------------- */

static double number(uint64_t *seed) { /* in [-1, 1), and a float */
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(float)((double)(int64_t)(*seed >> 11) / 4503599627370496.0 - 1);
}

/* x y, in long double. */
static void multiply(int n, const long double complex *x, const long double complex *y, long double complex *to) {
    long double complex z[MOST];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            z[i * n + j] = 0;
            for (int k = 0; k < n; k++) z[i * n + j] += x[i * n + k] * y[k * n + j];
        }
    memcpy(to, z, (size_t)(n * n) * sizeof *z);
}

static double norm_of(int n, const double complex *a) {
    double most = 0;
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += cabs(a[i * n + j]);
        most = fmax(most, sum);
    }
    return most;
}

/* 25 terms of the series of a / 2^s, whose norm is at most 1/4, squared s times. */
static void taylor(int n, const double complex *a, double complex *y) {
    long double complex x[MOST], term[MOST], sum[MOST];
    int s = 0;
    while (ldexp(norm_of(n, a), -s) > 0.25) s++;
    for (int k = 0; k < n * n; k++) {
        x[k] = (long double complex)a[k] / powl(2, s);
        sum[k] = term[k] = k % (n + 1) == 0;
    }
    for (int m = 1; m < 25; m++) {
        multiply(n, term, x, term);
        for (int k = 0; k < n * n; k++) sum[k] += term[k] /= m;
    }
    for (int m = 0; m < s; m++) multiply(n, sum, sum, sum);
    for (int k = 0; k < n * n; k++) y[k] = (double complex)sum[k];
}

/* ---- values ------------------------------------------------------------------------------------------------ */

/* exp [[0, x], [0, 0]] = [[1, x], [0, 1]], to the last bit: 2^-s and the squarings are exact. */
static void nilpotent(void **state) {
    (void)state;
    const double sizes[] = {0, 1e-300, 1e-8, 0.7, 5.3, 5.4, 1e3, 1e6, 1e30, 1e300};
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t i = 0; i < COUNT(sizes); i++) {
            const double x = dtypes[d] == TN_F32 ? (double)(float)fmin(sizes[i], 3e38) : sizes[i];
            double y[4];
            compute(dtypes[d], 2, P(0, x, 0, 0), y);
            if (y[0] != 1 || y[1] != x || y[2] != 0 || y[3] != 1)
                fail_msg("%g: %g %g %g %g", x, y[0], y[1], y[2], y[3]);
        }
    double y[9];
    compute(TN_F64, 3, P(0, 2, 0, 0, 0, 3, 0, 0, 0), y);
    close_to(y, P(1, 2, 3, 0, 1, 3, 0, 0, 1), 9, 1e-15);
}

static void rotations(void **state) {
    (void)state;
    const double angles[] = {0, 1e-8, 0.1, 1, 3, 5.5, 11, 50, 1e3, 1e5, 1e6};
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t i = 0; i < COUNT(angles); i++) {
            const double t = angles[i], co = cos(t), si = sin(t);
            double y[4];
            compute(dtypes[d], 2, P(0, -t, t, 0), y);
            close_to(y, P(co, -si, si, co), 4, 8 * epsilon_of(dtypes[d]) * fmax(1, t));
        }
}

/* a = h diag(w) h for a reflection h. */
static void symmetric(void **state) {
    (void)state;
    const int sizes[] = {2, 3, 8, N};
    const double scales[] = {1e-8, 0.1, 1, 4, 20};
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t i = 0; i < COUNT(sizes) * COUNT(scales); i++) {
            const int n = sizes[i / COUNT(scales)];
            const double scale = scales[i % COUNT(scales)];
            double u[N], w[N], a[MOST], y[MOST], want[MOST], length = 0;
            uint64_t seed = i;
            for (int k = 0; k < n; k++) u[k] = number(&seed), w[k] = scale * number(&seed), length += u[k] * u[k];
            for (int k = 0; k < n * n; k++) {
                a[k] = want[k] = 0;
                for (int j = 0; j < n; j++) {
                    const double left = (k / n == j) - 2 * u[k / n] * u[j] / length,
                                 right = (k % n == j) - 2 * u[k % n] * u[j] / length;
                    a[k] += left * w[j] * right;
                    want[k] += left * exp(w[j]) * right;
                }
            }
            compute(dtypes[d], n, a, y);
            const double most = exp(scale), room = 30 * epsilon_of(dtypes[d]) * fmax(1, scale);
            for (int k = 0; k < n * n; k++)
                if (!(fabs(y[k] - want[k]) <= room * most))
                    fail_msg("%d x %d, %g: %.17g, expected %.17g", n, n, scale, y[k], want[k]);
        }
}

/* Any matrices, real and complex, against the series. */
static void by_series(void **state) {
    (void)state;
    const double scales[] = {1e-8, 1e-3, 0.1, 1, 3, 10};
    for (int n = 1; n <= N; n = 2 * n + 1)
        for (size_t i = 0; i < 2 * COUNT(scales); i++) {
            tn_ctx *c = checked();
            const bool of_complex = i % 2;
            double complex a[MOST], y[MOST], want[MOST];
            double real[MOST];
            uint64_t seed = (uint64_t)n;
            for (int k = 0; k < n * n; k++) {
                real[k] = scales[i / 2] * number(&seed);
                a[k] = of_complex ? real[k] + I * scales[i / 2] * number(&seed) : real[k];
            }
            taylor(n, a, want);
            if (of_complex)
                run(program(c, true, tn_f64(n, n, 2)), (const void *[]){a}, (void *[]){y});
            else {
                compute(TN_F64, n, real, real);
                for (int k = 0; k < n * n; k++) y[k] = real[k];
            }
            const double room = 1e-15 * (10 + norm_of(n, a)) * norm_of(n, want);
            for (int k = 0; k < n * n; k++) y[k] -= want[k];
            if (!(norm_of(n, y) <= 4 * room))
                fail_msg("%d x %d, %g: off by %g, %g allowed", n, n, scales[i / 2], norm_of(n, y), 4 * room);
            tn_ctx_free(c);
        }
}

static tn_val there_and_back(const tn_val *in, void *user) {
    (void)user;
    return tn_matmul(tn_expm(in[0]), tn_expm(tn_neg(in[0])));
}

/* exp(a) exp(-a) = 1, of norms up to 50: the skew part alone is that large, so that factors stay of size 1. */
static void inverses(void **state) {
    (void)state;
    const double norms[] = {1e-8, 1e-4, 0.01, 0.3, 1, 4, 6, 12, 25, 50};
    for (size_t i = 0; i < COUNT(norms); i++) {
        enum { M = 6 };
        tn_ctx *c = checked();
        double complex as_complex[M * M];
        double a[M * M], y[M * M], one[M * M];
        uint64_t seed = i;
        for (int j = 0; j < M; j++)
            for (int k = 0; k <= j; k++) {
                const double x = number(&seed);
                a[j * M + k] = x;
                a[k * M + j] = k < j ? 0.05 * number(&seed) - x : 0.05 * x;
            }
        for (int k = 0; k < M * M; k++) as_complex[k] = a[k], one[k] = k % (M + 1) == 0;
        const double by = norms[i] / norm_of(M, as_complex);
        for (int k = 0; k < M * M; k++) a[k] *= by;
        run(tn_trace(c, there_and_back, NULL, TN_ARGS(tn_f64(M, M))), (const void *[]){a}, (void *[]){y});
        close_to(y, one, M * M, 2e-14 * fmax(1, norms[i]) * exp(norms[i] / 10));
        tn_ctx_free(c);
    }
}

/* ---- shapes --------------------------------------------------------------------------------------------------- */

/* Matrices of a batch of norms 0, 1e-8 .., one of them NaN, and each by itself: by an operand of rank 4, and mapped. */
static void batches(void **state) {
    (void)state;
    for (size_t d = 0; d < 2 * COUNT(dtypes); d++) {
        enum { M = 3, EACH = 2 * M * M };
        tn_ctx *c = checked();
        const tn_dtype dtype = dtypes[d / 2];
        const bool of_complex = d % 2, narrow = dtype == TN_F32;
        const double scales[BATCH] = {0, 1e-8, 40, (double)NAN, 1};
        const int each = of_complex ? EACH : M * M;
        double in[BATCH * EACH], out[3][BATCH * EACH];
        float from[BATCH * EACH], to[BATCH * EACH];
        const tn_type one = tn_type_of(dtype, of_complex ? 3 : 2, (const int64_t[]){M, M, 2});
        const tn_type all = tn_type_of(dtype, of_complex ? 5 : 4, (const int64_t[]){1, BATCH, M, M, 2});
        uint64_t seed = 3;
        for (int k = 0; k < BATCH * each; k++) {
            in[k] = scales[k / each] == 40 && k / (of_complex ? 2 : 1) % (M + 1) == 0 ? 0 : scales[k / each];
            from[k] = (float)(in[k] *= number(&seed));
            in[k] = (double)from[k];
        }
        tn_fn *f = program(c, of_complex, one);
        const void *whole = narrow ? (const void *)from : in;
        for (int way = 0; way < 3; way++) {
            void *y = narrow ? (void *)to : out[way];
            if (way == 0) run(program(c, of_complex, all), &whole, &y);
            if (way == 1) run(tn_vmap(f, BATCH, NULL, NULL), &whole, &y);
            for (int k = 0; way == 2 && k < BATCH; k++) {
                const void *x = narrow ? (const void *)(from + k * each) : in + k * each;
                void *z = narrow ? (void *)(to + k * each) : out[way] + k * each;
                run(f, &x, &z);
            }
            for (int k = 0; narrow && k < BATCH * each; k++) out[way][k] = (double)to[k];
        }
        for (int k = 0; k < BATCH; k++) {
            double size = 1;
            for (int j = k * each; j < (k + 1) * each; j++) size = fmax(size, fabs(out[2][j]));
            for (int j = k * each; j < (k + 1) * each; j++) {
                assert_true(isnan(out[2][j]) == (k == 3));
                for (int way = 0; way < 2 && k != 3; way++)
                    assert_true(fabs(out[way][j] - out[2][j]) <= 64 * epsilon_of(dtype) * size);
                assert_true(isnan(out[0][j]) == (k == 3) && isnan(out[1][j]) == (k == 3));
            }
        }
        tn_ctx_free(c);
    }
}

static void small(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double x[] = {0, 1, -745, 710, (double)INFINITY, -(double)INFINITY};
    double y[6];
    run(program(c, false, tn_f64(6, 1, 1)), (const void *[]){x}, (void *[]){y});
    for (int k = 0; k < 6; k++) close_to(&y[k], P(exp(x[k])), 1, 1e-15);
    run(program(c, true, tn_f64(1, 1, 2)), (const void *[]){P(1, 2)}, (void *[]){y});
    close_to(y, P(exp(1) * cos(2), exp(1) * sin(2)), 2, 1e-15);
    const tn_type none[] = {tn_f64(0, 0), tn_f64(3, 0, 0), tn_f32(0, 2, 2)};
    for (size_t k = 0; k < COUNT(none); k++) {
        tn_fn *f = program(c, false, none[k]);
        const tn_type t = tn_fn_output_type(f, 0);
        assert_true(tn_type_equal(&t, &none[k]));
        run(f, (const void *[]){x}, (void *[]){y});
        run(tn_jvp(f, tn_wrt(0)), (const void *[]){x, x}, (void *[]){y, y});
    }
    tn_ctx_free(c);
}

/* NaN where the norm is; a result that overflows is no error and does not hang. */
static void not_finite(void **state) {
    (void)state;
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t i = 0; i < COUNT(bad) * 4; i++) {
            double a[4] = {1, 2, 3, 4}, y[4];
            a[i % 4] = bad[i / 4];
            compute(dtypes[d], 2, a, y);
            for (int k = 0; k < 4; k++) assert_true(isnan(y[k]));
        }
    double y[4];
    compute(TN_F64, 2, P(800, 0, 0, -800), y);
    assert_true(isinf(y[0]) && y[0] > 0);
    compute(TN_F64, 2, P(1e307, 1e307, -1e307, 1e307), y);
    assert_true(!isfinite(y[0]));
    compute(TN_F64, 2, P(-1e5, 1, 1, -1e5), y);
    close_to(y, P(0, 0, 0, 0), 4, 0);
}

/* ---- derivatives ----------------------------------------------------------------------------------------------- */

/* L of exp [[a, e], [0, a]] = [[exp a, L], [0, exp a]] is the tangent; and the cotangent is its adjoint's. */
static void frechet(void **state) {
    (void)state;
    enum { M = 4, W = 2 * M };
    const double scales[] = {0, 1e-8, 0.2, 2, 15};
    for (size_t i = 0; i < COUNT(scales); i++) {
        tn_ctx *c = checked();
        double a[M * M], e[M * M], ct[M * M], wide[W * W] = {0}, want[W * W], y[M * M], dy[M * M], back[M * M];
        double size = 1, by_tangent = 0, by_cotangent = 0;
        uint64_t seed = i;
        for (int j = 0; j < M; j++)
            for (int k = 0; k < M; k++) {
                a[j * M + k] = scales[i] * number(&seed);
                e[j * M + k] = number(&seed);
                ct[j * M + k] = number(&seed);
                wide[j * W + k] = wide[(j + M) * W + k + M] = a[j * M + k];
                wide[j * W + k + M] = e[j * M + k];
            }
        compute(TN_F64, W, wide, want);
        tn_fn *f = program(c, false, tn_f64(M, M));
        run(tn_jvp(f, tn_wrt(0)), (const void *[]){a, e}, (void *[]){y, dy});
        run(tn_vjp(f, tn_wrt(0), NULL), (const void *[]){a, ct}, (void *[]){y, back});
        for (int k = 0; k < W * W; k++) size = fmax(size, fabs(want[k]));
        for (int k = 0; k < M * M; k++) {
            assert_true(fabs(dy[k] - want[k / M * W + k % M + M]) <= 1e-13 * size);
            if (i == 0) assert_true(dy[k] == e[k] && back[k] == ct[k] && y[k] == (k % (M + 1) == 0));
            by_tangent += dy[k] * ct[k];
            by_cotangent += back[k] * e[k];
        }
        assert_true(fabs(by_tangent - by_cotangent) <= 1e-13 * size);
        tn_ctx_free(c);
    }
}

/* At 0 the second derivative is (e g + g e) / 2, and the third is finite. */
static void at_zero(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double a[4] = {0}, e[] = {1, 2, 3, 4}, g[] = {0, 1, -1, 2}, none[4] = {0};
    double y[8][4];
    tn_fn *two = tn_jvp(tn_jvp(program(c, false, tn_f64(2, 2)), tn_wrt(0)), tn_wrt(0, 1));
    run(two, (const void *[]){a, e, g, none}, (void *[]){y[0], y[1], y[2], y[3]});
    close_to(y[3], P(0.5, 4.5, 0.5, 8.5), 4, 1e-15);
    tn_fn *three = tn_jvp(two, tn_wrt(0, 1, 2, 3));
    run(three, (const void *[]){a, e, g, none, e, none, none, none},
        (void *[]){y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7]});
    for (int k = 0; k < 4; k++) assert_true(isfinite(y[7][k]));
    tn_ctx_free(c);
}

/* To second order: one matrix, mapped too, a batch, a complex one. */
static void by_differences(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        tn_ctx *c = checked();
        const tn_type types[] = {tn_f64(3, 3), tn_f64(3, 3), tn_f64(2, 2, 2), tn_f64(2, 2, 2)};
        double a[9];
        uint64_t seed = i;
        for (int k = 0; k < 9; k++) a[k] = (i == 2 && k >= 4 ? 0.5 : 7) * number(&seed);
        const tn_fn *f = program(c, i == 3, types[i]);
        const tn_check_options o = {.size = sizeof o, .order = 2};
        if (i == 1) f = tn_vmap(f, 1, NULL, NULL);
        if (tn_check_grads(f, (const void *[]){a}, NULL, &o) != TN_OK) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
}

/* x exp(a t) step by step, as a loop has it, with a that is captured. */
static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    next[0] = tn_matmul(tn_expm(tn_mul(*(const tn_val *)user, tn_mul(tn_sum(carry[0]), 0.3))), carry[0]);
}

static tn_val steps(const tn_val *in, void *user) {
    tn_val a = in[0], x;
    tn_fori(tn_val_ctx(a), 0, *(int *)user ? in[2] : TN_VAL(2), step, &a, 1, &in[1], &x, NULL);
    return tn_sum(tn_mul(x, x));
}

static void in_loops(void **state) {
    (void)state;
    for (int found = 0; found < 2; found++) {
        tn_ctx *c = checked();
        const double a[] = {0.2, -3, 4, 0.1}, x[] = {1, 0.5};
        const int64_t count = 2;
        tn_fn *f = tn_trace(c, steps, &found, TN_ARGS(tn_f64(2, 2), tn_f64(2), tn_i64()));
        if (!f) fail_msg("%s", tn_error(c));
        const tn_check_options o = {.size = sizeof o, .order = 2};
        if (tn_check_grads(f, (const void *[]){a, x, &count}, NULL, &o) != TN_OK) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static tn_val of_number(const tn_val *in, void *user) {
    (void)user;
    const tn_complex z = tn_cexpm(tn_complex_of(in[0], 0)), w = tn_cexpm(tn_complex_of(0, in[0]));
    return tn_add(tn_sub(z.re, tn_expm(in[0])), tn_add(tn_mul(z.im, w.re), tn_sub(w.im, w.im)));
}

static void refused(void **state) {
    (void)state;
    const struct {
        tn_type t;
        const char *why;
    } wrong[] = {
        {tn_f64(), "square matrices"},
        {tn_f64(3), "square matrices"},
        {tn_f64(2, 3), "square matrices"},
        {tn_f32(2, 2, 3), "square matrices"},
        {tn_i32(2, 2), "not i32"},
        {tn_bool(2, 2), "not bool"},
        {tn_type_of(TN_F16, 2, (const int64_t[]){2, 2}), "not f16"},
        {tn_type_of(TN_BF16, 2, (const int64_t[]){2, 2}), "not bf16"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        assert_null(tn_trace(c, exponential, NULL, 1, &wrong[i].t));
        if (!strstr(tn_error(c), wrong[i].why) || !strstr(tn_error(c), "expm.c:") || !strstr(tn_error(c), "expm: "))
            fail_msg("expected '%s', got '%s'", wrong[i].why, tn_error(c));
        tn_ctx_free(c);
    }
    tn_ctx *c = checked();
    assert_null(tn_trace(c, complex_exponential, NULL, TN_ARGS(tn_f64(2, 3, 2))));
    if (!strstr(tn_error(c), "cexpm: ") || !strstr(tn_error(c), "expm.c:")) fail_msg("%s", tn_error(c));
    double y[4];
    run(tn_trace(c, of_number, NULL, TN_ARGS(tn_f64(2, 2))), (const void *[]){P(1, 2, 3, 4)}, (void *[]){y});
    for (int k = 0; k < 4; k++) assert_true(fabs(y[k]) <= 1e-13 * 170);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nilpotent), cmocka_unit_test(rotations),      cmocka_unit_test(symmetric),
        cmocka_unit_test(by_series), cmocka_unit_test(inverses),       cmocka_unit_test(batches),
        cmocka_unit_test(small),     cmocka_unit_test(not_finite),     cmocka_unit_test(frechet),
        cmocka_unit_test(at_zero),   cmocka_unit_test(by_differences), cmocka_unit_test(in_loops),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
