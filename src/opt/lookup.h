/* Looking up: gathers of single elements of a vector in memory, each by one index.  Nests compute these like
 * elementwise equations of the indices (opt/space.c); gathers of short rows become such, column by column
 * (opt/columns.c). */
#ifndef TN_LOOKUP_H
#define TN_LOOKUP_H

#include "prims/arrays/shape.h"

typedef struct tn_i_lookup {
    int64_t last;  /* the largest index */
    bool fills;    /* what other indices are given is `bits`; else the nearest element */
    uint64_t bits; /* as of a literal */
} tn_i_lookup;

/* e: operand 0 [m], operand 1 [..., 1] -> [...].  False: it is another gather, or what it reads need not be in memory.
 */
bool tn_i_lookup_of(const tn_fn *f, const tn_i_eqn *e, tn_i_lookup *k);

/* e: operand 0 [m, ...], operand 1 [n, 1] -> [n, ...]: whole rows. */
bool tn_i_looks_up_rows(const tn_fn *f, const tn_i_eqn *e);
/* Column k of what such an e makes, of type [n]. */
tn_i_var tn_i_lookup_column(tn_i_builder *b, const tn_i_eqn *e, tn_i_var table, tn_i_var indices, int64_t k);

/* x, rank 0 or of some shape, held between 0 and `last`. */
tn_i_var tn_i_clamped(tn_i_builder *b, tn_i_var x, int64_t last);
/* Index vectors, which place windows of `sizes` in an array of type x by dimensions d[TN_MAP], as one number of
 * elements each, of the shape of their batch: strides are those of x's dimensions.  Windows are held inside; without
 * `clips` it is -1 where one is not.  There is at least one entry. */
tn_i_var tn_i_flat_index(tn_i_builder *b, const tn_type *x, const int64_t *sizes, const int64_t *stride,
                         const tn_i_dnums *d, tn_i_var indices, bool clips);
/* Whether v, as one vector, is read where it is: it is no view, or small. */
bool tn_i_in_a_row(const tn_fn *f, tn_i_var v);

#endif
