/* balanced: a few looks at each equation, whatever is active and however long the chain. */
#include "checkpoint/plans.h"

#include <math.h>
#include <string.h>

typedef struct walk {
    const tn_i_prices *p;
    uint8_t
        *remade; /* per equation: to make its values of what is had or kept for them costs no more than keeping them */
    uint8_t *wanted; /* per value: had behind the boundary, as far as is decided */
    uint8_t *had;    /* per value: saved by the plan that is to be bettered */
    uint32_t *seen;  /* per value: 1 + the last equation that looked at it */
} walk;

/* Values that are looked at for one decision; where more would be needed, making again is too dear. */
enum { LOOKS = 32 };

typedef struct search {
    tn_i_var at[LOOKS];
    uint32_t n, stamp;
} search;

/* Adds e's operands that are not had, each once; false where there is no room. */
static bool look_at_operands(const walk *w, const tn_i_eqn *e, search *s) {
    const tn_i_boundary *q = w->p->q;
    for (uint32_t k = 0; k < tn_i_made_of(e); k++) {
        const tn_i_var u = tn_i_in(q->f, e)[k];
        const uint32_t def = q->f->val[u].def;
        if (w->seen[u] == s->stamp || w->wanted[u] || w->had[u] || def >= TN_DEF_LITERAL || !tn_i_makes_known(q, def))
            continue;
        if (s->n == LOOKS) return false;
        w->seen[u] = s->stamp;
        s->at[s->n++] = u;
    }
    return true;
}

/* What equation i costs to do again, and with it what is to be kept or made for it alone: more than `limit`
 * is as good as INFINITY. */
static double again(const walk *w, uint32_t i, double limit) {
    const tn_i_prices *p = w->p;
    const tn_fn *f = p->q->f;
    search s = {.stamp = i + 1};
    double ns = p->again[i];
    if (!look_at_operands(w, &f->eqn[i], &s)) return INFINITY;
    for (uint32_t k = 0; k < s.n && ns <= limit; k++) {
        const uint32_t def = f->val[s.at[k]].def;
        ns += w->remade[def] ? p->again[def] : p->keep[s.at[k]];
        if (w->remade[def] && !look_at_operands(w, &f->eqn[def], &s)) return INFINITY;
    }
    return ns;
}

static void find_remade(const walk *w) {
    const tn_fn *f = w->p->q->f;
    memset(w->seen, 0, f->nval * sizeof *w->seen);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        double keep = 0;
        if (!tn_i_makes_known(w->p->q, i)) continue;
        for (uint32_t v = e->out; v < e->out + e->nout; v++) keep += w->p->keep[v];
        w->remade[i] = again(w, i, keep) <= keep;
    }
}

/* From the last equation to the first: a value is compute-bound when making it again, of what is had by
 * then and of what would have to be had for it alone, costs more than keeping it.  So the output of a
 * function is kept rather than an input that would have to be kept as well. */
static double decide(const walk *w, uint8_t *save) {
    const tn_fn *f = w->p->q->f;
    double sum = 0;
    memset(save, 0, f->nval);
    memcpy(w->wanted, w->p->q->needed, f->nval);
    memset(w->seen, 0, f->nval * sizeof *w->seen);
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        double keep = 0;
        bool any = false;
        if (!tn_i_makes_known(w->p->q, i)) continue;
        for (uint32_t v = e->out; v < e->out + e->nout; v++) {
            any |= w->wanted[v] != 0;
            if (w->wanted[v]) keep += w->p->keep[v];
        }
        if (!any) continue;
        const bool kept = again(w, i, keep) > keep;
        sum += kept ? keep : w->p->again[i];
        for (uint32_t v = e->out; kept && v < e->out + e->nout; v++) save[v] = w->wanted[v];
        for (uint32_t k = 0; !kept && k < tn_i_made_of(e); k++) w->wanted[tn_i_in(f, e)[k]] = 1;
    }
    return sum;
}

/* What a later equation made dear may be kept for an earlier one anyway (a product behind a cheap function of it): each
 * further look knows what the one before kept, and is taken while it betters the plan. */
enum { PASSES = 4 };

static void better(const walk *w, uint8_t *save, uint8_t *next, double *ns) {
    const uint32_t n = w->p->q->f->nval;
    for (int pass = 1; pass < PASSES; pass++) {
        memcpy(w->had, save, n);
        memcpy(w->wanted, w->p->q->needed, n);
        find_remade(w);
        const double found = decide(w, next);
        if (!(found < *ns)) return;
        *ns = found;
        memcpy(save, next, n);
    }
}

static bool plan_at(const tn_i_prices *p, uint8_t *save, double *ns) {
    const tn_fn *f = p->q->f;
    uint8_t *next = tn_i_alloc(f->ctx, f->nval);
    const walk w = {.p = p,
                    .remade = tn_i_alloc(f->ctx, f->neqn),
                    .wanted = tn_i_alloc(f->ctx, f->nval),
                    .had = tn_i_alloc(f->ctx, f->nval),
                    .seen = tn_i_alloc_array(f->ctx, f->nval, sizeof *w.seen)};
    const bool ok = next && w.remade && w.wanted && w.had && w.seen;
    if (ok) {
        find_remade(&w);
        *ns = decide(&w, save);
        better(&w, save, next, ns);
    }
    tn_i_free(f->ctx, next, f->nval);
    tn_i_free(f->ctx, w.remade, f->neqn);
    tn_i_free(f->ctx, w.wanted, f->nval);
    tn_i_free(f->ctx, w.had, f->nval);
    tn_i_free(f->ctx, w.seen, f->nval * sizeof *w.seen);
    return ok;
}

bool tn_i_plan_balanced(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    (void)how;
    tn_i_prices p;
    double ns;
    if (!tn_i_prices_new(&p, q, &tn_i_shipped_costs)) return false;
    const bool ok = tn_i_plan_by_level(&p, plan_at, save, &ns);
    tn_i_prices_free(&p);
    return ok;
}
