/* What overlap_add is simplified to. */
#ifndef TN_SLIDING_H
#define TN_SLIDING_H

#include "prims/prim.h"

/* overlap_add, with parameters p, of zeros of type `out` and u, where u is a product and nothing is lost by a product
 * with windows instead; else TN_NOVAR. */
tn_i_var tn_i_overlap_of_product(tn_i_builder *b, const tn_i_param *p, tn_i_var u, const tn_type *out);

#endif
