/* Rows that no value has any more are dropped, now and then: a long loop makes many, and the next step needs few. */
#include "sparse/walk.h"

#include <string.h>

tn_i_shared *tn_i_spread_rows_new(tn_i_spreading *w, int64_t n) {
    tn_i_shared *b = tn_i_shared_new(w->ctx, (size_t)n * sizeof(int32_t));
    if (!b) return NULL;
    b->next = w->rows.next;
    b->prev = &w->rows;
    b->n = n;
    b->next->prev = b;
    w->rows.next = b;
    return b;
}

/* Marks the rows that values have. */
static void mark(const tn_i_spreading *w, uint8_t *live) {
    for (const tn_i_shared *b = w->rows.next; b != &w->rows; b = b->next) {
        const int32_t *row = tn_i_shared_data(b);
        for (int64_t i = 0; i < b->n; i++) live[row[i]] = 1;
    }
}

static void renumber(const tn_i_spreading *w, const int32_t *to) {
    for (const tn_i_shared *b = w->rows.next; b != &w->rows; b = b->next) {
        int32_t *row = tn_i_shared_data(b);
        for (int64_t i = 0; i < b->n; i++) row[i] = to[row[i]];
    }
}

/* The rows that have columns of their own, in order; how many. */
static size_t owners(const tn_i_rowset *s, int32_t *own) {
    size_t n = 0;
    int64_t at = 0;
    for (size_t r = 1; r < s->nrow; r++) {
        if (s->row[r].at != at) continue;
        own[n++] = (int32_t)r;
        at += s->row[r].n;
    }
    return n;
}

/* The one whose columns row r has. */
static int32_t owner_of(const tn_i_rowset *s, const int32_t *own, size_t n, size_t r) {
    size_t from = 0, to = n;
    while (to - from > 1) {
        const size_t middle = from + (to - from) / 2;
        *(s->row[own[middle]].at <= s->row[r].at ? &from : &to) = middle;
    }
    return own[from];
}

/* Rows that are live, and those whose columns they have, which owner[] gets. */
static void mark_owners(const tn_i_rowset *s, uint8_t *live, const int32_t *own, size_t n, int32_t *owner) {
    for (size_t r = s->nrow; r-- > 1;) {
        while (n && own[n - 1] > (int32_t)r) n--; /* none behind it */
        if (!live[r]) continue;
        owner[r] = own[n - 1] == (int32_t)r ? own[n - 1] : owner_of(s, own, n, r);
        live[owner[r]] = 1;
    }
}

/* Moves what is live to the front. */
static void compact(tn_i_rowset *s, const uint8_t *live, const int32_t *owner, int32_t *to) {
    size_t nrow = 1, ncol = 0, nvalue = 0;
    to[0] = 0;
    for (size_t r = 1; r < s->nrow; r++) {
        if (!live[r]) continue;
        tn_i_set_row x = s->row[r];
        const size_t n = (size_t)x.n;
        to[r] = (int32_t)nrow;
        if (owner[r] == (int32_t)r) {
            memmove(s->col + ncol, s->col + x.at, n * sizeof *s->col);
            x.at = (int64_t)ncol;
            ncol += n;
        } else
            x.at = s->row[to[owner[r]]].at;
        if (x.value >= 0) {
            memmove(s->value + nvalue, s->value + x.value, n * sizeof *s->value);
            x.value = (int64_t)nvalue;
            nvalue += n;
        }
        s->row[nrow++] = x;
    }
    for (size_t r = 1; r < nrow; r++) /* what a row is without coefficients may have gone */
        s->row[r].varying = s->row[r].varying && live[s->row[r].varying] ? to[s->row[r].varying] : 0;
    s->nrow = nrow;
    s->ncol = ncol;
    s->nvalue = nvalue;
}

bool tn_i_spread_collect(tn_i_spreading *w) {
    tn_i_rowset *s = &w->set;
    if (s->ncol + s->nrow < w->collect && !w->ctx->tight) return true;
    const size_t n = s->nrow;
    uint8_t *live = tn_i_alloc(w->ctx, n);
    int32_t *to = tn_i_alloc_raw(w->ctx, 2 * n * sizeof *to);
    const bool ok = live && to;
    if (ok) {
        int32_t *owner = to + n;
        mark(w, live);
        mark_owners(s, live, to, owners(s, to), owner);
        compact(s, live, owner, to);
        renumber(w, to);
        tn_i_row_pairs_forget(s);
        w->collect = 2 * (s->ncol + s->nrow) + tn_i_collect_from(s->columns);
        s->full |= s->ncol / 4 > (size_t)s->limit;
    }
    if (live) tn_i_free(w->ctx, live, n);
    if (to) tn_i_free(w->ctx, to, 2 * n * sizeof *to);
    return ok && !s->full;
}
