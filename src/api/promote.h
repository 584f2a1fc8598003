/* A program's f64 copy, for checking f32 derivatives by finite differences. */
#ifndef TN_PROMOTE_H
#define TN_PROMOTE_H

#include "ir/ir.h"

/* f with every f32 made f64; NULL after an error: TN_ERULE when it calls external functions of
 * f32 (opaque code cannot be promoted). */
tn_fn *tn_i_promote(const tn_fn *f);

#endif
