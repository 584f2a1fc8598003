/* Adaptive steps: one attempt an iteration; a rejected one leaves everything but the step's length as it was. */
#include "ode/solve.h"

#include <float.h>

/* The carry: these scalars, y [n], f(t, y) [n] where the last stage is the next step's first, what is saved. */
enum { T, NEXT, R1, R2, STEPS, ACCEPTED, STATUS, SCALARS };

static bool keeps_first(const tn_i_ode *s) { return s->m->first_same_as_last; }
static size_t state_count(const tn_i_ode *s) { return SCALARS + s->n * (keeps_first(s) ? 2 : 1); }

static tn_val unfinished(tn_i_ode *s, tn_val t) { return tn_i_ode_before(s, t, s->t1); }

static tn_val goes_on(const tn_val *carry, void *user) {
    tn_i_ode *s = user;
    tn_val on = AND(unfinished(s, carry[T]), EQ(carry[STATUS], TN_ODE_SUCCESS));
    return s->o.max_steps > 0 ? AND(on, LT(carry[STEPS], s->o.max_steps)) : on;
}

/* The end of a step that begins at t: t1 if t + h passes it or falls short of it by rounding only. */
static tn_val end_of(tn_i_ode *s, tn_val t, tn_val length) {
    const tn_val next = ADD(t, STOP(MUL(length, s->dir)));
    const tn_val slack = MUL(MAX(ABS(STOP(s->t0)), ABS(STOP(s->t1))), 100 * DBL_EPSILON);
    return WHERE(LT(SUB(MUL(STOP(s->t1), s->dir), slack), MUL(STOP(next), s->dir)), s->t1, next);
}

/* Where the buffers have no row left. */
static tn_val full(tn_i_ode *s, tn_val accepted) {
    int64_t rows = s->o.save_steps > 0 ? s->o.save_steps : INT64_MAX;
    if (s->o.dense > 0 && s->o.dense < rows) rows = s->o.dense;
    return rows < INT64_MAX ? LE(rows, accepted) : LT(accepted, 0);
}

/* Why the solve cannot go on after an attempt that was to end at `tried`, the last reason first. */
static tn_val status_after(tn_i_ode *s, tn_val t, tn_val next, tn_val tried, tn_val error, tn_val is_full,
                           tn_val event) {
    /* No step, or the rejected one again: a shorter one does not differ from it. */
    const tn_val again = AND(EQ(next, tried), NOT(EQ(t, tried)));
    const tn_val stuck = AND(unfinished(s, t), OR(EQ(next, t), again));
    tn_val status = WHERE(FINITE(error), SCALAR(tn_i32(), TN_ODE_SMALL_STEP),
                          s->m->diagonal > 0 ? TN_ODE_UNCONVERGED : TN_ODE_NONFINITE);
    status = WHERE(stuck, status, TN_ODE_SUCCESS);
    if (tn_val_ctx(event)) status = WHERE(event, TN_ODE_EVENT, status);
    return tn_val_ctx(is_full) ? WHERE(is_full, TN_ODE_CAPACITY, status) : status;
}

/* The verdict on an attempt, and the controller's part of the next carry. */
static tn_val control(tn_i_ode *s, const tn_i_ode_step *st, const tn_val *in, tn_val *out) {
    const tn_val error = tn_i_ode_error(s, st), r0 = DIV(1.0, error), none = {0};
    tn_val accept = LT(error, 1.0), is_full = none, event = none;
    if (s->o.dtmin > 0) accept = OR(accept, LE(ABS(STOP(st->h)), s->o.dtmin * (1 + 4 * DBL_EPSILON)));
    const tn_val good = accept;
    if (s->o.save_steps > 0 || s->o.dense > 0) is_full = AND(good, full(s, in[ACCEPTED]));
    if (s->o.event) {
        const tn_val g = tn_i_ode_event_value(s, st->next, st->z);
        event = AND(good, tn_i_ode_event_between(s, tn_i_ode_event_value(s, st->t, st->y), g));
    }
    if (tn_val_ctx(is_full)) accept = AND(accept, NOT(is_full));
    if (tn_val_ctx(event)) accept = AND(accept, NOT(event));
    const tn_val length = tn_i_ode_next_step(s, st->h, accept, r0, in[R1], in[R2]);
    const tn_val usable = AND(FINITE(r0), LT(0.0, r0));
    out[T] = WHERE(accept, st->next, st->t);
    /* At an event the step that holds it is kept, to be made again. */
    out[NEXT] = end_of(s, out[T], length);
    out[STATUS] = status_after(s, out[T], out[NEXT], st->next, error, is_full, event);
    if (tn_val_ctx(event)) out[NEXT] = WHERE(event, st->next, out[NEXT]);
    out[R1] = WHERE(accept, WHERE(usable, r0, 1.0), in[R1]);
    out[R2] = WHERE(accept, in[R1], in[R2]);
    out[STEPS] = ADD(in[STEPS], 1);
    out[ACCEPTED] = ADD(in[ACCEPTED], CONVERT(accept, TN_I64));
    return accept;
}

/* The step that the carry is about to make. */
static bool step_of(tn_i_ode *s, const tn_val *carry, tn_i_ode_step *st) {
    if (!tn_i_ode_step_new(s, st)) return false;
    st->t = carry[T];
    st->next = carry[NEXT];
    st->h = SUB(st->next, st->t);
    st->y = carry + SCALARS;
    st->first = keeps_first(s);
    st->last = true;
    for (size_t j = 0; st->first && j < s->n; j++) st->k[j] = carry[SCALARS + s->n + j];
    return true;
}

static void attempt(const tn_val *in, tn_val *out, void *user) {
    tn_i_ode *s = user;
    tn_i_ode_step st;
    tn_i_ode_saved b;
    const size_t n = s->n, saved = tn_i_ode_saved_count(s), states = state_count(s);
    tn_val *copy = tn_i_ode_values(s, saved + 1);
    if (!copy || !step_of(s, in, &st) || !tn_i_ode_saved_new(s, &b)) return;
    for (size_t j = 0; j < saved; j++) copy[j] = in[states + j];
    tn_i_ode_saved_get(s, &b, copy);
    tn_i_ode_step_make(s, &st);
    st.end = st.next;
    st.w = st.z;
    const tn_val accept = control(s, &st, in, out);
    for (size_t j = 0; j < n; j++) {
        out[SCALARS + j] = WHERE(accept, st.z[j], st.y[j]);
        if (keeps_first(s)) out[SCALARS + n + j] = WHERE(accept, st.k[(s->m->stages - 1) * n + j], st.k[j]);
    }
    if (saved) tn_i_ode_save(s, &b, &st, accept, in[ACCEPTED]);
    tn_i_ode_tell(s, out[T]);
    tn_i_ode_saved_set(s, &b, out + states);
}

static void start(tn_i_ode *s, tn_val *carry) {
    const tn_val zero = SCALAR(tn_i64(), 0);
    tn_val *k1 = keeps_first(s) ? carry + SCALARS + s->n : tn_i_ode_values(s, s->n);
    if (!k1) return;
    for (size_t j = 0; j < s->n; j++) carry[SCALARS + j] = s->p->y0[j];
    if (keeps_first(s) || !(s->o.dt0 > 0)) tn_i_ode_field(s, s->t0, carry + SCALARS, k1);
    carry[T] = s->t0;
    carry[NEXT] = end_of(s, s->t0, tn_i_ode_first_step(s, carry + SCALARS, k1));
    carry[R1] = carry[R2] = SCALAR(tn_f64(), 1.0);
    carry[STEPS] = carry[ACCEPTED] = zero;
    carry[STATUS] = SCALAR(tn_i32(), TN_ODE_SUCCESS);
    if (tn_val_ctx(s->o.ts)) carry[STATUS] = WHERE(tn_i_ode_times_in_order(s), carry[STATUS], TN_ODE_TIMES);
}

void tn_i_ode_adaptive(tn_i_ode *s, tn_ode_solution *out) {
    tn_i_ode_saved b;
    const size_t states = state_count(s), n = states + tn_i_ode_saved_count(s);
    tn_val *carry = tn_i_ode_values(s, n);
    if (!carry || !tn_i_ode_saved_new(s, &b)) return;
    start(s, carry);
    tn_i_ode_saved_init(s, &b);
    tn_i_ode_saved_set(s, &b, carry + states);
    tn_i_ode_while(s, goes_on, attempt, s, n, carry, true);
    tn_i_ode_saved_get(s, &b, carry + states);
    tn_val t = carry[T];
    out->status = WHERE(AND(EQ(carry[STATUS], TN_ODE_SUCCESS), unfinished(s, t)), TN_ODE_MAX_STEPS, carry[STATUS]);
    if (s->o.event) {
        tn_i_ode_step st;
        const tn_val happened = EQ(carry[STATUS], TN_ODE_EVENT);
        tn_val *y = tn_i_ode_values(s, s->n);
        if (!y || !step_of(s, carry, &st)) return;
        for (size_t j = 0; j < s->n; j++) y[j] = carry[SCALARS + j];
        tn_i_ode_event_locate(s, happened, &st, &t, y);
        tn_i_ode_save(s, &b, &st, happened, carry[ACCEPTED]);
        carry[ACCEPTED] = ADD(carry[ACCEPTED], CONVERT(happened, TN_I64));
        for (size_t j = 0; j < s->n; j++) carry[SCALARS + j] = y[j];
    }
    tn_i_ode_saved_out(s, &b, out);
    for (size_t j = 0; j < s->n; j++) out->y[j] = carry[SCALARS + j];
    out->t = t;
    out->steps = carry[STEPS];
    out->accepted = carry[ACCEPTED];
    out->rejected = SUB(carry[STEPS], carry[ACCEPTED]);
}
