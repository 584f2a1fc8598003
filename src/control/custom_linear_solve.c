/* custom_linear_solve: x with a x = b, found by any program `solve`, which is linear in b by its author's word; a is
 * the linear program `matvec`.  The derivative is dx = a^-1 (db - da x), the same equation on another right-hand side,
 * and its transpose is the solve with a', by the program `transpose_solve`.  Nothing of either is ever differentiated,
 * so that every nesting and order works with solvers that find out when they run how often they iterate. */
#include "control/loops/loop.h"
#include "jvp/jvp.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"
#include "prims/strips.h"

#include <string.h>

enum { MATVEC, SOLVE, TRANSPOSE_SOLVE, SYMMETRIC, PARAMS };

/* All programs read the same residuals; matvec: (residuals.. | x..), the others (residuals.., b..). */
static const tn_i_spec specs[] = {
    {.name = "matvec", .kind = TN_K_FN},
    {.name = "solve", .kind = TN_K_FN},
    {.name = "transpose_solve", .kind = TN_K_FN, .otherwise = "none: no reverse mode, but of symmetric ones"},
    {.name = "symmetric", .kind = TN_K_BOOL, .otherwise = "False"},
    {0}};

static uint32_t unknowns(const tn_i_param *p) { return p[MATVEC].u.fn->nlin; }
static bool symmetric(const tn_i_param *p) { return p[SYMMETRIC].kind != TN_K_NONE && p[SYMMETRIC].u.i; }

/* ---- types --------------------------------------------------------------------------------------------- */

/* Outputs of g are what the right-hand sides are, operands from nres on; solve may give more behind them. */
static bool gives_unknowns(tn_i_query *q, const tn_fn *g, uint32_t nres, bool more, const char *what) {
    char text[TN_I_TYPE_TEXT];
    const uint32_t n = q->nin - nres;
    if (g->nout < n || (g->nout > n && !more))
        return tn_i_type_fail(q, -1, "%s gives %u outputs, should give %u", what, (unsigned)g->nout, (unsigned)n);
    for (uint32_t j = 0; j < n; j++)
        if (!tn_i_type_same(g->val[g->out[j]].type, q->in[nres + j]))
            return tn_i_type_fail(q, (int)(nres + j), "%s's output %u should have this type, is %s", what, (unsigned)j,
                                  tn_i_type_text(text, g->val[g->out[j]].type));
    return true;
}

static bool program_fits(tn_i_query *q, const tn_fn *g, uint32_t nres, bool more, const char *what) {
    if (!tn_i_type_nested_inputs(q, g, what)) return false;
    if (g->effect) return tn_i_type_fail(q, -1, "%s may not have effects (print, assert)", what);
    return gives_unknowns(q, g, nres, more, what);
}

static bool type_solve(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const tn_fn *matvec = q->p[MATVEC].u.fn, *solve = q->p[SOLVE].u.fn;
    const bool other = q->p[TRANSPOSE_SOLVE].kind != TN_K_NONE;
    if (matvec->nlin == 0 || matvec->nlin > q->nin)
        return tn_i_type_fail(q, -1, "matvec needs linear inputs (after `|`), one for each right-hand side");
    const uint32_t nres = q->nin - matvec->nlin;
    if (other && symmetric(q->p))
        return tn_i_type_fail(q, -1, "a symmetric system has no transpose_solve: its solve is that");
    for (uint32_t i = nres; i < q->nin; i++)
        if (!tn_i_is_float(q->in[i]->dtype)) return tn_i_type_fail(q, (int)i, "right-hand sides are floats");
    return program_fits(q, matvec, nres, false, "matvec") && program_fits(q, solve, nres, true, "solve") &&
           (!other || program_fits(q, q->p[TRANSPOSE_SOLVE].u.fn, nres, false, "transpose_solve")) &&
           tn_i_type_nested_outputs(q, solve);
}

static bool linearity(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    const uint32_t n = unknowns(e->params->v);
    if (!tn_i_linear_from(f, e, e->nin - n, in, out)) return false;
    if (e->nout == n || out[0] == TN_NONLINEAR) return true;
    for (uint32_t i = e->nin - n; i < e->nin; i++)
        if (in[i] == TN_LINEAR) {
            (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc,
                            "custom_linear_solve: what solve gives besides x is not linear in the right-hand side");
            return false;
        }
    for (uint32_t j = n; j < e->nout; j++) out[j] = TN_NONLINEAR;
    return true;
}

/* ---- jvp, transpose, batching -------------------------------------------------------------------------- */

/* f with its first n outputs alone: what else a solve gives has no tangent. */
static const tn_fn *first_outputs(tn_i_rule *r, const tn_fn *f, uint32_t n) {
    static const char kind;
    tn_ctx *c = r->b->ctx;
    if (f->nout == n) return f;
    const tn_i_memo_entry *e = tn_i_memo_find(r->memo, &kind, f, &n, sizeof n);
    if (e) return e->result[0];
    const size_t room = (size_t)f->nin + n;
    uint32_t *from = tn_i_alloc_array(c, room, sizeof *from);
    const tn_type **type = tn_i_alloc_array(c, f->nin, sizeof *type);
    tn_fn *g = NULL;
    if (from && type) {
        for (uint32_t i = 0; i < f->nin; i++) {
            from[i] = i;
            type[i] = f->val[i].type;
        }
        for (uint32_t j = 0; j < n; j++) from[f->nin + j] = j;
        g = tn_i_rewire(f, &(tn_i_wiring){.nin = f->nin, .nout = n, .in = type, .from = from, .out = from + f->nin});
    }
    tn_i_free(c, from, room * sizeof *from);
    tn_i_free(c, (void *)(uintptr_t)type, f->nin * sizeof *type);
    if (g) e = tn_i_memo_add(r->memo, &kind, f, &n, sizeof n, g, NULL, NULL, 0);
    if (!e) r->b->failed = true;
    return e ? e->result[0] : NULL;
}

/* rhs -= da x, da being the tangent of matvec in the residuals. */
static void less_moved(tn_i_rule *r, const tn_i_var *din, tn_i_var *room, tn_i_var *rhs) {
    tn_i_builder *b = r->b;
    const uint32_t n = unknowns(r->p), nres = r->nin - n;
    tn_i_var *in = room, *masked = in + 2 * r->nin, *out = masked + r->nin;
    bool moves = false;
    for (uint32_t i = 0; i < r->nin; i++) {
        masked[i] = i < nres ? din[i] : TN_NOVAR;
        moves |= masked[i] != TN_NOVAR;
    }
    const tn_i_memo_entry *e = moves ? tn_i_nested_jvp(r, r->p[MATVEC].u.fn, masked) : NULL;
    if (!e) return;
    uint32_t k = r->nin;
    memcpy(in, r->in, nres * sizeof *in);
    memcpy(in + nres, r->out, n * sizeof *in);
    for (uint32_t i = 0; i < nres; i++)
        if (din[i] != TN_NOVAR) in[k++] = din[i];
    tn_i_inline(b, e->result[0], in, out);
    k = n;
    for (uint32_t j = 0; j < n && !b->failed; j++)
        if (e->flags[j]) rhs[j] = tn_i_sum(b, rhs[j], tn_i_op1(b, TN_P_neg, out[k++]));
}

static void jvp_solve(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const uint32_t n = unknowns(r->p), nres = r->nin - n;
    const size_t room = 4 * (size_t)r->nin + 2 * (size_t)n;
    tn_i_var *in = tn_i_alloc_array(b->ctx, room, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    tn_i_var *rhs = in + nres;
    bool some = false;
    memcpy(in, din, r->nin * sizeof *in);
    less_moved(r, din, in + r->nin, rhs);
    memcpy(in, r->in, nres * sizeof *in);
    for (uint32_t j = 0; j < n; j++) some |= rhs[j] != TN_NOVAR;
    for (uint32_t j = 0; j < n && some; j++)
        if (rhs[j] == TN_NOVAR) rhs[j] = tn_i_zeros(b, r->in_type[nres + j]);
    tn_i_param p[PARAMS];
    memcpy(p, r->p, sizeof p);
    if (some && !b->failed && (p[SOLVE].u.fn = first_outputs(r, r->p[SOLVE].u.fn, n)) != NULL) {
        const tn_i_var first = tn_i_emit(b, r->e->prim, p, r->nin, in);
        for (uint32_t j = 0; j < n; j++) dout[j] = first == TN_NOVAR ? first : first + j;
    }
    tn_i_free(b->ctx, in, room * sizeof *in);
}

/* matvec, solve and transpose_solve of the transposed system; false after an error. */
static bool turn(tn_i_rule *r, tn_i_param *p) {
    memcpy(p, r->p, PARAMS * sizeof *p);
    if (symmetric(r->p)) return true;
    if (p[TRANSPOSE_SOLVE].kind == TN_K_NONE) {
        tn_i_rule_fail(r, TN_ERULE, -1,
                       "reverse mode solves with the transposed matrix, and no transpose_solve was given");
        return false;
    }
    const tn_i_memo_entry *e = tn_i_nested_transpose_linear(r, r->p[MATVEC].u.fn);
    if (!e) return false;
    p[MATVEC].u.fn = e->result[0];
    p[SOLVE] = r->p[TRANSPOSE_SOLVE];
    p[TRANSPOSE_SOLVE] = r->p[SOLVE];
    return true;
}

static void transpose_solve(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    const uint32_t nres = r->nin - unknowns(r->p);
    tn_i_param p[PARAMS];
    if (!turn(r, p)) return;
    tn_i_var *in = tn_i_alloc_array(b->ctx, r->nin, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    memcpy(in, r->in, nres * sizeof *in);
    for (uint32_t i = nres; i < r->nin; i++)
        in[i] = ct[i - nres] != TN_NOVAR ? ct[i - nres] : tn_i_zeros(b, r->in_type[i]);
    const tn_i_var first = tn_i_emit(b, r->e->prim, p, r->nin, in);
    for (uint32_t i = nres; i < r->nin && first != TN_NOVAR; i++) ct_in[i] = first + (i - nres);
    tn_i_free(b->ctx, in, r->nin * sizeof *in);
}

static void batch_solve(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_param p[PARAMS];
    const uint32_t n = unknowns(r->p);
    memcpy(p, r->p, sizeof p);
    tn_i_batch_programs(r, p, r->nin - n, n, batched, out, out_batched);
}

static void cost_solve(const tn_i_query *q, tn_i_cost *cost) { tn_i_cost_nested(q->p[SOLVE].u.fn, cost); }

/* ---- samples --------------------------------------------------------------------------------------------- */

typedef enum matrix { TRIANGULAR, DIAGONAL, CONSTANT, MATRICES } matrix;

/* In unknowns x and y, w x + l y = b and w y = c, where w is cosh d; l is 0, or both are numbers. */
static const tn_fn *sample_program(tn_ctx *c, const tn_type *t, int which, matrix kind) {
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    const bool given = kind != CONSTANT;
    const tn_i_var d = given ? tn_i_input(&b, t, false) : TN_NOVAR, l0 = given ? tn_i_input(&b, t, false) : TN_NOVAR;
    const tn_i_var x = tn_i_input(&b, t, which == MATVEC), y = tn_i_input(&b, t, which == MATVEC);
    const tn_i_var w = given ? tn_i_op1(&b, TN_P_cosh, d) : tn_i_number(&b, t, 2);
    const tn_i_var l = given ? l0 : tn_i_number(&b, t, 0.5);
    tn_i_var out[2];
    if (which == MATVEC) {
        out[1] = tn_i_op2(&b, TN_P_mul, w, y);
        out[0] = tn_i_op2(&b, TN_P_mul, w, x);
        if (kind != DIAGONAL) out[0] = tn_i_op2(&b, TN_P_add, out[0], tn_i_op2(&b, TN_P_mul, l, y));
    } else {
        const int last = which == SOLVE; /* the unknown that is found first */
        tn_i_var rest = last ? x : y;
        out[last] = tn_i_op2(&b, TN_P_div, last ? y : x, w);
        if (kind != DIAGONAL) rest = tn_i_op2(&b, TN_P_sub, rest, tn_i_op2(&b, TN_P_mul, l, out[last]));
        out[!last] = tn_i_op2(&b, TN_P_div, rest, w);
    }
    return tn_i_finish(&b, 2, out);
}

static bool sample_solve(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_type t;
    tn_i_sample_shape(g, &t, dtype, 0, 2);
    const matrix kind = (matrix)tn_i_pick(g, 0, MATRICES - 1);
    for (int k = 0; k < (kind == DIAGONAL ? 2 : 3); k++) {
        c->fns[k] = sample_program(c->ctx, &t, k, kind);
        if (!c->fns[k]) return false;
        c->p[k] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[k]};
    }
    if (kind == DIAGONAL) c->p[SYMMETRIC] = (tn_i_param){.kind = TN_K_BOOL, .u.i = 1};
    c->nin = kind == CONSTANT ? 2 : 4;
    for (uint32_t i = 0; i < c->nin; i++) c->in[i] = t;
    return true;
}

const tn_prim tn_prim_custom_linear_solve = {
    .id = TN_P_custom_linear_solve,
    .name = "custom_linear_solve",
    .doc =
        "x with matvec(x) = b by solve(residuals.., b..); dx = a^-1 (db - da x), and transpose_solve is its transpose",
    .nin = -1,
    .flags = TN_F_COSTLY | TN_F_RULES | TN_F_OVER,
    .dtypes = TN_WIDE_FLOATS,
    .params = specs,
    .type = type_solve,
    .linearity = linearity,
    .jvp = jvp_solve,
    .transpose = transpose_solve,
    .batch = batch_solve,
    .body = 1 + SOLVE,
    .cost = cost_solve,
    .jvp_bound = 6,
    .transpose_bound = 3,
    .sample = sample_solve,
};
