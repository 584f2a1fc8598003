/* Kernels of small products with vectors of 64 bytes. */
#include "base/machine.h"
#include "run/small_gemm.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include "run/simd.h"

#define TARGET  TN_AVX512
#define INLINE  TN_AVX512 static inline __attribute__((always_inline))
#define TALLEST 8

/* The sums of the lanes of four vectors, each as _mm512_reduce_add_pd takes it: the upper half to the lower one, until
 * one is left. */
INLINE void reduce4_f64(__m512d a, __m512d b, __m512d c, __m512d d, double *to) {
    const __m512i evens = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
    const __m512d ab = _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xEE));
    const __m512d cd = _mm512_add_pd(_mm512_shuffle_f64x2(c, d, 0x44), _mm512_shuffle_f64x2(c, d, 0xEE));
    const __m512d two = _mm512_add_pd(_mm512_shuffle_f64x2(ab, cd, 0x88), _mm512_shuffle_f64x2(ab, cd, 0xDD));
    const __m512d one = _mm512_add_pd(two, _mm512_permute_pd(two, 0x55));
    _mm256_storeu_pd(to, _mm512_castpd512_pd256(_mm512_permutexvar_pd(evens, one)));
}

/* Row i of to (ld apart) is column i of from (rs apart): 8 x 8. */
INLINE void turn8_f64(const double *from, int64_t rs, double *to, int64_t ld) {
    __m512d pair[8], four[8];
    UNROLL for (int i = 0; i < 8; i += 2) {
        const __m512d up = _mm512_loadu_pd(from + i * rs), down = _mm512_loadu_pd(from + (i + 1) * rs);
        pair[i] = _mm512_unpacklo_pd(up, down); /* columns 0, 2, 4, 6 of two rows */
        pair[i + 1] = _mm512_unpackhi_pd(up, down);
    }
    UNROLL for (int i = 0; i < 8; i += 4) UNROLL for (int odd = 0; odd < 2; odd++) {
        four[i + odd] = _mm512_shuffle_f64x2(pair[i + odd], pair[i + 2 + odd], 0x88); /* columns 0 and 4 of four rows */
        four[i + 2 + odd] = _mm512_shuffle_f64x2(pair[i + odd], pair[i + 2 + odd], 0xDD);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        _mm512_storeu_pd(to + i * ld, _mm512_shuffle_f64x2(four[i], four[i + 4], 0x88));
        _mm512_storeu_pd(to + (i + 4) * ld, _mm512_shuffle_f64x2(four[i], four[i + 4], 0xDD));
    }
}

#define NAME(x)         x##_f64
#define REAL            double
#define VEC             __m512d
#define LANES           8
#define MASK            __mmask8
#define FIRST(n)        ((__mmask8)((1u << (n)) - 1u))
#define ZERO            _mm512_setzero_pd
#define LOAD            _mm512_loadu_pd
#define LOAD_SOME(p, m) _mm512_maskz_loadu_pd(m, p)
#define STORE           _mm512_storeu_pd
#define STORE_SOME      _mm512_mask_storeu_pd
#define SPREAD          _mm512_set1_pd
#define MULADD          _mm512_fmadd_pd
#define ADD             _mm512_add_pd
#define MUL             _mm512_mul_pd
#define REDUCE          _mm512_reduce_add_pd
#define REDUCE4         reduce4_f64
#define BLOCK           4
#define TURN            tn_i_turn_f64
#define SQUARE          8
#define TURN_SQUARE     turn8_f64
#define WAYS            4
#include "run/small_gemm_tile.h"

#define NAME(x)         x##_f32
#define REAL            float
#define VEC             __m512
#define LANES           16
#define MASK            __mmask16
#define FIRST(n)        ((__mmask16)((1u << (n)) - 1u))
#define ZERO            _mm512_setzero_ps
#define LOAD            _mm512_loadu_ps
#define LOAD_SOME(p, m) _mm512_maskz_loadu_ps(m, p)
#define STORE           _mm512_storeu_ps
#define STORE_SOME      _mm512_mask_storeu_ps
#define SPREAD          _mm512_set1_ps
#define MULADD          _mm512_fmadd_ps
#define ADD             _mm512_add_ps
#define MUL             _mm512_mul_ps
#define REDUCE          _mm512_reduce_add_ps
#define BLOCK           8
#define TURN            tn_i_turn_f32
#define SQUARE          BLOCK
#define TURN_SQUARE     TURN
#define WAYS            4
#include "run/small_gemm_tile.h"

const tn_i_small *tn_i_small_avx512(int dtype) { return dtype == TN_F64 ? &table_f64 : &table_f32; }

#else

const tn_i_small *tn_i_small_avx512(int dtype) {
    (void)dtype;
    return NULL;
}

#endif
