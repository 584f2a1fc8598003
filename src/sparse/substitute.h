/* What equations emit to solve for the entries of an acyclic colouring. */
#ifndef TN_SPARSE_SUBSTITUTE_H
#define TN_SPARSE_SUBSTITUTE_H

#include "ir/ir.h"
#include "sparse/coloring.h"

/* u [steps]: what is read of each step's entry -> the entries. */
tn_i_var tn_i_substituted(tn_i_builder *b, tn_i_var u, const tn_i_substitution *k);

/* A constant column of n positions below `bound`, as gathers and scatters want them. */
tn_i_var tn_i_positions(tn_i_builder *b, int64_t n, const int64_t *at, int64_t bound);
/* Elements at[0..n) of the vector x. */
tn_i_var tn_i_taken(tn_i_builder *b, tn_i_var x, int64_t n, const int64_t *at);

#endif
