/* Patterns as objects: lifetime, the caller's own, and their entries in other orders. */
#include "sparse/sparsity.h"

#include <stdio.h>
#include <string.h>

/* ---- lifetime ------------------------------------------------------------------------------- */

static size_t several(int64_t n, size_t size) { return (size_t)n * size; }

static void free_order(tn_ctx *c, tn_i_sparse_order *o, int64_t outer) {
    if (o->ptr) tn_i_free(c, o->ptr, several(outer + 1, sizeof *o->ptr));
    if (o->ind) tn_i_free(c, o->ind, several(o->room, sizeof *o->ind));
    if (o->row) tn_i_free(c, o->row, several(o->room, sizeof *o->row));
    if (o->entry) tn_i_free(c, o->entry, several(o->room, sizeof *o->entry));
    if (o->constant) tn_i_free(c, o->constant, several(o->room, sizeof *o->constant));
    if (o->value) tn_i_free(c, o->value, several(o->room, sizeof *o->value));
    *o = (tn_i_sparse_order){0};
}

static int64_t outer_of(const tn_sparsity *s, int format) { return format == TN_CSC ? s->columns : s->rows; }

static void destroy(tn_sparsity *s) {
    tn_ctx *c = s->ctx;
    for (int f = TN_CSR; f <= TN_COO; f++)
        for (int t = TN_FULL; t <= TN_UPPER; t++) free_order(c, &s->order[f][t], outer_of(s, f));
    tn_i_free(c, s->ptr, several(s->rows + 1, sizeof *s->ptr));
    if (s->ind) tn_i_free(c, s->ind, several(s->nnz, sizeof *s->ind));
    if (s->constant) tn_i_free(c, s->constant, several(s->nnz, sizeof *s->constant));
    if (s->value) tn_i_free(c, s->value, several(s->nnz, sizeof *s->value));
    if (s->types) tn_i_free(c, s->types, s->ntypes * sizeof *s->types);
    for (size_t i = 0; i < s->nwarning; i++) tn_i_free(c, s->warning[i], strlen(s->warning[i]) + 1);
    tn_i_free(c, s->warning, s->cwarning * sizeof *s->warning);
    if (s->prev)
        s->prev->next = s->next;
    else
        c->patterns = s->next;
    if (s->next) s->next->prev = s->prev;
    tn_i_free(c, s, sizeof *s);
}

void tn_sparsity_free(tn_sparsity *s) {
    if (s && --s->refs == 0) destroy(s);
}

static void free_all(tn_ctx *c) {
    while (c->patterns) destroy(c->patterns);
}

tn_sparsity *tn_i_sparsity_ref(const tn_sparsity *s) {
    tn_sparsity *own = (tn_sparsity *)(uintptr_t)s;
    own->refs++;
    return own;
}

tn_sparsity *tn_i_sparsity_new(tn_ctx *c, int64_t rows, int64_t columns, int64_t *ptr, int64_t *ind) {
    tn_sparsity *s = tn_i_alloc(c, sizeof *s);
    const int64_t nnz = ptr[rows];
    if (!s) {
        tn_i_free(c, ptr, several(rows + 1, sizeof *ptr));
        if (ind) tn_i_free(c, ind, several(nnz, sizeof *ind));
        return NULL;
    }
    tn_i_on_teardown(c, free_all);
    *s = (tn_sparsity){.ctx = c, .refs = 1, .rows = rows, .columns = columns, .nnz = nnz, .ptr = ptr, .ind = ind};
    s->next = c->patterns;
    if (c->patterns) c->patterns->prev = s;
    c->patterns = s;
    return s;
}

/* ---- warnings --------------------------------------------------------------------------------- */

bool tn_i_sparsity_warn(tn_sparsity *s, const tn_i_loc *loc, const char *fmt, ...) {
    char text[1024];
    int n = 0;
    if (loc && loc->file[0])
        n = loc->col ? snprintf(text, sizeof text, "%s:%u:%u: ", loc->file, (unsigned)loc->line, (unsigned)loc->col)
                     : snprintf(text, sizeof text, "%s:%u: ", loc->file, (unsigned)loc->line);
    if (n < 0 || (size_t)n >= sizeof text) n = 0;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < s->nwarning; i++)
        if (!strcmp(s->warning[i], text)) return true;
    if (!tn_i_grow(s->ctx, (void **)&s->warning, &s->cwarning, s->nwarning + 1, sizeof *s->warning)) return false;
    const size_t size = strlen(text) + 1;
    char *copy = tn_i_alloc_raw(s->ctx, size);
    if (!copy) return false;
    s->warning[s->nwarning++] = memcpy(copy, text, size);
    return true;
}

const char *tn_sparsity_warning(const tn_sparsity *s, size_t i) { return s && i < s->nwarning ? s->warning[i] : NULL; }

/* ---- the caller's own --------------------------------------------------------------------------- */

/* What a caller's arrays are, for messages: their lines are rows, or columns with CSC. */
typedef struct given {
    tn_ctx *ctx;
    const char *who, *line, *across;
    int64_t lines, width;
} given;

static bool shape_is_valid(tn_ctx *c, const char *who, int64_t rows, int64_t columns) {
    size_t bytes;
    if (rows >= 0 && columns >= 0 && rows < INT64_MAX && columns < INT64_MAX &&
        tn_i_mul((size_t)rows + 1, sizeof(int64_t), &bytes) && tn_i_mul((size_t)columns + 1, sizeof(int64_t), &bytes))
        return true;
    (void)tn_i_fail(c, TN_EINVAL, NULL, "%s: a pattern of %lld x %lld", who, (long long)rows, (long long)columns);
    return false;
}

static bool pointers_are_valid(const given *g, const int64_t *ptr, const int64_t *ind) {
    if (!ptr) return tn_i_fail(g->ctx, TN_EINVAL, NULL, "%s: ptr is NULL", g->who), false;
    if (ptr[0] != 0)
        return tn_i_fail(g->ctx, TN_EINVAL, NULL, "%s: ptr[0] is %lld, not 0", g->who, (long long)ptr[0]), false;
    for (int64_t i = 0; i < g->lines; i++)
        if (ptr[i + 1] < ptr[i])
            return tn_i_fail(g->ctx, TN_EINVAL, NULL, "%s: ptr descends at %s %lld", g->who, g->line, (long long)i),
                   false;
    if (!ind && ptr[g->lines] > 0) return tn_i_fail(g->ctx, TN_EINVAL, NULL, "%s: ind is NULL", g->who), false;
    return true;
}

static bool indices_are_valid(const given *g, const int64_t *ptr, const int64_t *ind) {
    for (int64_t i = 0; i < g->lines; i++)
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
            const char *why = ind[k] < 0 || ind[k] >= g->width     ? "out of range"
                              : k > ptr[i] && ind[k] == ind[k - 1] ? "there twice"
                              : k > ptr[i] && ind[k] < ind[k - 1]  ? "less than the one before"
                                                                   : NULL;
            if (why)
                return tn_i_fail(g->ctx, TN_EINVAL, NULL, "%s: %s %lld: ind[%lld] = %lld is %s (%lld %ss)", g->who,
                                 g->line, (long long)i, (long long)k, (long long)ind[k], why, (long long)g->width,
                                 g->across),
                       false;
        }
    return true;
}

/* The same entries by the other index: tptr (width + 1), tind, and where each stood. */
static void transposed(int64_t lines, int64_t width, const int64_t *ptr, const int64_t *ind, int64_t *tptr,
                       int64_t *tind, int64_t *entry) {
    memset(tptr, 0, several(width + 1, sizeof *tptr));
    for (int64_t k = 0; k < ptr[lines]; k++) tptr[ind[k] + 1]++;
    for (int64_t j = 0; j < width; j++) tptr[j + 1] += tptr[j];
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
            const int64_t at = tptr[ind[k]]++;
            tind[at] = i;
            if (entry) entry[at] = k;
        }
    for (int64_t j = width; j > 0; j--) tptr[j] = tptr[j - 1];
    tptr[0] = 0;
}

/* Room for the rows of a pattern; *ind may be NULL where nnz is 0. */
static bool rows_room(tn_ctx *c, int64_t rows, int64_t nnz, int64_t **ptr, int64_t **ind) {
    *ptr = tn_i_alloc_array(c, (size_t)rows + 1, sizeof **ptr);
    *ind = nnz ? tn_i_alloc_array(c, (size_t)nnz, sizeof **ind) : NULL;
    if (*ptr && (*ind || !nnz)) return true;
    if (*ptr) tn_i_free(c, *ptr, several(rows + 1, sizeof **ptr));
    if (*ind) tn_i_free(c, *ind, several(nnz, sizeof **ind));
    return false;
}

tn_sparsity *tn_sparsity_csr(tn_ctx *c, int64_t rows, int64_t columns, const int64_t *ptr, const int64_t *ind) {
    if (!c || !shape_is_valid(c, "tn_sparsity_csr", rows, columns)) return NULL;
    const given g = {c, "tn_sparsity_csr", "row", "column", rows, columns};
    int64_t *own, *columns_of;
    if (!pointers_are_valid(&g, ptr, ind) || !indices_are_valid(&g, ptr, ind) ||
        !rows_room(c, rows, ptr[rows], &own, &columns_of))
        return NULL;
    memcpy(own, ptr, several(rows + 1, sizeof *own));
    if (ptr[rows]) memcpy(columns_of, ind, several(ptr[rows], sizeof *ind));
    return tn_i_sparsity_new(c, rows, columns, own, columns_of);
}

tn_sparsity *tn_sparsity_csc(tn_ctx *c, int64_t rows, int64_t columns, const int64_t *ptr, const int64_t *ind) {
    if (!c || !shape_is_valid(c, "tn_sparsity_csc", rows, columns)) return NULL;
    const given g = {c, "tn_sparsity_csc", "column", "row", columns, rows};
    int64_t *own, *columns_of;
    if (!pointers_are_valid(&g, ptr, ind) || !indices_are_valid(&g, ptr, ind) ||
        !rows_room(c, rows, ptr[columns], &own, &columns_of))
        return NULL;
    transposed(columns, rows, ptr, ind, own, columns_of, NULL);
    return tn_i_sparsity_new(c, rows, columns, own, columns_of);
}

/* Sorted by columns, then, which keeps that order, by rows. */
static tn_sparsity *sorted(tn_ctx *c, int64_t rows, int64_t columns, int64_t nnz, const int64_t *row,
                           const int64_t *col) {
    int64_t *by_column = NULL, *count = NULL, *ptr = NULL, *ind = NULL;
    tn_sparsity *s = NULL;
    if (!rows_room(c, columns, nnz, &count, &by_column)) return NULL;
    if (rows_room(c, rows, nnz, &ptr, &ind)) {
        for (int64_t k = 0; k < nnz; k++) count[col[k] + 1]++, ptr[row[k] + 1]++;
        for (int64_t j = 0; j < columns; j++) count[j + 1] += count[j];
        for (int64_t i = 0; i < rows; i++) ptr[i + 1] += ptr[i];
        for (int64_t k = 0; k < nnz; k++) by_column[count[col[k]]++] = k;
        for (int64_t k = 0; k < nnz; k++) ind[ptr[row[by_column[k]]]++] = col[by_column[k]];
        for (int64_t i = rows; i > 0; i--) ptr[i] = ptr[i - 1];
        ptr[0] = 0;
        s = tn_i_sparsity_new(c, rows, columns, ptr, ind);
    }
    tn_i_free(c, count, several(columns + 1, sizeof *count));
    if (by_column) tn_i_free(c, by_column, several(nnz, sizeof *by_column));
    return s;
}

tn_sparsity *tn_sparsity_coo(tn_ctx *c, int64_t rows, int64_t columns, int64_t nnz, const int64_t *row,
                             const int64_t *col) {
    static const char who[] = "tn_sparsity_coo";
    if (!c || !shape_is_valid(c, who, rows, columns)) return NULL;
    if (nnz < 0 || (nnz && (!row || !col)))
        return tn_i_fail(c, TN_EINVAL, NULL, nnz < 0 ? "%s: nnz is %lld" : "%s: row or col is NULL, of %lld entries",
                         who, (long long)nnz),
               NULL;
    for (int64_t k = 0; k < nnz; k++)
        if (row[k] < 0 || row[k] >= rows || col[k] < 0 || col[k] >= columns)
            return tn_i_fail(c, TN_EINVAL, NULL, "%s: entry %lld at (%lld, %lld) is out of range (%lld x %lld)", who,
                             (long long)k, (long long)row[k], (long long)col[k], (long long)rows, (long long)columns),
                   NULL;
    tn_sparsity *s = sorted(c, rows, columns, nnz, row, col);
    for (int64_t i = 0; s && i < rows; i++)
        for (int64_t k = s->ptr[i] + 1; k < s->ptr[i + 1]; k++)
            if (s->ind[k] == s->ind[k - 1]) {
                (void)tn_i_fail(c, TN_EINVAL, NULL, "%s: (%lld, %lld) is there twice", who, (long long)i,
                                (long long)s->ind[k]);
                tn_sparsity_free(s);
                return NULL;
            }
    return s;
}

/* ---- orders --------------------------------------------------------------------------------------- */

static bool inside(tn_triangle t, int64_t i, int64_t j) { return t == TN_FULL || (t == TN_LOWER ? j <= i : j >= i); }

static bool order_room(tn_ctx *c, tn_i_sparse_order *o, const tn_sparsity *s, int format) {
    const size_t n = (size_t)o->room;
    o->ptr = tn_i_alloc_array(c, (size_t)outer_of(s, format) + 1, sizeof *o->ptr);
    o->ind = tn_i_alloc_array(c, n, sizeof *o->ind);
    o->entry = tn_i_alloc_array(c, n, sizeof *o->entry);
    if (format == TN_COO) o->row = tn_i_alloc_array(c, n, sizeof *o->row);
    if (s->constant) o->constant = tn_i_alloc_array(c, n, sizeof *o->constant);
    if (s->constant) o->value = tn_i_alloc_array(c, n, sizeof *o->value);
    return o->ptr && o->ind && o->entry && (format != TN_COO || o->row) && (!s->constant || (o->constant && o->value));
}

static void fill_by_row(tn_i_sparse_order *o, const tn_sparsity *s, tn_triangle t) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++)
            if (inside(t, i, s->ind[k])) {
                if (o->row) o->row[n] = i;
                o->entry[n] = k;
                o->ind[n++] = s->ind[k];
            }
        o->ptr[i + 1] = n;
    }
}

static void fill_by_column(tn_i_sparse_order *o, const tn_sparsity *s, tn_triangle t) {
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++)
            if (inside(t, i, s->ind[k])) o->ptr[s->ind[k] + 1]++;
    for (int64_t j = 0; j < s->columns; j++) o->ptr[j + 1] += o->ptr[j];
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++)
            if (inside(t, i, s->ind[k])) {
                const int64_t at = o->ptr[s->ind[k]]++;
                o->ind[at] = i;
                o->entry[at] = k;
            }
    for (int64_t j = s->columns; j > 0; j--) o->ptr[j] = o->ptr[j - 1];
    o->ptr[0] = 0;
}

const tn_i_sparse_order *tn_i_sparsity_order(const tn_sparsity *s, tn_sparse_format format, tn_triangle triangle) {
    tn_i_sparse_order *o = (tn_i_sparse_order *)(uintptr_t)&s->order[format][triangle];
    if (o->made) return o;
    int64_t nnz = 0;
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++) nnz += inside(triangle, i, s->ind[k]);
    o->room = nnz ? nnz : 1;
    if (!order_room(s->ctx, o, s, (int)format)) {
        free_order(s->ctx, o, outer_of(s, (int)format));
        return NULL;
    }
    if (format == TN_CSC)
        fill_by_column(o, s, triangle);
    else
        fill_by_row(o, s, triangle);
    for (int64_t k = 0; s->constant && k < nnz; k++)
        o->constant[k] = s->constant[o->entry[k]], o->value[k] = s->value[o->entry[k]];
    o->made = true;
    return o;
}

tn_status tn_sparsity_view(const tn_sparsity *s, tn_sparse_format format, tn_triangle triangle,
                           tn_sparsity_arrays *out) {
    static const char who[] = "tn_sparsity_view";
    if (!s) return TN_EINVAL;
    tn_ctx *c = s->ctx;
    if (!out || !out->size || out->size > sizeof *out)
        return tn_i_fail(c, TN_EINVAL, NULL,
                         "%s: out is NULL or its size is not set (.size = sizeof(tn_sparsity_arrays))", who);
    if ((unsigned)format > TN_COO || (unsigned)triangle > TN_UPPER)
        return tn_i_fail(c, TN_EINVAL, NULL, "%s: format %d, triangle %d", who, (int)format, (int)triangle);
    if (triangle != TN_FULL && s->rows != s->columns)
        return tn_i_fail(c, TN_EINVAL, NULL, "%s: a triangle of a pattern of %lld x %lld", who, (long long)s->rows,
                         (long long)s->columns);
    const tn_i_sparse_order *o = tn_i_sparsity_order(s, format, triangle);
    if (!o) return tn_last_status(c);
    const tn_sparsity_arrays a = {.size = out->size,
                                  .rows = s->rows,
                                  .columns = s->columns,
                                  .nnz = o->ptr[outer_of(s, (int)format)],
                                  .ptr = format == TN_COO ? NULL : o->ptr,
                                  .ind = o->ind,
                                  .row = o->row,
                                  .constant = o->constant,
                                  .value = o->value,
                                  .local = s->local,
                                  .symmetric = s->symmetric};
    memcpy(out, &a, out->size);
    return TN_OK;
}

bool tn_i_sparsity_columns(const tn_sparsity *s, tn_i_by_column *out) {
    const tn_i_sparse_order *o = tn_i_sparsity_order(s, TN_CSC, TN_FULL);
    if (o) *out = (tn_i_by_column){o->ptr, o->ind, o->entry};
    return o != NULL;
}

bool tn_i_sparsity_is_symmetric(const tn_sparsity *s, bool *yes) {
    tn_i_by_column t;
    *yes = s->rows == s->columns;
    if (!*yes) return true;
    if (!tn_i_sparsity_columns(s, &t)) return false;
    *yes = !memcmp(t.ptr, s->ptr, several(s->rows + 1, sizeof *s->ptr)) &&
           (!s->nnz || !memcmp(t.row, s->ind, several(s->nnz, sizeof *s->ind)));
    return true;
}
