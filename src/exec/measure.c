/* What running a program takes: its arena, and the time that its equations and the schedules of its loops are
 * modelled to take.  Equations are counted as plans count them (tn_i_recompute_ns); what a schedule adds is found in
 * the plan: which loops run again, what their steps then compute, and how often. */
#include "checkpoint/cost_model.h"
#include "control/nested.h"
#include "plan/replay.h"

#include <math.h>

typedef struct meter {
    const tn_i_plan *root;
    double *known; /* of each nested plan: what schedules add to one run of it; NAN: not known yet */
    bool failed;
} meter;

static double added(meter *m, const tn_i_plan *p);

static double added_nested(meter *m, const tn_i_plan *p) {
    size_t k = 0;
    while (k < m->root->nnested && m->root->nested[k] != p) k++;
    if (k == m->root->nnested) return added(m, p);
    if (isnan(m->known[k])) m->known[k] = added(m, p);
    return m->known[k];
}

/* ---- loops that run again ---------------------------------------------------------------- */

/* One step of the loop, as far as it is computed here. */
static double step_ns(meter *m, const tn_i_plan *p, const tn_i_actor *a, int step) {
    const tn_i_cost_model *costs = &tn_i_shipped_costs;
    tn_i_cost c = {0};
    tn_i_cost_nested(a->fn[step] ? a->fn[step] : a->fn[TN_PLAIN], &c);
    return tn_i_part_ns(costs, p->f, &p->f->eqn[a->eqn], &c) + added_nested(m, a->plan[step]);
}

/* A slot is written and read once a step; in one cache whatever their number, so that more slots never take longer. */
static double moved_ns(const tn_i_group *g, double steps) {
    const tn_i_cost_model *costs = &tn_i_shipped_costs;
    return g->nslot ? steps * (double)g->slot_bytes * (costs->write[TN_I_L3] + costs->read[TN_I_L3]) : 0;
}

/* Bringing loops back, all of them together.  What snapshots an official run takes, that run has paid for. */
static double brought_back(meter *m, const tn_i_plan *p, const tn_i_group *g) {
    const int64_t length = g->actor[g->leader].shape.length;
    const int64_t steps = length == TN_I_STEPS ? TN_I_ASSUMED_STEPS : length;
    double plain = 0, recorded = 0;
    tn_i_schedule_tally t;
    if (tn_i_schedule_count(g->schedule, steps, &t) != TN_OK) {
        m->failed = true;
        return 0;
    }
    for (uint32_t k = 0; k < g->nactor; k++) {
        if (!g->actor[k].against) continue;
        plain += step_ns(m, p, &g->actor[k], TN_PLAIN);
        recorded += step_ns(m, p, &g->actor[k], TN_RECORDED);
    }
    const double ns = (double)t.advances * plain + (double)t.recorded * recorded -
                      (g->taken ? (double)steps * plain : 0) + moved_ns(g, (double)steps);
    return length == TN_I_STEPS && steps ? ns / (double)steps : ns;
}

/* The steps of a loop; one where only a run tells. */
static double times(const tn_i_loop_shape *s) { return s->length == TN_I_STEPS ? 1 : (double)s->length; }

/* The loop that the group is for runs officially: as an equation it is counted. */
static double group_ns(meter *m, const tn_i_plan *p, const tn_i_group *g) {
    double ns = g->schedule ? brought_back(m, p, g) : 0;
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *a = &g->actor[k];
        if (a->self)
            ns += times(&a->shape) * added_nested(m, a->plan[TN_RECORDED]);
        else if (!a->against || !g->schedule)
            ns += times(&a->shape) * step_ns(m, p, a, TN_RECORDED);
    }
    return ns;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static double loop_added(meter *m, const tn_i_loop *l) {
    return times(&l->shape) * (added_nested(m, l->body) + (l->cond ? added_nested(m, l->cond) : 0));
}

/* The dearest branch. */
static double fork_added(meter *m, const tn_i_plan *p, const tn_i_fork *k) {
    double most = 0;
    for (uint32_t j = 0; j < k->n; j++) most = fmax(most, added_nested(m, p->branch[k->branch + j]));
    return most;
}

static double step_added(meter *m, const tn_i_plan *p, const tn_i_step *s) {
    switch ((tn_i_step_kind)s->kind) {
    case TN_STEP_BODY: return added_nested(m, s->u.body);
    case TN_STEP_LOOP: return loop_added(m, &p->loop[s->loop]);
    case TN_STEP_GROUP: return group_ns(m, p, &p->group[s->loop]);
    case TN_STEP_BRANCH: return fork_added(m, p, &p->fork[s->loop]);
    default: return 0;
    }
}

/* What schedules add to one run of p.  A loop whose entries alone are wanted has no step: it does not run itself. */
static double added(meter *m, const tn_i_plan *p) {
    double ns = 0;
    for (size_t i = 0; i < p->nstep; i++) ns += step_added(m, p, &p->step[i]);
    for (size_t k = 0; k < p->ngroup; k++) {
        double own;
        bool runs = false;
        for (size_t i = 0; i < p->nstep && !runs; i++) runs = p->step[i].kind == TN_STEP_GROUP && p->step[i].loop == k;
        if (runs) continue;
        if (!tn_i_recompute_ns(&tn_i_shipped_costs, p->f, &p->f->eqn[p->group[k].eqn], &own)) m->failed = true;
        ns -= m->failed ? 0 : own;
    }
    return ns;
}

bool tn_i_plan_measure(const tn_fn *f, tn_i_measured *out) {
    tn_fn *g = tn_i_prepared(f);
    tn_i_plan *p = g ? tn_i_plan_new(g, NULL) : NULL;
    meter m = {.root = p, .failed = !p};
    if (p && !(m.known = tn_i_alloc_array(f->ctx, p->nnested, sizeof *m.known))) m.failed = true;
    for (size_t k = 0; !m.failed && k < p->nnested; k++) m.known[k] = NAN;
    *out = (tn_i_measured){0};
    if (!m.failed) {
        m.failed = !tn_i_planned_ns(&tn_i_shipped_costs, g, &out->work);
        out->work += m.failed ? 0 : added(&m, p);
        out->bytes = p->bytes;
        out->per_step = p->per_step;
        out->spill = p->spill;
    }
    if (p) tn_i_free(f->ctx, m.known, p->nnested * sizeof *m.known);
    tn_i_plan_free(f->ctx, p);
    tn_i_fn_unref(g);
    return !m.failed;
}
