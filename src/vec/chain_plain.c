/* Vectors of 16 bytes. */
#include "vec/chain.h"

#if TN_HAVE_ISA
#include <emmintrin.h>
#include <math.h>
#include <stdint.h>

#define BYTES 16
#define WIDTH 4

#include "vec/chain_copy.h"

#define WIDEN widen
#define CUT   cut
#define CLEAR

#define SET      plain_f64
#define REAL     double
#define WHOLE    int64_t
#define CONTRACT fma
#define ROOT(x)  _mm_sqrt_pd((__m128d)(x))
#include "vec/chain_set.h"

#define SET      plain_f32
#define REAL     float
#define WHOLE    int32_t
#define CONTRACT fmaf
#define ROOT(x)  _mm_sqrt_ps((__m128)(x))
#include "vec/chain_set.h"
#else
const tn_i_chain_set tn_i_chain_plain_f32 = {.run = NULL}, tn_i_chain_plain_f64 = {.run = NULL};
#endif
