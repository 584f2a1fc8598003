/* A value of each row for all elements of the row.
 *
 * A row's numbers are stored as whole vectors that reach into the next row, which is stored after it: so a short row
 * costs as many stores as it has vectors, whatever its length. */
#include "vec/vec.h"

#include <string.h>

typedef uint64_t u64x8 __attribute__((vector_size(64)));
typedef uint32_t u32x16 __attribute__((vector_size(64)));
typedef uint8_t u8x64 __attribute__((vector_size(64)));

/* The first rows, whose vectors end within the result. */
static int64_t roomy(int64_t n, int64_t each, int64_t per) {
    const int64_t up = (each + per - 1) / per * per, short_of = (up + each - 1) / each - 1;
    return n > short_of ? n - short_of : 0;
}

#define SPREAD(name, target, T, V)                                                                \
    target static void name(const void *from, int64_t step, int64_t n, int64_t each, void *out) { \
        enum { PER = sizeof(V) / sizeof(T) };                                                     \
        const T *x = from;                                                                        \
        T *o = out;                                                                               \
        const int64_t whole = roomy(n, each, PER);                                                \
        int64_t r = 0;                                                                            \
        for (; r < whole; r++, o += each) {                                                       \
            V v;                                                                                  \
            for (int l = 0; l < PER; l++) v[l] = x[r * step];                                     \
            for (int64_t i = 0; i < each; i += PER) memcpy(o + i, &v, sizeof v);                  \
        }                                                                                         \
        for (; r < n; r++, o += each)                                                             \
            for (int64_t i = 0; i < each; i++) o[i] = x[r * step];                                \
    }
#define SPREADS(name, T, V)                   \
    SPREAD(name##_plain, , T, V)              \
    SPREAD(name##_avx2, TN_TARGET_AVX2, T, V) \
    SPREAD(name##_avx512, TN_TARGET_AVX512, T, V)
SPREADS(spread8, uint64_t, u64x8)
SPREADS(spread4, uint32_t, u32x16)
SPREADS(spread1, uint8_t, u8x64)

tn_i_spread *tn_i_vec_spread(int size, tn_i_isa isa) {
    static tn_i_spread *const of8[] = {spread8_plain, spread8_avx2, spread8_avx512};
    static tn_i_spread *const of4[] = {spread4_plain, spread4_avx2, spread4_avx512};
    static tn_i_spread *const of1[] = {spread1_plain, spread1_avx2, spread1_avx512};
    return (size == 8 ? of8 : size == 4 ? of4 : of1)[isa];
}
