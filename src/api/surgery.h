/* Small program surgery for vmap and the Jacobians. */
#ifndef TN_SURGERY_H
#define TN_SURGERY_H

#include "ir/ir.h"

/* x with axis `from` moved to `to`. */
tn_i_var tn_i_move_axis(tn_i_builder *b, tn_i_var x, int from, int to);
/* Rows first .. first+n of the identity of a value with type t, as [n, t.shape]. */
tn_i_var tn_i_basis(tn_i_builder *b, const tn_type *t, int64_t first, int64_t n);
/* f with these of its outputs, in this order. */
tn_fn *tn_i_select_outputs(const tn_fn *f, size_t n, const uint32_t *index);

#endif
