/* slice_add: what the cotangents of slices are summed by. */
#include "prims/c_text.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

static bool type_slice_add(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    tn_type t = *q->in[0];
    if (t.dtype == TN_BOOL) return tn_i_type_fail(q, 0, "slice_add is not defined for bool");
    if (!tn_i_slice_sizes(q, t.dim) || !tn_i_same_dtype(q, 1)) return false;
    if (!tn_type_equal(&t, q->in[1]))
        return tn_i_type_fail(q, 1, "is not of the slice's type, %s", tn_i_type_text(text, &t));
    return tn_i_output_type(q, q->in[0]);
}

/* Where the slice begins in an array of these strides, and the slice's own; elements. */
static int64_t place_of(const tn_i_param *p, const tn_type *of, const tn_type *part, const int64_t *dense,
                        int64_t *stride) {
    int64_t at = 0, config[3];
    for (int d = 0; d < of->rank; d++) {
        tn_i_slice_padding(p, of, part, d, config);
        at += config[0] * dense[d];
        stride[d] = (config[2] + 1) * dense[d];
    }
    return at;
}

static tn_status kernel_slice_add(const tn_i_kernel *k) {
    const tn_i_arr *u = &k->in[1];
    const tn_type *t = k->out->type;
    const size_t size = tn_i_dtype_size(t->dtype);
    int64_t dense[TN_MAX_RANK], stride[TN_MAX_RANK];
    tn_i_walk w;
    if (k->out->data != k->in[0].data) tn_i_copy_array(&k->in[0], k->out);
    if (tn_i_count(u->type) == 0) return TN_OK;
    tn_i_dense_strides(t, dense);
    const int64_t at = place_of(k->p, t, u->type, dense, stride);
    tn_i_walk_init(&w, t->rank, u->type->dim, u->stride, stride);
    tn_i_walk_run(&w, tn_i_add_row(t->dtype), size, u->data, tn_i_at_mut(k->out->data, size, at));
    return TN_OK;
}

/* x + 0 is x but for the sign of a zero, which linear programs do not keep. */
static tn_i_var simplify_slice_add(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                   const tn_type *out) {
    (void)nin;
    const tn_type *u = tn_i_vtype(b, in[1]);
    bool unit = p[2].kind != TN_K_NONE;
    double k;
    if (tn_i_count(u) == 0) return in[0];
    if (tn_type_equal(u, out)) return tn_i_op2(b, TN_P_add, in[0], in[1]);
    if (b->val[in[0]].linear && tn_i_is_zero(b, in[1])) return in[0];
    if (tn_i_is_int(out->dtype) && tn_i_known_f64(b, in[1], &k) && k == 0.0) return in[0];
    int64_t limit[TN_MAX_RANK];
    for (int i = 0; unit && i < out->rank; i++) {
        unit = u->dim[i] <= 1 || tn_i_ints(p, 2)[i] == 1;
        limit[i] = tn_i_ints(p, 0)[i] + u->dim[i];
    }
    return unit ? tn_i_slice_add(b, in[0], in[1], tn_i_ints(p, 0), limit, NULL) : TN_NOVAR;
}

static const int64_t *strides_of(const tn_i_param *p) { return p[2].kind == TN_K_NONE ? NULL : tn_i_ints(p, 2); }

static void jvp_slice_add(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    dout[0] = din[0];
    if (din[1] == TN_NOVAR) return;
    const tn_i_var x = din[0] != TN_NOVAR ? din[0] : tn_i_zeros(r->b, r->in_type[0]);
    dout[0] = tn_i_slice_add(r->b, x, din[1], tn_i_ints(r->p, 0), tn_i_ints(r->p, 1), strides_of(r->p));
}

static void transpose_slice_add(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    if (r->in[0] == TN_NOVAR) ct_in[0] = ct[0];
    if (r->in[1] == TN_NOVAR)
        ct_in[1] = tn_i_slice(r->b, ct[0], tn_i_ints(r->p, 0), tn_i_ints(r->p, 1), strides_of(r->p));
}

static void batch_slice_add(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_i_slice_params p = tn_i_slice_batched(r->p, r->in_type[0]->rank, r->batch);
    const tn_i_var x = tn_i_batched_operand(r, batched, 0), u = tn_i_batched_operand(r, batched, 1);
    *out = tn_i_slice_add(r->b, x, u, p.start, p.limit, p.strided ? p.stride : NULL);
    *out_batched = true;
}

/* In place: touches the slice only. */
static void cost_slice_add(const tn_i_query *q, tn_i_cost *cost) {
    cost->flops += (double)tn_i_count(q->in[1]);
    cost->bytes += 3 * tn_i_bytes_of(q->in[1]);
}

static tn_i_rows rows_slice_add(const tn_i_query *q) {
    const bool all = tn_i_ints(q->p, 0)[0] == 0 && tn_i_ints(q->p, 1)[0] == q->out->dim[0];
    return all && (q->p[2].kind == TN_K_NONE || tn_i_ints(q->p, 2)[0] == 1) ? TN_ROWS_OWN : TN_ROWS_MIXED;
}

static bool sample_slice_add(tn_i_rng *r, int dtype, tn_i_case *c) {
    if (!tn_i_sample_slice(r, dtype, c)) return false;
    c->nin = 2;
    c->in[1] = c->in[0];
    for (int d = 0; d < c->in[0].rank; d++) {
        const int64_t n = tn_i_ints(c->p, 1)[d] - tn_i_ints(c->p, 0)[d];
        const int64_t s = c->p[2].kind == TN_K_NONE ? 1 : tn_i_ints(c->p, 2)[d];
        c->in[1].dim[d] = n ? (n - 1) / s + 1 : 0;
    }
    return true;
}

static void c_slice_add(const tn_i_c_kernel *k) {
    const tn_type *t = k->out[0].type, *u = k->in[1].type;
    const char *type = tn_i_is_float(t->dtype)          ? tn_i_c_name(t->dtype)
                       : tn_i_dtype_size(t->dtype) == 4 ? "uint32_t"
                                                        : "uint64_t";
    int64_t stride[TN_MAX_RANK];
    tn_i_c_copy_operand(k);
    if (tn_i_count(u) == 0) return;
    const int64_t at = place_of(k->p, t, u, k->out[0].stride, stride);
    tn_i_c_open_arr(k->t, "i", u);
    tn_i_text_put(k->t, "%s *const sum = out0 + %lld + ", tn_i_c_name(t->dtype), (long long)at);
    tn_i_c_at(k->t, "i", u->rank, u->dim, stride);
    tn_i_text_put(k->t, ";\n*sum = (%s)((%s)*sum + (%s)in1[", tn_i_c_name(t->dtype), type, type);
    tn_i_c_at_arr(k->t, "i", &k->in[1]);
    tn_i_text_put(k->t, "]);\n");
    tn_i_c_close(k->t, u->rank, u->dim);
}

static void places_slice_add(const tn_i_kernel *k, int64_t *at) {
    const tn_type *t = k->out->type, *u = k->in[1].type;
    int64_t dense[TN_MAX_RANK], stride[TN_MAX_RANK];
    tn_i_dense_strides(t, dense);
    const int64_t n = tn_i_count(u), first = n ? place_of(k->p, t, u, dense, stride) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        at[i] = first;
        for (int d = t->rank; d-- > 0; rest /= u->dim[d]) at[i] += rest % u->dim[d] * stride[d];
    }
}

const tn_prim tn_prim_slice_add = {
    .id = TN_P_slice_add,
    .name = "slice_add",
    .doc = "operand 0 with operand 1 added to its slice, as of slice; integers wrap",
    .nin = 2,
    .flags = TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .params = tn_i_slice_spec,
    .type = type_slice_add,
    .linear = {TN_OPERAND(0) | TN_OPERAND(1)},
    .simplify = simplify_slice_add,
    .jvp = jvp_slice_add,
    .transpose = transpose_slice_add,
    .batch = batch_slice_add,
    .kernel = kernel_slice_add,
    .c_kernel = c_slice_add,
    .rows = rows_slice_add,
    .rows_in = 1 + 1,
    .cost = cost_slice_add,
    .jvp_bound = 3,
    .transpose_bound = 3,
    .sample = sample_slice_add,
    .spread = TN_SPREAD_ADDS,
    .places = places_slice_add,
};
