/* Colourings against definitions: the fewest colours of small graphs by exhaustive search, and random patterns, whose
 * colourings are checked and whose entries are read back. */
#include "tracing.h"

#include "sanitized.h"
#include "sparse/coloring.h"
#include "sparse_patterns.h"

enum { SHORTER = SANITIZED ? 20 : 1, SMALL = 17 };

static const tn_color_order ORDER[] = {TN_ORDER_NATURAL, TN_ORDER_LARGEST_FIRST, TN_ORDER_SMALLEST_LAST,
                                       TN_ORDER_INCIDENCE_DEGREE, TN_ORDER_BEST};
enum { COLUMN, STAR, ACYCLIC, KINDS };
static const tn_partition PARTITION[KINDS] = {TN_COLOR_COLUMN, TN_COLOR_STAR, TN_COLOR_ACYCLIC};

static int64_t colors_of(tn_ctx *c, const tn_sparsity *s, tn_partition p, tn_color_order order) {
    const tn_coloring_options o = {.size = sizeof o, .partition = p, .order = order};
    tn_coloring_arrays a = {.size = sizeof a};
    tn_coloring *k = tn_color(s, &o);
    if (!k) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_coloring_view(k, &a), TN_OK);
    tn_coloring_free(k);
    return a.forward;
}

/* ---- exhaustive search --------------------------------------------------------------------------- */

typedef struct small_graph {
    int n;
    bool edge[SMALL][SMALL];
} small_graph;

static small_graph graph_of(const tn_sparsity *s) {
    const tn_sparsity_arrays a = arrays(s, TN_CSR);
    small_graph g = {.n = (int)a.rows};
    assert_true(a.rows <= SMALL);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t k = a.ptr[i]; k < a.ptr[i + 1]; k++)
            if (a.ind[k] != i) g.edge[i][a.ind[k]] = true;
    return g;
}

/* Columns that share a row. */
static small_graph squared(const small_graph *g) {
    small_graph s = {.n = g->n};
    for (int i = 0; i < g->n; i++)
        for (int j = 0; j < g->n; j++)
            for (int r = 0; r < g->n; r++)
                if (i != j && (g->edge[r][i] || r == i) && (g->edge[r][j] || r == j)) s.edge[i][j] = true;
    return s;
}

static bool reaches(const small_graph *g, const int *color, int n, int from, int to, int before, int p, int q) {
    for (int w = 0; w < n; w++) {
        if (!g->edge[from][w] || w == before || (color[w] != p && color[w] != q)) continue;
        if (w == to || reaches(g, color, n, w, to, from, p, q)) return true;
    }
    return false;
}

/* Whether the colours of vertices 0 .. v are valid, where those of 0 .. v - 1 are. */
static bool extends(const small_graph *g, const int *color, int v, int kind) {
    const int n = v + 1;
    for (int w = 0; w < n; w++)
        if (g->edge[v][w] && color[w] == color[v]) return false;
    if (kind == ACYCLIC) /* a cycle through v leaves it and comes back */
        for (int w = 0; w < n; w++)
            if (g->edge[v][w] && reaches(g, color, n, w, v, v, color[v], color[w])) return false;
    for (int a = 0; kind == STAR && a < n; a++) /* all paths a - b - d - e: simpler than those with v alone */
        for (int b = 0; b < n; b++)
            for (int d = 0; g->edge[a][b] && d < n; d++)
                for (int e = 0; g->edge[b][d] && d != a && e < n; e++)
                    if (g->edge[d][e] && e != b && e != a && color[a] == color[d] && color[b] == color[e]) return false;
    return true;
}

static bool search(const small_graph *g, int *color, int v, int used, int most, int kind) {
    if (v == g->n) return true;
    for (int c = 0; c < most && c <= used; c++) {
        color[v] = c;
        if (extends(g, color, v, kind) && search(g, color, v + 1, c == used ? used + 1 : used, most, kind)) return true;
    }
    return false;
}

static int fewest(const tn_sparsity *s, int kind) {
    const small_graph plain = graph_of(s), square = squared(&plain), *g = kind == COLUMN ? &square : &plain;
    int color[SMALL], most = 1;
    while (!search(g, color, 0, 0, most, kind)) most++;
    return most;
}

/* Edges as pairs of numbers; all vertices have diagonal entries. */
static tn_sparsity *of_edges(tn_ctx *c, int n, int nedge, const int edge[][2]) {
    entries e = {n, n, 0, 0, NULL};
    for (int i = 0; i < n; i++) entry(&e, i, i);
    for (int i = 0; i < nedge; i++) both(&e, edge[i][0], edge[i][1]);
    return pattern(c, &e);
}

enum { PATH, CYCLE, COMPLETE, BIPARTITE, PETERSEN, CUBE, WHEEL };

static tn_sparsity *named(tn_ctx *c, int what, int m, int n) {
    int edge[64][2], k = 0;
    const int all = what == BIPARTITE ? m + n : what == PETERSEN ? 10 : what == CUBE ? 8 : what == WHEEL ? n + 1 : n;
#define EDGE(i, j) (edge[k][0] = (i), edge[k][1] = (j), k++)
    for (int i = 0; i + 1 < n && what == PATH; i++) EDGE(i, i + 1);
    for (int i = 0; i < n && (what == CYCLE || what == WHEEL); i++) EDGE(i, (i + 1) % n);
    for (int i = 0; i < n && what == WHEEL; i++) EDGE(i, n);
    for (int i = 0; i < n && what == COMPLETE; i++)
        for (int j = 0; j < i; j++) EDGE(i, j);
    for (int i = 0; i < m && what == BIPARTITE; i++)
        for (int j = 0; j < n; j++) EDGE(i, m + j);
    for (int i = 0; i < 5 && what == PETERSEN; i++) {
        EDGE(i, (i + 1) % 5);
        EDGE(i, i + 5);
        EDGE(i + 5, (i + 2) % 5 + 5);
    }
    for (int i = 0; i < 8 && what == CUBE; i++)
        for (int b = 1; b < 8; b *= 2)
            if (i < (i ^ b)) EDGE(i, i ^ b);
#undef EDGE
    return of_edges(c, all, k, (const int(*)[2])edge);
}

/* The optimum is what the design states, and nothing finds less. */
static void optimum_is(tn_ctx *c, const char *name, tn_sparsity *s, int column, int star, int acyclic) {
    const int want[KINDS] = {column, star, acyclic};
    for (int kind = 0; kind < KINDS; kind++) {
        if (fewest(s, kind) != want[kind]) fail_msg("%s: %d of kind %d", name, fewest(s, kind), kind);
        for (size_t i = 0; i < COUNT(ORDER); i++)
            if (colors_of(c, s, PARTITION[kind], ORDER[i]) < want[kind])
                fail_msg("%s: fewer colours than there can be, kind %d, order %zu", name, kind, i);
    }
}

static void test_optima(void **state) {
    tn_ctx *c = checked();
    (void)state;
    optimum_is(c, "path 3", named(c, PATH, 0, 3), 3, 2, 2);
    optimum_is(c, "path 4", named(c, PATH, 0, 4), 3, 3, 2);
    optimum_is(c, "path 10", named(c, PATH, 0, 10), 3, 3, 2);
    optimum_is(c, "cycle 4", named(c, CYCLE, 0, 4), 4, 3, 3);
    optimum_is(c, "cycle 5", named(c, CYCLE, 0, 5), 5, 4, 3);
    optimum_is(c, "cycle 6", named(c, CYCLE, 0, 6), 3, 3, 3);
    optimum_is(c, "cycle 7", named(c, CYCLE, 0, 7), 4, 3, 3);
    optimum_is(c, "cycle 8", named(c, CYCLE, 0, 8), 4, 3, 3);
    optimum_is(c, "K5", named(c, COMPLETE, 0, 5), 5, 5, 5);
    optimum_is(c, "K1,8", named(c, BIPARTITE, 1, 8), 9, 2, 2);
    optimum_is(c, "K3,3", named(c, BIPARTITE, 3, 3), 6, 4, 4);
    optimum_is(c, "K2,4", named(c, BIPARTITE, 2, 4), 6, 3, 3);
    optimum_is(c, "Petersen", named(c, PETERSEN, 0, 0), 10, 5, 4);
    optimum_is(c, "cube", named(c, CUBE, 0, 0), 4, 4, 4);
    optimum_is(c, "wheel 5+1", named(c, WHEEL, 0, 5), 6, 5, 4);
    optimum_is(c, "5-point 3x3", stencil(c, 1, 3, 3, false), 5, 4, 3);
    optimum_is(c, "5-point 4x4", stencil(c, 1, 4, 4, false), 5, 5, 3);
    optimum_is(c, "9-point 3x3", stencil(c, 1, 3, 3, true), 9, 5, 4);
    optimum_is(c, "9-point 4x4", stencil(c, 1, 4, 4, true), 9, 7, 5);
    optimum_is(c, "banded 8, 2", banded(c, 8, 2), 5, 5, 3);
    tn_ctx_free(c);
}

static void test_two_hundred(void **state) {
    static const int64_t optima[KINDS] = {1051, 766, 611};
    static const int64_t excess[KINDS][4] = {{20, 2, 0, 1}, {32, 47, 34, 37}, {34, 10, 8, 6}};
    int64_t sum[KINDS] = {0}, more[KINDS][4] = {{0}};
    tn_ctx *c = checked();
    uint64_t seed = 7;
    (void)state;
    for (int r = 0; r < 200; r++) {
        tn_sparsity *s = scattered_symmetric(c, &seed, 8, 12, true);
        for (int kind = 0; kind < KINDS; kind++) {
            const int best = fewest(s, kind);
            sum[kind] += best;
            for (int o = 0; o < 4; o++) {
                const int64_t n = colors_of(c, s, PARTITION[kind], ORDER[o]);
                assert_true(n >= best);
                more[kind][o] += n - best;
            }
        }
        tn_sparsity_free(s);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        assert_int_equal(sum[kind], optima[kind]);
        for (int o = 0; o < 4; o++) assert_int_equal(more[kind][o], excess[kind][o]);
    }
    tn_ctx_free(c);
}

/* ---- random patterns --------------------------------------------------------------------------------- */

enum { MOST = 16, MOST_NNZ = MOST * MOST };

/* A random matrix, what each colour's tangent or cotangent gives, and what is read of that. */
typedef struct compressed {
    double value[MOST_NNZ], forward[MOST][MOST], reverse[MOST][MOST], got[MOST_NNZ];
    tn_i_read read[MOST_NNZ];
} compressed;

/* Whole numbers, so that sums are exact in any order; symmetric ones have one number for both entries. */
static void compress(const tn_sparsity_arrays *a, const tn_coloring_arrays *k, bool symmetric, compressed *m) {
    memset(m, 0, sizeof *m);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
            const int64_t j = a->ind[e], low = i < j ? i : j, high = i < j ? j : i;
            const int64_t name = symmetric ? low * MOST + high : i * MOST + j;
            m->value[e] = (double)((name + 1) * 7919 % 1009 + 1) * 16384 + (double)name;
            if (k->column && k->column[j] >= 0) m->forward[k->column[j]][i] += m->value[e];
            if (k->row && k->row[i] >= 0) m->reverse[k->row[i]][j] += m->value[e];
        }
}

static void substitute(const tn_coloring *k, compressed *m) {
    tn_i_substitution u;
    double value[MOST_NNZ];
    assert_true(tn_i_coloring_substitution(k, &u));
    for (int64_t s = 0; s < u.steps; s++) value[s] = m->got[u.entry[s]];
    for (int64_t l = 0; l < u.levels; l++)
        for (int64_t s = u.level[l]; s < u.level[l + 1]; s++) {
            assert_true(u.into[s] == -1 || (u.into[s] >= u.level[l + 1] && u.into[s] < u.steps));
            m->got[u.entry[s]] = m->got[u.twin[s]] = value[s];
            if (u.into[s] >= 0) value[u.into[s]] -= value[s];
        }
    assert_int_equal(u.level[u.levels], u.steps);
    tn_i_substitution_free(&u);
}

static void reads_back(const tn_sparsity *s, const tn_coloring *k, const tn_coloring_arrays *c) {
    static compressed m;
    const tn_sparsity_arrays a = arrays(s, TN_CSR);
    const bool symmetric = c->partition == TN_COLOR_STAR || c->partition == TN_COLOR_ACYCLIC;
    compress(&a, c, symmetric, &m);
    assert_true(tn_i_coloring_reads(k, m.read));
    for (int64_t e = 0; e < a.nnz; e++) {
        const tn_i_read *r = &m.read[e];
        assert_true(r->colour >= 0 && r->colour < (r->reverse ? c->reverse : c->forward));
        assert_true(r->at >= 0 && r->at < (r->reverse ? a.columns : a.rows));
        m.got[e] = (r->reverse ? m.reverse : m.forward)[r->colour][r->at];
    }
    if (c->partition == TN_COLOR_ACYCLIC) substitute(k, &m);
    for (int64_t e = 0; e < a.nnz; e++)
        if (m.got[e] != m.value[e]) fail_msg("entry %lld is not recovered", (long long)e);
}

/* Each entry stands alone, by its column's colour in its row or by its row's colour in its column. */
static bool covers(const tn_sparsity_arrays *a, const tn_coloring_arrays *k) {
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
            const int64_t j = a->ind[e];
            int by_column = k->column && k->column[j] >= 0, by_row = k->row && k->row[i] >= 0;
            for (int64_t f = a->ptr[i]; f < a->ptr[i + 1] && by_column; f++)
                by_column = f == e || k->column[a->ind[f]] != k->column[j];
            for (int64_t r = 0; r < a->rows && by_row; r++)
                for (int64_t f = a->ptr[r]; r != i && f < a->ptr[r + 1]; f++)
                    if (a->ind[f] == j && k->row[r] == k->row[i]) by_row = 0;
            if (!by_column && !by_row) return false;
        }
    return true;
}

static void is_as_defined(tn_ctx *c, const tn_sparsity *s, const tn_coloring_options *o) {
    tn_coloring *k = tn_color(s, o);
    tn_coloring_arrays a = {.size = sizeof a};
    if (!k) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_coloring_view(k, &a), TN_OK);
    const tn_sparsity_arrays by_row = arrays(s, TN_CSR), by_column = arrays(s, TN_CSC);
    bool ok = true;
    if (a.partition == TN_COLOR_COLUMN)
        ok = !a.row && (!a.forward || is_proper(&by_row, by_row.rows, a.column, a.forward));
    if (a.partition == TN_COLOR_ROW)
        ok = !a.column && (!a.reverse || is_proper(&by_column, by_row.columns, a.row, a.reverse));
    if (a.partition == TN_COLOR_BIDIRECTIONAL) ok = covers(&by_row, &a);
    if (a.partition == TN_COLOR_STAR) ok = !a.forward || is_star(&by_row, a.column);
    if (a.partition == TN_COLOR_ACYCLIC) ok = !a.forward || is_acyclic(&by_row, a.column, a.forward);
    if (o->partition != TN_COLOR_AUTO) assert_int_equal(a.partition, o->partition);
    if (!ok) fail_msg("partition %d, order %d is not as defined", (int)a.partition, (int)a.order);
    reads_back(s, k, &a);
    tn_coloring_free(k);
}

static void test_random_graphs(void **state) {
    static const tn_partition any[] = {TN_COLOR_AUTO, TN_COLOR_COLUMN, TN_COLOR_ROW, TN_COLOR_BIDIRECTIONAL};
    tn_ctx *c = checked();
    uint64_t seed = 11;
    (void)state;
    for (int r = 0; r < 100000 / SHORTER; r++) {
        const int64_t n = draw(&seed, MOST) + 1;
        tn_sparsity *s = scattered_symmetric(c, &seed, n, draw(&seed, 2 * n + 1), draw(&seed, 4) > 0);
        tn_coloring_options o = {.size = sizeof o, .order = ORDER[r % (int)COUNT(ORDER)]};
        o.partition = TN_COLOR_STAR;
        is_as_defined(c, s, &o);
        o.partition = TN_COLOR_ACYCLIC;
        is_as_defined(c, s, &o);
        tn_sparsity_free(s);
        const int64_t rows = draw(&seed, MOST) + 1, columns = draw(&seed, MOST) + 1;
        s = scattered(c, &seed, rows, columns, draw(&seed, 3 * (rows + columns)));
        o.partition = any[draw(&seed, (int64_t)COUNT(any))];
        o.reverse_cost = (double)draw(&seed, 4) / 2;
        is_as_defined(c, s, &o);
        tn_sparsity_free(s);
    }
    tn_ctx_free(c);
}

/* Of derivatives that are symmetric: a star colouring, unless columns have fewer colours (here: the structure of the
 * last is not symmetric). */
static void test_auto_of_symmetric(void **state) {
    static const struct {
        tn_partition partition;
        int64_t colors;
    } want[] = {{TN_COLOR_STAR, 9}, {TN_COLOR_STAR, 5}, {TN_COLOR_STAR, 2}, {TN_COLOR_COLUMN, 199}};
    tn_ctx *c = checked();
    (void)state;
    tn_sparsity *s[] = {stencil(c, 1, 32, 32, true), stencil(c, 1, 32, 32, false), cross(c, 100, 0, 0),
                        cross(c, 199, 3, -1)};
    for (size_t i = 0; i < COUNT(s); i++) {
        tn_coloring_options o = {.size = sizeof o};
        if (i == 3) o.reverse_cost = 1000; /* its structure is not symmetric, whatever the caller says */
        tn_coloring *k = tn_i_color(s[i], &o, true);
        tn_coloring_arrays a = {.size = sizeof a};
        assert_non_null(k);
        assert_int_equal(tn_coloring_view(k, &a), TN_OK);
        assert_int_equal(a.partition, want[i].partition);
        assert_int_equal(a.forward, want[i].colors);
        tn_coloring_free(k);
    }
    tn_ctx_free(c);
}

/* Larger ones, of all degrees: bands of keys that not all vertices may have. */
static void test_orders_by_definition(void **state) {
    tn_ctx *c = checked();
    uint64_t seed = 3;
    (void)state;
    for (int r = 0; r < 300 / SHORTER; r++) {
        const int64_t n = draw(&seed, 200) + 1, hubs = draw(&seed, 4);
        entries e = {n, n, 0, 0, NULL};
        for (int64_t k = 0; k < 2 * n; k++) {
            const int64_t i = draw(&seed, n);
            both(&e, i, draw(&seed, n));
        }
        for (int64_t h = 0; h < hubs; h++)
            for (int64_t k = 0; k < n / (h + 2); k++) both(&e, h * n / 4, draw(&seed, n));
        tn_sparsity *s = pattern(c, &e);
        const tn_sparsity_arrays a = arrays(s, TN_CSR);
        tn_i_arena memory;
        tn_i_arena_init(&memory, c);
        tn_i_graph g;
        int64_t *got = tn_i_arena_alloc(&memory, 200 * sizeof *got);
        assert_true(got && tn_i_graph_of(&memory, s, false, &g));
        for (int greatest = 0; greatest < 2; greatest++) {
            int64_t key[200] = {0};
            bool gone[200] = {false};
            assert_true(
                tn_i_order_graph(&memory, &g, greatest ? TN_ORDER_INCIDENCE_DEGREE : TN_ORDER_SMALLEST_LAST, got));
            for (int64_t i = 0; i < n && !greatest; i++)
                for (int64_t k = a.ptr[i]; k < a.ptr[i + 1]; k++) key[i] += a.ind[k] != i;
            for (int64_t step = 0; step < n; step++) {
                int64_t v = -1;
                for (int64_t w = 0; w < n; w++)
                    if (!gone[w] && (v < 0 || (greatest ? key[w] > key[v] : key[w] < key[v]))) v = w;
                assert_int_equal(got[greatest ? step : n - 1 - step], v);
                gone[v] = true;
                for (int64_t k = a.ptr[v]; k < a.ptr[v + 1]; k++)
                    if (a.ind[k] != v) key[a.ind[k]] += greatest ? 1 : -1;
            }
        }
        tn_i_arena_free(&memory);
        tn_sparsity_free(s);
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optima),
        cmocka_unit_test(test_two_hundred),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_auto_of_symmetric),
        cmocka_unit_test(test_orders_by_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
