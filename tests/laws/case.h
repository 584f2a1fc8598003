/* Programs of one equation, drawn from a primitive's descriptor. */
#ifndef LAWS_CASE_H
#define LAWS_CASE_H

#include "laws/array.h"

/* Draws a case; false when the sampler refuses (its message is in the context). */
bool laws_case_draw(tn_ctx *c, const tn_prim *prim, int dtype, tn_i_rng *r, tn_i_case *out);
void laws_case_free(tn_i_case *c);
/* The case as a program: operands are its inputs (linear where the bit is set), all results its outputs. */
const tn_fn *laws_case_program(const tn_prim *prim, const tn_i_case *c, uint32_t linear);
/* The same with those results alone that depend on a linear operand; TN_EINVAL where there are none. */
const tn_fn *laws_case_linear(const tn_prim *prim, const tn_i_case *c, uint32_t linear);
/* Data for every operand, from the case's domains. */
laws_array *laws_case_data(laws_memory *m, const tn_prim *prim, const tn_i_case *c, tn_i_rng *r);
void laws_case_fill(const tn_i_case *c, uint32_t i, tn_i_rng *r, void *data);

#endif
