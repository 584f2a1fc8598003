/* Transposition of linear programs. */
#ifndef TN_TRANSPOSE_H
#define TN_TRANSPOSE_H

#include "ir/memo.h"

/* Requires: f linear in the inputs told by `linear` (nin flags), every output linear
 * or zero.  Ensures: (the other inputs.. | ct of the outputs..) -> ct of the linear inputs.. .
 * Contextual: ((!a, b) -o c) to ((!a, c) -o b); equations of the nonlinear inputs
 * alone run in order, those with effects first, the others where they are first wanted. */
tn_fn *tn_i_transpose(const tn_fn *f, const bool *linear, tn_i_memo *memo);
/* With respect to f's own linear inputs. */
tn_fn *tn_i_transpose_linear(const tn_fn *f);

#endif
