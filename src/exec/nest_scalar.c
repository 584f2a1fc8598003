/* Nests of one element: programs of numbers.
 *
 * Calling a function for each equation, and one of whole vectors for each sine, is what takes the time.  So equations
 * of one kind that do not wait for each other are computed together, as elements of one vector; each of them has the
 * bits that it has alone. */
#include "exec/nest_code.h"

#include <string.h>

/* Most equations of one instruction; what a vector at least has, of functions of vectors and of all others: of cheap
 * ones a dozen have run by the time that a vector's operands are put side by side. */
enum { MOST = 64, LEAST_FUNCTION = 2, LEAST_OTHER = 16, ALIGN = 64, WIDEST = 64 };

/* ---- what is not made of a scalar body ------------------------------------------------------- */

static inline void next(const tn_i_number_op *o, char *reg) { o[1].run(o + 1, reg); }

static void run_end(const tn_i_number_op *o, char *reg) { (void)o, (void)reg; }

static void run_one(const tn_i_number_op *o, char *reg) {
    o->with.one(reg + o->in[0], reg + o->in[1], reg + o->in[2], reg + o->out);
    next(o, reg);
}

static void run_fold(const tn_i_number_op *o, char *reg) {
    const tn_i_vec_fold *fold = o->with.more;
    fold->into(reg + o->out, reg + o->in[0], 1);
    next(o, reg);
}

static void gather(uint32_t size, uint32_t n, const int32_t *at, const char *from, char *to) {
    switch (size) {
    case 8:
        for (uint32_t i = 0; i < n; i++) memcpy(to + i * 8, from + at[i], 8);
        break;
    case 4:
        for (uint32_t i = 0; i < n; i++) memcpy(to + i * 4, from + at[i], 4);
        break;
    default:
        for (uint32_t i = 0; i < n; i++) to[i] = from[at[i]];
        break;
    }
}

static void strip_many(const tn_i_number_op *o, char *reg) {
    const tn_i_scalar_many *s = o->with.more;
    _Alignas(ALIGN) char buffer[3][8 * MOST];
    const void *in[4] = {reg, reg, reg, NULL};
    int64_t stride[4] = {0};
    for (uint32_t k = 0; k < s->nin; k++) {
        stride[k] = s->from[k] != TN_FROM_SAME;
        in[k] = reg + o->in[k];
        if (s->from[k] != TN_FROM_GATHER) continue;
        gather(s->size[k], s->n, s->gather + o->in[k], reg, buffer[k]);
        in[k] = buffer[k];
    }
    s->strip(s->n, in, stride, reg + o->out, 1);
}

static void run_many(const tn_i_number_op *o, char *reg) {
    strip_many(o, reg); /* whose buffers would keep a call from becoming a jump */
    next(o, reg);
}

/* ---- making ------------------------------------------------------------------------------- */

/* What one strip computes, and its operations that wait for nothing. */
typedef struct sort {
    tn_i_vec kernel;
    uint32_t head, count;
} sort;

typedef struct maker {
    tn_ctx *ctx;
    const tn_i_nest *n;
    tn_i_nest_code *code;
    tn_i_isa isa;
    bool accurate;
    sort *sort;
    size_t nsort, csort, bytes;
    uint32_t *of, *next;       /* of each operation: its sort; the next one that is ready */
    uint32_t *at, *need;       /* its register; operands that are still to be computed */
    uint32_t *first, *readers; /* its readers: readers[first[v]..first[v+1]) */
    uint32_t *group;           /* of what is computed in a vector: its first operation; else itself */
    uint32_t *length;          /* of the first operation of a vector: how many */
} maker;

static uint8_t size_of(const maker *m, uint32_t v) { return (uint8_t)tn_i_dtype_size(m->n->op[v].dtype); }

static bool computes(const tn_i_nest_op *o) { return o->kind == TN_NEST_MAP || o->kind == TN_NEST_REDUCE; }

static uint32_t reserve(maker *m, size_t bytes, size_t align) {
    const size_t at = (m->bytes + align - 1) / align * align;
    m->bytes = at + bytes;
    return (uint32_t)at;
}

static uint64_t iota_bits(const tn_i_nest_op *o) {
    uint64_t bits = 0;
    const tn_i_nest_walk w = {.n = 1, .size = {1}};
    tn_i_walk_iota(&w, o->dtype, o->by, o->first, 0, 1, (char *)&bits);
    return bits;
}

/* Numbers, indices, and what a fold begins with. */
static void place_constants(maker *m) {
    tn_i_nest_code *c = m->code;
    for (uint32_t v = 0; v < m->n->nop; v++) {
        const tn_i_nest_op *o = &m->n->op[v];
        uint64_t bits;
        if (o->kind == TN_NEST_NUMBER)
            bits = o->bits;
        else if (o->kind == TN_NEST_IOTA)
            bits = iota_bits(o);
        else if (o->kind == TN_NEST_REDUCE)
            bits = tn_i_fold_identity(o->fold, o->dtype);
        else
            continue;
        m->at[v] = reserve(m, 8, 8);
        c->constant[c->nconstant++] = bits;
    }
}

/* What lies outside of a box is where its filling is. */
static void place_loads(maker *m) {
    for (uint32_t v = 0; v < m->n->nop; v++) {
        const tn_i_nest_op *o = &m->n->op[v];
        if (o->kind != TN_NEST_LOAD) continue;
        const tn_i_nest_array *a = &m->n->array[o->array];
        bool inside = true;
        for (uint32_t d = 0; a->boxed && d < m->n->nloop; d++) inside &= a->lo[d] <= 0 && a->hi[d] > 0;
        m->at[v] = inside ? reserve(m, 8, 8) : m->at[a->fill];
        if (inside) m->code->load[m->code->nload++] = (tn_i_scalar_move){o->array, m->at[v], size_of(m, v), 0};
    }
}

static void place_stores(maker *m) {
    tn_i_nest_code *c = m->code;
    for (uint32_t v = 0; v < m->n->nop; v++) {
        const tn_i_nest_op *o = &m->n->op[v];
        if (o->kind == TN_NEST_STORE)
            c->store[c->nstore++] = (tn_i_scalar_move){o->array, m->at[o->in[0]], size_of(m, o->in[0]), 0};
    }
}

static bool find_sort(maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->n->op[v];
    tn_i_vec k = {.strip = NULL};
    size_t i = 0;
    if (o->kind == TN_NEST_MAP && !tn_i_nest_kernel(m->ctx, m->n, o, m->isa, m->accurate, &k)) return false;
    while (i < m->nsort && (m->sort[i].kernel.strip != k.strip || !k.strip)) i++;
    if (i == m->nsort) {
        if (!tn_i_grow(m->ctx, (void **)&m->sort, &m->csort, m->nsort + 1, sizeof *m->sort)) return false;
        m->sort[m->nsort++] = (sort){k, TN_NOVAR, 0};
    }
    m->of[v] = (uint32_t)i;
    return true;
}

static void ready(maker *m, uint32_t v) {
    sort *s = &m->sort[m->of[v]];
    m->next[v] = s->head;
    s->head = v;
    s->count++;
}

static void count_needs(maker *m) {
    const tn_i_nest *n = m->n;
    for (uint32_t v = 0; v < n->nop; v++)
        for (uint32_t i = 0; computes(&n->op[v]) && i < n->op[v].nin; i++)
            if (computes(&n->op[n->op[v].in[i]])) {
                m->need[v]++;
                m->first[n->op[v].in[i] + 1]++;
            }
    for (uint32_t v = 0; v < n->nop; v++) m->first[v + 1] += m->first[v];
    for (uint32_t v = n->nop; v-- > 0;)
        for (uint32_t i = 0; computes(&n->op[v]) && i < n->op[v].nin; i++)
            if (computes(&n->op[n->op[v].in[i]])) {
                const uint32_t x = n->op[v].in[i];
                m->readers[m->first[x] + m->length[x]++] = v; /* length: not yet in use */
            }
    memset(m->length, 0, n->nop * sizeof *m->length);
    for (uint32_t v = n->nop; v-- > 0;)
        if (computes(&n->op[v]) && !m->need[v]) ready(m, v);
}

static void done(maker *m, uint32_t v) {
    for (uint32_t i = m->first[v]; i < m->first[v + 1]; i++)
        if (--m->need[m->readers[i]] == 0) ready(m, m->readers[i]);
}

/* By where the first operands are that are not all one: those then are a row more often. */
static void arrange(const maker *m, uint32_t *op, uint32_t n) {
    const tn_i_nest_op *const all = m->n->op;
    uint32_t k = 0;
    bool same = true;
    for (; k < all[op[0]].nin && same; k += same)
        for (uint32_t i = 1; i < n; i++) same &= m->at[all[op[i]].in[k]] == m->at[all[op[0]].in[k]];
    if (same) return;
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t v = op[i];
        uint32_t j = i;
        for (; j > 0 && m->at[all[op[j - 1]].in[k]] > m->at[all[v].in[k]]; j--) op[j] = op[j - 1];
        op[j] = v;
    }
}

/* Operands are side by side, and what is behind the last one is filled up as this vector is to be. */
static bool is_row(const maker *m, const uint32_t *op, uint32_t n, uint32_t padded, uint32_t k) {
    const uint32_t x = m->n->op[op[0]].in[k];
    for (uint32_t i = 1; i < n; i++)
        if (m->at[m->n->op[op[i]].in[k]] != m->at[x] + i * size_of(m, x)) return false;
    return n == padded || (m->group[x] == x && m->length[x] == n);
}

static bool put_operand(maker *m, tn_i_number_op *o, tn_i_scalar_many *s, const uint32_t *op, uint32_t n, uint32_t k) {
    tn_i_nest_code *c = m->code;
    const tn_i_nest_op *const all = m->n->op;
    bool same = true;
    for (uint32_t i = 1; i < n; i++) same &= m->at[all[op[i]].in[k]] == m->at[all[op[0]].in[k]];
    s->size[k] = size_of(m, all[op[0]].in[k]);
    o->in[k] = m->at[all[op[0]].in[k]];
    s->from[k] = same ? TN_FROM_SAME : TN_FROM_ROW;
    if (same || is_row(m, op, n, s->n, k)) return true;
    if (!tn_i_grow(m->ctx, (void **)&c->gather, &c->cgather, c->ngather + s->n, sizeof *c->gather)) return false;
    s->from[k] = TN_FROM_GATHER;
    o->in[k] = (uint32_t)c->ngather;
    for (uint32_t i = 0; i < s->n; i++) c->gather[c->ngather++] = (int32_t)m->at[all[op[i < n ? i : 0]].in[k]];
    return true;
}

static uint32_t vector_bytes(tn_i_isa isa) { return (uint32_t)tn_i_isa_bytes(isa); }

/* n elements filled up to whole vectors of operations of this kind: of the narrowest numbers in it. */
static uint32_t filled(const maker *m, uint32_t v, uint32_t n, uint32_t bytes) {
    const tn_i_nest_op *o = &m->n->op[v];
    uint32_t size = size_of(m, v);
    for (uint32_t i = 0; i < o->nin; i++)
        if (size_of(m, o->in[i]) < size && size_of(m, o->in[i]) > 1) size = size_of(m, o->in[i]);
    const uint32_t lanes = bytes / (size > 1 ? size : 8);
    return n > 1 ? (n + lanes - 1) / lanes * lanes : 1;
}

static tn_i_number_op *next_op(maker *m, tn_i_number_fn *run) {
    tn_i_number_op *o = &m->code->number[m->code->nnumber++];
    *o = (tn_i_number_op){.run = run};
    return o;
}

/* There is room for the widest vectors everywhere, so that a program's memory is the same on all processors. */
static bool emit_many(maker *m, const tn_i_vec *kernel, uint32_t *op, uint32_t n) {
    const uint32_t v = op[0];
    tn_i_number_op *o = next_op(m, run_many);
    tn_i_scalar_many *s = &m->code->many[m->code->nmany++];
    arrange(m, op, n);
    *s = (tn_i_scalar_many){.strip = kernel->strip, .nin = m->n->op[v].nin};
    s->n = (uint16_t)filled(m, v, n, vector_bytes(m->isa));
    o->with.more = s;
    o->out = reserve(m, (size_t)filled(m, v, n, WIDEST) * size_of(m, v), ALIGN);
    for (uint32_t i = 0; i < n; i++) {
        m->at[op[i]] = o->out + i * size_of(m, v);
        m->group[op[i]] = op[0];
    }
    m->length[op[0]] = n;
    for (uint32_t k = 0; k < s->nin; k++)
        if (!put_operand(m, o, s, op, n, k)) return false;
    return true;
}

static void emit_one(maker *m, const tn_i_vec *kernel, uint32_t v) {
    const tn_i_nest_op *o = &m->n->op[v];
    tn_i_number_op *one = next_op(m, kernel->number ? kernel->number : run_one);
    one->with.one = kernel->one;
    m->at[v] = one->out = reserve(m, 8, 8);
    for (uint32_t k = 0; k < o->nin; k++) one->in[k] = m->at[o->in[k]];
}

/* Into the identity, which is there anew for each run. */
static void emit_fold(maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->n->op[v];
    const tn_i_vec_fold *fold = tn_i_vec_fold_of(o->fold, m->n->op[o->in[0]].dtype, m->isa);
    if (!fold) return; /* an index: 0 */
    tn_i_number_op *to = next_op(m, run_fold);
    to->with.more = fold;
    to->in[0] = m->at[o->in[0]];
    to->out = m->at[v];
}

/* Operations that are ready, of the sort that has most of them. */
static bool emit_next(maker *m) {
    sort *s = m->sort;
    uint32_t op[MOST], n = 0;
    for (size_t i = 1; i < m->nsort; i++)
        if (m->sort[i].count > s->count) s = &m->sort[i];
    for (; s->head != TN_NOVAR && n < MOST; n++, s->count--) {
        op[n] = s->head;
        s->head = m->next[op[n]];
    }
    if (!s->kernel.strip)
        emit_fold(m, op[0]); /* of which each is a sort of its own */
    else if (n >= (s->kernel.itself ? LEAST_FUNCTION : LEAST_OTHER)) {
        if (!emit_many(m, &s->kernel, op, n)) return false;
    } else
        for (uint32_t i = 0; i < n; i++)
            if (s->kernel.one)
                emit_one(m, &s->kernel, op[i]);
            else if (!emit_many(m, &s->kernel, &op[i], 1))
                return false;
    for (uint32_t i = n; i-- > 0;) done(m, op[i]);
    return true;
}

static bool make(maker *m) {
    const tn_i_nest *n = m->n;
    uint32_t left = 0;
    place_constants(m);
    place_loads(m);
    for (uint32_t v = 0; v < n->nop; v++) {
        m->group[v] = computes(&n->op[v]) ? v : TN_NOVAR;
        if (!computes(&n->op[v])) continue;
        left++;
        if (!find_sort(m, v)) return false;
    }
    count_needs(m);
    for (bool some = left > 0; some;) {
        if (!emit_next(m)) return false;
        some = false;
        for (size_t i = 0; i < m->nsort; i++) some |= m->sort[i].count != 0;
    }
    next_op(m, run_end);
    for (uint32_t i = 0; i < m->code->nmany; i++) m->code->many[i].gather = m->code->gather;
    place_stores(m);
    return true;
}

bool tn_i_scalar_make(tn_ctx *c, tn_i_nest *n, tn_i_nest_code *code, tn_i_isa isa, bool accurate) {
    const size_t nop = n->nop + (size_t)1, all = 11 * nop;
    maker m = {.ctx = c, .n = n, .code = code, .isa = isa, .accurate = accurate};
    code->scalar = true;
    code->constant = tn_i_alloc_array(c, nop, 8);
    code->cnumber = nop + 1;
    code->number = tn_i_alloc_array(c, code->cnumber, sizeof *code->number);
    code->many = tn_i_alloc_array(c, nop, sizeof *code->many);
    code->load = tn_i_alloc_array(c, nop, sizeof *code->load);
    m.of = tn_i_alloc_array(c, all, sizeof *m.of);
    bool ok = code->constant && code->number && code->many && code->load && m.of;
    if (ok) {
        uint32_t **const part[] = {&m.next, &m.at, &m.need, &m.first, &m.group, &m.length, &m.readers};
        for (size_t i = 0; i < sizeof part / sizeof *part; i++) *part[i] = m.of + (i + 1) * nop;
        for (uint32_t v = 0; v < n->nop; v++) code->nload += n->op[v].kind == TN_NEST_LOAD;
        code->store = code->load + code->nload;
        code->nload = 0;
        ok = make(&m);
    }
    n->scratch = m.bytes ? m.bytes : 8;
    tn_i_free(c, m.of, all * sizeof *m.of);
    tn_i_free(c, m.sort, m.csort * sizeof *m.sort);
    return ok;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Copies of sizes that are known: the compiler makes them moves. */
static inline void copy(uint32_t size, const void *from, void *to) {
    switch (size) {
    case 8: memcpy(to, from, 8); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 1); break;
    }
}

void tn_i_scalar_run(const tn_i_nest_code *code, char *const *data, char *reg) {
    const tn_i_scalar_move *x;
    for (uint32_t i = 0; i < code->nconstant; i++) memcpy(reg + 8 * (size_t)i, &code->constant[i], 8);
    for (x = code->load; x < code->load + code->nload; x++) copy(x->size, data[x->array] + x->from, reg + x->at);
    code->number->run(code->number, reg);
    for (x = code->store; x < code->store + code->nstore; x++)
        if (data[x->array]) copy(x->size, reg + x->at, data[x->array] + x->from);
}
