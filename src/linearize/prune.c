#include "linearize/prune.h"

#include "prims/frame.h"

#include <string.h>

static const char kind, quiet_kind;

static bool prunable(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].prim->prune) return true;
    return false;
}

static const tn_i_memo_entry *prune_outputs(const tn_fn *f, const bool *used, bool quiet, tn_i_memo *memo);

static const tn_fn *program_of(const tn_i_eqn *e) { return tn_i_p(e)[e->prim->body - 1].u.fn; }

static bool has_effect(const tn_i_eqn *e) { return e->prim->effect && e->prim->effect(tn_i_p(e)); }

/* Which outputs of e are used, in mark; whether any is or, unless quiet, e has an effect. */
static bool is_live(const tn_i_eqn *e, const uint8_t *used, bool quiet, bool *mark) {
    bool live = !quiet && has_effect(e);
    for (uint32_t j = 0; j < e->nout; j++) {
        mark[j] = used[e->out + j] != 0;
        live |= mark[j];
    }
    return live;
}

bool tn_i_needed_operands(tn_i_frame *w, const tn_i_eqn *e) {
    const uint32_t *from = NULL;
    if (e->prim->needs) {
        tn_i_frame_enter(w, e);
        memset(w->flag, 0, e->nin * sizeof *w->flag);
        return e->prim->needs(&w->r, w->mark, w->flag);
    }
    if (e->prim->prune) {
        const tn_i_memo_entry *p = prune_outputs(program_of(e), w->mark, w->r.quiet, w->r.memo);
        if (!p) return false;
        from = tn_i_pruned_inputs(p, e->nout);
    }
    for (uint32_t k = 0; k < e->nin; k++) w->flag[k] = !from || from[k] != TN_NOVAR;
    return true;
}

/* Values that reach an output or, unless quiet, an effect; not through an input that a nested program does not read. */
static bool find_used(tn_i_frame *w, const tn_i_var *out, uint32_t nout, bool quiet, uint8_t *used) {
    w->r.quiet = quiet;
    const tn_fn *f = w->r.f;
    for (uint32_t j = 0; j < nout; j++) used[out[j]] = 1;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!is_live(e, used, w->r.quiet, w->mark)) continue;
        if (!tn_i_needed_operands(w, e)) return false;
        for (uint32_t k = 0; k < e->nin; k++) used[tn_i_in(f, e)[k]] |= w->flag[k];
    }
    return true;
}

static void step(tn_i_frame *w, const tn_i_eqn *e, const uint8_t *used, tn_i_var *map) {
    tn_i_rule *r = &w->r;
    tn_i_frame_enter(w, e);
    if (!is_live(e, used, w->r.quiet, w->mark)) return;
    if (!e->prim->prune) {
        tn_i_copy_eqn(r->b, r->f, e, map);
        return;
    }
    for (uint32_t i = 0; i < e->nin; i++) w->in[i] = tn_i_mapped(r->b, r->f, map, tn_i_in(r->f, e)[i]);
    for (uint32_t j = 0; j < e->nout; j++) w->out[j] = TN_NOVAR;
    if (!r->b->failed) e->prim->prune(r, w->mark, w->out);
    for (uint32_t j = 0; j < e->nout; j++) map[e->out + j] = w->out[j];
}

/* f computing out[0..nout) of its values; with `from` not NULL it has the inputs only that are read,
 * and from[i] is the new number of input i. */
static tn_fn *rebuild(const tn_fn *f, const tn_i_var *out, uint32_t nout, uint32_t *from, bool quiet, tn_i_memo *memo) {
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
    if (map && outs && used && tn_i_frame_init(&w, &b, f, memo) && find_used(&w, out, nout, quiet, used)) {
        for (uint32_t i = 0; i < f->nin; i++) {
            if (!from || used[i]) map[i] = tn_i_input(&b, f->val[i].type, f->val[i].linear);
            if (from) from[i] = map[i];
        }
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

/* Each used value once: its place among the outputs in to[]; how many there are. */
static uint32_t number_outputs(const tn_fn *f, const bool *used, uint32_t *seen, tn_i_var *keep, uint32_t *to) {
    uint32_t n = 0;
    for (uint32_t j = 0; j < f->nout; j++) {
        to[j] = TN_NOVAR;
        if (!used[j]) continue;
        uint32_t *first = &seen[f->out[j]]; /* 1 + number of the kept output */
        if (!*first) {
            keep[n] = f->out[j];
            *first = ++n;
        }
        to[j] = *first - 1;
    }
    return n;
}

static const tn_i_memo_entry *prune_outputs(const tn_fn *f, const bool *used, bool quiet, tn_i_memo *memo) {
    const char *which = quiet ? &quiet_kind : &kind;
    const tn_i_memo_entry *e = tn_i_memo_find(memo, which, f, used, f->nout * sizeof *used);
    if (e) return e;
    tn_ctx *c = f->ctx;
    const size_t numbers = (size_t)f->nout + f->nin;
    tn_i_var *keep = tn_i_alloc_array(c, f->nout, sizeof *keep);
    uint32_t *to = tn_i_alloc_array(c, numbers, sizeof *to);
    uint32_t *seen = tn_i_alloc_array(c, f->nval, sizeof *seen);
    if (keep && to && seen) {
        const uint32_t n = number_outputs(f, used, seen, keep, to);
        tn_fn *g = rebuild(f, keep, n, to + f->nout, quiet, memo);
        if (g) e = tn_i_memo_add(memo, which, f, used, f->nout * sizeof *used, g, NULL, to, numbers * sizeof *to);
    }
    tn_i_free(c, keep, f->nout * sizeof *keep);
    tn_i_free(c, to, numbers * sizeof *to);
    tn_i_free(c, seen, f->nval * sizeof *seen);
    return e;
}

const tn_i_memo_entry *tn_i_nested_prune(tn_i_rule *r, const tn_fn *f, const bool *used) {
    const tn_i_memo_entry *e = prune_outputs(f, used, r->quiet, r->memo);
    if (!e) r->b->failed = true;
    return e;
}

tn_fn *tn_i_prune(tn_fn *f) {
    if (!f || !prunable(f)) return f;
    tn_i_memo memo;
    tn_i_memo_init(&memo, f->ctx);
    tn_fn *g = rebuild(f, f->out, f->nout, NULL, false, &memo);
    tn_i_memo_free(&memo);
    tn_i_fn_unref(f);
    return g;
}

/* ---- without effects ---------------------------------------------------------------- */

tn_fn *tn_i_quiet(const tn_fn *f) {
    tn_i_memo memo;
    tn_i_memo_init(&memo, f->ctx);
    tn_fn *g = rebuild(f, f->out, f->nout, NULL, true, &memo);
    tn_i_memo_free(&memo);
    return g;
}

/* A program of e alone, with the outputs that are used. */
static tn_fn *alone(const tn_fn *f, const tn_i_eqn *e, const bool *used) {
    tn_ctx *c = f->ctx;
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    b.named_after = f;
    b.regions = f->regions;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(c, e->nout, sizeof *out);
    uint32_t n = 0;
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < e->nin && !b.failed; i++) {
        const tn_i_var v = tn_i_in(f, e)[i];
        if (map[v] == TN_NOVAR && !tn_i_is_literal(f, v)) map[v] = tn_i_input(&b, f->val[v].type, false);
    }
    if (!b.failed) tn_i_copy_eqn(&b, f, e, map);
    for (uint32_t j = 0; j < e->nout && !b.failed; j++)
        if (used[j]) out[n++] = map[e->out + j];
    tn_fn *g = tn_i_finish(&b, n, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(c, out, e->nout * sizeof *out);
    return g;
}

bool tn_i_quiet_outputs(const tn_fn *f, const tn_i_eqn *e, const bool *used, tn_i_memo *memo, const tn_i_loc **loud) {
    *loud = NULL;
    if (!has_effect(e)) return true;
    tn_fn *one = alone(f, e, used), *g = one ? rebuild(one, one->out, one->nout, NULL, true, memo) : NULL;
    const bool ok = g != NULL;
    if (ok && g->effect) *loud = tn_i_effect_loc(g);
    tn_i_fn_unref(one);
    tn_i_fn_unref(g);
    return ok;
}

/* The first program of e that has an effect, or NULL. */
static const tn_fn *effect_within(const tn_i_eqn *e) {
    for (uint32_t k = 0; e->params && k < e->params->n; k++) {
        const tn_fn *const *f;
        const uint32_t n = tn_i_programs(&e->params->v[k], &f);
        for (uint32_t j = 0; j < n; j++)
            if (f[j]->effect) return f[j];
    }
    return NULL;
}

const tn_i_loc *tn_i_effect_loc(const tn_fn *f) {
    const tn_i_loc *loc = NULL;
    for (uint32_t i = 0; f && i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!has_effect(e)) continue;
        loc = e->loc;
        f = effect_within(e);
        i = UINT32_MAX; /* from its beginning */
    }
    return loc;
}
