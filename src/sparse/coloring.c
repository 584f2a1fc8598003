/* Colourings as objects, and where their entries are read. */
#include "sparse/coloring.h"

#include <string.h>

static void destroy(tn_coloring *k) {
    tn_ctx *c = k->ctx;
    if (k->column) tn_i_free(c, k->column, (size_t)k->pattern->columns * sizeof *k->column);
    if (k->row) tn_i_free(c, k->row, (size_t)k->pattern->rows * sizeof *k->row);
    tn_sparsity_free(k->pattern);
    if (k->prev)
        k->prev->next = k->next;
    else
        c->colorings = k->next;
    if (k->next) k->next->prev = k->prev;
    tn_i_free(c, k, sizeof *k);
}

void tn_coloring_free(tn_coloring *k) {
    if (k) destroy(k);
}

static void free_all(tn_ctx *c) {
    while (c->colorings) destroy(c->colorings);
}

tn_coloring *tn_i_coloring_new(const tn_sparsity *s) {
    tn_ctx *c = s->ctx;
    tn_coloring *k = tn_i_alloc(c, sizeof *k);
    if (!k) return NULL;
    tn_i_on_teardown(c, free_all);
    *k = (tn_coloring){.ctx = c, .pattern = tn_i_sparsity_ref(s), .next = c->colorings};
    if (c->colorings) c->colorings->prev = k;
    c->colorings = k;
    return k;
}

tn_status tn_coloring_view(const tn_coloring *k, tn_coloring_arrays *out) {
    if (!k) return TN_EINVAL;
    if (!out || !out->size || out->size > sizeof *out)
        return tn_i_fail(k->ctx, TN_EINVAL, NULL,
                         "tn_coloring_view: out is NULL or its size is not set (.size = sizeof(tn_coloring_arrays))");
    const tn_coloring_arrays a = {.size = out->size,
                                  .partition = k->partition,
                                  .order = k->order,
                                  .forward = k->forward,
                                  .reverse = k->reverse,
                                  .column = k->column,
                                  .row = k->row};
    memcpy(out, &a, out->size);
    return TN_OK;
}

/* ---- where entries are read ----------------------------------------------------------------------------- */

static bool by_row(const tn_coloring *k, int64_t i, int64_t j) {
    if (!k->row || !k->column) return k->row != NULL;
    return k->by_rows ? k->row[i] >= 0 : k->column[j] < 0;
}

static void read_directly(const tn_coloring *k, tn_i_read *read) {
    const tn_sparsity *s = k->pattern;
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1]; e++) {
            const int64_t j = s->ind[e];
            read[e] = by_row(k, i, j) ? (tn_i_read){j, k->row[i], true} : (tn_i_read){i, k->column[j], false};
        }
}

/* In row i, if no other column of j's colour is there; else in row j, where no other has i's. */
static bool read_stars(const tn_coloring *k, tn_i_read *read) {
    const tn_sparsity *s = k->pattern;
    const size_t size = ((size_t)k->forward + 1) * sizeof(int64_t);
    int64_t *count = tn_i_alloc(k->ctx, size);
    if (!count) return false;
    for (int64_t i = 0; i < s->rows; i++) {
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1]; e++) count[k->column[s->ind[e]]]++;
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1]; e++) {
            const int64_t j = s->ind[e];
            read[e] =
                count[k->column[j]] == 1 ? (tn_i_read){i, k->column[j], false} : (tn_i_read){j, k->column[i], false};
        }
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1]; e++) count[k->column[s->ind[e]]] = 0;
    }
    tn_i_free(k->ctx, count, size);
    return true;
}

static bool read_sums(const tn_coloring *k, tn_i_read *read) {
    tn_i_substitution u;
    read_directly(k, read); /* in row i, as the diagonal, and each step's entry */
    if (!tn_i_coloring_substitution(k, &u)) return false;
    for (int64_t i = 0; i < u.steps; i++) read[u.twin[i]] = read[u.entry[i]];
    tn_i_substitution_free(&u);
    return true;
}

bool tn_i_coloring_reads(const tn_coloring *k, tn_i_read *read) {
    if (k->partition == TN_COLOR_STAR) return read_stars(k, read);
    if (k->partition == TN_COLOR_ACYCLIC) return read_sums(k, read);
    read_directly(k, read);
    return true;
}
