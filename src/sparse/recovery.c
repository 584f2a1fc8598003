#include "sparse/recovery.h"

/* Where element `at` of what a colour gives stands. */
static int64_t place(const tn_coloring *k, const tn_i_sides *d, const tn_i_read *x) {
    const int64_t *first = x->reverse ? d->col : d->row;
    const uint32_t part = tn_i_side_of(first, x->reverse ? d->nwrt : d->nout, x->at);
    const int64_t before = x->reverse ? k->forward * d->row[d->nout] : 0, colors = x->reverse ? k->reverse : k->forward;
    return before + colors * first[part] + x->colour * (first[part + 1] - first[part]) + x->at - first[part];
}

static bool read_above(const tn_sparsity *s, int64_t *at) {
    tn_i_by_column t;
    if (!tn_i_sparsity_columns(s, &t)) return false;
    for (int64_t i = 0; i < s->rows; i++) /* entry e, (i, j), is entry t.entry[e] the other way */
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1] && s->ind[e] < i; e++) at[e] = at[t.entry[e]];
    return true;
}

static bool fits(const tn_coloring *k) {
    int64_t forward, reverse, all;
    const tn_sparsity *s = k->pattern;
    if (tn_i_mul_i64(k->forward, s->rows, &forward) && tn_i_mul_i64(k->reverse, s->columns, &reverse) &&
        tn_i_add_i64(forward, reverse, &all))
        return true;
    (void)tn_i_fail(k->ctx, TN_ELIMIT, NULL, "%lld + %lld colours of a pattern of %lld x %lld", (long long)k->forward,
                    (long long)k->reverse, (long long)s->rows, (long long)s->columns);
    return false;
}

bool tn_i_recover(const tn_coloring *k, const tn_i_sides *sides, bool symmetric, int64_t *at) {
    if (!fits(k)) return false;
    const size_t n = (size_t)k->pattern->nnz;
    tn_i_read *read = tn_i_alloc_array(k->ctx, n, sizeof *read);
    bool ok = read && tn_i_coloring_reads(k, read);
    for (size_t e = 0; ok && e < n; e++) at[e] = place(k, sides, &read[e]);
    tn_i_free(k->ctx, read, n * sizeof *read);
    const bool alike =
        symmetric && k->partition != TN_COLOR_ACYCLIC; /* there each entry is read where it stands alone */
    return ok && (!alike || read_above(k->pattern, at));
}
