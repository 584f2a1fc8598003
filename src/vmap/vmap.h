/* Batching: one walk in which a value is either the same for every batch element or has
 * the batch as dimension 0. */
#ifndef TN_VMAP_H
#define TN_VMAP_H

#include "ir/memo.h"

/* Inputs with batched[i] gain a leading dimension of `size`; out_batched (nout)
 * tells which outputs have it; with `all` every output does. */
tn_fn *tn_i_vmap(const tn_fn *f, int64_t size, const bool *batched, bool all, bool *out_batched, tn_i_memo *memo);

#endif
