/* Constants that are 0 but for one element of a row, such as the basis of a Jacobian, in elementwise equations: a
 * matrix that is computed of one is computed as if it were zeros, and once more, as a vector, of what all operands are
 * at the elements that are not 0, the *hot elements*:
 *
 *     r = e g; y = fma(r, t, a)        becomes        y = select(hot, repeat(1 g' t' + a'), a)
 *
 * where e is such a constant, and g', t' and a' are g, t and a at the hot elements: slices of vectors, and of a with a
 * stride. So the constant is not read, which is as large as the matrix, and a row has one number to be stored besides
 * a's. Bits at the hot elements stay; elsewhere products with the 0 of a basis are left out (docs/execution.md), as in
 * columns.c.
 *
 * That a value is 0, or something else, but at some hot elements, is a fact about it, found from its operands: it does
 * not depend on the order of equations, nor on which operand has the hot elements, nor on where in a matrix they have
 * been moved.
 */
#include "base/machine.h"
#include "opt/one_hot.h"

#include "opt/equations.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { MOST_WAITING = 64, MOST_DEEP = 256, MOST_TOGETHER = 16, MOST_OPERANDS = 4 };

static const tn_i_eqn *def_of(const tn_i_one_hot *s, tn_i_var v) { return tn_i_one_hot_def(s, v); }
static const tn_type *type_of(const tn_i_one_hot *s, tn_i_var v) { return tn_i_one_hot_type(s, v); }

static bool is_large(const tn_type *t) {
    return tn_i_count(t) >= TN_M_ONE_HOT_ELEMENTS && t->dim[1] >= TN_M_ONE_HOT_ROW;
}

bool tn_i_one_hot_pattern_of(tn_i_one_hot *s, const tn_i_one_hot_set *set, uint32_t *number) {
    *number = 0;
    while (*number < s->npattern && !tn_i_one_hot_same(set, &s->pattern[*number].set)) ++*number;
    if (*number < s->npattern) return true;
    if (!tn_i_grow(s->f->ctx, (void **)&s->pattern, &s->cpattern, s->npattern + 1, sizeof *s->pattern)) return false;
    tn_i_var *at = tn_i_map_new(s->f);
    if (!at) return false;
    s->pattern[s->npattern++] = (tn_i_one_hot_pattern){.set = *set, .column = TN_NOVAR, .here = TN_NOVAR, .at = at};
    return true;
}

bool tn_i_one_hot_elementwise(const tn_i_eqn *e) {
    return e->prim->flags & TN_F_ELEMENTWISE && !(e->prim->flags & (TN_F_OFFLOAD | TN_F_COSTLY)) && e->nout == 1 &&
           e->nin > 0 && e->nin <= MOST_OPERANDS;
}

/* ---- what moves --------------------------------------------------------------------------------- */

static void add_operand(tn_i_one_hot_moves *m, tn_i_var v, int64_t row, int64_t column) {
    m->in[m->n] = v;
    m->row[m->n] = row;
    m->column[m->n++] = column;
}

/* A view of a matrix: some of its rows and columns, or turned. */
static bool view_of(const tn_i_one_hot *s, const tn_i_eqn *e, tn_i_one_hot_moves *m) {
    const tn_i_var v = tn_i_in(s->f, e)[0];
    const tn_type *t = type_of(s, v), *types[1] = {t};
    tn_type out = *type_of(s, e->out);
    tn_i_arr from = {.type = t}, to = {.type = &out};
    int64_t offset = 0;
    if (!(e->prim->flags & TN_F_VIEW) || e->nin != 1 || t->rank != 2 || t->dim[1] < 1) return false;
    const tn_i_query q = {
        .ctx = s->f->ctx, .prim = e->prim, .p = tn_i_p(e), .nin = 1, .nout = 1, .in = types, .out = &out};
    tn_i_dense_strides(t, from.stride);
    if (!e->prim->view(&q, &from, &to, &offset)) return false;
    m->turned = offset == 0 && out.dim[0] == t->dim[1] && out.dim[1] == t->dim[0] && to.stride[0] == 1 &&
                to.stride[1] == t->dim[1];
    const int64_t row = offset / t->dim[1], column = offset % t->dim[1];
    if (!m->turned && (to.stride[0] != t->dim[1] || to.stride[1] != 1 || column + out.dim[1] > t->dim[1])) return false;
    add_operand(m, v, -row, -column);
    return true;
}

bool tn_i_one_hot_moved(const tn_i_one_hot *s, const tn_i_eqn *e, tn_i_one_hot_moves *m) {
    const tn_i_var *in = tn_i_in(s->f, e);
    int64_t config[3 * TN_MAX_RANK], at[2] = {0, 0};
    tn_i_box box;
    *m = (tn_i_one_hot_moves){.n = 0};
    if (!tn_i_space_admits(s->f, e) || type_of(s, e->out)->rank != 2 || e->nin == 0) return false;
    if (tn_i_box_of(s->f, e, &box)) {
        if (!tn_i_is_literal(s->f, in[1])) return false;
        add_operand(m, in[0], box.low[0], box.low[1]);
        m->fill = s->f->val[in[1]].bits;
        return true;
    }
    if (tn_i_window_of(s->f, e, config)) {
        m->added = true;
        add_operand(m, in[0], 0, 0);
        add_operand(m, in[1], config[0], config[3]);
        return tn_i_is_float(type_of(s, e->out)->dtype);
    }
    if (e->prim->id != TN_P_concatenate) return view_of(s, e, m);
    for (uint32_t k = 0; k < e->nin && k < TN_ONE_HOT_OPERANDS; k++) {
        add_operand(m, in[k], at[0], at[1]);
        at[tn_i_p(e)[0].u.i] += type_of(s, in[k])->dim[tn_i_p(e)[0].u.i];
    }
    return e->nin <= TN_ONE_HOT_OPERANDS;
}

/* ---- what depends on a pattern ------------------------------------------------------------------ */

/* Zeros in every element, of either sign. */
static bool is_zeros(const tn_i_one_hot *s, tn_i_var v) {
    int8_t map[TN_MAX_RANK];
    for (const tn_i_eqn *e; (e = def_of(s, v)) && tn_i_walks(s->f, e, map);) v = tn_i_in(s->f, e)[0];
    if (!tn_i_is_literal(s->f, v)) return false;
    const uint64_t bits = s->f->val[v].bits;
    return bits == 0 || bits == (type_of(s, v)->dtype == TN_F64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31);
}

/* What an equation is where some of its operands are 0; *nothing: it is. */
static tn_i_remains elsewhere_of(const tn_i_one_hot *s, const tn_i_eqn *e, bool *nothing) {
    const tn_i_var *in = tn_i_in(s->f, e);
    uint8_t lin[TN_ONE_HOT_OPERANDS];
    unsigned zeros = 0;
    bool plain = false;
    for (uint32_t k = 0; k < e->nin; k++) {
        const bool zero = s->zero[in[k]] || (tn_i_is_literal(s->f, in[k]) && is_zeros(s, in[k]));
        lin[k] = zero ? TN_ZERO : TN_NONLINEAR;
        if (!zero) continue;
        zeros |= TN_OPERAND(k);
        plain |= !s->of[in[k]] || tn_i_constant_data(def_of(s, in[k]));
    }
    const bool linear = e->linear || !e->prim->strict;
    *nothing = linear && tn_i_linear_image(e, lin) == TN_ZERO;
    const tn_i_remains all = {.kind = TN_REMAINS_ALL};
    if (*nothing || zeros == 0 || !tn_i_one_hot_elementwise(e)) return all;
    if (!e->prim->without) return (tn_i_remains){.kind = TN_REMAINS_UNKNOWN};
    const tn_i_remains r = e->prim->without(tn_i_p(e), zeros, e->linear);
    return plain && r.kind == TN_REMAINS_OPERAND && !e->linear ? all : r; /* -0 + 0 is 0 */
}

/* The hot elements of all operands; false: none has some, or they are not one pattern. */
static bool hot_elements_of(const tn_i_one_hot *s, const tn_i_eqn *e, const tn_i_one_hot_moves *m,
                            tn_i_one_hot_set *all) {
    const tn_type *t = type_of(s, e->out);
    const uint32_t n = m ? m->n : e->nin;
    bool some = false;
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_var v = m ? m->in[k] : tn_i_in(s->f, e)[k];
        if (!s->of[v]) continue;
        tn_i_one_hot_set its = s->pattern[s->of[v] - 1].set, both = its;
        if (m && m->turned) {
            if (!tn_i_one_hot_turned(&its, &both)) return false;
        } else if (m && !tn_i_one_hot_placed(&its, m->row[k], m->column[k], t->dim[0], t->dim[1], &both))
            return false;
        its = both;
        if (some && !tn_i_one_hot_of_both(all, &its, &both)) return false;
        *all = both;
        some = true;
    }
    return some && all->n <= TN_ONE_HOT_RUNS;
}

static bool set_pattern(tn_i_one_hot *s, tn_i_var v, const tn_i_one_hot_set *set, bool zero) {
    uint32_t number;
    if (!tn_i_one_hot_pattern_of(s, set, &number)) return false;
    if (number >= TN_ONE_HOT_FACTS) return true;
    s->of[v] = (uint8_t)(number + 1);
    s->zero[v] = zero;
    return true;
}

/* False after TN_ENOMEM. */
static bool consider(tn_i_one_hot *s, const tn_i_eqn *e) {
    const tn_type *t = e->nout == 1 ? type_of(s, e->out) : NULL;
    const void *data = t ? tn_i_constant_data(e) : NULL;
    tn_i_one_hot_set set;
    tn_i_one_hot_moves m;
    if (!t || t->rank != 2) return true;
    s->deep[e->out] = tn_i_one_hot_deep(s, e->out);
    if (!tn_i_is_float(t->dtype) || !s->deep[e->out]) return true;
    if (data) {
        return !is_large(t) || !tn_i_one_hot_of_constant(t, data, &set) || set_pattern(s, e->out, &set, true);
    }
    if (is_zeros(s, e->out)) {
        s->zero[e->out] = 1;
        return true;
    }
    const bool moves = tn_i_one_hot_moved(s, e, &m);
    bool nothing;
    if ((!moves && !tn_i_one_hot_elementwise(e)) || e->nin > TN_ONE_HOT_OPERANDS) return true;
    if (!hot_elements_of(s, e, moves ? &m : NULL, &set)) return true;
    if (elsewhere_of(s, e, &nothing).kind == TN_REMAINS_UNKNOWN) return true;
    if (moves && !nothing && !(m.added && s->zero[m.in[1]])) return true; /* is no less when it is moved */
    return set_pattern(s, e->out, &set, nothing);
}

/* ---- programs -------------------------------------------------------------------------------------- */

static tn_i_var rest_of(tn_i_one_hot *s, tn_i_var v);

/* Of e, whose output is not 0 where there are no hot elements. */
static tn_i_var rest_of_eqn(tn_i_one_hot *s, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(s->f, e);
    tn_i_var x[TN_ONE_HOT_OPERANDS], y;
    tn_i_one_hot_moves m;
    bool nothing;
    const tn_i_remains r = elsewhere_of(s, e, &nothing);
    if (tn_i_one_hot_moved(s, e, &m)) return rest_of(s, m.in[0]); /* 0 is added to it */
    for (uint32_t k = 0; k < e->nin; k++) {
        const bool needed = r.kind == TN_REMAINS_OPERAND ? k == r.operand : r.kind == TN_REMAINS_PRODUCT ? k < 2 : true;
        x[k] = needed ? rest_of(s, in[k]) : TN_NOVAR;
        if (needed && x[k] == TN_NOVAR) return TN_NOVAR;
    }
    s->b->region = e->region;
    s->b->linear = e->linear;
    y = r.kind == TN_REMAINS_OPERAND   ? x[r.operand]
        : r.kind == TN_REMAINS_PRODUCT ? tn_i_op2(s->b, r.product, x[0], x[1])
                                       : tn_i_emit_like(s->b, e, x);
    s->b->linear = false;
    return r.negative ? tn_i_op1(s->b, TN_P_neg, y) : y;
}

/* What v is where there are no hot elements. */
static tn_i_var rest_of(tn_i_one_hot *s, tn_i_var v) {
    const tn_type *t = type_of(s, v);
    if (!s->of[v]) return tn_i_one_hot_whole(s, v);
    if (s->rest[v] != TN_NOVAR || s->b->failed) return s->rest[v];
    s->rest[v] = s->zero[v] ? tn_i_broadcast(s->b, tn_i_literal_f64(s->b, t->dtype, 0), t->rank, t->dim, NULL)
                            : rest_of_eqn(s, def_of(s, v));
    return s->rest[v];
}

/* Where in a row its hot element is, beside each element. */
static tn_i_var column_of_hot(tn_i_one_hot *s, uint32_t number) {
    tn_i_one_hot_pattern *p = &s->pattern[number];
    if (p->column != TN_NOVAR) return p->column;
    const tn_type t = {.dtype = TN_I64, .rank = 1, .dim = {p->set.rows}};
    const int64_t shape[2] = {p->set.rows, p->set.columns}, rows = 0;
    int64_t *column = tn_i_alloc_array(s->f->ctx, (size_t)p->set.rows, sizeof *column);
    if (!column) {
        s->b->failed = true;
        return TN_NOVAR;
    }
    for (int64_t i = 0; i < p->set.rows; i++) column[i] = tn_i_one_hot_column(&p->set, i);
    const tn_i_var at = tn_i_constant(s->b, &t, column);
    tn_i_free(s->f->ctx, column, (size_t)p->set.rows * sizeof *column);
    return p->column = tn_i_broadcast(s->b, at, 2, shape, &rows);
}

/* Whether an element is a hot element. */
static tn_i_var is_hot(tn_i_one_hot *s, uint32_t number) {
    tn_i_one_hot_pattern *p = &s->pattern[number];
    const int64_t shape[2] = {p->set.rows, p->set.columns};
    if (p->here == TN_NOVAR && column_of_hot(s, number) != TN_NOVAR)
        p->here = tn_i_op2(s->b, TN_P_eq, tn_i_iota(s->b, TN_I64, 2, shape, 1), p->column);
    return p->here;
}

/* v, read by what is written now, comes from a step of its own, such as a product: nests behind it make masks of their
 * own, and none in front of it stores one for them. */
static void forget_masks(tn_i_one_hot *s, tn_i_var v) {
    const tn_i_eqn *e = def_of(s, v);
    if (!e || e->nin == 0 || e->prim->flags & (TN_F_VIEW | TN_F_PLACES) || tn_i_space_computes(s->f, e)) return;
    for (size_t k = 0; k < s->npattern; k++)
        if (s->pattern[k].here < s->map[v]) s->pattern[k].here = TN_NOVAR;
}

tn_i_var tn_i_one_hot_whole(tn_i_one_hot *s, tn_i_var v) {
    if (s->map[v] != TN_NOVAR || s->b->failed || !(s->of[v] || s->waits[v])) {
        forget_masks(s, v);
        return tn_i_mapped(s->b, s->f, s->map, v);
    }
    const tn_i_eqn *e = def_of(s, v);
    const tn_type *t = type_of(s, v);
    if (!s->of[v] || s->zero[v] || !is_large(t)) {
        for (uint32_t k = 0; k < e->nin; k++)
            if (tn_i_one_hot_whole(s, tn_i_in(s->f, e)[k]) == TN_NOVAR) return TN_NOVAR;
        s->b->region = e->region;
        tn_i_copy_eqn(s->b, s->f, e, s->map);
        return s->map[v];
    }
    const uint32_t number = s->of[v] - 1u;
    const int64_t rows = 0;
    const tn_i_var at = tn_i_one_hot_at(s, number, v), rest = rest_of(s, v), here = is_hot(s, number);
    if (at == TN_NOVAR || rest == TN_NOVAR || here == TN_NOVAR) return TN_NOVAR;
    s->b->region = e->region;
    const tn_i_var there = tn_i_broadcast(s->b, at, 2, t->dim, &rows);
    return s->map[v] = tn_i_op3(s->b, TN_P_select, here, there, rest);
}

/* All that v is made of has been written, or waits. */
static bool is_ready(const tn_i_one_hot *s, tn_i_var v, int *left) {
    const tn_i_eqn *e = def_of(s, v);
    if (s->map[v] != TN_NOVAR || tn_i_is_literal(s->f, v)) return true;
    if (--*left < 0 || !e || !(s->of[v] || s->waits[v])) return false;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!is_ready(s, tn_i_in(s->f, e)[k], left)) return false;
    return true;
}

/* Values that are wanted, and can be had, together: first the vectors of all of them, then the matrices. */
static void write_ready(tn_i_one_hot *s) {
    tn_i_var ready[MOST_TOGETHER];
    uint32_t n = 0;
    while (s->next < s->nwanted && s->map[s->wanted[s->next]] != TN_NOVAR) s->next++;
    for (uint32_t k = s->next; k < s->nwanted && k < s->next + MOST_TOGETHER; k++) {
        int left = MOST_DEEP;
        const tn_i_var v = s->wanted[k];
        if (s->map[v] == TN_NOVAR && is_ready(s, v, &left)) ready[n++] = v;
    }
    for (uint32_t k = 0; k < n && !s->b->failed; k++) (void)tn_i_one_hot_at(s, s->of[ready[k]] - 1u, ready[k]);
    for (uint32_t k = 0; k < n && !s->b->failed; k++) (void)tn_i_one_hot_whole(s, ready[k]);
}

static void want(tn_i_one_hot *s, tn_i_var v) {
    if (s->map[v] != TN_NOVAR || s->b->failed || !(s->of[v] || s->waits[v])) return;
    if (s->of[v] && !s->zero[v]) write_ready(s);
    (void)tn_i_one_hot_whole(s, v);
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    tn_i_one_hot *s = (tn_i_one_hot *)(uintptr_t)with;
    s->b = b;
    s->map = map;
    const bool waits = !s->live[e - f->eqn] || (e->nout == 1 && (s->of[e->out] || s->waits[e->out]));
    for (uint32_t k = 0; k < e->nin && !waits; k++) want(s, tn_i_in(f, e)[k]);
    for (uint32_t j = 0; j < f->nout && e == &f->eqn[f->neqn - 1]; j++) want(s, f->out[j]);
    b->region = e->region;
    return waits;
}

static void note_wanted(tn_i_one_hot *s, tn_i_var v, uint8_t *seen) {
    if (!s->of[v] || s->zero[v] || seen[v]) return;
    seen[v] = 1;
    s->wanted[s->nwanted++] = v;
}

/* In the order of those that want them. */
static bool find_wanted(tn_i_one_hot *s) {
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
static void find_waiting(tn_i_one_hot *s) {
    for (uint32_t i = 0; i < s->f->neqn; i++) {
        const tn_i_eqn *e = &s->f->eqn[i];
        const tn_type *t = e->nout == 1 ? type_of(s, e->out) : NULL;
        bool fits = false;
        if (!t || t->rank != 2 || !tn_i_one_hot_elementwise(e)) continue;
        for (uint32_t k = 0; k < s->npattern; k++)
            fits |= t->dim[0] == s->pattern[k].set.rows && t->dim[1] == s->pattern[k].set.columns;
        uint8_t before = 0;
        for (uint32_t k = 0; k < e->nin; k++) {
            const uint8_t its = s->waits[tn_i_in(s->f, e)[k]];
            if (its > before) before = its;
        }
        if (fits && before < MOST_WAITING) s->waits[e->out] = (uint8_t)(before + 1);
    }
}

/* Values that are more than zeros and hot elements. */
static bool worth(const tn_i_one_hot *s) {
    for (uint32_t v = 0; v < s->f->nval; v++)
        if (s->of[v] && !s->zero[v]) return true;
    return false;
}

static tn_fn *rewritten(tn_i_one_hot *s) {
    if (!worth(s)) return (tn_fn *)(uintptr_t)tn_i_fn_ref(s->f);
    if (!(s->rest = tn_i_map_new(s->f))) return NULL;
    find_waiting(s);
    return find_wanted(s) ? tn_i_rewritten(s->f, NULL, s->f->neqn, put, s) : NULL;
}

static bool has_constant(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (tn_i_constant_data(&f->eqn[i]) && f->val[f->eqn[i].out].type->rank == 2) return true;
    return false;
}

tn_fn *tn_i_split_one_hot(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    if (!has_constant(f)) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_one_hot s = {.f = f,
                      .live = tn_i_needed(f),
                      .of = tn_i_alloc(c, f->nval),
                      .zero = tn_i_alloc(c, f->nval),
                      .deep = tn_i_alloc_array(c, f->nval, sizeof *s.deep),
                      .waits = tn_i_alloc(c, f->nval)};
    bool ok = s.live && s.of && s.zero && s.deep && s.waits;
    for (uint32_t v = 0; ok && v < f->nval; v++)
        if (!def_of(&s, v)) s.deep[v] = tn_i_one_hot_deep(&s, v);
    for (uint32_t i = 0; ok && i < f->neqn; i++)
        if (s.live[i]) ok = consider(&s, &f->eqn[i]);
    tn_fn *g = ok ? rewritten(&s) : NULL;
    for (size_t k = 0; k < s.npattern; k++) tn_i_map_free(f, s.pattern[k].at);
    tn_i_free(c, s.pattern, s.cpattern * sizeof *s.pattern);
    tn_i_free(c, s.live, f->neqn);
    tn_i_free(c, s.of, f->nval);
    tn_i_free(c, s.zero, f->nval);
    tn_i_free(c, s.deep, f->nval * sizeof *s.deep);
    tn_i_free(c, s.waits, f->nval);
    tn_i_free(c, s.wanted, f->nval * sizeof *s.wanted);
    if (s.rest) tn_i_map_free(f, s.rest);
    return g;
}
