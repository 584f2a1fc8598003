/* Backsolve: the continuous adjoint.  The solve is one equation with a rule of its own, which solves backwards from
 * where the solve ended, for the state y, its cotangent a, a' = -(df/dy)^T a, and those of the parameters,
 * q' = -(df/dp)^T a.  At each of ts the state is what was saved there, and a takes up that row's cotangent.
 *
 * The rule chooses steps by the errors of all three, so it is not linear but to its tolerance: hence one way. */
#include "ode/solve.h"

#include "base/axes.h"

#include <math.h>

typedef struct backsolve {
    tn_i_ode *s;
    const tn_ode_options *given;
    tn_fn *pull;    /* t, y.., p.., ct of f.. -> f.., ct of y.., ct of the float p.. */
    size_t nfloat;  /* float parameters */
    size_t nin;     /* operands of the rule: y0.., p.., t0, t1, and ts where it is set */
    size_t nout;    /* results: y.., ts_y.. where ts is set, t, status, steps, accepted, rejected */
    size_t nstored; /* residuals: the operands, then the results down to the status */
} backsolve;

static bool has_ts(const backsolve *q) { return tn_val_ctx(q->given->ts) != NULL; }
static size_t rows(const backsolve *q) { return q->s->n * (has_ts(q) ? 2 : 1); } /* y and ts_y */
static size_t states(const backsolve *q) { return 2 * q->s->n + q->nfloat; }
static bool is_float(tn_val v) { return tn_i_is_float(tn_val_type(v).dtype); }

/* ---- the field of the backwards solve --------------------------------------------------------------------- */

static void field_alone(const tn_val *in, tn_val *out, void *user) {
    const backsolve *q = user;
    const tn_ode_problem *p = q->s->p;
    p->field(in[0], in + 1, in + 1 + p->nstate, out, p->user);
    for (size_t j = 0; j < p->nstate; j++) out[j] = tn_i_ode_vary_like(q->s, out[j], in[1 + j]);
}

/* y has cotangents that vary as it does, so y0 has to vary over all that y will. */
static bool states_vary_enough(const backsolve *q, const tn_fn *f) {
    tn_i_ode *s = q->s;
    for (size_t j = 0; f && j < s->n; j++) {
        const tn_type y = tn_val_type(s->p->y0[j]), dy = tn_fn_output_type(f, j);
        if (tn_i_over(&y) == tn_i_over(&dy)) continue;
        tn_i_ode_fail(s, TN_ETYPE, "Backsolve: dy[%zu] varies over %s, y0[%zu] does not (tn_vary it)", j,
                      tn_i_axes_text(s->c, tn_i_over(&dy) & ~tn_i_over(&y)), j);
    }
    return !s->failed;
}

static bool make_pull(backsolve *q) {
    tn_i_ode *s = q->s;
    const size_t np = s->p->nparams, n = 1 + s->n + np;
    size_t bytes;
    tn_type *type = tn_i_mul(n, sizeof *type + sizeof(int), &bytes) ? tn_i_arena_alloc(&s->arena, bytes) : NULL;
    if (!type) {
        tn_i_ode_fail(s, TN_ENOMEM, "%s", tn_status_text(TN_ENOMEM));
        return false;
    }
    tn_wrt_list wrt = {.n = 0};
    int *index = (int *)(void *)(type + n);
    wrt.index = index;
    for (size_t i = 0; i < np; i++)
        if (!tn_val_ctx(s->p->params[i]) && s->p->params[i].trace) {
            tn_i_ode_fail(s, TN_EINVAL, "Backsolve needs arrays as parameters, params[%zu] is a number", i);
            return false;
        }
    for (size_t i = 0; i < n; i++) {
        type[i] = i == 0 ? tn_type_of(TN_F64, 0, NULL)
                         : tn_val_type(i <= s->n ? s->p->y0[i - 1] : s->p->params[i - 1 - s->n]);
        if (!tn_i_type_valid(&type[i])) return false; /* poison: the trace has failed */
        if (i > 0 && tn_i_is_float(type[i].dtype)) index[wrt.n++] = (int)i;
    }
    q->nfloat = wrt.n - s->n;
    tn_fn *f = tn_trace_many_at(s->c, field_alone, q, n, type, s->n, s->file, s->line);
    const bool fits = states_vary_enough(q, f);
    q->pull = fits ? tn_vjp(f, &wrt, NULL) : NULL;
    tn_fn_free(f);
    if (fits && !q->pull) tn_i_ode_fail(s, tn_last_status(s->c), "Backsolve, in the field's vjp: %s", tn_error(s->c));
    return q->pull != NULL;
}

/* f and its cotangents at t; the results are q->pull's. */
static tn_val *pulled(const backsolve *q, tn_val t, const tn_val *y, const tn_val *p, const tn_val *a) {
    tn_i_ode *s = q->s;
    const size_t n = s->n, np = s->p->nparams, nout = states(q);
    tn_val *in = tn_i_ode_values(s, 1 + 2 * n + np), *out = tn_i_ode_values(s, nout);
    if (!in || !out) return NULL;
    in[0] = t;
    for (size_t j = 0; j < n; j++) in[1 + j] = y[j], in[1 + n + np + j] = a[j];
    for (size_t i = 0; i < np; i++) in[1 + n + i] = p[i];
    tn_apply_many_at(q->pull, 1 + 2 * n + np, in, nout, out, s->file, s->line);
    return out;
}

/* The state: y.., a.., q.. */
static void augmented(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    const backsolve *q = user;
    const size_t n = q->s->n;
    const tn_val *r = pulled(q, t, y, p, y + n);
    for (size_t j = 0; r && j < states(q); j++) dy[j] = j < n ? r[j] : tn_neg_at(r[j], q->s->file, q->s->line);
}

/* Whether the cotangents are finite.  With constant steps that is all that has to hold: y may well explode backwards,
 * which does no harm where nothing reads it, as of a linear field. */
static tn_val finite(const backsolve *q, const tn_val *state) {
    tn_i_ode *s = q->s;
    tn_val all = tn_all_at(FINITE(state[s->n]), s->file, s->line);
    for (size_t j = s->n + 1; j < states(q); j++) all = AND(all, tn_all_at(FINITE(state[j]), s->file, s->line));
    return tn_i_ode_everywhere(s, all);
}

/* Solves the augmented state in place, from `from` to `to`; returns whether it came there (bool). */
static tn_val segment(const backsolve *q, tn_val from, tn_val to, tn_val *state, const tn_val *params) {
    tn_i_ode *s = q->s;
    tn_ode_options o = *q->given;
    tn_ode_problem p = {.size = sizeof p, .field = augmented, .user = (void *)(uintptr_t)q, .nstate = states(q)};
    tn_ode_solution sol = {.size = sizeof sol, .y = state};
    p.y0 = state;
    p.nparams = s->p->nparams;
    p.params = params;
    p.t0 = from;
    p.t1 = to;
    o.adjoint = "Direct";
    o.ts = (tn_val){0};
    o.progress = 0;
    tn_val *y0 = tn_i_ode_values(s, states(q));
    if (!y0) return from;
    for (size_t j = 0; j < states(q); j++) y0[j] = state[j];
    p.y0 = y0;
    tn_ode_solve_at(&p, &o, &sol, s->file, s->line);
    if (o.steps > 0 && !(s->m->diagonal > 0)) return finite(q, state);
    return EQ(sol.status, TN_ODE_SUCCESS);
}

/* a . f, f64: the derivative by the time at which y, whose cotangent a is, is looked at. */
static tn_val by_time(const backsolve *q, tn_val t, const tn_val *y, const tn_val *p, const tn_val *a) {
    tn_i_ode *s = q->s;
    const tn_val *f = pulled(q, t, y, p, a);
    tn_val *part = tn_i_ode_values(s, s->n);
    if (!f || !part) return t;
    for (size_t j = 0; j < s->n; j++) part[j] = CONVERT(tn_sum_at(MUL(a[j], f[j]), s->file, s->line), TN_F64);
    return tn_i_ode_total(s, s->n, part);
}

/* ---- the times that were saved ------------------------------------------------------------------------------- */

typedef struct passing {
    const backsolve *q;
    const tn_val *params;
} passing;

/* carry: where we are, whether all went well, the augmented state; x: a time, its y.., their cotangents.. */
static void pass_time(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const passing *k = user;
    tn_i_ode *s = k->q->s;
    const size_t n = s->n;
    tn_val *state = next + 2;
    for (size_t j = 0; j < states(k->q); j++) state[j] = carry[2 + j];
    const tn_val ok = segment(k->q, carry[0], x[0], state, k->params);
    next[0] = x[0];
    next[1] = AND(carry[1], ok);
    for (size_t j = 0; j < n; j++) {
        state[j] = x[1 + j];
        state[n + j] = ADD(state[n + j], x[1 + n + j]);
    }
    y[0] = by_time(k->q, x[0], x + 1, k->params, x + 1 + n);
}

/* ---- the rule ------------------------------------------------------------------------------------------------------
 */

static void solve(const tn_val *in, tn_val *out, void *user) {
    const backsolve *q = user;
    tn_i_ode *s = q->s;
    const size_t n = s->n, np = s->p->nparams;
    tn_ode_options o = *q->given;
    tn_ode_problem p = *s->p;
    tn_ode_solution sol = {.size = sizeof sol, .y = out, .ts_y = has_ts(q) ? out + n : NULL};
    p.y0 = in;
    p.params = in + n;
    p.t0 = in[n + np];
    p.t1 = in[n + np + 1];
    if (has_ts(q)) o.ts = in[n + np + 2];
    o.adjoint = "Direct";
    tn_ode_solve_at(&p, &o, &sol, s->file, s->line);
    const tn_val rest[] = {sol.t, sol.status, sol.steps, sol.accepted, sol.rejected};
    for (size_t i = 0; i < 5; i++) out[rows(q) + i] = rest[i];
}

static void solve_and_keep(const tn_val *in, tn_val *out, void *user) {
    const backsolve *q = user;
    tn_val *kept = out + q->nout;
    solve(in, out, user);
    for (size_t i = 0; i < q->nin; i++) kept[i] = in[i];
    for (size_t i = 0; i < rows(q) + 2; i++) kept[q->nin + i] = out[i];
}

/* Back to the first of ts, in place; *ct_ts becomes the cotangent of ts. */
static tn_val pass_times(const backsolve *q, const tn_val *in, const tn_val *y, const tn_val *ct, tn_val *at,
                         tn_val *state, tn_val *ct_ts) {
    tn_i_ode *s = q->s;
    const size_t n = s->n, np = s->p->nparams;
    const passing k = {.q = q, .params = in + n};
    tn_val *carry = tn_i_ode_values(s, 2 + states(q)), *xs = tn_i_ode_values(s, 1 + 2 * n);
    if (!carry || !xs) return *at;
    carry[0] = *at;
    carry[1] = tn_constant_at(s->c, tn_bool(), &(uint8_t){1}, s->file, s->line);
    for (size_t j = 0; j < states(q); j++) carry[2 + j] = state[j];
    xs[0] = in[n + np + 2];
    for (size_t j = 0; j < n; j++) xs[1 + j] = y[n + j], xs[1 + n + j] = ct[n + j];
    const tn_scan_args a = {.size = sizeof a,
                            .ncarry = 2 + states(q),
                            .init = carry,
                            .carry = carry,
                            .nx = 1 + 2 * n,
                            .xs = xs,
                            .ny = 1,
                            .ys = ct_ts,
                            .reverse = true};
    tn_scan_at(s->c, pass_time, (void *)(uintptr_t)&k, &a, s->file, s->line);
    *at = carry[0];
    for (size_t j = 0; j < states(q); j++) state[j] = carry[2 + j];
    return carry[1];
}

/* in: the residuals, then cotangents of y.., ts_y.. and t; out: those of y0.., the float p.., t0, t1, ts. */
static void backwards(const tn_val *in, tn_val *out, void *user) {
    const backsolve *q = user;
    tn_i_ode *s = q->s;
    const size_t n = s->n, np = s->p->nparams;
    const tn_val *y = in + q->nin, *ct = in + q->nstored, *params = in + n;
    tn_val t = y[rows(q)], ok = EQ(y[rows(q) + 1], TN_ODE_SUCCESS), *state = tn_i_ode_values(s, states(q));
    tn_val ct_ts = {0};
    size_t m = 0;
    if (!state) return;
    for (size_t j = 0; j < n; j++) state[j] = y[j], state[n + j] = ct[j];
    for (size_t i = 0; i < np; i++)
        if (is_float(params[i])) state[2 * n + m++] = tn_zeros_like_at(params[i], s->file, s->line);
    const tn_val ct_t1 = ADD(by_time(q, t, state, params, state + n), ct[rows(q)]);
    if (has_ts(q)) ok = AND(ok, pass_times(q, in, y, ct, &t, state, &ct_ts));
    ok = AND(ok, segment(q, t, in[n + np], state, params));
    m = 0;
    for (size_t j = 0; j < n + q->nfloat; j++) out[m++] = state[n + j];
    out[m++] = tn_neg_at(by_time(q, in[n + np], in, params, state + n), s->file, s->line);
    out[m++] = ct_t1;
    if (has_ts(q)) out[m++] = ct_ts;
    const tn_val factor = WHERE(ok, SCALAR(tn_f64(), 1.0), NAN);
    for (size_t j = 0; j < m; j++) out[j] = MUL(out[j], tn_i_ode_like(s, factor, out[j]));
}

void tn_i_ode_backsolve(tn_i_ode *s, const tn_ode_options *given, tn_ode_solution *out) {
    backsolve q = {.s = s, .given = given};
    const size_t n = s->n, np = s->p->nparams;
    if (!make_pull(&q)) return;
    q.nin = n + np + 2 + has_ts(&q);
    q.nout = rows(&q) + 5;
    q.nstored = q.nin + rows(&q) + 2;
    tn_val *in = tn_i_ode_values(s, q.nin), *y = tn_i_ode_values(s, q.nout);
    if (in && y) {
        for (size_t j = 0; j < n; j++) in[j] = s->p->y0[j];
        for (size_t i = 0; i < np; i++) in[n + i] = s->p->params[i];
        in[n + np] = s->t0;
        in[n + np + 1] = s->t1;
        if (has_ts(&q)) in[n + np + 2] = given->ts;
        tn_custom_vjp_one_way_many_at(solve, solve_and_keep, q.nstored, backwards,
                                      "the Backsolve adjoint has reverse mode only, and no second order", &q, q.nin, in,
                                      q.nout, y, s->file, s->line);
        for (size_t j = 0; j < n; j++) out->y[j] = y[j];
        for (size_t j = 0; j < n && has_ts(&q); j++) out->ts_y[j] = y[n + j];
        const tn_val *rest = y + rows(&q);
        out->t = rest[0], out->status = rest[1], out->steps = rest[2], out->accepted = rest[3], out->rejected = rest[4];
    }
    tn_fn_free(q.pull);
}
