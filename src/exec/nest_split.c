/* Cutting a nest where the boxes of its operands begin and end.
 *
 * Tiles that lie partly outside of a padded or joined operand have to be put together first.  So a loop of a stencil is
 * cut into parts in each of which such an operand is inside or outside throughout: the long part in the middle reads it
 * where it is, at an offset, and what is at the edge is a nest of a few elements.  A part has fewer operations than the
 * whole: what is outside of a box there is not loaded, and loads that differ at an edge only are one, with all that is
 * made of them.
 *
 * No reduction is over the loop that is cut, so the order of sums stays. */
#include "exec/nest_code.h"

#include <string.h>

/* Elements that are worth a part; of the loops from an inner one on, what is longer than a block of several rows. */
enum { MOST_PARTS = 8, WORTH = 32, LONG_RUN = TN_LEAF / 2 };

/* ---- where ------------------------------------------------------------------------------ */

/* Lookups are of tiles, and an edge may be one element. */
static bool looks_up(const tn_i_nest *n) {
    for (uint32_t v = 0; v < n->nop; v++)
        if (n->op[v].kind == TN_NEST_LOOKUP) return true;
    return false;
}

/* Among at[0..n) in order, unless it is there or at either end. */
static uint32_t insert(int64_t *at, uint32_t n, int64_t x, int64_t size) {
    uint32_t i = n;
    if (x <= 0 || x >= size || n > MOST_PARTS) return n;
    while (i > 0 && at[i - 1] > x) i--;
    if (i > 0 && at[i - 1] == x) return n;
    memmove(at + i + 1, at + i, (n - i) * sizeof *at);
    at[i] = x;
    return n + 1;
}

/* Indices of the loop at which a part begins, the first one 0, and its size behind them; how many. */
static uint32_t find_cuts(const tn_i_nest *n, uint32_t loop, int64_t *at) {
    uint32_t cuts = 0;
    for (uint32_t i = 0; i < n->narray; i++) {
        const tn_i_nest_array *a = &n->array[i];
        if (!a->boxed || a->lo[loop] >= a->hi[loop]) continue;
        cuts = insert(at + 1, cuts, a->lo[loop], n->size[loop]);
        cuts = insert(at + 1, cuts, a->hi[loop], n->size[loop]);
    }
    at[0] = 0;
    at[cuts + 1] = n->size[loop];
    return cuts + 1;
}

/* The outermost loop that is worth it, and where; 0 parts: none. */
static uint32_t choose(const tn_i_nest *n, uint32_t *loop, int64_t *at) {
    if (n->row >= INT64_MAX / n->rows || looks_up(n)) return 0;
    int64_t run = n->rows * n->row;
    for (*loop = 0; *loop < n->nloop && (*loop == 0 || run > LONG_RUN); run /= n->size[(*loop)++]) {
        const uint32_t parts = find_cuts(n, *loop, at);
        if (parts > 1 && parts <= MOST_PARTS && run >= WORTH * (int64_t)parts && tn_i_nest_divisible(n, *loop))
            return parts;
    }
    return 0;
}

static void relist_move(const tn_i_nest_part *p, tn_i_scalar_move *x) {
    x->from += p->move[x->array].bytes;
    x->array = p->move[x->array].array;
}

/* What a part has listed of its own arrays is of those of the whole. */
static void relist(const tn_i_nest_part *p) {
    const tn_i_nest_code *c = p->nest.code;
    for (uint32_t i = 0; i < c->nload; i++) relist_move(p, &c->load[i]);
    for (uint32_t i = 0; i < c->nstore; i++) relist_move(p, &c->store[i]);
}

/* ---- all of them ------------------------------------------------------------------------- */

bool tn_i_nest_split(tn_ctx *c, tn_i_nest *n, tn_i_isa isa, bool accurate, bool *done) {
    tn_i_nest_code *code = n->code;
    int64_t at[MOST_PARTS + 4];
    uint32_t loop;
    const uint32_t parts = choose(n, &loop, at);
    *done = parts > 0;
    if (!parts) return true;
    if (!(code->part = tn_i_alloc_array(c, parts, sizeof *code->part))) return false;
    code->nparts = parts;
    n->scratch = 0;
    for (uint32_t i = 0; i < parts; i++) {
        tn_i_nest_part *p = &code->part[i];
        if (!tn_i_nest_part_make(c, n, loop, at[i], at[i + 1], p)) return false;
        if (!tn_i_nest_prepare(c, &p->nest, isa, accurate)) return false;
        relist(p);
        if (p->nest.scratch > n->scratch) n->scratch = p->nest.scratch;
    }
    return true;
}

void tn_i_nest_drop_parts(tn_ctx *c, tn_i_nest_code *code) {
    for (uint32_t i = 0; i < code->nparts; i++) tn_i_nest_part_drop(c, &code->part[i]);
    tn_i_free(c, code->part, code->nparts * sizeof *code->part);
}
