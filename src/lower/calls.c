/* Kernels of the library as calls: of products, factorizations, sorts, functions of the user's, and the driver of loops
 * with schedules.  A call is given the
 * addresses of operands, outputs and scratch memory, which is all that it touches, and the step's number; which arrays
 * these are the step knows (run/kernel_run.c). */
#include "lower/nest_i.h"

#include "plan/planner.h"
#include "plan/replay.h"
#include "plan/strides.h"

/* Of a value of type t at k.  From the first element in memory to the last: what is not dense has elements of others
 * between. */
static void give_at(const tn_i_lower_part *w, const tn_type *t, const tn_i_place *k, tn_i_l_access access) {
    static const uint8_t roles[] = {[TN_L_READ] = TN_L_IN, [TN_L_WRITE] = TN_L_OUT, [TN_L_UPDATE] = TN_L_INOUT};
    const tn_i_lower_place q = tn_i_lower_inside(w->frame, k);
    int64_t stride[TN_MAX_RANK], n = 1;
    tn_i_place_strides_of(w->p, t, k, stride);
    for (int d = 0; d < t->rank; d++) n += stride[d] * (t->dim[d] - 1);
    const int dtype = tn_i_is_half(t->dtype) ? TN_U16 : t->dtype;
    const char *const name = access == TN_L_READ ? "from" : "to";
    const uint32_t array = tn_i_lower_array(w->b, &q, name, dtype, roles[access], n, 0, 0);
    tn_i_l_call_array(w->b, (int)access, array, tn_i_lower_first(w->b, &q, t->dtype), n);
}

static void give(const tn_i_lower_part *w, tn_i_var v, bool out) {
    const tn_i_place *k = &w->p->place[v];
    const tn_i_l_access written = k->stride == TN_DENSE ? TN_L_WRITE : TN_L_UPDATE;
    give_at(w, w->p->f->val[v].type, k, out ? written : TN_L_READ);
}

/* Bytes of the arena. */
static void give_bytes(const tn_i_lower_part *w, const char *name, int64_t at, size_t n, tn_i_l_access access) {
    tn_i_lower_place q = tn_i_lower_entry(w->frame, TN_BASE_ARENA);
    q.at += at;
    const int role = access == TN_L_WRITE ? TN_L_OUT : TN_L_INOUT;
    const uint32_t array = tn_i_lower_array(w->b, &q, name, TN_U8, role, (int64_t)n, 0, 0);
    tn_i_l_call_array(w->b, (int)access, array, tn_i_lower_first(w->b, &q, TN_U8), (int64_t)n);
}

/* A product at once takes none. */
static void give_scratch(const tn_i_lower_part *w, const tn_i_step *s) {
    if (s->nscratch && !s->at_once) give_bytes(w, "scratch", s->scratch, s->nscratch, TN_L_WRITE);
}

static void give_all(const tn_i_lower_part *w, const tn_i_step *s) {
    const tn_i_eqn *e = &w->p->f->eqn[s->eqn];
    for (uint32_t i = 0; i < e->nin; i++) give(w, tn_i_in(w->p->f, e)[i], false);
    for (uint32_t j = 0; j < e->nout; j++) give(w, e->out + j, true);
    give_scratch(w, s);
}

/* The second of two products that are one goes with the first. */
void tn_i_lower_call(const tn_i_lower_part *w, const tn_i_step *s) {
    const tn_i_plan *p = w->p;
    if (s->follows) return;
    tn_i_l_call(w->b, tn_i_l_kernel_new(w->b, p->f->eqn[s->eqn].prim->name, p->called, p));
    give_all(w, s);
    if (s->leads) give_all(w, s + 1);
    tn_i_l_call_integer(w->b, tn_i_affine_number(s - p->step));
}

/* ---- loops with schedules ------------------------------------------------------------------------------------ */

/* What has no memory has no place. */
static bool is_placed(const tn_i_plan *p, tn_i_var v, const tn_i_place *k) {
    return (k->base != TN_BASE_ABSOLUTE || k->offset) && !tn_i_empty(p->f->val[v].type);
}

/* Of the loop that the group is for the outputs are what it carries, too, which has been copied there. */
static void give_loop(const tn_i_lower_part *w, const tn_i_actor *a) {
    const tn_i_plan *p = w->p;
    const tn_i_eqn *e = &p->f->eqn[a->eqn];
    const tn_i_loop_shape *s = &a->shape;
    for (uint32_t i = 0; i < e->nin; i++) {
        const bool carried = a->self && i >= s->carry0 && i < s->carry0 + s->ncarry;
        const tn_i_var v = tn_i_in(p->f, e)[i];
        const tn_i_place *k = &p->arg[a->arg + i];
        if (!carried && is_placed(p, v, k)) give_at(w, p->f->val[v].type, k, TN_L_READ);
    }
    for (uint32_t m = 0; m < a->moves; m++) {
        const tn_i_move *move = &p->move[a->first_move + m];
        give_at(w, p->f->val[move->v].type, &move->from, TN_L_READ);
    }
    for (uint32_t j = 0; a->self && j < e->nout; j++)
        if (is_placed(p, e->out + j, &p->place[e->out + j]))
            give_at(w, p->f->val[e->out + j].type, &p->place[e->out + j], TN_L_UPDATE);
}

/* Snapshots that are taken for a later loop are there until it has run. */
void tn_i_lower_group(const tn_i_lower_part *w, const tn_i_step *s) {
    const tn_i_plan *p = w->p;
    const tn_i_group *g = &p->group[s->loop], *led = g->leads == TN_NOVAR ? NULL : &p->group[g->leads];
    tn_i_l_call(w->b, tn_i_l_kernel_new(w->b, p->f->eqn[s->eqn].prim->name, p->called, p));
    for (uint32_t k = 0; k < g->nactor; k++) give_loop(w, &g->actor[k]);
    give_bytes(w, "scratch", s->scratch, g->bytes, TN_L_WRITE);
    if (g->schedule) give_bytes(w, "snapshots", g->memory, g->memory_bytes, TN_L_UPDATE);
    if (led) give_bytes(w, "snapshots", led->memory, led->memory_bytes, TN_L_UPDATE);
    tn_i_l_call_integer(w->b, tn_i_affine_number(s - p->step));
}
