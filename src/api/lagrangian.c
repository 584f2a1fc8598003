/* What optimizers differentiate, put together of programs. */
#include "api/choose.h"
#include "linearize/linearize.h"
#include "linearize/prune.h"
#include "prims/ids.h"
#include "tansy/sparse.h"
#include "transpose/transpose.h"

/* ---- the Lagrangian ------------------------------------------------------------------------------- */

static bool same_inputs(const tn_fn *f, const tn_fn *g) {
    tn_ctx *c = f->ctx;
    char a[TN_I_TYPE_TEXT], b[TN_I_TYPE_TEXT];
    if (g->ctx != c) return tn_i_fail(c, TN_EINVAL, NULL, "tn_lagrangian: programs of two contexts"), false;
    if (f->nin != g->nin)
        return tn_i_fail(c, TN_EINVAL, g->loc, "tn_lagrangian: f has %u inputs, g %u", (unsigned)f->nin,
                         (unsigned)g->nin),
               false;
    for (uint32_t i = 0; i < f->nin; i++)
        if (f->val[i].type != g->val[i].type)
            return tn_i_fail(c, TN_EINVAL, g->loc, "tn_lagrangian: input %u of f is %s, of g %s", (unsigned)i,
                             tn_i_type_text(a, f->val[i].type), tn_i_type_text(b, g->val[i].type)),
                   false;
    for (uint32_t j = 0; j < g->nout; j++) {
        const tn_type *t = g->val[g->out[j]].type;
        if (!tn_i_is_float(t->dtype))
            return tn_i_fail(c, TN_ETYPE, g->loc, "tn_lagrangian: output %u of g is %s, which no multiplier is of",
                             (unsigned)j, tn_i_type_text(a, t)),
                   false;
    }
    return true;
}

/* <x, y>, in the dtype of f. */
static tn_i_var inner(tn_i_builder *b, tn_i_var x, tn_i_var y, int dtype) {
    static const int64_t axes[TN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (b->failed) return TN_NOVAR;
    const uint32_t rank = (uint32_t)tn_i_vtype(b, x)->rank;
    return tn_i_convert(b, tn_i_reduce_sum(b, tn_i_op2(b, TN_P_mul, x, y), rank, axes), dtype);
}

/* x: room for f's inputs, y for the outputs of either. */
static tn_fn *lagrangian(const tn_fn *f, const tn_fn *g, tn_i_var *x, tn_i_var *y, tn_i_var *lambda) {
    const tn_type *t = f->val[f->out[0]].type;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    for (uint32_t i = 0; i < f->nin; i++) x[i] = tn_i_input(&b, f->val[i].type, false);
    const tn_i_var sigma = tn_i_input(&b, t, false);
    for (uint32_t j = 0; g && j < g->nout; j++) lambda[j] = tn_i_input(&b, g->val[g->out[j]].type, false);
    if (!b.failed) tn_i_inline(&b, f, x, y);
    tn_i_var sum = b.failed ? TN_NOVAR : tn_i_op2(&b, TN_P_mul, sigma, y[0]);
    if (g && !b.failed) tn_i_inline(&b, g, x, y);
    for (uint32_t j = 0; g && j < g->nout && !b.failed; j++)
        sum = tn_i_op2(&b, TN_P_add, sum, inner(&b, lambda[j], y[j], t->dtype));
    return tn_i_finish(&b, 1, &sum);
}

tn_fn *tn_lagrangian(const tn_fn *f, const tn_fn *g) {
    if (!tn_i_living(f) || (g && !tn_i_living(g)) || !tn_i_scalar_output("tn_lagrangian", f, false) ||
        (g && !same_inputs(f, g)))
        return NULL;
    tn_ctx *c = f->ctx;
    const size_t n = 1 + (size_t)(g ? g->nout : 0);
    tn_i_var *x = tn_i_alloc_array(c, f->nin, sizeof *x), *y = tn_i_alloc_array(c, n, sizeof *y),
             *lambda = tn_i_alloc_array(c, n, sizeof *lambda);
    tn_fn *l = x && y && lambda ? lagrangian(f, g, x, y, lambda) : NULL;
    tn_i_free(c, x, f->nin * sizeof *x);
    tn_i_free(c, y, n * sizeof *y);
    tn_i_free(c, lambda, n * sizeof *lambda);
    return l;
}

/* ---- the Gauss-Newton product ------------------------------------------------------------------------ */

typedef struct product {
    const tn_fn *f;
    const tn_i_wrt *w;
    tn_i_parts parts;
    tn_fn *back;
    tn_i_builder b;
    tn_i_var *y, *args; /* outputs and residuals, then tangents; residuals, then tangents in and out */
    size_t ny, nargs;
} product;

static tn_fn *multiply(product *p, tn_i_var *x) {
    const tn_fn *f = p->f;
    tn_i_builder *b = &p->b;
    tn_i_builder_init(b, f->ctx);
    b->named_after = f;
    for (uint32_t i = 0; i < f->nin; i++) x[i] = tn_i_input(b, f->val[i].type, false);
    for (uint32_t k = 0; k < p->w->n; k++) x[f->nin + k] = tn_i_input(b, f->val[p->w->index[k]].type, false);
    if (!b->failed) tn_i_inline(b, p->parts.known, x, p->y);
    for (uint32_t k = 0; k < p->parts.nres; k++) p->args[k] = p->y[f->nout + k];
    for (uint32_t k = 0; k < p->w->n; k++) p->args[p->parts.nres + k] = x[f->nin + k];
    if (!b->failed) tn_i_inline(b, p->parts.linear, p->args, p->y);
    for (uint32_t j = 0; j < p->parts.linear->nout; j++) p->args[p->parts.nres + j] = p->y[j];
    if (!b->failed) tn_i_inline(b, p->back, p->args, p->y);
    return tn_i_runnable(tn_i_prune(tn_i_finish(b, p->back->nout, p->y)));
}

static tn_fn *product_of(product *p) {
    const tn_fn *f = p->f;
    tn_ctx *c = f->ctx;
    p->ny = (size_t)p->parts.known->nout + p->w->n + p->parts.linear->nout;
    p->nargs = (size_t)p->parts.nres + p->w->n + p->parts.linear->nout;
    const size_t nx = (size_t)f->nin + p->w->n;
    tn_i_var *x = tn_i_alloc_array(c, nx, sizeof *x);
    p->y = tn_i_alloc_array(c, p->ny, sizeof *p->y);
    p->args = tn_i_alloc_array(c, p->nargs, sizeof *p->args);
    tn_fn *g = x && p->y && p->args ? multiply(p, x) : NULL;
    tn_i_free(c, x, nx * sizeof *x);
    tn_i_free(c, p->y, p->ny * sizeof *p->y);
    tn_i_free(c, p->args, p->nargs * sizeof *p->args);
    return g;
}

tn_fn *tn_gauss_newton_product(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    tn_i_wrt w;
    tn_i_choice by;
    if (!tn_i_living(f) || !tn_i_wrt_init(&w, "tn_gauss_newton_product", f, wrt)) return NULL;
    product p = {.f = f, .w = &w};
    bool ok = tn_i_choose(f, &w, policy, &by);
    if (ok) ok = tn_i_linearize(by.f, w.n, w.index, &by.how, &p.parts);
    tn_fn *g = ok && (p.back = tn_i_transpose_linear(p.parts.linear)) != NULL ? product_of(&p) : NULL;
    tn_i_choice_free(&by);
    tn_i_fn_unref(p.back);
    tn_i_parts_free(&p.parts);
    tn_i_wrt_free(&w);
    return g;
}
