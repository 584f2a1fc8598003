/* Kernels over tiles, for the instruction set that is there.
 *
 * A tile is up to some hundred elements in a row, in cache.  The scalar bodies stay with their primitives
 * (prims/strips.h); here are what bodies cannot say: functions of whole vectors, and reductions. */
#ifndef TN_VEC_H
#define TN_VEC_H

#include "prims/prim.h"

/* The best instruction set of this processor that kernels exist for. */
tn_i_isa tn_i_isa_best(void);

/* A kernel for dense operands (stride 1) and repeated ones (stride 0), and the same for one element (may be NULL). */
typedef struct tn_i_vec {
    tn_i_strip *strip;
    tn_i_one *one;
    void (*(*itself)(void))(void); /* of a function of vectors: its address, for native code; else NULL */
} tn_i_vec;
/* What a strip is compiled as for an instruction set; the strip itself where it is only one. */
tn_i_vec tn_i_vec_strip(tn_i_strip *strip, tn_i_isa isa);

/* The vector function `name` ("sin", "sinf": prim->vector); a NULL strip where the library has none.
 *
 * Every element goes through the same function of full vectors, the last ones and single ones too, so that its bits do
 * not depend on where it stands.  accurate: SLEEF's of 1 ulp, if it was there when the library was built. */
tn_i_vec tn_i_vec_math(const char *name, tn_i_isa isa, bool accurate);
const char *tn_i_vec_library(bool accurate); /* "libmvec", "SLEEF" or "libm" */
/* Name i of the functions, or NULL behind the last. */
const char *tn_i_vec_math_at(size_t i, tn_i_isa isa, bool accurate);

/* Folding two elements, or sixteen lanes (loop/loop.h: the order of sums). */
typedef struct tn_i_vec_fold {
    void (*begin)(void *acc);                           /* sixteen lanes of the identity */
    void (*into)(void *acc, const void *x, int64_t n);  /* acc[i] = fold(acc[i], x[i]) */
    void (*lanes)(void *acc, const void *x, int64_t n); /* acc[i % 16] folds x[i] */
    void (*halve)(void *acc);                           /* sixteen lanes by halves, to lane 0 */
} tn_i_vec_fold;
/* NULL for argmax, argmin, and for sums and products of bools. */
const tn_i_vec_fold *tn_i_vec_fold_of(int fold, int dtype, tn_i_isa isa);

#endif
