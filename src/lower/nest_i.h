/* What the files that lower nests share. */
#ifndef TN_LOWER_NEST_H
#define TN_LOWER_NEST_H

#include "lower/lower.h"

typedef struct tn_i_lowering {
    const tn_i_nest *n;
    tn_i_l_builder *b;
    tn_i_affine index[TN_MAX_RANK]; /* of each loop that is open: which iteration of the nest's it is */
    uint32_t *value;                /* of each operation: in the loops that are open; TN_L_NONE: nowhere yet */
    uint32_t *reduction;            /* of each REDUCE: its REDUCE in the program */
    uint32_t *buffer;               /* of each operation that crosses: the row's elements */
    uint32_t *array;                /* of each array of the nest */
} tn_i_lowering;

/* nest_memory.c */
/* Arrays, each with the elements that its operation can touch. */
bool tn_i_lower_arrays(tn_i_lowering *w);
uint32_t tn_i_lower_load(tn_i_lowering *w, const tn_i_nest_op *o);
uint32_t tn_i_lower_lookup(tn_i_lowering *w, const tn_i_nest_op *o);
/* Element `index` of array a, by the loops of `mask`. */
tn_i_affine tn_i_lower_address(tn_i_lowering *w, const tn_i_nest_array *a, uint32_t array, uint32_t mask);
/* Once all loops have run. */
void tn_i_lower_spots(tn_i_lowering *w);

#endif
