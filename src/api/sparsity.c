/* Patterns of Jacobians and Hessians: linearize, then walk both halves. */
#include "tansy/sparse.h"

#include "api/args.h"
#include "api/choose.h"
#include "base/fp_mode.h"
#include "linearize/linearize.h"
#include "sparse/maps.h"
#include "sparse/sparsity.h"
#include "sparse/walk.h"

#include <math.h>
#include <string.h>

typedef struct detection {
    const char *who;
    const tn_fn *f;
    tn_i_wrt wrt;
    tn_sparsity_options opt;
    const void **known, **at; /* of the options, as addresses */
    tn_i_parts parts;
    tn_i_spreading w;
    tn_i_memo depends;
    tn_i_spread_val *primal, *linear; /* what the halves give */
    tn_i_spread_val *in;              /* of the half that runs */
    uint32_t nin;
} detection;

/* ---- options ------------------------------------------------------------------------------------ */

static bool in_wrt(const tn_i_wrt *w, uint32_t i) {
    for (uint32_t k = 0; k < w->n; k++)
        if (w->index[k] == i) return true;
    return false;
}

static bool read_options(detection *d, const tn_sparsity_options *given) {
    tn_ctx *c = d->f->ctx;
    if (!tn_i_options(c, "tn_sparsity_options", given, &d->opt, sizeof d->opt)) return false;
    if (d->opt.max_nnz < 0)
        return (void)tn_i_fail(c, TN_EINVAL, NULL, "%s: max_nnz is %lld", d->who, (long long)d->opt.max_nnz), false;
    if (d->opt.max_nnz == 0) d->opt.max_nnz = (int64_t)1 << 28;
    if (!tn_i_given_values(d->who, "known: ", d->f, d->opt.known, &d->known) ||
        !tn_i_given_values(d->who, "at: ", d->f, d->opt.at, &d->at))
        return false;
    for (uint32_t i = 0; i < d->f->nin; i++) {
        if (d->known && d->known[i] && in_wrt(&d->wrt, i))
            return (void)tn_i_fail(c, TN_EINVAL, NULL, "%s: input %u is in wrt, and cannot be known as well", d->who,
                                   (unsigned)i),
                   false;
        if (d->at && !d->at[i] && tn_i_count(d->f->val[i].type) > 0)
            return (void)tn_i_fail(c, TN_EINVAL, NULL, "%s: `at` has no values of input %u", d->who, (unsigned)i),
                   false;
    }
    return true;
}

static bool column_count(detection *d, int64_t *columns) {
    *columns = 0;
    for (uint32_t k = 0; k < d->wrt.n; k++)
        if (!tn_i_add_i64(*columns, tn_i_count(d->f->val[d->wrt.index[k]].type), columns) || *columns > INT32_MAX - 1)
            return (void)tn_i_fail(d->f->ctx, TN_ELIMIT, NULL, "%s: more than 2^31 - 2 columns", d->who), false;
    return true;
}

/* ---- the halves --------------------------------------------------------------------------------- */

static bool given_value(detection *d, uint32_t i, tn_i_spread_val *v) {
    const void *known = d->known ? d->known[i] : NULL, *at = d->at ? d->at[i] : NULL;
    const tn_type *t = d->f->val[i].type;
    if ((!known && !at) || tn_type_bytes(t) > TN_KNOWN_BYTES) return true;
    if (!(v->known = tn_i_shared_new(d->f->ctx, tn_type_bytes(t)))) return false;
    if (tn_type_bytes(t)) memcpy(tn_i_shared_data(v->known), known ? known : at, tn_type_bytes(t));
    v->local = !known;
    return true;
}

static bool run_primal(detection *d) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->f->nin; i++) ok = given_value(d, i, &d->in[i]);
    ok = ok && tn_i_spread_through(&d->w, d->parts.known, d->in, d->primal);
    return ok;
}

static bool unit_rows(detection *d, const tn_type *t, int64_t *column, tn_i_spread_val *v) {
    const int64_t n = tn_i_count(t);
    v->rows = tn_i_spread_rows_new(&d->w, n);
    int32_t *to = v->rows ? tn_i_shared_data(v->rows) : NULL;
    for (int64_t i = 0; to && i < n; i++)
        if ((to[i] = tn_i_row_unit(&d->w.set, (*column)++)) < 0) return false;
    return to != NULL;
}

static bool run_linear(detection *d) {
    const tn_fn *f = d->parts.linear;
    int64_t column = 0;
    bool ok = true;
    for (uint32_t i = 0; i < d->nin; i++) tn_i_spread_val_free(d->f->ctx, &d->in[i]);
    for (uint32_t i = 0; i < d->parts.nres; i++) d->in[i] = tn_i_spread_val_ref(&d->primal[d->f->nout + i]);
    d->w.set.mark = 0;
    for (uint32_t k = 0; ok && k < d->wrt.n; k++) {
        const uint32_t i = d->parts.nres + k;
        ok = unit_rows(d, f->val[i].type, &column, &d->in[i]);
    }
    return ok && tn_i_spread_through(&d->w, f, d->in, d->linear);
}

/* ---- the result ---------------------------------------------------------------------------------- */

typedef struct entries {
    int64_t rows, nnz, *ptr, *ind;
    bool *constant;
    double *value;
} entries;

static bool count_entries(detection *d, entries *x) {
    const tn_fn *f = d->parts.linear;
    const tn_i_rowset *s = &d->w.set;
    for (uint32_t j = 0; j < f->nout; j++) x->rows += tn_i_count(f->val[f->out[j]].type);
    if (!(x->ptr = tn_i_alloc_array(d->f->ctx, (size_t)x->rows + 1, sizeof *x->ptr))) return false;
    int64_t at = 0;
    for (uint32_t j = 0; j < f->nout; j++) {
        const int32_t *rows = tn_i_spread_val_rows(&d->linear[j]);
        for (int64_t i = 0, n = tn_i_count(f->val[f->out[j]].type); i < n; i++, at++)
            x->ptr[at + 1] = x->ptr[at] + (rows ? s->row[rows[i]].n : 0);
    }
    x->nnz = x->ptr[x->rows];
    if (x->nnz <= d->opt.max_nnz) return true;
    const long long most = (long long)d->opt.max_nnz, nnz = (long long)x->nnz;
    if (d->w.dense)
        (void)tn_i_fail(
            d->f->ctx, TN_ELIMIT, d->w.dense,
            "%s: %s: here the first rows become dense, of %lld columns; the pattern has %lld entries, more than "
            "max_nnz = %lld",
            d->who, d->w.dense_prim, (long long)d->w.dense_columns, nnz, most);
    else
        (void)tn_i_fail(d->f->ctx, TN_ELIMIT, d->f->loc, "%s: the pattern has %lld entries, more than max_nnz = %lld",
                        d->who, nnz, most);
    return false;
}

/* Whether the coefficient of some entry is known. */
static bool some_constant(const detection *d) {
    const tn_fn *f = d->parts.linear;
    const tn_i_rowset *s = &d->w.set;
    for (uint32_t j = 0; j < f->nout; j++) {
        const int32_t *rows = tn_i_spread_val_rows(&d->linear[j]);
        for (int64_t i = 0, m = tn_i_count(f->val[f->out[j]].type); rows && i < m; i++) {
            const tn_i_set_row r = s->row[rows[i]];
            for (int32_t k = 0; r.value >= 0 && k < r.n; k++)
                if (!isnan(s->value[r.value + k])) return true;
        }
    }
    return false;
}

static void fill_row(const tn_i_rowset *s, tn_i_set_row r, int64_t at, entries *x) {
    for (int32_t k = 0; k < r.n; k++, at++) {
        x->ind[at] = s->col[r.at + k];
        if (!x->constant || r.value < 0 || isnan(s->value[r.value + k])) continue;
        x->constant[at] = true;
        x->value[at] = s->value[r.value + k];
    }
}

static bool fill_entries(detection *d, entries *x) {
    tn_ctx *c = d->f->ctx;
    const tn_fn *f = d->parts.linear;
    const size_t n = (size_t)x->nnz;
    const bool some = some_constant(d);
    if (n == 0) return true;
    x->ind = tn_i_alloc_array(c, n, sizeof *x->ind);
    if (some) x->constant = tn_i_alloc_array(c, n, sizeof *x->constant);
    if (some) x->value = tn_i_alloc_array(c, n, sizeof *x->value);
    if (!x->ind || (some && (!x->constant || !x->value))) return false;
    int64_t row = 0;
    for (uint32_t j = 0; j < f->nout; j++) {
        const int32_t *rows = tn_i_spread_val_rows(&d->linear[j]);
        const int64_t m = tn_i_count(f->val[f->out[j]].type);
        for (int64_t i = 0; rows && i < m; i++) fill_row(&d->w.set, d->w.set.row[rows[i]], x->ptr[row + i], x);
        row += m;
    }
    return true;
}

static void drop_values(tn_ctx *c, entries *x) {
    const size_t n = (size_t)x->nnz;
    if (x->constant) tn_i_free(c, x->constant, n * sizeof *x->constant);
    if (x->value) tn_i_free(c, x->value, n * sizeof *x->value);
    x->constant = NULL;
    x->value = NULL;
}

static void free_entries(tn_ctx *c, entries *x) {
    if (x->ptr) tn_i_free(c, x->ptr, ((size_t)x->rows + 1) * sizeof *x->ptr);
    if (x->ind) tn_i_free(c, x->ind, (size_t)x->nnz * sizeof *x->ind);
    drop_values(c, x);
}

static bool describe(const detection *d, tn_sparsity *s) {
    s->local = d->opt.at != NULL;
    s->types = tn_i_alloc_array(d->f->ctx, d->wrt.n, sizeof *s->types);
    if (!s->types) return false;
    s->ntypes = d->wrt.n;
    for (uint32_t k = 0; k < d->wrt.n; k++) s->types[k] = *d->f->val[d->wrt.index[k]].type;
    for (size_t i = 0; i < d->w.nremark; i++)
        if (!tn_i_sparsity_warn(s, d->w.remark[i].loc, "%s: %s", d->w.remark[i].prim, d->w.remark[i].why)) return false;
    return true;
}

/* A pattern that takes the entries over. */
static tn_sparsity *made(tn_ctx *c, entries *x, int64_t columns) {
    tn_sparsity *s = tn_i_sparsity_new(c, x->rows, columns, x->ptr, x->ind);
    x->ptr = x->ind = NULL;
    if (s) {
        s->constant = x->constant;
        s->value = x->value;
        x->constant = NULL;
        x->value = NULL;
    }
    free_entries(c, x);
    return s;
}

static tn_sparsity *result(detection *d) {
    tn_ctx *c = d->f->ctx;
    entries x = {0};
    if (!count_entries(d, &x) || !fill_entries(d, &x)) {
        free_entries(c, &x);
        return NULL;
    }
    tn_sparsity *s = made(c, &x, d->w.set.columns);
    if (s && !describe(d, s)) {
        tn_sparsity_free(s);
        return NULL;
    }
    return s;
}

/* ---- Jacobian ---------------------------------------------------------------------------------------- */

static bool halves(detection *d) {
    static const tn_policy everything = {.size = sizeof everything, .name = "everything_saveable"};
    tn_ctx *c = d->f->ctx;
    tn_i_choice by;
    const bool ok = tn_i_choose(d->f, &d->wrt, &everything, &by) &&
                    tn_i_linearize(by.f, d->wrt.n, d->wrt.index, &by.how, &d->parts);
    tn_i_choice_free(&by);
    if (!ok) return false;
    d->nin = d->f->nin > d->parts.linear->nin ? d->f->nin : d->parts.linear->nin;
    d->in = tn_i_alloc_array(c, (size_t)d->nin + 1, sizeof *d->in);
    d->primal = tn_i_alloc_array(c, (size_t)d->parts.known->nout + 1, sizeof *d->primal);
    d->linear = tn_i_alloc_array(c, (size_t)d->parts.linear->nout + 1, sizeof *d->linear);
    return d->in && d->primal && d->linear;
}

static void release(detection *d) {
    tn_ctx *c = d->f->ctx;
    for (uint32_t i = 0; d->in && i < d->nin; i++) tn_i_spread_val_free(c, &d->in[i]);
    for (uint32_t i = 0; d->primal && i < d->parts.known->nout; i++) tn_i_spread_val_free(c, &d->primal[i]);
    for (uint32_t i = 0; d->linear && i < d->parts.linear->nout; i++) tn_i_spread_val_free(c, &d->linear[i]);
    if (d->in) tn_i_free(c, d->in, ((size_t)d->nin + 1) * sizeof *d->in);
    if (d->primal) tn_i_free(c, d->primal, ((size_t)d->parts.known->nout + 1) * sizeof *d->primal);
    if (d->linear) tn_i_free(c, d->linear, ((size_t)d->parts.linear->nout + 1) * sizeof *d->linear);
    tn_i_parts_free(&d->parts);
    tn_i_spreading_free(&d->w);
    tn_i_memo_free(&d->depends);
    tn_i_wrt_free(&d->wrt);
    tn_i_given_free(d->f, d->known);
    tn_i_given_free(d->f, d->at);
}

/* Of all values, each once. */
static int64_t elements(const tn_fn *f) {
    int64_t sum = 0;
    for (uint32_t v = 0; v < f->nval; v++)
        if (!tn_i_add_i64(sum, tn_i_count(f->val[v].type), &sum)) return INT64_MAX;
    return sum;
}

static tn_sparsity *detect(detection *d) {
    tn_ctx *c = d->f->ctx;
    int64_t columns;
    bool ok = column_count(d, &columns) &&
              tn_i_spreading_init(&d->w, c, &d->depends, columns, elements(d->f), d->opt.max_nnz) && halves(d);
    if (ok) {
        const tn_i_fp_mode mode = tn_i_fp_enter();
        ok = run_primal(d) && run_linear(d);
        tn_i_fp_leave(mode);
    }
    return ok ? result(d) : NULL;
}

static tn_sparsity *jacobian(const char *who, const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity_options *opt) {
    tn_fn *blocks = tn_i_one_rank(who, f) ? tn_i_maps_opened(f) : NULL;
    if (!blocks) return NULL;
    detection d = {.who = who, .f = blocks};
    tn_sparsity *s = NULL;
    if (tn_i_wrt_init(&d.wrt, who, blocks, wrt)) {
        tn_i_memo_init(&d.depends, f->ctx);
        s = read_options(&d, opt) ? detect(&d) : NULL;
        release(&d);
    }
    tn_i_fn_unref(blocks);
    return s;
}

tn_sparsity *tn_jacobian_sparsity(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity_options *options) {
    return tn_i_living(f) ? jacobian("tn_jacobian_sparsity", f, wrt, options) : NULL;
}

/* ---- Hessian ------------------------------------------------------------------------------------------ */

/* Entries (i,j) of row i for which (j,i) is there, too: those that row i and column i share. */
static int64_t shared(const tn_sparsity *s, const tn_i_by_column *t, int64_t i, int64_t *at) {
    int64_t n = 0;
    for (int64_t k = s->ptr[i], m = t->ptr[i]; k < s->ptr[i + 1] && m < t->ptr[i + 1];) {
        const int64_t j = s->ind[k], l = t->row[m];
        if (j == l) at[n++] = k;
        k += j <= l;
        m += l <= j;
    }
    return n;
}

static bool keep(tn_ctx *c, const tn_sparsity *s, const int64_t *at, entries *x) {
    const size_t n = (size_t)x->nnz;
    if (n == 0) return true;
    x->ind = tn_i_alloc_array(c, n, sizeof *x->ind);
    if (s->constant) x->constant = tn_i_alloc_array(c, n, sizeof *x->constant);
    if (s->constant) x->value = tn_i_alloc_array(c, n, sizeof *x->value);
    if (!x->ind || (s->constant && (!x->constant || !x->value))) return false;
    for (size_t k = 0; k < n; k++) {
        x->ind[k] = s->ind[at[k]];
        if (!s->constant) continue;
        x->constant[k] = s->constant[at[k]];
        x->value[k] = s->value[at[k]];
    }
    return true;
}

/* A new pattern of the entries that are there both ways. */
static tn_sparsity *intersected(tn_sparsity *s) {
    tn_ctx *c = s->ctx;
    tn_i_by_column t;
    entries x = {.rows = s->rows};
    const size_t room = (size_t)s->nnz + 1;
    int64_t *at = tn_i_alloc_array(c, room, sizeof *at);
    x.ptr = tn_i_alloc_array(c, (size_t)s->rows + 1, sizeof *x.ptr);
    bool ok = at && x.ptr && tn_i_sparsity_columns(s, &t);
    for (int64_t i = 0; ok && i < s->rows; i++) x.ptr[i + 1] = x.ptr[i] + shared(s, &t, i, at + x.ptr[i]);
    if (ok) x.nnz = x.ptr[s->rows];
    ok = ok && keep(c, s, at, &x);
    tn_i_free(c, at, room * sizeof *at);
    return ok ? made(c, &x, s->columns) : (free_entries(c, &x), NULL);
}

/* What is told of s is told of the other one, too. */
static bool hand_on(tn_sparsity *s, tn_sparsity *to) {
    to->local = s->local;
    to->types = s->types;
    to->ntypes = s->ntypes;
    s->types = NULL;
    s->ntypes = 0;
    for (size_t i = 0; i < s->nwarning; i++)
        if (!tn_i_sparsity_warn(to, NULL, "%s", s->warning[i])) return false;
    return true;
}

static tn_sparsity *symmetric(tn_sparsity *s) {
    tn_sparsity *both = s ? intersected(s) : NULL;
    if (both && !hand_on(s, both)) {
        tn_sparsity_free(both);
        both = NULL;
    }
    if (both) both->symmetric = true;
    tn_sparsity_free(s);
    return both;
}

tn_sparsity *tn_hessian_sparsity(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity_options *options) {
    static const char who[] = "tn_hessian_sparsity";
    if (!tn_i_living(f) || !tn_i_scalar_output(who, f, false)) return NULL;
    tn_fn *gradient = tn_grad(f, wrt, NULL);
    tn_sparsity *s = gradient ? jacobian(who, gradient, wrt, options) : NULL;
    tn_i_fn_unref(gradient);
    return f->rules || !s ? s : symmetric(s);
}
