/* Where the values of a nest's code are: tiles that share memory, buffers of rows, what reductions carry. */
#include "exec/nest_make.h"

#include <string.h>

enum { TILE_BYTES = 16384, LEAST_TILE = 64, ALIGN = 64 };

static bool reserve(maker *m, size_t bytes, size_t *at) {
    *at = m->bytes;
    return tn_i_add(m->bytes, bytes, &m->bytes) && tn_i_add(m->bytes, ALIGN - 1, &m->bytes) &&
           ((m->bytes -= m->bytes % ALIGN), true);
}

static bool too_large(maker *m) {
    (void)tn_i_fail(m->ctx, TN_EOVERFLOW, NULL, "scratch memory of a fused step is too large");
    return false;
}

/* What is read through a box may be read where that lies which is read outside of it. */
static void keep_outsides(maker *m) {
    for (uint32_t i = m->code->ninstr; i-- > 0;) {
        const tn_i_nest_instr *e = &m->code->instr[i];
        if (e->kind == TN_CODE_BOX && e->s[0] && m->last[e->in[0]] < m->last[e->out])
            m->last[e->in[0]] = m->last[e->out];
    }
}

/* Tiles by last use.  An instruction may write over an operand of its size that nothing reads later. */
static bool assign_tiles(maker *m) {
    tn_i_nest_code *c = m->code;
    uint32_t *ends = tn_i_alloc_array(m->ctx, c->nvalue + 1u, sizeof *ends); /* of each tile: when it is free */
    uint8_t *size = tn_i_alloc_array(m->ctx, c->nvalue + 1u, 1);
    if (!ends || !size) {
        tn_i_free(m->ctx, size, c->nvalue + 1u);
        tn_i_free(m->ctx, ends, (c->nvalue + 1u) * sizeof *ends);
        return false;
    }
    keep_outsides(m);
    for (uint32_t i = 0; i < c->ninstr; i++) {
        const tn_i_nest_instr *e = &c->instr[i];
        const uint32_t v = e->out;
        if (v == TN_NOVAR || m->at[v] != i || c->value[v].where != TN_VALUE_NONE) continue;
        if (v < m->nest->nop && m->rate[v] != ELEMENT) continue; /* of rows */
        const bool keep = i < c->once.last, over = e->kind == TN_CODE_MAP;
        uint32_t t = 0;
        while (t < m->ntile && !(ends[t] < i || (over && ends[t] == i && size[t] == e->size))) t++;
        if (t == m->ntile) m->ntile++;
        ends[t] = keep ? TN_NOVAR : m->last[v];
        size[t] = e->size;
        m->group[v] = t;
        if (e->size > m->widest) m->widest = e->size;
    }
    tn_i_free(m->ctx, size, c->nvalue + 1u);
    tn_i_free(m->ctx, ends, (c->nvalue + 1u) * sizeof *ends);
    return true;
}

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static int64_t fitting(int64_t tiles, int64_t width) {
    int64_t tile = TN_LEAF;
    if (!tiles) tiles = 1;
    if (!width) width = 8;
    while (tile > LEAST_TILE && tile * tiles * width > TILE_BYTES) tile /= 2;
    return tile;
}

/* As long as tiles stay in the first cache; whole rows where that is what a block is. */
static void choose_sizes(maker *m) {
    tn_i_nest_code *c = m->code;
    const tn_i_nest *n = m->nest;
    int64_t tile = fitting(m->ntile, m->widest);
    c->block = 1;
    if (c->whole && tile < n->row) tile = round_up(n->row, TN_LANES);
    if (m->many) {
        int64_t rows = tile / n->row;
        while (rows > 1 && rows * m->nrow * 8 > TILE_BYTES) rows /= 2;
        if (c->tiny)
            rows = n->rows;
        else if (m->round > 1)
            rows = rows > m->round ? rows - rows % m->round : m->round;
        else if (rows > TN_LANES)
            rows -= rows % TN_LANES;
        else
            while (rows < TN_LANES && TN_LANES % rows) rows--;
        if (tile < rows * n->row) tile = round_up(rows * n->row, TN_LANES);
        c->block = rows < n->rows ? rows : n->rows;
    }
    if (!m->many && tile > n->row) tile = round_up(n->row, TN_LANES);
    if (m->many && tile > c->block * n->row) tile = round_up(c->block * n->row, TN_LANES);
    c->tile = tile;
}

static bool place_value(maker *m, uint32_t v) {
    tn_i_nest_code *c = m->code;
    const tn_i_nest *n = m->nest;
    tn_i_nest_value *k = &c->value[v];
    const rate r = v < n->nop ? (rate)m->rate[v] : ELEMENT;
    const bool reduced = v < n->nop && n->op[v].kind == TN_NEST_REDUCE;
    if (v < n->nop && n->op[v].kind == TN_NEST_STORE) return true;
    if (v < n->nop) k->size = size_of(n->op[v].dtype);
    if (k->where == TN_VALUE_MEMORY) /* a tile for what is not wanted; loads need none */
        return k->offset == SIZE_MAX || reserve(m, (size_t)c->tile * k->size, &k->offset);
    if (m->at[v] == TN_NOVAR || r == ONCE) return true;
    if (reduced && !of_row(n, &n->op[v])) return true;
    k->where = TN_VALUE_SCRATCH;
    if (r == ROW) return reserve(m, (size_t)c->block * 8, &k->offset);
    if (v < n->nop && n->op[v].crosses && !c->whole) {
        size_t bytes;
        k->where = TN_VALUE_BUFFER;
        return tn_i_mul((size_t)n->row, k->size, &bytes) && reserve(m, bytes, &k->offset);
    }
    return true; /* a shared tile */
}

static bool place_sink(maker *m, tn_i_nest_sink *k) {
    size_t state, stack;
    if (!tn_i_mul((size_t)k->kept, k->size, &state) || !tn_i_mul(state, k->arg ? 1 : (size_t)k->lanes, &state))
        return false;
    if (!tn_i_mul((size_t)k->kept, k->arg ? 8 : k->size, &stack) || !tn_i_mul(stack, k->arg ? 1 : k->levels, &stack))
        return false;
    return reserve(m, state, &k->state) && reserve(m, stack, &k->stack);
}

/* Where element i of an array is, in bytes; false where the offset is too large to be listed. */
static bool offset_of(const tn_i_nest *n, const tn_i_nest_array *a, int64_t i, int32_t *at) {
    int64_t offset = 0;
    bool inside = true;
    for (uint32_t d = n->nloop; d-- > 0; i /= n->size[d]) {
        const int64_t index = i % n->size[d];
        inside &= !a->boxed || (index >= a->lo[d] && index < a->hi[d]);
        offset += index * a->stride[d];
    }
    const int64_t most = INT32_MAX / 8;
    *at = inside ? (int32_t)(offset * size_of(a->dtype)) : TN_NOT_PICKED;
    return offset <= most && offset >= -most;
}

/* In a tiny nest it is known where each element is loaded from and stored to. */
static bool list_offsets(maker *m, tn_i_nest_instr *e) {
    tn_i_nest_code *c = m->code;
    const tn_i_nest *n = m->nest;
    const bool loads = e->kind == TN_CODE_LOAD || e->kind == TN_CODE_BOX;
    const int64_t all = n->rows * n->row;
    int32_t at[TN_LANES];
    if (!loads && (e->kind != TN_CODE_STORE || e->in[0] >= n->nop || m->rate[e->in[0]] != ELEMENT)) return true;
    for (int64_t i = 0; i < TN_LANES; i++)
        if (!offset_of(n, &n->array[e->array], i < all ? i : 0, &at[i])) return true;
    if (!tn_i_grow(m->ctx, (void **)&c->gather, &c->cgather, c->ngather + TN_LANES, sizeof *at)) return false;
    memcpy(c->gather + c->ngather, at, sizeof at);
    e->kind = loads ? TN_CODE_PICK : TN_CODE_PUT;
    e->walk = (uint32_t)c->ngather;
    c->ngather += TN_LANES;
    return true;
}

/* In a tiny nest whatever makes a tile fills it. */
static bool pad_tiles(maker *m) {
    tn_i_nest_code *c = m->code;
    for (uint32_t i = 0; c->tiny && i < c->ninstr; i++) {
        const uint32_t v = c->instr[i].out;
        c->instr[i].padded = v != TN_NOVAR && (v >= m->nest->nop || m->rate[v] == ELEMENT);
        if ((v == TN_NOVAR || c->instr[i].padded) && !list_offsets(m, &c->instr[i])) return false;
    }
    return true;
}

/* Values that are once, 8 bytes each, behind the addresses of all. */
static bool place_once(maker *m) {
    tn_i_nest_code *c = m->code;
    const tn_i_nest *n = m->nest;
    size_t unused;
    for (uint32_t v = 0; v < n->nop; v++) c->nonce += m->rate[v] == ONCE && n->op[v].kind != TN_NEST_STORE;
    if (!reserve(m, (size_t)c->nvalue * sizeof(char *), &unused) || !reserve(m, (size_t)c->nonce * 8, &c->once_at))
        return too_large(m);
    c->constant = tn_i_alloc_array(m->ctx, n->nop + 1u, 8);
    if (!c->constant) return false;
    for (uint32_t v = 0, i = 0; v < n->nop; v++) {
        if (m->rate[v] != ONCE || n->op[v].kind == TN_NEST_STORE) continue;
        c->constant[i] = n->op[v].kind == TN_NEST_NUMBER ? n->op[v].bits : 0;
        c->value[v] = (tn_i_nest_value){TN_VALUE_SCRATCH, size_of(n->op[v].dtype), 0, 0, c->once_at + 8 * (size_t)i++};
    }
    return true;
}

/* Stores of what is computed in its place do nothing. */
static void drop_stores(maker *m) {
    tn_i_nest_code *c = m->code;
    tn_i_nest_section *part[2 + 2 * TN_NEST_PHASES] = {&c->once, &c->before};
    uint32_t to = 0;
    for (uint32_t p = 0; p < TN_NEST_PHASES; p++) part[2 + 2 * p] = &c->elements[p], part[3 + 2 * p] = &c->row[p];
    for (uint32_t p = 0; p < 2 + 2 * TN_NEST_PHASES; p++) {
        uint32_t i = part[p]->first;
        part[p]->first = to;
        for (; i < part[p]->last; i++)
            if (c->instr[i].kind != TN_CODE_STORE || c->instr[i].nin) c->instr[to++] = c->instr[i];
        part[p]->last = to;
    }
    c->ninstr = to;
}

/* One instruction from memory to memory, or to sums: tiles are not needed. */
static bool alone(const maker *m) {
    const tn_i_nest_code *c = m->code;
    const tn_i_nest_section *e = &c->elements[0];
    if (c->whole || m->nest->nphase > 1 || m->ntile || e->last != e->first + 1) return false;
    return c->instr[e->first].kind == TN_CODE_MAP;
}

bool tn_i_nest_place(maker *m) {
    tn_i_nest_code *c = m->code;
    size_t tiles;
    bool ok = pad_tiles(m) && place_once(m);
    if (!ok || !assign_tiles(m)) return false;
    choose_sizes(m);
    ok = reserve(m, (size_t)m->ntile * (size_t)c->tile * m->widest, &tiles);
    for (uint32_t v = 0; ok && v < c->nvalue; v++) {
        ok = place_value(m, v);
        tn_i_nest_value *k = &c->value[v];
        if (m->group[v] != TN_NOVAR && k->where != TN_VALUE_BUFFER) {
            k->where = TN_VALUE_SCRATCH;
            k->offset = tiles + (size_t)m->group[v] * (size_t)c->tile * m->widest;
        }
        if (k->where == TN_VALUE_MEMORY || k->where == TN_VALUE_BUFFER) c->nmoving++;
    }
    for (uint32_t i = 0; ok && i < c->nsink; i++) ok = place_sink(m, &c->sink[i]);
    if (!ok) return too_large(m);
    drop_stores(m);
    c->moving = tn_i_alloc_array(m->ctx, c->nmoving + 1u, sizeof *c->moving);
    if (!c->moving) return false;
    for (uint32_t v = 0, i = 0; v < c->nvalue; v++) {
        if (c->value[v].where == TN_VALUE_MEMORY || c->value[v].where == TN_VALUE_BUFFER) c->moving[i++] = v;
        if (c->value[v].offset == SIZE_MAX) c->value[v].offset = 0; /* never there, but an address within */
    }
    c->reach = alone(m) ? m->nest->row : c->tile;
    m->nest->scratch = m->bytes;
    return true;
}
