/* Vectors of 64 bytes. */
#include "vec/chain.h"

#if TN_HAVE_ISA && defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#include <stdint.h>

#define BYTES 64
#define WIDTH 8

/* Of vector k, `bytes` bytes of all eight. */
static __mmask64 part(int64_t bytes, int k) {
    const int64_t left = bytes - 64 * k;
    return left >= 64 ? ~(__mmask64)0 : left > 0 ? ((__mmask64)1 << left) - 1 : 0;
}

static void widen(char *to, const char *from, int64_t bytes) {
    for (int k = 0; k < 8; k++)
        _mm512_storeu_si512(to + 64 * k, _mm512_maskz_loadu_epi8(part(bytes, k), from + 64 * k));
}

static void cut(char *to, const char *from, int64_t bytes) {
    for (int k = 0; k < 8; k++) _mm512_mask_storeu_epi8(to + 64 * k, part(bytes, k), _mm512_loadu_si512(from + 64 * k));
}

#define WIDEN widen
#define CUT   cut
#define CLEAR _mm256_zeroupper();

#define SET          avx512_f64
#define REAL         double
#define WHOLE        int64_t
#define FMA(x, y, z) _mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(z))
#define ROOT(x)      _mm512_sqrt_pd((__m512d)(x))
#include "vec/chain_set.h"

#define SET          avx512_f32
#define REAL         float
#define WHOLE        int32_t
#define FMA(x, y, z) _mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(z))
#define ROOT(x)      _mm512_sqrt_ps((__m512)(x))
#include "vec/chain_set.h"
#else
const tn_i_chain_set tn_i_chain_avx512_f32 = {.run = NULL}, tn_i_chain_avx512_f64 = {.run = NULL};
#endif
