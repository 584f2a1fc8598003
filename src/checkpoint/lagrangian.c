/* Saved bytes at a price, by one smallest cut: what a Lagrange multiplier makes of a budget.
 *
 * What counts as done again is what the function itself computes anyway.  A value that only the
 * derivative reads is computed once, before the boundary or behind it.
 *
 * Which residuals take memory nobody knows before a plan is made: those that one nest makes and reads take none.  To
 * find plans that are worth a trial their bytes are counted all the same.  What bounds all plans counts those alone
 * that surely are in memory at once. */
#include "checkpoint/candidates.h"
#include "checkpoint/cost_model.h"
#include "checkpoint/plans.h"
#include "checkpoint/save_graph.h"
#include "prims/prim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An operation that is done again, and what not doing so would be worth. */
typedef struct choice {
    uint32_t op;
    double worth; /* ns per byte */
} choice;

typedef struct graph {
    const tn_i_boundary *q;
    tn_i_save_op *op;
    uint32_t nop;
    double *bytes, *save;   /* per value: of the memory behind it, and their price */
    tn_i_var *root;         /* per value: what it is a view of */
    uint8_t *done, *wanted; /* per value: the function needs it; somebody behind the boundary does */
    choice *again;
} graph;

static bool graph_alloc(graph *g, const tn_i_boundary *q) {
    tn_ctx *c = q->f->ctx;
    const size_t n = q->f->nval, neqn = q->f->neqn;
    *g = (graph){.q = q,
                 .op = tn_i_alloc_array(c, neqn, sizeof *g->op),
                 .bytes = tn_i_alloc_array(c, n, 2 * sizeof *g->bytes),
                 .root = tn_i_alloc_array(c, n, sizeof *g->root),
                 .done = tn_i_alloc_array(c, n, 2),
                 .again = tn_i_alloc_array(c, neqn, sizeof *g->again)};
    if (!g->op || !g->bytes || !g->root || !g->done || !g->again) return false;
    g->save = g->bytes + n;
    g->wanted = g->done + n;
    return true;
}

static void graph_free(graph *g) {
    tn_ctx *c = g->q->f->ctx;
    const size_t n = g->q->f->nval, neqn = g->q->f->neqn;
    tn_i_free(c, g->op, neqn * sizeof *g->op);
    tn_i_free(c, g->bytes, n * 2 * sizeof *g->bytes);
    tn_i_free(c, g->root, n * sizeof *g->root);
    tn_i_free(c, g->done, 2 * n);
    tn_i_free(c, g->again, neqn * sizeof *g->again);
}

static bool has_effect(const tn_i_eqn *e) { return e->prim->effect && e->prim->effect(tn_i_p(e)); }

static void find_done(graph *g) {
    const tn_fn *f = g->q->f;
    for (uint32_t j = 0; j < f->nout; j++) g->done[f->out[j]] = g->q->known[f->out[j]];
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool any = has_effect(e);
        for (uint32_t j = 0; j < e->nout; j++) any |= g->done[e->out + j];
        for (uint32_t k = 0; any && k < e->nin; k++) g->done[tn_i_in(f, e)[k]] = g->q->known[tn_i_in(f, e)[k]];
    }
}

/* Views share their memory, so that it counts once, at its least (a view may be copied out of it); what the
 * function returns is the caller's memory, and does not count. */
static void find_bytes(graph *g) {
    const tn_fn *f = g->q->f;
    for (uint32_t v = 0; v < f->nval; v++) {
        g->root[v] = v;
        g->bytes[v] = (double)tn_type_bytes(f->val[v].type);
    }
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!(e->prim->flags & TN_F_VIEW) || e->nin == 0 || e->nout != 1) continue;
        const tn_i_var root = g->root[e->out] = g->root[tn_i_in(f, e)[0]];
        g->bytes[root] = fmin(g->bytes[root], g->bytes[e->out]);
    }
    for (uint32_t j = 0; j < f->nout; j++) g->bytes[g->root[f->out[j]]] = 0;
    for (uint32_t v = 0; v < f->nval; v++) g->bytes[v] = g->bytes[g->root[v]];
}

static bool find_ops(graph *g) {
    const tn_fn *f = g->q->f;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!tn_i_makes_known(g->q, i)) continue;
        tn_i_save_op *op = &g->op[g->nop++];
        *op = (tn_i_save_op){.in = e->in, .nin = e->nin, .out = e->out, .nout = e->nout};
        bool done = false;
        for (uint32_t v = e->out; v < e->out + e->nout; v++) done |= g->done[v] != 0;
        if (done && !tn_i_recompute_ns(&tn_i_shipped_costs, f, e, &op->cost)) return false;
        if (has_effect(e) || tn_i_speaks(e)) op->cost = INFINITY;
    }
    return true;
}

static double wanted_bytes(const graph *g, const tn_i_save_op *op) {
    double bytes = 0;
    for (uint32_t v = op->out; v < op->out + op->nout; v++)
        if (g->wanted[v]) bytes += g->bytes[v];
    return bytes;
}

/* Lists what a save set does again, in the order of the program; returns how many. */
static uint32_t find_again(graph *g, const uint8_t *save, tn_i_multiplier *x) {
    uint32_t n = g->q->f->neqn;
    memcpy(g->wanted, g->q->needed, g->q->f->nval);
    for (uint32_t i = g->nop; i-- > 0;) {
        const tn_i_save_op *op = &g->op[i];
        bool again = false;
        for (uint32_t v = op->out; v < op->out + op->nout; v++) {
            if (g->wanted[v] && save[v]) x->bytes += g->bytes[v];
            again |= g->wanted[v] && !save[v];
        }
        if (!again) continue;
        x->again += op->cost;
        for (uint32_t k = 0; k < op->nin; k++) g->wanted[g->q->f->pool[op->in + k]] = 1;
        if (op->cost > 0) g->again[--n] = (choice){i, op->cost / fmax(wanted_bytes(g, op), 1)};
    }
    const uint32_t count = g->q->f->neqn - n;
    memmove(g->again, g->again + n, count * sizeof *g->again);
    return count;
}

static int dearest_first(const void *a, const void *b) {
    const choice *x = a, *y = b;
    if (x->worth != y->worth) return x->worth > y->worth ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static void save_part(graph *g, uint32_t n, const tn_i_multiplier *x, uint8_t *save) {
    if (!x->evenly && n) qsort(g->again, n, sizeof *g->again, dearest_first);
    for (uint32_t i = 0; i < n; i++) {
        if (x->evenly ? i % x->part != x->part - 1 : (uint64_t)i * x->part >= n) continue;
        const tn_i_save_op *op = &g->op[g->again[i].op];
        for (uint32_t v = op->out; v < op->out + op->nout; v++) save[v] = g->wanted[v];
    }
}

/* ---- what bounds every plan ------------------------------------------------------------------ */

enum { MOST_CUTS = 32 };

/* The best at a price, as a line: least work over all plans that save `bytes` + lambda * (bytes - budget). */
typedef struct line {
    double again, over; /* over: bytes saved beyond the budget */
} line;

static bool cheapest(graph *g, double lambda, uint8_t *save) {
    const tn_i_boundary *q = g->q;
    for (uint32_t v = 0; v < q->f->nval; v++) g->save[v] = lambda * g->bytes[v];
    const tn_i_save_graph cut = {
        .nval = q->f->nval, .nop = g->nop, .op = g->op, .pool = q->f->pool, .save = g->save, .needed = q->needed};
    return tn_i_cheapest_saves(q->f->ctx, &cut, save, NULL);
}

static bool try_line(graph *g, double lambda, size_t budget, uint8_t *save, line *out) {
    tn_i_multiplier x = {.lambda = lambda};
    if (!cheapest(g, lambda, save)) return false;
    (void)find_again(g, save, &x);
    *out = (line){x.again, x.bytes - (double)budget};
    return true;
}

/* Duality: a plan of at most `budget` bytes does no less again than the minimum at a price, less the price of the
 * budget.  Prices where two known lines meet, until none below them is found. */
static bool best_price(graph *g, size_t budget, uint8_t *save, double *bound) {
    line left, right, at;
    if (!try_line(g, 0, budget, save, &left)) return false;
    if (left.over <= 0) return true;
    if (!try_line(g, TN_I_DEAREST, budget, save, &right)) return false;
    if (right.over > 0) return true; /* nothing is within it */
    for (int i = 0; i < MOST_CUTS && right.again > left.again; i++) {
        const double lambda = (right.again - left.again) / (left.over - right.over);
        const double top = left.again + lambda * left.over;
        if (!try_line(g, lambda, budget, save, &at)) return false;
        const double least = at.again + lambda * at.over;
        *bound = fmax(*bound, least - 1e-9 * (at.again + lambda * (at.over + (double)budget)));
        if (least >= top * (1 - 1e-9)) break;
        *(at.over > 0 ? &left : &right) = at;
    }
    return true;
}

static bool find_bound(graph *g, tn_i_multiplier *x) {
    const tn_i_boundary *q = g->q;
    uint8_t *bytes = tn_i_alloc_array(q->f->ctx, q->f->nval, 2);
    if (!bytes) return false;
    bool ok = x->residents(q->f, q->known, bytes);
    for (uint32_t v = 0; v < q->f->nval; v++) g->bytes[v] = bytes[v] ? (double)tn_type_bytes(q->f->val[v].type) : 0;
    ok = ok && best_price(g, x->budget, bytes + q->f->nval, &x->bound);
    tn_i_free(q->f->ctx, bytes, 2 * (size_t)q->f->nval);
    return ok;
}

bool tn_i_plan_multiplier(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    tn_i_multiplier *x = how->user;
    graph g;
    bool ok = graph_alloc(&g, q);
    if (ok) {
        find_done(&g);
        find_bytes(&g);
        ok = find_ops(&g) && cheapest(&g, x->lambda, save);
    }
    if (ok) {
        const uint32_t n = find_again(&g, save, x);
        if (x->part) save_part(&g, n, x, save);
        if (x->residents) ok = find_bound(&g, x);
    }
    graph_free(&g);
    return ok;
}
