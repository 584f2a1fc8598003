/* Rematerialization: what is computed from indices alone, such as the basis of a Jacobian or a mask, is computed where
 * it is read: a few operations of a vector cost less than an array of memory, and slices and pads of it become other
 * indices.
 *
 *     e = eq (iota 0) (iota 1);  y = (slice e) x + (pad e by 0) z
 *
 * needs no array e: each of its readers has a copy of these equations, which its loops compute.  Small arrays of the
 * kind are constants already (constants.c).  What is no loops' operand is computed once, as it stands. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { FAR = 1 << 30 /* an index of 32 bits, and what is added to it */ };

typedef struct indexed {
    const tn_fn *f;
    uint8_t *cost;    /* of each value: operations an element; 0: it is not computed from indices alone */
    uint8_t *counted; /* there is an index in it */
    tn_i_var *whole;  /* of each value: what it is where it was computed once */
} indexed;

/* What is wanted of a value: an array of this type's shape, whose dimension at[d] walks dimension d of the value, from
 * start[d] on; at[d] is -1 where that has one element. */
typedef struct box {
    const tn_type *t;
    int at[TN_MAX_RANK];
    int64_t start[TN_MAX_RANK];
} box;

/* ---- which ---------------------------------------------------------------------------------------------- */

static bool plain(const tn_i_eqn *e, int rank) {
    const tn_i_param *p = tn_i_p(e);
    if (e->prim->id == TN_P_slice) {
        for (int d = 0; d < rank && p[2].kind != TN_K_NONE; d++)
            if (p[2].u.ints[d] != 1) return false;
    } else
        for (int d = 0; d < rank; d++)
            if (p[0].u.ints[3 * d + 2]) return false;
    return true;
}

/* An index, a comparison and what makes one condition of it, for each side; and the choice. */
static uint32_t of_pad(const tn_fn *f, const tn_i_eqn *e, int rank) {
    uint32_t n = 1;
    if (!plain(e, rank) || !tn_i_is_literal(f, tn_i_in(f, e)[1])) return 0;
    for (int d = 0; d < 3 * rank; d++) n += tn_i_p(e)[0].u.ints[d] > 0 ? 2 : 0;
    return n;
}

static bool alike(const tn_fn *f, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < e->nin; k++)
        if (f->val[tn_i_in(f, e)[k]].type->rank != f->val[e->out].type->rank) return false;
    return e->nin > 0;
}

/* Operations an element that e adds to those of its operands; 0: it has to be computed as it stands. */
static uint32_t adds(const tn_fn *f, const tn_i_eqn *e) {
    if (e->nout != 1 || !tn_i_space_admits(f, e)) return 0; /* what has no output has none to look at */
    const int dtype = f->val[e->out].type->dtype, rank = f->val[e->out].type->rank;
    switch (e->prim->id) {
    case TN_P_iota: return dtype == TN_I32 || dtype == TN_I64;
    case TN_P_broadcast_in_dim: return 1;
    case TN_P_transpose: return 1;
    case TN_P_slice: return plain(e, rank);
    case TN_P_pad: return of_pad(f, e, rank);
    default: return alike(f, e) && tn_i_cheap(e, f->val[tn_i_in(f, e)[0]].type->dtype, dtype);
    }
}

static void look_at(indexed *x, const tn_i_eqn *e) {
    const tn_fn *f = x->f;
    uint32_t cost = adds(f, e);
    bool counted = e->prim->id == TN_P_iota;
    for (uint32_t k = 0; cost && k < e->nin; k++) {
        const tn_i_var v = tn_i_in(f, e)[k];
        if (!tn_i_is_literal(f, v) && !x->cost[v]) return;
        cost += tn_i_is_literal(f, v) ? 0 : x->cost[v];
        counted |= !tn_i_is_literal(f, v) && x->counted[v];
    }
    if (cost == 0 || cost > TN_M_INDEXED_OPERATIONS) return;
    x->cost[e->out] = (uint8_t)cost;
    x->counted[e->out] = counted;
}

/* It would be an array in memory. */
static bool computed(const indexed *x, tn_i_var v) {
    const uint32_t def = x->f->val[v].def;
    return x->cost[v] && x->counted[v] && x->f->eqn[def].prim->id != TN_P_iota &&
           tn_i_count(x->f->val[v].type) > TN_M_CONSTANT_ELEMENTS;
}

/* ---- written once more ---------------------------------------------------------------------------------- */

/* The dimension of v whose index its elements are, or -1. */
static int walks(const indexed *x, tn_i_var v) {
    if (tn_i_is_literal(x->f, v)) return -1;
    const tn_i_eqn *e = &x->f->eqn[x->f->val[v].def];
    if (e->prim->id == TN_P_iota) return (int)tn_i_p(e)[2].u.i;
    if (e->prim->id != TN_P_transpose) return -1;
    const int from = walks(x, tn_i_in(x->f, e)[0]);
    for (int d = 0; d < x->f->val[v].type->rank; d++)
        if (tn_i_p(e)[0].u.ints[d] == from) return d;
    return -1;
}

/* v is made of the indices in two dimensions, by one equation. */
static bool compares(const indexed *x, tn_i_var v, int dim[2]) {
    const tn_i_eqn *e = &x->f->eqn[x->f->val[v].def];
    for (int k = 0; k < 2; k++)
        if (e->nin != 2 || (dim[k] = walks(x, tn_i_in(x->f, e)[k])) < 0) return false;
    return true;
}

static tn_i_var value(const indexed *x, tn_i_builder *b, tn_i_var v, const box *a);

/* Of 32 bits, twice as many in a vector, where all indices have so many. */
static int narrowest(const box *a) {
    bool few = true;
    for (int d = 0; d < TN_MAX_RANK; d++) few &= a->start[d] > -FAR && a->start[d] < FAR;
    for (int d = 0; d < a->t->rank; d++) few &= a->t->dim[d] < FAR;
    return few ? TN_I32 : TN_I64;
}

/* The index in dimension d. */
static tn_i_var index_of(tn_i_builder *b, const box *a, int dtype, int d) {
    tn_type t = *a->t;
    t.dtype = (uint8_t)dtype;
    if (a->at[d] < 0) return tn_i_number(b, &t, (double)a->start[d]);
    const tn_i_var i = tn_i_iota(b, dtype, t.rank, t.dim, a->at[d]);
    return a->start[d] ? tn_i_op2(b, TN_P_add, i, tn_i_number(b, &t, (double)a->start[d])) : i;
}

static tn_i_var elementwise(const indexed *x, tn_i_builder *b, const tn_i_eqn *e, const box *a) {
    tn_i_var in[TN_MAX_RANK];
    int dim[2];
    if (e->nin > TN_MAX_RANK) return TN_NOVAR;
    const bool narrow = x->f->val[e->out].type->dtype == TN_BOOL && compares(x, e->out, dim);
    for (uint32_t k = 0; k < e->nin; k++)
        in[k] = narrow ? index_of(b, a, narrowest(a), dim[k]) : value(x, b, tn_i_in(x->f, e)[k], a);
    const bool linear = b->linear;
    b->linear = tn_i_of_linear(x->f, e);
    const tn_i_var v = tn_i_emit_like(b, e, in);
    b->linear = linear;
    return v;
}

static tn_i_var repeated(const indexed *x, tn_i_builder *b, const tn_i_eqn *e, const box *a) {
    const tn_i_var v = tn_i_in(x->f, e)[0];
    const tn_type *t = x->f->val[v].type;
    const int64_t *to = tn_i_p(e)[1].u.ints;
    box of = {.t = a->t};
    for (int d = 0; d < t->rank; d++) {
        of.at[d] = t->dim[d] == 1 ? -1 : a->at[to[d]];
        of.start[d] = t->dim[d] == 1 ? 0 : a->start[to[d]];
    }
    return value(x, b, v, &of);
}

static tn_i_var turned(const indexed *x, tn_i_builder *b, const tn_i_eqn *e, const box *a) {
    const int64_t *perm = tn_i_p(e)[0].u.ints;
    box of = {.t = a->t};
    for (int d = 0; d < x->f->val[e->out].type->rank; d++) {
        of.at[perm[d]] = a->at[d];
        of.start[perm[d]] = a->start[d];
    }
    return value(x, b, tn_i_in(x->f, e)[0], &of);
}

static tn_i_var both(tn_i_builder *b, tn_i_var x, tn_i_var y) {
    return x == TN_NOVAR ? y : tn_i_op2(b, TN_P_and, x, y);
}

static int64_t count_of(const box *a, int d) { return a->at[d] < 0 ? 1 : a->t->dim[a->at[d]]; }

static bool beyond(const box *a, int d, const tn_type *t) {
    return a->start[d] < 0 || a->start[d] + count_of(a, d) > t->dim[d];
}

/* Whether v, an equality of two indices as a number, is 0 at all elements of the box that it has not got: there one
 * index is none of v's, and the other is. */
static bool zero_beyond(const indexed *x, tn_i_var v, const box *a) {
    const tn_fn *f = x->f;
    const tn_type *t = f->val[v].type;
    int dim[2];
    while (!tn_i_is_literal(f, v) && f->eqn[f->val[v].def].prim->id == TN_P_convert_element_type)
        v = tn_i_in(f, &f->eqn[f->val[v].def])[0];
    if (tn_i_is_literal(f, v) || f->eqn[f->val[v].def].prim->id != TN_P_eq || !compares(x, v, dim)) return false;
    for (int d = 0; d < t->rank; d++) {
        if (!beyond(a, d, t)) continue;
        const int o = d == dim[0] ? dim[1] : d == dim[1] ? dim[0] : d;
        if (o == d || a->start[o] < 0 || a->start[o] + count_of(a, o) > t->dim[d]) return false;
    }
    return true;
}

/* Where a box is of elements that t has; TN_NOVAR: everywhere. */
static tn_i_var within(tn_i_builder *b, const box *a, const tn_type *t) {
    tn_type of = *a->t;
    tn_i_var in = TN_NOVAR;
    of.dtype = (uint8_t)narrowest(a);
    for (int d = 0; d < t->rank; d++) {
        if (a->start[d] < 0)
            in = both(b, in, tn_i_op2(b, TN_P_ge, index_of(b, a, of.dtype, d), tn_i_number(b, &of, 0)));
        if (a->start[d] + count_of(a, d) > t->dim[d])
            in = both(b, in, tn_i_op2(b, TN_P_lt, index_of(b, a, of.dtype, d), tn_i_number(b, &of, (double)t->dim[d])));
    }
    return in;
}

static tn_i_var padded(const indexed *x, tn_i_builder *b, const tn_i_eqn *e, const box *a) {
    const tn_i_var *in = tn_i_in(x->f, e);
    const tn_type *t = x->f->val[in[0]].type;
    box of = *a;
    for (int d = 0; d < t->rank; d++) of.start[d] -= tn_i_p(e)[0].u.ints[3 * d];
    const tn_i_var v = value(x, b, in[0], &of);
    if (x->f->val[in[1]].bits == 0 && zero_beyond(x, in[0], &of)) return v;
    const tn_i_var inside = within(b, &of, t);
    if (inside == TN_NOVAR) return v;
    const tn_i_var other = tn_i_broadcast(b, value(x, b, in[1], NULL), a->t->rank, a->t->dim, NULL);
    return tn_i_op3(b, TN_P_select, inside, v, other);
}

static tn_i_var sliced(const indexed *x, tn_i_builder *b, const tn_i_eqn *e, const box *a) {
    box of = *a;
    for (int d = 0; d < x->f->val[e->out].type->rank; d++) of.start[d] += tn_i_p(e)[0].u.ints[d];
    return value(x, b, tn_i_in(x->f, e)[0], &of);
}

/* v's elements in the box; outside of v they are any. */
static tn_i_var value(const indexed *x, tn_i_builder *b, tn_i_var v, const box *a) {
    const tn_fn *f = x->f;
    if (tn_i_is_literal(f, v)) {
        const tn_i_var y = tn_i_literal(b, f->val[v].type->dtype, f->val[v].bits);
        return a ? tn_i_broadcast(b, y, a->t->rank, a->t->dim, NULL) : y;
    }
    const tn_i_eqn *e = &f->eqn[f->val[v].def];
    switch (e->prim->id) {
    case TN_P_iota: return index_of(b, a, f->val[v].type->dtype, (int)tn_i_p(e)[2].u.i);
    case TN_P_broadcast_in_dim: return repeated(x, b, e, a);
    case TN_P_transpose: return turned(x, b, e, a);
    case TN_P_pad: return padded(x, b, e, a);
    case TN_P_slice: return sliced(x, b, e, a);
    default: return elementwise(x, b, e, a);
    }
}

static tn_i_var copy_of(const indexed *x, tn_i_builder *b, tn_i_var v) {
    box a = {.t = x->f->val[v].type};
    for (int d = 0; d < a.t->rank; d++) a.at[d] = d;
    const uint32_t region = b->region;
    b->region = 0;
    const tn_i_var y = value(x, b, v, &a);
    b->region = region;
    return y;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const indexed *x = with;
    if (e->nout == 1 && computed(x, e->out)) return true;
    const bool computes = tn_i_space_computes(f, e);
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = tn_i_in(f, e)[k];
        if (tn_i_is_literal(f, v) || !computed(x, v)) continue;
        if (!computes && x->whole[v] == TN_NOVAR) x->whole[v] = copy_of(x, b, v);
        map[v] = computes ? copy_of(x, b, v) : x->whole[v];
    }
    return false;
}

/* ---- the pass ------------------------------------------------------------------------------------------- */

static void drop(indexed *x) {
    const tn_fn *f = x->f;
    tn_i_free(f->ctx, x->cost, f->nval);
    tn_i_free(f->ctx, x->counted, f->nval);
    tn_i_free(f->ctx, x->whole, f->nval * sizeof *x->whole);
}

tn_fn *tn_i_indexed(const tn_fn *f) {
    indexed x = {.f = f,
                 .cost = tn_i_alloc(f->ctx, f->nval),
                 .counted = tn_i_alloc(f->ctx, f->nval),
                 .whole = tn_i_alloc_array(f->ctx, f->nval, sizeof *x.whole)};
    bool ok = x.cost && x.counted && x.whole, some = false;
    for (uint32_t i = 0; ok && i < f->neqn; i++) look_at(&x, &f->eqn[i]);
    for (uint32_t j = 0; ok && j < f->nout; j++) x.cost[f->out[j]] = 0;
    for (uint32_t v = 0; ok && v < f->nval; v++) {
        x.whole[v] = TN_NOVAR;
        some |= computed(&x, v);
    }
    tn_fn *g = !ok ? NULL : some ? tn_i_rewritten(f, NULL, f->neqn, put, &x) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    drop(&x);
    return g;
}
