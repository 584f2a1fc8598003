/* Kernels for small products and for matrices times vectors, one table for each instruction set and dtype.
 * small_gemm.c chooses and cuts; small_gemm_tile.h and gemv_tile.h are the kernels, which small_gemm_avx512.c and
 * small_gemm_avx2.c compile. */
#ifndef TN_SMALL_GEMM_H
#define TN_SMALL_GEMM_H

#include "prims/linear/gemm.h"

enum { TN_TILE_ROWS = 8, TN_TILE_VECTORS = 3 }; /* the most of one tile; a tile of 5, 6 or 7 rows there is not */

/* Some rows and at most TN_TILE_VECTORS vectors of columns of c, in each of `count` products.  The rows of b and c are
 * contiguous. The sum of each element takes its k products one after the other, beginning with 0 or what c holds. */
typedef struct tn_i_tile {
    int64_t k, width, count;
    const void *a, *b;
    void *c;
    int64_t ars, acs, brs, crs;
    int64_t anext, bnext, cnext; /* from one product to the next */
    bool accumulate;
} tn_i_tile;

typedef struct tn_i_small {
    int64_t lanes, rows; /* of a vector; of the tallest tile */
    void (*tile[TN_TILE_ROWS + 1][TN_TILE_VECTORS + 1])(const tn_i_tile *t);
    void (*full[TN_TILE_ROWS + 1][TN_TILE_VECTORS + 1])(const tn_i_tile *t); /* of whole vectors alone */
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

/* For TN_F32 and TN_F64; NULL where the compiler has no such instructions. */
const tn_i_small *tn_i_small_avx512(int dtype);
const tn_i_small *tn_i_small_avx2(int dtype);

#endif
