/* Elementwise kernels: a scalar body, written once, becomes the strip function
 * and (as text) the body of emitted C.
 *
 *     TN_STRIP1(sin, f64, double, double, sin(x))
 *     ... TN_FLOAT_STRIPS(sin)
 *
 * makes sin_f64 and sin_f64_body, and fills .strip and .c_body of a descriptor.
 * A body is an expression of x, y, z (its operands, in that order) that has the
 * output's value in every case: it stands in emitted C without this header.
 * TN_LOOP makes only the function, for kernels that choose one by parameters.
 */
#ifndef TN_STRIPS_H
#define TN_STRIPS_H

#include "base/isa.h"
#include "prims/prim.h"

/* A strip is compiled for any processor, for AVX2, and for one element (tn_i_strip_kinds); one for AVX-512 took 0.98 of
 * the time in the mean of bench/general.  Dense operands and a repeated scalar have loops of their own, which compilers
 * vectorize. */
#define TN_LOOP1_FOR(f, target, function, IN, OUT)                                                           \
    target static void function(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) { \
        const IN *a = in[0];                                                                                 \
        OUT *o = out;                                                                                        \
        const int64_t sa = s[0];                                                                             \
        if (sa == 1 && so == 1)                                                                              \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(a[i]);                              \
        else                                                                                                 \
            for (int64_t i = 0; i < n; i++) o[i * so] = f##_at(a[i * sa]);                                   \
    }
#define TN_LOOP1(name, suffix, IN, OUT, body)                                                   \
    static inline OUT name##_##suffix##_at(IN x) { return (OUT)(body); }                        \
    static void name##_##suffix##_one(const void *x, const void *y, const void *z, void *out) { \
        (void)y, (void)z;                                                                       \
        *(OUT *)out = name##_##suffix##_at(*(const IN *)x);                                     \
    }                                                                                           \
    TN_LOOP1_FOR(name##_##suffix, , name##_##suffix##_plain, IN, OUT)                           \
    TN_LOOP1_FOR(name##_##suffix, TN_TARGET_AVX2, name##_##suffix##_avx2, IN, OUT)              \
    TN_STRIP_MAIN(name##_##suffix)

/* n < 0 asks for the other kinds. */
#define TN_STRIP_MAIN(f)                                                                       \
    static void f(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) { \
        static const tn_i_strip_kinds kinds = {f##_one, f##_plain, f##_avx2};                  \
        if (n >= 0)                                                                            \
            f##_plain(n, in, s, out, so);                                                      \
        else                                                                                   \
            *(const tn_i_strip_kinds **)out = &kinds;                                          \
    }

#define TN_STRIP1(name, suffix, IN, OUT, body)          \
    static const char name##_##suffix##_body[] = #body; \
    TN_LOOP1(name, suffix, IN, OUT, body)

#define TN_LOOP2_FOR(f, target, function, X, Y, OUT)                                                         \
    target static void function(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) { \
        const X *a = in[0];                                                                                  \
        const Y *b = in[1];                                                                                  \
        OUT *o = out;                                                                                        \
        const int64_t sa = s[0], sb = s[1];                                                                  \
        if (sa == 1 && sb == 1 && so == 1)                                                                   \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(a[i], b[i]);                        \
        else if (sa == 1 && sb == 0 && so == 1 && n > 0) {                                                   \
            const Y y = b[0];                                                                                \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(a[i], y);                           \
        } else if (sa == 0 && sb == 1 && so == 1 && n > 0) {                                                 \
            const X x = a[0];                                                                                \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(x, b[i]);                           \
        } else                                                                                               \
            for (int64_t i = 0; i < n; i++) o[i * so] = f##_at(a[i * sa], b[i * sb]);                        \
    }
#define TN_LOOP2_OF(name, suffix, X, Y, OUT, body)                                              \
    static inline OUT name##_##suffix##_at(X x, Y y) { return (OUT)(body); }                    \
    static void name##_##suffix##_one(const void *x, const void *y, const void *z, void *out) { \
        (void)z;                                                                                \
        *(OUT *)out = name##_##suffix##_at(*(const X *)x, *(const Y *)y);                       \
    }                                                                                           \
    TN_LOOP2_FOR(name##_##suffix, , name##_##suffix##_plain, X, Y, OUT)                         \
    TN_LOOP2_FOR(name##_##suffix, TN_TARGET_AVX2, name##_##suffix##_avx2, X, Y, OUT)            \
    TN_STRIP_MAIN(name##_##suffix)
#define TN_STRIP2(name, suffix, IN, OUT, body)          \
    static const char name##_##suffix##_body[] = #body; \
    TN_LOOP2_OF(name, suffix, IN, IN, OUT, body)

/* Of three operands any may be repeated. */
#define TN_LOOP3_FOR(f, target, function, X, Y, Z, OUT)                                                      \
    target static void function(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) { \
        const X *a = in[0];                                                                                  \
        const Y *b = in[1];                                                                                  \
        const Z *c = in[2];                                                                                  \
        OUT *o = out;                                                                                        \
        const int64_t sa = s[0], sb = s[1], sc = s[2];                                                       \
        if (sa == 1 && sb == 1 && sc == 1 && so == 1)                                                        \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(a[i], b[i], c[i]);                  \
        else if (sa == 0 && sb == 1 && sc == 1 && so == 1 && n > 0) {                                        \
            const X x = a[0];                                                                                \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(x, b[i], c[i]);                     \
        } else if (sa == 1 && sb == 1 && sc == 0 && so == 1 && n > 0) {                                      \
            const Z z = c[0];                                                                                \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(a[i], b[i], z);                     \
        } else if (sa == 1 && sb == 0 && sc == 1 && so == 1 && n > 0) {                                      \
            const Y y = b[0];                                                                                \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(a[i], y, c[i]);                     \
        } else if (sa == 0 && sb == 1 && sc == 0 && so == 1 && n > 0) {                                      \
            const X x = a[0];                                                                                \
            const Z z = c[0];                                                                                \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(x, b[i], z);                        \
        } else if (sa == 1 && sb == 0 && sc == 0 && so == 1 && n > 0) {                                      \
            const Y y = b[0];                                                                                \
            const Z z = c[0];                                                                                \
            TN_INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = f##_at(a[i], y, z);                        \
        } else                                                                                               \
            for (int64_t i = 0; i < n; i++) o[i * so] = f##_at(a[i * sa], b[i * sb], c[i * sc]);             \
    }
#define TN_LOOP3_OF(name, suffix, X, Y, Z, OUT, body)                                           \
    static inline OUT name##_##suffix##_at(X x, Y y, Z z) { return (OUT)(body); }               \
    static void name##_##suffix##_one(const void *x, const void *y, const void *z, void *out) { \
        *(OUT *)out = name##_##suffix##_at(*(const X *)x, *(const Y *)y, *(const Z *)z);        \
    }                                                                                           \
    TN_LOOP3_FOR(name##_##suffix, , name##_##suffix##_plain, X, Y, Z, OUT)                      \
    TN_LOOP3_FOR(name##_##suffix, TN_TARGET_AVX2, name##_##suffix##_avx2, X, Y, Z, OUT)         \
    TN_STRIP_MAIN(name##_##suffix)
#define TN_STRIP3(name, suffix, X, Y, Z, OUT, body)     \
    static const char name##_##suffix##_body[] = #body; \
    TN_LOOP3_OF(name, suffix, X, Y, Z, OUT, body)

/* The descriptor's .strip and .c_body for a family of dtypes. */
#define TN_FLOAT_STRIPS(name)                                \
    .strip = {[TN_F32] = name##_f32, [TN_F64] = name##_f64}, \
    .c_body = {[TN_F32] = name##_f32_body, [TN_F64] = name##_f64_body}
#define TN_NUMBER_STRIPS(name)             \
    .strip = {[TN_F32] = name##_f32,       \
              [TN_F64] = name##_f64,       \
              [TN_I32] = name##_i32,       \
              [TN_I64] = name##_i64,       \
              [TN_U32] = name##_u32},      \
    .c_body = {[TN_F32] = name##_f32_body, \
               [TN_F64] = name##_f64_body, \
               [TN_I32] = name##_i32_body, \
               [TN_I64] = name##_i64_body, \
               [TN_U32] = name##_u32_body}
#define TN_INT_STRIPS(name)                                                         \
    .strip = {[TN_I32] = name##_i32, [TN_I64] = name##_i64, [TN_U32] = name##_u32}, \
    .c_body = {[TN_I32] = name##_i32_body, [TN_I64] = name##_i64_body, [TN_U32] = name##_u32_body}
#define TN_BIT_STRIPS(name)                                                                                \
    .strip = {[TN_BOOL] = name##_b8, [TN_I32] = name##_i32, [TN_I64] = name##_i64, [TN_U32] = name##_u32}, \
    .c_body = {[TN_BOOL] = name##_b8_body,                                                                 \
               [TN_I32] = name##_i32_body,                                                                 \
               [TN_I64] = name##_i64_body,                                                                 \
               [TN_U32] = name##_u32_body}
#define TN_ANY_STRIPS(name)                                                                        \
    .strip = {[TN_BOOL] = name##_b8, [TN_F32] = name##_f32, [TN_F64] = name##_f64,                 \
              [TN_I32] = name##_i32, [TN_I64] = name##_i64, [TN_U32] = name##_u32},                \
    .c_body = {[TN_BOOL] = name##_b8_body, [TN_F32] = name##_f32_body, [TN_F64] = name##_f64_body, \
               [TN_I32] = name##_i32_body, [TN_I64] = name##_i64_body, [TN_U32] = name##_u32_body}

/* The descriptor's .vector of a function that libraries for vectors have under the name of libm's. */
#define TN_VECTOR(name) .vector = {[TN_F32] = #name "f", [TN_F64] = #name}

/* A descriptor's dtypes.  Of those that are computed with as another one (held.h) no primitive has a strip or kernel of
 * its own, but for conversions to and from what holds them. */
#define TN_WIDE_FLOATS (1u << TN_F32 | 1u << TN_F64)
#define TN_FLOATS      (TN_WIDE_FLOATS | 1u << TN_F16 | 1u << TN_BF16)
#define TN_SIGNED      (1u << TN_I32 | 1u << TN_I64 | 1u << TN_I8 | 1u << TN_I16)
#define TN_UNSIGNED    (1u << TN_U32 | 1u << TN_U8 | 1u << TN_U16 | 1u << TN_U64)
#define TN_INTS        (TN_SIGNED | TN_UNSIGNED)
#define TN_BITS        (TN_INTS | 1u << TN_BOOL)
#define TN_NUMBERS     (TN_FLOATS | TN_INTS)
#define TN_ANY         (TN_NUMBERS | 1u << TN_BOOL)

/* Runs a strip over the whole output, for kernels that choose one by their
 * parameters.  Operands of rank 0 are repeated. */
tn_status tn_i_run_strip(const tn_i_kernel *k, tn_i_strip *strip);
/* The kernel of a primitive whose `choose` always has an answer. */
tn_status tn_i_chosen_kernel(const tn_i_kernel *k);

#endif
