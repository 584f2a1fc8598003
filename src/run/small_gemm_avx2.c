/* Kernels of small products with vectors of 32 bytes. */
#include "base/machine.h"
#include "run/small_gemm.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include "run/simd.h"

#define TARGET  TN_AVX2
#define INLINE  TN_AVX2 static inline __attribute__((always_inline))
#define TALLEST 4

/* The first n lanes: a window over ones, then zeros. */
static const int64_t window_f64[8] = {-1, -1, -1, -1};
static const int32_t window_f32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

/* The upper half of the lanes is added to the lower one, until one is left. */
INLINE double reduce_f64(__m256d x) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

INLINE float reduce_f32(__m256 x) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#define NAME(x)     x##_f64
#define REAL        double
#define VEC         __m256d
#define LANES       4
#define MASK        __m256i
#define FIRST(n)    _mm256_loadu_si256((const __m256i *)(const void *)(window_f64 + 4 - (n)))
#define ZERO        _mm256_setzero_pd
#define LOAD        _mm256_loadu_pd
#define LOAD_SOME   _mm256_maskload_pd
#define STORE       _mm256_storeu_pd
#define STORE_SOME  _mm256_maskstore_pd
#define SPREAD      _mm256_set1_pd
#define MULADD      _mm256_fmadd_pd
#define ADD         _mm256_add_pd
#define MUL         _mm256_mul_pd
#define REDUCE      reduce_f64
#define BLOCK       4
#define TURN        tn_i_turn_f64
#define SQUARE      BLOCK
#define TURN_SQUARE TURN
#define WAYS        2
#include "run/small_gemm_tile.h"

#define NAME(x)     x##_f32
#define REAL        float
#define VEC         __m256
#define LANES       8
#define MASK        __m256i
#define FIRST(n)    _mm256_loadu_si256((const __m256i *)(const void *)(window_f32 + 8 - (n)))
#define ZERO        _mm256_setzero_ps
#define LOAD        _mm256_loadu_ps
#define LOAD_SOME   _mm256_maskload_ps
#define STORE       _mm256_storeu_ps
#define STORE_SOME  _mm256_maskstore_ps
#define SPREAD      _mm256_set1_ps
#define MULADD      _mm256_fmadd_ps
#define ADD         _mm256_add_ps
#define MUL         _mm256_mul_ps
#define REDUCE      reduce_f32
#define BLOCK       8
#define TURN        tn_i_turn_f32
#define SQUARE      BLOCK
#define TURN_SQUARE TURN
#define WAYS        2
#include "run/small_gemm_tile.h"

const tn_i_small *tn_i_small_avx2(int dtype) { return dtype == TN_F64 ? &table_f64 : &table_f32; }

#else

const tn_i_small *tn_i_small_avx2(int dtype) {
    (void)dtype;
    return NULL;
}

#endif
