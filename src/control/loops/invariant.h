/* Loop-invariant code motion: what steps compute of constants alone leaves the loop. */
#ifndef TN_INVARIANT_H
#define TN_INVARIANT_H

#include "ir/ir.h"

/* What the program that comes out is for. */
typedef enum tn_i_motion {
    TN_I_TO_DERIVE, /* derivatives: of a loop that may have no step only what has no other cotangent than zero then */
    TN_I_TO_RUN     /* values */
} tn_i_motion;

/* requires: f contracted (tn_i_contracted), which stays so; ensures: the same values, bit for bit, by a program in
 * which equations that a step of a loop computes of constants alone, and whose results take no more memory than what
 * they are made of, or cost more than to keep, stand in front of the loop, nested programs too; f itself where nothing
 * moves. A new reference, NULL after an error. Linear in the size of f. */
tn_fn *tn_i_invariants_outside(const tn_fn *f, tn_i_motion motion);
/* The same of f contracted. */
tn_fn *tn_i_to_derive(const tn_fn *f);

#endif
