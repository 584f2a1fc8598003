/* LAPACK's factorizations: what kernels ask of it.  Implemented in src/run/lapack.c, the only file that knows it; a
 * library that was built with LAPACK=0 refuses the primitives beneath by name (tn_i_no_lapack).
 *
 * Matrices are doubles, dense, column after column; kernels of f32 widen theirs and round what comes out, so that f32
 * and f64 do not differ in the signs of vectors.  Sizes are at least 1 and at most TN_LAPACK_ROWS.  LAPACK takes its
 * products from the BLAS that the program is linked with. */
#ifndef TN_LAPACK_H
#define TN_LAPACK_H

#include "prims/prim.h"

/* Workspaces are counted with 32 bits, and some are 4 n^2. */
enum { TN_LAPACK_ROWS = 20000 };

bool tn_i_lapack_linked(void);
/* For `tansy version`. */
const char *tn_i_lapack_version(void);
/* `unrunnable` of these primitives. */
const char *tn_i_no_lapack(const tn_i_param *p);
/* Whether the operand, a batch of matrices, is no larger than that; false after a message. */
bool tn_i_lapack_sizes(tn_i_query *q, uint32_t operand);

/* Rooms in scratch for n[i] elements of 8 bytes, each aligned: where they begin, in at; the bytes of all, SIZE_MAX on
 * overflow. */
size_t tn_i_lapack_rooms(const int64_t *n, int count, size_t *at);

/* The matrix at `offset` of a batch, column after column. */
void tn_i_lapack_take(const tn_i_arr *a, int64_t offset, double *to);
/* The other way: rows x columns, with `leading` elements from column to column, as matrix i of a dense result. */
void tn_i_lapack_put(const double *from, int64_t leading, const tn_i_arr *to, int64_t i);
/* The same with zeros below the diagonal, of which nothing is read. */
void tn_i_lapack_put_upper(const double *from, int64_t leading, const tn_i_arr *to, int64_t i);
/* The same of vectors, whose elements are the last dimension of a result, and NaN for either. */
void tn_i_lapack_put_vector(const double *from, const tn_i_arr *to, int64_t i);
void tn_i_lapack_put_nan(int rank, const tn_i_arr *to, int64_t i);
/* LAPACK's signs of vectors change where nothing else does.  Here the first element of at least half the largest
 * magnitude is positive: whether x, elements `by` apart, has to be negated for that. */
bool tn_i_lapack_turned(int64_t n, const double *x, int64_t by);
void tn_i_lapack_negate(int64_t n, double *x, int64_t by);
bool tn_i_all_finite(int64_t n, const double *x);

/* ---- LAPACK ------------------------------------------------------------------------------------- */

/* Room for one call: doubles and integers. */
typedef struct tn_i_lapack_room {
    int64_t work, integers;
} tn_i_lapack_room;

/* Eigenvalues w in ascending order of the symmetric matrix that a's lower or upper triangle says; a becomes its
 * eigenvectors.  False: the iteration did not converge. */
void tn_i_lapack_syevd_room(bool lower, int64_t n, tn_i_lapack_room *room);
bool tn_i_lapack_syevd(bool lower, int64_t n, double *a, double *w, const tn_i_lapack_room *room, double *work,
                       int32_t *integers);

/* Eigenvalues re + i im of a, n x n, which is lost; with vectors v, of unit length, whose largest element is real: of a
 * pair of conjugates columns j and j + 1 of v are the real and the imaginary part of the one with im > 0, and the other
 * one is its conjugate.  False: the iteration did not converge. */
void tn_i_lapack_geev_room(bool vectors, int64_t n, tn_i_lapack_room *room);
bool tn_i_lapack_geev(bool vectors, int64_t n, double *a, double *re, double *im, double *v,
                      const tn_i_lapack_room *room, double *work);

/* a, n x n, becomes the t of a = q t q' that is upper triangular but for blocks of 2 x 2, of pairs of conjugate
 * eigenvalues re + i im; q, with `vectors`.  False: the iteration did not converge. */
void tn_i_lapack_gees_room(bool vectors, int64_t n, tn_i_lapack_room *room);
bool tn_i_lapack_gees(bool vectors, int64_t n, double *a, double *re, double *im, double *q,
                      const tn_i_lapack_room *room, double *work);

/* The factors of a, m x n, as Householder vectors and tau; then q, of m x columns >= min(m, n), in their place, which
 * holds m x columns.  False: an argument that LAPACK does not take. */
void tn_i_lapack_qr_room(int64_t m, int64_t n, int64_t columns, tn_i_lapack_room *room);
bool tn_i_lapack_geqrf(int64_t m, int64_t n, double *a, double *tau, const tn_i_lapack_room *room, double *work);
bool tn_i_lapack_orgqr(int64_t m, int64_t n, int64_t columns, double *a, const double *tau,
                       const tn_i_lapack_room *room, double *work);

/* Singular values s in descending order of a, m x n, which is lost; u (m x min(m, n), or m x m with `full`) and v
 * transposed (min(m, n) x n, or n x n).  False: it did not converge. */
void tn_i_lapack_gesdd_room(bool full, int64_t m, int64_t n, tn_i_lapack_room *room);
bool tn_i_lapack_gesdd(bool full, int64_t m, int64_t n, double *a, double *s, double *u, double *vt,
                       const tn_i_lapack_room *room, double *work, int32_t *integers);

#endif
