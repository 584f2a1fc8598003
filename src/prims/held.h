/* Equations of dtypes that are computed with as another one, their holder (base.h): integers of 8 and 16 bits and u64,
 * floats of 16 bits. */
#ifndef TN_HELD_H
#define TN_HELD_H

#include "prims/prim.h"

/* An array of such a dtype as one of its holder, and back, of one that has the dtype's values alone; others as they
 * are. */
tn_i_var tn_i_load_held(tn_i_builder *b, tn_i_var x);
tn_i_var tn_i_store_held(tn_i_builder *b, tn_i_var x, int dtype);

/* x, of the holder, as what it is in the dtype: its low bits, or rounded to nearest, ties to even. */
tn_i_var tn_i_fitted(tn_i_builder *b, tn_i_var x, int dtype);

/* The equation of r->p over r->in, of the types r->in_type, some of them held, as are its results, of r->out_type: all
 * of out. */
void tn_i_held_equation(tn_i_rule *r, const tn_prim *prim, tn_i_var *out);

/* The result of an equation that the builder may fold, of literals of these bits; false: it is not known. */
bool tn_i_held_fold(const tn_i_query *q, const uint64_t *in, uint64_t *out);

/* ---- `held` of primitives: what is another equation, or more than one, of the holder ---- */
bool tn_i_held_convert(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_bitcast(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_div(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_rem(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_abs(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_sign(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_shift_right_logical(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_shift_right_arithmetic(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_population_count(tn_i_rule *r, tn_i_var *out);
bool tn_i_held_clz(tn_i_rule *r, tn_i_var *out);

#endif
