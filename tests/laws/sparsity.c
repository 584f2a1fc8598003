/* Patterns of derivatives: they have every entry that is not 0, and where they say that one is constant it is. */
#include "laws/derive.h"
#include "laws/table.h"
#include "tansy/sparse.h"

#include <math.h>

enum { MOST_ENTRIES = 4096 };

/* The derivative, dense: of float outputs k by inputs i in wrt, one array each. */
typedef struct dense {
    const tn_fn *f;
    const tn_wrt_list *w;
    const laws_array *j;
    int64_t rows, columns;
} dense;

static bool small_enough(const laws_trial *t, const tn_fn *f, const tn_wrt_list *w) {
    int64_t rows = 0, columns = 0;
    int in = 0, out = 0;
    for (size_t k = 0; k < w->n; k++) {
        const tn_type *x = f->val[w->index[k]].type;
        columns += tn_i_count(x);
        in = x->rank > in ? x->rank : in;
    }
    for (uint32_t j = 0; j < f->nout; j++) {
        const tn_type *y = f->val[f->out[j]].type;
        if (!tn_i_is_float(y->dtype)) continue;
        rows += tn_i_count(y);
        out = y->rank > out ? y->rank : out;
    }
    return !t->f->effect && rows * columns <= MOST_ENTRIES && in + out <= TN_MAX_RANK;
}

static bool make_dense(laws_trial *t, dense *d, const tn_fn *f, const tn_wrt_list *w) {
    *d = (dense){.f = f, .w = w};
    const tn_fn *h = laws_made(t, tn_jacfwd(f, w, 0), "jacfwd");
    d->j = h ? laws_run_new(t, h, t->x) : NULL;
    if (!d->j) return false;
    const uint32_t n = laws_float_outputs(f);
    for (size_t i = 0; i < w->n; i++) d->columns += tn_i_count(f->val[w->index[i]].type);
    for (uint32_t k = 0; k < f->nout; k++)
        if (tn_i_is_float(f->val[f->out[k]].type->dtype)) d->rows += tn_i_count(f->val[f->out[k]].type);
    t->redraw = !laws_all_finite(d->j, n * w->n);
    return !t->redraw;
}

/* All entries, row-major. */
static double *matrix(laws_trial *t, const dense *d) {
    double *a = laws_alloc(t->memory, (size_t)(d->rows * d->columns) + 1, sizeof *a);
    int64_t row = 0;
    for (uint32_t k = 0, out = 0; k < d->f->nout; k++) {
        const tn_type *y = d->f->val[d->f->out[k]].type;
        if (!tn_i_is_float(y->dtype)) continue;
        int64_t column = 0;
        for (size_t i = 0; i < d->w->n; i++) {
            const int64_t n = tn_i_count(d->f->val[d->w->index[i]].type);
            for (int64_t r = 0; r < tn_i_count(y); r++)
                for (int64_t c = 0; c < n; c++)
                    a[(row + r) * d->columns + column + c] = laws_get(&d->j[out * d->w->n + i], r * n + c);
            column += n;
        }
        row += tn_i_count(y);
        out++;
    }
    return a;
}

/* Every nonzero of the matrix is an entry, every constant its value; `exactly`: every entry is a nonzero. */
static void compare(laws_trial *t, const char *how, const tn_sparsity *s, const dense *d, bool exactly) {
    tn_sparsity_arrays p = {.size = sizeof p};
    const double *a = matrix(t, d);
    if (!s || tn_sparsity_view(s, TN_CSR, TN_FULL, &p) != TN_OK) {
        if (!laws_refused(t)) laws_fail(t, "%s: %s", how, tn_error(t->ctx));
        return;
    }
    if (p.rows != d->rows || p.columns != d->columns) {
        laws_fail(t, "%s: %lld x %lld, should be %lld x %lld", how, (long long)p.rows, (long long)p.columns,
                  (long long)d->rows, (long long)d->columns);
        return;
    }
    for (int64_t r = 0, k = 0; r < p.rows; r++)
        for (int64_t c = 0; c < p.columns; c++) {
            const double x = a[r * p.columns + c];
            const bool has = k < p.ptr[r + 1] && p.ind[k] == c;
            if (!has && x != 0.0)
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
                        const dense *d, bool exactly) {
    const void **x = laws_alloc(t->memory, f->nin + 1u, sizeof *x),
               **at = laws_alloc(t->memory, f->nin + 1u, sizeof *at);
    for (uint32_t i = 0; i < f->nin; i++) {
        at[i] = t->x[i].data;
        if (!tn_i_is_float(f->val[i].type->dtype)) x[i] = t->x[i].data;
    }
    const tn_sparsity_options known = {.size = sizeof known, .known = x}, here = {.size = sizeof here, .at = at};
    compare(t, "pattern", find(f, w, NULL), d, false);
    if (!t->failed) compare(t, "pattern with known inputs", find(f, w, &known), d, false);
    if (!t->failed) compare(t, "pattern at a point", find(f, w, &here), d, exactly);
}

/* Equations with a rule of their own: at a point the pattern in one operand is what is there, as each entry is one
 * term. */
static bool entries_are_single(const tn_prim *p) {
    return p && ((p->flags & TN_F_ELEMENTWISE) || p->spread != TN_SPREAD_ALL);
}

void laws_sparsity(laws_trial *t) {
    laws_wrt w;
    dense d;
    laws_wrt_some(t, t->f, &w);
    if (!small_enough(t, t->f, &w.list) || !make_dense(t, &d, t->f, &w.list)) return;
    compare_all(t, t->f, &w.list, tn_jacobian_sparsity, &d, entries_are_single(t->prim) && w.list.n == 1);
}

void laws_sparsity_hessian(laws_trial *t) {
    laws_wrt w;
    dense d;
    laws_wrt_all(t->f, &w);
    const tn_fn *f = laws_scalar(t, t->f), *g = f ? laws_made(t, tn_grad(f, &w.list, NULL), "grad") : NULL;
    if (!g || !small_enough(t, g, &w.list) || !make_dense(t, &d, g, &w.list)) return;
    compare_all(t, f, &w.list, tn_hessian_sparsity, &d, false);
}
