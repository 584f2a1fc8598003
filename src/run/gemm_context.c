/* BLIS picks its kernels by the names of processors.  One it has not heard of gets generic ones, a third of the speed
 * or less, and one whose name does not say how many units it has (virtual machines) gets kernels for half vectors.
 * There products run in a context of our own: BLIS's, but with the micro-kernels, and the block sizes, of this file.
 *
 * Whatever else a context holds must agree with the sizes of its micro-kernel.  Reference kernels ask for them; tuned
 * solves are written for theirs and would go wrong without a word.  So the context for solves is made of the generic
 * one only; for products no other kernel matters. */
#include "run/gemm_context.h"

#include <blis.h>
#include <string.h>

/* The layout of a context is that of BLIS 0.9 (0.8 and 1.0 differ): compiled against it, and checked in the library. */
#if defined(__x86_64__) && defined(__GNUC__) && defined(BLIS_NUM_PACKM_KERS)
#define OWN_KERNELS 1
#else
#define OWN_KERNELS 0
#endif

#if OWN_KERNELS
#include "run/simd.h"

/* BLIS's threads call these and wait for one another at barriers that ThreadSanitizer, which did not compile them, does
 * not see. */
#define BLIS_CALLS __attribute__((no_sanitize("thread")))

/* ---- micro-kernels ---------------------------------------------------------------- */

#define TILE   tile_f64_avx512 /* 24 x 8 */
#define REAL   double
#define VEC    __m512d
#define LANES  8
#define MV     3
#define NR     8
#define TARGET TN_AVX512
#define ZERO   _mm512_setzero_pd
#define LOAD   _mm512_loadu_pd
#define STORE  _mm512_storeu_pd
#define SPREAD _mm512_set1_pd
#define MUL    _mm512_mul_pd
#define ADD    _mm512_add_pd
#define MULADD _mm512_fmadd_pd
#include "run/gemm_tile.h"

#define TILE   tile_f32_avx512 /* 16 x 24 */
#define REAL   float
#define VEC    __m512
#define LANES  16
#define MV     1
#define NR     24
#define TARGET TN_AVX512
#define ZERO   _mm512_setzero_ps
#define LOAD   _mm512_loadu_ps
#define STORE  _mm512_storeu_ps
#define SPREAD _mm512_set1_ps
#define MUL    _mm512_mul_ps
#define ADD    _mm512_add_ps
#define MULADD _mm512_fmadd_ps
#include "run/gemm_tile.h"

#define TILE   tile_f64_avx2 /* 8 x 6 */
#define REAL   double
#define VEC    __m256d
#define LANES  4
#define MV     2
#define NR     6
#define TARGET TN_AVX2
#define ZERO   _mm256_setzero_pd
#define LOAD   _mm256_loadu_pd
#define STORE  _mm256_storeu_pd
#define SPREAD _mm256_set1_pd
#define MUL    _mm256_mul_pd
#define ADD    _mm256_add_pd
#define MULADD _mm256_fmadd_pd
#include "run/gemm_tile.h"

#define TILE   tile_f32_avx2 /* 16 x 6 */
#define REAL   float
#define VEC    __m256
#define LANES  8
#define MV     2
#define NR     6
#define TARGET TN_AVX2
#define ZERO   _mm256_setzero_ps
#define LOAD   _mm256_loadu_ps
#define STORE  _mm256_storeu_ps
#define SPREAD _mm256_set1_ps
#define MUL    _mm256_mul_ps
#define ADD    _mm256_add_ps
#define MULADD _mm256_fmadd_ps
#include "run/gemm_tile.h"

/* ---- packing ---------------------------------------------------------------------- */

/* A panel of `width` rows and n columns, column after column; rows from `rows` on and columns from n on are 0.  Rows
 * that are contiguous are read a few columns at a time: one column of all would be a cache line each, at strides that
 * may fall into one set.  Of contiguous columns those of the next panel, which comes next, are asked for. */
#define PACK(type, lanes, turn)                                                                                       \
    TN_AVX2 static inline __attribute__((always_inline)) void pack_##type(int width, dim_t rows, dim_t n, dim_t most, \
                                                                          const type *factor, const type *from,       \
                                                                          inc_t rs, inc_t cs, type *to, inc_t ld) {   \
        const bool same = *factor == 1 && rows % lanes == 0;                                                          \
        dim_t done = 0;                                                                                               \
        if (same && rs == 1 && rows == width)                                                                         \
            for (; done < n; done++) {                                                                                \
                const type *x = from + done * cs;                                                                     \
                __builtin_prefetch((const void *)((uintptr_t)x + (size_t)width * sizeof *x), 0, 2);                   \
                memcpy(to + done * ld, x, (size_t)width * sizeof *to);                                                \
            }                                                                                                         \
        if (same && cs == 1)                                                                                          \
            for (; done + lanes <= n; done += lanes) {                                                                \
                for (dim_t i = 0; i < rows; i += lanes) turn(from + done + i * rs, rs, to + done * ld + i, ld);       \
                for (int l = 0; rows < width && l < lanes; l++)                                                       \
                    memset(to + (done + l) * ld + rows, 0, (size_t)(width - rows) * sizeof *to);                      \
            }                                                                                                         \
        for (; done < n; done++)                                                                                      \
            for (dim_t i = 0; i < width; i++) to[done * ld + i] = i < rows ? *factor * from[done * cs + i * rs] : 0;  \
        for (; done < most; done++) memset(to + done * ld, 0, (size_t)width * sizeof *to);                            \
    }
PACK(double, 4, tn_i_turn_f64)
PACK(float, 8, tn_i_turn_f32)

#define PACKER(name, type, width)                                                                                  \
    BLIS_CALLS TN_AVX2 static void name(conj_t conj, pack_t schema, dim_t rows, dim_t n, dim_t most, type *factor, \
                                        type *from, inc_t rs, inc_t cs, type *to, inc_t ld, cntx_t *context) {     \
        (void)conj, (void)schema, (void)context;                                                                   \
        pack_##type(width, rows, n, most, factor, from, rs, cs, to, ld);                                           \
    }
PACKER(pack24_f64, double, 24)
PACKER(pack8_f64, double, 8)
PACKER(pack24_f32, float, 24)
PACKER(pack16_f32, float, 16)

/* ---- the context ------------------------------------------------------------------ */

typedef void function(void);
typedef struct tile {
    num_t dtype;
    dim_t mr, nr, mc, kc, nc;
    function *kernel, *pack_a, *pack_b; /* NULL: BLIS's */
} tile;

static const tile avx512_tiles[2] = {
    {BLIS_DOUBLE, 24, 8, 192, 320, 4080, (function *)tile_f64_avx512, (function *)pack24_f64, (function *)pack8_f64},
    {BLIS_FLOAT, 16, 24, 480, 256, 4080, (function *)tile_f32_avx512, (function *)pack16_f32, (function *)pack24_f32},
};
static const tile avx2_tiles[2] = {
    {BLIS_DOUBLE, 8, 6, 72, 256, 4080, (function *)tile_f64_avx2, (function *)pack8_f64, NULL},
    {BLIS_FLOAT, 16, 6, 144, 256, 4080, (function *)tile_f32_avx2, (function *)pack16_f32, NULL},
};

/* The library's tables hold functions as void pointers: POSIX, not C, says that this works. */
static void set_function(function *f, num_t dtype, func_t *table) {
    void_fp p;
    _Static_assert(sizeof p == sizeof f, "functions and data have addresses of one size");
    memcpy(&p, &f, sizeof p);
    bli_func_set_dt(p, dtype, table);
}

static void set_tile(cntx_t *x, const tile *t) {
    const bszid_t id[5] = {BLIS_MR, BLIS_NR, BLIS_MC, BLIS_KC, BLIS_NC};
    const dim_t size[5] = {t->mr, t->nr, t->mc, t->kc, t->nc};
    for (int i = 0; i < 5; i++) {
        bli_cntx_set_blksz_def_dt(t->dtype, id[i], size[i], x);
        bli_cntx_set_blksz_max_dt(t->dtype, id[i], size[i], x);
    }
    set_function(t->kernel, t->dtype, bli_cntx_get_l3_nat_ukrs(BLIS_GEMM_UKR, x));
    set_function(t->kernel, t->dtype, bli_cntx_get_l3_vir_ukrs(BLIS_GEMM_UKR, x));
    if (t->pack_a) set_function(t->pack_a, t->dtype, bli_cntx_get_packm_kers((l1mkr_t)t->mr, x));
    if (t->pack_b) set_function(t->pack_b, t->dtype, bli_cntx_get_packm_kers((l1mkr_t)t->nr, x));
    bli_mbool_set_dt(FALSE, t->dtype, bli_cntx_get_l3_nat_ukr_prefs(BLIS_GEMM_UKR, x)); /* columns */
}

/* What this machine has that BLIS's choice does not use; NULL: nothing. */
static const tile *better_tiles(arch_t arch) {
    const bool avx512 = __builtin_cpu_supports("avx512f");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool later_amd = __builtin_cpu_is("amd") && avx512 && !__builtin_cpu_is("amdfam19h"); /* Zen 4 is of that */
    const tn_i_tiles best = tn_i_best_tiles(bli_arch_string(arch), avx2, avx512, later_amd);
    return best == TN_I_AVX512_TILES ? avx512_tiles : best == TN_I_AVX2_TILES ? avx2_tiles : NULL;
}

static bool is_known_version(void) { return strncmp(bli_info_get_version_str(), "0.9.", 4) == 0; }

/* BLIS aborts when asked for kernels that were not built into it. */
int tn_i_blis_number(bool avx512) {
#if defined(BLIS_FAMILY_X86_64) && defined(BLIS_CONFIG_SKX) && defined(BLIS_CONFIG_HASWELL)
    return is_known_version() ? (avx512 ? BLIS_ARCH_SKX : BLIS_ARCH_HASWELL) : -1;
#else
    (void)avx512;
    return -1;
#endif
}

bool tn_i_blis_context(tn_i_blis_use use, cntx_t *mine) {
    if (!is_known_version()) return false;
    bli_init();
    const arch_t arch = bli_arch_query_id();
    if (use == TN_I_BLIS_SOLVE && arch != BLIS_ARCH_GENERIC) return false;
    const tile *tiles = better_tiles(arch);
    if (!tiles) return false;
    *mine = *bli_gks_query_cntx();
    for (int i = 0; i < 2; i++) set_tile(mine, &tiles[i]);
    return true;
}

/* Kernels that write columns get the transposed product. */
bool tn_i_blis_packs_rows(int dtype, cntx_t *context) {
    if (!is_known_version()) return false;
    if (!context) {
        bli_init();
        context = bli_gks_query_cntx();
    }
    return !bli_cntx_l3_nat_ukr_prefers_rows_dt(dtype == TN_F64 ? BLIS_DOUBLE : BLIS_FLOAT, BLIS_GEMM_UKR, context);
}

#else

int tn_i_blis_number(bool avx512) {
    (void)avx512;
    return -1;
}

bool tn_i_blis_context(tn_i_blis_use use, cntx_t *mine) {
    (void)use, (void)mine;
    return false;
}

bool tn_i_blis_packs_rows(int dtype, cntx_t *context) {
    (void)dtype, (void)context;
    return false;
}

#endif

/* What is known of the speed of BLIS's kernels, as a share of ours with the vectors there are (f32, n = 512 to 2048):
 * generic ones reach a third with AVX2, a quarter to a fifth with AVX-512; those for half vectors cannot reach more
 * than half of what the units do; those for Xeons reach 145 of 206 GFLOP/s on a Zen 5.  What is not listed is as fast
 * as ours, or faster. */
static const struct {
    const char *arch;
    bool avx512, only_later_amd;
    double share;
} known_speed[] = {{"generic", false, false, 0.33},
                   {"generic", true, false, 0.22},
                   {"haswell", true, false, 0.5},
                   {"skx", true, true, 0.70}};

tn_i_tiles tn_i_best_tiles(const char *arch, bool avx2, bool avx512, bool later_amd) {
    double share = 1;
    for (size_t i = 0; i < sizeof known_speed / sizeof *known_speed; i++)
        if (strcmp(arch, known_speed[i].arch) == 0 && avx512 == known_speed[i].avx512 &&
            (later_amd || !known_speed[i].only_later_amd))
            share = known_speed[i].share;
    if (share >= 1) return TN_I_BLIS_TILES;
    return avx512 ? TN_I_AVX512_TILES : avx2 ? TN_I_AVX2_TILES : TN_I_BLIS_TILES;
}
