/* Complex arrays: values beside C's own functions in long double, branch cuts by signs of zeros, sizes that overflow,
 * Fourier transforms beside their sums, texts of JAX, errors. */
#include "tansy/complex.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static tn_ctx *checked(void) { return tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1}); }

static void run(tn_ctx *c, const tn_fn *f, const void *const *in, void *const *out) {
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

/* ---- functions ------------------------------------------------------------------------------------- */

typedef long double complex exact;
static exact square(exact z) { return z * z; }
static exact sign(exact z) { return z == 0 ? 0 : z / cabsl(z); }
static exact cube(exact z) { return z * z * z; }
static exact inverse_square(exact z) { return 1 / (z * z); }
static exact conjugate(exact z) { return conjl(z); }

static tn_complex third(tn_complex z) { return tn_cpowi(z, 3); }
static tn_complex minus_second(tn_complex z) { return tn_cpowi(z, -2); }
#define OPERATOR(name) \
    static tn_complex of_##name(tn_complex z) { return tn_##name(z); }
OPERATOR(csquare)
OPERATOR(csign)
OPERATOR(conj)
OPERATOR(csqrt)
OPERATOR(cexp)
OPERATOR(clog)
OPERATOR(csin)
OPERATOR(ccos)
OPERATOR(ctan)
OPERATOR(csinh)
OPERATOR(ccosh)
OPERATOR(ctanh)
OPERATOR(casin)
OPERATOR(cacos)
OPERATOR(catan)
OPERATOR(casinh)
OPERATOR(cacosh)
OPERATOR(catanh)

static const struct function {
    const char *name;
    tn_complex (*ours)(tn_complex);
    exact (*theirs)(exact);
    double most; /* |z| at most, where values are finite */
} functions[] = {
    {"square", of_csquare, square, 1e150}, {"sign", of_csign, sign, 1e300},
    {"conj", of_conj, conjugate, 1e300},   {"sqrt", of_csqrt, csqrtl, 1e300},
    {"exp", of_cexp, cexpl, 600},          {"log", of_clog, clogl, 1e300},
    {"sin", of_csin, csinl, 600},          {"cos", of_ccos, ccosl, 600},
    {"tan", of_ctan, ctanl, 1e4},          {"sinh", of_csinh, csinhl, 600},
    {"cosh", of_ccosh, ccoshl, 600},       {"tanh", of_ctanh, ctanhl, 1e4},
    {"asin", of_casin, casinl, 1e300},     {"acos", of_cacos, cacosl, 1e300},
    {"atan", of_catan, catanl, 1e300},     {"asinh", of_casinh, casinhl, 1e300},
    {"acosh", of_cacosh, cacoshl, 1e300},  {"atanh", of_catanh, catanhl, 1e300},
    {"cube", third, cube, 1e100},          {"inverse square", minus_second, inverse_square, 1e100},
};

static tn_val apply(const tn_val *in, void *user) {
    const struct function *f = user;
    return tn_complex_pairs(f->ours(tn_complex_from(in[0])));
}

enum { POINTS = 4000 };

/* Of all sizes up to `most`, the parts of one size or of two; on the axes, too. */
static void points(double most, double complex *z) {
    uint64_t state = 12345;
    for (int i = 0; i < POINTS; i++) {
        double part[2];
        for (int k = 0; k < 2; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const double u = (double)(state >> 11) * 0x1p-53;
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const double v = (double)(state >> 11) * 0x1p-53;
            const double size = i % 4 == 0 ? 2 : fmin(log10(most), i % 4 == 1 ? 300 : 3);
            part[k] = copysign(pow(10, size * (i % 4 == 0 ? u / 2 - 0.5 : 2 * u - 1)), v - 0.5);
            if (i % 16 == 2 + k) part[k] = 0;
        }
        z[i] = part[0] + I * part[1];
        if (cabs(z[i]) > most) z[i] *= most / 2 / cabs(z[i]);
    }
}

static void values(void **state) {
    (void)state;
    double complex *z = malloc(POINTS * sizeof *z), *w = malloc(POINTS * sizeof *w);
    for (size_t k = 0; k < COUNT(functions); k++) {
        const struct function *f = &functions[k];
        tn_ctx *c = checked();
        tn_fn *p = tn_trace(c, apply, (void *)(uintptr_t)f, 1, (tn_type[]){tn_f64(POINTS, 2)});
        if (!p) fail_msg("%s: %s", f->name, tn_error(c));
        points(f->most, z);
        run(c, p, (const void *[]){z}, (void *[]){w});
        double worst = 0;
        for (int i = 0; i < POINTS; i++) {
            const exact y = f->theirs((exact)z[i]);
            const long double size = cabsl(y);
            if (!(size < 1e300L) || size < 1e-290L) continue;
            const double off = (double)(cabsl((exact)w[i] - y) / size / DBL_EPSILON);
            if (off > worst) worst = off;
            if (!(off <= 16))
                fail_msg("%s of %g%+gi: %.17g%+.17gi, %g epsilon off", f->name, creal(z[i]), cimag(z[i]), creal(w[i]),
                         cimag(w[i]), off);
        }
        tn_fn_free(p);
        tn_ctx_free(c);
    }
    free(z);
    free(w);
}

/* On the cuts the sign of a zero says on which side. */
static void cuts(void **state) {
    (void)state;
    static const double at[] = {-3, -0.5, 0.5, 3};
    for (size_t k = 0; k < COUNT(functions); k++) {
        const struct function *f = &functions[k];
        tn_ctx *c = checked();
        tn_fn *p = tn_trace(c, apply, (void *)(uintptr_t)f, 1, (tn_type[]){tn_f64(1, 2)});
        assert_non_null(p);
        for (size_t i = 0; i < 4 * COUNT(at); i++) {
            const double x = at[i / 4], zero = i & 1 ? -0.0 : 0.0;
            double in[2] = {i & 2 ? zero : x, i & 2 ? x : zero}, out[2];
            exact e;
            ((long double *)&e)[0] = in[0];
            ((long double *)&e)[1] = in[1];
            const exact want = f->theirs(e);
            run(c, p, (const void *[]){in}, (void *[]){out});
            const long double size = cabsl(want),
                              off = cabsl(out[0] - creall(want) + I * (exact)(out[1] - cimagl(want)));
            if (!(off <= 16 * DBL_EPSILON * size))
                fail_msg("%s of (%g, %g): (%.17g, %.17g), not (%.17Lg, %.17Lg)", f->name, in[0], in[1], out[0], out[1],
                         creall(want), cimagl(want));
        }
        tn_fn_free(p);
        tn_ctx_free(c);
    }
}

/* ---- arithmetic -------------------------------------------------------------------------------------- */

static void arithmetic_of(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_complex z = tn_complex_from(in[0]), w = tn_complex_from(in[1]);
    const tn_complex two = tn_complex_of(2.0, 0);
    const tn_complex result[] = {tn_cadd(z, w), tn_csub(z, w), tn_cmul(z, w),  tn_cdiv(z, w),
                                 tn_cpow(z, w), tn_cneg(z),    tn_cmul(two, z)};
    for (size_t i = 0; i < COUNT(result); i++) out[i] = tn_complex_pairs(result[i]);
    out[COUNT(result)] = tn_cabs(z);
    out[COUNT(result) + 1] = tn_carg(z);
}

static void arithmetic(void **state) {
    (void)state;
    static const double complex z[] = {1 + 2 * I, -3e200 + 4e200 * I, 1e-200 - 1e-200 * I, 5, 0, -7 * I, 0.25 + 3 * I};
    static const double complex w[] = {3 - 1 * I, 2e200 + 1e200 * I, 3e-200 + 4e-200 * I, 2 * I, 2 + I, -2, 0};
    double complex out[7][COUNT(z)];
    double size[COUNT(z)], angle[COUNT(z)];
    tn_ctx *c = checked();
    tn_fn *p = tn_trace_many(c, arithmetic_of, NULL, 2, TN_TYPES(tn_f64(COUNT(z), 2), tn_f64(COUNT(z), 2)), 9);
    if (!p) fail_msg("%s", tn_error(c));
    run(c, p, (const void *[]){z, w}, (void *[]){out[0], out[1], out[2], out[3], out[4], out[5], out[6], size, angle});
    for (size_t i = 0; i < COUNT(z); i++) {
        const exact a = z[i], b = w[i],
                    want[7] = {a + b, a - b, a * b, a / b, i == 6 ? 1 : i == 4 ? 0 : cpowl(a, b), -a, 2 * a};
        for (size_t k = 0; k < 7; k++) {
            const long double large = cabsl(want[k]);
            if ((k == 4 && (i == 1 || i == 2)) || (k == 3 && i == 6) || large > DBL_MAX ||
                (large > 0 && large < DBL_MIN))
                continue;
            if (!(cabsl((exact)out[k][i] - want[k]) <= (k == 4 ? 64 : 4) * DBL_EPSILON * large))
                fail_msg("row %zu, %zu: (%.17g, %.17g)", i, k, creal(out[k][i]), cimag(out[k][i]));
        }
        assert_true(fabsl(size[i] - cabsl(a)) <= 2 * DBL_EPSILON * cabsl(a));
        assert_true(fabsl(angle[i] - cargl(a)) <= 2 * DBL_EPSILON * 4);
    }
    tn_fn_free(p);
    tn_ctx_free(c);
}

/* |z| has the derivative 0 at 0, and its gradient elsewhere is z / |z|. */
static tn_val sum_of_sizes(const tn_val *in, void *user) { return (void)user, tn_sum(tn_cabs(tn_complex_from(in[0]))); }

static void gradient(void **state) {
    (void)state;
    static const double z[][2] = {{3, 4}, {0, 0}, {-5, 12}, {1, 1}, {0, -2}};
    double g[COUNT(z)][2];
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, sum_of_sizes, NULL, 1, (tn_type[]){tn_f64(COUNT(z), 2)}), *d = tn_grad(f, NULL, NULL);
    if (!d) fail_msg("%s", tn_error(c));
    run(c, d, (const void *[]){z}, (void *[]){g});
    for (size_t i = 0; i < COUNT(z); i++)
        for (int k = 0; k < 2; k++) {
            const double r = hypot(z[i][0], z[i][1]), want = r == 0 ? 0 : z[i][k] / r;
            if (!(fabs(g[i][k] - want) <= 4 * DBL_EPSILON)) fail_msg("%zu, %d: %.17g, not %.17g", i, k, g[i][k], want);
        }
    tn_fn_free(f);
    tn_fn_free(d);
    tn_ctx_free(c);
}

/* ---- matrices ------------------------------------------------------------------------------------------- */

static tn_val residual(const tn_val *in, void *user) {
    (void)user;
    const tn_complex a = tn_complex_from(in[0]), b = tn_complex_from(in[1]), x = tn_csolve(a, b);
    return tn_complex_pairs(tn_csub(tn_cmatmul(a, x), b));
}

static void matrices(void **state) {
    (void)state;
    enum { N = 7 };
    double a[2][N][N][2], b[2][N][2], r[2][N][2];
    for (size_t i = 0; i < sizeof a / sizeof(double); i++) (&a[0][0][0][0])[i] = sin(3.0 * (double)(i * i % 101));
    for (size_t i = 0; i < sizeof b / sizeof(double); i++) (&b[0][0][0])[i] = cos((double)i);
    for (int matrix = 0; matrix < 2; matrix++) {
        tn_ctx *c = checked();
        tn_fn *p = tn_trace(
            c, residual, NULL, 2,
            (tn_type[]){matrix ? tn_f64(2, N, N, 2) : tn_f64(N, N, 2), matrix ? tn_f64(2, N, 1, 2) : tn_f64(N, 2)});
        if (!p) fail_msg("%s", tn_error(c));
        run(c, p, (const void *[]){a, b}, (void *[]){r});
        for (size_t i = 0; i < (matrix ? 4 : 2) * N; i++) assert_true(fabs((&r[0][0][0])[i]) < 1e-13);
        tn_fn_free(p);
        tn_ctx_free(c);
    }
}

/* ---- Fourier transforms --------------------------------------------------------------------------------- */

typedef struct lengths {
    int64_t batch, n, inner;
} lengths;

static void transforms(const tn_val *in, tn_val *out, void *user) {
    const lengths *l = user;
    const tn_complex z = tn_complex_from(in[0]);
    out[0] = tn_complex_pairs(tn_fft(z, tn_ints(1)));
    out[1] = tn_complex_pairs(tn_ifft(z, tn_ints(-2)));
    out[2] = tn_complex_pairs(tn_rfft(z.re, tn_ints(1)));
    out[3] = tn_irfft(tn_rfft(z.re, tn_ints(1)), tn_ints(1), l->n);
}

static double number_at(const void *x, bool wide, int64_t i) {
    return wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* All of them beside their sums, in long double. */
static void transform_of(lengths l, bool wide) {
    const int64_t n = l.n, h = n / 2 + 1, all = l.batch * n * l.inner, some = l.batch * h * l.inner;
    const size_t size = wide ? 8 : 4;
    void *z = malloc(2 * (size_t)all * size), *out[4];
    for (int64_t i = 0; i < 2 * all; i++) {
        const double x = sin((double)(i * i % 1009) + 0.1 * (double)i);
        if (wide)
            ((double *)z)[i] = x;
        else
            ((float *)z)[i] = (float)x;
    }
    for (int k = 0; k < 4; k++) out[k] = malloc(2 * (size_t)(k == 2 ? some : all) * size);
    tn_ctx *c = checked();
    const tn_type t = tn_type_of(wide ? TN_F64 : TN_F32, 4, (int64_t[]){l.batch, n, l.inner, 2});
    tn_fn *f = tn_trace_many(c, transforms, &l, 1, &t, 4);
    if (!f) fail_msg("n = %d: %s", (int)n, tn_error(c));
    run(c, f, (const void *[]){z}, out);
    const long double slack =
        (wide ? DBL_EPSILON : FLT_EPSILON) * 8 * (1 + log2l((long double)n)) * sqrtl((long double)n);
    const long double turn = 6.283185307179586476925286766559005768L / (long double)n;
    long double complex *w = malloc((size_t)n * sizeof *w);
    for (int64_t k = 0; k < n; k++) w[k] = cexpl(-I * turn * (long double)k);
    for (int64_t b = 0; b < l.batch; b++)
        for (int64_t q = 0; q < l.inner; q++)
            for (int64_t k = 0; k < n; k++) {
                exact there = 0, back = 0, real = 0;
                for (int64_t j = 0; j < n; j++) {
                    const int64_t at = 2 * ((b * n + j) * l.inner + q);
                    const exact x = number_at(z, wide, at) + I * (exact)number_at(z, wide, at + 1);
                    there += x * w[j * k % n];
                    back += x * conjl(w[j * k % n]);
                    real += creall(x) * w[j * k % n];
                }
                const int64_t at = (b * n + k) * l.inner + q;
                const exact got[3] = {number_at(out[0], wide, 2 * at) + I * (exact)number_at(out[0], wide, 2 * at + 1),
                                      number_at(out[1], wide, 2 * at) + I * (exact)number_at(out[1], wide, 2 * at + 1),
                                      number_at(out[3], wide, at)};
                const long double off[3] = {cabsl(got[0] - there), cabsl(got[1] - back / n) * (long double)n,
                                            cabsl(got[2] - number_at(z, wide, 2 * at)) * sqrtl((long double)n)};
                for (int m = 0; m < 3; m++)
                    if (!(off[m] <= slack))
                        fail_msg("n = %d, result %d at %d: off by %Lg, not %Lg", (int)n, m, (int)k, off[m], slack);
                if (k >= h) continue;
                const int64_t place = 2 * ((b * h + k) * l.inner + q);
                const exact half = number_at(out[2], wide, place) + I * (exact)number_at(out[2], wide, place + 1);
                if (!(cabsl(half - real) <= slack)) fail_msg("n = %d, rfft at %d", (int)n, (int)k);
            }
    free(w);
    tn_fn_free(f);
    tn_ctx_free(c);
    for (int k = 0; k < 4; k++) free(out[k]);
    free(z);
}

static void fourier(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 40; n++) transform_of((lengths){1, n, 1}, true);
    static const lengths more[] = {{3, 17, 9}, {9, 12, 1},  {1, 12, 9},  {9, 31, 1},  {2, 64, 1},  {1, 128, 2},
                                   {1, 97, 1}, {2, 210, 1}, {1, 256, 1}, {1, 243, 1}, {1, 242, 3}, {0, 5, 2}};
    for (size_t i = 0; i < COUNT(more); i++) {
        transform_of(more[i], true);
        transform_of(more[i], false);
    }
}

static void there_and_back(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_complex z = {in[0], in[1]};
    const tn_complex y = tn_ifft(tn_fft(z, tn_ints(0, 1, 2)), tn_ints(2, 0, 1));
    out[0] = y.re;
    out[1] = y.im;
    out[2] = tn_irfft(tn_rfft(in[0], tn_ints(0, 2, 1)), tn_ints(0, 2, 1), 5);
}

static void dimensions(void **state) {
    (void)state;
    enum { ALL = 4 * 5 * 6 };
    double x[ALL], y[ALL], out[3][ALL];
    for (int i = 0; i < ALL; i++) x[i] = sin(i * i), y[i] = cos(3.0 * i);
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, there_and_back, NULL, 2, TN_TYPES(tn_f64(4, 5, 6), tn_f64(4, 5, 6)), 3);
    if (!f) fail_msg("%s", tn_error(c));
    run(c, f, (const void *[]){x, y}, (void *[]){out[0], out[1], out[2]});
    for (int i = 0; i < ALL; i++) {
        assert_true(fabs(out[0][i] - x[i]) < 1e-15);
        assert_true(fabs(out[1][i] - y[i]) < 1e-15);
        assert_true(fabs(out[2][i] - x[i]) < 1e-15);
    }
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void frequency(const tn_val *in, tn_val *out, void *user) {
    tn_ctx *c = user;
    (void)in;
    out[0] = tn_fftfreq(c, TN_F64, 5, 0.5);
    out[1] = tn_fftfreq(c, TN_F32, 4, 1);
    out[2] = tn_rfftfreq(c, TN_F64, 5, 0.5);
}

static void frequencies(void **state) {
    (void)state;
    static const double want[3][5] = {{0, 0.4, 0.8, -0.8, -0.4}, {0, 0.25, -0.5, -0.25}, {0, 0.4, 0.8}};
    double a[5], b[3];
    float s[4];
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, frequency, c, 0, NULL, 3);
    assert_non_null(f);
    run(c, f, NULL, (void *[]){a, s, b});
    for (int i = 0; i < 5; i++) assert_true(a[i] == want[0][i]);
    for (int i = 0; i < 4; i++) assert_true(s[i] == (float)want[1][i]);
    for (int i = 0; i < 3; i++) assert_true(b[i] == want[2][i]);
    tn_fn_free(f);
    tn_ctx_free(c);
}

/* ---- texts ------------------------------------------------------------------------------------------------- */

static const struct text {
    const char *program;
    size_t nin, nout;
    double in[6], out[4];
} texts[] = {
    /* as JAX prints them: literals, scalars beside arrays, conversions */
    {"{ lambda ; a:c128[2]. let b:c128[2] = mul a (2+1j):c128[]; c:c128[2] = add b 1j:c128[] in (c,) }",
     4,
     4,
     {1, 0, 0, 1},
     {2, 2, -1, 3}},
    {"{ lambda ; a:f64[2]. let b:c128[2] = convert_element_type[new_dtype=complex128 weak_type=False] a\n"
     "    c:c128[2] = mul b (0.0-1j):c128[] d:f64[2] = imag c in (d,) }",
     2,
     2,
     {3, 5},
     {-3, -5}},
    {"{ lambda ; a:f64[2]. let b:c128[2] = complex a 1.0:f64[] c:c128[2] = conj[input_dtype=complex128] b in (c,) }",
     2,
     4,
     {3, 5},
     {3, -1, 5, -1}},
    /* what is linear goes part by part, products of matrices by four */
    {"{ lambda ; a:c128[1,2]. let b:c128[2] = reshape[dimensions=None new_sizes=(2,) sharding=None] a\n"
     "    c:c128[] = dot_general[dimension_numbers=(([0], [0]), ([], [])) preferred_element_type=complex128] b b in "
     "(c,) }",
     4,
     2,
     {1, 2, 3, -1},
     {5, -2}},
    {"{ lambda ; a:c128[2]. let b:c128[1] = slice[limit_indices=(2,) start_indices=(1,) strides=None] a\n"
     "    c:c128[] = squeeze[dimensions=(0,)] b d:c128[2] = broadcast_in_dim[broadcast_dimensions=() shape=(2,) "
     "sharding=None] c\n"
     "    e:bool[2] = eq a d f:c128[2] = select_n e a d in (f,) }",
     4,
     4,
     {1, 2, 3, -1},
     {1, 2, 3, -1}},
    {"{ lambda ; a:c128[1] b:c128[2]. let c:c128[2] = mul a b d:c128[2] = add 1.0:c128[] c in (d,) }",
     2,
     4,
     {0, 1, 2, 3, -1, 0},
     {-2, 2, 1, -1}},
    {"{ lambda ; a:c128[2]. let b:f64[2] = abs a c:f64[] = reduce_sum[axes=(0,)] b in (c,) }",
     4,
     1,
     {3, 4, 0, -2},
     {7}},
    {"{ lambda ; a:c128[2]. let b:c128[] = reduce_prod[axes=(0,)] a in (b,) }", 4, 2, {3, 4, 0, -2}, {8, -6}},
    /* programs within programs have pairs */
    {"{ lambda ; a:c128[] b:f64[2]. let c:c128[] = scan[_split_transpose=False jaxpr={ lambda ; d:c128[] e:f64[]. let\n"
     "      f:c128[] = convert_element_type[new_dtype=complex128 weak_type=False] e g:c128[] = mul d 1j:c128[] "
     "h:c128[] = add g f in (h,) }\n"
     "    length=2 linear=(False, False) num_carry=1 num_consts=0 reverse=False unroll=1] a b in (c,) }",
     4,
     2,
     {1, 2, 3, 5},
     {4, 1}},
    {"{ lambda ; a:c128[]. let b:c128[] = pjit[name=f jaxpr={ lambda ; d:c128[]. let in (d,) }] a in (b, b) }",
     2,
     4,
     {1, 2},
     {1, 2, 1, 2}},
    {"{ lambda ; a:f64[4]. let b:c128[3] = fft[fft_lengths=(4,) fft_type=FftType.RFFT] a c:f64[3] = real b in (c,) }",
     4,
     3,
     {1, 2, 3, 5},
     {11, -2, -3}},
};

static void text(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        const struct text *t = &texts[i];
        tn_ctx *c = checked();
        tn_fn *f = tn_fn_parse(c, t->program, strlen(t->program), "jax.txt");
        if (!f) fail_msg("row %zu: %s", i, tn_error(c));
        double out[4] = {0};
        const void *in[2] = {t->in, t->in + 2};
        void *to[2] = {out, out + 2};
        run(c, f, in, to);
        for (size_t k = 0; k < t->nout; k++)
            if (!(fabs(out[k] - t->out[k]) < 1e-14)) fail_msg("row %zu, %zu: %.17g, not %g", i, k, out[k], t->out[k]);
        char *s = tn_fn_print(f, NULL);
        tn_fn *again = tn_fn_parse(c, s, strlen(s), "again.tn");
        if (!again) fail_msg("row %zu: %s", i, tn_error(c));
        tn_text_free(c, s);
        tn_fn_free(again);
        tn_fn_free(f);
        tn_ctx_free(c);
    }
}

static void refused_texts(void **state) {
    (void)state;
    static const struct {
        const char *program, *says;
    } bad[] = {
        {"{ lambda a:c128[2] . let b:c128[2] = erf a in (b,) }", "erf is not defined for these complex operands"},
        {"{ lambda a:c128[2] . let b:f64[2] = mul a a in (b,) }", "is declared f64[2], but is complex"},
        {"{ lambda a:c128[2] . let b:c128[2] = abs a in (b,) }", "is declared complex"},
        {"{ lambda a:c128[2] . let b = cummax[axis=0 reverse=False] a in (b,) }", "cummax is not defined"},
        {"{ lambda a:f64[2,2] . let b:c128[2,2] = cholesky a in (b,) }", "cholesky is not defined"},
        {"{ lambda a:f64[2] . let b:c128[2] = cumprod[axis=0 reverse=False] a in (b,) }", "cumprod is not defined"},
        {"{ lambda a:c128[2] . let b:c128[2] = cholesky a in (b,) }", "cholesky is not defined"},
        {"{ lambda a:c128[2,3] . let b:c128[2,3] c:f64[2] = eigh a in (b,) }",
         "eigh: operand 0: needs square matrices"},
        {"{ lambda a:f64[2,2] . let b:c128[2,2] c:f64[2] = eigh a in (b,) }", "is declared complex"},
        {"{ lambda a:c128[2] . let b = real a c = real b in (c,) }", "real"},
        {"{ lambda a:c128[2] . let b = mul a (1+2):c128[] in (b,) }", "an imaginary part"},
        {"{ lambda a:c128[2] . let b = mul a (1+2j):f64[] in (b,) }", "c64[] or c128[]"},
        {"{ lambda a:c128[4] . let b = fft[fft_lengths=(3,) fft_type=FFT] a in (b,) }", "a length"},
        {"{ lambda a:f64[4] . let b = fft[fft_lengths=(4,) fft_type=FFT] a in (b,) }", "not complex"},
        {"{ lambda a:c128[4] b:c64[4] . let c = mul a b in (c,) }", "dtype"},
        {"{ lambda a:c128[4] b:f64[4] . let c = mul a b in (c,) }", "mul: operand 1 is not complex"},
        {"{ lambda a:f64[4] . let c:c128[4] = sqrt a in (c,) }", "sqrt: operand 0 is not complex"},
        {"{ lambda a:f64[4] . let c:c128[] = reduce_prod[axes=(0,)] a in (c,) }", "reduce_prod is not defined"},
        {"{ lambda a:f64[2] b:c128[2] . let c = select_n a b b in (c,) }", "bool"},
        {"{ lambda a:f64[2] . let b:c128[2] = stop_gradient a in (b,) }", "stop_gradient: operand 0 is not complex"},
        {"{ lambda a:c128[2] . let b:c128[2] = copy 1.0 in (b,) }", "is declared complex, with parts f64[2], but is"},
        {"{ lambda a:f64[4] . let b c = fft[fft_type=FFT axis=0 length=4] a in (b,c) }", "FFT takes 2 operands"},
        {"{ lambda a:f64[4] . let b c = fft[fft_type=RFFT axis=1 length=4] a in (b,c) }", "no dimension"},
        {"{ lambda a:f64[4] . let b c = fft[fft_type=RFFT axis=0 length=5] a in (b,c) }", "has to be 5"},
        {"{ lambda a:i32[4] . let b c = fft[fft_type=RFFT axis=0 length=4] a in (b,c) }", "i32"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        tn_ctx *c = checked();
        assert_null(tn_fn_parse(c, bad[i].program, strlen(bad[i].program), "jax.txt"));
        if (!strstr(tn_error(c), bad[i].says)) fail_msg("row %zu: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
}

/* ---- decompositions ----------------------------------------------------------------------------------------- */

#define PRODUCT(x, y) " = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] " x " " y " "
#define ADJOINT(z, x) z "t = transpose[permutation=(1, 0)] " x " " z " = conj " z "t "

/* What is 0 where factors are those of a[4,4] and b[4,3]. */
static const char *const factors[] = {
    ADJOINT("t", "a") "h:c128[4,4]" PRODUCT("a", "t") "l:c128[4,4] = cholesky h " ADJOINT("u", "l") "p" PRODUCT(
        "l", "u") "r = sub p h",
    ADJOINT("t", "a") "h:c128[4,4]" PRODUCT(
        "a", "t") "l:c128[4,4] = cholesky h x = triangular_solve[left_side=True "
                  "lower=True transpose_a=True conjugate_a=True unit_diagonal=False] l b " ADJOINT(
                      "u", "l") "p" PRODUCT("u", "x") "r = sub p b",
    "q:c128[4,3] s:c128[3,3] = qr[full_matrices=False] b " ADJOINT(
        "t", "b") "x = triangular_solve[left_side=False "
                  "lower=False transpose_a=True conjugate_a=True unit_diagonal=False] s q p" PRODUCT("q", "s")
                      ADJOINT("w", "s") "y" PRODUCT("x", "w") "m = sub p b n = sub y q r = add m n",
    "x:c128[3,4] = pinv b p" PRODUCT("b", "x") "y" PRODUCT("p", "b") "r = sub y b",
    "w:c128[4] v:c128[4,4] = eig[compute_left_eigenvectors=False compute_right_eigenvectors=True "
    "enable_eigvec_derivs=False implementation=None] a y" PRODUCT(
        "a", "v") "d = broadcast_in_dim[shape=(4, 4) "
                  "broadcast_dimensions=(1,)] w z = mul v d r = sub y z",
    "t:c128[4,4] q:c128[4,4] = schur[compute_schur_vectors=True select_callable=None sort_eig_vals=False] a y" PRODUCT(
        "q", "t") "z" PRODUCT("a", "q") "r = sub y z",
};

static void decompositions(void **state) {
    (void)state;
    double a[4][4][2], b[4][3][2], r[4][4][2], *to = &r[0][0][0];
    for (size_t i = 0; i < sizeof a / sizeof(double); i++) (&a[0][0][0])[i] = sin(3.0 * (double)(i * i % 101));
    for (size_t i = 0; i < sizeof b / sizeof(double); i++) (&b[0][0][0])[i] = cos((double)(i * i * i % 53));
    for (size_t i = 0; i < COUNT(factors); i++) {
        char text[1024];
        tn_ctx *c = checked();
        memset(r, 0, sizeof r);
        (void)snprintf(text, sizeof text, "{ lambda a:c128[4,4] b:c128[4,3] . let %s in (r,) }", factors[i]);
        tn_fn *f = tn_fn_parse(c, text, strlen(text), "factors.txt");
        if (!f) fail_msg("row %zu: %s", i, tn_error(c));
        run(c, f, (const void *[]){a, b}, (void *[]){r});
        for (size_t k = 0; k < sizeof r / sizeof(double); k++)
            if (!(fabs(to[k]) < 1e-12)) fail_msg("row %zu, %zu: %.17g", i, k, to[k]);
        tn_fn_free(f);
        tn_ctx_free(c);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------------- */

static tn_val no_axis(const tn_val *in, void *user) { return (void)user, tn_fft(tn_complex_from(in[0]), tn_ints()).re; }
static tn_val twice(const tn_val *in, void *user) {
    return (void)user, tn_fft(tn_complex_from(in[0]), tn_ints(0, -2)).re;
}
static tn_val beyond(const tn_val *in, void *user) { return (void)user, tn_fft(tn_complex_from(in[0]), tn_ints(2)).re; }
static tn_val too_long(const tn_val *in, void *user) {
    return (void)user, tn_irfft(tn_complex_from(in[0]), tn_ints(0), 8);
}
static tn_val no_pairs(const tn_val *in, void *user) { return (void)user, tn_complex_from(tn_reshape(in[0], -1)).re; }
static tn_val integers(const tn_val *in, void *user) {
    return (void)user, tn_cexp((tn_complex){tn_convert(in[0], TN_I32), in[0]}).re;
}
static tn_val shapes(const tn_val *in, void *user) {
    return (void)user, tn_cabs((tn_complex){in[0], tn_slice(in[0], tn_ints(0, 0), tn_ints(2, 1), tn_ints())});
}
static tn_val apart(const tn_val *in, void *user) {
    return (void)user, tn_cabs((tn_complex){in[0], tn_slice(in[0], tn_ints(0, 0), tn_ints(2, 2), tn_ints())});
}

static void errors(void **state) {
    (void)state;
    static const struct {
        tn_trace_fn f;
        const char *says;
    } bad[] = {{no_axis, "fft: 0 axes"},          {twice, "fft: "},   {beyond, "fft: "},   {too_long, "has to be 5"},
               {no_pairs, "last dimension of 2"}, {integers, "cexp"}, {apart, "broadcast"}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        tn_ctx *c = checked();
        assert_null(tn_trace(c, bad[i].f, NULL, 1, (tn_type[]){tn_f64(3, 2)}));
        if (!strstr(tn_error(c), bad[i].says) || !strstr(tn_error(c), "complex.c"))
            fail_msg("row %zu: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, shapes, NULL, 1, (tn_type[]){tn_f64(2, 2)}); /* parts broadcast */
    if (!f) fail_msg("%s", tn_error(c));
    tn_fn_free(f);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),        cmocka_unit_test(cuts),        cmocka_unit_test(arithmetic),
        cmocka_unit_test(gradient),      cmocka_unit_test(matrices),    cmocka_unit_test(fourier),
        cmocka_unit_test(dimensions),    cmocka_unit_test(frequencies), cmocka_unit_test(text),
        cmocka_unit_test(refused_texts), cmocka_unit_test(errors),      cmocka_unit_test(decompositions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
