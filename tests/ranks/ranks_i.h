/* What the mutants of the law know of the library's inside. */
#ifndef RANKS_I_H
#define RANKS_I_H

#include "prims/ids.h"

size_t ranks_mutants(void);
/* The registry with mutant i in it, until the next one; what is wrong with it. */
const char *ranks_mutant(size_t i, const tn_prim *registry[TN_NPRIMS]);

#endif
