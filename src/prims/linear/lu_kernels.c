/* LU in blocks: a panel of columns in plain loops, what lies right of it by a triangular solve and a product. */
#include "base/isa.h"
#include "base/machine.h"
#include "prims/arrays/layout.h"
#include "prims/linear/lu.h"
#include "prims/linear/matrices.h"
#include "prims/linear/product.h"

#include <math.h>
#include <string.h>

/* Columns from..to of m rows of n elements, over all rows from `from` on; rows are exchanged in their whole length. */
#define PANEL_FOR(target, name, type, magnitude)                                                        \
    target static void name(int64_t m, int64_t n, int64_t from, int64_t to, type *a, int32_t *pivots) { \
        for (int64_t j = from; j < to; j++) {                                                           \
            int64_t p = j;                                                                              \
            for (int64_t i = j + 1; i < m; i++)                                                         \
                if (magnitude(a[i * n + j]) > magnitude(a[p * n + j])) p = i;                           \
            pivots[j] = (int32_t)p;                                                                     \
            for (int64_t c = 0; c < n && p != j; c++) {                                                 \
                const type t = a[j * n + c];                                                            \
                a[j * n + c] = a[p * n + c];                                                            \
                a[p * n + c] = t;                                                                       \
            }                                                                                           \
            if (a[j * n + j] == 0) continue;                                                            \
            for (int64_t i = j + 1; i < m; i++) {                                                       \
                const type factor = a[i * n + j] /= a[j * n + j];                                       \
                for (int64_t c = j + 1; c < to; c++) a[i * n + c] -= factor * a[j * n + c];             \
            }                                                                                           \
        }                                                                                               \
    }

#if TN_HAVE_ISA
#define PANEL(name, type, magnitude)                                                             \
    PANEL_FOR(, name##_plain, type, magnitude)                                                   \
    PANEL_FOR(TN_TARGET_AVX2, name##_avx2, type, magnitude)                                      \
    static void name(int64_t m, int64_t n, int64_t from, int64_t to, type *a, int32_t *pivots) { \
        (tn_i_has_avx2() ? name##_avx2 : name##_plain)(m, n, from, to, a, pivots);               \
    }
#else
#define PANEL(name, type, magnitude) PANEL_FOR(, name, type, magnitude)
#endif

#define NEGATE(name, type)                                                      \
    static void name(int64_t rows, int64_t columns, int64_t n, type *a) {       \
        for (int64_t i = 0; i < rows; i++)                                      \
            for (int64_t j = 0; j < columns; j++) a[i * n + j] = -a[i * n + j]; \
    }

PANEL(panel_f32, float, fabsf)
PANEL(panel_f64, double, fabs)
NEGATE(negate_f32, float)
NEGATE(negate_f64, double)

static void negate(int dtype, int64_t rows, int64_t columns, tn_i_matrix a) {
    if (dtype == TN_F64)
        negate_f64(rows, columns, a.rs, a.data);
    else
        negate_f32(rows, columns, a.rs, a.data);
}

static void factor(int dtype, int threads, int64_t m, int64_t n, tn_i_matrix a, int32_t *pivots) {
    const int64_t k = m < n ? m : n;
    for (int64_t j = 0; j < k; j += TN_M_LU_BLOCK) {
        const int64_t end = k - j < TN_M_LU_BLOCK ? k : j + TN_M_LU_BLOCK, width = end - j, rest = n - end;
        if (dtype == TN_F64)
            panel_f64(m, n, j, end, a.data, pivots);
        else
            panel_f32(m, n, j, end, a.data, pivots);
        if (rest == 0) return;
        const tn_i_matrix below = tn_i_matrix_at(dtype, a, end, j), right = tn_i_matrix_at(dtype, a, j, end);
        tn_i_solve(dtype, threads, true, true, width, rest, tn_i_matrix_at(dtype, a, j, j), right);
        if (end == m) return;
        negate(dtype, m - end, width, below); /* products are added */
        tn_i_multiply(dtype, threads, m - end, rest, width, below, right, true, tn_i_matrix_at(dtype, a, end, end));
        negate(dtype, m - end, width, below);
    }
}

/* The same of complex numbers by their parts; pivots are the largest |re| + |im|, as LAPACK has them.  A panel, and
 * what lies right of it for the solve with the panel's triangle. */
#define PARTS(name, type, magnitude)                                                                         \
    static void name##_scale(int64_t n, int64_t j, int64_t i, type *re, type *im) {                          \
        const type x = re[j * n + j], y = im[j * n + j], a = re[i * n + j], b = im[i * n + j];               \
        const bool wide = magnitude(x) >= magnitude(y);                                                      \
        const type ratio = wide ? y / x : x / y, norm = wide ? x + y * ratio : y + x * ratio;                \
        re[i * n + j] = (wide ? a + b * ratio : a * ratio + b) / norm;                                       \
        im[i * n + j] = (wide ? b - a * ratio : b * ratio - a) / norm;                                       \
    }                                                                                                        \
    /* row i less its element in column j times row j, in columns from..to */                                \
    static void name##_less(int64_t n, int64_t j, int64_t i, int64_t from, int64_t to, type *re, type *im) { \
        const type x = re[i * n + j], y = im[i * n + j];                                                     \
        for (int64_t c = from; c < to; c++) {                                                                \
            const type u = re[j * n + c], v = im[j * n + c];                                                 \
            re[i * n + c] -= x * u - y * v;                                                                  \
            im[i * n + c] -= x * v + y * u;                                                                  \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_exchange(int64_t n, int64_t j, int64_t p, type *a) {                                  \
        for (int64_t c = 0; c < n && p != j; c++) {                                                          \
            const type t = a[j * n + c];                                                                     \
            a[j * n + c] = a[p * n + c];                                                                     \
            a[p * n + c] = t;                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void name(int64_t m, int64_t n, int64_t from, int64_t to, type *re, type *im, int32_t *pivots) {  \
        for (int64_t j = from; j < to; j++) {                                                                \
            int64_t p = j;                                                                                   \
            for (int64_t i = j + 1; i < m; i++)                                                              \
                if (magnitude(re[i * n + j]) + magnitude(im[i * n + j]) >                                    \
                    magnitude(re[p * n + j]) + magnitude(im[p * n + j]))                                     \
                    p = i;                                                                                   \
            pivots[j] = (int32_t)p;                                                                          \
            name##_exchange(n, j, p, re);                                                                    \
            name##_exchange(n, j, p, im);                                                                    \
            if (re[j * n + j] == 0 && im[j * n + j] == 0) continue;                                          \
            for (int64_t i = j + 1; i < m; i++) {                                                            \
                name##_scale(n, j, i, re, im);                                                               \
                name##_less(n, j, i, j + 1, to, re, im);                                                     \
            }                                                                                                \
        }                                                                                                    \
        for (int64_t i = from + 1; i < to; i++)                                                              \
            for (int64_t j = from; j < i; j++) name##_less(n, j, i, to, n, re, im);                          \
    }

PARTS(parts_f32, float, fabsf)
PARTS(parts_f64, double, fabs)

static void factor_parts(int dtype, int threads, int64_t m, int64_t n, tn_i_matrix re, tn_i_matrix im,
                         int32_t *pivots) {
    const int64_t k = m < n ? m : n;
    for (int64_t j = 0; j < k; j += TN_M_LU_BLOCK) {
        const int64_t end = k - j < TN_M_LU_BLOCK ? k : j + TN_M_LU_BLOCK, width = end - j, rest = n - end;
        if (dtype == TN_F64)
            parts_f64(m, n, j, end, re.data, im.data, pivots);
        else
            parts_f32(m, n, j, end, re.data, im.data, pivots);
        if (rest == 0 || end == m) return;
        const tn_i_matrix a[2] = {tn_i_matrix_at(dtype, re, end, j), tn_i_matrix_at(dtype, im, end, j)};
        const tn_i_matrix b[2] = {tn_i_matrix_at(dtype, re, j, end), tn_i_matrix_at(dtype, im, j, end)};
        const tn_i_matrix c[2] = {tn_i_matrix_at(dtype, re, end, end), tn_i_matrix_at(dtype, im, end, end)};
        tn_i_multiply(dtype, threads, m - end, rest, width, a[1], b[1], true, c[0]);
        negate(dtype, m - end, width, a[0]); /* products are added */
        negate(dtype, m - end, width, a[1]);
        tn_i_multiply(dtype, threads, m - end, rest, width, a[0], b[0], true, c[0]);
        tn_i_multiply(dtype, threads, m - end, rest, width, a[0], b[1], true, c[1]);
        tn_i_multiply(dtype, threads, m - end, rest, width, a[1], b[0], true, c[1]);
        negate(dtype, m - end, width, a[0]);
        negate(dtype, m - end, width, a[1]);
    }
}

void tn_i_lu(int dtype, int threads, int64_t m, int64_t n, void *a, void *im, int32_t *pivots, int32_t *permutation) {
    if (im)
        factor_parts(dtype, threads, m, n, (tn_i_matrix){a, n, 1}, (tn_i_matrix){im, n, 1}, pivots);
    else
        factor(dtype, threads, m, n, (tn_i_matrix){a, n, 1}, pivots);
    for (int64_t i = 0; i < m; i++) permutation[i] = (int32_t)i;
    for (int64_t i = 0; i < (m < n ? m : n); i++) {
        const int32_t t = permutation[i];
        permutation[i] = permutation[pivots[i]];
        permutation[pivots[i]] = t;
    }
}

/* ---- solves ------------------------------------------------------------------------------- */

static bool is_permutation(const tn_i_factors *f, unsigned char *seen) {
    memset(seen, 0, (size_t)f->n);
    for (int64_t i = 0; i < f->n; i++) {
        const int32_t at = f->permutation[i * f->stride];
        if (at < 0 || at >= f->n || seen[at]) return false;
        seen[at] = 1;
    }
    return true;
}

/* scratch: a mark for each row, then for a transposed solve the rows before they are put in order */
static size_t marks(int64_t n) { return ((size_t)n + 63) / 64 * 64; }

size_t tn_i_lu_solve_scratch(int dtype, int64_t n, int64_t m) {
    size_t bytes;
    if ((uint64_t)n > SIZE_MAX / 2 || !tn_i_mul((size_t)n, (size_t)m, &bytes) ||
        !tn_i_mul(bytes, tn_i_dtype_size(dtype), &bytes) || !tn_i_add(bytes, marks(n), &bytes))
        return SIZE_MAX;
    return bytes;
}

void tn_i_lu_solve(int dtype, int threads, bool transposed, const tn_i_factors *f, int64_t m, tn_i_matrix b, void *x,
                   void *scratch) {
    const size_t size = tn_i_dtype_size(dtype);
    const int64_t n = f->n;
    tn_i_row *copy = tn_i_copy_row(size);
    void *rows = transposed ? (char *)scratch + marks(n) : x;
    const tn_i_matrix y = {rows, m, 1}, lu = transposed ? tn_i_matrix_transposed(f->lu) : f->lu;
    if (!is_permutation(f, scratch)) {
        tn_i_fill_nan(dtype, n * m, x);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = transposed ? i : f->permutation[i * f->stride];
        copy(m, tn_i_at(b.data, size, from * b.rs), b.cs, tn_i_at_mut(rows, size, i * m), 1);
    }
    tn_i_solve(dtype, threads, true, !transposed, n, m, lu, y);
    tn_i_solve(dtype, threads, false, transposed, n, m, lu, y);
    for (int64_t i = 0; i < n && transposed; i++)
        copy(m, tn_i_at(rows, size, i * m), 1, tn_i_at_mut(x, size, f->permutation[i * f->stride] * m), 1);
}
