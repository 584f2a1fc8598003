/* Special functions of vectors, which libmvec lacks, of the library's log: included by math_set.h, once for each
 * instruction set that has FMA; without, they are slower than those of numbers, which then take their place.  All lanes
 * take every way that one of them takes.  Coefficients are minimax fits in 60 digits, but where it is said. */

#ifdef FMA
/* What is long and called in several places: copies of it would be most of the code. */
#define OF_ITS_OWN __attribute__((noinline)) static

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

#include "vec/gamma_set.h"

/* ---- erf_inv: as prims/scalar/special.c, of f32 with fewer coefficients ---- */
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
#include "vec/two_set.h"
#include "vec/zeta_set.h"
#include "vec/igamma_set.h"
#include "vec/igamma_two_set.h"
#include "vec/betainc_two_set.h"
#include "vec/betainc_set.h"

/* ---- f32: by way of f64 ---- */

typedef float single_half __attribute__((vector_size(BYTES / 2)));
static inline f64xn wide(single_half h) { return __builtin_convertvector(h, f64xn); }
static inline single_half narrow(f64xn x) { return __builtin_convertvector(x, single_half); }

#define BY_F64(name, function)                                           \
    static f32xn name(f32xn x) {                                         \
        single_half h[2];                                                \
        memcpy(h, &x, sizeof h);                                         \
        for (int i = 0; i < 2; i++) h[i] = narrow(function(wide(h[i]))); \
        memcpy(&x, h, sizeof h);                                         \
        return x;                                                        \
    }
#define BY_F64_OF_2(name, function)                                                  \
    static f32xn name(f32xn x, f32xn y) {                                            \
        single_half g[2], h[2];                                                      \
        memcpy(g, &x, sizeof g);                                                     \
        memcpy(h, &y, sizeof h);                                                     \
        for (int i = 0; i < 2; i++) g[i] = narrow(function(wide(g[i]), wide(h[i]))); \
        memcpy(&x, g, sizeof g);                                                     \
        return x;                                                                    \
    }
#define BY_F64_OF_3(name, function)                                                              \
    static f32xn name(f32xn x, f32xn y, f32xn z) {                                               \
        single_half f[2], g[2], h[2];                                                            \
        memcpy(f, &x, sizeof f);                                                                 \
        memcpy(g, &y, sizeof g);                                                                 \
        memcpy(h, &z, sizeof h);                                                                 \
        for (int i = 0; i < 2; i++) f[i] = narrow(function(wide(f[i]), wide(g[i]), wide(h[i]))); \
        memcpy(&x, f, sizeof f);                                                                 \
        return x;                                                                                \
    }
BY_F64(lgamma_anyf, lgamma_single)
BY_F64(digamma_anyf, digamma_any)
BY_F64(bessel_i0e_anyf, bessel_i0e_short)
BY_F64(bessel_i1e_anyf, bessel_i1e_short)
BY_F64_OF_2(zeta_anyf, zeta_short)
BY_F64_OF_2(polygamma_anyf, polygamma_short)
BY_F64_OF_2(igamma_anyf, igamma_short)
BY_F64_OF_2(igammac_anyf, igammac_short)
BY_F64_OF_3(betainc_anyf, betainc_short)

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
BY_NUMBERS(lgamma_any, double, f64xn, tn_i_lgamma)
BY_NUMBERS(lgamma_anyf, float, f32xn, tn_i_lgamma_f32)
BY_NUMBERS(digamma_any, double, f64xn, tn_i_digamma)
BY_NUMBERS(digamma_anyf, float, f32xn, tn_i_digamma_f32)
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
BY_NUMBERS_OF_2(igamma_any, double, f64xn, tn_i_igamma)
BY_NUMBERS_OF_2(igammac_any, double, f64xn, tn_i_igammac)
BY_NUMBERS_OF_2(igamma_anyf, float, f32xn, tn_i_igamma_f32)
BY_NUMBERS_OF_2(igammac_anyf, float, f32xn, tn_i_igammac_f32)
#define BY_NUMBERS_OF_3(name, T, V, one)                                                \
    static V name(V x, V y, V z) {                                                      \
        for (size_t l = 0; l < sizeof x / sizeof(T); l++) x[l] = one(x[l], y[l], z[l]); \
        return x;                                                                       \
    }
BY_NUMBERS_OF_3(betainc_any, double, f64xn, tn_i_betainc)
BY_NUMBERS_OF_3(betainc_anyf, float, f32xn, tn_i_betainc_f32)
#endif
