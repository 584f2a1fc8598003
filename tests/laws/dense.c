#include "laws/dense.h"

enum { MOST_ENTRIES = 4096 };

bool laws_dense_small(const laws_trial *t, const tn_fn *f, const tn_wrt_list *w) {
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

bool laws_dense_make(laws_trial *t, laws_dense *d, const tn_fn *f, const tn_wrt_list *w) {
    *d = (laws_dense){.f = f, .w = w};
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

double *laws_dense_matrix(laws_trial *t, const laws_dense *d) {
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
