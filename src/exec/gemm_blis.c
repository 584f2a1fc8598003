/* Products and triangular solves by BLIS: the only file that knows it.  Only the
 * typed bli_ functions are used (another library may own cblas_ in the same
 * process), and each call brings its own rntm_t. */
#include "prims/gemm.h"

#include <blis.h>

static rntm_t runtime(int threads) {
    rntm_t r = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(threads > 0 ? threads : 1, &r);
    return r;
}

/* ---- matrix times vector ------------------------------------------------------- */

/* BLIS takes some vectors element by element and skips those that are 0, with the NaNs and
 * infinities of the column they belong to.  Adds those products (y += a x where x is 0): for
 * finite columns that changes nothing. */
#define ADD_SKIPPED(name, type)                                                                             \
    static void name(int64_t m, int64_t k, tn_i_matrix a, const type *x, int64_t xs, type *y, int64_t ys) { \
        const type *t = a.data;                                                                             \
        for (int64_t p = 0; p < k; p++)                                                                     \
            if (x[p * xs] == 0)                                                                             \
                for (int64_t i = 0; i < m; i++) y[i * ys] += t[i * a.rs + p * a.cs] * x[p * xs];            \
    }
ADD_SKIPPED(add_skipped_f32, float)
ADD_SKIPPED(add_skipped_f64, double)

/* c[:, j] += a b[:, j] where b is 0. */
static void add_skipped(int dtype, int64_t m, int64_t k, tn_i_matrix a, tn_i_matrix b, tn_i_matrix c, int64_t j) {
    if (dtype == TN_F64)
        add_skipped_f64(m, k, a, (const double *)b.data + j * b.cs, b.rs, (double *)c.data + j * c.cs, c.rs);
    else
        add_skipped_f32(m, k, a, (const float *)b.data + j * b.cs, b.rs, (float *)c.data + j * c.cs, c.rs);
}

static void gemv(int dtype, int64_t m, int64_t k, tn_i_matrix a, const void *x, int64_t xs, bool accumulate, void *y,
                 int64_t ys, rntm_t *r) {
    if (dtype == TN_F64) {
        double one = 1, beta = accumulate;
        bli_dgemv_ex(BLIS_NO_TRANSPOSE, BLIS_NO_CONJUGATE, m, k, &one, a.data, a.rs, a.cs, (double *)(uintptr_t)x, xs,
                     &beta, y, ys, NULL, r);
    } else {
        float one = 1, beta = accumulate;
        bli_sgemv_ex(BLIS_NO_TRANSPOSE, BLIS_NO_CONJUGATE, m, k, &one, a.data, a.rs, a.cs, (float *)(uintptr_t)x, xs,
                     &beta, y, ys, NULL, r);
    }
}

static void dot(int dtype, int64_t k, tn_i_matrix a, tn_i_matrix b, bool accumulate, void *c, rntm_t *r) {
    if (dtype == TN_F64) {
        double rho = 0, *y = c;
        bli_ddotv_ex(BLIS_NO_CONJUGATE, BLIS_NO_CONJUGATE, k, a.data, a.cs, b.data, b.rs, &rho, NULL, r);
        *y = accumulate ? *y + rho : rho;
    } else {
        float rho = 0, *y = c;
        bli_sdotv_ex(BLIS_NO_CONJUGATE, BLIS_NO_CONJUGATE, k, a.data, a.cs, b.data, b.rs, &rho, NULL, r);
        *y = accumulate ? *y + rho : rho;
    }
}

static bool by_vector(int dtype, int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b, bool accumulate,
                      tn_i_matrix c, rntm_t *r) {
    if (m == 1 && n == 1) {
        dot(dtype, k, a, b, accumulate, c.data, r);
        return true;
    }
    if (m == 1)
        return by_vector(dtype, n, 1, k, tn_i_matrix_transposed(b), tn_i_matrix_transposed(a), accumulate,
                         tn_i_matrix_transposed(c), r);
    if (n != 1) return false;
    gemv(dtype, m, k, a, b.data, b.rs, accumulate, c.data, c.rs, r);
    if (a.cs != 1 || a.rs == 1) add_skipped(dtype, m, k, a, b, c, 0); /* rows are not skipped */
    return true;
}

/* ---- products ---------------------------------------------------------------------- */

/* A stride that is not used should not look like another layout. */
static tn_i_matrix tidied(tn_i_matrix a, int64_t rows, int64_t columns) {
    if (columns == 1) a.cs = a.rs > 0 ? rows * a.rs : 1;
    if (rows == 1) a.rs = a.cs > 0 ? columns * a.cs : 1;
    return a;
}

/* Rows and columns do not overlap and run forwards. */
static bool plain(tn_i_matrix a, int64_t rows, int64_t columns) {
    return a.rs > 0 && a.cs > 0 && (a.rs >= columns * a.cs || a.cs >= rows * a.rs);
}

/* The kernels for small and thin products read operands where they are and go astray with
 * negative strides; the others pack them first, element by element where need be. */
void tn_i_gemm(int dtype, int threads, int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b, bool accumulate,
               tn_i_matrix c) {
    rntm_t r = runtime(threads);
    a = tidied(a, m, k);
    b = tidied(b, k, n);
    c = tidied(c, m, n);
    if (!plain(a, m, k) || !plain(b, k, n))
        bli_rntm_disable_l3_sup(&r);
    else if (by_vector(dtype, m, n, k, a, b, accumulate, c, &r))
        return;
    if (dtype == TN_F64) {
        double one = 1, beta = accumulate;
        bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, a.data, a.rs, a.cs, b.data, b.rs, b.cs, &beta,
                     c.data, c.rs, c.cs, NULL, &r);
    } else {
        float one = 1, beta = accumulate;
        bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, a.data, a.rs, a.cs, b.data, b.rs, b.cs, &beta,
                     c.data, c.rs, c.cs, NULL, &r);
    }
    /* for small products a last odd row or column is a vector */
    if (n % 2) add_skipped(dtype, m, k, a, b, c, n - 1);
    if (m % 2)
        add_skipped(dtype, n, k, tn_i_matrix_transposed(b), tn_i_matrix_transposed(a), tn_i_matrix_transposed(c),
                    m - 1);
}

void tn_i_syrk(int dtype, int threads, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix c) {
    rntm_t r = runtime(threads);
    if (dtype == TN_F64) {
        double alpha = -1, one = 1;
        bli_dsyrk_ex(BLIS_LOWER, BLIS_NO_TRANSPOSE, n, k, &alpha, a.data, a.rs, a.cs, &one, c.data, c.rs, c.cs, NULL,
                     &r);
    } else {
        float alpha = -1, one = 1;
        bli_ssyrk_ex(BLIS_LOWER, BLIS_NO_TRANSPOSE, n, k, &alpha, a.data, a.rs, a.cs, &one, c.data, c.rs, c.cs, NULL,
                     &r);
    }
}

void tn_i_trsm(int dtype, int threads, bool lower, bool unit, int64_t m, int64_t n, tn_i_matrix a, tn_i_matrix x) {
    rntm_t r = runtime(threads);
    const uplo_t uplo = lower ? BLIS_LOWER : BLIS_UPPER;
    const diag_t diag = unit ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG;
    if (dtype == TN_F64) {
        double one = 1;
        bli_dtrsm_ex(BLIS_LEFT, uplo, BLIS_NO_TRANSPOSE, diag, m, n, &one, a.data, a.rs, a.cs, x.data, x.rs, x.cs, NULL,
                     &r);
    } else {
        float one = 1;
        bli_strsm_ex(BLIS_LEFT, uplo, BLIS_NO_TRANSPOSE, diag, m, n, &one, a.data, a.rs, a.cs, x.data, x.rs, x.cs, NULL,
                     &r);
    }
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

const char *tn_i_gemm_version(void) { return bli_info_get_version_str(); }
const char *tn_i_gemm_kernels(void) { return bli_arch_string(bli_arch_query_id()); }
