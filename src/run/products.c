/* Products whose operands need no packing, described once: running one is an address for each operand and a call.  Two
 * of one matrix and two vectors, one behind the other, are one call. */
#include "plan/planner.h"
#include "plan/strides.h"
#include "prims/linear/dot.h"
#include "prims/ids.h"

#include <string.h>

static tn_i_arr described(const tn_i_planner *z, tn_i_var v) {
    tn_i_arr a = {.type = z->f->val[v].type};
    tn_i_place_strides(z, v, a.stride);
    return a;
}

bool tn_i_describe_product(const tn_i_planner *z, const tn_i_eqn *e, int triangle, tn_i_products *w) {
    const tn_i_var *in = tn_i_in(z->f, e);
    tn_i_arr operand[2] = {described(z, in[0]), described(z, in[1])}, out = described(z, e->out);
    const tn_i_kernel k = {
        .prim = e->prim, .p = tn_i_p(e), .nin = 2, .nout = 1, .in = operand, .out = &out, .triangle = triangle};
    return tn_i_dot_at_once(&k, w);
}

static bool describe_all(tn_i_planner *z) {
    tn_i_plan *p = z->p;
    for (size_t i = 0; i < p->nstep; i++) {
        tn_i_step *s = &p->step[i];
        const tn_i_eqn *e = &z->f->eqn[s->eqn];
        if (s->kind != TN_STEP_KERNEL || e->prim->id != TN_P_dot_general) continue;
        tn_i_products w;
        if (!tn_i_describe_product(z, e, s->triangle, &w)) continue;
        if (!tn_i_grow(z->ctx, (void **)&p->product, &p->cproduct, p->nproduct + 1, sizeof *p->product)) return false;
        s->at_once = true;
        s->loop = (uint32_t)p->nproduct;
        tn_i_product *q = &p->product[p->nproduct++];
        *q = (tn_i_product){.all = w};
        if (!tn_i_gemm_by_dots(&w, &q->dots)) q->dots.kernel = NULL;
    }
    return true;
}

/* What b writes is nowhere that a reads. */
static bool apart(const tn_i_planner *z, tn_i_var b, tn_i_var a) {
    const tn_i_place *x = &z->p->place[a], *y = &z->p->place[b];
    const int64_t nx = (int64_t)tn_type_bytes(z->f->val[a].type), ny = (int64_t)tn_type_bytes(z->f->val[b].type);
    if (x->base != y->base) return true;
    return x->stride == TN_DENSE && (x->offset + nx <= y->offset || y->offset + ny <= x->offset);
}

static bool same_place(const tn_i_planner *z, tn_i_var v, tn_i_var w) {
    return v == w || memcmp(&z->p->place[v], &z->p->place[w], sizeof *z->p->place) == 0;
}

static bool are_two(const tn_i_planner *z, const tn_i_step *s) {
    const tn_i_plan *p = z->p;
    if (!s[0].at_once || !s[1].at_once || s[0].follows) return false;
    tn_i_by_dots d;
    if (!tn_i_gemm_two(&p->product[s[0].loop].all, &p->product[s[1].loop].all, &d)) return false;
    const tn_i_eqn *one = &z->f->eqn[s[0].eqn], *other = &z->f->eqn[s[1].eqn];
    const tn_i_var *x = tn_i_in(z->f, one), *y = tn_i_in(z->f, other);
    return same_place(z, x[!d.turned], y[!d.turned]) && apart(z, other->out, x[0]) && apart(z, other->out, x[1]) &&
           apart(z, one->out, y[0]) && apart(z, one->out, y[1]);
}

/* requires: places are settled. */
bool tn_i_find_products(tn_i_planner *z) {
    tn_i_plan *p = z->p;
    if (z->root->plain) return true;
    if (!describe_all(z)) return false;
    for (size_t i = 0; i + 1 < p->nstep; i++)
        if (are_two(z, &p->step[i])) p->step[i].leads = p->step[i + 1].follows = true;
    return true;
}
