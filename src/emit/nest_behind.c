/* What one operation computes of an element, another often computes of a neighbour: both sides of what is padded, as in
 * the derivative of a difference of neighbours.  In the part of a row where no box begins or ends, the one that is
 * behind takes it from the vectors of the other: the last lanes of that before and the first of this one.  What only it
 * was made of is neither loaded nor computed.  The bits are the same, as the operations and what they read are.
 *
 * Of Rosenbrock's Hessian product, three operations and two loads that touch two lines of the cache are one shuffle. */
#include "emit/nest_emit.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_OPS = 256, LEAST_GAIN = 2 };

/* ---- two of a kind ------------------------------------------------------------------------ */

/* Which operations of the one are which of the other, and how many elements it is behind; 0: not known yet. */
typedef struct match {
    const tn_i_nest_writer *w;
    uint32_t phase;
    int64_t back;
    uint32_t of[MOST_OPS];
} match;

/* All that is read from `from` to `to` is in memory. */
static bool is_inside(const tn_i_nest_writer *w, const tn_i_nest_array *a, int64_t from, int64_t to) {
    const uint32_t inner = w->n->nloop - 1;
    if (!a->boxed) return true;
    for (uint32_t d = 0; d < inner; d++)
        if (a->lo[d] > 0 || a->hi[d] < w->n->size[d]) return false;
    return a->lo[inner] <= from && a->hi[inner] >= to;
}

static int64_t address_of(const tn_i_nest_writer *w, uint32_t array) {
    const tn_i_nest_array *a = &w->n->array[array];
    return tn_i_array_place(w, array)->offset + a->offset * (int64_t)tn_i_dtype_size(a->dtype);
}

static bool loads_match(match *m, uint32_t x, uint32_t y) {
    const tn_i_nest_writer *w = m->w;
    const tn_i_nest_array *a = &w->n->array[x], *b = &w->n->array[y];
    const int64_t by = a->stride[w->n->nloop - 1], apart = address_of(w, y) - address_of(w, x);
    const int64_t size = (int64_t)tn_i_dtype_size(a->dtype);
    if (tn_i_array_place(w, x)->base != tn_i_array_place(w, y)->base) return false;
    if (memcmp(a->stride, b->stride, w->n->nloop * sizeof *a->stride) != 0) return false;
    if (by == 0) return apart == 0 && !a->boxed && !b->boxed;
    if (by != 1 || apart < size || apart >= w->lanes * size || apart % size) return false;
    if (m->back && m->back != apart / size) return false;
    m->back = apart / size;
    return is_inside(w, a, w->plain_lo, w->plain_hi) && is_inside(w, b, w->plain_lo - m->back, w->plain_hi);
}

/* x is, of every element, what y is of the one `back` before. */
static bool matches(match *m, uint32_t x, uint32_t y) {
    const tn_i_nest_op *a = &m->w->n->op[x], *b = &m->w->n->op[y];
    if (!tn_i_of_elements(m->w, a)) return x == y;
    if (a->kind != b->kind || a->dtype != b->dtype || a->nin != b->nin) return false;
    if (a->phase != m->phase || b->phase != m->phase) return false;
    if (m->of[x] != TN_NOVAR) return m->of[x] == y;
    m->of[x] = y;
    if (a->kind == TN_NEST_LOAD) return a->nin == 0 && loads_match(m, a->array, b->array);
    if (a->kind != TN_NEST_MAP || !tn_i_eqn_same(a->eqn, b->eqn)) return false;
    for (uint32_t i = 0; i < a->nin; i++)
        if (!matches(m, a->in[i], b->in[i])) return false;
    return true;
}

/* ---- whether it pays ------------------------------------------------------------------------ */

static void need(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (w->behind.need[op] || !tn_i_of_elements(w, o)) return;
    w->behind.need[op] = true;
    if (w->behind.of[op] != TN_NOVAR) {
        need(w, w->behind.of[op]);
        return;
    }
    for (uint32_t i = 0; i < o->nin; i++) need(w, o->in[i]);
}

/* How many operations a vector takes. */
static uint32_t count_needed(tn_i_nest_writer *w, uint32_t phase) {
    uint32_t n = 0;
    memset(w->behind.need, 0, sizeof w->behind.need);
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        const bool root = o->kind == TN_NEST_STORE || o->kind == TN_NEST_REDUCE || w->carried[i];
        if (root && o->phase == phase) need(w, i);
    }
    for (uint32_t i = 0; i < w->n->nop; i++)
        n += w->behind.need[i] && (w->n->op[i].kind == TN_NEST_LOAD || w->n->op[i].kind == TN_NEST_MAP);
    return n;
}

/* Arithmetic on vectors of this width, each by itself. */
static bool admits(const tn_i_nest_writer *w, uint32_t phase) {
    if (w->m->bytes != 64 || w->n->nop > MOST_OPS || w->plain_lo < w->lanes || w->nearly) return false;
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->n->op[i].phase == phase && (w->address[i] || w->block[i] != TN_NOVAR)) return false;
    return true;
}

static bool may_be_behind(const tn_i_nest_writer *w, uint32_t phase, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    return o->kind == TN_NEST_MAP && o->level == TN_NEST_ELEMENT && o->phase == phase && w->behind.need[op] &&
           !w->carried[op] && o->dtype != TN_BOOL && (int)tn_i_dtype_size(o->dtype) == w->width;
}

static bool find_other(tn_i_nest_writer *w, uint32_t phase, uint32_t x, uint32_t *count) {
    match m = {.w = w, .phase = phase};
    for (uint32_t y = 0; y < w->n->nop; y++) {
        const tn_i_nest_op *o = &w->n->op[y];
        if (y == x || o->kind != TN_NEST_MAP || o->eqn->prim != w->n->op[x].eqn->prim) continue;
        memset(m.of, 0xFF, sizeof m.of);
        m.back = 0;
        if (!matches(&m, x, y) || !m.back) continue;
        w->behind.of[x] = y;
        w->behind.back[x] = (uint8_t)m.back;
        const uint32_t n = count_needed(w, phase);
        if (n + LEAST_GAIN <= *count) return *count = n, true;
        w->behind.of[x] = TN_NOVAR;
    }
    return false;
}

bool tn_i_find_behind(tn_i_nest_writer *w, uint32_t phase) {
    bool some = false;
    memset(w->behind.of, 0xFF, sizeof w->behind.of);
    if (!admits(w, phase)) return false;
    uint32_t count = count_needed(w, phase);
    for (uint32_t x = w->n->nop; x-- > 0;)
        if (may_be_behind(w, phase, x)) some |= find_other(w, phase, x, &count);
    (void)count_needed(w, phase);
    return some;
}

/* ---- text --------------------------------------------------------------------------------------- */

static bool is_taken_from(const tn_i_nest_writer *w, uint32_t op) {
    for (uint32_t x = 0; x < w->n->nop; x++)
        if (w->behind.need[x] && w->behind.of[x] == op) return true;
    return false;
}

static void take(tn_i_nest_writer *w, uint32_t op) {
    const uint32_t of = w->behind.of[op];
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "const %s v%u_%d = MIX(", type, (unsigned)op, w->u);
    if (w->u)
        tn_i_text_put(w->t, "v%u_%d", (unsigned)of, w->u - 1);
    else
        tn_i_text_put(w->t, "last%u", (unsigned)of);
    tn_i_text_put(w->t, ", v%u_%d, i%d, %d, BACK, %d);\n", (unsigned)of, w->u, 8 * w->width, w->lanes,
                  (int)w->behind.back[op]);
}

/* op, once, behind what it is made of. */
static void emit(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k, bool alone) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (w->behind.done[op] || !tn_i_of_elements(w, o)) return;
    w->behind.done[op] = true;
    if (!alone && w->behind.of[op] != TN_NOVAR) {
        emit(w, w->behind.of[op], k, alone);
        take(w, op);
        return;
    }
    for (uint32_t i = 0; i < o->nin; i++)
        if (w->n->op[o->in[i]].phase == o->phase) emit(w, o->in[i], k, alone);
    tn_i_emit_operation(w, op, k);
}

void tn_i_behind_vector(tn_i_nest_writer *w, uint32_t phase, const tn_i_piece *k) {
    memset(w->behind.done, 0, sizeof w->behind.done);
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->n->op[i].phase == phase && w->behind.need[i] && w->n->op[i].kind != TN_NEST_STORE) emit(w, i, k, false);
}

void tn_i_behind_begin(tn_i_nest_writer *w) {
    const tn_i_piece k = {.count = w->lanes};
    char type[16];
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (!is_taken_from(w, i)) continue;
        tn_i_vector_type(w, i, type);
        tn_i_text_put(w->t, "%s last%u;\n", type, (unsigned)i);
    }
    tn_i_text_put(w->t, "{ const int64_t i = INT64_C(%" PRId64 "), j0 = i;\n", w->plain_lo - w->lanes);
    memset(w->behind.done, 0, sizeof w->behind.done);
    w->u = 0;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (!is_taken_from(w, i)) continue;
        emit(w, i, &k, true);
        tn_i_text_put(w->t, "last%u = v%u_0;\n", (unsigned)i, (unsigned)i);
    }
    tn_i_text_put(w->t, "}\n");
}

void tn_i_behind_next(tn_i_nest_writer *w, int vectors) {
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (is_taken_from(w, i)) tn_i_text_put(w->t, "last%u = v%u_%d;\n", (unsigned)i, (unsigned)i, vectors - 1);
}
