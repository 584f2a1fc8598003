/* What is alive in the arena of a derivative, step by step: the profile of its plan, before anything runs. */
#include "exec/memory_profile.h"

#include "opt/equations.h"

#include <string.h>

static uint32_t float_outputs(const tn_fn *f) {
    uint32_t n = 0;
    for (size_t j = 0; j < tn_fn_outputs(f); j++) n += tn_i_is_float(tn_fn_output_type(f, j).dtype);
    return n;
}

void tn_i_memory_drop(tn_ctx *c, tn_i_memory_plan *a) {
    tn_i_live_free(&a->live);
    tn_i_plan_free(c, a->plan);
    tn_fn_free(a->g);
    tn_fn_free(a->made);
}

bool tn_i_memory_planned(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, tn_i_memory_plan *a) {
    *a = (tn_i_memory_plan){.made = tn_vjp(f, wrt, policy)};
    a->g = a->made ? tn_i_prepared(a->made) : NULL;
    a->plan = a->g ? tn_i_plan_new(a->g, NULL) : NULL;
    return a->plan && tn_i_live_of(a->plan, &a->live) &&
           tn_i_backward_begins(a->plan->f, (uint32_t)tn_fn_outputs(f), float_outputs(f), &a->backward);
}

static void tell(const tn_i_memory_plan *a, tn_memory_fn fn, void *user) {
    const tn_fn *g = a->plan->f;
    for (size_t i = 0; i < a->live.n; i++) {
        const tn_i_eqn *e = i < g->neqn ? &g->eqn[i] : NULL;
        const tn_memory_step step = {.size = sizeof step,
                                     .bytes = tn_i_live_bytes(&a->live.step[i]),
                                     .kept = a->live.step[i].kept,
                                     .primitive = e ? e->prim->name : "",
                                     .file = e && e->loc ? e->loc->file : "",
                                     .line = e && e->loc ? (int)e->loc->line : 0};
        fn(user, &step);
    }
}

tn_status tn_memory_profile(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, tn_memory_report *out,
                            tn_memory_fn fn, void *user) {
    if (!tn_i_living(f)) return TN_EINVAL;
    tn_ctx *c = f->ctx;
    if (!out || out->size < sizeof *out)
        return tn_i_fail(c, TN_EINVAL, NULL, "tn_memory_profile: the report is NULL or its size is not set");
    tn_i_memory_plan a;
    const bool ok = tn_i_memory_planned(f, wrt, policy, &a);
    if (ok) {
        const tn_memory_report r = {.size = out->size,
                                    .steps = a.live.n,
                                    .backward = a.backward,
                                    .kept_bytes = a.live.step[a.backward].kept,
                                    .most_bytes = a.live.most,
                                    .peak_bytes = a.plan->bytes};
        memcpy(out, &r, sizeof r);
        if (fn) tell(&a, fn, user);
    }
    tn_i_memory_drop(c, &a);
    return ok ? TN_OK : c->status;
}
