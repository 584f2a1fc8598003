#include "laws/terms.h"
#include "prims/ids.h"

#include "ir/params.h"

#include <string.h>

bool laws_has_loops(const tn_fn *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->neqn && !any; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        any = (e->prim->flags & TN_F_LOOP) != 0;
        for (uint32_t k = 0; e->params && k < e->params->n && !any; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n && !any; j++) any = laws_has_loops(g[j]);
        }
    }
    return any;
}

void laws_terms_init(laws_terms *k, laws_trial *t) { *k = (laws_terms){.t = t}; }

/* Room for element n in an array; the memory is the trial's. */
static void *room(laws_memory *m, void *old, uint32_t n, uint32_t *capacity, size_t size) {
    if (n < *capacity) return old;
    const uint32_t more = 2 * n + 16;
    void *to = laws_alloc(m, more, size);
    if (*capacity) memcpy(to, old, *capacity * size);
    *capacity = more;
    return to;
}

static uint32_t add_term(laws_terms *k, const tn_type *type, uint32_t op) {
    k->term = room(k->t->memory, k->term, k->n, &k->cterm, sizeof *k->term);
    k->term[k->n] = (laws_term){type, op};
    return k->n++;
}

static void add_op(laws_terms *k, const laws_op *op) {
    k->op = room(k->t->memory, k->op, k->nop, &k->cop, sizeof *k->op);
    k->op[k->nop] = *op;
    k->op[k->nop++].out = k->n;
}

uint32_t laws_leaf(laws_terms *k, const tn_type *type, bool linear) {
    add_op(k, &(laws_op){.nout = 1, .linear = linear});
    return add_term(k, type, k->nop - 1);
}

void laws_leaves(laws_terms *k, const tn_fn *f, uint32_t first, uint32_t *in) {
    for (uint32_t i = first; i < f->nin; i++) in[i] = laws_leaf(k, f->val[i].type, f->val[i].linear);
}

static uint32_t literal(laws_terms *k, const tn_i_val *v) {
    for (uint32_t i = 0; i < k->nop; i++)
        if (k->op[i].literal && k->op[i].bits == v->bits && k->term[k->op[i].out].type->dtype == v->type->dtype)
            return k->op[i].out;
    add_op(k, &(laws_op){.nout = 1, .literal = true, .bits = v->bits});
    return add_term(k, v->type, k->nop - 1);
}

static uint32_t nparams(const tn_i_eqn *e) { return e->params ? e->params->n : 0; }

static bool same(const laws_op *a, const laws_op *b) {
    return a->hash == b->hash && a->prim == b->prim && a->nin == b->nin && a->nout == b->nout &&
           (a->nin == 0 || memcmp(a->in, b->in, a->nin * sizeof *a->in) == 0) &&
           (nparams(a->e) == 0 || tn_i_params_equal(a->e->params->v, b->e->params->v, nparams(a->e)));
}

/* ---- programs ------------------------------------------------------------------------------------- */

typedef struct walk {
    laws_terms *k;
    laws_flat *a;
    int hidden; /* regions around that save nothing */
} walk;

static void see(walk *w, uint32_t v) {
    w->a->visible = room(w->k->t->memory, w->a->visible, v, &w->a->n, 1);
    w->a->visible[v] = 1;
}

static void done(walk *w, uint32_t op) {
    w->a->times = room(w->k->t->memory, w->a->times, op, &w->a->nop, sizeof *w->a->times);
    w->a->times[op]++;
}

static uint32_t operation(walk *w, const tn_fn *f, const tn_i_eqn *e, const uint32_t *map) {
    laws_terms *k = w->k;
    laws_op op = {.prim = e->prim, .e = e, .f = f, .nin = e->nin, .nout = e->nout};
    op.in = laws_alloc(k->t->memory, e->nin + 1u, sizeof *op.in);
    op.hash = e->params ? e->params->hash : 0;
    for (uint32_t i = 0; i < e->nin; i++) op.in[i] = map[tn_i_in(f, e)[i]];
    if ((e->prim->flags & TN_F_COMMUTES) && e->nin == 2 && op.in[0] > op.in[1]) {
        const uint32_t first = op.in[0];
        op.in[0] = op.in[1];
        op.in[1] = first;
    }
    for (uint32_t i = 0; i < e->nin; i++) {
        op.hash = tn_i_hash_u64(op.hash, op.in[i]);
        op.linear |= laws_op_of(k, op.in[i])->linear;
    }
    uint32_t at = 0;
    while (at < k->nop && (laws_is_leaf(&k->op[at]) || !same(&k->op[at], &op))) at++;
    if (at == k->nop) {
        tn_i_cost c;
        if (!tn_i_eqn_cost(f, e, &c)) laws_fail(k->t, "no memory");
        op.flops = c.flops;
        add_op(k, &op);
        for (uint32_t j = 0; j < e->nout; j++) (void)add_term(k, f->val[e->out + j].type, at);
    }
    done(w, at);
    return k->op[at].out;
}

static bool saves_nothing(const tn_i_eqn *e) {
    return e->prim->id == TN_P_checkpoint && strcmp(tn_i_p(e)[2].u.str, "nothing_saveable") == 0;
}

static uint32_t *run(walk *w, const tn_fn *f, const uint32_t *in);

static void nested(walk *w, const tn_fn *f, const tn_i_eqn *e, uint32_t *map) {
    const tn_fn *body = tn_i_p(e)[e->prim->body - 1].u.fn;
    uint32_t *in = laws_alloc(w->k->t->memory, e->nin + 1u, sizeof *in);
    for (uint32_t i = 0; i < e->nin; i++) in[i] = map[tn_i_in(f, e)[i]];
    w->a->nested = true;
    w->a->regions |= e->prim->id == TN_P_checkpoint;
    w->hidden += saves_nothing(e);
    const uint32_t *out = run(w, body, in);
    w->hidden -= saves_nothing(e);
    for (uint32_t j = 0; j < e->nout; j++) map[e->out + j] = out[j];
}

static uint32_t *run(walk *w, const tn_fn *f, const uint32_t *in) {
    laws_memory *m = w->k->t->memory;
    uint32_t *map = laws_alloc(m, f->nval + 1u, sizeof *map), *out = laws_alloc(m, f->nout + 1u, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) map[i] = in[i];
    for (uint32_t v = f->nin; v < f->nval; v++)
        if (tn_i_is_literal(f, v)) map[v] = literal(w->k, &f->val[v]);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->split && e->prim->body)
            nested(w, f, e, map);
        else if (e->prim->flags & TN_F_OFFLOAD) /* the same value, elsewhere */
            map[e->out] = map[tn_i_in(f, e)[0]];
        else {
            const uint32_t first = operation(w, f, e, map);
            for (uint32_t j = 0; j < e->nout; j++) map[e->out + j] = first + j;
        }
        for (uint32_t j = 0; j < e->nout && !w->hidden; j++) see(w, map[e->out + j]);
    }
    for (uint32_t j = 0; j < f->nout; j++) out[j] = map[f->out[j]];
    return out;
}

bool laws_forks(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const tn_fn *const *g;
        if (tn_i_alternatives(e, &g)) return true;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n; j++)
                if (laws_forks(g[j])) return true;
        }
    }
    return false;
}

laws_flat laws_flatten(laws_terms *k, const tn_fn *f, const uint32_t *in) {
    laws_flat a = {0};
    walk w = {.k = k, .a = &a};
    for (uint32_t i = 0; i < f->nin; i++) see(&w, in[i]);
    a.out = run(&w, f, in);
    return a;
}
