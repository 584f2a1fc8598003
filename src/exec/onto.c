/* Sums that are made where they begin.
 *
 *     p = dot_general s X     few rows of X, each times its element of s
 *     q = dot_general t Y
 *     y = x + p + q
 *
 * Where nothing else reads x, p and q, the kernels of the products add to x, and y is there: p and q are nowhere, and
 * no step adds.  Of rows that are summed in eights (tn_i_gemm_adds) that changes no bit. */
#include "exec/planner.h"
#include "prims/dot.h"
#include "prims/ids.h"

#include <string.h>

typedef struct chain {
    tn_i_var x;
    uint32_t n, product[TN_NEST_ARRAYS]; /* equations, in the order in which they are added */
} chain;

/* ---- which ------------------------------------------------------------------------------------------- */

/* An eight of contiguous rows and a vector, wherever its operands are, for one reader. */
static bool is_product(const tn_i_planner *z, tn_i_var v) {
    const tn_fn *f = z->f;
    if (f->val[v].def >= f->neqn || z->uses[v] != 1) return false;
    const tn_i_eqn *e = &f->eqn[f->val[v].def];
    if (e->prim->id != TN_P_dot_general) return false;
    const tn_type *a = f->val[tn_i_in(f, e)[0]].type, *b = f->val[tn_i_in(f, e)[1]].type;
    const tn_i_dots d = tn_i_dots_read(tn_i_p(e));
    return tn_i_is_float(a->dtype) && a->rank + b->rank == 3 && a->rank && b->rank && d.ncontract == 1 &&
           d.contract[0][0] == 0 && d.contract[1][0] == 0 && a->dim[0] == TN_EIGHT;
}

/* One more term, of which product k is; in program order. */
static bool add_product(const tn_i_planner *z, chain *c, tn_i_var v) {
    if (!is_product(z, v) || c->n == TN_NEST_ARRAYS) return false;
    const uint32_t def = z->f->val[v].def;
    if (c->n && def <= c->product[c->n - 1]) return false;
    c->product[c->n++] = def;
    return true;
}

static bool begins(const tn_i_planner *z, chain *c, tn_i_var x, tn_i_var v) {
    c->n = 0;
    c->x = x;
    if (tn_i_is_literal(z->f, x) || z->uses[x] != 1 || !add_product(z, c, v)) return false;
    return z->f->val[x].type == z->f->val[v].type && (x < z->f->nin || z->f->val[x].def < c->product[0]);
}

static bool is_add(const tn_i_eqn *e) { return e->prim->id == TN_P_add; }

/* e is a chain of sums: the first of x and a product, the next ones of what came before and a product. */
static bool chain_of(const tn_i_planner *z, const tn_i_eqn *e, chain *c) {
    const tn_i_var *in = tn_i_in(z->f, e);
    if (is_add(e)) return begins(z, c, in[0], in[1]) || begins(z, c, in[1], in[0]);
    const tn_fn *g = e->prim->id == TN_P_fused ? tn_i_p(e)[1].u.fn : NULL;
    if (!g || g->nout != 1 || g->neqn == 0 || g->out[0] != g->eqn[g->neqn - 1].out) return false;
    for (uint32_t i = 0; i < g->neqn; i++) {
        const tn_i_eqn *d = &g->eqn[i];
        if (!is_add(d)) return false;
        const tn_i_var a = tn_i_in(g, d)[0], b = tn_i_in(g, d)[1], before = i ? g->eqn[i - 1].out : TN_NOVAR;
        if (i == 0) {
            if (a >= g->nin || b >= g->nin) return false;
            if (!begins(z, c, in[a], in[b]) && !begins(z, c, in[b], in[a])) return false;
        } else if ((a != before || b >= g->nin || !add_product(z, c, in[b])) &&
                   (b != before || a >= g->nin || !add_product(z, c, in[a])))
            return false;
    }
    return true;
}

bool tn_i_find_sums(tn_i_planner *z) {
    const tn_fn *f = z->f;
    chain c;
    for (uint32_t i = 0; !z->root->plain && !z->root->emitted && i < f->neqn; i++) {
        if (!z->live[i] || !chain_of(z, &f->eqn[i], &c)) continue;
        if (!z->sum) {
            if (!(z->sum = tn_i_alloc_array(z->ctx, f->neqn, sizeof *z->sum))) return false;
            memset(z->sum, 0xFF, f->neqn * sizeof *z->sum);
        }
        z->sum[i] = i;
        for (uint32_t k = 0; k < c.n; k++) z->sum[c.product[k]] = i;
    }
    return true;
}

/* ---- where ------------------------------------------------------------------------------------------- */

/* The first product of a sum decides for all: it is one that adds, and y may be where x is. */
static bool decide(tn_i_planner *z, const tn_i_eqn *e, const tn_i_eqn *sum, const chain *c) {
    tn_i_products w;
    if (!tn_i_may_place_over(z, sum, sum->out, c->x)) return false;
    z->p->place[e->out] = z->p->place[c->x];
    return tn_i_describe_product(z, e, TN_WHOLE, &w) && tn_i_gemm_adds(&w);
}

/* A product whose kernel cannot add goes beside, and is added from there. */
static bool add_step(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s) {
    tn_i_products w;
    size_t bytes = 0;
    s->kind = TN_STEP_KERNEL;
    s->onto = true;
    if (!tn_i_describe_product(z, e, TN_WHOLE, &w) || !tn_i_gemm_adds(&w)) {
        const tn_i_query q = tn_i_planner_query(z, e);
        s->beside = (e->prim->scratch(&q) + TN_ARENA_ALIGN - 1) / TN_ARENA_ALIGN * TN_ARENA_ALIGN;
        bytes = s->beside + tn_type_bytes(z->f->val[e->out].type);
        if (e->nin + e->nout > z->p->narr) z->p->narr = e->nin + e->nout;
    }
    return tn_i_step_scratch(z, bytes, s) && tn_i_step_add(z, s);
}

bool tn_i_step_onto(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s, bool *done) {
    const uint32_t at = z->sum ? z->sum[s->eqn] : TN_NOVAR;
    chain c;
    if (at == TN_NOVAR) return true;
    const tn_i_eqn *sum = &z->f->eqn[at];
    (void)chain_of(z, sum, &c); /* it was when sums were found */
    if (s->eqn == c.product[0] && !decide(z, e, sum, &c)) {
        z->sum[at] = TN_NOVAR;
        for (uint32_t k = 0; k < c.n; k++) z->sum[c.product[k]] = TN_NOVAR;
        return true;
    }
    *done = true;
    tn_i_place_over(z, e->out, c.x);
    return s->eqn == at || add_step(z, e, s);
}
