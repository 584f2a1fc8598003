/* The derivatives, as programs of the solver's vectors and the parameters.
 *
 * tn_jvp and tn_vjp give the function's value besides; here they are called within a traced function that returns the
 * product alone, so that what only the value needs is not computed.  A DAE's derivative is that of
 *     w -> F(t, y + w, y' + c w, p..)   at w = 0,   which is   dF/dy + c dF/dy'
 * so that c is an input and the pattern the union of both. */
#include "system.h"

#include <stdlib.h>

/* What the traced functions of this file see. */
typedef struct product {
    const tn_fn *f; /* a jvp, a vjp, or F itself */
    const tn_fn *g; /* the integrand's gradients, or NULL */
    size_t inputs;  /* of f */
    size_t outputs; /* of the vjp, behind the first */
    size_t c;       /* where c stands among a DAE's inputs; 0: no DAE's */
    tn_val *room;   /* for the inputs and twice the outputs */
} product;

/* ---- tracing ------------------------------------------------------------------------ */

/* jvp: (x.., dx..) -> (y, dy); the second. */
static tn_val tangent(const tn_val *in, void *user) {
    const product *q = user;
    tn_val out[2];
    tn_apply_many(q->f, q->inputs, in, 2, out);
    return out[1];
}

/* vjp: (x.., ct) -> (y, ct of wrt..); those behind the first, one behind the other, and the gradients of g, negative.
 */
static tn_val cotangent(const tn_val *in, void *user) {
    const product *q = user;
    const size_t n = q->outputs;
    tn_val *a = q->room, *b = q->room + n + 1;
    tn_apply_many(q->f, q->inputs, in, n + 1, a);
    if (q->g) tn_apply_many(q->g, q->inputs - 1, in, n, b);
    for (size_t i = 0; i < n; i++) b[i] = tn_neg(tn_ravel(q->g ? tn_add(a[i + 1], b[i]) : a[i + 1]));
    return tn_concatenate(tn_vals_of(n, b), 0);
}

/* (t, y, y', c, p.., w) -> F(t, y + w, y' + c w, p..). */
static tn_val shifted(const tn_val *in, void *user) {
    const product *q = user;
    const tn_val w = in[q->inputs + 1];
    tn_val *x = q->room;
    for (size_t i = 0; i < q->inputs; i++) x[i] = in[i < q->c ? i : i + 1];
    x[1] = tn_add(in[1], w);
    x[2] = tn_add(in[2], tn_mul(in[q->c], w));
    return tn_apply(q->f, q->inputs, x);
}

/* `body` of the inputs of f and, for a DAE's derivative, c and w. */
static tn_fn *trace(tn_sundials *s, tn_trace_fn body, product *q, const char *what) {
    const size_t n = q->inputs = tn_fn_inputs(q->f), all = q->c ? n + 2 : n;
    tn_type *types = calloc(all + 1, sizeof *types);
    tn_fn *p = NULL;
    q->room = calloc(n + 2 * q->outputs + 2, sizeof *q->room);
    if (types && q->room) {
        for (size_t i = 0; i < n; i++) types[q->c && i >= q->c ? i + 1 : i] = tn_fn_input_type(q->f, i);
        if (q->c) types[q->c] = tn_f64(), types[n + 1] = types[1];
        p = tn_trace(tn_fn_ctx(q->f), body, q, all, types);
        if (!p) (void)tn_sundials_i_lost(s, q->f, what);
    } else {
        (void)tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    }
    free(types);
    free(q->room);
    return p;
}

/* A program that was made of another: compiled and released. */
static tn_status take(tn_sundials *s, int which, tn_fn *p, size_t tail) {
    if (!p) return s->status;
    const tn_status status = tn_sundials_i_program(s, which, p, tn_fn_inputs(p) - s->parameters - tail, tail);
    tn_fn_free(p);
    return status;
}

/* ---- the derivatives ------------------------------------------------------------------- */

/* What is differentiated: f by its state, or the function of w by w. */
typedef struct target {
    const tn_fn *f;
    tn_fn *made; /* ours, or NULL */
    int wrt;
    size_t tail; /* w */
} target;

static tn_status target_of(tn_sundials *s, const tn_fn *f, target *t) {
    *t = (target){.f = f, .wrt = s->kind == TN_SUNDIALS_ODE ? 1 : 0};
    if (s->kind != TN_SUNDIALS_DAE) return TN_OK;
    product q = {.f = f, .c = s->lead};
    t->f = t->made = trace(s, shifted, &q, "dF/dy + c dF/dy'");
    t->wrt = (int)tn_fn_inputs(f) + 1;
    t->tail = 1;
    return s->status;
}

static tn_status jacobian_of(tn_sundials *s, const target *t, const void *const *known) {
    const tn_sparse_options o = {.size = sizeof o, .format = TN_COO, .known = known};
    tn_fn *j = tn_sparse_jacobian(t->f, &(tn_wrt_list){1, &t->wrt}, &o, &s->pattern);
    if (!j) return tn_sundials_i_lost(s, t->f, "the Jacobian");
    if (!tn_sundials_i_pattern(s)) return take(s, PROGRAM_JACOBIAN, j, t->tail);
    tn_fn_free(j);
    return s->status;
}

/* With what is known, at the inputs of what is differentiated: c stands before the parameters. */
static tn_status jacobian(tn_sundials *s, const target *t) {
    if (!s->known) return jacobian_of(s, t, NULL);
    const void **known = calloc(tn_fn_inputs(t->f), sizeof *known);
    if (!known) return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    for (size_t i = s->lead; i < s->lead + s->parameters; i++) known[i + t->tail] = s->known[i];
    const tn_status status = jacobian_of(s, t, known);
    free(known);
    return status;
}

/* (x.., dx..) -> dy */
static tn_fn *product_of(tn_sundials *s, const target *t, const tn_wrt_list *wrt) {
    static const char what[] = "the Jacobian's product";
    tn_fn *jvp = tn_jvp(t->f, wrt);
    if (!jvp) {
        (void)tn_sundials_i_lost(s, t->f, what);
        return NULL;
    }
    product q = {.f = jvp};
    tn_fn *p = trace(s, tangent, &q, what);
    tn_fn_free(jvp);
    return p;
}

/* The same of `at_once` tangents in the place of each. */
static tn_status sens_all(tn_sundials *s, const tn_fn *p, size_t tangents) {
    const size_t n = tn_fn_inputs(p);
    const int first = 0;
    int *axes = malloc(n * sizeof *axes);
    if (!axes) return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) axes[i] = i < n - tangents ? TN_NOT_MAPPED : 0;
    tn_fn *all = tn_vmap(p, (int64_t)s->at_once, axes, &first);
    free(axes);
    if (!all) return tn_sundials_i_lost(s, p, "the sensitivities");
    return take(s, PROGRAM_SENS_ALL, all, tangents);
}

/* wrt: the state, and what the sensitivities are of. */
static tn_status sensitivities(tn_sundials *s, const target *t) {
    const size_t n = s->wrt.n + 1;
    int *index = malloc(n * sizeof *index);
    if (!index) return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    index[0] = t->wrt;
    for (size_t i = 1; i < n; i++) index[i] = s->wrt.index[i - 1];
    tn_fn *p = product_of(s, t, &(tn_wrt_list){n, index});
    free(index);
    if (p && s->at_once) (void)sens_all(s, p, n);
    if (!s->status) return take(s, PROGRAM_SENS, p, n);
    tn_fn_free(p);
    return s->status;
}

static tn_status backward(tn_sundials *s, int which, const tn_fn *f, const tn_fn *g, const tn_wrt_list *wrt) {
    static const char what[] = "the backward problem";
    tn_fn *vjp = tn_vjp(f, wrt, NULL), *gradient = vjp && g ? tn_grad(g, wrt, NULL) : NULL;
    tn_fn *p = NULL;
    if (vjp && (gradient || !g)) {
        product q = {.f = vjp, .g = gradient, .outputs = wrt->n};
        p = trace(s, cotangent, &q, what);
    } else {
        (void)tn_sundials_i_lost(s, f, what);
    }
    tn_fn_free(vjp);
    tn_fn_free(gradient);
    return take(s, which, p, 1);
}

static tn_status adjoint(tn_sundials *s, const tn_sundials_problem *q) {
    const int y = 1;
    const tn_wrt_list state = {1, &y};
    if (backward(s, PROGRAM_RHS_B, q->f, q->g, &state)) return s->status;
    if (backward(s, PROGRAM_TIMES_B, q->f, NULL, &state)) return s->status;
    return s->np ? backward(s, PROGRAM_QUAD_B, q->f, q->g, &s->wrt) : TN_OK;
}

tn_status tn_sundials_i_derive(tn_sundials *s, const tn_sundials_problem *q, unsigned with) {
    target t;
    if (target_of(s, q->f, &t)) return s->status;
    if (with & TN_SUNDIALS_JACOBIAN) (void)jacobian(s, &t);
    if (!s->status && (with & TN_SUNDIALS_TIMES))
        (void)take(s, PROGRAM_TIMES, product_of(s, &t, &(tn_wrt_list){1, &t.wrt}), t.tail + 1);
    if (!s->status && (with & TN_SUNDIALS_SENSITIVITIES)) (void)sensitivities(s, &t);
    if (!s->status && (with & TN_SUNDIALS_ADJOINT)) (void)adjoint(s, q);
    tn_fn_free(t.made);
    return s->status;
}
