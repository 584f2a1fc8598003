/* Drawing test cases: what the samplers of the descriptors share.  The random
 * numbers themselves (tn_i_random, tn_i_uniform, tn_i_pick) are declared in prim.h. */
#ifndef TN_SAMPLE_H
#define TN_SAMPLE_H

#include "prims/prim.h"

#define TN_SAMPLE_ELEMENTS 200 /* the most elements of a sampled array */

/* A shape of rank min_rank..max_rank: dimensions 0..5 (0 in about one array of ten),
 * at most TN_SAMPLE_ELEMENTS elements. */
void tn_i_sample_shape(tn_i_rng *r, tn_type *t, int dtype, int min_rank, int max_rank);
/* Operand i of the case gets such a type; c->nin grows to cover it. */
void tn_i_case_shape(tn_i_rng *r, tn_i_case *c, uint32_t i, int dtype, int min_rank, int max_rank);
/* Operand i of the case gets operand j's shape with the given dtype. */
void tn_i_case_alike(tn_i_case *c, uint32_t i, uint32_t j, int dtype);

/* Room for n integers that live as long as the case, zeroed; NULL when c->ints is used up. */
int64_t *tn_i_case_ints(tn_i_case *c, uint32_t n);
/* Parameter k becomes the list v of n integers, copied into the case; false when it is full. */
bool tn_i_case_list(tn_i_case *c, uint32_t k, uint32_t n, const int64_t *v);

/* Writes element `at` of an array of `dtype`, rounding or saturating x to it. */
void tn_i_put(int dtype, void *data, int64_t at, double x);
/* One number of the domain: `apart` from zero and from integers is kept, TN_AT_TIES is not. */
double tn_i_sample_number(tn_i_rng *r, const tn_i_domain *d, int dtype);
/* Fills operand i from its domain as tn_i_sample_number does; bools are fair coins. */
void tn_i_fill_domain(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data);
/* Fills operand i with floats at least 0.03 apart from one another (TN_AT_TIES); other dtypes as above. */
void tn_i_fill_apart(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data);
/* Fills operand i with factors of long products: of size 0.75..1.25, any sign, one in twenty zero. */
void tn_i_fill_factors(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data);

#endif
