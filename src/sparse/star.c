/* Star colourings: of each path of four vertices three have different colours, so that the edges of two colours are
 * stars, and an entry (i,j) stands alone in row i of colour j or in row j of colour i.  Gebremedhin, Tarafdar, Manne,
 * Pothen 2007, algorithm 4.1: which stars there are is kept while vertices are coloured. All edges of a vertex to one
 * colour are in one star, so that what is looked at are the colours around a vertex, not its neighbours. */
#include "sparse/coloring.h"

typedef struct stars {
    const tn_i_graph *g;
    int32_t *color;
    tn_i_around around;    /* the part of an edge is its star */
    int64_t *hub, count;   /* per star: the vertex of all its edges, -1 while it has one */
    int64_t *forbidden;    /* per colour: the vertex + 1 that may not have it */
    int64_t *seen, *first; /* per colour: the vertex + 1 that saw it first, and on which neighbour */
} stars;

static void forbid_around(stars *s, int64_t v, int64_t w) {
    const tn_i_around *r = &s->around;
    for (int64_t k = r->begin[w]; k < r->end[w]; k++) s->forbidden[r->color[k]] = v + 1;
}

/* Colours that would make a path of two colours through v and w: where v has two neighbours of one colour, all that
 * are around either; else those of hubs that w is a leaf of. */
static void forbid_paths(stars *s, int64_t v, int64_t w) {
    const tn_i_around *r = &s->around;
    const int32_t c = s->color[w];
    s->forbidden[c] = v + 1;
    if (s->seen[c] == v + 1) {
        if (s->first[c] >= 0) forbid_around(s, v, s->first[c]);
        s->first[c] = -1;
        forbid_around(s, v, w);
        return;
    }
    s->seen[c] = v + 1, s->first[c] = w;
    for (int64_t k = r->begin[w]; k < r->end[w]; k++)
        if (s->hub[r->part[k]] >= 0 && s->hub[r->part[k]] != w) s->forbidden[r->color[k]] = v + 1;
}

/* v has its colour: its edge to w joins the star of w's edges to that colour, or v's to w's, or is one of its own. */
static void join_star(stars *s, int64_t v, int64_t w) {
    tn_i_around *r = &s->around;
    const int64_t of_w = tn_i_around_find(r, w, s->color[v]), of_v = tn_i_around_find(r, v, s->color[w]);
    int64_t star = s->count;
    if (of_w >= 0)
        s->hub[star = r->part[of_w]] = w;
    else if (of_v >= 0)
        s->hub[star = r->part[of_v]] = v;
    else
        s->hub[s->count++] = -1;
    if (of_w < 0) tn_i_around_add(r, w, s->color[v], star);
    if (of_v < 0) tn_i_around_add(r, v, s->color[w], star);
}

static int32_t give(void *of, int64_t v) {
    stars *s = of;
    const tn_i_graph *g = s->g;
    for (int64_t k = g->ptr[v]; k < g->ptr[v + 1]; k++)
        if (s->color[g->adjacent[k]] >= 0) forbid_paths(s, v, g->adjacent[k]);
    int32_t c = 0;
    while (s->forbidden[c] == v + 1) c++;
    s->color[v] = c;
    for (int64_t k = g->ptr[v]; k < g->ptr[v + 1]; k++)
        if (s->color[g->adjacent[k]] >= 0) join_star(s, v, g->adjacent[k]);
    return c;
}

static bool stars_room(tn_i_arena *a, const tn_i_graph *g, stars *s) {
    const size_t n = ((size_t)g->vertices + 1) * sizeof(int64_t);
    s->hub = tn_i_arena_alloc(a, ((size_t)g->ptr[g->vertices] / 2 + 1) * sizeof *s->hub);
    s->forbidden = tn_i_arena_alloc(a, n);
    s->seen = tn_i_arena_alloc(a, n);
    s->first = tn_i_arena_alloc(a, n);
    return s->hub && s->forbidden && s->seen && s->first && tn_i_around_room(a, g, &s->around);
}

int64_t tn_i_color_star(tn_ctx *c, const tn_sparsity *p, tn_color_order order, int32_t *color) {
    tn_i_arena a;
    tn_i_graph g;
    stars s = {.g = &g, .color = color};
    tn_i_arena_init(&a, c);
    const bool ok = tn_i_graph_of(&a, p, false, &g) && stars_room(&a, &g, &s);
    const int64_t colors = ok ? tn_i_color_vertices(&a, &g, p, order, color, give, &s) : -1;
    tn_i_arena_free(&a);
    return colors;
}
