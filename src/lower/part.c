/* A plan as part of a loop program: its steps in their order, and the copies behind them.
 *
 * A program that a step runs is the same for the places that it is given: its entries are told by those of the plan
 * around (frame.c).  Of several programs each is the body of an IF; what they make is in memory, as where they are
 * called. */
#include "lower/nest_i.h"

#include "plan/loop.h"
#include "plan/planner.h"
#include "plan/strides.h"

#include <string.h>

/* ---- copies ------------------------------------------------------------------------------------------- */

tn_i_lower_side tn_i_lower_side_of(const tn_i_lower_part *w, const tn_type *t, const tn_i_place *k, bool out) {
    const tn_i_lower_place q = tn_i_lower_inside(w->frame, k);
    int64_t first = 0, last = 0;
    tn_i_lower_side z;
    tn_i_place_strides_of(w->p, t, k, z.stride);
    for (int d = 0; d < t->rank; d++) *(z.stride[d] < 0 ? &first : &last) += z.stride[d] * (t->dim[d] - 1);
    const int dtype = tn_i_is_half(t->dtype) ? TN_U16 : t->dtype; /* of NaNs the bits, too */
    z.array = tn_i_lower_array(w->b, &q, out ? "to" : "from", dtype, out ? TN_L_OUT : TN_L_IN, last - first + 1,
                               first * (int64_t)tn_i_dtype_size(t->dtype), 0);
    z.e = tn_i_affine_add(w->b, tn_i_lower_first(w->b, &q, t->dtype), 1, tn_i_affine_number(-first));
    return z;
}

void tn_i_lower_elements(tn_i_l_builder *b, int rank, const int64_t *dim, tn_i_lower_side x, tn_i_lower_side y) {
    uint32_t open = 0;
    for (int d = 0; d < rank; d++) {
        if (dim[d] == 1) continue;
        const uint32_t loop = tn_i_l_for_n(b, dim[d]);
        open++;
        if (x.stride[d]) x.e = tn_i_affine_term(b, x.e, loop, x.stride[d]);
        if (y.stride[d]) y.e = tn_i_affine_term(b, y.e, loop, y.stride[d]);
    }
    tn_i_l_store_at(b, y.array, y.e, tn_i_l_load_at(b, x.array, x.e));
    while (open-- > 0) tn_i_l_close(b);
}

void tn_i_lower_copy(const tn_i_lower_part *w, const tn_type *t, const tn_i_place *from, const tn_i_place *to) {
    if (tn_i_count(t) == 0) return;
    const tn_i_lower_side x = tn_i_lower_side_of(w, t, from, false), y = tn_i_lower_side_of(w, t, to, true);
    tn_i_lower_elements(w->b, t->rank, t->dim, x, y);
}

bool tn_i_lower_same_place(const tn_i_lower_part *w, const tn_i_place *a, const tn_i_place *b) {
    const tn_i_lower_place x = tn_i_lower_inside(w->frame, a), y = tn_i_lower_inside(w->frame, b);
    bool same = x.base == y.base && x.at == y.at && x.first == y.first && x.n == y.n;
    for (uint32_t i = 0; same && i < x.n; i++) same = x.walk[i].loop == y.walk[i].loop && x.walk[i].by == y.walk[i].by;
    return same && a->stride == TN_DENSE && b->stride == TN_DENSE;
}

static void move(const tn_i_lower_part *w, const tn_i_move *m) {
    if (!tn_i_lower_same_place(w, &m->from, &m->to)) tn_i_lower_copy(w, w->p->f->val[m->v].type, &m->from, &m->to);
}

/* ---- programs within ---------------------------------------------------------------------------------- */

void tn_i_lower_count(const tn_i_lower_part *w, uint32_t counter, uint32_t x) {
    if (w->counters->array == TN_L_NONE) return;
    const tn_i_affine at = tn_i_affine_number(counter);
    const uint32_t was = tn_i_l_load_at(w->b, w->counters->array, at);
    tn_i_l_store_at(w->b, w->counters->array, at, tn_i_l_map(w->b, TN_L_add, was, x, TN_L_NONE));
}

/* As run_nested enters it (run/run.c); its operands are at w->p->arg[arg] and on. */
static void run_nested(const tn_i_lower_part *w, const tn_i_step *s, const tn_i_plan *inside, size_t arg) {
    const tn_i_eqn *e = &w->p->f->eqn[s->eqn];
    const tn_fn *f = inside->f;
    const size_t n = tn_i_lower_entries(f);
    tn_i_lower_place *frame = tn_i_alloc_array(w->b->ctx, n, sizeof *frame), *at;
    if (!(at = frame)) {
        w->b->failed = true;
        return;
    }
    *at++ = (tn_i_lower_place){.base = TN_BASE_ABSOLUTE};
    *at = tn_i_lower_entry(w->frame, TN_BASE_ARENA);
    at++->at += s->scratch + (int64_t)inside->frame;
    for (uint32_t i = 0; i < f->nin; i++) *at++ = tn_i_lower_inside(w->frame, &w->p->arg[arg + i]);
    for (uint32_t j = 0; j < f->nout; j++) *at++ = tn_i_lower_inside(w->frame, &w->p->place[e->out + j]);
    tn_i_lower_plan(&(tn_i_lower_part){.b = w->b, .p = inside, .frame = frame, .counters = w->counters});
    tn_i_free(w->b->ctx, frame, n * sizeof *frame);
}

/* Whether program k of n is the one, as tn_i_chosen has it. */
static uint32_t is_chosen(tn_i_l_builder *b, uint32_t index, int dtype, uint32_t k, uint32_t n) {
    if (dtype == TN_BOOL) return k ? index : tn_i_l_map(b, TN_L_not, index, TN_L_NONE, TN_L_NONE);
    const tn_i_l_code code = k == 0 ? TN_L_le : k == n - 1 ? TN_L_ge : TN_L_eq;
    return tn_i_l_map(b, code, index, tn_i_l_number(b, dtype, k), TN_L_NONE);
}

static void run_branch(const tn_i_lower_part *w, const tn_i_step *s) {
    const tn_i_fork *k = &w->p->fork[s->loop]; /* two or more */
    const tn_type *t = w->p->f->val[tn_i_in(w->p->f, &w->p->f->eqn[s->eqn])[0]].type;
    const tn_i_lower_place q = tn_i_lower_inside(w->frame, &w->p->arg[k->arg]);
    const uint32_t array = tn_i_lower_array(w->b, &q, "index", t->dtype, TN_L_IN, 1, 0, 0);
    const uint32_t index = tn_i_l_load_at(w->b, array, tn_i_lower_first(w->b, &q, t->dtype));
    for (uint32_t i = 0; i < k->n && !w->b->failed; i++) {
        const bool is_else = k->n == 2 && i == 1;
        if (is_else)
            tn_i_l_else(w->b);
        else
            tn_i_l_if(w->b, is_chosen(w->b, index, t->dtype, i, k->n));
        tn_i_lower_count(w, w->counters->next++, tn_i_l_number(w->b, TN_I64, 1));
        run_nested(w, s, w->p->branch[k->branch + i], (size_t)k->arg + 1);
        if (k->n > 2 || is_else) tn_i_l_close(w->b);
    }
}

/* ---- steps -------------------------------------------------------------------------------------------- */

static void kernel(const tn_i_lower_part *w, const tn_i_step *s) {
    switch (tn_i_part_kernel(w->p, s)) {
    case TN_KERNEL_BOXES: tn_i_lower_boxes(w, s); break;
    case TN_KERNEL_SCAN: tn_i_lower_scan(w, s); break;
    case TN_KERNEL_WINDOWS: tn_i_lower_windows(w, s); break;
    case TN_KERNEL_CALL: tn_i_lower_call(w, s); break;
    case TN_KERNEL_NOT: break; /* tn_i_part_measure has refused it */
    }
}

static void step(const tn_i_lower_part *w, const tn_i_step *s) {
    switch ((tn_i_step_kind)s->kind) {
    case TN_STEP_NEST: (void)tn_i_lower_into(w->b, s->u.nest, w->frame); break;
    case TN_STEP_MOVE: move(w, &w->p->move[s->loop]); break;
    case TN_STEP_KERNEL: kernel(w, s); break;
    case TN_STEP_BODY: run_nested(w, s, s->u.body, s->loop); break;
    case TN_STEP_BRANCH: run_branch(w, s); break;
    case TN_STEP_LOOP: tn_i_lower_loop_step(w, s); break;
    case TN_STEP_GROUP: tn_i_lower_group(w, s); break;
    default: break; /* tn_i_part_measure has refused it */
    }
}

void tn_i_lower_plan(const tn_i_lower_part *w) {
    const tn_i_plan *p = w->p;
    for (size_t i = 0; i < p->nstep && !w->b->failed; i++) step(w, &p->step[i]);
    for (size_t i = p->last_move; i < p->nmove && !w->b->failed; i++) move(w, &p->move[i]);
}

tn_i_loops *tn_i_lower_segment(tn_ctx *c, const tn_i_plan *p, const tn_i_segment *g) {
    tn_i_l_builder b;
    tn_i_lower_counters counters = {.array = TN_L_NONE};
    const tn_i_lower_part w = {.b = &b, .p = p, .counters = &counters};
    tn_i_l_begin(&b, c);
    tn_i_l_arena(&b, TN_LOWER_SCRATCH, 0);
    for (size_t i = g->first; i < g->first + g->n && !b.failed; i++) step(&w, &p->step[i]);
    return tn_i_l_end(&b);
}

tn_i_loops *tn_i_lower_all(tn_ctx *c, const tn_i_plan *p) {
    tn_i_l_builder b;
    tn_i_lower_counters counters = {.array = TN_L_NONE};
    tn_i_l_begin(&b, c);
    b.forgotten = TN_BASE_ARENA;
    tn_i_l_arena(&b, TN_LOWER_SCRATCH, 0);
    tn_i_lower_plan(&(tn_i_lower_part){.b = &b, .p = p, .counters = &counters});
    return tn_i_l_end(&b);
}
