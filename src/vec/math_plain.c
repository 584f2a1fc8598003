/* Vectors of 16 bytes. */
#include "vec/math.h"

#if TN_HAVE_ISA
#define SET                plain
#define BYTES              16
#define MVEC_F64(fn, v)    _ZGVbN2##v##_##fn
#define MVEC_F32(fn, v)    _ZGVbN4##v##_##fn
#define SLEEF_F64(fn, ulp) Sleef_cinz_##fn##d2_##ulp##sse2
#define SLEEF_F32(fn, ulp) Sleef_cinz_##fn##f4_##ulp##sse2
#include "vec/math_set.h"
#else
const tn_i_vec_named tn_i_mvec_plain[] = {{0}}, tn_i_sleef_plain[] = {{0}};
#endif
