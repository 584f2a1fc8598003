/* libtansy-levmar: what is refused, lmder's questions, what its answer means. */
#include <tansy/levmar.h>

#include "../point.h"

#include <cminpack.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tn_levmar {
    tn_i_point point; /* residuals.., then for each output and variable a block of the Jacobian */
    bool refused;     /* by tn_levmar_new: nothing can be solved */
    tn_levmar_options options;
    int m, n;
    size_t outputs;
    int *rows, *columns;      /* of each output, of each variable */
    double *x, *r, *jacobian; /* lmder's; m x n by columns */
    double *best, *best_r, *covariance;
    double *scale, *work; /* diag; qtf, wa1, wa2, wa3 of n, wa4 of m */
    int *pivots;
    int64_t iterations;
};

static tn_status fail(tn_levmar *s, tn_status status, const char *text) {
    return tn_i_point_fail(&s->point, status, "%s", text);
}

/* ---- what is refused ----------------------------------------------------------------------------- */

static bool amount(double x) { return x >= 0 && isfinite(x); }

static const char *bad_options(const tn_levmar_options *o) {
    if (o->size != sizeof *o) return "the options' size is not set";
    if (!amount(o->ftol) || !amount(o->xtol) || !amount(o->gtol)) return "ftol, xtol or gtol is negative or not finite";
    if (!amount(o->factor)) return "factor is negative or not finite";
    return o->max_evaluations < 0 ? "max_evaluations is negative" : NULL;
}

static tn_status residuals(tn_levmar *s, const tn_fn *r) {
    int64_t m = 0;
    for (size_t j = 0; j < s->outputs; j++) {
        const tn_type t = tn_fn_output_type(r, j);
        const size_t n = tn_type_elements(&t);
        if (t.dtype != TN_F64) return tn_i_point_fail(&s->point, TN_ETYPE, "output %zu of r is not f64", j);
        if (n > INT_MAX || m + (int64_t)n > INT_MAX / s->point.n)
            return tn_i_point_fail(&s->point, TN_ELIMIT, "the Jacobian has more numbers than an int counts");
        s->rows[j] = (int)n;
        m += (int64_t)n;
    }
    for (size_t k = 0; k < s->point.variables; k++) {
        const tn_type t = tn_fn_input_type(r, k);
        s->columns[k] = (int)tn_type_elements(&t);
    }
    s->m = (int)m;
    s->n = (int)s->point.n;
    if (s->m < s->n)
        return tn_i_point_fail(&s->point, TN_EINVAL, "%d residuals are fewer than the %d variables", s->m, s->n);
    return TN_OK;
}

static tn_status arguments(tn_levmar *s, const tn_levmar_problem *q) {
    const char *bad = bad_options(&s->options);
    if (!q || q->size != sizeof *q) return fail(s, TN_EINVAL, "the problem's size is not set");
    if (bad) return fail(s, TN_EINVAL, bad);
    if (!q->r) return fail(s, TN_EINVAL, "there is no r");
    if (tn_i_point_inputs(&s->point, q->r, q->variables)) return s->point.status;
    s->outputs = tn_fn_outputs(q->r);
    s->rows = calloc(s->outputs + 1, sizeof *s->rows);
    s->columns = calloc(s->point.variables, sizeof *s->columns);
    return s->rows && s->columns ? residuals(s, q->r) : fail(s, TN_ENOMEM, "out of memory");
}

static double *numbers(int rows, int columns) { return calloc((size_t)rows * (size_t)columns + 1, sizeof(double)); }

static tn_status buffers(tn_levmar *s) {
    const int m = s->m, n = s->n;
    s->x = numbers(n, 1), s->r = numbers(m, 1), s->jacobian = numbers(m, n);
    s->best = numbers(n, 1), s->best_r = numbers(m, 1), s->covariance = numbers(n, n);
    s->scale = numbers(n, 1), s->work = numbers(4 * n + m, 1);
    s->pivots = calloc((size_t)n, sizeof *s->pivots);
    if (!s->x || !s->r || !s->jacobian || !s->best || !s->best_r || !s->covariance || !s->scale || !s->work ||
        !s->pivots)
        return fail(s, TN_ENOMEM, "out of memory");
    for (int i = 0; s->options.scale && i < n; i++) {
        if (!(s->options.scale[i] > 0) || !isfinite(s->options.scale[i]))
            return tn_i_point_fail(&s->point, TN_EINVAL, "the scale of variable %d is %g", i, s->options.scale[i]);
        s->scale[i] = s->options.scale[i];
    }
    return TN_OK;
}

static tn_status made(tn_levmar *s, const tn_levmar_problem *q, const tn_levmar_options *o) {
    s->options = o ? *o : (tn_levmar_options){.size = sizeof *o};
    if (arguments(s, q) || buffers(s)) return s->point.status;
    const tn_wrt_list wrt = {s->point.variables, s->point.wrt};
    tn_fn *j = tn_value_and_jacobian(q->r, &wrt, NULL, 0);
    (void)tn_i_point_program(&s->point, q->r, j, "the Jacobian of r", s->options.compile);
    tn_fn_free(j);
    s->options.compile = NULL;
    return s->point.status;
}

tn_levmar *tn_levmar_new(const tn_levmar_problem *problem, const tn_levmar_options *options) {
    tn_levmar *s = calloc(1, sizeof *s);
    if (s) s->refused = made(s, problem, options) != TN_OK;
    return s;
}

void tn_levmar_free(tn_levmar *s) {
    if (!s) return;
    tn_i_point_free(&s->point);
    free(s->rows), free(s->columns);
    free(s->x), free(s->r), free(s->jacobian);
    free(s->best), free(s->best_r), free(s->covariance);
    free(s->scale), free(s->work), free(s->pivots);
    free(s);
}

const char *tn_levmar_error(const tn_levmar *s) { return s ? s->point.message : "out of memory"; }
tn_status tn_levmar_status(const tn_levmar *s) { return s ? s->point.status : TN_ENOMEM; }

/* ---- lmder's questions ------------------------------------------------------------------------------ */

/* The blocks [rows, columns] of the program as columns of one matrix. */
static void gather(const tn_levmar *s, double *to) {
    const double *block = s->point.value + s->m;
    for (int j = 0, row = 0; (size_t)j < s->outputs; row += s->rows[j++])
        for (int k = 0, column = 0; (size_t)k < s->point.variables; column += s->columns[k++])
            for (int i = 0; i < s->rows[j]; i++)
                for (int l = 0; l < s->columns[k]; l++)
                    to[(size_t)(column + l) * (size_t)s->m + (size_t)(row + i)] = *block++;
}

static void name_element(tn_levmar *s) {
    tn_i_point *p = &s->point;
    int64_t i = 0;
    while (i < p->count - 1 && isfinite(p->value[i])) i++;
    const char *what = isnan(p->value[i]) ? "not a number" : "infinite"; /* printf has a sign for either */
    if (i < s->m) {
        (void)snprintf(p->why, sizeof p->why, "residual %lld is %s", (long long)i, what);
        return;
    }
    gather(s, s->jacobian);
    for (i = 0; isfinite(s->jacobian[i]);) i++;
    (void)snprintf(p->why, sizeof p->why, "the Jacobian of r: its entry in row %lld, column %lld is %s",
                   (long long)(i % s->m), (long long)(i / s->m), what);
}

static int told(tn_levmar *s, const double *x, const double *r) {
    double square = 0;
    if (s->point.failed) return -1; /* lmder tells once more when it was stopped */
    memcpy(s->best, x, (size_t)s->n * sizeof *x);
    memcpy(s->best_r, r, (size_t)s->m * sizeof *r);
    for (int i = 0; i < s->m; i++) square += r[i] * r[i];
    const tn_levmar_iteration i = {
        .size = sizeof i, .number = s->iterations++, .objective = square / 2, .x = s->best, .r = s->best_r};
    if (s->options.progress && s->options.progress(s->options.progress_user, &i)) s->point.failed = TN_ECANCELLED;
    return s->point.failed ? -1 : 0;
}

/* What is not finite is a step that is too long: residuals so large that it is not taken. */
static int asked(void *user, int m, int n, const double *x, double *r, double *jacobian, int ld, int what) {
    tn_levmar *s = user;
    (void)n, (void)ld;
    if (what == 0) return told(s, x, r);
    const bool finite = tn_i_point_at(&s->point, x);
    if (s->point.failed) return -1;
    if (what == 2)
        gather(s, jacobian); /* at a step that was taken: it is finite */
    else
        for (int i = 0; i < m; i++) r[i] = finite ? s->point.value[i] : 1e150;
    return 0;
}

/* ---- a solve ------------------------------------------------------------------------------------------- */

static const struct answer {
    const char *sentence;
    tn_status status;
} answers[] = {
    {"lmder refuses its arguments", TN_EINVAL},
    {"the sum of squares falls no more", TN_OK},
    {"x moves no more", TN_OK},
    {"the sum of squares falls and x moves no more", TN_OK},
    {"residuals are orthogonal to the Jacobian's columns", TN_OK},
    {"evaluations are used up", TN_ELIMIT},
    {"ftol is too small: round-off limits progress", TN_ELIMIT},
    {"xtol is too small: round-off limits progress", TN_ELIMIT},
    {"gtol is too small: residuals are orthogonal to the Jacobian's columns within round-off", TN_ELIMIT},
    {"stopped", TN_ECANCELLED},
};

static const struct answer *meaning(int code) { return &answers[code < 0 || code > 8 ? 9 : code]; }

static tn_status begin(tn_levmar *s, const tn_levmar_start *start) {
    tn_i_point *p = &s->point;
    if (start && start->size != sizeof *start) return fail(s, TN_EINVAL, "the start's size is not set");
    if (tn_i_point_begin(p, start ? start->x : NULL, start ? start->p : NULL)) return p->status;
    for (int i = 0; i < s->n; i++) s->x[i] = start && start->x ? start->x[i] : 0;
    memcpy(s->best, s->x, (size_t)s->n * sizeof *s->best);
    for (int i = 0; i < s->m; i++) s->best_r[i] = NAN;
    s->iterations = 0;
    if (tn_i_point_at(p, s->x)) return TN_OK;
    if (!p->failed) name_element(s);
    return tn_i_point_fail(p, p->failed ? p->failed : TN_ECALLBACK, "at the start: %s", p->why);
}

static int solve(tn_levmar *s) {
    const tn_levmar_options *o = &s->options;
    const int n = s->n, most = o->max_evaluations      ? o->max_evaluations
                               : n < INT_MAX / 100 - 1 ? 100 * (n + 1)
                                                       : INT_MAX;
    const double ftol = o->ftol > 0 ? o->ftol : 1e-10, xtol = o->xtol > 0 ? o->xtol : 1e-10;
    int values, jacobians;
    return lmder(asked, s, s->m, n, s->x, s->r, s->jacobian, s->m, ftol, xtol, o->gtol, most, s->scale,
                 o->scale ? 2 : 1, o->factor > 0 ? o->factor : 100, 1, &values, &jacobians, s->pivots, s->work,
                 s->work + n, s->work + 2 * n, s->work + 3 * n, s->work + 4 * n);
}

static tn_status verdict(tn_levmar *s, const struct answer *a) {
    tn_i_point *p = &s->point;
    if (p->failed == TN_ECANCELLED)
        return tn_i_point_fail(p, TN_ECANCELLED, "cminpack: stopped by the caller after %lld iterations",
                               (long long)s->iterations - 1);
    if (p->failed) return tn_i_point_fail(p, p->failed, "%s", p->why);
    if (a->status == TN_OK) return TN_OK;
    return tn_i_point_fail(p, a->status, "cminpack: %s (after %lld evaluations)", a->sentence, (long long)p->runs);
}

/* From the factor R, with its pivots, that lmder leaves of the last Jacobian. */
static int covariance(tn_levmar *s, double square) {
    const int m = s->m, n = s->n;
    double *c = s->covariance;
    int rank = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) c[j * n + i] = s->jacobian[j * m + i];
    const double least = 2.2e-16 * n * fabs(c[0]);
    while (rank < n && fabs(c[rank * n + rank]) > least) rank++;
    covar(n, c, n, s->pivots, 2.2e-16 * n, s->work);
    for (int i = 0; m > n && i < n * n; i++) c[i] *= square / (m - n);
    return rank;
}

static void report(tn_levmar *s, const struct answer *a, int code, bool solved, tn_levmar_result *out) {
    double square = 0;
    for (int i = 0; i < s->m; i++) square += s->best_r[i] * s->best_r[i];
    const int rank = solved ? covariance(s, square) : 0;
    if (!out) return;
    *out = (tn_levmar_result){.size = sizeof *out,
                              .objective = square / 2,
                              .x = s->best,
                              .r = s->best_r,
                              .covariance = solved ? s->covariance : NULL,
                              .rank = rank,
                              .code = code,
                              .text = a->sentence,
                              .iterations = s->iterations ? s->iterations - 1 : 0,
                              .evaluations = s->point.runs,
                              .not_finite = s->point.not_finite};
}

tn_status tn_levmar_solve(tn_levmar *s, const tn_levmar_start *start, tn_levmar_result *out) {
    if (!s) return TN_ENOMEM;
    if (s->refused) return s->point.status;
    if (out && out->size != sizeof *out) return fail(s, TN_EINVAL, "the result's size is not set");
    if (begin(s, start)) {
        if (s->point.failed || s->point.status == TN_ECALLBACK) report(s, meaning(-1), -1, false, out);
        return s->point.status;
    }
    const int code = solve(s);
    const struct answer *a = meaning(code);
    const tn_status status = verdict(s, a);
    report(s, a, code, status == TN_OK || status == TN_ELIMIT, out);
    return status;
}
