/* What the shape and index primitives share: parameter checks, dimension numbers,
 * and functions that emit them. */
#ifndef TN_SHAPE_H
#define TN_SHAPE_H

#include "prims/arrays/layout.h"
#include "prims/strips.h"

/* ---- type rules ------------------------------------------------------------------ */

/* Every parameter that the primitive requires is there and of its kind. */
bool tn_i_params_given(tn_i_query *q);
/* An array may have this rank. */
bool tn_i_rank_fits(tn_i_query *q, uint32_t rank);
/* Parameter k has `want` integers. */
bool tn_i_length_is(tn_i_query *q, uint32_t k, uint32_t want, const char *what);
/* The n axes named `name` are in 0..rank-1 and none is repeated (increasing: each above the one before). */
bool tn_i_axes_valid(tn_i_query *q, const char *name, uint32_t n, const int64_t *v, int rank, bool increasing);
/* Operand i has operand 0's dtype. */
bool tn_i_same_dtype(tn_i_query *q, uint32_t i);
/* Operands first.. are rank-0 i32 or i64, one per dimension of operand 0 and all alike. */
bool tn_i_indices_valid(tn_i_query *q, uint32_t first);

/* ---- costs -------------------------------------------------------------------------- */

static inline double tn_i_bytes_of(const tn_type *t) { return (double)tn_type_bytes(t); }
/* Every operand read once and every output written once. */
void tn_i_cost_copy(const tn_i_query *q, tn_i_cost *cost);

/* ---- rules -------------------------------------------------------------------------- */

static inline const int64_t *tn_i_ints(const tn_i_param *p, uint32_t k) { return p[k].u.ints; }
/* Operand 0 has as many rows as the result. */
static inline bool tn_i_as_many_rows(const tn_i_query *q) {
    return q->in[0]->rank > 0 && q->in[0]->dim[0] == q->out->dim[0];
}
/* v[0..n) moved up by one dimension, behind a batch dimension `first` when it is not negative; returns the new length.
 */
uint32_t tn_i_behind_batch(uint32_t n, const int64_t *v, int64_t first, int64_t *out);
/* t with a batch dimension in front (rank grows; the emitter refuses rank 9). */
tn_type tn_i_batch_type(const tn_type *t, int64_t n);
/* Operand i with the batch in front. */
tn_i_var tn_i_batched_operand(tn_i_rule *r, const bool *batched, uint32_t i);
/* The literal x when operand `in[0]` is its broadcast (or is it): broadcast to t instead. */
tn_i_var tn_i_respread(tn_i_builder *b, tn_i_var x, const tn_type *t);
/* In-place accumulation pays: something is or will be accumulated for operand 0, and the equation
 * reads less than all of it. */
bool tn_i_accumulates(const tn_i_rule *r);
/* The cotangent accumulated so far for operand 0, or zeros. */
tn_i_var tn_i_accumulated(tn_i_rule *r);

/* ---- emitting ------------------------------------------------------------------------ */

/* An array of one integer (tn_i_number goes through double). */
tn_i_var tn_i_whole_number(tn_i_builder *b, const tn_type *t, int64_t x);
tn_i_var tn_i_iota(tn_i_builder *b, int dtype, int rank, const int64_t *shape, int dimension);
/* strides may be NULL. */
tn_i_var tn_i_slice(tn_i_builder *b, tn_i_var x, const int64_t *start, const int64_t *limit, const int64_t *strides);
/* Elements start, start + stride, .. of one dimension, `count` of them. */
tn_i_var tn_i_slice_dimension(tn_i_builder *b, tn_i_var x, int at, int64_t start, int64_t stride, int64_t count);
/* x with u added to its slice. */
tn_i_var tn_i_slice_add(tn_i_builder *b, tn_i_var x, tn_i_var u, const int64_t *start, const int64_t *limit,
                        const int64_t *strides);
/* config: rank triples (low, high, interior). */
tn_i_var tn_i_pad(tn_i_builder *b, tn_i_var x, tn_i_var value, const int64_t *config);
tn_i_var tn_i_concatenate(tn_i_builder *b, uint32_t n, const tn_i_var *in, int64_t dimension);
tn_i_var tn_i_rev(tn_i_builder *b, tn_i_var x, uint32_t n, const int64_t *dimensions);
/* index: one scalar per dimension of x. */
tn_i_var tn_i_dynamic_slice(tn_i_builder *b, tn_i_var x, const tn_i_var *index, const int64_t *sizes);
tn_i_var tn_i_dynamic_update_slice(tn_i_builder *b, tn_i_var x, tn_i_var update, const tn_i_var *index);

/* Windows that slide along n dimensions (sliding.c). */
typedef struct tn_i_sliding {
    uint32_t n;
    int64_t dims[TN_MAX_RANK], sizes[TN_MAX_RANK], strides[TN_MAX_RANK], dilation[TN_MAX_RANK];
} tn_i_sliding;
tn_i_var tn_i_sliding_windows(tn_i_builder *b, tn_i_var x, const tn_i_sliding *w);
/* x with u, of the type of its windows, added to them. */
tn_i_var tn_i_overlap_add(tn_i_builder *b, tn_i_var x, tn_i_var u, const tn_i_sliding *w);
/* How many windows a dimension of n elements has. */
int64_t tn_i_windows_along(int64_t n, int64_t size, int64_t stride, int64_t dilation);

/* ---- slices ------------------------------------------------------------------------- */

/* The parameters of slice and slice_add (slicing.c). */
extern const tn_i_spec tn_i_slice_spec[];
/* The sizes of the slice of operand 0 that they say; false, failed, where it has none. */
bool tn_i_slice_sizes(tn_i_query *q, int64_t *dim);
/* What pads dimension d of the slice to that of what it is of: low, high, interior. */
void tn_i_slice_padding(const tn_i_param *p, const tn_type *of, const tn_type *part, int d, int64_t config[3]);
/* The same slice of each of a batch. */
typedef struct tn_i_slice_params {
    int64_t start[TN_MAX_RANK + 1], limit[TN_MAX_RANK + 1], stride[TN_MAX_RANK + 1];
    bool strided;
} tn_i_slice_params;
tn_i_slice_params tn_i_slice_batched(const tn_i_param *p, int rank, int64_t batch);
/* A case with a slice of operand 0. */
bool tn_i_sample_slice(tn_i_rng *r, int dtype, tn_i_case *c);

/* Dimension numbers of gather and the scatters. `windows` stands for gather's output and the updates. */
enum {
    TN_WINDOW,        /* offset_dims | update_window_dims: dimensions of `windows` that run over a window */
    TN_COLLAPSED,     /* collapsed_slice_dims | inserted_window_dims: operand dimensions of window size 1 left out */
    TN_MAP,           /* start_index_map | scatter_dims_to_operand_dims: operand dimension of each index column */
    TN_OPERAND_BATCH, /* operand_batching_dims */
    TN_INDEX_BATCH,   /* start_indices_batching_dims | scatter_indices_batching_dims, paired with the former */
    TN_NDNUMS
};
typedef struct tn_i_dnums {
    uint32_t n[TN_NDNUMS];
    int64_t v[TN_NDNUMS][TN_MAX_RANK + 1]; /* a batching rule may add one */
} tn_i_dnums;
/* Of a parameter whose type rule has passed. */
void tn_i_dnums_read(tn_i_dnums *d, const tn_i_param *p);

enum { TN_CLIP, TN_FILL };
/* fill: as gather's parameter; NULL for the dtype's default (only with TN_FILL). */
tn_i_var tn_i_gather(tn_i_builder *b, tn_i_var x, tn_i_var indices, const tn_i_dnums *d, const int64_t *sizes, int mode,
                     const tn_i_param *fill);
/* x[.., index[.., i, ..], ..] along an axis; other dimensions are alike, and nothing is empty. */
tn_i_var tn_i_take_along(tn_i_builder *b, tn_i_var x, tn_i_var index, int axis);
extern const tn_i_param tn_i_fill_zero;
/* What stands for a window outside, of a gather with TN_FILL whose operand is of this dtype: bits as of a literal. */
uint64_t tn_i_gather_fill(const tn_i_param *p, int dtype);
/* x, `times` times along an axis, which has room for it: the pair (times, its size) broadcast and merged. */
tn_i_var tn_i_repeated(tn_i_builder *b, tn_i_var x, int axis, int64_t times);
/* x with updates added; clip: as of scatter. */
tn_i_var tn_i_scatter_add(tn_i_builder *b, tn_i_var x, tn_i_var indices, tn_i_var updates, const tn_i_dnums *d,
                          bool clip);
/* clip: starts are held inside; unique: no element is written twice, as a user promised. */
tn_i_var tn_i_scatter(tn_i_builder *b, tn_i_var x, tn_i_var indices, tn_i_var updates, const tn_i_dnums *d, bool clip,
                      bool unique);
/* One of the scatters, TN_P_scatter .., that drops what is outside. */
tn_i_var tn_i_scatter_of(tn_i_builder *b, int scatter, tn_i_var x, tn_i_var indices, tn_i_var updates,
                         const tn_i_dnums *d);
/* An equation of the same primitive, mode and promises as `like`. */
tn_i_var tn_i_scatter_alike(tn_i_builder *b, const tn_i_eqn *like, tn_i_var x, tn_i_var indices, tn_i_var updates,
                            const tn_i_dnums *d);

#endif
