/* cond: runs one of several programs, chosen by an index (docs/loops.md).  Each rule transforms every branch, and gives
 * all of them one signature again: what one branch needs or gives, the others ignore or give as zeros. */
#include "control/vary.h"
#include "control/cond.h"
#include "ir/depends.h"
#include "linearize/prune.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <string.h>

static const tn_i_spec specs[] = {{.name = "branches", .kind = TN_K_FNS}, {0}};

tn_i_var tn_i_cond_emit(tn_i_rule *r, uint32_t n, const tn_fn *const *f, const tn_i_var *in) {
    const tn_i_param p = {.kind = TN_K_FNS, .n = n, .u.fns = f};
    return r->b->failed ? TN_NOVAR : tn_i_emit(r->b, r->e->prim, &p, 1 + f[0]->nin, in);
}

/* ---- types --------------------------------------------------------------------- */

static bool type_index(tn_i_query *q, uint32_t n) {
    char text[TN_I_TYPE_TEXT];
    if (q->nin == 0) return tn_i_type_fail(q, -1, "needs an index");
    const tn_type *t = q->in[0];
    if (t->rank || (t->dtype != TN_I32 && t->dtype != TN_BOOL))
        return tn_i_type_fail(q, 0, "the index is an i32[] or a bool[], not %s", tn_i_type_text(text, t));
    if (t->dtype == TN_BOOL && n != 2)
        return tn_i_type_fail(q, 0, "a bool chooses between two branches, not %u", (unsigned)n);
    return true;
}

static bool type_branch(tn_i_query *q, const tn_fn *first, const tn_fn *f, unsigned k) {
    char text[TN_I_TYPE_TEXT], other[TN_I_TYPE_TEXT];
    if (f->nin != q->nin - 1)
        return tn_i_type_fail(q, -1, "branch %u takes %u operands behind the index, not %u", k, (unsigned)f->nin,
                              (unsigned)q->nin - 1);
    for (uint32_t i = 0; i < f->nin; i++)
        if (!tn_i_fits(q, 1 + i, f->val[i].type))
            return tn_i_type_fail(q, (int)i + 1, "branch %u takes %s", k, tn_i_type_text(text, f->val[i].type));
    if (f->nout != first->nout)
        return tn_i_type_fail(q, -1, "branch %u gives %u outputs, branch 0 %u", k, (unsigned)f->nout,
                              (unsigned)first->nout);
    for (uint32_t j = 0; j < f->nout; j++)
        if (!tn_i_type_same(f->val[f->out[j]].type, first->val[first->out[j]].type))
            return tn_i_type_fail(q, -1, "output %u of branch %u is %s, of branch 0 %s", (unsigned)j, k,
                                  tn_i_type_text(text, f->val[f->out[j]].type),
                                  tn_i_type_text(other, first->val[first->out[j]].type));
    return true;
}

static bool type_cond(tn_i_query *q) {
    const tn_i_param *p = &q->p[TN_COND_BRANCHES];
    if (p->n == 0) return tn_i_type_fail(q, -1, "needs at least one branch");
    if (!type_index(q, p->n)) return false;
    for (uint32_t k = 0; k < p->n; k++)
        if (!type_branch(q, p->u.fns[0], p->u.fns[k], (unsigned)k) ||
            !tn_i_decided_over(q, &(tn_i_decided){p->u.fns[k], 0, "the index", "branch", "part"}, tn_i_over(q->in[0])))
            return false;
    return tn_i_type_nested_outputs(q, p->u.fns[0]);
}

/* ---- facts ---------------------------------------------------------------------- */

/* What an output is in one branch, and so far. */
static bool joined(uint8_t so_far, uint8_t here, uint8_t *both) {
    *both = so_far == TN_ZERO ? here : so_far;
    return so_far == here || so_far == TN_ZERO || here == TN_ZERO;
}

static bool linearity_cond(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    const tn_i_param *p = &e->params->v[TN_COND_BRANCHES];
    uint8_t *here = tn_i_alloc(f->ctx, e->nout);
    bool ok = here != NULL;
    if (ok && in[0] == TN_LINEAR) {
        (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc, "cond: the index depends on a linear input");
        ok = false;
    }
    for (uint32_t k = 0; ok && k < p->n; k++) {
        ok = tn_i_check_linear(p->u.fns[k], in + 1, k ? here : out);
        for (uint32_t j = 0; ok && k && j < e->nout; j++) {
            ok = joined(out[j], here[j], &out[j]);
            if (!ok)
                (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc,
                                "cond: output %u is linear in some of the branches only: branch %u differs from those "
                                "before it",
                                (unsigned)j, (unsigned)k);
        }
    }
    tn_i_free(f->ctx, here, e->nout);
    return ok;
}

static bool depends_cond(tn_i_memo *m, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    const tn_i_param *p = &e->params->v[TN_COND_BRANCHES];
    memset(out, in[0], e->nout);
    if (in[0]) return true;
    uint8_t *here = tn_i_alloc(m->ctx, e->nout);
    bool ok = here != NULL;
    for (uint32_t k = 0; ok && k < p->n; k++) {
        ok = tn_i_depends_through(m, p->u.fns[k], in + 1, here);
        for (uint32_t j = 0; ok && j < e->nout; j++) out[j] |= here[j];
    }
    tn_i_free(m->ctx, here, e->nout);
    return ok;
}

static bool effect_cond(const tn_i_param *p) {
    for (uint32_t k = 0; k < p[TN_COND_BRANCHES].n; k++)
        if (p[TN_COND_BRANCHES].u.fns[k]->effect) return true;
    return false;
}

/* ---- a known index ----------------------------------------------------------------- */

/* Whether the branch that index names is known: *k. */
static bool is_known(const tn_i_builder *b, uint32_t n, tn_i_var index, uint32_t *k) {
    double x = 0;
    if (n > 1 && !tn_i_known_f64(b, index, &x)) return false;
    *k = x < 0 ? 0 : x >= n ? n - 1 : (uint32_t)x;
    return true;
}

static tn_i_var emit_call(tn_i_builder *b, const tn_fn *f, const tn_i_var *in) {
    const char *name = tn_i_string(b->ctx, "branch", 6);
    if (!name) {
        b->failed = true;
        return TN_NOVAR;
    }
    const tn_i_param p[2] = {{.kind = TN_K_STR, .u.str = name}, {.kind = TN_K_FN, .u.fn = f}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_call), p, f->nin, in);
}

/* The branch itself, which yields all outputs as one equation does.  Not among tangents: one that is zero in this
 * branch alone would stop being one there, and jvp has looked at the index before. */
static tn_i_var simplify_cond(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                              const tn_type *out) {
    uint32_t k;
    (void)out;
    if (!is_known(b, p[TN_COND_BRANCHES].n, in[0], &k)) return TN_NOVAR;
    for (uint32_t i = 1; i < nin; i++)
        if (b->val[in[i]].linear) return TN_NOVAR;
    return emit_call(b, p[TN_COND_BRANCHES].u.fns[k], in + 1);
}

/* ---- jvp ------------------------------------------------------------------------- */

/* All branches' derivatives with the tangents that any of them has; active: which. */
static bool make_jvp(tn_i_rule *r, const tn_i_var *din, tn_i_made *m, bool *active) {
    tn_ctx *c = r->b->ctx;
    const tn_i_memo_entry **e = tn_i_alloc_array(c, m->n, sizeof *e);
    uint32_t *from = tn_i_alloc_array(c, 2 * (size_t)r->nin, sizeof *from),
             *out = tn_i_alloc_array(c, 2 * (size_t)r->nout, sizeof *out), n;
    const tn_type **types = tn_i_alloc_array(c, 2 * ((size_t)r->nin + r->nout), sizeof *types);
    bool *linear = tn_i_alloc_array(c, 2 * (size_t)r->nin, sizeof *linear), ok = e && from && out && types && linear;
    for (uint32_t k = 0; ok && k < m->n; k++) {
        ok = (e[k] = tn_i_nested_jvp(r, tn_i_branch(r, k), din + 1)) != NULL;
        for (uint32_t j = 0; ok && j < r->nout; j++) active[j] |= e[k]->flags[j] != 0;
    }
    for (uint32_t k = 0; ok && k < m->n; k++) {
        const tn_fn *g = e[k]->result[0];
        tn_i_arrangement w = {.nin = g->nin, .in = types, .linear = linear, .mixed = true, .from = from, .out = out};
        w.out_type = types + 2 * (size_t)r->nin;
        for (uint32_t i = 0; i < g->nin; i++) {
            types[i] = g->val[i].type;
            linear[i] = g->val[i].linear != 0;
            from[i] = i;
        }
        for (w.nout = 0; w.nout < r->nout; w.nout++) out[w.nout] = w.nout;
        n = r->nout;
        for (uint32_t j = 0; j < r->nout; j++) {
            if (!active[j]) continue;
            types[2 * (size_t)r->nin + w.nout] = r->out_type[j];
            out[w.nout++] = e[k]->flags[j] ? n++ : TN_NOVAR;
        }
        w.bare = w.nout;
        ok = (m->f[k] = tn_i_arrange(g, &w)) != NULL;
    }
    tn_i_free(c, (void *)e, m->n * sizeof *e);
    tn_i_free(c, from, 2 * (size_t)r->nin * sizeof *from);
    tn_i_free(c, out, 2 * (size_t)r->nout * sizeof *out);
    tn_i_free(c, (void *)types, 2 * ((size_t)r->nin + r->nout) * sizeof *types);
    tn_i_free(c, linear, 2 * (size_t)r->nin * sizeof *linear);
    return ok;
}

/* out: outputs, then tangents of those that are active. */
static void take_jvp(tn_i_rule *r, tn_i_var out, const unsigned char *active, tn_i_var *dout) {
    uint32_t n = r->nout;
    for (uint32_t j = 0; j < r->nout && out != TN_NOVAR; j++) {
        r->out[j] = out + j;
        dout[j] = active[j] ? out + n++ : TN_NOVAR;
    }
}

static bool jvp_unknown(tn_i_rule *r, const tn_i_var *din, const tn_i_var *in, tn_i_var *dout) {
    static const char kind;
    tn_ctx *c = r->b->ctx;
    tn_i_made m = {0};
    bool *wrt = tn_i_alloc_array(c, r->nin, sizeof *wrt), *active = tn_i_alloc_array(c, r->nout, sizeof *active);
    bool ok = wrt && active;
    for (uint32_t i = 1; ok && i < r->nin; i++) wrt[i] = din[i] != TN_NOVAR;
    ok = ok && tn_i_made_begin(&m, r, &kind, wrt, r->nin * sizeof *wrt);
    if (ok && !m.found)
        ok = make_jvp(r, din, &m, active) && tn_i_made_keep(&m, r, &kind, active, r->nout * sizeof *active);
    if (ok) take_jvp(r, tn_i_cond_emit(r, m.n, m.f, in), m.flags, dout);
    if (m.ctx) tn_i_made_end(&m);
    tn_i_free(c, wrt, r->nin * sizeof *wrt);
    tn_i_free(c, active, r->nout * sizeof *active);
    return ok;
}

static void jvp_cond(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    tn_i_var *in = tn_i_alloc_array(b->ctx, 2 * (size_t)r->nin, sizeof *in);
    uint32_t n = r->nin, k;
    bool ok = in != NULL;
    if (ok) memcpy(in, r->in, r->nin * sizeof *in);
    for (uint32_t i = 1; ok && i < r->nin; i++)
        if (din[i] != TN_NOVAR) in[n++] = din[i];
    if (ok && is_known(b, tn_i_branch_count(r), r->in[0], &k)) {
        const tn_i_memo_entry *e = tn_i_nested_jvp(r, tn_i_branch(r, k), din + 1);
        if (e) take_jvp(r, emit_call(b, e->result[0], in + 1), e->flags, dout);
    } else
        ok = ok && jvp_unknown(r, din, in, dout);
    if (!ok) b->failed = true;
    tn_i_free(b->ctx, in, 2 * (size_t)r->nin * sizeof *in);
}

/* ---- transpose ------------------------------------------------------------------------ */

static void transpose_cond(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    const uint32_t branches = tn_i_branch_count(r);
    const size_t room = (size_t)r->nin + r->nout;
    bool *linear = tn_i_alloc_array(b->ctx, r->nin, sizeof *linear);
    tn_i_var *in = tn_i_alloc_array(b->ctx, room, sizeof *in), out = TN_NOVAR;
    const tn_fn **f = tn_i_alloc_array(b->ctx, branches, sizeof *f);
    uint32_t n = 0;
    bool ok = linear && in && f;
    for (uint32_t i = 0; ok && i < r->nin; i++) {
        linear[i] = r->in[i] == TN_NOVAR;
        if (!linear[i]) in[n++] = r->in[i];
    }
    for (uint32_t k = 0; ok && k < branches; k++) {
        const tn_i_memo_entry *e = tn_i_nested_transpose(r, tn_i_branch(r, k), linear + 1, r->in + 1);
        ok = e != NULL;
        if (ok) f[k] = e->result[0];
    }
    for (uint32_t j = 0; ok && j < r->nout; j++) in[n++] = ct[j] != TN_NOVAR ? ct[j] : tn_i_zeros(b, r->out_type[j]);
    if (ok)
        out = tn_i_cond_emit(r, branches, f, in);
    else
        b->failed = true;
    for (uint32_t i = 0; i < r->nin && out != TN_NOVAR; i++)
        if (linear[i]) ct_in[i] = out++;
    tn_i_free(b->ctx, linear, r->nin * sizeof *linear);
    tn_i_free(b->ctx, in, room * sizeof *in);
    tn_i_free(b->ctx, (void *)f, branches * sizeof *f);
}

/* ---- prune -------------------------------------------------------------------------------- */

static bool needs_cond(tn_i_rule *r, const bool *used, bool *operand) {
    operand[0] = true;
    for (uint32_t k = 0; k < tn_i_branch_count(r); k++) {
        const tn_i_memo_entry *e = tn_i_nested_prune(r, tn_i_branch(r, k), used);
        if (!e) return false;
        const uint32_t *from = tn_i_pruned_inputs(e, r->nout);
        for (uint32_t i = 1; i < r->nin; i++) operand[i] |= from[i - 1] != TN_NOVAR;
    }
    return true;
}

/* Outputs that are one value in every branch are computed once: to[j] is the place of output j among those kept. */
static void number_outputs(const tn_i_rule *r, const bool *used, bool *keep, uint32_t *to) {
    uint32_t n = 0;
    for (uint32_t j = 0; j < r->nout; j++) {
        uint32_t same = 0;
        to[j] = TN_NOVAR;
        keep[j] = false;
        if (!used[j]) continue;
        for (bool equal = false; same < j; same++) {
            if (!keep[same]) continue;
            equal = true;
            for (uint32_t k = 0; equal && k < tn_i_branch_count(r); k++)
                equal = tn_i_branch(r, k)->out[same] == tn_i_branch(r, k)->out[j];
            if (equal) break;
        }
        keep[j] = same == j;
        to[j] = keep[j] ? n++ : to[same];
    }
}

/* numbers: per output its new place, then per operand behind the index; TN_NOVAR where it is gone. */
static bool make_pruned(tn_i_rule *r, const bool *keep, tn_i_made *m, uint32_t *numbers) {
    tn_ctx *c = r->b->ctx;
    const uint32_t nin = r->nin - 1;
    uint32_t *operand = numbers + r->nout, n = 0;
    bool *needed = tn_i_alloc_array(c, r->nin, sizeof *needed), *linear = tn_i_alloc_array(c, nin, sizeof *linear);
    uint32_t *from = tn_i_alloc_array(c, nin, sizeof *from), *out = tn_i_alloc_array(c, r->nout, sizeof *out);
    const tn_type **types = tn_i_alloc_array(c, nin, sizeof *types);
    bool ok = needed && linear && from && out && types && needs_cond(r, keep, needed);
    for (uint32_t i = 0; ok && i < nin; i++) {
        operand[i] = needed[1 + i] ? n : TN_NOVAR;
        if (needed[1 + i]) types[n++] = r->in_type[1 + i];
    }
    for (uint32_t k = 0; ok && k < m->n; k++) {
        const tn_fn *f = tn_i_branch(r, k);
        const tn_i_memo_entry *e = tn_i_nested_prune(r, f, keep);
        if (!(ok = e != NULL)) break;
        const uint32_t *to = tn_i_pruned_outputs(e), *in = tn_i_pruned_inputs(e, r->nout);
        tn_i_arrangement w = {.nin = n, .in = types, .linear = linear, .mixed = f->mixed, .from = from, .out = out};
        for (uint32_t i = 0; i < nin; i++) {
            if (operand[i] != TN_NOVAR) linear[operand[i]] = (f->mixed || f->nlin) && f->val[i].linear;
            if (in[i] != TN_NOVAR) from[in[i]] = operand[i];
        }
        for (uint32_t j = 0; j < r->nout; j++)
            if (keep[j]) out[w.nout++] = to[j];
        w.bare = w.nout;
        ok = (m->f[k] = tn_i_arrange(e->result[0], &w)) != NULL;
    }
    tn_i_free(c, needed, r->nin * sizeof *needed);
    tn_i_free(c, linear, nin * sizeof *linear);
    tn_i_free(c, from, nin * sizeof *from);
    tn_i_free(c, out, r->nout * sizeof *out);
    tn_i_free(c, (void *)types, nin * sizeof *types);
    return ok;
}

static void emit_pruned(tn_i_rule *r, const tn_i_made *m, tn_i_var *in, tn_i_var *out) {
    const uint32_t *to = (const uint32_t *)(const void *)m->flags, *operand = to + r->nout;
    in[0] = r->in[0];
    for (uint32_t i = 1; i < r->nin; i++)
        if (operand[i - 1] != TN_NOVAR) in[1 + operand[i - 1]] = r->in[i];
    const tn_i_var first = tn_i_cond_emit(r, m->n, m->f, in);
    for (uint32_t j = 0; j < r->nout && first != TN_NOVAR; j++) out[j] = to[j] == TN_NOVAR ? to[j] : first + to[j];
}

static void prune_cond(tn_i_rule *r, const bool *used, tn_i_var *out) {
    static const char kind, quiet_kind;
    const void *which = r->quiet ? &quiet_kind : &kind;
    tn_ctx *c = r->b->ctx;
    const size_t n = (size_t)r->nout + r->nin - 1;
    tn_i_made m = {0};
    bool *keep = tn_i_alloc_array(c, r->nout, sizeof *keep);
    uint32_t *numbers = tn_i_alloc_array(c, n, sizeof *numbers);
    tn_i_var *in = tn_i_alloc_array(c, r->nin, sizeof *in);
    bool ok = keep && numbers && in && tn_i_made_begin(&m, r, which, used, r->nout * sizeof *used);
    if (ok && !m.found) {
        number_outputs(r, used, keep, numbers);
        ok = make_pruned(r, keep, &m, numbers) && tn_i_made_keep(&m, r, which, numbers, n * sizeof *numbers);
    }
    if (ok)
        emit_pruned(r, &m, in, out);
    else
        r->b->failed = true;
    if (m.ctx) tn_i_made_end(&m);
    tn_i_free(c, keep, r->nout * sizeof *keep);
    tn_i_free(c, numbers, n * sizeof *numbers);
    tn_i_free(c, in, r->nin * sizeof *in);
}

/* ---- test cases ------------------------------------------------------------------------------ */

/* Branch k of x, y: each reads others of them, or both. */
static void sample_linear(tn_i_builder *b, int64_t k, tn_i_var x, tn_i_var y, tn_i_var *out) {
    out[0] = k == 0 ? tn_i_op2(b, TN_P_add, x, y) : k == 1 ? tn_i_op1(b, TN_P_neg, x) : y;
    out[1] = k == 0 ? tn_i_op2(b, TN_P_mul, y, tn_i_number_like(b, y, 3)) : k == 1 ? x : tn_i_op2(b, TN_P_sub, x, y);
    out[2] = k == 1 ? y : x;
}

/* A product in one, and what is linear or unused in the others. */
static const tn_fn *sample_branch(tn_ctx *c, const tn_type *t, int64_t k, bool linear) {
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    const tn_i_var x = tn_i_input(&b, t, false), y = tn_i_input(&b, t, false);
    tn_i_var out[3];
    if (linear) {
        sample_linear(&b, k, x, y, out);
        return tn_i_finish(&b, 3, out);
    }
    out[0] = k == 0 ? tn_i_op2(&b, TN_P_mul, x, y) : k == 1 ? tn_i_op1(&b, TN_P_sin, x) : tn_i_number_like(&b, x, 0.5);
    out[1] = k == 0 ? y : k == 1 ? tn_i_op2(&b, TN_P_mul, out[0], y) : tn_i_op1(&b, TN_P_neg, y);
    return tn_i_finish(&b, 2, out);
}

static bool sample_cond(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_type t;
    const uint32_t n = (uint32_t)tn_i_pick(g, 2, 3);
    const bool linear = tn_i_pick(g, 0, 2) == 0;
    tn_i_sample_shape(g, &t, dtype, 0, 3);
    for (uint32_t k = 0; k < n; k++)
        if (!(c->fns[k] = sample_branch(c->ctx, &t, k, linear))) return false;
    c->nin = 3;
    c->in[0] = tn_type_of(n == 2 && tn_i_pick(g, 0, 1) ? TN_BOOL : TN_I32, 0, NULL);
    c->in[1] = c->in[2] = t;
    if (c->in[0].dtype == TN_I32) c->domain[0] = (tn_i_domain){.lo = -1, .hi = n};
    c->p[TN_COND_BRANCHES] = (tn_i_param){.kind = TN_K_FNS, .n = n, .u.fns = c->fns};
    return true;
}

const tn_prim tn_prim_cond = {
    .id = TN_P_cond,
    .name = "cond",
    .doc = "runs the branch that the index names: i32, clamped; of two branches a bool runs the second when true",
    .nin = -1,
    .flags = TN_F_OWN_PRIMAL | TN_F_LOOP | TN_F_STEPS | TN_F_OVER,
    .strip_operand = 1,
    .dtypes = TN_FLOATS,
    .params = specs,
    .type = type_cond,
    .linearity = linearity_cond,
    .simplify = simplify_cond,
    .jvp = jvp_cond,
    .transpose = transpose_cond,
    .batch = tn_i_cond_batch,
    .split = tn_i_cond_split,
    .depends = depends_cond,
    .needs = needs_cond,
    .prune = prune_cond,
    .effect = effect_cond,
    .jvp_bound = 5,
    .transpose_bound = 5,
    .sample = sample_cond,
};
