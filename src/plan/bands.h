/* Bands of rows.  A program over a long first dimension, as of data points, goes through its arrays once for each step:
 *
 *     z = A w        A is read
 *     s = f(z, y)    z, y are read, s is written
 *     g = A' s       A is read again
 *
 * Where such arrays are larger than the cache, the same is done for a band of rows after the other, all steps of it
 * while the band is in the cache: a scan over bands, which carries the sums, and the rows that are left as equations
 * behind it.  Values of the rows that only rows read are then never in memory as a whole.
 *
 * Bits stay: rows are computed as they are alone, products that sum over rows add parts of TN_DOT_PART rows in order,
 * wherever they run (prims/linear/dot.h), and reductions over rows get their leaves of TN_LEAF from the bands, which
 * are put together as plan/nest.h says. */
#ifndef TN_BANDS_H
#define TN_BANDS_H

#include "base/machine.h"
#include "prims/prim.h"

/* requires: a program as it is planned, fused; ensures: the same results, bit for bit, effects and all, in which at
 * most one scan runs over bands, or f itself where that would not pay.  Programs with effects, loops of unknown length
 * or offloaded values stay.  What is not in bands is fused again.  A new reference, NULL after an error.  Cost: linear.
 */
const tn_fn *tn_i_bands(const tn_fn *f);

/* ---- what bands.c finds, for bands_emit.c ------------------------------------------------ */

/* What an equation is to the bands. */
typedef enum tn_i_band_role {
    TN_BAND_NOT,
    TN_BAND_FREE,    /* repeats something along the rows: made in each band, and outside where that is wanted */
    TN_BAND_ROWS,    /* row i of its result needs row i of its row operands, and the whole of others */
    TN_BAND_PRODUCT, /* a product over rows, in parts */
    TN_BAND_SUM      /* a reduction over rows */
} tn_i_band_role;

typedef struct tn_i_band {
    const tn_fn *f;          /* nothing is fused */
    int64_t n, rows, least;  /* of all; of a band; of what is left, with some of the last band if they are fewer */
    int64_t part;            /* rows that a product sums before it adds to what is there */
    uint8_t *role;           /* of each equation */
    uint8_t *before;         /* of each equation: the bands need it */
    uint8_t *leaves;         /* of each value: of the rows, and read outside */
    uint8_t *by_row, *whole; /* of each value made outside: how the bands read it */
} tn_i_band;

/* Which operands of e, whose role is this, are taken row by row: a mask. */
unsigned tn_i_band_rowwise(const tn_i_band *z, const tn_i_eqn *e, tn_i_band_role role);
/* The program with its bands; nothing fused.  NULL after an error. */
tn_fn *tn_i_bands_emit(const tn_i_band *z);

#endif
