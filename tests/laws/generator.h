/* Random well-typed programs over the whole registry. */
#ifndef LAWS_GENERATOR_H
#define LAWS_GENERATOR_H

#include "laws/array.h"

/* A program whose floats are mostly of `dtype`, with a point of its domain in *x: smooth around
 * it, with derivatives of moderate size.  NULL after an error (its message is in the context). */
const tn_fn *laws_generate(tn_ctx *c, laws_memory *m, tn_i_rng *r, int dtype, laws_array **x);

#endif
