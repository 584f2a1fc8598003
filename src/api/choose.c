#include "api/choose.h"

#include "checkpoint/policies.h"

#include <math.h>
#include <string.h>

typedef struct programs {
    const tn_fn *f;
    tn_fn *jvp;
} programs;

static bool measure(void *user, const tn_i_plan_by *how, tn_i_trial *out) {
    const programs *p = user;
    return tn_i_measure_reverse(p->f, p->jvp, how, out);
}

static bool find(const tn_fn *f, const tn_i_wrt *w, size_t bytes, tn_i_budget *out) {
    programs p = {.f = f, .jvp = tn_i_jvp_for_split(f, w->n, w->index)};
    const tn_i_trier t = {.ctx = f->ctx, .attempt = measure, .user = &p};
    const bool ok = p.jvp && tn_i_budget_find(&t, bytes, out);
    tn_i_fn_unref(p.jvp);
    return ok;
}

/* The name of a policy that has no callback, or NULL. */
static const char *name_of(const tn_policy *policy) {
    tn_policy p = {0};
    if (policy) memcpy(&p, policy, policy->size < sizeof p ? policy->size : sizeof p);
    return p.callback ? NULL : p.name;
}

bool tn_i_budgets(const tn_policy *policy) {
    const char *name = name_of(policy);
    return name && tn_i_is_budget(name);
}

bool tn_i_choose(const tn_fn *f, const tn_i_wrt *w, const tn_policy *policy, tn_i_choice *out) {
    size_t bytes;
    *out = (tn_i_choice){0};
    if (!tn_i_budgets(policy)) return tn_i_plan_of(f->ctx, policy, &out->how);
    if (!tn_i_budget_bytes(name_of(policy), &bytes)) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "policy '%s' wants a number of bytes, as in '%s:1000000'",
                        name_of(policy), TN_I_BUDGET);
        return false;
    }
    if (!find(f, w, bytes, &out->budget)) return false;
    if (out->budget.feasible) {
        out->how = tn_i_budget_plan(&out->budget);
        return true;
    }
    (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s:%zu is infeasible: the least peak %s is %zu bytes", TN_I_BUDGET,
                    bytes, out->budget.exact ? "of all plans" : "found", out->budget.least);
    tn_i_choice_free(out);
    return false;
}

void tn_i_choice_free(tn_i_choice *x) { tn_i_budget_free(&x->budget); }

/* ---- tn_memory_budget ------------------------------------------------------------------------ */

tn_status tn_memory_budget(const tn_fn *f, const tn_wrt_list *wrt, size_t bytes, tn_budget_report *out) {
    tn_i_wrt w;
    tn_i_budget x;
    if (!f) return TN_EINVAL;
    if (!out || out->size < sizeof out->size)
        return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_memory_budget: the report is NULL or its size is not set");
    if (!tn_i_wrt_init(&w, "memory_budget", f, wrt)) return f->ctx->status;
    const bool ok = find(f, &w, bytes, &x);
    tn_i_wrt_free(&w);
    if (!ok) return f->ctx->status;
    const tn_budget_report r = {.size = out->size,
                                .least_bytes = x.least,
                                .full_bytes = x.full.peak,
                                .peak_bytes = x.feasible ? x.chosen.peak : 0,
                                .recompute_ns = x.feasible ? fmax(0, x.chosen.work - x.full.work) : 0,
                                .bound_ns = x.feasible ? fmin(x.bound, fmax(0, x.chosen.work - x.full.work)) : 0,
                                .plans = x.trials,
                                .feasible = x.feasible,
                                .exact = x.exact};
    memcpy(out, &r, r.size < sizeof r ? r.size : sizeof r);
    tn_i_budget_free(&x);
    return TN_OK;
}
