/* An equation that runs one of several programs: every one is planned, for the same operands and into the same memory.
 */
#include "plan/planner.h"

static bool plan_branches(tn_i_planner *z, tn_i_fork *k, const tn_fn *const *f, const tn_i_body_args *a) {
    tn_i_plan *p = z->p;
    k->branch = (uint32_t)p->nbranch;
    if (!tn_i_grow(z->ctx, (void **)(void *)&p->branch, &p->cbranch, p->nbranch + k->n, sizeof *p->branch))
        return false;
    for (uint32_t i = 0; i < k->n; i++) {
        size_t bytes;
        const tn_i_plan *nested = tn_i_plan_nested(z, f[i], a, &bytes);
        if (!nested) return false;
        p->branch[p->nbranch++] = nested;
        if (bytes > k->bytes) k->bytes = bytes;
    }
    return true;
}

bool tn_i_add_branches(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s) {
    tn_i_plan *p = z->p;
    const tn_fn *const *f;
    tn_i_fork k = {.n = tn_i_alternatives(e, &f)};
    tn_i_body_args a;
    bool ok = tn_i_body_args_init(z, e, 1, &a) && tn_i_settle_operands(z, e, s->eqn, k.n, f, &a) &&
              plan_branches(z, &k, f, &a) && tn_i_add_arguments(z, e, k.bytes, &a, s, &k.arg) &&
              tn_i_grow(z->ctx, (void **)&p->fork, &p->cfork, p->nfork + 1, sizeof *p->fork);
    s->kind = TN_STEP_BRANCH;
    s->loop = (uint32_t)p->nfork;
    if (ok) p->fork[p->nfork++] = k;
    ok = ok && tn_i_step_add(z, s);
    tn_i_body_args_free(z, e, &a);
    return ok;
}
