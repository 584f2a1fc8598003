/* Explicit vectors for the hand-written side of the benchmarks: as wide as the machine's, with the functions of
 * libmvec called by their symbols.  (Left to itself gcc calls those only under -ffast-math, and makes of sin and cos of
 * one argument a scalar sincos in every case.)  Elsewhere the functions are loops over libm's. */
#ifndef BENCH_VEC_H
#define BENCH_VEC_H

#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
enum { VEC_BYTES = 64 };
#define VEC_F32(name) _ZGVeN16v_##name
#define VEC_F64(name) _ZGVeN8v_##name
#elif defined(__AVX2__)
enum { VEC_BYTES = 32 };
#define VEC_F32(name) _ZGVdN8v_##name
#define VEC_F64(name) _ZGVdN4v_##name
#else
enum { VEC_BYTES = 16 };
#endif
enum { LANES_f32 = VEC_BYTES / 4, LANES_f64 = VEC_BYTES / 8 };

/* vec_T in registers; load_T, store_T anywhere in memory; part: the first k lanes, zeros behind. */
#define VEC_TYPE(T, real)                                                                                   \
    typedef real vec_##T __attribute__((vector_size(VEC_BYTES)));                                           \
    typedef real at_##T __attribute__((vector_size(VEC_BYTES), aligned(sizeof(real)), may_alias));          \
    static inline vec_##T load_##T(const real *p) { return *(const at_##T *)p; }                            \
    static inline void store_##T(real *p, vec_##T x) { *(at_##T *)p = x; }                                  \
    static inline vec_##T all_##T(real x) { return x - (vec_##T){0}; }                                      \
    static inline vec_##T load_part_##T(const real *p, long k) {                                            \
        vec_##T x = {0};                                                                                    \
        memcpy(&x, p, (size_t)k * sizeof *p);                                                               \
        return x;                                                                                           \
    }                                                                                                       \
    static inline void store_part_##T(real *p, vec_##T x, long k) { memcpy(p, &x, (size_t)k * sizeof *p); } \
    typedef real half_##T __attribute__((vector_size(VEC_BYTES / 2)));                                      \
    typedef real quarter_##T __attribute__((vector_size(VEC_BYTES / 4)));                                   \
    static inline real total_##T(vec_##T x) {                                                               \
        half_##T h[2];                                                                                      \
        quarter_##T q[2];                                                                                   \
        real sum = 0;                                                                                       \
        memcpy(h, &x, sizeof h);                                                                            \
        h[0] += h[1];                                                                                       \
        memcpy(q, &h[0], sizeof q);                                                                         \
        q[0] += q[1];                                                                                       \
        for (int i = 0; i < LANES_##T / 4; i++) sum += q[0][i];                                             \
        return sum;                                                                                         \
    }
VEC_TYPE(f32, float)
VEC_TYPE(f64, double)

#ifdef VEC_F32
#define VEC_MATH(name)                                                          \
    vec_f32 VEC_F32(name##f)(vec_f32);                                          \
    vec_f64 VEC_F64(name)(vec_f64);                                             \
    static inline vec_f32 name##_f32(vec_f32 x) { return VEC_F32(name##f)(x); } \
    static inline vec_f64 name##_f64(vec_f64 x) { return VEC_F64(name)(x); }
#else
#define VEC_MATH(name)                                            \
    static inline vec_f32 name##_f32(vec_f32 x) {                 \
        for (int i = 0; i < LANES_f32; i++) x[i] = name##f(x[i]); \
        return x;                                                 \
    }                                                             \
    static inline vec_f64 name##_f64(vec_f64 x) {                 \
        for (int i = 0; i < LANES_f64; i++) x[i] = name(x[i]);    \
        return x;                                                 \
    }
#endif
VEC_MATH(sin)
VEC_MATH(cos)
VEC_MATH(exp)
VEC_MATH(log)
VEC_MATH(log1p)
VEC_MATH(tanh)

static inline vec_f64 sqrt_f64(vec_f64 x) {
    for (int i = 0; i < LANES_f64; i++) x[i] = sqrt(x[i]); /* one instruction after vectorization */
    return x;
}

typedef long mask_f64 __attribute__((vector_size(VEC_BYTES)));
/* where != 0 ? x : y, of what a comparison of vectors gives. */
static inline vec_f64 pick_f64(mask_f64 where, vec_f64 x, vec_f64 y) {
    return (vec_f64)(((mask_f64)x & where) | ((mask_f64)y & ~where));
}
static inline vec_f64 max_f64(vec_f64 x, vec_f64 y) { return pick_f64(x > y, x, y); }

#endif
