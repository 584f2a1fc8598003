/* Parts and joins at places known beforehand: slice split concatenate. */
#include "base/machine.h"
#include "prims/c_text.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/boxes.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* ---- slice ---- */
const tn_i_spec tn_i_slice_spec[] = {{.name = "start_indices", .kind = TN_K_INTS},
                                     {.name = "limit_indices", .kind = TN_K_INTS},
                                     {.name = "strides", .kind = TN_K_INTS, .otherwise = "1 for each dimension"},
                                     {.name = NULL}};

static int64_t stride_of(const tn_i_param *p, int i) { return p[2].kind == TN_K_NONE ? 1 : tn_i_ints(p, 2)[i]; }

bool tn_i_slice_sizes(tn_i_query *q, int64_t *dim) {
    if (!tn_i_params_given(q)) return false;
    const tn_type *in = q->in[0];
    const bool strided = q->p[2].kind != TN_K_NONE;
    for (uint32_t k = 0; k < (strided ? 3u : 2u); k++)
        if (!tn_i_length_is(q, k, (uint32_t)in->rank, "the rank of the operand")) return false;
    for (int i = 0; i < in->rank; i++) {
        const int64_t a = tn_i_ints(q->p, 0)[i], z = tn_i_ints(q->p, 1)[i], s = stride_of(q->p, i);
        if (a < 0 || z < a || z > in->dim[i])
            return tn_i_type_fail(q, 0, "%lld:%lld is no range of dimension %d of size %lld", (long long)a,
                                  (long long)z, i, (long long)in->dim[i]);
        if (s < 1) return tn_i_type_fail(q, -1, "strides: %lld is not positive", (long long)s);
        dim[i] = z == a ? 0 : (z - a - 1) / s + 1;
    }
    return true;
}

static bool type_slice(tn_i_query *q) {
    int64_t dim[TN_MAX_RANK];
    return tn_i_slice_sizes(q, dim) && tn_i_output(q, q->in[0]->dtype, q->in[0]->rank, dim);
}

void tn_i_slice_padding(const tn_i_param *p, const tn_type *of, const tn_type *part, int d, int64_t config[3]) {
    const int64_t s = part->dim[d] > 1 ? stride_of(p, d) : 1, start = tn_i_ints(p, 0)[d];
    const int64_t end = part->dim[d] ? start + (part->dim[d] - 1) * s + 1 : start;
    config[0] = start;
    config[1] = of->dim[d] - end;
    config[2] = s - 1;
}

static bool view_slice(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    const bool empty = tn_i_count(q->out) == 0;
    *offset = 0;
    for (int i = 0; i < q->out->rank; i++) {
        /* a stride over a single element may be any number, and too large to multiply by */
        out->stride[i] = q->out->dim[i] > 1 ? in->stride[i] * stride_of(q->p, i) : in->stride[i];
        if (!empty) *offset += tn_i_ints(q->p, 0)[i] * in->stride[i];
    }
    return true;
}

/* The slice of a concatenation that lies in one of its operands. */
static tn_i_var slice_of_part(tn_i_builder *b, const tn_i_param *p, const tn_i_eqn *e, int rank) {
    const int64_t axis = tn_i_p(e)[0].u.i;
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], at = 0;
    if (e->nin > 16) return TN_NOVAR; /* a long search for every slice would make programs quadratic */
    for (int i = 0; i < rank; i++) {
        start[i] = tn_i_ints(p, 0)[i];
        limit[i] = tn_i_ints(p, 1)[i];
    }
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var x = b->pool[e->in + i];
        const int64_t size = tn_i_vtype(b, x)->dim[axis];
        if (start[axis] >= at && limit[axis] <= at + size) {
            start[axis] -= at;
            limit[axis] -= at;
            return tn_i_slice(b, x, start, limit, p[2].kind == TN_K_NONE ? NULL : tn_i_ints(p, 2));
        }
        at += size;
    }
    return TN_NOVAR;
}

/* The slice of a transposed concatenation that lies in one of its operands. */
static tn_i_var slice_of_transposed_part(tn_i_builder *b, const tn_i_param *p, const tn_i_eqn *e, int rank) {
    const tn_i_eqn *inner = tn_i_def(b, b->pool[e->in]);
    int64_t bounds[3][TN_MAX_RANK], perm[TN_MAX_RANK];
    tn_i_param q[3];
    if (!inner || inner->prim->id != TN_P_concatenate) return TN_NOVAR;
    for (int i = 0; i < rank; i++) {
        const int64_t d = perm[i] = tn_i_ints(tn_i_p(e), 0)[i];
        for (int k = 0; k < 2; k++) bounds[k][d] = tn_i_ints(p, (uint32_t)k)[i];
        bounds[2][d] = stride_of(p, i);
    }
    for (int k = 0; k < 3; k++) {
        q[k] = p[k];
        q[k].u.ints = bounds[k];
    }
    const tn_i_var part = slice_of_part(b, q, inner, rank);
    return part == TN_NOVAR ? part : tn_i_permute(b, part, perm);
}

static tn_i_var simplify_slice(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                               const tn_type *out) {
    (void)nin;
    const int rank = out->rank;
    bool unit = p[2].kind != TN_K_NONE;
    if (tn_type_equal(tn_i_vtype(b, in[0]), out)) return in[0]; /* all of every dimension, in order */
    for (int i = 0; i < rank; i++) unit &= stride_of(p, i) == 1;
    if (unit) return tn_i_slice(b, in[0], tn_i_ints(p, 0), tn_i_ints(p, 1), NULL);
    const tn_i_eqn *e = tn_i_def(b, in[0]);
    if (e && e->prim->id == TN_P_concatenate) return slice_of_part(b, p, e, rank);
    if (e && e->prim->id == TN_P_transpose) return slice_of_transposed_part(b, p, e, rank);
    return tn_i_respread(b, in[0], out);
}

/* Where something is summed already, what was read is added to it in place: the work is that of the slice. */
static void transpose_slice(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_type *in = r->in_type[0], *out = r->out_type[0];
    if (tn_i_accumulates(r)) {
        ct_in[0] = tn_i_slice_add(r->b, tn_i_accumulated(r), ct[0], tn_i_ints(r->p, 0), tn_i_ints(r->p, 1),
                                  r->p[2].kind == TN_K_NONE ? NULL : tn_i_ints(r->p, 2));
        return;
    }
    int64_t config[3 * TN_MAX_RANK];
    for (int i = 0; i < in->rank; i++) tn_i_slice_padding(r->p, in, out, i, config + 3 * i);
    ct_in[0] = tn_i_pad(r->b, ct[0], tn_i_literal_f64(r->b, in->dtype, 0), config);
}

tn_i_slice_params tn_i_slice_batched(const tn_i_param *p, int rank, int64_t batch) {
    tn_i_slice_params b = {.start = {0}, .limit = {batch}, .stride = {1}};
    for (int i = 0; i < rank; i++) {
        b.start[i + 1] = tn_i_ints(p, 0)[i];
        b.limit[i + 1] = tn_i_ints(p, 1)[i];
        b.stride[i + 1] = stride_of(p, i);
    }
    b.strided = p[2].kind != TN_K_NONE;
    return b;
}

static void batch_slice(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    const tn_i_slice_params p = tn_i_slice_batched(r->p, r->in_type[0]->rank, r->batch);
    *out = tn_i_slice(r->b, r->in[0], p.start, p.limit, p.strided ? p.stride : NULL);
    *out_batched = true;
}

/* Touches what it reads only: the rest of the operand costs nothing. */
static void cost_slice(const tn_i_query *q, tn_i_cost *cost) { cost->bytes += 2 * tn_i_bytes_of(&q->out[0]); }

bool tn_i_sample_slice(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], strides[TN_MAX_RANK];
    const uint32_t n = (uint32_t)c->in[0].rank;
    for (uint32_t i = 0; i < n; i++) {
        start[i] = tn_i_pick(r, 0, c->in[0].dim[i]);
        limit[i] = tn_i_pick(r, start[i], c->in[0].dim[i]);
        strides[i] = tn_i_pick(r, 0, 9) ? tn_i_pick(r, 1, 3) : INT64_MAX;
    }
    c->p[2] = (tn_i_param){.kind = TN_K_NONE};
    if (tn_i_pick(r, 0, 1) && !tn_i_case_list(c, 2, n, strides)) return false;
    return tn_i_case_list(c, 0, n, start) && tn_i_case_list(c, 1, n, limit);
}

static tn_i_rows rows_slice(const tn_i_query *q) {
    return tn_i_as_many_rows(q) && tn_i_ints(q->p, 0)[0] == 0 ? TN_ROWS_OWN : TN_ROWS_MIXED;
}

const tn_prim tn_prim_slice = {
    .id = TN_P_slice,
    .name = "slice",
    .doc = "elements start, start + stride, ... below limit of each dimension",
    .nin = 1,
    .flags = TN_F_VIEW,
    .dtypes = TN_ANY,
    .params = tn_i_slice_spec,
    .type = type_slice,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_slice,
    .transpose = transpose_slice,
    .batch = batch_slice,
    .boxes = tn_i_view_boxes,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .view = view_slice,
    .rows = rows_slice,
    .rows_in = 1 + 1,
    .cost = cost_slice,
    .jvp_bound = 2,
    .transpose_bound = 20,
    .sample = tn_i_sample_slice,
    .spread = TN_SPREAD_MOVES,
};

/* ---- split ---- */
static const tn_i_spec split_params[] = {
    {.name = "sizes", .kind = TN_K_INTS}, {.name = "axis", .kind = TN_K_INT}, {.name = NULL}};

static bool type_split(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const tn_type in = *q->in[0];
    const int64_t axis = q->p[1].u.i, *sizes = tn_i_ints(q->p, 0);
    const uint32_t n = q->p[0].n;
    if (!tn_i_axes_valid(q, "axis", 1, &axis, in.rank, true)) return false;
    if (n == 0) return tn_i_type_fail(q, -1, "sizes is empty");
    int64_t left = in.dim[axis];
    for (uint32_t j = 0; j < n; j++) {
        if (sizes[j] < 0) return tn_i_type_fail(q, -1, "sizes: %lld is negative", (long long)sizes[j]);
        if (sizes[j] > left) return tn_i_type_fail(q, 0, "sizes add up to more than dimension %lld", (long long)axis);
        left -= sizes[j];
    }
    if (left) return tn_i_type_fail(q, 0, "sizes leave %lld of dimension %lld", (long long)left, (long long)axis);
    if (!tn_i_outputs(q, n)) return false;
    for (uint32_t j = 0; j < n; j++) {
        q->out[j] = in;
        q->out[j].dim[axis] = sizes[j];
    }
    return true;
}

static void boxes_split(const tn_i_kernel *k, tn_i_moved_boxes *to) {
    const int64_t axis = k->p[1].u.i;
    int64_t at = 0;
    for (uint32_t j = 0; j < k->nout; j++) {
        tn_i_moved_box box;
        tn_i_box_of_operand(k, 0, j, &box);
        box.dim[axis] = k->out[j].type->dim[axis];
        box.from = at * box.src[axis];
        at += box.dim[axis];
        to->put(to, &box);
    }
}

static tn_i_var simplify_split(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                               const tn_type *out) {
    (void)b, (void)nin, (void)out;
    return p[0].n == 1 ? in[0] : TN_NOVAR;
}

static void transpose_split(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_var *part = tn_i_alloc_array(r->b->ctx, r->nout, sizeof *part);
    if (!part) {
        r->b->failed = true;
        return;
    }
    for (uint32_t j = 0; j < r->nout; j++) part[j] = ct[j] != TN_NOVAR ? ct[j] : tn_i_zeros(r->b, r->out_type[j]);
    ct_in[0] = tn_i_concatenate(r->b, r->nout, part, r->p[1].u.i);
    tn_i_free(r->b->ctx, part, r->nout * sizeof *part);
}

static void batch_split(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    const tn_i_param p[2] = {r->p[0], {.kind = TN_K_INT, .u.i = r->p[1].u.i + 1}};
    tn_i_var v = tn_i_emit(r->b, r->e->prim, p, 1, r->in);
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = v == TN_NOVAR ? v : v + j;
        out_batched[j] = true;
    }
}

static bool sample_split(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 1, 4);
    int64_t sizes[5], axis = tn_i_pick(r, 0, c->in[0].rank - 1), left = c->in[0].dim[axis];
    const uint32_t n = (uint32_t)tn_i_pick(r, 1, 4);
    for (uint32_t j = 0; j + 1 < n; j++) left -= sizes[j] = tn_i_pick(r, 0, left);
    sizes[n - 1] = left;
    c->p[1] = (tn_i_param){.kind = TN_K_INT, .u.i = axis};
    return tn_i_case_list(c, 0, n, sizes);
}

const tn_prim tn_prim_split = {
    .id = TN_P_split,
    .name = "split",
    .doc = "consecutive parts of the given sizes along axis, one output each",
    .nin = 1,
    .dtypes = TN_ANY,
    .params = split_params,
    .type = type_split,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_split,
    .transpose = transpose_split,
    .batch = batch_split,
    .boxes = boxes_split,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .cost = tn_i_cost_copy,
    .jvp_bound = 2,
    .transpose_bound = 2,
    .sample = sample_split,
    .spread = TN_SPREAD_MOVES,
};

/* ---- concatenate ---- */
static const tn_i_spec concatenate_params[] = {{.name = "dimension", .kind = TN_K_INT}, {.name = NULL}};

static bool type_concatenate(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    if (q->nin == 0) return tn_i_type_fail(q, -1, "needs an operand");
    const int64_t axis = q->p[0].u.i;
    char text[TN_I_TYPE_TEXT];
    tn_type t = *q->in[0];
    if (!tn_i_axes_valid(q, "dimension", 1, &axis, t.rank, true)) return false;
    for (uint32_t i = 1; i < q->nin; i++) {
        if (!tn_i_same_dtype(q, i)) return false;
        bool fits = q->in[i]->rank == t.rank;
        for (int d = 0; fits && d < t.rank; d++) fits = d == axis || q->in[i]->dim[d] == t.dim[d];
        if (!fits)
            return tn_i_type_fail(q, (int)i, "differs from operand 0, %s, in more than dimension %lld",
                                  tn_i_type_text(text, q->in[0]), (long long)axis);
        if (!tn_i_add_i64(t.dim[axis], q->in[i]->dim[axis], &t.dim[axis]))
            return tn_i_type_fail(q, (int)i, "the size of dimension %lld overflows", (long long)axis);
    }
    return tn_i_output_type(q, &t);
}

static void boxes_concatenate(const tn_i_kernel *k, tn_i_moved_boxes *to) {
    const int64_t axis = k->p[0].u.i;
    int64_t at = 0;
    for (uint32_t i = 0; i < k->nin; i++) {
        tn_i_moved_box box;
        tn_i_box_of_operand(k, i, 0, &box);
        box.to = at * box.dst[axis];
        at += box.dim[axis];
        to->put(to, &box);
    }
}

/* Operands without elements are left out; one operand is the result; equal numbers stay one number. */
static tn_i_var simplify_concatenate(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                     const tn_type *out) {
    if (nin == 1) return in[0];
    uint32_t full = 0;
    uint64_t bits = 0, other;
    bool alike = tn_i_known_scalar(b, in[0], &bits);
    for (uint32_t i = 0; i < nin; i++) {
        full += tn_i_vtype(b, in[i])->dim[p[0].u.i] != 0;
        alike = alike && tn_i_known_scalar(b, in[i], &other) && other == bits;
    }
    if (alike) return tn_i_respread(b, in[0], out);
    if (full == nin) return TN_NOVAR;
    if (full == 0) return in[0];
    tn_i_var *part = tn_i_alloc_array(b->ctx, full, sizeof *part), v = TN_NOVAR;
    uint32_t n = 0;
    for (uint32_t i = 0; part && i < nin; i++)
        if (tn_i_vtype(b, in[i])->dim[p[0].u.i] != 0) part[n++] = in[i];
    if (part)
        v = tn_i_concatenate(b, n, part, p[0].u.i);
    else
        b->failed = true;
    tn_i_free(b->ctx, part, full * sizeof *part);
    return v;
}

static void transpose_concatenate(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const int64_t axis = r->p[0].u.i;
    int64_t start[TN_MAX_RANK] = {0}, limit[TN_MAX_RANK] = {0}, at = 0;
    for (int d = 0; d < r->out_type[0]->rank; d++) limit[d] = r->out_type[0]->dim[d];
    for (uint32_t i = 0; i < r->nin; i++) {
        start[axis] = at;
        limit[axis] = at += r->in_type[i]->dim[axis];
        if (r->in[i] == TN_NOVAR) ct_in[i] = tn_i_slice(r->b, ct[0], start, limit, NULL);
    }
}

static void batch_concatenate(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_var *in = tn_i_alloc_array(r->b->ctx, r->nin, sizeof *in);
    *out_batched = true;
    if (!in) {
        r->b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < r->nin; i++) in[i] = tn_i_batched_operand(r, batched, i);
    *out = tn_i_concatenate(r->b, r->nin, in, r->p[0].u.i + 1);
    tn_i_free(r->b->ctx, in, r->nin * sizeof *in);
}

static bool sample_concatenate(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 1, 3);
    const int64_t axis = tn_i_pick(r, 0, c->in[0].rank - 1);
    const uint32_t n = (uint32_t)tn_i_pick(r, 1, 4);
    for (uint32_t i = 1; i < n; i++) {
        tn_i_case_alike(c, i, 0, dtype);
        c->in[i].dim[axis] = tn_i_pick(r, 0, 3);
    }
    c->p[0] = (tn_i_param){.kind = TN_K_INT, .u.i = axis};
    return true;
}

static tn_i_rows rows_concatenate(const tn_i_query *q) { return q->p[0].u.i ? TN_ROWS_OWN : TN_ROWS_MIXED; }

const tn_prim tn_prim_concatenate = {
    .id = TN_P_concatenate,
    .name = "concatenate",
    .doc = "the operands one after another along dimension",
    .nin = -1,
    .flags = TN_F_PLACES,
    .dtypes = TN_ANY,
    .params = concatenate_params,
    .type = type_concatenate,
    .rows = rows_concatenate,
    .linear = {TN_ALL},
    .simplify = simplify_concatenate,
    .transpose = transpose_concatenate,
    .batch = batch_concatenate,
    .boxes = boxes_concatenate,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .cost = tn_i_cost_copy,
    .jvp_bound = 3,
    .transpose_bound = 3,
    .sample = sample_concatenate,
    .spread = TN_SPREAD_MOVES,
};
