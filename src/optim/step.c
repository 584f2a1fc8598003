/* A loss, its gradient and the update of its parameters as one program. */
#include "optim/optim.h"

#include "base/base.h"

typedef struct step {
    const tn_fn *gradient; /* x.. -> (loss, aux.., gradients..) */
    tn_optim o;
    size_t inputs, outputs; /* of the loss */
    size_t n;               /* parameters */
    size_t states;
    int *index; /* their inputs */
    bool own_rate;
    const char *file;
    int line;
    tn_val *p; /* parameters; then what the gradient gives */
} step;

static void trace(const tn_val *in, tn_val *out, void *user) {
    step *q = user;
    tn_val *p = q->p, *all = q->p + q->n;
    const tn_val *state = in + q->inputs;
    if (q->own_rate) q->o.rate.traced = state + q->states;
    tn_apply_many_at(q->gradient, q->inputs, in, q->outputs + q->n, all, q->file, q->line);
    for (size_t i = 0; i < q->n; i++) p[i] = in[q->index[i]];
    for (size_t j = 0; j < q->outputs; j++) out[j] = all[j];
    tn_optim_update_at(&q->o, q->n, p, all + q->outputs, state, out + q->outputs, out + q->outputs + q->n, q->file,
                       q->line);
}

/* Which inputs are parameters. */
static void parameters(step *q, const tn_fn *f, const tn_wrt_list *wrt) {
    for (size_t i = 0; i < (wrt ? wrt->n : q->inputs); i++) {
        const tn_type t = tn_fn_input_type(f, i);
        if (wrt || t.dtype == TN_F32 || t.dtype == TN_F64) q->index[q->n++] = wrt ? wrt->index[i] : (int)i;
    }
}

static tn_fn *made(step *q, const tn_fn *f, tn_type *in) {
    tn_ctx *c = tn_fn_ctx(f);
    for (size_t i = 0; i < q->n; i++) in[i] = tn_fn_input_type(f, (size_t)q->index[i]);
    tn_type *state = in + q->n;
    q->states = tn_optim_state(&q->o, q->n, in, state);
    if (!q->states) {
        (void)tn_i_fail(c, TN_EINVAL, NULL, "optim_step: %s (%s:%d)", tn_i_optim_wrong(&q->o), q->file, q->line);
        return NULL;
    }
    tn_type *types = state + q->states;
    for (size_t i = 0; i < q->inputs; i++) types[i] = tn_fn_input_type(f, i);
    for (size_t k = 0; k < q->states; k++) types[q->inputs + k] = state[k];
    types[q->inputs + q->states] = tn_type_of(TN_F64, 0, NULL);
    return tn_trace_many_at(c, trace, q, q->inputs + q->states + q->own_rate, types, q->outputs + q->n + q->states,
                            q->file, q->line);
}

static tn_fn *with_room(step *q, const tn_fn *f, const tn_wrt_list *wrt) {
    tn_ctx *c = tn_fn_ctx(f);
    const size_t most = wrt && wrt->n > q->inputs ? wrt->n : q->inputs;
    const size_t types = most + 2 * TN_OPTIM_STATES(most) + q->inputs + 1, values = 2 * most + q->outputs;
    tn_type *in = tn_i_alloc_array(c, types, sizeof *in);
    q->p = tn_i_alloc_array(c, values, sizeof *q->p);
    q->index = tn_i_alloc_array(c, most, sizeof *q->index);
    tn_fn *g = NULL;
    if (in && q->p && q->index) {
        parameters(q, f, wrt);
        g = made(q, f, in);
    }
    tn_i_free(c, in, types * sizeof *in);
    tn_i_free(c, q->p, values * sizeof *q->p);
    tn_i_free(c, q->index, most * sizeof *q->index);
    return g;
}

tn_fn *tn_optim_step_at(const tn_fn *f, const tn_wrt_list *wrt, const tn_optim *o, const tn_policy *policy,
                        const char *file, int line) {
    tn_fn *gradient = tn_value_and_grad_aux(f, wrt, policy);
    if (!gradient) return NULL;
    step q = {.gradient = gradient, .inputs = tn_fn_inputs(f), .outputs = tn_fn_outputs(f), .file = file, .line = line};
    if (o) q.o = *o;
    q.own_rate = o && o->rate.traced;
    tn_fn *g = with_room(&q, f, wrt);
    tn_fn_free(gradient);
    return g;
}
