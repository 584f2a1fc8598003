/* <f u, w> = <u, ft w> on random vectors and residuals. */
#include "api/probe.h"
#include "control/linear_call.h"

#include <math.h>

enum { TRIALS = 3, MOST_TRIALS = 12 };

/* What rounding leaves of a float dtype's numbers, times a hundred or more. */
static double rounding(int dtype) {
    switch (dtype) {
    case TN_F32: return 1e-4;
    case TN_F16: return 0.05;
    case TN_BF16: return 0.3;
    default: return 0;
    }
}

/* The shortest floats anywhere inside limit what may be asked of the two programs. */
static double allowed(const tn_fn *f) {
    double most = 1e-10;
    for (uint32_t v = 0; v < f->nval; v++) most = fmax(most, rounding(f->val[v].type->dtype));
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t k = 0; f->eqn[i].params && k < f->eqn[i].params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&f->eqn[i].params->v[k], &g);
            for (uint32_t j = 0; j < n; j++) most = fmax(most, allowed(g[j]));
        }
    return most;
}

/* Random residuals may lie outside the programs' domain: they are drawn from [-1, 1], and then from where logarithms,
 * roots and inverses of hyperbolic functions have theirs; integers there are indices, each another one, as permutations
 * want them. */
static void draw_residual(const tn_type *t, void *data, int k, uint64_t *seed) {
    static const struct range {
        double lo, hi;
    } ranges[] = {{-1, 1}, {0.1, 0.9}, {1.1, 3}, {-3, -1.1}};
    const double lo = ranges[k % 4].lo, hi = ranges[k % 4].hi;
    tn_i_probe_random(t, data, seed);
    const int64_t last = t->rank ? t->dim[t->rank - 1] : 1;
    const bool integers = tn_i_is_int(t->dtype);
    for (int64_t i = 0, n = tn_i_count(t); k % 4 && i < n; i++)
        if (integers)
            tn_i_probe_set(t, data, i, (double)(i % last));
        else
            tn_i_probe_set(t, data, i, lo + (hi - lo) * (0.5 + 0.5 * tn_i_probe_get(t, data, i)));
}

/* The k-th one.  *conclusive: something is a number. */
static bool trial(tn_i_probe *f, tn_i_probe *ft, int k, uint64_t *seed, bool *conclusive) {
    const tn_fn *g = f->f, *gt = ft->f;
    uint32_t nres = g->nin - g->nlin;
    for (uint32_t i = 0; i < g->nin; i++)
        if (i < nres)
            draw_residual(g->val[i].type, f->in[i], k, seed);
        else
            tn_i_probe_random(g->val[i].type, f->in[i], seed);
    for (uint32_t i = 0; i < gt->nin; i++) {
        if (i >= nres) tn_i_probe_random(gt->val[i].type, ft->in[i], seed);
        for (int64_t j = 0, n = tn_i_count(gt->val[i].type); i < nres && j < n; j++)
            tn_i_probe_set(gt->val[i].type, ft->in[i], j, tn_i_probe_get(g->val[i].type, f->in[i], j));
    }
    if (tn_i_probe_run(f) != TN_OK || tn_i_probe_run(ft) != TN_OK) return false;
    const double eps = fmax(allowed(g), allowed(gt));
    double left = 0, right = 0, scale = 0;
    for (uint32_t j = 0; j < g->nout; j++) {
        const tn_type *t = g->val[g->out[j]].type;
        left += tn_i_probe_dot(t, f->out[j], ft->in[nres + j], &scale);
    }
    for (uint32_t j = 0; j < gt->nout; j++)
        right += tn_i_probe_dot(gt->val[gt->out[j]].type, ft->out[j], f->in[nres + j], &scale);
    *conclusive = !isnan(left) || !isnan(right);
    if (!*conclusive) return true;
    if (fabs(left - right) <= eps * scale) return true;
    (void)tn_i_fail(g->ctx, TN_ELINEAR, g->loc,
                    "linear_call: ft is not the transpose of f: <f u, w> = %.9g, <u, ft w> = %.9g", left, right);
    return false;
}

bool tn_i_linear_call_check(const tn_fn *f, const tn_fn *ft) {
    if (f->nin - f->nlin != ft->nin - ft->nlin || f->nout != ft->nlin || ft->nout != f->nlin) {
        (void)tn_i_fail(f->ctx, TN_ETYPE, f->loc, "linear_call: ft's signature is not that of f's transpose");
        return false;
    }
    tn_i_probe p = {0}, pt = {0};
    uint64_t seed = 0x7A115;
    tn_fn *g = tn_i_in_memory(f), *gt = g ? tn_i_in_memory(ft) : NULL; /* nobody named a directory */
    bool ok = gt && tn_i_probe_init(&p, g, NULL) && tn_i_probe_init(&pt, gt, NULL);
    int done = 0;
    for (int k = 0; k < MOST_TRIALS && done < TRIALS && ok; k++) {
        bool conclusive = false;
        ok = trial(&p, &pt, k, &seed, &conclusive);
        done += conclusive;
    }
    if (ok && done == 0) {
        (void)tn_i_fail(f->ctx, TN_ELINEAR, f->loc,
                        "linear_call: that ft is the transpose of f could not be tried: at %d random points neither is "
                        "a number",
                        (int)MOST_TRIALS);
        ok = false;
    }
    tn_i_probe_free(&pt);
    tn_i_probe_free(&p);
    tn_i_fn_unref(g);
    tn_i_fn_unref(gt);
    return ok;
}
