/* requires: every equation is known or unknown (tn_i_separate);
 * ensures: known and linear programs that together compute f, under any plan. */
#include "linearize/linearize.h"
#include "prims/prim.h"

#include <string.h>

typedef struct split {
    const tn_fn *f;
    const bool *unknown, *out_linear;
    bool forward;
    uint8_t *known, *needed, *save;
    uint8_t *wanted, *residual; /* per value: read by the linear program; crosses the boundary */
    uint8_t *copy;              /* per equation: 1 recomputed, 2 copied as it is (free or a view) */
} split;

static bool linear_output(const split *s, uint32_t j) {
    return (s->out_linear && s->out_linear[j]) || !s->known[s->f->out[j]];
}

static void find_known(split *s) {
    const tn_fn *f = s->f;
    for (uint32_t v = 0; v < f->nval; v++) s->known[v] = v < f->nin ? !s->unknown[v] : 1;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        uint8_t known = 1;
        for (uint32_t k = 0; k < e->nin; k++) known &= s->known[tn_i_in(f, e)[k]];
        for (uint32_t j = 0; j < e->nout; j++) s->known[e->out + j] = known;
        for (uint32_t k = 0; k < e->nin && !known; k++) s->needed[tn_i_in(f, e)[k]] |= s->known[tn_i_in(f, e)[k]];
    }
    for (uint32_t j = 0; j < f->nout; j++)
        if (linear_output(s, j) && s->known[f->out[j]]) s->needed[f->out[j]] = 1;
    for (uint32_t v = 0; v < f->nval; v++)
        if (tn_i_is_literal(f, v)) s->needed[v] = 0;
}

/* Data are never copied across: constants and iotas are made again, a view is taken again
 * from what it views when that is no larger. */
static bool free_to_copy(const tn_fn *f, const tn_i_eqn *e) {
    if (e->nin == 0) return true;
    if (!(e->prim->flags & TN_F_VIEW)) return false;
    if (tn_i_is_literal(f, tn_i_in(f, e)[0])) return true; /* also where the result is empty, and smaller */
    return tn_type_bytes(f->val[tn_i_in(f, e)[0]].type) <= tn_type_bytes(f->val[e->out].type);
}

static void cross(split *s) {
    const tn_fn *f = s->f;
    memcpy(s->wanted, s->needed, f->nval);
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->nout == 0 || !s->known[e->out]) continue;
        bool effect = e->prim->effect && e->prim->effect(tn_i_p(e)), free = !effect && free_to_copy(f, e),
             again = false;
        for (uint32_t j = 0; j < e->nout; j++) {
            tn_i_var v = e->out + j;
            if (!s->wanted[v]) continue;
            if (!free && (effect || s->save[v]))
                s->residual[v] = 1;
            else
                again = true;
        }
        if (!again) continue;
        s->copy[i] = free ? 2 : 1;
        for (uint32_t k = 0; k < e->nin; k++)
            if (!tn_i_is_literal(f, tn_i_in(f, e)[k])) s->wanted[tn_i_in(f, e)[k]] = 1;
    }
    for (uint32_t v = 0; v < f->nin; v++) s->residual[v] = s->wanted[v] && s->known[v];
}

static uint32_t count(const uint8_t *set, uint32_t n) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) k += set[i] != 0;
    return k;
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
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        b.region = e->region;
        if (e->nout == 0 || s->known[e->out]) tn_i_copy_eqn(&b, f, e, map);
    }
    uint32_t n = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++)
        if (!linear_output(s, j)) out[n++] = tn_i_mapped(&b, f, map, f->out[j]);
    for (uint32_t v = 0; v < f->nval && !b.failed; v++)
        if (s->residual[v] && (s->forward || v >= f->nin)) out[n++] = map[v];
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

static tn_fn *build_linear(const split *s, tn_i_var *map, tn_i_var *out) {
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
        bool linear = e->nout && !s->known[e->out];
        if (!linear && !s->copy[i]) continue;
        b.region = s->copy[i] == 1 ? f->regions + e->region : e->region;
        copy_beside_residuals(s, &b, e, map);
    }
    uint32_t n = 0;
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++)
        if (linear_output(s, j)) out[n++] = tn_i_mapped(&b, f, map, f->out[j]);
    return tn_i_finish(&b, n, out);
}

static bool describe(const split *s, tn_i_parts *p) {
    const tn_fn *f = s->f;
    p->nres = count(s->residual, f->nval);
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
                            const tn_i_plan_by *how, tn_i_parts *p) {
    *p = (tn_i_parts){.ctx = f->ctx};
    size_t n = f->nval;
    uint8_t *bytes = tn_i_alloc_array(f->ctx, 5 * n + f->neqn, 1);
    if (!bytes) return false;
    split s = {.f = f,
               .unknown = unknown,
               .out_linear = out_linear,
               .forward = forward,
               .known = bytes,
               .needed = bytes + n,
               .save = bytes + 2 * n,
               .wanted = bytes + 3 * n,
               .residual = bytes + 4 * n,
               .copy = bytes + 5 * n};
    find_known(&s);
    const tn_i_boundary q = {.f = f, .known = s.known, .needed = s.needed};
    bool ok = how->plan(how, &q, s.save);
    if (ok) {
        cross(&s);
        ok = build(&s, p);
    }
    tn_i_free(f->ctx, bytes, 5 * n + f->neqn);
    if (!ok) tn_i_parts_free(p);
    return ok;
}

bool tn_i_partial_eval(const tn_fn *f, const bool *unknown, const bool *out_linear, bool forward,
                       const tn_i_plan_by *how, tn_i_memo *memo, tn_i_parts *p) {
    *p = (tn_i_parts){0};
    if (!tn_i_separable(f)) return split_separated(f, unknown, out_linear, forward, how, p);
    tn_i_memo own;
    tn_i_memo_init(&own, f->ctx);
    tn_fn *g = tn_i_separate(f, unknown, how, memo ? memo : &own);
    bool ok = g && split_separated(g, unknown, out_linear, forward, how, p);
    tn_i_fn_unref(g);
    tn_i_memo_free(&own);
    return ok;
}
