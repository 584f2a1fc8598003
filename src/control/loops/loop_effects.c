/* Known loops whose steps a schedule runs again, and whose effects give values: each effect happens once.
 *
 * requires: a loop, the last `nagain` stacks of which its schedule may not keep; ensures: where these need what an
 * effect gives, a loop without a schedule that has the effects and stacks what they give, and one with the schedule
 * that reads it, entry by entry, and has none.  Else one loop. */
#include "control/loops/loop_split.h"
#include "linearize/prune.h"

#include <string.h>

typedef struct work {
    tn_i_rule *r;
    const tn_i_loop_eqn *l;
    uint32_t nagain;
    uint8_t *given; /* values of the body that effects give */
    uint32_t ngiven;
    tn_i_arena a;
} work;

static void *room(work *w, size_t n, size_t size) {
    void *p = tn_i_arena_alloc(&w->a, (n + 1) * size);
    if (!p) w->r->b->failed = true;
    return p;
}

static bool has_effect(const tn_i_eqn *e) { return e->prim->effect && e->prim->effect(tn_i_p(e)); }

/* The stacks that are run again, with the carries that they depend on in any step: whether that takes an effect. */
static bool needs_effect(work *w) {
    const tn_i_loop_eqn *l = w->l;
    const tn_fn *f = l->body;
    const uint32_t carry = l->index + l->nconst;
    const bool quiet = w->r->quiet;
    bool *used = room(w, f->nout, sizeof *used), effect = false;
    for (uint32_t j = f->nout - w->nagain; used && j < f->nout; j++) used[j] = true;
    for (bool changed = used != NULL; changed;) {
        w->r->quiet = true;
        const tn_i_memo_entry *e = tn_i_nested_prune(w->r, f, used);
        w->r->quiet = quiet;
        if (!e) return false;
        changed = false;
        for (uint32_t j = 0; j < l->ncarry; j++) {
            if (used[j] || tn_i_pruned_inputs(e, f->nout)[carry + j] == TN_NOVAR) continue;
            used[j] = changed = true;
        }
        effect = e->result[0]->effect;
    }
    return effect;
}

static bool is_read(const tn_fn *f, tn_i_var v) {
    for (uint32_t k = 0; k < f->npool; k++)
        if (f->pool[k] == v) return true;
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->out[j] == v) return true;
    return false;
}

static bool find_given(work *w) {
    const tn_fn *f = w->l->body;
    w->given = room(w, f->nval, 1);
    for (uint32_t i = 0; i < f->neqn && !w->r->b->failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const tn_i_loc *loud = NULL;
        if (!has_effect(e)) continue;
        bool *used = room(w, e->nout, sizeof *used);
        for (uint32_t j = 0; used && j < e->nout; j++) used[j] = is_read(f, e->out + j);
        if (!used || !tn_i_quiet_outputs(f, e, used, w->r->memo, &loud)) return false;
        for (uint32_t j = 0; loud && j < e->nout; j++) {
            w->given[e->out + j] = used[j];
            w->ngiven += used[j];
        }
    }
    return !w->r->b->failed;
}

static bool is_given(const work *w, const tn_i_eqn *e) {
    for (uint32_t j = 0; j < e->nout; j++)
        if (w->given[e->out + j]) return true;
    return false;
}

/* The step as it is, which stacks what is given as well; or, `again`, with that as its last entries. */
static tn_fn *step(work *w, bool again) {
    const tn_fn *f = w->l->body;
    const uint32_t first = f->nout - w->nagain;
    tn_i_builder b;
    uint32_t n = 0;
    tn_i_var *map = tn_i_map_new(f), *out = room(w, (size_t)f->nout + w->ngiven, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.failed = !map || !out;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, false);
    for (tn_i_var v = f->nin; again && v < f->nval && !b.failed; v++)
        if (w->given[v]) map[v] = tn_i_input(&b, f->val[v].type, false);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        b.region = f->eqn[i].region;
        if (!again || !is_given(w, &f->eqn[i])) tn_i_copy_eqn(&b, f, &f->eqn[i], map);
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++)
        if (j < w->l->ncarry || (j >= first) == again) out[n++] = tn_i_mapped(&b, f, map, f->out[j]);
    for (tn_i_var v = f->nin; !again && v < f->nval && !b.failed; v++)
        if (w->given[v]) out[n++] = map[v];
    tn_fn *g = tn_i_finish(&b, n, out), *quiet = again && g ? tn_i_quiet(g) : g;
    if (quiet != g) tn_i_fn_unref(g);
    if (map) tn_i_map_free(f, map);
    return quiet;
}

/* v..: the loop that has the effects; its count, if a while's, is the length of the other one. */
static tn_i_var emit_again(work *w, const tn_i_var *in, tn_i_var v) {
    const tn_i_loop_eqn *l = w->l;
    tn_i_loop_eqn to = {.counted = l->is_while || l->counted,
                        .length = l->length,
                        .index = l->index,
                        .reverse = l->reverse,
                        .nconst = l->nconst,
                        .ncarry = l->ncarry,
                        .nx = l->nx + w->ngiven,
                        .ny = w->nagain,
                        .schedule = l->schedule};
    const uint32_t const0 = tn_i_loop_const0(l), nin = tn_i_loop_nin(l);
    tn_i_var *all = room(w, (size_t)nin + w->ngiven + 1, sizeof *all);
    uint32_t n = 0;
    tn_fn *body = all ? step(w, true) : NULL;
    if (!body) return TN_NOVAR;
    if (to.counted) all[n++] = l->is_while ? v + l->ncarry : in[0];
    for (uint32_t i = const0; i < nin; i++) all[n++] = in[i];
    for (uint32_t k = 0; k < w->ngiven; k++) all[n++] = v + tn_i_loop_y0(l) + l->ny - w->nagain + k;
    to.body = body;
    const tn_i_var second = tn_i_loop_emit(w->r, &to, all);
    tn_i_fn_unref(body);
    return second;
}

static bool emit_both(work *w, const tn_i_var *in, tn_i_var *out) {
    tn_i_loop_eqn to = *w->l;
    const uint32_t nout = tn_i_loop_y0(w->l) + w->l->ny, nonce = nout - w->nagain;
    tn_fn *body = find_given(w) ? step(w, false) : NULL;
    if (!body) return false;
    to.body = body;
    to.schedule = NULL;
    to.ny += w->ngiven - w->nagain;
    const tn_i_var v = tn_i_loop_emit(w->r, &to, in);
    tn_i_fn_unref(body);
    const tn_i_var second = v == TN_NOVAR ? v : emit_again(w, in, v);
    for (uint32_t j = 0; j < nout; j++) out[j] = j < nonce ? v + j : second + w->l->ncarry + j - nonce;
    return second != TN_NOVAR;
}

bool tn_i_loop_emit_once(tn_i_rule *r, const tn_i_loop_eqn *l, uint32_t nagain, const tn_i_var *in, tn_i_var *out) {
    work w = {.r = r, .l = l, .nagain = nagain};
    tn_i_arena_init(&w.a, r->b->ctx);
    const bool scheduled = l->schedule && strcmp(l->schedule, "all_save") != 0;
    bool ok;
    if (nagain && scheduled && l->body->effect && needs_effect(&w))
        ok = emit_both(&w, in, out);
    else {
        const tn_i_var v = r->b->failed ? TN_NOVAR : tn_i_loop_emit(r, l, in);
        for (uint32_t j = 0; j < tn_i_loop_y0(l) + l->ny; j++) out[j] = v + j;
        ok = v != TN_NOVAR;
    }
    tn_i_arena_free(&w.a);
    return ok;
}
