/* requires: a finished program;
 * ensures: the same program, in which each equation of a linear program has its primitive's strict form; or in which
 * nothing is offloaded; or in which sums and differences with a product in them are fmas; or which has other equations
 * for those that are no kernel's.
 *
 * Of two products that is which takes the other as its term that waits longer for its operands: in the body of a loop
 * the one with more equations between what is carried and it.  So a step of c = a c + b x waits for one operation, not
 * for two. */
#include "ir/memo.h"
#include "prims/prim.h"

static const char strict_kind, in_memory_kind, contracted_kind, here_kind, expanded_kind; /* which form is made */

/* Contracted, with nested programs or (here_kind) without. */
static bool contracts(const char *form) { return form == &contracted_kind || form == &here_kind; }

/* Of each input of a program whether steps of a loop wait for it; NULL: none do. */
static const tn_fn *nested(const tn_fn *f, const char *form, tn_i_memo *memo, const uint8_t *carried);

static uint32_t listed(const tn_i_eqn *e) {
    uint32_t n = 0;
    for (uint32_t k = 0; e->params && k < e->params->n; k++)
        n += e->params->v[k].kind == TN_K_FNS ? e->params->v[k].n : 0;
    return n;
}

/* Whether input i of e's program `body` is carried from step to step: another value in each, of its operand's type. */
static bool is_carried(const tn_fn *f, const tn_i_eqn *e, const tn_fn *body, uint32_t i) {
    const uint32_t operand =
        e->nin - body->nin + i; /* what stands before has no input, and a step's number no operand */
    return e->prim->outside && e->prim->outside(e, i) == TN_NOVAR && operand < e->nin &&
           f->val[tn_i_in(f, e)[operand]].type == body->val[i].type;
}

static const tn_fn *nested_body(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, const tn_fn *body, const char *form,
                                tn_i_memo *memo) {
    uint8_t *carried = tn_i_alloc(b->ctx, body->nin);
    bool any = false;
    if (!carried) return NULL;
    for (uint32_t i = 0; i < body->nin && contracts(form); i++) any |= carried[i] = is_carried(f, e, body, i);
    const tn_fn *g = nested(body, form, memo, any ? carried : NULL);
    tn_i_free(b->ctx, carried, body->nin);
    return g;
}

/* The programs that e runs; the lists among them are in what is returned, listed(e) programs to be released. */
static const tn_fn **programs(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_param *p, const char *form,
                              tn_i_memo *memo) {
    const tn_fn **list = tn_i_alloc_array(b->ctx, listed(e), sizeof *list);
    uint32_t n = 0;
    if (!list) b->failed = true;
    for (uint32_t k = 0; e->params && k < e->params->n && !b->failed && form != &here_kind; k++) {
        if (p[k].kind == TN_K_FN && (e->prim->body == (int)k + 1 || e->prim->flags & TN_F_LOOP)) {
            if ((p[k].u.fn = nested_body(b, f, e, p[k].u.fn, form, memo)) == NULL) b->failed = true;
        } else if (p[k].kind == TN_K_FNS) {
            const tn_fn *const *from = p[k].u.fns;
            p[k].u.fns = list + n;
            for (uint32_t i = 0; i < p[k].n && !b->failed; i++)
                if ((list[n++] = nested(from[i], form, memo, NULL)) == NULL) b->failed = true;
        }
    }
    return list;
}

/* v, or, where it is a sum with a product in it, the fma: of the linear program where the sum or a product was.  late:
 * an operand that waits for what is carried. */
static tn_i_var contracted(tn_i_builder *b, tn_i_var v, tn_i_var late) {
    enum { MOST = 2 };
    const tn_i_eqn *e = b->failed ? NULL : tn_i_def(b, v);
    if (!e || !e->prim->contract || e->nin > MOST || e->region != b->region) return v;
    tn_i_var in[MOST];
    b->linear = e->linear;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_eqn *made = tn_i_def(b, in[i] = b->pool[e->in + i]);
        b->linear |= made && made->linear;
    }
    const tn_i_var once = e->prim->contract(b, in, e->nin == MOST && in[1] == late);
    return once == TN_NOVAR ? v : once;
}

/* The operand that waits longest for what is carried, the first of such, or TN_NOVAR; waits: how many equations are in
 * a row between what is carried and each value, 0: none of it. */
static tn_i_var waiting(const tn_fn *f, const tn_i_eqn *e, const uint32_t *waits) {
    tn_i_var v = TN_NOVAR;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var x = tn_i_in(f, e)[i];
        if (waits[x] && (v == TN_NOVAR || waits[x] > waits[v])) v = x;
    }
    return v;
}

/* Other equations in the place of e. */
static void expand(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const size_t n = 2 * ((size_t)e->nin + e->nout);
    tn_i_var *in = tn_i_alloc_array(b->ctx, n, sizeof *in), *out = in + e->nin;
    const tn_type **type = tn_i_alloc_array(b->ctx, n, sizeof *type);
    b->loc = e->loc;
    b->region = e->region;
    b->linear = e->linear;
    if (!in || !type) b->failed = true;
    for (uint32_t i = 0; i < e->nin && !b->failed; i++) {
        in[i] = tn_i_mapped(b, f, map, tn_i_in(f, e)[i]);
        type[i] = f->val[tn_i_in(f, e)[i]].type;
    }
    for (uint32_t j = 0; j < e->nout && !b->failed; j++) type[e->nin + j] = f->val[e->out + j].type;
    tn_i_rule r = {.b = b, .f = f, .e = e, .p = tn_i_p(e), .nin = e->nin, .nout = e->nout, .in = in, .in_type = type};
    r.out_type = type + e->nin;
    if (!b->failed) e->prim->expand(&r, out);
    for (uint32_t j = 0; j < e->nout && !b->failed; j++) map[e->out + j] = out[j];
    tn_i_free(b->ctx, in, n * sizeof *in);
    tn_i_free(b->ctx, (void *)type, n * sizeof *type);
}

static void step(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, uint32_t *waits, const char *form,
                 tn_i_memo *memo) {
    tn_i_param p[TN_MAX_PARAMS];
    const tn_prim *prim = e->prim;
    if (form == &expanded_kind && prim->expand) {
        expand(b, f, e, map);
        return;
    }
    if (form == &in_memory_kind && prim->flags & TN_F_OFFLOAD) {
        map[e->out] = tn_i_mapped(b, f, map, tn_i_in(f, e)[0]);
        return;
    }
    if (form == &strict_kind && prim->strict && tn_i_of_linear(f, e)) prim = tn_i_prim(b, prim->strict - 1);
    for (uint32_t k = 0; e->params && k < e->params->n; k++) p[k] = e->params->v[k];
    const tn_fn **lists = programs(b, f, e, p, form, memo);
    tn_i_var *in = tn_i_alloc_array(b->ctx, e->nin, sizeof *in);
    if (!in) b->failed = true;
    for (uint32_t i = 0; i < e->nin && !b->failed; i++) in[i] = tn_i_mapped(b, f, map, tn_i_in(f, e)[i]);
    b->loc = e->loc;
    b->region = e->region;
    b->linear = e->linear;
    tn_i_var out = b->failed ? TN_NOVAR : tn_i_emit(b, prim, p, e->nin, in);
    const tn_i_var late = waiting(f, e, waits);
    for (uint32_t j = 0; j < e->nout; j++) waits[e->out + j] = late != TN_NOVAR ? waits[late] + 1 : 0;
    if (contracts(form) && e->nout == 1)
        out = contracted(b, out, late == TN_NOVAR ? TN_NOVAR : tn_i_mapped(b, f, map, late));
    for (uint32_t j = 0; j < e->nout && out != TN_NOVAR; j++) map[e->out + j] = out + j;
    tn_i_free(b->ctx, (void *)lists, listed(e) * sizeof *lists);
    tn_i_free(b->ctx, in, e->nin * sizeof *in);
}

/* Whether a program without nested ones stays as it is. */
static bool nothing_to_do(const tn_fn *f, const char *form) {
    if (form == &expanded_kind) return !f->expands;
    if (!contracts(form) || (f->depth > 1 && form != &here_kind)) return false;
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].prim->contract && tn_i_is_float(f->val[f->eqn[i].out].type->dtype)) return false;
    return true;
}

static tn_fn *rebuild(const tn_fn *f, const char *form, tn_i_memo *memo, const uint8_t *carried) {
    if (nothing_to_do(f, form)) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.raw = !contracts(form) &&
            form != &expanded_kind; /* a program as it was parsed may hold x + -(y*z) where derivatives have a sub */
    b.regions = f->regions;
    b.mixed = f->mixed;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    uint32_t *waits = tn_i_alloc_array(f->ctx, f->nval, sizeof *waits);
    if (!map || !out || !waits) b.failed = true;
    for (uint32_t i = 0; i < f->nin && carried && waits; i++) waits[i] = carried[i];
    for (uint32_t i = 0; i < f->nin && !b.failed; i++)
        map[i] = tn_i_input(&b, f->val[i].type, (f->mixed || f->nlin) && f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) step(&b, f, &f->eqn[i], map, waits, form, memo);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, waits, f->nval * sizeof *waits);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

/* The memo holds what it returns. */
static const tn_fn *nested(const tn_fn *f, const char *form, tn_i_memo *memo, const uint8_t *carried) {
    const size_t n = carried ? f->nin : 0;
    const tn_i_memo_entry *e = tn_i_memo_find(memo, form, f, carried, n);
    if (e) return e->result[0];
    tn_fn *g = rebuild(f, form, memo, carried);
    if (!g) return NULL;
    e = tn_i_memo_add(memo, form, f, carried, n, g, NULL, NULL, 0);
    return e ? e->result[0] : NULL;
}

static tn_fn *made(const tn_fn *f, const char *form) {
    tn_i_memo memo;
    tn_i_memo_init(&memo, f->ctx);
    tn_fn *g = rebuild(f, form, &memo, NULL);
    tn_i_memo_free(&memo);
    return g;
}

tn_fn *tn_i_strict(const tn_fn *f) { return made(f, &strict_kind); }
tn_fn *tn_i_expanded(const tn_fn *f) { return made(f, &expanded_kind); }
tn_fn *tn_i_in_memory(const tn_fn *f) { return made(f, &in_memory_kind); }
static tn_fn *contracted_as(const tn_fn *f, const char *form) {
    return f->ctx->contract ? made(f, form) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}

tn_fn *tn_i_contracted(const tn_fn *f) { return contracted_as(f, &contracted_kind); }
tn_fn *tn_i_contracted_here(const tn_fn *f) { return contracted_as(f, &here_kind); }
