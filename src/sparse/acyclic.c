/* Acyclic colourings: the edges of any two colours are a forest, so that entries follow from each other, from the
 * leaves on.  Gebremedhin, Tarafdar, Manne, Pothen 2007: trees of two colours are kept as disjoint sets while vertices
 * are coloured.  All edges of a vertex to one colour are in one tree. */
#include "sparse/coloring.h"

/* ---- colouring ---------------------------------------------------------------------------------------- */

typedef struct forest {
    const tn_i_graph *g;
    int32_t *color;
    tn_i_around around;     /* the part of an edge is one of the sets that make its tree */
    int64_t *parent, count; /* per set */
    int64_t *forbidden;     /* per colour: the vertex + 1 that may not have it */
    int64_t *reached, *by;  /* per tree: the vertex + 1 that reached it first, and through which neighbour */
} forest;

static int64_t root(int64_t *parent, int64_t e) {
    while (parent[e] != e) e = parent[e] = parent[parent[e]];
    return e;
}

/* A colour around w, v's neighbour, would close a cycle where v reaches its tree twice. */
static void forbid_cycles(forest *f, int64_t v, int64_t w) {
    const tn_i_around *r = &f->around;
    for (int64_t k = r->begin[w]; k < r->end[w]; k++) {
        const int64_t tree = root(f->parent, r->part[k]);
        if (f->reached[tree] != v + 1)
            f->reached[tree] = v + 1, f->by[tree] = w;
        else if (f->by[tree] != w)
            f->forbidden[r->color[k]] = v + 1;
    }
}

/* v has its colour: its edge to w joins the tree of w's edges to that colour, and that of v's to w's. */
static void join_trees(forest *f, int64_t v, int64_t w) {
    tn_i_around *r = &f->around;
    const int64_t of_w = tn_i_around_find(r, w, f->color[v]), of_v = tn_i_around_find(r, v, f->color[w]);
    int64_t set;
    if (of_w >= 0) {
        set = r->part[of_w];
        if (of_v >= 0) f->parent[root(f->parent, r->part[of_v])] = root(f->parent, set);
    } else if (of_v >= 0) {
        set = r->part[of_v];
    } else {
        set = f->count++;
        f->parent[set] = set;
    }
    if (of_w < 0) tn_i_around_add(r, w, f->color[v], set);
    if (of_v < 0) tn_i_around_add(r, v, f->color[w], set);
}

static int32_t give(void *of, int64_t v) {
    forest *f = of;
    const tn_i_graph *g = f->g;
    for (int64_t k = g->ptr[v]; k < g->ptr[v + 1]; k++) {
        const int32_t c = f->color[g->adjacent[k]];
        if (c < 0) continue;
        f->forbidden[c] = v + 1;
        forbid_cycles(f, v, g->adjacent[k]);
    }
    int32_t c = 0;
    while (f->forbidden[c] == v + 1) c++;
    f->color[v] = c;
    for (int64_t k = g->ptr[v]; k < g->ptr[v + 1]; k++)
        if (f->color[g->adjacent[k]] >= 0) join_trees(f, v, g->adjacent[k]);
    return c;
}

static bool forest_room(tn_i_arena *a, const tn_i_graph *g, forest *f) {
    const size_t edges = ((size_t)g->ptr[g->vertices] / 2 + 1) * sizeof(int64_t);
    f->forbidden = tn_i_arena_alloc(a, ((size_t)g->vertices + 1) * sizeof *f->forbidden);
    f->parent = tn_i_arena_alloc(a, edges);
    f->reached = tn_i_arena_alloc(a, edges);
    f->by = tn_i_arena_alloc(a, edges);
    return f->forbidden && f->parent && f->reached && f->by && tn_i_around_room(a, g, &f->around);
}

int64_t tn_i_color_acyclic(tn_ctx *c, const tn_sparsity *p, tn_color_order order, int32_t *color) {
    tn_i_arena a;
    tn_i_graph g;
    forest f = {.g = &g, .color = color};
    tn_i_arena_init(&a, c);
    const bool ok = tn_i_graph_of(&a, p, false, &g) && forest_room(&a, &g, &f);
    const int64_t colors = ok ? tn_i_color_vertices(&a, &g, p, order, color, give, &f) : -1;
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
    bool ok =
        tn_i_graph_of(&scratch, k->pattern, true, &g) && sums_room(&scratch, &g, &s) && find_sums(&scratch, k, &s);
    int64_t **const each[] = {&u->level, &u->entry, &u->twin, &u->into};
    for (size_t i = 0; ok && i < sizeof each / sizeof *each; i++)
        ok = (*each[i] = tn_i_arena_alloc(&u->memory, ((size_t)g.edges + 2) * sizeof(int64_t))) != NULL;
    if (ok) rounds(&s, u);
    tn_i_arena_free(&scratch);
    if (!ok) tn_i_substitution_free(u);
    return ok;
}

void tn_i_substitution_free(tn_i_substitution *u) { tn_i_arena_free(&u->memory); }
