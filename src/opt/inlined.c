/* Calls of programs that are called once, or small, as the equations of these: what is around them and what is in them
 * share nests, columns and memory. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/equations.h"
#include "prims/ids.h"

#include <string.h>

enum { MOST_DEEP = 8 };

/* Nothing in it keeps an order or a place of its own. */
static bool plain(const tn_fn *g) {
    if (g->effect) return false;
    for (uint32_t v = 0; v < g->nval; v++)
        if (tn_i_has_steps(g->val[v].type)) return false;
    for (uint32_t i = 0; i < g->neqn; i++)
        if (g->eqn[i].prim->flags & (TN_F_LOOP | TN_F_OFFLOAD)) return false;
    return true;
}

/* The program that e is where it runs: of a call, and of a function with rules of its own, which derivatives have
 * passed. */
static const tn_fn *called(const tn_i_eqn *e) {
    const bool rules = (e->prim->flags & (TN_F_RULES | TN_F_COSTLY)) == TN_F_RULES && !e->prim->unrunnable;
    return rules || e->prim->id == TN_P_call ? tn_i_body(e) : NULL;
}

/* f calls g once.  Among many calls nobody looks: each look is at all equations. */
static bool called_once(const tn_fn *f, const tn_fn *g) {
    unsigned calls = 0, times = 0;
    for (uint32_t i = 0; i < f->neqn && calls <= TN_M_INLINED_CALLS; i++) {
        calls += called(&f->eqn[i]) != NULL;
        times += called(&f->eqn[i]) == g;
    }
    return calls <= TN_M_INLINED_CALLS && times == 1;
}

static bool goes(const tn_fn *f, const tn_i_eqn *e) {
    const tn_fn *g = called(e);
    return g && plain(g) && (g->neqn <= TN_M_INLINED_EQUATIONS || called_once(f, g));
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

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    (void)with;
    if (!goes(f, e)) return false;
    put_inside(b, f, e, map);
    return true;
}

static tn_fn *once(const tn_fn *f) { return tn_i_rewritten(f, NULL, f->neqn, put, NULL); }

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
