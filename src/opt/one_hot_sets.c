/* Sets of elements, at most one in a row and in a column, along a few diagonals. */
#include "opt/one_hot.h"

#include <string.h>

static tn_i_one_hot_set none(int64_t rows, int64_t columns) {
    return (tn_i_one_hot_set){.rows = rows, .columns = columns};
}

/* `count` rows behind those that are there. */
static bool append(tn_i_one_hot_set *s, int64_t count, int64_t column) {
    tn_i_one_hot_run *r = s->n ? &s->run[s->n - 1] : NULL;
    const int64_t next = r ? r->first + r->count : 0;
    if (count <= 0) return true;
    if (r && (column < 0 ? r->column < 0 : r->column >= 0 && column == r->column + r->count))
        r->count += count;
    else if (s->n == TN_ONE_HOT_MORE_RUNS)
        return false;
    else
        s->run[s->n++] = (tn_i_one_hot_run){next, count, column};
    return true;
}

static int64_t end(const tn_i_one_hot_set *s) { return s->n ? s->run[s->n - 1].first + s->run[s->n - 1].count : 0; }

static bool is_zero(int dtype, const void *data, int64_t i) {
    const uint64_t zero = 0;
    const size_t size = tn_i_dtype_size(dtype);
    return memcmp((const char *)data + (size_t)i * size, &zero, size) == 0;
}

/* The column of the element of a row that is not 0; -1: none, -2: several. */
static int64_t only_in(const tn_type *t, const void *data, int64_t row) {
    int64_t at = -1;
    for (int64_t j = 0; j < t->dim[1]; j++) {
        if (is_zero(t->dtype, data, row * t->dim[1] + j)) continue;
        if (at >= 0) return -2;
        at = j;
    }
    return at;
}

bool tn_i_one_hot_of_constant(const tn_type *t, const void *data, tn_i_one_hot_set *out) {
    bool some = false;
    *out = none(t->dim[0], t->dim[1]);
    for (int64_t i = 0; i < t->dim[0]; i++) {
        const int64_t column = only_in(t, data, i);
        if (column == -2 || !append(out, 1, column)) return false;
        some |= column >= 0;
    }
    return some && out->n <= TN_ONE_HOT_RUNS && tn_i_one_hot_turned(out, &(tn_i_one_hot_set){0});
}

static const tn_i_one_hot_run *run_of(const tn_i_one_hot_set *s, int64_t row) {
    const tn_i_one_hot_run *r = s->run;
    while (row >= r->first + r->count) r++;
    return r;
}

int64_t tn_i_one_hot_column(const tn_i_one_hot_set *s, int64_t row) {
    const tn_i_one_hot_run *r = run_of(s, row);
    return r->column < 0 ? -1 : r->column + (row - r->first);
}

bool tn_i_one_hot_of_both(const tn_i_one_hot_set *a, const tn_i_one_hot_set *b, tn_i_one_hot_set *out) {
    *out = none(a->rows, a->columns);
    for (int64_t i = 0; i < a->rows; i = end(out)) {
        const tn_i_one_hot_run *r = run_of(a, i), *q = run_of(b, i);
        const int64_t x = tn_i_one_hot_column(a, i), y = tn_i_one_hot_column(b, i);
        const int64_t one = r->first + r->count, other = q->first + q->count;
        if (x >= 0 && y >= 0 && x != y) return false;
        if (!append(out, (one < other ? one : other) - i, x < 0 ? y : x)) return false;
    }
    return out->n <= TN_ONE_HOT_RUNS && tn_i_one_hot_turned(out, &(tn_i_one_hot_set){0});
}

static int64_t within(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

bool tn_i_one_hot_placed(const tn_i_one_hot_set *a, int64_t row, int64_t column, int64_t rows, int64_t columns,
                         tn_i_one_hot_set *out) {
    *out = none(rows, columns);
    for (uint32_t k = 0; k < a->n; k++) {
        const tn_i_one_hot_run *r = &a->run[k];
        const int64_t at = r->first + row, j = r->column + column; /* of its first hot element */
        if (r->column < 0) continue;
        const int64_t first = within(at + (j < 0 ? -j : 0), 0, rows);
        const int64_t last = within(at + within(columns - j, 0, r->count), first, rows);
        if (last == first) continue;
        if (!append(out, first - end(out), -1) || !append(out, last - first, j + (first - at))) return false;
    }
    return append(out, rows - end(out), -1);
}

/* The next run of a in the order of columns, from `column` on. */
static const tn_i_one_hot_run *next_column(const tn_i_one_hot_set *a, int64_t column) {
    const tn_i_one_hot_run *next = NULL;
    for (uint32_t k = 0; k < a->n; k++) {
        const tn_i_one_hot_run *r = &a->run[k];
        if (r->column >= 0 && r->column + r->count > column && (!next || r->column < next->column)) next = r;
    }
    return next;
}

bool tn_i_one_hot_turned(const tn_i_one_hot_set *a, tn_i_one_hot_set *out) {
    const tn_i_one_hot_run *r;
    int64_t some = 0, taken = 0;
    for (uint32_t k = 0; k < a->n; k++) some += a->run[k].column < 0 ? 0 : a->run[k].count;
    *out = none(a->columns, a->rows);
    while ((r = next_column(a, end(out)))) {
        if (r->column < end(out)) return false;
        if (!append(out, r->column - end(out), -1) || !append(out, r->count, r->first)) return false;
        taken += r->count;
    }
    return taken == some && append(out, a->columns - end(out), -1);
}

bool tn_i_one_hot_same(const tn_i_one_hot_set *a, const tn_i_one_hot_set *b) {
    bool same = a->rows == b->rows && a->columns == b->columns && a->n == b->n;
    for (uint32_t k = 0; same && k < a->n; k++)
        same = a->run[k].first == b->run[k].first && a->run[k].column == b->run[k].column;
    return same;
}
