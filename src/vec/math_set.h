/* The functions of vectors of one instruction set: included by the file of each, which is compiled for it.
 *
 * Compilers pass vectors as the instruction set of the whole file says, some of them (clang) whatever a function's own
 * attribute says.  So who calls functions of vectors of 64 bytes is a file of its own.  Before, the file defines SET,
 * the end of its tables' names; BYTES of a vector; MVEC_F64(fn, v) and MVEC_F32(fn, v), libmvec's names for arguments
 * v; SLEEF_F64(fn, ulp) and SLEEF_F32(fn, ulp); ANY(m), whether a lane of the mask m is set, and BEYOND_F64(x, most)
 * and BEYOND_F32(x, most), whether a lane's absolute value is more than most; FMA(a, b, c), TRUNC(x) and SQRT(x) of
 * f64, FMAF(a, b, c), TRUNCF(x) and SQRTF(x) of f32, if there are. */
#include "prims/scalar/special.h"
#include "vec/math.h"

#include <math.h>
#include <string.h>

typedef double f64xn __attribute__((vector_size(BYTES)));
typedef float f32xn __attribute__((vector_size(BYTES)));
typedef int64_t i64xn __attribute__((vector_size(BYTES)));
typedef int32_t i32xn __attribute__((vector_size(BYTES)));

/* ---- loops around a function of vectors ------------------------------------------------- */

/* What is left over after full vectors is filled up with its own first element: harmless wherever that is. */
#define LOOP1(name, T, V, function)                                                               \
    extern V function(V);                                                                         \
    static tn_i_one name##_one;                                                                   \
    static void name(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) { \
        enum { W = sizeof(V) / sizeof(T) };                                                       \
        const T *a = in[0];                                                                       \
        T *o = out;                                                                               \
        int64_t i = 0;                                                                            \
        (void)so;                                                                                 \
        if (!s[0] && n > 1) {                                                                     \
            name##_one(a, NULL, NULL, o);                                                         \
            for (const T y = o[0]; i < n; i++) o[i] = y;                                          \
            return;                                                                               \
        }                                                                                         \
        for (; i + W <= n; i += W) {                                                              \
            V x;                                                                                  \
            memcpy(&x, a + i, sizeof x);                                                          \
            x = function(x);                                                                      \
            memcpy(o + i, &x, sizeof x);                                                          \
        }                                                                                         \
        if (i < n) {                                                                              \
            V x;                                                                                  \
            for (int l = 0; l < W; l++) x[l] = a[i + l < n ? i + l : i];                          \
            x = function(x);                                                                      \
            memcpy(o + i, &x, (size_t)(n - i) * sizeof(T));                                       \
        }                                                                                         \
    }                                                                                             \
    static void name##_one(const void *x, const void *y, const void *z, void *out) {              \
        enum { W = sizeof(V) / sizeof(T) };                                                       \
        const T e = *(const T *)x;                                                                \
        V v;                                                                                      \
        (void)y, (void)z;                                                                         \
        for (int l = 0; l < W; l++) v[l] = e;                                                     \
        v = function(v);                                                                          \
        *(T *)out = v[0];                                                                         \
    }                                                                                             \
    static void (*name##_itself(void))(void) { return (void (*)(void))function; }

#define LOOP2(name, T, V, function)                                                               \
    extern V function(V, V);                                                                      \
    static void name(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) { \
        enum { W = sizeof(V) / sizeof(T) };                                                       \
        const T *a = in[0], *b = in[1];                                                           \
        const int64_t sa = s[0], sb = s[1];                                                       \
        T *o = out;                                                                               \
        (void)so;                                                                                 \
        for (int64_t i = 0; i < n; i += W) {                                                      \
            V x, y;                                                                               \
            const bool full = i + W <= n;                                                         \
            if (full && sa)                                                                       \
                memcpy(&x, a + i, sizeof x);                                                      \
            else                                                                                  \
                for (int l = 0; l < W; l++) x[l] = a[(i + l < n ? i + l : i) * sa];               \
            if (full && sb)                                                                       \
                memcpy(&y, b + i, sizeof y);                                                      \
            else                                                                                  \
                for (int l = 0; l < W; l++) y[l] = b[(i + l < n ? i + l : i) * sb];               \
            x = function(x, y);                                                                   \
            memcpy(o + i, &x, full ? sizeof x : (size_t)(n - i) * sizeof(T));                     \
        }                                                                                         \
    }                                                                                             \
    static void name##_one(const void *x, const void *y, const void *z, void *out) {              \
        enum { W = sizeof(V) / sizeof(T) };                                                       \
        const T e = *(const T *)x, f = *(const T *)y;                                             \
        V v, w;                                                                                   \
        (void)z;                                                                                  \
        for (int l = 0; l < W; l++) v[l] = e, w[l] = f;                                           \
        v = function(v, w);                                                                       \
        *(T *)out = v[0];                                                                         \
    }                                                                                             \
    static void (*name##_itself(void))(void) { return (void (*)(void))function; }

/* What calls functions of vectors by address has two operands for them: these are called as strips. */
#define LOOP3(name, T, V, function)                                                                       \
    static void name(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) {         \
        enum { W = sizeof(V) / sizeof(T) };                                                               \
        T *o = out;                                                                                       \
        (void)so;                                                                                         \
        for (int64_t i = 0; i < n; i += W) {                                                              \
            V v[3];                                                                                       \
            for (int k = 0; k < 3; k++)                                                                   \
                for (int l = 0; l < W; l++) v[k][l] = ((const T *)in[k])[(i + l < n ? i + l : i) * s[k]]; \
            v[0] = function(v[0], v[1], v[2]);                                                            \
            memcpy(o + i, &v[0], (size_t)(n - i < W ? n - i : W) * sizeof(T));                            \
        }                                                                                                 \
    }                                                                                                     \
    static void name##_one(const void *x, const void *y, const void *z, void *out) {                      \
        static const int64_t stride[3] = {0};                                                             \
        name(1, (const void *const[]){x, y, z}, stride, out, 1);                                          \
    }

#define ROW3(prefix, label, name) {label, {.strip = prefix##_##name, .one = prefix##_##name##_one}},
#define ROW(prefix, label, name)  {label, {prefix##_##name, prefix##_##name##_one, prefix##_##name##_itself}},

/* Composed of the library's exp: 1 / (1 + e^-x), where e^-|x| cannot overflow (prims/scalar/special.c: the same steps).
 */
#define LOGISTIC(name, T, V, M, exp)                             \
    extern V exp(V);                                             \
    static V name(V x) {                                         \
        const V zero = {0}, one = zero + (T)1;                   \
        const M below = (M)(x < zero);                           \
        const V e = exp((V)((M)x | (M)(-zero)));                 \
        const V above = (V)(((M)e & below) | ((M)one & ~below)); \
        return above / (one + e);                                \
    }
#define LOGISTICS(prefix, exp, expf)                  \
    LOGISTIC(prefix##_of, double, f64xn, i64xn, exp)  \
    LOGISTIC(prefix##f_of, float, f32xn, i32xn, expf) \
    LOOP1(prefix, double, f64xn, prefix##_of)         \
    LOOP1(prefix##f, float, f32xn, prefix##f_of)

/* A function of lanes above 0; one of numbers of the others. */
#define ABOVE_0(name, T, V, M, above, one)                \
    static V name(V x) {                                  \
        const M other = ~(M)(x > (T)0);                   \
        V y = above(x);                                   \
        if (!ANY(other)) return y;                        \
        for (size_t l = 0; l < sizeof x / sizeof(T); l++) \
            if (other[l]) y[l] = one(x[l]);               \
        return y;                                         \
    }
#define LGAMMAS(prefix, above, abovef)                                  \
    ABOVE_0(prefix##_of, double, f64xn, i64xn, above, tn_i_lgamma)      \
    ABOVE_0(prefix##f_of, float, f32xn, i32xn, abovef, tn_i_lgamma_f32) \
    LOOP1(prefix, double, f64xn, prefix##_of)                           \
    LOOP1(prefix##f, float, f32xn, prefix##f_of)

#define TABLE(name, set)  TABLE_(name, set)
#define TABLE_(name, set) tn_i_##name##_##set

/* ---- of no library ---------------------------------------------------------------------- */

/* The remainder of a quotient below 2^52 (f32: 2^22), rounded to a whole number that is right, or too large by 1: exact
 * by one FMA.  Other lanes are the C library's. */
#ifdef FMA
#define FMOD(name, T, V, M, fma, trunc, most, one)                                          \
    static V name(V x, V y) {                                                               \
        const M sign = (M)(-(V){0}), of_x = (M)x & sign;                                    \
        const V quotient = x / y, size = (V)((M)y & ~sign);                                 \
        V r = (V)((M)fma(-trunc(quotient), y, x) ^ of_x);                                   \
        r += (V)((M)size & (M)(r < (T)0));                                                  \
        r = (V)(((M)r & ~sign) | of_x);                                                     \
        const M near = (M)((V)((M)quotient & ~sign) < (T)(most)) & (M)(size < (T)HUGE_VAL); \
        if (ANY(~near))                                                                     \
            for (size_t l = 0; l < sizeof x / sizeof(T); l++)                               \
                if (!near[l]) r[l] = one(x[l], y[l]);                                       \
        return r;                                                                           \
    }
FMOD(fmod_of, double, f64xn, i64xn, FMA, TRUNC, 0x1p52, fmod)
FMOD(fmodf_of, float, f32xn, i32xn, FMAF, TRUNCF, 0x1p22, fmodf)
LOOP2(own_fmod, double, f64xn, fmod_of)
LOOP2(own_fmodf, float, f32xn, fmodf_of)
const tn_i_vec_named TABLE(own, SET)[] = {ROW(own, "fmod", fmod) ROW(own, "fmodf", fmodf){0}};
#else
const tn_i_vec_named TABLE(own, SET)[] = {{0}};
#endif

/* ---- libmvec ---------------------------------------------------------------------------- */

#ifdef TN_LIBMVEC
#if __GLIBC_PREREQ(2, 35)
#define LATER1(X) \
    X(tan)        \
    X(asin)       \
    X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(exp2) X(expm1) X(log1p) X(cbrt) X(erf) X(erfc)
#define LATER2(X) X(atan2)
#else
#define LATER1(X)
#define LATER2(X)
#endif

#define MVEC1(fn)                                    \
    LOOP1(mvec_##fn, double, f64xn, MVEC_F64(fn, v)) \
    LOOP1(mvec_##fn##f, float, f32xn, MVEC_F32(fn##f, v))
#define MVEC2(fn)                                     \
    LOOP2(mvec_##fn, double, f64xn, MVEC_F64(fn, vv)) \
    LOOP2(mvec_##fn##f, float, f32xn, MVEC_F32(fn##f, vv))
#define MVEC_ROWS(fn) ROW(mvec, #fn, fn) ROW(mvec, #fn "f", fn##f)

#include "vec/special_set.h"
LOOP1(mvec_lgamma, double, f64xn, lgamma_any)
LOOP1(mvec_lgammaf, float, f32xn, lgamma_anyf)
LOOP1(mvec_digamma, double, f64xn, digamma_any)
LOOP1(mvec_digammaf, float, f32xn, digamma_anyf)
LOOP1(mvec_erf_inv, double, f64xn, erf_inv_any)
LOOP1(mvec_erf_invf, float, f32xn, erf_inv_anyf)
LOOP1(mvec_bessel_i0e, double, f64xn, bessel_i0e_any)
LOOP1(mvec_bessel_i0ef, float, f32xn, bessel_i0e_anyf)
LOOP1(mvec_bessel_i1e, double, f64xn, bessel_i1e_any)
LOOP1(mvec_bessel_i1ef, float, f32xn, bessel_i1e_anyf)
LOOP2(mvec_zeta, double, f64xn, zeta_any)
LOOP2(mvec_zetaf, float, f32xn, zeta_anyf)
LOOP2(mvec_polygamma, double, f64xn, polygamma_any)
LOOP2(mvec_polygammaf, float, f32xn, polygamma_anyf)
LOOP2(mvec_igamma, double, f64xn, igamma_any)
LOOP2(mvec_igammac, double, f64xn, igammac_any)
LOOP2(mvec_igammaf, float, f32xn, igamma_anyf)
LOOP2(mvec_igammacf, float, f32xn, igammac_anyf)
LOOP3(mvec_regularized_incomplete_beta, double, f64xn, betainc_any)
LOOP3(mvec_regularized_incomplete_betaf, float, f32xn, betainc_anyf)

/* libmvec takes arguments of sin and cos beyond these one by one.  SLEEF does not, which is faster but with SSE2. */
#if defined TN_SLEEF && defined FMA
enum { USUAL_F64 = 1 << 23, USUAL_F32 = 10000 };
#define RANGED(name, T, V, M, usual, far, BEYOND, most)            \
    extern V usual(V);                                             \
    extern V far(V);                                               \
    static V name(V x) {                                           \
        const T m = most;                                          \
        if (!BEYOND(x, m)) return usual(x);                        \
        const M beyond = (M)(x > m) | (M)(x < -m);                 \
        const V near = usual((V)((M)x & ~beyond)), other = far(x); \
        return (V)(((M)near & ~beyond) | ((M)other & beyond));     \
    }
#define RANGE(fn)                                                                                              \
    RANGED(ranged_##fn, double, f64xn, i64xn, MVEC_F64(fn, v), SLEEF_F64(fn, u10), BEYOND_F64, USUAL_F64)      \
    RANGED(ranged_##fn##f, float, f32xn, i32xn, MVEC_F32(fn##f, v), SLEEF_F32(fn, u10), BEYOND_F32, USUAL_F32) \
    LOOP1(mvec_##fn, double, f64xn, ranged_##fn)                                                               \
    LOOP1(mvec_##fn##f, float, f32xn, ranged_##fn##f)
#else
#define RANGE(fn) MVEC1(fn)
#endif

/* libmvec takes one by one what overflows or vanishes, as a masked element of a softmax does; and logarithms of what is
 * not above 0. */
#define EXPONENTIAL(name, T, V, M, usual, BEYOND, near, least, most)                 \
    extern V usual(V);                                                               \
    static V name(V x) {                                                             \
        if (!BEYOND(x, near)) return usual(x);                                       \
        const M large = (M)(x > (T)(most)), small = (M)(x < (T)(least));             \
        const V y = usual((V)((M)x & ~(large | small)));                             \
        return (V)(((M)y & ~(large | small)) | ((M)((V){0} + (T)HUGE_VAL) & large)); \
    }
EXPONENTIAL(exp_of, double, f64xn, i64xn, MVEC_F64(exp, v), BEYOND_F64, 708, -745.2, 709.79)
EXPONENTIAL(expf_of, float, f32xn, i32xn, MVEC_F32(expf, v), BEYOND_F32, 87, -104.0f, 88.73f)
LOOP1(mvec_exp, double, f64xn, exp_of)
LOOP1(mvec_expf, float, f32xn, expf_of)

#define LOGARITHM(name, T, V, M, usual)                                                              \
    extern V usual(V);                                                                               \
    static V name(V x) {                                                                             \
        const V one = (V){0} + (T)1, most = (V){0} + (T)HUGE_VAL;                                    \
        const M none = (M)(x <= (T)0), all = (M)(x == most);                                         \
        if (!ANY(none | all)) return usual(x);                                                       \
        const V y = usual((V)(((M)x & ~(none | all)) | ((M)one & (none | all))));                    \
        const M below = none & (M)(x < (T)0), zero = none & ~below;                                  \
        const V nan = (V){0} + (T)NAN;                                                               \
        return (V)(((M)y & ~(none | all)) | ((M)most & all) | ((M)-most & zero) | ((M)nan & below)); \
    }
LOGARITHM(log_of, double, f64xn, i64xn, MVEC_F64(log, v))
LOGARITHM(logf_of, float, f32xn, i32xn, MVEC_F32(logf, v))
LOOP1(mvec_log, double, f64xn, log_of)
LOOP1(mvec_logf, float, f32xn, logf_of)

/* libmvec takes powers of 0 one by one. */
#define POWER(name, T, V, M, usual)                                      \
    extern V usual(V, V);                                                \
    static V name(V x, V y) {                                            \
        const M zero = (M)((M)x == 0) & (M)(y > (T)0);                   \
        if (!ANY(zero)) return usual(x, y);                              \
        const V one = (V){0} + (T)1;                                     \
        const V other = usual((V)(((M)x & ~zero) | ((M)one & zero)), y); \
        return (V)((M)other & ~zero);                                    \
    }
POWER(power_of, double, f64xn, i64xn, MVEC_F64(pow, vv))
POWER(powerf_of, float, f32xn, i32xn, MVEC_F32(powf, vv))
LOOP2(mvec_pow, double, f64xn, power_of)
LOOP2(mvec_powf, float, f32xn, powerf_of)

RANGE(sin)
RANGE(cos)
LATER1(MVEC1)
LATER2(MVEC2)
LOGISTICS(mvec_logistic, exp_of, expf_of)
const tn_i_vec_named TABLE(mvec, SET)[] = {
    MVEC_ROWS(logistic) MVEC_ROWS(lgamma) MVEC_ROWS(digamma) MVEC_ROWS(erf_inv) MVEC_ROWS(bessel_i0e)
        MVEC_ROWS(bessel_i1e) MVEC_ROWS(zeta) MVEC_ROWS(polygamma) MVEC_ROWS(igamma) MVEC_ROWS(igammac)
            ROW3(mvec, "regularized_incomplete_beta", regularized_incomplete_beta)
                ROW3(mvec, "regularized_incomplete_betaf", regularized_incomplete_betaf) MVEC_ROWS(exp) MVEC_ROWS(log)
                    MVEC_ROWS(pow) MVEC_ROWS(sin) MVEC_ROWS(cos) LATER1(MVEC_ROWS) LATER2(MVEC_ROWS){0}};
#else
const tn_i_vec_named TABLE(mvec, SET)[] = {{0}};
#endif

/* ---- SLEEF ------------------------------------------------------------------------------- */

/* cinz and finz: those of its functions in which an element does not depend on the others of its vector.  Its asinh and
 * acosh overflow where their squares do; the C library takes their place. */
#ifdef TN_SLEEF
#define SLEEF1(fn, ulp)                                  \
    LOOP1(sleef_##fn, double, f64xn, SLEEF_F64(fn, ulp)) \
    LOOP1(sleef_##fn##f, float, f32xn, SLEEF_F32(fn, ulp))
#define SLEEF2(fn, ulp)                                  \
    LOOP2(sleef_##fn, double, f64xn, SLEEF_F64(fn, ulp)) \
    LOOP2(sleef_##fn##f, float, f32xn, SLEEF_F32(fn, ulp))
#define UNARY(X) \
    X(sin, u10)  \
    X(cos, u10)  \
    X(exp, u10)  \
    X(log, u10)  \
    X(tan, u10)  \
    X(asin, u10) \
    X(acos, u10) \
    X(atan, u10) \
    X(sinh, u10) \
    X(cosh, u10) \
    X(tanh, u10) X(atanh, u10) X(exp2, u10) X(expm1, u10) X(log1p, u10) X(cbrt, u10) X(erf, u10) X(erfc, u15)
#define BINARY(X)           X(pow, u10) X(atan2, u10)
#define SLEEF_ROWS(fn, ulp) ROW(sleef, #fn, fn) ROW(sleef, #fn "f", fn##f)

UNARY(SLEEF1)
BINARY(SLEEF2)
LOGISTICS(sleef_logistic, SLEEF_F64(exp, u10), SLEEF_F32(exp, u10))
extern f64xn SLEEF_F64(lgamma, u10)(f64xn);
extern f32xn SLEEF_F32(lgamma, u10)(f32xn);
LGAMMAS(sleef_lgamma, SLEEF_F64(lgamma, u10), SLEEF_F32(lgamma, u10))
const tn_i_vec_named TABLE(sleef, SET)[] = {SLEEF_ROWS(logistic, u10) SLEEF_ROWS(lgamma, u10) UNARY(SLEEF_ROWS)
                                                BINARY(SLEEF_ROWS){0}};
#else
const tn_i_vec_named TABLE(sleef, SET)[] = {{0}};
#endif
