/* Some entries by columns, the rest by rows: the rows of more than t entries are given colours as rows, and what the
 * others hold is coloured by columns; or the same of columns.  Which t, and which way, is found by trying those that
 * may cost least: no row of k entries takes less than k colours of columns. */
#include "sparse/coloring.h"

#include <math.h>
#include <string.h>

enum { TRIES = 8 };

/* One way: the long ones are rows (by_rows), or columns. */
typedef struct split {
    const tn_sparsity *s;
    bool by_rows;
    double short_cost, long_cost; /* of a colour of either half */
    int64_t outer, inner;         /* rows and columns, or columns and rows */
    const int64_t *optr, *oind, *iptr, *iind;
    double *bound; /* by t: what no such colouring is below; INFINITY where no outer has t entries, or it was tried */
    int64_t longest;
} split;

static int64_t length(const split *p, int64_t o) { return p->optr[o + 1] - p->optr[o]; }

/* ---- bounds ------------------------------------------------------------------------------------------- */

/* The most entries of an inner that are in outers of more than t, for all t, by taking outers in, the longest first. */
static bool find_bounds(tn_i_arena *a, split *p) {
    for (int64_t o = 0; o < p->outer; o++)
        if (length(p, o) > p->longest) p->longest = length(p, o);
    const size_t lengths = (size_t)p->longest + 2;
    int64_t *start = tn_i_arena_alloc(a, (lengths + 1) * sizeof *start), most = 0;
    int64_t *sorted = tn_i_arena_alloc(a, ((size_t)p->outer + 1) * sizeof *sorted);
    int64_t *count = tn_i_arena_alloc(a, ((size_t)p->inner + 1) * sizeof *count);
    p->bound = tn_i_arena_alloc(a, lengths * sizeof *p->bound);
    if (!start || !sorted || !count || !p->bound) return false;
    for (int64_t o = 0; o < p->outer; o++) start[length(p, o) + 1]++;
    for (int64_t t = 0; t <= p->longest; t++) start[t + 1] += start[t];
    for (int64_t o = 0; o < p->outer; o++) sorted[start[length(p, o)]++] = o; /* start[t] is now the end of t */
    for (int64_t t = p->longest; t >= 0; t--) {
        const int64_t begin = t ? start[t - 1] : 0;
        const bool some = start[t] > begin || !t;
        p->bound[t] = some ? (double)t * p->short_cost + (double)most * p->long_cost : (double)INFINITY;
        for (int64_t i = begin; i < start[t]; i++)
            for (int64_t k = p->optr[sorted[i]]; k < p->optr[sorted[i] + 1]; k++)
                if (++count[p->oind[k]] > most) most = count[p->oind[k]];
    }
    return true;
}

/* ---- one try ------------------------------------------------------------------------------------------ */

static bool chosen(const split *p, int64_t o, int64_t t, bool longer) { return (length(p, o) > t) == longer; }

/* The entries of the outers that are longer than t, or of those that are not: by outer and by inner. */
static bool part(tn_i_arena *a, const split *p, int64_t t, bool longer, int64_t *own[4]) {
    const size_t size[4] = {(size_t)p->outer + 1, (size_t)p->s->nnz + 1, (size_t)p->inner + 1, (size_t)p->s->nnz + 1};
    for (int i = 0; i < 4; i++)
        if (!(own[i] = tn_i_arena_alloc(a, size[i] * sizeof(int64_t)))) return false;
    int64_t n = 0;
    for (int64_t o = 0; o < p->outer; o++) {
        for (int64_t k = p->optr[o]; k < p->optr[o + 1] && chosen(p, o, t, longer); k++) own[1][n++] = p->oind[k];
        own[0][o + 1] = n;
    }
    n = 0;
    for (int64_t i = 0; i < p->inner; i++) {
        for (int64_t k = p->iptr[i]; k < p->iptr[i + 1]; k++)
            if (chosen(p, p->iind[k], t, longer)) own[3][n++] = p->iind[k];
        own[2][i + 1] = n;
    }
    return true;
}

/* Colours of the inners for entries of short outers, or of the long outers; -1: an error. */
static int64_t color_part(const split *p, int64_t t, bool longer, tn_color_order order, int32_t *color) {
    tn_i_arena a;
    int64_t *own[4], colors = -1;
    tn_i_arena_init(&a, p->s->ctx);
    if (part(&a, p, t, longer, own)) {
        const tn_i_incidence by_outer = {p->outer, p->inner, own[0], own[1], own[2], own[3]};
        const tn_i_incidence by_inner = {p->inner, p->outer, own[2], own[3], own[0], own[1]};
        tn_i_lines lines = {.ctx = p->s->ctx, .of = longer ? by_outer : by_inner};
        colors = tn_i_color_lines(&lines, order, color);
        tn_i_lines_end(&lines);
    }
    tn_i_arena_free(&a);
    return colors;
}

static void keep(const split *p, tn_color_order order, int64_t shorter, int64_t longer, tn_i_colors *mine,
                 tn_i_colors *out) {
    mine->partition = TN_COLOR_BIDIRECTIONAL;
    mine->order = order;
    mine->by_rows = p->by_rows;
    mine->forward = p->by_rows ? shorter : longer;
    mine->reverse = p->by_rows ? longer : shorter;
    mine->cost = (double)shorter * p->short_cost + (double)longer * p->long_cost;
    const tn_i_colors old = *out;
    *out = *mine;
    *mine = old;
}

/* Colours with one t; *mine has room for them, and gets the arrays of what was better in *out. */
static bool attempt(const split *p, int64_t t, tn_color_order order, tn_i_colors *mine, tn_i_colors *out) {
    int32_t *of_inner = p->by_rows ? mine->column : mine->row, *of_outer = p->by_rows ? mine->row : mine->column;
    const int64_t longer = color_part(p, t, true, order, of_outer);
    if (longer < 0) return false;
    if ((double)longer * p->long_cost + (double)t * p->short_cost >= out->cost) return true;
    const int64_t shorter = color_part(p, t, false, order, of_inner);
    if (shorter < 0) return false;
    if ((double)shorter * p->short_cost + (double)longer * p->long_cost < out->cost)
        keep(p, order, shorter, longer, mine, out);
    return true;
}

/* ---- both ways ---------------------------------------------------------------------------------------- */

/* The t of the least bound, of both ways, of equals that with more columns; NULL where none is below `cost`. */
static split *least(split p[2], double cost, int64_t *at) {
    split *found = NULL;
    for (int i = 0; i < 2; i++)
        for (int64_t t = p[i].longest; t >= 0; t--)
            if (p[i].bound[t] < cost) cost = p[i].bound[t], found = &p[i], *at = t;
    return found;
}

static bool room(const tn_sparsity *s, tn_i_colors *k) {
    if (!k->column) k->column = tn_i_alloc_array(s->ctx, (size_t)s->columns, sizeof *k->column);
    if (!k->row) k->row = tn_i_alloc_array(s->ctx, (size_t)s->rows, sizeof *k->row);
    return k->column && k->row;
}

/* Tries the least bounds by the first order; what was found, by the others. */
static bool search(const tn_sparsity *s, split p[2], const tn_color_order *order, size_t orders, tn_i_colors *out) {
    tn_i_colors mine = {0};
    const split *found = NULL;
    int64_t t, at = 0;
    bool ok = true;
    for (int i = 0; ok && i < TRIES; i++) {
        const double before = out->cost;
        split *next = least(p, before, &t);
        if (!next) break;
        ok = room(s, &mine) && attempt(next, t, order[0], &mine, out);
        next->bound[t] = (double)INFINITY;
        if (out->cost < before) found = next, at = t;
    }
    for (size_t i = 1; ok && found && i < orders; i++) ok = room(s, &mine) && attempt(found, at, order[i], &mine, out);
    tn_i_colors_free(s, &mine);
    return ok;
}

bool tn_i_color_both(const tn_sparsity *s, const tn_color_order *order, size_t orders, double reverse_cost, bool mixed,
                     tn_i_colors *out) {
    tn_i_by_column by;
    tn_i_arena a;
    if (!tn_i_sparsity_columns(s, &by)) return false;
    split p[2] = {{s, true, 1, reverse_cost, s->rows, s->columns, s->ptr, s->ind, by.ptr, by.row, NULL, 0},
                  {s, false, reverse_cost, 1, s->columns, s->rows, by.ptr, by.row, s->ptr, s->ind, NULL, 0}};
    tn_i_arena_init(&a, s->ctx);
    bool ok = find_bounds(&a, &p[0]) && find_bounds(&a, &p[1]);
    for (int i = 0; ok && i < 2; i++)
        if (mixed || i)
            p[i].bound[0] = p[i].bound[p[i].longest] = (double)INFINITY; /* all by one way: once, or never */
    ok = ok && search(s, p, order, orders, out);
    tn_i_arena_free(&a);
    return ok;
}
