/* custom_root: x with f(x, p) = 0, found by any program; the derivative is that of the implicit function,
 * dx = -(df/dx)^-1 (df/dp) dp at the root.  The rule emits f's tangent and Jacobian as ordinary equations, so that
 * every nesting and order works, and nothing of `solve` is ever differentiated. */
#include "control/nested.h"
#include "jvp/jvp.h"
#include "prims/ids.h"
#include "prims/linear/lu.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { F, SOLVE, LINEAR_SOLVE, BATCH };

/* batch: that many leading dimensions of each unknown number independent systems, which vmap put there. */
static const tn_i_spec specs[] = {{.name = "f", .kind = TN_K_FN},
                                  {.name = "solve", .kind = TN_K_FN},
                                  {.name = "linear_solve", .kind = TN_K_FN, .otherwise = "none: LU of the Jacobian"},
                                  {.name = "batch", .kind = TN_K_INT},
                                  {0}};

/* The outputs of g are what the unknowns are, operands 0, 1, .. */
static bool outputs_are_unknowns(tn_i_query *q, const tn_fn *g, uint32_t n, const char *what) {
    char text[TN_I_TYPE_TEXT];
    if (g->nout != n)
        return tn_i_type_fail(q, -1, "%s gives %u outputs, should give %u", what, (unsigned)g->nout, (unsigned)n);
    for (uint32_t j = 0; j < n; j++)
        if (!tn_i_type_same(g->val[g->out[j]].type, q->in[j]))
            return tn_i_type_fail(q, (int)j, "%s's output %u should have this type, is %s", what, (unsigned)j,
                                  tn_i_type_text(text, g->val[g->out[j]].type));
    return true;
}

static bool unknowns_fit(tn_i_query *q, uint32_t n) {
    const int64_t batch = q->p[BATCH].u.i;
    if (n == 0 || n > q->nin) return tn_i_type_fail(q, -1, "f gives %u outputs, one for each unknown", (unsigned)n);
    for (uint32_t j = 0; j < n; j++) {
        const tn_type *t = q->in[j];
        if (!tn_i_is_float(t->dtype) || t->dtype != q->in[0]->dtype)
            return tn_i_type_fail(q, (int)j, "unknowns are of one float dtype");
        if (batch < 0 || batch > t->rank)
            return tn_i_type_fail(q, (int)j, "has no %lld batch dimensions", (long long)batch);
        for (int64_t d = 0; d < batch; d++)
            if (t->dim[d] != q->in[0]->dim[d])
                return tn_i_type_fail(q, (int)j, "batch dimension %lld differs from operand 0's", (long long)d);
    }
    return true;
}

/* linear_solve: (x.., p.. | r..) -> (df/dx)^-1 r. */
static bool linear_solve_fits(tn_i_query *q, uint32_t n) {
    const tn_fn *g = q->p[LINEAR_SOLVE].u.fn;
    if (q->p[LINEAR_SOLVE].kind == TN_K_NONE) return true;
    if (g->nin != q->nin + n || g->nlin != n)
        return tn_i_type_fail(q, -1, "linear_solve takes %u inputs, %u of them linear, should take %u and %u",
                              (unsigned)g->nin, (unsigned)g->nlin, (unsigned)(q->nin + n), (unsigned)n);
    for (uint32_t i = 0; i < g->nin; i++) {
        const uint32_t k = i < q->nin ? i : i - q->nin;
        if (!tn_i_type_same(g->val[i].type, q->in[k]))
            return tn_i_type_fail(q, (int)k, "linear_solve's input %u should have this type", (unsigned)i);
    }
    if (g->effect) return tn_i_type_fail(q, -1, "linear_solve may not have effects (print, assert)");
    return outputs_are_unknowns(q, g, n, "linear_solve");
}

static bool type_root(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const tn_fn *f = q->p[F].u.fn, *solve = q->p[SOLVE].u.fn;
    if (!tn_i_type_nested_inputs(q, f, "f") || !tn_i_type_nested_inputs(q, solve, "solve")) return false;
    if (f->effect) return tn_i_type_fail(q, -1, "f may not have effects (print, assert)");
    return unknowns_fit(q, f->nout) && outputs_are_unknowns(q, f, f->nout, "f") &&
           outputs_are_unknowns(q, solve, f->nout, "solve") && linear_solve_fits(q, f->nout) &&
           tn_i_type_nested_outputs(q, f);
}

/* ---- jvp ----------------------------------------------------------------------------------- */

/* The unknowns of one system, put together as one vector. */
typedef struct system {
    tn_i_rule *r;
    const tn_fn *f;
    uint32_t n;   /* unknown arrays */
    int batch;    /* leading dimensions */
    int64_t size; /* elements of one system */
    tn_i_var *at; /* f's inputs at the root, then room for a tangent of each */
} system;

static int64_t elements(const system *s, uint32_t j) {
    const tn_type *t = s->r->in_type[j];
    int64_t n = 1;
    for (int d = s->batch; d < t->rank; d++) n *= t->dim[d];
    return n;
}

/* Row i of the result, of n rows, is the part for unknown j of the i-th unit vector, for every system. */
static tn_i_var basis(const system *s, uint32_t j, int64_t first) {
    tn_i_builder *b = s->r->b;
    const tn_type *t = s->r->in_type[j];
    const int64_t flat[2] = {s->size, elements(s, j)};
    int64_t shape[TN_MAX_RANK + 1], dims[TN_MAX_RANK + 1], whole[TN_MAX_RANK + 1];
    if (t->rank == TN_MAX_RANK) {
        tn_i_rule_fail(s->r, TN_ELIMIT, (int)j, "the Jacobian of an unknown of rank %d", (int)t->rank);
        return TN_NOVAR;
    }
    const tn_i_var row = tn_i_iota(b, TN_I64, 2, flat, 0), column = tn_i_iota(b, TN_I64, 2, flat, 1);
    if (row == TN_NOVAR) return row;
    const tn_type index = *tn_i_vtype(b, row);
    const tn_i_var shifted = tn_i_op2(b, TN_P_add, column, tn_i_whole_number(b, &index, first));
    const tn_i_var unit = tn_i_convert(b, tn_i_op2(b, TN_P_eq, row, shifted), t->dtype);
    shape[0] = whole[0] = s->size;
    dims[0] = 0;
    for (int d = 0; d < t->rank; d++) {
        whole[1 + d] = t->dim[d];
        if (d < s->batch) continue;
        shape[1 + d - s->batch] = t->dim[d];
        dims[1 + d - s->batch] = 1 + d;
    }
    return tn_i_broadcast(b, tn_i_reshape(b, unit, 1 + t->rank - s->batch, shape), 1 + t->rank, whole, dims);
}

/* v[j], of the unknowns' types with `lead` dimensions in front, as one array [lead.., batch.., size]; NOVAR: zeros. */
static tn_i_var joined(const system *s, tn_i_var *v, int lead) {
    tn_i_builder *b = s->r->b;
    int64_t shape[TN_MAX_RANK + 1];
    const int rank = lead + s->batch + 1;
    for (uint32_t j = 0; j < s->n && !b->failed; j++) {
        const tn_type *t = s->r->in_type[j];
        if (lead) shape[0] = s->size;
        for (int d = 0; d < s->batch; d++) shape[lead + d] = t->dim[d];
        shape[rank - 1] = elements(s, j);
        if (v[j] == TN_NOVAR) {
            const tn_type zero = tn_type_of((tn_dtype)t->dtype, (size_t)rank, shape);
            v[j] = tn_i_zeros(b, &zero);
        } else
            v[j] = tn_i_reshape(b, v[j], rank, shape);
    }
    return b->failed ? TN_NOVAR : s->n == 1 ? v[0] : tn_i_concatenate(b, s->n, v, rank - 1);
}

/* The other way: y [batch.., size] as the unknowns. */
static void divided(const system *s, tn_i_var y, tn_i_var *v) {
    tn_i_builder *b = s->r->b;
    int64_t start[TN_MAX_RANK + 1] = {0}, limit[TN_MAX_RANK + 1];
    for (uint32_t j = 0; j < s->n && !b->failed; j++) {
        const tn_type *t = s->r->in_type[j];
        for (int d = 0; d < s->batch; d++) limit[d] = t->dim[d];
        limit[s->batch] = start[s->batch] + elements(s, j);
        const tn_i_var part = s->n == 1 ? y : tn_i_slice(b, y, start, limit, NULL);
        v[j] = tn_i_reshape(b, part, t->rank, t->dim);
        start[s->batch] = limit[s->batch];
    }
}

/* Tangents of f at the root for the inputs that have one in `din`; with `rows`, for that many at once.  TN_NOVAR
 * where an output has none. */
static bool tangents(const system *s, const tn_i_var *din, int64_t rows, tn_i_var *dr) {
    tn_i_builder *b = s->r->b;
    tn_i_rule mapped = *s->r; /* r->batch is free in a jvp rule */
    mapped.batch = rows;
    const tn_i_memo_entry *e = tn_i_nested_jvp(s->r, s->f, din), *m = e;
    if (!e) return false;
    const tn_fn *g = e->result[0];
    bool *flags = tn_i_alloc_array(b->ctx, g->nin, sizeof *flags);
    tn_i_var *out = tn_i_alloc_array(b->ctx, g->nout, sizeof *out);
    if (flags && out) {
        uint32_t n = s->f->nin;
        for (uint32_t i = 0; i < s->f->nin; i++)
            if (din[i] != TN_NOVAR) s->at[n++] = din[i];
        for (uint32_t i = s->f->nin; i < g->nin; i++) flags[i] = true;
        if (rows) m = tn_i_nested_vmap(&mapped, g, flags, true);
        if (m) tn_i_inline(b, m->result[0], s->at, out);
        n = s->n;
        for (uint32_t j = 0; j < s->n && m; j++) dr[j] = e->flags[j] ? out[n++] : TN_NOVAR;
    } else
        b->failed = true;
    tn_i_free(b->ctx, flags, g->nin * sizeof *flags);
    tn_i_free(b->ctx, out, g->nout * sizeof *out);
    return !b->failed;
}

/* df/dx [batch.., size, size]: f's tangents over a basis, which are its columns. */
static tn_i_var jacobian(const system *s, tn_i_var *room) {
    tn_i_builder *b = s->r->b;
    tn_i_var *din = room, *dr = room + s->f->nin;
    int64_t first = 0, order[TN_MAX_RANK + 1];
    for (uint32_t i = 0; i < s->f->nin; i++) {
        din[i] = i < s->n ? basis(s, i, first) : TN_NOVAR;
        if (i < s->n) first += elements(s, i);
    }
    if (b->failed || !tangents(s, din, s->size, dr)) return TN_NOVAR;
    const tn_i_var columns = joined(s, dr, 1); /* [size, batch.., size] */
    for (int d = 0; d < s->batch; d++) order[d] = 1 + d;
    order[s->batch] = s->batch + 1;
    order[s->batch + 1] = 0;
    if (s->batch + 2 > TN_MAX_RANK) {
        tn_i_rule_fail(s->r, TN_ELIMIT, -1, "the Jacobians would have rank %d", s->batch + 2);
        return TN_NOVAR;
    }
    return tn_i_permute(b, columns, order);
}

static void solve_dense(const system *s, tn_i_var *dr, tn_i_var *room, tn_i_var *dx) {
    tn_i_builder *b = s->r->b;
    const tn_i_var a = jacobian(s, room), rhs = joined(s, dr, 0);
    if (a == TN_NOVAR || rhs == TN_NOVAR) return;
    const tn_type t = *tn_i_vtype(b, rhs);
    int64_t shape[TN_MAX_RANK + 1];
    memcpy(shape, t.dim, (size_t)t.rank * sizeof *shape);
    shape[t.rank] = 1;
    const tn_i_var lu = tn_i_emit_lu(b, a), columns = tn_i_reshape(b, rhs, t.rank + 1, shape);
    if (lu == TN_NOVAR) return;
    const tn_i_var x = tn_i_emit_lu_solve(b, false, lu, lu + 2, columns);
    divided(s, tn_i_reshape(b, tn_i_op1(b, TN_P_neg, x), t.rank, t.dim), dx);
}

static void solve_by_user(const system *s, const tn_i_var *dr, tn_i_var *dx) {
    tn_i_builder *b = s->r->b;
    memcpy(s->at + s->f->nin, dr, s->n * sizeof *dr);
    tn_i_inline_tangent(b, s->r->p[LINEAR_SOLVE].u.fn, s->at, dx);
    for (uint32_t j = 0; j < s->n; j++)
        if (dx[j] != TN_NOVAR) dx[j] = tn_i_op1(b, TN_P_neg, dx[j]);
}

static void jvp_root(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    system s = {.r = r, .f = r->p[F].u.fn, .n = r->nout, .batch = (int)r->p[BATCH].u.i};
    const size_t room = 4 * (size_t)r->nin + 3 * (size_t)s.n;
    bool active = false;
    for (uint32_t i = s.n; i < r->nin; i++) active |= din[i] != TN_NOVAR;
    for (uint32_t j = 0; j < s.n; j++) s.size += elements(&s, j);
    if (!active || s.size == 0) return; /* the first guess has no part in the root */
    s.at = tn_i_alloc_array(b->ctx, room, sizeof *s.at);
    if (!s.at) {
        b->failed = true;
        return;
    }
    tn_i_var *by = s.at + 2 * r->nin, *dr = by + r->nin, *more = dr + s.n;
    memcpy(s.at, r->out, s.n * sizeof *s.at);
    memcpy(s.at + s.n, r->in + s.n, (r->nin - s.n) * sizeof *s.at);
    for (uint32_t i = 0; i < r->nin; i++) by[i] = i < s.n ? TN_NOVAR : din[i];
    bool moves = false;
    if (tangents(&s, by, 0, dr))
        for (uint32_t j = 0; j < s.n; j++) moves |= dr[j] != TN_NOVAR;
    if (moves && r->p[LINEAR_SOLVE].kind != TN_K_NONE)
        solve_by_user(&s, dr, dout);
    else if (moves)
        solve_dense(&s, dr, more, dout);
    tn_i_free(b->ctx, s.at, room * sizeof *s.at);
}

/* ---- batching and the rest -------------------------------------------------------------------- */

/* The unknowns, and what takes their place, are always batched. */
static void batch_root(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_param p[4];
    memcpy(p, r->p, sizeof p);
    p[BATCH].u.i++;
    tn_i_batch_programs(r, p, 0, r->nout, batched, out, out_batched);
}

static bool effect_root(const tn_i_param *p) { return p[SOLVE].u.fn->effect; }

static void cost_root(const tn_i_query *q, tn_i_cost *cost) { tn_i_cost_nested(q->p[SOLVE].u.fn, cost); }

/* sinh x = p and y = q x, whose root is known: x = arsinh p, y = q x.  The Jacobian is not symmetric. */
static const tn_fn *sample_program(tn_ctx *c, const tn_type *t, int which) {
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    const tn_i_var x = tn_i_input(&b, t, false), y = tn_i_input(&b, t, false);
    const tn_i_var p = tn_i_input(&b, t, false), q = tn_i_input(&b, t, false);
    tn_i_var out[2];
    if (which == F) {
        out[0] = tn_i_op2(&b, TN_P_sub, tn_i_op1(&b, TN_P_sinh, x), p);
        out[1] = tn_i_op2(&b, TN_P_sub, y, tn_i_op2(&b, TN_P_mul, q, x));
    } else if (which == SOLVE) {
        out[0] = tn_i_op1(&b, TN_P_asinh, p);
        out[1] = tn_i_op2(&b, TN_P_mul, q, out[0]);
    } else {
        const tn_i_var r = tn_i_input(&b, t, true), s = tn_i_input(&b, t, true);
        out[0] = tn_i_op2(&b, TN_P_div, r, tn_i_op1(&b, TN_P_cosh, x));
        out[1] = tn_i_op2(&b, TN_P_add, s, tn_i_op2(&b, TN_P_mul, q, out[0]));
    }
    return tn_i_finish(&b, 2, out);
}

static bool sample_root(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_type t;
    tn_i_sample_shape(g, &t, dtype, 0, 1);
    const int programs = tn_i_pick(g, 0, 2) ? 2 : 3;
    for (int k = 0; k < programs; k++) {
        c->fns[k] = sample_program(c->ctx, &t, k);
        if (!c->fns[k]) return false;
        c->p[k] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[k]};
    }
    c->p[BATCH] = (tn_i_param){.kind = TN_K_INT, .u.i = t.rank ? tn_i_pick(g, 0, 1) : 0};
    c->nin = 4;
    for (int i = 0; i < 4; i++) c->in[i] = t;
    return true;
}

const tn_prim tn_prim_custom_root = {
    .id = TN_P_custom_root,
    .name = "custom_root",
    .doc = "x by solve(x0.., p..), where f(x.., p..) = 0; its derivative is -(df/dx)^-1 (df/dp) dp, that in x0 is 0",
    .nin = -1,
    .flags = TN_F_COSTLY | TN_F_RULES | TN_F_OVER,
    .dtypes = TN_WIDE_FLOATS,
    .params = specs,
    .type = type_root,
    .jvp = jvp_root,
    .batch = batch_root,
    .body = 1 + SOLVE,
    .effect = effect_root,
    .cost = cost_root,
    .jvp_bound = 60,
    .sample = sample_root,
};
