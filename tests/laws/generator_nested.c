/* Generated programs inside programs: call, checkpoint, cond, custom rules, linear calls. */
#include "checkpoint/policies.h"
#include "control/loops/loop.h"
#include "jvp/jvp.h"
#include "laws/generator_i.h"
#include "linearize/prune.h"
#include "prims/ids.h"
#include "transpose/transpose.h"

#include <string.h>

enum { MOST = 3 };

typedef struct body {
    uint32_t n;
    tn_i_var in[MOST];
    tn_type type[MOST];
    const tn_fn *f;
} body;

static bool draw(laws_gen *g, body *k) {
    k->n = (uint32_t)tn_i_pick(g->r, 1, MOST);
    for (uint32_t i = 0; i < k->n; i++) {
        k->in[i] = laws_gen_real(g);
        k->type[i] = *tn_i_vtype(&g->b, k->in[i]);
    }
    k->f = laws_generate_over(g, k->n, k->type, (int)tn_i_pick(g->r, 1, 3));
    if (!k->f) g->b.failed = true;
    return k->f != NULL;
}

static void emit(laws_gen *g, const tn_prim *prim, const tn_i_param *p, const body *k) {
    const tn_i_var out = tn_i_emit(&g->b, prim, p, k->n, k->in);
    for (uint32_t j = 0; j < k->f->nout && !g->b.failed; j++) laws_gen_keep(g, out + j);
}

/* (x.. | dx..) -> dy.., as a user would write it. */
static const tn_fn *tangent_rule(laws_gen *g, const tn_fn *f) {
    uint32_t wrt[MOST];
    for (uint32_t i = 0; i < f->nin; i++) wrt[i] = i;
    const tn_fn *both = tn_i_jvp(f, f->nin, wrt, true, NULL, NULL);
    if (!both) return NULL;
    tn_i_builder b;
    tn_i_builder_init(&b, g->ctx);
    tn_i_var in[2 * MOST], out[2 * MOST];
    for (uint32_t i = 0; i < both->nin; i++) in[i] = tn_i_input(&b, both->val[i].type, i >= f->nin);
    tn_i_inline(&b, both, in, out);
    tn_i_fn_unref(both);
    const tn_fn *rule = tn_i_finish(&b, f->nout, out + f->nout), *quiet = rule ? tn_i_quiet(rule) : NULL;
    tn_i_fn_unref(rule); /* the call has its effects already */
    return quiet;
}

static void custom_jvp(laws_gen *g, const tn_prim *prim, const body *k) {
    const tn_fn *rule = tangent_rule(g, k->f);
    if (!rule) {
        g->b.failed = true;
        return;
    }
    const tn_i_param p[2] = {{.kind = TN_K_FN, .u.fn = k->f}, {.kind = TN_K_FN, .u.fn = rule}};
    emit(g, prim, p, k);
    tn_i_fn_unref(rule);
}

/* Arrays as long as a loop had steps pass into programs, but no linear_call takes them, nor is one read whose transpose
 * cannot be tried: a loop's length that only a run tells is in its way. */
static bool is_untried(const tn_fn *f) {
    const tn_fn *const *g;
    for (uint32_t v = 0; v < f->nval; v++)
        if (tn_i_has_steps(f->val[v].type)) return true;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->id == TN_P_while || (e->prim->id == TN_P_scan && tn_i_p(e)[TN_SCAN_LENGTH].kind == TN_K_NONE))
            return true;
        for (uint32_t k = 0; e->params && k < e->params->n; k++)
            for (uint32_t n = tn_i_programs(&e->params->v[k], &g); n > 0; n--)
                if (is_untried(g[n - 1])) return true;
    }
    return false;
}

/* fwd and bwd from linearize; or, of a linear program, the call itself. */
static void by_linearize(laws_gen *g, const tn_prim *prim, const body *k) {
    const tn_linearized l =
        tn_linearize(k->f, NULL, tn_i_pick(g->r, 0, 1) ? tn_policy_by_name("nothing_saveable") : NULL);
    const tn_fn *back = l.linear ? tn_i_transpose_linear(l.linear) : NULL;
    if (!back)
        g->b.failed = true;
    else if (prim->id == TN_P_custom_vjp) {
        const tn_i_param p[4] = {
            {.kind = TN_K_FN, .u.fn = k->f}, {.kind = TN_K_FN, .u.fn = l.primal}, {.kind = TN_K_FN, .u.fn = back}};
        emit(g, prim, p, k);
    } else {
        tn_i_var in[256], res[256];
        const uint32_t nres = l.linear->nin - l.linear->nlin;
        if (l.primal->nout <= 256 && nres + k->n <= 256 && !is_untried(l.linear)) {
            const tn_i_param p[4] = {{.kind = TN_K_FN, .u.fn = l.linear}, {.kind = TN_K_FN, .u.fn = back}};
            tn_i_inline(&g->b, l.primal, k->in, res);
            for (uint32_t i = 0; i < nres; i++) in[i] = res[k->f->nout + i];
            for (uint32_t i = 0; i < k->n; i++) in[nres + i] = tn_i_op1(&g->b, TN_P_sin, k->in[i]);
            const tn_i_var out = tn_i_emit(&g->b, prim, p, l.linear->nin, in);
            for (uint32_t j = 0; j < l.linear->nout && !g->b.failed; j++) laws_gen_keep(g, out + j);
        }
    }
    tn_i_fn_unref(back);
    tn_i_fn_unref(l.primal);
    tn_i_fn_unref(l.linear);
}

/* A region under any policy of the table; half of them under the one that saves least. */
static void region(laws_gen *g, const tn_prim *prim, const body *k) {
    size_t n = 0;
    while (tn_i_policy_text(n)) n++;
    const int64_t i = tn_i_pick(g->r, -(int64_t)n, (int64_t)n - 1);
    const char *policy = i < 0 ? "nothing_saveable" : tn_i_policy_text((size_t)i);
    const tn_i_param p[3] = {{.kind = TN_K_STR, .u.str = tn_i_string(g->ctx, "region", 6)},
                             {.kind = TN_K_FN, .u.fn = k->f},
                             {.kind = TN_K_STR, .u.str = tn_i_string(g->ctx, policy, strlen(policy))}};
    emit(g, prim, p, k);
}

/* ---- branches ------------------------------------------------------------------------------- */

static tn_i_var total(tn_i_builder *b, tn_i_var v, int dtype) {
    const int64_t axes[TN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint32_t rank = (uint32_t)tn_i_vtype(b, v)->rank;
    return tn_i_convert(b, rank ? tn_i_reduce_sum(b, v, rank, axes) : v, dtype);
}

/* f's first output summed, and the first operand or its sine: what all branches can have in common. */
static const tn_fn *branch(laws_gen *g, const body *k, const tn_fn *f, bool sine) {
    tn_i_builder b;
    tn_i_builder_init(&b, g->ctx);
    tn_i_var in[MOST], y[8], out[2];
    for (uint32_t i = 0; i < k->n; i++) in[i] = tn_i_input(&b, &k->type[i], false);
    tn_i_inline(&b, f, in, y);
    out[0] = total(&b, y[0], g->dtype);
    out[1] = sine ? tn_i_op1(&b, TN_P_sin, in[0]) : in[0];
    return tn_i_finish(&b, 2, out);
}

/* Two or three generated branches; the index is a whole number that is there already, if there is one, and there is no
 * effect that a batched index would be refused for. */
static void choice(laws_gen *g, const tn_prim *prim, const body *k) {
    const tn_fn *f[3] = {NULL, NULL, NULL};
    const uint32_t n = (uint32_t)tn_i_pick(g->r, 2, 3);
    tn_i_var in[1 + MOST], whole = tn_i_literal_i64(&g->b, TN_I32, 1);
    bool effect = false;
    for (uint32_t i = 0; i < n && !g->b.failed; i++) {
        const tn_fn *own = i ? laws_generate_over(g, k->n, k->type, (int)tn_i_pick(g->r, 1, 3)) : tn_i_fn_ref(k->f);
        if (!own || !(f[i] = branch(g, k, own, i != 1))) g->b.failed = true;
        effect |= own && own->effect;
        tn_i_fn_unref(own);
    }
    if (g->nwhole && !effect) whole = g->whole[tn_i_pick(g->r, 0, g->nwhole - 1)];
    const tn_i_param p = {.kind = TN_K_FNS, .n = n, .u.fns = f};
    in[0] = g->b.failed ? TN_NOVAR : total(&g->b, tn_i_convert(&g->b, whole, TN_I32), TN_I32);
    memcpy(in + 1, k->in, k->n * sizeof *in);
    const tn_i_var out = g->b.failed ? TN_NOVAR : tn_i_emit(&g->b, prim, &p, 1 + k->n, in);
    for (uint32_t j = 0; j < 2 && !g->b.failed; j++) laws_gen_keep(g, out + j);
    for (uint32_t i = 0; i < n; i++) tn_i_fn_unref(f[i]);
}

bool laws_generate_nested(laws_gen *g, const tn_prim *prim) {
    const int id = prim->id;
    if (id != TN_P_call && id != TN_P_checkpoint && id != TN_P_custom_jvp && id != TN_P_custom_vjp &&
        id != TN_P_linear_call && id != TN_P_cond)
        return false;
    body k;
    if (g->depth > 2) return true; /* deep enough: no equation this time */
    if (!draw(g, &k)) return true;
    if (id == TN_P_call) {
        const tn_i_param p[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(g->ctx, "body", 4)},
                                 {.kind = TN_K_FN, .u.fn = k.f}};
        emit(g, prim, p, &k);
    } else if (id == TN_P_cond)
        choice(g, prim, &k);
    else if (id == TN_P_checkpoint)
        region(g, prim, &k);
    else if (id == TN_P_custom_jvp)
        custom_jvp(g, prim, &k);
    else
        by_linearize(g, prim, &k);
    tn_i_fn_unref(k.f);
    return true;
}
