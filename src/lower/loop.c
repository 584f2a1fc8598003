/* A loop of the plan, its steps, as one loop program.
 *
 * Where a step is little work, entering its nests one by one takes longer than they do.  So the loop is a FOR, in which
 * nests, copies and carries are loops over arrays like all others: what each step finds where is affine in its number,
 * and passes see through from one nest to the next.
 *
 * A carry with two buffers goes from that in which it leaves a step to that in which it enters one.  Where that would
 * be a copy of an array, two steps are written one behind the other, and the second one has the buffers the other way
 * round.
 *
 * Where the number of steps is found when the loop runs, the program does at most so many (tn_i_loop.most), and who
 * calls it says how many, and from which entries on.  Where a condition says it, the condition's program is part of
 * each iteration, in front of what leaves the loop. */
#include "lower/nest_i.h"

#include "exec/strides.h"

#include <string.h>

typedef struct steps {
    tn_i_l_builder *b;
    const tn_i_loop *l;
    uint32_t counts;   /* the array of two numbers, where there is one */
    uint32_t *at;      /* of each entry of the condition's table of addresses: which it is of the body's */
    uint32_t *swapped; /* of each entry: which it is where buffers are the other way round */
    int64_t *by, *still;
    tn_i_lower_steps s;
} steps;

/* ---- what moves ------------------------------------------------------------------------------------- */

static size_t bases_of(const tn_fn *f) { return TN_BASE_ARGUMENTS + (size_t)f->nin + f->nout; }

static void find_movers(const tn_i_loop *l, int64_t *by) {
    const int64_t sign = l->shape.reverse ? -1 : 1;
    for (uint32_t i = 0; i < l->nmover; i++) by[l->mover[i].at] = sign * l->mover[i].entry;
}

static uint32_t carry_at(const tn_i_loop *l, uint32_t leaf) {
    return TN_BASE_ARGUMENTS + l->shape.index + l->shape.nconst + leaf;
}

/* The condition's frame is behind the body's, but it reads what is carried, and has its arena, where the body has. */
static void find_entries(const tn_i_loop *l, uint32_t *at) {
    const tn_i_loop_shape *s = &l->shape;
    for (size_t i = 0; i < bases_of(s->cond); i++) at[i] = (uint32_t)(l->cond_frame / sizeof(uintptr_t) + i);
    at[TN_BASE_ABSOLUTE] = TN_BASE_ABSOLUTE;
    at[TN_BASE_ARENA] = TN_BASE_ARENA;
    for (uint32_t k = 0; k < s->ncarry; k++) at[TN_BASE_ARGUMENTS + s->ncond + k] = carry_at(l, k);
}

/* The step's number, in the memory of the body's first input. */
void tn_i_lower_number(const tn_i_lower_part *w, uint32_t counts) {
    const int dtype = w->p->f->val[0].type->dtype;
    const uint32_t to =
        tn_i_l_array_new(w->b, "step", dtype, TN_L_OUT, 1, tn_i_lower_base(&w->s, TN_BASE_ARGUMENTS), 0, 0);
    const bool known = counts == TN_L_NONE;
    const tn_i_affine i =
        w->s.reverse ? tn_i_lower_step(&w->s, -1, known ? w->s.n - 1 : 0) : tn_i_lower_step(&w->s, 1, 0);
    uint32_t x = tn_i_l_index(w->b, dtype, i);
    if (!known) x = tn_i_l_map(w->b, TN_L_add, x, tn_i_l_load_at(w->b, counts, tn_i_affine_number(1)), TN_L_NONE);
    tn_i_l_store_at(w->b, to, tn_i_affine_number(0), x);
}

/* ---- copies ------------------------------------------------------------------------------------------- */

typedef struct side {
    uint32_t array;
    tn_i_affine e;
    int64_t stride[TN_MAX_RANK];
} side;

/* One side of a copy of a value of type t, not empty, at a place. */
static side side_of(const tn_i_lower_part *w, const tn_type *t, const tn_i_place *k, bool out) {
    const size_t size = tn_i_dtype_size(t->dtype);
    int64_t last = 0;
    side z = {.e = tn_i_lower_entry(&w->s, k->base, size)};
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(t, z.stride);
    else
        memcpy(z.stride, w->p->number + k->stride, (size_t)t->rank * sizeof *z.stride);
    for (int d = 0; d < t->rank; d++) last += z.stride[d] * (t->dim[d] - 1);
    const int64_t count = last + 1 + tn_i_lower_more(&w->s, k->base, size);
    const char *name = out ? "to" : "from";
    z.array = k->base == TN_BASE_ABSOLUTE
                  ? tn_i_l_const(w->b, name, t->dtype, count, (const void *)(uintptr_t)k->offset, false)
                  : tn_i_l_array_new(w->b, name, t->dtype, out ? TN_L_OUT : TN_L_IN, count,
                                     tn_i_lower_base(&w->s, k->base), k->offset, 0);
    return z;
}

void tn_i_lower_copy(const tn_i_lower_part *w, const tn_type *t, const tn_i_place *from, const tn_i_place *to) {
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

static bool same_place(const tn_i_lower_part *w, const tn_i_place *a, const tn_i_place *b) {
    return tn_i_lower_base(&w->s, a->base) == tn_i_lower_base(&w->s, b->base) && a->offset == b->offset &&
           a->stride == TN_DENSE && b->stride == TN_DENSE;
}

static void move(const tn_i_lower_part *w, const tn_i_move *m) {
    if (!same_place(w, &m->from, &m->to)) tn_i_lower_copy(w, w->p->f->val[m->v].type, &m->from, &m->to);
}

/* ---- the loop ------------------------------------------------------------------------------------------- */

void tn_i_lower_plan(const tn_i_lower_part *w) {
    const tn_i_plan *p = w->p;
    for (size_t i = 0; i < p->nstep && !w->b->failed; i++) (void)tn_i_lower_into(w->b, p->step[i].u.nest, &w->s);
    for (size_t i = 0; i < p->nmove && !w->b->failed; i++) move(w, &p->move[i]);
}

/* What left the step enters the next one. */
static void carry_on(const tn_i_lower_part *w, const tn_i_loop *l, uint32_t leaf) {
    const tn_i_loop_shape *s = &l->shape;
    const tn_i_place from = {.base = TN_BASE_ARGUMENTS + s->body->nin + leaf, .stride = TN_DENSE},
                     to = {.base = carry_at(l, leaf), .stride = TN_DENSE};
    tn_i_lower_copy(w, s->body->val[s->body->out[leaf]].type, &from, &to);
}

static void leave_loop(steps *w) {
    const tn_fn *f = w->l->cond->f;
    tn_i_lower_part cond = {.b = w->b, .p = w->l->cond, .s = w->s};
    cond.s.by = w->still;
    cond.s.at = w->at;
    tn_i_lower_plan(&cond);
    const uint32_t answer = tn_i_l_array_new(w->b, "goes_on", TN_BOOL, TN_L_OUT, 1,
                                             tn_i_lower_base(&cond.s, TN_BASE_ARGUMENTS + f->nin), 0, 0);
    tn_i_l_while(w->b, tn_i_l_load_at(w->b, answer, tn_i_affine_number(0)));
}

static void step(const steps *w, const tn_i_lower_steps *s) {
    const tn_i_loop *l = w->l;
    const tn_i_lower_part body = {.b = w->b, .p = l->body, .s = *s};
    if (l->shape.index) tn_i_lower_number(&body, l->whole == TN_WHOLE_SOME ? w->counts : TN_L_NONE);
    tn_i_lower_plan(&body);
}

static void copy_back(const steps *w) {
    const tn_i_lower_part body = {.b = w->b, .p = w->l->body, .s = w->s};
    for (uint32_t k = 0; k < w->l->npair && !w->b->failed; k++) carry_on(&body, w->l, w->l->pair[k].leaf);
}

/* ---- double buffers ------------------------------------------------------------------------------------- */

enum { FEW = 4 }; /* elements whose copies become registers (pass/unroll.c, pass/promote.c) */

static bool double_buffered(const tn_i_loop *l) {
    const tn_fn *f = l->shape.body;
    bool many = false;
    for (uint32_t k = 0; k < l->npair; k++) {
        if (l->pair[k].stacked != TN_NOVAR) return false;
        many |= tn_i_count(f->val[f->out[l->pair[k].leaf]].type) > FEW;
    }
    return many && l->whole == TN_WHOLE_ALL && l->shape.length > 1;
}

/* at: where a step finds what the one before it has left. */
static void swap_buffers(const tn_i_loop *l, uint32_t *at) {
    for (uint32_t i = 0; i < bases_of(l->shape.body); i++) at[i] = i;
    for (uint32_t k = 0; k < l->npair; k++) {
        const uint32_t in = carry_at(l, l->pair[k].leaf),
                       out = TN_BASE_ARGUMENTS + l->shape.body->nin + l->pair[k].leaf;
        at[in] = out;
        at[out] = in;
    }
}

static void two_steps(steps *w) {
    const int64_t n = w->s.n;
    tn_i_lower_steps one = w->s, two;
    swap_buffers(w->l, w->swapped);
    one.every = 2;
    one.loop = tn_i_l_for_n(w->b, n / 2);
    two = one;
    two.first = 1;
    two.at = w->swapped;
    step(w, &one);
    step(w, &two);
    tn_i_l_close(w->b);
    if (n % 2 == 0) return;
    w->s.loop = TN_L_NONE;
    w->s.first = n - 1;
    step(w, &w->s);
    copy_back(w);
}

static void count(steps *w, uint32_t x) { tn_i_l_store_at(w->b, w->counts, tn_i_affine_number(0), x); }

static void loop(steps *w) {
    tn_i_l_builder *b = w->b;
    const tn_i_loop *l = w->l;
    if (l->whole != TN_WHOLE_ALL)
        w->counts = tn_i_l_array_new(b, "counts", TN_I64, l->cond ? TN_L_OUT : TN_L_IN, 2,
                                     (uint32_t)(l->counts / sizeof(uintptr_t)), 0, 0);
    if (l->cond) count(w, tn_i_l_number(b, TN_I64, 0));
    if (double_buffered(l)) {
        two_steps(w);
        return;
    }
    w->s.loop = l->whole == TN_WHOLE_ALL   ? tn_i_l_for_n(b, w->s.n)
                : l->whole == TN_WHILE_ALL ? tn_i_l_for_ever(b)
                                           : tn_i_l_for_up_to(b, w->s.n, tn_i_affine_number(0),
                                                              tn_i_l_load_at(b, w->counts, tn_i_affine_number(0)));
    if (l->cond) leave_loop(w);
    step(w, &w->s);
    copy_back(w);
    if (l->cond) count(w, tn_i_l_index(b, TN_I64, tn_i_affine_loop(w->s.loop, 1, 1)));
    tn_i_l_close(b);
}

bool tn_i_lower_admits_plan(const tn_i_plan *p) {
    for (size_t i = 0; i < p->nstep; i++)
        if (!tn_i_lower_admits(p->step[i].u.nest)) return false;
    return true;
}

bool tn_i_lower_admits_loop(const tn_i_loop *l) {
    return tn_i_lower_admits_plan(l->body) && (!l->cond || tn_i_lower_admits_plan(l->cond));
}

tn_i_loops *tn_i_lower_loop(tn_ctx *c, const tn_i_loop *l) {
    tn_i_l_builder b;
    steps w = {.b = &b, .l = l};
    const size_t bases = bases_of(l->shape.body), others = l->cond ? bases_of(l->shape.cond) : 0;
    tn_i_l_begin(&b, c);
    tn_i_l_arena(&b, TN_LOWER_SCRATCH, 0);
    w.by = tn_i_alloc_array(c, bases + others, sizeof *w.by);
    w.at = tn_i_alloc_array(c, bases + others, sizeof *w.at);
    if (!w.by || !w.at) b.failed = true;
    if (!b.failed) {
        w.still = w.by + bases;
        w.swapped = w.at + others;
        w.s = (tn_i_lower_steps){.every = 1,
                                 .n = l->whole == TN_WHOLE_ALL    ? l->shape.length
                                      : l->whole == TN_WHOLE_SOME ? l->most
                                                                  : 1,
                                 .reverse = l->shape.reverse,
                                 .by = w.by};
        find_movers(l, w.by);
        if (l->cond) find_entries(l, w.at);
        loop(&w);
    }
    if (w.at) tn_i_free(c, w.at, (bases + others) * sizeof *w.at);
    if (w.by) tn_i_free(c, w.by, (bases + others) * sizeof *w.by);
    return tn_i_l_end(&b);
}
