/* What the next step of a loop will read, while a kernel of this one reads its operands for the second time. */
#include "base/machine.h"
#include "plan/loop.h"
#include "plan/planner.h"
#include "prims/ids.h"

static bool comes_from_memory(const tn_i_plan *body, const tn_i_loop *l, const tn_i_mover *m) {
    if (m->stack || m->arg == TN_NOVAR || body->place[m->at - TN_BASE_ARGUMENTS].stride != TN_DENSE) return false;
    const int64_t bytes = (int64_t)tn_type_bytes(body->f->val[m->at - TN_BASE_ARGUMENTS].type);
    return m->by == bytes && bytes >= TN_M_PREFETCH_LEAST && bytes <= TN_M_PREFETCH_MOST &&
           l->shape.length >= TN_M_PREFETCH_ALL / bytes;
}

static bool same_place(const tn_i_place *a, const tn_i_place *b) {
    return a->base == b->base && a->offset == b->offset;
}

/* Marks the last of the products that read an entry, or a part of it, again.  Not behind two products in one pass,
 * which have so much to do with what they read that memory keeps up with them. */
static void mark(tn_i_plan *p, uint32_t at) {
    const tn_i_place *last = NULL;
    tn_i_step *marked = NULL;
    bool read = false;
    for (size_t i = 0; i < p->nstep; i++) {
        tn_i_step *s = &p->step[i];
        const tn_i_eqn *e = &p->f->eqn[s->eqn];
        const bool again = read;
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_place *from = &p->place[tn_i_in(p->f, e)[k]];
            if (tn_i_is_literal(p->f, tn_i_in(p->f, e)[k]) || from->base != at) continue;
            if (s->leads) return;
            read = true;
            if (!again || k > 1 || s->kind != TN_STEP_KERNEL || e->prim->id != TN_P_dot_general) continue;
            if (last && same_place(last, from)) marked->ahead = 0;
            s->ahead = (uint8_t)(s->ahead | 1u << k);
            s->at_once = false; /* where the next entry is is found out when it runs */
            marked = s;
            last = from;
        }
    }
}

void tn_i_plan_prefetch(tn_i_plan *body, const tn_i_loop *l) {
    if (l->cond || l->shape.reverse || l->shape.length == TN_I_STEPS) return;
    for (uint32_t k = 0; k < l->nmover; k++)
        if (comes_from_memory(body, l, &l->mover[k])) mark(body, l->mover[k].at);
}
