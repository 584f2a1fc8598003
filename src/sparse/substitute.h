/* What equations emit to solve for the entries of an acyclic colouring. */
#ifndef TN_SPARSE_SUBSTITUTE_H
#define TN_SPARSE_SUBSTITUTE_H

#include "ir/ir.h"
#include "sparse/coloring.h"

/* u [steps]: what is read of each step's entry -> the entries. */
tn_i_var tn_i_substituted(tn_i_builder *b, tn_i_var u, const tn_i_substitution *k);

#endif
