/* Facts about equations that optimizing, planning and running ask for; and what is done to a program first. */
#ifndef TN_EQUATIONS_H
#define TN_EQUATIONS_H

#include "prims/prim.h"

const tn_fn *tn_i_body(const tn_i_eqn *e); /* the program that computes e's outputs, or NULL */
bool tn_i_eqn_effect(const tn_i_eqn *e);
/* Data of an equation that is nothing but an array, or NULL. */
const void *tn_i_constant_data(const tn_i_eqn *e);

/* f as tn_compile plans it: stacks with a schedule where they are read, loops taken apart (docs/loops.md).  A new
 * reference, NULL after an error. */
tn_fn *tn_i_prepared(const tn_fn *f);

#endif
