/* Equations that texts of JAX have and that are several of ours (forms.c): no primitives, so that a program, and the
 * text that is printed of it, has what they are made of. */
#ifndef TN_FORMS_H
#define TN_FORMS_H

#include "prims/prim.h"

/* reduce_or, reduce_and, reduce_xor: of bools whether any, all or an odd number is true, of integers by their bits. */
extern const tn_prim tn_i_reduce_or_form, tn_i_reduce_and_form, tn_i_reduce_xor_form;
/* lt_to, le_to: the total order of floats, -nan < -inf < .. < -0 < 0 < .. < inf < nan. */
extern const tn_prim tn_i_lt_to_form, tn_i_le_to_form;

/* stack: operands beside each other in a new dimension; tile: one repeated along its dimensions. */
extern const tn_prim tn_i_stack_form, tn_i_tile_form;

/* select_n: the case that a number, or a truth value, names.  May operand 0 be a scalar beside arrays? */
extern const tn_prim tn_i_select_n_form;
bool tn_i_chooses(const tn_prim *prim);
/* platform_index: which of the branches of a `cond` is for CPUs. */
extern const tn_prim tn_i_platform_index_form;
/* reshape of dimensions in another order. */
extern const tn_prim tn_i_reshape_form;
/* `written` of argmax and argmin: places that are u32 are made of i64. */
tn_i_var tn_i_unsigned_place(tn_i_builder *b, int prim, const tn_i_param *p, uint32_t nin, const tn_i_var *in);

/* random_seed: the words of the key of an integer, the upper half first.  random_bits with `bit_width`: 32, or 64,
 * which are i64. */
extern const tn_prim tn_i_random_seed_form, tn_i_random_bits_form;

/* `written` of primitives whose operands from `first` on are places: u32 becomes i64. */
tn_i_var tn_i_unsigned_places(tn_i_builder *b, int prim, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                              uint32_t first, uint32_t limit);

#endif
