/* Convolutions as products of windows: conv.c.  No primitive: what is emitted is pad, sliding_windows and dot_general,
 * and of one channel a group, slices times numbers. */
#ifndef TN_CONV_H
#define TN_CONV_H

#include "prims/prim.h"

enum { TN_CONV_MAX = TN_MAX_RANK - 2 }; /* spatial dimensions */

/* As jax.lax.conv_general_dilated; spatial dimension i is spec[2 + i]. */
typedef struct tn_i_conv {
    int n; /* spatial dimensions */
    int64_t strides[TN_CONV_MAX], low[TN_CONV_MAX], high[TN_CONV_MAX];
    int64_t lhs_dilation[TN_CONV_MAX], rhs_dilation[TN_CONV_MAX];
    int64_t lhs[TN_MAX_RANK]; /* the dimension of the batch, of features, and spatial ones */
    int64_t rhs[TN_MAX_RANK]; /* of output features, of input features, and spatial ones */
    int64_t out[TN_MAX_RANK]; /* as lhs */
    int64_t feature_groups, batch_groups;
} tn_i_conv;

tn_i_var tn_i_convolution(tn_i_builder *b, tn_i_var lhs, tn_i_var rhs, const tn_i_conv *c);

/* What a text calls conv_general_dilated. */
extern const tn_prim tn_i_conv_form;

#endif
