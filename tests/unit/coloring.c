/* Colourings: the design's table number by number, what AUTO and BEST choose, lattices, determinism, errors. */
#include "tracing.h"

#include "sparse_patterns.h"

#include <stdio.h>

static const tn_color_order ORDER[] = {TN_ORDER_NATURAL, TN_ORDER_LARGEST_FIRST, TN_ORDER_SMALLEST_LAST,
                                       TN_ORDER_INCIDENCE_DEGREE};

static tn_coloring_options by(tn_partition p, tn_color_order o) {
    return (tn_coloring_options){.size = sizeof(tn_coloring_options), .partition = p, .order = o};
}

static tn_coloring_arrays colored(tn_ctx *c, const tn_sparsity *s, const tn_coloring_options *o, tn_coloring **k) {
    tn_coloring_arrays a = {.size = sizeof a};
    *k = tn_color(s, o);
    if (!*k) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_coloring_view(*k, &a), TN_OK);
    return a;
}

/* ---- the table ------------------------------------------------------------------------------------ */

/* Colours in the four orders; the first 0: the partition is not asked for. */
typedef struct expected {
    int64_t nnz, column[4], row[4], star[4], acyclic[4];
} expected;

#define ALL(n) \
    { n, n, n, n }

static bool suits(const tn_sparsity *s, const tn_coloring_arrays *k) {
    const tn_sparsity_arrays a = arrays(s, TN_CSR), t = arrays(s, TN_CSC);
    switch (k->partition) {
    case TN_COLOR_COLUMN: return k->reverse == 0 && !k->row && is_proper(&a, a.rows, k->column, k->forward);
    case TN_COLOR_ROW: return k->forward == 0 && !k->column && is_proper(&t, a.columns, k->row, k->reverse);
    case TN_COLOR_STAR: return k->reverse == 0 && is_star(&a, k->column);
    case TN_COLOR_ACYCLIC: return k->reverse == 0 && is_acyclic(&a, k->column, k->forward);
    default: return false;
    }
}

static void counts_are(tn_ctx *c, const char *name, const tn_sparsity *s, tn_partition p, const int64_t want[4]) {
    for (size_t i = 0; i < COUNT(ORDER) && want[0]; i++) {
        const tn_coloring_options o = by(p, ORDER[i]);
        tn_coloring *k;
        const tn_coloring_arrays a = colored(c, s, &o, &k);
        assert_int_equal(a.partition, p);
        assert_int_equal(a.order, ORDER[i]);
        if (!suits(s, &a)) fail_msg("%s: partition %d, order %d is no such colouring", name, (int)p, (int)ORDER[i]);
        if (a.forward + a.reverse != want[i])
            fail_msg("%s: partition %d, order %d: %lld colours, not %lld", name, (int)p, (int)ORDER[i],
                     (long long)(a.forward + a.reverse), (long long)want[i]);
        tn_coloring_free(k);
    }
}

static void table(tn_ctx *c, const char *name, tn_sparsity *s, const expected *e) {
    if (arrays(s, TN_CSR).nnz != e->nnz) fail_msg("%s: %lld entries", name, (long long)arrays(s, TN_CSR).nnz);
    counts_are(c, name, s, TN_COLOR_COLUMN, e->column);
    counts_are(c, name, s, TN_COLOR_ROW, e->row);
    counts_are(c, name, s, TN_COLOR_STAR, e->star);
    counts_are(c, name, s, TN_COLOR_ACYCLIC, e->acyclic);
    tn_sparsity_free(s);
}

static void test_bands_and_arrows(void **state) {
    tn_ctx *c = checked();
    (void)state;
    table(c, "tridiagonal 100", banded(c, 100, 1), &(expected){298, ALL(3), ALL(3), ALL(3), ALL(2)});
    table(c, "banded 200, 2", banded(c, 200, 2), &(expected){994, ALL(5), ALL(5), ALL(5), ALL(3)});
    table(c, "banded 200, 5", banded(c, 200, 5), &(expected){2170, ALL(11), ALL(11), ALL(11), ALL(6)});
    table(c, "arrow 100", cross(c, 100, 0, 0), &(expected){298, ALL(100), ALL(100), ALL(2), ALL(2)});
    table(c, "arrow 100, last", cross(c, 100, 99, 99), &(expected){298, ALL(100), ALL(100), ALL(2), ALL(2)});
    table(c, "row 0 + diagonal", cross(c, 100, 0, -1), &(expected){199, ALL(100), ALL(2), {0}, {0}});
    table(c, "column 0 + diagonal", cross(c, 100, -1, 0), &(expected){199, ALL(2), ALL(100), {0}, {0}});
    table(c, "20 blocks 5x5", blocks(c, 20, 5), &(expected){500, ALL(5), ALL(5), ALL(5), ALL(5)});
    tn_ctx_free(c);
}

static void test_grids(void **state) {
    tn_ctx *c = checked();
    (void)state;
    table(c, "5-point 32x32", stencil(c, 1, 32, 32, false), &(expected){4992, ALL(7), ALL(7), {5, 5, 6, 5}, ALL(4)});
    table(c, "9-point 32x32", stencil(c, 1, 32, 32, true),
          &(expected){8836, {9, 9, 11, 11}, {9, 9, 11, 11}, ALL(11), {6, 6, 7, 7}});
    table(c, "7-point 10x10x10", stencil(c, 10, 10, 10, false),
          &(expected){6400, {12, 11, 11, 12}, {12, 11, 11, 12}, ALL(11), {6, 6, 7, 6}});
    tn_ctx_free(c);
}

static void test_of_control(void **state) {
    static const int full[4] = {31, 31, 31, 31}, structural[4] = {31, 26, 30, 26};
    tn_ctx *c = checked();
    (void)state;
    table(c, "OCP J, full blocks", shooting(c, 30, full, true), &(expected){728, ALL(9), ALL(8), {0}, {0}});
    table(c, "OCP J", shooting(c, 30, structural, true), &(expected){578, {7, 8, 7, 7}, {6, 7, 6, 6}, {0}, {0}});
    table(c, "OCP J, varying", shooting(c, 30, structural, false), &(expected){450, ALL(5), ALL(4), {0}, {0}});
    table(c, "OCP H", shooting_hessian(c, 30), &(expected){270, ALL(3), ALL(3), ALL(3), ALL(3)});
    table(c, "chain J 50", chain(c, 50, false), &(expected){700, ALL(6), ALL(6), {0}, {0}});
    table(c, "chain J 400", chain(c, 400, false), &(expected){5600, ALL(6), ALL(6), {0}, {0}});
    table(c, "chain H 50", chain(c, 50, true), &(expected){153, ALL(2), ALL(2), ALL(2), ALL(2)});
    table(c, "chain H 400", chain(c, 400, true), &(expected){1203, ALL(2), ALL(2), ALL(2), ALL(2)});
    tn_ctx_free(c);
}

static void test_bundles(void **state) {
    tn_ctx *c = checked();
    (void)state;
    table(c, "bundle adjustment", bundle(c, 10, 200), &(expected){19200, ALL(12), {160, 160, 164, 162}, {0}, {0}});
    table(c, "its J'J", product(c, bundle(c, 10, 200)),
          &(expected){45810, {324, 300, 360, 351}, {0}, {309, 309, 57, 144}, {213, 213, 57, 144}});
    tn_ctx_free(c);
}

static void test_random(void **state) {
    tn_ctx *c = checked();
    uint64_t s = 1;
    (void)state;
    table(c, "random 60x50", scattered(c, &s, 60, 50, 300),
          &(expected){286, {13, 12, 12, 12}, {14, 14, 12, 12}, {0}, {0}});
    s = 1;
    table(c, "random symmetric 100", scattered_symmetric(c, &s, 100, 300, true),
          &(expected){672, {19, 16, 15, 16}, {0}, {14, 13, 11, 11}, {6, 6, 6, 6}});
    s = 1;
    table(c, "random 2000x2000", scattered(c, &s, 2000, 2000, 10000),
          &(expected){9990, {17, 13, 13, 14}, {17, 14, 14, 14}, {0}, {0}});
    tn_ctx_free(c);
}

/* ---- lattices ----------------------------------------------------------------------------------------- */

static tn_coloring_options on_grid(tn_partition p, tn_color_order o, int rank, int64_t n0, int64_t n1, int64_t n2) {
    tn_coloring_options k = by(p, o);
    k.rank = rank;
    k.grid[0] = n0, k.grid[1] = n1, k.grid[2] = n2;
    return k;
}

/* colors(a1 i1 + ..), with names given as they come. */
static void lattice_is(tn_ctx *c, tn_sparsity *s, const tn_coloring_options *o, int64_t colors, const int64_t *a) {
    tn_coloring *k;
    const tn_coloring_arrays got = colored(c, s, o, &k);
    int32_t name[32], n = 0;
    memset(name, -1, sizeof name);
    assert_int_equal(got.forward, colors);
    assert_int_equal(got.order, TN_ORDER_LATTICE);
    assert_true(suits(s, &got));
    for (int64_t j = 0; j < arrays(s, TN_CSR).columns; j++) {
        int64_t at = j, sum = 0;
        for (int d = o->rank; d-- > 0; at /= o->grid[d]) sum += a[d] * (at % o->grid[d]);
        if (name[sum % colors] < 0) name[sum % colors] = n++;
        assert_int_equal(got.column[j], name[sum % colors]);
    }
    tn_coloring_free(k);
}

static void test_lattices(void **state) {
    static const int64_t A5[] = {2, 1}, A9[] = {3, 1}, A7[] = {2, 3, 1};
    static const tn_partition both[] = {TN_COLOR_COLUMN, TN_COLOR_STAR};
    tn_ctx *c = checked();
    (void)state;
    tn_sparsity *s5 = stencil(c, 1, 32, 32, false), *s9 = stencil(c, 1, 32, 32, true);
    tn_sparsity *s7 = stencil(c, 10, 10, 10, false);
    const tn_coloring_options c5 = on_grid(TN_COLOR_COLUMN, TN_ORDER_LATTICE, 2, 32, 32, 0);
    const tn_coloring_options c9 = on_grid(TN_COLOR_COLUMN, TN_ORDER_LATTICE, 2, 32, 32, 0);
    const tn_coloring_options c7 = on_grid(TN_COLOR_COLUMN, TN_ORDER_LATTICE, 3, 10, 10, 10);
    lattice_is(c, s5, &c5, 5, A5);
    lattice_is(c, s9, &c9, 9, A9);
    lattice_is(c, s7, &c7, 7, A7);
    for (size_t i = 0; i < COUNT(both); i++) { /* BEST finds it where it has fewer colours than first fit */
        tn_coloring *k;
        tn_coloring_options o = on_grid(both[i], TN_ORDER_BEST, 3, 10, 10, 10);
        tn_coloring_arrays a = colored(c, s7, &o, &k);
        assert_int_equal(a.forward, 7);
        assert_int_equal(a.order, TN_ORDER_LATTICE);
        assert_true(suits(s7, &a));
        tn_coloring_free(k);
        o = on_grid(both[i], TN_ORDER_BEST, 2, 32, 32, 0);
        a = colored(c, s5, &o, &k);
        assert_int_equal(a.forward, 5);
        assert_int_equal(a.order, i ? TN_ORDER_NATURAL : TN_ORDER_LATTICE); /* star: natural has 5, too, and is first */
        tn_coloring_free(k);
        o = on_grid(both[i], TN_ORDER_LATTICE, 2, 32, 32, 0);
        a = colored(c, s9, &o, &k);
        assert_true(a.forward <= 9);
        assert_true(suits(s9, &a));
        tn_coloring_free(k);
    }
    tn_ctx_free(c);
}

/* Grids of any extents, those of one element and of fewer than colours among them. */
static void test_lattices_of_small_grids(void **state) {
    tn_ctx *c = checked();
    (void)state;
    for (int64_t n0 = 1; n0 < 5; n0++)
        for (int64_t n1 = 1; n1 < 5; n1++)
            for (int64_t n2 = 1; n2 < 5; n2++)
                for (int corners = 0; corners < 2; corners++)
                    for (int star = 0; star < 2; star++) {
                        tn_sparsity *s = stencil(c, n0, n1, n2, corners);
                        const tn_coloring_options o =
                            on_grid(star ? TN_COLOR_STAR : TN_COLOR_COLUMN, TN_ORDER_LATTICE, 3, n0, n1, n2);
                        tn_coloring *k;
                        const tn_coloring_arrays a = colored(c, s, &o, &k);
                        assert_true(suits(s, &a));
                        tn_coloring_free(k);
                        tn_sparsity_free(s);
                    }
    tn_ctx_free(c);
}

/* A grid as a vector, as solvers have it: no grid is said, and there is no colour more than the longest row has
 * entries. Two unknowns a point, coupled: they stand side by side. */
static void test_vectors_that_are_grids(void **state) {
    static const int64_t side[][3] = {{1, 100, 100}, {1, 5, 10}, {1, 7, 40}, {1, 65, 33}, {8, 9, 10}, {12, 12, 12}};
    tn_ctx *c = checked();
    (void)state;
    for (size_t i = 0; i < COUNT(side); i++)
        for (int corners = 0; corners < 2; corners++) {
            const int64_t *n = side[i], longest = n[0] == 1 ? (corners ? 9 : 5) : corners ? 27 : 7;
            tn_coloring *k;
            tn_coloring_options o = by(TN_COLOR_COLUMN, TN_ORDER_BEST);
            tn_sparsity *s = stencil(c, n[0], n[1], n[2], corners);
            const tn_coloring_arrays a = colored(c, s, &o, &k);
            assert_true(suits(s, &a));
            assert_int_equal(a.forward, longest);
            tn_coloring_free(k);
        }
    entries two = {2 * 40 * 30, 2 * 40 * 30, 0, 0, NULL};
    for (int64_t i = 0; i < 40; i++)
        for (int64_t j = 0; j < 30; j++)
            for (int64_t u = 0; u < 2; u++) {
                const int64_t at = 2 * (30 * i + j) + u;
                entry(&two, at, at);
                entry(&two, at, at + 1 - 2 * u);
                if (i > 0) entry(&two, at, at - 60);
                if (i < 39) entry(&two, at, at + 60);
                if (j > 0) entry(&two, at, at - 2);
                if (j < 29) entry(&two, at, at + 2);
            }
    tn_sparsity *s = pattern(c, &two);
    tn_coloring *k;
    tn_coloring_options o = by(TN_COLOR_COLUMN, TN_ORDER_BEST);
    const tn_coloring_arrays a = colored(c, s, &o, &k);
    assert_true(suits(s, &a));
    assert_int_equal(a.forward, 6);
    tn_ctx_free(c);
}

/* ---- bidirectional, AUTO --------------------------------------------------------------------------------- */

static void forward_and_reverse(tn_ctx *c, tn_sparsity *s, tn_partition p, double reverse_cost, tn_partition want,
                                int64_t forward, int64_t reverse) {
    tn_coloring_options o = by(p, TN_ORDER_BEST);
    o.reverse_cost = reverse_cost;
    tn_coloring *k;
    const tn_coloring_arrays a = colored(c, s, &o, &k);
    assert_int_equal(a.partition, want);
    assert_int_equal(a.forward, forward);
    assert_int_equal(a.reverse, reverse);
    assert_int_equal(a.column == NULL, forward == 0);
    assert_int_equal(a.row == NULL, reverse == 0);
    tn_coloring_free(k);
}

static void test_bidirectional(void **state) {
    static const tn_partition two = TN_COLOR_BIDIRECTIONAL;
    tn_ctx *c = checked();
    (void)state;
    forward_and_reverse(c, cross(c, 100, 0, 0), two, 0, two, 2, 1);
    forward_and_reverse(c, cross(c, 100, 0, 0), TN_COLOR_AUTO, 0, two, 2, 1);
    forward_and_reverse(c, cross(c, 100, 0, 0), TN_COLOR_AUTO, 3, two, 2, 1); /* 5, the other way it is 7 */
    forward_and_reverse(c, cross(c, 100, 0, 0), TN_COLOR_AUTO, 0.25, two, 1, 2);
    forward_and_reverse(c, cross(c, 100, 0, -1), TN_COLOR_AUTO, 0, TN_COLOR_ROW, 0, 2);
    forward_and_reverse(c, cross(c, 100, -1, 0), TN_COLOR_AUTO, 0, TN_COLOR_COLUMN, 2, 0);
    entries e = {100, 100, 0, 0, NULL};
    for (int64_t i = 0; i < 100; i++) {
        for (int64_t j = i - 1; j < i + 2; j++)
            if (j >= 0 && j < 100) entry(&e, i, j);
        entry(&e, 7, i);
        entry(&e, i, 3);
    }
    tn_sparsity *s = pattern(c, &e);
    forward_and_reverse(c, s, two, 0, two, 4, 1);
    forward_and_reverse(c, s, TN_COLOR_AUTO, 0, two, 4, 1);
    forward_and_reverse(c, s, TN_COLOR_AUTO, 0.1, two, 1, 4);
    /* one sum over half of many variables: nothing takes the square of its length */
    entries sum = {200001, 200000, 0, 0, NULL};
    for (int64_t i = 0; i < 200000; i++) {
        entry(&sum, i, i);
        if (i % 2) entry(&sum, 200000, i);
    }
    forward_and_reverse(c, pattern(c, &sum), TN_COLOR_AUTO, 0, TN_COLOR_ROW, 0, 2);
    entries half = {200000, 200000, 0, 0, NULL}; /* and of a column as well */
    for (int64_t i = 0; i < 200000; i++) {
        entry(&half, i, i);
        if (i % 2) both(&half, 0, i);
    }
    forward_and_reverse(c, pattern(c, &half), TN_COLOR_AUTO, 0, two, 2, 1);
    tn_ctx_free(c);
}

static void test_auto(void **state) {
    static const int structural[4] = {31, 26, 30, 26};
    tn_ctx *c = checked();
    (void)state;
    forward_and_reverse(c, shooting(c, 30, structural, true), TN_COLOR_AUTO, 0, TN_COLOR_ROW, 0, 6);
    forward_and_reverse(c, shooting(c, 30, structural, true), TN_COLOR_AUTO, 2, TN_COLOR_COLUMN, 7, 0);
    forward_and_reverse(c, bundle(c, 10, 200), TN_COLOR_AUTO, 0, TN_COLOR_COLUMN, 12, 0);
    forward_and_reverse(c, banded(c, 50, 1), TN_COLOR_AUTO, 0, TN_COLOR_COLUMN, 3, 0); /* symmetric, but no Hessian */
    forward_and_reverse(c, banded(c, 50, 1), TN_COLOR_AUTO, 0.5, TN_COLOR_ROW, 0, 3);
    tn_ctx_free(c);
}

/* ---- edges ---------------------------------------------------------------------------------------------------- */

static void test_empty(void **state) {
    static const int64_t zero[8] = {0};
    tn_ctx *c = checked();
    (void)state;
    for (int64_t rows = 0; rows < 3; rows++)
        for (int64_t columns = 0; columns < 3; columns++)
            for (int p = TN_COLOR_AUTO; p <= TN_COLOR_ACYCLIC; p++)
                for (int o = TN_ORDER_BEST; o <= TN_ORDER_INCIDENCE_DEGREE; o++) {
                    tn_sparsity *s = tn_sparsity_csr(c, rows, columns, zero, NULL);
                    const tn_coloring_options opt = by((tn_partition)p, (tn_color_order)o);
                    tn_coloring *k;
                    if (p >= TN_COLOR_STAR && rows != columns) {
                        assert_null(tn_color(s, &opt));
                        continue;
                    }
                    const tn_coloring_arrays a = colored(c, s, &opt, &k);
                    assert_int_equal(a.forward + a.reverse, 0);
                    assert_null(a.column);
                    assert_null(a.row);
                    assert_int_not_equal(a.partition, TN_COLOR_AUTO);
                    assert_int_not_equal(a.order, TN_ORDER_BEST);
                }
    tn_ctx_free(c);
}

/* One row of some entries, one column; columns without entries are in no colour. */
static void test_single(void **state) {
    static const int64_t ptr[] = {0, 2}, ind[] = {1, 3}, down[] = {0, 1, 1, 2}, first[] = {0, 0};
    tn_ctx *c = checked();
    (void)state;
    tn_sparsity *row = tn_sparsity_csr(c, 1, 5, ptr, ind), *column = tn_sparsity_csr(c, 3, 1, down, first);
    tn_coloring *k;
    tn_coloring_options o = by(TN_COLOR_COLUMN, TN_ORDER_BEST);
    tn_coloring_arrays a = colored(c, row, &o, &k);
    const int32_t want[] = {-1, 0, -1, 1, -1};
    assert_int_equal(a.forward, 2);
    assert_memory_equal(a.column, want, sizeof want);
    forward_and_reverse(c, row, TN_COLOR_AUTO, 0, TN_COLOR_ROW, 0, 1);
    o.partition = TN_COLOR_ROW;
    a = colored(c, column, &o, &k);
    const int32_t down_want[] = {0, -1, 1};
    assert_int_equal(a.reverse, 2);
    assert_memory_equal(a.row, down_want, sizeof down_want);
    forward_and_reverse(c, column, TN_COLOR_AUTO, 0, TN_COLOR_COLUMN, 1, 0);
    tn_ctx_free(c);
}

static void refused(tn_ctx *c, const tn_sparsity *s, tn_coloring_options o, const char *why) {
    assert_null(tn_color(s, &o));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    if (!strstr(tn_error(c), why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(c), why);
}

static void test_errors(void **state) {
    tn_ctx *c = checked();
    (void)state;
    tn_sparsity *s = cross(c, 9, 4, -1), *grid = stencil(c, 1, 3, 3, false), *wide;
    entries e = {3, 9, 0, 0, NULL};
    wide = pattern(c, &e);
    assert_null(tn_color(NULL, NULL));
    refused(c, s, (tn_coloring_options){.partition = TN_COLOR_ROW}, "size");
    refused(c, s, by((tn_partition)6, TN_ORDER_BEST), "partition 6");
    refused(c, s, by(TN_COLOR_COLUMN, (tn_color_order)6), "order 6");
    refused(c, s, by(TN_COLOR_STAR, TN_ORDER_BEST), "(4, 0) is in it, (0, 4) is not");
    refused(c, s, by(TN_COLOR_ACYCLIC, TN_ORDER_BEST), "acyclic");
    refused(c, wide, by(TN_COLOR_STAR, TN_ORDER_BEST), "3 x 9");
    refused(c, cross(c, 40, 0, 0), by(TN_COLOR_COLUMN, TN_ORDER_LATTICE), "no lattice");
    refused(c, grid, on_grid(TN_COLOR_ROW, TN_ORDER_LATTICE, 2, 3, 3, 0), "of columns");
    refused(c, grid, on_grid(TN_COLOR_COLUMN, TN_ORDER_BEST, 2, 3, 4, 0), "3 x 4");
    refused(c, grid, on_grid(TN_COLOR_COLUMN, TN_ORDER_BEST, 4, 3, 3, 1), "rank 4");
    refused(c, grid, on_grid(TN_COLOR_COLUMN, TN_ORDER_BEST, -1, 3, 3, 1), "rank -1");
    refused(c, cross(c, 100, 0, 0), on_grid(TN_COLOR_COLUMN, TN_ORDER_LATTICE, 1, 100, 0, 0), "no lattice");
    tn_coloring_options o = by(TN_COLOR_ROW, TN_ORDER_BEST);
    o.reverse_cost = -1;
    refused(c, s, o, "reverse_cost");
    o.reverse_cost = (double)NAN;
    refused(c, s, o, "reverse_cost");
    tn_coloring *k = tn_color(grid, NULL);
    assert_non_null(k);
    assert_int_equal(tn_coloring_view(NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_coloring_view(k, NULL), TN_EINVAL);
    assert_int_equal(tn_coloring_view(k, &(tn_coloring_arrays){0}), TN_EINVAL);
    tn_sparsity_free(grid); /* the colouring keeps it */
    tn_coloring_arrays a = {.size = sizeof a};
    assert_int_equal(tn_coloring_view(k, &a), TN_OK);
    tn_coloring_free(k);
    tn_coloring_free(NULL);
    tn_ctx_free(c);
}

/* The same colours again, and those that another context finds. */
static void test_determinism(void **state) {
    (void)state;
    for (int p = TN_COLOR_AUTO; p <= TN_COLOR_ACYCLIC; p++) {
        int32_t first[100] = {0};
        for (int again = 0; again < 3; again++) {
            tn_ctx *c = checked();
            uint64_t seed = 5;
            tn_sparsity *s = scattered_symmetric(c, &seed, 100, 300, true);
            const tn_coloring_options o = by((tn_partition)p, TN_ORDER_BEST);
            tn_coloring *k;
            const tn_coloring_arrays a = colored(c, s, &o, &k);
            const int32_t *color = a.column ? a.column : a.row;
            if (again) assert_memory_equal(first, color, sizeof first);
            memcpy(first, color, sizeof first);
            tn_ctx_free(c);
        }
    }
}

/* Colours as they are, of all partitions and orders, by a hash that was recorded once: other machines and compilers
 * find the same. */
static void test_recorded(void **state) {
    tn_ctx *c = checked();
    uint64_t seed = 9, hash = UINT64_C(14695981039346656037);
    (void)state;
    tn_sparsity *s[] = {scattered_symmetric(c, &seed, 300, 900, true), stencil(c, 1, 20, 15, false),
                        stencil(c, 1, 20, 15, true)};
    for (size_t i = 0; i < COUNT(s); i++)
        for (int p = TN_COLOR_AUTO; p <= TN_COLOR_ACYCLIC; p++)
            for (int order = TN_ORDER_BEST; order <= TN_ORDER_INCIDENCE_DEGREE; order++) {
                const tn_coloring_options o = on_grid((tn_partition)p, (tn_color_order)order, 2, 20, 15, 0);
                tn_coloring *k;
                const tn_coloring_arrays a = colored(c, s[i], &o, &k);
                for (int64_t j = 0; j < 300; j++) {
                    hash = (hash ^ (uint64_t)(a.column ? a.column[j] + 1 : 0)) * UINT64_C(1099511628211);
                    hash = (hash ^ (uint64_t)(a.row ? a.row[j] + 1 : 0)) * UINT64_C(1099511628211);
                }
                tn_coloring_free(k);
            }
    if (hash != UINT64_C(11437152177012779177)) fail_msg("colours are others: %llu", (unsigned long long)hash);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bands_and_arrows),
        cmocka_unit_test(test_grids),
        cmocka_unit_test(test_of_control),
        cmocka_unit_test(test_bundles),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_lattices),
        cmocka_unit_test(test_lattices_of_small_grids),
        cmocka_unit_test(test_vectors_that_are_grids),
        cmocka_unit_test(test_bidirectional),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
