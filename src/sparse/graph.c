/* The graph of a symmetric pattern, and the colours around its vertices. */
#include "sparse/coloring.h"

#include <string.h>

/* Edges are numbered where they go up; rows that go down to i come in the order of i's own entries. */
static void number_edges(tn_i_graph *g, int64_t *edge, int64_t *next) {
    memcpy(next, g->ptr, (size_t)g->vertices * sizeof *next);
    for (int64_t i = 0; i < g->vertices; i++)
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            const int64_t j = g->adjacent[k];
            if (j < i) continue;
            edge[k] = edge[next[j]++] = g->edges++;
        }
}

bool tn_i_graph_of(tn_i_arena *a, const tn_sparsity *s, bool numbered, tn_i_graph *out) {
    const size_t n = (size_t)s->rows + 1, most = (size_t)s->nnz + 1;
    int64_t *ptr = tn_i_arena_alloc(a, n * sizeof *ptr), count = 0;
    int32_t *adjacent = tn_i_arena_alloc(a, most * sizeof *adjacent);
    if (!ptr || !adjacent) return false;
    for (int64_t i = 0; i < s->rows; i++) {
        for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++)
            if (s->ind[k] != i) adjacent[count++] = (int32_t)s->ind[k];
        ptr[i + 1] = count;
    }
    *out = (tn_i_graph){s->rows, 0, ptr, adjacent, NULL};
    if (!numbered) return true;
    int64_t *edge = tn_i_arena_alloc(a, ((size_t)count + 1) * sizeof *edge);
    int64_t *next = tn_i_arena_alloc(a, n * sizeof *next);
    if (!edge || !next) return false;
    out->edge = edge;
    number_edges(out, edge, next);
    return true;
}

bool tn_i_around_room(tn_i_arena *a, const tn_i_graph *g, tn_i_around *out) {
    const size_t places = (size_t)g->ptr[g->vertices] + 1, n = (size_t)g->vertices + 1;
    out->begin = g->ptr;
    out->end = tn_i_arena_alloc(a, n * sizeof *out->end);
    out->color = tn_i_arena_alloc(a, places * sizeof *out->color);
    out->part = tn_i_arena_alloc(a, places * sizeof *out->part);
    if (!out->end || !out->color || !out->part) return false;
    memcpy(out->end, g->ptr, n * sizeof *out->end);
    return true;
}

/* One vertex after the other, in the order that was asked for. */
int64_t tn_i_color_vertices(tn_i_arena *a, const tn_i_graph *g, const tn_sparsity *s, tn_color_order order,
                            int32_t *color, int32_t (*give)(void *, int64_t), void *of) {
    int64_t *turn = tn_i_arena_alloc(a, ((size_t)g->vertices + 1) * sizeof *turn), colors = 0;
    if (!turn || !tn_i_order_graph(a, g, order, turn)) return -1;
    for (int64_t v = 0; v < g->vertices; v++) color[v] = -1;
    for (int64_t i = 0; i < g->vertices; i++) {
        const int64_t v = turn[i];
        if (s->ptr[v] == s->ptr[v + 1]) continue;
        const int32_t given = give(of, v);
        if (given >= colors) colors = given + 1;
    }
    return colors;
}
