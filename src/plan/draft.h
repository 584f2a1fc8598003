/* A `fused` equation before and while it becomes a nest. */
#ifndef TN_DRAFT_H
#define TN_DRAFT_H

#include "opt/space.h"
#include "plan/nest.h"

/* What the body's values are to the nest, wherever its operands and outputs will live. */
typedef struct tn_i_draft {
    const tn_fn *f; /* the body */
    tn_i_space s;
    tn_i_member *m;   /* of each of its values */
    uint32_t *reads;  /* of each value: how many equations of the nest read it, itself or through views */
    uint8_t *far;     /* of each value: tn_i_space_far */
    uint32_t *first;  /* of each input, and behind the last: where its readers begin in `reader` */
    uint32_t *reader; /* equations, once for each operand */
    size_t nreader;
    bool fits; /* it can be a nest: every body that fuse.c made */
} tn_i_draft;

/* False after TN_ENOMEM. */
bool tn_i_draft_init(const tn_fn *body, tn_i_draft *d);
void tn_i_draft_drop(tn_i_draft *d);
/* Output j may be written over input i, both row-major and of one size: each element of it is read before the element
 * of the output at its place is written, and not again. */
bool tn_i_draft_replaces(const tn_i_draft *d, uint32_t j, uint32_t i);

/* Element strides of the body's inputs, then its outputs, by dimension; `over`: of each output, that it is written over
 * an input.  NULL after TN_ENOMEM. */
tn_i_nest *tn_i_nest_new(const tn_i_draft *d, const int64_t (*stride)[TN_MAX_RANK], const bool *over, bool accurate,
                         int threads);
/* Stores of a nest that are of hot elements become these.  False after TN_ENOMEM (nest_one_hot.c). */
bool tn_i_nest_find_one_hot(tn_ctx *c, tn_i_nest *n, const tn_i_draft *d, const bool *over);
void tn_i_nest_free(tn_ctx *c, tn_i_nest *n);

#endif
