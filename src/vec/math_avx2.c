/* Vectors of 32 bytes. */
#include "vec/math.h"

#if TN_HAVE_ISA && defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#define SET                avx2
#define BYTES              32
#define MVEC_F64(fn, v)    _ZGVdN4##v##_##fn
#define MVEC_F32(fn, v)    _ZGVdN8##v##_##fn
#define SLEEF_F64(fn, ulp) Sleef_finz_##fn##d4_##ulp##avx2
#define SLEEF_F32(fn, ulp) Sleef_finz_##fn##f8_##ulp##avx2
#define FMA(a, b, c)       _mm256_fmadd_pd(a, b, c)
#define TRUNC(x)           _mm256_round_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define SQRT(x)            _mm256_sqrt_pd(x)
#define FMAF(a, b, c)      _mm256_fmadd_ps(a, b, c)
#define SQRTF(x)           _mm256_sqrt_ps(x)
#define TRUNCF(x)          _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define ANY(m)             (_mm256_movemask_epi8((__m256i)(m)) != 0)
#define BEYOND_F64(x, most)                                                                                            \
    (_mm256_movemask_pd(_mm256_cmp_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), x), _mm256_set1_pd(most), _CMP_GT_OQ)) != \
     0)
#define BEYOND_F32(x, most) \
    (_mm256_movemask_ps(    \
         _mm256_cmp_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x), _mm256_set1_ps(most), _CMP_GT_OQ)) != 0)
#include "vec/math_set.h"
#else
const tn_i_vec_named tn_i_mvec_avx2[] = {{0}}, tn_i_sleef_avx2[] = {{0}}, tn_i_own_avx2[] = {{0}};
#endif
