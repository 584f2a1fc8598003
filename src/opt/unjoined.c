/* Slices of a concatenation as slices of its operands: what reads parts of what was put together, as the exchanges of a
 * small sort do, reads them where they are, and what nobody reads whole any more is not put together.  A slice that has
 * parts of several operands is a concatenation of these, where slices are all that is read of what was put together,
 * and not more than that: of every other element of a rolled array, say. */
#include "opt/fuse.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* Some elements of `of`. */
typedef struct part {
    tn_i_var of;
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], stride[TN_MAX_RANK]; /* limit: one behind the last */
} part;

static const tn_i_eqn *concatenation(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    return def < f->neqn && f->eqn[def].prim->id == TN_P_concatenate ? &f->eqn[def] : NULL;
}

static int axis_of(const tn_i_eqn *c) { return (int)tn_i_p(c)[0].u.i; }

/* What slice e of a concatenation reads of it. */
static bool sliced(const tn_fn *f, const tn_i_eqn *e, part *p) {
    if (e->prim->id != TN_P_slice || !concatenation(f, tn_i_in(f, e)[0])) return false;
    const tn_type *t = f->val[e->out].type;
    *p = (part){.of = tn_i_in(f, e)[0]};
    for (int d = 0; d < t->rank; d++) {
        p->start[d] = tn_i_p(e)[0].u.ints[d];
        p->stride[d] = tn_i_p(e)[2].kind == TN_K_NONE ? 1 : tn_i_p(e)[2].u.ints[d];
        p->limit[d] = t->dim[d] ? p->start[d] + (t->dim[d] - 1) * p->stride[d] + 1 : p->start[d];
    }
    return !tn_i_has_steps(f->val[p->of].type);
}

/* As part of the operand that has all of it, if one has. */
static bool step_into(const tn_fn *f, part *p) {
    const tn_i_eqn *c = concatenation(f, p->of);
    int64_t start = c ? p->start[axis_of(c)] : 0, limit = c ? p->limit[axis_of(c)] : 0;
    for (uint32_t k = 0; c && k < c->nin; k++) {
        const tn_i_var x = tn_i_in(f, c)[k];
        const int64_t n = f->val[x].type->dim[axis_of(c)];
        if (start >= 0 && limit <= n) {
            p->of = x;
            p->start[axis_of(c)] = start;
            p->limit[axis_of(c)] = limit;
            return true;
        }
        start -= n;
        limit -= n;
    }
    return false;
}

/* ---- which are put together in vain ---- */

/* Of each concatenation how many elements its slices have, -1: something else reads it. */
static int64_t *count_read(const tn_fn *f) {
    int64_t *read = tn_i_alloc_array(f->ctx, f->neqn, sizeof *read);
    part p;
    for (uint32_t i = 0; read && i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_eqn *c = concatenation(f, tn_i_in(f, e)[k]);
            int64_t *n = c ? &read[c - f->eqn] : NULL;
            if (!n || *n < 0) continue;
            if (!sliced(f, e, &p) || !tn_i_add_i64(*n, tn_i_count(f->val[e->out].type), n)) *n = -1;
        }
    }
    for (uint32_t j = 0; read && j < f->nout; j++) {
        const tn_i_eqn *c = concatenation(f, f->out[j]);
        if (c) read[c - f->eqn] = -1;
    }
    return read;
}

static bool in_vain(const tn_fn *f, const tn_i_eqn *c, const int64_t *read) {
    const int64_t n = read[c - f->eqn];
    return n >= 0 && n <= tn_i_count(f->val[c->out].type);
}

/* ---- the new program ---- */

static tn_i_var slice(tn_i_builder *b, const tn_fn *f, tn_i_var *map, const part *p) {
    const tn_type *t = f->val[p->of].type;
    const tn_i_var x = tn_i_mapped(b, f, map, p->of);
    bool whole = true;
    for (int d = 0; d < t->rank; d++) whole &= p->start[d] == 0 && p->limit[d] == t->dim[d] && p->stride[d] == 1;
    return whole ? x : tn_i_slice(b, x, p->start, p->limit, p->stride);
}

/* What operand k of c, behind `before` others, has of p; false: nothing. */
static bool part_of(const tn_fn *f, const tn_i_eqn *c, uint32_t k, int64_t before, const part *p, part *q) {
    const int d = axis_of(c);
    const tn_i_var x = tn_i_in(f, c)[k];
    const int64_t n = f->val[x].type->dim[d], by = p->stride[d];
    *q = *p;
    q->of = x;
    q->start[d] -= before;
    if (q->start[d] < 0) q->start[d] += (-q->start[d] + by - 1) / by * by;
    q->limit[d] -= before;
    if (q->limit[d] > n) q->limit[d] = n;
    return q->start[d] < q->limit[d];
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    part p, q;
    if (!sliced(f, e, &p)) return false;
    const tn_i_eqn *c = concatenation(f, p.of);
    if (step_into(f, &p)) {
        while (step_into(f, &p)) {
        }
        map[e->out] = slice(b, f, map, &p);
        return true;
    }
    if (!in_vain(f, c, with)) return false;
    int64_t before = 0;
    uint32_t n = 0;
    tn_i_var *in = tn_i_alloc_array(f->ctx, c->nin, sizeof *in);
    if (!in) b->failed = true;
    for (uint32_t k = 0; in && k < c->nin; k++) {
        if (part_of(f, c, k, before, &p, &q)) in[n++] = slice(b, f, map, &q);
        before += f->val[tn_i_in(f, c)[k]].type->dim[axis_of(c)];
    }
    if (in) map[e->out] = tn_i_concatenate(b, n, in, axis_of(c));
    tn_i_free(f->ctx, in, c->nin * sizeof *in);
    return true;
}

tn_fn *tn_i_unjoined(const tn_fn *f) {
    int64_t *read = count_read(f);
    bool some = false;
    part p;
    for (uint32_t i = 0; read && i < f->neqn && !some; i++)
        some = sliced(f, &f->eqn[i], &p) && (in_vain(f, concatenation(f, p.of), read) || step_into(f, &p));
    tn_fn *g = !read ? NULL : some ? tn_i_rewritten(f, NULL, f->neqn, put, read) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_free(f->ctx, read, f->neqn * sizeof *read);
    return g;
}
