#ifndef TN_RESIDENT_H
#define TN_RESIDENT_H

#include "prims/prim.h"

/* requires: f, a jvp, and which of its values are known; ensures: of each value whether it is, where it is saved, in
 * the arena of every program that tn_vjp makes of f, together with all others of which this is said and which are
 * saved.  Programs with nested ones or regions have none.  False after TN_ENOMEM.  Cost: linear. */
bool tn_i_residents(const tn_fn *f, const uint8_t *known, uint8_t *resident);

#endif
