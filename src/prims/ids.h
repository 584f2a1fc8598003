/* The numbers of primitives, TN_P_<name>, their count and their blocks: for files that name one.  A new row of
 * prims.def changes this header, and no other. */
#ifndef TN_PRIMS_IDS_H
#define TN_PRIMS_IDS_H

#include "prims/prim.h"

enum {
#define TN_PRIM(name) TN_P_##name,
#include "prims/prims.def"
#undef TN_PRIM
    TN_NPRIMS
};

#define TN_PRIM(name) extern const tn_prim tn_prim_##name;
#include "prims/prims.def"
#undef TN_PRIM

#endif
