/* Dtypes that texts of JAX have and programs have not: integers of 8 and 16 bits, which are held in 32, floats of 16
 * bits, held in f32, and u64, an i64 of the same bits. */
#ifndef TN_NARROW_H
#define TN_NARROW_H

#include "prims/near.h"

/* A dtype of a text, behind those of programs and of complex arrays; 0: one of programs. */
enum { TN_I_U64 = TN_NDTYPES + 3, TN_I_BF16, TN_I_F16, TN_I_I8, TN_I_I16, TN_I_U8, TN_I_U16, TN_I_NARROW_END };

static inline bool tn_i_is_half(int dtype) { return dtype == TN_I_BF16 || dtype == TN_I_F16; }
static inline bool tn_i_is_short(int dtype) { return dtype >= TN_I_I8 && dtype <= TN_I_U16; }
tn_i_format tn_i_format_of(int dtype); /* of a half one */

/* The dtype that holds one, -1 of others; its name. */
int tn_i_holder(int dtype);
const char *tn_i_narrow_name(int dtype);

/* x, a result that may be none of the dtype's values, as one: rounded, or its low bits. */
tn_i_var tn_i_narrowed(tn_i_builder *b, tn_i_var x, int dtype);

/* What a sign would change, of u64 as i64: NULL of other names. */
const tn_prim *tn_i_u64_form(const char *name);
/* The bits of a half one as u16, or what has those; NULL: of other dtypes. */
const tn_prim *tn_i_half_bits_form(int from, int to);

#endif
