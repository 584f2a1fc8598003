/* requires: a checked program and its unknown inputs;
 * ensures: an equal program in which no equation with nested programs has both
 * known and unknown outputs. */
#include "linearize/linearize.h"
#include "prims/frame.h"

bool tn_i_separable(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].prim->split) return true;
    return false;
}

static void step(tn_i_frame *w, const tn_i_eqn *e, tn_i_var *map, const tn_i_plan_by *how) {
    tn_i_rule *r = &w->r;
    tn_i_builder *b = r->b;
    const tn_i_var *in = tn_i_in(r->f, e);
    bool any = false;
    tn_i_frame_enter(w, e);
    for (uint32_t i = 0; i < e->nin && !b->failed; i++) {
        w->in[i] = tn_i_mapped(b, r->f, map, in[i]);
        w->flag[i] = w->in[i] != TN_NOVAR && b->val[w->in[i]].linear;
        any |= w->flag[i];
    }
    if (!any || !e->prim->split) {
        tn_i_copy_eqn(b, r->f, e, map);
        return;
    }
    for (uint32_t j = 0; j < e->nout; j++) w->out[j] = TN_NOVAR;
    if (!b->failed) e->prim->split(r, w->flag, w->out, how);
    for (uint32_t j = 0; j < e->nout; j++) map[e->out + j] = w->out[j];
}

tn_fn *tn_i_separate(const tn_fn *f, const bool *unknown, const tn_i_plan_by *how, tn_i_memo *memo) {
    tn_i_builder b;
    tn_i_frame w = {0};
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = true;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_fn *g = NULL;
    if (map && out && tn_i_frame_init(&w, &b, f, memo)) {
        for (uint32_t i = 0; i < f->nin; i++) map[i] = tn_i_input(&b, f->val[i].type, unknown[i]);
        for (uint32_t i = 0; i < f->neqn && !b.failed; i++) step(&w, &f->eqn[i], map, how);
        for (uint32_t j = 0; j < f->nout; j++) out[j] = b.failed ? TN_NOVAR : tn_i_mapped(&b, f, map, f->out[j]);
        g = tn_i_finish(&b, f->nout, out);
    } else
        tn_i_builder_drop(&b);
    tn_i_frame_free(&w);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}
