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
/* Whether the operand, a batch of matrices, is no larger than that, and alone or one of two parts of a complex one;
 * false after a message. */
bool tn_i_lapack_operands(tn_i_query *q);

/* Rooms in scratch for n[i] elements of 8 bytes, each aligned: where they begin, in at; the bytes of all, SIZE_MAX on
 * overflow. */
size_t tn_i_lapack_rooms(const int64_t *n, int count, size_t *at);

/* What a kernel decomposes: the matrices of a batch, operand 0, or complex ones with the imaginary parts in operand 1:
 * column after column, of `parts` doubles an element.  It is matrix `at` that was taken last. */
typedef struct tn_i_lapack_batch {
    const tn_i_kernel *k;
    int parts;
    int64_t count, at;
} tn_i_lapack_batch;
void tn_i_lapack_begin(tn_i_lapack_batch *b, const tn_i_kernel *k);
/* Takes the next matrix; false: there is none. */
bool tn_i_lapack_next(tn_i_lapack_batch *b, double *to);
/* The other way: with `leading` elements of `parts` from column to column, as a dense result, or that and the next one,
 * its imaginary part; with zeros below the diagonal, of which nothing is read; of vectors of real numbers, doubles that
 * are `by` apart; and NaN for all results. */
void tn_i_lapack_put(const tn_i_lapack_batch *b, int parts, uint32_t result, const double *from, int64_t leading);
void tn_i_lapack_put_upper(const tn_i_lapack_batch *b, uint32_t result, const double *from, int64_t leading);
void tn_i_lapack_put_vector(const tn_i_lapack_batch *b, uint32_t result, const double *from, int64_t by);
void tn_i_lapack_put_nan(const tn_i_lapack_batch *b);
bool tn_i_all_finite(int64_t n, const double *x);

/* LAPACK's signs and phases of vectors change where nothing else does.  Here the first element of at least half the
 * largest magnitude is positive, and of complex ones real: x, elements `by` doubles apart, is turned to that, by the
 * number in turn. */
void tn_i_lapack_turn(int parts, int64_t n, double *x, int64_t by, double *turn);
void tn_i_lapack_times(int parts, int64_t n, double *x, int64_t by, double re, double im);

/* ---- LAPACK ------------------------------------------------------------------------------------- */

/* Room for one call: doubles, of which LAPACK is told that its elements are `told` and the rest real, and integers. */
typedef struct tn_i_lapack_room {
    int64_t work, told, integers;
} tn_i_lapack_room;

/* Eigenvalues w in ascending order of the symmetric, or Hermitian, matrix that a's lower or upper triangle says; a
 * becomes its eigenvectors.  False: the iteration did not converge. */
void tn_i_lapack_syevd_room(bool is_complex, bool lower, int64_t n, tn_i_lapack_room *room);
bool tn_i_lapack_syevd(bool is_complex, bool lower, int64_t n, double *a, double *w, const tn_i_lapack_room *room,
                       double *work, int32_t *integers);

/* Eigenvalues w of a, n x n, which is lost; with `vectors` these, v, of unit length.  Both are complex, as a may be.
 * False: the iteration did not converge. */
void tn_i_lapack_geev_room(bool is_complex, bool vectors, int64_t n, tn_i_lapack_room *room);
bool tn_i_lapack_geev(bool is_complex, bool vectors, int64_t n, double *a, double *w, double *v,
                      const tn_i_lapack_room *room, double *work);

/* a, n x n, becomes the t of a = q t q' that is upper triangular, but for blocks of 2 x 2 of pairs of conjugate
 * eigenvalues where it is real.  False: the iteration did not converge. */
void tn_i_lapack_gees_room(bool is_complex, int64_t n, tn_i_lapack_room *room);
bool tn_i_lapack_gees(bool is_complex, int64_t n, double *a, double *q, const tn_i_lapack_room *room, double *work);

/* The factors of a, m x n, as Householder vectors and tau; then q, of m x columns >= min(m, n), in their place, which
 * holds m x columns.  False: an argument that LAPACK does not take. */
void tn_i_lapack_qr_room(bool is_complex, int64_t m, int64_t n, int64_t columns, tn_i_lapack_room *room);
bool tn_i_lapack_geqrf(bool is_complex, int64_t m, int64_t n, double *a, double *tau, const tn_i_lapack_room *room,
                       double *work);
bool tn_i_lapack_orgqr(bool is_complex, int64_t m, int64_t n, int64_t columns, double *a, const double *tau,
                       const tn_i_lapack_room *room, double *work);

/* Singular values s in descending order of a, m x n, which is lost; u (m x min(m, n), or m x m with `full`) and v
 * transposed, and conjugate (min(m, n) x n, or n x n).  False: it did not converge. */
void tn_i_lapack_gesdd_room(bool is_complex, bool full, int64_t m, int64_t n, tn_i_lapack_room *room);
bool tn_i_lapack_gesdd(bool is_complex, bool full, int64_t m, int64_t n, double *a, double *s, double *u, double *vt,
                       const tn_i_lapack_room *room, double *work, int32_t *integers);

#endif
