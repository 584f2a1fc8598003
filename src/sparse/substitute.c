/* Substitution in as many rounds as the depth of the trees has digits.
 *
 * Each entry is subtracted from one other, its parent: with N the matrix of that, the entries are (I + N)^-1 u, which
 * is (I - N) (I + N^2) (I + N^4) .. u, since no path is longer than the trees are deep.  N^2k has the parent's parent.
 */
#include "sparse/substitute.h"

#include "prims/ids.h"
#include "sparse/assemble.h"

#include <string.h>

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
        u = tn_i_added_into(b, u, x, into);
        more = parents_of_parents(n, into, next);
        memcpy(into, next, (size_t)n * sizeof *into);
    }
    tn_i_free(b->ctx, into, (size_t)n * sizeof *into);
    tn_i_free(b->ctx, next, (size_t)n * sizeof *next);
    return b->failed ? TN_NOVAR : u;
}
