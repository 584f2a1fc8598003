#include "linearize/prune.h"

#include "prims/frame.h"

#include <string.h>

static const char kind;

static bool prunable(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].prim->prune) return true;
    return false;
}

/* Values that reach an output or an effect. */
static void find_used(const tn_fn *f, const tn_i_var *out, uint32_t nout, uint8_t *used) {
    for (uint32_t j = 0; j < nout; j++) used[out[j]] = 1;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool live = e->prim->effect && e->prim->effect(tn_i_p(e));
        for (uint32_t j = 0; j < e->nout; j++) live |= used[e->out + j] != 0;
        for (uint32_t k = 0; k < e->nin && live; k++) used[tn_i_in(f, e)[k]] = 1;
    }
}

static void step(tn_i_frame *w, const tn_i_eqn *e, const uint8_t *used, tn_i_var *map) {
    tn_i_rule *r = &w->r;
    bool none = true;
    tn_i_frame_enter(w, e);
    for (uint32_t j = 0; j < e->nout; j++) {
        w->mark[j] = used[e->out + j] != 0;
        none &= !w->mark[j];
    }
    if (none && !(e->prim->effect && e->prim->effect(tn_i_p(e)))) return;
    if (!e->prim->prune) {
        tn_i_copy_eqn(r->b, r->f, e, map);
        return;
    }
    for (uint32_t i = 0; i < e->nin; i++) w->in[i] = tn_i_mapped(r->b, r->f, map, tn_i_in(r->f, e)[i]);
    for (uint32_t j = 0; j < e->nout; j++) w->out[j] = TN_NOVAR;
    if (!r->b->failed) e->prim->prune(r, w->mark, w->out);
    for (uint32_t j = 0; j < e->nout; j++) map[e->out + j] = w->out[j];
}

/* f computing out[0..nout) of its values. */
static tn_fn *rebuild(const tn_fn *f, const tn_i_var *out, uint32_t nout, tn_i_memo *memo) {
    tn_ctx *c = f->ctx;
    tn_i_builder b;
    tn_i_frame w = {0};
    tn_i_builder_init(&b, c);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    tn_i_var *map = tn_i_map_new(f), *outs = tn_i_alloc_array(c, nout, sizeof *outs);
    uint8_t *used = tn_i_alloc(c, f->nval);
    tn_fn *g = NULL;
    if (map && outs && used && tn_i_frame_init(&w, &b, f, memo)) {
        find_used(f, out, nout, used);
        for (uint32_t i = 0; i < f->nin; i++) map[i] = tn_i_input(&b, f->val[i].type, f->val[i].linear);
        for (uint32_t i = 0; i < f->neqn && !b.failed; i++) step(&w, &f->eqn[i], used, map);
        for (uint32_t j = 0; j < nout && !b.failed; j++) outs[j] = tn_i_mapped(&b, f, map, out[j]);
        g = tn_i_finish(&b, nout, outs);
    } else
        tn_i_builder_drop(&b);
    tn_i_frame_free(&w);
    if (map) tn_i_map_free(f, map);
    tn_i_free(c, outs, nout * sizeof *outs);
    tn_i_free(c, used, f->nval);
    return g;
}

static const tn_i_memo_entry *prune_outputs(const tn_fn *f, const bool *used, tn_i_memo *memo) {
    const tn_i_memo_entry *e = tn_i_memo_find(memo, &kind, f, used, f->nout * sizeof *used);
    if (e) return e;
    tn_ctx *c = f->ctx;
    tn_i_var *keep = tn_i_alloc_array(c, f->nout, sizeof *keep);
    uint32_t *to = tn_i_alloc_array(c, f->nout, sizeof *to), n = 0;
    uint32_t *seen = tn_i_alloc_array(c, f->nval, sizeof *seen); /* 1 + number of the kept output */
    for (uint32_t j = 0; keep && to && seen && j < f->nout; j++) {
        to[j] = TN_NOVAR;
        if (!used[j]) continue;
        uint32_t *first = &seen[f->out[j]];
        if (!*first) {
            keep[n] = f->out[j];
            *first = ++n;
        }
        to[j] = *first - 1;
    }
    tn_fn *g = keep && to && seen ? rebuild(f, keep, n, memo) : NULL;
    if (g) e = tn_i_memo_add(memo, &kind, f, used, f->nout * sizeof *used, g, NULL, to, f->nout * sizeof *to);
    tn_i_free(c, keep, f->nout * sizeof *keep);
    tn_i_free(c, to, f->nout * sizeof *to);
    tn_i_free(c, seen, f->nval * sizeof *seen);
    return e;
}

const tn_i_memo_entry *tn_i_nested_prune(tn_i_rule *r, const tn_fn *f, const bool *used) {
    const tn_i_memo_entry *e = prune_outputs(f, used, r->memo);
    if (!e) r->b->failed = true;
    return e;
}

tn_fn *tn_i_prune(tn_fn *f) {
    if (!f || !prunable(f)) return f;
    tn_i_memo memo;
    tn_i_memo_init(&memo, f->ctx);
    tn_fn *g = rebuild(f, f->out, f->nout, &memo);
    tn_i_memo_free(&memo);
    tn_i_fn_unref(f);
    return g;
}
