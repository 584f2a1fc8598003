/* min_cut and min_bytes: the cheapest saves (checkpoint/save_graph.h) of a program, by two prices. */
#include "checkpoint/plans.h"
#include "checkpoint/save_graph.h"
#include "ir/seen.h"
#include "prims/prim.h"

#include <math.h>
#include <string.h>

/* The equations that make known values, as operations; an equation's operand pool is theirs. */
static bool cheapest(const tn_i_prices *p, uint8_t *save, double *cost) {
    const tn_i_boundary *q = p->q;
    const tn_fn *f = q->f;
    tn_i_save_op *op = tn_i_alloc_array(f->ctx, f->neqn, sizeof *op);
    uint32_t nop = 0;
    if (!op) return false;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!tn_i_makes_known(q, i)) continue;
        op[nop++] =
            (tn_i_save_op){.in = e->in, .nin = tn_i_made_of(e), .out = e->out, .nout = e->nout, .cost = p->again[i]};
    }
    const tn_i_save_graph g = {
        .nval = f->nval, .nop = nop, .op = op, .pool = f->pool, .save = p->keep, .needed = q->needed};
    const bool ok = tn_i_cheapest_saves(f->ctx, &g, save, cost);
    tn_i_free(f->ctx, op, f->neqn * sizeof *op);
    return ok;
}

/* ---- fewest nanoseconds ------------------------------------------------------------------- */

bool tn_i_min_cut(const tn_i_cost_model *m, const tn_i_boundary *q, uint8_t *save, double *ns) {
    tn_i_prices p;
    if (!tn_i_prices_new(&p, q, m)) return false;
    const bool ok = tn_i_plan_by_level(&p, cheapest, save, ns);
    tn_i_prices_free(&p);
    return ok;
}

/* Each boundary reads the file anew: a plan holds nothing. */
bool tn_i_plan_min_cut(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    const char *file = strstr(how->name, ":costs=");
    tn_i_cost_model named;
    double ns;
    if (file && !tn_i_cost_model_read(q->f->ctx, file + strlen(":costs="), &named)) return false;
    return tn_i_min_cut(file ? &named : &tn_i_shipped_costs, q, save, &ns);
}

/* ---- fewest bytes -------------------------------------------------------------------------- */

/* Whether e is costly itself; the programs it runs, if any, join those to look at. */
static bool look_at(const tn_i_eqn *e, tn_i_seen *programs, bool *found) {
    uint32_t number;
    bool fresh;
    const tn_fn *const *branch;
    const uint32_t n = tn_i_alternatives(e, &branch);
    if (e->prim->flags & TN_F_COSTLY) *found = true;
    for (uint32_t k = 0; k < n; k++)
        if (!tn_i_seen_add(programs, branch[k], &number, &fresh)) return false;
    return *found || !e->prim->body || tn_i_seen_add(programs, tn_i_p(e)[e->prim->body - 1].u.fn, &number, &fresh);
}

/* Whether e is costly, or any equation that it runs, at any depth. */
static bool costly(tn_ctx *c, const tn_i_eqn *e, bool *found) {
    tn_i_seen programs;
    tn_i_seen_init(&programs, c);
    *found = false;
    bool ok = look_at(e, &programs, found);
    for (size_t k = 0; ok && !*found && k < programs.n; k++) {
        const tn_fn *f = programs.fn[k];
        for (uint32_t i = 0; ok && !*found && i < f->neqn; i++) ok = look_at(&f->eqn[i], &programs, found);
    }
    tn_i_seen_free(&programs);
    return ok;
}

bool tn_i_plan_min_bytes(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    (void)how;
    const tn_fn *f = q->f;
    tn_i_prices p;
    if (!tn_i_prices_new(&p, q, &tn_i_shipped_costs)) return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->neqn; i++) {
        bool found;
        if (p.again[i] == INFINITY || !tn_i_makes_known(q, i)) continue;
        ok = costly(f->ctx, &f->eqn[i], &found);
        p.again[i] = found ? INFINITY : 0;
    }
    for (uint32_t v = 0; v < f->nval; v++) p.keep[v] = (double)tn_type_bytes(f->val[v].type);
    ok = ok && cheapest(&p, save, NULL);
    tn_i_prices_free(&p);
    return ok;
}
