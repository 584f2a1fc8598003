/* Which plans may be part of a loop program (lower/part.c): those of nests, copies, kernels, programs that are called
 * or of which one is chosen, and loops of a known number of steps, or of a condition, that fill no stacks.  Kernels of
 * boxes, of windows and that scan are loops, others are called, and so is what drives loops with schedules. */
#include "plan/planner.h"
#include "prims/folds/lanes.h"
#include "prims/held.h"
#include "strips/strips.h"

/* Programs of which one is chosen, one comparison after another. */
enum { MOST_CHOICES = 64, MOST_STEPS = 4096 };

static double work_of(const tn_i_nest *n) { return (double)n->rows * (double)n->row * (double)n->nop; }

/* Of what has no nest: there are no functions in it, and one thread runs it. */
static const tn_i_nest nobodys = {.threads = 1, .parts = 1};

static void note_first(const tn_i_nest *n, tn_i_part_size *k) {
    if (n && (!k->first || k->first == &nobodys)) k->first = n;
}

static bool add_nest(const tn_i_nest *n, tn_i_part_size *k) {
    note_first(n, k);
    k->work += work_of(n);
    if (n->registers > k->registers) k->registers = n->registers;
    return tn_i_add(k->keeps, n->keeps, &k->keeps);
}

static bool add_move(const tn_i_plan *p, const tn_i_move *m, tn_i_part_size *k) {
    k->work += (double)tn_i_count(p->f->val[m->v].type);
    return !m->stack;
}

static bool add(const tn_i_part_size *inside, tn_i_part_size *k) {
    note_first(inside->first, k);
    if (inside->levels > k->levels) k->levels = inside->levels;
    k->work += inside->work;
    k->counters += inside->counters;
    k->steps += inside->steps;
    k->calls |= inside->calls;
    if (inside->registers > k->registers) k->registers = inside->registers;
    return k->levels < TN_PART_LEVELS && tn_i_add(k->keeps, inside->keeps, &k->keeps);
}

static bool measure_inside(const tn_i_plan *p, uint32_t levels, tn_i_part_size *one) {
    *one = (tn_i_part_size){.work = 0};
    if (!tn_i_part_measure(p, one)) return false;
    one->levels += levels;
    return true;
}

bool tn_i_part_steps(const tn_i_plan *p, tn_i_part_size *k) {
    tn_i_part_size one;
    return measure_inside(p, 1, &one) && add(&one, k);
}

static bool add_loop(const tn_i_loop *l, tn_i_part_size *k) {
    k->counters += l->cond != NULL;
    return l->inner && add(&l->size, k);
}

/* ---- kernels of windows ---- */

static bool has_steps(const tn_i_plan *p, const tn_i_eqn *e) {
    bool has = false;
    for (uint32_t i = 0; i < e->nin; i++) has |= tn_i_has_steps(p->f->val[tn_i_in(p->f, e)[i]].type);
    for (uint32_t j = 0; j < e->nout; j++) has |= tn_i_has_steps(p->f->val[e->out + j].type);
    return has;
}

void tn_i_part_windows(const tn_i_plan *p, const tn_i_step *s, tn_i_window_form *f) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    tn_i_arr in[TN_WINDOW_OPERANDS], out = {.type = p->f->val[e->out].type};
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(p->f, e)[i];
        in[i] = (tn_i_arr){.type = p->f->val[v].type};
        tn_i_place_strides_of(p, in[i].type, &p->place[v], in[i].stride);
    }
    tn_i_place_strides_of(p, out.type, &p->place[e->out], out.stride);
    const tn_i_kernel k = {.prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = 1, .in = in, .out = &out};
    e->prim->windows(&k, f);
}

/* Several indices become one number of elements, which counts forwards. */
static bool counts(const tn_i_window_form *f) {
    int64_t all = 0, far;
    for (uint32_t c = 0; c < f->columns && !f->none; c++)
        if ((f->columns > 1 && f->column[c].by < 0) || !tn_i_mul_i64(f->column[c].last, f->column[c].by, &far) ||
            !tn_i_add_i64(all, far, &all))
            return false;
    return true;
}

/* Whether the kernel of step s is one that loops do as well. */
static bool of_windows(const tn_i_plan *p, const tn_i_step *s, tn_i_window_form *f) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    if (!e->prim->windows || e->nin > TN_WINDOW_OPERANDS || e->nout != 1) return false;
    if (has_steps(p, e)) return false;
    const tn_type *t = p->f->val[e->out].type;
    tn_i_part_windows(p, s, f);
    const bool joins = f->how >= 0, numbers = t->dtype != TN_BOOL && !tn_i_is_held(t->dtype);
    return f->rank + f->inner <= TN_MAX_RANK && (numbers || !joins) && counts(f);
}

/* The elements of all windows, as many as a strip has at most. */
static int64_t strip_of(const tn_i_window_form *f) {
    int64_t n = 1;
    for (int i = 0; i < f->rank && n < TN_STRIPS_MOST; i++)
        n *= f->dim[i] < TN_STRIPS_MOST ? f->dim[i] : TN_STRIPS_MOST;
    for (int i = 0; i < f->inner && n < TN_STRIPS_MOST; i++)
        n *= f->size[i] < TN_STRIPS_MOST ? f->size[i] : TN_STRIPS_MOST;
    return n < TN_STRIPS_MOST ? n : TN_STRIPS_MOST;
}

/* As lower/windows.c writes it: numbers of the loops, of each index, and of the element; of these, what lives at once
 * are an index, the place and the mask so far, and three of what an index is clamped by, and the element. */
static size_t registers_of(const tn_i_window_form *f) {
    enum { OF_LOOP = 4, OF_INDEX = 12, OF_ELEMENT = 16, LIVING = 8 };
    const size_t loops = (size_t)f->rank + (size_t)f->inner, strip = (size_t)strip_of(f);
    return 8 * (OF_LOOP * loops + OF_INDEX * f->columns + OF_ELEMENT + (strip > 1 ? LIVING * strip : 0));
}

/* What is written to in place is as much work as what is written. */
static bool add_windows(const tn_i_plan *p, const tn_i_step *s, tn_i_part_size *k) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const tn_i_var *in = tn_i_in(p->f, e);
    tn_i_window_form f;
    if (!of_windows(p, s, &f)) return false;
    note_first(&nobodys, k);
    const tn_i_place *from = &p->place[in[0]], *to = &p->place[e->out];
    const bool reads = f.how == TN_WINDOWS_READ;
    const bool in_place = from->base == to->base && from->offset == to->offset && from->stride == to->stride;
    if (reads || !in_place) k->work += (double)tn_i_count(p->f->val[e->out].type);
    if (!reads) k->work += (double)tn_i_count(p->f->val[in[f.windows]].type);
    const size_t registers = registers_of(&f);
    if (registers > k->registers) k->registers = registers;
    return true;
}

/* ---- kernels that scan ---- */

/* Down the columns of much the kernel goes row by row. */
static bool goes_down(const tn_i_plan *p, const tn_i_eqn *e) {
    const tn_type *t = p->f->val[e->out].type;
    int64_t beside = 1;
    for (int d = (int)tn_i_p(e)[TN_SCAN_AXIS].u.i + 1; d < t->rank; d++) beside *= t->dim[d];
    return beside > 1 && (double)tn_i_count(t) >= TN_M_THREAD_OPERATIONS;
}

static bool add_scan(const tn_i_plan *p, const tn_i_eqn *e, tn_i_part_size *k) {
    enum { LIVING = 8 }; /* numbers of each loop, and of an element with its addresses */
    const tn_type *t = p->f->val[e->out].type;
    const size_t registers = 8 * LIVING * (size_t)(t->rank + 3);
    note_first(&nobodys, k);
    k->work += (double)tn_i_count(t);
    if (registers > k->registers) k->registers = registers;
    return true;
}

/* ---- kernels that move boxes ---- */

/* As lower/boxes.c writes it: numbers of the loops, and of an element. */
static bool add_boxes(const tn_i_plan *p, const tn_i_eqn *e, tn_i_part_size *k) {
    enum { OF_LOOP = 4, OF_ELEMENT = 8 };
    size_t registers = 0;
    for (uint32_t j = 0; j < e->nout; j++) {
        const tn_type *t = p->f->val[e->out + j].type;
        const size_t own = 8 * (OF_LOOP * (size_t)t->rank + OF_ELEMENT);
        if (own > registers) registers = own;
        k->work += (double)tn_i_count(t);
    }
    note_first(&nobodys, k);
    k->steps += e->nin + e->nout;
    if (registers > k->registers) k->registers = registers;
    return true;
}

/* ---- kernels that are called ---- */

/* A call is given the first address of an array in memory: that is its first element's unless it goes backwards.  One
 * without elements may have no memory. */
static bool is_given(const tn_i_plan *p, tn_i_var v) {
    const tn_type *t = p->f->val[v].type;
    const tn_i_place *k = &p->place[v];
    bool forwards = true;
    for (int d = 0; d < t->rank && k->stride != TN_DENSE; d++) forwards &= p->number[k->stride + (uint32_t)d] >= 0;
    return forwards && !tn_i_empty(t);
}

static bool is_called(const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    bool is = !has_steps(p, e) && e->nin + e->nout <= TN_CALLED_ARRAYS;
    for (uint32_t i = 0; i < e->nin && is; i++) is = is_given(p, tn_i_in(p->f, e)[i]);
    for (uint32_t j = 0; j < e->nout && is; j++) is = is_given(p, e->out + j);
    return is && (!s->leads || is_called(p, s + 1));
}

/* What it computes is not known here: at least it reads and writes its arrays. */
static bool add_call(const tn_i_plan *p, const tn_i_eqn *e, tn_i_part_size *k) {
    note_first(&nobodys, k);
    k->calls = true;
    for (uint32_t i = 0; i < e->nin; i++) k->work += (double)tn_i_count(p->f->val[tn_i_in(p->f, e)[i]].type);
    for (uint32_t j = 0; j < e->nout; j++) k->work += (double)tn_i_count(p->f->val[e->out + j].type);
    return true;
}

tn_i_kernel_how tn_i_part_kernel(const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    tn_i_window_form f;
    if (has_steps(p, e)) return TN_KERNEL_NOT;
    if (e->prim->boxes) return TN_KERNEL_BOXES;
    if (e->prim->scan && p->f->val[e->out].type->dtype < TN_I_OWN_DTYPES && !goes_down(p, e)) return TN_KERNEL_SCAN;
    if (!e->prim->scan && of_windows(p, s, &f)) return TN_KERNEL_WINDOWS;
    return !p->emitted && is_called(p, s) ? TN_KERNEL_CALL : TN_KERNEL_NOT;
}

static bool add_kernel(const tn_i_plan *p, const tn_i_step *s, tn_i_part_size *k) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    switch (tn_i_part_kernel(p, s)) {
    case TN_KERNEL_BOXES: return add_boxes(p, e, k);
    case TN_KERNEL_SCAN: return add_scan(p, e, k);
    case TN_KERNEL_WINDOWS: return add_windows(p, s, k);
    case TN_KERNEL_CALL: return add_call(p, e, k);
    case TN_KERNEL_NOT: break;
    }
    return false;
}

/* ---- loops with schedules ---- */

/* Their driver is called (run/replay_run.c), which runs loop programs of its own.  It finds its arrays in the plan's
 * table of addresses; what these are is told all the same. */
static bool add_group(const tn_i_plan *p, const tn_i_step *s, tn_i_part_size *k) {
    const tn_i_group *g = &p->group[s->loop];
    uint32_t arrays = 3;
    if (!k->own || p->emitted) return false;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *a = &g->actor[i];
        const tn_i_eqn *e = &p->f->eqn[a->eqn];
        if (has_steps(p, e)) return false;
        arrays += e->nin + a->moves + (a->self ? e->nout : 0);
    }
    note_first(&nobodys, k);
    k->calls = true;
    return arrays <= TN_CALLED_ARRAYS;
}

/* ---- steps ---- */

/* The work is that of the one with the most. */
static bool add_choice(const tn_i_plan *p, const tn_i_fork *f, tn_i_part_size *k) {
    double most = 0;
    if (f->n < 2 || f->n > MOST_CHOICES) return false;
    k->counters += f->n;
    for (uint32_t i = 0; i < f->n; i++) {
        tn_i_part_size one;
        if (!measure_inside(p->branch[f->branch + i], 1, &one)) return false;
        if (one.work > most) most = one.work;
        one.work = 0;
        if (!add(&one, k)) return false;
    }
    k->work += most;
    return true;
}

/* Calls of calls are as many as they run. */
static bool add_program(const tn_i_plan *p, tn_i_part_size *k) {
    tn_i_part_size one;
    k->work++;
    return measure_inside(p, 0, &one) && add(&one, k);
}

static bool add_step(const tn_i_plan *p, const tn_i_step *s, tn_i_part_size *k) {
    if (s->stacks || s->axes) return false;
    switch ((tn_i_step_kind)s->kind) {
    case TN_STEP_NEST: return add_nest(s->u.nest, k);
    case TN_STEP_MOVE: return add_move(p, &p->move[s->loop], k);
    case TN_STEP_KERNEL: return add_kernel(p, s, k);
    case TN_STEP_BODY: return add_program(s->u.body, k);
    case TN_STEP_LOOP: return add_loop(&p->loop[s->loop], k);
    case TN_STEP_BRANCH: return add_choice(p, &p->fork[s->loop], k);
    case TN_STEP_GROUP: return add_group(p, s, k);
    default: return false;
    }
}

bool tn_i_part_add_step(const tn_i_plan *p, const tn_i_step *s, tn_i_part_size *k) {
    return ++k->steps <= MOST_STEPS && add_step(p, s, k);
}

bool tn_i_part_measure(const tn_i_plan *p, tn_i_part_size *k) {
    if (p->nrelease || p->axes || p->ntransfer) return false;
    for (size_t i = 0; i < p->nstep; i++)
        if (!tn_i_part_add_step(p, &p->step[i], k)) return false;
    for (size_t i = p->last_move; i < p->nmove; i++)
        if (!add_move(p, &p->move[i], k)) return false;
    return true;
}

bool tn_i_part_is_one(const tn_i_part_size *k) {
    return k->first && (k->work < TN_M_THREAD_OPERATIONS || k->first->threads < 2);
}
