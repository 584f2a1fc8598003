/* Columns (rows) of one colour share no row (column): first fit on the graph of columns that share one, which is never
 * built. */
#include "sparse/coloring.h"

#include <string.h>

bool tn_i_incidence_of(const tn_sparsity *s, bool rows_are_vertices, tn_i_incidence *out) {
    tn_i_by_column t;
    if (!tn_i_sparsity_columns(s, &t)) return false;
    *out = rows_are_vertices ? (tn_i_incidence){s->rows, s->columns, s->ptr, s->ind, t.ptr, t.row}
                             : (tn_i_incidence){s->columns, s->rows, t.ptr, t.row, s->ptr, s->ind};
    return true;
}

int64_t tn_i_longest_line(const tn_i_incidence *g) {
    int64_t most = 0;
    for (int64_t i = 0; i < g->lines; i++)
        if (g->lptr[i + 1] - g->lptr[i] > most) most = g->lptr[i + 1] - g->lptr[i];
    return most;
}

/* Where one line has all vertices that are on any, each has a colour of its own; they all have one degree, and any
 * order takes them as they come.  Else that would take the square of their number. */
static bool one_line_has_all(const tn_i_incidence *g, int32_t *color, int64_t *colors) {
    int64_t n = 0;
    for (int64_t v = 0; v < g->vertices; v++) n += g->vptr[v + 1] > g->vptr[v];
    if (tn_i_longest_line(g) < n) return false;
    *colors = 0;
    for (int64_t v = 0; v < g->vertices; v++) color[v] = g->vptr[v + 1] > g->vptr[v] ? (int32_t)(*colors)++ : -1;
    return true;
}

/* The first colour that no neighbour of v has. */
static int32_t first_fit(const tn_i_lines *l, int64_t v, const int32_t *color, int64_t *forbidden) {
    const tn_i_incidence *g = &l->of;
    for (int64_t k = l->near ? l->ptr[v] : 0; l->near && k < l->ptr[v + 1]; k++) {
        const int32_t taken = color[l->near[k]];
        if (taken >= 0) forbidden[taken] = v + 1;
    }
    for (int64_t a = g->vptr[v]; !l->near && a < g->vptr[v + 1]; a++) {
        if (l->again[g->line[a]]) continue;
        for (int64_t k = g->lptr[g->line[a]]; k < g->lptr[g->line[a] + 1]; k++) {
            const int32_t taken = color[g->vertex[k]];
            if (taken >= 0) forbidden[taken] = v + 1;
        }
    }
    int32_t c = 0;
    while (forbidden[c] == v + 1) c++;
    return c;
}

/* Of dense blocks one line is enough: all of them would take the cube of its length. */
static bool find_again(tn_i_lines *l) {
    const tn_i_incidence *g = &l->of;
    l->again = tn_i_alloc_array(l->ctx, (size_t)g->lines + 1, sizeof *l->again);
    for (int64_t i = 1; l->again && i < g->lines; i++) {
        const int64_t n = g->lptr[i + 1] - g->lptr[i], *mine = g->vertex + g->lptr[i];
        l->again[i] = n && n == g->lptr[i] - g->lptr[i - 1] && mine[0] == mine[-n] &&
                      !memcmp(mine, mine - n, (size_t)n * sizeof *mine);
    }
    return l->again != NULL;
}

void tn_i_lines_end(tn_i_lines *l) {
    if (l->again) tn_i_free(l->ctx, l->again, ((size_t)l->of.lines + 1) * sizeof *l->again);
    if (l->ptr) tn_i_free(l->ctx, l->ptr, ((size_t)l->of.vertices + 1) * sizeof *l->ptr);
    if (l->near) tn_i_free(l->ctx, l->near, l->room * sizeof *l->near);
}

int64_t tn_i_color_lines(tn_i_lines *l, tn_color_order order, int32_t *color) {
    const tn_i_incidence *g = &l->of;
    int64_t colors = 0;
    if (one_line_has_all(g, color, &colors)) return colors;
    const size_t n = (size_t)g->vertices + 1;
    tn_i_arena a;
    tn_i_arena_init(&a, l->ctx);
    int64_t *turn = tn_i_arena_alloc(&a, n * sizeof *turn), *forbidden = tn_i_arena_alloc(&a, n * sizeof *forbidden);
    if (!turn || !forbidden || (!l->again && !find_again(l)) || !tn_i_order_lines(&a, l, order, turn)) {
        tn_i_arena_free(&a);
        return -1;
    }
    for (int64_t v = 0; v < g->vertices; v++) color[v] = -1;
    for (int64_t i = 0; i < g->vertices; i++) {
        const int64_t v = turn[i];
        if (g->vptr[v] == g->vptr[v + 1]) continue;
        color[v] = first_fit(l, v, color, forbidden);
        if (color[v] >= colors) colors = color[v] + 1;
    }
    tn_i_arena_free(&a);
    return colors;
}
