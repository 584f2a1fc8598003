/* The transpose of a linear function, where it is traced: its program, transposed, in place. */
#include "tansy/krylov.h"
#include "trace/trace.h"

typedef struct linear {
    tn_i_site s;
    tn_fn *f; /* x, captured.. -> y */
    tn_val *captured;
    size_t n;
    tn_i_var *args; /* room for what enters a program, n + 1 */
} linear;

static bool trace_linear(linear *k, tn_trace_fn f, void *user, const tn_type *x) {
    tn_i_site *s = &k->s;
    if (s->b->failed) return false;
    if (!f) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "the callback is NULL");
        return false;
    }
    const tn_i_loc *loc = s->b->loc;
    const tn_i_body body = {.one = f, .user = user, .nin = 1, .nout = 1, .in = x, .loc = loc};
    k->f = tn_i_trace_body(s->b->ctx, &body, &k->captured, &k->n);
    s->b->loc = loc;
    k->args = k->f ? tn_i_alloc_array(s->b->ctx, k->n + 1, sizeof *k->args) : NULL;
    if (!k->args) tn_i_trace_adopt_error(s->t);
    return k->args != NULL;
}

/* (captured.. | ct) -> cotangent of x */
static tn_fn *transposed(linear *k) {
    const tn_fn *f = k->f;
    tn_i_builder b;
    tn_i_var y;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    for (size_t i = 0; i < k->n; i++) k->args[i + 1] = tn_i_input(&b, f->val[i + 1].type, false);
    k->args[0] = tn_i_input(&b, f->val[0].type, true);
    tn_i_inline(&b, f, k->args, &y);
    tn_fn *g = tn_i_finish(&b, 1, &y), *t = g ? tn_transpose(g) : NULL;
    tn_i_fn_unref(g);
    if (!t) tn_i_trace_adopt_error(k->s.t);
    return t;
}

static tn_i_var call(linear *k, const tn_fn *t) {
    tn_i_site *s = &k->s;
    char text[TN_I_TYPE_TEXT];
    tn_i_var out = TN_NOVAR;
    if (!tn_type_equal(t->val[k->n].type, tn_i_site_type(s, s->v[0])))
        return tn_i_site_fail(s, TN_ETYPE, 0, "f's result is %s", tn_i_type_text(text, t->val[k->n].type));
    for (size_t i = 0; i < k->n; i++) k->args[i] = tn_i_site_resolve(s, &k->captured[i], -1);
    k->args[k->n] = s->v[0];
    if (!s->b->failed) tn_i_inline(s->b, t, k->args, &out);
    return s->b->failed ? TN_NOVAR : out;
}

tn_val tn_linear_transpose_at(tn_trace_fn f, void *user, tn_type x, tn_val ct, const char *file, int line) {
    linear k = {.f = NULL};
    tn_val out;
    tn_i_var v = TN_NOVAR;
    tn_i_site_open_many(&k.s, "linear_transpose", NULL, 1, &ct, 0, file, line);
    tn_ctx *c = k.s.b->ctx;
    if (trace_linear(&k, f, user, &x)) {
        tn_fn *t = transposed(&k);
        if (t) v = call(&k, t);
        tn_i_fn_unref(t);
    }
    if (c) {
        tn_i_fn_unref(k.f);
        if (k.args) tn_i_free(c, k.args, (k.n + 1) * sizeof *k.args);
        if (k.captured) tn_i_free(c, k.captured, k.n * sizeof *k.captured);
    }
    tn_i_site_close_many(&k.s, v, 1, &out);
    return out;
}
