/* Reductions of loop programs while code runs (loop/loop.h: the order of sums): what is on the stack of the code, and
 * what it calls.  For programs whose sums no pass has written as lanes. */
#ifndef TN_SUMS_H
#define TN_SUMS_H

#include "vec/vec.h"

/* One reduction.  The code itself puts elements into `leaf`, counts them in `n`, and calls tn_i_jit_leaf when the leaf
 * is full; of arg folds it calls tn_i_jit_arg for each. */
typedef struct tn_i_jit_sum {
    int64_t n;      /* in the leaf */
    int64_t leaves; /* before it; of arg folds: elements so far */
    const tn_i_vec_fold *fold;
    int64_t size, code, dtype;
    uint64_t best, at;
    uint64_t entry[64]; /* of the binary counter */
    _Alignas(64) char leaf[TN_LEAF * 8];
} tn_i_jit_sum;

/* `count` of them, empty. */
void tn_i_jit_empty(tn_i_jit_sum *s, int64_t count, int64_t fold, int64_t dtype, int64_t isa);
void tn_i_jit_leaf(tn_i_jit_sum *s);
void tn_i_jit_arg(tn_i_jit_sum *s, uint64_t x); /* x: bits */
uint64_t tn_i_jit_total(const tn_i_jit_sum *s);

#endif
