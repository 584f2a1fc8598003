/* What texts of JAX have of Equinox, the library that Diffrax and Optimistix are written with: no primitives
 * (equinox_text.c). */
#ifndef TN_EQUINOX_TEXT_H
#define TN_EQUINOX_TEXT_H

#include "prims/prim.h"

/* Whether any or all of an array are true; its largest. */
extern const tn_prim tn_i_unvmap_any_form, tn_i_unvmap_all_form, tn_i_unvmap_max_form;
/* A choice, and an assignment, that is made wherever nothing is mapped. */
extern const tn_prim tn_i_select_if_vmap_form, tn_i_maybe_set_form;
/* The callbacks of error_if: an assert that fails, and nothing. */
extern const tn_prim tn_i_callback_form;

#endif
