#include "vmap/vmap.h"

#include "prims/frame.h"

typedef struct walk {
    const tn_fn *f;
    int64_t size;
    tn_i_builder b;
    tn_i_frame w;
    tn_i_var *map;
    uint8_t *batched;
} walk;

static void step(walk *k, const tn_i_eqn *e) {
    tn_i_frame *w = &k->w;
    const tn_i_var *in = tn_i_in(k->f, e);
    bool any = false;
    tn_i_frame_enter(w, e);
    for (uint32_t i = 0; i < e->nin; i++) any |= w->flag[i] = k->batched[in[i]] != 0;
    if (!any) {
        tn_i_copy_eqn(&k->b, k->f, e, k->map);
        return;
    }
    w->r.batch = k->size;
    for (uint32_t i = 0; i < e->nin; i++) w->in[i] = tn_i_mapped(&k->b, k->f, k->map, in[i]);
    for (uint32_t j = 0; j < e->nout; j++) w->c[j] = TN_NOVAR;
    if (e->prim->batch)
        e->prim->batch(&w->r, w->flag, w->c, w->mark);
    else if (e->prim->flags & TN_F_ELEMENTWISE)
        tn_i_batch_elementwise(&w->r, w->flag, w->c, w->mark);
    else
        tn_i_rule_fail(&w->r, TN_ERULE, -1, "no batching rule");
    for (uint32_t j = 0; j < e->nout; j++) {
        k->map[e->out + j] = w->c[j];
        k->batched[e->out + j] = w->mark[j];
    }
}

static bool input(walk *k, uint32_t i, bool batched) {
    tn_type t = *k->f->val[i].type;
    if (batched) {
        if (t.rank == TN_MAX_RANK) {
            tn_i_builder_fail(&k->b, TN_ELIMIT, "vmap: input %u already has rank %d", (unsigned)i, TN_MAX_RANK);
            return false;
        }
        const int at = tn_i_batch_axis(&t);
        for (int d = t.rank; d > at; d--) t.dim[d] = t.dim[d - 1];
        t.dim[at] = k->size;
        t.rank++;
    }
    k->map[i] = tn_i_input(&k->b, &t, i >= k->f->nin - k->f->nlin);
    k->batched[i] = batched;
    return !k->b.failed;
}

static tn_fn *finish(walk *k, bool all, bool *out_batched) {
    const tn_fn *f = k->f;
    tn_i_builder *b = &k->b;
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!out) b->failed = true;
    b->region = 0;
    for (uint32_t j = 0; j < f->nout && !b->failed; j++) {
        tn_i_var v = f->out[j];
        bool batched = k->batched[v] != 0;
        out[j] = tn_i_mapped(b, f, k->map, v);
        if (all && !batched) out[j] = tn_i_batched(b, out[j], k->size);
        if (out_batched) out_batched[j] = all || batched;
    }
    tn_fn *g = tn_i_finish(b, f->nout, out);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_vmap(const tn_fn *f, int64_t size, const bool *batched, bool all, bool *out_batched, tn_i_memo *memo) {
    tn_i_memo own;
    tn_i_memo_init(&own, f->ctx);
    walk k = {.f = f, .size = size, .map = tn_i_map_new(f), .batched = tn_i_alloc(f->ctx, f->nval)};
    tn_i_builder_init(&k.b, f->ctx);
    k.b.named_after = f;
    k.b.regions = f->regions;
    tn_fn *g = NULL;
    if (k.map && k.batched && tn_i_frame_init(&k.w, &k.b, f, memo ? memo : &own)) {
        for (uint32_t i = 0; i < f->nin && input(&k, i, batched[i]); i++) continue;
        for (uint32_t i = 0; i < f->neqn && !k.b.failed; i++) step(&k, &f->eqn[i]);
        g = finish(&k, all, out_batched);
    } else
        tn_i_builder_drop(&k.b);
    tn_i_frame_free(&k.w);
    if (k.map) tn_i_map_free(f, k.map);
    tn_i_free(f->ctx, k.batched, f->nval);
    tn_i_memo_free(&own);
    return g;
}
