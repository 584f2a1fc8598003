/* Broken jvp, transpose, batching, linearity and program rules. */
#include "mutants/mutant.h"

#include "linearize/linearize.h"
#include "prims/ids.h"
#include "prims/rules.h"

#include <string.h>

static mutant *of(const tn_prim *p) { return (mutant *)(uintptr_t)p; }

static const tn_prim *truth(const tn_i_rule *r) { return r->e->prim->original; }

/* ---- broken values ---------------------------------------------------------------------- */

static tn_i_var negated(tn_i_builder *b, tn_i_var v) {
    return tn_i_op1(b, tn_i_vtype(b, v)->dtype == TN_BOOL ? TN_P_not : TN_P_neg, v);
}

/* Lane k becomes lane k + 1. */
static tn_i_var rotated(tn_i_builder *b, tn_i_var v) {
    const tn_type *t = tn_i_vtype(b, v);
    const int rank = t->rank;
    const int64_t lanes = t->dim[0];
    int64_t from[TN_MAX_RANK] = {1}, to[TN_MAX_RANK], zero[TN_MAX_RANK] = {0};
    memcpy(to, t->dim, sizeof to);
    const tn_i_param rest[3] = {{.kind = TN_K_INTS, .n = (uint32_t)rank, .u.ints = from},
                                {.kind = TN_K_INTS, .n = (uint32_t)rank, .u.ints = to},
                                {.kind = TN_K_NONE}};
    tn_i_var parts[2];
    if (lanes < 2) return v;
    parts[0] = tn_i_emit(b, tn_i_prim(b, TN_P_slice), rest, 1, &v);
    to[0] = 1;
    const tn_i_param first[3] = {{.kind = TN_K_INTS, .n = (uint32_t)rank, .u.ints = zero},
                                 {.kind = TN_K_INTS, .n = (uint32_t)rank, .u.ints = to},
                                 {.kind = TN_K_NONE}};
    parts[1] = tn_i_emit(b, tn_i_prim(b, TN_P_slice), first, 1, &v);
    const tn_i_param axis = {.kind = TN_K_INT, .u.i = 0};
    return tn_i_emit(b, tn_i_prim(b, TN_P_concatenate), &axis, 2, parts);
}

static void damage_value(mutant *m, tn_i_builder *b, tn_i_var *v) {
    if (*v == TN_NOVAR || b->failed) return;
    const tn_i_var before = *v;
    if (tn_i_has_steps(tn_i_vtype(b, before))) /* only loops take it */
        *v = tn_i_add_values(b, before, before);
    else
        *v = m->how == NEGATED   ? negated(b, before)
             : m->how == ROTATED ? rotated(b, before)
                                 : tn_i_times(b, before, 1.001);
    m->hits += *v != before;
}

/* What `part` of the rules made: v, of which only[i] says what counts (NULL: everything). */
static void made(mutant *m, mutant_part part, tn_i_builder *b, tn_i_var *v, uint32_t n, const bool *only) {
    for (uint32_t i = 0; i < n && i < 64 && !b->failed; i++) {
        if (v[i] == TN_NOVAR || (only && !only[i])) continue;
        m->reached[part] |= UINT64_C(1) << i;
        if (m->part == part && ((uint32_t)m->index == i || (m->behind && (uint32_t)m->index < i)))
            damage_value(m, b, &v[i]);
    }
}

/* ---- jvp, transpose, batching --------------------------------------------------------------- */

static tn_i_var partial(tn_i_rule *r, tn_i_var dx, int i) {
    mutant *m = of(r->e->prim);
    tn_i_var d = truth(r)->partial[i](r, dx);
    if (m->part == PART_PARTIAL && m->index == i) damage_value(m, r->b, &d);
    return d;
}
static tn_i_var partial0(tn_i_rule *r, tn_i_var dx) { return partial(r, dx, 0); }
static tn_i_var partial1(tn_i_rule *r, tn_i_var dx) { return partial(r, dx, 1); }
static tn_i_var partial2(tn_i_rule *r, tn_i_var dx) { return partial(r, dx, 2); }

static void jvp(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    mutant *m = of(r->e->prim);
    truth(r)->jvp(r, din, dout);
    bool real[64];
    for (uint32_t j = 0; j < r->nout && j < 64; j++) real[j] = tn_i_is_float(r->out_type[j]->dtype);
    made(m, PART_JVP, r->b, dout, r->nout, real);
    if (m->prim.flags & TN_F_OWN_PRIMAL) made(m, PART_PRIMAL, r->b, r->out, r->nout, NULL);
}

static void transpose(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    truth(r)->transpose(r, ct, ct_in);
    made(of(r->e->prim), PART_TRANSPOSE, r->b, ct_in, r->nin, NULL);
}

static void batch(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    mutant *m = of(r->e->prim);
    if (m->part == PART_BATCH && m->how == MISSED) {
        m->hits++;
        return;
    }
    if (truth(r)->batch)
        truth(r)->batch(r, batched, out, out_batched);
    else
        tn_i_batch_elementwise(r, batched, out, out_batched);
    made(of(r->e->prim), PART_BATCH, r->b, out, r->nout, out_batched);
}

/* ---- programs ----------------------------------------------------------------------------------- */

static void split(tn_i_rule *r, const bool *unknown, tn_i_var *out, const tn_i_plan_by *how) {
    truth(r)->split(r, unknown, out, how);
    made(of(r->e->prim), PART_SPLIT, r->b, out, r->nout, NULL);
}

static void prune(tn_i_rule *r, const bool *used, tn_i_var *out) {
    truth(r)->prune(r, used, out);
    made(of(r->e->prim), PART_PRUNE, r->b, out, r->nout, used);
}

/* ---- linearity ------------------------------------------------------------------------------------ */

static bool linearity(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    mutant *m = of(e->prim);
    bool linear = false;
    for (uint32_t i = 0; i < e->nin; i++) linear |= in[i] == TN_LINEAR;
    if (m->part != PART_LINEARITY || (!linear && e->nin)) return e->prim->original->linearity(f, e, in, out);
    m->hits++;
    if (e->nin == 0) { /* zeros or not */
        if (!e->prim->original->linearity(f, e, in, out)) return false;
        for (uint32_t j = 0; j < e->nout; j++) out[j] = m->how == PERMITTED ? TN_ZERO : TN_NONLINEAR;
        return true;
    }
    if (m->how == REFUSED) {
        (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc, "%s: refused", e->prim->name);
        return false;
    }
    if (m->how == DENIED && !e->prim->original->linearity(f, e, in, out)) return false;
    for (uint32_t j = 0; j < e->nout; j++) out[j] = m->how == DENIED ? TN_NONLINEAR : TN_LINEAR;
    return true;
}

static void break_sets(mutant *m) {
    uint32_t *set = m->prim.linear;
    memcpy(set, m->prim.original->linear, sizeof m->prim.linear);
    m->hits = 1;
    if (m->how == JOINED) set[0] |= TN_OPERAND(m->index);
    if (m->how == ADDED) set[set[0] ? 1 : 0] = TN_OPERAND(m->index);
    if (m->how != DROPPED) return;
    if (m->index == 0) set[0] = set[1];
    set[1] = 0;
}

/* ---- simplification -------------------------------------------------------------------------------- */

/* The one rule that is not told its equation: there is one mutant at a time. */
static mutant *simplifying;

static tn_i_var simplify(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in, const tn_type *out) {
    mutant *m = simplifying;
    tn_i_var v = m->prim.original->simplify(b, p, nin, in, out);
    if (m->part == PART_SIMPLIFY && !b->failed && v != TN_NOVAR) damage_value(m, b, &v);
    return v;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

void mutant_wrap_rules(mutant *m) {
    static tn_i_var (*const partials[3])(tn_i_rule *, tn_i_var) = {partial0, partial1, partial2};
    tn_prim *p = &m->prim;
    for (int i = 0; i < 3; i++)
        if (p->partial[i]) p->partial[i] = partials[i];
    if (p->jvp) p->jvp = jvp;
    if (p->transpose) p->transpose = transpose;
    if (p->batch || (p->flags & TN_F_ELEMENTWISE)) p->batch = batch;
    if (p->split) p->split = split;
    if (p->prune) p->prune = prune;
    if (p->linearity) p->linearity = linearity;
    if (m->part == PART_LINEAR) break_sets(m);
    if (m->part == PART_ZERO) p->flags |= TN_F_NODIFF;
    if (m->part == PART_COMMUTES) p->flags |= TN_F_COMMUTES;
    if (m->part == PART_ZERO || m->part == PART_COMMUTES) m->hits = 1;
    if (m->part == PART_EFFECT) {
        p->effect = NULL;
        m->hits = 1;
    }
    if (p->simplify) p->simplify = simplify;
    simplifying = m;
}
