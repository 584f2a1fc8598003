/* What a policy leaves undone: linearized under any policy, a program does all that it has to, once,
 * and again exactly what is neither saved nor at hand; and keeps nothing that it need not. */
#include "checkpoint/policies.h"
#include "laws/derive.h"
#include "laws/table.h"
#include "laws/terms.h"
#include "prims/ids.h"

#include <math.h>
#include <string.h>

typedef struct halves {
    const char *policy;
    bool named;
    const tn_fn *primal, *linear;
    uint32_t *in;   /* of the primal program */
    laws_flat a, b; /* what each does */
    uint32_t nout, nres;
    uint32_t *res; /* terms: what crosses */
} halves;

static bool split(laws_terms *k, const tn_fn *f, const tn_wrt_list *w, const tn_policy *p, uint32_t *x, uint32_t *dx,
                  halves *h) {
    laws_trial *t = k->t;
    const tn_linearized l = tn_linearize(f, w, p);
    *h = (halves){.policy = p->name ? p->name : "verdicts",
                  .named = p->name != NULL,
                  .primal = l.primal,
                  .linear = l.linear,
                  .in = x};
    if (!laws_made(t, l.primal, "linearize (primal)") || !laws_made(t, l.linear, "linearize (linear)")) return false;
    h->a = laws_flatten(k, l.primal, x);
    h->nout = f->nout;
    h->nres = l.primal->nout - f->nout;
    h->res = h->a.out + f->nout;
    uint32_t *in = laws_alloc(t->memory, l.linear->nin + 1u, sizeof *in);
    for (uint32_t i = 0; i < l.linear->nin; i++) in[i] = i < h->nres ? h->res[i] : dx[i - h->nres];
    h->b = laws_flatten(k, l.linear, in);
    return !t->failed;
}

/* Whether each operation has one place.  Not so where programs that are apart may need the same, or where f
 * itself, being what linearize made, computes again in a region. */
static bool each_once(const halves *h) { return !h->a.nested && !h->b.nested && h->primal->regions <= 1; }

/* ---- nothing is kept without need -------------------------------------------------------------- */

static bool is_view(const laws_op *op) { return op->prim && (op->prim->flags & TN_F_VIEW); }
static size_t bytes_of(const laws_terms *k, uint32_t v) { return tn_type_bytes(k->term[v].type); }

/* An input is not kept, but read where it is. */
static bool is_input(const laws_terms *k, uint32_t v) {
    const laws_op *op = laws_op_of(k, v);
    return laws_is_leaf(op) && !op->literal;
}

/* What a nested program returns may be anything: outside it is a value like any other, offloaded or not. */
static bool handed_out(const halves *h, uint32_t r) {
    const tn_fn *f = h->primal;
    uint32_t def = f->val[f->out[h->nout + r]].def;
    while (def < TN_DEF_LITERAL && f->eqn[def].prim->flags & TN_F_OFFLOAD)
        def = f->val[tn_i_in(f, &f->eqn[def])[0]].def;
    return def < TN_DEF_LITERAL && f->eqn[def].prim->split;
}

static const char *without_need(const laws_terms *k, const halves *h, uint32_t r) {
    const laws_op *op = laws_op_of(k, h->res[r]);
    if (is_input(k, h->res[r])) return NULL;
    if (handed_out(h, r)) return NULL;
    for (uint32_t i = 0; each_once(h) && i < r; i++)
        if (h->res[i] == h->res[r]) return "another residual once more";
    if (op->literal) return "a literal";
    if (op->nin == 0) return "a constant";
    if (is_view(op) && bytes_of(k, op->in[0]) <= bytes_of(k, h->res[r])) return "a view of what is no larger";
    const bool by_rule = k->t->prim && h->named; /* not what the program itself, or the user's verdict, makes so */
    if (by_rule && op->prim->id == TN_P_convert_element_type && k->term[op->in[0]].type->dtype == TN_BOOL)
        return "a mask, but not as bytes";
    return NULL;
}

/* Which residuals the linear program's outputs depend on: with residuals that are nothing but themselves. */
static uint8_t *read_ones(laws_trial *t, const halves *h) {
    laws_terms k;
    laws_terms_init(&k, t);
    uint32_t *in = laws_alloc(t->memory, h->linear->nin + 1u, sizeof *in);
    laws_leaves(&k, h->linear, 0, in);
    const laws_flat b = laws_flatten(&k, h->linear, in);
    uint8_t *read = laws_alloc(t->memory, k.n + 1u, 1);
    for (uint32_t j = 0; j < h->linear->nout; j++) read[b.out[j]] = 1;
    for (uint32_t i = k.nop; i-- > 0;) {
        bool any = false;
        for (uint32_t v = k.op[i].out; v < k.op[i].out + k.op[i].nout; v++) any |= read[v] != 0;
        for (uint32_t j = 0; any && j < k.op[i].nin; j++) read[k.op[i].in[j]] = 1;
    }
    return read; /* the leaves come first */
}

static void kept_with_need(const laws_terms *k, const halves *h) {
    const uint8_t *read = read_ones(k->t, h);
    for (uint32_t r = 0; r < h->nres; r++) {
        const char *why = read[r] || is_input(k, h->res[r]) ? without_need(k, h, r) : "not read by the linear program";
        if (!why) continue;
        k->t->shown = h->primal;
        laws_fail(k->t, "%s: residual %u is %s", h->policy, (unsigned)r, why);
    }
}

/* ---- nothing is done without need -------------------------------------------------------------- */

static double done_flops(const laws_terms *k, const laws_flat *a, bool linear) {
    double sum = 0;
    for (uint32_t i = 0; i < k->nop; i++)
        if (k->op[i].linear == linear) sum += laws_times(a, i) * k->op[i].flops;
    return sum;
}

/* Flops of what it takes to have the terms marked in `wanted` from those in `there`, each operation once. */
static double closure_flops(const laws_terms *k, uint8_t *wanted, const uint8_t *there) {
    double sum = 0;
    for (uint32_t i = k->nop; i-- > 0;) {
        const laws_op *op = &k->op[i];
        bool any = false;
        for (uint32_t v = op->out; v < op->out + op->nout; v++) any |= wanted[v] && !there[v];
        if (!any || laws_is_leaf(op)) continue;
        sum += op->flops;
        for (uint32_t j = 0; j < op->nin; j++) wanted[op->in[j]] = 1;
    }
    return sum;
}

static bool has_effect(const laws_op *op) { return op->prim->effect && op->prim->effect(tn_i_p(op->e)); }

/* What the primal program has to do: its outputs, residuals among them, and its effects. */
static double primal_flops(const laws_terms *k, const halves *h) {
    uint8_t *wanted = laws_alloc(k->t->memory, k->n + 1u, 1), *there = laws_alloc(k->t->memory, k->n + 1u, 1);
    for (uint32_t j = 0; j < h->nout + h->nres; j++) wanted[h->a.out[j]] = 1;
    for (uint32_t i = 0; i < k->nop; i++)
        for (uint32_t j = 0;
             laws_times(&h->a, i) && !laws_is_leaf(&k->op[i]) && has_effect(&k->op[i]) && j < k->op[i].nin; j++)
            wanted[k->op[i].in[j]] = 1;
    return closure_flops(k, wanted, there);
}

/* What the linear program has to do again: what its linear operations read and residuals are not. */
static double again_flops(const laws_terms *k, const halves *h) {
    uint8_t *wanted = laws_alloc(k->t->memory, k->n + 1u, 1), *there = laws_alloc(k->t->memory, k->n + 1u, 1);
    for (uint32_t r = 0; r < h->nres; r++) there[h->res[r]] = 1;
    for (uint32_t j = 0; j < h->linear->nout; j++) wanted[h->b.out[j]] = !laws_op_of(k, h->b.out[j])->linear;
    for (uint32_t i = 0; i < k->nop; i++)
        for (uint32_t j = 0; k->op[i].linear && laws_times(&h->b, i) && j < k->op[i].nin; j++)
            wanted[k->op[i].in[j]] |= !laws_op_of(k, k->op[i].in[j])->linear;
    return closure_flops(k, wanted, there);
}

static bool differ(double a, double b) { return !(fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b))); }

/* By what tn_cost says of the two programs. */
static void done_with_need(const laws_terms *k, const halves *h) {
    laws_trial *t = k->t;
    tn_i_cost a, b;
    if (!tn_i_fn_cost(h->primal, &a) || !tn_i_fn_cost(h->linear, &b)) laws_fail(t, "no memory");
    const double primal = primal_flops(k, h), again = again_flops(k, h), linear = done_flops(k, &h->b, true);
    if (!each_once(h)) return;
    if (differ(a.flops, primal)) {
        t->shown = h->primal;
        laws_fail(t, "%s: the primal program costs %g flops; its outputs and residuals take %g", h->policy, a.flops,
                  primal);
    } else if (differ(b.flops - linear, again)) {
        t->shown = h->linear;
        laws_fail(t, "%s: the linear program does %g flops again; what it reads takes %g", h->policy, b.flops - linear,
                  again);
    }
}

/* Between them, two halves do the same operations as any others. */
static void same_work(const laws_terms *k, const halves *h, const halves *all) {
    for (uint32_t i = 0; i < k->nop && !k->t->failed; i++) {
        if (k->op[i].linear || k->op[i].flops == 0) continue;
        const bool here = laws_times(&h->a, i) || laws_times(&h->b, i),
                   there = laws_times(&all->a, i) || laws_times(&all->b, i);
        if (here == there) continue;
        k->t->shown = here ? h->primal : all->primal;
        laws_fail(k->t, "%s does, under %s, and under %s nobody does", k->op[i].prim->name,
                  here ? h->policy : all->policy, here ? all->policy : h->policy);
    }
}

static void nothing_twice(const laws_terms *k, const halves *h) {
    for (uint32_t i = 0; i < k->nop && !k->t->failed; i++) {
        if (!laws_times(&h->a, i) || !laws_times(&h->b, i) || k->op[i].flops == 0) continue;
        k->t->shown = h->linear;
        laws_fail(k->t, "%s: %s is computed twice", h->policy, k->op[i].prim->name);
    }
}

/* ---- what is kept is what was asked for ------------------------------------------------------------ */

static bool asked(uint64_t seed, const char *primitive) { return tn_i_hash(seed, primitive, strlen(primitive)) & 1; }

/* Verdicts that can be looked up again, by primitive. */
static tn_verdict by_primitive(void *user, const tn_candidate *v) {
    return asked(*(const uint64_t *)user, v->primitive) ? TN_SAVE : TN_RECOMPUTE;
}

/* Whether v was to be saved, or a view of it that the linear program reads: then it stands for the view. */
static bool asked_for(const laws_terms *k, const halves *h, uint32_t v, uint64_t seed) {
    if (asked(seed, laws_op_of(k, v)->prim->name)) return true;
    for (uint32_t i = k->term[v].op + 1; i < k->nop; i++)
        if (laws_times(&h->b, i) && is_view(&k->op[i]) && k->op[i].in[0] == v &&
            bytes_of(k, v) <= bytes_of(k, k->op[i].out) && asked_for(k, h, k->op[i].out, seed))
            return true;
    return false;
}

/* It is what the program itself offloads, which has a verdict of its own: to the terms it is the same value. */
static bool asked_offloaded(const halves *h, uint32_t r, uint64_t seed) {
    const tn_fn *f = h->primal;
    const uint32_t def = f->val[f->out[h->nout + r]].def;
    return def < TN_DEF_LITERAL && f->eqn[def].prim->flags & TN_F_OFFLOAD && asked(seed, f->eqn[def].prim->name);
}

static void as_asked(const laws_terms *k, const halves *h, uint64_t seed) {
    if (!each_once(h)) return; /* what a nested program returns goes by two verdicts */
    k->t->shown = h->linear;
    for (uint32_t r = 0; r < h->nres; r++) {
        const laws_op *op = laws_op_of(k, h->res[r]);
        if (!laws_is_leaf(op) && !has_effect(op) && !asked_for(k, h, h->res[r], seed) && !asked_offloaded(h, r, seed))
            laws_fail(k->t, "%s was to be computed again, and is saved", op->prim->name);
    }
    for (uint32_t i = 0; i < k->nop; i++) {
        const laws_op *op = &k->op[i];
        if (!laws_times(&h->a, i) || !laws_times(&h->b, i) || op->flops == 0) continue;
        if (op->nout == 1 ? asked_for(k, h, op->out, seed) : asked(seed, op->prim->name))
            laws_fail(k->t, "%s was to be saved, and is computed again", op->prim->name);
    }
}

static laws_flat flatten_after(laws_terms *k, const tn_fn *f, const uint32_t *first, uint32_t n) {
    uint32_t *in = laws_alloc(k->t->memory, f->nin + 1u, sizeof *in);
    for (uint32_t i = 0; i < n; i++) in[i] = first[i];
    laws_leaves(k, f, n, in);
    return laws_flatten(k, f, in);
}

/* Put together as vjp, the halves stay two: what is computed again is not merged with what was. */
static void stays_apart(laws_terms *k, const tn_fn *f, const tn_wrt_list *w, const tn_policy *p, const uint32_t *x,
                        const halves *h) {
    laws_trial *t = k->t;
    const tn_fn *back = each_once(h) ? laws_made(t, tn_transpose(h->linear), "transpose") : NULL,
                *g = back ? laws_made(t, tn_vjp(f, w, p), "vjp") : NULL;
    if (!g) return;
    const laws_flat b = flatten_after(k, back, h->res, h->nres), both = flatten_after(k, g, x, f->nin);
    for (uint32_t i = 0; i < b.nop; i++) {
        if (!laws_times(&h->a, i) || !laws_times(&b, i) || k->op[i].flops == 0 || laws_times(&both, i) > 1) continue;
        t->shown = g;
        laws_fail(t, "%s: vjp computes %s once and keeps it, which was to be computed again", h->policy,
                  k->op[i].prim->name);
    }
}

void laws_recompute(laws_trial *t) {
    laws_wrt w;
    const tn_fn *f = t->f;
    if (laws_forks(f) || laws_has_loops(f)) return;
    (void)laws_wrt_some(t, f, &w);
    laws_terms k;
    laws_terms_init(&k, t);
    uint32_t *x = laws_alloc(t->memory, f->nin + 1u, sizeof *x), *dx = laws_alloc(t->memory, w.list.n + 1, sizeof *dx);
    laws_leaves(&k, f, 0, x);
    for (size_t i = 0; i < w.list.n; i++) dx[i] = laws_leaf(&k, f->val[w.index[i]].type, true);
    halves all = {0}, h;
    for (size_t i = 0; tn_i_policy_text(i) && !t->failed; i++) {
        const tn_policy p = {.size = sizeof p, .name = tn_i_policy_text(i)};
        if (!split(&k, f, &w.list, &p, x, dx, &h)) return;
        if (i == 0) all = h; /* everything_saveable */
        kept_with_need(&k, &h);
        done_with_need(&k, &h);
        same_work(&k, &h, &all);
        if (tn_i_pick(&t->rng, 0, 3) == 0) stays_apart(&k, f, &w.list, &p, x, &h);
        if (i == 0 && !t->failed && each_once(&h)) nothing_twice(&k, &h);
    }
    uint64_t seed = tn_i_random(&t->rng);
    const tn_policy verdicts = {.size = sizeof verdicts, .callback = by_primitive, .user = &seed};
    if (t->failed || !split(&k, f, &w.list, &verdicts, x, dx, &h)) return;
    kept_with_need(&k, &h);
    done_with_need(&k, &h);
    same_work(&k, &h, &all);
    as_asked(&k, &h, seed);
}

/* ---- regions ------------------------------------------------------------------------------------- */

/* Whatever the boundary's policy, what is computed only inside regions that save nothing does not cross. */
static void regions_of(laws_trial *t, const tn_fn *f, const tn_wrt_list *w, const char *what) {
    laws_terms k;
    laws_terms_init(&k, t);
    const tn_fn *forward = laws_made(t, tn_jvp(f, w), what),
                *g = forward ? laws_made(t, tn_i_contracted(forward), what) : NULL; /* as what is split */
    if (!g || laws_has_loops(f)) return;
    uint32_t *in = laws_alloc(t->memory, g->nin + 1u, sizeof *in);
    laws_leaves(&k, f, 0, in);
    for (uint32_t i = f->nin; i < g->nin; i++) in[i] = laws_leaf(&k, g->val[i].type, true);
    const laws_flat both = laws_flatten(&k, g, in);
    const tn_policy all = {.size = sizeof all, .name = "everything_saveable"};
    halves h;
    if (!both.regions || !split(&k, f, w, &all, in, in + f->nin, &h)) return;
    for (uint32_t r = 0; r < h.nres; r++) {
        if (laws_is_leaf(laws_op_of(&k, h.res[r])) || (h.res[r] < both.n && both.visible[h.res[r]])) continue;
        t->shown = h.primal;
        laws_fail(t, "%s: residual %u comes from inside a region that saves nothing", what, (unsigned)r);
    }
}

static bool saves_nothing(const tn_i_eqn *e) {
    return e->prim->id == TN_P_checkpoint && strcmp(tn_i_p(e)[2].u.str, "nothing_saveable") == 0;
}

/* Of a program that is one region: under any transformation all work is in such regions, but for sums. */
static void all_inside(laws_trial *t, const tn_fn *g, const char *what) {
    for (uint32_t i = 0; g && i < g->neqn; i++) {
        const tn_i_eqn *e = &g->eqn[i];
        tn_i_cost c;
        if (saves_nothing(e) || e->prim->id == TN_P_add || (tn_i_eqn_cost(g, e, &c) && c.flops == 0)) continue;
        t->shown = g;
        laws_fail(t, "%s of a region: %s stands outside", what, e->prim->name);
    }
}

/* The program as one region that saves nothing. */
static const tn_fn *as_region(laws_trial *t) {
    const tn_fn *f = t->f;
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    tn_i_var *in = laws_alloc(t->memory, f->nin + 1u, sizeof *in), *out = laws_alloc(t->memory, f->nout, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    const tn_i_param p[3] = {{.kind = TN_K_STR, .u.str = tn_i_string(t->ctx, "all", 3)},
                             {.kind = TN_K_FN, .u.fn = f},
                             {.kind = TN_K_STR, .u.str = tn_i_string(t->ctx, "nothing_saveable", 16)}};
    const tn_i_var first = tn_i_emit(&b, tn_i_prim(&b, TN_P_checkpoint), p, f->nin, in);
    for (uint32_t j = 0; j < f->nout; j++) out[j] = first + j;
    return laws_made(t, tn_i_finish(&b, f->nout, out), "a region");
}

void laws_regions(laws_trial *t) {
    laws_wrt w;
    const tn_wrt_list *all = laws_wrt_all(t->f, &w);
    const tn_fn *f[2] = {t->f, as_region(t)};
    for (int k = 0; k < 2 && f[k] && !t->failed; k++) {
        if (k == 0 && laws_forks(t->f)) continue;
        regions_of(t, f[k], all, "f");
        const tn_fn *forward = t->failed ? NULL : laws_made(t, tn_jvp(f[k], all), "jvp"),
                    *back = forward ? laws_made(t, tn_vjp(f[k], all, NULL), "vjp") : NULL;
        if (!back) return;
        regions_of(t, forward, all, "jvp");
        regions_of(t, back, all, "vjp");
        if (k == 0) continue;
        all_inside(t, forward, "jvp");
        all_inside(t, back, "vjp");
        all_inside(t, laws_made(t, tn_vjp(back, all, NULL), "vjp of vjp"), "vjp of vjp");
    }
}
