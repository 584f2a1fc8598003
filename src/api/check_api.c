/* tn_check: what the checker proves, and what only trying can show of a linear_call. */
#include "control/linear_call.h"
#include "ir/seen.h"
#include "prims/prim.h"

static bool try_program(const tn_fn *f, tn_i_seen *seen);

static bool try_equation(const tn_i_eqn *e, tn_i_seen *seen) {
    for (uint32_t k = 0; e->params && k < e->params->n; k++) {
        const tn_i_param *p = &e->params->v[k];
        uint32_t number;
        bool fresh;
        if (p->kind != TN_K_FN) continue;
        if (!tn_i_seen_add(seen, p->u.fn, &number, &fresh) || (fresh && !try_program(p->u.fn, seen))) return false;
    }
    if (e->prim->id != TN_P_linear_call) return true;
    return tn_i_linear_call_check(e->params->v[0].u.fn, e->params->v[1].u.fn);
}

static bool try_program(const tn_fn *f, tn_i_seen *seen) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (!try_equation(&f->eqn[i], seen)) return false;
    return true;
}

tn_status tn_check(const tn_fn *f) {
    if (!f) return TN_EINVAL;
    if (!tn_i_check(f)) return f->ctx->status;
    tn_i_seen seen;
    tn_i_seen_init(&seen, f->ctx);
    const bool ok = try_program(f, &seen);
    tn_i_seen_free(&seen);
    return ok ? TN_OK : f->ctx->status;
}
