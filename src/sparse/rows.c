#include "sparse/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIKELY = 1 << 23, PAIRS = 1 << TN_I_PAIR_BITS };

bool tn_i_rowset_init(tn_i_rowset *s, tn_ctx *c, int64_t columns, int64_t elements, int64_t limit) {
    *s = (tn_i_rowset){.ctx = c, .columns = columns, .limit = limit};
    /* what a stencil takes, or a row for two elements: what is not grown later is not copied then */
    const int64_t most = elements / 2 > 8 * columns ? elements / 2 : 8 * columns;
    const size_t some = (size_t)(most < LIKELY ? most : LIKELY) + 1;
    return tn_i_grow(c, (void **)(void *)&s->row, &s->crow, some, sizeof *s->row) &&
           tn_i_grow(c, (void **)(void *)&s->col, &s->ccol, 2 * some, sizeof *s->col) &&
           tn_i_grow(c, (void **)(void *)&s->value, &s->cvalue, 2 * some, sizeof *s->value) &&
           (s->pair = tn_i_alloc_array(c, PAIRS, sizeof *s->pair)) != NULL && tn_i_row_push(s, 0, false) == 0;
}

void tn_i_rowset_free(tn_i_rowset *s) {
    tn_ctx *c = s->ctx;
    const size_t n = (size_t)s->columns;
    if (s->row) tn_i_free(c, s->row, s->crow * sizeof *s->row);
    if (s->col) tn_i_free(c, s->col, s->ccol * sizeof *s->col);
    if (s->value) tn_i_free(c, s->value, s->cvalue * sizeof *s->value);
    if (s->pair) tn_i_free(c, s->pair, PAIRS * sizeof *s->pair);
    if (s->seen) tn_i_free(c, s->seen, n * sizeof *s->seen);
    if (s->sum) tn_i_free(c, s->sum, n * sizeof *s->sum);
    if (s->list) tn_i_free(c, s->list, n * sizeof *s->list);
}

static inline bool col_room(tn_i_rowset *s, size_t n) {
    if (s->ncol - s->mark > (size_t)s->limit) {
        s->full = true;
        return false;
    }
    return s->ncol + n <= s->ccol || tn_i_grow(s->ctx, (void **)(void *)&s->col, &s->ccol, s->ncol + n, sizeof *s->col);
}

bool tn_i_row_room(tn_i_rowset *s, int64_t n, bool values) {
    const size_t more = (size_t)n;
    return col_room(s, more) &&
           (!values || s->nvalue + more <= s->cvalue ||
            tn_i_grow(s->ctx, (void **)(void *)&s->value, &s->cvalue, s->nvalue + more, sizeof *s->value));
}

static bool row_room(tn_i_rowset *s) {
    s->full = s->nrow >= INT32_MAX - 1;
    return !s->full && tn_i_grow(s->ctx, (void **)(void *)&s->row, &s->crow, s->nrow + 1, sizeof *s->row);
}

static inline int32_t new_row(tn_i_rowset *s, tn_i_set_row r) {
    if ((s->nrow == s->crow || s->nrow >= INT32_MAX - 1) && !row_room(s)) return -1;
    s->row[s->nrow] = r;
    return (int32_t)s->nrow++;
}

static inline int32_t push(tn_i_rowset *s, int64_t n, bool values) {
    const int64_t at = (int64_t)s->ncol, value = values ? (int64_t)s->nvalue : -1;
    const int32_t r = new_row(s, (tn_i_set_row){.at = at, .value = value, .n = (int32_t)n});
    if (r < 0) return r;
    s->ncol += (size_t)n;
    if (values) s->nvalue += (size_t)n;
    return r;
}

int32_t tn_i_row_push(tn_i_rowset *s, int64_t n, bool values) { return push(s, n, values); }

int32_t tn_i_row_valued(tn_i_rowset *s, int32_t r) {
    tn_i_set_row same = s->row[r];
    same.value = (int64_t)s->nvalue;
    const int32_t id = new_row(s, same);
    if (id >= 0) s->nvalue += (size_t)same.n;
    return id;
}

int32_t tn_i_row_unit(tn_i_rowset *s, int64_t column) {
    if (!tn_i_row_room(s, 1, true)) return -1;
    s->col[s->ncol] = (int32_t)column;
    s->value[s->nvalue] = 1.0;
    return tn_i_row_push(s, 1, true);
}

static inline int32_t varying(tn_i_rowset *s, int32_t r) {
    if (s->row[r].value < 0) return r;
    if (s->row[r].varying) return s->row[r].varying;
    tn_i_set_row same = s->row[r];
    same.value = -1;
    const int32_t id = new_row(s, same);
    if (id >= 0) s->row[r].varying = id;
    return id;
}

int32_t tn_i_row_varying(tn_i_rowset *s, int32_t r) { return varying(s, r); }

bool tn_i_row_varying_all(tn_i_rowset *s, int64_t n, const int32_t *r, int64_t step, int32_t *to) {
    for (int64_t i = 0; i < n; i++)
        if ((to[i] = varying(s, r[i * step])) < 0) return false;
    return true;
}

void tn_i_row_pairs_forget(tn_i_rowset *s) {
    memset(s->pair, 0, PAIRS * sizeof *s->pair);
    s->equation = TN_I_UNION;
}

uint32_t tn_i_row_equation(tn_i_rowset *s) {
    if (s->equation < TN_I_UNION || s->equation == UINT32_MAX) tn_i_row_pairs_forget(s);
    return ++s->equation;
}

/* Two ascending lists, each number once; how many. */
static inline int32_t merge(int32_t n, const int32_t *x, int32_t m, const int32_t *y, int32_t *to) {
    const int32_t *const xend = x + n, *const yend = y + m, *const begin = to;
    while (x < xend && y < yend) {
        const int32_t u = *x, v = *y;
        *to++ = u < v ? u : v;
        x += u <= v;
        y += v <= u;
    }
    while (x < xend) *to++ = *x++;
    while (y < yend) *to++ = *y++;
    return (int32_t)(to - begin);
}

static inline int32_t united(tn_i_rowset *s, int32_t a, int32_t b) {
    const tn_i_set_row *const x = &s->row[a], *const y = &s->row[b];
    const int32_t n = x->n, m = y->n;
    if (a == b || m == 0) return varying(s, a);
    if (n == 0) return varying(s, b);
    tn_i_row_pair *const p = tn_i_row_pair_of(s, a, b);
    if (tn_i_row_pair_is(p, a, b, TN_I_UNION)) return p->row;
    if (!col_room(s, (size_t)n + (size_t)m)) return -1;
    const int32_t k = merge(n, s->col + x->at, m, s->col + y->at, s->col + s->ncol);
    const int32_t row = k == n ? varying(s, a) : k == m ? varying(s, b) : push(s, k, false);
    if (row >= 0) *p = (tn_i_row_pair){.a = a, .b = b, .row = row, .of = TN_I_UNION};
    return row;
}

int32_t tn_i_row_union(tn_i_rowset *s, int32_t a, int32_t b) { return united(s, a, b); }

bool tn_i_row_union_all(tn_i_rowset *s, int64_t n, const int32_t *a, int64_t astep, const int32_t *b, int64_t bstep,
                        int32_t *to) {
    int32_t x = -1, y = -1, row = -1;
    for (int64_t i = 0; i < n; i++) {
        if (a[i * astep] != x || b[i * bstep] != y)
            if ((row = united(s, x = a[i * astep], y = b[i * bstep])) < 0) return false;
        to[i] = row;
    }
    return true;
}

/* ---- sums ----------------------------------------------------------------------------------- */

bool tn_i_row_sum_begin(tn_i_row_sum *k, tn_i_rowset *s, bool exact, bool narrow) {
    *k = (tn_i_row_sum){.s = s, .exact = exact, .narrow = narrow};
    const size_t n = (size_t)s->columns;
    if (!s->seen) s->seen = tn_i_alloc_array(s->ctx, n, sizeof *s->seen);
    if (!s->sum) s->sum = tn_i_alloc_array(s->ctx, n, sizeof *s->sum);
    if (!s->list) s->list = tn_i_alloc_array(s->ctx, n, sizeof *s->list);
    if (!s->seen || !s->sum || !s->list) return false;
    if (++s->stamp == 0) {
        memset(s->seen, 0, n * sizeof *s->seen);
        s->stamp = 1;
    }
    return true;
}

static double rounded(const tn_i_row_sum *k, double x) { return k->narrow ? (double)(float)x : x; }

void tn_i_row_sum_add(tn_i_row_sum *k, int32_t r, double factor) {
    tn_i_rowset *s = k->s;
    const tn_i_set_row row = s->row[r];
    if (!row.n) return;
    if (!k->exact && k->n && r == k->first) return;
    const double *value = k->exact && row.value >= 0 ? s->value + row.value : NULL;
    const int32_t *col = s->col + row.at;
    k->several |= k->n > 0 || factor != 1.0;
    if (k->n == 0) k->first = r;
    for (int32_t i = 0; i < row.n; i++) {
        const int32_t c = col[i];
        const double x = value ? rounded(k, value[i] * factor) : (double)NAN;
        if (s->seen[c] != s->stamp) {
            s->seen[c] = s->stamp;
            s->list[k->n++] = c;
            s->sum[c] = x;
        } else if (k->exact)
            s->sum[c] = rounded(k, s->sum[c] + x);
    }
}

static int ascending(const void *x, const void *y) {
    const int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* The columns seen, in order: of many it is faster to look at all. */
static void listed(const tn_i_row_sum *k, int32_t *to) {
    tn_i_rowset *s = k->s;
    if (k->n < s->columns / 32) {
        memcpy(to, s->list, (size_t)k->n * sizeof *to);
        bool sorted = true;
        for (int32_t i = 1; i < k->n && sorted; i++) sorted = to[i - 1] < to[i];
        if (!sorted) qsort(to, (size_t)k->n, sizeof *to, ascending);
        return;
    }
    int32_t n = 0;
    for (int64_t c = 0; c < s->columns; c++)
        if (s->seen[c] == s->stamp) to[n++] = (int32_t)c;
}

int32_t tn_i_row_sum_end(tn_i_row_sum *k) {
    tn_i_rowset *s = k->s;
    if (k->n == 0) return 0;
    if (!k->exact && s->row[k->first].n == k->n) return tn_i_row_varying(s, k->first);
    if (k->exact && !k->several) return k->first;
    if (!tn_i_row_room(s, k->n, k->exact)) return -1;
    int32_t *to = s->col + s->ncol;
    listed(k, to);
    bool some = false;
    for (int32_t i = 0; i < k->n && k->exact; i++) {
        s->value[s->nvalue + (size_t)i] = s->sum[to[i]];
        some |= !isnan(s->sum[to[i]]);
    }
    return tn_i_row_push(s, k->n, some);
}
