/* First derivatives: jvp, vjp, linearize and transpose say the same thing, and it is true. */
#include "laws/differences.h"
#include "laws/derive.h"
#include "laws/table.h"
#include "prims/ids.h"

#include <math.h>

/* The identity that is there to stop tangents: differences see through it.  No other one may be without a derivative,
 * and so it is known by its name, not by the flag that a mutant sets. */
static bool stops_tangents(const laws_trial *t) { return t->prim && t->prim->id == TN_P_stop_gradient; }

static bool all_zero(const laws_array *a) {
    for (int64_t i = 0; i < laws_count(a); i++)
        if (laws_get(a, i) != 0) return false;
    return true;
}

static void against_differences(laws_trial *t, const tn_wrt_list *w, const laws_array *v, const laws_array *y,
                                const laws_array *dy) {
    const tn_fn *f = t->f64;
    const double tolerance = laws_tolerance(t->f);
    laws_array *along = laws_alloc(t->memory, f->nin + 1u, sizeof *along);
    laws_array *slope = laws_alloc(t->memory, f->nout + 1u, sizeof *slope),
               *error = laws_alloc(t->memory, f->nout + 1u, sizeof *error);
    for (size_t k = 0; k < w->n; k++) along[w->index[k]] = laws_widened(t->memory, &v[k]);
    if (!laws_differences(t, f, laws_widened_all(t, t->x, f->nin), along, slope, error)) return;
    for (uint32_t j = 0, k = 0; j < f->nout; j++) {
        if (!tn_i_is_float(f->val[f->out[j]].type->dtype)) continue;
        const int64_t i = laws_contradicts(t, &dy[k], &y[j], &slope[j], &error[j], tolerance);
        if (i >= 0) {
            laws_fail(t, "output %u, element %lld: jvp says %.17g, differences say %.17g (+- %.1g)", (unsigned)j,
                      (long long)i, laws_get(&dy[k], i), laws_get(&slope[j], i), laws_get(&error[j], i));
            return;
        }
        k++;
    }
}

void laws_jvp(laws_trial *t) {
    laws_wrt w;
    laws_wrt_some(t, t->f, &w);
    const tn_fn *g = laws_made(t, tn_jvp(t->f, &w.list), "jvp");
    if (!g) return;
    const laws_array *v = laws_tangents(t, t->x, &w.list);
    const laws_array *y = laws_run_new(t, t->f, t->x),
                     *both = laws_run_new(t, g, laws_joined(t, t->x, t->f->nin, v, w.list.n));
    if (!y || !both || !laws_same_bits(t, "jvp changes output", y, both, t->f->nout)) return;
    const laws_array *dy = both + t->f->nout;
    if (!stops_tangents(t)) {
        against_differences(t, &w.list, v, y, dy);
        return;
    }
    if (!all_zero(&dy[0])) laws_fail(t, "the derivative of a primitive without one is not zero");
}

void laws_vjp(laws_trial *t) {
    laws_wrt w;
    laws_wrt_some(t, t->f, &w);
    const tn_fn *f = t->f, *g = laws_made(t, tn_jvp(f, &w.list), "jvp");
    const tn_fn *h = g ? laws_made(t, tn_vjp(f, &w.list, NULL), "vjp") : NULL;
    if (!h) return;
    uint32_t n;
    const laws_array *v = laws_tangents(t, t->x, &w.list), *ct = laws_cotangents(t, f, &n);
    const laws_array *forth = laws_run_new(t, g, laws_joined(t, t->x, f->nin, v, w.list.n));
    const laws_array *back = laws_run_new(t, h, laws_joined(t, t->x, f->nin, ct, n));
    if (!forth || !back || !laws_same_bits(t, "vjp changes output", forth, back, f->nout)) return;
    if (!laws_all_finite(forth, f->nout)) {
        t->redraw = true;
        return;
    }
    double a = 0, b = 0, scale = 0;
    for (uint32_t j = 0; j < n; j++) a += laws_dot(&ct[j], &forth[f->nout + j], &scale);
    for (size_t k = 0; k < w.list.n; k++) b += laws_dot(&back[f->nout + k], &v[k], &scale);
    if (fabs(a - b) <= laws_rounding(f) * fmax(scale, 1e-2)) return;
    t->shown = h;
    laws_fail(t, "<ct, J dx> = %.17g but <J' ct, dx> = %.17g", a, b);
}

/* primal and linear program run one after the other. */
static const laws_array *run_parts(laws_trial *t, tn_linearized p, const laws_array *v, size_t n,
                                   const laws_array **residuals) {
    const laws_array *y = laws_run_new(t, p.primal, t->x);
    if (!y) return NULL;
    *residuals = y + t->f->nout;
    return laws_run_new(t, p.linear, laws_joined(t, y + t->f->nout, p.primal->nout - t->f->nout, v, n));
}

static bool linearized(laws_trial *t, const tn_wrt_list *w, tn_linearized *p) {
    *p = tn_linearize(t->f, w, NULL);
    if (!laws_made(t, p->primal, "linearize (primal)") || !laws_made(t, p->linear, "linearize (linear)")) return false;
    if (p->linear->nlin == w->n && p->linear->nin - p->linear->nlin == p->primal->nout - t->f->nout) return true;
    t->shown = p->linear;
    laws_fail(t, "linearize: the linear program has %u residuals and %u tangents, the primal gives %u residuals",
              (unsigned)(p->linear->nin - p->linear->nlin), (unsigned)p->linear->nlin,
              (unsigned)(p->primal->nout - t->f->nout));
    return false;
}

void laws_linearize(laws_trial *t) {
    laws_wrt w;
    laws_wrt_some(t, t->f, &w);
    const tn_fn *g = laws_made(t, tn_jvp(t->f, &w.list), "jvp");
    tn_linearized p;
    if (!g || !linearized(t, &w.list, &p)) return;
    const laws_array *v = laws_tangents(t, t->x, &w.list), *residuals;
    const laws_array *both = laws_run_new(t, g, laws_joined(t, t->x, t->f->nin, v, w.list.n));
    const laws_array *dy = both ? run_parts(t, p, v, w.list.n, &residuals) : NULL;
    if (!dy) return;
    t->shown = p.linear;
    (void)laws_agree(t, "jvp and linearize: tangent", both + t->f->nout, dy, p.linear->nout, laws_rounding(t->f), 1e-3);
}

void laws_twice(laws_trial *t) {
    laws_wrt w;
    laws_wrt_all(t->f, &w);
    tn_linearized p;
    if (!linearized(t, &w.list, &p)) return;
    const tn_fn *once = laws_made(t, tn_transpose(p.linear), "transpose");
    const tn_fn *twice = once ? laws_made(t, tn_transpose(once), "transpose of transpose") : NULL;
    if (!twice) return;
    const laws_array *v = laws_tangents(t, t->x, &w.list), *residuals;
    const laws_array *dy = run_parts(t, p, v, w.list.n, &residuals);
    const uint32_t nres = p.linear->nin - p.linear->nlin;
    const laws_array *x = dy ? laws_joined(t, residuals, nres, v, w.list.n) : NULL,
                     *again = x ? laws_run_new(t, twice, x) : NULL;
    if (!again) return;
    t->shown = twice;
    (void)laws_agree_but_for(t, "twice transposed: output", p.linear, x, dy, again, laws_rounding(t->f), laws_rounded);
}
