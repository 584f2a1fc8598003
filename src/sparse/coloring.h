/* A colouring, and where recovery reads each entry. */
#ifndef TN_COLORING_H
#define TN_COLORING_H

#include "sparse/sparsity.h"

struct tn_coloring {
    tn_ctx *ctx;
    tn_coloring *prev, *next;
    tn_sparsity *pattern;
    tn_partition partition;
    tn_color_order order;
    int64_t forward, reverse;
    int32_t *column, *row; /* -1: in no colour; NULL: forward, reverse is 0 */
    bool by_rows; /* bidirectional: an entry is read by its row's colour if its row has one, else by its column's;
                     false: by its column's if that has one, else by its row's */
};

/* tn_color for callers who know whether the derivative is symmetric: only then may AUTO choose a star colouring. */
tn_coloring *tn_i_color(const tn_sparsity *s, const tn_coloring_options *options, bool symmetric);

/* Where an entry is read: element `at` of the tangent of forward colour `colour`, which has an element for each row,
 * or, with `reverse`, of the cotangent of that reverse colour, which has one for each column. */
typedef struct tn_i_read {
    int64_t at;
    int32_t colour;
    bool reverse;
} tn_i_read;
/* read[nnz], entries by row.  Of an acyclic colouring: where the substitution of the entry begins. */
bool tn_i_coloring_reads(const tn_coloring *k, tn_i_read *read);

/* Acyclic: what is read of an entry outside the diagonal has others added to it.  value[s] begins as what is read of
 * entry[s]; then, in the order of steps, value[s] is subtracted from value[into[s]].  Both entry[s] and twin[s], its
 * transpose, have the value.  Steps level[l] .. level[l + 1] - 1 do not read each other. */
typedef struct tn_i_substitution {
    tn_i_arena memory;
    int64_t steps, levels;
    int64_t *level;        /* levels + 1 */
    int64_t *entry, *twin; /* by row */
    int64_t *into;         /* a step of a later level, or -1 */
} tn_i_substitution;
bool tn_i_coloring_substitution(const tn_coloring *k, tn_i_substitution *out);
void tn_i_substitution_free(tn_i_substitution *u);

/* ---- what the folder's files share ----------------------------------------------------------------- */

/* Vertices, and the lines that they meet on: columns and rows, or rows and columns.  Two vertices of one line are
 * neighbours. */
typedef struct tn_i_incidence {
    int64_t vertices, lines;
    const int64_t *vptr, *line;   /* the lines of a vertex */
    const int64_t *lptr, *vertex; /* the vertices of a line */
} tn_i_incidence;
bool tn_i_incidence_of(const tn_sparsity *s, bool rows_are_vertices, tn_i_incidence *out);

/* What colourings of one incidence share: made when the first of them asks for it. */
typedef struct tn_i_lines {
    tn_ctx *ctx;
    tn_i_incidence of;
    bool *again;   /* per line: it has the vertices of the one before, and adds nothing */
    int64_t *ptr;  /* where each vertex' neighbours begin */
    int32_t *near; /* each once, not ascending; NULL: not asked for yet, or many more than entries */
    size_t room;
} tn_i_lines;
void tn_i_lines_end(tn_i_lines *l);
/* The most vertices on a line: no colouring has fewer colours. */
int64_t tn_i_longest_line(const tn_i_incidence *g);

/* A symmetric pattern without its diagonal.  `numbered`: the two directions of an edge have one number. */
typedef struct tn_i_graph {
    int64_t vertices, edges;
    const int64_t *ptr;
    const int32_t *adjacent;
    const int64_t *edge;
} tn_i_graph;
bool tn_i_graph_of(tn_i_arena *a, const tn_sparsity *s, bool numbered, tn_i_graph *out);

/* While a graph is coloured: the colours that a vertex has around it, each once, and what its edges to that colour are
 * a part of. */
typedef struct tn_i_around {
    const int64_t *begin;
    int64_t *end, *part;
    int32_t *color;
} tn_i_around;
bool tn_i_around_room(tn_i_arena *a, const tn_i_graph *g, tn_i_around *out);
static inline int64_t tn_i_around_find(const tn_i_around *r, int64_t v, int32_t color) {
    for (int64_t k = r->begin[v]; k < r->end[v]; k++)
        if (r->color[k] == color) return k;
    return -1;
}
static inline void tn_i_around_add(tn_i_around *r, int64_t v, int32_t color, int64_t part) {
    r->color[r->end[v]] = color;
    r->part[r->end[v]++] = part;
}

/* How orders see either: the distinct neighbours of v, ascending or not; the list is good until the next call. */
typedef struct tn_i_vertices {
    int64_t n;
    const int32_t *(*neighbours)(struct tn_i_vertices *g, int64_t v, int64_t *count);
    const void *of;
    /* of incidences that are not listed: n each */
    int64_t *mark, stamp;
    int32_t *list;
} tn_i_vertices;
/* a permutation of the vertices in out; order: natural, largest first, smallest last, incidence degree */
bool tn_i_order(tn_i_arena *a, tn_i_vertices *g, tn_color_order order, int64_t *out);
bool tn_i_order_lines(tn_i_arena *a, tn_i_lines *l, tn_color_order order, int64_t *out);
bool tn_i_order_graph(tn_i_arena *a, const tn_i_graph *g, tn_color_order order, int64_t *out);

/* Each makes color[vertices], -1 for a vertex without any entry, and says how many colours there are; -1: an error. */
int64_t tn_i_color_lines(tn_i_lines *l, tn_color_order order, int32_t *color);
int64_t tn_i_color_star(tn_ctx *c, const tn_sparsity *s, tn_color_order order, int32_t *color);
int64_t tn_i_color_acyclic(tn_ctx *c, const tn_sparsity *s, tn_color_order order, int32_t *color);
/* For those of graphs: `give` colours one vertex after the other, color[] is -1 where it was not yet. */
int64_t tn_i_color_vertices(tn_i_arena *a, const tn_i_graph *g, const tn_sparsity *s, tn_color_order order,
                            int32_t *color, int32_t (*give)(void *, int64_t), void *of);
/* Columns, or the vertices of a graph; fewer than `below` colours, 0 where no formula was found.  Axes that the grid
 * lacks are 1; of a vector, grids that its pattern looks like are tried, too. */
int64_t tn_i_color_lattice(const tn_sparsity *s, bool star, const int64_t grid[3], int64_t below, int32_t *color);

/* What was found: colours of columns and rows, and what they cost. */
typedef struct tn_i_colors {
    tn_partition partition;
    tn_color_order order;
    int64_t forward, reverse;
    int32_t *column, *row; /* columns, rows of the pattern; NULL where there are none */
    bool by_rows;
    double cost;
} tn_i_colors;
void tn_i_colors_free(const tn_sparsity *s, tn_i_colors *k);
/* Some entries by columns, the rest by rows, or, unless `mixed`, all by one of them; which, is found by the first of
 * the orders.  *out stays what it is unless that costs less than out->cost. */
bool tn_i_color_both(const tn_sparsity *s, const tn_color_order *order, size_t orders, double reverse_cost, bool mixed,
                     tn_i_colors *out);

/* An empty colouring of s, which it keeps alive. */
tn_coloring *tn_i_coloring_new(const tn_sparsity *s);

#endif
