/* tn_ode_steady: integrates until the state rests, ends with Newton's method, and differentiates the state as what it
 * is, the root of f(y, p), whatever way led there. */
#include "ode/solve.h"

#include <math.h>
#include <string.h>

/* Newton's corrections, in tolerances.  It goes on until one is `small`, or no longer half of the one before, which is
 * as far as rounding lets it; it has converged when the last is below 1, and when all of them together lead to the
 * state that the integration had `nearly` reached, and not to some other root. */
static const double small = 1e-3, nearly = 1000;
enum { ITERATIONS = 20, FREE = 4 }; /* the first few may grow */

typedef struct steady {
    tn_i_ode *s;
    const tn_ode_problem *p;   /* as given */
    const tn_ode_options *o;   /* as given */
    tn_val t;                  /* the time that the field is handed */
    const tn_val *y0, *params; /* without derivative */
    tn_val *found;             /* [n] */
} steady;

/* dy / (atol + rtol |y|) of all arrays, as a norm. */
static tn_val scaled_norm(tn_i_ode *s, const tn_val *dy, const tn_val *y) { return tn_i_ode_norm(s, dy, y, y); }

/* ---- on the way ------------------------------------------------------------------------------------------ */

static void field_of(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    const steady *q = user;
    q->p->field(t, y, p, dy, q->p->user);
}

/* The mean square of f / (atol + rtol |y|), less 1: smooth, as the event's root is found with its derivative. */
static tn_val unrest(tn_val t, const tn_val *y, const tn_val *p, void *user) {
    const steady *q = user;
    tn_i_ode *s = q->s;
    const tn_ode_problem *before = s->p;
    tn_ode_problem here = *before; /* an event is a program of its own */
    tn_val *f = tn_i_ode_values(s, s->n);
    if (!f) return t;
    here.params = p;
    s->p = &here;
    tn_i_ode_field(s, t, y, f);
    s->p = before;
    for (size_t j = 0; j < s->n; j++) f[j] = DIV(f[j], ADD(MUL(ABS(y[j]), s->o.rtol), s->o.atol));
    return SUB(tn_i_ode_mean_square(s, f), 1.0);
}

static void integrate(const steady *q, tn_ode_solution *out) {
    tn_i_ode *s = q->s;
    tn_ode_problem p = *q->p;
    tn_ode_options o = *q->o;
    p.field = field_of;
    p.user = (void *)(uintptr_t)q;
    p.y0 = q->y0;
    p.params = q->params;
    p.t0 = STOP(s->t0);
    p.t1 = STOP(s->t1);
    o.adjoint = "Direct";
    o.event = unrest;
    o.event_direction = -1;
    tn_ode_solve_at(&p, &o, out, s->file, s->line);
}

/* ---- Newton's method ------------------------------------------------------------------------------------- */

enum { COUNT, NORM, BEFORE, Y };

static tn_val not_done(const tn_val *in, void *user) {
    tn_i_ode *s = ((const steady *)user)->s;
    const tn_val falls = OR(LT(in[COUNT], FREE), LT(in[NORM], MUL(in[BEFORE], 0.5)));
    return AND(AND(AND(LT(in[COUNT], ITERATIONS), falls), LT(small, in[NORM])), FINITE(in[NORM]));
}

static void iterate(const tn_val *in, tn_val *out, void *user) {
    const steady *q = user;
    tn_i_ode *s = q->s;
    tn_val *f = tn_i_ode_values(s, s->n), *d = tn_i_ode_values(s, s->n);
    if (!f || !d) return;
    tn_i_ode_field(s, STOP(q->t), in + Y, f);
    const tn_val j = tn_i_ode_jacobian(s, q->t, in + Y, q->params);
    if (s->failed) return;
    tn_i_ode_apart(s, tn_solve_at(j, tn_i_ode_joined(s, f), s->file, s->line), d);
    out[COUNT] = ADD(in[COUNT], 1);
    out[NORM] = scaled_norm(s, d, in + Y);
    out[BEFORE] = in[NORM];
    for (size_t k = 0; k < s->n; k++) out[Y + k] = SUB(in[Y + k], d[k]);
}

/* y becomes the root next to it; whether there is one (bool). */
static tn_val polish(const steady *q, tn_val *y) {
    tn_i_ode *s = q->s;
    tn_val *carry = tn_i_ode_values(s, Y + s->n), *far = tn_i_ode_values(s, s->n);
    if (!carry || !far) return q->t;
    carry[COUNT] = SCALAR(tn_i64(), 0);
    carry[NORM] = carry[BEFORE] = SCALAR(tn_f64(), 1.0);
    for (size_t j = 0; j < s->n; j++) carry[Y + j] = y[j];
    tn_i_ode_while(s, not_done, iterate, (void *)(uintptr_t)q, Y + s->n, carry, false);
    for (size_t j = 0; j < s->n; j++) {
        far[j] = SUB(carry[Y + j], y[j]);
        y[j] = carry[Y + j];
    }
    return AND(LT(carry[NORM], 1.0), LT(scaled_norm(s, far, y), nearly));
}

/* ---- the root, with its derivative ------------------------------------------------------------------------- */

static void at_rest(const tn_val *in, tn_val *out, void *user) {
    const steady *q = user;
    q->p->field(q->t, in, q->p->params, out, q->p->user);
}

static void known(const tn_val *in, tn_val *out, void *user) {
    const steady *q = user;
    (void)in;
    for (size_t j = 0; j < q->s->n; j++) out[j] = q->found[j];
}

static const char *bad_steady(const tn_ode_options *o) {
    if (o->adjoint && strcmp(o->adjoint, "Implicit") != 0) return "the adjoint of a steady state is Implicit";
    if (o->steps || o->save_steps || o->dense || o->event || tn_val_ctx(o->ts))
        return "a steady state has no steps, save_steps, dense, event or ts";
    return NULL;
}

static void find(steady *q, tn_ode_solution *out, tn_val *residual) {
    tn_i_ode *s = q->s;
    const size_t n = s->n;
    integrate(q, out);
    if (s->failed || !tn_val_ctx(out->status)) return;
    for (size_t j = 0; j < n; j++) q->found[j] = out->y[j] = STOP(out->y[j]);
    const tn_val ok = polish(q, q->found), stopped = out->status;
    const tn_val arrived = OR(EQ(stopped, TN_ODE_SUCCESS), EQ(stopped, TN_ODE_EVENT)), converged = AND(arrived, ok);
    for (size_t j = 0; j < n; j++) q->found[j] = STOP(q->found[j]);
    if (s->failed) return;
    tn_custom_root_many_at(at_rest, known, NULL, q, n, q->found, 0, NULL, out->y, residual, s->file, s->line);
    const tn_val factor = WHERE(converged, SCALAR(tn_f64(), 1.0), NAN);
    for (size_t j = 0; j < n; j++) out->y[j] = MUL(out->y[j], tn_i_ode_like(s, factor, out->y[j]));
    out->t = STOP(out->t);
    out->status = WHERE(arrived, WHERE(ok, SCALAR(tn_i32(), TN_ODE_SUCCESS), TN_ODE_UNCONVERGED), stopped);
}

void tn_ode_steady_at(const tn_ode_problem *problem, const tn_ode_options *options, tn_ode_solution *out,
                      tn_val *residual, const char *file, int line) {
    tn_i_ode solve;
    tn_i_ode *s = &solve;
    if (residual) *residual = (tn_val){.id = line > 0 ? (uint32_t)line : 0};
    if (!tn_i_ode_open(s, problem, options, out, "ode_steady", file, line)) return;
    const char *bad = bad_steady(options);
    if (bad) tn_i_ode_fail(s, TN_EINVAL, "%s", bad);
    steady q = {.s = s, .p = problem, .o = options, .t = s->t1, .found = tn_i_ode_values(s, s->n)};
    tn_val *y0 = tn_i_ode_values(s, s->n), *params = tn_i_ode_values(s, problem->nparams);
    tn_ode_problem still = *problem;
    if (q.found && y0 && params) {
        for (size_t j = 0; j < s->n; j++) y0[j] = STOP(problem->y0[j]);
        for (size_t i = 0; i < problem->nparams; i++) params[i] = STOP(problem->params[i]);
        q.y0 = y0;
        q.params = still.params = params;
        s->p = &still;
        find(&q, out, residual);
    }
    tn_i_ode_close(s, out);
}
