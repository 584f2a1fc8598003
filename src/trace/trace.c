/* Traces: the stack of programs being traced, and from callbacks to programs. */
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

/* ---- errors ------------------------------------------------------------------ */

void tn_i_trace_keep_error(tn_i_trace *t) {
    if (!t->b.failed || t->reported) return;
    t->reported = true;
    t->status = t->b.ctx->status;
    memcpy(t->message, t->b.ctx->message, sizeof t->message);
}

void tn_i_trace_adopt_error(tn_i_trace *t) {
    t->b.failed = true;
    tn_i_trace_keep_error(t);
}

static void report(const tn_i_trace *t) {
    tn_ctx *c = t->b.ctx;
    memcpy(c->message, t->message, sizeof c->message);
    c->status = t->status;
}

/* ---- the stack ---------------------------------------------------------------- */

static void push(tn_i_trace *t, tn_ctx *c, const tn_i_body *body) {
    *t = (tn_i_trace){.parent = c->trace,
                      .closed = body->closed,
                      .stepping = body->stepping,
                      .over = body->over,
                      .loc = body->loc,
                      .scope = c->scope};
    tn_i_builder_init(&t->b, c);
    t->b.loc = body->loc;
    if (++c->trace_serial == 0) c->trace_serial = 1;
    t->serial = c->trace_serial;
    c->trace = t;
}

static void pop(tn_i_trace *t) {
    tn_ctx *c = t->b.ctx;
    c->trace = t->parent;
    c->scope = t->scope;
    tn_i_builder_drop(&t->b);
    tn_i_free(c, t->capture, t->ccapture * sizeof *t->capture);
    tn_i_free(c, t->captured, t->ccaptured * sizeof *t->captured);
}

/* ---- captured values become inputs ----------------------------------------------- */

/* Captures appear among the equations; a program wants its inputs first.  The
 * equations are emitted again behind all inputs. */
static bool emit_again(const tn_i_builder *from, tn_i_builder *b, tn_i_var *map) {
    tn_i_var few[16], *in = few;
    for (size_t k = 0; k < from->neqn && !b->failed; k++) {
        const tn_i_eqn *e = &from->eqn[k];
        if (e->nin > 16 && !(in = tn_i_alloc_array(b->ctx, e->nin, sizeof *in))) return false;
        for (uint32_t i = 0; i < e->nin; i++) {
            tn_i_var v = from->pool[e->in + i];
            const tn_i_val *val = &from->val[v];
            if (map[v] == TN_NOVAR && val->def == TN_DEF_LITERAL) map[v] = tn_i_literal(b, val->type->dtype, val->bits);
            in[i] = map[v];
        }
        b->loc = e->loc;
        b->region = e->region;
        b->linear = e->linear;
        tn_i_var out = tn_i_emit_like(b, e, in);
        for (uint32_t j = 0; j < e->nout && out != TN_NOVAR; j++) map[e->out + j] = out + j;
        if (in != few) tn_i_free(b->ctx, in, e->nin * sizeof *in);
        in = few;
    }
    return !b->failed;
}

static tn_i_var moved(const tn_i_builder *from, tn_i_builder *b, tn_i_var *map, tn_i_var v) {
    const tn_i_val *val = &from->val[v];
    if (map[v] == TN_NOVAR && val->def == TN_DEF_LITERAL) map[v] = tn_i_literal(b, val->type->dtype, val->bits);
    return map[v];
}

static bool inputs_first(tn_i_trace *t, const tn_i_body *body, tn_i_builder *b, tn_i_var *out) {
    const tn_i_builder *from = &t->b;
    tn_ctx *c = from->ctx;
    tn_i_builder_init(b, c);
    tn_i_var *map = tn_i_alloc_array(c, from->nval, sizeof *map);
    bool ok = map != NULL;
    if (ok) memset(map, 0xFF, from->nval * sizeof *map);
    for (size_t i = 0; ok && i < body->nin; i++) map[i] = tn_i_input(b, from->val[i].type, false);
    for (size_t i = 0; ok && i < t->ncapture; i++)
        map[t->capture[i].inner] = tn_i_input(b, from->val[t->capture[i].inner].type, false);
    ok = ok && emit_again(from, b, map);
    for (size_t j = 0; ok && j < body->nout; j++) out[j] = moved(from, b, map, out[j]);
    tn_i_free(c, map, from->nval * sizeof *map);
    b->loc = t->loc;
    return ok && !b->failed;
}

static bool list_captures(const tn_i_trace *t, tn_val **captured, size_t *ncaptured) {
    *ncaptured = t->ncapture;
    *captured = tn_i_alloc_array(t->b.ctx, t->ncapture, sizeof **captured);
    if (!*captured) return false;
    for (size_t i = 0; i < t->ncapture; i++) (*captured)[i] = t->capture[i].outer;
    return true;
}

/* ---- running a callback ------------------------------------------------------------- */

static bool make_inputs(tn_i_trace *t, const tn_i_body *body, tn_val *in) {
    for (size_t i = 0; i < body->nin; i++) {
        tn_i_var v = tn_i_input(&t->b, &body->in[i], i >= body->nin - body->nlin);
        if (v == TN_NOVAR) break;
        in[i] = tn_i_value(t->b.ctx, t->serial, v);
    }
    tn_i_trace_keep_error(t);
    return !t->b.failed;
}

static void run_callback(const tn_i_body *body, const tn_val *in, tn_val *out) {
    if (body->one)
        out[0] = body->one(in, body->user);
    else
        body->many(in, out, body->user);
}

static void name_output(const tn_i_body *body, size_t j, char name[64]) {
    if (body->stepping != TN_STEP_INPUT)
        (void)snprintf(name, 64, "output %zu", j);
    else if (j < body->ncarry)
        (void)snprintf(name, 64, "carry %zu of the step", j);
    else
        (void)snprintf(name, 64, "y %zu of the step", j - body->ncarry);
}

/* The variables of what the callback returned. */
static bool take_outputs(tn_i_trace *t, const tn_i_body *body, const tn_val *out, tn_i_var *var) {
    for (size_t j = 0; j < body->nout && !t->b.failed; j++) {
        char name[64];
        tn_i_site s;
        name_output(body, j, name);
        tn_i_site_begin(&s, name, t->b.ctx, t->loc->file, (int)t->loc->line);
        if (tn_i_is_number(&out[j]))
            (void)tn_i_site_fail(&s, TN_EINVAL, -1, "a plain number has no dtype; make it an array with tn_full");
        else
            var[j] = tn_i_site_resolve(&s, &out[j], -1);
        (void)tn_i_site_close(&s, var[j]);
    }
    t->b.loc = t->loc;
    return !t->b.failed;
}

static tn_fn *finish(tn_i_trace *t, const tn_i_body *body, tn_i_var *var, tn_val **captured, size_t *ncaptured) {
    tn_ctx *c = t->b.ctx;
    if (t->ncapture == 0) return tn_i_finish(&t->b, (uint32_t)body->nout, var);
    tn_i_builder b;
    if (!inputs_first(t, body, &b, var) || !list_captures(t, captured, ncaptured)) {
        tn_i_builder_drop(&b);
        return NULL;
    }
    tn_fn *f = tn_i_finish(&b, (uint32_t)body->nout, var);
    if (!f) {
        tn_i_free(c, *captured, *ncaptured * sizeof **captured);
        *captured = NULL;
        *ncaptured = 0;
    }
    return f;
}

/* Values that were never set, for a callback that reads more inputs than it has, or sets more outputs. */
enum { BEHIND = 8 };

/* None of the values behind the outputs is set. */
static bool only_outputs(tn_i_trace *t, const tn_i_body *body, const tn_val *out) {
    static const tn_val unset;
    for (size_t j = body->nout; j < body->nout + BEHIND; j++) {
        if (memcmp(&out[j], &unset, sizeof unset) == 0) continue;
        t->b.loc = t->loc;
        tn_i_builder_fail(&t->b, TN_EINVAL, "the callback sets output %zu, but was to have %zu", j, body->nout);
        tn_i_trace_keep_error(t);
        return false;
    }
    return true;
}

tn_fn *tn_i_trace_body(tn_ctx *c, const tn_i_body *body, tn_val **captured, size_t *ncaptured) {
    tn_fn *f = NULL;
    const size_t nin = body->nin + BEHIND, nout = body->nout + BEHIND;
    tn_val *in = tn_i_alloc_array(c, nin, sizeof *in), *out = tn_i_alloc_array(c, nout, sizeof *out);
    tn_i_var *var = tn_i_alloc_array(c, body->nout, sizeof *var);
    if (in && out && var) {
        tn_i_trace t;
        push(&t, c, body);
        if (make_inputs(&t, body, in)) {
            run_callback(body, in, out);
            c->trace = &t; /* whatever the callback left behind */
        }
        if (!t.b.failed && only_outputs(&t, body, out)) (void)take_outputs(&t, body, out, var);
        if (t.b.failed)
            report(&t);
        else
            f = finish(&t, body, var, captured, ncaptured);
        pop(&t);
    }
    tn_i_free(c, in, nin * sizeof *in);
    tn_i_free(c, out, nout * sizeof *out);
    tn_i_free(c, var, body->nout * sizeof *var);
    return f;
}

static tn_fn *trace_program(tn_ctx *c, tn_i_body *body, const char *file, int line) {
    if (!c) return NULL;
    body->closed = "tn_trace";
    body->loc = tn_i_loc_of(c, file ? file : "", line > 0 ? (uint32_t)line : 0, 0, "");
    if (!body->loc) return NULL;
    if ((!body->one && !body->many) || (body->nin && !body->in) || body->nin > INT32_MAX || body->nout > INT32_MAX) {
        (void)tn_i_fail(c, TN_EINVAL, body->loc, "tn_trace: no callback, or no types for %zu inputs", body->nin);
        return NULL;
    }
    if (!tn_i_given_types(c, body->loc, "tn_trace", "input", body->nin, body->in)) return NULL;
    return tn_i_trace_body(c, body, NULL, NULL);
}

tn_fn *tn_trace_at(tn_ctx *c, tn_trace_fn f, void *user, size_t nin, const tn_type *in, const char *file, int line) {
    tn_i_body body = {.one = f, .user = user, .nin = nin, .in = in, .nout = 1};
    return trace_program(c, &body, file, line);
}

tn_fn *tn_trace_many_at(tn_ctx *c, tn_trace_many_fn f, void *user, size_t nin, const tn_type *in, size_t nout,
                        const char *file, int line) {
    tn_i_body body = {.many = f, .user = user, .nin = nin, .in = in, .nout = nout};
    return trace_program(c, &body, file, line);
}

/* One program of many ranks: input i varies over axes[i]. */
tn_fn *tn_trace_spmd_at(tn_ctx *c, tn_trace_many_fn f, void *user, size_t nin, const tn_type *in,
                        const char *const *axes, size_t nout, const char *file, int line) {
    if (!c) return NULL;
    tn_type *t = nin <= INT32_MAX && (in || !nin) ? tn_i_alloc_array(c, nin, sizeof *t) : NULL;
    const tn_i_loc *loc = tn_i_loc_of(c, file ? file : "", line > 0 ? (uint32_t)line : 0, 0, "");
    bool ok = t && loc;
    if (!ok && loc && nin) (void)tn_i_fail(c, TN_EINVAL, loc, "tn_trace_spmd: no types for %zu inputs", nin);
    for (size_t i = 0; ok && i < nin; i++) {
        uint32_t bits = 0;
        t[i] = in[i];
        if (in[i].dtype == TN_NDTYPES) break; /* as TN_TYPES ends: nothing behind is read */
        if (axes && axes[i] && strcmp(axes[i], TN_AXES_END) == 0) {
            (void)tn_i_fail(c, TN_EINVAL, loc, "tn_trace_spmd: there are %zu inputs, and TN_AXES has %zu", nin, i);
            ok = false;
        }
        if (!ok || !axes || !axes[i] || !*axes[i]) continue;
        ok = tn_i_axes_named(c, loc, "tn_trace_spmd", axes[i], &bits) &&
             tn_i_axes_of(c, bits | tn_i_over(&in[i]), &t[i].varying);
    }
    tn_i_body body = {.many = f, .user = user, .nin = nin, .in = t, .nout = nout};
    tn_fn *g = ok ? trace_program(c, &body, file, line) : NULL;
    tn_i_free(c, t, nin * sizeof *t);
    return g;
}

/* ---- scopes ------------------------------------------------------------------------- */

int tn_scope_push(tn_ctx *c, const char *name) {
    if (!c) return 1;
    char text[512];
    size_t n = c->scope ? strlen(c->scope) : 0, m = name ? strlen(name) : 0;
    if (n > sizeof text - 2) n = sizeof text - 2;
    if (m > sizeof text - 2 - n) m = sizeof text - 2 - n;
    if (n) {
        memcpy(text, c->scope, n);
        text[n++] = '/';
    }
    for (size_t i = 0; i < m; i++) text[n++] = name[i] == '/' ? '.' : name[i];
    const char *scope = tn_i_string(c, text, n);
    if (scope)
        c->scope = scope;
    else if (c->trace)
        tn_i_trace_adopt_error(c->trace);
    return 1;
}

int tn_scope_pop(tn_ctx *c) {
    if (!c || !c->scope) return 0;
    const char *slash = strrchr(c->scope, '/');
    const char *scope = tn_i_string(c, c->scope, slash ? (size_t)(slash - c->scope) : 0);
    if (scope) c->scope = scope;
    return 0;
}
