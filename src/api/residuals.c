/* tn_saved_residuals: what a derivative keeps and what it computes again, before anything runs. */
#include "api/choose.h"
#include "api/residual_rows.h"
#include "checkpoint/cost_model.h"
#include "checkpoint/policies.h"
#include "control/either.h"
#include "transpose/transpose.h"

#include <string.h>

struct tn_residuals {
    tn_ctx *ctx;
    tn_residuals *prev, *next;
    tn_i_residual_rows rows;
    tn_residual_totals totals;
};

/* ---- lifetime ------------------------------------------------------------------------------- */

void tn_residuals_free(tn_residuals *r) {
    if (!r) return;
    tn_ctx *c = r->ctx;
    if (r->prev)
        r->prev->next = r->next;
    else
        c->reports = r->next;
    if (r->next) r->next->prev = r->prev;
    tn_i_residual_rows_free(c, &r->rows);
    tn_i_free(c, r, sizeof *r);
}

static void free_all(tn_ctx *c) {
    while (c->reports) tn_residuals_free(c->reports);
}

static tn_residuals *report_new(tn_ctx *c) {
    tn_residuals *r = tn_i_alloc(c, sizeof *r);
    if (!r) return NULL;
    tn_i_on_teardown(c, free_all);
    r->ctx = c;
    r->next = c->reports;
    if (c->reports) c->reports->prev = r;
    c->reports = r;
    return r;
}

/* ---- totals ---------------------------------------------------------------------------------- */

/* The two halves, as the derivatives use them. */
static bool halves(const tn_fn *f, const tn_i_wrt *w, const tn_i_plan_by *how, tn_i_parts *p) {
    return tn_i_linearize(f, w->n, w->index, how, p) && tn_i_settle_parts(p);
}

/* What both halves do together. */
static bool work_of(const tn_i_parts *p, tn_i_cost *sum) {
    tn_i_cost primal, linear;
    if (!tn_i_fn_cost(p->known, &primal) || !tn_i_fn_cost(p->linear, &linear)) return false;
    sum->flops = primal.flops + linear.flops;
    sum->transcendentals = primal.transcendentals + linear.transcendentals;
    return true;
}

/* The linear equations are the same under every plan, so what differs is what is computed twice. */
static bool recomputed(const tn_fn *f, const tn_i_wrt *w, const tn_i_parts *parts, tn_residual_totals *t) {
    tn_i_plan_by all;
    tn_i_parts saved;
    tn_i_cost with, without;
    if (!tn_i_plan_of_text(f->ctx, "everything_saveable", &all)) return false;
    all.everywhere = true;
    if (!halves(f, w, &all, &saved)) return false;
    const bool ok = work_of(parts, &with) && work_of(&saved, &without);
    tn_i_parts_free(&saved);
    if (!ok) return false;
    t->recomputed_flops = with.flops - without.flops;
    t->recomputed_transcendentals = with.transcendentals - without.transcendentals;
    return true;
}

static void add_rows(const tn_i_residual_rows *rows, tn_residual_totals *t) {
    for (size_t i = 0; i < rows->n; i++) {
        const tn_residual *r = &rows->row[i];
        if (r->verdict == TN_RESIDUAL_SAVED) t->residual_bytes += (double)r->bytes;
        if (r->verdict == TN_RESIDUAL_OFFLOADED) t->offloaded_bytes += (double)r->bytes;
        if (r->verdict != TN_RESIDUAL_RECOMPUTED) continue;
        t->behind_flops += r->times * r->flops;
        t->behind_transcendentals += r->times * r->transcendentals;
    }
}

static bool cost_of(const tn_fn *f, tn_cost_report *k) {
    *k = (tn_cost_report){.size = sizeof *k};
    return f && tn_cost(f, k) == TN_OK;
}

static bool peaks(const tn_i_parts *parts, tn_residual_totals *t) {
    tn_cost_report k;
    if (!cost_of(parts->known, &k)) return false;
    t->peak_forward_bytes = k.peak_bytes;
    tn_fn *back = tn_i_transpose_linear(parts->linear);
    const bool ok = cost_of(back, &k);
    t->peak_backward_bytes = k.peak_bytes;
    tn_i_fn_unref(back);
    return ok;
}

static bool whole(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, tn_residual_totals *t) {
    tn_cost_report k;
    tn_fn *both = tn_vjp(f, wrt, policy), *vjp = both ? tn_i_settle(both) : NULL;
    tn_i_fn_unref(both);
    const bool ok = cost_of(vjp, &k) && tn_i_modelled_ns(&tn_i_shipped_costs, vjp, &t->modelled_ns);
    tn_i_fn_unref(vjp);
    t->peak_bytes = k.peak_bytes;
    t->equations = k.equations;
    t->flops = k.flops;
    t->transcendentals = k.transcendentals;
    return ok;
}

/* ---- the report -------------------------------------------------------------------------------- */

static bool fill(const tn_fn *f, const tn_i_wrt *w, const tn_i_plan_by *how, tn_residuals *r) {
    tn_i_parts parts;
    tn_residual_totals *t = &r->totals;
    t->policy = tn_i_string(f->ctx, how->name, strlen(how->name));
    if (!t->policy || !halves(f, w, how, &parts)) return false;
    const bool ok =
        tn_i_residual_rows_of(f, &parts, t->policy, &r->rows) && peaks(&parts, t) && recomputed(f, w, &parts, t);
    tn_i_parts_free(&parts);
    add_rows(&r->rows, t);
    return ok;
}

tn_residuals *tn_saved_residuals(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    tn_i_choice by;
    tn_i_wrt w;
    if (!tn_i_living(f) || !tn_i_wrt_init(&w, "saved_residuals", f, wrt)) return NULL;
    tn_residuals *r = report_new(f->ctx);
    bool ok = r && tn_i_choose(f, &w, policy, &by);
    if (ok) {
        r->totals.schedules = tn_i_chosen_schedules(f->ctx, &by.budget);
        ok = r->totals.schedules && fill(by.f, &w, &by.how, r) && whole(f, wrt, policy, &r->totals);
        tn_i_choice_free(&by);
    }
    tn_i_wrt_free(&w);
    if (ok) return r;
    tn_residuals_free(r);
    return NULL;
}

size_t tn_residuals_count(const tn_residuals *r) { return r ? r->rows.n : 0; }

const tn_residual *tn_residuals_at(const tn_residuals *r, size_t i) {
    return r && i < r->rows.n ? &r->rows.row[i] : NULL;
}

tn_status tn_residuals_total(const tn_residuals *r, tn_residual_totals *out) {
    if (!r) return TN_EINVAL;
    if (!out || out->size < sizeof out->size)
        return tn_i_fail(r->ctx, TN_EINVAL, NULL, "tn_residuals_total: out is NULL or its size is not set");
    const size_t size = out->size;
    memcpy(out, &r->totals, size < sizeof r->totals ? size : sizeof r->totals);
    out->size = size;
    return TN_OK;
}

const char *tn_residual_verdict_text(tn_residual_verdict v) {
    switch (v) {
    case TN_RESIDUAL_SAVED: return "saved";
    case TN_RESIDUAL_RECOMPUTED: return "recomputed";
    case TN_RESIDUAL_OFFLOADED: return "offloaded";
    case TN_RESIDUAL_INPUT: return "input";
    case TN_RESIDUAL_FREE: return "free";
    }
    return "unknown";
}
