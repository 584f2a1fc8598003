/* tn_check: what the checker proves, and what only trying can show of a linear_call. */
#include "control/linear_call.h"
#include "ir/seen.h"
#include "prims/prim.h"

static bool try_program(const tn_fn *f, tn_i_seen *seen);

static bool try_equation(const tn_i_eqn *e, tn_i_seen *seen) {
    for (uint32_t k = 0; e->params && k < e->params->n; k++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[k], &g);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t number;
            bool fresh;
            if (!tn_i_seen_add(seen, g[i], &number, &fresh) || (fresh && !try_program(g[i], seen))) return false;
        }
    }
    if (e->prim->id != TN_P_linear_call || e->params->v[2].kind != TN_K_NONE) return true; /* one_way: by its word */
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
