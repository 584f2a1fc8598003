/* Reductions of tiles, in the order of exec/nest.h. */
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

/* V: a vector of 64 bytes; M: one of integers as wide; VECTORS of them are the lanes.  A row's last elements are read
 * together with what is behind them, where there is something, and the identity taken for that. */
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

/* As many rows at once as a vector has elements: h[g] has the lanes of row g, and in each step the rows of h[g] and
 * h[g + by] share a vector, the first halves of their lanes in one, the second halves in another.  What is left in h[0]
 * is each row's lane 0, in order. */
#ifdef __clang__
#define ALL_AT_ONCE _Pragma("unroll")
#else
#define ALL_AT_ONCE _Pragma("GCC unroll 16")
#endif
#define MIX(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#define LIST(...)      __VA_ARGS__
#define HALF(V, M, OP, h, by, LOW, HIGH)                                                      \
    ALL_AT_ONCE for (int g = 0; g < by; g++) {                                                \
        const V low = MIX(h[g], h[g + by], LIST LOW), high = MIX(h[g], h[g + by], LIST HIGH); \
        h[g] = OP(V, M, low, high);                                                           \
    }
/* VECTORS of lanes */
#define JOIN2(V, M, OP, h)                                                         \
    HALF(V, M, OP, h, 4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)) \
    HALF(V, M, OP, h, 2, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)) \
    HALF(V, M, OP, h, 1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15))
#define JOIN1(V, M, OP, h)                                                            \
    HALF(V, M, OP, h, 8, (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),    \
         (8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))              \
    HALF(V, M, OP, h, 4, (0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),  \
         (4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))                \
    HALF(V, M, OP, h, 2, (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),  \
         (2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))                \
    HALF(V, M, OP, h, 1, (0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30), \
         (1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))

/* ALIKE: the instruction set has shuffles of such vectors. */
#define ROWS(name, target, T, V, M, VECTORS, OP, ALIKE)                                                          \
    /* h: the lanes of a row, by halves to those of one vector; `there` elements may be read. */                 \
    target static inline __attribute__((always_inline)) void name##_row(const T *b, int64_t row, int64_t there,  \
                                                                        const V *first, const V *keep, V *h) {   \
        enum { PER = 64 / sizeof(T) };                                                                           \
        V a[VECTORS], v;                                                                                         \
        const int64_t tail = row % TN_LANES, whole = row - tail;                                                 \
        for (int k = 0; k < VECTORS; k++) a[k] = first[k];                                                       \
        for (int64_t i = 0; i < whole; i += TN_LANES) {                                                          \
            for (int k = 0; k < VECTORS; k++) {                                                                  \
                memcpy(&v, b + i + k * PER, sizeof v);                                                           \
                a[k] = OP(V, M, a[k], v);                                                                        \
            }                                                                                                    \
        }                                                                                                        \
        if (tail) {                                                                                              \
            const T *from = b + whole;                                                                           \
            T part[TN_LANES];                                                                                    \
            if (there < whole + TN_LANES) {                                                                      \
                memset(part, 0, sizeof part);                                                                    \
                from = memcpy(part, from, (size_t)tail * sizeof(T));                                             \
            }                                                                                                    \
            for (int k = 0; k < VECTORS; k++) {                                                                  \
                memcpy(&v, from + k * PER, sizeof v);                                                            \
                v = PICK(V, M, (M)keep[k], v, first[k]);                                                         \
                a[k] = OP(V, M, a[k], v);                                                                        \
            }                                                                                                    \
        }                                                                                                        \
        for (int k = VECTORS / 2; k > 0; k /= 2) a[0] = OP(V, M, a[0], a[k]);                                    \
        *h = a[0];                                                                                               \
    }                                                                                                            \
    target static void name##_rows(const void *x, int64_t rows, int64_t row, void *out) {                        \
        enum { PER = 64 / sizeof(T) };                                                                           \
        const T *b = x, *end = b + rows * row;                                                                   \
        T *o = out, mask[TN_LANES], same[TN_LANES];                                                              \
        V first[VECTORS], keep[VECTORS], h[PER];                                                                 \
        int64_t r = 0;                                                                                           \
        for (int l = 0; l < TN_LANES; l++) same[l] = name##_identity;                                            \
        memset(mask, 0, sizeof mask);                                                                            \
        memset(mask, 0xff, (size_t)(row % TN_LANES) * sizeof(T));                                                \
        memcpy(first, same, sizeof first);                                                                       \
        memcpy(keep, mask, sizeof keep);                                                                         \
        for (const int64_t last = ALIKE ? rows - PER : -1; r <= last || (last > 0 && r < rows); r += PER) {      \
            if (r > last) r = last, b = end - PER * row; /* some of them again */                                \
            ALL_AT_ONCE for (int g = 0; g < PER; g++, b += row) name##_row(b, row, end - b, first, keep, &h[g]); \
            JOIN##VECTORS(V, M, OP, h) memcpy(o + r, h, sizeof h[0]);                                            \
        }                                                                                                        \
        for (; r < rows; r++, b += row) {                                                                        \
            name##_row(b, row, end - b, first, keep, h);                                                         \
            LAST##VECTORS(V, M, OP, h) o[r] = h[0][0];                                                           \
        }                                                                                                        \
    }

#define KIND(name, target, T, V, M, VECTORS, OP, ALIKE) \
    INTO(name, target, T, OP)                           \
    LANES(name, target, T, V, M, VECTORS, OP)           \
    ROWS(name, target, T, V, M, VECTORS, OP, ALIKE)
#define FOLD(name, T, V, M, VECTORS, OP, identity)                                                          \
    static const T name##_plain_identity = identity, name##_avx2_identity = identity,                       \
                   name##_avx512_identity = identity;                                                       \
    KIND(name##_plain, , T, V, M, VECTORS, OP, 0)                                                           \
    KIND(name##_avx2, TN_TARGET_AVX2, T, V, M, VECTORS, OP, 0)                                              \
    KIND(name##_avx512, TN_TARGET_AVX512, T, V, M, VECTORS, OP, 1)                                          \
    static const tn_i_vec_fold name[] = {                                                                   \
        {name##_plain_begin, name##_plain_into, name##_plain_lanes, name##_plain_halve, name##_plain_rows}, \
        {name##_avx2_begin, name##_avx2_into, name##_avx2_lanes, name##_avx2_halve, name##_avx2_rows},      \
        {name##_avx512_begin, name##_avx512_into, name##_avx512_lanes, name##_avx512_halve, name##_avx512_rows}};

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
    static void name##_rows(const void *x, int64_t rows, int64_t row, void *out) {         \
        const uint8_t *b = x;                                                              \
        uint8_t *o = out;                                                                  \
        for (int64_t r = 0; r < rows; r++, b += row) {                                     \
            o[r] = identity;                                                               \
            for (int64_t i = 0; i < row; i++) o[r] = ONE_##OP(o[r], b[i]);                 \
        }                                                                                  \
    }                                                                                      \
    static const tn_i_vec_fold name = {name##_begin, name##_into, name##_lanes, name##_halve, name##_rows};
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

/* The identity as a number of the dtype. */
static uint64_t bits_of(int dtype, double f, int64_t i) {
    uint64_t bits = 0;
    const float g = (float)f;
    const int32_t j = (int32_t)i;
    const uint8_t k = (uint8_t)i;
    switch (dtype) {
    case TN_F64: memcpy(&bits, &f, sizeof f); break;
    case TN_F32: memcpy(&bits, &g, sizeof g); break;
    case TN_I64: memcpy(&bits, &i, sizeof i); break;
    case TN_I32:
    case TN_U32: memcpy(&bits, &j, sizeof j); break;
    default: memcpy(&bits, &k, sizeof k); break;
    }
    return bits;
}

uint64_t tn_i_fold_identity(int fold, int dtype) {
    const bool small = dtype == TN_I32, logical = dtype == TN_BOOL, natural = logical || dtype == TN_U32;
    switch (fold) {
    case TN_FOLD_PROD: return bits_of(dtype, 1, 1);
    case TN_FOLD_MAX: return bits_of(dtype, -INFINITY, natural ? 0 : small ? INT32_MIN : INT64_MIN);
    case TN_FOLD_MIN:
        return bits_of(dtype, INFINITY, logical ? 1 : natural ? UINT32_MAX : small ? INT32_MAX : INT64_MAX);
    default: return bits_of(dtype, 0, 0);
    }
}
