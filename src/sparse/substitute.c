/* Substitution in as many rounds as the depth of the trees has digits.
 *
 * Each entry is subtracted from one other, its parent: with N the matrix of that, the entries are (I + N)^-1 u, which
 * is (I - N) (I + N^2) (I + N^4) .. u, since no path is longer than the trees are deep.  N^2k has the parent's parent.
 */
#include "sparse/substitute.h"

#include "prims/shape.h"

#include <string.h>

tn_i_var tn_i_positions(tn_i_builder *b, int64_t n, const int64_t *at, int64_t bound) {
    tn_ctx *c = b->ctx;
    const bool narrow = bound <= INT32_MAX;
    const tn_type t = {.dtype = narrow ? TN_I32 : TN_I64, .rank = 2, .dim = {n, 1}};
    if (b->failed) return TN_NOVAR;
    if (!narrow) return tn_i_constant(b, &t, at);
    int32_t *small = tn_i_alloc_array(c, (size_t)n, sizeof *small);
    tn_i_var k = TN_NOVAR;
    if (small) {
        for (int64_t i = 0; i < n; i++) small[i] = (int32_t)at[i];
        k = tn_i_constant(b, &t, small);
    } else
        b->failed = true;
    tn_i_free(c, small, (size_t)n * sizeof *small);
    return k;
}

static const tn_i_dnums BY_ELEMENT = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};

tn_i_var tn_i_taken(tn_i_builder *b, tn_i_var x, int64_t n, const int64_t *at) {
    static const int64_t one = 1;
    if (b->failed) return TN_NOVAR;
    const tn_i_var indices = tn_i_positions(b, n, at, tn_i_vtype(b, x)->dim[0]);
    return tn_i_gather(b, x, indices, &BY_ELEMENT, &one, TN_CLIP, NULL);
}

/* Whether there is still a parent; those of the next round in to[0..n). */
static bool parents_of_parents(int64_t n, const int64_t *from, int64_t *to) {
    bool some = false;
    for (int64_t s = 0; s < n; s++) {
        to[s] = from[s] < n ? from[from[s]] : n;
        some |= to[s] < n;
    }
    return some;
}

tn_i_var tn_i_substituted(tn_i_builder *b, tn_i_var u, const tn_i_substitution *k) {
    const int64_t n = k->steps;
    int64_t *into = tn_i_alloc_array(b->ctx, (size_t)n, sizeof *into),
            *next = tn_i_alloc_array(b->ctx, (size_t)n, sizeof *next);
    bool more = into && next;
    if (!more) b->failed = true;
    for (int64_t s = 0; s < n && more; s++) into[s] = k->into[s] < 0 ? n : k->into[s]; /* n: dropped */
    for (bool first = true; more && !b->failed; first = false) {
        const tn_i_var x = first ? tn_i_op1(b, TN_P_neg, u) : u;
        u = tn_i_scatter_add(b, u, tn_i_positions(b, n, into, n), x, &BY_ELEMENT);
        more = parents_of_parents(n, into, next);
        memcpy(into, next, (size_t)n * sizeof *into);
    }
    tn_i_free(b->ctx, into, (size_t)n * sizeof *into);
    tn_i_free(b->ctx, next, (size_t)n * sizeof *next);
    return b->failed ? TN_NOVAR : u;
}
