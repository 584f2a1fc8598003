/* LU factorization with partial pivoting and solves with its factors: what the kernels of lu, lu_solve and
 * linear_solve share, and the equations their rules emit. */
#ifndef TN_LU_H
#define TN_LU_H

#include "prims/linear/gemm.h"
#include "prims/prim.h"

/* In place: a, m x n with rows one after another, im its imaginary part or NULL, becomes u on and above the diagonal
 * and l, whose diagonal is ones, below; row i of l u is row permutation[i] of a.  At step i < min(m, n) rows i and
 * pivots[i] were exchanged.  A column without a pivot leaves a 0 on u's diagonal. */
void tn_i_lu(int dtype, int threads, int64_t m, int64_t n, void *a, void *im, int32_t *pivots, int32_t *permutation);

/* The factors of one matrix, in any layout. */
typedef struct tn_i_factors {
    int64_t n;
    tn_i_matrix lu;
    const int32_t *permutation;
    int64_t stride; /* of the permutation */
} tn_i_factors;
/* x (n x m, dense) of a x = b, or of a' x = b; NaN where the permutation is none.  scratch: tn_i_lu_solve_scratch
 * bytes; sizes are at least 1. */
void tn_i_lu_solve(int dtype, int threads, bool transposed, const tn_i_factors *f, int64_t m, tn_i_matrix b, void *x,
                   void *scratch);
size_t tn_i_lu_solve_scratch(int dtype, int64_t n, int64_t m);

/* lu[] a: the first of its three results (lu, pivots, permutation). */
tn_i_var tn_i_emit_lu(tn_i_builder *b, tn_i_var a);
/* lu_solve with the results of that equation. */
tn_i_var tn_i_emit_lu_solve(tn_i_builder *b, bool transposed, tn_i_var lu, tn_i_var permutation, tn_i_var x);

/* Matrices whose pivots no small change exchanges: what finite differences of lu can be taken of. */
void tn_i_fill_pivoted(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data);

#endif
