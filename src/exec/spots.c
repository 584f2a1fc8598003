/* Constants that are 0 but for one element of a row, such as the basis of a Jacobian, in elementwise equations: a
 * matrix that is computed of one is computed as if it were zeros, and once more, as a vector, of what all operands are
 * at the elements that are not 0, the *spots*:
 *
 *     r = e g; y = fma(r, t, a)        becomes        y = select(spot, repeat(1 g' t' + a'), a)
 *
 * where e is such a constant, and g', t' and a' are g, t and a at the spots: slices of vectors, and of a with a stride.
 * So the constant is not read, which is as large as the matrix, and a row has one number to be stored besides a's. Bits
 * at the spots stay; elsewhere products with the 0 of a basis are left out (docs/execution.md), as in columns.c. */
#include "exec/fuse.h"
#include "exec/plan.h"
#include "prims/rules.h"
#include "prims/shape.h"

#include <string.h>

enum {
    MOST_PATTERNS = 4,
    MOST_RUNS = 4,
    MOST_DEEP = 256,
    MOST_WAITING = 64,
    MOST_TOGETHER = 16,
    MOST_OPERANDS = 4,
    LEAST = 256 /* elements */,
    LEAST_ROW = 16
};

/* Rows whose spots are each one column further than the one before, or that have none. */
typedef struct run {
    int64_t first, count, column; /* -1: none */
} run;

typedef struct pattern {
    int64_t rows, columns;
    uint32_t n;
    run run[MOST_RUNS];
    tn_i_var here; /* whether an element is a spot */
} pattern;

typedef struct spots {
    const tn_fn *f;
    tn_i_builder *b;
    uint8_t *live;    /* of each equation */
    uint8_t *of;      /* of each value: the pattern that it is computed of, plus 1; 0: none, or all of it is needed */
    uint8_t *zero;    /* of these: it is 0 where there are no spots */
    uint8_t *waits;   /* of each value: it is written when it is wanted, behind as many others; 0: in its place */
    tn_i_var *wanted; /* values that are computed of a pattern, and that other equations, or outputs, read */
    uint32_t nwanted, next;
    tn_i_var *map;  /* all of a value */
    tn_i_var *rest; /* what it is where there are no spots */
    tn_i_var *at;   /* for each pattern, of each value: a vector of what it is at the spots, a row each */
    pattern pattern[MOST_PATTERNS];
    uint32_t npattern;
} spots;

static const tn_i_eqn *def_of(const spots *s, tn_i_var v) {
    const uint32_t def = s->f->val[v].def;
    return def < s->f->neqn ? &s->f->eqn[def] : NULL;
}

static const tn_type *type_of(const spots *s, tn_i_var v) { return s->f->val[v].type; }

/* ---- patterns -------------------------------------------------------------------------------- */

static bool is_zero(int dtype, const void *data, int64_t i) {
    const uint64_t none = 0;
    const size_t size = tn_i_dtype_size(dtype);
    return memcmp((const char *)data + (size_t)i * size, &none, size) == 0;
}

/* The column of the spot in a row; -1: none, -2: several. */
static int64_t spot_in(const tn_type *t, const void *data, int64_t row) {
    int64_t at = -1;
    for (int64_t j = 0; j < t->dim[1]; j++) {
        if (is_zero(t->dtype, data, row * t->dim[1] + j)) continue;
        if (at >= 0) return -2;
        at = j;
    }
    return at;
}

static bool find_runs(const tn_type *t, const void *data, pattern *p) {
    *p = (pattern){.rows = t->dim[0], .columns = t->dim[1], .here = TN_NOVAR};
    bool some = false;
    for (int64_t i = 0; i < t->dim[0]; i++) {
        const int64_t column = spot_in(t, data, i);
        run *r = p->n ? &p->run[p->n - 1] : NULL;
        if (column == -2) return false;
        some |= column >= 0;
        if (r && (column < 0 ? r->column < 0 : r->column >= 0 && column == r->column + r->count))
            r->count++;
        else if (p->n == MOST_RUNS)
            return false;
        else
            p->run[p->n++] = (run){i, 1, column};
    }
    return some;
}

static bool same_pattern(const pattern *p, const pattern *q) {
    bool same = p->rows == q->rows && p->columns == q->columns && p->n == q->n;
    for (uint32_t k = 0; same && k < p->n; k++)
        same = p->run[k].first == q->run[k].first && p->run[k].column == q->run[k].column;
    return same;
}

/* The number of the pattern of a constant, plus 1. */
static uint8_t pattern_of(spots *s, const tn_type *t, const void *data) {
    pattern p;
    if (t->rank != 2 || !tn_i_is_float(t->dtype) || tn_i_count(t) < LEAST || t->dim[1] < LEAST_ROW) return 0;
    if (!find_runs(t, data, &p)) return 0;
    uint32_t k = 0;
    while (k < s->npattern && !same_pattern(&p, &s->pattern[k])) k++;
    if (k == MOST_PATTERNS) return 0;
    if (k == s->npattern) s->pattern[s->npattern++] = p;
    return (uint8_t)(k + 1);
}

/* ---- what can be had at the spots --------------------------------------------------------------- */

static bool is_elementwise(const tn_i_eqn *e) {
    return e->prim->flags & TN_F_ELEMENTWISE && !(e->prim->flags & (TN_F_OFFLOAD | TN_F_COSTLY)) && e->nout == 1 &&
           e->nin > 0 && e->nin <= MOST_OPERANDS;
}

/* In memory, or a program's input. */
static bool is_stored(const spots *s, tn_i_var v) {
    const tn_i_eqn *e = def_of(s, v);
    if (!e) return !tn_i_is_literal(s->f, v);
    return e->prim->id == TN_P_dot_general;
}

/* The vector that a matrix repeats, and along which dimension its elements are; TN_NOVAR: none. */
static tn_i_var repeated(const spots *s, tn_i_var v, int64_t *along) {
    const tn_i_eqn *e = def_of(s, v);
    const bool turned = e && e->prim->id == TN_P_transpose;
    if (turned) e = def_of(s, tn_i_in(s->f, e)[0]);
    if (!e || e->prim->id != TN_P_broadcast_in_dim) return TN_NOVAR;
    const tn_i_var u = tn_i_in(s->f, e)[0];
    const tn_type *t = type_of(s, u);
    *along = -1;
    if (t->rank == 0) return u;
    if (t->rank != 1 || type_of(s, e->out)->rank != 2) return TN_NOVAR;
    const int64_t d = tn_i_ints(tn_i_p(e), 1)[0];
    if (t->dim[0] != type_of(s, e->out)->dim[d]) return TN_NOVAR;
    *along = turned ? 1 - d : d;
    return u;
}

static bool can_have(const spots *s, tn_i_var v, int *left) {
    const tn_type *t = type_of(s, v);
    const tn_i_eqn *e = def_of(s, v);
    int64_t along;
    if (--*left < 0) return false;
    if (t->rank == 0) return true;
    if (t->rank != 2) return false;
    if ((e && tn_i_constant_data(e)) || is_stored(s, v) || repeated(s, v, &along) != TN_NOVAR) return true;
    if (e && e->prim->id == TN_P_transpose) return is_stored(s, tn_i_in(s->f, e)[0]);
    if (!e || !is_elementwise(e)) return false;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!can_have(s, tn_i_in(s->f, e)[k], left)) return false;
    return true;
}

/* ---- what depends on a pattern ------------------------------------------------------------------ */

/* What an equation is where some of its operands are 0. */
enum { IS_ZERO, IS_OPERAND, IS_NEGATIVE, IS_PRODUCT, IS_NEGATIVE_PRODUCT, IS_COMPUTED, IS_UNKNOWN };

static int without_spots(const spots *s, const tn_i_eqn *e, uint32_t *operand) {
    const tn_i_var *in = tn_i_in(s->f, e);
    bool zero[MOST_OPERANDS] = {false}, some = false;
    for (uint32_t k = 0; k < e->nin; k++) some |= zero[k] = s->of[in[k]] && s->zero[in[k]];
    if (!some) return IS_COMPUTED;
    switch (e->prim->id) {
    case TN_P_neg: return IS_ZERO;
    case TN_P_mul: return e->linear ? IS_ZERO : IS_UNKNOWN;
    case TN_P_fma:
        if (!zero[0] && !zero[1]) return tn_i_p(e)[0].u.i == TN_FMA_RSUB ? IS_NEGATIVE_PRODUCT : IS_PRODUCT;
        if (!e->linear) return IS_UNKNOWN;
        *operand = 2;
        if (zero[2]) return IS_ZERO;
        return tn_i_p(e)[0].u.i == TN_FMA_SUB ? IS_NEGATIVE : IS_OPERAND;
    case TN_P_add:
    case TN_P_sub:
        *operand = zero[0];
        if (zero[0] && zero[1]) return IS_ZERO;
        if (tn_i_constant_data(def_of(s, in[!zero[0]]))) return IS_COMPUTED; /* -0 + 0 is 0 */
        return e->prim->id == TN_P_sub && zero[0] ? IS_NEGATIVE : IS_OPERAND;
    default: return IS_UNKNOWN;
    }
}

static void consider(spots *s, const tn_i_eqn *e) {
    uint32_t operand;
    const tn_type *t = e->nout == 1 ? type_of(s, e->out) : NULL;
    const void *data = t ? tn_i_constant_data(e) : NULL;
    if (data) s->zero[e->out] = (s->of[e->out] = pattern_of(s, t, data)) > 0;
    if (!t || data || t->rank != 2 || !tn_i_is_float(t->dtype) || !is_elementwise(e)) return;
    uint8_t of = 0;
    for (uint32_t k = 0; k < e->nin; k++) {
        const uint8_t its = s->of[tn_i_in(s->f, e)[k]];
        if (its && of && its != of) return;
        if (its) of = its;
    }
    int left = MOST_DEEP;
    const int kind = of ? without_spots(s, e, &operand) : IS_UNKNOWN;
    if (kind == IS_UNKNOWN || !can_have(s, e->out, &left)) return;
    s->of[e->out] = of;
    s->zero[e->out] = kind == IS_ZERO;
}

/* ---- at the spots ------------------------------------------------------------------------------- */

static tn_i_var whole(spots *s, tn_i_var v);

static tn_i_var zeros(spots *s, int dtype, int64_t n) {
    return tn_i_broadcast(s->b, tn_i_literal_f64(s->b, dtype, 0), 1, &n, NULL);
}

static tn_i_var joined(spots *s, uint32_t n, const tn_i_var *part) {
    return n == 1 ? part[0] : tn_i_concatenate(s->b, n, part, 0);
}

/* Where elements start .. start + count of a vector come from, behind what joins and slices. */
static tn_i_var source(const spots *s, tn_i_var v, int64_t *start, int64_t count) {
    for (;;) {
        const tn_i_eqn *e = def_of(s, v);
        const tn_i_var *in = e ? tn_i_in(s->f, e) : NULL;
        if (e && e->prim->id == TN_P_slice) {
            const bool plain = tn_i_p(e)[2].kind == TN_K_NONE || tn_i_ints(tn_i_p(e), 2)[0] == 1;
            if (!plain) return v;
            *start += tn_i_ints(tn_i_p(e), 0)[0];
            v = in[0];
        } else if (e && e->prim->id == TN_P_concatenate) {
            uint32_t k = 0;
            int64_t at = *start;
            while (at >= type_of(s, in[k])->dim[0]) at -= type_of(s, in[k++])->dim[0];
            if (at + count > type_of(s, in[k])->dim[0]) return v;
            *start = at;
            v = in[k];
        } else
            return v;
    }
}

/* A vector's elements in the columns of the spots. */
static tn_i_var of_columns(spots *s, const pattern *p, tn_i_var u) {
    tn_i_var from[MOST_RUNS] = {TN_NOVAR}, part[MOST_RUNS];
    int64_t start[MOST_RUNS], next = 0;
    bool all = true;
    for (uint32_t k = 0; k < p->n; k++) {
        const run *r = &p->run[k];
        start[k] = r->column;
        from[k] = r->column < 0 ? TN_NOVAR : source(s, u, &start[k], r->count);
        all &= from[k] != TN_NOVAR && from[k] == from[0] && start[k] == next;
        next += r->count;
    }
    if (all && type_of(s, from[0])->dim[0] == next) return whole(s, from[0]);
    for (uint32_t k = 0; k < p->n; k++) {
        const int64_t limit = start[k] + p->run[k].count;
        part[k] = from[k] == TN_NOVAR ? zeros(s, type_of(s, u)->dtype, p->run[k].count)
                                      : tn_i_slice(s->b, whole(s, from[k]), &start[k], &limit, NULL);
        if (part[k] == TN_NOVAR) return TN_NOVAR;
    }
    return joined(s, p->n, part);
}

/* Of an array of one dimension, for each run, `count` elements from `first` on, `step` apart. */
static tn_i_var sliced(spots *s, const pattern *p, tn_i_var x, int64_t row, int64_t column) {
    tn_i_var part[MOST_RUNS];
    const int64_t step = row + column;
    for (uint32_t k = 0; k < p->n; k++) {
        const run *r = &p->run[k];
        const int64_t start = r->first * row + r->column * column, limit = start + (r->count - 1) * step + 1;
        if (r->column < 0)
            part[k] = zeros(s, tn_i_vtype(s->b, x)->dtype, r->count);
        else
            part[k] = tn_i_slice(s->b, x, &start, &limit, step == 1 || r->count == 1 ? NULL : &step);
        if (part[k] == TN_NOVAR) return TN_NOVAR;
    }
    return joined(s, p->n, part);
}

static tn_i_var of_constant(spots *s, const pattern *p, const tn_type *t, const void *data) {
    const size_t size = tn_i_dtype_size(t->dtype);
    char *to = tn_i_alloc(s->f->ctx, (size_t)p->rows * 8);
    if (!to) {
        s->b->failed = true;
        return TN_NOVAR;
    }
    const char *from = data;
    bool equal = true;
    memset(to, 0, (size_t)p->rows * 8);
    for (uint32_t k = 0; k < p->n; k++)
        for (int64_t i = 0; i < p->run[k].count; i++) {
            const int64_t row = p->run[k].first + i, column = p->run[k].column < 0 ? 0 : p->run[k].column + i;
            memcpy(to + (size_t)row * size, from + (size_t)(row * p->columns + column) * size, size);
            equal &= memcmp(to + (size_t)row * size, to, size) == 0;
        }
    uint64_t bits = 0;
    memcpy(&bits, to, size);
    const tn_type vector = {.dtype = t->dtype, .rank = 1, .dim = {p->rows}};
    const tn_i_var v = equal ? tn_i_broadcast(s->b, tn_i_literal(s->b, t->dtype, bits), 1, &p->rows, NULL)
                             : tn_i_constant(s->b, &vector, to);
    tn_i_free(s->f->ctx, to, (size_t)p->rows * 8);
    return v;
}

static tn_i_var of_stored(spots *s, const pattern *p, tn_i_var v, bool turned) {
    const int64_t all = p->rows * p->columns;
    const tn_i_var flat = tn_i_reshape(s->b, whole(s, v), 1, &all);
    return flat == TN_NOVAR ? flat : sliced(s, p, flat, turned ? 1 : p->columns, turned ? p->rows : 1);
}

static tn_i_var at_spots(spots *s, uint32_t number, tn_i_var v);

static tn_i_var made_at_spots(spots *s, uint32_t number, tn_i_var v) {
    const pattern *p = &s->pattern[number];
    const tn_i_eqn *e = def_of(s, v);
    const void *data = e ? tn_i_constant_data(e) : NULL;
    int64_t along = -1;
    const tn_i_var u = repeated(s, v, &along);
    if (type_of(s, v)->rank == 0) return whole(s, v);
    if (data) return of_constant(s, p, type_of(s, v), data);
    if (is_stored(s, v)) return of_stored(s, p, v, false);
    if (u != TN_NOVAR && along < 0) return tn_i_broadcast(s->b, whole(s, u), 1, &p->rows, NULL);
    if (u != TN_NOVAR) return along == 0 ? whole(s, u) : of_columns(s, p, u);
    if (e->prim->id == TN_P_transpose) return of_stored(s, p, tn_i_in(s->f, e)[0], true);
    tn_i_var in[MOST_OPERANDS];
    for (uint32_t k = 0; k < e->nin; k++)
        if ((in[k] = at_spots(s, number, tn_i_in(s->f, e)[k])) == TN_NOVAR) return TN_NOVAR;
    double one;
    for (uint32_t k = 0; k < 2 && e->prim->id == TN_P_mul; k++)
        if (tn_i_known_f64(s->b, in[k], &one) && one == 1) return in[1 - k];
    s->b->region = 0;
    s->b->linear = e->linear;
    const tn_i_var x = tn_i_emit_like(s->b, e, in);
    s->b->linear = false;
    return x;
}

static tn_i_var at_spots(spots *s, uint32_t number, tn_i_var v) {
    tn_i_var *x = &s->at[(size_t)number * s->f->nval + v];
    if (*x == TN_NOVAR && !s->b->failed) *x = made_at_spots(s, number, v);
    return *x;
}

/* ---- programs -------------------------------------------------------------------------------------- */

/* What v is where there are no spots. */
static tn_i_var rest_of(spots *s, tn_i_var v) {
    if (!s->of[v]) return whole(s, v);
    if (s->rest[v] != TN_NOVAR || s->b->failed) return s->rest[v];
    const tn_i_eqn *e = def_of(s, v);
    const tn_i_var *in = tn_i_in(s->f, e);
    const tn_type *t = type_of(s, v);
    if (s->zero[v]) return tn_i_broadcast(s->b, tn_i_literal_f64(s->b, t->dtype, 0), t->rank, t->dim, NULL);
    uint32_t operand = 0;
    const int kind = without_spots(s, e, &operand);
    tn_i_var x[MOST_OPERANDS] = {TN_NOVAR};
    if (kind == IS_PRODUCT || kind == IS_NEGATIVE_PRODUCT) {
        for (uint32_t k = 0; k < 2; k++)
            if ((x[k] = rest_of(s, in[k])) == TN_NOVAR) return TN_NOVAR;
        s->b->region = e->region;
        s->b->linear = e->linear;
        const tn_i_var y = tn_i_op2(s->b, TN_P_mul, x[0], x[1]);
        s->b->linear = false;
        return s->rest[v] = kind == IS_PRODUCT ? y : tn_i_op1(s->b, TN_P_neg, y);
    }
    if (kind != IS_COMPUTED) {
        x[0] = rest_of(s, in[operand]);
        if (x[0] == TN_NOVAR) return TN_NOVAR;
        s->b->region = e->region;
        return s->rest[v] = kind == IS_OPERAND ? x[0] : tn_i_op1(s->b, TN_P_neg, x[0]);
    }
    for (uint32_t k = 0; k < e->nin; k++)
        if ((x[k] = rest_of(s, in[k])) == TN_NOVAR) return TN_NOVAR;
    s->b->region = e->region;
    s->b->linear = e->linear;
    s->rest[v] = tn_i_emit_like(s->b, e, x);
    s->b->linear = false;
    return s->rest[v];
}

/* Where in a row its spot is, beside where each element is. */
static tn_i_var spot_here(spots *s, pattern *p) {
    if (p->here != TN_NOVAR) return p->here;
    const tn_type t = {.dtype = TN_I64, .rank = 1, .dim = {p->rows}};
    const int64_t shape[2] = {p->rows, p->columns}, rows = 0;
    int64_t *column = tn_i_alloc_array(s->f->ctx, (size_t)p->rows, sizeof *column);
    if (!column) {
        s->b->failed = true;
        return TN_NOVAR;
    }
    for (uint32_t k = 0; k < p->n; k++)
        for (int64_t i = 0; i < p->run[k].count; i++)
            column[p->run[k].first + i] = p->run[k].column < 0 ? -1 : p->run[k].column + i;
    const tn_i_var at = tn_i_constant(s->b, &t, column);
    tn_i_free(s->f->ctx, column, (size_t)p->rows * sizeof *column);
    return p->here =
               tn_i_op2(s->b, TN_P_eq, tn_i_iota(s->b, TN_I64, 2, shape, 1), tn_i_broadcast(s->b, at, 2, shape, &rows));
}

static tn_i_var whole(spots *s, tn_i_var v) {
    if (s->map[v] != TN_NOVAR || s->b->failed || !(s->of[v] || s->waits[v])) return tn_i_mapped(s->b, s->f, s->map, v);
    const tn_i_eqn *e = def_of(s, v);
    if (!s->of[v] || s->zero[v]) {
        for (uint32_t k = 0; k < e->nin; k++)
            if (whole(s, tn_i_in(s->f, e)[k]) == TN_NOVAR) return TN_NOVAR;
        s->b->region = e->region;
        tn_i_copy_eqn(s->b, s->f, e, s->map);
        return s->map[v];
    }
    pattern *p = &s->pattern[s->of[v] - 1];
    const int64_t shape[2] = {p->rows, p->columns}, rows = 0;
    const tn_i_var at = at_spots(s, s->of[v] - 1u, v), rest = rest_of(s, v), here = spot_here(s, p);
    if (at == TN_NOVAR || rest == TN_NOVAR || here == TN_NOVAR) return TN_NOVAR;
    s->b->region = e->region;
    const tn_i_var there = tn_i_broadcast(s->b, at, 2, shape, &rows);
    return s->map[v] = tn_i_op3(s->b, TN_P_select, here, there, rest);
}

/* All that v is made of has been written, or waits. */
static bool is_ready(const spots *s, tn_i_var v, int *left) {
    const tn_i_eqn *e = def_of(s, v);
    if (s->map[v] != TN_NOVAR || tn_i_is_literal(s->f, v)) return true;
    if (--*left < 0 || !e || !(s->of[v] || s->waits[v])) return false;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!is_ready(s, tn_i_in(s->f, e)[k], left)) return false;
    return true;
}

/* Values that are wanted, and can be had, together: first the vectors of all of them, then the matrices. */
static void write_ready(spots *s) {
    tn_i_var ready[MOST_TOGETHER];
    uint32_t n = 0;
    while (s->next < s->nwanted && s->map[s->wanted[s->next]] != TN_NOVAR) s->next++;
    for (uint32_t k = s->next; k < s->nwanted && k < s->next + MOST_TOGETHER; k++) {
        int left = MOST_DEEP;
        const tn_i_var v = s->wanted[k];
        if (s->map[v] == TN_NOVAR && is_ready(s, v, &left)) ready[n++] = v;
    }
    for (uint32_t k = 0; k < n && !s->b->failed; k++) (void)at_spots(s, s->of[ready[k]] - 1u, ready[k]);
    for (uint32_t k = 0; k < n && !s->b->failed; k++) (void)whole(s, ready[k]);
}

static void want(spots *s, tn_i_var v) {
    if (s->map[v] != TN_NOVAR || s->b->failed || !(s->of[v] || s->waits[v])) return;
    if (s->of[v] && !s->zero[v]) write_ready(s);
    (void)whole(s, v);
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    spots *s = (spots *)(uintptr_t)with;
    s->b = b;
    s->map = map;
    const bool waits = !s->live[e - f->eqn] || (e->nout == 1 && (s->of[e->out] || s->waits[e->out]));
    for (uint32_t k = 0; k < e->nin && !waits; k++) want(s, tn_i_in(f, e)[k]);
    for (uint32_t j = 0; j < f->nout && e == &f->eqn[f->neqn - 1]; j++) want(s, f->out[j]);
    b->region = e->region;
    return waits;
}

static void note_wanted(spots *s, tn_i_var v, uint8_t *seen) {
    if (!s->of[v] || s->zero[v] || seen[v]) return;
    seen[v] = 1;
    s->wanted[s->nwanted++] = v;
}

/* In the order of those that want them. */
static bool find_wanted(spots *s) {
    const tn_fn *f = s->f;
    uint8_t *seen = tn_i_alloc(f->ctx, f->nval);
    if (!(s->wanted = tn_i_alloc_array(f->ctx, f->nval, sizeof *s->wanted)) || !seen) {
        tn_i_free(f->ctx, seen, f->nval);
        return false;
    }
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!s->live[i] || (e->nout == 1 && (s->of[e->out] || s->waits[e->out]))) continue;
        for (uint32_t k = 0; k < e->nin; k++) note_wanted(s, tn_i_in(f, e)[k], seen);
    }
    for (uint32_t j = 0; j < f->nout; j++) note_wanted(s, f->out[j], seen);
    tn_i_free(f->ctx, seen, f->nval);
    return true;
}

/* Elementwise equations between matrices of a pattern's shape are written where they are wanted: behind the vectors
 * that are joined with them, so that one nest computes them all. */
static void find_waiting(spots *s) {
    for (uint32_t i = 0; i < s->f->neqn; i++) {
        const tn_i_eqn *e = &s->f->eqn[i];
        const tn_type *t = e->nout == 1 ? type_of(s, e->out) : NULL;
        bool fits = false;
        if (!t || t->rank != 2 || !is_elementwise(e)) continue;
        for (uint32_t k = 0; k < s->npattern; k++)
            fits |= t->dim[0] == s->pattern[k].rows && t->dim[1] == s->pattern[k].columns;
        uint8_t before = 0;
        for (uint32_t k = 0; k < e->nin; k++) {
            const uint8_t its = s->waits[tn_i_in(s->f, e)[k]];
            if (its > before) before = its;
        }
        if (fits && before < MOST_WAITING) s->waits[e->out] = (uint8_t)(before + 1);
    }
}

/* Values that are more than zeros and spots. */
static bool worth(const spots *s) {
    for (uint32_t v = 0; v < s->f->nval; v++)
        if (s->of[v] && !s->zero[v]) return true;
    return false;
}

static bool make_room(spots *s) {
    const size_t n = s->f->nval;
    if (!(s->rest = tn_i_map_new(s->f))) return false;
    if (!(s->at = tn_i_alloc_array(s->f->ctx, n * MOST_PATTERNS, sizeof *s->at))) return false;
    for (size_t i = 0; i < n * MOST_PATTERNS; i++) s->at[i] = TN_NOVAR;
    return true;
}

tn_fn *tn_i_spotted(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    spots s = {.f = f,
               .live = tn_i_needed(f),
               .of = tn_i_alloc(c, f->nval),
               .zero = tn_i_alloc(c, f->nval),
               .waits = tn_i_alloc(c, f->nval)};
    tn_fn *g = NULL;
    if (s.live && s.of && s.zero && s.waits) {
        for (uint32_t i = 0; i < f->neqn; i++)
            if (s.live[i]) consider(&s, &f->eqn[i]);
        if (!worth(&s))
            g = (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
        else if (make_room(&s)) {
            find_waiting(&s);
            if (find_wanted(&s)) g = tn_i_rewritten(f, NULL, f->neqn, put, &s);
        }
    }
    tn_i_free(c, s.live, f->neqn);
    tn_i_free(c, s.of, f->nval);
    tn_i_free(c, s.zero, f->nval);
    tn_i_free(c, s.waits, f->nval);
    tn_i_free(c, s.wanted, f->nval * sizeof *s.wanted);
    if (s.rest) tn_i_map_free(f, s.rest);
    tn_i_free(c, s.at, (size_t)f->nval * MOST_PATTERNS * sizeof *s.at);
    return g;
}
