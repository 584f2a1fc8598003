/* requires: a checked program; ensures: see jvp.h. */
#include "jvp/jvp.h"

#include "prims/frame.h"

#include <string.h>

tn_i_var tn_i_sum(tn_i_builder *b, tn_i_var x, tn_i_var y) {
    if (x == TN_NOVAR) return y;
    if (y == TN_NOVAR) return x;
    return tn_i_add_values(b, x, y);
}

static bool in_set(uint32_t set, uint32_t i) { return set == TN_ALL || (i < 32 && (set >> i & 1)); }

/* The equation applied to the tangents of one jointly linear set: exact for linear and multilinear primitives. */
static tn_i_var apply_to_tangents(tn_i_rule *r, uint32_t set, const tn_i_var *din) {
    tn_i_var few[8], *in = few;
    tn_i_builder *b = r->b;
    if (r->nin > 8 && !(in = tn_i_alloc_array(b->ctx, r->nin, sizeof *in))) {
        b->failed = true;
        return TN_NOVAR;
    }
    for (uint32_t i = 0; i < r->nin; i++) {
        in[i] = r->in[i];
        if (in_set(set, i)) in[i] = din[i] != TN_NOVAR ? din[i] : tn_i_zeros(b, r->in_type[i]);
    }
    tn_i_var out = b->failed ? TN_NOVAR : tn_i_emit_like(b, r->e, in);
    if (in != few) tn_i_free(b->ctx, in, r->nin * sizeof *in);
    return out;
}

static bool any_active(const tn_i_rule *r, uint32_t set, const tn_i_var *din) {
    for (uint32_t i = 0; i < r->nin; i++)
        if (din[i] != TN_NOVAR && in_set(set, i)) return true;
    return false;
}

static void by_partials(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    const tn_prim *prim = r->e->prim;
    uint32_t covered = 0;
    tn_i_var sum = TN_NOVAR;
    for (uint32_t i = 0; i < r->nin && i < 3; i++) {
        if (!prim->partial[i]) continue;
        covered |= TN_OPERAND(i);
        if (din[i] != TN_NOVAR) sum = tn_i_sum(r->b, sum, prim->partial[i](r, din[i]));
    }
    for (int s = 0; s < 2 && prim->linear[s]; s++) {
        bool partial = prim->linear[s] != TN_ALL && (prim->linear[s] & covered);
        if (partial || !any_active(r, prim->linear[s], din)) continue;
        covered |= prim->linear[s];
        tn_i_var t = apply_to_tangents(r, prim->linear[s], din);
        if (r->nout == 1) {
            sum = tn_i_sum(r->b, sum, t);
            continue;
        }
        for (uint32_t j = 0; j < r->nout; j++) dout[j] = t == TN_NOVAR ? t : tn_i_sum(r->b, dout[j], t + j);
    }
    if (r->nout == 1) dout[0] = sum;
    for (uint32_t i = 0; i < r->nin && !r->b->failed; i++)
        if (din[i] != TN_NOVAR && !in_set(covered, i)) tn_i_rule_fail(r, TN_ERULE, (int)i, "no derivative rule");
}

/* Rules see tangents of float operands only; outputs that are not floats have none. */
static void derive(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    const tn_prim *prim = r->e->prim;
    for (uint32_t j = 0; j < r->nout; j++) dout[j] = TN_NOVAR;
    if (prim->flags & TN_F_NODIFF) return;
    if (prim->jvp)
        prim->jvp(r, din, dout);
    else
        by_partials(r, din, dout);
    for (uint32_t j = 0; j < r->nout; j++) {
        /* what depends on no tangent is zero, however a nested program computes it */
        const bool zero =
            dout[j] != TN_NOVAR && !r->b->failed && (tn_i_is_zero(r->b, dout[j]) || !r->b->val[dout[j]].linear);
        if (zero || !tn_i_is_float(r->out_type[j]->dtype)) dout[j] = TN_NOVAR;
    }
}

typedef struct walk {
    const tn_fn *f;
    tn_i_builder b;
    tn_i_frame w;
    tn_i_var *map, *tangent;
} walk;

static void step(walk *k, const tn_i_eqn *e) {
    tn_i_frame *w = &k->w;
    const tn_i_var *in = tn_i_in(k->f, e);
    bool active = false;
    for (uint32_t i = 0; i < e->nin; i++) {
        w->a[i] = k->tangent[in[i]];
        active |= w->a[i] != TN_NOVAR;
    }
    tn_i_frame_enter(w, e);
    bool own = active && (e->prim->flags & TN_F_OWN_PRIMAL);
    if (!own) tn_i_copy_eqn(&k->b, k->f, e, k->map);
    if (!active || k->b.failed) return;
    for (uint32_t i = 0; i < e->nin; i++) w->in[i] = tn_i_mapped(&k->b, k->f, k->map, in[i]);
    for (uint32_t j = 0; j < e->nout; j++) w->out[j] = k->map[e->out + j];
    derive(&w->r, w->a, w->c);
    for (uint32_t j = 0; j < e->nout; j++) {
        if (own) k->map[e->out + j] = w->out[j];
        k->tangent[e->out + j] = w->c[j];
    }
}

static tn_fn *finish(walk *k, bool all, bool *out_active) {
    const tn_fn *f = k->f;
    tn_i_builder *b = &k->b;
    tn_i_var *out = tn_i_alloc_array(f->ctx, 2 * (size_t)f->nout, sizeof *out);
    if (!out) {
        tn_i_builder_drop(b);
        return NULL;
    }
    uint32_t n = f->nout;
    b->region = 0;
    for (uint32_t j = 0; j < f->nout && !b->failed; j++) {
        const tn_type *t = f->val[f->out[j]].type;
        tn_i_var d = tn_i_is_float(t->dtype) ? k->tangent[f->out[j]] : TN_NOVAR;
        out[j] = tn_i_mapped(b, f, k->map, f->out[j]);
        if (d == TN_NOVAR && all && tn_i_is_float(t->dtype)) d = tn_i_zeros(b, t);
        if (out_active) out_active[j] = d != TN_NOVAR;
        if (d != TN_NOVAR) out[n++] = d;
    }
    b->mixed = true;
    tn_fn *g = tn_i_finish(b, n, out);
    tn_i_free(f->ctx, out, 2 * (size_t)f->nout * sizeof *out);
    return g;
}

static bool inputs(walk *k, uint32_t nwrt, const uint32_t *wrt) {
    const tn_fn *f = k->f;
    for (uint32_t i = 0; i < f->nin; i++) k->map[i] = tn_i_input(&k->b, f->val[i].type, false);
    for (uint32_t i = 0; i < nwrt; i++) k->tangent[wrt[i]] = tn_i_input(&k->b, f->val[wrt[i]].type, true);
    return !k->b.failed;
}

tn_fn *tn_i_jvp(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, bool all, bool *out_active, tn_i_memo *memo) {
    tn_i_memo own;
    tn_i_memo_init(&own, f->ctx);
    walk k = {.f = f, .map = tn_i_map_new(f), .tangent = tn_i_map_new(f)};
    tn_i_builder_init(&k.b, f->ctx);
    k.b.named_after = f;
    tn_fn *g = NULL;
    if (k.map && k.tangent && tn_i_frame_init(&k.w, &k.b, f, memo ? memo : &own) && inputs(&k, nwrt, wrt)) {
        for (uint32_t i = 0; i < f->neqn && !k.b.failed; i++) step(&k, &f->eqn[i]);
        tn_i_frame_free(&k.w);
        g = finish(&k, all, out_active);
    } else {
        tn_i_frame_free(&k.w);
        tn_i_builder_drop(&k.b);
    }
    if (k.map) tn_i_map_free(f, k.map);
    if (k.tangent) tn_i_map_free(f, k.tangent);
    tn_i_memo_free(&own);
    return g;
}

tn_fn *tn_i_contracted_jvp(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt) {
    tn_fn *once = tn_i_contracted(f), *g = once ? tn_i_jvp(once, nwrt, wrt, true, NULL, NULL) : NULL;
    tn_i_fn_unref(once);
    return g;
}
