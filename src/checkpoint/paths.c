/* Every save set of a program, each once: values that nobody asks for are not decided on. */
#include "checkpoint/candidates.h"
#include "checkpoint/plans.h"
#include "prims/prim.h"

#include <string.h>

static bool decide(tn_i_path *p) {
    if (p->at == p->n) {
        if (p->n == TN_I_EXACT_VALUES) {
            p->deep = true;
            return false;
        }
        p->decision[p->n++] = 0;
    }
    return p->decision[p->at++] != 0;
}

bool tn_i_path_next(tn_i_path *p) {
    p->n = p->at; /* another path may have been longer */
    p->at = 0;
    while (p->n > 0 && p->decision[p->n - 1]) p->n--;
    if (p->n == 0) return false;
    p->decision[p->n - 1] = 1;
    return true;
}

/* Whether e only looks at what is there without any save, and is no smaller: partial evaluation makes it
 * again whatever is said. */
static bool surely_free(const tn_i_boundary *q, const tn_i_eqn *e, const uint8_t *at_hand) {
    if (!(e->prim->flags & TN_F_VIEW) || e->nin == 0) return false;
    const tn_i_var v = tn_i_in(q->f, e)[0];
    if (tn_i_is_literal(q->f, v)) return true;
    return at_hand[v] && tn_type_bytes(q->f->val[v].type) <= tn_type_bytes(q->f->val[e->out].type);
}

static void find_at_hand(const tn_i_boundary *q, uint8_t *at_hand) {
    const tn_fn *f = q->f;
    for (uint32_t v = 0; v < f->nval; v++) at_hand[v] = v < f->nin ? q->known[v] : tn_i_is_literal(f, v);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool is = e->nin == 0 || ((e->prim->flags & TN_F_VIEW) && at_hand[tn_i_in(f, e)[0]]);
        for (uint32_t j = 0; j < e->nout; j++) at_hand[e->out + j] = is && q->known[e->out + j];
    }
}

/* From the last equation to the first, so that who reads a value is decided before the value is. */
static void follow(tn_i_path *p, const tn_i_boundary *q, const uint8_t *at_hand, uint8_t *wanted, uint8_t *save) {
    const tn_fn *f = q->f;
    for (uint32_t i = f->neqn; i-- > 0 && !p->deep;) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!tn_i_makes_known(q, i)) continue;
        const bool once = (e->prim->effect && e->prim->effect(tn_i_p(e))) || tn_i_speaks(e),
                   at_once = surely_free(q, e, at_hand);
        bool again = false;
        for (uint32_t v = e->out; v < e->out + e->nout; v++) {
            if (!wanted[v]) continue;
            save[v] = once || (!at_once && decide(p));
            again |= !save[v];
        }
        for (uint32_t k = 0; k < e->nin && again; k++) wanted[tn_i_in(f, e)[k]] = 1;
    }
}

bool tn_i_plan_path(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    tn_i_path *p = how->user;
    const size_t n = q->f->nval;
    uint8_t *bytes = tn_i_alloc_array(q->f->ctx, n, 2);
    if (!bytes) return false;
    memset(save, 0, n);
    memcpy(bytes + n, q->needed, n);
    find_at_hand(q, bytes);
    follow(p, q, bytes, bytes + n, save);
    tn_i_free(q->f->ctx, bytes, 2 * n);
    return !p->deep;
}
