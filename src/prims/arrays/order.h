/* Elements by the order of their keys, for kernels that sort along a dimension or look for the first ones. */
#ifndef TN_ORDER_H
#define TN_ORDER_H

#include "prims/c_text.h"
#include "prims/dims.h"

TN_C_TEXT(
    tn_i_keyed_text, typedef struct tn_i_keyed {
        uint64_t key; /* first key, as an unsigned number of the same order */
        int64_t from;
    } tn_i_keyed;)

TN_C_TEXT(
    tn_i_lane_text, typedef struct tn_i_lane {
        int64_t n;
        uint32_t more;        /* further keys */
        const uint64_t *keys; /* n of each */
    } tn_i_lane;)

/* Parameters of sort, and of top_k. */
enum { TN_SORT_DIMENSION, TN_SORT_STABLE, TN_SORT_KEYS };
enum { TN_TOP_K, TN_TOP_AXIS };
/* Along which axis of x top_k looks: the last one, where none is given. */
static inline int tn_i_top_axis(const tn_i_param *p, const tn_type *x) {
    return p[TN_TOP_AXIS].kind == TN_K_NONE ? x->rank - 1 : (int)p[TN_TOP_AXIS].u.i;
}

/* A key as an unsigned number of the same order: NaN last, -0 like 0. */
static inline uint64_t tn_i_ordered(bool is_float, tn_i_wide x) {
    const uint64_t top = UINT64_C(1) << 63;
    if (!is_float) return x.u ^ top;
    if (x.d != x.d) return UINT64_MAX;
    if (x.d == 0) return top; /* -0 and 0 are equal */
    return x.u & top ? ~x.u : x.u | top;
}
/* Those of n elements of x, from `data` on, to keys[0], keys[step], ... */
void tn_i_load_keys(const tn_i_arr *x, const void *data, int64_t stride, int64_t n, uint64_t *keys, size_t step);

/* The elements of x, from `from` on, that n entries are of, to `to`; strides are fs and ts. */
void tn_i_move_entries(const tn_i_arr *x, const void *from, int64_t fs, void *to, int64_t ts, const tn_i_keyed *order,
                       int64_t n);

/* Sorts the lane's n entries x, stably; the result is in x or in y, which is returned. */
const tn_i_keyed *tn_i_sort_entries(const tn_i_lane *c, tn_i_keyed *x, tn_i_keyed *y);

/* The k first of the n entries x, which begin with `sorted` sorted ones, sorted into x[0..k).  Entries are in the order
 * of `from` but for the sorted ones, which come before the others; k may be more than n. */
void tn_i_insert_entries(tn_i_keyed *x, int64_t k, int64_t sorted, int64_t n);
/* The k first of the n entries x, 0 < k <= n, to x[0..k) in the order in which they stand in x; the others are lost.
 * The greatest of their keys. */
uint64_t tn_i_select_entries(tn_i_keyed *x, int64_t k, int64_t n);

/* The texts of these, of merge_sort, which sorts like tn_i_sort_entries, and of tn_i_order_float and tn_i_order_int. */
extern const tn_i_c_helper tn_i_order_helpers[];

#endif
