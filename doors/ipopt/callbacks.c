/* Ipopt's questions.  Their types are Ipopt's, with pointers to what they do not write; values are copied from where
 * the programs leave them, so that a second question about one point runs nothing. */
#include "solver.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The point that is asked for.  It is stored before anything may fail: the next question says that it is not new. */
static void go_to(tn_ipopt *s, const ipopt_number *x, ipopt_bool new_x) {
    const size_t bytes = (size_t)s->n * sizeof *s->x;
    if (s->point && (!new_x || memcmp(x, s->x, bytes) == 0)) return;
    memcpy(s->x, x, bytes);
    s->point = true;
    for (int i = 0; i < DERIVED_COUNT; i++) s->d[i].state = STALE;
}

static ipopt_bool give(tn_ipopt *s, int which, ipopt_number *out) {
    if (!tn_ipopt_i_value(s, which)) return 0;
    const derived *d = &s->d[which];
    if (d->count) memcpy(out, d->value, (size_t)d->count * sizeof *d->value);
    return 1;
}

static void structure(const derived *d, ipopt_index *row, ipopt_index *column) {
    for (int64_t k = 0; k < d->count; k++) {
        row[k] = d->row[k];
        column[k] = d->column[k];
    }
}

static ipopt_bool eval_f(ipopt_index n, ipopt_number *x, ipopt_bool new_x, ipopt_number *value, UserDataPtr user) {
    (void)n;
    go_to(user, x, new_x);
    return give(user, DERIVED_F, value);
}

static ipopt_bool eval_grad_f(ipopt_index n, ipopt_number *x, ipopt_bool new_x, ipopt_number *gradient,
                              UserDataPtr user) {
    (void)n;
    go_to(user, x, new_x);
    return give(user, DERIVED_GRADIENT, gradient);
}

static ipopt_bool eval_g(ipopt_index n, ipopt_number *x, ipopt_bool new_x, ipopt_index m, ipopt_number *g,
                         UserDataPtr user) {
    (void)n;
    go_to(user, x, new_x);
    return m == 0 || give(user, DERIVED_G, g);
}

/* Ipopt wants an entry where there are rows: where g depends on no variable it is a 0. */
static ipopt_bool eval_jac_g(ipopt_index n, ipopt_number *x, ipopt_bool new_x, ipopt_index m, ipopt_index entries,
                             ipopt_index *row, ipopt_index *column, ipopt_number *values, UserDataPtr user) {
    (void)n;
    tn_ipopt *s = user;
    const derived *d = &s->d[DERIVED_JACOBIAN];
    const bool none = m > 0 && d->count < entries;
    if (!values) {
        structure(d, row, column);
        if (none) row[0] = column[0] = 0;
        return 1;
    }
    go_to(s, x, new_x);
    if (none) values[0] = 0;
    return m == 0 || give(s, DERIVED_JACOBIAN, values);
}

static ipopt_bool eval_h(ipopt_index n, ipopt_number *x, ipopt_bool new_x, ipopt_number sigma, ipopt_index m,
                         ipopt_number *lambda, ipopt_bool new_lambda, ipopt_index entries, ipopt_index *row,
                         ipopt_index *column, ipopt_number *values, UserDataPtr user) {
    (void)n, (void)entries, (void)new_lambda;
    tn_ipopt *s = user;
    derived *d = &s->d[DERIVED_HESSIAN];
    if (!d->exec) return 0; /* limited memory: nobody asks */
    if (!values) {
        structure(d, row, column);
        return 1;
    }
    go_to(s, x, new_x);
    const size_t bytes = (size_t)m * sizeof *s->lambda;
    if (s->sigma != sigma || memcmp(s->lambda, lambda, bytes) != 0) d->state = STALE;
    s->sigma = sigma;
    if (m) memcpy(s->lambda, lambda, bytes);
    return give(s, DERIVED_HESSIAN, values);
}

static ipopt_bool intermediate(ipopt_index mode, ipopt_index number, ipopt_number objective, ipopt_number primal,
                               ipopt_number dual, ipopt_number mu, ipopt_number step, ipopt_number regularization,
                               ipopt_number alpha_dual, ipopt_number alpha_primal, ipopt_index trials,
                               UserDataPtr user) {
    (void)regularization;
    tn_ipopt *s = user;
    s->iterations = (int)number;
    if (s->failed) return 0;
    if (!s->options.progress) return 1;
    const tn_ipopt_iteration it = {
        .size = sizeof it,
        .number = (int)number,
        .restoration = mode != 0,
        .objective = objective,
        .infeasibility = primal,
        .dual_infeasibility = dual,
        .mu = mu,
        .step = step,
        .alpha_primal = alpha_primal,
        .alpha_dual = alpha_dual,
        .trials = (int)trials,
    };
    s->cancelled = s->options.progress(s->options.progress_user, &it) != 0;
    return !s->cancelled;
}

/* n numbers of the caller's, or of `other`. */
static double *bounds(const double *given, int64_t n, double other) {
    double *b = malloc(((size_t)n + 1) * sizeof *b);
    for (int64_t i = 0; b && i < n; i++) b[i] = given ? given[i] : other;
    return b;
}

IpoptProblem tn_ipopt_i_handle(const tn_ipopt *s, const tn_nlp *q) {
    const double far = 2e19; /* what Ipopt takes for no bound */
    const bool equal = !q->gl && !q->gu;
    double *xl = bounds(q->xl, s->n, -far), *xu = bounds(q->xu, s->n, far);
    double *gl = bounds(q->gl, s->m, equal ? 0 : -far), *gu = bounds(q->gu, s->m, equal ? 0 : far);
    const int64_t jacobian = s->d[DERIVED_JACOBIAN].count, hessian = s->d[DERIVED_HESSIAN].count;
    IpoptProblem p = NULL;
    if (xl && xu && gl && gu)
        p = CreateIpoptProblem((ipopt_index)s->n, xl, xu, (ipopt_index)s->m, gl, gu,
                               (ipopt_index)(s->m && !jacobian ? 1 : jacobian), (ipopt_index)hessian, 0, eval_f, eval_g,
                               eval_grad_f, eval_jac_g, eval_h);
    free(xl), free(xu), free(gl), free(gu);
    if (p) (void)SetIntermediateCallback(p, intermediate);
    return p;
}
