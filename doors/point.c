/* A derived program asked at points. */
#include "point.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tn_status tn_i_point_fail(tn_i_point *p, tn_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(p->message, sizeof p->message, format, args);
    va_end(args);
    p->status = status;
    return status;
}

static size_t elements(tn_type t) { return tn_type_elements(&t); }

static tn_status variable(tn_i_point *p, const tn_fn *f, size_t i) {
    const tn_type t = tn_fn_input_type(f, i);
    char text[TN_TYPE_TEXT];
    if (t.dtype != TN_F64) {
        (void)tn_type_print(&t, text, sizeof text);
        return tn_i_point_fail(p, TN_ETYPE, "variable %zu is %s: the solver computes in f64", i, text);
    }
    if (elements(t) > INT32_MAX || p->n + (int64_t)elements(t) > INT32_MAX)
        return tn_i_point_fail(p, TN_ELIMIT, "up to variable %zu there are more numbers than 32-bit sizes count", i);
    p->n += (int64_t)elements(t);
    return TN_OK;
}

tn_status tn_i_point_inputs(tn_i_point *p, const tn_fn *f, size_t variables) {
    const size_t inputs = tn_fn_inputs(f);
    p->variables = variables ? variables : 1;
    if (p->variables > inputs)
        return tn_i_point_fail(p, TN_EINVAL, "%zu variables, but f has %zu inputs", p->variables, inputs);
    p->parameters = inputs - p->variables;
    for (size_t i = 0; i < p->variables; i++)
        if (variable(p, f, i)) return p->status;
    if (p->n == 0) return tn_i_point_fail(p, TN_EINVAL, "there are no variables: their arrays are empty");
    p->wrt = calloc(p->variables, sizeof *p->wrt);
    p->x = calloc((size_t)p->n, sizeof *p->x);
    p->in = calloc(inputs, sizeof *p->in);
    p->type = calloc(p->parameters + 1, sizeof *p->type);
    if (!p->wrt || !p->x || !p->in || !p->type) return tn_i_point_fail(p, TN_ENOMEM, "out of memory");
    for (size_t i = 0; i < p->parameters; i++) p->type[i] = tn_fn_input_type(f, p->variables + i);
    const double *x = p->x;
    for (size_t i = 0; i < p->variables; i++) {
        p->wrt[i] = (int)i;
        p->in[i] = x;
        x += elements(tn_fn_input_type(f, i));
    }
    return TN_OK;
}

static tn_status room(tn_i_point *p, const tn_fn *g) {
    const size_t n = tn_fn_outputs(g);
    for (size_t j = 0; j < n; j++) p->count += (int64_t)elements(tn_fn_output_type(g, j));
    p->value = calloc((size_t)p->count, sizeof *p->value);
    p->out = calloc(n, sizeof *p->out);
    if (!p->value || !p->out) return tn_i_point_fail(p, TN_ENOMEM, "out of memory");
    double *at = p->value;
    for (size_t j = 0; j < n; j++) {
        p->out[j] = at;
        at += elements(tn_fn_output_type(g, j));
    }
    return TN_OK;
}

tn_status tn_i_point_program(tn_i_point *p, const tn_fn *f, const tn_fn *derived, const char *name,
                             const tn_compile_options *o) {
    tn_ctx *c = tn_fn_ctx(f);
    if (o && (o->in_strides || o->out_strides || o->alias || o->observer))
        return tn_i_point_fail(p, TN_EINVAL, "strides, aliases and observers do not suit the program of a solver");
    if (!derived) return tn_i_point_fail(p, tn_last_status(c), "%s: %s", name, tn_error(c));
    if (room(p, derived)) return p->status;
    p->exec = tn_compile(derived, o);
    p->work = p->exec ? tn_work_new(p->exec, NULL, 0) : NULL;
    return p->work ? TN_OK : tn_i_point_fail(p, tn_last_status(c), "%s: %s", name, tn_error(c));
}

void tn_i_point_free(tn_i_point *p) {
    tn_work_free(p->work);
    tn_exec_free(p->exec);
    free(p->wrt), free(p->x), free(p->value);
    free(p->in), free(p->out), free(p->type);
}

tn_status tn_i_point_begin(tn_i_point *p, const double *x, const void *const *parameters) {
    if (p->parameters && !parameters)
        return tn_i_point_fail(p, TN_EINVAL, "there are %zu parameters, and the start has none", p->parameters);
    const void **given = p->in + p->variables;
    char why[512];
    if (tn_take_arguments(p->parameters, p->type, parameters, given, why, sizeof why))
        return tn_i_point_fail(p, TN_EINVAL, "parameters: %s", why);
    for (size_t i = 0; i < p->parameters; i++)
        if (!given[i]) return tn_i_point_fail(p, TN_EINVAL, "parameter %zu is NULL", i);
    for (int64_t i = 0; x && i < p->n; i++)
        if (!isfinite(x[i])) return tn_i_point_fail(p, TN_EINVAL, "variable %lld begins at %g", (long long)i, x[i]);
    p->known = false;
    p->failed = TN_OK;
    p->why[0] = p->message[0] = 0;
    p->status = TN_OK;
    p->runs = p->not_finite = 0;
    return TN_OK;
}

bool tn_i_point_at(tn_i_point *p, const double *x) {
    if (p->failed) return false;
    if (p->known && memcmp(x, p->x, (size_t)p->n * sizeof *x) == 0) return p->finite;
    memcpy(p->x, x, (size_t)p->n * sizeof *x);
    p->known = true;
    p->finite = false;
    p->runs++;
    p->failed = tn_call_in(p->exec, p->work, p->in, p->out);
    if (p->failed) {
        (void)snprintf(p->why, sizeof p->why, "%s", tn_work_error(p->work));
        return false;
    }
    bool finite = true;
    for (int64_t i = 0; i < p->count && finite; i++) finite = isfinite(p->value[i]);
    p->finite = finite;
    p->not_finite += !finite;
    return finite;
}
