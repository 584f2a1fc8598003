/* Elementwise equations between transposes, computed in the other order of dimensions:
 *
 *     y = transpose(x);  z = y s;  out = transpose(z)        become        out = x transpose(s)
 *
 * so that loops walk arrays as they lie in memory and the result is stored where it goes.  Arrays of one shape that
 * elementwise equations, slices and concatenations connect have one order of dimensions together: the one in which
 * fewer bytes of what they read and of what reads them are transposed.  Each element has the same bits in both. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/equations.h"
#include "prims/linear/dot.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { MOST_OPERANDS = 64 };

/* Values in one order of dimensions. */
typedef struct set {
    double turned, as_is;     /* bytes that would be read or written across, if they are as they are, or turned */
    int8_t perm[TN_MAX_RANK]; /* the other order */
    bool some;
} set;

typedef struct turn {
    const tn_fn *f;
    uint8_t *live;    /* of each equation */
    uint32_t *parent; /* of each value: union-find */
    set *set;         /* of each root */
    uint8_t *member;  /* of each value: what an equation of its set computes */
    uint8_t *read;    /* of each value: an equation of its set reads it */
    uint8_t *plain;   /* of each value: something else than products reads it */
    tn_i_builder *b;
    tn_i_var *map, *other; /* as they were, and turned */
} turn;

static const tn_type *type_of(const turn *w, tn_i_var v) { return w->f->val[v].type; }

static const tn_i_eqn *def_of(const turn *w, tn_i_var v) {
    const uint32_t def = w->f->val[v].def;
    return !tn_i_is_literal(w->f, v) && def < w->f->neqn ? &w->f->eqn[def] : NULL;
}

static uint32_t root_of(turn *w, tn_i_var v) {
    while (w->parent[v] != v) v = w->parent[v] = w->parent[w->parent[v]];
    return v;
}

/* ---- sets ---------------------------------------------------------------------------------------- */

static bool sized(const turn *w, tn_i_var v) {
    const tn_type *t = type_of(w, v);
    return t->rank > 1 && !tn_i_has_steps(t) && tn_i_count(t) >= TN_M_LAYOUT_ELEMENTS;
}

/* Dimensions in another order are all that changes. */
static bool turns(const turn *w, const tn_i_eqn *e) {
    if (e->nout != 1 || e->nin == 0 || e->nin > MOST_OPERANDS || !sized(w, e->out)) return false;
    const int id = e->prim->id;
    if (id == TN_P_slice || id == TN_P_concatenate || id == TN_P_pad) return true;
    return (e->prim->flags & TN_F_ELEMENTWISE) && !(e->prim->flags & (TN_F_OFFLOAD | TN_F_COSTLY));
}

static bool turns_with(const turn *w, const tn_i_eqn *e, tn_i_var v) {
    return !tn_i_is_literal(w->f, v) && type_of(w, v)->rank == type_of(w, e->out)->rank;
}

static void find_sets(turn *w) {
    for (uint32_t i = 0; i < w->f->neqn; i++) {
        const tn_i_eqn *e = &w->f->eqn[i];
        if (!w->live[i] || !turns(w, e)) continue;
        w->member[e->out] = 1;
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_var v = tn_i_in(w->f, e)[k];
            if (!turns_with(w, e, v)) continue;
            w->read[v] = 1;
            const tn_i_eqn *d = def_of(w, v);
            /* what may be read in any order belongs to all its readers */
            if (d && !turns(w, d) && d->prim->id != TN_P_dot_general) continue;
            w->parent[root_of(w, v)] = root_of(w, e->out);
        }
    }
}

/* ---- votes --------------------------------------------------------------------------------------- */

static double bytes_of(const turn *w, tn_i_var v) { return (double)tn_type_bytes(type_of(w, v)); }

static void vote(turn *w, uint32_t root, const int64_t *perm, bool inverse, double bytes) {
    set *s = &w->set[root];
    int8_t p[TN_MAX_RANK] = {0};
    const int rank = type_of(w, root)->rank;
    for (int d = 0; d < rank; d++) p[inverse ? perm[d] : d] = (int8_t)(inverse ? d : perm[d]);
    if (!s->some) memcpy(s->perm, p, sizeof p);
    s->some = true;
    if (memcmp(s->perm, p, sizeof p) == 0) s->turned += bytes;
}

/* A product of two matrices is that of the others, transposed. */
static bool swaps(const turn *w, const tn_i_eqn *e) {
    if (e->prim->id != TN_P_dot_general || type_of(w, e->out)->rank != 2) return false;
    const tn_i_param *p = &tn_i_p(e)[0];
    return p->u.ints[2] == 0 && type_of(w, tn_i_in(w->f, e)[0])->rank == p->u.ints[0] + 1;
}

/* What an operand of a set says. */
static void vote_operand(turn *w, uint32_t root, tn_i_var v) {
    const tn_i_eqn *e = def_of(w, v);
    if (e && (w->member[v] || e->prim->id == TN_P_broadcast_in_dim || e->prim->id == TN_P_iota)) return;
    if (e && tn_i_constant_data(e) && tn_i_count(type_of(w, v)) <= TN_M_CONSTANT_ELEMENTS) return;
    if (e && swaps(w, e)) return;
    if (e && e->prim->id == TN_P_transpose) {
        const tn_i_var u = tn_i_in(w->f, e)[0];
        if (!w->member[u]) vote(w, root, tn_i_ints(tn_i_p(e), 0), true, bytes_of(w, v));
        return;
    }
    w->set[root].as_is += bytes_of(w, v);
}

/* What other equations say that read a value of a set. */
static void vote_reader(turn *w, const tn_i_eqn *e, tn_i_var v) {
    const uint32_t root = root_of(w, v);
    if (e->prim->id == TN_P_dot_general) return;
    if (e->prim->id != TN_P_transpose)
        w->set[root].as_is += bytes_of(w, v);
    else if (w->plain[e->out])
        vote(w, root, tn_i_ints(tn_i_p(e), 0), false, bytes_of(w, v));
}

static void count_votes(turn *w) {
    const tn_fn *f = w->f;
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t k = 0; w->live[i] && k < f->eqn[i].nin; k++)
            w->plain[tn_i_in(f, &f->eqn[i])[k]] |= f->eqn[i].prim->id != TN_P_dot_general;
    for (uint32_t j = 0; j < f->nout; j++) {
        w->plain[f->out[j]] = 1;
        if (!tn_i_is_literal(f, f->out[j]) && w->member[f->out[j]])
            w->set[root_of(w, f->out[j])].as_is += bytes_of(w, f->out[j]);
    }
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool inside = turns(w, e);
        for (uint32_t k = 0; w->live[i] && k < e->nin; k++) {
            const tn_i_var v = tn_i_in(f, e)[k];
            if (inside && turns_with(w, e, v))
                vote_operand(w, root_of(w, e->out), v);
            else if (!tn_i_is_literal(f, v) && w->member[v])
                vote_reader(w, e, v);
        }
    }
}

/* The other order of v's set, or NULL where it stays. */
static const int8_t *order_of(turn *w, tn_i_var v) {
    const set *s = &w->set[root_of(w, v)];
    return s->some && s->turned > s->as_is ? s->perm : NULL;
}

/* ---- the new program ------------------------------------------------------------------------------- */

static tn_i_var permuted(turn *w, tn_i_var x, const int64_t *perm, int rank) {
    bool same = true;
    for (int d = 0; d < rank; d++) same &= perm[d] == d;
    return same ? x : tn_i_permute(w->b, x, perm);
}

/* v as it was. */
static tn_i_var as_it_was(turn *w, tn_i_var v) {
    if (tn_i_is_literal(w->f, v) || w->map[v] != TN_NOVAR || w->other[v] == TN_NOVAR)
        return tn_i_mapped(w->b, w->f, w->map, v);
    const int8_t *p = order_of(w, v);
    int64_t back[TN_MAX_RANK];
    const int rank = type_of(w, v)->rank;
    for (int d = 0; d < rank; d++) back[p[d]] = d;
    return w->map[v] = permuted(w, w->other[v], back, rank);
}

static tn_i_var constant(turn *w, const tn_type *t, const char *data, const int8_t *p) {
    const size_t size = tn_i_dtype_size(t->dtype);
    int64_t dim[TN_MAX_RANK], stride[TN_MAX_RANK], index[TN_MAX_RANK] = {0};
    double room[TN_M_CONSTANT_ELEMENTS];
    tn_i_dense_strides(t, stride);
    for (int d = 0; d < t->rank; d++) dim[d] = t->dim[p[d]];
    for (int64_t i = 0; i < tn_i_count(t); i++) {
        int64_t at = 0;
        for (int d = 0; d < t->rank; d++) at += index[d] * stride[p[d]];
        memcpy((char *)room + (size_t)i * size, data + (size_t)at * size, size);
        for (int d = t->rank; d-- > 0 && ++index[d] == dim[d];) index[d] = 0;
    }
    const tn_type to = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank, dim);
    return tn_i_constant(w->b, &to, room);
}

/* v, an operand of a set in the order p. */
static tn_i_var turned(turn *w, tn_i_var v, const int8_t *p) {
    if (w->other[v] != TN_NOVAR) {
        const int8_t *own = order_of(w, v);
        if (own && memcmp(own, p, TN_MAX_RANK) == 0) return w->other[v];
    }
    const tn_i_eqn *e = def_of(w, v);
    const tn_type *t = type_of(w, v);
    int64_t perm[TN_MAX_RANK];
    for (int d = 0; d < t->rank; d++) perm[d] = p[d];
    if (e && e->prim->id == TN_P_transpose) {
        for (int d = 0; d < t->rank; d++) perm[d] = tn_i_ints(tn_i_p(e), 0)[p[d]];
        return permuted(w, as_it_was(w, tn_i_in(w->f, e)[0]), perm, t->rank);
    }
    const void *data = e ? tn_i_constant_data(e) : NULL;
    if (data && tn_i_count(t) <= TN_M_CONSTANT_ELEMENTS) return constant(w, t, data, p);
    return permuted(w, as_it_was(w, v), perm, t->rank);
}

static tn_i_var turned_slice(turn *w, const tn_i_eqn *e, const int8_t *p, tn_i_var x) {
    const tn_i_param *given = tn_i_p(e);
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], step[TN_MAX_RANK];
    for (int d = 0; d < type_of(w, e->out)->rank; d++) {
        start[d] = tn_i_ints(given, 0)[p[d]];
        limit[d] = tn_i_ints(given, 1)[p[d]];
        step[d] = given[2].kind == TN_K_NONE ? 1 : tn_i_ints(given, 2)[p[d]];
    }
    return tn_i_slice(w->b, x, start, limit, given[2].kind == TN_K_NONE ? NULL : step);
}

static tn_i_var turned_pad(turn *w, const tn_i_eqn *e, const int8_t *p, const tn_i_var *in) {
    int64_t config[3 * TN_MAX_RANK];
    for (int d = 0; d < type_of(w, e->out)->rank; d++)
        memcpy(config + 3 * d, tn_i_ints(tn_i_p(e), 0) + 3 * p[d], 3 * sizeof *config);
    return tn_i_pad(w->b, in[0], in[1], config);
}

static void emit_turned(turn *w, const tn_i_eqn *e, const int8_t *p) {
    tn_i_var in[MOST_OPERANDS];
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = tn_i_in(w->f, e)[k];
        in[k] = turns_with(w, e, v) ? turned(w, v, p) : as_it_was(w, v);
    }
    if (e->prim->id == TN_P_slice)
        w->other[e->out] = turned_slice(w, e, p, in[0]);
    else if (e->prim->id == TN_P_pad)
        w->other[e->out] = turned_pad(w, e, p, in);
    else if (e->prim->id == TN_P_concatenate) {
        int64_t along = 0;
        while (p[along] != tn_i_p(e)[0].u.i) along++;
        w->other[e->out] = tn_i_concatenate(w->b, e->nin, in, along);
    } else
        w->other[e->out] = tn_i_emit_like(w->b, e, in);
}

static void emit_swapped(turn *w, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(w->f, e);
    const tn_i_param *p = &tn_i_p(e)[0];
    tn_i_dots d = {.ncontract = (uint32_t)p->u.ints[0]};
    memcpy(d.contract[1], p->u.ints + 4, d.ncontract * sizeof *p->u.ints);
    memcpy(d.contract[0], p->u.ints + 4 + d.ncontract, d.ncontract * sizeof *p->u.ints);
    const tn_i_var lhs = as_it_was(w, in[1]), rhs = as_it_was(w, in[0]);
    w->other[e->out] = tn_i_dot_general(w->b, lhs, rhs, &d);
}

static void emit_transpose(turn *w, const tn_i_eqn *e) {
    const tn_i_var u = tn_i_in(w->f, e)[0];
    const int rank = type_of(w, u)->rank;
    int64_t back[TN_MAX_RANK], perm[TN_MAX_RANK];
    const int8_t *p = order_of(w, u);
    for (int d = 0; d < rank; d++) back[p[d]] = d;
    for (int d = 0; d < rank; d++) perm[d] = back[tn_i_ints(tn_i_p(e), 0)[d]];
    w->map[e->out] = permuted(w, w->other[u], perm, rank);
}

static void emit(turn *w, const tn_i_eqn *e) {
    const tn_fn *f = w->f;
    tn_i_builder *b = w->b;
    b->region = e->region;
    b->loc = e->loc;
    b->linear = tn_i_of_linear(f, e);
    const int8_t *p = e->nout == 1 && (turns(w, e) || (swaps(w, e) && w->read[e->out])) ? order_of(w, e->out) : NULL;
    if (p && turns(w, e))
        emit_turned(w, e, p);
    else if (p)
        emit_swapped(w, e);
    else if (e->prim->id == TN_P_transpose && w->other[tn_i_in(f, e)[0]] != TN_NOVAR)
        emit_transpose(w, e);
    else {
        for (uint32_t k = 0; k < e->nin; k++) (void)as_it_was(w, tn_i_in(f, e)[k]);
        b->region = e->region;
        tn_i_copy_eqn(b, f, e, w->map);
    }
    b->region = 0;
    b->linear = false;
}

static tn_fn *rewritten(turn *w) {
    const tn_fn *f = w->f;
    tn_i_builder b;
    w->b = &b;
    tn_i_builder_init(&b, f->ctx);
    b.raw = true;
    b.named_after = f;
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) w->map[i] = tn_i_input(&b, f->val[i].type, false);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++)
        if (w->live[i]) emit(w, &f->eqn[i]);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = as_it_was(w, f->out[j]);
    tn_fn *g = NULL;
    if (out && !b.failed)
        g = tn_i_finish(&b, f->nout, out);
    else
        tn_i_builder_drop(&b);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static bool worth(turn *w) {
    for (uint32_t v = 0; v < w->f->nval; v++)
        if (w->member[v] && order_of(w, v)) return true;
    return false;
}

static bool transposes(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].prim->id == TN_P_transpose) return true;
    return false;
}

tn_fn *tn_i_assign_layouts(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    if (!transposes(f)) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    turn w = {.f = f,
              .live = tn_i_needed(f),
              .parent = tn_i_alloc_array(c, f->nval, sizeof *w.parent),
              .set = tn_i_alloc_array(c, f->nval, sizeof *w.set),
              .member = tn_i_alloc(c, f->nval),
              .read = tn_i_alloc(c, f->nval),
              .plain = tn_i_alloc(c, f->nval),
              .map = tn_i_map_new(f),
              .other = tn_i_map_new(f)};
    tn_fn *g = NULL;
    if (w.live && w.parent && w.set && w.member && w.read && w.plain && w.map && w.other) {
        for (uint32_t v = 0; v < f->nval; v++) w.parent[v] = v;
        find_sets(&w);
        count_votes(&w);
        g = worth(&w) ? rewritten(&w) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    }
    tn_i_free(c, w.live, f->neqn);
    tn_i_free(c, w.parent, f->nval * sizeof *w.parent);
    tn_i_free(c, w.set, f->nval * sizeof *w.set);
    tn_i_free(c, w.member, f->nval);
    tn_i_free(c, w.read, f->nval);
    tn_i_free(c, w.plain, f->nval);
    if (w.map) tn_i_map_free(f, w.map);
    if (w.other) tn_i_map_free(f, w.other);
    return g;
}
