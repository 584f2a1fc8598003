/* Bounds of values by those of their operands, as primitives have them (`range` and `image` of tn_prim): of numbers
 * that do not round or wrap. */
#ifndef TN_BOUNDS_H
#define TN_BOUNDS_H

#include "prims/prim.h"

#include <math.h>

static const tn_i_range tn_i_everything = {-INFINITY, INFINITY};

tn_i_range tn_i_literal_bounds(const tn_i_val *v);
/* Of the result of e, which has one; of[v]: those of each operand. */
tn_i_range tn_i_eqn_bounds(const tn_fn *f, const tn_i_eqn *e, const tn_i_range *of);

#endif
