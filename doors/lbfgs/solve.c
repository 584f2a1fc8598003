/* libtansy-lbfgs: what is refused, libLBFGS's questions, what its answer means. */
#include <tansy/lbfgs.h>

#include "../point.h"

#include <lbfgs.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tn_lbfgs {
    tn_i_point point; /* value, gradient.. */
    bool refused;     /* by tn_lbfgs_new: nothing can be solved */
    tn_lbfgs_options options;
    lbfgs_parameter_t parameters;
    lbfgsfloatval_t *x; /* libLBFGS's, which wants its own kind of memory */
    double *best;
    double objective, gradient_norm;
    int64_t iterations;
};

static tn_status fail(tn_lbfgs *s, tn_status status, const char *text) {
    return tn_i_point_fail(&s->point, status, "%s", text);
}

/* ---- what is refused ----------------------------------------------------------------------------- */

static bool amount(double x) { return x >= 0 && isfinite(x); }

static const char *bad_options(const tn_lbfgs_options *o) {
    if (o->size != sizeof *o) return "the options' size is not set";
    if (!amount(o->gradient_tol) || !amount(o->ftol)) return "gradient_tol or ftol is negative or not finite";
    if (o->memory < 0 || o->past < 0) return "memory or past is negative";
    if (o->max_iterations < 0 || o->max_linesearch < 0) return "max_iterations or max_linesearch is negative";
    if (o->search < TN_LBFGS_STRONG_WOLFE || o->search > TN_LBFGS_MORE_THUENTE)
        return "search is none of tn_lbfgs_search";
    if (!amount(o->l1)) return "l1 is negative or not finite";
    if (o->l1_first < 0 || o->l1_end < 0) return "l1_first or l1_end is negative";
    return NULL;
}

static tn_status arguments(tn_lbfgs *s, const tn_lbfgs_problem *q) {
    const char *bad = bad_options(&s->options);
    if (!q || q->size != sizeof *q) return fail(s, TN_EINVAL, "the problem's size is not set");
    if (bad) return fail(s, TN_EINVAL, bad);
    if (!q->f) return fail(s, TN_EINVAL, "there is no f");
    const tn_type y = tn_fn_output_type(q->f, 0);
    if (tn_fn_outputs(q->f) != 1 || y.rank != 0) return fail(s, TN_EINVAL, "f has to have one output, a scalar");
    if (y.dtype != TN_F64) return fail(s, TN_ETYPE, "f's output is not f64");
    return tn_i_point_inputs(&s->point, q->f, q->variables);
}

static tn_status settings(tn_lbfgs *s) {
    static const int search[] = {LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE, LBFGS_LINESEARCH_BACKTRACKING_WOLFE,
                                 LBFGS_LINESEARCH_BACKTRACKING_ARMIJO, LBFGS_LINESEARCH_MORETHUENTE};
    const tn_lbfgs_options *o = &s->options;
    lbfgs_parameter_t *p = &s->parameters;
    const int n = (int)s->point.n, end = o->l1_end ? o->l1_end : n;
    if (o->l1 > 0 && (o->l1_first >= end || end > n)) return fail(s, TN_EINVAL, "l1_first and l1_end are not within x");
    lbfgs_parameter_init(p);
    p->m = o->memory ? o->memory : 8;
    p->epsilon = o->gradient_tol > 0 ? o->gradient_tol : 1e-6;
    p->past = o->ftol > 0 ? (o->past ? o->past : 1) : 0;
    p->delta = o->ftol;
    p->max_iterations = o->max_iterations;
    p->max_linesearch = o->max_linesearch ? o->max_linesearch : 40;
    p->linesearch = search[o->search];
    if (o->l1 > 0) {
        p->linesearch = LBFGS_LINESEARCH_BACKTRACKING;
        p->orthantwise_c = o->l1;
        p->orthantwise_start = o->l1_first;
        p->orthantwise_end = end;
    }
    s->x = lbfgs_malloc(n);
    s->best = calloc((size_t)n, sizeof *s->best);
    return s->x && s->best ? TN_OK : fail(s, TN_ENOMEM, "out of memory");
}

static tn_status made(tn_lbfgs *s, const tn_lbfgs_problem *q, const tn_lbfgs_options *o) {
    s->options = o ? *o : (tn_lbfgs_options){.size = sizeof *o};
    if (arguments(s, q) || settings(s)) return s->point.status;
    const tn_wrt_list wrt = {s->point.variables, s->point.wrt};
    tn_fn *g = tn_value_and_grad(q->f, &wrt, NULL);
    (void)tn_i_point_program(&s->point, q->f, g, "the gradient of f", s->options.compile);
    tn_fn_free(g);
    s->options.compile = NULL;
    return s->point.status;
}

tn_lbfgs *tn_lbfgs_new(const tn_lbfgs_problem *problem, const tn_lbfgs_options *options) {
    tn_lbfgs *s = calloc(1, sizeof *s);
    if (s) s->refused = made(s, problem, options) != TN_OK;
    return s;
}

void tn_lbfgs_free(tn_lbfgs *s) {
    if (!s) return;
    tn_i_point_free(&s->point);
    lbfgs_free(s->x);
    free(s->best);
    free(s);
}

const char *tn_lbfgs_error(const tn_lbfgs *s) { return s ? s->point.message : "out of memory"; }
tn_status tn_lbfgs_status(const tn_lbfgs *s) { return s ? s->point.status : TN_ENOMEM; }

/* ---- libLBFGS's questions --------------------------------------------------------------------------- */

static void name_element(tn_lbfgs *s) {
    tn_i_point *p = &s->point;
    int64_t i = 0;
    while (i < p->count - 1 && isfinite(p->value[i])) i++;
    const char *what = isnan(p->value[i]) ? "not a number" : "infinite"; /* printf has a sign for either */
    if (i == 0)
        (void)snprintf(p->why, sizeof p->why, "f is %s", what);
    else
        (void)snprintf(p->why, sizeof p->why, "the gradient of f: its element %lld is %s", (long long)i - 1, what);
}

/* Backtracking takes an infinite value for a step that is too long.  It has no answer for "stop": a value that every
 * line search takes at once leads to `told`, which says so. */
static lbfgsfloatval_t asked(void *user, const lbfgsfloatval_t *x, lbfgsfloatval_t *g, const int n,
                             const lbfgsfloatval_t step) {
    tn_lbfgs *s = user;
    tn_i_point *p = &s->point;
    (void)step;
    if (tn_i_point_at(p, x)) {
        memcpy(g, p->value + 1, (size_t)n * sizeof *g);
        return p->value[0];
    }
    memset(g, 0, (size_t)n * sizeof *g);
    if (!p->failed) {
        name_element(s);
        if (s->options.search != TN_LBFGS_MORE_THUENTE || s->options.l1 > 0) return HUGE_VAL;
        p->failed = TN_ECALLBACK;
    }
    return -HUGE_VAL;
}

static int told(void *user, const lbfgsfloatval_t *x, const lbfgsfloatval_t *g, const lbfgsfloatval_t fx,
                const lbfgsfloatval_t xnorm, const lbfgsfloatval_t gnorm, const lbfgsfloatval_t step, int n, int k,
                int ls) {
    tn_lbfgs *s = user;
    (void)g;
    if (s->point.failed) return 1;
    memcpy(s->best, x, (size_t)n * sizeof *x);
    s->objective = fx;
    s->gradient_norm = gnorm;
    s->iterations = k;
    const tn_lbfgs_iteration i = {.size = sizeof i,
                                  .number = k,
                                  .objective = fx,
                                  .gradient_norm = gnorm,
                                  .x_norm = xnorm,
                                  .step = step,
                                  .evaluations = ls,
                                  .x = s->best};
    if (s->options.progress && s->options.progress(s->options.progress_user, &i)) s->point.failed = TN_ECANCELLED;
    return s->point.failed != TN_OK;
}

/* ---- a solve ------------------------------------------------------------------------------------------- */

static const struct answer {
    int code;
    const char *name, *sentence;
    tn_status status;
} answers[] = {
    {LBFGS_CONVERGENCE, "CONVERGENCE", "the gradient is small", TN_OK},
    {LBFGS_STOP, "STOP", "f falls no more", TN_OK},
    {LBFGS_ALREADY_MINIMIZED, "ALREADY_MINIMIZED", "the start is a minimum", TN_OK},
    {LBFGSERR_OUTOFMEMORY, "OUTOFMEMORY", "out of memory", TN_ENOMEM},
    {LBFGSERR_ROUNDING_ERROR, "ROUNDING_ERROR", "round-off limits progress", TN_ELIMIT},
    {LBFGSERR_MINIMUMSTEP, "MINIMUMSTEP", "the line search's step became too small", TN_ELIMIT},
    {LBFGSERR_MAXIMUMSTEP, "MAXIMUMSTEP", "the line search's step became too large", TN_ELIMIT},
    {LBFGSERR_MAXIMUMLINESEARCH, "MAXIMUMLINESEARCH", "the line search has used up its evaluations", TN_ELIMIT},
    {LBFGSERR_MAXIMUMITERATION, "MAXIMUMITERATION", "iterations are used up", TN_ELIMIT},
    {LBFGSERR_WIDTHTOOSMALL, "WIDTHTOOSMALL", "the line search's interval became too small", TN_ELIMIT},
    {LBFGSERR_OUTOFINTERVAL, "OUTOFINTERVAL", "the line search left its interval", TN_ELIMIT},
    {LBFGSERR_INCORRECT_TMINMAX, "INCORRECT_TMINMAX", "the line search's interval became too small", TN_ELIMIT},
    {LBFGSERR_INVALIDPARAMETERS, "INVALIDPARAMETERS", "the line search's step became negative", TN_ELIMIT},
    {LBFGSERR_INCREASEGRADIENT, "INCREASEGRADIENT", "f rises in the direction of search", TN_ELIMIT},
    {1, "CANCELED", "stopped", TN_ECANCELLED},
    {LBFGSERR_UNKNOWNERROR, "UNKNOWNERROR", "libLBFGS gives no reason", TN_EINVAL},
};

static const struct answer *meaning(int code) {
    const struct answer *a = answers;
    while (a->code != code && a->code != LBFGSERR_UNKNOWNERROR) a++;
    return a;
}

static tn_status verdict(tn_lbfgs *s, const struct answer *a) {
    tn_i_point *p = &s->point;
    if (p->failed == TN_ECANCELLED)
        return tn_i_point_fail(p, TN_ECANCELLED, "libLBFGS: stopped by the caller after %lld iterations",
                               (long long)s->iterations);
    if (p->failed) return tn_i_point_fail(p, p->failed, "%s", p->why);
    if (a->status == TN_OK) return TN_OK;
    /* A search that ends where nothing is finite. */
    if (a->status == TN_ELIMIT && p->known && !p->finite) return tn_i_point_fail(p, TN_ECALLBACK, "%s", p->why);
    return tn_i_point_fail(p, a->status, "libLBFGS: %s (%s, after %lld iterations)", a->sentence, a->name,
                           (long long)s->iterations);
}

static tn_status begin(tn_lbfgs *s, const tn_lbfgs_start *start) {
    tn_i_point *p = &s->point;
    if (start && start->size != sizeof *start) return fail(s, TN_EINVAL, "the start's size is not set");
    if (tn_i_point_begin(p, start ? start->x : NULL, start ? start->p : NULL)) return p->status;
    for (int64_t i = 0; i < p->n; i++) s->x[i] = start && start->x ? start->x[i] : 0;
    memcpy(s->best, s->x, (size_t)p->n * sizeof *s->best);
    s->objective = s->gradient_norm = NAN;
    s->iterations = 0;
    if (tn_i_point_at(p, s->x)) return TN_OK;
    if (!p->failed) name_element(s);
    return tn_i_point_fail(p, p->failed ? p->failed : TN_ECALLBACK, "at the start: %s", p->why);
}

static void first(tn_lbfgs *s) {
    const tn_i_point *p = &s->point;
    const tn_lbfgs_options *o = &s->options;
    double square = 0;
    s->objective = p->value[0];
    for (int64_t i = 0; i < p->n; i++) square += p->value[1 + i] * p->value[1 + i];
    for (int i = o->l1_first; o->l1 > 0 && i < (o->l1_end ? o->l1_end : p->n); i++)
        s->objective += o->l1 * fabs(s->x[i]);
    s->gradient_norm = sqrt(square);
}

static void report(const tn_lbfgs *s, const struct answer *a, int code, tn_lbfgs_result *out) {
    if (!out) return;
    *out = (tn_lbfgs_result){.size = sizeof *out,
                             .objective = s->objective,
                             .gradient_norm = s->gradient_norm,
                             .x = s->best,
                             .code = code,
                             .text = a->name,
                             .iterations = s->iterations,
                             .evaluations = s->point.runs,
                             .not_finite = s->point.not_finite};
}

tn_status tn_lbfgs_solve(tn_lbfgs *s, const tn_lbfgs_start *start, tn_lbfgs_result *out) {
    if (!s) return TN_ENOMEM;
    if (s->refused) return s->point.status;
    if (out && out->size != sizeof *out) return fail(s, TN_EINVAL, "the result's size is not set");
    if (begin(s, start)) {
        if (s->point.failed || s->point.status == TN_ECALLBACK)
            report(s, meaning(LBFGSERR_UNKNOWNERROR), LBFGSERR_UNKNOWNERROR, out);
        return s->point.status;
    }
    first(s);
    const int code = lbfgs((int)s->point.n, s->x, NULL, asked, told, s, &s->parameters);
    const struct answer *a = meaning(code);
    const tn_status status = verdict(s, a);
    report(s, a, code, out);
    return status;
}
