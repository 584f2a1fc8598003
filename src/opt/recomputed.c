/* Rematerialization: what a step computes of inputs by an operation or two, and nothing but other steps read, these
 * compute again.
 *
 *     m = mean x                  m = mean x
 *     d, s = x - m, sum of d^2    s = sum of (x - m)^2
 *     y = d / sqrt s              y = (x - m) / sqrt s
 *
 * Then d is neither written nor read: x is read in its place.  It is an input, which is there to the end, so that
 * nothing lives longer but what is small beside d.  Where d stays in the first-level cache that is not worth an
 * operation. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "prims/ids.h"

#include <string.h>

enum { MOST_EQNS = 8, MOST_OPERANDS = 64, MOST_BODY = 400 /* equations of a reader: far from what nests hold */ };

typedef struct recomputing {
    const tn_fn *f;
    uint8_t *is;    /* of each value: it is computed again */
    uint8_t *reads; /* of each value: something else than `fused` reads it */
} recomputing;

static const tn_fn *body_of(const tn_i_eqn *e) { return tn_i_p(e)[1].u.fn; }
static bool is_fused(const tn_i_eqn *e) { return e->prim->id == TN_P_fused; }

/* ---- which ------------------------------------------------------------------------------------------------- */

/* Marks what value v of a body is made of, itself and inputs too. */
static void mark(const tn_fn *b, tn_i_var v, uint8_t *made) {
    memset(made, 0, b->nval);
    made[v] = 1;
    for (uint32_t i = b->neqn; i-- > 0;)
        for (uint32_t k = 0; made[b->eqn[i].out] && k < b->eqn[i].nin; k++) made[tn_i_in(b, &b->eqn[i])[k]] = 1;
}

/* By few cheap operations on all elements, of what is repeated at most. */
static bool cheap(const tn_fn *b, tn_i_var v, const uint8_t *made) {
    const int64_t all = tn_i_count(b->val[v].type);
    double weight = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->neqn; i++) {
        const tn_i_eqn *e = &b->eqn[i];
        if (!made[e->out]) continue;
        if (e->nout != 1 || ++n > MOST_EQNS) return false;
        if (e->prim->id == TN_P_broadcast_in_dim || e->prim->id == TN_P_reshape) continue;
        const int dtype = b->val[e->out].type->dtype;
        if (e->nin == 0 || tn_i_count(b->val[e->out].type) != all ||
            !tn_i_cheap(e, b->val[tn_i_in(b, e)[0]].type->dtype, dtype))
            return false;
        weight += e->prim->weight;
    }
    return n > 0 && weight <= TN_M_RECOMPUTED_WEIGHT;
}

/* What v repeats, or has in another shape. */
static tn_i_var behind_views(const tn_fn *f, tn_i_var v) {
    while (f->val[v].def < f->neqn) {
        const tn_i_eqn *e = &f->eqn[f->val[v].def];
        if (e->prim->id != TN_P_broadcast_in_dim && e->prim->id != TN_P_reshape) break;
        v = tn_i_in(f, e)[0];
    }
    return v;
}

/* Its operands are no more than it is, and there to the end or little. */
static bool at_hand(const recomputing *z, const tn_i_eqn *e, const uint8_t *made, size_t bytes) {
    size_t large = 0;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = behind_views(z->f, tn_i_in(z->f, e)[k]);
        if (!made[k] || tn_i_is_literal(z->f, v)) continue;
        const size_t its = tn_type_bytes(z->f->val[v].type);
        if (its <= bytes / TN_M_PRODUCER_SMALLER && !z->is[v]) continue;
        if (v >= z->f->nin || its > bytes || ++large > 1) return false;
    }
    return true;
}

static void look_at(recomputing *z, const tn_i_eqn *e, uint8_t *made) {
    const tn_fn *b = body_of(e);
    for (uint32_t j = 0; j < e->nout; j++) {
        const tn_type *t = z->f->val[e->out + j].type;
        if (z->reads[e->out + j] || tn_i_has_steps(t) || t->varying || tn_type_bytes(t) < TN_M_RECOMPUTED_LEAST)
            continue;
        mark(b, b->out[j], made);
        z->is[e->out + j] = cheap(b, b->out[j], made) && at_hand(z, e, made, tn_type_bytes(t));
    }
}

/* made: room for each value of a body. */
static bool find(recomputing *z, uint8_t *made) {
    const tn_fn *f = z->f;
    bool some = false;
    for (uint32_t j = 0; j < f->nout; j++) z->reads[f->out[j]] = 1;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool takes = is_fused(e) && e->nin <= MOST_OPERANDS && body_of(e)->neqn <= MOST_BODY;
        for (uint32_t k = 0; k < e->nin && !takes; k++) z->reads[tn_i_in(f, e)[k]] = 1;
    }
    for (uint32_t i = 0; i < f->neqn; i++)
        if (is_fused(&f->eqn[i])) look_at(z, &f->eqn[i], made);
    for (uint32_t v = 0; v < f->nval; v++) some |= z->is[v];
    return some;
}

/* ---- the new program ----------------------------------------------------------------------------------------- */

typedef struct body {
    tn_i_builder b;
    tn_i_var arg[MOST_OPERANDS * 2], in[MOST_OPERANDS * 2]; /* of the program, as inputs */
    uint32_t n;
} body;

static tn_i_var input_of(const recomputing *z, body *w, tn_i_var v) {
    for (uint32_t i = 0; i < w->n; i++)
        if (w->arg[i] == v) return w->in[i];
    if (w->n == MOST_OPERANDS * 2) {
        tn_i_builder_fail(&w->b, TN_ELIMIT, "too many operands of a fused step");
        return TN_NOVAR;
    }
    w->arg[w->n] = v;
    return w->in[w->n++] = tn_i_input(&w->b, z->f->val[v].type, false);
}

/* Inputs stand first: those that operand v will want. */
static void want(const recomputing *z, body *w, tn_i_var v, uint8_t *made) {
    if (!z->is[v]) {
        (void)input_of(z, w, v);
        return;
    }
    const tn_i_eqn *e = &z->f->eqn[z->f->val[v].def];
    mark(body_of(e), body_of(e)->out[v - e->out], made);
    for (uint32_t k = 0; k < e->nin; k++)
        if (made[k]) (void)input_of(z, w, tn_i_in(z->f, e)[k]);
}

static tn_i_var computed(const recomputing *z, body *w, tn_i_var v, uint8_t *made) {
    if (!z->is[v]) return input_of(z, w, v);
    const tn_i_eqn *e = &z->f->eqn[z->f->val[v].def];
    const tn_fn *b = body_of(e);
    tn_i_var *map = tn_i_map_new(b), is = TN_NOVAR;
    if (!map) {
        w->b.failed = true;
        return TN_NOVAR;
    }
    mark(b, b->out[v - e->out], made);
    for (uint32_t k = 0; k < e->nin; k++)
        if (made[k]) map[k] = input_of(z, w, tn_i_in(z->f, e)[k]);
    for (uint32_t i = 0; i < b->neqn; i++)
        if (made[b->eqn[i].out]) tn_i_copy_eqn(&w->b, b, &b->eqn[i], map);
    is = map[b->out[v - e->out]];
    tn_i_map_free(b, map);
    return is;
}

/* What of a body the outputs need that are still read. */
static void mark_live(const recomputing *z, const tn_i_eqn *e, uint8_t *live) {
    const tn_fn *b = body_of(e);
    memset(live, 0, b->nval);
    for (uint32_t j = 0; j < e->nout; j++)
        if (!z->is[e->out + j]) live[b->out[j]] = 1;
    for (uint32_t i = b->neqn; i-- > 0;) {
        bool some = false;
        for (uint32_t j = 0; j < b->eqn[i].nout; j++) some |= live[b->eqn[i].out + j];
        for (uint32_t j = 0; some && j < b->eqn[i].nout; j++) live[b->eqn[i].out + j] = 1;
        for (uint32_t k = 0; some && k < b->eqn[i].nin; k++) live[tn_i_in(b, &b->eqn[i])[k]] = 1;
    }
}

/* The body of e, with what it computes again and without what nothing reads any more. */
static tn_fn *new_body(const recomputing *z, body *w, const tn_i_eqn *e, uint8_t *made, uint8_t *live) {
    const tn_fn *b = body_of(e);
    tn_i_var *map = tn_i_map_new(b), *out = tn_i_alloc_array(z->f->ctx, e->nout, sizeof *out);
    uint32_t n = 0;
    tn_i_builder_init(&w->b, z->f->ctx);
    w->b.raw = w->b.numbered = true;
    if (!map || !out) w->b.failed = true;
    mark_live(z, e, live);
    for (uint32_t k = 0; k < e->nin; k++)
        if (live[k]) want(z, w, tn_i_in(z->f, e)[k], made);
    for (uint32_t k = 0; k < e->nin && !w->b.failed; k++)
        if (live[k]) map[k] = computed(z, w, tn_i_in(z->f, e)[k], made);
    for (uint32_t i = 0; i < b->neqn && !w->b.failed; i++)
        if (live[b->eqn[i].out]) tn_i_copy_eqn(&w->b, b, &b->eqn[i], map);
    for (uint32_t j = 0; j < e->nout && !w->b.failed; j++)
        if (!z->is[e->out + j]) out[n++] = map[b->out[j]];
    tn_fn *g = NULL;
    if (w->b.failed)
        tn_i_builder_drop(&w->b);
    else
        g = tn_i_finish(&w->b, n, out);
    if (map) tn_i_map_free(b, map);
    tn_i_free(z->f->ctx, out, e->nout * sizeof *out);
    return g;
}

typedef struct rewriting {
    const recomputing *z;
    uint8_t *made, *live; /* of each value of a body */
    body *body;
} rewriting;

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const rewriting *r = with;
    const recomputing *z = r->z;
    bool changes = false, left = e->nout == 0;
    for (uint32_t k = 0; k < e->nin; k++) changes |= z->is[tn_i_in(f, e)[k]];
    for (uint32_t j = 0; j < e->nout; j++) changes |= z->is[e->out + j], left |= !z->is[e->out + j];
    if (!changes) return false;
    if (!left) return true; /* nothing of it is read */
    r->body->n = 0;
    tn_fn *g = new_body(z, r->body, e, r->made, r->live);
    if (!g) {
        b->failed = true;
        return true;
    }
    const tn_i_param p[2] = {tn_i_p(e)[0], {.kind = TN_K_FN, .u.fn = g}};
    for (uint32_t i = 0; i < r->body->n; i++) r->body->arg[i] = tn_i_mapped(b, f, map, r->body->arg[i]);
    tn_i_var out = tn_i_emit(b, e->prim, p, g->nin, r->body->arg);
    tn_i_fn_unref(g);
    for (uint32_t j = 0; j < e->nout && out != TN_NOVAR; j++)
        if (!z->is[e->out + j]) map[e->out + j] = out++;
    return true;
}

tn_fn *tn_i_recomputed(const tn_fn *f) {
    recomputing z = {.f = f, .is = tn_i_alloc(f->ctx, f->nval), .reads = tn_i_alloc(f->ctx, f->nval)};
    size_t most = 1;
    for (uint32_t i = 0; i < f->neqn; i++)
        if (is_fused(&f->eqn[i]) && body_of(&f->eqn[i])->nval > most) most = body_of(&f->eqn[i])->nval;
    body *w = tn_i_alloc(f->ctx, sizeof *w);
    rewriting r = {.z = &z, .made = tn_i_alloc(f->ctx, most), .live = tn_i_alloc(f->ctx, most), .body = w};
    tn_fn *g = NULL;
    if (z.is && z.reads && r.made && r.live && w)
        g = find(&z, r.made) ? tn_i_rewritten(f, NULL, f->neqn, put, &r) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_free(f->ctx, z.is, f->nval);
    tn_i_free(f->ctx, z.reads, f->nval);
    tn_i_free(f->ctx, r.made, most);
    tn_i_free(f->ctx, r.live, most);
    tn_i_free(f->ctx, w, sizeof *w);
    return g;
}
