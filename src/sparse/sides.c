#include "sparse/sides.h"

static bool same_dtype(tn_i_sides *s, const char *who, const tn_fn *f, const tn_type *t, const char *what, uint32_t i) {
    if (s->dtype == TN_BOOL) s->dtype = t->dtype;
    if (t->dtype == s->dtype) return true;
    (void)tn_i_fail(s->ctx, TN_ETYPE, f->loc, "%s: %s %u is %s, others are %s: the values are one array", who, what,
                    (unsigned)i, tn_i_dtype_name(t->dtype), tn_i_dtype_name(s->dtype));
    return false;
}

static bool next_first(tn_i_sides *s, const char *who, const tn_fn *f, int64_t *first, const tn_type *t) {
    if (tn_i_add_i64(first[0], tn_i_count(t), &first[1]) && first[1] < INT64_MAX / 16) return true;
    (void)tn_i_fail(s->ctx, TN_ELIMIT, f->loc, "%s: more rows or columns than can be counted", who);
    return false;
}

static bool fill(tn_i_sides *s, const char *who, const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, uint32_t skip) {
    for (uint32_t k = 0; k < nwrt; k++) {
        const tn_type *t = s->wrt[s->nwrt] = f->val[wrt[k]].type;
        if (!same_dtype(s, who, f, t, "input", wrt[k]) || !next_first(s, who, f, &s->col[s->nwrt], t)) return false;
        s->nwrt++;
    }
    for (uint32_t j = 0; j < f->nout; j++) {
        const tn_type *t = f->val[f->out[j]].type;
        if (!tn_i_is_float(t->dtype) || (skip && skip--)) continue;
        s->out[s->nout] = t;
        if (!same_dtype(s, who, f, t, "output", j) || !next_first(s, who, f, &s->row[s->nout], t)) return false;
        s->nout++;
    }
    if (s->dtype == TN_BOOL) s->dtype = TN_F64; /* there is none */
    return true;
}

bool tn_i_sides_init(tn_i_sides *s, const char *who, const tn_fn *f, uint32_t nwrt, const uint32_t *wrt,
                     uint32_t skip) {
    *s = (tn_i_sides){.ctx = f->ctx, .dtype = TN_BOOL, .room = (size_t)f->nin + f->nout + 1};
    s->out = tn_i_alloc_array(s->ctx, s->room, sizeof *s->out);
    s->wrt = tn_i_alloc_array(s->ctx, s->room, sizeof *s->wrt);
    s->row = tn_i_alloc_array(s->ctx, s->room, sizeof *s->row);
    s->col = tn_i_alloc_array(s->ctx, s->room, sizeof *s->col);
    if (s->out && s->wrt && s->row && s->col && fill(s, who, f, nwrt, wrt, skip)) return true;
    tn_i_sides_free(s);
    return false;
}

void tn_i_sides_free(tn_i_sides *s) {
    if (!s->ctx) return;
    tn_i_free(s->ctx, (void *)s->out, s->room * sizeof *s->out);
    tn_i_free(s->ctx, (void *)s->wrt, s->room * sizeof *s->wrt);
    tn_i_free(s->ctx, s->row, s->room * sizeof *s->row);
    tn_i_free(s->ctx, s->col, s->room * sizeof *s->col);
    *s = (tn_i_sides){0};
}

uint32_t tn_i_side_of(const int64_t *first, uint32_t n, int64_t i) {
    uint32_t lo = 0, hi = n;
    while (hi - lo > 1) { /* parts without elements are never the answer: the last that begins at i or before */
        const uint32_t mid = lo + (hi - lo) / 2;
        if (first[mid] <= i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}
