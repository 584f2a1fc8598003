/* The step-size controller: error norm, first step, next step.  Nothing of it carries a derivative. */
#include "ode/solve.h"

#include <math.h>

tn_val tn_i_ode_norm(tn_i_ode *s, const tn_val *e, const tn_val *y, const tn_val *z) {
    tn_val *r = tn_i_ode_values(s, s->n);
    if (!r) return s->t0;
    for (size_t j = 0; j < s->n; j++) {
        const tn_val a = ABS(STOP(y[j])), scale = ADD(MUL(z == y ? a : MAX(a, ABS(STOP(z[j]))), s->o.rtol), s->o.atol);
        r[j] = DIV(STOP(e[j]), scale);
    }
    return tn_sqrt_at(tn_i_ode_mean_square(s, r), s->file, s->line);
}

tn_val tn_i_ode_error(tn_i_ode *s, const tn_i_ode_step *st) {
    tn_val *e = tn_i_ode_values(s, s->n);
    if (!e) return st->h;
    for (size_t j = 0; j < s->n; j++) e[j] = MUL(tn_i_ode_like(s, st->h, st->y[j]), tn_i_ode_sum(s, st, s->m->e, j));
    const tn_val r = tn_i_ode_norm(s, e, st->y, st->z);
    tn_val bad = tn_is_nan_at(r, s->file, s->line);
    if (s->m->diagonal > 0) bad = OR(bad, NOT(st->converged));
    return WHERE(bad, SCALAR(tn_f64(), INFINITY), r);
}

static tn_val held(tn_i_ode *s, tn_val length) {
    if (s->o.dtmax > 0) length = MIN(length, s->o.dtmax);
    if (s->o.dtmin > 0) length = MAX(length, s->o.dtmin);
    return length;
}

/* Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4, "Starting Step Size". */
tn_val tn_i_ode_first_step(tn_i_ode *s, const tn_val *y, const tn_val *k1) {
    if (s->o.dt0 > 0) return held(s, SCALAR(tn_f64(), s->o.dt0));
    tn_val *u = tn_i_ode_values(s, s->n), *f = tn_i_ode_values(s, s->n), *v = tn_i_ode_values(s, s->n);
    if (!u || !f || !v) return s->t0;
    for (size_t j = 0; j < s->n; j++) v[j] = STOP(y[j]);
    const tn_val d0 = tn_i_ode_norm(s, v, v, v), d1 = tn_i_ode_norm(s, k1, v, v);
    const tn_val tiny = OR(LT(d0, 1e-5), LT(d1, 1e-5));
    const tn_val h0 = WHERE(tiny, 1e-6, DIV(MUL(d0, 0.01), WHERE(tiny, 1.0, d1))), h = MUL(h0, s->dir);
    for (size_t j = 0; j < s->n; j++) u[j] = ADD(v[j], MUL(tn_i_ode_like(s, h, v[j]), STOP(k1[j])));
    tn_i_ode_field(s, ADD(STOP(s->t0), h), u, f);
    for (size_t j = 0; j < s->n; j++) f[j] = SUB(f[j], k1[j]);
    const tn_val d = MAX(d1, DIV(tn_i_ode_norm(s, f, v, v), h0)), flat = LE(d, 1e-15);
    const tn_val h1 =
        WHERE(flat, MAX(MUL(h0, 1e-3), 1e-6), POW(DIV(0.01, WHERE(flat, 1.0, d)), 1.0 / (s->m->embedded_order + 1)));
    /* A field that is not finite: any length, which the steps will find too large. */
    const tn_val length = MIN(MUL(h0, 100.0), h1);
    return STOP(held(s, WHERE(FINITE(length), length, 1e-6)));
}

static tn_val power(tn_i_ode *s, tn_val x, tn_val r, double exponent) {
    return exponent == 0 ? x : MUL(x, exponent == 1 ? r : POW(r, exponent));
}

tn_val tn_i_ode_next_step(tn_i_ode *s, tn_val h, tn_val accept, tn_val r0, tn_val r1, tn_val r2) {
    const tn_ode_options *o = &s->o;
    const double k = s->m->embedded_order + 1;
    tn_val factor = power(s, SCALAR(tn_f64(), o->safety), r0, (o->pcoeff + o->icoeff + o->dcoeff) / k);
    factor = power(s, factor, r1, -(o->pcoeff + 2 * o->dcoeff) / k);
    factor = power(s, factor, r2, o->dcoeff / k);
    factor = MIN(MAX(factor, WHERE(accept, SCALAR(tn_f64(), 1.0), o->factormin)),
                 WHERE(accept, SCALAR(tn_f64(), o->factormax), o->safety));
    return held(s, MUL(ABS(STOP(h)), factor));
}
