/* Kernels of the library as calls: of products, factorizations, sorts, functions of the user's.  A call is given the
 * addresses of operands, outputs and scratch memory, which is all that it touches, and the step's number; which arrays
 * these are the step knows (run/kernel_run.c). */
#include "lower/nest_i.h"

#include "plan/planner.h"
#include "plan/strides.h"

/* From the first element in memory to the last.  What is not dense has elements of others between. */
static void give(const tn_i_lower_part *w, tn_i_var v, bool out) {
    const tn_type *t = w->p->f->val[v].type;
    const tn_i_place *k = &w->p->place[v];
    const tn_i_lower_place q = tn_i_lower_inside(w->frame, k);
    const bool all = k->stride == TN_DENSE;
    int64_t stride[TN_MAX_RANK], n = 1;
    tn_i_place_strides_of(w->p, t, k, stride);
    for (int d = 0; d < t->rank; d++) n += stride[d] * (t->dim[d] - 1);
    const int dtype = tn_i_is_half(t->dtype) ? TN_U16 : t->dtype, role = !out ? TN_L_IN : all ? TN_L_OUT : TN_L_INOUT;
    const uint32_t array = tn_i_lower_array(w->b, &q, out ? "to" : "from", dtype, role, n, 0, 0);
    tn_i_l_call_array(w->b,
                      !out  ? TN_L_READ
                      : all ? TN_L_WRITE
                            : TN_L_UPDATE,
                      array, tn_i_lower_first(w->b, &q, t->dtype), n);
}

/* A product at once takes none. */
static void give_scratch(const tn_i_lower_part *w, const tn_i_step *s) {
    if (s->nscratch == 0 || s->at_once) return;
    tn_i_lower_place q = tn_i_lower_entry(w->frame, TN_BASE_ARENA);
    q.at += s->scratch;
    const uint32_t array = tn_i_lower_array(w->b, &q, "scratch", TN_U8, TN_L_OUT, (int64_t)s->nscratch, 0, 0);
    tn_i_l_call_array(w->b, TN_L_WRITE, array, tn_i_lower_first(w->b, &q, TN_U8), (int64_t)s->nscratch);
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
