/* What leaves a loop has the same bits outside. */
#include "control/loops/invariant.h"
#include "control/loops/loop.h"
#include "laws/derive.h"
#include "laws/table.h"
#include "prims/ids.h"

#include <string.h>

enum { STEPS = 3 };

/* (s, x..) -> -s, f(x..), f(s, x[1]..): in each step f of constants alone, and of what is carried. */
static const tn_fn *step_of(laws_trial *t, const tn_fn *f) {
    tn_i_builder b;
    tn_i_var *in = laws_alloc(t->memory, f->nin + 1u, sizeof *in),
             *out = laws_alloc(t->memory, 2u * f->nout + 1u, sizeof *out);
    tn_i_builder_init(&b, t->ctx);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    const tn_i_var s = tn_i_input(&b, f->val[0].type, false);
    tn_i_inline(&b, f, in, out + 1);
    in[0] = s;
    tn_i_inline(&b, f, in, out + 1 + f->nout);
    out[0] = tn_i_op1(&b, TN_P_neg, s);
    return laws_made(t, tn_i_finish(&b, 1 + 2 * f->nout, out), "a step");
}

/* x.. -> the outputs of a loop around f. */
static const tn_fn *around(laws_trial *t, const tn_fn *f) {
    const tn_fn *step = step_of(t, f);
    if (!step) return NULL;
    tn_i_builder b;
    tn_i_rule r = {.b = &b};
    tn_i_var *in = laws_alloc(t->memory, f->nin + 3u, sizeof *in),
             *out = laws_alloc(t->memory, step->nout + 1u, sizeof *out);
    const tn_i_loop_eqn l = {.length = tn_i_pick(&t->rng, 1, STEPS),
                             .reverse = tn_i_pick(&t->rng, 0, 1) != 0,
                             .body = step,
                             .nconst = f->nin,
                             .ncarry = 1,
                             .ny = step->nout - 1};
    tn_i_builder_init(&b, t->ctx);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    in[f->nin] = in[0];
    in[0] = tn_i_op2(&b, TN_P_mul, in[0], in[0]); /* a sum with it is contracted here, and not in the step */
    const tn_i_var v = tn_i_loop_emit(&r, &l, in);
    for (uint32_t j = 0; j < step->nout; j++) out[j] = v + j;
    return laws_made(t, tn_i_finish(&b, step->nout, out), "a loop");
}

/* As it is and moved, by the reference; moving again, or contracting, moves nothing. */
static bool same_outside(laws_trial *t, const tn_fn *f, const laws_array *x, tn_i_motion motion) {
    const tn_fn *once = laws_made(t, tn_i_contracted(f), "contraction");
    const tn_fn *g = once ? laws_made(t, tn_i_invariants_outside(once, motion), "loop-invariant code motion") : NULL;
    const tn_fn *h = g ? laws_made(t, tn_i_contracted(g), "contraction of what was moved") : NULL;
    if (!h) return false;
    t->shown = g;
    if (!tn_i_check(g)) laws_fail(t, "moved: %s", tn_error(t->ctx));
    laws_array *y = laws_alloc(t->memory, f->nout + 1u, sizeof *y), *z = laws_alloc(t->memory, f->nout + 1u, sizeof *z);
    laws_array *w = laws_alloc(t->memory, f->nout + 1u, sizeof *w);
    return laws_run_as_written(t, once, x, y) && laws_run_as_written(t, g, x, z) &&
           laws_same_bits(t, "as written and moved: output", y, z, f->nout) && laws_run_as_written(t, h, x, w) &&
           laws_same_bits(t, "moved and contracted again: output", y, w, f->nout);
}

void laws_outside(laws_trial *t) {
    const tn_fn *f = t->f, *g = NULL;
    if (f->effect || f->nlin) return;
    if (!same_outside(t, f, t->x, TN_I_TO_RUN) || !same_outside(t, f, t->x, TN_I_TO_DERIVE)) return;
    if (f->nin == 0 || !tn_i_is_float(f->val[0].type->dtype) || !(g = around(t, f))) return;
    if (same_outside(t, g, t->x, TN_I_TO_RUN)) (void)same_outside(t, g, t->x, TN_I_TO_DERIVE);
}
