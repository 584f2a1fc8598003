/* Primitives that texts of JAX have and that are programs of others here, traced for the equation
 * (trace/composed_text.c): Householder's reflections and what is made of them, tridiagonal systems, permutations of
 * pivots. */
#ifndef TN_COMPOSED_TEXT_H
#define TN_COMPOSED_TEXT_H

#include "prims/prim.h"

extern const tn_prim tn_i_geqrf_form, tn_i_hessenberg_form, tn_i_householder_product_form, tn_i_ormqr_form,
    tn_i_tridiagonal_solve_form, tn_i_pivots_to_permutation_form;

#endif
