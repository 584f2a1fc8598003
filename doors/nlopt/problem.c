/* tn_nlopt_new: what is refused, the derivatives. */
#include "solver.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tn_status tn_nlopt_i_fail(tn_nlopt *s, tn_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(s->message, sizeof s->message, format, args);
    va_end(args);
    s->status = status;
    return status;
}

/* ---- what is refused --------------------------------------------------------- */

static tn_status amounts(tn_nlopt *s, const tn_nlopt_options *o) {
    const struct {
        const char *name;
        double value;
    } list[] = {{"ftol_rel", o->ftol_rel}, {"ftol_abs", o->ftol_abs},       {"xtol_rel", o->xtol_rel},
                {"xtol_abs", o->xtol_abs}, {"max_seconds", o->max_seconds}, {"constraint_tol", o->constraint_tol}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (!(list[i].value >= 0 && isfinite(list[i].value)))
            return tn_nlopt_i_fail(s, TN_EINVAL, "%s is %g", list[i].name, list[i].value);
    if (o->max_evaluations < 0) return tn_nlopt_i_fail(s, TN_EINVAL, "max_evaluations is %d", o->max_evaluations);
    if (o->stop_value && isnan(*o->stop_value)) return tn_nlopt_i_fail(s, TN_EINVAL, "the stop value is not a number");
    return TN_OK;
}

static tn_status arguments(tn_nlopt *s, const tn_nlopt_problem *q, const tn_nlopt_options *o) {
    if (!q || q->size != sizeof *q) return tn_nlopt_i_fail(s, TN_EINVAL, "the problem's size is not set");
    if (o && o->size != sizeof *o) return tn_nlopt_i_fail(s, TN_EINVAL, "the options' size is not set");
    if (!q->f) return tn_nlopt_i_fail(s, TN_EINVAL, "there is no f");
    if ((q->g && tn_fn_ctx(q->g) != tn_fn_ctx(q->f)) || (q->h && tn_fn_ctx(q->h) != tn_fn_ctx(q->f)))
        return tn_nlopt_i_fail(s, TN_EINVAL, "f, g and h are of different contexts");
    if (!o) return TN_OK;
    const tn_compile_options *c = o->compile;
    if (c && (c->in_strides || c->out_strides || c->alias || c->observer))
        return tn_nlopt_i_fail(s, TN_EINVAL, "strides, aliases and observers do not suit all programs of a solver");
    return amounts(s, o);
}

static tn_status is_f64(tn_nlopt *s, const char *what, size_t i, tn_type t, int64_t *elements) {
    char text[TN_TYPE_TEXT];
    const size_t n = tn_type_elements(&t);
    if (t.dtype != TN_F64) {
        (void)tn_type_print(&t, text, sizeof text);
        return tn_nlopt_i_fail(s, TN_ETYPE, "%s %zu is %s: NLopt computes in f64", what, i, text);
    }
    if (n > INT32_MAX || *elements + (int64_t)n > INT32_MAX)
        return tn_nlopt_i_fail(s, TN_ELIMIT, "up to %s %zu there are more numbers than NLopt's 32-bit sizes count",
                               what, i);
    *elements += (int64_t)n;
    return TN_OK;
}

static tn_status same_inputs(tn_nlopt *s, const tn_fn *f, const tn_fn *g, const char *name) {
    const size_t n = tn_fn_inputs(f);
    if (tn_fn_inputs(g) != n)
        return tn_nlopt_i_fail(s, TN_EINVAL, "f has %zu inputs, %s %zu", n, name, tn_fn_inputs(g));
    for (size_t i = 0; i < n; i++) {
        const tn_type a = tn_fn_input_type(f, i), b = tn_fn_input_type(g, i);
        char ta[TN_TYPE_TEXT], tb[TN_TYPE_TEXT];
        if (tn_type_equal(&a, &b)) continue;
        (void)tn_type_print(&a, ta, sizeof ta);
        (void)tn_type_print(&b, tb, sizeof tb);
        return tn_nlopt_i_fail(s, TN_EINVAL, "input %zu of f is %s, of %s %s", i, ta, name, tb);
    }
    return TN_OK;
}

static tn_status rows(tn_nlopt *s, const tn_fn *f, const tn_fn *g, const char *name, int64_t *m) {
    char what[32];
    if (!g) return TN_OK;
    if (same_inputs(s, f, g, name)) return s->status;
    (void)snprintf(what, sizeof what, "%s's output", name);
    for (size_t i = 0; i < tn_fn_outputs(g); i++)
        if (is_f64(s, what, i, tn_fn_output_type(g, i), m)) return s->status;
    return TN_OK;
}

static tn_status signature(tn_nlopt *s, const tn_nlopt_problem *q) {
    const size_t inputs = tn_fn_inputs(q->f);
    s->variables = q->variables ? q->variables : 1;
    if (s->variables > inputs)
        return tn_nlopt_i_fail(s, TN_EINVAL, "%zu variables, but f has %zu inputs", s->variables, inputs);
    s->parameters = inputs - s->variables;
    const tn_type y = tn_fn_output_type(q->f, 0);
    int64_t one = 0;
    if (tn_fn_outputs(q->f) != 1 || y.rank != 0)
        return tn_nlopt_i_fail(s, TN_EINVAL, "f has to have one output, a scalar");
    if (is_f64(s, "f's output", 0, y, &one)) return s->status;
    s->type = calloc(s->parameters + 1, sizeof *s->type);
    s->given = calloc(s->parameters + 1, sizeof *s->given);
    if (!s->type || !s->given) return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    for (size_t i = 0; i < s->parameters; i++) s->type[i] = tn_fn_input_type(q->f, s->variables + i);
    for (size_t i = 0; i < s->variables; i++)
        if (is_f64(s, "variable", i, tn_fn_input_type(q->f, i), &s->n)) return s->status;
    if (s->n == 0) return tn_nlopt_i_fail(s, TN_EINVAL, "there are no variables: their arrays are empty");
    if (rows(s, q->f, q->g, "g", &s->inequalities) || rows(s, q->f, q->h, "h", &s->equations)) return s->status;
    return tn_nlopt_i_room(s);
}

/* ---- memory ---------------------------------------------------------------------- */

static double *numbers(int64_t n) { return calloc((size_t)n + 1, sizeof(double)); }

static tn_status buffers(tn_nlopt *s) {
    s->wrt = calloc(s->variables, sizeof *s->wrt);
    s->x = numbers(s->n), s->best = numbers(s->n), s->low = numbers(s->n), s->high = numbers(s->n);
    s->g = numbers(s->inequalities), s->h = numbers(s->equations);
    if (!s->wrt || !s->x || !s->best || !s->low || !s->high || !s->g || !s->h)
        return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    for (size_t i = 0; i < s->variables; i++) s->wrt[i] = (int)i;
    return TN_OK;
}

static tn_status bounds(tn_nlopt *s, const double *low, const double *high) {
    for (int64_t i = 0; i < s->n; i++) {
        const double a = low ? low[i] : -INFINITY, b = high ? high[i] : INFINITY;
        if (!(a <= b))
            return tn_nlopt_i_fail(s, TN_EINVAL, "the bounds of variable %lld are %g and %g", (long long)i, a, b);
        if (a == INFINITY || b == -INFINITY)
            return tn_nlopt_i_fail(s, TN_EINVAL, "variable %lld is bounded by %g", (long long)i, a);
        s->low[i] = a;
        s->high[i] = b;
    }
    return TN_OK;
}

/* ---- derivatives --------------------------------------------------------------- */

static tn_status objective(tn_nlopt *s, const tn_fn *f) {
    const tn_wrt_list wrt = {s->variables, s->wrt};
    if (tn_nlopt_i_derived(s, DERIVED_F, f) || !s->gradients) return s->status;
    tn_fn *gradient = tn_value_and_grad(f, &wrt, NULL);
    if (!gradient)
        return tn_nlopt_i_fail(s, tn_last_status(tn_fn_ctx(f)), "the gradient of f: %s", tn_error(tn_fn_ctx(f)));
    (void)tn_nlopt_i_derived(s, DERIVED_GRADIENT, gradient);
    tn_fn_free(gradient);
    return s->status;
}

static tn_status constraints(tn_nlopt *s, int which, const tn_fn *g, int64_t m) {
    if (!m || tn_nlopt_i_derived(s, which, g) || !s->gradients) return s->status;
    return tn_nlopt_i_jacobian(s, which + 1, g, m);
}

/* ---- the solver ------------------------------------------------------------------ */

static char *copied(const char *name) {
    const size_t n = strlen(name) + 1;
    char *copy = malloc(n);
    if (copy) memcpy(copy, name, n);
    return copy;
}

/* What the options point to is the caller's, who need not keep it. */
static tn_status options(tn_nlopt *s, const tn_nlopt_options *o) {
    const tn_nlopt_options none = {.size = sizeof none};
    if (!o) o = &none;
    s->options = *o;
    s->options.algorithm = copied(o->algorithm ? o->algorithm : "LD_SLSQP");
    s->options.local = o->local ? copied(o->local) : NULL;
    if (!s->options.algorithm || (o->local && !s->options.local)) return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    if (o->constraint_tol <= 0) s->options.constraint_tol = 1e-8;
    return tn_nlopt_i_algorithm(s);
}

static tn_status made(tn_nlopt *s, const tn_nlopt_problem *q, const tn_nlopt_options *o) {
    if (arguments(s, q, o) || options(s, o) || signature(s, q) || buffers(s)) return s->status;
    if (bounds(s, q->xl, q->xu) || tn_nlopt_i_handle(s)) return s->status;
    s->options.stop_value = NULL;
    if (objective(s, q->f) || constraints(s, DERIVED_G, q->g, s->inequalities) ||
        constraints(s, DERIVED_H, q->h, s->equations))
        return s->status;
    s->options.compile = NULL;
    return TN_OK;
}

tn_nlopt *tn_nlopt_new(const tn_nlopt_problem *problem, const tn_nlopt_options *opt) {
    tn_nlopt *s = calloc(1, sizeof *s);
    if (s) s->refused = made(s, problem, opt) != TN_OK;
    return s;
}

void tn_nlopt_free(tn_nlopt *s) {
    if (!s) return;
    for (int i = 0; i < DERIVED_COUNT; i++) tn_nlopt_i_derived_free(&s->d[i]);
    nlopt_destroy(s->opt);
    free((void *)(uintptr_t)s->options.algorithm);
    free((void *)(uintptr_t)s->options.local);
    free(s->wrt);
    free(s->type), free((void *)s->given);
    free(s->x), free(s->best), free(s->low), free(s->high);
    free(s->g), free(s->h);
    free(s);
}

const char *tn_nlopt_error(const tn_nlopt *s) { return s ? s->message : "out of memory"; }
tn_status tn_nlopt_status(const tn_nlopt *s) { return s ? s->status : TN_ENOMEM; }
struct nlopt_opt_s *tn_nlopt_handle(tn_nlopt *s) { return s && !s->refused ? s->opt : NULL; }
