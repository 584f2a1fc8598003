/* Factorizations of matrices of floats, and what is solved with them, as C that is written with a program
 * (prims/c_text.h).  The last argument of each function is memory at `shared`, of which the functions below ask for as
 * much as it needs. */
#ifndef TN_FACTOR_TEXT_H
#define TN_FACTOR_TEXT_H

#include "prims/c_text.h"

/* solve_T, cholesky_T, lu_T, lu_solve_T and what they call. */
extern const tn_i_c_helper tn_i_factor_helpers[];
void tn_i_c_solve_room(const tn_i_c_kernel *k, int64_t m, int64_t n); /* of m x m, for n columns; of lu_solve_T, too */
void tn_i_c_cholesky_room(const tn_i_c_kernel *k, int64_t n);
void tn_i_c_lu_room(const tn_i_c_kernel *k, int64_t m, int64_t n);

#endif
