/* Emitting programs along one axis: shifts, running products, first-order recurrences. */
#ifndef TN_RECUR_H
#define TN_RECUR_H

#include "prims/prim.h"

/* x moved by one place towards higher (by 1) or lower (by -1) indices of an axis; `fill` enters. */
tn_i_var tn_i_shift(tn_i_builder *b, tn_i_var x, int axis, int by, double fill);
/* cumsum, cumprod, cummax, cummin or cumlogsumexp. */
tn_i_var tn_i_cumulate(tn_i_builder *b, int id, tn_i_var x, int axis, bool reverse);
/* linear_recurrence: y[i] = a[i] y[i-1] + x[i] along an axis; reverse: y[i] = a[i] y[i+1] + x[i]. */
tn_i_var tn_i_recurrence(tn_i_builder *b, tn_i_var a, tn_i_var x, int axis, bool reverse);

#endif
