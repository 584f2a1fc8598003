/* Walking strided arrays: the copies behind the shape and index primitives. */
#ifndef TN_LAYOUT_H
#define TN_LAYOUT_H

#include "prims/prim.h"

/* A nest of loops over a source and a destination: dimensions of size 1 are left
 * out and neighbours that are one run of memory in both are merged.  Made once,
 * run from any pair of first elements. */
typedef struct tn_i_walk {
    bool empty;
    int rank;
    int64_t dim[TN_MAX_RANK], src[TN_MAX_RANK], dst[TN_MAX_RANK]; /* strides in elements */
} tn_i_walk;

/* The innermost loop over n elements; strides in elements. */
typedef void tn_i_row(int64_t n, const void *src, int64_t ss, void *dst, int64_t ds);

void tn_i_walk_init(tn_i_walk *w, int rank, const int64_t *dim, const int64_t *src, const int64_t *dst);
void tn_i_walk_run(const tn_i_walk *w, tn_i_row *row, size_t size, const void *src, void *dst);
/* The row that copies elements of `size` bytes (1, 4 or 8). */
tn_i_row *tn_i_copy_row(size_t size);
/* The row that adds src to dst; integers wrap.  NULL for bool. */
tn_i_row *tn_i_add_row(int dtype);

/* Row-major strides of a valid type. */
void tn_i_dense_strides(const tn_type *t, int64_t *stride);
/* &data[at], for elements of `size` bytes. */
static inline const void *tn_i_at(const void *data, size_t size, int64_t at) {
    return (const char *)data + at * (int64_t)size;
}
static inline void *tn_i_at_mut(void *data, size_t size, int64_t at) { return (char *)data + at * (int64_t)size; }

/* Copies `in` into the dense array `out` of the same shape. */
void tn_i_copy_array(const tn_i_arr *in, const tn_i_arr *out);

#endif
