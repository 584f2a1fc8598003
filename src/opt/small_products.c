/* Products of a few numbers as sums of products of columns and rows, which nests compute with what is around them: a
 * call of a kernel takes longer than they do, and a loop that makes such products every step is one loop program.
 *
 * On machines with kernels of our own these sum in the order of the inner index with fused multiply-adds
 * (prims/linear/gemm.h), and so is it here, in each of a batch: matrices by matrices, and by vectors where the sums are
 * too short for lanes.  Products that sum nothing are multiplications, of any size where they are added to something or
 * one side is a number. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/space.h"
#include "prims/linear/dot.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { UNREAD, ADDED, OTHER };

/* A side of a product: dimension `inner` is summed over, or -1: there is none; where the others go in the result. */
typedef struct side {
    tn_i_var v;
    int inner;
    int64_t to[TN_MAX_RANK]; /* ascending, of all dimensions but the inner one */
    int64_t free;            /* elements of dimensions that are this side's alone */
} side;

/* `first`: dimensions of the result in front of the free ones of this side.  False: they are in another order. */
static bool side_of(const tn_fn *f, const tn_i_eqn *e, const tn_i_dots *d, int k, int first, side *s) {
    const tn_type *t = f->val[tn_i_in(f, e)[k]].type;
    int n = 0;
    *s = (side){.v = tn_i_in(f, e)[k], .inner = d->ncontract ? (int)d->contract[k][0] : -1, .free = 1};
    for (int i = 0; i < t->rank; i++) {
        if (i == s->inner) continue;
        s->to[n] = first;
        for (uint32_t j = 0; j < d->nbatch; j++)
            if (d->batch[k][j] == i) s->to[n] = j;
        if (!(tn_i_dots_batches(d, k) >> i & 1)) first++, s->free *= t->dim[i];
        if (n && s->to[n] <= s->to[n - 1]) return false;
        n++;
    }
    return true;
}

/* added: of each value, whether a sum reads it and nothing else does. */
static bool is_small(const tn_fn *f, const tn_i_eqn *e, const uint8_t *added, side s[2], int64_t *inner) {
    if (e->prim->id != TN_P_dot_general || !tn_i_space_admits(f, e)) return false;
    const tn_i_dots d = tn_i_dots_read(&tn_i_p(e)[0]);
    const tn_type *out = f->val[e->out].type, *t = f->val[tn_i_in(f, e)[0]].type;
    const int free = t->rank - (int)d.nbatch - (int)d.ncontract;
    if (d.ncontract > 1 || !side_of(f, e, &d, 0, (int)d.nbatch, &s[0]) ||
        !side_of(f, e, &d, 1, (int)d.nbatch + free, &s[1]))
        return false;
    const int64_t n = *inner = d.ncontract ? t->dim[s[0].inner] : 1, all = tn_i_count(out);
    return n >= 1 && n <= TN_M_PRODUCT_INNER && all >= 1 &&
           (all <= TN_M_PRODUCT_LOOPS / n ||
            (d.ncontract == 0 && (added[e->out] == ADDED || s[0].free == 1 || s[1].free == 1))) &&
           tn_i_gemm_in_order(out->dtype, s[0].free, s[1].free, n);
}

/* Row or column p of a side, as the result has it. */
static tn_i_var factor(tn_i_builder *b, const side *s, tn_i_var x, int64_t p, const tn_type *out) {
    const tn_type t = *tn_i_vtype(b, x);
    int64_t start[TN_MAX_RANK] = {0}, limit[TN_MAX_RANK], left[TN_MAX_RANK];
    int n = 0;
    for (int d = 0; d < t.rank; d++) {
        limit[d] = t.dim[d];
        if (d != s->inner) left[n++] = t.dim[d];
    }
    if (s->inner >= 0) {
        start[s->inner] = p;
        limit[s->inner] = p + 1;
        x = tn_i_reshape(b, tn_i_slice(b, x, start, limit, NULL), n, left);
    }
    return tn_i_broadcast(b, x, out->rank, out->dim, s->to);
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    side s[2];
    int64_t inner;
    if (!is_small(f, e, with, s, &inner)) return false;
    const tn_type *out = f->val[e->out].type;
    const tn_i_var x = tn_i_mapped(b, f, map, s[0].v), y = tn_i_mapped(b, f, map, s[1].v);
    tn_i_var sum = tn_i_number(b, out, 0);
    b->linear = e->linear;
    for (int64_t p = 0; p < inner && !b->failed; p++) {
        const tn_i_var one = factor(b, &s[0], x, p, out), other = factor(b, &s[1], y, p, out);
        sum = tn_i_fma(b, TN_FMA_ADD, one, other, sum);
    }
    b->linear = false;
    map[e->out] = sum;
    return true;
}

static void find_added(const tn_fn *f, uint8_t *added) {
    memset(added, UNREAD, f->nval);
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t k = 0; k < f->eqn[i].nin; k++) {
            uint8_t *v = &added[tn_i_in(f, &f->eqn[i])[k]];
            *v = *v == UNREAD && f->eqn[i].prim->id == TN_P_add ? ADDED : OTHER;
        }
    for (uint32_t j = 0; j < f->nout; j++) added[f->out[j]] = OTHER;
}

tn_fn *tn_i_small_products(const tn_fn *f) {
    side s[2];
    int64_t inner, terms = 0;
    uint8_t *added = tn_i_alloc(f->ctx, f->nval);
    if (!added) return NULL;
    find_added(f, added);
    for (uint32_t i = 0; i < f->neqn && terms <= TN_M_LONG_PROGRAM; i++)
        if (is_small(f, &f->eqn[i], added, s, &inner)) terms += inner;
    tn_fn *g = terms > 0 && terms <= TN_M_LONG_PROGRAM ? tn_i_rewritten(f, NULL, f->neqn, put, added)
                                                       : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_free(f->ctx, added, f->nval);
    return g;
}
