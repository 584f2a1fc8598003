/* Emitting common equations from rules. */
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <stdio.h>
#include <string.h>

void tn_i_rule_fail(tn_i_rule *r, tn_status s, int operand, const char *fmt, ...) {
    char text[512], which[32] = "";
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (operand >= 0) (void)snprintf(which, sizeof which, "operand %d: ", operand);
    if (r->e) r->b->loc = r->e->loc;
    tn_i_builder_fail(r->b, s, "%s: %s%s", r->e ? r->e->prim->name : "rule", which, text);
}

tn_i_var tn_i_op1(tn_i_builder *b, int id, tn_i_var x) { return tn_i_emit(b, tn_i_prim(b, id), NULL, 1, &x); }

tn_i_var tn_i_op2(tn_i_builder *b, int id, tn_i_var x, tn_i_var y) {
    const tn_i_var in[2] = {x, y};
    return tn_i_emit(b, tn_i_prim(b, id), NULL, 2, in);
}

tn_i_var tn_i_op3(tn_i_builder *b, int id, tn_i_var x, tn_i_var y, tn_i_var z) {
    const tn_i_var in[3] = {x, y, z};
    return tn_i_emit(b, tn_i_prim(b, id), NULL, 3, in);
}

tn_i_var tn_i_offload(tn_i_builder *b, tn_i_var x) { return tn_i_op1(b, TN_P_offload, x); }

tn_i_var tn_i_broadcast(tn_i_builder *b, tn_i_var x, int rank, const int64_t *shape, const int64_t *dims) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_i_param p[2] = {{.kind = TN_K_INTS, .n = (uint32_t)rank, .u.ints = shape},
                             {.kind = TN_K_INTS, .n = (uint32_t)tn_i_vtype(b, x)->rank, .u.ints = dims}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_broadcast_in_dim), p, 1, &x);
}

tn_i_var tn_i_vary(tn_i_builder *b, tn_i_var x, uint32_t axes) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const uint32_t more = axes & ~tn_i_over(tn_i_vtype(b, x));
    const tn_i_param p = {.kind = TN_K_AXES, .u.i = more};
    return more ? tn_i_emit(b, tn_i_prim(b, TN_P_pvary), &p, 1, &x) : x;
}

tn_i_var tn_i_vary_as(tn_i_builder *b, tn_i_var x, const tn_type *t) { return tn_i_vary(b, x, tn_i_over(t)); }

/* Literals stay what they are: they go with anything. */
tn_i_var tn_i_number(tn_i_builder *b, const tn_type *t, double x) {
    tn_i_var v = tn_i_literal_f64(b, t->dtype, x);
    return t->rank == 0 ? v : tn_i_vary_as(b, tn_i_broadcast(b, v, t->rank, t->dim, NULL), t);
}

tn_i_var tn_i_number_like(tn_i_builder *b, tn_i_var v, double x) {
    if (b->failed || v == TN_NOVAR) return TN_NOVAR;
    return tn_i_number(b, tn_i_vtype(b, v), x);
}

tn_i_var tn_i_zeros(tn_i_builder *b, const tn_type *t) { return tn_i_vary_as(b, tn_i_number(b, t, 0.0), t); }

tn_i_var tn_i_constant_f64(tn_i_builder *b, int dtype, int64_t n, const double *x) {
    const tn_type t = tn_type_of((tn_dtype)dtype, 1, &n);
    const size_t bytes = tn_type_bytes(&t);
    if (b->failed || dtype == TN_F64) return b->failed ? TN_NOVAR : tn_i_constant(b, &t, x);
    float *data = tn_i_alloc(b->ctx, bytes);
    if (!data) b->failed = true;
    for (int64_t i = 0; data && i < n; i++) data[i] = (float)x[i];
    const tn_i_var v = data ? tn_i_constant(b, &t, data) : TN_NOVAR;
    tn_i_free(b->ctx, data, bytes);
    return v;
}

tn_i_var tn_i_reshape(tn_i_builder *b, tn_i_var x, int rank, const int64_t *shape) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_i_param p[1] = {{.kind = TN_K_INTS, .n = (uint32_t)rank, .u.ints = shape}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_reshape), p, 1, &x);
}

tn_i_var tn_i_permute(tn_i_builder *b, tn_i_var x, const int64_t *perm) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_i_param p[1] = {{.kind = TN_K_INTS, .n = (uint32_t)tn_i_vtype(b, x)->rank, .u.ints = perm}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_transpose), p, 1, &x);
}

tn_i_var tn_i_reduce_sum(tn_i_builder *b, tn_i_var x, uint32_t naxes, const int64_t *axes) {
    if (b->failed || x == TN_NOVAR || naxes == 0) return x;
    const tn_i_param p[1] = {{.kind = TN_K_INTS, .n = naxes, .u.ints = axes}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_reduce_sum), p, 1, &x);
}

tn_i_var tn_i_convert(tn_i_builder *b, tn_i_var x, int dtype) {
    if (b->failed || x == TN_NOVAR || tn_i_vtype(b, x)->dtype == dtype) return x;
    const tn_i_param p[1] = {{.kind = TN_K_DTYPE, .u.i = dtype}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_convert_element_type), p, 1, &x);
}

int tn_i_batch_axis(const tn_type *t) {
    int at = 0;
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] == TN_I_STEPS) at = d + 1;
    return at;
}

tn_i_var tn_i_batched(tn_i_builder *b, tn_i_var x, int64_t n) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, x);
    int64_t shape[TN_MAX_RANK + 1], dims[TN_MAX_RANK];
    const int at = tn_i_batch_axis(t);
    shape[at] = n;
    for (int i = 0; i < t->rank; i++) {
        dims[i] = i + (i >= at);
        shape[dims[i]] = t->dim[i];
    }
    if (tn_i_has_steps(t)) { /* of these only numbers are spread */
        tn_type all = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank + 1, shape);
        all.varying = t->varying;
        const tn_i_var v = tn_i_respread(b, x, &all);
        if (v != TN_NOVAR || b->failed) return v;
    }
    return tn_i_broadcast(b, x, t->rank + 1, shape, dims);
}

void tn_i_batch_elementwise(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_var in[4];
    for (uint32_t i = 0; i < r->nin && i < 4; i++)
        in[i] = batched[i] ? r->in[i] : tn_i_batched(r->b, r->in[i], r->batch);
    *out = tn_i_emit_like(r->b, r->e, in);
    *out_batched = true;
}

/* Lane k of a batched value, without the batch dimension. */
static tn_i_var lane(tn_i_rule *r, tn_i_var x, int64_t k) {
    if (r->b->failed || x == TN_NOVAR) return TN_NOVAR;
    tn_type t = *tn_i_vtype(r->b, x);
    int64_t start[TN_MAX_RANK] = {k}, limit[TN_MAX_RANK];
    memcpy(limit, t.dim, sizeof limit);
    limit[0] = k + 1;
    const tn_i_param p[3] = {{.kind = TN_K_INTS, .n = (uint32_t)t.rank, .u.ints = start},
                             {.kind = TN_K_INTS, .n = (uint32_t)t.rank, .u.ints = limit},
                             {.kind = TN_K_NONE}};
    tn_i_var v = tn_i_emit(r->b, tn_i_prim(r->b, TN_P_slice), p, 1, &x);
    return tn_i_reshape(r->b, v, t.rank - 1, t.dim + 1);
}

static tn_i_var stack(tn_i_rule *r, tn_i_var *lanes, const tn_type *t) {
    tn_i_builder *b = r->b;
    for (int64_t k = 0; k < r->batch; k++) lanes[k] = tn_i_batched(b, lanes[k], 1);
    if (r->batch == 0) {
        tn_type z = *t;
        memmove(z.dim + 1, z.dim, (TN_MAX_RANK - 1) * sizeof *z.dim);
        z.dim[0] = 0;
        z.rank++;
        return tn_i_zeros(b, &z);
    }
    const tn_i_param p[1] = {{.kind = TN_K_INT, .u.i = 0}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_concatenate), p, (uint32_t)r->batch, lanes);
}

void tn_i_batch_unroll(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_ctx *c = r->b->ctx;
    size_t n = (size_t)r->batch * r->nout;
    tn_i_var *lanes = tn_i_alloc_array(c, n, sizeof *lanes), *in = tn_i_alloc_array(c, r->nin, sizeof *in);
    if (!lanes || !in) r->b->failed = true;
    for (int64_t k = 0; k < r->batch && !r->b->failed; k++) {
        for (uint32_t i = 0; i < r->nin; i++) in[i] = batched[i] ? lane(r, r->in[i], k) : r->in[i];
        tn_i_var v = tn_i_emit_like(r->b, r->e, in);
        for (uint32_t j = 0; j < r->nout; j++) lanes[j * (size_t)r->batch + (size_t)k] = v == TN_NOVAR ? v : v + j;
    }
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = r->b->failed ? TN_NOVAR : stack(r, lanes + j * (size_t)r->batch, r->out_type[j]);
        out_batched[j] = true;
    }
    tn_i_free(c, lanes, n * sizeof *lanes);
    tn_i_free(c, in, r->nin * sizeof *in);
}
