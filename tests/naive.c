#include "naive_i.h"

#include "control/widen.h"
#include "prims/ids.h"
#include "prims/arrays/layout.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tn_i_arr dense(const tn_type *t, void *data) {
    tn_i_arr a = {.type = t, .data = data};
    tn_i_dense_strides(t, a.stride);
    return a;
}

/* One call of the strip per element. */
static tn_status by_strips(const tn_i_eqn *e, const tn_i_arr *in, const tn_i_arr *out) {
    static const int64_t zeros[8];
    tn_i_strip *strip = e->prim->strip[in[e->prim->strip_operand].type->dtype];
    const void *from[8];
    if (!strip || e->nin > 8) return TN_ERULE;
    for (int64_t i = 0; i < tn_i_count(out->type); i++) {
        for (uint32_t k = 0; k < e->nin; k++)
            from[k] = (char *)in[k].data + (in[k].type->rank ? (size_t)i * tn_i_dtype_size(in[k].type->dtype) : 0);
        strip(1, from, zeros, (char *)out->data + (size_t)i * tn_i_dtype_size(out->type->dtype), 0);
    }
    return TN_OK;
}

/* A program in place of the equation, whose outputs it makes of the operands from `first` on. */
static tn_status by_program(const tn_fn *f, const tn_i_eqn *e, const tn_fn *g, uint32_t first, void **value,
                            tn_naive_errors *off) {
    const void **from = calloc(e->nin + 1, sizeof *from);
    tn_status s = TN_ENOMEM;
    for (uint32_t i = first; from && i < e->nin; i++) from[i - first] = value[tn_i_in(f, e)[i]];
    if (from) s = tn_naive_body(g, from, &value[e->out], off);
    free(from);
    return s;
}

/* The program that operand 0, i32 or bool, names: the first or last one where it is out of range. */
static tn_status by_branch(const tn_fn *f, const tn_i_eqn *e, void **value, tn_naive_errors *off) {
    const tn_fn *const *g;
    const uint32_t n = tn_i_programs(&e->params->v[0], &g);
    const tn_i_var v = tn_i_in(f, e)[0];
    const int32_t k = f->val[v].type->dtype == TN_BOOL ? *(const uint8_t *)value[v] : *(const int32_t *)value[v];
    return by_program(f, e, g[k < 0 ? 0 : (uint32_t)k < n ? (uint32_t)k : n - 1], 1, value, off);
}

/* One value everywhere, or the value itself: all else that takes arrays as long as a loop. */
static void *repeated(const tn_type *t, const void *value) {
    if (!tn_i_has_steps(t)) {
        char *to = tn_naive_new(t);
        const size_t size = tn_i_dtype_size(t->dtype);
        for (int64_t i = 0; to && i < tn_i_count(t); i++) memcpy(to + (size_t)i * size, value, size);
        return to;
    }
    tn_naive_tree *s = tn_naive_new(t);
    tn_type x = *t;
    memmove(x.dim, x.dim + 1, (size_t)--x.rank * sizeof *x.dim);
    bool ok = s != NULL;
    if (ok) s->endless = t->dim[0] == TN_I_STEPS;
    for (int64_t i = 0; ok && i < (s->endless ? 1 : t->dim[0]); i++) ok = tn_naive_put(t, s, i, repeated(&x, value));
    if (!ok) tn_naive_drop(t, s);
    return ok ? s : NULL;
}

static tn_status by_steps(const tn_fn *f, const tn_i_eqn *e, void **value) {
    if (e->nin != 1 || e->nout != 1) return TN_ERULE;
    const tn_i_var v = tn_i_in(f, e)[0];
    const tn_type *have = f->val[v].type, *want = f->val[e->out].type;
    if (e->prim->id == TN_P_steps) {
        const tn_naive_tree *tree = value[v];
        const int64_t n = tree->endless ? INT64_MAX : tree->n;
        if ((value[e->out] = tn_naive_new(want)) != NULL) memcpy(value[e->out], &n, sizeof n);
    } else if (tn_type_equal(have, want))
        value[e->out] = tn_naive_copy(want, value[v]);
    else if (e->prim->id == TN_P_broadcast_in_dim && have->rank == 0)
        value[e->out] = repeated(want, value[v]);
    else
        return TN_ERULE;
    return value[e->out] ? TN_OK : TN_ENOMEM;
}

static tn_status by_kernel(const tn_fn *f, const tn_i_eqn *e, const tn_i_arr *in, tn_i_arr *out) {
    char message[256] = "";
    void *scratch = NULL;
    if (e->prim->scratch) {
        const tn_type **in_type = calloc(e->nin + 1, sizeof *in_type);
        tn_type *out_type = calloc(e->nout + 1, sizeof *out_type);
        for (uint32_t i = 0; in_type && i < e->nin; i++) in_type[i] = in[i].type;
        for (uint32_t j = 0; out_type && j < e->nout; j++) out_type[j] = *out[j].type;
        const tn_i_query q = {.ctx = f->ctx,
                              .prim = e->prim,
                              .p = tn_i_p(e),
                              .nin = e->nin,
                              .nout = e->nout,
                              .in = in_type,
                              .out = out_type};
        scratch = aligned_alloc(64, (e->prim->scratch(&q) + 127) / 64 * 64);
        free(in_type);
        free(out_type);
    }
    const tn_i_kernel k = {.prim = e->prim,
                           .p = tn_i_p(e),
                           .nin = e->nin,
                           .nout = e->nout,
                           .in = in,
                           .out = out,
                           .scratch = scratch,
                           .threads = 1,
                           .message = message};
    tn_status s = e->prim->kernel(&k);
    free(scratch);
    return s;
}

static tn_status by_itself(const tn_fn *f, const tn_i_eqn *e, void **value) {
    tn_i_arr *in = calloc(e->nin + 1, sizeof *in), *out = calloc(e->nout + 1, sizeof *out);
    tn_status s = in && out ? TN_OK : TN_ENOMEM;
    for (uint32_t j = 0; j < e->nout && s == TN_OK; j++) {
        const tn_type *t = f->val[e->out + j].type;
        if (!(value[e->out + j] = tn_naive_new(t))) s = TN_ENOMEM;
        out[j] = dense(t, value[e->out + j]);
    }
    if (s == TN_OK) {
        for (uint32_t i = 0; i < e->nin; i++) in[i] = dense(f->val[tn_i_in(f, e)[i]].type, value[tn_i_in(f, e)[i]]);
        s = e->prim->kernel ? by_kernel(f, e, in, out) : by_strips(e, in, out);
    }
    free(in);
    free(out);
    return s;
}

static bool has_steps(const tn_fn *f, const tn_i_eqn *e) {
    for (uint32_t i = 0; i < e->nin; i++)
        if (tn_i_has_steps(f->val[tn_i_in(f, e)[i]].type)) return true;
    for (uint32_t j = 0; j < e->nout; j++)
        if (tn_i_has_steps(f->val[e->out + j].type)) return true;
    return false;
}

static void err(const tn_fn *f, const tn_i_eqn *e, void **value, tn_naive_errors *off) {
    const double ulps = off->ulps(f, e);
    for (uint32_t j = 0; j < e->nout && ulps > 0; j++) {
        const tn_type *t = f->val[e->out + j].type;
        const int64_t n = tn_i_is_float(t->dtype) ? tn_i_count(t) : 0;
        for (int64_t i = 0; i < n; i++) {
            const double by = tn_i_pick(&off->rng, 0, 1) ? ulps : -ulps;
            if (t->dtype == TN_F32)
                ((float *)value[e->out + j])[i] *= (float)(1 + by * FLT_EPSILON);
            else
                ((double *)value[e->out + j])[i] *= 1 + by * DBL_EPSILON;
        }
    }
}

static tn_status run_equation(const tn_fn *f, const tn_i_eqn *e, void **value, tn_naive_errors *off) {
    if (e->prim->id == TN_P_scan) return tn_naive_scan(f, e, value, off);
    if (e->prim->id == TN_P_while) return tn_naive_while(f, e, value, off);
    if (e->prim->flags & TN_F_LOOP) return by_branch(f, e, value, off);
    if (e->prim->body && !e->prim->kernel) return by_program(f, e, e->params->v[e->prim->body - 1].u.fn, 0, value, off);
    if (has_steps(f, e)) return by_steps(f, e, value);
    const tn_status s = by_itself(f, e, value);
    if (s == TN_OK && off) err(f, e, value, off);
    return s;
}

/* Inputs and literals; an equation makes its own outputs. */
static bool make_values(const tn_fn *f, const void *const *in, void **value) {
    for (uint32_t v = 0; v < f->nval; v++) {
        const void *from = v < f->nin ? in[v] : tn_i_is_literal(f, v) ? &f->val[v].bits : NULL;
        const tn_type *t = f->val[v].type;
        if (v < f->nin || from)
            if (!(value[v] = tn_naive_copy(t, from))) return false;
    }
    return true;
}

static void **run(const tn_fn *f, const void *const *in, tn_naive_errors *off, tn_status *s) {
    void **value = calloc((size_t)f->nval + 1, sizeof *value);
    *s = value && make_values(f, in, value) ? TN_OK : TN_ENOMEM;
    for (uint32_t i = 0; i < f->neqn && *s == TN_OK; i++) *s = run_equation(f, &f->eqn[i], value, off);
    return value;
}

static void release(const tn_fn *f, void **value) {
    for (uint32_t v = 0; value && v < f->nval; v++) tn_naive_drop(f->val[v].type, value[v]);
    free(value);
}

tn_status tn_naive_body(const tn_fn *f, const void *const *in, void **out, tn_naive_errors *off) {
    tn_status s;
    void **value = run(f, in, off, &s);
    for (uint32_t j = 0; j < f->nout && s == TN_OK; j++)
        if (!(out[j] = tn_naive_copy(f->val[f->out[j]].type, value[f->out[j]]))) s = TN_ENOMEM;
    release(f, value);
    return s;
}

tn_status tn_naive_run(const tn_fn *f, const void *const *in, void *const *out) {
    return tn_naive_run_off(f, in, out, NULL);
}

static tn_status run_whole(const tn_fn *f, const void *const *in, void *const *out, tn_naive_errors *off) {
    tn_status s;
    void **value = run(f, in, off, &s);
    for (uint32_t j = 0; j < f->nout && s == TN_OK; j++) {
        const tn_type *t = f->val[f->out[j]].type;
        tn_naive_tree *tree = tn_i_has_steps(t) ? tn_naive_copy(t, value[f->out[j]]) : NULL;
        if (tree)
            *(tn_naive_tree *)out[j] = *tree;
        else if (tn_i_has_steps(t))
            s = TN_ENOMEM;
        else if (tn_type_bytes(t))
            memcpy(out[j], value[f->out[j]], tn_type_bytes(t));
        free(tree);
    }
    release(f, value);
    return s;
}

/* Equations that are others when they run are those. */
static tn_fn *to_run(const tn_fn *f) {
    tn_fn *wide = tn_i_widened(f), *g = wide ? tn_i_expanded(wide) : NULL;
    tn_i_fn_unref(wide);
    return g;
}

tn_status tn_naive_run_off(const tn_fn *f, const void *const *in, void *const *out, tn_naive_errors *off) {
    tn_fn *g = to_run(f);
    const tn_status s = g ? run_whole(g, in, out, off) : TN_ENOMEM;
    tn_i_fn_unref(g);
    return s;
}

static bool finite(const tn_type *t, const void *data) {
    if (tn_i_has_steps(t)) return true; /* its entries were values of a step */
    const int64_t n = tn_i_count(t);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(tn_i_element(t->dtype, (const char *)data + i * (int64_t)tn_i_dtype_size(t->dtype))))
            return false;
    return true;
}

bool tn_naive_finite(const tn_fn *whole, const void *const *in) {
    tn_status s;
    tn_fn *f = to_run(whole);
    if (!f) return false;
    void **value = run(f, in, NULL, &s);
    bool all = s == TN_OK;
    for (uint32_t v = 0; v < f->nval && all; v++) all = finite(f->val[v].type, value[v]);
    release(f, value);
    tn_i_fn_unref(f);
    return all;
}
