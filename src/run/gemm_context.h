/* A BLIS context of our own, for machines that BLIS has no fast kernels for. */
#ifndef TN_GEMM_CONTEXT_H
#define TN_GEMM_CONTEXT_H

#include "base/base.h"

struct cntx_s;

/* What a context is for.  Solves need kernels of their own beside the product's. */
typedef enum tn_i_blis_use { TN_I_BLIS_PRODUCT, TN_I_BLIS_SOLVE } tn_i_blis_use;

/* Makes *mine the context to call BLIS with and returns true; false: BLIS's own is the best there is. */
bool tn_i_blis_context(tn_i_blis_use use, struct cntx_s *mine);

/* Whether BLIS, with a context that was made or (NULL) its own, packs the rows of a row-major product as its long
 * panel, and its columns block by block, rather than the other way round.  False where that is not known. */
bool tn_i_blis_packs_rows(int dtype, struct cntx_s *context);

/* The value of BLIS_ARCH_TYPE for kernels with vectors of 64 or 32 bytes; -1: this library has none, or numbers them
 * in a way we do not know.  Does not make BLIS choose. */
int tn_i_blis_number(bool avx512);

/* Whether BLIS 0.9 takes the best of its kernels for such a processor with AVX2. */
bool tn_i_blis_knows(bool intel, bool amd, unsigned its_family, const char *name, bool avx512);

/* Whose micro-kernels products run by. */
typedef enum tn_i_tiles { TN_I_BLIS_TILES, TN_I_AVX2_TILES, TN_I_AVX512_TILES } tn_i_tiles;
/* The fastest of them by the one table of known speeds, where BLIS's are those for `arch`, as it names processors.
 * later_amd: an AMD that came after Zen 4. */
tn_i_tiles tn_i_best_tiles(const char *arch, bool avx2, bool avx512, bool later_amd);

/* How many of these threads a product may have: one where BLIS's are OpenMP's and this is not that process
 * (base/parallel.h). */
int tn_i_gemm_threads(long process, int threads);

#endif
