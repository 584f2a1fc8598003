/* Operands of concatenations that are made where the concatenation has them.
 *
 *     a = ..          made in the first part of y's memory, which is taken when a is made
 *     b = ..          in the second part
 *     y = concatenate[dimension=0] a b      nothing is left to do
 *
 * So where nothing else reads an operand, and the dimensions before the one that grows have size 1; through reshapes,
 * and through concatenations of concatenations.  What is not made there is copied by a move.  The memory of y lives
 * longer for it, that of the operands not at all: plan.c takes whichever plan needs less. */
#include "plan/planner.h"

#include "prims/ranks/collective_run.h"
#include "prims/ids.h"

#include <string.h>

/* ---- which --------------------------------------------------------------------------------------------- */

static bool is_concatenation(const tn_i_eqn *e) { return e->prim->id == TN_P_concatenate; }

/* Parts of its result are dense. */
static bool in_parts(const tn_i_planner *z, const tn_i_eqn *e) {
    const tn_type *t = z->f->val[e->out].type;
    if (!is_concatenation(e) || tn_i_empty(t) || tn_i_has_steps(t)) return false;
    for (int64_t i = 0; i < tn_i_p(e)[0].u.i; i++)
        if (t->dim[i] != 1) return false;
    return true;
}

/* Bytes in front of operand k. */
static int64_t offset_of(const tn_i_planner *z, const tn_i_eqn *e, uint32_t k) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < k; i++) bytes += (int64_t)tn_type_bytes(z->f->val[tn_i_in(z->f, e)[i]].type);
    return bytes;
}

/* Nothing but one equation reads it, and that alone says where it is. */
static bool has_one_reader(const tn_i_planner *z, tn_i_var v) {
    return z->uses[v] == 1 && z->out_of[v] == TN_NOVAR && !tn_i_has_steps(z->f->val[v].type);
}

/* Places of its own making are not asked for: of what is computed, and is there when its equation is over. */
static bool is_made(const tn_i_planner *z, tn_i_var v) {
    const uint32_t def = z->f->val[v].def;
    return def < z->f->neqn && !tn_i_waits(&z->f->eqn[def]) && !(z->f->eqn[def].prim->flags & TN_F_OFFLOAD) &&
           !tn_i_empty(z->f->val[v].type);
}

/* Where v goes, which operand k of e is: further where the result of e does. */
static void follow(tn_i_planner *z, const tn_i_eqn *e, uint32_t k) {
    tn_i_join *const join = z->join;
    const tn_i_var v = tn_i_in(z->f, e)[k];
    const tn_i_join on = join[e->out];
    if (!has_one_reader(z, v) || !is_made(z, v)) return;
    if (e->prim->id == TN_P_reshape)
        join[v] = on;
    else if (in_parts(z, e)) {
        const int64_t at = offset_of(z, e, k);
        join[v] = on.into == TN_NOVAR ? (tn_i_join){.into = e->out, .offset = at}
                                      : (tn_i_join){.into = on.into, .offset = on.offset + at};
    }
}

bool tn_i_find_joins(tn_i_planner *z) {
    const tn_fn *f = z->f;
    bool some = false;
    if (z->root->plain || z->p->apart || z->p->ngroup) return true;
    for (uint32_t i = 0; i < f->neqn && !some; i++) some = z->live[i] && in_parts(z, &f->eqn[i]);
    if (!some) return true;
    if (!(z->join = tn_i_alloc_array(z->ctx, f->nval, sizeof *z->join))) return false;
    if (!(z->p->within = tn_i_alloc_array(z->ctx, f->nval, sizeof *z->p->within))) return false;
    memset(z->p->within, 0xFF, f->nval * sizeof *z->p->within);
    for (uint32_t v = 0; v < f->nval; v++) z->join[v] = (tn_i_join){.into = TN_NOVAR};
    for (uint32_t i = f->neqn; i-- > 0;) { /* readers first */
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t k = 0; z->live[i] && k < e->nin; k++) follow(z, e, k);
    }
    return true;
}

/* ---- where --------------------------------------------------------------------------------------------- */

tn_i_var tn_i_join_of(const tn_i_planner *z, tn_i_var v, int64_t *offset) {
    *offset = 0;
    if (!z->join) return TN_NOVAR;
    const tn_i_join j = z->join[v];
    *offset = j.into == TN_NOVAR ? 0 : j.offset;
    return j.into == TN_NOVAR && is_concatenation(&z->f->eqn[z->f->val[v].def]) ? v : j.into;
}

/* It is where it belongs, or is nothing. */
static bool is_there(const tn_i_planner *z, tn_i_var v, const tn_i_place *to) {
    const tn_i_place *k = &z->p->place[v];
    return tn_i_empty(z->f->val[v].type) || (k->base == to->base && k->offset == to->offset && k->stride == TN_DENSE);
}

bool tn_i_step_joined(tn_i_planner *z, const tn_i_eqn *e, uint32_t eqn, bool *done) {
    if (!z->join || !in_parts(z, e)) return true;
    const tn_i_var *in = tn_i_in(z->f, e);
    const tn_i_place at = z->p->place[e->out];
    uint32_t there = 0;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_place to = {.offset = at.offset + offset_of(z, e, k), .base = at.base, .stride = TN_DENSE};
        there += is_there(z, in[k], &to);
    }
    if (there == 0) return true;
    *done = true;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_place to = {.offset = at.offset + offset_of(z, e, k), .base = at.base, .stride = TN_DENSE};
        if (!is_there(z, in[k], &to) && !tn_i_step_move(z, eqn, in[k], &z->p->place[in[k]], &to)) return false;
    }
    return true;
}
