/* What moves elements and does nothing else, as boxes of the operands that go to boxes of the results: pads, slices,
 * concatenations, permutations.  One description for the kernel, for C and for loops (lower/boxes.c). */
#ifndef TN_BOXES_H
#define TN_BOXES_H

#include "prims/prim.h"

/* Strides, and where the first element is, in elements; results are dense. */
typedef struct tn_i_moved_box {
    uint32_t in, out; /* from this operand to this result */
    int rank;
    int64_t dim[TN_MAX_RANK];
    int64_t from, src[TN_MAX_RANK]; /* a stride of 0: the same elements again */
    int64_t to, dst[TN_MAX_RANK];
} tn_i_moved_box;

/* Who wants them: `put` is called with each.  A later box is stored over an earlier one. */
typedef struct tn_i_moved_boxes {
    void (*put)(struct tn_i_moved_boxes *z, const tn_i_moved_box *box);
} tn_i_moved_boxes;

/* Of a primitive with `boxes`: its kernel. */
tn_status tn_i_box_kernel(const tn_i_kernel *k);
/* Of a primitive with a view that never fails: that, to the result. */
void tn_i_view_boxes(const tn_i_kernel *k, tn_i_moved_boxes *to);
/* All of operand `in`, and the strides of that, to element `to` on of result `out`. */
void tn_i_box_of_operand(const tn_i_kernel *k, uint32_t in, uint32_t out, tn_i_moved_box *box);

#endif
