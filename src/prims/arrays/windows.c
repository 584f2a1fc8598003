#include "prims/arrays/windows.h"
#include "prims/sample.h"

#include <string.h>

/* ---- dimension numbers ------------------------------------------------------------- */

/* The lists are where their lengths say, and none is longer than a rank. */
static bool well_formed(tn_i_query *q) {
    const tn_i_param *p = &q->p[0];
    uint64_t total = TN_NDNUMS;
    bool ok = p->n >= TN_NDNUMS;
    for (uint32_t j = 0; ok && j < TN_NDNUMS; j++) {
        ok = p->u.ints[j] >= 0 && p->u.ints[j] <= TN_MAX_RANK;
        if (ok)
            total += (uint64_t)p->u.ints[j];
        else if (p->u.ints[j] > 0)
            return tn_i_type_fail(q, -1, "%s is longer than %d", q->prim->params[0].fields[j], TN_MAX_RANK);
    }
    return (ok && total == p->n) || tn_i_type_fail(q, -1, "dimension_numbers are malformed");
}

static bool disjoint(tn_i_query *q, const tn_i_dnums *d, uint32_t a, uint32_t b) {
    const char *const *name = q->prim->params[0].fields;
    for (uint32_t i = 0; i < d->n[a]; i++)
        for (uint32_t j = 0; j < d->n[b]; j++)
            if (d->v[a][i] == d->v[b][j])
                return tn_i_type_fail(q, -1, "%s and %s share dimension %lld", name[a], name[b], (long long)d->v[a][i]);
    return true;
}

static bool batches_agree(tn_i_query *q, const tn_i_dnums *d) {
    const char *const *name = q->prim->params[0].fields;
    const tn_type *in = q->in[0], *indices = q->in[1];
    if (d->n[TN_OPERAND_BATCH] != d->n[TN_INDEX_BATCH])
        return tn_i_type_fail(q, -1, "%s and %s differ in length", name[TN_OPERAND_BATCH], name[TN_INDEX_BATCH]);
    for (uint32_t i = 0; i < d->n[TN_INDEX_BATCH]; i++)
        if (in->dim[d->v[TN_OPERAND_BATCH][i]] != indices->dim[d->v[TN_INDEX_BATCH][i]])
            return tn_i_type_fail(q, 1, "batching dimension %lld differs in size from dimension %lld of operand 0",
                                  (long long)d->v[TN_INDEX_BATCH][i], (long long)d->v[TN_OPERAND_BATCH][i]);
    return true;
}

bool tn_i_dnums_valid(tn_i_query *q, tn_i_dnums *d, int *rank) {
    const tn_type *in = q->in[0], *indices = q->in[1];
    const char *const *name = q->prim->params[0].fields;
    if (!well_formed(q)) return false;
    tn_i_dnums_read(d, &q->p[0]);
    if (indices->rank == 0 || !tn_i_is_index(indices->dtype))
        return tn_i_type_fail(q, 1,
                              "indices must be i32 or i64, of rank 1 or more: the last dimension holds index vectors");
    *rank = (int)d->n[TN_WINDOW] + indices->rank - 1;
    if (*rank > TN_MAX_RANK)
        return tn_i_type_fail(q, -1, "the windows would have rank %d (at most %d)", *rank, TN_MAX_RANK);
    if (!tn_i_axes_valid(q, name[TN_WINDOW], d->n[TN_WINDOW], d->v[TN_WINDOW], *rank, true) ||
        !tn_i_axes_valid(q, name[TN_COLLAPSED], d->n[TN_COLLAPSED], d->v[TN_COLLAPSED], in->rank, true) ||
        !tn_i_axes_valid(q, name[TN_MAP], d->n[TN_MAP], d->v[TN_MAP], in->rank, false) ||
        !tn_i_axes_valid(q, name[TN_OPERAND_BATCH], d->n[TN_OPERAND_BATCH], d->v[TN_OPERAND_BATCH], in->rank, true) ||
        !tn_i_axes_valid(q, name[TN_INDEX_BATCH], d->n[TN_INDEX_BATCH], d->v[TN_INDEX_BATCH], indices->rank - 1, false))
        return false;
    if (!disjoint(q, d, TN_COLLAPSED, TN_OPERAND_BATCH) || !disjoint(q, d, TN_MAP, TN_OPERAND_BATCH) ||
        !batches_agree(q, d))
        return false;
    if (d->n[TN_MAP] != (uint64_t)indices->dim[indices->rank - 1])
        return tn_i_type_fail(q, 1, "index vectors have length %lld, but %s has length %u",
                              (long long)indices->dim[indices->rank - 1], name[TN_MAP], (unsigned)d->n[TN_MAP]);
    const uint32_t covered = d->n[TN_WINDOW] + d->n[TN_COLLAPSED] + d->n[TN_OPERAND_BATCH];
    if (covered != (uint32_t)in->rank)
        return tn_i_type_fail(q, 0, "%s, %s and %s list %u dimensions together, not every one once", name[TN_WINDOW],
                              name[TN_COLLAPSED], name[TN_OPERAND_BATCH], (unsigned)covered);
    return true;
}

bool tn_i_dnums_has(const tn_i_dnums *d, uint32_t j, int64_t x) {
    for (uint32_t i = 0; i < d->n[j]; i++)
        if (d->v[j][i] == x) return true;
    return false;
}

bool tn_i_in_window(const tn_i_dnums *d, int64_t i) {
    return !tn_i_dnums_has(d, TN_COLLAPSED, i) && !tn_i_dnums_has(d, TN_OPERAND_BATCH, i);
}

void tn_i_window_sizes(const tn_i_dnums *d, const tn_type *operand, const tn_type *windows, int64_t *sizes) {
    uint32_t at = 0;
    for (int i = 0; i < operand->rank; i++) sizes[i] = tn_i_in_window(d, i) ? windows->dim[d->v[TN_WINDOW][at++]] : 1;
}

void tn_i_dnums_batch(tn_i_dnums *out, const tn_i_dnums *d, bool operand, bool indices) {
    const int64_t as_window = operand && !indices ? 0 : -1, as_batch = operand && indices ? 0 : -1;
    const int64_t up = operand ? 1 : 0;
    out->n[TN_WINDOW] = tn_i_behind_batch(d->n[TN_WINDOW], d->v[TN_WINDOW], as_window, out->v[TN_WINDOW]);
    for (uint32_t j = TN_COLLAPSED; j <= TN_MAP; j++) {
        out->n[j] = d->n[j];
        for (uint32_t i = 0; i < d->n[j]; i++) out->v[j][i] = d->v[j][i] + up;
    }
    out->n[TN_OPERAND_BATCH] = out->n[TN_INDEX_BATCH] = d->n[TN_INDEX_BATCH] + (as_batch == 0);
    out->v[TN_OPERAND_BATCH][0] = out->v[TN_INDEX_BATCH][0] = 0;
    for (uint32_t i = 0; i < d->n[TN_INDEX_BATCH]; i++) {
        out->v[TN_OPERAND_BATCH][i + (as_batch == 0)] = d->v[TN_OPERAND_BATCH][i] + up;
        out->v[TN_INDEX_BATCH][i + (as_batch == 0)] = d->v[TN_INDEX_BATCH][i] + (indices ? 1 : 0);
    }
}

/* ---- walking ------------------------------------------------------------------------ */

static void init_batch(tn_i_windows *w, const tn_i_dnums *d, const tn_i_arr *operand, const tn_i_arr *windows) {
    for (int i = 0; i < windows->type->rank; i++) {
        if (tn_i_dnums_has(d, TN_WINDOW, i)) continue;
        const int j = w->rank++;
        w->dim[j] = windows->type->dim[i];
        w->window_stride[j] = windows->stride[i];
        w->index_stride[j] = w->indices->stride[j];
        for (uint32_t p = 0; p < d->n[TN_INDEX_BATCH]; p++)
            if (d->v[TN_INDEX_BATCH][p] == j) w->operand_stride[j] = operand->stride[d->v[TN_OPERAND_BATCH][p]];
        if (w->dim[j] == 0) w->done = true;
    }
}

void tn_i_windows_init(tn_i_windows *w, const tn_i_dnums *d, const int64_t *sizes, const tn_i_arr *operand,
                       const tn_i_arr *indices, const tn_i_arr *windows) {
    memset(w, 0, sizeof *w);
    w->indices = indices;
    init_batch(w, d, operand, windows);
    w->columns = d->n[TN_MAP];
    w->column_stride = indices->stride[indices->type->rank - 1];
    for (uint32_t c = 0; c < w->columns; c++) {
        const int64_t i = d->v[TN_MAP][c];
        w->last[c] = operand->type->dim[i] - sizes[i];
        w->column_operand[c] = operand->stride[i];
    }
    for (int i = 0; i < operand->type->rank; i++) w->too_large |= sizes[i] > operand->type->dim[i];
    if (w->rank)
        w->at[w->rank - 1] = -1;
    else
        w->at[0] = -1;
}

void tn_i_windows_merge(tn_i_windows *w) {
    int n = 0;
    for (int i = 0; i < w->rank; i++) {
        if (w->dim[i] == 1) continue;
        const int last = n - 1;
        const bool joins = n && w->index_stride[last] == w->index_stride[i] * w->dim[i] &&
                           w->operand_stride[last] == w->operand_stride[i] * w->dim[i] &&
                           w->window_stride[last] == w->window_stride[i] * w->dim[i];
        const int to = joins ? last : n++;
        w->dim[to] = joins ? w->dim[to] * w->dim[i] : w->dim[i];
        w->index_stride[to] = w->index_stride[i];
        w->operand_stride[to] = w->operand_stride[i];
        w->window_stride[to] = w->window_stride[i];
    }
    if (n == 0) {
        w->dim[n] = 1;
        w->index_stride[n] = w->operand_stride[n] = w->window_stride[n] = 0;
        n++;
    }
    for (int i = 0; i < n; i++) w->at[i] = 0;
    w->rank = n;
    w->at[n - 1] = -1;
}

int64_t tn_i_window_runs(const tn_i_windows *w) {
    int64_t n = 1;
    for (int i = 0; i + 1 < w->rank; i++) n *= w->dim[i];
    return n;
}

tn_i_window_run tn_i_window_run_at(const tn_i_windows *w, int64_t i) {
    tn_i_window_run r = {0, 0, 0};
    for (int d = w->rank - 1; d-- > 0; i /= w->dim[d]) {
        r.index += i % w->dim[d] * w->index_stride[d];
        r.operand += i % w->dim[d] * w->operand_stride[d];
        r.window += i % w->dim[d] * w->window_stride[d];
    }
    return r;
}

static void locate(tn_i_windows *w) {
    const bool narrow = w->indices->type->dtype == TN_I32;
    const size_t size = narrow ? sizeof(int32_t) : sizeof(int64_t);
    w->from = w->batch_at;
    w->to = w->window_at;
    w->inside = !w->too_large;
    for (uint32_t c = 0; c < w->columns; c++) {
        const void *at = tn_i_at(w->indices->data, size, w->index_at + (int64_t)c * w->column_stride);
        const int64_t x = narrow ? *(const int32_t *)at : *(const int64_t *)at;
        if (x < 0 || x > w->last[c]) w->inside = false;
        w->from += (x < 0 ? 0 : x > w->last[c] ? w->last[c] : x) * w->column_operand[c];
    }
}

bool tn_i_windows_next(tn_i_windows *w) {
    const int inner = w->rank ? w->rank - 1 : 0;
    if (w->done) return false;
    if (w->at[inner] == -1) { /* before the first */
        w->at[inner] = 0;
        locate(w);
        return true;
    }
    for (int i = w->rank; i-- > 0;) {
        const int64_t back = ++w->at[i] < w->dim[i] ? 0 : w->dim[i];
        w->index_at += w->index_stride[i] * (1 - back);
        w->batch_at += w->operand_stride[i] * (1 - back);
        w->window_at += w->window_stride[i] * (1 - back);
        if (!back) {
            locate(w);
            return true;
        }
        w->at[i] = 0;
    }
    w->done = true;
    return false;
}

void tn_i_window_strides(const tn_i_dnums *d, const int64_t *sizes, const tn_i_arr *operand, const tn_i_arr *windows,
                         int *rank, int64_t *dim, int64_t *in_operand, int64_t *in_windows) {
    *rank = 0;
    for (int i = 0; i < operand->type->rank; i++) {
        if (!tn_i_in_window(d, i)) continue;
        dim[*rank] = sizes[i];
        in_operand[*rank] = operand->stride[i];
        in_windows[*rank] = windows->stride[d->v[TN_WINDOW][*rank]];
        ++*rank;
    }
}

void tn_i_window_form_of(const tn_i_windows *w, uint32_t indices, tn_i_window_form *f) {
    f->none = w->done || w->too_large;
    f->rank = w->rank;
    for (int i = 0; i < w->rank; i++) {
        f->dim[i] = w->dim[i];
        f->index[i] = w->index_stride[i];
        f->place[i] = w->operand_stride[i];
        f->window[i] = w->window_stride[i];
    }
    f->columns = w->columns;
    for (uint32_t c = 0; c < w->columns; c++)
        f->column[c] = (tn_i_window_column){indices, (int64_t)c * w->column_stride, w->last[c], w->column_operand[c]};
}

/* ---- test cases -------------------------------------------------------------------------- */

static void shuffle(tn_i_rng *r, uint32_t n, int64_t *v) {
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = (uint32_t)tn_i_pick(r, 0, i - 1);
        const int64_t x = v[i - 1];
        v[i - 1] = v[j];
        v[j] = x;
    }
}

/* Gives every operand dimension a role and every window dimension a size. */
static void sample_roles(tn_i_rng *r, const tn_type *in, bool gather, tn_i_dnums *d, int64_t *sizes) {
    *d = (tn_i_dnums){.n = {0}};
    for (int i = 0; i < in->rank; i++) {
        const int64_t role = tn_i_pick(r, 0, 9);
        sizes[i] = 1;
        if (role < 2) {
            d->v[TN_OPERAND_BATCH][d->n[TN_OPERAND_BATCH]++] = i;
            continue;
        }
        if (role < 6 && (in->dim[i] || !gather))
            d->v[TN_COLLAPSED][d->n[TN_COLLAPSED]++] = i;
        else {
            sizes[i] = tn_i_pick(r, in->dim[i] && tn_i_pick(r, 0, 9), in->dim[i]);
            d->n[TN_WINDOW]++;
        }
        if (tn_i_pick(r, 0, 7)) d->v[TN_MAP][d->n[TN_MAP]++] = i;
    }
    shuffle(r, d->n[TN_MAP], d->v[TN_MAP]);
}

/* Batch dimensions of the indices: those paired with the operand's and up to two more, in any order. */
static void sample_indices(tn_i_rng *r, const tn_type *in, tn_i_dnums *d, tn_type *t) {
    int64_t order[TN_MAX_RANK];
    const uint32_t paired = d->n[TN_OPERAND_BATCH], n = paired + (uint32_t)tn_i_pick(r, 0, 2);
    memset(t, 0, sizeof *t);
    t->dtype = tn_i_pick(r, 0, 1) ? TN_I32 : TN_I64;
    t->rank = (int32_t)n + 1;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    shuffle(r, n, order);
    d->n[TN_INDEX_BATCH] = paired;
    for (uint32_t i = 0; i < n; i++) {
        t->dim[order[i]] = i < paired ? in->dim[d->v[TN_OPERAND_BATCH][i]] : tn_i_pick(r, tn_i_pick(r, 0, 9) != 0, 3);
        if (i < paired) d->v[TN_INDEX_BATCH][i] = order[i];
    }
    t->dim[n] = d->n[TN_MAP];
}

/* Draws which dimensions of windows run over a window, and sets its type. */
static void sample_layout(tn_i_rng *r, const tn_type *in, const tn_type *indices, tn_i_dnums *d, const int64_t *sizes,
                          tn_type *t) {
    const int rank = (int)d->n[TN_WINDOW] + indices->rank - 1;
    int64_t window[TN_MAX_RANK];
    uint32_t n = 0, at = 0;
    for (int i = 0; i < in->rank; i++)
        if (tn_i_in_window(d, i)) window[n++] = sizes[i];
    memset(t, 0, sizeof *t);
    t->dtype = in->dtype;
    t->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (tn_i_pick(r, 1, rank - i) <= (int64_t)(n - at)) {
            t->dim[i] = window[at];
            d->v[TN_WINDOW][at++] = i;
        } else
            t->dim[i] = indices->dim[i - (int)at];
    }
}

bool tn_i_sample_windows(tn_i_rng *r, int dtype, tn_i_case *c, bool gather, int64_t *sizes, tn_type *windows) {
    tn_i_dnums d;
    tn_i_case_shape(r, c, 0, dtype, tn_i_pick(r, 0, 9) != 0, 4);
    sample_roles(r, &c->in[0], gather, &d, sizes);
    sample_indices(r, &c->in[0], &d, &c->in[1]);
    sample_layout(r, &c->in[0], &c->in[1], &d, sizes, windows);
    c->nin = 2;
    const bool absurd = tn_i_pick(r, 0, 9) == 0;
    c->domain[1] = (tn_i_domain){.lo = absurd ? INT32_MIN : -1, .hi = absurd ? INT32_MAX : (double)tn_i_pick(r, 1, 5)};
    uint32_t total = TN_NDNUMS, at = TN_NDNUMS;
    for (uint32_t j = 0; j < TN_NDNUMS; j++) total += d.n[j];
    int64_t *v = tn_i_case_ints(c, total);
    if (!v) return false;
    for (uint32_t j = 0; j < TN_NDNUMS; j++) {
        v[j] = d.n[j];
        for (uint32_t i = 0; i < d.n[j]; i++) v[at++] = d.v[j][i];
    }
    c->p[0] = (tn_i_param){.kind = TN_K_LISTS, .n = total, .u.ints = v};
    return true;
}
