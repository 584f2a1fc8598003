/* Seeds that are known: what is made of them without residuals is computed when the derivative is made. */
#ifndef TN_SPARSE_SEEDS_H
#define TN_SPARSE_SEEDS_H

#include "ir/ir.h"

/* A linear program over known tangents of several colours. */
typedef struct tn_i_seeded {
    tn_ctx *ctx;
    tn_fn *behind; /* (residuals.. | values..) -> what it gives */
    uint32_t nvalue;
    int64_t colors;
    const tn_type **type; /* of the values */
    void **data;          /* [colors, shape of the value] */
} tn_i_seeded;

/* requires: linear (residuals.. | x..), seeds its linear inputs' values, [colors, shape] each.
 * ensures: linear(r, seeds) = behind(r, values), where each equation of `behind` has a residual in it, or something
 * made of one.  false after an error, with nothing to free. */
bool tn_i_seeds_through(const tn_fn *linear, int64_t colors, void *const *seeds, tn_i_seeded *out);
void tn_i_seeded_free(tn_i_seeded *s);

/* Whether each value is one number, or a few that repeat, in each colour. */
bool tn_i_seeds_repeat(const tn_i_seeded *s);
/* Elements of `data` (type t) in b: a number where all are alike, and a smaller array where they are along a dimension.
 * TN_NOVAR where all are 0 and `symbolic`. */
tn_i_var tn_i_known_array(tn_i_builder *b, const tn_type *t, const void *data, bool symbolic);

#endif
