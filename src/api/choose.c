#include "api/choose.h"

#include "checkpoint/trials.h"
#include "checkpoint/policies.h"
#include "control/loops/invariant.h"
#include "control/loops/reschedule.h"
#include "plan/resident.h"

#include <math.h>
#include <string.h>

/* The program on trial: f with schedules for its loops with `auto`, and its jvp. */
typedef struct programs {
    const tn_fn *f;
    const tn_i_wrt *w;
    tn_fn *g, *jvp;
} programs;

static bool measure(void *user, const tn_i_plan_by *how, tn_i_trial *out) {
    const programs *p = user;
    return tn_i_measure_reverse(p->g, p->jvp, how, out);
}

static void drop(programs *p) {
    tn_i_fn_unref(p->jvp);
    tn_i_fn_unref(p->g);
    p->g = p->jvp = NULL;
}

/* text NULL: with f's own schedules. */
static tn_fn *to_derive(const tn_fn *f, const char *const *text) {
    tn_fn *g = text ? tn_i_rescheduled(f, text) : NULL, *h = g || !text ? tn_i_to_derive(g ? g : f) : NULL;
    tn_i_fn_unref(g);
    return h;
}

static bool schedule(void *user, const char *const *text) {
    programs *p = user;
    drop(p);
    p->g = to_derive(p->f, text);
    p->jvp = p->g ? tn_i_jvp_for_split(p->g, p->w->n, p->w->index) : NULL;
    return p->jvp != NULL;
}

static bool find(const tn_fn *f, const tn_i_wrt *w, size_t bytes, tn_i_budget *out) {
    programs p = {.f = f, .w = w};
    tn_i_trier t = {.ctx = f->ctx, .attempt = measure, .schedule = schedule, .residents = tn_i_residents, .user = &p};
    if (!tn_i_auto_loops(f, &t.loops)) return false;
    bool ok = t.loops.n ? (t.known = tn_i_trials_of(f, w->n, w->index, t.loops.n)) != NULL : schedule(&p, NULL);
    if (!ok) *out = (tn_i_budget){0};
    ok = ok && tn_i_budget_find(&t, bytes, out);
    if (!ok) tn_i_trials_forget(f);
    tn_i_auto_loops_free(f->ctx, &t.loops);
    drop(&p);
    return ok;
}

const char *tn_i_chosen_schedules(tn_ctx *c, const tn_i_budget *x) {
    size_t n = 0, at = 0;
    for (size_t i = 0; x->feasible && i < x->nloop; i++) n += strlen(x->schedule[i]) + 1;
    char *text = tn_i_alloc(c, n + 1);
    for (size_t i = 0; text && x->feasible && i < x->nloop; i++) {
        const size_t length = strlen(x->schedule[i]);
        if (i) text[at++] = ' ';
        memcpy(text + at, x->schedule[i], length);
        at += length;
    }
    const char *interned = text ? tn_i_string(c, text, at) : NULL;
    tn_i_free(c, text, n + 1);
    return interned;
}

/* The name of a policy that has no callback, or NULL. */
static const char *name_of(const tn_policy *policy) {
    /* one whose size is not set is refused where its plan is wanted (tn_i_plan_of) */
    if (!policy || policy->size < sizeof *policy) return NULL;
    return policy->callback ? NULL : policy->name;
}

bool tn_i_budgets(const tn_policy *policy) {
    const char *name = name_of(policy);
    return name && tn_i_is_budget(name);
}

bool tn_i_choose(const tn_fn *f, const tn_i_wrt *w, const tn_policy *policy, tn_i_choice *out) {
    size_t bytes;
    *out = (tn_i_choice){0};
    if (!tn_i_budgets(policy)) {
        if (!tn_i_plan_of(f->ctx, policy, &out->how)) return false;
        out->f = to_derive(f, NULL);
        return out->f != NULL;
    }
    if (!tn_i_budget_bytes(name_of(policy), &bytes)) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "policy '%s' wants a number of bytes, as in '%s:1000000'",
                        name_of(policy), TN_I_BUDGET);
        return false;
    }
    if (!find(f, w, bytes, &out->budget)) return false;
    if (out->budget.feasible) {
        out->f = to_derive(f, out->budget.nloop ? out->budget.schedule : NULL);
        out->how = tn_i_budget_plan(&out->budget);
        if (!out->f) tn_i_choice_free(out);
        return out->f != NULL;
    }
    (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s:%zu is infeasible: the least peak %s is %zu bytes", TN_I_BUDGET,
                    bytes, out->budget.exact ? "of all plans" : "found", out->budget.least);
    tn_i_choice_free(out);
    return false;
}

void tn_i_choice_free(tn_i_choice *x) {
    tn_i_budget_free(&x->budget);
    tn_i_fn_unref(x->f);
    x->f = NULL;
}

/* ---- tn_memory_budget ------------------------------------------------------------------------ */

tn_status tn_memory_budget(const tn_fn *f, const tn_wrt_list *wrt, size_t bytes, tn_budget_report *out) {
    tn_i_wrt w;
    tn_i_budget x;
    if (!tn_i_living(f)) return TN_EINVAL;
    if (!out || out->size < sizeof out->size)
        return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_memory_budget: the report is NULL or its size is not set");
    if (!tn_i_wrt_init(&w, "memory_budget", f, wrt)) return f->ctx->status;
    const bool ok = find(f, &w, bytes, &x);
    tn_i_wrt_free(&w);
    if (!ok) return f->ctx->status;
    const char *schedules = tn_i_chosen_schedules(f->ctx, &x);
    const tn_budget_report r = {.size = out->size,
                                .least_bytes = x.least,
                                .full_bytes = x.full.peak,
                                .peak_bytes = x.feasible ? x.chosen.peak : 0,
                                .recompute_ns = x.feasible ? fmax(0, x.chosen.work - x.full.work) : 0,
                                .bound_ns = x.feasible ? fmin(x.bound, fmax(0, x.chosen.work - x.full.work)) : 0,
                                .plans = x.trials,
                                .feasible = x.feasible,
                                .exact = x.exact,
                                .schedules = schedules};
    tn_i_budget_free(&x);
    if (!schedules) return f->ctx->status;
    memcpy(out, &r, r.size < sizeof r ? r.size : sizeof r);
    return TN_OK;
}
