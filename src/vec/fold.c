/* Reductions of strips, in the order of loop/loop.h. */
#include "vec/vec.h"

#include <math.h>
#include <string.h>

/* Sixteen lanes are two vectors of 64 bytes for elements of 8 bytes, one for elements of 4; compilers cut them into
 * what the instruction set has. */
typedef double f64x8 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef int64_t i64x8 __attribute__((vector_size(64)));
typedef int32_t i32x16 __attribute__((vector_size(64)));
typedef uint64_t u64x8 __attribute__((vector_size(64)));
typedef uint32_t u32x16 __attribute__((vector_size(64)));

#define ADD(V, M, a, b)      ((a) + (b))
#define MULTIPLY(V, M, a, b) ((a) * (b))
#define PICK(V, M, m, a, b)  ((V)(((M)(a) & (m)) | ((M)(b) & ~(m))))
#define MAX_F(V, M, a, b)    PICK(V, M, (M)((b) > (a)) | (M)((b) != (b)), b, a)
#define MIN_F(V, M, a, b)    PICK(V, M, (M)((b) < (a)) | (M)((b) != (b)), b, a)
#define MAX_I(V, M, a, b)    PICK(V, M, (M)((b) > (a)), b, a)
#define MIN_I(V, M, a, b)    PICK(V, M, (M)((b) < (a)), b, a)

#define ONE_ADD(a, b)      ((a) + (b))
#define ONE_MULTIPLY(a, b) ((a) * (b))
#define ONE_MAX_F(a, b)    ((b) > (a) || (b) != (b) ? (b) : (a))
#define ONE_MIN_F(a, b)    ((b) < (a) || (b) != (b) ? (b) : (a))
#define ONE_MAX_I(a, b)    ((b) > (a) ? (b) : (a))
#define ONE_MIN_I(a, b)    ((b) < (a) ? (b) : (a))

#define INTO(name, target, T, OP)                                                      \
    target static void name##_into(void *acc, const void *x, int64_t n) {              \
        T *a = acc;                                                                    \
        const T *b = x;                                                                \
        TN_INDEPENDENT for (int64_t i = 0; i < n; i++) a[i] = (T)ONE_##OP(a[i], b[i]); \
    }

/* Element i of the result is element (i + by) of x, around its end. */
#define TURN8(x, by) \
    __builtin_shufflevector(x, x, by, 1 + by, 2 + by, 3 + by, (4 + by) % 8, (5 + by) % 8, (6 + by) % 8, (7 + by) % 8)
#define TURN16(x, by)                                                                                        \
    __builtin_shufflevector(x, x, by, 1 + by, 2 + by, 3 + by, 4 + by, 5 + by, 6 + by, 7 + by, (8 + by) % 16, \
                            (9 + by) % 16, (10 + by) % 16, (11 + by) % 16, (12 + by) % 16, (13 + by) % 16,   \
                            (14 + by) % 16, (15 + by) % 16)
/* Lanes by halves: element 0 is the result, of the others nothing is said. */
#define HALVES2(V, M, OP, v)     \
    v[0] = OP(V, M, v[0], v[1]); \
    LAST2(V, M, OP, v)
#define HALVES1 LAST1
#define LAST2(V, M, OP, v)                 \
    v[0] = OP(V, M, v[0], TURN8(v[0], 4)); \
    v[0] = OP(V, M, v[0], TURN8(v[0], 2)); \
    v[0] = OP(V, M, v[0], TURN8(v[0], 1));
#define LAST1(V, M, OP, v)                  \
    v[0] = OP(V, M, v[0], TURN16(v[0], 8)); \
    v[0] = OP(V, M, v[0], TURN16(v[0], 4)); \
    v[0] = OP(V, M, v[0], TURN16(v[0], 2)); \
    v[0] = OP(V, M, v[0], TURN16(v[0], 1));

/* V: a vector of 64 bytes; M: one of integers as wide; VECTORS of them are the lanes. */
#define LANES(name, target, T, V, M, VECTORS, OP)                                     \
    target static void name##_lanes(void *acc, const void *x, int64_t n) {            \
        enum { PER = 64 / sizeof(T) };                                                \
        const T *b = x;                                                               \
        T *last = acc;                                                                \
        V a[VECTORS];                                                                 \
        int64_t i = 0;                                                                \
        memcpy(a, acc, sizeof a);                                                     \
        for (; i + TN_LANES <= n; i += TN_LANES)                                      \
            for (int k = 0; k < VECTORS; k++) {                                       \
                V v;                                                                  \
                memcpy(&v, b + i + k * PER, sizeof v);                                \
                a[k] = OP(V, M, a[k], v);                                             \
            }                                                                         \
        memcpy(acc, a, sizeof a);                                                     \
        for (int64_t l = 0; i + l < n; l++) last[l] = (T)ONE_##OP(last[l], b[i + l]); \
    }                                                                                 \
    target static void name##_begin(void *acc) {                                      \
        T same[TN_LANES];                                                             \
        V a[VECTORS];                                                                 \
        for (int l = 0; l < TN_LANES; l++) same[l] = name##_identity;                 \
        memcpy(a, same, sizeof a);                                                    \
        memcpy(acc, a, sizeof a);                                                     \
    }                                                                                 \
    target static void name##_halve(void *acc) {                                      \
        V a[VECTORS];                                                                 \
        memcpy(a, acc, sizeof a);                                                     \
        HALVES##VECTORS(V, M, OP, a) * (T *)acc = a[0][0];                            \
    }

#define KIND(name, target, T, V, M, VECTORS, OP) \
    INTO(name, target, T, OP)                    \
    LANES(name, target, T, V, M, VECTORS, OP)
#define FOLD(name, T, V, M, VECTORS, OP, identity)                                       \
    static const T name##_plain_identity = identity, name##_avx2_identity = identity,    \
                   name##_avx512_identity = identity;                                    \
    KIND(name##_plain, , T, V, M, VECTORS, OP)                                           \
    KIND(name##_avx2, TN_TARGET_AVX2, T, V, M, VECTORS, OP)                              \
    KIND(name##_avx512, TN_TARGET_AVX512, T, V, M, VECTORS, OP)                          \
    static const tn_i_vec_fold name[] = {                                                \
        {name##_plain_begin, name##_plain_into, name##_plain_lanes, name##_plain_halve}, \
        {name##_avx2_begin, name##_avx2_into, name##_avx2_lanes, name##_avx2_halve},     \
        {name##_avx512_begin, name##_avx512_into, name##_avx512_lanes, name##_avx512_halve}};

FOLD(sum_f64, double, f64x8, i64x8, 2, ADD, 0)
FOLD(sum_f32, float, f32x16, i32x16, 1, ADD, 0)
FOLD(sum_i64, uint64_t, u64x8, i64x8, 2, ADD, 0)
FOLD(sum_i32, uint32_t, u32x16, i32x16, 1, ADD, 0)
FOLD(prod_f64, double, f64x8, i64x8, 2, MULTIPLY, 1)
FOLD(prod_f32, float, f32x16, i32x16, 1, MULTIPLY, 1)
FOLD(prod_i64, uint64_t, u64x8, i64x8, 2, MULTIPLY, 1)
FOLD(prod_i32, uint32_t, u32x16, i32x16, 1, MULTIPLY, 1)
FOLD(max_f64, double, f64x8, i64x8, 2, MAX_F, -INFINITY)
FOLD(max_f32, float, f32x16, i32x16, 1, MAX_F, -INFINITY)
FOLD(max_i64, int64_t, i64x8, i64x8, 2, MAX_I, INT64_MIN)
FOLD(max_i32, int32_t, i32x16, i32x16, 1, MAX_I, INT32_MIN)
FOLD(max_u32, uint32_t, u32x16, i32x16, 1, MAX_I, 0)
FOLD(min_f64, double, f64x8, i64x8, 2, MIN_F, INFINITY)
FOLD(min_f32, float, f32x16, i32x16, 1, MIN_F, INFINITY)
FOLD(min_i64, int64_t, i64x8, i64x8, 2, MIN_I, INT64_MAX)
FOLD(min_i32, int32_t, i32x16, i32x16, 1, MIN_I, INT32_MAX)
FOLD(min_u32, uint32_t, u32x16, i32x16, 1, MIN_I, UINT32_MAX)

/* Bools: "any" and "all", for which any order will do. */
#define BOOLS(name, OP, identity)                                                          \
    INTO(name, , uint8_t, OP)                                                              \
    static void name##_begin(void *acc) { memset(acc, identity, TN_LANES); }               \
    static void name##_lanes(void *acc, const void *x, int64_t n) {                        \
        uint8_t *a = acc;                                                                  \
        const uint8_t *b = x;                                                              \
        for (int64_t i = 0; i < n; i++) a[i % TN_LANES] = ONE_##OP(a[i % TN_LANES], b[i]); \
    }                                                                                      \
    static void name##_halve(void *acc) {                                                  \
        uint8_t *a = acc;                                                                  \
        for (int l = 1; l < TN_LANES; l++) a[0] = ONE_##OP(a[0], a[l]);                    \
    }                                                                                      \
    static const tn_i_vec_fold name = {name##_begin, name##_into, name##_lanes, name##_halve};
BOOLS(max_b8, MAX_I, 0)
BOOLS(min_b8, MIN_I, 1)

const tn_i_vec_fold *tn_i_vec_fold_of(int fold, int dtype, tn_i_isa isa) {
    static const tn_i_vec_fold *const table[][TN_NDTYPES] = {
        [TN_FOLD_SUM] =
            {[TN_F64] = sum_f64, [TN_F32] = sum_f32, [TN_I64] = sum_i64, [TN_I32] = sum_i32, [TN_U32] = sum_i32},
        [TN_FOLD_PROD] =
            {[TN_F64] = prod_f64, [TN_F32] = prod_f32, [TN_I64] = prod_i64, [TN_I32] = prod_i32, [TN_U32] = prod_i32},
        [TN_FOLD_MAX] =
            {[TN_F64] = max_f64, [TN_F32] = max_f32, [TN_I64] = max_i64, [TN_I32] = max_i32, [TN_U32] = max_u32},
        [TN_FOLD_MIN] = {
            [TN_F64] = min_f64, [TN_F32] = min_f32, [TN_I64] = min_i64, [TN_I32] = min_i32, [TN_U32] = min_u32}};
    if (fold == TN_FOLD_MAX && dtype == TN_BOOL) return &max_b8;
    if (fold == TN_FOLD_MIN && dtype == TN_BOOL) return &min_b8;
    if (fold < TN_FOLD_SUM || fold > TN_FOLD_MIN || !table[fold][dtype]) return NULL;
    return table[fold][dtype] + isa;
}
