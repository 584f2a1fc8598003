/* Calls of programs that are called once, or small, as the equations of these: what is around them and what is in them
 * share nests, columns and memory. */
#include "exec/fuse.h"
#include "exec/plan.h"

#include <string.h>

enum { SMALL = 16 /* equations */, MOST_DEEP = 8, MANY = 64 /* calls */ };

/* Nothing in it keeps an order or a place of its own. */
static bool plain(const tn_fn *g) {
    if (g->effect) return false;
    for (uint32_t v = 0; v < g->nval; v++)
        if (tn_i_has_steps(g->val[v].type)) return false;
    for (uint32_t i = 0; i < g->neqn; i++)
        if (g->eqn[i].prim->flags & (TN_F_LOOP | TN_F_OFFLOAD)) return false;
    return true;
}

static const tn_fn *called(const tn_i_eqn *e) { return e->prim->id == TN_P_call ? tn_i_body(e) : NULL; }

/* f calls g once.  Among many calls nobody looks: each look is at all equations. */
static bool called_once(const tn_fn *f, const tn_fn *g) {
    unsigned calls = 0, times = 0;
    for (uint32_t i = 0; i < f->neqn && calls <= MANY; i++) {
        calls += called(&f->eqn[i]) != NULL;
        times += called(&f->eqn[i]) == g;
    }
    return calls <= MANY && times == 1;
}

static bool goes(const tn_fn *f, const tn_i_eqn *e) {
    const tn_fn *g = called(e);
    return g && plain(g) && (g->neqn <= SMALL || called_once(f, g));
}

static void put_inside(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    tn_i_var *args = tn_i_alloc_array(f->ctx, e->nin, sizeof *args);
    for (uint32_t k = 0; args && k < e->nin; k++) args[k] = tn_i_mapped(b, f, map, tn_i_in(f, e)[k]);
    if (args)
        tn_i_inline(b, called(e), args, map + e->out);
    else
        b->failed = true;
    tn_i_free(f->ctx, args, e->nin * sizeof *args);
}

static tn_fn *once(const tn_fn *f) {
    tn_i_builder b;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.raw = true;
    b.named_after = f;
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, false);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        b.region = e->region;
        b.loc = e->loc;
        if (goes(f, e))
            put_inside(&b, f, e, map);
        else
            tn_i_copy_eqn(&b, f, e, map);
    }
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = NULL;
    if (b.failed)
        tn_i_builder_drop(&b);
    else
        g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static bool any(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (goes(f, &f->eqn[i])) return true;
    return false;
}

tn_fn *tn_i_inlined(const tn_fn *f) {
    tn_fn *g = (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    for (int k = 0; g && k < MOST_DEEP && any(g); k++) {
        tn_fn *next = once(g);
        tn_i_fn_unref(g);
        g = next;
    }
    return g;
}
