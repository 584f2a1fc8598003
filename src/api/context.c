/* Contexts with the library's own registry of primitives. */
#include "prims/prim.h"

tn_ctx *tn_ctx_new(const tn_ctx_options *opt) { return tn_i_ctx_new(opt, tn_i_registry); }
