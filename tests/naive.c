#include "naive.h"

#include "prims/layout.h"

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

static tn_status by_body(const tn_i_eqn *e, const tn_i_arr *in, const tn_i_arr *out) {
    const tn_fn *f = e->params->v[e->prim->body - 1].u.fn;
    const void **from = calloc(e->nin + 1, sizeof *from);
    void **to = calloc(e->nout + 1, sizeof *to);
    tn_status s = TN_ENOMEM;
    if (from && to) {
        for (uint32_t i = 0; i < e->nin; i++) from[i] = in[i].data;
        for (uint32_t j = 0; j < e->nout; j++) to[j] = out[j].data;
        s = tn_naive_run(f, from, to);
    }
    free(from);
    free(to);
    return s;
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

static tn_status run_equation(const tn_fn *f, const tn_i_eqn *e, void *const *value) {
    tn_i_arr *in = calloc(e->nin + 1, sizeof *in), *out = calloc(e->nout + 1, sizeof *out);
    tn_status s = TN_ENOMEM;
    if (in && out) {
        for (uint32_t i = 0; i < e->nin; i++) in[i] = dense(f->val[tn_i_in(f, e)[i]].type, value[tn_i_in(f, e)[i]]);
        for (uint32_t j = 0; j < e->nout; j++) out[j] = dense(f->val[e->out + j].type, value[e->out + j]);
        s = e->prim->kernel ? by_kernel(f, e, in, out) : e->prim->body ? by_body(e, in, out) : by_strips(e, in, out);
    }
    free(in);
    free(out);
    return s;
}

static bool make_values(const tn_fn *f, const void *const *in, void **value) {
    for (uint32_t v = 0; v < f->nval; v++) {
        const size_t bytes = tn_type_bytes(f->val[v].type);
        value[v] = malloc(bytes ? bytes : 1);
        if (!value[v]) return false;
        if (v < f->nin && bytes) memcpy(value[v], in[v], bytes);
        if (tn_i_is_literal(f, v)) memcpy(value[v], &f->val[v].bits, bytes);
    }
    return true;
}

static void **run(const tn_fn *f, const void *const *in, tn_status *s) {
    void **value = calloc((size_t)f->nval + 1, sizeof *value);
    *s = value && make_values(f, in, value) ? TN_OK : TN_ENOMEM;
    for (uint32_t i = 0; i < f->neqn && *s == TN_OK; i++) *s = run_equation(f, &f->eqn[i], value);
    return value;
}

static void release(const tn_fn *f, void **value) {
    for (uint32_t v = 0; value && v < f->nval; v++) free(value[v]);
    free(value);
}

tn_status tn_naive_run(const tn_fn *f, const void *const *in, void *const *out) {
    tn_status s;
    void **value = run(f, in, &s);
    for (uint32_t j = 0; j < f->nout && s == TN_OK; j++)
        if (tn_type_bytes(f->val[f->out[j]].type))
            memcpy(out[j], value[f->out[j]], tn_type_bytes(f->val[f->out[j]].type));
    release(f, value);
    return s;
}

static bool finite(const tn_type *t, const void *data) {
    const int64_t n = tn_i_count(t);
    for (int64_t i = 0; i < n; i++)
        if ((t->dtype == TN_F64 && !isfinite(((const double *)data)[i])) ||
            (t->dtype == TN_F32 && !isfinite(((const float *)data)[i])))
            return false;
    return true;
}

bool tn_naive_finite(const tn_fn *f, const void *const *in) {
    tn_status s;
    void **value = run(f, in, &s);
    bool all = s == TN_OK;
    for (uint32_t v = 0; v < f->nval && all; v++) all = finite(f->val[v].type, value[v]);
    release(f, value);
    return all;
}
