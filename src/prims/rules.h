/* Short spellings for derivative rules: arithmetic with one number. */
#ifndef TN_RULES_H
#define TN_RULES_H

#include "prims/ids.h"

static inline tn_i_var tn_i_times(tn_i_builder *b, tn_i_var x, double k) {
    return tn_i_op2(b, TN_P_mul, x, tn_i_number_like(b, x, k));
}
static inline tn_i_var tn_i_plus(tn_i_builder *b, tn_i_var x, double k) {
    return tn_i_op2(b, TN_P_add, x, tn_i_number_like(b, x, k));
}
static inline tn_i_var tn_i_minus_from(tn_i_builder *b, double k, tn_i_var x) {
    return tn_i_op2(b, TN_P_sub, tn_i_number_like(b, x, k), x);
}
static inline tn_i_var tn_i_mul_by(tn_i_rule *r, tn_i_var dx, tn_i_var factor) {
    return tn_i_op2(r->b, TN_P_mul, dx, factor);
}

/* x*y + z, x*y - z, z - x*y */
typedef enum tn_i_fma_form { TN_FMA_ADD, TN_FMA_SUB, TN_FMA_RSUB } tn_i_fma_form;
tn_i_var tn_i_fma(tn_i_builder *b, tn_i_fma_form form, tn_i_var x, tn_i_var y, tn_i_var z);

/* 1 - x*x and 1 + x*x, rounded once: near 1 and near 0 nothing cancels, in their derivatives neither. */
static inline tn_i_var tn_i_one_minus_square(tn_i_builder *b, tn_i_var x) {
    return tn_i_fma(b, TN_FMA_RSUB, x, x, tn_i_number_like(b, x, 1.0));
}
static inline tn_i_var tn_i_one_plus_square(tn_i_builder *b, tn_i_var x) {
    return tn_i_fma(b, TN_FMA_ADD, x, x, tn_i_number_like(b, x, 1.0));
}

/* 1 / sqrt(1 + x*x), which is 1 / |x| where the square might overflow: far beyond where the 1 counts.  Of the two
 * factors one is constant, so that all derivatives are finite. */
static inline tn_i_var tn_i_rsqrt_one_plus_square(tn_i_builder *b, tn_i_var x) {
    const bool f16 = !b->failed && tn_i_vtype(b, x)->dtype == TN_F16;
    const tn_i_var size = tn_i_op1(b, TN_P_abs, x), limit = tn_i_number_like(b, size, f16 ? 0x1p7 : 0x1p40);
    const tn_i_var near = tn_i_op2(b, TN_P_min, size, limit), far = tn_i_op2(b, TN_P_max, size, limit);
    const tn_i_var root = tn_i_op1(b, TN_P_rsqrt, tn_i_one_plus_square(b, near));
    return tn_i_op2(b, TN_P_mul, root, tn_i_op2(b, TN_P_div, limit, far));
}

/* The equation that made v, when its primitive is `id`; else NULL. */
static inline const tn_i_eqn *tn_i_made_by(const tn_i_builder *b, tn_i_var v, int id) {
    const tn_i_eqn *e = tn_i_def(b, v);
    return e && e->prim->id == id ? e : NULL;
}

/* Batching of elementwise primitives whose operands in the mask `scalars` may
 * have rank 0 beside arrays. */
void tn_i_batch_scalars(tn_i_rule *r, unsigned scalars, const bool *batched, tn_i_var *out, bool *out_batched);

#endif
