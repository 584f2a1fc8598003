/* The k largest elements of a row, without sorting it where they are few of them. */
#ifndef TN_LARGEST_H
#define TN_LARGEST_H

#include "prims/arrays/order.h"

/* Elements that come into question are collected as entries, of which the k first stay when there is no room for more;
 * from then on an element is compared with the last of these before anything else is done with it.  Each time they are
 * sifted there is room for k new ones at least, so that the work for an element is bounded, whatever the order of the
 * row; a row that has no more than twice k elements is sorted.  By the least keys, equal ones by their places: an
 * entry's key is the complement of the element's. */
typedef struct tn_i_largest {
    enum { TN_LISTED, TN_SIFTED, TN_SORTED } by; /* few: a sorted list of k, as each comes */
    int64_t room;                                /* entries that there is to be memory for */
} tn_i_largest;
tn_i_largest tn_i_largest_way(int64_t n, int64_t k);

/* Those of n elements of x from `data` on, 0 < k <= n: from the largest on, NaN before all, of equals the first. */
const tn_i_keyed *tn_i_largest_of(const tn_i_arr *x, const void *data, int64_t stride, int64_t n, int64_t k,
                                  tn_i_keyed *room);

#endif
