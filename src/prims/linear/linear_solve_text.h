/* What texts of JAX call custom_linear_solve. */
#ifndef TN_LINEAR_SOLVE_TEXT_H
#define TN_LINEAR_SOLVE_TEXT_H

#include "prims/prim.h"

extern const tn_prim tn_i_linear_solve_form;

#endif
