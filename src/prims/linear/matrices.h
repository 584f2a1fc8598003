/* What the primitives of linear algebra share: arrays whose last two dimensions are matrices and
 * whose other dimensions are a batch. */
#ifndef TN_MATRICES_H
#define TN_MATRICES_H

#include "prims/prim.h"

static inline int tn_i_batch_rank(const tn_type *t) { return t->rank - 2; }

/* Operand 0 is a batch of square matrices of a dtype that the primitive admits. */
bool tn_i_square_matrices(tn_i_query *q);
/* The same of matrices of any shape. */
bool tn_i_matrices(tn_i_query *q);
/* It is the only operand, or there is one more, the imaginary part of complex matrices. */
bool tn_i_parts_alike(tn_i_query *q);
/* Operand i is a batch of matrices, of as many as operand 0. */
bool tn_i_same_batch(tn_i_query *q, uint32_t i);

/* Each element of a solution x of a system along `axis` depends on those of the right-hand side, an operand of x's
 * type: all of them, those before it and its own (running 1) or its own and those behind (-1). */
void tn_i_sums_solve(const tn_i_query *q, int axis, int running, tn_i_sums *s);

/* Room for n elements of that size at *at, which becomes where the next one begins, a multiple of 64; false: overflow.
 */
bool tn_i_reserve(size_t *at, size_t n, size_t size);
void tn_i_fill_nan(int dtype, int64_t n, void *x);

/* The sums of products of x and y as matrices over equal leading dimensions; xd: the matrix
 * dimension of x (0 or 1) that is contracted. */
tn_i_var tn_i_matrix_product(tn_i_builder *b, tn_i_var x, int xd, tn_i_var y, int yd);
/* `how` (a comparison) of row and column number: a bool matrix like those of t, without its batch. */
tn_i_var tn_i_compare_indices(tn_i_builder *b, const tn_type *t, int how);
/* t's matrices of numbers: 1 below the diagonal (above it without `lower`), 1/2 on it, 0 elsewhere. */
tn_i_var tn_i_halved_triangle(tn_i_builder *b, const tn_type *t, bool lower);
/* The symmetric matrices that such a triangle of x says. */
tn_i_var tn_i_of_triangle(tn_i_builder *b, tn_i_var x, bool lower);
/* x where `how` (a comparison) of its row and column number holds, else 0. */
tn_i_var tn_i_matrix_where(tn_i_builder *b, tn_i_var x, int how);
/* The diagonals of square matrices. */
tn_i_var tn_i_matrix_diagonal(tn_i_builder *b, tn_i_var x);
/* The first rows and columns of x, which has as many. */
tn_i_var tn_i_matrix_part(tn_i_builder *b, tn_i_var x, int64_t rows, int64_t columns);
/* x with its last two dimensions exchanged. */
tn_i_var tn_i_matrix_transpose(tn_i_builder *b, tn_i_var x);
/* A matrix repeated over t's batch dimensions. */
tn_i_var tn_i_over_batch(tn_i_builder *b, tn_i_var x, const tn_type *t);

enum { TN_LEFT_SIDE, TN_LOWER, TN_TRANSPOSE_A, TN_CONJUGATE_A, TN_UNIT_DIAGONAL, TN_NTRIANGULAR };
/* triangular_solve with its parameters as a set of bits 1 << TN_LOWER and so on. */
tn_i_var tn_i_triangular_solve(tn_i_builder *b, unsigned how, tn_i_var a, tn_i_var x);

/* w [.., n] as matrices [.., n, n]: w[j] at i, j, or w[i] with axis 0. */
tn_i_var tn_i_along(tn_i_builder *b, tn_i_var w, int axis);
/* The same with so many rows (axis 1: w is each of them) or columns (0). */
tn_i_var tn_i_along_many(tn_i_builder *b, tn_i_var w, int axis, int64_t times);
/* 1 / x for arrays x of numbers made of w [.., n], which have the same batch; 0 where x is but rounding: at most n
 * epsilon times the largest |w|. */
tn_i_var tn_i_inverse_unless_tiny(tn_i_builder *b, tn_i_var x, tn_i_var w);

/* vmap where one matrix stands for the whole batch: x [batch, leading.., rows, columns] becomes
 * [leading.., rows, batch * columns], or [leading.., batch * rows, columns] without `columns`. */
typedef struct tn_i_folding {
    tn_i_var x;
    int rank;
    int64_t shape[TN_MAX_RANK], back[TN_MAX_RANK];
} tn_i_folding;
void tn_i_fold_batch(tn_i_rule *r, uint32_t operand, bool columns, tn_i_folding *to);
tn_i_var tn_i_unfold_batch(tn_i_builder *b, tn_i_var y, const tn_i_folding *from);

/* Operand 0 of a case: up to a batch of matrices of up to 5 by 5. */
void tn_i_sample_square(tn_i_rng *r, int dtype, tn_i_case *c);
/* The same of any shape, with singular values well apart. */
void tn_i_sample_matrices(tn_i_rng *r, int dtype, tn_i_case *c);

#endif
