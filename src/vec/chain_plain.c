/* Vectors of 16 bytes. */
#include "vec/chain.h"

#if TN_HAVE_ISA
#include <emmintrin.h>
#include <math.h>
#include <stdint.h>

/* Without an instruction, the C library's. */
typedef double f64x2 __attribute__((vector_size(16)));
typedef float f32x4 __attribute__((vector_size(16)));

__attribute__((noinline)) static f64x2 fma_f64(f64x2 x, f64x2 y, f64x2 z) {
    for (int l = 0; l < 2; l++) x[l] = fma(x[l], y[l], z[l]);
    return x;
}

__attribute__((noinline)) static f32x4 fma_f32(f32x4 x, f32x4 y, f32x4 z) {
    for (int l = 0; l < 4; l++) x[l] = fmaf(x[l], y[l], z[l]);
    return x;
}

#define BYTES 16

#include "vec/chain_copy.h"

#define WIDEN widen
#define CUT   cut
#define CLEAR

#define SET          plain_f64
#define REAL         double
#define WHOLE        int64_t
#define NARROW       0
#define FMA(x, y, z) fma_f64(x, y, z)
#define ROOT(x)      _mm_sqrt_pd((__m128d)(x))
#include "vec/chain_set.h"

#define SET          plain_f32
#define REAL         float
#define WHOLE        int32_t
#define NARROW       1
#define FMA(x, y, z) fma_f32(x, y, z)
#define ROOT(x)      _mm_sqrt_ps((__m128)(x))
#include "vec/chain_set.h"
#else
const tn_i_chain_set tn_i_chain_plain_f32 = {.run = NULL}, tn_i_chain_plain_f64 = {.run = NULL};
#endif
