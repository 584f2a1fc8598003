/* One derived program: compiled, run once a point, looked at for what is not finite. */
#include "solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Where each output of p begins in the values, one behind the other. */
static bool outputs(derived *d, const tn_fn *p) {
    const size_t n = tn_fn_outputs(p);
    d->count = 0;
    for (size_t i = 0; i < n; i++) {
        const tn_type t = tn_fn_output_type(p, i);
        d->count += (int64_t)tn_type_elements(&t);
    }
    d->value = calloc((size_t)d->count + 1, sizeof *d->value);
    d->out = calloc(n + 1, sizeof *d->out);
    if (!d->value || !d->out) return false;
    double *at = d->value;
    for (size_t i = 0; i < n; i++) {
        const tn_type t = tn_fn_output_type(p, i);
        d->out[i] = at;
        at += tn_type_elements(&t);
    }
    return true;
}

/* Variables lie in s->x, and multipliers in s->lambda; parameters come with a solve. */
static bool inputs(tn_ipopt *s, derived *d, const tn_fn *p) {
    const size_t n = d->variables + d->parameters + d->extra;
    d->in = calloc(n + 1, sizeof *d->in);
    if (!d->in) return false;
    const double *x = s->x, *lambda = s->lambda;
    for (size_t i = 0; i < n; i++) {
        const tn_type t = tn_fn_input_type(p, i);
        if (i < d->variables) {
            d->in[i] = x;
            x += tn_type_elements(&t);
        } else if (i == d->variables + d->parameters) {
            d->in[i] = &s->sigma;
        } else if (i > d->variables + d->parameters) {
            d->in[i] = lambda;
            lambda += tn_type_elements(&t);
        }
    }
    return true;
}

tn_status tn_ipopt_i_derived(tn_ipopt *s, int which, const tn_fn *p, size_t extra) {
    static const char *const names[] = {"f", "the gradient of f", "g", "the Jacobian of g",
                                        "the Hessian of the Lagrangian"};
    derived *d = &s->d[which];
    d->name = names[which];
    d->variables = s->variables;
    d->parameters = s->parameters;
    d->extra = extra;
    if (!outputs(d, p) || !inputs(s, d, p)) return tn_ipopt_i_fail(s, TN_ENOMEM, "out of memory");
    d->exec = tn_compile(p, s->options.compile);
    d->work = d->exec ? tn_work_new(d->exec, NULL, 0) : NULL;
    if (d->work) return TN_OK;
    tn_ctx *c = tn_fn_ctx(p);
    return tn_ipopt_i_fail(s, tn_last_status(c), "%s: %s", d->name, tn_error(c));
}

tn_status tn_ipopt_i_entries(tn_ipopt *s, int which, const tn_sparsity *pattern, tn_triangle triangle) {
    derived *d = &s->d[which];
    tn_sparsity_arrays a = {.size = sizeof a};
    const tn_status status = tn_sparsity_view(pattern, TN_COO, triangle, &a);
    if (status) return tn_ipopt_i_fail(s, status, "%s: its pattern cannot be read", d->name);
    if (a.nnz > INT32_MAX)
        return tn_ipopt_i_fail(s, TN_ELIMIT, "%s has %lld entries, more than Ipopt's 32-bit indices count", d->name,
                               (long long)a.nnz);
    d->row = calloc((size_t)a.nnz + 1, sizeof *d->row);
    d->column = calloc((size_t)a.nnz + 1, sizeof *d->column);
    if (!d->row || !d->column) return tn_ipopt_i_fail(s, TN_ENOMEM, "out of memory");
    for (int64_t k = 0; k < a.nnz; k++) {
        d->row[k] = (int32_t)a.row[k];
        d->column[k] = (int32_t)a.ind[k];
    }
    return TN_OK;
}

void tn_ipopt_i_derived_free(derived *d) {
    tn_work_free(d->work);
    tn_exec_free(d->exec);
    free(d->in);
    free(d->out);
    free(d->value);
    free(d->row);
    free(d->column);
    *d = (derived){0};
}

static void name_element(tn_ipopt *s, const derived *d, int64_t k) {
    const char *what = isnan(d->value[k]) ? "not a number" : "infinite"; /* printf has a sign for either */
    if (d->row)
        (void)snprintf(s->why, sizeof s->why, "%s: its entry in row %d, column %d is %s", d->name, (int)d->row[k],
                       (int)d->column[k], what);
    else if (d->count > 1)
        (void)snprintf(s->why, sizeof s->why, "%s: its element %lld is %s", d->name, (long long)k, what);
    else
        (void)snprintf(s->why, sizeof s->why, "%s is %s", d->name, what);
}

static void run(tn_ipopt *s, derived *d) {
    d->runs++;
    d->state = BAD;
    const tn_status status = tn_call_in(d->exec, d->work, d->in, d->out);
    if (status) {
        s->failed = status;
        (void)snprintf(s->why, sizeof s->why, "%s: %s", d->name, tn_work_error(d->work));
        return;
    }
    for (int64_t k = 0; k < d->count; k++)
        if (!isfinite(d->value[k])) {
            name_element(s, d, k);
            return;
        }
    d->state = FINITE;
}

bool tn_ipopt_i_value(tn_ipopt *s, int which) {
    derived *d = &s->d[which];
    s->questions++;
    if (s->failed || !d->exec) return false;
    if (d->state == STALE) run(s, d);
    if (d->state == BAD && !s->failed) s->not_finite++;
    return d->state == FINITE;
}
