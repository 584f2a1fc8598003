/* Kernels for small products and for matrices times vectors, one table for each instruction set and dtype.
 * small_gemm.c chooses and cuts; small_gemm_tile.h and gemv_tile.h are the kernels, which small_gemm_avx512.c and
 * small_gemm_avx2.c compile. */
#ifndef TN_SMALL_GEMM_H
#define TN_SMALL_GEMM_H

#include "prims/linear/gemm.h"

enum { TN_TILE_ROWS = 8, TN_TILE_VECTORS = 3 }; /* the most of one tile */

/* Some rows and at most TN_TILE_VECTORS vectors of columns of c, in each of `count` products.  The rows of b and c are
 * contiguous. The sum of each element takes its k products one after the other, beginning with 0 or what c holds. */
typedef struct tn_i_tile {
    int64_t k, width, count;
    const void *a, *b;
    void *c;
    int64_t ars, acs, brs, crs;
    int64_t anext, bnext, cnext; /* from one product to the next */
    bool accumulate;
    const int64_t *row, *inner; /* of indirect kernels: where, from a on, each row and each place in the sum is */
} tn_i_tile;

typedef struct tn_i_small {
    int64_t lanes; /* of a vector */
    /* Of the tallest tile of so many vectors, whose sums the registers hold; and all heights up to 4 there are. */
    int64_t rows[TN_TILE_VECTORS + 1];
    void (*tile[TN_TILE_ROWS + 1][TN_TILE_VECTORS + 1])(const tn_i_tile *t);
    void (*full[TN_TILE_ROWS + 1][TN_TILE_VECTORS + 1])(const tn_i_tile *t); /* of whole vectors alone */
    /* a through offsets; b has rows of whole vectors, whatever the width, and there is one product. */
    void (*indirect[TN_TILE_ROWS + 1][TN_TILE_VECTORS + 1])(const tn_i_tile *t);
    /* c = 0 in an m x n matrix with contiguous rows, left or right of the diagonal. */
    void (*clear)(int64_t m, int64_t n, bool left, void *c, int64_t crs);
    /* to[i * ld + j] = from[i + j * rs], for rows x columns */
    void (*turn)(int64_t rows, int64_t columns, const void *from, int64_t rs, void *to, int64_t ld);
    /* to[i * n + j] = to[j * n + i] = from[i * rs + j] for i <= j; lower: = from[j * rs + i] */
    void (*mirror)(int64_t n, bool lower, const void *from, int64_t rs, void *to);
    /* y = rows of b times x, or y += them: eight rows are summed, and added to the sum of those before; rows that are
     * left are added one by one.  y and each row are contiguous.  Where `ahead` is not 0, as many bytes from there on
     * are fetched into the second-level cache meanwhile. */
    tn_i_rows_kernel *add_rows;
    /* In a fixed order of lanes. */
    tn_i_dots_kernel *dots;
    tn_i_two_dots_kernel *dots_of_two;
    /* c = x b for one column x and one row b; b and each row of c are contiguous. */
    void (*outer)(int64_t m, int64_t n, const void *x, int64_t xs, const void *b, void *c, int64_t crs);
} tn_i_small;

/* Of this machine; NULL: there are none. */
const tn_i_small *tn_i_small_kernels(int dtype);
/* to += from, m x n */
void tn_i_add_matrix(int dtype, int64_t m, int64_t n, tn_i_matrix from, tn_i_matrix to);
/* How many rows of `left` the next tile takes: no row or two are left over at the end, which would be slow. */
static inline int64_t tn_i_tile_height(const tn_i_small *s, int64_t vectors, int64_t left) {
    const int64_t tallest = s->rows[vectors];
    return left >= tallest + 4 || left == tallest ? tallest : left < 4 ? left : 4;
}
static inline int64_t tn_i_tile_vectors(const tn_i_small *s, int64_t width) {
    return 1 + (width > s->lanes) + (width > 2 * s->lanes);
}
/* Columns of the next tile, of so many left.  Four vectors are two and two: one alone leaves the multipliers waiting.
 */
static inline int64_t tn_i_tile_width(const tn_i_small *s, int64_t left) {
    const int64_t widest = s->lanes * TN_TILE_VECTORS;
    if (left <= widest) return left;
    return left <= widest + s->lanes ? widest - s->lanes : widest;
}

/* For TN_F32 and TN_F64; NULL where the compiler has no such instructions. */
const tn_i_small *tn_i_small_avx512(int dtype);
const tn_i_small *tn_i_small_avx2(int dtype);

#endif
