/* Products and triangular solves by BLIS, which only this file and gemm_context.c know.  Only the
 * typed bli_ functions are used (another library may own cblas_ in the same
 * process), and each call brings its own rntm_t. */
#include "base/machine.h"
#include "run/gemm_context.h"
#include "base/parallel.h"
#include "prims/linear/gemm.h"

#include <blis.h>

/* BLIS has kernels that read small and thin operands where they are.  They skip factors that are 0, with the NaNs and
 * infinities that these meet, they go astray with negative strides, and how they add depends on the number of threads.
 * Without them every element is summed in the same blocks of k, whatever runs beside it. */
static rntm_t runtime(int threads) {
    rntm_t r = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(threads > 0 ? threads : 1, &r);
    bli_rntm_disable_l3_sup(&r);
    return r;
}

/* ---- products ---------------------------------------------------------------------- */

/* A stride that is not used should not look like another layout. */
static tn_i_matrix tidied(tn_i_matrix a, int64_t rows, int64_t columns) {
    if (columns == 1) a.cs = a.rs > 0 ? rows * a.rs : 1;
    if (rows == 1) a.rs = a.cs > 0 ? columns * a.cs : 1;
    return a;
}

static cntx_t *context_for(tn_i_blis_use use, cntx_t *mine) { return tn_i_blis_context(use, mine) ? mine : NULL; }

/* The lower triangle of c = beta c + alpha a a'. */
static void triangle(int dtype, int threads, int64_t n, int64_t k, double alpha, tn_i_matrix a, double beta,
                     tn_i_matrix c) {
    rntm_t r = runtime(threads);
    cntx_t mine;
    cntx_t *const context = context_for(TN_I_BLIS_PRODUCT, &mine);
    float factor = (float)alpha, keep = (float)beta;
    if (dtype == TN_F64)
        bli_dsyrk_ex(BLIS_LOWER, BLIS_NO_TRANSPOSE, n, k, &alpha, a.data, a.rs, a.cs, &beta, c.data, c.rs, c.cs,
                     context, &r);
    else
        bli_ssyrk_ex(BLIS_LOWER, BLIS_NO_TRANSPOSE, n, k, &factor, a.data, a.rs, a.cs, &keep, c.data, c.rs, c.cs,
                     context, &r);
}

/* c[j, i] = c[i, j] for j < i, by blocks: rows are read and columns written while they are in the cache. */
#define MIRROR(name, type)                                                           \
    static void name(int64_t n, tn_i_matrix c) {                                     \
        enum { BLOCK = 32 };                                                         \
        type *x = c.data;                                                            \
        for (int64_t i = 0; i < n; i += BLOCK)                                       \
            for (int64_t j = 0; j <= i; j += BLOCK)                                  \
                for (int64_t q = j; q < j + BLOCK && q < n; q++)                     \
                    for (int64_t p = q < i ? i : q + 1; p < i + BLOCK && p < n; p++) \
                        x[q * c.rs + p * c.cs] = x[p * c.rs + q * c.cs];             \
    }
MIRROR(mirror_f32, float)
MIRROR(mirror_f64, double)

/* A matrix times its own transpose, and large: half of the products are enough.  What is computed has the bits that the
 * whole product gives it (the sums are cut alike), so it does not matter whether two operands are one array. */
static bool by_half(int dtype, int threads, int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b,
                    tn_i_matrix c) {
    if (m != n || n < TN_M_GEMM_SYMMETRIC || a.data != b.data || a.rs != b.cs || a.cs != b.rs) return false;
    triangle(dtype, threads, n, k, 1, a, 0, c);
    (dtype == TN_F64 ? mirror_f64 : mirror_f32)(n, c);
    return true;
}

static void multiply(int dtype, rntm_t *r, cntx_t *context, int64_t m, int64_t n, int64_t k, tn_i_matrix a,
                     tn_i_matrix b, bool accumulate, tn_i_matrix c) {
    double one = 1, beta = accumulate;
    float one_f32 = 1, beta_f32 = accumulate;
    a = tidied(a, m, k);
    b = tidied(b, k, n);
    c = tidied(c, m, n);
    if (dtype == TN_F64)
        bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, a.data, a.rs, a.cs, b.data, b.rs, b.cs, &beta,
                     c.data, c.rs, c.cs, context, r);
    else
        bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one_f32, a.data, a.rs, a.cs, b.data, b.rs, b.cs,
                     &beta_f32, c.data, c.rs, c.cs, context, r);
}

/* BLIS packs up to some 4000 rows (or columns) at once, for a fast third-level cache.  Where that is slow, fewer are
 * faster, which the second-level cache holds.  Multiples of the height of every tile there is. */
static int64_t panel_rows(int dtype, int threads, int64_t rows) {
    const int64_t tiles = 168, most = (dtype == TN_F64 ? 1008 : 2016) * (threads > 1 ? threads : 1);
    const int64_t panels = (rows + most / 2) / most;
    return panels < 2 ? rows : ((rows + panels - 1) / panels + tiles - 1) / tiles * tiles;
}

void tn_i_gemm(int dtype, int threads, int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b, bool accumulate,
               tn_i_matrix c) {
    if (!accumulate && by_half(dtype, threads, m, n, k, a, b, c)) return;
    rntm_t r = runtime(threads);
    cntx_t mine;
    cntx_t *const context = context_for(TN_I_BLIS_PRODUCT, &mine);
    const int64_t size = (int64_t)tn_i_dtype_size(dtype);
    const bool by_rows = c.cs == 1 && tn_i_blis_packs_rows(dtype, context);
    const int64_t panel = by_rows ? panel_rows(dtype, threads, m) : m;
    for (int64_t i = 0; i < m; i += panel) {
        const int64_t rows = panel < m - i ? panel : m - i;
        multiply(dtype, &r, context, rows, n, k, a, b, accumulate, c);
        a.data = (char *)a.data + panel * a.rs * size;
        c.data = (char *)c.data + panel * c.rs * size;
    }
}

/* c[i, j] = 0 for j < i, or, transposed, for j > i. */
#define CLEAR_LEFT(name, type)                                          \
    static void name(int64_t n, tn_i_matrix c) {                        \
        type *x = c.data;                                               \
        for (int64_t i = 0; i < n; i++)                                 \
            for (int64_t j = 0; j < i; j++) x[i * c.rs + j * c.cs] = 0; \
    }
CLEAR_LEFT(clear_left_f32, float)
CLEAR_LEFT(clear_left_f64, double)

/* As `triangle` above, BLIS sums each element as in the whole product. */
bool tn_i_gemm_triangle(const tn_i_products *w, int threads) {
    if (w->m != w->n) return false;
    const tn_i_matrix others = w->triangle == TN_ABOVE ? w->c : tn_i_matrix_transposed(w->c);
    if (!w->accumulate) (w->dtype == TN_F64 ? clear_left_f64 : clear_left_f32)(w->n, others);
    rntm_t r = runtime(threads);
    cntx_t mine;
    cntx_t *const context = context_for(TN_I_BLIS_PRODUCT, &mine);
    const uplo_t uplo = w->triangle == TN_BELOW ? BLIS_LOWER : BLIS_UPPER;
    double one = 1, beta = w->accumulate;
    float one_f32 = 1, beta_f32 = w->accumulate;
    const int64_t n = w->n, k = w->k;
    const tn_i_matrix a = w->a, b = w->b, c = w->c;
    if (w->dtype == TN_F64)
        bli_dgemmt_ex(uplo, BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, n, k, &one, a.data, a.rs, a.cs, b.data, b.rs, b.cs,
                      &beta, c.data, c.rs, c.cs, context, &r);
    else
        bli_sgemmt_ex(uplo, BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, n, k, &one_f32, a.data, a.rs, a.cs, b.data, b.rs,
                      b.cs, &beta_f32, c.data, c.rs, c.cs, context, &r);
    return true;
}

void tn_i_syrk(int dtype, int threads, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix c) {
    triangle(dtype, threads, n, k, -1, a, 1, c);
}

void tn_i_trsm(int dtype, int threads, bool lower, bool unit, int64_t m, int64_t n, tn_i_matrix a, tn_i_matrix x) {
    rntm_t r = runtime(threads);
    cntx_t mine;
    cntx_t *const context = context_for(TN_I_BLIS_SOLVE, &mine);
    const uplo_t uplo = lower ? BLIS_LOWER : BLIS_UPPER;
    const diag_t diag = unit ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG;
    double one = 1;
    float one_f32 = 1;
    if (dtype == TN_F64)
        bli_dtrsm_ex(BLIS_LEFT, uplo, BLIS_NO_TRANSPOSE, diag, m, n, &one, a.data, a.rs, a.cs, x.data, x.rs, x.cs,
                     context, &r);
    else
        bli_strsm_ex(BLIS_LEFT, uplo, BLIS_NO_TRANSPOSE, diag, m, n, &one_f32, a.data, a.rs, a.cs, x.data, x.rs, x.cs,
                     context, &r);
}

/* ---- set-up and information ---------------------------------------------------------- */

/* BLIS's pools hold blocks of fixed sizes, a few per thread: a product that takes its blocked
 * path with all threads fills them, however large later ones are.  Zero strides let one element
 * stand for an operand. */
bool tn_i_gemm_warm(tn_ctx *ctx, int dtype, int threads, int64_t m, int64_t n, int64_t k) {
    const int64_t enough = 512;
    if (m < 1 || n < 1 || k < 1 || !tn_i_is_float(dtype)) return true;
    if (m > enough) m = enough;
    if (n > enough) n = enough;
    if (k > enough) k = enough;
    const size_t bytes = (size_t)(m * n) * tn_i_dtype_size(dtype);
    void *c = tn_i_alloc(ctx, bytes);
    if (!c) return false;
    double zero = 0;
    const tn_i_matrix a = {&zero, 0, 0};
    tn_i_gemm(dtype, threads, m, n, k, a, a, false, (tn_i_matrix){c, n, 1});
    tn_i_free(ctx, c, bytes);
    return true;
}

int tn_i_gemm_threads(long process, int threads) { return threads < 2 || tn_i_same_process(process) ? threads : 1; }

const char *tn_i_gemm_version(void) { return bli_info_get_version_str(); }
const char *tn_i_gemm_kernels(void) {
    bli_init(); /* or BLIS does not find the kernels that BLIS_ARCH_TYPE asks for */
    return bli_arch_string(bli_arch_query_id());
}
