/* Reductions while code runs (jit/sums.h). */
#include "jit/sums.h"

#include <string.h>

enum { LANE_BYTES = TN_LANES * 8 };

void tn_i_jit_empty(tn_i_jit_sum *s, int64_t count, int64_t fold, int64_t dtype, int64_t isa) {
    for (int64_t i = 0; i < count; i++) {
        s[i].n = s[i].leaves = 0;
        s[i].fold = tn_i_vec_fold_of((int)fold, (int)dtype, (tn_i_isa)isa);
        s[i].size = (int64_t)tn_i_dtype_size((int)dtype);
        s[i].code = fold;
        s[i].dtype = dtype;
        s[i].best = s[i].at = 0;
    }
}

/* Its lanes, by halves: as bits. */
static uint64_t of_leaf(const tn_i_jit_sum *s) {
    _Alignas(64) char lane[LANE_BYTES];
    uint64_t x = 0;
    s->fold->begin(lane);
    s->fold->lanes(lane, s->leaf, s->n);
    s->fold->halve(lane);
    memcpy(&x, lane, (size_t)s->size);
    return x;
}

static uint64_t two(const tn_i_jit_sum *s, uint64_t x, uint64_t y) {
    s->fold->into(&x, &y, 1);
    return x;
}

/* The leaf becomes an entry; how many there are then. */
static int enter(const tn_i_jit_sum *s, uint64_t *entry) {
    uint64_t x = of_leaf(s);
    int height = __builtin_popcountll((uint64_t)s->leaves);
    for (uint64_t i = (uint64_t)s->leaves; i & 1; i >>= 1) x = two(s, entry[--height], x);
    entry[height] = x;
    return height + 1;
}

void tn_i_jit_leaf(tn_i_jit_sum *s) {
    (void)enter(s, s->entry);
    s->leaves++;
    s->n = 0;
}

uint64_t tn_i_jit_total(const tn_i_jit_sum *s) {
    uint64_t entry[64], x;
    if (s->code >= TN_FOLD_ARGMAX) return s->at;
    memcpy(entry, s->entry, sizeof entry);
    int height = __builtin_popcountll((uint64_t)s->leaves);
    if (s->n || !s->leaves) height = enter(s, entry); /* of no elements it is the identity */
    for (x = entry[--height]; height > 0;) x = two(s, entry[--height], x);
    return x;
}

/* ---- the first of the greatest ------------------------------------------------------------------------- */

static bool is_nan(int64_t dtype, uint64_t bits) {
    double d;
    float f;
    if (dtype == TN_F64) return memcpy(&d, &bits, sizeof d), d != d;
    if (dtype == TN_F32) return memcpy(&f, &bits, sizeof f), f != f;
    return false;
}

static bool above(int64_t dtype, uint64_t x, uint64_t y) {
    double a, b;
    float f, g;
    switch (dtype) {
    case TN_F64: return memcpy(&a, &x, 8), memcpy(&b, &y, 8), a > b;
    case TN_F32: return memcpy(&f, &x, 4), memcpy(&g, &y, 4), f > g;
    case TN_I32: return (int32_t)(uint32_t)x > (int32_t)(uint32_t)y;
    case TN_U32: return (uint32_t)x > (uint32_t)y;
    case TN_BOOL: return (x & 1) > (y & 1);
    default: return (int64_t)x > (int64_t)y;
    }
}

void tn_i_jit_arg(tn_i_jit_sum *s, uint64_t x) {
    const bool greater = s->code == TN_FOLD_ARGMAX;
    const bool better =
        s->leaves == 0 || (!is_nan(s->dtype, s->best) &&
                           (is_nan(s->dtype, x) || above(s->dtype, greater ? x : s->best, greater ? s->best : x)));
    if (better) {
        s->best = x;
        s->at = (uint64_t)s->leaves;
    }
    s->leaves++;
}
