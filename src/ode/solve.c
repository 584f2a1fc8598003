/* tn_ode_solve: its arguments, and what the parts share. */
#include "ode/solve.h"

#include "base/nearest.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what the parts share ------------------------------------------------------------------------ */

void tn_i_ode_fail(tn_i_ode *s, tn_status status, const char *fmt, ...) {
    char text[384];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!s->failed) (void)tn_fail_at(s->c, status, s->name, text, s->file, s->line);
    s->failed = true;
}

tn_val *tn_i_ode_values(tn_i_ode *s, size_t n) {
    size_t bytes;
    if (s->failed) return NULL;
    tn_val *v = tn_i_mul(n + !n, sizeof *v, &bytes) ? tn_i_arena_alloc(&s->arena, bytes) : NULL;
    if (!v) tn_i_ode_fail(s, TN_ENOMEM, "%s", tn_status_text(TN_ENOMEM));
    return v;
}

tn_val tn_i_ode_rows(tn_i_ode *s, tn_val x, int64_t rows, double number) {
    tn_type t = tn_val_type(x);
    int64_t dim[TN_MAX_RANK] = {rows};
    if (t.rank + 1 > TN_MAX_RANK) {
        tn_i_ode_fail(s, TN_ETYPE, "what is saved needs states of rank %d at most", TN_MAX_RANK - 1);
        return x;
    }
    for (int i = 0; i < t.rank; i++) dim[i + 1] = t.dim[i];
    return SCALAR(tn_type_of((tn_dtype)t.dtype, (size_t)t.rank + 1, dim), number);
}

tn_val tn_i_ode_put(tn_i_ode *s, tn_val buffer, tn_val i, tn_val x) {
    tn_val at[TN_MAX_RANK] = {i};
    const int rank = tn_rank(buffer);
    for (int d = 1; d < rank && d < TN_MAX_RANK; d++) at[d] = tn_number_i64(0);
    return tn_dynamic_update_slice_at(buffer, tn_expand_dims_at(x, 0, s->file, s->line),
                                      tn_vals_of(rank > 0 ? (size_t)rank : 0, at), s->file, s->line);
}

tn_val tn_i_ode_before(tn_i_ode *s, tn_val x, tn_val y) { return LT(0.0, MUL(SUB(STOP(y), STOP(x)), s->dir)); }

/* ---- arguments --------------------------------------------------------------------------------------- */

/* NAME, or NAME:count where counted; the schedule of the loop. */
static bool adjoint(tn_i_ode *s) {
    const char *name = s->o.adjoint ? s->o.adjoint : "RecursiveCheckpoint", *colon = strchr(name, ':');
    static const char recursive[] = "RecursiveCheckpoint";
    const size_t length = colon ? (size_t)(colon - name) : strlen(name);
    long long count = 100;
    if (length == sizeof recursive - 1 && !strncmp(name, recursive, length)) {
        int end = 0;
        if (colon && (sscanf(colon, ":%9lld%n", &count, &end) != 1 || colon[end] || count < 1)) return false;
        (void)snprintf(s->schedule, sizeof s->schedule, "%s:%lld", s->o.steps > 0 ? "revolve" : "online", count);
        return true;
    }
    if (colon) return false;
    if (!strcmp(name, "AllSave")) (void)snprintf(s->schedule, sizeof s->schedule, "all_save");
    if (!strcmp(name, "ForwardMode")) s->adjoint = TN_I_ODE_FORWARD;
    if (!strcmp(name, "Backsolve")) s->adjoint = TN_I_ODE_BACKSOLVE;
    return !strcmp(name, "AllSave") || !strcmp(name, "Direct") || s->adjoint != TN_I_ODE_LOOP;
}

static const char *bad_backsolve(const tn_ode_options *o) {
    if (o->save_steps > 0 || o->dense > 0 || o->event)
        return "Backsolve has no derivative of save_steps, dense or event";
    if (o->steps > 0 && tn_val_ctx(o->ts)) return "Backsolve needs adaptive steps for ts";
    return NULL;
}

static double otherwise(double x, double other) { return x == 0 ? other : x; }

static bool not_negative(double x) { return x >= 0 && isfinite(x); }

static const char *method_name(const void *list, size_t i) {
    (void)list;
    const tn_i_tableau *m = tn_i_tableau_at(i);
    return m ? m->name : NULL;
}

static const char *bad_options(tn_i_ode *s) {
    tn_ode_options *o = &s->o;
    s->m = tn_i_tableau_find(o->solver ? o->solver : "Tsit5");
    if (!s->m) {
        char near[TN_I_NEAREST];
        tn_i_ode_fail(s, TN_EINVAL, "no solver is called '%.40s'%s", o->solver,
                      tn_i_nearest(near, o->solver, strlen(o->solver), method_name, NULL));
        return NULL;
    }
    if (o->steps < 0 || o->max_steps < 0 || o->save_steps < 0 || o->dense < 0 || o->progress < 0)
        return "a count is negative";
    if (o->save_steps > INT32_MAX || o->dense > INT32_MAX) return "a capacity is too large";
    const bool steady = o->adjoint && !strcmp(o->adjoint, "Implicit"); /* has looked at the name itself */
    if (steady && !strcmp(s->name, "ode_solve")) return "the adjoint Implicit belongs to tn_ode_steady";
    if (!steady && !adjoint(s)) {
        static const char *const names[] = {"RecursiveCheckpoint", "AllSave",   "Direct",
                                            "ForwardMode",         "Backsolve", NULL};
        char near[TN_I_NEAREST];
        tn_i_ode_fail(s, TN_EINVAL, "no adjoint is called '%.40s'%s", o->adjoint,
                      tn_i_nearest(near, o->adjoint, strcspn(o->adjoint, ":"), tn_i_array_name, names));
        return NULL;
    }
    const char *bad = s->adjoint == TN_I_ODE_BACKSOLVE ? bad_backsolve(o) : NULL;
    if (bad) return bad;
    if (!(not_negative(o->rtol) && not_negative(o->atol) && not_negative(o->dt0) && not_negative(o->dtmin) &&
          not_negative(o->dtmax)))
        return "a tolerance or a step size is negative or not finite";
    if (o->dtmax > 0 && o->dtmin > o->dtmax) return "dtmin is larger than dtmax";
    if (o->steps > 0) {
        if (o->rtol > 0 || o->atol > 0 || o->dt0 > 0 || o->dtmin > 0 || o->dtmax > 0 || o->max_steps > 0 || o->event)
            return "steps says that steps are constant: rtol, atol, dt0, dtmin, dtmax, max_steps and event belong to "
                   "adaptive ones";
        if (o->save_steps > 0) o->save_steps = o->steps;
        if (o->dense > 0 && o->dense < o->steps) return "dense is smaller than steps";
        return NULL;
    }
    if (!s->m->e) return "the solver has no error estimate: it needs constant steps (steps > 0)";
    if (!(o->rtol > 0 || o->atol > 0)) return "neither steps (constant ones) nor rtol or atol (adaptive) is given";
    if (o->pcoeff == 0 && o->icoeff == 0 && o->dcoeff == 0) o->icoeff = 1;
    if (!(o->pcoeff + o->icoeff + o->dcoeff > 0)) return "pcoeff + icoeff + dcoeff is not positive";
    o->safety = otherwise(o->safety, 0.9);
    o->factormin = otherwise(o->factormin, 0.2);
    o->factormax = otherwise(o->factormax, 10);
    if (!(o->safety > 0 && o->safety < 1 && o->factormin > 0 && o->factormin < 1 && o->factormax > 1))
        return "0 < safety < 1, 0 < factormin < 1 < factormax does not hold";
    return NULL;
}

/* Rank 0, f64; a plain number becomes one. */
static tn_val time_value(tn_i_ode *s, tn_val t, const char *name) {
    const tn_type want = tn_type_of(TN_F64, 0, NULL);
    if (!tn_val_ctx(t) && t.trace) return SCALAR(want, t);
    const tn_type got = tn_val_type(t);
    char text[TN_I_TYPE_TEXT];
    if (!tn_val_ctx(t) && !t.id) tn_i_ode_fail(s, TN_EINVAL, "%s was never set", name);
    if (tn_val_ctx(t) && tn_i_type_valid(&got) && !tn_type_equal(&want, &got))
        tn_i_ode_fail(s, TN_ETYPE, "%s is %s, not f64[]", name, tn_i_type_text(text, &got));
    return t;
}

/* What constant steps of an implicit method solve their stages to. */
static void stage_tolerance(tn_i_ode *s) {
    if (s->o.steps > 0 && s->m->diagonal > 0)
        s->o.rtol = s->o.atol = tn_val_type(s->p->y0[0]).dtype == TN_F64 ? 1e-11 : 1e-4;
    if (s->m->diagonal > 0 && !s->elements)
        tn_i_ode_fail(s, TN_EINVAL, "an implicit solver needs a state of some elements");
}

static void check_values(tn_i_ode *s, const tn_ode_solution *out) {
    char text[TN_I_TYPE_TEXT];
    s->t0 = time_value(s, s->p->t0, "t0");
    s->t1 = time_value(s, s->p->t1, "t1");
    s->by_time = tn_i_ode_over(s, s->t0) | tn_i_ode_over(s, s->t1);
    for (size_t j = 0; j < s->n; j++) {
        const tn_type t = tn_val_type(s->p->y0[j]);
        if (!tn_val_ctx(s->p->y0[j]) && !s->p->y0[j].trace && !s->p->y0[j].id)
            tn_i_ode_fail(s, TN_EINVAL, "y0[%zu] was never set", j);
        if (!tn_val_ctx(s->p->y0[j]) && s->p->y0[j].trace)
            tn_i_ode_fail(s, TN_ETYPE, "y0[%zu] is a number, which has no type: make an array of it, by tn_full", j);
        if (!tn_i_type_valid(&t)) continue; /* poison says so itself */
        if (!tn_i_is_float(t.dtype))
            tn_i_ode_fail(s, TN_ETYPE, "y0[%zu] is %s, not of floats", j, tn_i_type_text(text, &t));
        s->elements += tn_type_elements(&t);
        if (s->m->diagonal > 0 && t.dtype != tn_val_type(s->p->y0[0]).dtype)
            tn_i_ode_fail(s, TN_ETYPE, "%s needs states of one dtype: y0[%zu] is %s", s->m->name, j,
                          tn_i_type_text(text, &t));
    }
    if (tn_val_ctx(s->o.ts)) {
        const tn_type t = tn_val_type(s->o.ts);
        s->by_time |= tn_i_ode_over(s, s->o.ts);
        if (tn_i_type_valid(&t) && (t.dtype != TN_F64 || t.rank != 1))
            tn_i_ode_fail(s, TN_ETYPE, "ts is %s, not an f64 array of rank 1", tn_i_type_text(text, &t));
        if (!out->ts_y) tn_i_ode_fail(s, TN_EINVAL, "ts is set, but the solution's ts_y is NULL");
    }
    if (s->o.save_steps > 0 && !out->steps_y)
        tn_i_ode_fail(s, TN_EINVAL, "save_steps is set, but the solution's steps_y is NULL");
    if (s->o.dense > 0 && !out->dense_y)
        tn_i_ode_fail(s, TN_EINVAL, "dense is set, but the solution's dense_y is NULL");
}

/* All values of the solution, as poison of the caller's line. */
static void poison(const tn_ode_problem *p, tn_ode_solution *out, int line) {
    const tn_val bad = {.id = line > 0 ? (uint32_t)line : 0};
    out->t = out->status = out->steps = out->accepted = out->rejected = bad;
    out->steps_t = out->dense_t = out->dense_h = bad;
    for (size_t j = 0; p && j < p->nstate; j++) {
        out->y[j] = bad;
        if (out->ts_y) out->ts_y[j] = bad;
        if (out->steps_y) out->steps_y[j] = bad;
        if (out->dense_y) out->dense_y[2 * j] = out->dense_y[2 * j + 1] = bad;
    }
}

static const char *bad_problem(const tn_ode_problem *p, const tn_ode_options *o) {
    if (!o) return "options is NULL";
    if (o->size != sizeof *o) return "the options' size is not sizeof(tn_ode_options)";
    if (!p->field) return "the problem's field is NULL";
    if (!p->nstate) return "nstate is 0";
    if (p->nparams && !p->params) return "params is NULL, but nparams is not 0";
    return NULL;
}

/* ---- telling, and one direction only -------------------------------------------------------------------- */

void tn_i_ode_tell(tn_i_ode *s, tn_val t) {
    if (s->o.progress < 1 || s->failed) return;
    const tn_val step = ADD(tn_loop_step_at(s->c, s->file, s->line), 1);
    const tn_val whole = SUB(s->t1, s->t0), part = WHERE(EQ(whole, 0.0), 1.0, DIV(SUB(t, s->t0), whole));
    tn_progress_at(s->c, "ode_solve", step, s->o.progress, 2, (const tn_val[]){t, part}, s->file, s->line);
}

static void forward_only(const tn_i_ode *s, tn_val *v) {
    if (tn_val_ctx(*v)) *v = tn_forward_only_at(*v, "the ForwardMode adjoint has no reverse mode", s->file, s->line);
}

static void solution_forward_only(const tn_i_ode *s, tn_ode_solution *out) {
    forward_only(s, &out->t);
    if (s->o.save_steps > 0) forward_only(s, &out->steps_t);
    if (s->o.dense > 0) forward_only(s, &out->dense_t), forward_only(s, &out->dense_h);
    for (size_t j = 0; j < s->n; j++) {
        forward_only(s, &out->y[j]);
        if (tn_val_ctx(s->o.ts)) forward_only(s, &out->ts_y[j]);
        if (s->o.save_steps > 0) forward_only(s, &out->steps_y[j]);
        if (s->o.dense > 0) forward_only(s, &out->dense_y[2 * j]), forward_only(s, &out->dense_y[2 * j + 1]);
    }
}

/* The trace in which the problem's values are. */
static tn_ctx *context_of(const tn_ode_problem *p) {
    tn_ctx *c = tn_val_ctx(p->t0) ? tn_val_ctx(p->t0) : tn_val_ctx(p->t1);
    for (size_t j = 0; j < p->nstate && p->y0 && !c; j++) c = tn_val_ctx(p->y0[j]);
    for (size_t i = 0; i < p->nparams && p->params && !c; i++) c = tn_val_ctx(p->params[i]);
    return c;
}

static const char *bad_call(const tn_ode_problem *p, const tn_ode_solution *out) {
    if (p->size != sizeof *p) return "the problem's size is not sizeof(tn_ode_problem)";
    if (!p->y0) return "the problem's y0 is NULL";
    if (!out) return "the solution is NULL";
    if (out->size != sizeof *out) return "the solution's size is not sizeof(tn_ode_solution)";
    if (!out->y) return "the solution's y is NULL";
    return out->y == p->y0 ? "the solution's y is the problem's y0: it needs an array of its own" : NULL;
}

/* Begins s and makes all of *out poison; false where that cannot be. */
static bool begin(tn_i_ode *s, const tn_ode_problem *problem, tn_ode_solution *out, int line) {
    if (!problem) return false;
    const char *bad = bad_call(problem, out);
    s->n = problem->nstate;
    s->c = context_of(problem); /* before y, which may be y0, is poison */
    if (!bad) poison(problem, out, line);
    for (size_t j = 0; bad && out && out->y && j < problem->nstate; j++)
        out->y[j] = (tn_val){.id = line > 0 ? (uint32_t)line : 0};
    if (s->c && bad) tn_i_ode_fail(s, TN_EINVAL, "%s", bad);
    return s->c && !bad;
}

bool tn_i_ode_open(tn_i_ode *s, const tn_ode_problem *problem, const tn_ode_options *options, tn_ode_solution *out,
                   const char *name, const char *file, int line) {
    *s = (tn_i_ode){.name = name, .file = file, .line = line, .p = problem};
    if (!begin(s, problem, out, line)) return false;
    const char *bad = bad_problem(problem, options);
    if (!bad) {
        s->o = *options;
        bad = bad_options(s);
    }
    if (bad) tn_i_ode_fail(s, TN_EINVAL, "%s", bad);
    if (!s->failed) check_values(s, out);
    if (!s->failed) stage_tolerance(s);
    if (s->failed) return false;
    tn_i_arena_init(&s->arena, s->c);
    s->dir = WHERE(LE(STOP(s->t0), STOP(s->t1)), SCALAR(tn_f64(), 1.0), -1.0);
    return true;
}

void tn_i_ode_close(tn_i_ode *s, tn_ode_solution *out) {
    tn_i_arena_free(&s->arena);
    if (s->failed) poison(s->p, out, s->line);
}

void tn_ode_solve_at(const tn_ode_problem *problem, const tn_ode_options *options, tn_ode_solution *out,
                     const char *file, int line) {
    tn_i_ode solve;
    tn_i_ode *s = &solve;
    if (!tn_i_ode_open(s, problem, options, out, "ode_solve", file, line)) return;
    if (s->adjoint == TN_I_ODE_BACKSOLVE)
        tn_i_ode_backsolve(s, options, out);
    else if (s->o.steps > 0)
        tn_i_ode_constant(s, out);
    else
        tn_i_ode_adaptive(s, out);
    if (s->adjoint == TN_I_ODE_FORWARD && !s->failed) solution_forward_only(s, out);
    tn_i_ode_close(s, out);
}
