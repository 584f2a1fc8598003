/* A loop of the plan, its steps, as one loop program or part of one.
 *
 * Where a step is little work, entering its nests one by one takes longer than they do.  So the loop is a FOR, in which
 * nests, copies and carries are loops over arrays like all others: what each step finds where is affine in its number,
 * and passes see through from one nest to the next.  A loop in the step is such a FOR in this one.
 *
 * A carry with two buffers goes from that in which it leaves a step to that in which it enters one.  Where that would
 * be a copy of an array, two steps are written one behind the other, and the second one has the buffers the other way
 * round.
 *
 * Where the number of steps is found when the loop runs, the program does at most so many (tn_i_loop.most), and who
 * calls it says how many, and from which entries on.  Where a condition says it, the condition's program is part of
 * each iteration, in front of what leaves the loop; if steps leave entries of arrays, it does at most so many, too. */
#include "base/machine.h"
#include "lower/nest_i.h"

#include <string.h>

typedef struct steps {
    tn_i_l_builder *b;
    const tn_i_loop *l;
    tn_i_lower_counters *counters;
    tn_i_lower_place *home; /* entries of the body's table, in front of the loop */
    tn_i_lower_place *now;  /* likewise, in a step */
    tn_i_lower_place *cond; /* those of the condition's */
    uint32_t counts;        /* tn_i_whole */
    tn_i_lower_steps s;
} steps;

/* ---- where things are ------------------------------------------------------------------------------- */

static uint32_t carry_at(const tn_i_loop *l, uint32_t leaf) {
    return TN_BASE_ARGUMENTS + l->shape.index + l->shape.nconst + leaf;
}

static uint32_t left_at(const tn_i_loop *l, uint32_t leaf) { return TN_BASE_ARGUMENTS + l->shape.body->nin + leaf; }

/* The loop is the program: its table of addresses is the body's frame, with the condition's behind. */
static void enter_program(const steps *w) {
    const tn_i_loop_shape *s = &w->l->shape;
    const size_t n = tn_i_lower_entries(s->body);
    for (uint32_t i = 0; i < n; i++) w->home[i] = (tn_i_lower_place){.base = i};
    if (!s->cond) return;
    for (uint32_t i = 0; i < tn_i_lower_entries(s->cond); i++)
        w->cond[i] = (tn_i_lower_place){.base = (uint32_t)(w->l->cond_frame / sizeof(uintptr_t) + i)};
    w->cond[TN_BASE_ABSOLUTE] = w->home[TN_BASE_ABSOLUTE];
}

/* As run/loop_run.c enters it. */
static void enter_step(const steps *w, const tn_i_lower_part *around, const tn_i_step *step) {
    const tn_i_loop *l = w->l;
    const tn_i_loop_shape *s = &l->shape;
    const tn_i_plan *p = around->p;
    const tn_i_place *operand = p->narg ? p->arg + l->arg : NULL, *output = p->place + p->f->eqn[step->eqn].out;
    tn_i_lower_place scratch = tn_i_lower_entry(around->frame, TN_BASE_ARENA), *at = w->home;
    scratch.at += step->scratch;
    *at++ = (tn_i_lower_place){.base = TN_BASE_ABSOLUTE};
    *at = scratch;
    at++->at += (int64_t)l->arena;
    if (s->index) *at = scratch, at++->at += (int64_t)l->number;
    for (uint32_t i = s->const0; i < s->x0 + s->nx; i++) *at++ = tn_i_lower_inside(around->frame, &operand[i]);
    for (uint32_t j = 0; j < s->ncarry; j++) *at++ = tn_i_lower_inside(around->frame, &operand[s->carry0 + j]);
    for (uint32_t j = 0; j < s->ny; j++) *at++ = tn_i_lower_inside(around->frame, &output[s->y0 + j]);
    for (uint32_t k = 0; k < l->npair; k++) {
        at = &w->home[left_at(l, l->pair[k].leaf)];
        *at = scratch;
        at->at += (int64_t)l->pair[k].second;
    }
    if (!s->cond) return;
    at = w->cond;
    *at++ = w->home[TN_BASE_ABSOLUTE];
    *at++ = w->home[TN_BASE_ARENA];
    for (uint32_t i = 0; i < s->ncond; i++) *at++ = tn_i_lower_inside(around->frame, &operand[i]);
    at += s->ncarry;
    *at = scratch;
    at->at += (int64_t)l->answer;
}

/* The condition's frame has what is carried, and its arena, where the body has. */
static void share_entries(const steps *w) {
    const tn_i_loop_shape *s = &w->l->shape;
    if (!s->cond) return;
    w->cond[TN_BASE_ARENA] = w->home[TN_BASE_ARENA];
    for (uint32_t k = 0; k < s->ncarry; k++) w->cond[TN_BASE_ARGUMENTS + s->ncond + k] = w->home[carry_at(w->l, k)];
}

/* swapped: where a step finds what the one before it has left. */
static void enter_steps(const steps *w, const tn_i_lower_steps *s, bool swapped) {
    const tn_i_loop *l = w->l;
    memcpy(w->now, w->home, tn_i_lower_entries(l->shape.body) * sizeof *w->now);
    for (uint32_t i = 0; i < l->nmover; i++)
        tn_i_lower_walk(&w->now[l->mover[i].at], s, s->reverse ? -l->mover[i].entry : l->mover[i].entry);
    for (uint32_t k = 0; swapped && k < l->npair; k++) {
        const uint32_t in = carry_at(l, l->pair[k].leaf), out = left_at(l, l->pair[k].leaf);
        w->now[in] = w->home[out];
        w->now[out] = w->home[in];
    }
}

/* ---- steps -------------------------------------------------------------------------------------------- */

static tn_i_lower_part body_of(const steps *w) {
    return (tn_i_lower_part){.b = w->b, .p = w->l->body, .frame = w->now, .counters = w->counters};
}

/* The step's number, in the memory of the body's first input. */
void tn_i_lower_number(const tn_i_lower_part *w, const tn_i_lower_steps *s, uint32_t counts) {
    const int dtype = w->p->f->val[0].type->dtype;
    const tn_i_lower_place q = tn_i_lower_entry(w->frame, TN_BASE_ARGUMENTS);
    const uint32_t to = tn_i_lower_array(w->b, &q, "step", dtype, TN_L_OUT, 1, 0, 0);
    const bool known = counts == TN_L_NONE;
    const tn_i_affine i = s->reverse ? tn_i_lower_step(s, -1, known ? s->n - 1 : 0) : tn_i_lower_step(s, 1, 0);
    uint32_t x = tn_i_l_index(w->b, dtype, i);
    if (!known) x = tn_i_l_map(w->b, TN_L_add, x, tn_i_l_load_at(w->b, counts, tn_i_affine_number(1)), TN_L_NONE);
    tn_i_l_store_at(w->b, to, tn_i_affine_number(0), x);
}

static void leave_loop(const steps *w) {
    const tn_fn *f = w->l->cond->f;
    const tn_i_lower_place q = w->cond[TN_BASE_ARGUMENTS + f->nin];
    tn_i_lower_plan(&(tn_i_lower_part){.b = w->b, .p = w->l->cond, .frame = w->cond, .counters = w->counters});
    const uint32_t answer = tn_i_lower_array(w->b, &q, "goes_on", TN_BOOL, TN_L_OUT, 1, 0, 0);
    tn_i_l_while(w->b, tn_i_l_load_at(w->b, answer, tn_i_lower_first(w->b, &q, TN_BOOL)));
}

static void step(const steps *w, const tn_i_lower_steps *s, bool swapped) {
    const tn_i_loop *l = w->l;
    const tn_i_lower_part body = body_of(w);
    enter_steps(w, s, swapped);
    if (l->shape.index) tn_i_lower_number(&body, s, l->whole == TN_WHOLE_SOME ? w->counts : TN_L_NONE);
    tn_i_lower_plan(&body);
}

/* What left the step enters the next one. */
static void copy_back(const steps *w) {
    const tn_i_loop *l = w->l;
    const tn_i_lower_part body = body_of(w);
    for (uint32_t k = 0; k < l->npair && !w->b->failed; k++) {
        const uint32_t leaf = l->pair[k].leaf;
        const tn_i_place from = {.base = left_at(l, leaf), .stride = TN_DENSE},
                         to = {.base = carry_at(l, leaf), .stride = TN_DENSE};
        tn_i_lower_copy(&body, l->shape.body->val[l->shape.body->out[leaf]].type, &from, &to);
    }
}

/* ---- double buffers ------------------------------------------------------------------------------------- */

/* Not around loops: what is written twice in each of them is written more than twice. */
static bool double_buffered(const tn_i_loop *l) {
    const tn_fn *f = l->shape.body;
    bool many = false;
    for (uint32_t k = 0; k < l->npair; k++) {
        if (l->pair[k].stacked != TN_NOVAR) return false;
        many |= tn_i_count(f->val[f->out[l->pair[k].leaf]].type) > TN_M_UNROLL_ITERATIONS;
    }
    return many && !l->cond && l->whole != TN_WHOLE_SOME && l->shape.length > 1 && l->size.levels == 1;
}

static void two_steps(const steps *w) {
    const int64_t n = w->s.n;
    tn_i_lower_steps one = w->s, two, last = w->s;
    one.every = 2;
    one.loop = tn_i_l_for_n(w->b, n / 2);
    two = one;
    two.first = 1;
    step(w, &one, false);
    step(w, &two, true);
    tn_i_l_close(w->b);
    if (n % 2 == 0) return;
    last.first = n - 1;
    step(w, &last, false);
    copy_back(w);
}

/* ---- the loop ------------------------------------------------------------------------------------------- */

static bool some(const tn_i_loop *l) { return l->whole == TN_WHOLE_SOME || l->whole == TN_WHILE_SOME; }

static void count(const steps *w, uint32_t x) {
    tn_i_l_store_at(w->b, w->counts, tn_i_affine_number(some(w->l) ? 1 : 0), x);
}

static uint32_t open_loop(const steps *w) {
    if (!some(w->l)) return w->l->cond ? tn_i_l_for_ever(w->b) : tn_i_l_for_n(w->b, w->s.n);
    return tn_i_l_for_up_to(w->b, w->s.n, tn_i_affine_number(0),
                            tn_i_l_load_at(w->b, w->counts, tn_i_affine_number(0)));
}

static void all_steps(steps *w) {
    tn_i_l_builder *b = w->b;
    if (double_buffered(w->l)) {
        two_steps(w);
        return;
    }
    if (w->l->cond) count(w, tn_i_l_number(b, TN_I64, 0));
    w->s.loop = open_loop(w);
    if (w->l->cond) leave_loop(w);
    step(w, &w->s, false);
    copy_back(w);
    if (w->l->cond) count(w, tn_i_l_index(b, TN_I64, tn_i_affine_loop(w->s.loop, 1, 1)));
    tn_i_l_close(b);
}

static bool begin(steps *w) {
    const tn_i_loop *l = w->l;
    const size_t n = tn_i_lower_entries(l->shape.body), others = l->cond ? tn_i_lower_entries(l->shape.cond) : 0;
    w->s = (tn_i_lower_steps){.loop = TN_L_NONE,
                              .every = 1,
                              .n = some(l)   ? l->most
                                   : l->cond ? 1
                                             : l->shape.length,
                              .reverse = l->shape.reverse};
    w->home = tn_i_alloc_array(w->b->ctx, 2 * n + others, sizeof *w->home);
    if (!w->home) w->b->failed = true;
    w->now = w->home ? w->home + n : NULL;
    w->cond = w->home ? w->now + n : NULL;
    return !w->b->failed;
}

static void end(const steps *w) {
    const tn_i_loop *l = w->l;
    const size_t n = tn_i_lower_entries(l->shape.body), others = l->cond ? tn_i_lower_entries(l->shape.cond) : 0;
    tn_i_free(w->b->ctx, w->home, (2 * n + others) * sizeof *w->home);
}

/* Where there is a condition, its number of steps is counted, and may be an output. */
static void tell_steps(const steps *w, const tn_i_lower_part *around, const tn_i_step *s, uint32_t counter) {
    const uint32_t n = tn_i_l_load_at(w->b, w->counts, tn_i_affine_number(0));
    tn_i_lower_count(around, counter, n);
    if (w->l->shape.steps == TN_NOVAR) return;
    const tn_i_place *to = &around->p->place[around->p->f->eqn[s->eqn].out + w->l->shape.steps];
    const tn_i_lower_place q = tn_i_lower_inside(around->frame, to);
    const uint32_t array = tn_i_lower_array(w->b, &q, "steps", TN_I64, TN_L_OUT, 1, 0, 0);
    tn_i_l_store_at(w->b, array, tn_i_lower_first(w->b, &q, TN_I64), n);
}

void tn_i_lower_loop_step(const tn_i_lower_part *around, const tn_i_step *s) {
    steps w = {.b = around->b, .l = &around->p->loop[s->loop], .counters = around->counters};
    const uint32_t counter = w.counters->next;
    if (!w.l->cond && w.l->shape.length == 0) {
        w.counters->next += w.l->size.counters;
        return;
    }
    if (w.l->cond) w.counters->next++;
    if (begin(&w)) {
        tn_i_lower_place number = tn_i_lower_entry(around->frame, TN_BASE_ARENA);
        number.at += s->scratch + (int64_t)w.l->number;
        enter_step(&w, around, s);
        share_entries(&w);
        if (w.l->cond) w.counts = tn_i_lower_array(w.b, &number, "counts", TN_I64, TN_L_OUT, 1, 0, 0);
        all_steps(&w);
        if (w.l->cond) tell_steps(&w, around, s, counter);
    }
    end(&w);
}

tn_i_loops *tn_i_lower_loop(tn_ctx *c, const tn_i_loop *l, bool counted) {
    tn_i_l_builder b;
    tn_i_lower_counters counters = {.array = TN_L_NONE, .next = 2};
    steps w = {.b = &b, .l = l, .counters = &counters};
    tn_i_l_begin(&b, c);
    b.forgotten = TN_BASE_ARENA;
    tn_i_l_arena(&b, TN_LOWER_SCRATCH, 0);
    if (begin(&w)) {
        const bool counts = counted && l->size.counters;
        enter_program(&w);
        share_entries(&w);
        if (l->whole != TN_WHOLE_ALL || counts)
            w.counts =
                tn_i_l_array_new(&b, "counts", TN_I64, l->cond || counts ? TN_L_OUT : TN_L_IN,
                                 2 + (counts ? l->size.counters : 0), (uint32_t)(l->counts / sizeof(uintptr_t)), 0, 0);
        if (counts) counters.array = w.counts;
        all_steps(&w);
    }
    end(&w);
    return tn_i_l_end(&b);
}
