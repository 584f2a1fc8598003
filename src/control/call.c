/* call, checkpoint and fused: a nested program run in place.  Shared programs are transformed once per
 * walk.  A checkpoint is a call whose policy is its own, whatever the boundary's: its pieces under
 * every transformation are checkpoints with the same policy.  A fused is a call whose equations the executor
 * computes in one set of loops (opt/fuse.c), and makes by itself. */
#include "checkpoint/budget.h"
#include "checkpoint/policies.h"
#include "control/nested.h"
#include "linearize/prune.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <string.h>

enum { NAME, PROGRAM, POLICY };

static const tn_i_spec specs[] = {{.name = "name", .kind = TN_K_STR}, {.name = "program", .kind = TN_K_FN}, {0}};
static const tn_i_spec checkpoint_specs[] = {{.name = "name", .kind = TN_K_STR, .otherwise = "\"\""},
                                             {.name = "program", .kind = TN_K_FN},
                                             {.name = "policy", .kind = TN_K_STR, .otherwise = "\"nothing_saveable\""},
                                             {0}};

/* As JAX prints regions: without a name, and without a policy where nothing is saved. */
static bool bind_checkpoint(tn_ctx *c, tn_i_param *p) {
    (void)c;
    if (p[NAME].kind == TN_K_NONE) p[NAME] = (tn_i_param){.kind = TN_K_STR, .u.str = ""};
    if (p[POLICY].kind == TN_K_NONE) p[POLICY] = (tn_i_param){.kind = TN_K_STR, .u.str = "nothing_saveable"};
    return true;
}

static bool type_call(tn_i_query *q) {
    const tn_fn *f = q->p[PROGRAM].u.fn;
    return tn_i_type_nested_inputs(q, f, "the program") && tn_i_type_nested_outputs(q, f);
}

static bool linearity_call(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    (void)f;
    return tn_i_check_linear(e->params->v[PROGRAM].u.fn, in, out);
}

/* The rule's equation with another program: a checkpoint keeps its policy. */
static tn_i_var emit_call(tn_i_rule *r, const char *what, const tn_fn *f, const tn_i_var *in) {
    const char *name = what ? tn_i_wrapped_name(r->b, what, r->p[NAME].u.str) : r->p[NAME].u.str;
    const tn_i_param p[3] = {{.kind = TN_K_STR, .u.str = name},
                             {.kind = TN_K_FN, .u.fn = f},
                             r->e->prim->id == TN_P_checkpoint ? r->p[POLICY] : (tn_i_param){.kind = TN_K_NONE}};
    return tn_i_emit(r->b, r->e->prim, p, f->nin, in);
}

tn_i_var tn_i_called(tn_i_builder *b, const tn_fn *f, const tn_i_var *in) {
    const tn_i_param p[2] = {{.kind = TN_K_STR, .u.str = f->name}, {.kind = TN_K_FN, .u.fn = f}};
    return tn_i_emit(b, &tn_prim_call, p, f->nin, in);
}

static void jvp_call(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_memo_entry *e = tn_i_nested_jvp(r, r->p[PROGRAM].u.fn, din);
    if (!e) return;
    const tn_fn *g = e->result[0];
    tn_i_var *in = tn_i_alloc_array(b->ctx, g->nin, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    uint32_t n = r->nin;
    memcpy(in, r->in, r->nin * sizeof *in);
    for (uint32_t i = 0; i < r->nin; i++)
        if (din[i] != TN_NOVAR) in[n++] = din[i];
    tn_i_var out = emit_call(r, "jvp", g, in);
    tn_i_free(b->ctx, in, g->nin * sizeof *in);
    if (out == TN_NOVAR) return;
    n = r->nout;
    for (uint32_t j = 0; j < r->nout; j++) {
        r->out[j] = out + j;
        dout[j] = e->flags[j] ? out + n++ : TN_NOVAR;
    }
}

static void transpose_call(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    bool *linear = tn_i_alloc_array(b->ctx, r->nin, sizeof *linear);
    tn_i_var *in = tn_i_alloc_array(b->ctx, (size_t)r->nin + r->nout, sizeof *in);
    const tn_i_memo_entry *e = NULL;
    uint32_t n = 0;
    if (linear && in) {
        for (uint32_t i = 0; i < r->nin; i++) {
            linear[i] = r->in[i] == TN_NOVAR;
            if (!linear[i]) in[n++] = r->in[i];
        }
        e = tn_i_nested_transpose(r, r->p[PROGRAM].u.fn, linear, r->in);
    } else
        b->failed = true;
    if (e) {
        for (uint32_t j = 0; j < r->nout; j++) in[n++] = ct[j] != TN_NOVAR ? ct[j] : tn_i_zeros(b, r->out_type[j]);
        tn_i_var out[1];
        const tn_fn *t = e->result[0];
        out[0] = emit_call(r, "transpose", t, in);
        for (uint32_t i = 0, j = 0; i < r->nin && out[0] != TN_NOVAR; i++)
            if (linear[i]) ct_in[i] = out[0] + j++;
    }
    tn_i_free(b->ctx, linear, r->nin * sizeof *linear);
    tn_i_free(b->ctx, in, ((size_t)r->nin + r->nout) * sizeof *in);
}

static void batch_call(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_i_memo_entry *e = tn_i_nested_vmap(r, r->p[PROGRAM].u.fn, batched, false);
    if (!e) return;
    tn_i_var first = emit_call(r, "vmap", e->result[0], r->in);
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = first == TN_NOVAR ? first : first + j;
        out_batched[j] = e->flags[j];
    }
}

/* ---- splitting ----------------------------------------------------------------- */

/* A program is split once for each policy, those of regions and the one around them alike: the address of
 * the policy's text, which outlives the walk, tells the kinds apart. */
static const void *kind_of(const tn_i_rule *r, const tn_i_plan_by *how) {
    const bool own = r->e->prim->id == TN_P_checkpoint && !how->everywhere;
    return own ? r->p[POLICY].u.str : how->name;
}

/* flags: nres as uint32, from_input[nres], then out_unknown[nout] as bytes */
static const tn_i_memo_entry *split_body(tn_i_rule *r, const bool *unknown, const tn_i_plan_by *how) {
    const tn_fn *f = r->p[PROGRAM].u.fn;
    const void *kind = kind_of(r, how);
    const tn_i_memo_entry *e = tn_i_memo_find(r->memo, kind, f, unknown, f->nin * sizeof *unknown);
    if (e) return e;
    tn_i_parts parts;
    tn_i_plan_by own;
    if (r->e->prim->id == TN_P_checkpoint && !how->everywhere) {
        if (!tn_i_plan_of_text(r->b->ctx, r->p[POLICY].u.str, &own)) return NULL;
        own.region = true;
        own.times = how->times;
        how = &own;
    }
    if (!tn_i_partial_eval(f, unknown, NULL, false, how, r->memo, &parts)) return NULL;
    size_t at = (1 + (size_t)parts.nres) * sizeof(uint32_t), n = at + f->nout;
    unsigned char *flags = tn_i_alloc(r->b->ctx, n);
    if (flags) {
        memcpy(flags, &parts.nres, sizeof parts.nres);
        memcpy(flags + sizeof parts.nres, parts.from_input, parts.nres * sizeof *parts.from_input);
        for (uint32_t j = 0; j < f->nout; j++) flags[at + j] = parts.out_unknown[j];
        e = tn_i_memo_add(r->memo, kind, f, unknown, f->nin * sizeof *unknown, parts.known, parts.linear, flags, n);
        parts.known = parts.linear = NULL;
    }
    tn_i_free(r->b->ctx, flags, n);
    tn_i_parts_free(&parts);
    return e;
}

typedef struct room {
    tn_i_var *known, *linear;
    uint32_t nknown;
} room;

static void emit_split(tn_i_rule *r, const bool *unknown, const tn_i_memo_entry *e, room *m, tn_i_var *out) {
    const tn_fn *known = e->result[0], *linear = e->result[1];
    uint32_t nres, n = 0, from;
    memcpy(&nres, e->flags, sizeof nres);
    const unsigned char *out_unknown = e->flags + (1 + (size_t)nres) * sizeof nres;
    for (uint32_t i = 0; i < r->nin; i++)
        if (!unknown[i]) m->known[m->nknown++] = r->in[i];
    tn_i_var first = known->nout || known->effect ? emit_call(r, NULL, known, m->known) : 0;
    if (first == TN_NOVAR) return;
    for (uint32_t j = 0; j < r->nout; j++)
        if (!out_unknown[j]) out[j] = first++;
    for (uint32_t k = 0; k < nres; k++) {
        memcpy(&from, e->flags + (1 + (size_t)k) * sizeof from, sizeof from);
        m->linear[n++] = from == TN_NOVAR ? first++ : m->known[from];
    }
    for (uint32_t i = 0; i < r->nin; i++)
        if (unknown[i]) m->linear[n++] = r->in[i];
    first = linear->nout ? emit_call(r, "linear", linear, m->linear) : 0;
    for (uint32_t j = 0; j < r->nout && first != TN_NOVAR; j++)
        if (out_unknown[j]) out[j] = first++;
}

static void split_call(tn_i_rule *r, const bool *unknown, tn_i_var *out, const tn_i_plan_by *how) {
    tn_i_builder *b = r->b;
    const tn_i_memo_entry *e = split_body(r, unknown, how);
    if (!e) {
        b->failed = true;
        return;
    }
    room m = {.known = tn_i_alloc_array(b->ctx, r->nin, sizeof(tn_i_var)),
              .linear = tn_i_alloc_array(b->ctx, e->result[1]->nin, sizeof(tn_i_var))};
    if (m.known && m.linear)
        emit_split(r, unknown, e, &m, out);
    else
        b->failed = true;
    tn_i_free(b->ctx, m.known, r->nin * sizeof(tn_i_var));
    tn_i_free(b->ctx, m.linear, e->result[1]->nin * sizeof(tn_i_var));
}

static void prune_call(tn_i_rule *r, const bool *used, tn_i_var *out) {
    const tn_i_memo_entry *e = tn_i_nested_prune(r, r->p[PROGRAM].u.fn, used);
    tn_i_var *in = tn_i_alloc_array(r->b->ctx, r->nin, sizeof *in), first = TN_NOVAR;
    if (e && in) {
        const uint32_t *to = tn_i_pruned_outputs(e), *from = tn_i_pruned_inputs(e, r->nout);
        for (uint32_t i = 0; i < r->nin; i++)
            if (from[i] != TN_NOVAR) in[from[i]] = r->in[i];
        first = emit_call(r, NULL, e->result[0], in);
        for (uint32_t j = 0; j < r->nout && first != TN_NOVAR; j++) out[j] = to[j] == TN_NOVAR ? to[j] : first + to[j];
    } else
        r->b->failed = true;
    tn_i_free(r->b->ctx, in, r->nin * sizeof *in);
}

static bool effect_call(const tn_i_param *p) { return p[PROGRAM].u.fn->effect; }

static void cost_call(const tn_i_query *q, tn_i_cost *cost) { tn_i_cost_nested(q->p[PROGRAM].u.fn, cost); }

/* x, y -> x*y, -x: a program with a bilinear and a linear output. */
static bool sample_call(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_type t;
    tn_i_sample_shape(g, &t, dtype, 0, 3);
    tn_i_builder b;
    tn_i_builder_init(&b, c->ctx);
    tn_i_var x = tn_i_input(&b, &t, false), y = tn_i_input(&b, &t, false);
    tn_i_var out[2] = {tn_i_op2(&b, TN_P_mul, x, y), tn_i_op1(&b, TN_P_neg, x)};
    const tn_fn *f = tn_i_finish(&b, 2, out);
    if (!f) return false;
    c->nin = 2;
    c->in[0] = c->in[1] = t;
    c->fns[0] = f;
    c->p[NAME] = (tn_i_param){.kind = TN_K_STR, .u.str = "f"};
    c->p[PROGRAM] = (tn_i_param){.kind = TN_K_FN, .u.fn = f};
    return true;
}

/* What call and fused have in common. */
#define CALL(NAME, MORE)                                                                                             \
    .id = TN_P_##NAME, .name = #NAME, .nin = -1, .flags = TN_F_OWN_PRIMAL | TN_F_INLINE | TN_F_OVER | (MORE),        \
    .dtypes = TN_FLOATS, .params = specs, .type = type_call, .linearity = linearity_call, .jvp = jvp_call,           \
    .transpose = transpose_call, .batch = batch_call, .split = split_call, .prune = prune_call, .body = 1 + PROGRAM, \
    .effect = effect_call, .cost = cost_call, .jvp_bound = 5, .transpose_bound = 5, .sample = sample_call

const tn_prim tn_prim_call = {
    CALL(call, TN_F_STEPS),
    .doc = "runs a nested program",
};

const tn_prim tn_prim_fused = {
    CALL(fused, 0),
    .doc = "call that is computed in one set of loops; tn_compile makes such equations, and none need be written",
};

static bool type_checkpoint(tn_i_query *q) {
    tn_i_plan_by how;
    if (tn_i_is_budget(q->p[POLICY].u.str))
        return tn_i_type_fail(q, -1, "policy '%s' plans whole programs, not regions: give it to tn_grad or its like",
                              q->p[POLICY].u.str);
    if (strchr(q->p[POLICY].u.str, '=')) /* min_cut:costs=FILE: a program's text opens no file */
        return tn_i_type_fail(q, -1, "policy '%s' names a file: give it to tn_grad or its like, not to a region",
                              q->p[POLICY].u.str);
    if (!tn_i_plan_of_text(q->ctx, q->p[POLICY].u.str, &how)) {
        char why[sizeof q->ctx->message];
        memcpy(why, q->ctx->message, sizeof why);
        return tn_i_type_fail(q, -1, "%s", why);
    }
    return type_call(q);
}

static bool sample_checkpoint(tn_i_rng *g, int dtype, tn_i_case *c) {
    if (!sample_call(g, dtype, c)) return false;
    c->p[POLICY] = (tn_i_param){.kind = TN_K_STR, .u.str = tn_i_pick(g, 0, 1) ? "nothing_saveable" : "dots_saveable"};
    return true;
}

const tn_prim tn_prim_checkpoint = {
    .id = TN_P_checkpoint,
    .name = "checkpoint",
    .doc = "call under a policy of its own: what its derivative saves and recomputes",
    .nin = -1,
    .flags = TN_F_OWN_PRIMAL | TN_F_INLINE | TN_F_STEPS | TN_F_OVER,
    .dtypes = TN_FLOATS,
    .params = checkpoint_specs,
    .bind = bind_checkpoint,
    .type = type_checkpoint,
    .linearity = linearity_call,
    .jvp = jvp_call,
    .transpose = transpose_call,
    .batch = batch_call,
    .split = split_call,
    .prune = prune_call,
    .body = 1 + PROGRAM,
    .effect = effect_call,
    .cost = cost_call,
    .jvp_bound = 5,
    .transpose_bound = 5,
    .sample = sample_checkpoint,
};
