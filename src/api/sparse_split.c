/* Entries, or parts of entries, with constant coefficients: taken out of the linear program, and computed once. */
#include "api/probe.h"
#include "api/sparse.h"
#include "sparse/evaluate.h"
#include "sparse/split.h"

#include <string.h>

void tn_i_apart_free(tn_i_apart *a) {
    if (!a->ctx) return;
    tn_sparsity_free(a->varying);
    tn_i_fn_unref(a->linear);
    tn_i_free(a->ctx, a->entry, (size_t)a->nnz * sizeof *a->entry);
    tn_i_free(a->ctx, a->constant, (size_t)a->nnz * tn_i_dtype_size(a->dtype));
    *a = (tn_i_apart){0};
}

/* ---- the pattern of what varies ------------------------------------------------------------------- */

/* (x.., dx of wrt..) -> the rows of `linear`: its Jacobian in dx is what `linear` is. */
static tn_fn *as_function(const tn_i_derivative *q, const tn_i_parts *p, const tn_fn *linear) {
    const tn_fn *known = p->known;
    tn_ctx *c = q->f->ctx;
    const size_t nx = (size_t)known->nin + linear->nlin, ny = (size_t)known->nout + linear->nout;
    tn_i_var *x = tn_i_alloc_array(c, nx, sizeof *x), *y = tn_i_alloc_array(c, ny, sizeof *y),
             *args = tn_i_alloc_array(c, linear->nin, sizeof *args);
    tn_fn *g = NULL;
    if (x && y && args) {
        tn_i_builder b;
        tn_i_builder_init(&b, c);
        b.named_after = q->given;
        for (uint32_t i = 0; i < known->nin; i++) x[i] = tn_i_input(&b, known->val[i].type, false);
        for (uint32_t k = 0; k < linear->nlin; k++)
            args[p->nres + k] = tn_i_input(&b, linear->val[p->nres + k].type, false);
        if (!b.failed) tn_i_inline(&b, known, x, y);
        for (uint32_t k = 0; k < p->nres; k++) args[k] = y[known->nout - p->nres + k];
        if (!b.failed) tn_i_inline(&b, linear, args, y);
        g = tn_i_finish(&b, linear->nout - q->skip, y + q->skip);
    }
    tn_i_free(c, x, nx * sizeof *x);
    tn_i_free(c, y, ny * sizeof *y);
    tn_i_free(c, args, linear->nin * sizeof *args);
    return g;
}

static tn_sparsity *pattern_of(const tn_i_derivative *q, const tn_i_parts *p, const tn_fn *linear) {
    tn_ctx *c = q->f->ctx;
    const size_t n = (size_t)p->known->nin + linear->nlin;
    const void **known = tn_i_alloc_array(c, n, sizeof *known);
    int *wrt = tn_i_alloc_array(c, linear->nlin, sizeof *wrt);
    tn_fn *g = known && wrt ? as_function(q, p, linear) : NULL;
    tn_sparsity *s = NULL;
    if (g) {
        for (uint32_t i = 0; q->o.known && i < p->known->nin; i++) known[i] = q->o.known[i];
        for (uint32_t k = 0; k < linear->nlin; k++) wrt[k] = (int)(p->known->nin + k);
        const tn_sparsity_options o = {.size = sizeof o, .known = known, .max_nnz = q->o.max_nnz};
        s = tn_jacobian_sparsity(g, &(const tn_wrt_list){linear->nlin, wrt}, &o);
    }
    tn_i_fn_unref(g);
    tn_i_free(c, (void *)known, n * sizeof *known);
    tn_i_free(c, wrt, linear->nlin * sizeof *wrt);
    return s;
}

/* ---- what does not ---------------------------------------------------------------------------------- */

static tn_fn *constant_program(const tn_i_derivative *q, const tn_i_parts *p, const tn_sparsity *s,
                               const tn_fn *linear) {
    const tn_coloring_options how = {.size = sizeof how, .partition = TN_COLOR_COLUMN, .order = TN_ORDER_NATURAL};
    tn_coloring *k = tn_i_color(s, &how, false);
    int64_t *all = tn_i_alloc_array(s->ctx, (size_t)s->nnz, sizeof *all);
    tn_i_parts parts = *p;
    parts.linear = (tn_fn *)(uintptr_t)linear;
    tn_fn *g = NULL;
    for (int64_t e = 0; all && e < s->nnz; e++) all[e] = e;
    if (k && all) {
        const tn_i_compressed e = {.who = q->who,
                                   .f = q->f,
                                   .parts = &parts,
                                   .sides = &q->sides,
                                   .skip = q->skip,
                                   .colors = k,
                                   .entry = all,
                                   .nvalue = s->nnz};
        g = tn_i_compressed_program(&e);
    }
    tn_i_free(s->ctx, all, (size_t)s->nnz * sizeof *all);
    tn_coloring_free(k);
    return g;
}

/* Reads no input, whatever they are. */
static bool run_constant(const tn_i_derivative *q, const tn_i_parts *p, const tn_sparsity *s, const tn_fn *linear,
                         tn_i_apart *a) {
    tn_i_probe at = {0};
    const size_t bytes = (size_t)s->nnz * tn_i_dtype_size(a->dtype);
    tn_fn *made = constant_program(q, p, s, linear), *g = made ? tn_i_in_memory(made) : NULL;
    const bool ok = g && tn_i_probe_init(&at, g, NULL) && tn_i_probe_run(&at) == TN_OK &&
                    (a->constant = tn_i_alloc(s->ctx, bytes)) != NULL;
    if (ok && bytes) memcpy(a->constant, at.out[0], bytes);
    tn_i_probe_free(&at);
    tn_i_fn_unref(g);
    tn_i_fn_unref(made);
    return ok;
}

/* Which entry of what varies each one is, -1: none. */
static void match(const tn_sparsity *s, const tn_sparsity *v, int64_t *entry) {
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t at = v->ptr[i];
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1]; e++) {
            while (at < v->ptr[i + 1] && v->ind[at] < s->ind[e]) at++;
            entry[e] = at < v->ptr[i + 1] && v->ind[at] == s->ind[e] ? at : -1;
        }
    }
}

/* Entries (i,j) and (j,i) that are constant are one number: that above the diagonal. */
static bool mirror(const tn_sparsity *s, tn_i_apart *a) {
    tn_i_by_column t;
    const size_t size = tn_i_dtype_size(a->dtype);
    char *value = a->constant;
    if (!tn_i_sparsity_columns(s, &t)) return false;
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1] && s->ind[e] < i; e++)
            if (a->entry[e] < 0 && a->entry[t.entry[e]] < 0)
                memcpy(value + (size_t)e * size, value + (size_t)t.entry[e] * size, size);
    return true;
}

static bool take_apart(const tn_i_derivative *q, const tn_sparsity *s, const tn_i_parts *p, tn_i_halves *h,
                       tn_i_apart *a) {
    *a = (tn_i_apart){.ctx = s->ctx, .nnz = s->nnz, .dtype = q->sides.dtype, .linear = h->varying};
    h->varying = NULL;
    a->entry = tn_i_alloc_array(s->ctx, (size_t)s->nnz, sizeof *a->entry);
    if (!a->entry || !(a->varying = pattern_of(q, p, a->linear))) return false;
    match(s, a->varying, a->entry);
    return run_constant(q, p, s, h->constant, a) && (!s->symmetric || mirror(s, a));
}

bool tn_i_constants_apart(const tn_i_derivative *q, const tn_sparsity *s, const tn_i_parts *p, tn_i_apart *a) {
    tn_i_halves h;
    *a = (tn_i_apart){0};
    if (!tn_i_split_linear(p->linear, &h)) return false;
    bool ok = true;
    if (h.constant && !(ok = take_apart(q, s, p, &h, a))) tn_i_apart_free(a);
    tn_i_halves_free(&h);
    return ok;
}
