/* Which plans may be part of a loop program (lower/part.c): those of nests, copies, programs that are called or of
 * which one is chosen, and loops of a known number of steps, or of a condition, that fill no stacks. */
#include "plan/planner.h"

/* Programs of which one is chosen, one comparison after another. */
enum { MOST_CHOICES = 64 };

static double work_of(const tn_i_nest *n) { return (double)n->rows * (double)n->row * (double)n->nop; }

static bool add_nest(const tn_i_nest *n, tn_i_part_size *k) {
    if (!k->first) k->first = n;
    k->work += work_of(n);
    if (n->registers > k->registers) k->registers = n->registers;
    return tn_i_add(k->keeps, n->keeps, &k->keeps);
}

static bool add_move(const tn_i_plan *p, const tn_i_move *m, tn_i_part_size *k) {
    k->work += (double)tn_i_count(p->f->val[m->v].type);
    return !m->stack;
}

static bool add(const tn_i_part_size *inside, tn_i_part_size *k) {
    if (!k->first) k->first = inside->first;
    if (inside->levels > k->levels) k->levels = inside->levels;
    k->work += inside->work;
    k->counters += inside->counters;
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
    if (s->stacks) return false;
    switch ((tn_i_step_kind)s->kind) {
    case TN_STEP_NEST: return add_nest(s->u.nest, k);
    case TN_STEP_MOVE: return add_move(p, &p->move[s->loop], k);
    case TN_STEP_BODY: return add_program(s->u.body, k);
    case TN_STEP_LOOP: return add_loop(&p->loop[s->loop], k);
    case TN_STEP_BRANCH: return add_choice(p, &p->fork[s->loop], k);
    default: return false;
    }
}

bool tn_i_part_measure(const tn_i_plan *p, tn_i_part_size *k) {
    if (p->nrelease || p->axes || p->ntransfer) return false;
    for (size_t i = 0; i < p->nstep; i++)
        if (k->work >= TN_M_THREAD_OPERATIONS || !add_step(p, &p->step[i], k)) return false;
    for (size_t i = p->last_move; i < p->nmove; i++)
        if (!add_move(p, &p->move[i], k)) return false;
    return true;
}

bool tn_i_part_is_small(const tn_i_part_size *k) { return k->first && k->work < TN_M_THREAD_OPERATIONS; }
