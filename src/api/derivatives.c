/* jvp, linearize, transpose, vjp, grad ...: compositions only, no algorithm. */
#include "control/either.h"
#include "control/loops/fission.h"
#include "control/loops/invariant.h"
#include "control/loops/replay.h"
#include "api/args.h"
#include "api/choose.h"
#include "plan/plan.h"
#include "jvp/jvp.h"
#include "linearize/linearize.h"
#include "linearize/prune.h"
#include "prims/prim.h"
#include "transpose/transpose.h"

#include <math.h>

/* ---- forward --------------------------------------------------------------------- */

/* A mixed jvp as an ordinary program; outputs from `first` on. */
static tn_fn *ordinary(const tn_fn *g, uint32_t first) {
    tn_i_builder b;
    tn_i_builder_init(&b, g->ctx);
    b.named_after = g;
    b.regions = 1;
    tn_i_var *args = tn_i_alloc_array(g->ctx, g->nin, sizeof *args),
             *outs = tn_i_alloc_array(g->ctx, g->nout, sizeof *outs);
    tn_fn *h = NULL;
    if (args && outs) {
        for (uint32_t i = 0; i < g->nin; i++) args[i] = tn_i_input(&b, g->val[i].type, g->val[i].linear);
        b.forget = true;
        tn_i_inline(&b, g, args, outs);
        h = tn_i_finish(&b, g->nout - first, outs + first);
    } else
        tn_i_builder_drop(&b);
    tn_i_free(g->ctx, args, g->nin * sizeof *args);
    tn_i_free(g->ctx, outs, g->nout * sizeof *outs);
    return h;
}

static tn_fn *forward(const char *who, const tn_fn *f, const tn_wrt_list *wrt, bool primal) {
    tn_i_wrt w;
    if (!tn_i_living(f) || !tn_i_wrt_init(&w, who, f, wrt)) return NULL;
    tn_fn *once = tn_i_to_derive(f), *g = once ? tn_i_contracted_jvp(once, w.n, w.index) : NULL;
    tn_i_fn_unref(once);
    tn_i_wrt_free(&w);
    if (!g) return NULL;
    tn_fn *h = ordinary(g, primal ? 0 : f->nout);
    tn_i_fn_unref(g);
    return tn_i_runnable(tn_i_prune(h));
}

tn_fn *tn_jvp(const tn_fn *f, const tn_wrt_list *wrt) { return forward("jvp", f, wrt, true); }

tn_linearized tn_linearize(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    tn_linearized none = {NULL, NULL}, both = none;
    tn_i_choice by;
    tn_i_wrt w;
    if (!tn_i_living(f) || !tn_i_wrt_init(&w, "linearize", f, wrt)) return none;
    tn_i_parts parts;
    if (tn_i_choose(f, &w, policy, &by) && tn_i_linearize(by.f, w.n, w.index, &by.how, &parts) &&
        tn_i_settle_parts(&parts)) {
        both = (tn_linearized){parts.known, parts.linear};
        parts.known = parts.linear = NULL;
        tn_i_parts_free(&parts);
    }
    tn_i_choice_free(&by);
    tn_i_wrt_free(&w);
    return both;
}

/* ---- reverse ----------------------------------------------------------------------- */

/* With respect to every float input, when the program has no linear ones. */
static tn_fn *transpose_all(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    bool *linear = tn_i_alloc_array(c, f->nin, sizeof *linear);
    uint8_t *in = tn_i_alloc(c, f->nin), *out = tn_i_alloc(c, f->nout);
    tn_fn *t = NULL;
    bool ok = linear && in && out;
    for (uint32_t i = 0; ok && i < f->nin; i++) {
        linear[i] = tn_i_is_float(f->val[i].type->dtype);
        in[i] = linear[i] ? TN_LINEAR : TN_NONLINEAR;
    }
    ok = ok && tn_i_check_linear(f, in, out);
    for (uint32_t j = 0; ok && j < f->nout; j++) {
        if (out[j] != TN_NONLINEAR) continue;
        const tn_i_val *v = &f->val[f->out[j]];
        (void)tn_i_fail(c, TN_ELINEAR, v->def < TN_DEF_LITERAL ? f->eqn[v->def].loc : f->loc,
                        "transpose: output %u is not linear", (unsigned)j);
        ok = false;
    }
    if (ok) t = tn_i_transpose(f, linear, NULL);
    tn_i_free(c, linear, f->nin * sizeof *linear);
    tn_i_free(c, in, f->nin);
    tn_i_free(c, out, f->nout);
    return t;
}

tn_fn *tn_transpose(const tn_fn *f) {
    if (!tn_i_living(f)) return NULL;
    if (f->nlin && !tn_i_check(f)) return NULL;
    tn_fn *kept = f->nlin ? (tn_fn *)(uintptr_t)tn_i_fn_ref(f) : tn_i_settle_kept(f);
    tn_fn *g = kept ? tn_i_invariants_outside(kept, TN_I_TO_DERIVE) : NULL, *t = NULL;
    if (g) t = g->nlin ? tn_i_transpose_linear(g) : transpose_all(g);
    tn_i_fn_unref(kept);
    tn_i_fn_unref(g);
    return tn_i_runnable(t);
}

/* What vjp and the gradients have in common: primal and transposed program. */
typedef struct reverse {
    const tn_fn *f;
    tn_i_parts parts;
    tn_fn *back;
    tn_i_builder b;
    tn_i_var *x, *y, *ct, *ct_x; /* inputs; outputs and residuals; residuals and cotangents; results */
    size_t nx, ny, nct, nct_x;
} reverse;

/* Given the parts: transposes the linear one, and makes room. */
static bool reverse_ready(reverse *r) {
    const tn_fn *f = r->f;
    if (!(r->back = tn_i_transpose_linear(r->parts.linear))) return false;
    tn_ctx *c = f->ctx;
    r->nx = f->nin + (size_t)f->nout;
    r->ny = r->parts.known->nout;
    r->nct = r->back->nin;
    r->nct_x = (size_t)r->back->nout + f->nout;
    r->x = tn_i_alloc_array(c, r->nx, sizeof *r->x);
    r->y = tn_i_alloc_array(c, r->ny, sizeof *r->y);
    r->ct = tn_i_alloc_array(c, r->nct, sizeof *r->ct);
    r->ct_x = tn_i_alloc_array(c, r->nct_x, sizeof *r->ct_x);
    return r->x && r->y && r->ct && r->ct_x;
}

static bool reverse_init(reverse *r, const char *who, const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    *r = (reverse){.f = f};
    tn_i_choice by;
    tn_i_wrt w;
    if (!tn_i_wrt_init(&w, who, f, wrt)) return false;
    const bool ok = tn_i_choose(f, &w, policy, &by) && tn_i_linearize(by.f, w.n, w.index, &by.how, &r->parts);
    tn_i_choice_free(&by);
    tn_i_wrt_free(&w);
    return ok && reverse_ready(r);
}

static void reverse_free(reverse *r) {
    tn_ctx *c = r->f->ctx;
    tn_i_fn_unref(r->back);
    tn_i_parts_free(&r->parts);
    tn_i_free(c, r->x, r->nx * sizeof *r->x);
    tn_i_free(c, r->y, r->ny * sizeof *r->y);
    tn_i_free(c, r->ct, r->nct * sizeof *r->ct);
    tn_i_free(c, r->ct_x, r->nct_x * sizeof *r->ct_x);
}

/* Inputs and the primal; y is followed by the residuals. */
static void reverse_primal(reverse *r, bool cotangents) {
    const tn_fn *f = r->f;
    tn_i_builder_init(&r->b, f->ctx);
    r->b.named_after = f;
    size_t n = f->nin;
    for (uint32_t i = 0; i < f->nin; i++) r->x[i] = tn_i_input(&r->b, f->val[i].type, false);
    for (uint32_t j = 0; j < f->nout && cotangents; j++)
        if (tn_i_is_float(f->val[f->out[j]].type->dtype)) r->x[n++] = tn_i_input(&r->b, f->val[f->out[j]].type, false);
    tn_i_inline(&r->b, r->parts.known, r->x, r->y);
    for (uint32_t k = 0; k < r->parts.nres; k++) r->ct[k] = r->y[f->nout + k];
}

/* Takes f over. */
static tn_fn *taken_apart(tn_fn *f) { return tn_i_fission(tn_i_loops_in_place(tn_i_prune(f))); }

static tn_fn *reverse_vjp(reverse *r) {
    const tn_fn *f = r->f;
    reverse_primal(r, true);
    for (size_t k = r->parts.nres; k < r->nct; k++) r->ct[k] = r->x[f->nin + k - r->parts.nres];
    for (uint32_t j = 0; j < f->nout; j++) r->ct_x[j] = r->y[j];
    tn_i_inline(&r->b, r->back, r->ct, r->ct_x + f->nout);
    return tn_i_runnable(taken_apart(tn_i_finish(&r->b, (uint32_t)r->nct_x, r->ct_x)));
}

/* Seeds the first output with 1, the others with symbolic zeros; y (if wanted), then gradients.  Products are
 * contracted before the seed makes residuals of them: whether those are products, too, is the policy's affair. */
static tn_fn *reverse_gradient(reverse *r, bool value) {
    const tn_fn *f = r->f;
    tn_fn *once = tn_i_contracted_here(r->back);
    if (!once) return NULL;
    tn_i_fn_unref(r->back);
    r->back = once;
    reverse_primal(r, false);
    const uint32_t first = value ? 0 : f->nout;
    for (size_t k = r->parts.nres; k < r->nct; k++)
        r->ct[k] = k == r->parts.nres ? tn_i_number(&r->b, r->back->val[k].type, 1.0) : TN_NOVAR;
    tn_i_inline_tangent(&r->b, r->back, r->ct, r->ct_x + f->nout);
    for (uint32_t k = 0; k < r->back->nout && !r->b.failed; k++)
        if (r->ct_x[f->nout + k] == TN_NOVAR)
            r->ct_x[f->nout + k] = tn_i_zeros(&r->b, r->back->val[r->back->out[k]].type);
    for (uint32_t j = 0; j < f->nout; j++) r->ct_x[j] = r->y[j];
    return tn_i_runnable(taken_apart(tn_i_finish(&r->b, (uint32_t)r->nct_x - first, r->ct_x + first)));
}

tn_fn *tn_vjp(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    if (!tn_i_living(f)) return NULL;
    reverse r;
    tn_fn *g = reverse_init(&r, "vjp", f, wrt, policy) ? reverse_vjp(&r) : NULL;
    reverse_free(&r);
    return g;
}

static tn_fn *gradient(const char *who, const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, bool aux,
                       bool value) {
    if (!tn_i_living(f) || !tn_i_scalar_output(who, f, aux)) return NULL;
    reverse r;
    tn_fn *g = reverse_init(&r, who, f, wrt, policy) ? reverse_gradient(&r, value) : NULL;
    reverse_free(&r);
    return g;
}

tn_fn *tn_grad(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    return gradient("grad", f, wrt, policy, false, false);
}

tn_fn *tn_value_and_grad(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    return gradient("value_and_grad", f, wrt, policy, false, true);
}

tn_fn *tn_value_and_grad_aux(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    return gradient("value_and_grad_aux", f, wrt, policy, true, true);
}

tn_fn *tn_hvp(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    tn_fn *g = gradient("hvp", f, wrt, policy, false, false);
    tn_fn *h = g ? forward("hvp", g, wrt, false) : NULL;
    tn_i_fn_unref(g);
    return h;
}

/* ---- what reverse mode costs ------------------------------------------------------------------ */

/* Measures g, which it takes over: the highest peak counts, and the work of the first. */
static bool measure(tn_fn *g, tn_i_trial *out) {
    tn_i_measured m;
    const bool ok = g && tn_i_plan_measure(g, &m);
    tn_i_fn_unref(g);
    if (!ok) return false;
    if (isnan(out->work)) out->work = nearbyint(m.work * 64) / 64;
    if (m.bytes > out->peak) out->peak = m.bytes;
    if (m.per_step > out->per_step) out->per_step = m.per_step;
    if (m.spill > out->spill) out->spill = m.spill;
    return true;
}

bool tn_i_measure_reverse(const tn_fn *f, const tn_fn *jvp, const tn_i_plan_by *how, tn_i_trial *out) {
    reverse r = {.f = f};
    *out = (tn_i_trial){.work = NAN};
    bool ok = tn_i_split_jvp(f, jvp, how, &r.parts) && reverse_ready(&r) && measure(reverse_vjp(&r), out);
    const tn_type *y = f->nout ? f->val[f->out[0]].type : NULL;
    if (ok && y && y->rank == 0 && tn_i_is_float(y->dtype))
        ok = measure(reverse_gradient(&r, true), out) && (f->nout > 1 || measure(reverse_gradient(&r, false), out));
    reverse_free(&r);
    return ok;
}
