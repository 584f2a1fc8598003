/* Vectors of 32 bytes. */
#include "vec/math.h"

#if TN_HAVE_ISA && defined(__AVX2__) && defined(__FMA__)
#define SET                avx2
#define BYTES              32
#define MVEC_F64(fn, v)    _ZGVdN4##v##_##fn
#define MVEC_F32(fn, v)    _ZGVdN8##v##_##fn
#define SLEEF_F64(fn, ulp) Sleef_finz_##fn##d4_##ulp##avx2
#define SLEEF_F32(fn, ulp) Sleef_finz_##fn##f8_##ulp##avx2
#include "vec/math_set.h"
#else
const tn_i_vec_named tn_i_mvec_avx2[] = {{0}}, tn_i_sleef_avx2[] = {{0}};
#endif
