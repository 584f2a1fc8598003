/* Fusion: which equations run in one set of loops. */
#ifndef TN_FUSE_H
#define TN_FUSE_H

#include "base/machine.h"
#include "prims/prim.h"

/* requires: a program as it is planned; ensures: the same outputs and effects, in which equations that a nest can
 * compute stand in `fused` equations.  Nothing is computed twice, but what costs nothing (numbers, iota) or less than
 * memory would (indexed.c, shift.c); equations that nothing needs are gone.
 * All inputs are ordinary ones.  A new reference, NULL after an error.  Cost: linear. */
tn_fn *tn_i_fuse(const tn_fn *f);

/* Calls of programs that are called once, or small, in place (inlined.c).  The same. */
tn_fn *tn_i_inlined(const tn_fn *f);
/* What fusion begins with (slice_sums.c).  requires: any program; ensures: the same outputs, to the bit.  A new
 * reference, NULL after an error. */
tn_fn *tn_i_slices_summed(const tn_fn *f);
/* Products of a few numbers as what nests compute (small_products.c), and slices of padded arrays as pads of their own
 * (unpadded.c).  The same, linear. */
tn_fn *tn_i_small_products(const tn_fn *f);
tn_fn *tn_i_unpadded(const tn_fn *f);
/* Small arrays that are looked up, written to, padded or joined as what nests compute (small_moves.c).  The same. */
tn_fn *tn_i_small_moves(const tn_fn *f);
/* Remainders of what is divided as well, by that quotient (remainders.c).  The same, linear. */
tn_fn *tn_i_remainders(const tn_fn *f);
/* Cumulative operations over a few elements, likewise (small_scans.c). */
tn_fn *tn_i_small_scans(const tn_fn *f);
/* Slices of concatenations as slices of their operands (unjoined.c).  The same, linear. */
tn_fn *tn_i_unjoined(const tn_fn *f);
/* Sorts of a few elements, likewise (small_sorts.c). */
tn_fn *tn_i_small_sorts(const tn_fn *f);
/* Comparisons, choices and bounds of integers whose ranges tell them (ranges.c).  The same, linear. */
tn_fn *tn_i_in_ranges(const tn_fn *f);
/* Index vectors of several entries as one index (flat_indices.c).  The same, linear. */
tn_fn *tn_i_flat_indices(const tn_fn *f);
/* What a reduction reads behind a reshape that splits dimensions, computed in that shape (split_shapes.c).  The same,
 * linear. */
tn_fn *tn_i_split_shapes(const tn_fn *f);
/* Factorizations and solves of small matrices, likewise (small_factors.c). */
tn_fn *tn_i_small_factors(const tn_fn *f);
/* Elementwise equations in the order of dimensions in which less of what they read and write is transposed (layouts.c).
 * The same, linear. */
tn_fn *tn_i_assign_layouts(const tn_fn *f);
/* Elementwise, of one operation that is no function, without effects: as cheap as reading memory (constants.c). */
bool tn_i_cheap(const tn_i_eqn *e, int in, int out);
/* What is computed from indices alone, where it is read (indexed.c).  The same, linear; each of a few operations an
 * element. */
tn_fn *tn_i_indexed(const tn_fn *f);
/* Which equations outputs and effects need; NULL after TN_ENOMEM, else f->neqn bytes to be freed. */
uint8_t *tn_i_needed(const tn_fn *f);
/* out, of each equation: it makes much of little, such as the product of a basis with a vector that is repeated, and
 * nothing but what `computes` says reads it.  False after TN_ENOMEM (producers.c). */
bool tn_i_producers(const tn_fn *f, bool (*computes)(const tn_fn *, const tn_i_eqn *), uint8_t *out);
/* And then (shift.c): cheap arithmetic that is padded or joined, done where its result is read.  Requires and ensures
 * the same; some equations are computed up to a few times, and others nowhere any more.  Cost: linear. */
tn_fn *tn_i_shifted(const tn_fn *f);
/* And behind fusion (recomputed.c): what a step computes of inputs by an operation or two, in the steps that read it.
 * The same. */
tn_fn *tn_i_recomputed(const tn_fn *f);
/* Small arrays that are put together by steps of their own, right behind what they are made of (hoist.c).  The same. */
tn_fn *tn_i_hoisted(const tn_fn *f);
/* The same equations in an order in which less is alive at one time (low_peak.c), or f itself where that is as good, or
 * loops and spilled values have their order already.  requires: any program; effects stay in order.  A new reference,
 * NULL after an error.  Cost: linear. */
const tn_fn *tn_i_low_peak(const tn_fn *f);
/* n equations of f, what its outputs need among them, each behind those that it reads (rewrite.c).  All inputs are
 * ordinary ones.  A new reference, NULL after an error. */
tn_fn *tn_i_reordered(const tn_fn *f, const uint32_t *order, uint32_t n);
/* The same, of which `put` writes those that it returns true for, and maps what they make; in their own order where
 * `order` is NULL. */
typedef bool tn_i_put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with);
tn_fn *tn_i_rewritten(const tn_fn *f, const uint32_t *order, uint32_t n, tn_i_put *put, const void *with);
/* Small arrays that depend on no input are constants (constants.c).  requires, ensures, errors: the same. */
tn_fn *tn_i_fold_constants(const tn_fn *f);
/* Elementwise equations of constants that are 0 but for one element of each row, without these (one_hot.c).  requires:
 * any program; ensures: the same outputs, to the bit, but that products with such a 0 are left out in linear programs.
 * A new reference, NULL after an error.  Cost: linear. */
tn_fn *tn_i_split_one_hot(const tn_fn *f);
/* Whether e is slice_add without strides; then what is around the slice in each dimension, as pad wants it. */
bool tn_i_window_of(const tn_fn *f, const tn_i_eqn *e, int64_t *config);

#endif
