/* Patterns that tests of sparse derivatives share, made as the design states them, and checkers of colourings that
 * know their definitions alone. */
#ifndef TN_SPARSE_PATTERNS_H
#define TN_SPARSE_PATTERNS_H

#include "tansy/sparse.h"

#include <stdlib.h>
#include <string.h>

/* ---- entries, in any order, some of them more than once --------------------------------------- */

typedef struct entries {
    int64_t rows, columns, n, room;
    int64_t (*at)[2];
} entries;

static inline void entry(entries *e, int64_t i, int64_t j) {
    if (e->n == e->room) {
        e->room = e->room ? 2 * e->room : 64;
        e->at = realloc(e->at, (size_t)e->room * sizeof *e->at);
        assert_non_null(e->at);
    }
    e->at[e->n][0] = i;
    e->at[e->n++][1] = j;
}

static inline void both(entries *e, int64_t i, int64_t j) {
    entry(e, i, j);
    entry(e, j, i);
}

static inline int by_place(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] != y[1] ? (x[1] < y[1] ? -1 : 1) : 0;
}

/* The pattern of the entries, which are freed. */
static inline tn_sparsity *pattern(tn_ctx *c, entries *e) {
    int64_t *row = malloc(((size_t)e->n + 1) * sizeof *row), *col = malloc(((size_t)e->n + 1) * sizeof *col), n = 0;
    assert_non_null(row);
    assert_non_null(col);
    if (e->n) qsort(e->at, (size_t)e->n, sizeof *e->at, by_place);
    for (int64_t k = 0; k < e->n; k++)
        if (!k || by_place(e->at[k], e->at[k - 1])) row[n] = e->at[k][0], col[n++] = e->at[k][1];
    tn_sparsity *s = tn_sparsity_coo(c, e->rows, e->columns, n, row, col);
    if (!s) fail_msg("%s", tn_error(c));
    free(row), free(col), free(e->at);
    return s;
}

static inline tn_sparsity_arrays arrays(const tn_sparsity *s, tn_sparse_format format) {
    tn_sparsity_arrays a = {.size = sizeof a};
    assert_int_equal(tn_sparsity_view(s, format, TN_FULL, &a), TN_OK);
    return a;
}

/* ---- matrices ---------------------------------------------------------------------------------------- */

static inline tn_sparsity *banded(tn_ctx *c, int64_t n, int64_t half) {
    entries e = {n, n, 0, 0, NULL};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i - half; j <= i + half; j++)
            if (j >= 0 && j < n) entry(&e, i, j);
    return pattern(c, &e);
}

/* The diagonal, one row (or -1) and one column (or -1). */
static inline tn_sparsity *cross(tn_ctx *c, int64_t n, int64_t row, int64_t column) {
    entries e = {n, n, 0, 0, NULL};
    for (int64_t i = 0; i < n; i++) {
        entry(&e, i, i);
        if (row >= 0) entry(&e, row, i);
        if (column >= 0) entry(&e, i, column);
    }
    return pattern(c, &e);
}

/* Neighbours on a grid of n0 x n1 x n2: one step along one axis, or, with `corners`, along any. */
static inline tn_sparsity *stencil(tn_ctx *c, int64_t n0, int64_t n1, int64_t n2, bool corners) {
    entries e = {n0 * n1 * n2, n0 * n1 * n2, 0, 0, NULL};
    for (int64_t at = 0; at < e.rows; at++)
        for (int d = 0; d < 27; d++) {
            const int step[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
            const int64_t i = at / n2 / n1 + step[0], j = at / n2 % n1 + step[1], k = at % n2 + step[2];
            if (!corners && abs(step[0]) + abs(step[1]) + abs(step[2]) > 1) continue;
            if (i < 0 || i >= n0 || j < 0 || j >= n1 || k < 0 || k >= n2) continue;
            entry(&e, at, (i * n1 + j) * n2 + k);
        }
    return pattern(c, &e);
}

static inline tn_sparsity *blocks(tn_ctx *c, int64_t n, int64_t size) {
    entries e = {n * size, n * size, 0, 0, NULL};
    for (int64_t i = 0; i < e.rows; i++)
        for (int64_t j = 0; j < size; j++) entry(&e, i, i / size * size + j);
    return pattern(c, &e);
}

/* Multiple shooting of n intervals: rows a of a block have the columns of bit b of have[a]; with `shift` the next
 * state, and the two ends. */
static inline tn_sparsity *shooting(tn_ctx *c, int64_t n, const int have[4], bool shift) {
    entries e = {(shift ? n + 2 : n) * 4, n * 5 + 4, 0, 0, NULL};
    for (int64_t i = 0; i < n; i++)
        for (int a = 0; a < 4; a++) {
            for (int b = 0; b < 5; b++)
                if (have[a] >> b & 1) entry(&e, i * 4 + a, i * 5 + b);
            if (shift) entry(&e, i * 4 + a, (i + 1) * 5 + a);
        }
    for (int a = 0; shift && a < 4; a++) {
        entry(&e, n * 4 + a, a);
        entry(&e, (n + 1) * 4 + a, n * 5 + a);
    }
    return pattern(c, &e);
}

static inline tn_sparsity *shooting_hessian(tn_ctx *c, int64_t n) {
    static const int in[] = {1, 3, 4};
    entries e = {n * 5 + 4, n * 5 + 4, 0, 0, NULL};
    for (int64_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) entry(&e, i * 5 + in[a], i * 5 + in[b]);
    return pattern(c, &e);
}

/* Four observations a point, two rows each: 9 columns of a camera, 3 of the point. */
static inline tn_sparsity *bundle(tn_ctx *c, int64_t cameras, int64_t points) {
    entries e = {8 * points, 9 * cameras + 3 * points, 0, 0, NULL};
    for (int64_t k = 0; k < 4 * points; k++) {
        const int64_t p = k / 4, camera = (7 * p + 3 * (k % 4)) % cameras;
        for (int r = 0; r < 2; r++) {
            for (int j = 0; j < 9; j++) entry(&e, 2 * k + r, 9 * camera + j);
            for (int j = 0; j < 3; j++) entry(&e, 2 * k + r, 9 * cameras + 3 * p + j);
        }
    }
    return pattern(c, &e);
}

/* Of J'J. */
static inline tn_sparsity *product(tn_ctx *c, tn_sparsity *j) {
    const tn_sparsity_arrays a = arrays(j, TN_CSR);
    entries e = {a.columns, a.columns, 0, 0, NULL};
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t k = a.ptr[i]; k < a.ptr[i + 1]; k++)
            for (int64_t l = a.ptr[i]; l < a.ptr[i + 1]; l++) entry(&e, a.ind[k], a.ind[l]);
    tn_sparsity_free(j);
    return pattern(c, &e);
}

/* COPS' hanging chain by the trapezoidal rule: x, energy, length, slope. */
static inline tn_sparsity *chain(tn_ctx *c, int64_t n, bool hessian) {
    const int64_t q = n + 1;
    entries e = {hessian ? 4 * q : 3 * n, 4 * q, 0, 0, NULL};
    for (int64_t j = 0; j < q && hessian; j++) {
        both(&e, j, 3 * q + j);
        entry(&e, 3 * q + j, 3 * q + j);
    }
    for (int64_t j = 0; j < n && !hessian; j++)
        for (int64_t d = j; d < j + 2; d++) {
            entry(&e, 3 * j, d);
            entry(&e, 3 * j, 3 * q + d);
            entry(&e, 3 * j + 1, q + d);
            entry(&e, 3 * j + 1, d);
            entry(&e, 3 * j + 1, 3 * q + d);
            entry(&e, 3 * j + 2, 2 * q + d);
            entry(&e, 3 * j + 2, 3 * q + d);
        }
    return pattern(c, &e);
}

/* ---- random ones ------------------------------------------------------------------------------------------ */

static inline int64_t draw(uint64_t *s, int64_t n) {
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(*s >> 33) % n;
}

static inline tn_sparsity *scattered(tn_ctx *c, uint64_t *s, int64_t rows, int64_t columns, int64_t draws) {
    entries e = {rows, columns, 0, 0, NULL};
    for (int64_t k = 0; k < draws; k++) {
        const int64_t i = draw(s, rows);
        entry(&e, i, draw(s, columns));
    }
    return pattern(c, &e);
}

static inline tn_sparsity *scattered_symmetric(tn_ctx *c, uint64_t *s, int64_t n, int64_t draws, bool diagonal) {
    entries e = {n, n, 0, 0, NULL};
    for (int64_t i = 0; diagonal && i < n; i++) entry(&e, i, i);
    for (int64_t k = 0; k < draws; k++) {
        const int64_t i = draw(s, n);
        both(&e, i, draw(s, n));
    }
    return pattern(c, &e);
}

/* ---- what colourings are ------------------------------------------------------------------------------------ */

/* Columns of one colour share no row; with CSC arrays, rows no column.  Lines without entries have none. */
static inline bool is_proper(const tn_sparsity_arrays *a, int64_t lines, const int32_t *color, int64_t colors) {
    int64_t *last = calloc((size_t)colors + 1, sizeof *last);
    bool ok = last != NULL;
    for (int64_t i = 0; ok && i < lines; i++)
        for (int64_t k = a->ptr[i]; ok && k < a->ptr[i + 1]; k++) {
            const int32_t c = color[a->ind[k]];
            ok = c >= 0 && c < colors && last[c] != i + 1;
            if (ok) last[c] = i + 1;
        }
    free(last);
    return ok;
}

static inline bool is_adjacent(const tn_sparsity_arrays *a, const int32_t *color, int64_t i, int64_t but, int32_t c) {
    for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++)
        if (a->ind[k] != i && a->ind[k] != but && color[a->ind[k]] == c) return true;
    return false;
}

/* Neighbours differ, and no path of four vertices has two colours. */
static inline bool is_star(const tn_sparsity_arrays *a, const int32_t *color) {
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
            const int64_t j = a->ind[k];
            if (color[i] < 0) return false;
            if (i == j) continue;
            if (color[i] == color[j]) return false;
            if (is_adjacent(a, color, i, j, color[j]) && is_adjacent(a, color, j, i, color[i])) return false;
        }
    return true;
}

static inline int64_t top(int64_t *up, int64_t v) {
    while (up[v] != v) v = up[v] = up[up[v]];
    return v;
}

/* Neighbours differ, and the edges between any two colours have no cycle. */
static inline bool is_acyclic(const tn_sparsity_arrays *a, const int32_t *color, int64_t colors) {
    int64_t *up = malloc(((size_t)a->rows + 1) * sizeof *up);
    bool ok = up != NULL;
    for (int64_t p = 0; ok && p < colors; p++)
        for (int64_t q = p + 1; ok && q < colors; q++) {
            for (int64_t v = 0; v < a->rows; v++) up[v] = v;
            for (int64_t i = 0; ok && i < a->rows; i++)
                for (int64_t k = a->ptr[i]; ok && color[i] == p && k < a->ptr[i + 1]; k++) {
                    if (color[a->ind[k]] != q) continue;
                    const int64_t x = top(up, i), y = top(up, a->ind[k]);
                    ok = x != y;
                    up[x] = y;
                }
        }
    for (int64_t i = 0; ok && i < a->rows; i++)
        for (int64_t k = a->ptr[i]; ok && k < a->ptr[i + 1]; k++)
            ok = color[i] >= 0 && color[i] < colors && (a->ind[k] == i || color[i] != color[a->ind[k]]);
    free(up);
    return ok;
}

#endif
