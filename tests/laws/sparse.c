/* Sparse derivatives: each value is the dense derivative's entry, in any order of entries, under any colouring, with
 * f's own outputs in front or without. */
#include "laws/dense.h"
#include "laws/table.h"
#include "tansy/sparse.h"

#include <math.h>

/* Values are one array. */
static bool one_dtype(const tn_fn *f, const tn_wrt_list *w) {
    int dtype = TN_BOOL;
    for (size_t k = 0; k < w->n + f->nout; k++) {
        const int of = f->val[k < w->n ? (uint32_t)w->index[k] : f->out[k - w->n]].type->dtype;
        if (!tn_i_is_float(of)) continue;
        if (dtype != TN_BOOL && dtype != of) return false;
        dtype = of;
    }
    return true;
}

static int64_t row_of(const tn_sparsity_arrays *p, tn_sparse_format format, int64_t k, int64_t *line) {
    while (p->ptr && p->ptr[*line + 1] <= k) ++*line;
    return format == TN_COO ? p->row[k] : format == TN_CSC ? p->ind[k] : *line;
}

static void compare(laws_trial *t, const char *how, const laws_array *got, const tn_sparsity *s,
                    const tn_sparse_options *o, const laws_dense *d) {
    tn_sparsity_arrays p = {.size = sizeof p};
    if (tn_sparsity_view(s, o->format, o->triangle, &p) != TN_OK) {
        laws_fail(t, "%s: %s", how, tn_error(t->ctx));
        return;
    }
    const double *a = laws_dense_matrix(t, d);
    double scale = 1;
    for (int64_t k = 0; k < d->rows * d->columns; k++) scale = fmax(scale, fabs(a[k]));
    int64_t line = 0;
    for (int64_t k = 0; k < p.nnz; k++) {
        const int64_t i = row_of(&p, o->format, k, &line), j = o->format == TN_CSC ? line : p.ind[k];
        const double want = a[i * p.columns + j], x = laws_get(got, k);
        if (!(fabs(x - want) <= 1e3 * laws_rounding(d->f) * scale))
            laws_fail(t, "%s: entry (%lld, %lld) is %.17g, should be %.17g", how, (long long)i, (long long)j, x, want);
    }
}

static void compare_one(laws_trial *t, const tn_fn *f, const tn_wrt_list *w, bool hessian, const laws_dense *d) {
    static const tn_partition partition[2][4] = {{TN_COLOR_AUTO, TN_COLOR_COLUMN, TN_COLOR_ROW, TN_COLOR_BIDIRECTIONAL},
                                                 {TN_COLOR_AUTO, TN_COLOR_COLUMN, TN_COLOR_STAR, TN_COLOR_ACYCLIC}};
    const bool symmetric = hessian && !f->rules;
    const tn_coloring_options how = {.size = sizeof how, .partition = partition[symmetric][tn_i_pick(&t->rng, 0, 3)]};
    const tn_sparse_options o = {.size = sizeof o,
                                 .format = (tn_sparse_format)tn_i_pick(&t->rng, TN_CSR, TN_COO),
                                 .triangle = hessian ? (tn_triangle)tn_i_pick(&t->rng, TN_FULL, TN_UPPER) : TN_FULL,
                                 .coloring = &how,
                                 .with_value = tn_i_pick(&t->rng, 0, 1)};
    tn_sparsity *s = NULL;
    tn_fn *made = (hessian ? tn_sparse_hessian : tn_sparse_jacobian)(f, w, &o, &s);
    const tn_fn *j = laws_made(t, made, hessian ? "sparse_hessian" : "sparse_jacobian");
    const laws_array *y = j ? laws_run_new(t, j, t->x) : NULL;
    if (y) compare(t, hessian ? "Hessian" : "Jacobian", &y[j->nout - 1], s, &o, d);
    tn_sparsity_free(s);
}

void laws_sparse(laws_trial *t) {
    laws_wrt w;
    laws_dense d;
    laws_wrt_some(t, t->f, &w);
    if (!laws_dense_small(t, t->f, &w.list) || !one_dtype(t->f, &w.list) || !laws_dense_make(t, &d, t->f, &w.list))
        return;
    compare_one(t, t->f, &w.list, false, &d);
}

void laws_sparse_hessian(laws_trial *t) {
    laws_wrt w;
    laws_dense d;
    laws_wrt_all(t->f, &w);
    const tn_fn *f = laws_scalar(t, t->f), *g = f ? laws_made(t, tn_grad(f, &w.list, NULL), "grad") : NULL;
    if (!g || !laws_dense_small(t, g, &w.list) || !one_dtype(f, &w.list) || !laws_dense_make(t, &d, g, &w.list)) return;
    compare_one(t, f, &w.list, true, &d);
}
