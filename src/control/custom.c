/* custom_jvp and custom_vjp: a program with the user's own derivative.
 *
 * A custom_jvp brings the tangent program only, and its transpose is derived; a
 * custom_vjp brings the cotangent program, and its jvp is that program's transpose.
 * Both rules are ordinary programs, so every nesting works.  A custom_vjp that is `one_way` is taken at its word:
 * its cotangent program is never looked into, let alone transposed, and what would need that is refused. */
#include "control/nested.h"
#include "jvp/jvp.h"
#include "linearize/prune.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <string.h>

/* ---- custom_jvp ------------------------------------------------------------------ */

enum { CALL, JVP };

static const tn_i_spec jvp_specs[] = {{.name = "call", .kind = TN_K_FN}, {.name = "jvp", .kind = TN_K_FN}, {0}};

/* rule inputs from `at`: one per float value of types[0..n) */
static bool floats_match(tn_i_query *q, const tn_fn *rule, uint32_t at, const tn_fn *f, bool inputs, const char *what) {
    char want[TN_I_TYPE_TEXT], got[TN_I_TYPE_TEXT];
    uint32_t n = inputs ? f->nin : f->nout;
    for (uint32_t i = 0; i < n; i++) {
        const tn_type *t = f->val[inputs ? i : f->out[i]].type;
        if (!tn_i_is_float(t->dtype)) continue;
        if (at >= rule->nin || !tn_i_type_same(rule->val[at].type, t))
            return tn_i_type_fail(q, -1, "%s input %u should be %s, is %s", what, (unsigned)at, tn_i_type_text(want, t),
                                  at < rule->nin ? tn_i_type_text(got, rule->val[at].type) : "missing");
        at++;
    }
    return at == rule->nin ||
           tn_i_type_fail(q, -1, "%s takes %u inputs, should take %u", what, (unsigned)rule->nin, (unsigned)at);
}

/* A cotangent varies as its operand does. */
static bool cotangent_fits(tn_i_query *q, uint32_t at, const tn_type *ct, const tn_type *operand) {
    const uint32_t more = tn_i_over(ct) & ~tn_i_over(operand), less = tn_i_over(operand) & ~tn_i_over(ct);
    if (more && tn_type_equal(ct, operand))
        return tn_i_type_fail(q, -1, "cotangent %u varies over %s, operand %u is replicated: psum it in bwd",
                              (unsigned)at, tn_i_axes_text(q->ctx, more), (unsigned)at);
    if (less && tn_type_equal(ct, operand))
        return tn_i_type_fail(q, -1, "cotangent %u is replicated over %s, operand %u varies: tn_vary it in bwd",
                              (unsigned)at, tn_i_axes_text(q->ctx, less), (unsigned)at);
    return true;
}

static bool outputs_match(tn_i_query *q, const tn_fn *rule, uint32_t at, const tn_fn *f, bool inputs,
                          const char *what) {
    char want[TN_I_TYPE_TEXT], got[TN_I_TYPE_TEXT];
    uint32_t n = inputs ? f->nin : f->nout;
    for (uint32_t i = 0; i < n; i++) {
        const tn_type *t = f->val[inputs ? i : f->out[i]].type;
        if (!tn_i_is_float(t->dtype)) continue;
        if (at < rule->nout && inputs && !cotangent_fits(q, at, rule->val[rule->out[at]].type, t)) return false;
        if (at >= rule->nout || !tn_i_type_same(rule->val[rule->out[at]].type, t))
            return tn_i_type_fail(q, -1, "%s output %u should be %s, is %s", what, (unsigned)at,
                                  tn_i_type_text(want, t),
                                  at < rule->nout ? tn_i_type_text(got, rule->val[rule->out[at]].type) : "missing");
        at++;
    }
    return at == rule->nout ||
           tn_i_type_fail(q, -1, "%s gives %u outputs, should give %u", what, (unsigned)rule->nout, (unsigned)at);
}

static bool same_inputs(tn_i_query *q, const tn_fn *rule, const tn_fn *f, const char *what) {
    if (rule->nin < f->nin) return tn_i_type_fail(q, -1, "%s takes %u inputs, too few", what, (unsigned)rule->nin);
    for (uint32_t i = 0; i < f->nin; i++)
        if (!tn_i_type_same(rule->val[i].type, f->val[i].type))
            return tn_i_type_fail(q, (int)i, "%s takes another type here", what);
    return true;
}

static bool type_custom_jvp(tn_i_query *q) {
    const tn_fn *f = q->p[CALL].u.fn, *rule = q->p[JVP].u.fn;
    if (!tn_i_type_nested_inputs(q, f, "call") || !same_inputs(q, rule, f, "jvp") ||
        !floats_match(q, rule, f->nin, f, true, "jvp") || !outputs_match(q, rule, 0, f, false, "jvp"))
        return false;
    if (rule->nlin != rule->nin - f->nin)
        return tn_i_type_fail(q, -1, "the tangents of jvp must be its linear inputs (%u after `|`, not %u)",
                              (unsigned)(rule->nin - f->nin), (unsigned)rule->nlin);
    return tn_i_type_nested_outputs(q, f);
}

/* Tangents of the float operands in order; TN_NOVAR stays a symbolic zero. */
static void jvp_custom_jvp(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_fn *rule = r->p[JVP].u.fn;
    tn_i_var *in = tn_i_alloc_array(b->ctx, (size_t)rule->nin + rule->nout, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    tn_i_var *out = in + rule->nin;
    uint32_t n = r->nin;
    memcpy(in, r->in, r->nin * sizeof *in);
    for (uint32_t i = 0; i < r->nin; i++)
        if (tn_i_is_float(r->in_type[i]->dtype)) in[n++] = din[i];
    tn_i_inline_tangent(b, rule, in, out);
    n = 0;
    for (uint32_t j = 0; j < r->nout; j++)
        if (tn_i_is_float(r->out_type[j]->dtype)) dout[j] = out[n++];
    tn_i_free(b->ctx, in, ((size_t)rule->nin + rule->nout) * sizeof *in);
}

/* ---- dead outputs ------------------------------------------------------------------ */

static bool any_of(const bool *flag, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (flag[i]) return true;
    return false;
}

/* What is there for its effect alone needs no rule: it is a call, of what the effect needs. */
static bool needs_custom(tn_i_rule *r, const bool *used, bool *operand) {
    const bool some = any_of(used, r->nout);
    const tn_i_memo_entry *e = some ? NULL : tn_i_nested_prune(r, r->p[CALL].u.fn, used);
    for (uint32_t i = 0; i < r->nin; i++) operand[i] = some || (e && tn_i_pruned_inputs(e, r->nout)[i] != TN_NOVAR);
    return some || e;
}

static void prune_custom(tn_i_rule *r, const bool *used, tn_i_var *out) {
    tn_i_builder *b = r->b;
    if (any_of(used, r->nout)) {
        const tn_i_var first = tn_i_emit_like(b, r->e, r->in);
        for (uint32_t j = 0; j < r->nout && first != TN_NOVAR; j++) out[j] = first + j;
        return;
    }
    const tn_i_memo_entry *e = tn_i_nested_prune(r, r->p[CALL].u.fn, used);
    const char *name = tn_i_string(b->ctx, r->e->prim->name, strlen(r->e->prim->name));
    tn_i_var *in = tn_i_alloc_array(b->ctx, r->nin, sizeof *in);
    if (e && name && in) {
        const uint32_t *from = tn_i_pruned_inputs(e, r->nout);
        for (uint32_t i = 0; i < r->nin; i++)
            if (from[i] != TN_NOVAR) in[from[i]] = r->in[i];
        const tn_i_param p[2] = {{.kind = TN_K_STR, .u.str = name}, {.kind = TN_K_FN, .u.fn = e->result[0]}};
        (void)tn_i_emit(b, tn_i_prim(b, TN_P_call), p, e->result[0]->nin, in);
    } else
        b->failed = true;
    tn_i_free(b->ctx, in, r->nin * sizeof *in);
}

/* ---- batches ------------------------------------------------------------------------- */

/* All operands are batched: tangents then have their primal's shape. */
static void batch_custom(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_param p[4];
    memcpy(p, r->p, r->e->params->n * sizeof *p);
    tn_i_batch_programs(r, p, 0, r->nin, batched, out, out_batched);
}

static bool effect_custom(const tn_i_param *p) { return p[CALL].u.fn->effect; }

static void cost_custom(const tn_i_query *q, tn_i_cost *cost) { tn_i_cost_nested(q->p[CALL].u.fn, cost); }

/* x -> x*x with the rule 2*x*dx, and x, y -> x*y for the second operand's sake. */
static bool sample_custom_jvp(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_type t;
    tn_i_sample_shape(g, &t, dtype, 0, 3);
    tn_i_builder b;
    tn_i_builder_init(&b, c->ctx);
    tn_i_var x = tn_i_input(&b, &t, false), y = tn_i_input(&b, &t, false),
             out = tn_i_op2(&b, TN_P_mul, tn_i_op2(&b, TN_P_mul, x, x), y);
    c->fns[0] = tn_i_finish(&b, 1, &out);
    tn_i_builder_init(&b, c->ctx);
    x = tn_i_input(&b, &t, false);
    y = tn_i_input(&b, &t, false);
    tn_i_var dx = tn_i_input(&b, &t, true), dy = tn_i_input(&b, &t, true);
    const tn_i_var two = tn_i_number_like(&b, x, 2.0), xy = tn_i_op2(&b, TN_P_mul, x, y);
    const tn_i_var by_x = tn_i_op2(&b, TN_P_mul, tn_i_op2(&b, TN_P_mul, two, xy), dx);
    const tn_i_var by_y = tn_i_op2(&b, TN_P_mul, tn_i_op2(&b, TN_P_mul, x, x), dy);
    out = tn_i_op2(&b, TN_P_add, by_x, by_y);
    c->fns[1] = tn_i_finish(&b, 1, &out);
    if (!c->fns[0] || !c->fns[1]) return false;
    c->nin = 2;
    c->in[0] = c->in[1] = t;
    c->p[CALL] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[0]};
    c->p[JVP] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[1]};
    return true;
}

const tn_prim tn_prim_custom_jvp = {
    .id = TN_P_custom_jvp,
    .name = "custom_jvp",
    .doc = "call with the user's tangent program (x.. | dx..) -> dy..",
    .nin = -1,
    .flags = TN_F_RULES | TN_F_OVER,
    .dtypes = TN_FLOATS,
    .params = jvp_specs,
    .type = type_custom_jvp,
    .jvp = jvp_custom_jvp,
    .batch = batch_custom,
    .body = 1 + CALL,
    .needs = needs_custom,
    .prune = prune_custom,
    .effect = effect_custom,
    .cost = cost_custom,
    .jvp_bound = 6,
    .sample = sample_custom_jvp,
};

/* ---- custom_vjp ------------------------------------------------------------------- */

enum { FWD = 1, BWD, ONE_WAY };

static const tn_i_spec vjp_specs[] = {{.name = "call", .kind = TN_K_FN},
                                      {.name = "fwd", .kind = TN_K_FN},
                                      {.name = "bwd", .kind = TN_K_FN},
                                      {.name = "one_way", .kind = TN_K_STR, .otherwise = "none: its rule is linear"},
                                      {0}};

static bool one_way(const tn_i_param *p) { return p[ONE_WAY].kind != TN_K_NONE; }

static bool type_custom_vjp(tn_i_query *q) {
    const tn_fn *f = q->p[CALL].u.fn, *fwd = q->p[FWD].u.fn, *bwd = q->p[BWD].u.fn;
    if (!tn_i_type_nested_inputs(q, f, "call") || !tn_i_type_nested_inputs(q, fwd, "fwd")) return false;
    if (fwd->nout < f->nout) return tn_i_type_fail(q, -1, "fwd gives %u outputs, too few", (unsigned)fwd->nout);
    for (uint32_t j = 0; j < f->nout; j++)
        if (!tn_i_type_same(fwd->val[fwd->out[j]].type, f->val[f->out[j]].type))
            return tn_i_type_fail(q, -1, "fwd's output %u has another type than call's", (unsigned)j);
    uint32_t nres = fwd->nout - f->nout;
    for (uint32_t k = 0; k < nres; k++)
        if (k >= bwd->nin || !tn_i_type_same(bwd->val[k].type, fwd->val[fwd->out[f->nout + k]].type))
            return tn_i_type_fail(q, -1, "bwd's input %u should be residual %u of fwd", (unsigned)k, (unsigned)k);
    if (!floats_match(q, bwd, nres, f, false, "bwd") || !outputs_match(q, bwd, 0, f, true, "bwd")) return false;
    if (one_way(q->p) && (bwd->nlin || bwd->effect))
        return tn_i_type_fail(q, -1, "bwd of a one-way rule is an ordinary program without effects");
    if (!one_way(q->p) && bwd->nlin != bwd->nin - nres)
        return tn_i_type_fail(q, -1, "the cotangents of bwd must be its linear inputs (%u after `|`, not %u)",
                              (unsigned)(bwd->nin - nres), (unsigned)bwd->nlin);
    return tn_i_type_nested_outputs(q, f);
}

/* (residuals.., tangents of x) -> zeros: takes the place of a transpose that nobody has, and never runs. */
static tn_fn *placeholder(tn_i_rule *r, uint32_t nres, const tn_fn *bwd) {
    tn_i_builder b;
    tn_i_builder_init(&b, r->b->ctx);
    tn_i_var *out = tn_i_alloc_array(b.ctx, r->nout, sizeof *out);
    uint32_t n = 0;
    for (uint32_t i = 0; out && i < nres + bwd->nout; i++)
        (void)tn_i_input(&b, bwd->val[i < nres ? i : bwd->out[i - nres]].type, false);
    for (uint32_t j = 0; out && j < r->nout; j++)
        if (tn_i_is_float(r->out_type[j]->dtype)) out[n++] = tn_i_zeros(&b, r->out_type[j]);
    tn_fn *f = NULL;
    if (out)
        f = tn_i_finish(&b, n, out);
    else
        tn_i_builder_drop(&b);
    tn_i_free(r->b->ctx, out, r->nout * sizeof *out);
    if (!f) r->b->failed = true;
    return f;
}

/* The tangents are a one-way call that cannot run; transposed, it is bwd. */
static void jvp_one_way(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_fn *fwd = r->p[FWD].u.fn, *bwd = r->p[BWD].u.fn;
    const uint32_t nres = fwd->nout - r->nout;
    const size_t room = (size_t)fwd->nout + nres + bwd->nout;
    tn_fn *f = placeholder(r, nres, bwd);
    tn_i_var *y = tn_i_alloc_array(b->ctx, room, sizeof *y);
    if (f && y) {
        tn_i_var *in = y + fwd->nout;
        uint32_t n = nres;
        tn_i_inline(b, fwd, r->in, y);
        memcpy(in, y + r->nout, nres * sizeof *in);
        for (uint32_t i = 0; i < r->nin; i++)
            if (tn_i_is_float(r->in_type[i]->dtype))
                in[n++] = din[i] != TN_NOVAR ? din[i] : tn_i_zeros(b, r->in_type[i]);
        const tn_i_param p[4] = {
            {.kind = TN_K_FN, .u.fn = f}, {.kind = TN_K_FN, .u.fn = bwd}, r->p[ONE_WAY], {.kind = TN_K_BOOL, .u.i = 1}};
        tn_i_var first = tn_i_emit(b, tn_i_prim(b, TN_P_linear_call), p, n, in);
        for (uint32_t j = 0; j < r->nout; j++) {
            r->out[j] = y[j];
            if (tn_i_is_float(r->out_type[j]->dtype) && first != TN_NOVAR) dout[j] = first++;
        }
    } else
        b->failed = true;
    tn_i_fn_unref(f);
    tn_i_free(b->ctx, y, room * sizeof *y);
}

/* Primal and residuals from fwd; the tangent is the transpose of bwd. */
static void jvp_custom_vjp(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_fn *fwd = r->p[FWD].u.fn, *bwd = r->p[BWD].u.fn;
    if (one_way(r->p)) {
        jvp_one_way(r, din, dout);
        return;
    }
    const tn_i_memo_entry *e = tn_i_nested_transpose_linear(r, bwd);
    if (!e) return;
    const tn_fn *rule = e->result[0];
    size_t room = (size_t)fwd->nout + rule->nin + rule->nout;
    tn_i_var *y = tn_i_alloc_array(b->ctx, room, sizeof *y);
    if (!y) {
        b->failed = true;
        return;
    }
    tn_i_var *in = y + fwd->nout, *out = in + rule->nin;
    uint32_t n = 0;
    tn_i_inline(b, fwd, r->in, y);
    for (uint32_t k = r->nout; k < fwd->nout; k++) in[n++] = y[k];
    for (uint32_t i = 0; i < r->nin; i++)
        if (tn_i_is_float(r->in_type[i]->dtype)) in[n++] = din[i];
    tn_i_inline_tangent(b, rule, in, out);
    n = 0;
    for (uint32_t j = 0; j < r->nout; j++) {
        r->out[j] = y[j];
        if (tn_i_is_float(r->out_type[j]->dtype)) dout[j] = out[n++];
    }
    tn_i_free(b->ctx, y, room * sizeof *y);
}

/* x -> x*x; fwd: x -> x*x, x; bwd: (x | ct) -> 2*x*ct. */
static bool sample_custom_vjp(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_type t;
    tn_i_sample_shape(g, &t, dtype, 0, 3);
    tn_i_builder b;
    for (int k = 0; k < 2; k++) {
        tn_i_builder_init(&b, c->ctx);
        tn_i_var x = tn_i_input(&b, &t, false);
        tn_i_var out[2] = {tn_i_op2(&b, TN_P_mul, x, x), x};
        c->fns[k] = tn_i_finish(&b, 1u + (unsigned)k, out);
    }
    tn_i_builder_init(&b, c->ctx);
    tn_i_var x = tn_i_input(&b, &t, false), ct = tn_i_input(&b, &t, true);
    tn_i_var out = tn_i_op2(&b, TN_P_mul, tn_i_op2(&b, TN_P_mul, tn_i_number_like(&b, x, 2.0), x), ct);
    c->fns[2] = tn_i_finish(&b, 1, &out);
    if (!c->fns[0] || !c->fns[1] || !c->fns[2]) return false;
    c->nin = 1;
    c->in[0] = t;
    for (int k = 0; k < 3; k++) c->p[k] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[k]};
    return true;
}

const tn_prim tn_prim_custom_vjp = {
    .id = TN_P_custom_vjp,
    .name = "custom_vjp",
    .doc = "call with the user's fwd: x.. -> (y.., residuals..) and bwd: (residuals.. | ct..) -> ct of x..",
    .nin = -1,
    .flags = TN_F_OWN_PRIMAL | TN_F_RULES | TN_F_OVER,
    .dtypes = TN_FLOATS,
    .params = vjp_specs,
    .type = type_custom_vjp,
    .jvp = jvp_custom_vjp,
    .batch = batch_custom,
    .body = 1 + CALL,
    .needs = needs_custom,
    .prune = prune_custom,
    .effect = effect_custom,
    .cost = cost_custom,
    .jvp_bound = 6,
    .sample = sample_custom_vjp,
};
