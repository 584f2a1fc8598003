/* Programs over many short rows: [n] and [n, few], as vmap makes them of a function of few numbers.  Loops of few steps
 * around loops of many are slow, and slices and concatenations of short rows are passes over memory.  So each array
 * [n, few] becomes `few` arrays [n], its columns: slices, concatenations and transposes choose columns, reductions of
 * rows are sums of columns, constants are numbers, and what is left is elementwise over n, which runs as one nest.
 *
 * Sums of rows keep the order of nest.h.  A product of the linear program with a number that is 0, as a basis has them,
 * is left out like the tangent of an input that is not differentiated: docs/execution.md, "Columns".  Gathers of rows
 * are lookups of their columns (lookup.h). */
#include "exec/columns.h"

#include "exec/fuse.h"
#include "exec/lookup.h"
#include "exec/plan.h"
#include "prims/rules.h"
#include "prims/shape.h"

#include <math.h>
#include <string.h>

enum { LEAST = 16, MOST_COLUMNS = 64, MOST_NUMBERS = 1024, MOST_CELLS = 1 << 14, LEAST_MOVES = 3, MOST_ASIDE = 16 };

/* A column, or an element that is the same in all rows. */
typedef struct cell {
    tn_i_var v;
    bool wide; /* of type [n], else of rank 0 */
    bool none; /* a 0 of the linear program */
} cell;

typedef struct columns {
    const tn_fn *f;
    tn_i_builder *b;
    int64_t n;
    cell *cell;
    size_t ncell, ccell;
    size_t *first; /* of each value of f */
    tn_i_var *map; /* of each value of f that is in memory as it was */
} columns;

static const tn_type *type_of(const tn_fn *f, tn_i_var v) { return f->val[v].type; }
static bool is_long(const tn_type *t, int64_t n) { return t->rank > 0 && t->dim[0] == n; }

static int64_t width(const tn_type *t, int64_t n) {
    int64_t k = 1;
    for (int d = is_long(t, n); d < t->rank; d++) k *= t->dim[d];
    return k;
}

/* ---- which programs ---------------------------------------------------------------------- */

static bool few(const tn_type *t, int64_t n) {
    if (tn_i_has_steps(t) || tn_i_count(t) == 0) return false;
    for (int d = is_long(t, n); d < t->rank; d++)
        if (t->dim[d] > MOST_NUMBERS) return false;
    return width(t, n) <= (is_long(t, n) ? MOST_COLUMNS : MOST_NUMBERS);
}

static bool has_axis(const tn_i_param *p, int64_t axis) {
    for (uint32_t k = 0; k < p->n; k++)
        if (p->u.ints[k] == axis) return true;
    return false;
}

static bool moves_rows_whole(const tn_fn *f, const tn_i_eqn *e, int64_t n) {
    const tn_i_param *p = tn_i_p(e);
    const tn_type *in = type_of(f, tn_i_in(f, e)[0]), *out = type_of(f, e->out);
    const bool from = is_long(in, n), to = is_long(out, n);
    if (e->prim->id == TN_P_slice_add && is_long(type_of(f, tn_i_in(f, e)[1]), n) != from) return false;
    if (e->prim->rows) return to ? tn_i_rows_of(f, e) == (from ? TN_ROWS_OWN : TN_ROWS_ALIKE) : !from;
    return e->prim->fold == TN_FOLD_SUM && out->dtype != TN_BOOL && from == to && width(in, n) <= MOST_COLUMNS &&
           !(from && has_axis(&p[0], 0));
}

static bool fits(const tn_fn *f, const tn_i_eqn *e, int64_t n, uint32_t *moves) {
    if (e->nout != 1 || !few(type_of(f, e->out), n)) return false;
    if (e->prim->effect && e->prim->effect(tn_i_p(e))) return false;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!few(type_of(f, tn_i_in(f, e)[k]), n)) return false;
    if (e->prim->id == TN_P_constant) return true;
    if (e->prim->id == TN_P_iota) return !is_long(type_of(f, e->out), n) || tn_i_p(e)[2].u.i != 0;
    if (e->prim->flags & TN_F_ELEMENTWISE) return true;
    if (e->nin == 0 || !moves_rows_whole(f, e, n)) return false;
    *moves += e->prim->id == TN_P_concatenate || e->prim->id == TN_P_slice_add;
    return true;
}

/* An equation that takes no part: it reads inputs, what others like it make, and single columns. */
static bool stands_aside(const tn_fn *f, const tn_i_eqn *e, int64_t n, const uint8_t *own) {
    if (e->prim->flags & (TN_F_LOOP | TN_F_OFFLOAD) || tn_i_eqn_effect(e)) return false;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = tn_i_in(f, e)[k];
        if (own[v] && !(is_long(type_of(f, v), n) && width(type_of(f, v), n) == 1)) return false;
    }
    return true;
}

/* A view of what is in memory anyway, across its rows. */
static bool looks_across(const tn_fn *f, const tn_i_eqn *e, int64_t n, const uint8_t *own) {
    const tn_i_var v = e->nin == 1 ? tn_i_in(f, e)[0] : TN_NOVAR;
    return v != TN_NOVAR && e->nout == 1 && (e->prim->flags & TN_F_VIEW) && !tn_i_is_literal(f, v) && !own[v] &&
           !is_long(type_of(f, v), n);
}

/* How long the columns of f would be; 0: it is no such program.  own: of each value, that an equation of columns makes
 * it. */
static int64_t rows_of(const tn_fn *f, uint8_t *own) {
    int64_t n = 0, cells = 0;
    uint32_t moves = 0, aside = 0;
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t v = f->eqn[i].out; v < f->eqn[i].out + f->eqn[i].nout; v++) {
            const tn_type *t = type_of(f, v);
            if (t->rank && t->dim[0] > n) n = t->dim[0];
        }
    if (n < LEAST) return 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (looks_across(f, e, n, own)) continue;
        if (fits(f, e, n, &moves)) {
            own[e->out] = 1;
            cells += width(type_of(f, e->out), n);
        } else if (!stands_aside(f, e, n, own) || ++aside > MOST_ASIDE)
            return 0;
    }
    for (uint32_t j = 0; j < f->nout; j++)
        if (own[f->out[j]] && width(type_of(f, f->out[j]), n) > MOST_COLUMNS) return 0;
    return moves >= LEAST_MOVES && cells <= MOST_CELLS ? n : 0;
}

/* ---- cells ------------------------------------------------------------------------------------- */

static cell *cells_of(const columns *c, tn_i_var v) { return c->cell + c->first[v]; }

static bool add_cells(columns *c, tn_i_var v) {
    const size_t n = (size_t)width(type_of(c->f, v), c->n);
    if (!tn_i_grow(c->b->ctx, (void **)&c->cell, &c->ccell, c->ncell + n, sizeof *c->cell)) return false;
    c->first[v] = c->ncell;
    c->ncell += n;
    return true;
}

static cell nothing(const columns *c, int dtype) { return (cell){tn_i_literal_f64(c->b, dtype, 0), false, true}; }

/* In memory: each column a view. */
static void take(columns *c, tn_i_var v, tn_i_var x) {
    const tn_type *t = type_of(c->f, v);
    const int from = is_long(t, c->n);
    const int64_t count = width(t, c->n);
    int64_t start[TN_MAX_RANK] = {0}, limit[TN_MAX_RANK];
    for (int64_t k = 0; k < count; k++) {
        int64_t at = k;
        for (int d = t->rank; d-- > from;) {
            start[d] = at % t->dim[d];
            limit[d] = start[d] + 1;
            at /= t->dim[d];
        }
        if (from) limit[0] = c->n;
        const tn_i_var part = t->rank ? tn_i_slice(c->b, x, start, limit, NULL) : x;
        cells_of(c, v)[k] = (cell){tn_i_reshape(c->b, part, from, &c->n), from, false};
    }
}

static tn_i_var widened(const columns *c, cell x) { return x.wide ? x.v : tn_i_broadcast(c->b, x.v, 1, &c->n, NULL); }

/* All rows of v again. */
static tn_i_var whole(columns *c, tn_i_var v) {
    const tn_type *t = type_of(c->f, v);
    const int64_t count = width(t, c->n), zero = 0;
    tn_i_var part[MOST_COLUMNS];
    const cell *x = cells_of(c, v);
    bool wide = is_long(t, c->n);
    if (wide && t->rank == 1) return widened(c, x[0]);
    for (int64_t k = 0; k < count; k++) {
        const int64_t shape[2] = {c->n, 1}, one = 1;
        part[k] = wide ? tn_i_broadcast(c->b, widened(c, x[k]), 2, shape, &zero)
                       : tn_i_broadcast(c->b, x[k].v, 1, &one, NULL);
    }
    const tn_i_var all = count > 1 ? tn_i_concatenate(c->b, (uint32_t)count, part, wide) : part[0];
    return tn_i_reshape(c->b, all, t->rank, t->dim);
}

/* ---- elementwise ----------------------------------------------------------------------------------- */

static bool known_zero(const columns *c, cell x) {
    double k;
    return x.none || (!c->b->failed && !x.wide && tn_i_known_f64(c->b, x.v, &k) && k == 0);
}

static bool known_finite(const columns *c, cell x) {
    double k;
    return !c->b->failed && !x.wide && tn_i_known_f64(c->b, x.v, &k) && isfinite(k) && k != 0;
}

static cell emit_like(columns *c, const tn_i_eqn *e, const cell *x) {
    tn_i_var in[4];
    bool wide = false;
    for (uint32_t k = 0; k < e->nin; k++) wide |= x[k].wide;
    for (uint32_t k = 0; k < e->nin; k++) in[k] = wide ? widened(c, x[k]) : x[k].v;
    const tn_i_var v = tn_i_emit_like(c->b, e, in);
    return (cell){v, v != TN_NOVAR && tn_i_vtype(c->b, v)->rank > 0, false};
}

static cell emit(columns *c, int id, uint32_t nin, const cell *x) {
    const tn_i_eqn like = {.prim = tn_i_prim(c->b, id), .nin = nin};
    return emit_like(c, &like, x);
}

static cell sum(columns *c, cell x, cell y) {
    if (x.none) return y;
    return y.none ? x : emit(c, TN_P_add, 2, (const cell[]){x, y});
}

static cell negated(columns *c, cell x) { return x.none ? x : emit(c, TN_P_neg, 1, &x); }

/* Of e's operands those that are 0 and may be left out; *drops: so may products with them, as they are the linear
 * program's, or the other factor is known.  A term is in all sets of operands that e is linear in, a factor is not. */
static unsigned zeros_of(const columns *c, const tn_i_eqn *e, const cell *x, bool *drops) {
    const uint32_t terms = e->prim->linear[0] & e->prim->linear[1];
    unsigned zeros = 0;
    *drops = true;
    for (uint32_t k = 0; k < e->nin; k++) {
        const bool factor = !(terms & TN_OPERAND(k));
        if (x[k].none || (factor && e->linear && known_zero(c, x[k])))
            zeros |= TN_OPERAND(k);
        else if (factor)
            *drops &= known_finite(c, x[k]);
    }
    *drops |= e->linear || !e->prim->strict;
    return zeros;
}

static cell element(columns *c, const tn_i_eqn *e, const cell *x) {
    uint8_t lin[4];
    bool drops;
    const unsigned zeros = zeros_of(c, e, x, &drops);
    for (uint32_t k = 0; k < e->nin; k++) lin[k] = zeros >> k & 1 ? TN_ZERO : TN_NONLINEAR;
    if (drops && tn_i_linear_image(e, lin) == TN_ZERO) return nothing(c, type_of(c->f, e->out)->dtype);
    tn_i_remains r = {.kind = TN_REMAINS_ALL};
    if (zeros && e->prim->without) r = e->prim->without(tn_i_p(e), zeros, drops);
    if (r.kind != TN_REMAINS_OPERAND && r.kind != TN_REMAINS_PRODUCT) return emit_like(c, e, x);
    const cell y = r.kind == TN_REMAINS_OPERAND ? x[r.operand] : emit(c, r.product, 2, x);
    return r.negative ? negated(c, y) : y;
}

static void elementwise(columns *c, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const int64_t count = width(type_of(c->f, e->out), c->n);
    for (int64_t k = 0; k < count && !c->b->failed; k++) {
        cell x[4];
        for (uint32_t i = 0; i < e->nin; i++) {
            /* an operand of rank 0 beside arrays */
            x[i] = cells_of(c, in[i])[type_of(c->f, in[i])->rank ? k : 0];
        }
        cells_of(c, e->out)[k] = element(c, e, x);
    }
}

/* ---- what moves ----------------------------------------------------------------------------------------- */

/* The index of column k of type t, but along the rows, which is 0; and back. */
static void index_of(const tn_type *t, int64_t n, int64_t k, int64_t *index) {
    const int from = is_long(t, n);
    index[0] = 0;
    for (int d = t->rank; d-- > from;) {
        index[d] = k % t->dim[d];
        k /= t->dim[d];
    }
}

static int64_t column_of(const tn_type *t, int64_t n, const int64_t *index) {
    int64_t k = 0;
    for (int d = is_long(t, n); d < t->rank; d++) k = k * t->dim[d] + index[d];
    return k;
}

/* The operand, and its index, of which the element at `to` of e's output is a copy. */
static uint32_t source(const columns *c, const tn_i_eqn *e, const int64_t *to, int64_t *from) {
    const tn_i_param *p = tn_i_p(e);
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = type_of(c->f, in[0]), *out = type_of(c->f, e->out);
    uint32_t i = 0;
    switch (e->prim->id) {
    case TN_P_broadcast_in_dim:
        for (int d = 0; d < t->rank; d++) from[d] = t->dim[d] == 1 ? 0 : to[p[1].u.ints[d]];
        break;
    case TN_P_transpose:
        for (int d = 0; d < out->rank; d++) from[p[0].u.ints[d]] = to[d];
        break;
    case TN_P_slice:
        for (int d = 0; d < t->rank; d++)
            from[d] = p[0].u.ints[d] + to[d] * (p[2].kind == TN_K_NONE ? 1 : p[2].u.ints[d]);
        break;
    case TN_P_concatenate:
        memcpy(from, to, (size_t)out->rank * sizeof *to);
        while (from[p[0].u.i] >= type_of(c->f, in[i])->dim[p[0].u.i])
            from[p[0].u.i] -= type_of(c->f, in[i++])->dim[p[0].u.i];
        break;
    default: /* reshape */ index_of(t, c->n, column_of(out, c->n, to), from); break;
    }
    return i;
}

static void move(columns *c, const tn_i_eqn *e) {
    const tn_type *out = type_of(c->f, e->out);
    const int64_t count = width(out, c->n);
    for (int64_t k = 0; k < count; k++) {
        int64_t to[TN_MAX_RANK], from[TN_MAX_RANK] = {0};
        index_of(out, c->n, k, to);
        const tn_i_var v = tn_i_in(c->f, e)[source(c, e, to, from)];
        cells_of(c, e->out)[k] = cells_of(c, v)[column_of(type_of(c->f, v), c->n, from)];
    }
}

/* Elements amid copies of a number. */
static void pad(columns *c, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = type_of(c->f, in[0]), *out = type_of(c->f, e->out);
    const int64_t count = width(out, c->n), *config = tn_i_p(e)[0].u.ints;
    for (int64_t k = 0; k < count; k++) {
        int64_t to[TN_MAX_RANK], from[TN_MAX_RANK] = {0};
        bool inside = true;
        index_of(out, c->n, k, to);
        for (int d = is_long(t, c->n); d < t->rank; d++) {
            const int64_t at = to[d] - config[3 * d], step = config[3 * d + 2] + 1;
            inside &= at >= 0 && at % step == 0 && at / step < t->dim[d];
            from[d] = at / step;
        }
        cells_of(c, e->out)[k] = inside ? cells_of(c, in[0])[column_of(t, c->n, from)] : *cells_of(c, in[1]);
    }
}

/* Zeros that things are added to are those of the linear program. */
static void slice_add(columns *c, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = type_of(c->f, in[0]), *u = type_of(c->f, in[1]);
    const int64_t count = width(t, c->n);
    for (int64_t k = 0; k < count; k++) {
        cell x = cells_of(c, in[0])[k];
        int64_t at[TN_MAX_RANK] = {0}, config[3];
        bool inside = true;
        index_of(t, c->n, k, at);
        for (int d = is_long(t, c->n); d < t->rank; d++) {
            tn_i_slice_padding(tn_i_p(e), t, u, d, config);
            at[d] -= config[0];
            inside &= at[d] >= 0 && at[d] % (config[2] + 1) == 0 && at[d] / (config[2] + 1) < u->dim[d];
            at[d] /= config[2] + 1;
        }
        x.none |= known_zero(c, x);
        cells_of(c, e->out)[k] = inside ? sum(c, x, cells_of(c, in[1])[column_of(u, c->n, at)]) : x;
    }
}

/* ---- sums of rows --------------------------------------------------------------------------------------------- */

/* m < TN_LEAF elements in the order of nest.h.  Of zeros the sum is +0, which the first lane sees to. */
static cell folded(columns *c, int dtype, const cell *x, int64_t m) {
    cell lane[TN_LANES];
    bool linear = false;
    for (int64_t k = 0; k < m; k++) linear |= x[k].none;
    for (int l = 0; l < TN_LANES; l++) lane[l] = nothing(c, dtype);
    for (int64_t k = 0; k < m; k++) lane[k % TN_LANES] = sum(c, lane[k % TN_LANES], x[k]);
    if (!linear) lane[0] = emit(c, TN_P_add, 2, (const cell[]){nothing(c, dtype), lane[0]});
    for (int h = TN_LANES / 2; h > 0; h /= 2)
        for (int l = 0; l < h; l++) lane[l] = sum(c, lane[l], lane[l + h]);
    return lane[0];
}

static void reduce(columns *c, const tn_i_eqn *e) {
    const tn_i_var v = tn_i_in(c->f, e)[0];
    const tn_type *t = type_of(c->f, v), *out = type_of(c->f, e->out);
    const int64_t count = width(t, c->n), results = width(out, c->n);
    for (int64_t r = 0; r < results && !c->b->failed; r++) {
        cell x[MOST_COLUMNS];
        int64_t m = 0, index[TN_MAX_RANK], kept[TN_MAX_RANK];
        for (int64_t k = 0; k < count; k++) {
            int n = 0;
            index_of(t, c->n, k, index);
            for (int d = 0; d < t->rank; d++)
                if (!has_axis(&tn_i_p(e)[0], d)) kept[n++] = index[d];
            if (column_of(out, c->n, kept) == r) x[m++] = cells_of(c, v)[k];
        }
        cells_of(c, e->out)[r] = folded(c, out->dtype, x, m);
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static void numbers(columns *c, const tn_i_eqn *e) {
    const tn_type *t = type_of(c->f, e->out);
    const size_t size = tn_i_dtype_size(t->dtype);
    const char *data = tn_i_constant_data(e);
    const int64_t count = width(t, c->n);
    if (e->prim->id == TN_P_constant && is_long(t, c->n)) {
        take(c, e->out, tn_i_emit_like(c->b, e, NULL));
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t index[TN_MAX_RANK];
        uint64_t bits = 0;
        index_of(t, c->n, k, index);
        if (data) memcpy(&bits, data + (size_t)k * size, size);
        cells_of(c, e->out)[k] = (cell){data ? tn_i_literal(c->b, t->dtype, bits)
                                             : tn_i_literal_f64(c->b, t->dtype, (double)index[tn_i_p(e)[2].u.i]),
                                        false, false};
    }
}

static void equation(columns *c, const tn_i_eqn *e) {
    tn_i_builder *b = c->b;
    b->loc = e->loc;
    b->region = e->region;
    b->linear = e->linear;
    if (e->prim->id == TN_P_constant || e->prim->id == TN_P_iota)
        numbers(c, e);
    else if (e->prim->flags & TN_F_ELEMENTWISE)
        elementwise(c, e);
    else if (e->prim->id == TN_P_slice_add)
        slice_add(c, e);
    else if (e->prim->id == TN_P_pad)
        pad(c, e);
    else if (e->prim->fold)
        reduce(c, e);
    else
        move(c, e);
    b->region = 0;
    b->linear = false;
}

static void literals(columns *c, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < e->nin && !c->b->failed; k++) {
        const tn_i_var v = tn_i_in(c->f, e)[k];
        if (!tn_i_is_literal(c->f, v) || c->first[v] != SIZE_MAX) continue;
        if (!add_cells(c, v)) c->b->failed = true;
        if (!c->b->failed)
            *cells_of(c, v) = (cell){tn_i_literal(c->b, type_of(c->f, v)->dtype, c->f->val[v].bits), false, false};
    }
}

/* A gather of rows: each column is looked up alone, where it is read. */
static bool look_up(columns *c, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = type_of(c->f, e->out);
    if (e->nout != 1 || !few(t, c->n) || !is_long(t, c->n) || !tn_i_looks_up_rows(c->f, e)) return false;
    if (tn_i_is_literal(c->f, in[0]) || tn_i_is_literal(c->f, in[1])) return false;
    c->b->loc = e->loc;
    c->b->region = e->region;
    c->b->linear = e->linear;
    if (!add_cells(c, e->out)) c->b->failed = true;
    const int64_t count = width(t, c->n);
    for (int64_t k = 0; k < count && !c->b->failed; k++)
        cells_of(c, e->out)[k] = (cell){tn_i_lookup_column(c->b, e, c->map[in[0]], c->map[in[1]], k), true, false};
    c->b->region = 0;
    c->b->linear = false;
    return true;
}

/* Its results are in memory. */
static void copy(columns *c, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < e->nin && !c->b->failed; k++) {
        const tn_i_var v = tn_i_in(c->f, e)[k];
        if (!tn_i_is_literal(c->f, v) && c->map[v] == TN_NOVAR) c->map[v] = whole(c, v);
    }
    if (c->b->failed || look_up(c, e)) return;
    c->b->region = e->region;
    tn_i_copy_eqn(c->b, c->f, e, c->map);
    c->b->region = 0;
    for (uint32_t v = e->out; v < e->out + e->nout && !c->b->failed; v++) {
        if (!few(type_of(c->f, v), c->n)) continue;
        if (!add_cells(c, v)) c->b->failed = true;
        if (!c->b->failed) take(c, v, c->map[v]);
    }
}

static void one(columns *c, const tn_i_eqn *e, const uint8_t *own) {
    if (e->nout != 1 || !own[e->out]) {
        copy(c, e);
        return;
    }
    literals(c, e);
    if (!c->b->failed && !add_cells(c, e->out)) c->b->failed = true;
    if (!c->b->failed) equation(c, e);
}

static tn_fn *rewrite(const tn_fn *f, int64_t n, const uint8_t *own) {
    tn_i_builder b;
    columns c = {
        .f = f, .b = &b, .n = n, .first = tn_i_alloc_array(f->ctx, f->nval, sizeof *c.first), .map = tn_i_map_new(f)};
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    if (!c.first || !out || !c.map) b.failed = true;
    if (c.first) memset(c.first, 0xFF, f->nval * sizeof *c.first);
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) c.map[i] = tn_i_input(&b, type_of(f, i), false);
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) {
        if (!few(type_of(f, i), n)) continue;
        if (!add_cells(&c, i)) b.failed = true;
        if (!b.failed) take(&c, i, c.map[i]);
    }
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) one(&c, &f->eqn[i], own);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) {
        const tn_i_var v = f->out[j];
        out[j] = tn_i_is_literal(f, v)  ? tn_i_literal(&b, type_of(f, v)->dtype, f->val[v].bits)
                 : c.map[v] != TN_NOVAR ? c.map[v]
                                        : whole(&c, v);
    }
    tn_fn *g = NULL;
    if (b.failed)
        tn_i_builder_drop(&b);
    else
        g = tn_i_finish(&b, f->nout, out);
    tn_i_free(f->ctx, c.cell, c.ccell * sizeof *c.cell);
    tn_i_free(f->ctx, c.first, f->nval * sizeof *c.first);
    if (c.map) tn_i_map_free(f, c.map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_columns(const tn_fn *f) {
    uint8_t *own = tn_i_alloc(f->ctx, f->nval);
    const int64_t n = own ? rows_of(f, own) : 0;
    tn_fn *g = n ? rewrite(f, n, own) : own ? (tn_fn *)(uintptr_t)tn_i_fn_ref(f) : NULL;
    tn_fn *h = n && g ? tn_i_depth_first(g) : g;
    if (n) tn_i_fn_unref(g);
    tn_i_free(f->ctx, own, f->nval);
    return h;
}
