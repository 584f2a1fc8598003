/* Instructions of a loop program, one walk over its operations. */
#include "base/machine.h"
#include "prims/held.h"
#include "strips/inside.h"

#include <string.h>

enum { STORES = 16, PLACED = 64 };

typedef struct value {
    uint32_t at;         /* its register, or that with its address */
    uint32_t next, ends; /* lists of those that live no longer than this operation: 1 + the next one; the first one */
    uint32_t own;        /* its own strip, where it is computed in memory; TN_L_NONE */
    uint32_t mate;       /* of FOR, IF: instruction; of a REDUCE: which; of a MAP in memory: the STORE; of that: 1 */
    bool varies, through;
} value;

typedef struct making {
    tn_i_strips *s;
    const tn_i_loops *p;
    tn_i_s_range *range;
    value *v;
    tn_i_s_places z;
    tn_i_isa isa;
    bool accurate, failed;
    tn_i_s_op nowhere;                /* written to after an error, and read by nobody */
    uint32_t vector;                  /* the open loop, or TN_L_NONE */
    uint32_t store[STORES], nstore;   /* of the vector loop; more than STORES: too many to look at */
    uint32_t placed[PLACED], nplaced; /* loads of it that are read where they are in memory */
    int64_t most;
} making;

/* ---- instructions ---- */

static tn_i_s_op *emit(making *m, int kind, uint32_t k) {
    tn_i_strips *s = m->s;
    if (m->failed || !tn_i_grow(s->ctx, (void **)(void *)&s->op, &s->cop, s->nop + (size_t)1, sizeof *s->op)) {
        m->failed = true;
        return &m->nowhere;
    }
    s->op[s->nop] = (tn_i_s_op){.kind = (uint8_t)kind, .op = k, .index = TN_NDTYPES, .base = TN_L_NONE};
    return &s->op[s->nop++];
}

static void operand(making *m, tn_i_s_op *e, int i, uint32_t k) {
    const value *v = &m->v[k];
    e->in[i] = v->at;
    e->s[i] = v->varies;
    if (v->through) e->through |= (uint8_t)(1u << i);
    if (e->nin <= i) e->nin = (uint8_t)(i + 1);
}

static void expression(making *m, tn_i_s_op *e, const tn_i_l_affine *a, int64_t unit) {
    tn_i_strips *s = m->s;
    const tn_i_l_term *t = tn_i_l_terms(m->p, a);
    e->term = s->nterm;
    e->at = a->at * unit;
    e->step = m->vector == TN_L_NONE ? 0 : tn_i_l_by(m->p, a, m->vector) * unit;
    if (m->failed ||
        !tn_i_grow(s->ctx, (void **)(void *)&s->term, &s->cterm, s->nterm + (size_t)a->n, sizeof *s->term)) {
        m->failed |= a->n > 0;
        return;
    }
    for (uint32_t i = 0; i < a->n; i++) s->term[s->nterm++] = (tn_i_s_term){m->v[t[i].loop].at, t[i].by * unit};
    e->nterm = a->n;
}

/* Where an array's element is, in bytes. */
static void address(making *m, tn_i_s_op *e, const tn_i_l_op *o) {
    const tn_i_l_array *a = &m->p->array[o->which];
    e->size = (uint8_t)tn_i_dtype_size(a->dtype);
    e->dtype = a->dtype;
    expression(m, e, &o->at, e->size);
    if (a->role == TN_L_CONST)
        e->data = a->data;
    else
        e->base = a->base, e->at += a->at;
}

/* ---- values ---- */

static void ends_at(making *m, uint32_t k, uint32_t last) {
    m->v[k].next = m->v[last].ends;
    m->v[last].ends = k + 1;
}

static void give(making *m, uint32_t k) {
    const value *v = &m->v[k];
    tn_i_s_give(&m->z, v->at);
    if (v->own != TN_L_NONE) tn_i_s_give(&m->z, v->own);
}

/* What nobody reads behind operation k. */
static void end_values(making *m, uint32_t k) {
    for (uint32_t i = m->v[k].ends; i; i = m->v[i - 1].next) give(m, i - 1);
    m->v[k].ends = 0;
}

/* A result may be computed over an operand that is as large and read no more. */
static bool over_operand(making *m, uint32_t k, uint32_t *at) {
    const tn_i_l_op *o = &m->p->op[k];
    for (int i = 0; i < o->nin; i++) {
        value *x = &m->v[o->in[i]];
        uint32_t *link = &m->v[k].ends;
        if (x->through || x->varies != m->v[k].varies || x->own != TN_L_NONE || x->at & TN_S_CONST ||
            tn_i_dtype_size(m->p->op[o->in[i]].dtype) != tn_i_dtype_size(o->dtype))
            continue;
        while (*link && *link != o->in[i] + 1) link = &m->v[*link - 1].next;
        if (!*link) continue;
        *link = x->next;
        *at = x->at;
        return true;
    }
    return false;
}

static uint32_t take(making *m, uint32_t k) {
    m->v[k].at = tn_i_s_take(&m->z, m->v[k].varies);
    ends_at(m, k, m->range[k].last);
    return m->v[k].at;
}

static void constant(making *m, uint32_t k) {
    tn_i_strips *s = m->s;
    const tn_i_l_op *o = &m->p->op[k];
    if (!tn_i_grow(s->ctx, (void **)(void *)&s->constant, &s->cconstant, s->nconstant + (size_t)1,
                   sizeof *s->constant)) {
        m->failed = true;
        return;
    }
    s->constant[s->nconstant] = 0;
    tn_i_l_put(o->dtype, &s->constant[s->nconstant], 0, o->bits);
    m->v[k].at = TN_S_CONST | s->nconstant++;
}

static bool any_varies(const making *m, const tn_i_l_op *o) {
    for (int i = 0; i < 3; i++)
        if (o->in[i] != TN_L_NONE && m->v[o->in[i]].varies) return true;
    return m->vector != TN_L_NONE && tn_i_l_by(m->p, &o->at, m->vector) != 0;
}

static void index_of(making *m, uint32_t k, int kind) {
    const tn_i_l_op *o = &m->p->op[k];
    tn_i_s_op *e = emit(m, kind, k);
    m->v[k].varies = e->varies = any_varies(m, o);
    e->dtype = o->dtype;
    e->size = (uint8_t)tn_i_dtype_size(o->dtype);
    e->by = o->lo;
    e->last = o->hi;
    expression(m, e, &o->at, 1);
    e->out = take(m, k);
}

/* ---- memory ---- */

static bool plain(const tn_i_l_op *o) { return o->in[0] == TN_L_NONE && o->in[1] == TN_L_NONE; }

/* Elements of a strip are next to each other. */
static bool dense(const making *m, const tn_i_l_op *o) {
    return m->vector != TN_L_NONE && plain(o) && tn_i_l_by(m->p, &o->at, m->vector) == 1;
}

/* A load's elements stay in memory for as long as they are read. */
static bool stays(const making *m, uint32_t k) {
    if (m->nstore > STORES || m->nplaced == PLACED) return false;
    for (uint32_t i = 0; i < m->nstore; i++)
        if (m->store[i] > k && m->store[i] < m->range[k].last &&
            tn_i_l_overlap(m->p, m->p->op[m->store[i]].which, m->p->op[k].which))
            return false;
    return true;
}

static void access(making *m, tn_i_s_op *e, const tn_i_l_op *o) {
    address(m, e, o);
    if (o->in[0] != TN_L_NONE) {
        e->index = m->p->op[o->in[0]].dtype;
        e->by = o->lo * e->size;
        e->last = o->hi;
        operand(m, e, 0, o->in[0]);
    }
    e->masked = o->in[1] != TN_L_NONE;
    if (e->masked) operand(m, e, 1, o->in[1]);
    if (o->in[2] != TN_L_NONE) operand(m, e, 2, o->in[2]);
}

static void load(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    const tn_i_held_bodies *held = tn_i_held_bodies_of(m->p->array[o->which].dtype);
    if (dense(m, o) && !held && stays(m, k)) {
        tn_i_s_op *e = emit(m, TN_S_PLACE, k);
        address(m, e, o);
        e->out = take(m, k);
        m->v[k].varies = m->v[k].through = true;
        m->placed[m->nplaced++] = k;
        return;
    }
    tn_i_s_op *e = emit(m, TN_S_LOAD, k);
    m->v[k].varies = e->varies = any_varies(m, o);
    access(m, e, o);
    if (held) e->strip = tn_i_vec_strip(held->load.strip, m->isa).strip;
    e->out = take(m, k);
}

static void store(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    if (m->v[k].mate) return; /* its value was computed there */
    tn_i_s_op *e = emit(m, TN_S_STORE, k);
    const tn_i_held_bodies *held = tn_i_held_bodies_of(m->p->array[o->which].dtype);
    e->varies = any_varies(m, o);
    access(m, e, o);
    e->update = o->update;
    if (o->update) e->strip = tn_i_vec_strip(tn_i_l_body(m->p, o), m->isa).strip;
    if (!held) return;
    e->strip = tn_i_vec_strip(held->store.strip, m->isa).strip;
    e->out = tn_i_s_take(&m->z, true);
    tn_i_s_give(&m->z, e->out);
}

static bool touches(const making *m, uint32_t k, uint32_t array, bool loads) {
    const tn_i_l_op *o = &m->p->op[k];
    return (o->kind == TN_L_STORE || (loads && o->kind == TN_L_LOAD)) && tn_i_l_overlap(m->p, o->which, array);
}

/* The STORE where value x may be computed at once: it is dense, and until then nothing else touches that memory. */
static uint32_t store_of(const making *m, uint32_t x) {
    const tn_i_loops *p = m->p;
    uint32_t s = x + 1;
    while (s < p->nop && s < x + TN_M_FOLD_NEAR &&
           !(p->op[s].kind == TN_L_STORE && !p->op[s].update && p->op[s].in[2] == x))
        s++;
    if (s >= p->nop || s == x + TN_M_FOLD_NEAR || m->range[s].block != m->range[x].block || !dense(m, &p->op[s]))
        return TN_L_NONE;
    const uint32_t array = p->op[s].which;
    if (p->array[array].dtype != p->op[x].dtype || m->range[x].last > s + TN_M_FOLD_NEAR) return TN_L_NONE;
    for (uint32_t k = x + 1; k <= m->range[x].last; k++)
        if (k != s && (touches(m, k, array, k < s) || p->op[k].kind == TN_L_WHILE)) return TN_L_NONE;
    for (uint32_t i = 0; i < m->nplaced; i++)
        if (m->range[m->placed[i]].last > x && tn_i_l_overlap(p, p->op[m->placed[i]].which, array)) return TN_L_NONE;
    return s;
}

static tn_i_s_op *copy_to(making *m, uint32_t k, uint32_t from, uint32_t to, bool varies) {
    tn_i_s_op *e = emit(m, TN_S_COPY, k);
    e->size = (uint8_t)tn_i_dtype_size(m->p->op[from].dtype);
    e->varies = varies;
    operand(m, e, 0, from);
    e->out = to;
    return e;
}

/* ---- operations ---- */

static void in_memory(making *m, uint32_t k, uint32_t s) {
    value *v = &m->v[k];
    tn_i_s_op *e = emit(m, TN_S_PLACE, s);
    v->own = tn_i_s_take(&m->z, true);
    v->at = tn_i_s_take(&m->z, false);
    ends_at(m, k, m->range[k].last);
    address(m, e, &m->p->op[s]);
    e->in[0] = v->own;
    e->nin = 1;
    e->out = v->at;
    v->through = true;
    m->v[s].mate = 1;
}

static void place_result(making *m, uint32_t k, bool strip) {
    value *v = &m->v[k];
    const uint32_t carry = m->range[k].in;
    if (carry != TN_L_NONE && m->v[carry].varies == v->varies) {
        v->at = m->v[carry].at;
        return;
    }
    const uint32_t s = strip && v->varies && carry == TN_L_NONE ? store_of(m, k) : TN_L_NONE;
    if (s != TN_L_NONE)
        in_memory(m, k, s);
    else if (strip && over_operand(m, k, &v->at))
        ends_at(m, k, m->range[k].last);
    else
        (void)take(m, k);
}

/* The bits of a float as an integer, or back: the same bits elsewhere. */
static void bits(making *m, uint32_t k) {
    const uint32_t x = m->p->op[k].in[0];
    m->v[k].varies = m->v[x].varies;
    place_result(m, k, true);
    tn_i_s_op *e = copy_to(m, k, x, m->v[k].at, m->v[k].varies);
    if (m->v[k].through) e->through |= 8;
}

static void map(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    if (o->code == TN_L_bits) {
        bits(m, k);
        return;
    }
    tn_i_strip *strip;
    tn_i_one *one;
    tn_i_s_body(m->p, k, m->isa, m->accurate, &strip, &one);
    m->v[k].varies = any_varies(m, o);
    place_result(m, k, strip != NULL);
    tn_i_s_op *e = emit(m, strip ? TN_S_MAP : TN_S_KERNEL, k);
    e->strip = strip;
    e->one = one;
    e->dtype = o->dtype;
    e->size = (uint8_t)tn_i_dtype_size(o->dtype);
    e->varies = m->v[k].varies;
    for (int i = 0; i < o->nin; i++) operand(m, e, i, o->in[i]);
    e->out = m->v[k].at;
    if (m->v[k].through) e->through |= 8;
}

/* ---- reductions ---- */

/* The most elements that a result of REDUCE r may have. */
static int64_t most_elements(const making *m, uint32_t r) {
    const tn_i_loops *p = m->p;
    int64_t sum = 0, n;
    for (uint32_t k = r + 1; k <= m->range[r].last; k++) {
        if (p->op[k].kind != TN_L_INTO || p->op[k].in[0] != r) continue;
        int64_t times = 1;
        for (uint32_t l = m->range[k].loop; l != m->range[r].loop; l = m->range[l].loop) {
            n = p->op[l].hi;
            (void)tn_i_l_known_count(p, l, &n);
            if (tn_i_l_by(p, &p->op[k].at, l) == 0 && !tn_i_mul_i64(times, n, &times)) times = INT64_MAX;
        }
        if (!tn_i_add_i64(sum, times, &sum)) sum = INT64_MAX;
    }
    return sum;
}

/* Every INTO of REDUCE r is of a vector loop's iterations, one result each, all of them. */
static bool alike(const making *m, uint32_t r) {
    const tn_i_loops *p = m->p;
    int64_t n;
    for (uint32_t k = r + 1; k <= m->range[r].last; k++) {
        const tn_i_l_op *o = &p->op[k];
        const uint32_t l = m->range[k].loop;
        if (o->kind != TN_L_INTO || o->in[0] != r) continue;
        if (l == TN_L_NONE || l < r || !p->op[l].vector || !tn_i_l_known_count(p, l, &n) || n != p->op[r].hi)
            return false;
        if (o->at.at || o->at.n != 1 || tn_i_l_by(p, &o->at, l) != 1) return false;
    }
    return true;
}

static void reduce(making *m, uint32_t k) {
    tn_i_strips *s = m->s;
    const tn_i_l_op *o = &m->p->op[k];
    const int64_t n = most_elements(m, k);
    size_t bytes = SIZE_MAX;
    if (!tn_i_grow(s->ctx, (void **)(void *)&s->sum, &s->csum, s->nsum + (size_t)1, sizeof *s->sum)) {
        m->failed = true;
        return;
    }
    const int64_t count = m->vector == TN_L_NONE ? o->hi : TN_M_STRIP_LANES; /* each iteration's own */
    (void)tn_i_strips_sum_bytes(count, n, o->code, o->dtype, &bytes);
    m->v[k].at = tn_i_s_area(&m->z, bytes);
    ends_at(m, k, m->range[k].last);
    s->sum[s->nsum] = (tn_i_s_sum){.area = m->v[k].at,
                                   .fold = o->code,
                                   .dtype = o->dtype,
                                   .size = (uint8_t)tn_i_dtype_size(o->dtype),
                                   .count = count,
                                   .alike = m->vector == TN_L_NONE && o->hi > 1 && alike(m, k),
                                   .of = tn_i_vec_fold_of(o->code, o->dtype, m->isa)};
    m->v[k].mate = s->nsum++;
    emit(m, TN_S_REDUCE, k)->slot = m->v[k].mate;
}

/* Which of it: of one in the vector loop each iteration's own. */
static void results(making *m, tn_i_s_op *e, const tn_i_l_op *o) {
    if (m->vector != TN_L_NONE && o->in[0] > m->vector)
        e->step = 1;
    else
        expression(m, e, &o->at, 1);
}

static void into(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    const value *x = &m->v[o->in[1]];
    const bool many = m->vector != TN_L_NONE;
    uint32_t room = TN_L_NONE;
    if (many && !x->varies) {
        room = tn_i_s_take(&m->z, true);
        (void)copy_to(m, k, o->in[1], room, true);
    }
    tn_i_s_op *e = emit(m, TN_S_INTO, k);
    e->slot = m->v[o->in[0]].mate;
    e->varies = many;
    results(m, e, o);
    operand(m, e, 0, o->in[1]);
    if (room == TN_L_NONE) return;
    e->in[0] = room;
    e->through = 0;
    tn_i_s_give(&m->z, room);
}

static void total(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    tn_i_s_op *e = emit(m, TN_S_TOTAL, k);
    e->slot = m->v[o->in[0]].mate;
    e->dtype = o->dtype;
    results(m, e, o);
    m->v[k].varies = e->varies = e->step != 0;
    e->out = take(m, k);
}

/* ---- loops ---- */

/* CARRYs are where they are before the loop begins, with what they enter with. */
static void enter(making *m, uint32_t k) {
    const tn_i_loops *p = m->p;
    for (uint32_t c = k + 1; c < p->nop && p->op[c].kind == TN_L_CARRY; c++) {
        m->v[c].varies = m->vector != TN_L_NONE;
        (void)take(m, c);
        (void)copy_to(m, c, p->op[c].in[0], m->v[c].at, m->v[c].varies);
    }
}

static void note_stores(making *m, uint32_t k) {
    m->nstore = m->nplaced = 0;
    for (uint32_t i = k + 1; i < m->p->op[k].to && m->nstore <= STORES; i++) {
        if (m->p->op[i].kind != TN_L_STORE) continue;
        if (m->nstore < STORES) m->store[m->nstore] = i;
        m->nstore++;
    }
}

static bool any_reduction(const tn_i_loops *p, uint32_t k) {
    for (uint32_t i = k + 1; i < p->op[k].to; i++)
        if (p->op[i].kind == TN_L_REDUCE) return true;
    return false;
}

/* HALVES behind loop k. */
static bool behind(const tn_i_loops *p, uint32_t h) {
    return h < p->nop && (p->op[h].kind == TN_L_HALVES || p->op[h].kind == TN_L_LAST);
}

static void loop(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    int64_t n = 0;
    const bool known = tn_i_l_known_count(m->p, k, &n);
    enter(m, k);
    for (uint32_t h = o->to + 1; behind(m->p, h); h++)
        if (m->p->op[h].kind == TN_L_HALVES) m->v[h].own = tn_i_s_area(&m->z, TN_L_HALVED * 8);
    m->v[k].at = tn_i_s_take(&m->z, false);
    m->v[k].own = tn_i_s_take(&m->z, false);
    ends_at(m, k, o->to);
    const bool strips = o->vector && known && n > 0;
    m->v[k].mate = m->s->nop;
    tn_i_s_op *e = emit(m, o->parallel ? TN_S_PARALLEL : o->vector ? TN_S_VECTOR : TN_S_FOR, k);
    e->out = m->v[k].at;
    e->slot = m->v[k].own;
    e->last = o->hi;
    expression(m, e, &o->at, 1);
    if (o->in[0] != TN_L_NONE) {
        operand(m, e, 0, o->in[0]);
        e->index = m->p->op[o->in[0]].dtype;
    }
    if (o->vector) {
        const int64_t most = strips ? n : o->hi;
        e->by = any_reduction(m->p, k) ? TN_M_STRIP_LANES : TN_STRIPS_MOST;
        if (m->most < most) m->most = most < TN_STRIPS_MOST ? most : TN_STRIPS_MOST;
        m->vector = k;
        note_stores(m, k);
    }
}

/* What the next iteration is entered with.  A CARRY that another one is to be is read before any is written. */
static void next(making *m, uint32_t loop, uint32_t end) {
    const tn_i_loops *p = m->p;
    uint32_t first = end;
    while (first > loop && p->op[first - 1].kind == TN_L_NEXT) first--;
    for (uint32_t k = first; k < end; k++) {
        const uint32_t x = p->op[k].in[1];
        if (p->op[x].kind != TN_L_CARRY || m->range[x].loop != loop || x == p->op[k].in[0]) continue;
        m->v[k].own = tn_i_s_take(&m->z, m->v[x].varies);
        (void)copy_to(m, k, x, m->v[k].own, m->v[x].varies);
    }
    for (uint32_t k = first; k < end; k++) {
        const uint32_t c = p->op[k].in[0], x = p->op[k].in[1], saved = m->v[k].own;
        if (m->v[x].at == m->v[c].at && m->v[x].varies == m->v[c].varies && !m->v[x].through) continue;
        tn_i_s_op *e = copy_to(m, k, x, m->v[c].at, m->v[c].varies);
        if (saved == TN_L_NONE) continue;
        e->in[0] = saved;
        tn_i_s_give(&m->z, saved);
    }
}

static void keep(making *m, uint32_t k, uint32_t h) {
    const tn_i_l_op *o = &m->p->op[h];
    tn_i_s_op *e = emit(m, TN_S_KEEP, h);
    e->slot = m->v[h].own;
    e->size = (uint8_t)tn_i_dtype_size(o->dtype);
    e->varies = m->p->op[k].vector != 0;
    operand(m, e, 0, o->in[0]);
    e->in[1] = m->v[k].at;
}

static void end_loop(making *m, uint32_t k, uint32_t end) {
    const tn_i_l_op *o = &m->p->op[k];
    next(m, k, end);
    for (uint32_t h = end + 1; behind(m->p, h); h++)
        if (m->p->op[h].kind == TN_L_HALVES) keep(m, k, h);
    tn_i_s_op *e = emit(m, o->parallel ? TN_S_STOP : o->vector ? TN_S_VECTOR_END : TN_S_END, end);
    e->to = m->v[k].mate;
    if (m->failed) return;
    m->s->op[m->v[k].mate].to = m->s->nop;
    for (uint32_t i = m->v[k].mate; i < m->s->nop; i++)
        if (m->s->op[i].kind == TN_S_WHILE && m->range[m->s->op[i].op].loop == k) m->s->op[i].to = m->s->nop;
    if (o->vector) m->vector = TN_L_NONE;
}

static void halves(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    uint32_t end = k;
    int64_t n = 0;
    while (m->p->op[end].kind != TN_L_END) end--;
    (void)tn_i_l_known_count(m->p, m->p->op[end].to, &n);
    tn_i_s_op *e = emit(m, TN_S_HALVES, k);
    e->slot = m->v[k].own;
    e->size = (uint8_t)tn_i_dtype_size(o->dtype);
    e->dtype = o->dtype;
    e->by = o->code;
    e->last = n;
    e->out = take(m, k); /* its numbers are given with it: no others may be there while it lives */
}

/* ---- conditions ---- */

static void condition(making *m, uint32_t k) {
    tn_i_s_op *e = emit(m, TN_S_IF, k);
    const uint32_t to = m->p->op[k].to;
    uint32_t last = m->p->op[to].kind == TN_L_ELSE ? m->p->op[to].to : to;
    while (last + 1 < m->p->nop && m->p->op[last + 1].kind == TN_L_JOIN) last++;
    m->v[k].mate = m->failed ? 0 : m->s->nop - 1;
    m->v[k].at = tn_i_s_take(&m->z, false);
    ends_at(m, k, last);
    operand(m, e, 0, m->p->op[k].in[0]);
    e->out = m->v[k].at;
}

static void otherwise(making *m, uint32_t k) {
    m->v[k].mate = m->s->nop;
    (void)emit(m, TN_S_GO, k);
    if (!m->failed) m->s->op[m->v[m->p->op[k].which].mate].to = m->s->nop;
}

static void end_condition(making *m, uint32_t end) {
    const uint32_t k = m->p->op[end].to, other = m->p->op[k].to; /* the IF, and its ELSE if that is no END */
    if (!m->failed) m->s->op[m->v[other == end ? k : other].mate].to = m->s->nop;
}

static void join(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    uint32_t end = k;
    while (m->p->op[end].kind != TN_L_END) end--;
    m->v[k].varies = any_varies(m, o);
    tn_i_s_op *e = emit(m, TN_S_JOIN, k);
    e->size = (uint8_t)tn_i_dtype_size(o->dtype);
    e->varies = m->v[k].varies;
    operand(m, e, 0, o->in[0]);
    operand(m, e, 1, o->in[1]);
    e->in[2] = m->v[m->p->op[end].to].at;
    e->out = take(m, k);
}

/* ---- the walk ---- */

static void call(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    (void)emit(m, TN_S_CALL, k);
    for (uint32_t i = 0; i < o->narg; i++) { /* each argument's expression */
        tn_i_s_op *e = emit(m, TN_S_CALL, TN_L_NONE);
        expression(m, e, &m->p->arg[o->arg + i].at, 1);
    }
}

static void operation(making *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    switch (o->kind) {
    case TN_L_NUMBER: constant(m, k); break;
    case TN_L_INDEX: index_of(m, k, TN_S_INDEX); break;
    case TN_L_WITHIN: index_of(m, k, TN_S_WITHIN); break;
    case TN_L_MAP: map(m, k); break;
    case TN_L_LOAD: load(m, k); break;
    case TN_L_STORE: store(m, k); break;
    case TN_L_LAST: m->v[k].at = m->v[o->in[0]].at, m->v[k].varies = m->v[o->in[0]].varies; break;
    case TN_L_HALVES: halves(m, k); break;
    case TN_L_JOIN: join(m, k); break;
    case TN_L_REDUCE: reduce(m, k); break;
    case TN_L_INTO: into(m, k); break;
    case TN_L_TOTAL: total(m, k); break;
    case TN_L_WHILE: operand(m, emit(m, TN_S_WHILE, k), 0, o->in[0]); break;
    case TN_L_CALL: call(m, k); break;
    case TN_L_FOR: loop(m, k); break;
    case TN_L_IF: condition(m, k); break;
    case TN_L_ELSE: otherwise(m, k); break;
    case TN_L_END:
        if (m->p->op[o->to].kind == TN_L_FOR)
            end_loop(m, o->to, k);
        else
            end_condition(m, k);
        break;
    default: break; /* a CARRY was placed in front of its loop; NEXTs are at its END */
    }
    end_values(m, k);
}

static bool begin(making *m) {
    tn_ctx *c = m->p->ctx;
    const size_t n = m->p->nop + (size_t)1;
    m->v = tn_i_alloc_array(c, n, sizeof *m->v);
    m->range = tn_i_alloc_array(c, n, sizeof *m->range);
    if (!m->v || !m->range) return false;
    for (size_t k = 0; k < n; k++) m->v[k] = (value){.own = TN_L_NONE};
    tn_i_s_find_ranges(m->p, m->range);
    return true;
}

static void end(making *m) {
    tn_ctx *c = m->p->ctx;
    const size_t n = m->p->nop + (size_t)1;
    tn_i_s_places_drop(&m->z);
    if (m->range) tn_i_free(c, m->range, n * sizeof *m->range);
    if (m->v) tn_i_free(c, m->v, n * sizeof *m->v);
}

tn_i_strips *tn_i_strips_new(const tn_i_loops *p, tn_i_isa isa, bool accurate, size_t room, bool *fits) {
    tn_i_strips *s = tn_i_alloc(p->ctx, sizeof *s);
    making m = {.s = s, .p = p, .isa = isa, .accurate = accurate, .vector = TN_L_NONE, .most = 1};
    *fits = true;
    if (!s) return NULL;
    *s = (tn_i_strips){.ctx = p->ctx, .p = p};
    m.z.ctx = p->ctx;
    bool ok = begin(&m);
    for (uint32_t k = 0; ok && k < p->nop; k++) {
        operation(&m, k);
        ok = !m.failed && !m.z.failed;
    }
    (void)emit(&m, TN_S_STOP, TN_L_NONE);
    ok = ok && !m.failed;
    if (ok) ok = *fits = tn_i_s_settle(s, &m.z, m.most, room);
    end(&m);
    if (ok) return s;
    tn_i_strips_free(s);
    return NULL;
}

void tn_i_strips_free(tn_i_strips *s) {
    if (!s) return;
    tn_i_free(s->ctx, s->op, s->cop * sizeof *s->op);
    tn_i_free(s->ctx, s->term, s->cterm * sizeof *s->term);
    tn_i_free(s->ctx, s->constant, s->cconstant * sizeof *s->constant);
    tn_i_free(s->ctx, s->sum, s->csum * sizeof *s->sum);
    tn_i_free(s->ctx, s, sizeof *s);
}

size_t tn_i_strips_bytes(const tn_i_strips *s) { return s->bytes; }
