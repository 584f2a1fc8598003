/* while: a loop whose length is found when it runs (docs/loops.md). */
#include "control/vary.h"
#include "control/loops/loop.h"
#include "control/loops/loop_sample.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

static const tn_i_spec specs[] = {{.name = "cond", .kind = TN_K_FN},
                                  {.name = "body", .kind = TN_K_FN},
                                  {.name = "cond_nconsts", .kind = TN_K_INT},
                                  {.name = "body_nconsts", .kind = TN_K_INT},
                                  {.name = "index", .kind = TN_K_BOOL, .otherwise = "False"},
                                  {.name = "count", .kind = TN_K_BOOL, .otherwise = "False"},
                                  {.name = "schedule", .kind = TN_K_STR, .otherwise = "all_save"},
                                  {0}};

/* ---- types --------------------------------------------------------------------- */

static bool type_cond(tn_i_query *q, const tn_i_while *w) {
    char text[TN_I_TYPE_TEXT];
    const tn_fn *c = w->cond;
    if (c->nout != 1 || c->val[c->out[0]].type->dtype != TN_BOOL || c->val[c->out[0]].type->rank)
        return tn_i_type_fail(q, -1, "the condition's program must give one bool[]");
    for (uint32_t i = 0; i < c->nin; i++) {
        const uint32_t operand = i < w->ncond ? i : i - w->ncond + w->carry0;
        if (!tn_i_fits(q, operand, c->val[i].type))
            return tn_i_type_fail(q, (int)operand, "the condition takes %s", tn_i_type_text(text, c->val[i].type));
    }
    return true;
}

static bool type_body(tn_i_query *q, const tn_i_while *w) {
    char text[TN_I_TYPE_TEXT];
    const tn_fn *f = w->body;
    if (w->index && (f->val[0].type->dtype != TN_I64 || f->val[0].type->rank))
        return tn_i_type_fail(q, -1, "the body's first input, the step's number, is an i64[]");
    for (uint32_t i = w->const0; i < q->nin; i++) {
        const tn_type *want = f->val[tn_i_while_inner(w, i)].type;
        if (!tn_i_fits(q, i, want)) return tn_i_type_fail(q, (int)i, "the body takes %s", tn_i_type_text(text, want));
    }
    return true;
}

static bool type_while(tn_i_query *q) {
    tn_i_while w;
    char text[TN_I_TYPE_TEXT], carried[TN_I_TYPE_TEXT];
    if (!tn_i_while_read(q->p, q->nin, &w))
        return tn_i_type_fail(q, -1, "inputs and outputs of the condition and the body do not fit %lld and %lld consts",
                              (long long)q->p[TN_WHILE_COND_CONSTS].u.i, (long long)q->p[TN_WHILE_BODY_CONSTS].u.i);
    if (!tn_i_loop_schedule_fits(q, w.schedule, true)) return false;
    if (!type_cond(q, &w) || !type_body(q, &w) || !tn_i_outputs(q, w.body->nout + w.count)) return false;
    const tn_type *go = w.cond->val[w.cond->out[0]].type;
    const tn_i_decided body = {w.body, w.index, "the condition", "body", "stop at different steps"};
    const tn_i_decided cond = {w.cond, w.ncond, "the condition", "condition", "stop at different steps"};
    if (!tn_i_decided_over(q, &body, tn_i_over(go)) || !tn_i_decided_over(q, &cond, tn_i_over(go))) return false;
    for (uint32_t j = 0; j < w.body->nout; j++) {
        const tn_type *t = w.body->val[w.body->out[j]].type;
        if (j < w.ncarry && !tn_i_type_same(t, w.body->val[tn_i_while_inner(&w, w.carry0 + j)].type))
            return tn_i_type_fail(q, (int)(w.carry0 + j), "is carried: enters as %s, leaves the step as %s",
                                  tn_i_type_text(carried, q->in[w.carry0 + j]), tn_i_type_text(text, t));
        if (j < w.ncarry)
            q->out[j] = *t;
        else if (!tn_i_stack_type(t, TN_I_STEPS, &q->out[j + w.count]))
            return tn_i_type_fail(q, -1, "entries of type %s cannot be stacked: rank or size", tn_i_type_text(text, t));
    }
    if (w.count) {
        q->out[w.n_out] = tn_type_of(TN_I64, 0, NULL);
        q->out[w.n_out].varying = go->varying;
    }
    return true;
}

static bool effect(const tn_i_param *p) { return p[TN_WHILE_BODY].u.fn->effect || p[TN_WHILE_COND].u.fn->effect; }

/* Of one step. */
static void cost(const tn_i_query *q, tn_i_cost *sum) {
    sum->equations = 0;
    tn_i_loop_add_cost(sum, q->p[TN_WHILE_COND].u.fn, 1);
    tn_i_loop_add_cost(sum, q->p[TN_WHILE_BODY].u.fn, 1);
}

const tn_prim tn_prim_while = {
    .id = TN_P_while,
    .name = "while",
    .doc = "runs a program as long as a condition on what it carries holds",
    .nin = -1,
    .flags = TN_F_OWN_PRIMAL | TN_F_LOOP | TN_F_STEPS | TN_F_COSTLY | TN_F_OVER,
    .dtypes = TN_ANY,
    .params = specs,
    .type = type_while,
    .written = tn_i_while_written,
    .linearity = tn_i_loop_linearity,
    .depends = tn_i_loop_depends,
    .needs = tn_i_loop_needs,
    .jvp = tn_i_loop_jvp,
    .batch = tn_i_loop_batch,
    .split = tn_i_loop_split,
    .prune = tn_i_loop_prune,
    .inside = tn_i_loop_inside,
    .outside = tn_i_loop_outside,
    .stacked = tn_i_loop_stacked,
    .replayed = tn_i_loop_replayed,
    .steps = tn_i_loop_steps,
    .effect = effect,
    .cost = cost,
    .jvp_bound = 5,
    .transpose_bound = 5,
    .sample = tn_i_sample_while,
};
