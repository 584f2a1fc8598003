/* Equations of user code whose entries the user gave. */
#include "sparse/walk.h"

#include <string.h>

typedef struct given {
    tn_i_spread_eqn *q;
    tn_i_entries x;
    int64_t *from; /* of each operand: its first column, and behind the last one how many there are */
} given;

/* Columns of each operand; false: one in front of them depends on something, too. */
static bool lay_out(const given *k) {
    int64_t at = 0;
    bool ok = true;
    for (uint32_t i = 0; i < k->q->e->nin; i++) {
        const bool column = i >= k->x.first && tn_i_is_float(k->q->in_type[i]->dtype);
        k->from[i] = at;
        if (column) at += tn_i_count(k->q->in_type[i]) / k->x.batch;
        ok &= column || !k->q->in[i].rows;
    }
    k->from[k->q->e->nin] = at;
    return ok;
}

/* The row number of a column of one of the batch. */
static int32_t row_at(const given *k, int64_t column, int64_t element) {
    uint32_t i = 0;
    while (k->from[i + 1] <= column) i++;
    const int32_t *rows = tn_i_spread_val_rows(&k->q->in[i]);
    const int64_t n = k->from[i + 1] - k->from[i];
    return rows ? rows[element * n + column - k->from[i]] : 0;
}

static bool fill(const given *k, int32_t *to, int64_t first, int64_t n) {
    tn_i_rowset *s = &k->q->w->set;
    for (int64_t i = 0; i < n * k->x.batch; i++) {
        const int64_t row = first + i % n;
        tn_i_row_sum sum;
        if (!tn_i_row_sum_begin(&sum, s, false, false)) return false;
        for (int64_t m = k->x.ptr[row]; m < k->x.ptr[row + 1]; m++)
            tn_i_row_sum_add(&sum, row_at(k, k->x.ind[m], i / n), 1.0);
        const int32_t all = tn_i_row_sum_end(&sum);
        if (all < 0 || (to[i] = tn_i_row_varying(s, all)) < 0) return false;
    }
    return true;
}

static bool fill_all(const given *k) {
    int64_t first = 0;
    for (uint32_t j = 0; j < k->q->e->nout; j++) {
        if (!tn_i_is_float(tn_i_spread_out(k->q, j)->dtype)) continue;
        const int64_t n = tn_i_count(tn_i_spread_out(k->q, j)) / k->x.batch;
        int32_t *to = tn_i_spread_rows(k->q, j, 0);
        if (!to || !fill(k, to, first, n)) return false;
        first += n;
    }
    return true;
}

bool tn_i_spread_entries(tn_i_spread_eqn *q, bool *done) {
    const tn_i_eqn *e = q->e;
    const tn_i_query query = {
        .ctx = q->w->ctx, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = e->nout, .in = q->in_type};
    given k = {.q = q};
    *done = false;
    if (!e->prim->entries || !e->prim->entries(&query, &k.x) || k.x.batch == 0) return true;
    const size_t n = (size_t)e->nin + 1;
    if (!(k.from = tn_i_alloc_array(q->w->ctx, n, sizeof *k.from))) return false;
    *done = lay_out(&k);
    const bool ok = !*done || fill_all(&k);
    tn_i_free(q->w->ctx, k.from, n * sizeof *k.from);
    return ok;
}
