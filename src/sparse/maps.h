/* Loops that carry nothing, as batches. */
#ifndef TN_SPARSE_MAPS_H
#define TN_SPARSE_MAPS_H

#include "ir/ir.h"

/* f with each loop that carries nothing as a call of its body for all steps at once (tn_vmap), nested programs too;
 * loops that say how they want to run stay.  A new reference; NULL after an error. */
tn_fn *tn_i_maps_opened(const tn_fn *f);

#endif
