#include "sparse/flat.h"

#include "prims/prim.h"

static const tn_fn *inside_of(const tn_i_eqn *e) {
    const tn_prim *p = e->prim;
    if (!p->body || (p->flags & (TN_F_LOOP | TN_F_RULES)) || p->unrunnable) return NULL;
    if (p->effect && p->effect(tn_i_p(e))) return NULL;
    return tn_i_p(e)[p->body - 1].u.fn;
}

/* Equations there would be, at any depth. */
static double opened(const tn_fn *f) {
    double n = 0;
    for (uint32_t k = 0; k < f->neqn; k++) {
        const tn_fn *g = inside_of(&f->eqn[k]);
        n += g ? opened(g) : 1;
    }
    return n;
}

static bool holds_some(const tn_fn *f) {
    for (uint32_t k = 0; k < f->neqn; k++)
        if (inside_of(&f->eqn[k])) return true;
    return false;
}

static void in_place(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, const tn_fn *g, tn_i_var *map) {
    tn_i_var *args = tn_i_alloc_array(b->ctx, e->nin, sizeof *args);
    if (!args) b->failed = true;
    for (uint32_t i = 0; args && i < e->nin; i++) args[i] = tn_i_mapped(b, f, map, tn_i_in(f, e)[i]);
    if (!b->failed) tn_i_inline(b, g, args, map + e->out);
    tn_i_free(b->ctx, args, e->nin * sizeof *args);
}

static tn_fn *once(const tn_fn *f) {
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, i >= f->nin - f->nlin);
    for (uint32_t k = 0; k < f->neqn && !b.failed; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        const tn_fn *g = inside_of(e);
        b.region = e->region;
        if (g)
            in_place(&b, f, e, g, map);
        else
            tn_i_copy_eqn(&b, f, e, map);
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = out ? tn_i_finish(&b, f->nout, out) : (tn_i_builder_drop(&b), NULL);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_flattened(const tn_fn *f, size_t most) {
    tn_fn *g = (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    if (opened(f) > (double)most) return g;
    while (g && holds_some(g)) {
        tn_fn *h = once(g);
        tn_i_fn_unref(g);
        g = h;
    }
    return g;
}
