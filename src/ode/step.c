/* One step of a Runge-Kutta method, as equations. */
#include "ode/solve.h"

bool tn_i_ode_step_new(tn_i_ode *s, tn_i_ode_step *st) {
    *st = (tn_i_ode_step){.k = tn_i_ode_values(s, s->m->stages * s->n), .z = tn_i_ode_values(s, s->n)};
    return st->k && st->z;
}

tn_val tn_i_ode_like(tn_i_ode *s, tn_val h, tn_val x) { return CONVERT(h, (tn_dtype)tn_val_type(x).dtype); }

void tn_i_ode_field(tn_i_ode *s, tn_val t, const tn_val *y, tn_val *dy) {
    for (size_t j = 0; j < s->n; j++) dy[j] = (tn_val){.id = (uint32_t)(s->line > 0 ? s->line : 0)};
    if (s->failed) return;
    s->p->field(t, y, s->p->params, dy, s->p->user);
    for (size_t j = 0; j < s->n; j++) {
        const tn_type want = tn_val_type(y[j]), got = tn_val_type(dy[j]);
        char a[TN_I_TYPE_TEXT], b[TN_I_TYPE_TEXT];
        if (!tn_i_type_valid(&want) || tn_type_equal(&want, &got)) continue;
        if (!tn_val_ctx(dy[j]))
            tn_i_ode_fail(s, TN_EINVAL, "the field did not set dy[%zu] to an array", j);
        else if (tn_i_type_valid(&got))
            tn_i_ode_fail(s, TN_ETYPE, "the field's dy[%zu] is %s, but y[%zu] is %s", j, tn_i_type_text(a, &got), j,
                          tn_i_type_text(b, &want));
    }
}

tn_val tn_i_ode_sum(tn_i_ode *s, const tn_i_ode_step *st, const double *w, size_t j) {
    tn_val sum = {0};
    bool any = false;
    for (size_t i = 0; i < s->m->stages; i++) {
        if (w[i] == 0) continue;
        const tn_val k = st->k[i * s->n + j], term = w[i] == 1 ? k : MUL(k, w[i]);
        sum = any ? ADD(sum, term) : term;
        any = true;
    }
    return any ? sum : tn_zeros_like_at(st->y[j], s->file, s->line);
}

void tn_i_ode_moved(tn_i_ode *s, const tn_i_ode_step *st, const double *w, tn_val *z) {
    for (size_t j = 0; j < s->n; j++)
        z[j] = ADD(st->y[j], MUL(tn_i_ode_like(s, st->h, st->y[j]), tn_i_ode_sum(s, st, w, j)));
}

/* Row i of the table, as weights of all stages. */
static const double *row(const tn_i_tableau *m, size_t i, double *w) {
    for (size_t j = 0; j < m->stages; j++) w[j] = j < i ? tn_i_tableau_a(m, i, j) : 0;
    return w;
}

tn_val tn_i_ode_stage_time(tn_i_ode *s, const tn_i_ode_step *st, double c) {
    if (c == 0) return st->t;
    return c == 1 ? st->next : ADD(st->t, MUL(st->h, c));
}

void tn_i_ode_step_make(tn_i_ode *s, tn_i_ode_step *st) {
    const tn_i_tableau *m = s->m;
    double w[16];
    const size_t end = m->first_same_as_last ? m->stages - 1 : m->stages;
    tn_val *u = tn_i_ode_values(s, s->n);
    if (!u || m->stages > sizeof w / sizeof *w) return;
    if (!st->first) tn_i_ode_field(s, st->t, st->y, st->k);
    if (m->diagonal > 0) {
        tn_i_ode_step_implicit(s, st);
        return;
    }
    for (size_t i = 1; i < end; i++) {
        tn_i_ode_moved(s, st, row(m, i, w), u);
        tn_i_ode_field(s, tn_i_ode_stage_time(s, st, m->c[i]), u, st->k + i * s->n);
    }
    tn_i_ode_moved(s, st, m->b, st->z);
    if (m->first_same_as_last && st->last) tn_i_ode_field(s, st->next, st->z, st->k + end * s->n);
}

void tn_i_ode_between(tn_i_ode *s, const tn_i_ode_step *st, tn_val theta, tn_val *y) {
    const tn_i_tableau *m = s->m;
    tn_val b[16];
    for (size_t i = 0; i < m->stages; i++) {
        const double *p = m->dense + i * m->degree;
        tn_val x = {0};
        bool any = false;
        for (size_t k = m->degree; k-- > 0;) {
            if (!any && p[k] == 0) continue;
            x = MUL(theta, any ? ADD(x, p[k]) : SCALAR(tn_f64(), p[k]));
            any = true;
        }
        b[i] = any ? MUL(x, st->h) : x;
    }
    for (size_t j = 0; j < s->n; j++) {
        y[j] = st->y[j];
        for (size_t i = 0; i < m->stages; i++)
            if (tn_val_ctx(b[i])) y[j] = ADD(y[j], MUL(tn_i_ode_like(s, b[i], y[j]), st->k[i * s->n + j]));
    }
}
