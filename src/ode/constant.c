/* Constant steps: step i goes from t0 + i h to t0 + (i + 1) h. */
#include "ode/solve.h"

/* The carry: y [n], of implicit methods whether all stages were solved, what is saved. */

static bool implicit(const tn_i_ode *s) { return s->m->diagonal > 0; }
static size_t state_count(const tn_i_ode *s) { return s->n + implicit(s); }

static tn_val time_of(tn_i_ode *s, tn_val i, tn_val h) { return ADD(s->t0, MUL(CONVERT(i, TN_F64), h)); }

/* With times to be met the last step ends at t1, which t0 + steps h may miss by rounding. */
static tn_val end_of(tn_i_ode *s, tn_val i, tn_val h) {
    const tn_val next = time_of(s, ADD(i, 1), h);
    return tn_val_ctx(s->o.ts) ? WHERE(EQ(i, s->o.steps - 1), s->t1, next) : next;
}

static tn_val truth(tn_i_ode *s) { return tn_constant_at(s->c, tn_bool(), &(uint8_t){1}, s->file, s->line); }

static tn_val length(tn_i_ode *s) { return DIV(SUB(s->t1, s->t0), (double)s->o.steps); }

static void step(tn_val i, const tn_val *in, tn_val *out, void *user) {
    tn_i_ode *s = user;
    tn_i_ode_step st;
    tn_i_ode_saved b;
    const size_t states = state_count(s), saved = tn_i_ode_saved_count(s);
    tn_val *carry = tn_i_ode_values(s, states + saved);
    if (!carry || !tn_i_ode_step_new(s, &st) || !tn_i_ode_saved_new(s, &b)) return;
    for (size_t j = 0; j < states + saved; j++) carry[j] = in[j];
    tn_i_ode_saved_get(s, &b, carry + states);
    st.h = length(s);
    st.t = time_of(s, i, st.h);
    st.next = end_of(s, i, st.h);
    st.y = carry;
    st.last = tn_val_ctx(s->o.ts) || s->o.dense > 0;
    tn_i_ode_step_make(s, &st);
    st.end = st.next;
    st.w = st.z;
    if (saved) tn_i_ode_save(s, &b, &st, truth(s), i);
    tn_i_ode_tell(s, st.next);
    for (size_t j = 0; j < s->n; j++) out[j] = st.z[j];
    if (implicit(s)) out[s->n] = AND(in[s->n], st.converged);
    tn_i_ode_saved_set(s, &b, out + states);
}

/* Whether all of y is finite, as a status. */
static tn_val status_of(tn_i_ode *s, const tn_val *y) {
    tn_val finite = tn_all_at(FINITE(y[0]), s->file, s->line);
    for (size_t j = 1; j < s->n; j++) finite = AND(finite, tn_all_at(FINITE(y[j]), s->file, s->line));
    tn_val status = WHERE(tn_i_ode_everywhere(s, finite), SCALAR(tn_i32(), TN_ODE_SUCCESS), TN_ODE_NONFINITE);
    if (implicit(s)) status = WHERE(y[s->n], status, TN_ODE_UNCONVERGED);
    return tn_val_ctx(s->o.ts) ? WHERE(tn_i_ode_times_in_order(s), status, TN_ODE_TIMES) : status;
}

void tn_i_ode_constant(tn_i_ode *s, tn_ode_solution *out) {
    tn_i_ode_saved b;
    const size_t states = state_count(s), n = states + tn_i_ode_saved_count(s);
    tn_val *carry = tn_i_ode_values(s, n);
    if (!carry || !tn_i_ode_saved_new(s, &b)) return;
    for (size_t j = 0; j < s->n; j++) carry[j] = s->p->y0[j];
    if (implicit(s)) carry[s->n] = truth(s);
    tn_i_ode_saved_init(s, &b);
    tn_i_ode_saved_set(s, &b, carry + states);
    tn_i_ode_repeat(s, s->o.steps, step, s, n, carry);
    tn_i_ode_saved_get(s, &b, carry + states);
    for (size_t j = 0; j < s->n; j++) out->y[j] = carry[j];
    tn_i_ode_saved_out(s, &b, out);
    out->t = ADD(s->t1, 0.0);
    out->status = status_of(s, carry);
    out->steps = out->accepted = SCALAR(tn_i64(), s->o.steps);
    out->rejected = SCALAR(tn_i64(), 0);
}
