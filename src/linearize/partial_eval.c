/* requires: every equation is known or unknown (tn_i_separate);
 * ensures: known and linear programs that together compute f, under any plan. */
#include "linearize/linearize.h"
#include "linearize/prune.h"
#include "prims/frame.h"

#include <string.h>

typedef struct split {
    const tn_fn *f;
    const bool *unknown, *out_linear;
    bool forward;
    const tn_i_plan_by *how;
    tn_i_memo *memo;
    uint8_t *known, *needed, *save, *at_hand;
    uint8_t *wanted, *residual; /* per value: read by the linear program; crosses the boundary */
    uint8_t *again;             /* per value: computed again in the linear program */
    uint8_t *copy;              /* per equation: RECOMPUTED, .. */
    tn_i_frame w;
} split;

/* How an equation of known values stands in the linear program, if it does. */
enum { RECOMPUTED = 1, AS_IT_IS /* free, or a view */, QUIET /* recomputed, without its effects */ };

static bool linear_output(const split *s, uint32_t j) {
    return (s->out_linear && s->out_linear[j]) || !s->known[s->f->out[j]];
}

static bool member(uint32_t set, uint32_t i) { return set == TN_ALL || (i < 32 && (set >> i & 1)); }

/* The operands in which e, which reads unknown values, is linear together with them.  Those that are known are zero
 * there, whatever computes them: the checker's law of jointly linear operands. */
static uint32_t linear_together(const split *s, const tn_i_eqn *e) {
    for (int k = 0; k < 2 && !e->prim->linearity && e->prim->linear[k]; k++) {
        bool all = true;
        for (uint32_t i = 0; i < e->nin; i++)
            all = all && (s->known[tn_i_in(s->f, e)[i]] || member(e->prim->linear[k], i));
        if (all) return e->prim->linear[k];
    }
    return 0;
}

static void find_known(split *s) {
    const tn_fn *f = s->f;
    for (uint32_t v = 0; v < f->nval; v++) s->known[v] = v < f->nin ? !s->unknown[v] : 1;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        uint8_t known = 1;
        for (uint32_t k = 0; k < e->nin; k++) known &= s->known[tn_i_in(f, e)[k]];
        for (uint32_t j = 0; j < e->nout; j++) s->known[e->out + j] = known;
        const uint32_t zero = known ? 0 : linear_together(s, e);
        for (uint32_t k = 0; k < e->nin && !known; k++)
            s->needed[tn_i_in(f, e)[k]] |= s->known[tn_i_in(f, e)[k]] && !member(zero, k);
    }
    for (uint32_t v = 0; v < f->nval; v++)
        if (tn_i_is_literal(f, v)) s->needed[v] = 0;
}

/* Data are never copied across: constants and iotas are made again, and a view is taken again from
 * what it views, when that is no larger. */
static bool free_to_copy(const split *s, const tn_i_eqn *e) {
    const tn_fn *f = s->f;
    if (e->nin == 0) return true;
    if (e->prim->flags & TN_F_OFFLOAD) return !s->save[e->out] || f->val[tn_i_in(f, e)[0]].def >= TN_DEF_LITERAL;
    if (!(e->prim->flags & TN_F_VIEW)) return false;
    tn_i_var v = tn_i_in(f, e)[0];
    if (tn_i_is_literal(f, v)) return true; /* also where the result is empty, and smaller */
    return tn_type_bytes(f->val[v].type) <= tn_type_bytes(f->val[e->out].type);
}

/* Values that the linear program has, or gets without recomputation, if it asks for them: a part of what
 * is there only when it is saved, as otherwise the whole would be kept for it. */
static void find_at_hand(split *s) {
    const tn_fn *f = s->f;
    for (uint32_t v = 0; v < f->nval; v++) s->at_hand[v] = v < f->nin ? s->known[v] : tn_i_is_literal(f, v);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        bool free = e->nin == 0;
        if (e->prim->flags & TN_F_VIEW) {
            const tn_i_var v = tn_i_in(f, e)[0];
            free = s->at_hand[v] && tn_type_bytes(f->val[v].type) <= tn_type_bytes(f->val[e->out].type);
        }
        if (e->prim->flags & TN_F_OFFLOAD) free = s->at_hand[tn_i_in(f, e)[0]];
        for (uint32_t j = 0; j < e->nout; j++)
            s->at_hand[e->out + j] = s->known[e->out + j] && (free || s->save[e->out + j]);
    }
}

static bool has_effect(const tn_i_eqn *e) { return e->prim->effect && e->prim->effect(tn_i_p(e)); }

static bool known_eqn(const split *s, const tn_i_eqn *e) {
    if (e->nout) return s->known[e->out];
    for (uint32_t k = 0; k < e->nin; k++)
        if (!s->known[tn_i_in(s->f, e)[k]]) return false;
    return true;
}

/* An effect happens once.  Outputs of e that would be computed again can be when that needs no effect; else
 * they are saved, unless a region's policy says otherwise: then it cannot be had. */
static bool settle_effect(split *s, const tn_i_eqn *e, uint32_t i) {
    tn_ctx *c = s->f->ctx;
    const tn_i_loc *loud = NULL;
    bool *used = tn_i_alloc_array(c, e->nout, sizeof *used);
    for (uint32_t j = 0; used && j < e->nout; j++) used[j] = s->again[e->out + j];
    bool ok = used && tn_i_quiet_outputs(s->f, e, used, s->memo, &loud);
    tn_i_free(c, used, e->nout * sizeof *used);
    if (!ok) return false;
    s->copy[i] = QUIET;
    if (!loud) return true;
    if (s->how->region) {
        (void)tn_i_fail(c, TN_ERULE, loud,
                        "%s: policy '%s' of its region would run this effect again: save what it makes, or move it out "
                        "of the region",
                        e->prim->name, s->how->name);
        return false;
    }
    s->copy[i] = 0;
    for (uint32_t v = e->out; v < e->out + e->nout; v++) {
        s->residual[v] |= s->again[v];
        s->again[v] = 0;
    }
    return true;
}

/* Which wanted outputs of e cross, and whether e is computed again for the others. */
static bool settle(split *s, const tn_i_eqn *e, uint32_t i) {
    const bool effect = has_effect(e), free = !effect && free_to_copy(s, e);
    bool again = false;
    for (uint32_t v = e->out; v < e->out + e->nout; v++) {
        if (!s->wanted[v]) continue;
        s->residual[v] = !free && s->save[v];
        s->again[v] = !s->residual[v];
        again |= s->again[v];
    }
    if (again) s->copy[i] = free ? AS_IT_IS : RECOMPUTED;
    /* a view to be saved crosses as what it views */
    if (again && free && e->nin && s->save[e->out] && !s->at_hand[tn_i_in(s->f, e)[0]])
        s->save[tn_i_in(s->f, e)[0]] = s->save[e->out];
    return !again || !effect || settle_effect(s, e, i);
}

/* What is had in two ways has the second one across the boundary without a plan: it goes with what makes it, or is not
 * read in the end. */
static void keep_second_ways(split *s) {
    const tn_fn *f = s->f;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!(e->prim->flags & TN_F_EITHER) || !s->known[e->out] || s->save[e->out]) continue;
        const tn_i_var v = tn_i_in(f, e)[1];
        if (f->val[v].def < TN_DEF_LITERAL) s->save[v] = TN_SAVE;
    }
}

/* What e, which the linear program computes again or takes again, reads there. */
static bool want_operands(split *s, const tn_i_eqn *e, uint8_t copy) {
    tn_i_frame *w = &s->w;
    for (uint32_t j = 0; j < e->nout; j++) w->mark[j] = s->again[e->out + j] != 0;
    w->r.quiet = copy == QUIET;
    if (!tn_i_needed_operands(w, e)) return false;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = tn_i_in(s->f, e)[k];
        if (w->flag[k] && !tn_i_is_literal(s->f, v)) s->wanted[v] = 1;
    }
    return true;
}

static bool cross(split *s) {
    const tn_fn *f = s->f;
    keep_second_ways(s);
    find_at_hand(s);
    memcpy(s->wanted, s->needed, f->nval);
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->nout == 0 || !s->known[e->out]) continue;
        if (!settle(s, e, i)) return false;
        if (s->copy[i] && !want_operands(s, e, s->copy[i])) return false;
    }
    for (uint32_t v = 0; v < f->nin; v++) s->residual[v] = s->wanted[v] && s->known[v];
    return true;
}

static uint32_t count(const uint8_t *set, uint32_t n) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) k += set[i] != 0;
    return k;
}

/* The plan says so, or the value has been offloaded already: what was kept in a spill file is not brought
 * into memory to be kept. */
static bool offloaded(const split *s, tn_i_var v) {
    const tn_fn *f = s->f;
    if (s->save[v] == TN_OFFLOAD) return true;
    while (f->val[v].def < TN_DEF_LITERAL) {
        const tn_i_eqn *e = &f->eqn[f->val[v].def];
        if (e->prim->flags & TN_F_OFFLOAD) return true;
        tn_i_var inside;
        const tn_fn *body = tn_i_made_inside(e, v - e->out, &inside);
        if (!body) return false;
        v = inside;
        f = body;
    }
    return false;
}

/* Residuals that e makes, in out[*n..]; what is offloaded is so right behind e, unless it is an input or
 * data after all. */
static void hand_over(const split *s, tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *map, tn_i_var *out,
                      uint32_t *n) {
    for (tn_i_var v = e->out; v < e->out + e->nout; v++) {
        if (!s->residual[v]) continue;
        const tn_i_eqn *def = tn_i_def(b, map[v]);
        const bool steps = tn_i_has_steps(s->f->val[v].type);
        out[(*n)++] = def && def->nin && !steps && offloaded(s, v) ? tn_i_offload(b, map[v]) : map[v];
    }
}

static tn_fn *build_known(const split *s, tn_i_var *map, tn_i_var *out) {
    const tn_fn *f = s->f;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.forget = true;
    for (uint32_t v = 0; v < f->nin; v++)
        if (s->known[v]) map[v] = tn_i_input(&b, f->val[v].type, false);
    uint32_t first = 0;
    for (uint32_t j = 0; j < f->nout; j++) first += !linear_output(s, j);
    uint32_t n = first;
    for (uint32_t v = 0; v < f->nin && s->forward; v++)
        if (s->residual[v]) out[n++] = map[v];
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        b.region = e->region;
        if (!known_eqn(s, e)) continue;
        tn_i_copy_eqn(&b, f, e, map);
        if (!b.failed) hand_over(s, &b, e, map, out, &n);
    }
    for (uint32_t j = f->nout; j-- > 0 && !b.failed;)
        if (!linear_output(s, j)) out[--first] = tn_i_mapped(&b, f, map, f->out[j]);
    return tn_i_finish(&b, n, out);
}

/* Copies e; outputs that cross as residuals keep their input's value. */
static void copy_beside_residuals(const split *s, tn_i_builder *b, const tn_i_eqn *e, tn_i_var *map) {
    uint32_t first = 0;
    while (first < e->nout && !s->residual[e->out + first]) first++;
    if (first == e->nout) {
        tn_i_copy_eqn(b, s->f, e, map);
        return;
    }
    tn_i_var *kept = tn_i_alloc_array(b->ctx, e->nout, sizeof *kept);
    if (!kept) {
        b->failed = true;
        return;
    }
    memcpy(kept, map + e->out, e->nout * sizeof *kept);
    tn_i_copy_eqn(b, s->f, e, map);
    for (uint32_t j = first; j < e->nout; j++)
        if (s->residual[e->out + j]) map[e->out + j] = kept[j];
    tn_i_free(b->ctx, kept, e->nout * sizeof *kept);
}

/* A tangent that depends on no unknown input is zero, whatever computes it. */
static tn_i_var linear_value(const split *s, tn_i_builder *b, tn_i_var *map, tn_i_var v) {
    return s->known[v] ? tn_i_zeros(b, s->f->val[v].type) : tn_i_mapped(b, s->f, map, v);
}

/* What e's outputs that are computed again need of it. */
static void copy_pruned(split *s, tn_i_builder *b, const tn_i_eqn *e, bool quiet, tn_i_var *map) {
    tn_i_frame *w = &s->w;
    tn_i_builder *const none = w->r.b;
    const uint32_t region = b->region;
    const bool linear = b->linear;
    w->r.b = b;
    tn_i_frame_enter(w, e);
    b->region = region;
    w->r.quiet = quiet;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(s->f, e)[i];
        const bool there = tn_i_is_literal(s->f, v) || map[v] != TN_NOVAR;
        w->in[i] = there ? tn_i_mapped(b, s->f, map, v) : TN_NOVAR;
    }
    for (uint32_t j = 0; j < e->nout; j++) {
        w->mark[j] = s->again[e->out + j] != 0;
        w->out[j] = TN_NOVAR;
    }
    if (!b->failed) e->prim->prune(&w->r, w->mark, w->out);
    for (uint32_t j = 0; j < e->nout; j++)
        if (w->mark[j]) map[e->out + j] = w->out[j];
    b->linear = linear;
    w->r.b = none;
}

/* A linear equation, with zeros where it has known operands that are zero in it: nothing else says so in the linear
 * program, to which such a value would come as any residual. */
static void copy_linear(split *s, tn_i_builder *b, const tn_i_eqn *e, tn_i_var *map) {
    const uint32_t zero = linear_together(s, e);
    const tn_i_var *in = tn_i_in(s->f, e);
    tn_i_var *const was = s->w.in;
    for (uint32_t k = 0; k < e->nin && !b->failed; k++) {
        was[k] = map[in[k]];
        if (member(zero, k) && s->known[in[k]] && !tn_i_is_literal(s->f, in[k]))
            map[in[k]] = tn_i_zeros(b, s->f->val[in[k]].type);
    }
    copy_beside_residuals(s, b, e, map);
    for (uint32_t k = e->nin; k-- > 0 && !b->failed;)
        if (member(zero, k)) map[in[k]] = was[k];
}

static tn_fn *build_linear(split *s, tn_i_var *map, tn_i_var *out) {
    const tn_fn *f = s->f;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    for (uint32_t v = 0; v < f->nval; v++)
        if (s->residual[v]) map[v] = tn_i_input(&b, f->val[v].type, false);
    for (uint32_t v = 0; v < f->nin; v++)
        if (!s->known[v]) map[v] = tn_i_input(&b, f->val[v].type, true);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool known = known_eqn(s, e);
        if (known && !s->copy[i]) continue;
        const bool again = s->copy[i] == RECOMPUTED || s->copy[i] == QUIET;
        b.region = again ? f->regions + e->region : e->region;
        if (known && (e->prim->flags & TN_F_OFFLOAD)) /* made again it would be written for nothing */
            map[e->out] = tn_i_mapped(&b, f, map, tn_i_in(f, e)[0]);
        else if (again && e->prim->prune)
            copy_pruned(s, &b, e, s->copy[i] == QUIET, map);
        else if (!known)
            copy_linear(s, &b, e, map);
        else
            copy_beside_residuals(s, &b, e, map);
    }
    uint32_t n = 0;
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++)
        if (linear_output(s, j)) out[n++] = linear_value(s, &b, map, f->out[j]);
    return tn_i_finish(&b, n, out);
}

/* Each call keeps residuals of its own: calls of calls double them while their text grows by a line. */
enum { MOST_RESIDUALS = 1 << 16 };

static bool describe(const split *s, tn_i_parts *p) {
    const tn_fn *f = s->f;
    p->nres = count(s->residual, f->nval);
    if (p->nres > MOST_RESIDUALS && p->nres - MOST_RESIDUALS > f->neqn) {
        (void)tn_i_fail(
            f->ctx, TN_ELIMIT, NULL,
            "a derivative would keep %u values of a program of %u equations, more than 65536 beside one for each: "
            "calls within calls keep theirs each time (a loop, or a policy that saves less, keeps fewer)",
            (unsigned)p->nres, (unsigned)f->neqn);
        return false;
    }
    p->nout = f->nout;
    p->from_input = tn_i_alloc_array(f->ctx, p->nres, sizeof *p->from_input);
    p->out_unknown = tn_i_alloc_array(f->ctx, p->nout, sizeof *p->out_unknown);
    if (!p->from_input || !p->out_unknown) return false;
    uint32_t k = 0, input = 0;
    for (uint32_t v = 0; v < f->nval; v++) {
        if (s->residual[v]) p->from_input[k++] = v < f->nin ? input : TN_NOVAR;
        if (v < f->nin && s->known[v]) input++;
    }
    for (uint32_t j = 0; j < f->nout; j++) p->out_unknown[j] = linear_output(s, j);
    return true;
}

void tn_i_parts_free(tn_i_parts *p) {
    if (!p->ctx) return;
    tn_i_fn_unref(p->known);
    tn_i_fn_unref(p->linear);
    tn_i_free(p->ctx, p->from_input, p->nres * sizeof *p->from_input);
    tn_i_free(p->ctx, p->out_unknown, p->nout * sizeof *p->out_unknown);
    *p = (tn_i_parts){0};
}

static bool build(split *s, tn_i_parts *p) {
    const tn_fn *f = s->f;
    size_t room = (size_t)f->nout + f->nval;
    tn_i_var *known = tn_i_map_new(f), *linear = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, room, sizeof *out);
    bool ok = known && linear && out && describe(s, p) && (p->known = build_known(s, known, out)) != NULL &&
              (p->linear = build_linear(s, linear, out)) != NULL;
    if (known) tn_i_map_free(f, known);
    if (linear) tn_i_map_free(f, linear);
    tn_i_free(f->ctx, out, room * sizeof *out);
    return ok;
}

static bool split_separated(const tn_fn *f, const bool *unknown, const bool *out_linear, bool forward,
                            const tn_i_plan_by *how, tn_i_memo *memo, tn_i_parts *p) {
    *p = (tn_i_parts){.ctx = f->ctx};
    size_t n = f->nval;
    uint8_t *bytes = tn_i_alloc_array(f->ctx, 7 * n + f->neqn, 1);
    if (!bytes) return false;
    split s = {.f = f,
               .unknown = unknown,
               .out_linear = out_linear,
               .forward = forward,
               .how = how,
               .memo = memo,
               .known = bytes,
               .needed = bytes + n,
               .save = bytes + 2 * n,
               .wanted = bytes + 3 * n,
               .residual = bytes + 4 * n,
               .at_hand = bytes + 5 * n,
               .again = bytes + 6 * n,
               .copy = bytes + 7 * n};
    find_known(&s);
    const tn_i_boundary q = {.f = f, .known = s.known, .needed = s.needed, .times = how->times};
    tn_i_builder none; /* that nothing is written to: rules are asked first what they need */
    tn_i_builder_init(&none, f->ctx);
    bool ok = tn_i_frame_init(&s.w, &none, f, memo) && how->plan(how, &q, s.save) && cross(&s) && build(&s, p);
    tn_i_builder_drop(&none);
    tn_i_frame_free(&s.w);
    tn_i_free(f->ctx, bytes, 7 * n + f->neqn);
    if (!ok) tn_i_parts_free(p);
    return ok;
}

bool tn_i_partial_eval(const tn_fn *f, const bool *unknown, const bool *out_linear, bool forward,
                       const tn_i_plan_by *how, tn_i_memo *memo, tn_i_parts *p) {
    *p = (tn_i_parts){0};
    tn_i_memo own;
    tn_i_memo_init(&own, f->ctx);
    tn_i_memo *m = memo ? memo : &own;
    tn_fn *g = tn_i_separable(f) ? tn_i_separate(f, unknown, how, m) : NULL;
    bool ok = g || !tn_i_separable(f);
    ok = ok && split_separated(g ? g : f, unknown, out_linear, forward, how, m, p);
    tn_i_fn_unref(g);
    tn_i_memo_free(&own);
    return ok;
}
