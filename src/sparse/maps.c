/* Loops that carry nothing are maps: all their steps at once are a batch, and derivatives of them are those of blocks,
 * whoever wrote them as a loop. */
#include "control/loops/loop.h"
#include "control/nested.h"
#include "ir/seen.h"
#include "prims/arrays/shape.h"
#include "sparse/maps.h"
#include "vmap/vmap.h"

static const char kind;

/* f has batches: they have an axis more, at any depth. */
static bool has_batches(const tn_fn *f) {
    const tn_fn *const *g;
    for (uint32_t v = 0; v < f->nval; v++)
        if (f->val[v].type->rank >= TN_MAX_RANK) return false;
    for (uint32_t k = 0; k < f->neqn; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        if (!e->prim->batch && !(e->prim->flags & TN_F_ELEMENTWISE)) return false;
        for (uint32_t i = 0; e->params && i < e->params->n; i++)
            for (uint32_t n = tn_i_programs(&e->params->v[i], &g); n-- > 0;)
                if (!has_batches(g[n])) return false;
    }
    return true;
}

/* A loop of some steps that carries nothing, and does not say how it wants to run. */
static bool map_of(const tn_i_eqn *e, tn_i_loop_eqn *l) {
    if (!e->prim->inside) return false;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, l);
    return !l->is_while && !l->counted && l->length > 0 && l->ncarry == 0 && !l->schedule && !l->body->effect;
}

static bool is_map(const tn_i_eqn *e) {
    tn_i_loop_eqn l;
    return map_of(e, &l);
}

static tn_fn *rebuild(const tn_fn *f, tn_i_memo *memo);

/* A nested program without maps; the memo holds it. */
static const tn_fn *nested(tn_i_builder *b, const tn_fn *f, tn_i_memo *memo) {
    const tn_i_memo_entry *e = tn_i_memo_find(memo, &kind, f, NULL, 0);
    tn_fn *g = e ? NULL : rebuild(f, memo);
    if (g) e = tn_i_memo_add(memo, &kind, f, NULL, 0, g, NULL, NULL, 0);
    if (!e) b->failed = true;
    return e ? e->result[0] : NULL;
}

/* A call of the batch; the number of a step is one of 0, 1, .. */
static tn_i_var batched(tn_i_builder *b, const tn_i_loop_eqn *l, const tn_fn *body, tn_i_var *in) {
    bool *is = tn_i_alloc_array(b->ctx, (size_t)body->nin + 1, sizeof *is);
    if (!is) b->failed = true;
    if (is && l->index) {
        in[0] = tn_i_iota(b, TN_I64, 1, &l->length, 0);
        is[0] = true;
    }
    for (uint32_t k = 0; is && k < l->nx; k++) is[l->index + l->nconst + k] = true;
    tn_fn *all = b->failed ? NULL : tn_i_vmap(body, l->length, is, true, NULL, NULL);
    const tn_i_var v = all ? tn_i_called(b, all, in) : TN_NOVAR;
    if (!all) b->failed = true;
    tn_i_fn_unref(all);
    if (is) tn_i_free(b->ctx, is, ((size_t)body->nin + 1) * sizeof *is);
    return v;
}

/* The same equation, with the programs that it runs rebuilt. */
static tn_i_var same(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in, tn_i_memo *memo) {
    tn_i_param p[TN_MAX_PARAMS];
    const tn_fn **list = NULL;
    uint32_t n = 0, at = 0;
    for (uint32_t k = 0; e->params && k < e->params->n; k++)
        n += e->params->v[k].kind == TN_K_FNS ? e->params->v[k].n : 0;
    if (n && !(list = tn_i_alloc_array(b->ctx, n, sizeof *list))) b->failed = true;
    for (uint32_t k = 0; e->params && k < e->params->n && !b->failed; k++) {
        p[k] = e->params->v[k];
        if (p[k].kind == TN_K_FN && (e->prim->body == (int)k + 1 || e->prim->flags & TN_F_LOOP))
            p[k].u.fn = nested(b, p[k].u.fn, memo);
        if (p[k].kind != TN_K_FNS) continue;
        p[k].u.fns = list + at;
        for (uint32_t i = 0; i < p[k].n; i++) list[at++] = nested(b, e->params->v[k].u.fns[i], memo);
    }
    const tn_i_var v = b->failed ? TN_NOVAR : tn_i_emit(b, e->prim, p, e->nin, in);
    if (list) tn_i_free(b->ctx, (void *)list, n * sizeof *list);
    return v;
}

static void step(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, tn_i_memo *memo) {
    tn_i_var *in = tn_i_alloc_array(b->ctx, (size_t)e->nin + 1, sizeof *in), v = TN_NOVAR;
    if (!in) b->failed = true;
    for (uint32_t i = 0; i < e->nin && !b->failed; i++) in[i + 1] = tn_i_mapped(b, f, map, tn_i_in(f, e)[i]);
    tn_i_loop_eqn l;
    b->loc = e->loc;
    b->region = e->region;
    b->linear = e->linear;
    const tn_fn *body = !b->failed && map_of(e, &l) ? nested(b, l.body, memo) : NULL;
    if (body && has_batches(body))
        v = batched(b, &l, body, in + !l.index);
    else if (!b->failed)
        v = same(b, e, in + 1, memo);
    for (uint32_t j = 0; j < e->nout && v != TN_NOVAR; j++) map[e->out + j] = v + j;
    if (in) tn_i_free(b->ctx, in, ((size_t)e->nin + 1) * sizeof *in);
}

static tn_fn *rebuild(const tn_fn *f, tn_i_memo *memo) {
    bool some;
    if (!tn_i_any_equation(f, is_map, &some)) return NULL;
    if (!some) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++)
        map[i] = tn_i_input(&b, f->val[i].type, (f->mixed || f->nlin) && f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) step(&b, f, &f->eqn[i], map, memo);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = out ? tn_i_finish(&b, f->nout, out) : (tn_i_builder_drop(&b), NULL);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_maps_opened(const tn_fn *f) {
    tn_i_memo memo;
    tn_i_memo_init(&memo, f->ctx);
    tn_fn *g = rebuild(f, &memo);
    tn_i_memo_free(&memo);
    return g;
}
