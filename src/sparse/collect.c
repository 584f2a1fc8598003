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

/* Moves what is live to the front.  Rows that share columns come behind the one that had them first, which stays with
 * them, so columns and coefficients are in the order of the rows. */
static void compact(tn_i_rowset *s, const uint8_t *live, int32_t *to) {
    size_t nrow = 0, ncol = 0, nvalue = 0;
    for (size_t r = 0; r < s->nrow; r++) {
        if (!live[r]) continue;
        tn_i_set_row x = s->row[r];
        const size_t n = (size_t)x.n;
        to[r] = (int32_t)nrow;
        if (x.base == (int32_t)r) {
            memmove(s->col + ncol, s->col + x.at, n * sizeof *s->col);
            x.at = (int64_t)ncol;
            ncol += n;
        } else
            x.at = s->row[to[x.base]].at;
        x.base = to[x.base];
        if (x.value >= 0) {
            memmove(s->value + nvalue, s->value + x.value, n * sizeof *s->value);
            x.value = (int64_t)nvalue;
            nvalue += n;
        }
        s->row[nrow++] = x;
    }
    for (size_t r = 0; r < nrow; r++) /* what a row is without coefficients may have gone */
        s->row[r].varying = s->row[r].varying && live[s->row[r].varying] ? to[s->row[r].varying] : 0;
    s->nrow = nrow;
    s->ncol = ncol;
    s->nvalue = nvalue;
}

bool tn_i_spread_collect(tn_i_spreading *w) {
    tn_i_rowset *s = &w->set;
    if (s->ncol + s->nrow < w->collect) return true;
    const size_t n = s->nrow;
    uint8_t *live = tn_i_alloc(w->ctx, n);
    int32_t *to = tn_i_alloc_raw(w->ctx, n * sizeof *to);
    const bool ok = live && to;
    if (ok) {
        live[0] = 1;
        mark(w, live);
        for (size_t r = n; r-- > 0;)
            if (live[r]) live[s->row[r].base] = 1;
        compact(s, live, to);
        renumber(w, to);
        w->collect = 2 * (s->ncol + s->nrow) + TN_COLLECT;
        s->full |= s->ncol / 4 > (size_t)s->limit;
    }
    if (live) tn_i_free(w->ctx, live, n);
    if (to) tn_i_free(w->ctx, to, n * sizeof *to);
    return ok && !s->full;
}
