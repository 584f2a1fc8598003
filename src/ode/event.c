/* Events: a sign that changes within a step, and the root of the dense output there. */
#include "ode/solve.h"

tn_val tn_i_ode_event_value(tn_i_ode *s, tn_val t, const tn_val *y) {
    const tn_val g = s->o.event(t, y, s->p->params, s->p->user);
    const tn_type type = tn_val_type(g);
    char text[TN_I_TYPE_TEXT];
    if (!tn_val_ctx(g))
        tn_i_ode_fail(s, TN_EINVAL, "the event returned no array");
    else if (!s->failed && (type.rank != 0 || !tn_i_is_float(type.dtype)))
        tn_i_ode_fail(s, TN_ETYPE, "the event is %s, not f64[] or f32[]", tn_i_type_text(text, &type));
    else if (tn_i_ode_over(s, g))
        tn_i_ode_same_on_ranks(s, g, "the event", ": ranks would stop at different times (psum it)");
    return CONVERT(g, TN_F64);
}

tn_val tn_i_ode_event_between(tn_i_ode *s, tn_val before, tn_val behind) {
    const tn_val up = AND(LE(before, 0.0), LT(0.0, behind)), down = AND(LT(0.0, before), LE(behind, 0.0));
    return s->o.event_direction > 0 ? up : s->o.event_direction < 0 ? down : OR(up, down);
}

/* ---- the root in a step ---------------------------------------------------------------------------- */

/* The event over a step as a program of its own, which can be differentiated by itself:
 * theta, t, h, y [n], k [stages n], params.. -> event. */
static tn_val along(const tn_val *in, void *user) {
    tn_i_ode outer = *(const tn_i_ode *)user, *s = &outer;
    tn_ode_problem p = *s->p;
    tn_i_ode_step st = {.t = in[1], .h = in[2], .y = in + 3};
    tn_i_arena_init(&s->arena, s->c);
    tn_val *y = tn_i_ode_values(s, s->n), *k = tn_i_ode_values(s, s->m->stages * s->n), g = in[0];
    s->p = &p;
    p.params = in + 3 + s->n + s->m->stages * s->n;
    if (y && k) {
        for (size_t i = 0; i < s->m->stages * s->n; i++) k[i] = in[3 + s->n + i];
        st.k = k;
        tn_i_ode_between(s, &st, in[0], y);
        g = tn_i_ode_event_value(s, ADD(st.t, MUL(in[0], st.h)), y);
    }
    tn_i_arena_free(&s->arena);
    return g;
}

/* The program and its derivative in theta; the operands behind theta. */
typedef struct search {
    tn_i_ode *s;
    tn_fn *value, *slope; /* slope: operands, a tangent of theta -> the value, its tangent */
    size_t n;
    tn_val *operand; /* [n + 1]: theta, .., the tangent */
    tn_val happened, sign;
} search;

static tn_val value_at(const search *q, tn_val theta) {
    q->operand[0] = theta;
    return tn_apply_at(q->value, q->n, q->operand, q->s->file, q->s->line);
}

static bool search_new(tn_i_ode *s, const tn_i_ode_step *st, search *q) {
    const size_t nk = s->m->stages * s->n, n = 3 + s->n + nk + s->p->nparams;
    size_t at = 0;
    *q = (search){.s = s, .n = n, .operand = tn_i_ode_values(s, n + 1)};
    tn_type *type = s->failed ? NULL : tn_i_arena_alloc(&s->arena, n * sizeof *type);
    if (!q->operand || !type) {
        tn_i_ode_fail(s, TN_ENOMEM, "%s", tn_status_text(TN_ENOMEM));
        return false;
    }
    const tn_val scalar[3] = {SCALAR(tn_f64(), 1.0), st->t, st->h};
    for (size_t i = 0; i < 3; i++) q->operand[at++] = scalar[i];
    for (size_t j = 0; j < s->n; j++) q->operand[at++] = st->y[j];
    for (size_t i = 0; i < nk; i++) q->operand[at++] = st->k[i];
    for (size_t i = 0; i < s->p->nparams; i++) q->operand[at++] = s->p->params[i];
    q->operand[n] = scalar[0];
    for (size_t i = 0; i < n; i++) {
        type[i] = tn_val_type(q->operand[i]);
        if (!tn_i_type_valid(&type[i])) return false; /* poison: the trace has failed */
    }
    q->value = tn_trace_at(s->c, along, s, n, type, s->file, s->line);
    q->slope = tn_jvp(q->value, tn_wrt(0));
    if (!q->slope) tn_i_ode_fail(s, tn_last_status(s->c), "in the event: %s", tn_error(s->c));
    return q->slope != NULL;
}

/* One halving of [in[1], in[2]], at whose ends the signs differ. */
static tn_val halving(const tn_val *in, void *user) {
    const search *q = user;
    tn_i_ode *s = q->s;
    return AND(q->happened, LT(in[0], 53));
}

static void halve(const tn_val *in, tn_val *out, void *user) {
    const search *q = user;
    tn_i_ode *s = q->s;
    const tn_val middle = MUL(ADD(in[1], in[2]), 0.5), behind = LT(0.0, MUL(value_at(q, middle), q->sign));
    out[0] = ADD(in[0], 1);
    out[1] = WHERE(behind, in[1], middle);
    out[2] = WHERE(behind, middle, in[2]);
}

/* theta, found without derivative and then corrected twice by Newton's method with one: the first correction makes
 * the first derivative that of the root, the second one the second and the third. */
static tn_val root(search *q) {
    tn_i_ode *s = q->s;
    tn_val ends[3] = {SCALAR(tn_i64(), 0), SCALAR(tn_f64(), 0.0), SCALAR(tn_f64(), 1.0)};
    q->sign = STOP(tn_sign_at(value_at(q, ends[2]), s->file, s->line));
    tn_i_ode_while(s, halving, halve, q, 3, ends, false);
    tn_val theta = STOP(ends[2]);
    for (int i = 0; i < 2; i++) {
        tn_val g[2];
        q->operand[0] = theta;
        tn_apply_many_at(q->slope, q->n + 1, q->operand, 2, g, s->file, s->line);
        theta = SUB(theta, DIV(g[0], WHERE(q->happened, g[1], 1.0)));
    }
    return theta;
}

void tn_i_ode_event_locate(tn_i_ode *s, tn_val happened, tn_i_ode_step *st, tn_val *t, tn_val *y) {
    search q;
    tn_i_ode_step_make(s, st);
    st->end = st->next;
    st->w = st->z;
    tn_val *w = tn_i_ode_values(s, s->n);
    if (!w) return;
    if (search_new(s, st, &q)) {
        q.happened = happened;
        const tn_val theta = root(&q);
        st->end = ADD(st->t, MUL(theta, st->h));
        st->w = w;
        tn_i_ode_between(s, st, theta, w);
        *t = WHERE(happened, st->end, *t);
        for (size_t j = 0; j < s->n; j++) y[j] = WHERE(happened, w[j], y[j]);
    }
    tn_fn_free(q.slope);
    tn_fn_free(q.value);
}
