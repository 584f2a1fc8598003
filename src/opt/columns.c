/* Programs over arrays with short dimensions: [n, few], as vmap makes them of a function of few numbers, positions
 * [n, 3], differences of all pairs [n, n, 3] or [3, n, n].  Loops of few steps around or within loops of many are slow,
 * and slices and concatenations of short rows are passes over memory.  So each array becomes one array over its long
 * dimensions for each index of its short ones, its columns: slices, concatenations and transposes choose columns,
 * reductions over short dimensions are sums of columns, constants are numbers, and what is left is elementwise, or
 * moves long dimensions, of each column alone (columns_fit.c says which programs).
 *
 * Sums keep the order of nest.h.  A product of the linear program with a number that is 0, as a basis has them, is left
 * out like the tangent of an input that is not differentiated: docs/execution.md, "Columns".  Gathers of rows are
 * lookups of their columns (lookup.h). */
#include "base/machine.h"
#include "opt/columns.h"

#include "opt/columns_cells.h"
#include "opt/fuse.h"
#include "opt/lookup.h"
#include "opt/equations.h"
#include "prims/linear/dot.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <math.h>
#include <string.h>

/* ---- cells ------------------------------------------------------------------------------------- */

static bool add_cells(tn_i_cells *c, tn_i_var v) {
    const size_t n = (size_t)tn_i_cell_count(c, v);
    if (!tn_i_grow(c->b->ctx, (void **)&c->cell, &c->ccell, c->ncell + n, sizeof *c->cell)) return false;
    c->first[v] = c->ncell;
    c->ncell += n;
    return true;
}

static tn_i_cell nothing(const tn_i_cells *c, int dtype) {
    return (tn_i_cell){tn_i_literal_f64(c->b, dtype, 0), false, true};
}

void tn_i_cell_index(const tn_i_cells *c, const tn_type *t, int64_t k, int64_t *index) {
    for (int d = t->rank; d-- > 0;) {
        const bool is_long = tn_i_is_long(c->l, t, d);
        index[d] = is_long ? 0 : k % t->dim[d];
        k /= is_long ? 1 : t->dim[d];
    }
}

int64_t tn_i_cell_column(const tn_i_cells *c, const tn_type *t, const int64_t *index) {
    int64_t k = 0;
    for (int d = 0; d < t->rank; d++)
        if (!tn_i_is_long(c->l, t, d)) k = k * t->dim[d] + index[d];
    return k;
}

/* Columns lie apart in memory, and are read again and again: so they are put together once. */
static bool worth_joining(const tn_i_cells *c, tn_i_var v) {
    const tn_type *t = tn_i_cell_type(c->f, v), to = tn_i_column_type(t, c->l);
    return to.rank > 0 && tn_i_cell_count(c, v) > 1 && tn_i_cell_count(c, v) <= TN_M_COLUMNS &&
           !tn_i_is_long(c->l, t, t->rank - 1) && tn_i_count(&to) <= c->places / TN_M_COLUMN_OFTEN;
}

static void join_taken(tn_i_cells *c, tn_i_var v) {
    const tn_type to = tn_i_column_type(tn_i_cell_type(c->f, v), c->l);
    const int64_t count = tn_i_cell_count(c, v), n = tn_i_count(&to);
    tn_i_var part[TN_M_COLUMNS];
    for (int64_t k = 0; k < count; k++) part[k] = tn_i_reshape(c->b, tn_i_cells_of(c, v)[k].v, 1, &n);
    const int64_t rows[2] = {count, n};
    const tn_i_var all = tn_i_reshape(c->b, tn_i_concatenate(c->b, (uint32_t)count, part, 0), 2, rows);
    for (int64_t k = 0; k < count; k++) {
        const int64_t start[2] = {k, 0}, limit[2] = {k + 1, n};
        tn_i_cells_of(c, v)[k].v = tn_i_reshape(c->b, tn_i_slice(c->b, all, start, limit, NULL), to.rank, to.dim);
    }
}

/* In memory: each column a view. */
static void take(tn_i_cells *c, tn_i_var v, tn_i_var x) {
    const tn_type *t = tn_i_cell_type(c->f, v);
    const tn_type to = tn_i_column_type(t, c->l);
    const int64_t count = tn_i_cell_count(c, v);
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK];
    for (int64_t k = 0; k < count; k++) {
        tn_i_cell_index(c, t, k, start);
        for (int d = 0; d < t->rank; d++) limit[d] = tn_i_is_long(c->l, t, d) ? t->dim[d] : start[d] + 1;
        const tn_i_var part = t->rank ? tn_i_slice(c->b, x, start, limit, NULL) : x;
        tn_i_cells_of(c, v)[k] = (tn_i_cell){tn_i_reshape(c->b, part, to.rank, to.dim), to.rank > 0, false};
    }
    if (worth_joining(c, v)) join_taken(c, v);
}

tn_i_var tn_i_cell_widened(const tn_i_cells *c, tn_i_cell x, const tn_type *to) {
    return x.wide || !to->rank ? x.v : tn_i_broadcast(c->b, x.v, to->rank, to->dim, NULL);
}

/* Columns k .. of v that share the indices before dimension d, put together; of v's rank. */
static tn_i_var together(tn_i_cells *c, tn_i_var v, int d, int64_t k) {
    const tn_type *t = tn_i_cell_type(c->f, v);
    while (d < t->rank && tn_i_is_long(c->l, t, d)) d++;
    if (d == t->rank) {
        const tn_type to = tn_i_column_type(t, c->l);
        int64_t shape[TN_MAX_RANK], dims[TN_MAX_RANK];
        int n = 0;
        for (int i = 0; i < t->rank; i++) {
            shape[i] = tn_i_is_long(c->l, t, i) ? t->dim[i] : 1;
            if (shape[i] > 1) dims[n++] = i;
        }
        return tn_i_broadcast(c->b, tn_i_cell_widened(c, tn_i_cells_of(c, v)[k], &to), t->rank, shape, dims);
    }
    int64_t inner = 1;
    for (int i = d + 1; i < t->rank; i++) inner *= !tn_i_is_long(c->l, t, i) ? t->dim[i] : 1;
    tn_i_var part[TN_M_COLUMNS];
    for (int64_t i = 0; i < t->dim[d]; i++) part[i] = together(c, v, d + 1, k + i * inner);
    return t->dim[d] > 1 ? tn_i_concatenate(c->b, (uint32_t)t->dim[d], part, d) : part[0];
}

/* All of v again: of the last short dimensions at once where they stand side by side, which is one pass over memory. */
static tn_i_var whole(tn_i_cells *c, tn_i_var v) {
    const tn_type *t = tn_i_cell_type(c->f, v), to = tn_i_column_type(t, c->l);
    const int64_t count = tn_i_cell_count(c, v);
    int first = 0, last = t->rank;
    while (first < t->rank && tn_i_is_long(c->l, t, first)) first++;
    while (last > 0 && tn_i_is_long(c->l, t, last - 1)) last--;
    if (first >= last) return tn_i_cell_widened(c, tn_i_cells_of(c, v)[0], &to);
    for (int d = first; d < last; d++)
        if (tn_i_is_long(c->l, t, d)) return together(c, v, 0, 0);
    int64_t shape[TN_MAX_RANK], dims[TN_MAX_RANK];
    int n = 0;
    for (int d = 0; d < t->rank; d++) {
        if (d > first && d < last) continue;
        if (d != first) dims[n < first ? n : n - 1] = n;
        shape[n++] = d == first ? 1 : t->dim[d];
    }
    tn_i_var part[TN_M_COLUMNS];
    for (int64_t k = 0; k < count; k++)
        part[k] = tn_i_broadcast(c->b, tn_i_cell_widened(c, tn_i_cells_of(c, v)[k], &to), n, shape, dims);
    const tn_i_var all = count > 1 ? tn_i_concatenate(c->b, (uint32_t)count, part, first) : part[0];
    return tn_i_reshape(c->b, all, t->rank, t->dim);
}

/* ---- elementwise ----------------------------------------------------------------------------------- */

bool tn_i_cell_known_zero(const tn_i_cells *c, tn_i_cell x) {
    double k;
    return x.none || (!c->b->failed && !x.wide && tn_i_known_f64(c->b, x.v, &k) && k == 0);
}

static bool known_finite(const tn_i_cells *c, tn_i_cell x) {
    double k;
    return !c->b->failed && !x.wide && tn_i_known_f64(c->b, x.v, &k) && isfinite(k) && k != 0;
}

static tn_i_cell emit_like(tn_i_cells *c, const tn_i_eqn *e, const tn_i_cell *x) {
    const tn_type none = {.rank = 0}, *to = &none;
    tn_i_var in[4];
    for (uint32_t k = 0; k < e->nin && !c->b->failed; k++)
        if (x[k].wide) to = tn_i_vtype(c->b, x[k].v);
    const tn_type shape = *to;
    for (uint32_t k = 0; k < e->nin; k++) in[k] = tn_i_cell_widened(c, x[k], &shape);
    const tn_i_var v = tn_i_emit_like(c->b, e, in);
    return (tn_i_cell){v, v != TN_NOVAR && tn_i_vtype(c->b, v)->rank > 0, false};
}

static tn_i_cell emit(tn_i_cells *c, int id, uint32_t nin, const tn_i_cell *x) {
    const tn_i_eqn like = {.prim = tn_i_prim(c->b, id), .nin = nin};
    return emit_like(c, &like, x);
}

tn_i_cell tn_i_cell_sum(tn_i_cells *c, tn_i_cell x, tn_i_cell y) {
    if (x.none) return y;
    return y.none ? x : emit(c, TN_P_add, 2, (const tn_i_cell[]){x, y});
}

static tn_i_cell negated(tn_i_cells *c, tn_i_cell x) { return x.none ? x : emit(c, TN_P_neg, 1, &x); }

/* Of e's operands those that are 0 and may be left out; *drops: so may products with them, as they are the linear
 * program's, or the other factor is known.  A term is in all sets of operands that e is linear in, a factor is not. */
static unsigned zeros_of(const tn_i_cells *c, const tn_i_eqn *e, const tn_i_cell *x, bool *drops) {
    const uint32_t terms = e->prim->linear[0] & e->prim->linear[1];
    unsigned zeros = 0;
    *drops = true;
    for (uint32_t k = 0; k < e->nin; k++) {
        const bool factor = !(terms & TN_OPERAND(k));
        if (x[k].none || (factor && e->linear && tn_i_cell_known_zero(c, x[k])))
            zeros |= TN_OPERAND(k);
        else if (factor)
            *drops &= known_finite(c, x[k]);
    }
    *drops |= e->linear || !e->prim->strict;
    return zeros;
}

static tn_i_cell element(tn_i_cells *c, const tn_i_eqn *e, const tn_i_cell *x) {
    uint8_t lin[4];
    bool drops;
    const unsigned zeros = zeros_of(c, e, x, &drops);
    for (uint32_t k = 0; k < e->nin; k++) lin[k] = zeros >> k & 1 ? TN_ZERO : TN_NONLINEAR;
    if (drops && tn_i_linear_image(e, lin) == TN_ZERO) return nothing(c, tn_i_cell_type(c->f, e->out)->dtype);
    tn_i_remains r = {.kind = TN_REMAINS_ALL};
    if (zeros && e->prim->without) r = e->prim->without(tn_i_p(e), zeros, drops);
    if (r.kind != TN_REMAINS_OPERAND && r.kind != TN_REMAINS_PRODUCT) return emit_like(c, e, x);
    const tn_i_cell y = r.kind == TN_REMAINS_OPERAND ? x[r.operand] : emit(c, r.product, 2, x);
    return r.negative ? negated(c, y) : y;
}

static void elementwise(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const int64_t count = tn_i_cell_count(c, e->out);
    for (int64_t k = 0; k < count && !c->b->failed; k++) {
        tn_i_cell x[4];
        for (uint32_t i = 0; i < e->nin; i++) {
            /* an operand of rank 0 beside arrays */
            x[i] = tn_i_cells_of(c, in[i])[tn_i_cell_type(c->f, in[i])->rank ? k : 0];
        }
        tn_i_cells_of(c, e->out)[k] = element(c, e, x);
    }
}

/* ---- sums of rows --------------------------------------------------------------------------------------------- */

static tn_i_cell joined(tn_i_cells *c, int id, tn_i_cell x, tn_i_cell y) {
    return id == TN_P_add ? tn_i_cell_sum(c, x, y) : emit(c, id, 2, (const tn_i_cell[]){x, y});
}

/* m < TN_LEAF elements in the order of nest.h.  Of zeros the sum is +0, which the first lane sees to. */
static tn_i_cell folded(tn_i_cells *c, int id, int dtype, const tn_i_cell *x, int64_t m) {
    tn_i_cell lane[TN_LANES];
    const int64_t n = m < TN_LANES ? m : TN_LANES;
    bool linear = false;
    if (m == 0) return (tn_i_cell){tn_i_literal_f64(c->b, dtype, id == TN_P_mul), false, false};
    for (int64_t k = 0; k < m; k++) {
        linear |= x[k].none;
        lane[k % TN_LANES] = k < TN_LANES ? x[k] : joined(c, id, lane[k % TN_LANES], x[k]);
    }
    if (!linear && id == TN_P_add) lane[0] = emit(c, TN_P_add, 2, (const tn_i_cell[]){nothing(c, dtype), lane[0]});
    for (int h = TN_LANES / 2; h > 0; h /= 2)
        for (int l = 0; l < h && l + h < n; l++) lane[l] = joined(c, id, lane[l], lane[l + h]);
    return lane[0];
}

static bool has_axis(const tn_i_param *p, int64_t axis) {
    for (uint32_t k = 0; k < p->n; k++)
        if (p->u.ints[k] == axis) return true;
    return false;
}

/* Over long dimensions: of each column alone. */
static void reduce_columns(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_i_var v = tn_i_in(c->f, e)[0];
    const tn_type *t = tn_i_cell_type(c->f, v), to = tn_i_column_type(t, c->l);
    int64_t axes[TN_MAX_RANK];
    tn_i_param p = {.kind = TN_K_INTS, .u.ints = axes};
    for (int d = 0; d < t->rank; d++)
        if (has_axis(&tn_i_p(e)[0], d)) axes[p.n++] = tn_i_cell_place(c, t, d);
    for (int64_t k = 0; k < tn_i_cell_count(c, v) && !c->b->failed; k++) {
        tn_i_cell x = tn_i_cells_of(c, v)[k];
        if (!x.none) {
            const tn_i_var wide = tn_i_cell_widened(c, x, &to);
            x.v = tn_i_emit(c->b, e->prim, &p, 1, &wide);
            x.wide = (uint32_t)to.rank > p.n;
        }
        tn_i_cells_of(c, e->out)[k] = x;
    }
}

/* Over short dimensions: sums and products of columns. */
static void sum_columns(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_i_var v = tn_i_in(c->f, e)[0];
    const tn_type *t = tn_i_cell_type(c->f, v), *out = tn_i_cell_type(c->f, e->out);
    const int64_t count = tn_i_cell_count(c, v), results = tn_i_cell_count(c, e->out);
    for (int64_t r = 0; r < results && !c->b->failed; r++) {
        tn_i_cell x[TN_M_COLUMNS];
        int64_t m = 0, index[TN_MAX_RANK], kept[TN_MAX_RANK];
        for (int64_t k = 0; k < count; k++) {
            int n = 0;
            tn_i_cell_index(c, t, k, index);
            for (int d = 0; d < t->rank; d++)
                if (!has_axis(&tn_i_p(e)[0], d)) kept[n++] = index[d];
            if (tn_i_cell_column(c, out, kept) == r) x[m++] = tn_i_cells_of(c, v)[k];
        }
        tn_i_cells_of(c, e->out)[r] = folded(c, e->prim->fold == TN_FOLD_SUM ? TN_P_add : TN_P_mul, out->dtype, x, m);
    }
}

static void reduce(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_type *t = tn_i_cell_type(c->f, tn_i_in(c->f, e)[0]);
    if (tn_i_p(e)[0].n && tn_i_is_long(c->l, t, tn_i_p(e)[0].u.ints[0]))
        reduce_columns(c, e);
    else
        sum_columns(c, e);
}

/* ---- small products -------------------------------------------------------------------------------------------- */

/* Column k of an operand: of the inner index p, of the output's batch, and of its free dimensions from `free` on. */
static tn_i_cell factor(const tn_i_cells *c, tn_i_var v, const tn_i_dots *d, int side, const int64_t *to, int free,
                        int64_t p) {
    const tn_type *t = tn_i_cell_type(c->f, v);
    const unsigned taken = tn_i_dots_taken(d, side);
    int64_t index[TN_MAX_RANK];
    for (int i = 0; i < t->rank; i++) index[i] = taken >> i & 1 ? to[i] : to[free++];
    if (d->ncontract) index[d->contract[side][0]] = p;
    return tn_i_cells_of(c, v)[tn_i_cell_column(c, t, index)];
}

/* From 0 on, in the order of the inner index, each product and sum rounded once. */
static tn_i_cell small_product(tn_i_cells *c, const tn_i_eqn *e, const tn_i_dots *d, const int64_t *to) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = tn_i_cell_type(c->f, in[0]), none = {.rank = 0};
    const int right =
        t->rank - (int)d->ncontract; /* the output's batch and the free dimensions of the left operand come first */
    const int64_t inner = d->ncontract ? t->dim[d->contract[0][0]] : 1;
    tn_i_cell sum = nothing(c, t->dtype);
    for (int64_t p = 0; p < inner && !c->b->failed; p++) {
        const tn_i_cell x = factor(c, in[0], d, 0, to, (int)d->nbatch, p), y = factor(c, in[1], d, 1, to, right, p);
        if (x.none || y.none || (e->linear && (tn_i_cell_known_zero(c, x) || tn_i_cell_known_zero(c, y)))) continue;
        const tn_i_cell *wide = x.wide ? &x : y.wide ? &y : sum.wide ? &sum : NULL;
        const tn_type shape = wide ? *tn_i_vtype(c->b, wide->v) : none;
        const tn_i_var to_add = tn_i_cell_widened(c, sum, &shape), right_one = tn_i_cell_widened(c, y, &shape);
        sum.v = tn_i_fma(c->b, TN_FMA_ADD, tn_i_cell_widened(c, x, &shape), right_one, to_add);
        sum.wide = wide != NULL;
        sum.none = false;
    }
    return sum;
}

static void multiply(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_i_dots d = tn_i_dots_read(&tn_i_p(e)[0]);
    const tn_type *out = tn_i_cell_type(c->f, e->out);
    for (int64_t k = 0; k < tn_i_cell_count(c, e->out) && !c->b->failed; k++) {
        int64_t to[TN_MAX_RANK] = {0};
        tn_i_cell_index(c, out, k, to);
        tn_i_cells_of(c, e->out)[k] = small_product(c, e, &d, to);
    }
}

/* ---- places in rows ------------------------------------------------------------------------------- */

/* Whether index column x is r, or, if code says so, more. */
static tn_i_var index_is(const tn_i_cells *c, int code, tn_i_var x, int64_t r) {
    const tn_type t = *tn_i_vtype(c->b, x);
    return tn_i_op2(c->b, code, x, tn_i_whole_number(c->b, &t, r));
}

/* Column of the index at `at`, which is one of an element of the indices' batch. */
static tn_i_var index_column(tn_i_cells *c, tn_i_var indices, const int64_t *at, const tn_type *to) {
    const tn_type *t = tn_i_cell_type(c->f, indices);
    int64_t whole[TN_MAX_RANK] = {0};
    memcpy(whole, at, (size_t)(t->rank - 1) * sizeof *whole);
    return tn_i_cell_widened(c, tn_i_cells_of(c, indices)[tn_i_cell_column(c, t, whole)], to);
}

static tn_i_var choose(tn_i_cells *c, tn_i_var is, tn_i_var x, tn_i_var y) {
    return tn_i_op3(c->b, TN_P_select, is, x, y);
}

/* Of the last index that there is on, the last element; below the second, the first. */
static void read_places(tn_i_cells *c, const tn_i_eqn *e, const tn_i_row_places *p) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *x = tn_i_cell_type(c->f, in[0]), *out = tn_i_cell_type(c->f, e->out),
                  to = tn_i_column_type(out, c->l);
    const int64_t n = x->dim[p->along];
    for (int64_t k = 0; k < tn_i_cell_count(c, e->out) && !c->b->failed; k++) {
        int64_t at[TN_MAX_RANK] = {0}, there[TN_MAX_RANK] = {0};
        tn_i_cell_index(c, out, k, at);
        const tn_i_var i = index_column(c, in[1], at, &to);
        tn_i_var y = TN_NOVAR;
        for (int d = 0; d < x->rank; d++) there[d] = d == p->along ? 0 : at[p->walk[d]];
        for (int64_t r = 0; r < n && !c->b->failed; r++) {
            there[p->along] = r;
            const tn_i_var one = tn_i_cell_widened(c, tn_i_cells_of(c, in[0])[tn_i_cell_column(c, x, there)], &to);
            y = r ? choose(c, index_is(c, TN_P_ge, i, r), one, y) : one;
        }
        if (p->fills && !c->b->failed) {
            const tn_i_var inside = tn_i_op2(c->b, TN_P_and, index_is(c, TN_P_ge, i, 0), index_is(c, TN_P_lt, i, n));
            const tn_i_cell other = {tn_i_literal(c->b, x->dtype, p->bits), false, false};
            y = choose(c, inside, y, tn_i_cell_widened(c, other, &to));
        }
        tn_i_cells_of(c, e->out)[k] = (tn_i_cell){y, to.rank > 0, false};
    }
}

/* Whether the index is that of element r of n. */
static tn_i_var goes_to(tn_i_cells *c, const tn_i_row_places *p, tn_i_var i, int64_t r, int64_t n) {
    const int code = p->clips && n > 1 && r == 0 ? TN_P_le : p->clips && n > 1 && r == n - 1 ? TN_P_ge : TN_P_eq;
    return index_is(c, code, i, r);
}

/* One update after another, as they are done. */
static void write_places(tn_i_cells *c, const tn_i_eqn *e, const tn_i_row_places *p) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *u = tn_i_cell_type(c->f, in[2]), *out = tn_i_cell_type(c->f, e->out),
                  to = tn_i_column_type(out, c->l);
    const bool adds = e->prim->id == TN_P_scatter_add;
    const int64_t n = out->dim[p->along];
    for (int64_t k = 0; k < tn_i_cell_count(c, e->out) && !c->b->failed; k++) {
        int64_t at[TN_MAX_RANK] = {0}, from[TN_MAX_RANK] = {0};
        tn_i_cell_index(c, out, k, at);
        tn_i_var y = tn_i_cell_widened(c, tn_i_cells_of(c, in[0])[k], &to);
        for (int64_t j = 0; j < tn_i_cell_count(c, in[2]) && !c->b->failed; j++) {
            bool mine = true;
            tn_i_cell_index(c, u, j, from);
            for (int d = 0; d < out->rank; d++) mine &= d == p->along || from[p->walk[d]] == at[d];
            const tn_i_cell x = tn_i_cells_of(c, in[2])[j];
            if (!mine || (adds && x.none)) continue;
            const tn_i_var one = tn_i_cell_widened(c, x, &to), i = index_column(c, in[1], from, &to);
            const tn_i_var is = p->clips && n == 1 ? TN_NOVAR : goes_to(c, p, i, at[p->along], n);
            const tn_i_var now = adds ? tn_i_op2(c->b, TN_P_add, y, one) : one;
            y = is == TN_NOVAR ? now : choose(c, is, now, y);
        }
        tn_i_cells_of(c, e->out)[k] = (tn_i_cell){y, to.rank > 0, false};
    }
}

static void places(tn_i_cells *c, const tn_i_eqn *e) {
    tn_i_row_places p;
    (void)tn_i_columns_places(c->f, e, c->l, &p);
    (e->prim->id == TN_P_gather ? read_places : write_places)(c, e, &p);
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static void numbers(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_type *t = tn_i_cell_type(c->f, e->out), to = tn_i_column_type(t, c->l);
    const size_t size = tn_i_dtype_size(t->dtype);
    const char *data = tn_i_constant_data(e);
    const int64_t count = tn_i_cell_count(c, e->out);
    const bool constant = e->prim->id == TN_P_constant;
    if (constant && to.rank) {
        take(c, e->out, tn_i_emit_like(c->b, e, NULL));
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        const int64_t along = constant ? 0 : tn_i_p(e)[2].u.i;
        int64_t index[TN_MAX_RANK];
        uint64_t bits = 0;
        tn_i_cell_index(c, t, k, index);
        if (data) memcpy(&bits, data + (size_t)k * size, size);
        tn_i_cell *x = &tn_i_cells_of(c, e->out)[k];
        if (data)
            *x = (tn_i_cell){tn_i_literal(c->b, t->dtype, bits), false, false};
        else if (tn_i_is_long(c->l, t, along))
            *x = (tn_i_cell){tn_i_iota(c->b, t->dtype, to.rank, to.dim, tn_i_cell_place(c, t, along)), true, false};
        else
            *x = (tn_i_cell){tn_i_literal_f64(c->b, t->dtype, (double)index[along]), false, false};
    }
}

static void equation(tn_i_cells *c, const tn_i_eqn *e) {
    tn_i_builder *b = c->b;
    b->loc = e->loc;
    b->region = e->region;
    b->linear = e->linear;
    if (e->prim->id == TN_P_constant || e->prim->id == TN_P_iota)
        numbers(c, e);
    else if (e->prim->flags & TN_F_ELEMENTWISE)
        elementwise(c, e);
    else if (e->prim->id == TN_P_slice_add)
        tn_i_cells_slice_add(c, e);
    else if (e->prim->id == TN_P_pad)
        tn_i_cells_pad(c, e);
    else if (e->prim->id == TN_P_dot_general)
        multiply(c, e);
    else if (e->prim->id == TN_P_gather || e->prim->id == TN_P_scatter || e->prim->id == TN_P_scatter_add)
        places(c, e);
    else if (e->prim->fold)
        reduce(c, e);
    else
        tn_i_cells_move(c, e);
    b->region = 0;
    b->linear = false;
}

static void literals(tn_i_cells *c, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < e->nin && !c->b->failed; k++) {
        const tn_i_var v = tn_i_in(c->f, e)[k];
        if (!tn_i_is_literal(c->f, v) || c->first[v] != SIZE_MAX) continue;
        if (!add_cells(c, v)) c->b->failed = true;
        if (!c->b->failed)
            *tn_i_cells_of(c, v) =
                (tn_i_cell){tn_i_literal(c->b, tn_i_cell_type(c->f, v)->dtype, c->f->val[v].bits), false, false};
    }
}

/* A gather of rows: each column is looked up alone, where it is read. */
static bool look_up(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = tn_i_cell_type(c->f, e->out);
    if (e->nout != 1 || !tn_i_few_columns(t, c->l) || !tn_i_looks_up_rows(c->f, e)) return false;
    if (!tn_i_is_long(c->l, t, 0) || tn_i_column_type(t, c->l).rank != 1) return false;
    if (tn_i_is_literal(c->f, in[0]) || tn_i_is_literal(c->f, in[1])) return false;
    c->b->loc = e->loc;
    c->b->region = e->region;
    c->b->linear = e->linear;
    if (!add_cells(c, e->out)) c->b->failed = true;
    const int64_t count = tn_i_cell_count(c, e->out);
    for (int64_t k = 0; k < count && !c->b->failed; k++)
        tn_i_cells_of(c, e->out)[k] =
            (tn_i_cell){tn_i_lookup_column(c->b, e, c->map[in[0]], c->map[in[1]], k), true, false};
    c->b->region = 0;
    c->b->linear = false;
    return true;
}

/* What is known is made as it was. */
static tn_i_var in_memory(tn_i_cells *c, tn_i_var v) {
    if (!tn_i_columns_constant(c->f, v)) return whole(c, v);
    const tn_i_eqn *e = &c->f->eqn[c->f->val[v].def];
    tn_i_var x = TN_NOVAR;
    if (e->nin) {
        literals(c, e);
        x = c->b->failed ? TN_NOVAR : tn_i_cells_of(c, tn_i_in(c->f, e)[0])->v;
    }
    return c->b->failed ? TN_NOVAR : tn_i_emit_like(c->b, e, &x);
}

/* Its results are in memory. */
static void copy(tn_i_cells *c, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < e->nin && !c->b->failed; k++) {
        const tn_i_var v = tn_i_in(c->f, e)[k];
        if (!tn_i_is_literal(c->f, v) && c->map[v] == TN_NOVAR) c->map[v] = in_memory(c, v);
    }
    if (c->b->failed || look_up(c, e)) return;
    c->b->region = e->region;
    tn_i_copy_eqn(c->b, c->f, e, c->map);
    c->b->region = 0;
    for (uint32_t v = e->out; v < e->out + e->nout && !c->b->failed; v++) {
        if (!tn_i_few_columns(tn_i_cell_type(c->f, v), c->l)) continue;
        if (!add_cells(c, v)) c->b->failed = true;
        if (!c->b->failed) take(c, v, c->map[v]);
    }
}

static void one(tn_i_cells *c, const tn_i_eqn *e, const uint8_t *own) {
    if (e->nout != 1 || !own[e->out]) {
        copy(c, e);
        return;
    }
    literals(c, e);
    if (!c->b->failed && !add_cells(c, e->out)) c->b->failed = true;
    if (!c->b->failed) equation(c, e);
}

static tn_fn *rewrite(const tn_fn *f, tn_i_long l, const uint8_t *own) {
    tn_i_builder b;
    tn_i_cells c = {
        .f = f, .b = &b, .l = l, .first = tn_i_alloc_array(f->ctx, f->nval, sizeof *c.first), .map = tn_i_map_new(f)};
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.loc = f->loc;
    if (!c.first || !out || !c.map) b.failed = true;
    for (uint32_t v = 0; v < f->nval; v++) {
        const tn_type to =
            tn_i_has_steps(tn_i_cell_type(f, v)) ? (tn_type){0} : tn_i_column_type(tn_i_cell_type(f, v), l);
        if (tn_i_count(&to) > c.places) c.places = tn_i_count(&to);
    }
    if (c.first) memset(c.first, 0xFF, f->nval * sizeof *c.first);
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) c.map[i] = tn_i_input(&b, tn_i_cell_type(f, i), false);
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) {
        if (!tn_i_few_columns(tn_i_cell_type(f, i), l)) continue;
        if (!add_cells(&c, i)) b.failed = true;
        if (!b.failed) take(&c, i, c.map[i]);
    }
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) one(&c, &f->eqn[i], own);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) {
        const tn_i_var v = f->out[j];
        out[j] = tn_i_is_literal(f, v)  ? tn_i_literal(&b, tn_i_cell_type(f, v)->dtype, f->val[v].bits)
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

/* f over columns, if it fits; *fits tells. */
static tn_fn *tried(const tn_fn *f, bool *fits) {
    uint8_t *own = tn_i_alloc(f->ctx, f->nval);
    tn_i_long l;
    *fits = own && tn_i_columns_fit(f, own, &l);
    tn_fn *g = *fits ? rewrite(f, l, own) : own ? (tn_fn *)(uintptr_t)tn_i_fn_ref(f) : NULL;
    tn_fn *h = *fits && g ? tn_i_depth_first(g) : g;
    if (*fits) tn_i_fn_unref(g);
    tn_i_free(f->ctx, own, f->nval);
    return h;
}

tn_fn *tn_i_columns(const tn_fn *f) {
    int64_t n;
    bool fits = false;
    tn_fn *g = tn_i_columns_batch(f, &n) ? tn_i_unmerged(f, n) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_fn *h = g ? tried(g, &fits) : NULL;
    if (g != f && h && !fits) {
        tn_i_fn_unref(h);
        h = tried(f, &fits);
    }
    tn_i_fn_unref(g);
    return h;
}
