/* Walking some of the dimensions of a strided array, and reading its elements
 * in a type wide enough for all dtypes: what kernels of reductions, scans, sorts
 * and products share. */
#ifndef TN_DIMS_H
#define TN_DIMS_H

#include "prims/prim.h"

/* Dimensions, outermost first, with element strides. */
typedef struct tn_i_dims {
    int n;
    int64_t size[TN_MAX_RANK], stride[TN_MAX_RANK];
} tn_i_dims;

void tn_i_dims_push(tn_i_dims *d, int64_t size, int64_t stride);
/* The dimensions of x in (or not in) the set `axes` (bit i: dimension i). */
tn_i_dims tn_i_dims_of(const tn_i_arr *x, unsigned axes);
/* Drops dimensions of size 1 and joins neighbours that are one strided run. */
void tn_i_dims_merge(tn_i_dims *d);
int64_t tn_i_dims_count(const tn_i_dims *d);

/* A position in row-major order over some dimensions, and its element offset. */
typedef struct tn_i_cursor {
    const tn_i_dims *d;
    int64_t at[TN_MAX_RANK];
    int64_t offset;
} tn_i_cursor;

void tn_i_cursor_start(tn_i_cursor *w, const tn_i_dims *d, int64_t position);
void tn_i_cursor_next(tn_i_cursor *w); /* past the last position it starts again */

/* An element widened: floats to double, integers and bools to int64. */
typedef union tn_i_wide {
    double d;
    int64_t i;
    uint64_t u;
} tn_i_wide;

/* Elements first, first + stride, ... of data. */
void tn_i_load(int dtype, const void *data, int64_t first, int64_t stride, int64_t n, tn_i_wide *to);
void tn_i_store(int dtype, void *data, int64_t first, int64_t stride, int64_t n, const tn_i_wide *from);
/* The n elements of `data` at positions first.. of the dimensions. */
void tn_i_load_dims(int dtype, const void *data, const tn_i_dims *d, int64_t first, int64_t n, tn_i_wide *to);

static inline void *tn_i_address(const tn_i_arr *x, int64_t offset) {
    return (char *)x->data + offset * (int64_t)tn_i_dtype_size(x->type->dtype);
}

/* A set of axes as a bit mask. */
unsigned tn_i_axis_set(uint32_t n, const int64_t *axes);
/* True when operand 0's dtype is one of prim->dtypes, else fails the query. */
bool tn_i_admits(tn_i_query *q);

#endif
