/* tansy/flags.h - what operators are told besides.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TANSY_FLAGS_H
#define TANSY_FLAGS_H

/* What some operators are told besides, behind their arguments: tn_sum_axis(x, 0, TN_KEEPDIMS); none is 0, and may be
 * left out.  Each says which it takes; others are refused (TN_EINVAL). */
typedef unsigned tn_flags;
enum {
    TN_KEEPDIMS = 1 << 1,        /* axes that are reduced stay, with size 1 */
    TN_REVERSE = 1 << 2,         /* from the end */
    TN_EXCLUSIVE = 1 << 3,       /* without the own element */
    TN_WRAP = 1 << 4,            /* around */
    TN_ORDERED = 1 << 5,         /* summed in the order of ranks */
    TN_CLIP_INDICES = 1 << 6,    /* an index outside means the nearest one inside */
    TN_EXCLUDE_PADDING = 1 << 7, /* elements that are padding are not counted */
};
/* The n arguments and the flags, 0 where they are left out. */
#define TN_I_FLAGS(n, ...)                TN_I_JOIN5(TN_I_FLAGS_, n, _, TN_I_COUNT_(__VA_ARGS__), )(__VA_ARGS__)
#define TN_I_FLAGS_2_2(a, b)              a, b, 0
#define TN_I_FLAGS_2_3(a, b, flags)       a, b, flags
#define TN_I_FLAGS_3_3(a, b, c)           a, b, c, 0
#define TN_I_FLAGS_3_4(a, b, c, flags)    a, b, c, flags
#define TN_I_FLAGS_4_4(a, b, c, d)        a, b, c, d, 0
#define TN_I_FLAGS_4_5(a, b, c, d, flags) a, b, c, d, flags

#endif
