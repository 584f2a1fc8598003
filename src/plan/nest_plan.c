/* Planning `fused` equations: places as for any other, then a nest for the strides of these. */
#include "plan/planner.h"

#include <string.h>

bool tn_i_step_add_nest(tn_i_planner *z, tn_i_nest *n, tn_i_step *s) {
    tn_i_plan *p = z->p;
    if (!tn_i_grow(z->ctx, (void **)&p->nest, &p->cnest, p->nnest + 1, sizeof *p->nest)) {
        tn_i_nest_free(z->ctx, n);
        return false;
    }
    s->kind = TN_STEP_NEST;
    s->loop = (uint32_t)p->nnest;
    s->u.nest = n;
    p->nest[p->nnest++] = n;
    return true;
}

/* Output j is in the memory of an operand. */
static bool overwrites(const tn_i_planner *z, const tn_i_eqn *e, uint32_t j) {
    const tn_i_place *k = &z->p->place[e->out + j];
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_place *x = &z->p->place[tn_i_in(z->f, e)[i]];
        if (x->base == k->base && x->offset == k->offset) return true;
    }
    return false;
}

static bool add(tn_i_planner *z, const tn_i_eqn *e, const tn_i_draft *d, tn_i_step *s) {
    const size_t n = (size_t)e->nin + e->nout;
    int64_t(*stride)[TN_MAX_RANK] = tn_i_alloc_array(z->ctx, n, sizeof *stride);
    bool *over = tn_i_alloc_array(z->ctx, e->nout, sizeof *over);
    tn_i_nest *nest = NULL;
    if (stride && over) {
        for (uint32_t i = 0; i < e->nin; i++) tn_i_place_strides(z, tn_i_in(z->f, e)[i], stride[i]);
        for (uint32_t j = 0; j < e->nout; j++) {
            tn_i_place_strides(z, e->out + j, stride[e->nin + j]);
            over[j] = overwrites(z, e, j);
        }
        nest = tn_i_nest_new(d, (const int64_t(*)[TN_MAX_RANK])stride, over, z->root->accurate, z->root->threads);
    }
    tn_i_free(z->ctx, stride, n * sizeof *stride);
    tn_i_free(z->ctx, over, e->nout * sizeof *over);
    bool done = false;
    const bool ok = nest && tn_i_step_interior(z, e, nest, s->eqn, &done);
    if (!ok || done) tn_i_nest_free(z->ctx, nest);
    if (!ok || done) return ok;
    return tn_i_step_add_nest(z, nest, s) && tn_i_step_scratch(z, nest->scratch, s) && tn_i_step_add(z, s);
}

bool tn_i_step_nest(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s, bool *done) {
    tn_i_draft d;
    *done = false;
    bool ok = tn_i_draft_init(tn_i_body(e), &d);
    if (ok && d.fits) {
        z->draft = &d;
        ok = tn_i_place_outputs(z, e) && add(z, e, &d, s);
        z->draft = NULL;
        *done = true;
    }
    tn_i_draft_drop(&d);
    return ok;
}

void tn_i_nests_placed(tn_i_planner *z) {
    const tn_i_plan *p = z->p;
    for (size_t k = 0; k < p->nstep; k++) {
        if (p->step[k].kind != TN_STEP_NEST) continue;
        const tn_i_eqn *e = &z->f->eqn[p->step[k].eqn];
        tn_i_nest *n = p->nest[p->step[k].loop];
        for (uint32_t i = 0; i < n->narray; i++) {
            tn_i_nest_array *a = &n->array[i];
            const tn_i_place *x = &p->place[a->arg < n->nin ? tn_i_in(z->f, e)[a->arg] : e->out + (a->arg - n->nin)];
            a->base = x->base;
            a->at = x->offset + a->offset * (int64_t)tn_i_dtype_size(a->dtype);
        }
    }
}
