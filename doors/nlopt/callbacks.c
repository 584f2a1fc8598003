/* NLopt's questions.  Values are copied from where the programs leave them, so that a second question about one point
 * runs nothing.  NLopt has no answer for "it cannot be computed" but to be stopped; some algorithms ask on until they
 * look, and get numbers that lead nowhere. */
#include "solver.h"

#include <math.h>
#include <string.h>

void tn_nlopt_i_go_to(tn_nlopt *s, const double *x) {
    const size_t bytes = (size_t)s->n * sizeof *s->x;
    if (s->point && memcmp(x, s->x, bytes) == 0) return;
    memcpy(s->x, x, bytes);
    s->point = true;
    for (int i = 0; i < DERIVED_COUNT; i++) s->d[i].state = STALE;
}

/* A question.  Who has stopped NLopt by its handle has stopped the programs. */
static void asked(tn_nlopt *s, const double *x) {
    if (!s->failed && nlopt_get_force_stop(s->opt)) s->failed = TN_ECANCELLED;
    tn_nlopt_i_go_to(s, x);
}

static void zeros(double *out, int64_t n) {
    if (out) memset(out, 0, (size_t)n * sizeof *out);
}

static void told(tn_nlopt *s, double objective) {
    const tn_nlopt_evaluation e = {.size = sizeof e, .number = s->evaluations, .objective = objective, .x = s->x};
    if (s->options.progress && s->options.progress(s->options.progress_user, &e)) s->failed = TN_ECANCELLED;
}

double tn_nlopt_i_f(unsigned n, const double *x, double *gradient, void *user) {
    tn_nlopt *s = user;
    const int which = gradient ? DERIVED_GRADIENT : DERIVED_F;
    asked(s, x);
    if (!s->failed) s->evaluations++;
    if (tn_nlopt_i_value(s, which)) {
        const double *value = s->d[which].value;
        if (gradient) memcpy(gradient, value + 1, n * sizeof *value);
        told(s, value[0]);
        if (s->failed) (void)nlopt_force_stop(s->opt);
        return value[0];
    }
    (void)nlopt_force_stop(s->opt);
    zeros(gradient, (int64_t)n);
    return HUGE_VAL;
}

static void rows(tn_nlopt *s, int which, double *result, const double *x, double *gradient) {
    const derived *values = &s->d[which], *jacobian = &s->d[which + 1];
    asked(s, x);
    if (tn_nlopt_i_value(s, which) && (!gradient || tn_nlopt_i_value(s, which + 1))) {
        memcpy(result, values->value, (size_t)values->count * sizeof *result);
        if (gradient) memcpy(gradient, jacobian->value, (size_t)jacobian->count * sizeof *gradient);
        return;
    }
    (void)nlopt_force_stop(s->opt);
    zeros(result, values->count);
    zeros(gradient, values->count * s->n);
}

void tn_nlopt_i_g(unsigned m, double *result, unsigned n, const double *x, double *gradient, void *user) {
    (void)m, (void)n;
    rows(user, DERIVED_G, result, x, gradient);
}

void tn_nlopt_i_h(unsigned m, double *result, unsigned n, const double *x, double *gradient, void *user) {
    (void)m, (void)n;
    rows(user, DERIVED_H, result, x, gradient);
}
