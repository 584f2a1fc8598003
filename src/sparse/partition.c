/* tn_color: which partition and which order, by what they cost. */
#include "sparse/coloring.h"

#include <math.h>

static const char WHO[] = "tn_color";
static const tn_color_order BEST[] = {TN_ORDER_NATURAL, TN_ORDER_LATTICE, TN_ORDER_LARGEST_FIRST,
                                      TN_ORDER_SMALLEST_LAST};

static const double LONG = 64; /* entries */

typedef struct request {
    tn_ctx *ctx;
    const tn_sparsity *s;
    tn_coloring_options o;
    bool symmetric; /* the derivative is, and so is the pattern; o.grid says what the columns are elements of */
} request;

void tn_i_colors_free(const tn_sparsity *s, tn_i_colors *k) {
    if (k->column) tn_i_free(s->ctx, k->column, (size_t)s->columns * sizeof *k->column);
    if (k->row) tn_i_free(s->ctx, k->row, (size_t)s->rows * sizeof *k->row);
    k->column = k->row = NULL;
}

/* ---- what was asked for ------------------------------------------------------------------------------- */

/* Rank 1 to 3 after axes of one element were left out, in the last places. */
static bool grid_of(request *q, int rank, const int64_t *dim) {
    int64_t n = 1;
    int last = 3;
    q->o.grid[0] = q->o.grid[1] = q->o.grid[2] = 1;
    for (int i = rank; i-- > 0;) {
        if (dim[i] < 1 || !tn_i_mul_i64(n, dim[i], &n)) return false;
        if (dim[i] == 1) continue;
        if (last == 0) return false;
        q->o.grid[--last] = dim[i];
    }
    return n == q->s->columns;
}

static bool find_grid(request *q, const tn_coloring_options *o) {
    if (!o->rank) {
        if (q->s->ntypes != 1 || !grid_of(q, q->s->types[0].rank, q->s->types[0].dim))
            (void)grid_of(q, 1, &q->s->columns); /* the vector of all columns */
        return true;
    }
    int64_t given[3];
    for (int i = 0; i < 3; i++) given[i] = o->grid[i];
    const bool ok = o->rank > 0 && o->rank <= 3 && grid_of(q, o->rank, given);
    if (!ok)
        (void)tn_i_fail(q->ctx, TN_EINVAL, NULL, "%s: a grid of rank %d, %lld x %lld x %lld, of %lld columns", WHO,
                        o->rank, (long long)given[0], (long long)(o->rank > 1 ? given[1] : 1),
                        (long long)(o->rank > 2 ? given[2] : 1), (long long)q->s->columns);
    return ok;
}

static bool has(const tn_sparsity *s, int64_t i, int64_t j) {
    int64_t low = s->ptr[i], high = s->ptr[i + 1];
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (s->ind[mid] < j)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->ptr[i + 1] && s->ind[low] == j;
}

static bool is_symmetric(const request *q) {
    const tn_sparsity *s = q->s;
    bool yes;
    if (!tn_i_sparsity_is_symmetric(s, &yes)) return false;
    if (yes) return true;
    const char *what = q->o.partition == TN_COLOR_STAR ? "star" : "acyclic";
    if (s->rows != s->columns)
        (void)tn_i_fail(q->ctx, TN_EINVAL, NULL, "%s: a %s colouring of a pattern of %lld x %lld", WHO, what,
                        (long long)s->rows, (long long)s->columns);
    for (int64_t i = 0; s->rows == s->columns && i < s->rows; i++)
        for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++)
            if (!has(s, s->ind[k], i)) {
                (void)tn_i_fail(q->ctx, TN_EINVAL, NULL,
                                "%s: a %s colouring of a pattern that is not symmetric: (%lld, %lld) is in it, (%lld, "
                                "%lld) is not",
                                WHO, what, (long long)i, (long long)s->ind[k], (long long)s->ind[k], (long long)i);
                return false;
            }
    return false;
}

static bool is_valid(request *q, const tn_coloring_options *given) {
    const tn_coloring_options *o = &q->o;
    const tn_sparsity *s = q->s;
    if ((unsigned)o->partition > TN_COLOR_ACYCLIC || (unsigned)o->order > TN_ORDER_LATTICE || !(o->reverse_cost >= 0) ||
        isinf(o->reverse_cost)) {
        (void)tn_i_fail(q->ctx, TN_EINVAL, NULL, "%s: partition %d, order %d, reverse_cost %g", WHO, (int)o->partition,
                        (int)o->order, o->reverse_cost);
        return false;
    }
    if (s->rows >= INT32_MAX || s->columns >= INT32_MAX) {
        (void)tn_i_fail(q->ctx, TN_ELIMIT, NULL, "%s: a pattern of %lld x %lld: colours are 32-bit numbers", WHO,
                        (long long)s->rows, (long long)s->columns);
        return false;
    }
    if (!(o->reverse_cost > 0)) q->o.reverse_cost = 1;
    if (!find_grid(q, given)) return false;
    const bool graph = o->partition == TN_COLOR_STAR || o->partition == TN_COLOR_ACYCLIC;
    if (graph && !is_symmetric(q)) return false;
    if (o->order != TN_ORDER_LATTICE) return true;
    const bool can = o->partition == TN_COLOR_AUTO || o->partition == TN_COLOR_COLUMN || o->partition == TN_COLOR_STAR;
    if (!can)
        (void)tn_i_fail(q->ctx, TN_EINVAL, NULL, "%s: lattice colourings are of columns, or star colourings", WHO);
    return can;
}

/* ---- one partition ------------------------------------------------------------------------------------ */

/* One order: how many colours, 0 where a lattice has not fewer than `below`, -1 after an error. */
static int64_t by_order(const request *q, tn_partition p, tn_i_lines *lines, tn_color_order order, int64_t below,
                        int32_t *color) {
    if (order == TN_ORDER_LATTICE) {
        const bool can = p == TN_COLOR_COLUMN || p == TN_COLOR_STAR;
        return can ? tn_i_color_lattice(q->s, p == TN_COLOR_STAR, q->o.grid, below, color) : 0;
    }
    if (p == TN_COLOR_STAR) return tn_i_color_star(q->ctx, q->s, order, color);
    if (p == TN_COLOR_ACYCLIC) return tn_i_color_acyclic(q->ctx, q->s, order, color);
    return tn_i_color_lines(lines, order, color);
}

/* What no colouring of the partition is below. */
static bool bound_of(const request *q, tn_partition p, int64_t *bound) {
    tn_i_incidence g;
    *bound = 1;
    if (p != TN_COLOR_COLUMN && p != TN_COLOR_ROW) return true;
    if (!tn_i_incidence_of(q->s, p == TN_COLOR_ROW, &g)) return false;
    *bound = tn_i_longest_line(&g);
    return true;
}

static void swap(int32_t **a, int32_t **b) {
    int32_t *const c = *a;
    *a = *b, *b = c;
}

/* The order that was asked for, or the best: *colors is 0 where none gives any. */
static bool first_best(const request *q, tn_partition p, tn_i_lines *lines, int32_t **color, int32_t **other,
                       tn_color_order *order, int64_t *colors) {
    const bool all = q->o.order == TN_ORDER_BEST;
    int64_t bound;
    *colors = 0;
    if (!bound_of(q, p, &bound)) return false;
    if (all) { /* where a formula gives as few as there can be, no order is looked for */
        *colors = by_order(q, p, lines, *order = TN_ORDER_LATTICE, bound + 1, *color);
        if (*colors) return *colors > 0;
    }
    for (size_t i = 0; i < (all ? sizeof BEST / sizeof *BEST : 1); i++) {
        const tn_color_order next = all ? BEST[i] : q->o.order;
        const int64_t n = by_order(q, p, lines, next, *colors ? *colors : INT64_MAX, *other);
        if (n < 0) return false;
        if (n && (!*colors || n < *colors)) {
            swap(color, other);
            *colors = n, *order = next;
        }
        if (*colors == bound) break;
    }
    return true;
}

static bool best_order(const request *q, tn_partition p, int32_t **color, int32_t **other, tn_color_order *order,
                       int64_t *colors) {
    tn_i_lines lines = {.ctx = q->ctx};
    const bool alone = p == TN_COLOR_COLUMN || p == TN_COLOR_ROW;
    if (alone && !tn_i_incidence_of(q->s, p == TN_COLOR_ROW, &lines.of)) return false;
    const bool ok = first_best(q, p, &lines, color, other, order, colors);
    tn_i_lines_end(&lines);
    return ok;
}

/* Of columns or rows alone, kept in *out where it costs less or, with `even`, as much. */
static bool one_way(const request *q, tn_partition p, bool even, tn_i_colors *out) {
    const bool rows = p == TN_COLOR_ROW;
    int64_t bound;
    if (!bound_of(q, p, &bound)) return false;
    if (!even && (double)bound * (rows ? q->o.reverse_cost : 1) >= out->cost) return true;
    const size_t n = (size_t)(rows ? q->s->rows : q->s->columns);
    tn_i_colors mine = {.partition = p};
    int32_t *color = tn_i_alloc_array(q->ctx, n, sizeof *color);
    int32_t *other = color ? tn_i_alloc_array(q->ctx, n, sizeof *color) : NULL;
    int64_t colors = 0;
    const bool ok = other && best_order(q, p, &color, &other, &mine.order, &colors);
    mine.cost = (double)colors * (rows ? q->o.reverse_cost : 1);
    if (ok && colors && (mine.cost < out->cost || (even && mine.cost <= out->cost))) {
        *(rows ? &mine.reverse : &mine.forward) = colors;
        swap(rows ? &mine.row : &mine.column, &color);
        tn_i_colors_free(q->s, out);
        *out = mine;
    }
    if (color) tn_i_free(q->ctx, color, n * sizeof *color);
    if (other) tn_i_free(q->ctx, other, n * sizeof *other);
    return ok;
}

static bool both_ways(const request *q, bool mixed, tn_i_colors *out) {
    static const tn_color_order best[] = {TN_ORDER_NATURAL, TN_ORDER_LARGEST_FIRST, TN_ORDER_SMALLEST_LAST};
    const bool all = q->o.order == TN_ORDER_BEST;
    return tn_i_color_both(q->s, all ? best : &q->o.order, all ? sizeof best / sizeof *best : 1, q->o.reverse_cost,
                           mixed, out);
}

/* ---- the cheapest --------------------------------------------------------------------------------------- */

/* Where there are long rows and long columns, columns or rows alone would take the squares of their lengths: both are
 * looked for first, and kept where they cost less than either can. */
static bool below_both(const request *q, double bound, tn_i_colors *out, bool *found) {
    out->cost = bound;
    if (!both_ways(q, true, out)) return false;
    *found = out->partition == TN_COLOR_BIDIRECTIONAL;
    if (!*found) out->cost = (double)INFINITY;
    return true;
}

/* Columns or rows first, whichever may be cheaper; what cannot be cheaper is not tried: rows of a pattern that is its
 * own transpose take as many colours as its columns.  Of equals columns are taken, then rows. */
static bool cheapest(const request *q, tn_i_colors *out) {
    int64_t columns, rows;
    bool same;
    if (q->symmetric && !one_way(q, TN_COLOR_STAR, false, out)) return false;
    if (q->symmetric || q->o.order == TN_ORDER_LATTICE) return one_way(q, TN_COLOR_COLUMN, false, out);
    if (!bound_of(q, TN_COLOR_COLUMN, &columns) || !bound_of(q, TN_COLOR_ROW, &rows) ||
        !tn_i_sparsity_is_symmetric(q->s, &same))
        return false;
    const double forward = (double)columns, reverse = (double)rows * q->o.reverse_cost;
    bool found = false;
    if (forward > LONG && reverse > LONG && !below_both(q, forward < reverse ? forward : reverse, out, &found))
        return false;
    if (found) return true;
    const bool first = forward <= reverse, rows_may = !same || !first;
    if (first && !one_way(q, TN_COLOR_COLUMN, false, out)) return false;
    if (rows_may && reverse < out->cost && !one_way(q, TN_COLOR_ROW, false, out)) return false;
    if (!first && forward <= out->cost && !one_way(q, TN_COLOR_COLUMN, true, out)) return false;
    return both_ways(q, true, out);
}

static bool find(const request *q, tn_i_colors *out) {
    switch (q->o.partition) {
    case TN_COLOR_AUTO: return cheapest(q, out);
    case TN_COLOR_BIDIRECTIONAL: return both_ways(q, false, out);
    case TN_COLOR_COLUMN:
    case TN_COLOR_ROW:
    case TN_COLOR_STAR:
    case TN_COLOR_ACYCLIC: break;
    }
    return one_way(q, q->o.partition, false, out);
}

/* A pattern without entries has no colours. */
static tn_i_colors none(const request *q) {
    const tn_partition p = q->o.partition != TN_COLOR_AUTO ? q->o.partition
                           : q->symmetric                  ? TN_COLOR_STAR
                                                           : TN_COLOR_COLUMN;
    return (tn_i_colors){.partition = p, .order = q->o.order == TN_ORDER_BEST ? TN_ORDER_NATURAL : q->o.order};
}

static tn_coloring *made(const request *q, tn_i_colors *k) {
    tn_coloring *c = tn_i_coloring_new(q->s);
    if (c) {
        c->partition = k->partition, c->order = k->order, c->by_rows = k->by_rows;
        c->forward = k->forward, c->reverse = k->reverse;
        if (k->forward) c->column = k->column, k->column = NULL;
        if (k->reverse) c->row = k->row, k->row = NULL;
    }
    tn_i_colors_free(q->s, k);
    return c;
}

tn_coloring *tn_i_color(const tn_sparsity *s, const tn_coloring_options *options, bool symmetric) {
    request q = {.ctx = s->ctx, .s = s};
    if (!tn_i_options(q.ctx, "tn_coloring_options", options, &q.o, sizeof q.o)) return NULL;
    const tn_coloring_options given = q.o;
    if (!is_valid(&q, &given) || (symmetric && !tn_i_sparsity_is_symmetric(s, &q.symmetric))) return NULL;
    tn_i_colors k = {.cost = (double)INFINITY};
    if (!s->nnz)
        k = none(&q);
    else if (!find(&q, &k)) {
        tn_i_colors_free(s, &k);
        return NULL;
    }
    if (s->nnz && k.partition == TN_COLOR_AUTO) {
        (void)tn_i_fail(q.ctx, TN_EINVAL, NULL, "%s: no lattice of at most 32 colours suits the pattern", WHO);
        return NULL;
    }
    return made(&q, &k);
}

tn_coloring *tn_color(const tn_sparsity *s, const tn_coloring_options *options) {
    return s ? tn_i_color(s, options, s->symmetric) : NULL;
}
