/* Patterns of derivatives: they have every entry that is not 0, and where they say that one is constant it is. */
#include "laws/dense.h"
#include "laws/table.h"
#include "tansy/sparse.h"

#include <math.h>

/* At a point a derivative is 0 where its terms, as they are rounded, are: one that they cancel to in another order is
 * no more than their rounding. */
static double rounding_of(const laws_trial *t, const double *a, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(a[i]));
    return most * 8 * (t->dtype == TN_F32 ? 0x1p-24 : 0x1p-53);
}

/* Every nonzero of the matrix is an entry, every constant its value; `exactly`: every entry is a nonzero. */
static void compare(laws_trial *t, const char *how, const tn_sparsity *s, const laws_dense *d, bool at_point,
                    bool exactly) {
    tn_sparsity_arrays p = {.size = sizeof p};
    const double *a = laws_dense_matrix(t, d);
    if (!s || tn_sparsity_view(s, TN_CSR, TN_FULL, &p) != TN_OK) {
        if (!laws_refused(t)) laws_fail(t, "%s: %s", how, tn_error(t->ctx));
        return;
    }
    if (p.rows != d->rows || p.columns != d->columns) {
        laws_fail(t, "%s: %lld x %lld, should be %lld x %lld", how, (long long)p.rows, (long long)p.columns,
                  (long long)d->rows, (long long)d->columns);
        return;
    }
    const double least = at_point ? rounding_of(t, a, p.rows * p.columns) : 0;
    for (int64_t r = 0, k = 0; r < p.rows; r++)
        for (int64_t c = 0; c < p.columns; c++) {
            const double x = a[r * p.columns + c];
            const bool has = k < p.ptr[r + 1] && p.ind[k] == c;
            if (!has && fabs(x) > least)
                laws_fail(t, "%s: entry (%lld, %lld) is missing, and is %g", how, (long long)r, (long long)c, x);
            if (has && x == 0.0 && exactly)
                laws_fail(t, "%s: entry (%lld, %lld) is 0", how, (long long)r, (long long)c);
            if (has && p.constant && p.constant[k] && !(p.value[k] == x))
                laws_fail(t, "%s: entry (%lld, %lld) is constant, %.17g, but here it is %.17g", how, (long long)r,
                          (long long)c, p.value[k], x);
            k += has;
        }
}

/* By what is known: nothing, the inputs that are no floats, all of them at this point. */
static void compare_all(laws_trial *t, const tn_fn *f, const tn_wrt_list *w,
                        tn_sparsity *(*find)(const tn_fn *, const tn_wrt_list *, const tn_sparsity_options *),
                        const laws_dense *d, bool exactly) {
    const void **x = laws_alloc(t->memory, f->nin + 1u, sizeof *x),
               **at = laws_alloc(t->memory, f->nin + 1u, sizeof *at);
    for (uint32_t i = 0; i < f->nin; i++) {
        at[i] = t->x[i].data;
        if (!tn_i_is_float(f->val[i].type->dtype)) x[i] = t->x[i].data;
    }
    const tn_sparsity_options known = {.size = sizeof known, .known = x}, here = {.size = sizeof here, .at = at};
    compare(t, "pattern", find(f, w, NULL), d, false, false);
    if (!t->failed) compare(t, "pattern with known inputs", find(f, w, &known), d, false, false);
    if (!t->failed) compare(t, "pattern at a point", find(f, w, &here), d, true, exactly);
}

/* Sums with factors that are no operands, such as the entries of an inverse, which may be 0. */
static bool has_other_factors(const tn_fn *f, const tn_i_eqn *e) {
    const tn_type *in[TN_CASE_MAX], *to = f->val[e->out].type;
    tn_type out = *to;
    const tn_i_query q = {
        .ctx = f->ctx, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = 1, .in = in, .out = &out};
    bool some = false;
    if (!e->prim->sums || e->nout != 1 || e->nin > TN_CASE_MAX) return false;
    for (uint32_t k = 0; k < e->nin; k++) in[k] = f->val[tn_i_in(f, e)[k]].type;
    for (uint32_t k = 0; k < e->nin; k++) {
        tn_i_sums s = {.factor = -1};
        some |= e->prim->sums(&q, k, &s) && s.factor == -2;
    }
    return some;
}

/* Equations with a rule of their own: at a point the pattern in one operand is what is there, as each entry is one
 * term. */
static bool entries_are_single(const tn_prim *p, const tn_fn *f) {
    bool single = p && ((p->flags & TN_F_ELEMENTWISE) || p->spread != TN_SPREAD_ALL);
    for (uint32_t i = 0; i < f->neqn && single; i++) single = !has_other_factors(f, &f->eqn[i]);
    return single;
}

void laws_sparsity(laws_trial *t) {
    laws_wrt w;
    laws_dense d;
    laws_wrt_some(t, t->f, &w);
    if (!laws_dense_small(t, t->f, &w.list) || !laws_dense_make(t, &d, t->f, &w.list)) return;
    compare_all(t, t->f, &w.list, tn_jacobian_sparsity, &d, entries_are_single(t->prim, t->f) && w.list.n == 1);
}

void laws_sparsity_hessian(laws_trial *t) {
    laws_wrt w;
    laws_dense d;
    laws_wrt_all(t->f, &w);
    const tn_fn *f = laws_scalar(t, t->f), *g = f ? laws_made(t, tn_grad(f, &w.list, NULL), "grad") : NULL;
    if (!g || !laws_dense_small(t, g, &w.list) || !laws_dense_make(t, &d, g, &w.list)) return;
    compare_all(t, f, &w.list, tn_hessian_sparsity, &d, false);
}
