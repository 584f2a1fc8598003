/* The rows and columns of a Jacobian: elements of float outputs, elements of inputs in wrt. */
#ifndef TN_SPARSE_SIDES_H
#define TN_SPARSE_SIDES_H

#include "ir/ir.h"

typedef struct tn_i_sides {
    tn_ctx *ctx;
    uint32_t nout, nwrt;
    const tn_type **out, **wrt; /* their types: outputs that are rows, inputs that are columns */
    int64_t *row, *col;         /* the first of each; [nout], [nwrt]: how many there are */
    int dtype;                  /* of all of them */
    size_t room;
} tn_i_sides;

/* Of f with respect to wrt, without its first `skip` float outputs.  false after TN_ETYPE where they differ in dtype,
 * or TN_ELIMIT where they are too many to count; with nothing to free. */
bool tn_i_sides_init(tn_i_sides *s, const char *who, const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, uint32_t skip);
void tn_i_sides_free(tn_i_sides *s);
/* The part that element i belongs to; first: n + 1 of them, ascending. */
uint32_t tn_i_side_of(const int64_t *first, uint32_t n, int64_t i);

#endif
