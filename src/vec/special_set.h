/* Special functions of vectors, which libmvec lacks, of the library's log: included by math_set.h, once for each
 * instruction set that has FMA; without, they are slower than those of numbers, which then take their place.  All lanes
 * take all ways.  Coefficients are minimax fits in 60 digits. */

#ifdef FMA
#define POLYNOMIAL(name, T, V, FMA)                       \
    static inline V name(V x, const T *c, size_t n) {     \
        V y = (V){0} + c[n - 1];                          \
        while (--n > 0) y = FMA(y, x, (V){0} + c[n - 1]); \
        return y;                                         \
    }
POLYNOMIAL(series_f64, double, f64xn, FMA)
POLYNOMIAL(series_f32, float, f32xn, FMAF)
#define SERIES(name, x, c) name(x, c, sizeof(c) / sizeof *(c))

/* a where m, else b. */
static inline f64xn choose(i64xn m, f64xn a, f64xn b) { return (f64xn)(((i64xn)a & m) | ((i64xn)b & ~m)); }

extern f64xn MVEC_F64(log, v)(f64xn);

/* ---- lgamma ----
 *
 * With 0 < x < 8, first to y in [1/2, 3): y + 1 below 1/2, and y - 1 from 3 on, so often that lgamma(x) = lgamma(y) +
 * log p, where p is 1/x, or a product of at most five factors.  There lgamma(y) = (y - 1)(y - 2)(1/2 + P(y) / Q(y)),
 * whose error is relative at the zeros too (2e-18, but for rounding).  From 8 on it is Stirling's, with the rest of his
 * series in 1/x^2 as a polynomial.  What is not above 0 is the C library's, number by number.
 *
 * P and Q are in powers of y - 1/2; no term of Q is negative. */
static const double near_p[] = {
    0x1.0d780c269af4dp-2,  0x1.54862db36fb81p+0,  0x1.0ffd382148f52p+1,  0x1.8969d2321721bp-2,  -0x1.23d2948483d5ep+1,
    -0x1.3a68c582b48f3p+1, -0x1.0749220d8f9fdp+0, -0x1.8148e8e47a066p-3, -0x1.b642788a1fac6p-7, -0x1.07f54350bb4cap-12};
static const double near_q[] = {0x1.0000000000000p+0, 0x1.d146d2b79fa0ap+2, 0x1.573913b23c6a7p+4, 0x1.090dec5d3d788p+5,
                                0x1.cdeb28670343dp+4, 0x1.c9dad9ca6991bp+3, 0x1.f1c289a563622p+1, 0x1.1057feb331ea6p-1,
                                0x1.f9e06c834144dp-6, 0x1.0bc3178ad45ffp-11};
static const double rest_w[] = {0x1.5555555555553p-4,   -0x1.6c16c16bb7c75p-9, 0x1.a019fd4110a8bp-11,
                                -0x1.380ec6bbec2a2p-11, 0x1.b6fcf891f9e38p-11, -0x1.b15ae7cf0976bp-10};
static f64xn lgamma_above_0(f64xn x) {
    enum { FACTORS = 5 };
    static const double half_log_2_pi_less_half = 0.41893853320467274178;
    const i64xn small = (i64xn)(x < 0.5), large = (i64xn)(x >= 8.0);
    f64xn y = choose(large, (f64xn){0} + 2.0, choose(small, x + 1.0, x)),
          p = choose(large | small, x, (f64xn){0} + 1.0);
    for (int i = 0; i < FACTORS; i++) {
        const i64xn more = (i64xn)(y >= 3.0);
        y = choose(more, y - 1.0, y);
        p = choose(more, p * y, p);
    }
    const f64xn l = MVEC_F64(log, v)(p), t = y - 0.5;
    const f64xn above = choose(large, (f64xn){0} + 1.0, SERIES(series_f64, t, near_p));
    const f64xn quotient = above / choose(large, x, SERIES(series_f64, t, near_q));
    const f64xn near = choose(small, x, y - 1.0) * choose(small, x - 1.0, y - 2.0) * (0.5 + quotient);
    const f64xn rest = SERIES(series_f64, quotient * quotient, rest_w) * quotient;
    const f64xn stirling = FMA(x - 0.5, l - 1.0, half_log_2_pi_less_half + rest);
    return choose(large, stirling, near + choose(small, -l, l));
}

/* ---- digamma ----
 *
 * With 0 < x < 8, first to y in [1, 3): digamma(x) = digamma(y) + n/d, where n/d is -1/x, or the sum of at most five
 * 1/(y + i), as one quotient.  There digamma(y) = (y - root) P(y - 1) / Q(y - 1), with root in two parts, and with what
 * rounding took from x + 1.  From 8 on it is log x - 1/(2x) - W(1/x^2) / x^2.  What is not above 0 is done number by
 * number. */
static const double psi_p[] = {0x1.4018e9a62525ep+0,  0x1.01e186f27c6c0p+1, 0x1.2f176398c522cp+0,
                               0x1.4922faad25604p-2,  0x1.5443fbbc43f3ep-5, 0x1.30b2d0276270cp-9,
                               0x1.5bbbcb5942ce2p-15, 0x1.7f926ec4e4515p-25};
static const double psi_q[] = {0x1.0000000000000p+0,  0x1.25bc6d673bbc0p+1, 0x1.e9e7c83231affp+0,
                               0x1.82e0645fcb7f1p-1,  0x1.3522aab2d25a8p-3, 0x1.e5ced4261d690p-7,
                               0x1.4886884ddc5f8p-11, 0x1.07633bcd1d7fap-17};
static const double psi_w[] = {0x1.5555555555555p-4,  -0x1.1111111110d76p-7, 0x1.04104101a91ccp-8,
                               -0x1.11110c2cf1665p-8, 0x1.f07735405e8ebp-8,  -0x1.58e86fe92775bp-6,
                               0x1.47dc8611c1e45p-4,  -0x1.3300af9d7f977p-2};

static f64xn digamma_above_0(f64xn x) {
    enum { STEPS = 5 };
    static const double root = 0x1.762d86356be3fp+0, root_low = 0x1.b86a722197829p-54;
    const f64xn one = (f64xn){0} + 1.0;
    const i64xn small = (i64xn)(x < 1.0), large = (i64xn)(x >= 8.0);
    f64xn y = choose(large, one, choose(small, x + 1.0, x));
    f64xn n = choose(small, -one, choose(large, one, (f64xn){0})), d = choose(small | large, x, one);
    const f64xn lost = choose(small, x - (y - 1.0), (f64xn){0});
    for (int i = 0; i < STEPS; i++) {
        const i64xn more = (i64xn)(y >= 3.0);
        y = choose(more, y - 1.0, y);
        n = choose(more, FMA(n, y, d), n);
        d = choose(more, d * y, d);
    }
    const f64xn q = n / d, t = y - 1.0, u = q * q;
    const f64xn slope = SERIES(series_f64, t, psi_p) / SERIES(series_f64, t, psi_q);
    const f64xn near = FMA((y - root) + (lost - root_low), slope, q);
    const f64xn above = MVEC_F64(log, v)(x) - FMA(SERIES(series_f64, u, psi_w), u, 0.5 * q);
    return choose(large, above, near);
}

/* ---- erf_inv: as prims/special.c, of f32 with fewer coefficients ---- */
static const float erf_inv_pf[] = {0.0845597908f, 0.301172525f, -0.858890116f, 0.293968052f},
                   erf_inv_qf[] = {1, -3.09177828f, 2.47019076f, -0.41315648f},
                   erf_inv_tail_pf[] = {-0.364068508f, -0.437721193f, -0.109747499f, -0.00119934208f},
                   erf_inv_tail_qf[] = {1, 1.22988772f, 0.533472598f, 0.0590153709f};
extern f32xn MVEC_F32(logf, v)(f32xn);

#define ERF_INV(name, T, V, M, FMA, sqrt, log, series, p, q, tail_p, tail_q)     \
    static V name(V x) {                                                         \
        const M sign = (M)(-(V){0});                                             \
        const V a = (V)((M)x & ~sign), t = FMA(x, x, (V){0} - (T)0.5625);        \
        const V near = FMA(a, SERIES(series, t, p) / SERIES(series, t, q), a);   \
        const V r = sqrt(-log((T)1 - a)), s = r - (T)1.17;                       \
        const V far = r + SERIES(series, s, tail_p) / SERIES(series, s, tail_q); \
        const M middle = (M)(a <= (T)0.75), end = (M)(a == (T)1);                \
        const V tail = (V)(((M)far & ~end) | ((M)((V){0} + (T)HUGE_VAL) & end)); \
        return (V)(((M)near & middle) | ((M)tail & ~middle) | ((M)x & sign));    \
    }
ERF_INV(erf_inv_any, double, f64xn, i64xn, FMA, SQRT, MVEC_F64(log, v), series_f64, tn_i_erf_inv_p, tn_i_erf_inv_q,
        tn_i_erf_inv_tail_p, tn_i_erf_inv_tail_q)
ERF_INV(erf_inv_anyf, float, f32xn, i32xn, FMAF, SQRTF, MVEC_F32(logf, v), series_f32, erf_inv_pf, erf_inv_qf,
        erf_inv_tail_pf, erf_inv_tail_qf)

#include "vec/bessel_set.h"
#include "vec/zeta_set.h"

/* ---- f32: by way of f64 ---- */

#define BY_F64(name, function)                                                                    \
    static f32xn name(f32xn x) {                                                                  \
        typedef float half __attribute__((vector_size(BYTES / 2)));                               \
        half h[2];                                                                                \
        memcpy(h, &x, sizeof h);                                                                  \
        for (int i = 0; i < 2; i++)                                                               \
            h[i] = __builtin_convertvector(function(__builtin_convertvector(h[i], f64xn)), half); \
        memcpy(&x, h, sizeof h);                                                                  \
        return x;                                                                                 \
    }
#define BY_F64_OF_2(name, function)                                                                                  \
    static f32xn name(f32xn x, f32xn y) {                                                                            \
        typedef float half __attribute__((vector_size(BYTES / 2)));                                                  \
        half h[2], g[2];                                                                                             \
        memcpy(h, &x, sizeof h);                                                                                     \
        memcpy(g, &y, sizeof g);                                                                                     \
        for (int i = 0; i < 2; i++) {                                                                                \
            const f64xn wide = function(__builtin_convertvector(h[i], f64xn), __builtin_convertvector(g[i], f64xn)); \
            h[i] = __builtin_convertvector(wide, half);                                                              \
        }                                                                                                            \
        memcpy(&x, h, sizeof h);                                                                                     \
        return x;                                                                                                    \
    }
BY_F64(lgamma_above_0f, lgamma_above_0)
BY_F64(digamma_above_0f, digamma_above_0)
BY_F64(bessel_i0e_anyf, bessel_i0e_short)
BY_F64(bessel_i1e_anyf, bessel_i1e_short)
BY_F64_OF_2(zeta_anyf, zeta_short)
BY_F64_OF_2(polygamma_anyf, polygamma_short)

#else
#define BY_NUMBERS(name, T, V, one)                                         \
    static V name(V x) {                                                    \
        for (size_t l = 0; l < sizeof x / sizeof(T); l++) x[l] = one(x[l]); \
        return x;                                                           \
    }
#define BY_NUMBERS_OF_2(name, T, V, one)                                          \
    static V name(V x, V y) {                                                     \
        for (size_t l = 0; l < sizeof x / sizeof(T); l++) x[l] = one(x[l], y[l]); \
        return x;                                                                 \
    }
BY_NUMBERS(lgamma_above_0, double, f64xn, tn_i_lgamma)
BY_NUMBERS(lgamma_above_0f, float, f32xn, tn_i_lgamma_f32)
BY_NUMBERS(digamma_above_0, double, f64xn, tn_i_digamma)
BY_NUMBERS(digamma_above_0f, float, f32xn, tn_i_digamma_f32)
BY_NUMBERS(erf_inv_any, double, f64xn, tn_i_erf_inv)
BY_NUMBERS(erf_inv_anyf, float, f32xn, tn_i_erf_inv_f32)
BY_NUMBERS(bessel_i0e_any, double, f64xn, tn_i_bessel_i0e)
BY_NUMBERS(bessel_i0e_anyf, float, f32xn, tn_i_bessel_i0e_f32)
BY_NUMBERS(bessel_i1e_any, double, f64xn, tn_i_bessel_i1e)
BY_NUMBERS(bessel_i1e_anyf, float, f32xn, tn_i_bessel_i1e_f32)
BY_NUMBERS_OF_2(zeta_any, double, f64xn, tn_i_zeta)
BY_NUMBERS_OF_2(zeta_anyf, float, f32xn, tn_i_zeta_f32)
BY_NUMBERS_OF_2(polygamma_any, double, f64xn, tn_i_polygamma)
BY_NUMBERS_OF_2(polygamma_anyf, float, f32xn, tn_i_polygamma_f32)
#endif
