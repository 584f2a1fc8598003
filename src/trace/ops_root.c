/* Roots found by any program: f, solve and what they capture become one equation. */
#include "trace/trace.h"

#include <string.h>

typedef struct callback {
    tn_trace_fn one;
    tn_trace_many_fn many;
} callback;

enum { F, SOLVE, LINEAR_SOLVE, PROGRAMS };
static const char *const names[PROGRAMS] = {"f", "solve", "linear_solve"};

/* A program traced alone; the values of the enclosing trace that it uses are inputs behind its own. */
typedef struct traced {
    tn_fn *f;
    tn_val *captured;
    size_t n;
} traced;

typedef struct root {
    tn_i_site s;
    size_t nx, nown; /* unknowns; operands that were given, x0 and p */
    tn_type *in;     /* of those operands, then of the unknowns once more */
    traced t[PROGRAMS];
    tn_i_var *v;      /* all operands: those given, then captured ones */
    tn_val *captured; /* the latter, each once */
    size_t n, most;   /* of v; room for captured ones */
} root;

static void trace_one(root *k, int which, callback f, void *user) {
    tn_i_site *s = &k->s;
    traced *t = &k->t[which];
    if (s->b->failed || (which == LINEAR_SOLVE && !f.one && !f.many)) return;
    if (!f.one && !f.many) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "a callback is NULL");
        return;
    }
    const tn_i_loc *loc = s->b->loc;
    const tn_i_body body = {.one = f.one,
                            .many = f.many,
                            .user = user,
                            .nin = k->nown + (which == LINEAR_SOLVE ? k->nx : 0),
                            .nout = k->nx,
                            .in = k->in,
                            .loc = loc};
    t->f = tn_i_trace_body(s->b->ctx, &body, &t->captured, &t->n);
    s->b->loc = loc;
    if (!t->f) tn_i_trace_adopt_error(s->t);
}

/* ---- operands ---------------------------------------------------------------------------------- */

static bool operand_types(root *k) {
    tn_i_site *s = &k->s;
    if (s->b->failed) return false;
    k->in = tn_i_alloc_array(s->b->ctx, k->nown + k->nx, sizeof *k->in);
    if (!k->in) s->b->failed = true;
    for (size_t i = 0; i < k->nown + k->nx && k->in; i++)
        k->in[i] = *tn_i_site_type(s, s->v[i < k->nown ? i : i - k->nown]);
    return k->in != NULL;
}

static size_t place(const root *k, const tn_val *x) {
    size_t i = 0;
    while (i < k->n - k->nown && (k->captured[i].trace != x->trace || k->captured[i].id != x->id)) i++;
    return k->nown + i;
}

static bool all_operands(root *k) {
    tn_i_site *s = &k->s;
    if (s->b->failed) return false;
    for (int i = 0; i < PROGRAMS; i++) k->most += k->t[i].n;
    k->captured = tn_i_alloc_array(s->b->ctx, k->most, sizeof *k->captured);
    k->v = tn_i_alloc_array(s->b->ctx, k->nown + k->most, sizeof *k->v);
    if (!k->captured || !k->v) {
        s->b->failed = true;
        return false;
    }
    memcpy(k->v, s->v, k->nown * sizeof *k->v);
    k->n = k->nown;
    for (int i = 0; i < PROGRAMS; i++)
        for (size_t j = 0; j < k->t[i].n; j++) {
            const tn_val *x = &k->t[i].captured[j];
            if (place(k, x) < k->n) continue;
            k->captured[k->n - k->nown] = *x;
            k->v[k->n++] = tn_i_site_resolve(s, x, -1);
        }
    return !s->b->failed;
}

/* ---- programs ---------------------------------------------------------------------------------- */

/* `in` is all operands and then, of linear_solve, the right-hand sides: in the order of t's inputs. */
static void arguments(const root *k, const traced *t, const tn_i_var *in, size_t nlin, tn_i_var *args) {
    memcpy(args, in, k->nown * sizeof *args);
    memcpy(args + k->nown, in + k->n, nlin * sizeof *args);
    for (size_t j = 0; j < t->n; j++) args[k->nown + nlin + j] = in[place(k, &t->captured[j])];
}

static void make_inputs(const root *k, tn_i_builder *b, size_t nlin, tn_i_var *in) {
    for (size_t i = 0; i < k->n; i++) in[i] = tn_i_input(b, tn_i_site_type(&k->s, k->v[i]), false);
    for (size_t i = 0; i < nlin; i++) in[k->n + i] = tn_i_input(b, &k->in[i], true);
}

/* The traced program with all operands as its inputs; right-hand sides are linear. */
static bool widen(root *k, int which) {
    tn_ctx *c = k->s.b->ctx;
    traced *t = &k->t[which];
    const size_t nlin = which == LINEAR_SOLVE ? k->nx : 0, room = 2 * (k->n + nlin) + k->nx;
    if (!t->f) return true;
    tn_i_var *in = tn_i_alloc_array(c, room, sizeof *in);
    tn_fn *f = NULL;
    if (in) {
        tn_i_var *args = in + k->n + nlin, *out = args + k->n + nlin;
        tn_i_builder b;
        tn_i_builder_init(&b, c);
        b.named_after = t->f;
        make_inputs(k, &b, nlin, in);
        arguments(k, t, in, nlin, args);
        tn_i_inline(&b, t->f, args, out);
        f = tn_i_finish(&b, (uint32_t)k->nx, out);
    }
    tn_i_free(c, in, room * sizeof *in);
    if (f && nlin && !c->check && !tn_i_check(f)) {
        tn_i_fn_unref(f);
        f = NULL;
    }
    if (!f) {
        tn_i_trace_adopt_error(k->s.t);
        return false;
    }
    tn_i_fn_unref(t->f);
    t->f = f;
    return true;
}

static tn_i_var emit_root(root *k) {
    tn_i_args a;
    tn_i_args_init(&a, &k->s, TN_P_custom_root);
    for (int i = 0; i < PROGRAMS; i++)
        if (k->t[i].f) tn_i_args_fn(&a, names[i], k->t[i].f);
    tn_i_args_int(&a, "batch", 0);
    return tn_i_args_emit(&k->s, &a, k->n, k->v);
}

/* max |f(x)|, without a derivative.  Nothing of it stays in a program that does not use it. */
static tn_i_var residual_norm(root *k, tn_i_var x) {
    tn_i_site *s = &k->s;
    if (x == TN_NOVAR || s->b->failed) return TN_NOVAR;
    tn_i_var *at = tn_i_alloc_array(s->b->ctx, k->n + k->nx, sizeof *at), *r = at + k->n, norm;
    if (!at) {
        s->b->failed = true;
        return TN_NOVAR;
    }
    for (size_t i = 0; i < k->n; i++) {
        at[i] = i < k->nx ? x + (tn_i_var)i : k->v[i];
        if (tn_i_is_float(tn_i_site_type(s, at[i])->dtype)) at[i] = tn_i_do1(s, TN_P_stop_gradient, at[i]);
    }
    tn_i_inline(s->b, k->t[F].f, at, r);
    norm = tn_i_literal_f64(s->b, k->in[0].dtype, 0);
    for (size_t j = 0; j < k->nx; j++) {
        const tn_i_var size = tn_i_do1(s, TN_P_abs, r[j]);
        norm =
            tn_i_do2(s, TN_P_max, norm, tn_i_do_reduce(s, TN_P_reduce_max, size, tn_i_all_axes(k->in[j].rank), false));
    }
    tn_i_free(s->b->ctx, at, (k->n + k->nx) * sizeof *at);
    return norm;
}

/* ---- the operator ------------------------------------------------------------------------------- */

static void release(root *k) {
    tn_ctx *c = k->s.b->ctx;
    for (int i = 0; i < PROGRAMS; i++) {
        tn_i_fn_unref(k->t[i].f);
        if (k->t[i].captured) tn_i_free(c, k->t[i].captured, k->t[i].n * sizeof(tn_val));
    }
    if (k->in) tn_i_free(c, k->in, (k->nown + k->nx) * sizeof *k->in);
    if (k->v) tn_i_free(c, k->v, (k->nown + k->most) * sizeof *k->v);
    if (k->captured) tn_i_free(c, k->captured, k->most * sizeof *k->captured);
}

static void custom_root(const callback *f, void *user, size_t nx, size_t n, const tn_val *operand, tn_val *x,
                        tn_val *residual, const char *file, int line) {
    root k = {.nx = nx, .nown = n};
    tn_i_var first = TN_NOVAR, norm = TN_NOVAR;
    tn_i_site_open_many(&k.s, "custom_root", NULL, n, operand, 0, file, line);
    if (nx == 0) (void)tn_i_site_fail(&k.s, TN_EINVAL, -1, "there is no unknown");
    if (operand_types(&k)) {
        for (int i = 0; i < PROGRAMS; i++) trace_one(&k, i, f[i], user);
        if (all_operands(&k) && widen(&k, F) && widen(&k, SOLVE) && widen(&k, LINEAR_SOLVE)) first = emit_root(&k);
        if (residual) norm = residual_norm(&k, first);
    }
    if (k.s.b->ctx) release(&k);
    tn_i_site_close_many(&k.s, first, nx, x);
    if (residual) tn_i_site_close_many(&k.s, norm, 1, residual);
}

/* Unknowns and parameters in one list. */
static void joined(const callback *f, void *user, size_t nx, const tn_val *x0, size_t np, const tn_val *p, tn_val *x,
                   tn_val *residual, const char *file, int line) {
    tn_ctx *c = tn_i_ctx_of(tn_i_ctx_of(NULL, nx, x0), np, p);
    tn_val few[8], *all = few;
    size_t n;
    if (!c || !tn_i_add(nx, np, &n)) n = 0;
    if (c && ((nx && !x0) || (np && !p) || (n == 0 && np))) {
        tn_i_site s;
        tn_i_site_begin(&s, "custom_root", c, file, line);
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the %s are NULL, or too many", np && !p ? "parameters" : "unknowns");
        if (residual) *residual = tn_i_site_close(&s, TN_NOVAR);
        tn_i_site_close_many(&s, TN_NOVAR, nx, x);
        return;
    }
    if (n > 8 && !(all = tn_i_alloc_array(c, n, sizeof *all))) {
        if (c->trace) tn_i_trace_adopt_error(c->trace);
        n = 0;
    }
    if (n == 0) {
        const tn_val poison = {.id = line > 0 ? (uint32_t)line : 0};
        for (size_t j = 0; x && j < nx; j++) x[j] = poison;
        if (residual) *residual = poison;
        return;
    }
    if (nx) memcpy(all, x0, nx * sizeof *all);
    if (np) memcpy(all + nx, p, np * sizeof *all);
    custom_root(f, user, nx, n, all, x, residual, file, line);
    if (all != few) tn_i_free(c, all, n * sizeof *all);
}

tn_val tn_custom_root_at(tn_trace_fn f, tn_trace_fn solve, tn_trace_fn linear_solve, void *user, tn_val x0, size_t n,
                         const tn_val *p, tn_val *residual, const char *file, int line) {
    const callback all[PROGRAMS] = {{.one = f}, {.one = solve}, {.one = linear_solve}};
    tn_val x;
    joined(all, user, 1, &x0, n, p, &x, residual, file, line);
    return x;
}

void tn_custom_root_many_at(tn_trace_many_fn f, tn_trace_many_fn solve, tn_trace_many_fn linear_solve, void *user,
                            size_t nx, const tn_val *x0, size_t n, const tn_val *p, tn_val *x, tn_val *residual,
                            const char *file, int line) {
    const callback all[PROGRAMS] = {{.many = f}, {.many = solve}, {.many = linear_solve}};
    joined(all, user, nx, x0, n, p, x, residual, file, line);
}
