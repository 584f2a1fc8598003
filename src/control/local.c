/* requires: a program that is about to run, so that nobody derives it any more;
 * ensures: as control/local.h says.
 *
 * What users' rules are for is over by then: equations with such rules become calls, so that programs that no rank will
 * run need not be rewritten with them. */
#include "control/local.h"

#include "control/overlap.h"

#include "linearize/prune.h"
#include "prims/ids.h"

typedef struct copy {
    tn_i_memo *memo;
    const tn_fn *f;
    tn_i_builder b;
    tn_i_var *map;
} copy;

static const char kind;

/* Of the memo. */
static const tn_fn *localized(tn_i_memo *memo, const tn_fn *f);

static const tn_type *unmarked(tn_ctx *c, const tn_type *t) {
    tn_type plain = *t;
    plain.varying = NULL;
    return t->varying ? tn_i_type(c, &plain) : t;
}

/* ---- equations ---------------------------------------------------------------------- */

/* Room for the lists of one equation's parameters. */
typedef struct room {
    const tn_fn **programs;
    const tn_type **types;
    uint32_t nprograms, ntypes;
} room;

static void count(const tn_i_eqn *e, room *r) {
    const tn_fn *const *g;
    for (uint32_t i = 0; e->params && i < e->params->n; i++) {
        r->nprograms += tn_i_programs(&e->params->v[i], &g);
        if (e->params->v[i].kind == TN_K_TYPES) r->ntypes += e->params->v[i].n;
    }
}

/* Parameter p with its programs rewritten and its types without marks. */
static bool rewrite(copy *k, tn_i_param *p, const tn_fn ***programs, const tn_type ***types) {
    const tn_fn *const *g;
    const uint32_t n = tn_i_programs(p, &g);
    const tn_fn **first = *programs;
    const tn_type **type = *types;
    for (uint32_t j = 0; j < n; j++, ++*programs)
        if ((**programs = localized(k->memo, g[j])) == NULL) return false;
    if (p->kind == TN_K_FN && n) p->u.fn = *first;
    if (p->kind == TN_K_FNS) p->u.fns = first;
    if (p->kind != TN_K_TYPES) return true;
    for (uint32_t j = 0; j < p->n; j++, ++*types)
        if ((**types = unmarked(k->f->ctx, p->u.types[j])) == NULL) return false;
    p->u.types = type;
    return true;
}

static void set(copy *k, const tn_i_eqn *e, tn_i_var first) {
    for (uint32_t j = 0; j < e->nout && first != TN_NOVAR; j++) k->map[e->out + j] = first + j;
}

/* An equation with a user's rule: it calls what computes it. */
static void put_call(copy *k, const tn_i_eqn *e, const tn_i_var *in) {
    const tn_fn *g = localized(k->memo, tn_i_p(e)[e->prim->body - 1].u.fn);
    if (!g) {
        k->b.failed = true;
        return;
    }
    const tn_i_param p[] = {{.kind = TN_K_STR, .u.str = g->name}, {.kind = TN_K_FN, .u.fn = g}};
    set(k, e, tn_i_emit(&k->b, tn_i_prim(&k->b, TN_P_call), p, e->nin, in));
}

static void put_rewritten(copy *k, const tn_i_eqn *e, const tn_i_var *in, room *r) {
    tn_i_param p[TN_MAX_PARAMS];
    const tn_fn **programs = r->programs;
    const tn_type **types = r->types;
    bool ok = true;
    for (uint32_t i = 0; i < e->params->n && ok; i++) {
        p[i] = e->params->v[i];
        ok = rewrite(k, &p[i], &programs, &types);
    }
    if (ok)
        set(k, e, tn_i_emit(&k->b, e->prim, p, e->nin, in));
    else
        k->b.failed = true;
}

static void put(copy *k, const tn_i_eqn *e, const tn_i_var *in) {
    tn_ctx *c = k->f->ctx;
    room r = {0};
    count(e, &r);
    r.programs = tn_i_alloc_array(c, r.nprograms, sizeof *r.programs);
    r.types = tn_i_alloc_array(c, r.ntypes, sizeof *r.types);
    if (!r.programs || !r.types)
        k->b.failed = true;
    else if (e->prim->local) {
        const tn_i_var v = e->prim->local(&k->b, e, in);
        if (e->nout) k->map[e->out] = v;
    } else if (e->prim->flags & TN_F_RULES && e->prim->body)
        put_call(k, e, in);
    else if (r.nprograms + r.ntypes)
        put_rewritten(k, e, in, &r);
    else
        set(k, e, tn_i_emit_like(&k->b, e, in));
    tn_i_free(c, (void *)r.programs, r.nprograms * sizeof *r.programs);
    tn_i_free(c, (void *)r.types, r.ntypes * sizeof *r.types);
}

static void step(copy *k, const tn_i_eqn *e) {
    tn_ctx *c = k->f->ctx;
    tn_i_var *in = tn_i_alloc_array(c, e->nin, sizeof *in);
    if (!in) k->b.failed = true;
    for (uint32_t i = 0; i < e->nin && !k->b.failed; i++) in[i] = tn_i_mapped(&k->b, k->f, k->map, tn_i_in(k->f, e)[i]);
    k->b.loc = e->loc;
    k->b.region = e->region;
    k->b.linear = tn_i_of_linear(k->f, e);
    if (!k->b.failed) put(k, e, in);
    tn_i_free(c, in, e->nin * sizeof *in);
}

/* ---- programs -------------------------------------------------------------------------- */

/* What an output or an effect needs. */
static void find_live(const tn_fn *f, uint8_t *live) {
    for (uint32_t j = 0; j < f->nout; j++) live[f->out[j]] = 1;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool any = e->prim->effect && e->prim->effect(tn_i_p(e));
        for (uint32_t j = 0; j < e->nout; j++) any |= live[e->out + j];
        for (uint32_t j = 0; j < e->nout && any; j++) live[e->out + j] = 1;
        for (uint32_t j = 0; j < e->nin && any; j++) live[tn_i_in(f, e)[j]] = 1;
    }
}

static void walk(copy *k, uint8_t *live, tn_i_var *out) {
    const tn_fn *f = k->f;
    find_live(f, live);
    for (uint32_t i = 0; i < f->nin && !k->b.failed; i++) {
        const tn_type *t = unmarked(f->ctx, f->val[i].type);
        if (t)
            k->map[i] = tn_i_input(&k->b, t, false);
        else
            k->b.failed = true;
    }
    for (uint32_t i = 0; i < f->neqn && !k->b.failed; i++)
        if (f->eqn[i].nout == 0 || live[f->eqn[i].out]) step(k, &f->eqn[i]);
    k->b.region = 0;
    for (uint32_t j = 0; j < f->nout && !k->b.failed; j++) out[j] = tn_i_mapped(&k->b, f, k->map, f->out[j]);
}

/* Linear inputs are ordinary ones: equations remember what they came out of. */
static tn_fn *rebuilt(tn_i_memo *memo, const tn_fn *f) {
    copy k = {.memo = memo, .f = f, .map = tn_i_map_new(f)};
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    uint8_t *live = tn_i_alloc(f->ctx, f->nval);
    tn_i_builder_init(&k.b, f->ctx);
    k.b.named_after = f;
    k.b.regions = f->regions;
    if (k.map && out && live)
        walk(&k, live, out);
    else
        k.b.failed = true;
    tn_fn *g = tn_i_overlapped(tn_i_finish(&k.b, f->nout, out));
    if (k.map) tn_i_map_free(f, k.map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    tn_i_free(f->ctx, live, f->nval);
    return g;
}

static tn_fn *reference(const tn_fn *f) { return (tn_fn *)(uintptr_t)tn_i_fn_ref(f); }

static const tn_fn *localized(tn_i_memo *memo, const tn_fn *f) {
    const tn_i_memo_entry *e = tn_i_memo_find(memo, &kind, f, NULL, 0);
    if (e) return e->result[0];
    tn_fn *g = f->varies || f->comm ? rebuilt(memo, f) : reference(f);
    e = g ? tn_i_memo_add(memo, &kind, f, NULL, 0, g, NULL, NULL, 0) : NULL;
    return e ? e->result[0] : NULL;
}

tn_fn *tn_i_local(const tn_fn *f) {
    if (!f->varies && !f->comm) return reference(f);
    tn_fn *used = tn_i_prune(reference(f));
    if (!used) return NULL;
    tn_i_memo memo;
    tn_i_memo_init(&memo, f->ctx);
    const tn_fn *g = localized(&memo, used);
    tn_fn *own = g ? reference(g) : NULL;
    tn_i_memo_free(&memo);
    tn_i_fn_unref(used);
    return own;
}
