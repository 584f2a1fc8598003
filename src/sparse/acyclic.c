/* Acyclic colourings: the edges of any two colours are a forest, so that entries follow from each other, from the
 * leaves on.  Gebremedhin, Tarafdar, Manne, Pothen 2007: trees of two colours are kept as disjoint sets of edges while
 * vertices are coloured. */
#include "sparse/coloring.h"

/* ---- colouring ---------------------------------------------------------------------------------------- */

typedef struct forest {
    const tn_i_graph *g;
    int32_t *color;
    int64_t *forbidden;    /* per colour: the vertex + 1 that may not have it */
    int64_t *seen, *near;  /* per colour: the vertex + 1 that saw it first, and by which edge */
    int64_t *parent;       /* per edge: sets */
    int64_t *reached, *by; /* per set: the vertex + 1 that reached it first, and through which neighbour */
} forest;

static int64_t root(int64_t *parent, int64_t e) {
    while (parent[e] != e) e = parent[e] = parent[parent[e]];
    return e;
}

static void join(int64_t *parent, int64_t d, int64_t e) {
    const int64_t to = root(parent, d);
    parent[root(parent, e)] = to;
}

/* The colour of x, a neighbour of v's neighbour w, would close a cycle where v reaches the tree of w-x twice. */
static void forbid_cycles(forest *f, int64_t v, int64_t w) {
    const tn_i_graph *g = f->g;
    for (int64_t k = g->ptr[w]; k < g->ptr[w + 1]; k++) {
        const int32_t c = f->color[g->adjacent[k]];
        if (g->adjacent[k] == v || c < 0 || f->forbidden[c] == v + 1) continue;
        const int64_t tree = root(f->parent, g->edge[k]);
        if (f->reached[tree] != v + 1)
            f->reached[tree] = v + 1, f->by[tree] = w;
        else if (f->by[tree] != w)
            f->forbidden[c] = v + 1;
    }
}

/* v has its colour: its edges to one colour are one tree, and go on where a neighbour has another of v's colour. */
static void join_trees(forest *f, int64_t v) {
    const tn_i_graph *g = f->g;
    for (int64_t a = g->ptr[v]; a < g->ptr[v + 1]; a++) {
        const int64_t w = g->adjacent[a], e = g->edge[a];
        const int32_t c = f->color[w];
        if (c < 0) continue;
        if (f->seen[c] != v + 1)
            f->seen[c] = v + 1, f->near[c] = e;
        else
            join(f->parent, f->near[c], e);
        for (int64_t k = g->ptr[w]; k < g->ptr[w + 1]; k++)
            if (g->adjacent[k] != v && f->color[g->adjacent[k]] == f->color[v]) join(f->parent, e, g->edge[k]);
    }
}

static int32_t color_vertex(forest *f, int64_t v) {
    const tn_i_graph *g = f->g;
    for (int64_t a = g->ptr[v]; a < g->ptr[v + 1]; a++) {
        const int32_t c = f->color[g->adjacent[a]];
        if (c >= 0) f->forbidden[c] = v + 1;
    }
    for (int64_t a = g->ptr[v]; a < g->ptr[v + 1]; a++)
        if (f->color[g->adjacent[a]] >= 0) forbid_cycles(f, v, g->adjacent[a]);
    int32_t c = 0;
    while (f->forbidden[c] == v + 1) c++;
    f->color[v] = c;
    join_trees(f, v);
    return c;
}

static bool forest_room(tn_i_arena *a, const tn_i_graph *g, forest *f) {
    const size_t n = ((size_t)g->vertices + 1) * sizeof(int64_t), e = ((size_t)g->edges + 1) * sizeof(int64_t);
    f->forbidden = tn_i_arena_alloc(a, n);
    f->seen = tn_i_arena_alloc(a, n);
    f->near = tn_i_arena_alloc(a, n);
    f->parent = tn_i_arena_alloc(a, e);
    f->reached = tn_i_arena_alloc(a, e);
    f->by = tn_i_arena_alloc(a, e);
    if (!f->forbidden || !f->seen || !f->near || !f->parent || !f->reached || !f->by) return false;
    for (int64_t i = 0; i < g->edges; i++) f->parent[i] = i;
    return true;
}

int64_t tn_i_color_acyclic(tn_ctx *c, const tn_sparsity *p, tn_color_order order, int32_t *color) {
    tn_i_arena a;
    tn_i_graph g;
    forest f = {.g = &g, .color = color};
    int64_t colors = -1, *turn;
    tn_i_arena_init(&a, c);
    if (tn_i_graph_of(&a, p, &g) && forest_room(&a, &g, &f) &&
        (turn = tn_i_arena_alloc(&a, ((size_t)g.vertices + 1) * sizeof *turn)) &&
        tn_i_order_graph(&a, &g, order, turn)) {
        colors = 0;
        for (int64_t v = 0; v < g.vertices; v++) color[v] = -1;
        for (int64_t i = 0; i < g.vertices; i++) {
            const int64_t v = turn[i];
            if (p->ptr[v] == p->ptr[v + 1]) continue;
            const int32_t given = color_vertex(&f, v);
            if (given >= colors) colors = given + 1;
        }
    }
    tn_i_arena_free(&a);
    return colors;
}

/* ---- substitution ------------------------------------------------------------------------------------- */

/* A sum is what is read at row i of one colour: the entries of all neighbours of i that have it.  Where all but one of
 * them are known, that one follows; it is then known in the sum at its other end.  Round by round, from all leaves. */
typedef struct sums {
    const tn_i_graph *g;
    int64_t *of;            /* per place among the adjacent: its sum */
    int64_t *open, *places; /* per sum: entries not known yet, and their places, one number xor the other */
    int64_t *ends;          /* per edge: its two places, xor'ed */
    int64_t *entry;         /* per place: the entry's position by row */
    int64_t *maker;         /* per sum: the step that makes the last of it, + 1 */
    int64_t *other;         /* per step: the sum at its other end */
    int64_t *now, *later;   /* sums of this round, and of the next */
    int64_t count;
} sums;

static bool sums_room(tn_i_arena *a, const tn_i_graph *g, sums *s) {
    int64_t **const each[] = {&s->of,    &s->open,  &s->places, &s->ends, &s->entry,
                              &s->maker, &s->other, &s->now,    &s->later};
    const size_t size = ((size_t)g->ptr[g->vertices] + 1) * sizeof(int64_t);
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (!(*each[i] = tn_i_arena_alloc(a, size))) return false;
    s->g = g;
    return true;
}

static bool find_sums(tn_i_arena *a, const tn_coloring *k, sums *s) {
    const tn_i_graph *g = s->g;
    const tn_sparsity *p = k->pattern;
    int64_t *seen = tn_i_arena_alloc(a, ((size_t)k->forward + 1) * sizeof *seen), place = 0;
    int64_t *which = tn_i_arena_alloc(a, ((size_t)k->forward + 1) * sizeof *which);
    if (!seen || !which) return false;
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t e = p->ptr[i]; e < p->ptr[i + 1]; e++) {
            if (p->ind[e] == i) continue;
            const int32_t c = k->column[p->ind[e]];
            if (seen[c] != i + 1) seen[c] = i + 1, which[c] = s->count++;
            s->entry[place] = e;
            s->of[place] = which[c];
            s->open[which[c]]++;
            s->places[which[c]] ^= place;
            s->ends[g->edge[place]] ^= place;
            place++;
        }
    return true;
}

/* The last open entry of a sum follows, if it is not known from its other end meanwhile; how many sums come next. */
static int64_t follow(sums *s, tn_i_substitution *u, int64_t sum, int64_t next) {
    if (s->open[sum] != 1) return next;
    const int64_t place = s->places[sum], twin = s->ends[s->g->edge[place]] ^ place, end = s->of[twin];
    s->open[sum] = 0;
    s->maker[sum] = u->steps + 1;
    s->other[u->steps] = end;
    u->entry[u->steps] = s->entry[place];
    u->twin[u->steps++] = s->entry[twin];
    s->places[end] ^= twin;
    if (--s->open[end] == 1) s->later[next++] = end;
    return next;
}

static void rounds(sums *s, tn_i_substitution *u) {
    int64_t here = 0;
    for (int64_t i = 0; i < s->count; i++)
        if (s->open[i] == 1) s->now[here++] = i;
    while (here) {
        int64_t next = 0, *swap = s->now;
        u->level[u->levels] = u->steps;
        for (int64_t i = 0; i < here; i++) next = follow(s, u, s->now[i], next);
        if (u->steps > u->level[u->levels]) u->levels++;
        s->now = s->later, s->later = swap, here = next;
    }
    u->level[u->levels] = u->steps;
    for (int64_t i = 0; i < u->steps; i++) u->into[i] = s->maker[s->other[i]] - 1;
}

bool tn_i_coloring_substitution(const tn_coloring *k, tn_i_substitution *u) {
    tn_i_arena scratch;
    tn_i_graph g;
    sums s = {0};
    *u = (tn_i_substitution){0};
    tn_i_arena_init(&u->memory, k->ctx);
    tn_i_arena_init(&scratch, k->ctx);
    bool ok = tn_i_graph_of(&scratch, k->pattern, &g) && sums_room(&scratch, &g, &s) && find_sums(&scratch, k, &s);
    int64_t **const each[] = {&u->level, &u->entry, &u->twin, &u->into};
    for (size_t i = 0; ok && i < sizeof each / sizeof *each; i++)
        ok = (*each[i] = tn_i_arena_alloc(&u->memory, ((size_t)g.edges + 2) * sizeof(int64_t))) != NULL;
    if (ok) rounds(&s, u);
    tn_i_arena_free(&scratch);
    if (!ok) tn_i_substitution_free(u);
    return ok;
}

void tn_i_substitution_free(tn_i_substitution *u) { tn_i_arena_free(&u->memory); }
