/* Shape without data movement: constant iota broadcast_in_dim reshape transpose rev. */
#include "prims/c_text.h"
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/boxes.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* ---- constant ---- */
static const tn_i_spec constant_params[] = {{.name = "value", .kind = TN_K_BLOB}, {.name = NULL}};

static bool type_constant(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    return tn_i_output_type(q, q->p[0].u.blob->type);
}

static tn_status kernel_constant(const tn_i_kernel *k) {
    const tn_i_blob *blob = k->p[0].u.blob;
    const size_t bytes = tn_type_bytes(blob->type);
    if (bytes) memcpy(k->out->data, tn_i_blob_data(blob), bytes);
    return TN_OK;
}

static bool sample_constant(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_type t;
    tn_i_sample_shape(r, &t, dtype, 1, 3);
    tn_i_blob *blob = tn_i_blob_new(c->ctx, &t);
    if (!blob) return false;
    const bool zeros = tn_i_pick(r, 0, 3) == 0;
    for (int64_t i = 0; i < tn_i_count(&t) && !zeros; i++)
        tn_i_put(dtype, tn_i_blob_data(blob), i,
                 dtype == TN_BOOL ? (double)tn_i_pick(r, 0, 1) : tn_i_uniform(r, -5, 5));
    tn_i_blob_seal(blob);
    c->blobs[0] = blob;
    c->p[0] = (tn_i_param){.kind = TN_K_BLOB, .u.blob = blob};
    return true;
}

/* The data stand in the program: who reads them pays, by the part that is read. */
static void cost_constant(const tn_i_query *q, tn_i_cost *cost) { (void)q, (void)cost; }

static void c_constant(const tn_i_c_kernel *k) {
    const tn_type *t = k->out[0].type;
    const int64_t n = tn_i_count(t);
    const char *data = tn_i_blob_data(k->p[0].u.blob);
    tn_i_text_put(k->t, "static const %s data[] = {", tn_i_c_name(t->dtype));
    for (int64_t i = 0; i < n; i++) {
        if (i) tn_i_text_put(k->t, ", ");
        tn_i_c_number(k->t, t->dtype, data + (size_t)i * tn_i_dtype_size(t->dtype));
    }
    tn_i_text_put(k->t, "};\nmemcpy(out0, data, sizeof data);\n");
}

static bool linearity_constant(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    (void)f, (void)in;
    out[0] = tn_i_p(e)[0].u.blob->zero ? TN_ZERO : TN_NONLINEAR;
    return true;
}

const tn_prim tn_prim_constant = {
    .id = TN_P_constant,
    .name = "constant",
    .doc = "an array known when the program was made",
    .nin = 0,
    .flags = TN_F_NODIFF | TN_F_STORED,
    .dtypes = TN_ANY,
    .params = constant_params,
    .type = type_constant,
    .linearity = linearity_constant,
    .kernel = kernel_constant,
    .c_kernel = c_constant,
    .cost = cost_constant,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_constant,
};

/* ---- iota ---- */
static const tn_i_spec iota_params[] = {{.name = "dtype", .kind = TN_K_DTYPE},
                                        {.name = "shape", .kind = TN_K_INTS},
                                        {.name = "dimension", .kind = TN_K_INT},
                                        {.name = NULL}};

static bool type_iota(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const int64_t dtype = q->p[0].u.i, dimension = q->p[2].u.i;
    if (dtype < 0 || dtype >= TN_NDTYPES || dtype == TN_BOOL)
        return tn_i_type_fail(q, -1, "dtype must be i32, i64, u32, f32 or f64");
    if (!tn_i_rank_fits(q, q->p[1].n)) return false;
    if (dimension < 0 || dimension >= q->p[1].n)
        return tn_i_type_fail(q, -1, "dimension: %lld is no dimension of an array of rank %u", (long long)dimension,
                              (unsigned)q->p[1].n);
    return tn_i_output(q, (int)dtype, (int)q->p[1].n, tn_i_ints(q->p, 1));
}

static void put_index(int dtype, void *out, int64_t at, int64_t i) {
    switch (dtype) {
    case TN_I32: ((int32_t *)out)[at] = (int32_t)(uint32_t)i; break;
    case TN_U32: ((uint32_t *)out)[at] = (uint32_t)i; break;
    case TN_I64:
    case TN_U64: ((int64_t *)out)[at] = i; break;
    case TN_F32: ((float *)out)[at] = (float)i; break;
    default: ((double *)out)[at] = (double)i; break;
    }
}

static tn_status kernel_iota(const tn_i_kernel *k) {
    const tn_type *t = k->out->type;
    int64_t stride[TN_MAX_RANK];
    tn_i_dense_strides(t, stride);
    const int64_t n = tn_i_count(t), run = stride[k->p[2].u.i], size = t->dim[k->p[2].u.i];
    for (int64_t at = 0, i = 0; at < n; i = i + 1 < size ? i + 1 : 0)
        for (int64_t j = 0; j < run; j++) put_index(t->dtype, k->out->data, at++, i);
    return TN_OK;
}

static bool sample_iota(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_type t;
    tn_i_sample_shape(r, &t, dtype, 1, 4);
    c->p[0] = (tn_i_param){.kind = TN_K_DTYPE, .u.i = dtype};
    c->p[2] = (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, 0, t.rank - 1)};
    return tn_i_case_list(c, 1, (uint32_t)t.rank, t.dim);
}

static void c_iota(const tn_i_c_kernel *k) {
    const tn_type *t = k->out[0].type;
    const int64_t d = k->p[2].u.i;
    tn_i_c_open_arr(k->t, "i", t);
    tn_i_text_put(k->t, "out0[");
    tn_i_c_at_arr(k->t, "i", &k->out[0]);
    if (t->dim[d] == 1)
        tn_i_text_put(k->t, "] = 0;\n");
    else
        tn_i_text_put(k->t, "] = (%s)i%lld;\n", tn_i_c_name(t->dtype), (long long)d);
    tn_i_c_close(k->t, t->rank, t->dim);
}

static tn_i_rows rows_iota(const tn_i_query *q) { return q->p[2].u.i ? TN_ROWS_ALIKE : TN_ROWS_MIXED; }

const tn_prim tn_prim_iota = {
    .id = TN_P_iota,
    .name = "iota",
    .doc = "0, 1, 2, ... along a dimension; i32 wraps",
    .nin = 0,
    .flags = TN_F_NODIFF,
    .dtypes = TN_NUMBERS,
    .params = iota_params,
    .type = type_iota,
    .rows = rows_iota,
    .rows_in = 1 + 1,
    .kernel = kernel_iota,
    .c_kernel = c_iota,
    .cost = tn_i_cost_copy,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_iota,
    .complex = tn_i_complex_of_real,
};

/* ---- broadcast_in_dim ---- */
static const tn_i_spec broadcast_params[] = {
    {.name = "shape", .kind = TN_K_INTS}, {.name = "broadcast_dimensions", .kind = TN_K_INTS}, {.name = NULL}};

static bool type_broadcast(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const tn_type *in = q->in[0];
    const int64_t *shape = tn_i_ints(q->p, 0), *dims = tn_i_ints(q->p, 1);
    const uint32_t rank = q->p[0].n;
    if (!tn_i_rank_fits(q, rank) || !tn_i_length_is(q, 1, (uint32_t)in->rank, "the rank of the operand") ||
        !tn_i_axes_valid(q, "broadcast_dimensions", q->p[1].n, dims, (int)rank, true))
        return false;
    for (int i = 0; i < in->rank; i++)
        if (in->dim[i] != 1 && in->dim[i] != shape[dims[i]])
            return tn_i_type_fail(q, 0, "dimension %d of size %lld cannot become dimension %lld of size %lld", i,
                                  (long long)in->dim[i], (long long)dims[i], (long long)shape[dims[i]]);
    return tn_i_output(q, in->dtype, (int)rank, shape);
}

static bool view_broadcast(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    for (int i = 0; i < q->out->rank; i++) out->stride[i] = 0;
    for (int i = 0; i < q->in[0]->rank; i++)
        if (q->in[0]->dim[i] != 1) out->stride[tn_i_ints(q->p, 1)[i]] = in->stride[i];
    *offset = 0;
    return true;
}

static bool walks_broadcast(const tn_i_query *q, int8_t *map) {
    for (int d = 0; d < q->out->rank; d++) map[d] = -1;
    for (int i = 0; i < q->in[0]->rank; i++) {
        const int64_t d = tn_i_ints(q->p, 1)[i];
        if (q->in[0]->dim[i] == q->out->dim[d]) map[d] = (int8_t)i;
    }
    return true;
}

static tn_i_rows rows_broadcast(const tn_i_query *q) {
    for (int i = 0; i < q->in[0]->rank; i++)
        if (tn_i_ints(q->p, 1)[i] == 0 && q->in[0]->dim[i] > 1) return i == 0 ? TN_ROWS_OWN : TN_ROWS_MIXED;
    return TN_ROWS_ALIKE;
}

static tn_i_var simplify_broadcast(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                   const tn_type *out) {
    (void)nin;
    if (tn_type_equal(tn_i_vtype(b, in[0]), out)) return in[0];
    const tn_i_eqn *e = tn_i_def(b, in[0]);
    if (!e || e->prim->id != TN_P_broadcast_in_dim) return TN_NOVAR;
    const tn_i_param *first = tn_i_p(e);
    int64_t dims[TN_MAX_RANK];
    for (uint32_t i = 0; i < first[1].n; i++) dims[i] = tn_i_ints(p, 1)[tn_i_ints(first, 1)[i]];
    return tn_i_broadcast(b, b->pool[e->in], (int)p[0].n, tn_i_ints(p, 0), dims);
}

static void transpose_broadcast(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_type *in = r->in_type[0], *out = r->out_type[0];
    bool kept[TN_MAX_RANK] = {false};
    int64_t axes[TN_MAX_RANK];
    uint32_t n = 0;
    for (int i = 0; i < in->rank; i++) {
        int64_t d = tn_i_ints(r->p, 1)[i];
        kept[d] = in->dim[i] == out->dim[d];
    }
    for (int d = 0; d < out->rank; d++)
        if (!kept[d]) axes[n++] = d;
    ct_in[0] = tn_i_reshape(r->b, tn_i_reduce_sum(r->b, ct[0], n, axes), in->rank, in->dim);
}

static void batch_broadcast(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    int64_t shape[TN_MAX_RANK + 1], dims[TN_MAX_RANK + 1];
    shape[0] = r->batch;
    for (uint32_t i = 0; i < r->p[0].n; i++) shape[i + 1] = tn_i_ints(r->p, 0)[i];
    (void)tn_i_behind_batch(r->p[1].n, tn_i_ints(r->p, 1), 0, dims);
    *out = tn_i_broadcast(r->b, r->in[0], (int)r->p[0].n + 1, shape, dims);
    *out_batched = true;
}

static bool sample_broadcast(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_type t;
    int64_t dims[TN_MAX_RANK];
    uint32_t n = 0;
    tn_i_sample_shape(r, &t, dtype, 0, 4);
    c->nin = 1;
    c->in[0].dtype = dtype;
    for (int i = 0; i < t.rank; i++) {
        if (tn_i_pick(r, 0, 2) == 0) continue;
        c->in[0].dim[n] = tn_i_pick(r, 0, 3) == 0 ? 1 : t.dim[i];
        dims[n++] = i;
    }
    c->in[0].rank = (int32_t)n;
    return tn_i_case_list(c, 0, (uint32_t)t.rank, t.dim) && tn_i_case_list(c, 1, n, dims);
}

const tn_prim tn_prim_broadcast_in_dim = {
    .id = TN_P_broadcast_in_dim,
    .name = "broadcast_in_dim",
    .doc = "operand dimension i becomes broadcast_dimensions[i] of shape; others, and those of size 1, repeat",
    .nin = 1,
    .flags = TN_F_VIEW | TN_F_STEPS,
    .dtypes = TN_ANY,
    .params = broadcast_params,
    .type = type_broadcast,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_broadcast,
    .transpose = transpose_broadcast,
    .batch = batch_broadcast,
    .boxes = tn_i_view_boxes,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .view = view_broadcast,
    .walks = walks_broadcast,
    .rows = rows_broadcast,
    .rows_in = 1 + 0,
    .cost = tn_i_cost_copy,
    .jvp_bound = 2,
    .transpose_bound = 3,
    .sample = sample_broadcast,
    .spread = TN_SPREAD_MOVES,
};

/* ---- reshape ---- */
static const tn_i_spec reshape_params[] = {{.name = "new_sizes", .kind = TN_K_INTS}, {.name = NULL}};

static bool type_reshape(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    char text[TN_I_TYPE_TEXT];
    if (!tn_i_rank_fits(q, q->p[0].n)) return false;
    if (!tn_i_output(q, q->in[0]->dtype, (int)q->p[0].n, tn_i_ints(q->p, 0))) return false;
    if (tn_i_count(q->out) == tn_i_count(q->in[0])) return true;
    return tn_i_type_fail(q, 0, "%lld elements cannot become %s", (long long)tn_i_count(q->in[0]),
                          tn_i_type_text(text, q->out));
}

/* Groups of dimensions with equal products are matched from the left; a group can be viewed
 * when the operand's part of it is one evenly strided run. */
static bool view_reshape(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    const tn_type *from = q->in[0], *to = q->out;
    int64_t dim[TN_MAX_RANK], stride[TN_MAX_RANK];
    int n = 0, i = 0, j = 0;
    *offset = 0;
    tn_i_dense_strides(to, out->stride);
    if (tn_i_count(to) == 0) return true;
    for (int d = 0; d < from->rank; d++)
        if (from->dim[d] != 1) {
            dim[n] = from->dim[d];
            stride[n++] = in->stride[d];
        }
    while (i < n) {
        int i0 = i, j0 = j;
        int64_t a = dim[i++], b = to->dim[j++];
        while (a != b) {
            if (a < b)
                a *= dim[i++];
            else
                b *= to->dim[j++];
        }
        for (int k = i0; k + 1 < i; k++)
            if (stride[k] != stride[k + 1] * dim[k + 1]) return false;
        int64_t s = stride[i - 1];
        for (int k = j; k-- > j0;) {
            out->stride[k] = s;
            s *= to->dim[k];
        }
    }
    return true;
}

static tn_i_rows rows_reshape(const tn_i_query *q) { return tn_i_as_many_rows(q) ? TN_ROWS_OWN : TN_ROWS_MIXED; }

/* Where nothing but dimensions of size 1 come and go. */
static bool walks_reshape(const tn_i_query *q, int8_t *map) {
    const tn_type *in = q->in[0], *out = q->out;
    int i = 0;
    for (int d = 0; d < out->rank; d++) {
        map[d] = -1;
        if (out->dim[d] == 1) continue;
        while (i < in->rank && in->dim[i] == 1) i++;
        if (i == in->rank || in->dim[i] != out->dim[d]) return false;
        map[d] = (int8_t)i++;
    }
    return true;
}

/* The same elements in the same order. */
static void boxes_reshape(const tn_i_kernel *k, tn_i_moved_boxes *to) {
    tn_i_moved_box box;
    tn_i_box_of_operand(k, 0, 0, &box);
    tn_i_dense_strides(k->in[0].type, box.dst);
    to->put(to, &box);
}

static tn_i_var simplify_reshape(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                 const tn_type *out) {
    (void)nin;
    if (tn_type_equal(tn_i_vtype(b, in[0]), out)) return in[0];
    const tn_i_eqn *e = tn_i_def(b, in[0]);
    if (!e || e->nin == 0) return TN_NOVAR;
    const tn_i_var x = b->pool[e->in];
    if (e->prim->id == TN_P_reshape) return tn_i_reshape(b, x, (int)p[0].n, tn_i_ints(p, 0));
    if (e->prim->id == TN_P_broadcast_in_dim && tn_i_vtype(b, x)->rank == 0)
        return tn_i_broadcast(b, x, (int)p[0].n, tn_i_ints(p, 0), NULL);
    if (e->prim->id == TN_P_broadcast_in_dim &&
        tn_i_count(tn_i_vtype(b, x)) == tn_i_count(out)) /* by dimensions of 1 */
        return tn_i_reshape(b, x, (int)p[0].n, tn_i_ints(p, 0));
    return TN_NOVAR;
}

static void transpose_reshape(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_reshape(r->b, ct[0], r->in_type[0]->rank, r->in_type[0]->dim);
}

static void batch_reshape(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    int64_t shape[TN_MAX_RANK + 1];
    shape[0] = r->batch;
    for (uint32_t i = 0; i < r->p[0].n; i++) shape[i + 1] = tn_i_ints(r->p, 0)[i];
    *out = tn_i_reshape(r->b, r->in[0], (int)r->p[0].n + 1, shape);
    *out_batched = true;
}

static bool sample_reshape(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    int64_t shape[4] = {0}, left = tn_i_count(&c->in[0]);
    uint32_t n = 0;
    while (n < 3 && (left > 1 || (left == 1 && tn_i_pick(r, 0, 1)))) {
        int64_t d = tn_i_pick(r, 1, left);
        while (left % d) d--;
        shape[n++] = d;
        left /= d;
    }
    if (left != 1) shape[n++] = left;
    while (left == 0 && n < 3 && tn_i_pick(r, 0, 1)) shape[n++] = tn_i_pick(r, 0, 3);
    return tn_i_case_list(c, 0, n, shape);
}

const tn_prim tn_prim_reshape = {
    .id = TN_P_reshape,
    .name = "reshape",
    .doc = "the same elements in row-major order, in shape new_sizes",
    .nin = 1,
    .flags = TN_F_VIEW,
    .dtypes = TN_ANY,
    .params = reshape_params,
    .type = type_reshape,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_reshape,
    .transpose = transpose_reshape,
    .batch = batch_reshape,
    .boxes = boxes_reshape,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .view = view_reshape,
    .walks = walks_reshape,
    .rows = rows_reshape,
    .rows_in = 1 + 0,
    .cost = tn_i_cost_copy,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .sample = sample_reshape,
    .spread = TN_SPREAD_MOVES,
};

/* ---- transpose ---- */
static const tn_i_spec transpose_params[] = {{.name = "permutation", .kind = TN_K_INTS}, {.name = NULL}};

static bool type_transpose(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const tn_type *in = q->in[0];
    if (!tn_i_length_is(q, 0, (uint32_t)in->rank, "the rank of the operand") ||
        !tn_i_axes_valid(q, "permutation", q->p[0].n, tn_i_ints(q->p, 0), in->rank, false))
        return false;
    int64_t dim[TN_MAX_RANK];
    for (int i = 0; i < in->rank; i++) dim[i] = in->dim[tn_i_ints(q->p, 0)[i]];
    return tn_i_output(q, in->dtype, in->rank, dim);
}

static bool view_transpose(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    for (int i = 0; i < q->out->rank; i++) out->stride[i] = in->stride[tn_i_ints(q->p, 0)[i]];
    *offset = 0;
    return true;
}

static tn_i_rows rows_transpose(const tn_i_query *q) {
    return tn_i_as_many_rows(q) && tn_i_ints(q->p, 0)[0] == 0 ? TN_ROWS_OWN : TN_ROWS_MIXED;
}

static bool walks_transpose(const tn_i_query *q, int8_t *map) {
    for (int i = 0; i < q->out->rank; i++) map[i] = (int8_t)tn_i_ints(q->p, 0)[i];
    return true;
}

/* The transpose of a broadcast is a broadcast when the operand's dimensions keep their order. */
static tn_i_var transposed_broadcast(tn_i_builder *b, const int64_t *perm, const tn_i_eqn *e, const tn_type *out) {
    const tn_i_param *p = tn_i_p(e);
    const tn_type to = *out;
    int64_t place[TN_MAX_RANK], dims[TN_MAX_RANK];
    for (int i = 0; i < to.rank; i++) place[perm[i]] = i;
    for (uint32_t i = 0; i < p[1].n; i++) {
        dims[i] = place[tn_i_ints(p, 1)[i]];
        if (i && dims[i] < dims[i - 1]) return TN_NOVAR;
    }
    return tn_i_broadcast(b, b->pool[e->in], to.rank, to.dim, dims);
}

static tn_i_var simplify_transpose(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                   const tn_type *out) {
    (void)nin;
    const int64_t *perm = tn_i_ints(p, 0);
    bool identity = true;
    for (int i = 0; i < out->rank; i++) identity &= perm[i] == i;
    if (identity) return in[0];
    const tn_i_eqn *e = tn_i_def(b, in[0]);
    if (!e) return TN_NOVAR;
    if (e->prim->id == TN_P_broadcast_in_dim) return transposed_broadcast(b, perm, e, out);
    if (e->prim->id != TN_P_transpose) return TN_NOVAR;
    int64_t both[TN_MAX_RANK];
    for (int i = 0; i < out->rank; i++) both[i] = tn_i_ints(tn_i_p(e), 0)[perm[i]];
    return tn_i_permute(b, b->pool[e->in], both);
}

static void transpose_transpose(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    int64_t inverse[TN_MAX_RANK];
    for (int i = 0; i < r->in_type[0]->rank; i++) inverse[tn_i_ints(r->p, 0)[i]] = i;
    ct_in[0] = tn_i_permute(r->b, ct[0], inverse);
}

static void batch_transpose(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    int64_t perm[TN_MAX_RANK + 1];
    (void)tn_i_behind_batch(r->p[0].n, tn_i_ints(r->p, 0), 0, perm);
    *out = tn_i_permute(r->b, r->in[0], perm);
    *out_batched = true;
}

static bool sample_transpose(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    int64_t perm[TN_MAX_RANK];
    const int n = c->in[0].rank;
    for (int i = 0; i < n; i++) {
        int j = (int)tn_i_pick(r, 0, i);
        perm[i] = perm[j];
        perm[j] = i;
    }
    return tn_i_case_list(c, 0, (uint32_t)n, perm);
}

const tn_prim tn_prim_transpose = {
    .id = TN_P_transpose,
    .name = "transpose",
    .doc = "dimension i of the result is dimension permutation[i] of the operand",
    .nin = 1,
    .flags = TN_F_VIEW,
    .dtypes = TN_ANY,
    .params = transpose_params,
    .type = type_transpose,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_transpose,
    .transpose = transpose_transpose,
    .batch = batch_transpose,
    .boxes = tn_i_view_boxes,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .view = view_transpose,
    .walks = walks_transpose,
    .rows = rows_transpose,
    .cost = tn_i_cost_copy,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .sample = sample_transpose,
    .spread = TN_SPREAD_MOVES,
};

/* ---- rev ---- */
static const tn_i_spec rev_params[] = {{.name = "dimensions", .kind = TN_K_INTS}, {.name = NULL}};

static bool type_rev(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    return tn_i_axes_valid(q, "dimensions", q->p[0].n, tn_i_ints(q->p, 0), q->in[0]->rank, false) &&
           tn_i_output_type(q, q->in[0]);
}

static bool view_rev(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    *offset = 0;
    for (int i = 0; i < q->out->rank; i++) out->stride[i] = in->stride[i];
    if (tn_i_count(q->out) == 0) return true;
    for (uint32_t i = 0; i < q->p[0].n; i++) {
        const int64_t d = tn_i_ints(q->p, 0)[i];
        *offset += (q->out->dim[d] - 1) * in->stride[d];
        out->stride[d] = -in->stride[d];
    }
    return true;
}

static bool same_list(const tn_i_param *a, const tn_i_param *b) {
    return a->n == b->n && (a->n == 0 || memcmp(a->u.ints, b->u.ints, a->n * sizeof *a->u.ints) == 0);
}

static tn_i_var simplify_rev(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)nin;
    bool moves = false;
    for (uint32_t i = 0; i < p[0].n; i++) moves |= out->dim[tn_i_ints(p, 0)[i]] > 1;
    if (!moves) return in[0];
    const tn_i_eqn *e = tn_i_def(b, in[0]);
    if (!e || e->nin == 0) return TN_NOVAR;
    const tn_i_var x = b->pool[e->in];
    if (e->prim->id == TN_P_rev && same_list(&tn_i_p(e)[0], &p[0])) return x;
    return e->prim->id == TN_P_broadcast_in_dim && tn_i_vtype(b, x)->rank == 0 ? in[0] : TN_NOVAR;
}

static void transpose_rev(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_rev(r->b, ct[0], r->p[0].n, tn_i_ints(r->p, 0));
}

static void batch_rev(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    int64_t dims[TN_MAX_RANK + 1];
    (void)tn_i_behind_batch(r->p[0].n, tn_i_ints(r->p, 0), -1, dims);
    *out = tn_i_rev(r->b, r->in[0], r->p[0].n, dims);
    *out_batched = true;
}

static bool sample_rev(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    int64_t dims[TN_MAX_RANK];
    uint32_t n = 0;
    for (int i = 0; i < c->in[0].rank; i++)
        if (tn_i_pick(r, 0, 1)) dims[n++] = i;
    return tn_i_case_list(c, 0, n, dims);
}

const tn_prim tn_prim_rev = {
    .id = TN_P_rev,
    .name = "rev",
    .doc = "the given dimensions backwards",
    .nin = 1,
    .flags = TN_F_VIEW,
    .dtypes = TN_ANY,
    .params = rev_params,
    .type = type_rev,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_rev,
    .transpose = transpose_rev,
    .batch = batch_rev,
    .boxes = tn_i_view_boxes,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .view = view_rev,
    .cost = tn_i_cost_copy,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .sample = sample_rev,
    .spread = TN_SPREAD_MOVES,
};
