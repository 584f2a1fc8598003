/* What matrices are at hot elements: vectors with a number for each row, made of what the matrices are made of. */
#include "opt/space.h"
#include "opt/one_hot.h"
#include "opt/equations.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum {
    MOST_DEEP = 128,
    DEEPER = 4 /* of what moves */,
    MOST_OPERANDS = 4,
    MOST_PARTS = TN_ONE_HOT_MORE_RUNS + TN_ONE_HOT_RUNS * TN_ONE_HOT_OPERANDS /* runs cut where operands end */
};

/* ---- what can be had ------------------------------------------------------------------------- */

/* Memory that no nest writes: of it, slices with a stride are read where it is. */
static bool is_stored(const tn_i_one_hot *s, tn_i_var v) {
    const tn_i_eqn *e = tn_i_one_hot_def(s, v);
    if (!e) return !tn_i_is_literal(s->f, v);
    return !(e->prim->flags & (TN_F_VIEW | TN_F_PLACES)) && e->nin && !tn_i_space_computes(s->f, e);
}

/* The vector that a matrix repeats, and along which dimension its elements are; TN_NOVAR: none. */
static tn_i_var repeated(const tn_i_one_hot *s, tn_i_var v, int64_t *along) {
    int8_t map[TN_MAX_RANK], turn[TN_MAX_RANK] = {0, 1};
    const tn_i_eqn *e = tn_i_one_hot_def(s, v);
    for (; e && tn_i_walks(s->f, e, map); e = tn_i_one_hot_def(s, v)) {
        const tn_i_var u = tn_i_in(s->f, e)[0];
        const tn_type *t = tn_i_one_hot_type(s, u);
        if (t->rank == 2 && map[0] >= 0 && map[1] >= 0) { /* of that, turned or not */
            for (int d = 0; d < 2; d++) turn[d] = map[turn[d]];
            v = u;
            continue;
        }
        *along = -1;
        if (t->rank == 0) return u;
        for (int d = 0; d < 2; d++)
            if (map[turn[d]] >= 0 && t->dim[0] > 1) *along = d;
        return t->rank == 1 && *along >= 0 ? u : TN_NOVAR;
    }
    return TN_NOVAR;
}

/* How a value is had at hot elements. */
enum { NOT, NUMBER, CONSTANT, REPEATED, MOVES, ELEMENTS, STORED };

typedef struct means {
    int kind;
    tn_i_var vector; /* that is repeated */
    int64_t along;
    tn_i_one_hot_moves moves;
    const tn_i_var *in; /* of MOVES and ELEMENTS */
    uint32_t nin;
} means;

static bool all_deep(const tn_i_one_hot *s, const tn_i_var *in, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (s->deep[in[k]] == 0 || s->deep[in[k]] > MOST_DEEP) return false;
    return true;
}

static void find_means(const tn_i_one_hot *s, tn_i_var v, means *x) {
    const tn_type *t = tn_i_one_hot_type(s, v);
    const tn_i_eqn *e = tn_i_one_hot_def(s, v);
    *x = (means){.kind = t->rank == 0 ? NUMBER : NOT};
    if (t->rank != 2) return;
    if (e && tn_i_constant_data(e))
        x->kind = CONSTANT;
    else if ((x->vector = repeated(s, v, &x->along)) != TN_NOVAR)
        x->kind = REPEATED;
    else if (e && tn_i_one_hot_moved(s, e, &x->moves) && all_deep(s, x->moves.in, x->moves.n)) {
        x->kind = MOVES;
        x->in = x->moves.in;
        x->nin = x->moves.n;
    } else if (e && tn_i_one_hot_elementwise(e) && all_deep(s, tn_i_in(s->f, e), e->nin)) {
        x->kind = ELEMENTS;
        x->in = tn_i_in(s->f, e);
        x->nin = e->nin;
    } else if (is_stored(s, v))
        x->kind = STORED;
}

uint16_t tn_i_one_hot_deep(const tn_i_one_hot *s, tn_i_var v) {
    means x;
    uint16_t deep = 0;
    find_means(s, v, &x);
    for (uint32_t k = 0; k < x.nin; k++)
        if (s->deep[x.in[k]] > deep) deep = s->deep[x.in[k]];
    return x.kind == NOT ? 0 : (uint16_t)(deep + (x.kind == MOVES ? DEEPER : 1));
}

/* ---- parts of vectors -------------------------------------------------------------------------- */

typedef struct part {
    tn_i_var v; /* TN_NOVAR: one number */
    int64_t start, count;
} part;

/* Vectors side by side, of the new program. */
typedef struct parts {
    uint32_t n;
    part part[MOST_PARTS];
} parts;

static void add_part(parts *p, tn_i_var v, int64_t start, int64_t count) {
    part *last = p->n ? &p->part[p->n - 1] : NULL;
    if (last && last->v == v && (v == TN_NOVAR || last->start + last->count == start))
        last->count += count;
    else
        p->part[p->n++] = (part){v, start, count};
}

/* Where elements start .. start + count of a vector come from, behind what joins and slices. */
static void find_source(const tn_i_builder *b, part *p) {
    for (const tn_i_eqn *e; (e = tn_i_def(b, p->v));) {
        const tn_i_var *in = b->pool + e->in;
        if (e->prim->id == TN_P_slice) {
            if (tn_i_p(e)[2].kind != TN_K_NONE && tn_i_ints(tn_i_p(e), 2)[0] != 1) return;
            p->start += tn_i_ints(tn_i_p(e), 0)[0];
            p->v = in[0];
        } else if (e->prim->id == TN_P_concatenate) {
            uint32_t k = 0;
            int64_t at = p->start;
            while (at >= tn_i_vtype(b, in[k])->dim[0]) at -= tn_i_vtype(b, in[k++])->dim[0];
            if (at + p->count > tn_i_vtype(b, in[k])->dim[0]) return;
            p->start = at;
            p->v = in[k];
        } else
            return;
    }
}

static tn_i_var part_of(tn_i_one_hot *s, const part *p, int dtype, uint64_t fill) {
    const int64_t start = p->start, limit = start + p->count;
    if (p->v == TN_NOVAR) return tn_i_broadcast(s->b, tn_i_literal(s->b, dtype, fill), 1, &p->count, NULL);
    if (start == 0 && tn_i_vtype(s->b, p->v)->dim[0] == limit) return p->v;
    return tn_i_slice(s->b, p->v, &start, &limit, NULL);
}

static tn_i_var joined(tn_i_one_hot *s, const parts *p, int dtype, uint64_t fill) {
    parts of = {0};
    tn_i_var v[MOST_PARTS];
    if (s->b->failed) return TN_NOVAR;
    for (uint32_t k = 0; k < p->n; k++) {
        part one = p->part[k];
        if (one.v != TN_NOVAR) find_source(s->b, &one);
        add_part(&of, one.v, one.start, one.count);
    }
    for (uint32_t k = 0; k < of.n; k++)
        if ((v[k] = part_of(s, &of.part[k], dtype, fill)) == TN_NOVAR) return TN_NOVAR;
    return of.n == 1 ? v[0] : tn_i_concatenate(s->b, of.n, v, 0);
}

/* ---- at the hot elements ------------------------------------------------------------------------------- */

/* A vector's elements in the columns of the hot elements. */
static tn_i_var of_columns(tn_i_one_hot *s, const tn_i_one_hot_set *p, tn_i_var u) {
    parts of = {0};
    const tn_i_var x = tn_i_one_hot_whole(s, u);
    if (x == TN_NOVAR) return TN_NOVAR;
    for (uint32_t k = 0; k < p->n; k++)
        add_part(&of, p->run[k].column < 0 ? TN_NOVAR : x, p->run[k].column, p->run[k].count);
    return joined(s, &of, tn_i_vtype(s->b, x)->dtype, 0);
}

static tn_i_var of_constant(tn_i_one_hot *s, const tn_i_one_hot_set *p, const tn_type *t, const void *data) {
    const size_t size = tn_i_dtype_size(t->dtype), bytes = (size_t)p->rows * 8;
    char *to = tn_i_alloc(s->f->ctx, bytes);
    if (!to) {
        s->b->failed = true;
        return TN_NOVAR;
    }
    bool equal = true;
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t j = tn_i_one_hot_column(p, i);
        if (j >= 0) memcpy(to + (size_t)i * size, (const char *)data + (size_t)(i * p->columns + j) * size, size);
        equal &= memcmp(to + (size_t)i * size, to, size) == 0;
    }
    uint64_t bits = 0;
    memcpy(&bits, to, size);
    const tn_type vector = {.dtype = t->dtype, .rank = 1, .dim = {p->rows}};
    const tn_i_var v = equal ? tn_i_broadcast(s->b, tn_i_literal(s->b, t->dtype, bits), 1, &p->rows, NULL)
                             : tn_i_constant(s->b, &vector, to);
    tn_i_free(s->f->ctx, to, bytes);
    return v;
}

/* Of memory, for each run, elements as far from each other as a row is long, and one more. */
static tn_i_var of_stored(tn_i_one_hot *s, const tn_i_one_hot_set *p, tn_i_var v) {
    const int64_t all = p->rows * p->columns, step = p->columns + 1;
    const tn_i_var flat = tn_i_reshape(s->b, tn_i_one_hot_whole(s, v), 1, &all);
    tn_i_var of[TN_ONE_HOT_MORE_RUNS];
    for (uint32_t k = 0; k < p->n && flat != TN_NOVAR; k++) {
        const tn_i_one_hot_run *r = &p->run[k];
        const int64_t start = r->first * p->columns + r->column, limit = start + (r->count - 1) * step + 1;
        of[k] = r->column < 0 ? tn_i_broadcast(s->b, tn_i_literal_f64(s->b, tn_i_one_hot_type(s, v)->dtype, 0), 1,
                                               &r->count, NULL)
                              : tn_i_slice(s->b, flat, &start, &limit, r->count == 1 ? NULL : &step);
        if (of[k] == TN_NOVAR) return TN_NOVAR;
    }
    if (flat == TN_NOVAR) return flat;
    return p->n == 1 ? of[0] : tn_i_concatenate(s->b, p->n, of, 0);
}

/* The hot elements of the result in operand k. */
static bool in_operand(const tn_i_one_hot *s, const tn_i_one_hot_set *p, const tn_i_one_hot_moves *m, uint32_t k,
                       tn_i_one_hot_set *out) {
    const tn_type *t = tn_i_one_hot_type(s, m->in[k]);
    if (m->turned) return tn_i_one_hot_turned(p, out);
    return tn_i_one_hot_placed(p, -m->row[k], -m->column[k], t->dim[0], t->dim[1], out);
}

/* Of operands `from` .. of m: what is in none of them is `fill`. */
static tn_i_var of_operands(tn_i_one_hot *s, uint32_t number, const tn_i_one_hot_moves *m, uint32_t from, int dtype,
                            uint64_t fill) {
    const tn_i_one_hot_set p = s->pattern[number].set;
    tn_i_one_hot_set its[TN_ONE_HOT_OPERANDS];
    tn_i_var at[TN_ONE_HOT_OPERANDS];
    for (uint32_t k = from; k < m->n; k++) {
        uint32_t in;
        if (!in_operand(s, &p, m, k, &its[k]) || !tn_i_one_hot_pattern_of(s, &its[k], &in)) {
            s->b->failed = true;
            return TN_NOVAR;
        }
        if ((at[k] = tn_i_one_hot_at(s, in, m->in[k])) == TN_NOVAR) return TN_NOVAR;
    }
    parts of = {0};
    for (int64_t i = 0; i < p.rows; i++) {
        const int64_t j = tn_i_one_hot_column(&p, i);
        tn_i_var v = TN_NOVAR;
        int64_t start = 0;
        for (uint32_t k = from; j >= 0 && k < m->n; k++) {
            const int64_t row = m->turned ? j : i - m->row[k], column = m->turned ? i : j - m->column[k];
            if (row < 0 || row >= its[k].rows || tn_i_one_hot_column(&its[k], row) != column) continue;
            v = at[k];
            start = row;
        }
        add_part(&of, v, start, 1);
    }
    return joined(s, &of, dtype, fill);
}

static tn_i_var of_moves(tn_i_one_hot *s, uint32_t number, const tn_i_one_hot_moves *m, int dtype) {
    if (!m->added) return of_operands(s, number, m, 0, dtype, m->fill);
    const tn_i_var x = tn_i_one_hot_at(s, number, m->in[0]);
    const uint64_t minus = dtype == TN_F64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31; /* changes no bit */
    return x == TN_NOVAR ? x : tn_i_op2(s->b, TN_P_add, x, of_operands(s, number, m, 1, dtype, minus));
}

static tn_i_var of_elements(tn_i_one_hot *s, uint32_t number, const tn_i_eqn *e) {
    tn_i_var in[MOST_OPERANDS];
    for (uint32_t k = 0; k < e->nin; k++)
        if ((in[k] = tn_i_one_hot_at(s, number, tn_i_in(s->f, e)[k])) == TN_NOVAR) return TN_NOVAR;
    s->b->region = 0;
    s->b->linear = e->linear;
    const tn_type t = {.dtype = tn_i_one_hot_type(s, e->out)->dtype, .rank = 1, .dim = {s->pattern[number].set.rows}};
    tn_i_var x = e->prim->simplify ? e->prim->simplify(s->b, tn_i_p(e), e->nin, in, &t) : TN_NOVAR;
    if (x == TN_NOVAR) x = tn_i_emit_like(s->b, e, in);
    s->b->linear = false;
    return x;
}

static tn_i_var made_at(tn_i_one_hot *s, uint32_t number, tn_i_var v) {
    const tn_i_one_hot_set p = s->pattern[number].set;
    const tn_type *t = tn_i_one_hot_type(s, v);
    means x;
    find_means(s, v, &x);
    switch (x.kind) {
    case CONSTANT: return of_constant(s, &p, t, tn_i_constant_data(tn_i_one_hot_def(s, v)));
    case REPEATED:
        if (x.along < 0) return tn_i_broadcast(s->b, tn_i_one_hot_whole(s, x.vector), 1, &p.rows, NULL);
        return x.along == 0 ? tn_i_one_hot_whole(s, x.vector) : of_columns(s, &p, x.vector);
    case MOVES: return of_moves(s, number, &x.moves, t->dtype);
    case ELEMENTS: return of_elements(s, number, tn_i_one_hot_def(s, v));
    case STORED: return of_stored(s, &p, v);
    default: return tn_i_one_hot_whole(s, v);
    }
}

tn_i_var tn_i_one_hot_at(tn_i_one_hot *s, uint32_t number, tn_i_var v) {
    tn_i_var x = s->pattern[number].at[v];
    if (x == TN_NOVAR && !s->b->failed) x = made_at(s, number, v);
    return s->pattern[number].at[v] = x;
}
