/* The order in which vertices are coloured.
 *
 * Smallest last and incidence degree take, again and again, the vertex of the least (greatest) key, and of equal keys
 * the smallest index; each time the keys of its neighbours change by one.  A vertex and its key are one bit, and bits
 * are laid out so that the first one set is the one to take: key by key, and for each key one place for every vertex
 * that may have it.  A vertex of degree d has keys up to d, so that keys 2^(b-1) .. 2^b - 1 have places for vertices of
 * at least that degree alone: O(edges) bits in all.  Words of words make the first bit a matter of some steps. */
#include "sparse/coloring.h"

#include <string.h>

/* ---- the first of a set of numbers ------------------------------------------------------------------ */

enum { WORD = 64, LEVELS = 11 };

typedef struct bits {
    int levels;
    uint64_t *level[LEVELS]; /* a bit of level l + 1 is a word of level l that is not 0; the last has one word */
} bits;

static bool bits_room(tn_i_arena *a, bits *b, int64_t n) {
    b->levels = 0;
    do {
        n = n / WORD + 1;
        b->level[b->levels] = tn_i_arena_alloc(a, (size_t)n * sizeof(uint64_t));
        if (!b->level[b->levels++]) return false;
    } while (n > 1);
    return true;
}

static void put(bits *b, int64_t at) {
    for (int l = 0; l < b->levels; l++, at /= WORD) {
        uint64_t *word = &b->level[l][at / WORD];
        const bool there = *word != 0;
        *word |= UINT64_C(1) << (at % WORD);
        if (there) return;
    }
}

static void take(bits *b, int64_t at) {
    for (int l = 0; l < b->levels; l++, at /= WORD) {
        uint64_t *word = &b->level[l][at / WORD];
        *word &= ~(UINT64_C(1) << (at % WORD));
        if (*word) return;
    }
}

/* The least number; there is one. */
static int64_t first(const bits *b) {
    int64_t at = 0;
    for (int l = b->levels; l-- > 0;) at = at * WORD + __builtin_ctzll(b->level[l][at]);
    return at;
}

/* ---- keys ------------------------------------------------------------------------------------------- */

/* Keys of one power of two: `width` places each, one for each vertex that may have them. */
typedef struct band {
    int64_t low, high;      /* keys low .. high - 1 */
    int64_t start, width;   /* its first bit */
    const uint64_t *member; /* of each vertex; NULL: all of them may */
    const int64_t *before;  /* members before each word */
    const int64_t *vertex;  /* members, ascending */
} band;

typedef struct keys {
    bool greatest; /* the greatest key comes first */
    int64_t *key;  /* per vertex */
    int64_t *place;
    int nband;
    band band[WORD];
    bits set;
} keys;

static int band_of(int64_t key) { return key ? WORD - __builtin_clzll((unsigned long long)key) : 0; }

static int64_t place_of(const keys *k, int64_t v) {
    const int64_t key = k->key[v];
    const band *b = &k->band[band_of(key)];
    int64_t rank = v;
    if (b->member) {
        const uint64_t below = b->member[v / WORD] & ((UINT64_C(1) << (v % WORD)) - 1);
        rank = b->before[v / WORD] + __builtin_popcountll(below);
    }
    return b->start + (k->greatest ? b->high - 1 - key : key - b->low) * b->width + rank;
}

static int64_t vertex_at(const keys *k, int64_t place) {
    const band *b = k->band;
    while (place < b->start || place >= b->start + (b->high - b->low) * b->width) b++;
    const int64_t rank = (place - b->start) % b->width;
    return b->vertex ? b->vertex[rank] : rank;
}

/* Which vertices may have a key of the band: where these are most of them, all have a place. */
static bool members(tn_i_arena *a, band *b, int64_t n, const int64_t *degree) {
    b->width = 0;
    for (int64_t v = 0; v < n; v++) b->width += degree[v] >= b->low;
    if (2 * b->width >= n) {
        b->width = n;
        return true;
    }
    const size_t words = (size_t)(n / WORD + 1);
    uint64_t *member = tn_i_arena_alloc(a, words * sizeof *member);
    int64_t *before = tn_i_arena_alloc(a, words * sizeof *before), count = 0;
    int64_t *vertex = tn_i_arena_alloc(a, (size_t)(b->width + 1) * sizeof *vertex);
    if (!member || !before || !vertex) return false;
    for (int64_t v = 0; v < n; v++) {
        if (v % WORD == 0) before[v / WORD] = count;
        if (degree[v] < b->low) continue;
        member[v / WORD] |= UINT64_C(1) << (v % WORD);
        vertex[count++] = v;
    }
    b->member = member, b->before = before, b->vertex = vertex;
    return true;
}

/* All vertices with the keys they begin with. */
static bool keys_begin(tn_i_arena *a, keys *k, int64_t n, const int64_t *degree) {
    int64_t most = 0, places = 0;
    for (int64_t v = 0; v < n; v++)
        if (degree[v] > most) most = degree[v];
    k->nband = band_of(most) + 1;
    for (int i = 0; i < k->nband; i++) {
        band *b = &k->band[i];
        b->low = i ? INT64_C(1) << (i - 1) : 0;
        b->high = i + 1 < k->nband ? INT64_C(1) << i : most + 1;
        if (!members(a, b, n, degree)) return false;
    }
    for (int i = 0; i < k->nband; i++) {
        band *b = &k->band[k->greatest ? k->nband - 1 - i : i];
        int64_t size;
        b->start = places;
        if (!tn_i_mul_i64(b->high - b->low, b->width, &size) || !tn_i_add_i64(places, size, &places)) {
            (void)tn_i_fail(a->ctx, TN_EOVERFLOW, NULL, "tn_color: the sum of degrees overflows");
            return false;
        }
    }
    if (!bits_room(a, &k->set, places)) return false;
    k->place = tn_i_arena_alloc(a, (size_t)(n + 1) * sizeof *k->place);
    for (int64_t v = 0; k->place && v < n; v++) put(&k->set, k->place[v] = place_of(k, v));
    return k->place != NULL;
}

/* v's key is the next one to come earlier; within a band its place is so many bits before. */
static void bring_forward(keys *k, int64_t v) {
    const band *b = &k->band[band_of(k->key[v])];
    take(&k->set, k->place[v]);
    const int64_t key = k->key[v] += k->greatest ? 1 : -1;
    k->place[v] = key >= b->low && key < b->high ? k->place[v] - b->width : place_of(k, v);
    put(&k->set, k->place[v]);
}

/* ---- orders ----------------------------------------------------------------------------------------- */

static int64_t *degrees(tn_i_arena *a, tn_i_vertices *g) {
    int64_t *degree = tn_i_arena_alloc(a, (size_t)(g->n + 1) * sizeof *degree);
    for (int64_t v = 0; degree && v < g->n; v++) (void)g->neighbours(g, v, &degree[v]);
    return degree;
}

/* By counting, which keeps the order of equal degrees. */
static bool largest_first(tn_i_arena *a, tn_i_vertices *g, int64_t *out) {
    const int64_t *degree = degrees(a, g);
    int64_t *at = tn_i_arena_alloc(a, (size_t)(g->n + 2) * sizeof *at);
    if (!degree || !at) return false;
    for (int64_t v = 0; v < g->n; v++) at[g->n - degree[v] + 1]++; /* a degree is less than n */
    for (int64_t d = 0; d <= g->n; d++) at[d + 1] += at[d];
    for (int64_t v = 0; v < g->n; v++) out[at[g->n - degree[v]]++] = v;
    return true;
}

/* Takes vertices away one by one, the least key first, or the greatest; a neighbour's key goes down, or up. */
static bool one_by_one(tn_i_arena *a, tn_i_vertices *g, bool greatest, int64_t *out) {
    keys k = {.greatest = greatest};
    int64_t *degree = degrees(a, g);
    if (!degree) return false;
    k.key = greatest ? tn_i_arena_alloc(a, (size_t)(g->n + 1) * sizeof *k.key) : degree;
    if (!k.key || !keys_begin(a, &k, g->n, degree)) return false;
    for (int64_t i = 0; i < g->n; i++) {
        const int64_t place = first(&k.set), v = vertex_at(&k, place);
        int64_t count;
        take(&k.set, place);
        k.key[v] = -1;
        out[greatest ? i : g->n - 1 - i] = v;
        const int32_t *list = g->neighbours(g, v, &count);
        for (int64_t j = 0; j < count; j++)
            if (k.key[list[j]] >= 0) bring_forward(&k, list[j]);
    }
    return true;
}

static bool natural(int64_t n, int64_t *out) {
    for (int64_t v = 0; v < n; v++) out[v] = v;
    return true;
}

bool tn_i_order(tn_i_arena *a, tn_i_vertices *g, tn_color_order order, int64_t *out) {
    switch (order) {
    case TN_ORDER_LARGEST_FIRST: return largest_first(a, g, out);
    case TN_ORDER_SMALLEST_LAST: return one_by_one(a, g, false, out);
    case TN_ORDER_INCIDENCE_DEGREE: return one_by_one(a, g, true, out);
    case TN_ORDER_NATURAL:
    case TN_ORDER_BEST:
    case TN_ORDER_LATTICE: break;
    }
    return natural(g->n, out);
}

/* ---- neighbours ------------------------------------------------------------------------------------- */

enum { MOST_NEAR = 8 }; /* neighbours an entry, for them to be listed */

static const int32_t *on_lines(tn_i_vertices *g, int64_t v, int64_t *count) {
    const tn_i_lines *l = g->of;
    const tn_i_incidence *s = &l->of;
    const int64_t stamp = ++g->stamp;
    int64_t n = 0;
    g->mark[v] = stamp;
    for (int64_t a = s->vptr[v]; a < s->vptr[v + 1]; a++) {
        if (l->again[s->line[a]]) continue;
        for (int64_t k = s->lptr[s->line[a]]; k < s->lptr[s->line[a] + 1]; k++) {
            const int64_t w = s->vertex[k];
            if (g->mark[w] == stamp) continue;
            g->mark[w] = stamp;
            g->list[n++] = (int32_t)w;
        }
    }
    *count = n;
    return g->list;
}

static const int32_t *listed(tn_i_vertices *g, int64_t v, int64_t *count) {
    const tn_i_lines *l = g->of;
    *count = l->ptr[v + 1] - l->ptr[v];
    return l->near + l->ptr[v];
}

/* Lists the neighbours of all vertices, unless they are many. */
static bool list_all(tn_i_vertices *g, tn_i_lines *l) {
    const size_t entries = (size_t)l->of.vptr[g->n], most = MOST_NEAR * entries;
    bool ok = tn_i_grow(l->ctx, (void **)(void *)&l->near, &l->room, 2 * entries + 1, sizeof *l->near);
    size_t n = 0;
    for (int64_t v = 0; ok && v < g->n && n <= most; v++) {
        int64_t count;
        (void)on_lines(g, v, &count);
        ok = tn_i_grow(l->ctx, (void **)(void *)&l->near, &l->room, n + (size_t)count, sizeof *l->near);
        if (ok && count) memcpy(l->near + n, g->list, (size_t)count * sizeof *l->near);
        l->ptr[v + 1] = (int64_t)(n += (size_t)count);
    }
    if (n > most || !ok) {
        if (l->near) tn_i_free(l->ctx, l->near, l->room * sizeof *l->near);
        l->near = NULL;
        l->room = 0;
    }
    return ok;
}

bool tn_i_order_lines(tn_i_arena *a, tn_i_lines *l, tn_color_order order, int64_t *out) {
    const size_t n = (size_t)l->of.vertices + 1;
    if (order == TN_ORDER_NATURAL) return natural(l->of.vertices, out);
    tn_i_vertices all = {.n = l->of.vertices, .neighbours = on_lines, .of = l};
    if (!l->near) {
        all.mark = tn_i_arena_alloc(a, n * sizeof *all.mark);
        all.list = tn_i_arena_alloc(a, n * sizeof *all.list);
        if (!all.mark || !all.list) return false;
    }
    if (!l->ptr) {
        l->ptr = tn_i_alloc_array(l->ctx, n, sizeof *l->ptr);
        if (!l->ptr || !list_all(&all, l)) return false;
    }
    if (l->near) all.neighbours = listed;
    return tn_i_order(a, &all, order, out);
}

static const int32_t *by_edges(tn_i_vertices *g, int64_t v, int64_t *count) {
    const tn_i_graph *s = g->of;
    *count = s->ptr[v + 1] - s->ptr[v];
    return s->adjacent + s->ptr[v];
}

bool tn_i_order_graph(tn_i_arena *a, const tn_i_graph *g, tn_color_order order, int64_t *out) {
    tn_i_vertices all = {.n = g->vertices, .neighbours = by_edges, .of = g};
    return tn_i_order(a, &all, order, out);
}
