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

static bool reduces(const tn_i_nest *n, uint32_t over) {
    for (uint32_t v = 0; v < n->nop; v++)
        if (n->op[v].kind == TN_NEST_REDUCE && n->op[v].over & over) return true;
    return false;
}

/* Whether each store is moved by the loop.  What all parts would store is to be stored once: it may be where an operand
 * was. */
static bool stored_along(const tn_i_nest *n, uint32_t loop) {
    for (uint32_t v = 0; v < n->nop; v++)
        if (n->op[v].kind == TN_NEST_STORE && !n->array[n->op[v].array].stride[loop]) return false;
    return true;
}

/* Lookups are of tiles, and an edge may be one element. */
static bool looks_up(const tn_i_nest *n) {
    for (uint32_t v = 0; v < n->nop; v++)
        if (n->op[v].kind == TN_NEST_LOOKUP) return true;
    return false;
}

/* Nothing but elements: then any loops may be those of a row. */
static bool plain(const tn_i_nest *n) {
    bool all = !reduces(n, ~(uint32_t)0);
    for (uint32_t d = 0; d < n->nloop; d++) all &= stored_along(n, d);
    return all;
}

static bool divisible(const tn_i_nest *n, uint32_t loop) {
    return loop < n->nouter ? !reduces(n, 1u << loop) && stored_along(n, loop) : plain(n);
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
        if (parts > 1 && parts <= MOST_PARTS && run >= WORTH * (int64_t)parts && divisible(n, *loop)) return parts;
    }
    return 0;
}

/* ---- one part --------------------------------------------------------------------------- */

typedef struct maker {
    tn_ctx *ctx;
    const tn_i_nest *n;
    tn_i_nest_part *part;
    uint32_t loop;
    int64_t first, last;        /* of its indices */
    bool drops, plain;          /* it is one index; all of the nest is elements */
    uint32_t *same, *to, *vary; /* of each operation: that of the whole which it is here, that of the part, loops */
    bool *read;
} maker;

/* Of a mask of loops, or of a loop's number. */
static uint32_t loops_of(const maker *m, uint32_t mask) {
    const uint32_t low = mask & ((1u << m->loop) - 1);
    return m->drops ? low | mask >> (m->loop + 1) << m->loop : mask;
}

static void drop(const maker *m, int64_t *v) {
    if (m->drops) memmove(v + m->loop, v + m->loop + 1, (m->n->nloop - m->loop - 1) * sizeof *v);
}

static void make_loops(const maker *m) {
    enum { LONG = 256 };
    tn_i_nest *p = &m->part->nest;
    memcpy(p->size, m->n->size, sizeof p->size);
    p->size[m->loop] = m->last - m->first;
    drop(m, p->size);
    p->nloop = m->n->nloop - m->drops;
    p->nouter = m->n->nouter - (m->drops && m->loop < m->n->nouter);
    p->rows = p->row = 1;
    if (m->plain) /* as nest.c chooses them */
        for (p->nouter = p->nloop; p->nouter > 0 && p->row < LONG;) p->row *= p->size[--p->nouter];
    p->rows = p->row = 1;
    for (uint32_t d = 0; d < p->nloop; d++) *(d < p->nouter ? &p->rows : &p->row) *= p->size[d];
}

/* All of the part lies outside. */
static bool outside(const maker *m, const tn_i_nest_array *a) {
    const int64_t lo = a->lo[m->loop], hi = a->hi[m->loop];
    return a->boxed && (lo >= hi || hi <= m->first || lo >= m->last);
}

static void find_same(const maker *m) {
    for (uint32_t v = 0; v < m->n->nop; v++) {
        const tn_i_nest_op *o = &m->n->op[v];
        m->same[v] = v;
        if (o->kind == TN_NEST_LOAD && outside(m, &m->n->array[o->array]))
            m->same[v] = m->same[o->nin ? o->in[0] : m->n->array[o->array].fill];
    }
}

static bool still_boxed(const maker *m, const tn_i_nest_array *a) {
    for (uint32_t d = 0; a->boxed && d < m->n->nloop; d++)
        if (d != m->loop && (a->lo[d] > 0 || a->hi[d] < m->n->size[d])) return true;
    return false;
}

/* From the stores back. */
static void find_read(const maker *m) {
    for (uint32_t v = m->n->nop; v-- > 0;) {
        const tn_i_nest_op *o = &m->n->op[v];
        if (!m->read[v] && o->kind != TN_NEST_STORE) continue;
        m->read[v] = true;
        const tn_i_nest_array *a = o->kind == TN_NEST_LOAD ? &m->n->array[o->array] : NULL;
        if (a && !still_boxed(m, a)) continue;
        if (a) m->read[m->same[a->fill]] = true;
        for (uint32_t i = 0; i < o->nin; i++) m->read[m->same[o->in[i]]] = true;
    }
}

/* Array i of the whole; one for all loads that are alike. */
static uint32_t array_of(const maker *m, uint32_t i) {
    tn_i_nest *p = &m->part->nest;
    tn_i_nest_array a = m->n->array[i];
    const int64_t skipped = m->first * a.stride[m->loop];
    uint32_t k = 0;
    a.boxed = still_boxed(m, &a);
    a.offset += skipped;
    a.fill = a.boxed ? m->to[m->same[a.fill]] : 0;
    a.lo[m->loop] = 0;
    a.hi[m->loop] = m->last - m->first;
    drop(m, a.stride);
    drop(m, a.lo);
    drop(m, a.hi);
    for (uint32_t d = 0; !a.boxed && d < p->nloop; d++) a.lo[d] = 0, a.hi[d] = p->size[d];
    for (uint32_t d = p->nloop; d < TN_MAX_RANK; d++) a.lo[d] = a.hi[d] = a.stride[d] = 0;
    for (; k < p->narray; k++) {
        const tn_i_nest_array *b = &p->array[k];
        if (a.arg == b->arg && a.boxed == b->boxed && a.offset == b->offset && a.fill == b->fill &&
            memcmp(a.stride, b->stride, sizeof a.stride) == 0 && memcmp(a.lo, b->lo, sizeof a.lo) == 0 &&
            memcmp(a.hi, b->hi, sizeof a.hi) == 0)
            return k;
    }
    p->array[p->narray++] = a;
    m->part->move[k] = (tn_i_nest_shift){i, skipped * (int64_t)tn_i_dtype_size(a.dtype)};
    return k;
}

static uint32_t vary_of(const maker *m, const tn_i_nest_op *o) {
    const tn_i_nest_array *a = &m->part->nest.array[o->array];
    uint32_t mask = o->kind == TN_NEST_IOTA ? 1u << o->loop : 0;
    for (uint32_t i = 0; o->kind != TN_NEST_STORE && i < o->nin; i++) mask |= m->vary[o->in[i]];
    if (o->kind != TN_NEST_LOAD && o->kind != TN_NEST_STORE) return mask;
    for (uint32_t d = 0; d < m->part->nest.nloop; d++)
        if (a->stride[d] || (a->boxed && (a->lo[d] > 0 || a->hi[d] < m->part->nest.size[d]))) mask |= 1u << d;
    return mask;
}

/* Where rows are reduced levels stay, except of what moves less than it did. */
static void choose_level(const maker *m, uint32_t vary, tn_i_nest_op *o) {
    const tn_i_nest *p = &m->part->nest;
    const uint32_t inner = ((1u << p->nloop) - 1) & ~((1u << p->nouter) - 1);
    const bool source = o->kind == TN_NEST_LOAD || o->kind == TN_NEST_NUMBER || o->kind == TN_NEST_IOTA;
    const uint8_t least = vary & inner ? TN_NEST_ELEMENT : vary || !source ? TN_NEST_ROW : TN_NEST_ONCE;
    if (!m->plain && (!source || least >= o->level)) return;
    o->level = least;
    o->before = least == TN_NEST_ROW;
    if (least != TN_NEST_ELEMENT) o->phase = 0;
}

static bool alike(const tn_i_nest_op *a, const tn_i_nest_op *b) {
    if (a->kind != b->kind || a->dtype != b->dtype || a->level != b->level || a->phase != b->phase ||
        a->before != b->before || a->nin != b->nin || memcmp(a->in, b->in, a->nin * sizeof *a->in) != 0)
        return false;
    switch ((tn_i_nest_kind)a->kind) {
    case TN_NEST_LOAD: return a->array == b->array;
    case TN_NEST_NUMBER: return a->bits == b->bits;
    case TN_NEST_IOTA: return a->loop == b->loop && a->by == b->by && a->first == b->first;
    case TN_NEST_MAP: return tn_i_eqn_same(a->eqn, b->eqn);
    default: return false;
    }
}

/* The operation of the part that o would be another of, or a new one. */
static uint32_t put(const maker *m, const tn_i_nest_op *o, uint32_t vary) {
    tn_i_nest *p = &m->part->nest;
    for (uint32_t k = p->nop; k-- > 0;)
        if (alike(o, &p->op[k])) return k;
    p->op[p->nop] = *o;
    m->vary[p->nop] = vary;
    return p->nop++;
}

static void make_index(const maker *m, tn_i_nest_op *o) {
    const tn_i_nest_walk one = {.n = 1, .size = {1}};
    if (o->loop == m->loop) o->first += o->by * m->first;
    if (o->loop == m->loop && m->drops) {
        o->kind = TN_NEST_NUMBER;
        o->bits = 0;
        tn_i_walk_iota(&one, o->dtype, 0, o->first, 0, 1, (char *)&o->bits);
    } else if (o->loop > m->loop)
        o->loop = (uint8_t)(o->loop - m->drops);
}

static void make_op(const maker *m, uint32_t v) {
    tn_i_nest_op o = m->n->op[v];
    if (o.kind == TN_NEST_IOTA) make_index(m, &o);
    if (o.kind == TN_NEST_LOAD || o.kind == TN_NEST_STORE) o.array = array_of(m, o.array);
    if (o.kind == TN_NEST_LOAD && !m->part->nest.array[o.array].boxed) o.nin = 0;
    for (uint32_t i = 0; i < o.nin; i++) o.in[i] = m->to[m->same[o.in[i]]];
    o.over = loops_of(m, o.over);
    o.crosses = false;
    const uint32_t vary = vary_of(m, &o);
    choose_level(m, vary, &o);
    m->to[v] = put(m, &o, vary);
}

static bool make_part(maker *m) {
    tn_i_nest *p = &m->part->nest;
    *p = (tn_i_nest){.nin = m->n->nin, .nout = m->n->nout, .accurate = m->n->accurate, .threads = m->n->threads};
    m->part->cop = m->n->nop;
    m->part->carray = m->n->narray;
    p->op = tn_i_alloc_array(m->ctx, m->n->nop, sizeof *p->op);
    p->array = tn_i_alloc_array(m->ctx, m->n->narray, sizeof *p->array);
    m->part->move = tn_i_alloc_array(m->ctx, m->n->narray, sizeof *m->part->move);
    if (!p->op || !p->array || !m->part->move) return false;
    m->drops = m->last - m->first == 1;
    memset(m->read, 0, m->n->nop * sizeof *m->read);
    make_loops(m);
    find_same(m);
    find_read(m);
    for (uint32_t v = 0; v < m->n->nop; v++)
        if (m->read[v]) make_op(m, v);
    tn_i_nest_note_readers(p);
    return true;
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
    for (size_t i = 0; i < c->nanchor; i++) {
        tn_i_nest_anchor *a = &c->anchor[i];
        if (a->kind != TN_ANCHOR_ARRAY) continue;
        a->bytes += p->move[a->array].bytes;
        a->array = p->move[a->array].array;
    }
}

/* ---- all of them ------------------------------------------------------------------------- */

static bool make_parts(maker *m, const int64_t *at, tn_i_nest_code *code, tn_i_isa isa, bool accurate) {
    for (uint32_t i = 0; i < code->nparts; i++) {
        m->part = &code->part[i];
        m->first = at[i];
        m->last = at[i + 1];
        if (!make_part(m) || !tn_i_nest_prepare(m->ctx, &m->part->nest, isa, accurate)) return false;
        relist(m->part);
    }
    return true;
}

bool tn_i_nest_split(tn_ctx *c, tn_i_nest *n, tn_i_isa isa, bool accurate, bool *done) {
    tn_i_nest_code *code = n->code;
    int64_t at[MOST_PARTS + 4];
    maker m = {.ctx = c, .n = n, .plain = plain(n)};
    const uint32_t parts = choose(n, &m.loop, at);
    *done = parts > 0;
    if (!parts) return true;
    m.same = tn_i_alloc_array(c, n->nop, 3 * sizeof *m.same);
    m.read = tn_i_alloc_array(c, n->nop, sizeof *m.read);
    code->part = tn_i_alloc_array(c, parts, sizeof *code->part);
    if (code->part) code->nparts = parts;
    bool ok = m.same && m.read && code->part;
    if (ok) {
        m.to = m.same + n->nop;
        m.vary = m.to + n->nop;
        ok = make_parts(&m, at, code, isa, accurate);
    }
    n->scratch = 0;
    for (uint32_t i = 0; ok && i < parts; i++)
        if (code->part[i].nest.scratch > n->scratch) n->scratch = code->part[i].nest.scratch;
    tn_i_free(c, m.same, n->nop * 3 * sizeof *m.same);
    tn_i_free(c, m.read, n->nop * sizeof *m.read);
    return ok;
}

void tn_i_nest_drop_parts(tn_ctx *c, tn_i_nest_code *code) {
    for (uint32_t i = 0; i < code->nparts; i++) {
        tn_i_nest_part *p = &code->part[i];
        tn_i_nest_drop(c, &p->nest);
        tn_i_free(c, p->nest.op, p->cop * sizeof *p->nest.op);
        tn_i_free(c, p->nest.array, p->carray * sizeof *p->nest.array);
        tn_i_free(c, p->move, p->carray * sizeof *p->move);
    }
    tn_i_free(c, code->part, code->nparts * sizeof *code->part);
}
