/* Strides (in elements) and the loop nests made of them. */
#ifndef TN_STRIDES_H
#define TN_STRIDES_H

#include "prims/arrays/layout.h"

/* A loop of a nest: its extent and one stride per array. */
#define TN_LOOP_ARRAYS        5
#define TN_LOOP_WIDTH(arrays) (1 + (arrays))

/* Row-major without gaps; the stride of a dimension of size 1 does not count. */
bool tn_i_strides_dense(const tn_type *t, const int64_t *stride);
/* Gives dimensions of size 1 or 0 their row-major stride, so that equal layouts have equal strides. */
void tn_i_normalize(const tn_type *t, int64_t *stride);
/* False when offsets of elements do not fit, in bytes, in an int64_t. */
bool tn_i_strides_fit(const tn_type *t, const int64_t *stride);
/* False when two elements may have one address (sufficient, not necessary). */
bool tn_i_strides_apart(const tn_type *t, const int64_t *stride);

/* The loops over t's elements (not empty) of `arrays` arrays, outermost first, in
 * loop[]: neighbours merged, a long one innermost.  Returns their number. */
uint32_t tn_i_collapse(const tn_type *t, uint32_t arrays, const int64_t (*stride)[TN_MAX_RANK], int64_t *loop);

#endif
