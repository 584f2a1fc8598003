/* Windows placed by index vectors: what gather, scatter_add and scatter have in common.
 *
 * The last dimension of `indices` holds vectors, one entry per mapped operand
 * dimension.  Each vector places one window in the operand; `windows` (gather's
 * output, scatter_add's updates) has one copy of the window per vector. */
#ifndef TN_WINDOWS_H
#define TN_WINDOWS_H

#include "prims/shape.h"

/* Reads parameter 0 and checks it against the types of operand and indices;
 * the rank of `windows` is returned through *rank. */
bool tn_i_dnums_valid(tn_i_query *q, tn_i_dnums *d, int *rank);
/* Whether list j has x. */
bool tn_i_dnums_has(const tn_i_dnums *d, uint32_t j, int64_t x);
/* Operand dimension i runs over windows: it is neither collapsed nor batching. */
bool tn_i_in_window(const tn_i_dnums *d, int64_t i);
/* Size of the window per operand dimension, from the type of `windows`. */
void tn_i_window_sizes(const tn_i_dnums *d, const tn_type *operand, const tn_type *windows, int64_t *sizes);

/* Walks the windows in order. */
typedef struct tn_i_windows {
    const tn_i_arr *indices;
    int rank; /* of the batch of windows */
    int64_t dim[TN_MAX_RANK], at[TN_MAX_RANK];
    int64_t index_stride[TN_MAX_RANK], operand_stride[TN_MAX_RANK], window_stride[TN_MAX_RANK];
    uint32_t columns;
    int64_t column_stride, last[TN_MAX_RANK], column_operand[TN_MAX_RANK];
    bool done, too_large; /* no window fits in the operand */
    int64_t index_at, batch_at, window_at;
    /* the current window: its first element in operand and windows; wholly inside */
    int64_t from, to;
    bool inside;
} tn_i_windows;

/* operand and windows with the strides of their arrays; sizes per operand dimension. */
void tn_i_windows_init(tn_i_windows *w, const tn_i_dnums *d, const int64_t *sizes, const tn_i_arr *operand,
                       const tn_i_arr *indices, const tn_i_arr *windows);
/* The next window (the first, at first), its start clamped into the operand; false at the end. */
bool tn_i_windows_next(tn_i_windows *w);
/* The loops over one window, between the operand's strides and those of `windows`. */
void tn_i_window_strides(const tn_i_dnums *d, const int64_t *sizes, const tn_i_arr *operand, const tn_i_arr *windows,
                         int *rank, int64_t *dim, int64_t *in_operand, int64_t *in_windows);

/* Dimension numbers with the batch in front: of the operand as one more window dimension (indices not
 * batched), of the indices alone, or of both. */
void tn_i_dnums_batch(tn_i_dnums *out, const tn_i_dnums *d, bool operand, bool indices);

/* A random case: operand, indices and their domain, dimension numbers (parameter 0), window sizes, the type of
 * windows.  `gather`: collapsed dimensions have elements. */
bool tn_i_sample_windows(tn_i_rng *r, int dtype, tn_i_case *c, bool gather, int64_t *sizes, tn_type *windows);

/* ---- what scatter_add and scatter have in common (gather.c) ---- */

extern const char *const tn_i_scatter_fields[TN_NDNUMS];
/* The updates have the dtype of operand 0 and the shape that dimension numbers and indices make. */
bool tn_i_updates_valid(tn_i_query *q, const tn_i_dnums *d, int rank);
/* Which elements of an operand may end where, wherever the windows are. */
bool tn_i_scatter_sums(const tn_i_query *q, uint32_t operand, tn_i_sums *s);
/* Element i of an index vector, where it is known. */
bool tn_i_known_index(const tn_i_builder *b, tn_i_var v, uint32_t i, int64_t *x);
/* C text: opens the loops over the windows; behind it `from` and `to` are where each begins, and `inside` tells. */
void tn_i_c_open_windows(const struct tn_i_c_kernel *k, const tn_i_windows *w, bool inside);

#endif
