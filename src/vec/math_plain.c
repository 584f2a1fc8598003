/* Vectors of 16 bytes. */
#include "vec/math.h"

#if TN_HAVE_ISA
#include <immintrin.h>

#define SET                 plain
#define BYTES               16
#define MVEC_F64(fn, v)     _ZGVbN2##v##_##fn
#define MVEC_F32(fn, v)     _ZGVbN4##v##_##fn
#define SLEEF_F64(fn, ulp)  Sleef_cinz_##fn##d2_##ulp##sse2
#define SLEEF_F32(fn, ulp)  Sleef_cinz_##fn##f4_##ulp##sse2
#define ANY(m)              (_mm_movemask_epi8((__m128i)(m)) != 0)
#define BEYOND_F64(x, most) (_mm_movemask_pd(_mm_cmpgt_pd(_mm_andnot_pd(_mm_set1_pd(-0.0), x), _mm_set1_pd(most))) != 0)
#define BEYOND_F32(x, most) \
    (_mm_movemask_ps(_mm_cmpgt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), x), _mm_set1_ps(most))) != 0)
#include "vec/math_set.h"
#else
const tn_i_vec_named tn_i_mvec_plain[] = {{0}}, tn_i_sleef_plain[] = {{0}}, tn_i_own_plain[] = {{0}};
#endif
