/* Star colourings: of each path of four vertices three have different colours, so that the edges of two colours are
 * stars, and an entry (i,j) stands alone in row i of colour j or in row j of colour i.  Gebremedhin, Tarafdar, Manne,
 * Pothen 2007, algorithm 4.1: which stars there are is kept while vertices are coloured. */
#include "sparse/coloring.h"

#include <string.h>

/* ---- the graph of a symmetric pattern --------------------------------------------------------------- */

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

bool tn_i_graph_of(tn_i_arena *a, const tn_sparsity *s, tn_i_graph *out) {
    const size_t n = (size_t)s->rows + 1, most = (size_t)s->nnz + 1;
    int64_t *ptr = tn_i_arena_alloc(a, n * sizeof *ptr), *adjacent = tn_i_arena_alloc(a, most * sizeof *adjacent);
    int64_t *edge = tn_i_arena_alloc(a, most * sizeof *edge), *next = tn_i_arena_alloc(a, n * sizeof *next), count = 0;
    if (!ptr || !adjacent || !edge || !next) return false;
    for (int64_t i = 0; i < s->rows; i++) {
        for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++)
            if (s->ind[k] != i) adjacent[count++] = s->ind[k];
        ptr[i + 1] = count;
    }
    *out = (tn_i_graph){s->rows, 0, ptr, adjacent, edge};
    number_edges(out, edge, next);
    return true;
}

/* ---- colouring --------------------------------------------------------------------------------------- */

/* Of colours, what was seen from the vertex of which turn it is: `seen` says from which. */
typedef struct star_state {
    const tn_i_graph *g;
    int32_t *color;
    int64_t *forbidden;   /* per colour: the vertex + 1 that may not have it */
    int64_t *seen, *near; /* per colour: the vertex + 1 that saw it first, and at which place among the adjacent */
    int64_t *treated;     /* per vertex: the vertex + 1 for which all its neighbours' colours were forbidden */
    int64_t *star, *hub, stars; /* per edge, per star: -1 while it has one edge */
} star_state;

static void forbid_neighbours(star_state *s, int64_t v, int64_t w) {
    if (s->treated[w] == v + 1) return;
    s->treated[w] = v + 1;
    for (int64_t k = s->g->ptr[w]; k < s->g->ptr[w + 1]; k++) {
        const int32_t c = s->color[s->g->adjacent[k]];
        if (c >= 0) s->forbidden[c] = v + 1;
    }
}

/* Colours that would make a path of two colours through v and its neighbour at place a. */
static void forbid_by(star_state *s, int64_t v, int64_t a) {
    const tn_i_graph *g = s->g;
    const int64_t w = g->adjacent[a];
    const int32_t c = s->color[w];
    s->forbidden[c] = v + 1;
    if (s->seen[c] == v + 1) { /* v has two neighbours of one colour: none of theirs may have v's */
        forbid_neighbours(s, v, g->adjacent[s->near[c]]);
        forbid_neighbours(s, v, w);
        return;
    }
    s->seen[c] = v + 1, s->near[c] = a;
    for (int64_t k = g->ptr[w]; k < g->ptr[w + 1]; k++) { /* v would be at the end of a star that has its hub there */
        const int64_t x = g->adjacent[k];
        if (x != v && s->color[x] >= 0 && s->hub[s->star[g->edge[k]]] == x) s->forbidden[s->color[x]] = v + 1;
    }
}

/* v has its colour: the edge at place a joins the star of another edge of w, or of v, or is one of its own. */
static void join_star(star_state *s, int64_t v, int64_t a) {
    const tn_i_graph *g = s->g;
    const int64_t w = g->adjacent[a], e = g->edge[a];
    const int32_t c = s->color[w];
    for (int64_t k = g->ptr[w]; k < g->ptr[w + 1]; k++)
        if (g->adjacent[k] != v && s->color[g->adjacent[k]] == s->color[v]) {
            s->star[e] = s->star[g->edge[k]];
            s->hub[s->star[e]] = w;
            return;
        }
    if (s->near[c] != a) { /* seen by v, from which w was looked at */
        s->star[e] = s->star[g->edge[s->near[c]]];
        s->hub[s->star[e]] = v;
    } else {
        s->star[e] = s->stars;
        s->hub[s->stars++] = -1;
    }
}

static int32_t color_vertex(star_state *s, int64_t v) {
    const tn_i_graph *g = s->g;
    for (int64_t a = g->ptr[v]; a < g->ptr[v + 1]; a++)
        if (s->color[g->adjacent[a]] >= 0) forbid_by(s, v, a);
    int32_t c = 0;
    while (s->forbidden[c] == v + 1) c++;
    s->color[v] = c;
    for (int64_t a = g->ptr[v]; a < g->ptr[v + 1]; a++)
        if (s->color[g->adjacent[a]] >= 0) join_star(s, v, a);
    return c;
}

static bool star_room(tn_i_arena *a, const tn_i_graph *g, star_state *s) {
    const size_t n = ((size_t)g->vertices + 1) * sizeof(int64_t), e = ((size_t)g->edges + 1) * sizeof(int64_t);
    s->forbidden = tn_i_arena_alloc(a, n);
    s->seen = tn_i_arena_alloc(a, n);
    s->near = tn_i_arena_alloc(a, n);
    s->treated = tn_i_arena_alloc(a, n);
    s->star = tn_i_arena_alloc(a, e);
    s->hub = tn_i_arena_alloc(a, e);
    return s->forbidden && s->seen && s->near && s->treated && s->star && s->hub;
}

int64_t tn_i_color_star(tn_ctx *c, const tn_sparsity *p, tn_color_order order, int32_t *color) {
    tn_i_arena a;
    tn_i_graph g;
    star_state s = {.g = &g, .color = color};
    int64_t colors = -1, *turn;
    tn_i_arena_init(&a, c);
    if (tn_i_graph_of(&a, p, &g) && star_room(&a, &g, &s) &&
        (turn = tn_i_arena_alloc(&a, ((size_t)g.vertices + 1) * sizeof *turn)) &&
        tn_i_order_graph(&a, &g, order, turn)) {
        colors = 0;
        for (int64_t v = 0; v < g.vertices; v++) color[v] = -1;
        for (int64_t i = 0; i < g.vertices; i++) {
            const int64_t v = turn[i];
            if (p->ptr[v] == p->ptr[v + 1]) continue;
            const int32_t given = color_vertex(&s, v);
            if (given >= colors) colors = given + 1;
        }
    }
    tn_i_arena_free(&a);
    return colors;
}
