/* Equations of dtypes that are computed with as another one, their holder (base.h): integers of 8 and 16 bits and u64,
 * floats of 16 bits. */
#ifndef TN_HELD_H
#define TN_HELD_H

#include "prims/c_text.h"
#include "prims/prim.h"

/* One number, as primitives have it (prims/strips.h): from memory of the dtype to its holder, the holder's to memory,
 * and both, there and back.  NULL where memory has the holder's bits. */
typedef struct tn_i_held_body {
    tn_i_strip *strip;
    const char *text;
} tn_i_held_body;
typedef struct tn_i_held_bodies {
    tn_i_held_body load, store, as;
} tn_i_held_bodies;
const tn_i_held_bodies *tn_i_held_bodies_of(int dtype);
extern const tn_i_c_helper tn_i_half_helpers[]; /* what the texts call */

/* An array of such a dtype as one of its holder, and back: to the low bits, or the nearest, ties to even; others as
 * they are.  And whether that is what an equation does. */
tn_i_var tn_i_load_held(tn_i_builder *b, tn_i_var x);
tn_i_var tn_i_store_held(tn_i_builder *b, tn_i_var x, int dtype);
bool tn_i_loads_held(const tn_prim *prim, int from, int to);
bool tn_i_stores_held(const tn_prim *prim, int from, int to);

/* The equation of r->p over r->in, of the types r->in_type, some of them held, as are its results, of r->out_type: all
 * of out.  Arrays are as they are in memory; what is computed with them is of their holders. */
void tn_i_held_equation(tn_i_rule *r, const tn_prim *prim, tn_i_var *out);

/* The result of an equation that the builder may fold, of literals of these bits; false: it is not known. */
bool tn_i_held_fold(const tn_i_query *q, const uint64_t *in, uint64_t *out);

/* ---- `held` of primitives: what is another equation, or more than one, over values of the holder, whose results are
 * those in memory ---- */
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
