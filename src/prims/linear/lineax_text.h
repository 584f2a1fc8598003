/* Lineax's `linear_solve`, as texts of JAX have it: no primitive (control/lineax_text.c). */
#ifndef TN_LINEAX_TEXT_H
#define TN_LINEAX_TEXT_H

#include "prims/prim.h"

extern const tn_prim tn_i_lineax_form;

#endif
