/* Vectors of 64 bytes. */
#include "vec/math.h"

#if TN_HAVE_ISA && defined(__AVX512F__) && defined(__AVX512DQ__)
#define SET                avx512
#define BYTES              64
#define MVEC_F64(fn, v)    _ZGVeN8##v##_##fn
#define MVEC_F32(fn, v)    _ZGVeN16##v##_##fn
#define SLEEF_F64(fn, ulp) Sleef_finz_##fn##d8_##ulp##avx512f
#define SLEEF_F32(fn, ulp) Sleef_finz_##fn##f16_##ulp##avx512f
#include "vec/math_set.h"
#else
const tn_i_vec_named tn_i_mvec_avx512[] = {{0}}, tn_i_sleef_avx512[] = {{0}};
#endif
