/* Facts about equations. */
#include "opt/equations.h"
#include "prims/ids.h"

const tn_fn *tn_i_body(const tn_i_eqn *e) {
    if (e->prim->kernel || !e->prim->body || !e->params) return NULL;
    const tn_i_param *p = &e->params->v[e->prim->body - 1];
    return p->kind == TN_K_FN ? p->u.fn : NULL;
}

static bool effect_within(const tn_i_eqn *e) {
    for (uint32_t k = 0; e->params && k < e->params->n; k++) {
        const tn_fn *const *f;
        const uint32_t n = tn_i_programs(&e->params->v[k], &f);
        for (uint32_t i = 0; i < n; i++)
            if (f[i]->effect) return true;
    }
    return false;
}

bool tn_i_eqn_effect(const tn_i_eqn *e) {
    const tn_fn *body = tn_i_body(e);
    return (e->prim->effect && e->prim->effect(tn_i_p(e))) || (body && body->effect) ||
           ((e->prim->flags & TN_F_LOOP) && effect_within(e));
}

const void *tn_i_constant_data(const tn_i_eqn *e) {
    if (e->prim->id != TN_P_constant || !e->params || e->params->v[0].kind != TN_K_BLOB) return NULL;
    return tn_i_blob_data(e->params->v[0].u.blob);
}
