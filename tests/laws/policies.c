/* Any plan is correct: what is saved and what is recomputed changes no value. */
#include "laws/derive.h"
#include "laws/table.h"

#include <math.h>

static tn_verdict at_random(void *user, const tn_candidate *v) {
    (void)v;
    return tn_i_random(user) & 1 ? TN_SAVE : TN_RECOMPUTE;
}

static double flops(const tn_fn *f) {
    tn_i_cost c;
    return tn_i_fn_cost(f, &c) ? c.flops : NAN;
}

/* Saving everything computes nothing twice. */
static void nothing_twice(laws_trial *t, const tn_fn *f, const tn_wrt_list *w) {
    const tn_fn *g = laws_made(t, tn_jvp(f, w), "jvp");
    const tn_linearized p = tn_linearize(f, w, tn_policy_by_name("everything_saveable"));
    if (!g || !laws_made(t, p.primal, "linearize (primal)") || !laws_made(t, p.linear, "linearize (linear)")) return;
    t->shown = p.linear;
    if (flops(p.primal) + flops(p.linear) > flops(g) * (1 + 1e-12))
        laws_fail(t, "primal and linear program together cost %g flops, jvp %g", flops(p.primal) + flops(p.linear),
                  flops(g));
}

void laws_policies(laws_trial *t) {
    laws_wrt w;
    laws_wrt_some(t, t->f, &w);
    tn_i_rng coin = {tn_i_random(&t->rng)};
    const tn_policy plans[] = {{.size = sizeof(tn_policy), .name = "everything_saveable"},
                               {.size = sizeof(tn_policy), .name = "nothing_saveable"},
                               {.size = sizeof(tn_policy), .callback = at_random, .user = &coin},
                               {.size = sizeof(tn_policy), .callback = at_random, .user = &coin}};
    uint32_t n;
    const laws_array *ct = laws_cotangents(t, t->f, &n), *x = laws_joined(t, t->x, t->f->nin, ct, n), *first = NULL;
    for (size_t k = 0; k < sizeof plans / sizeof *plans; k++) {
        const tn_fn *g = laws_made(t, tn_vjp(t->f, &w.list, &plans[k]), "vjp");
        const laws_array *y = g ? laws_run_new(t, g, x) : NULL;
        if (!y) return;
        t->shown = g;
        if (!first)
            first = y;
        else if (!laws_same_bits(t, "policies disagree: output", first, y, g->nout))
            return;
    }
    nothing_twice(t, t->f, &w.list);
}
