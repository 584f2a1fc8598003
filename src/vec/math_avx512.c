/* Vectors of 64 bytes. */
#include "vec/math.h"

#if TN_HAVE_ISA && defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#define SET                 avx512
#define BYTES               64
#define MVEC_F64(fn, v)     _ZGVeN8##v##_##fn
#define MVEC_F32(fn, v)     _ZGVeN16##v##_##fn
#define SLEEF_F64(fn, ulp)  Sleef_finz_##fn##d8_##ulp##avx512f
#define SLEEF_F32(fn, ulp)  Sleef_finz_##fn##f16_##ulp##avx512f
#define FMA(a, b, c)        _mm512_fmadd_pd(a, b, c)
#define TRUNC(x)            _mm512_roundscale_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define SQRT(x)             _mm512_sqrt_pd(x)
#define FMAF(a, b, c)       _mm512_fmadd_ps(a, b, c)
#define SQRTF(x)            _mm512_sqrt_ps(x)
#define TRUNCF(x)           _mm512_roundscale_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define ANY(m)              (_mm512_test_epi64_mask((__m512i)(m), (__m512i)(m)) != 0)
#define BEYOND_F64(x, most) (_mm512_cmp_pd_mask(_mm512_abs_pd(x), _mm512_set1_pd(most), _CMP_GT_OQ) != 0)
#define BEYOND_F32(x, most) (_mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(most), _CMP_GT_OQ) != 0)
#include "vec/math_set.h"
#else
const tn_i_vec_named tn_i_mvec_avx512[] = {{0}}, tn_i_sleef_avx512[] = {{0}}, tn_i_own_avx512[] = {{0}};
#endif
