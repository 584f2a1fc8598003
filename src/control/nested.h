/* What rules over nested programs share: each transformation of a nested
 * program, made once per walk. */
#ifndef TN_NESTED_H
#define TN_NESTED_H

#include "ir/memo.h"
#include "linearize/linearize.h"
#include "prims/prim.h"

/* jvp of f in the inputs whose tangent is not TN_NOVAR; out_active in entry->flags. */
const tn_i_memo_entry *tn_i_nested_jvp(tn_i_rule *r, const tn_fn *f, const tn_i_var *din);
/* vmap of f; with `all` every output is batched; out_batched in entry->flags. */
const tn_i_memo_entry *tn_i_nested_vmap(tn_i_rule *r, const tn_fn *f, const bool *batched, bool all);
/* (other inputs.. | ct of outputs..) -> ct of the inputs told by `linear`; given: the operands of the others. */
const tn_i_memo_entry *tn_i_nested_transpose(tn_i_rule *r, const tn_fn *f, const bool *linear, const tn_i_var *given);
/* Same, of a program with linear inputs of its own. */
const tn_i_memo_entry *tn_i_nested_transpose_linear(tn_i_rule *r, const tn_fn *f);

/* The rule's equation over the batch, with parameters p, of which the programs are transformed here: operands are
 * batched where they are, those from `first` on, n of them, and inputs behind the operands always; so are all outputs.
 */
void tn_i_batch_programs(tn_i_rule *r, tn_i_param *p, uint32_t first, uint32_t n, const bool *batched, tn_i_var *out,
                         bool *out_batched);

/* Linearity of an equation in its operands from `first` on, jointly; those before are none that a linear input reaches.
 */
bool tn_i_linear_from(const tn_fn *f, const tn_i_eqn *e, uint32_t first, const uint8_t *in, uint8_t *out);

/* A call of f (call.c): the first of its results; TN_NOVAR with b failed. */
tn_i_var tn_i_called(tn_i_builder *b, const tn_fn *f, const tn_i_var *in);

/* Operands must have the types of the program's inputs from `first` on. */
bool tn_i_type_nested_inputs(tn_i_query *q, const tn_fn *f, const char *what);
bool tn_i_type_nested_outputs(tn_i_query *q, const tn_fn *f);
/* Float inputs or outputs of a program, counted. */
uint32_t tn_i_float_inputs(const tn_fn *f);
uint32_t tn_i_float_outputs(const tn_fn *f);

/* "jvp(name)", interned; `name` itself when that would be too long.  NULL, and b failed, without memory. */
const char *tn_i_wrapped_name(tn_i_builder *b, const char *what, const char *name);

/* Cost of running f once. */
void tn_i_cost_nested(const tn_fn *f, tn_i_cost *cost);

#endif
