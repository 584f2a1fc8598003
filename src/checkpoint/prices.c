/* What the plans that compare costs are told: prices of doing equations again and of keeping values. */
#include "checkpoint/plans.h"

#include "prims/prim.h"

#include <math.h>

static bool has_effect(const tn_i_eqn *e) { return e->prim->effect && e->prim->effect(tn_i_p(e)); }

bool tn_i_makes_known(const tn_i_boundary *q, uint32_t i) {
    const tn_i_eqn *e = &q->f->eqn[i];
    return e->nout > 0 && q->known[e->out] && (e->nin > 0 || has_effect(e));
}

/* Known values that the primal program computes whatever is saved: its outputs and effects are made of them. */
static void find_primal(const tn_i_boundary *q, uint8_t *primal) {
    const tn_fn *f = q->f;
    for (uint32_t j = 0; j < f->nout; j++) primal[f->out[j]] |= q->known[f->out[j]];
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool live = has_effect(e);
        for (uint32_t v = e->out; v < e->out + e->nout; v++) live |= primal[v] != 0;
        for (uint32_t k = 0; live && k < e->nin; k++) primal[tn_i_in(f, e)[k]] = 1;
        for (uint32_t v = e->out; live && v < e->out + e->nout; v++) primal[v] = 1;
    }
}

bool tn_i_prices_new(tn_i_prices *p, const tn_i_boundary *q, const tn_i_cost_model *m) {
    const tn_fn *f = q->f;
    uint8_t *primal = tn_i_alloc(f->ctx, f->nval);
    *p = (tn_i_prices){.q = q,
                       .m = m,
                       .again = tn_i_alloc_array(f->ctx, f->neqn, sizeof *p->again),
                       .keep = tn_i_alloc_array(f->ctx, f->nval, sizeof *p->keep)};
    bool ok = primal && p->again && p->keep;
    if (ok) find_primal(q, primal);
    for (uint32_t i = 0; ok && i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!tn_i_makes_known(q, i)) continue;
        if (has_effect(e) || tn_i_speaks(e))
            p->again[i] = INFINITY;
        else if (primal[e->out] || tn_i_narrows(f, e))
            ok = tn_i_recompute_ns(m, f, e, &p->again[i]);
    }
    tn_i_free(f->ctx, primal, f->nval);
    if (!ok) tn_i_prices_free(p);
    return ok;
}

void tn_i_prices_free(tn_i_prices *p) {
    if (!p->q) return;
    const tn_fn *f = p->q->f;
    tn_i_free(f->ctx, p->again, f->neqn * sizeof *p->again);
    tn_i_free(f->ctx, p->keep, f->nval * sizeof *p->keep);
    *p = (tn_i_prices){0};
}

/* A stack of a loop that carries something: whether it is kept is its schedule's affair, whatever that is.  To run the
 * loop again for it would be one more state in each snapshot. */
static bool by_schedule(const tn_i_eqn *e, uint32_t output) {
    return e->prim->stacked && !e->prim->stacked(e, 0) && e->prim->stacked(e, output);
}

/* What the program returns is written anyway. */
static void set_keep(const tn_i_prices *p, tn_i_level level) {
    const tn_fn *f = p->q->f;
    const tn_i_cost_model *m = p->m;
    for (uint32_t v = 0; v < f->nval; v++) p->keep[v] = tn_i_save_ns(m, f->val[v].type, level, false);
    for (uint32_t j = 0; j < f->nout; j++) p->keep[f->out[j]] = tn_i_save_ns(m, f->val[f->out[j]].type, level, true);
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t j = 0; j < f->eqn[i].nout; j++)
            if (by_schedule(&f->eqn[i], j)) p->keep[f->eqn[i].out + j] = 0;
}

static double saved_bytes(const tn_fn *f, const uint8_t *save) {
    double bytes = 0;
    for (uint32_t v = 0; v < f->nval; v++)
        if (save[v]) bytes += (double)tn_type_bytes(f->val[v].type);
    return bytes;
}

/* As though all that the linear program needs and does not have at hand were saved. */
static double needed_bytes(const tn_i_boundary *q) {
    double bytes = 0;
    for (uint32_t i = 0; i < q->f->neqn; i++) {
        const tn_i_eqn *e = &q->f->eqn[i];
        for (uint32_t v = e->out; tn_i_makes_known(q, i) && v < e->out + e->nout; v++)
            if (q->needed[v]) bytes += (double)tn_type_bytes(q->f->val[v].type);
    }
    return bytes;
}

/* The search begins near its end.  Dearer bytes make for fewer: where a plan does not fit, none of a nearer
 * level fits its own. */
bool tn_i_plan_by_level(const tn_i_prices *p, tn_i_planner_at *plan, uint8_t *save, double *ns) {
    const tn_i_cost_model *m = p->m;
    const double times = p->q->times > 0 ? p->q->times : 1;
    int level = (int)tn_i_level_of(m, times * needed_bytes(p->q)), fails = -1;
    for (;;) {
        set_keep(p, (tn_i_level)level);
        if (!plan(p, save, ns)) return false;
        const int fits = (int)tn_i_level_of(m, times * saved_bytes(p->q->f, save));
        if (fits > level)
            fails = level++;
        else if (fits < level && fits > fails)
            level = fits;
        else
            return true;
    }
}
