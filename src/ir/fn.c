/* Finished programs: freezing a builder, lifetime, equality, and walking one into a builder. */
#include "ir/params.h"
#include "prims/prim.h"

#include <stdlib.h>
#include <string.h>

/* ---- lifetime --------------------------------------------------------------- */

/* Heads of programs come from the context and go back to it, so that one that was freed can be told: the head that was
 * freed first is the next to be used.  Where more programs live at once, the others' heads are gone with them. */
enum { HEADS = TN_I_HEADS / sizeof(tn_fn) };

static void retire(tn_ctx *c, tn_fn *f) {
    *f = (tn_fn){.ctx = c, .name = ""};
    if (c->newest)
        c->newest->next = f;
    else
        c->dead = f;
    c->newest = f;
}

static tn_fn *new_head(tn_ctx *c) {
    for (size_t i = 0; !c->used && i < HEADS; i++) retire(c, (tn_fn *)c->heads + i);
    c->used = true;
    tn_fn *f = c->dead;
    if (!f) return tn_i_alloc(c, sizeof *f);
    c->dead = f->next;
    if (!c->dead) c->newest = NULL;
    return f;
}

bool tn_i_living(const tn_fn *f) {
    if (!f || f->refs) return f != NULL;
    (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "the program was freed (tn_fn_free)");
    return false;
}

static void fn_free(tn_fn *f) {
    tn_ctx *c = f->ctx;
    if (f->note.data) f->note.drop(f->note.data);
    for (uint32_t i = 0; i < f->neqn; i++) tn_i_params_unref(c, f->eqn[i].params);
    tn_i_free(c, f->val, f->nval * sizeof *f->val);
    tn_i_free(c, f->eqn, f->neqn * sizeof *f->eqn);
    tn_i_free(c, f->pool, f->npool * sizeof *f->pool);
    tn_i_free(c, f->out, f->nout * sizeof *f->out);
    if (f->prev)
        f->prev->next = f->next;
    else if (c->fns == f)
        c->fns = f->next;
    if (f->next) f->next->prev = f->prev;
    const uintptr_t at = (uintptr_t)f, first = (uintptr_t)c->heads;
    if (at >= first && at < first + TN_I_HEADS)
        retire(c, f);
    else
        tn_i_free(c, f, sizeof *f);
}

const tn_fn *tn_i_fn_ref(const tn_fn *f) {
    ((tn_fn *)(uintptr_t)f)->refs++;
    return f;
}

void tn_i_fn_unref(const tn_fn *cf) {
    tn_fn *f = (tn_fn *)(uintptr_t)cf;
    if (f && --f->refs == 0) fn_free(f);
}

/* Nested programs are held by their holders: release the outermost until none is left. */
static void free_all(tn_ctx *c) {
    for (tn_fn *f = c->fns; f; f = f->next) f->refs++;
    while (c->fns) {
        tn_fn *f = c->fns;
        f->refs = 1;
        tn_i_fn_unref(f);
    }
    c->dead = c->newest = NULL;
}

static void link_fn(tn_ctx *c, tn_fn *f) {
    tn_i_on_teardown(c, free_all);
    f->next = c->fns;
    if (c->fns) c->fns->prev = f;
    c->fns = f;
}

/* ---- freezing ----------------------------------------------------------------- */

static void mark_live(const tn_i_builder *b, uint8_t *live_eqn, uint8_t *live_val, uint32_t nout, const tn_i_var *out) {
    for (uint32_t j = 0; j < nout; j++) live_val[out[j]] = 1;
    for (size_t i = b->neqn; i-- > 0;) {
        const tn_i_eqn *e = &b->eqn[i];
        bool live = b->raw || (e->prim->effect && e->prim->effect(tn_i_p(e)));
        for (uint32_t j = 0; j < e->nout; j++) live |= live_val[e->out + j];
        if (!live) continue;
        live_eqn[i] = 1;
        for (uint32_t j = 0; j < e->nout; j++) live_val[e->out + j] = 1;
        for (uint32_t j = 0; j < e->nin; j++) live_val[b->pool[e->in + j]] = 1;
    }
    for (uint32_t i = 0; i < b->nin; i++) live_val[i] = 1;
}

/* Gives v the next number, unless it has one. */
static void copy_value(const tn_i_builder *b, tn_fn *f, tn_i_var v, tn_i_var *to, const uint32_t *eqn_to, uint32_t *n) {
    if (to[v] != TN_NOVAR) return;
    to[v] = *n;
    f->val[*n] = b->val[v];
    f->varies |= b->val[v].type->varying != NULL;
    f->held |= tn_i_is_held(b->val[v].type->dtype);
    if (b->forget) f->val[*n].linear = 0;
    if (f->val[*n].def < TN_DEF_LITERAL) f->val[*n].def = eqn_to[f->val[*n].def];
    ++*n;
}

/* Copies live values, inputs first and literals where they are first read, as in the text: whatever made a program, one
 * of the same text is equal to it.  to[v] becomes the new number. */
static void copy_values(const tn_i_builder *b, tn_fn *f, const uint8_t *live, tn_i_var *to, const uint32_t *eqn_to,
                        const tn_i_var *out) {
    uint32_t n = 0;
    memset(to, 0xFF, b->nval * sizeof *to);
    for (tn_i_var v = 0; v < b->nin; v++) copy_value(b, f, v, to, eqn_to, &n);
    for (size_t i = 0; i < b->neqn; i++) {
        const tn_i_eqn *e = &b->eqn[i];
        if (!live[i]) continue;
        for (uint32_t j = 0; j < e->nin; j++) copy_value(b, f, b->pool[e->in + j], to, eqn_to, &n);
        for (uint32_t j = 0; j < e->nout; j++) copy_value(b, f, e->out + j, to, eqn_to, &n);
    }
    for (uint32_t j = 0; j < f->nout; j++) copy_value(b, f, out[j], to, eqn_to, &n);
}

uint32_t tn_i_speaks_over(const tn_i_eqn *e) {
    uint32_t k = 0;
    if (!(e->prim->flags & TN_F_COMM)) return 0;
    while (e->prim->params[k].kind != TN_K_AXES) k++;
    return (uint32_t)e->params->v[k].u.i;
}

bool tn_i_speaks(const tn_i_eqn *e) {
    bool any = (e->prim->flags & TN_F_COMM) != 0;
    for (uint32_t k = 0; e->params && k < e->params->n; k++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[k], &g);
        for (uint32_t j = 0; j < n; j++) any |= g[j]->comm != 0;
    }
    return any;
}

static void nested_facts(tn_fn *f, const tn_i_eqn *e) {
    const bool effect = e->prim->effect && e->prim->effect(tn_i_p(e));
    bool leaf = true;
    f->effect |= effect;
    f->rules |= (e->prim->flags & TN_F_RULES) != 0;
    f->expands |= e->prim->expand != NULL;
    f->comm |= tn_i_speaks_over(e);
    for (uint32_t k = 0; e->params && k < e->params->n; k++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[k], &g);
        leaf &= n == 0;
        f->varies |= e->params->v[k].kind == TN_K_AXES;
        for (uint32_t j = 0; j < n; j++) {
            if (g[j]->depth + 1 > f->depth) f->depth = g[j]->depth + 1;
            f->effect |= g[j]->effect;
            f->once |= g[j]->once;
            f->rules |= g[j]->rules;
            f->expands |= g[j]->expands;
            f->held |= g[j]->held;
            f->comm |= g[j]->comm;
            f->varies |= g[j]->varies;
        }
    }
    f->once |= leaf && effect && !(e->prim->flags & TN_F_COMM && e->nout);
}

/* Told by the operands where the program has linear inputs, else by a mark. */
static bool belongs_to_linear(const tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e) {
    const bool told = e->nout && b->val[e->out].linear;
    if (f->nlin) return e->linear && !told;
    return e->linear || (told && tn_i_strict_matters(b, e->prim, e->nin, b->pool + e->in));
}

static void copy_equations(tn_i_builder *b, tn_fn *f, const uint8_t *live, const tn_i_var *to) {
    uint32_t n = 0, at = 0;
    for (size_t i = 0; i < b->neqn; i++) {
        tn_i_eqn *e = &b->eqn[i];
        if (!live[i]) continue;
        tn_i_eqn *d = &f->eqn[n++];
        *d = *e;
        (void)tn_i_params_ref(d->params);
        d->in = at;
        d->out = e->nout ? to[e->out] : 0;
        d->linear = belongs_to_linear(b, f, e);
        for (uint32_t j = 0; j < e->nin; j++) f->pool[at++] = to[b->pool[e->in + j]];
        nested_facts(f, d);
    }
}

static uint64_t hash_fn(const tn_fn *f) {
    uint64_t h = tn_i_hash_u64(f->nin, (uint64_t)f->nlin << 32 | f->nout);
    for (uint32_t v = 0; v < f->nval; v++) {
        h = tn_i_hash_u64(h, (uint64_t)(uintptr_t)f->val[v].type);
        if (f->val[v].def == TN_DEF_LITERAL) h = tn_i_hash_u64(h, f->val[v].bits);
    }
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        h = tn_i_hash_u64(h, (uint64_t)e->linear << 63 | (uint64_t)e->prim->id << 32 | e->region);
        h = tn_i_hash_u64(h, e->params ? e->params->hash : 0);
    }
    h = tn_i_hash(h, f->pool, f->npool * sizeof *f->pool);
    return tn_i_hash(h, f->out, f->nout * sizeof *f->out);
}

static int by_number(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Regions are counted without gaps where there would be more of them than equations: each derivative at least doubles
 * the numbers, whatever is left of what they were for. */
static bool number_regions(tn_fn *f) {
    if (f->regions <= f->neqn || f->regions - f->neqn <= 1) return true;
    uint32_t *region = tn_i_alloc_array(f->ctx, (size_t)f->neqn + 1, sizeof *region), n = 1;
    if (!region) return false;
    for (uint32_t i = 0; i < f->neqn; i++) region[i + 1] = f->eqn[i].region;
    qsort(region, (size_t)f->neqn + 1, sizeof *region, by_number);
    for (uint32_t i = 1; i <= f->neqn; i++)
        if (region[i] != region[n - 1]) region[n++] = region[i];
    for (uint32_t i = 0; i < f->neqn; i++) {
        const uint32_t *at = bsearch(&f->eqn[i].region, region, n, sizeof *region, by_number);
        f->eqn[i].region = (uint32_t)(at - region);
    }
    f->regions = n;
    tn_i_free(f->ctx, region, ((size_t)f->neqn + 1) * sizeof *region);
    return true;
}

typedef struct freeze {
    uint8_t *live_eqn, *live_val;
    uint32_t *eqn_to;
    tn_i_var *to;
} freeze;

static bool freeze_alloc(tn_i_builder *b, freeze *z) {
    tn_ctx *c = b->ctx;
    *z = (freeze){.live_eqn = tn_i_alloc(c, b->neqn),
                  .live_val = tn_i_alloc(c, b->nval),
                  .eqn_to = tn_i_alloc_array(c, b->neqn, sizeof *z->eqn_to),
                  .to = tn_i_alloc_array(c, b->nval, sizeof *z->to)};
    return z->live_eqn && z->live_val && z->eqn_to && z->to;
}

static void freeze_free(tn_i_builder *b, freeze *z) {
    tn_ctx *c = b->ctx;
    tn_i_free(c, z->live_eqn, b->neqn);
    tn_i_free(c, z->live_val, b->nval);
    tn_i_free(c, z->eqn_to, b->neqn * sizeof *z->eqn_to);
    tn_i_free(c, z->to, b->nval * sizeof *z->to);
}

static void count_live(const tn_i_builder *b, freeze *z, tn_fn *f) {
    for (size_t i = 0; i < b->neqn; i++)
        if (z->live_eqn[i]) {
            z->eqn_to[i] = f->neqn++;
            f->npool += b->eqn[i].nin;
        }
    for (size_t v = 0; v < b->nval; v++) f->nval += z->live_val[v];
}

static tn_fn *freeze_program(tn_i_builder *b, freeze *z, uint32_t nout, const tn_i_var *out) {
    tn_ctx *c = b->ctx;
    mark_live(b, z->live_eqn, z->live_val, nout, out);
    tn_fn *f = new_head(c);
    if (!f) return NULL;
    *f = (tn_fn){.ctx = c,
                 .refs = 1,
                 .nin = b->nin,
                 .nlin = b->mixed || b->forget ? 0 : b->nlin,
                 .depth = 1,
                 .regions = b->regions,
                 .mixed = b->mixed,
                 .name = "",
                 .loc = b->loc};
    link_fn(c, f);
    if (b->named_after) {
        f->name = b->named_after->name;
        f->loc = b->named_after->loc;
    }
    tn_fn n = *f;
    count_live(b, z, &n);
    f->val = tn_i_alloc_array(c, n.nval, sizeof *f->val);
    f->nval = f->val ? n.nval : 0;
    f->pool = tn_i_alloc_array(c, n.npool, sizeof *f->pool);
    f->npool = f->pool ? n.npool : 0;
    f->out = tn_i_alloc_array(c, nout, sizeof *f->out);
    f->nout = f->out ? nout : 0;
    f->eqn = tn_i_alloc_array(c, n.neqn, sizeof *f->eqn);
    if (!f->val || !f->pool || !f->out || !f->eqn) {
        tn_i_free(c, f->eqn, n.neqn * sizeof *f->eqn); /* its equations hold nothing yet */
        f->eqn = NULL;
        fn_free(f);
        return NULL;
    }
    f->neqn = n.neqn;
    copy_values(b, f, z->live_eqn, z->to, z->eqn_to, out);
    copy_equations(b, f, z->live_eqn, z->to);
    for (uint32_t j = 0; j < nout; j++) f->out[j] = z->to[out[j]];
    if (!b->raw && !number_regions(f)) {
        fn_free(f);
        return NULL;
    }
    f->hash = hash_fn(f);
    return f;
}

static tn_fn *accept(tn_fn *f) {
    if (f->depth > f->ctx->most_nesting) {
        (void)tn_i_fail(f->ctx, TN_ELIMIT, f->loc, "programs are nested deeper than %u%s",
                        (unsigned)f->ctx->most_nesting, tn_i_why_no_deeper(f->ctx));
        fn_free(f);
        return NULL;
    }
    if (f->ctx->check && !tn_i_check(f)) {
        fn_free(f);
        return NULL;
    }
    return f;
}

tn_fn *tn_i_finish(tn_i_builder *b, uint32_t nout, const tn_i_var *out) {
    tn_fn *f = NULL;
    for (uint32_t j = 0; j < nout && !b->failed; j++)
        if (out[j] == TN_NOVAR) tn_i_builder_fail(b, TN_EINVAL, "output %u is missing", (unsigned)j);
    freeze z = {0};
    if (!b->failed && freeze_alloc(b, &z)) f = freeze_program(b, &z, nout, out);
    freeze_free(b, &z);
    tn_i_builder_drop(b);
    return f ? accept(f) : NULL;
}

/* ---- equality ----------------------------------------------------------------- */

bool tn_i_eqn_same(const tn_i_eqn *x, const tn_i_eqn *y) {
    if (x->prim != y->prim || !x->params != !y->params) return false;
    return !x->params || tn_i_params_equal(x->params->v, y->params->v, x->params->n);
}

static bool eqn_equal(const tn_i_eqn *x, const tn_i_eqn *y) {
    return x->in == y->in && x->nin == y->nin && x->nout == y->nout && x->out == y->out && x->region == y->region &&
           x->linear == y->linear && tn_i_eqn_same(x, y);
}

bool tn_i_fn_equal(const tn_fn *a, const tn_fn *b) {
    if (a == b) return true;
    if (a->hash != b->hash || a->nin != b->nin || a->nlin != b->nlin || a->nout != b->nout || a->neqn != b->neqn ||
        a->nval != b->nval || a->npool != b->npool)
        return false;
    for (uint32_t v = 0; v < a->nval; v++)
        if (a->val[v].type != b->val[v].type || a->val[v].def != b->val[v].def || a->val[v].bits != b->val[v].bits)
            return false;
    if (memcmp(a->pool, b->pool, a->npool * sizeof *a->pool) || memcmp(a->out, b->out, a->nout * sizeof *a->out))
        return false;
    for (uint32_t i = 0; i < a->neqn; i++)
        if (!eqn_equal(&a->eqn[i], &b->eqn[i])) return false;
    return true;
}

/* ---- walking -------------------------------------------------------------------- */

tn_i_var *tn_i_map_new(const tn_fn *f) {
    tn_i_var *map = tn_i_alloc_array(f->ctx, f->nval, sizeof *map);
    if (map) memset(map, 0xFF, f->nval * sizeof *map);
    return map;
}

void tn_i_map_free(const tn_fn *f, tn_i_var *map) { tn_i_free(f->ctx, map, f->nval * sizeof *map); }

tn_i_var tn_i_mapped(tn_i_builder *b, const tn_fn *f, tn_i_var *map, tn_i_var v) {
    if (map[v] == TN_NOVAR && tn_i_is_literal(f, v)) map[v] = tn_i_literal(b, f->val[v].type->dtype, f->val[v].bits);
    return map[v];
}

bool tn_i_of_linear(const tn_fn *f, const tn_i_eqn *e) {
    return e->linear || (f->nlin && e->nout && f->val[e->out].linear);
}

void tn_i_copy_eqn(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    if (b->failed) return;
    tn_i_var few[16], *in = few;
    if (e->nin > 16 && !(in = tn_i_alloc_array(b->ctx, e->nin, sizeof *in))) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < e->nin; i++) in[i] = tn_i_mapped(b, f, map, tn_i_in(f, e)[i]);
    const bool linear = b->linear;
    b->loc = e->loc;
    b->linear = tn_i_of_linear(f, e);
    tn_i_var out = tn_i_emit_like(b, e, in);
    b->linear = linear;
    for (uint32_t j = 0; j < e->nout && out != TN_NOVAR; j++) map[e->out + j] = out + j;
    if (in != few) tn_i_free(b->ctx, in, e->nin * sizeof *in);
}

void tn_i_inline(tn_i_builder *b, const tn_fn *f, const tn_i_var *args, tn_i_var *outs) {
    for (uint32_t j = 0; j < f->nout; j++) outs[j] = TN_NOVAR;
    if (b->failed) return;
    tn_i_var *map = tn_i_map_new(f);
    if (!map) {
        b->failed = true;
        return;
    }
    const tn_i_loc *loc = b->loc;
    uint32_t region = b->region, base = f->regions > 1 ? b->regions - 1 : 0;
    for (uint32_t i = 0; i < f->nin; i++) map[i] = args[i];
    for (uint32_t i = 0; i < f->neqn && !b->failed; i++) {
        b->region = f->eqn[i].region ? base + f->eqn[i].region : region;
        tn_i_copy_eqn(b, f, &f->eqn[i], map);
    }
    b->region = region;
    b->loc = loc;
    for (uint32_t j = 0; j < f->nout; j++) outs[j] = tn_i_mapped(b, f, map, f->out[j]);
    tn_i_map_free(f, map);
}
