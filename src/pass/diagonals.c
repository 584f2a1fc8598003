/* What a loop computes differently in few of its iterations, it computes there once more, and everywhere as if there
 * were none of them: rows of a matrix of which few diagonals are not like the rest.
 *
 *     for i1 < 1000 {                       for i1 < 1000 {
 *       v1 = eq i1 (i0 + 1)                   store y[1000 i0 + i1] = 0.0
 *       v2 = convert v1             ->      }
 *       store y[1000 i0 + i1] = v2          v3 = within i0 + 1 < 1000
 *     }                                     store y[1001 i0 + 1] = 1.0 where v3
 *
 * An innermost loop without carries, whose iterations store what they do not load.  A place is an iteration where an
 * EQ of integers is true, of which it is known: the number of a loop around, or minus that, and a constant.  There may
 * be one for each 16 iterations, so that vectors save more than places cost.  Where two of them meet both compute the
 * same. */
#include "base/machine.h"
#include "pass/inside.h"

#include <string.h>

enum { PLACES = 8 };

typedef struct diagonals {
    const tn_i_loops *p;
    tn_i_l_copy c;
    tn_i_affine place[PLACES]; /* of the loop that is looked at: numbers of iterations */
    uint32_t nplace;
    uint8_t *place_of; /* of an EQ: 1 + its place; or 0 */
} diagonals;

/* ---- places ------------------------------------------------------------------------------------------------ */

static bool same(diagonals *z, const tn_i_affine *x, const tn_i_affine *y) {
    const tn_i_affine d = tn_i_affine_add(z->c.b, *x, -1, *y);
    return d.n == 0 && d.at == 0;
}

/* Where in loop k the EQ is true; false: not in one iteration, or not known. */
static bool find_place(diagonals *z, uint32_t k, const tn_i_l_op *o, tn_i_affine *at) {
    enum { DEEP = 3 };
    tn_i_affine x, y;
    int64_t by = 0;
    if (o->kind != TN_L_MAP || o->code != TN_L_eq || !tn_i_l_affine_value(z->c.b, z->p, o->in[0], DEEP, &x) ||
        !tn_i_l_affine_value(z->c.b, z->p, o->in[1], DEEP, &y) || x.n + y.n > 4)
        return false;
    x = tn_i_affine_add(z->c.b, x, -1, y);
    for (uint32_t i = 0; i < x.n; i++) {
        if (x.term[i].loop > k) return false;
        if (x.term[i].loop == k) by = x.term[i].by;
    }
    if (by != 1 && by != -1) return false;
    const tn_i_affine here = tn_i_affine_loop(k, by, 0);
    x = tn_i_affine_add(z->c.b, x, -1, here);
    *at = tn_i_affine_add(z->c.b, tn_i_affine_number(0), -by, x);
    return tn_i_l_near(z->p, at) && (at->n == 0 || (at->n == 1 && (at->term[0].by == 1 || at->term[0].by == -1)));
}

static bool loads_what_it_stores(const tn_i_loops *p, uint32_t k) {
    for (uint32_t i = k + 1; i < p->op[k].to; i++)
        for (uint32_t j = k + 1; j < p->op[k].to && p->op[i].kind == TN_L_STORE; j++)
            if (p->op[i].update || (p->op[j].kind == TN_L_LOAD && tn_i_l_overlap(p, p->op[i].which, p->op[j].which)))
                return true;
    return false;
}

static bool find(diagonals *z, uint32_t k, int64_t *n) {
    const tn_i_loops *p = z->p;
    const tn_i_l_op *o = &p->op[k];
    z->nplace = 0;
    if (o->kind != TN_L_FOR || o->vector || o->parallel || !tn_i_l_known_count(p, k, n) ||
        *n < TN_M_DIAGONAL_ITERATIONS || !tn_i_l_straight(p, k + 1, o->to) || !tn_i_l_independent(p, k) ||
        loads_what_it_stores(p, k))
        return false;
    for (uint32_t i = k + 1; i < o->to; i++) {
        tn_i_affine at;
        uint32_t j = 0;
        z->place_of[i] = 0;
        if (!find_place(z, k, &p->op[i], &at)) continue;
        while (j < z->nplace && !same(z, &z->place[j], &at)) j++;
        if (j == PLACES) return false;
        if (j == z->nplace) z->place[z->nplace++] = at;
        z->place_of[i] = (uint8_t)(j + 1);
    }
    return z->nplace > 0 && *n >= TN_M_DIAGONAL_ITERATIONS * (int64_t)z->nplace;
}

/* ---- copies -------------------------------------------------------------------------------------------------- */

static void copy_elsewhere(diagonals *z, uint32_t k) {
    for (uint32_t i = k + 1; i < z->p->op[k].to; i++)
        if (z->place_of[i])
            z->c.value[i] = tn_i_l_number(z->c.b, TN_BOOL, false);
        else
            tn_i_l_copy_op(&z->c, i);
}

/* An access of loop k, where there is such an iteration. */
static void copy_access(diagonals *z, uint32_t k, uint32_t i, uint32_t is) {
    tn_i_l_builder *b = z->c.b;
    const tn_i_l_op *o = &z->p->op[i];
    if (o->kind == TN_L_LOAD && !tn_i_l_by(z->p, &o->at, k) && o->in[0] == TN_L_NONE) {
        tn_i_l_copy_op(&z->c, i);
        return;
    }
    tn_i_l_where w = {.array = o->which, .e = tn_i_l_copy_affine(&z->c, &o->at), .masked = true, .mask = is};
    w.indexed = o->in[0] != TN_L_NONE;
    if (w.indexed) w.index = z->c.value[o->in[0]], w.by = o->lo, w.last = o->hi;
    if (o->in[1] != TN_L_NONE) w.mask = tn_i_l_map(b, TN_L_and, is, z->c.value[o->in[1]], TN_L_NONE);
    if (o->kind == TN_L_STORE) {
        tn_i_l_store_like(b, o, &w, z->c.value[o->in[2]]);
        return;
    }
    w.otherwise = o->in[1] != TN_L_NONE ? z->c.value[o->in[2]] : tn_i_l_number(b, o->dtype, 0);
    z->c.value[i] = tn_i_l_load(b, &w);
}

/* Iteration number `place` of n. */
static void copy_place(diagonals *z, uint32_t k, uint32_t place, int64_t n) {
    tn_i_l_builder *b = z->c.b;
    tn_i_affine at = tn_i_affine_number(z->place[place].at);
    for (uint32_t i = 0; i < z->place[place].n; i++) {
        const tn_i_l_term *t = &z->place[place].term[i];
        at = tn_i_affine_add(b, at, t->by, tn_i_l_copied_loop(&z->c, t->loop));
    }
    const uint32_t is = tn_i_l_within(b, 0, at, n);
    tn_i_l_copy_loop(&z->c, k, at);
    for (uint32_t i = k + 1; i < z->p->op[k].to && !b->failed; i++) {
        const tn_i_l_op *o = &z->p->op[i];
        tn_i_affine far = z->place[place];
        if (z->place_of[i]) far = tn_i_affine_add(z->c.b, far, -1, z->place[z->place_of[i] - 1]);
        if (z->place_of[i] && far.n == 0)
            z->c.value[i] = tn_i_l_number(b, TN_BOOL, far.at == 0);
        else if (o->kind == TN_L_LOAD || o->kind == TN_L_STORE)
            copy_access(z, k, i, is);
        else
            tn_i_l_copy_op(&z->c, i);
    }
}

static void copy_loop(diagonals *z, uint32_t k, int64_t n) {
    const uint32_t loop = tn_i_l_for_n(z->c.b, n);
    tn_i_l_copy_loop(&z->c, k, tn_i_affine_loop(loop, 1, 0));
    copy_elsewhere(z, k);
    tn_i_l_close(z->c.b);
    for (uint32_t i = 0; i < z->nplace && !z->c.b->failed; i++) copy_place(z, k, i, n);
}

tn_i_loops *tn_i_pass_diagonals(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    diagonals z = {.p = p};
    (void)m;
    tn_i_l_begin(&b, p->ctx);
    z.place_of = p->nop ? tn_i_alloc_array(p->ctx, p->nop, sizeof *z.place_of) : NULL;
    if (p->nop && !z.place_of) b.failed = true;
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) {
            int64_t n;
            if (!find(&z, k, &n)) {
                tn_i_l_copy_op(&z.c, k);
                continue;
            }
            copy_loop(&z, k, n);
            k = p->op[k].to;
        }
    tn_i_l_copy_end(&z.c);
    if (z.place_of) tn_i_free(p->ctx, z.place_of, p->nop * sizeof *z.place_of);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
