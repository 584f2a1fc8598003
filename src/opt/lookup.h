/* Looking up: what reads windows of an array in memory at one index each, gathers and dynamic slices.  Nests compute
 * these like elementwise equations, of the index and of the loops that walk the window (opt/space.c); gathers of short
 * rows become such of single elements, column by column (opt/columns.c). */
#ifndef TN_LOOKUP_H
#define TN_LOOKUP_H

#include "prims/arrays/shape.h"

typedef struct tn_i_lookup {
    uint32_t index;             /* the operand that has it; operand 0 is the array */
    int along;                  /* the array's dimension that it counts */
    int64_t last;               /* the largest index */
    int64_t start[TN_MAX_RANK]; /* of the other dimensions: known */
    int8_t walk[TN_MAX_RANK];   /* of each dimension of the array: the one of the result that walks it, or -1 */
    int8_t batch[TN_MAX_RANK];  /* likewise of each dimension of the indices */
    bool fills;                 /* what other indices are given is `bits`; else the nearest window */
    uint64_t bits;              /* as of a literal */
} tn_i_lookup;

/* e, of one index for each window: a gather, or a dynamic slice of which the other starts are known.  False: it is
 * something else, or what it reads need not be in memory. */
bool tn_i_lookup_of(const tn_fn *f, const tn_i_eqn *e, tn_i_lookup *k);
/* Whether e may be such: operand 0 is no elements of its own, but an array in memory. */
bool tn_i_may_look_up(const tn_i_eqn *e);

/* e: operand 0 [m, ...], operand 1 [n, 1] -> [n, ...]: whole rows. */
bool tn_i_looks_up_rows(const tn_fn *f, const tn_i_eqn *e);
/* Column k of what such an e makes, of type [n]. */
tn_i_var tn_i_lookup_column(tn_i_builder *b, const tn_i_eqn *e, tn_i_var table, tn_i_var indices, int64_t k);

/* Index vectors, which place windows of `sizes` in an array of type x by dimensions d[TN_MAP], as one number of
 * elements each, of the shape of their batch: strides are those of x's dimensions.  Windows are held inside; without
 * `clips` it is -1 where one is not.  There is at least one entry. */
tn_i_var tn_i_flat_index(tn_i_builder *b, const tn_type *x, const int64_t *sizes, const int64_t *stride,
                         const tn_i_dnums *d, tn_i_var indices, bool clips);
/* Whether v, as one vector, is read where it is: it is no view, or small. */
bool tn_i_in_a_row(const tn_fn *f, tn_i_var v);

#endif
