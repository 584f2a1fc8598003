/* The table of primitives, in the order of prims.def. */
#include "prims/ids.h"

const tn_prim *const tn_i_registry[TN_NPRIMS] = {
#define TN_PRIM(name) [TN_P_##name] = &tn_prim_##name,
#include "prims/prims.def"
#undef TN_PRIM
};
