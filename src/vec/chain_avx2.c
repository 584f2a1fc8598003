/* Vectors of 32 bytes. */
#include "vec/chain.h"

#if TN_HAVE_ISA && defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#include <stdint.h>

#define BYTES 32
#define WIDTH 4

#include "vec/chain_copy.h"

#define WIDEN widen
#define CUT   cut
#define CLEAR _mm256_zeroupper();

#define SET          avx2_f64
#define REAL         double
#define WHOLE        int64_t
#define FMA(x, y, z) _mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(z))
#define ROOT(x)      _mm256_sqrt_pd((__m256d)(x))
#include "vec/chain_set.h"

#define SET          avx2_f32
#define REAL         float
#define WHOLE        int32_t
#define FMA(x, y, z) _mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(z))
#define ROOT(x)      _mm256_sqrt_ps((__m256)(x))
#include "vec/chain_set.h"
#else
const tn_i_chain_set tn_i_chain_avx2_f32 = {.run = NULL}, tn_i_chain_avx2_f64 = {.run = NULL};
#endif
