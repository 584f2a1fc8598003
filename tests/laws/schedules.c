/* A schedule changes no bit of any derivative, whatever the policy. */
#include "control/loops/loop.h"
#include "laws/derive.h"
#include "laws/table.h"
#include "prims/ids.h"

#include <stdio.h>

/* ---- the same program with other schedules -------------------------------------------------- */

/* What the loops get: those of known length, and those whose length is found when they run; NULL: none. */
typedef struct plan {
    const char *known, *unknown;
} plan;

static const tn_fn *scheduled(const tn_fn *f, const plan *p);

static uint32_t params(const tn_i_eqn *e) { return e->params ? e->params->n : 0; }

/* The parameter that is e's schedule; its number of parameters: e is no loop. */
static uint32_t schedule_at(const tn_i_eqn *e) {
    if (e->prim->id == TN_P_scan) return TN_SCAN_SCHEDULE;
    return e->prim->id == TN_P_while ? TN_WHILE_SCHEDULE : params(e);
}

static bool found_when_it_runs(const tn_i_eqn *e) {
    return e->prim->id == TN_P_while || e->params->v[TN_SCAN_LENGTH].kind == TN_K_NONE;
}

static bool copy_param(const plan *p, const tn_i_param *from, tn_i_param *to) {
    *to = *from;
    if (from->kind == TN_K_FN) return (to->u.fn = scheduled(from->u.fn, p)) != NULL;
    if (from->kind != TN_K_FNS) return true;
    const tn_fn **f = tn_i_alloc_array(from->u.fns[0]->ctx, from->n, sizeof *f);
    bool ok = f != NULL;
    to->u.fns = f;
    for (uint32_t i = 0; ok && i < from->n; i++) ok = (f[i] = scheduled(from->u.fns[i], p)) != NULL;
    return ok;
}

static void drop_param(const tn_i_param *from, tn_i_param *to) {
    if (from->kind == TN_K_FN) tn_i_fn_unref(to->u.fn);
    if (from->kind != TN_K_FNS || !to->u.fns) return;
    for (uint32_t i = 0; i < from->n; i++) tn_i_fn_unref(to->u.fns[i]);
    tn_i_free(from->u.fns[0]->ctx, (void *)(uintptr_t)to->u.fns, from->n * sizeof *to->u.fns);
}

static bool copy_equation(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, const plan *p, tn_i_var *map) {
    tn_i_param q[TN_MAX_PARAMS];
    uint32_t n = 0;
    bool ok = true;
    for (; ok && n < params(e); n++) ok = copy_param(p, &e->params->v[n], &q[n]);
    const uint32_t at = schedule_at(e);
    if (ok && at < params(e)) {
        const char *text = found_when_it_runs(e) ? p->unknown : p->known;
        q[at] = (tn_i_param){.kind = text ? TN_K_STR : TN_K_NONE, .u.str = text};
    }
    tn_i_var *in = ok ? tn_i_alloc_array(b->ctx, e->nin, sizeof *in) : NULL;
    if (in) {
        for (uint32_t i = 0; i < e->nin; i++) in[i] = tn_i_mapped(b, f, map, tn_i_in(f, e)[i]);
        b->loc = e->loc;
        b->region = e->region;
        const tn_i_var out = tn_i_emit(b, e->prim, params(e) ? q : NULL, e->nin, in);
        for (uint32_t j = 0; j < e->nout && out != TN_NOVAR; j++) map[e->out + j] = out + j;
        tn_i_free(b->ctx, in, e->nin * sizeof *in);
    }
    for (uint32_t k = 0; k < n; k++) drop_param(&e->params->v[k], &q[k]);
    return in && !b->failed;
}

static const tn_fn *scheduled(const tn_fn *f, const plan *p) {
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.raw = true;
    b.regions = f->regions;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    const tn_fn *g = NULL;
    bool ok = map && out;
    for (uint32_t i = 0; ok && i < f->nin; i++) map[i] = tn_i_input(&b, f->val[i].type, i >= f->nin - f->nlin);
    for (uint32_t i = 0; ok && i < f->neqn; i++) ok = copy_equation(&b, f, &f->eqn[i], p, map);
    for (uint32_t j = 0; ok && j < f->nout; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    b.region = 0;
    if (ok)
        g = tn_i_finish(&b, f->nout, out);
    else
        tn_i_builder_drop(&b);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static bool has_loop(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (schedule_at(e) < params(e)) return true;
        for (uint32_t k = 0; k < params(e); k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n; j++)
                if (has_loop(g[j])) return true;
        }
    }
    return false;
}

/* ---- derivatives -------------------------------------------------------------------------------- */

typedef enum ways { GRAD, FWD_REV, REV_REV, REV_FWD, FWD_FWD_REV, REV_REV_REV, WAYS } way;
static const char *const way_name[] = {"vjp",        "jvp of vjp",        "vjp of vjp",
                                       "vjp of jvp", "jvp of jvp of vjp", "vjp of vjp of vjp"};

/* 'v': vjp, 'j': jvp, the innermost first. */
static const char *const steps[] = {"v", "vj", "vv", "jv", "vjj", "vvv"};

/* The derivative, or NULL: user code has so many derivatives and no more. */
static const tn_fn *derivative(const tn_fn *f, way how, const tn_wrt_list *w, const tn_policy *policy) {
    for (const char *k = steps[how]; f && *k; k++) f = *k == 'v' ? tn_vjp(f, w, policy) : tn_jvp(f, w);
    return f;
}

/* The trial's, then tangents and cotangents. */
static const laws_array *point(laws_trial *t, const tn_fn *d) {
    laws_array *more = laws_alloc(t->memory, d->nin + 1u, sizeof *more);
    for (uint32_t i = t->f->nin; i < d->nin; i++) {
        more[i - t->f->nin] = laws_new(t->memory, d->val[i].type);
        laws_random(&t->rng, &more[i - t->f->nin]);
    }
    return laws_joined(t, t->x, t->f->nin, more, d->nin - t->f->nin);
}

/* NULL: refused, as are loops that would carry arrays as long as loops, which only the first one may be. */
static const laws_array *run(laws_trial *t, const tn_fn *d, const laws_array *x, bool first) {
    const void **in = laws_alloc(t->memory, d->nin + 1u, sizeof *in);
    void **to = laws_alloc(t->memory, d->nout + 1u, sizeof *to);
    laws_array *y = laws_alloc(t->memory, d->nout + 1u, sizeof *y);
    for (uint32_t i = 0; i < d->nin; i++) in[i] = x[i].data;
    for (uint32_t j = 0; j < d->nout; j++) {
        y[j] = laws_new(t->memory, d->val[d->out[j]].type);
        to[j] = y[j].data;
    }
    t->shown = d;
    tn_exec *e = tn_compile(
        d, &(tn_compile_options){.size = sizeof(tn_compile_options), .spill_dir = "/tmp", .backend = t->backend});
    if (!e && first && tn_last_status(t->ctx) == TN_ERULE) return NULL;
    if (!e || tn_call(e, in, to) != TN_OK)
        laws_fail(t, "compile and call: %s", e ? tn_exec_error(e) : tn_error(t->ctx));
    if (e) tn_exec_free(e);
    return t->failed ? NULL : y;
}

/* A schedule that only the shorter list of loops may have is of no use to the others. */
static plan draw_plan(laws_trial *t) {
    static const char *const known[] = {"revolve:1",  "revolve:2", "mixed:2", "online:2",
                                        "periodic:2", "nothing",   "auto"};
    static const char *const unknown[] = {"online:1", "online:2", "periodic:2", "nothing", "auto"};
    return (plan){known[tn_i_pick(&t->rng, 0, 6)], unknown[tn_i_pick(&t->rng, 0, 4)]};
}

void laws_schedules(laws_trial *t) {
    static const char *const policies[] = {"min_bytes", "min_cut", "balanced", "nothing_saveable",
                                           "everything_saveable"};
    static const plan none = {NULL, NULL};
    if (t->f->effect || !has_loop(t->f)) return;
    const tn_policy *policy = tn_policy_by_name(policies[tn_i_pick(&t->rng, 0, 4)]);
    const way how = (way)tn_i_pick(&t->rng, 0, WAYS - 1);
    const plan some = draw_plan(t);
    laws_wrt w;
    laws_wrt_some(t, t->f, &w);
    const tn_fn *plain = laws_made(t, scheduled(t->f, &none), "the program without schedules"),
                *other = plain ? laws_made(t, scheduled(t->f, &some), "the program with schedules") : NULL;
    if (!other) return;
    const tn_fn *d = derivative(plain, how, &w.list, policy);
    if (!d) return;
    const laws_array *x = point(t, d), *want = run(t, d, x, true);
    const tn_fn *e =
        want ? laws_made(t, derivative(other, how, &w.list, policy), "the derivative with schedules") : NULL;
    const laws_array *got = e ? run(t, e, x, false) : NULL;
    char what[160];
    (void)snprintf(what, sizeof what, "%s under %s with %s and %s: output", way_name[how], policy->name, some.known,
                   some.unknown);
    if (got) (void)laws_same_bits(t, what, want, got, d->nout);
}
