/* Forward mode: a program to the program of primals and tangents.
 * Symbolic zeros (TN_NOVAR as a tangent) live in this folder and in rules only. */
#ifndef TN_JVP_H
#define TN_JVP_H

#include "ir/memo.h"

/* Requires: wrt names float inputs, each once.  Ensures: (x.., dx of wrt.. in that order) ->
 * (y.., dy..) with a dy for each output whose tangent is not a symbolic zero, told
 * in out_active; with `all`, for every float output.  The result is `mixed`: its
 * dx inputs are linear, so splitting it needs no analysis, and the checker
 * holds every tangent to linearity.  `memo` NULL outside a walk. */
tn_fn *tn_i_jvp(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, bool all, bool *out_active, tn_i_memo *memo);
/* The jvp, outside of any walk, of f contracted: what rules emit may be numbered before equations of f that compute the
 * same, and so turn the operands of a sum round; which of two products is the fma's is decided before. */
tn_fn *tn_i_contracted_jvp(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt);

/* Emits a linear program over nonlinear args and tangents some of which are
 * symbolic zeros (TN_NOVAR); outs may be symbolic zeros. */
void tn_i_inline_tangent(tn_i_builder *b, const tn_fn *f, const tn_i_var *args, tn_i_var *outs);

/* x + y of tangents or cotangents, either a symbolic zero. */
tn_i_var tn_i_sum(tn_i_builder *b, tn_i_var x, tn_i_var y);

#endif
