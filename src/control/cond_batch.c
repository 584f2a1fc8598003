/* Batching of cond: one branch for all batch elements, or all branches and a choice element by element. */
#include "control/cond.h"
#include "linearize/prune.h"
#include "prims/ids.h"

#include <string.h>

/* ---- one index -------------------------------------------------------------------- */

/* Outputs that any branch has batched are batched in all; others are not (a loop may count with them). */
static bool make_batched(tn_i_rule *r, const bool *batched, tn_i_made *m, bool *out_batched) {
    tn_ctx *c = r->b->ctx;
    const uint32_t nin = r->nin - 1;
    const tn_i_memo_entry **e = tn_i_alloc_array(c, m->n, sizeof *e);
    const tn_type **types = tn_i_alloc_array(c, nin, sizeof *types);
    bool *linear = tn_i_alloc_array(c, nin, sizeof *linear), *widen = tn_i_alloc_array(c, r->nout, sizeof *widen);
    uint32_t *same = tn_i_alloc_array(c, (size_t)nin + r->nout, sizeof *same);
    bool ok = e && types && linear && widen && same;
    for (uint32_t k = 0; ok && k < m->n; k++) {
        ok = (e[k] = tn_i_nested_vmap(r, tn_i_branch(r, k), batched + 1, false)) != NULL;
        for (uint32_t j = 0; ok && j < r->nout; j++) out_batched[j] |= e[k]->flags[j] != 0;
    }
    for (uint32_t i = 0; ok && i < nin + r->nout; i++) same[i] = i;
    for (uint32_t k = 0; ok && k < m->n; k++) {
        const tn_fn *g = e[k]->result[0];
        for (uint32_t i = 0; i < nin; i++) {
            types[i] = g->val[i].type;
            linear[i] = (g->mixed || g->nlin) && g->val[i].linear;
        }
        for (uint32_t j = 0; j < r->nout; j++) widen[j] = out_batched[j] && !e[k]->flags[j];
        const tn_i_arrangement w = {.nin = nin,
                                    .nout = r->nout,
                                    .in = types,
                                    .linear = linear,
                                    .mixed = g->mixed,
                                    .from = same,
                                    .out = same,
                                    .widen = widen,
                                    .batch = r->batch,
                                    .bare = r->nout};
        ok = (m->f[k] = tn_i_arrange(g, &w)) != NULL;
    }
    tn_i_free(c, (void *)e, m->n * sizeof *e);
    tn_i_free(c, (void *)types, nin * sizeof *types);
    tn_i_free(c, linear, nin * sizeof *linear);
    tn_i_free(c, widen, r->nout * sizeof *widen);
    tn_i_free(c, same, ((size_t)nin + r->nout) * sizeof *same);
    return ok;
}

static void batch_one(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    static const char kind;
    tn_ctx *c = r->b->ctx;
    const size_t nextra = sizeof r->batch + r->nin * sizeof *batched;
    tn_i_made m = {0};
    unsigned char *extra = tn_i_alloc(c, nextra);
    bool ok = extra != NULL;
    if (ok) {
        memcpy(extra, &r->batch, sizeof r->batch);
        memcpy(extra + sizeof r->batch, batched, r->nin * sizeof *batched);
        ok = tn_i_made_begin(&m, r, &kind, extra, nextra);
    }
    for (uint32_t j = 0; j < r->nout; j++) out_batched[j] = false;
    if (ok && !m.found)
        ok = make_batched(r, batched, &m, out_batched) &&
             tn_i_made_keep(&m, r, &kind, out_batched, r->nout * sizeof *out_batched);
    const tn_i_var first = ok ? tn_i_cond_emit(r, m.n, m.f, r->in) : TN_NOVAR;
    if (!ok) r->b->failed = true;
    for (uint32_t j = 0; j < r->nout && first != TN_NOVAR; j++) {
        out[j] = first + j;
        out_batched[j] = m.flags[j] != 0;
    }
    if (m.ctx) tn_i_made_end(&m);
    tn_i_free(c, extra, nextra);
}

/* ---- an index for each batch element ---------------------------------------------------------- */

/* bool[batch]: which batch elements take branch k. */
static tn_i_var taken(tn_i_rule *r, uint32_t k) {
    tn_i_builder *b = r->b;
    const tn_i_var index = r->in[0];
    if (r->in_type[0]->dtype == TN_BOOL) return k ? index : tn_i_op1(b, TN_P_not, index);
    const uint32_t last = tn_i_branch_count(r) - 1;
    const int how = k == 0 ? TN_P_le : k == last ? TN_P_ge : TN_P_eq; /* clamped */
    return tn_i_op2(b, last ? how : TN_P_eq, index, last ? tn_i_number_like(b, index, k) : index);
}

/* batch elements ? x : y for arrays of `rank` behind the batch */
static tn_i_var choose(tn_i_rule *r, tn_i_var elements, tn_i_var x, tn_i_var y) {
    const tn_type *t = tn_i_vtype(r->b, x);
    const int64_t first[1] = {0};
    const tn_i_var mask = t->rank == 1 ? elements : tn_i_broadcast(r->b, elements, t->rank, t->dim, first);
    return tn_i_op3(r->b, TN_P_select, mask, x, y);
}

/* x in the batch elements that take the branch; its value without a derivative in the others, whose partials may be
 * infinite. A tangent is zero there. */
static tn_i_var guarded(tn_i_rule *r, tn_i_var elements, tn_i_var x) {
    const bool tangent = r->b->val[x].linear;
    return choose(r, elements, x, tangent ? tn_i_number_like(r->b, x, 0) : tn_i_op1(r->b, TN_P_stop_gradient, x));
}

static bool refused(tn_i_rule *r) {
    for (uint32_t k = 0; k < tn_i_branch_count(r); k++) {
        const tn_fn *f = tn_i_branch(r, k);
        const tn_i_loc *cond = r->e->loc;
        if (!f->effect) continue;
        (void)tn_i_fail(r->b->ctx, TN_ERULE, tn_i_effect_loc(f),
                        "vmap: this effect is in branch %u of the cond at %s:%u, whose index is batched: all branches "
                        "would run, for all batch elements",
                        (unsigned)k, cond ? cond->file : "", cond ? (unsigned)cond->line : 0);
        r->b->failed = true;
        return true;
    }
    return false;
}

static bool any_stack(const tn_type *const *type, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (tn_i_has_steps(type[i])) return true;
    return false;
}

/* A branch as it runs on all batch elements. */
typedef struct lane_branch {
    tn_i_var elements; /* those that take it */
    tn_i_var *in, *y;
    bool *in_batched, *y_batched;
    uint8_t *linear, *zero; /* of its inputs: none; of its outputs: TN_ZERO are zeros */
} lane_branch;

/* What a branch reads.  Where it reads stacks, numbers may be those of their steps: in a batch element that took
 * another branch they are of other stacks, and none of its steps are wanted. */
static void enter(tn_i_rule *r, const lane_branch *w, const bool *batched) {
    tn_i_builder *b = r->b;
    const bool stacks = any_stack(r->in_type, r->nin);
    for (uint32_t i = 1; i < r->nin && !b->failed; i++) {
        const tn_type *t = r->in_type[i];
        const bool guard = tn_i_is_float(t->dtype) && !tn_i_has_steps(t); /* a stack is a residual: nobody's tangent */
        tn_i_var x = r->in[i];
        if (stacks && batched[i] && t->dtype == TN_I64 && t->rank == 0)
            x = choose(r, w->elements, x, tn_i_number_like(b, x, 0));
        if (guard && !batched[i]) x = tn_i_batched(b, x, r->batch);
        if (guard && !b->failed) x = guarded(r, w->elements, x);
        w->in[i - 1] = x;
        w->in_batched[i - 1] = batched[i] || guard;
    }
}

/* Runs branch k on all batch elements: its outputs, batched unless they are stacks, in y. */
static bool run_branch(tn_i_rule *r, uint32_t k, const lane_branch *w, const bool *batched) {
    tn_i_builder *b = r->b;
    enter(r, w, batched);
    const tn_i_memo_entry *e = b->failed ? NULL : tn_i_nested_vmap(r, tn_i_branch(r, k), w->in_batched, false);
    const char *name = e ? tn_i_string(b->ctx, "branch", 6) : NULL;
    if (!name) return false;
    const tn_i_param p[2] = {{.kind = TN_K_STR, .u.str = name}, {.kind = TN_K_FN, .u.fn = e->result[0]}};
    const tn_i_var first = tn_i_emit(b, tn_i_prim(b, TN_P_call), p, r->nin - 1, w->in);
    for (uint32_t j = 0; j < r->nout; j++) {
        const bool stack = tn_i_has_steps(r->out_type[j]);
        w->y[j] = first + j;
        w->y_batched[j] = e->flags[j] != 0 || !stack;
        if (first != TN_NOVAR && !e->flags[j] && !stack) w->y[j] = tn_i_batched(b, w->y[j], r->batch);
    }
    return first != TN_NOVAR && !b->failed;
}

/* A stack is of one branch; in the others zeros stand for it, which nobody reads: it is what that branch makes, in all
 * batch elements, because what reads it is a cond with the same index (cond_split.c). */
static bool take_stack(tn_i_rule *r, uint32_t k, uint32_t j, const lane_branch *w, bool *made, tn_i_var *out,
                       bool *out_batched) {
    const tn_fn *f = tn_i_branch(r, k);
    const bool here = !f->val[f->out[j]].zero && w->zero[j] != TN_ZERO;
    if (here && *made) {
        tn_i_rule_fail(
            r, TN_ERULE, 0,
            "is batched, and output %u is as long as a loop in more than one branch: batch elements would be of "
            "different lengths",
            (unsigned)j);
        return false;
    }
    if (here || k == 0) {
        *out = w->y[j];
        *out_batched = w->y_batched[j];
    }
    *made |= here;
    return true;
}

static void batch_branches(tn_i_rule *r, const bool *batched, lane_branch *w, bool *made, tn_i_var *out,
                           bool *out_batched) {
    const bool stacks = any_stack(r->out_type, r->nout);
    bool ok = true;
    for (uint32_t k = 0; ok && k < tn_i_branch_count(r); k++) {
        w->elements = taken(r, k);
        ok = run_branch(r, k, w, batched);
        if (ok && stacks) ok = tn_i_check_linear(tn_i_branch(r, k), w->linear, w->zero);
        for (uint32_t j = 0; ok && j < r->nout; j++) {
            if (tn_i_has_steps(r->out_type[j])) {
                ok = take_stack(r, k, j, w, &made[j], &out[j], &out_batched[j]);
                continue;
            }
            out[j] = k == 0 ? w->y[j] : choose(r, w->elements, w->y[j], out[j]);
            out_batched[j] = true;
        }
    }
    if (!ok) r->b->failed = true;
}

static void batch_lanes(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    if (refused(r)) return;
    tn_i_arena a;
    tn_i_arena_init(&a, r->b->ctx);
    const size_t nin = (size_t)r->nin + 1, nout = (size_t)r->nout + 1;
    lane_branch w = {.in = tn_i_arena_alloc(&a, nin * sizeof *w.in),
                     .y = tn_i_arena_alloc(&a, nout * sizeof *w.y),
                     .in_batched = tn_i_arena_alloc(&a, nin * sizeof *w.in_batched),
                     .y_batched = tn_i_arena_alloc(&a, nout * sizeof *w.y_batched),
                     .linear = tn_i_arena_alloc(&a, nin),
                     .zero = tn_i_arena_alloc(&a, nout)};
    bool *made = tn_i_arena_alloc(&a, nout * sizeof *made);
    if (w.in && w.y && w.in_batched && w.y_batched && w.linear && w.zero && made)
        batch_branches(r, batched, &w, made, out, out_batched);
    else
        r->b->failed = true;
    tn_i_arena_free(&a);
}

void tn_i_cond_batch(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    if (batched[0])
        batch_lanes(r, batched, out, out_batched);
    else
        batch_one(r, batched, out, out_batched);
}
