/* Products and triangular solves of strided float matrices: what kernels ask of
 * a BLAS.  Implemented in src/run/gemm_blis.c and small_gemm.c; dtype is f32 or f64, data are
 * naturally aligned, strides are in elements.  Operands that are only read may
 * have any strides, also 0 and negative; those written have distinct elements
 * and positive strides.  The environment changes nothing. */
#ifndef TN_GEMM_H
#define TN_GEMM_H

#include "base/base.h"

typedef struct tn_i_matrix {
    void *data;
    int64_t rs, cs; /* from row to row, from column to column */
} tn_i_matrix;

static inline tn_i_matrix tn_i_matrix_transposed(tn_i_matrix a) { return (tn_i_matrix){a.data, a.cs, a.rs}; }

/* What of a square result is wanted: all elements, or those of the diagonal and above, or below, it.  The others are 0
 * or what the whole product has. */
typedef enum tn_i_triangle { TN_WHOLE, TN_ABOVE, TN_BELOW } tn_i_triangle;

/* `count` products of one shape, each as many elements behind the one before as `next` says. */
typedef struct tn_i_products {
    int dtype;
    bool accumulate;
    int64_t m, n, k, count;
    tn_i_matrix a, b, c;
    int64_t anext, bnext, cnext;
    tn_i_triangle triangle;
    int64_t aahead, bahead; /* bytes to what will soon be read in the place of a or b, and may be fetched; 0: unknown */
} tn_i_products;

/* The products of `w`, whose matrices are at these addresses (product.c). */
void tn_i_multiply_at(const tn_i_products *w, int threads, void *a, void *b, void *c);

/* c = a b, or c += a b, by vector kernels of our own: small products and those with few columns, where BLIS's packing
 * would be much of the work, and matrices times vectors of any size.  What is summed how depends on the sizes, and for
 * vectors on which strides are 1: never on threads or on how many products there are, so each has the bits it has
 * alone. Elements of small products, but those of vectors and contiguous columns of 17 numbers or more, are summed in
 * the order of the inner index, in the dtype, with fused multiply-adds. False, and nothing is done: too large, a size
 * is 0, or no such kernels on this machine. */
bool tn_i_gemm_own(int threads, const tn_i_products *w);

/* Whether tn_i_gemm_own takes all products of vectors and matrices with contiguous rows of `n` elements.  Then those
 * of a row and a vector of n elements have the same bits among any number of rows, at least two; and in a sum of rows,
 * each with its factor, so many at a time are summed, from the first on, and added to what there is. */
enum { TN_EIGHT = 8 };
bool tn_i_gemm_in_eights(int dtype, int64_t n);
/* Each element of such a product, if it does not accumulate, begins with 0 and takes its k products one after the other
 * by fused multiply-adds, whatever the layout. */
bool tn_i_gemm_in_order(int dtype, int64_t m, int64_t n, int64_t k);

/* y[j ys] = or += column j of b, for j < n, times x, each of k contiguous elements. */
typedef void tn_i_dots_kernel(int64_t k, int64_t n, const void *x, const void *b, int64_t bcs, bool accumulate, void *y,
                              int64_t ys);

/* The same of two x, each with the bits that it has alone; y is contiguous, and nothing is added to. */
typedef void tn_i_two_dots_kernel(int64_t k, int64_t n, const void *const x[2], const void *b, int64_t bcs,
                                  void *const y[2]);

/* One call of such a kernel, without addresses. */
typedef struct tn_i_by_dots {
    tn_i_dots_kernel *kernel;
    tn_i_two_dots_kernel *two;
    bool turned; /* x is the second operand of the product, b the first */
    int64_t k, n, bcs, ys;
} tn_i_by_dots;

/* Whether tn_i_gemm_own(w) is one such call, and which.  Addresses of w are not read. */
bool tn_i_gemm_by_dots(const tn_i_products *w, tn_i_by_dots *d);

/* y = or += the sum of k rows of b, brs apart, each times its x, xs apart; y and each row are n contiguous elements.
 * As many bytes are fetched from `ahead` on. */
typedef void tn_i_rows_kernel(int64_t k, int64_t n, const void *x, int64_t xs, const void *b, int64_t brs,
                              bool accumulate, void *y, uintptr_t ahead);
/* Whether two products, if their b is one, are one call of d->two. */
bool tn_i_gemm_two(const tn_i_products *w, const tn_i_products *other, tn_i_by_dots *d);
/* to[i * n + j] = to[j * n + i] = from[i * rs + j] for i <= j < n, elements of 4 or 8 bytes; from may be to.  lower:
 * = from[j * rs + i], and from is elsewhere.  False, and nothing is done: no such kernels, or elements. */
bool tn_i_mirror(size_t size, int64_t n, bool lower, const void *from, int64_t rs, void *to);
/* c = a b, or c += a b: m x k times k x n, all at least 1.  A NaN in c is overwritten, and
 * 0 times NaN is NaN. */
void tn_i_gemm(int dtype, int threads, int64_t m, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix b, bool accumulate,
               tn_i_matrix c);
/* That triangle of it, m = n, with the same bits; false, and nothing is done: no faster. */
bool tn_i_gemm_triangle(const tn_i_products *w, int threads);
/* The lower triangle of c -= a a', for c n x n and a n x k. */
void tn_i_syrk(int dtype, int threads, int64_t n, int64_t k, tn_i_matrix a, tn_i_matrix c);
/* x = a^-1 x for a triangular m x m matrix (positive strides) and x m x n; the other triangle
 * and, with `unit`, the diagonal are not read. */
void tn_i_trsm(int dtype, int threads, bool lower, bool unit, int64_t m, int64_t n, tn_i_matrix a, tn_i_matrix x);

/* Lets the library set up its buffers as a product of this size will need them: for
 * tn_compile.  Sizes of 0 and other dtypes are nothing to do; false after TN_ENOMEM. */
bool tn_i_gemm_warm(tn_ctx *c, int dtype, int threads, int64_t m, int64_t n, int64_t k);
/* For `tansy version`: the library's version, and the kernels it chose for this machine. */
const char *tn_i_gemm_version(void);
const char *tn_i_gemm_kernels(void);

#endif
