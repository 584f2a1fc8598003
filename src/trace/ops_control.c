/* Nested programs, and rules of the user's own: callbacks become programs that
 * are parameters of one equation. */
#include "control/external.h"
#include "control/linear_call.h"
#include "prims/ids.h"
#include "trace/shared.h"

#include <string.h>

/* ---- what the operators share ----------------------------------------------------- */

/* A callback of one form or the other. */
typedef tn_i_callback callback;

/* Types for the inputs of a rule's program: all of a list, or its floats. */
typedef struct types {
    tn_type *t;
    size_t n, room;
} types;

static bool types_room(tn_i_site *s, types *k, size_t room) {
    *k = (types){.room = room};
    if (s->b->failed) return false;
    k->t = tn_i_alloc_array(s->b->ctx, room, sizeof *k->t);
    if (!k->t) s->b->failed = true;
    return k->t != NULL;
}

static void types_free(tn_i_site *s, types *k) {
    if (k->t) tn_i_free(s->b->ctx, k->t, k->room * sizeof *k->t);
}

static size_t types_add(types *k, const tn_type *t, bool floats_only) {
    if (floats_only && !tn_i_is_float(t->dtype)) return 0;
    k->t[k->n++] = *t;
    return 1;
}

static size_t add_operands(types *k, const tn_i_site *s, size_t first, bool floats_only) {
    size_t n = 0;
    for (size_t i = first; i < s->n; i++) n += types_add(k, tn_i_site_type(s, s->v[i]), floats_only);
    return n;
}

static size_t add_outputs(types *k, const tn_fn *f, size_t first, size_t end, bool floats_only) {
    size_t n = 0;
    for (size_t j = first; j < end; j++) n += types_add(k, f->val[f->out[j]].type, floats_only);
    return n;
}

/* Traces one program of a rule; the last nlin inputs are linear, and then the
 * program's linearity is checked in every build.  NULL after a failure. */
static tn_fn *rule_program(tn_i_site *s, callback f, void *user, const types *in, size_t nlin, size_t nout) {
    if (s->b->failed) return NULL;
    if (!f.one && !f.many) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "a callback is NULL");
        return NULL;
    }
    const tn_i_loc *loc = s->b->loc;
    tn_ctx *c = s->b->ctx;
    tn_i_body body = {.one = f.one,
                      .many = f.many,
                      .user = user,
                      .nin = in->n,
                      .nlin = nlin,
                      .nout = nout,
                      .in = in->t,
                      .closed = s->name,
                      .loc = loc};
    tn_fn *p = tn_i_trace_body(c, &body, NULL, NULL);
    s->b->loc = loc;
    if (p && nlin && !c->check && !tn_i_check(p)) {
        tn_i_fn_unref(p);
        p = NULL;
    }
    if (!p) tn_i_trace_adopt_error(s->t);
    return p;
}

/* Emits the equation of a rule over the site's operands; with `why`, one that is one_way. */
static tn_i_var emit_one_way(tn_i_site *s, int id, size_t n, const char *const *names, tn_fn *const *f,
                             const char *why) {
    tn_i_args a;
    const char *text = why && !s->b->failed ? tn_i_string(s->b->ctx, why, strlen(why)) : NULL;
    if (why && !text) s->b->failed = true;
    tn_i_args_init(&a, s, id);
    for (size_t i = 0; i < n && !s->b->failed; i++) tn_i_args_fn(&a, names[i], f[i]);
    if (text) tn_i_args_str(&a, "one_way", text);
    return tn_i_args_emit(s, &a, s->n, s->v);
}

static tn_i_var emit_rule(tn_i_site *s, int id, size_t n, const char *const *names, tn_fn *const *f) {
    return emit_one_way(s, id, n, names, f, NULL);
}

static void release(size_t n, tn_fn *const *f) {
    for (size_t i = 0; i < n; i++) tn_i_fn_unref(f[i]);
}

/* ---- calls --------------------------------------------------------------------------- */

static tn_i_var emit_call(tn_i_site *s, const char *name, const char *policy, const tn_fn *f, size_t n) {
    if (s->b->failed) return TN_NOVAR;
    const char *interned = tn_i_string(s->b->ctx, name, strlen(name));
    const char *how = policy ? tn_i_string(s->b->ctx, policy, strlen(policy)) : "";
    tn_i_args a;
    if (!interned || !how) {
        s->b->failed = true;
        return TN_NOVAR;
    }
    tn_i_args_init(&a, s, policy ? TN_P_checkpoint : TN_P_call);
    tn_i_args_str(&a, "name", interned);
    tn_i_args_fn(&a, "program", f);
    if (policy) tn_i_args_str(&a, "policy", how);
    return tn_i_args_emit(s, &a, n, s->v);
}

/* A missing program has left its reason in the context. */
static void no_program(tn_i_site *s) {
    if (!s->t || s->b->failed) return;
    if (s->b->ctx->status == TN_OK)
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "the program is NULL");
    else
        tn_i_trace_adopt_error(s->t);
}

void tn_apply_many_at(const tn_fn *f, size_t n, const tn_val *x, size_t nout, tn_val *out, const char *file, int line) {
    tn_i_site s;
    tn_i_var first = TN_NOVAR;
    tn_i_site_open_many(&s, "apply", f ? f->ctx : NULL, n, x, 0, file, line);
    if (!tn_i_living(f))
        no_program(&s);
    else if (f->nout != nout)
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the program has %u outputs, not %zu", (unsigned)f->nout, nout);
    else
        first = emit_call(&s, f->name, NULL, f, n);
    tn_i_site_close_many(&s, first, nout, out);
}

tn_val tn_apply_at(const tn_fn *f, size_t n, const tn_val *x, const char *file, int line) {
    tn_val out;
    tn_apply_many_at(f, n, x, 1, &out, file, line);
    return out;
}

/* Appends the captured values to the site's operands. */
static bool append_captured(tn_i_site *s, const tn_val *captured, size_t n) {
    tn_i_var *v = tn_i_alloc_array(s->b->ctx, s->own + n, sizeof *v);
    if (!v) {
        s->b->failed = true;
        return false;
    }
    memcpy(v, s->v, s->n * sizeof *v);
    for (size_t i = 0; i < n; i++) v[s->n + i] = tn_i_site_resolve(s, &captured[i], -1);
    tn_i_free(s->b->ctx, s->v, s->own * sizeof *s->v);
    s->v = v;
    s->own += n;
    return !s->b->failed;
}

/* A call of what f performs; with a policy, a checkpoint. */
static void subfn(const char *name, const char *policy, callback f, void *user, size_t n, const tn_val *x, size_t nout,
                  tn_val *out, const char *file, int line) {
    tn_i_site s;
    types in;
    tn_i_var first = TN_NOVAR;
    tn_i_site_open_many(&s, policy ? "checkpoint" : "subfn", NULL, n, x, 0, file, line);
    if (!f.one && !f.many) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the callback is NULL");
    if (policy && strncmp(policy, "tn_policy:", 10) == 0) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "%s", policy);
    if (types_room(&s, &in, n)) {
        tn_ctx *c = s.b->ctx;
        tn_val *captured = NULL;
        size_t ncaptured = 0;
        const tn_i_loc *loc = s.b->loc;
        (void)add_operands(&in, &s, 0, false);
        tn_i_body body = {
            .one = f.one, .many = f.many, .user = user, .nin = in.n, .nout = nout, .in = in.t, .loc = loc};
        tn_fn *p = tn_i_trace_body(c, &body, &captured, &ncaptured);
        s.b->loc = loc;
        if (!p)
            tn_i_trace_adopt_error(s.t);
        else if (append_captured(&s, captured, ncaptured))
            first = emit_call(&s, name ? name : "", policy, p, n + ncaptured);
        if (captured) tn_i_free(c, captured, ncaptured * sizeof *captured);
        tn_i_fn_unref(p);
    }
    types_free(&s, &in);
    tn_i_site_close_many(&s, first, nout, out);
}

tn_val tn_subfn_at(const char *name, tn_trace_fn f, void *user, size_t n, const tn_val *x, const char *file, int line) {
    tn_val out;
    subfn(name, NULL, (callback){.one = f}, user, n, x, 1, &out, file, line);
    return out;
}

void tn_subfn_many_at(const char *name, tn_trace_many_fn f, void *user, size_t n, const tn_val *x, size_t nout,
                      tn_val *out, const char *file, int line) {
    subfn(name, NULL, (callback){.many = f}, user, n, x, nout, out, file, line);
}

/* ---- checkpoint ---------------------------------------------------------------------------- */

static const char no_size[] = "tn_policy: its size is not set: write tn_policy p = {.size = sizeof p, ..}";

/* The policy's text; a callback has none, and could not be kept by a program's text. */
static const char *region_policy(const tn_policy *policy) {
    if (!policy) return "nothing_saveable";
    if (policy->size < sizeof policy->size) return no_size;
    return policy->name && !policy->callback ? policy->name : "a callback";
}

void tn_checkpoint_many_at(tn_trace_many_fn f, const tn_policy *policy, void *user, size_t n, const tn_val *x,
                           size_t nout, tn_val *out, const char *file, int line) {
    subfn("checkpoint", region_policy(policy), (callback){.many = f}, user, n, x, nout, out, file, line);
}

tn_val tn_checkpoint_at(tn_trace_fn f, const tn_policy *policy, void *user, size_t n, const tn_val *x, const char *file,
                        int line) {
    tn_val out;
    subfn("checkpoint", region_policy(policy), (callback){.one = f}, user, n, x, 1, &out, file, line);
    return out;
}

/* ---- custom_jvp --------------------------------------------------------------------------- */

static tn_fn *trace_primal(tn_i_site *s, callback f, void *user, size_t nout) {
    types in;
    tn_fn *p = NULL;
    if (types_room(s, &in, s->n)) {
        (void)add_operands(&in, s, 0, false);
        p = rule_program(s, f, user, &in, 0, nout);
    }
    types_free(s, &in);
    return p;
}

static size_t count_float_outputs(const tn_fn *f) {
    size_t n = 0;
    for (uint32_t j = 0; j < f->nout; j++) n += tn_i_is_float(f->val[f->out[j]].type->dtype);
    return n;
}

static void custom_jvp(callback f, callback jvp, void *user, size_t n, const tn_val *x, size_t nout, tn_val *out,
                       const char *file, int line) {
    static const char *const names[2] = {"call", "jvp"};
    tn_i_site s;
    types in;
    tn_fn *p[2] = {NULL, NULL};
    tn_i_var first = TN_NOVAR;
    tn_i_site_open_many(&s, "custom_jvp", NULL, n, x, 0, file, line);
    p[0] = trace_primal(&s, f, user, nout);
    if (p[0] && types_room(&s, &in, 2 * n)) {
        (void)add_operands(&in, &s, 0, false);
        size_t nlin = add_operands(&in, &s, 0, true);
        p[1] = rule_program(&s, jvp, user, &in, nlin, count_float_outputs(p[0]));
        types_free(&s, &in);
    }
    if (p[1]) first = emit_rule(&s, TN_P_custom_jvp, 2, names, p);
    release(2, p);
    tn_i_site_close_many(&s, first, nout, out);
}

tn_val tn_custom_jvp_at(tn_trace_fn f, tn_trace_fn jvp, void *user, size_t n, const tn_val *x, const char *file,
                        int line) {
    tn_val out;
    custom_jvp((callback){.one = f}, (callback){.one = jvp}, user, n, x, 1, &out, file, line);
    return out;
}

void tn_custom_jvp_many_at(tn_trace_many_fn f, tn_trace_many_fn jvp, void *user, size_t n, const tn_val *x, size_t nout,
                           tn_val *out, const char *file, int line) {
    custom_jvp((callback){.many = f}, (callback){.many = jvp}, user, n, x, nout, out, file, line);
}

/* ---- custom_vjp --------------------------------------------------------------------------- */

/* bwd: the residuals that fwd gives, then a cotangent for each float output, linear unless `trusted`. */
static tn_fn *trace_backward(tn_i_site *s, const tn_fn *fwd, size_t nout, callback bwd, void *user, bool trusted) {
    types in;
    tn_fn *p = NULL;
    size_t nfloat = 0;
    for (size_t i = 0; i < s->n; i++) nfloat += tn_i_is_float(tn_i_site_type(s, s->v[i])->dtype);
    if (types_room(s, &in, fwd->nout)) {
        (void)add_outputs(&in, fwd, nout, fwd->nout, false);
        size_t nlin = add_outputs(&in, fwd, 0, nout, true);
        p = rule_program(s, bwd, user, &in, trusted ? 0 : nlin, nfloat);
    }
    types_free(s, &in);
    return p;
}

static void custom_vjp(callback f, callback fwd, size_t nres, callback bwd, const char *why, void *user, size_t n,
                       const tn_val *x, size_t nout, tn_val *out, const char *file, int line) {
    static const char *const names[3] = {"call", "fwd", "bwd"};
    tn_i_site s;
    tn_fn *p[3] = {NULL, NULL, NULL};
    tn_i_var first = TN_NOVAR;
    tn_i_site_open_many(&s, "custom_vjp", NULL, n, x, 0, file, line);
    p[0] = trace_primal(&s, f, user, nout);
    if (p[0]) p[1] = trace_primal(&s, fwd, user, nout + nres);
    if (p[1]) p[2] = trace_backward(&s, p[1], nout, bwd, user, why != NULL);
    if (p[2]) first = emit_one_way(&s, TN_P_custom_vjp, 3, names, p, why);
    release(3, p);
    tn_i_site_close_many(&s, first, nout, out);
}

tn_val tn_custom_vjp_at(tn_trace_fn f, tn_trace_many_fn fwd, size_t nres, tn_trace_many_fn bwd, void *user, size_t n,
                        const tn_val *x, const char *file, int line) {
    tn_val out;
    custom_vjp((callback){.one = f}, (callback){.many = fwd}, nres, (callback){.many = bwd}, NULL, user, n, x, 1, &out,
               file, line);
    return out;
}

void tn_custom_vjp_many_at(tn_trace_many_fn f, tn_trace_many_fn fwd, size_t nres, tn_trace_many_fn bwd, void *user,
                           size_t n, const tn_val *x, size_t nout, tn_val *out, const char *file, int line) {
    custom_vjp((callback){.many = f}, (callback){.many = fwd}, nres, (callback){.many = bwd}, NULL, user, n, x, nout,
               out, file, line);
}

void tn_custom_vjp_one_way_many_at(tn_trace_many_fn f, tn_trace_many_fn fwd, size_t nres, tn_trace_many_fn bwd,
                                   const char *why, void *user, size_t n, const tn_val *x, size_t nout, tn_val *out,
                                   const char *file, int line) {
    custom_vjp((callback){.many = f}, (callback){.many = fwd}, nres, (callback){.many = bwd},
               why ? why : "this rule has reverse mode only, and no second order", user, n, x, nout, out, file, line);
}

/* ---- forward_only --------------------------------------------------------------------------- */

/* in: x, or its cotangent; the identity, or what would be its transpose and never runs */
static tn_val identity(const tn_val *in, void *user) {
    (void)user;
    return in[0];
}

tn_val tn_forward_only_at(tn_val x, const char *why, const char *file, int line) {
    static const char *const names[2] = {"f", "ft"};
    tn_i_site s;
    tn_fn *p[2] = {NULL, NULL};
    tn_i_var first = TN_NOVAR;
    tn_val out;
    tn_i_site_open_many(&s, "forward_only", NULL, 1, &x, 0, file, line);
    if (!s.b->failed && !tn_i_is_float(tn_i_site_type(&s, s.v[0])->dtype))
        (void)tn_i_site_fail(&s, TN_ETYPE, 0, "needs f32 or f64");
    p[0] = trace_primal(&s, (callback){.one = identity}, NULL, 1);
    if (p[0]) p[1] = trace_primal(&s, (callback){.one = identity}, NULL, 1);
    if (p[1]) first = emit_one_way(&s, TN_P_linear_call, 2, names, p, why ? why : "this value has no reverse mode");
    release(2, p);
    tn_i_site_close_many(&s, first, 1, &out);
    return out;
}

/* ---- linear_call ---------------------------------------------------------------------------- */

static bool all_float(tn_i_site *s, size_t first) {
    for (size_t i = first; i < s->n && !s->b->failed; i++)
        if (!tn_i_is_float(tn_i_site_type(s, s->v[i])->dtype))
            (void)tn_i_site_fail(s, TN_ETYPE, (int)i, "a linear operand needs f32 or f64");
    return !s->b->failed;
}

static void trace_linear(tn_i_site *s, callback f, callback ft, void *user, size_t nres, size_t nout, tn_fn **p) {
    types in;
    size_t nlin = s->n - nres;
    if (types_room(s, &in, s->n)) {
        (void)add_operands(&in, s, 0, false);
        p[0] = rule_program(s, f, user, &in, nlin, nout);
    }
    types_free(s, &in);
    if (!p[0] || !types_room(s, &in, nres + nout)) return;
    (void)add_operands(&in, s, 0, false);
    in.n = nres;
    (void)add_outputs(&in, p[0], 0, nout, false);
    p[1] = rule_program(s, ft, user, &in, nout, nlin);
    types_free(s, &in);
}

static void linear_call(callback f, callback ft, void *user, size_t n, const tn_val *x, size_t nres, size_t nout,
                        tn_val *out, const char *file, int line) {
    static const char *const names[2] = {"f", "ft"};
    tn_i_site s;
    tn_fn *p[2] = {NULL, NULL};
    tn_i_var first = TN_NOVAR;
    tn_i_site_open_many(&s, "linear_call", NULL, n, x, 0, file, line);
    if (!s.b->failed && all_float(&s, nres)) trace_linear(&s, f, ft, user, nres, nout, p);
    if (p[1]) first = emit_rule(&s, TN_P_linear_call, 2, names, p);
    if (first != TN_NOVAR && !tn_i_linear_call_check(p[0], p[1])) {
        tn_i_trace_adopt_error(s.t);
        first = TN_NOVAR;
    }
    release(2, p);
    tn_i_site_close_many(&s, first, nout, out);
}

/* Residuals and linear operands in one list. */
static void joined(callback f, callback ft, void *user, size_t nres, const tn_val *res, size_t nlin, const tn_val *lin,
                   size_t nout, tn_val *out, const char *file, int line) {
    tn_i_lists j = {.name = "linear_call",
                    .x_name = "residuals",
                    .y_name = "linear operands",
                    .nx = nres,
                    .ny = nlin,
                    .x = res,
                    .y = lin,
                    .file = file,
                    .line = line};
    if (tn_i_join_lists(&j, nout, out)) linear_call(f, ft, user, j.n, j.all, nres, nout, out, file, line);
    tn_i_lists_free(&j);
}

tn_val tn_linear_call_at(tn_trace_fn f, tn_trace_fn ft, void *user, size_t nres, const tn_val *res, tn_val x,
                         const char *file, int line) {
    tn_val out;
    joined((callback){.one = f}, (callback){.one = ft}, user, nres, res, 1, &x, 1, &out, file, line);
    return out;
}

void tn_linear_call_many_at(tn_trace_many_fn f, tn_trace_many_fn ft, void *user, size_t nres, const tn_val *res,
                            size_t n, const tn_val *x, size_t nout, tn_val *out, const char *file, int line) {
    joined((callback){.many = f}, (callback){.many = ft}, user, nres, res, n, x, nout, out, file, line);
}

/* ---- external functions ------------------------------------------------------------------------ */

void tn_external_many_at(tn_ctx *c, const char *name, size_t n, const tn_val *x, size_t nout, tn_val *out,
                         const char *file, int line) {
    tn_i_site s;
    tn_i_var first = TN_NOVAR;
    uint32_t have = 0;
    tn_i_site_open_many(&s, "external", c, n, x, 0, file, line);
    if (!s.b->failed && !name) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the name is NULL");
    if (!s.b->failed) first = tn_i_external_emit(s.b, name, (uint32_t)n, s.v, &have);
    if (first != TN_NOVAR && have != nout)
        first = tn_i_site_fail(&s, TN_EINVAL, -1, "'%s' has %u outputs, not %zu", name, (unsigned)have, nout);
    tn_i_site_close_many(&s, first, nout, out);
}

tn_val tn_external_at(tn_ctx *c, const char *name, size_t n, const tn_val *x, const char *file, int line) {
    tn_val out;
    tn_external_many_at(c, name, n, x, 1, &out, file, line);
    return out;
}
