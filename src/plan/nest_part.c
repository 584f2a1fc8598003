/* A range of one loop's indices of a nest, as a nest of its own: with an offset for each array, in or out of boxes
 * where all of the range is. */
#include "base/machine.h"
#include "plan/nest_part.h"

#include <string.h>

/* ---- which loops ------------------------------------------------------------------------ */

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

/* Nothing but elements: then any loops may be those of a row. */
static bool plain(const tn_i_nest *n) {
    bool all = !reduces(n, ~(uint32_t)0);
    for (uint32_t d = 0; d < n->nloop; d++) all &= stored_along(n, d);
    return all;
}

bool tn_i_nest_divisible(const tn_i_nest *n, uint32_t loop) {
    return loop < n->nouter ? !reduces(n, 1u << loop) && stored_along(n, loop) : plain(n);
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
    tn_i_nest *p = &m->part->nest;
    memcpy(p->size, m->n->size, sizeof p->size);
    p->size[m->loop] = m->last - m->first;
    drop(m, p->size);
    p->nloop = m->n->nloop - m->drops;
    p->nouter = m->n->nouter - (m->drops && m->loop < m->n->nouter);
    p->rows = p->row = 1;
    if (m->plain) /* as nest.c chooses them */
        for (p->nouter = p->nloop; p->nouter > 0 && p->row < TN_M_LONG_ROW;) p->row *= p->size[--p->nouter];
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

/* Of the part, some lies outside and some does not. */
static bool still_boxed(const maker *m, const tn_i_nest_array *a) {
    for (uint32_t d = 0; a->boxed && d < m->n->nloop; d++) {
        const int64_t first = d == m->loop ? m->first : 0, last = d == m->loop ? m->last : m->n->size[d];
        if (a->lo[d] > first || a->hi[d] < last) return true;
    }
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
    a.lo[m->loop] = a.lo[m->loop] > m->first ? a.lo[m->loop] - m->first : 0;
    a.hi[m->loop] = (a.hi[m->loop] < m->last ? a.hi[m->loop] : m->last) - m->first;
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

/* As bits of a literal. */
static uint64_t number_of(int dtype, int64_t x) {
    const double d = (double)x;
    const float f = (float)x;
    uint64_t bits = 0;
    if (dtype == TN_F64)
        memcpy(&bits, &d, sizeof d);
    else if (dtype == TN_F32)
        memcpy(&bits, &f, sizeof f);
    else
        bits = dtype == TN_I64 || dtype == TN_U64 ? (uint64_t)x : (uint32_t)x;
    return bits;
}

static void make_index(const maker *m, tn_i_nest_op *o) {
    if (o->loop == m->loop) o->first += o->by * m->first;
    if (o->loop == m->loop && m->drops) {
        o->kind = TN_NEST_NUMBER;
        o->bits = number_of(o->dtype, o->first);
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

static bool allocate(maker *m) {
    tn_i_nest_part *x = m->part;
    tn_ctx *c = m->ctx;
    *x = (tn_i_nest_part){.cop = m->n->nop, .carray = m->n->narray};
    x->nest = (tn_i_nest){.nin = m->n->nin, .nout = m->n->nout, .accurate = m->n->accurate, .threads = m->n->threads};
    x->nest.op = tn_i_alloc_array(c, x->cop, sizeof *x->nest.op);
    x->nest.array = tn_i_alloc_array(c, x->carray, sizeof *x->nest.array);
    x->move = tn_i_alloc_array(c, x->carray, sizeof *x->move);
    m->same = tn_i_alloc_array(c, m->n->nop, 3 * sizeof *m->same);
    m->read = tn_i_alloc_array(c, m->n->nop, sizeof *m->read);
    if (!x->nest.op || !x->nest.array || !x->move || !m->same || !m->read) return false;
    m->to = m->same + m->n->nop;
    m->vary = m->to + m->n->nop;
    memset(m->read, 0, m->n->nop * sizeof *m->read);
    return true;
}

bool tn_i_nest_part_make(tn_ctx *c, const tn_i_nest *n, uint32_t loop, int64_t first, int64_t last,
                         tn_i_nest_part *part) {
    maker m = {.ctx = c,
               .n = n,
               .part = part,
               .loop = loop,
               .first = first,
               .last = last,
               .drops = last - first == 1,
               .plain = plain(n)};
    const bool ok = allocate(&m);
    if (ok) {
        make_loops(&m);
        find_same(&m);
        find_read(&m);
        for (uint32_t v = 0; v < n->nop; v++)
            if (m.read[v]) make_op(&m, v);
        tn_i_nest_note_readers(&part->nest);
    }
    tn_i_free(c, m.same, n->nop * 3 * sizeof *m.same);
    tn_i_free(c, m.read, n->nop * sizeof *m.read);
    return ok;
}

void tn_i_nest_part_drop(tn_ctx *c, tn_i_nest_part *p) {
    tn_i_free(c, p->nest.op, p->cop * sizeof *p->nest.op);
    tn_i_free(c, p->nest.array, p->carray * sizeof *p->nest.array);
    tn_i_free(c, p->move, p->carray * sizeof *p->move);
}
