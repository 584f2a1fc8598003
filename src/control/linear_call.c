/* linear_call: a linear program with the user's own transpose; `one_way`: a program that is linear by its author's
 * word, and whose transpose nobody has.  That one may stand between transformations, `turned`, but not run; nor has a
 * one-way call a derivative in its residuals. */
#include "control/linear_call.h"

#include "control/nested.h"
#include "jvp/jvp.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <string.h>

enum { F, FT, ONE_WAY, TURNED };

static const tn_i_spec specs[] = {{.name = "f", .kind = TN_K_FN},
                                  {.name = "ft", .kind = TN_K_FN},
                                  {.name = "one_way", .kind = TN_K_STR, .otherwise = "none: both ways"},
                                  {.name = "turned", .kind = TN_K_BOOL, .otherwise = "False"},
                                  {0}};

static bool one_way(const tn_i_param *p) { return p[ONE_WAY].kind != TN_K_NONE; }
static bool turned(const tn_i_param *p) { return p[TURNED].kind != TN_K_NONE && p[TURNED].u.i; }
static const char *unrunnable(const tn_i_param *p) { return one_way(p) && turned(p) ? p[ONE_WAY].u.str : NULL; }

/* Operands in front that are no linear ones. */
static uint32_t residuals(const tn_i_param *p) { return p[F].u.fn->nin - p[FT].u.fn->nout; }

static bool types_equal(const tn_fn *a, uint32_t from, const tn_fn *b, const char *what, tn_i_query *q) {
    uint32_t n = a->nin - from;
    if (a->nin < from || b->nout != n)
        return tn_i_type_fail(q, -1, "%s gives %u outputs, should give %u", what, (unsigned)b->nout, (unsigned)n);
    for (uint32_t i = 0; i < n; i++)
        if (!tn_i_type_same(a->val[from + i].type, b->val[b->out[i]].type))
            return tn_i_type_fail(q, -1, "%s's output %u should have the type of the other's linear input %u", what,
                                  (unsigned)i, (unsigned)i);
    return true;
}

static bool type_linear_call(tn_i_query *q) {
    const tn_fn *f = q->p[F].u.fn, *ft = q->p[FT].u.fn;
    if (!tn_i_type_nested_inputs(q, f, "f")) return false;
    if (!one_way(q->p) && (f->nlin == 0 || ft->nlin == 0))
        return tn_i_type_fail(q, -1, "f and ft need linear inputs (after `|`)");
    if (!one_way(q->p) && turned(q->p)) return tn_i_type_fail(q, -1, "only what is one_way is turned");
    if (f->effect || ft->effect) return tn_i_type_fail(q, -1, "f and ft may not have effects (print, assert)");
    if (one_way(q->p) && (f->nlin || ft->nlin || f->nin < ft->nout || ft->nin != f->nin - ft->nout + f->nout))
        return tn_i_type_fail(q, -1, "of a one-way call f and ft are ordinary programs on the same residuals");
    uint32_t nres = one_way(q->p) ? residuals(q->p) : f->nin - f->nlin;
    if (!one_way(q->p) && ft->nin - ft->nlin != nres)
        return tn_i_type_fail(q, -1, "ft takes %u residuals, f takes %u", (unsigned)(ft->nin - ft->nlin),
                              (unsigned)nres);
    for (uint32_t k = 0; k < nres; k++)
        if (!tn_i_type_same(f->val[k].type, ft->val[k].type))
            return tn_i_type_fail(q, (int)k, "ft takes another type for this residual");
    for (uint32_t i = nres; i < f->nin; i++)
        if (!tn_i_is_float(f->val[i].type->dtype)) return tn_i_type_fail(q, (int)i, "linear inputs are floats");
    return types_equal(ft, nres, f, "f", q) && types_equal(f, nres, ft, "ft", q) && tn_i_type_nested_outputs(q, f);
}

static bool linearity(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    return tn_i_linear_from(f, e, residuals(e->params->v), in, out);
}

/* In the linear operands: the same call on tangents; in the residuals: f's own derivative. */
static void jvp_linear_call(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_fn *f = r->p[F].u.fn;
    const uint32_t nres = residuals(r->p);
    bool residual = false, linear = false;
    for (uint32_t i = 0; i < r->nin; i++) *(i < nres ? &residual : &linear) |= din[i] != TN_NOVAR;
    if (residual && one_way(r->p)) {
        tn_i_rule_fail(r, TN_ERULE, -1, "%s", r->p[ONE_WAY].u.str);
        return;
    }
    size_t room = 3 * (size_t)r->nin + 2 * (size_t)r->nout;
    tn_i_var *in = tn_i_alloc_array(b->ctx, room, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    tn_i_var *masked = in + 2 * r->nin, *out = in + 3 * r->nin;
    memcpy(in, r->in, r->nin * sizeof *in);
    if (linear) {
        for (uint32_t i = nres; i < r->nin; i++) in[i] = din[i] != TN_NOVAR ? din[i] : tn_i_zeros(b, r->in_type[i]);
        tn_i_var first = tn_i_emit_like(b, r->e, in);
        for (uint32_t j = 0; j < r->nout; j++) dout[j] = first == TN_NOVAR ? first : first + j;
    }
    if (residual) {
        for (uint32_t i = 0; i < r->nin; i++) masked[i] = i < nres ? din[i] : TN_NOVAR;
        const tn_i_memo_entry *e = tn_i_nested_jvp(r, f, masked);
        uint32_t n = r->nin;
        memcpy(in, r->in, r->nin * sizeof *in);
        for (uint32_t i = 0; i < nres; i++)
            if (din[i] != TN_NOVAR) in[n++] = din[i];
        n = r->nout;
        if (e) tn_i_inline(b, e->result[0], in, out);
        for (uint32_t j = 0; e && j < r->nout; j++)
            if (e->flags[j]) dout[j] = tn_i_sum(b, dout[j], out[n++]);
    }
    tn_i_free(b->ctx, in, room * sizeof *in);
}

/* The equation the other way. */
static tn_i_var emit_turned(tn_i_rule *r, const tn_i_var *in) {
    tn_i_param p[4] = {r->p[FT], r->p[F], r->p[ONE_WAY], {0}};
    if (one_way(r->p) && !turned(r->p)) p[TURNED] = (tn_i_param){.kind = TN_K_BOOL, .u.i = 1};
    return tn_i_emit(r->b, r->e->prim, p, p[F].u.fn->nin, in);
}

static void transpose_linear_call(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    const tn_fn *ft = r->p[FT].u.fn;
    const uint32_t nres = residuals(r->p);
    tn_i_var *in = tn_i_alloc_array(b->ctx, ft->nin, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    memcpy(in, r->in, nres * sizeof *in);
    for (uint32_t j = 0; j < r->nout; j++) in[nres + j] = ct[j] != TN_NOVAR ? ct[j] : tn_i_zeros(b, r->out_type[j]);
    tn_i_var first = emit_turned(r, in);
    for (uint32_t i = nres; i < r->nin && first != TN_NOVAR; i++) ct_in[i] = first + (i - nres);
    tn_i_free(b->ctx, in, ft->nin * sizeof *in);
}

/* Residuals are batched where they are; linear operands and outputs always. */
static void batch_linear_call(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_param p[4];
    const uint32_t nres = residuals(r->p);
    memcpy(p, r->p, sizeof p);
    tn_i_batch_programs(r, p, nres, r->nin - nres, batched, out, out_batched);
}

static void cost_linear_call(const tn_i_query *q, tn_i_cost *cost) { tn_i_cost_nested(q->p[F].u.fn, cost); }

/* f: (r | x) -> r*x and its transpose (r | ct) -> r*ct, or both without residuals: (| x) -> 3 x. */
static bool sample_linear_call(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_type t;
    tn_i_sample_shape(g, &t, dtype, 0, 3);
    const bool alone = tn_i_pick(g, 0, 3) == 0;
    for (int k = 0; k < 2; k++) {
        tn_i_builder b;
        tn_i_builder_init(&b, c->ctx);
        tn_i_var s = alone ? TN_NOVAR : tn_i_input(&b, &t, false), x = tn_i_input(&b, &t, true);
        if (alone) s = tn_i_number(&b, &t, 3);
        tn_i_var out = tn_i_op2(&b, TN_P_mul, s, x);
        c->fns[k] = tn_i_finish(&b, 1, &out);
        if (!c->fns[k]) return false;
        c->p[k] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[k]};
    }
    c->nin = alone ? 1 : 2;
    c->in[0] = c->in[1] = t;
    return true;
}

const tn_prim tn_prim_linear_call = {
    .id = TN_P_linear_call,
    .name = "linear_call",
    .doc = "a linear program f with the user's transpose ft: <f u, w> = <u, ft w>; one_way: linear by its word, and "
           "only f can run",
    .nin = -1,
    .flags = TN_F_RULES | TN_F_OVER,
    .dtypes = TN_FLOATS,
    .params = specs,
    .type = type_linear_call,
    .linearity = linearity,
    .jvp = jvp_linear_call,
    .transpose = transpose_linear_call,
    .batch = batch_linear_call,
    .body = 1 + F,
    .unrunnable = unrunnable,
    .cost = cost_linear_call,
    .jvp_bound = 6,
    .transpose_bound = 3,
    .sample = sample_linear_call,
};
