/* One derived program: compiled, run once a point, looked at for what is not finite. */
#include "solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t elements(tn_type t) { return tn_type_elements(&t); }

/* ---- buffers ------------------------------------------------------------------- */

/* Where each output of p begins in the values, or in the blocks, one behind the other. */
static bool outputs(derived *d, const tn_fn *p, bool blocks) {
    const size_t n = tn_fn_outputs(p);
    d->count = 0;
    for (size_t i = 0; i < n; i++) d->count += (int64_t)elements(tn_fn_output_type(p, i));
    d->value = calloc((size_t)d->count + 1, sizeof *d->value);
    d->out = calloc(n + 1, sizeof *d->out);
    if (blocks) d->blocks = calloc((size_t)d->count + 1, sizeof *d->blocks);
    if (!d->value || !d->out || (blocks && !d->blocks)) return false;
    double *at = blocks ? d->blocks : d->value;
    for (size_t i = 0; i < n; i++) {
        d->out[i] = at;
        at += elements(tn_fn_output_type(p, i));
    }
    return true;
}

/* Variables lie in s->x; parameters come with a solve. */
static bool inputs(tn_nlopt *s, derived *d, const tn_fn *p) {
    d->in = calloc(s->variables + s->parameters + 1, sizeof *d->in);
    if (!d->in) return false;
    const double *x = s->x;
    for (size_t i = 0; i < s->variables; i++) {
        d->in[i] = x;
        x += elements(tn_fn_input_type(p, i));
    }
    return true;
}

static tn_status compiled(tn_nlopt *s, int which, const tn_fn *p, bool blocks) {
    static const char *const names[] = {"f", "the gradient of f", "g", "the Jacobian of g", "h", "the Jacobian of h"};
    derived *d = &s->d[which];
    d->name = names[which];
    if (!outputs(d, p, blocks) || !inputs(s, d, p)) return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    d->exec = tn_compile(p, s->options.compile);
    d->work = d->exec ? tn_work_new(d->exec, NULL, 0) : NULL;
    if (d->work) return TN_OK;
    tn_ctx *c = tn_fn_ctx(p);
    return tn_nlopt_i_fail(s, tn_last_status(c), "%s: %s", d->name, tn_error(c));
}

tn_status tn_nlopt_i_derived(tn_nlopt *s, int which, const tn_fn *p) { return compiled(s, which, p, false); }

/* How many rows each output of p has, and columns each variable. */
static bool sizes(tn_nlopt *s, derived *d, const tn_fn *p) {
    d->width = s->n;
    d->functions = tn_fn_outputs(p);
    d->variables = s->variables;
    d->rows = calloc(d->functions + 1, sizeof *d->rows);
    d->columns = calloc(d->variables + 1, sizeof *d->columns);
    if (!d->rows || !d->columns) return false;
    for (size_t i = 0; i < d->functions; i++) d->rows[i] = elements(tn_fn_output_type(p, i));
    for (size_t i = 0; i < d->variables; i++) d->columns[i] = elements(tn_fn_input_type(p, i));
    return true;
}

tn_status tn_nlopt_i_jacobian(tn_nlopt *s, int which, const tn_fn *p, int64_t rows) {
    const tn_wrt_list wrt = {s->variables, s->wrt};
    if (!sizes(s, &s->d[which], p)) return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    tn_fn *j = rows < s->n ? tn_jacrev(p, &wrt, NULL, 0) : tn_jacfwd(p, &wrt, 0);
    tn_ctx *c = tn_fn_ctx(p);
    if (!j)
        return tn_nlopt_i_fail(s, tn_last_status(c), "the Jacobian of %s: %s", which == DERIVED_G_JACOBIAN ? "g" : "h",
                               tn_error(c));
    const tn_status status = compiled(s, which, j, s->variables > 1);
    tn_fn_free(j);
    return status;
}

void tn_nlopt_i_derived_free(derived *d) {
    tn_work_free(d->work);
    tn_exec_free(d->exec);
    free(d->in);
    free(d->out);
    free(d->value);
    free(d->blocks);
    free(d->rows);
    free(d->columns);
    *d = (derived){0};
}

/* ---- runs ------------------------------------------------------------------------ */

/* The blocks of outputs and variables, as the rows of one matrix. */
static void gather(derived *d) {
    const double *block = d->blocks;
    double *row = d->value;
    for (size_t i = 0; i < d->functions; i++) {
        double *to = row;
        for (size_t j = 0; j < d->variables; j++) {
            for (size_t k = 0; k < d->rows[i]; k++) {
                if (d->columns[j]) memcpy(to + k * (size_t)d->width, block, d->columns[j] * sizeof *block);
                block += d->columns[j];
            }
            to += d->columns[j];
        }
        row += d->rows[i] * (size_t)d->width;
    }
}

static void name_element(tn_nlopt *s, const derived *d, int64_t k) {
    const char *what = isnan(d->value[k]) ? "not a number" : "infinite"; /* printf has a sign for either */
    const bool gradient = d == &s->d[DERIVED_GRADIENT];
    if (d->width)
        (void)snprintf(s->why, sizeof s->why, "%s: its entry in row %lld, column %lld is %s", d->name,
                       (long long)(k / d->width), (long long)(k % d->width), what);
    else if (d == &s->d[DERIVED_F] || (gradient && k == 0))
        (void)snprintf(s->why, sizeof s->why, "f is %s", what);
    else
        (void)snprintf(s->why, sizeof s->why, "%s: its element %lld is %s", d->name, (long long)k - gradient, what);
}

static void run(tn_nlopt *s, derived *d) {
    d->runs++;
    d->state = BAD;
    s->failed = tn_call_in(d->exec, d->work, d->in, d->out);
    if (s->failed) {
        (void)snprintf(s->why, sizeof s->why, "%s: %s", d->name, tn_work_error(d->work));
        return;
    }
    if (d->blocks) gather(d);
    for (int64_t k = 0; k < d->count; k++)
        if (!isfinite(d->value[k])) {
            s->failed = TN_ECALLBACK;
            name_element(s, d, k);
            return;
        }
    d->state = FINITE;
}

bool tn_nlopt_i_value(tn_nlopt *s, int which) {
    derived *d = &s->d[which];
    if (s->failed) return false;
    if (!d->exec) { /* an algorithm set on the handle */
        s->failed = TN_EINVAL;
        (void)snprintf(s->why, sizeof s->why, "derivatives are asked for, and the algorithm's name has none");
        return false;
    }
    if (d->state == STALE) run(s, d);
    return d->state == FINITE;
}
