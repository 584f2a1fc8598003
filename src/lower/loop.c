/* A loop of the plan, all its steps, as one loop program.
 *
 * Where a step is little work, entering its nests one by one takes longer than they do.  So the loop is a FOR, in which
 * nests, copies and carries are loops over arrays like all others: what each step finds where is affine in its number,
 * and passes see through from one nest to the next.
 *
 * A carry with two buffers goes from that in which it leaves a step to that in which it enters one. */
#include "lower/nest_i.h"

#include "exec/strides.h"

#include <string.h>

typedef struct steps {
    tn_i_l_builder *b;
    const tn_i_loop *l;
    tn_i_lower_steps s;
} steps;

static const tn_i_plan *body(const steps *w) { return w->l->body; }

/* ---- what moves ------------------------------------------------------------------------------------- */

static size_t bases_of(const tn_i_loop *l) {
    return TN_BASE_ARGUMENTS + (size_t)l->shape.body->nin + l->shape.body->nout;
}

static void find_movers(const tn_i_loop *l, int64_t *by) {
    memset(by, 0, bases_of(l) * sizeof *by);
    for (uint32_t i = 0; i < l->nmover; i++) by[l->mover[i].at] = l->mover[i].by;
}

/* The step's number, in the memory of the body's first input. */
static void put_number(steps *w) {
    const tn_i_plan *p = body(w);
    if (!w->l->shape.index) return;
    const int dtype = p->f->val[0].type->dtype;
    const uint32_t to = tn_i_l_array_new(w->b, "step", dtype, TN_L_OUT, 1, TN_BASE_ARGUMENTS, 0, 0);
    const int64_t n = w->s.n;
    const tn_i_affine i = w->s.reverse ? tn_i_affine_loop(w->s.loop, -1, n - 1) : tn_i_affine_loop(w->s.loop, 1, 0);
    tn_i_l_store_at(w->b, to, tn_i_affine_number(0), tn_i_l_index(w->b, dtype, i));
}

/* ---- copies ------------------------------------------------------------------------------------------- */

typedef struct side {
    uint32_t array;
    tn_i_affine e;
    int64_t stride[TN_MAX_RANK];
} side;

/* One side of a copy of a value of type t, not empty, at a place. */
static side side_of(steps *w, const tn_type *t, const tn_i_place *k, bool out) {
    const size_t size = tn_i_dtype_size(t->dtype);
    int64_t last = 0;
    side z = {.e = tn_i_lower_entry(&w->s, k->base, size)};
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(t, z.stride);
    else
        memcpy(z.stride, body(w)->number + k->stride, (size_t)t->rank * sizeof *z.stride);
    for (int d = 0; d < t->rank; d++) last += z.stride[d] * (t->dim[d] - 1);
    const int64_t count = last + 1 + tn_i_lower_more(&w->s, k->base, size);
    const char *name = out ? "to" : "from";
    z.array = k->base == TN_BASE_ABSOLUTE
                  ? tn_i_l_const(w->b, name, t->dtype, count, (const void *)(uintptr_t)k->offset, false)
                  : tn_i_l_array_new(w->b, name, t->dtype, out ? TN_L_OUT : TN_L_IN, count, k->base, k->offset, 0);
    return z;
}

static void copy(steps *w, const tn_type *t, const tn_i_place *from, const tn_i_place *to) {
    if (tn_i_count(t) == 0) return;
    side x = side_of(w, t, from, false), y = side_of(w, t, to, true);
    uint32_t open = 0;
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] == 1) continue;
        const uint32_t loop = tn_i_l_for_n(w->b, t->dim[d]);
        open++;
        if (x.stride[d]) x.e = tn_i_affine_term(w->b, x.e, loop, x.stride[d]);
        if (y.stride[d]) y.e = tn_i_affine_term(w->b, y.e, loop, y.stride[d]);
    }
    tn_i_l_store_at(w->b, y.array, y.e, tn_i_l_load_at(w->b, x.array, x.e));
    while (open-- > 0) tn_i_l_close(w->b);
}

static bool same_place(const tn_i_place *a, const tn_i_place *b) {
    return a->base == b->base && a->offset == b->offset && a->stride == TN_DENSE && b->stride == TN_DENSE;
}

static void move(steps *w, const tn_i_move *m) {
    if (!same_place(&m->from, &m->to)) copy(w, body(w)->f->val[m->v].type, &m->from, &m->to);
}

/* What left the step enters the next one. */
static void carry_on(steps *w, const tn_i_pair *k) {
    const tn_i_loop_shape *s = &w->l->shape;
    const tn_i_place from = {.base = TN_BASE_ARGUMENTS + s->body->nin + k->leaf, .stride = TN_DENSE},
                     to = {.base = TN_BASE_ARGUMENTS + s->index + s->nconst + k->leaf, .stride = TN_DENSE};
    copy(w, s->body->val[s->body->out[k->leaf]].type, &from, &to);
}

/* ---- the loop ------------------------------------------------------------------------------------------- */

static void step(steps *w) {
    const tn_i_plan *p = body(w);
    put_number(w);
    for (size_t i = 0; i < p->nstep && !w->b->failed; i++) (void)tn_i_lower_into(w->b, p->step[i].u.nest, &w->s);
    for (size_t i = 0; i < p->nmove && !w->b->failed; i++) move(w, &p->move[i]);
    for (uint32_t k = 0; k < w->l->npair && !w->b->failed; k++) carry_on(w, &w->l->pair[k]);
}

bool tn_i_lower_admits_loop(const tn_i_loop *l) {
    for (size_t i = 0; i < l->body->nstep; i++)
        if (!tn_i_lower_admits(l->body->step[i].u.nest)) return false;
    return true;
}

tn_i_loops *tn_i_lower_loop(tn_ctx *c, const tn_i_loop *l) {
    tn_i_l_builder b;
    int64_t *by = tn_i_alloc_array(c, bases_of(l), sizeof *by);
    tn_i_l_begin(&b, c);
    tn_i_l_arena(&b, TN_LOWER_SCRATCH, 0);
    if (!by) b.failed = true;
    if (!b.failed) {
        steps w = {.b = &b, .l = l, .s = {.n = l->shape.length, .reverse = l->shape.reverse, .by = by}};
        find_movers(l, by);
        w.s.loop = tn_i_l_for_n(&b, l->shape.length);
        step(&w);
        tn_i_l_close(&b);
    }
    if (by) tn_i_free(c, by, bases_of(l) * sizeof *by);
    return tn_i_l_end(&b);
}
