/* tn_sundials_new: what is refused, the function itself, parameters, sizes. */
#include "system.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

tn_status tn_sundials_i_fail(tn_sundials *s, tn_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(s->message, sizeof s->message, format, args);
    va_end(args);
    s->status = status;
    return status;
}

tn_status tn_sundials_i_lost(tn_sundials *s, const tn_fn *f, const char *what) {
    const tn_ctx *c = tn_fn_ctx(f);
    const tn_status status = tn_last_status(c);
    return tn_sundials_i_fail(s, status ? status : TN_ENOMEM, "%s: %s", what, status ? tn_error(c) : "out of memory");
}

/* ---- what is refused ------------------------------------------------------------------- */

static tn_status arguments(tn_sundials *s, const tn_sundials_problem *q, const tn_sundials_options *o) {
    const unsigned all = TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES | TN_SUNDIALS_SENSITIVITIES | TN_SUNDIALS_ADJOINT;
    if (!q || q->size != sizeof *q) return tn_sundials_i_fail(s, TN_EINVAL, "the problem's size is not set");
    if (o && o->size != sizeof *o) return tn_sundials_i_fail(s, TN_EINVAL, "the options' size is not set");
    if (!q->f) return tn_sundials_i_fail(s, TN_EINVAL, "there is no f");
    if (q->kind != TN_SUNDIALS_ODE && q->kind != TN_SUNDIALS_DAE && q->kind != TN_SUNDIALS_ROOTS)
        return tn_sundials_i_fail(s, TN_EINVAL, "a problem of kind %d", (int)q->kind);
    const unsigned with = o ? o->with : 0, ode = TN_SUNDIALS_SENSITIVITIES | TN_SUNDIALS_ADJOINT;
    if (with & ~all) return tn_sundials_i_fail(s, TN_EINVAL, "derivatives %u: there are none beyond %u", with, all);
    if (q->kind != TN_SUNDIALS_ODE && (q->g || q->explicit_part || (with & ode)))
        return tn_sundials_i_fail(s, TN_EINVAL, "g, explicit parts, sensitivities and adjoints are those of an ODE");
    const tn_compile_options *c = o ? o->compile : NULL;
    if (c && (c->in_strides || c->out_strides || c->alias || c->observer))
        return tn_sundials_i_fail(s, TN_EINVAL, "strides, aliases and observers do not suit all programs of a system");
    return TN_OK;
}

static tn_status is_type(tn_sundials *s, const char *what, tn_type has, tn_type want) {
    char a[TN_TYPE_TEXT], b[TN_TYPE_TEXT];
    if (tn_type_equal(&has, &want)) return TN_OK;
    (void)tn_type_print(&has, a, sizeof a);
    (void)tn_type_print(&want, b, sizeof b);
    return tn_sundials_i_fail(s, TN_ETYPE, "%s is %s, where %s is needed", what, a, b);
}

/* An f64 array; *n its elements, or what they have to be. */
static tn_status is_state(tn_sundials *s, const char *what, tn_type t, int64_t *n) {
    char text[TN_TYPE_TEXT];
    const size_t elements = tn_type_elements(&t);
    const int64_t most = sizeof(sunindextype) == 4 ? INT32_MAX : INT64_MAX;
    (void)tn_type_print(&t, text, sizeof text);
    if (t.dtype != TN_F64) return tn_sundials_i_fail(s, TN_ETYPE, "%s is %s: SUNDIALS computes in f64", what, text);
    if (elements > (size_t)most)
        return tn_sundials_i_fail(s, TN_ELIMIT, "%s is %s: more than SUNDIALS's indices count", what, text);
    if (elements == 0) return tn_sundials_i_fail(s, TN_EINVAL, "%s is %s: it is empty", what, text);
    if (*n && *n != (int64_t)elements)
        return tn_sundials_i_fail(s, TN_ETYPE, "%s is %s, where %lld elements are needed", what, text, (long long)*n);
    *n = (int64_t)elements;
    return TN_OK;
}

static tn_status one_output(tn_sundials *s, const char *what, const tn_fn *f) {
    if (tn_fn_outputs(f) == 1) return TN_OK;
    return tn_sundials_i_fail(s, TN_EINVAL, "%s has %zu outputs, where one is needed", what, tn_fn_outputs(f));
}

static tn_status signature(tn_sundials *s, const tn_fn *f) {
    static const size_t leads[] = {2, 3, 1};
    s->lead = leads[s->kind];
    const size_t inputs = tn_fn_inputs(f), y = s->kind == TN_SUNDIALS_ROOTS ? 0 : 1;
    if (inputs < s->lead)
        return tn_sundials_i_fail(s, TN_EINVAL, "f has %zu inputs, where at least %zu are needed", inputs, s->lead);
    s->parameters = inputs - s->lead;
    s->type = calloc(inputs, sizeof *s->type);
    s->given = calloc(inputs, sizeof *s->given);
    if (!s->type || !s->given) return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    for (size_t i = 0; i < inputs; i++) s->type[i] = tn_fn_input_type(f, i);
    if (y && is_type(s, "f's input t", tn_fn_input_type(f, 0), tn_f64())) return s->status;
    if (is_state(s, "f's state", tn_fn_input_type(f, y), &s->n) || one_output(s, "f", f)) return s->status;
    const tn_type state = tn_fn_input_type(f, y), out = tn_fn_output_type(f, 0);
    if (s->kind == TN_SUNDIALS_ODE) return is_type(s, "f's output", out, state);
    if (s->kind == TN_SUNDIALS_DAE && is_type(s, "f's input y'", tn_fn_input_type(f, 2), state)) return s->status;
    return is_state(s, "f's output", out, &s->n);
}

static tn_status known(tn_sundials *s) {
    char why[512];
    if (!s->known) return TN_OK;
    if (tn_take_arguments(s->lead + s->parameters, s->type, s->known, s->given, why, sizeof why))
        return tn_sundials_i_fail(s, TN_EINVAL, "known: %s", why);
    s->known = s->given;
    for (size_t i = 0; i < s->lead; i++)
        if (s->known[i]) return tn_sundials_i_fail(s, TN_EINVAL, "known: input %zu is the solver's", i);
    return TN_OK;
}

/* g and explicit parts: the inputs of f, one output. */
static tn_status beside(tn_sundials *s, const char *what, const tn_fn *h, const tn_fn *f, tn_type output) {
    char text[64];
    if (!h) return TN_OK;
    if (tn_fn_ctx(h) != tn_fn_ctx(f))
        return tn_sundials_i_fail(s, TN_EINVAL, "f and %s are of different contexts", what);
    if (tn_fn_inputs(h) != tn_fn_inputs(f))
        return tn_sundials_i_fail(s, TN_EINVAL, "f has %zu inputs, %s %zu", tn_fn_inputs(f), what, tn_fn_inputs(h));
    for (size_t i = 0; i < tn_fn_inputs(f); i++) {
        (void)snprintf(text, sizeof text, "%s's input %zu", what, i);
        if (is_type(s, text, tn_fn_input_type(h, i), tn_fn_input_type(f, i))) return s->status;
    }
    (void)snprintf(text, sizeof text, "%s's output", what);
    return one_output(s, what, h) ? s->status : is_type(s, text, tn_fn_output_type(h, 0), output);
}

/* ---- sensitivities ------------------------------------------------------------------------ */

static tn_status choose(tn_sundials *s, const tn_fn *f, const tn_wrt_list *given) {
    const size_t inputs = tn_fn_inputs(f), most = given ? given->n : inputs;
    s->wrt_index = calloc(most + 1, sizeof *s->wrt_index);
    if (!s->wrt_index) return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    for (size_t i = 0; given && i < given->n; i++) {
        const int at = given->index[i];
        if (at < (int)s->lead || at >= (int)inputs)
            return tn_sundials_i_fail(s, TN_EINVAL, "wrt %d is no parameter: those are inputs %zu to %zu", at, s->lead,
                                      inputs - 1);
        s->wrt_index[s->wrt.n++] = at;
    }
    for (size_t i = s->lead; !given && i < inputs; i++) {
        const tn_type t = tn_fn_input_type(f, i);
        if (t.dtype == TN_F64 || t.dtype == TN_F32) s->wrt_index[s->wrt.n++] = (int)i;
    }
    s->wrt.index = s->wrt_index;
    return TN_OK;
}

/* The parameters' tangents are parts of one array, in which the one that counts is 1. */
static tn_status tangents(tn_sundials *s, const tn_fn *f) {
    for (size_t i = 0; i < s->wrt.n; i++) {
        char text[TN_TYPE_TEXT];
        const tn_type t = tn_fn_input_type(f, (size_t)s->wrt.index[i]);
        (void)tn_type_print(&t, text, sizeof text);
        if (t.dtype != TN_F64)
            return tn_sundials_i_fail(s, TN_ETYPE, "wrt %d is %s: SUNDIALS computes in f64", s->wrt.index[i], text);
        s->np += (int64_t)tn_type_elements(&t);
    }
    s->unit = calloc((size_t)s->np + 1, sizeof *s->unit);
    s->zero = calloc((size_t)s->n + 1, sizeof *s->zero);
    s->tangent = calloc(s->wrt.n + 1, sizeof *s->tangent);
    if (!s->unit || !s->zero || !s->tangent) return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    const double *at = s->unit;
    for (size_t i = 0; i < s->wrt.n; i++) {
        const tn_type t = tn_fn_input_type(f, (size_t)s->wrt.index[i]);
        s->tangent[i + 1] = at;
        at += tn_type_elements(&t);
    }
    return TN_OK;
}

/* Row i of the tangents of what at_once sensitivities are of: 1 at element i, as far as there is one. */
static tn_status tangents_at_once(tn_sundials *s, const tn_fn *f) {
    if (!s->at_once) return TN_OK;
    if (s->at_once > SIZE_MAX / 32 / (size_t)(s->n + s->np))
        return tn_sundials_i_fail(s, TN_ENOMEM, "%zu sensitivities at once do not fit into memory", s->at_once);
    const size_t state = s->at_once * (size_t)s->n, parameters = s->at_once * (size_t)s->np;
    s->all = calloc(state + 1, sizeof *s->all);
    s->all_dot = calloc(state + 1, sizeof *s->all_dot);
    s->units = calloc(parameters + 1, sizeof *s->units);
    s->tangents = calloc(s->wrt.n + 1, sizeof *s->tangents);
    if (!s->all || !s->all_dot || !s->units || !s->tangents) return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    double *at = s->units;
    size_t before = 0; /* elements of those in wrt that were passed */
    s->tangents[0] = s->all;
    for (size_t i = 0; i < s->wrt.n; i++) {
        const tn_type t = tn_fn_input_type(f, (size_t)s->wrt.index[i]);
        const size_t n = tn_type_elements(&t);
        s->tangents[i + 1] = at;
        for (size_t k = 0; k < n && before + k < s->at_once; k++) at[(before + k) * n + k] = 1;
        at += s->at_once * n;
        before += n;
    }
    return TN_OK;
}

/* ---- the system ---------------------------------------------------------------------------- */

static tn_status made(tn_sundials *s, const tn_sundials_problem *q, const tn_sundials_options *o) {
    if (arguments(s, q, o)) return s->status;
    s->kind = q->kind;
    s->compile = o ? o->compile : NULL;
    s->known = o ? o->known : NULL;
    if (signature(s, q->f) || known(s) || beside(s, "g", q->g, q->f, tn_f64())) return s->status;
    if (beside(s, "the explicit part", q->explicit_part, q->f, tn_fn_output_type(q->f, 0))) return s->status;
    const unsigned with = o ? o->with : 0;
    const bool np = q->wrt || (with & (TN_SUNDIALS_SENSITIVITIES | TN_SUNDIALS_ADJOINT));
    if (np && choose(s, q->f, q->wrt)) return s->status;
    if (with & TN_SUNDIALS_SENSITIVITIES) s->at_once = o->at_once;
    if (tangents(s, q->f) || tangents_at_once(s, q->f)) return s->status;
    if (tn_sundials_i_program(s, PROGRAM_F, q->f, s->lead, 0)) return s->status;
    if (q->g && tn_sundials_i_program(s, PROGRAM_QUAD, q->g, s->lead, 0)) return s->status;
    if (q->explicit_part && tn_sundials_i_program(s, PROGRAM_EXPLICIT, q->explicit_part, s->lead, 0)) return s->status;
    return with ? tn_sundials_i_derive(s, q, with) : TN_OK;
}

tn_sundials *tn_sundials_new(const tn_sundials_problem *problem, const tn_sundials_options *options) {
    tn_sundials *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->refused = made(s, problem, options) != TN_OK;
    s->compile = NULL; /* the caller's, who need not keep them */
    s->known = NULL;
    return s;
}

void tn_sundials_free(tn_sundials *s) {
    if (!s) return;
    for (int i = 0; i < PROGRAM_COUNT; i++) tn_sundials_i_program_free(&s->p[i]);
    tn_sundials_i_pattern_free(s);
    free(s->wrt_index);
    free(s->type), free((void *)s->given);
    free(s->unit);
    free(s->zero);
    free(s->tangent);
    free(s->all);
    free(s->all_dot);
    free(s->units);
    free(s->tangents);
    free(s);
}

const char *tn_sundials_error(const tn_sundials *s) { return s ? s->message : "out of memory"; }
tn_status tn_sundials_status(const tn_sundials *s) { return s ? s->status : TN_ENOMEM; }

const tn_sparsity *tn_sundials_pattern(const tn_sundials *s) { return s ? s->pattern : NULL; }

tn_status tn_sundials_parameters(tn_sundials *s, const void *const *p) {
    if (!s) return TN_ENOMEM;
    if (s->refused) return s->status;
    if (s->parameters && !p)
        return tn_sundials_i_fail(s, TN_EINVAL, "there are %zu parameters, and no values", s->parameters);
    char why[512];
    if (tn_take_arguments(s->parameters, s->type + s->lead, p, s->given, why, sizeof why))
        return tn_sundials_i_fail(s, TN_EINVAL, "parameters: %s", why);
    for (size_t i = 0; i < s->parameters; i++)
        if (!s->given[i]) return tn_sundials_i_fail(s, TN_EINVAL, "parameter %zu is NULL", i);
    for (int k = 0; k < PROGRAM_COUNT; k++)
        for (size_t i = 0; s->p[k].in && i < s->parameters; i++) s->p[k].in[s->p[k].lead + i] = s->given[i];
    s->ready = true;
    return TN_OK;
}

tn_status tn_sundials_size(const tn_sundials *s, tn_sundials_sizes *out) {
    if (!s || !out || out->size != sizeof *out) return TN_EINVAL;
    const program *p = s->p;
    *out = (tn_sundials_sizes){
        .size = sizeof *out,
        .n = s->n,
        .np = s->np,
        .nnz = s->entries,
        .lower = s->lower,
        .upper = s->upper,
        .f = p[PROGRAM_F].runs + p[PROGRAM_EXPLICIT].runs + p[PROGRAM_QUAD].runs,
        .jacobian = p[PROGRAM_JACOBIAN].runs,
        .products = p[PROGRAM_TIMES].runs,
        .sensitivities = p[PROGRAM_SENS].runs + p[PROGRAM_SENS_ALL].runs,
        .backward = p[PROGRAM_RHS_B].runs + p[PROGRAM_TIMES_B].runs + p[PROGRAM_QUAD_B].runs,
        .not_finite = s->not_finite,
    };
    return s->refused ? s->status : TN_OK;
}
