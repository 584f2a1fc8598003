/* Elementwise equations in front of a reshape that splits dimensions, of which a reduction follows, computed in the
 * shape behind it:
 *
 *     y = max(x, 0);  z = reshape[n, m, 2](y);  s = reduce_max(z)         becomes         reduce_max(max(reshape x, 0))
 *
 * as of blocks, groups and windows side by side: then one nest has both, and y is never in memory.  A reshape of what
 * is in memory is a view, and what is repeated along dimensions is repeated along the parts of these. */
#include "opt/fuse.h"
#include "prims/ids.h"

typedef struct splits {
    const tn_type **to; /* of each value: the shape in which all that reads it wants it; NULL: none, or several */
    uint8_t *other;     /* of each value: somebody else reads it */
    tn_i_var *map;      /* of each value: it in that shape */
} splits;

static const tn_type *type_of(const tn_fn *f, tn_i_var v) { return f->val[v].type; }

/* end[d]: the first dimension of b behind those that dimension d of a is split into. */
static bool is_split(const tn_type *a, const tn_type *b, int *end) {
    int j = 0;
    if (a->rank == 0 || a->rank >= b->rank || tn_i_count(a) == 0) return false;
    for (int d = 0; d < a->rank; d++) {
        int64_t n = 1;
        while (j < b->rank && (n < a->dim[d] || (b->dim[j] == 1 && b->rank - j > a->rank - d - 1))) n *= b->dim[j++];
        if (n != a->dim[d]) return false;
        end[d] = j;
    }
    return j == b->rank;
}

static void note(splits *s, tn_i_var v, const tn_type *to) {
    s->other[v] |= !to || (s->to[v] && s->to[v] != to);
    s->to[v] = to;
}

static bool is_wanted(const splits *s, tn_i_var v) { return s->to[v] && !s->other[v]; }

/* Of values of one shape, and numbers. */
static bool is_plain(const tn_fn *f, const tn_i_eqn *e) {
    if (!(e->prim->flags & TN_F_ELEMENTWISE) || e->nout != 1 || e->nin > 4) return false;
    const tn_type *t = type_of(f, e->out);
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_type *x = type_of(f, tn_i_in(f, e)[k]);
        bool same = x->rank == t->rank;
        for (int d = 0; d < t->rank && same; d++) same = x->dim[d] == t->dim[d];
        if (!same && x->rank > 0) return false;
    }
    return true;
}

static bool is_elementwise(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    return def < f->neqn && is_plain(f, &f->eqn[def]);
}

/* A reshape that splits, of what is computed, for reductions. */
static bool is_for_sums(const tn_fn *f, const tn_i_eqn *e, const uint8_t *reduced) {
    int end[TN_MAX_RANK];
    return e->prim->id == TN_P_reshape && reduced[e->out] && is_elementwise(f, tn_i_in(f, e)[0]) &&
           is_split(type_of(f, tn_i_in(f, e)[0]), type_of(f, e->out), end);
}

/* From the end: who reads a value is known before what it is made of. */
static bool find(const tn_fn *f, splits *s, uint8_t *reduced) {
    bool any = false;
    for (uint32_t j = 0; j < f->nout; j++) note(s, f->out[j], NULL);
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        const tn_i_var *in = tn_i_in(f, e);
        const bool splits_it = is_for_sums(f, e, reduced), carries = is_plain(f, e) && is_wanted(s, e->out);
        for (uint32_t k = 0; k < e->nin; k++) {
            reduced[in[k]] |= e->prim->fold != TN_FOLD_NONE;
            if (type_of(f, in[k])->rank > 0)
                note(s, in[k], splits_it ? type_of(f, e->out) : carries ? s->to[e->out] : NULL);
        }
        any |= splits_it && is_wanted(s, in[0]);
    }
    return any;
}

/* A number everywhere, or what is repeated, as t, which splits its dimensions. */
static tn_i_var repeated(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const tn_type *t) {
    const tn_i_var x = tn_i_in(f, e)[0];
    const tn_type *from = type_of(f, x), *whole = type_of(f, e->out);
    int64_t shape[TN_MAX_RANK], dims[TN_MAX_RANK];
    int end[TN_MAX_RANK], n = 0;
    if (!is_split(whole, t, end)) return TN_NOVAR;
    for (int k = 0; k < from->rank; k++) {
        const int d = (int)tn_i_p(e)[1].u.ints[k], first = d ? end[d - 1] : 0;
        const bool all = from->dim[k] == whole->dim[d];
        for (int j = first; j < (all ? end[d] : first + 1); j++) {
            shape[n] = all ? t->dim[j] : 1;
            dims[n++] = j;
        }
    }
    const tn_i_var part = from->rank ? tn_i_reshape(b, tn_i_mapped(b, f, map, x), n, shape) : tn_i_mapped(b, f, map, x);
    return tn_i_broadcast(b, part, t->rank, t->dim, from->rank ? dims : NULL);
}

static tn_i_var split(tn_i_builder *b, const tn_fn *f, tn_i_var v, tn_i_var *map, const splits *s, const tn_type *t) {
    const uint32_t def = f->val[v].def;
    const tn_i_eqn *e = def < f->neqn ? &f->eqn[def] : NULL;
    if (type_of(f, v)->rank == 0) return tn_i_mapped(b, f, map, v);
    if (e && is_wanted(s, v) && s->map[v] != TN_NOVAR) return s->map[v];
    const tn_i_var again = e && e->prim->id == TN_P_broadcast_in_dim ? repeated(b, f, e, map, t) : TN_NOVAR;
    return again != TN_NOVAR ? again : tn_i_reshape(b, tn_i_mapped(b, f, map, v), t->rank, t->dim);
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const splits *s = with;
    if (e->prim->id == TN_P_reshape && s->map[tn_i_in(f, e)[0]] != TN_NOVAR &&
        s->to[tn_i_in(f, e)[0]] == type_of(f, e->out)) {
        map[e->out] = s->map[tn_i_in(f, e)[0]];
        return true;
    }
    if (e->nout != 1 || !is_wanted(s, e->out) || !is_plain(f, e)) return false;
    tn_i_var in[4];
    for (uint32_t k = 0; k < e->nin; k++) in[k] = split(b, f, tn_i_in(f, e)[k], map, s, s->to[e->out]);
    s->map[e->out] = tn_i_emit_like(b, e, in);
    return true;
}

tn_fn *tn_i_split_shapes(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    splits s = {.to = (const tn_type **)tn_i_alloc_array(c, f->nval, sizeof *s.to)};
    uint8_t *reduced = tn_i_alloc(c, f->nval);
    tn_fn *g = NULL;
    s.other = tn_i_alloc(c, f->nval);
    s.map = tn_i_map_new(f);
    if (s.to && s.other && s.map && reduced)
        g = find(f, &s, reduced) ? tn_i_rewritten(f, NULL, f->neqn, put, &s) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    if (s.map) tn_i_map_free(f, s.map);
    if (s.to) tn_i_free(c, (void *)s.to, f->nval * sizeof *s.to);
    if (s.other) tn_i_free(c, s.other, f->nval);
    if (reduced) tn_i_free(c, reduced, f->nval);
    return g;
}
