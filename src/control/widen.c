/* Equation by equation: operands of a held dtype are converted in front of what computes with them, and its results back
 * behind it; what only moves elements, or runs a program with them, has them as they are. */
#include "control/widen.h"
#include "ir/memo.h"
#include "prims/held.h"

static const char kind;

typedef struct copy {
    tn_i_memo *memo;
    const tn_fn *f;
    tn_i_builder b;
    tn_i_var *map;
} copy;

static bool has_held(const tn_fn *f, const tn_i_eqn *e) {
    bool held = false;
    for (uint32_t i = 0; i < e->nin; i++) held |= tn_i_is_held(f->val[tn_i_in(f, e)[i]].type->dtype);
    for (uint32_t j = 0; j < e->nout; j++) held |= tn_i_is_held(f->val[e->out + j].type->dtype);
    return held;
}

/* ---- nested programs ---- */

static tn_fn *widened(tn_i_memo *memo, const tn_fn *f);

/* Of the memo. */
static const tn_fn *within(copy *k, const tn_fn *f) {
    if (!f->held) return f;
    const tn_i_memo_entry *e = tn_i_memo_find(k->memo, &kind, f, NULL, 0);
    if (e) return e->result[0];
    tn_fn *g = widened(k->memo, f);
    e = g ? tn_i_memo_add(k->memo, &kind, f, NULL, 0, g, NULL, NULL, 0) : NULL;
    return e ? e->result[0] : NULL;
}

static uint32_t programs_of(const tn_i_eqn *e) {
    const tn_fn *const *g;
    uint32_t n = 0;
    for (uint32_t i = 0; e->params && i < e->params->n; i++) n += tn_i_programs(&e->params->v[i], &g);
    return n;
}

/* e's parameters; list: room for its programs. */
static bool params_within(copy *k, const tn_i_eqn *e, tn_i_param *p, const tn_fn **list) {
    for (uint32_t i = 0; e->params && i < e->params->n; i++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[i], &g);
        const tn_fn **first = list;
        p[i] = e->params->v[i];
        for (uint32_t j = 0; j < n; j++)
            if ((*list++ = within(k, g[j])) == NULL) return false;
        if (p[i].kind == TN_K_FN && n) p[i].u.fn = *first;
        if (p[i].kind == TN_K_FNS) p[i].u.fns = first;
    }
    return true;
}

/* ---- equations ---- */

/* What has rules of the user's runs its program, whose derivative nobody asks for any more. */
static void inlined(copy *k, const tn_fn *body, const tn_i_var *in, tn_i_var *out) {
    const tn_fn *g = within(k, body);
    if (g)
        tn_i_inline(&k->b, g, in, out);
    else
        k->b.failed = true;
}

static void emitted(copy *k, const tn_i_eqn *e, const tn_i_param *p, tn_i_var *in, tn_i_var *out,
                    const tn_type **type) {
    tn_i_rule r = {.b = &k->b, .f = k->f, .e = e, .p = p, .nin = e->nin, .nout = e->nout, .in = in};
    for (uint32_t i = 0; i < e->nin; i++) type[i] = k->f->val[tn_i_in(k->f, e)[i]].type;
    for (uint32_t j = 0; j < e->nout; j++) type[e->nin + j] = k->f->val[e->out + j].type;
    r.in_type = type;
    r.out_type = type + e->nin;
    tn_i_held_equation(&r, e->prim, out);
}

static void rewritten(copy *k, const tn_i_eqn *e) {
    tn_i_builder *b = &k->b;
    tn_i_param p[TN_MAX_PARAMS];
    const size_t n = (size_t)e->nin + e->nout + 1, nprograms = programs_of(e);
    tn_i_var *in = tn_i_alloc_array(b->ctx, n, sizeof *in), *out = in + e->nin;
    const tn_type **type = tn_i_alloc_array(b->ctx, n, sizeof *type);
    const tn_fn **list = tn_i_alloc_array(b->ctx, nprograms, sizeof *list);
    if (!in || !type || !list) b->failed = true;
    for (uint32_t i = 0; i < e->nin && !b->failed; i++) in[i] = k->map[tn_i_in(k->f, e)[i]];
    if (!b->failed && e->prim->flags & TN_F_RULES && e->prim->body)
        inlined(k, tn_i_p(e)[e->prim->body - 1].u.fn, in, out);
    else if (!b->failed && params_within(k, e, p, list))
        emitted(k, e, p, in, out, type);
    else
        b->failed = true;
    for (uint32_t j = 0; j < e->nout && !b->failed; j++) k->map[e->out + j] = out[j];
    tn_i_free(b->ctx, in, n * sizeof *in);
    tn_i_free(b->ctx, (void *)type, n * sizeof *type);
    tn_i_free(b->ctx, (void *)list, nprograms * sizeof *list);
}

static bool nests_held(const tn_i_eqn *e) {
    bool held = false;
    for (uint32_t i = 0; e->params && i < e->params->n; i++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[i], &g);
        for (uint32_t j = 0; j < n; j++) held |= g[j]->held;
    }
    return held;
}

/* Literals, where they are first read. */
static void literals(copy *k, uint32_t n, const tn_i_var *v) {
    for (uint32_t i = 0; i < n; i++) {
        const tn_i_val *x = &k->f->val[v[i]];
        if (k->map[v[i]] == TN_NOVAR && x->def == TN_DEF_LITERAL)
            k->map[v[i]] = tn_i_literal(&k->b, x->type->dtype, x->bits);
    }
}

static void step(copy *k, const tn_i_eqn *e) {
    k->b.loc = e->loc;
    k->b.region = e->region;
    k->b.linear = e->linear;
    literals(k, e->nin, tn_i_in(k->f, e));
    if (has_held(k->f, e) || nests_held(e))
        rewritten(k, e);
    else
        tn_i_copy_eqn(&k->b, k->f, e, k->map);
}

/* ---- programs ---- */

static tn_fn *widened(tn_i_memo *memo, const tn_fn *f) {
    copy k = {.memo = memo, .f = f, .map = tn_i_map_new(f)};
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&k.b, f->ctx);
    k.b.named_after = f;
    k.b.regions = f->regions;
    k.b.forget = true;
    if (!k.map || !out) k.b.failed = true;
    for (uint32_t i = 0; i < f->nin && !k.b.failed; i++) k.map[i] = tn_i_input(&k.b, f->val[i].type, false);
    for (uint32_t i = 0; i < f->neqn && !k.b.failed; i++) step(&k, &f->eqn[i]);
    k.b.region = 0;
    literals(&k, f->nout, f->out);
    for (uint32_t j = 0; j < f->nout && !k.b.failed; j++) out[j] = k.map[f->out[j]];
    tn_fn *g = tn_i_finish(&k.b, f->nout, out);
    if (k.map) tn_i_map_free(f, k.map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_widened(const tn_fn *f) {
    tn_i_memo memo;
    if (!f->held) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_memo_init(&memo, f->ctx);
    tn_fn *g = widened(&memo, f);
    tn_i_memo_free(&memo);
    return g;
}
