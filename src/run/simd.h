/* What the vector kernels of products share: instruction sets of functions, loops that are to be unrolled, and small
 * blocks turned over in registers.  For x86-64 only. */
#ifndef TN_SIMD_H
#define TN_SIMD_H

#include <immintrin.h>
#include <stdint.h>

#define TN_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define TN_AVX2   __attribute__((target("avx2,fma")))

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 24")
#endif

/* Makes the compiler forget what it knows of an integer: it then computes with it where it stands, not before all loops
 * around, where it would have to keep more than there are registers for. */
#define HIDE(x) __asm__("" : "+r"(x))

/* Row i of to (ld apart) is column i of from (rs apart): 4 x 4. */
TN_AVX2 static inline __attribute__((always_inline)) void tn_i_turn_f64(const double *from, int64_t rs, double *to,
                                                                        int64_t ld) {
    const __m256d a = _mm256_loadu_pd(from), b = _mm256_loadu_pd(from + rs);
    const __m256d c = _mm256_loadu_pd(from + 2 * rs), d = _mm256_loadu_pd(from + 3 * rs);
    const __m256d ab = _mm256_unpacklo_pd(a, b), AB = _mm256_unpackhi_pd(a, b);
    const __m256d cd = _mm256_unpacklo_pd(c, d), CD = _mm256_unpackhi_pd(c, d);
    _mm256_storeu_pd(to, _mm256_permute2f128_pd(ab, cd, 0x20));
    _mm256_storeu_pd(to + ld, _mm256_permute2f128_pd(AB, CD, 0x20));
    _mm256_storeu_pd(to + 2 * ld, _mm256_permute2f128_pd(ab, cd, 0x31));
    _mm256_storeu_pd(to + 3 * ld, _mm256_permute2f128_pd(AB, CD, 0x31));
}

/* The same, 8 x 8. */
TN_AVX2 static inline __attribute__((always_inline)) void tn_i_turn_f32(const float *from, int64_t rs, float *to,
                                                                        int64_t ld) {
    __m256 row[8], pair[8];
    UNROLL for (int i = 0; i < 8; i++) row[i] = _mm256_loadu_ps(from + i * rs);
    UNROLL for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    UNROLL for (int i = 0; i < 8; i += 4) UNROLL for (int h = 0; h < 2; h++) {
        row[i + 2 * h] = _mm256_shuffle_ps(pair[i + h], pair[i + h + 2], 0x44);
        row[i + 2 * h + 1] = _mm256_shuffle_ps(pair[i + h], pair[i + h + 2], 0xEE);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(to + i * ld, _mm256_permute2f128_ps(row[i], row[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * ld, _mm256_permute2f128_ps(row[i], row[i + 4], 0x31));
    }
}

#endif
