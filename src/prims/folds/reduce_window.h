/* Reductions of windows, and what derivatives of maxima choose: reduce_window.c.  No primitive: what is emitted is pad,
 * slices joined elementwise, and for large windows sliding_windows and a reduction. */
#ifndef TN_REDUCE_WINDOW_H
#define TN_REDUCE_WINDOW_H

#include "prims/prim.h"

typedef enum tn_i_window_op { TN_I_WINDOW_SUM, TN_I_WINDOW_PROD, TN_I_WINDOW_MAX, TN_I_WINDOW_MIN } tn_i_window_op;

/* Of each dimension of an array, as jax.lax.reduce_window. */
typedef struct tn_i_window {
    int rank;
    int64_t size[TN_MAX_RANK], stride[TN_MAX_RANK], low[TN_MAX_RANK], high[TN_MAX_RANK];
    int64_t base_dilation[TN_MAX_RANK], dilation[TN_MAX_RANK];
} tn_i_window;

/* Of bool, the maximum is whether any is true, the minimum whether all are.  Derivatives of maxima and minima go to the
 * first element of a window that is one, in the order of its indices. */
tn_i_var tn_i_reduce_window(tn_i_builder *b, tn_i_var x, tn_i_window_op op, const tn_i_window *w);

/* Of each window of `by`, the element of x at the place of the first maximum (minimum, with `least`); 0 outside. */
tn_i_var tn_i_select_and_gather(tn_i_builder *b, tn_i_var x, tn_i_var by, bool least, const tn_i_window *w);
/* Its transpose: zeros like `by`, with each element of u added where its window has that place. */
tn_i_var tn_i_select_and_scatter(tn_i_builder *b, tn_i_var u, tn_i_var by, bool least, const tn_i_window *w);

/* What texts call reduce_window_sum, _prod, _max, _min, select_and_gather_add, select_and_scatter_add. */
extern const tn_prim tn_i_window_sum_form, tn_i_window_prod_form, tn_i_window_max_form, tn_i_window_min_form;
extern const tn_prim tn_i_select_and_gather_form, tn_i_select_and_scatter_form;

#endif
