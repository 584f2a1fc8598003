/* slice_add where the slice has no strides and is most of the array, or the array is tiny, as the sum of the array and
 * the padded slice: a nest reads that through loops, among others of its kind, and needs no pass of its own.  What is
 * padded is -0, which changes no bit of what it is added to.  Tiny arrays one after another, likewise, are a sum of
 * padded ones.
 *
 * Several of them, one after another, whose slices lie apart along one dimension, as of the columns of an array or of
 * what is turned round a ring, as the sum of the array and the parts side by side, with -0 between, where that is most
 * of it: each element has had one number added.  Where the first is added to zeros, another term may stand between two,
 * as derivatives add them up in any order: ((0 + w) + x) + u is (0 + x) + (w, u) to the bit. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/equations.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <stdlib.h>
#include <string.h>

enum { TINY = TN_LANES /* elements */, PIECES = 3, MOST_COMPARED = 1024 /* parts, to one that lies among them */ };

/* A window that is a part of one dimension, and all of the others. */
typedef struct part {
    const tn_i_eqn *e;
    int along;
    int64_t from, to;
} part;

/* Parts of one array; the last that is added comes first. */
typedef struct parts {
    part *p;
    size_t room;
    uint32_t n;
    int64_t low, high; /* they lie in [low, high) */
} parts;

typedef struct sums {
    const tn_fn *f;
    uint32_t *uses; /* of each value */
    uint32_t *next; /* of each equation: an earlier one that is added with it, plus 1; 0: none */
    uint8_t *moved; /* of each equation: its window is added by a later one; or with earlier ones it is too little */
    parts all;
    bool failed;
} sums;

enum { STAYS, MOVED, LITTLE };

bool tn_i_window_of(const tn_fn *f, const tn_i_eqn *e, int64_t *config) {
    if (e->prim->id != TN_P_slice_add) return false;
    const tn_type *x = f->val[tn_i_in(f, e)[0]].type, *u = f->val[tn_i_in(f, e)[1]].type;
    if (tn_i_count(u) == 0) return false;
    for (int d = 0; d < x->rank; d++) {
        tn_i_slice_padding(tn_i_p(e), x, u, d, config + 3 * d);
        if (config[3 * d + 2]) return false;
    }
    return true;
}

static bool large(const tn_fn *f, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(f, e);
    const int64_t all = tn_i_count(f->val[in[0]].type);
    return tn_i_count(f->val[in[1]].type) >= all / TN_M_WINDOW_TIMES || all <= TINY;
}

static void add_window(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, const int64_t *config, tn_i_var *map) {
    const tn_i_var x = tn_i_mapped(b, f, map, tn_i_in(f, e)[0]), u = tn_i_mapped(b, f, map, tn_i_in(f, e)[1]);
    const int dtype = f->val[tn_i_in(f, e)[0]].type->dtype;
    const tn_i_var zero = tn_i_literal_f64(b, dtype, tn_i_is_float(dtype) ? -0.0 : 0.0);
    b->loc = e->loc;
    map[e->out] = tn_i_op2(b, TN_P_add, x, tn_i_pad(b, u, zero, config));
}

/* ---- parts ----------------------------------------------------------------------------- */

static bool part_of(const tn_fn *f, const tn_i_eqn *e, part *p) {
    int64_t config[3 * TN_MAX_RANK];
    *p = (part){.e = e, .along = -1};
    if (!tn_i_window_of(f, e, config)) return false;
    const tn_type *t = f->val[e->out].type;
    for (int d = 0; d < t->rank; d++) {
        if (config[3 * d] == 0 && config[3 * d + 1] == 0) continue;
        if (p->along >= 0) return false;
        *p = (part){.e = e, .along = d, .from = config[3 * d], .to = t->dim[d] - config[3 * d + 1]};
    }
    return p->along >= 0;
}

static bool lies_apart(const parts *all, const part *p) {
    if (all->n == 0) return true;
    if (all->p[0].along != p->along) return false;
    if (p->from >= all->high || p->to <= all->low) return true;
    for (uint32_t i = 0; i < all->n; i++)
        if (p->from < all->p[i].to && all->p[i].from < p->to) return false;
    return all->n < MOST_COMPARED;
}

static bool take(sums *s, const part *p) {
    parts *all = &s->all;
    if (!lies_apart(all, p)) return false;
    if (!tn_i_grow(s->f->ctx, (void **)(void *)&all->p, &all->room, (size_t)all->n + 1, sizeof *all->p)) {
        s->failed = true;
        return false;
    }
    if (all->n == 0 || p->from < all->low) all->low = p->from;
    if (all->n == 0 || p->to > all->high) all->high = p->to;
    all->p[all->n++] = *p;
    return true;
}

static bool is_zeros(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    if (def >= f->neqn) return false;
    const tn_i_eqn *e = &f->eqn[def];
    return e->prim->walks && e->nin == 1 && tn_i_is_literal(f, tn_i_in(f, e)[0]) && f->val[tn_i_in(f, e)[0]].bits == 0;
}

/* Takes v, and what it is added to, and so on, while these are parts that lie apart and nothing else reads them; what
 * the first of them is added to. */
static tn_i_var take_parts(sums *s, tn_i_var v) {
    for (;;) {
        const uint32_t def = s->f->val[v].def;
        part p;
        if (def >= s->f->neqn || s->uses[v] != 1 || s->moved[def] == MOVED || s->next[def]) return v;
        if (!part_of(s->f, &s->f->eqn[def], &p) || !take(s, &p)) return v;
        v = tn_i_in(s->f, p.e)[0];
    }
}

/* e and those before it; behind a term, where they are added to zeros. */
static void find_parts_of(sums *s, const tn_i_eqn *e) {
    part first;
    s->all.n = 0;
    if (!part_of(s->f, e, &first) || !take(s, &first)) return;
    const tn_i_var v = take_parts(s, tn_i_in(s->f, e)[0]);
    const uint32_t def = s->f->val[v].def;
    if (def >= s->f->neqn || s->uses[v] != 1 || s->f->eqn[def].prim->id != TN_P_add) return;
    for (uint32_t i = 0; i < 2; i++) {
        const parts before = s->all;
        const tn_i_var x = take_parts(s, tn_i_in(s->f, &s->f->eqn[def])[i]);
        if (s->all.n > before.n && is_zeros(s->f, x)) break;
        s->all.n = before.n;
        s->all.low = before.low;
        s->all.high = before.high;
    }
}

static bool most_of_it(const sums *s) {
    const parts *all = &s->all;
    int64_t covered = 0;
    for (uint32_t i = 0; i < all->n; i++) covered += all->p[i].to - all->p[i].from;
    return all->n > 1 && covered >= s->f->val[all->p[0].e->out].type->dim[all->p[0].along] / TN_M_WINDOW_TIMES;
}

static void find_parts(sums *s) {
    for (uint32_t i = s->f->neqn; i-- > 0 && !s->failed;) {
        if (s->moved[i]) continue;
        find_parts_of(s, &s->f->eqn[i]);
        const bool most = most_of_it(s);
        for (uint32_t k = 1; k < s->all.n; k++) {
            const size_t at = (size_t)(s->all.p[k].e - s->f->eqn);
            if (most) s->next[s->all.p[k - 1].e - s->f->eqn] = (uint32_t)at + 1;
            s->moved[at] = most ? MOVED : LITTLE;
        }
    }
}

static tn_i_var gap(tn_i_builder *b, const tn_type *of, int along, int64_t size) {
    tn_type t = *of;
    t.dim[along] = size;
    return tn_i_number(b, &t, tn_i_is_float(t.dtype) ? -0.0 : 0.0);
}

static int by_place(const void *a, const void *b) {
    const int64_t x = ((const part *)a)->from, y = ((const part *)b)->from;
    return (x > y) - (x < y);
}

/* Those of e, in the order in which they lie, with room for gaps between; how many, 0 without memory. */
static uint32_t in_order(const sums *s, const tn_i_eqn *e, part **p) {
    uint32_t n = 0;
    for (uint32_t k = (uint32_t)(e - s->f->eqn) + 1; k; k = s->next[k - 1]) n++;
    if (!(*p = tn_i_alloc_array(s->f->ctx, n, sizeof **p))) return 0;
    n = 0;
    for (uint32_t k = (uint32_t)(e - s->f->eqn) + 1; k; k = s->next[k - 1])
        (void)part_of(s->f, &s->f->eqn[k - 1], &(*p)[n++]);
    qsort(*p, n, sizeof **p, by_place);
    return n;
}

static tn_i_var join_parts(tn_i_builder *b, const sums *s, const part *p, uint32_t n, tn_i_var *in, tn_i_var *map) {
    const tn_type *t = s->f->val[p->e->out].type;
    int64_t end = 0;
    uint32_t nin = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (p[i].from > end) in[nin++] = gap(b, t, p[i].along, p[i].from - end);
        in[nin++] = tn_i_mapped(b, s->f, map, tn_i_in(s->f, p[i].e)[1]);
        end = p[i].to;
    }
    if (end < t->dim[p[0].along]) in[nin++] = gap(b, t, p[0].along, t->dim[p[0].along] - end);
    return tn_i_concatenate(b, nin, in, p[0].along);
}

static tn_i_var side_by_side(tn_i_builder *b, const sums *s, const tn_i_eqn *e, tn_i_var *map) {
    part *p;
    const uint32_t n = in_order(s, e, &p);
    tn_i_var *in = n ? tn_i_alloc_array(s->f->ctx, 2 * (size_t)n + 1, sizeof *in) : NULL, all = TN_NOVAR;
    if (in)
        all = join_parts(b, s, p, n, in, map);
    else
        b->failed = true;
    tn_i_free(s->f->ctx, in, (2 * (size_t)n + 1) * sizeof *in);
    tn_i_free(s->f->ctx, p, n * sizeof *p);
    return all;
}

static void add_parts(tn_i_builder *b, const sums *s, const tn_i_eqn *e, tn_i_var *map) {
    const tn_i_var x = tn_i_mapped(b, s->f, map, tn_i_in(s->f, e)[0]);
    b->loc = e->loc;
    const tn_i_var all = side_by_side(b, s, e, map);
    map[e->out] = tn_i_op2(b, TN_P_add, x, all);
}

static void count_uses(const tn_fn *f, uint32_t *uses) {
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t k = 0; k < f->eqn[i].nin; k++) uses[tn_i_in(f, &f->eqn[i])[k]]++;
    for (uint32_t j = 0; j < f->nout; j++) uses[f->out[j]]++;
}

/* ---- programs ---------------------------------------------------------------------------- */

static bool is_tiny_row(const tn_fn *f, const tn_i_eqn *e) {
    const tn_type *t = f->val[e->out].type;
    if (e->prim->id != TN_P_concatenate || e->nin < 2 || e->nin > PIECES) return false;
    for (uint32_t k = 0; k < e->nin; k++)
        if (tn_i_count(f->val[tn_i_in(f, e)[k]].type) == 0) return false;
    return tn_i_is_wide_float(t->dtype) && tn_i_count(t) <= TINY;
}

static void add_pieces(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_type *t = f->val[e->out].type;
    const int64_t axis = tn_i_p(e)[0].u.i;
    const tn_i_var zero = tn_i_literal_f64(b, t->dtype, -0.0);
    int64_t config[3 * TN_MAX_RANK] = {0}, before = 0;
    tn_i_var sum = TN_NOVAR;
    b->loc = e->loc;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var in = tn_i_in(f, e)[k];
        const int64_t size = f->val[in].type->dim[axis];
        config[3 * axis] = before;
        config[3 * axis + 1] = t->dim[axis] - size - before;
        before += size;
        const tn_i_var piece = tn_i_pad(b, tn_i_mapped(b, f, map, in), zero, config);
        sum = sum == TN_NOVAR ? piece : tn_i_op2(b, TN_P_add, sum, piece);
    }
    map[e->out] = sum;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const sums *s = with;
    int64_t config[3 * TN_MAX_RANK];
    if (is_tiny_row(f, e))
        add_pieces(b, f, e, map);
    else if (!tn_i_window_of(f, e, config))
        return false;
    else if (s->moved[e - f->eqn] == MOVED)
        map[e->out] = tn_i_mapped(b, f, map, tn_i_in(f, e)[0]);
    else if (s->next[e - f->eqn])
        add_parts(b, s, e, map);
    else if (large(f, e))
        add_window(b, f, e, config, map);
    else
        return false;
    return true;
}

static tn_fn *rewrite(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    sums s = {.f = f,
              .uses = tn_i_alloc_array(c, f->nval, sizeof *s.uses),
              .next = tn_i_alloc_array(c, f->neqn, sizeof *s.next),
              .moved = tn_i_alloc(c, f->neqn)};
    tn_fn *g = NULL;
    if (s.uses && s.next && s.moved) {
        count_uses(f, s.uses);
        find_parts(&s);
        if (!s.failed) g = tn_i_rewritten(f, NULL, f->neqn, put, &s);
    }
    tn_i_free(c, s.all.p, s.all.room * sizeof *s.all.p);
    tn_i_free(c, s.uses, f->nval * sizeof *s.uses);
    tn_i_free(c, s.next, f->neqn * sizeof *s.next);
    tn_i_free(c, s.moved, f->neqn);
    return g;
}

tn_fn *tn_i_slices_summed(const tn_fn *f) {
    int64_t config[3 * TN_MAX_RANK];
    for (uint32_t i = 0; i < f->neqn; i++)
        if (tn_i_window_of(f, &f->eqn[i], config) || is_tiny_row(f, &f->eqn[i])) return rewrite(f);
    return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
