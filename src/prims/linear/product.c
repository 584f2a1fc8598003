/* Integer products, small solves, and where there are no vector kernels small products in plain loops; the rest goes to
 * kernels of our own or the BLAS. */
#include "base/machine.h"
#include "prims/linear/product.h"

#include <float.h>
#include <math.h>

/* Each element is summed in the order of the inner index, whichever loop is innermost, and
 * in its own dtype. */

#define MULTIPLY(name, type)                                                                         \
    static void name(int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b, tn_i_matrix c) { \
        const type *x = a.data, *y = b.data;                                                         \
        type *z = c.data;                                                                            \
        type sum[TN_M_GEMM_SPAN];                                                                    \
        for (int64_t i = 0; i < m; i++)                                                              \
            for (int64_t first = 0; first < n; first += TN_M_GEMM_SPAN) {                            \
                const int64_t span = n - first < TN_M_GEMM_SPAN ? n - first : TN_M_GEMM_SPAN;        \
                type *row = z + i * c.rs + first * c.cs;                                             \
                for (int64_t j = 0; j < span; j++) sum[j] = row[j * c.cs];                           \
                for (int64_t p = 0; p < k; p++) {                                                    \
                    const type factor = x[i * a.rs + p * a.cs];                                      \
                    const type *from = y + p * b.rs + first * b.cs;                                  \
                    for (int64_t j = 0; j < span; j++) sum[j] += factor * from[j * b.cs];            \
                }                                                                                    \
                for (int64_t j = 0; j < span; j++) row[j * c.cs] = (type)sum[j];                     \
            }                                                                                        \
    }

MULTIPLY(multiply_f32, float)
MULTIPLY(multiply_f64, double)
MULTIPLY(multiply_u32, uint32_t) /* integers wrap */
MULTIPLY(multiply_u64, uint64_t)

#define CLEAR(name, type)                                               \
    static void name(int64_t m, int64_t n, tn_i_matrix c) {             \
        type *z = c.data;                                               \
        for (int64_t i = 0; i < m; i++)                                 \
            for (int64_t j = 0; j < n; j++) z[i * c.rs + j * c.cs] = 0; \
    }

CLEAR(clear_f32, float)
CLEAR(clear_f64, double)
CLEAR(clear_u32, uint32_t)
CLEAR(clear_u64, uint64_t)

static bool is_small(int dtype, int64_t m, int64_t n, int64_t k) {
    return !tn_i_is_float(dtype) || k <= 1 || (double)m * (double)n * (double)k <= TN_M_PRODUCT_LOOPS;
}

static void one_product(int threads, const tn_i_products *w) {
    static void (*const multiply[TN_NDTYPES])(int64_t, int64_t, int64_t, tn_i_matrix, tn_i_matrix,
                                              tn_i_matrix) = {[TN_F32] = multiply_f32,
                                                              [TN_F64] = multiply_f64,
                                                              [TN_I32] = multiply_u32,
                                                              [TN_I64] = multiply_u64,
                                                              [TN_U32] = multiply_u32};
    static void (*const clear[TN_NDTYPES])(int64_t, int64_t, tn_i_matrix) = {
        [TN_F32] = clear_f32, [TN_F64] = clear_f64, [TN_I32] = clear_u32, [TN_I64] = clear_u64, [TN_U32] = clear_u32};
    if (!is_small(w->dtype, w->m, w->n, w->k)) {
        if (w->triangle && tn_i_gemm_triangle(w, threads)) return;
        tn_i_gemm(w->dtype, threads, w->m, w->n, w->k, w->a, w->b, w->accumulate, w->c);
        return;
    }
    if (!w->accumulate) clear[w->dtype](w->m, w->n, w->c);
    multiply[w->dtype](w->m, w->n, w->k, w->a, w->b, w->c);
}

void tn_i_multiply_all(int threads, const tn_i_products *w) {
    if (tn_i_gemm_own(threads, w)) return;
    const int64_t size = (int64_t)tn_i_dtype_size(w->dtype);
    tn_i_products one = *w;
    one.count = 1;
    for (int64_t i = 0; i < w->count; i++) {
        one_product(threads, &one);
        one.a.data = (char *)one.a.data + w->anext * size;
        one.b.data = (char *)one.b.data + w->bnext * size;
        one.c.data = (char *)one.c.data + w->cnext * size;
    }
}

void tn_i_multiply_at(const tn_i_products *w, int threads, void *a, void *b, void *c) {
    tn_i_products all = *w;
    all.a.data = a;
    all.b.data = b;
    all.c.data = c;
    tn_i_multiply_all(threads, &all);
}

void tn_i_multiply(int dtype, int threads, int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b,
                   bool accumulate, tn_i_matrix c) {
    const tn_i_products w = {
        .dtype = dtype, .accumulate = accumulate, .m = m, .n = n, .k = k, .count = 1, .a = a, .b = b, .c = c};
    tn_i_multiply_all(threads, &w);
}

/* ---- triangular solves ------------------------------------------------------------ */

/* Forward substitution, a lower triangular: row by row, or column by column where a is stored so.  Of one right-hand
 * side several rows at a time take up what is known, each in its order: one alone would wait for each sum. */
enum { ROWS = 8 };
#define SOLVE(name, type)                                                                                  \
    static void name(bool unit, int64_t m, int64_t n, tn_i_matrix a, tn_i_matrix x) {                      \
        const type *l = a.data;                                                                            \
        type *z = x.data;                                                                                  \
        for (int64_t i = 0; i < m; i++) {                                                                  \
            for (int64_t j = 0; j < i; j++) {                                                              \
                const type factor = l[i * a.rs + j * a.cs];                                                \
                for (int64_t c = 0; c < n; c++) z[i * x.rs + c * x.cs] -= factor * z[j * x.rs + c * x.cs]; \
            }                                                                                              \
            for (int64_t c = 0; c < n && !unit; c++) z[i * x.rs + c * x.cs] /= l[i * (a.rs + a.cs)];       \
        }                                                                                                  \
    }                                                                                                      \
    static void name##_by_rows(bool unit, int64_t m, tn_i_matrix a, tn_i_matrix x) {                       \
        const type *l = a.data;                                                                            \
        type *z = x.data, s[ROWS];                                                                         \
        for (int64_t i = 0; i < m; i += ROWS) {                                                            \
            const int64_t n = m - i < ROWS ? m - i : ROWS;                                                 \
            for (int64_t r = 0; r < n; r++) s[r] = z[(i + r) * x.rs];                                      \
            if (n == ROWS)                                                                                 \
                for (int64_t j = 0; j < i; j++)                                                            \
                    for (int64_t r = 0; r < ROWS; r++) s[r] -= l[(i + r) * a.rs + j * a.cs] * z[j * x.rs]; \
            else                                                                                           \
                for (int64_t j = 0; j < i; j++)                                                            \
                    for (int64_t r = 0; r < n; r++) s[r] -= l[(i + r) * a.rs + j * a.cs] * z[j * x.rs];    \
            for (int64_t r = 0; r < n; r++) {                                                              \
                for (int64_t j = 0; j < r; j++) s[r] -= l[(i + r) * a.rs + (i + j) * a.cs] * s[j];         \
                if (!unit) s[r] /= l[(i + r) * (a.rs + a.cs)];                                             \
                z[(i + r) * x.rs] = s[r];                                                                  \
            }                                                                                              \
        }                                                                                                  \
    }                                                                                                      \
    static void name##_by_columns(bool unit, int64_t m, tn_i_matrix a, tn_i_matrix x) {                    \
        const type *l = a.data;                                                                            \
        type *z = x.data;                                                                                  \
        for (int64_t j = 0; j < m; j++) {                                                                  \
            if (!unit) z[j * x.rs] /= l[j * (a.rs + a.cs)];                                                \
            const type factor = z[j * x.rs];                                                               \
            for (int64_t i = j + 1; i < m; i++) z[i * x.rs] -= l[i * a.rs + j * a.cs] * factor;            \
        }                                                                                                  \
    }

SOLVE(solve_f32, float)
SOLVE(solve_f64, double)

/* Whether the diagonal's reciprocals, which large solves multiply by, have all their digits.  Zeros, infinities and NaN
 * give what they give. */
#define REGULAR(name, type, fabs_of, least)                                               \
    static bool name(int64_t m, tn_i_matrix a) {                                          \
        const type *l = a.data;                                                           \
        for (int64_t i = 0; i < m; i++) {                                                 \
            const type d = fabs_of(l[i * (a.rs + a.cs)]);                                 \
            if ((d > 0 && d < (least)) || (d > 1 / (least) && isfinite(d))) return false; \
        }                                                                                 \
        return true;                                                                      \
    }
REGULAR(regular_f32, float, fabsf, FLT_MIN)
REGULAR(regular_f64, double, fabs, DBL_MIN)

static bool distinct(int64_t m, tn_i_matrix a) {
    return a.rs > 0 && a.cs > 0 && (a.rs >= m * a.cs || a.cs >= m * a.rs);
}

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

void tn_i_solve(int dtype, int threads, bool lower, bool unit, int64_t m, int64_t n, tn_i_matrix a, tn_i_matrix x) {
    if (m == 0 || n == 0) return;
    const bool large = (double)m * (double)m * (double)n > TN_M_SOLVE_LOOPS && n > 1 && distinct(m, a);
    if (large && (unit || (dtype == TN_F64 ? regular_f64(m, a) : regular_f32(m, a)))) {
        tn_i_trsm(dtype, threads, lower, unit, m, n, a, x);
        return;
    }
    if (!lower) { /* from the last row and column on it is a lower one */
        a = tn_i_matrix_at(dtype, a, m - 1, m - 1);
        x = tn_i_matrix_at(dtype, x, m - 1, 0);
        a.rs = -a.rs, a.cs = -a.cs, x.rs = -x.rs;
    }
    const bool by_columns = magnitude(a.rs) < magnitude(a.cs);
    if (dtype == TN_F64) {
        if (n > 1)
            solve_f64(unit, m, n, a, x);
        else
            (by_columns ? solve_f64_by_columns : solve_f64_by_rows)(unit, m, a, x);
    } else if (n > 1)
        solve_f32(unit, m, n, a, x);
    else
        (by_columns ? solve_f32_by_columns : solve_f32_by_rows)(unit, m, a, x);
}
