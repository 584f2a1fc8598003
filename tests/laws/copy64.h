/* The f64 copy of a program: every f32 becomes f64, in types, literals, constants, parameters and
 * nested programs.  Finite differences are taken of it, since f32 has no digits for them. */
#ifndef LAWS_COPY64_H
#define LAWS_COPY64_H

#include "prims/prim.h"

/* f itself (with one more reference) when it holds no f32; NULL when a parameter cannot be
 * converted (callbacks) or after an error. */
const tn_fn *laws_copy_f64(const tn_fn *f);
/* Whether any value of f, or of a program in it, is an f32. */
bool laws_holds_f32(const tn_fn *f);
/* Or one of 16 bits, of which nothing that holds up to rounding is left to see. */
bool laws_holds_half(const tn_fn *f);

#endif
