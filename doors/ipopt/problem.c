/* tn_ipopt_new: what is refused, the derivatives, Ipopt's handle. */
#include "solver.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

tn_status tn_ipopt_i_fail(tn_ipopt *s, tn_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(s->message, sizeof s->message, format, args);
    va_end(args);
    s->status = status;
    return status;
}

/* ---- what is refused --------------------------------------------------------- */

static tn_status arguments(tn_ipopt *s, const tn_nlp *q, const tn_ipopt_options *o) {
    if (!q || q->size != sizeof *q) return tn_ipopt_i_fail(s, TN_EINVAL, "the problem's size is not set");
    if (o && o->size != sizeof *o) return tn_ipopt_i_fail(s, TN_EINVAL, "the options' size is not set");
    if (!q->f) return tn_ipopt_i_fail(s, TN_EINVAL, "there is no f");
    if (q->g && tn_fn_ctx(q->g) != tn_fn_ctx(q->f))
        return tn_ipopt_i_fail(s, TN_EINVAL, "f and g are of different contexts");
    if (!o) return TN_OK;
    if (!(o->tol >= 0 && o->tol <= 1)) return tn_ipopt_i_fail(s, TN_EINVAL, "a tolerance of %g", o->tol);
    if (!(o->warm_start_mu >= 0 && isfinite(o->warm_start_mu)))
        return tn_ipopt_i_fail(s, TN_EINVAL, "a barrier parameter of %g", o->warm_start_mu);
    if (o->print_level < 0 || o->print_level > 12)
        return tn_ipopt_i_fail(s, TN_EINVAL, "a print level of %d: 0 to 12", o->print_level);
    const tn_compile_options *c = o->compile;
    if (c && (c->in_strides || c->out_strides || c->alias || c->observer))
        return tn_ipopt_i_fail(s, TN_EINVAL, "strides, aliases and observers do not suit all programs of a solver");
    return TN_OK;
}

static tn_status is_f64(tn_ipopt *s, const char *what, size_t i, tn_type t, int64_t *elements) {
    char text[TN_TYPE_TEXT];
    const size_t n = tn_type_elements(&t);
    if (t.dtype != TN_F64) {
        (void)tn_type_print(&t, text, sizeof text);
        return tn_ipopt_i_fail(s, TN_ETYPE, "%s %zu is %s: Ipopt computes in f64", what, i, text);
    }
    if (n > INT32_MAX || *elements + (int64_t)n > INT32_MAX)
        return tn_ipopt_i_fail(s, TN_ELIMIT, "up to %s %zu there are more numbers than Ipopt's 32-bit indices count",
                               what, i);
    *elements += (int64_t)n;
    return TN_OK;
}

static tn_status same_inputs(tn_ipopt *s, const tn_fn *f, const tn_fn *g) {
    const size_t n = tn_fn_inputs(f);
    if (tn_fn_inputs(g) != n) return tn_ipopt_i_fail(s, TN_EINVAL, "f has %zu inputs, g %zu", n, tn_fn_inputs(g));
    for (size_t i = 0; i < n; i++) {
        const tn_type a = tn_fn_input_type(f, i), b = tn_fn_input_type(g, i);
        char ta[TN_TYPE_TEXT], tb[TN_TYPE_TEXT];
        if (tn_type_equal(&a, &b)) continue;
        (void)tn_type_print(&a, ta, sizeof ta);
        (void)tn_type_print(&b, tb, sizeof tb);
        return tn_ipopt_i_fail(s, TN_EINVAL, "input %zu of f is %s, of g %s", i, ta, tb);
    }
    return TN_OK;
}

static tn_status signature(tn_ipopt *s, const tn_nlp *q) {
    const size_t inputs = tn_fn_inputs(q->f);
    s->variables = q->variables ? q->variables : 1;
    if (s->variables > inputs)
        return tn_ipopt_i_fail(s, TN_EINVAL, "%zu variables, but f has %zu inputs", s->variables, inputs);
    s->parameters = inputs - s->variables;
    const tn_type y = tn_fn_output_type(q->f, 0);
    int64_t one = 0;
    if (tn_fn_outputs(q->f) != 1 || y.rank != 0)
        return tn_ipopt_i_fail(s, TN_EINVAL, "f has to have one output, a scalar");
    if (is_f64(s, "f's output", 0, y, &one)) return s->status;
    s->type = calloc(s->parameters + 1, sizeof *s->type);
    s->given = calloc(s->parameters + 1, sizeof *s->given);
    if (!s->type || !s->given) return tn_ipopt_i_fail(s, TN_ENOMEM, "out of memory");
    for (size_t i = 0; i < s->parameters; i++) s->type[i] = tn_fn_input_type(q->f, s->variables + i);
    for (size_t i = 0; i < s->variables; i++)
        if (is_f64(s, "variable", i, tn_fn_input_type(q->f, i), &s->n)) return s->status;
    if (s->n == 0) return tn_ipopt_i_fail(s, TN_EINVAL, "there are no variables: their arrays are empty");
    if (!q->g) return TN_OK;
    if (same_inputs(s, q->f, q->g)) return s->status;
    for (size_t i = 0; i < tn_fn_outputs(q->g); i++)
        if (is_f64(s, "g's output", i, tn_fn_output_type(q->g, i), &s->m)) return s->status;
    return TN_OK;
}

static tn_status in_order(tn_ipopt *s, const char *what, int64_t n, const double *low, const double *high) {
    for (int64_t i = 0; i < n; i++) {
        const double a = low ? low[i] : -INFINITY, b = high ? high[i] : INFINITY;
        if (!(a <= b))
            return tn_ipopt_i_fail(s, TN_EINVAL, "the bounds of %s %lld are %g and %g", what, (long long)i, a, b);
        if (a == INFINITY || b == -INFINITY)
            return tn_ipopt_i_fail(s, TN_EINVAL, "%s %lld is bounded by %g", what, (long long)i, a);
    }
    return TN_OK;
}

/* ---- derivatives --------------------------------------------------------------- */

static tn_status lost(tn_ipopt *s, const tn_fn *f, const char *what) {
    tn_ctx *c = tn_fn_ctx(f);
    return tn_ipopt_i_fail(s, tn_last_status(c), "%s: %s", what, tn_error(c));
}

/* A program of ours: compiled, with the entries of its pattern where it has one, and released. */
static tn_status take(tn_ipopt *s, int which, tn_fn *p, size_t extra, tn_sparsity *pattern, tn_triangle triangle) {
    tn_status status = tn_ipopt_i_derived(s, which, p, extra);
    if (!status && pattern) status = tn_ipopt_i_entries(s, which, pattern, triangle);
    tn_sparsity_free(pattern);
    tn_fn_free(p);
    return status;
}

static tn_status hessian(tn_ipopt *s, const tn_nlp *q, const tn_wrt_list *wrt) {
    const tn_sparse_options o = {.size = sizeof o, .format = TN_COO, .triangle = TN_LOWER};
    tn_sparsity *pattern = NULL;
    tn_fn *l = tn_lagrangian(q->f, q->g);
    tn_fn *h = l ? tn_sparse_hessian(l, wrt, &o, &pattern) : NULL;
    const size_t extra = l ? tn_fn_inputs(l) - tn_fn_inputs(q->f) : 0;
    tn_fn_free(l);
    if (!h) return lost(s, q->f, "the Hessian of the Lagrangian");
    return take(s, DERIVED_HESSIAN, h, extra, pattern, TN_LOWER);
}

static tn_status jacobian(tn_ipopt *s, const tn_nlp *q, const tn_wrt_list *wrt) {
    const tn_sparse_options o = {.size = sizeof o, .format = TN_COO};
    tn_sparsity *pattern = NULL;
    tn_fn *j = tn_sparse_jacobian(q->g, wrt, &o, &pattern);
    if (!j) return lost(s, q->g, "the Jacobian of g");
    return take(s, DERIVED_JACOBIAN, j, 0, pattern, TN_FULL);
}

static tn_status derivatives(tn_ipopt *s, const tn_nlp *q) {
    const tn_wrt_list wrt = {s->variables, s->wrt};
    if (tn_ipopt_i_derived(s, DERIVED_F, q->f, 0)) return s->status;
    tn_fn *gradient = tn_grad(q->f, &wrt, NULL);
    if (!gradient) return lost(s, q->f, "the gradient of f");
    if (take(s, DERIVED_GRADIENT, gradient, 0, NULL, TN_FULL)) return s->status;
    if (s->m && (tn_ipopt_i_derived(s, DERIVED_G, q->g, 0) || jacobian(s, q, &wrt))) return s->status;
    return s->options.limited_memory ? TN_OK : hessian(s, q, &wrt);
}

/* ---- the solver ------------------------------------------------------------------ */

static double *numbers(int64_t n) { return calloc((size_t)n + 1, sizeof(double)); }

static tn_status buffers(tn_ipopt *s) {
    s->wrt = calloc(s->variables, sizeof *s->wrt);
    s->x = numbers(s->n), s->best = numbers(s->n), s->zl = numbers(s->n), s->zu = numbers(s->n);
    s->lambda = numbers(s->m), s->g = numbers(s->m), s->multipliers = numbers(s->m);
    if (!s->wrt || !s->x || !s->best || !s->zl || !s->zu || !s->lambda || !s->g || !s->multipliers)
        return tn_ipopt_i_fail(s, TN_ENOMEM, "out of memory");
    for (size_t i = 0; i < s->variables; i++) s->wrt[i] = (int)i;
    return TN_OK;
}

static tn_status made(tn_ipopt *s, const tn_nlp *q, const tn_ipopt_options *o) {
    if (arguments(s, q, o)) return s->status;
    if (o) s->options = *o;
    if (signature(s, q)) return s->status;
    if (in_order(s, "variable", s->n, q->xl, q->xu) || in_order(s, "constraint", s->m, q->gl, q->gu)) return s->status;
    if (buffers(s) || derivatives(s, q)) return s->status;
    s->options.compile = NULL; /* the caller's, who need not keep it */
    s->problem = tn_ipopt_i_handle(s, q);
    if (!s->problem) return tn_ipopt_i_fail(s, TN_ENOMEM, "Ipopt cannot make the problem");
    return tn_ipopt_i_options(s);
}

tn_ipopt *tn_ipopt_new(const tn_nlp *problem, const tn_ipopt_options *options) {
    tn_ipopt *s = calloc(1, sizeof *s);
    if (s) s->refused = made(s, problem, options) != TN_OK;
    return s;
}

void tn_ipopt_free(tn_ipopt *s) {
    if (!s) return;
    for (int i = 0; i < DERIVED_COUNT; i++) tn_ipopt_i_derived_free(&s->d[i]);
    if (s->problem) FreeIpoptProblem(s->problem);
    free(s->wrt);
    free(s->type), free((void *)s->given);
    free(s->x), free(s->best), free(s->zl), free(s->zu);
    free(s->lambda), free(s->g), free(s->multipliers);
    free(s);
}

const char *tn_ipopt_error(const tn_ipopt *s) { return s ? s->message : "out of memory"; }
tn_status tn_ipopt_status(const tn_ipopt *s) { return s ? s->status : TN_ENOMEM; }
struct IpoptProblemInfo *tn_ipopt_problem(tn_ipopt *s) { return s && !s->refused ? s->problem : NULL; }

tn_status tn_ipopt_size(const tn_ipopt *s, tn_ipopt_sizes *out) {
    if (!s || !out || out->size != sizeof *out) return TN_EINVAL;
    *out = (tn_ipopt_sizes){sizeof *out, s->n, s->m, s->d[DERIVED_JACOBIAN].count, s->d[DERIVED_HESSIAN].count};
    return s->refused ? s->status : TN_OK;
}
