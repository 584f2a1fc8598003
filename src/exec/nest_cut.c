/* Cutting a nest into pieces that several threads run.
 *
 * A reduction's order (exec/nest.h) is that of a tree over leaves, and a run of 2^k leaves that begins at a multiple of
 * 2^k is a whole subtree.  Pieces are such runs; their results are joined in that same order, so that the bits do not
 * depend on where is cut, nor on who runs what. */
#include "exec/nest_code.h"
#include "exec/parallel.h"

#include <string.h>

/* Elements from which threads are worth waking; pieces of a nest that reduces. */
enum { MANY = 1 << 14, MOST_PIECES = 64, MOST_DOUBLINGS = 20, ALIGN = 64 };

typedef struct cutter {
    const tn_i_nest *n;
    tn_i_nest_code *code;
    int64_t all;  /* what pieces are counted in: rows, or elements of the only one */
    int64_t unit; /* the piece so far; 0: anything goes */
} cutter;

static bool of_row(const cutter *z, const tn_i_nest_sink *k) { return k->out != TN_NOVAR && z->n->rows > 1; }

/* What a sink's leaf is in rows (or elements), or a number of leaves that is a power of two. */
static bool leaf_of(const cutter *z, const tn_i_nest_sink *k, int64_t *unit, int64_t *leaves) {
    int64_t total = 1;
    if (k->arg || k->ngroup > 2 || !k->folds[0] || (k->ngroup == 2 && k->folds[1])) return false;
    for (uint32_t g = 0; g < k->ngroup; g++) total *= k->group[g];
    const int64_t row = z->n->rows == 1 || total == z->n->rows ? 1 : z->n->row; /* what it walks: rows or elements */
    if (total != z->all * row || k->kept > INT64_MAX / ((int64_t)TN_LEAF << MOST_DOUBLINGS)) return false;
    for (int d = 0; d < MOST_DOUBLINGS; d++)
        if (((int64_t)TN_LEAF << d) * k->kept % row == 0) {
            *unit = ((int64_t)TN_LEAF << d) * k->kept / row;
            *leaves = (int64_t)1 << d;
            return true;
        }
    return false;
}

static bool power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

/* The longest of what sinks want, of which all others must be half, a quarter, ... */
static bool find_unit(cutter *z) {
    const tn_i_nest_code *c = z->code;
    int64_t unit, leaves;
    for (uint32_t i = 0; i < c->nsink; i++) {
        if (of_row(z, &c->sink[i])) continue;
        if (!leaf_of(z, &c->sink[i], &unit, &leaves)) return false;
        if (unit > z->unit) z->unit = unit;
    }
    if (!z->unit) {
        z->unit = z->n->rows > 1 ? c->block : c->tile;
        return true;
    }
    while (z->unit < z->all && (z->all - 1) / z->unit + 1 > MOST_PIECES) z->unit *= 2;
    for (uint32_t i = 0; i < c->nsink; i++) {
        if (of_row(z, &c->sink[i])) continue;
        if (!leaf_of(z, &c->sink[i], &unit, &leaves) || z->unit % unit || !power_of_two(z->unit / unit)) return false;
    }
    return true;
}

static bool writes(const tn_i_nest_code *c, const tn_i_nest_section *s) {
    for (uint32_t i = s->first; i < s->last; i++) {
        const uint8_t kind = c->instr[i].kind;
        if (kind == TN_CODE_STORE || kind == TN_CODE_PUT || kind == TN_CODE_SINK) return true;
    }
    return false;
}

/* What is done once, or in front of the only row, is done by each thread; it must not be seen. */
static bool divisible(const tn_i_nest *n, const tn_i_nest_code *c) {
    if (n->threads < 2 || !tn_i_nest_threads() || c->scalar || c->tiny || n->row >= INT64_MAX / n->rows ||
        n->rows * n->row < MANY)
        return false;
    if (n->rows == 1 && (n->nphase > 1 || c->whole || writes(c, &c->before))) return false;
    return !writes(c, &c->once);
}

static bool reserve(size_t n, size_t size, size_t *bytes, size_t *at) {
    size_t more;
    *at = *bytes;
    return tn_i_mul(n, size, &more) && tn_i_add(*bytes, more, bytes) && tn_i_add(*bytes, ALIGN - 1, bytes) &&
           ((*bytes -= *bytes % ALIGN), true);
}

bool tn_i_nest_cut(tn_ctx *ctx, tn_i_nest *n) {
    tn_i_nest_code *c = n->code;
    cutter z = {.n = n, .code = c, .all = n->rows > 1 ? n->rows : n->row};
    c->threads = 1;
    if (!divisible(n, c) || !find_unit(&z)) return true;
    c->unit = z.unit;
    c->pieces = (z.all - 1) / z.unit + 1;
    if (c->pieces < 2) return true;
    c->threads = c->pieces < n->threads ? (uint32_t)c->pieces : (uint32_t)n->threads;
    c->process = tn_i_process();
    size_t bytes = 0, at;
    bool ok = reserve(1, n->scratch, &bytes, &at);
    c->each = bytes;
    bytes = 0;
    ok = ok && reserve(c->threads, c->each, &bytes, &at);
    for (uint32_t i = 0; ok && i < c->nsink; i++) {
        tn_i_nest_sink *k = &c->sink[i];
        int64_t unit, leaves;
        if (of_row(&z, k) || !leaf_of(&z, k, &unit, &leaves)) continue;
        k->leaves = leaves * (z.unit / unit);
        ok = reserve((size_t)c->pieces, (size_t)k->kept * k->size, &bytes, &k->parts);
    }
    n->scratch = bytes;
    if (!ok) (void)tn_i_fail(ctx, TN_EOVERFLOW, NULL, "scratch memory of a fused step is too large");
    return ok;
}
