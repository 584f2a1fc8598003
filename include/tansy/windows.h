/* tansy/windows.h - convolutions, pooling and other windows over arrays.
 *
 * SPDX-License-Identifier: MIT
 *
 * Operators as those of tansy/ops.h, which includes this: the same rules for operands, errors, ownership and threads.
 */
#ifndef TANSY_WINDOWS_H
#define TANSY_WINDOWS_H

#include "../tansy.h"
#include "flags.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Convolution as jax.lax.conv_general_dilated has it: windows of x times the kernel, which is not reversed.  `layout`
 * names the axes of x, the kernel and the result, as "NHWC,HWIO->NHWC" or "NCW,OIW->NCW": N is the batch, C the
 * features of x and of the result, I and O those of the kernel, and any other letters are spatial, in the kernel's
 * order in the lists below; up to 6 of them, also none.  The kernel has C / groups features I, and groups divides O. */
typedef struct tn_conv_how {
    tn_int_list strides;    /* between windows; each list has a number for each spatial axis, or none: 1 */
    tn_int_list lo, hi;     /* zeros before and behind, negative cuts; none: 0 */
    tn_int_list x_dilation; /* x's elements stand so far apart, zeros between them: transposed convolutions */
    tn_int_list dilation;   /* the kernel's do */
    bool same;              /* padding so that a stride of 1 keeps the size ("SAME"), instead of lo and hi */
    int64_t groups; /* groups of features, each with a part of the kernel (0: 1); as many as features: depthwise */
    int64_t batch_groups; /* groups of the batch, each with a part of O (0: 1): gradients of grouped convolutions */
} tn_conv_how;
/* `how` NULL: strides of 1, no padding.  Numbers of one dtype.  What is emitted are pad, sliding_windows and
 * dot_general, and of depthwise kernels of up to 64 elements slices times numbers, so that derivatives of every order,
 * batching and C are those of these; windows take no memory of their own.  Windows are dimensions: x's, one for each
 * spatial axis of the kernel that is not 1, one for groups, and one for each tn_vmap around it, at most 8 together;
 * where there would be 8 without a tn_vmap, spatial axes of up to 64 elements become sums instead. */
TN_API tn_val tn_conv_at(tn_val x, tn_val kernel, const char *layout, const tn_conv_how *how, const char *file,
                         int line);
#define tn_conv(...) tn_conv_at(__VA_ARGS__, __FILE__, __LINE__)

/* Windows over all axes of x, as jax.lax.reduce_window: a number for each axis. */
typedef struct tn_window {
    tn_int_list sizes, strides; /* none: 1 */
    tn_int_list lo, hi;         /* padding by what changes no result; negative cuts; none: 0 */
    tn_int_list x_dilation;     /* x's elements stand so far apart; none: 1 */
    tn_int_list dilation;       /* those of a window do; none: 1 */
    bool same;                  /* padding so that a stride of 1 keeps the size ("SAME"), instead of lo and hi */
} tn_window;
/* The sum, product, largest and smallest element of each window; of bool, whether any (max) or all (min) are true.  The
 * derivative of a maximum goes to the first element that is one, in the order of indices; a NaN wins.
 * One axis after the other: a window of n elements costs at most 8 operations an axis, or about 2 log2 n, or n where
 * windows overlap little. */
TN_API tn_val tn_sum_pool_at(tn_val x, const tn_window *w, const char *file, int line);
TN_API tn_val tn_prod_pool_at(tn_val x, const tn_window *w, const char *file, int line);
TN_API tn_val tn_max_pool_at(tn_val x, const tn_window *w, const char *file, int line);
TN_API tn_val tn_min_pool_at(tn_val x, const tn_window *w, const char *file, int line);
#define tn_sum_pool(...)  tn_sum_pool_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_prod_pool(...) tn_prod_pool_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_max_pool(...)  tn_max_pool_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_min_pool(...)  tn_min_pool_at(__VA_ARGS__, __FILE__, __LINE__)
/* The sum over the number of elements of a window: of all, or with TN_EXCLUDE_PADDING of those that x has.  Floats. */
TN_API tn_val tn_avg_pool_at(tn_val x, const tn_window *w, tn_flags flags, const char *file, int line);
#define tn_avg_pool(...) tn_avg_pool_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__)

/* The primitives beneath.  All windows along the given axes, whose elements stand on axes of their own behind the
 * others: out[.., i, .., k] = x[.., strides i + dilation k, ..], a view that takes no memory; and x with u, of the
 * shape of its windows, added to them (the transpose: what signal processing calls overlap-add).  Empty lists: strides
 * and dilation of 1. */
TN_API tn_val tn_sliding_windows_at(tn_val x, tn_int_list axes, tn_int_list sizes, tn_int_list strides,
                                    tn_int_list dilation, const char *file, int line);
TN_API tn_val tn_overlap_add_at(tn_val x, tn_val u, tn_int_list axes, tn_int_list sizes, tn_int_list strides,
                                tn_int_list dilation, const char *file, int line);
#define tn_sliding_windows(...) tn_sliding_windows_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_overlap_add(...)     tn_overlap_add_at(__VA_ARGS__, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
