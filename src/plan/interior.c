/* A nest that reads what other ranks send, in parts: what reads none of it runs while the messages are under way.
 *
 * What has arrived is read where its box is: a stencil's first row, say, reads the row of the rank before.  So a loop
 * of such a nest is cut where boxes of what is waited for begin and end.  The part in the middle, which is outside of
 * all of them, goes in front of the steps that wait; the parts at the edges follow them.  What messages read and write
 * is held until then (steps.c), so that nothing is placed there. */
#include "plan/nest_part.h"
#include "plan/planner.h"
#include "prims/ranks/collective_run.h"

#include <string.h>

enum { MOST = 2 * TN_MAX_RANK + 1 };

typedef struct cutting {
    tn_i_planner *z;
    const tn_i_eqn *e;
    size_t first; /* the first step that waits; all behind it do */
    const tn_i_nest *whole;
    tn_i_nest *part[MOST]; /* the middle one in front; NULL: it is the whole */
    uint32_t n;
} cutting;

static const tn_i_eqn *eqn_of(const cutting *k, size_t step) { return &k->z->f->eqn[k->z->p->step[step].eqn]; }

static bool waits(const tn_i_planner *z, const tn_i_step *s) {
    return s->kind == TN_STEP_KERNEL && tn_i_waits(&z->f->eqn[s->eqn]);
}

/* ---- what is waited for ---------------------------------------------------------------------------- */

/* v is the result w, or a view of it. */
static bool same_memory(const tn_i_planner *z, tn_i_var v, tn_i_var w) {
    if (z->block_of[v] != TN_NOBLOCK || z->block_of[w] != TN_NOBLOCK) return z->block_of[v] == z->block_of[w];
    return v == w || (z->p->place[v].base == z->p->place[w].base && z->p->place[w].base != TN_BASE_ABSOLUTE);
}

static bool awaited(const cutting *k, const tn_i_nest_array *a) {
    if (a->arg >= k->e->nin) return false;
    for (size_t i = k->first; i < k->z->p->nstep; i++)
        if (same_memory(k->z, tn_i_in(k->z->f, k->e)[a->arg], eqn_of(k, i)->out)) return true;
    return false;
}

/* The outermost loop that goes beyond the box of an array, or nloop. */
static uint32_t loop_of(const tn_i_nest *n, const tn_i_nest_array *a) {
    uint32_t d = a->boxed ? 0 : n->nloop;
    while (d < n->nloop && a->lo[d] <= 0 && a->hi[d] >= n->size[d]) d++;
    return d;
}

/* Indices of the loop at which nothing is read that is waited for because of it: the longer of both sides of each box.
 */
static void outside(const cutting *k, const tn_i_nest *n, uint32_t loop, int64_t *lo, int64_t *hi) {
    *lo = 0, *hi = n->size[loop];
    for (uint32_t i = 0; i < n->narray; i++) {
        const tn_i_nest_array *a = &n->array[i];
        if (!awaited(k, a) || loop_of(n, a) != loop) continue;
        const bool behind = n->size[loop] - a->hi[loop] > a->lo[loop];
        if (behind && a->hi[loop] > *lo) *lo = a->hi[loop];
        if (!behind && a->lo[loop] < *hi) *hi = a->lo[loop];
    }
}

static bool reads_awaited(const cutting *k, const tn_i_nest *n) {
    for (uint32_t i = 0; i < n->narray; i++)
        if (awaited(k, &n->array[i])) return true;
    return false;
}

/* Lookups may be anywhere, and what is stored behind all loops is stored once. */
static bool may_cut(const cutting *k, const tn_i_nest *n) {
    bool may = n->nhot == 0 && !n->upper && reads_awaited(k, n);
    for (uint32_t i = 0; may && i < n->nop; i++) may = n->op[i].kind != TN_NEST_LOOKUP;
    for (uint32_t i = 0; may && i < n->narray; i++)
        may = !awaited(k, &n->array[i]) || loop_of(n, &n->array[i]) < n->nloop;
    for (uint32_t d = 0; may && d < n->nloop; d++) {
        int64_t lo, hi;
        outside(k, n, d, &lo, &hi);
        may = lo < hi && ((lo == 0 && hi == n->size[d]) || tn_i_nest_divisible(n, d));
    }
    return may;
}

/* ---- the parts ----------------------------------------------------------------------------------------- */

static tn_i_nest *part_of(tn_ctx *c, const tn_i_nest *n, uint32_t loop, int64_t first, int64_t last) {
    tn_i_nest_part x = {0};
    tn_i_nest *own = tn_i_alloc(c, sizeof *own);
    tn_i_nest_array *array = NULL;
    const bool ok = own && tn_i_nest_part_make(c, n, loop, first, last, &x) &&
                    (array = tn_i_alloc_array(c, x.nest.narray, sizeof *array)) != NULL;
    if (ok) {
        *own = x.nest;
        memcpy(array, x.nest.array, x.nest.narray * sizeof *array);
        own->array = array;
        own->allocated = (uint32_t)x.cop;
        x.nest.op = NULL;
        x.cop = 0;
    } else
        tn_i_free(c, own, sizeof *own);
    tn_i_nest_part_drop(c, &x);
    return ok ? own : NULL;
}

static bool add_part(cutting *k, tn_i_nest *n) {
    if (n) k->part[k->n++] = n;
    return n != NULL;
}

/* Cuts the middle along a loop. */
static bool cut(cutting *k, uint32_t loop) {
    tn_ctx *c = k->z->ctx;
    tn_i_nest *own = k->part[0];
    const tn_i_nest *n = own ? own : k->whole;
    int64_t lo, hi;
    outside(k, n, loop, &lo, &hi);
    if (lo == 0 && hi == n->size[loop]) return true;
    if (lo > 0 && !add_part(k, part_of(c, n, loop, 0, lo))) return false;
    if (hi < n->size[loop] && !add_part(k, part_of(c, n, loop, hi, n->size[loop]))) return false;
    tn_i_nest *middle = part_of(c, n, loop, lo, hi);
    if (!middle) return false;
    k->part[0] = middle;
    tn_i_nest_free(c, own);
    return true;
}

/* From the innermost loop out: the numbers of those further out stay when a part of one index drops its loop. */
static bool make_parts(cutting *k) {
    k->n = 1;
    for (uint32_t d = k->whole->nloop; d-- > 0;)
        if (!cut(k, d)) return false;
    for (uint32_t i = 0; i < k->n; i++)
        if (!tn_i_nest_ready(k->z->ctx, k->part[i])) return false;
    return true;
}

/* ---- whether the middle may go first --------------------------------------------------------------------- */

typedef struct range {
    uint32_t base;
    int64_t from, to; /* bytes */
} range;

static range range_of(const tn_i_planner *z, tn_i_var v) {
    const tn_i_place *x = &z->p->place[v];
    const tn_type *t = z->f->val[v].type;
    const int64_t size = (int64_t)tn_i_dtype_size(t->dtype);
    int64_t stride[TN_MAX_RANK];
    range r = {x->base, x->offset, x->offset + size};
    tn_i_place_strides(z, v, stride);
    for (int d = 0; d < t->rank; d++) {
        const int64_t far = stride[d] * (t->dim[d] - 1) * size;
        *(far < 0 ? &r.from : &r.to) += far;
    }
    return r;
}

static bool meet(range a, range b) { return a.base == b.base && a.from < b.to && b.from < a.to; }

/* Whether r is memory of a message that is waited for. */
static bool under_way(const cutting *k, range r) {
    for (size_t i = k->first; i < k->z->p->nstep; i++) {
        const tn_i_eqn *e = eqn_of(k, i);
        for (uint32_t j = 0; j < e->nin; j++)
            if (meet(r, range_of(k->z, tn_i_in(k->z->f, e)[j]))) return true;
        if (meet(r, range_of(k->z, e->out))) return true;
    }
    return false;
}

/* An output may still be where a message's memory is, as the caller asked for it. */
static bool may_go_first(const cutting *k) {
    const tn_i_planner *z = k->z;
    for (uint32_t j = 0; j < k->e->nout; j++) {
        const uint32_t out = z->out_of[k->e->out + j];
        const bool aliased = out != TN_NOVAR && z->layout->alias && z->layout->alias[out] >= 0;
        if (aliased || under_way(k, range_of(z, k->e->out + j))) return false;
    }
    return true;
}

/* ---- the steps -------------------------------------------------------------------------------------------- */

static bool add_steps(cutting *k, uint32_t eqn) {
    tn_i_planner *z = k->z;
    tn_i_plan *p = z->p;
    for (uint32_t i = 0; i < k->n; i++) {
        tn_i_step s = {.eqn = eqn};
        tn_i_nest *n = k->part[i];
        k->part[i] = NULL;
        if (!tn_i_step_add_nest(z, n, &s) || !tn_i_step_scratch(z, n->scratch, &s) || !tn_i_step_add(z, &s))
            return false;
        if (i > 0) continue;
        const tn_i_step middle = p->step[p->nstep - 1];
        memmove(p->step + k->first + 1, p->step + k->first, (p->nstep - 1 - k->first) * sizeof *p->step);
        p->step[k->first] = middle;
    }
    return true;
}

bool tn_i_step_interior(tn_i_planner *z, const tn_i_eqn *e, const tn_i_nest *n, uint32_t eqn, bool *done) {
    cutting k = {.z = z, .e = e, .first = z->p->nstep, .whole = n};
    *done = false;
    while (k.first > 0 && waits(z, &z->p->step[k.first - 1])) k.first--;
    if (k.first == z->p->nstep || !may_cut(&k, n)) return true;
    bool ok = make_parts(&k);
    *done = ok && !reads_awaited(&k, k.part[0]) && may_go_first(&k);
    if (*done) ok = add_steps(&k, eqn);
    for (uint32_t i = 0; i < k.n; i++) tn_i_nest_free(z->ctx, k.part[i]);
    return ok;
}
