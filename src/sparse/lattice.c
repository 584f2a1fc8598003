/* Colours of a grid's elements by a formula: (a1 i1 + a2 i2 + ..) mod K.  Stencils have one with as many colours as
 * their longest row, where first fit needs some more.
 *
 * A vector may be a grid whose rows stand one after the other: the distances in its pattern say of what length.
 *
 * The last factor may be taken from the divisors of K: any other becomes one of them when all are multiplied by a
 * number without a common divisor with K, which only gives the colours other names. */
#include "sparse/coloring.h"

#include <string.h>

enum { MOST_COLORS = 32, AXES = 3, HARD = 8, WHOLE_CHECKS = 32, MOST_FOLDS = 8 };

typedef struct lattice {
    const tn_sparsity *s;
    bool star;
    int64_t grid[AXES];
    int64_t colors, factor[AXES];
    uint8_t *table; /* all colours, while `filled` */
    bool filled;
    int64_t hard[HARD]; /* rows on which the last tries failed: they are looked at first */
    int nhard, next;
    int whole; /* how often all rows were looked at */
} lattice;

static int color_of(const lattice *l, int64_t j) {
    if (l->filled) return l->table[j];
    const int64_t i2 = j % l->grid[2], i1 = j / l->grid[2] % l->grid[1], i0 = j / l->grid[2] / l->grid[1];
    int64_t sum = 0; /* of numbers below 32: indices may be large */
    sum += l->factor[0] * (i0 % l->colors) + l->factor[1] * (i1 % l->colors) + l->factor[2] * (i2 % l->colors);
    return (int)(sum % l->colors);
}

static void fill(lattice *l) {
    uint8_t *at = l->table;
    for (int64_t i0 = 0; i0 < l->grid[0]; i0++)
        for (int64_t i1 = 0; i1 < l->grid[1]; i1++) {
            int64_t c = (l->factor[0] * (i0 % l->colors) + l->factor[1] * (i1 % l->colors)) % l->colors;
            for (int64_t i2 = 0; i2 < l->grid[2]; i2++) {
                *at++ = (uint8_t)c;
                c += l->factor[2];
                if (c >= l->colors) c -= l->colors;
            }
        }
    l->filled = true;
}

/* Colours of the entries of row i, but for the diagonal of a graph: all, and those that are there twice. */
static void colors_in(const lattice *l, int64_t i, uint32_t *once, uint32_t *twice) {
    *once = *twice = 0;
    for (int64_t k = l->s->ptr[i]; k < l->s->ptr[i + 1]; k++) {
        if (l->star && l->s->ind[k] == i) continue;
        const uint32_t bit = UINT32_C(1) << color_of(l, l->s->ind[k]);
        *twice |= *once & bit;
        *once |= bit;
    }
}

/* No path of four vertices with row i's inside has two colours; a column of the row has its colours for itself. */
static bool row_suits(const lattice *l, int64_t i) {
    uint32_t once, twice, there, again;
    colors_in(l, i, &once, &twice);
    if (!l->star) return !twice;
    const uint32_t own = UINT32_C(1) << color_of(l, i);
    if (once & own) return false;
    for (int64_t k = l->s->ptr[i]; twice && k < l->s->ptr[i + 1]; k++) {
        const int64_t j = l->s->ind[k];
        if (j == i || !(twice & UINT32_C(1) << color_of(l, j))) continue;
        colors_in(l, j, &there, &again);
        if (again & own) return false;
    }
    return true;
}

static bool suits(lattice *l) {
    l->filled = false;
    for (int i = 0; i < l->nhard; i++)
        if (!row_suits(l, l->hard[i])) return false;
    if (l->whole++ == WHOLE_CHECKS) return false;
    fill(l);
    for (int64_t i = 0; i < l->s->rows; i++)
        if (!row_suits(l, i)) {
            l->hard[l->next] = i;
            l->next = (l->next + 1) % HARD;
            if (l->nhard < HARD) l->nhard++;
            return false;
        }
    return true;
}

/* All factors of one number of colours, those of axes of one element are 0; the last axis' is a divisor, 1 first. */
static bool factors_suit(lattice *l) {
    const int64_t k = l->colors;
    for (int64_t d = 1; d <= k; d++) {
        if (k % d || (l->grid[2] == 1 && d < k)) continue;
        for (int64_t a = 0; a < (l->grid[0] > 1 ? k : 1); a++)
            for (int64_t b = 0; b < (l->grid[1] > 1 ? k : 1); b++) {
                l->factor[0] = a, l->factor[1] = b, l->factor[2] = d % k;
                if (suits(l)) return true;
                if (l->whole > WHOLE_CHECKS) return false;
            }
    }
    return false;
}

/* Colours in the order in which columns come to them; columns without entries have none. */
static int64_t give(const lattice *l, const tn_i_by_column *t, int32_t *color) {
    int32_t name[MOST_COLORS], n = 0;
    memset(name, -1, sizeof name);
    for (int64_t j = 0; j < l->s->columns; j++) {
        const int c = color_of(l, j);
        if (t->ptr[j] < t->ptr[j + 1] && name[c] < 0) name[c] = n++;
        color[j] = t->ptr[j] < t->ptr[j + 1] ? name[c] : -1;
    }
    return n;
}

/* The first number of colours below `below` for which there are factors. */
static int64_t search(lattice *l, const tn_i_by_column *t, int64_t least, int64_t below, int32_t *color) {
    l->whole = 0;
    for (l->colors = least; l->colors < below && l->colors <= MOST_COLORS; l->colors++)
        if (factors_suit(l)) return give(l, t, color);
    return 0;
}

/* ---- vectors ------------------------------------------------------------------------------------------ */

/* Lengths of rows of a grid that a vector may be: neighbours of a grid's element are so far from each other, and they
 * divide the number of elements.  The least of them, ascending. */
static int folds(const lattice *l, int64_t *fold) {
    const tn_sparsity *s = l->s;
    const int64_t *col = s->ind + s->ptr[l->hard[0]], n = s->ptr[l->hard[0] + 1] - s->ptr[l->hard[0]];
    int found = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            const int64_t d = col[j] - col[i];
            int at = found;
            while (at > 0 && fold[at - 1] > d) at--;
            if (d < 2 || s->columns % d || at == MOST_FOLDS || (at > 0 && fold[at - 1] == d)) continue;
            if (found < MOST_FOLDS) found++;
            memmove(fold + at + 1, fold + at, (size_t)(found - 1 - at) * sizeof *fold);
            fold[at] = d;
        }
    return found;
}

/* The vector as it is, then as a grid of two axes, then of three, whose last two are folds. */
static int64_t search_folded(lattice *l, const tn_i_by_column *t, int64_t least, int64_t below, int32_t *color) {
    int64_t fold[MOST_FOLDS] = {0}, best = search(l, t, least, below, color);
    const int n = l->grid[0] * l->grid[1] == 1 ? folds(l, fold) : 0;
    for (int axes = 2; axes <= AXES; axes++)
        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++) {
                if (best == least) return best;
                if ((i == j) != (axes == 2) || fold[j] % fold[i]) continue;
                l->grid[2] = fold[i];
                l->grid[1] = axes == 2 ? l->s->columns / fold[i] : fold[j] / fold[i];
                l->grid[0] = axes == 2 ? 1 : l->s->columns / fold[j];
                const int64_t colors = search(l, t, least, best ? best : below, color);
                if (colors) best = colors;
            }
    return best;
}

int64_t tn_i_color_lattice(const tn_sparsity *s, bool star, const int64_t grid[3], int64_t below, int32_t *color) {
    tn_i_by_column t;
    if (!tn_i_sparsity_columns(s, &t)) return -1;
    lattice l = {.s = s, .star = star, .grid = {grid[0], grid[1], grid[2]}, .nhard = 1, .next = 1};
    int64_t longest = 0;
    for (int64_t i = 0; i < s->rows; i++)
        if (s->ptr[i + 1] - s->ptr[i] > longest) longest = s->ptr[i + 1] - s->ptr[i], l.hard[0] = i;
    const int64_t least = star ? 1 : longest;
    if (!longest || least >= below || least > MOST_COLORS) return 0;
    const size_t size = (size_t)s->columns;
    l.table = tn_i_alloc(s->ctx, size);
    const int64_t colors = l.table ? search_folded(&l, &t, least, below, color) : -1;
    if (l.table) tn_i_free(s->ctx, l.table, size);
    return colors;
}
