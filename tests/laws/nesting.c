/* Derivatives of derivatives, however they are nested. */
#include "api/surgery.h"
#include "laws/copy64.h"
#include "laws/derive.h"
#include "laws/differences.h"
#include "laws/table.h"
#include "prims/ids.h"

#include <math.h>

/* User code has as many derivatives as the user gives: two in the sample of external_call, one of
 * which a custom rule may have taken already.  1 + derivatives taken; 0: no user code. */
static int user_code(const tn_fn *f) {
    int most = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->id == TN_P_external_call) {
            const int taken = tn_i_p(e)[1].u.i == 0 ? 1 : 2 /* mode=fn, or one of the derivatives */;
            most = taken > most ? taken : most;
        }
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n; j++) {
                const int inside = user_code(g[j]);
                most = inside > most ? inside : most;
            }
        }
    }
    return most;
}

/* What these laws nest: a scalar function s of the trial's inputs, and directions. */
typedef struct nest {
    const tn_fn *s;
    laws_wrt w;
    uint32_t nin;
    size_t nv;
    const laws_array *v[4];
} nest;

static bool nest_init(laws_trial *t, nest *k, int directions) {
    k->s = laws_scalar(t, t->f);
    if (!k->s) return false;
    (void)laws_wrt_all(t->f, &k->w);
    k->nin = t->f->nin;
    k->nv = k->w.list.n;
    for (int d = 0; d < directions; d++) k->v[d] = laws_tangents(t, t->x, &k->w.list);
    const laws_array *y = laws_run_new(t, k->s, t->x);
    if (y && !laws_all_finite(y, 1)) t->redraw = true;
    return y && !t->redraw;
}

/* x.., v[0].., .., v[n-1].. */
static laws_array *arguments(laws_trial *t, const nest *k, const laws_array *x, int n) {
    laws_array *a = laws_joined(t, x, k->nin, NULL, 0);
    for (int d = 0; d < n; d++) a = laws_joined(t, a, k->nin + (size_t)d * k->nv, k->v[d], k->nv);
    return a;
}

/* The f64 copies of g's outputs' slopes along v[d] in x, g being a program of x.., v[0].., .., v[d-1].. . */
static const laws_array *slopes(laws_trial *t, const nest *k, const tn_fn *g, int d, laws_array *error) {
    const tn_fn *wide = laws_copy_f64(g);
    if (!wide && tn_last_status(t->ctx) == TN_OK)
        return NULL; /* callbacks have no copy; the f64 case differentiates them */
    if (!laws_made(t, wide, "the f64 copy")) return NULL;
    const laws_array *x = laws_widened_all(t, arguments(t, k, t->x, d), g->nin);
    laws_array *along = laws_alloc(t->memory, g->nin + 1u, sizeof *along),
               *slope = laws_alloc(t->memory, g->nout + 1u, sizeof *slope);
    for (size_t i = 0; i < k->nv; i++) along[k->w.index[i]] = laws_widened(t->memory, &k->v[d][i]);
    return laws_differences(t, wide, x, along, slope, error) ? slope : NULL;
}

/* dy (n outputs) are the derivatives of y, g's values at x, along v[d]. */
static void differences_agree(laws_trial *t, const nest *k, const tn_fn *g, int d, const laws_array *y,
                              const laws_array *dy, const char *what) {
    laws_array *error = laws_alloc(t->memory, g->nout + 1u, sizeof *error);
    const laws_array *slope = slopes(t, k, g, d, error);
    for (uint32_t j = 0; slope && j < g->nout; j++) {
        const int64_t i = laws_contradicts(t, &dy[j], &y[j], &slope[j], &error[j], laws_tolerance(t->f));
        if (i < 0) continue;
        laws_fail(t, "%s %u, element %lld: %.17g, differences say %.17g (+- %.1g)", what, (unsigned)j, (long long)i,
                  laws_get(&dy[j], i), laws_get(&slope[j], i), laws_get(&error[j], i));
        return;
    }
}

static const tn_fn *derivative_along(laws_trial *t, const nest *k, const tn_fn *g, const char *what) {
    const tn_fn *h = laws_made(t, tn_jvp(g, &k->w.list), what);
    return h && g->nout == 1 ? laws_made(t, tn_i_select_outputs(h, 1, &(uint32_t){1}), what) : h;
}

static const tn_fn *gradient(laws_trial *t, const nest *k, const tn_fn *g, const char *what) {
    return g ? laws_made(t, tn_grad(g, &k->w.list, NULL), what) : NULL;
}

/* Forward over reverse (two spellings), reverse over forward, reverse over reverse. */
void laws_second(laws_trial *t) {
    nest k;
    if (user_code(t->f) > 1 || !nest_init(t, &k, 1)) return;
    const tn_fn *g = gradient(t, &k, k.s, "grad");
    t->shown = g;
    const tn_fn *fr = g ? laws_made(t, tn_jvp(g, &k.w.list), "jvp of grad") : NULL;
    const tn_fn *hvp = fr ? laws_made(t, tn_hvp(k.s, &k.w.list, NULL), "hvp") : NULL;
    const tn_fn *slope = hvp ? laws_made(t, tn_jvp(k.s, &k.w.list), "jvp") : NULL;
    const tn_fn *rf = slope ? gradient(t, &k, laws_made(t, tn_i_select_outputs(slope, 1, &(uint32_t){1}), "jvp"), "grad of jvp") : NULL;
    const tn_fn *rr = rf ? gradient(t, &k, laws_paired(t, g), "grad of <grad, v>") : NULL;
    if (!rr) return;
    const laws_array *x = arguments(t, &k, t->x, 1);
    const laws_array *a = laws_run_new(t, fr, x), *b = laws_run_new(t, rf, x), *c = laws_run_new(t, rr, x),
                     *d = laws_run_new(t, hvp, x);
    if (!a || !b || !c || !d) return;
    const laws_array *hv = a + k.nv;
    const double tolerance = laws_tolerance(t->f) / 10;
    t->shown = fr;
    differences_agree(t, &k, g, 0, a, hv, "jvp of grad: input");
    if (t->redraw || t->failed) return;
    if (!laws_same_bits(t, "jvp of grad and hvp: input", hv, d, k.nv)) return;
    t->shown = rf;
    if (!laws_agree(t, "jvp of grad and grad of jvp: input", hv, b, k.nv, tolerance, 1)) return;
    t->shown = rr;
    (void)laws_agree(t, "jvp of grad and grad of grad: input", hv, c, k.nv, tolerance, 1);
}

/* The derivative of a Hessian-vector product. */
void laws_third(laws_trial *t) {
    nest k;
    if (user_code(t->f) || !nest_init(t, &k, 2)) return;
    const tn_fn *h = laws_made(t, tn_hvp(k.s, &k.w.list, NULL), "hvp");
    const tn_fn *j = h ? laws_made(t, tn_jvp(h, &k.w.list), "jvp of hvp") : NULL;
    const laws_array *y = j ? laws_run_new(t, h, arguments(t, &k, t->x, 1)) : NULL;
    const laws_array *a = y ? laws_run_new(t, j, arguments(t, &k, t->x, 2)) : NULL;
    if (!a || !laws_same_bits(t, "jvp of hvp changes the Hessian-vector product: input", y, a, k.nv)) return;
    t->shown = j;
    differences_agree(t, &k, h, 1, a, a + k.nv, "jvp of jvp of grad: input");
}

/* d1: along v0; d2: along v0, v1; ...: each the slope of the one before. */
void laws_fourth(laws_trial *t) {
    nest k;
    if (user_code(t->f) || !nest_init(t, &k, 4)) return;
    const tn_fn *d1 = derivative_along(t, &k, k.s, "jvp"), *d2 = d1 ? derivative_along(t, &k, d1, "jvp of jvp") : NULL;
    const tn_fn *d3 = d2 ? derivative_along(t, &k, d2, "jvp^3") : NULL,
                *d4 = d3 ? derivative_along(t, &k, d3, "jvp^4") : NULL;
    const tn_fn *gh = d2 ? laws_made(t, tn_hvp(d2, &k.w.list, NULL), "hvp of jvp of jvp") : NULL;
    const tn_fn *rr = d4 && gh ? gradient(t, &k, d3, "grad of jvp^3") : NULL;
    if (!rr) return;
    const laws_array *x = arguments(t, &k, t->x, 4);
    const laws_array *y3 = laws_run_new(t, d3, x), *y4 = laws_run_new(t, d4, x), *g = laws_run_new(t, rr, x);
    const laws_array *x2 = laws_joined(t, x, k.nin + 2 * k.nv, k.v[2], k.nv), *hv = laws_run_new(t, gh, x2);
    if (!y3 || !y4 || !g || !hv) return;
    double by_grad = 0, by_hvp = 0, scale = 0;
    for (size_t i = 0; i < k.nv; i++) {
        by_grad += laws_dot(&g[i], &k.v[3][i], &scale);
        by_hvp += laws_dot(&hv[i], &k.v[3][i], &scale);
    }
    t->shown = d4;
    differences_agree(t, &k, d3, 3, y3, y4, "jvp^4");
    if (t->redraw || t->failed) return;
    const double forward = laws_get(y4, 0), allowed = laws_tolerance(t->f) * fmax(scale, 1);
    if (fabs(forward - by_grad) > allowed) laws_fail(t, "jvp^4 says %.17g, grad of jvp^3 says %.17g", forward, by_grad);
    if (fabs(forward - by_hvp) > allowed) laws_fail(t, "jvp^4 says %.17g, hvp of jvp^2 says %.17g", forward, by_hvp);
}
