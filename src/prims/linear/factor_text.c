/* Factorizations and triangular solves as C that needs no library: blocks of 32 columns or rows in plain loops, and
 * between them products (product_text.h). */
#include "prims/linear/factor_text.h"

#include "base/machine.h"
#include "prims/linear/product_text.h"

/* x = a^-1 x, for a block of rows after the other. */
TN_C_ONLY(
    solve_text, static void solve_T(int lower, int unit, int64_t m, int64_t n, const T *a, int64_t ars, int64_t acs,
                                    T *x, int64_t xrs, int64_t xcs, T *room) {
        for (int64_t done = 0; done < m; done += 32) {
            const int64_t h = m - done < 32 ? m - done : 32;
            const int64_t first = lower ? done : m - done - h;
            const int64_t other = lower ? 0 : first + h;
            if (done)
                tn_i_product_T(h, n, done, a + first * ars + other * acs, ars, acs, x + other * xrs, xrs, xcs,
                               x + first * xrs, xrs, xcs, -1, room);
            for (int64_t i = 0; i < h; i++)
                for (int64_t j = 0; j < n; j++) room[i * n + j] = x[(first + i) * xrs + j * xcs];
            for (int64_t r = 0; r < h; r++) {
                const int64_t i = lower ? r : h - 1 - r;
                const T *const row = a + (first + i) * ars + first * acs;
                T *const to = room + i * n;
                for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : h); k++) {
                    const T factor = row[k * acs];
                    const T *const from = room + k * n;
                    TANSY_SIMD for (int64_t j = 0; j < n; j++) to[j] -= factor * from[j];
                }
                if (unit) continue;
                const T diagonal = row[i * acs];
                TANSY_SIMD for (int64_t j = 0; j < n; j++) to[j] /= diagonal;
            }
            for (int64_t i = 0; i < h; i++)
                for (int64_t j = 0; j < n; j++) x[(first + i) * xrs + j * xcs] = room[i * n + j];
        }
    })

/* Of a block of columns, the product of what is left of it is subtracted first. */
TN_C_ONLY(
    cholesky_text, static void cholesky_T(int64_t n, const T *a, int64_t rs, int64_t cs, T *l, T *room) {
        int definite = 1;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) l[i * n + j] = j <= i ? a[i * rs + j * cs] : 0;
        for (int64_t s = 0; s < n && definite; s += 32) {
            const int64_t end = n - s < 32 ? n : s + 32;
            T t[32];
            if (s) tn_i_product_T(n - s, end - s, s, l + s * n, n, 1, l + s * n, 1, n, l + s * n + s, n, 1, -1, room);
            for (int64_t j = s; j < end && definite; j++) {
                T d = l[j * n + j];
                definite = d > 0 && d < HIGHEST;
                if (!definite) break;
                d = M_sqrt(d);
                l[j * n + j] = d;
                for (int64_t c = s; c < j; c++) l[c * n + j] = 0;
                for (int64_t i = j + 1; i < n; i++) l[i * n + j] /= d;
                for (int64_t c = j + 1; c < end; c++) t[c - s] = l[c * n + j];
                for (int64_t i = j + 1; i < n; i++) {
                    const T factor = l[i * n + j];
                    T *const row = l + i * n + s;
                    TANSY_SIMD for (int64_t c = j + 1 - s; c < end - s; c++) row[c] -= factor * t[c];
                }
            }
        }
        for (int64_t i = 0; i < n && !definite; i++)
            for (int64_t j = 0; j < n; j++) l[i * n + j] = j <= i ? (T)NAN : 0;
    })

TN_C_ONLY(
    lu_text, static void lu_T(int64_t m, int64_t n, T *a, int32_t *pivots, int32_t *permutation, T *room) {
        const int64_t k = m < n ? m : n;
        for (int64_t s = 0; s < k; s += 32) {
            const int64_t end = k - s < 32 ? k : s + 32;
            const int64_t rest = n - end;
            for (int64_t j = s; j < end; j++) {
                int64_t p = j;
                for (int64_t i = j + 1; i < m; i++)
                    if (M_fabs(a[i * n + j]) > M_fabs(a[p * n + j])) p = i;
                pivots[j] = (int32_t)p;
                for (int64_t c = 0; c < n && p != j; c++) {
                    const T t = a[j * n + c];
                    a[j * n + c] = a[p * n + c];
                    a[p * n + c] = t;
                }
                if (a[j * n + j] == 0) continue;
                const T *const from = a + j * n;
                for (int64_t i = j + 1; i < m; i++) {
                    T *const row = a + i * n;
                    const T factor = row[j] /= from[j];
                    TANSY_SIMD for (int64_t c = j + 1; c < end; c++) row[c] -= factor * from[c];
                }
            }
            if (rest == 0) break;
            solve_T(1, 1, end - s, rest, a + s * n + s, n, 1, a + s * n + end, n, 1, room);
            if (end == m) break;
            tn_i_product_T(m - end, rest, end - s, a + end * n + s, n, 1, a + s * n + end, n, 1, a + end * n + end, n,
                           1, -1, room);
        }
        for (int64_t i = 0; i < m; i++) permutation[i] = (int32_t)i;
        for (int64_t i = 0; i < k; i++) {
            const int32_t t = permutation[i];
            permutation[i] = permutation[pivots[i]];
            permutation[pivots[i]] = t;
        }
    })

/* Complex numbers by their parts, in plain loops. */
TN_C_ONLY(
    lu_parts_text, static void lu_parts_T(int64_t m, int64_t n, T *re, T *im, int32_t *pivots, int32_t *permutation) {
        for (int64_t i = 0; i < m; i++) permutation[i] = (int32_t)i;
        for (int64_t j = 0; j < m && j < n; j++) {
            int64_t p = j;
            for (int64_t i = j + 1; i < m; i++)
                if (M_fabs(re[i * n + j]) + M_fabs(im[i * n + j]) > M_fabs(re[p * n + j]) + M_fabs(im[p * n + j]))
                    p = i;
            pivots[j] = (int32_t)p;
            const int32_t row = permutation[j];
            permutation[j] = permutation[p];
            permutation[p] = row;
            for (int64_t c = 0; c < n && p != j; c++) {
                const T t = re[j * n + c];
                const T s = im[j * n + c];
                re[j * n + c] = re[p * n + c];
                im[j * n + c] = im[p * n + c];
                re[p * n + c] = t;
                im[p * n + c] = s;
            }
            const T x = re[j * n + j];
            const T y = im[j * n + j];
            if (x == 0 && y == 0) continue;
            const int wide = M_fabs(x) >= M_fabs(y);
            const T ratio = wide ? y / x : x / y;
            const T norm = wide ? x + y * ratio : y + x * ratio;
            for (int64_t i = j + 1; i < m; i++) {
                const T a = re[i * n + j];
                const T b = im[i * n + j];
                const T u = (wide ? a + b * ratio : a * ratio + b) / norm;
                const T v = (wide ? b - a * ratio : b * ratio - a) / norm;
                re[i * n + j] = u;
                im[i * n + j] = v;
                for (int64_t c = j + 1; c < n; c++) {
                    const T t = re[i * n + c] - (u * re[j * n + c] - v * im[j * n + c]);
                    im[i * n + c] -= u * im[j * n + c] + v * re[j * n + c];
                    re[i * n + c] = t;
                }
            }
        }
    })

TN_C_ONLY(
    is_permutation_text, static int is_permutation(int64_t n, const int32_t *p, int64_t by, unsigned char *seen) {
        for (int64_t i = 0; i < n; i++) seen[i] = 0;
        for (int64_t i = 0; i < n; i++) {
            if (p[i * by] < 0 || p[i * by] >= n || seen[p[i * by]]) return 0;
            seen[p[i * by]] = 1;
        }
        return 1;
    })

/* x (n x m, dense) of a x = b or a' x = b; `rows` is as large as x. */
TN_C_ONLY(
    lu_solve_text, static void lu_solve_T(int transposed, int64_t n, int64_t m, const T *lu, int64_t rs, int64_t cs,
                                          const int32_t *p, int64_t by, const T *b, int64_t brs, int64_t bcs, T *x,
                                          T *rows, unsigned char *seen, T *room) {
        if (!is_permutation(n, p, by, seen)) {
            for (int64_t i = 0; i < n * m; i++) x[i] = (T)NAN;
            return;
        }
        T *y = transposed ? rows : x;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) y[i * m + j] = b[(transposed ? i : p[i * by]) * brs + j * bcs];
        if (transposed) {
            solve_T(1, 0, n, m, lu, cs, rs, y, m, 1, room);
            solve_T(0, 1, n, m, lu, cs, rs, y, m, 1, room);
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < m; j++) x[p[i * by] * m + j] = y[i * m + j];
        } else {
            solve_T(1, 1, n, m, lu, rs, cs, y, m, 1, room);
            solve_T(0, 0, n, m, lu, rs, cs, y, m, 1, room);
        }
    })

const tn_i_c_helper tn_i_factor_helpers[] = {{"solve_T", solve_text},
                                             {"cholesky_T", cholesky_text},
                                             {"lu_T", lu_text},
                                             {"lu_parts_T", lu_parts_text},
                                             {"is_permutation", is_permutation_text},
                                             {"lu_solve_T", lu_solve_text},
                                             {NULL, NULL}};

static void raise(const tn_i_c_kernel *k, size_t bytes) {
    if (bytes > *k->shared) *k->shared = bytes;
}

static size_t size_of(const tn_i_c_kernel *k) { return tn_i_dtype_size(k->in[0].type->dtype); }

void tn_i_c_solve_room(const tn_i_c_kernel *k, int64_t m, int64_t n) {
    const size_t size = size_of(k);
    raise(k, TN_M_EMIT_FACTOR * (size_t)n * size);
    raise(k, tn_i_c_product_room(size, TN_M_EMIT_FACTOR, n, m));
    raise(k, tn_i_c_product_room(size, 1, n, m)); /* the last block may have one row */
}

void tn_i_c_cholesky_room(const tn_i_c_kernel *k, int64_t n) {
    raise(k, tn_i_c_product_room(size_of(k), n, TN_M_EMIT_FACTOR, n));
}

void tn_i_c_lu_room(const tn_i_c_kernel *k, int64_t m, int64_t n) {
    tn_i_c_solve_room(k, TN_M_EMIT_FACTOR, n);
    raise(k, tn_i_c_product_room(size_of(k), m, n, TN_M_EMIT_FACTOR));
}
