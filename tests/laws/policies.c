/* Any plan is correct: what is saved and what is recomputed changes no value, no signature, and
 * nothing that a program's text would lose. */
#include "checkpoint/policies.h"
#include "laws/derive.h"
#include "laws/table.h"

#include <math.h>
#include <string.h>

enum { MOST_POLICIES = 64, AT_RANDOM = 2 };

static tn_verdict at_random(void *user, const tn_candidate *v) {
    (void)v;
    static const tn_verdict verdicts[] = {TN_RECOMPUTE, TN_SAVE, TN_OFFLOAD};
    return verdicts[tn_i_pick(user, 0, 2)];
}

/* Every row of the table, then random verdicts on each value. */
static size_t all_policies(tn_i_rng *coin, tn_policy *p) {
    size_t n = 0;
    for (; n < MOST_POLICIES - AT_RANDOM && tn_i_policy_text(n); n++)
        p[n] = (tn_policy){.size = sizeof *p, .name = tn_i_policy_text(n)};
    for (int k = 0; k < AT_RANDOM; k++) p[n++] = (tn_policy){.size = sizeof *p, .callback = at_random, .user = coin};
    return n;
}

static const char *name_of(const tn_policy *p) { return p->name ? p->name : "random verdicts"; }

/* (x.., ct..) -> (y.., ct of w..), whatever the policy. */
static void signature(laws_trial *t, const tn_fn *f, const tn_wrt_list *w, const tn_fn *g, const char *policy) {
    const uint32_t nct = laws_float_outputs(f);
    bool same = g->nin == f->nin + nct && g->nlin == 0 && g->nout == f->nout + w->n;
    for (uint32_t i = 0; same && i < f->nin; i++) same = tn_type_equal(g->val[i].type, f->val[i].type);
    for (uint32_t j = 0, k = f->nin; same && j < f->nout; j++) {
        const tn_type *type = f->val[f->out[j]].type;
        same = tn_type_equal(g->val[g->out[j]].type, type);
        if (same && tn_i_is_float(type->dtype)) same = tn_type_equal(g->val[k++].type, type);
    }
    for (size_t k = 0; same && k < w->n; k++)
        same = tn_type_equal(g->val[g->out[f->nout + k]].type, f->val[w->index[k]].type);
    if (same) return;
    t->shown = g;
    laws_fail(t, "%s: vjp has another signature than (x.., ct..) -> (y.., ct of wrt..)", policy);
}

/* Bytes of the arena; SIZE_MAX after laws_fail, or refused. */
static size_t arena(laws_trial *t, const tn_fn *f) {
    tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .spill_dir = "/tmp"});
    if (!e) {
        t->shown = f;
        if (!laws_refused(t)) laws_fail(t, "compile: %s", tn_error(t->ctx));
        return SIZE_MAX;
    }
    const size_t bytes = tn_exec_bytes(e);
    tn_exec_free(e);
    return bytes;
}

/* What was read back computes the same bits in an arena of the same size: regions, and equations
 * that recompute, are in the text. */
static void kept_by_text(laws_trial *t, const tn_fn *g, const laws_array *x, const laws_array *y, const char *policy) {
    size_t n;
    char *text = tn_fn_print(g, &n);
    t->shown = g;
    if (!text) {
        laws_fail(t, "%s: print: %s", policy, tn_error(t->ctx));
        return;
    }
    const tn_fn *h = laws_made(t, tn_fn_parse(t->ctx, text, n, "policies.tn"), "parse");
    tn_text_free(t->ctx, text);
    if (!h) return;
    const laws_array *z = laws_run_new(t, h, x);
    if (!z || !laws_same_bits(t, "printed and parsed: output", y, z, g->nout)) return;
    const size_t bytes = arena(t, g), again = t->failed ? SIZE_MAX : arena(t, h);
    if (!t->failed && !t->refused && bytes != again)
        laws_fail(t, "%s: an arena of %zu bytes, printed and parsed of %zu", policy, bytes, again);
}

/* Gradients, whose seed of 1 makes cotangents of residuals, or of what is computed again. */
static void gradients(laws_trial *t, const laws_wrt *w, const tn_policy *plan, size_t nplans) {
    const tn_fn *s = t->failed || t->refused || laws_float_outputs(t->f) == 0 ? NULL : laws_cubes(t, t->f);
    const laws_array *first = NULL;
    for (size_t k = 0; s && k < nplans && !t->failed; k++) {
        const tn_fn *g = laws_made(t, tn_grad(s, &w->list, &plan[k]), name_of(&plan[k]));
        const laws_array *y = g ? laws_run_new(t, g, t->x) : NULL;
        if (!y) return;
        t->shown = g;
        if (!first)
            first = y;
        else if (!laws_same_bits(t, "policies disagree: gradient", first, y, g->nout))
            return;
    }
}

void laws_policies(laws_trial *t) {
    laws_wrt w;
    laws_wrt_some(t, t->f, &w);
    tn_i_rng coin = {tn_i_random(&t->rng)};
    tn_policy plan[MOST_POLICIES];
    const size_t nplans = all_policies(&coin, plan), one = (size_t)tn_i_pick(&t->rng, 0, (int64_t)nplans - 1);
    uint32_t n;
    const laws_array *ct = laws_cotangents(t, t->f, &n), *x = laws_joined(t, t->x, t->f->nin, ct, n), *first = NULL;
    for (size_t k = 0; k < nplans && !t->failed; k++) {
        const char *name = name_of(&plan[k]);
        const tn_fn *g = laws_made(t, tn_vjp(t->f, &w.list, &plan[k]), name);
        if (g) signature(t, t->f, &w.list, g, name);
        const laws_array *y = g && !t->failed ? laws_run_new(t, g, x) : NULL;
        if (!y) return;
        t->shown = g;
        if (!first)
            first = y;
        else if (!laws_same_bits(t, "policies disagree: output", first, y, g->nout))
            return;
        if (k == one) kept_by_text(t, g, x, y, name);
    }
    gradients(t, &w, plan, nplans);
}
